"""Formulas over the names of a program: read, multiplied, added, with something in place of a name.

They are text only where they are shown.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Container, Mapping
from copy import deepcopy
from functools import reduce
from typing import Any, Self

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

EARLIER = re.compile(r"\b([^\W\d]\w*+) \((\d+(?:st|nd|rd|th))\)")
"""The name of a tensor whose name the program has given to another one later: ``h (1st)``."""

FOLDED = 6
"""Digits of a product of numbers that are written with seven: 3 · 0.3333333 is 1."""

RAISED = (" ** 2", " ** 3")
_UNUSUAL = re.compile(r" (?:%|//|@) .* [*/] | \*\* .* \*\* ")
"""What may be read in another order than Python's."""

_WHOLE = re.compile(r"(?<=\d)\.0(?![\w.])")
"""What stands behind the point of a whole number."""

_RAISED = re.compile(r" \*\* [23](?![\w.])")  # not the beginning of 25 or of 2.5


class Formula:
    """An expression over names.

    >>> w, minus, difference = map(Formula.parse, ("w", "-1", "a - b"))
    >>> str(minus.times(w)), str(w.times(difference)), str(minus.times(minus)), str(w.plus(minus))
    ('-w', 'w·(a - b)', '1', 'w - 1')
    >>> str(difference.replaced({"a": Formula.parse("x * y")})), sorted(difference.names), minus.is_number
    ('x·y - b', ['a', 'b'], True)
    """

    def __init__(self, node: ast.expr) -> None:
        self.node = node

    @classmethod
    def read(cls, text: str) -> Self | None:
        """Return the formula of a text, as :meth:`__str__` has written it or as Python does; None for one that is none.

        >>> Formula.read("-2·x²/y").python, Formula.read("□·x").python, str(Formula.read("x * h (1st)"))
        ('-2 * x ** 2 / y', '□ * x', 'x·h (1st)')
        """
        for python, sign in READ.items():
            text = text.replace(sign, python)
        earlier = {f"{name}_{which}_": f"{name} ({which})" for name, which in EARLIER.findall(text)}
        text = EARLIER.sub(r"\1_\2_", text) if earlier else text
        try:
            formula = cls(ast.parse(text.replace(UNKNOWN, NAME), mode="eval").body)
        except (SyntaxError, ValueError, RecursionError, MemoryError):  # ValueError: of characters that are none
            return None
        names = {**earlier, NAME: UNKNOWN} if UNKNOWN in text or earlier else {}
        for node in ast.walk(formula.node) if names else ():
            if isinstance(node, ast.Name):
                node.id = names.get(node.id, node.id)
        return formula

    @classmethod
    def parse(cls, text: str) -> Self:
        """Return an expression of Python's.

        Any other text, as an operand that is not known, is a name.
        """
        try:
            return cls(ast.parse(text, mode="eval").body)
        except (SyntaxError, ValueError):
            return cls(ast.Name(text, ast.Load()))

    def __str__(self) -> str:
        """Return it as it is written in mathematics.

        A sign that Python reads in another order than people do has brackets around its operands.

        >>> str(Formula.parse("x ** 2 ** 3")), str(Formula.parse("5 % 3 * x")), str(Formula.parse("W @ x * w * 2.0"))
        ('x^(2³)', '(5 % 3)·x', '(W @ x)·w·2')
        """
        text = self.python
        if _UNUSUAL.search(text):
            text = ast.unparse(_Bracketer().visit(deepcopy(self.node)))
        text = _RAISED.sub(lambda power: SIGNS[power[0]], _WHOLE.sub("", text))
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

        >>> Formula.parse("sin(x) + w").variables == {"x", "w"}
        True
        """
        functions = {id(node.func) for node in ast.walk(self.node) if isinstance(node, ast.Call)}
        return {node.id for node in ast.walk(self.node) if isinstance(node, ast.Name) and id(node) not in functions}

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

    def with_names(self, names: Container[str]) -> Formula:
        """Return it with one name for each part that is called so.

        >>> sorted(Formula.parse("P[2] * net.w + c").with_names(["P[2]", "net.w"]).names)
        ['P[2]', 'c', 'net.w']
        """
        return Formula(_Namer(names).visit(deepcopy(self.node)))

    @property
    def simplified(self) -> Formula:
        """It as lecturers write it: numbers first, in one factor; no factor and no exponent of 1.

        >>> str(Formula.parse("1 * (1 * w) * (3 * (x ** 1 * 2))").simplified), str(Formula.parse("-(x * 1)").simplified)
        ('6·w·x', '-x')
        >>> str(Formula.parse("tanh_backward(1 * (y * -2 * 1), y)").simplified)
        '-(2·y·(1 - y²))'
        >>> str(Formula.parse("3 * (x * 0.3333333)").simplified)
        'x'
        """
        return Formula(_Simplifier().visit(deepcopy(self.node)))

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


class _Namer(ast.NodeTransformer):
    """Puts names in place of parts that are called so."""

    def __init__(self, names: Container[str]) -> None:
        self.names = names

    def visit(self, node: ast.AST) -> Any:
        """Return a part, or its name."""
        is_part = isinstance(node, ast.Subscript | ast.Attribute | ast.Call)
        name = ast.unparse(node) if is_part else ""
        return ast.Name(name) if name in self.names else self.generic_visit(node)


SLOPES = {"tanh_backward": "_g * (1 - _y ** 2)", "sigmoid_backward": "_g * (1 - _y) * _y"}
"""PyTorch's functions of a gradient and a result, as mathematics writes them."""


class _Simplifier(ast.NodeTransformer):
    """Writes products with their numbers first, and leaves out what changes nothing."""

    def visit_Call(self, node: ast.Call) -> ast.expr:
        """Return a call; for that of a function's backward the product that it computes."""
        self.generic_visit(node)
        match node:
            case ast.Call(func=ast.Name(id=name), args=[gradient, result], keywords=[]) if name in SLOPES:
                operands = {"_g": Formula(gradient), "_y": Formula(result)}
                return self.product(Formula.parse(SLOPES[name]).replaced(operands).node)
        return node

    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        """Return an operation with a sign."""
        self.generic_visit(node)
        match node:
            case ast.BinOp(op=ast.Mult()):
                return self.product(node)
            case ast.BinOp(left=base, op=ast.Pow(), right=ast.Constant(value=0 | 1 as exponent)):
                return base if exponent else ast.Constant(1)
        return node

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.expr:
        """Return an operand with its sign."""
        self.generic_visit(node)
        return self.product(node) if isinstance(node.op, ast.USub) else node

    @staticmethod
    def product(node: ast.expr) -> ast.expr:
        """Return a product with one number, if it is not 1, before all other factors."""
        number, count, factors, todo = 1.0, 0, list[Formula](), [node]
        while todo:
            match todo.pop():
                case ast.BinOp(left=left, op=ast.Mult(), right=right):
                    todo += [right, left]
                case ast.UnaryOp(op=ast.USub(), operand=operand):
                    number, todo = -number, [*todo, operand]
                case ast.Constant(value=int() | float() as value):
                    number, count = number * value, count + 1
                case factor:
                    factors.append(Formula(factor))
        if count > 1 and not number.is_integer():
            number = float(f"{number:.{FOLDED}g}")
        size = Formula(ast.Constant(int(abs(number)) if number.is_integer() else abs(number)))
        result = reduce(Formula.times, factors, size).node
        return ast.UnaryOp(ast.USub(), result) if number < 0 else result
