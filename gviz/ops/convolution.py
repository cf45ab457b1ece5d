"""Convolution in any number of dimensions, transposed or not: sliding windows and one matrix product per group."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from gviz.autograd.row import composite, everywhere, op


def padded(array, before, after):
    """Zeros around the spatial dimensions; a negative number cuts."""
    wide = np.pad(array, [(0, 0), (0, 0), *((max(b, 0), max(a, 0)) for b, a in zip(before, after, strict=True))])
    cut = [slice(max(-b, 0), wide.shape[i + 2] - max(-a, 0)) for i, (b, a) in enumerate(zip(before, after, strict=True))]
    return wide[(slice(None), slice(None), *cut)]


def windows(array, kernel, stride, dilation):
    """Every window of an array (n, c, *space) as (n, c, *out, *kernel), without copying."""
    spans = tuple(d * (k - 1) + 1 for k, d in zip(kernel, dilation, strict=True))
    axes = tuple(range(2, array.ndim))
    seen = sliding_window_view(array, spans, axes)
    return seen[(slice(None), slice(None), *(slice(None, None, s) for s in stride), *(slice(None, None, d) for d in dilation))]


def folded(parts, size, stride, padding, dilation, order=1):
    """The way back of :func:`windows`: parts (..., *kernel, *out) added up where they lie in an array of that size.

    Each element gets its parts from the first place in a window to the last, or (order -1) the other way round.
    """
    dims = len(size)
    kernel, out = parts.shape[-2 * dims : -dims], parts.shape[-dims:]
    places = [
        [slice(i * d, i * d + (n - 1) * s + 1, s) for i in range(k)]
        for k, n, s, d in zip(kernel, out, stride, dilation, strict=True)
    ]
    reach = [max(n + 2 * p, along[-1].stop) for n, p, along in zip(size, padding, places, strict=True)]
    wide: Any = np.zeros((*parts.shape[: -2 * dims], *reach), parts.dtype)
    whole = (slice(None),) * dims
    for inside in list(np.ndindex(*kernel))[::order]:
        wide[(..., *(along[i] for along, i in zip(places, inside, strict=True)))] += parts[(..., *inside, *whole)]
    return np.ascontiguousarray(wide[(..., *(slice(p, p + n) for p, n in zip(padding, size, strict=True)))])


def columns(array, kernel, stride, dilation, groups):
    """Windows as matrices (groups, n * out, c / groups * kernel), and the output's size."""
    seen = windows(array, kernel, stride, dilation)
    count, rank = len(kernel), array.ndim
    out = seen.shape[2:rank]
    split = seen.reshape(seen.shape[0], groups, seen.shape[1] // groups, *seen.shape[2:])
    order = (1, 0, *range(3, 3 + count), 2, *range(3 + count, 3 + 2 * count))
    return split.transpose(order).reshape(groups, seen.shape[0] * int(np.prod(out)), split.shape[2] * int(np.prod(kernel))), out


def correlate(x, weight, stride, padding, dilation, groups):
    """The plain convolution (no bias): (n, c, *space) with (o, c / groups, *kernel)."""
    x = padded(x, padding, padding)
    kernel = weight.shape[2:]
    seen, out = columns(x, kernel, stride, dilation, groups)
    found = seen @ weight.reshape(groups, weight.shape[0] // groups, seen.shape[2]).transpose(0, 2, 1)
    found = found.reshape(groups, x.shape[0], *out, weight.shape[0] // groups)
    found = np.moveaxis(found, (1, 0, -1), (0, 1, 2))
    return np.ascontiguousarray(found.reshape(x.shape[0], weight.shape[0], *out))


def spread(grad, weight, space, stride, padding, dilation, groups):
    """The gradient for the input of that size: a convolution with the weight turned around, of the gradient spread out."""
    kernel, count = weight.shape[2:], grad.ndim - 2
    wide = np.zeros((*grad.shape[:2], *((n - 1) * s + 1 for n, s in zip(grad.shape[2:], stride, strict=True))), grad.dtype)
    wide[(slice(None), slice(None), *(slice(None, None, s) for s in stride))] = grad
    reach = [d * (k - 1) for k, d in zip(kernel, dilation, strict=True)]
    before = [r - p for r, p in zip(reach, padding, strict=True)]
    after = [n - wide.shape[i + 2] - b + reach[i] for i, (n, b) in enumerate(zip(space, before, strict=True))]
    turned = np.flip(weight, tuple(range(2, 2 + count)))
    turned = turned.reshape(groups, weight.shape[0] // groups, *weight.shape[1:]).swapaxes(1, 2)
    turned = turned.reshape(weight.shape[1] * groups, weight.shape[0] // groups, *kernel)
    return correlate(padded(wide, before, after), turned, (1,) * count, (0,) * count, dilation, groups)


def weight_gradient(grad, x, kernel, stride, padding, dilation, groups):
    """The gradient for the weight: the input's windows times the gradient."""
    reach = [(n - 1) * s + d * (k - 1) + 1 for n, s, d, k in zip(grad.shape[2:], stride, dilation, kernel, strict=True)]
    wide = padded(x, padding, padding)[(..., *map(slice, reach))]  # of a transposed one there may be more than it reached
    seen, out = columns(wide, kernel, stride, dilation, groups)
    outs = grad.shape[1] // groups
    each = np.moveaxis(grad.reshape(grad.shape[0], groups, outs, *out), (1, 2), (0, 1)).reshape(groups, outs, seen.shape[1])
    return (each @ seen).reshape(groups * outs, x.shape[1] // groups, *kernel)


def check(x, weight, bias, stride, padding, dilation, transposed, groups):
    """Refuse sizes that do not fit."""
    sizes, held = list(x.shape), list(weight.shape)
    if x.ndim != weight.ndim:
        raise RuntimeError(
            f"Expected {weight.ndim}-dimensional input for {weight.ndim}-dimensional weight {held}, but got "
            f"{x.ndim}-dimensional input of size {sizes} instead"
        )
    if held[0] < groups or held[0] % groups:
        wanted, told = (f"at least {groups}", held) if held[0] < groups else (f"divisible by {groups}", [held])
        raise RuntimeError(
            f"Given groups={groups}, expected weight to be {wanted} at dimension 0, but got weight of size {told} instead"
        )
    if transposed:
        if weight.shape[0] != x.shape[1]:
            raise RuntimeError(
                f"Given transposed=1, weight of size {list(weight.shape)}, expected input{sizes} to have {weight.shape[0]} "
                f"channels, but got {x.shape[1]} channels instead"
            )
        if bias is not None and bias.shape != (outs := weight.shape[1] * groups,):
            raise RuntimeError(
                f"Given transposed=1, weight of size {held}, expected bias to be 1-dimensional with {outs} elements, but got "
                f"bias of size {list(bias.shape)} instead"
            )
        return
    if x.shape[1] != weight.shape[1] * groups:
        raise RuntimeError(
            f"Given groups={groups}, weight of size {list(weight.shape)}, expected input{sizes} to have "
            f"{weight.shape[1] * groups} channels, but got {x.shape[1]} channels instead"
        )
    if bias is not None and bias.shape != (weight.shape[0],):
        raise RuntimeError(
            f"Given weight of size {list(weight.shape)}, expected bias to be 1-dimensional with {weight.shape[0]} elements, "
            f"but got bias of size {list(bias.shape)} instead"
        )
    room = [n + 2 * p for n, p in zip(x.shape[2:], padding, strict=True)]
    spans = [d * (k - 1) + 1 for k, d in zip(weight.shape[2:], dilation, strict=True)]
    if any(r < s for r, s in zip(room, spans, strict=True)):
        raise RuntimeError(
            f"Calculated padded input size per channel: ({' x '.join(map(str, room))}). Kernel size: "
            f"({' x '.join(map(str, spans))}). Kernel size can't be greater than actual input size"
        )


@everywhere
def each_way(padding, input):
    """A padding that is told once for all dimensions, as ``padding="valid"`` is, told for each."""
    return padding if len(padding) > 1 else padding * (len(input.shape) - 2)


@op(
    "ConvolutionBackward0",
    promote="none",
    input__weight__bias="convolution_backward(grad, input, weight, bias_sym_sizes_opt, stride, padding, dilation, "
    "transposed, output_padding, groups, grad_input_mask)",
)
def convolution(input, weight, bias, stride, padding, dilation, transposed, output_padding, groups):
    padding = each_way(padding, input)
    check(input, weight, bias, stride, padding, dilation, transposed, groups)
    if transposed:
        space = [
            (n - 1) * s - 2 * p + d * (k - 1) + o + 1
            for n, s, p, d, k, o in zip(
                input.shape[2:], stride, padding, dilation, weight.shape[2:], output_padding, strict=True
            )
        ]
        found = spread(input, weight, space, stride, padding, dilation, groups)
    else:
        found = correlate(input, weight, stride, padding, dilation, groups)
    return found if bias is None else found + bias.reshape(-1, *(1,) * (input.ndim - 2))


@op(
    "ConvolutionBackwardBackward0",
    promote="none",
    outputs=("grad_input", "grad_weight", "grad_bias"),
    grad_output__input__weight="convolution_double_backward(grads, grad_output, input, weight, (stride, padding, dilation, "
    "transposed, output_padding, groups))",
)
def convolution_backward(
    grad_output, input, weight, bias_sizes, stride, padding, dilation, transposed, output_padding, groups, mask
):
    if not transposed and any(output_padding):
        told = " ".join(map(str, output_padding))
        raise RuntimeError(f"output_padding is not supported for non-transposed convolutions; got: {told}")
    space, kernel, padding = input.shape[2:], weight.shape[2:], each_way(padding, input)
    grad_input = grad_weight = grad_bias = None
    if mask[0]:
        back = (
            correlate(grad_output, weight, stride, padding, dilation, groups)
            if transposed
            else spread(grad_output, weight, space, stride, padding, dilation, groups)
        )
        grad_input = back[(slice(None), slice(None), *(slice(n) for n in space))]
    if mask[1]:
        one, other = (input, grad_output) if transposed else (grad_output, input)
        grad_weight = weight_gradient(one, other, kernel, stride, padding, dilation, groups)
    if mask[2]:
        grad_bias = grad_output.sum(axis=(0, *range(2, grad_output.ndim)))
    return grad_input, grad_weight, grad_bias


@composite
def convolution_double_backward(grads, grad_output, input, weight, options):
    """The gradients of the gradients, convolutions all, written as PyTorch does.

    That for the weight takes examples for channels; steps and gaps between the weight's elements change places.
    """
    to_input, to_weight, to_bias = grads
    stride, padding, dilation, transposed, output_padding, groups = options
    padding, output_padding = each_way(padding, input), each_way(output_padding, input)
    options = stride, padding, dilation, transposed, output_padding, groups
    rank = len(input.shape)
    first = added([
        None if to_input is None else convolution(to_input, weight, None, *options),
        None if to_weight is None else convolution(input, to_weight, None, *options),
        None if to_bias is None else expand(view(contiguous_of(to_bias), (1, -1, *(1,) * (rank - 2))), grad_output.shape),
    ])  # fmt: skip
    second = third = None
    if to_input is not None:
        pair = transpose(grad_output, 0, 1), transpose(to_input, 0, 1)
        if not transposed:
            pair = pair[::-1]
        ways = (None, dilation, padding, stride, False, output_padding, 1)
        parts = [convolution(*(part_of(one, g, groups) for one in pair), *ways) for g in range(groups)]
        third = cut_to(transpose(parts[0] if groups == 1 else cat(parts, 1), 0, 1), weight.shape)
    if to_weight is not None:
        if not transposed:
            spans = zip(input.shape[2:], grad_output.shape[2:], weight.shape[2:], stride, padding, dilation, strict=True)
            output_padding = tuple(n - ((k - 1) * d - 2 * p + s * (m - 1) + 1) for n, m, k, s, p, d in spans)
        second = convolution(grad_output, to_weight, None, stride, padding, dilation, not transposed, output_padding, groups)
        second = cut_to(second, input.shape)
    return first, second, third


@composite
def part_of(value, number, count):
    """One of several equal parts of the first dimension; where there is one only, all."""
    size = value.shape[0] // count
    return value if count == 1 else narrow(value, 0, number * size, size)


@composite
def cut_to(value, sizes):
    """What there is too much of in some dimensions of space, cut off."""
    for dim in range(2, len(sizes)):
        if value.shape[dim] > sizes[dim]:
            value = narrow(value, dim, 0, sizes[dim])
    return value
