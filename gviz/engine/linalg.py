"""``torch.linalg``: norms, products, inverses, determinants and solutions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gviz.engine.op import TENSORS as call
from gviz.engine.refusals import public
from gviz.engine.surface import products
from gviz.engine.surface.products import inverse
from gviz.engine.surface.reductions import as_dims, typed
from gviz.engine.text import LinAlgError

if TYPE_CHECKING:
    from gviz.engine.tensor import Tensor

__all__ = [
    "LinAlgError", "cholesky", "cross", "det", "inv", "matmul", "matrix_norm", "matrix_power", "multi_dot", "norm", "slogdet",
    "solve", "solve_triangular", "vector_norm",
]  # fmt: skip

matmul, matrix_power, inv = call["matmul"], call["matrix_power"], inverse


def vector_norm(x: Tensor, ord: Any = 2.0, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Any:
    """The norm of all elements, or along dims."""
    return call["vector_norm"](typed(x, dtype), ord, None if dim is None else as_dims(dim), keepdim)


def matrix_norm(A: Tensor, ord: Any = "fro", dim: Any = (-2, -1), keepdim: bool = False, *, dtype: Any = None) -> Any:
    """The norm of matrices: Frobenius, or the largest (or smallest) sum of a column or a row.

    Raises:
        RuntimeError: a norm that needs singular values, which gviz's engine does not have.
    """
    dims = tuple(d % A.ndim for d in dim)
    if ord == "fro":
        return vector_norm(A, 2, dims, keepdim, dtype=dtype)
    if ord not in {1, -1, float("inf"), float("-inf")}:
        raise RuntimeError(f"gviz's engine has no matrix norm of order {ord}: run on real PyTorch")
    summed, rest = dims if ord in {1, -1} else dims[::-1]
    sums = vector_norm(A, 1.0, summed, keepdim, dtype=dtype)
    rest -= rest > summed and not keepdim
    return call["amax" if ord > 0 else "amin"](sums, (rest,), keepdim)


def norm(A: Tensor, ord: Any = None, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Any:
    """The norm of a vector or, where an order and two dims are given, of matrices."""
    if ord is not None and ((dim is None and A.ndim == 2) or (dim is not None and not isinstance(dim, int) and len(dim) == 2)):
        return matrix_norm(A, ord, (-2, -1) if dim is None else dim, keepdim, dtype=dtype)
    return vector_norm(A, 2.0 if ord is None else float(ord), dim, keepdim, dtype=dtype)


def det(A: Tensor) -> Any:
    """The determinant of square matrices."""
    return call["linalg_det"](A)


def solve(A: Tensor, B: Tensor, *, left: bool = True) -> Any:
    """The solution of ``A @ X = B``."""
    return call["linalg_solve"](A, B, left)


def slogdet(A: Tensor) -> Any:
    """The sign of a determinant and the logarithm of its size."""
    return products.slogdet(A, "linalg_slogdet")


def cholesky(A: Tensor, *, upper: bool = False) -> Any:
    """The triangle whose product with its transpose is the matrix."""
    return call["linalg_cholesky"](A, upper)[0]


def cross(input: Tensor, other: Tensor, *, dim: int = -1) -> Any:
    """The cross product along a dim."""
    return call["linalg_cross"](input, other, dim)


def solve_triangular(A: Tensor, B: Tensor, *, upper: bool, left: bool = True, unitriangular: bool = False) -> Any:
    """The solution of ``A @ X = B`` for a triangle."""
    return call["linalg_solve_triangular"](A, B, upper, left, unitriangular)


def multi_dot(tensors: Any) -> Any:
    """A chain of matrix products from left to right."""
    result, *rest = tensors
    for tensor in rest:
        result = call["matmul"](result, tensor)
    return call["view"](result, result.shape)


globals().update((name, public(globals()[name], f"linalg_{name}", method=False)) for name in __all__)
