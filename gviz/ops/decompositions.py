"""Matrices taken apart: eigenvalues of symmetric ones, singular values, QR; and the pseudo-inverse.

Source: PyTorch's derivatives.yaml, and FunctionsManual.cpp (linalg_eig_backward, svd_backward, linalg_qr_backward,
pinv_backward).
"""

from __future__ import annotations

import math

import numpy as np

from gviz.autograd.tensor import from_array
from gviz.autograd.words import COMPLEX
from gviz.numbers.classes import result_class
from gviz.ops.rows import LinAlgError, brief, composite, formula, mode, op, public_names, refuse
from gviz.ops.solving import by_columns, check_matrix, of_batch

formula("on_diagonal", lambda value, operation, operand: overwritten(value, operation, operand, part=("diagonal", 0, -2, -1)))

# ------------------------------------------------------------------ eigenvalues
@op("LinalgEighBackward0", "linalg.eigh", promote="none", rounding="each", outputs=("eigenvalues", "eigenvectors"),
    self="eigh_backward(grad[0], grad[1], eigenvalues, eigenvectors)")
def linalg_eigh(self, UPLO: str = "L"):
    check_matrix(self, "linalg.eigh")
    refuse(UPLO.upper() not in ("L", "U"), f"Expected UPLO argument to be 'L' or 'U', but got {UPLO}")
    values, vectors = np.linalg.eigh(self, UPLO)
    return values, by_columns(vectors)

brief("linalg.eigvalsh", lambda self, UPLO="L": linalg_eigh(self, UPLO)[0], UPLO="str")

@composite
def eigh_backward(values, vectors, L, V):
    """Return the gradient between the eigenvectors: of the values on the diagonal, of the vectors over their distances."""
    if vectors is None:
        flipped = transpose(V, -2, -1)  # right operands are made first, as in PyTorch
        return matmul(V * unsqueeze(values, -2), flipped)
    turned = matmul(transpose(V, -2, -1), vectors)
    column = unsqueeze(L, -1)
    gaps = on_diagonal(unsqueeze(L, -2) - column, "fill", 1.0)
    inner = overwritten(antisymmetric(turned) * 0.5, "div", gaps)
    inner = inner if values is None else on_diagonal(inner, "copy_into", values)
    return matmul(V, matmul(inner, transpose(V, -2, -1)))

@public_names("linalg.eig")
def eig(A):
    """Return the eigenvalues and eigenvectors of a matrix, which are complex numbers."""
    check_matrix(A._array, "linalg.eig")
    refuse(mode.recording and A.requires_grad, COMPLEX, NotImplementedError)
    (values, vectors), kind = np.linalg.eig(A._array), np.result_type(A._array, np.complex64)
    pair = from_array(values.astype(kind), None), from_array(by_columns(vectors.astype(kind)), None)
    return result_class("linalg_eig", ("eigenvalues", "eigenvectors"))(pair)

public_names("linalg.eigvals")(lambda A: eig(A).eigenvalues)

# ------------------------------------------------------------------ exponentials
@op("LinalgMatrixExpBackward0", "matrix_exp linalg.matrix_exp", promote="none", rounding="each",
    self="matrix_exp_backward(grad, self)")
def linalg_matrix_exp(self):
    """Scaled down, Taylor's series, and squared as often."""
    check_matrix(self, "linalg.matrix_exp")
    wide = np.result_type(self.dtype, np.float64)
    size = np.abs(self).sum(-2).max(initial=0)
    squarings = max(0, math.ceil(math.log2(size)) + 1) if 0 < size < np.inf else 0
    scaled, unit = self.astype(wide) / 2**squarings, np.eye(self.shape[-1], dtype=wide)
    result = np.broadcast_to(unit, self.shape)
    for k in range(16, 0, -1):
        result = unit + scaled @ result / k
    for _ in range(squarings):
        result = result @ result
    return result.astype(self.dtype)

@composite
def matrix_exp_backward(grad, self):
    """The gradient stands beside the diagonal in the exponential of a matrix of four blocks."""
    flipped, size = transpose(self, -2, -1), self.shape[-1]
    below = cat([zeros_like(flipped), flipped], -1)
    blocks = linalg_matrix_exp(cat([cat([flipped, grad], -1), below], -2))
    return narrow(narrow(blocks, -2, 0, size), -1, size, size)

# ------------------------------------------------------------------ singular values
@op("LinalgSvdBackward0", "linalg.svd", promote="none", rounding="each", outputs=("U", "S", "Vh"),
    A="svd_backward(grad, full_matrices, U, S, S_sym_argsize_minus_1, Vh)")
def linalg_svd(A, full_matrices: bool = True, *, driver: str | None = None):
    check_matrix(A, "linalg.svd", square=False)
    try:
        left, values, right = np.linalg.svd(A, full_matrices)
    except np.linalg.LinAlgError:
        which = of_batch(A, int(np.isnan(A).any(axis=(-2, -1)).argmax()))
        text = "The algorithm failed to converge because the input matrix contained non-finite values."
        raise LinAlgError(f"linalg.svd: {which}{text}") from None
    return by_columns(left), values, by_columns(right)

brief("linalg.svdvals", lambda A, *, driver=None: linalg_svd(A, False)[1], driver="str | None")

@composite
def svd_backward(grads, full_matrices, U, S, k, Vh):
    """Return the gradient between the singular vectors, as PyTorch writes it."""
    left, values, right = grads
    if full_matrices:
        Vh, U = narrow(Vh, -2, 0, k), narrow(U, -1, 0, k)  # last arguments are made first, as in PyTorch
        right = None if right is None else narrow(right, -2, 0, k)
        left = None if left is None else narrow(left, -1, 0, k)
    rows, columns = U.shape[-2], Vh.shape[-1]
    if left is None and right is None:
        return matmul(U, unsqueeze(values, -1) * Vh) if rows >= columns else matmul(U * unsqueeze(values, -2), Vh)
    inner = singular_turns(left, right, U, S, Vh)
    inner = inner if values is None else inner + diag_embed(values, 0, -2, -1)
    if rows > k and left is not None:
        scaled = left / unsqueeze(S, -2)
        return matmul(matmul(U, inner) + scaled - matmul(U, matmul(transpose(U, -2, -1), scaled)), Vh)
    if columns > k and right is not None:
        scaled = right / unsqueeze(S, -1)
        return matmul(U, matmul(inner, Vh) + scaled - matmul(matmul(scaled, transpose(Vh, -2, -1)), Vh))
    return matmul(U, matmul(inner, Vh)) if rows >= columns else matmul(matmul(U, inner), Vh)

@composite
def singular_turns(left, right, U, S, Vh):
    """Return the part of the gradient by which the singular vectors turn within their space."""
    left = None if left is None else antisymmetric(matmul(transpose(U, -2, -1), left))
    right = None if right is None else antisymmetric(matmul(Vh, transpose(right, -2, -1)))
    square = S * S
    column = unsqueeze(square, -1)  # right operands are made first, as in PyTorch
    gaps = on_diagonal(unsqueeze(square, -2) - column, "fill", 1.0)
    if right is None:
        return (left / gaps) * unsqueeze(S, -2)
    if left is None:
        return unsqueeze(S, -1) * (right / gaps)
    right = unsqueeze(S, -1) * right
    return (left * unsqueeze(S, -2) + right) / gaps

formula("antisymmetric", lambda value: value - transpose(value, -2, -1))

# ------------------------------------------------------------------ an orthogonal and a triangular factor
@op("LinalgQrBackward0", "linalg.qr", promote="none", rounding="each", outputs=("Q", "R"),
    A="qr_backward(grad[0], grad[1], Q, R, mode)")
def linalg_qr(A, mode: str = "reduced"):
    check_matrix(A, "linalg.qr", square=False)
    refuse(mode not in ("reduced", "r", "complete"),
           f"qr received unrecognized mode '{mode}' but expected one of 'reduced' "
           "(default), 'r', or 'complete'")
    if mode == "r":
        return np.zeros((0,), A.dtype), by_columns(np.linalg.qr(A, "r"))
    return tuple(by_columns(factor) for factor in np.linalg.qr(A, mode))

@composite
def qr_backward(first, second, Q, R, mode):
    """Return the gradient of an orthogonal and a triangular factor."""
    refuse(mode == "r", "The derivative of linalg.qr depends on Q, which is not computed when mode='r'. Please use "
           "linalg.qr(A, mode='reduced') if you are going to require gradients through linalg.qr.")
    rows, columns = Q.shape[-2], R.shape[-1]
    refuse(mode == "complete" and rows > columns,
           "The QR decomposition is not differentiable when mode='complete' and nrows > ncols.")
    inner = None if first is None else matmul(transpose(Q, -2, -1), first)
    outer = None if second is None else matmul(second, transpose(R, -2, -1))
    inner = outer if inner is None else neg(inner) if outer is None else outer - inner
    if rows < columns:  # the square part is that of a square matrix, the rest is a product
        inner = neg(inner)
        result = matmul(Q, tril(antisymmetric(inner), 0))
        result = linalg_solve_triangular(transpose(narrow(R, -1, 0, rows), -2, -1), result, False, False, False)
        result = cat([result, zeros_of(result, (*R.shape[:-1], columns - rows))], -1)
        return result if second is None else result + matmul(Q, second)
    upper = triu(inner, 0)
    result = matmul(Q, on_diagonal(upper + transpose(upper, -2, -1), "mul", 0.5))
    result = result if first is None else result + first
    return linalg_solve_triangular(transpose(R, -2, -1), result, False, False, False)

# ------------------------------------------------------------------ pseudo-inverses
@op("LinalgPinvBackward0", "linalg.pinv", promote="none", rounding="each", self="pinv_backward(grad, result, self)")
def linalg_pinv(self, rcond: Number = None, hermitian: bool = False, *, rtol: Number = None):
    check_matrix(self, "linalg.pinv", square=False)
    share = rcond if rtol is None else rtol
    share = np.finfo(self.dtype).eps * max(self.shape[-2:]) if share is None else share
    return np.array(np.linalg.pinv(self, share, hermitian), order="C")

@op(None, "linalg.matrix_rank", rounding="each", nondiff=("self",))
def linalg_matrix_rank(self, tol: Number = None, hermitian: bool = False, *, atol: Number = None, rtol: Number = None):
    check_matrix(self, "linalg.matrix_rank", square=False)
    least = atol if tol is None else tol
    if least is None or rtol is None:
        return np.linalg.matrix_rank(self, least, hermitian, rtol=rtol)
    values = np.abs(np.linalg.eigvalsh(self)) if hermitian else np.linalg.svd(self, compute_uv=False)
    return (values > np.maximum(least, rtol * values.max(-1, initial=0, keepdims=True))).sum(-1)

@composite
def pinv_backward(grad, inverse, A):
    """Return the gradient of a pseudo-inverse, by the smaller side of the matrix."""
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
