"""The rows of indexing: select, slice, index, index_put. How a key becomes calls of them: ``surface/indexing.py``."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided as strided

from gviz.numbers.dtypes import of
from gviz.numbers.shapes import wrap_dim
from gviz.autograd.row import ARRAYS, composite, everywhere, op
from gviz.ops.rows import alike


def at(dim, index):
    """A numpy index that acts on one dimension."""
    return (slice(None),) * dim + (index,)


@op("SelectBackward0", view=True, self="select_backward(grad, self_sym_sizes, dim, index)")
def select(self, dim, index):
    if self.ndim == 0:
        raise IndexError("select() cannot be applied to a 0-dim tensor.")
    axis = wrap_dim(dim, self.ndim)
    size = self.shape[axis]
    if not -size <= index < size:
        raise IndexError(f"select(): index {index} out of range for tensor of size {list(self.shape)} at dimension {axis}")
    return self[(*at(axis, index), ...)]


@op("SelectBackwardBackward0", grad_output="select(grad, dim, index)")
def select_backward(grad_output, input_sizes, dim, index):
    full = np.zeros(input_sizes, grad_output.dtype)
    full[at(wrap_dim(dim, full.ndim), index)] = grad_output
    return full


@op("SliceBackward0", view=True, self="slice_gradient(grad, self_sym_sizes, dim, start, end, step)")
def slice_row(self, dim, start, end, step):
    if self.ndim == 0:
        raise RuntimeError("slice() cannot be applied to a 0-dim tensor.")
    return self[at(wrap_dim(dim, self.ndim), slice(start, end, step))]


@composite
def slice_gradient(grad, sizes, dim, start, end, step):
    """The gradient of a part, in its place among zeros; to the end is as far as can be."""
    return slice_backward(grad, sizes, dim, start or 0, 2**63 - 1 if end is None else end, step)


@op("SliceBackwardBackward0", grad_output="slice_row(grad, dim, start, end, step)")
def slice_backward(grad_output, input_sizes, dim, start, end, step):
    full = np.zeros(input_sizes, grad_output.dtype)
    full[at(wrap_dim(dim, full.ndim), slice(start, end, step))] = grad_output
    return full


def in_part(self, src, view, *where: Any):
    """A copy of which a part has been written: the one that a row gives a view of."""
    result = np.array(self, order="C")
    part = ARRAYS[view](result, *where)
    if src.shape != part.shape:
        raise RuntimeError(
            f"expected src to have a size equal to the slice of self. src size = {list(src.shape)}, slice size = "
            f"{list(part.shape)}"
        )
    part[...] = src
    return result


@op(
    "SelectScatterBackward0",
    promote="none",
    self="select_scatter(grad, zeros_like(select(grad, dim, index)), dim, index)",
    src="select(grad, dim, index)",
)
def select_scatter(self, src, dim, index):
    return in_part(self, src, "select", dim, index)


@op(
    "SliceScatterBackward0",
    promote="none",
    self="slice_scatter(grad, zeros_like(slice_row(grad, dim, start, end, step)), dim, start, end, step)",
    src="slice_row(grad, dim, start, end, step)",
)
def slice_scatter(self, src, dim=0, start=None, end=None, step=1):
    return in_part(self, src, "slice_row", dim, start, end, step)


@op(
    "DiagonalScatterBackward0",
    promote="none",
    self="diagonal_scatter(grad, zeros_like(diagonal(grad, offset, dim1, dim2)), offset, dim1, dim2)",
    src="diagonal(grad, offset, dim1, dim2)",
)
def diagonal_scatter(self, src, offset=0, dim1=0, dim2=1):
    return in_part(self, src, "diagonal", offset, dim1, dim2)


@composite
def narrow(self, dim, start, length):
    """``length`` elements from ``start`` on."""
    start = first_of(self.shape, dim, getattr(start, "_array", start), length)
    return slice_row(self, dim, start, start + length, 1)


@op("NarrowCopyBackward0", self="slice_gradient(grad, self_sym_sizes, dim, start, start + length, 1)")
def narrow_copy(self, dim, start, length):
    start = first_of(self.shape, dim, start, length)
    return self[at(wrap_dim(dim, self.ndim), slice(start, start + length))].copy()


@everywhere
def first_of(shape, dim, start, length):
    """Where a narrowed part begins, counted from 0; refuses one that begins or ends outside."""
    if isinstance(start, np.ndarray):
        if start.ndim or start.dtype.kind not in "iu":
            raise RuntimeError("start must be an 0-dim integral Tensor.")
        start = int(start)
    if not shape:
        raise RuntimeError("narrow() cannot be applied to a 0-dim tensor.")
    if length < 0:
        raise RuntimeError("narrow(): length must be non-negative.")
    size = shape[wrap_dim(dim, len(shape))]
    if not -size <= start <= size:
        raise IndexError(f"start out of range (expected to be in range of [{-size}, {size}], but got {start})")
    start = start + size if start < 0 else start
    if start + length > size:
        raise RuntimeError(f"start ({start}) + length ({length}) exceeds dimension size ({size}).")
    return start


@op(
    "IndexBackward0",
    nondiff=("indices",),
    lists=("indices",),
    self="index_put_impl(zeros_of(grad, self_sym_sizes), indices, grad, True)",
)
def index(self, indices):
    where = numpy_index(self, indices)
    found = np.ascontiguousarray(self[where])
    return found


def strides_of_index(array, where, shape):
    """What PyTorch goes through when it indexes: the array with dims of no step where indices stand, and the indices."""
    dims = [dim for dim, one in enumerate(where) if not isinstance(one, slice)]
    before = dims[0] if dims == list(range(dims[0], dims[-1] + 1)) else 0
    indices = np.broadcast_arrays(*(where[dim] for dim in dims))
    steps = [array.strides[dim] for dim in range(array.ndim) if dim not in dims]
    steps[before:before] = [0] * indices[0].ndim
    spread = (*(None,) * before, ..., *(None,) * (len(shape) - before - indices[0].ndim))
    return [strided(array, shape, steps), *(one[spread] for one in indices)]


@op(
    "IndexPutBackward0",
    nondiff=("indices",),
    lists=("indices",),
    promote="none",
    self="index_put_backward(grad, indices, accumulate)",
    values="index(grad, indices)",
)
def index_put(self, indices, values, accumulate=False):
    result = np.array(self)
    where = numpy_index(self, indices)
    check_source(self, indices, values, result[where].shape)
    if accumulate:
        np.add.at(result, where, values)
    else:
        result[where] = values
    return result


def check_source(array, indices, values, shape):
    """Refuse to put what has another dtype (but one number into a mask), or does not broadcast to the place."""
    missing = len(shape) - values.ndim
    if missing < 0 or any(have not in (1, want) for have, want in zip(values.shape, shape[max(missing, 0) :], strict=True)):
        raise RuntimeError(
            f"shape mismatch: value tensor of shape {list(values.shape)} cannot be broadcast to indexing result of shape "
            f"{list(shape)}"
        )
    masks = [index.dtype.kind == "b" for index in indices if index is not None]
    if values.dtype != array.dtype and not (values.size == 1 and masks == [True]):
        want, have = of(array.dtype).scalar_name, of(values.dtype).scalar_name
        raise RuntimeError(
            f"Index put requires the source and destination dtypes match, got {want} for the destination and {have} for the "
            "source."
        )


alike("index_put_impl", "IndexPutImplBackward0", "index_put")


@composite
def index_put_backward(grad, indices, accumulate):
    """The gradient, without what was overwritten."""
    return grad if accumulate else index_put(grad, indices, zeros_of(grad, ()), False)


def numpy_index(array, indices):
    """Numpy's index for a list of index arrays (None where a dimension is taken whole); masks are turned into positions."""
    found: list[Any] = []
    for given in indices:
        item = getattr(given, "_array", given)
        if item is None:
            found.append(slice(None))
        elif item.dtype.kind == "b" or item.dtype.name == "uint8":
            check_mask(array, item, len(found))
            found += np.nonzero(item)
        elif item.dtype.name in ("int8", "int16"):
            raise IndexError("tensors used as indices must be long, int, byte or bool tensors")
        else:
            found.append(item)
    check_positions(array, found)
    return tuple(found)


def check_mask(array, mask, dim):
    """Refuse a mask that has not the sizes of the dimensions it is for."""
    for offset, size in enumerate(mask.shape):
        if dim + offset >= array.ndim or array.shape[dim + offset] != size:
            raise IndexError(
                f"The shape of the mask {list(mask.shape)} at index {offset} does not match the shape of the indexed tensor "
                f"{list(array.shape)} at index {dim + offset}"
            )


def check_positions(array, found):
    """Refuse indices that do not broadcast, or lie outside of their dimensions, counted among those that are indexed."""
    given = [(item, array.shape[dim]) for dim, item in enumerate(found) if not isinstance(item, slice)]
    shapes = [item.shape for item, _ in given]
    try:
        count = np.prod(np.broadcast_shapes(*shapes))
    except ValueError:
        raise IndexError(
            "shape mismatch: indexing tensors could not be broadcast together with shapes "
            + ", ".join(str(list(shape)) for shape in shapes)
        ) from None
    if count and any(not size for _, size in given):
        raise IndexError("index is out of bounds for dimension with size 0")
    for dim, (item, size) in enumerate(given):
        wrong = item[(item >= size) | (item < -size)] if count else item[:0]
        if wrong.size:
            raise IndexError(f"index {wrong.flat[0]} is out of bounds for dimension {dim} with size {size}")
