"""The graph as an event file, which TensorBoard shows: operations, modules as boxes, shapes on the edges."""

from __future__ import annotations

import re
from collections import defaultdict
from itertools import count

from gviz import events
from gviz.graphs import Edge, Graph, Node
from gviz.graphs.numbers import Sizes
from gviz.passes.modules import parts_of, with_modules
from gviz.pictures.labels import small_text
from gviz.pictures.options import LOOKS, RenderOptions

SUFFIXES = ("tensorboard",)
TEXTS = ()
save = events.write_events  # its data goes into a folder
DESCRIPTION = "a folder for TensorBoard: tensorboard --logdir DIR"
IGNORES = (*LOOKS, "view", "path", "by", "symbols")

TYPES = {"leaf": "Placeholder", "frozen": "Placeholder", "constant": "Const", "saved": "Const"}
"""TensorFlow's names of operations that hold a tensor; one that passes it on is an Identity."""

_BACKWARD = re.compile(r"(?<=.)Backward\d*$")

_MEANT = re.compile(r"[/:^]")


def render(graph: Graph, options: RenderOptions) -> bytes:
    """Return the event file."""
    return events.event_file(events.graph_def(event_operations(graph, options)))


def event_operations(graph: Graph, options: RenderOptions) -> list[events.Op]:
    """Return the nodes of the picture as operations, in the order of the data.

    Edges that carry no gradient (views, saved tensors) are control edges, which are dashed.
    """
    graph = with_modules(graph)
    nodes = graph.by_id
    into: dict[str, list[Edge]] = {node_id: [] for node_id in nodes}
    outputs_of: dict[str, set[int]] = defaultdict(set)
    for edge in sorted(graph.edges, key=lambda edge: (edge.kind != "data", edge.slot)):
        into[edge.target].append(edge)
        outputs_of[edge.source].add(edge.output)
    if graph.kind == "static":  # its operations have TensorFlow's names already
        names = {node.id: node.name or node.id for node in graph.nodes}
    else:
        order = dict.fromkeys([*(node.id for node in graph.inputs_first()), *nodes])  # a saved graph's cycle comes last
        names = _names([nodes[node_id] for node_id in order], into)
    ops = []
    for node_id, name in names.items():
        node, edges, outputs = nodes[node_id], into[node_id], outputs_of[node_id] or {0}
        shape = nodes[edges[0].source].shape if node.kind == "accumulate" and edges else node.shape
        if len(outputs) > 1:  # it is that of one of them
            shape = None
        ops.append(
            events.Op(
                name,
                TYPES.get(node.kind) or node.label or "Identity",
                tuple(_input(edge, names[edge.source]) for edge in edges),
                _attrs(node, options),
                tuple(lengths(shape) if output in outputs else None for output in range(max(outputs) + 1)),
            )
        )
    return ops


def _input(edge: Edge, source: str) -> str:
    """Return the start of an edge, as the operation that it leads to lists it."""
    output = f":{edge.output}" if edge.output else ""
    return f"{source}{output}" if edge.kind == "data" else f"^{source}"


def _attrs(node: Node, options: RenderOptions) -> dict[str, bytes]:
    """Return the attributes that a click on the node lists: as many as were asked for."""
    texts = {
        "value": small_text(node.value, None),
        "grad": small_text(node.grad.value, None),
        "state": node.state,
    }
    texts = {"name": node.name or "", **{key: text for key, text in texts.items() if key in options.show}}
    texts |= dict(node.recorded.attrs) if "attrs" in options.show else {}
    attrs = {key: events.plain_attr(text) or b"" for key, text in texts.items() if text}
    if node.dtype:
        attrs["T" if node.kind == "operation" else "dtype"] = events.dtype_attr(node.dtype)
    return attrs


def lengths(shape: Sizes | None) -> list[int | None] | None:
    """Return a shape with None for each length that is not known, as TensorBoard has it."""
    return None if shape is None else [size if isinstance(size, int) else None for size in shape]


def _names(nodes: list[Node], into: dict[str, list[Edge]]) -> dict[str, str]:
    """Return each node's name by its id: unique, and with slashes that make boxes.

    A tensor goes by its own name, and the modules on its path are boxes. An operation goes by its grad_fn's without
    ``Backward0``, since TensorBoard cuts longer ones, in the box of its module. AccumulateGrad is inside its leaf, as a
    variable's helpers are in TensorFlow's own graphs.
    """
    names: dict[str, str] = {}
    unique_names: set[str] = set()
    numbers: dict[str, count[int]] = defaultdict(lambda: count(1))
    for node in nodes:
        if node.kind == "operation":
            scope = "/".join(map(_part, parts_of(node.scope))) if node.scope else ""
            last = _part(_BACKWARD.sub("", node.label))
        elif node.kind == "accumulate" and into[node.id]:
            scope, last = names.get(into[node.id][0].source, ""), node.label
        else:
            *path, last = map(_part, parts_of(node.name or node.label or node.kind))
            scope = "/".join(path)
        base = name = f"{scope}/{last}" if scope else last
        while name in unique_names:
            name = f"{base}_{next(numbers[base])}"
        unique_names.add(name)
        names[node.id] = name
    return names


def _part(text: str) -> str:
    """Return a part of a name without TensorBoard's own signs: a slash (a box), a colon (an output), a caret (control).

    >>> _part("d['a/b:0']")
    "d['a_b_0']"
    """
    return _MEANT.sub("_", text) or "_"
