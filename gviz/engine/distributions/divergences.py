"""``kl_divergence``: one row for each pair of distributions.

Source: PyTorch's kl.py.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from gviz import engine
from gviz.autograd.tensor import Tensor
from gviz.engine.distributions.base import Distribution, sum_last
from gviz.engine.distributions.composed import EULER, Gumbel, HalfNormal, Independent, TransformedDistribution
from gviz.engine.distributions.counts import Bernoulli, Binomial, Categorical, Geometric, OneHotCategorical, Poisson
from gviz.engine.distributions.others import Pareto
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


def infinite(terms: Tensor, where: Tensor) -> Any:
    """Return terms of a divergence: infinite where p goes beyond q, or has no moments."""
    terms[where] = math.inf
    return terms


def bounded(terms: Tensor, infinite: Tensor, none: Tensor) -> Any:
    """Return terms of a divergence: infinite where only the other value cannot be, zero where this one cannot."""
    terms[infinite.expand_as(terms)] = math.inf
    terms[none.expand_as(terms)] = 0
    return terms


# ------------------------------------------------------------------ of one kind
def kl_bernoulli(p: Bernoulli, q: Bernoulli) -> Any:
    """Return the divergence of Bernoulli distributions."""
    softplus = torch.nn.functional.softplus
    ones = bounded(p.probs * (softplus(-q.logits) - softplus(-p.logits)), q.probs == 0, p.probs == 0)
    return ones + bounded((1 - p.probs) * (softplus(q.logits) - softplus(p.logits)), q.probs == 1, p.probs == 1)


def kl_laplace(p: Laplace, q: Laplace) -> Any:
    """Return the divergence of Laplace distributions."""
    ratio, distance = p.scale / q.scale, (p.loc - q.loc).abs()
    return -ratio.log() + distance / q.scale + ratio * torch.exp(-distance / p.scale) - 1


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


OF_ONE_KIND: dict[type, Callable[..., Tensor]] = {
    Normal: lambda p, q: (
        0.5 * ((ratio := (p.scale / q.scale).pow(2)) + ((p.loc - q.loc) / q.scale).pow(2) - 1 - ratio.log())
    ),
    Uniform: lambda p, q: infinite(((q.high - q.low) / (p.high - p.low)).log(), (q.low > p.low) | (q.high < p.high)),
    Bernoulli: kl_bernoulli,
    Binomial: lambda p, q: (
        refuse(
            (p.total_count < q.total_count).any(),
            "KL between Binomials where q.total_count > p.total_count is not implemented",
            NotImplementedError,
        )
        or infinite(
            p.total_count * (p.probs * (p.logits - q.logits) + (-p.probs).log1p() - (-q.probs).log1p()),
            p.total_count > q.total_count,
        )
    ),
    Categorical: lambda p, q: bounded(p.probs * (p.logits - q.logits), q.probs == 0, p.probs == 0).sum(-1),
    Laplace: kl_laplace,
    Exponential: lambda p, q: -(ratio := q.rate / p.rate).log() + ratio - 1,
    Gamma: lambda p, q: (
        q.concentration * (p.rate / q.rate).log()
        + (torch.lgamma(q.concentration) - torch.lgamma(p.concentration))
        + (p.concentration - q.concentration) * torch.digamma(p.concentration)
        + (q.rate - p.rate) * (p.concentration / p.rate)
    ),
    Beta: kl_beta,
    Dirichlet: kl_dirichlet,
    MultivariateNormal: kl_multivariate_normal,
    Independent: lambda p, q: (
        refuse(p.reinterpreted_batch_ndims != q.reinterpreted_batch_ndims, "", NotImplementedError)
        or sum_last(kl_divergence(p.base_dist, q.base_dist), p.reinterpreted_batch_ndims)
    ),
    OneHotCategorical: lambda p, q: kl_divergence(p._categorical, q._categorical),
    Poisson: lambda p, q: p.rate * (p.rate.log() - q.rate.log()) - (p.rate - q.rate),
    Geometric: lambda p, q: -p.entropy() - torch.log1p(-q.probs) / p.probs - q.logits,
    Cauchy: lambda p, q: ((p.scale + q.scale).pow(2) + (p.loc - q.loc).pow(2)).log() - (4 * p.scale * q.scale).log(),
    Gumbel: kl_gumbel,
    HalfNormal: lambda p, q: kl_divergence(p.base_dist, q.base_dist),
    Pareto: lambda p, q: infinite(
        q.alpha * (p.scale / q.scale).log() + -(ratio := q.alpha / p.alpha).log() + ratio - 1, p.scale < q.scale
    ),
    TransformedDistribution: lambda p, q: (
        refuse(p.transforms != q.transforms or p.event_shape != q.event_shape, "", NotImplementedError)
        or kl_divergence(p.base_dist, q.base_dist)
    ),
}


# ------------------------------------------------------------------ of two kinds
def kl_laplace_normal(p: Laplace, q: Normal) -> Any:
    """Return the divergence of a Laplace distribution from a normal one."""
    variance = q.scale.pow(2)
    ratio = p.scale.pow(2) / variance
    squares = 0.5 * p.loc.pow(2) - p.loc * q.loc + 0.5 * q.loc.pow(2)
    return -(0.5 * torch.log(2 * ratio / math.pi)) + ratio + squares / variance - 1


def kl_normal_laplace(p: Normal, q: Laplace) -> Any:
    """Return the divergence of a normal distribution from a Laplace distribution."""
    distance = p.loc - q.loc
    ratio, steps = p.scale / q.scale, distance / p.scale
    near = math.sqrt(2 / math.pi) * p.scale * torch.exp(-0.5 * steps.pow(2))
    far = distance * torch.erf(math.sqrt(0.5) * steps)
    return -torch.log(ratio) + (near + far) / q.scale - 0.5 * (1 + math.log(0.5 * math.pi))


def kl_uniform_normal(p: Uniform, q: Normal) -> Any:
    """Return the divergence of a uniform distribution from a normal one."""
    width = p.high - p.low
    squares = width.pow(2) / 12 + ((p.high + p.low - 2 * q.loc) / 2).pow(2)
    return (math.sqrt(math.pi * 2) * q.scale / width).log() + 0.5 * squares / q.scale.pow(2)


def kl_absent(p: Distribution, q: Distribution) -> Any:
    """Refuse: PyTorch has a divergence of these two."""
    raise NotImplementedError(
        f"kl_divergence() of {type(p).__name__} and {type(q).__name__} is not in gviz's engine; run with --engine torch"
    )


EVERYWHERE: Any = {
    Beta: ("concentration1", [Pareto]),
    Exponential: ("rate", [Beta, Pareto, Uniform]),
    Gamma: ("concentration", [Beta, Pareto, Uniform]),
    **dict.fromkeys((Gumbel, Laplace, Normal), ("loc", [Beta, Exponential, Gamma, Pareto, Uniform])),
    Pareto: ("scale", [Beta, Uniform]),
    Poisson: ("rate", [Bernoulli, Binomial]),
}
"""Of which others the divergence is infinite, whatever the parameters, and the parameter that has its shape."""
DIVERGENCES: dict[tuple[type, type], Callable[..., Tensor]] = {
    **{(kind, kind): divergence for kind, divergence in OF_ONE_KIND.items()},
    **{
        (kind, other): lambda p, _, name=name: torch.full_like(getattr(p, name), math.inf)
        for kind, (name, others) in EVERYWHERE.items()
        for other in others
    },
    **dict.fromkeys(((kind, Gumbel) for kind in (Exponential, Gamma, Normal, Uniform)), kl_absent),
    **dict.fromkeys(((kind, Normal) for kind in (Beta, Exponential, Gamma, Pareto)), kl_absent),
    **dict.fromkeys(((Pareto, Gamma), (Uniform, Beta), (Uniform, Gamma), (Uniform, Pareto)), kl_absent),
    (Bernoulli, Poisson): lambda p, q: -p.entropy() - (p.probs * q.rate.log() - q.rate),
    (Beta, Exponential): lambda p, q: (
        -p.entropy() - q.rate.log() + q.rate * (p.concentration1 / (p.concentration1 + p.concentration0))
    ),
    (Beta, Gamma): lambda p, q: (
        -p.entropy()
        + (q.concentration.lgamma() - q.concentration * q.rate.log())
        - (q.concentration - 1) * (p.concentration1.digamma() - (p.concentration1 + p.concentration0).digamma())
        + q.rate * p.concentration1 / (p.concentration1 + p.concentration0)
    ),
    (Beta, Uniform): lambda p, q: infinite(-p.entropy() + (q.high - q.low).log(), (q.low > 0) | (q.high < 1)),
    (Exponential, Gamma): lambda p, q: (
        -q.concentration * torch.log(ratio := q.rate / p.rate)
        + ratio
        + q.concentration.lgamma()
        + q.concentration * EULER
        - (1 + EULER)
    ),
    (Gamma, Exponential): lambda p, q: -p.entropy() - q.rate.log() + q.rate * p.concentration / p.rate,
    (Gumbel, Normal): lambda p, q: (
        -((ratio := p.scale / q.scale) / math.sqrt(2 * math.pi)).log()
        + (math.pi * ratio * 0.5).pow(2) / 3
        + ((p.loc + p.scale * EULER - q.loc) / q.scale).pow(2) * 0.5
        - (EULER + 1)
    ),
    (Laplace, Normal): kl_laplace_normal,
    (Normal, Laplace): kl_normal_laplace,
    (Pareto, Exponential): lambda p, q: infinite(
        (p.alpha / (product := p.scale * q.rate)).log() - p.alpha.reciprocal() + p.alpha * product / (p.alpha - 1) - 1,
        p.alpha <= 1,
    ),
    (Uniform, Exponential): lambda p, q: infinite(
        q.rate * (p.high + p.low) / 2 - ((p.high - p.low) * q.rate).log(), p.low < 0
    ),
    (Uniform, Normal): kl_uniform_normal,
}
FAMILIES: Any = (Bernoulli, Beta, Dirichlet, Exponential, Gamma, Normal, Poisson)
"""Which are exponential families in PyTorch: it has another message for two of these."""


def register_kl(type_p: type, type_q: type) -> Any:
    """Return what adds a function as the divergence of two types of distributions."""

    def add(function: Callable[..., Tensor]) -> Any:
        DIVERGENCES[type_p, type_q] = function
        return function

    return add


def kl_divergence(p: Distribution, q: Distribution) -> Any:
    """Return the Kullback-Leibler divergence of p from q, by the row of their kinds. NotImplementedError: no row."""
    pairs = [(one, other) for one, other in DIVERGENCES if isinstance(p, one) and isinstance(q, other)]
    refuse(
        not pairs,
        "The cross KL-divergence between different exponential families cannot                             "
        "be computed using Bregman divergences"
        if isinstance(p, FAMILIES) and isinstance(q, FAMILIES)
        else f"No KL(p || q) is implemented for p type {type(p).__name__} and q type {type(q).__name__}",
        NotImplementedError,
    )
    orders = type(p).__mro__, type(q).__mro__
    return DIVERGENCES[
        min(pairs, key=lambda pair: [order.index(kind) for order, kind in zip(orders, pair, strict=True)])
    ](p, q)
