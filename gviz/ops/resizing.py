"""Resizing: signals, images and volumes enlarged and reduced by rules, each of which gives the taps along a dimension."""

from __future__ import annotations

import numpy as np

from gviz.ops.resampling import given_back, taken
from gviz.ops.rows import row


def step_of(size, out, scale, align_corners, kind):
    """How far two neighbours of the result are apart in the input."""
    if align_corners:
        return kind((size - 1) / (out - 1)) if out > 1 else kind(0)
    return kind(1 / scale) if scale else kind(size) / kind(out)


def nearest(size, out, scale, align_corners, kind):
    """The element at or before each place, which PyTorch computes in single precision."""
    if size == out:
        return [(np.arange(out), None)]
    place = np.floor(np.arange(out, dtype=np.float32) * step_of(size, out, scale, align_corners, np.float32))
    return [(np.minimum(place.astype(np.int64), size - 1), None)]


def linear_taps(size, out, scale, align_corners, kind):
    """Both neighbours, by their distance."""
    if size == out:
        return [(np.arange(out), None)]
    step, at = step_of(size, out, scale, align_corners, kind), np.arange(out, dtype=kind)
    place = at * step if align_corners else np.maximum((at + kind(0.5)) * step - kind(0.5), kind(0))
    first = np.minimum(place.astype(np.int64), size - 1)
    share = place - first.astype(kind)
    return [(first, kind(1) - share), (np.minimum(first + 1, size - 1), share)]


def nearest_exact(size, out, scale, align_corners, kind):
    """The element under each place, which is in the middle of its share."""
    step = step_of(size, out, scale, align_corners, np.float32)
    place = np.floor((np.arange(out, dtype=np.float32) + np.float32(0.5)) * step)
    return [(np.minimum(place.astype(np.int64), size - 1), None)]


def cubic_taps(size, out, scale, align_corners, kind):
    """Four neighbours, by Keys' cubic with a slope of -0.75."""
    step, at = step_of(size, out, scale, align_corners, kind), np.arange(out, dtype=kind)
    place = at * step if align_corners else (at + kind(0.5)) * step - kind(0.5)
    first = np.minimum(np.floor(place).astype(np.int64), size - 1)
    share = np.clip(place - first.astype(kind), kind(0), kind(1))
    weights = (far_cubic(share + 1), near_cubic(share), near_cubic(1 - share), far_cubic(2 - share))
    return [(np.clip(first - 1 + i, 0, size - 1), weight.astype(kind)) for i, weight in enumerate(weights)]


def near_cubic(x):
    """The weight of an element at most one away."""
    return (1.25 * x - 2.25) * x * x + 1


def far_cubic(x):
    """The weight of an element one to two away."""
    return ((-0.75 * x + 3.75) * x - 6) * x + 3


def resampled(self, output_size, scales, rule, align_corners=False):
    """An image enlarged or reduced by a rule."""
    return taken(self, taps_of(self.shape[-len(scales) :], output_size, scales, rule, align_corners, self.dtype.type))


def resampled_back(grad, output_size, input_size, scales, rule, align_corners=False):
    """The gradient of :func:`resampled`."""
    sizes = input_size[-len(scales) :]
    return given_back(grad, taps_of(sizes, output_size, scales, rule, align_corners, grad.dtype.type), sizes)


def taps_of(sizes, output_size, scales, rule, align_corners, kind):
    """The taps of each dimension."""
    return [rule(n, o, s, align_corners, kind) for n, o, s in zip(sizes, output_size, scales, strict=True)]


LINE, IMAGE, VOLUME = "scales", "scales_h, scales_w", "scales_d, scales_h, scales_w"
SMOOTH = "align_corners, "

for key, node, scales, corners, rule in (
    ("upsample_nearest1d", "UpsampleNearest1D", LINE, "", nearest),
    ("upsample_nearest2d", "UpsampleNearest2D", IMAGE, "", nearest),
    ("upsample_nearest3d", "UpsampleNearest3D", VOLUME, "", nearest),
    ("upsample_nearest_exact1d", "UpsampleNearestExact1D", LINE, "", nearest_exact),
    ("upsample_nearest_exact2d", "UpsampleNearestExact2D", IMAGE, "", nearest_exact),
    ("upsample_nearest_exact3d", "UpsampleNearestExact3D", VOLUME, "", nearest_exact),
    ("upsample_linear1d", "UpsampleLinear1D", LINE, SMOOTH, linear_taps),
    ("upsample_bilinear2d", "UpsampleBilinear2D", IMAGE, SMOOTH, linear_taps),
    ("upsample_bicubic2d", "UpsampleBicubic2D", IMAGE, SMOOTH, cubic_taps),
    ("upsample_trilinear3d", "UpsampleTrilinear3D", VOLUME, SMOOTH, linear_taps),
):
    options = corners + scales  # parameters have PyTorch's names, which are what is saved
    given = f"({scales},), rule, {corners}"
    names = {**globals(), "rule": rule}
    back = "grad_output, output_size, input_size"
    forward = eval(f"lambda self, output_size, {options}: resampled(self, output_size, {given})", names)  # noqa: S307 - as below
    backward = eval(f"lambda {back}, {options}: resampled_back({back}, {given})", names)  # noqa: S307 - only the names differ
    row(key, f"{node}Backward0", forward, self=f"{key}_backward(grad, output_size, self_sym_sizes, {options})")
    row(f"{key}_backward", f"{node}BackwardBackward0", backward, grad_output=f"{key}(grad, output_size, {options})")
