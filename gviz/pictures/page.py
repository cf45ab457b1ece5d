"""The page that all themed views share: the background, the usual box and line, the text below."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from gviz.graphs import Graph
from gviz.layout.plan import main_line
from gviz.pictures import html
from gviz.pictures.legend import LegendEntry
from gviz.pictures.look import LONGEST_TITLE, fitting_size
from gviz.pictures.options import RenderOptions
from gviz.pictures.picture import Arrow, Frame, Picture, Plate, Shape, Statement
from gviz.pictures.spans import Line, Span
from gviz.pictures.theme import FONT, SANS, THEMES, box_attributes
from gviz.text import shorten


class Way(NamedTuple):
    """A direction: the sides that a line leaves and enters, arrows along data and gradients, the latter in words."""

    out: str
    into: str
    data: str
    back: str
    flows: str


WAYS = {
    "TB": Way("s", "n", "↓", "↑", "upwards"),
    "BT": Way("n", "s", "↑", "↓", "downwards"),
    "LR": Way("e", "w", "→", "←", "right to left"),
    "RL": Way("w", "e", "←", "→", "left to right"),
}

HEAVY = {"weight": "20"}
"""The look of a line that is to be straight, as the lines of one longest path are."""

TITLE = "title of the picture"
"""The frame around all that has a title; it has no outline."""

USUAL = "operation"
"""The kind of box that most are: all boxes look so unless they say otherwise."""


def themed(
    graph: Graph,
    options: RenderOptions,
    own: Mapping[str, str],
    statements: Iterable[Statement],
    legend: Sequence[LegendEntry] | None = None,
    *,
    words: Sequence[Line] = (),
) -> Picture:
    """Return a picture on a theme's page.

    Args:
        graph: what it is of.
        options: ``theme`` and ``rankdir`` are read.
        own: attributes of the whole picture besides: distances; an empty one keeps a place for the label.
        statements: its boxes and lines.
        legend: what is said below it, where there is to be something.
        words: lines that stand before all that.
    """
    theme = THEMES[options.theme]
    font = FONT if options.fit == "none" else SANS
    text = {"fontname": font, "fontcolor": theme.ink}
    page = {
        "bgcolor": "transparent" if options.transparent else theme.page,
        "fontname": font,
        "fontcolor": theme.muted,
        "fontsize": "9",
        "pad": "0.15",
        "labelloc": "b",
        **direction(options),
    }
    box = {
        "fontsize": str(options.font_size),
        "shape": "box",
        "style": "filled",
        "margin": "0.11,0.055",
        "height": "0.3",
        "width": "0.3",
        **box_attributes(USUAL, theme),
    }
    line = {"fontsize": "10", "color": theme.line, "penwidth": "1.1", "arrowsize": "0.6"}
    if options.fit != "none":  # no type is smaller than that of most boxes
        line["fontsize"] = str(RenderOptions.font_size)
        statements = [with_type(one, RenderOptions.font_size, font) for one in statements]
    if options.title and options.fit == "none":  # a page has a place of its own for it
        look = {
            "label": shorten(options.title, LONGEST_TITLE, mark=" …"),
            "fontsize": "18",
            "fontcolor": theme.ink,
            "fontname": FONT,
            "penwidth": "0",
            "margin": "8",
            "labeljust": "l",
            "labelloc": "b" if options.direction == "BT" else "t",
        }
        statements = [Frame(TITLE, look), *statements, Frame()]
    remarks = [*words, *((Span(remark),) for remark in graph.remarks)]
    if remarks or (legend is not None and options.has_foot(graph.stop)):
        own = {**own, "label": html.legend(legend or (), theme, options, stop=graph.stop, words=remarks)}
    if options.format == "pdf":
        own = {**own, "size": fitting_size(own.get("size", ""))}
    own = {key: value for key, value in own.items() if value}
    return Picture(graph.title, {**page, **own}, {**text, **box}, {**text, **line}, straightened(statements))


def is_routed(one: Statement) -> bool:
    """Return whether it is a line that gets a route of its own: it leads to a text on it, or from a row of a record."""
    return isinstance(one, Plate) or (isinstance(one, Arrow) and bool(one.tail) and one.look.get("style") == "dotted")


def is_moved(one: Statement) -> bool:
    """Return whether it gets another place than that which Graphviz gives it."""
    return is_routed(one) or (isinstance(one, Frame) and "label" in one.look and one.path != TITLE)


def with_type(one: Statement, size: float, font: str) -> Statement:
    """Return a box, line or frame whose type is no smaller than that, and in that font."""
    size = max(float(one.look.get("fontsize", size)), size)
    least = {"fontsize": f"{size:g}", "fontname": font}
    return one._replace(look={**one.look, **{key: text for key, text in least.items() if key in one.look}})


def straightened(statements: Iterable[Statement]) -> Iterable[Statement]:
    """Return the boxes and lines with a weight on the lines of one longest path, so that it stays straight.

    Without it no line weighs more than another, and a deep picture drifts to the side: 12 blocks of a GPT are three
    times as wide then. Source: https://graphviz.org/docs/attrs/weight/.
    """
    listed = list(statements)
    boxes = [one.id for one in listed if isinstance(one, Shape)]
    arrows = {
        number: one for number, one in enumerate(listed) if isinstance(one, Arrow) and "constraint" not in one.look
    }
    line, looks = main_line(boxes, [(one.start, one.end) for one in arrows.values()]), dict[int, dict[str, str]]()
    for place, (number, one) in enumerate(arrows.items()):
        if place in line:  # those that share a look go on sharing it
            listed[number] = one._replace(look=looks.setdefault(id(one.look), {**one.look, **HEAVY}))
    return listed


def direction(options: RenderOptions) -> dict[str, str]:
    """Return the attribute of a picture that does not run from top to bottom."""
    return {} if options.direction == "TB" else {"rankdir": options.direction}
