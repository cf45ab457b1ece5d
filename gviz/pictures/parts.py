"""The part of a graph that is drawn, and what is drawn as one: the passes that the options ask for, in their order.

First what does not matter is left out, then nodes become groups, then groups that repeat become one: so that each pass
sees what the one before has made of the graph.
"""

from __future__ import annotations

from collections.abc import Callable

from gviz.graphs import Graph
from gviz.passes import part
from gviz.passes.rounding import without_rounding
from gviz.pictures.options import RenderOptions
from gviz.pictures.picture import LARGE


def settled(graph: Graph, options: RenderOptions) -> Graph:
    """Return the graph with 0 for what rounding has left of a sum; as data it keeps what the engine has."""
    is_data = options.format == "json" or graph.kind == "static" or len(graph.nodes) > LARGE
    return graph if is_data else without_rounding(graph)


def by_groups(graph: Graph, options: RenderOptions) -> Graph:
    """Return the graph with its modules, or lines, as boxes and frames."""
    from gviz.passes import groups  # few pictures need it

    return groups.grouped(graph, options.groups, options.depth, options.collapse, options.expand)


PASSES: dict[str, Callable[[Graph, RenderOptions], Graph]] = {
    "show": settled,
    "hide": lambda graph, options: part.hidden(graph, options.hide),
    "between": lambda graph, options: part.between(graph, *options.between),
    "around": lambda graph, options: part.around(graph, options.around, options.hops),
    "groups": by_groups,
    "max_nodes": lambda graph, options: part.nearest_to_roots(graph, options.max_nodes),
}
"""Each by the option that asks for it, in the order in which they run."""


def drawn_parts(graph: Graph, options: RenderOptions) -> Graph:
    """Return the graph that a picture is of.

    Args:
        graph: as it was recorded.
        options: what is left out, grouped and folded.
    """
    for option, apply in PASSES.items():
        if getattr(options, option):
            graph = apply(graph, options)
    return graph
