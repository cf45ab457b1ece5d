"""A static graph as data to draw, list or save: operations as nodes, tensors as edges, as TensorBoard draws it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gviz.graph import Edge, Node, to_value
from gviz.graph import Graph as Picture

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gviz.static.graph import Graph, Operation, Tensor

__all__ = ["picture"]

KINDS = {"Placeholder": "placeholder", "PlaceholderWithDefault": "placeholder", "VariableV2": "variable", "Const": "constant"}


def picture(graph: Graph, *, values: Mapping[Tensor, Any] | None = None, title: str = "") -> Picture:
    """The whole graph, in the order of making.

    Args:
        graph: any static graph.
        values: what a run gave for some tensors; shown in their operations' boxes.
        title: what the picture is of.

    Returns:
        A node for each operation, with its scope; an edge for each input, with the tensor's shape; a control edge for each
        operation that has to run before. Roots are the operations that nothing else uses.
    """
    operations = graph.get_operations()
    ids = {op: f"n{i}" for i, op in enumerate(operations)}
    edges = []
    for op in operations:
        for slot, tensor in enumerate(op.inputs):
            edges.append(Edge(ids[tensor.op], ids[op], slot, size_text(tensor), output=tensor.value_index))
        edges += [Edge(ids[before], ids[op], slot, kind="control") for slot, before in enumerate(op.control_inputs)]
    used = {edge.source for edge in edges}
    roots = tuple(ids[op] for op in operations if ids[op] not in used)
    return Picture(tuple(node(op, ids[op], values or {}) for op in operations), tuple(edges), roots, title=title, kind="static")


def node(op: Operation, name: str, values: Mapping[Tensor, Any]) -> Node:
    """An operation's box."""
    first = op.outputs[0] if op.outputs else None
    value: Any = op.attrs.get("value") if op.type == "Const" else values.get(first) if first is not None else None
    return Node(
        name,
        KINDS.get(op.type, "operation"),
        op.type,
        op.name,
        None if first is None else first.shape.dims,
        None if first is None else first.dtype.base_dtype.name,
        to_value(value.tolist()) if hasattr(value, "tolist") and value.size <= MOST_VALUES else None,
        slots=len(op.inputs),
        scope=op.name.rpartition("/")[0],
    )


MOST_VALUES = 1_000
"""Larger values are left out."""


def size_text(tensor: Tensor) -> str:
    """The shape on an edge, as TensorBoard writes it: ``?×3``, ``scalar``, nothing where it is unknown."""
    dims = tensor.shape.dims
    if dims is None:
        return ""
    return "×".join("?" if n is None else str(n) for n in dims) or "scalar"
