"""Layer, batch and group normalization: the same mean and deviation over other dimensions; their derivatives.

Source: PyTorch's derivatives.yaml, and FunctionsManual.cpp (batchnorm_double_backward, layer_norm_double_backward);
Ioffe and Szegedy (2015), Ba et al. (2016), Wu and He (2018).
"""

from __future__ import annotations

from math import prod

import numpy as np

from gviz.ops.convolution import portions
from gviz.ops.rows import composite, lacks, op, refuse


def one_dtype(kernel):
    """Return a check that the kernel takes such numbers, and that parameters have the dtype of the input, as in PyTorch."""

    def check(input, *parameters):
        kinds = [p.dtype for p in parameters if p is not None and p.dtype != input.dtype]
        refuse(kinds and kinds[0] != np.float32, "mixed dtype (CPU): expect parameter to have scalar type of Float")
        refuse(kinds and input.dtype.itemsize != 2, "mixed dtype (CPU): all inputs must share same datatype.")
        lacks(kernel)(input)

    return check

def total_of(array, axes):
    """Return the sums over some dimensions, in double precision as in PyTorch's kernels."""
    return np.add.reduce(array, axes, dtype=np.float64).astype(array.dtype)

def mean_of(array, axes):
    """Return the means over some dimensions, which stay."""
    total = np.add.reduce(array, axes, keepdims=True, dtype=np.float64)
    return (total / (array.size // max(total.size, 1))).astype(array.dtype)

def moments(array, axes, eps):
    """Return the means over some dimensions, which stay, the variances, and one over the deviations."""
    mean = mean_of(array, axes)
    var = mean_of((array - mean) ** 2, axes)
    return mean, var, 1 / np.sqrt(var + eps)

def scaled(array, weight, bias, shape=None):
    """Return the array times the weight plus the bias, where there are such, in that shape."""
    wide = [one if one is None or shape is None else one.reshape(shape) for one in (weight, bias)]
    result = array if weight is None else array * wide[0]
    return (result if bias is None else result + wide[1]).astype(array.dtype, copy=False)

def normal_back(grad, normal, rstd):
    """Return the gradient of the normalization: less its mean and its part along the normalized input."""
    grad, normal = grad.astype(np.float64), normal.astype(np.float64)
    normal -= mean_of(normal, (0, 2))  # else what rounding has left of its mean would show in the gradient
    along = np.einsum("ncs,ncs->c", grad, normal)[:, None] / max(len(grad) * grad.shape[2], 1)
    grad -= mean_of(grad, (0, 2))
    grad -= np.multiply(normal, along, out=normal)
    grad *= rstd
    return grad

def by_channel(array):
    """Return the shape of a number for each channel, and the other dimensions."""
    return (-1, *(1,) * (array.ndim - 2)), (0, *range(2, array.ndim))

# ------------------------------------------------------------------ layers
def check_normalized(input, shape, star, **parameters):
    """Refuse an input whose last dimensions, or parameters which, have not that shape."""
    refuse(not shape, "Expected normalized_shape to be at least 1-dimensional, but got normalized_shape = []")
    for name, value in parameters.items():
        if value is not None and value.shape != shape:
            raise RuntimeError(f"Expected {name} to be of same shape as normalized_shape, but got {name} of shape "
                               f"{list(value.shape)} and normalized_shape = {list(shape)}")
    if input.shape[max(input.ndim - len(shape), 0) :] != shape:
        raise RuntimeError(f"Given normalized_shape={list(shape)}, expected input with shape "
                           f"[{star}{', '.join(map(str, shape))}], but got input of size{list(input.shape)}")

@op("NativeLayerNormBackward0", "F.layer_norm torch.layer_norm", promote="none", rounding="mixed",
    check=one_dtype("LayerNormKernelImpl"),
    extras=("result1", "result2"),
    input__weight__bias="native_layer_norm_backward(grad, input, normalized_shape, result1, result2, weight, bias, "
    "grad_input_mask)")
def native_layer_norm(input, normalized_shape: Size, weight=None, bias=None, eps: float = 1e-05):
    """Return the last dimensions brought to mean 0 and variance 1, then scaled and shifted."""
    check_normalized(input, normalized_shape, "*, ", weight=weight, bias=bias)
    input = np.asanyarray(input, order="C")
    mean, _, rstd = moments(input, tuple(range(-len(normalized_shape), 0)), eps)
    return scaled((input - mean) * rstd, weight, bias), mean, rstd

@op("NativeLayerNormBackwardBackward0", promote="none", rounding="mixed", outputs=("grad_input", "grad_weight", "grad_bias"),
    grad_out__input__weight="layer_norm_double_backward(grads, input, weight, grad_out, mean, rstd, normalized_shape)",
    mean="None", rstd="None", bias="None")
def native_layer_norm_backward(grad_out, input, normalized_shape, mean, rstd, weight, bias, mask):
    inner, outer = tuple(range(-len(normalized_shape), 0)), tuple(range(input.ndim - len(normalized_shape)))
    slope, count = grad_out if weight is None else grad_out * weight, np.prod(normalized_shape, dtype=np.float64)
    total, along = (np.add.reduce(one, inner, keepdims=True) for one in (slope, slope * input))
    bend = (total.astype(np.float64) * mean - along) * rstd**3 / count  # what cancels in PyTorch's kernel cancels here
    back = rstd * slope + bend * (input - mean) - total * rstd / count if mask[0] else None
    return (None if back is None else back.astype(input.dtype),
            total_of(grad_out * ((input - mean) * rstd), outer) if mask[1] else None,
            total_of(grad_out, outer) if mask[2] else None)

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

# ------------------------------------------------------------------ batches
CACHE = 1 << 16
"""How many elements a step of the backward pass takes: several copies of them in double precision stay at hand."""

@op("NativeBatchNormBackward0", promote="none", rounding="mixed", check=one_dtype("batch_norm"),
    nondiff=("running_mean", "running_var"),
    extras=("result1", "result2"),
    input__weight__bias="native_batch_norm_backward(grad, input, weight, running_mean, running_var, result1, result2, "
    "training, eps, grad_input_mask)")
def native_batch_norm(input, weight, bias, running_mean, running_var, training, momentum, eps):
    input, (shape, axes) = np.asanyarray(input, order="C"), by_channel(input)
    if not training:
        mean, rstd = running_mean.reshape(shape), (1 / np.sqrt(running_var + eps)).reshape(shape)
        return scaled((input - mean) * rstd, weight, bias, shape), np.zeros(0, input.dtype), np.zeros(0, input.dtype)
    mean, var, rstd = moments(input, axes, eps)
    if running_mean is not None:
        count = input.size // max(input.shape[1], 1)
        running_mean += momentum * (mean.reshape(-1) - running_mean)
        running_var += momentum * (var.reshape(-1) * (count / max(count - 1, 1)) - running_var)
    return scaled((input - mean) * rstd, weight, bias, shape), mean.reshape(-1), rstd.reshape(-1)

@op("NativeBatchNormBackwardBackward0", promote="none", rounding="mixed", nondiff=("running_mean", "running_var"),
    outputs=("grad_input", "grad_weight", "grad_bias"), save_mean="None", save_invstd="None",
    grad_out__input__weight="batch_norm_double_backward(grads, input, weight, grad_out, running_mean, running_var, train, "
    "eps, save_mean, save_invstd)")
def native_batch_norm_backward(grad_out, input, weight, running_mean, running_var, save_mean, save_invstd, train, eps, mask):
    mean, rstd = (save_mean, save_invstd) if train else (running_mean, 1 / np.sqrt(running_var + eps))
    back = np.empty(input.shape, input.dtype) if mask[0] else None
    totals = np.empty((2, len(mean)), input.dtype)
    whole = [one.reshape(len(one), len(mean), prod(input.shape[2:])) for one in (grad_out, input, *([back] * mask[0]))]
    for some in portions(mean, input.size // max(len(mean), 1), CACHE):
        grad, x, *into = (one[:, some] for one in whole)
        scale = rstd[some, None]
        normal = (x - mean[some, None]) * scale
        totals[:, some] = total_of(grad * normal, (0, 2)), total_of(grad, (0, 2))
        slope = scaled(grad, weight if weight is None else weight[some], None, (-1, 1))
        if into:
            into[0][...] = normal_back(slope, normal, scale) if train else slope * scale
    return back, totals[0] if mask[1] else None, totals[1] if mask[2] else None

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
    wide, to_weight, to_bias = (v if v is None else expand(per_channel(v, rank), sizes) for v in (weight, to_weight, to_bias))
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
@op("NativeGroupNormBackward0", promote="none", rounding="mixed", check=one_dtype("GroupNormKernelImpl"),
    outputs=("result0", "result1", "result2"),
    input__weight__bias="native_group_norm_backward(grads, input, result1, result2, weight, (N, C, HxW, group), eps, "
    "grad_input_mask)")
def native_group_norm(input, weight, bias, N, C, HxW, group, eps):
    split = input.reshape(N, group, C // group * HxW)
    mean, _, rstd = moments(split, (2,), eps)
    result = scaled(((split - mean) * rstd).reshape(input.shape), weight, bias, by_channel(input)[0])
    return result, mean.reshape(N, group), rstd.reshape(N, group)

@composite
def native_group_norm_backward(grads, input, mean, rstd, weight, sizes, eps, mask):
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
    if mask[0]:
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
    if mask[1] and grad is not None:
        to_weight = reshape(sum_dim((along - total * mean) * rstd, (0,), False), (group * channels,))
    if mask[2] and grad is not None:
        to_bias = reshape(sum_dim(total, (0,), False), (group * channels,))
    return back, to_weight, to_bias

# ------------------------------------------------------------------ weights
@op("WeightNormInterfaceBackward0", promote="none", extras=("result1",),
    v__g="weight_norm_backward(grad, v, g, result1, dim)")
def _weight_norm(v, g, dim: int = 0):
    """Return the direction of v with the length g, for each index of one dimension; -1 is for all of them together."""
    axes = tuple(i for i in range(v.ndim) if dim == -1 or i != dim)
    norm = np.sqrt(np.add.reduce(np.square(v, dtype=np.float64), axes, keepdims=dim != -1)).astype(v.dtype)
    return v * (g / norm), norm

@composite
def weight_norm_backward(grad, v, g, norm, dim):
    """Return the gradients of the direction, less its part along itself, and of the length."""
    along = totals(grad * v, tuple(i for i in range(len(v.shape)) if dim == -1 or i != dim))
    along = reshape(along, tuple(norm.shape))
    return g / norm * (grad - v * (along / (norm * norm))), along / norm
