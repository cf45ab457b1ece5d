"""Elements in another place: repeat, flip, roll, triangles, diagonals, trace, unfold."""

from __future__ import annotations

import numpy as np
from numpy.lib.stride_tricks import as_strided as strided

from gviz.ops.shape import VIEWS
from gviz.numbers.shapes import wrap_dim, wrap_dims
from gviz.autograd.row import ARRAYS, ROWS, composite, everywhere, op
from gviz.ops.reduction import summed
from gviz.ops.rows import alike, row
from gviz.ops.shape import turned


@op("ReshapeAliasBackward0", view=True, self="reshape(grad, self_sym_sizes)")
def reshape_alias(self, size):
    return np.reshape(self, size, copy=False)


row("t_", "TBackward1", lambda self: turned(self, "t_"), promote="none", self="t(grad)")
alike("transpose_", "TransposeBackward1", "transpose")
alike("unsqueeze_", "UnsqueezeBackward1", "unsqueeze")
alike("squeeze_all_", "SqueezeBackward3", "squeeze_all")
alike("squeeze_dim_", "SqueezeBackward4", "squeeze_dim")
alike("squeeze_dims_", "SqueezeBackward5", "squeeze_dims")


@op("RepeatBackward0", self="repeat_backward(grad, repeats, self_sym_sizes)")
def repeat(self, repeats):
    if len(repeats) < self.ndim:
        raise RuntimeError("Number of dimensions of repeat dims can not be smaller than number of dimensions of tensor")
    sizes = [n * count for n, count in zip((1,) * (len(repeats) - self.ndim) + self.shape, repeats, strict=True)]
    if any(n < 0 for n in sizes):
        raise RuntimeError(f"Trying to create tensor with negative dimension {min(sizes)}: {sizes}")
    return np.array(np.tile(self, repeats), order="C")


@composite
def repeat_backward(grad, repeats, sizes):
    """The gradients of all copies, added."""
    if 0 in repeats:
        return zeros_of(grad, sizes)
    extra = len(repeats) - len(sizes)
    for _ in range(extra):
        grad = sum_dim(grad, (0,))
    shape: list[int] = []
    axes: list[int] = []
    for count, size in zip(repeats[extra:], sizes, strict=True):
        if count != 1:
            axes.append(len(shape))
            shape.append(count)
        shape.append(size)
    return sum_dim(reshape(grad, tuple(shape)), tuple(axes)) if axes else grad


@composite
def repeat_interleave_by(self, repeats, dim):
    """Each element that many times in a row."""
    dim = wrap_dim(dim, len(self.shape))
    shape = tuple(self.shape)
    spread = clone(expand(unsqueeze(self, dim + 1), (*shape[: dim + 1], repeats, *shape[dim + 1 :])))
    return view(spread, (*shape[:dim], shape[dim] * repeats, *shape[dim + 1 :]))


@op("FlipBackward0", self="flip(grad, dims)")
def flip(self, dims):
    return np.flip(self, wrap_dims(dims, self.ndim)).copy()


@everywhere
def negated(numbers):
    """Shifts, or a padding, that undo these."""
    return tuple(-n for n in numbers)


@op("RollBackward0", self="roll(grad, negated(reversed(shifts)), tuple(reversed(dims)))")
def roll(self, shifts, dims=()):
    if dims and len(shifts) != len(dims):
        raise RuntimeError(f"shifts and dimensions must align. shifts: {len(shifts)}, dims:{len(dims)}")
    if not dims and len(shifts) != 1:
        raise RuntimeError(f"shifts and dimensions must align. shifts: {len(shifts)}, dims:{len(dims)}")
    if not self.size and len(shifts) == 1:
        return self.copy()  # whatever the dim
    return np.roll(self, shifts, tuple(wrap_dim(d, self.ndim) for d in dims)) if dims else np.roll(self, shifts[0])


@op("Rot90Backward0", self="rot90(grad, -k, dims)")
def rot90(self, k=1, dims=(0, 1)):
    check_turn(self.ndim, tuple(dims))
    if k % 2:
        return ARRAYS["flip"](self, (dims[k % 4 == 1],)).swapaxes(*dims)
    return ARRAYS["flip"](self, dims) if k % 4 else np.array(self, order="C")


def check_turn(ndim, dims):
    """Refuse dims that are not two."""
    if len(dims) != 2:
        raise RuntimeError(f"expected total rotation dims == 2, but got dims = {len(dims)}")
    if ndim < 2:
        raise RuntimeError(f"expected total dims >= 2, but got total dims = {ndim}")
    if wrap_dim(dims[0], ndim) == wrap_dim(dims[1], ndim):
        raise RuntimeError(f"expected rotation dims to be different, but got dim0 = {dims[0]} and dim1 = {dims[1]}")


def matrix(array, name):
    """The array; refuses one without rows and columns."""
    if array.ndim < 2:
        raise RuntimeError(f"{name}: input tensor must have at least 2 dimensions")
    return array


row("tril", "TrilBackward0", lambda self, diagonal=0: np.tril(matrix(self, "tril"), diagonal), self="tril(grad, diagonal)")
row("triu", "TriuBackward0", lambda self, diagonal=0: np.triu(matrix(self, "triu"), diagonal), self="triu(grad, diagonal)")


@op("DiagonalBackward0", view=True, self="diagonal_backward(grad, self_sym_sizes, offset, dim1, dim2)")
def diagonal(self, offset=0, dim1=0, dim2=1):
    return diagonal_of(self, offset, dim1, dim2)


def diagonal_of(array, offset, dim1, dim2):
    """The diagonal between two different dims, as a view that may be written."""
    first, second = wrap_dim(dim1, array.ndim), wrap_dim(dim2, array.ndim)
    if first == second:
        raise RuntimeError(f"diagonal dimensions cannot be identical {dim1}, {dim2}")
    found = np.diagonal(array, offset, first, second)
    found.flags.writeable = array.flags.writeable
    return found


@op("DiagonalBackwardBackward0", grad_output="diagonal(grad, offset, dim1, dim2)")
def diagonal_backward(grad_output, input_sizes, offset, dim1, dim2):
    full = np.zeros(input_sizes, grad_output.dtype)
    diagonal_of(full, offset, dim1, dim2)[...] = grad_output
    return full


@op("DiagEmbedBackward0", self="diagonal(grad, offset, dim1, dim2)")
def diag_embed(self, offset=0, dim1=-2, dim2=-1):
    size = self.shape[-1] + abs(offset)
    first, second = wrap_dim(dim1, self.ndim + 1), wrap_dim(dim2, self.ndim + 1)
    shape = list(self.shape[:-1])
    for dim in sorted((first, second)):
        shape.insert(dim, size)
    full = np.zeros(shape, self.dtype)
    diagonal_of(full, offset, first, second)[...] = self
    return full


@op("TraceBackward0", self="trace_backward(grad, self_sym_sizes)")
def trace(self):
    if self.ndim != 2:
        raise RuntimeError(f"trace: expected a matrix, but got tensor with dim {self.ndim}")
    return np.trace(summed(self))


@composite
def trace_backward(grad, sizes):
    """The gradient on the diagonal of zeros."""
    flat = index_fill_tensor(zeros_of(grad, (sizes[0] * sizes[1],)), 0, diagonal_places(grad, sizes), grad)
    return view(flat, sizes)


@op(None, nondiff=("self",))
def diagonal_places(self, sizes):
    return np.arange(0, sizes[0] * sizes[1], sizes[1] + 1)[: min(sizes)]


@op("UnfoldBackward0", view=True, self="unfold_backward(grad, self_sym_sizes, dimension, size, step)")
def unfold(self, dimension, size, step):
    dim = wrap_dim(dimension, self.ndim)
    length, stride = (self.shape[dim], self.strides[dim]) if self.ndim else (1, self.itemsize)
    if size < 0:
        raise RuntimeError(f"size is {size} but must be >= 0")
    if step <= 0:
        raise RuntimeError(f"step is {step} but must be > 0")
    if size > length:
        raise RuntimeError(f"maximum size for tensor at dimension {dim} is {length} but size is {size}")
    shape, strides = list(self.shape) or [1], list(self.strides) or [stride]
    shape[dim], strides[dim] = (length - size) // step + 1, stride * step
    if not self.ndim:
        shape, strides = [], []
    return strided(self, (*shape, size), (*strides, stride))


@op("UnfoldBackwardBackward0", grad_in="unfold(grad, dim, size, step)")
def unfold_backward(grad_in, input_sizes, dim, size, step):
    full = np.zeros(input_sizes, grad_in.dtype)
    np.add.at(ARRAYS["unfold"](full, dim, size, step), np.s_[...], grad_in)  # type: ignore[arg-type]
    return full


@composite
def atleast(self, count):
    """At least one, two or three dimensions."""
    have = len(self.shape)
    if have >= count:
        return self
    if have == 0:
        return reshape(self, (1,) * count)
    if count == 2:
        return unsqueeze(self, 0)
    return unsqueeze(unsqueeze(self, 0) if have == 1 else self, -1)


for key in VIEWS:
    alike(f"{key}_copy", f"{ROWS[key].node}_copy", key, promote="none")
