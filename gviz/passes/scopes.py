"""The name scopes of a static graph as frames around its operations."""

from __future__ import annotations

from dataclasses import replace

from gviz.graphs import Graph, Region


def with_scopes(graph: Graph) -> Graph:
    """Return the graph with a frame for each name scope.

    >>> from gviz.graphs import Module, Node
    >>> framed = with_scopes(Graph((Node("n0", "operation", "Mul", module=Module("outer/inner")),), kind="static"))
    >>> [(region.title, region.within) for region in framed.regions], framed.nodes[0].region
    ([('outer', -1), ('inner', 0)], 1)
    """
    regions: list[Region] = []
    places = {"": -1}
    for node in graph.nodes:
        path = ""
        for part in node.scope.split("/") if node.scope else ():
            outer, path = path, f"{path}/{part}" if path else part
            if path not in places:
                places[path] = len(regions)
                regions.append(Region(part, within=places[outer]))
    # a node with a scope's name is in it, as its helpers are
    nodes = (node._replace(region=places.get(node.name or node.scope, places[node.scope])) for node in graph.nodes)
    return replace(graph, nodes=tuple(nodes), regions=tuple(regions))
