"""Matrix products. ``matmul`` is made of the others, as in PyTorch."""

from __future__ import annotations

import numpy as np

from gviz.ops.checks import check_one_dtype
from gviz.numbers.dtypes import no_kernel, of
from gviz.numbers.shapes import broadcast_shape
from gviz.autograd.row import ARRAYS, composite, everywhere, op

everywhere(broadcast_shape)


def check_same_dtype(a, b, kernel="addmm_impl_cpu_"):
    """Refuse matrices of two dtypes, and booleans."""
    if a.dtype != b.dtype:
        left, right = (of(v.dtype).c_name for v in (a, b))
        raise RuntimeError(f"expected m1 and m2 to have the same dtype, but got: {left} != {right}")
    if a.dtype.kind == "b" and a.size and b.size:
        raise no_kernel(kernel, a.dtype)


@op(
    "MmBackward0",
    promote="none",
    self="mm_left(grad, mat2, self_sym_sizes, self_sym_strides)",
    mat2="mm_right(grad, self, mat2_sym_sizes, mat2_sym_strides)",
)
def mm(self, mat2):
    for name, given in (("self", self), ("mat2", mat2)):
        if given.ndim != 2:
            raise RuntimeError(f"{name} must be a matrix")
    check_shapes(self, mat2)
    check_same_dtype(self, mat2)
    return self @ mat2


def check_shapes(a, b):
    """Refuse matrices whose inner sizes do not agree."""
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
    self="maybe_multiply(grad, beta)",
    mat1="maybe_multiply(mm_left(grad, mat2, mat1_sym_sizes, mat1_sym_strides), alpha)",
    mat2="maybe_multiply(mm_right(grad, mat1, mat2_sym_sizes, mat2_sym_strides), alpha)",
)
def addmm(self, mat1, mat2, beta=1, alpha=1):
    for name, a in (("self", self), ("mat1", mat1)):
        check_one_dtype(a, mat2, name + " and mat2 must have the same dtype, but got {} and {}")
    for name, given in (("mat1", mat1), ("mat2", mat2)):
        if given.ndim != 2:
            raise RuntimeError(f"{name} must be a matrix, got {given.ndim}-D tensor")
    check_shapes(mat1, mat2)
    check_same_dtype(mat1, mat2)
    return scaled(self, mat1 @ mat2, beta, alpha)


def scaled(self, product, beta, alpha):
    """``beta * self + alpha * product``; the addend has to fit."""
    ARRAYS["expand"](self, product.shape)  # its message where it does not
    beta, alpha = (np.asarray(v).astype(self.dtype) if self.dtype.kind in "iub" else v for v in (beta, alpha))
    addend = np.zeros_like(self) if beta == 0 else self if beta == 1 else self * beta
    return addend + (product if alpha == 1 else product * alpha)


@op("MvBackward0", promote="none", self="outer(grad, vec)", vec="mv(t(self), grad)")
def mv(self, vec):
    if self.ndim == 0:
        raise IndexError("Dimension specified as 0 but tensor has no dimensions")
    if self.ndim != 2 or vec.ndim != 1:
        raise RuntimeError(f"vector + matrix @ vector expected, got 1, {self.ndim}, {vec.ndim}")
    if self.shape[1] != vec.shape[0]:
        raise RuntimeError(
            f"size mismatch, got input ({self.shape[0]}), mat ({self.shape[0]}x{self.shape[1]}), vec ({vec.shape[0]})"
        )
    check_one_dtype(self, vec, "addmv input tensors must have the same dtype, but got {1}, {0}, and {1}")
    check_same_dtype(self, vec, "addmv_impl_cpu")
    return self @ vec


@composite
def outer(self, vec2):
    """Every product of an element of one vector with one of the other."""
    return mul(reshape(self, (numel_of(self), 1)), vec2)


@op("DotBackward0", promote="none", self="grad * tensor", tensor="grad * self")
def dot(self, tensor):
    if self.ndim != 1 or tensor.ndim != 1:
        raise RuntimeError(f"1D tensors expected, but got {self.ndim}D and {tensor.ndim}D tensors")
    check_one_dtype(self, tensor, "dot : expected both vectors to have same dtype, but found {} and {}")
    if self.shape != tensor.shape:
        raise RuntimeError(
            f"inconsistent tensor size, expected tensor [{self.shape[0]}] and src [{tensor.shape[0]}] to have the same "
            f"number of elements, but got {self.shape[0]} and {tensor.shape[0]} elements respectively"
        )
    check_same_dtype(self, tensor, "dot")
    return np.dot(self, tensor)


@op("VdotBackward0", promote="none", self="grad * other", other="grad * self")
def vdot(self, other):
    return ARRAYS["dot"](self, other)


@op("BmmBackward0", promote="none", self="bmm(grad, transpose(mat2, 1, 2))", mat2="bmm(transpose(self, 1, 2), grad)")
def bmm(self, mat2):
    if self.ndim != 3 or mat2.ndim != 3:
        raise RuntimeError(f"batch{1 if self.ndim != 3 else 2} must be a 3D tensor")
    if self.shape[0] != mat2.shape[0] or self.shape[2] != mat2.shape[1]:
        raise RuntimeError(
            f"Expected size for first two dimensions of batch2 tensor to be: [{self.shape[0]}, {self.shape[2]}] but got: "
            f"[{mat2.shape[0]}, {mat2.shape[1]}]."
        )
    if self.size and mat2.size:
        check_one_dtype(self, mat2, "expected scalar type {} but found {}")
    if self.dtype.kind == "b":
        check_same_dtype(self, mat2, "bmm")
    return self.astype(mat2.dtype, copy=False) @ mat2  # they differ only where nothing is multiplied


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
        return written(squeeze_dim_(mm(unsqueeze(self, 0), other), 0))
    if left == 2 and right == 2:
        return mm(self, other)
    return matmul_folded(self, other) if folds(self, other) else matmul_batched(self, other)


@everywhere
def written(value):
    """A tensor that counts as written in place, as PyTorch's own squeezing of a product does."""
    if hasattr(value, "version_cell"):
        value.version_cell().count += 1
    return value


@everywhere
def folds(self, other):
    """Whether a batch of matrices times one matrix or vector is one product of matrices, its batch folded into the rows.

    As PyTorch decides it: always where the small factor wants a gradient (its gradient is then not summed over a batch), else
    where no copy is needed.
    """
    left, right = len(self.shape), len(other.shape)
    if max(left, right) < 3 or min(left, right) > 2:
        return False
    big, small = (self, other) if left >= right else (other, self)
    if getattr(small, "requires_grad", False):
        return True
    if left == 2:
        return False
    array = getattr(big, "_array", big)
    sizes, strides = array.shape, array.strides
    if left < right:  # it is multiplied transposed
        strides = (*strides[:-2], strides[-1], strides[-2])
        sizes = (*sizes[:-2], sizes[-1], sizes[-2])
    return not array.size or all(strides[i] == strides[i + 1] * sizes[i + 1] for i in range(len(sizes) - 2))


@composite
def matmul_folded(self, other):
    """A batch of matrices times one matrix or vector: the batch is folded into the rows."""
    swapped = len(other.shape) > len(self.shape)
    big = transpose(other, -2, -1) if swapped else self
    small = (t(self) if len(self.shape) == 2 else self) if swapped else other
    folded = reshape(big, (count_of(big.shape[:-1]), big.shape[-1]))
    shape = tuple(big.shape[:-1])
    if len(small.shape) == 1:
        return unsafe_view(mv(folded, small), shape)
    product = unsafe_view(mm(folded, small), (*shape, small.shape[-1]))
    product = transpose(product, -2, -1) if swapped else product
    return product if contiguous(product) else clone_contiguous(product)


@composite
def matmul_batched(self, other):
    """Two batches of matrices: both are expanded to the common batch and multiplied one by one."""
    left, right = len(self.shape), len(other.shape)
    if left == right == 3 and self.shape[0] != other.shape[0]:
        if self.shape[0] == 1 and getattr(self, "requires_grad", False):
            return matmul(squeeze_dim(self, 0), other)
        if other.shape[0] == 1 and getattr(other, "requires_grad", False):
            return matmul(self, squeeze_dim(other, 0))
    n, m = (self.shape[-2] if left > 1 else 1), self.shape[-1]
    k, p = (other.shape[-2] if right > 1 else other.shape[0]), (other.shape[-1] if right > 1 else 1)
    batch = broadcast_shape(tuple(self.shape[:-2]), tuple(other.shape[:-2]))
    count = count_of(batch)
    first = reshape(expand(self, (*batch, n, m)), (count, n, m))
    if right == 1:
        second = unsqueeze(reshape(expand(other, (*batch, k)), (count, k)), 2)
        return unsafe_view(squeeze_dim(bmm(first, second), -1), (*batch, n) if left > 1 else batch)
    second = reshape(expand(other, (*batch, k, p)), (count, k, p))
    return unsafe_view(bmm(first, second), (*batch, n, p) if left > 1 else (*batch, p))
