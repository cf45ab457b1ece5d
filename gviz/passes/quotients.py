"""``1 / z`` as the one step that it is for people; PyTorch makes it of two, ReciprocalBackward0 and MulBackward0."""

from __future__ import annotations

from gviz.formulas.formula import UNKNOWN
from gviz.graphs import Graph, Node


def with_quotients(graph: Graph) -> Graph:
    """Return the graph of the formula with each reciprocal that is only multiplied by 1 in one node with that product.

    >>> from gviz.graphs import Edge, Graph
    >>> one, z = Node("c0", "constant", name="1"), Node("n3", "leaf", name="z")
    >>> inner, outer = Node("n2", "operation", "ReciprocalBackward0"), Node("n1", "operation", "MulBackward0")
    >>> edges = Edge("n2", "n1", 0), Edge("c0", "n1", 1), Edge("n3", "n2", 0)
    >>> graph = with_quotients(Graph((outer, one, inner, z), edges, ("n1",)))
    >>> [(node.id, node.expression) for node in graph.nodes], [edge[:2] for edge in graph.edges]
    ([('n1', '1 / z'), ('n3', '')], [('n3', 'n1')])

    Args:
        graph: what :func:`gviz.passes.dataflow.dataflow` returns.
    """
    nodes, inputs = graph.by_id, graph.inputs
    outer_of: dict[str, Node] = {}
    inner_ids: set[str] = set()
    for node in graph.nodes:
        sources = [nodes[edge.source] for edge in inputs[node.id]]
        if node.label != "MulBackward0" or len(sources) != 2:
            continue
        for one, inner in (sources, sources[::-1]):
            is_one = one.kind == "constant" and one.name in ("1", "1.0")
            if is_one and inner.label == "ReciprocalBackward0" and len(graph.uses.get(inner.id, ())) == 1:
                outer_of[inner.id] = node
                inner_ids |= {one.id, inner.id}
    if not outer_of:
        return graph
    edges = []
    for edge in graph.edges:
        if edge.target in outer_of:
            name = nodes[edge.source].name
            flow = edge.flow._replace(symbol=f"-1/{name}²" if name else "")
            edges.append(edge._replace(target=outer_of[edge.target].id, flow=flow))
        elif edge.source not in inner_ids:
            edges.append(edge)
    formulas = {
        outer.id: f"1 / {nodes[edge.source].name or UNKNOWN}"
        for inner, outer in outer_of.items()
        for edge in inputs[inner]
    }
    boxes = tuple(
        node._replace(label="ReciprocalBackward0", expression=formulas[node.id]) if node.id in formulas else node
        for node in graph.nodes
        if node.id not in inner_ids
    )
    return graph.changed(nodes=boxes, edges=tuple(edges))
