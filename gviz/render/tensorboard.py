"""The graph as an event file in a folder, which TensorBoard shows: operations, modules as boxes, shapes on the edges."""

from __future__ import annotations

import re
from collections import defaultdict
from itertools import count
from posixpath import commonpath
from typing import TYPE_CHECKING

from gviz import events
from gviz.render.labels import is_small, size_of, value_text
from gviz.writer import write_events as save

if TYPE_CHECKING:
    from gviz.graph import Edge, Graph, Node
    from gviz.render.options import RenderOptions

__all__ = ["DESCRIPTION", "SUFFIXES", "is_binary", "operations", "render", "save"]

SUFFIXES = ("tensorboard",)
DESCRIPTION = "a folder for TensorBoard: tensorboard --logdir DIR"

TYPES = {"leaf": "Placeholder", "frozen": "Placeholder", "constant": "Const", "saved": "Const"}
"""What TensorFlow calls operations that hold a tensor; one that passes it on is an Identity."""

_DOT = re.compile(r"\.(?![^\[]*\])")
"""Between the parts of a path: ``net.fc.weight``, not ``d['a.b']``."""

_BACKWARD = re.compile(r"(?<=.)Backward\d*$")

_MEANT = re.compile(r"[/:^]")


def is_binary(_suffix: str) -> bool:
    """Event files are binary."""
    return True


def render(graph: Graph, options: RenderOptions) -> bytes:
    """The event file."""
    return events.event_file(events.graph_def(operations(graph, options)))


def operations(graph: Graph, options: RenderOptions) -> list[events.Op]:
    """The nodes of the picture as operations, in the order of the data.

    Edges that carry no gradient (views, saved tensors) are control edges, which are dashed.
    """
    nodes = {node.id: node for node in graph.nodes}
    into: dict[str, list[Edge]] = {node_id: [] for node_id in nodes}
    used: dict[str, set[int]] = defaultdict(set)
    for edge in sorted(graph.edges, key=lambda edge: (edge.kind != "data", edge.slot)):
        into[edge.target].append(edge)
        used[edge.source].add(edge.output)
    names = _names([nodes[node_id] for node_id in _in_order(graph)], into)
    ops = []
    for node_id, name in names.items():
        node, edges, outputs = nodes[node_id], into[node_id], used[node_id] or {0}
        shape = nodes[edges[0].source].shape if node.kind == "accumulate" and edges else node.shape
        if len(outputs) > 1:  # it is that of one of them
            shape = None
        ops.append(
            events.Op(
                name,
                TYPES.get(node.kind) or node.label or "Identity",
                tuple(_input(edge, names[edge.source]) for edge in edges),
                _attrs(node, options),
                tuple(shape if output in outputs else None for output in range(max(outputs) + 1)),
            )
        )
    return ops


def _input(edge: Edge, source: str) -> str:
    """The start of an edge, as the operation that it leads to lists it."""
    if edge.kind != "data":
        return f"^{source}"
    return f"{source}:{edge.output}" if edge.output else source


def _attrs(node: Node, options: RenderOptions) -> dict[str, bytes]:
    """What a click on the node tells: as much of it as was asked for."""
    found = {"name": node.name or ""}
    for key in ("value", "grad"):
        value = getattr(node, key)
        if key in options.show and value is not None and is_small(size_of(value)):
            found[key] = value_text(value)
    if "state" in options.show:
        found["state"] = node.state
    if "attrs" in options.show:
        found |= dict(node.attrs)
    attrs = {key: events.plain_attr(text) or b"" for key, text in found.items() if text}
    if node.dtype:
        attrs["T" if node.kind == "operation" else "dtype"] = events.dtype_attr(node.dtype)
    return attrs


def _in_order(graph: Graph) -> list[str]:
    """The ids of the nodes, each behind those that it uses; what lies on a cycle, which a saved graph may hold, comes last."""
    waiting = {node.id: 0 for node in graph.nodes}
    users: dict[str, list[str]] = defaultdict(list)
    for edge in graph.edges:
        waiting[edge.target] += 1
        users[edge.source].append(edge.target)
    order = [node_id for node_id, number in waiting.items() if not number]
    for node_id in order:
        for user in users[node_id]:
            waiting[user] -= 1
            if not waiting[user]:
                order.append(user)
    return list(dict.fromkeys([*order, *waiting]))


def _names(nodes: list[Node], into: dict[str, list[Edge]]) -> dict[str, str]:
    """Each node's name by its id: unique, and with slashes that make boxes.

    A tensor goes by its own name, and the modules on its path are boxes. An operation goes by its grad_fn's without
    ``Backward0``, since TensorBoard cuts longer ones, in the box of the module whose parameters it works on. AccumulateGrad is
    inside its leaf, as a variable's helpers are in TensorFlow's own graphs.
    """
    names: dict[str, str] = {}
    taken: set[str] = set()
    numbers: dict[str, count[int]] = defaultdict(lambda: count(1))
    modules: dict[str, str] = {}  # of parameters
    derived: dict[str, str] = {}  # of what is made of parameters alone, such as a transposed weight
    for node in nodes:
        sources = [edge.source for edge in into[node.id] if edge.kind == "data" and edge.source in names]
        if node.kind == "operation":
            direct = [modules[source] for source in sources if source in modules]
            near = direct or [derived[source] for source in sources if source in derived]
            scope, last = commonpath(near) if near else "", _part(_BACKWARD.sub("", node.label))
            if scope and len(direct) >= max(node.slots, 1):
                derived[node.id] = scope
        elif node.kind == "accumulate" and sources:
            scope, last = names[sources[0]], node.label
            if sources[0] in modules:
                modules[node.id] = modules[sources[0]]
        else:
            *path, last = map(_part, _DOT.split(node.name or node.label or node.kind))
            scope = "/".join(path)
            if scope:
                modules[node.id] = scope
        wanted = name = f"{scope}/{last}" if scope else last
        while name in taken:
            name = f"{wanted}_{next(numbers[wanted])}"
        taken.add(name)
        names[node.id] = name
    return names


def _part(text: str) -> str:
    """A part of a name without what means something to TensorBoard: a slash (a box), a colon (an output), a caret (control).

    >>> _part("d['a/b:0']")
    "d['a_b_0']"
    """
    return _MEANT.sub("_", text) or "_"
