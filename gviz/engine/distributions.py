"""``torch.distributions``: Normal, Uniform, Bernoulli, Categorical and Multinomial, with PyTorch's own numbers.

Source: https://docs.pytorch.org/docs/2.13/distributions.html
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterable
from functools import cached_property
from typing import Any, NamedTuple

from gviz import engine
from gviz.autograd.modes import enable_grad, no_grad
from gviz.autograd.tensor import Tensor
from gviz.numbers.printing import Size
from gviz.numbers.words import absent, refuse

__all__ = ["Bernoulli", "Categorical", "Distribution", "Multinomial", "Normal", "Uniform", "kl_divergence"]

torch: Any = engine


# ------------------------------------------------------------------ what values have to satisfy: a name and a check
class Constraint(NamedTuple("Constraint", [("name", str), ("check", Any)])):
    """A constraint, which prints as its name."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self.name)


def interval(low: Tensor | float, high: Tensor | float, whole: bool = False) -> Any:
    """Return the constraint to lie between two values, both included, and to be a whole number."""
    return Constraint(
        f"{'Integer' * whole}Interval(lower_bound={low}, upper_bound={high})",
        lambda x: (low <= x) & (x <= high) & (not whole or x % 1 == 0),
    )


real = Constraint("Real()", lambda x: ~x.isnan())
positive = Constraint("GreaterThan(lower_bound=0.0)", lambda x: x > 0)
boolean = Constraint("Boolean()", lambda x: (x == 0) | (x == 1))
simplex = Constraint("Simplex()", lambda x: (x >= 0).all(-1) & ((x.sum(-1) - 1).abs() < 1e-6))
real_vector = Constraint("IndependentConstraint(Real(), 1)", lambda x: ~x.isnan().any(-1))


# ------------------------------------------------------------------ the base
def draws(method: Callable[..., Any]) -> Any:
    """Return a method of ``sample_shape``, from one of the whole shape that is drawn: (*sample, *batch, *event)."""
    return lambda self, sample_shape=(): method(self, Size((*sample_shape, *self.batch_shape, *self.event_shape)))


def scores(method: Callable[..., Any]) -> Any:
    """Return a method that checks its value (*sample, *batch, *event) before it computes."""
    return lambda self, value: self._validate_sample(value) or method(self, value)


class Distribution:
    """Base of the distributions: their shapes, and what is checked."""

    has_rsample = False
    _validate_args = __debug__
    arg_constraints: Any = None
    support: Any = None
    stddev: Any = property(lambda self: self.variance.sqrt())

    def __init__(
        self, batch_shape: Iterable[int] = (), event_shape: Iterable[int] = (), validate_args: bool | None = None
    ) -> None:
        self.batch_shape, self.event_shape = Size(batch_shape), Size(event_shape)
        if validate_args is not None:
            self._validate_args = validate_args
        for name, constraint in (self.arg_constraints or {}).items() if self._validate_args else ():
            value = vars(self).get(name)
            if value is not None and not constraint.check(value).all():
                raise ValueError(
                    f"Expected parameter {name} ({type(value).__name__} of shape {tuple(value.shape)}) of "
                    f"distribution {self!r} to satisfy the constraint {constraint}, but found invalid values:\n"
                    f"{value}"
                )

    def rsample(self, sample_shape: Iterable[int] = ()) -> Any:
        """Return random values through which gradients flow to the parameters.

        There is no such way: NotImplementedError.
        """
        raise NotImplementedError

    def sample(self, sample_shape: Iterable[int] = ()) -> Any:
        """Return random values, out of any graph."""
        with no_grad():
            return self.rsample(sample_shape)

    def _validate_sample(self, value: Tensor) -> None:
        """Refuse a value of another shape, or that cannot be."""
        if not self._validate_args:
            return
        refuse(not isinstance(value, Tensor), "The value argument to log_prob must be a Tensor", ValueError)
        size, whole = value.shape, Size(self.batch_shape + self.event_shape)
        refuse(
            any(1 not in pair and pair[0] != pair[1] for pair in zip(reversed(size), reversed(whole), strict=False)),
            f"Value is not broadcastable with batch_shape+event_shape: {size} vs {whole}.",
            ValueError,
        )
        if not self.support.check(value).all():
            raise ValueError(
                f"Expected value argument ({type(value).__name__} of shape {tuple(size)}) to be within the "
                f"support ({self.support}) of the distribution {self!r}, but found invalid values:\n{value}"
            )

    def __repr__(self) -> str:
        fields = (
            f"{name}: {value if value.numel() == 1 else value.size()}"
            for name in self.arg_constraints
            if (value := vars(self).get(name)) is not None
        )
        return f"{type(self).__name__}({', '.join(fields)})"


def broadcast(*values: Tensor | float) -> Any:
    """Return numbers and tensors as tensors of one shape; numbers in the type of the first tensor."""
    kind = next((one.dtype for one in values if isinstance(one, Tensor)), torch.get_default_dtype())
    return torch.broadcast_tensors(*(v if isinstance(v, Tensor) else torch.tensor(v, dtype=kind) for v in values))


# ------------------------------------------------------------------ of real numbers
class Normal(Distribution):
    """Normal numbers of that mean and standard deviation."""

    arg_constraints, support, has_rsample = {"loc": real, "scale": positive}, real, True
    mean = mode = property(lambda self: self.loc)
    stddev, variance = property(lambda self: self.scale), property(lambda self: self.scale.pow(2))

    def __init__(self, loc: Tensor | float, scale: Tensor | float, validate_args: bool | None = None) -> None:
        self.loc, self.scale = broadcast(loc, scale)
        super().__init__(self.loc.shape, validate_args=validate_args)

    sample = draws(no_grad(lambda self, shape: torch.normal(self.loc.expand(shape), self.scale.expand(shape))))
    rsample = draws(lambda self, shape: self.loc + torch.empty(shape, dtype=self.loc.dtype).normal_() * self.scale)
    log_prob = scores(
        lambda self, value: (
            -((value - self.loc) ** 2) / (2 * self.scale**2) - self.scale.log() - math.log(math.sqrt(2 * math.pi))
        )
    )
    cdf = scores(lambda self, value: 0.5 * (1 + torch.erf((value - self.loc) * self.scale.reciprocal() / math.sqrt(2))))

    def entropy(self) -> Any:
        """Return the entropy."""
        return 0.5 + 0.5 * math.log(2 * math.pi) + torch.log(self.scale)


class Uniform(Distribution):
    """Numbers from ``low`` up to, not including, ``high``."""

    has_rsample = True
    arg_constraints = property(
        lambda self: {
            "low": Constraint(f"LessThan(upper_bound={self.high})", lambda x: x < self.high),
            "high": Constraint(f"GreaterThan(lower_bound={self.low})", lambda x: self.low < x),
        }
    )
    support = property(lambda self: interval(self.low, self.high))
    mean, stddev = (
        property(lambda self: (self.high + self.low) / 2),
        property(lambda self: (self.high - self.low) / 12**0.5),
    )
    variance = property(lambda self: (self.high - self.low).pow(2) / 12)

    def __init__(self, low: Tensor | float, high: Tensor | float, validate_args: bool | None = None) -> None:
        self.low, self.high = broadcast(low, high)
        super().__init__(self.low.shape, validate_args=validate_args)

    rsample = draws(lambda self, shape: self.low + torch.rand(shape, dtype=self.low.dtype) * (self.high - self.low))
    log_prob = scores(
        lambda self, value: (
            torch.log(self.low.le(value).type_as(self.low).mul(self.high.gt(value).type_as(self.low)))
            - torch.log(self.high - self.low)
        )
    )
    cdf = scores(lambda self, value: ((value - self.low) / (self.high - self.low)).clamp(min=0, max=1))

    def entropy(self) -> Any:
        """Return the entropy."""
        return torch.log(self.high - self.low)


# ------------------------------------------------------------------ of whole numbers
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


class Bernoulli(Distribution):
    """One with probability ``probs``, else zero."""

    arg_constraints, support = {"probs": interval(0.0, 1.0), "logits": real}, boolean
    probs = cached_property(enable_grad()(lambda self: torch.sigmoid(self.logits)))
    logits = cached_property(lambda self: logarithms(self.probs, True))
    mean, variance = property(lambda self: self.probs), property(lambda self: self.probs * (1 - self.probs))

    def __init__(
        self, probs: Tensor | None = None, logits: Tensor | None = None, validate_args: bool | None = None
    ) -> None:
        name, value = one_of(probs, logits)
        (vars(self)[name],) = broadcast(value)
        super().__init__(vars(self)[name].shape, validate_args=validate_args)

    sample = draws(no_grad(lambda self, shape: torch.bernoulli(self.probs.expand(shape))))
    log_prob = scores(lambda self, value: -cross_entropy(*broadcast(self.logits, value)))

    def entropy(self) -> Any:
        """Return the entropy."""
        return cross_entropy(self.logits, self.probs)


class Categorical(Distribution):
    """A number from 0 on, each with its probability; they are divided by their sum."""

    arg_constraints = {"probs": simplex, "logits": real_vector}  # noqa: RUF012 - as PyTorch's
    probs = cached_property(enable_grad()(lambda self: torch.nn.functional.softmax(self.logits, dim=-1)))
    logits = cached_property(lambda self: logarithms(self.probs))
    support = property(lambda self: interval(0, self._num_events - 1, True))
    mean = variance = property(lambda self: torch.full(self.batch_shape, math.nan, dtype=self.probs.dtype))
    mode = property(lambda self: self.probs.argmax(dim=-1))

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

    def entropy(self) -> Any:
        """Return the entropy."""
        return -(torch.clamp(self.logits, min=torch.finfo(self.logits.dtype).min) * self.probs).sum(-1)


class Multinomial(Distribution):
    """How often each number comes in so many draws of a :class:`Categorical`."""

    arg_constraints = Categorical.arg_constraints
    probs, logits = property(lambda self: self._categorical.probs), property(lambda self: self._categorical.logits)
    mean = property(lambda self: self.probs * self.total_count)
    variance = property(lambda self: self.total_count * self.probs * (1 - self.probs))
    support = property(
        lambda self: Constraint("Multinomial()", lambda x: (x >= 0).all(-1) & (x.sum(-1) <= self.total_count))
    )

    def __init__(
        self,
        total_count: int = 1,
        probs: Tensor | None = None,
        logits: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        self.total_count, self._categorical = total_count, Categorical(probs, logits)
        super().__init__(self._categorical.batch_shape, (self._categorical._num_events,), validate_args)

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


# ------------------------------------------------------------------ divergences
def kl_normal(p: Normal, q: Normal) -> Any:
    """Return the divergence of normal distributions."""
    ratio = (p.scale / q.scale).pow(2)
    return 0.5 * (ratio + ((p.loc - q.loc) / q.scale).pow(2) - 1 - ratio.log())


def kl_uniform(p: Uniform, q: Uniform) -> Any:
    """Return the divergence of uniform distributions: infinite where p goes beyond q."""
    result = ((q.high - q.low) / (p.high - p.low)).log()
    result[(q.low > p.low) | (q.high < p.high)] = math.inf
    return result


def bounded(terms: Any, infinite: Tensor, none: Tensor) -> Any:
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


DIVERGENCES: dict[type, Callable[..., Tensor]] = {
    Normal: kl_normal,
    Uniform: kl_uniform,
    Bernoulli: kl_bernoulli,
    Categorical: kl_categorical,
}


def kl_divergence(p: Distribution, q: Distribution) -> Any:
    """Return the Kullback-Leibler divergence of p from q. NotImplementedError: they are not of one of these kinds."""
    for kind, divergence in DIVERGENCES.items():
        if isinstance(p, kind) and isinstance(q, kind):
            return divergence(p, q)
    raise NotImplementedError(
        f"No KL(p || q) is implemented for p type {type(p).__name__} and q type {type(q).__name__}"
    )


# where PyTorch has them: from torch.distributions.normal import Normal
for kind in (name for name in __all__ if name != "kl_divergence"):
    globals()[kind].__module__ = f"torch.distributions.{kind.lower()}"
PARTS = ("bernoulli", "categorical", "distribution", "kl", "multinomial", "normal", "uniform")
globals().update(dict.fromkeys(PARTS, sys.modules[__name__]))
sys.modules.update((f"{__name__}.{part}", sys.modules[__name__]) for part in PARTS)
__path__: list[str] = []
__getattr__ = absent("torch.distributions")


def __dir__() -> list[str]:
    """What PyTorch has too."""
    return __all__
