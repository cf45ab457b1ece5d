"""Python functions as data: that of a formula's text, its code in another namespace, what a forward on arrays comes down to."""

from __future__ import annotations

import ast
import sys
from types import FunctionType
from typing import Any

import numpy as np

__all__ = ["bind", "caller", "direct", "formula", "own", "parameters"]


def formula(text: str, known: set[str], saves: tuple[str, ...]) -> Any:
    """The function that a derivative's text stands for: of the gradient, and of the saved things that it names."""
    names = compile(text, "<derivative>", "eval").co_names
    saved = *(name for name in names if name in known or "_sym_" in name), *saves
    return eval(f"lambda {', '.join(('grads' if 'grads' in names else 'grad', *saved))}: {text}", {})  # noqa: S307 - the table's own


class RightFirst(ast.NodeTransformer):
    """An operator both of whose operands compute something becomes a call with them turned around."""

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        """The call, ``turned_Mult(right, left)``; what computes nothing stays."""
        self.generic_visit(node)
        if any(not any(isinstance(n, ast.Call | ast.BinOp) for n in ast.walk(side)) for side in (node.left, node.right)):
            return node
        return ast.Call(ast.Name(f"turned_{type(node.op).__name__}", ast.Load()), [node.right, node.left], [])


def recorded(text: str, formula: Any) -> Any:
    """The function where it is recorded: nodes are numbered, and PyTorch, in C++, makes those of right operands first."""
    turned = ast.unparse(ast.fix_missing_locations(RightFirst().visit(ast.parse(text, mode="eval"))))
    return eval(f"lambda {', '.join(parameters(formula))}: {turned}", {})  # noqa: S307 - the table's own


TURNED: dict[str, Any] = {
    "turned_Add": lambda right, left: left + right, "turned_Sub": lambda right, left: left - right,
    "turned_Mult": lambda right, left: left * right, "turned_Div": lambda right, left: left / right,
}  # fmt: skip


def parameters(function: Any) -> tuple[str, ...]:
    """Names of a Python function's positional parameters."""
    code = function.__code__
    return tuple(code.co_varnames[: code.co_argcount])


def bind(formula: Any, namespace: dict[str, Any]) -> Any:
    """The same code, with the table's names looked up in that namespace."""
    return FunctionType(formula.__code__, namespace, formula.__name__, formula.__defaults__)


def caller() -> tuple[Any, int]:
    """The code of the module that is being run, and where in it: a row's home. The line, which takes time, is for readers."""
    frame: Any = sys._getframe(1)
    while frame.f_code.co_name != "<module>":
        frame = frame.f_back
    return frame.f_code, frame.f_lasti


def own(function: Any) -> Any:
    """The same closure with a code object of its own: there Python remembers the classes it met, for a row always the same."""
    code, names = function.__code__.replace(), function.__globals__
    return FunctionType(code, names, function.__name__, function.__defaults__, function.__closure__)


PRODUCT, QUOTIENT, SUM, DIFFERENCE = (
    f.__code__.co_code for f in (lambda a, b: a * b, lambda a, b: a / b, lambda a, b: a + b, lambda a, b: a - b)
)
OPERATORS = {PRODUCT: np.multiply, QUOTIENT: np.true_divide, SUM: np.add, DIFFERENCE: np.subtract}
NUMPY_CALL = (lambda a: np.exp(a)).__code__.co_code  # noqa: PLW0108
TABLE_CALLS = [(lambda a: sorted(a)).__code__.co_code, (lambda a, b: isinstance(a, b)).__code__.co_code]  # noqa: PLW0108


def direct(function: Any) -> Any:
    """What a function of arrays does, where that is one call (``self * other``, ``np.exp(self)``): a frame less each time."""
    code = function.__code__
    if code.co_code == NUMPY_CALL and code.co_names[0] == "np":
        return getattr(np, code.co_names[1])
    names = function.__globals__
    if code.co_code in TABLE_CALLS[code.co_argcount - 1 : code.co_argcount] and names["__name__"] == "gviz.engine.arrays":
        return names.get(code.co_names[0], function)
    return OPERATORS.get(code.co_code, function)
