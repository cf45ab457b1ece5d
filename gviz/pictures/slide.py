"""A picture on a page of a fixed size: a 16:9 slide, or A4.

The graph is laid out once and scaled to the room that title, caption and legend leave; these have the page's own type
sizes.
Nothing is laid out again after that: every box and line keeps the place that it has been given.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import replace

from gviz.errors import warn_user
from gviz.layout import RenderWarning
from gviz.layout.graphviz import draw
from gviz.layout.ink import COLUMN
from gviz.pictures import wrap
from gviz.pictures.html import BARE, Html
from gviz.pictures.look import MARGIN, PAGES, Page
from gviz.pictures.picture import Picture, Shape, Statement
from gviz.pictures.places import Layout, placed

LINE, MOST_SCALE = 1.45, 1.9
"""Height of a line of text, in its size; how far a small graph is enlarged."""


MOST_SMALLER = 3.0
"""How many times smaller the letters of a text become that is too long for its page."""

LEAST_TYPE, GOOD_TYPE = 10, 13
"""Points below which a reader in the last row is lost, and a small graph is cut; and those that are better than that."""

WORTH = 1.25
"""How many times larger the type has to get for another row or column."""

_SIZES = re.compile(r'(WIDTH|HEIGHT|BORDER|CELLSPACING|CELLPADDING|POINT-SIZE)="([\d.]+)"')


def on_page(
    picture: Picture,
    layout: Layout,
    page: Page,
    *,
    title: str = "",
    caption: Sequence[str] = (),
    legend: str = "",
    side: str = "",
    beside: float = 0.0,
    larger: str = "a part of the graph, --root NAME",
    scale: float = 1,
    write: Callable[[Picture], str],
) -> Picture:
    """Return the picture with the places of its layout, on a page with a title, a caption and a legend.

    Args:
        picture: what was laid out, or one of a series with the same boxes and lines.
        layout: where everything is.
        page: the page.
        title: HTML-like text above.
        caption: lines of HTML-like text below.
        legend: the HTML-like table at the foot.
        side: the HTML-like table to the left of the graph.
        beside: the points that are left for it.
        larger: what makes the type larger.
        scale: how many times 1920 pixels an image is wide.
        write: returns a picture as DOT.
    """
    x0, y0, x1, y1 = layout.bounds
    foot_height = height_of(legend, page, picture, write)
    top, bottom = _space(page, len(caption), foot_height)
    room = page.height - top - bottom
    zoom, scale = scale, scale_of(layout, page, len(caption), foot_height, beside=beside if side else 0.0)
    warn_of_small_type(float(picture.node["fontsize"]) * scale, larger, page)
    middle = (page.width + (beside if side else 0)) / 2
    left, low = (x0 + x1) / 2 * scale - middle, (y0 + y1) / 2 * scale - (bottom + room / 2)

    def place(x: float, y: float) -> str:
        return f"{(x + left) / scale:.3f},{(y + low) / scale:.3f}"

    texts: list[Statement] = []

    def put(name: str, content: str, size: float, x: float, y: float, *, room: float = page.width) -> None:
        most, divisor, is_too_long = (room - 2 * x) / scale, scale, True
        while is_too_long:  # in smaller letters, not in one step: letters grow by whole pixels
            table, points = _scaled(_table(content), divisor), broad_enough(size / divisor)
            width, _ = _size(table, points, picture, write)
            is_too_long = width > most and divisor < scale * MOST_SMALLER
            look = {"label": Html(f"<{table}>"), **BARE, "margin": "0", "fontsize": f"{points:.3f}"}
            divisor *= max(width / most, 1.02)
        texts.append(Shape(name, {**look, "pos": place(x + width * scale / 2, y)}))

    if title:
        put("__title", title, page.title, MARGIN, page.height - 30 - page.title * 0.6)
    if side:
        put("__side", side, page.code, MARGIN - 2, bottom + room / 2, room=beside + 2 * MARGIN)
    foot = 20.0
    if legend:
        put("__legend", legend, page.legend, MARGIN - 4, foot - 6 + foot_height / 2)
        foot += foot_height
    if caption:
        rows = "".join(f'<TR><TD ALIGN="LEFT">{line}</TD></TR>' for line in caption)
        table = (
            f'<TABLE BORDER="0" CELLBORDER="0" CELLSPACING="0" CELLPADDING="{page.caption * 0.13:.0f}">{rows}</TABLE>'
        )
        put("__caption", table, page.caption, MARGIN - 2, foot + len(caption) * page.caption * LINE / 2 + 4)
    inset = 0.36 * scale  # half of a point's least width
    corner = {"shape": "point", "width": "0.001", "height": "0.001", "style": "invis", "label": ""}
    texts += [
        Shape(f"__corner{i}", {**corner, "pos": place(x, y)})
        for i, (x, y) in enumerate([(inset, inset), (page.width - inset, page.height - inset)])
    ]
    texts += [
        Shape(f"__joint{number}", {**joint(picture), "label": text, "pos": f"{x:.3f},{y:.3f}"})
        for number, (text, x, y) in enumerate(layout.marks)
    ]
    bare = {key: value for key, value in picture.graph.items() if key not in ("label", "size", "rankdir")}
    inches = f"{page.width / 72 + 0.003:.4f},{page.height / 72 + 0.002:.4f}!"
    size = {"size": inches, "dpi": f"{144 * zoom:g}", "pad": "0", "margin": "0"}
    return replace(picture, graph={**bare, **size}, statements=[*placed(picture.statements, layout), *texts])


def joint(picture: Picture) -> dict[str, str]:
    """Return the look of a number at the end of a line that goes on in another row or column."""
    muted = picture.graph.get("fontcolor", "black")
    return {
        "shape": "circle",
        "style": "filled",
        "fixedsize": "true",
        "width": "0.19",
        "height": "0.19",
        "margin": "0",
        "fontsize": "9",
        "penwidth": "0.8",
        "fillcolor": picture.graph.get("bgcolor", "white"),
        "color": muted,
        "fontcolor": muted,
    }


def height_of(legend: str, page: Page, picture: Picture, write: Callable[[Picture], str]) -> float:
    """Return the points that a legend takes at the foot of a page."""
    return _size(_table(legend), page.legend, picture, write)[1] if legend else 0.0


def scale_of(layout: Layout, page: Page, captions: int, foot: float, *, beside: float = 0.0) -> float:
    """Return how many times a graph is enlarged to fill the room above its caption and legend."""
    x0, y0, x1, y1 = layout.bounds
    room = page.height - sum(_space(page, captions, foot))
    width = page.width - 2 * MARGIN - beside
    return min(width / max(x1 - x0, 1), max(room, 1) / max(y1 - y0, 1), MOST_SCALE)


def rows_beside(page: Page, captions: int, foot: float) -> int:
    """Return how many lines find room beside a graph."""
    return int((page.height - sum(_space(page, captions, foot))) / (page.code * LINE))


def folded(
    layout: Layout, page: Page, captions: int, foot: float, picture: Picture, *, beside: float = 0.0, least: float = 0.0
) -> Layout:
    """Return the layout, in several rows or columns if its type is too small and gets larger so.

    ``least`` is the size of type that is not too small, if it is not that of the page.
    """
    whole = most = scale_of(layout, page, captions, foot, beside=beside)
    best, direction, size = layout, picture.graph.get("rankdir", "TB"), float(picture.node["fontsize"])
    for parts in range(2, wrap.MOST_PARTS + 1):
        other = wrap.wrapped(layout, parts, direction) if size * most < (least or page.readable) else None
        scale = 0.0 if other is None else scale_of(other, page, captions, foot, beside=beside)
        if other is not None and scale > max(whole * WORTH, most):
            best, most = other, scale
    return best


def _space(page: Page, captions: int, foot: float) -> tuple[float, float]:
    """Return the points above and below the graph."""
    return 82.0, 26.0 + foot + (captions * page.caption * LINE + 14 if captions else 0)


def _table(content: str) -> str:
    """Return a text as the only cell of a table."""
    look = 'BORDER="0" CELLBORDER="0" CELLPADDING="0" CELLSPACING="0"'
    return f'<TABLE {look}><TR><TD ALIGN="LEFT">{content}</TD></TR></TABLE>'


def _scaled(table: str, divisor: float) -> str:
    """Return an HTML-like table with all its sizes divided."""
    return _SIZES.sub(lambda m: f'{m[1]}="{max(round(float(m[2]) / divisor), 1) if float(m[2]) else 0}"', table)


def _size(table: str, points: float, picture: Picture, write: Callable[[Picture], str]) -> tuple[float, float]:
    """Return the width and height of an HTML-like text in a type size, in points."""
    look = {"label": Html(f"<{table}>"), **BARE, "margin": "0", "fontsize": f"{points:.3f}"}
    shape = json.loads(draw(write(Picture("", {"pad": "0"}, picture.node, {}, [Shape("a", look)])), "json0"))[
        "objects"
    ][0]
    return float(shape["width"]) * 72, float(shape["height"]) * 72


def broad_enough(points: float) -> float:
    """Return a size of type, or the next one, whose letters are not broader than Graphviz takes them to be.

    It takes type for whole pixels high, of 96 to the inch, and a letter for whole pixels broad; a program that shows
    an SVG does not.

    >>> broad_enough(7.2), round(broad_enough(7.0), 2)
    (7.2, 7.13)
    """
    pixels = points * 96 / 72
    while round(COLUMN * round(pixels)) < COLUMN * pixels:
        pixels += 0.01
    return pixels * 72 / 96


def warn_of_small_type(points: float, larger: str, page: Page) -> None:
    """Say that a page will be hard to read, and what helps."""
    if points < page.readable:
        reader = "a room" if page is PAGES["slide"] else "paper"
        remark = f"the smallest type on this page has {points:.1f} points, and {reader} needs {page.least:g}"
        warn_user(f"{remark}; larger: {larger}", RenderWarning)
