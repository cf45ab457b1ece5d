"""What backward computes as lectures write it, from the table's formulas: ``g xᵀ``, ``g ⊙ [c > 0]``."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from copy import deepcopy
from typing import NamedTuple

from gviz.formulas.formula import GRAD, UNKNOWN, Formula

TRANSPOSING = {"permute": "(1, 0)", "transpose": "", "t": ""}
"""Functions that are ``.T``, each with the only option that it is that for; "" for any."""

RESHAPING = ("unsqueeze", "squeeze", "reshape", "view", "expand", "unsafe_view")
"""Functions that leave each number as it is."""

SUMS = dict.fromkeys(("addmm", "addmv", "baddbmm"), "{1} @ {2} + {0}")
"""Functions that are written with signs, in terms of their arguments by number."""


ROW = "i"
"""The letter for each row of a tensor."""


class Handed(NamedTuple):
    """What an operation hands on to an input.

    Args:
        formula: in the names of the program and that of the gradient.
        is_by_rows: whether it is that of each row by itself.
        copied: the dimension along which each number is copied, in a gradient whose sizes are smaller; -1 for none.
    """

    formula: Formula
    is_by_rows: bool = False
    copied: int = -1


class Notation(ast.NodeTransformer):
    """Writes functions of programs with the signs of mathematics."""

    copied = -1

    def visit_Call(self, node: ast.Call) -> ast.expr:
        """Return a call with signs, if it has any."""
        self.generic_visit(node)
        args = node.args
        match node.func:
            case ast.Name(id="outer") if len(args) == 2:
                return ast.BinOp(args[0], ast.MatMult(), transposed(args[1]))
            case ast.Name(id=name) if name in TRANSPOSING and args:
                option = ", ".join(map(ast.unparse, args[1:]))
                return transposed(args[0]) if TRANSPOSING[name] in ("", option) else node
            case ast.Name(id=name) if name in RESHAPING and args:
                if name == "unsqueeze" and isinstance(args[1], ast.Constant) and isinstance(args[1].value, int):
                    self.copied = args[1].value
                return args[0]
            case ast.Name(id=name) if name in SUMS and len(args) == 3 and not node.keywords:
                return filled_pattern(SUMS[name], args)
        return node

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        """Return what is transposed, products from the last factor to the first."""
        self.generic_visit(node)
        return transposed(node.value) if node.attr in ("T", "mT") else node


def filled_pattern(pattern: str, args: list[ast.expr]) -> ast.expr:
    """Return a pattern with arguments in place of their numbers."""
    names = {f"arg_{place}": Formula(arg) for place, arg in enumerate(args)}
    return Formula.parse(pattern.format(*names)).replaced(names).node


def transposed(node: ast.expr) -> ast.expr:
    """Return what is transposed.

    >>> ast.unparse(transposed(ast.parse("g.T @ X", mode="eval").body))
    'X.T @ g'
    """
    match node:
        case ast.Attribute(attr="T" | "mT"):
            return node.value
        case ast.BinOp(op=ast.MatMult()):
            return ast.BinOp(transposed(node.right), ast.MatMult(), transposed(node.left))
    return ast.Attribute(node, "T", ast.Load())


def noted(formula: Formula) -> Formula:
    """Return a formula in the signs of mathematics.

    >>> noted(Formula.parse("addmm(b, X, permute(W, (1, 0)))")).python
    'X @ W.T + b'
    """
    return Formula(ast.fix_missing_locations(Notation().visit(deepcopy(formula.node))))


def backward_formula(
    symbol: str, letter: str, aliases: Mapping[str, str], *, is_factor: bool, is_summed: bool, place: str = ROW
) -> Handed | None:
    """Return what an operation hands on to an input; None if no formula says it.

    >>> for symbol in ("outer(grad, x)", "(grad.T @ X).T", "[c > 0]", "1", "1/n"):
    ...     print(backward_formula(symbol, "g", {}, is_factor="grad" not in symbol, is_summed=False).formula.python)
    g @ x.T
    X.T @ g
    g * [c > 0]
    g
    g / n
    >>> backward_formula("diag(p[i]) - p[i]·p[i]ᵀ", "g", {}, is_factor=False, is_summed=False).formula.python
    'g[i].T @ (diag(p[i]) - p[i] @ p[i].T)'
    >>> backward_formula("eye(3)[1:3]", "g", {}, is_factor=False, is_summed=False).formula.python
    'g.T @ eye(3)[1:3]'

    Args:
        symbol: the local derivative, of :class:`gviz.graphs.Flow`.
        letter: the name of the gradient that arrives.
        aliases: what stands in the formula for names that are none to Python.
        is_factor: whether the symbol is a factor, element by element.
        is_summed: whether the product is added up, since the input was spread.
        place: the letter for each row of a tensor.
    """
    local = Formula.read(aliased(symbol, aliases)) if symbol and UNKNOWN not in symbol else None
    if local is None:
        return None
    gradient = Formula.parse(letter)
    if GRAD in local.names:
        notation = Notation()
        node = notation.visit(local.replaced({GRAD: gradient}).node)
        return Handed(Formula(node), copied=notation.copied)
    if is_factor:
        product = gradient.times(local)
        match local.node:
            case ast.BinOp(left=ast.Constant(value=1), op=ast.Div(), right=below):
                product = Formula(ast.BinOp(gradient.node, ast.Div(), below))
        if is_summed:
            product = Formula(ast.Call(ast.Name("sum", ast.Load()), [product.node], []))
        return Handed(product)
    matrix = Outer(place).visit(deepcopy(local.node))
    parts = (node for node in ast.walk(matrix) if isinstance(node, ast.Subscript))
    rows = [node for node in parts if place in Formula(node.slice).names]
    own = ast.Subscript(gradient.node, rows[0].slice, ast.Load()) if rows else gradient.node
    return Handed(Formula(ast.BinOp(transposed(own), ast.MatMult(), matrix)), is_by_rows=bool(rows))


class Outer(ast.NodeTransformer):
    """Writes the products of a column and a row in a Jacobian as products of matrices, and rows with a letter of ours.

    Args:
        place: which of the rows.
    """

    def __init__(self, place: str) -> None:
        self.place = place

    def visit_Subscript(self, node: ast.Subscript) -> ast.Subscript:
        """Return a row of a tensor."""
        return ast.Subscript(node.value, Formula(node.slice).replaced({ROW: Formula.parse(self.place)}).node, node.ctx)

    def visit_BinOp(self, node: ast.BinOp) -> ast.BinOp:
        """Return a product."""
        self.generic_visit(node)
        is_outer = isinstance(node.op, ast.Mult) and isinstance(node.right, ast.Attribute) and node.right.attr == "T"
        return ast.BinOp(node.left, ast.MatMult(), node.right) if is_outer else node


def aliased(text: str, aliases: Mapping[str, str]) -> str:
    """Return a text with others in place of names in it, the longest first.

    >>> aliased("net.0.weight.T", {"net.0.weight": "name_0"})
    'name_0.T'
    """
    for name in sorted(aliases, key=len, reverse=True):
        text = text.replace(name, aliases[name])
    return text
