"""Inverses, determinants and systems of linear equations."""

from __future__ import annotations

import numpy as np

from gviz.ops.checks import check_floats
from gviz.numbers.dtypes import no_kernel
from gviz.numbers.words import LinAlgError, warn
from gviz.autograd.row import ARRAYS, composite, op



def factors(matrices):
    """L and U in one matrix each, and the rows exchanged on the way (counted from 1), as LAPACK gives them."""
    packed = np.array(matrices, order="C")
    count = min(packed.shape[-2:])
    pivots = np.zeros((*packed.shape[:-2], count), np.int32)
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
    if A.shape[-1] == 1:
        return expand(unsqueeze(unsqueeze(grad, -1), -1), tuple(A.shape))
    scaled = expand(unsqueeze(grad * result, -1), tuple(A.shape[:-1]))
    if zeros_in(result) and not hasattr(grad, "grad_fn"):  # times an inverse that PyTorch keeps finite
        A = where(unsqueeze(unsqueeze(equal(result, 0.0), -1), -1), eye_like(A), A)
    sides = transpose(diag_embed(scaled, 0, -2, -1), -2, -1)
    return linalg_solve(transpose(A, -2, -1), sides, True)


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
    sides = unsqueeze(grad, -1) if vector else grad
    side = linalg_solve(transpose(A, -2, -1), sides, left)
    flipped = transpose(unsqueeze(result, -1) if vector else result, -2, -1)
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
    sign = np.where(np.isnan(size), 0, sign)
    return np.asarray(sign, A.dtype), np.asarray(size, A.dtype), *column_factors(A)


@composite
def slogdet_backward(grads, A):
    """D log |det A| is the transposed inverse; the sign is flat."""
    if grads[1] is None:
        return None
    diagonal = diag_embed(expand(unsqueeze(grads[1], -1), tuple(A.shape[:-1])), 0, -2, -1)
    sides = transpose(diagonal, -2, -1)
    return linalg_solve(transpose(A, -2, -1), sides, True)


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
    lower = np.tril(matrices.swapaxes(-1, -2) if upper else matrices)  # the other triangle nobody looks at
    try:
        found = np.linalg.cholesky(lower)
        refused = np.isnan(np.diagonal(found, axis1=-2, axis2=-1)).any()
    except np.linalg.LinAlgError:
        refused = True
    if refused:
        batch, order = first_minor(lower + np.tril(lower, -1).swapaxes(-1, -2))
        raise LinAlgError(
            f"{name}: {batch}The factorization could not be completed because the input is not positive-definite (the leading "
            f"minor of order {order} is not positive-definite)."
        )
    return by_columns(found.swapaxes(-1, -2) if upper else found)


def first_minor(matrices):
    """Which matrix of a batch has a leading minor that is not positive, and the order of its first."""
    flat = matrices.reshape(-1, *matrices.shape[-2:])
    signs = ((i, k) for i, m in enumerate(flat) for k in range(1, m.shape[-1] + 1) if not np.linalg.det(m[:k, :k]) > 0)
    number, order = next(signs)
    return of_batch(matrices, number), order


def of_batch(matrices, number):
    """Which matrix an error is about, where there are several."""
    return f"(Batch element {number}): " if matrices.ndim > 2 else ""


@composite
def cholesky_backward(grad, upper, L):
    """Half the symmetric part of the factor times its gradient, between two inverses of the factor."""
    factor, slope = (transpose(L, -2, -1), transpose(grad, -2, -1)) if upper else (L, grad)
    product = tril(matmul(transpose(factor, -2, -1), slope), 0)
    half = (product + transpose(tril(product, -1), -2, -1)) * 0.5
    solved = linalg_solve_triangular(transpose(factor, -2, -1), half, True, True, False)
    return linalg_solve_triangular(factor, solved, False, False, False)


@op(
    "CholeskySolveBackward0",
    saves=("self",),
    self__input2="cholesky_solve_backward(grad, input2, result, upper, grad_input_mask)",
)
def cholesky_solve(self, input2, upper=False):
    check_triangle(self, input2, "cholesky_solve")
    triangle = np.triu(input2).swapaxes(-1, -2) if upper else np.tril(input2)
    return by_columns(np.linalg.solve(triangle.swapaxes(-1, -2), np.linalg.solve(triangle, self)))


def check_triangle(sides, matrix, name):
    """Refuse sides and matrices of a system that do not fit."""
    for which, array in (("b", sides), ("u" if name == "cholesky_solve" else "A", matrix)):
        if array.ndim < 2:
            raise RuntimeError(f"{which} should have at least 2 dimensions, but has {array.ndim} dimensions instead")
    if matrix.shape[-1] != matrix.shape[-2]:
        raise RuntimeError(
            f"{name}: A must be batches of square matrices, but they are {matrix.shape[-2]} by {matrix.shape[-1]}"
        )
    if matrix.shape[-2] != sides.shape[-2]:
        raise RuntimeError(
            f"Incompatible matrix sizes for {name}: each A matrix is {matrix.shape[-1]} by {matrix.shape[-1]} but each b "
            f"matrix is {sides.shape[-2]} by {sides.shape[-1]}"
        )


@composite
def cholesky_solve_backward(grad, input2, result, upper, wanted):
    """The right side's gradient solves the same system; the triangle's is the symmetric product with the solution."""
    side = cholesky_solve(grad, input2, upper)
    if not wanted[1]:
        return side, None
    product = matmul(side, transpose(result, -2, -1))
    product = product + transpose(product, -2, -1)
    return side, neg(matmul(input2, product) if upper else matmul(product, input2))


@op("CholeskyInverseBackward0", self="cholesky_inverse_backward(grad, self, upper, result)")
def cholesky_inverse(self, upper=False):
    check_square(self, "cholesky_inverse", "cholesky_inverse")
    triangle = np.linalg.inv(np.triu(self).swapaxes(-1, -2) if upper else np.tril(self))
    return by_columns(triangle.swapaxes(-1, -2) @ triangle)


@composite
def cholesky_inverse_backward(grad, L, upper, inverse):
    """The symmetric part of the gradient between two inverses, times the factor."""
    middle = matmul(inverse, matmul(grad + transpose(grad, -2, -1), inverse))
    return neg(matmul(L, middle) if upper else matmul(middle, L))


@op(
    "TriangularSolveBackward0",
    outputs=("solution", "cloned_coefficient"),
    self__A="triangular_solve_backward(grads, self, A, solution, upper, transpose, unitriangular, grad_input_mask)",
)
def triangular_solve(self, A, upper=True, transpose=False, unitriangular=False):
    warn(
        "torch.triangular_solve is deprecated in favor of torch.linalg.solve_triangularand will be removed in a future PyTorch "
        "release.\ntorch.linalg.solve_triangular has its arguments reversed and does not return a copy of one of the inputs.\n"
        "X = torch.triangular_solve(B, A).solution\nshould be replaced with\nX = torch.linalg.solve_triangular(A, B)."
    )
    check_triangle(self, A, "triangular_solve")
    matrix = A.swapaxes(-1, -2) if transpose else A
    found = ARRAYS["linalg_solve_triangular"](matrix, self, upper != transpose, True, unitriangular)
    return found, by_columns(np.broadcast_to(A, (*found.shape[:-2], *A.shape[-2:])))


@composite
def triangular_solve_backward(grads, self, A, solution, upper, turned, unitriangular, wanted):
    """As of :func:`solve_triangular_backward`; the copy of the triangle passes its gradient on."""
    side = triangle = None
    if grads[0] is not None:
        side = triangular_solve(grads[0], A, upper, not turned, unitriangular)[0]
        if wanted[1]:
            triangle = matmul(solution, transpose(side, -2, -1)) if turned else matmul(side, transpose(solution, -2, -1))
            triangle = neg(triangle)
            triangle = triu(triangle, int(unitriangular)) if upper else tril(triangle, -int(unitriangular))
    return side, added((triangle, grads[1]))


# ------------------------------------------------------------------ the exponential
@op("LinalgMatrixExpBackward0", self="matrix_exp_backward(grad, self)")
def linalg_matrix_exp(self):
    check_square(self, "linalg.matrix_exp", "")
    size = np.abs(self).sum(axis=-2).max(initial=0)
    halvings = max(0, int(np.ceil(np.log2(size))) + 1) if 0 < size < np.inf else 0
    small = self.astype(np.float64) / 2.0**halvings
    term = total = np.broadcast_to(np.eye(self.shape[-1]), self.shape)
    for k in range(1, 18):
        term = term @ small / k
        total = total + term
    for _ in range(halvings):
        total = total @ total
    return total.astype(self.dtype)


@composite
def matrix_exp_backward(grad, self):
    """The upper right block of the exponential of a matrix of blocks: the gradient above the diagonal of two transposed."""
    count, turned = self.shape[-1], transpose(self, -2, -1)
    blocks = zeros_of(grad, (*self.shape[:-2], 2 * count, 2 * count))
    for row, column, block in ((0, 0, turned), (count, count, turned), (0, count, grad)):
        blocks = overwritten(blocks, "copy_into", block, part=("block_of", row, column, count))
    return block_of(linalg_matrix_exp(blocks), 0, count, count)


@composite
def block_of(value, row, column, count):
    """A square block of a matrix."""
    return slice_row(slice_row(value, -2, row, row + count, 1), -1, column, column + count, 1)


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
    return np.array(matrices.swapaxes(-1, -2), order="C").swapaxes(-1, -2)


@op(
    "LinalgInvExBackward0",
    promote="none",
    A="inv_backward(grad, inverse)",
    outputs=("inverse", "info"),
)
def linalg_inv(A):
    check_square(A, "linalg.inv", "")
    try:
        return by_columns(np.linalg.inv(A)), np.zeros(A.shape[:-2], np.int32)
    except np.linalg.LinAlgError:
        raise LinAlgError(f"linalg.inv: {where_singular(A)} input matrix is singular.") from None


@composite
def inv_backward(grad, inverse):
    """The gradient between two transposed inverses; the last argument is made first, as in PyTorch."""
    inner = matmul(grad, transpose(inverse, -2, -1))
    return neg(matmul(transpose(inverse, -2, -1), inner))


def where_singular(A):
    """Which matrix of a batch, and which element of its diagonal, hinders the inversion."""
    packed = factors(A)[0].reshape(-1, *A.shape[-2:])
    zeros = np.diagonal(packed, axis1=-2, axis2=-1) == 0
    number = int(zeros.any(axis=-1).argmax())
    place = int(zeros[number].argmax()) + 1
    return f"{of_batch(A, number)}The diagonal element {place} is zero, the inversion could not be completed because the"
