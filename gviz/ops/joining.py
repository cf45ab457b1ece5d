"""Joining and splitting: cat, stack, unbind, split. Lists of tensors go in, or come out."""

from __future__ import annotations

import numpy as np

from gviz.numbers.shapes import wrap_dim
from gviz.autograd.row import ARRAYS, composite, everywhere, op
from gviz.ops.picking import present_dim


@op("CatBackward0", "torch.cat torch.concat torch.concatenate", lists=("tensors",), hidden=("tensors_sym_sizes",), tensors="cat_backward(grad, dim, tensors_sym_sizes)")
def cat(tensors: Tensors, dim: int = 0):
    if not tensors:
        raise ValueError("torch.cat(): expected a non-empty list of Tensors")
    kept = [a for a in tensors if a.shape != (0,)] or tensors
    for i, a in enumerate(tensors):
        if a.ndim == 0:
            raise RuntimeError(f"zero-dimensional tensor (at position {i}) cannot be concatenated")
    first = kept[0]
    if first.shape == (0,):  # whatever the dimension
        return np.concatenate(kept)
    axis = wrap_dim(dim, first.ndim)
    for i, a in enumerate(tensors):
        if a.shape == (0,):
            continue
        if a.ndim != first.ndim:
            raise RuntimeError(f"Tensors must have same number of dimensions: got {first.ndim} and {a.ndim}")
        for d in range(first.ndim):
            if d != axis and a.shape[d] != first.shape[d]:
                raise RuntimeError(
                    f"Sizes of tensors must match except in dimension {axis}. Expected size {first.shape[d]} but got "
                    f"size {a.shape[d]} for tensor number {i} in the list."
                )
    return np.ascontiguousarray(np.concatenate(kept, axis))


@composite
def cat_backward(grad, dim, sizes):
    """Each tensor's piece of the gradient."""
    dim = 0 if grad.shape == (0,) else wrap_dim(dim, len(grad.shape))
    pieces = []
    start = 0
    for size in sizes:
        if size == (0,):
            pieces.append(zeros_of(grad, size))
            continue
        pieces.append(narrow(grad, dim, start, size[dim]))
        start += size[dim]
    return tuple(pieces)


@op(
    "StackBackward0", "torch.stack",
    lists=("tensors",),
    hidden=("tensors_sym_sizes",),
    tensors="stack_backward(grad, dim, len(tensors_sym_sizes))",
)
def stack(tensors: Tensors, dim: int = 0):
    if not tensors:
        raise RuntimeError("stack expects a non-empty TensorList")
    axis = wrap_dim(dim, tensors[0].ndim + 1)
    for i, a in enumerate(tensors):
        if a.shape != tensors[0].shape:
            raise RuntimeError(
                f"stack expects each tensor to be equal size, but got {list(tensors[0].shape)} at entry 0 and "
                f"{list(a.shape)} at entry {i}"
            )
    return np.ascontiguousarray(np.stack(tensors, axis))


@composite
def stack_backward(grad, dim, count):
    """Each tensor's slice of the gradient."""
    return tuple(select(grad, dim, i) for i in range(count))


@op(
    "BlockDiagBackward0",
    lists=("tensors",),
    hidden=("tensors_sym_sizes",),
    tensors="block_diag_backward(grad, tensors_sym_sizes)",
)
def block_diag(tensors):
    for i, a in enumerate(tensors):
        if a.ndim > 2:
            raise RuntimeError(
                f"torch.block_diag: Input tensors must have 2 or fewer dimensions. Input {i} has {a.ndim} dimensions"
            )
    blocks = [np.atleast_2d(a) for a in tensors] or [np.zeros((1, 0), np.float32)]
    full = np.zeros(np.sum([b.shape for b in blocks], axis=0), np.result_type(*blocks))
    row = column = 0
    for block in blocks:
        height, width = block.shape
        full[row : row + height, column : column + width] = block
        row, column = row + height, column + width
    return full


@composite
def block_diag_backward(grad, sizes):
    """Each tensor's block of the gradient."""
    blocks, row, column = [], 0, 0
    for size in sizes:
        height, width = (1, 1, *size)[-2:]
        block = slice_row(slice_row(grad, 0, row, row + height, 1), 1, column, column + width, 1)
        blocks.append(block if len(size) == 2 else view(block, size))
        row, column = row + height, column + width
    return tuple(blocks)


@op(
    "UnbindBackward0",
    view=True,
    outputs=("...",),
    hidden=("self_sym_sizes",),
    self="unbind_backward(grad, dim, self_sym_sizes)",
)
def unbind(self, dim=0):
    dim = present_dim(dim, self)
    before = (slice(None),) * dim
    return [self[(*before, i, ...)] for i in range(self.shape[dim])]


@composite
def filled(grads, sizes):
    """The outputs' gradients, zeros of these sizes for those that got none."""
    some = next(g for g in grads if g is not None)
    full = list(grads) + [None] * (len(sizes) - len(grads))
    return [zeros_of(some, size) if g is None else g for g, size in zip(full, sizes, strict=True)]


@composite
def unbind_backward(grads, dim, sizes):
    """The outputs' gradients stacked."""
    axis = wrap_dim(dim, len(sizes))
    return stack(filled(grads, [(*sizes[:axis], *sizes[axis + 1 :])] * sizes[axis]), dim)


@op("SplitBackward0", view=True, outputs=("...",), self="split_backward(grad, split_size, dim, self_sym_sizes)")
def split_size(self, split_size, dim=0):
    if self.ndim == 0:
        raise RuntimeError("split expects at least a 1-dimensional tensor")
    dim = wrap_dim(dim, self.ndim)
    if split_size < 0:
        raise RuntimeError(f"split expects split_size be non-negative, but got split_size={split_size}")
    length = self.shape[dim]
    if split_size == 0 and length:
        raise RuntimeError(f"split_size can only be 0 if dimension size is 0, but got dimension size of {length}")
    return pieces(self, piece_sizes(split_size, length), dim)


@op("UnsafeSplitBackward0", outputs=("...",), self="split_backward(grad, split_size, dim, self_sym_sizes)")
def unsafe_split(self, split_size, dim=0):
    return [piece.copy() for piece in ARRAYS["split_size"](self, split_size, dim)]


@op("UnsafeSplitWithSizesBackward0", outputs=("...",), self="split_backward(grad, split_sizes, dim, self_sym_sizes)")
def unsafe_split_with_sizes(self, split_sizes, dim=0):
    return [piece.copy() for piece in ARRAYS["split_with_sizes"](self, split_sizes, dim)]


@op("SplitWithSizesBackward0", view=True, outputs=("...",), self="split_backward(grad, split_sizes, dim, self_sym_sizes)")
def split_with_sizes(self, split_sizes, dim=0):
    if self.ndim == 0:
        raise RuntimeError("split expects at least a 1-dimensional tensor")
    given, dim = dim, wrap_dim(dim, self.ndim)
    length = self.shape[dim]
    if any(size < 0 for size in split_sizes):
        raise RuntimeError(
            f"split_with_sizes expects split_sizes have only non-negative entries, but got split_sizes={list(split_sizes)}"
        )
    if sum(split_sizes) != length:
        raise RuntimeError(
            f"split_with_sizes expects split_sizes to sum exactly to {length} (input tensor's size at dimension {given}), "
            f"but got split_sizes={list(split_sizes)}"
        )
    return pieces(self, split_sizes, dim)


@everywhere
def piece_sizes(size, length):
    """Sizes of the pieces when a length is cut every ``size``; a list stays as it is."""
    if isinstance(size, list | tuple):
        return list(size)
    return [min(size, length - start) for start in range(0, length, size)] if length else [0]


def pieces(array, sizes, dim):
    """Views of consecutive pieces along a dimension."""
    before, start, found = (slice(None),) * dim, 0, []
    for size in sizes:
        found.append(array[(*before, slice(start, start + size))])
        start += size
    return found


@composite
def split_backward(grads, sizes, dim, full):
    """The outputs' gradients joined again."""
    dim = wrap_dim(dim, len(full))
    return cat(filled(grads, [(*full[:dim], n, *full[dim + 1 :]) for n in piece_sizes(sizes, full[dim])]), dim)
