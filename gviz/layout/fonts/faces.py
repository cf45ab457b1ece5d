"""The faces of type: numbers and words, bold numbers, italic names, code; how wide a text is in each, and its ink.

All widths are read from the shipped files, so a text has the same place in every format. "Gviz Sans" and "Gviz Serif"
are subsets of Liberation Sans and Liberation Serif under names of their own, as their licence asks (it is beside them);
a viewer that lacks both has Arial and Times New Roman, whose widths are the same.
"""

from __future__ import annotations

import os
from functools import cache
from typing import NamedTuple

from gviz.layout.fonts.truetype import Font
from gviz.text import display_width

FOLDER = os.path.dirname(os.path.abspath(__file__))

SANS = "'Liberation Sans',Arial,Helvetica,sans-serif"


class Face(NamedTuple):
    """A face: its file, and what it is called by those who draw with it.

    Args:
        file: below this folder.
        family: for Graphviz.
        css: for browsers, as a list that ends in a kind that every one has.
        document: in a PDF, where programs look for a font by the name that the original has.
        slant: degrees, as a PDF tells it.
    """

    file: str
    family: str
    css: str
    document: str
    slant: int = 0


FACES = {
    "mono": Face("shipped/DejaVuSansMono.ttf", "DejaVu Sans Mono", "'DejaVu Sans Mono',monospace", "DejaVuSansMono"),
    "sans": Face("faces/GvizSans-Regular.ttf", "Gviz Sans", SANS, "LiberationSans-Regular"),
    "bold": Face("faces/GvizSans-Bold.ttf", "Gviz Sans Bold", f"{SANS};font-weight:bold", "LiberationSans-Bold"),
    "math": Face(
        "faces/GvizSerif-Italic.ttf",
        "Gviz Serif Italic",
        "'Liberation Serif','Times New Roman',Times,serif;font-style:italic",
        "LiberationSerif-Italic",
        -12,
    ),
}
"""Code; words and numbers; numbers that stand out; names of one letter."""

CELL = 0.55
"""The width of a character that no shipped font has, for each column of a terminal that it takes, by its size."""

LEAN = 0.03
"""The room beside a slanted letter, which leans out of its width, by its size."""


@cache
def font_of(face: str) -> Font:
    """Return the font of a face."""
    return Font(os.path.join(FOLDER, FACES[face].file))


def type_width(text: str, size: float, face: str = "sans") -> float:
    """Return the width of a text, in points.

    >>> round(type_width("w", 10), 2), type_width("", 10), round(type_width("10", 10, "mono"), 2)
    (7.22, 0.0, 12.04)
    """
    font = font_of(face)
    glyphs, widths = font.glyphs, font.widths
    units = sum([widths[glyphs[ord(char)]] for char in text if ord(char) in glyphs])
    columns = sum([display_width(char) for char in text if ord(char) not in glyphs])
    return (units / font.em + CELL * columns) * size


def extent_of(text: str, size: float, face: str = "sans") -> tuple[float, float]:
    """Return how far the ink of a text goes above its base line, and below it, in points."""
    font = font_of(face)
    boxes = [font.ink(char) for char in text]
    return (
        max([0, *(top for _, _, _, top in boxes)]) * size / font.em,
        -min([0, *(low for _, low, _, _ in boxes)]) * size / font.em,
    )


def bearings_of(text: str, size: float, face: str = "math") -> tuple[float, float]:
    """Return the room that a slanted text takes beside its width, to the left and to the right, in points."""
    font = font_of(face)
    left, right = font.ink(text[0]), font.ink(text[-1])
    room, advance = LEAN * font.em, font.widths[font.glyphs.get(ord(text[-1]), 0)]
    before = max(0.0, room - left[0]) if any(left) else 0.0
    after = max(0.0, right[2] - advance + room) if any(right) else 0.0
    return before * size / font.em, after * size / font.em
