"""Padding and resizing as functions: what is around an image, and its size."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from gviz.autograd.row import TENSORS as call
from gviz.autograd.tensor import from_array
from gviz.ops import resizing as _resizing  # noqa: F401 - stores its rows, and those of resampling
from gviz.ops.pooling import adaptive_means

if TYPE_CHECKING:
    Tensor = Any  # whose methods the table gives

__all__ = ["interpolate", "pad"]


# ------------------------------------------------------------------ padding
def pad(input: Tensor, pad: Any, mode: str = "constant", value: float | None = None) -> Tensor:
    """Return a tensor with values around it, the last dimension's first, constant or from inside; a negative number cuts."""
    sizes, rank, dims = tuple(pad), input.ndim, len(pad) // 2
    if len(sizes) % 2:
        raise RuntimeError("Padding length must be divisible by 2")
    if dims > rank:
        raise RuntimeError("Padding length should be less than or equal to two times the input dimension but got padding "
                           f"length {len(sizes)} and input of dimension {rank}")
    if mode == "constant":
        return call["constant_pad_nd"](input, sizes, 0 if value is None else value)
    if mode not in ("reflect", "replicate", "circular"):
        raise NotImplementedError(f"Unrecognised padding mode {mode}")
    if rank not in (dims + 1, dims + 2):
        raise NotImplementedError(f"Padding size {len(sizes)} is not supported for {rank}D input tensor.\n"
                                  "Supported combinations for non-constant padding:\n"
                                  "  - 2D or 3D input: padding size = 2 (pads last dimension)\n"
                                  "  - 3D or 4D input: padding size = 4 (pads last 2 dimensions)\n"
                                  "  - 4D or 5D input: padding size = 6 (pads last 3 dimensions)")
    if mode == "circular":
        return around(input, sizes)
    return call[f"{'reflection' if mode == 'reflect' else 'replication'}_pad{dims}d"](input, sizes)

def around(input: Tensor, pad: tuple[int, ...]) -> Tensor:
    """Return a border with what is at the other end: written piece by piece into a larger tensor, as PyTorch does."""
    ends = [(input.ndim - 1 - i, *pad[2 * i : 2 * i + 2]) for i in range(len(pad) // 2)]
    if any(max(before, after) > input.shape[dim] for dim, before, after in ends):
        raise RuntimeError("Padding value causes wrapping around more than once.")
    shape = list(input.shape)
    for dim, before, after in ends:
        shape[dim] += before + after
    cut = call["slice_row"]
    out = inside = from_array(np.zeros(shape, input._array.dtype), None)
    for dim, before, after in ends:
        inside = cut(inside, dim, max(before, 0), shape[dim] - max(after, 0), 1)
        input = cut(input, dim, max(-before, 0), input.shape[dim] - max(-after, 0), 1)
    inside.copy_(input)
    for dim, before, after in ends:
        first, last = max(before, 0), shape[dim] - max(after, 0)
        if before > 0:
            cut(out, dim, 0, before, 1).copy_(cut(out, dim, last - before, last, 1))
        if after > 0:
            cut(out, dim, last, shape[dim], 1).copy_(cut(out, dim, first, first + after, 1))
    return out


# ------------------------------------------------------------------ resizing
SMOOTH = {"linear": 1, "bilinear": 2, "bicubic": 2, "trilinear": 3}
"""Modes that go between elements, with how many dimensions they resize."""

def interpolate(input: Tensor, size: Any = None, scale_factor: Any = None, mode: str = "nearest",
                align_corners: bool | None = None, recompute_scale_factor: bool | None = None,
                antialias: bool = False) -> Tensor:
    """Return a signal or an image enlarged or reduced."""
    sizes, dims, smooth = input.shape[2:], input.ndim - 2, mode in SMOOTH
    if align_corners is not None and not smooth:
        raise ValueError(f"align_corners option can only be set with the interpolating modes: {' | '.join(SMOOTH)}")
    if (size is None) is (scale_factor is None):
        what = "either size or scale_factor" if size is None else "only one of size or scale_factor"
        raise ValueError(f"{what} should be defined")
    told = size if scale_factor is None else scale_factor
    told = tuple(told) if isinstance(told, tuple | list) else (told,) * dims
    if len(told) != dims:
        raise ValueError("Input and output must have the same number of spatial dimensions, but got input with spatial "
                         f"dimensions of {list(sizes)} and {told}")
    scales: Any = (None,) * dims
    if scale_factor is not None:
        scales = scales if recompute_scale_factor else tuple(map(float, told))
        told = tuple(int(n * factor) for n, factor in zip(sizes, told, strict=True))
    if mode == "area":
        return adaptive_means(dims, input, told)  # type: ignore[no-untyped-call]
    row = f"upsample_{mode}{dims}d"
    if smooth and SMOOTH[mode] != dims:
        raise NotImplementedError(f"Got {dims + 2}D input, but {mode} mode needs {SMOOTH[mode] + 2}D input")
    if antialias or row not in call:
        raise NotImplementedError(f"interpolate(mode={mode!r}, antialias={antialias}) is not in gviz's engine")
    return call[row](input, told, *([bool(align_corners)] if smooth else []), *scales)
