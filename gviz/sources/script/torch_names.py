"""Which of torch's names a script uses, and so which engine can run it.

The look is static: what is reached through ``torch``, its aliases and its imports is known from the text, what a
tensor's methods are asked for mostly is not.
"""

from __future__ import annotations

import ast
import importlib
import os
import sys
from collections.abc import Iterator
from functools import lru_cache
from types import ModuleType
from typing import Any

from gviz.errors import MissingError, SourceError
from gviz.sources.notes import Note
from gviz.sources.script.process import PYTORCH, engine_module
from gviz.sources.script.syntax import pieces
from gviz.text import joined

BUILT_ON_TORCH = frozenset({
    "accelerate", "kornia", "lightning", "pytorch_lightning", "timm", "torch_geometric", "torchaudio", "torchmetrics",
    "torchtext", "torchvision", "transformers",
})  # fmt: skip
"""Packages that need the real torch beneath them."""

MAKERS = frozenset({"arange", "eye", "full", "linspace", "ones", "rand", "randn", "tensor", "zeros"})
"""Functions of torch whose result surely is a tensor, so that its methods can be looked up."""

MAX_FILES = 50
"""Neighbours that are looked into; what more there is shows when it runs."""


def choose(tree: ast.Module, folder: str, engine: str) -> tuple[str, Note | None]:
    """Return the engine for a script, ``gviz`` or ``torch``, and why, if there was a choice.

    Args:
        tree: the script.
        folder: where it is; neighbours that it imports are looked into as well.
        engine: ``gviz``, ``torch``, or ``auto`` for gviz's own if it has every name, else PyTorch if it is installed.

    Raises:
        MissingError: PyTorch is wanted and not installed.
        SourceError: no such engine.
    """
    if engine not in {"gviz", "torch", "auto"}:
        raise SourceError(f"there is no engine {engine!r}", hint="--engine takes gviz, torch or auto")
    if engine == "gviz" or (engine == "torch" and has_torch()):
        return engine, None
    names = (name for _, part in files_of(tree, folder) for name, _ in used_names(part))
    missing = dict.fromkeys(filter(None, map(lacking_part, names)))
    if engine == "torch":
        raise MissingError(
            "PyTorch is not installed here",
            hint=install_command("torch") + ("" if missing else ", or run with --engine gviz"),
        )
    if not missing:
        return "gviz", Note("engine: gviz's own", "dim")
    lacks = joined(missing, 3)
    if has_torch():
        return "torch", Note(f"engine: PyTorch (gviz's own has no {lacks})", "dim")
    return "gviz", Note(f"engine: gviz's own (it has no {lacks}, and PyTorch is not installed)", "dim")


def install_command(package: str) -> str:
    """Return the command that installs a package into the environment that gviz itself runs in."""
    from shlex import quote

    if "pipx" in sys.prefix.split(os.sep):
        return f"pipx inject gviz {package}"
    if os.path.join("uv", "tools") in sys.prefix:
        return f"uv tool install --with {package} gviz"
    return f"{quote(sys.executable)} -m pip install {package}"


def has_torch() -> bool:
    """Return whether the real torch could be imported; this looks, and imports nothing."""
    from importlib import machinery, util

    loaded = sys.modules.get("torch")
    if loaded is None:
        return util.find_spec("torch") is not None
    # a script that runs on gviz's engine knows that as torch
    return not loaded.__name__.startswith("gviz") or machinery.PathFinder.find_spec("torch") is not None


def load_engine(name: str) -> Any:
    """Return the module that the script knows as torch; MissingError if it cannot be imported."""
    if name == "gviz":
        return engine_module("torch")
    try:
        return importlib.import_module("torch")
    except ImportError as error:
        raise MissingError(
            f"PyTorch cannot be imported: {error}", hint=f"{install_command('torch')}, or run with --engine gviz"
        ) from None


def lacking_part(name: str) -> str | None:
    """Return a name up to the part that gviz's engine lacks: ``torch.fft`` of ``torch.fft.rfft``.

    None if it lacks none.
    """
    path, *parts = name.split(".")
    if path not in PYTORCH:
        return path
    here: object = engine_module(path)
    missing = object()
    for part in parts:
        if not isinstance(here, ModuleType | type):
            return None  # attributes of objects and functions are not looked up
        path = f"{path}.{part}"
        inner = getattr(here, part, missing)
        if isinstance(here, ModuleType) and (inner is missing or isinstance(inner, ModuleType)):
            inner = engine_module(path) or missing  # the engine's folder has modules that are none of PyTorch's
        if inner is missing:
            return path
        here = inner
    return None


def files_of(tree: ast.Module, folder: str) -> Iterator[tuple[str, ast.Module]]:
    """Yield the script, as "", and the neighbours that it imports, by their files, in order."""
    yield "", tree
    todo, seen = [path for _, _, path in imports(tree)], set[str]()
    while todo and len(seen) < MAX_FILES:
        base = os.path.join(folder, *todo.pop(0).split("."))
        file = next((file for file in (f"{base}.py", os.path.join(base, "__init__.py")) if os.path.isfile(file)), None)
        if file is None or file in seen:
            continue
        seen.add(file)
        try:
            with open(file, "rb") as stream:
                neighbour = ast.parse(stream.read(), file)
        except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):
            continue  # importing it raises just that, in its place
        yield file, neighbour
        todo.extend(path for _, _, path in imports(neighbour))


@lru_cache(maxsize=2)
def import_statements(tree: ast.Module) -> tuple[ast.Import | ast.ImportFrom, ...]:
    """Return the statements that import, of which a long script has few."""
    return tuple(node for node in pieces(tree) if isinstance(node, ast.Import | ast.ImportFrom))


def imports(tree: ast.Module) -> Iterator[tuple[int, str | None, str]]:
    """Yield each import: its line, the name that it binds (None for none), and the dotted path that this stands for.

    >>> list(imports(ast.parse("from torch import nn as n")))
    [(1, None, 'torch'), (1, 'n', 'torch.nn')]
    """
    for node in import_statements(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                top = alias.name.partition(".")[0]
                yield node.lineno, alias.asname, alias.name
                yield node.lineno, None if alias.asname else top, top
        else:
            module = "." * node.level + (node.module or "")
            yield node.lineno, None, module
            for alias in node.names:
                if alias.name != "*":
                    yield node.lineno, alias.asname or alias.name, f"{module}.{alias.name}"


def uses_layers(tree: ast.Module, folder: str) -> bool:
    """Return whether a script, or a neighbour that it imports, names ``torch.nn`` or what comes with it."""
    names = (name for _, part in files_of(tree, folder) for name, _ in used_names(part))
    return any(not is_torch(name) or name.startswith(("torch.nn", "torch.optim", "torch.utils")) for name in names)


def used_names(tree: ast.Module) -> list[tuple[str, int]]:
    """Return the dotted names that begin with torch, or a package built on it, in the order of the text, with their lines.

    >>> used_names(ast.parse("import torch; y = torch.nn.ReLU(x)"))
    [('torch.nn', 1), ('torch.nn.ReLU', 1)]
    """
    uses = [(line, 0, path) for line, _, path in imports(tree) if is_torch(path)]
    aliases = binding_names(tree)
    for node in pieces(tree):
        if isinstance(node, ast.Attribute):
            path = dotted(node, aliases) or _method(node, aliases)
            uses += [(node.end_lineno or node.lineno, node.end_col_offset or 0, path)] if path else []
    return [(path, line) for line, _, path in sorted(uses) if path != "torch"]


def binding_names(tree: ast.Module) -> dict[str, str]:
    """Return what of torch each name stands for: by an import, or an assignment as ``nn = torch.nn``."""
    aliases = {name: path for _, name, path in imports(tree) if name and is_torch(path)}
    for node in pieces(tree):
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Attribute):
            module_path = dotted(node.value, aliases)
            if module_path:
                aliases.update({target.id: module_path for target in node.targets if isinstance(target, ast.Name)})
    return aliases


def is_torch(path: str) -> bool:
    """Return whether a dotted path begins with torch, or with a package that is built on it."""
    top = path.partition(".")[0]
    return top in PYTORCH or top in BUILT_ON_TORCH


def dotted(node: ast.expr, aliases: dict[str, str]) -> str | None:
    """Return ``torch.nn.Linear`` for an attribute of an attribute of torch; None for all else."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name) or node.id not in aliases:
        return None
    return ".".join([aliases[node.id], *reversed(parts)])


def _method(node: ast.Attribute, aliases: dict[str, str]) -> str | None:
    """Return ``torch.Tensor.foo`` for ``torch.ones(2).foo``; None if it cannot be known what has the attribute."""
    path = dotted(node.value.func, aliases) if isinstance(node.value, ast.Call) else None
    return f"torch.Tensor.{node.attr}" if path and path.removeprefix("torch.") in MAKERS else None
