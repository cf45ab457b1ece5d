"""What operations compute: the functions of the engine's table on arrays, those that it lacks, and their derivatives."""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING, Any

import numpy as np

from gviz.ops import ARRAYS
from gviz.ops.rows import CALLS
from gviz.static.shapes import listed

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["FORMULAS", "OWN", "function_of", "index_of"]


def add_up(parts: Any) -> Any:
    """Return the sum of several arrays; ValueError if their shapes differ."""
    first = parts[0].shape
    for i, part in enumerate(parts):
        if part.shape != first:
            raise ValueError(f"must have the same size and shape.  Input 0: {listed(first)} != input {i}: {listed(part.shape)}")
    return reduce(lambda a, b: a + b, parts)


def spread_sum(part: Any, x: Any) -> Any:
    """Return a gradient summed back to the shape that was broadcast."""
    want, have = np.shape(x), np.shape(part)
    if want == have:
        return part
    lead = len(have) - len(want)
    axes = tuple(range(lead)) + tuple(i + lead for i, n in enumerate(want) if n == 1 and have[i + lead] != 1)
    return part.sum(axis=axes, keepdims=True).reshape(want) if axes else part.reshape(want)


def unreduced(part: Any, x: Any, axes: Any) -> Any:
    """Return the result of a reduction of x, with a length of one for each axis that was reduced."""
    gone = range(np.ndim(x)) if axes is None else [a % np.ndim(x) for a in axes]
    return part.reshape(tuple(1 if i in gone else n for i, n in enumerate(np.shape(x))))


def put_back(part: Any, x: Any, index: Any) -> Any:
    """Return zeros, with numbers where an index took them from."""
    out = np.zeros_like(x)
    out[index] = part
    return out


def products(x: Any, y: Any, left: bool, right: bool) -> Any:
    """Return a product of matrices, each transposed or not."""
    return ARRAYS["matmul"](x.swapaxes(-2, -1) if left else x, y.swapaxes(-2, -1) if right else y)


def others(x: Any, axes: Any) -> Any:
    """Return for each element the product of all others along some axes (None for all)."""
    gone = sorted(range(x.ndim) if axes is None else {a % x.ndim for a in axes})
    order = [*gone, *(i for i in range(x.ndim) if i not in gone)]
    rows = x.transpose(order).reshape((-1, *(x.shape[i] for i in order[len(gone) :])))
    one = np.ones_like(rows[:1])
    before = np.cumprod(np.concatenate([one, rows[:-1]]), axis=0)
    after = np.cumprod(np.concatenate([one, rows[:0:-1]]), axis=0)[::-1]
    return (before * after).reshape([x.shape[i] for i in order]).transpose(np.argsort(order))


def choose(condition: Any, one: Any, other: Any) -> Any:
    """Return one of two, by a condition for all, for each row or for each element; ValueError if the shapes differ."""
    if np.shape(one) != np.shape(other):
        raise ValueError(f"{listed(np.shape(one))} is not {listed(np.shape(other))}")
    lead = np.ndim(one) - np.ndim(condition)
    return np.where(condition.reshape((-1, *(1,) * lead)) if lead > 0 and np.ndim(condition) == 1 else condition, one, other)


def axis_of(x: Any, axis: int) -> int:
    """Return an axis counted from the front; ValueError if x lacks it."""
    if not -np.ndim(x) <= axis < np.ndim(x):
        least = axis + 1 if axis >= 0 else -axis
        raise ValueError(f"Shape must be at least rank {least} but is rank {np.ndim(x)}")
    return axis % int(np.ndim(x))


def give_back(part: Any, x: Any, places: Any, axis: int) -> Any:
    """Return zeros, with the sums of the numbers that were taken from a place."""
    out = np.zeros_like(x)
    np.add.at(out, (slice(None),) * axis_of(x, axis) + (places,), part)
    return out


def part_of(parts: Any, place: int, axis: int) -> tuple[slice, ...]:
    """Return the index of one of several parts that were joined along an axis."""
    axis = axis_of(parts[0], axis)
    lengths = [np.shape(p)[axis] for p in parts]
    return (*(slice(None),) * axis, slice(sum(lengths[:place]), sum(lengths[: place + 1])))


def index_of(kinds: Any, *ends: Any) -> tuple[Any, ...]:
    """Return the index that :func:`gviz.static.functions.getitem` was called with."""
    index: list[Any] = []
    for i, kind in enumerate(kinds):
        if isinstance(kind, tuple):
            index.append(slice(*(int(end[i]) if flag else None for end, flag in zip(ends, kind, strict=True))))
        else:
            index.append(int(ends[0][i]) if kind == 0 else kind)
    return tuple(index)


OWN: dict[str, Callable[..., Any]] = {
    "pass": lambda x: x,
    "add_n": add_up,
    "square": np.square,
    "squared_difference": lambda x, y: (x - y) * (x - y),
    "products": products,
    "prod_axes": lambda x, axes, keep: np.prod(x, axis=axes, keepdims=keep),
    "others": others,
    "cross_entropy": lambda logits, labels: -(labels * ARRAYS["log_softmax_row"](logits, -1)).sum(axis=-1),
    "choose": choose,
    # shapes
    "reshape": lambda x, size: x.reshape(tuple(int(n) for n in size)),
    "shape_like": lambda part, x: part.reshape(np.shape(x)),
    "squeeze": lambda x, axes: np.squeeze(x, axes),
    "squeeze_all": lambda x: np.squeeze(x),
    "transpose": lambda x, order: np.transpose(x, order),
    "turn_back": lambda part, order: np.transpose(part, np.argsort(order)),
    "spread_sum": spread_sum,
    "spread_like": lambda part, x: np.broadcast_to(part, np.shape(x)),
    "unreduced": unreduced,
    # picking
    "getitem": lambda x, index: x[index],
    "put_back": put_back,
    "slice_by": lambda x, begin, end, step, kinds: x[index_of(kinds, begin, end, step)],
    "put_back_by": lambda part, x, begin, end, step, kinds: put_back(part, x, index_of(kinds, begin, end, step)),
    "take": lambda x, places, axis: x[(slice(None),) * axis_of(x, axis) + (places,)],
    "give_back": give_back,
    "piece": lambda part, parts, place, axis: part[part_of(parts, place, axis)],
    "put_piece": lambda part, x, parts, place, axis: put_back(part, x, part_of(parts, place, axis)),
    # from shapes and numbers
    "ones_like": np.ones_like,
    "shape_of": lambda x, kind: np.array(np.shape(x), kind),
    "rank_of": lambda x: np.int32(np.ndim(x)),
    "size_of": lambda x, kind: kind(np.size(x)),
    "fill": lambda size, value: np.full(tuple(size), value),
    "range": lambda start, limit, delta: np.arange(start, limit, delta, dtype=np.asarray(start).dtype),
}

FORMULAS: dict[str, dict[str, Any]] = {
    "getitem": {"x": lambda grad, x, index: put_back(grad, x, index)},
    "put_back": {"part": lambda grad, index: getitem(grad, index)},
    "slice_by": {"x": lambda grad, x, begin, end, step, kinds: put_back_by(grad, x, begin, end, step, kinds)},
    "put_back_by": {"part": lambda grad, begin, end, step, kinds: slice_by(grad, begin, end, step, kinds)},
    "take": {"x": lambda grad, x, places, axis: give_back(grad, x, places, axis)},
    "give_back": {"part": lambda grad, places, axis: take(grad, places, axis)},
    "piece": {"part": lambda grad, part, parts, place, axis: put_piece(grad, part, parts, place, axis)},
    "put_piece": {"part": lambda grad, parts, place, axis: piece(grad, parts, place, axis)},
    "transpose": {"x": lambda grad, order: turn_back(grad, order)},
    "turn_back": {"part": lambda grad, order: transpose(grad, order)},
    "spread_sum": {"part": lambda grad, part: spread_like(grad, part)},
    "spread_like": {"part": lambda grad, part: spread_sum(grad, part)},
    **{key: {"x": lambda grad, x: shape_like(grad, x)} for key in ("reshape", "squeeze", "squeeze_all")},
    **{key: {"part": lambda grad, part: shape_like(grad, part)} for key in ("shape_like", "unreduced")},
    **{key: {"self": lambda grad, self: shape_like(grad, self)} for key in ("unsafe_view", "unsqueeze")},
    "elu_backward": {
        "grad_output": lambda grad, alpha, scale, input_scale, is_result, self_or_result: elu_backward(
            grad, alpha, scale, input_scale, is_result, self_or_result
        ),
        "self_or_result": lambda grad, grad_output, self_or_result: (
            grad * grad_output * where(greater(self_or_result, 0.0), 0.0, exp(minimum(self_or_result, 0.0)))
        ),
    },
    "others": {"x": lambda grad, x, axes, result: (total(grad * result, x, axes) - grad * result) / x},
    "pow_tensor": {  # TensorFlow has 0 where the base is not positive, and nan for 0 ** 0; PyTorch nan and 0
        "self": lambda grad, self, exponent: grad * exponent * pow_tensor(self, exponent - 1.0),
        "exponent": lambda grad, self, result: (
            grad * where(greater(self, 0.0), result * log(where(greater(self, 0.0), self, 1.0)), 0.0)
        ),
    },
}
"""The derivatives of some of these, and those that TensorFlow has and PyTorch has not, in the form of the engine's rows."""

NUMPYS = {"add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide, "neg": np.negative}
"""Rows that a Python operator is for: numpy's functions, which may write over an operand."""


def function_of(key: str) -> Any:
    """Return the function of that key on arrays: one of :data:`OWN`, numpy's if a row only calls that, or the row's."""
    if key in OWN or key in NUMPYS:
        return OWN.get(key) or NUMPYS[key]
    code = ARRAYS[key].__code__
    is_numpys = code.co_names[:1] == ("np",) and any(code.co_code == call.__code__.co_code for call in CALLS.values())
    return getattr(np, code.co_names[1]) if is_numpys else ARRAYS[key]
