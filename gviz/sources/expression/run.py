"""Runs an expression that has passed the check: what it calls is guarded, what is refused comes back with its place.

What the engine refuses is a SourceError with PyTorch's text, what Python refuses (``1/0``) one with Python's.
"""

from __future__ import annotations

import ast
import math
import operator
import re
from typing import TYPE_CHECKING, Any

from gviz import engine
from gviz.engine import Tensor
from gviz.errors import SourceError
from gviz.sources.expression.allowed import CONSTANTS, find_function
from gviz.sources.expression.compiled import compiled, failed_piece
from gviz.sources.expression.limits import check_power

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from gviz.errors import Place
    from gviz.sources.expression.check import Program
    from gviz.sources.expression.limits import Budget
    from gviz.sources.expression.parse import Source

__all__ = ["ENGINE_ERRORS", "engine_error", "find", "run", "takes_number"]

ENGINE_ERRORS = (
    ArithmeticError,
    AssertionError,
    AttributeError,
    LookupError,
    MemoryError,
    NotImplementedError,
    RuntimeError,
    SourceError,
    TypeError,
    ValueError,
)
"""What the engine raises for a call that PyTorch refuses too, Python for numbers, and gviz for what is too large."""

OPERATORS: dict[str, Callable[..., Any]] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv, "//": operator.floordiv, "%": operator.mod,
    "**": operator.pow, "@": operator.matmul, "<<": operator.lshift, ">>": operator.rshift, "&": operator.and_,
    "|": operator.or_, "==": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt,
    ">=": operator.ge, "[]": operator.getitem, ",": tuple,
}  # fmt: skip

UNARY: dict[str, Callable[[Any], Any]] = {"-": operator.neg, "+": operator.pos, "~": operator.invert}

OF_NUMBERS: dict[str, Callable[[float], float]] = {"abs": abs} | {
    function.__name__: function
    for function in (
        math.sqrt, math.exp, math.log, math.log2, math.log10, math.log1p, math.expm1, math.sin, math.cos, math.tan, math.asin,
        math.acos, math.atan, math.sinh, math.cosh, math.tanh, math.floor, math.ceil, math.trunc,
    )
}  # fmt: skip
"""Functions that people write of a number, as in ``x * sqrt(2)``; PyTorch has them for tensors only, Python in ``math``."""

HINTS: list[tuple[type[Exception], str, str]] = [
    (MemoryError, "", "take smaller tensors"),
    (OverflowError, "", "the largest number is about 1.8e308"),
    (ZeroDivisionError, "", "of tensors it would be inf: give the number a name"),
    (ValueError, "^math ", "of a tensor it would be nan or inf: give the number a name"),
    (
        TypeError,
        r"not list$|got \(list",
        "add tensors with x + w, join them with stack([x, w]), write tensor([1, 2]) for numbers",
    ),
    (ValueError, "^expected sequence", "all rows need the same length, as in [[1,2],[3,4]]"),
    (ValueError, "^'then' and 'else'", "both need the shape of the condition, as in x*0 + w"),
]
"""Kind of error, what is in its text, and what to do."""


def run(program: Program, values: Iterable[Any], budget: Budget, hook: Callable[[ast.expr, Any], Any]) -> Any:
    """Compute a program, and return what its last statement comes to.

    Args:
        program: the expression, looked through.
        values: those of its free names, in their order.
        budget: how much may be computed.
        hook: called with each piece, or assigned name, and its value, which it returns.

    Raises:
        SourceError: it is too large, or the engine or Python refuses it.
    """
    guarded = {piece: _guarded(word, piece, program, budget) for piece, word in program.words.items()}
    try:
        return compiled(program, guarded, hook)(*values)
    except ENGINE_ERRORS as error:
        raise engine_error(error, program.source) from error


def engine_error(error: BaseException, source: Source, piece: ast.AST | None = None) -> SourceError:
    """Return what the engine or Python said, with the place of a piece, or of that which was computed."""
    place = source.place(piece or failed_piece(error))
    if isinstance(error, SourceError):
        error.place = error.place or place
        return error
    text = str(error.args[-1] if error.args else "")
    if isinstance(error, MemoryError):
        text = "there is not enough memory for this"
    what = text.partition(", but expected one of:")[0]  # a list of call forms is too long for one line
    hints = (hint for kind, pattern, hint in HINTS if isinstance(error, kind) and re.search(pattern, what))
    return SourceError(what or type(error).__name__, place=place, hint=next(hints, None))


def find(word: str, piece: ast.expr) -> Any:
    """Return what a piece calls, or the constant that it is.

    Args:
        word: the piece's word (:attr:`Program.words`).
        piece: the piece.
    """
    name = word.lstrip(".")
    if isinstance(piece, ast.Call) and word.startswith("."):
        return lambda one, *args, **kwargs: getattr(one, name)(*args, **kwargs)
    if isinstance(piece, ast.Call):
        return takes_number(word, find_function(word))
    if word.startswith("."):
        return operator.attrgetter(name)
    if isinstance(piece, ast.UnaryOp):
        return UNARY[word]
    return OPERATORS.get(word) or CONSTANTS.get(word) or getattr(engine, word)


def takes_number(word: str, function: Any) -> Any:
    """Return a function that leaves a number to Python, if people write it of numbers.

    >>> takes_number("sqrt", None)(4)
    2.0
    """
    of_number = OF_NUMBERS.get(word)
    if of_number is None:
        return function

    def call(*args: Any, **kwargs: Any) -> Any:
        is_number = len(args) == 1 and not kwargs and isinstance(args[0], int | float)
        return of_number(args[0]) if is_number else function(*args, **kwargs)

    return call


def _guarded(word: str, piece: ast.expr, program: Program, budget: Budget) -> Any:
    """Return what a piece calls, behind a look at what it is given and at the size of its result."""
    function, name = find(word, piece), "unbind" if word == "," else word.lstrip(".")

    def call(*args: Any, **kwargs: Any) -> Any:
        budget.check(name, args, kwargs)
        return budget.counted(function(*args, **kwargs))

    def compute(*args: Any) -> Any:
        for part, value in zip(program.parts[piece], args, strict=True):
            if isinstance(value, list | tuple):
                raise _not_a_number(value, program.source.place(part))
        if any(isinstance(value, Tensor) for value in args):
            return call(*args)
        if word in ("**", "<<"):
            check_power(word, *args)
        result = budget.counted(function(*args))
        if isinstance(result, complex):
            raise SourceError("this is not a real number", hint="a root of a negative number is not computed")
        return result

    def attribute(value: Any) -> Any:
        result = function(value)
        if callable(result):
            raise SourceError(f"{name} is a method", hint=f"write .{name}() with brackets")
        return result

    if isinstance(piece, ast.BinOp | ast.Compare | ast.UnaryOp):
        return compute
    if isinstance(piece, ast.Attribute) and word.startswith("."):
        return attribute
    return function if isinstance(piece, ast.Attribute | ast.Name) else takes_number(word, call)


def _not_a_number(value: object, place: Place) -> SourceError:
    """Return the answer to a list or a tuple, which Python would repeat or join rather than compute with."""
    hint = "a comma makes a tuple: take one part of it, as in p[0], or write a decimal point as . (1.5)"
    if isinstance(value, list):
        hint = "square brackets make a list: write round ones, (x + w)*2, or give the list a name, as in W=[[1,2],[3,4]]"
    return SourceError(f"a {type(value).__name__} takes no part in arithmetic", place=place, hint=hint)
