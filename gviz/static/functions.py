"""Functions on arrays that TensorFlow has and the engine's table has not, and their derivatives.

Where no derivative is declared, the dynamic engine finds it when the graph runs (:func:`by_engine`); so these functions take
the engine's tensors too.
"""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING, Any

import numpy as np

from gviz.autograd.modes import enable_grad
from gviz.autograd.requests import grad
from gviz.autograd.tensor import Tensor, from_array
from gviz.ops import ARRAYS, TENSORS
from gviz.ops.rows import CALLS
from gviz.static.dtypes import is_array
from gviz.static.shapes import listed
from gviz.static.structures import leaves, refilled

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["FORMULAS", "OWN", "function_of", "index_of"]


def add_up(parts: Any) -> Any:
    """The sum of several of one shape; ValueError where they have several."""
    first = parts[0].shape
    for i, part in enumerate(parts):
        if part.shape != first:
            raise ValueError(f"must have the same size and shape.  Input 0: {listed(first)} != input {i}: {listed(part.shape)}")
    return reduce(lambda a, b: a + b, parts)


def spread_sum(part: Any, x: Any) -> Any:
    """A gradient summed back to the shape that was broadcast."""
    want, have = np.shape(x), np.shape(part)
    if want == have:
        return part
    lead = len(have) - len(want)
    axes = tuple(range(lead)) + tuple(i + lead for i, n in enumerate(want) if n == 1 and have[i + lead] != 1)
    return part.sum(axis=axes, keepdims=True).reshape(want) if axes else part.reshape(want)


def spread_like(part: Any, x: Any) -> Any:
    """Numbers broadcast to a shape."""
    return np.broadcast_to(part, np.shape(x))


def getitem(x: Any, index: Any) -> Any:
    """Some of the elements."""
    return x[index]


def shape_of(x: Any) -> tuple[int, ...]:
    """The shape of an array, or of one of the engine's tensors."""
    return np.shape(x._array if isinstance(x, Tensor) else x)


def put_back(part: Any, x: Any, index: Any) -> Any:
    """Zeros, and numbers where an index took them from."""
    out = np.zeros_like(x)
    out[index] = part
    return out


def products(x: Any, y: Any, left: bool, right: bool) -> Any:
    """A product of matrices, each transposed or not."""
    return (x.swapaxes(-2, -1) if left else x) @ (y.swapaxes(-2, -1) if right else y)


def prod_axes(x: Any, axes: tuple[int, ...], keep: bool) -> Any:
    """The product along several axes."""
    shape = shape_of(x)
    places = sorted({a % len(shape) for a in axes}, reverse=True)
    sizes = tuple(1 if i in places else n for i, n in enumerate(shape))
    for place in places:
        x = x.prod(place)
    return x.reshape(sizes) if keep else x


def choose(condition: Any, one: Any, other: Any) -> Any:
    """One of two by a condition for all, for each row or for each element."""
    lead = len(shape_of(one)) - len(shape_of(condition))
    if lead > 0 and len(shape_of(condition)) == 1:
        condition = condition.reshape((-1, *(1,) * lead))
    return np.where(condition, one, other) if is_array(one) else one.where(condition, other)


def slice_by(x: Any, begin: Any, end: Any, step: Any, kinds: Any) -> Any:
    """Some of the elements, by numbers that may be known only now."""
    return x[index_of(kinds, begin, end, step)]


def put_back_by(part: Any, x: Any, begin: Any, end: Any, step: Any, kinds: Any) -> Any:
    """Zeros, and numbers where such a slice took them from."""
    return put_back(part, x, index_of(kinds, begin, end, step))


def take(x: Any, places: Any, axis: int) -> Any:
    """The elements at some places of an axis."""
    return x[(slice(None),) * (axis % x.ndim) + (places,)]


def give_back(part: Any, x: Any, places: Any, axis: int) -> Any:
    """Zeros, and the sums of the numbers that were taken from a place."""
    out = np.zeros_like(x)
    np.add.at(out, (slice(None),) * (axis % x.ndim) + (places,), part)
    return out


def index_of(kinds: Any, *ends: Any) -> tuple[Any, ...]:
    """The index that :func:`gviz.static.arrays.getitem` was called with."""
    index: list[Any] = []
    for i, kind in enumerate(kinds):
        if isinstance(kind, tuple):
            index.append(slice(*(int(end[i]) if flag else None for end, flag in zip(ends, kind, strict=True))))
        else:
            index.append(int(ends[0][i]) if kind == 0 else kind)
    return tuple(index)


def cross_entropy(logits: Any, labels: Any) -> Any:
    """The cross entropy of rows of probabilities and of logits."""
    if isinstance(logits, np.ndarray):
        return -(labels * ARRAYS["log_softmax_row"](logits, -1)).sum(axis=-1)
    return -(labels * logits.log_softmax(-1)).sum(-1)


OWN: dict[str, Callable[..., Any]] = {
    "getitem": getitem, "put_back": put_back, "slice_by": slice_by, "choose": choose, "add_n": add_up, "spread_sum": spread_sum,
    "spread_like": spread_like,
    "products": products, "prod_axes": prod_axes, "cross_entropy": cross_entropy, "pass": lambda x: x, "square": np.square,
    "squared_difference": lambda x, y: (x - y) * (x - y), "ones_like": np.ones_like,
    "shape_of": lambda x, kind: np.array(np.shape(x), kind), "rank_of": lambda x: np.int32(np.ndim(x)),
    "size_of": lambda x, kind: kind(np.size(x)), "sizes": np.shape, "numel": np.size,
    "strides": lambda x: tuple(s // x.itemsize for s in x.strides), "fill": lambda size, value: np.full(tuple(size), value),
    "range": lambda start, limit, delta: np.arange(start, limit, delta, dtype=np.asarray(start).dtype),
    "put_back_by": put_back_by, "take": take, "give_back": give_back,
    "reshape": lambda x, size: x.reshape(tuple(int(n) for n in size)),
    "shape_like": lambda part, x: part.reshape(np.shape(x)),
    "transpose": lambda x, order: np.transpose(x, order),
    "turn_back": lambda part, order: np.transpose(part, np.argsort(order)),
}  # fmt: skip


FORMULAS: dict[str, dict[str, Any]] = {
    "getitem": {"x": lambda grad, x, index: put_back(grad, x, index)},
    "put_back": {"part": lambda grad, index: getitem(grad, index)},
    "slice_by": {"x": lambda grad, x, begin, end, step, kinds: put_back_by(grad, x, begin, end, step, kinds)},
    "put_back_by": {"part": lambda grad, begin, end, step, kinds: slice_by(grad, begin, end, step, kinds)},
    "take": {"x": lambda grad, x, places, axis: give_back(grad, x, places, axis)},
    "give_back": {"part": lambda grad, places, axis: take(grad, places, axis)},
    "reshape": {"x": lambda grad, x: shape_like(grad, x)},
    "shape_like": {"part": lambda grad, part: shape_like(grad, part)},
    "transpose": {"x": lambda grad, order: turn_back(grad, order)},
    "turn_back": {"part": lambda grad, order: transpose(grad, order)},
    "spread_sum": {"part": lambda grad, part: spread_like(grad, part)},
    "spread_like": {"part": lambda grad, part: spread_sum(grad, part)},
    "pow_tensor": {  # TensorFlow has 0 where the base is not positive, and nan for 0 ** 0; PyTorch nan and 0
        "self": lambda grad, self, exponent: grad * exponent * pow_tensor(self, exponent - 1.0),
        "exponent": lambda grad, self, result: (
            grad * where(greater(self, 0.0), result * log(where(greater(self, 0.0), self, 1.0)), 0.0)
        ),
    },
}
"""The derivatives of some of these, and where TensorFlow's is another than PyTorch's, in the form of the engine's rows."""


NUMPYS = {"add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide, "neg": np.negative}
"""Rows that an operator of Python's is for: numpy's functions, which may write over an operand."""


def function_of(key: str) -> Any:
    """The function of that key on arrays: one of the static graph's own, numpy's where a row only calls that, or the row's."""
    if key in OWN or key in NUMPYS:
        return OWN.get(key) or NUMPYS[key]
    code = ARRAYS[key].__code__
    is_numpys = code.co_names[:1] == ("np",) and any(code.co_code == call.__code__.co_code for call in CALLS.values())
    return getattr(np, code.co_names[1]) if is_numpys else ARRAYS[key]


def by_engine(key: str, args: tuple[Any, ...], place: int, which: tuple[int, ...], grads: tuple[Any, ...]) -> Any:
    """The derivative of a function with respect to one of its tensors, by the dynamic engine.

    Args:
        key: of the function.
        args: its arguments, arrays among them.
        place: which of the arrays the derivative is wanted for.
        which: the outputs that have a gradient.
        grads: those gradients.
    """
    nested = any(isinstance(v, Tensor) for v in leaves(args))  # the derivative of a derivative
    items: list[Any] = [from_array(np.asarray(v), None) if is_array(v) else v for v in leaves(args)]
    items = [v.detach() if isinstance(v, Tensor) and not v.requires_grad else v for v in items]
    tensors = [v for v in items if isinstance(v, Tensor)]
    if not tensors[place].requires_grad:
        tensors[place].requires_grad_()
    with enable_grad():
        out = (OWN[key] if key in OWN else TENSORS[key])(*refilled(args, iter(items)))
        outs = [out[i] for i in which] if isinstance(out, (tuple, list)) else [out]
        weights = [g if isinstance(g, Tensor) else from_array(np.asarray(g), None) for g in grads]
        pairs = [(o, g) for o, g in zip(outs, weights, strict=True) if o.requires_grad]
        found = None
        if pairs:
            ends, weights = map(list, zip(*pairs, strict=True))
            found = grad(ends, tensors[place], weights, create_graph=nested, allow_unused=True)[0]
    found = from_array(np.zeros_like(tensors[place]._array), None) if found is None else found
    return found if nested else found._array


OWN["vjp"] = by_engine
