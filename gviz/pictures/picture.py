"""A picture as data: Graphviz's boxes, lines and frames with their attributes. A view makes it, a format writes it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple


class Shape(NamedTuple):
    """A box, by the id of its node, with Graphviz's attributes."""

    id: str
    look: Mapping[str, str]


class Plate(Shape):
    """A text on a line, which is a box to Graphviz: a line without a head leads to it, another one from it."""

    __slots__ = ()


class Arrow(NamedTuple):
    """A line between two boxes; ``tail`` and ``head`` are the sides that it leaves and enters: ``e``, ``n`` ..."""

    start: str
    end: str
    look: Mapping[str, str]
    tail: str = ""
    head: str = ""


class Frame(NamedTuple):
    """The beginning of a frame around what follows, by its path; without one, the end of the last frame.

    With a ``rank`` it has no outline: it says that boxes stand side by side.
    """

    path: str = ""
    look: Mapping[str, str] = {}


Statement = Shape | Arrow | Frame


def labels_of(statements: Iterable[Statement]) -> Iterator[str]:
    """Yield what is written in boxes, on lines and on frames."""
    return (one.look.get("label", "") for one in statements)


LARGE = 300
"""Boxes from which on a picture has TorchViz's size, no legend and one ink: nobody reads it box by box."""


class LazyStatements:
    """Statements that are made each time they are read: to keep those of a large graph takes longer than to make them.

    Args:
        make: makes them.
    """

    def __init__(self, make: Callable[[], Iterator[Statement]]) -> None:
        self.make = make

    def __iter__(self) -> Iterator[Statement]:
        return self.make()


@dataclass(frozen=True)
class Picture:
    """A graph as it is going to be drawn.

    Args:
        title: its name.
        graph: attributes of the whole.
        node: attributes that all boxes have.
        edge: attributes that all lines have.
        statements: boxes, frames and arrows, in the order in which they are written.
        heading: what a page says above it, if it is not told otherwise.
        caption: HTML-like lines that a page has below it.
    """

    title: str
    graph: Mapping[str, str]
    node: Mapping[str, str]
    edge: Mapping[str, str]
    statements: Iterable[Statement]
    heading: str = ""
    caption: Sequence[str] = ()
