"""Products of tensors beside those of two matrices: cross and Kronecker products, powers of a matrix, three factors.

Source: PyTorch's derivatives.yaml, and Cross.cpp and LinearAlgebra.cpp.
"""

from __future__ import annotations

import numpy as np

from gviz.ops.rows import (
    check_one_dtype,
    check_square,
    composite,
    dtypes,
    formula,
    lacks,
    op,
    refuse,
    row,
    wrap_dim,
)


@op("LinalgCrossBackward0", "linalg.cross", check=lambda self, other: check_one_dtype(self, other, "linalg.cross: {} and {}"),
    promote="none", self="linalg_cross(other, grad, dim)", other="linalg_cross(grad, self, dim)")
def linalg_cross(self, other, *, dim: int = -1):
    axis = wrap_dim(dim, self.ndim)
    refuse(self.ndim != other.ndim, "linalg.cross: inputs must have the same number of dimensions.")
    ours, theirs = self.shape[axis], other.shape[axis]
    refuse((ours, theirs) != (3, 3),
           f"linalg.cross: inputs dimension {dim} must have length 3. Got {ours} and {theirs}")
    (a, b, c), (x, y, z) = np.moveaxis(self, axis, 0), np.moveaxis(other, axis, 0)
    return np.stack([b * z - c * y, c * x - a * z, a * y - b * x], axis)

@composite("kron")
def kron(self, other):
    """Return each element of one tensor times the whole other one."""
    count = max(len(self.shape), len(other.shape))
    a, b = ((1,) * (count - len(one.shape)) + tuple(one.shape) for one in (self, other))
    left = unsafe_view(self, tuple(n for size in a for n in (size, 1)))
    right = unsafe_view(other, tuple(n for size in b for n in (1, size)))
    products, sizes = mul(left, right), tuple(m * n for m, n in zip(a, b, strict=True))
    return unsafe_view(products, viewed_sizes(products, sizes))

# ------------------------------------------------------------------ powers
@composite("matrix_power linalg.matrix_power")
def matrix_power(self, n: int):
    """Return a matrix multiplied by itself: by squaring, in PyTorch's order."""
    check_square(self, "linalg.matrix_power")
    if n == 0:
        return copy_into(clone(self), eye_like(self))
    if n < 0:
        return inverse(self) if n == -1 else matrix_power(inverse(self), -n)
    if n == 1:
        return clone(self)
    if n == 3:
        return matmul(matmul(self, self), self)
    result, factor = self if n % 2 else None, self
    while n := n // 2:
        factor = matmul(factor, factor)
        if n % 2:
            result = factor if result is None else matmul(result, factor)
    return result

row("eye_like", None, lambda self: np.zeros_like(self) + np.eye(self.shape[-1], dtype=self.dtype), nondiff=("self",))

# ------------------------------------------------------------------ three factors
def check_bilinear(input1, weight, input2):
    names = [dtypes.of(one.dtype).c_name for one in (input1, input2, weight)]
    refuse(len({*names}) > 1, "All tensors must have the same dtype, got input1: {}, input2: {}, weight: {}".format(*names))
    lacks("bmm", "b")(input1)

@op("TrilinearBackward0", skips_sole_input=True, promote="none", check=check_bilinear,
    i1__i2__i3="trilinear_backward(grad, i1, i2, i3, expand1, expand2, expand3, sumdim, grad_input_mask)")
def trilinear(i1, i2, i3, expand1, expand2, expand3, sumdim):
    wide = (np.expand_dims(a, dims) for a, dims in ((i1, expand1), (i2, expand2), (i3, expand3)))
    return np.prod(np.broadcast_arrays(*wide), axis=0, dtype=i1.dtype).sum(axis=sumdim, dtype=i1.dtype)

# the gradient times the two other factors: a product of three again
formula("trilinear_backward", lambda grad, i1, i2, i3, expand1, expand2, expand3, sumdim, mask: (
    trilinear(grad, i2, i3, sumdim, expand2, expand3, expand1) if mask[0] else None,
    trilinear(i1, grad, i3, expand1, sumdim, expand3, expand2) if mask[1] else None,
    trilinear(i1, i2, grad, expand1, expand2, sumdim, expand3) if mask[2] else None))

@composite("torch.bilinear F.bilinear")
def bilinear(input1, input2, weight, bias: Tensor | None = None):
    """Return ``x1 @ A @ x2`` for each matrix A of the weight, plus a bias."""
    left, right = (reshape(one, (-1, one.shape[-1])) for one in (input1, input2))
    result = reshape(trilinear(left, weight, right, (1, 3), (0,), (1, 2), (2, 3)), (*input1.shape[:-1], weight.shape[0]))
    return result if bias is None else result + bias
