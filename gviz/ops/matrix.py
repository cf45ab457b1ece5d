"""Matrix products. ``matmul`` is made of the others, as in PyTorch.

Source: PyTorch's derivatives.yaml, and LinearAlgebra.cpp.
"""

from __future__ import annotations

import numpy as np

from gviz.numbers.summing import matrix_product
from gviz.ops.rows import (
    ARRAYS,
    array_of,
    brief,
    broadcast_shape,
    check_one_dtype,
    composite,
    everywhere,
    fact,
    formula,
    lacks,
    of,
    op,
    refuse,
    row,
)


def multiply(left, right, names, addend=None):
    """The product of two matrices, added to a term; refuses others, and matrices that do not fit."""
    for name, array in zip(names, (left, right), strict=True):
        if array.ndim != 2:
            raise RuntimeError(f"{name} must be a matrix" + (f", got {array.ndim}-D tensor" if names[0] == "mat1" else ""))
    if left.shape[1] != right.shape[0]:
        sizes = " and ".join(f"{rows}x{columns}" for rows, columns in (left.shape, right.shape))
        raise RuntimeError(f"mat1 and mat2 shapes cannot be multiplied ({sizes})")
    if left.dtype != right.dtype:
        names = " != ".join(of(array.dtype).c_name for array in (left, right))
        raise RuntimeError(f"expected m1 and m2 to have the same dtype, but got: {names}")
    return matrix_product(left, right, addend)

def sum_of(addend, product, beta, alpha):
    """``beta * addend + alpha * product``; the addend has to fit, and counts for nothing (not even a nan) if beta is zero."""
    if addend.shape not in (product.shape, product.shape[1:]):
        ARRAYS["expand"](addend, product.shape)  # its message where it does not
    if product.dtype.kind in "iub":
        beta, alpha = int(beta), int(alpha)
    addend = addend if beta == 1 else addend * beta if beta else np.zeros_like(addend)
    return addend + (product if alpha == 1 else product * alpha)

# ------------------------------------------------------------------ two matrices, and what is added to them
row("mm", "MmBackward0", lambda self, mat2: multiply(self, mat2, ("self", "mat2")), "mm", promote="none",
    check=lacks("addmm_impl_cpu_", "b"), self="mm_left(grad, mat2, self_sym_sizes, self_sym_strides)",
    mat2="mm_right(grad, self, mat2_sym_sizes, mat2_sym_strides)")

# the gradients of both factors, each in the memory order of its factor: transposed if that lies column by column
fact("column_major", lambda sizes, strides: strides[0] == 1 and strides[1] == sizes[0])
formula("mm_left", lambda grad, mat2, sizes, strides:
    t(mm(mat2, t(grad))) if column_major(sizes, strides) else mm(grad, t(mat2)))
formula("mm_right", lambda grad, mat1, sizes, strides:
    t(mm(t(grad), mat1)) if column_major(sizes, strides) else mm(t(mat1), grad))

@op("AddmmBackward0", "addmm .addmm_", promote="none", check=lacks("addmm_impl_cpu_", "b"), self="maybe_multiply(grad, beta)",
    mat1="maybe_multiply(mm_left(grad, mat2, mat1_sym_sizes, mat1_sym_strides), alpha)",
    mat2="maybe_multiply(mm_right(grad, mat1, mat2_sym_sizes, mat2_sym_strides), alpha)")
def addmm(self, mat1, mat2, *, beta: Number = 1, alpha: Number = 1):
    for name, array in (("self", self), ("mat1", mat1)):
        check_one_dtype(array, mat2, name + " and mat2 must have the same dtype, but got {} and {}")
    if beta == 1 == alpha and self.shape in (shape := (*mat1.shape[:1], *mat2.shape[1:]), shape[1:]):
        return multiply(mat1, mat2, ("mat1", "mat2"), self)
    return sum_of(self, multiply(mat1, mat2, ("mat1", "mat2")), beta, alpha)

# ------------------------------------------------------------------ vectors
@op("MvBackward0", "mv", promote="none", check=lacks("addmv_impl_cpu", "b"), self="outer(grad, vec)", vec="mv(t(self), grad)")
def mv(self, vec):
    refuse(self.ndim != 2 or vec.ndim != 1, f"vector + matrix @ vector expected, got 1, {self.ndim}, {vec.ndim}")
    rows, columns = self.shape
    refuse(columns != vec.shape[0], f"size mismatch, got input ({rows}), mat ({rows}x{columns}), vec ({vec.shape[0]})")
    check_one_dtype(self, vec, "addmv input tensors must have the same dtype, but got {1}, {0}, and {1}")
    return self @ vec

row("addmv", "AddmvBackward0", lambda self, mat, vec, *, beta=1, alpha=1: sum_of(self, ARRAYS["mv"](mat, vec), beta, alpha),
    "addmv addmv_", promote="none", self="maybe_multiply(grad, beta)",
    mat="maybe_multiply(outer(grad, vec), alpha)", vec="maybe_multiply(mv(t(mat), grad), alpha)")

@composite("outer ger")
def outer(self, vec2):
    """Every product of an element of one vector with one of the other."""
    for name, vector in (("self", self), ("vec2", vec2)):
        refuse(len(vector.shape) != 1, f"outer: Expected 1-D argument {name}, but got {len(vector.shape)}-D")
    return mul(reshape(self, (numel_of(self), 1)), vec2)

@op("DotBackward0", "dot", promote="none", check=lacks("dot", "b"), self="grad * tensor", tensor="grad * self")
def dot(self, tensor):
    refuse(self.ndim != 1 or tensor.ndim != 1, f"1D tensors expected, but got {self.ndim}D and {tensor.ndim}D tensors")
    check_one_dtype(self, tensor, "dot : expected both vectors to have same dtype, but found {} and {}")
    if (left := len(self)) != (right := len(tensor)):
        sizes = f"to have the same number of elements, but got {left} and {right} elements respectively"
        raise RuntimeError(f"inconsistent tensor size, expected tensor [{left}] and src [{right}] {sizes}")
    return np.dot(self, tensor)

@op("VdotBackward0", "vdot", promote="none", check=lacks("vdot", "b"), self="grad * other", other="grad * self")
def vdot(self, other):
    dot.forward(self, other)
    return np.vdot(self, other)

# ------------------------------------------------------------------ batches
@op("BmmBackward0", "bmm", promote="none", check=lacks("bmm", "b"), self="bmm(grad, transpose(mat2, 1, 2))",
    mat2="bmm(transpose(self, 1, 2), grad)")
def bmm(self, mat2):
    refuse(self.ndim != 3 or mat2.ndim != 3, f"batch{1 if self.ndim != 3 else 2} must be a 3D tensor")
    if (want := [self.shape[0], self.shape[2]]) != (have := list(mat2.shape[:2])):
        raise RuntimeError(f"Expected size for first two dimensions of batch2 tensor to be: {want} but got: {have}.")
    check_one_dtype(self, mat2, "expected scalar type {} but found {}")
    if self.shape[2] * self.shape[1] * mat2.shape[2] < 400 and self.shape[2]:  # PyTorch's own loop, term after term
        return np.add.accumulate(self[..., None] * mat2[:, None], axis=2)[:, :, -1].copy()
    return matrix_product(self, mat2)

row("baddbmm", "BaddbmmBackward0", lambda self, batch1, batch2, *, beta=1, alpha=1:
    sum_of(self, ARRAYS["bmm"](batch1, batch2), beta, alpha),
    "baddbmm .baddbmm_", promote="none", self="maybe_multiply(grad, beta)",
    batch1="maybe_multiply(bmm(grad, transpose(batch2, 1, 2)), alpha)",
    batch2="maybe_multiply(bmm(transpose(batch1, 1, 2), grad), alpha)")

EACH = "expand(unsqueeze(grad, 0), (batch1_sym_argsize_0, batch1_sym_argsize_1, batch2_sym_argsize_2))"

row("addbmm", "AddbmmBackward0", lambda self, batch1, batch2, *, beta=1, alpha=1:
    sum_of(self, ARRAYS["bmm"](batch1, batch2).sum(axis=0, dtype=batch1.dtype), beta, alpha),
    "addbmm .addbmm_", promote="none", self="maybe_multiply(grad, beta)",
    batch1=f"maybe_multiply(bmm({EACH}, transpose(batch2, 1, 2)), alpha)",
    batch2=f"maybe_multiply(bmm(transpose(batch1, 1, 2), {EACH}), alpha)")

# ------------------------------------------------------------------ any two tensors
@composite("matmul linalg.matmul @")
def matmul(self, other):
    """The matrix product of any two tensors, made of dot, mv, mm or bmm with views around them."""
    left, right = len(self.shape), len(other.shape)
    if left == 0 or right == 0:
        raise RuntimeError(f"both arguments to matmul need to be at least 1D, but they are {left}D and {right}D")
    if left == 1 and right == 2:
        return squeeze_dim_(mm(unsqueeze(self, 0), other), 0)
    if max(left, right) <= 2:
        return (mm if right == 2 else mv if left == 2 else dot)(self, other)
    return matmul_folded(self, other) if folds(self, other) else matmul_batched(self, other)

brief("r@", lambda self, other: matmul(other, self))

@everywhere
def folds(self, other):
    """Whether a batch times one matrix or vector is one product: if that wants a gradient or no copy is needed."""
    left, right = len(self.shape), len(other.shape)
    if min(left, right) > 2:
        return False
    big, small = (self, other) if left >= right else (other, self)
    if getattr(small, "requires_grad", False) or left == 2:
        return getattr(small, "requires_grad", False)
    array = array_of(big) if left >= right else array_of(big).swapaxes(-1, -2)  # it is multiplied transposed
    sizes, strides = array.shape, array.strides
    return not array.size or all(strides[i] == strides[i + 1] * sizes[i + 1] for i in range(len(sizes) - 2))

@composite
def matmul_folded(self, other):
    """A batch of matrices times one matrix or vector: the batch is folded into the rows."""
    swapped = len(other.shape) > len(self.shape)
    big = transpose(other, -2, -1) if swapped else self
    small = (t(self) if len(self.shape) == 2 else self) if swapped else other
    shape = tuple(big.shape[:-1])
    folded = reshape(big, (count_of(shape), big.shape[-1]))
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
