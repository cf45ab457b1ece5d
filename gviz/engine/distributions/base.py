"""The base of the distributions: shapes, what is checked, and how numbers become tensors."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from typing import Any, TypeAlias

from gviz import engine
from gviz.autograd.modes import no_grad
from gviz.autograd.tensor import Tensor
from gviz.engine.nn.options import method
from gviz.numbers.printing import Size
from gviz.numbers.words import refuse, warn

torch: Any = engine
Declared: TypeAlias = Any
"""A distribution with the parameters of its kind, which a row declares."""


class Distribution:
    """Base of the distributions: their shapes, and what is checked."""

    has_rsample = False
    has_enumerate_support = property(lambda self: callable(vars(type(self)).get("enumerate_support")))
    _validate_args = __debug__
    arg_constraints: Any = None
    support: Any = None
    stddev: Any = property(lambda self: self.variance.sqrt())
    batch_shape, event_shape = property(lambda self: self._batch_shape), property(lambda self: self._event_shape)
    mean = variance = property(lambda self: self._lack_())
    mode = property(lambda self: self._lack_(f"{type(self)} does not implement mode"))
    log_prob: Any = property(lambda self: lambda _value: self._lack_())
    cdf, icdf = log_prob, log_prob
    entropy: Any = property(lambda self: self._lack_)
    enumerate_support: Any = property(lambda self: lambda *_: self._lack_())

    def _lack_(self, *words: str) -> Any:
        """Refuse what this distribution has not."""
        raise NotImplementedError(*words)

    @staticmethod
    def set_default_validate_args(value: bool) -> None:
        """Say whether distributions check their arguments."""
        Distribution._validate_args = value

    def perplexity(self) -> Any:
        """Return the exponential of the entropy."""
        return torch.exp(self.entropy())

    def expand(self, batch_shape: Iterable[int], _instance: object = None) -> Any:
        """Return the distribution with its parameters expanded, so that it has this batch shape."""
        new, batch = copy.copy(self), Size(batch_shape)
        for name, value in vars(self).items():
            if isinstance(value, Distribution):
                vars(new)[name] = value.expand(batch + value.batch_shape[len(self.batch_shape) :])
            elif isinstance(value, Tensor) and not name.startswith("_"):
                vars(new)[name] = value.expand(batch + value.shape[len(self.batch_shape) :])
        new._batch_shape = batch
        return new

    def _extended_shape(self, sample_shape: Sequence[int] = ()) -> Size:
        """Return the shape of so many samples."""
        return Size((*sample_shape, *self.batch_shape, *self.event_shape))

    def __init__(
        self, batch_shape: Iterable[int] = (), event_shape: Iterable[int] = (), validate_args: bool | None = None
    ) -> None:
        self._batch_shape, self._event_shape = Size(batch_shape), Size(event_shape)
        if validate_args is not None:
            self._validate_args = validate_args
        for name, constraint in (self.arg_constraints or {}).items() if self._validate_args else ():
            is_lazy = name not in vars(self) and isinstance(getattr(type(self), name, None), cached_property)
            value = None if is_lazy else getattr(self, name)
            if value is not None and not constraint.check(value).all():
                raise ValueError(
                    f"Expected parameter {name} ({type(value).__name__} of shape {tuple(value.shape)}) of "
                    f"distribution {self!r} to satisfy the constraint {constraint}, but found invalid values:\n"
                    f"{value}"
                )

    def rsample(self, sample_shape: Sequence[int] = ()) -> Any:
        """Return random values through which gradients flow to the parameters.

        There is no such way: NotImplementedError.
        """
        raise NotImplementedError

    def sample(self, sample_shape: Sequence[int] = ()) -> Any:
        """Return random values, out of any graph."""
        with no_grad():
            return self.rsample(sample_shape)

    def sample_n(self, n: int) -> Any:
        """Return so many samples: an old name of ``sample((n,))``."""
        warn("`sample_n(n)` will be deprecated. Use `sample((n,))` instead.", FutureWarning)
        return self.sample((n,))

    def _validate_sample(self, value: Tensor) -> None:
        """Refuse a value of another shape, or that cannot be."""
        if not self._validate_args:
            return
        refuse(not isinstance(value, Tensor), "The value argument to log_prob must be a Tensor", ValueError)
        size, whole, events = value.shape, self._extended_shape(), self.event_shape
        refuse(
            size[max(len(size) - len(events), 0) :] != events,
            f"The right-most size of value must match event_shape: {size} vs {events}.",
            ValueError,
        )
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


# ------------------------------------------------------------------ how a distribution is declared
def draws(method: Callable[..., Any]) -> Any:
    """Return a method of ``sample_shape``, from one of the whole shape that is drawn: (*sample, *batch, *event)."""
    return lambda self, sample_shape=(): method(self, self._extended_shape(sample_shape))


def scores(method: Callable[..., Any]) -> Any:
    """Return a method that checks its value (*sample, *batch, *event) before it computes."""
    return lambda self, value: self._validate_sample(value) or method(self, value)


WRAPPERS: dict[str, Callable[..., Any]] = {
    "rsample": draws,
    "sample": lambda method: draws(no_grad()(method)),
    **dict.fromkeys(("log_prob", "cdf"), scores),
    **dict.fromkeys(("mean", "mode", "stddev", "variance"), property),
}


def row(name: str, base: type, text: str, **members: Any) -> Any:
    """Return a distribution of a base that knows the parameters: its moments, samples and scores, by their names.

    What computes them takes the distribution; samples take their shape too, ``log_prob``, ``cdf`` and ``icdf`` a value.
    """
    declared = {key: WRAPPERS[key](value) if key in WRAPPERS else value for key, value in members.items()}
    return type(name, (base,), {"__doc__": text, **declared})


def of_parameters(takes: str, arg_constraints: object, text: str, **members: object) -> Any:
    """Return the base of the distributions of some parameters, which are brought to one shape.

    Args:
        takes: the parameters, as a signature has them.
        arg_constraints: what each satisfies.
        text: what kind of distributions these are.
        members: what else they have, if not ``has_rsample``.
    """
    names = [one.partition("=")[0] for one in takes.split(", ")]

    def begin(self: Distribution, values: Iterable[Any], validate_args: bool | None) -> None:
        self.__dict__.update(zip(names, broadcast(*values), strict=True))
        Distribution.__init__(self, vars(self)[names[0]].shape, validate_args=validate_args)

    declared = {"__doc__": text, "arg_constraints": arg_constraints, "has_rsample": True, **members}
    kind = type("OfParameters", (Distribution,), declared)
    method(
        kind,
        "__init__",
        f"{takes}, validate_args=None",
        f"begin(self, [{', '.join(names)}], validate_args)",
        begin=begin,
    )
    return kind


def broadcast(*values: Tensor | float) -> Any:
    """Return numbers and tensors as tensors of one shape; numbers in the type of the first tensor."""
    kind = next((one.dtype for one in values if isinstance(one, Tensor)), torch.get_default_dtype())
    return torch.broadcast_tensors(*(v if isinstance(v, Tensor) else torch.tensor(v, dtype=kind) for v in values))


def sum_last(value: Tensor, count: int) -> Any:
    """Return the sum over the last dims."""
    return value.reshape((*value.shape[:-count], -1)).sum(-1) if count else value
