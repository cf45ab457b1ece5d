"""Layer and batch normalization: forward, gradient, one formula for both second derivatives; group normalization."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from gviz.numbers.dtypes import no_kernel, of
from gviz.autograd.row import composite, everywhere, op
from gviz.ops.totals import add_up, average, fused


def check_mixed(input, *parameters: Any):
    """Refuse an input of another dtype than what it is normalized by; half precision takes float32 too."""
    kinds = [p.dtype for p in parameters if p is not None]
    if kinds and kinds[0] != input.dtype:
        if any(kind != np.float32 for kind in kinds):
            raise RuntimeError("mixed dtype (CPU): expect parameter to have scalar type of Float")
        if input.dtype != np.float16:
            raise RuntimeError("mixed dtype (CPU): all inputs must share same datatype.")


def one_dtype(kernel):
    """A check that all have the dtype of the first parameter, and that the kernel takes such numbers."""

    def check(input, *parameters: Any):
        if kernel == "batch_norm" and input.dtype.kind not in "fc":
            raise no_kernel(kernel, input.dtype)
        check_mixed(input, *parameters)
        wanted: Any = next((p.dtype for p in parameters if p is not None), None)
        for one in (*parameters[2:], *parameters[:2]):  # running statistics are read first
            if one is not None and one.dtype != wanted:
                raise RuntimeError(f"expected scalar type {of(wanted).scalar_name} but found {of(one.dtype).scalar_name}")
        if input.dtype.kind not in "fc":
            raise no_kernel(kernel, input.dtype)

    return check


def moments(array, axes):
    """Means and variances over the last dimensions: of up to seven numbers one after the other, as in PyTorch's kernel."""
    outer = array.ndim - len(axes)
    rows = array.reshape(*array.shape[:outer], prod(array.shape[outer:]))
    if rows.shape[-1] > 7 or array.dtype == np.float16:
        mean = average(array, axes, keepdims=True)
        return mean, average((array - mean) ** 2, axes, keepdims=True)
    mean = var = np.zeros(rows.shape[:-1], array.dtype)
    for i in range(rows.shape[-1]):
        away = rows[..., i] - mean
        mean = mean + away / array.dtype.type(i + 1)
        var = fused(away, rows[..., i] - mean, var)
    shape = (*mean.shape, *(1,) * len(axes))
    return mean.reshape(shape), (var / array.dtype.type(rows.shape[-1])).reshape(shape)


@op(
    "NativeLayerNormBackward0",
    promote="none",
    check=one_dtype("LayerNormKernelImpl"),
    extras=("result1", "result2"),
    input__weight__bias="native_layer_norm_backward(grad, input, normalized_shape, result1, result2, weight, bias, "
    "grad_input_mask)",
)
def native_layer_norm(input, normalized_shape, weight, bias, eps):
    axes = tuple(range(input.ndim - len(normalized_shape), input.ndim))
    input = np.asarray(input, order="C")
    mean, var = moments(input, axes)
    rstd = 1 / np.sqrt(var + input.dtype.type(eps))
    found = (input - mean) * rstd
    shift = 0 if bias is None else bias
    found = found + shift if weight is None else fused(weight, found, shift)
    return found.astype(input.dtype, copy=False), mean, rstd


@op(
    "NativeLayerNormBackwardBackward0",
    promote="none",
    outputs=("grad_input", "grad_weight", "grad_bias"),
    grad_out__input__weight="layer_norm_double_backward(grads, input, weight, grad_out, mean, rstd, normalized_shape)",
    mean="None",
    rstd="None",
    bias="None",
)
def native_layer_norm_backward(grad_out, input, normalized_shape, mean, rstd, weight, bias, mask):
    inner = last_axes(input, normalized_shape)
    outer = tuple(range(input.ndim - len(inner)))
    scale, times = input.dtype.type(1) / input.dtype.type(np.prod(normalized_shape)), 1 if weight is None else weight
    total, along = add_up(grad_out * times, inner, keepdims=True), add_up(grad_out * input * times, inner, keepdims=True)
    slope = fused(total, mean, -along) * rstd * rstd * rstd * scale
    return (  # what cancels in PyTorch's kernel cancels here
        fused(slope, input, rstd * grad_out * times) - fused(slope, mean, total * rstd * scale) if mask[0] else None,
        add_up(grad_out * fused(rstd, input, -rstd * mean), outer) if mask[1] else None,
        add_up(grad_out, outer) if mask[2] else None,
    )


@everywhere
def last_axes(input, normalized_shape):
    """The dimensions that are normalized."""
    rank = len(input.shape)
    return tuple(range(rank - len(normalized_shape), rank))


@composite
def projected(value, normal, axes):
    """A value less its mean and its part along the normalized input."""
    return value - mean_dim(value, axes, True) - normal * mean_dim(value * normal, axes, True)


# What the second derivatives of both norms share. ``away`` is the input less its mean, ``cubed`` that times rstd cubed,
# ``count`` how many elements have one mean.
@composite
def totals(value, axes):
    """Summed over one axis after the other; they stay."""
    for axis in axes:
        value = sum_dim(value, (axis,), True)
    return value


@composite
def norm_bend(grad, along, total, to_input, product, away, cubed, rstd, axes, count):
    """How the gradient for the input changes with the input; ``along``, ``total``: sums of ``grad * away``, ``grad``."""
    summed, both, cube = totals(to_input, axes), totals(to_input * away, axes), power(rstd, 3)
    inner = summed * total / count - totals(product[0] * product[1], axes)
    first = cubed * (inner + power(rstd, 2) * along * both * (3 / count)) / count
    right = total / count - grad  # right factors are made first, as in PyTorch
    second = both * cube / count * right
    right = summed / count - to_input
    third = along * cube / count * right
    return first + second + third


@composite
def norm_first(grad, weight, away, rstd, axes, count):
    """The gradient for the input."""
    scale, rest = weight * rstd / count, count * grad - totals(grad, axes)
    along = totals(grad * away, axes)
    return scale * (rest - away * power(rstd, 2) * along)


@composite
def layer_norm_double_backward(grads, input, weight, grad_out, mean, rstd, normalized_shape):
    """The gradients of the gradients, written as PyTorch does: of matrices, a row for each mean."""
    to_input, to_weight, to_bias = grads
    count = count_of(normalized_shape)
    shape, axes = (count_of(input.shape[: len(input.shape) - len(normalized_shape)]), count), (1,)
    x, grad, mean, rstd = (reshape(v, s) for v, s in ((input, shape), (grad_out, shape), (mean, (-1, 1)), (rstd, (-1, 1))))
    wide, to_weight, to_bias = (None if v is None else reshape(v, (1, count)) for v in (weight, to_weight, to_bias))
    count = max(count, 1)  # there is nothing to be divided
    to_input = None if to_input is None else reshape(to_input, shape)
    scale, away = ones_of(x, (1,)) if wide is None else wide, x - mean
    cubed = away * power(rstd, 3)
    bent = turned = through = to_scale = None
    if to_input is not None:
        scaled = grad * scale
        along = totals(scaled * away, axes)
        bent = norm_bend(scaled, along, totals(scaled, axes), to_input, (to_input, scaled), away, cubed, rstd, axes, count)
    if to_weight is not None:
        first, second = grad * to_weight * rstd, rstd * totals(grad * to_weight, axes) / -count
        third = cubed * totals(grad * to_weight * away, axes) / -count
        turned = first + second + third
    back, sizes = added((bent, turned)), tuple(input.shape)
    back = None if back is None else reshape(back, sizes)
    if to_input is not None:
        if wide is not None:
            to_scale = norm_first(to_input, ones_of(x, ()), away, rstd, axes, count)
            to_scale = reshape(sum_dim(grad * to_scale, (0,)), tuple(weight.shape))
        through = norm_first(to_input, scale, away, rstd, axes, count)
    through = added((through, None if to_weight is None else to_weight * away * rstd, to_bias))
    return None if through is None else reshape(expand(through, shape), sizes), back, to_scale


MANY = 64
"""With more rows than that, rounding each product with its sum is not worth its time."""


def over_batch(array, other):
    """The sum for each channel, of products where there is another array: of a matrix row by row, else in double precision."""
    if array.ndim > 2 or other is None or len(array) > MANY:
        values = array if other is None else array * other
        return np.add.reduce(values, (0, *range(2, array.ndim)), dtype=np.float64 if array.ndim > 2 else array.dtype)
    total = np.zeros(array.shape[1:], array.dtype)
    for row, factor in zip(array, other, strict=True):
        total = fused(row, factor, total)
    return total


@op(
    "NativeBatchNormBackward0",
    promote="none",
    check=one_dtype("batch_norm"),
    nondiff=("running_mean", "running_var"),
    extras=("result1", "result2"),
    input__weight__bias="native_batch_norm_backward(grad, input, weight, running_mean, running_var, result1, result2, "
    "training, eps, grad_input_mask)",
)
def native_batch_norm(input, weight, bias, running_mean, running_var, training, momentum, eps):
    shape = (-1, *(1,) * (input.ndim - 2))
    input = np.asarray(input, order="C")
    if training:
        count = input.size // max(input.shape[1], 1)
        mean = (over_batch(input, None) / count).astype(input.dtype)
        away = input - mean.reshape(shape)
        var = (over_batch(away, away) / count).astype(input.dtype)
        if running_mean is not None:
            running_mean += input.dtype.type(momentum) * (mean - running_mean)
            running_var += input.dtype.type(momentum) * (var * input.dtype.type(count / max(count - 1, 1)) - running_var)
        kept = mean, (1 / np.sqrt(var.astype(np.float64) + eps)).astype(input.dtype)
    else:
        mean, var = running_mean, running_var
        kept = np.zeros(0, input.dtype), np.zeros(0, input.dtype)
    scale = (kept[1] if training else 1 / np.sqrt(var + input.dtype.type(eps))) * (1 if weight is None else weight)
    shift = fused(-mean, scale, 0 if bias is None else bias)
    return fused(scale.reshape(shape), input, shift.reshape(shape)).astype(input.dtype, copy=False), *kept


@op(
    "NativeBatchNormBackwardBackward0",
    promote="none",
    nondiff=("running_mean", "running_var"),
    outputs=("grad_input", "grad_weight", "grad_bias"),
    grad_out__input__weight="batch_norm_double_backward(grads, input, weight, grad_out, running_mean, running_var, train, "
    "eps, save_mean, save_invstd)",
    save_mean="None",
    save_invstd="None",
)
def native_batch_norm_backward(grad_out, input, weight, running_mean, running_var, save_mean, save_invstd, train, eps, mask):
    shape = (-1, *(1,) * (input.ndim - 2))
    mean = (save_mean if train else running_mean).reshape(shape)
    rstd = (save_invstd if train else 1 / np.sqrt(running_var + input.dtype.type(eps))).reshape(shape)
    away, total = input - mean, over_batch(grad_out, None).astype(input.dtype)
    along, count = over_batch(away, grad_out).astype(input.dtype).reshape(shape), input.dtype.type(input[:, :1].size)
    back = (grad_out - total.reshape(shape) / count - away * (along * rstd * rstd / count) if train else grad_out) * rstd
    back = back if weight is None else back * weight.reshape(shape)
    return back if mask[0] else None, (along * rstd).reshape(-1) if mask[1] else None, total if mask[2] else None


@composite
def per_channel(value, rank):
    """A number for each channel, shaped to broadcast."""
    for _ in range(rank - 2):
        value = unsqueeze(value, 1)
    return value


@composite
def batch_norm_double_backward(grads, input, weight, grad_out, running_mean, running_var, train, eps, save_mean, save_invstd):
    """The gradients of the gradients, written as PyTorch does."""
    to_input, to_weight, to_bias = grads
    sizes = tuple(input.shape)
    rank, count, axes = len(sizes), numel_of(input) // max(sizes[1], 1), (0, *range(len(sizes) - 1, 1, -1))
    wide, to_weight, to_bias = (
        None if v is None else expand(per_channel(v, rank), sizes) for v in (weight, to_weight, to_bias)
    )
    scale = ones_of(input, ()) if wide is None else wide
    shape = (1, -1, *(1,) * (rank - 2))
    away = input - reshape(save_mean if train else running_mean, shape)
    rstd = reshape(save_invstd if train else power(running_var + eps, -0.5), shape)
    cubed = away * power(rstd, 3)
    along, total = totals(grad_out * away, axes), totals(grad_out, axes)
    bent = turned = through = to_scale = None
    if to_input is not None and train:
        bent = norm_bend(grad_out, along, total, to_input, (grad_out, to_input), away, cubed, rstd, axes, count)
        bent = scale * bent
    if to_weight is not None and train:
        first, second = grad_out * rstd, rstd * total / -count
        third = cubed * totals(grad_out * away, axes) / -count
        turned = to_weight * (first + second + third)
    elif to_weight is not None:
        turned = to_weight * rstd * grad_out
    back = added((bent, turned))
    if to_input is not None:
        if wide is not None and train:
            to_scale = to_input * norm_first(grad_out, ones_of(input, ()), away, rstd, axes, count)
        elif wide is not None:
            to_scale = to_input * grad_out * rstd
        through = norm_first(to_input, scale, away, rstd, axes, count) if train else to_input * rstd * scale
    if to_scale is not None:
        for axis in axes:
            to_scale = sum_dim(to_scale, (max(axis - 1, 0),))
    through = added((through, None if to_weight is None else to_weight * away * rstd, to_bias))
    return through, back, to_scale


# ------------------------------------------------------------------ groups of channels
@op(
    "NativeGroupNormBackward0",
    promote="none",
    check=one_dtype("GroupNormKernelImpl"),
    outputs=("result0", "result1", "result2"),
    input__weight__bias="native_group_norm_backward(grads, input, result1, result2, weight, (N, C, HxW, group), eps, "
    "grad_input_mask)",
)
def native_group_norm(input, weight, bias, N, C, HxW, group, eps):
    split = input.reshape(N, group, C // group * HxW)
    mean = average(split, 2, keepdims=True)
    away = split - mean
    rstd = 1 / np.sqrt(average(away * away, 2, keepdims=True) + input.dtype.type(eps))
    found, wide = (away * rstd).reshape(input.shape), (-1, *(1,) * (input.ndim - 2))
    found = found if weight is None else found * weight.reshape(wide)
    found = found if bias is None else found + bias.reshape(wide)
    return found.astype(input.dtype, copy=False), mean.reshape(N, group), rstd.reshape(N, group)


@composite
def native_group_norm_backward(grads, input, mean, rstd, weight, sizes, eps, wanted):
    """The gradients of a group normalization and of its statistics, written as PyTorch does for ``create_graph``."""
    grad, to_mean, to_rstd = grads
    count, channels, area, group = sizes
    channels //= group
    sizes = (count, group, channels, area)
    x, mean, rstd = reshape(input, sizes), reshape(mean, (count, group, 1, 1)), reshape(rstd, (count, group, 1, 1))
    back = to_weight = to_bias = None
    if grad is not None:
        grad = reshape(grad, sizes)
        along, total = unsqueeze_(sum_dim(grad * x, (3,), False), -1), unsqueeze_(sum_dim(grad, (3,), False), -1)
    if wanted[0]:
        wide = None if weight is None else reshape(weight, (1, group, channels, 1))
        cube = rstd * rstd * rstd
        to_rstd = None if to_rstd is None else view(to_rstd, (count, group, 1, 1))
        spread = None if to_rstd is None else -0.5 * cube * to_rstd
        if grad is not None:
            scale = 1.0 / (channels * area)
            slope = rstd if wide is None else rstd * wide
            b = unsqueeze_(sum_dim(along if wide is None else along * wide, (2,), False), -2)
            c = unsqueeze_(sum_dim(total if wide is None else total * wide, (2,), False), -2)
            b = (c * mean - b) * cube * scale
            c = c * rstd * scale  # the right one of two is made first, as in PyTorch
            c = neg(b) * mean - c
            bx = b * x
            back = slope * grad + bx + c
        if to_mean is not None and to_rstd is not None:
            to_mean = view(to_mean, (count, group, 1, 1))
            more = var_backward(spread, x, (2, 3), 0, True) + expand(to_mean, sizes) / (channels * area)
            back = more if back is None else back + more
        back = None if back is None else reshape(back, tuple(input.shape))
    if wanted[1] and grad is not None:
        to_weight = reshape(sum_dim((along - total * mean) * rstd, (0,), False), (group * channels,))
    if wanted[2] and grad is not None:
        to_bias = reshape(sum_dim(total, (0,), False), (group * channels,))
    return back, to_weight, to_bias
