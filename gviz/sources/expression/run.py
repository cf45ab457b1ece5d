"""Runs an expression that has passed the check: what it may call is guarded, what is refused comes back with its place.

What the engine refuses is a SourceError with PyTorch's text, what Python refuses (``1/0``) one with Python's.
"""

from __future__ import annotations

import ast
import math
import operator
from typing import TYPE_CHECKING, Any

from gviz.errors import GvizError, SourceError
from gviz.sources.expression.allowed import CONSTANTS, DTYPES, FIELDS, find_function
from gviz.sources.expression.compiled import compiled, failed_piece
from gviz.sources.expression.limits import TooLargeError, check_power

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from gviz.sources.expression.check import Program
    from gviz.sources.expression.limits import Budget
    from gviz.sources.expression.parse import Source

__all__ = ["ENGINE_ERRORS", "engine_error", "run", "takes_number"]

ENGINE_ERRORS = (
    ArithmeticError,
    AssertionError,
    AttributeError,
    LookupError,
    MemoryError,
    NotImplementedError,
    RuntimeError,
    TypeError,
    ValueError,
)
"""What the engine raises for a call that PyTorch refuses too, and Python for numbers."""

OPERATORS: dict[str, Callable[..., Any]] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv, "//": operator.floordiv, "%": operator.mod,
    "**": operator.pow, "@": operator.matmul, "<<": operator.lshift, ">>": operator.rshift, "&": operator.and_,
    "|": operator.or_, "==": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt,
    ">=": operator.ge,
}  # fmt: skip

SIGNS: dict[str, Callable[..., Any]] = {"-": operator.neg, "+": operator.pos, "~": operator.invert}

OF_NUMBERS: dict[str, Callable[[float], float]] = {"abs": abs} | {
    function.__name__: function
    for function in (
        math.sqrt, math.exp, math.log, math.log2, math.log10, math.log1p, math.expm1, math.sin, math.cos, math.tan, math.asin,
        math.acos, math.atan, math.sinh, math.cosh, math.tanh, math.floor, math.ceil, math.trunc,
    )
}  # fmt: skip
"""Functions that people write of a number, as in ``x * sqrt(2)``; PyTorch has them for tensors only, Python in ``math``."""

HINTS: dict[type[BaseException], str] = {
    MemoryError: "take smaller tensors",
    OverflowError: "the largest number is about 1.8e308",
    ZeroDivisionError: "of tensors it would be inf: give the number a name",
}


def engine_error(error: BaseException, source: Source, piece: Any) -> SourceError:
    """What the engine or Python said, with the place of what it said it about."""
    text = (
        "there is not enough memory for this" if isinstance(error, MemoryError) else str(error.args[-1] if error.args else "")
    )
    what = text.partition(", but expected one of:")[0]  # a list of call forms is too long for one line
    hint = "of a tensor it would be nan or inf: give the number a name" if what.startswith("math ") else HINTS.get(type(error))
    return SourceError(what or type(error).__name__, place=source.place(piece), hint=hint)


def run(engine: Any, program: Program, values: Iterable[Any], budget: Budget, hook: Callable[[ast.expr, Any], Any]) -> Any:
    """Compute a program, and return what its last statement comes to.

    Args:
        engine: the engine's module.
        program: the expression, looked through.
        values: those of its free names, in their order.
        budget: how much may be computed.
        hook: called with each piece, or assigned name, and its value, which it returns.

    Raises:
        SourceError: it is too large, or the engine or Python refuses it.
    """
    guards = _Guards(engine, program, budget)
    try:
        return compiled(program, hook, guards.find)(*values)
    except GvizError:
        raise
    except TooLargeError as error:
        place, hint = program.source.place(failed_piece(error)), "take a smaller one; gviz draws for people to read"
        raise SourceError(f"too large: {error}", place=place, hint=hint) from None
    except ENGINE_ERRORS as error:
        raise engine_error(error, program.source, failed_piece(error)) from error


def takes_number(name: str, function: Any) -> Any:
    """Return a function that leaves a number to Python, if people write it of numbers.

    >>> takes_number("sqrt", None)(4)
    2.0
    """
    of_number = OF_NUMBERS.get(name)
    if of_number is None:
        return function

    def call(*args: Any, **kwargs: Any) -> Any:
        is_number = len(args) == 1 and not kwargs and isinstance(args[0], int | float)
        return of_number(args[0]) if is_number else function(*args, **kwargs)

    return call


class _Guards:
    """What the pieces of an expression call: the engine's functions and Python's operators, behind a look at their size."""

    def __init__(self, engine: Any, program: Program, budget: Budget) -> None:
        self.engine, self.program, self.source, self.budget = engine, program, program.source, budget
        self.tensor = engine.Tensor

    def find(self, word: str, piece: ast.expr) -> Any:
        """What a piece calls."""
        if isinstance(piece, ast.Call):
            return self._method(word[1:], piece) if word.startswith(".") else self._function(word, piece)
        if word in CONSTANTS or word in DTYPES:
            return CONSTANTS[word] if word in CONSTANTS else getattr(self.engine, word)
        if isinstance(piece, ast.BinOp | ast.Compare | ast.UnaryOp):
            return self._operator(word, piece)
        if isinstance(piece, ast.Attribute):
            return self._attribute(word[1:], piece)
        if isinstance(piece, ast.Subscript):
            return lambda *values: self._call(piece, "[]", operator.getitem, values, {})
        return lambda value: self._call(piece, "unbind", lambda parts: parts, (value,), {})

    def _call(self, piece: ast.expr, name: str, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Call a function, unless its result would be too large."""
        try:
            self.budget.check(name, args, kwargs)
        except OverflowError as error:
            hint = "sizes, dims and indices are small whole numbers"
            if isinstance(piece, ast.BinOp | ast.Compare):
                hint = "write it as a decimal number, as in 1e30"
            raise SourceError(str(error), place=self.source.place(piece), hint=hint) from None
        return self.budget.counted(function(*args, **kwargs))

    def _function(self, name: str, piece: ast.Call) -> Callable[..., Any]:
        function = find_function(self.engine, name)
        call: Callable[..., Any] = takes_number(name, lambda *args, **kwargs: self._call(piece, name, function, args, kwargs))
        return call

    def _method(self, name: str, piece: ast.Call) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            return self._call(piece, name, lambda one, *args, **kwargs: getattr(one, name)(*args, **kwargs), args, kwargs)

        return call

    def _attribute(self, name: str, piece: ast.Attribute) -> Callable[[Any], Any]:
        def get(value: Any) -> Any:
            if isinstance(value, self.tensor) and name in FIELDS and hasattr(value, name):
                raise SourceError(f"{name} is a method", place=self.source.place(piece), hint=f"write .{name}() with brackets")
            return getattr(value, name)

        return get

    def _operator(self, sign: str, piece: ast.expr) -> Callable[..., Any]:
        compute = (SIGNS if isinstance(piece, ast.UnaryOp) else OPERATORS)[sign]

        def call(*values: Any) -> Any:
            for part, value in zip(self.program.parts[id(piece)], values, strict=True):
                if isinstance(value, list | tuple):
                    raise self._no_number(part, value)
            if any(isinstance(value, self.tensor) for value in values):
                return self._call(piece, sign, compute, values, {})
            if sign in ("**", "<<"):
                check_power(sign, *values)
            result = self.budget.counted(compute(*values))
            if isinstance(result, complex):
                hint = "a root of a negative number is not computed"
                raise SourceError("this is no real number", place=self.source.place(piece), hint=hint)
            return result

        return call

    def _no_number(self, piece: ast.expr, value: object) -> SourceError:
        """The answer to a list or a tuple, which Python would repeat or join rather than compute with."""
        hint = "a comma makes a tuple: take one part of it, as in p[0], or write a decimal point as . (1.5)"
        if isinstance(value, list):
            hint = "square brackets make a list: write round ones, (x + w)*2, or give the list a name, as in W=[[1,2],[3,4]]"
        what = f"a {type(value).__name__} takes no part in arithmetic"
        return SourceError(what, place=self.source.place(piece), hint=hint)
