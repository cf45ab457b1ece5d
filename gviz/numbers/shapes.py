"""Dimensions and shapes, as PyTorch counts, broadcasts and refuses them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import zip_longest
from math import prod

from gviz.numbers.types import Array
from gviz.numbers.words import refuse


def wrap_dim(dim: int, ndim: int) -> int:
    """Return a dimension counted from 0, whatever the sign it was given with; refuse one that is out of range."""
    size = max(ndim, 1)
    if not -size <= dim < size:
        raise IndexError(f"Dimension out of range (expected to be in range of [{-size}, {size - 1}], but got {dim})")
    return dim % size


def wrap_dims(dims: Iterable[int], ndim: int) -> tuple[int, ...]:
    """Return several of them; refuse one that is named twice."""
    wrapped = [wrap_dim(dim, ndim) for dim in dims]
    for i, dim in enumerate(wrapped):
        refuse(dim in wrapped[:i], f"dim {dim} appears multiple times in the list of dims")
    return tuple(wrapped) if ndim else ()


def broadcast_shape(*shapes: Sequence[int]) -> tuple[int, ...]:
    """Return the common shape of operands; refuse those that have none, in PyTorch's words."""
    result: list[int] = []  # from the last dimension
    for shape in shapes:
        pairs = list(zip_longest(result, reversed(shape), fillvalue=1))
        for i, (a, b) in enumerate(pairs):
            refuse(
                a != b and 1 not in (a, b),
                f"The size of tensor a ({a}) must match the size of tensor b ({b}) at non-singleton dimension"
                f" {len(pairs) - 1 - i}",
            )
        result = [b if a == 1 else a for a, b in pairs]
    return tuple(reversed(result))


def check_written(shape: Sequence[int], target: Sequence[int]) -> None:
    """Refuse to write what has a shape over what has another, unless that is broadcast to it."""
    if (common := broadcast_shape(shape, target)) != tuple(shape):
        raise RuntimeError(f"output with shape {list(shape)} doesn't match the broadcast shape {list(common)}")


def element_strides(array: Array) -> tuple[int, ...]:
    """Return strides in elements.

    Of an empty array as if it had one element along each dimension, where numpy says 0.
    """
    return (
        tuple(s // array.itemsize for s in array.strides)
        if array.size or any(array.strides)
        else tuple(prod(max(size, 1) for size in array.shape[dim + 1 :]) for dim in range(array.ndim))
    )


def memory_order(shape: Sequence[int], operands: Sequence[Array]) -> list[int]:
    """Return the dimensions of a result in the order in which PyTorch lays them out in memory, the outermost first.

    Of two dimensions the inner one is that along which the first operand that is broadcast along neither has the
    shorter step; the sort is PyTorch's own (TensorIterator.cpp), as the operands may disagree.
    """
    steps = [
        [0] * (len(shape) - one.ndim)
        + [
            abs(step) if size == whole else 0
            for step, size, whole in zip(one.strides, one.shape, shape[len(shape) - one.ndim :], strict=True)
        ]
        for one in operands
    ]
    order = [*reversed(range(len(shape)))]
    for last in range(1, len(shape)):
        at = last
        for i in reversed(range(last)):
            inner, outer = order[i], order[at]
            along = ((each[inner], each[outer]) for each in steps if each[inner] and each[outer])
            sign = next(filter(None, (one - other or shape[inner] > shape[outer] for one, other in along)), 0)
            if sign < 0:
                break
            if sign > 0:
                order[i], order[at], at = outer, inner, i
    return order[::-1]
