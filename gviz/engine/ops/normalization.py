"""Layer and batch normalization: forward, gradient, one formula for both second derivatives; group normalization."""

from __future__ import annotations

from typing import Any

import numpy as np

from gviz.engine.data.dtypes import no_kernel, of
from gviz.engine.op import ARRAYS, composite, everywhere, op
from gviz.engine.ops.totals import average


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
    mean = average(input, axes, keepdims=True)
    away = input - mean
    rstd = 1 / np.sqrt(average(away * away, axes, keepdims=True) + input.dtype.type(eps))
    found = away * rstd
    found = found if weight is None else found * weight
    return (found if bias is None else found + bias).astype(input.dtype, copy=False), mean, rstd


@op(
    "NativeLayerNormBackwardBackward0",
    promote="none",
    outputs=("grad_input", "grad_weight", "grad_bias"),
    grad_out__input__weight="norm_double_backward(grads, input, weight, grad_out, mean, rstd, last_axes(input, "
    "normalized_shape), True)",
    mean="None",
    rstd="None",
    bias="None",
)
def native_layer_norm_backward(grad_out, input, normalized_shape, mean, rstd, weight, bias, mask):
    inner = last_axes(input, normalized_shape)
    outer = tuple(range(input.ndim - len(inner)))
    normal = (input - mean) * rstd
    grad = grad_out if weight is None else grad_out * weight
    return (
        ARRAYS["projected"](grad, normal, inner) * rstd if mask[0] else None,
        (grad_out * normal).sum(axis=outer) if mask[1] else None,
        grad_out.sum(axis=outer) if mask[2] else None,
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


@composite
def norm_double_backward(grads, input, weight, grad_out, mean, rstd, axes, training):
    """Second derivatives of a normalization over ``axes``; mean, rstd and weight are shaped to broadcast.

    With n the normalized input and P(v) = v - mean(v) - n mean(v n), the gradient is rstd P(grad w); its own gradient uses
    d n = rstd P and d rstd = -rstd^2 n / N. Without training both statistics are constants.
    """
    to_input, to_weight, to_bias = (*grads, None, None)[:3]
    normal = (input - mean) * rstd
    scaled = grad_out if weight is None else grad_out * weight
    through = None if to_input is None else projected(to_input, normal, axes) * rstd if training else to_input * rstd
    parts = [] if through is None else [through if weight is None else through * weight]
    if to_weight is not None:
        parts.append(normal * to_weight)
    if to_bias is not None:
        parts.append(expand(to_bias, grad_out.shape))
    first, second = added(parts), None
    if training and to_input is not None:
        both = mean_dim(to_input * normal, axes, True)
        along = mean_dim(scaled * normal, axes, True)
        whole = mean_dim(to_input * scaled, axes, True) - mean_dim(to_input, axes, True) * mean_dim(scaled, axes, True)
        second = neg(rstd * rstd) * (
            normal * (whole - both * along) + along * projected(to_input, normal, axes) + both * projected(scaled, normal, axes)
        )
    if to_weight is not None:
        more = to_weight * grad_out
        more = rstd * projected(more, normal, axes) if training else rstd * expand(more, grad_out.shape)
        second = more if second is None else second + more
    third = None if through is None or weight is None else sum_to(grad_out * through, weight.shape)
    return first, second, third


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
    axes, shape = (0, *range(2, input.ndim)), (-1, *(1,) * (input.ndim - 2))
    input = np.asarray(input, order="C")
    if training:
        mean, var = input.mean(axis=axes), input.var(axis=axes)
        count = input.size // max(input.shape[1], 1)
        if running_mean is not None:
            running_mean += input.dtype.type(momentum) * (mean - running_mean)
            running_var += input.dtype.type(momentum) * (var * input.dtype.type(count / max(count - 1, 1)) - running_var)
        kept = mean, 1 / np.sqrt(var + input.dtype.type(eps))
    else:
        mean, var = running_mean, running_var
        kept = np.zeros(0, input.dtype), np.zeros(0, input.dtype)
    found = (input - mean.reshape(shape)) / np.sqrt(var + input.dtype.type(eps)).reshape(shape)
    found = found if weight is None else found * weight.reshape(shape)
    return (found if bias is None else found + bias.reshape(shape)).astype(input.dtype, copy=False), *kept


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
    axes, shape = (0, *range(2, input.ndim)), (-1, *(1,) * (input.ndim - 2))
    mean = (save_mean if train else running_mean).reshape(shape)
    rstd = (save_invstd if train else 1 / np.sqrt(running_var + input.dtype.type(eps))).reshape(shape)
    normal = (input - mean) * rstd
    grad = grad_out if weight is None else grad_out * weight.reshape(shape)
    back = (ARRAYS["projected"](grad, normal, axes) if train else grad) * rstd if mask[0] else None
    return back, (grad_out * normal).sum(axis=axes) if mask[1] else None, grad_out.sum(axis=axes) if mask[2] else None


@composite
def batch_norm_double_backward(grads, input, weight, grad_out, running_mean, running_var, train, eps, save_mean, save_invstd):
    """The common formula, with statistics and weight shaped to the channels."""
    shape = (-1, *(1,) * (len(input.shape) - 2))
    mean = reshape(save_mean if train else running_mean, shape)
    rstd = reshape(save_invstd if train else rsqrt(running_var + eps), shape)
    wide = None if weight is None else reshape(weight, shape)
    axes = (0, *range(2, len(input.shape)))
    given = (*grads, None, None)[:3]
    to_weight, to_bias = (None if g is None else reshape(g, shape) for g in given[1:])
    first, second, third = norm_double_backward((given[0], to_weight, to_bias), input, wide, grad_out, mean, rstd, axes, train)
    return first, second, None if third is None else reshape(third, (-1,))


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
        cube = rstd * rstd * rstd
        if grad is not None:
            scale = 1.0 / (channels * area)
            wide = None if weight is None else reshape(weight, (1, group, channels, 1))
            slope = rstd if wide is None else rstd * wide
            b = unsqueeze_(sum_dim(along if wide is None else along * wide, (2,), False), -2)
            c = unsqueeze_(sum_dim(total if wide is None else total * wide, (2,), False), -2)
            b = (c * mean - b) * cube * scale
            c = neg(b) * mean - c * rstd * scale
            back = slope * grad + b * x + c
        if to_mean is not None and to_rstd is not None:
            spread = -0.5 * cube * view(to_rstd, (count, group, 1, 1))
            more = var_backward(spread, x, (2, 3), 0, True) + expand(view(to_mean, (count, group, 1, 1)), sizes) / (
                channels * area
            )
            back = more if back is None else back + more
        back = None if back is None else reshape(back, tuple(input.shape))
    if wanted[1] and grad is not None:
        to_weight = reshape(sum_dim((along - total * mean) * rstd, (0,), False), (group * channels,))
    if wanted[2] and grad is not None:
        to_bias = reshape(sum_dim(total, (0,), False), (group * channels,))
    return back, to_weight, to_bias
