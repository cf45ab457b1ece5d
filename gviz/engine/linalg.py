"""``torch.linalg``: the words ``linalg.NAME`` of the table and of ``matrices.py``, and what few programs name.

The latter have no gradients, but for those that are composed of others.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from gviz import engine
from gviz.autograd.tensor import Tensor, from_array
from gviz.engine.creation import without_gradient
from gviz.numbers.classes import result_class
from gviz.numbers.types import Array
from gviz.numbers.words import LinAlgError, absent, refuse
from gviz.signatures import names

__all__ = [
    "LinAlgError", "cholesky_ex", "householder_product", "inv_ex", "lu", "lu_factor", "lu_factor_ex",
    "lu_solve", "tensorinv", "tensorsolve", "vander",
]  # fmt: skip
torch: Any = engine


def eliminated(array: Array) -> tuple[Any, Any]:
    """Return both factors of matrices in one array, and with which row each was exchanged, from 1 on."""
    factors, rank = array.copy("K"), min(array.shape[-2:])
    pivots = np.zeros_like(array, dtype=np.int32, order="C", shape=(*array.shape[:-2], rank))
    for at in np.ndindex(array.shape[:-2]):
        matrix = factors[at]
        for k in range(rank):
            row = k + int(np.argmax(np.abs(matrix[k:, k])))
            pivots[(*at, k)] = row + 1
            matrix[[k, row]] = matrix[[row, k]]
            if matrix[k, k] != 0:
                matrix[k + 1 :, k] /= matrix[k, k]
                matrix[k + 1 :, k + 1 :] -= np.outer(matrix[k + 1 :, k], matrix[k, k + 1 :])
    return factors, pivots


def permutation(pivots: Array, rows: int) -> Any:
    """Return the matrices that exchange the rows back."""
    result = np.zeros((*pivots.shape[:-1], rows, rows))
    for at in np.ndindex(pivots.shape[:-1]):
        order = list(range(rows))
        for k, row in enumerate(pivots[at].tolist()):
            order[k], order[row - 1] = order[row - 1], order[k]
        result[at][order, range(rows)] = 1
    return result


def lu_factor(A: Tensor, *, pivot: bool = True) -> Any:
    """Return the factors of a matrix in one, and the exchanges of its rows."""
    (array,) = without_gradient(A, lacking="gradients of torch.linalg.lu_factor")
    parts = [from_array(one, None) for one in eliminated(array)]
    return result_class("linalg_lu_factor", ("LU", "pivots"))(parts)


def lu_factor_ex(A: Tensor, *, pivot: bool = True, check_errors: bool = False) -> Any:
    """Return the same, and 0, or the number of the first zero on the diagonal."""
    factors, pivots = lu_factor(A)
    zero = np.diagonal(factors._array, 0, -2, -1) == 0
    info = np.where(zero.any(-1), zero.argmax(-1) + 1, 0).astype(np.int32)
    return result_class("linalg_lu_factor_ex", ("LU", "pivots", "info"))([factors, pivots, from_array(info, None)])


def lu(A: Tensor, *, pivot: bool = True) -> Any:
    """Return a matrix as the product of a permutation, a lower and an upper triangle."""
    factors, pivots = lu_factor(A)
    rank = min(A.shape[-2:])
    lower = factors[..., :rank].tril(-1) + torch.eye(A.shape[-2], rank, dtype=A.dtype)
    exchange = from_array(permutation(pivots._array, A.shape[-2]).astype(A._array.dtype), None)
    return result_class("linalg_lu", ("P", "L", "U"))([exchange, lower, factors[..., :rank, :].triu()])


def lu_solve(LU: Tensor, pivots: Tensor, B: Tensor, *, left: bool = True, adjoint: bool = False) -> Any:
    """Return the solution of a system whose matrix :func:`lu_factor` took apart."""
    refuse(not left or adjoint, "lu_solve with left=False or adjoint=True is not in gviz's engine", NotImplementedError)
    exchange = from_array(permutation(pivots._array, LU.shape[-1]).astype(LU._array.dtype), None)
    lower = torch.linalg.solve_triangular(LU, exchange.mT @ B, upper=False, unitriangular=True)
    return torch.linalg.solve_triangular(LU, lower, upper=True)


def inv_ex(A: Tensor, *, check_errors: bool = False) -> Any:
    """Return the inverse, and 0."""
    info = from_array(np.zeros(A.shape[:-2], np.int32), None)
    return result_class("linalg_inv_ex", ("inverse", "info"))([torch.linalg.inv(A), info])


def cholesky_ex(A: Tensor, *, upper: bool = False, check_errors: bool = False) -> Any:
    """Return the Cholesky factor, and 0."""
    info = from_array(np.zeros(A.shape[:-2], np.int32), None)
    return result_class("linalg_cholesky_ex", ("L", "info"))([torch.linalg.cholesky(A, upper=upper), info])


def householder_product(A: Tensor, tau: Tensor) -> Any:
    """Return the first columns of a product of reflections, which the columns of a matrix and factors say."""
    rows, columns = A.shape[-2:]
    result = torch.eye(rows, columns, dtype=A.dtype).expand(*A.shape[:-2], rows, columns)
    lower = A.tril(-1) + torch.eye(rows, columns, dtype=A.dtype)
    for k in reversed(range(tau.shape[-1])):
        vector = lower[..., k : k + 1]
        result = result - tau[..., k, None, None] * vector @ (vector.mT @ result)
    return result


def vander(x: Tensor, *, N: int | None = None) -> Any:
    """Return the powers of each element, side by side."""
    return x.unsqueeze(-1) ** torch.arange(x.shape[-1] if N is None else N)


def tensorsolve(A: Tensor, B: Tensor, dims: Sequence[int] | None = None) -> Any:
    """Return the X whose tensordot with A is B."""
    refuse(dims is not None, "tensorsolve with dims is not in gviz's engine", NotImplementedError)
    return torch.linalg.solve(A.reshape(B.numel(), -1), B.reshape(-1)).reshape(A.shape[B.ndim :])


def tensorinv(A: Tensor, ind: int = 2) -> Any:
    """Return the inverse of tensordot with a tensor."""
    return torch.linalg.inv(A.reshape(math.prod(A.shape[:ind]), -1)).reshape(*A.shape[ind:], *A.shape[:ind])


names.install({"linalg": globals()})
__getattr__ = absent("torch.linalg")
