"""Elements in another place: repeat, flip, roll, triangles, diagonals, trace, unfold, grids.

Source: PyTorch's derivatives.yaml, and TensorTransformations.cpp and TriangularOps.cpp.
"""

from __future__ import annotations

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from gviz.ops.joining import tensor_list
from gviz.ops.reduction import summed
from gviz.ops.rows import (
    ARRAYS,
    alike,
    array_of,
    brief,
    broadcast_shape,
    composite,
    fact,
    formula,
    lacks,
    op,
    public_names,
    refuse,
    row,
    warn,
    wrap_dim,
    wrap_dims,
)
from gviz.ops.shape import expand, view


# ------------------------------------------------------------------ copies side by side
@op("RepeatBackward0", ".repeat", self="repeat_backward(grad, repeats, self_sym_sizes)")
def repeat(self, repeats: Size):
    refuse(len(repeats) < self.ndim,
           "Number of dimensions of repeat dims can not be smaller than number of dimensions of tensor")
    return np.ascontiguousarray(np.tile(self, repeats))
@composite
def repeat_backward(grad, repeats, sizes):
    if 0 in repeats:
        return zeros_of(grad, sizes)
    extra, shape, axes = len(repeats) - len(sizes), [], []
    for _ in range(extra):
        grad = sum_dim(grad, (0,))
    for count, size in zip(repeats[extra:], sizes, strict=True):
        if count != 1:
            axes.append(len(shape))
            shape.append(count)
        shape.append(size)
    return sum_dim(reshape(grad, tuple(shape)), tuple(axes)) if axes else grad

brief(".tile torch.tile", lambda self, dims: repeat(self, (1,) * (len(self.shape) - len(dims)) + dims), dims="Size")
@composite(".repeat_interleave torch.repeat_interleave")
def repeat_interleave(self, repeats: object, dim: int | None = None, *, output_size: int | None = None):
    refuse(isinstance(repeats, float),
           "repeat_interleave(): argument 'repeats' must be int or Tensor, not float", TypeError)
    if dim is None:
        self, dim = self if len(self.shape) == 1 else reshape(self, (-1,)), 0
    shape, dim = tuple(self.shape), wrap_dim(dim, len(self.shape))
    if not isinstance(repeats, int):
        return index_select(self, dim, places_repeated(expand(repeats, (shape[dim],))))
    spread = clone(expand(unsqueeze(self, dim + 1), (*shape[: dim + 1], repeats, *shape[dim + 1 :])))
    return view(spread, (*shape[:dim], shape[dim] * repeats, *shape[dim + 1 :]))
row("places_repeated", None, lambda repeats, *, output_size=None:
    np.repeat(np.arange(repeats.size, dtype=repeats.dtype), repeats), "torch.repeat_interleave",
    check=lacks("repeat_interleave_cpu", "bfc"), nondiff=("repeats",))

# ------------------------------------------------------------------ turned round
@op("FlipBackward0", ".flip torch.flip", self="flip(grad, dims)")
def flip(self, dims: Size):
    return np.flip(self, wrap_dims(dims, self.ndim)).copy("K")
brief("fliplr", lambda self: refuse(self.ndim < 2, "Input must be >= 2-d.") or flip(self, (1,)))
brief("flipud", lambda self: refuse(not self.ndim, "Input must be >= 1-d.") or flip(self, (0,)))
fact("negated", lambda numbers: tuple(-n for n in numbers))
@op("RollBackward0", "roll", self="roll(grad, negated(reversed(shifts)), tuple(reversed(dims)))")
def roll(self, shifts: Ints, dims: Ints = ()):
    refuse(len(shifts) != (len(dims) or 1),
           f"shifts and dimensions must align. shifts: {len(shifts)}, dims:{len(dims)}")
    return np.asanyarray(np.roll(self, shifts, [wrap_dim(d, self.ndim) for d in dims] if dims else None), order="C")
@op("Rot90Backward0", "rot90", self="rot90(grad, -k, dims)")
def rot90(self, k: int = 1, dims: Size = (0, 1)):
    return np.rot90(self, k, wrap_dims(dims, self.ndim)).copy("K")

# ------------------------------------------------------------------ triangles and diagonals
def triangle(name):
    def part(self, diagonal: int = 0):
        refuse(self.ndim < 2, f"{name}: input tensor must have at least 2 dimensions")
        return getattr(np, name)(np.asanyarray(self, order="C"), diagonal)
    return part

for name in ("tril", "triu"):
    row(name, f"{name.title()}Backward0", triangle(name), f"{name} .{name}_", self=f"{name}(grad, diagonal)")

@op("DiagonalBackward0", "diagonal", view=True, self="diagonal_backward(grad, self_sym_sizes, offset, dim1, dim2)")
def diagonal(self, offset: int = 0, dim1: int = 0, dim2: int = 1):
    dims = wrap_dim(dim1, self.ndim), wrap_dim(dim2, self.ndim)
    refuse(dims[0] == dims[1], f"diagonal dimensions cannot be identical {dim1}, {dim2}")
    result = np.diagonal(self, offset, *dims)
    result.flags.writeable = self.flags.writeable
    return result
brief("linalg.diagonal", lambda A, *, offset=0, dim1=-2, dim2=-1: diagonal(A, offset, dim1, dim2), "linalg_diagonal",
    offset="int", dim1="int", dim2="int")
brief("linalg.vecdot", lambda x, y, *, dim=-1: sum_dim(conj(x) * y, (dim,), False), "linalg_vecdot")
alike("diagonal_copy", "DiagonalBackward0_copy", "diagonal")
@op("DiagonalBackwardBackward0", grad_output="diagonal(grad, offset, dim1, dim2)")
def diagonal_backward(grad_output, input_sizes, offset, dim1, dim2):
    full = np.zeros(input_sizes, grad_output.dtype)
    ARRAYS["diagonal"](full, offset, dim1, dim2)[...] = grad_output
    return full
@op("DiagEmbedBackward0", "diag_embed", self="diagonal(grad, offset, dim1, dim2)")
def diag_embed(self, offset: int = 0, dim1: int = -2, dim2: int = -1):
    shape = list(self.shape[:-1])
    for dim in sorted(wrap_dims((dim1, dim2), self.ndim + 1)):
        shape.insert(dim, self.shape[-1] + abs(offset))
    full = np.zeros(shape, self.dtype)
    ARRAYS["diagonal"](full, offset, dim1, dim2)[...] = self
    return full
@composite("diag")
def diag(self, diagonal: int = 0):
    refuse(len(self.shape) not in (1, 2), f"diag(): Supports 1D or 2D tensors. Got {len(self.shape)}D")
    return diag_embed(self, diagonal) if len(self.shape) == 1 else diagonal_copy(self, diagonal)
brief("diagflat", lambda self, offset=0: diag(ravel(self), offset))
@op("TraceBackward0", "trace", check=lacks("trace", "b"), self="trace_backward(grad, self_sym_sizes)")
def trace(self):
    refuse(self.ndim != 2, f"trace: expected a matrix, but got tensor with dim {self.ndim}")
    return np.trace(summed(self))
formula("trace_backward", lambda grad, sizes:
    view(index_fill_tensor(zeros_of(grad, (sizes[0] * sizes[1],)), 0, diagonal_places(grad, sizes), grad), sizes))
row("diagonal_places", None, lambda self, sizes: np.arange(0, sizes[0] * sizes[1], sizes[1] + 1)[: min(sizes)],
    nondiff=("self",))

# ------------------------------------------------------------------ windows, grids, differences
@op("UnfoldBackward0", ".unfold", view=True, self="unfold_backward(grad, self_sym_sizes, dimension, size, step)")
def unfold(self, dimension: int, size: int, step: int):
    dim = wrap_dim(dimension, self.ndim)
    refuse(step <= 0, f"step is {step} but must be > 0")
    refuse(size > self.shape[dim],
           f"maximum size for tensor at dimension {dim} is {self.shape[dim]} but size is {size}")
    return sliding_window_view(self, size, dim, writeable=True)[(slice(None),) * dim + (slice(None, None, step),)]
@op("UnfoldBackwardBackward0", grad_in="unfold(grad, dim, size, step)")
def unfold_backward(grad_in, input_sizes, dim, size, step):
    full = np.zeros(input_sizes, grad_in.dtype)
    np.add.at(ARRAYS["unfold"](full, dim, size, step), np.s_[...], grad_in)
    return full
fact("is_bool", lambda value: array_of(value).dtype.kind == "b")
@composite("torch.broadcast_tensors")
def broadcast_tensors(*tensors):
    tensors = tensor_list((tensors,), "broadcast_tensors")
    shape = broadcast_shape(*[tuple(one.shape) for one in tensors])
    return tuple([one if tuple(one.shape) == shape else expand(one, shape) for one in tensors])
@public_names("torch.meshgrid")
def meshgrid(*tensors, indexing: str | None = None):
    vectors = tensor_list(tensors, "meshgrid")
    refuse(not vectors or any(len(one.shape) > 1 or one.dtype != vectors[0].dtype for one in vectors),
           "torch.meshgrid: expected 0D or 1D tensors of one dtype, at least one")
    refuse(indexing not in (None, "ij", "xy"),
           f"meshgrid: indexing must be one of 'xy' or 'ij', but received: {indexing}")
    if indexing is None:
        warn("torch.meshgrid: in an upcoming release, it will be required to pass the indexing argument.")
    order = (1, 0, *range(2, len(vectors))) if indexing == "xy" and vectors[1:] else range(len(vectors))
    shape = tuple([vectors[i].numel() for i in order])
    return tuple([expand(view(vector, tuple([n if i == axis else 1 for i, n in enumerate(shape)])), shape)
                  for vector, axis in zip(vectors, order, strict=True)])

@composite("diff")
def diff(self, n: int = 1, dim: int = -1, prepend: Tensor | None = None, append: Tensor | None = None):
    refuse(n < 0 or not self.shape,
           f"diff(): order must be non-negative and input at least one-dimensional, but got n = {n}")
    if not n:
        return copy_into(zeros_like(self), self)
    if not prepend is append is None:
        self = cat([one for one in (prepend, self, append) if one is not None], dim)
    for _ in range(min(n, self.shape[dim])):
        first, second = narrow(self, dim, 0, self.shape[dim] - 1), narrow(self, dim, 1, self.shape[dim] - 1)
        self = logical_xor(second, first) if is_bool(self) else sub(second, first)
    return self
