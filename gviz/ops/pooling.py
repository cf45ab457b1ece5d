"""Pooling, padding and embedding: windows of an input, zeros around it, rows looked up."""

from __future__ import annotations

from functools import reduce

import numpy as np

from gviz.numbers.dtypes import of
from gviz.numbers.words import type_name
from gviz.autograd.formulas import parameters
from gviz.autograd.row import composite, op
from gviz.ops.convolution import folded, windows
from gviz.ops.rows import row


def pooled_size(size, kernel, stride, padding, dilation, ceil_mode):
    """How many windows there are along a dimension; with ceil_mode one more where something is left over."""
    room = size + 2 * padding - dilation * (kernel - 1) - 1
    count = -(-room // stride) + 1 if ceil_mode else room // stride + 1
    return count - 1 if ceil_mode and (count - 1) * stride >= size + padding else count


def check_windows(array, kernel, stride, padding, dilation, name):
    """Refuse windows that cannot be, or an input that has none."""
    dims = len(kernel)
    for s, p, k, d in zip(stride, padding, kernel, dilation, strict=True):
        if s == 0:
            raise RuntimeError("stride should not be zero")
        if p < 0:
            raise RuntimeError(f"pad must be non-negative, but got pad: {p}")
        if p * 2 > (k - 1) * d + 1:
            raise RuntimeError(
                f"pad should be at most half of effective kernel size, but got pad={p}, kernel_size={k} and dilation={d}"
            )
    for sizes, what, short in ((kernel, "kernel size", "k"), (stride, "stride", "d"), (dilation, "dilation", "dilation")):
        if min(sizes) <= 0:
            told = " ".join(f"{short}{letter}: {n}" for letter, n in zip("THW"[-dims:], sizes, strict=True))
            raise RuntimeError(f"{what} should be greater than zero, but got {told}")
    if 0 in array.shape[array.ndim - dims - 1 :]:
        raise RuntimeError(
            f"Expected 3D or 4D (batch mode) tensor with optional 0 dim batch size for input, but got:{list(array.shape)}"
            if dims == 2
            else f"{name}(): Expected input's non-batch dimensions to have positive length, but input has a shape of "
            f"{list(array.shape)} and non-batch dimension 0 has length zero!"
        )


def framed(array, kernel, stride, padding, dilation, ceil_mode, fill, name=""):
    """The input as (n, c, *space) with ``fill`` around it, as far as the windows reach; refuses where there is none."""
    dims = len(kernel)
    check_windows(array, kernel, stride, padding, dilation, name)
    sizes = array.shape[-dims:]
    if name == "avg_pool3d" and any(n + 2 * p < k for n, p, k in zip(sizes, padding, kernel, strict=True)):
        image, least = (
            " ".join(f"{short}{x}: {n}" for x, n in zip("THW", ns, strict=True)) for short, ns in (("", sizes), ("k", kernel))
        )
        raise RuntimeError(f"input image ({image}) smaller than kernel size ({least})")
    out = [pooled_size(*facts, ceil_mode) for facts in zip(sizes, kernel, stride, padding, dilation, strict=True)]
    full = array[None] if array.ndim == dims + 1 else array
    if min(out) < 1:
        channels = array.shape[-dims - 1]
        size, small = "x".join(map(str, (channels, *sizes))), "x".join(map(str, (channels, *out)))
        raise RuntimeError(f"Given input size: ({size}). Calculated output size: ({small}). Output size is too small")
    reach = [(n - 1) * s + d * (k - 1) + 1 for n, s, d, k in zip(out, stride, dilation, kernel, strict=True)]
    after = [max(r - n - p, 0) for r, n, p in zip(reach, sizes, padding, strict=True)]
    wide = np.pad(full, [(0, 0), (0, 0), *zip(padding, after, strict=True)], constant_values=fill)
    return wide[(slice(None), slice(None), *map(slice, reach))]


def greatest(rows):
    """Where the greatest element of each row is: the first of equal ones; the last that is not a number, if there is one."""
    nans = np.isnan(rows)
    return np.where(nans.any(-1), rows.shape[-1] - 1 - nans[..., ::-1].argmax(-1), rows.argmax(-1))


def largest(self, kernel_size, stride, padding, dilation, ceil_mode):
    """The largest element of each window, and its place in the input."""
    step, dims = stride or kernel_size, len(kernel_size)
    low = -np.inf if self.dtype.kind == "f" else np.iinfo(self.dtype).min
    wide = framed(self, kernel_size, step, padding, dilation, ceil_mode, low, f"max_pool{dims}d_with_indices_out_cpu_template")
    seen = windows(wide, kernel_size, step, dilation)
    flat = seen.reshape(*seen.shape[: dims + 2], int(np.prod(kernel_size)))
    best = greatest(flat)
    values = np.take_along_axis(flat, best[..., None], -1)[..., 0]
    indices = np.zeros(best.shape, np.int64)
    for axis, inside in enumerate(np.unravel_index(best, kernel_size)):
        first = np.arange(best.shape[axis + 2]).reshape(-1, *(1,) * (dims - 1 - axis)) * step[axis] - padding[axis]
        indices = indices * self.shape[axis - dims] + first + inside * dilation[axis]
    shape = (*self.shape[:-dims], *best.shape[2:])
    return values.reshape(shape), indices.reshape(shape)


def scattered(grad, indices, shape, dims):
    """Values added at flat indices into the last dimensions."""
    lead = int(np.prod(shape[:-dims]))
    flat = np.zeros((lead, int(np.prod(shape[-dims:]))), grad.dtype)
    each = int(np.prod(indices.shape[-dims:]))
    np.add.at(flat, (np.arange(lead)[:, None], indices.reshape(lead, each)), grad.reshape(lead, each))
    return flat.reshape(shape)


def unpooled(self, indices, output_size, dims):
    """Zeros in which the values stand at the places that a pooling has told; refuses places that are not there."""
    name = f"max_unpooling{dims}d"
    if indices.dtype != np.int64:
        raise RuntimeError(f"elements in indices should be type int64 but got: {of(indices.dtype).scalar_name}")
    if self.ndim not in (dims + 1, dims + 2):
        raise RuntimeError(
            f"Input to {name} should be a {dims + 1}d or {dims + 2}d Tensor, but got a tensor with {self.ndim} dimensions."
        )
    if self.shape != indices.shape:
        raise RuntimeError(
            f"Expected shape of indices to be same as that of the input tensor ({list(self.shape)}) but got indices tensor "
            f"with shape: {list(indices.shape)}"
        )
    wrong = indices[(indices < 0) | (indices >= np.prod(output_size))]
    if wrong.size:
        sizes = "x".join(map(str, output_size))
        raise RuntimeError(f"Found an invalid max index: {wrong[0]} (output volumes are of size {sizes})")
    lead = self.shape[:-dims]
    flat = np.zeros((*lead, int(np.prod(output_size))), self.dtype)
    np.put_along_axis(flat, indices.reshape(*lead, -1), self.reshape(*lead, -1), -1)
    return flat.reshape(*lead, *output_size)


@op("MaxUnpool2DBackward0", nondiff=("indices",), promote="none", self="max_pool_double_backward(grad, indices, 2)")
def max_unpool2d(self, indices, output_size):
    return unpooled(self, indices, output_size, 2)


@op("MaxUnpool3DBackward0", nondiff=("indices",), promote="none", self="max_pool_double_backward(grad, indices, 3)")
def max_unpool3d(self, indices, output_size):
    return unpooled(self, indices, output_size, 3)


@composite
def max_pool_double_backward(grad, indices, dims):
    """What was at the indices, as the result of the pooling has it."""
    lead = tuple(indices.shape[: len(indices.shape) - dims])
    sizes = [numel_of(value) // max(count_of(lead), 1) for value in (grad, indices)]
    found = gather(reshape(grad, (*lead, sizes[0])), -1, view(indices, (*lead, sizes[1])))
    return reshape(found, tuple(indices.shape))


def indexed(key, node, dims, forward, backward, options):
    """The rows of a pooling that gives the places of what it picked, and of its derivative."""
    formula = f"{key}_backward(grad, self, {options}result1)"
    row(key, f"{node}Backward0", forward, outputs=("result0", "result1"), self=formula)
    second = {"grad_output": f"max_pool_double_backward(grad, indices, {dims})", "self": "zeros_like(grad)"}
    row(f"{key}_backward", f"{node}BackwardBackward0", backward, nondiff=("indices",), promote="none", **second)


def scattered_windows(grad_output, self, kernel_size, stride, padding, dilation, ceil_mode, indices):
    """The gradient of :func:`largest`."""
    return scattered(grad_output, indices, self.shape, len(kernel_size))


for dims in (2, 3):
    key, node = f"max_pool{dims}d_with_indices", f"MaxPool{dims}DWithIndices"
    indexed(key, node, dims, largest, scattered_windows, "kernel_size, stride, padding, dilation, ceil_mode, ")


# ------------------------------------------------------------------ averages
def divisors(self, kernel_size, step, padding, ceil_mode, count_include_pad, divisor_override):
    """By what each window's sum is divided, not by zero."""
    if divisor_override == 0:
        raise RuntimeError("divisor must be not zero")
    if divisor_override:
        return np.asarray(divisor_override, self.dtype)
    counts = []
    for n, k, s, p in zip(self.shape[-len(kernel_size) :], kernel_size, step, padding, strict=True):
        start = np.arange(pooled_size(n, k, s, p, 1, ceil_mode)) * s - p
        end = np.minimum(start + k, n + p)
        counts.append(end - start if count_include_pad else np.minimum(end, n) - np.maximum(start, 0))
    return reduce(np.multiply.outer, counts).astype(self.dtype)


def summed(wide, kernel_size, step):
    """The sum of each window."""
    dims = len(kernel_size)
    return windows(wide, kernel_size, step, (1,) * dims).sum(tuple(range(-dims, 0)))


def averaged(self, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override):
    """The mean of each window."""
    step, dims = stride or kernel_size, len(kernel_size)
    wide = framed(self, kernel_size, step, padding, (1,) * dims, ceil_mode, 0, f"avg_pool{dims}d")
    total = summed(wide, kernel_size, step)
    total = total / divisors(self, kernel_size, step, padding, ceil_mode, count_include_pad, divisor_override)
    total = total.astype(self.dtype, copy=False)  # of integers towards zero
    return total.reshape(*self.shape[:-dims], *total.shape[2:])


def averaged_back(grad_output, self, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override):
    """The gradient of :func:`averaged`."""
    step, dims = stride or kernel_size, len(kernel_size)
    each = grad_output / divisors(self, kernel_size, step, padding, ceil_mode, count_include_pad, divisor_override)
    lead, still = each.shape[:-dims], (1,) * dims
    parts = np.broadcast_to(each.reshape(*lead, *still, *each.shape[-dims:]), (*lead, *kernel_size, *each.shape[-dims:]))
    return folded(parts, self.shape[-dims:], step, padding, still, order=-1)


for dims in (2, 3):
    key, node, options = f"avg_pool{dims}d", f"AvgPool{dims}D", ", ".join(parameters(averaged)[1:])
    row(key, f"{node}Backward0", averaged, self=f"{key}_backward(grad, self, {options})")
    second = {"grad_output": f"{key}(grad, {options})", "self": "zeros_like(grad)"}
    row(f"{key}_backward", f"{node}BackwardBackward0", averaged_back, promote="none", **second)


def shares(sizes, output_size):
    """The place of each adaptive window in the result, and what it sees of the input."""
    for place in np.ndindex(*output_size):
        facts = zip(place, sizes, output_size, strict=True)
        yield (..., *place), (..., *(slice(i * n // o, -(-(i + 1) * n // o)) for i, n, o in facts))


def shared_out(self, output_size):
    """The means of adaptive windows, each summed one by one as in PyTorch."""
    dims = len(output_size)
    check_adaptive(f"adaptive_avg_pool{dims}d", self, dims)
    check_sizes(self, output_size)
    found, wide = np.empty((*self.shape[:-dims], *output_size), self.dtype), np.result_type(self, np.float32)
    for place, span in shares(self.shape[-dims:], output_size):
        seen = self[span]
        flat = seen.reshape(*self.shape[:-dims], int(np.prod(seen.shape[-dims:])))
        found[place] = reduce(np.divide, seen.shape[-dims:], flat.cumsum(-1, dtype=wide)[..., -1])
    return found


def shared_back(grad, array, dims):
    """The gradient of :func:`shared_out`."""
    found = np.zeros(array.shape, grad.dtype)
    for place, span in shares(array.shape[-dims:], grad.shape[-dims:]):
        seen = found[span]
        seen += reduce(np.divide, seen.shape[-dims:], grad[place])[(..., *[None] * dims)]
    return found


def check_adaptive(name, array, dims, got="but got"):
    """Refuse what is no image (or volume), or an empty one."""
    if array.ndim not in (dims + 1, dims + 2):
        raise RuntimeError(f"{name}(): Expected {dims + 1}D or {dims + 2}D tensor, {got} {list(array.shape)}")
    for i, size in enumerate(array.shape[-dims:], array.ndim - dims):
        if size == 0:
            raise RuntimeError(
                f"{name}(): Expected input to have non-zero size for non-batch dimensions, but input has sizes "
                f"{list(array.shape)} with dimension {i} being empty"
            )


def check_sizes(array, output_size):
    """Refuse a negative size."""
    if min(output_size) < 0:
        shape = [*array.shape[: -len(output_size)], *output_size]
        raise RuntimeError(f"Trying to create tensor with negative dimension {min(output_size)}: {shape}")


SHARED_BACK = {
    2: lambda grad_output, self: shared_back(grad_output, self, 2),
    3: lambda grad_output, self: shared_back(grad_output, self, 3),
}
for dims, backward in SHARED_BACK.items():
    key, node = f"adaptive_avg_pool{dims}d", f"AdaptiveAvgPool{dims}D"
    sizes = ", ".join(f"grad_output_sym_argsize_minus_{i}" for i in range(dims, 0, -1))
    row(key, f"{node}Backward0", shared_out, self=f"{key}_backward(grad, self)")
    second = {"grad_output": f"{key}(grad, ({sizes}))", "self": "zeros_like(grad)"}
    row(f"{key}_backward", f"{node}BackwardBackward0", backward, promote="none", **second)


def largest_of_shares(self, output_size):
    """The largest element of each adaptive window, and its place in the input."""
    dims = len(output_size)
    check_adaptive(f"adaptive_max_pool{dims}d", self, dims, "but got:")
    check_sizes(self, output_size)
    sizes = self.shape[-dims:]
    numbers = np.arange(int(np.prod(sizes))).reshape(sizes)
    values = np.empty((*self.shape[:-dims], *output_size), self.dtype)
    indices = np.empty(values.shape, np.int64)
    for place, span in shares(sizes, output_size):
        inside = numbers[span].reshape(-1)
        flat = self[span].reshape(*self.shape[:-dims], inside.size)
        best = greatest(flat)
        values[place] = np.take_along_axis(flat, best[..., None], -1)[..., 0]
        indices[place] = inside[best]
    return values, indices


BACK = {
    2: lambda grad_output, self, indices: scattered(grad_output, indices, self.shape, 2),
    3: lambda grad_output, self, indices: scattered(grad_output, indices, self.shape, 3),
}
for dims, back in BACK.items():
    indexed(f"adaptive_max_pool{dims}d", f"AdaptiveMaxPool{dims}D", dims, largest_of_shares, back, "")


# ------------------------------------------------------------------ padding
@op("ConstantPadNdBackward0", self="constant_pad_nd(grad, negated(pad), 0)")
def constant_pad_nd(self, pad, value=0):
    pairs = [(0, 0)] * (self.ndim - len(pad) // 2) + [pad[i : i + 2] for i in range(len(pad) - 2, -1, -2)]
    if any(n + min(a, 0) + min(b, 0) < 0 for n, (a, b) in zip(self.shape, pairs, strict=True)):
        raise RuntimeError("narrow(): length must be non-negative.")
    cut = self[tuple(slice(max(-a, 0), n - max(-b, 0)) for n, (a, b) in zip(self.shape, pairs, strict=True))]
    return np.pad(np.asarray(cut, order="C"), [(max(a, 0), max(b, 0)) for a, b in pairs], constant_values=value)


# ------------------------------------------------------------------ embedding
@op(
    "EmbeddingBackward0",
    nondiff=("indices",),
    promote="none",
    saves=("sparse",),
    weight="embedding_dense_backward(grad, indices, weight_sym_argsize_0, padding_idx, scale_grad_by_freq)",
)
def embedding(weight, indices, padding_idx=-1, scale_grad_by_freq=False, sparse=False):
    if weight.ndim != 2:
        raise RuntimeError("'weight' must be 2-D")
    if indices.dtype not in (np.int64, np.int32):
        raise RuntimeError(
            "Expected tensor for argument #1 'indices' to have one of the following scalar types: Long, Int; but got "
            f"{'CPUBoolType' if indices.dtype == bool else type_name(indices.dtype)} instead (while checking arguments for "
            "embedding)"
        )
    if indices.size and (indices.min() < 0 or indices.max() >= weight.shape[0]):
        raise IndexError("index out of range in self")
    return weight[indices]


@op(
    "EmbeddingDenseBackwardBackward0",
    nondiff=("indices",),
    promote="none",
    grad_output="embedding_double_backward(grad, indices, padding_idx)",
)
def embedding_dense_backward(grad_output, indices, num_weights, padding_idx, scale_grad_by_freq):
    flat = indices.reshape(-1)
    rows = grad_output.reshape(flat.size, -1)
    keep = flat != padding_idx
    if scale_grad_by_freq:
        rows = rows / np.bincount(flat, minlength=num_weights)[flat][:, None].astype(rows.dtype)
    result = np.zeros((num_weights, grad_output.shape[-1]), grad_output.dtype)
    np.add.at(result, flat[keep], rows[keep])
    return result


@composite
def embedding_double_backward(grad, indices, padding_idx):
    """The gradient's rows where the indices say, nothing for padding."""
    rows = index_select(grad, 0, reshape(indices, (-1,)))
    if padding_idx >= 0:
        rows = masked_fill(rows, reshape(equal(indices, padding_idx), (-1, 1)), 0)
    return view(rows, (*indices.shape, -1))
