"""``torch.nn.functional``: activations, losses, layers as functions, each a row of the table or made of rows."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from gviz.engine import inplace as writing
from gviz.engine import random
from gviz.engine.op import TENSORS as call
from gviz.engine.ops import convolution as _convolution  # noqa: F401 - stores its rows
from gviz.engine.ops import losses as _losses
from gviz.engine.ops import normalization as _normalization  # noqa: F401
from gviz.engine.ops import pooling as _pooling  # noqa: F401
from gviz.engine.surface.reductions import log_softmax, softmax
from gviz.engine.tensor import Tensor, from_array


def reduction_number(reduction: str) -> int:
    """The number by which rows know a reduction.

    Raises:
        ValueError: there is no such reduction.
    """
    if reduction not in _losses.REDUCTIONS:
        raise ValueError(f"{reduction} is not a valid value for reduction")
    return _losses.REDUCTIONS[reduction]


def reduced(losses: Tensor, reduction: str) -> Tensor:
    """A loss per element, or their mean or sum."""
    number = reduction_number(reduction)
    return losses if number == 0 else call["mean_all" if number == 1 else "sum_all"](losses)


# ------------------------------------------------------------------ activations
def activation(key: str, *names: str, **defaults: Any) -> Any:
    """The public function of a row with one tensor, options of these names, and ``inplace``."""

    def apply(input: Tensor, *args: Any, inplace: bool = False, **options: Any) -> Tensor:
        values = {**defaults, **dict(zip([*names, "inplace"], args, strict=False)), **options}
        inplace = values.pop("inplace", inplace)
        given = [values[name] for name in names]
        return writing.in_place(call[key], input, *given) if inplace else call[key](input, *given)

    apply.__name__ = key
    return apply


relu = activation("relu")
silu = activation("silu")
mish = activation("mish")
hardswish = activation("hardswish")
hardsigmoid = activation("hardsigmoid")
sigmoid = activation("sigmoid")
tanh = activation("tanh")
logsigmoid = activation("log_sigmoid")
leaky_relu = activation("leaky_relu", "negative_slope", negative_slope=0.01)
hardtanh = activation("hardtanh", "min_val", "max_val", min_val=-1.0, max_val=1.0)
threshold = activation("threshold", "threshold", "value")
celu = activation("celu", "alpha", alpha=1.0)
gelu = activation("gelu", "approximate", approximate="none")
softplus = activation("softplus", "beta", "threshold", beta=1, threshold=20)
hardshrink = activation("hardshrink", "lambd", lambd=0.5)
softshrink = activation("softshrink", "lambd", lambd=0.5)


def elu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """``x``, and ``alpha (exp(x) - 1)`` below zero."""
    return writing.in_place(call["elu"], input, alpha) if inplace else call["elu"](input, alpha, 1, 1)  # type: ignore[no-any-return]


def selu(input: Tensor, inplace: bool = False) -> Tensor:
    """The self-normalizing form of :func:`elu`."""
    given = (1.6732632423543772, 1.0507009873554805, 1)
    return writing.in_place(call["elu"], input, *given) if inplace else call["elu"](input, *given)  # type: ignore[no-any-return]


def relu6(input: Tensor, inplace: bool = False) -> Tensor:
    """Values kept between 0 and 6."""
    return hardtanh(input, 0, 6, inplace)  # type: ignore[no-any-return]


def softsign(input: Tensor) -> Tensor:
    """``x / (|x| + 1)``."""
    return input / (call["absolute"](input) + 1)  # type: ignore[no-any-return, operator]


def tanhshrink(input: Tensor) -> Tensor:
    """``x - tanh(x)``."""
    return input - call["tanh"](input)  # type: ignore[no-any-return, operator]


def softmin(input: Tensor, dim: Any = None, _stacklevel: int = 3, dtype: Any = None) -> Tensor:
    """:func:`softmax` of the negative."""
    return softmax(call["neg"](input), dim, dtype)


def prelu(input: Tensor, weight: Tensor) -> Tensor:
    """A leaky relu whose slope is learned, one for all or one per channel."""
    rank = input._array.ndim
    if weight._array.ndim != rank:
        weight = call["view"](weight, (1, weight._array.size, *(1,) * (rank - 2)) if rank > 1 else (1,) * rank)
    return call["prelu_kernel"](input, weight)  # type: ignore[no-any-return]


def dropout(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Elements set to zero with probability ``p``, the others scaled up; only in training.

    Raises:
        ValueError: ``p`` is no probability.
    """
    if p < 0.0 or p > 1.0:
        raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")
    if not training or p == 0 or not input._array.size:
        return input
    kind = input._array.dtype
    if p == 1:
        noise = np.zeros(input._array.shape, kind)
    else:
        noise = random.bernoulli(1 - p, input._array.shape, kind) / kind.type(1 - p)
    mask = from_array(noise, None)
    return writing.in_place(call["mul"], input, mask) if inplace else call["mul"](input, mask)  # type: ignore[no-any-return]


# ------------------------------------------------------------------ layers
def linear(input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """``input @ weight.T + bias``."""
    return call["linear"](input, weight, bias)  # type: ignore[no-any-return]


def embedding(
    input: Tensor, weight: Tensor, padding_idx: int | None = None, max_norm: Any = None, norm_type: float = 2.0,
    scale_grad_by_freq: bool = False, sparse: bool = False,
) -> Tensor:  # fmt: skip
    """The rows of ``weight`` at the indices ``input``."""
    if padding_idx is None:
        padding_idx = -1
    elif padding_idx < 0:
        padding_idx += weight._array.shape[0]
    return call["embedding"](weight, input, padding_idx, scale_grad_by_freq, sparse)  # type: ignore[no-any-return]


def one_hot(tensor: Tensor, num_classes: int = -1) -> Tensor:
    """A one at each class's place, zeros elsewhere.

    Raises:
        RuntimeError: a class is negative or too large.
    """
    array = tensor._array
    if array.dtype != np.int64:
        raise RuntimeError("one_hot is only applicable to index tensor of type LongTensor.")
    if array.size and array.min() < 0:
        raise RuntimeError("Class values must be non-negative.")
    classes = int(array.max()) + 1 if num_classes == -1 else num_classes
    if array.size and array.max() >= classes:
        raise RuntimeError("Class values must be smaller than num_classes.")
    return from_array((array[..., None] == np.arange(classes)).astype(np.int64), None)


def normalize(input: Tensor, p: float = 2.0, dim: Any = 1, eps: float = 1e-12, out: Any = None) -> Tensor:
    """Vectors along ``dim`` divided by their norm."""
    length: Any = input.norm(p, dim, keepdim=True)  # type: ignore[attr-defined]
    return input / length.clamp_min(eps).expand_as(input)  # type: ignore[no-any-return, operator]


def layer_norm(
    input: Tensor, normalized_shape: Any, weight: Tensor | None = None, bias: Tensor | None = None, eps: float = 1e-05
) -> Tensor:
    """The last dimensions brought to mean 0 and variance 1, then scaled and shifted.

    Raises:
        RuntimeError: they do not have that shape.
    """
    shape, sizes = tuple(normalized_shape), input._array.shape
    if sizes[len(sizes) - len(shape) :] != shape or len(shape) > len(sizes):
        stars = "".join(f", {n}" for n in shape)
        raise RuntimeError(
            f"Given normalized_shape={list(shape)}, expected input with shape [*{stars}], but got input of size{list(sizes)}"
        )
    return call["native_layer_norm"](input, shape, weight, bias, eps)  # type: ignore[no-any-return]


def batch_norm(
    input: Tensor, running_mean: Tensor | None, running_var: Tensor | None, weight: Tensor | None = None,
    bias: Tensor | None = None, training: bool = False, momentum: float = 0.1, eps: float = 1e-05,
) -> Tensor:  # fmt: skip
    """Channels brought to mean 0 and variance 1 over the batch, or by running statistics.

    Raises:
        ValueError: training with one value per channel.
    """
    array = input._array
    if training and array.size == array.shape[1]:
        raise ValueError(f"Expected more than 1 value per channel when training, got input size {input.shape}")
    return call["native_batch_norm"](input, weight, bias, running_mean, running_var, training, momentum, eps)  # type: ignore[no-any-return]


# ------------------------------------------------------------------ convolutions
def tuple_of(value: Any, count: int) -> tuple[int, ...]:
    """One number for every dimension, or one each."""
    numbers = (value,) if isinstance(value, int) else tuple(value)
    return numbers * count if len(numbers) == 1 else numbers


def convolve(
    dims: int, input: Tensor, weight: Tensor, bias: Tensor | None, stride: Any, padding: Any, dilation: Any, groups: int,
    output_padding: Any = None,
) -> Tensor:  # fmt: skip
    """A convolution over the last ``dims`` dimensions; transposed where there is an output padding.

    Raises:
        RuntimeError: the input has another number of dimensions.
    """
    rank = input._array.ndim
    transposed = output_padding is not None
    if rank not in (dims + 1, dims + 2):
        name = f"conv_transpose{dims}d" if transposed else f"conv{dims}d"
        raise RuntimeError(
            f"Expected {dims + 1}D (unbatched) or {dims + 2}D (batched) input to {name}, but got input of size: "
            f"{list(input._array.shape)}"
        )
    steps, spaces = tuple_of(stride, dims), tuple_of(dilation, dims)
    if rank == dims + 1:
        input = call["unsqueeze"](input, 0)
    if isinstance(padding, str):
        input, padding = same_padding(input, weight, spaces, padding)
    found = call["convolution"](
        input, weight, bias, steps, tuple_of(padding, dims), spaces, transposed, tuple_of(output_padding or 0, dims), groups
    )
    return found if rank == dims + 2 else call["squeeze_dim"](found, 0)  # type: ignore[no-any-return]


def same_padding(input: Tensor, weight: Tensor, dilation: tuple[int, ...], padding: str) -> tuple[Tensor, tuple[int, ...]]:
    """The padding that keeps the size, half on either side; what is odd is padded to the input beforehand."""
    if padding == "valid":
        return input, (0,) * len(dilation)
    total = [d * (k - 1) for d, k in zip(dilation, weight._array.shape[2:], strict=True)]
    if any(t % 2 for t in total):
        extra = [n for t in reversed(total) for n in (0, t % 2)]
        input = call["constant_pad_nd"](input, tuple(extra), 0)
    return input, tuple(t // 2 for t in total)


def conv1d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
) -> Tensor:
    """A kernel slid along one dimension."""
    return convolve(1, input, weight, bias, stride, padding, dilation, groups)


def conv2d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
) -> Tensor:
    """A kernel slid over two dimensions."""
    return convolve(2, input, weight, bias, stride, padding, dilation, groups)


def conv3d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
) -> Tensor:
    """A kernel moved through three dimensions."""
    return convolve(3, input, weight, bias, stride, padding, dilation, groups)


def conv_transpose1d(
    input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: Any = 1, padding: Any = 0, output_padding: Any = 0,
    groups: int = 1, dilation: Any = 1,
) -> Tensor:  # fmt: skip
    """The transpose of :func:`conv1d`."""
    return convolve(1, input, weight, bias, stride, padding, dilation, groups, tuple_of(output_padding, 1))


def conv_transpose2d(
    input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: Any = 1, padding: Any = 0, output_padding: Any = 0,
    groups: int = 1, dilation: Any = 1,
) -> Tensor:  # fmt: skip
    """The transpose of :func:`conv2d`."""
    return convolve(2, input, weight, bias, stride, padding, dilation, groups, tuple_of(output_padding, 2))


# ------------------------------------------------------------------ pooling and padding
def max_pool2d(
    input: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1, ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:  # fmt: skip
    """The largest element of each window."""
    step = () if stride is None else tuple_of(stride, 2)
    found = call["max_pool2d_with_indices"](
        input, tuple_of(kernel_size, 2), step, tuple_of(padding, 2), tuple_of(dilation, 2), ceil_mode
    )
    return tuple(found) if return_indices else found[0]


def max_pool1d(
    input: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1, ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:  # fmt: skip
    """The largest element of each window along one dimension."""
    step = (*tuple_of(kernel_size if stride is None else stride, 1),)
    found = call["max_pool2d_with_indices"](
        call["unsqueeze"](input, -2), (1, *tuple_of(kernel_size, 1)), (1, *step), (0, *tuple_of(padding, 1)),
        (1, *tuple_of(dilation, 1)), ceil_mode,
    )  # fmt: skip
    values = call["squeeze_dim"](found[0], -2)
    return (values, call["squeeze_dim"](found[1], -2)) if return_indices else values


def avg_pool2d(
    input: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0, ceil_mode: bool = False,
    count_include_pad: bool = True, divisor_override: int | None = None,
) -> Tensor:  # fmt: skip
    """The mean of each window."""
    step = () if stride is None else tuple_of(stride, 2)
    return call["avg_pool2d"](  # type: ignore[no-any-return]
        input, tuple_of(kernel_size, 2), step, tuple_of(padding, 2), ceil_mode, count_include_pad, divisor_override
    )


def avg_pool1d(
    input: Tensor,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
) -> Tensor:
    """The mean of each window along one dimension."""
    step = tuple_of(kernel_size if stride is None else stride, 1)
    found = call["avg_pool2d"](
        call["unsqueeze"](input, -2), (1, *tuple_of(kernel_size, 1)), (1, *step), (0, *tuple_of(padding, 1)), ceil_mode,
        count_include_pad, None,
    )  # fmt: skip
    return call["squeeze_dim"](found, -2)  # type: ignore[no-any-return]


def adaptive_avg_pool2d(input: Tensor, output_size: Any) -> Tensor:
    """Means over as many windows as the output is to have."""
    sizes = (output_size,) * 2 if isinstance(output_size, int) else tuple(output_size)
    size = tuple(n if o is None else o for n, o in zip(input._array.shape[-2:], sizes, strict=True))
    if size == (1, 1):
        return call["mean_dim"](input, (-1, -2), True)  # type: ignore[no-any-return]
    return call["adaptive_avg_pool2d"](input, size)  # type: ignore[no-any-return]


def adaptive_avg_pool1d(input: Tensor, output_size: Any) -> Tensor:
    """Means over as many windows as the output is to have, along one dimension."""
    found = adaptive_avg_pool2d(call["unsqueeze"](input, -2), (1, *tuple_of(output_size, 1)))
    return call["squeeze_dim"](found, -2)  # type: ignore[no-any-return]


def pad(input: Tensor, pad: Any, mode: str = "constant", value: float | None = None) -> Tensor:
    """Constant values around a tensor, the last dimension's first; a negative number cuts.

    Raises:
        NotImplementedError: another mode.
    """
    if mode != "constant":
        raise NotImplementedError(f"pad(mode={mode!r}) is not in gviz's engine")
    return call["constant_pad_nd"](input, tuple(pad), 0 if value is None else value)  # type: ignore[no-any-return]


# ------------------------------------------------------------------ losses
def pair(input: Tensor, target: Tensor, name: str | None = None) -> tuple[Tensor, Tensor]:
    """Input and target broadcast to one shape, with PyTorch's warning where they differ."""
    if target._array.shape == input._array.shape:
        return input, target
    warnings.warn(
        f"Using a target size ({target.shape}) that is different to the input size ({input.shape}). This will likely lead to "
        "incorrect results due to broadcasting. Please ensure they have the same size.",
        stacklevel=3,
    )
    shape = call["broadcast_shape"](input._array.shape, target._array.shape)
    return call["expand"](input, shape), call["expand"](target, shape)


def mse_loss(
    input: Tensor, target: Tensor, size_average: Any = None, reduce: Any = None, reduction: str = "mean", weight: Any = None
) -> Tensor:
    """Squared differences."""
    return call["mse_loss"](*pair(input, target), reduction_number(reduction))  # type: ignore[no-any-return]


def l1_loss(
    input: Tensor, target: Tensor, size_average: Any = None, reduce: Any = None, reduction: str = "mean", weight: Any = None
) -> Tensor:
    """Absolute differences."""
    input, target = pair(input, target)
    return reduced(call["absolute"](call["sub"](input, target)), reduction)


def smooth_l1_loss(
    input: Tensor, target: Tensor, size_average: Any = None, reduce: Any = None, reduction: str = "mean", beta: float = 1.0
) -> Tensor:
    """Squared differences below ``beta``, absolute ones above."""
    input, target = pair(input, target)
    if beta == 0.0:
        return reduced(call["absolute"](call["sub"](input, target)), reduction)
    return call["smooth_l1_loss"](input, target, reduction_number(reduction), beta)  # type: ignore[no-any-return]


def huber_loss(input: Tensor, target: Tensor, reduction: str = "mean", delta: float = 1.0, weight: Any = None) -> Tensor:
    """Half the square below ``delta``, linear above."""
    return call["huber_loss"](*pair(input, target), reduction_number(reduction), delta)  # type: ignore[no-any-return]


def soft_margin_loss(
    input: Tensor, target: Tensor, size_average: Any = None, reduce: Any = None, reduction: str = "mean"
) -> Tensor:
    """``log(1 + exp(-target * input))``."""
    return call["soft_margin_loss"](input, target, reduction_number(reduction))  # type: ignore[no-any-return]


def kl_div(
    input: Tensor,
    target: Tensor,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
    log_target: bool = False,
) -> Tensor:
    """The divergence of a distribution from the one whose logarithm ``input`` is."""
    if log_target:
        losses = call["mul"](call["exp"](target), call["sub"](target, input))
    else:
        losses = call["sub"](call["xlogy"](target, target), call["mul"](target, input))
    if reduction == "batchmean":
        return call["sum_all"](losses) / input._array.shape[0]  # type: ignore[no-any-return]
    return reduced(losses, reduction)


def binary_cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
) -> Tensor:
    """The cross entropy of probabilities and targets in [0, 1].

    Raises:
        ValueError: they have different shapes.
        RuntimeError: an input is no probability.
    """
    number = reduction_number(reduction)
    if target._array.shape != input._array.shape:
        raise ValueError(
            f"Using a target size ({target.shape}) that is different to the input size ({input.shape}) is deprecated. "
            "Please ensure they have the same size."
        )
    if weight is not None:
        weight = call["expand"](weight, call["broadcast_shape"](target._array.shape, weight._array.shape))
    return call["binary_cross_entropy"](input, target, weight, number)  # type: ignore[no-any-return]


def binary_cross_entropy_with_logits(
    input: Tensor, target: Tensor, weight: Tensor | None = None, size_average: Any = None, reduce: Any = None,
    reduction: str = "mean", pos_weight: Tensor | None = None,
) -> Tensor:  # fmt: skip
    """:func:`binary_cross_entropy` of the sigmoid, computed stably.

    Raises:
        ValueError: input and target have different shapes.
    """
    number = reduction_number(reduction)
    if target._array.shape != input._array.shape:
        raise ValueError(f"Target size ({target.shape}) must be the same as input size ({input.shape})")
    return call["bce_with_logits"](input, target, weight, pos_weight, number)  # type: ignore[no-any-return]


def nll_loss(
    input: Tensor, target: Tensor, weight: Tensor | None = None, size_average: Any = None, ignore_index: int = -100,
    reduce: Any = None, reduction: str = "mean",
) -> Tensor:  # fmt: skip
    """The negative of the log probability of each example's class.

    Raises:
        ValueError: the sizes of input and target do not belong together.
    """
    number, sizes = reduction_number(reduction), input._array.shape
    if not sizes:
        raise ValueError("Expected 1 or more dimensions (got 0)")
    if len(sizes) > 1 and (not target._array.ndim or sizes[0] != target._array.shape[0]):
        have = target._array.shape[0] if target._array.ndim else 0
        raise ValueError(f"Expected input batch_size ({sizes[0]}) to match target batch_size ({have}).")
    if len(sizes) <= 2:
        return call["nll_loss"](input, target, weight, number, ignore_index)  # type: ignore[no-any-return]
    if len(sizes) == 4:
        return call["nll_loss2d"](input, target, weight, number, ignore_index)  # type: ignore[no-any-return]
    out = (sizes[0], *sizes[2:])
    if target._array.shape != out:
        raise RuntimeError(f"Expected target size {list(out)}, got {list(target._array.shape)}")
    flat = call["view"](input.contiguous(), (*sizes[:2], 1, -1))  # type: ignore[attr-defined]
    found = call["nll_loss2d"](flat, call["view"](target, (sizes[0], 1, -1)), weight, number, ignore_index)
    return found if number else call["view"](found, out)  # type: ignore[no-any-return]


def cross_entropy(
    input: Tensor, target: Tensor, weight: Tensor | None = None, size_average: Any = None, ignore_index: int = -100,
    reduce: Any = None, reduction: str = "mean", label_smoothing: float = 0.0,
) -> Tensor:  # fmt: skip
    """The cross entropy of unnormalized scores: with classes, or with probabilities of the input's shape.

    Raises:
        ValueError: the sizes of input and target do not belong together.
        RuntimeError: label_smoothing is no probability.
    """
    if not 0.0 <= label_smoothing <= 1.0:
        raise RuntimeError(f"label_smoothing must be between 0.0 and 1.0. Got: {label_smoothing}")
    axis = 0 if input._array.ndim == 1 else 1
    logs = call["log_softmax_row"](input, axis)
    if target._array.shape == input._array.shape and target._array.dtype.kind == "f":
        return soft_cross_entropy(logs, target, weight, reduction, label_smoothing)
    loss = nll_loss(logs, target, weight, ignore_index=ignore_index, reduction=reduction)
    if not label_smoothing:
        return loss
    shape = [1] * logs._array.ndim
    shape[axis] = -1
    spread: Any = logs if weight is None else call["mul"](logs, call["view"](weight, shape))
    smooth = call["neg"](call["sum_dim"](spread, (axis,), False))
    ignored = call["equal"](target, ignore_index)
    smooth = writing.in_place(call["masked_fill"], smooth, ignored, 0.0)
    if reduction == "mean":
        kept = ~ignored._array
        count = kept.sum() if weight is None else weight._array[target._array[kept]].sum()
        smooth = call["div"](call["sum_all"](smooth), from_array(np.asarray(count), None))
    elif reduction == "sum":
        smooth = call["sum_all"](smooth)
    share = label_smoothing / logs._array.shape[axis]
    return call["add"](call["mul_scalar"](loss, 1 - label_smoothing), call["mul_scalar"](smooth, share))  # type: ignore[no-any-return]


def soft_cross_entropy(logs: Tensor, target: Any, weight: Tensor | None, reduction: str, smoothing: float) -> Tensor:
    """The cross entropy of log probabilities and probabilities."""
    axis = 0 if logs._array.ndim == 1 else 1
    classes = logs._array.shape[axis]
    if smoothing:
        target = call["add_scalar"](call["mul_scalar"](target, 1 - smoothing), smoothing / classes)
    product = call["mul"](logs, target)
    if weight is not None:
        shape = [1] * logs._array.ndim
        shape[axis] = -1
        product = call["mul"](product, call["view"](weight, shape))
    if reduction_number(reduction) == 0:
        return call["neg"](call["sum_dim"](product, (axis,), False))  # type: ignore[no-any-return]
    total = call["neg"](call["sum_all"](product))
    return call["div_scalar"](total, logs._array.size // classes) if reduction == "mean" else total  # type: ignore[no-any-return]
