"""What operations compute: the engine's functions on arrays, those that it lacks, and their derivatives.

A step of an optimiser takes a variable's value, what is kept beside it, then the other inputs in the operation's order.
It returns the new values of the variable and of what is kept.
"""

from __future__ import annotations

import operator
import sys
from collections.abc import Callable, Iterable, Sequence
from functools import reduce
from itertools import accumulate, repeat
from typing import Any, TypeAlias

import numpy as np
from numpy.lib.array_utils import normalize_axis_index

from gviz import events
from gviz.autograd.row import Row
from gviz.numbers.words import refuse
from gviz.ops import ARRAYS, ROWS
from gviz.static import windows
from gviz.static.types import Array, Value, dims_text

Index: TypeAlias = "tuple[Any, ...]"
Values: TypeAlias = "tuple[Array, ...]"


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


def put_at(part: Array, sizes: Sequence[int], index: Index) -> Array:
    """Return zeros of some sizes, with numbers at an index."""
    out = np.zeros(tuple(sizes), part.dtype)
    out[index] = part
    return out


def offsets(axis: Array, sizes: Sequence[Array]) -> list[Array]:
    """Return where each of some joined tensors begins."""
    along = np.arange(len(sizes[0])) == axis
    ends = accumulate((int(size[axis]) for size in sizes), initial=0)
    return [(along * end).astype(np.int32) for end, _ in zip(ends, sizes, strict=False)]


def products(x: Array, y: Array, left: bool = False, right: bool = False) -> Array:
    """Return a product of matrices, each transposed or not; ValueError for vectors."""
    if min(x.ndim, y.ndim) < 2:
        raise ValueError(f"Shape must be rank 2 but is rank {min(x.ndim, y.ndim)}")
    return ARRAYS["matmul"](x.swapaxes(-2, -1) if left else x, y.swapaxes(-2, -1) if right else y)


def product_of_others(x: Array, axes: tuple[int, ...] | None) -> Array:
    """Return for each element the product of all others along some axes (None for all)."""
    axes = tuple(range(x.ndim)) if axes is None else axes
    first = range(len(axes))
    axes_first = np.moveaxis(x, axes, first)
    rows = axes_first.reshape((-1, *axes_first.shape[len(axes) :]))
    one = np.ones_like(rows[:1])
    before = np.cumprod(np.concatenate([one, rows[:-1]]), axis=0)
    after = np.cumprod(np.concatenate([one, rows[:0:-1]]), axis=0)[::-1]
    return np.moveaxis((before * after).reshape(axes_first.shape), first, axes)


def select(condition: Array, one: Array, other: Array) -> Array:
    """Return one of two, by a condition for all, for each row or for each element; ValueError if the shapes differ."""
    if np.shape(one) != np.shape(other):
        raise ValueError("'then' and 'else' must have the same size")
    by_row = condition.ndim == 1 < one.ndim
    return np.where(condition.reshape((-1, *(1,) * (one.ndim - 1))) if by_row else condition, one, other)[()]


def give_back(part: Array, x: Array, places: Array, axis: int) -> Array:
    """Return zeros, with the sums of the numbers that were taken from a place."""
    out = np.zeros_like(x)
    np.add.at(out, index_along(x, axis, places), part)
    return out


def sum_of_places(values: Array, places: Array, count: Array) -> Array:
    """Return so many rows, each the sum of the values for its place."""
    refuse(np.any(places < 0), "gviz has no segment_ids below 0", ValueError)
    out = np.zeros((int(count), *values.shape[1:]), values.dtype)
    np.add.at(out, places, values)
    return out


def index_along(x: Array, axis: int, place: Array | slice) -> Index:
    """Return the index of some places along an axis; ValueError if x lacks it."""
    return (*(slice(None),) * normalize_axis_index(axis, np.ndim(x)), place)


def index_of(kinds: Sequence[object], *ends: Array) -> Index:
    """Return the index that :func:`gviz.static.functions.getitem` was called with."""
    index: list[object] = []
    for i, kind in enumerate(kinds):
        if isinstance(kind, tuple):
            index.append(slice(*(int(end[i]) if flag else None for end, flag in zip(ends, kind, strict=True))))
        else:
            index.append(int(ends[0][i]) if kind == 0 else kind)
    return tuple(index)


def softmax_loss(logits: Array, labels: Array) -> tuple[Array, Array]:
    """Return the cross entropy of a softmax, and its derivative for the logits."""
    logs = ARRAYS["log_softmax_row"](logits, -1)
    return -(labels * logs).sum(axis=-1), np.exp(logs) - labels


def sparse_softmax_loss(logits: Array, labels: Array) -> tuple[Array, Array]:
    """Return the cross entropy of a softmax with one right class each, and its derivative for the logits.

    ValueError for a label that is no class.
    """
    count = logits.shape[-1]
    wrong = labels[(labels < 0) | (labels >= count)]
    if wrong.size:
        raise ValueError(
            f"Received a label value of {wrong.flat[0]} which is outside the valid range of [0, {count}).  "
            f"Label values: {' '.join(map(str, labels.ravel().tolist()))}"
        )
    logs, places = ARRAYS["log_softmax_row"](logits, -1), labels[..., None].astype(np.int64)
    slopes = np.exp(logs)
    np.put_along_axis(slopes, places, np.take_along_axis(slopes, places, -1) - 1, -1)
    return -np.take_along_axis(logs, places, -1)[..., 0], slopes


def mark_places(places: Array, depth: Array, on: Array, off: Array, axis: int) -> Array:
    """Return one value at each place of a new axis, another one elsewhere."""
    places = np.expand_dims(places, axis)
    line = np.arange(int(depth)).reshape([-1 if i == axis % places.ndim else 1 for i in range(places.ndim)])
    return np.where(places == line, on, off)


def in_top(scores: Array, targets: Array, most: Array) -> Array:
    """Return whether fewer than so many classes have a higher score than the target."""
    own = np.take_along_axis(scores, targets[:, None].astype(np.int64), 1)
    return ((scores > own).sum(1) < most) & np.isfinite(own[:, 0])


def joined_texts(parts: Sequence[Array], separator: str) -> Any:
    """Return texts one after the other, element by element."""
    return np.frompyfunc(lambda *texts: separator.encode().join(texts), len(parts), 1)(*parts)


def floor_mod(x: Array, y: Array) -> Array:
    """Return the rest of a division, with the divisor's sign; ZeroDivisionError for an integer that is divided by 0."""
    rest = np.mod(x, y)
    if rest.dtype.kind in "iu" and rest.size and not np.all(y):
        raise ZeroDivisionError
    return rest


def axes_of_operands(one: Array, other: Array) -> list[Array]:
    """Return the axes along which operands of two shapes are broadcast."""
    most = max(len(one), len(other))
    whole = [np.concatenate([np.ones(most - len(dims), np.int32), dims]) for dims in (one, other)]
    return [np.flatnonzero((a == 1) & ((b != 1) | (np.arange(most) < most - len(own)))).astype(np.int32)
            for a, b, own in ((*whole, one), (*whole[::-1], other))]  # fmt: skip


def stitched(places: Sequence[Array], values: Sequence[Array]) -> Array:
    """Return values at their places, the later ones over the earlier."""
    whole = np.zeros(1 + max(int(np.max(part, initial=-1)) for part in places), values[0].dtype)
    for place, value in zip(places, values, strict=True):
        whole[place] = value
    return whole


def index_between(begin: Array, size: Array) -> Index:
    """Return the index of what begins at some places and has some lengths; -1 is all that is left."""
    return tuple(slice(int(b), None if n == -1 else int(b + n)) for b, n in zip(begin, size, strict=True))


def largest(x: Array, count: Array, _is_sorted: bool) -> list[Array]:
    """Return the largest elements along the last axis and their places, of equal ones the first before the others."""
    places = np.argsort(-x, axis=-1, kind="stable")[..., : int(count)]
    return [np.take_along_axis(x, places, -1), places.astype(np.int32)]


def scatter_to(places: Array, parts: Array, sizes: Array) -> Array:
    """Return zeros with parts added at places; the inverse of picking them there."""
    whole = np.zeros(tuple(sizes), parts.dtype)
    np.add.at(whole, tuple(np.moveaxis(places, -1, 0)), parts)
    return whole


def unique_elements(x: Array, dtype: type, with_counts: bool) -> list[Array]:
    """Return the elements that differ, in the order in which they come, which each one is, and their counts."""
    values, first, places, counts = np.unique(x, return_index=True, return_inverse=True, return_counts=True)
    order = np.argsort(first)
    numbers = [np.argsort(order)[places], *[counts[order]] * with_counts]
    return [values[order], *(one.astype(dtype) for one in numbers)]


def as_texts(x: Array, precision: int, scientific: bool, shortest: bool, width: int) -> Array:
    """Return numbers as texts, as C's ``printf`` writes them."""
    style = "e" if scientific else "g" if shortest else "f"
    kind = {"b": "s", "i": "d", "u": "d"}.get(x.dtype.kind, style)
    form = "%" + str(width) * (width > 0) + f".{precision}" * (precision >= 0) + kind
    items = [form % (str(item).lower() if kind == "s" else item) for item in x.ravel().tolist()]
    return np.array([item.encode() for item in items], object).reshape(x.shape)


def sums_so_far(x: Array, axis: int, exclusive: bool, reverse: bool) -> Array:
    """Return sums of the elements before each one, it among them unless ``exclusive``, along an axis."""
    x = np.flip(x, axis) if reverse else x
    total = np.cumsum(x, axis, dtype=x.dtype)
    total = total - x if exclusive else total
    return np.flip(total, axis) if reverse else total


def show(x: Array, parts: Sequence[Array], message: str, most: int) -> Array:
    """Print some tensors to standard error, each with its first elements; return x."""
    texts = [f"[{element_text(part, most)}]" for part in parts]
    sys.stderr.write(f"{message}{''.join(texts)}\n")
    return x


def element_text(part: Array, most: int) -> str:
    """Return the first elements of a tensor as text."""
    items = [item.decode() if isinstance(item, bytes) else f"{item:g}" for item in np.ravel(part)[:most].tolist()]
    return " ".join(items) + "..." * (np.size(part) > most)


def check_condition(condition: Array, parts: Sequence[Array], most: int) -> None:
    """Raise ValueError, with some tensors, if a condition does not hold."""
    if not np.all(condition):
        raise ValueError("assertion failed: " + " ".join(f"[{element_text(part, most)}]" for part in parts))


def call_python(parts: Sequence[Array], function: Callable[..., Any], dtypes: Sequence[Any]) -> list[Array]:
    """Return what a Python function makes of arrays, with the dtypes that were promised; ValueError for others."""
    value = function(*(np.asarray(part) for part in parts))
    results = list(value) if isinstance(value, (list, tuple)) else [value] * (value is not None)
    arrays = [np.asarray(result) for result in results]
    for array, dtype in zip(arrays, dtypes, strict=False):
        if array.dtype != dtype:
            raise ValueError(f"py_func returns {array.dtype.name}, but was declared to return {np.dtype(dtype).name}")
    if len(arrays) != len(dtypes):
        raise ValueError(f"py_func returned {len(arrays)} values, expected {len(dtypes)}")
    return arrays


def summarize_scalar(tag: bytes, value: Array) -> bytes:
    """Return a number in wire form; ValueError for more than one."""
    if np.ndim(value):
        raise ValueError(
            f"tags and values not the same shape: [] != {dims_text(np.shape(value))} (tag '{tag.decode()}')"
        )
    return events.scalar_summary(tag, float(value))


def summarize_histogram(tag: bytes, values: Array) -> bytes:
    """Return how many numbers are how large, in wire form; ValueError if one is not finite.

    The buckets grow by a tenth each, from 1e-12 to 1e20; those that are empty are written as one.
    """
    numbers = np.ravel(values).astype(float)
    if not np.isfinite(numbers).all():
        raise ValueError(f"Nan in summary histogram for: {tag.decode()}")
    largest = sys.float_info.max
    powers = list(accumulate(repeat(1.1, 773), operator.mul, initial=1e-12))
    limits = [-largest, *(-n for n in reversed(powers)), 0.0, *powers, largest]
    counts = np.bincount(np.searchsorted(limits, numbers, "right"), minlength=len(limits)).tolist()
    buckets = [i for i, n in enumerate(counts) if n or i + 1 == len(counts) or counts[i + 1]]
    facts = [
        numbers.min(initial=largest),
        numbers.max(initial=-largest),
        numbers.size,
        numbers.sum(),
        np.square(numbers).sum(),
    ]
    return events.histogram_summary(tag, facts, [limits[i] for i in buckets], [counts[i] for i in buckets])


# ------------------------------------------------------------------ lists of tensors
class Elements:
    """A list that operations write and read; the elements of a gradient are added to what is there.

    Args:
        count: how many elements there are; more come by writing them.
        forward: of a gradient: the list that it is the gradient of.
    """

    def __init__(self, count: int, forward: Elements | None = None) -> None:
        self._items: list[Any] = [None] * count
        self._forward = forward
        self._gradients: dict[str, Elements] = {}

    def __len__(self) -> int:
        return len(self._items)

    def gradient(self, source: str) -> Elements:
        """Return the gradient that a call of ``tf.gradients`` computes."""
        return self._gradients.setdefault(source, Elements(len(self), self))

    def read(self, place: int) -> Value:
        """Return an element; zeros if there is none in its place."""
        if self._items[place] is not None:
            return self._items[place]
        items = [*self._items, *(self._forward._items if self._forward else ())]
        like = next((item for item in items if item is not None), None)
        refuse(like is None, f"Could not read index {place} twice or before it was written")
        return np.zeros_like(like)

    def write(self, place: int, value: Value) -> None:
        """Put an element in its place."""
        self._items += [None] * (place + 1 - len(self))
        before = self._items[place]
        self._items[place] = value if before is None or self._forward is None else before + value


def write_element(elements: Elements, place: Value, value: Value, flow: Value) -> Value:
    """Write an element; return what tells that it is there."""
    elements.write(int(place), value)
    return flow


def scatter_elements(elements: Elements, places: Iterable[Value], value: Array, flow: Value) -> Value:
    """Write the parts of a tensor along its first axis."""
    for place, part in zip(places, value, strict=True):
        elements.write(int(place), part)
    return flow


def gather_elements(elements: Elements, places: Array, flow: Value, dtype: type[np.generic]) -> Array:
    """Return some elements as one tensor."""
    return np.array([elements.read(int(place)) for place in places], dtype)


def push_value(stack: list[Any], value: Any) -> Any:
    """Put a value on a stack."""
    stack.append(value)
    return value


# ------------------------------------------------------------------ steps of optimisers
def momentum(old: Array, velocity: Array, rate: Array, grad: Array, decay: Array, use_nesterov: bool = False) -> Values:
    """Go on in the direction of earlier steps; with ``use_nesterov`` with the gradient of now once more."""
    velocity = velocity * decay + grad
    return old - (rate * grad + rate * decay * velocity if use_nesterov else rate * velocity), velocity


def adagrad(old: Array, total: Array, rate: Array, grad: Array) -> Values:
    """Divide by the root of all squares so far."""
    total = total + grad * grad
    return old - rate * grad / np.sqrt(total), total


def adadelta(old: Array, squares: Array, steps: Array, rate: Array, rho: Array, epsilon: Array, grad: Array) -> Values:
    """Make steps as large as earlier ones were."""
    squares = squares * rho + grad * grad * (1 - rho)
    step = np.sqrt(steps + epsilon) / np.sqrt(squares + epsilon) * grad
    return old - rate * step, squares, steps * rho + step * step * (1 - rho)


def rms_prop(
    old: Array, squares: Array, velocity: Array, rate: Array, rho: Array, decay: Array, epsilon: Array, grad: Array
) -> Values:
    """Divide by the root of the mean square of late."""
    squares = squares + (grad * grad - squares) * (1 - rho)
    velocity = velocity * decay + rate * grad / np.sqrt(squares + epsilon)
    return old - velocity, squares, velocity


def centered_rms_prop(old: Array, mean: Array, squares: Array, velocity: Array, *others: Array) -> Values:
    """Divide by the root of the variance of late."""
    rate, rho, decay, epsilon, grad = others
    squares = squares + (grad * grad - squares) * (1 - rho)
    mean = mean + (grad - mean) * (1 - rho)
    velocity = velocity * decay + rate * grad / np.sqrt(squares - mean * mean + epsilon)
    return old - velocity, mean, squares, velocity


def adam(old: Array, mean: Array, squares: Array, *others: Array) -> Values:
    """Divide the mean of late by the root of the mean square of late."""
    power1, power2, rate, beta1, beta2, epsilon, grad = others
    mean = mean + (grad - mean) * (1 - beta1)
    squares = squares + (grad * grad - squares) * (1 - beta2)
    rate = rate * np.sqrt(1 - power2) / (1 - power1)
    return old - mean * rate / (np.sqrt(squares) + epsilon), mean, squares


UPDATES: dict[str, Callable[..., Values]] = {
    "ApplyMomentum": momentum, "ApplyAdagrad": adagrad,
    "ApplyAdadelta": adadelta,
    "ApplyRMSProp": rms_prop, "ApplyCenteredRMSProp": centered_rms_prop, "ApplyAdam": adam,
}  # fmt: skip
"""The steps, by the types of the operations."""


# ------------------------------------------------------------------ the rows
def kernel(key: str, type: str, forward: Callable[..., Any] | None = None, **declared: object) -> Row:
    """Return a row, declared as the engine's are (``gviz/autograd/row.py``), with TensorFlow's type for the node.

    The forward is the engine's if none is given.
    """
    return Row(key, type, forward or ROWS[key].forward, declared)


KERNELS: dict[str, Row] = {
    row.key: row
    for row in (
        # numbers
        kernel("pass", "Identity", lambda x: x, x="grad"),
        kernel("add_n", "AddN", add_up, lists=("parts",)),
        kernel("square", "Square", lambda x: np.square(x)),
        kernel(
            "squared_difference",
            "SquaredDifference",
            lambda x, y: (x - y) * (x - y),
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
        kernel("choose", "Select", select),
        kernel(
            "prod_axes",
            "Prod",
            lambda x, axes, keep: np.prod(x, axis=axes, keepdims=keep, dtype=x.dtype),
            x="sum_backward(grad, x_sym_sizes, axes, keep) * others(x, axes)",
        ),
        kernel("others", "Cumprod", product_of_others, x="(sum_dim(grad * result, axes, True) - grad * result) / x"),
        kernel(
            "cross_entropy",
            "SoftmaxCrossEntropyWithLogits",
            softmax_loss,
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
        kernel("reshape_to", "Reshape", lambda x, size: x.reshape(tuple(int(n) for n in size))),
        kernel("shape_like", "Reshape", lambda part, x: part.reshape(np.shape(x)), part="shape_like(grad, part)"),
        kernel(
            "unreduced",
            "Reshape",
            lambda part, x, axes: np.expand_dims(part, tuple(range(np.ndim(x))) if axes is None else axes),
            part="shape_like(grad, part)",
        ),
        kernel("squeeze", "Squeeze", lambda x, axes: np.squeeze(x, axes)),
        kernel("squeeze_all", "Squeeze", lambda x: np.squeeze(x)),
        kernel(
            "transpose", "Transpose", lambda x, order: np.transpose(x, order), x="transpose(grad, inverse_of(order))"
        ),
        kernel("floor_mod", "FloorMod", floor_mod),
        kernel("broadcast_to", "BroadcastTo", lambda x, size: np.broadcast_to(x, tuple(size))),
        kernel("expand_to", "BroadcastTo", lambda x, size: np.broadcast_to(x, size)),
        kernel("broadcast_axes", "BroadcastGradientArgs", axes_of_operands),
        kernel("sum_over", "Sum", lambda x, axes, keep: np.sum(x, axis=tuple(axes), keepdims=keep)),
        kernel(
            "sum_of_rows",
            "BiasAddGrad",
            lambda part: np.sum(part, axis=tuple(range(np.ndim(part) - 1))),
            part="spread_like(grad, part)",
        ),
        kernel("stitch", "DynamicStitch", stitched),
        kernel(
            "shapes_of",
            "ShapeN",
            lambda parts: [np.array(np.shape(part), np.int32) for part in parts],
            lists=("parts",),
        ),
        kernel("fill_like", "Fill", lambda x, value: np.full(np.shape(x), value)[()]),
        kernel("inverse_of", "InvertPermutation", lambda order: np.argsort(order)),
        kernel(
            "spread_sum", "Sum", lambda part, x: ARRAYS["sum_to"](part, np.shape(x)), part="spread_like(grad, part)"
        ),
        kernel(
            "spread_like", "Tile", lambda part, x: np.broadcast_to(part, np.shape(x)), part="spread_sum(grad, part)"
        ),
        # picking
        kernel("getitem", "StridedSlice", lambda x, index: x[index]),
        kernel("put_at", "StridedSliceGrad", put_at),
        kernel(
            "put_in",
            "StridedSliceGrad",
            lambda part, sizes, begin, end, step, kinds: put_at(part, sizes, index_of(kinds, begin, end, step)),
        ),
        kernel("offsets", "ConcatOffset", offsets),
        kernel("put_back", "StridedSliceGrad", put_back),
        kernel(
            "slice_by",
            "StridedSlice",
            lambda x, begin, end, step, kinds: x[index_of(kinds, begin, end, step)],
        ),
        kernel(
            "take",
            "GatherV2",
            lambda x, places, axis: x[index_along(x, axis, places)],
            x="give_back(grad, x, places, axis)",
        ),
        kernel("take_at", "GatherNd", lambda x, places: x[tuple(np.moveaxis(places, -1, 0))]),
        kernel("scatter_to", "ScatterNd", scatter_to),
        kernel("largest", "TopKV2", largest, outputs=("...",)),
        kernel(
            "linspace", "LinSpace", lambda first, last, count: np.linspace(first, last, int(count), dtype=first.dtype)
        ),
        kernel("sum_of_places", "UnsortedSegmentSum", sum_of_places, values="take(grad, places, 0)"),
        kernel("give_back", "UnsortedSegmentSum", give_back, part="take(grad, places, axis)"),
        # images
        kernel(
            "conv2d",
            "Conv2D",
            windows.convolution,
        ),
        kernel("conv2d_to_input", "Conv2DBackpropInput", windows.convolution_to_input),
        kernel("conv2d_to_filter", "Conv2DBackpropFilter", windows.convolution_to_filter),
        kernel("max_pool", "MaxPool", windows.max_pool),
        kernel("max_pool_back", "MaxPoolGrad", windows.max_pool_back),
        kernel("avg_pool", "AvgPool", windows.avg_pool),
        kernel("avg_pool_back", "AvgPoolGrad", windows.avg_pool_back),
        # classes
        kernel(
            "sparse_cross_entropy",
            "SparseSoftmaxCrossEntropyWithLogits",
            sparse_softmax_loss,
        ),
        kernel("one_hot", "OneHot", mark_places),
        kernel("in_top", "InTopKV2", in_top),
        kernel("l2_loss", "L2Loss", lambda x: np.sum(x * x) * x.dtype.type(0.5)),
        # in other places
        kernel("tile", "Tile", lambda x, multiples: np.tile(x, multiples)),
        kernel("pad", "Pad", lambda x, around: np.pad(x, around)),
        kernel("sums_so_far", "Cumsum", sums_so_far),
        kernel("reversed_along", "ReverseV2", lambda x, axes: np.flip(x, axes)),
        kernel(
            "slice_sized",
            "Slice",
            lambda x, begin, size: x[index_between(begin, size)],
        ),
        kernel(
            "split_at",
            "Split",
            lambda x, sizes, axis: np.split(x, np.cumsum(sizes)[:-1], axis),
            outputs=("...",),
        ),
        kernel("unique", "Unique", unique_elements, outputs=("...",)),
        kernel("matrix_inverse", "MatrixInverse", lambda a: np.linalg.inv(a)),
        kernel("as_texts", "AsString", as_texts),
        kernel("join_texts", "StringJoin", joined_texts, lists=("parts",)),
        # lists of tensors
        kernel("count_elements", "TensorArraySizeV3", lambda elements, flow: np.int32(len(elements))),
        kernel("new_elements", "TensorArrayV3", lambda count: [Elements(int(count)), np.float32(0)]),
        kernel("write_element", "TensorArrayWriteV3", write_element),
        kernel("read_element", "TensorArrayReadV3", lambda elements, place, flow: elements.read(int(place))),
        kernel("scatter_elements", "TensorArrayScatterV3", scatter_elements),
        kernel("gather_elements", "TensorArrayGatherV3", gather_elements),
        kernel("gradient_of", "TensorArrayGradV3", lambda elements, flow, source: [elements.gradient(source), flow]),
        # what loops keep for their gradient loops
        kernel("stack_of_values", "StackV2", lambda most: []),
        kernel("push", "StackPushV2", push_value),
        kernel("pop", "StackPopV2", lambda stack: stack.pop()),
        # what TensorBoard shows
        kernel("scalar_summary", "ScalarSummary", summarize_scalar),
        kernel("histogram_summary", "HistogramSummary", summarize_histogram),
        kernel("merge_summaries", "MergeSummary", lambda parts: b"".join(parts), lists=("parts",)),
        # what is done besides
        kernel("show", "Print", show, lists=("parts",), x="grad"),
        kernel("check", "Assert", check_condition, lists=("parts",)),
        kernel("call", "PyFunc", call_python, lists=("parts",)),
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
