"""``torch.nn.functional``: tables of vectors, normalizations, attention, softmax, dropout, borders and sizes of images.

Losses are in a file of their own (``loss_functions.py``), and most activations, convolutions and poolings are rows of
the table that need nothing here. A function is composed of rows as PyTorch composes it; one that is C++ there is marked
``@native``. Its signature is the form of the call (``gviz/signatures``): a parameter without an annotation is a tensor.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from gviz import engine as _engine
from gviz.autograd.modes import no_grad
from gviz.autograd.row import TENSORS as call, public_names
from gviz.autograd.tensor import Tensor, from_array
from gviz.engine.nn.loss_functions import native, refuse_gradient
from gviz.numbers import dtypes, random
from gviz.numbers.words import absent, refuse, refuse_any, warn
from gviz.ops import (
    attention as _attention,  # noqa: F401 - stores its rows
    grids as _grids,  # noqa: F401 - stores its rows
    normalization,
    resizing as _resizing,  # noqa: F401 - stores its rows, and those of resampling
)
from gviz.ops.convolution import each_way
from gviz.ops.pooling import adaptive_means
from gviz.ops.rows import lacks
from gviz.ops.tables import BAGS
from gviz.signatures.names import NAMES, install


# ------------------------------------------------------------------ tables of vectors
@public_names("F.embedding")
def embedding(
    input,
    weight,
    padding_idx: int | None = None,
    max_norm: float | None = None,
    norm_type: float = 2.0,
    scale_grad_by_freq: bool = False,
    sparse: bool = False,
):
    """Return the rows of ``weight`` at the indices ``input``."""
    padding_idx = -1 if padding_idx is None else row_number(padding_idx, weight.shape[0])
    prepare(input, weight, max_norm, norm_type, sparse and (not weight.is_leaf or scale_grad_by_freq))
    result = call["embedding"](weight, input, padding_idx, scale_grad_by_freq, sparse)
    if sparse and result.requires_grad:
        _engine.sparse.note_rows(weight, input, result, padding_idx)
    return result


@public_names("F.embedding_bag")
def embedding_bag(
    input,
    weight,
    offsets=None,
    max_norm: float | None = None,
    norm_type: float = 2.0,
    scale_grad_by_freq: bool = False,
    mode: str = "mean",
    sparse: bool = False,
    per_sample_weights=None,
    include_last_offset: bool = False,
    padding_idx: int | None = None,
):
    """Return the sum, mean or largest of the rows of ``weight`` for each bag.

    A row of ``input``, or from offset to offset.
    """
    weights, rows, dims = per_sample_weights, len(weight), input.dim()
    refuse_any(
        {
            f"embedding_bag: If per_sample_weights ({getattr(weights, 'shape', '')}) is not None, then it must have the "
            f"same shape as the input ({input.shape})": weights is not None and weights.shape != input.shape,
            f"weight has to be a 2D Tensor, but got Tensor of dimension {weight.dim()}": weight.dim() != 2,
            f"input has to be 1D or 2D Tensor, but got Tensor of dimension {dims}": dims not in (1, 2),
            "if input is 2D, then offsets has to be None, as input is treated is a mini-batch of fixed length "
            f"sequences. However, found offsets of type {type(offsets)}": dims == 2 and offsets is not None,
            "offsets has to be a 1D Tensor but got None": dims == 1 and offsets is None,
            "offsets has to be a 1D Tensor": dims == 1 and offsets is not None and offsets.dim() != 1,
            "mode has to be one of sum, mean or max": mode not in BAGS,
            "max mode does not support scaling the gradient by the frequency": mode == "max" and scale_grad_by_freq,
        },
        ValueError,
    )
    prepare(input, weight, max_norm, norm_type, sparse)
    refuse(
        weights is not None and mode != "sum",
        "embedding_bag: per_sample_weights was not None. per_sample_weights is only "
        f"supported for mode='sum' (got mode='{mode}'). Please open a feature request on GitHub.",
        NotImplementedError,
    )
    refuse(
        padding_idx is not None and not -rows <= padding_idx < rows,
        f"padding_idx must be within the number of embeddings, {-rows} through {rows - 1}, but got {padding_idx}",
    )
    if dims == 2:
        offsets, include_last_offset = from_array(np.arange(len(input)) * input.shape[1], None).to(input.device), False
        input, weights = input.reshape(-1), None if weights is None else weights.reshape(-1)
    return call["embedding_bag"](
        weight,
        input,
        offsets,
        scale_grad_by_freq,
        BAGS.index(mode),
        sparse,
        weights,
        include_last_offset,
        -1 if padding_idx is None else padding_idx % rows,
    )[0]


def prepare(input: Tensor, weight: Tensor, max_norm: float | None, norm_type: float, sparse: bool) -> None:
    """Bring the rows that are looked up within a norm, in place, if one is given; refuse gradients that are sparse."""
    refuse(
        sparse and weight.requires_grad,
        "sparse gradients are not in gviz's engine; run with --engine torch",
        NotImplementedError,
    )
    if max_norm is not None:
        with no_grad():
            rows = input.unique()
            weight[rows] = weight[rows].renorm(norm_type, 0, max_norm)


def row_number(padding_idx: int, rows: int) -> int:
    """Return which row is the padding, counted from the start; refuses one that does not exist."""
    refuse(not -rows <= padding_idx < rows, "Padding_idx must be within num_embeddings", AssertionError)
    return padding_idx % rows


@public_names("F.one_hot")
def one_hot(tensor, num_classes: int = -1):
    """Return a one at each class's place, zeros elsewhere."""
    array = tensor._array
    refuse_any(
        {
            "one_hot is only applicable to index tensor of type LongTensor.": array.dtype != np.int64,
            "Can not infer total number of classes from empty tensor.": not array.size and num_classes <= 0,
            "Class values must be non-negative.": array.size and array.min() < 0,
        }
    )
    classes = int(array.max().item()) + 1 if num_classes == -1 else num_classes
    refuse(array.size and array.max() >= classes, "Class values must be smaller than num_classes.")
    return from_array((array[..., None] == np.arange(classes)).astype(np.int64, "C"), None)


# ------------------------------------------------------------------ normalizations
@public_names("F.normalize")
def normalize(input, p: float = 2.0, dim: object = 1, eps: float = 1e-12):
    """Return vectors along ``dim`` divided by their norm."""
    return input / input.norm(p, dim, keepdim=True).clamp_min(eps).expand_as(input)


@public_names("F.rms_norm torch.rms_norm")
@native
def rms_norm(input, normalized_shape: Size, weight=None, eps: float | None = None):
    """Return the last dimensions divided by the root of their mean square, then scaled."""
    normalization.check_normalized(input, tuple(normalized_shape), "*", weight=weight)
    dtype, axes = input.dtype, tuple(range(input.ndim - 1, input.ndim - 1 - len(normalized_shape), -1))
    input = input.float() if dtype.itemsize == 2 else input
    lacks("rms_norm", "biu")(input._array)
    tiny = float(np.finfo(input._array.dtype).eps) if eps is None else eps
    result = input * ((input**2).mean(axes, keepdim=True) + tiny).rsqrt()
    return (result if weight is None else result * weight).contiguous().to(dtype)


@public_names("F.batch_norm")
def batch_norm(
    input,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    weight=None,
    bias=None,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-05,
):
    """Return channels brought to mean 0 and variance 1 over the batch, or by running statistics."""
    channels = input.shape[1]
    refuse(
        training and input.numel() == channels,
        f"Expected more than 1 value per channel when training, got input size {input.shape}",
        ValueError,
    )
    for name, tensor in {
        "running_mean": running_mean,
        "running_var": running_var,
        "weight": weight,
        "bias": bias,
    }.items():
        refuse(
            tensor is None and not training and name.startswith("running"), f"{name} must be defined in evaluation mode"
        )
        if tensor is not None and tensor.numel() != channels:
            raise RuntimeError(f"{name} should contain {channels} elements not {tensor.numel()}")
    refuse_gradient("native_batch_norm", running_mean=running_mean, running_var=running_var)
    return call["native_batch_norm"](input, weight, bias, running_mean, running_var, training, momentum, eps)


@public_names("F.instance_norm")
def instance_norm(
    input,
    running_mean=None,
    running_var=None,
    weight=None,
    bias=None,
    use_input_stats: bool = True,
    momentum: float = 0.1,
    eps: float = 1e-05,
):
    """Return the :func:`batch_norm` of each example on its own: the examples become channels."""
    count, channels, *space = input.shape
    refuse(
        use_input_stats and math.prod(space) == 1,
        f"Expected more than 1 spatial element when training, got input size {input.shape}",
        ValueError,
    )
    *wide, mean, var = (None if one is None else one.repeat(count) for one in (weight, bias, running_mean, running_var))
    flat = input.contiguous().view(1, count * channels, *space)
    result = call["native_batch_norm"](flat, *wide, mean, var, use_input_stats, momentum, eps)
    with no_grad():
        for running, statistic in ((running_mean, mean), (running_var, var)):
            if running is not None and statistic is not None and use_input_stats:
                running.copy_(statistic.view(count, channels).mean(0))
    return result.view(input.shape)


@public_names("F.group_norm torch.group_norm")
def group_norm(input, num_groups: int, weight=None, bias=None, eps: float = 1e-05):
    """Return groups of channels of each example brought to mean 0 and variance 1, then scaled and shifted."""
    count, channels, *space = input.shape
    refuse(
        channels % num_groups,
        "Expected number of channels in input to be divisible by num_groups, but got input of shape "
        f"{list(input.shape)} and num_groups={num_groups}",
    )
    refuse(
        math.prod(input.shape) == num_groups,
        "Expected more than 1 value per channel when training, got input size "
        f"{[count * channels // num_groups, num_groups, *space]}",
        ValueError,
    )
    for name, value in (("weight", weight), ("bias", bias)):
        if value is not None and value.shape != (channels,):
            raise RuntimeError(
                f"Expected {name} to be a vector of size equal to the number of channels in input, but got "
                f"{name} of shape {list(value.shape)} and input of shape {list(input.shape)}"
            )
    return call["native_group_norm"](
        input.contiguous(), weight, bias, count, channels, math.prod(space), num_groups, eps
    )[0]


@public_names("F.local_response_norm")
def local_response_norm(input, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0):
    """Return each channel divided by a power of the mean square of those around it."""
    sizes, flat, sides = input.shape, input.ndim == 3, (size // 2, (size - 1) // 2)
    square = input.mul(input)
    square = square.unsqueeze(1) if flat else square.view(sizes[0], 1, *sizes[1:3], -1)
    square = pad(square, (*(0, 0) * (square.ndim - 3), *sides))
    window, ones = (size, *(1,) * (square.ndim - 3)), (1,) * (square.ndim - 2)
    square = call[f"avg_pool{len(ones)}d"](square, window, ones, (0,) * len(ones), False, True, None).squeeze(1)
    return input / (square if flat else square.view(sizes)).mul(alpha).add(k).pow(beta)


# ------------------------------------------------------------------ softmax and attention
def softmax_of(name: str, row: str) -> None:
    """Store the function of a row that gives shares along a dim.

    One that was not given is chosen, with PyTorch's warning.
    """

    @public_names(f"F.{name}")
    def shares(input, dim: int | None = None, _stacklevel: int = 3, dtype: object = None):
        if dim is None:
            warn(
                f"Implicit dimension choice for {name} has been deprecated. Change the call to include dim=X as an "
                "argument."
            )
            dim = 0 if input.ndim in (0, 1, 3) else 1
        input = -input if name == "softmin" else input
        return call[row](input if dtype is None else input.to(dtype), dim)


for name, row in (("softmax", "softmax_row"), ("softmin", "softmax_row"), ("log_softmax", "log_softmax_row")):
    softmax_of(name, row)


@public_names("F.gumbel_softmax")
def gumbel_softmax(logits, tau: float = 1, hard: bool = False, eps: float = 1e-10, dim: int = -1):
    """Return the softmax with Gumbel noise; if ``hard``, a one at the largest, with the gradient of the soft one."""
    if eps != 1e-10:
        warn("`eps` parameter is deprecated and has no effect.")
    noise = call["zeros_like"](logits.detach())
    soft = ((logits + -noise.exponential_().log()) / tau).softmax(dim)
    return noise.zero_().scatter_(dim, soft.max(dim, keepdim=True)[1], 1.0) - soft.detach() + soft if hard else soft


@public_names("F.scaled_dot_product_attention")
@native
def scaled_dot_product_attention(
    query,
    key,
    value,
    attn_mask=None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
):
    """Return values mixed by how well their keys fit each query.

    Of heads (4 dimensions) in one operation, as in PyTorch.
    """
    refuse(
        attn_mask is not None and is_causal,
        "_scaled_dot_product_attention: Explicit attn_mask should not be set when is_causal=True",
    )
    refuse(enable_gqa, "enable_gqa is not in gviz's engine; run with --engine torch", NotImplementedError)
    q, k, v = (t._array for t in (query, key, value))
    refuse(
        not q.dtype == k.dtype == v.dtype,
        f"Expected query, key, and value to have the same dtype, but got query.dtype: {query.dtype.c_name} key.dtype: "
        f"{key.dtype.c_name} and value.dtype: {value.dtype.c_name} instead.",
    )
    lacks("", "biu", "expected scalar type Float but found {name}")(q)
    lacks("softmax_lastdim_kernel_impl", "c")(q)
    if attn_mask is not None and attn_mask._array.dtype.kind == "b":
        attn_mask = from_array(np.where(attn_mask._array, 0, -np.inf).astype(q.dtype), None)
    alike = (
        q.shape[:2] == k.shape[:2] == v.shape[:2]
        and q.shape[-1] == k.shape[-1] == v.shape[-1]
        and all(array.strides[-1] == array.itemsize for array in (q, k, v))
    )
    if (
        q.ndim == 4
        and alike
        and not dropout_p
        and not query.is_meta
        and not (attn_mask is not None and attn_mask.requires_grad)
    ):
        return call["flash_attention"](query, key, value, dropout_p, is_causal, attn_mask, scale)
    if is_causal:
        attn_mask = from_array(np.where(np.tri(q.shape[-2], k.shape[-2], dtype=bool), 0, -np.inf).astype(q.dtype), None)
        attn_mask = attn_mask.to(query.device)
    factor = (1 / q.shape[-1] ** 0.5 if scale is None else scale) ** 0.5
    query = query * factor
    fit = query @ (key.transpose(-2, -1) * factor)
    return dropout(call["safe_softmax"](fit if attn_mask is None else fit + attn_mask, -1), dropout_p) @ value


# ------------------------------------------------------------------ dropout
DEPRECATED = (
    "dropout{d}d: Received a {n}-D input to dropout{d}d, which is deprecated and will result in an error in a future "
    "release. To retain the behavior and silence this warning, please use dropout instead. Note that dropout{d}d "
    "exists to provide channel-wise dropout on inputs with {d} spatial dimensions, a channel dimension, and an "
    "optional batch dimension (i.e. {a}D or {b}D inputs)."
)
ONLY = "dropout1d: Expected 2D or 3D input, but received a {n}D input. " + (
    DEPRECATED[DEPRECATED.index("Note") :].replace("dimensions,", "dimension,")
)


@public_names("F.dropout")
def dropout(input, p: float = 0.5, training: bool = True, inplace: object = False):
    """Return the input with elements set to zero with probability ``p``, the others scaled up; only in training."""
    return dropped(input, p, training, inplace, input.shape)


@public_names("F.alpha_dropout")
def alpha_dropout(input, p: float = 0.5, training: bool = False, inplace: object = False):
    """Return the input with elements set to SELU's least with probability ``p``: mean and variance stay."""
    return dropped(input, p, training, inplace, input.shape, alpha=True)


@public_names("F.feature_alpha_dropout")
def feature_alpha_dropout(input, p: float = 0.5, training: bool = False, inplace: object = False):
    """Return the input with whole channels set to SELU's least with probability ``p``."""
    shape = (*input.shape[:2], *(1,) * (input.ndim - 2))
    refuse(training and p and input.ndim < 2, "Feature dropout requires at least 2 dimensions in the input")
    return dropped(input, p, training, inplace, shape, alpha=True)


ALPHA = 1.7580993408473766
"""How far below zero SELU goes."""


def dropped(input, p: float, training: bool, inplace: object, shape: Sequence[int], alpha: bool = False):
    """Return the input times noise of that shape.

    Zero with probability ``p``, else more than one, so that the mean stays; with ``alpha`` it falls to SELU's least in
    place of zero, and the variance stays, too.
    """
    refuse(not 0 <= p <= 1, f"dropout probability has to be between 0 and 1, but got {p}", ValueError)
    if not training or p == 0 or not input.numel():
        return input
    refuse(
        input._array.dtype.kind not in dtypes.INEXACT,
        f"result type Float can't be cast to the desired output type {input.dtype.scalar_name}",
    )
    dtype = input._array.dtype
    steps = input._array.strides
    order = sorted(range(input.ndim), key=lambda axis: -steps[axis])  # noise falls as the input lies in memory
    order = order if 0 not in steps and shape == input.shape else list(range(len(shape)))
    sizes = [] if p == 1 else [shape[axis] for axis in order]
    zero = p == 1 or input.is_meta
    mask = np.zeros_like(input._array, shape=sizes) if zero else random.bernoulli(1 - p, sizes, dtype)
    mask = mask if p == 1 else mask.transpose(np.argsort(order))
    if alpha and p != 1:
        a = 1.0 / math.sqrt((ALPHA**2 * p + 1) * (1 - p))
        factor, shift = (
            from_array(one.astype(dtype), None) for one in (mask * a, (mask - 1) * (ALPHA * a) + ALPHA * a * p)
        )
        return input.mul_(factor).add_(shift) if inplace else input * factor + shift
    factor = from_array((mask / np.result_type(dtype, np.float32).type(1 - p or 1)).astype(dtype), None)
    return input.mul_(factor) if inplace else input * factor


def dropout_of(dims: int) -> None:
    """Store the dropout of whole channels that have so many dimensions."""

    @public_names(f"F.dropout{dims}d")
    def channels(input, p: float = 0.5, training: bool = True, inplace: object = False):
        rank = input.ndim
        if rank not in (dims + 1, dims + 2):
            refuse(dims == 1, ONLY.format(d=1, n=rank, a=2, b=3))
            warn(DEPRECATED.format(d=dims, n=rank, a=dims + 1, b=dims + 2))
        if dims == 2 and rank == 3:
            warn(
                "dropout2d: Received a 3D input to dropout2d and assuming that channel-wise 1D dropout behavior is "
                "desired - input is interpreted as shape (N, C, L), where C is the channel dim. This behavior will "
                "change in a future release to interpret the input as one without a batch dimension, i.e. shape (C, "
                "H, W). To maintain the 1D channel-wise dropout behavior, please switch to using dropout1d instead."
            )
        alone = dims != 2 and rank != dims + 2
        batch = input if not alone else input.unsqueeze_(0) if inplace else input.unsqueeze(0)
        refuse(training and p and batch.ndim < 2, "Feature dropout requires at least 2 dimensions in the input")
        batch = dropped(batch, p, training, inplace, (*batch.shape[:2], *(1,) * (batch.ndim - 2)))
        return batch if not alone else batch.squeeze_(0) if inplace else batch.squeeze(0)


for dims in (1, 2, 3):
    dropout_of(dims)


# ------------------------------------------------------------------ borders and sizes of images
@public_names("F.pad")
def pad(input, pad: Size, mode: str = "constant", value: float | None = None):
    """Return a tensor with values around it, the last dimension's first, constant or from inside.

    A negative number cuts.
    """
    sizes, rank, dims = tuple(pad), input.ndim, len(pad) // 2
    refuse_any(
        {
            "Padding length must be divisible by 2": len(sizes) % 2,
            "Padding length should be less than or equal to two times the input dimension but got padding "
            f"length {len(sizes)} and input of dimension {rank}": dims > rank,
        }
    )
    if mode == "constant":
        return call["constant_pad_nd"](input, sizes, 0 if value is None else value)
    refuse(value, f'Padding mode "{mode}" doesn\'t take in value argument')
    refuse_any(
        {
            f"Unrecognised padding mode {mode}": mode not in ("reflect", "replicate", "circular"),
            f"Padding size {len(sizes)} is not supported for {rank}D input tensor.": rank not in (dims + 1, dims + 2),
        },
        NotImplementedError,
    )
    if mode == "circular":
        return around(input, sizes)
    return call[f"{'reflection' if mode == 'reflect' else 'replication'}_pad{dims}d"](input, sizes)


def around(input, pad: tuple[int, ...]):
    """Return a border with what is at the other end: written piece by piece into a larger tensor, as PyTorch does."""
    cut, shape = call["slice_row"], list(input.shape)
    ends = [(input.ndim - 1 - i, *pad[2 * i : 2 * i + 2]) for i in range(len(pad) // 2)]
    for dim, before, after in ends:
        refuse(max(before, after) > shape[dim], "Padding value causes wrapping around more than once.")
        shape[dim] += before + after
    out = inside = from_array(np.zeros_like(input._array, shape=shape), None)
    for dim, before, after in ends:
        inside = cut(inside, dim, max(before, 0), shape[dim] - max(after, 0), 1)
        input = cut(input, dim, max(-before, 0), input.shape[dim] - max(-after, 0), 1)
    inside.copy_(input)
    for dim, before, after in ends:
        first, last = max(before, 0), shape[dim] - max(after, 0)
        if before > 0:
            cut(out, dim, 0, before, 1).copy_(cut(out, dim, last - before, last, 1))
        if after > 0:
            cut(out, dim, last, shape[dim], 1).copy_(cut(out, dim, first, first + after, 1))
    return out


SMOOTH = ("linear", "bilinear", "bicubic", "trilinear")  # the modes that go between elements


@public_names("F.interpolate")
def interpolate(
    input,
    size: object = None,
    scale_factor: object = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
    recompute_scale_factor: bool | None = None,
    antialias: bool = False,
):
    """Return a signal or an image enlarged or reduced."""
    sizes, dims, smooth = input.shape[2:], input.ndim - 2, mode in SMOOTH
    refuse(
        align_corners is not None and not smooth,
        f"align_corners option can only be set with the interpolating modes: {' | '.join(SMOOTH)}",
        ValueError,
    )
    what = "either size or scale_factor" if size is None else "only one of size or scale_factor"
    refuse((size is None) is (scale_factor is None), f"{what} should be defined", ValueError)
    sizing = size if scale_factor is None else scale_factor
    sizing = tuple(sizing) if isinstance(sizing, tuple | list) else (sizing,) * dims
    refuse(
        len(sizing) != dims,
        "Input and output must have the same number of spatial dimensions, but got input with spatial "
        f"dimensions of {list(sizes)} and {sizing}",
        ValueError,
    )
    scales: Any = (None,) * dims
    if scale_factor is not None:
        scales = scales if recompute_scale_factor else tuple(map(float, sizing))
        sizing = tuple(int(n * factor) for n, factor in zip(sizes, sizing, strict=True))
    if mode == "area":
        return adaptive_means(dims, input, sizing)
    need = {"linear": 1, "bilinear": 2, "trilinear": 3}.get(mode, dims)
    refuse(dims != need, f"Got {dims + 2}D input, but {mode} mode needs {need + 2}D input", NotImplementedError)
    row = f"upsample_{mode}{dims}d"
    refuse(
        antialias or row not in call,
        f"interpolate() of {dims + 2}D inputs with {mode=}, {antialias=} is not in gviz's engine",
        NotImplementedError,
    )
    return call[row](input, sizing, *([bool(align_corners)] if smooth else []), *scales)


# ------------------------------------------------------------------ poolings by norms, and back
def poolings(dims: int) -> None:
    """Store two poolings of signals, images or volumes that are composed of others."""

    @public_names(f"F.lp_pool{dims}d")
    def lp_pool(input, norm_type: float, kernel_size: object, stride: object = None, ceil_mode: bool = False):
        """Return the norm of the elements of each window."""
        means = globals()[f"avg_pool{dims}d"](input.pow(norm_type), kernel_size, stride, 0, ceil_mode)
        share = call["relu"](means.abs())
        return (means.sign() * share).mul(math.prod(each_way(kernel_size, dims))).pow(1.0 / norm_type)

    @public_names(f"F.max_unpool{dims}d")
    def max_unpool(
        input, indices, kernel_size: object, stride: object = None, padding: object = 0, output_size: object = None
    ):
        """Return the largest elements where they were before a pooling, and zeros elsewhere."""
        sizes = [each_way(one, dims) for one in (kernel_size, kernel_size if stride is None else stride, padding)]
        usual = [(n - 1) * s - 2 * p + k for n, k, s, p in zip(input.shape[-dims:], *sizes, strict=True)]
        size: Any = usual if output_size is None else output_size
        wanted = size[-dims:]
        if dims == 1:
            return call["max_unpool2d"](input.unsqueeze(-1), indices.unsqueeze(-1), (*wanted, 1)).squeeze(-1)
        return call[f"max_unpool{dims}d"](input, indices, tuple(wanted))


for dims in (1, 2, 3):
    poolings(dims)

install({"F": globals(), "torch": vars(_engine)})
__all__ = sorted(word[2:] for word in NAMES if word.startswith("F."))  # noqa: PLE0605 - the names of the table
__getattr__ = absent("torch.nn.functional")
