"""Sums of products: ``einsum``, ``tensordot`` and ``inner``."""

from __future__ import annotations

import re
from collections import Counter
from math import prod
from string import ascii_lowercase, ascii_uppercase
from typing import Any

from gviz.autograd.row import TENSORS as call
from gviz.autograd.row import named
from gviz.autograd.tensor import Tensor
from gviz.numbers.classes import type_text
from gviz.ops.checks import check_one_dtype

__all__: list[str] = []

DOTS = "..."
LABEL = re.compile(r"\.\.\.|.")


# ------------------------------------------------------------------ einsum
@named("torch.einsum")
def einsum(equation: Any, *operands: Any) -> Any:
    """Return the products of the operands, summed over the labels that the result does not have.

    Raises:
        RuntimeError: labels and dims do not fit.
    """
    equation, operands = in_letters(equation, *operands)
    if wrong := re.search(r"[^a-zA-Z, ]", equation.replace("->", "  ", 1).replace(DOTS, "   ")):
        raise RuntimeError(
            f"einsum(): invalid subscript given at index {wrong.start()} in the equation string, subscripts must be in [a-zA-Z]"
        )
    inputs, arrow, output = equation.replace(" ", "").partition("->")
    parts = [LABEL.findall(part) for part in inputs.split(",")]
    if len(parts) != len(operands):
        more = "more" if len(parts) < len(operands) else "fewer"
        raise RuntimeError(f"einsum(): {more} operands were provided than specified in the equation")
    wide = 0
    for i, (part, operand) in enumerate(zip(parts, operands, strict=True)):
        if not isinstance(operand, Tensor):
            raise TypeError(f"einsum(): operand {i} must be Tensor, not {type_text(operand)}")
        if len(part) != operand.ndim and (DOTS not in part or len(part) > operand.ndim + 1):
            raise RuntimeError(
                f"einsum(): the number of subscripts in the equation ({len(part)}) does not match the number of dimensions "
                f"({operand.ndim}) for operand {i} and no ellipsis was given"
            )
        wide = max(wide, operand.ndim - len(part) + 1) if DOTS in part else wide
    counts = Counter(label for part in parts for label in part)
    once = sorted(label for label in counts if counts[label] == 1 and label != DOTS)
    result = LABEL.findall(output) if arrow else [DOTS] * (DOTS in counts) + once
    for label in result:
        if label not in counts and label != DOTS:
            raise RuntimeError(f"einsum(): output subscript {label} does not appear in the equation for any input operand")
        if result.count(label) > 1:
            raise RuntimeError(f"einsum(): output subscript {label} appears more than once in the output")
    dotted = [f"{DOTS}{i}" for i in range(wide)]
    kept = [axis for label in result for axis in (dotted if label == DOTS else [label])]
    axes = [*kept, *(axis for axis in dotted if axis not in kept), *sorted(counts.keys() - {DOTS, *kept})]
    aligned = [align(*pair, axes, dotted) for pair in zip(operands, parts, strict=True)]
    check_sizes(aligned, axes)
    return contract(aligned, len(kept))


def in_letters(*args: Any) -> tuple[str, Any]:
    """Return the equation and the operands, also where a list of numbers follows each operand, and one the last, the result."""
    if isinstance(args[0], str):
        return args[0], args[1] if len(args) == 2 and isinstance(args[1], list | tuple) else args[1:]
    letters, count = ascii_uppercase + ascii_lowercase, len(args) // 2 * 2
    lists = (*args[1:count:2], *args[count:])
    parts = ["".join(DOTS if number is Ellipsis else letters[number] for number in one) for one in lists]
    return "->".join([",".join(parts[: count // 2]), *parts[count // 2 :]]), args[:count:2]


def align(operand: Any, part: list[str], axes: list[str], dotted: list[str]) -> Any:
    """Return an operand with a dim for every axis, in their order; of a label that it has twice the diagonal."""
    under = dotted[len(dotted) + len(part) - 1 - operand.ndim :]
    names = [axis for label in part for axis in (under if label == DOTS else [label])]
    place = 0
    while place < len(names):
        first = names.index(names[place])
        if first < place:
            sizes = operand.shape
            if sizes[first] != sizes[place]:
                raise RuntimeError(
                    f"einsum(): subscript {names[place]} is repeated for operand 0 but the sizes don't match, "
                    f"{sizes[place]} != {sizes[first]}"
                )
            operand = operand.diagonal(0, first, place).movedim(-1, first)
            del names[place]
        else:
            place += 1
    for axis in axes:
        if axis not in names:
            operand = operand.unsqueeze(operand.ndim)
            names.append(axis)
    return operand.permute([names.index(axis) for axis in axes])


def check_sizes(operands: list[Any], axes: list[str]) -> None:
    """Refuse a label that has two sizes, neither of them one."""
    for dim, axis in enumerate(axes):
        seen = 1
        for i, operand in enumerate(operands):
            size = operand.shape[dim]
            if 1 not in (size, seen) and size != seen:
                raise RuntimeError(
                    f"einsum(): subscript {axis} has size {size} for operand {i} which does not broadcast with previously "
                    f"seen size {seen}"
                )
            seen = max(size, seen)


def contract(operands: list[Any], kept: int) -> Any:
    """Return aligned operands multiplied from left to right, each label summed as soon as no later one has it."""
    result, *rest = operands
    dims = range(kept, result.ndim)
    users = {dim: sum(operand.shape[dim] != 1 for operand in operands) for dim in dims}
    for right in rest:
        together, alone = [], ([], [])  # type: ignore[var-annotated]
        for dim in dims:
            sizes = result.shape[dim], right.shape[dim]
            if 1 not in sizes:
                users[dim] -= 1
                if users[dim] == 1:
                    together.append(dim)
                    users[dim] = 0
            elif users[dim] == 1 and sizes != (1, 1):
                alone[sizes[0] == 1].append(dim)
                users[dim] = 0
        left, right = (  # noqa: PLW2901 - without what is summed
            one.sum(summed, keepdim=True) if summed else one for one, summed in zip((result, right), alone, strict=True)
        )
        result = sumproduct_pair(left, right, together)
    if not dims:
        return result
    return result.view(result.shape[:kept]) if rest else result.sum(tuple(dims))


def sumproduct_pair(left: Any, right: Any, dims: list[int]) -> Any:
    """Return two tensors multiplied and summed over dims (which stay, with size one): PyTorch's way through bmm."""
    if not dims:
        return left * right
    both: list[int] = []
    only_left: list[int] = []
    only_right: list[int] = []
    for i, (a, b) in enumerate(zip(left.shape, right.shape, strict=True)):
        if i not in dims:
            (both if a != 1 != b else only_left if a != 1 else only_right).append(i)
    if only_left and only_right and only_right[-1] < only_left[0]:
        left, right, only_left, only_right = right, left, only_right, only_left
    shape = [left.shape[i] for i in both + only_left] + [1] * len(dims) + [right.shape[i] for i in only_right]
    order = both + only_left + dims + only_right
    rows, columns, batch, inner = (
        prod(one.shape[i] for i in places)
        for one, places in ((left, only_left), (right, only_right), (left, both), (left, dims))
    )
    left = left.permute(order).reshape(batch, rows, inner)
    right = right.permute(both + dims + only_right + only_left).reshape(batch, inner, columns)
    return left.bmm(right).view(shape).permute([order.index(i) for i in range(len(order))])


# ------------------------------------------------------------------ pairs of dims
@named("torch.tensordot")
def tensordot(a: Tensor, b: Tensor, dims: Any = 2) -> Any:
    """Return the products summed over the last dims of one and the first of the other, or over pairs of dims.

    Raises:
        RuntimeError: a negative number of dims, or more than there are, or sizes that differ.
    """
    if not isinstance(dims, int):
        first, second = ((dim,) if isinstance(dim, int) else tuple(dim) for dim in dims)
        return over_pairs(a, b, first, second)
    if dims < 0:
        raise RuntimeError(f"tensordot expects dims >= 0, but got dims={dims}")
    if dims > min(a.ndim, b.ndim):
        raise RuntimeError(f"tensordot expects dims < ndim_a or ndim_b, but got dims={dims}")
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
            raise RuntimeError(
                f"contracted dimensions need to match, but first has size {a} in dim {i} and second has size {b} in dim {j}"
            )
    rows = [i for i in range(left.ndim) if i not in {dim % left.ndim for dim in dims1}]
    columns = [i for i in range(right.ndim) if i not in {dim % right.ndim for dim in dims2}]
    shape = [*(left.shape[i] for i in rows), *(right.shape[i] for i in columns)]
    inside, height, width = (
        prod(one.shape[i] for i in places) for one, places in ((left, dims1), (left, rows), (right, columns))
    )
    order, left = (*dims2, *columns), left.permute((*rows, *dims1))
    if height == width == 1:  # all is summed
        right = right.permute(order)
        if all(call["viewable"](one, (inside,)) for one in (left, right)):
            right, left = (one if one.ndim == 1 else one.reshape((inside,)) for one in (right, left))
            return left.dot(right).reshape(shape)
        return (left.squeeze() * right.squeeze()).sum(dtype=dtype).reshape(shape)
    left = left.reshape((height, inside))
    return left.mm(right.permute(order).reshape((inside, width))).reshape(shape)
