"""Pooling: windows of a signal, an image or a volume; zeros around it.

Source: PyTorch's derivatives.yaml, and Pool.h and AdaptiveAveragePooling.cpp.
"""

from __future__ import annotations

from functools import reduce
from math import prod

import numpy as np

from gviz.autograd.formulas import parameters
from gviz.ops.convolution import each_way, folded, windows
from gviz.ops.indexing import add_at, at
from gviz.ops.rows import TENSORS, composite, lacks, number, op, public_names, refuse, row


def pooled_size(size, kernel, stride, padding, dilation, ceil_mode):
    """Return how many windows there are along a dimension; with ceil_mode one more where something is left over."""
    room = size + 2 * padding - dilation * (kernel - 1) - 1
    count = -(-room // stride) + 1 if ceil_mode else room // stride + 1
    return count - 1 if ceil_mode and (count - 1) * stride >= size + padding else count

def windows_in(array, kernel, stride, padding, dilation, ceil_mode, fill):
    """Return all windows of an array (..., c, *space) as (n, c, *out, *kernel), with ``fill`` (None: what is inside) around it."""
    sizes = array.shape[-len(kernel) :]
    for p, k, d, s in zip(padding, kernel, dilation, stride, strict=True):
        refuse(min(k, d, s) < 1 or p < 0,
               f"kernel_size={k}, stride={s} and dilation={d} should be greater than zero, pad={p} not less")
        refuse(p * 2 > (k - 1) * d + 1,
               f"pad should be at most half of effective kernel size, but got pad={p}, kernel_size={k} and "
               f"dilation={d}")
    out = [pooled_size(*facts, ceil_mode) for facts in zip(sizes, kernel, stride, padding, dilation, strict=True)]
    if min(out) < 1:
        sizes_text, small = ("x".join(map(str, (array.shape[-len(kernel) - 1], *lengths))) for lengths in (sizes, out))
        raise RuntimeError(f"Given input size: ({sizes_text}). Calculated output size: ({small}). Output size is too small")
    reach = [(n - 1) * s + d * (k - 1) + 1 for n, s, d, k in zip(out, stride, dilation, kernel, strict=True)]
    ends = [(p, max(r - n - p, 0)) for r, n, p in zip(reach, sizes, padding, strict=True)]
    full = array.reshape(-1, *array.shape[-len(kernel) - 1 :])
    if any(map(any, ends)):
        full = np.pad(full, [(0, 0), (0, 0), *ends], constant_values=0 if fill is None else fill)
        if fill is None:  # the places before the first one inside are told as the first of the window that is inside
            axes = [np.arange(-p, n + end) for n, p, (_, end) in zip(sizes, padding, ends, strict=True)]
            inside = [np.where(at < 0, at % d, at) for at, d in zip(axes, dilation, strict=True)]
            full = full[(..., *np.ix_(*(at.clip(max=n - 1) + p for at, n, p in zip(inside, sizes, padding, strict=True))))]
    return windows(full[(..., *map(slice, reach))], kernel, stride, dilation)

def scattered(grad, indices, shape, dims):
    """Return values added at flat indices into the last dimensions."""
    lead, flat = prod(shape[:-dims]), np.zeros((prod(shape[:-dims]), prod(shape[-dims:])), grad.dtype)
    add_at(flat, (np.arange(lead)[:, None], indices.reshape(lead, -1)), grad.reshape(lead, -1))
    return flat.reshape(shape)

def stored(key, node, forward, backward, formula, twice, kinds="biuc", kernel="", **more: object):
    """Store the rows of a pooling, which lacks kernels for those kinds, and of its derivative, with what else they are."""
    row(key, f"{node}Backward0", forward, self=formula, check=lacks(kernel or key, kinds),
        outputs=("result0", "result1") if more else ())
    row(f"{key}_backward", f"{node}BackwardBackward0", backward, promote="none", grad_output=twice, self="zeros_like(grad)",
        **more)

# ------------------------------------------------------------------ the largest element of each window
def largest(self, kernel_size, stride, padding, dilation, ceil_mode):
    """Return the largest element of each window, and its place in the input."""
    dims, options = len(kernel_size), (kernel_size, stride or kernel_size, padding, dilation, ceil_mode)
    numbers, low = np.arange(prod(self.shape[-dims:])), -np.inf if self.dtype.kind == "f" else np.iinfo(self.dtype).min
    views, places = windows_in(self, *options, low), windows_in(numbers.reshape(1, *self.shape[-dims:]), *options, None)
    shape = (*self.shape[:-dims], *views.shape[2:-dims])
    most = views[(..., *(0,) * dims)]
    number = np.zeros_like(views, dtype=np.min_scalar_type(prod(kernel_size)), order="C", shape=most.shape)
    unordered = self.size and (top := self.max()) != top
    for i, inside in enumerate(np.ndindex(*kernel_size)):
        here = views[(..., *inside)]
        more = (here > most) | np.isnan(here) if unordered else here > most  # nan is more than all, as in PyTorch
        np.maximum(number, more * number.dtype.type(i), out=number)
        most = np.maximum(here, most)
    begins = np.arange(0, places.size, prod(kernel_size))
    at = places.reshape(-1).take(number.reshape(-1, begins.size) + begins)
    return np.ascontiguousarray(most).reshape(shape), at.reshape(shape)

for dims in (2, 3):
    key = f"max_pool{dims}d_with_indices"
    stored(key, f"MaxPool{dims}DWithIndices", largest,
           lambda grad_output, self, kernel_size, stride, padding, dilation, ceil_mode, indices:
           scattered(grad_output, indices, self.shape, len(kernel_size)),
           f"{key}_backward(grad, self, kernel_size, stride, padding, dilation, ceil_mode, result1)",
           f"max_pool_double_backward(grad, indices, {dims})", "bc", f"max_pool{dims}d", nondiff=("indices",))

@composite
def max_pool_double_backward(grad, indices, dims):
    """What was at the indices, as the result of the pooling has it."""
    lead = tuple(indices.shape[: len(indices.shape) - dims])
    sizes = [numel_of(value) // max(count_of(lead), 1) for value in (grad, indices)]
    result = gather(reshape(grad, (*lead, sizes[0])), -1, view(indices, (*lead, sizes[1])))
    return reshape(result, tuple(indices.shape))

# ------------------------------------------------------------------ the mean of each window
def divisors(self, kernel_size, step, padding, ceil_mode, count_include_pad, divisor_override):
    """Return by what each window's sum is divided."""
    if divisor_override is not None:
        refuse(not divisor_override, "divisor_override: divisor must be not zero")
        return np.asanyarray(divisor_override, self.dtype)
    counts = []
    for n, k, s, p in zip(self.shape[-len(kernel_size) :], kernel_size, step, padding, strict=True):
        start = np.arange(pooled_size(n, k, s, p, 1, ceil_mode)) * s - p
        end = np.minimum(start + k, n + p)
        counts.append(end - start if count_include_pad else np.minimum(end, n) - np.maximum(start, 0))
    return reduce(np.multiply.outer, counts).astype(self.dtype)

def averaged(self, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override):
    """Return the mean of each window."""
    step, dims = stride or kernel_size, len(kernel_size)
    views = windows_in(self, kernel_size, step, padding, (1,) * dims, ceil_mode, 0)
    total = reduce(np.add, [views[(..., *at)] for at in np.ndindex(*kernel_size)])
    total = total / divisors(self, kernel_size, step, padding, ceil_mode, count_include_pad, divisor_override)
    return total.astype(self.dtype, "C", copy=False).reshape(*self.shape[:-dims], *total.shape[2:])

def averaged_back(grad_output, self, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override):
    """Return the gradient of :func:`averaged`."""
    step, dims = stride or kernel_size, len(kernel_size)
    each = grad_output / divisors(self, kernel_size, step, padding, ceil_mode, count_include_pad, divisor_override)
    lead, out = each.shape[:-dims], each.shape[-dims:]
    parts = np.broadcast_to(each.reshape(*lead, *(1,) * dims, *out), (*lead, *kernel_size, *out))
    return folded(parts, self.shape[-dims:], step, padding, (1,) * dims)

for dims in (2, 3):
    key, options = f"avg_pool{dims}d", ", ".join(parameters(averaged)[1:])
    stored(key, f"AvgPool{dims}D", averaged, averaged_back, f"{key}_backward(grad, self, {options})", f"{key}(grad, {options})",
           *(("buc", key) if dims == 2 else ("buce", "avg_pool3d_out_frame")))

# ------------------------------------------------------------------ adaptive: as many windows as the result is to have elements
def shares(size, count):
    """Return what each of so many adaptive windows sees along a dimension of that size."""
    return [slice(i * size // count, -(-(i + 1) * size // count)) for i in range(count)]

def shared_out(self, output_size):
    """Return the means of adaptive windows, along one dimension after the other."""
    for axis in range(self.ndim - len(output_size), self.ndim):
        refuse(not self.shape[axis], f"adaptive_avg_pool{len(output_size)}d(): Expected input to have non-zero size for non-batch "
               f"dimensions, but input has sizes {list(self.shape)} with dimension {axis} being empty")
    for axis, count in enumerate(output_size, self.ndim - len(output_size)):
        means = np.empty((*self.shape[:axis], count, *self.shape[axis + 1 :]), self.dtype)
        for i, span in enumerate(shares(self.shape[axis], count)):
            self[at(axis, span)].mean(axis, out=means[at(axis, i)])
        self = means
    return self

def shared_back(dims):
    """Return the gradient of :func:`shared_out`, as a function."""

    def back(grad_output, self):
        for axis in reversed(range(self.ndim - dims, self.ndim)):
            wide = np.zeros((*grad_output.shape[:axis], *self.shape[axis:]), grad_output.dtype)
            for i, span in enumerate(shares(self.shape[axis], grad_output.shape[axis])):
                part = wide[at(axis, span)]
                part += grad_output[at(axis, slice(i, i + 1))] / max(part.shape[axis], 1)
            grad_output = wide
        return grad_output

    return back

for dims in (2, 3):
    key, sizes = f"adaptive_avg_pool{dims}d", ", ".join(f"grad_output_sym_argsize_minus_{i}" for i in range(dims, 0, -1))
    stored(key, f"AdaptiveAvgPool{dims}D", shared_out, shared_back(dims), f"{key}_backward(grad, self)",
           f"{key}(grad, ({sizes}))")

def largest_of_shares(self, output_size):
    """Return the largest element of each adaptive window, and its place in the input: of a row's part, then of the rows."""
    places = np.broadcast_to(np.arange(prod(self.shape[-2:])).reshape(self.shape[-2:]), self.shape)
    for axis, count in ((self.ndim - 1, output_size[1]), (self.ndim - 2, output_size[0])):
        best = np.empty((*self.shape[:axis], count, *self.shape[axis + 1 :]), np.int64)
        for i, span in enumerate(shares(self.shape[axis], count)):
            best[at(axis, i)] = self[at(axis, span)].argmax(axis) + span.start
        self, places = (np.take_along_axis(one, best, axis) for one in (self, places))
    return self, places

stored("adaptive_max_pool2d", "AdaptiveMaxPool2D", largest_of_shares,
       lambda grad_output, self, indices: scattered(grad_output, indices, self.shape, 2),
       "adaptive_max_pool2d_backward(grad, self, result1)", "max_pool_double_backward(grad, indices, 2)", nondiff=("indices",))

# ------------------------------------------------------------------ public forms: over one, two or three dimensions
def pooled(key, dims, input, *sizes, options=()):
    """Return what a row gives, for sizes with what they are along a height: over one dimension, that of an image one high."""
    refuse(input.ndim not in (dims + 1, dims + 2),
           f"non-empty {dims + 1}D or {dims + 2}D (batch mode) tensor expected for input")
    if dims > 1:
        return TENSORS[key](input, *(each_way(size, dims) for size, _ in sizes), *options)
    result = TENSORS[key](input.unsqueeze(-2), *((flat, *each_way(size, 1)) for size, flat in sizes), *options)
    return tuple(one.squeeze(-2) for one in result) if isinstance(result, tuple) else result.squeeze(-2)

def full_sizes(name, dims, input, output_size):
    """Return the sizes of an adaptive pooling along the last dimensions; where one is None it is the input's."""
    refuse(input.ndim not in (dims + 1, dims + 2),
           f"{name}{dims}d(): Expected {dims + 1}D or {dims + 2}D tensor, but got {list(input.shape)}")
    sizes = each_way(output_size, dims)
    return tuple(have if size is None else size for size, have in zip(sizes, input.shape[-dims:], strict=True))

def adaptive_means(dims, input, output_size):
    """Return the means of as many windows as the output is to have elements."""
    size = full_sizes("adaptive_avg_pool", dims, input, output_size)
    if dims == 1:
        return adaptive_means(2, input.unsqueeze(-2), (1, *size)).squeeze(-2)
    if {*size} == {1}:
        return input.mean(tuple(range(-1, -dims - 1, -1)), keepdim=True)
    return TENSORS[f"adaptive_avg_pool{dims}d"](input, size)

def offer(dims):
    """Give the poolings over so many dimensions their names."""
    keys = "max_pool{}d_with_indices", "avg_pool{}d", "adaptive_max_pool{}d"
    largest, means, shares = (key.format(max(dims, 2)) for key in keys)
    usual = (lambda kernel_size: kernel_size) if dims == 1 else (lambda kernel_size: ())

    @public_names(f"F.max_pool{dims}d torch.max_pool{dims}d")
    def max_pool(input, kernel_size: Ints, stride: Ints | None = None, padding: Ints = 0, dilation: Ints = 1,
                 ceil_mode: bool = False, return_indices: bool = False):
        sizes = (kernel_size, 1), (stride or usual(kernel_size), 1), (padding, 0), (dilation, 1)
        lacks("max_pool1d_impl", "" if dims > 1 or return_indices else "biuc")(input._array)
        result = pooled(largest, dims, input, *sizes, options=(ceil_mode,))
        return tuple(result) if return_indices else result[0]

    @public_names(f"F.avg_pool{dims}d" + " torch.avg_pool1d" * (dims == 1))
    def avg_pool(input, kernel_size: Ints, stride: Ints | None = None, padding: Ints = 0, ceil_mode: bool = False,
                 count_include_pad: bool = True, divisor_override: int | None = None):
        sizes = (kernel_size, 1), (stride or usual(kernel_size), 1), (padding, 0)
        return pooled(means, dims, input, *sizes, options=(ceil_mode, count_include_pad, divisor_override))

    @public_names(f"F.adaptive_avg_pool{dims}d" + " torch.adaptive_avg_pool1d" * (dims == 1))
    def adaptive_avg_pool(input, output_size: object):
        return adaptive_means(dims, input, output_size)

    if dims < 3:

        @public_names(f"F.adaptive_max_pool{dims}d")
        def adaptive_max_pool(input, output_size: object, return_indices: bool = False):
            size = full_sizes("adaptive_max_pool", dims, input, output_size)
            result = pooled(shares, dims, input, (size, 1))
            return tuple(result) if return_indices else result[0]

for dims in (1, 2, 3):
    offer(dims)

# ------------------------------------------------------------------ zeros around
@op("ConstantPadNdBackward0", rounding="none", self="constant_pad_nd(grad, negated(pad), 0)")
def constant_pad_nd(self, pad, value=0):
    pairs = [(0, 0)] * (self.ndim - len(pad) // 2) + [pad[i : i + 2] for i in range(len(pad) - 2, -1, -2)]
    refuse(any(n + min(a, 0) + min(b, 0) < 0 for n, (a, b) in zip(self.shape, pairs, strict=True)),
           "narrow(): length must be non-negative.")
    part = self[tuple(slice(max(-a, 0), n - max(-b, 0)) for n, (a, b) in zip(self.shape, pairs, strict=True))]
    return part.copy("K") if not any(map(any, pairs)) else np.pad(
        np.asanyarray(part, order="C"), [(max(a, 0), max(b, 0)) for a, b in pairs],
        constant_values=number(value if self.dtype.kind in "bc" else float(value), self.dtype))

# ------------------------------------------------------------------ back to where the largest were
def unpooled(self, indices, output_size):
    """Return zeros of a size with the elements at their places in each channel."""
    lead, count = self.shape[: -len(output_size)], int(np.prod(output_size))
    refuse(indices.size and not (indices.min() >= 0 and indices.max() < count),
           f"Found an invalid max index: {indices.max(initial=0)} (output volumes are of size "
           f"{'x'.join(map(str, output_size))}")
    flat = np.zeros((*lead, count), self.dtype)
    np.put_along_axis(flat, indices.reshape(*lead, -1), self.reshape(*lead, -1), -1)
    return flat.reshape(*lead, *output_size)

for dims in (2, 3):
    row(f"max_unpool{dims}d", f"MaxUnpool{dims}DBackward0", unpooled, nondiff=("indices",), promote="none",
        self=f"max_pool_double_backward(grad, indices, {dims})")
