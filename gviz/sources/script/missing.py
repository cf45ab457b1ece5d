"""The names of PyTorch that gviz's engine lacks: in a script, by looking at its text, and in a module of PyTorch 2.13."""

from __future__ import annotations

import ast
import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from operator import itemgetter
from typing import Any

from gviz.errors import Excerpt, SourceError
from gviz.files import missing
from gviz.signatures.pytorch import has_name, pytorch_names
from gviz.sources.expression.allowed import FIELDS
from gviz.sources.pasted import parse
from gviz.sources.script.process import engine_module
from gviz.sources.script.syntax import pieces
from gviz.sources.script.torch_names import binding_names, files_of, imports, is_torch, lacking_part, used_names
from gviz.sources.source import Source
from gviz.text import did_you_mean, excerpt

PYTHONS = FIELDS.union(
    *map(
        dir, (str, bytes, int, float, complex, bool, list, tuple, dict, set, slice, range, memoryview, type(sys.stdout))
    )
)
"""Attributes of other things than tensors: ``d.values()`` says nothing about torch."""


@dataclass(frozen=True)
class Missing:
    """A use of a name that the engine lacks.

    Args:
        name: up to the part that is missing: ``torch.fft``, ``torch.Tensor.bernoulli``.
        place: where it is used.
        is_sure: False for a method of something that may not be a tensor.
    """

    name: str
    place: Excerpt
    is_sure: bool = True

    def doubt(self) -> str:
        """Return what real PyTorch must have, or the thing must be, for the name to be missing; "" for nothing."""
        is_known = "." not in self.name or has_name(self.name)
        return "" if self.is_sure and is_known else "if PyTorch has it" if self.is_sure else "if that is a tensor"


def of_module(module: str) -> list[str]:
    """Return the names of a module of PyTorch 2.13, or of ``torch.Tensor``, that the engine lacks, dotted.

    Raises:
        SourceError: there is no such module, or none whose names are known.
    """
    names = pytorch_names()
    if module not in names:
        raise SourceError(
            f"gviz has no list of the names in {excerpt(module)}",
            hint=did_you_mean(module, names, "name a module of PyTorch, as in torch.Tensor or torch.nn"),
        )
    return [f"{module}.{name}" for name in names[module] if lacking_part(f"{module}.{name}")]


def of_script(source: str) -> list[Missing]:
    """Return the uses of names that the engine lacks, in a script and its neighbours, in the order of the text.

    Nothing is run.

    Args:
        source: a file, or ``-`` for standard input.

    Raises:
        FileError: it cannot be read, or is not a text.
        SourceError: it is not Python.
    """
    script = Source.of(source)
    if script.file is None:
        raise missing(source)
    if script.kind == "graph":
        raise SourceError(f"{script.file} is a saved graph, not a script")
    file, folder = script.file, os.getcwd() if source == "-" else os.path.dirname(os.path.abspath(source))
    uses: dict[Missing, None] = {}
    tree = parse(script.text, file, cells=script.cells).tree
    for other, part in files_of(tree, folder):
        name = os.path.join(os.path.dirname(file), os.path.relpath(other, folder)) if other else file
        sure = [
            (line, api_name, True) for path, line in used_names(part) if (api_name := lacking_part(path)) is not None
        ]
        sure_uses = {(api_name, line) for line, api_name, _ in sure}
        unsure = [(line, path, False) for path, line in methods(part) if (path, line) not in sure_uses]
        for line, api_name, is_sure in sorted(sure + unsure, key=itemgetter(0)):
            cell, own = (0, line) if other or script.cells is None else script.cells.split(line)
            uses[Missing(api_name, Excerpt("", file=name, line=own, cell=cell), is_sure)] = None
    return list(uses)


def methods(tree: ast.Module) -> Iterator[tuple[str, int]]:
    """Yield the attributes in a script that PyTorch's tensors have and the engine's lack, each with its line.

    Whether what stands before the dot is a tensor is not known.
    """
    sparse: Any = engine_module("torch.sparse")
    missing = {name.rpartition(".")[2] for name in of_module("torch.Tensor")} - PYTHONS - own_names(tree)
    missing -= {*dir(sparse.Sparse)}  # a sparse tensor has more: x.to_sparse().coalesce()
    torchs = binding_names(tree)
    others = {name for _, name, path in imports(tree) if not is_torch(path)}
    for node in pieces(tree):
        if isinstance(node, ast.Attribute) and node.attr in missing:
            if root_of(node) in torchs or root_of(node, ast.Attribute | ast.Call | ast.Subscript) in others:
                continue
            yield f"torch.Tensor.{node.attr}", node.end_lineno or node.lineno


def own_names(tree: ast.Module) -> set[str]:
    """Return the names that a script defines, or assigns as attributes: they are its own, whatever PyTorch calls so."""
    definitions = ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef
    defined = {node.name for node in pieces(tree) if isinstance(node, definitions)}
    stored = {node.attr for node in pieces(tree) if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store)}
    return defined | stored


def root_of(node: Any, through: Any = ast.Attribute) -> str:
    """Return ``np`` for ``np.linalg.norm``; nothing if it is not a name."""
    while isinstance(node, through):
        node = node.func if isinstance(node, ast.Call) else node.value
    return node.id if isinstance(node, ast.Name) else ""
