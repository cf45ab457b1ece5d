"""Matrix products. ``matmul`` is made of the others, as in PyTorch."""

from __future__ import annotations

import numpy as np

from gviz.engine.op import ARRAYS, composite, everywhere, op
from gviz.engine.text import C_NAMES, broadcast_shape

everywhere(broadcast_shape)


def check_same_dtype(a, b):
    """PyTorch multiplies matrices of one dtype only.

    Raises:
        RuntimeError: they differ.
    """
    if a.dtype != b.dtype:
        raise RuntimeError(
            f"expected m1 and m2 to have the same dtype, but got: {C_NAMES.get(a.dtype.name, a.dtype.name)} != "
            f"{C_NAMES.get(b.dtype.name, b.dtype.name)}"
        )


@op(
    "MmBackward0",
    promote="none",
    self=lambda grad, mat2, self_sym_sizes, self_sym_strides: mm_left(grad, mat2, self_sym_sizes, self_sym_strides),
    mat2=lambda grad, self, mat2_sym_sizes, mat2_sym_strides: mm_right(grad, self, mat2_sym_sizes, mat2_sym_strides),
)
def mm(self, mat2):
    if self.ndim != 2:
        raise RuntimeError("self must be a matrix")
    if mat2.ndim != 2:
        raise RuntimeError("mat2 must be a matrix")
    check_shapes(self, mat2)
    check_same_dtype(self, mat2)
    return self @ mat2


def check_shapes(a, b):
    """The inner sizes have to agree.

    Raises:
        RuntimeError: in PyTorch's words.
    """
    if a.shape[1] != b.shape[0]:
        raise RuntimeError(
            f"mat1 and mat2 shapes cannot be multiplied ({a.shape[0]}x{a.shape[1]} and {b.shape[0]}x{b.shape[1]})"
        )


@everywhere
def column_major(sizes, strides):
    """Whether a matrix lies in memory column by column: its gradient is then computed transposed."""
    return strides[0] == 1 and strides[1] == sizes[0]


@composite
def mm_left(grad, mat2, sizes, strides):
    """The gradient of a product's left factor, in the memory order of that factor."""
    if column_major(sizes, strides):
        return t(mm(mat2, t(grad)))
    return mm(grad, t(mat2))


@composite
def mm_right(grad, mat1, sizes, strides):
    """The gradient of a product's right factor, in the memory order of that factor."""
    if column_major(sizes, strides):
        return t(mm(t(grad), mat1))
    return mm(t(mat1), grad)


@op(
    "AddmmBackward0",
    promote="none",
    self=lambda grad, beta: maybe_multiply(grad, beta),
    mat1=lambda grad, mat2, mat1_sym_sizes, mat1_sym_strides, alpha: maybe_multiply(
        mm_left(grad, mat2, mat1_sym_sizes, mat1_sym_strides), alpha
    ),
    mat2=lambda grad, mat1, mat2_sym_sizes, mat2_sym_strides, alpha: maybe_multiply(
        mm_right(grad, mat1, mat2_sym_sizes, mat2_sym_strides), alpha
    ),
)
def addmm(self, mat1, mat2, beta=1, alpha=1):
    if mat1.ndim != 2 or mat2.ndim != 2:
        raise RuntimeError(
            f"{'mat1' if mat1.ndim != 2 else 'mat2'} must be a matrix, got "
            f"{mat1.ndim if mat1.ndim != 2 else mat2.ndim}-D tensor"
        )
    check_shapes(mat1, mat2)
    check_same_dtype(mat1, mat2)
    product = mat1 @ mat2
    ARRAYS["expand"](self, product.shape)  # its message where the addend does not fit
    return (self if beta == 1 else self * beta) + (product if alpha == 1 else product * alpha)


@op("MvBackward0", promote="none", self=lambda grad, vec: outer(grad, vec), vec=lambda grad, self: mv(t(self), grad))
def mv(self, vec):
    if self.ndim != 2 or vec.ndim != 1:
        raise RuntimeError(f"vector + matrix @ vector expected, got 1, {self.ndim}, {vec.ndim}")
    if self.shape[1] != vec.shape[0]:
        raise RuntimeError(
            f"size mismatch, got input ({self.shape[0]}), mat ({self.shape[0]}x{self.shape[1]}), vec ({vec.shape[0]})"
        )
    check_same_dtype(self, vec)
    return self @ vec


@composite
def outer(self, vec2):
    """Every product of an element of one vector with one of the other."""
    return mul(view(self, (numel_of(self), 1)), vec2)


@op("DotBackward0", promote="none", self=lambda grad, tensor: grad * tensor, tensor=lambda grad, self: grad * self)
def dot(self, tensor):
    if self.ndim != 1 or tensor.ndim != 1:
        raise RuntimeError(f"1D tensors expected, but got {self.ndim}D and {tensor.ndim}D tensors")
    if self.dtype != tensor.dtype:
        name = {"float32": "Float", "float64": "Double", "int64": "Long"}
        raise RuntimeError(
            f"dot : expected both vectors to have same dtype, but found {name.get(self.dtype.name, self.dtype.name)} and "
            f"{name.get(tensor.dtype.name, tensor.dtype.name)}"
        )
    if self.shape != tensor.shape:
        raise RuntimeError(
            f"inconsistent tensor size, expected tensor [{self.shape[0]}] and src [{tensor.shape[0]}] to have the same "
            "number of elements, "
            f"but got {self.shape[0]} and {tensor.shape[0]} elements respectively"
        )
    return np.dot(self, tensor)


@op(
    "BmmBackward0",
    promote="none",
    self=lambda grad, mat2: bmm(grad, transpose(mat2, 1, 2)),
    mat2=lambda grad, self: bmm(transpose(self, 1, 2), grad),
)
def bmm(self, mat2):
    if self.ndim != 3 or mat2.ndim != 3:
        raise RuntimeError(f"batch{1 if self.ndim != 3 else 2} must be a 3D tensor")
    if self.shape[0] != mat2.shape[0] or self.shape[2] != mat2.shape[1]:
        raise RuntimeError(
            f"Expected size for first two dimensions of batch2 tensor to be: [{self.shape[0]}, {self.shape[2]}] but got: "
            f"[{mat2.shape[0]}, {mat2.shape[1]}]."
        )
    return self @ mat2


@composite
def matmul(self, other):
    """The matrix product of any two tensors, made of dot, mv, mm or bmm with views around them."""
    left, right = len(self.shape), len(other.shape)
    if left == 0 or right == 0:
        raise RuntimeError(f"both arguments to matmul need to be at least 1D, but they are {left}D and {right}D")
    if left == 1 and right == 1:
        return dot(self, other)
    if left == 2 and right == 1:
        return mv(self, other)
    if left == 1 and right == 2:
        return squeeze_dim_(mm(unsqueeze(self, 0), other), 0)
    if left == 2 and right == 2:
        return mm(self, other)
    if (left >= 3 and right <= 2) or (right >= 3 and left <= 2):
        return matmul_folded(self, other)
    return matmul_batched(self, other)


@composite
def matmul_folded(self, other):
    """A batch of matrices times one matrix or vector: the batch is folded into the rows."""
    swapped = len(other.shape) > len(self.shape)
    big = transpose(other, -1, -2) if swapped else self
    small = (t(self) if len(self.shape) == 2 else self) if swapped else other
    rows = 1
    for size in big.shape[:-1]:
        rows *= size
    folded = reshape(big, (rows, big.shape[-1]))
    shape = tuple(big.shape[:-1])
    if len(small.shape) == 1:
        return unsafe_view(mv(folded, small), shape)
    product = unsafe_view(mm(folded, small), (*shape, small.shape[-1]))
    return clone(transpose(product, -1, -2)) if swapped else product


@composite
def matmul_batched(self, other):
    """Two batches of matrices: both are expanded to the common batch and multiplied one by one."""
    n, m, p = self.shape[-2], self.shape[-1], other.shape[-1]
    batch = broadcast_shape(tuple(self.shape[:-2]), tuple(other.shape[:-2]))
    count = 1
    for size in batch:
        count *= size
    left = reshape(expand(self, (*batch, n, m)), (count, n, m))
    right = reshape(expand(other, (*batch, other.shape[-2], p)), (count, other.shape[-2], p))
    return unsafe_view(bmm(left, right), (*batch, n, p))
