"""Slides for PowerPoint, Keynote, Impress and Google Slides: shapes whose texts can be edited, lines that follow them.

A picture in gviz's own layout becomes one slide. A box holds its text. A line between two boxes is a straight connector
that follows them, unless it would go through a third one: that is drawn as it was laid out.

Source: https://python-pptx.readthedocs.io.
"""

from __future__ import annotations

from dataclasses import replace

from gviz.graphs import Graph
from gviz.pictures.options import SHEETS, RenderOptions
from gviz.pictures.theme import THEMES
from gviz.render import require

SUFFIXES = ("pptx",)
TEXTS = ()
DESCRIPTION = "a slide whose shapes can be edited, for PowerPoint and Impress"
IGNORES = ("scale", "transparent")
NEEDS = ("pptx", "python-pptx")
PAGE = "slide"


def render(graph: Graph, options: RenderOptions) -> bytes:
    """Return the picture of a graph as a file with one slide."""
    require("pptx")
    from gviz.render._scene import inked_picture
    from gviz.render._slides import Deck

    title, has_own = options.title or graph.title, options.view in SHEETS
    deck = Deck(title)
    sheet = inked_picture(graph, options if has_own else replace(options, title=""))
    deck.add_sheet(sheet, title, ink="" if has_own else THEMES[options.theme].ink)
    return deck.data
