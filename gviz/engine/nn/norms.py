"""Normalization layers: what they scale and shift by, and the running statistics that some keep."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from gviz.engine.nn import functional as F
from gviz.engine.nn.layers import Biased
from gviz.engine.nn.parameter import Parameter, filled
from gviz.engine.nn.window_functions import tuple_of
from gviz.engine.tensor import from_array

if TYPE_CHECKING:
    from gviz.engine.tensor import Tensor

__all__ = [
    "BatchNorm1d", "BatchNorm2d", "BatchNorm3d", "GroupNorm", "InstanceNorm1d", "InstanceNorm2d", "InstanceNorm3d", "LayerNorm",
    "RMSNorm",
]  # fmt: skip


class Norm(Biased):
    """Base of the normalizations: the scale and the shift."""

    def affine_parameters(self, shape: tuple[int, ...], dtype: Any, *, weight: bool, bias: bool) -> None:
        """Ones to scale by and zeros to add, each only where it is wanted."""
        self.register_parameter("weight", Parameter(filled(shape, 1, dtype)) if weight else None)
        self.register_parameter("bias", Parameter(filled(shape, 0, dtype)) if bias else None)


class LayerNorm(Norm):
    """The last dimensions brought to mean 0 and variance 1."""

    _shown = "{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}, bias={self.has_bias}"

    def __init__(
        self, normalized_shape: Any, eps: float = 1e-05, elementwise_affine: bool = True, bias: bool = True, device: Any = None,
        dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__()
        self.normalized_shape, self.eps, self.elementwise_affine = tuple_of(normalized_shape, 1), eps, elementwise_affine
        self.affine_parameters(self.normalized_shape, dtype, weight=elementwise_affine, bias=elementwise_affine and bias)

    def forward(self, input: Tensor) -> Tensor:
        """The input, normalized."""
        return F.layer_norm(input, self.normalized_shape, self.weight, self.bias, self.eps)


class RMSNorm(Norm):
    """The last dimensions divided by the root of their mean square."""

    _shown = "{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}"

    def __init__(
        self, normalized_shape: Any, eps: float | None = None, elementwise_affine: bool = True, device: Any = None,
        dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__()
        self.normalized_shape, self.eps, self.elementwise_affine = tuple_of(normalized_shape, 1), eps, elementwise_affine
        shape = self.normalized_shape
        self.register_parameter("weight", Parameter(filled(shape, 1, dtype)) if elementwise_affine else None)

    def forward(self, input: Tensor) -> Tensor:
        """The input, normalized."""
        return F.rms_norm(input, self.normalized_shape, self.weight, self.eps)


class GroupNorm(Norm):
    """Groups of channels brought to mean 0 and variance 1."""

    _shown = "{self.num_groups}, {self.num_channels}, eps={self.eps}, affine={self.affine}, bias={self.has_bias}"

    def __init__(
        self, num_groups: int, num_channels: int, eps: float = 1e-05, affine: bool = True, device: Any = None,
        dtype: Any = None, *, bias: bool = True,
    ) -> None:  # fmt: skip
        super().__init__()
        if num_channels % num_groups:
            raise ValueError(f"num_channels ({num_channels}) must be divisible by num_groups ({num_groups})")
        self.num_groups, self.num_channels, self.eps, self.affine = num_groups, num_channels, eps, affine
        self.affine_parameters((num_channels,), dtype, weight=affine, bias=affine and bias)

    def forward(self, input: Tensor) -> Tensor:
        """The input, normalized."""
        return F.group_norm(input, self.num_groups, self.weight, self.bias, self.eps)


class Tracking(Norm):
    """Base of the norms that may keep running statistics: batch norms, and instance norms with other defaults."""

    ranks: ClassVar[tuple[int, ...]]
    _shown = (
        "{self.num_features}, eps={self.eps}, momentum={self.momentum}, affine={self.affine}, bias={self.has_bias}, "
        "track_running_stats={self.track_running_stats}"
    )

    def __init__(
        self, num_features: int, eps: float = 1e-05, momentum: float | None = 0.1, affine: bool = True,
        track_running_stats: bool = True, device: Any = None, dtype: Any = None, *, bias: bool = True,
    ) -> None:  # fmt: skip
        super().__init__()
        self.num_features, self.eps, self.momentum = num_features, eps, momentum
        self.affine, self.track_running_stats = affine, track_running_stats
        shape, track = (num_features,), track_running_stats
        self.affine_parameters(shape, dtype, weight=affine, bias=affine and bias)
        self.register_buffer("running_mean", filled(shape, 0, dtype) if track else None)
        self.register_buffer("running_var", filled(shape, 1, dtype) if track else None)
        self.register_buffer("num_batches_tracked", from_array(np.zeros((), np.int64), None) if track else None)

    def forward(self, input: Tensor) -> Tensor:
        """The input, normalized by the batch while training, else by the running statistics.

        Raises:
            ValueError: the input has another number of dimensions.
        """
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


class InstanceNorm(Tracking):
    """Base of the instance norms: each example on its own, with or without a batch."""

    def __init__(
        self, num_features: int, eps: float = 1e-05, momentum: float = 0.1, affine: bool = False,
        track_running_stats: bool = False, *args: Any, **kwargs: Any,
    ) -> None:  # fmt: skip
        super().__init__(num_features, eps, momentum, affine, track_running_stats, *args, **kwargs)

    def normalized(self, input: Any) -> Any:
        """By its own statistics, or by those that were kept."""
        alone = input._array.ndim == self.ranks[0]
        own = self.training or not self.track_running_stats
        found: Any = F.instance_norm(
            input.unsqueeze(0) if alone else input, self.running_mean, self.running_var, self.weight, self.bias, own,
            self.momentum or 0.0, self.eps,
        )  # fmt: skip
        return found.squeeze(0) if alone else found


class BatchNorm1d(Tracking):
    """For (n, c) or (n, c, l)."""

    ranks = (2, 3)


class BatchNorm2d(Tracking):
    """For (n, c, h, w)."""

    ranks = (4,)


class BatchNorm3d(Tracking):
    """For (n, c, d, h, w)."""

    ranks = (5,)


class InstanceNorm1d(InstanceNorm):
    """For (c, l) or (n, c, l)."""

    ranks = (2, 3)


class InstanceNorm2d(InstanceNorm):
    """For (c, h, w) or (n, c, h, w)."""

    ranks = (3, 4)


class InstanceNorm3d(InstanceNorm):
    """For (c, d, h, w) or (n, c, d, h, w)."""

    ranks = (4, 5)
