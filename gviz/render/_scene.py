"""A picture as ink: boxes, texts and lines with their places, laid out by gviz itself, for gviz's own writers.

Graphviz's words are read as Graphviz reads them, as far as gviz's pictures use them: boxes, circles and bare texts;
fills, pens and dashes; plain labels, and the rows, inks and bold words of HTML-like ones.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from html import unescape
from itertools import pairwise
from typing import NamedTuple

from gviz.graphs import Graph
from gviz.layout.ink import Inked, Item, Outline, Pen, Point, Sheet, Stretch, Stroke, TextLine, head_of, text_width
from gviz.layout.layered import layered
from gviz.layout.spots import FreePlaces, Rect, places_beside
from gviz.pictures import Arrow, Picture, Shape, picture_of, sheet_of
from gviz.pictures.html import Html, escaped
from gviz.pictures.options import RenderOptions
from gviz.pictures.page import TITLE
from gviz.pictures.picture import Frame
from gviz.text import visible

LEADING = 1.2
"""The height of a line, by the size of the type."""

PADDING = 3.0
"""Points that a row of an HTML-like label has besides its text."""

MARGIN, BETWEEN = 11.0, 24.0
"""Points around the picture, and between it and what stands above or below it."""

TIP = 10.0
"""Points of an arrowhead of size 1, as Graphviz draws it."""

COLOURS = {
    "lightgrey": "#D3D3D3",
    "lightblue": "#ADD8E6",
    "darkolivegreen1": "#CAFF70",
    "darkolivegreen3": "#A2CD5A",
    "orange": "#FFA500",
    "khaki": "#F0E68C",
    "grey50": "#7F7F7F",
    "grey60": "#999999",
    "black": "#000000",
    "white": "#FFFFFF",
    "red": "#FF0000",
    "green": "#00FF00",
    "blue": "#0000FF",
    "yellow": "#FFFF00",
}
"""Graphviz's names of colours that pictures use."""

NOTE = {"shape": "box", "style": "", "penwidth": "0", "fillcolor": "", "width": "0", "height": "0"}
"""The look of a text that stands alone, as a box."""

DASHES = {"dashed": (5.0, 2.0), "dotted": (1.0, 4.0)}

_TOKEN = re.compile(r"<[^>]*>|[^<]+")
_PAIR = re.compile(r'(\w[\w-]*)="([^"]*)"')

Rows = list[list[Inked]]


class Style(NamedTuple):
    """How a box looks, from Graphviz's attributes."""

    rows: Rows
    size: Point
    type_size: float
    ink: str
    radius: float
    fill: str
    pen: Pen
    leading: float


def colour_of(text: str) -> str:
    """Return a colour as SVG and PDF have it: ``#RRGGBB``, or a name that is none of Graphviz's."""
    return "" if text in ("transparent", "none") else COLOURS.get(text, text)


def label_rows(label: str, name: str) -> Rows:
    r"""Return the lines of a label.

    >>> label_rows("a\nb", "n0")
    [[Inked(text='a', colour='', is_bold=False, face='mono')], [Inked(text='b', colour='', is_bold=False, face='mono')]]
    >>> label_rows(Html('<<B>x</B> = <FONT COLOR="#8F2B00">2 &lt; 3</FONT>>'), "n0")[0][2]
    Inked(text='2 < 3', colour='#8F2B00', is_bold=False, face='mono')
    """
    if not isinstance(label, Html):
        text = label.replace("\\N", name) if label == "\\N" else label
        return [[Inked(line if line.isprintable() else visible(line))] for line in text.split("\n")]
    rows: Rows = [[]]
    colours, is_bold = [""], False
    for token in _TOKEN.findall(label[1:-1]):
        tag = token.strip("</>").partition(" ")[0].upper() if token[0] == "<" else ""
        is_end = token.startswith("</")
        if not tag:
            rows[-1].append(Inked(unescape(token).replace("\\\\", "\\"), colours[-1], is_bold))
        elif tag == "B":
            is_bold = not is_end
        elif tag == "FONT":
            colours = colours[:-1] if is_end else [*colours, dict(_PAIR.findall(token)).get("COLOR", colours[-1])]
        elif tag in ("TR", "BR", "HR") and rows[-1]:
            rows.append([])
        elif tag in ("TD", "VR") and not is_end and rows[-1]:
            rows[-1].append(Inked("  "))
    return [row for row in rows if row] or [[]]


def style_of(look: Mapping[str, str], name: str) -> Style:
    """Return how a box looks.

    Args:
        look: all of its attributes, the usual ones of the picture among them.
        name: its id.
    """
    label = look.get("label", "\\N")
    rows, size = label_rows(label, name), float(look.get("fontsize", "14"))
    shape, styles = look.get("shape", "ellipse"), look.get("style", "").split(",")
    is_table, is_round = shape == "plain", shape in ("circle", "ellipse")
    own = dict(_PAIR.findall(label)) if is_table else {}
    margins = [float(part) * 72 for part in look.get("margin", "0.11,0.055").split(",")]
    leading = size * LEADING + PADDING * isinstance(label, Html)
    wide, high = max(text_width(row, size) for row in rows) + 2 * margins[0], len(rows) * leading + 2 * margins[-1]
    least = [72 * float(look.get(side, usual)) for side, usual in (("width", "0.75"), ("height", "0.5"))]
    if "fixedsize" in look or is_round:
        wide, high = (least[0], least[1]) if "fixedsize" in look else (max(wide, high), max(wide, high))
    elif not is_table:
        wide, high = max(wide, least[0]), max(high, least[1])
    fill = own.get("BGCOLOR", "") if is_table else look.get("fillcolor", "lightgrey") if "filled" in styles else ""
    pen = own.get("COLOR", look.get("color", "black")) if not is_table or "BORDER" in own else ""
    width = float(look.get("penwidth", "1")) if shape not in ("plaintext", "none") else 0.0
    dash = next((DASHES[word] for word in styles if word in DASHES), ())
    radius = high / 2 if is_round else 6.0 if "rounded" in styles or "ROUNDED" in own.get("STYLE", "") else 0.0
    ink = colour_of(look.get("fontcolor", "black"))
    outline = Pen(colour_of(pen) if width else "", width, dash)
    return Style(rows, (wide, high), size, ink, radius, colour_of(fill), outline, leading)


def boxed(shape: Shape) -> Shape:
    """Return a circle with lines that hang out of it as a box around them; Graphviz alone leaves room for such."""
    if "fixedsize" not in shape.look:
        return shape
    rows = [row for row in label_rows(shape.look["label"], shape.id) if any(word.text.strip() for word in row)]
    if len(rows) < 2:
        return shape
    lines = ("".join(marked_up(word) for word in row) for row in rows)
    own = {key: value for key, value in shape.look.items() if key not in ("fixedsize", "width", "height")}
    return shape._replace(
        look={**own, "shape": "box", "style": "filled,rounded", "label": Html(f"<{'<BR/>'.join(lines)}>")}
    )


def marked_up(word: Inked) -> str:
    """Return a word of a label as Graphviz reads it."""
    text = escaped(word.text)
    text = f"<B>{text}</B>" if word.is_bold else text
    return f'<FONT COLOR="{word.colour}">{text}</FONT>' if word.colour else text


def inked_picture(graph: Graph, options: RenderOptions) -> Sheet:
    """Return the picture of a graph as ink, laid out by gviz itself, for formats that draw it so."""
    sheet = sheet_of(graph, options)
    return sheet or Scene(picture_of(graph, replace(options, layout="layered", fit="none", legend=False)))


class Scene:
    """A picture laid out by gviz itself.

    Args:
        picture: any; of its frames only the title is drawn.
        room: how wide letters are by those of the shipped font; Graphviz rounds them to whole pixels of an image.

    Attributes: those of a :class:`gviz.layout.ink.Sheet`.
    """

    description = ""

    def __init__(self, picture: Picture, room: float = 1.0) -> None:
        self.picture, self.title, self.room = picture, picture.title, room
        statements = list(picture.statements)
        self.shapes = [boxed(one) for one in statements if isinstance(one, Shape)]
        self.arrows = [one for one in statements if isinstance(one, Arrow)]
        title = next((one.look for one in statements if isinstance(one, Frame) and one.path == TITLE), None)
        self._styles: dict[int, Style] = {}
        self.styles = [self._style(one) for one in self.shapes]
        self.above = [{**picture.node, **title, "margin": "0.11,0.055"}] if title else []  # a frame's is in points
        self.below = [{**picture.node, **picture.graph}] if picture.graph.get("label") else []
        self.direction = picture.graph.get("rankdir", "TB")
        self.page = colour_of(picture.graph.get("bgcolor", "white"))
        self._lay_out()

    def _style(self, shape: Shape) -> Style:
        """Return the style of a box; boxes that share a look share it, unless they show their ids."""
        if "label" not in shape.look:
            return self._roomy(style_of({**self.picture.node, **shape.look}, shape.id))
        key = id(shape.look)
        if key not in self._styles:
            self._styles[key] = self._roomy(style_of({**self.picture.node, **shape.look}, shape.id))
        return self._styles[key]

    def _roomy(self, style: Style) -> Style:
        """Return a style with as much room as its letters take."""
        return style._replace(size=(style.size[0] * self.room, style.size[1]))

    def _lay_out(self) -> None:
        """Lay the boxes and lines out in the direction of the picture."""
        number = {one.id: at for at, one in enumerate(self.shapes)}
        looks: dict[int, int] = {}
        kinds = [looks.setdefault(id(one.look), len(looks)) for one in self.arrows]
        is_across = self.direction in ("LR", "RL")
        sizes = [style.size[::-1] if is_across else style.size for style in self.styles]
        ends = [(number[one.start], number[one.end]) for one in self.arrows]
        rooms = [
            self._text_size({**self.picture.edge, **one.look})[not is_across] if "label" in one.look else 0.0
            for one in self.arrows
        ]
        self.places = layered(sizes, ends, kinds, rooms)
        wide, high = self.places.size[::-1] if is_across else self.places.size
        heads = [self._text_size(look) for look in self.above]
        feet = [self._text_size(look) for look in self.below]
        self.left = MARGIN + max([0.0, *((width - wide) / 2 for width, _ in heads + feet)])
        self.top = MARGIN + sum(height + BETWEEN for _, height in heads)
        self.inner = wide, high
        self.size = wide + 2 * self.left, self.top + high + MARGIN + sum(height + BETWEEN for _, height in feet)
        self.labels = list(self._labels())
        rects = [Rect.around(middle, *style_of(look, "").size) for look, middle in self.labels]
        x, y = (max([0.0, *(-rect[side] for rect in rects)]) for side in (0, 1))
        right, below = (
            max([size, *(rect[side] for rect in rects)]) for size, side in zip(self.size, (2, 3), strict=True)
        )
        self.left, self.top, self.size = self.left + x, self.top + y, (right + x, below + y)
        self.labels = [(look, (at + x, height + y)) for look, (at, height) in self.labels]

    @staticmethod
    def _text_size(look: Mapping[str, str]) -> Point:
        """Return the size of a text that stands alone."""
        return style_of({**look, "shape": "box", "width": "0", "height": "0"}, "").size

    def turned(self, stroke: Stroke) -> Stroke:
        """Return a stroke in the direction of the picture, on its page."""
        if self.direction == "TB":  # the most, so without a pair for each point
            left, top = self.left, self.top
            return tuple([n + (top if at % 2 else left) for at, n in enumerate(stroke)])
        points = list(zip(stroke[::2], stroke[1::2], strict=True))
        if self.direction in ("LR", "RL"):
            points = [(y, x) for x, y in points]
        if self.direction == "RL":
            points = [(self.inner[0] - x, y) for x, y in points]
        if self.direction == "BT":
            points = [(x, self.inner[1] - y) for x, y in points]
        return tuple(n for x, y in points for n in (x + self.left, y + self.top))

    def middles(self) -> list[Point]:
        """Return the middles of the boxes on the page."""
        return [(turned[0], turned[1]) for turned in map(self.turned, self.places.middles)]

    def ways(self) -> Iterator[tuple[Arrow, Stretch]]:
        """Yield the lines, those first that are straight and behind all others."""
        number, middles = {one.id: at for at, one in enumerate(self.shapes)}, self.middles()
        pens: dict[int, tuple[Pen, float, str]] = {}
        straight = [at for at, strokes in enumerate(self.places.lines) if strokes is None]
        for at in [*straight, *(at for at, strokes in enumerate(self.places.lines) if strokes)]:
            arrow, strokes = self.arrows[at], self.places.lines[at]
            if id(arrow.look) not in pens:
                pens[id(arrow.look)] = self._pen(arrow.look)
            pen, size, ends = pens[id(arrow.look)]
            if strokes:
                turned = [self.turned(stroke) for stroke in strokes]
                has_head = self.places.heads[at]
            else:
                turned, has_head = [middles[number[arrow.start]], middles[number[arrow.end]]], False
                pen = Pen(pen.colour, pen.width / 2, pen.dash)
            heads = [(end_of(turned[-1]), before_end(turned))] if has_head and ends in ("forward", "both") else []
            if ends in ("back", "both") and strokes:
                heads.append((end_of(turned[0]), (turned[1][0], turned[1][1])))
            yield arrow, Stretch(turned, pen, heads, size * TIP)

    def _pen(self, own: Mapping[str, str]) -> tuple[Pen, float, str]:
        """Return the pen of a line, the size of its heads, and where they are."""
        look = {**self.picture.edge, **own}
        dash = next((DASHES[word] for word in look.get("style", "").split(",") if word in DASHES), ())
        pen = Pen(colour_of(look.get("color", "black")), float(look.get("penwidth", "1")), dash)
        ends = look.get("dir", "forward")
        is_bare = look.get("arrowtail" if ends == "back" else "arrowhead") == "none"
        return pen, float(look.get("arrowsize", "1")), "none" if is_bare else ends

    def items(self) -> Iterator[Item]:
        """Yield all that is drawn, what is behind first."""
        for _, way in self.ways():
            yield way
        shapes = zip(self.styles, self.middles(), strict=True)
        for style, middle in [*shapes, *((style_of(look, ""), middle) for look, middle in self.notes())]:
            if style.fill or style.pen.colour:
                yield Outline(middle, style.size, style.radius, style.fill, style.pen)
            yield from texts(style, middle)

    def notes(self) -> Iterator[tuple[dict[str, str], Point]]:
        """Yield the texts above and below the picture, and those of lines, as boxes, each with its middle."""
        wide, high = self.size
        for look, is_above in [*((one, True) for one in self.above), *((one, False) for one in self.below)]:
            half = self._text_size(look)[1] / 2
            yield {**look, **NOTE}, (wide / 2, MARGIN + half if is_above else high - MARGIN - half)
        yield from self.labels

    def _labels(self) -> Iterator[tuple[dict[str, str], Point]]:
        """Yield the texts of lines, each where the page is free, as near to the beginning of its line as can be."""
        page, free = {"style": "filled", "fillcolor": self.page} if self.page else {}, FreePlaces()
        for style, middle in zip(self.styles, self.middles(), strict=True):
            free.take(Rect.around(middle, *style.size))
        for arrow, way in self.ways():
            if "label" in arrow.look:
                look = {**self.picture.edge, **arrow.look, **NOTE, **page, "margin": "0.02,0"}
                size = style_of(look, "").size
                yield look, free.first(places_beside(way.strokes, size), size)


def before_end(strokes: Sequence[Stroke]) -> Point:
    """Return the point that a line's last piece comes from."""
    last = strokes[-1]
    return (last[2], last[3]) if len(last) > 2 else end_of(strokes[-2])


def end_of(stroke: Stroke) -> Point:
    """Return the point that a piece of a line ends at."""
    return stroke[-2], stroke[-1]


def texts(style: Style, middle: Point) -> Iterator[TextLine]:
    """Yield the lines of a box."""
    x, y = middle
    first = y - (len(style.rows) - 1) / 2 * style.leading + 0.35 * style.type_size
    for at, row in enumerate(style.rows):
        if row:
            yield TextLine((x, first + at * style.leading), style.type_size, style.ink, row)


def placed_looks(scene: Scene, *, has_labels: bool = True) -> Iterator[Shape | Arrow]:
    """Yield the boxes and lines with their places in Graphviz's words, for formats that it writes: y grows upwards.

    Args:
        scene: the picture.
        has_labels: whether lines have their texts.
    """
    high = scene.size[1]

    def points(numbers: Iterable[float]) -> str:
        flat = list(numbers)
        return " ".join(f"{x:.2f},{high - y:.2f}" for x, y in zip(flat[::2], flat[1::2], strict=True))

    for shape, style, middle in zip(scene.shapes, scene.styles, scene.middles(), strict=True):
        width, height = (f"{side / 72:.4f}" for side in style.size)
        yield shape._replace(look={**shape.look, "pos": points(middle), "width": width, "height": height})
    for arrow, way in scene.ways():
        numbers = list(way.strokes[0])
        for before, stroke in pairwise(way.strokes):
            numbers += stroke if len(stroke) > 2 else (*before[-2:], *stroke, *stroke)
        ends = ""
        for tip, base in way.heads:  # where a line has a head it ends before its tip
            sign, place = ("e", -2) if tip == (numbers[-2], numbers[-1]) else ("s", 0)
            _, left, right = head_of(tip, base, way.size)
            numbers[place : place + 2 or None] = [(left[0] + right[0]) / 2, (left[1] + right[1]) / 2]
            ends += f"{sign},{points(tip)} "
        look = dict(arrow.look) if way.heads else {**arrow.look, "dir": "none"}
        if not has_labels:
            look.pop("label", None)
        yield arrow._replace(look={**look, "pos": ends + points(numbers)}, tail="", head="")


def placed_notes(scene: Scene) -> Iterator[Shape]:
    """Yield the texts besides those of boxes with their places, likewise, as boxes without an outline."""
    high = scene.size[1]
    for at, (look, (x, y)) in enumerate(scene.notes()):
        yield Shape(f"note {at}", {**look, "pos": f"{x:.2f},{high - y:.2f}"})
