"""Distributions made of others: with more dims, transformed, mixed."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from operator import attrgetter
from typing import Any

from gviz import engine
from gviz.autograd.modes import no_grad
from gviz.autograd.tensor import Tensor
from gviz.engine.distributions.base import Declared, Distribution, broadcast, row, sum_last
from gviz.engine.distributions.constraints import Constraint, independent, nonnegative, positive, real, simplex
from gviz.engine.distributions.counts import Categorical, ExpRelaxedCategorical
from gviz.engine.distributions.reals import Normal, Uniform
from gviz.engine.distributions.transforms import (
    AbsTransform,
    AffineTransform,
    ComposeTransform,
    ExpTransform,
    Transform,
)
from gviz.engine.nn.options import method
from gviz.numbers.printing import Size
from gviz.numbers.words import refuse, refuse_any

torch: Any = engine
EULER = 0.57721566490153286060


class Independent(Distribution):
    """A distribution whose last dims of the batch are dims of one event."""

    arg_constraints: Any = {}  # noqa: RUF012 - as PyTorch's
    has_rsample: Any = property(lambda self: self.base_dist.has_rsample)
    mean, mode = property(lambda self: self.base_dist.mean), property(lambda self: self.base_dist.mode)
    variance = property(lambda self: self.base_dist.variance)

    def __init__(
        self, base_distribution: Declared, reinterpreted_batch_ndims: int, validate_args: bool | None = None
    ) -> None:
        batch, count = base_distribution.batch_shape, reinterpreted_batch_ndims
        refuse(
            count > len(batch),
            f"Expected reinterpreted_batch_ndims <= len(base_distribution.batch_shape), actual {count} vs {len(batch)}",
            ValueError,
        )
        self.base_dist, self.reinterpreted_batch_ndims = base_distribution, count
        whole, cut = batch + base_distribution.event_shape, len(batch) - count
        super().__init__(whole[:cut], whole[cut:], validate_args)

    @property
    def support(self) -> Any:
        """What values can be."""
        inner, count = self.base_dist.support, self.reinterpreted_batch_ndims
        return independent(inner, count) if count else inner

    def sample(self, sample_shape: Sequence[int] = ()) -> Any:
        """Return random values."""
        return self.base_dist.sample(sample_shape)

    def rsample(self, sample_shape: Sequence[int] = ()) -> Any:
        """Return random values through which gradients flow."""
        return self.base_dist.rsample(sample_shape)

    def log_prob(self, value: Tensor) -> Any:
        """Return the sum of the logarithms of an event."""
        return sum_last(self.base_dist.log_prob(value), self.reinterpreted_batch_ndims)

    def entropy(self) -> Any:
        """Return the sum of the entropies of an event."""
        return sum_last(self.base_dist.entropy(), self.reinterpreted_batch_ndims)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.base_dist}, {self.reinterpreted_batch_ndims})"


class TransformedDistribution(Distribution):
    """Values of another distribution, transformed by one transform after the other."""

    arg_constraints: Any = {}  # noqa: RUF012 - as PyTorch's
    has_rsample: Any = property(lambda self: self.base_dist.has_rsample)

    def __init__(
        self, base_distribution: Declared, transforms: Transform | list[Transform], validate_args: bool | None = None
    ) -> None:
        self.transforms = [transforms] if isinstance(transforms, Transform) else transforms
        is_list = isinstance(self.transforms, list)
        refuse_any(
            {
                f"transforms must be a Transform or list, but was {transforms}": not is_list,
                "transforms must be a Transform or a list of Transforms": is_list
                and not all(isinstance(one, Transform) for one in self.transforms),
            },
            ValueError,
        )
        shape, count = base_distribution.batch_shape + base_distribution.event_shape, len(base_distribution.event_shape)
        chain = ComposeTransform(self.transforms)
        before, behind = chain.domain.event_dim, chain.codomain.event_dim
        refuse(
            len(shape) < before,
            f"base_distribution needs to have shape with size at least {before}, but got {shape}.",
            ValueError,
        )
        size = chain.forward_shape(shape)
        inner = chain.inverse_shape(size)
        if shape != inner:
            base_distribution = base_distribution.expand(inner[: len(inner) - count])
        self.base_dist = Independent(base_distribution, before - count) if before > count else base_distribution
        cut = len(size) - max(behind, count + behind - before)
        super().__init__(size[:cut], size[cut:], validate_args)

    def expand(self, batch_shape: Iterable[int], _instance: object = None) -> Any:
        """Return the distribution with another batch shape."""
        new, shape = super().expand(batch_shape), Size((*batch_shape, *self.event_shape))
        inner = ComposeTransform(self.transforms).inverse_shape(shape)
        new.base_dist = self.base_dist.expand(inner[: len(inner) - len(self.base_dist.event_shape)])
        return new

    @property
    def support(self) -> Any:
        """What values can be."""
        if not self.transforms:
            return self.base_dist.support
        last = self.transforms[-1].codomain
        more = len(self.event_shape) - last.event_dim
        return independent(last, more) if more > 0 else last

    def sample(self, sample_shape: Sequence[int] = ()) -> Any:
        """Return random values."""
        with no_grad():
            return self._forward_(self.base_dist.sample(sample_shape))

    def rsample(self, sample_shape: Sequence[int] = ()) -> Any:
        """Return random values through which gradients flow."""
        return self._forward_(self.base_dist.rsample(sample_shape))

    def _forward_(self, value: Tensor) -> Any:
        for transform in self.transforms:
            value = transform(value)
        return value

    def log_prob(self, value: Tensor) -> Any:
        """Return the logarithm of the density: that of the value before it was transformed, less the slopes."""
        self._validate_sample(value)
        dims, result = len(self.event_shape), 0.0
        for transform in reversed(self.transforms):
            before = transform.inv(value)
            dims += transform.domain.event_dim - transform.codomain.event_dim
            slope = transform.log_abs_det_jacobian(before, value)
            result, value = result - sum_last(slope, dims - transform.domain.event_dim), before
        return result + sum_last(self.base_dist.log_prob(value), dims - len(self.base_dist.event_shape))

    def _rising_(self, value: Tensor) -> Any:
        """Return a probability as it is, or its rest where the transforms are falling."""
        sign = ComposeTransform(self.transforms).sign
        return value if isinstance(sign, int) and sign == 1 else sign * (value - 0.5) + 0.5

    def cdf(self, value: Tensor) -> Any:
        """Return the probability of a smaller value."""
        for transform in reversed(self.transforms):
            value = transform.inv(value)
        self.base_dist._validate_sample(value)
        return self._rising_(self.base_dist.cdf(value))

    def icdf(self, value: Tensor) -> Any:
        """Return the number below which a number is with this probability."""
        return self._forward_(self.base_dist.icdf(self._rising_(value)))


def transformed(*names: str, begin: Callable[..., Any]) -> type:
    """Return the base of a transformed distribution with these parameters.

    ``begin`` gives, of these, what is transformed and the transforms.
    """

    def start(self: Declared, values: Iterable[Tensor | float], validate_args: bool | None) -> None:
        tensors = broadcast(*values)
        for name, value in zip(names, tensors, strict=True):
            if not hasattr(type(self), name):  # else it is the parameter of what is transformed
                setattr(self, name, value)
        base, transforms = begin(*tensors)
        TransformedDistribution.__init__(self, base, transforms, validate_args)

    members = {
        "arg_constraints": dict.fromkeys(names, positive),
        "support": positive,
        "has_rsample": True,
        "__doc__": "A transformed distribution.",
    }
    kind, takes = type("Transformed", (TransformedDistribution,), members), ", ".join(names)
    method(kind, "__init__", f"{takes}, validate_args=None", f"start(self, [{takes}], validate_args)", start=start)
    return kind


LogNormal = row(
    "LogNormal",
    transformed("loc", "scale", begin=lambda loc, scale: (Normal(loc, scale), ExpTransform())),
    "Exponentials of normal numbers.",
    arg_constraints={"loc": real, "scale": positive},
    loc=property(lambda self: self.base_dist.loc),
    scale=property(lambda self: self.base_dist.scale),
    mean=lambda self: (self.loc + self.scale.pow(2) / 2).exp(),
    mode=lambda self: (self.loc - self.scale.square()).exp(),
    variance=lambda self: (square := self.scale.pow(2)).expm1() * (2 * self.loc + square).exp(),
    entropy=lambda self: self.base_dist.entropy() + self.loc,
)
HALF: dict[str, Any] = {
    "support": nonnegative,
    "scale": property(lambda self: self.base_dist.scale),
    "mode": lambda self: torch.zeros_like(self.scale),
    "log_prob": lambda self, value: torch.where(value.ge(0), self.base_dist.log_prob(value) + math.log(2), -math.inf),
    "cdf": lambda self, value: 2 * self.base_dist.cdf(value) - 1,
    "icdf": lambda self, value: self.base_dist.icdf((value + 1) / 2),
    "entropy": lambda self: self.base_dist.entropy() - math.log(2),
}
"""What the sizes of numbers have around zero that lie as often on either side."""
HalfNormal = row(
    "HalfNormal",
    transformed("scale", begin=lambda scale: (Normal(0, scale, False), AbsTransform())),
    "Sizes of normal numbers.",
    **HALF,
    mean=lambda self: self.scale * math.sqrt(2 / math.pi),
    variance=lambda self: self.scale.pow(2) * (1 - 2 / math.pi),
)


def gumbel_parts(loc: Tensor, scale: Declared) -> Any:
    """Return the uniform numbers, and what makes Gumbel's of them."""
    limits = torch.finfo(loc.dtype)
    base = Uniform(torch.full_like(loc, limits.tiny), torch.full_like(loc, 1 - limits.eps))
    return base, [
        ExpTransform().inv,
        AffineTransform(0, -torch.ones_like(scale)),
        ExpTransform().inv,
        AffineTransform(loc, -scale),
    ]


Gumbel = row(
    "Gumbel",
    transformed("loc", "scale", begin=gumbel_parts),
    "The largest of many numbers.",
    arg_constraints={"loc": real, "scale": positive},
    support=real,
    mean=lambda self: self.loc + self.scale * EULER,
    mode=lambda self: self.loc,
    stddev=lambda self: math.pi / math.sqrt(6) * self.scale,
    variance=lambda self: self.stddev.pow(2),
    log_prob=lambda self, value: (y := (self.loc - value) / self.scale) - y.exp() - self.scale.log(),
    entropy=lambda self: self.scale.log() + (1 + EULER),
)


class Relaxed(TransformedDistribution):
    """Base of the distributions near a choice, the nearer the lower the temperature: of relaxed logarithms."""

    has_rsample = True
    temperature, probs, logits = (
        property(attrgetter(f"base_dist.{name}")) for name in ("temperature", "probs", "logits")
    )
    _logarithms_: Any
    _back_: Any
    """What makes values of the logarithms."""

    def __init__(
        self,
        temperature: Tensor,
        probs: Tensor | None = None,
        logits: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        super().__init__(self._logarithms_(temperature, probs, logits, validate_args), self._back_(), validate_args)


class RelaxedOneHotCategorical(Relaxed):
    """Rows near those of a OneHotCategorical, the nearer the lower the temperature."""

    arg_constraints, support = Categorical.arg_constraints, simplex
    _logarithms_, _back_ = ExpRelaxedCategorical, ExpTransform


class MixtureSameFamily(Distribution):
    """One of several distributions of a kind, each with its probability."""

    arg_constraints: Any = {}  # noqa: RUF012 - as PyTorch's
    mixture_distribution = property(lambda self: self._mixture_distribution)
    component_distribution = property(lambda self: self._component_distribution)

    def __init__(
        self, mixture_distribution: Declared, component_distribution: Declared, validate_args: bool | None = None
    ) -> None:
        mixture, parts = mixture_distribution, component_distribution
        refuse_any(
            {
                " The Mixture distribution needs to be an  instance of torch.distributions.Categorical": not isinstance(
                    mixture, Categorical
                ),
                "The Component distribution needs to be an instance of torch.distributions.Distribution": (
                    not isinstance(parts, Distribution)
                ),
            },
            ValueError,
        )
        sizes, batch = mixture.batch_shape, parts.batch_shape[:-1]
        count, places = mixture.logits.shape[-1], parts.batch_shape[-1]
        refuse_any(
            {
                f"`mixture_distribution.batch_shape` ({sizes}) is not compatible with "
                f"`component_distribution.batch_shape`({batch})": any(
                    1 not in pair and pair[0] != pair[1] for pair in zip(reversed(sizes), reversed(batch), strict=False)
                ),
                f"`mixture_distribution component` ({count}) does not equal "
                f"`component_distribution.batch_shape[-1]` ({places})": count != places,
            },
            ValueError,
        )
        self._mixture_distribution, self._component_distribution = mixture, parts
        super().__init__(batch, parts.event_shape, validate_args)

    @property
    def support(self) -> Any:
        """What values can be."""
        inner, dims = self.component_distribution.support, len(self.event_shape)

        def check(x: Tensor) -> Any:
            result = inner.check(x.unsqueeze(-1 - inner.event_dim))
            return result.reshape((*result.shape[: x.dim() - inner.event_dim], -1)).all(-1)

        return Constraint(f"MixtureSameFamilyConstraint({inner})", check, dims)

    def _average_(self, values: Tensor) -> Any:
        """Return the mean over the distributions, by their probabilities."""
        probs, dims = self.mixture_distribution.probs, len(self.event_shape)
        more = 0 if probs.dim() == 2 else len(self.batch_shape) - (probs.dim() - 1)
        probs = probs.reshape((*probs.shape[:-1], *[1] * more, probs.shape[-1], *[1] * dims))
        return torch.sum(probs * values, dim=-1 - dims)

    mean = property(lambda self: self._average_(self.component_distribution.mean))

    @property
    def variance(self) -> Any:
        """The mean of the variances, and the variance of the means."""
        parts = self.component_distribution
        return self._average_(parts.variance) + self._average_((parts.mean - self._pad(self.mean)).pow(2.0))

    def _pad(self, x: Tensor) -> Any:
        return x.unsqueeze(-1 - len(self.event_shape))

    def cdf(self, x: Tensor) -> Any:
        """Return the probability of a smaller value."""
        return torch.sum(self.component_distribution.cdf(self._pad(x)) * self.mixture_distribution.probs, dim=-1)

    def log_prob(self, x: Tensor) -> Any:
        """Return the logarithm of the density."""
        self._validate_sample(x)
        scores = self.component_distribution.log_prob(self._pad(x))
        return torch.logsumexp(scores + torch.log_softmax(self.mixture_distribution.logits, dim=-1), dim=-1)

    def sample(self, sample_shape: Sequence[int] = ()) -> Any:
        """Return random values."""
        numbers, dims = self.mixture_distribution.sample(sample_shape), len(self.event_shape)
        values, place = self.component_distribution.sample(sample_shape), len(sample_shape) + len(self.batch_shape)
        numbers = numbers.reshape((*numbers.shape, *[1] * (dims + 1)))
        numbers = numbers.repeat((*[1] * (numbers.dim() - dims), *self.event_shape))
        with no_grad():
            return torch.gather(values, place, numbers).squeeze(place)

    def __repr__(self) -> str:
        return f"MixtureSameFamily(\n  {self.mixture_distribution},\n  {self.component_distribution})"
