"""Shape and view operations. A row with ``view=True`` gives a tensor that shares its input's memory."""

from __future__ import annotations

from math import prod
from operator import index
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided as strided

from gviz.numbers.shapes import wrap_dim, wrap_dims
from gviz.numbers.words import type_name
from gviz.numbers.shapes import steps_of
from gviz.autograd.row import ARRAYS, composite, everywhere, op
from gviz.ops.rows import row

NO_VIEW = (
    "view size is not compatible with input tensor's size and stride (at least one dimension spans across two contiguous "
    "subspaces). "
    "Use .reshape(...) instead."
)


@everywhere
def full_shape(size, numel):
    """A shape in which -1 stands for what is left; refuses one that does not hold as many elements."""
    size = tuple(map(index, size))
    known = 1
    for i, s in enumerate(size):
        known *= 1 if s == -1 else s
        if s < -1:
            raise RuntimeError(f"invalid shape dimension {s} at index {i} of shape {list(size)}")
    if size.count(-1) > 1:
        raise RuntimeError("only one dimension can be inferred")
    if -1 in size:
        if known == 0 and numel == 0:
            raise RuntimeError(
                f"cannot reshape tensor of 0 elements into shape {list(size)} because the unspecified dimension size -1 "
                "can be any value and is ambiguous"
            )
        if known and numel % known == 0:
            return tuple(numel // known if s == -1 else s for s in size)
    elif known == numel:
        return size
    raise RuntimeError(f"shape '{list(size)}' is invalid for input of size {numel}")


def without_copy(array, size):
    """The array in another shape if its memory allows that, else None."""
    try:
        return np.reshape(array, size, copy=False)
    except ValueError:
        return None


@op("ViewBackward0", ".view", view=True, self="reshape(grad, self_sym_sizes)")
def view(self, size: Size):
    found = without_copy(self, full_shape(size, self.size))
    if found is None:
        raise RuntimeError(NO_VIEW)
    return found


@op("ViewBackward0_copy", self="reshape(grad, self_sym_sizes)")
def view_copy(self, size):
    return np.array(self, order="C").reshape(full_shape(size, self.size))


@op("UnsafeViewBackward0", self="reshape(grad, self_sym_sizes)")
def unsafe_view(self, size):
    return self.reshape(full_shape(size, self.size))


row("alias", "AliasBackward0", lambda self: self.view(), view=True, self="grad")
row("t", "TBackward0", lambda self: turned(self, "t"), view=True, self="t(grad)")
row("squeeze_all", "SqueezeBackward0", lambda self: self.squeeze(), view=True, self="unsqueeze_to(grad, self_sym_sizes)")


def stepped(array):
    """An array with PyTorch's strides: numpy gives those of an empty one as 0, from which no change of its dims is seen."""
    return array if array.size else strided(array, array.shape, [s * array.itemsize for s in steps_of(array)])


def turned(matrix, name):
    """A matrix with its rows as columns, or a vector."""
    if matrix.ndim > 2:
        raise RuntimeError(f"{name}() expects a tensor with <= 2 dimensions, but self is {matrix.ndim}D")
    return stepped(matrix).T


@op("TransposeBackward0", view=True, self="transpose(grad, dim0, dim1)")
def transpose(self, dim0, dim1):
    dim0, dim1 = wrap_dim(dim0, self.ndim), wrap_dim(dim1, self.ndim)
    return stepped(self).swapaxes(dim0, dim1) if self.ndim else self.view()


@op("PermuteBackward0", "permute", view=True, self="permute(grad, inverse_order(dims))")
def permute(self, dims: Size):
    if len(dims) != self.ndim:
        raise RuntimeError(
            "permute(sparse_coo): number of dimensions in the tensor input does not match the length of the desired "
            "ordering of "
            f"dimensions i.e. input.dim() = {self.ndim} is not equal to len(dims) = {len(dims)}"
        )
    order = [wrap_dim(d, self.ndim) for d in dims]
    if len(set(order)) != len(order):
        raise RuntimeError("permute(): duplicate dims are not allowed.")
    return stepped(self).transpose(order)


@everywhere
def inverse_order(dims):
    """The permutation that undoes this one."""
    order = [d % len(dims) for d in dims]
    return tuple(order.index(i) for i in range(len(order)))


@op("ExpandBackward0", ".expand torch.broadcast_to .broadcast_to", view=True, self="sum_to(grad, self_sym_sizes)")
def expand(self, size: Size):
    size = tuple(size)
    missing = len(size) - self.ndim
    if missing < 0:
        name = "CPUBoolType" if self.dtype.kind == "b" else type_name(self.dtype)
        raise RuntimeError(
            f"expand({name}{{{list(self.shape)}}}, size={list(size)}): the number of sizes provided ({len(size)}) "
            f"must be greater or equal to the number of dimensions in the tensor ({self.ndim})"
        )
    full = list(size)
    for i in reversed(range(len(size))):
        if i < missing:
            if size[i] < 0:
                raise RuntimeError(
                    f"The expanded size of the tensor ({size[i]}) isn't allowed in a leading, non-existing dimension {i}"
                )
            continue
        have = self.shape[i - missing]
        full[i] = have if size[i] == -1 else size[i]
        if have not in (1, full[i]):
            raise RuntimeError(
                f"The expanded size of the tensor ({full[i]}) must match the existing size ({have}) at non-singleton dimension "
                f"{i}.  Target sizes: {list(size)}.  Tensor sizes: {list(self.shape)}"
            )
    steps = [0 if size != have else step for size, have, step in zip(full[missing:], self.shape, self.strides, strict=True)]
    for i in reversed(range(missing)):
        outer = full[i + 1] * steps[0] if steps else 0
        steps.insert(0, 0 if full[i] != 1 else outer)
    return strided(self, full, steps)


@composite
def sum_to(grad, size):
    """A gradient summed back to the shape that was expanded."""
    size = tuple(size)
    if not size:
        return sum_all(grad)
    extra = len(grad.shape) - len(size)
    axes = tuple(range(extra)) + tuple(i + extra for i, s in enumerate(size) if s == 1 and grad.shape[i + extra] != 1)
    if axes:
        grad = sum_dim(grad, axes, True)
    return view(grad, size) if extra else grad


@op("SqueezeBackward1", view=True, self="unsqueeze_dims(grad, (dim,), self_sym_sizes)")
def squeeze_dim(self, dim):
    dim = wrap_dim(dim, self.ndim)
    return self.squeeze(dim) if self.ndim and self.shape[dim] == 1 else self.view()


@op("SqueezeBackward2", view=True, self="unsqueeze_dims(grad, dim, self_sym_sizes)")
def squeeze_dims(self, dim):
    return self.squeeze(tuple(d for d in wrap_dims(dim, self.ndim) if self.shape[d] == 1))


@composite
def added(parts):
    """Those of several gradients that there are, added."""
    found = [part for part in parts if part is not None]
    return sum(found[1:], found[0]) if found else None


@composite
def unsqueeze_to(grad, sizes):
    """Put back every dimension of size one."""
    for dim, size in enumerate(sizes):
        if size == 1:
            grad = unsqueeze(grad, dim)
    return grad


@composite
def unsqueeze_dims(grad, dims, sizes):
    """Put back those of the dimensions that had size one."""
    for dim in sorted(d % len(sizes) for d in dims) if sizes else ():
        if sizes[dim] == 1:
            grad = unsqueeze(grad, dim)
    return grad


@op("UnsqueezeBackward0", view=True, self="squeeze_dim(grad, dim)")
def unsqueeze(self, dim):
    dim = wrap_dim(dim, self.ndim + 1)
    if self.flags.c_contiguous:
        return np.expand_dims(self, dim)
    step = self.shape[dim] * self.strides[dim] if dim < self.ndim else self.itemsize  # numpy would choose another
    sizes, steps = self.shape, self.strides
    return strided(self, (*sizes[:dim], 1, *sizes[dim:]), (*steps[:dim], step, *steps[dim:]))


everywhere(wrap_dim)

everywhere(wrap_dims)


@composite("reshape")
def reshape(self, size: Size):
    """A view where the memory allows it, else a copy."""
    size = full_shape(size, numel_of(self))
    if viewable(self, size):
        return view(self, size) if contiguous(self) else reshape_alias(self, size)
    return unsafe_view(clone_contiguous(self), size)


@everywhere
def contiguous(value):
    """Whether the elements lie in memory in the order of the indices."""
    array = getattr(value, "_array", value)
    return array.__class__ is not np.ndarray or array.flags.c_contiguous


@everywhere
def count_of(sizes):
    """How many elements a shape holds."""
    return prod(sizes)


@everywhere
def numel_of(value):
    """Number of elements of an array, a number or a tensor."""
    return getattr(value, "_array", value).size


@everywhere
def viewable(value, size):
    """Whether the memory can be seen in that shape without a copy."""
    array = getattr(value, "_array", value)
    return array.__class__ is not np.ndarray or array.flags.c_contiguous or without_copy(array, size) is not None


@op(
    "AsStridedBackward0",
    view=True,
    hidden=("self_sym_sizes", "self_sym_strides", "start"),
    self="as_strided_backward(grad, self_sym_sizes, self_sym_strides, size, stride, storage_offset, start)",
)
def as_strided(self, size, stride, storage_offset=None, start=0, whole=None):
    """Any view of the memory: of this array from its first element on, or of a whole in which it starts somewhere."""
    first, memory = start if storage_offset is None else storage_offset, flat_memory(self if whole is None else whole)
    check_strided(size, stride, first, memory)
    return strided(memory[first:], size, tuple(s * self.itemsize for s in stride))


def check_strided(size, stride, first, memory):
    """Refuse sizes and strides that leave the memory."""
    if len(size) != len(stride):
        raise RuntimeError("mismatch in length of strides and shape")
    if any(s < 0 for s in stride):
        raise RuntimeError(f"as_strided: Negative strides are not supported at the moment, got strides: {list(stride)}")
    if any(s < 0 for s in size):
        raise RuntimeError(f"Storage size calculation overflowed with sizes={list(size)} and strides={list(stride)}")
    if first < 0:
        raise RuntimeError(f"Tensor: invalid storage offset {first}")
    needed = first + span(size, stride) if all(size) else 0
    if needed > memory.size:
        raise RuntimeError(
            f"setStorage: sizes {list(size)}, strides {list(stride)}, storage offset {first}, and itemsize {memory.itemsize} "
            f"requiring a storage size of {needed * memory.itemsize} are out of bounds for storage of size {memory.nbytes}"
        )


@composite
def as_strided_backward(grad, sizes, strides, size, stride, offset, start=0):
    """The gradient written where the elements were, and the input read out of that, as PyTorch does."""
    offset = start if offset is None else offset
    shared = min(start, offset)
    start, offset = start - shared, offset - shared
    if not all(size) or not all(sizes):
        return zeros_of(grad, sizes)
    for i in reversed(range(len(size))):
        if size[i] == 1:
            grad = squeeze_dim(grad, i)
        elif not stride[i]:
            grad = sum_dim(grad, (i,))
    to = [(n, s) for n, s in zip(size, stride, strict=True) if n > 1 and s]
    target = (tuple(n for n, _ in to), tuple(s for _, s in to), offset)
    memory = zeros_of(grad, (max(offset + span(size, stride), start + span(sizes, strides)),))
    if may_meet(to):
        memory = overwritten(memory, "add_at", reshape(grad, (-1,)), strided_places(memory, *target))
    else:
        memory = overwritten(memory, "copy_into", grad, part=("as_strided", *target))
    if may_meet((n, s) for n, s in zip(sizes, strides, strict=True) if n > 1):
        memory = overwritten(memory, "div", strided_count(memory, sizes, strides, start))
    return as_strided(memory, sizes, strides, start)


@composite
def add_at(memory, values, places):
    """Values added to one dimension at places, of which some may be the same."""
    return index_add(memory, 0, places, values)


@everywhere
def span(sizes, strides):
    """How many elements of memory those sizes and strides reach over."""
    return 1 + sum((n - 1) * s for n, s in zip(sizes, strides, strict=True)) if all(sizes) else 0


@everywhere
def may_meet(steps):
    """Whether two elements may lie in one place."""
    reached = 0
    for count, step in sorted(steps, key=lambda pair: pair[1]):
        if step <= reached:
            return True
        reached += (count - 1) * step
    return False


@op(None, nondiff=("self",))
def strided_places(self, size, stride, offset):
    return strided(np.arange(self.size)[offset:], size, tuple(s * 8 for s in stride)).reshape(-1)


@op(None, nondiff=("self",))
def strided_count(self, size, stride, start):
    return np.bincount(ARRAYS["strided_places"](self, size, stride, start), minlength=self.size).astype(self.dtype)


def flat_memory(array: Any) -> Any:
    """The memory of an array from its first element on, as one dimension."""
    return strided(array, (span(array.shape, [s // array.itemsize for s in array.strides]),), (array.itemsize,))


VIEWS = (
    "alias", "as_strided", "diagonal", "expand", "permute", "select", "slice_row", "split_size", "split_with_sizes",
    "squeeze_all", "squeeze_dim", "squeeze_dims", "t", "transpose", "unbind", "unfold", "unsqueeze",
)  # fmt: skip
"""Views of which there is a form that copies, ``torch.t_copy`` and its kin."""
