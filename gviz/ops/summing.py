"""Sums of floats in PyTorch's order, to its last bit: eight lanes, four partial sums, blocks of sixteen.

Source: cascade_sum in PyTorch's aten/src/ATen/native/cpu/SumKernel.cpp, as its processors with AVX2 run it.
"""

from __future__ import annotations

from math import prod

import numpy as np

LEVELS, PARTS = 4, 4


def total_of(array, axis=None, keepdims=False):
    """Return the sum along axes, all without one; in numpy's order if they lie apart in memory, or not as PyTorch's loops."""
    axes = sorted(axis) if isinstance(axis, tuple) else range(array.ndim) if axis is None else (axis,)
    first, end = (axes[0] % array.ndim, axes[-1] % array.ndim + 1) if len(axes) and array.ndim else (0, 0)
    known = array.dtype in (np.float32, np.float64) and array.flags.c_contiguous
    if not known or array.size < PARTS or end - first != len(axes) or not len(axes):
        return np.add.reduce(array, axis=axis, keepdims=keepdims)
    shape = array.shape
    rows = array.reshape(prod(shape[:first]), prod(shape[first:end]), prod(shape[end:]))
    sums = along_rows(rows[..., 0]) if rows.shape[-1] == 1 else along_columns(rows)
    return sums.reshape((*shape[:first], *[1] * (end - first if keepdims else 0), *shape[end:]))

def along_rows(rows):
    """Return the sum of each row, (count, size): the lanes' sums are added to the rest that fills no register."""
    lanes = 32 // rows.itemsize
    whole = rows.shape[-1] // lanes * lanes
    if not whole:
        return in_parts(rows[..., None])[..., 0]
    sums = in_parts(rows[:, :whole].reshape(len(rows), whole // lanes, lanes))
    return np.add.accumulate(np.concatenate((rows[:, whole:], sums), axis=1), axis=1)[:, -1]

def along_columns(blocks):
    """Return the sum of each column, (count, size, width); of what does not fill four registers in four parts."""
    width, lanes = blocks.shape[-1], 32 // blocks.itemsize
    group = PARTS * (lanes if width >= lanes else 1)
    whole = width // group * group
    return np.concatenate((in_levels(blocks[..., :whole]), in_parts(blocks[..., whole:])), axis=-1)

def in_parts(blocks):
    """Return the sums of columns, (count, size, width): of each fourth row on its own, then of these."""
    count, size, width = blocks.shape
    whole = size // PARTS * PARTS
    parts = in_levels(blocks[:, :whole].reshape(count, whole // PARTS, PARTS * width)).reshape(count, PARTS, width)
    ordered = np.concatenate((parts[:, :1], blocks[:, whole:], parts[:, 1:]), axis=1)
    return np.add.accumulate(ordered, axis=1)[:, -1]

def in_levels(blocks):
    """Return the sums of columns, (count, size, width), one by one in blocks of 16, and these in blocks again."""
    count, size, width = blocks.shape
    step, totals = 1 << max(4, (size - 1).bit_length() // LEVELS), []
    for level in range(LEVELS):
        whole = blocks.shape[1] // step * step if level < LEVELS - 1 else 0
        totals.append(np.add.reduce(blocks[:, whole:], axis=1))  # of several columns numpy adds row after row
        blocks = np.add.reduce(blocks[:, :whole].reshape(count, whole // step, step, width), axis=2)
        if not whole:
            break
    return sum(totals[1:], totals[0])

def in_register(rows):
    """Return the sums along the last axis, kept as one element, of a register of 64 bytes; its halves are added at the end."""
    size, lanes = rows.shape[-1], 64 // rows.itemsize
    if size < lanes:
        return np.add.accumulate(rows, axis=-1)[..., -1:]
    padded = np.zeros((*rows.shape[:-1], -(-size // lanes) * lanes), rows.dtype)
    padded[..., :size] = rows
    sums = np.add.reduce(padded.reshape(*rows.shape[:-1], -1, lanes), axis=-2)
    while (half := sums.shape[-1] // 2):
        sums = sums[..., :half] + sums[..., half:]
    return sums
