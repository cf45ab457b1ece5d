"""Padding, resizing and patches as functions: what is around an image, its size, its windows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from gviz.numbers.classes import type_text
from gviz.numbers.shapes import wrap_dims
from gviz.numbers.words import warn
from gviz.engine.nn.checks import check_resized, check_sizes, check_spaces
from gviz.engine.nn.window_functions import adaptive_avg_pool1d, adaptive_avg_pool2d, adaptive_avg_pool3d, tuple_of
from gviz.autograd.row import TENSORS as call
from gviz.ops import resampling as _resampling  # noqa: F401 - stores its rows
from gviz.ops import resizing as _resizing  # noqa: F401
from gviz.autograd.tensor import from_array

if TYPE_CHECKING:
    from gviz.autograd.tensor import Tensor

__all__ = [
    "channel_shuffle", "fold", "interpolate", "pad", "pixel_shuffle", "pixel_unshuffle", "unfold", "upsample",
    "upsample_bilinear", "upsample_nearest",
]  # fmt: skip


def pad(input: Tensor, pad: Any, mode: str = "constant", value: float | None = None) -> Tensor:
    """Values around a tensor, the last dimension's first, constant or from inside; a negative number cuts."""
    check_sizes("pad", "pad", pad)
    if not isinstance(pad, tuple | list):
        raise TypeError(f"pad(): argument 'pad' (position 2) must be tuple of ints, not {type_text(pad)}")
    sizes, rank = tuple(pad), input._array.ndim
    if len(sizes) % 2:
        raise RuntimeError("Padding length must be divisible by 2")
    if len(sizes) > 2 * rank:
        raise RuntimeError(
            "Padding length should be less than or equal to two times the input dimension but got padding length "
            f"{len(sizes)} and input of dimension {rank}"
        )
    if mode == "constant":
        return call["constant_pad_nd"](input, sizes, 0 if value is None else value)  # type: ignore[no-any-return]
    rows = {
        "reflect": ("reflection_pad1d", "reflection_pad2d", "reflection_pad3d"),
        "replicate": ("replication_pad1d", "replication_pad2d", "replication_pad3d"),
    }
    if mode not in (*rows, "circular"):
        raise NotImplementedError(f"Unrecognised padding mode {mode}")
    if value is not None and value != 0:
        raise RuntimeError(f'Padding mode "{mode}" doesn\'t take in value argument')
    dims = len(sizes) // 2
    if dims not in (1, 2, 3) or rank not in (dims + 1, dims + 2):
        raise NotImplementedError(
            f"Padding size {len(sizes)} is not supported for {rank}D input tensor.\n"
            "Supported combinations for non-constant padding:\n"
            "  - 2D or 3D input: padding size = 2 (pads last dimension)\n"
            "  - 3D or 4D input: padding size = 4 (pads last 2 dimensions)\n"
            "  - 4D or 5D input: padding size = 6 (pads last 3 dimensions)"
        )
    return around(input, sizes) if mode == "circular" else call[rows[mode][dims - 1]](input, sizes)


def around(input: Tensor, pad: tuple[int, ...]) -> Tensor:
    """A border with what is at the other end: written piece by piece into a larger tensor, as PyTorch does."""
    cut, rank = call["slice_row"], input._array.ndim
    ends = [(rank - 1 - i, *pad[2 * i : 2 * i + 2]) for i in range(len(pad) // 2)]
    shape = list(input._array.shape)
    for dim, before, after in ends:
        shape[dim] += before + after
    if any(max(before, after) > input._array.shape[dim] for dim, before, after in ends):
        raise RuntimeError("Padding value causes wrapping around more than once.")
    out = inside = from_array(np.zeros(shape, input._array.dtype), None)
    for dim, before, after in ends:
        inside = cut(inside, dim, max(before, 0), shape[dim] - max(after, 0), 1)
        input = cut(input, dim, max(-before, 0), input._array.shape[dim] - max(-after, 0), 1)
    inside.copy_(input)  # type: ignore[attr-defined]
    for dim, before, after in ends:
        first, last = max(before, 0), shape[dim] - max(after, 0)
        if before > 0:
            cut(out, dim, 0, before, 1).copy_(cut(out, dim, last - before, last, 1))
        if after > 0:
            cut(out, dim, last, shape[dim], 1).copy_(cut(out, dim, first, first + after, 1))
    return out


AREA = (adaptive_avg_pool1d, adaptive_avg_pool2d, adaptive_avg_pool3d)
RESIZED = {
    "nearest": {d: f"upsample_nearest{d}d" for d in (1, 2, 3)},
    "nearest-exact": {d: f"upsample_nearest_exact{d}d" for d in (1, 2, 3)},
    "linear": {1: "upsample_linear1d"}, "bilinear": {2: "upsample_bilinear2d"}, "bicubic": {2: "upsample_bicubic2d"},
    "trilinear": {3: "upsample_trilinear3d"},
}  # fmt: skip
"""The row of each mode, by the number of dimensions that are resized."""


def interpolate(
    input: Tensor, size: Any = None, scale_factor: Any = None, mode: str = "nearest", align_corners: bool | None = None,
    recompute_scale_factor: bool | None = None, antialias: bool = False,
) -> Any:  # fmt: skip
    """A signal or an image enlarged or reduced."""
    sizes = input._array.shape[2:]
    smooth = mode in ("linear", "bilinear", "bicubic", "trilinear")
    if align_corners is not None and not smooth:
        raise ValueError(
            "align_corners option can only be set with the interpolating modes: linear | bilinear | bicubic | trilinear"
        )
    if size is not None and scale_factor is not None:
        raise ValueError("only one of size or scale_factor should be defined")
    if size is None and scale_factor is None:
        raise ValueError("either size or scale_factor should be defined")
    check_spaces(sizes, size, scale_factor)
    scales: Any = (None,) * len(sizes)
    if scale_factor is not None:
        given = scale_factor if isinstance(scale_factor, (tuple, list)) else (scale_factor,) * len(sizes)
        size = tuple(int(n * factor) for n, factor in zip(sizes, given, strict=True))
        if not recompute_scale_factor:
            scales = tuple(map(float, given))
    out = tuple_of(size, len(sizes))
    check_resized(input._array.ndim, mode, sizes, out, antialias=antialias)
    if mode == "area":
        return AREA[len(sizes) - 1](input, out)
    key = RESIZED.get(mode, {}).get(len(sizes))
    if antialias or key is None:
        raise NotImplementedError(f"interpolate(mode={mode!r}, antialias={antialias}) is not in gviz's engine")
    return call[key](input, out, *([bool(align_corners)] if smooth else []), *scales)


def upsample(
    input: Tensor, size: Any = None, scale_factor: Any = None, mode: str = "nearest", align_corners: bool | None = None
) -> Any:
    """The old name of :func:`interpolate`."""
    return interpolate(input, size, scale_factor, mode, align_corners)


def upsample_nearest(input: Tensor, size: Any = None, scale_factor: Any = None) -> Any:
    """The old name of :func:`interpolate` by the nearest element."""
    warn("`nn.functional.upsample_nearest` is deprecated. Use `nn.functional.interpolate` instead.")
    return interpolate(input, size, scale_factor)


def upsample_bilinear(input: Tensor, size: Any = None, scale_factor: Any = None) -> Any:
    """The old name of :func:`interpolate` between four elements, corner to corner."""
    warn("`nn.functional.upsample_bilinear` is deprecated. Use `nn.functional.interpolate` instead.")
    return interpolate(input, size, scale_factor, "bilinear", align_corners=True)


def unfold(input: Tensor, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1) -> Any:
    """Every window of an image as a column."""
    wrap_dims((1, 2), input._array.ndim)
    kernel, dilated, border, step = given = [tuple_of(v, 2) for v in (kernel_size, dilation, padding, stride)]
    for name, sizes in (("kernel size", kernel), ("dilation", dilated), ("stride", step)):
        if min(sizes) <= 0:
            short = name.split()[0]
            raise RuntimeError(
                f"{name} should be greater than zero, but got {short}_height: {sizes[0]} {short}_width: {sizes[1]}"
            )
    if min(border) < 0:
        raise RuntimeError(f"padding should be non-negative, but got pad_height: {border[0]} pad_width: {border[1]}")
    space = input._array.shape[-2:]
    blocks = tuple((n + 2 * p - d * (k - 1) - 1) // s + 1 for n, k, d, p, s in zip(space, *given, strict=True))
    if min(blocks) < 1:
        raise RuntimeError(
            f"Given input with spatial size {space}, kernel_size={kernel}, dilation={dilated}, padding={border}, calculated "
            f"shape of the array of sliding blocks as {blocks}, but its components must be at least one."
        )
    return call["im2col"](input, *given)


def fold(input: Tensor, output_size: Any, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1) -> Any:
    """Columns added up where their windows are in an image: what :func:`unfold` took apart."""
    return call["col2im"](input, *(tuple_of(v, 2) for v in (output_size, kernel_size, dilation, padding, stride)))


def pixel_shuffle(input: Tensor, upscale_factor: int) -> Any:
    """Channels made into a finer image."""
    return call["pixel_shuffle"](input, upscale_factor)


def pixel_unshuffle(input: Tensor, downscale_factor: int) -> Any:
    """A fine image made into channels."""
    return call["pixel_unshuffle"](input, downscale_factor)


def channel_shuffle(input: Tensor, groups: int) -> Any:
    """Channels in another order: the first of each group, then the second of each."""
    return call["channel_shuffle"](input, groups)
