"""A log as a heat map: a row for each parameter, or layer, and a column for each measured step.

The scale is logarithmic: eight shades of one hue from the smallest number to the largest. What has no shade has a mark
too: an empty cell is exactly 0, a stroke is nothing at all, a cross on red is nan or inf.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from textwrap import wrap
from typing import NamedTuple

from gviz.errors import RenderError
from gviz.layout.fonts.faces import type_width
from gviz.layout.ink import Inked, Item, Outline, Pen, Point, Stretch, TextLine
from gviz.pictures.options import RenderOptions
from gviz.pictures.sheets import InkedPage
from gviz.pictures.theme import THEMES
from gviz.render import suffix_of
from gviz.render.image import SUFFIXES, finish, output_of, sheet_file
from gviz.text import amount
from gviz.training.rows import Finding, StepRow, three_digits

TITLES = {
    "grad": "Norm of the gradient",
    "weight": "Norm of the parameter",
    "update": "Norm of the update by that of the parameter",
}

SHADES = ("#EAF2FB", "#D0E2F4", "#AECFEA", "#82B5DD", "#559ACD", "#317CB8", "#165D9A", "#0A3D70")
WRONG, NOTHING = "#C62828", "#F1F1F1"

STRIDES = (1, 2, 5, 10, 20, 50, 100)
"""Columns from one that has its number below it to the next."""

MOST_ROWS, MOST_COLUMNS = 40, 100
"""Rows and columns that can be read."""

HIGH, WIDEST, NARROWEST, PLOT = 15.0, 30.0, 6.0, 600.0
"""The height of a cell, its widths, and the width of all cells together that they are made for, in points."""

TYPE, TITLE, EDGE, LABEL = 10.0, 15.0, 14.0, 8.0
"""Sizes of type in points, the margin, and the room between a name and its cells."""

LONGEST, MOST_LINES = 120, 8
"""Characters of a line of the findings below the picture, and how many lines there are."""


class Chart(NamedTuple):
    """What a heat map is of: a log's heading, the names of its parameters, its rows, and its findings."""

    heading: str
    names: Sequence[str]
    rows: Sequence[StepRow]
    findings: Sequence[Finding]


class Scale(NamedTuple):
    """The smallest and the largest number that has a shade."""

    low: float
    high: float

    def shade(self, number: float) -> str:
        """Return the shade of a number."""
        span = math.log(self.high / self.low)
        place = math.log(number / self.low) / span * len(SHADES) if span else 0
        return SHADES[min(int(place), len(SHADES) - 1)]

    def bounds(self) -> list[float]:
        """Return the numbers at which the shades begin, and the end of the last."""
        return [self.low * (self.high / self.low) ** (at / len(SHADES)) for at in range(len(SHADES) + 1)]


def drawn(chart: Chart, path: str, show: str) -> bytes:
    """Return the heat map in the format of a file's suffix.

    Raises:
        RenderError: there is nothing to draw, or no such format.
        ValueError: ``show`` is none of the keys of ``TITLES``.
    """
    if show not in TITLES:
        raise ValueError(f"show is one of {', '.join(TITLES)}, not {show!r}")
    suffix = format_of(path)
    if not chart.names:
        raise RenderError(f"there is nothing to draw: {chart.heading}")
    return finish(sheet_file(map_page(chart, show), RenderOptions(format=suffix, fit="none"), output_of(suffix)))


def format_of(path: str) -> str:
    """Return the format of a heat map, by the suffix of its file; RenderError: there is no such format."""
    suffix = suffix_of(path)
    if suffix not in SUFFIXES:
        hint = f"The formats are {', '.join(SUFFIXES)}; json has the numbers."
        raise RenderError(f"there is no heat map in the format {suffix!r}", hint=hint)
    return suffix


def map_page(chart: Chart, show: str) -> InkedPage:
    """Return the heat map as a page."""
    groups = groups_of(chart.names, MOST_ROWS)
    rows = evenly(chart.rows, MOST_COLUMNS)
    numbers = {name: [cell_value(row, names, show) for row in rows] for name, names in groups.items()}
    positive = [one for line in numbers.values() for one in line if one is not None and 0 < one < math.inf]
    scale = Scale(min(positive), max(positive)) if positive else Scale(1.0, 1.0)
    labels = {
        name: name + f" ({amount(len(names), 'parameter')})" * (names != [name]) for name, names in groups.items()
    }
    left = EDGE + max(type_width(label, TYPE) for label in labels.values()) + LABEL
    wide = min(WIDEST, max(NARROWEST, PLOT / len(rows)))
    top = EDGE + TITLE + 2 * TYPE + 10
    items: list[Item] = [
        text(EDGE, EDGE + TITLE * 0.8, TITLES[show] + ", by layer and step", TITLE, face="bold"),
        text(
            EDGE,
            EDGE + TITLE + TYPE + 2,
            chart.heading + f"; {len(rows)} of these are drawn" * (len(rows) < len(chart.rows)),
            TYPE,
            muted=True,
        ),
    ]
    for line, (name, label) in enumerate(labels.items()):
        y = top + line * HIGH
        items.append(text(left - LABEL - type_width(label, TYPE), y + HIGH * 0.72, label, TYPE))
        for column, (row, number) in enumerate(zip(rows, numbers[name], strict=True)):
            tip = f"{name}, step {row.step}: {three_digits(number)}"
            items += cell((left + column * wide, y), wide, number, scale, tip)
    low = top + len(labels) * HIGH
    items += axis(rows, left, low, wide)
    low += 3.4 * TYPE
    items += scale_items(scale, left, low, {cell_kind(one) for line in numbers.values() for one in line})
    low += HIGH + 3.4 * TYPE
    for words in [one for finding in chart.findings for one in wrap(str(finding), LONGEST)][:MOST_LINES]:
        items.append(text(EDGE, low, words, TYPE, colour=WRONG))
        low += 1.4 * TYPE
    return InkedPage(
        TITLES[show],
        f"{TITLES[show]} of {amount(len(groups), 'row')} in {amount(len(rows), 'step')}; {chart.heading}",
        (max(map(right_end, items)) + EDGE, low),
        THEMES["light"].page,
        items,
    )


def evenly(rows: Sequence[StepRow], most: int) -> list[StepRow]:
    """Return so many of the rows at the most, the first and the last among them."""
    count = min(len(rows), most)
    return [rows[round(at * (len(rows) - 1) / max(count - 1, 1))] for at in range(count)]


def cell_value(row: StepRow, names: Sequence[str], show: str) -> float | None:
    """Return the number of a cell: the norm of parameters together, or their update by it."""
    number = together(row, names, show)
    weight = together(row, names, "weight") if show == "update" else 1.0
    return number / weight if number is not None and weight else None


def cell_kind(number: float | None) -> str:
    """Return what a cell shows: a number, 0, nothing, or nan and inf."""
    return "none" if number is None else "wrong" if not math.isfinite(number) else "zero" if not number else "number"


def cell(place: Point, wide: float, number: float | None, scale: Scale, tip: str = "") -> Iterator[Item]:
    """Yield a cell by its upper left corner."""
    x, y = place
    kind = cell_kind(number)
    fill = {"none": NOTHING, "wrong": WRONG, "zero": "#FFFFFF"}.get(kind) or scale.shade(number or 0.0)
    pen = Pen(THEMES["light"].faint if kind == "zero" else "#FFFFFF", 0.6)
    inset = 0.6 * (kind == "zero")
    yield Outline((x + wide / 2, y + HIGH / 2), (wide - inset, HIGH - inset), 0, fill, pen, tip)
    half, middle = min(wide, HIGH) / 2 - 2.0, (x + wide / 2, y + HIGH / 2)
    strokes = {"none": ((-half, 0, half, 0),), "wrong": ((-half, -half, half, half), (-half, half, half, -half))}
    for one in strokes.get(kind, ()):
        start, end = (middle[0] + one[0], middle[1] + one[1]), (middle[0] + one[2], middle[1] + one[3])
        yield Stretch([start, end], Pen("#FFFFFF" if kind == "wrong" else THEMES["light"].muted, 1.0))


def axis(rows: Sequence[StepRow], left: float, y: float, wide: float) -> Iterator[Item]:
    """Yield the numbers of the steps below the columns, as many as have room."""
    widest = max(type_width(str(row.step), TYPE) for row in rows) + TYPE
    apart = next(count for count in STRIDES if count * wide >= widest)
    for column, row in list(enumerate(rows))[::apart]:
        label, middle = str(row.step), left + (column + 0.5) * wide
        yield Stretch([(middle, y + 1), (middle, y + 4)], Pen(THEMES["light"].muted, 0.8))
        yield text(middle - type_width(label, TYPE) / 2, y + 5 + TYPE, label, TYPE, muted=True)
    yield text(left - LABEL - type_width("step", TYPE), y + 5 + TYPE, "step", TYPE, muted=True)


def scale_items(scale: Scale, x: float, y: float, kinds: set[str]) -> Iterator[Item]:
    """Yield the scale, and the marks that the picture has."""
    wide = 46.0
    if "number" in kinds:
        bounds = scale.bounds() if scale.high > scale.low else [scale.low]
        for place, bound in enumerate(bounds):
            label = short_number(bound)
            yield text(x - type_width(label, TYPE) / 2, y + HIGH + TYPE + 1, label, TYPE, muted=True)
            if place < max(len(bounds) - 1, 1):
                yield Outline((x + wide / 2, y + HIGH / 2), (wide, HIGH), 0, SHADES[place], Pen("#FFFFFF", 0.6))
                x += wide
        x += wide
    for kind, number, label in (("zero", 0.0, "exactly 0"), ("none", None, "none"), ("wrong", math.nan, "nan or inf")):
        if kind in kinds:
            yield from cell((x, y), HIGH, number, scale)
            yield text(x + HIGH + 4, y + HIGH * 0.72, label, TYPE, muted=True)
            x += HIGH + 4 + type_width(label, TYPE) + 16


def short_number(number: float) -> str:
    """Return a number with two digits in as few characters as can be.

    >>> short_number(0.031), short_number(0.000331), short_number(2e12)
    ('0.031', '3.3e-4', '2e+12')
    """
    return format(number, ".2g" if number >= 1e-3 else ".1e").replace("e-0", "e-").replace("e+0", "e+")


def text(
    x: float, y: float, words: str, size: float, *, muted: bool = False, face: str = "sans", colour: str = ""
) -> TextLine:
    """Return a line of text that begins at a place."""
    theme = THEMES["light"]
    return TextLine(
        (x, y), size, colour or (theme.muted if muted else theme.ink), [Inked(words, face=face)], is_centred=False
    )


def right_end(item: Item) -> float:
    """Return the right end of a text or a cell."""
    if isinstance(item, TextLine):
        return item.place[0] + sum(type_width(word.text, item.size, word.face) for word in item.words)
    return item.middle[0] + item.size[0] / 2 if isinstance(item, Outline) else 0.0


def groups_of(names: Sequence[str], most: int) -> dict[str, list[str]]:
    """Return parameters in so many groups at the most, by the modules that they are in.

    >>> groups_of(["a.0.weight", "a.0.bias", "a.1.weight", "b.weight"], 2)
    {'a': ['a.0.weight', 'a.0.bias', 'a.1.weight'], 'b': ['b.weight']}
    """
    deepest = max((name.count(".") for name in names), default=0)
    for depth in range(deepest + 1, 0, -1):
        groups: dict[str, list[str]] = {}
        for name in names:
            groups.setdefault(".".join(name.split(".")[:depth]), []).append(name)
        if len(groups) <= most:
            break
    return groups


def together(row: StepRow, names: Sequence[str], show: str) -> float | None:
    """Return what a row has of parameters together: the norm of their gradients, their own, or that of their updates.

    None if it has none.
    """
    norms = (getattr(row.norms[name], show) for name in names if name in row.norms)
    present = [one for one in norms if one is not None]
    return math.hypot(*present) if present else None
