"""Formulas as mathematics writes them, ``-2·x²``: read, multiplied, added, and with something in place of a name."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping

SIGNS = {" ** 2": "²", " ** 3": "³", " ** ": "^", " * ": "·", " / ": "/", "...": "…"}
"""Python's signs, and those of mathematics."""

UNKNOWN, NAME = "□", "unknown_"
"""An operand that needs no gradient: the graph does not have it; and a name in its place, for Python's parser."""

RAISED = (" ** 2", " ** 3")
_RAISED = re.compile(r" \*\* [23](?![\w.])")  # not the beginning of 25 or of 2.5


def written(node: ast.expr) -> str:
    """Return an expression as it is written in mathematics.

    >>> written(ast.parse("-2 * x ** 2 / y", mode="eval").body)
    '-2·x²/y'
    """
    text = _RAISED.sub(lambda power: SIGNS[power[0]], ast.unparse(node))
    for python, sign in SIGNS.items():
        text = text if python in RAISED else text.replace(python, sign)
    return text


def read(text: str) -> ast.expr | None:
    """Return the syntax of what :func:`written` has written; None for a text that is no formula.

    >>> ast.unparse(read("-2·x²/y")), ast.unparse(read("□·x")), read("x (1st)")
    ('-2 * x ** 2 / y', '□ * x', None)
    """
    for python, sign in SIGNS.items():
        text = text.replace(sign, python)
    try:
        tree = ast.parse(text.replace(UNKNOWN, NAME), mode="eval").body
    except (SyntaxError, RecursionError, MemoryError):
        return None
    for node in ast.walk(tree) if UNKNOWN in text else ():
        if isinstance(node, ast.Name) and node.id == NAME:
            node.id = UNKNOWN
    return tree


def product(left: ast.expr, right: ast.expr) -> ast.expr:
    """Return a product; a factor of 1 is left out, one of -1 is a sign.

    >>> w, minus, difference = (ast.parse(text, mode="eval").body for text in ("w", "-1", "a - b"))
    >>> written(product(minus, w)), written(product(w, difference)), written(product(minus, minus))
    ('-w', 'w·(a - b)', '1')
    """
    for factor, other in ((left, right), (right, left)):
        match ast.unparse(factor):
            case "1":
                return other
            case "-1":
                return other.operand if isinstance(other, ast.UnaryOp) else ast.UnaryOp(ast.USub(), other)
    return ast.BinOp(left, ast.Mult(), right)


def total(left: ast.expr, right: ast.expr) -> ast.expr:
    """Return a sum."""
    if isinstance(right, ast.UnaryOp) and isinstance(right.op, ast.USub):
        return ast.BinOp(left, ast.Sub(), right.operand)
    return ast.BinOp(left, ast.Add(), right)


class Replacer(ast.NodeTransformer):
    """Puts formulas in place of names."""

    def __init__(self, formulas: Mapping[str, ast.expr]) -> None:
        self.formulas = formulas

    def visit_Name(self, node: ast.Name) -> ast.expr:
        """Return what stands in place of a name."""
        return self.formulas.get(node.id, node)


def replaced(node: ast.expr, formulas: Mapping[str, ast.expr]) -> ast.expr:
    """Return a formula with others in place of some of its names."""
    copy: ast.expr = Replacer(formulas).visit(ast.parse(ast.unparse(node), mode="eval").body)
    return copy
