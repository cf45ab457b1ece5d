"""Products of more than two matrices: addmv, baddbmm, einsum, tensordot, kron, powers."""

from __future__ import annotations

import numpy as np

from gviz.numbers.shapes import wrap_dim
from gviz.autograd.row import ARRAYS, composite, op
from gviz.ops.matrix import check_same_dtype, scaled


@op(
    "AddmvBackward0",
    promote="none",
    self="maybe_multiply(grad, beta)",
    mat="maybe_multiply(outer(grad, vec), alpha)",
    vec="maybe_multiply(mv(t(mat), grad), alpha)",
)
def addmv(self, mat, vec, beta=1, alpha=1):
    if mat.ndim != 2 or vec.ndim != 1 or self.ndim > 1:
        raise RuntimeError(f"vector + matrix @ vector expected, got {self.ndim}, {mat.ndim}, {vec.ndim}")
    if self.shape not in {(), (1,), (mat.shape[0],)}:
        raise RuntimeError(
            f"size mismatch, got input ({self.shape[0]}), mat ({mat.shape[0]}x{mat.shape[1]}), vec ({vec.shape[0]})"
        )
    return scaled(self, ARRAYS["mv"](mat, vec), beta, alpha)


@op(
    "AddrBackward0",
    promote="none",
    self="maybe_multiply(grad, beta)",
    vec1="maybe_multiply(mv(grad, vec2), alpha)",
    vec2="maybe_multiply(mv(t(grad), vec1), alpha)",
)
def addr(self, vec1, vec2, beta=1, alpha=1):
    for name, vector in (("vec1", vec1), ("vec2", vec2)):
        if vector.ndim != 1:
            raise RuntimeError(f"addr: Expected 1-D argument {name}, but got {vector.ndim}-D")
    for name, factor in (("beta", beta), ("alpha", alpha)):
        if isinstance(factor, float) and all(a.dtype.kind in "iub" for a in (self, vec1, vec2)):
            raise RuntimeError(f"For integral input tensors, argument {name} must not be a floating point number.")
    return scaled(self, np.outer(vec1, vec2), beta, alpha)


@op(
    "BaddbmmBackward0",
    promote="none",
    self="maybe_multiply(grad, beta)",
    batch1="maybe_multiply(bmm(grad, transpose(batch2, 1, 2)), alpha)",
    batch2="maybe_multiply(bmm(transpose(batch1, 1, 2), grad), alpha)",
)
def baddbmm(self, batch1, batch2, beta=1, alpha=1):
    check_same_dtype(batch1, batch2, "baddbmm")
    return scaled(self, ARRAYS["bmm"](batch1, batch2), beta, alpha)


@op(
    "AddbmmBackward0",
    promote="none",
    self="maybe_multiply(grad, beta)",
    batch1="maybe_multiply(bmm(expand(unsqueeze(grad, 0), (batch1_sym_argsize_0, batch1_sym_argsize_1, "
    "batch2_sym_argsize_2)), transpose(batch2, 1, 2)), alpha)",
    batch2="maybe_multiply(bmm(transpose(batch1, 1, 2), expand(unsqueeze(grad, 0), (batch1_sym_argsize_0, "
    "batch1_sym_argsize_1, batch2_sym_argsize_2))), alpha)",
)
def addbmm(self, batch1, batch2, beta=1, alpha=1):
    check_same_dtype(batch1, batch2)
    return scaled(self, ARRAYS["bmm"](batch1, batch2).sum(axis=0, dtype=batch1.dtype), beta, alpha)


@op("LinalgCrossBackward0", self="linalg_cross(other, grad, dim)", other="linalg_cross(grad, self, dim)")
def linalg_cross(self, other, dim=-1):
    if self.ndim != other.ndim:
        raise RuntimeError("linalg.cross: inputs must have the same number of dimensions.")
    axis = wrap_dim(dim, self.ndim)
    if self.shape[axis] != 3 or other.shape[axis] != 3:
        raise RuntimeError(
            f"linalg.cross: inputs dimension {dim} must have length 3. Got {self.shape[axis]} and {other.shape[axis]}"
        )
    (a, b, c), (x, y, z) = np.moveaxis(self, axis, 0), np.moveaxis(other, axis, 0)
    return np.stack([b * z - c * y, c * x - a * z, a * y - b * x], axis)


@composite
def sumproduct_pair(left, right, dims):
    """Two tensors multiplied and summed over dims (which stay, with size one): PyTorch's way through bmm."""
    if not dims:
        return mul(left, right)
    both, only_left, only_right = [], [], []
    for i, (a, b) in enumerate(zip(left.shape, right.shape, strict=True)):
        if i in dims:
            if a != 1 and b == 1:
                left = sum_dim(left, (i,), True)
            elif b != 1 and a == 1:
                right = sum_dim(right, (i,), True)
        elif a != 1 and b != 1:
            both.append(i)
        elif a != 1:
            only_left.append(i)
        else:
            only_right.append(i)
    if only_left and only_right and only_right[-1] < only_left[0]:
        left, right, only_left, only_right = right, left, only_right, only_left
    dims = list(dims)
    shape = [left.shape[i] for i in both + only_left] + [1] * len(dims) + [right.shape[i] for i in only_right]
    rows, columns, batch = (sizes_at(left, only_left), sizes_at(right, only_right), sizes_at(left, both))
    inner = sizes_at(left, dims)
    left = reshape(permute(left, both + only_left + dims + only_right), (batch, rows, inner))
    right = reshape(permute(right, both + dims + only_right + only_left), (batch, inner, columns))
    order = both + only_left + dims + only_right
    return permute(view(bmm(left, right), tuple(shape)), tuple(order.index(i) for i in range(len(order))))


@composite
def sizes_at(value, dims):
    """The number of elements along some dims together."""
    return count_of([value.shape[dim] for dim in dims])


@composite
def tensordot_over(self, other, dims1, dims2):
    """Two tensors multiplied and summed over pairs of dims: permuted to two matrices, or vectors, and multiplied."""
    first, second, dtype = self, other, getattr(self.dtype, "np", self.dtype)
    for i, j in zip(dims1, dims2, strict=True):
        if other.shape[j] == 1 and self.shape[i] != 1:
            first = sum_dim(first, (i,), True, dtype)
        elif self.shape[i] == 1 and other.shape[j] != 1:
            second = sum_dim(second, (j,), True, dtype)
        elif self.shape[i] != other.shape[j]:
            raise RuntimeError(
                f"contracted dimensions need to match, but first has size {self.shape[i]} in dim {i} and second has size "
                f"{other.shape[j]} in dim {j}"
            )
    rows = [i for i in range(len(self.shape)) if i not in wrap_dims(dims1, len(self.shape))]
    columns = [i for i in range(len(other.shape)) if i not in wrap_dims(dims2, len(other.shape))]
    shape = tuple(first.shape[i] for i in rows) + tuple(second.shape[i] for i in columns)
    inner = sizes_at(first, dims1)
    left = permute(first, (*rows, *dims1))
    if sizes_at(first, rows) == sizes_at(second, columns) == 1:  # all is summed
        right = permute(second, (*dims2, *columns))
        if viewable(left, (inner,)) and viewable(right, (inner,)):
            right, left = (v if len(v.shape) == 1 else reshape(v, (inner,)) for v in (right, left))
            return reshape(dot(left, right), shape)
        return reshape(sum_typed(mul(squeeze_all(left), squeeze_all(right)), dtype), shape)
    left = reshape(left, (sizes_at(first, rows), inner))
    right = reshape(permute(second, (*dims2, *columns)), (inner, sizes_at(second, columns)))
    return reshape(mm(left, right), shape)


@composite
def kron(self, other):
    """Each element of one tensor times the whole other one."""
    count = max(len(self.shape), len(other.shape))
    a = (1,) * (count - len(self.shape)) + tuple(self.shape)
    b = (1,) * (count - len(other.shape)) + tuple(other.shape)
    spread = mul(
        unsafe_view(self, tuple(n for size in a for n in (size, 1))),
        unsafe_view(other, tuple(n for size in b for n in (1, size))),
    )
    return unsafe_view(spread, tuple(m * n for m, n in zip(a, b, strict=True)))


# ------------------------------------------------------------------ powers
@composite
def matrix_power(self, n):
    """A matrix multiplied by itself: by squaring, in PyTorch's order."""
    if len(self.shape) < 2:
        raise RuntimeError("linalg.matrix_power: The input tensor A must have at least 2 dimensions.")
    if n == 0:
        return copy_into(clone(self), eye_like(self))
    if n < 0:
        self, n = linalg_inv(self)[0], -n
        if n == 1:
            return self
    if n == 1:
        return clone(self)
    if n <= 3:
        square = matmul(self, self)
        return square if n == 2 else matmul(square, self)
    result, factor = None, None
    while n:
        factor = self if factor is None else matmul(factor, factor)
        if n % 2:
            result = factor if result is None else matmul(result, factor)
        n //= 2
    return result


@op(None, nondiff=("self",))
def eye_like(self):
    return np.broadcast_to(np.eye(self.shape[-1], dtype=self.dtype), self.shape).copy()


# ------------------------------------------------------------------ three factors
@op(
    "TrilinearBackward0",
    sparing=True,
    i1__i2__i3="trilinear_backward(grad, i1, i2, i3, expand1, expand2, expand3, sumdim, grad_input_mask)",
)
def trilinear(i1, i2, i3, expand1, expand2, expand3, sumdim):
    wide = (np.expand_dims(a, dims) for a, dims in ((i1, expand1), (i2, expand2), (i3, expand3)))
    return np.prod(np.broadcast_arrays(*wide), axis=0, dtype=i1.dtype).sum(axis=sumdim, dtype=i1.dtype)


@composite
def trilinear_backward(grad, i1, i2, i3, expand1, expand2, expand3, sumdim, wanted):
    """The gradient times the two other factors: a product of three again."""
    return (
        trilinear(grad, i2, i3, sumdim, expand2, expand3, expand1) if wanted[0] else None,
        trilinear(i1, grad, i3, expand1, sumdim, expand3, expand2) if wanted[1] else None,
        trilinear(i1, i2, grad, expand1, expand2, sumdim, expand3) if wanted[2] else None,
    )


@composite
def bilinear(input1, input2, weight, bias=None):
    """``x1 @ A @ x2`` for each matrix A of the weight, plus a bias."""
    rows, columns = input1.shape[-1], input2.shape[-1]
    left, right = reshape(input1, (-1, rows)), reshape(input2, (-1, columns))
    result = reshape(trilinear(left, weight, right, (1, 3), (0,), (1, 2), (2, 3)), (*input1.shape[:-1], weight.shape[0]))
    return result if bias is None else result + bias
