"""Convolutions and poolings as functions: one number or one for each dimension, with or without a batch."""

from __future__ import annotations

from operator import index
from typing import TYPE_CHECKING, Any

from gviz.autograd.row import TENSORS as call
from gviz.numbers.words import warn_once
from gviz.ops import convolution as _convolution  # noqa: F401 - stores its rows
from gviz.ops import pooling as _pooling  # noqa: F401

if TYPE_CHECKING:
    Tensor = Any  # whose methods the table gives

__all__ = [
    "adaptive_avg_pool1d", "adaptive_avg_pool2d", "adaptive_avg_pool3d", "adaptive_max_pool1d", "adaptive_max_pool2d",
    "avg_pool1d", "avg_pool2d", "avg_pool3d", "conv1d", "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d",
    "conv_transpose3d", "max_pool1d", "max_pool2d", "max_pool3d",
]  # fmt: skip


def tuple_of(value: Any, count: int) -> tuple[int, ...]:
    """Return one number for every dimension: the same, or those that were given; one dimension may be given any number."""
    numbers = tuple(map(index, value)) if isinstance(value, tuple | list) else (index(value),)
    if len(numbers) not in (1, count) and count > 1:
        raise RuntimeError(f"expected a single integer value or a list of {count} values, but got {list(numbers)}")
    return numbers * count if len(numbers) == 1 else numbers


# ------------------------------------------------------------------ convolutions
def convolve(
    dims: int, input: Tensor, weight: Tensor, bias: Tensor | None, stride: Any, padding: Any, dilation: Any, groups: int,
    output_padding: Any = None,
) -> Tensor:  # fmt: skip
    """Return a convolution over the last ``dims`` dimensions; transposed where there is an output padding."""
    if input.ndim not in (dims + 1, dims + 2):
        name = f"conv{dims}d" if output_padding is None else f"conv_transpose{dims}d"
        sizes = f"{dims + 1}D (unbatched) or {dims + 2}D (batched)"
        raise RuntimeError(f"Expected {sizes} input to {name}, but got input of size: {list(input.shape)}")
    if input.ndim == dims + 1:
        result = convolve(dims, input.unsqueeze(0), weight, bias, stride, padding, dilation, groups, output_padding)
        return result.squeeze(0)
    if bias is not None and bias.dtype is not input.dtype:
        raise RuntimeError(f"Input type ({input.dtype.c_name}) and bias type ({bias.dtype.c_name}) should be the same")
    if weight.dtype is not input.dtype:
        raise RuntimeError(f"expected scalar type {input.dtype.scalar_name} but found {weight.dtype.scalar_name}")
    stride, dilation = tuple_of(stride, dims), tuple_of(dilation, dims)
    if min(stride) <= 0:
        raise RuntimeError("non-positive stride is not supported")
    if padding == "same":
        if max(stride) > 1:
            raise RuntimeError("padding='same' is not supported for strided convolutions")
        input, padding = same_padding(input, weight.shape[2:], dilation)
    padding = (0,) if padding == "valid" else tuple_of(padding, dims)
    more = tuple_of(output_padding or 0, len(padding))
    if output_padding is not None and any(p >= s and p >= d for p, s, d in zip(more, stride, dilation, strict=True)):
        facts = f"output_padding={more}, stride={stride} and dilation={dilation}"
        raise RuntimeError(f"output padding must be smaller than either stride or dilation, but got {facts}")
    return call["convolution"](input, weight, bias, stride, padding, dilation, output_padding is not None, more, groups)


def same_padding(input: Tensor, kernel: tuple[int, ...], dilation: tuple[int, ...]) -> tuple[Tensor, tuple[int, ...]]:
    """Return the padding that keeps the size, half on either side; what is odd is padded to the input beforehand."""
    total = [d * (k - 1) for d, k in zip(dilation, kernel, strict=True)]
    if any(t % 2 for t in total):
        warn_once(
            "Using padding='same' with even kernel lengths and odd dilation may require a zero-padded copy of the input be "
            "created"
        )
        input = call["constant_pad_nd"](input, tuple(n for t in reversed(total) for n in (0, t % 2)), 0)
    return input, tuple(t // 2 for t in total)


def convolution(dims: int) -> Any:
    """Return the public convolution over so many dimensions."""

    def apply(
        input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: Any = 1, padding: Any = 0, dilation: Any = 1,
        groups: int = 1,
    ) -> Tensor:  # fmt: skip
        return convolve(dims, input, weight, bias, stride, padding, dilation, groups)

    return apply


def transposed(dims: int) -> Any:
    """Return the public transpose of :func:`convolution`."""

    def apply(
        input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: Any = 1, padding: Any = 0, output_padding: Any = 0,
        groups: int = 1, dilation: Any = 1,
    ) -> Tensor:  # fmt: skip
        return convolve(dims, input, weight, bias, stride, padding, dilation, groups, tuple_of(output_padding, dims))

    return apply


conv1d, conv2d, conv3d = map(convolution, (1, 2, 3))
conv_transpose1d, conv_transpose2d, conv_transpose3d = map(transposed, (1, 2, 3))


# ------------------------------------------------------------------ poolings
def pooled(dims: int, row: str, input: Tensor, kernel_size: Any, stride: Any, padding: Any, *more: Any) -> Any:
    """Return what a row of poolings gives; along one dimension that of an image one pixel high.

    Args:
        dims: how many of the last dimensions are pooled.
        row: of the table, for two or three dimensions.
        input: with or without a batch.
        kernel_size: of the windows.
        stride: None for the size of the windows.
        padding: on either side.
        more: further options; a dilation is the first of them.
    """
    if input.ndim not in (dims + 1, dims + 2):
        raise RuntimeError(f"non-empty {dims + 1}D or {dims + 2}D (batch mode) tensor expected for input")
    if dims > 1:
        stride = () if stride in (None, (), []) else tuple_of(stride, dims)
        return call[row](input, tuple_of(kernel_size, dims), stride, tuple_of(padding, dims), *more)
    kernel_size = tuple_of(kernel_size, 1)
    stride = tuple_of(stride, 1) if stride else kernel_size
    return flat(row, input, (1, *kernel_size), (1, *stride), (0, *tuple_of(padding, 1)), *more)


def flat(row: str, input: Tensor, *options: Any) -> Any:
    """Return what a row gives for an image one pixel high, without its height."""
    result = call[row](input.unsqueeze(-2), *options)
    return tuple(one.squeeze(-2) for one in result) if isinstance(result, tuple) else result.squeeze(-2)


def largest(dims: int) -> Any:
    """Return the public pooling that gives the largest element of each window, and its place if that is asked for."""

    def apply(
        input: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1, ceil_mode: bool = False,
        return_indices: bool = False,
    ) -> Any:  # fmt: skip
        dilation = (1, *tuple_of(dilation, 1)) if dims == 1 else tuple_of(dilation, dims)
        row = f"max_pool{max(dims, 2)}d_with_indices"
        result = pooled(dims, row, input, kernel_size, stride, padding, dilation, ceil_mode)
        return tuple(result) if return_indices else result[0]

    return apply


def means(dims: int) -> Any:
    """Return the public pooling that gives the mean of each window."""

    def apply(
        input: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0, ceil_mode: bool = False,
        count_include_pad: bool = True, divisor_override: int | None = None,
    ) -> Tensor:  # fmt: skip
        row, options = f"avg_pool{max(dims, 2)}d", (ceil_mode, count_include_pad, divisor_override)
        return pooled(dims, row, input, kernel_size, stride, padding, *options)

    return apply


max_pool1d, max_pool2d, max_pool3d = map(largest, (1, 2, 3))
avg_pool1d, avg_pool2d, avg_pool3d = map(means, (1, 2, 3))


# ------------------------------------------------------------------ adaptive poolings
def output_sizes(input: Tensor, output_size: Any, dims: int) -> tuple[int, ...]:
    """Return the output's sizes along the last dimensions; where one is None it is the input's."""
    sizes = tuple(output_size) if isinstance(output_size, tuple | list) else (output_size,) * dims
    if len(sizes) != dims:
        raise RuntimeError(f"output_size must be {dims} numbers, but got {list(sizes)}")
    return tuple(input.shape[i - dims] if size is None else size for i, size in enumerate(sizes))


def adaptive_means(dims: int) -> Any:
    """Return the public pooling that gives the means of as many windows as the output is to have."""

    def apply(input: Tensor, output_size: Any) -> Tensor:
        if dims == 1:
            return adaptive_avg_pool2d(input.unsqueeze(-2), (1, *tuple_of(output_size, 1))).squeeze(-2)
        if {*(size := output_sizes(input, output_size, dims))} == {1}:
            return input.mean(tuple(range(-1, -dims - 1, -1)), keepdim=True)
        return call[f"adaptive_avg_pool{dims}d"](input, size)

    return apply


def adaptive_largest(dims: int) -> Any:
    """Return the public pooling that gives the largest elements of as many windows, and their places if asked for them."""

    def apply(input: Tensor, output_size: Any, return_indices: bool = False) -> Any:
        size = output_sizes(input, output_size, dims)
        result = flat("adaptive_max_pool2d", input, (1, *size)) if dims == 1 else call["adaptive_max_pool2d"](input, size)
        return tuple(result) if return_indices else result[0]

    return apply


adaptive_avg_pool1d, adaptive_avg_pool2d, adaptive_avg_pool3d = map(adaptive_means, (1, 2, 3))
adaptive_max_pool1d, adaptive_max_pool2d = map(adaptive_largest, (1, 2))
