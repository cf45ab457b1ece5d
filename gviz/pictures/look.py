"""TorchViz's own looks, to the pixel (``--show none``), the terminal's colours, and the limits of every format.

The themes of all other pictures are in :mod:`gviz.pictures.theme`.
"""

from __future__ import annotations

import ast
from typing import NamedTuple

BOX = {
    "style": "filled",
    "shape": "box",
    "align": "left",
    "fontsize": "10",
    "ranksep": "0.1",
    "height": "0.2",
    "fontname": "monospace",
}
"""All boxes, as TorchViz sets them (two of the attributes, align and ranksep, do nothing on a node)."""

_GHOST = {"style": "filled,dashed", "fillcolor": "white", "color": "grey50", "fontcolor": "grey50"}

BOXES: dict[str, dict[str, str]] = {
    "operation": {},
    "accumulate": {},
    "leaf": {"fillcolor": "lightblue"},
    "output": {"fillcolor": "darkolivegreen1"},
    "intermediate": {"fillcolor": "darkolivegreen3"},
    "saved": {"fillcolor": "orange"},
    "constant": _GHOST,
    "frozen": _GHOST,
    "placeholder": {"fillcolor": "lightblue"},
    "variable": {"fillcolor": "khaki"},
    "group": {"shape": "box3d"},
    "carried": _GHOST,
    "added": {"fillcolor": "palegreen", "penwidth": "3"},
    "removed": {"style": "filled,dashed", "fillcolor": "mistyrose"},
    "changed": {"fillcolor": "lightyellow"},
    "unchanged": {"fillcolor": "white"},
}
"""Boxes by kind: what they have besides :data:`BOX`. Operations keep Graphviz's own lightgrey."""

ARROWS: dict[str, dict[str, str]] = {
    "data": {},
    "view": {"style": "dotted"},
    "saved": {"dir": "none"},
    "control": {"style": "dashed", "color": "grey50"},
    "carried": {"style": "dashed", "constraint": "false"},
    "added": {"penwidth": "2.6"},
    "removed": {"style": "dashed"},
}
"""Arrows by kind."""

LABEL = {"fontsize": "10", "fontname": "monospace"}
"""The text of an arrow."""

CLUSTER = {"labeljust": "l", "style": "rounded", "color": "grey60", **LABEL}
"""The frame of a name scope."""

ANSI = {
    "leaf": "94",
    "output": "92",
    "intermediate": "32",
    "saved": "33",
    "constant": "2",
    "frozen": "2",
    "placeholder": "94",
    "variable": "33",
    "carried": "2",
    "added": "92",
    "removed": "91",
    "changed": "93",
    "unchanged": "2",
}
"""Colours in the terminal by kind, near those of the picture; operations keep the terminal's own."""

WRONG = "91"
"""The colour of nan and inf in the terminal."""

LONGEST_TITLE = 100
"""Characters of a text above a picture."""

LONGEST_LINE = 200
"""Characters of a line in a box, and of a title: a longer one would make the picture too small to be read."""

LONGEST_PIECE = 4_000
"""Characters that are written at a time: Graphviz reads 16,384 bytes."""


LONGEST_PAGE = 199
"""Inches of the longest side of a page that viewers of PDF show, less the room around the picture."""


class Page(NamedTuple):
    """A page: its width and height in points, and the type sizes of title, caption, legend and program.

    ``least`` is that of the smallest type that can be read, from the last row or on paper.
    """

    width: float
    height: float
    title: float = 26
    caption: float = 17
    legend: float = 13
    code: float = 11
    least: float = 12

    @property
    def readable(self) -> float:
        """The size of type from which on nobody sees that it is smaller than that."""
        return 0.98 * self.least


PAGES = {"slide": Page(960, 540), "a4": Page(842, 595, 22, 14, 11, 10, 8)}
"""16:9 as PowerPoint has it, 13.33 inches wide; A4 across."""

MARGIN = 40.0
"""Points around everything on a page."""


def docstring_of(code: str) -> str:
    """Return the first line of a program's docstring, as a title; "" for none, and for what is no Python.

    >>> docstring_of("'A neuron.'; y = x"), docstring_of("y = x")
    ('A neuron', '')
    """
    try:
        title = (ast.get_docstring(ast.parse(code)) or "").partition("\n")[0]
        return title if title.endswith("..") else title.removesuffix(".")
    except (SyntaxError, ValueError, RecursionError):
        return ""


def picture_size(statements: int) -> str:
    """Return TorchViz's size of a picture, in inches: 12, and more where there are more than 80 boxes and arrows.

    >>> picture_size(16), picture_size(400)
    ('12,12', '60,60')
    """
    inches = f"{max(12, statements * 0.15):g}"
    return f"{inches},{inches}"


def fitting_size(size: str) -> str:
    """Return Graphviz's most inches of a picture, for a page that viewers of PDF show: more is drawn smaller.

    >>> fitting_size(""), fitting_size("12,12"), fitting_size("900,900")
    ('199,199', '12,12', '199,199')
    """
    is_small = size and max(map(float, size.rstrip("!").split(","))) <= LONGEST_PAGE
    return size if is_small else f"{LONGEST_PAGE},{LONGEST_PAGE}"
