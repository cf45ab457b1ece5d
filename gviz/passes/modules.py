"""Which module an operation belongs to, where nobody saw it being recorded: told by the names of the parameters.

A guess from names puts what stands between two layers into the module above them. A graph whose operations were seen
being recorded has no need of it: what is in none of its modules was computed outside of them.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import product
from typing import TypeAlias

from gviz.graphs import Graph, Module, Node
from gviz.passes.names import common_path
from gviz.walk import ModuleLike, Params

Path: TypeAlias = tuple[str, ...]
"""The names that lead to a module."""

DOT = re.compile(r"\.(?![^\[]*\])")
"""Between the parts of a path: ``net.fc.weight``, not ``d['a.b']``."""


def with_modules(graph: Graph, kinds: Mapping[str, str] | None = None) -> Graph:
    """Return the graph with the modules of its nodes, as far as names of parameters tell; a graph that has them stays.

    >>> from gviz.graphs import Edge
    >>> nodes = Node("n0", "operation", "AddmmBackward0"), Node("n1", "leaf", name="net.fc.bias")
    >>> [node.scope for node in with_modules(Graph(nodes, (Edge("n1", "n0"),))).nodes]
    ['net.fc', 'net.fc']

    Args:
        graph: a recorded one.
        kinds: the classes of modules, by their paths.
    """
    if graph.kind == "static" or graph.has_modules:
        return graph
    paths = paths_of_nodes(graph)

    def with_module(node: Node) -> Node:
        path = ".".join(paths.get(node.id, ()))
        return (
            node
            if node.module is not None or not path
            else node._replace(module=Module(path, (kinds or {}).get(path, "")))
        )

    return replace(graph, nodes=tuple(map(with_module, graph.nodes)))


def in_modules(graph: Graph, model: Params) -> Graph:
    """Return a graph whose nodes know their modules, as far as names of parameters tell, with the classes of these."""
    models = {"": model} if hasattr(model, "named_modules") else model
    kinds = {
        ".".join(filter(None, (name, path))): type(module).__name__
        for name, one in (models.items() if isinstance(models, Mapping) else ())
        for path, module in (one.named_modules() if hasattr(one, "named_modules") else ())
    }
    graph = with_modules(graph, kinds)
    paths = {"", *(node.scope for node in graph.nodes)}
    return graph.changed(modules=tuple(Module(path, kind) for path, kind in kinds.items() if path not in paths))


def idle_modules(
    modules: Iterable[tuple[str, ModuleLike]], leaves: Iterable[object], seen: Iterable[Module]
) -> tuple[Module, ...]:
    """Return the modules that have recorded nothing, and hold a parameter that is no leaf of the graph: frozen, unused.

    Args:
        modules: all that there are, each after its path.
        leaves: those of the graph.
        seen: the modules that have recorded something.
    """
    drawn, paths = {id(leaf) for leaf in leaves}, {one.path for one in seen}
    idle = ((path, one) for path, one in modules if path and path not in paths)
    return tuple(
        Module(path, type(one).__name__)
        for path, one in idle
        if not {*(id(leaf) for _, leaf in one.named_parameters())} <= drawn
    )


def path_of(node: Node) -> Path:
    """Return the modules that a tensor's name goes through."""
    return tuple(DOT.split(node.name)[:-1]) if node.name else ()


def paths_of_nodes(graph: Graph) -> dict[str, Path]:
    """Return the path of the module that each operation belongs to, and each leaf, with what fills its gradient.

    Of an operation it is that whose parameters it works on, as they are or transposed and the like; else the innermost
    that holds something that the operation is made from and something that is made from it.
    """
    nodes = [*graph.inputs_first()]
    sources = {
        node: [edge.source for edge in sorted(edges, key=lambda edge: edge.slot) if edge.kind == "data"]
        for node, edges in graph.inputs.items()
    }
    parameters = {node.id: path for node in nodes if node.kind == "leaf" and (path := path_of(node))}
    own: dict[str, Path] = {}
    derived: dict[str, Path] = {}
    for node in nodes:
        direct = [parameters[source] for source in sources[node.id] if source in parameters]
        if node.kind == "accumulate" and direct:
            parameters[node.id] = direct[0]
        elif node.kind == "operation":
            near = direct or [derived[source] for source in sources[node.id] if source in derived]
            if near:
                own[node.id] = common(near)
            if direct and len(direct) >= node.recorded.slots:
                derived[node.id] = own[node.id]
    users: dict[str, list[str]] = defaultdict(list)
    before, after = dict(own), dict(own)
    for node in nodes:
        spread(before, node.id, sources[node.id])
        for source in sources[node.id]:
            users[source].append(node.id)
    for node in reversed(nodes):
        spread(after, node.id, users[node.id])
    for node in nodes:
        if node.id not in own and node.kind == "operation":
            above = {before.get(other, ()) for other in sources[node.id]}
            below = {after.get(other, ()) for other in users[node.id]}
            own[node.id] = max(map(common, product(above, below)), key=len, default=())
    return {**parameters, **own}


def parts_of(path: str) -> Path:
    """Return the parts of a path."""
    return tuple(DOT.split(path))


def spread(paths_of: dict[str, Path], node_id: str, neighbours: Sequence[str]) -> None:
    """Give a node without a module the one that its neighbours have in common."""
    if node_id not in paths_of and (paths := [paths_of[other] for other in neighbours if other in paths_of]):
        paths_of[node_id] = common(paths)


def common(paths: Sequence[Path]) -> Path:
    """Return the part that paths have in common, from the beginning.

    >>> common([("net", "fc1"), ("net", "fc2")])
    ('net',)
    """
    return tuple(common_path(paths))
