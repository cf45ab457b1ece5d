"""The table of a static graph's operations: for a person on a terminal, and for a program in a pipe."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from gviz.cli import streams

if TYPE_CHECKING:
    from gviz.graph import Graph

__all__ = ["rows", "show_operations"]

HEADINGS = ("operation", "type", "inputs", "shape", "dtype")


def rows(graph: Graph) -> list[tuple[str, ...]]:
    """A row for each operation: name, type, the names of its inputs (``^`` before one that only runs first), shape, dtype.

    >>> from gviz.graph import Edge, Graph, Node
    >>> nodes = (Node("n0", "placeholder", "Placeholder", "a", ()), Node("n1", "operation", "Log", "Log", (None, 2), "float32"))
    >>> rows(Graph(nodes, (Edge("n0", "n1"),), kind="static"))[1]
    ('Log', 'Log', 'a', '(?, 2)', 'float32')
    """
    from gviz.render.labels import shape_text

    names = {node.id: node.name or "" for node in graph.nodes}
    inputs: dict[str, list[str]] = {}
    for edge in graph.edges:
        output = f":{edge.output}" if edge.output else ""
        inputs.setdefault(edge.target, []).append(("^" if edge.kind == "control" else "") + names[edge.source] + output)
    return [
        (
            node.name or "",
            node.label,
            ", ".join(inputs.get(node.id, ())),
            "" if node.dtype is None else "?" if node.shape is None else shape_text(node.shape),
            node.dtype or "",
        )
        for node in graph.nodes
    ]


def show_operations(graph: Graph) -> None:
    """Print the table."""
    lines = rows(graph)
    if not streams.is_terminal(sys.stdout):
        from gviz.cli.table import aligned

        streams.write_product(aligned([HEADINGS, *lines]))
        return
    from rich import box
    from rich.console import Console
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, header_style="bold")
    for heading in HEADINGS:
        table.add_column(heading, overflow="fold")
    for line in lines:
        table.add_row(*line)
    Console(no_color=not streams.in_colour(sys.stdout), highlight=False, markup=False).print(table)
