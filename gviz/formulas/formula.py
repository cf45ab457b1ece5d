"""Formulas over the names of a program: read, multiplied, added, with something in place of a name.

They are text only where they are shown.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from copy import deepcopy
from typing import Self

SIGNS = {" ** 2": "²", " ** 3": "³", " ** ": "^", " * ": "·", " / ": "/", "...": "…"}
"""Python's signs, and those of mathematics."""

READ = {**SIGNS, ".T": "ᵀ"}
"""The signs that are read; what is transposed is written as in Python, but for the Jacobians of lectures."""

UNKNOWN, NAME = "□", "unknown_"
"""An operand that needs no gradient: the graph does not have it; and a name in its place, for Python's parser."""

UNNAMED = "an input that needs no grad"
"""What :data:`UNKNOWN` is: what needs a gradient has an edge, and so a name, freed or not."""

GRAD = "grad"
"""In the derivative of a step that is no factor, the gradient that arrives: ``grad @ x.T``."""

RAISED = (" ** 2", " ** 3")
_UNUSUAL = re.compile(r" (?:%|//|@) .* [*/] | \*\* .* \*\* ")
"""What may be read in another order than Python's."""

_RAISED = re.compile(r" \*\* [23](?![\w.])")  # not the beginning of 25 or of 2.5


class Formula:
    """An expression over names.

    >>> w, minus, difference = map(Formula.named, ("w", "-1", "a - b"))
    >>> str(minus.times(w)), str(w.times(difference)), str(minus.times(minus)), str(w.plus(minus))
    ('-w', 'w·(a - b)', '1', 'w - 1')
    >>> str(difference.replaced({"a": Formula.named("x * y")})), sorted(difference.names), minus.is_number
    ('x·y - b', ['a', 'b'], True)
    """

    def __init__(self, node: ast.expr) -> None:
        self.node = node

    @classmethod
    def read(cls, text: str) -> Self | None:
        """Return the formula of a text, as :meth:`__str__` has written it or as Python does; None for one that is none.

        >>> Formula.read("-2·x²/y").python, Formula.read("□·x").python, Formula.read("x (1st)")
        ('-2 * x ** 2 / y', '□ * x', None)
        """
        for python, sign in READ.items():
            text = text.replace(sign, python)
        try:
            formula = cls(ast.parse(text.replace(UNKNOWN, NAME), mode="eval").body)
        except (SyntaxError, RecursionError, MemoryError):
            return None
        for node in ast.walk(formula.node) if UNKNOWN in text else ():
            if isinstance(node, ast.Name) and node.id == NAME:
                node.id = UNKNOWN
        return formula

    @classmethod
    def named(cls, text: str) -> Self:
        """Return an expression of Python's.

        Any other text, as ``x (1st)`` or an operand that is not known, is a name.
        """
        try:
            return cls(ast.parse(text, mode="eval").body)
        except SyntaxError:
            return cls(ast.Name(text, ast.Load()))

    def __str__(self) -> str:
        """Return it as it is written in mathematics.

        A sign that Python reads in another order than people do has brackets around its operands.

        >>> str(Formula.named("x ** 2 ** 3")), str(Formula.named("5 % 3 * x")), str(Formula.named("W @ x * w"))
        ('x^(2³)', '(5 % 3)·x', '(W @ x)·w')
        """
        text = self.python
        if _UNUSUAL.search(text):
            text = ast.unparse(_Bracketer().visit(deepcopy(self.node)))
        text = _RAISED.sub(lambda power: SIGNS[power[0]], text)
        for python, sign in SIGNS.items():
            text = text if python in RAISED else text.replace(python, sign)
        return text

    @property
    def python(self) -> str:
        """It as Python writes it."""
        return ast.unparse(self.node)

    @property
    def names(self) -> set[str]:
        """The names in it."""
        return {node.id for node in ast.walk(self.node) if isinstance(node, ast.Name)}

    @property
    def variables(self) -> set[str]:
        """The names in it that are not those of functions.

        >>> Formula.named("sin(x) + w").variables == {"x", "w"}
        True
        """
        called = {id(node.func) for node in ast.walk(self.node) if isinstance(node, ast.Call)}
        return {node.id for node in ast.walk(self.node) if isinstance(node, ast.Name) and id(node) not in called}

    @property
    def is_number(self) -> bool:
        """Whether it is computed from numbers alone."""
        return not self.names

    @property
    def sides(self) -> tuple[Formula, Formula] | None:
        """What stands on the left and on the right of its sign.

        None if its last operation is not one with a sign between two.
        """
        return (Formula(self.node.left), Formula(self.node.right)) if isinstance(self.node, ast.BinOp) else None

    def replaced(self, formulas: Mapping[str, Formula]) -> Formula:
        """Return it with others in place of some of its names."""
        if not self.names & formulas.keys():
            return self
        return Formula(_Replacer(formulas).visit(deepcopy(self.node)))

    def times(self, other: Formula) -> Formula:
        """Return a product; a factor of 1 is left out, one of -1 is a sign."""
        for factor, rest in ((self, other), (other, self)):
            match factor.python:
                case "1":
                    return rest
                case "-1":
                    is_signed = isinstance(rest.node, ast.UnaryOp)
                    return Formula(rest.node.operand if is_signed else ast.UnaryOp(ast.USub(), rest.node))  # type: ignore[attr-defined]
        return Formula(ast.BinOp(self.node, ast.Mult(), other.node))

    def plus(self, other: Formula) -> Formula:
        """Return a sum."""
        if isinstance(other.node, ast.UnaryOp) and isinstance(other.node.op, ast.USub):
            return Formula(ast.BinOp(self.node, ast.Sub(), other.node.operand))
        return Formula(ast.BinOp(self.node, ast.Add(), other.node))


class _Bracketer(ast.NodeTransformer):
    """Puts brackets around powers in an exponent, and around products of matrices and remainders beside a product."""

    def visit_BinOp(self, node: ast.BinOp) -> ast.BinOp:
        """Return an operation, with brackets around the operand that people would not read as one."""
        self.generic_visit(node)
        match node:
            case ast.BinOp(op=ast.Pow(), right=ast.BinOp(op=ast.Pow()) | ast.UnaryOp(operand=ast.BinOp(op=ast.Pow()))):
                return ast.BinOp(node.left, node.op, ast.Name(f"({ast.unparse(node.right)})", ast.Load()))
            case ast.BinOp(left=ast.BinOp(op=ast.Mod() | ast.FloorDiv() | ast.MatMult()), op=ast.Mult() | ast.Div()):
                return ast.BinOp(ast.Name(f"({ast.unparse(node.left)})", ast.Load()), node.op, node.right)
        return node


class _Replacer(ast.NodeTransformer):
    """Puts formulas in place of names."""

    def __init__(self, formulas: Mapping[str, Formula]) -> None:
        self.formulas = formulas

    def visit_Name(self, node: ast.Name) -> ast.expr:
        """Return what stands in place of a name."""
        return self.formulas[node.id].node if node.id in self.formulas else node
