"""Resampling: reflected and replicated borders, image patches as columns, pixels shuffled; images resized in ``resizing.py``.

Along each of the last dimensions an element of the result is a weighted sum of a few elements of the input, its taps. A tap is
an index into the input for each element of the result, with weights, or without (one tap of weight 1). The gradient goes the
same way back.
"""

from __future__ import annotations

from math import prod

import numpy as np

from gviz.autograd.row import composite, op
from gviz.ops.convolution import folded, padded, windows
from gviz.ops.rows import row


def taken(array, taps):
    """The array with its last dimensions resampled: ``taps`` has a list of (index, weights) for each."""
    for axis, along in enumerate(taps, array.ndim - len(taps)):
        wide = (-1, *(1,) * (array.ndim - axis - 1))
        parts = [array.take(index, axis) * (1 if weight is None else weight.reshape(wide)) for index, weight in along]
        array = sum(parts[1:], parts[0])
    return array


def given_back(grad, taps, sizes):
    """The gradient of :func:`taken` for an array whose last dimensions have those sizes."""
    for axis, (along, size) in enumerate(zip(taps, sizes, strict=True), grad.ndim - len(taps)):
        moved = np.moveaxis(grad, axis, 0)
        total = np.zeros((size, *moved.shape[1:]), grad.dtype)
        for index, weight in along:
            np.add.at(total, index, moved if weight is None else moved * weight.reshape(-1, *(1,) * (moved.ndim - 1)))
        grad = np.moveaxis(total, 0, axis)
    return np.ascontiguousarray(grad)


# ------------------------------------------------------------------ borders
def border(sizes, padding, mode):
    """The taps of a border: for each dimension the numbers of the elements, padded as numpy pads them."""
    pairs = [padding[i : i + 2] for i in range(len(padding) - 2, -1, -2)]
    return [[(bordered(n, a, b, mode), None)] for n, (a, b) in zip(sizes, pairs, strict=True)]


def bordered(size, before, after, mode):
    """The numbers of the elements along one dimension; a negative number cuts."""
    wide = np.pad(np.arange(size), (max(before, 0), max(after, 0)), mode=mode)
    return wide[max(-before, 0) : wide.size - max(-after, 0)]


def with_border(self, padding, mode):
    """A border that continues what is inside; refuses to reflect more than there is."""
    dims = len(padding) // 2
    sizes = self.shape[-dims:]
    for i, size in enumerate(reversed(sizes)):
        if mode == "reflect" and max(padding[2 * i : 2 * i + 2]) >= size:
            raise RuntimeError(
                "Argument #4: Padding size should be less than the corresponding input dimension, but got: padding "
                f"({padding[2 * i]}, {padding[2 * i + 1]}) at dimension {self.ndim - 1 - i} of input {list(self.shape)}"
            )
    return taken(self, border(sizes, padding, mode))


def border_back(grad, self, padding, mode):
    """The gradient of :func:`with_border`."""
    sizes = self.shape[-(len(padding) // 2) :]
    return given_back(grad, border(sizes, padding, mode), sizes)


for kind, forward, backward in (
    (
        "Reflection",
        lambda self, padding: with_border(self, padding, "reflect"),
        lambda grad_output, self, padding: border_back(grad_output, self, padding, "reflect"),
    ),
    (
        "Replication",
        lambda self, padding: with_border(self, padding, "edge"),
        lambda grad_output, self, padding: border_back(grad_output, self, padding, "edge"),
    ),
):
    for count in (1, 2, 3):
        key, node = f"{kind.lower()}_pad{count}d", f"{kind}Pad{count}D"
        row(key, f"{node}Backward0", forward, self=f"{key}_backward(grad, self, padding)")
        second = {"grad_output": f"{key}(grad, padding)", "self": "zeros_like(grad)"}
        row(f"{key}_backward", f"{node}BackwardBackward0", backward, promote="none", **second)


# ------------------------------------------------------------------ patches and pixels
@op(
    "Im2ColBackward0",
    self="col2im(grad, (self_sym_argsize_minus_2, self_sym_argsize_minus_1), kernel_size, dilation, padding, stride)",
)
def im2col(self, kernel_size, dilation, padding, stride):
    full = self.reshape(-1, *self.shape[-3:])
    seen = windows(padded(full, padding, padding), kernel_size, stride, dilation)
    found = seen.transpose(0, 1, 4, 5, 2, 3)
    return found.reshape(*self.shape[:-3], self.shape[-3] * kernel_size[0] * kernel_size[1], seen.shape[2] * seen.shape[3])


@op("Col2ImBackward0", self="im2col(grad, kernel_size, dilation, padding, stride)")
def col2im(self, output_size, kernel_size, dilation, padding, stride):
    (kh, kw), (dh, dw), (ph, pw), (sh, sw) = kernel_size, dilation, padding, stride
    height, width = output_size
    if self.shape[-2] % (kh * kw):
        raise RuntimeError(
            f"Expected size of input's dimension 1 to be divisible by the product of kernel_size, but got "
            f"input.size(1)={self.shape[-2]} and kernel_size=({kh}, {kw})."
        )
    rows, cols = (height + 2 * ph - dh * (kh - 1) - 1) // sh + 1, (width + 2 * pw - dw * (kw - 1) - 1) // sw + 1
    if self.shape[-1] != rows * cols:
        raise RuntimeError(
            f"Given output_size=({height}, {width}), kernel_size=({kh}, {kw}), dilation=({dh}, {dw}), padding=({ph}, {pw}), "
            f"stride=({sh}, {sw}), expected size of input's dimension 2 to match the calculated number of sliding blocks "
            f"{rows} * {cols} = {rows * cols}, but got input.size(2)={self.shape[-1]}."
        )
    parts = self.reshape(*self.shape[:-2], self.shape[-2] // (kh * kw), kh, kw, rows, cols)
    return folded(parts, output_size, stride, padding, dilation)


@op("PixelShuffleBackward0", self="pixel_unshuffle(grad, upscale_factor)")
def pixel_shuffle(self, upscale_factor):
    if self.ndim < 3:
        raise RuntimeError(
            f"pixel_shuffle expects input to have at least 3 dimensions, but got input with {self.ndim} dimension(s)"
        )
    r, (channels, height, width) = upscale_factor, self.shape[-3:]
    if channels % (r * r):
        raise RuntimeError(
            "pixel_shuffle expects its input's 'channel' dimension to be divisible by the square of upscale_factor, but "
            f"input.size(-3)={channels} is not divisible by {r * r}"
        )
    split = self.reshape(prod(self.shape[:-3]), channels // (r * r), r, r, height, width).transpose(0, 1, 4, 2, 5, 3)
    return split.reshape(*self.shape[:-3], channels // (r * r), height * r, width * r)


@op("PixelUnshuffleBackward0", self="pixel_shuffle(grad, downscale_factor)")
def pixel_unshuffle(self, downscale_factor):
    r, (channels, height, width) = downscale_factor, self.shape[-3:]
    for size, side in ((height, "height"), (width, "width")):
        if size % r:
            raise RuntimeError(
                f"pixel_unshuffle expects {side} to be divisible by downscale_factor, but "
                f"input.size(-{2 if side == 'height' else 1})={size} is not divisible by {r}"
            )
    split = self.reshape(prod(self.shape[:-3]), channels, height // r, r, width // r, r).transpose(0, 1, 3, 5, 2, 4)
    return split.reshape(*self.shape[:-3], channels * r * r, height // r, width // r)


@op("ChannelShuffleBackward0", self="channel_shuffle_backward(grad, groups)")
def channel_shuffle(self, groups):
    if self.ndim < 3:
        raise RuntimeError(f"channel_shuffle expects input with > 2 dims, but got input with sizes {list(self.shape)}")
    if groups <= 0:
        raise RuntimeError(f"Number of groups to divide channels in must be positive. Value of groups:{groups}")
    if self.shape[1] % groups:
        raise RuntimeError(f"Number of channels must be divisible by groups. Got {self.shape[1]} channels and {groups} groups.")
    split = self.reshape(self.shape[0], groups, self.shape[1] // groups, *self.shape[2:])
    return split.swapaxes(1, 2).reshape(self.shape)


@composite
def channel_shuffle_backward(grad, groups):
    """The shuffle that undoes one."""
    return channel_shuffle(grad, grad.shape[1] // groups)
