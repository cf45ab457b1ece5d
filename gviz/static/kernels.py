"""What operations compute: the engine's functions on arrays, those that it lacks, and their derivatives."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any, TypeAlias

import numpy as np
from numpy.lib.array_utils import normalize_axis_index

from gviz.autograd.row import Row
from gviz.ops import ARRAYS, ROWS
from gviz.static.types import Array, dims_text

Index: TypeAlias = "tuple[Any, ...]"


def add_up(parts: Sequence[Array]) -> Array:
    """Return the sum of several arrays; ValueError if their shapes differ."""
    first = parts[0].shape
    for i, part in enumerate(parts):
        if part.shape != first:
            raise ValueError(
                f"Inputs must have the same size and shape.  "
                f"Input 0: {dims_text(first)} != input {i}: {dims_text(part.shape)}"
            )
    return reduce(operator.add, parts)


def no_part_of_infinity(part: Array, result: Array) -> Array:
    """Return a product, with 0 where its first factor is 0, whatever the other one is."""
    return np.where(part == 0, np.zeros_like(result), result)[()]


def mean_of_integers(x: Array, axes: tuple[int, ...] | None, keep: bool) -> Array:
    """Return means of integers as an integer, rounded towards 0; 0 for the mean of nothing."""
    total = np.sum(x, axis=axes, dtype=x.dtype, keepdims=keep)
    count = max(x.size // max(total.size, 1), 1)
    return (np.sign(total) * (np.abs(total) // count)).astype(x.dtype)[()]


def put_back(part: Array, x: Array, index: Index) -> Array:
    """Return zeros, with numbers where an index took them from."""
    out = np.zeros_like(x)
    out[index] = part
    return out


def products(x: Array, y: Array, left: bool = False, right: bool = False) -> Array:
    """Return a product of matrices, each transposed or not; ValueError for vectors."""
    if min(x.ndim, y.ndim) < 2:
        raise ValueError(f"Shape must be rank 2 but is rank {min(x.ndim, y.ndim)}")
    return ARRAYS["matmul"](x.swapaxes(-2, -1) if left else x, y.swapaxes(-2, -1) if right else y)


def product_of_others(x: Array, axes: tuple[int, ...] | None) -> Array:
    """Return for each element the product of all others along some axes (None for all)."""
    axes = tuple(range(x.ndim)) if axes is None else axes
    first = range(len(axes))
    moved = np.moveaxis(x, axes, first)
    rows = moved.reshape((-1, *moved.shape[len(axes) :]))
    one = np.ones_like(rows[:1])
    before = np.cumprod(np.concatenate([one, rows[:-1]]), axis=0)
    after = np.cumprod(np.concatenate([one, rows[:0:-1]]), axis=0)[::-1]
    return np.moveaxis((before * after).reshape(moved.shape), first, axes)


def select(condition: Array, one: Array, other: Array) -> Array:
    """Return one of two, by a condition for all, for each row or for each element; ValueError if the shapes differ."""
    if np.shape(one) != np.shape(other):
        raise ValueError("'then' and 'else' must have the same size")
    by_row = condition.ndim == 1 < one.ndim
    return np.where(condition.reshape((-1, *(1,) * (one.ndim - 1))) if by_row else condition, one, other)


def give_back(part: Array, x: Array, places: Array, axis: int) -> Array:
    """Return zeros, with the sums of the numbers that were taken from a place."""
    out = np.zeros_like(x)
    np.add.at(out, index_along(x, axis, places), part)
    return out


def index_along(x: Array, axis: int, place: Array | slice) -> Index:
    """Return the index of some places along an axis; ValueError if x lacks it."""
    return (*(slice(None),) * normalize_axis_index(axis, np.ndim(x)), place)


def part_of(parts: Sequence[Array], place: int, axis: int) -> Index:
    """Return the index of one of several parts that were joined along an axis."""
    start = sum(np.shape(p)[axis] for p in parts[:place])
    return index_along(parts[place], axis, slice(start, start + np.shape(parts[place])[axis]))


def index_of(kinds: Sequence[object], *ends: Array) -> Index:
    """Return the index that :func:`gviz.static.functions.getitem` was called with."""
    index: list[object] = []
    for i, kind in enumerate(kinds):
        if isinstance(kind, tuple):
            index.append(slice(*(int(end[i]) if flag else None for end, flag in zip(ends, kind, strict=True))))
        else:
            index.append(int(ends[0][i]) if kind == 0 else kind)
    return tuple(index)


def kernel(key: str, type: str, forward: Callable[..., Any] | None = None, **declared: object) -> Row:
    """Return a row, declared as the engine's are (``gviz/autograd/row.py``), with TensorFlow's type for the node.

    The forward is the engine's if none is given.
    """
    return Row(key, type, forward or ROWS[key].forward, declared)


CHOICE = "(choose(first := {}, grad, none := zeros_like(grad)), choose(first, none, grad))"
EXTREME = (  # several that are the extreme one share the gradient
    "(chosen := cast_like(equal(unsqueeze_reduced(result, dim, self, keepdim), self), self))"
    " / sum_dim(chosen, dim, True) * unsqueeze_reduced(grad, dim, self, keepdim)"
)
ROW_SUM = "sum_dim(grad{}, -1, True)"
SHAPED = "shape_like(grad, {})"

KERNELS: dict[str, Row] = {
    row.key: row
    for row in (
        # numbers
        kernel("pass", "Identity", lambda x: x, x="grad"),
        kernel("add_n", "AddN", add_up, lists=("parts",), parts="[grad] * len(parts)"),
        kernel("square", "Square", lambda x: np.square(x), x="grad * (x * 2.0)"),
        kernel(
            "squared_difference",
            "SquaredDifference",
            lambda x, y: (x - y) * (x - y),
            x__y="(part := grad * 2.0 * (x - y), neg(part))",
        ),
        kernel(
            "mm",
            "MatMul",
            products,
            x="mm(y, grad, right, True) if left else mm(grad, y, False, not right)",
            y="mm(grad, x, True, left) if right else mm(x, grad, not left, False)",
        ),
        # no gradient is none behind them, too, where their slope is infinite
        kernel("sqrt", "Sqrt", self="sqrt_backward(result, grad)"),
        kernel("rsqrt", "Rsqrt", self="rsqrt_backward(result, grad)"),
        kernel("reciprocal", "Reciprocal", self="reciprocal_backward(result, grad)"),
        kernel(
            "sqrt_backward",
            "SqrtGrad",
            lambda y, part: no_part_of_infinity(part, part * 0.5 / y),
            y="neg(grad / y * result)",
            part="grad / y * 0.5",
        ),
        kernel(
            "rsqrt_backward",
            "RsqrtGrad",
            lambda y, part: no_part_of_infinity(part, part * -0.5 * (y * y * y)),
            y="grad * part * -1.5 * square(y)",
            part="grad * -0.5 * (y * square(y))",
        ),
        kernel(
            "reciprocal_backward",
            "ReciprocalGrad",
            lambda y, part: no_part_of_infinity(part, part * -(y * y)),
            y="grad * -2.0 * part * y",
            part="neg(grad * square(y))",
        ),
        kernel("places", "Where", lambda condition: np.argwhere(condition)),
        kernel("whole_mean", "Mean", mean_of_integers),
        # of two that are equal, the first
        kernel("maximum", "Maximum", self__other=CHOICE.format("greater_equal(self, other)")),
        kernel("minimum", "Minimum", self__other=CHOICE.format("less_equal(self, other)")),
        kernel("choose", "Select", select, one__other=CHOICE.format("condition")),
        kernel("amax", "Max", self=EXTREME),
        kernel("amin", "Min", self=EXTREME),
        kernel(
            "prod_axes",
            "Prod",
            lambda x, axes, keep: np.prod(x, axis=axes, keepdims=keep, dtype=x.dtype),
            x="sum_backward(grad, x_sym_sizes, axes, keep) * others(x, axes)",
        ),
        kernel("others", "Cumprod", product_of_others, x="(sum_dim(grad * result, axes, True) - grad * result) / x"),
        kernel("softmax_row", "Softmax", self=f"(grad - {ROW_SUM.format(' * result')}) * result"),
        kernel("log_softmax_row", "LogSoftmax", self=f"grad - {ROW_SUM.format('')} * exp(result)"),
        kernel(
            "cross_entropy",
            "SoftmaxCrossEntropyWithLogits",
            lambda logits, labels: -(labels * ARRAYS["log_softmax_row"](logits, -1)).sum(axis=-1),
            logits="unsqueeze(grad, -1) * (softmax_row(logits, -1) - labels)",
            labels="unsqueeze(grad, -1) * neg(log_softmax_row(logits, -1))",
        ),
        kernel(
            "elu_backward",
            "EluGrad",
            grad_output="elu_backward(grad, alpha, scale, input_scale, is_result, self_or_result)",
            self_or_result="grad * grad_output * where(greater(x := self_or_result, 0.0), 0.0, exp(minimum(x, 0.0)))",
        ),
        kernel(
            "pow_tensor",
            "Pow",  # TensorFlow has 0 where the base is not positive, and nan for 0 ** 0; PyTorch nan and 0
            self="grad * exponent * pow_tensor(self, exponent - 1.0)",
            exponent="grad * where(greater(self, 0.0), result * log(where(greater(self, 0.0), self, 1.0)), 0.0)",
        ),
        # shapes
        kernel("reshape_to", "Reshape", lambda x, size: x.reshape(tuple(int(n) for n in size)), x=SHAPED.format("x")),
        kernel("shape_like", "Reshape", lambda part, x: part.reshape(np.shape(x)), part=SHAPED.format("part")),
        kernel(
            "unreduced",
            "Reshape",
            lambda part, x, axes: np.expand_dims(part, tuple(range(np.ndim(x))) if axes is None else axes),
            part=SHAPED.format("part"),
        ),
        kernel("squeeze", "Squeeze", lambda x, axes: np.squeeze(x, axes), x=SHAPED.format("x")),
        kernel("squeeze_all", "Squeeze", lambda x: np.squeeze(x), x=SHAPED.format("x")),
        kernel("unsqueeze", "ExpandDims", self=SHAPED.format("self")),
        kernel(
            "transpose", "Transpose", lambda x, order: np.transpose(x, order), x="transpose(grad, inverse_of(order))"
        ),
        kernel("inverse_of", "InvertPermutation", lambda order: np.argsort(order)),
        kernel(
            "spread_sum", "Sum", lambda part, x: ARRAYS["sum_to"](part, np.shape(x)), part="spread_like(grad, part)"
        ),
        kernel(
            "spread_like", "Tile", lambda part, x: np.broadcast_to(part, np.shape(x)), part="spread_sum(grad, part)"
        ),
        # picking
        kernel("getitem", "StridedSlice", lambda x, index: x[index], x="put_back(grad, x, index)"),
        kernel("put_back", "StridedSliceGrad", put_back, part="getitem(grad, index)"),
        kernel(
            "slice_by",
            "StridedSlice",
            lambda x, begin, end, step, kinds: x[index_of(kinds, begin, end, step)],
            x="put_back_by(grad, x, begin, end, step, kinds)",
        ),
        kernel(
            "put_back_by",
            "StridedSliceGrad",
            lambda part, x, begin, end, step, kinds: put_back(part, x, index_of(kinds, begin, end, step)),
            part="slice_by(grad, begin, end, step, kinds)",
        ),
        kernel(
            "take",
            "GatherV2",
            lambda x, places, axis: x[index_along(x, axis, places)],
            x="give_back(grad, x, places, axis)",
        ),
        kernel("give_back", "UnsortedSegmentSum", give_back, part="take(grad, places, axis)"),
        kernel(
            "piece",
            "Slice",
            lambda part, parts, place, axis: part[part_of(parts, place, axis)],
            part="put_piece(grad, part, parts, place, axis)",
        ),
        kernel(
            "put_piece",
            "Pad",
            lambda part, x, parts, place, axis: put_back(part, x, part_of(parts, place, axis)),
            part="piece(grad, parts, place, axis)",
        ),
        # from shapes and numbers
        kernel("ones_like", "OnesLike", lambda x: np.ones_like(x)),
        kernel("shape_of", "Shape", lambda x, dtype: np.array(np.shape(x), dtype)),
        kernel("rank_of", "Rank", lambda x: np.int32(np.ndim(x))),
        kernel("size_of", "Size", lambda x, dtype: dtype(np.size(x))),
        kernel("fill", "Fill", lambda size, value: np.full(tuple(size), value)),
        kernel(
            "range", "Range", lambda start, limit, delta: np.arange(start, limit, delta, dtype=np.asarray(start).dtype)
        ),
    )
}
"""Functions that the engine's table lacks, and those for which TensorFlow has another derivative, as rows by their
keys."""

NUMPYS: dict[str, np.ufunc] = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "div": np.divide,
    "neg": np.negative,
}
"""Rows that a Python operator is for: numpy's functions, which may write over an operand."""


def array_function(key: str) -> Callable[..., Any]:
    """Return the function of that key on arrays: the row's, or numpy's if the row only calls that."""
    function: Any = NUMPYS.get(key) or (KERNELS[key].forward if key in KERNELS else ARRAYS[key])
    return getattr(function, "ufunc", function)
