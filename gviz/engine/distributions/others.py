"""Distributions that few programs name, made of others: of lifetimes, of counts, of rows."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import reduce
from typing import Any

from gviz import engine
from gviz.autograd.tensor import Tensor
from gviz.engine.distributions.base import Declared, broadcast, of_parameters, row
from gviz.engine.distributions.composed import EULER, HALF, Relaxed, transformed
from gviz.engine.distributions.constraints import (
    greater_than_eq,
    half_open_interval,
    nonnegative_integer,
    positive,
    real,
    simplex,
    unit_interval,
)
from gviz.engine.distributions.counts import PARAM_SHAPE, ProbsOrLogits, Tempered, TotalCount
from gviz.engine.distributions.reals import Cauchy, Exponential, Gamma, Normal, Uniform, gamma_numbers
from gviz.engine.distributions.transforms import (
    AbsTransform,
    AffineTransform,
    ExpTransform,
    PowerTransform,
    SigmoidTransform,
    StickBreakingTransform,
)
from gviz.numbers.printing import Size

torch: Any = engine


class Chi2(Gamma):  # type: ignore[misc]
    """Sums of squares of so many normal numbers."""

    arg_constraints: Any = {"df": positive}  # noqa: RUF012 - as PyTorch's
    df = property(lambda self: self.concentration * 2)

    def __init__(self, df: Tensor | float, validate_args: bool | None = None) -> None:
        super().__init__(df * 0.5, 0.5, validate_args)


HalfCauchy = row(
    "HalfCauchy",
    transformed("scale", begin=lambda scale: (Cauchy(0, scale, False), AbsTransform())),
    "Sizes of Cauchy numbers.",
    **HALF,
    mean=lambda self: torch.full(self._extended_shape(), math.inf, dtype=self.scale.dtype),
    variance=lambda self: self.base_dist.variance,
)


def raised(self: Declared, power: float) -> Any:
    """Return the mean of a power of Weibull numbers of scale 1."""
    return torch.exp(torch.lgamma(1 + power * self.concentration.reciprocal()))


Weibull = row(
    "Weibull",
    transformed(
        "scale",
        "concentration",
        begin=lambda scale, concentration: (
            Exponential(torch.ones_like(scale)),
            [PowerTransform(concentration.reciprocal()), AffineTransform(0, scale)],
        ),
    ),
    "Lifetimes whose risk is a power of the age.",
    mean=lambda self: self.scale * raised(self, 1),
    mode=lambda self: self.scale * ((self.concentration - 1) / self.concentration) ** self.concentration.reciprocal(),
    variance=lambda self: (
        self.scale.pow(2) * (raised(self, 2) - torch.exp(2 * torch.lgamma(1 + self.concentration.reciprocal())))
    ),
    entropy=lambda self: (
        EULER * (1 - self.concentration.reciprocal()) + torch.log(self.scale * self.concentration.reciprocal()) + 1
    ),
)
Pareto = row(
    "Pareto",
    transformed(
        "scale", "alpha", begin=lambda scale, alpha: (Exponential(alpha), [ExpTransform(), AffineTransform(0, scale)])
    ),
    "Numbers from ``scale`` up whose density falls as a power.",
    arg_constraints={"alpha": positive, "scale": positive},
    support=property(lambda self: greater_than_eq(self.scale)),
    mean=lambda self: (a := self.alpha.clamp(min=1)) * self.scale / (a - 1),
    mode=lambda self: self.scale,
    variance=lambda self: self.scale.pow(2) * (a := self.alpha.clamp(min=2)) / ((a - 1).pow(2) * (a - 2)),
    entropy=lambda self: (self.scale / self.alpha).log() + (1 + self.alpha.reciprocal()),
)


def finite(self: Declared, least: float, value: Tensor) -> Any:
    """Return a moment where the concentration is above a number, else infinity."""
    return torch.where(self.concentration > least, value, torch.inf)


InverseGamma = row(
    "InverseGamma",
    transformed(
        "concentration",
        "rate",
        begin=lambda concentration, rate: (Gamma(concentration, rate), PowerTransform(-torch.ones_like(rate))),
    ),
    "Reciprocals of gamma numbers.",
    concentration=property(lambda self: self.base_dist.concentration),
    rate=property(lambda self: self.base_dist.rate),
    mean=lambda self: finite(self, 1, self.rate / (self.concentration - 1)),
    mode=lambda self: self.rate / (self.concentration + 1),
    variance=lambda self: finite(
        self, 2, self.rate.square() / ((self.concentration - 1).square() * (self.concentration - 2))
    ),
    entropy=lambda self: (
        self.concentration
        + self.rate.log()
        + self.concentration.lgamma()
        - (1 + self.concentration) * self.concentration.digamma()
    ),
)
LogisticNormal = row(
    "LogisticNormal",
    transformed("loc", "scale", begin=lambda loc, scale: (Normal(loc, scale), StickBreakingTransform())),
    "Shares that normal numbers make by breaking a stick.",
    loc=property(lambda self: self.base_dist.base_dist.loc),
    scale=property(lambda self: self.base_dist.base_dist.scale),
    arg_constraints={"loc": real, "scale": positive},
    support=simplex,
)


# ------------------------------------------------------------------ of shares and of their quotients
def kumaraswamy_moment(self: Declared, power: float) -> Any:
    """Return the mean of a power."""
    first, second = 1 + power / self.concentration1, self.concentration0
    return second * torch.exp(torch.lgamma(first) + torch.lgamma(second) - torch.lgamma(first + second))


Kumaraswamy = row(
    "Kumaraswamy",
    transformed(
        "concentration1",
        "concentration0",
        begin=lambda one, zero: (
            Uniform(torch.zeros_like(zero), torch.ones_like(zero)),
            [PowerTransform(zero.reciprocal()), AffineTransform(1.0, -1.0), PowerTransform(one.reciprocal())],
        ),
    ),
    "Shares of one, nearly those of Beta, whose distribution function is a formula.",
    support=unit_interval,
    mean=lambda self: kumaraswamy_moment(self, 1),
    variance=lambda self: kumaraswamy_moment(self, 2) - self.mean.pow(2),
    mode=lambda self: (
        (
            self.concentration0.reciprocal() * (-self.concentration0).log1p()
            - (-self.concentration0 * self.concentration1).log1p()
        )
        .masked_fill((self.concentration0 < 1) | (self.concentration1 < 1), math.nan)
        .exp()
    ),
    entropy=lambda self: (
        1
        - self.concentration0.reciprocal()
        + (1 - self.concentration1.reciprocal()) * (torch.digamma(self.concentration0 + 1) + EULER)
        - torch.log(self.concentration1)
        - torch.log(self.concentration0)
    ),
)


TwoDegrees = of_parameters(
    "df1, df2", {"df1": positive, "df2": positive}, "Of the degrees of freedom above and below.", support=positive
)


def fisher_numbers(self: Declared, shape: Size) -> Any:
    """Return quotients of gamma numbers, none of them zero."""
    above, below = (gamma_numbers(Gamma(df * 0.5, df), shape) for df in (self.df1, self.df2))
    tiny = torch.finfo(below.dtype).tiny
    return (above / below.clamp_(min=tiny)).clamp_(min=tiny)


def fisher_scores(self: Declared, value: Tensor) -> Any:
    """Return the logarithm of the density."""
    one, two, ratio = self.df1 * 0.5, self.df2 * 0.5, self.df1 / self.df2
    norm = (one + two).lgamma() - one.lgamma() - two.lgamma()
    scores = one * ratio.log() + (one - 1) * torch.log(value)
    return norm + scores - (one + two) * torch.log1p(ratio * value)


FisherSnedecor = row(
    "FisherSnedecor",
    TwoDegrees,
    "Quotients of two chi-squared numbers, each over its degrees of freedom.",
    mean=lambda self: (df := self.df2.masked_fill(self.df2 <= 2, math.nan)) / (df - 2),
    mode=lambda self: ((self.df1 - 2) / self.df1 * self.df2 / (self.df2 + 2)).masked_fill(self.df1 <= 2, math.nan),
    variance=lambda self: (
        2
        * (df := self.df2.masked_fill(self.df2 <= 4, math.nan)).pow(2)
        * (self.df1 + df - 2)
        / (self.df1 * (df - 2).pow(2) * (df - 4))
    ),
    rsample=fisher_numbers,
    log_prob=fisher_scores,
)


# ------------------------------------------------------------------ of angles
BESSEL = (
    ((1.0, 3.5156229, 3.0899424, 1.2067492, 0.2659732, 0.360768e-1, 0.45813e-2),
     (0.39894228, 0.1328592e-1, 0.225319e-2, -0.157565e-2, 0.916281e-2, -0.2057706e-1, 0.2635537e-1, -0.1647633e-1,
      0.392377e-2)),
    ((0.5, 0.87890594, 0.51498869, 0.15084934, 0.2658733e-1, 0.301532e-2, 0.32411e-3),
     (0.39894228, -0.3988024e-1, -0.362018e-2, 0.163801e-2, -0.1031555e-1, 0.2282967e-1, -0.2895312e-1, 0.1787654e-1,
      -0.420059e-2)),
)  # fmt: skip
"""The polynomials that PyTorch takes for the modified Bessel functions of orders 0 and 1, below and above 3.75."""


def log_bessel(self: Declared, order: int) -> Any:
    """Return the logarithm of a modified Bessel function of the concentration."""
    x, (below, above) = self.concentration, BESSEL[order]
    square, reciprocal = (x / 3.75) ** 2, 3.75 / x
    small: Any = reduce(lambda total, factor: factor + square * total, below[::-1])
    large: Any = reduce(lambda total, factor: factor + reciprocal * total, above[::-1])
    small = (x.abs() * small if order else small).log()
    return torch.where(x < 3.75, small, x - 0.5 * x.log() + large.log())


def angles(self: Declared, shape: Sequence[int]) -> Any:
    """Return random angles: others are drawn until each of one is accepted, in double precision."""
    width, loc = self.concentration.double(), self.loc.double()
    tau = 1 + (1 + 4 * width**2).sqrt()
    rho = (tau - (2 * tau).sqrt()) / (2 * width)
    bound = torch.where(width < 1e-5, 1 / width + width, (1 + rho**2) / (2 * rho))
    result, done = torch.empty(shape, dtype=torch.float64), torch.zeros(shape, dtype=torch.bool)
    while not done.all():
        first, second, third = torch.rand((3, *shape), dtype=torch.float64).unbind()
        turn = torch.cos(math.pi * first)
        near = (1 + bound * turn) / (bound + turn)
        rest = width * (bound - near)
        is_accepted = (rest * (2 - rest) - second > 0) | ((rest / second).log() + 1 - rest >= 0)
        result = torch.where(is_accepted, (third - 0.5).sign() * near.acos(), result)
        done = done | is_accepted
    return ((result + math.pi + loc) % (2 * math.pi) - math.pi).to(self.loc.dtype)


LocConcentration = of_parameters(
    "loc, concentration",
    {"loc": real, "concentration": positive},
    "Of a place on the circle and how near to it.",
    support=real,
    has_rsample=False,
)

VonMises = row(
    "VonMises",
    LocConcentration,
    "Angles around one, as normal numbers on a circle.",
    mean=lambda self: self.loc,
    mode=lambda self: self.loc,
    variance=lambda self: 1 - (log_bessel(self, 1) - log_bessel(self, 0)).exp(),
    sample=angles,
    log_prob=lambda self, value: (
        self.concentration * torch.cos(value - self.loc) - math.log(2 * math.pi) - log_bessel(self, 0)
    ),
)


# ------------------------------------------------------------------ of counts
def negative_binomial_scores(self: Declared, value: Tensor) -> Any:
    """Return the logarithm of the probability of so many successes."""
    count, logits, log_sigmoid = self.total_count, self.logits, torch.nn.functional.logsigmoid
    scores = count * log_sigmoid(-logits) + value * log_sigmoid(logits)
    norm = -torch.lgamma(count + value) + torch.lgamma(value + 1.0) + torch.lgamma(count)
    return scores - norm.masked_fill(count + value == 0.0, 0.0)


NegativeBinomial = row(
    "NegativeBinomial",
    TotalCount,
    "How many trials succeed before so many fail.",
    arg_constraints={
        "total_count": greater_than_eq(0),
        "probs": half_open_interval(0.0, 1.0),
        "logits": real,
    },
    support=nonnegative_integer,
    mean=lambda self: self.total_count * torch.exp(self.logits),
    mode=lambda self: ((self.total_count - 1) * self.logits.exp()).floor().clamp(min=0.0),
    variance=lambda self: self.mean / torch.sigmoid(-self.logits),
    sample=lambda self, shape: torch.poisson(
        Gamma(self.total_count, torch.exp(-self.logits), False).sample(shape[: len(shape) - len(self.batch_shape)])
    ),
    log_prob=negative_binomial_scores,
)


# ------------------------------------------------------------------ relaxed
class LogitRelaxedBernoulli(Tempered, ProbsOrLogits):
    """Logarithms of the odds of a :class:`RelaxedBernoulli`."""

    support, param_shape = real, PARAM_SHAPE

    def rsample(self, sample_shape: Sequence[int] = ()) -> Any:
        """Return random numbers through which gradients flow."""
        shape, eps = self._extended_shape(sample_shape), torch.finfo(self.probs.dtype).eps
        probs = self.probs.expand(shape).clamp(min=eps, max=1 - eps)
        unit = torch.rand(shape, dtype=probs.dtype).clamp(min=eps, max=1 - eps)
        return (unit.log() - (-unit).log1p() + probs.log() - (-probs).log1p()) / self.temperature

    def log_prob(self, value: Tensor) -> Any:
        """Return the logarithm of the density."""
        self._validate_sample(value)
        logits, value = broadcast(self.logits, value)
        diff = logits - value.mul(self.temperature)
        return self.temperature.log() + diff - 2 * diff.exp().log1p()


class RelaxedBernoulli(Relaxed):
    """Numbers near zero or one, the nearer the lower the temperature."""

    arg_constraints, support = ProbsOrLogits.arg_constraints, unit_interval
    _logarithms_ = staticmethod(lambda *given: LogitRelaxedBernoulli(*given[:3]))  # checked in any case, as PyTorch's
    _back_ = SigmoidTransform
