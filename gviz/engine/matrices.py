"""What PyTorch composes of matrix operations: condition numbers, chains of products, covariances; older names of ``torch``."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from gviz.autograd.row import TENSORS as call
from gviz.autograd.row import named
from gviz.autograd.tensor import Tensor, from_array
from gviz.engine.norms import matrix_norm
from gviz.numbers.classes import result_class
from gviz.numbers.words import warn, warn_once

if TYPE_CHECKING:
    Tensors = list[Any] | tuple[Any, ...]

__all__: list[str] = []


@named("linalg.cond")
def cond(A: Tensor, p: Any = None) -> Any:
    """Return the condition number: the largest singular value over the smallest, or a norm times that of the inverse."""
    if p not in {None, 2, -2}:
        return matrix_norm(A, p) * matrix_norm(call["inverse"](A), p)
    values = call["svdvals"](A)
    first, last = values.narrow(-1, 0, 1), values.narrow(-1, -1, 1)
    return (last / first if p == -2 else first / last).squeeze(-1)


# ------------------------------------------------------------------ older names
@named("slogdet")
def slogdet(self: Tensor) -> Any:
    """Return the sign of a determinant and the logarithm of its size."""
    return result_class("slogdet", ("sign", "logabsdet"))(call["linalg_slogdet"](self))


@named("svd")
def svd(self: Tensor, some: bool = True, compute_uv: bool = True) -> Any:
    """Return the singular vectors and values; without vectors zeros stand for them."""
    left, values, right = call["linalg_svd"](self, not some)
    if not compute_uv:
        *batch, rows, columns = self.shape
        left, right = (call["zeros_of"](self, (*batch, n, n)) for n in (rows, columns))
    return result_class("svd", ("U", "S", "V"))((left, values, right.transpose(-2, -1)))


@named("pinverse")
def pinverse(self: Tensor, rcond: float = 1e-15) -> Any:
    """Return the pseudo-inverse."""
    return call["linalg_pinv"](self, rcond)


@named("cross")
def cross(self: Tensor, other: Tensor, dim: int | None = None) -> Any:
    """Return the cross product along a dim; without one along the first of size 3."""
    if dim is None:
        warn_once(
            "Using torch.cross without specifying the dim arg is deprecated.\nPlease either pass the dim explicitly or simply "
            "use torch.linalg.cross.\nThe default value of dim will change to agree with that of linalg.cross in a future "
            "release."
        )
        if 3 not in self.shape:
            raise RuntimeError("no dimension of size 3 in input")
        dim = self.shape.index(3)
    return call["linalg_cross"](self, other, dim)


# ------------------------------------------------------------------ chains
@named("linalg.multi_dot")
def multi_dot(tensors: Tensors) -> Any:
    """Return a chain of matrix products, in the order that takes the fewest multiplications; a vector may begin or end it."""
    last = len(tensors) - 1
    if last < 1:
        raise RuntimeError(f"multi_dot(): expected at least 2 tensors but got {len(tensors)}")
    chain = list(tensors)
    chain[0] = chain[0].unsqueeze(0) if chain[0].ndim == 1 else chain[0]
    chain[last] = chain[last].unsqueeze(-1) if chain[last].ndim == 1 else chain[last]
    sizes = [*(tensor.shape[0] for tensor in chain), chain[last].shape[1]]

    @cache
    def cheapest(first: int, end: int) -> tuple[int, int]:
        """Return the multiplications that this part of the chain takes, and where to cut it for that."""
        ways = []
        for cut in range(first, end):
            cost = cheapest(first, cut)[0] + cheapest(cut + 1, end)[0] + sizes[first] * sizes[cut + 1] * sizes[end + 1]
            ways.append((cost, -cut if last == 2 else cut))  # of equal ways the first; of the two for three matrices the second
        cost, cut = min(ways, default=(0, first))
        return cost, abs(cut)

    def product(first: int, end: int) -> Any:
        """Return the product of this part of the chain, the right half made first, as in PyTorch."""
        if first == end:
            return chain[first]
        cut = cheapest(first, end)[1]
        right = product(cut + 1, end)
        return product(first, cut).mm(right)

    return product(0, last).view((*tensors[0].shape[:-1], *tensors[last].shape[1:]))


# ------------------------------------------------------------------ covariance
@named("cov")
def cov(input: Tensor, *, correction: int = 1, fweights: Tensor | None = None, aweights: Tensor | None = None) -> Any:
    """Return the covariance of the rows."""
    if input.ndim > 2:
        raise RuntimeError(f"cov(): expected input to have two or fewer dimensions but got {input.ndim}")
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
    other = centred if weights is None else centred * weights
    return (centred.mm(other.t()) / free).squeeze()


@named("corrcoef")
def corrcoef(input: Tensor) -> Any:
    """Return the correlation of the rows."""
    result = cov(input)
    if not result.ndim:
        return result / result
    spread = result.diagonal(0, 0, 1).sqrt()
    return (result / spread.view(-1, 1) / spread.view(1, -1)).clamp(-1, 1)
