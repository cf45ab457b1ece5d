"""A statement of a program without the calls that cut its tensors off from the graph."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import TypeAlias

from gviz.causes.syntax import LONGEST, has, last_name, rebuilt

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

    def change(old: ast.AST, new: ast.expr) -> ast.expr:
        return without_call(new, is_list=is_list) if has(old, is_inside) else new

    after = ast.unparse(ast.fix_missing_locations(rebuilt(statement, change)))
    target, _, value = after.partition(" = ")
    is_idle = target == value or (isinstance(statement, ast.Expr) and "(" not in after)
    is_shown = after != before and after.count("\n") < LONGEST
    return IDLE if is_idle else after if is_shown else ""


def is_numpy(node: ast.AST) -> bool:
    """Return whether a node is a call of a function of numpy's."""
    return isinstance(node, ast.Call) and ast.unparse(node.func).partition(".")[0] in NUMPY


def without_call(new: ast.expr, *, is_list: bool) -> ast.expr:
    """Return an expression without ``.detach()``, ``float()``, ``torch.tensor()`` and their kin.

    Args:
        new: the expression, whose parts have been rid of them already.
        is_list: whether a name in it is that of a list of tensors.
    """
    match new:
        case ast.Attribute(value, "data", ast.Load()):
            return value
        case ast.Call(ast.Attribute(owner, name), []) if name in CUTS:
            return owner
        case ast.Call(ast.Attribute(ast.Name("math"), name), arguments, words) if name in MATH:
            return ast.Call(ast.Attribute(ast.Name("torch"), name), arguments, words)
        case ast.Call(ast.Attribute(owner, name), [first, *_]) if name in FROM_NUMBERS:
            is_many = isinstance(first, ast.List | ast.ListComp) or (is_list and isinstance(first, ast.Name))
            return stack_of(owner, first) if is_many else first
        case ast.Call(function, [first, *_]) if (
            last_name(function) in LEAVES or ast.unparse(function) == "torch.detach"
        ):
            return first
    return new


def stack_of(torch: ast.expr, parts: ast.expr) -> ast.expr:
    """Return what makes a tensor of a list of tensors, and of numbers that no tensor is behind.

    In a list of lists a tensor may have had another shape than the number that was made of it.
    """
    match parts:
        case ast.ListComp(ast.ListComp(inner, inner_loops), loops):
            squeezed = ast.Call(ast.Attribute(inner, "squeeze"), [], [])
            parts = ast.ListComp(stack_of(torch, ast.ListComp(squeezed, inner_loops)), loops)
        case ast.List(elements):
            parts = ast.List([as_tensor(torch, one) for one in elements])
    return ast.Call(ast.Attribute(torch, "stack"), [parts], [])


def as_tensor(torch: ast.expr, element: ast.expr) -> ast.expr:
    """Return an element of a list without cuts; a number that no tensor is behind as a tensor."""
    whole: ast.expr = rebuilt(element, lambda _, new: without_call(new, is_list=False))
    is_tensor = has(whole, lambda part: isinstance(part, ast.Name))
    return whole if is_tensor else ast.Call(ast.Attribute(torch, "tensor"), [whole], [])
