"""Shapes, indexing, joining, splitting and matrix products: which row each call form means."""

from __future__ import annotations

from operator import index
from typing import TYPE_CHECKING, Any


from gviz.numbers.classes import type_text
from gviz.numbers.words import warn_once
from gviz.autograd.row import TENSORS as call
from gviz.engine.surface.indexing import get_item

if TYPE_CHECKING:
    from gviz.autograd.tensor import Tensor


def listed(given: tuple[Any, ...]) -> tuple[Any, ...]:
    """``(a, b)`` from ``a, b`` or from ``(a, b)``. TypeError: one of several is no tensor."""
    tensors = tuple(given[0]) if len(given) == 1 and isinstance(given[0], list | tuple) else given
    for i, one in enumerate(tensors):
        if not hasattr(one, "_array"):
            raise TypeError(f"expected Tensor as element {i} in argument 0, but got {type_text(one)}")
    return tensors


def flat_sizes(size: tuple[Any, ...]) -> tuple[Any, ...]:
    """``(2, 3)`` from ``2, 3`` or from ``(2, 3)``. TypeError: nothing was given."""
    if len(size) != 1:
        if not size:
            raise TypeError("no sizes")
        return size
    if isinstance(size[0], list | tuple):
        return tuple(size[0])
    if isinstance(size[0], bool):
        raise TypeError("a flag is no size")
    return (index(size[0]),)


def tensor_list(name: str, tensors: Any) -> list[Any]:
    """The tensors of a list or tuple, which holds nothing else."""
    if not isinstance(tensors, list | tuple):
        given = type_text(tensors)
        raise TypeError(f"{name}(): argument 'tensors' (position 1) must be tuple of Tensors, not {given}")
    for i, one in enumerate(tensors):
        if not hasattr(one, "_array"):
            raise TypeError(f"expected Tensor as element {i} in argument 0, but got {type_text(one)}")
    return list(tensors)


BOTH: dict[str, Any] = {
}  # fmt: skip

METHODS: dict[str, Any] = {"__getitem__": get_item}
