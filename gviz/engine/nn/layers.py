"""Layers with parameters, and those that only reshape: initial values are PyTorch's own after ``manual_seed``."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from gviz.engine.nn import functional as F
from gviz.engine.nn import init
from gviz.engine.nn.activation import Activation, filled
from gviz.engine.nn.module import Module
from gviz.engine.nn.parameter import Parameter
from gviz.engine.nn.window_functions import convolve, tuple_of
from gviz.engine.tensor import Tensor, from_array

if TYPE_CHECKING:
    from typing import Self


class Identity(Module):
    """The input itself; all arguments are ignored."""

    def forward(self, input: Tensor) -> Tensor:
        """The input."""
        return input


class Flatten(Module):
    """Dimensions from start to end made one."""

    def __init__(self, start_dim: int = 1, end_dim: int = -1) -> None:
        super().__init__()
        self.start_dim, self.end_dim = start_dim, end_dim

    def forward(self, input: Tensor) -> Any:
        """``input.flatten(start, end)``."""
        return input.flatten(self.start_dim, self.end_dim)  # type: ignore[attr-defined]

    def extra_repr(self) -> str:
        """Both dimensions."""
        return f"start_dim={self.start_dim}, end_dim={self.end_dim}"


class Unflatten(Module):
    """One dimension made several."""

    def __init__(self, dim: int, unflattened_size: Any) -> None:
        super().__init__()
        self.dim, self.unflattened_size = dim, unflattened_size

    def forward(self, input: Tensor) -> Any:
        """``input.unflatten(dim, sizes)``."""
        return input.unflatten(self.dim, self.unflattened_size)  # type: ignore[attr-defined]

    def extra_repr(self) -> str:
        """Dimension and sizes."""
        return f"dim={self.dim}, unflattened_size={self.unflattened_size}"


class Dropout(Module):
    """Elements set to zero at random while training."""

    def __init__(self, p: float = 0.5, inplace: bool = False) -> None:
        super().__init__()
        if p < 0 or p > 1:
            raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")
        self.p, self.inplace = p, inplace

    def forward(self, input: Tensor) -> Tensor:
        """The input, or some of it."""
        return F.dropout(input, self.p, self.training, self.inplace)

    def extra_repr(self) -> str:
        """Both options."""
        return f"p={self.p}, inplace={self.inplace}"


class Linear(Module):
    """``x @ weight.T + bias``."""

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

    def extra_repr(self) -> str:
        """The sizes."""
        return f"in_features={self.in_features}, out_features={self.out_features}, bias={self.bias is not None}"


def draw_weights(weight: Tensor, bias: Tensor | None) -> None:
    """Uniform within one over the root of the number of inputs, as all layers with weights begin."""
    init.kaiming_uniform_(weight, a=math.sqrt(5))
    if bias is not None:
        fan, _ = init.fans(weight)
        bound = 1 / math.sqrt(fan) if fan > 0 else 0
        init.uniform_(bias, -bound, bound)


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
        if padding_mode != "zeros":
            raise NotImplementedError(f"padding_mode={padding_mode!r} is not in gviz's engine")
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
        return convolve(self.dims, input, self.weight, self.bias, self.stride, self.padding, self.dilation, self.groups, more)

    def extra_repr(self) -> str:
        """The sizes, and what is not as usual."""
        usual = (0,) * self.dims
        text = f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}, stride={self.stride}"
        text += f", padding={self.padding}" if self.padding != usual else ""
        text += f", dilation={self.dilation}" if self.dilation != (1,) * self.dims else ""
        text += f", output_padding={self.output_padding}" if self.output_padding != usual else ""
        text += f", groups={self.groups}" if self.groups != 1 else ""
        return text + (", bias=False" if self.bias is None else "")


class Conv1d(Convolution):
    """A kernel slid along one dimension."""

    dims = 1


class Conv2d(Convolution):
    """A kernel slid over two dimensions."""

    dims = 2


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


# ------------------------------------------------------------------ normalization
class LayerNorm(Module):
    """The last dimensions brought to mean 0 and variance 1."""

    def __init__(
        self, normalized_shape: Any, eps: float = 1e-05, elementwise_affine: bool = True, bias: bool = True, device: Any = None,
        dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__()
        self.normalized_shape = (normalized_shape,) if isinstance(normalized_shape, int) else tuple(normalized_shape)
        self.eps, self.elementwise_affine = eps, elementwise_affine
        shape = self.normalized_shape
        self.register_parameter("weight", Parameter(filled(shape, 1, dtype)) if elementwise_affine else None)
        self.register_parameter("bias", Parameter(filled(shape, 0, dtype)) if elementwise_affine and bias else None)

    def forward(self, input: Tensor) -> Tensor:
        """The input, normalized."""
        return F.layer_norm(input, self.normalized_shape, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        """Shape and options."""
        affine = f"elementwise_affine={self.elementwise_affine}, bias={self.bias is not None}"
        return f"{self.normalized_shape}, eps={self.eps}, {affine}"


class BatchNorm(Module):
    """Base of the batch norms: statistics, parameters and text."""

    ranks: ClassVar[tuple[int, ...]]

    def __init__(
        self, num_features: int, eps: float = 1e-05, momentum: float | None = 0.1, affine: bool = True,
        track_running_stats: bool = True, device: Any = None, dtype: Any = None,
        bias: bool = True,
    ) -> None:  # fmt: skip
        super().__init__()
        self.num_features, self.eps, self.momentum = num_features, eps, momentum
        self.affine, self.track_running_stats = affine, track_running_stats
        shape = (num_features,)
        self.register_parameter("weight", Parameter(filled(shape, 1, dtype)) if affine else None)
        self.register_parameter("bias", Parameter(filled(shape, 0, dtype)) if affine and bias else None)
        track = track_running_stats
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
        factor = self.momentum
        if self.training and self.num_batches_tracked is not None:
            self.num_batches_tracked.add_(1)
            if factor is None:
                factor = 1.0 / float(self.num_batches_tracked)
        own = self.training or self.running_mean is None
        keep = not self.training or self.track_running_stats
        mean, var = (self.running_mean, self.running_var) if keep else (None, None)
        return F.batch_norm(input, mean, var, self.weight, self.bias, own, factor or 0.0, self.eps)

    def extra_repr(self) -> str:
        """The number of channels and the options."""
        return (
            f"{self.num_features}, eps={self.eps}, momentum={self.momentum}, affine={self.affine}, "
            f"bias={self.bias is not None}, track_running_stats={self.track_running_stats}"
        )


class BatchNorm1d(BatchNorm):
    """For (n, c) or (n, c, l)."""

    ranks = (2, 3)


class BatchNorm2d(BatchNorm):
    """For (n, c, h, w)."""

    ranks = (4,)


# ------------------------------------------------------------------ pooling
class Pool(Activation):
    """Base of the poolings: ``stride`` is the kernel's size where it is not given."""

    kernel_size: Any
    stride: Any
    padding: Any

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if self.stride is None:
            self.stride = self.kernel_size

    def extra_repr(self) -> str:
        """The sizes."""
        names = ["kernel_size", "stride", "padding", *(n for n in ("dilation", "ceil_mode") if "dilation" in self.options)]
        return ", ".join(f"{n}={getattr(self, n)}" for n in names)


MAX = {"kernel_size": None, "stride": None, "padding": 0, "dilation": 1, "return_indices": False, "ceil_mode": False}
AVERAGE = {"kernel_size": None, "stride": None, "padding": 0, "ceil_mode": False, "count_include_pad": True}


class MaxPool1d(Pool):
    """The largest element of each window along one dimension."""

    function, options = "max_pool1d", MAX


class MaxPool2d(Pool):
    """The largest element of each window."""

    function, options = "max_pool2d", MAX


class AvgPool1d(Pool):
    """The mean of each window along one dimension."""

    function, options = "avg_pool1d", AVERAGE

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.kernel_size, self.stride, self.padding = (tuple_of(v, 1) for v in (self.kernel_size, self.stride, self.padding))


class AvgPool2d(Pool):
    """The mean of each window."""

    function: ClassVar[str] = "avg_pool2d"
    options: ClassVar[dict[str, Any]] = {**AVERAGE, "divisor_override": None}


class AdaptiveAvgPool1d(Activation):
    """Means over as many windows as the output is to have."""

    function: ClassVar[str] = "adaptive_avg_pool1d"
    options: ClassVar[dict[str, Any]] = {"output_size": None}

    def extra_repr(self) -> str:
        """The output's size."""
        return f"output_size={self.output_size}"


class AdaptiveAvgPool2d(AdaptiveAvgPool1d):
    """The same in two dimensions."""

    function: ClassVar[str] = "adaptive_avg_pool2d"
