"""Distributions of real numbers, each a declaration: what its parameters satisfy, its moments, samples and scores."""

from __future__ import annotations

import math
from functools import cached_property
from typing import Any

from gviz import engine
from gviz.autograd.row import TENSORS as call
from gviz.autograd.tensor import Tensor
from gviz.engine.distributions.base import Declared, Distribution, broadcast, of_parameters, row
from gviz.engine.distributions.constraints import (
    greater_than,
    independent,
    interval,
    less_than,
    lower_cholesky,
    nonnegative,
    positive,
    positive_definite,
    real,
    real_vector,
    simplex,
    unit_interval,
)  # fmt: skip
from gviz.numbers.printing import Size
from gviz.numbers.words import refuse, refuse_any

torch: Any = engine


def standard_normal(shape: Size, like: Tensor) -> Any:
    """Return standard normal numbers of the type of a tensor."""
    return torch.empty(shape, dtype=like.dtype).normal_()


# ------------------------------------------------------------------ of real numbers
LocScale = of_parameters(
    "loc, scale",
    {"loc": real, "scale": positive},
    "Real numbers around a place.",
    support=real,
    mean=property(lambda self: self.loc),
    mode=property(lambda self: self.loc),
)

Normal = row(
    "Normal",
    LocScale,
    "Normal numbers of that mean and standard deviation.",
    stddev=lambda self: self.scale,
    variance=lambda self: self.scale.pow(2),
    sample=lambda self, shape: torch.normal(self.loc.expand(shape), self.scale.expand(shape)),
    rsample=lambda self, shape: self.loc + standard_normal(shape, self.loc) * self.scale,
    log_prob=lambda self, value: (
        -((value - self.loc) ** 2) / (2 * self.scale**2) - self.scale.log() - math.log(math.sqrt(2 * math.pi))
    ),
    cdf=lambda self, value: 0.5 * (1 + torch.erf((value - self.loc) * self.scale.reciprocal() / math.sqrt(2))),
    icdf=lambda self, value: self.loc + self.scale * torch.erfinv(2 * value - 1) * math.sqrt(2),
    entropy=lambda self: 0.5 + 0.5 * math.log(2 * math.pi) + torch.log(self.scale),
)
Laplace = row(
    "Laplace",
    LocScale,
    "Numbers whose distance from a place is exponential.",
    stddev=lambda self: 2**0.5 * self.scale,
    variance=lambda self: 2 * self.scale.pow(2),
    rsample=lambda self, shape: turned(self, uniform(self.loc, shape, torch.finfo(self.loc.dtype).eps - 1), 1),
    log_prob=lambda self, value: -torch.log(2 * self.scale) - torch.abs(value - self.loc) / self.scale,
    cdf=lambda self, value: 0.5 - 0.5 * (value - self.loc).sign() * torch.expm1(-(value - self.loc).abs() / self.scale),
    icdf=lambda self, value: turned(self, value - 0.5, 2),
    entropy=lambda self: 1 + torch.log(2 * self.scale),
)
Cauchy = row(
    "Cauchy",
    LocScale,
    "Numbers with tails so heavy that they have no mean.",
    mean=lambda self: torch.full(self._extended_shape(), math.nan, dtype=self.loc.dtype),
    variance=lambda self: torch.full(self._extended_shape(), math.inf, dtype=self.loc.dtype),
    rsample=lambda self, shape: self.loc + torch.empty(shape, dtype=self.loc.dtype).cauchy_() * self.scale,
    log_prob=lambda self, value: (
        -math.log(math.pi) - self.scale.log() - (((value - self.loc) / self.scale) ** 2).log1p()
    ),
    cdf=lambda self, value: torch.atan((value - self.loc) / self.scale) / math.pi + 0.5,
    icdf=lambda self, value: torch.tan(math.pi * (value - 0.5)) * self.scale + self.loc,
    entropy=lambda self: math.log(4 * math.pi) + self.scale.log(),
)


LowHigh = of_parameters(
    "low, high",
    property(lambda self: {"low": less_than(self.high), "high": greater_than(self.low)}),
    "Numbers between two.",
    support=property(lambda self: interval(self.low, self.high)),
)

Uniform = row(
    "Uniform",
    LowHigh,
    "Numbers from ``low`` up to, not including, ``high``.",
    mean=lambda self: (self.high + self.low) / 2,
    mode=lambda self: math.nan * self.high,
    stddev=lambda self: (self.high - self.low) / 12**0.5,
    variance=lambda self: (self.high - self.low).pow(2) / 12,
    rsample=lambda self, shape: self.low + torch.rand(shape, dtype=self.low.dtype) * (self.high - self.low),
    log_prob=lambda self, value: (
        torch.log(self.low.le(value).type_as(self.low).mul(self.high.gt(value).type_as(self.low)))
        - torch.log(self.high - self.low)
    ),
    cdf=lambda self, value: ((value - self.low) / (self.high - self.low)).clamp(min=0, max=1),
    icdf=lambda self, value: value * (self.high - self.low) + self.low,
    entropy=lambda self: torch.log(self.high - self.low),
)


Rate = of_parameters("rate", {"rate": positive}, "Of events of a rate.", support=nonnegative)

Exponential = row(
    "Exponential",
    Rate,
    "Times between events of a rate.",
    mean=lambda self: self.rate.reciprocal(),
    stddev=lambda self: self.rate.reciprocal(),
    mode=lambda self: torch.zeros_like(self.rate),
    variance=lambda self: self.rate.pow(-2),
    rsample=lambda self, shape: torch.empty(shape, dtype=self.rate.dtype).exponential_() / self.rate,
    log_prob=lambda self, value: self.rate.log() - self.rate * value,
    cdf=lambda self, value: 1 - torch.exp(-self.rate * value),
    icdf=lambda self, value: -torch.log1p(-value) / self.rate,
    entropy=lambda self: 1.0 - torch.log(self.rate),
)


ConcentrationRate = of_parameters(
    "concentration, rate",
    {"concentration": positive, "rate": positive},
    "Of so many exponential numbers, of a rate.",
    support=nonnegative,
)


def gamma_numbers(self: Declared, shape: Size) -> Any:
    """Return random numbers through which gradients flow, none of them zero."""
    value = call["standard_gamma"](self.concentration.expand(shape)) / self.rate.expand(shape)
    value.detach().clamp_(min=torch.finfo(value.dtype).tiny)
    return value


Gamma = row(
    "Gamma",
    ConcentrationRate,
    "Sums of exponential numbers: so many, of a rate.",
    mean=lambda self: self.concentration / self.rate,
    mode=lambda self: ((self.concentration - 1) / self.rate).clamp(min=0),
    variance=lambda self: self.concentration / self.rate.pow(2),
    rsample=gamma_numbers,
    log_prob=lambda self, value: (
        torch.xlogy(self.concentration, self.rate)
        + torch.xlogy(self.concentration - 1, value)
        - self.rate * value
        - torch.lgamma(self.concentration)
    ),
    entropy=lambda self: (
        self.concentration
        - torch.log(self.rate)
        + torch.lgamma(self.concentration)
        + (1.0 - self.concentration) * torch.digamma(self.concentration)
    ),
)


DegreesOfFreedom = of_parameters(
    "df, loc=0.0, scale=1.0",
    {"df": positive, "loc": real, "scale": positive},
    "Of a place, a scale and degrees of freedom.",
    support=real,
)

StudentT = row(
    "StudentT",
    DegreesOfFreedom,
    "Normal numbers whose deviation is uncertain, with so many degrees of freedom.",
    mean=lambda self: self.loc.masked_fill(self.df <= 1, math.nan),
    mode=lambda self: self.loc,
    variance=lambda self: (
        (self.scale.pow(2) * self.df / (self.df - 2))
        .masked_fill(self.df <= 2, math.inf)
        .masked_fill(self.df <= 1, math.nan)
    ),
    rsample=lambda self, shape: (
        self.loc
        + self.scale
        * (standard_normal(shape, self.df) * torch.rsqrt(gamma_numbers(Gamma(0.5 * self.df, 0.5), shape) / self.df))
    ),
    log_prob=lambda self, value: (
        -0.5 * (self.df + 1.0) * torch.log1p(((value - self.loc) / self.scale) ** 2.0 / self.df)
        - (
            self.scale.log()
            + 0.5 * self.df.log()
            + 0.5 * math.log(math.pi)
            + torch.lgamma(0.5 * self.df)
            - torch.lgamma(0.5 * (self.df + 1.0))
        )
    ),
    entropy=lambda self: (
        self.scale.log()
        + 0.5 * (self.df + 1) * (torch.digamma(0.5 * (self.df + 1)) - torch.digamma(0.5 * self.df))
        + 0.5 * self.df.log()
        + (torch.lgamma(0.5 * self.df) + math.lgamma(0.5) - torch.lgamma(0.5 * (self.df + 1)))
    ),
)


def uniform(like: Tensor, shape: Size, low: float) -> Any:
    """Return uniform numbers from a bound up to one, of the type of a tensor."""
    return torch.empty(shape, dtype=like.dtype).uniform_(low, 1)


def turned(self: Declared, unit: Tensor, share: float) -> Any:
    """Return Laplace numbers of uniform ones around zero."""
    size = -unit.abs() if share == 1 else -share * unit.abs()
    return self.loc - self.scale * unit.sign() * torch.log1p(size)


# ------------------------------------------------------------------ of shares of one
class Concentration(Distribution):
    """Base of Dirichlet: shares whose sum is one."""

    arg_constraints, support, has_rsample = {"concentration": independent(positive, 1)}, simplex, True

    def __init__(self, concentration: Tensor, validate_args: bool | None = None) -> None:
        refuse(concentration.dim() < 1, "`concentration` parameter must be at least one-dimensional.", ValueError)
        self.concentration = concentration
        super().__init__(concentration.shape[:-1], concentration.shape[-1:], validate_args)


class _Dirichlet(torch.autograd.Function):  # type: ignore[misc]
    """Random shares; gviz has not PyTorch's approximation of their gradient."""

    @staticmethod
    def forward(_ctx: object, concentration: Tensor) -> Any:
        """Return random shares."""
        return call["sample_dirichlet"](concentration)

    @staticmethod
    def backward(_ctx: object, *_grads: Tensor) -> Any:
        """Refuse."""
        raise NotImplementedError(
            "gviz has no gradient through rsample() of Beta and Dirichlet; sample() and log_prob() need none, "
            "and --engine torch runs the script on the real PyTorch"
        )


def dirichlet_entropy(self: Declared) -> Any:
    """Return the entropy of shares."""
    count, total = self.concentration.size(-1), self.concentration.sum(-1)
    parts = torch.lgamma(self.concentration).sum(-1) - torch.lgamma(total) - (count - total) * torch.digamma(total)
    return parts - ((self.concentration - 1.0) * torch.digamma(self.concentration)).sum(-1)


def dirichlet_mode(self: Declared) -> Any:
    """Return the most likely shares."""
    above = (self.concentration - 1).clamp(min=0.0)
    mode = above / above.sum(-1, True)
    mask = (self.concentration < 1).all(dim=-1)
    if mask.any():
        mode[mask] = torch.nn.functional.one_hot(mode[mask].argmax(dim=-1), above.shape[-1]).to(mode)
    return mode


def share_variance(one: Tensor, total: Tensor, rest: Tensor) -> Any:
    """Return the variance of a share."""
    return one * rest / (total.pow(2) * (total + 1))


Dirichlet = row(
    "Dirichlet",
    Concentration,
    "Shares whose sum is one.",
    mean=lambda self: self.concentration / self.concentration.sum(-1, True),
    variance=lambda self: share_variance(
        self.concentration, total := self.concentration.sum(-1, True), total - self.concentration
    ),
    mode=dirichlet_mode,
    rsample=lambda self, shape: _Dirichlet.apply(self.concentration.expand(shape)),
    log_prob=lambda self, value: (
        torch.xlogy(self.concentration - 1.0, value).sum(-1)
        + torch.lgamma(self.concentration.sum(-1))
        - torch.lgamma(self.concentration).sum(-1)
    ),
    entropy=dirichlet_entropy,
)


class TwoConcentrations(Distribution):
    """Base of Beta: the first of two shares of one."""

    arg_constraints = {"concentration1": positive, "concentration0": positive}  # noqa: RUF012 - as PyTorch's
    support, has_rsample = unit_interval, True
    concentration1 = property(lambda self: self._dirichlet.concentration[..., 0])
    concentration0 = property(lambda self: self._dirichlet.concentration[..., 1])

    def __init__(
        self, concentration1: Tensor | float, concentration0: Tensor | float, validate_args: bool | None = None
    ) -> None:
        self._dirichlet = Dirichlet(torch.stack(broadcast(concentration1, concentration0), -1), validate_args)
        super().__init__(self._dirichlet.batch_shape, validate_args=validate_args)


Beta = row(
    "Beta",
    TwoConcentrations,
    "The first of two shares of one.",
    mean=lambda self: self.concentration1 / (self.concentration1 + self.concentration0),
    variance=lambda self: share_variance(
        self.concentration1, self.concentration1 + self.concentration0, self.concentration0
    ),
    mode=lambda self: self._dirichlet.mode[..., 0],
    rsample=lambda self, shape: self._dirichlet.rsample(shape[: len(shape) - len(self.batch_shape)]).select(-1, 0),
    log_prob=lambda self, value: self._dirichlet.log_prob(torch.stack([value, 1.0 - value], -1)),
    entropy=lambda self: self._dirichlet.entropy(),
)


# ------------------------------------------------------------------ of vectors
class Covariance(Distribution):
    """Base of MultivariateNormal: a mean, and a covariance matrix, its inverse or its Cholesky factor."""

    arg_constraints = {  # noqa: RUF012 - as PyTorch's
        "loc": real_vector,
        "covariance_matrix": positive_definite,
        "precision_matrix": positive_definite,
        "scale_tril": lower_cholesky,
    }
    support, has_rsample = real_vector, True
    scale_tril = cached_property(lambda self: self._full(self._unbroadcasted_scale_tril))
    covariance_matrix = cached_property(
        lambda self: self._full(torch.matmul(self._unbroadcasted_scale_tril, self._unbroadcasted_scale_tril.mT))
    )
    precision_matrix = cached_property(lambda self: self._full(torch.linalg.inv(self.covariance_matrix)))

    def __init__(
        self,
        loc: Tensor,
        covariance_matrix: Tensor | None = None,
        precision_matrix: Tensor | None = None,
        scale_tril: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        matrices = {
            "scale_tril": scale_tril, "covariance_matrix": covariance_matrix, "precision_matrix": precision_matrix
        }  # fmt: skip
        given = {name: matrix for name, matrix in matrices.items() if matrix is not None}
        ((name, matrix),) = given.items() if len(given) == 1 else [("", torch.ones(()))]
        problems = {
            "loc must be at least one-dimensional.": loc.dim() < 1,
            "Exactly one of covariance_matrix or precision_matrix or scale_tril may be specified.": not name,
            f"{name} {'matrix ' * (scale_tril is not None)}must be at least two-dimensional, with optional leading "
            "batch dimensions": matrix.dim() < 2,
        }
        refuse_any(problems, ValueError)
        batch = torch.broadcast_shapes(matrix.shape[:-2], loc.shape[:-1])
        vars(self)[name], self.loc = matrix.expand((*batch, -1, -1)), loc.expand((*batch, -1))
        super().__init__(batch, self.loc.shape[-1:], validate_args)
        self._unbroadcasted_scale_tril = FACTORS[name](matrix)

    def _full(self, matrix: Tensor) -> Any:
        return matrix.expand(self._extended_shape() + self.event_shape)


def half_log_det(self: Declared) -> Any:
    """Return half the logarithm of the determinant of the covariance matrix."""
    return self._unbroadcasted_scale_tril.diagonal(dim1=-2, dim2=-1).log().sum(-1)


def mahalanobis(factor: Tensor, vectors: Tensor) -> Any:
    """Return the squared lengths of vectors where the matrix of this Cholesky factor is the measure of length."""
    size, batch, batches = vectors.size(-1), vectors.shape[:-1], factor.dim() - 2
    outer = len(batch) - batches
    pairs = [part for f, v in zip(factor.shape[:-2], vectors.shape[outer:-1], strict=True) for part in (v // f, f)]
    last = outer + 2 * batches
    vectors = vectors.reshape((*vectors.shape[:outer], *pairs, size))
    vectors = vectors.permute([*range(outer), *range(outer, last, 2), *range(outer + 1, last, 2), last])
    flat = factor.reshape(-1, size, size)
    columns = vectors.reshape(-1, flat.size(0), size).permute(1, 2, 0)
    squares = torch.linalg.solve_triangular(flat, columns, upper=False).pow(2).sum(-2).t()
    back = [place for i in range(batches) for place in (outer + i, outer + batches + i)]
    return squares.reshape(vectors.shape[:-1]).permute([*range(outer), *back]).reshape(batch)


def factor_of_inverse(matrix: Tensor) -> Any:
    """Return the Cholesky factor of the inverse of a matrix."""
    flipped = torch.flip(torch.linalg.cholesky(torch.flip(matrix, (-2, -1))), (-2, -1))
    one = torch.eye(matrix.shape[-1], dtype=matrix.dtype)
    return torch.linalg.solve_triangular(torch.transpose(flipped, -2, -1), one, upper=False)


FACTORS: dict[str, Any] = {
    "scale_tril": lambda matrix: matrix,
    "covariance_matrix": torch.linalg.cholesky,
    "precision_matrix": factor_of_inverse,
}
MultivariateNormal = row(
    "MultivariateNormal",
    Covariance,
    "Normal vectors.",
    mean=lambda self: self.loc,
    mode=lambda self: self.loc,
    variance=lambda self: self._unbroadcasted_scale_tril.pow(2).sum(-1).expand(self._extended_shape()),
    rsample=lambda self, shape: (
        self.loc
        + torch.matmul(self._unbroadcasted_scale_tril, standard_normal(shape, self.loc).unsqueeze(-1)).squeeze(-1)
    ),
    log_prob=lambda self, value: (
        -0.5
        * (self.event_shape[0] * math.log(2 * math.pi) + mahalanobis(self._unbroadcasted_scale_tril, value - self.loc))
        - half_log_det(self)
    ),
    entropy=lambda self: (
        entropy := 0.5 * self.event_shape[0] * (1.0 + math.log(2 * math.pi)) + half_log_det(self),
        entropy.expand(self.batch_shape) if self.batch_shape else entropy,
    )[1],
)
