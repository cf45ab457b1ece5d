"""Indexing: ``x[...]`` is taken apart into select, slice, unsqueeze and index, as PyTorch does."""

from __future__ import annotations

from typing import Any

import numpy as np

from gviz.engine.op import TENSORS, composite, op
from gviz.engine.tensor import Tensor, from_array
from gviz.engine.text import wrap_dim

INT64_MAX = 2**63 - 1


def at(dim, index):
    """A numpy index that acts on one dimension."""
    return (slice(None),) * dim + (index,)


@op(
    "SelectBackward0",
    view=True,
    self=lambda grad, self_sym_sizes, dim, index: select_backward(grad, self_sym_sizes, dim, index),
)
def select(self, dim, index):
    if self.ndim == 0:
        raise IndexError("select() cannot be applied to a 0-dim tensor.")
    axis = wrap_dim(dim, self.ndim)
    size = self.shape[axis]
    if not -size <= index < size:
        raise IndexError(f"index {index} is out of bounds for dimension {axis} with size {size}")
    return self[(*at(axis, index), ...)]


@op("SelectBackwardBackward0", grad_output=lambda grad, dim, index: select(grad, dim, index))
def select_backward(grad_output, input_sizes, dim, index):
    full = np.zeros(input_sizes, grad_output.dtype)
    full[at(wrap_dim(dim, full.ndim), index)] = grad_output
    return full


@op(
    "SliceBackward0",
    view=True,
    self=lambda grad, self_sym_sizes, dim, start, end, step: slice_backward(grad, self_sym_sizes, dim, start, end, step),
)
def slice_row(self, dim, start, end, step):
    if self.ndim == 0:
        raise RuntimeError("slice() cannot be applied to a 0-dim tensor.")
    if step <= 0:
        raise ValueError("step must be greater than zero")
    return self[at(wrap_dim(dim, self.ndim), slice(start, end, step))]


@op("SliceBackwardBackward0", grad_output=lambda grad, dim, start, end, step: slice_row(grad, dim, start, end, step))
def slice_backward(grad_output, input_sizes, dim, start, end, step):
    full = np.zeros(input_sizes, grad_output.dtype)
    full[at(wrap_dim(dim, full.ndim), slice(start, end, step))] = grad_output
    return full


@composite
def narrow(self, dim, start, length):
    """``length`` elements from ``start`` on."""
    return slice_row(self, dim, start, start + length, 1)


@op(
    "IndexBackward0",
    lists=(),
    hidden=(),
    self=lambda grad, indices, self_sym_sizes: index_put_impl(zeros_of(grad, self_sym_sizes), indices, grad, True),
)
def index(self, indices):
    return self[numpy_index(self, indices)]


@op(
    "IndexPutBackward0",
    self=lambda grad, indices, accumulate: index_put_backward(grad, indices, accumulate),
    values=lambda grad, indices, accumulate: index(grad, indices),
)
def index_put(self, indices, values, accumulate=False):
    return index_put_arrays(self, indices, values, accumulate)


def index_put_arrays(self, indices, values, accumulate):
    """A copy with values written, or added, at the indices."""
    result = np.array(self)
    where = numpy_index(self, indices)
    if accumulate:
        np.add.at(result, where, values)
    else:
        result[where] = values
    return result


@op(
    "IndexPutImplBackward0",
    self=lambda grad, indices, accumulate: index_put_backward(grad, indices, accumulate),
    values=lambda grad, indices: index(grad, indices),
)
def index_put_impl(self, indices, values, accumulate):
    return index_put_arrays(self, indices, values, accumulate)


@composite
def index_put_backward(grad, indices, accumulate):
    """The gradient, without what was overwritten."""
    return grad if accumulate else index_put(grad, indices, zeros_of(grad, ()), False)


def numpy_index(array, indices):
    """Numpy's index for a list of index tensors (None where a dimension is taken whole).

    Raises:
        IndexError: a mask or an index does not fit, in PyTorch's words.
    """
    found: list[Any] = []
    dim = 0
    for given in indices:
        item = None if given is None else given._array if isinstance(given, Tensor) else np.asarray(given)
        if item is None:
            found.append(slice(None))
            dim += 1
            continue
        if item.dtype.kind == "b":
            for offset, size in enumerate(item.shape):
                if dim + offset >= array.ndim or array.shape[dim + offset] != size:
                    raise IndexError(
                        f"The shape of the mask {list(item.shape)} at index {offset} does not match the shape of the "
                        "indexed tensor "
                        f"{list(array.shape)} at index {dim + offset}"
                    )
            dim += item.ndim
        else:
            size = array.shape[dim]
            if item.size and (item.max() >= size or item.min() < -size):
                bad = int(item.max() if item.max() >= size else item.min())
                raise IndexError(f"index {bad} is out of bounds for dimension {dim} with size {size}")
            dim += 1
        found.append(item)
    return tuple(found)


def get_item(self, key):
    """``x[key]``: ints select, slices slice, None adds a dimension, tensors and lists gather."""
    result, indices = views_of(self, key)
    if indices is None:
        return result if result is not self else TENSORS["alias"](self)
    return TENSORS["index"](result, indices)


def views_of(self: Any, key: Any) -> Any:
    """Apply the parts of a key that give views; what is left are index tensors, one per dimension, or None.

    Returns:
        (the tensor after views, a list of index tensors and None, or None where there are none)

    Raises:
        IndexError: too many indices, or an index that does not fit.
        TypeError: an index of a type that PyTorch does not take.
    """
    keys = list(key) if isinstance(key, tuple) else [key]
    keys = [as_index_tensor(k) if isinstance(k, list) else k for k in keys]
    taken = sum(indexed_dims(k) for k in keys)
    ndim = self._array.ndim
    if taken > ndim:
        if ndim == 0 and len(keys) == 1 and isinstance(keys[0], int):
            raise IndexError(
                "invalid index of a 0-dim tensor. Use `tensor.item()` in Python or `tensor.item<T>()` in C++ to convert "
                "a 0-dim tensor to a number"
            )
        raise IndexError(f"too many indices for tensor of dimension {ndim}")
    indices: list[Any] = []
    result, dim, advanced, selected = self, 0, False, 0
    for one in keys:
        if one is Ellipsis:
            skip = ndim - taken
            indices += [None] * skip
            dim += skip
        elif one is None:
            result = TENSORS["unsqueeze"](result, dim)
            indices.append(None)
            dim += 1
        elif isinstance(one, bool):
            result = TENSORS["unsqueeze"](result, dim)
            indices.append(from_array(np.array([0] if one else [], np.int64), None))
            advanced = True
            dim += 1
        elif (isinstance(one, Tensor) and one._array.ndim > 0) or (isinstance(one, Tensor) and one._array.dtype.kind == "b"):
            if one._array.dtype.kind not in "biu":
                raise IndexError("tensors used as indices must be long, int, byte or bool tensors")
            indices.append(one)
            advanced = True
            dim += max(one._array.ndim, 1) if one._array.dtype.kind == "b" else 1
        elif isinstance(one, slice):
            if (one.start, one.stop, one.step) != (None, None, None) or len(keys) == 1:
                start = 0 if one.start is None else int(one.start)
                stop = INT64_MAX if one.stop is None else int(one.stop)
                result = TENSORS["slice_row"](result, dim, start, stop, 1 if one.step is None else int(one.step))
            indices.append(None)
            dim += 1
        elif hasattr(one, "__index__"):
            result = select_at(result, dim, int(one.__index__()), dim + selected)
            selected += 1
        else:
            raise IndexError(
                "only integers, slices (`:`), ellipsis (`...`), None and long or byte Variables are valid indices "
                f"(got {type(one).__name__})"
            )
    return result, indices if advanced else None


def select_at(tensor, dim, position, original):
    """Select, refusing an index out of range with the dimension counted as the user did."""
    size = tensor._array.shape[dim]
    if not -size <= position < size:
        raise IndexError(f"index {position} is out of bounds for dimension {original} with size {size}")
    return TENSORS["select"](tensor, dim, position)


def as_index_tensor(items):
    """A list as an index tensor."""
    arrays = [i._array if isinstance(i, Tensor) else i for i in items]
    array = np.array(arrays) if arrays else np.array([], np.int64)
    return from_array(array, None)


def indexed_dims(key):
    """How many dimensions of the tensor a part of a key takes."""
    if key is None or key is Ellipsis or isinstance(key, bool):
        return 0
    if isinstance(key, Tensor) and key._array.dtype.kind == "b":
        return key._array.ndim
    return 1
