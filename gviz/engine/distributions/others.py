"""Distributions that few programs name, made of others: of lifetimes, of counts, of rows."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from gviz import engine
from gviz.autograd.tensor import Tensor
from gviz.engine.distributions.base import Declared, Distribution, broadcast, row
from gviz.engine.distributions.composed import EULER, HalfNormal, TransformedDistribution
from gviz.engine.distributions.constraints import (
    greater_than_eq,
    half_open_interval,
    nonnegative_integer,
    positive,
    real,
    simplex,
    unit_interval,
)
from gviz.engine.distributions.counts import ProbsOrLogits, TotalCount
from gviz.engine.distributions.reals import Cauchy, Exponential, Gamma, Normal
from gviz.engine.distributions.transforms import (
    AbsTransform,
    AffineTransform,
    ExpTransform,
    PowerTransform,
    SigmoidTransform,
    StickBreakingTransform,
)
from gviz.engine.nn.options import method

torch: Any = engine


class Chi2(Gamma):  # type: ignore[misc]
    """Sums of squares of so many normal numbers."""

    arg_constraints: Any = {"df": positive}  # noqa: RUF012 - as PyTorch's
    df = property(lambda self: self.concentration * 2)

    def __init__(self, df: Tensor | float, validate_args: bool | None = None) -> None:
        super().__init__(df * 0.5, 0.5, validate_args)


class HalfCauchy(HalfNormal):
    """Sizes of Cauchy numbers."""

    mean = property(lambda self: torch.full(self._extended_shape(), math.inf, dtype=self.scale.dtype))
    variance = property(lambda self: self.base_dist.variance)

    def __init__(self, scale: Tensor | float, validate_args: bool | None = None) -> None:
        TransformedDistribution.__init__(self, Cauchy(0, scale, False), AbsTransform(), validate_args)

    def entropy(self) -> Any:
        """Return the entropy."""
        return self.base_dist.entropy() - math.log(2)


def of_two(first: str, second: str, begin: Callable[..., Any]) -> type:
    """Return the base of a transformed distribution with two parameters.

    ``begin`` gives, of these, what is transformed and the transforms.
    """

    def start(self: Declared, one: Tensor | float, other: Tensor | float, validate_args: bool | None) -> None:
        values = broadcast(one, other)
        for name, value in zip((first, second), values, strict=True):
            if not hasattr(type(self), name):  # else it is the parameter of what is transformed
                setattr(self, name, value)
        base, transforms = begin(*values)
        TransformedDistribution.__init__(self, base, transforms, validate_args)

    members = {
        "arg_constraints": {first: positive, second: positive},
        "support": positive,
        "has_rsample": True,
        "__doc__": "A transformed distribution with two parameters.",
    }
    kind = type("OfTwo", (TransformedDistribution,), members)
    takes = f"{first}, {second}, validate_args=None"
    method(kind, "__init__", takes, f"start(self, {first}, {second}, validate_args)", start=start)
    return kind


def raised(self: Declared, power: float) -> Any:
    """Return the mean of a power of Weibull numbers of scale 1."""
    return torch.exp(torch.lgamma(1 + power * self.concentration.reciprocal()))


Weibull = row(
    "Weibull",
    of_two(
        "scale",
        "concentration",
        lambda scale, concentration: (
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
    of_two("scale", "alpha", lambda scale, alpha: (Exponential(alpha), [ExpTransform(), AffineTransform(0, scale)])),
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
    of_two(
        "concentration",
        "rate",
        lambda concentration, rate: (Gamma(concentration, rate), PowerTransform(-torch.ones_like(rate))),
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
    of_two("loc", "scale", lambda loc, scale: (Normal(loc, scale), StickBreakingTransform())),
    "Shares that normal numbers make by breaking a stick.",
    loc=property(lambda self: self.base_dist.base_dist.loc),
    scale=property(lambda self: self.base_dist.base_dist.scale),
    arg_constraints={"loc": real, "scale": positive},
    support=simplex,
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
class LogitRelaxedBernoulli(ProbsOrLogits):
    """Logarithms of the odds of a :class:`RelaxedBernoulli`."""

    support, has_rsample = real, True

    def __init__(
        self,
        temperature: Tensor,
        probs: Tensor | None = None,
        logits: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        self.temperature = temperature
        super().__init__(probs, logits, validate_args)

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


class RelaxedBernoulli(TransformedDistribution):
    """Numbers near zero or one, the nearer the lower the temperature."""

    arg_constraints = ProbsOrLogits.arg_constraints
    support, has_rsample = unit_interval, True
    temperature = property(lambda self: self.base_dist.temperature)
    probs, logits = property(lambda self: self.base_dist.probs), property(lambda self: self.base_dist.logits)

    def __init__(
        self,
        temperature: Tensor,
        probs: Tensor | None = None,
        logits: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        base: Distribution = LogitRelaxedBernoulli(temperature, probs, logits)
        super().__init__(base, SigmoidTransform(), validate_args)
