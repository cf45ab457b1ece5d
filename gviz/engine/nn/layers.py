"""Layers with weights: linear maps, tables of vectors, convolutions, normalizations.

They begin as PyTorch's own after ``manual_seed``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from gviz.autograd.modes import no_grad
from gviz.autograd.tensor import Tensor
from gviz.engine.creation import empty
from gviz.engine.nn import functional as F, init
from gviz.engine.nn.options import MADE, Layer, each
from gviz.engine.nn.parameter import Parameter
from gviz.numbers import dtypes
from gviz.numbers.words import refuse


class Identity(Layer, home="linear"):
    """The input itself; all arguments are ignored."""

    def __init__(self, *args: object, **kwargs: object) -> None:
        super().__init__()

    def forward(self, input: Tensor) -> Tensor:
        """Return the input."""
        return input


class Linear(
    Layer,
    home="linear",
    function=F.linear,
    takes=f"in_features, out_features, bias=True, {MADE}",
    shapes={"weight": "out_features in_features", "bias": "out_features"},
):
    """``x @ weight.T + bias``."""


class Bilinear(
    Layer,
    home="linear",
    function=F.bilinear,
    inputs="input1, input2",
    takes=f"in1_features, in2_features, out_features, bias=True, {MADE}",
    shapes={"weight": "out_features in1_features in2_features", "bias": "out_features"},
    begin=lambda self: init.within(self.parameters(), self.in1_features),
):
    """``x W y + b`` for each output."""


class PReLU(
    Layer,
    home="activation",
    function=F.prelu,
    takes=f"num_parameters=1, init=0.25, {MADE}",
    less="init",
    shapes={"weight": "num_parameters"},
    shown="num_parameters={num_parameters}",
    begin=lambda self: init.constant_(self.weight, self.init),
):
    """A leaky relu whose slope is learned."""


class Upsample(
    Layer,
    home="upsampling",
    function=F.interpolate,
    takes="size=None, scale_factor=None, mode='nearest', align_corners=None, recompute_scale_factor=None",
):
    """:func:`functional.interpolate`, to a size or by a factor."""

    mode: str = "nearest"
    align_corners: bool | None = None
    recompute_scale_factor: bool | None = None

    def _take_(self, values: dict[str, Any]) -> None:
        if factor := values["scale_factor"]:
            values["scale_factor"] = tuple(map(float, factor)) if isinstance(factor, tuple) else float(factor)
        super()._take_(values)

    def extra_repr(self) -> str:
        """Return the size or the factor, and the mode."""
        size = f"size={self.size}" if self.scale_factor is None else f"scale_factor={self.scale_factor}"
        return f"{size}, mode={self.mode!r}"


class UpsamplingNearest2d(Upsample, home="upsampling", takes="size=None, scale_factor=None"):
    """:class:`Upsample` by the nearest element."""


class UpsamplingBilinear2d(UpsamplingNearest2d, home="upsampling"):
    """:class:`Upsample` between four elements, corner to corner."""

    mode, align_corners = "bilinear", True


LOOKED_UP = {"padding_idx": None, "max_norm": None, "norm_type": 2.0, "scale_grad_by_freq": False, "sparse": False}
TABLE = "num_embeddings, embedding_dim, " + ", ".join(f"{name}={value}" for name, value in LOOKED_UP.items())


class Embedding(
    Layer,
    home="sparse",
    function=F.embedding,
    less="_weight _freeze",
    shown="{num_embeddings}, {embedding_dim}",
    usual=LOOKED_UP,
    takes=f"{TABLE}, _weight=None, _freeze=False, {MADE}",
    shapes={"weight": "num_embeddings embedding_dim"},
):
    """A table of vectors, looked up by number."""

    def _take_(self, values: dict[str, Any]) -> None:
        weight, frozen = values.pop("_weight"), values.pop("_freeze", False)
        if weight is not None:
            self.weight = Parameter(weight)
        if values["padding_idx"] is not None:
            values["padding_idx"] = F.row_number(values["padding_idx"], values["num_embeddings"])
        super()._take_(values)
        self.weight.requires_grad_(not frozen)

    def _shaped_(self, bias: bool) -> dict[str, Any]:
        return {} if "weight" in self._parameters else super()._shaped_(bias)

    def reset_parameters(self) -> None:
        """Write normal values, and zeros at ``padding_idx``."""
        init.normal_(self.weight)
        self._fill_padding_idx_with_zero()

    def _fill_padding_idx_with_zero(self) -> None:
        """Write zeros at ``padding_idx``; programs that write other values call it."""
        if self.padding_idx is not None:
            with no_grad():
                self.weight[self.padding_idx].fill_(0)

    @classmethod
    def from_pretrained(cls: Any, embeddings: Tensor, freeze: bool = True, *args: object, **options: object) -> Any:
        """Make a table of given vectors."""
        refuse(embeddings.dim() != 2, "Embeddings parameter is expected to be 2-dimensional", AssertionError)
        names = (name for name in cls._options_ if name[0] != "_")
        options |= zip(names, (*embeddings.shape, *args), strict=False)
        layer = cls(_weight=embeddings, **options)
        layer.weight.requires_grad_(not freeze)
        return layer


class EmbeddingBag(
    Embedding,
    home="sparse",
    function=F.embedding_bag,
    less="_weight",
    inputs="input, offsets=None, per_sample_weights=None",
    takes="num_embeddings, embedding_dim, max_norm=None, norm_type=2.0, scale_grad_by_freq=False, mode='mean', "
    f"sparse=False, _weight=None, include_last_offset=False, padding_idx=None, {MADE}",
):
    """The sum, mean or largest of the vectors of a bag."""

    def extra_repr(self) -> str:
        """Return the sizes and the mode, and what is not as usual."""
        usual = self._unusual_({"max_norm": None, "norm_type": 2.0, "scale_grad_by_freq": False})
        padding = self._unusual_({"padding_idx": None})
        return f"{self.num_embeddings}, {self.embedding_dim}{usual}, mode={self.mode!r}{padding}"


CANNOT = {
    "groups must be a positive integer": lambda groups, **_: groups <= 0,
    "in_channels must be divisible by groups": lambda in_channels, groups, **_: in_channels % groups,
    "out_channels must be divisible by groups": lambda out_channels, groups, **_: out_channels % groups,
    "Invalid padding string {padding!r}, should be one of {{'valid', 'same'}}": lambda padding, **_: (
        isinstance(padding, str) and padding not in ("valid", "same")
    ),
    "padding='same' is not supported for strided convolutions": lambda padding, stride, **_: (
        padding == "same" and set(each(stride, 1)) != {1}
    ),
    "padding_mode must be one of {{'zeros', 'reflect', 'replicate', 'circular'}}, "
    "but got padding_mode={padding_mode!r}": (
        lambda padding_mode, **_: padding_mode not in ("zeros", "reflect", "replicate", "circular")
    ),
}


class Convolution(Layer, refused=CANNOT):
    """Base of the convolutions over ``_dims_`` dimensions."""

    _dims_: ClassVar[int]
    _function_: ClassVar[Any]
    transposed: ClassVar[bool] = False

    def _shaped_(self, bias: bool) -> dict[str, Any]:
        ins, outs = self.in_channels, self.out_channels
        ends = (ins, outs // self.groups) if self.transposed else (outs, ins // self.groups)
        return {"weight": (*ends, *self.kernel_size), "bias": (outs,) if bias else None}

    def forward(self, input: Tensor) -> Any:
        """Return the convolution of the input."""
        return self._conv_forward(input, self.weight, self.bias)

    def _conv_forward(self, input: Tensor, weight: Tensor, bias: Tensor | None) -> Any:
        """Return a convolution of the input with other weights, which a program may have made of its own."""
        padding: Any = self.padding
        if self.padding_mode != "zeros":
            input, padding = F.pad(input, self._border_(), self.padding_mode), 0
        return self._function_(input, weight, bias, self.stride, padding, self.dilation, self.groups)

    def _border_(self) -> list[int]:
        """Return how much is around the input where it is not zeros, for :func:`functional.pad`.

        The last dimension first.
        """
        total = [d * (k - 1) * (self.padding == "same") for d, k in zip(self.dilation, self.kernel_size, strict=True)]
        pairs = (
            [(t // 2, t - t // 2) for t in total] if isinstance(self.padding, str) else [(p, p) for p in self.padding]
        )
        return [n for pair in reversed(pairs) for n in pair]

    def extra_repr(self) -> str:
        """Return the sizes, and what is not as usual."""
        text = f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}, stride={self.stride}"
        zeros, ones = ((number,) * len(self.kernel_size) for number in (0, 1))
        text += self._unusual_({"padding": zeros, "dilation": ones, "output_padding": zeros, "groups": 1})
        return text + ", bias=False" * (self.bias is None) + self._unusual_({"padding_mode": "zeros"})


class Transposed(
    Convolution,
    refused=CANNOT
    | {
        'Only "zeros" padding mode is supported for {self.__class__.__name__}': (
            lambda padding_mode, **_: padding_mode != "zeros"
        )
    },
):
    """Base of the transposed convolutions."""

    transposed = True

    def forward(self, input: Tensor, output_size: Sequence[int] | None = None) -> Any:
        """Return the transpose of a convolution, of the wanted size."""
        more = self.output_padding if output_size is None else self._room_(input.shape, output_size)
        return self._function_(
            input, self.weight, self.bias, self.stride, self.padding, more, self.groups, self.dilation
        )

    def _room_(self, sizes: Sequence[int], output_size: Sequence[int]) -> tuple[int, ...]:
        """Return the output padding that makes the output so large."""
        options = zip(sizes[-self._dims_ :], self.stride, self.padding, self.dilation, self.kernel_size, strict=True)
        least = [(n - 1) * s - 2 * p + d * (k - 1) + 1 for n, s, p, d, k in options]
        room = tuple(n - low for n, low in zip(output_size[-self._dims_ :], least, strict=True))
        refuse(
            not all(0 <= more < s for more, s in zip(room, self.stride, strict=True)),
            f"requested an output size of {output_size[-self._dims_ :]}, but valid sizes range from {least} to "
            f"{[n + s - 1 for n, s in zip(least, self.stride, strict=True)]} "
            f"(for an input of {sizes[-self._dims_ :]})",
            ValueError,
        )
        return room


SIZES, LAST = "in_channels, out_channels, kernel_size, stride=1, padding=0", f"padding_mode='zeros', {MADE}"
SLID = f"{SIZES}, dilation=1, groups=1, bias=True, {LAST}"
TURNED = f"{SIZES}, output_padding=0, groups=1, bias=True, dilation=1, {LAST}"
for dims in (1, 2, 3):
    tuples = dict.fromkeys(("kernel_size", "stride", "padding", "dilation", "output_padding"), dims)
    for name, base, takes in (("Conv", Convolution, SLID), ("ConvTranspose", Transposed, TURNED)):
        function = getattr(F, f"{name.lower().replace('tran', '_tran')}{dims}d")
        body = {"_dims_": dims, "_function_": staticmethod(function), "output_padding": (0,) * dims}
        type(f"{name}{dims}d", (base,), body, home="conv", takes=takes, tuples=tuples)


# ------------------------------------------------------------------ normalizations
class Norm(Layer):
    """Base of the normalizations: a scale and a shift, where ``affine`` wants them."""

    def _shaped_(self, bias: bool) -> dict[str, Any]:
        is_affine = getattr(self, "elementwise_affine", None) or getattr(self, "affine", False)
        return super()._shaped_(bias) if is_affine else dict.fromkeys(self._shapes_)

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

    _version = 2
    _ranks_: ClassVar[tuple[int, ...]]

    def _take_(self, values: dict[str, Any]) -> None:
        super()._take_(values)
        running: dict[str, Any] = dict.fromkeys(("running_mean", "running_var"), (self.num_features, values["dtype"]))
        for name, (shape, dtype) in {**running, "num_batches_tracked": ((), dtypes.int64)}.items():
            self.register_buffer(name, empty(shape, dtype, values["device"]) if self.track_running_stats else None)
        self.reset_running_stats()

    def reset_running_stats(self) -> None:
        """Forget the batches before."""
        if self.track_running_stats:
            self.running_mean.zero_()
            self.running_var.fill_(1)
            self.num_batches_tracked.zero_()

    def _check_input_dim(self, input: Tensor) -> None:
        """Refuse an input of other dimensions; subclasses of programs call it, or have one of their own."""
        if input.dim() not in self._ranks_:
            raise ValueError(f"expected {' or '.join(f'{r}D' for r in self._ranks_)} input (got {input.dim()}D input)")

    def forward(self, input: Tensor) -> Tensor:
        """Return the input, normalized by the batch while training, else by the running statistics."""
        self._check_input_dim(input)
        return self._normalized_(input)

    def _normalized_(self, input: Tensor) -> Tensor:
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


class PerBatch(Tracking):
    """Base of the batch norms."""


class Alone(Tracking):
    """Base of the instance norms: each example on its own, with or without a batch."""

    def _normalized_(self, input: Tensor) -> Any:
        """Normalize by its own statistics, or by those that were kept."""
        if input.dim() == self._ranks_[0]:
            return self._normalized_(input.unsqueeze(0)).squeeze(0)
        own, running = self.training or not self.track_running_stats, (self.running_mean, self.running_var)
        return F.instance_norm(input, *running, self.weight, self.bias, own, self.momentum or 0.0, self.eps)


def declare_norms(kind: str, base: type[Norm], ranks: tuple[tuple[int, ...], ...], usual: bool) -> None:
    """Add the norms of one, two and three dimensions; ``usual`` is whether they scale and track without being asked."""
    takes = f"num_features, eps=1e-05, momentum=0.1, affine={usual}, track_running_stats={usual}, {MADE}, *, bias=True"
    for dims, input_ranks in enumerate(ranks, 1):
        type(
            f"{kind}{dims}d",
            (base,),
            {"_ranks_": input_ranks, "__doc__": f"``{kind}{dims}d``."},
            home=kind.lower(),
            takes=takes,
        )


declare_norms("BatchNorm", PerBatch, ((2, 3), (4,), (5,)), usual=True)
declare_norms("InstanceNorm", Alone, ((2, 3), (3, 4), (4, 5)), usual=False)
