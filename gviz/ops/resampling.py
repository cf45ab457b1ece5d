"""Resampling: reflected and replicated borders, image patches as columns, pixels shuffled; images resized in ``resizing.py``.

Along each of the last dimensions an element of the result is a weighted sum of a few elements of the input, its taps. A tap is
an index into the input for each element of the result, with weights, or without (one tap of weight 1). The gradient goes the
same way back.

Source: PyTorch's derivatives.yaml, and ReflectionPad.cpp, ReplicationPadding.cpp, Im2Col.cpp and PixelShuffle.cpp; Shi
et al. (2016) for the latter.
"""

from __future__ import annotations

from math import prod

import numpy as np

from gviz.ops.convolution import each_way, folded, padded, windows
from gviz.ops.indexing import at
from gviz.ops.rows import TENSORS, lacks, op, public_names, refuse, row


def resample(array, taps):
    """Return the array with its last dimensions resampled: ``taps`` has a list of (index, weights) for each."""
    for axis, along in enumerate(taps, array.ndim - len(taps)):
        wide = (-1, *(1,) * (array.ndim - axis - 1))
        parts = [array.take(index, axis) * (1 if weight is None else weight.reshape(wide)) for index, weight in along]
        array = sum(parts[1:], parts[0])
    return array

def resample_backward(grad, taps, sizes):
    """Return the gradient of :func:`resample` for an array whose last dimensions have those sizes.

    It is added up in rounds. In each round an element of the input gets at most one part.
    """
    for axis, (along, size) in enumerate(zip(taps, sizes, strict=True), grad.ndim - len(taps)):
        total = np.zeros((*grad.shape[:axis], size, *grad.shape[axis + 1 :]), grad.dtype)
        for index, weight in along:
            order = np.argsort(index, kind="stable")
            rounds = np.arange(index.size) - np.searchsorted(index[order], index[order])
            for number in range(rounds.max(initial=-1) + 1):
                some = order[rounds == number]
                part = grad.take(some, axis)
                if weight is not None:
                    part *= weight[some].reshape(-1, *(1,) * (grad.ndim - axis - 1))
                total[at(axis, slice(None) if some.size == size else index[some])] += part
        grad = total
    return grad

# ------------------------------------------------------------------ borders
def border(array, padding, mode):
    """Return the taps of a border: for each dimension the elements' numbers, padded as numpy does; a negative number cuts."""
    taps = []
    for i, size in enumerate(array.shape[: -len(padding) // 2 - 1 : -1]):
        before, after = padding[2 * i : 2 * i + 2]
        if mode == "reflect" and max(before, after) >= size:
            raise RuntimeError("Argument #4: Padding size should be less than the corresponding input dimension, but got: "
                               f"padding ({before}, {after}) at dimension {array.ndim - 1 - i} of input {list(array.shape)}")
        wide = np.pad(np.arange(size), (max(before, 0), max(after, 0)), mode=mode)
        taps.append([(wide[max(-before, 0) : wide.size - max(-after, 0)], None)])
    return taps[::-1]

def bordered(kind, mode):
    """Store the rows of a border in one, two and three dimensions, and of its gradient."""

    def forward(self, padding):
        return resample(self, border(self, padding, mode))

    def backward(grad_output, self, padding):
        return resample_backward(grad_output, border(self, padding, mode), self.shape[-(len(padding) // 2) :])

    for dims in (1, 2, 3):
        key, node = f"{kind.lower()}_pad{dims}d", f"{kind}Pad{dims}D"
        row(key, f"{node}Backward0", forward, self=f"{key}_backward(grad, self, padding)")
        row(f"{key}_backward", f"{node}BackwardBackward0", backward, promote="none", grad_output=f"{key}(grad, padding)",
            self="zeros_like(grad)")

for kind, mode in (("Reflection", "reflect"), ("Replication", "edge")):
    bordered(kind, mode)

# ------------------------------------------------------------------ patches
@op("Im2ColBackward0", check=lacks("im2col_out_cpu", "iu"),
    self="col2im(grad, (self_sym_argsize_minus_2, self_sym_argsize_minus_1), kernel_size, dilation, padding, stride)")
def im2col(self, kernel_size, dilation, padding, stride):
    space = self.shape[-2:]
    blocks = blocks_of(space, kernel_size, dilation, padding, stride)
    refuse(min(blocks) < 1, f"Given input with spatial size {space}, kernel_size={kernel_size}, dilation={dilation}, "
           f"padding={padding}, calculated shape of the array of sliding blocks as {blocks}, but its "
           "components must be at least one.")
    patches = windows(padded(self.reshape(-1, *self.shape[-3:]), padding), kernel_size, stride, dilation)
    return patches.transpose(0, 1, 4, 5, 2, 3).reshape(*self.shape[:-3], prod((self.shape[-3], *kernel_size)), prod(blocks))

@op("Col2ImBackward0", check=lacks("col2im_out_cpu", "iu"), self="im2col(grad, kernel_size, dilation, padding, stride)")
def col2im(self, output_size, kernel_size, dilation, padding, stride):
    area, (rows, cols) = kernel_size[0] * kernel_size[1], blocks_of(output_size, kernel_size, dilation, padding, stride)
    refuse(self.shape[-2] % area,
           "Expected size of input's dimension 1 to be divisible by the product of kernel_size, but got "
           f"input.size(1)={self.shape[-2]} and kernel_size={kernel_size}.")
    refuse(self.shape[-1] != rows * cols,
           f"Given output_size={output_size}, kernel_size={kernel_size}, dilation={dilation}, "
           f"padding={padding}, stride={stride}, expected size of input's dimension 2 to match the calculated "
           f"number of sliding blocks {rows} * {cols} = {rows * cols}, but got input.size(2)={self.shape[-1]}.")
    parts = self.reshape(*self.shape[:-2], self.shape[-2] // area, *kernel_size, rows, cols)
    return folded(parts, output_size, stride, padding, dilation)

def blocks_of(space, *sizes):
    """Return how many windows there are along each dimension."""
    high, wide = sizes[-1]
    refuse(min(high, wide) < 1,
           f"stride should be greater than zero, but got stride_height: {high} stride_width: {wide}")
    return tuple((n + 2 * p - d * (k - 1) - 1) // s + 1 for n, k, d, p, s in zip(space, *sizes, strict=True))

@public_names("F.unfold")
def unfold(input, kernel_size: Ints, dilation: Ints = 1, padding: Ints = 0, stride: Ints = 1):
    """Return every window of an image as a column."""
    return TENSORS["im2col"](input, *(each_way(value, 2) for value in (kernel_size, dilation, padding, stride)))

@public_names("F.fold")
def fold(input, output_size: Ints, kernel_size: Ints, dilation: Ints = 1, padding: Ints = 0, stride: Ints = 1):
    """Return columns added up where their windows are in an image: what :func:`unfold` took apart."""
    return TENSORS["col2im"](input, *(each_way(value, 2) for value in (output_size, kernel_size, dilation, padding, stride)))

# ------------------------------------------------------------------ pixels
@op("PixelShuffleBackward0", "F.pixel_shuffle torch.pixel_shuffle", self="pixel_unshuffle(grad, upscale_factor)")
def pixel_shuffle(self, upscale_factor: int):
    refuse(self.ndim < 3, f"pixel_shuffle expects input to have at least 3 dimensions, but got input with {self.ndim} "
           "dimension(s)")
    r, (channels, height, width) = upscale_factor, self.shape[-3:]
    refuse(channels % (r * r), "pixel_shuffle expects its input's 'channel' dimension to be divisible by the square of "
           f"upscale_factor, but input.size(-3)={channels} is not divisible by {r * r}")
    split = self.reshape(prod(self.shape[:-3]), channels // (r * r), r, r, height, width).transpose(0, 1, 4, 2, 5, 3)
    return split.reshape(*self.shape[:-3], channels // (r * r), height * r, width * r)

@op("PixelUnshuffleBackward0", "F.pixel_unshuffle torch.pixel_unshuffle", self="pixel_shuffle(grad, downscale_factor)")
def pixel_unshuffle(self, downscale_factor: int):
    refuse(self.ndim < 3,
           f"pixel_unshuffle expects input to have at least 3 dimensions, but got input with {self.ndim} "
           "dimension(s)")
    r, (channels, height, width) = downscale_factor, self.shape[-3:]
    for side, size, place in (("height", height, 2), ("width", width, 1)):
        refuse(size % r, f"pixel_unshuffle expects {side} to be divisible by downscale_factor, but "
               f"input.size(-{place})={size} is not divisible by {r}")
    split = self.reshape(prod(self.shape[:-3]), channels, height // r, r, width // r, r).transpose(0, 1, 3, 5, 2, 4)
    return split.reshape(*self.shape[:-3], channels * r * r, height // r, width // r) if self.size else self  # as PyTorch has it
