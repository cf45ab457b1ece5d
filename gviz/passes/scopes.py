"""The name scopes of a static graph as frames around its operations."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Container
from dataclasses import replace

from gviz.graphs import Graph, Module, Node, Region
from gviz.passes.part import only
from gviz.reaching import reached


def with_scopes(graph: Graph) -> Graph:
    """Return the graph with a frame for each name scope.

    >>> from gviz.graphs import Module, Node
    >>> framed = with_scopes(Graph((Node("n0", "operation", "Mul", module=Module("outer/inner")),), kind="static"))
    >>> [(region.title, region.within) for region in framed.regions], framed.nodes[0].region
    ([('outer', -1), ('inner', 0)], 1)
    """
    graph = with_constants_beside(graph)
    names, regions = scopes_of(graph), list[Region]()
    places = {"": -1}
    for node in graph.nodes:
        path = ""
        for part in node.scope.split("/") if node.scope else ():
            outer, path = path, f"{path}/{part}" if path else part
            if path not in places:
                places[path] = len(regions)
                regions.append(Region(part, within=places[outer]))
    nodes = tuple(node._replace(region=places[scope_of(node, names)]) for node in graph.nodes)
    return replace(graph, nodes=nodes, regions=tuple(regions))


def scopes_of(graph: Graph) -> set[str]:
    """Return the paths of the name scopes that operations are in, with those around them."""
    scopes: set[str] = set()
    for path in {node.scope for node in graph.nodes}:
        while path and path not in scopes:
            scopes.add(path)
            path = path.rpartition("/")[0]  # noqa: PLW2901 - outwards
    return scopes


def scope_of(node: Node, scopes: Container[str]) -> str:
    """Return the scope that an operation is drawn in: one with a scope's name is in it, as its helpers are."""
    return node.name if node.name and node.name in scopes else node.scope


GRADIENTS = "gradients"
"""How the names of scopes begin that hold the operations of derivatives."""


def derivative_ids(graph: Graph) -> set[str]:
    """Return the operations of a static graph's derivatives, by their ids, and all that is computed from them.

    Constants that only these use belong to them, as the rates of an optimizer.
    """
    own = [node.id for node in graph.nodes if any(part.startswith(GRADIENTS) for part in node.scope.split("/"))]
    ids = {*reached(own, lambda one: [edge.target for edge in graph.uses[one]])}
    uses = {node.id: {edge.target for edge in graph.uses[node.id]} for node in graph.nodes if node.kind == "constant"}
    return ids | {constant for constant, users in uses.items() if users and users <= ids}


def without_derivatives(graph: Graph) -> Graph:
    """Return a static graph without the operations of its derivatives."""
    ids = {node.id for node in graph.nodes} - derivative_ids(graph)
    return only(graph, ids, "without the derivatives") if len(ids) < len(graph.nodes) else graph


def with_constants_beside(graph: Graph) -> Graph:
    """Return the graph with the constants of an operation beside it, as ``Less/y``, where its scope has nothing else.

    >>> less, y = Node("n0", "operation", "Less", "Less"), Node("n1", "constant", "Const", "Less/y", module=Module("Less"))
    >>> [node.scope for node in with_constants_beside(Graph((less, y), kind="static")).nodes]
    ['', '']
    """
    kinds = defaultdict[str, set[str]](set)
    for node in graph.nodes:
        kinds[node.scope].add(node.kind)
    for scope in scopes_of(graph):
        kinds[scope.rpartition("/")[0]].add("scope")
    bare = {node.name for node in graph.nodes if node.name and kinds.get(node.name) == {"constant"}}
    return graph.changed(nodes=tuple(_outside(node) if node.scope in bare else node for node in graph.nodes))


def _outside(node: Node) -> Node:
    """Return a node in the scope around its own."""
    scope = node.scope.rpartition("/")[0]
    return node._replace(module=Module(scope) if scope else None)
