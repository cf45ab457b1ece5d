"""Sums of products: ``einsum``, ``tensordot`` and ``inner``."""

from __future__ import annotations

import re
from collections import Counter
from math import prod
from typing import Any

from gviz.autograd.row import TENSORS as call
from gviz.autograd.row import named
from gviz.autograd.tensor import Tensor
from gviz.numbers.classes import type_text
from gviz.ops.checks import check_one_dtype

__all__: list[str] = []

DOTS, LABEL = "...", re.compile(r"\.\.\.|.")


# ------------------------------------------------------------------ einsum
@named("torch.einsum")
def einsum(equation: str, *operands: Any) -> Any:
    """Return the products of the operands, summed over the labels that the result does not have."""
    if not isinstance(equation, str):
        raise TypeError(f"einsum(): argument 'equation' (position 1) must be str, not {type_text(equation)}")
    if len(operands) == 1 and isinstance(operands[0], list | tuple):
        operands = tuple(operands[0])
    inputs, arrow, output = equation.replace(" ", "").partition("->")
    parts = [LABEL.findall(part) for part in inputs.split(",")]
    if len(parts) != len(operands):
        more = "more" if len(parts) < len(operands) else "fewer"
        raise RuntimeError(f"einsum(): {more} operands were provided than specified in the equation")
    for i, (part, operand) in enumerate(zip(parts, operands, strict=True)):
        if not isinstance(operand, Tensor):
            raise TypeError(f"einsum(): operand {i} must be Tensor, not {type_text(operand)}")
        if len(part) != operand.ndim and (DOTS not in part or len(part) > operand.ndim + 1):
            counted = f"({len(part)}) does not match the number of dimensions ({operand.ndim}) for operand {i}"
            raise RuntimeError(f"einsum(): the number of subscripts in the equation {counted} and no ellipsis was given")
    dotted = [one.ndim - len(part) + 1 for one, part in zip(operands, parts, strict=True) if DOTS in part]
    unnamed = [f"{DOTS}{i}" for i in range(max(dotted, default=0))]
    counts = Counter(label for part in parts for label in part)
    once = sorted(label for label in counts if counts[label] == 1 and label != DOTS)
    result = LABEL.findall(output) if arrow else [DOTS] * (DOTS in counts) + once
    for label in result:
        if label not in counts and label != DOTS:
            raise RuntimeError(f"einsum(): output subscript {label} does not appear in the equation for any input operand")
        if result.count(label) > 1:
            raise RuntimeError(f"einsum(): output subscript {label} appears more than once in the output")
    kept = [axis for label in result for axis in (unnamed if label == DOTS else [label])]
    axes = [*kept, *(axis for axis in unnamed if axis not in kept), *sorted(counts.keys() - {DOTS, *kept})]
    aligned = [align(*pair, axes, unnamed) for pair in zip(operands, parts, strict=True)]
    check_sizes(aligned, axes)
    return contract(aligned, len(kept))


def check_sizes(operands: list[Any], axes: list[str]) -> None:
    """Refuse a label that has two sizes, neither of them one."""
    for dim, axis in enumerate(axes):
        seen = 1
        for i, size in enumerate(operand.shape[dim] for operand in operands):
            if 1 not in (size, seen) and size != seen:
                text = f"for operand {i} which does not broadcast with previously seen size {seen}"
                raise RuntimeError(f"einsum(): subscript {axis} has size {size} {text}")
            seen = max(size, seen)


def align(operand: Any, part: list[str], axes: list[str], unnamed: list[str]) -> Any:
    """Return an operand with a dim for every axis, in their order; of a label that it has twice the diagonal."""
    under = unnamed[len(unnamed) + len(part) - 1 - operand.ndim :]
    names = [axis for label in part for axis in (under if label == DOTS else [label])]
    for place in reversed(range(len(names))):
        first = names.index(names[place])
        if first < place:
            if (size := operand.shape[place]) != (other := operand.shape[first]):
                text = f"is repeated for operand 0 but the sizes don't match, {size} != {other}"
                raise RuntimeError(f"einsum(): subscript {names[place]} {text}")
            operand = operand.diagonal(0, first, place).movedim(-1, first)
            del names[place]
    for axis in axes:
        if axis not in names:
            operand = operand.unsqueeze(operand.ndim)
            names.append(axis)
    return operand.permute([names.index(axis) for axis in axes])


def contract(operands: list[Any], kept: int) -> Any:
    """Return aligned operands multiplied from left to right, each label summed as soon as no later one has it."""
    result, *rest = operands
    dims = range(kept, result.ndim)
    users = {dim: sum(operand.shape[dim] != 1 for operand in operands) for dim in dims}
    for right in rest:
        together: list[int] = []
        alone: tuple[list[int], list[int]] = [], []
        for dim in dims:
            sizes = result.shape[dim], right.shape[dim]
            if 1 not in sizes:
                users[dim] -= 1
            if users[dim] == 1 and sizes != (1, 1):
                (together if 1 not in sizes else alone[sizes[0] == 1]).append(dim)
                users[dim] = 0
        result = result.sum(alone[0], keepdim=True) if alone[0] else result
        result = sumproduct_pair(result, right.sum(alone[1], keepdim=True) if alone[1] else right, together)
    if not dims:
        return result
    return result.view(result.shape[:kept]) if rest else result.sum(tuple(dims))


def sumproduct_pair(left: Any, right: Any, dims: list[int]) -> Any:
    """Return two tensors multiplied and summed over dims (which stay, with size one): PyTorch's way through bmm."""
    if not dims:
        return left * right
    free = [i for i in range(left.ndim) if i not in dims]
    both = [i for i in free if left.shape[i] != 1 != right.shape[i]]
    only_left = [i for i in free if left.shape[i] != 1 == right.shape[i]]
    only_right = [i for i in free if left.shape[i] == 1]
    if only_left and only_right and only_right[-1] < only_left[0]:
        left, right, only_left, only_right = right, left, only_right, only_left
    shape = [left.shape[i] for i in both + only_left] + [1] * len(dims) + [right.shape[i] for i in only_right]
    order = both + only_left + dims + only_right
    batch, rows, inner = (prod(left.shape[i] for i in places) for places in (both, only_left, dims))
    left = left.permute(order).reshape(batch, rows, inner)
    right = right.permute(both + dims + only_right + only_left).reshape(batch, inner, prod(right.shape[i] for i in only_right))
    return left.bmm(right).view(shape).permute([order.index(i) for i in range(len(order))])


# ------------------------------------------------------------------ pairs of dims
@named("torch.tensordot")
def tensordot(a: Tensor, b: Tensor, dims: Any = 2) -> Any:
    """Return the products summed over the last dims of one and the first of the other, or over pairs of dims."""
    if not isinstance(dims, int):
        first, second = ((dim,) if isinstance(dim, int) else tuple(dim) for dim in dims)
        return over_pairs(a, b, first, second)
    if not 0 <= dims <= min(a.ndim, b.ndim):
        wanted = "dims >= 0" if dims < 0 else "dims < ndim_a or ndim_b"
        raise RuntimeError(f"tensordot expects {wanted}, but got dims={dims}")
    return over_pairs(a, b, tuple(range(-dims, 0)), tuple(range(dims)))


@named("inner")
def inner(input: Tensor, other: Tensor) -> Any:
    """Return the sums of products over the last dims."""
    if not input.ndim or not other.ndim:
        return call["mul"](input, other)
    if input.shape[-1] != other.shape[-1]:
        shapes = " and ".join(str(list(one.shape)) for one in (input, other))
        raise RuntimeError(f"inner() the last dimension must match on both input tensors but got shapes {shapes}")
    return over_pairs(input, other, (-1,), (-1,))


def over_pairs(left: Any, right: Any, dims1: tuple[int, ...], dims2: tuple[int, ...]) -> Any:
    """Return two tensors multiplied and summed over pairs of dims: permuted to two matrices, or vectors, and multiplied."""
    check_one_dtype(left._array, right._array, "both inputs should have same dtype")
    sizes, dtype = (left.shape, right.shape), left.dtype
    for i, j in zip(dims1, dims2, strict=True):
        a, b = sizes[0][i], sizes[1][j]
        if b == 1 != a:
            left = left.sum(i, keepdim=True, dtype=dtype)
        elif a == 1 != b:
            right = right.sum(j, keepdim=True, dtype=dtype)
        elif a != b:
            text = f"first has size {a} in dim {i} and second has size {b} in dim {j}"
            raise RuntimeError(f"contracted dimensions need to match, but {text}")
    rows = [i for i in range(left.ndim) if i not in {dim % left.ndim for dim in dims1}]
    columns = [i for i in range(right.ndim) if i not in {dim % right.ndim for dim in dims2}]
    shape = [*(left.shape[i] for i in rows), *(right.shape[i] for i in columns)]
    places = (left, dims1), (left, rows), (right, columns)
    inside, height, width = (prod(one.shape[i] for i in dims) for one, dims in places)
    order, left = (*dims2, *columns), left.permute((*rows, *dims1))
    if height == width == 1:  # all is summed
        right = right.permute(order)
        if all(call["viewable"](one, (inside,)) for one in (left, right)):
            right, left = (one if one.ndim == 1 else one.reshape((inside,)) for one in (right, left))
            return left.dot(right).reshape(shape)
        return (left.squeeze() * right.squeeze()).sum(dtype=dtype).reshape(shape)
    left = left.reshape((height, inside))
    return left.mm(right.permute(order).reshape((inside, width))).reshape(shape)
