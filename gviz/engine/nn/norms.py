"""Normalization layers: what they scale and shift by, and the running statistics that some keep."""

from __future__ import annotations

from typing import Any, ClassVar

from gviz.autograd.tensor import Tensor
from gviz.engine.creation import empty
from gviz.engine.nn import functional as F, init
from gviz.engine.nn.options import MADE, Layer
from gviz.numbers import dtypes


class Norm(Layer):
    """Base of the normalizations: a scale and a shift, where ``affine`` wants them."""

    def _shaped(self, bias: bool) -> dict[str, Any]:
        wanted = getattr(self, "elementwise_affine", None) or getattr(self, "affine", False)
        return super()._shaped(bias) if wanted else dict.fromkeys(self._shapes)

    def reset_parameters(self) -> None:
        """Write ones to scale by, and zeros to add."""
        for name, parameter in self.named_parameters():
            init.constant_(parameter, float(name == "weight"))


SCALED = ("weight", "bias")
SHAPED = "normalized_shape, eps={}, elementwise_affine=True"
NORMED = "{normalized_shape}, eps={eps}, elementwise_affine={elementwise_affine}"


class LayerNorm(
    Norm,
    home="normalization",
    function=F.layer_norm,
    takes=f"{SHAPED.format(1e-5)}, bias=True, {MADE}",
    more="normalized_shape",
    less="elementwise_affine",
    tuples={"normalized_shape": 1},
    shapes=dict.fromkeys(SCALED, "normalized_shape"),
    shown=f"{NORMED}, bias={{bias}}",
):
    """The last dimensions brought to mean 0 and variance 1."""


class RMSNorm(
    LayerNorm,
    home="normalization",
    function=F.rms_norm,
    takes=f"{SHAPED.format(None)}, {MADE}",
    more="normalized_shape",
    less="elementwise_affine",
    shapes={"weight": "normalized_shape"},
    shown=NORMED,
):
    """The last dimensions divided by the root of their mean square."""


class GroupNorm(
    Norm,
    home="normalization",
    function=F.group_norm,
    less="affine",
    refused={
        "num_channels ({num_channels}) must be divisible by num_groups ({num_groups})": (
            lambda num_channels, num_groups, **_: num_channels % num_groups
        )
    },
    takes=f"num_groups, num_channels, eps=1e-05, affine=True, {MADE}, *, bias=True",
    shapes=dict.fromkeys(SCALED, "num_channels"),
    shown="{num_groups}, {num_channels}, eps={eps}, affine={affine}, bias={bias}",
):
    """Groups of channels brought to mean 0 and variance 1."""


class Tracking(
    Norm,
    shapes=dict.fromkeys(SCALED, "num_features"),
    shown="{num_features}, eps={eps}, momentum={momentum}, affine={affine}, bias={bias}, "
    "track_running_stats={track_running_stats}",
):
    """Base of the norms that may keep running statistics: batch norms, and instance norms with other defaults."""

    ranks: ClassVar[tuple[int, ...]]

    def _take(self, values: dict[str, Any]) -> None:
        super()._take(values)
        kept: dict[str, Any] = dict.fromkeys(("running_mean", "running_var"), (self.num_features, values["dtype"]))
        for name, (shape, dtype) in {**kept, "num_batches_tracked": ((), dtypes.int64)}.items():
            self.register_buffer(name, empty(shape, dtype=dtype) if self.track_running_stats else None)
        self.reset_running_stats()

    def reset_running_stats(self) -> None:
        """Forget the batches before."""
        if self.track_running_stats:
            self.running_mean.zero_()
            self.running_var.fill_(1)
            self.num_batches_tracked.zero_()

    def forward(self, input: Tensor) -> Tensor:
        """Return the input, normalized by the batch while training, else by the running statistics."""
        if input.dim() not in self.ranks:
            raise ValueError(f"expected {' or '.join(f'{r}D' for r in self.ranks)} input (got {input.dim()}D input)")
        return self.normalized(input)

    def normalized(self, input: Tensor) -> Tensor:
        """Normalize by the batch, or by what was kept of batches before."""
        factor = self.momentum
        if self.training and self.num_batches_tracked is not None:
            self.num_batches_tracked.add_(1)
            factor = 1.0 / float(self.num_batches_tracked) if factor is None else factor
        own = self.training or self.running_mean is None
        mean, var = (
            (self.running_mean, self.running_var) if not self.training or self.track_running_stats else (None, None)
        )
        return F.batch_norm(input, mean, var, self.weight, self.bias, own, factor or 0.0, self.eps)


class Alone(Tracking):
    """Base of the instance norms: each example on its own, with or without a batch."""

    def normalized(self, input: Tensor) -> Any:
        """Normalize by its own statistics, or by those that were kept."""
        if input.dim() == self.ranks[0]:
            return self.normalized(input.unsqueeze(0)).squeeze(0)
        own, kept = self.training or not self.track_running_stats, (self.running_mean, self.running_var)
        return F.instance_norm(input, *kept, self.weight, self.bias, own, self.momentum or 0.0, self.eps)


def declare(kind: str, base: type[Norm], ranks: tuple[tuple[int, ...], ...], usual: bool) -> None:
    """Add the norms of one, two and three dimensions; ``usual`` is whether they scale and track without being asked."""
    takes = f"num_features, eps=1e-05, momentum=0.1, affine={usual}, track_running_stats={usual}, {MADE}, *, bias=True"
    for dims, taken in enumerate(ranks, 1):
        type(
            f"{kind}{dims}d",
            (base,),
            {"ranks": taken, "__doc__": f"``{kind}{dims}d``."},
            home=kind.lower(),
            takes=takes,
        )


declare("BatchNorm", Tracking, ((2, 3), (4,), (5,)), usual=True)
declare("InstanceNorm", Alone, ((2, 3), (3, 4), (4, 5)), usual=False)
