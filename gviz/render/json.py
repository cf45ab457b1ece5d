"""The graph itself, as JSON: what ``gviz`` reads again without running anything."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gviz.graph import Graph
    from gviz.render.options import RenderOptions

SUFFIXES = ("json",)
DESCRIPTION = "the graph itself: gviz draws it again without running anything"


def is_binary(_suffix: str) -> bool:
    """JSON is text."""
    return False


def render(graph: Graph, _options: RenderOptions) -> str:
    """The graph as :meth:`gviz.graph.Graph.to_json` writes it."""
    return graph.to_json()
