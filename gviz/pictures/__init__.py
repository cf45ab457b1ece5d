"""Pictures: the boxes and lines of a graph, what they say and how they look, before any format writes them.

A :class:`Picture` is Graphviz's words as data. A view makes it from a graph, a layout may add positions, a format
writes it.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from importlib import import_module
from typing import TYPE_CHECKING

from gviz.errors import warn_user
from gviz.graphs import Graph
from gviz.layout import RenderWarning
from gviz.pictures.options import GROUPS, SHEETS, RenderOptions, flags_of
from gviz.pictures.parts import once, with_derivatives
from gviz.pictures.picture import LARGE, Arrow, Frame, LazyStatements, Picture, Plate, Shape, Statement

if TYPE_CHECKING:
    from gviz.pictures.sheets import InkedPage

__all__ = [
    "LARGE",
    "Arrow",
    "Frame",
    "LazyStatements",
    "Picture",
    "Plate",
    "RenderOptions",
    "Shape",
    "Statement",
    "picture_of",
    "sheet_of",
]


SIZES, SPACES = ("fontsize", "width", "height"), ("nodesep", "ranksep")
"""Attributes that grow with the text: of boxes, and of the room between them."""


def sheet_of(graph: Graph, options: RenderOptions) -> InkedPage | None:
    """Return the picture of a graph as ink, where its view is laid out by gviz itself; else None."""
    if options.view not in SHEETS or graph.kind == "static":
        return None
    view = import_module(f"gviz.pictures.views.{options.view}")
    warn_of_unused(view.IGNORES, options)

    def drawn() -> tuple[InkedPage | None, list[str]]:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            return view.sheet(graph, options), [str(one.message) for one in caught]

    sheet, remarks = once(graph, (sheet_of, options), drawn)
    for remark in remarks:
        warn_user(remark, RenderWarning)
    return sheet


def warn_of_unused(ignored: Sequence[str], options: RenderOptions) -> None:
    """Warn of options that a view has no use for."""
    unused = options.unused(ignored)
    if unused:
        where = f"the view {options.view}" if options.show else "TorchViz's own picture"
        instead = (
            f"; --view torchviz draws a box for each {options.by}" if "by" in unused and options.by in GROUPS else ""
        )
        warn_user(f"{where} has no use for {flags_of(unused)}{instead}", RenderWarning)


def picture_of(graph: Graph, options: RenderOptions) -> Picture:
    """Return the picture of a graph, in the view that the options name."""
    view = import_module(f"gviz.pictures.views.{'dataflow' if options.view in SHEETS else options.view}")
    warn_of_unused(view.IGNORES, options)
    if options.needs_flow and graph.kind == "static":
        if options.view != "torchviz":
            warn_user("a static graph has no gradients on its lines: it is drawn as it is", RenderWarning)
            view = import_module("gviz.pictures.views.torchviz")
        options = replace(options, view="torchviz", show=tuple(word for word in options.show if word != "local"))
    elif options.needs_flow:
        graph = with_derivatives(graph)
    if options.view in SHEETS and options.format in ("dot", "gv") and not options.path:
        warn_user(f"DOT has no {SHEETS[options.view]}: the boxes are those of the view dataflow", RenderWarning)
    picture: Picture = view.picture(graph, options)
    if options.font_size != RenderOptions.font_size and (options.show or options.view != "torchviz"):
        picture = enlarged(picture, options.font_size / RenderOptions.font_size)
    if options.color_by:
        from gviz.pictures.shades import shaded  # few pictures need it

        picture = shaded(picture, graph, options)
    return replace(
        picture,
        graph={**picture.graph, **dict(options.graph)},
        node={**picture.node, **dict(options.node)},
        edge={**picture.edge, **dict(options.edge)},
    )


def enlarged(picture: Picture, factor: float) -> Picture:
    """Return a picture with texts, boxes and the room between so many times as large."""
    from re import sub  # few pictures need it

    def label(text: str) -> str:
        return type(text)(
            sub(r'(POINT-SIZE|HEIGHT|WIDTH)="(\d+)"', lambda size: f'{size[1]}="{int(size[2]) * factor:.0f}"', text)
        )

    def look(statement: Statement) -> Statement:
        own = grown(statement.look, SIZES)
        return statement._replace(
            look={**own, "label": label(own["label"])} if type(own.get("label", "")) is not str else own
        )

    def grown(own: Mapping[str, str], names: Sequence[str]) -> dict[str, str]:
        return {key: f"{float(text) * factor:g}" if key in names else text for key, text in own.items()}

    graph, edge = grown(picture.graph, SPACES), grown(picture.edge, ("fontsize", "arrowsize"))
    return replace(picture, graph=graph, edge=edge, statements=[look(each) for each in picture.statements])
