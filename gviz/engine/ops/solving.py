"""Inverses, determinants and systems of linear equations."""

from __future__ import annotations

import numpy as np

from gviz.engine.calls.kernels import check_floats
from gviz.engine.data.dtypes import no_kernel
from gviz.engine.data.words import LinAlgError
from gviz.engine.op import composite, op


def factors(matrices):
    """L and U in one matrix each, and the rows exchanged on the way (counted from 1), as LAPACK gives them."""
    packed = np.array(matrices, order="C")
    count = packed.shape[-1]
    pivots = np.zeros(packed.shape[:-1], np.int32)
    for place in np.ndindex(packed.shape[:-2]):
        matrix, pivot = packed[place], pivots[place]
        for k in range(count):
            best = k + int(np.argmax(np.abs(matrix[k:, k])))
            pivot[k] = best + 1
            matrix[[k, best]] = matrix[[best, k]]
            if matrix[k, k]:
                matrix[k + 1 :, k] /= matrix[k, k]
                matrix[k + 1 :, k + 1 :] -= np.outer(matrix[k + 1 :, k], matrix[k, k + 1 :])
    return packed, pivots


FACTORS = ("LU", "pivots")
"""What :func:`factors` gives; saved too, as in PyTorch, though the derivatives here do without."""


def column_factors(matrices):
    """The same for a determinant: what lies in memory row by row is factored transposed, as LAPACK wants columns."""
    return factors(matrices.swapaxes(-1, -2) if matrices.flags.c_contiguous else matrices)


@op("LinalgDetBackward0", promote="none", extras=FACTORS, saves=FACTORS, A="det_backward(grad, result, A)")
def linalg_det(A):
    check_square(A, "linalg.det", "lu_cpu")
    return np.asarray(np.linalg.det(A), A.dtype), *column_factors(A)


@composite
def det_backward(grad, result, A):
    """D det A = det A times the transposed inverse."""
    if not numel_of(A):
        return zeros_of(grad, tuple(A.shape))
    scaled = expand(unsqueeze(grad * result, -1), tuple(A.shape[:-1]))
    return linalg_solve(transpose(A, -2, -1), transpose(diag_embed(scaled, 0, -2, -1), -2, -1), True)


@op(
    "LinalgSolveExBackward0",
    promote="none",
    extras=FACTORS,
    saves=FACTORS,
    A__B="solve_backward(grad, result, A, left, grad_input_mask)",
)
def linalg_solve(A, B, left=True):
    check_square(A, "linalg.solve", "lu_cpu")
    vector = B.ndim == 1 or B.shape == A.shape[:-1]
    sides = B[..., None] if vector else B
    if sides.shape[-2 if left else -1] != A.shape[-1]:
        raise RuntimeError(
            f"linalg.solve: Incompatible shapes of A and B for the equation {'AX' if left else 'XA'} = B "
            f"({A.shape[-2]}x{A.shape[-1]} and {sides.shape[-2]}x{sides.shape[-1]})"
        )
    try:
        if left:
            found = by_columns(np.linalg.solve(A, sides))
        else:
            found = np.linalg.solve(A.swapaxes(-1, -2), sides.swapaxes(-1, -2)).swapaxes(-1, -2)
            found = np.ascontiguousarray(found)
    except np.linalg.LinAlgError:
        raise LinAlgError("torch.linalg.solve: The solver failed because the input matrix is singular.") from None
    return found[..., 0] if vector else found, *factors(A)


@composite
def solve_backward(grad, result, A, left, wanted):
    """The gradient of the right side solves the transposed system; that of the matrix is its product with the solution."""
    vector = len(result.shape) == 1 or tuple(result.shape) == tuple(A.shape[:-1])
    sides, solution = (unsqueeze(grad, -1), unsqueeze(result, -1)) if vector else (grad, result)
    side = linalg_solve(transpose(A, -2, -1), sides, left)
    flipped = transpose(solution, -2, -1)
    matrix = (neg(matmul(side, flipped)) if left else neg(matmul(flipped, side))) if wanted[0] else None
    return matrix, (squeeze_dim(side, -1) if vector else side) if wanted[1] else None


@op(
    "LinalgSlogdetBackward0",
    promote="none",
    outputs=("sign", "logabsdet"),
    extras=FACTORS,
    saves=("sign", *FACTORS),
    A="slogdet_backward(grad, A)",
)
def linalg_slogdet(A):
    check_square(A, "linalg.slogdet", "")
    sign, size = np.linalg.slogdet(A)
    return np.asarray(sign, A.dtype), np.asarray(size, A.dtype), *column_factors(A)


@composite
def slogdet_backward(grads, A):
    """D log |det A| is the transposed inverse; the sign is flat."""
    if grads[1] is None:
        return None
    diagonal = diag_embed(expand(unsqueeze(grads[1], -1), tuple(A.shape[:-1])), 0, -2, -1)
    return linalg_solve(transpose(A, -2, -1), transpose(diagonal, -2, -1), True)


@composite
def logdet(A):
    """The logarithm of a determinant; nan where that is negative."""
    sign, size = linalg_slogdet(A)
    return where(equal(sign, -1.0), float("nan"), size)


# ------------------------------------------------------------------ triangles
@op(
    "LinalgSolveTriangularBackward0",
    promote="none",
    self__B="solve_triangular_backward(grad, self, result, upper, left, unitriangular, grad_input_mask)",
)
def linalg_solve_triangular(self, B, upper, left=True, unitriangular=False):
    check_square(self, "linalg.solve_triangular")
    triangle = np.triu(self) if upper else np.tril(self)
    if unitriangular:
        steps = np.arange(self.shape[-1])
        triangle[..., steps, steps] = 1
    if left:
        return by_columns(np.linalg.solve(triangle, B))
    return np.linalg.solve(triangle.swapaxes(-1, -2), B.swapaxes(-1, -2)).swapaxes(-1, -2)


@composite
def solve_triangular_backward(grad, self, result, upper, left, unitriangular, wanted):
    """The right side's gradient solves the transposed system; the triangle's is its product with the solution."""
    side = linalg_solve_triangular(transpose(self, -2, -1), grad, not upper, left, unitriangular)
    if not wanted[0]:
        return None, side
    flipped = transpose(result, -2, -1)
    product = neg(matmul(side, flipped)) if left else neg(matmul(flipped, side))
    triangle = triu(product, int(unitriangular)) if upper else tril(product, -int(unitriangular))
    return triangle, side if wanted[1] else None


@op("LinalgCholeskyExBackward0", promote="none", outputs=("L", "info"), self="cholesky_backward(grad, upper, L)")
def linalg_cholesky(self, upper=False):
    return triangle_of(self, upper, "linalg.cholesky"), np.zeros(self.shape[:-2], np.int32)


@op("CholeskyBackward0", self="cholesky_backward(grad, upper, result)")
def cholesky(self, upper=False):
    return triangle_of(self, upper, "cholesky")


def triangle_of(matrices, upper, name):
    """The triangle whose product with its transpose is the matrix, where that is positive-definite."""
    check_square(matrices, name, None if name == "cholesky" else "cholesky_cpu")
    if not matrices.size:
        return matrices
    if matrices.dtype.name not in ("float32", "float64"):
        raise no_kernel("cholesky_cpu", matrices.dtype)
    try:
        found = np.linalg.cholesky(matrices)
    except np.linalg.LinAlgError:
        raise LinAlgError(
            f"{name}: The factorization could not be completed because the input is not positive-definite (the leading minor "
            f"of order {first_minor(matrices)} is not positive-definite)."
        ) from None
    return by_columns(found.swapaxes(-1, -2) if upper else found)


def first_minor(matrices):
    """The order of the first leading minor that is not positive."""
    flat = matrices.reshape(-1, *matrices.shape[-2:])
    return next(k for m in flat for k in range(1, m.shape[-1] + 1) if not np.linalg.det(m[:k, :k]) > 0)


@composite
def cholesky_backward(grad, upper, L):
    """Half the symmetric part of the factor times its gradient, between two inverses of the factor."""
    factor, slope = (transpose(L, -2, -1), transpose(grad, -2, -1)) if upper else (L, grad)
    product = tril(matmul(transpose(factor, -2, -1), slope), 0)
    half = (product + transpose(tril(product, -1), -2, -1)) * 0.5
    solved = linalg_solve_triangular(transpose(factor, -2, -1), half, True, True, False)
    return linalg_solve_triangular(factor, solved, False, False, False)


# ------------------------------------------------------------------ inverses
def check_square(array, name, kernel=None):
    """Refuse all but square matrices; where a kernel is told, those that :func:`check_floats` refuses, too."""
    if array.ndim < 2:
        raise RuntimeError(f"{name}: The input tensor A must have at least 2 dimensions.")
    if array.shape[-1] != array.shape[-2]:
        raise RuntimeError(
            f"{name}: A must be batches of square matrices, but they are {array.shape[-2]} by {array.shape[-1]} matrices"
        )
    if kernel is not None:
        check_floats(array, name, kernel)


def by_columns(matrices):
    """Matrices that lie in memory column by column, as LAPACK's results do in PyTorch."""
    return np.ascontiguousarray(matrices.swapaxes(-1, -2)).swapaxes(-1, -2)


@op(
    "LinalgInvExBackward0",
    promote="none",
    A="neg(matmul(transpose(inverse, -2, -1), matmul(grad, transpose(inverse, -2, -1))))",
    outputs=("inverse", "info"),
)
def linalg_inv(A):
    check_square(A, "linalg.inv", "")
    try:
        return by_columns(np.linalg.inv(A)), np.zeros(A.shape[:-2], np.int32)
    except np.linalg.LinAlgError:
        raise LinAlgError(f"linalg.inv: {where_singular(A)} input matrix is singular.") from None


def where_singular(A):
    """Which matrix of a batch, and which element of its diagonal, hinders the inversion."""
    packed = factors(A)[0].reshape(-1, *A.shape[-2:])
    zeros = np.diagonal(packed, axis1=-2, axis2=-1) == 0
    number = int(zeros.any(axis=-1).argmax())
    batch = f"(Batch element {number}): " if A.ndim > 2 else ""
    place = int(zeros[number].argmax()) + 1
    return f"{batch}The diagonal element {place} is zero, the inversion could not be completed because the"
