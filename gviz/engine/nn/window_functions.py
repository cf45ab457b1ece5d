"""Convolutions and poolings as functions: one number or one for each dimension, with or without a batch."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gviz.numbers.words import warn_once
from gviz.engine.nn.checks import check_one_type, check_output_padding, check_sizes, check_space, check_steps
from gviz.autograd.row import TENSORS as call
from gviz.ops import convolution as _convolution  # noqa: F401 - stores its rows
from gviz.ops import pooling as _pooling
from gviz.autograd.tensor import Tensor

__all__ = [
    "adaptive_avg_pool1d", "adaptive_avg_pool2d", "adaptive_avg_pool3d", "adaptive_max_pool1d",
    "adaptive_max_pool1d_with_indices", "adaptive_max_pool2d", "adaptive_max_pool2d_with_indices", "adaptive_max_pool3d",
    "adaptive_max_pool3d_with_indices", "avg_pool1d", "avg_pool2d", "avg_pool3d", "conv1d", "conv2d", "conv3d",
    "conv_transpose1d", "conv_transpose2d", "conv_transpose3d", "lp_pool1d", "lp_pool2d", "lp_pool3d", "max_pool1d",
    "max_pool1d_with_indices", "max_pool2d", "max_pool2d_with_indices", "max_pool3d", "max_pool3d_with_indices",
    "max_unpool1d", "max_unpool2d", "max_unpool3d",
]  # fmt: skip


def tuple_of(value: Any, count: int) -> tuple[int, ...]:
    """One number for every dimension, or one each."""
    if isinstance(value, Tensor) and not value._array.ndim:
        value = int(value)
    if isinstance(value, int | np.integer):
        return (value,) * count  # type: ignore[return-value]
    numbers = tuple(value)
    return tuple(numbers * count) if len(numbers) == 1 < count else numbers


def convolve(
    dims: int, input: Tensor, weight: Tensor, bias: Tensor | None, stride: Any, padding: Any, dilation: Any, groups: int,
    output_padding: Any = None,
) -> Tensor:  # fmt: skip
    """A convolution over the last ``dims`` dimensions; transposed where there is an output padding."""
    rank = input._array.ndim
    transposed = output_padding is not None
    if rank not in (dims + 1, dims + 2):
        name = f"conv_transpose{dims}d" if transposed else f"conv{dims}d"
        raise RuntimeError(
            f"Expected {dims + 1}D (unbatched) or {dims + 2}D (batched) input to {name}, but got input of size: "
            f"{list(input._array.shape)}"
        )
    if (wanted := weight._array.ndim - 2) < 1:
        raise RuntimeError("weight should have at least three dimensions")
    numbers = {"stride": stride, "padding": padding, "dilation": dilation}
    if wanted != dims and padding != "same":
        numbers = {name: n if isinstance(n, str) else tuple_of(n, dims) for name, n in numbers.items()}
    check_steps(wanted, **numbers)
    if groups <= 0:
        raise RuntimeError("non-positive groups is not supported")
    check_one_type(input, weight, bias)
    steps, spaces = tuple_of(stride, dims), tuple_of(dilation, dims)
    if transposed:
        check_output_padding(output_padding, steps, spaces)
    if rank == dims + 1:
        input = call["unsqueeze"](input, 0)
    if isinstance(padding, str):
        input, around = same_padding(input, weight, spaces, padding)
    else:
        around = tuple_of(padding, dims)
    more = tuple_of(output_padding or 0, len(around))
    found = call["convolution"](input, weight, bias, steps, around, spaces, transposed, more, groups)
    return found if rank == dims + 2 else call["squeeze_dim"](found, 0)  # type: ignore[no-any-return]


def same_padding(input: Tensor, weight: Tensor, dilation: tuple[int, ...], padding: str) -> tuple[Tensor, tuple[int, ...]]:
    """The padding that keeps the size, half on either side; what is odd is padded to the input beforehand."""
    if padding == "valid":
        return input, (0,)
    if (rank := weight._array.ndim) != input._array.ndim:
        raise RuntimeError(
            f"Expected {rank}-dimensional input for {rank}-dimensional weight{list(weight._array.shape)}, but got "
            f"{input._array.ndim}-dimensional input of size {list(input._array.shape)} instead"
        )
    total = [d * (k - 1) for d, k in zip(dilation, weight._array.shape[2:], strict=True)]
    if any(t % 2 for t in total):
        warn_once(
            "Using padding='same' with even kernel lengths and odd dilation may require a zero-padded copy of the input be "
            "created"
        )
        extra = [n for t in reversed(total) for n in (0, t % 2)]
        input = call["constant_pad_nd"](input, tuple(extra), 0)
    return input, tuple(t // 2 for t in total)


def slid(dims: int) -> Any:
    """The public convolution over so many dimensions."""

    def apply(
        input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: Any = 1, padding: Any = 0, dilation: Any = 1,
        groups: int = 1,
    ) -> Tensor:  # fmt: skip
        return convolve(dims, input, weight, bias, stride, padding, dilation, groups)

    return apply


def transposed(dims: int) -> Any:
    """The public transpose of :func:`slid`."""

    def apply(
        input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: Any = 1, padding: Any = 0, output_padding: Any = 0,
        groups: int = 1, dilation: Any = 1,
    ) -> Tensor:  # fmt: skip
        return convolve(dims, input, weight, bias, stride, padding, dilation, groups, tuple_of(output_padding, dims))

    return apply


conv1d, conv2d, conv3d = map(slid, (1, 2, 3))
conv_transpose1d, conv_transpose2d, conv_transpose3d = map(transposed, (1, 2, 3))


# ------------------------------------------------------------------ poolings
def with_stride(sizes: dict[str, Any]) -> dict[str, Any]:
    """The sizes of windows along one dimension, with the stride, which is the size of the window where it is not told."""
    return {**sizes, "stride": sizes["kernel_size"]} if sizes.get("stride", 1) in (None, (), []) else sizes


def in_one_dimension(dims: int, name: str, pool: Any, input: Tensor, sizes: dict[str, Any], *options: Any) -> Any:
    """A pooling along the last dimension: that of an image one pixel high, with 1 (a padding: 0) before each size."""
    sizes = with_stride(sizes)
    for label, size in sizes.items():
        if (count := len(tuple_of(size, 1))) != 1:
            raise RuntimeError(f"{name}() argument '{label}' should contain one int (got {count})")
    if (rank := input._array.ndim) not in (2, 3):
        raise RuntimeError(
            f"Expected 2 to 3 dimensions, but got {rank}-dimensional tensor for argument #1 'self' (while checking arguments "
            f"for {name})"
        )
    of_image = [(int(label != "padding"), *tuple_of(size, 1)) for label, size in sizes.items()]
    found = pool(call["unsqueeze"](input, -2), *of_image, *options)
    return tuple(call["squeeze_dim"](f, -2) for f in found) if isinstance(found, tuple) else call["squeeze_dim"](found, -2)


def windows(dims: int, name: str, pool: Any, input: Tensor, sizes: dict[str, Any], *options: Any) -> Any:
    """A pooling along two or three dimensions; a stride that is not told is nothing."""
    check_space(name, dims, input, **sizes)
    untold = {"stride": ()} if sizes["stride"] is None else {}
    return pool(input, *(tuple_of(size, dims) for size in {**sizes, **untold}.values()), *options)


def largest(dims: int, always: bool = False) -> Any:
    """The public pooling that gives the largest element of each window, ``always`` with its place."""
    name, row = f"max_pool{dims}d", f"max_pool{max(dims, 2)}d_with_indices"
    run = in_one_dimension if dims == 1 else windows

    def apply(
        input: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1, ceil_mode: bool = False,
        return_indices: bool = False,
    ) -> Any:  # fmt: skip
        check_sizes(name, "kernel_size", kernel_size)
        sizes = {"kernel_size": kernel_size, "stride": stride, "padding": padding, "dilation": dilation}
        placed = always or return_indices
        if dims == 1 and not placed:
            check_max_pool1d(input._array.shape, sizes, ceil_mode)
        found = run(dims, name, call[row], input, sizes, ceil_mode)
        return tuple(found) if placed else found[0]

    return apply


def check_max_pool1d(shape: tuple[int, ...], given: dict[str, Any], ceil_mode: bool) -> None:
    """Refuse what :func:`max_pool1d` refuses where it gives no indices."""
    sizes = {name: tuple_of(size, 1) for name, size in with_stride(given).items()}
    if len(shape) not in (2, 3) or 0 in shape[-2:]:
        raise RuntimeError(
            f"max_pool1d: Expected 2D or 3D (batch mode) tensor with optional 0 dim batch size for input, but got:{list(shape)}"
        )
    for name, size in sizes.items():
        if len(size) != 1:
            raise RuntimeError(
                f"max_pool1d() {name} must be an int, list of ints or tuple of ints of size 1 but got size {len(size)}"
            )
    kernel, stride, padding, dilation = (size[0] for size in sizes.values())
    for name, size in sizes.items():
        if size[0] < (name != "padding"):
            least = "non-negative" if name == "padding" else "greater than zero"
            raise RuntimeError(f"max_pool1d() {name} must be {least}, but got {size[0]}")
        if name == "padding" and padding > kernel // 2:
            raise RuntimeError(
                f"max_pool1d() padding should be at most half of kernel size, but got padding={padding} and "
                f"kernel_size={kernel}"
            )
    out = _pooling.pooled_size(shape[-1], kernel, stride, padding, dilation, ceil_mode)  # type: ignore[no-untyped-call]
    if out <= 0:
        raise RuntimeError(f"max_pool1d() Invalid computed output size: {out}")


def means(dims: int) -> Any:
    """The public pooling that gives the mean of each window."""
    row = f"avg_pool{dims}d"

    def apply(
        input: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0, ceil_mode: bool = False,
        count_include_pad: bool = True, divisor_override: int | None = None,
    ) -> Any:  # fmt: skip
        sizes = {"kernel_size": kernel_size, "stride": stride, "padding": padding}
        return windows(dims, row, call[row], input, sizes, ceil_mode, count_include_pad, divisor_override)

    return apply


def avg_pool1d(
    input: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0, ceil_mode: bool = False,
    count_include_pad: bool = True,
) -> Any:  # fmt: skip
    """The mean of each window along one dimension."""
    sizes = {"kernel_size": kernel_size, "stride": stride, "padding": padding}
    return in_one_dimension(1, "avg_pool1d", call["avg_pool2d"], input, sizes, ceil_mode, count_include_pad, None)


max_pool1d, max_pool2d, max_pool3d = map(largest, (1, 2, 3))
max_pool1d_with_indices, max_pool2d_with_indices, max_pool3d_with_indices = (largest(d, always=True) for d in (1, 2, 3))
avg_pool2d, avg_pool3d = map(means, (2, 3))


def unpooling(dims: int) -> Any:
    """The public function that puts what a pooling picked back to its places."""

    def apply(
        input: Tensor, indices: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0, output_size: Any = None
    ) -> Any:
        kernel, step, edge = (tuple_of(n, dims) for n in (kernel_size, kernel_size if stride is None else stride, padding))
        usual = [(n - 1) * s + k - 2 * p for n, s, k, p in zip(input._array.shape[-dims:], step, kernel, edge, strict=True)]
        size = usual if output_size is None else unpooled_size(output_size, usual, step)
        if dims > 1:
            return call[f"max_unpool{dims}d"](input, indices, tuple(size))
        columns = (call["unsqueeze"](value, -1) for value in (input, indices))
        return call["squeeze_dim"](call["max_unpool2d"](*columns, (*size, 1)), -1)

    return apply


def unpooled_size(given: Any, usual: list[int], step: tuple[int, ...]) -> Any:
    """The size that was asked for, if it is near enough to the usual one."""
    dims = len(usual)
    given = given[2:] if len(given) == dims + 2 else given
    if len(given) != dims:
        raise ValueError(
            f"output_size should be a sequence containing {dims} or {dims + 2} elements, but it has a length of '{len(given)}'"
        )
    for d, (n, size, s) in enumerate(zip(usual, given, step, strict=True)):
        if not n - s < size < n + s:
            raise ValueError(f'invalid output_size "{given}" (dim {d} must be between {n - s} and {n + s})')
    return given


max_unpool1d, max_unpool2d, max_unpool3d = map(unpooling, (1, 2, 3))


def powers(dims: int, pool: Any, largest: Any) -> Any:
    """The public pooling that gives the p-norm of each window."""

    def apply(input: Any, norm_type: float, kernel_size: Any, stride: Any = None, ceil_mode: bool = False) -> Any:
        if norm_type == math.inf:
            return largest(input.abs(), kernel_size, stride, 0, 1, ceil_mode)
        if norm_type == -math.inf:
            return -largest(-input.abs(), kernel_size, stride, 0, 1, ceil_mode)
        mean = pool(input.pow(norm_type), kernel_size, stride, 0, ceil_mode)
        return (mean.sign() * mean.abs().relu()).mul(math.prod(tuple_of(kernel_size, dims))).pow(1.0 / norm_type)

    return apply


lp_pool1d, lp_pool2d = powers(1, avg_pool1d, max_pool1d), powers(2, avg_pool2d, max_pool2d)
lp_pool3d = powers(3, avg_pool3d, max_pool3d)


def windows_of(input: Tensor, output_size: Any, dims: int) -> tuple[int, ...]:
    """The output's sizes along the last dimensions; what is not told is the input's."""
    if isinstance(output_size, int):
        return (output_size,) * dims
    if input._array.ndim <= len(output_size):
        raise ValueError(f"Input dimension should be at least {len(output_size) + 1}")
    sizes = input._array.shape[-len(output_size) :]
    return tuple(n if o is None else o for n, o in zip(sizes, output_size, strict=False))


def adaptive_means(dims: int) -> Any:
    """The public pooling that gives the means of as many windows as the output is to have."""
    row = f"adaptive_avg_pool{dims}d"

    def apply(input: Tensor, output_size: Any) -> Any:
        size = windows_of(input, output_size, dims)
        if len(size) != dims:
            raise RuntimeError(f"{row}: output_size must be {dims}")
        if min(size) < 0:
            given = f"{size[0]}, " + ",".join(map(str, size[1:]))
            raise RuntimeError(f"{row}: elements of output_size must be greater than or equal to 0 but received {{{given}}}")
        if set(size) == {1}:
            return call["mean_dim"](input, tuple(range(-1, -dims - 1, -1)), True)
        return call[row](input, size)

    return apply


def adaptive_avg_pool1d(input: Tensor, output_size: Any) -> Any:
    """Means of as many windows along one dimension."""
    return in_one_dimension(1, "adaptive_avg_pool1d", adaptive_avg_pool2d, input, {"output_size": output_size})


def whole(dims: int, name: str, pool: Any, input: Tensor, sizes: dict[str, Any]) -> Any:
    """An adaptive pooling along two or three dimensions."""
    size = windows_of(input, sizes["output_size"], dims)
    if len(size) != dims:
        raise RuntimeError(f"{name}(): internal error: output_size.size() must be {dims}")
    return pool(input, size)


def adaptive_largest(dims: int, always: bool = False) -> Any:
    """The public pooling that gives the largest elements of as many windows, ``always`` with their places."""
    name, row = f"adaptive_max_pool{dims}d", f"adaptive_max_pool{max(dims, 2)}d"
    run = in_one_dimension if dims == 1 else whole

    def apply(input: Tensor, output_size: Any, return_indices: bool = False) -> Any:
        check_sizes(row, "output_size", output_size)
        found = run(dims, name, call[row], input, {"output_size": output_size})
        return tuple(found) if always or return_indices else found[0]

    return apply


adaptive_avg_pool2d, adaptive_avg_pool3d = map(adaptive_means, (2, 3))
adaptive_max_pool1d, adaptive_max_pool2d, adaptive_max_pool3d = map(adaptive_largest, (1, 2, 3))
adaptive_max_pool1d_with_indices, adaptive_max_pool2d_with_indices, adaptive_max_pool3d_with_indices = (
    adaptive_largest(d, always=True) for d in (1, 2, 3)
)
