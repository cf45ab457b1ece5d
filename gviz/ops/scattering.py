"""Elements read and written at places that an index tensor names along one dim: gather, scatter and what joins there."""

from __future__ import annotations

from operator import setitem

import numpy as np

from gviz.numbers.dtypes import number
from gviz.numbers.shapes import wrap_dim
from gviz.numbers.words import warn
from gviz.autograd.row import composite, op
from gviz.ops.picking import along, check_added


def lined(array):
    """A number as one element along a dim; anything else as it is."""
    return array if array.ndim else array.reshape(1)


def places(self, dim, index, src=None, name="scatter"):
    """Numpy's index for the elements of ``self`` that an index tensor names along a dim; refuses one that does not fit."""
    axis = wrap_dim(dim, self.ndim)
    if index.size and index.dtype.kind != "i":
        raise RuntimeError(f"{name}(): Expected dtype int32/int64 for index")
    if src is not None and src.dtype != self.dtype:
        raise RuntimeError("scatter(): Expected self.dtype to be equal to src.dtype")
    if not index.size:
        return ()
    check_fit(self.shape or (1,), axis, index.shape or (1,), None if src is None else src.shape or (1,), name)
    size = self.shape[axis] if self.ndim else 1
    if index.min() < 0 or index.max() >= size:
        wrong = index[(index < 0) | (index >= size)].flat[0]
        raise RuntimeError(f"index {wrong} is out of bounds for dimension {axis} with size {size}")
    index = lined(index)
    found = list(np.indices(index.shape, sparse=True))
    found[axis] = index
    return tuple(found)


def check_fit(shape, axis, index, src, name):
    """Refuse an index with other dims than the tensor and what is written, or with larger ones but for the one indexed."""
    whose = "input" if name == "gather" else "self"
    if len(index) != len(shape):
        raise RuntimeError(f"Index tensor must have the same number of dimensions as {whose} tensor")
    if src is not None and len(index) != len(src):
        raise RuntimeError("Index tensor must have the same number of dimensions as src tensor")
    large = [d for d, n in enumerate(index) if (d != axis and n > shape[d]) or (src is not None and n > src[d])]
    if large and name == "gather":
        raise RuntimeError(
            f"Size does not match at dimension {large[0]} expected index {list(index)} to be no larger than self {list(shape)} "
            f"apart from dimension {axis}"
        )
    if large:
        rest = "" if src is None else f" and to be no larger size than src {list(src)}"
        raise RuntimeError(
            f"Expected index {list(index)} to be no larger than self {list(shape)} apart from dimension {axis}{rest}"
        )


def joined(self, dim, index, src, join):
    """A copy to which elements, or one number, have been joined at the places that an index tensor names along a dim."""
    result, where = np.array(self, order="C"), places(self, dim, index, src if isinstance(src, np.ndarray) else None)
    if index.size:
        join(lined(result), where, used(src, index) if isinstance(src, np.ndarray) else src)
    return result


def used(src, index):
    """The elements that an index has a place for."""
    return lined(src)[tuple(map(slice, lined(index).shape))]


@op("GatherBackward0", nondiff=("index",), shows={"sparse_grad": False}, self="scatter_add(zeros_like(self), dim, index, grad)")
def gather(self, dim, index):
    if not index.size:
        return np.zeros(index.shape, self.dtype)
    where = places(self, dim, index, name="gather")
    return np.asarray(lined(self)[where], order="C").reshape(index.shape)


@op(
    "ScatterBackward0",
    nondiff=("index",),
    promote="none",
    self="scatter_value(grad, dim, index, 0)",
    src="gather(grad, dim, index)",
)
def scatter(self, dim, index, src):
    return joined(self, dim, index, src, setitem)


@op("ScatterBackward1", nondiff=("index",), promote="none", self="scatter_value(grad, dim, index, 0)")
def scatter_value(self, dim, index, value):
    return joined(self, dim, index, number(value, self.dtype, half=True), setitem)


NOT_DIFFERENTIABLE = 'refuse_derivative("scatter")'


@op("NotImplemented", nondiff=("index",), promote="none", self__src=NOT_DIFFERENTIABLE)
def scatter_reduced(self, dim, index, src, reduce):
    ways = {"add": np.add, "multiply": np.multiply}
    if reduce not in ways:
        raise RuntimeError("reduce argument must be either add or multiply.")
    return joined(self, dim, index, src if isinstance(src, np.ndarray) else self.dtype.type(src), ways[reduce].at)


@op("ScatterAddBackward0", nondiff=("index",), promote="none", self="grad", src="gather(grad, dim, index)")
def scatter_add(self, dim, index, src):
    return joined(self, dim, index, src, np.add.at)


@op(
    "ScatterReduceBackward0",
    nondiff=("index",),
    self__src="reduced_backward(grad, self, dim, index, src, reduce, include_self, result, True)",
)
def scatter_reduce(self, dim, index, src, reduce, include_self=True):
    if reduce not in START:
        raise RuntimeError(f"reduce argument must be either sum, prod, mean, amax or amin, got {reduce}")
    where = places(self, dim, index, src)
    return reduced(self, where, used(src, index), reduce, include_self) if index.size else np.array(self, order="C")


@op(
    "IndexReduceBackward0",
    nondiff=("index",),
    self__source="reduced_backward(grad, self, dim, index, source, reduce, include_self, result, False)",
)
def index_reduce(self, dim, index, source, reduce, include_self=True):
    if reduce not in START or reduce == "sum":
        raise RuntimeError(f"index_reduce(): Expected reduce to be one of prod, mean, amax or amin but got {reduce}.")
    warn("index_reduce() is in beta and the API may change at any time.")
    check_added(self, dim, index, source, "index_reduce")
    flat = index.reshape(-1)
    return (
        reduced(self, along(lined(self), dim, flat), source, reduce, include_self) if flat.size else np.array(self, order="C")
    )


def reduced(self, where, src, reduce, include_self):
    """A copy to whose elements at places others have been joined."""
    result = np.array(self, order="C")
    apply, start = START[reduce]
    flat = lined(result)
    if not include_self:
        flat[where] = start if np.isfinite(start) or self.dtype.kind == "f" else limit(self.dtype, start)
    apply.at(flat, where, src)
    if reduce == "mean":
        count = np.full_like(flat, include_self, dtype=np.int64)
        np.add.at(count, where, 1)
        count = np.maximum(count, 1).reshape(self.shape)
        return result / count.astype(self.dtype) if self.dtype.kind == "f" else (result // count).astype(self.dtype)
    return result


START = {"sum": (np.add, 0), "mean": (np.add, 0), "prod": (np.multiply, 1), "amax": (np.maximum, -np.inf),
         "amin": (np.minimum, np.inf)}  # fmt: skip
"""What joins elements that go to one place, and what an element is where the tensor's own does not count."""


def limit(dtype, start):
    """The least or largest integer, or truth value."""
    if dtype.kind == "b":
        return start > 0
    return np.iinfo(dtype).max if start > 0 else np.iinfo(dtype).min


@composite
def picked_by(value, dim, index, each):
    """The elements at places: of each element of the index, or whole slices."""
    return gather(value, dim, index) if each else index_select(value, dim, index)


@composite
def added_by(value, dim, index, src, each):
    """A value to which others have been added at places."""
    return scatter_add(value, dim, index, src) if each else index_add(value, dim, index, src)


@composite
def reduced_backward(grad, self, dim, index, src, reduce, include_self, result, each):
    """The gradients of both sides: shared among the elements that went into a mean or that equal an extreme."""
    if reduce == "sum":
        own, other = grad, gather(grad, dim, index)
    elif reduce == "mean":
        count = added_by(whole(grad, include_self), dim, index, whole(src, True), each)
        count = masked_fill(count, equal(count, 0), 1)
        own, other = grad / count, picked_by(grad, dim, index, each) / picked_by(count, dim, index, each)
    elif reduce == "prod":
        own, other = reduced_prod_backward(grad, self, dim, index, src, include_self, result, each)
    else:
        value = picked_by(result, dim, index, each)
        ours, theirs = equal(self, result), equal(src, value)
        count = added_by(counted(ours, self), dim, index, counted(theirs, self), each)
        if not each:
            ours, theirs = counted(ours, self), counted(theirs, self)
        shares = grad / count
        own, other = ours * shares, theirs * picked_by(shares, dim, index, each)
    if not include_self:
        own = scatter_value(own, dim, index, 0) if each else index_fill(own, dim, index, 0)
    return own, other


@composite
def reduced_prod_backward(grad, self, dim, index, src, include_self, result, each):
    """The product of all others; the one zero that goes to a place has the product of the rest, computed without it."""
    kept = masked_fill(self, equal(self, 0), 1)
    own = grad * reduced_by(kept, dim, index, src, include_self, each) / kept
    zero = equal(src, 0)
    zeros = picked_by(added_by(zeros_like(self), dim, index, counted(zero, self), each), dim, index, each)
    single = logical_and(zero, equal(zeros, 1))
    rest = reduced_by(self, dim, index, masked_fill(src, single, 1.0), include_self, each)
    divisor = masked_fill(src, zero, 1.0)
    others = picked_by(grad * result, dim, index, each) / divisor
    return own, where(single, picked_by(grad * rest, dim, index, each), others)


@composite
def reduced_by(self, dim, index, src, include_self, each):
    """The product with what goes to each place."""
    return (scatter_reduce if each else index_reduce)(self, dim, index, src, "prod", include_self)
