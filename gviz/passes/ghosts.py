"""Constants and frozen inputs, part of the computation and not of the graph: boxes that TorchViz leaves out."""

from __future__ import annotations

from dataclasses import replace

from gviz.graphs import Graph
from gviz.passes.dataflow import dataflow


def with_ghosts(graph: Graph) -> Graph:
    """Return the graph with a node for each constant, and for each input without gradients, that an expression names.

    >>> from gviz.graphs import Edge, Graph, Node, Recorded
    >>> total = Node("n0", "operation", "AddBackward0", "a", expression="w + 1", recorded=Recorded(slots=2))
    >>> ghost = with_ghosts(Graph((total, Node("n1", "leaf", name="w")), (Edge("n1", "n0"),)))
    >>> [(node.kind, node.name) for node in ghost.nodes][2:], ghost.edges[1].kind
    ([('constant', '1')], 'control')
    """
    formula = dataflow(graph)
    ghosts = {node.id: node for node in formula.nodes if node.kind in ("constant", "frozen")}
    edges = tuple(edge._replace(kind="control") for edge in formula.edges if edge.source in ghosts)
    nodes = tuple(node for node in ghosts.values() if node.id not in graph.by_id)
    return replace(graph, nodes=(*graph.nodes, *nodes), edges=(*graph.edges, *edges))
