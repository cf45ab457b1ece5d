"""Matrices taken apart: eigenvalues of symmetric ones, singular values, QR; and the pseudo-inverse."""

from __future__ import annotations

import numpy as np

from gviz.autograd.row import composite, op
from gviz.numbers.words import LinAlgError
from gviz.ops.solving import by_columns, check_matrix, of_batch


@composite
def on_diagonal(value, operation, operand):
    """A value whose diagonal was changed by an operation with a number, or with other values."""
    return overwritten(value, operation, operand, part=("diagonal", 0, -2, -1))


# ------------------------------------------------------------------ eigenvalues
@op(
    "LinalgEighBackward0", "linalg.eigh", promote="none", outputs=("eigenvalues", "eigenvectors"),
    A="eigh_backward(grad[0], grad[1], eigenvalues, eigenvectors)",
)  # fmt: skip
def linalg_eigh(A, UPLO: str = "L"):
    check_matrix(A, "linalg.eigh")
    values, vectors = np.linalg.eigh(A, UPLO)
    return values, by_columns(vectors)

@composite("linalg.eigvalsh")
def linalg_eigvalsh(A, UPLO: str = "L"):
    """The eigenvalues of symmetric matrices."""
    return linalg_eigh(A, UPLO)[0]

@composite
def eigh_backward(values, vectors, L, V):
    """The gradient between the eigenvectors: that of the values on the diagonal, that of the vectors over their distances."""
    if vectors is None:
        flipped = transpose(V, -2, -1)  # right operands are made first, as in PyTorch
        return matmul(V * unsqueeze(values, -2), flipped)
    turned = matmul(transpose(V, -2, -1), vectors)
    gaps = unsqueeze(L, -1)
    gaps = on_diagonal(unsqueeze(L, -2) - gaps, "fill", 1.0)
    inner = overwritten((turned - transpose(turned, -2, -1)) * 0.5, "div", gaps)
    if values is not None:
        inner = on_diagonal(inner, "copy_into", values)
    return matmul(V, matmul(inner, transpose(V, -2, -1)))


# ------------------------------------------------------------------ singular values
@op(
    "LinalgSvdBackward0", "linalg.svd", promote="none", outputs=("U", "S", "Vh"),
    A="svd_backward(grad, full_matrices, U, S, S_sym_argsize_minus_1, Vh)",
)  # fmt: skip
def linalg_svd(A, full_matrices: bool = True, *, driver: str | None = None):
    check_matrix(A, "linalg.svd", square=False)
    left, values, right = singular(A, full_matrices)
    return by_columns(left), values, by_columns(right)

def singular(matrices, full, vectors=True):
    """The singular vectors and values; refuses what is not a number."""
    try:
        return np.linalg.svd(matrices, full, vectors)
    except np.linalg.LinAlgError:
        number = int(np.isnan(matrices).any(axis=(-2, -1)).argmax())
        raise LinAlgError(
            f"linalg.svd: {of_batch(matrices, number)}The algorithm failed to converge because the input matrix contained "
            "non-finite values."
        ) from None

@composite("linalg.svdvals")
def linalg_svdvals(A, *, driver: str | None = None):
    """The singular values, the largest first."""
    return linalg_svd(A, False)[1]

@composite
def svd_backward(grads, full_matrices, U, S, k, Vh):
    """The gradient between the singular vectors, as PyTorch writes it; only those of the singular values count."""
    left, values, right = grads
    if full_matrices:
        Vh, U = narrow(Vh, -2, 0, k), narrow(U, -1, 0, k)  # last arguments are made first, as in PyTorch
        right = None if right is None else narrow(right, -2, 0, k)
        left = None if left is None else narrow(left, -1, 0, k)
    rows, columns = U.shape[-2], Vh.shape[-1]
    if left is None and right is None:
        return matmul(U, unsqueeze(values, -1) * Vh) if rows >= columns else matmul(U * unsqueeze(values, -2), Vh)
    inner = singular_turns(left, right, U, S, Vh)
    if values is not None:
        inner = inner + diag_embed(values, 0, -2, -1)
    if rows > k and left is not None:
        scaled = left / unsqueeze(S, -2)
        outside = matmul(U, matmul(transpose(U, -2, -1), scaled))
        return matmul(matmul(U, inner) + scaled - outside, Vh)
    if columns > k and right is not None:
        scaled = right / unsqueeze(S, -1)
        outside = matmul(matmul(scaled, transpose(Vh, -2, -1)), Vh)
        return matmul(U, matmul(inner, Vh) + scaled - outside)
    return matmul(U, matmul(inner, Vh)) if rows >= columns else matmul(matmul(U, inner), Vh)

@composite
def singular_turns(left, right, U, S, Vh):
    """The part of the gradient by which the singular vectors turn within their space."""
    if left is not None:
        left = matmul(transpose(U, -2, -1), left)
        left = left - transpose(left, -2, -1)
    if right is not None:
        right = matmul(Vh, transpose(right, -2, -1))
        right = right - transpose(right, -2, -1)
    square = S * S
    column = unsqueeze(square, -1)  # right operands are made first, as in PyTorch
    gaps = on_diagonal(unsqueeze(square, -2) - column, "fill", 1.0)
    if right is None:
        return (left / gaps) * unsqueeze(S, -2)
    if left is None:
        return unsqueeze(S, -1) * (right / gaps)
    right = unsqueeze(S, -1) * right
    return (left * unsqueeze(S, -2) + right) / gaps


# ------------------------------------------------------------------ an orthogonal and a triangular factor
@op("LinalgQrBackward0", "linalg.qr", promote="none", outputs=("Q", "R"), A="qr_backward(grad[0], grad[1], Q, R, mode)")
def linalg_qr(A, mode: str = "reduced"):
    check_matrix(A, "linalg.qr", square=False)
    if mode not in ("reduced", "complete", "r"):
        raise RuntimeError(f"qr received unrecognized mode '{mode}', not one of 'reduced' (default), 'r', or 'complete'")
    if mode == "r":
        return np.zeros((0,), A.dtype), by_columns(np.linalg.qr(A, "r"))
    return tuple(by_columns(factor) for factor in np.linalg.qr(A, mode))

@composite
def qr_backward(first, second, Q, R, mode):
    """The gradient of an orthogonal and a triangular factor."""
    if mode == "r":
        raise RuntimeError(
            "The derivative of linalg.qr depends on Q, which is not computed when mode='r'. Please use linalg.qr(A, "
            "mode='reduced') if you are going to require gradients through linalg.qr."
        )
    rows, columns = Q.shape[-2], R.shape[-1]
    if mode == "complete" and rows > columns:
        raise RuntimeError("The QR decomposition is not differentiable when mode='complete' and nrows > ncols.")
    inner = None if first is None else matmul(transpose(Q, -2, -1), first)
    if second is not None:
        outer = matmul(second, transpose(R, -2, -1))
        inner = outer if inner is None else outer - inner
    else:
        inner = neg(inner)
    if rows < columns:  # the square part is that of a square matrix, the rest is a product
        inner = neg(inner)
        result = matmul(Q, tril(inner - transpose(inner, -2, -1), 0))
        result = linalg_solve_triangular(transpose(narrow(R, -1, 0, rows), -2, -1), result, False, False, False)
        result = cat([result, zeros_of(result, (*R.shape[:-1], columns - rows))], -1)
        return result if second is None else result + matmul(Q, second)
    upper = triu(inner, 0)
    result = matmul(Q, on_diagonal(upper + transpose(upper, -2, -1), "mul", 0.5))
    result = result if first is None else result + first
    return linalg_solve_triangular(transpose(R, -2, -1), result, False, False, False)


# ------------------------------------------------------------------ pseudo-inverses
def singular_bound(matrices, atol, rtol, hermitian):
    """The singular values of matrices, and below which size they count as zero."""
    values = np.abs(np.linalg.eigvalsh(matrices)) if hermitian else singular(matrices, False, False)
    if rtol is None:
        rtol = 0 if atol else np.finfo(matrices.dtype).eps * max(matrices.shape[-2:])
    return values, np.maximum(atol or 0, rtol * values.max(axis=-1, initial=0))

@op("LinalgPinvBackward0", "linalg.pinv", promote="none", self="pinv_backward(grad, result, self)")
def linalg_pinv(self, rcond: Number = None, hermitian: bool = False, *, atol: Number = None, rtol: Number = None):
    check_matrix(self, "linalg.pinv", square=False)
    values, bound = singular_bound(self, atol, rtol if rcond is None else rcond, hermitian)
    share = np.nan_to_num(bound / values.max(axis=-1, initial=0)) if self.size else 0
    return np.array(np.linalg.pinv(self, share, hermitian), order="C")

@op(None, "linalg.matrix_rank", nondiff=("self",))
def linalg_matrix_rank(self, tol: Number = None, hermitian: bool = False, *, atol: Number = None, rtol: Number = None):
    check_matrix(self, "linalg.matrix_rank", square=False)
    values, bound = singular_bound(self, atol if tol is None else tol, rtol, hermitian)
    return (values > np.expand_dims(bound, -1)).sum(axis=-1)

@composite
def pinv_backward(grad, inverse, A):
    """The gradient of a pseudo-inverse, by the smaller side of the matrix."""
    flipped, slope = transpose(inverse, -2, -1), transpose(grad, -2, -1)
    if A.shape[-2] <= A.shape[-1]:
        k = matmul(slope, inverse)
        part = matmul(k, flipped)
        rest = matmul(matmul(flipped, inverse), slope - matmul(k, A))
        less = matmul(matmul(A, inverse), part)  # last operands are made first, as in PyTorch
        return neg(transpose(matmul(inverse, k), -2, -1)) + part - less + rest
    k = matmul(inverse, slope)
    part = matmul(flipped, k)
    less = matmul(matmul(part, inverse), A)
    rest = matmul(matmul(slope - matmul(A, k), inverse), flipped)
    return neg(transpose(matmul(k, inverse), -2, -1)) + rest + part - less
