"""``torch.distributions.transforms``: functions that have an inverse, with the logarithm of their slopes."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import reduce
from typing import Any

from gviz import engine
from gviz.autograd.tensor import Tensor
from gviz.engine.distributions.base import sum_last
from gviz.engine.distributions.constraints import (
    Constraint,
    independent,
    interval,
    positive,
    real,
    simplex,
    unit_interval,
)
from gviz.numbers.printing import Size
from gviz.numbers.words import absent, refuse

__all__ = [
    "AbsTransform", "AffineTransform", "ComposeTransform", "ExpTransform", "PowerTransform", "SigmoidTransform",
    "SoftplusTransform", "StickBreakingTransform", "TanhTransform", "Transform", "identity_transform",
]  # fmt: skip

torch: Any = engine


class Transform:
    """A function with an inverse; one of a cache knows the last pair."""

    bijective: Any = False
    _compared_: Any = None
    """The attributes by which transforms of a class are told apart; None: each is equal to itself alone."""
    domain: Any = real
    codomain: Any = real
    event_dim: Any = property(lambda self: self.domain.event_dim)
    sign: Any = property(lambda self: refuse(True, "", NotImplementedError))

    def __init__(self, cache_size: int = 0) -> None:
        refuse(cache_size not in (0, 1), "cache_size must be 0 or 1", ValueError)
        self._cache_size = cache_size
        self._inv: Any = None
        self._cached_x_y: tuple[Any, Any] = (None, None)

    @property
    def inv(self) -> Any:
        """The inverse."""
        self._inv = self._inv or InverseTransform(self)
        return self._inv

    def __call__(self, x: Tensor) -> Any:
        """Return the result, which a cache may know."""
        x_old, y_old = self._cached_x_y
        return y_old if x is x_old and x is not None else self._paired_(x, self._call(x))[1]

    def _inv_call(self, y: Tensor) -> Any:
        x_old, y_old = self._cached_x_y
        return x_old if y is y_old and y is not None else self._paired_(self._inverse(y), y)[0]

    def _paired_(self, x: Tensor, y: Tensor) -> Any:
        """Return a pair, which the cache keeps if there is one."""
        if self._cache_size:
            self._cached_x_y = x, y
        return x, y

    _call: Any = lambda *_: refuse(True, "", NotImplementedError)
    _inverse: Any = _call
    log_abs_det_jacobian: Any = _call

    def forward_shape(self, shape: Size) -> Any:
        """Return the shape of the results."""
        return shape

    inverse_shape: Any = forward_shape

    def __eq__(self, other: object) -> bool:
        if type(self) is not type(other) or self._compared_ is None:
            return self is other
        return all(torch.as_tensor(getattr(self, name) == getattr(other, name)).all() for name in self._compared_)

    __hash__ = object.__hash__

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


class InverseTransform(Transform):
    """The inverse of a transform."""

    _compared_ = ("_inv",)
    bijective = property(lambda self: self.inv.bijective)
    sign = property(lambda self: self.inv.sign)
    domain, codomain = property(lambda self: self.inv.codomain), property(lambda self: self.inv.domain)
    inv = property(lambda self: self._inv)
    forward_shape: Any = property(lambda self: self.inv.inverse_shape)
    inverse_shape: Any = property(lambda self: self.inv.forward_shape)

    def __init__(self, transform: Transform) -> None:
        super().__init__()
        self._inv = transform

    def __repr__(self) -> str:
        return f"_InverseTransform({self._inv!r})"

    def __call__(self, x: Tensor) -> Any:
        """Return what the inverse gives."""
        return self._inv._inv_call(x)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Any:
        """Return the logarithm of the slope there."""
        return -self._inv.log_abs_det_jacobian(y, x)


def widened(constraint: Constraint, first: int, steps: list[tuple[int, int]]) -> Any:
    """Return a constraint of as many dims as a chain of (dims before, dims behind) needs that begins with so many."""
    for before, behind in steps:
        first = max(first + behind - before, behind)
    return independent(constraint, first - constraint.event_dim) if first > constraint.event_dim else constraint


class ComposeTransform(Transform):
    """Several transforms, one after the other."""

    _compared_ = ("parts",)
    bijective = property(lambda self: all(part.bijective for part in self.parts))
    sign = property(lambda self: math.prod(part.sign for part in self.parts))
    inv: Any = property(lambda self: ComposeTransform([part.inv for part in reversed(self.parts)]))

    def __init__(self, parts: list[Any], cache_size: int = 0) -> None:
        super().__init__(cache_size)
        self.parts = parts

    @property
    def domain(self) -> Any:
        """What can be transformed."""
        steps = [(part.codomain.event_dim, part.domain.event_dim) for part in reversed(self.parts)]
        return widened(self.parts[0].domain, steps[0][0], steps) if steps else real

    @property
    def codomain(self) -> Any:
        """What the results are."""
        steps = [(part.domain.event_dim, part.codomain.event_dim) for part in self.parts]
        return widened(self.parts[-1].codomain, steps[0][0], steps) if steps else real

    def __call__(self, x: Tensor) -> Any:
        """Return what the last part gives."""
        return reduce(lambda value, part: part(value), self.parts, x)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Any:
        """Return the logarithm of the slope there: the sum of the parts'."""
        event_dim, total = self.domain.event_dim, None
        for part in self.parts:
            behind = y if part is self.parts[-1] else part(x)
            term = sum_last(part.log_abs_det_jacobian(x, behind), event_dim - part.domain.event_dim)
            event_dim += part.codomain.event_dim - part.domain.event_dim
            x, total = behind, term if total is None else total + term
        return torch.zeros_like(x) if total is None else total

    def forward_shape(self, shape: Size) -> Any:
        """Return the shape of the results."""
        return reduce(lambda size, part: part.forward_shape(size), self.parts, shape)

    def inverse_shape(self, shape: Size) -> Any:
        """Return the shape of what the inverse returns."""
        return reduce(lambda size, part: part.inverse_shape(size), reversed(self.parts), shape)

    def __repr__(self) -> str:
        return "ComposeTransform(\n    " + ",\n    ".join(repr(part) for part in self.parts) + "\n)"


identity_transform = ComposeTransform([])


class AffineTransform(Transform):
    """``loc + scale * x``."""

    bijective, _compared_ = True, ("loc", "scale")
    domain = codomain = property(lambda self: independent(real, self._event_dim) if self._event_dim else real)
    sign = property(
        lambda self: self.scale.sign() if hasattr(self.scale, "sign") else (self.scale > 0) - (self.scale < 0)
    )

    def __init__(self, loc: Tensor | float, scale: Tensor | float, event_dim: int = 0, cache_size: int = 0) -> None:
        super().__init__(cache_size)
        self.loc: Any = loc
        self.scale: Any = scale
        self._event_dim = event_dim

    def _call(self, x: Tensor) -> Any:
        return self.loc + self.scale * x

    def _inverse(self, y: Tensor) -> Any:
        return (y - self.loc) / self.scale

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Any:
        """Return the logarithm of the slope, which is the same everywhere."""
        is_number = isinstance(self.scale, (int, float))
        slope = torch.full_like(x, math.log(abs(self.scale))) if is_number else torch.abs(self.scale).log()
        if self._event_dim:
            slope = slope.view((*slope.shape[: -self._event_dim], -1)).sum(-1)
        return slope.expand(x.shape[: x.dim() - self._event_dim])

    def forward_shape(self, shape: Size) -> Any:
        """Return the shape of the results."""
        return torch.broadcast_shapes(shape, getattr(self.loc, "shape", ()), getattr(self.scale, "shape", ()))

    inverse_shape = forward_shape


# ------------------------------------------------------------------ those without parameters
def fixed(
    name: str,
    codomain: Constraint,
    call: Callable[..., Any],
    inverse: Callable[..., Any],
    slope: Callable[..., Any] | None = None,
) -> Any:
    """Return the class of a transform of real numbers without parameters, which is rising if it has an inverse."""
    members = {
        "__doc__": f"{name.removesuffix('Transform')} of each element.",
        "__module__": "torch.distributions.transforms",
        "codomain": codomain,
        "_compared_": (),
        "_call": lambda _, x: call(x),
        "_inverse": lambda _, y: inverse(y),
    }
    if slope is not None:
        members |= {"bijective": True, "sign": 1, "log_abs_det_jacobian": lambda _, x, y: slope(x, y)}
    return type(name, (Transform,), members)


def clipped(y: Tensor) -> Any:
    """Return probabilities that are neither 0 nor 1."""
    limits = torch.finfo(y.dtype)
    return y.clamp(min=limits.tiny, max=1.0 - limits.eps)


def logit(y: Tensor) -> Any:
    """Return the logarithm of odds."""
    odds = clipped(y)
    return odds.log() - (-odds).log1p()


softplus: Any = torch.nn.functional.softplus
ExpTransform = fixed("ExpTransform", positive, lambda x: x.exp(), lambda y: y.log(), lambda x, y: x)
SigmoidTransform = fixed(
    "SigmoidTransform",
    unit_interval,
    lambda x: clipped(torch.sigmoid(x)),
    logit,
    lambda x, _: -softplus(-x) - softplus(x),
)
SoftplusTransform = fixed(
    "SoftplusTransform", positive, softplus, lambda y: (-y).expm1().neg().log() + y, lambda x, _: -softplus(-x)
)
TanhTransform = fixed(
    "TanhTransform", interval(-1.0, 1.0), lambda x: x.tanh(), torch.atanh,
    lambda x, _: 2.0 * (math.log(2.0) - x - softplus(-2.0 * x)),
)  # fmt: skip


class PowerTransform(Transform):
    """``x ** exponent`` of positive numbers."""

    bijective, domain, codomain, _compared_ = True, positive, positive, ("exponent",)
    sign = property(lambda self: self.exponent.sign())

    def __init__(self, exponent: Tensor | float, cache_size: int = 0) -> None:
        super().__init__(cache_size)
        self.exponent: Any = torch.as_tensor(exponent)

    def _call(self, x: Tensor) -> Any:
        return x.pow(self.exponent)

    def _inverse(self, y: Tensor) -> Any:
        return y.pow(1 / self.exponent)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Any:
        """Return the logarithm of the slope there."""
        return (self.exponent * y / x).abs().log()

    def forward_shape(self, shape: Size) -> Any:
        """Return the shape of the results."""
        return torch.broadcast_shapes(shape, self.exponent.shape)

    inverse_shape = forward_shape


class StickBreakingTransform(Transform):
    """Vectors to shares, of which there is one more: each number breaks off a part of what is left."""

    bijective, domain, codomain, _compared_ = True, independent(real, 1), simplex, ()

    def _offsets(self, x: Tensor) -> Any:
        return (x.shape[-1] + 1 - torch.ones_like(x).cumsum(-1)).log()

    def _call(self, x: Tensor) -> Any:
        part, pad = clipped(torch.sigmoid(x - self._offsets(x))), torch.nn.functional.pad
        return pad(part, [0, 1], value=1) * pad((1 - part).cumprod(-1), [1, 0], value=1)

    def _inverse(self, y: Tensor) -> Any:
        shares = y[..., :-1]
        rest = torch.clamp(1 - shares.cumsum(-1), min=torch.finfo(y.dtype).tiny)
        return shares.log() - rest.log() + self._offsets(shares)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Any:
        """Return the logarithm of the change of volume there."""
        x = x - self._offsets(x)
        return (torch.nn.functional.logsigmoid(x) + y[..., :-1].log() - x).sum(-1)

    def forward_shape(self, shape: Size) -> Any:
        """Return the shape of the results."""
        return Size((*shape[:-1], shape[-1] + 1))

    def inverse_shape(self, shape: Size) -> Any:
        """Return the shape of what the inverse returns."""
        return Size((*shape[:-1], shape[-1] - 1))


AbsTransform = fixed("AbsTransform", positive, lambda x: x.abs(), lambda y: y)

__getattr__ = absent("torch.distributions.transforms")
