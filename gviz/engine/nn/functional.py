"""``torch.nn.functional``: activations, losses, layers as functions, each a row of the table or made of rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from gviz.engine import inplace as writing
from gviz.engine import random, text
from gviz.engine.nn.loss_functions import (
    binary_cross_entropy,
    binary_cross_entropy_with_logits,
    cross_entropy,
    huber_loss,
    kl_div,
    l1_loss,
    mse_loss,
    nll_loss,
    smooth_l1_loss,
    soft_margin_loss,
)  # fmt: skip
from gviz.engine.nn.window_functions import (
    adaptive_avg_pool1d,
    adaptive_avg_pool2d,
    avg_pool1d,
    avg_pool2d,
    conv1d,
    conv2d,
    conv3d,
    conv_transpose1d,
    conv_transpose2d,
    max_pool1d,
    max_pool2d,
    pad,
)  # fmt: skip
from gviz.engine.op import TENSORS as call
from gviz.engine.ops import normalization as _normalization  # noqa: F401 - stores its rows
from gviz.engine.refusals import public
from gviz.engine.surface import reductions
from gviz.engine.tensor import Tensor, from_array

__all__ = [
    "adaptive_avg_pool1d",
    "adaptive_avg_pool2d",
    "avg_pool1d",
    "avg_pool2d",
    "batch_norm",
    "binary_cross_entropy",
    "binary_cross_entropy_with_logits",
    "celu",
    "conv1d",
    "conv2d",
    "conv3d",
    "conv_transpose1d",
    "conv_transpose2d",
    "cross_entropy",
    "dropout",
    "elu",
    "embedding",
    "gelu",
    "hardshrink",
    "hardsigmoid",
    "hardswish",
    "hardtanh",
    "huber_loss",
    "kl_div",
    "l1_loss",
    "layer_norm",
    "leaky_relu",
    "linear",
    "log_softmax",
    "logsigmoid",
    "max_pool1d",
    "max_pool2d",
    "mish",
    "mse_loss",
    "nll_loss",
    "normalize",
    "one_hot",
    "pad",
    "prelu",
    "relu",
    "relu6",
    "selu",
    "sigmoid",
    "silu",
    "smooth_l1_loss",
    "soft_margin_loss",
    "softmax",
    "softmin",
    "softplus",
    "softshrink",
    "softsign",
    "tanh",
    "tanhshrink",
    "threshold",
]  # fmt: skip


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
    return writing.in_place(call["elu"], input, alpha) if inplace else call["elu"](input, alpha, 1, 1)


def selu(input: Tensor, inplace: bool = False) -> Tensor:
    """The self-normalizing form of :func:`elu`."""
    given = (1.6732632423543772, 1.0507009873554805, 1)
    return writing.in_place(call["elu"], input, *given) if inplace else call["elu"](input, *given)


def relu6(input: Tensor, inplace: bool = False) -> Tensor:
    """Values kept between 0 and 6."""
    return hardtanh(input, 0, 6, inplace)  # type: ignore[no-any-return]


def softsign(input: Tensor) -> Tensor:
    """``x / (|x| + 1)``."""
    return input / (call["absolute"](input) + 1)  # type: ignore[no-any-return]


def tanhshrink(input: Tensor) -> Tensor:
    """``x - tanh(x)``."""
    return input - call["tanh"](input)  # type: ignore[no-any-return]


def implicit_dim(name: str, input: Tensor, dim: int | None) -> int:
    """The dim of a softmax; one that was not told is chosen, with PyTorch's warning."""
    if dim is not None:
        return dim
    text.warn(f"Implicit dimension choice for {name} has been deprecated. Change the call to include dim=X as an argument.")
    return 0 if input._array.ndim in (0, 1, 3) else 1


def softmax(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None) -> Tensor:
    """Exponentials that sum to one along ``dim``."""
    return reductions.softmax(input, implicit_dim("softmax", input, dim), dtype)


def log_softmax(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None) -> Tensor:
    """The logarithm of :func:`softmax`, computed stably."""
    return reductions.log_softmax(input, implicit_dim("log_softmax", input, dim), dtype)


def softmin(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None) -> Tensor:
    """:func:`softmax` of the negative."""
    return reductions.softmax(call["neg"](input), implicit_dim("softmin", input, dim), dtype)


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
    return writing.in_place(call["mul"], input, mask) if inplace else call["mul"](input, mask)


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
    return input / length.clamp_min(eps).expand_as(input)  # type: ignore[no-any-return]


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


globals().update((name, public(globals()[name], name, method=False)) for name in __all__)
