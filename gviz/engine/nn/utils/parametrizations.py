"""``torch.nn.utils.parametrizations``: weights of norm 1, of unit spectral norm, and orthogonal ones.

Source: https://docs.pytorch.org/docs/2.13/generated/torch.nn.utils.parametrizations.orthogonal.html, and beside it
"""

from __future__ import annotations

from typing import Any, TypeVar

from gviz import engine
from gviz.autograd.modes import no_grad
from gviz.autograd.row import TENSORS as call
from gviz.autograd.tensor import Tensor
from gviz.engine.nn import functional as F
from gviz.engine.nn.module import Module
from gviz.engine.nn.utils.norms import SpectralNorm, WeightNorm
from gviz.engine.nn.utils.parametrize import register_parametrization
from gviz.numbers.words import absent, refuse

__all__ = ["orthogonal", "spectral_norm", "weight_norm"]
torch: Any = engine
M = TypeVar("M", bound=Module)


class _WeightNorm(Module):
    """A weight from its length for each index of one dim, and its direction."""

    def __init__(self, dim: int | None = 0) -> None:
        super().__init__()
        self.dim = -1 if dim is None else dim

    def forward(self, weight_g: Tensor, weight_v: Tensor) -> Any:
        """Return the weight."""
        return call["_weight_norm"](weight_v, weight_g, self.dim)

    def right_inverse(self, weight: Tensor) -> Any:
        """Return its length and direction."""
        return WeightNorm("", self.dim).norm(weight), weight


class _SpectralNorm(Module):
    """A weight over its largest singular value, which a power iteration estimates in each training step."""

    def __init__(self, weight: Tensor, n_power_iterations: int = 1, dim: int = 0, eps: float = 1e-12) -> None:
        super().__init__()
        self.norm, self.count = SpectralNorm("", n_power_iterations, dim % weight.dim(), eps), n_power_iterations
        if weight.dim() > 1:
            matrix = self.norm.matrix(weight).detach()
            for name, size in zip(("_u", "_v"), matrix.shape, strict=True):
                self.register_buffer(name, self.norm.unit(matrix.new_empty(size).normal_(0, 1)))
            self.norm.iterate(matrix, self._u, self._v, 15)

    def forward(self, weight: Tensor) -> Any:
        """Return the weight over its norm."""
        if weight.dim() == 1:
            return F.normalize(weight, dim=0, eps=self.norm.eps)
        matrix = self.norm.matrix(weight)
        if self.training:
            self.norm.iterate(matrix, self._u, self._v, self.count)
        return weight / torch.vdot(self._u.clone(), torch.mv(matrix, self._v.clone()))

    def right_inverse(self, value: Tensor) -> Any:
        """Return the value, which is assumed to be of norm 1."""
        return value


class _Orthogonal(Module):
    """An orthogonal matrix: times ``base``, the exponential or Cayley map of a skew matrix, or reflections."""

    def __init__(self, weight: Tensor, orthogonal_map: str, use_trivialization: bool = True) -> None:
        super().__init__()
        self.orthogonal_map, self.has_base = orthogonal_map, use_trivialization
        if use_trivialization:
            self.register_buffer("base", None)

    def forward(self, X: Tensor) -> Any:
        """Return the orthogonal matrix."""
        is_wide = X.size(-2) < X.size(-1)
        matrix = X.mT if is_wide else X
        n, k = matrix.shape[-2:]
        if self.orthogonal_map == "householder":
            lower = matrix.tril(-1)
            product = torch.linalg.householder_product(lower, 2.0 / (1.0 + (lower * lower).sum(-2)))
            product = product * matrix.diagonal(0, -2, -1).int().unsqueeze(-2)
        else:
            lower = matrix.tril()
            if n != k:
                lower = torch.cat([lower, lower.new_zeros((n, n - k)).expand(*lower.shape[:-2], -1, -1)], dim=-1)
            skew = lower - lower.mH
            if self.orthogonal_map == "matrix_exp":
                product = torch.matrix_exp(skew)
            else:
                unit = torch.eye(n, dtype=skew.dtype)
                product = torch.linalg.solve(torch.add(unit, skew, alpha=-0.5), torch.add(unit, skew, alpha=0.5))
            product = product if n == k else product[..., :k]
        if self.has_base:
            product = self.base @ product
        return product.mT if is_wide else product

    @no_grad()  # type: ignore[untyped-decorator]
    def right_inverse(self, Q: Tensor) -> Any:
        """Return what an orthogonal matrix near a value is made of."""
        refuse(
            not self.has_base,
            "It is not possible to assign to the matrix exponential or the Cayley parametrizations when "
            "use_trivialization=False.",
            NotImplementedError,
        )
        matrix = Q.mT if Q.size(-2) < Q.size(-1) else Q
        n, k = matrix.shape[-2:]
        if n != k:
            matrix = torch.cat([matrix, torch.randn(*matrix.shape[:-2], n, n - k, dtype=matrix.dtype)], dim=-1)
        unit = torch.eye(n, dtype=matrix.dtype)
        eps = torch.finfo(matrix.dtype).eps
        if n != k or not torch.allclose(matrix.mH @ matrix, unit, atol=10 * n * eps):
            factor, rest = torch.linalg.qr(matrix)
            matrix = factor * rest.diagonal(0, -2, -1).sgn().unsqueeze(-2)
        self.base = matrix.clone()
        return -torch.eye(*Q.shape[-2:], dtype=Q.dtype).expand_as(Q)


def weight_of(module: Module, name: str) -> Any:
    """Return a tensor of a module. ValueError: there is none of that name."""
    weight = getattr(module, name, None)
    refuse(
        not isinstance(weight, Tensor), f"Module '{module}' has no parameter or buffer with name '{name}'", ValueError
    )
    return weight


def weight_norm(module: M, name: str = "weight", dim: int | None = 0) -> M:
    """Split a weight into its length and its direction."""
    return register_parametrization(module, name, _WeightNorm(dim), unsafe=True)


def spectral_norm(
    module: M, name: str = "weight", n_power_iterations: int = 1, eps: float = 1e-12, dim: int | None = None
) -> M:
    """Divide a weight by its largest singular value."""
    weight = weight_of(module, name)
    usual = 1 if type(module).__name__.startswith("ConvTranspose") else 0
    return register_parametrization(
        module, name, _SpectralNorm(weight, n_power_iterations, usual if dim is None else dim, eps)
    )


def orthogonal(
    module: M, name: str = "weight", orthogonal_map: str | None = None, *, use_trivialization: bool = True
) -> M:
    """Keep a matrix orthogonal."""
    weight = weight_of(module, name)
    refuse(
        weight.ndim < 2,
        f"Expected a matrix or batch of matrices. Got a tensor of {weight.ndim} dimensions.",
        ValueError,
    )
    kind = orthogonal_map or ("matrix_exp" if weight.shape[-2] == weight.shape[-1] else "householder")
    refuse(
        kind not in ("matrix_exp", "cayley", "householder"),
        f'orthogonal_map has to be one of "matrix_exp", "cayley", "householder". Got: {kind}',
        ValueError,
    )
    return register_parametrization(module, name, _Orthogonal(weight, kind, use_trivialization), unsafe=True)


__getattr__ = absent("torch.nn.utils.parametrizations")
