"""What can be reached from some things, as the nodes of a graph along its edges."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

Thing = TypeVar("Thing")


def reached(starts: Iterable[Thing], following: Callable[[Thing], Iterable[Thing]]) -> list[Thing]:
    """Return what can be reached, with where it starts: each thing once, the nearest first.

    >>> reached([1], lambda number: [2 * number, 1] if number < 8 else [])
    [1, 2, 4, 8]

    Args:
        starts: where it starts.
        following: what one step from a thing leads to.
    """
    found = dict.fromkeys(starts)
    todo = [*found]
    for one in todo:  # grows while it is read
        new = dict.fromkeys(other for other in following(one) if other not in found)
        found |= new
        todo += new
    return todo
