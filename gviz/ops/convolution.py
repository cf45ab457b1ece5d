"""Convolution in any number of dimensions, transposed or not: windows of the input, one product with the weight per group.

Source: PyTorch's derivatives.yaml, and Convolution.cpp.
"""

from __future__ import annotations

from functools import wraps
from math import prod

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from gviz.numbers.dtypes import is_meta
from gviz.ops.rows import TENSORS, composite, everywhere, lacks, op, public_names, refuse, warn_once

EVEN = "Using padding='same' with even kernel lengths and odd dilation may require a zero-padded copy of the input be created"

ROOM = 1 << 21
"""How many elements of windows are laid out at once: large products of matrices are the quickest, and memory is bounded."""

WIDE = 128
"""From how many columns of an example a product for each example is as quick as one for many."""

# ------------------------------------------------------------------ windows
def windows(array, kernel, stride, dilation):
    """Return every window of an array (n, c, *space) as (n, c, *out, *kernel), without copying."""
    spans = [d * (k - 1) + 1 for k, d in zip(kernel, dilation, strict=True)]
    view = sliding_window_view(array, spans, tuple(range(2, array.ndim)))
    return view[(slice(None), slice(None), *(slice(None, None, step) for step in (*stride, *dilation)))]

def folded(parts, size, stride, padding, dilation):
    """Return the way back of :func:`windows`: parts (..., *kernel, *out) added up where they lie in an array of that size."""
    dims = len(size)
    kernel, out = parts.shape[-2 * dims : -dims], parts.shape[-dims:]
    reach = [(n - 1) * s + d * (k - 1) + 1 for n, s, d, k in zip(out, stride, dilation, kernel, strict=True)]
    full = [max(r, n + 2 * p) for r, n, p in zip(reach, size, padding, strict=True)]
    wide = np.zeros((*parts.shape[: -2 * dims], *full), parts.dtype, like=parts)
    for inside in np.ndindex(*kernel):
        lies = (slice(i * d, i * d + (n - 1) * s + 1, s) for i, d, n, s in zip(inside, dilation, out, stride, strict=True))
        wide[(..., *lies)] += parts[(..., *inside, *(slice(None),) * dims)]
    return np.asanyarray(wide[(..., *(slice(p, p + n) for p, n in zip(padding, size, strict=True)))], order="C")

def padded(array, padding):
    """Return the array with zeros around its dimensions of space."""
    if not any(padding):
        return array
    sizes = (n + 2 * p for n, p in zip(array.shape[2:], padding, strict=True))
    wide = np.zeros((*array.shape[:2], *sizes), array.dtype, like=array)
    inside: Any = (..., *(slice(p, p + n) for n, p in zip(array.shape[2:], padding, strict=True)))
    wide[inside] = array
    return wide

@everywhere
def each_way(value, count):
    """Return one number for every dimension: the same, or those that were given."""
    numbers = tuple(value) if isinstance(value, tuple | list) else (value,)
    if len(numbers) not in (0, 1, count):
        raise RuntimeError(f"expected a single integer value or a list of {count} values, but got {list(numbers)}")
    return numbers * count if len(numbers) == 1 else numbers

# ------------------------------------------------------------------ three products of matrices, for each group of channels
def columns(x, outs, kernel, out, stride, padding, dilation, groups):
    """Yield a slice of examples, and their windows as columns (groups, channels * kernel, examples * out).

    There are as many examples as ROOM has place for, and for their results with so many channels.
    """
    patches, dims = windows(padded(x, padding), kernel, stride, dilation), len(out)
    patches = patches[(slice(None), slice(None), *map(slice, out))]
    order = 1, *range(2 + dims, 2 + 2 * dims), 0, *range(2, 2 + dims)
    for some in portions(patches, prod(out) * max(x.shape[1] * prod(kernel), outs)):
        part = patches[some]
        yield some, np.ascontiguousarray(part.transpose(order)).reshape(groups, -1, len(part) * prod(out))

def portions(examples, size, room=ROOM):
    """Return the slices that cut the first dimension, of so many elements each, into parts of at most that room.

    Where there are no numbers there are no parts.
    """
    step = max(room // max(size, 1), 1)
    return [slice(start, start + step) for start in range(0, 0 if is_meta(examples) else len(examples), step)]

def by_group(array, axis, groups):
    """Return an array as matrices: for each group of channels, which are that axis, channels x what follows."""
    shape = array.shape
    return array.reshape(*shape[:axis], groups, shape[axis] // groups, prod(shape[axis + 1 :]))

def side_by_side(parts):
    """Return examples (examples, groups, channels, out) as one matrix for each group: channels x examples * out."""
    count, groups, channels, size = parts.shape
    return parts.transpose(1, 2, 0, 3).reshape(groups, channels, count * size)

def correlate(x, weight, stride, padding, dilation, groups):
    """Return the convolution: the weight times each window of the input."""
    facts = zip(x.shape[2:], padding, weight.shape[2:], stride, dilation, strict=True)
    out = [(n + 2 * p - d * (k - 1) - 1) // s + 1 for n, p, k, s, d in facts]
    result, rows = np.empty((len(x), len(weight), *out), weight.dtype), by_group(weight, 0, groups)
    into = by_group(result, 1, groups)
    if prod(out) >= WIDE and {*weight.shape[2:], *stride} == {1} and not any(padding):  # an example is its own columns
        return np.matmul(rows, by_group(x, 1, groups), out=into).reshape(result.shape)
    for some, patches in columns(x, len(weight), weight.shape[2:], out, stride, padding, dilation, groups):
        products = rows @ patches
        into[some] = products.reshape(*products.shape[:2], -1, prod(out)).transpose(2, 0, 1, 3)
    return result

def spread(grad, weight, size, stride, padding, dilation, groups):
    """Return its transpose: each element times the weight, added up where its window lies."""
    outs, ins, kernel = len(weight), weight.shape[1] * groups, weight.shape[2:]
    around = [d * (k - 1) - p for d, k, p in zip(dilation, kernel, padding, strict=True)]
    fits = all(n + a - p == m for n, m, a, p in zip(grad.shape[2:], size, around, padding, strict=True))
    if set(stride) == {1} and min(around) >= 0 and outs <= 2 * ins and fits:  # then it is a convolution, and that is quicker
        turned = weight.reshape(groups, outs // groups, *weight.shape[1:])[(..., *(slice(None, None, -1),) * len(kernel))]
        turned = turned.swapaxes(1, 2).reshape(ins, outs // groups, *kernel)
        return correlate(grad, turned, stride, around, dilation, groups)
    rows, parts = by_group(weight, 0, groups).swapaxes(1, 2), by_group(grad, 1, groups)
    out = grad.shape[2:]
    result = np.empty((len(grad), ins, *size), grad.dtype)
    for some in portions(grad, prod((ins, *kernel, *out))):
        pieces = (rows @ side_by_side(parts[some])).reshape(ins, *kernel, -1, *out)
        result[some] = folded(np.moveaxis(pieces, 1 + len(kernel), 0), size, stride, padding, dilation)
    return result

def weight_gradient(grad, x, kernel, stride, padding, dilation, groups):
    """Return the gradient for the weight: that of the result times the windows of the input."""
    result, parts = np.zeros((grad.shape[1], x.shape[1] // groups, *kernel), grad.dtype), by_group(grad, 1, groups)
    total = by_group(result, 0, groups)
    for some, patches in columns(x, grad.shape[1], kernel, grad.shape[2:], stride, padding, dilation, groups):
        total += side_by_side(parts[some]) @ patches.swapaxes(-2, -1)
    return result

# ------------------------------------------------------------------ rows
KERNELS = {3: "slow_conv2d_cpu", 4: "slow_conv2d_cpu", 5: "compute_columns3d"}

def check(x, weight, bias, padding, dilation, transposed, groups):
    """Refuse sizes that do not fit."""
    weight_text, across = f"weight of size {list(weight.shape)}", weight.shape[1] * groups
    ins, outs = (weight.shape[0], across) if transposed else (across, weight.shape[0])
    refuse(not (transposed or outs),
           f"Given groups={groups}, expected weight to be at least 1 at dimension 0, but got {weight_text} instead")
    refuse(weight.shape[0] % groups,
           f"Given groups={groups}, expected weight to be divisible by {groups} at dimension 0, "
           f"but got weight of size [{list(weight.shape)}] instead")
    if x.shape[1] != ins:
        raise RuntimeError(f"Given {'transposed=1' if transposed else f'groups={groups}'}, {weight_text}, expected "
                           f"input{list(x.shape)} to have {ins} channels, but got {x.shape[1]} channels instead")
    if bias is not None and bias.shape != (outs,):
        raise RuntimeError(f"Given {'transposed=1, ' * transposed}{weight_text}, expected bias to be 1-dimensional with {outs} "
                           f"elements, but got bias of size {list(bias.shape)} instead")
    room = [n + 2 * p for n, p in zip(x.shape[2:], padding, strict=True)]
    spans = [d * (k - 1) + 1 for k, d in zip(weight.shape[2:], dilation, strict=True)]
    if not transposed and any(r < s for r, s in zip(room, spans, strict=True)):
        raise RuntimeError(f"Calculated padded input size per channel: ({' x '.join(map(str, room))}). Kernel size: "
                           f"({' x '.join(map(str, spans))}). Kernel size can't be greater than actual input size")
    refuse(not transposed and x.size == 0 != x.shape[0] * x.shape[1], "Only zero batch or zero channel inputs are supported, but "
           f"got input shape: {[*x.shape[:2], *(1,) * (x.ndim == 3), *x.shape[2:]]}")
    lacks(f"slow_conv_transpose{max(weight.ndim - 2, 2)}d_out_cpu" if transposed else KERNELS[weight.ndim],
          "biu" if transposed and x.dtype != np.int64 else "b")(x)

@op("ConvolutionBackward0", promote="none",
    input__weight__bias="convolution_backward(grad, input, weight, bias_sym_sizes_opt, stride, padding, dilation, transposed, "
    "output_padding, groups, grad_input_mask)")
def convolution(input, weight, bias, stride, padding, dilation, transposed, output_padding, groups):
    padding = each_way(padding, weight.ndim - 2)
    check(input, weight, bias, padding, dilation, transposed, groups)
    if transposed:
        facts = zip(input.shape[2:], stride, padding, dilation, weight.shape[2:], output_padding, strict=True)
        size = [(n - 1) * s - 2 * p + d * (k - 1) + more + 1 for n, s, p, d, k, more in facts]
        result = spread(input, weight, size, stride, padding, dilation, groups)
    else:
        result = correlate(input, weight, stride, padding, dilation, groups)
    if bias is not None:
        result += bias.reshape(-1, *(1,) * (input.ndim - 2))
    return result

@op("ConvolutionBackwardBackward0", promote="none", outputs=("grad_input", "grad_weight", "grad_bias"),
    grad_output__input__weight="convolution_double_backward(grads, grad_output, input, weight, stride, padding, dilation, "
    "transposed, output_padding, groups)")
def convolution_backward(grad_output, input, weight, bias_sizes, stride, padding, dilation, transposed, output_padding, groups,
                         mask):
    refuse(not transposed and any(output_padding),
           "output_padding is not supported for non-transposed convolutions; got: "
           + " ".join(map(str, output_padding)))
    space, options = input.shape[2:], (stride, each_way(padding, input.ndim - 2), dilation, groups)
    if not grad_output.flags.c_contiguous:  # that of a sum is one number everywhere, with which products are slow
        grad_output = grad_output.copy()
    pair, back = (grad_output, input), None
    if mask[0] and transposed:
        back = correlate(grad_output, weight, *options)[(..., *map(slice, space))]
    elif mask[0]:
        back = spread(grad_output, weight, space, *options)
    return (back, weight_gradient(*(pair[::-1] if transposed else pair), weight.shape[2:], *options) if mask[1] else None,
            grad_output.sum((0, *range(2, input.ndim))) if mask[2] else None)

@composite
def convolution_double_backward(grads, grad_output, input, weight, stride, padding, dilation, transposed, output_padding,
                                groups):
    """The gradients of the gradients, convolutions all, in PyTorch's order.

    That for the weight takes examples for channels; steps and gaps between the weight's elements change places.
    """
    to_input, to_weight, to_bias = grads
    rank = len(input.shape)
    padding, output_padding = each_way(padding, rank - 2), each_way(output_padding, rank - 2)
    options = stride, padding, dilation, transposed, output_padding, groups
    first = added([
        None if to_input is None else convolution(to_input, weight, None, *options),
        None if to_weight is None else convolution(input, to_weight, None, *options),
        None if to_bias is None else expand(view(contiguous_of(to_bias), (1, -1, *(1,) * (rank - 2))), grad_output.shape),
    ])  # fmt: skip
    second = third = None
    if to_input is not None:
        pair = transpose(grad_output, 0, 1), transpose(to_input, 0, 1)
        pair = pair if transposed else pair[::-1]
        ways = None, dilation, padding, stride, False, output_padding, 1
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

# ------------------------------------------------------------------ public forms
def convolve(input, weight, bias: Tensor | None = None, stride: Ints = 1, padding: object = 0, dilation: Ints = 1,
             groups: int = 1, output_padding: Ints | None = None):
    """Return a convolution, of a batch or of one example; transposed if there is an output padding."""
    dims, transposed = len(weight.shape) - 2, output_padding is not None
    if input.ndim == dims + 1:
        return convolve(input.unsqueeze(0), weight, bias, stride, padding, dilation, groups, output_padding).squeeze(0)
    if bias is not None and bias.dtype is not input.dtype:
        raise RuntimeError(f"Input type ({input.dtype.c_name}) and bias type ({bias.dtype.c_name}) should be the same")
    refuse(weight.dtype is not input.dtype,
           f"expected scalar type {input.dtype.scalar_name} but found {weight.dtype.scalar_name}")
    stride, dilation = each_way(stride, dims), each_way(dilation, dims)
    for name, least in (("stride", min(stride)), ("groups", groups)):
        refuse(least <= 0, f"non-positive {name} is not supported")
    if padding == "same":
        input, padding = same_padding(input, stride, [d * (k - 1) for d, k in zip(dilation, weight.shape[2:], strict=True)])
    refuse(isinstance(padding, str) and padding != "valid", f"Invalid padding string: '{padding}'")
    padding = (0,) if padding == "valid" else each_way(padding, dims)
    more = each_way(output_padding or 0, len(padding))
    refuse(transposed and any(m >= s and m >= d for m, s, d in zip(more, stride, dilation, strict=True)),
           "output padding must be smaller than either stride or dilation, but got "
           f"output_padding={more}, stride={stride} and dilation={dilation}")
    return TENSORS["convolution"](input, weight, bias, stride, padding, dilation, transposed, more, groups)

def convolve_transposed(input, weight, bias: Tensor | None = None, stride: Ints = 1, padding: Ints = 0,
                        output_padding: Ints = 0, groups: int = 1, dilation: Ints = 1):
    """Return the transpose of a convolution."""
    return convolve(input, weight, bias, stride, padding, dilation, groups, output_padding)

def name_over(dims, name, function, *internal):
    """Give a convolution its names for so many dimensions; tensors that have others are refused."""

    @public_names(f"F.{name}{dims}d torch.{name}{dims}d")
    @wraps(function)
    def run(input, weight, *rest: object):
        refuse(input.ndim not in (dims + 1, dims + 2),
               f"Expected {dims + 1}D (unbatched) or {dims + 2}D (batched) input to {name}{dims}d, but got "
               f"input of size: {list(input.shape)}")
        refuse(weight.ndim != dims + 2,
               f"Expected {weight.ndim}-dimensional input for {weight.ndim}-dimensional weight "
               f"{list(weight.shape)}, but got {dims + 2}-dimensional input of size {list(input.shape)} instead")
        return function(input, weight, *rest)
    run.internal = internal

for n in (1, 2, 3):
    name_over(n, "conv", convolve, "output_padding")
    name_over(n, "conv_transpose", convolve_transposed)

def same_padding(input, stride, total):
    """Return the padding that keeps the size, half on either side; what is odd is padded to the input beforehand."""
    refuse(max(stride) > 1, "padding='same' is not supported for strided convolutions")
    if any(t % 2 for t in total):
        warn_once(EVEN)
        input = TENSORS["constant_pad_nd"](input, tuple(n for t in reversed(total) for n in (0, t % 2)), 0)
    return input, tuple(t // 2 for t in total)
