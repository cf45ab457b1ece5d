"""Boxes in five shades by how large something is, such as the norm of the gradient, with the scale below."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import replace

from gviz.errors import warn_user
from gviz.graphs import Graph, Node
from gviz.layout import RenderWarning
from gviz.passes.elements import is_finite
from gviz.pictures import html
from gviz.pictures.digits import decimal
from gviz.pictures.labels import (
    norm,
    of_one_pass,
)
from gviz.pictures.options import RenderOptions
from gviz.pictures.picture import Picture, Shape
from gviz.pictures.theme import THEMES, Theme

LIGHT = ("#FFFFFF", "#EBF4FC", "#D9EAF9", "#C7E0F6", "#B5D6F3")
DARK = ("#14171A", "#182431", "#1C3146", "#1F3E5B", "#234B70")
GREY = ("#FFFFFF", "#EFEFEF", "#DFDFDF", "#CFCFCF", "#BFBFBF")
FILLS = {"dark": DARK, "print": GREY}
"""Fills from the smallest to the largest: one hue, on which all inks of the theme can be read."""

_FILL, _PEN = re.compile(r'BGCOLOR="([^"]*)"'), re.compile(r'(?<!BG)COLOR="[^"]*"')

PENS = ("0.8", "1.2", "1.8", "2.4", "3.2")
"""The width of the outline says the same, in print and to every eye."""

TITLES = {"grad-norm": "‖grad‖", "value": "‖value‖", "memory": "bytes saved for backward", "time": "time of the call"}


def shaded(picture: Picture, graph: Graph, options: RenderOptions) -> Picture:
    """Return the picture with its boxes in shades, and the scale below it; as it is if nothing can be measured."""
    sizes = {node.id: size for node in graph.nodes if (size := measured(node, options.color_by)) is not None}
    if not any(sizes.values()):
        why = "it is 0 in every box" if sizes else _reason(graph, options.color_by)
        warn_user(f"there is nothing to colour by {options.color_by}: {why}", RenderWarning)
        return picture
    scale = min(filter(None, sizes.values())), max(sizes.values())
    theme, fills = THEMES[options.theme], FILLS.get(options.theme, LIGHT)
    statements, colours = [], {theme.page, theme.boxes["error"].fill}
    for one in picture.statements:
        size = sizes.get(one.id) if isinstance(one, Shape) else None
        step = 0 if size is None else step_of(size, scale)
        colour = "" if size else theme.faint
        statement = one
        if isinstance(one, Shape):
            statement = one._replace(look=unfilled(one.look, theme))
        if size is not None:
            statement = statement._replace(look=_filled(statement.look, fills[step], PENS[step], colour))
        statements.append(statement)
        colours |= fills_of(statement.look, picture.node) if isinstance(statement, Shape) else set()
    look = dict(picture.graph)
    if "label" in look:
        texts = [_text_of(number, options.color_by) for number in bounds(scale)]
        steps = [(fill, theme.muted, text) for fill, text in zip(fills, texts, strict=False)]
        steps += [] if all(sizes.values()) else [(fills[0], theme.faint, "exactly 0")]
        own = _FILL.sub(lambda match: match[0] if match[1] in colours else f'BGCOLOR="{theme.page}"', look["label"])
        look["label"] = html.with_scale(own, TITLES[options.color_by], steps)
    return replace(picture, graph=look, statements=statements)


def unfilled(look: Mapping[str, str], theme: Theme) -> dict[str, str]:
    """Return the look of a box without the fills of kinds that might be read as shades: in print all are grey."""
    kinds = ("leaf", "saved") if theme is THEMES["print"] else ("leaf",)
    label, own = look.get("label", ""), look.get("fillcolor", "")
    for fill in {theme.boxes[kind].fill for kind in kinds}:
        label = label.replace(f'BGCOLOR="{fill}"', f'BGCOLOR="{theme.page}"')
        own = theme.page if own == fill else own
    changed = {"label": html.Html(label)} if label != look.get("label", "") else {}
    return {**look, **changed, **({"fillcolor": own} if own else {})}


def _filled(look: Mapping[str, str], fill: str, pen: str, colour: str) -> dict[str, str]:
    """Return the look of a box with another fill and pen; where its label draws the box, the label has the fill."""
    label = look.get("label", "")
    if look.get("shape") == "plain":
        label = _FILL.sub(f'BGCOLOR="{fill}"', label, count=1)
        label = html.Html(_PEN.sub(f'COLOR="{colour}"', label, count=1) if colour else label)
    return {**look, "label": label, "fillcolor": fill, "penwidth": pen, **({"color": colour} if colour else {})}


def fills_of(look: Mapping[str, str], usual: Mapping[str, str]) -> set[str]:
    """Return the colours of a box."""
    own = [] if look.get("shape") == "plain" else [look.get("fillcolor", usual.get("fillcolor", ""))]
    return {*own, *_FILL.findall(look.get("label", ""))}


def _reason(graph: Graph, measure: str) -> str:
    """Return why no box has a size."""
    if measure in ("memory", "time"):
        return "it is measured as a program runs, and this graph was made without"
    if graph.kind == "static":
        return "a static graph has none before it runs"
    return (
        "no box has a finite value"
        if measure == "value"
        else "no backward ran, or the graph was saved without its gradients"
    )


def measured(node: Node, measure: str) -> float | None:
    """Return what a box is coloured by; None for a box without it, or one that is not finite."""
    if measure in ("memory", "time"):
        return node.recorded.kept if measure == "memory" else node.recorded.seconds
    grad = of_one_pass(node.grad) if node.grad.value is not None else node.grad.arrived  # both of one backward
    value = node.value if measure == "value" else grad
    return norm(value) if value is not None and is_finite(value) else None


def step_of(size: float, scale: tuple[float, float]) -> int:
    """Return which of the shades a norm has, between the smallest above 0 and the largest.

    The scale is logarithmic, since gradients are.
    """
    low, high = scale
    if size <= low or low == high:
        return 0
    return min(int(math.log(size / low) / math.log(high / low) * len(PENS)), len(PENS) - 1)


def bounds(scale: tuple[float, float]) -> list[float]:
    """Return the size from which on each shade begins.

    >>> [round(number, 4) for number in bounds((0.01, 100.0))]
    [0.01, 0.0631, 0.3981, 2.5119, 15.8489]
    """
    low, high = scale
    return [low * (high / low) ** (step / len(PENS)) for step in range(len(PENS) if low < high else 1)]


def _text_of(number: float, measure: str) -> str:
    """Return a number of the scale, with its unit.

    >>> _text_of(2512.0, "memory"), _text_of(2.5e-05, "time"), _text_of(0.0631, "value")
    ('2.5 kB', '25 µs', '0.0631')
    """
    units = {
        "memory": ((1e9, "GB"), (1e6, "MB"), (1e3, "kB"), (1.0, "B")),
        "time": ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs")),
    }
    for size, unit in units.get(measure, ()):
        if number >= size or size == units[measure][-1][0]:
            return f"{number / size:.2g} {unit}" if number < 100 * size else f"{number / size:.0f} {unit}"
    return decimal(number)
