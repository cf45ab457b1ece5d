"""The calls of a program as formulas have them: methods, and functions of a module, as functions."""

from __future__ import annotations

import ast
from collections.abc import Container

from gviz.formulas.formula import Formula

MODULES = ("torch", "F", "nn", "math", "np")
"""Names that stand before functions."""

SUBMODULES = ("functional", "linalg", "special", "fft")
"""Names that stand before functions, behind that of another module."""


def as_formula(text: str, tensors: Container[str]) -> Formula | None:
    """Return what an operation computes, ``relu(x)`` for ``x.relu()``; None if that is not known.

    >>> [str(as_formula(text, ["w", "F"])) for text in ("nn.functional.relu(w)", "th.special.expit(w)", "fn.relu(w)")]
    ['relu(w)', 'expit(w)', 'relu(w)']
    >>> [str(as_formula(text, ["w", "F"])) for text in ("F.dot(w)", "w.T.dot(F)", "x.abs()", "self.w.dot(F)")]
    ['dot(F, w)', 'dot(w.T, F)', 'abs(x)', 'dot(self.w, F)']

    Args:
        text: it as the program writes it.
        tensors: the names of tensors.
    """
    formula = Formula.read(text) if text else None
    return Formula(Functions(tensors).visit(formula.node)) if formula is not None else None


class Functions(ast.NodeTransformer):
    """Writes calls of methods, and those with a module's name, as calls of functions.

    Args:
        tensors: the names of tensors.
    """

    def __init__(self, tensors: Container[str]) -> None:
        self.tensors = tensors

    def visit_Call(self, node: ast.Call) -> ast.expr:
        """Return a call as that of a function, a selection as an index."""
        self.generic_visit(node)
        match node:  # which is what p[0] is to PyTorch
            case ast.Call(func=ast.Name(id="select"), args=[owner, ast.Constant(value=0), place], keywords=[]):
                return ast.Subscript(owner, place)
        if not isinstance(node.func, ast.Attribute):
            return node
        owner, name = node.func.value, ast.Name(node.func.attr, ast.Load())
        own = [] if self.is_module(owner, has_arguments=bool(node.args)) else [owner]
        return ast.Call(name, [*own, *node.args], node.keywords)

    def is_module(self, owner: ast.expr, *, has_arguments: bool) -> bool:
        """Return whether what stands before a function is a module: a name that no tensor has, or one below it."""
        first = owner
        while isinstance(first, ast.Attribute):
            first = first.value
        if not isinstance(first, ast.Name) or first.id in self.tensors:
            return False
        is_below = isinstance(owner, ast.Attribute) and owner.attr in SUBMODULES
        is_imported = is_below or (owner is first and first.id.isidentifier())
        return first.id in MODULES or (is_imported and has_arguments)
