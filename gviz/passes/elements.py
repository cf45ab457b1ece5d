"""Arithmetic with the numbers of tensors, element by element: products, sums and comparisons of gradients."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import reduce
from typing import TYPE_CHECKING, Any

from gviz.graphs.numbers import Element, Numbers, elements_of, size_of

if TYPE_CHECKING:
    import numpy as np  # it is loaded where numbers are computed with, and not to draw a graph

TOLERANCE = 1e-3
"""How far two ways to the same number may be apart, in parts of the larger one: what a float32 loses in a long sum."""

EPSILON = 2.0**-23
"""The part of a float32 that the next one is larger by: a smaller rest of a sum is 0."""

ONE = Numbers((), "float32", (1.0,))


def array_of(numbers: Numbers | None) -> np.ndarray | None:
    """Return the elements as an array of float64 in their sizes; None where they are not listed, or not real."""
    if numbers is None or numbers.elements is None:
        return None
    import numpy as np

    try:
        return np.array(numbers.elements, np.float64).reshape(size_of(numbers))
    except (OverflowError, ValueError):  # a whole number beyond all floats; a complex one, which is a text
        return None


def numbers_of(array: np.ndarray, dtype: str = "") -> Numbers:
    """Return the numbers of an array."""
    return Numbers(array.shape, dtype, elements_of(array.ravel().tolist()))


def scalar_of(numbers: Numbers | None) -> Element | None:
    """Return the number of a tensor without dimensions; None for another."""
    return numbers.elements[0] if numbers is not None and not numbers.shape and numbers.elements else None


def times(left: Numbers | None, right: Numbers | None) -> Numbers | None:
    """Return the product; a number goes with any tensor, two tensors of different sizes have none.

    >>> two, pair = Numbers.of(2.0), Numbers.of([3.0, 4.0])
    >>> times(pair, two).nested(), times(pair, pair).nested(), times(pair, Numbers.of([3.0])), times(two, None)
    ([6.0, 8.0], [9.0, 16.0], None, None)
    """
    return combined(left, right, lambda one, other: one * other)


def plus(left: Numbers | None, right: Numbers | None) -> Numbers | None:
    """Return the sum, as :func:`times` returns the product."""
    return combined(left, right, lambda one, other: one + other)


def sum_of(parts: Sequence[Numbers | None]) -> Numbers | None:
    """Return the sum of some numbers; None if there are none, or one of them is not known."""
    return reduce(plus, parts) if parts else None


def combined(left: Numbers | None, right: Numbers | None, function: Callable[..., Any]) -> Numbers | None:
    """Return what a function makes of each pair; None if there is a number without another."""
    if left is None or right is None:
        return None
    one, other, dtype = scalar_of(left), scalar_of(right), left.dtype or right.dtype
    if isinstance(one, float) and isinstance(other, float):
        return Numbers((), dtype, elements_of((function(one, other),)))
    arrays = array_of(left), array_of(right)
    if (
        arrays[0] is None
        or arrays[1] is None
        or (arrays[0].shape != arrays[1].shape and arrays[0].ndim and arrays[1].ndim)
    ):
        return None
    import numpy as np

    with np.errstate(all="ignore"):
        return numbers_of(np.asarray(function(*arrays)), dtype)


def sum_to(value: Numbers | None, like: Numbers | None) -> Numbers | None:
    """Return a gradient in the sizes of an input that was broadcast: summed over what is one number there.

    >>> grid, row, one = Numbers.of([[1.0, 2.0], [3.0, 4.0]]), Numbers.of([0.0, 0.0]), Numbers.of([[0.0]])
    >>> sum_to(grid, row).nested(), sum_to(row, Numbers.of(0.0)).nested(), sum_to(grid, one).nested()
    ([4.0, 6.0], 0.0, [[10.0]])
    """
    if value is None or like is None or size_of(value) == size_of(like):
        return value
    array, sizes = array_of(value), size_of(like)
    if array is None:
        return None
    more = array.ndim - len(sizes)
    if more < 0:
        return value if not array.ndim else None
    if any(there not in (here, 1) for here, there in zip(array.shape[more:], sizes, strict=True)):
        return None
    spread = (*range(more), *(more + at for at, size in enumerate(sizes) if size == 1))
    return numbers_of(array.sum(spread).reshape(sizes), value.dtype)


def through(value: Numbers | None, matrix: Numbers | None, like: Numbers | None) -> Numbers | None:
    """Return the product of a gradient, as a row of numbers, and a Jacobian, in the sizes of an input.

    None if they do not fit.

    >>> matrix = Numbers.of([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    >>> through(Numbers.of([1.0, 10.0]), matrix, Numbers.of([[0.0], [0.0], [0.0]])).nested()
    [[41.0], [52.0], [63.0]]
    """
    gradient, jacobian = array_of(value), array_of(matrix)
    if gradient is None or jacobian is None or like is None:
        return None
    if jacobian.shape != (gradient.size, math.prod(size_of(like))):
        return None
    import numpy as np

    with np.errstate(all="ignore"):
        parts = gradient.reshape(-1, 1) * jacobian
        row = parts.sum(0)
        finite = np.where(np.isfinite(parts), np.abs(parts), 0.0)
        row[np.abs(row) < EPSILON * finite.max(0, initial=0.0)] = 0.0
    return numbers_of(row.reshape(size_of(like)), value.dtype if value is not None else "")


def agree(left: Numbers | None, right: Numbers | None, scale: float = 0.0) -> bool:
    """Return whether two tensors have the same numbers, as near as they are computed.

    >>> agree(Numbers.of([1.0, "nan"]), Numbers.of([1.00001, "nan"])), agree(ONE, Numbers.of([1.0])), agree(None, None)
    (True, False, False)

    Args:
        left: numbers.
        right: numbers.
        scale: the size of what they were added up from.
    """
    if left is None or right is None or size_of(left) != size_of(right):
        return False
    one, other = scalar_of(left), scalar_of(right)
    if isinstance(one, float) and isinstance(other, float):
        are_nan = math.isnan(one) and math.isnan(other)
        return are_nan or math.isclose(one, other, rel_tol=TOLERANCE, abs_tol=TOLERANCE * scale)
    first, second = array_of(left), array_of(right)
    if first is None or second is None:
        return False
    import numpy as np

    with np.errstate(all="ignore"):
        larger = np.maximum(np.abs(first), np.abs(second))
        is_near = np.abs(first - second) <= np.maximum(TOLERANCE * larger, TOLERANCE * scale)
    is_near &= np.isfinite(larger)
    return bool((is_near | (first == second) | (np.isnan(first) & np.isnan(second))).all())


def magnitude(value: Numbers | None) -> float:
    """Return the size of the number that is farthest from 0, among those that are finite.

    >>> magnitude(Numbers.of([1.0, -3.0, "nan"]))
    3.0
    """
    if value is None or value.elements is None:
        ends = [] if value is None or value.about is None else [abs(value.about.smallest), abs(value.about.largest)]
        return max(filter(math.isfinite, ends), default=0.0)
    amounts = (abs(item) for item in value.elements if not isinstance(item, str))
    return float(max(filter(math.isfinite, amounts), default=0.0))


def is_finite(value: Numbers | None) -> bool:
    """Return whether none of the numbers is nan or inf; there may be none."""
    return value is None or value.is_finite


def has_only(value: Numbers | None, number: float) -> bool:
    """Return whether there are numbers, and each is this one."""
    return value is not None and value.has_only(number)


def positions(value: Numbers | None, fits: Callable[[float], bool]) -> list[tuple[tuple[int, ...], float]]:
    """Return the listed numbers that fit, each with its place.

    >>> positions(Numbers.of([[1.0, -2.0], [-3.0, "nan"]]), lambda number: number < 0)
    [((0, 1), -2.0), ((1, 0), -3.0)]
    """
    array = array_of(value)
    if array is None:
        return []
    import numpy as np

    places = zip(np.ndindex(array.shape), array.ravel().tolist(), strict=True)
    return [(place, number) for place, number in places if fits(number)]
