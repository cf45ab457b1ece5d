"""Sums of products: ``einsum``, ``tensordot`` and ``inner``."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from math import prod
from typing import Any

from gviz.autograd.row import TENSORS as call, public_names
from gviz.autograd.tensor import Tensor
from gviz.numbers.words import refuse
from gviz.ops.rows import check_one_dtype
from gviz.signatures.arguments import tensors

UNNAMED = "0123456789"
"""The labels of dims without one, which come before all others."""


# ------------------------------------------------------------------ einsum
@public_names("torch.einsum")
def einsum(equation: str, *operands: object) -> Any:
    """Return the products of the operands, summed over the labels that the result does not have."""
    refuse(
        not isinstance(equation, str),
        f"einsum(): argument 'equation' (position 1) must be str, not {type(equation).__name__}",
        TypeError,
    )
    terms = tensors(operands[0] if len(operands) == 1 and isinstance(operands[0], list | tuple) else operands)
    inputs, arrow, output = equation.partition("->")
    parts = subscripts(inputs)
    more = "more" if len(parts) < len(terms) else "fewer"
    refuse(len(parts) != len(terms), f"einsum(): {more} operands were provided than specified in the equation")
    labels = [spelled(part, operand.ndim, i) for i, (part, operand) in enumerate(zip(parts, terms, strict=True))]
    counts = Counter("".join(labels))
    dots = "".join(sorted(label for label in counts if label in UNNAMED))
    once = sorted(label for label in counts if counts[label] == 1 and label not in UNNAMED)
    result = "".join(*subscripts(output, len(inputs + arrow))).replace("...", dots) if arrow else dots + "".join(once)
    for label in result:
        refuse(
            label not in counts,
            f"einsum(): output subscript {label} does not appear in the equation for any input operand",
        )
        refuse(result.count(label) > 1, f"einsum(): output subscript {label} appears more than once in the output")
    axes = result + "".join(sorted(counts.keys() - {*result}))
    aligned = [align(operand, part, axes) for operand, part in zip(terms, labels, strict=True)]
    for axis, *sizes in zip(axes, *(operand.shape for operand in aligned), strict=True):
        first, *others = dict.fromkeys(size for size in sizes if size != 1) or [1]
        if others:
            raise RuntimeError(
                f"einsum(): subscript {axis} has size {others[0]} for operand {sizes.index(others[0])} which does not "
                f"broadcast with previously seen size {first}"
            )
    return contract(aligned, len(result))


def subscripts(side: str, begin: int = 0) -> list[list[str]]:
    """Return the labels, and ellipses, of each operand in one side of an equation; that of the result begins later."""
    groups: list[list[str]] = [[]]
    for token in re.finditer(r"\.\.\.|[^ ]", side):
        text, group = token[0], groups[-1]
        if text == "," and not begin:
            groups.append([])
            continue
        where, again, alone = (
            ("output", "but an ellipsis (...) was", "(...)")
            if begin
            else (f"operand {len(groups) - 1}", "for which an ellipsis was", "")
        )
        found = f"einsum(): found '.' for {where}"
        refuse(text[0] == "." and "..." in group, f"{found} {again} already found")
        refuse(text == ".", f"{found} that is not part of any ellipsis {alone}".rstrip())
        refuse(
            text != "..." and not (text.isascii() and text.isalpha()),
            f"einsum(): invalid subscript given at index {begin + token.start()} in the equation string, "
            "subscripts must be in [a-zA-Z]",
        )
        group.append(text)
    return groups


def spelled(part: list[str], rank: int, number: int) -> str:
    """Return a label for each dim of an operand, with digits for those that an ellipsis stands for: the last is 9."""
    hidden = rank - len([label for label in part if label != "..."])
    unfit, end = ("is more than", "") if "..." in part else ("does not match", " and no ellipsis was given")
    refuse(
        hidden < 0 or (hidden and "..." not in part),
        f"einsum(): the number of subscripts in the equation ({rank - hidden}) {unfit} the number of dimensions "
        f"({rank}) for operand {number}{end}",
    )
    return "".join(part).replace("...", UNNAMED[len(UNNAMED) - hidden :])


def align(operand: Tensor, labels: str, axes: str) -> Any:
    """Return an operand with a dim for every axis, in their order; of a label that it has twice the diagonal."""
    names = list(labels)
    for place in reversed(range(len(names))):
        if (first := names.index(names[place])) < place:
            size, other = operand.shape[place], operand.shape[first]
            refuse(
                size != other,
                f"einsum(): subscript {names[place]} is repeated for operand 0 but the sizes don't match, "
                f"{size} != {other}",
            )
            operand = operand.diagonal(0, first, place).movedim(-1, first)
            del names[place]
    for axis in axes:
        if axis not in names:
            operand = operand.unsqueeze(operand.ndim)
            names.append(axis)
    return operand.permute([names.index(axis) for axis in axes])


def contract(operands: list[Any], batch_dims: int) -> Any:
    """Return aligned operands multiplied from left to right, each label summed as soon as no later one has it."""
    left, *rest = operands
    dims = range(batch_dims, left.ndim)
    users = Counter(dim for operand in operands for dim in dims if operand.shape[dim] != 1)
    for right in rest:
        wide = [{dim for dim in dims if one.shape[dim] != 1} for one in (left, right)]
        users.subtract(wide[0] & wide[1])
        sum_dims = [dim for dim in dims if users[dim] == 1 and dim in wide[0] | wide[1]]
        users.subtract(sum_dims)
        left, other = (
            one.sum(alone, keepdim=True) if (alone := [dim for dim in sum_dims if dim in own - others]) else one
            for one, own, others in ((left, *wide), (right, *reversed(wide)))
        )
        left = sumproduct_pair(left, other, [dim for dim in sum_dims if dim in wide[0] & wide[1]])
    if not dims:
        return left
    return left.view(left.shape[:batch_dims]) if rest else left.sum(tuple(dims))


def sumproduct_pair(left: Tensor, right: Tensor, dims: list[int]) -> Any:
    """Return two tensors multiplied and summed over dims (which stay, with size one): PyTorch's way through bmm."""
    if not dims:
        return left * right
    free = [i for i in range(left.ndim) if i not in dims]
    both = [i for i in free if left.shape[i] != 1 != right.shape[i]]
    rows, columns = [i for i in free if left.shape[i] != 1 == right.shape[i]], [i for i in free if left.shape[i] == 1]
    if rows and columns and columns[-1] < rows[0]:
        left, right, rows, columns = right, left, columns, rows
    order = both + rows + dims + columns
    shape = [1 if i in dims else right.shape[i] if i in columns else left.shape[i] for i in order]
    product = grouped(left, both, rows, dims + columns).bmm(grouped(right, both, dims, columns + rows))
    return product.view(shape).permute([order.index(i) for i in range(len(order))])


def grouped(tensor: Tensor, *groups: Iterable[int]) -> Any:
    """Return a tensor with its dims in groups, each of which becomes one dim."""
    sizes = [prod(tensor.shape[dim] for dim in group) for group in groups]
    return tensor.permute([dim for group in groups for dim in group]).reshape(sizes)


# ------------------------------------------------------------------ pairs of dims
@public_names("torch.tensordot")
def tensordot(a: Tensor, b: Tensor, dims: Any = 2) -> Any:
    """Return the products summed over the last dims of one and the first of the other, or over pairs of dims."""
    refuse(
        isinstance(dims, float),
        "tensordot expects dims to be int or tuple[list[int], list[int]] or list[list[int]] containing two lists, "
        f"but got dims={dims}",
    )
    if isinstance(dims, int):
        refuse(dims < 0, f"tensordot expects dims >= 0, but got dims={dims}")
        refuse(dims > min(a.ndim, b.ndim), f"tensordot expects dims < ndim_a or ndim_b, but got dims={dims}")
        dims = range(-dims, 0), range(dims)
    return over_pairs(a, b, *((dim,) if isinstance(dim, int) else dim for dim in dims))


@public_names("inner")
def inner(input: Tensor, other: Tensor) -> Any:
    """Return the sums of products over the last dims."""
    if not input.ndim or not other.ndim:
        return call["mul"](input, other)
    refuse(
        input.shape[-1] != other.shape[-1],
        "inner() the last dimension must match on both input tensors but got shapes "
        f"{list(input.shape)} and {list(other.shape)}",
    )
    return over_pairs(input, other, (-1,), (-1,))


def over_pairs(left: Tensor, right: Tensor, dims1: Sequence[int], dims2: Sequence[int]) -> Any:
    """Return two tensors multiplied and summed over pairs of dims.

    Permuted to two matrices, or vectors, and multiplied.
    """
    check_one_dtype(left._array, right._array, "both inputs should have same dtype")
    for i, j in zip(dims1, dims2, strict=True):
        a, b = left.shape[i], right.shape[j]
        refuse(
            1 not in (a, b) and a != b,
            f"contracted dimensions need to match, but first has size {a} in dim {i} and second has size {b} in dim "
            f"{j}",
        )
        left = left.sum(i, keepdim=True, dtype=left.dtype) if b == 1 != a else left
        right = right.sum(j, keepdim=True, dtype=right.dtype) if a == 1 != b else right
    rows = [i for i in range(left.ndim) if i not in {dim % left.ndim for dim in dims1}]
    columns = [i for i in range(right.ndim) if i not in {dim % right.ndim for dim in dims2}]
    shape = [*(left.shape[i] for i in rows), *(right.shape[i] for i in columns)]
    if prod(shape) != 1:
        return grouped(left, rows, dims1).mm(grouped(right, dims2, columns)).reshape(shape)
    left, right = left.permute((*rows, *dims1)), right.permute((*dims2, *columns))  # all is summed
    if all(call["viewable"](one, (one.numel(),)) for one in (left, right)):
        right, left = (one if one.ndim == 1 else one.reshape((one.numel(),)) for one in (right, left))
        return left.dot(right).reshape(shape)
    return (left.squeeze() * right.squeeze()).sum(dtype=left.dtype).reshape(shape)
