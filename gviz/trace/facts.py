"""What is known of tensors as long as they live, by their identity."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from typing import Any, TypeAlias, TypeVar
from weakref import ref

T = TypeVar("T")

ByTensor: TypeAlias = "dict[int, tuple[Any, T]]"
"""The identity of a tensor -> a weak reference to it, and what is known of it."""


MOST_ITEMS = 100
"""The items of nested lists that are looked at, the first ones."""


class TensorRef(ref):  # type: ignore[type-arg]
    """A weak reference to a tensor that something is known of; it is one object, since a loop may make very many."""

    __slots__ = ("facts", "key")
    facts: dict[int, Any]
    key: int


def forget(one: TensorRef) -> None:
    """Forget the facts of a tensor that is gone."""
    one.facts.pop(one.key, None)


def remember(facts: ByTensor[T], tensor: Any, fact: T) -> None:
    """Keep a fact about a tensor as long as the tensor lives."""
    one = TensorRef(tensor, forget)
    one.facts, one.key = facts, id(tensor)
    facts[one.key] = one, fact


def recall(facts: ByTensor[T], tensor: Any) -> T | None:
    """Return the fact that is kept about a tensor; None for none."""
    one = facts.get(id(tensor))
    return one[1] if one is not None and one[0]() is tensor else None


def flat(value: object, most: int = sys.maxsize, nests: tuple[Any, ...] = (list, tuple)) -> Iterator[Any]:
    """Yield the first items of nested lists, or of dictionaries, too; of anything else the thing itself."""
    todo, count = list[Any]([value]), 0
    while todo and count < most:
        item = todo.pop()
        if isinstance(item, nests):
            todo.extend(reversed([*(item.values() if isinstance(item, dict) else item[:most])]))
        else:
            count += 1
            yield item


def listed(value: Any, kind: type) -> Any:
    """Return what can be read once, as ``net.parameters()``, or is no list, as a tuple; anything else as it is."""
    return tuple(value) if isinstance(value, Iterable) and not isinstance(value, kind | list | tuple | dict) else value


def tensors_in(value: object, kind: type) -> Iterator[Any]:
    """Yield the tensors in what a module returns: one, or lists and dictionaries of them."""
    yield from (one for one in flat(value, nests=(list, tuple, dict)) if isinstance(one, kind))
