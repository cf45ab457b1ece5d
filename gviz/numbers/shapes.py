"""Dimensions and shapes, as PyTorch counts, broadcasts and refuses them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = ["broadcast_shape", "check_written", "steps_of", "wrap_dim", "wrap_dims"]


def wrap_dim(dim: int, ndim: int) -> int:
    """A dimension counted from 0, whatever the sign it was given with; refuses one that is out of range."""
    size = max(ndim, 1)
    if not -size <= dim < size:
        if not -(1 << 63) <= dim < 1 << 63:
            raise ValueError("Overflow when unpacking long long")
        raise IndexError(f"Dimension out of range (expected to be in range of [{-size}, {size - 1}], but got {dim})")
    return dim % size


def wrap_dims(dims: Iterable[int], ndim: int) -> tuple[int, ...]:
    """Several of them, each at most once."""
    wrapped: list[int] = []
    for dim in dims:
        one = wrap_dim(dim, ndim)
        if one in wrapped:
            raise RuntimeError(f"dim {one} appears multiple times in the list of dims")
        wrapped.append(one)
    return tuple(wrapped) if ndim else ()


def broadcast_shape(*shapes: Sequence[int]) -> tuple[int, ...]:
    """The common shape of operands; refuses those that have none, in PyTorch's words."""
    result: list[int] = []
    for shape in shapes:
        for offset in range(1, len(shape) + 1):
            size = shape[-offset]
            if offset > len(result):
                result.insert(0, size)
            elif result[-offset] != size:
                if result[-offset] == 1:
                    result[-offset] = size
                elif size != 1:
                    where = max(len(result), len(shape)) - offset
                    raise RuntimeError(
                        f"The size of tensor a ({result[-offset]}) must match the size of tensor b ({size}) at "
                        f"non-singleton dimension {where}"
                    )
    return tuple(result)


def check_written(shape: Sequence[int], written: Sequence[int]) -> None:
    """Refuse to write what has a shape over what has another, unless that is broadcast to it."""
    if (common := broadcast_shape(shape, written)) != tuple(shape):
        raise RuntimeError(f"output with shape {list(shape)} doesn't match the broadcast shape {list(common)}")


def steps_of(array: Any) -> tuple[int, ...]:
    """Return strides in elements; of an empty array as if it had one element along each dimension, where numpy says 0."""
    if array.size or any(array.strides):
        item = array.itemsize
        return tuple(s // item for s in array.strides)
    steps, step = [], 1
    for size in reversed(array.shape):
        steps.append(step)
        step *= max(size, 1)
    return tuple(reversed(steps))
