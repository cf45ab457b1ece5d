"""Images and volumes read at the places of a grid, and grids made from affine maps.

Source: PyTorch's derivatives.yaml, GridSampler.h and AffineGridGenerator.cpp; spatial transformers are Jaderberg et
al. (2015), the cubic is that of Keys (1981).
"""

from __future__ import annotations

from itertools import product
from math import prod

import numpy as np

from gviz.ops.rows import TENSORS, check_one_dtype, op, public_names, refuse, refuse_any, row, warn

MODES, PADDINGS = ("bilinear", "nearest", "bicubic"), ("zeros", "border", "reflection")
NO_CORNERS = (
    "Default grid_sample and affine_grid behavior has changed to align_corners=False since 1.3.0. Please specify "
    "align_corners=True if the old behavior is desired. See the documentation of grid_sample for details."
)

# ------------------------------------------------------------------ places
def reflected(place, low, high):
    """Return places mirrored at two borders until they lie between these, and the sign of each one's derivative."""
    span = high - low
    if not span:
        return np.zeros_like(place), np.zeros_like(place)
    turns, rest = np.divmod(np.abs(place - low), span)
    is_even = turns % 2 == 0
    sign = np.where(place < low, -1, 1) * np.where(is_even, 1, -1)
    return np.where(is_even, rest + low, span - rest + low), sign.astype(place.dtype)

def kept_inside(place, size, padding, align_corners):
    """Return places as a padding moves them, and the derivative of that."""
    slope = np.ones_like(place)
    if PADDINGS[padding] == "zeros":
        return place, slope
    if PADDINGS[padding] == "reflection":
        low, high = (0, size - 1) if align_corners else (-0.5, size - 0.5)
        place, slope = reflected(place, place.dtype.type(low), place.dtype.type(high))
    return np.clip(place, 0, size - 1), np.where((place > 0) & (place < size - 1), slope, 0)

CUBIC = (
    (lambda x: ((-0.75 * x + 3.75) * x - 6) * x + 3, lambda x: (-2.25 * x + 7.5) * x - 6),
    (lambda x: (1.25 * x - 2.25) * x * x + 1, lambda x: (3.75 * x - 4.5) * x),
)
"""Keys' cubic with a slope of -0.75, and its derivative: from 1 to 2 away, and nearer."""

def taps_along(grid, size, mode, padding, align_corners):
    """Return the taps along a dimension: of each the index, whether it is there, the weight, and its derivative."""
    one = grid.dtype.type(1)
    scale = one * (size - 1 if align_corners else size) / 2
    place = (grid + 1) * scale if align_corners else ((grid + 1) * size - 1) / 2
    if MODES[mode] == "bicubic":
        first = np.floor(place)
        share = place - first
        weights = [
            (CUBIC[far][0](distance), CUBIC[far][1](distance) * (sign * scale))
            for far, distance, sign in ((0, share + 1, 1), (1, share, 1), (1, 1 - share, -1), (0, 2 - share, -1))
        ]
        indices = [kept_inside(first - 1 + i, size, padding, align_corners)[0] for i in range(4)]
    else:
        place, slope = kept_inside(place, size, padding, align_corners)
        first = np.rint(place) if MODES[mode] == "nearest" else np.floor(place)
        share, slope = place - first, slope * scale
        is_near = MODES[mode] == "nearest"
        weights = [(np.ones_like(place), np.zeros_like(place))] if is_near else [(1 - share, -slope), (share, slope)]
        indices = [first + i for i in range(len(weights))]
    inside = [(index >= 0) & (index < size) for index in indices]
    return [(np.where(there, index, 0).astype(np.intp), there, *pair)
            for index, there, pair in zip(indices, inside, weights, strict=True)]

def taps_of(input, grid, *options):
    """Return of each element that a place takes: its index in its channel, and its tap along each dimension."""
    sizes = input.shape[2:]
    lines = [taps_along(grid[..., -1 - axis].reshape(len(grid), -1), size, *options) for axis, size in enumerate(sizes)]
    for taps in product(*lines):
        index = np.ravel_multi_index([tap[0] for tap in taps], sizes)
        yield index, np.logical_and.reduce([tap[1] for tap in taps]), [tap[2] for tap in taps], [tap[3] for tap in taps]

def sampled(input, grid, interpolation_mode, padding_mode, align_corners):
    """Return the input at each place of the grid."""
    flat, batch = input.reshape(*input.shape[:2], -1).transpose(0, 2, 1), np.arange(len(input))[:, None]
    result = np.zeros((*grid.shape[:1], prod(grid.shape[1:-1]), input.shape[1]), input.dtype)
    for index, inside, weights, _ in taps_of(input, grid, interpolation_mode, padding_mode, align_corners):
        result += flat[batch, index] * (prod(weights) * inside)[..., None]
    return np.array(result.transpose(0, 2, 1), order="C").reshape(*input.shape[:2], *grid.shape[1:-1])

def sampled_backward(grad_output, input, grid, interpolation_mode, padding_mode, align_corners):
    """Return the gradients for the input and for the grid."""
    flat, batch = input.reshape(*input.shape[:2], -1).transpose(0, 2, 1), np.arange(len(input))[:, None]
    grad, total = grad_output.reshape(*input.shape[:2], -1).transpose(0, 2, 1), np.zeros_like(flat)
    places = np.zeros((*grad.shape[:2], grid.shape[-1]), grid.dtype)
    for index, inside, weights, slopes in taps_of(input, grid, interpolation_mode, padding_mode, align_corners):
        np.add.at(total, (batch, index), grad * (prod(weights) * inside)[..., None])
        along = (flat[batch, index] * grad).sum(-1) * inside
        for axis, slope in enumerate(slopes):
            places[..., -1 - axis] += along * slope * prod(weights[:axis] + weights[axis + 1 :])
    return np.array(total.transpose(0, 2, 1), order="C").reshape(input.shape), places.reshape(grid.shape)

for dims in (2, 3):
    key = f"grid_sampler_{dims}d"
    row(key, f"GridSampler{dims}DBackward0", sampled, promote="none", input__grid=
        f"{key}_backward(grad, input, grid, interpolation_mode, padding_mode, align_corners)")
    row(f"{key}_backward", f"GridSampler{dims}DBackwardBackward0", sampled_backward, promote="none",
        outputs=("result0", "result1"), grad_output__input__grid="not_in_engine('second derivatives of grid_sample')")

@public_names("F.grid_sample")
def grid_sample(input, grid, mode: str = "bilinear", padding_mode: str = "zeros", align_corners: bool | None = None):
    """Return an image, or a volume, at the places of a grid, whose coordinates go from -1 to 1."""
    refuse_any({
        "nn.functional.grid_sample(): expected mode to be 'bilinear', 'nearest' or 'bicubic', but got: "
        f"'{mode}'": mode not in MODES,
        "nn.functional.grid_sample(): expected padding_mode to be 'zeros', 'border', or 'reflection', but got: "
        f"'{padding_mode}'": padding_mode not in PADDINGS,
    }, ValueError)  # fmt: skip
    if align_corners is None:
        warn(NO_CORNERS)
    sizes = f"input with sizes {list(input.shape)} and grid with sizes {list(grid.shape)}"
    refuse(input.shape[:1] != grid.shape[:1],
           f"grid_sampler(): expected grid and input to have same batch size, but got {sizes}")
    refuse(grid.shape[-1] != input.ndim - 2, f"grid_sampler(): expected grid to have size {input.ndim - 2} in last "
           f"dimension, but got grid with sizes {list(grid.shape)}")
    refuse(input.ndim not in (4, 5) or input.ndim != grid.ndim,
           f"grid_sampler(): expected 4D or 5D input and grid with same number of dimensions, but got {sizes}")
    refuse(input.ndim == 5 and mode == "bicubic", "grid_sampler(): bicubic interpolation only supports 4D input")
    check_one_dtype(input._array, grid._array, "expected scalar type {} but found {}")
    options = MODES.index(mode), PADDINGS.index(padding_mode), bool(align_corners)
    return TENSORS[f"grid_sampler_{input.ndim - 2}d"](input, grid, *options)

# ------------------------------------------------------------------ affine maps
def base_grid(size, align_corners, dtype):
    """Return the homogeneous coordinates of all places of an image of that size: (1, places, dimensions + 1)."""
    lines = [np.linspace(-1, 1, n, dtype=dtype) if n > 1 else np.zeros(1, dtype) for n in size[2:]]
    lines = lines if align_corners else [line * ((n - 1) / n) for line, n in zip(lines, size[2:], strict=True)]
    grids = np.meshgrid(*lines, indexing="ij")
    return np.stack([*(one.reshape(-1) for one in reversed(grids)), np.ones(grids[0].size)], -1).astype(dtype)

@op("AffineGridGeneratorBackward0", theta="affine_grid_backward(grad, size, align_corners)")
def affine_grid_generator(theta, size: Ints, align_corners: bool):
    return (base_grid(size, align_corners, theta.dtype) @ theta.mT).reshape(len(theta), *size[2:], len(size) - 2)

@op("TransposeBackward0", grad_output="affine_grid_generator(grad, size, align_corners)")
def affine_grid_backward(grad_output, size, align_corners):
    places = grad_output.reshape(len(grad_output), -1, len(size) - 2)
    return (base_grid(size, align_corners, grad_output.dtype).T @ places).mT

@public_names("F.affine_grid")
def affine_grid(theta, size: Ints, align_corners: bool | None = None):
    """Return for each place of an image of that size where an affine map takes it."""
    if align_corners is None:
        warn(NO_CORNERS)
    is_float, dims = theta.is_floating_point(), len(size) - 2
    refuse(not is_float, f"Expected theta to have floating point type, but got {theta.dtype}", ValueError)
    refuse(dims not in (2, 3), "affine_grid only supports 4D and 5D sizes, for 2D and 3D affine transforms, "
           f"respectively. Got size {size}.", NotImplementedError)
    refuse(theta.ndim != 3 or tuple(theta.shape[1:]) != (dims, dims + 1),
           f"Expected a batch of {dims}D affine matrices of shape Nx{dims}x{dims + 1} for size {size}. Got "
           f"{theta.shape}.", ValueError)
    if align_corners and min(size[2:]) == 1:
        warn("Since version 1.3.0, affine_grid behavior has changed for unit-size grids when align_corners=True. This is "
             "not an intended use case of affine_grid. See the documentation of affine_grid for details.")
    refuse(min(size) <= 0, f"Expected non-zero, positive output size. Got {size}", ValueError)
    refuse(size[0] != len(theta), "Expected size for first two dimensions of batch2 tensor to be: "
           f"[{size[0]}, {dims + 1}] but got: [{len(theta)}, {dims + 1}].")
    return TENSORS["affine_grid_generator"](theta, tuple(size), bool(align_corners))
