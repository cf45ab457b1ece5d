"""``torch.linalg``: the words ``linalg.NAME`` of the table and of ``matrices.py``, and what few programs name.

The latter have no gradients, but for those that are composed of others.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from gviz import engine
from gviz.autograd.row import TENSORS as call
from gviz.autograd.tensor import Tensor, from_array
from gviz.engine.creation import without_gradient
from gviz.numbers.classes import result_class
from gviz.numbers.types import Array
from gviz.numbers.words import LinAlgError, absent, refuse
from gviz.ops.solving import by_columns, check_matrix, factors, first_zeros
from gviz.signatures import names

__all__ = [
    "LinAlgError", "householder_product", "lstsq", "lu", "lu_factor", "lu_factor_ex", "lu_solve", "tensorinv",
    "tensorsolve", "vander",
]  # fmt: skip
torch: Any = engine


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
    packed, pivots = factors(array)
    parts = [from_array(by_columns(packed), None), from_array(pivots, None)]
    return result_class("linalg_lu_factor", ("LU", "pivots"))(parts)


def lu_factor_ex(A: Tensor, *, pivot: bool = True, check_errors: bool = False) -> Any:
    """Return the same, and 0, or the number of the first zero on the diagonal."""
    packed, pivots = lu_factor(A)
    info = from_array(first_zeros(packed._array), None)
    return result_class("linalg_lu_factor_ex", ("LU", "pivots", "info"))([packed, pivots, info])


def lu(A: Tensor, *, pivot: bool = True) -> Any:
    """Return a matrix as the product of a permutation, a lower and an upper triangle."""
    packed, pivots = lu_factor(A)
    rank = min(A.shape[-2:])
    lower = packed[..., :rank].tril(-1) + torch.eye(A.shape[-2], rank, dtype=A.dtype)
    exchange = from_array(permutation(pivots._array, A.shape[-2]).astype(A._array.dtype), None)
    return result_class("linalg_lu", ("P", "L", "U"))([exchange, lower, packed[..., :rank, :].triu()])


def lu_solve(LU: Tensor, pivots: Tensor, B: Tensor, *, left: bool = True, adjoint: bool = False) -> Any:
    """Return the solution of a system whose matrix :func:`lu_factor` took apart."""
    refuse(not left or adjoint, "lu_solve with left=False or adjoint=True is not in gviz's engine", NotImplementedError)
    exchange = from_array(permutation(pivots._array, LU.shape[-1]).astype(LU._array.dtype), None)
    lower = torch.linalg.solve_triangular(LU, exchange.mT @ B, upper=False, unitriangular=True)
    return torch.linalg.solve_triangular(LU, lower, upper=True)


def lstsq(self: Tensor, b: Tensor, rcond: float | None = None, *, driver: str | None = None) -> Any:
    """Return the X for which A X is nearest to B, and the rank of A; the rest is empty, as with PyTorch's driver."""
    check_matrix(self._array, "linalg.lstsq", square=False)
    refuse(
        self.ndim != 2 or b.shape[:1] != self.shape[:1],
        "linalg.lstsq of batches is not in gviz's engine; run with --engine torch",
        NotImplementedError,
    )
    empty, rank = np.zeros(0, self._array.dtype), np.linalg.matrix_rank(self._array)
    rest = (from_array(np.asarray(one), None) for one in (empty, rank, empty))
    parts = ("solution", "residuals", "rank", "singular_values")
    return result_class("linalg_lstsq", parts)((call["linalg_lstsq"](self, b, rcond), *rest))


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
