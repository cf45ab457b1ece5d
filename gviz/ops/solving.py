"""Inverses, determinants and systems of linear equations.

Source: PyTorch's derivatives.yaml, and FunctionsManual.cpp (linalg_det_backward, linalg_solve_backward,
cholesky_backward) and BatchLinearAlgebra.cpp.
"""

from __future__ import annotations

import numpy as np

from gviz.ops.rows import (
    ARRAYS,
    Array,
    LinAlgError,
    brief,
    check_floats,
    check_one_dtype,
    check_square,
    composite,
    lacks,
    op,
    refuse,
    row,
)  # fmt: skip

KERNELS = {
    "linalg.svd": "linalg_svd_cpu", "linalg.qr": "geqrf_cpu", "linalg.eigh": "linalg_eigh_cpu", "linalg.det": "lu_cpu",
    "linalg.cholesky": "cholesky_cpu", "cholesky": "cholesky_cpu",
}  # fmt: skip # these refuse float16 by the kernel's name, the others in words

def check_matrix(array: Array, name: str, square: bool = True) -> None:
    """Refuse what is not a matrix, or batch of them, of floats; and (unless told not to) one with other rows than columns."""
    check_square(array, name, square)
    lacks(KERNELS.get(name, ""), "biue" if name in ("linalg.eigh", "cholesky") else "e",
          "" if name in KERNELS else f"{name}: Low precision dtypes not supported. Got {{name}}")(array)
    check_floats(array, name)

def by_columns(matrices: Array) -> Array:
    """Return matrices that lie in memory column by column, as LAPACK's results do in PyTorch."""
    return np.array(matrices.mT, order="C").mT

def of_batch(matrices, number):
    """Return which matrix an error is about, where there are several."""
    return f"(Batch element {number}): " if matrices.ndim > 2 else ""

FACTORS = ("LU", "pivots")
"""What :func:`factors` gives: saved, as in PyTorch, though the derivatives here do without."""

def factors(matrices: Array) -> tuple[Array, Array]:
    """Return L and U in one matrix each, and the rows exchanged on the way (counted from 1), as LAPACK gives them."""
    packed, rank = np.array(matrices, order="C"), min(matrices.shape[-2:])
    pivots = np.zeros((*matrices.shape[:-2], rank), np.int32)
    for place in np.ndindex(packed.shape[:-2]):
        matrix = packed[place]
        for k in range(rank):
            best = k + int(np.argmax(np.abs(matrix[k:, k])))
            pivots[place][k] = best + 1
            matrix[[k, best]] = matrix[[best, k]]
            if matrix[k, k]:
                matrix[k + 1 :, k] /= matrix[k, k]
                matrix[k + 1 :, k + 1 :] -= np.outer(matrix[k + 1 :, k], matrix[k, k + 1 :])
    return packed, pivots

def first_zeros(packed: Array) -> Array:
    """Return the number of the first zero on the diagonal of each matrix, from 1 on; 0 if there is none."""
    zero = np.diagonal(packed, axis1=-2, axis2=-1) == 0
    return np.where(zero.any(-1), zero.argmax(-1) + 1, 0).astype(np.int32)

def looked_up(matrices, by_column=False):
    """Return two functions that give the factors and the pivots, for those who look at them.

    For a determinant LAPACK is given columns: matrices that lie in memory row by row are factored transposed.
    """
    copy = (matrices.mT if by_column and matrices.flags.c_contiguous else matrices).copy()
    return lambda: factors(copy)[0], lambda: factors(copy)[1]

@op(None, nondiff=("A", "B"))
def solve_factored(A, B, is_finite):
    """Return the solution of ``A X = B`` for a singular matrix, as PyTorch's factors give it.

    Args:
        A: a singular matrix, or a batch with one.
        B: the right sides.
        is_finite: whether a tiny number divides where a pivot is 0; else the solution is infinite or nan.
    """
    packed, pivots = factors(A)
    sides = np.array(np.broadcast_to(B, A.shape))
    for place in np.ndindex(pivots.shape):
        rows, row_of = sides[place[:-1]], [place[-1], pivots[place] - 1]
        rows[row_of] = rows[row_of[::-1]]
    one = np.eye(A.shape[-1], dtype=A.dtype)
    if is_finite:
        packed = np.where((packed == 0) & (one == 1), np.finfo(A.dtype).eps, packed)
    return by_columns(substituted(packed, substituted(np.tril(packed, -1) + one, sides, False), True))

def signed_zero(matrices):
    """Return the 0 that is a singular matrix's determinant, with the sign of its factors."""
    packed, pivots = factors(matrices.mT if matrices.flags.c_contiguous else matrices)
    exchanges = (pivots != np.arange(1, pivots.shape[-1] + 1)).sum(-1)
    return np.diagonal(packed, axis1=-2, axis2=-1).prod(-1) * np.where(exchanges % 2, -1, 1).astype(packed.dtype)

# ------------------------------------------------------------------ inverses
@op("LinalgInvExBackward0", "linalg.inv_ex", promote="none", rounding="each", outputs=("inverse", "info"), internal=("name",),
    A="inv_backward(grad, inverse)")
def linalg_inv_ex(A, *, check_errors: bool = False, name="linalg.inv_ex"):
    check_matrix(A, "linalg.inv")
    try:
        return by_columns(np.linalg.inv(A)), np.zeros(A.shape[:-2], np.int32)
    except np.linalg.LinAlgError:
        info = first_zeros(factors(A)[0])
    if check_errors:
        number = np.flatnonzero(info)[0]
        raise LinAlgError(f"{name}: {of_batch(A, number)}The diagonal element {info.flat[number]} is zero, the inversion could "
                          "not be completed because the input matrix is singular.")
    return ARRAYS["solve_factored"](A, np.eye(A.shape[-1], dtype=A.dtype), False), info

@composite
def inv_backward(grad, inverse):
    """Return the gradient between two transposed inverses; the last argument is made first, as in PyTorch."""
    inner = matmul(grad, transpose(inverse, -2, -1))
    return neg(matmul(transpose(inverse, -2, -1), inner))

brief("linalg.inv", lambda A: linalg_inv_ex(A, True, "linalg.inv")[0])
brief("inverse", lambda self: linalg_inv_ex(self, True, "linalg.inv")[0])
brief("det", lambda self: linalg_det(self))

# ------------------------------------------------------------------ determinants
@op("LinalgDetBackward0", "linalg.det", promote="none", rounding="each", extras=FACTORS, saves=FACTORS,
    A="det_backward(grad, result, A)")
def linalg_det(A):
    check_matrix(A, "linalg.det")
    result = np.asarray(np.linalg.det(A), A.dtype)
    return signed_zero(A) if (result == 0).any() else result, *looked_up(A, by_column=True)

@composite
def det_backward(grad, result, A):
    """D det A = det A times the transposed inverse."""
    if not numel_of(A):
        return zeros_of(grad, tuple(A.shape))
    if A.shape[-1] == 1:
        return expand(unsqueeze(unsqueeze(grad, -1), -1), tuple(A.shape))
    scaled = expand(unsqueeze(grad * result, -1), tuple(A.shape[:-1]))
    sides = transpose(diag_embed(scaled, 0, -2, -1), -2, -1)
    if zeros_in(result) and not recording():  # times an inverse that PyTorch keeps finite
        return solve_factored(transpose(A, -2, -1), sides, True)
    return linalg_solve(transpose(A, -2, -1), sides, True)

@op("LinalgSlogdetBackward0", "linalg.slogdet", promote="none", rounding="each", outputs=("sign", "logabsdet"), extras=FACTORS,
    saves=FACTORS, A="slogdet_backward(grad, sign, A)")
def linalg_slogdet(A):
    check_matrix(A, "linalg.slogdet")
    sign, size = np.linalg.slogdet(A)
    sign = np.where(np.isnan(size), 0, sign).astype(A.dtype)
    return signed_zero(A) if (size == -np.inf).any() else sign, np.asarray(size, A.real.dtype), *looked_up(A, by_column=True)

@composite
def slogdet_backward(grads, sign, A):
    """D log |det A| is the transposed inverse; the sign is flat."""
    if grads[1] is None:
        return None
    sides = transpose(diag_embed(expand(unsqueeze(grads[1], -1), tuple(A.shape[:-1])), 0, -2, -1), -2, -1)
    if zeros_in(sign) and not recording():
        return solve_factored(transpose(A, -2, -1), sides, False)
    return linalg_solve(transpose(A, -2, -1), sides, True)

@composite("logdet")
def logdet(self):
    """Return the logarithm of a determinant; nan where that is negative, if it is real."""
    sign, size = linalg_slogdet(self)
    return log(sign) + size if is_complex(self) else where(equal(sign, -1.0), float("nan"), size)

# ------------------------------------------------------------------ systems of equations
@op("LinalgSolveExBackward0", "linalg.solve", promote="none", rounding="each", extras=FACTORS, saves=FACTORS,
    A__B="solve_backward(grad, result, A, left, grad_input_mask)")
def linalg_solve(A, B, *, left: bool = True):
    check_matrix(A, "linalg.solve")
    vector = B.ndim == 1 or B.shape == A.shape[:-1]
    sides = B[..., None] if vector else B
    check_one_dtype(A, B, "linalg.solve: Expected A and B to have the same dtype, but found {} and {} instead")
    if sides.shape[-2 if left else -1] != A.shape[-1]:
        shapes = " and ".join("{}x{}".format(*one.shape[-2:]) for one in (A, sides))
        equation = f"the equation {'AX' if left else 'XA'} = B ({shapes})"
        raise RuntimeError(f"linalg.solve: Incompatible shapes of A and B for {equation}")
    try:
        result = solved(A, sides, left)
    except np.linalg.LinAlgError:
        raise LinAlgError("torch.linalg.solve: The solver failed because the input matrix is singular.") from None
    return result[..., 0] if vector else result, *looked_up(A)

def solved(A, B, left):
    """Return the solution of ``A X = B`` or of ``X A = B``."""
    return by_columns(np.linalg.solve(A, B)) if left else np.linalg.solve(A.mT, B.mT).mT

@composite
def solve_backward(grad, result, A, left, mask):
    """Solve the transposed system for the right side's gradient; the matrix's is its product with the solution."""
    vector = len(result.shape) == 1 or tuple(result.shape) == tuple(A.shape[:-1])
    sides = unsqueeze(grad, -1) if vector else grad
    side = linalg_solve(transpose(A, -2, -1), sides, left)
    flipped = transpose(unsqueeze(result, -1) if vector else result, -2, -1)
    matrix = (neg(matmul(side, flipped)) if left else neg(matmul(flipped, side))) if mask[0] else None
    return matrix, (squeeze_dim(side, -1) if vector else side) if mask[1] else None

@op("LinalgSolveTriangularBackward0", "linalg.solve_triangular", promote="none", rounding="each",
    self__B="solve_triangular_backward(grad, self, result, upper, left, unitriangular, grad_input_mask)")
def linalg_solve_triangular(self, B, *, upper: bool, left: bool = True, unitriangular: bool = False):
    check_matrix(self, "linalg.solve_triangular")
    triangle = np.triu(self) if upper else np.tril(self)
    if unitriangular:
        triangle[..., np.eye(self.shape[-1], dtype=bool)] = 1
    try:
        return solved(triangle, B, left)
    except np.linalg.LinAlgError:  # PyTorch divides by the zeros on the diagonal
        return by_columns(substituted(triangle, B, upper)) if left else substituted(triangle.mT, B.mT, not upper).mT

def substituted(triangle, B, upper):
    """Return the solution of ``A X = B`` for a triangle, row by row: infinite or nan where the diagonal is zero."""
    X = np.array(np.broadcast_to(B, (*np.broadcast_shapes(triangle.shape[:-2], B.shape[:-2]), *B.shape[-2:])))
    order = range(X.shape[-2])
    for i in reversed(order) if upper else order:
        X[..., i, :] /= triangle[..., i, i, None]
        rest = slice(0, i) if upper else slice(i + 1, None)
        X[..., rest, :] -= triangle[..., rest, i, None] * X[..., None, i, :]
    return X

@composite
def solve_triangular_backward(grad, self, result, upper, left, unitriangular, mask):
    """Solve the transposed system for the right side's gradient; the triangle's is its product with the solution."""
    side = linalg_solve_triangular(transpose(self, -2, -1), grad, not upper, left, unitriangular)
    if not mask[0]:
        return None, side
    flipped = transpose(result, -2, -1)
    product = neg(matmul(side, flipped)) if left else neg(matmul(flipped, side))
    triangle = triu(product, int(unitriangular)) if upper else tril(product, -int(unitriangular))
    return triangle, side if mask[1] else None

# ------------------------------------------------------------------ Cholesky
row("linalg_cholesky_ex", "LinalgCholeskyExBackward0", lambda
    self, *, upper=False, check_errors=False, name="linalg.cholesky_ex": triangle_of(self, upper, name, check_errors),
    "linalg.cholesky_ex",
    promote="none", rounding="each", outputs=("L", "info"), internal=("name",), self="cholesky_backward(grad, upper, L)")

brief("linalg.cholesky", lambda self, *, upper=False: linalg_cholesky_ex(self, upper, True, "linalg.cholesky")[0],
    "linalg_cholesky")

row("cholesky", "CholeskyBackward0", lambda self, upper=False: triangle_of(self, upper, "cholesky", True)[0], "cholesky",
    rounding="each",
    self="cholesky_backward(grad, upper, result)")

def triangle_of(matrices, upper, name, is_checked):
    """Return the triangle whose product with its transpose is the matrix, and 0; else the order of the minor that is not."""
    check_matrix(matrices, name.removesuffix("_ex"))
    lower = np.tril(matrices.mT if upper else matrices)  # the other triangle nobody looks at
    info = np.zeros(matrices.shape[:-2], np.int32)
    try:
        triangle = np.linalg.cholesky(lower)
    except np.linalg.LinAlgError:
        triangle = np.array(np.nan)
    if np.isnan(triangle).any():
        whole = lower + np.tril(lower, -1).mT
        for place in np.ndindex(info.shape):
            matrix = whole[place]
            info[place] = next((k for k in range(1, len(matrix) + 1) if not np.linalg.det(matrix[:k, :k]) > 0), 0)
        bad = info[..., None, None] > 0
        triangle = np.where(bad, lower, np.linalg.cholesky(np.where(bad, np.eye(lower.shape[-1], dtype=lower.dtype), lower)))
    if is_checked and info.any():
        number = np.flatnonzero(info)[0]
        raise LinAlgError(f"{name}: {of_batch(matrices, number)}The factorization could not be completed because the input is not "
                          f"positive-definite (the leading minor of order {info.flat[number]} is not positive-definite).")
    return by_columns(triangle.mT if upper else triangle), info

@composite
def cholesky_backward(grad, upper, L):
    """Return half the symmetric part of the factor times its gradient, between two inverses of the factor."""
    factor, slope = (transpose(L, -2, -1), transpose(grad, -2, -1)) if upper else (L, grad)
    product = tril(matmul(transpose(factor, -2, -1), slope), 0)
    half = (product + transpose(tril(product, -1), -2, -1)) * 0.5
    inner = linalg_solve_triangular(transpose(factor, -2, -1), half, True, True, False)
    return linalg_solve_triangular(factor, inner, False, False, False)

@op("CholeskySolveBackward0", "cholesky_solve", promote="none", saves=("self",),
    self__input2="cholesky_solve_backward(grad, input2, result, upper, grad_input_mask)")
def cholesky_solve(self, input2, upper: bool = False):
    refuse(self.ndim < 2 or input2.ndim < 2, "b should have at least 2 dimensions, and u as well, but has "
           f"{self.ndim} and {input2.ndim} dimensions instead")
    lower = np.triu(input2).mT if upper else np.tril(input2)
    return by_columns(np.linalg.solve(lower.mT, np.linalg.solve(lower, self)))

@composite
def cholesky_solve_backward(grad, input2, result, upper, mask):
    """Solve for the right side's gradient; the factor's is its product with the symmetric part."""
    side = cholesky_solve(grad, input2, upper)
    if not mask[1]:
        return side, None
    product = matmul(side, transpose(result, -2, -1))
    both = product + transpose(product, -2, -1)
    return (side if mask[0] else None), neg(matmul(input2, both) if upper else matmul(both, input2))

# ------------------------------------------------------------------ least squares
@op("LinalgLstsqBackward0", promote="none", self__b="lstsq_backward(grad, self, b, grad_input_mask)")
def linalg_lstsq(self, b, rcond=None):
    solution = np.linalg.lstsq(self, b, np.finfo(self.dtype).eps * max(self.shape) if rcond is None else rcond)[0]
    return by_columns(solution) if b.ndim > 1 else solution

@composite
def lstsq_backward(grad, self, b, mask):
    """The solution is the pseudo-inverse times the right side."""
    inverse = linalg_pinv(self, None)
    wide, sides = (grad, b) if len(b.shape) > 1 else (unsqueeze(grad, -1), unsqueeze(b, -1))
    matrix = pinv_backward(matmul(wide, transpose(sides, -2, -1)), inverse, self) if mask[0] else None
    side = matmul(transpose(inverse, -2, -1), wide) if mask[1] else None
    return matrix, side if side is None or len(b.shape) > 1 else squeeze_dim(side, -1)
