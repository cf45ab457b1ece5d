"""Norms of vectors and of matrices: those that PyTorch composes of :func:`torch.linalg.vector_norm` and others."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gviz.autograd.row import TENSORS, named
from gviz.numbers.shapes import wrap_dims

if TYPE_CHECKING:
    from gviz.autograd.tensor import Tensor

__all__ = ["linalg_norm", "matrix_norm", "norm"]

vector_norm = TENSORS["vector_norm"]


@named("linalg.matrix_norm")
def matrix_norm(A: Tensor, ord: Any = "fro", dim: Ints = (-2, -1), keepdim: bool = False, *, dtype: Dtype = None) -> Tensor:
    """Return the norm of matrices: Frobenius, of singular values, or the largest (or smallest) sum of a column or a row."""
    if ord not in {"fro", "nuc", 1, -1, 2, -2, float("inf"), float("-inf")}:
        raise RuntimeError(f"linalg.matrix_norm: Order {ord} not supported.")
    if A.ndim < 2:
        raise RuntimeError("linalg.matrix_norm: The input tensor A must have at least 2 dimensions.")
    dims = wrap_dims(dim, A.ndim)
    if ord == "fro":
        return vector_norm(A, 2, dims, keepdim, dtype)
    if ord in {2, -2, "nuc"}:
        order = (*(d for d in range(A.ndim) if d not in dims), *dims)
        values = TENSORS["linalg_svd"]((A if dtype is None else TENSORS["cast_like"](A, dtype)).permute(order), False)[1]
        result = getattr(values, {2: "amax", -2: "amin", "nuc": "sum"}[ord])((-1,), keepdim)
        return result.unsqueeze(-1).permute([order.index(d) for d in range(A.ndim)]) if keepdim else result
    added, rest = dims if ord in {1, -1} else dims[::-1]
    sums = vector_norm(A, 1.0, (added,), keepdim, dtype)
    rest -= rest > added and not keepdim
    return sums.amax((rest,), keepdim) if ord > 0 else sums.amin((rest,), keepdim)


@named("norm")
def norm(self: Tensor, p: Any = "fro", dim: Ints | None = None, keepdim: bool = False, dtype: Dtype = None) -> Tensor:
    """Return the p-norm of all elements, or along dims; for a text that of matrices."""
    if isinstance(p, str) and (p != "fro" or len(dim or ()) > 2):
        return matrix_norm(self, p, dim or tuple(range(self.ndim)), keepdim, dtype=dtype)
    return vector_norm(self, 2.0 if p is None else 2 if p == "fro" else p, dim, keepdim, dtype)


@named("linalg.norm")
def linalg_norm(A: Tensor, ord: Any = None, dim: Ints | None = None, keepdim: bool = False, *, dtype: Dtype = None) -> Tensor:
    """Return the norm of a vector or, where an order and two dims are given, of matrices."""
    if ord is not None and dim is None and A.ndim not in {1, 2}:
        raise RuntimeError(f"linalg.norm: If dim is not specified but ord is, the input must be 1D or 2D. Got {A.ndim}D.")
    if isinstance(ord, str) or (ord is not None and len(dim or A.shape) == 2):
        return matrix_norm(A, ord, dim or (-2, -1), keepdim, dtype=dtype)
    return vector_norm(A, 2.0 if ord is None else ord, dim, keepdim, dtype)
