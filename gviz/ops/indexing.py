"""Indexing: select, slice, index, index_put. How a key in brackets becomes calls of them: ``engine/indexing.py``.

Source: PyTorch's derivatives.yaml, and TensorAdvancedIndexing.cpp.
"""

from __future__ import annotations

from operator import setitem
from typing import Any

import numpy as np

from gviz.ops.rows import (
    alike,
    check_one_dtype,
    composite,
    formula,
    op,
    public_names,
    refuse,
    row,
    wrap_dim,
)


def at(dim, index):
    """Return numpy's index that acts on one dimension; with an ellipsis, by which one element is an array too."""
    return (slice(None),) * dim + (index, ...)

# ------------------------------------------------------------------ parts along one dimension
@op("SelectBackward0", "select", view=True, self="select_backward(grad, self_sym_sizes, dim, index)")
def select(self, dim: int, index: int):
    refuse(not self.ndim, "select() cannot be applied to a 0-dim tensor.", IndexError)
    axis = wrap_dim(dim, self.ndim)
    if not -self.shape[axis] <= index < self.shape[axis]:
        raise IndexError(f"select(): index {index} out of range for tensor of size {list(self.shape)} at dimension {axis}")
    return self[at(axis, index)]

row("slice_row", "SliceBackward0", lambda self, dim, start, end, step:
    self[at(wrap_dim(dim, self.ndim), slice(start, end, step))],
    view=True, self="slice_gradient(grad, self_sym_sizes, dim, start, end, step)")

def embed(part, sizes, dim, index):
    """Return zeros with a part written at an index of one dimension."""
    full = np.zeros_like(part, order="C", shape=sizes)
    full[at(wrap_dim(dim, full.ndim), index)] = part
    return full

row("select_backward", "SelectBackwardBackward0", lambda grad_output, input_sizes, dim, index:
    embed(grad_output, input_sizes, dim, index), grad_output="select(grad, dim, index)")
row("slice_backward", "SliceBackwardBackward0", lambda grad_output, input_sizes, dim, start, end, step:
    embed(grad_output, input_sizes, dim, slice(start, end, step)), grad_output="slice_row(grad, dim, start, end, step)")

formula("slice_gradient", lambda grad, sizes, dim, start, end, step:  # an end that was not given is the largest number
    slice_backward(grad, sizes, dim, start or 0, 2**63 - 1 if end is None else end, step))

@composite("narrow")
def narrow(self: Tensor, dim: int, start: int, length: int):
    """Return ``length`` elements from ``start`` on."""
    refuse(not self.shape, "narrow() cannot be applied to a 0-dim tensor.")
    size = self.shape[wrap_dim(dim, len(self.shape))]
    refuse(not -size <= start <= size,
           f"start out of range (expected to be in range of [{-size}, {size}], but got {start})", IndexError)
    start = start + size if start < 0 else start
    refuse(length < 0 or start + length > size, f"start ({start}) + length ({length}) exceeds dimension size ({size}).")
    return slice_row(self, dim, start, start + length, 1)

@public_names(".__delitem__")
def delete(*arguments: object):
    raise TypeError("Tensor does not support deleting items")

# ------------------------------------------------------------------ places that tensors name
def add_at(array, where, values):
    """Add values at places, at each as often as it is named, like ``np.add.at``; many rows or elements in less of its time."""
    where = where if isinstance(where, tuple) else (where,)
    indices = [one for one in where if isinstance(one, np.ndarray) and one.dtype.kind in "iu"]
    count = indices[0].size if len(indices) == len(where) else 0
    if count < MANY or array.dtype.kind != "f" or len(where) not in (1, array.ndim) or not array.flags.c_contiguous:
        np.add.at(array, where, values)
    elif len(where) == array.ndim:
        flat = np.ravel_multi_index(np.broadcast_arrays(*indices), array.shape, mode="wrap")
        np.add.at(array.reshape(-1), flat.reshape(-1), np.broadcast_to(values, flat.shape).reshape(-1))
    else:  # the rows in their places' order, each place's rows added up; numpy sorts small integers in linear time
        index = indices[0].reshape(-1) % len(array)
        order = np.argsort(index.astype(np.min_scalar_type(len(array))), kind="stable")
        index, rows = index[order], np.broadcast_to(values, (*indices[0].shape, *array.shape[1:]))
        begins = np.flatnonzero(np.diff(index, prepend=-1))
        array[index[begins]] += np.add.reduceat(rows.reshape(count, *array.shape[1:])[order], begins, 0)

MANY = 256

def in_rows(array):
    """Return an array that lies in memory in the order of its indices, with such steps along dims of size 1 too."""
    return np.array(array, order="C", copy=1 in array.shape or None, subok=True)

row("index", "IndexBackward0", lambda self, indices: in_rows(self[numpy_index(self, indices)]),
    nondiff=("indices",), lists=("indices",),
    self="index_put_impl(zeros_of(grad, self_sym_sizes), indices, grad, True)")

@op("IndexPutBackward0", "index_put index_put_", nondiff=("indices",), lists=("indices",), promote="none",
    self="index_put_backward(grad, indices, accumulate)", values="index(grad, indices)")
def index_put(self, indices, values, accumulate: bool = False):
    result, where = self.copy("K"), numpy_index(self, indices)
    check_source(self, indices, values, np.broadcast_to(False, self.shape)[where].shape)
    (add_at if accumulate else setitem)(result, where, values)
    return result

alike("index_put_impl", "IndexPutImplBackward0", "index_put")

formula("index_put_backward", lambda grad, indices, accumulate:
    grad if accumulate else index_put(grad, indices, zeros_of(grad, ()), False))

def check_source(array, indices, values, shape):
    """Refuse to write values of another dtype (but one number into a mask), or those that do not broadcast to the places."""
    sizes = values.shape
    refuse(len(sizes) > len(shape) or any(n not in (1, want) for n, want in zip(sizes[::-1], shape[::-1], strict=False)),
           f"shape mismatch: value tensor of shape {list(sizes)} cannot be broadcast to indexing result of "
           f"shape {list(shape)}")
    one_mask = [index.dtype.kind for index in indices if index is not None] == ["b"]
    if not (values.size == 1 and one_mask):
        check_one_dtype(array, values, "Index put requires the source and destination dtypes match, got {} for the destination "
                        "and {} for the source.")

def numpy_index(array, indices):
    """Return numpy's index for index arrays, one for each dimension (None takes it whole); masks are turned into positions."""
    where: list[Any] = []
    for index in indices:
        if index is None:
            where.append(slice(None))
        elif index.dtype.kind == "b":
            check_mask(array, index, len(where))
            where += np.nonzero(index)
        elif index.dtype not in (np.int64, np.int32):
            raise IndexError("tensors used as indices must be long, int, byte or bool tensors")
        else:
            where.append(index)
    check_positions([(index, size) for index, size in zip(where, array.shape, strict=False) if not isinstance(index, slice)])
    return tuple(where)

def check_mask(array, mask, dim):
    """Refuse a mask whose sizes are not those of the dimensions that it is for."""
    for offset, size in enumerate(mask.shape):
        refuse(array.shape[dim + offset : dim + offset + 1] != (size,),
               f"The shape of the mask {list(mask.shape)} at index {offset} does not match the shape of the "
               f"indexed tensor {list(array.shape)} at index {dim + offset}", IndexError)

def check_positions(indexed):
    """Refuse indices that do not broadcast together, or lie outside of their dimensions, counted among the indexed."""
    shapes = [index.shape for index, _ in indexed]
    try:
        count = np.prod(np.broadcast_shapes(*shapes))
    except ValueError:
        text = "shape mismatch: indexing tensors could not be broadcast together with shapes "
        raise IndexError(text + ", ".join(str(list(shape)) for shape in shapes)) from None
    for dim, (index, size) in enumerate(indexed):
        if count and (index.max() >= size or index.min() < -size):
            wrong = index[(index >= size) | (index < -size)][0]
            raise IndexError(f"index {wrong} is out of bounds for dimension {dim} with size {size}")
