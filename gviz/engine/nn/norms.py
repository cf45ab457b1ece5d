"""Normalization layers: what they scale and shift by, and the running statistics that some keep."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from gviz.engine.nn import functional as F
from gviz.engine.nn import init
from gviz.engine.nn.options import MADE, Layer
from gviz.engine.nn.parameter import filled
from gviz.engine.nn.window_functions import tuple_of
from gviz.autograd.tensor import from_array

if TYPE_CHECKING:
    from gviz.autograd.tensor import Tensor


class Norm(Layer):
    """Base of the normalizations: a scale and a shift, where ``affine`` wants them."""

    def _shaped(self, bias: bool) -> dict[str, Any]:
        wanted = getattr(self, "elementwise_affine", None) or getattr(self, "affine", False)
        return super()._shaped(bias) if wanted else dict.fromkeys(self._shapes)

    def reset_parameters(self) -> None:
        """Ones to scale by, and zeros to add."""
        if self.weight is not None:
            init.ones_(self.weight)
        if getattr(self, "bias", None) is not None:
            init.zeros_(self.bias)


SHAPED = {"normalized_shape": ..., "eps": 1e-05, "elementwise_affine": True}


class LayerNorm(Norm, home="normalization", function=F.layer_norm, options={**SHAPED, "bias": True, **MADE}):
    """The last dimensions brought to mean 0 and variance 1."""

    _shapes: ClassVar = dict.fromkeys(("weight", "bias"), "normalized_shape")
    _shown = "{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}, bias={self.has_bias}"

    def _take(self, values: dict[str, Any]) -> None:
        super()._take({**values, "normalized_shape": tuple_of(values["normalized_shape"], 1)})


class RMSNorm(LayerNorm, home="normalization", function=F.rms_norm, options={**SHAPED, "eps": None, **MADE}):
    """The last dimensions divided by the root of their mean square."""

    _shapes: ClassVar = {"weight": "normalized_shape"}
    _shown = "{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}"


GROUPED = {"num_groups": ..., "num_channels": ..., "eps": 1e-05, "affine": True, **MADE, "*": ..., "bias": True}


class GroupNorm(Norm, home="normalization", function=F.group_norm, options=GROUPED):
    """Groups of channels brought to mean 0 and variance 1."""

    _shapes: ClassVar = dict.fromkeys(("weight", "bias"), "num_channels")
    _shown = "{self.num_groups}, {self.num_channels}, eps={self.eps}, affine={self.affine}, bias={self.has_bias}"

    def _take(self, values: dict[str, Any]) -> None:
        groups, channels = values["num_groups"], values["num_channels"]
        if channels % groups:
            raise ValueError(f"num_channels ({channels}) must be divisible by num_groups ({groups})")
        super()._take(values)


class Tracking(Norm):
    """Base of the norms that may keep running statistics: batch norms, and instance norms with other defaults."""

    ranks: ClassVar[tuple[int, ...]]
    _shapes: ClassVar = dict.fromkeys(("weight", "bias"), "num_features")
    _shown = (
        "{self.num_features}, eps={self.eps}, momentum={self.momentum}, affine={self.affine}, bias={self.has_bias}, "
        "track_running_stats={self.track_running_stats}"
    )

    def _take(self, values: dict[str, Any]) -> None:
        shape, dtype, track = (values["num_features"],), values["dtype"], values["track_running_stats"]
        super()._take(values)
        self.register_buffer("running_mean", filled(shape, 0, dtype) if track else None)
        self.register_buffer("running_var", filled(shape, 1, dtype) if track else None)
        self.register_buffer("num_batches_tracked", from_array(np.zeros((), np.int64), None) if track else None)
        self.reset_running_stats()

    def reset_running_stats(self) -> None:
        """Forget the batches before."""
        if self.track_running_stats:
            init.zeros_(self.running_mean)
            init.ones_(self.running_var)
            init.zeros_(self.num_batches_tracked)

    def forward(self, input: Tensor) -> Tensor:
        """The input, normalized by the batch while training, else by the running statistics."""
        if input._array.ndim not in self.ranks:
            expected = " or ".join(f"{r}D" for r in self.ranks)
            raise ValueError(f"expected {expected} input (got {input._array.ndim}D input)")
        return self.normalized(input)

    def normalized(self, input: Tensor) -> Tensor:
        """By the batch, or by what was kept of batches before."""
        factor = self.momentum
        if self.training and self.num_batches_tracked is not None:
            self.num_batches_tracked.add_(1)
            if factor is None:
                factor = 1.0 / float(self.num_batches_tracked)
        own = self.training or self.running_mean is None
        keep = not self.training or self.track_running_stats
        mean, var = (self.running_mean, self.running_var) if keep else (None, None)
        return F.batch_norm(input, mean, var, self.weight, self.bias, own, factor or 0.0, self.eps)


class Alone(Tracking):
    """Base of the instance norms: each example on its own, with or without a batch."""

    def normalized(self, input: Any) -> Any:
        """By its own statistics, or by those that were kept."""
        alone = input._array.ndim == self.ranks[0]
        own = self.training or not self.track_running_stats
        found: Any = F.instance_norm(
            input.unsqueeze(0) if alone else input, self.running_mean, self.running_var, self.weight, self.bias, own,
            self.momentum or 0.0, self.eps,
        )  # fmt: skip
        return found.squeeze(0) if alone else found


def declare(kind: str, base: type[Norm], ranks: tuple[tuple[int, ...], ...], *, usual: bool) -> None:
    """Add the norms of one, two and three dimensions; ``usual`` is whether they scale and track without being told."""
    options = {"num_features": ..., "eps": 1e-05, "momentum": 0.1, "affine": usual, "track_running_stats": usual}
    options |= {**MADE, "*": ..., "bias": True}
    for dims, taken in enumerate(ranks, 1):
        name, told = f"{kind}{dims}d", {"ranks": taken, "__doc__": f"``{kind}{dims}d``."}
        type(name, (base,), told, home=kind.lower(), refuser=f"_{kind}", options=options)


declare("BatchNorm", Tracking, ((2, 3), (4,), (5,)), usual=True)
declare("InstanceNorm", Alone, ((2, 3), (3, 4), (4, 5)), usual=False)
