"""Determinants and systems of linear equations."""

from __future__ import annotations

import numpy as np

from gviz.engine.op import composite, op
from gviz.engine.ops.products import check_square


def factors(matrices):
    """L and U in one matrix each, and the rows exchanged on the way (counted from 1), as LAPACK gives them."""
    packed = np.array(matrices, order="C")
    count = packed.shape[-1]
    pivots = np.zeros(packed.shape[:-1], np.int32)
    for matrix, pivot in zip(packed.reshape(-1, count, count), pivots.reshape(-1, count), strict=True):
        for k in range(count):
            best = k + int(np.argmax(np.abs(matrix[k:, k])))
            pivot[k] = best + 1
            matrix[[k, best]] = matrix[[best, k]]
            if matrix[k, k]:
                matrix[k + 1 :, k] /= matrix[k, k]
                matrix[k + 1 :, k + 1 :] -= np.outer(matrix[k + 1 :, k], matrix[k, k + 1 :])
    return packed, pivots


@op(
    "LinalgDetBackward0",
    promote="none",
    extras=("LU", "pivots"),
    A=lambda grad, result, A, LU, pivots: det_backward(grad, result, A),
)
def linalg_det(A):
    check_square(A, "linalg.det")
    return np.asarray(np.linalg.det(A), A.dtype), *factors(A)


@composite
def det_backward(grad, result, A):
    """D det A = det A times the transposed inverse."""
    scaled = expand(unsqueeze(grad * result, -1), tuple(A.shape[:-1]))
    return linalg_solve(transpose(A, -2, -1), transpose(diag_embed(scaled, 0, -2, -1), -2, -1), True)


@op(
    "LinalgSolveExBackward0",
    promote="none",
    extras=("LU", "pivots"),
    A__B=lambda grad, result, A, LU, pivots, left, grad_input_mask: solve_backward(grad, result, A, left, grad_input_mask),
)
def linalg_solve(A, B, left=True):
    check_square(A, "linalg.solve")
    vector = B.ndim == 1 or B.shape == A.shape[:-1]
    sides = B[..., None] if vector else B
    try:
        if left:
            found = np.linalg.solve(A, sides)
        else:
            found = np.linalg.solve(A.swapaxes(-1, -2), sides.swapaxes(-1, -2)).swapaxes(-1, -2)
    except np.linalg.LinAlgError:
        raise np.linalg.LinAlgError("linalg.solve: The solver failed because the input matrix is singular.") from None
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
