"""Numbers of tensors, as graphs hold them: multiplied, added and compared element by element."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import reduce

from gviz.graphs import Value, size_of, to_value

NOT_FINITE = ("nan", "inf", "-inf")
"""The texts for what is no finite number."""

TOLERANCE = 1e-3
"""How far two ways to the same number may be apart, in parts of the larger one: what a float32 loses in a long sum."""


EPSILON = 2.0**-23
"""The part of a float32 that the next one is larger by: a smaller rest of a sum is 0."""


def times(left: Value, right: Value) -> Value:
    """Return the product; a number goes with any tensor, two tensors of different sizes have none.

    >>> times((1.0, 2.0), 3.0), times((1.0, 2.0), (3.0, 4.0)), times((1.0, 2.0), (3.0,)), times(2.0, None)
    ((3.0, 6.0), (3.0, 8.0), None, None)
    """
    return combined(left, right, lambda one, other: one * other)


def plus(left: Value, right: Value) -> Value:
    """Return the sum, as :func:`times` returns the product."""
    return combined(left, right, lambda one, other: one + other)


def combined(left: Value, right: Value, function: Callable[[float, float], float]) -> Value:
    """Return what a function of two numbers makes of each pair; None if there is a number without another."""
    if left is None or right is None:
        return None
    if isinstance(left, tuple) and isinstance(right, tuple):
        if len(left) != len(right):
            return None
        pairs = list(zip(left, right, strict=True))
    elif isinstance(left, tuple):
        pairs = [(item, right) for item in left]
    elif isinstance(right, tuple):
        pairs = [(left, item) for item in right]
    else:
        try:
            return to_value(function(float(left), float(right)))
        except (OverflowError, ValueError):  # a whole number beyond all floats; a complex one, which is a text
            return None
    found = tuple(combined(one, other, function) for one, other in pairs)
    return None if any(item is None for item in found) else found


def sum_to(value: Value, like: Value) -> Value:
    """Return a gradient in the sizes of an input that was broadcast: summed over what is one number there.

    >>> sum_to(((1.0, 2.0), (3.0, 4.0)), (0.0, 0.0)), sum_to((1.0, 2.0), 0.0), sum_to(((1.0, 2.0),), ((0.0,),))
    ((4.0, 6.0), 3.0, ((3.0,),))
    """
    if value == () and not isinstance(like, tuple):
        return 0.0
    while isinstance(value, tuple) and value and len(size_of(value)) > len(size_of(like)):
        value = reduce(plus, value)
    if not (isinstance(value, tuple) and isinstance(like, tuple)):
        return value
    if len(like) == 1 and len(value) > 1:
        value = (reduce(plus, value),)
    return tuple(map(sum_to, value, like)) if len(value) == len(like) else None


def through(value: Value, matrix: Value, like: Value) -> Value:
    """Return the product of a gradient, as a row of numbers, and a Jacobian, in the sizes of an input; None if they do not fit.

    >>> through((1.0, 10.0), ((1.0, 2.0, 3.0), (4.0, 5.0, 6.0)), ((0.0,), (0.0,), (0.0,)))
    ((41.0,), (52.0,), (63.0,))
    """
    numbers = elements(value)
    if not isinstance(matrix, tuple) or len(numbers) != len(matrix):
        return None
    parts = [times(entries, one) for one, entries in zip(numbers, matrix, strict=True)]
    row = reduce(plus, parts)
    if not isinstance(row, tuple) or len(row) != len(elements(like)):
        return None
    sizes = [max(map(largest, column)) for column in zip(*parts, strict=True)]
    return shaped((0.0 if largest(one) < EPSILON * size else one for one, size in zip(row, sizes, strict=True)), like)


def shaped(numbers: Iterator[Value], like: Value) -> Value:
    """Return numbers in the sizes of others."""
    return tuple(shaped(numbers, part) for part in like) if isinstance(like, tuple) else next(numbers)


def agree(left: Value, right: Value, scale: float = 0.0) -> bool:
    """Return whether two tensors have the same numbers, as near as they are computed.

    >>> agree((1.0, "nan"), (1.00001, "nan")), agree(1.0, (1.0,)), agree(None, None)
    (True, False, False)

    Args:
        left: numbers.
        right: numbers.
        scale: the size of what they were added up from.
    """
    if isinstance(left, tuple) or isinstance(right, tuple):
        if not (isinstance(left, tuple) and isinstance(right, tuple) and len(left) == len(right)):
            return False
        return all(agree(one, other, scale) for one, other in zip(left, right, strict=True))
    if left is None or right is None:
        return False
    try:
        one, other = float(left), float(right)
    except (OverflowError, ValueError):
        return False
    are_nan = math.isnan(one) and math.isnan(other)
    return are_nan or math.isclose(one, other, rel_tol=TOLERANCE, abs_tol=TOLERANCE * scale)


def largest(value: Value) -> float:
    """Return the size of the number that is farthest from 0, among those that are finite.

    >>> largest((1.0, (-3.0, "nan")))
    3.0
    """
    if isinstance(value, tuple):
        return max(map(largest, value), default=0.0)
    return abs(float(value)) if isinstance(value, int | float) else 0.0


def elements(value: Value) -> list[float | str | None]:
    """Return the numbers in nested values, first to last."""
    found, todo = [], [value]
    while todo:
        item = todo.pop()
        if isinstance(item, tuple):
            todo.extend(reversed(item))
        else:
            found.append(item)
    return found


def is_finite(value: Value) -> bool:
    """Return whether none of the numbers is nan or inf; those are texts, so that one float needs no look."""
    return isinstance(value, float) or not any(item in NOT_FINITE for item in elements(value) if isinstance(item, str))


def has_only(value: Value, number: float) -> bool:
    """Return whether there are numbers, and each is this one.

    >>> has_only((0.0, (0.0,)), 0.0), has_only((), 0.0), has_only(None, 0.0)
    (True, False, False)
    """
    numbers = elements(value)
    return bool(numbers) and all(item == number for item in numbers)


def positions(value: Value, fits: Callable[[float], bool]) -> list[tuple[tuple[int, ...], float]]:
    """Return the numbers that fit, each with its place.

    >>> positions(((1.0, -2.0), (-3.0, "nan")), lambda number: number < 0)
    [((0, 1), -2.0), ((1, 0), -3.0)]
    """
    found: list[tuple[tuple[int, ...], float]] = []
    todo: list[tuple[tuple[int, ...], Value]] = [((), value)]
    while todo:
        place, item = todo.pop()
        if isinstance(item, tuple):
            todo.extend(((*place, index), item[index]) for index in reversed(range(len(item))))
        elif isinstance(item, int | float) and fits(item):
            found.append((place, item))
    return found
