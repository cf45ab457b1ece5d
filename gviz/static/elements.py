"""The elements of a ``tf.TensorArray`` in a run, and those of its gradients."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from gviz.numbers.words import refuse
from gviz.static.types import Array, Value

if TYPE_CHECKING:
    from numpy import typing as npt  # which is slow to import


class Elements:
    """A list that operations write and read; the elements of a gradient are added to what is there.

    Args:
        count: how many elements there are; more come by writing them.
        forward: of a gradient: the list that it is the gradient of.
    """

    def __init__(self, count: int, forward: Elements | None = None) -> None:
        self._items: list[Any] = [None] * count
        self._forward = forward
        self._gradients: dict[str, Elements] = {}

    def __len__(self) -> int:
        return len(self._items)

    def gradient(self, source: str) -> Elements:
        """Return the gradient that a call of ``tf.gradients`` computes."""
        return self._gradients.setdefault(source, Elements(len(self), self))

    def read(self, place: int) -> Value:
        """Return an element; zeros if there is none in its place."""
        if self._items[place] is not None:
            return self._items[place]
        items = [*self._items, *(self._forward._items if self._forward else ())]
        like = next((item for item in items if item is not None), None)
        refuse(like is None, f"Could not read index {place} twice or before it was written")
        return np.zeros_like(like)

    def write(self, place: int, value: Value) -> None:
        """Put an element in its place."""
        self._items += [None] * (place + 1 - len(self))
        before = self._items[place]
        self._items[place] = value if before is None or self._forward is None else before + value


def write_element(elements: Elements, place: Value, value: Value, flow: Value) -> Value:
    """Write an element; return what tells that it is there."""
    elements.write(int(place), value)
    return flow


def scatter_elements(elements: Elements, places: Iterable[Value], value: Array, flow: Value) -> Value:
    """Write the parts of a tensor along its first axis."""
    for place, part in zip(places, value, strict=True):
        elements.write(int(place), part)
    return flow


def gather_elements(elements: Elements, places: Array, flow: Value, dtype: npt.DTypeLike) -> Array:
    """Return some elements as one tensor."""
    return np.array([elements.read(int(place)) for place in places], dtype)
