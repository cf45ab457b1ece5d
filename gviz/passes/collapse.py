"""Name scopes of a static graph closed to one box each, as TensorBoard shows them at first."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from gviz.errors import SourceError
from gviz.graphs import Edge, Graph, Module, Node


def scopes_of(graph: Graph) -> list[str]:
    """Return all name scopes in it, outer ones first.

    >>> scopes_of(Graph(nodes=(Node("n0", "operation", "MulBackward0", module=Module("outer/inner")),)))
    ['outer', 'outer/inner']
    """
    scopes: dict[str, None] = {}
    for node in graph.nodes:
        parts = node.scope.split("/") if node.scope else []
        scopes.update(dict.fromkeys("/".join(parts[: i + 1]) for i in range(len(parts))))
    return sorted(scopes)


def collapse(graph: Graph, scopes: Collection[str]) -> Graph:
    """Return the graph with each of these scopes as one box.

    Args:
        graph: a static graph.
        scopes: their names, as in ``gradients`` or ``outer/inner``; of nested ones the outer one counts.

    Returns:
        A graph in which parallel edges between boxes are one.

    Raises:
        SourceError: there is no such scope.

    >>> inner = Node("n1", "operation", "Mul", "outer/mul", module=Module("outer"))
    >>> nodes = Node("n0", "operation", "Log", "Log"), inner
    >>> one = collapse(Graph(nodes=nodes, edges=(Edge("n0", "n1"),)), ["outer"])
    >>> [(node.label, node.name) for node in one.nodes], one.edges[0].target
    ([('Log', 'Log'), ('outer', '1 operation')], 'n1')
    """
    known = scopes_of(graph)
    for scope in scopes:
        if scope not in known:
            hint = "--gradients adds it" if scope == "gradients" else f"there are {', '.join(known) or 'none'}"
            raise SourceError(f"there is no name scope {scope!r}", hint=hint)
    box: dict[str, str] = {}
    members: dict[str, list[Node]] = {}
    for node in graph.nodes:
        around = min(
            (s for s in scopes if f"{node.scope}/".startswith(f"{s}/") or node.name == s), key=len, default=None
        )
        if around is not None:
            members.setdefault(around, []).append(node)
            box[node.id] = members[around][0].id
    closed = {group[0].id: _box(scope, group) for scope, group in members.items()}
    nodes = tuple(closed.get(node.id, node) for node in graph.nodes if box.get(node.id, node.id) == node.id)
    edges: dict[tuple[str, str, str, str], Edge] = {}
    for edge in graph.edges:
        start, end = box.get(edge.source, edge.source), box.get(edge.target, edge.target)
        if start != end:
            slot, output = (0, 0) if start in closed or end in closed else (edge.slot, edge.output)
            moved = edge._replace(source=start, target=end, slot=slot, output=output)
            key = (
                start,
                end,
                edge.kind,
                edge.label if start in closed or end in closed else f"{edge.slot}:{edge.output}",
            )
            edges.setdefault(key, moved)
    roots = tuple(dict.fromkeys(box.get(root, root) for root in graph.roots))
    return replace(graph, nodes=nodes, edges=tuple(edges.values()), roots=roots)


def _box(scope: str, group: list[Node]) -> Node:
    """Return the one box of a scope."""
    count = f"{len(group)} operation{'s' * (len(group) != 1)}"
    outer, _, own = scope.rpartition("/")
    return Node(group[0].id, "operation", own, count, module=Module(outer) if outer else None)
