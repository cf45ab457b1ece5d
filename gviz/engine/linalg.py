"""``torch.linalg``: norms, products, inverses, determinants, solutions and decompositions."""

from __future__ import annotations

import itertools
from math import prod
from typing import Any

import numpy as np

from gviz.ops.checks import check_floats
from gviz.engine.surface.public import public
from gviz.numbers.results import result_class
from gviz.numbers.words import LinAlgError, absent
from gviz.autograd import names
from gviz.autograd.row import TENSORS as call
from gviz.engine.surface import products
from gviz.engine.surface.arithmetic import keyed
from gviz.engine.surface.products import inverse
from gviz.engine.surface.shape import tensor_list
from gviz.ops.shape import movedim
from gviz.autograd.tensor import Tensor, from_array

__all__ = [
    "LinAlgError", "cholesky", "cholesky_ex", "cond", "cross", "det", "diagonal", "eigh", "eigvalsh", "inv", "inv_ex", "lu",
    "lu_factor", "lu_factor_ex", "matmul",
    "matrix_exp", "matrix_norm", "matrix_power", "matrix_rank", "multi_dot", "norm", "pinv", "qr", "slogdet", "solve",
    "solve_ex", "solve_triangular", "svd", "svdvals", "tensorinv", "tensorsolve", "vander", "vecdot", "vector_norm",
]  # fmt: skip

matmul, matrix_power, inv, matrix_exp = call["matmul"], call["matrix_power"], inverse, call["linalg_matrix_exp"]
det, solve, cross = (
    keyed("linalg_det", 1, tensors=True),
    keyed("linalg_solve", 2, tensors=True),
    keyed("linalg_cross", 2, tensors=True),
)
solve_triangular = keyed("linalg_solve_triangular", 2, tensors=True)


def slogdet(A: Tensor) -> Any:
    """The sign of a determinant and the logarithm of its size."""
    return products.slogdet(A, "linalg_slogdet")


def cholesky(A: Tensor, *, upper: bool = False) -> Any:
    """The triangle whose product with its transpose is the matrix."""
    return call["linalg_cholesky"](A, upper)[0]


def named(name: str, names: tuple[str, ...], found: Any) -> Any:
    """Results under their names."""
    return result_class(name, names)(found)


def inv_ex(A: Tensor, *, check_errors: bool = False) -> Any:
    """The inverse, and 0 for each matrix that has one."""
    return named("linalg_inv_ex", ("inverse", "info"), call["linalg_inv"](A))


def cholesky_ex(A: Tensor, *, upper: bool = False, check_errors: bool = False) -> Any:
    """The triangle of :func:`cholesky`, and 0 for each matrix that has one."""
    return named("linalg_cholesky_ex", ("L", "info"), call["linalg_cholesky"](A, upper))


def eigh(A: Tensor, UPLO: str = "L") -> Any:
    """The eigenvalues and eigenvectors of symmetric matrices."""
    return named("linalg_eigh", ("eigenvalues", "eigenvectors"), call["linalg_eigh"](A, UPLO))


def eigvalsh(A: Tensor, UPLO: str = "L") -> Any:
    """The eigenvalues of symmetric matrices."""
    return call["linalg_eigh"](A, UPLO)[0]


def svd(A: Tensor, full_matrices: bool = True, *, driver: Any = None) -> Any:
    """The singular vectors and values."""
    return named("linalg_svd", ("U", "S", "Vh"), call["linalg_svd"](A, full_matrices))


def svdvals(A: Tensor, *, driver: Any = None) -> Any:
    """The singular values, the largest first."""
    return call["linalg_svd"](A, False)[1]


def qr(A: Tensor, mode: str = "reduced") -> Any:
    """An orthogonal and a triangular factor."""
    return named("linalg_qr", ("Q", "R"), call["linalg_qr"](A, mode))


def lu_factor(A: Tensor, *, pivot: bool = True) -> Any:
    """Both triangles in one matrix, and the rows exchanged on the way. RuntimeError: a zero on the diagonal."""
    *found, info = call["lu_factor"](A, pivot)
    if (at := int(info._array.max(initial=0))) > 0:
        raise RuntimeError(
            f"torch.linalg.lu_factor: U[{at},{at}] is zero and using it on lu_solve would result in a division by zero. If you "
            "still want to perform the factorization, consider calling linalg.lu(A, pivot) or linalg.lu_factor_ex(A, pivot)"
        )
    return named("linalg_lu_factor", ("LU", "pivots"), found)


def lu_factor_ex(A: Tensor, *, pivot: bool = True, check_errors: bool = False) -> Any:
    """The same, and for each matrix the first zero on the diagonal, counted from 1, or 0."""
    return named("linalg_lu_factor_ex", ("LU", "pivots", "info"), call["lu_factor"](A, pivot))


def lu(A: Tensor, *, pivot: bool = True) -> Any:
    """A permutation, a lower and an upper triangle."""
    lower, upper = call["linalg_lu"](A, pivot)
    packed, pivots, _ = call["lu_factor"](A.detach(), pivot)
    return named("linalg_lu", ("P", "L", "U"), (call["lu_permutation"](packed, pivots), lower, upper))


def solve_ex(A: Tensor, B: Tensor, *, left: bool = True, check_errors: bool = False) -> Any:
    """The solution, and 0 for each matrix that has an inverse."""
    found = call["linalg_solve"](A, B, left)
    return named("linalg_solve_ex", ("result", "info"), (found, from_array(np.zeros(A._array.shape[:-2], np.int32), None)))


def tensorinv(A: Tensor, ind: int = 2) -> Any:
    """The inverse of a tensor whose first dims are the rows of a matrix. RuntimeError: it is not square."""
    if ind <= 0:
        raise RuntimeError("Expected a strictly positive integer for 'ind' argument.")
    first, last = A.shape[:ind], A.shape[ind:]
    check_sides(prod(last), prod(first), "ind")
    return call["reshape"](inverse(call["reshape"](A, (prod(last), -1))), (*last, *first))


def tensorsolve(A: Tensor, B: Tensor, dims: Any = None) -> Any:
    """The solution of a system whose matrix has several dims for its columns. RuntimeError: it is not square."""
    if dims is not None:
        A = movedim(A, tuple(dims), tuple(range(-len(dims), 0)))
    shape = A.shape[B.ndim :]
    check_sides(prod(shape), prod(B.shape), "other.ndim")
    found = call["linalg_solve"](call["reshape"](A, (prod(shape), -1)), call["reshape"](B, (-1,)))
    return call["reshape"](found, tuple(shape))


def check_sides(last: int, first: int, where: str) -> None:
    """Refuse a matrix with other rows than columns."""
    if last != first:
        raise RuntimeError(
            f"Expected self to satisfy the requirement prod(self.shape[{where}:]) == prod(self.shape[:{where}]), but got "
            f"{last} != {first}"
        )


def vander(x: Tensor, *, N: int | None = None) -> Any:
    """The powers of each element in a row. RuntimeError: fewer than two."""
    x = x if x.ndim else call["unsqueeze"](x, -1)
    count = x.shape[-1] if N is None else N
    if count <= 1:
        raise RuntimeError("N must be greater than 1.")
    powers = call["cumprod"](call["expand"](call["unsqueeze"](x, -1), (*x.shape, count - 1)), -1)
    return call["cat"]([call["ones_of"](powers, (*x.shape, 1)), powers], -1)


def pinv(A: Tensor, rcond: Any = None, hermitian: bool = False, *, atol: Any = None, rtol: Any = None) -> Any:
    """The pseudo-inverse; singular values below a size, or a share of the largest, count as zero."""
    bounds = (getattr(bound, "_array", bound) for bound in (atol, rtol if rcond is None else rcond))
    return call["linalg_pinv"](A, *bounds, hermitian)


def matrix_rank(A: Tensor, tol: Any = None, hermitian: bool = False, *, atol: Any = None, rtol: Any = None) -> Any:
    """How many singular values are not zero, as far as the dtype can tell."""
    bounds = (getattr(bound, "_array", bound) for bound in (atol if tol is None else tol, rtol if tol is None else 0))
    return call["linalg_matrix_rank"](A, *bounds, hermitian)


def cond(A: Tensor, p: Any = None) -> Any:
    """The condition number: the largest singular value over the smallest, or (-2) the other way round; no other norms."""
    if p not in {None, 2, -2}:
        raise RuntimeError(f"gviz's engine has no condition number of order {p}: run on real PyTorch")
    values = svdvals(A)
    first, last = call["narrow"](values, -1, 0, 1), call["narrow"](values, -1, -1, 1)
    return call["squeeze_dim"](call["div"](first, last) if p != -2 else call["div"](last, first), -1)


def vecdot(x: Tensor, y: Tensor, *, dim: int = -1) -> Any:
    """The products of vectors along a dim."""
    check_floats(x._array, "linalg.vecdot", "none")
    if x.dtype is not y.dtype:
        found = f"x of type {x.dtype.scalar_name} and y of type {y.dtype.scalar_name}"
        raise RuntimeError(f"linalg.vecdot: Expected x and y to have the same dtype, but found {found} instead")
    if x._array.ndim == 1 == y._array.ndim:
        return call["vdot"](x, y)
    return call["sum_dim"](call["mul"](x, y), (dim,), False)


def diagonal(A: Tensor, *, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Any:
    """The diagonal of matrices."""
    return call["diagonal"](A, offset, dim1, dim2)


def multi_dot(tensors: Any) -> Any:
    """A chain of matrix products, in the order that takes the fewest multiplications; a vector may begin or end it.

    Raises:
        RuntimeError: too few tensors, or their dims, dtypes or sizes do not fit.
    """
    given = tensor_list("linalg_multi_dot", tensors)
    last = len(given) - 1
    if last < 1:
        raise RuntimeError(f"multi_dot(): expected at least 2 tensors but got {len(given)}")
    for i, which in ((0, "first"), (last, "last")):
        if given[i].ndim not in {1, 2}:
            raise RuntimeError(f"multi_dot(): the {which} tensor must be 1D or 2D but got {given[i].ndim}D")
    for i, tensor in enumerate(given[1:-1], 1):
        if tensor.ndim != 2:
            raise RuntimeError(f"multi_dot(): tensor {i} must be 2D but got {tensor.ndim}D")
    chain = list(given)
    shape = (*given[0].shape[:-1], *given[last].shape[1:])
    if given[0].ndim == 1:
        chain[0] = call["unsqueeze"](given[0], 0)
    if given[last].ndim == 1:
        chain[last] = call["unsqueeze"](given[last], -1)
    for i, (left, right) in enumerate(itertools.pairwise(chain), 1):
        if right.dtype != chain[0].dtype:
            raise RuntimeError(
                "multi_dot(): all tensors must have be the same dtype but tensor 0 is "
                f"{chain[0].dtype.c_name} and tensor {i} {right.dtype.c_name}"
            )
        if left.shape[-1] != right.shape[0]:
            raise RuntimeError(
                f"multi_dot(): tensors {i - 1} and {i} with shapes {list(given[i - 1].shape)} and {list(given[i].shape)} "
                "cannot be multiplied"
            )
    sizes = [*(t.shape[0] for t in chain), chain[last].shape[1]]
    return call["view"](multiplied(chain, cuts(sizes), 0, last), shape)


def cuts(sizes: list[int]) -> dict[tuple[int, int], int]:
    """Where to cut each part of a chain of matrices of these sizes, so that it costs the fewest multiplications."""
    count = len(sizes) - 1
    cost, cut = {(i, i): 0 for i in range(count)}, {}
    for length in range(1, count):
        for i in range(count - length):
            j = i + length
            ways = [(cost[i, k] + cost[k + 1, j] + sizes[i] * sizes[k + 1] * sizes[j + 1], k) for k in range(i, j)]
            # of equal ways PyTorch takes the first; of the two for three matrices the second
            cost[i, j], cut[i, j] = min(ways, key=lambda way: (way[0], -way[1] if count == 3 else way[1]))
    return cut


def multiplied(chain: list[Any], cut: dict[tuple[int, int], int], first: int, last: int) -> Any:
    """The product of a part of a chain, the right half made first, as in PyTorch."""
    if first == last:
        return chain[first]
    middle = cut[first, last]
    right = multiplied(chain, cut, middle + 1, last)
    return call["mm"](multiplied(chain, cut, first, middle), right)


globals().update((name, public(globals()[name], f"linalg_{name}", method=False)) for name in __all__ if name in globals())
names.install({"linalg": globals()})
__getattr__ = absent("torch.linalg")
