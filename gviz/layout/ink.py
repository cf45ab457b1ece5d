"""A drawn page as ink: rectangles, lines and texts with their places, which gviz's own writers put into files.

Places are points from the upper left corner; y grows downwards.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple, Protocol

from gviz.layout.fonts.faces import type_width
from gviz.text import display_width

Point = tuple[float, float]
Stroke = tuple[float, ...]
"""A piece of a line from where the last one ends: (x, y), straight, or a curve, by two points that pull and its end."""

COLUMN = 0.602
"""The width of a letter of the face for code, by the size of the type."""

BREADTH = 0.35
"""Half the width of an arrowhead by its length, as Graphviz draws it."""


class Inked(NamedTuple):
    """A piece of a line of text; ``colour`` is "" for the usual one, ``face`` a key of the table of faces."""

    text: str
    colour: str = ""
    is_bold: bool = False
    face: str = "mono"


class Pen(NamedTuple):
    """How a line, or an outline, is drawn; without a colour it is not."""

    colour: str
    width: float = 1.0
    dash: tuple[float, ...] = ()


class Outline(NamedTuple):
    """A rectangle by its middle, with round corners of that radius; "" fills it with nothing. ``tip`` is read on it.

    ``part`` is what it is a part of, as of all ink: whoever draws only some of it finds it by that.
    """

    middle: Point
    size: Point
    radius: float
    fill: str
    pen: Pen
    tip: str = ""
    part: str = ""


class TextLine(NamedTuple):
    """A line of text by the middle of its base line, or by its beginning."""

    place: Point
    size: float
    colour: str
    words: Sequence[Inked]
    is_centred: bool = True
    part: str = ""


class Stretch(NamedTuple):
    """A line, and the ends of it that have a head, each with the point that it comes from."""

    strokes: Sequence[Stroke]
    pen: Pen
    heads: Sequence[tuple[Point, Point]] = ()
    size: float = 0.0
    part: str = ""


Item = Outline | TextLine | Stretch


class Sheet(Protocol):
    """What a writer needs of a page.

    Attributes:
        title: its name.
        description: what it shows, in a sentence; "" for none.
        size: width and height, margins included.
        page: the colour behind everything, "" for none.
    """

    title: str
    description: str
    size: Point
    page: str

    def items(self) -> Iterable[Item]:
        """Yield all that is drawn, what is behind first."""
        ...


def text_width(words: Iterable[Inked], size: float) -> float:
    """Return the width of a line of text, in points."""
    return sum([word_width(word, size) for word in words])


def word_width(word: Inked, size: float) -> float:
    """Return the width of a piece of a line of text, in points."""
    return display_width(word.text) * size * COLUMN if word.face == "mono" else type_width(word.text, size, word.face)


def head_of(tip: Point, base: Point, size: float) -> tuple[Point, Point, Point]:
    """Return the corners of an arrowhead, its tip first."""
    across, along = tip[0] - base[0], tip[1] - base[1]
    length = (across**2 + along**2) ** 0.5 or 1.0
    across, along = across / length * size, along / length * size
    x, y = tip[0] - across, tip[1] - along
    return tip, (x - along * BREADTH, y + across * BREADTH), (x + along * BREADTH, y - across * BREADTH)


def shifted(items: Iterable[Item], x: float, y: float, scale: float = 1.0) -> Iterator[Item]:
    """Yield the items made so many times as large, then shifted."""

    def at(point: Point) -> Point:
        return x + point[0] * scale, y + point[1] * scale

    for item in items:
        if isinstance(item, TextLine):
            yield item._replace(place=at(item.place), size=item.size * scale)
            continue
        pen = item.pen._replace(width=item.pen.width * scale, dash=tuple(part * scale for part in item.pen.dash))
        if isinstance(item, Outline):
            size = item.size[0] * scale, item.size[1] * scale
            yield item._replace(middle=at(item.middle), size=size, radius=item.radius * scale, pen=pen)
        else:
            strokes = [
                tuple((x, y)[place % 2] + part * scale for place, part in enumerate(one)) for one in item.strokes
            ]
            heads = [(at(tip), at(base)) for tip, base in item.heads]
            yield Stretch(strokes, pen, heads, item.size * scale, item.part)


def extent_of_ink(items: Iterable[Item]) -> tuple[float, float, float, float]:
    """Return the left, upper, right and lower ends of what is drawn; texts count with ascenders and descenders."""
    xs: list[float] = []
    ys: list[float] = []
    for item in items:
        if isinstance(item, TextLine):
            width = text_width(item.words, item.size)
            left = item.place[0] - width / 2 * item.is_centred
            xs += left, left + width
            ys += item.place[1] - 0.78 * item.size, item.place[1] + 0.22 * item.size
        elif isinstance(item, Outline):
            xs += item.middle[0] - item.size[0] / 2, item.middle[0] + item.size[0] / 2
            ys += item.middle[1] - item.size[1] / 2, item.middle[1] + item.size[1] / 2
        else:
            flat = [part for stroke in item.strokes for part in stroke] + [
                part for tip, _ in item.heads for part in tip
            ]
            xs += flat[::2]
            ys += flat[1::2]
    return min(xs, default=0.0), min(ys, default=0.0), max(xs, default=0.0), max(ys, default=0.0)
