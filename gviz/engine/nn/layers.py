"""Layers with weights: linear maps, tables of vectors, convolutions; they begin as PyTorch's own after ``manual_seed``."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, ClassVar

from gviz.numbers.printing import Size
from gviz.autograd.modes import no_grad
from gviz.engine.nn import functional as F
from gviz.engine.nn import init
from gviz.engine.nn.options import MADE, Layer, each
from gviz.engine.nn.parameter import Parameter
from gviz.engine.nn.window_functions import convolve

if TYPE_CHECKING:
    from typing import Self

    from gviz.autograd.tensor import Tensor


class Identity(Layer, home="linear"):
    """The input itself; all arguments are ignored."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__()

    def forward(self, input: Tensor) -> Tensor:
        """The input."""
        return input


LEARNT: dict[str, Any] = {"out_features": ..., "bias": True, **MADE}


class Linear(Layer, home="linear", function=F.linear, options={"in_features": ..., **LEARNT}):
    """``x @ weight.T + bias``."""

    _shapes: ClassVar = {"weight": "out_features in_features", "bias": "out_features"}

    def reset_parameters(self) -> None:
        """Uniform within one over the root of the number of inputs, as most layers with weights begin."""
        init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        if self.bias is not None:
            init.within([self.bias], init.fans(self.weight)[0])


class Bilinear(Layer, home="linear", function=F.bilinear, options={"in1_features": ..., "in2_features": ..., **LEARNT}):
    """``x W y + b`` for each output."""

    _shapes: ClassVar = {"weight": "out_features in1_features in2_features", "bias": "out_features"}

    def reset_parameters(self) -> None:
        """Uniform within one over the root of the size of the first input."""
        init.within(self.parameters(), self.in1_features)


class PReLU(Layer, home="activation", function=F.prelu, options={"num_parameters": 1, "init": 0.25, **MADE}):
    """A leaky relu whose slope is learned."""

    _shapes: ClassVar = {"weight": "num_parameters"}
    _shown = "num_parameters={self.num_parameters}"

    def reset_parameters(self) -> None:
        """The slope to begin with."""
        init.constant_(self.weight, self.init)


RESIZED = {"size": None, "scale_factor": None, "mode": "nearest", "align_corners": None, "recompute_scale_factor": None}


class Upsample(Layer, home="upsampling", function=F.interpolate, options=RESIZED):
    """:func:`functional.interpolate`, to a size or by a factor."""

    way: ClassVar[dict[str, Any]] = {}

    def _take(self, values: dict[str, Any]) -> None:
        if factor := values["scale_factor"]:
            values["scale_factor"] = tuple(map(float, factor)) if isinstance(factor, tuple) else float(factor)
        super()._take({**RESIZED, **values, **self.way})

    def extra_repr(self) -> str:
        """The size or the factor, and the mode."""
        told = f"size={self.size}" if self.scale_factor is None else f"scale_factor={self.scale_factor}"
        return f"{told}, mode={self.mode!r}"


class UpsamplingNearest2d(Upsample, home="upsampling", options={"size": None, "scale_factor": None}):
    """:class:`Upsample` by the nearest element."""


class UpsamplingBilinear2d(UpsamplingNearest2d, home="upsampling"):
    """:class:`Upsample` between four elements, corner to corner."""

    way: ClassVar = {"mode": "bilinear", "align_corners": True}


LOOKED_UP = {"padding_idx": None, "max_norm": None, "norm_type": 2.0, "scale_grad_by_freq": False, "sparse": False}
TABLE = {"num_embeddings": ..., "embedding_dim": ..., **LOOKED_UP, "_weight": None, "_freeze": False, **MADE}


class Embedding(Layer, home="sparse", function=F.embedding, options=TABLE):
    """A table of vectors, looked up by number."""

    _shapes: ClassVar = {"weight": "num_embeddings embedding_dim"}

    def _take(self, values: dict[str, Any]) -> None:
        given, frozen = values.pop("_weight"), values.pop("_freeze")
        if given is not None:
            if list(given.shape) != [values["num_embeddings"], values["embedding_dim"]]:
                raise AssertionError("Shape of weight does not match num_embeddings and embedding_dim")
            self.weight = Parameter(given)
        if values["padding_idx"] is not None:
            values["padding_idx"] = F.row_number(values["padding_idx"], values["num_embeddings"])
        super()._take(values)
        self.weight.requires_grad_(not frozen)

    def _shaped(self, bias: bool) -> dict[str, Any]:
        return {} if "weight" in self._parameters else super()._shaped(bias)

    def reset_parameters(self) -> None:
        """Normal values, and zeros at ``padding_idx``."""
        init.normal_(self.weight)
        if self.padding_idx is not None:
            with no_grad():
                self.weight[self.padding_idx].fill_(0)

    @classmethod
    def from_pretrained(cls, embeddings: Tensor, freeze: bool = True, padding_idx: int | None = None, **options: Any) -> Self:
        """A table of given vectors."""
        if embeddings.dim() != 2:
            raise AssertionError("Embeddings parameter is expected to be 2-dimensional")
        rows, cols = embeddings._array.shape
        return cls(rows, cols, padding_idx, _weight=embeddings, _freeze=freeze, **options)

    def extra_repr(self) -> str:
        """The sizes, and what is not as usual."""
        return f"{self.num_embeddings}, {self.embedding_dim}{self.unusual(LOOKED_UP)}"


class Convolution(Layer):
    """Base of the convolutions over ``dims`` dimensions."""

    dims: ClassVar[int]
    transposed: ClassVar[bool] = False

    def _take(self, values: dict[str, Any]) -> None:
        if self.transposed and values["padding_mode"] != "zeros":
            raise ValueError(f'Only "zeros" padding mode is supported for {type(self).__name__}')
        if values["groups"] <= 0:
            raise ValueError("groups must be a positive integer")
        for ends in ("in_channels", "out_channels"):
            if values[ends] % values["groups"]:
                raise ValueError(f"{ends} must be divisible by groups")
        if values["padding_mode"] not in (modes := {"zeros", "reflect", "replicate", "circular"}):
            raise ValueError(f"padding_mode must be one of {modes}, but got padding_mode='{values['padding_mode']}'")
        if isinstance(padding := values["padding"], str):
            if padding not in (strings := {"same", "valid"}):
                raise ValueError(f"Invalid padding string {padding!r}, should be one of {strings}")
            if padding == "same" and any(step != 1 for step in each(values["stride"], self.dims)):
                raise ValueError("padding='same' is not supported for strided convolutions")
        sizes = ("kernel_size", "stride", "padding", "dilation", "output_padding")
        values = {"output_padding": 0, **values}
        super()._take({k: each(v, self.dims) if k in sizes and not isinstance(v, str) else v for k, v in values.items()})

    def _shaped(self, bias: bool) -> dict[str, Any]:
        taken, given = self.in_channels, self.out_channels
        ends = (taken, given // self.groups) if self.transposed else (given, taken // self.groups)
        return {"weight": (*ends, *self.kernel_size), "bias": (given,) if bias else None}

    reset_parameters = Linear.reset_parameters

    def forward(self, input: Tensor) -> Any:
        """The convolution of the input."""
        padding: Any = self.padding
        if self.padding_mode != "zeros":
            input, padding = F.pad(input, self.border(), self.padding_mode), 0
        return convolve(self.dims, input, self.weight, self.bias, self.stride, padding, self.dilation, self.groups)

    def border(self) -> list[int]:
        """How much is around the input where it is not zeros, for :func:`functional.pad`: the last dimension first."""
        total = [d * (k - 1) if self.padding == "same" else 0 for d, k in zip(self.dilation, self.kernel_size, strict=True)]
        pairs = [(t // 2, t - t // 2) for t in total] if isinstance(self.padding, str) else [(p, p) for p in self.padding]
        return [n for pair in reversed(pairs) for n in pair]

    def extra_repr(self) -> str:
        """The sizes, and what is not as usual."""
        told = f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}, stride={self.stride}"
        usual: dict[str, Any] = {"padding": 0, "dilation": 1, "output_padding": 0}
        usual = {name: (number,) * len(getattr(self, name)) for name, number in usual.items()} | {"groups": 1}
        told += self.unusual(usual) + ", bias=False" * (self.bias is None)
        return told + (f", padding_mode={self.padding_mode}" if self.padding_mode != "zeros" else "")


class Transposed(Convolution):
    """Base of the transposed convolutions."""

    transposed = True

    def forward(self, input: Tensor, output_size: Any = None) -> Any:
        """The transpose of a convolution, of the wanted size."""
        more = self.output_padding if output_size is None else self.room(input._array.shape, output_size)
        facts = (self.stride, self.padding, self.dilation, self.groups)
        return convolve(self.dims, input, self.weight, self.bias, *facts, more)

    def room(self, sizes: tuple[int, ...], wanted: Any) -> tuple[int, ...]:
        """The output padding that makes the output so large."""
        first = 2 if len(sizes) == self.dims + 2 else 1
        if len(wanted) == first + self.dims:
            wanted = wanted[first:]
        if len(wanted) != self.dims:
            raise ValueError(
                f"ConvTranspose{self.dims}D: for {len(sizes)}D input, output_size must have {self.dims} or {first + self.dims} "
                f"elements (got {len(wanted)})"
            )
        facts = zip(sizes[first:], self.stride, self.padding, self.dilation, self.kernel_size, strict=False)
        least = [(n - 1) * s - 2 * p + d * (k - 1) + 1 for n, s, p, d, k in facts]
        most = [n + s - 1 for n, s in zip(least, self.stride, strict=True)]
        if not all(low <= n <= high for low, n, high in zip(least, wanted, most, strict=True)):
            raise ValueError(
                f"requested an output size of {wanted}, but valid sizes range from {least} to {most} (for an input of "
                f"{Size(sizes[2:])})"
            )
        return tuple(n - low for n, low in zip(wanted, least, strict=True))


SIZES = {"in_channels": ..., "out_channels": ..., "kernel_size": ..., "stride": 1, "padding": 0}
SLID = {**SIZES, "dilation": 1, "groups": 1, "bias": True, "padding_mode": "zeros", **MADE}
TURNED = {**SIZES, "output_padding": 0, "groups": 1, "bias": True, "dilation": 1, "padding_mode": "zeros", **MADE}
for dims in (1, 2, 3):
    type(f"Conv{dims}d", (Convolution,), {"dims": dims}, home="conv", options=SLID)
    type(f"ConvTranspose{dims}d", (Transposed,), {"dims": dims}, home="conv", options=TURNED)
