"""Resizing: signals, images and volumes enlarged and reduced by rules, each of which gives the taps along a dimension.

Source: PyTorch's derivatives.yaml, and UpSample.h; the cubic is that of Keys (1981).
"""

from __future__ import annotations

import numpy as np

from gviz.ops.resampling import resample, resample_backward
from gviz.ops.rows import each_of, lacks, refuse, row


def step_of(size, out, scale, align_corners, kind):
    """Return how far two neighbours of the result are apart in the input."""
    if align_corners:
        return kind((size - 1) / (out - 1)) if out > 1 else kind(0)
    return kind(1 / scale) if scale else kind(size) / kind(out)

def nearest(size, out, scale, align_corners, kind):
    """Return the element at or before each place, which PyTorch computes in single precision."""
    place = np.floor(np.arange(out, dtype=np.float32) * step_of(size, out, scale, align_corners, np.float32))
    return [(np.minimum(place.astype(np.int64), size - 1), None)]

def linear(size, out, scale, align_corners, kind):
    """Return both neighbours, by their distance."""
    step, at = step_of(size, out, scale, align_corners, kind), np.arange(out, dtype=kind)
    place = at * step if align_corners else np.maximum((at + kind(0.5)) * step - kind(0.5), kind(0))
    first = np.minimum(place.astype(np.int64), size - 1)
    share = place - first.astype(kind)
    return [(first, kind(1) - share), (np.minimum(first + 1, size - 1), share)]

def cubic(size, out, scale, align_corners, kind):
    """Return four neighbours, by Keys' cubic with a slope of -0.75."""
    step, at = step_of(size, out, scale, align_corners, kind), np.arange(out, dtype=kind)
    place = at * step if align_corners else (at + kind(0.5)) * step - kind(0.5)
    first = np.minimum(np.floor(place).astype(np.int64), size - 1)
    share = np.clip(place - first.astype(kind), kind(0), kind(1))
    near, far = (lambda x: (1.25 * x - 2.25) * x * x + 1), (lambda x: ((-0.75 * x + 3.75) * x - 6) * x + 3)
    weights = far(share + 1), near(share), near(1 - share), far(2 - share)
    return [(np.clip(first - 1 + i, 0, size - 1), weight.astype(kind)) for i, weight in enumerate(weights)]

def taps_of(sizes, output_size, scales, rule, kind, align_corners=False):
    """Return the taps of each dimension; what keeps its size is taken as it is, but by a cubic."""
    refuse(min(output_size) < 1,
           f"Input and output sizes should be greater than 0, but got output size {list(output_size)}")
    facts = zip(sizes[-len(scales) :], output_size, scales, strict=True)
    return [[(np.arange(o), None)] if n == o and rule is not cubic else rule(n, o, s, align_corners, kind) for n, o, s in facts]

BYTES = lacks("", "u", "weighted means of uint8 are not in gviz's engine; make it float32, or run with --engine torch")

def store(key, node, scales, corners, rule):
    """Store the rows of a resizing and of its gradient; their parameters have PyTorch's names, which are what is saved."""
    options = corners + scales
    names = {"__name__": __name__, "resample": resample, "resample_backward": resample_backward, "taps_of": taps_of, "rule": rule}
    taps = f"taps_of({{}}, output_size, ({scales},), rule, {{}}.dtype.type, {corners})"
    back, last = taps.format("input_size", "grad_output"), "input_size[-len(output_size):]"
    forward = f"lambda self, output_size, {options}: resample(self, {taps.format('self.shape', 'self')})"
    backward = f"lambda grad_output, output_size, input_size, {options}: resample_backward(grad_output, {back}, {last})"
    forward, backward = (eval(text, names) for text in (forward, backward))  # noqa: S307 - only the names differ
    check = lacks(key, "bic") if rule is nearest else each_of(
        lacks(f"compute_indices_weights_{rule.__name__}", "bic" if "2d" in key else "biuc"), BYTES)
    row(key, f"{node}Backward0", forward, check=check,
        self=f"{key}_backward(grad, output_size, self_sym_sizes, {options})")
    row(f"{key}_backward", f"{node}BackwardBackward0", backward, grad_output=f"{key}(grad, output_size, {options})")

LINE, IMAGE, VOLUME = "scales", "scales_h, scales_w", "scales_d, scales_h, scales_w"
for dims, scales in enumerate((LINE, IMAGE, VOLUME), 1):
    store(f"upsample_nearest{dims}d", f"UpsampleNearest{dims}D", scales, "", nearest)
store("upsample_linear1d", "UpsampleLinear1D", LINE, "align_corners, ", linear)
store("upsample_bilinear2d", "UpsampleBilinear2D", IMAGE, "align_corners, ", linear)
store("upsample_bicubic2d", "UpsampleBicubic2D", IMAGE, "align_corners, ", cubic)
store("upsample_trilinear3d", "UpsampleTrilinear3D", VOLUME, "align_corners, ", linear)
