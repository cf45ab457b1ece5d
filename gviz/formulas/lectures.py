"""Derivatives as lectures write them, where the table's own formula is a program: Jacobians, extremes, determinants.

Each is a text in the names that the table has for the operation's inputs and options, and ``result``. It is looked up
by the class of the node, and by the input that it is the derivative for.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from gviz.formulas.formula import GRAD, UNKNOWN, Formula

SOFT = "diag(result) - result·resultᵀ"
LARGEST = "scatter(zeros(sizes), dim, arg{}(self, dim, True), grad)"

ALONG: dict[str, dict[str, str]] = {
    "SoftmaxBackward0": {"self": SOFT},
    "SafeSoftmaxBackward0": {"self": SOFT},
    "LogSoftmaxBackward0": {"self": "I - 1·exp(result)ᵀ"},
    "CumsumBackward0": {"self": "tril(ones(count, count))"},
    "NativeLayerNormBackward0": {
        "input": "(I - ones(count, count)/count - result·resultᵀ/count)·norm(result)/norm(input - mean(input))"
    },
}
"""Jacobians of what works along one dimension: of a vector, or of each row by itself, which is ``result[i]``."""

SINGLE: dict[str, dict[str, str]] = {
    "SelectBackward0": {"self": "one_hot(place, count)"},
    "TraceBackward0": {"self": "eye(rows, columns)"},
    "NllLossBackward0": {"self": "-one_hot(target, classes)/share"},
    "LinalgDetBackward0": {"A": "result·inverse(A).T"},
    **{
        label: {"self": "[self == result]/ties"}
        for label in ("MaxBackward1", "MinBackward1", "MedianBackward0", "AmaxBackward0", "AminBackward0")
    },
}
"""Factors of what makes one number."""

EVERY: dict[str, dict[str, str]] = {
    "MaxBackward0": {"self": LARGEST.format("max")},
    "MinBackward0": {"self": LARGEST.format("min")},
}
"""What other operations make of the gradient."""

MATRIX: dict[str, dict[str, str]] = {
    "LinalgInvExBackward0": {"A": "-result.T @ grad @ result.T"},
}
"""What operations on one matrix make of the gradient, which has the sizes of the matrix."""

REGULAR = {"LinalgDetBackward0"}
"""Operations whose factor there is if what they make is not 0."""

EXTREMES = {label for label, texts in SINGLE.items() if "ties" in texts.get("self", "")}
"""Operations of which it matters how many elements are the result."""

MATRICES = 2
"""The dimensions of a matrix."""

PLACES = "ijklmn"
"""Which of the rows, by the dimension."""

BY_ROWS = "a letter in square brackets, as in a[i], stands for each row, or column, by itself"

_BY_ROWS = re.compile(r"\[(?:[:j-n], )*i[], ]")


class Facts(NamedTuple):
    """What a formula may ask of a tensor whose elements it does not know.

    Args:
        shape: its sizes.
        has_zeros: whether one of its elements is 0; None where that is not known.
        has_nan: whether one of them is nan, as far as that is known.
        is_zero: whether each of them is 0.
        ties: of a largest or smallest element, how many are equal to it; 0 where that is not known.
    """

    shape: tuple[int, ...]
    has_zeros: bool | None = None
    has_nan: bool = False
    is_zero: bool = False
    ties: int = 0


class Lecture(NamedTuple):
    """A derivative as lectures write it, and whether it is a factor, element by element."""

    formula: Formula
    is_factor: bool


def lecture(
    label: str, name: str, known: Mapping[str, Any], input: Facts | None, result: Facts | None
) -> Lecture | None:
    """Return the derivative of an operation for an input as lectures write it; None where they have none.

    >>> from gviz.formulas.formula import Formula
    >>> names, grid = {"self": Formula.named("x"), "result": Formula.named("y"), "dim": 1}, Facts((2, 3), False)
    >>> str(lecture("SoftmaxBackward0", "self", names, grid, grid).formula)
    'diag(y[i]) - y[i]·y[i].T'

    Args:
        label: the class of the node.
        name: of the input, in the table.
        known: formulas of the inputs and of the result, and the options, by their names there.
        input: what is known of the elements of the input.
        result: what is known of those of the result.
    """
    if input is None or not input.shape or input.has_nan or (result is not None and result.has_nan):
        return None
    values = {**known, **derived(known, input, result)}
    if (text := EVERY.get(label, {}).get(name)) is not None:
        return filled_in(text, values, is_factor=False)
    if len(input.shape) == MATRICES and (text := MATRIX.get(label, {}).get(name)) is not None:
        return filled_in(text, {**values, GRAD: Formula.named(GRAD)}, is_factor=False)
    if result is not None and not result.shape and (text := SINGLE.get(label, {}).get(name)) is not None:
        is_regular = result.has_zeros is False or label not in REGULAR
        return filled_in(text, values, is_factor=True) if is_regular else None
    text = ALONG.get(label, {}).get(name)
    is_known = values["along"] is not None and result is not None and not result.is_zero
    return along(text, values, name, len(input.shape)) if text is not None and is_known else None


def along(text: str, values: dict[str, Any], name: str, count: int) -> Lecture | None:
    """Return the Jacobian of what works along one of so many dimensions: of several, that of each row."""
    dim = values["along"]
    at = [PLACES[place - (place > dim)] if place != dim else ":" for place in range(count)]
    rows = ", ".join(at[: dim or None] if dim == count - 1 else at)
    if count > 1 and "result" not in text:
        return None
    if count > 1:
        own = {key: f"{values[key].python}[{rows}]" for key in (name, "result") if values[key].python.isidentifier()}
        values |= {key: Formula.named(text) for key, text in own.items()}
    return filled_in(text, values, is_factor=False)


def is_by_rows(symbol: str) -> bool:
    """Return whether a derivative is that of each row by itself.

    >>> [is_by_rows(text) for text in ("diag(a[i]) - a[i]·a[i]ᵀ", "I - 1·exp(a[:, i])ᵀ", "[x == y]")]
    [True, True, False]
    """
    return bool(_BY_ROWS.search(symbol))


def derived(known: Mapping[str, Any], input: Facts, result: Facts | None) -> dict[str, Any]:
    """Return what formulas use besides inputs, the result and options; None where that is not known."""
    sizes, dim, index = input.shape, known.get("dim"), known.get("index")
    has = {key: getattr(known.get(key), "python", "None") != "None" for key in ("weight", "bias")}
    if "normalized_shape" in known:
        dim = -1 if len(known["normalized_shape"]) == 1 and not any(has.values()) else None
    along = dim % len(sizes) if isinstance(dim, int) and len(sizes) <= len(PLACES) else None
    count = sizes[along] if along is not None else None
    return {
        "along": along,
        "sizes": sizes,
        "count": count,
        "place": index % count if isinstance(index, int) and count else None,
        "rows": sizes[0],
        "columns": sizes[-1],
        "classes": sizes[-1] if len(sizes) < 3 and not has["weight"] else None,
        "share": sizes[0] if known.get("reduction") == 1 and len(sizes) == 2 else 1,
        "ties": (result.ties or None) if result is not None else None,
        GRAD: Formula.named(GRAD if known.get("keepdim") else f"unsqueeze({GRAD}, {dim})"),
    }


def filled_in(text: str, values: Mapping[str, Any], *, is_factor: bool) -> Lecture | None:
    """Return a text with values in place of its names; None if one of them is not known."""
    formula = Formula.read(text)
    if formula is None:
        return None
    used: dict[str, Formula] = {}
    for name in formula.names & values.keys():
        value = values[name]
        if value is None or (isinstance(value, Formula) and UNKNOWN in value.names):
            return None
        if value == 1:
            formula = Formula.read(str(formula).replace(f"/{name}", "")) or formula
        used[name] = value if isinstance(value, Formula) else Formula(ast.parse(repr(value), mode="eval").body)
    return Lecture(formula.replaced(used), is_factor)
