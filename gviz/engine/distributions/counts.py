"""Distributions of whole numbers, each a declaration as those of real ones."""

from __future__ import annotations

import math
from collections.abc import Iterable
from functools import cached_property
from typing import Any

from gviz import engine
from gviz.autograd.modes import enable_grad
from gviz.autograd.tensor import Tensor
from gviz.engine.distributions.base import Declared, Distribution, broadcast, draws, row, scores
from gviz.engine.distributions.constraints import (
    Constraint,
    boolean,
    interval,
    nonnegative,
    nonnegative_integer,
    one_hot,
    real,
    real_vector,
    simplex,
    unit_interval,
)  # fmt: skip
from gviz.engine.distributions.reals import Rate
from gviz.numbers.dtypes import dtype as DType
from gviz.numbers.printing import Size
from gviz.numbers.words import refuse

torch: Any = engine


def logarithms(probs: Tensor, binary: bool = False) -> Any:
    """Return probabilities as logarithms, or as logarithms of odds."""
    eps = torch.finfo(probs.dtype).eps
    with enable_grad():
        clamped = probs.clamp(min=eps, max=1 - eps)
        return torch.log(clamped) - torch.log1p(-clamped) if binary else torch.log(clamped)


def one_of(probs: Tensor | None, logits: Tensor | None) -> Any:
    """Return the name and the value of what is given: probabilities, or their logarithms."""
    refuse(
        (probs is None) == (logits is None), "Either `probs` or `logits` must be specified, but not both.", ValueError
    )
    return ("logits", logits) if probs is None else ("probs", probs)


def cross_entropy(logits: Tensor, value: Tensor) -> Any:
    """Return the binary cross entropy of each element."""
    return torch.nn.functional.binary_cross_entropy_with_logits(logits, value, reduction="none")


def numbers_below(count: int, self: Declared, dtype: DType, expand: bool) -> Any:
    """Return the numbers from 0 on along a dim before the batch."""
    numbers = torch.arange(count, dtype=dtype).view((-1, *[1] * len(self.batch_shape)))
    return numbers.expand((-1, *self.batch_shape)) if expand else numbers


class ProbsOrLogits(Distribution):
    """Base of the distributions of one probability, or of the logarithm of its odds."""

    arg_constraints: Any = {"probs": unit_interval, "logits": real}  # noqa: RUF012 - as PyTorch's
    probs = cached_property(enable_grad()(lambda self: torch.sigmoid(self.logits)))
    logits = cached_property(lambda self: logarithms(self.probs, True))

    def __init__(
        self, probs: Tensor | None = None, logits: Tensor | None = None, validate_args: bool | None = None
    ) -> None:
        name, value = one_of(probs, logits)
        (vars(self)[name],) = broadcast(value)
        super().__init__(vars(self)[name].shape, validate_args=validate_args)


PARAM_SHAPE = property(lambda self: vars(self).get("probs", self.logits).shape)
Bernoulli = row(
    "Bernoulli",
    ProbsOrLogits,
    "One with probability ``probs``, else zero.",
    param_shape=PARAM_SHAPE,
    support=boolean,
    mean=lambda self: self.probs,
    mode=lambda self: (self.probs >= 0.5).to(self.probs).masked_fill(self.probs == 0.5, math.nan),
    variance=lambda self: self.probs * (1 - self.probs),
    sample=lambda self, shape: torch.bernoulli(self.probs.expand(shape)),
    log_prob=lambda self, value: -cross_entropy(*broadcast(self.logits, value)),
    entropy=lambda self: cross_entropy(self.logits, self.probs),
    enumerate_support=lambda self, expand=True: numbers_below(2, self, self.probs.dtype, expand),
)


def geometric_numbers(self: Declared, shape: Size) -> Any:
    """Return random numbers of failures before a success."""
    unit = torch.empty(shape, dtype=self.probs.dtype).uniform_(torch.finfo(self.probs.dtype).tiny, 1)
    return (unit.log() / (-self.probs).log1p()).floor()


def geometric_scores(self: Declared, value: Tensor) -> Any:
    """Return the logarithm of the probability of so many failures."""
    value, probs = broadcast(value, self.probs)
    probs = probs.clone(memory_format=torch.contiguous_format)
    probs[(probs == 1) & value.eq(0)] = 0
    return value * (-probs).log1p() + self.probs.log()


Geometric = row(
    "Geometric",
    ProbsOrLogits,
    "How many times nothing comes before the first success.",
    support=nonnegative_integer,
    mean=lambda self: 1.0 / self.probs - 1.0,
    mode=lambda self: torch.zeros_like(self.probs),
    variance=lambda self: (1.0 / self.probs - 1.0) / self.probs,
    sample=geometric_numbers,
    log_prob=geometric_scores,
    entropy=lambda self: cross_entropy(self.logits, self.probs) / self.probs,
)


class TotalCount(ProbsOrLogits):
    """Base of Binomial: so many trials."""

    arg_constraints: Any = {  # noqa: RUF012 - as PyTorch's
        "total_count": nonnegative_integer,
        **ProbsOrLogits.arg_constraints,
    }
    support, param_shape = property(lambda self: interval(0, self.total_count, True)), PARAM_SHAPE

    def __init__(
        self,
        total_count: Tensor | float = 1,
        probs: Tensor | None = None,
        logits: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        name, value = one_of(probs, logits)
        count, value = broadcast(total_count, value)
        self.total_count = count.type_as(value)
        super().__init__(**{name: value}, validate_args=validate_args)


def binomial_scores(self: Declared, value: Tensor) -> Any:
    """Return the logarithm of the probability of so many successes."""
    count, logits = self.total_count, self.logits
    whole, hits, rest = torch.lgamma(count + 1), torch.lgamma(value + 1), torch.lgamma(count - value + 1)
    positive = (logits.clamp(min=0) + logits - logits.clamp(max=0)) / 2
    norm = count * positive + count * torch.log1p(torch.exp(-torch.abs(logits))) - whole
    return value * logits - hits - rest - norm


def numbers_of_successes(self: Declared, expand: bool = True) -> Any:
    """Return all that can be."""
    words = "Inhomogeneous total count not supported by `enumerate_support`."
    refuse(self.total_count.min() != self.total_count.max(), words, NotImplementedError)
    return numbers_below(int(self.total_count.max()) + 1, self, self.total_count.dtype, expand)


Binomial = row(
    "Binomial",
    TotalCount,
    "How many of so many trials succeed.",
    mean=lambda self: self.total_count * self.probs,
    mode=lambda self: ((self.total_count + 1) * self.probs).floor().clamp(max=self.total_count),
    variance=lambda self: self.total_count * self.probs * (1 - self.probs),
    sample=lambda self, shape: torch.binomial(self.total_count.expand(shape), self.probs.expand(shape)),
    log_prob=binomial_scores,
    enumerate_support=numbers_of_successes,
    entropy=lambda self: -(torch.exp(logs := self.log_prob(self.enumerate_support(False))) * logs).sum(0),
)


def poisson_scores(self: Declared, value: Tensor) -> Any:
    """Return the logarithm of the probability of so many events."""
    rate, value = broadcast(self.rate, value)
    return value.xlogy(rate) - rate - (value + 1).lgamma()


Poisson = row(
    "Poisson",
    Rate,
    "How many events of a rate there are.",
    arg_constraints={"rate": nonnegative},
    support=nonnegative_integer,
    has_rsample=False,
    mean=lambda self: self.rate,
    mode=lambda self: self.rate.floor(),
    variance=lambda self: self.rate,
    sample=lambda self, shape: torch.poisson(self.rate.expand(shape)),
    log_prob=poisson_scores,
)


class Categorical(Distribution):
    """A number from 0 on, each with its probability; they are divided by their sum."""

    arg_constraints = {"probs": simplex, "logits": real_vector}  # noqa: RUF012 - as PyTorch's
    probs = cached_property(enable_grad()(lambda self: torch.nn.functional.softmax(self.logits, dim=-1)))
    logits = cached_property(lambda self: logarithms(self.probs))
    support = property(lambda self: interval(0, self._num_events - 1, True))
    mean = variance = property(lambda self: torch.full(self.batch_shape, math.nan, dtype=self.probs.dtype))
    mode = property(lambda self: self.probs.argmax(dim=-1))
    param_shape = PARAM_SHAPE

    def __init__(
        self, probs: Tensor | None = None, logits: Tensor | None = None, validate_args: bool | None = None
    ) -> None:
        name, value = one_of(probs, logits)
        refuse(value.dim() < 1, f"`{name}` parameter must be at least one-dimensional.", ValueError)
        whole = (
            value / value.sum(-1, keepdim=True) if name == "probs" else value - value.logsumexp(dim=-1, keepdim=True)
        )
        vars(self)[name], self._num_events = whole, value.shape[-1]
        super().__init__(value.shape[:-1], validate_args=validate_args)

    @draws
    def sample(self, shape: Size) -> Any:
        """Return random numbers."""
        rows = self.probs.reshape(-1, self._num_events)
        return torch.multinomial(rows, shape.numel() // len(rows), True).T.reshape(shape)

    @scores
    def log_prob(self, value: Tensor) -> Any:
        """Return the logarithm of the probability."""
        value, logits = torch.broadcast_tensors(value.long().unsqueeze(-1), self.logits)
        return logits.gather(-1, value[..., :1]).squeeze(-1)

    def enumerate_support(self, expand: bool = True) -> Any:
        """Return all that can be."""
        return numbers_below(self._num_events, self, torch.int64, expand)

    def entropy(self) -> Any:
        """Return the entropy."""
        return -(torch.clamp(self.logits, min=torch.finfo(self.logits.dtype).min) * self.probs).sum(-1)


class OneHot(Distribution):
    """Base of the distributions that a :class:`Categorical` makes."""

    arg_constraints = Categorical.arg_constraints
    probs, logits = property(lambda self: self._categorical.probs), property(lambda self: self._categorical.logits)
    support: Any = one_hot
    param_shape = property(lambda self: self._categorical.param_shape)

    def __init__(
        self, probs: Tensor | None = None, logits: Tensor | None = None, validate_args: bool | None = None
    ) -> None:
        self._categorical = Categorical(probs, logits)
        super().__init__(self._categorical.batch_shape, (self._categorical._num_events,), validate_args)


def rows_of_one(self: Declared, numbers: Tensor) -> Any:
    """Return rows with a one at these numbers."""
    return torch.nn.functional.one_hot(numbers, self.event_shape[0]).to(self.probs)


def rows_that_can_be(self: Declared, expand: bool = True) -> Any:
    """Return each row that can be, along a dim before the batch."""
    count = self.event_shape[0]
    rows = torch.eye(count, dtype=self.probs.dtype).view((count, *[1] * len(self.batch_shape), count))
    return rows.expand((count, *self.batch_shape, count)) if expand else rows


OneHotCategorical = row(
    "OneHotCategorical",
    OneHot,
    "A row with a one at the number that a Categorical draws.",
    mean=lambda self: self.probs,
    mode=lambda self: rows_of_one(self, self.probs.argmax(dim=-1)),
    variance=lambda self: self.probs * (1 - self.probs),
    sample=lambda self, shape: rows_of_one(
        self, self._categorical.sample(shape[: len(shape) - len(self.batch_shape) - 1])
    ),
    log_prob=lambda self, value: self._categorical.log_prob(value.max(-1)[1]),
    entropy=lambda self: self._categorical.entropy(),
    enumerate_support=rows_that_can_be,
)
OneHotCategoricalStraightThrough = row(
    "OneHotCategoricalStraightThrough",
    OneHotCategorical,
    "The same, and gradients flow to the probabilities as if they were the row.",
    has_rsample=True,
    rsample=lambda self, shape: (
        self.sample(shape[: len(shape) - len(self.batch_shape) - 1]) + (self.probs - self.probs.detach())
    ),
)


class Tempered(Distribution):
    """Base of the distributions of relaxed choices: with a temperature, which is one for the whole batch."""

    has_rsample = True

    def __init__(
        self,
        temperature: Tensor,
        probs: Tensor | None = None,
        logits: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        self.temperature = temperature
        super().__init__(probs, logits, validate_args)  # type: ignore[arg-type] # of the other base

    def expand(self, batch_shape: Iterable[int], _instance: object = None) -> Any:
        """Return the distribution with another batch shape; the temperature stays."""
        new = super().expand(batch_shape)
        new.temperature = self.temperature
        return new


class ExpRelaxedCategorical(Tempered, OneHot):
    """Logarithms of a :class:`RelaxedOneHotCategorical`."""

    support = real_vector

    @draws
    def rsample(self, shape: Size) -> Any:
        """Return random rows through which gradients flow."""
        eps = torch.finfo(self.logits.dtype).eps
        unit = torch.rand(shape, dtype=self.logits.dtype).clamp(min=eps, max=1 - eps)
        rows = (self.logits + -(-unit.log()).log()) / self.temperature
        return rows - rows.logsumexp(dim=-1, keepdim=True)

    @scores
    def log_prob(self, value: Tensor) -> Any:
        """Return the logarithm of the density."""
        count, (logits, value) = self.event_shape[0], broadcast(self.logits, value)
        scale = torch.full_like(self.temperature, float(count)).lgamma() - self.temperature.log().mul(-(count - 1))
        rows = logits - value.mul(self.temperature)
        return (rows - rows.logsumexp(dim=-1, keepdim=True)).sum(-1) + scale


class Multinomial(OneHot):
    """How often each number comes in so many draws of a :class:`Categorical`."""

    mean = property(lambda self: self.probs * self.total_count)
    variance = property(lambda self: self.total_count * self.probs * (1 - self.probs))
    support = property(
        lambda self: Constraint("Multinomial()", lambda x: (x >= 0).all(-1) & (x.sum(-1) <= self.total_count), 1)
    )

    def __init__(
        self,
        total_count: int = 1,
        probs: Tensor | None = None,
        logits: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        self.total_count = total_count
        super().__init__(probs, logits, validate_args)

    @draws
    def sample(self, shape: Size) -> Any:
        """Return random counts."""
        sample_shape = shape[: len(shape) - len(self.batch_shape) - 1]
        classes = self._categorical.sample((self.total_count, *sample_shape)).movedim(0, -1)
        return (
            torch.zeros(shape, dtype=classes.dtype)
            .scatter_add_(-1, classes, torch.ones_like(classes))
            .type_as(self.probs)
        )

    @scores
    def log_prob(self, value: Tensor) -> Any:
        """Return the logarithm of the probability."""
        logits, counts = broadcast(self.logits, value)
        logits = logits.clone()
        ways = torch.lgamma(counts.sum(-1) + 1) - torch.lgamma(counts + 1).sum(-1)
        logits[(counts == 0) & (logits == -math.inf)] = 0
        return ways + (logits * counts).sum(-1)

    def entropy(self) -> Any:
        """Return the entropy."""
        binomial = Binomial(self.total_count, self.probs)
        hits = binomial.enumerate_support(expand=False)[1:]
        total = torch.tensor(self.total_count)
        whole = total * self._categorical.entropy() - torch.lgamma(total + 1)
        return whole + (torch.exp(binomial.log_prob(hits)) * torch.lgamma(hits + 1)).sum([0, -1])
