"""What PyTorch composes of matrix operations: norms, chains of products, covariances; older names of ``torch``."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from gviz.autograd.row import TENSORS as call, public_names
from gviz.autograd.tensor import Tensor, from_array
from gviz.numbers.classes import result_class
from gviz.numbers.shapes import wrap_dims
from gviz.numbers.words import refuse, warn, warn_once
from gviz.ops.rows import brief


# ------------------------------------------------------------------ norms
@public_names("linalg.matrix_norm")
def matrix_norm(
    self: Tensor, ord: Any = "fro", dim: Ints = (-2, -1), keepdim: bool = False, *, dtype: Dtype = None
) -> Tensor:
    """Return the norm of matrices.

    Frobenius, of singular values, or the largest (or smallest) sum of a column or a row.
    """
    refuse(
        ord not in {"fro", "nuc", 1, -1, 2, -2, float("inf"), float("-inf")},
        f"linalg.matrix_norm: Order {ord} not supported.",
    )
    refuse(self.ndim < 2, "linalg.matrix_norm: The input tensor A must have at least 2 dimensions.")
    dims = wrap_dims(dim, self.ndim)
    if ord == "fro":
        return call["vector_norm"](self, 2, dims, keepdim, dtype)
    if ord in {2, -2, "nuc"}:
        order = (*(d for d in range(self.ndim) if d not in dims), *dims)
        values = call["linalg_svd"]((self if dtype is None else call["cast_like"](self, dtype)).permute(order), False)[
            1
        ]
        result = getattr(values, {2: "amax", -2: "amin", "nuc": "sum"}[ord])((-1,), keepdim)
        return result.unsqueeze(-1).permute([order.index(d) for d in range(self.ndim)]) if keepdim else result
    added, rest = dims if ord in {1, -1} else dims[::-1]
    sums = call["vector_norm"](self, 1.0, (added,), keepdim, dtype)
    rest -= rest > added and not keepdim
    return sums.amax((rest,), keepdim) if ord > 0 else sums.amin((rest,), keepdim)


@public_names("norm")
def norm(
    self: Tensor, p: object = "fro", dim: Ints | None = None, keepdim: bool = False, dtype: Dtype = None
) -> Tensor:
    """Return the p-norm of all elements, or along dims; for a text that of matrices."""
    if isinstance(p, str) and (p != "fro" or len(dim or ()) > 2):
        return matrix_norm(self, p, dim or tuple(range(self.ndim)), keepdim, dtype=dtype)
    return call["vector_norm"](self, 2.0 if p is None else 2 if p == "fro" else p, dim, keepdim, dtype)


@public_names("linalg.norm")
def linalg_norm(
    self: Tensor, ord: object = None, dim: Ints | None = None, keepdim: bool = False, *, dtype: Dtype = None
) -> Tensor:
    """Return the norm of a vector or, where an order and two dims are given, of matrices."""
    refuse(
        ord is not None and dim is None and self.ndim not in {1, 2},
        f"linalg.norm: If dim is not specified but ord is, the input must be 1D or 2D. Got {self.ndim}D.",
    )
    if isinstance(ord, str) or (ord is not None and len(dim or self.shape) == 2):
        return matrix_norm(self, ord, dim or (-2, -1), keepdim, dtype=dtype)
    return call["vector_norm"](self, 2.0 if ord is None else ord, dim, keepdim, dtype)


@public_names("linalg.cond")
def cond(self: Tensor, p: object = None) -> Any:
    """Return the condition number.

    The largest singular value over the smallest, or a norm times that of the inverse.
    """
    if p not in {None, 2, -2}:
        return matrix_norm(self, p) * matrix_norm(call["inverse"](self), p)
    values = call["svdvals"](self)
    first, last = values.narrow(-1, 0, 1), values.narrow(-1, -1, 1)
    return (last / first if p == -2 else first / last).squeeze(-1)


# ------------------------------------------------------------------ older names
brief("pinverse", lambda self, rcond=1e-15: linalg_pinv(self, rcond), rcond="float")
public_names("slogdet")(lambda self: result_class("slogdet", ("sign", "logabsdet"))(call["linalg_slogdet"](self)))


@public_names("svd")
def svd(self: Tensor, some: bool = True, compute_uv: bool = True) -> Any:
    """Return the singular vectors and values; without vectors zeros stand for them."""
    left, values, right = call["linalg_svd"](self, not some)
    if not compute_uv:
        *batch, rows, columns = self.shape
        left, right = (call["zeros_of"](self, (*batch, n, n)) for n in (rows, columns))
    return result_class("svd", ("U", "S", "V"))((left, values, right.transpose(-2, -1)))


@public_names("cross")
def cross(self: Tensor, other: Tensor, dim: int | None = None) -> Any:
    """Return the cross product along a dim; without one along the first of size 3."""
    if dim is None:
        warn_once(
            "Using torch.cross without specifying the dim arg is deprecated.\nPlease either pass the dim explicitly "
            "or simply use torch.linalg.cross.\nThe default value of dim will change to agree with that of "
            "linalg.cross in a future release."
        )
        refuse(3 not in self.shape, "no dimension of size 3 in input")
        dim = self.shape.index(3)
    return call["linalg_cross"](self, other, dim)


# ------------------------------------------------------------------ chains
@public_names("linalg.multi_dot")
def multi_dot(tensors: Tensors) -> Any:
    """Return a chain of matrix products, in the order that takes the fewest multiplications.

    A vector may begin or end it.
    """
    last = len(tensors) - 1
    refuse(last < 1, f"multi_dot(): expected at least 2 tensors but got {len(tensors)}")
    chain = [t.unsqueeze(-1 if i else 0) if t.ndim == 1 and i in (0, last) else t for i, t in enumerate(tensors)]
    sizes = [*(tensor.shape[0] for tensor in chain), chain[last].shape[1]]

    @cache
    def cheapest(first: int, end: int) -> tuple[int, int]:
        """Return the multiplications that this part of the chain takes, and where to cut it for that."""
        ways = [
            (cheapest(first, cut)[0] + cheapest(cut + 1, end)[0] + sizes[first] * sizes[cut + 1] * sizes[end + 1], cut)
            for cut in range(first, end)
        ]  # of equal ways the first is taken; of the two for three matrices the second
        return min(reversed(ways) if last == 2 else ways, key=lambda way: way[0], default=(0, first))

    def product(first: int, end: int) -> Any:
        """Return the product of this part of the chain, the right half made first, as in PyTorch."""
        if first == end:
            return chain[first]
        cut = cheapest(first, end)[1]
        right = product(cut + 1, end)
        return product(first, cut).mm(right)

    return product(0, last).view((*tensors[0].shape[:-1], *tensors[last].shape[1:]))


# ------------------------------------------------------------------ covariance
@public_names("cov")
def cov(input: Tensor, *, correction: int = 1, fweights: Tensor | None = None, aweights: Tensor | None = None) -> Any:
    """Return the covariance of the rows."""
    refuse(input.ndim > 2, f"cov(): expected input to have two or fewer dimensions but got {input.ndim}")
    rows: Any = input.view(1, -1) if input.ndim < 2 else input
    weights: Any = fweights if aweights is None else aweights if fweights is None else call["mul"](fweights, aweights)
    total: Any = from_array(np.asarray(rows.shape[1]), None) if weights is None else weights.sum()
    mean = (rows if weights is None else rows * weights).sum(1) / total
    free = total - correction if correction else total
    if aweights is not None and correction:
        free = total - call["mul_scalar"]((weights * aweights).sum(), correction) / total
    if free.item() <= 0:
        warn("cov(): degrees of freedom is <= 0. Correction should be strictly less than the number of observations.")
        free = free * 0
    centred = rows - mean.unsqueeze(1)
    return (centred.mm((centred if weights is None else centred * weights).t().conj()) / free).squeeze()


@public_names("corrcoef")
def corrcoef(input: Tensor) -> Any:
    """Return the correlation of the rows."""
    result = cov(input)
    if not result.ndim:
        return result / result
    spread = result.diagonal(0, 0, 1).sqrt()
    shares = result / spread.view(-1, 1) / spread.view(1, -1)
    if not shares.is_complex():
        return shares.clamp(-1, 1)
    real, imag = (np.clip(part, -1, 1) for part in (shares._array.real, shares._array.imag))
    return from_array((real + 1j * imag).astype(shares._array.dtype), None)
