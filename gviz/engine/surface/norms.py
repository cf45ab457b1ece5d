"""Norms of vectors and of matrices, which ``torch.norm`` and ``torch.linalg`` share."""

from __future__ import annotations

from typing import Any

from gviz.ops.checks import check_floats
from gviz.engine.surface.public import public
from gviz.numbers.shapes import wrap_dim
from gviz.autograd.row import TENSORS as call
from gviz.engine.surface.reductions import as_dims, dtype_of, typed
from gviz.autograd.tensor import Tensor


def vector_norm(x: Tensor, ord: Any = 2.0, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Any:
    """The norm of all elements, or along dims."""
    if isinstance(ord, complex):
        raise RuntimeError(  # noqa: TRY004 - as PyTorch does
            "linalg.vector_norm: Expected a non-complex scalar as the order of norm."
        )
    if isinstance(ord, Tensor):
        raise TypeError("no number")
    return call["vector_norm"](x, ord, None if dim is None else as_dims(dim), keepdim, dtype_of(dtype))


def matrix_norm(A: Tensor, ord: Any = "fro", dim: Any = (-2, -1), keepdim: bool = False, *, dtype: Any = None) -> Any:
    """The norm of matrices: Frobenius, of singular values, or the largest (or smallest) sum of a column or a row."""
    if ord not in {"fro", "nuc", 1, -1, 2, -2, float("inf"), float("-inf")}:
        raise RuntimeError(f"linalg.matrix_norm: Order {ord} not supported.")
    if A.ndim < 2:
        raise RuntimeError("linalg.matrix_norm: The input tensor A must have at least 2 dimensions.")
    check_floats(A._array, "linalg.matrix_norm", "" if ord in {2, -2, "nuc"} else "none")
    given = (dim,) if isinstance(dim, int) else tuple(dim)
    if len(given) != 2:
        raise RuntimeError(f"linalg.matrix_norm: dim must be a 2-tuple. Got {' '.join(map(str, given))}")
    dims = tuple(wrap_dim(d, A.ndim) for d in given)
    if dims[0] == dims[1]:
        raise RuntimeError(f"linalg.matrix_norm: dims must be different. Got {dims}")
    if ord == "fro":
        return vector_norm(A, 2, dims, keepdim, dtype=dtype)
    if ord in {2, -2, "nuc"}:
        order = (*(d for d in range(A.ndim) if d not in dims), *dims)
        values = call["linalg_svd"](call["permute"](typed(A, dtype), order), False)[1]
        key = {2: "amax", -2: "amin", "nuc": "sum_dim"}[ord]
        found = call[key](values, (-1,), keepdim)
        if not keepdim:
            return found
        found = call["unsqueeze"](found, -1)
        return call["permute"](found, tuple(order.index(d) for d in range(A.ndim)))
    summed, rest = dims if ord in {1, -1} else dims[::-1]
    sums = vector_norm(A, 1.0, summed, keepdim, dtype=dtype)
    rest -= rest > summed and not keepdim
    return call["amax" if ord > 0 else "amin"](sums, (rest,), keepdim)


BUILT_IN_NORM = public(vector_norm, "linalg_vector_norm", method=False)
"""What Python's ``norm`` calls, as in PyTorch: a built-in function, with refusals of its own."""


def norm(input: Tensor, p: Any = "fro", dim: Any = None, keepdim: bool = False, out: Any = None, dtype: Any = None) -> Any:
    """The p-norm of all elements, or along dims; for a text that of matrices."""
    dims = [dim] if isinstance(dim, int) else dim
    if not isinstance(p, str) or (p == "fro" and (dims is None or len(dims) <= 2)):
        ord = 2.0 if p is None else 2 if isinstance(p, str) else p
        if dims is None and keepdim is False and dtype is None is out:
            return BUILT_IN_NORM(input, ord)
        return BUILT_IN_NORM(input, ord, dims, keepdim, dtype=dtype, **({} if out is None else {"out": out}))
    return matrix_norm(input, p, list(range(input._array.ndim)) if dims is None else dims, keepdim, dtype=dtype)


def norm_method(self: Tensor, p: Any = "fro", dim: Any = None, keepdim: bool = False, dtype: Any = None) -> Any:
    """The same as a method."""
    return norm(self, p, dim, keepdim, dtype=dtype)


METHODS: dict[str, Any] = {"norm": norm_method}

FUNCTIONS: dict[str, Any] = {"norm": norm}
