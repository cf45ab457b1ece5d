"""``kl_divergence``: one row for each pair of distributions."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from gviz import engine
from gviz.autograd.tensor import Tensor
from gviz.engine.distributions.base import Distribution, sum_last
from gviz.engine.distributions.composed import EULER, Gumbel, HalfNormal, Independent, TransformedDistribution
from gviz.engine.distributions.counts import Bernoulli, Categorical, Geometric, OneHotCategorical, Poisson
from gviz.engine.distributions.reals import (
    Beta,
    Cauchy,
    Dirichlet,
    Exponential,
    Gamma,
    Laplace,
    MultivariateNormal,
    Normal,
    Uniform,
    half_log_det,
    mahalanobis,
)  # fmt: skip
from gviz.numbers.words import refuse

torch: Any = engine


def kl_normal(p: Normal, q: Normal) -> Any:
    """Return the divergence of normal distributions."""
    ratio = (p.scale / q.scale).pow(2)
    return 0.5 * (ratio + ((p.loc - q.loc) / q.scale).pow(2) - 1 - ratio.log())


def kl_uniform(p: Uniform, q: Uniform) -> Any:
    """Return the divergence of uniform distributions: infinite where p goes beyond q."""
    result = ((q.high - q.low) / (p.high - p.low)).log()
    result[(q.low > p.low) | (q.high < p.high)] = math.inf
    return result


def bounded(terms: Tensor, infinite: Tensor, none: Tensor) -> Any:
    """Return terms of a divergence: infinite where only the other value cannot be, zero where this one cannot."""
    terms[infinite.expand_as(terms)] = math.inf
    terms[none.expand_as(terms)] = 0
    return terms


def kl_bernoulli(p: Bernoulli, q: Bernoulli) -> Any:
    """Return the divergence of Bernoulli distributions."""
    softplus = torch.nn.functional.softplus
    ones = bounded(p.probs * (softplus(-q.logits) - softplus(-p.logits)), q.probs == 0, p.probs == 0)
    return ones + bounded((1 - p.probs) * (softplus(q.logits) - softplus(p.logits)), q.probs == 1, p.probs == 1)


def kl_categorical(p: Categorical, q: Categorical) -> Any:
    """Return the divergence of categorical distributions."""
    return bounded(p.probs * (p.logits - q.logits), q.probs == 0, p.probs == 0).sum(-1)


def kl_laplace(p: Laplace, q: Laplace) -> Any:
    """Return the divergence of Laplace distributions."""
    ratio, distance = p.scale / q.scale, (p.loc - q.loc).abs()
    return -ratio.log() + distance / q.scale + ratio * torch.exp(-distance / p.scale) - 1


def kl_exponential(p: Exponential, q: Exponential) -> Any:
    """Return the divergence of exponential distributions."""
    ratio = q.rate / p.rate
    return -ratio.log() + ratio - 1


def kl_gamma(p: Gamma, q: Gamma) -> Any:
    """Return the divergence of gamma distributions."""
    return (
        q.concentration * (p.rate / q.rate).log()
        + (torch.lgamma(q.concentration) - torch.lgamma(p.concentration))
        + (p.concentration - q.concentration) * torch.digamma(p.concentration)
        + (q.rate - p.rate) * (p.concentration / p.rate)
    )


def kl_beta(p: Beta, q: Beta) -> Any:
    """Return the divergence of beta distributions."""
    p_total, q_total = p.concentration1 + p.concentration0, q.concentration1 + q.concentration0
    first = q.concentration1.lgamma() + q.concentration0.lgamma() + p_total.lgamma()
    second = p.concentration1.lgamma() + p.concentration0.lgamma() + q_total.lgamma()
    return (
        first - second
        + (p.concentration1 - q.concentration1) * torch.digamma(p.concentration1)
        + (p.concentration0 - q.concentration0) * torch.digamma(p.concentration0)
        + (q_total - p_total) * torch.digamma(p_total)
    )  # fmt: skip


def kl_dirichlet(p: Dirichlet, q: Dirichlet) -> Any:
    """Return the divergence of Dirichlet distributions."""
    p_total, q_total = p.concentration.sum(-1), q.concentration.sum(-1)
    totals = p_total.lgamma() - q_total.lgamma()
    parts = (p.concentration.lgamma() - q.concentration.lgamma()).sum(-1)
    change = p.concentration - q.concentration
    return totals - parts + (change * (p.concentration.digamma() - p_total.digamma().unsqueeze(-1))).sum(-1)


def kl_gumbel(p: Gumbel, q: Gumbel) -> Any:
    """Return the divergence of Gumbel distributions."""
    ratio, there, here = p.scale / q.scale, q.loc / q.scale, p.loc / q.scale
    last = torch.exp(there + (1 + ratio).lgamma() - here)
    return -ratio.log() - there + here + ratio * EULER + last - (1 + EULER)


def kl_multivariate_normal(p: MultivariateNormal, q: MultivariateNormal) -> Any:
    """Return the divergence of normal distributions of vectors."""
    refuse(
        p.event_shape != q.event_shape,
        "KL-divergence between two Multivariate Normals with                          "
        "different event shapes cannot be computed",
        ValueError,
    )
    logs, mine, other = half_log_det(q) - half_log_det(p), p._unbroadcasted_scale_tril, q._unbroadcasted_scale_tril
    sizes = (*torch.broadcast_shapes(other.shape[:-2], mine.shape[:-2]), *p.event_shape, *p.event_shape)
    solved = torch.linalg.solve_triangular(other.expand(sizes), mine.expand(sizes), upper=False)
    trace = solved.reshape((-1, sizes[-1] * sizes[-1])).pow(2).sum(-1).reshape(sizes[:-2])
    return logs + 0.5 * (trace + mahalanobis(other, q.loc - p.loc) - sizes[-1])


def kl_independent(p: Independent, q: Independent) -> Any:
    """Return the sum of the divergences of an event."""
    refuse(p.reinterpreted_batch_ndims != q.reinterpreted_batch_ndims, "", NotImplementedError)
    return sum_last(kl_divergence(p.base_dist, q.base_dist), p.reinterpreted_batch_ndims)


def kl_transformed(p: TransformedDistribution, q: TransformedDistribution) -> Any:
    """Return the divergence of what was transformed, in the same way."""
    refuse(p.transforms != q.transforms or p.event_shape != q.event_shape, "", NotImplementedError)
    return kl_divergence(p.base_dist, q.base_dist)


DIVERGENCES: dict[type, Callable[..., Tensor]] = {
    Normal: kl_normal,
    Uniform: kl_uniform,
    Bernoulli: kl_bernoulli,
    Categorical: kl_categorical,
    Laplace: kl_laplace,
    Exponential: kl_exponential,
    Gamma: kl_gamma,
    Beta: kl_beta,
    Dirichlet: kl_dirichlet,
    MultivariateNormal: kl_multivariate_normal,
    Independent: kl_independent,
    OneHotCategorical: lambda p, q: kl_categorical(p._categorical, q._categorical),
    Poisson: lambda p, q: p.rate * (p.rate.log() - q.rate.log()) - (p.rate - q.rate),
    Geometric: lambda p, q: -p.entropy() - torch.log1p(-q.probs) / p.probs - q.logits,
    Cauchy: lambda p, q: ((p.scale + q.scale).pow(2) + (p.loc - q.loc).pow(2)).log() - (4 * p.scale * q.scale).log(),
    Gumbel: kl_gumbel,
    HalfNormal: lambda p, q: kl_normal(p.base_dist, q.base_dist),
    TransformedDistribution: kl_transformed,
}


REGISTERED: dict[tuple[type, type], Callable[..., Tensor]] = {}
"""The divergences of programs, by both types."""


def register_kl(type_p: type, type_q: type) -> Any:
    """Return what adds a function as the divergence of two types of distributions."""

    def add(function: Callable[..., Tensor]) -> Any:
        REGISTERED[type_p, type_q] = function
        return function

    return add


def kl_divergence(p: Distribution, q: Distribution) -> Any:
    """Return the Kullback-Leibler divergence of p from q. NotImplementedError: they are not of one of these kinds."""
    for (one, other), divergence in REGISTERED.items():
        if isinstance(p, one) and isinstance(q, other):
            return divergence(p, q)
    for kind, divergence in DIVERGENCES.items():
        if isinstance(p, kind) and isinstance(q, kind):
            return divergence(p, q)
    raise NotImplementedError(
        f"No KL(p || q) is implemented for p type {type(p).__name__} and q type {type(q).__name__}"
    )
