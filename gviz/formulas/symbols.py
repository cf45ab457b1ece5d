"""Formulas as people read them: a row that has a sign is written with it, a composite as the value that it returns."""

from __future__ import annotations

import ast
import os
from functools import cache
from pathlib import Path

from gviz import ops
from gviz.autograd.formulas import parameters
from gviz.autograd.row import COMPOSITES
from gviz.formulas.symbolic import BINARY, COMPARED, written_as

SIGNED = {"neg", *BINARY, *COMPARED} - {"mm", "not_equal"}
"""Rows that are written with a sign."""


class Signed(ast.NodeTransformer):
    """Writes the calls of such rows with their signs."""

    def visit_Call(self, node: ast.Call) -> ast.AST:
        """Return a call, as an operator if it has a sign."""
        self.generic_visit(node)
        name = ast.unparse(node.func)
        has_sign = name in SIGNED and len(node.args) == 1 + (name != "neg")
        return written_as(name, node.args) if has_sign else node


def formula_text(text: str) -> str:
    """Return a formula as people write it.

    >>> formula_text("grad * neg(div(self - other, 2))")
    'grad * -((self - other) / 2)'
    """
    return ast.unparse(Signed().visit(ast.parse(text)))


@cache
def syntax_of(file: str) -> list[ast.AST]:
    """Return the parts of a file's code."""
    return list(ast.walk(ast.parse(Path(file).read_text(encoding="utf-8"))))


def meaning(name: str) -> str:
    """Return the meaning of a composite, as ``name(self) = self * 2``.

    If that is not a formula, its docstring or place.
    """
    composite = COMPOSITES[name]
    file, line = composite.__code__.co_filename, composite.__code__.co_firstlineno
    head, parts = f"{name}({', '.join(parameters(composite))})", expressions(name, file, line)
    if not parts:
        return f"{head}: {(composite.__doc__ or location(file, line)).partition(chr(10))[0]}"
    value, *steps = (formula_text(ast.unparse(part)) for part in parts)
    return f"{head} = {value}" + (f", with {'; '.join(steps)}" if steps else "")


def expressions(name: str, file: str, line: int) -> list[ast.AST]:
    """Return the value that a function returns, and its steps before that.

    Nothing if it branches, or has a docstring.
    """
    for node in syntax_of(file):
        match node:
            case ast.Lambda(lineno=start, body=value) if start == line:
                return [value]
            case ast.FunctionDef(name=own, body=[*steps, ast.Return(ast.expr() as value)]) if own == name:
                return [value, *steps] if all(isinstance(step, ast.Assign) for step in steps) else []
    return []


def location(file: str, line: int) -> str:
    """Return a line of the engine as people look it up: ``gviz/ops/arithmetic.py:40``."""
    return f"gviz/{os.path.relpath(file, os.path.dirname(ops.__path__[0])).replace(os.sep, '/')}:{line}"
