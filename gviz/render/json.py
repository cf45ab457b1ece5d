"""The graph itself, as JSON: what ``gviz`` reads again without running anything."""

from __future__ import annotations

from gviz.graphs import Graph
from gviz.pictures.options import LOOKS, RenderOptions

SUFFIXES = ("json",)
TEXTS = SUFFIXES
DESCRIPTION = "the graph itself: gviz draws it again without running anything"
IGNORES = tuple(name for name in LOOKS if name != "color_by")  # for which gradients on their way are saved


def render(graph: Graph, _options: RenderOptions) -> str:
    r"""Return the graph as :meth:`gviz.graphs.Graph.to_json` writes it; a lone surrogate as ``\ud800``.

    >>> from gviz.graphs import Graph
    >>> from gviz.pictures.options import RenderOptions
    >>> text = render(Graph(title="\ud800"), RenderOptions())
    >>> r"\ud800" in text, Graph.from_json(text).title == "\ud800"
    (True, True)
    """
    return graph.to_json().encode("utf-8", "backslashreplace").decode()
