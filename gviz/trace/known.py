"""What is known of tensors as long as they live, by their identity."""

from __future__ import annotations

from typing import Any, TypeAlias, TypeVar
from weakref import ref

T = TypeVar("T")

Known: TypeAlias = "dict[int, tuple[Any, T]]"
"""The identity of a tensor -> a weak reference to it, and what is known of it."""


class Remembered(ref):  # type: ignore[type-arg]
    """A weak reference to a tensor that something is known of; it is one object, since a loop may make very many."""

    __slots__ = ("key", "known")
    known: dict[int, Any]
    key: int


def forget(one: Remembered) -> None:
    """Know nothing more of a tensor that is gone."""
    one.known.pop(one.key, None)


def remember(known: Known[T], tensor: Any, what: T) -> None:
    """Know something of a tensor, as long as it lives."""
    one = Remembered(tensor, forget)
    one.known, one.key = known, id(tensor)
    known[one.key] = one, what


def recall(known: Known[T], tensor: Any) -> T | None:
    """Return what is known of a tensor."""
    one = known.get(id(tensor))
    return one[1] if one is not None and one[0]() is tensor else None
