"""The table of a static graph's operations: for a person on a terminal, and for a program in a pipe."""

from __future__ import annotations

from typing import Any

from gviz.graphs import Edge, Graph

HEADINGS = ("operation", "type", "shape", "dtype", "inputs")
"""Inputs may be hundreds, as those of an optimizer's step: they come last."""


def _rows(graph: Graph) -> list[tuple[str, ...]]:
    """Return a row for each operation: name, type, shape, dtype, the names of its inputs (``^`` if one only runs first).

    >>> from gviz.graphs import Edge, Graph, Node
    >>> from gviz.graphs.numbers import Numbers
    >>> nodes = (Node("n0", "placeholder", "Placeholder", "a"), Node("n1", "operation", "Log", "Log", Numbers((None, 2), "float32")))
    >>> _rows(Graph(nodes, (Edge("n0", "n1"),), kind="static"))[1]
    ('Log', 'Log', '(?, 2)', 'float32', 'a')
    """
    from gviz.pictures.labels import shape_text

    inputs = _inputs_of(graph)
    return [
        (
            node.name or "",
            node.label,
            "" if not node.dtype else "?" if node.shape is None else shape_text(node.shape),
            node.dtype,
            ", ".join(inputs[node.id]),
        )
        for node in graph.nodes
    ]


def _inputs_of(graph: Graph) -> dict[str, list[str]]:
    """Return the names of the inputs of each operation, by its id."""

    def name_of(edge: Edge) -> str:
        output = f":{edge.output}" if edge.output else ""
        return ("^" if edge.kind == "control" else "") + (graph.by_id[edge.source].name or "") + output

    return {node: [name_of(edge) for edge in edges] for node, edges in graph.inputs.items()}


def records(graph: Graph) -> list[dict[str, Any]]:
    """Return the rows for JSON.

    Returns:
        Of each operation its name, type, shape (None if it is unknown; None in it for an unknown length), dtype, value
        (None if it is unknown) and the names of its inputs.
    """
    inputs = _inputs_of(graph)
    return [
        {
            "name": node.name,
            "type": node.label,
            "shape": None if node.shape is None else list(node.shape),
            "dtype": node.dtype or None,
            "value": None if node.numbers is None else node.numbers.jsonable(),
            "inputs": inputs[node.id],
        }
        for node in graph.nodes
    ]


def show_operations(graph: Graph) -> None:
    """Print the table."""
    from gviz.cli.table import print_rows

    print_rows(HEADINGS, _rows(graph))
