"""Elements read and written at places that an index tensor names along one dim: gather, scatter and what joins there.

Source: PyTorch's derivatives.yaml, and TensorAdvancedIndexing.cpp.
"""

from __future__ import annotations

from math import prod
from operator import setitem

import numpy as np

from gviz.ops.rows import composite, number, op, refuse, row, warn_once, wrap_dim


def places(self, dim, index, src=None, name="scatter"):
    """Return the numbers, among all elements, of those that an index tensor names along a dim; refuse one that does not fit."""
    axis, index = wrap_dim(dim, self.ndim), np.atleast_1d(index)
    refuse(index.dtype not in (np.int32, np.int64), f"{name}(): Expected dtype int32/int64 for index")
    refuse(src is not None and src.dtype != self.dtype, "scatter(): Expected self.dtype to be equal to src.dtype")
    check_fit(self.shape or (1,), axis, index.shape, None if src is None else src.shape or (1,), name)
    size = self.shape[axis] if self.ndim else 1
    if index.min() < 0 or index.max() >= size:
        wrong = index[(index < 0) | (index >= size)][0]
        raise RuntimeError(f"index {wrong} is out of bounds for dimension {axis} with size {size}")
    numbers = np.arange(self.size).reshape(self.shape or (1,))
    first = numbers[tuple(slice(1 if d == axis else n) for d, n in enumerate(index.shape))]
    return (first + index * prod(numbers.shape[axis + 1 :])).reshape(-1)

def check_fit(shape, axis, index, src, name):
    """Refuse an index with other dims than the tensor and what is written, or with larger ones but for the one indexed."""
    for whose, sizes in (("input" if name == "gather" else "self", shape), ("src", src or index)):
        refuse(len(index) != len(sizes), f"Index tensor must have the same number of dimensions as {whose} tensor")
    large = [d for d, n in enumerate(index) if (d != axis and n > shape[d]) or (src and n > src[d])]
    if large:
        where = f"Size does not match at dimension {large[0]} expected" if name == "gather" else "Expected"
        raise RuntimeError(
            f"{where} index {list(index)} to be no larger than self {list(shape)} apart from dimension {axis}"
            + (f" and to be no larger size than src {list(src)}" if src else ""))

def joined(self, dim, index, src, join=None):
    """Return a copy to which elements, or one number, are joined at the places that an index tensor names along a dim."""
    refuse(join not in JOINS, "reduce argument must be either add or multiply.")
    result, several = self.copy(), isinstance(src, np.ndarray)
    if index.size:
        where = places(self, dim, index, src if several else None)
        JOINS[join](result.reshape(-1), where, elements_for(src, index) if several else src)
    return result

JOINS: Any = {None: setitem, "add": np.add.at, "multiply": np.multiply.at}
"""The functions that join elements to those that are there."""

def elements_for(src, index):
    """Return the elements that an index has a place for, one after the other."""
    return np.atleast_1d(src)[tuple(map(slice, index.shape or (1,)))].reshape(-1)

@op("GatherBackward0", "gather", nondiff=("index",), promote="none", saves=("sparse_grad",),
    self="scatter_add(zeros_like(self), dim, index, grad)")
def gather(self, dim: int, index, *, sparse_grad: bool = False):
    where = places(self, dim, index, name="gather") if index.size else np.empty(0, np.int64)
    return self.reshape(-1)[where].reshape(index.shape)

TAKEN, EMPTIED = "gather(grad, dim, index)", "scatter_value(grad, dim, index, 0)"

row("scatter", "ScatterBackward0", lambda self, dim, index, src: joined(self, dim, index, src),
    "scatter .scatter_", nondiff=("index",), promote="none", self=EMPTIED, src=TAKEN)
@op("NotImplemented", "scatter .scatter_", nondiff=("index",), promote="none", self__src='refuse_derivative("scatter")')
def scatter_joined(self, dim, index, src, *, reduce: str):
    warn_once("The reduce argument of torch.scatter with Tensor src is deprecated and will be removed in a future PyTorch "
              "release. Use torch.scatter_reduce instead for more reduction options.")
    return joined(self, dim, index, src, reduce)

row("scatter_value", "ScatterBackward1", lambda self, dim, index, value:
    joined(self, dim, index, number(value, self.dtype)),
    "scatter .scatter_", nondiff=("index",), promote="none", rounding="none", self=EMPTIED)
@op("NotImplemented", "scatter .scatter_", nondiff=("index",), promote="none", self='refuse_derivative("scatter")')
def scatter_value_joined(self, dim, index, value, *, reduce: str):
    return joined(self, dim, index, number(value, self.dtype), reduce)

row("scatter_add", "ScatterAddBackward0", lambda self, dim, index, src: joined(self, dim, index, src, "add"),
    "scatter_add .scatter_add_", nondiff=("index",), promote="none", self="grad", src=TAKEN)

@composite("take_along_dim")
def take_along_dim(self: Tensor, indices: Tensor, dim: int | None = None):
    """Return the elements at places along a dim; all other dims are broadcast, and negative places count from the end."""
    if dim is None:
        return gather(view(self, (-1,)), 0, view(indices, (-1,)))
    dim = wrap_dim(dim, self.ndim)
    indices = where(less(indices, 0), add(indices, self.shape[dim]), indices)
    full = broadcast_shape(*((*v.shape[:dim], 1, *v.shape[dim + 1 :]) for v in (self, indices)))
    ours, theirs = (expand(v, (*full[:dim], v.shape[dim], *full[dim + 1 :])) for v in (self, indices))
    return gather(ours, dim, theirs)

# ------------------------------------------------------------------ scatter_reduce
@op("ScatterReduceBackward0", "scatter_reduce .scatter_reduce_", nondiff=("index",), promote="none",
    self__src="reduced_backward(grad, self, dim, index, src, reduce, include_self, result)")
def scatter_reduce(self, dim: int, index, src, reduce: str, *, include_self: bool = True):
    refuse(reduce not in START, f"reduce argument must be either sum, prod, mean, amax or amin, got {reduce}")
    result = self.copy()
    if not index.size:
        return result
    where, flat, (join, start) = places(self, dim, index, src), result.reshape(-1), START[reduce]
    if not include_self:
        whole = self.dtype.kind in "iu" and reduce in ("amax", "amin")
        flat[where] = getattr(np.iinfo(self.dtype), "min" if reduce == "amax" else "max") if whole else start
    join.at(flat, where, elements_for(src, index))
    if reduce != "mean":
        return result
    count = np.maximum(np.bincount(where, minlength=self.size) + include_self, 1).reshape(self.shape)
    return result / count.astype(self.dtype) if self.dtype.kind == "f" else result // count

START = {"sum": (np.add, 0), "mean": (np.add, 0), "prod": (np.multiply, 1), "amax": (np.maximum, -np.inf),
    "amin": (np.minimum, np.inf)}
"""The function that joins elements that go to one place, and what an element is where the tensor's own does not count."""

@composite
def reduced_backward(grad, self, dim, index, src, reduce, include_self, result):
    """Return the gradients of both sides: shared among the elements that went into a mean or that equal an extreme."""
    if reduce == "sum":
        own, other = grad, gather(grad, dim, index)
    elif reduce == "mean":
        count = scatter_add(whole(grad, include_self), dim, index, whole(src, True))
        count = masked_fill(count, equal(count, 0), 1)
        own, other = grad / count, gather(grad, dim, index) / gather(count, dim, index)
    elif reduce == "prod":
        own, other = reduced_prod_backward(grad, self, dim, index, src, include_self, result)
    else:
        ours, theirs = equal(self, result), equal(src, gather(result, dim, index))
        shares = grad / scatter_add(counted(ours, self), dim, index, counted(theirs, self))
        own, other = ours * shares, theirs * gather(shares, dim, index)
    return own if include_self else scatter_value(own, dim, index, 0), other

@composite
def reduced_prod_backward(grad, self, dim, index, src, include_self, result):
    """Return the product of all others; the one zero that goes to a place has the product of the rest, computed without it."""
    without_zeros = masked_fill(self, equal(self, 0), 1)
    own = grad * scatter_reduce(without_zeros, dim, index, src, "prod", include_self) / without_zeros
    zero = equal(src, 0)
    zeros = gather(scatter_add(zeros_like(self), dim, index, counted(zero, self)), dim, index)
    single = logical_and(zero, equal(zeros, 1))
    rest = scatter_reduce(self, dim, index, masked_fill(src, single, 1.0), "prod", include_self)
    others = gather(grad * result, dim, index) / masked_fill(src, zero, 1.0)
    others = where(single, gather(grad * rest, dim, index), others)
    if any_of(greater(zeros, 1)):
        reason = "when >1 zeros in src are scattered to the same position in self"
        others = delayed_error([others], f"scatter_reduce(): Double backward is unsupported for src {reason}")[0]
    return own, others
