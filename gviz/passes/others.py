"""Leaves whose ``.grad`` has more in it than comes to them in this graph."""

from __future__ import annotations

from collections.abc import Mapping

from gviz.graphs import GRAD_OF, Graph, Hooked, Node
from gviz.passes.elements import agree, sum_of

OF_OTHERS = f"{GRAD_OF}another backward, at least in part"
"""The state of a leaf whose ``.grad`` is another number than comes to it in this graph."""


def with_other_gradients(graph: Graph, hooks: Mapping[str, tuple[Hooked, ...]]) -> Graph:
    """Return a graph that says of which leaves ``.grad`` is not what comes to them: it is of another backward, too.

    Args:
        graph: with what flows back.
        hooks: what hooks make of what comes to a leaf, by its name.
    """

    def told(node: Node) -> Node:
        if node.kind != "leaf":
            return node
        ends, own = [edge.target for edge in graph.uses[node.id]], hooks.get(node.name or "", ())
        arrived = own[-1].made if own else sum_of([edge.flow.handed for end in ends for edge in graph.uses[end]])
        is_other = node.grad.value is not None and arrived is not None and not agree(node.grad.value, arrived)
        return node._replace(grad=node.grad._replace(hooks=own), state=OF_OTHERS if is_other else node.state)

    return graph.changed(nodes=tuple(map(told, graph.nodes)))
