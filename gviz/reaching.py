"""What can be reached from some things, as nodes along the edges of a graph; and the order that steps give things."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable
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


def first_to_last(things: Collection[Thing], following: Callable[[Thing], Iterable[Thing]]) -> list[Thing]:
    """Return things, each after all that lead to it; without those on a circle, and behind one.

    >>> first_to_last([4, 1, 2, 5, 6], {1: [2, 4], 2: [4], 4: [], 5: [6], 6: [5]}.__getitem__)
    [1, 2, 4]

    Args:
        things: those that come first stay in this order.
        following: what one step from a thing leads to.
    """
    waiting = Counter(other for one in things for other in following(one))
    ready = [one for one in things if not waiting[one]]
    for one in ready:  # grows while it is read
        for other in following(one):
            waiting[other] -= 1
            if not waiting[other]:
                ready.append(other)
    return ready
