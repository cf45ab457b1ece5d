"""Joining and splitting: lists of tensors go in, or come out.

Source: PyTorch's derivatives.yaml, and TensorShape.cpp.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from gviz.ops.rows import ARRAYS, brief, composite, everywhere, formula, op, refuse, row, wrap_dim


# ------------------------------------------------------------------ joining
@op("CatBackward0", "torch.cat torch.concat torch.concatenate", lists=("tensors",), hidden=("tensors_sym_sizes",),
    tensors="cat_backward(grad, dim, tensors_sym_sizes)")
def cat(tensors: Tensors, dim: int = 0):
    refuse(not tensors, "torch.cat(): expected a non-empty list of Tensors", ValueError)
    parts = [a for a in tensors if a.shape != (0,)]  # empty vectors are left out, whatever the dims of the others
    if not parts:
        return tensors[0].copy()
    first, axis = parts[0], wrap_dim(dim, parts[0].ndim)
    for i, a in enumerate(tensors):
        refuse(not a.ndim, f"zero-dimensional tensor (at position {i}) cannot be concatenated")
        if a.shape == (0,):
            continue
        if a.ndim != first.ndim:
            raise RuntimeError(f"Tensors must have same number of dimensions: got {first.ndim} and {a.ndim}")
        for d, (want, have) in enumerate(zip(first.shape, a.shape, strict=True)):
            if d != axis and want != have:
                raise RuntimeError(f"Sizes of tensors must match except in dimension {axis}. Expected size {want} but got size "
                                   f"{have} for tensor number {i} in the list.")
    return np.asanyarray(np.concatenate(parts, axis), order="C")
@composite
def cat_backward(grad, dim, sizes):
    dim, pieces, start = wrap_dim(dim, len(grad.shape)), [], 0
    for size in sizes:
        pieces.append(zeros_of(grad, size) if size == (0,) else narrow(grad, dim, start, size[dim]))
        start += 0 if size == (0,) else size[dim]
    return tuple(pieces)

@op("StackBackward0", "torch.stack", lists=("tensors",), hidden=("tensors_sym_sizes",),
    tensors="stack_backward(grad, dim, len(tensors_sym_sizes))")
def stack(tensors: Tensors, dim: int = 0):
    refuse(not tensors, "stack expects a non-empty TensorList")
    for i, a in enumerate(tensors):
        if a.shape != tensors[0].shape:
            raise RuntimeError(f"stack expects each tensor to be equal size, but got {list(tensors[0].shape)} at entry 0 and "
                               f"{list(a.shape)} at entry {i}")
    return np.asanyarray(np.stack(tensors, wrap_dim(dim, tensors[0].ndim + 1)), order="C")

formula("stack_backward", lambda grad, dim, count: tuple([select(grad, dim, i) for i in range(count)]))
@composite
def atleast(self, count):
    have = len(self.shape)
    if have >= count or have == 0:
        return self if have >= count else reshape(self, (1,) * count)
    wide = unsqueeze(self, 0) if have == 1 else self
    return wide if count == 2 else unsqueeze(wide, -1)
@everywhere
def tensor_list(tensors, name):
    """Return the tensors of a call that takes several, or a list of them; refuse anything else."""
    several = tensors[0] if len(tensors) == 1 and isinstance(tensors[0], list | tuple) else tensors
    for i, one in enumerate(several):
        refuse(not hasattr(one, "shape"),
               f"{name}(): expected Tensor as element {i} in argument 0, but got {type(one).__name__}", TypeError)
    return several
@composite
def widened(tensors, count):
    """One tensor, or several, with at least so many dims."""
    wide = tuple([atleast(one, count) for one in tensor_list(tensors, f"atleast_{count}d")])
    return wide[0] if len(tensors) == 1 and not isinstance(tensors[0], list | tuple) else wide
@composite
def stacked(tensors, name, count, dim):
    """Tensors of at least so many dims side by side."""
    refuse(not tensors, f"{name} expects a non-empty TensorList")
    wide = [atleast(one, count) for one in tensors]
    return cat(wide, min(dim, len(wide[0].shape) - 1))

brief("torch.atleast_1d", lambda *tensors: widened(tensors, 1))
brief("torch.atleast_2d", lambda *tensors: widened(tensors, 2))
brief("torch.atleast_3d", lambda *tensors: widened(tensors, 3))
brief("torch.hstack", lambda tensors: stacked(tensors, "hstack", 1, 1))
brief("torch.vstack torch.row_stack", lambda tensors: stacked(tensors, "vstack", 2, 0))
brief("torch.dstack", lambda tensors: stacked(tensors, "dstack", 3, 2))
brief("torch.column_stack", lambda tensors:
    stacked([one if len(one.shape) > 1 else reshape(one, (-1, 1)) for one in tensors], "column_stack", 2, 1))

# ------------------------------------------------------------------ splitting
@op("UnbindBackward0", "unbind", view=True, outputs=("...",), hidden=("self_sym_sizes",),
    self="unbind_backward(grad, dim, self_sym_sizes)")
def unbind(self, dim: int = 0):
    dim = wrap_dim(dim, self.ndim)
    refuse(not self.ndim, f"Dimension specified as {dim} but tensor has no dimensions", IndexError)
    return [self[(*(slice(None),) * dim, i, ...)] for i in range(self.shape[dim])]
@composite
def zeros_for_none(grads, sizes):
    like = next(g for g in grads if g is not None)
    return [zeros_of(like, size) if grad is None else grad for grad, size in zip(grads, sizes, strict=True)]
@composite
def unbind_backward(grads, dim, sizes):
    axis = wrap_dim(dim, len(sizes))
    return stack(zeros_for_none(grads, [(*sizes[:axis], *sizes[axis + 1 :])] * len(grads)), dim)

@everywhere
def length_along(value, dim, name):
    """Return the size along a dim; refuse to cut a number."""
    refuse(not value.shape, f"{name} expects at least a 1-dimensional tensor")
    return tuple(value.shape)[wrap_dim(dim, len(value.shape))]

SPLIT = "split_backward(grad, {}, dim, self_sym_sizes)"
@op("SplitBackward0", view=True, outputs=("...",), self=SPLIT.format("split_size"))
def split_size(self, split_size, dim=0):
    length, dim = length_along(self, dim, "split"), wrap_dim(dim, self.ndim)
    refuse(split_size < 0 or (split_size == 0 and length),
           f"split expects split_size be non-negative, but got split_size={split_size}" if split_size else
           f"split_size can only be 0 if dimension size is 0, but got dimension size of {length}")
    return pieces(self, piece_sizes(split_size, length), dim)
@op("SplitWithSizesBackward0", "split_with_sizes", view=True, outputs=("...",), self=SPLIT.format("split_sizes"))
def split_with_sizes(self, split_sizes: Ints, dim: int = 0):
    length, typed_dim, dim = length_along(self, dim, "split"), dim, wrap_dim(dim, self.ndim)
    refuse(sum(split_sizes) != length or min(split_sizes, default=0) < 0,
           f"split_with_sizes expects split_sizes to sum exactly to {length} (input tensor's size at "
           f"dimension {typed_dim}), but got split_sizes={list(split_sizes)}")
    return pieces(self, split_sizes, dim)


row("unsafe_split", "UnsafeSplitBackward0", lambda self, split_size, dim=0:
    [piece.copy() for piece in ARRAYS["split_size"](self, split_size, dim)],
    outputs=("...",), self=SPLIT.format("split_size"))

@everywhere
def piece_sizes(size, length):
    """Return the sizes of the pieces of a length that is cut every ``size``; a list stays as it is."""
    if isinstance(size, list | tuple):
        return list(size)
    return [min(size, length - start) for start in range(0, length, size)] if length else [0]

def pieces(array, sizes, dim):
    ends = np.cumsum((0, *sizes)).tolist()
    return [array[(*(slice(None),) * dim, slice(start, end))] for start, end in pairwise(ends)]
@composite
def split_backward(grads, sizes, dim, full):
    dim = wrap_dim(dim, len(full))
    return cat(zeros_for_none(grads, [(*full[:dim], n, *full[dim + 1 :]) for n in piece_sizes(sizes, full[dim])]), dim)
brief("split", lambda self, split_size_or_sections, dim=0: split_size(self, split_size_or_sections, dim),
    split_size_or_sections="int")
brief("split", lambda self, split_size_or_sections, dim=0: split_with_sizes(self, split_size_or_sections, dim),
    key="split_several", split_size_or_sections="Size")
@composite("chunk")
def chunk(self, chunks: int, dim: int = 0):
    refuse(chunks <= 0, f"chunk expects `chunks` to be greater than 0, got: {chunks}")
    length = length_along(self, dim, "chunk")
    return split_size(self, -(-length // chunks), dim) if length else split_with_sizes(self, (0,) * chunks, dim)
@composite
def cut(self, cuts, dim):
    """Return the pieces along a dim: so many, or what is between places."""
    length = length_along(self, dim, "tensor_split")
    cuts = cuts.tolist() if hasattr(cuts, "tolist") else cuts
    if isinstance(cuts, int):
        refuse(cuts <= 0, f"tensor_split(): number of sections must be larger than 0, got {cuts}")
        cuts = [i * (length // cuts) + min(i, length % cuts) for i in range(1, cuts)]
    return tuple([slice_row(self, dim, a, b, 1) for a, b in zip((0, *cuts), (*cuts, length), strict=True)])
brief("tensor_split", lambda self, indices, dim=0: cut(self, indices, dim), indices="Size")
brief("tensor_split", lambda self, tensor_indices_or_sections, dim=0: cut(self, tensor_indices_or_sections, dim),
    "tensor_split_by", tensor_indices_or_sections="Tensor")
brief("tensor_split", lambda self, sections, dim=0: cut(self, sections, dim), "tensor_split_evenly", sections="int")
@composite
def evenly_split(self, cuts, name, dim, rank):
    """Return the pieces along a dim (or the last one) of a tensor with so many dims at least."""
    refuse(len(self.shape) < rank,
           f"torch.{name} requires a tensor with at least {rank} dimension, but got a tensor with "
           f"{len(self.shape)} dimensions!")
    dim = min(dim, len(self.shape) - 1)
    refuse(isinstance(cuts, int) and (cuts <= 0 or self.shape[dim] % cuts),
           f"torch.{name} attempted to split along dimension {dim}, but the size of the dimension "
           f"{self.shape[dim]} is not divisible by the split_size {cuts}!")
    return cut(self, cuts, dim)
def even(name, dim, rank):
    names = f".{name} torch.{name}"  # sizes one by one are for the method
    brief(names, lambda self, sections: evenly_split(self, sections, name, dim, rank), sections="int")
    brief(names, lambda self, indices: evenly_split(self, indices, name, dim, rank), f"{name}_at", indices="Size")

for name, dim, rank in (("hsplit", 1, 1), ("vsplit", 0, 2), ("dsplit", 2, 3)):
    even(name, dim, rank)
