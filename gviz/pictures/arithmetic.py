"""What a formula comes to with numbers in place of its names, as a reader computes it who has nothing but these."""

from __future__ import annotations

import ast
import math
import operator
import warnings
from collections.abc import Callable, Mapping
from typing import Any

from gviz.formulas.formula import Formula
from gviz.graphs.numbers import Numbers, elements_of
from gviz.passes.elements import array_of, numbers_of, scalar_of

OPERATORS: dict[type[ast.AST], Callable[..., Any]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv,
    ast.Pow: operator.pow, ast.MatMult: operator.matmul, ast.USub: operator.neg,
    ast.Lt: operator.lt, ast.LtE: operator.le, ast.Gt: operator.gt, ast.GtE: operator.ge,
    ast.Eq: operator.eq, ast.NotEq: operator.ne,
}  # fmt: skip

OF_NUMBERS: dict[str, Callable[[float], float]] = {
    "sqrt": math.sqrt, "exp": math.exp, "log": math.log, "sin": math.sin, "cos": math.cos, "tanh": math.tanh,
    "sigmoid": lambda number: 1 / (1 + math.exp(-number)), "relu": lambda number: max(number, 0.0),
}  # fmt: skip
"""Functions that need no array where their argument is one number."""

OF_ALL = {"sum": "sum", "mean": "mean", "mm": "matmul", "mv": "matmul", "dot": "matmul", "matmul": "matmul"}
"""Functions of a whole tensor, by numpy's names."""

NAMED = {"π": math.pi, "pi": math.pi, "inf": math.inf, "nan": math.nan}

FAILURES = (RuntimeError, ArithmeticError, LookupError, TypeError, ValueError, AttributeError)
"""How arithmetic fails on a formula that has other parts, or whose sizes do not fit."""


def value_of(formula: Formula, numbers: Mapping[str, Numbers | None]) -> Numbers | None:
    """Return what a formula comes to; None if it has other names, or functions that do not work element by element.

    >>> numbers = {"a": Numbers.of([1.0, 2.0]), "b": Numbers.of(0.5)}
    >>> texts = "2·a² + sqrt(b + 3.5)", "[a > 1]·a", "a @ a", "a.sum()", "exp(b - 0.5)", "softmax(a, 0)", "a + c"
    >>> for text in texts:
    ...     value = value_of(Formula.read(text), numbers)
    ...     print(value and value.nested(), end="  ")
    [4.0, 10.0]  [0.0, 2.0]  5.0  3.0  1.0  None  None
    """
    values = {
        name: array_of(one) if isinstance(scalar_of(one), str | None) else scalar_of(one)
        for name, one in numbers.items()
    }
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of nan, which is a number here
            result = result_of(formula.node, values)
            return (
                Numbers((), "", elements_of((float(result),)))
                if isinstance(result, int | float)
                else numbers_of(result)
            )
    except FAILURES:
        return None


def result_of(node: ast.expr, values: Mapping[str, object]) -> Any:
    """Return what an expression comes to: a number or an array.

    Raises:
        LookupError: it has a part that has no arithmetic here; others of FAILURES where the sizes do not fit.
    """
    value: Any = None
    match node:
        case ast.Constant(value=int() | float() as value):
            pass
        case ast.Name(id=name):
            value = values[name] if name in values else NAMED[name]
        case ast.UnaryOp(op=sign, operand=operand):
            value = OPERATORS[type(sign)](result_of(operand, values))
        case ast.BinOp(left=left, op=sign, right=right) | ast.Compare(left=left, ops=[sign], comparators=[right]):
            value = OPERATORS[type(sign)](result_of(left, values), result_of(right, values))
        case ast.List(elts=[ast.Compare() as condition]):  # 1 where it holds, else 0
            value = result_of(condition, values) * 1.0
        case ast.Attribute(value=owner, attr="T"):
            value = result_of(owner, values).T
        case ast.Call(func=ast.Name(id=name), args=args, keywords=[]):
            arguments = [result_of(arg, values) for arg in args]
            is_number = name in OF_NUMBERS and all(isinstance(one, float) for one in arguments)
            value = (OF_NUMBERS[name] if is_number else function_on_arrays(name, args))(*arguments)
        case ast.Call(func=ast.Attribute(value=owner, attr=name), args=args, keywords=[]):
            value = result_of(ast.Call(ast.Name(name), [owner, *args], []), values)
        case _:
            raise LookupError(ast.unparse(node))
    return value


def function_on_arrays(name: str, args: list[ast.expr]) -> Callable[..., Any]:
    """Return a function on arrays, by its name in the table, or in numpy."""
    from gviz.autograd.row import ARRAYS, ROWS
    from gviz.formulas.symbolic import argument_of, is_constant, literal_of, works_on_each

    np = ARRAYS["np"]
    kinds = tuple(literal_of(arg) if is_constant(arg) else argument_of(arg) for arg in args)
    is_random = name in ROWS and "generator" in ROWS[name].parameters
    if name in OF_ALL and len(args) <= 1 + (OF_ALL[name] == "matmul"):
        function = getattr(np, OF_ALL[name])
    elif is_random or not works_on_each(name, kinds):
        raise LookupError(name)
    else:
        function = ROWS[name].forward if name in ROWS else getattr(np, name)
    return lambda *arguments: function(*map(np.asarray, arguments))
