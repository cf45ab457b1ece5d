"""Matrices taken apart, inverted and solved, under PyTorch's older names: which row each call form means."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gviz.numbers.results import result_class
from gviz.numbers.words import warn_once
from gviz.autograd.row import TENSORS as call

if TYPE_CHECKING:
    from gviz.autograd.tensor import Tensor


def svd(input: Tensor, some: bool = True, compute_uv: bool = True) -> Any:
    """The singular vectors and values; without vectors zeros stand for them."""
    left, values, right = call["linalg_svd"](input, not some)
    if not compute_uv:
        *batch, rows, columns = input._array.shape
        left, right = (call["zeros_of"](input, (*batch, n, n)) for n in (rows, columns))
    return result_class("svd", ("U", "S", "V"))((left, values, call["transpose"](right, -2, -1)))


def qr(input: Tensor, some: bool = True) -> Any:
    """An orthogonal and a triangular factor."""
    warn_once(
        "torch.qr is deprecated in favor of torch.linalg.qr and will be removed in a future PyTorch release.\nThe boolean "
        "parameter 'some' has been replaced with a string parameter 'mode'.\nQ, R = torch.qr(A, some)\nshould be replaced "
        "with\nQ, R = torch.linalg.qr(A, 'reduced' if some else 'complete')"
    )
    return result_class("qr", ("Q", "R"))(call["linalg_qr"](input, "reduced" if some else "complete"))


def pinverse(input: Tensor, rcond: float = 1e-15) -> Tensor:
    """The pseudo-inverse."""
    return call["linalg_pinv"](input, None, rcond)


def lu(A: Tensor, pivot: bool = True, get_infos: bool = False) -> Any:
    """Both triangles in one matrix, the rows exchanged on the way and, on request, whether a diagonal has a zero."""
    found = call["lu_factor"](A, pivot)
    return result_class("_lu_with_info", ("LU", "pivots", "info"))(found) if get_infos else tuple(found[:2])


def lu_method(self: Tensor, pivot: bool = True, get_infos: bool = False) -> Any:
    """The same without names."""
    return tuple(lu(self, pivot, get_infos))


def lu_unpack(LU_data: Tensor, LU_pivots: Tensor, unpack_data: bool = True, unpack_pivots: bool = True) -> Any:
    """A permutation and both triangles, or empty tensors."""
    nothing = call["zeros_of"](LU_data, (0,))
    lower, upper = call["lu_unpack"](LU_data) if unpack_data else (nothing, nothing)
    rows = call["lu_permutation"](LU_data, LU_pivots) if unpack_pivots else nothing
    return result_class("lu_unpack", ("P", "L", "U"))((rows, lower, upper))


def triangular_solve(b: Tensor, A: Tensor, upper: bool = True, transpose: bool = False, unitriangular: bool = False) -> Any:
    """The solution of a triangular system, and a copy of the triangle."""
    found = call["triangular_solve"](b, A, upper, transpose, unitriangular)
    return result_class("triangular_solve", ("solution", "cloned_coefficient"))(found)


BOTH: dict[str, Any] = {
    "cholesky_solve": "cholesky_solve", "cholesky_inverse": "cholesky_inverse", "matrix_exp": "linalg_matrix_exp",
    "svd": svd, "qr": qr, "pinverse": pinverse, "triangular_solve": triangular_solve,
}  # fmt: skip

METHODS: dict[str, Any] = {"lu": lu_method}

FUNCTIONS: dict[str, Any] = {"lu": lu, "lu_unpack": lu_unpack}
