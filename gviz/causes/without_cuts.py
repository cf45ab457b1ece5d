"""A statement of a program without the calls that cut its tensors off from the graph."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from copy import deepcopy
from typing import Any, TypeAlias

from gviz.causes.fixes import LONGEST, MODULES, parsed

CUTS = {"detach", "detach_", "item", "tolist", "numpy", "data"}
"""What leaves the graph, as a method or as an attribute."""

FROM_NUMBERS = {"tensor", "as_tensor", "from_numpy", "Tensor", "FloatTensor", "DoubleTensor"}
"""Functions of torch that make a tensor of numbers."""

MATH = {
    "acos", "asin", "atan", "atan2", "ceil", "cos", "cosh", "erf", "exp", "expm1", "floor", "hypot", "lgamma", "log",
    "log10", "log1p", "log2", "pow", "sin", "sinh", "sqrt", "tan", "tanh",
}  # fmt: skip
"""Functions of Python's math module that torch has by the same name."""

LEAVES = {"float", "int", "Parameter", "Variable"}
"""Functions that make a number, or a leaf, of what they are given."""

NUMPY = {"np", "numpy"}
"""Names of the module whose functions keep no graph."""

IDLE = "idle"
"""Said of a statement that would assign what is there already."""

Test: TypeAlias = "Callable[[ast.AST], bool]"


def expression_at(program: str, span: Sequence[int]) -> tuple[ast.stmt, ast.expr] | None:
    """Return the expression at a place of a program, with its statement; None if there is none, or it is in a head.

    >>> ast.unparse(expression_at("y = x.detach() * 2", (1, 4, 1, 14))[1])
    'x.detach()'
    """
    simple = (one for one in ast.walk(parsed(program)) if isinstance(one, ast.stmt) and not hasattr(one, "body"))
    within = [one for one in simple if one.lineno <= span[0] and span[2] <= (one.end_lineno or one.lineno)]
    pairs = ((one, part) for one in within for part in ast.walk(one) if isinstance(part, ast.expr))
    return next((pair for pair in pairs if is_at(pair[1], span)), None)


def is_at(node: ast.AST, span: Sequence[int]) -> bool:
    """Return whether an expression is written at a place; of a method on a line of its own, where the call ends."""
    place = tuple(getattr(node, name, 0) for name in ("lineno", "col_offset", "end_lineno", "end_col_offset"))
    is_same_end = isinstance(node, ast.Call | ast.Attribute) and place[2:] == (*span[2:],) and place[0] < span[0]
    return place == (*span,) or is_same_end


def without_cuts(statement: ast.stmt, is_inside: Test, *, is_list: bool = False) -> str | None:
    """Return a statement in which parts of it stay within the graph.

    Args:
        statement: as it is, which is left so.
        is_inside: whether a node of it is such a part, or a call that cuts one off.
        is_list: whether a name among the parts is that of a list of tensors.

    Returns:
        None if that cannot be said, as where numpy computes with it; "" for a statement that is well as it is, and
        IDLE for one that would assign what is there already.
    """
    before = ast.unparse(statement)
    if any(is_numpy(one) and has(one, is_inside) for one in ast.walk(statement)):
        return None
    copy = deepcopy(statement)
    pairs = zip(ast.walk(statement), ast.walk(copy), strict=True)
    inside = {own for one, own in pairs if is_inside(one)}
    after = ast.unparse(ast.fix_missing_locations(_WithoutCuts(inside.__contains__, is_list=is_list).visit(copy)))
    target, _, value = after.partition(" = ")
    is_idle = target == value or (isinstance(statement, ast.Expr) and "(" not in after)
    is_shown = after != before and after.count("\n") < LONGEST
    return IDLE if is_idle else after if is_shown else ""


def has(node: ast.AST, test: Test) -> bool:
    """Return whether a node, or one within it, passes a test."""
    return any(map(test, ast.walk(node)))


def is_numpy(node: ast.AST) -> bool:
    """Return whether a node is a call of a function of numpy's."""
    function = node.func if isinstance(node, ast.Call) else None
    while isinstance(function, ast.Attribute):
        function = function.value
    return isinstance(function, ast.Name) and function.id in NUMPY


class _WithoutCuts(ast.NodeTransformer):
    """Takes ``.detach()``, ``float()``, ``torch.tensor()`` and their kin away from round some parts of a statement."""

    def __init__(self, is_inside: Test, *, is_list: bool = False) -> None:
        self.is_inside, self.is_list = is_inside, is_list

    def visit(self, node: ast.AST) -> ast.AST:
        if not has(node, self.is_inside):
            return node
        self.generic_visit(node)
        if isinstance(node, ast.Attribute) and node.attr == "data" and isinstance(node.ctx, ast.Load):
            return node.value
        return self.without_call(node) if isinstance(node, ast.Call) else node

    def without_call(self, node: ast.Call) -> ast.expr:
        """Return what a call that leaves the graph is given; another call as it is."""
        function, first = node.func, node.args[0] if node.args else None
        owner = function.value if isinstance(function, ast.Attribute) else None
        name, module = getattr(function, "attr", getattr(function, "id", "")), getattr(owner, "id", "")
        if first is None:
            return owner if owner is not None and name in CUTS else node
        if module == "math" and name in MATH and isinstance(owner, ast.Name):
            owner.id = "torch"
        if owner is not None and name in FROM_NUMBERS:
            is_list = isinstance(first, ast.List | ast.ListComp) or (self.is_list and isinstance(first, ast.Name))
            return self.stacked(owner, first) if is_list else first
        is_cut = name in LEAVES or (name == "detach" and module in MODULES)
        return first if is_cut else node

    @staticmethod
    def stacked(torch: ast.expr, parts: ast.expr) -> ast.expr:
        """Return what makes a tensor of a list of tensors, and of numbers that no tensor is behind.

        In a list of lists a tensor may have had another shape than the number that was made of it.
        """
        if isinstance(parts, ast.ListComp) and isinstance(inner := parts.elt, ast.ListComp):
            inner.elt = ast.Call(ast.Attribute(inner.elt, "squeeze", ast.Load()), [], [])
            parts.elt = _WithoutCuts.stacked(torch, inner)
        if isinstance(parts, ast.List):
            whole: list[Any] = [_WithoutCuts(lambda _: True).visit(one) for one in parts.elts]
            make_tensor = ast.Attribute(torch, "tensor", ast.Load())
            is_tensor = [has(one, lambda part: isinstance(part, ast.Name)) for one in whole]
            parts.elts = [
                one if flag else ast.Call(make_tensor, [one], []) for one, flag in zip(whole, is_tensor, strict=True)
            ]
        return ast.Call(ast.Attribute(torch, "stack", ast.Load()), [parts], [])
