"""The part of a graph that is drawn, and what is drawn as one: the passes that the options ask for, in their order.

First what does not matter is left out, then nodes become groups, then groups that repeat become one: so that each pass
sees what the one before has made of the graph.
"""

from __future__ import annotations

from collections.abc import Callable

from gviz.graphs import Graph
from gviz.pictures.options import RenderOptions

Pass = Callable[[Graph, RenderOptions], Graph]

PASSES: tuple[Pass, ...] = ()
"""In the order in which they run; each returns the graph as it is if the options ask for nothing."""


def drawn_parts(graph: Graph, options: RenderOptions) -> Graph:
    """Return the graph that a picture is of.

    Args:
        graph: as it was recorded.
        options: what is left out, grouped and folded.
    """
    for apply in PASSES:
        graph = apply(graph, options)
    return graph
