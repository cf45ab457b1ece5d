"""``torch.nn.functional``: activations, losses, layers as functions, each a row of the table or made of rows.

What PyTorch refuses, all of them refuse in its words.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gviz.ops.checks import no_norm
from gviz.engine.surface.public import public
from gviz.numbers.dtypes import no_kernel
from gviz.numbers.shapes import wrap_dim
from gviz.numbers.words import absent
from gviz.engine.nn import (
    activation_functions,
    distance_functions,
    dropout_functions,
    image_functions,
    loss_functions,
    window_functions,
)
from gviz.engine.nn.checks import check_bilinear, check_constant, check_shape
from gviz.autograd.row import TENSORS as call
from gviz.ops import attention as _attention  # noqa: F401 - stores its rows
from gviz.ops.normalization import check_mixed
from gviz.autograd.tensor import Tensor, from_array

__all__ = [
    "batch_norm", "bilinear", "embedding", "group_norm", "instance_norm", "layer_norm", "linear",
    "local_response_norm", "normalize", "one_hot", "pdist",
    "rms_norm", "scaled_dot_product_attention",
]  # fmt: skip


linear, pdist = call["linear"], call["pdist"]


def embedding(
    input: Tensor, weight: Tensor, padding_idx: int | None = None, max_norm: Any = None, norm_type: float = 2.0,
    scale_grad_by_freq: bool = False, sparse: bool = False,
) -> Tensor:  # fmt: skip
    """The rows of ``weight`` at the indices ``input``."""
    if sparse and weight.requires_grad:
        raise NotImplementedError("sparse gradients are not in gviz's engine; run with --engine torch")
    padding_idx = -1 if padding_idx is None else row_number(padding_idx, weight._array.shape[0])
    if max_norm is not None:
        if weight._array.dtype.kind not in "fc":
            raise no_norm(weight._array.dtype)
        rows, size, max_norm = np.unique(input._array), weight._array.dtype.type, float(max_norm)
        lengths = np.linalg.norm(weight._array[rows], norm_type, axis=1, keepdims=True)
        shrunk = np.where(lengths > max_norm, size(max_norm) / (lengths + size(1e-7)), size(1))
        weight._array[rows] *= shrunk
        weight.version_cell().count += 1
    return call["embedding"](weight, input, padding_idx, scale_grad_by_freq, sparse)  # type: ignore[no-any-return]


def row_number(padding_idx: int, rows: int) -> int:
    """Which row is the padding, counted from the start; refuses one that is not there."""
    if not -rows <= padding_idx < rows:
        raise AssertionError("Padding_idx must be within num_embeddings")
    return padding_idx % rows


def one_hot(tensor: Tensor, num_classes: int = -1) -> Tensor:
    """A one at each class's place, zeros elsewhere."""
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


def check_normalized(input: Tensor, shape: tuple[int, ...], star: str, **parameters: Tensor | None) -> None:
    """Refuse an input whose last dimensions, or parameters which, have not that shape."""
    if not shape:
        raise RuntimeError(
            "Expected normalized_shape to be at least 1-dimensional, i.e., containing at least one element, but got "
            "normalized_shape = []"
        )
    for name, value in parameters.items():
        if value is not None and value._array.shape != shape:
            raise RuntimeError(
                f"Expected {name} to be of same shape as normalized_shape, but got {name} of shape {list(value._array.shape)} "
                f"and normalized_shape = {list(shape)}"
            )
    sizes = input._array.shape
    if sizes[max(len(sizes) - len(shape), 0) :] != shape:
        given = ", ".join(map(str, shape))
        raise RuntimeError(
            f"Given normalized_shape={list(shape)}, expected input with shape [{star}{given}], but got input of "
            f"size{list(sizes)}"
        )


def layer_norm(
    input: Tensor, normalized_shape: Any, weight: Tensor | None = None, bias: Tensor | None = None, eps: float = 1e-05
) -> Tensor:
    """The last dimensions brought to mean 0 and variance 1, then scaled and shifted."""
    check_shape("layer_norm", normalized_shape)
    shape = tuple(normalized_shape)
    check_mixed(*(None if t is None else t._array for t in (input, weight, bias)))
    check_normalized(input, shape, "*, ", weight=weight, bias=bias)
    return call["native_layer_norm"](input, shape, weight, bias, eps)  # type: ignore[no-any-return]


def batch_norm(
    input: Tensor, running_mean: Tensor | None, running_var: Tensor | None, weight: Tensor | None = None,
    bias: Tensor | None = None, training: bool = False, momentum: float = 0.1, eps: float = 1e-05,
) -> Tensor:  # fmt: skip
    """Channels brought to mean 0 and variance 1 over the batch, or by running statistics."""
    array = input._array
    if not array.size:  # nothing to normalize: PyTorch copies it, scaled and shifted by the first channel's
        out: Any = call["clone"](input)
        out = out if weight is None else out * weight[0]  # type: ignore[index]
        return out if bias is None else out + bias[0]  # type: ignore[index,no-any-return]
    if training and array.shape[0] * math.prod(array.shape[2:]) == 1:
        raise ValueError(f"Expected more than 1 value per channel when training, got input size {input.shape}")
    channels = array.shape[1] if array.ndim > 1 else 0
    for name, given in {"running_mean": running_mean, "running_var": running_var, "weight": weight, "bias": bias}.items():
        if given is None:
            if name.startswith("running") and not training:
                raise RuntimeError(f"{name} must be defined in evaluation mode")
        elif given._array.size != channels:
            raise RuntimeError(f"{name} should contain {channels} elements not {given._array.size}")
    wrap_dim(1, array.ndim)
    check_constant("native_batch_norm", running_mean=running_mean, running_var=running_var)
    return call["native_batch_norm"](input, weight, bias, running_mean, running_var, training, momentum, eps)  # type: ignore[no-any-return]


def instance_norm(
    input: Tensor, running_mean: Tensor | None = None, running_var: Tensor | None = None, weight: Tensor | None = None,
    bias: Tensor | None = None, use_input_stats: bool = True, momentum: float = 0.1, eps: float = 1e-05,
) -> Tensor:  # fmt: skip
    """:func:`batch_norm` of each example on its own: the examples become channels."""
    sizes = input._array.shape
    if use_input_stats and math.prod(sizes[2:]) == 1:
        raise ValueError(f"Expected more than 1 spatial element when training, got input size {input.shape}")
    count, channels, *space = sizes
    own = (weight, bias, running_mean, running_var)
    given: Any = [None if t is None else call["repeat"](t, (count,)) for t in own]
    flat = call["view"](input.contiguous(), (1, count * channels, *space))  # type: ignore[attr-defined]
    found = call["native_batch_norm"](flat, *given, use_input_stats, momentum, eps)
    for kept, seen in zip(own[2:], given[2:], strict=True):
        if kept is not None and use_input_stats:
            kept._array[...] = seen._array.reshape(count, channels).mean(axis=0)
            kept.version_cell().count += 1
    return call["view"](found, sizes)  # type: ignore[no-any-return]


def group_norm(
    input: Tensor, num_groups: int, weight: Tensor | None = None, bias: Tensor | None = None, eps: float = 1e-05
) -> Tensor:
    """Groups of channels of each example brought to mean 0 and variance 1, then scaled and shifted."""
    if input._array.ndim < 2:
        raise RuntimeError(f"Expected at least 2 dimensions for input tensor but received {input._array.ndim}")
    count, channels, *space = sizes = input._array.shape
    area = int(np.prod(space))
    if count * channels // num_groups * area == 1:
        raise ValueError(
            f"Expected more than 1 value per channel when training, got input size "
            f"{[count * channels // num_groups, num_groups, *space]}"
        )
    if channels % num_groups:
        raise RuntimeError(
            f"Expected number of channels in input to be divisible by num_groups, but got input of shape {list(sizes)} and "
            f"num_groups={num_groups}"
        )
    for name, value in (("weight", weight), ("bias", bias)):
        if value is not None and value._array.shape != (channels,):
            told = list(value._array.shape if weight is None else weight._array.shape)  # the weight's for both, as in PyTorch
            raise RuntimeError(
                f"Expected {name} to be a vector of size equal to the number of channels in input, but got {name} of shape "
                f"{told} and input of shape {list(sizes)}"
            )
    return call["native_group_norm"](call["contiguous_of"](input), weight, bias, count, channels, area, num_groups, eps)[0]  # type: ignore[no-any-return]


def rms_norm(input: Tensor, normalized_shape: Any, weight: Tensor | None = None, eps: float | None = None) -> Tensor:
    """The last dimensions divided by the root of their mean square, then scaled."""
    check_shape("rms_norm", normalized_shape)
    if input._array.ndim < len(normalized_shape):
        raise ValueError(f"Input tensor must have at least {len(normalized_shape)} dimensions, but got {input._array.ndim}")
    check_normalized(input, tuple(normalized_shape), "*", weight=weight)
    kind = input._array.dtype
    if kind.kind not in "fc":
        raise no_kernel("rms_norm", kind)
    if kind == np.float16:
        input = call["to_dtype"](input, np.dtype(np.float32))
    rank, tiny = input._array.ndim, float(np.finfo(input._array.dtype).eps) if eps is None else eps
    axes = tuple(rank - 1 - i for i in range(len(normalized_shape)))
    square = call["add_scalar"](call["mean_dim"](call["power"](input, 2), axes, True), tiny)
    found = call["mul"](input, call["rsqrt"](square))
    found = call["contiguous_of"](found if weight is None else call["mul"](found, weight))
    return call["to_dtype"](found, kind) if kind == np.float16 else found  # type: ignore[no-any-return]


def local_response_norm(input: Any, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0) -> Any:
    """Each channel divided by a power of the mean square of those around it."""
    sizes = input._array.shape
    if len(sizes) < 3:
        raise ValueError(f"Expected 3D or higher dimensionality                          input (got {len(sizes)} dimensions)")
    if not input._array.size:
        return input
    square, sides = input.mul(input), (size // 2, (size - 1) // 2)
    if len(sizes) == 3:
        square = image_functions.pad(square.unsqueeze(1), (0, 0, *sides))
        square = window_functions.avg_pool2d(square, (size, 1), stride=1).squeeze(1)
    else:
        square = image_functions.pad(square.view(sizes[0], 1, *sizes[1:3], -1), (0, 0, 0, 0, *sides))
        square = window_functions.avg_pool3d(square, (size, 1, 1), stride=1).squeeze(1).view(sizes)
    return input / square.mul(alpha).add(k).pow(beta)


def bilinear(input1: Tensor, input2: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """``x W y`` for each output's matrix ``W``."""
    check_bilinear(input1, input2, weight, bias)
    given = {"input1": input1, "input2": input2, "weight": weight, **({} if bias is None else {"bias": bias})}
    if len({tensor.dtype for tensor in given.values()}) > 1:
        told = ", ".join(f"{name}: {tensor.dtype.c_name}" for name, tensor in given.items())
        raise RuntimeError(f"All tensors must have the same dtype, got {told}")
    return call["bilinear"](input1, input2, weight, bias)  # type: ignore[no-any-return]


def scaled_dot_product_attention(
    query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None = None, dropout_p: float = 0.0, is_causal: bool = False,
    scale: float | None = None, enable_gqa: bool = False,
) -> Tensor:  # fmt: skip
    """Values mixed by how well their keys fit each query.

    Batches of heads (4 dimensions) are one operation in PyTorch, which cannot be differentiated twice; else it is made of rows.
    """
    if attn_mask is not None and is_causal:
        raise RuntimeError("_scaled_dot_product_attention: Explicit attn_mask should not be set when is_causal=True")
    q, k, v = (t._array for t in (query, key, value))
    if attn_mask is not None and attn_mask._array.dtype.kind == "b":
        attn_mask = from_array(np.where(attn_mask._array, 0, -np.inf).astype(q.dtype), None)
    alike = q.shape[:2] == k.shape[:2] == v.shape[:2] and q.shape[-1] == k.shape[-1] == v.shape[-1]
    alike = alike and all(array.strides[-1] == array.itemsize for array in (q, k, v))
    if q.ndim == 4 and alike and not dropout_p and not (attn_mask is not None and attn_mask.requires_grad):
        return call["flash_attention"](query, key, value, dropout_p, is_causal, attn_mask, scale)  # type: ignore[no-any-return]
    if is_causal:
        allowed = np.tri(q.shape[-2], k.shape[-2], dtype=bool)
        attn_mask = from_array(np.where(allowed, 0, -np.inf).astype(q.dtype), None)
    factor = (1 / q.shape[-1] ** 0.5 if scale is None else scale) ** 0.5
    query = call["mul_scalar"](query, factor)
    fit = call["matmul"](query, call["mul_scalar"](call["transpose"](key, -2, -1), factor))
    shares = call["safe_softmax"](fit if attn_mask is None else call["add"](fit, attn_mask), -1)
    return call["matmul"](dropout_functions.dropout(shares, dropout_p), value)  # type: ignore[no-any-return]


for module in (activation_functions, distance_functions, dropout_functions, image_functions, loss_functions, window_functions):
    globals().update((name, getattr(module, name)) for name in module.__all__)
    __all__ += module.__all__
globals().update((name, public(globals()[name], name, method=False, place="F.")) for name in __all__)


__getattr__ = absent("torch.nn.functional")
