"""A page of gviz's own as a drawing in Graphviz's words, for formats that gviz does not write itself.

Graphviz draws what a graph has in its background, by the operations of its format xdot; the graph itself is empty.
Source: https://graphviz.org/docs/outputs/canon/#xdot.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from math import cos, hypot, pi, sin

from gviz.layout.fonts.faces import FACES
from gviz.layout.ink import Outline, Point, Sheet, TextLine, head_of, shifted, text_width, word_width
from gviz.pictures.look import LONGEST_PIECE
from gviz.text import visible

CORNERS = 6
"""Points of which each quarter of a round corner is made, besides its ends."""

ZOOM = 8
"""How many times as large all is drawn, in as many times fewer dots: Graphviz sets letters at whole points."""


def background(sheet: Sheet, dpi: float) -> str:
    """Return DOT whose picture is the page, to be drawn by the layout ``nop2``."""
    wide, high = (side * ZOOM for side in sheet.size)
    corner = 'shape=point width=0.001 height=0.001 style=invis label=""'
    return "\n".join([
        "digraph {",
        f"graph [dpi={dpi / ZOOM:g} pad=0 margin=0 bgcolor=\"{sheet.page or 'transparent'}\"",
        f"  _background={_quoted(' '.join(_operations(sheet)))}]",
        f'a [{corner} pos="0,0"]',
        f'b [{corner} pos="{wide:.2f},{high:.2f}"]',
        "}",
    ])  # fmt: skip


def _operations(sheet: Sheet) -> Iterator[str]:
    """Yield the operations; y grows upwards."""
    high = sheet.size[1] * ZOOM

    def points(places: Iterable[Point]) -> str:
        ends = list(places)
        return f"{len(ends)} " + " ".join(f"{x:.2f} {high - y:.2f}" for x, y in ends)

    for item in shifted(sheet.items(), 0, 0, ZOOM):
        if isinstance(item, TextLine):
            yield from _texts(item, high)
            continue
        pen = f"{_word('S', 'solid')} {_word('S', f'setlinewidth({item.pen.width:.2f})')} "
        colour = _word("c", item.pen.colour or "#00000000")
        if isinstance(item, Outline):
            corners, hidden = list(_rounded(item)), _word("c", "#00000000")
            outline = hidden if item.pen.dash else colour
            yield f"{pen}{outline} {_word('C', item.fill or '#00000000')} P {points(corners)}"
            line = [*corners, corners[0]] if item.pen.dash else []
        else:
            line = [(stroke[-2], stroke[-1]) for stroke in item.strokes]
        for piece in dashes(line, item.pen.dash) if item.pen.dash else [line] if line else []:
            yield f"{pen}{colour} L {points(piece)}"
        if not isinstance(item, Outline):
            for tip, base in item.heads:
                yield f"{_word('S', 'solid')} {_word('C', item.pen.colour)} P {points(head_of(tip, base, item.size))}"


def dashes(line: Sequence[Point], pattern: Sequence[float]) -> Iterator[list[Point]]:
    """Yield the dashes of a line, which Graphviz would draw in a length of its own.

    >>> [[x for x, _ in dash] for dash in dashes([(0.0, 0.0), (5.0, 0.0), (9.0, 0.0)], (4.0, 2.0))]
    [[0.0, 4.0], [6.0, 9.0]]
    """
    turn, rest, dash = 0, pattern[0], [line[0]]
    for start, end in pairwise(line):
        length, position = hypot(end[0] - start[0], end[1] - start[1]), 0.0
        while length - position > rest:
            position += rest
            at = start[0] + (end[0] - start[0]) * position / length, start[1] + (end[1] - start[1]) * position / length
            if not turn % 2:
                yield [*dash, at]
            turn, dash = turn + 1, [at]
            rest = pattern[turn % len(pattern)]
        rest -= length - position
        dash.append(end)
    if not turn % 2:
        yield dash


def _texts(item: TextLine, high: float) -> Iterator[str]:
    """Yield the operations of a line of text."""
    x = item.place[0] - text_width(item.words, item.size) / 2 * item.is_centred
    for word in item.words:
        width = word_width(word, item.size)
        face = f"F {item.size:.3f} {_with_length(FACES[word.face].family)}"
        place = f"{x:.2f} {high - item.place[1]:.2f} -1 {width:.2f}"
        yield f"{_word('c', word.colour or item.colour)} {face} T {place} {_with_length(word.text)}"
        x += width


def _rounded(item: Outline) -> Iterator[Point]:
    """Yield the corners of a rectangle, a round one as many."""
    (x, y), (wide, high) = item.middle, item.size
    radius = min(item.radius, wide / 2, high / 2)
    for quarter, (right, down) in enumerate(((1, 1), (-1, 1), (-1, -1), (1, -1))):
        middle = x + right * (wide / 2 - radius), y + down * (high / 2 - radius)
        for step in range(CORNERS + 2 if radius else 1):
            angle = (quarter + step / (CORNERS + 1)) * pi / 2
            yield middle[0] + radius * cos(angle), middle[1] + radius * sin(angle)


def _word(operation: str, text: str) -> str:
    """Return an operation with a text."""
    return f"{operation} {_with_length(text)}"


def _quoted(text: str) -> str:
    """Return a text as Graphviz reads it: nothing but a quote stands for something else; a long one in pieces."""
    pieces = (text[start : start + LONGEST_PIECE] for start in range(0, len(text), LONGEST_PIECE))
    return " + ".join('"' + piece.replace('"', '\\"') + '"' for piece in pieces)


def _with_length(text: str) -> str:
    """Return a text with the number of its bytes, as xdot has it."""
    printable = text if text.isprintable() else visible(text)
    return f"{len(printable.encode())} -{printable}"
