"""Elements read and written at places that an index tensor names along one dim: gather, scatter, scatter_add."""

from __future__ import annotations

import numpy as np

from gviz.engine.op import op
from gviz.engine.text import wrap_dim


def places(self, dim, index, src=None, name="scatter"):
    """Numpy's index for the elements of ``self`` that an index tensor names along a dim.

    Raises:
        RuntimeError: it does not fit the tensor or what is written, or names an element that does not exist.
    """
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
    if not self.ndim:
        return ()
    found = list(np.indices(index.shape, sparse=True))
    found[axis] = index
    return tuple(found)


def check_fit(shape, axis, index, src, name):
    """The index has as many dims as the tensor and what is written, and none larger but the one that is indexed.

    Raises:
        RuntimeError: it has not.
    """
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


@op(
    "GatherBackward0",
    nondiff=("index",),
    shows={"sparse_grad": False},
    self=lambda grad, dim, index, self: scatter_add(zeros_like(self), dim, index, grad),
)
def gather(self, dim, index):
    if not index.size:
        return np.zeros(index.shape, self.dtype)
    where = places(self, dim, index, name="gather")
    return self[where] if self.ndim else np.full(index.shape, self)


@op(
    "ScatterBackward0",
    nondiff=("index",),
    promote="none",
    self=lambda grad, dim, index: scatter_value(grad, dim, index, 0),
    src=lambda grad, dim, index: gather(grad, dim, index),
)
def scatter(self, dim, index, src):
    result, where = np.array(self), places(self, dim, index, src)
    if index.size:
        result[where] = src[tuple(slice(n) for n in index.shape)] if self.ndim else src.reshape(-1)[-1]
    return result


@op("ScatterBackward1", nondiff=("index",), promote="none", self=lambda grad, dim, index: scatter_value(grad, dim, index, 0))
def scatter_value(self, dim, index, value):
    result, where = np.array(self), places(self, dim, index)
    if index.size:
        result[where] = value
    return result


NOT_DIFFERENTIABLE = lambda grad: refuse_derivative("scatter")  # noqa: E731 - a formula


@op("NotImplemented", nondiff=("index",), promote="none", self=NOT_DIFFERENTIABLE, src=NOT_DIFFERENTIABLE)
def scatter_reduced(self, dim, index, src, reduce):
    ways = {"add": np.add, "multiply": np.multiply}
    if reduce not in ways:
        raise RuntimeError("reduce argument must be either add or multiply.")
    src = src if isinstance(src, np.ndarray) else np.full(index.shape, src, self.dtype)
    result, where = np.array(self), places(self, dim, index, src)
    if index.size:
        ways[reduce].at(result, where, src[tuple(slice(n) for n in index.shape)] if self.ndim else src.reshape(-1)[-1])
    return result


@op(
    "ScatterAddBackward0",
    nondiff=("index",),
    promote="none",
    self=lambda grad: grad,
    src=lambda grad, dim, index: gather(grad, dim, index),
)
def scatter_add(self, dim, index, src):
    result, where = np.array(self), places(self, dim, index, src)
    if index.size:
        np.add.at(result, where, src[tuple(slice(n) for n in index.shape)] if self.ndim else src.sum())
    return result
