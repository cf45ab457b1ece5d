"""Sums and products of floats in PyTorch's order, to its last bit: eight lanes, four partial sums, blocks of sixteen.

Source: cascade_sum in PyTorch's aten/src/ATen/native/cpu/SumKernel.cpp, as its processors with AVX2 run it.
"""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from gviz.numbers.types import Array

LOOP_LEVELS, LOOP_PARTS, BLOCK = 4, 4, 384


def loop_total(array: Array, axis: tuple[int, ...] | int | None = None, keepdims: bool = False) -> Any:
    """Return the sum along axes, or of everything.

    In numpy's order where the axes do not follow one another, or the array does not lie in the order of its indices.
    """
    axes = sorted(axis) if isinstance(axis, tuple) else range(array.ndim) if axis is None else (axis,)
    first, end = (axes[0] % array.ndim, axes[-1] % array.ndim + 1) if len(axes) and array.ndim else (0, 0)
    known = array.dtype in (np.float32, np.float64) and array.flags.c_contiguous and 0 < len(axes) == end - first
    if not known or array.size <= LOOP_PARTS or prod(array.shape[first:end]) <= LOOP_PARTS:  # the same, sooner
        return np.add.reduce(array, axis=axis, keepdims=keepdims)  # type: ignore[call-overload]
    rows = array.reshape(prod(array.shape[:first]), prod(array.shape[first:end]), prod(array.shape[end:]))
    return (along_rows(rows[..., 0]) if rows.shape[-1] == 1 else along_columns(rows)).reshape(
        (*array.shape[:first], *[1] * (end - first if keepdims else 0), *array.shape[end:])
    )


def along_rows(rows: Array) -> Array:
    """Return the sum of each row, (count, size): the lanes' sums are added to the rest that fills no register."""
    if not (whole := rows.shape[-1] // (lanes := 32 // rows.itemsize) * lanes):
        return in_four_parts(rows[..., None])[..., 0]
    sums = in_four_parts(rows[:, :whole].reshape(len(rows), whole // lanes, lanes))
    return np.add.accumulate(np.concatenate((rows[:, whole:], sums), axis=1), axis=1)[:, -1]


def along_columns(blocks: Array) -> Array:
    """Return the sum of each column, (count, size, width); of what does not fill four registers in four parts."""
    group = LOOP_PARTS * (32 // blocks.itemsize if blocks.shape[-1] * blocks.itemsize >= 32 else 1)
    whole = blocks.shape[-1] // group * group
    return np.concatenate((in_levels(blocks[..., :whole]), in_four_parts(blocks[..., whole:])), axis=-1)


def in_four_parts(blocks: Array) -> Array:
    """Return the sums of columns, (count, size, width): of each fourth row on its own, then of these."""
    count, size, width = blocks.shape
    whole = size // LOOP_PARTS * LOOP_PARTS
    parts = in_levels(blocks[:, :whole].reshape(count, whole // LOOP_PARTS, LOOP_PARTS * width)).reshape(
        count, LOOP_PARTS, width
    )
    return np.add.accumulate(np.concatenate((parts[:, :1], blocks[:, whole:], parts[:, 1:]), axis=1), axis=1)[:, -1]


def in_levels(blocks: Array) -> Array:
    """Return the sums of columns, (count, size, width), one by one in blocks of 16, and these in blocks again."""
    count, size, width = blocks.shape
    step, totals = 1 << max(4, (size - 1).bit_length() // LOOP_LEVELS), []
    for level in range(LOOP_LEVELS):
        whole = blocks.shape[1] // step * step if level < LOOP_LEVELS - 1 else 0
        totals.append(np.add.reduce(blocks[:, whole:], axis=1))  # of several columns numpy adds row after row
        blocks = np.add.reduce(blocks[:, :whole].reshape(count, whole // step, step, width), axis=2)
        if not whole:
            break
    return sum(totals[1:], totals[0])  # type: ignore[return-value]


def in_register(rows: Array) -> Array:
    """Return the sums along the last axis, kept as one element, in a register of 64 bytes, its halves added last."""
    if rows.shape[-1] < (lanes := 64 // rows.itemsize):
        return np.add.accumulate(rows, axis=-1)[..., -1:]
    padded = np.concatenate((rows, np.zeros((*rows.shape[:-1], -rows.shape[-1] % lanes), rows.dtype)), axis=-1)
    sums = np.add.reduce(padded.reshape(*rows.shape[:-1], -1, lanes), axis=-2)
    while half := sums.shape[-1] // 2:
        sums = sums[..., :half] + sums[..., half:]
    return sums  # type: ignore[no-any-return]


def matrix_product(left: Array, right: Array, addend: Array | None = None) -> Array:
    """Return the product of two float32 matrices, or of stacks of them, and a term, with the last bits that MKL gives.

    So does numpy's library where the right matrix is as wide as its registers; a narrow one is filled up with zeros. Of
    vectors those are known that gradients of weights are made of: factors that lie as gradients and inputs do.
    Many terms are added to what is there in blocks, of which the last two are equal, as MKL does it in one thread.
    """
    (rows, terms), columns = left.shape[-2:], right.shape[-1]
    is_known = (
        terms <= BLOCK
        and rows <= 10
        and columns <= 11
        and right.strides[-1] == 4
        and (rows == 1 or left.strides[-2] == 4)
        if min(rows, columns) == 1
        else terms >= 32 and columns <= (128 if terms <= BLOCK else 160)
    )
    if left.dtype != np.float32 or not is_known:
        return left @ right if addend is None else addend + left @ right
    zeros = np.zeros((*right.shape[:-1], -columns % 16), np.float32)
    filled = np.concatenate((np.ascontiguousarray(right), zeros), axis=-1)
    high, whole = left.repeat(2 if rows == 1 else 1, axis=-2), max(terms // BLOCK - 1, 0) * BLOCK
    ends = [*range(BLOCK, whole + 1, BLOCK), *[(whole + terms + 1) // 2] * (terms - whole > BLOCK), terms]
    for first, end in zip([0, *ends], ends, strict=False):
        product = (high[..., first:end] @ filled[..., first:end, :])[..., :rows, :columns]
        addend = product if addend is None else addend + product
    return np.array(addend, order="C", copy=1 in left.shape or None)
