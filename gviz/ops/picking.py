"""Elements by index or mask: index_select and its kin, masked_select, take.

Source: PyTorch's derivatives.yaml, and TensorAdvancedIndexing.cpp.
"""

from __future__ import annotations

from operator import setitem

import numpy as np

from gviz.ops.indexing import add_at, at
from gviz.ops.rows import broadcast_shape, check_one_dtype, composite, formula, number, of, op, refuse, row, wrap_dim


def check_index(self, dim, index, name):
    """Refuse an index that is not a vector of integers, or names a place that does not exist."""
    refuse(index.ndim > 1, f"{name}(): Index is supposed to be a vector", IndexError)
    refuse(index.dtype not in (np.int32, np.int64), f"{name}(): Expected dtype int32 or int64 for index")
    size = self.shape[wrap_dim(dim, self.ndim)] if self.ndim else 1
    refuse(index.size and (index.max() >= size or index.min() < 0), "index out of range in self", IndexError)

# ------------------------------------------------------------------ slices
@op("IndexSelectBackward0", "index_select", nondiff=("index",), promote="none",
    self="index_add(zeros_of(grad, self_sym_sizes), dim, index, grad)")
def index_select(self, dim: int, index):
    check_index(self, dim, index, "index_select")
    return np.take(self, index.reshape(-1), dim) if self.ndim else self.copy()

@composite
def picked(grad, dim, index, source, source_dim):
    """Return the gradient of what was written at an index."""
    if source_dim > 0:
        return expand(index_select(grad, dim, index), tuple(source.shape))
    return index_select(grad, dim, squeeze_dim(index, 0))

@op("IndexAddBackward0", "index_add .index_add_", nondiff=("index",), promote="none",
    self="grad", source="maybe_multiply(picked(grad, dim, index, source, source_dim), alpha)")
def index_add(self, dim: int, index, source, *, alpha: Number = 1):
    check_index(self, dim, index, "index_add_")
    check_one_dtype(self, source, "index_add_(): self ({}) and source ({}) must have the same scalar type")
    axis = wrap_dim(dim, self.ndim)
    refuse(source.ndim and self.ndim and np.delete(self.shape, axis).tolist() != np.delete(source.shape, axis).tolist(),
           "source tensor shape must match self tensor shape, excluding the specified dimension. "
           f"Got self.shape = {list(self.shape)} source.shape = {list(source.shape)}")
    refuse(index.size != (count := source.shape[axis] if source.ndim else 1),
           f"index_add_(): Number of indices ({index.size}) "
           f"should be equal to source.size(dim): ({count}), for dim: {axis}")
    return with_values(self, dim, index, source if alpha == 1 else source * number(alpha, source.dtype), add_at)

@op("IndexCopyBackward0", "index_copy .index_copy_", nondiff=("index",), promote="none",
    self="index_fill(grad, dim, index, 0)", source="picked(grad, dim, index, source, source_dim)")
def index_copy(self, dim: int, index, source):
    check_index(self, dim, index, "index_copy")
    check_one_dtype(self, source, "index_copy_(): self and source expected to have the same dtype, but got {} and {}")
    count = source.shape[wrap_dim(dim, self.ndim)] if source.ndim and self.ndim else 1
    refuse(index.size != count,
           f"index_copy_(): Number of indices ({index.size}) should be equal to source.size(dim) ({count})", IndexError)
    return with_values(self, dim, index, source)

def check_filled(self, index, value=None):
    refuse(index.dtype != np.int64, "index_fill_(): Expected dtype int64 for index.", IndexError)
    refuse(index.ndim > 1, "index_fill_(): Index has to be a vector/scalar")

row("index_fill", "IndexFillBackward0", lambda self, dim, index, value:
    with_values(self, dim, index, number(value, self.dtype)),
    "index_fill .index_fill_", nondiff=("index",), promote="none", rounding="none", check=check_filled,
    self="index_fill(grad, dim, index, 0)")
row("index_fill_tensor", "IndexFillBackward1", lambda self, dim, index, value: with_values(self, dim, index, value),
    "index_fill .index_fill_", nondiff=("index",), promote="none", check=check_filled,
    self="index_fill(grad, dim, index, 0)", value="sum_all(index_select(grad, dim, distinct(index)))")

def with_values(self, dim, index, value, join=setitem):
    """Return a copy with values written at an index, or joined to those that are there."""
    result = self.copy()
    flat = np.atleast_1d(result)
    join(flat, at(wrap_dim(dim, flat.ndim), index.reshape(-1)), value)
    return result

row("distinct", None, lambda self: np.unique(self), nondiff=("self",))

# ------------------------------------------------------------------ masks
@op("MaskedSelectBackward0", "masked_select", nondiff=("mask",), promote="none",
    self="masked_scatter(zeros_of(grad, broadcast_shape(self.shape, mask.shape)), mask, grad)")
def masked_select(self, mask):
    refuse(mask.dtype.kind != "b", "masked_select: expected BoolTensor for mask")
    shape = broadcast_shape(mask.shape, self.shape)
    return np.broadcast_to(self, shape)[np.broadcast_to(mask, shape)]

@op("MaskedScatterBackward0", "masked_scatter .masked_scatter_", nondiff=("mask",), promote="none",
    self="masked_fill(grad, mask, 0)", source="masked_scatter_source(grad, mask, source_sym_sizes)")
def masked_scatter(self, mask, source):
    check_one_dtype(self, source, "masked_scatter: expected self and source to have same dtypes but got{} and {}")
    refuse(mask.dtype.kind != "b",
           f"masked_scatter_ only supports boolean masks, but got mask with dtype {of(mask.dtype).scalar_name}")
    shape = broadcast_shape(mask.shape, self.shape)
    mask, result = np.broadcast_to(mask, shape), np.broadcast_to(self, shape).copy()
    refuse(mask.sum() > source.size, "Number of elements of source < number of ones in mask")
    result[mask] = source.reshape(-1)[: mask.sum()]
    return result

@op("MaskedScatterBackwardBackward0", nondiff=("mask",), promote="none", hidden=("grad_output_sym_sizes",),
    grad_output="masked_scatter(zeros_of(grad, grad_output_sym_sizes), mask, grad)")
def masked_scatter_source(grad_output, mask, sizes):
    full = np.zeros(sizes, grad_output.dtype)
    values = grad_output[np.broadcast_to(mask, grad_output.shape)]
    full.flat[: values.size] = values
    return full

# ------------------------------------------------------------------ places among all elements
def check_places(name):
    """Return the check that an index has int64, and names places that exist among all elements."""
    def check(self, index, source=None):
        refuse(index.dtype != np.int64,
               f"{name}(): Expected a long tensor for index, but got {of(index.dtype).scalar_name}")
        if (wrong := index[(index >= self.size) | (index < -self.size)]).size:
            raise IndexError(f"out of range: tried to access index {wrong[0]} on a tensor of {self.size} elements.")
    return check

row("take", "TakeBackward0", lambda self, index: self.reshape(-1)[index],
    "take", check=check_places("take"), nondiff=("index",), promote="none",
    self="put(zeros_like(self), index, grad, True)")

@op("PutBackward0", "put .put_", check=check_places("put_"), nondiff=("index",), promote="none", hidden=("source_sym_sizes",),
    self="put_backward(grad, index, source_sym_sizes, accumulate)", source="reshape(take(grad, index), tuple(source.shape))")
def put(self, index, source, accumulate: bool = False):
    refuse(index.size != source.size, "put_(): Expected source and index to have the same number of elements, but got "
           f"source.numel() = {source.size}, index.numel() = {index.size}", IndexError)
    check_one_dtype(self, source, "put_(): self and source expected to have the same dtype, but got {} and {}")
    flat = self.reshape(-1).copy()
    (np.add.at if accumulate else setitem)(flat, index.reshape(-1), source.reshape(-1))
    return flat.reshape(self.shape)

# the gradient without what was overwritten
formula("put_backward", lambda grad, index, sizes, accumulate:
    grad if accumulate else put(grad, index, zeros_of(grad, sizes), False))
