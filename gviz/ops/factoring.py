"""Matrices as a lower times an upper triangle, their rows exchanged."""

from __future__ import annotations

import numpy as np

from gviz.numbers.dtypes import no_kernel
from gviz.autograd.row import composite, op
from gviz.ops.solving import by_columns, factors


def check_pivot(A, pivot, name):
    """Refuse what has no rows and columns, integers, and to leave the rows where they are."""
    if A.ndim < 2:
        raise RuntimeError(f"{name}: Expected tensor with 2 or more dimensions. Got size: {list(A.shape)} instead")
    if A.dtype.name not in ("float32", "float64"):
        raise no_kernel("lu_cpu", A.dtype)
    if not pivot:
        raise RuntimeError("linalg.lu_factor: LU without pivoting is not implemented on the CPU")


@op(
    "LinalgLuFactorExBackward0",
    outputs=("LU", "pivots", "info"),
    A="lu_factor_backward(grad, LU, pivots, pivot)",
)
def lu_factor(A, pivot=True):
    check_pivot(A, pivot, "torch.lu_factor")
    packed, pivots = factors(A)
    zeros = np.diagonal(packed, axis1=-2, axis2=-1) == 0
    return by_columns(packed), pivots, np.where(zeros.any(axis=-1), zeros.argmax(axis=-1) + 1, 0).astype(np.int32)


@op("LinalgLuBackward0", outputs=("L", "U"), extras=("P",), A="lu_backward(grad[0], grad[1], P, L, U, pivot)")
def linalg_lu(A, pivot=True):
    check_pivot(A, pivot, "linalg.lu")
    packed, pivots = factors(A)
    return *triangles(packed), exchanged(packed, pivots)


@op(
    "LuUnpackBackward0",
    outputs=("L", "U"),
    LU_data="lu_unpack_backward(grad[0], grad[1], LU_data_sym_argsize_minus_2, LU_data_sym_argsize_minus_1)",
)
def lu_unpack(LU_data):
    return triangles(LU_data)


def triangles(packed):
    """The two triangles that a matrix holds; the lower one has ones on its diagonal."""
    rows, columns = packed.shape[-2:]
    count = min(rows, columns)
    lower, upper = np.tril(packed[..., :count], -1), np.triu(packed[..., :count, :])
    lower[..., np.arange(count), np.arange(count)] = 1
    return lower, upper


@op(None, nondiff=("LU_data", "LU_pivots"), promote="none")
def lu_permutation(LU_data, LU_pivots):
    return exchanged(LU_data, LU_pivots)


def exchanged(packed, pivots):
    """The matrix that brings the rows back."""
    rows = packed.shape[-2]
    found = np.zeros((*packed.shape[:-2], rows, rows), packed.dtype)
    for place in np.ndindex(packed.shape[:-2]):
        order = np.arange(rows)
        for k, other in enumerate(pivots[place]):
            order[[k, other - 1]] = order[[other - 1, k]]
        found[(*place, order, np.arange(rows))] = 1
    return found


@composite
def lu_factor_backward(grad, LU, pivots, pivot):
    """The gradient of both triangles, which the one of what holds them is."""
    L, U = lu_unpack(LU)
    count = min(LU.shape[-2:])
    return lu_backward(narrow(grad, -1, 0, count), narrow(grad, -2, 0, count), lu_permutation(LU, pivots), L, U, pivot)


@composite
def lu_backward(lower, upper, P, L, U, pivot):
    """The gradient between two triangles, that of a square part first where there are more rows or columns."""
    rows, columns = L.shape[-2], U.shape[-1]
    if rows == columns:
        found = added((
            None if lower is None else tril(matmul(exchange_sides(L), lower), -1),
            None if upper is None else triu(matmul(upper, exchange_sides(U)), 0),
        ))  # fmt: skip
        found = linalg_solve_triangular(exchange_sides(U), found, False, False, False)
        found = linalg_solve_triangular(exchange_sides(L), found, True, True, True)
    elif rows < columns:
        rest = (-1, rows, columns - rows)
        found = None if lower is None else matmul(exchange_sides(L), lower)
        if upper is not None:
            product = matmul(triu(upper, 0), exchange_sides(U))
            found = neg(product) if found is None else found - product
        found = linalg_solve_triangular(exchange_sides(narrow(U, -1, 0, rows)), tril(found, -1), False, False, False)
        parts = [found, zeros_like(narrow(U, *rest))]
        if upper is not None:
            parts = [found + triu(narrow(upper, -1, 0, rows), 0), narrow(upper, *rest)]
        found = linalg_solve_triangular(exchange_sides(L), cat(parts, -1), True, True, True)
    else:
        rest = (-2, columns, rows - columns)
        found = None if upper is None else matmul(upper, exchange_sides(U))
        if lower is not None:
            product = matmul(exchange_sides(L), tril(lower, -1))
            found = neg(product) if found is None else found - product
        found = linalg_solve_triangular(exchange_sides(narrow(L, -2, 0, columns)), triu(found, 0), True, True, True)
        parts = [found, zeros_like(narrow(L, *rest))]
        if lower is not None:
            parts = [found + tril(narrow(lower, -2, 0, columns), -1), narrow(lower, *rest)]
        found = linalg_solve_triangular(exchange_sides(U), cat(parts, -2), False, False, False)
    return matmul(P, found) if pivot else found


@composite
def exchange_sides(value):
    """Rows as columns; made anew at each use, as PyTorch does."""
    return transpose(value, -2, -1)


@composite
def lu_unpack_backward(lower, upper, rows, columns):
    """Both triangles' gradients in one matrix."""
    count = min(rows, columns)
    square = added((
        None if lower is None else tril(narrow(lower, -2, 0, count) if rows > columns and upper is not None else lower, -1),
        None if upper is None else triu(narrow(upper, -1, 0, count) if columns > rows and lower is not None else upper, 0),
    ))  # fmt: skip
    if lower is None or upper is None:
        missing = (*square.shape[:-2], rows - square.shape[-2], square.shape[-1]) if lower is None else None
        if missing is None:
            missing = (*square.shape[:-1], columns - square.shape[-1])
        rest = None if 0 in missing[-2:] and count else zeros_of(square, missing)
        return square if rest is None else cat([square, rest], -2 if lower is None else -1)
    if rows == columns:
        return square
    rest = narrow(lower, -2, count, rows - count) if rows > columns else narrow(upper, -1, count, columns - count)
    return cat([square, rest], -2 if rows > columns else -1)
