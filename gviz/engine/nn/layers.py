"""Layers with weights: linear maps, tables of vectors, convolutions; they begin as PyTorch's own after ``manual_seed``."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, ClassVar

from gviz.engine.nn import functional as F
from gviz.engine.nn import init
from gviz.engine.nn.module import Module
from gviz.engine.nn.parameter import Parameter, filled
from gviz.engine.nn.window_functions import convolve, tuple_of

if TYPE_CHECKING:
    from typing import Self

    from gviz.engine.tensor import Tensor

__all__ = [
    "Bilinear", "Conv1d", "Conv2d", "Conv3d", "ConvTranspose1d", "ConvTranspose2d", "Embedding", "Identity", "Linear", "PReLU",
    "Upsample",
]  # fmt: skip


class Identity(Module):
    """The input itself; all arguments are ignored."""

    def forward(self, input: Tensor) -> Tensor:
        """The input."""
        return input


class Biased(Module):
    """Base of the layers that may have a bias."""

    bias: Any

    @property
    def has_bias(self) -> bool:
        """Whether there is one."""
        return self.bias is not None


class Linear(Biased):
    """``x @ weight.T + bias``."""

    _shown = "in_features={self.in_features}, out_features={self.out_features}, bias={self.has_bias}"

    def __init__(self, in_features: int, out_features: int, bias: bool = True, device: Any = None, dtype: Any = None) -> None:
        super().__init__()
        self.in_features, self.out_features = in_features, out_features
        self.weight = Parameter(filled((out_features, in_features), 0, dtype))
        self.register_parameter("bias", Parameter(filled((out_features,), 0, dtype)) if bias else None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Initial values."""
        draw_weights(self.weight, self.bias)

    def forward(self, input: Tensor) -> Tensor:
        """The product."""
        return F.linear(input, self.weight, self.bias)


def draw_weights(weight: Tensor, bias: Tensor | None) -> None:
    """Uniform within one over the root of the number of inputs, as all layers with weights begin."""
    init.kaiming_uniform_(weight, a=math.sqrt(5))
    if bias is not None:
        fan, _ = init.fans(weight)
        bound = 1 / math.sqrt(fan) if fan > 0 else 0
        init.uniform_(bias, -bound, bound)


class Bilinear(Biased):
    """``x W y + b`` for each output."""

    _shown = (
        "in1_features={self.in1_features}, in2_features={self.in2_features}, out_features={self.out_features}, "
        "bias={self.has_bias}"
    )

    def __init__(
        self, in1_features: int, in2_features: int, out_features: int, bias: bool = True, device: Any = None, dtype: Any = None
    ) -> None:
        super().__init__()
        self.in1_features, self.in2_features, self.out_features = in1_features, in2_features, out_features
        self.weight = Parameter(filled((out_features, in1_features, in2_features), 0, dtype))
        self.register_parameter("bias", Parameter(filled((out_features,), 0, dtype)) if bias else None)
        bound = 1 / math.sqrt(in1_features)
        for weight in self.parameters():
            init.uniform_(weight, -bound, bound)

    def forward(self, input1: Tensor, input2: Tensor) -> Tensor:
        """The form of both."""
        return F.bilinear(input1, input2, self.weight, self.bias)


class PReLU(Module):
    """A leaky relu whose slope is learned."""

    _shown = "num_parameters={self.num_parameters}"

    def __init__(self, num_parameters: int = 1, init: float = 0.25, device: Any = None, dtype: Any = None) -> None:
        super().__init__()
        self.num_parameters, self.init = num_parameters, init
        self.weight = Parameter(filled((num_parameters,), init))

    def forward(self, input: Tensor) -> Tensor:
        """``x`` where it is positive, else its product with the slope."""
        return F.prelu(input, self.weight)


class Upsample(Module):
    """:func:`functional.interpolate`, to a size or by a factor."""

    def __init__(
        self, size: Any = None, scale_factor: Any = None, mode: str = "nearest", align_corners: bool | None = None,
        recompute_scale_factor: bool | None = None,
    ) -> None:  # fmt: skip
        super().__init__()
        several = isinstance(scale_factor, tuple)
        self.scale_factor = tuple(map(float, scale_factor)) if several else float(scale_factor) if scale_factor else None
        self.size, self.mode, self.align_corners = size, mode, align_corners
        self.recompute_scale_factor = recompute_scale_factor

    def forward(self, input: Tensor) -> Any:
        """The input, resized."""
        return F.interpolate(input, self.size, self.scale_factor, self.mode, self.align_corners, self.recompute_scale_factor)

    def extra_repr(self) -> str:
        """The size or the factor, and the mode."""
        told = f"size={self.size}" if self.scale_factor is None else f"scale_factor={self.scale_factor}"
        return f"{told}, mode={self.mode!r}"


class Embedding(Module):
    """A table of vectors, looked up by number."""

    def __init__(
        self, num_embeddings: int, embedding_dim: int, padding_idx: int | None = None, max_norm: Any = None,
        norm_type: float = 2.0, scale_grad_by_freq: bool = False, sparse: bool = False, _weight: Tensor | None = None,
        _freeze: bool = False, device: Any = None, dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__()
        self.num_embeddings, self.embedding_dim = num_embeddings, embedding_dim
        self.padding_idx = padding_idx if padding_idx is None or padding_idx >= 0 else num_embeddings + padding_idx
        self.scale_grad_by_freq, self.sparse = scale_grad_by_freq, sparse
        given = filled((num_embeddings, embedding_dim), 0, dtype) if _weight is None else _weight
        self.weight = Parameter(given, not _freeze)
        if _weight is None:
            init.normal_(self.weight)
            if self.padding_idx is not None:
                self.weight._array[self.padding_idx] = 0

    @classmethod
    def from_pretrained(cls, embeddings: Tensor, freeze: bool = True, padding_idx: int | None = None, **options: Any) -> Self:
        """A table of given vectors."""
        rows, cols = embeddings._array.shape
        return cls(rows, cols, padding_idx, _weight=embeddings, _freeze=freeze, **options)

    def forward(self, input: Tensor) -> Tensor:
        """The vectors of those numbers."""
        return F.embedding(input, self.weight, self.padding_idx, None, 2.0, self.scale_grad_by_freq, self.sparse)

    def extra_repr(self) -> str:
        """The sizes."""
        padding = "" if self.padding_idx is None else f", padding_idx={self.padding_idx}"
        return f"{self.num_embeddings}, {self.embedding_dim}{padding}"


# ------------------------------------------------------------------ convolutions
class Convolution(Module):
    """Base of the convolutions: parameters, initial values and text."""

    dims: ClassVar[int]
    transposed: ClassVar[bool] = False

    def __init__(
        self, in_channels: int, out_channels: int, kernel_size: Any, stride: Any = 1, padding: Any = 0, dilation: Any = 1,
        groups: int = 1, bias: bool = True, padding_mode: str = "zeros", device: Any = None, dtype: Any = None,
        output_padding: Any = 0,
    ) -> None:  # fmt: skip
        super().__init__()
        if in_channels % groups:
            raise ValueError("in_channels must be divisible by groups")
        if out_channels % groups:
            raise ValueError("out_channels must be divisible by groups")
        modes = ("zeros", "reflect", "replicate", "circular")
        if self.transposed and padding_mode != "zeros":
            raise ValueError(f'Only "zeros" padding mode is supported for {type(self).__name__}')
        if padding_mode not in modes:
            raise ValueError(f"padding_mode must be one of {modes}, but got padding_mode='{padding_mode}'")
        self.padding_mode = padding_mode
        self.in_channels, self.out_channels, self.groups = in_channels, out_channels, groups
        self.kernel_size, self.stride = tuple_of(kernel_size, self.dims), tuple_of(stride, self.dims)
        self.padding = padding if isinstance(padding, str) else tuple_of(padding, self.dims)
        self.dilation, self.output_padding = tuple_of(dilation, self.dims), tuple_of(output_padding, self.dims)
        ends = (in_channels, out_channels // groups) if self.transposed else (out_channels, in_channels // groups)
        self.weight = Parameter(filled((*ends, *self.kernel_size), 0, dtype))
        self.register_parameter("bias", Parameter(filled((out_channels,), 0, dtype)) if bias else None)
        draw_weights(self.weight, self.bias)

    def forward(self, input: Tensor) -> Any:
        """The convolution of the input."""
        more = self.output_padding if self.transposed else None
        padding: Any = self.padding
        if self.padding_mode != "zeros":
            input, padding = F.pad(input, self.border(), self.padding_mode), 0
        return convolve(self.dims, input, self.weight, self.bias, self.stride, padding, self.dilation, self.groups, more)

    def border(self) -> list[int]:
        """How much is around the input where it is not zeros, for :func:`functional.pad`: the last dimension first."""
        total = [d * (k - 1) if self.padding == "same" else 0 for d, k in zip(self.dilation, self.kernel_size, strict=True)]
        pairs = [(t // 2, t - t // 2) for t in total] if isinstance(self.padding, str) else [(p, p) for p in self.padding]
        return [n for pair in reversed(pairs) for n in pair]

    def extra_repr(self) -> str:
        """The sizes, and what is not as usual."""
        usual = (0,) * self.dims
        text = f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}, stride={self.stride}"
        text += f", padding={self.padding}" if self.padding != usual else ""
        text += f", dilation={self.dilation}" if self.dilation != (1,) * self.dims else ""
        text += f", output_padding={self.output_padding}" if self.output_padding != usual else ""
        text += f", groups={self.groups}" if self.groups != 1 else ""
        text += ", bias=False" if self.bias is None else ""
        return text + (f", padding_mode={self.padding_mode}" if self.padding_mode != "zeros" else "")


class Conv1d(Convolution):
    """A kernel slid along one dimension."""

    dims = 1


class Conv2d(Convolution):
    """A kernel slid over two dimensions."""

    dims = 2


class Conv3d(Convolution):
    """A kernel moved through three dimensions."""

    dims = 3


class Transposed(Convolution):
    """Base of the transposed convolutions: the options stand in another order."""

    transposed = True

    def __init__(
        self, in_channels: int, out_channels: int, kernel_size: Any, stride: Any = 1, padding: Any = 0, output_padding: Any = 0,
        groups: int = 1, bias: bool = True, dilation: Any = 1, padding_mode: str = "zeros", device: Any = None,
        dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__(
            in_channels, out_channels, kernel_size, stride, padding, dilation, groups, bias, padding_mode, device, dtype,
            output_padding,
        )  # fmt: skip


class ConvTranspose1d(Transposed):
    """The transpose of Conv1d."""

    dims = 1


class ConvTranspose2d(Transposed):
    """The transpose of Conv2d."""

    dims = 2
