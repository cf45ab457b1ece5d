"""Arithmetic with the numbers of tensors, element by element: products, sums and comparisons of gradients."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import reduce
from typing import TYPE_CHECKING, Any

from gviz.graphs import Edge
from gviz.graphs.numbers import Element, Numbers, elements_of, size_of
from gviz.standins import StandIn

if TYPE_CHECKING:
    import numpy as np
else:
    np = StandIn("numpy")  # it is loaded where numbers are computed with, and not to draw a graph

TOLERANCE = 1e-3
"""How far two ways to the same number may be apart, in parts of the larger one: what a float32 loses in a long sum,
or two roundings of a coarser dtype."""

EPSILON, EPSILONS = 2.0**-23, {"float64": 2.0**-52, "float16": 2.0**-10, "bfloat16": 2.0**-7}
"""The part of a number that the next one is larger by, in float32 and others: a smaller rest of a sum is 0."""

ROUNDINGS = 4
"""How many times its own size a sum's rounding may be: its terms have been rounded before."""

AXES = ("rows", "columns")
"""The dimensions of a matrix."""

ONE = Numbers((), "float32", (1.0,))
MINUS_ONE = ONE._replace(elements=(-1.0,))


def array_of(numbers: Numbers | None) -> np.ndarray | None:
    """Return the elements as an array of float64 in their sizes; None where they are not listed, or not real."""
    if numbers is None or numbers.elements is None:
        return None
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
    """Return the product; sizes are aligned from the right, one of 1 is spread, and others that differ have none.

    >>> two, pair, column = Numbers.of(2.0), Numbers.of([3.0, 4.0]), Numbers.of([[1.0], [2.0]])
    >>> times(pair, two).nested(), times(pair, pair).nested(), times(column, pair).nested(), times(two, None)
    ([6.0, 8.0], [9.0, 16.0], [[3.0, 4.0], [6.0, 8.0]], None)
    >>> times(pair, Numbers.of([3.0, 4.0, 5.0])) is None
    True
    """
    return combined(left, right, lambda one, other: one * other)


def plus(left: Numbers | None, right: Numbers | None) -> Numbers | None:
    """Return the sum, as :func:`times` returns the product; what cancels out but for rounding is 0.

    >>> plus(Numbers.of([1.0, 3.0]), Numbers.of([-1.00000001, 1.0])).nested()
    [0.0, 4.0]
    """
    rest = epsilon(left, right)
    return combined(left, right, lambda one, other: zero_where_rounding(one + other, abs(one) + abs(other), rest))


def with_rest(total: Numbers | None, rest: Numbers | None) -> Numbers | None:
    """Return a sum with what the engine has, in the place of 0, where its summands cancel out.

    >>> with_rest(Numbers.of([0.0, 3.0]), Numbers.of([2.5e-7, 3.5])).nested()
    [2.5e-07, 3.0]
    """
    import numpy as np

    return combined(total, rest, lambda one, other: np.asarray(np.where(np.equal(one, 0), other, one)).tolist())


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
    if arrays[0] is None or arrays[1] is None or not are_aligned(arrays[0].shape, arrays[1].shape):
        return None
    with np.errstate(all="ignore"):
        return numbers_of(np.asarray(function(*arrays)), dtype)


def are_aligned(one: Sequence[int], other: Sequence[int]) -> bool:
    """Return whether sizes fit together, from the right, where 1 fits any.

    >>> are_aligned((2, 3), (3,)), are_aligned((2, 1), (2, 3)), are_aligned((2,), (2, 3))
    (True, True, False)
    """
    return all(here == there or 1 in (here, there) for here, there in zip(reversed(one), reversed(other), strict=False))


def epsilon(*values: Numbers | None) -> float:
    """Return the rounding of the coarsest of some dtypes; one that is not known is float32."""
    return max(EPSILON if value is None else EPSILONS.get(value.dtype, EPSILON) for value in values)


def zero_where_rounding(total: Any, amount: Any, rest: float) -> Any:
    """Return a sum, or an array of sums, with 0 where only a rounding is left of what was added up.

    Args:
        total: the sum.
        amount: that of the sizes of its summands.
        rest: the part of the amount that is rounding.
    """
    rest *= ROUNDINGS
    if isinstance(total, float):
        return 0.0 if abs(total) < rest * amount < math.inf else total
    return np.where((np.abs(total) < rest * amount) & np.isfinite(amount), 0.0, total)


def settled_numbers(value: Numbers | None, array: np.ndarray, amount: np.ndarray) -> Numbers | None:
    """Return numbers with 0 where they are but a rounding of what was added up; the same record where none is.

    Args:
        value: the numbers.
        array: their elements.
        amount: the sizes of what each was added up from.
    """
    with np.errstate(all="ignore"):
        rest = np.asarray(zero_where_rounding(array, amount, epsilon(value)))
    is_same = value is None or np.array_equal(rest, array, equal_nan=True)
    return value if is_same or value is None else numbers_of(rest, value.dtype)


def amount_along(edge: Edge, amount: np.ndarray, gradient: np.ndarray) -> np.ndarray:
    """Return the sizes of what a gradient was added up from that an operation hands on.

    Args:
        edge: to the operation.
        amount: the sizes of what the gradient that arrives was added up from.
        gradient: the gradient.
    """
    local, jacobian = array_of(edge.flow.local), array_of(edge.flow.jacobian)
    with np.errstate(all="ignore"):
        if local is not None and are_aligned(amount.shape, local.shape):
            along = array_of(sum_to(numbers_of(amount * abs(local)), edge.flow.handed))
            if along is not None:
                return np.broadcast_to(along, gradient.shape)  # as a sum hands on one number to all
        if jacobian is not None and jacobian.shape == (amount.size, gradient.size):
            return np.asarray(amount.reshape(1, -1) @ abs(jacobian)).reshape(gradient.shape)
        return np.asarray(np.abs(gradient))


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
    if array.ndim < len(sizes):
        return value if not array.ndim else None
    if any(there not in (here, 1) for here, there in zip(array.shape[array.ndim - len(sizes) :], sizes, strict=True)):
        return None
    spread = spread_dims(array.shape, sizes)
    with np.errstate(all="ignore"):
        total = zero_where_rounding(array.sum(spread), np.abs(array).sum(spread), epsilon(value))
    return numbers_of(np.asarray(total).reshape(sizes), value.dtype)


def spread_dims(sizes: Sequence[int], of: Sequence[int]) -> tuple[int, ...]:
    """Return the dimensions of a tensor over which one of smaller sizes was spread.

    >>> spread_dims((2, 3), (3,)), spread_dims((2, 3), (2, 1)), spread_dims((2, 1), (2, 1)), spread_dims((2, 3), ())
    ((0,), (1,), (), (0, 1))
    """
    more = len(sizes) - len(of)
    return (*range(more), *(more + at for at, size in enumerate(of) if size == 1 != sizes[more + at]))


def summed_dims(edge: Edge) -> tuple[int, ...]:
    """Return the dimensions over which the product at a step is added up, as the input was spread over them.

    >>> from gviz.graphs import Flow
    >>> row, grid = Numbers.of([2.0, 2.0]), Numbers.of([[1.0, 1.0], [1.0, 1.0]])
    >>> summed_dims(Edge("b", "a", flow=Flow("1", grid, row))), summed_dims(Edge("X", "a", flow=Flow("1", grid, grid)))
    ((0,), ())
    """
    whole, part = size_of(edge.flow.local), size_of(edge.flow.handed)
    if edge.flow.local is None or edge.flow.handed is None or math.prod(whole) == math.prod(part):
        return ()
    return spread_dims(whole, part)


def sum_text(edge: Edge) -> str:
    """Return what is done to a product at a step: ``Σ over rows`` where a row was added to each; "" for nothing."""
    dims, count = summed_dims(edge), len(size_of(edge.flow.local))
    if not dims:
        return ""
    if len(dims) == count:
        return "Σ over all"
    if count == len(AXES):
        return f"Σ over {AXES[dims[0]]}"
    return f"Σ over dim{'s' * (len(dims) > 1)} {', '.join(map(str, dims))}"


def times_jacobian(value: Numbers | None, matrix: Numbers | None, like: Numbers | None) -> Numbers | None:
    """Return the product of a gradient, as a row of numbers, and a Jacobian, in the sizes of an input.

    None if they do not fit. Where the Jacobian has the whole number 0, nothing goes along, not even nan; 0.0 is a
    number.

    >>> matrix = Numbers.of([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    >>> times_jacobian(Numbers.of([1.0, 10.0]), matrix, Numbers.of([[0.0], [0.0], [0.0]])).nested()
    [[41.0], [52.0], [63.0]]
    >>> times_jacobian(Numbers.of([1.0, "nan"]), Numbers.of([[1.0, 2.0], [0, 0.0]]), Numbers.of([0.0, 0.0])).nested()
    [1.0, nan]
    """
    gradient, jacobian = array_of(value), array_of(matrix)
    if gradient is None or jacobian is None or like is None:
        return None
    if jacobian.shape != (gradient.size, math.prod(size_of(like))):
        return None
    with np.errstate(all="ignore"):
        parts = gradient.reshape(-1, 1) * jacobian
        if matrix is not None and not np.isfinite(gradient).all():
            parts[np.array([type(item) is int and not item for item in matrix.elements or ()]).reshape(parts.shape)] = (
                0.0
            )
        row = zero_where_rounding(parts.sum(0), np.abs(parts).sum(0), epsilon(value))
    return numbers_of(row.reshape(size_of(like)), value.dtype if value is not None else "")


def changed_by(value: Numbers | None, edge: Edge, operand: Numbers | None, other: Numbers | None) -> Numbers | None:
    """Return what an operation's result becomes, to first order, if an operand has other numbers; None if not known.

    >>> from gviz.graphs import Flow
    >>> edge = Edge("x", "y", flow=Flow("2·x", Numbers.of([2.0, 4.0])))
    >>> changed_by(Numbers.of(5.0), edge, Numbers.of([1.0, 2.0]), Numbers.of([1.5, 2.0])).elements
    (6.0,)
    """
    if other is operand:
        return value
    change = combined(other, operand, lambda one, own: one - own)
    if value is None or change is None:
        return None
    if has_only(change, 0.0):
        return value
    jacobian, array = array_of(edge.flow.jacobian), array_of(change)
    if jacobian is not None and array is not None and jacobian.shape == (value.numel, array.size):
        change = numbers_of((jacobian @ array.ravel()).reshape(size_of(value)))
    else:
        change = sum_to(times(edge.flow.local, change), value)
    return combined(value, change, lambda one, more: one + more)


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
    one, other, part = scalar_of(left), scalar_of(right), max(TOLERANCE, 2 * epsilon(left, right))
    if isinstance(one, float) and isinstance(other, float):
        are_nan = math.isnan(one) and math.isnan(other)
        return are_nan or math.isclose(one, other, rel_tol=part, abs_tol=part * scale)
    first, second = array_of(left), array_of(right)
    if first is None or second is None:
        return False
    with np.errstate(all="ignore"):
        larger = np.maximum(np.abs(first), np.abs(second))
        is_near = np.abs(first - second) <= np.maximum(part * larger, part * scale)
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
    places = zip(np.ndindex(array.shape), array.ravel().tolist(), strict=True)
    return [(place, number) for place, number in places if fits(number)]
