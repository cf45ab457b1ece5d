"""Shape and view operations. A row with ``view=True`` gives a tensor that shares its input's memory.

Source: PyTorch's derivatives.yaml, and TensorShape.cpp.
"""

from __future__ import annotations

from functools import partial
from math import prod
from operator import index
from typing import Any

import numpy as np
from numpy.lib import stride_tricks

from gviz.ops.rows import (
    Array,
    alike,
    array_of,
    brief,
    composite,
    everywhere,
    fact,
    op,
    refuse,
    row,
    type_name,
    wrap_dim,
    wrap_dims,
)

strided: Any = partial(stride_tricks.as_strided, subok=True)

# ------------------------------------------------------------------ facts
fact("count_of", lambda sizes: prod(sizes))
fact("numel_of", lambda value: array_of(value).size)
fact("contiguous", lambda value: array_of(value).flags.c_contiguous)
fact("viewable", lambda value, size: without_copy(array_of(value), size) is not None)
fact("viewed_sizes", lambda value, size: refuse(without_copy(array_of(value), size) is None, NO_VIEW) or size)
NO_VIEW = ("view size is not compatible with input tensor's size and stride (at least one dimension spans across two contiguous "
           "subspaces). Use .reshape(...) instead.")

def without_copy(array, size):
    try:
        return np.reshape(array, size, copy=False)
    except ValueError:
        return None

@everywhere
def full_shape(size, numel):
    """Return a shape in which -1 stands for the rest; refuse one that does not hold as many elements."""
    size, inferred, count = tuple(map(index, size)), size.count(-1), prod(s for s in size if s != -1)
    for i, length in enumerate(size):
        if length < -1:
            raise RuntimeError(f"invalid shape dimension {length} at index {i} of shape {list(size)}")
    if inferred > 1:
        raise RuntimeError("only one dimension can be inferred")
    if inferred and not count and not numel:
        raise RuntimeError(f"cannot reshape tensor of 0 elements into shape {list(size)} because the unspecified dimension "
                           "size -1 can be any value and is ambiguous")
    if (not count or numel % count if inferred else count != numel):
        raise RuntimeError(f"shape '{list(size)}' is invalid for input of size {numel}")
    return tuple(numel // count if s == -1 else s for s in size)

# ------------------------------------------------------------------ another shape
BACK = "reshape(grad, self_sym_sizes)"
@op("ViewBackward0", ".view", view=True, self=BACK)
def view(self, size: Size):
    result = without_copy(self, full_shape(size, self.size))
    refuse(result is None, NO_VIEW)
    return result
row("unsafe_view", "UnsafeViewBackward0", lambda self, size: self.reshape(size), self=BACK)
row("reshape_alias", "ReshapeAliasBackward0", lambda self, size: self.reshape(size), view=True, self=BACK)
row("alias", "AliasBackward0", lambda self: self.view(), view=True, self="grad")
@composite(".reshape torch.reshape")
def reshape(self, shape: Size):
    shape = full_shape(shape, numel_of(self))
    if contiguous(self):
        return view(self, shape)
    return reshape_alias(self, shape) if viewable(self, shape) else unsafe_view(clone_contiguous(self), shape)
brief(".reshape_as", lambda self, other: reshape(self, tuple(other.shape)))
brief(".view_as", lambda self, other: view(self, tuple(other.shape)))
brief(".expand_as", lambda self, other: expand(self, tuple(other.shape)))
brief("ravel", lambda self: view(as_contiguous(self), (-1,)))
brief("adjoint", lambda self: conj(transpose(self, -2, -1) if self.shape[1:] else self) if len(self.shape) != 1 else
    refuse(True, "tensor.adjoint() is only supported on matrices or batches of matrices. Got 1-D tensor."))
@composite("flatten")
def flatten(self, start_dim: int = 0, end_dim: int = -1):
    shape = tuple(self.shape)
    first, last = wrap_dim(start_dim, len(shape)), wrap_dim(end_dim, len(shape))
    refuse(first > last, "flatten() has invalid args: start_dim cannot come after end_dim")
    if first == last and shape:
        return self
    return reshape(self, (*shape[:first], count_of(shape[first : last + 1]), *shape[last + 1 :]))
@composite("unflatten")
def unflatten(self, dim: int, sizes: Size):
    shape, dim, count = tuple(self.shape), wrap_dim(dim, len(self.shape)), count_of(s for s in sizes if s != -1)
    full = [shape[dim] // count if s == -1 and count else s for s in sizes]
    refuse(count_of(full) != shape[dim],
           f"unflatten: Provided sizes {list(sizes)} don't multiply up to the size of dim {dim} ({shape[dim]}) "
           "in the input tensor")
    return view(self, (*shape[:dim], *full, *shape[dim + 1 :]))
brief(".contiguous", lambda self, *, memory_format=None: self if contiguous(self) else clone_contiguous(self),
    key="as_contiguous", memory_format="object")
row("view_dtype", None, lambda self, dtype: self.view(dtype), ".view", view=True, nondiff=("self",))

# ------------------------------------------------------------------ dims in another order
@op("TBackward0", "t", view=True, self="t(grad)")
def t(self):
    if self.ndim > 2:
        raise RuntimeError(f"t() expects a tensor with <= 2 dimensions, but self is {self.ndim}D")
    return self.T
@op("TransposeBackward0", "transpose swapaxes swapdims", view=True, self="transpose(grad, dim0, dim1)")
def transpose(self, dim0: int, dim1: int):
    dim0, dim1 = wrap_dim(dim0, self.ndim), wrap_dim(dim1, self.ndim)
    return self.swapaxes(dim0, dim1) if self.ndim else self.view()

@op("PermuteBackward0", ".permute torch.permute", view=True, self="permute(grad, inverse_order(dims))")
def permute(self, dims: Size):
    if len(dims) != self.ndim:
        raise RuntimeError("permute(sparse_coo): number of dimensions in the tensor input does not match the length of the "
                           "desired ordering of dimensions i.e. "
                           f"input.dim() = {self.ndim} is not equal to len(dims) = {len(dims)}")
    order = [wrap_dim(d, self.ndim) for d in dims]
    refuse(len(set(order)) != len(order), "permute(): duplicate dims are not allowed.")
    return self.transpose(order)

@everywhere
def inverse_order(dims):
    order = [d % len(dims) for d in dims]
    return tuple(order.index(i) for i in range(len(order)))
brief("movedim moveaxis", lambda self, source, destination: movedim(self, (source,), (destination,)), key="movedim_one",
    source="int", destination="int")
@composite("movedim moveaxis")
def movedim(self, source: Size, destination: Size):
    ndim = len(self.shape)
    refuse(len(source) != len(destination),
           f"movedim: source {list(source)} and destination {list(destination)} should have as many dims")
    moves = dict(zip(wrap_dims(destination, ndim), wrap_dims(source, ndim), strict=True))
    rest = iter([d for d in range(ndim) if d not in moves.values()])
    return permute(self, tuple([moves[i] if i in moves else next(rest) for i in range(ndim)])) if ndim else alias(self)

# ------------------------------------------------------------------ dims of size one
row("squeeze_all", "SqueezeBackward0", lambda self: self.squeeze(), "squeeze", view=True,
    self="unsqueeze_dims(grad, None, self_sym_sizes)")
@op("SqueezeBackward1", "squeeze", view=True, self="unsqueeze_dims(grad, (dim,), self_sym_sizes)")
def squeeze_dim(self, dim: int):
    dim = wrap_dim(dim, self.ndim)
    return self.squeeze(dim) if self.ndim and self.shape[dim] == 1 else self.view()
@op("SqueezeBackward2", "squeeze", view=True, self="unsqueeze_dims(grad, dim, self_sym_sizes)")
def squeeze_dims(self, dim: Size):
    return self.squeeze(tuple(d for d in wrap_dims(dim, self.ndim) if self.shape[d] == 1))
@op("UnsqueezeBackward0", "unsqueeze", view=True, self="squeeze_dim(grad, dim)")
def unsqueeze(self, dim: int):
    dim, sizes, steps = wrap_dim(dim, self.ndim + 1), self.shape, self.strides
    step = sizes[dim] * steps[dim] if dim < self.ndim else self.itemsize
    return strided(self, (*sizes[:dim], 1, *sizes[dim:]), (*steps[:dim], step, *steps[dim:]))
@composite
def unsqueeze_dims(grad, dims, sizes):
    """Put back those of the dims (None: of all dims) that had size one."""
    for dim, size in enumerate(sizes):
        if size == 1 and (dims is None or dim in dims or dim - len(sizes) in dims):
            grad = unsqueeze(grad, dim)
    return grad

for key, node, names in (
    ("t", "TBackward1", ".t_"), ("transpose", "TransposeBackward1", ".transpose_ .swapaxes_ .swapdims_"),
    ("unsqueeze", "UnsqueezeBackward1", ".unsqueeze_"), ("squeeze_all", "SqueezeBackward3", ".squeeze_"),
    ("squeeze_dim", "SqueezeBackward4", ".squeeze_"), ("squeeze_dims", "SqueezeBackward5", ".squeeze_"),
):
    alike(f"{key}_", node, key, names, reshapes=True)

# ------------------------------------------------------------------ broadcasting
@op("ExpandBackward0", ".expand torch.broadcast_to .broadcast_to", view=True, self="sum_to(grad, self_sym_sizes)")
def expand(self, size: Size):
    missing, full = len(size) - self.ndim, list(size)
    if missing < 0:
        name = "CPUBoolType" if self.dtype.kind == "b" else type_name(self.dtype)
        raise RuntimeError(f"expand({name}{{{list(self.shape)}}}, size={list(size)}): the number of sizes provided "
                           f"({len(size)}) must be greater or equal to the number of dimensions in the tensor ({self.ndim})")
    full[missing:] = [have if want == -1 else want for have, want in zip(self.shape, full[missing:], strict=True)]
    for i in reversed(range(len(full))):
        size_now = f"The expanded size of the tensor ({full[i]})"
        if i < missing and full[i] < 0:
            raise RuntimeError(f"{size_now} isn't allowed in a leading, non-existing dimension {i}")
        if i >= missing and self.shape[i - missing] not in (1, full[i]):
            raise RuntimeError(f"{size_now} must match the existing size ({self.shape[i - missing]}) at non-singleton "
                               f"dimension {i}.  Target sizes: {list(size)}.  Tensor sizes: {list(self.shape)}")
    steps = [step if n == have else 0 for n, have, step in zip(full[missing:], self.shape, self.strides, strict=True)]
    return strided(self, full, [0] * missing + steps)
@composite
def sum_to(grad, size):
    """A gradient summed back to the shape that was expanded."""
    if not size:
        return sum_all(grad)
    extra = len(grad.shape) - len(size)
    axes = *range(extra), *(i + extra for i, s in enumerate(size) if s == 1 and grad.shape[i + extra] != 1)
    grad = sum_dim(grad, axes, True) if axes else grad
    return view(grad, tuple(size)) if extra else grad

@composite(".sum_to_size")
def sum_to_size(self, size: Size):
    have = tuple(self.shape)
    refuse(len(size) > len(have) or any(n not in (1, m) for n, m in zip(size[::-1], have[::-1], strict=False)),
           f"size {{{list(size)}}} is not expandable to size {{{list(have)}}}.")
    return sum_to(self, size)
@composite
def added(parts):
    terms = [part for part in parts if part is not None]
    return sum(terms[1:], terms[0]) if terms else None

# ------------------------------------------------------------------ any view
@op("AsStridedBackward0", view=True, hidden=("self_sym_sizes", "self_sym_strides", "start"),
    self="as_strided_backward(grad, self_sym_sizes, self_sym_strides, size, stride, storage_offset, start)")
def as_strided(self, size, stride, storage_offset=None, start=0, whole=None):
    # of this array from its first element on, or of a whole in which it starts somewhere
    first, memory = start if storage_offset is None else storage_offset, flat_memory(self if whole is None else whole)
    needed = first + span(size, stride) if all(size) else 0
    refuse(min((first, *stride)) < 0, "as_strided: Negative strides and offsets are not supported")
    refuse(needed > memory.size,
           f"setStorage: sizes {list(size)}, strides {list(stride)}, storage offset {first}, and itemsize "
           f"{memory.itemsize} requiring a storage size of {needed * memory.itemsize} are out of bounds for "
           f"storage of size {memory.nbytes}")
    return strided(memory[first:], size, [s * self.itemsize for s in stride])

@composite("as_strided")
def as_strided_of_base(self, size: Size, stride: Size, storage_offset: int | None = None):
    base = self if self._base is None else self._base
    return as_strided(self, size, stride, storage_offset, self.storage_offset(), base._array)

def flat_memory(array: Array) -> Any:
    """Return the memory of an array from its first element on, as one dim."""
    return strided(array, (span(array.shape, [s // array.itemsize for s in array.strides]),), (array.itemsize,))
@composite
def as_strided_backward(grad, sizes, strides, size, stride, offset, start=0):
    """The gradient written to where the elements were, and the input read out of that, as PyTorch does."""
    if not all(size) or not all(sizes):
        return zeros_of(grad, sizes)
    offset = start if offset is None else offset
    start, offset = start - min(start, offset), offset - min(start, offset)
    memory = zeros_of(grad, (max(offset + span(size, stride), start + span(sizes, strides)),))
    memory = index_add(memory, 0, strided_places(memory, size, stride, offset), reshape(grad, (-1,)))
    return as_strided(memory, sizes, strides, start)

span = fact("span", lambda sizes, strides:
    1 + sum((n - 1) * s for n, s in zip(sizes, strides, strict=False)) if all(sizes) else 0)
row("strided_places", None, lambda self, size, stride, offset:
    strided(np.arange(self.size)[offset:], size, [s * 8 for s in stride]).reshape(-1), nondiff=("self",))

