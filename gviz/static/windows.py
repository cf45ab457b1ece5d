"""Convolution and pooling as TensorFlow has them: channels come last, and padding may be uneven.

Sizes, strides and dilations are given for all four dimensions of a batch of images: examples, height, width, channels.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from typing import TypeAlias

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from gviz.numbers.words import refuse
from gviz.static.types import Array, ClashError, Dims

Sizes: TypeAlias = "Sequence[int]"
ONES = (1, 1, 1, 1)


def window_spans(size: Sizes, dilations: Sizes) -> tuple[int, ...]:
    """Return height and width of what a window covers."""
    return tuple((n - 1) * gap + 1 for n, gap in zip(size, dilations, strict=True))


def length_of(length: int | None, span: int, stride: int, padding: str) -> int | None:
    """Return how many windows there are along a dimension; ClashError if not even one fits."""
    if length is None:
        return None
    count = -(-length // stride) if padding == "SAME" else (length - span) // stride + 1
    refuse(count < 1, f"Negative dimension size caused by subtracting {span} from {length}", ClashError)
    return count


def pooled_dims(x: Dims, size: Sizes, strides: Sizes, padding: str, dilations: Sizes = ONES) -> Dims:
    """Return the shape of a pooled image; ClashError for what is no batch of images."""
    refuse(x is not None and len(x) != 4, f"Shape must be rank 4 but is rank {len(x or ())}", ClashError)
    facts = zip(x or (None,) * 4, window_spans(size, dilations), strides, strict=True)
    return tuple(length_of(n, span, stride, padding) for n, span, stride in facts)


def convolved_dims(x: Dims, filter: Dims, strides: Sizes, padding: str, dilations: Sizes) -> Dims:
    """Return the shape of a convolution; ClashError if the filter is for another number of channels."""
    if filter is None or None in filter:
        return (None,) * 4 if filter is None else (None, None, None, filter[-1])
    refuse(len(filter) != 4, f"Shape must be rank 4 but is rank {len(filter)}", ClashError)
    height, width, channels, out = (n or 0 for n in filter)
    dims = pooled_dims(x, (1, height, width, 1), strides, padding, dilations)
    has = None if x is None else x[-1]
    if has not in (None, channels):
        raise ClashError(f"Depth of input ({has}) is not a multiple of input depth of filter ({channels})")
    return (*(dims or ())[:3], out)


def with_frame(x: Array, size: Sizes, strides: Sizes, padding: str, dilations: Sizes, fill: float = 0.0) -> Array:
    """Return images with the padding around them."""
    if padding == "VALID":
        return x
    facts = zip(x.shape, window_spans(size, dilations), strides, strict=True)
    missing = [max((-(-n // stride) - 1) * stride + span - n, 0) for n, span, stride in facts]
    return np.pad(x, [(n // 2, n - n // 2) for n in missing], constant_values=fill)


def windows(x: Array, size: Sizes, strides: Sizes, padding: str, dilations: Sizes = ONES, fill: float = 0.0) -> Array:
    """Return all windows: examples x rows x columns x channels x height x width."""
    whole = with_frame(x, size, strides, padding, dilations, fill)
    view = sliding_window_view(whole, window_spans(size, dilations)[1:3], (1, 2))
    return view[:, :: strides[1], :: strides[2], :, :: dilations[1], :: dilations[2]]


def window_places(
    out: Array, shape: Sizes, size: Sizes, strides: Sizes, dilations: Sizes
) -> Iterator[tuple[int, int, Array]]:
    """Return for each element of a window its row and column in there, and the part of framed images that it covers."""
    for row, column in product(range(size[1]), range(size[2])):
        top, left = row * dilations[1], column * dilations[2]
        rows = slice(top, top + (shape[1] - 1) * strides[1] + 1, strides[1])
        yield row, column, out[:, rows, left : left + (shape[2] - 1) * strides[2] + 1 : strides[2]]


def unframed(whole: Array, x: Array) -> Array:
    """Return images without the padding around them."""
    starts = [(n - m) // 2 for n, m in zip(whole.shape, x.shape, strict=True)]
    return whole[tuple(slice(start, start + n) for start, n in zip(starts, x.shape, strict=True))]


# ------------------------------------------------------------------ convolution
def window_size(filter: Array) -> Sizes:
    """Return the size of the windows that a filter is for."""
    return (1, *filter.shape[:2], 1)


def convolution(x: Array, filter: Array, strides: Sizes, padding: str, dilations: Sizes) -> Array:
    """Return the filter times each window of some images."""
    views = windows(x, window_size(filter), strides, padding, dilations)
    return np.tensordot(views, filter, ([4, 5, 3], [0, 1, 2]))


def convolution_to_filter(
    part: Array, x: Array, filter: Array, strides: Sizes, padding: str, dilations: Sizes
) -> Array:
    """Return the gradient of a convolution for its filter."""
    views = windows(x, window_size(filter), strides, padding, dilations)
    return np.tensordot(views, part, ([0, 1, 2], [0, 1, 2])).transpose(1, 2, 0, 3)


def convolution_to_input(part: Array, x: Array, filter: Array, strides: Sizes, padding: str, dilations: Sizes) -> Array:
    """Return the gradient of a convolution for its images."""
    size = window_size(filter)
    whole = np.zeros_like(with_frame(x, size, strides, padding, dilations))
    for row, column, covered in window_places(whole, part.shape, size, strides, dilations):
        np.add(covered, part @ filter[row, column].T, out=covered)
    return unframed(whole, x)


# ------------------------------------------------------------------ pooling
def max_pool(x: Array, size: Sizes, strides: Sizes, padding: str) -> Array:
    """Return the largest element of each window."""
    return windows(x, size, strides, padding, fill=-np.inf).max((4, 5))


def max_pool_back(part: Array, x: Array, size: Sizes, strides: Sizes, padding: str) -> Array:
    """Return its gradient, which the first of the largest elements has."""
    views = windows(x, size, strides, padding, fill=-np.inf)
    first = views.reshape(*views.shape[:4], -1).argmax(-1)
    whole = np.zeros_like(with_frame(x, size, strides, padding, ONES))
    for row, column, covered in window_places(whole, part.shape, size, strides, ONES):
        np.add(covered, part * (first == row * size[2] + column), out=covered)
    return unframed(whole, x)


def window_counts(x: Array, size: Sizes, strides: Sizes, padding: str) -> Array:
    """Return how many elements each window has: padding does not count."""
    return windows(np.ones_like(x[:1, :, :, :1]), size, strides, padding).sum((4, 5))


def avg_pool(x: Array, size: Sizes, strides: Sizes, padding: str) -> Array:
    """Return the mean of each window."""
    return windows(x, size, strides, padding).sum((4, 5)) / window_counts(x, size, strides, padding)


def avg_pool_back(part: Array, shape: Array, size: Sizes, strides: Sizes, padding: str) -> Array:
    """Return its gradient, of which each element of a window has the same share, for images of a shape."""
    x = np.empty(tuple(shape), part.dtype)
    whole, share = (
        np.zeros_like(with_frame(x, size, strides, padding, ONES)),
        part / window_counts(x, size, strides, padding),
    )
    for _, _, covered in window_places(whole, part.shape, size, strides, ONES):
        np.add(covered, share, out=covered)
    return unframed(whole, x)
