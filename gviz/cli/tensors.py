"""What ``gviz inspect`` prints: a program's tensors, the changes of one of them, and a static graph's operations."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

from gviz.cli import streams
from gviz.cli.options import Source
from gviz.cli.reading import Reading
from gviz.cli.table import column_heading, console, fit, print_rows, ruled
from gviz.graphs import Edge, Graph, Place, TensorRow
from gviz.pictures.labels import shape_text
from gviz.pictures.table import cell_text, columns_of, totals
from gviz.text import aligned_text, joined

HEADINGS = ("operation", "type", "shape", "dtype", "inputs")
"""Inputs may be hundreds, as those of an optimizer's step: they come last."""

MOST_ALIASES = 4
"""Second names that are listed below the table; the rest are counted."""


def print_tensors(reading: Reading, rows_listed: Sequence[TensorRow]) -> None:
    """Print these tensors: all columns in a pipe; on a terminal those that fit, and a tensor of several names once."""
    graph = reading.graph
    if not streams.is_terminal(sys.stdout):  # a program looks for a row by any of its names
        columns = columns_of(rows_listed, graph.columns(), before=reading.ran_backward)
        streams.write_product(aligned_text([list(columns), *zip(*columns.values(), strict=True)]))
        streams.write_product("".join(f"\n{line}\n" for line in totals(graph)))
        return
    from rich.text import Text

    terminal, roots = console(), {node.name for node in graph.nodes if node.id in graph.roots}
    second = {name: first for name, first in graph.aliases.items() if name not in roots}
    rows = [row for row in rows_listed if row.name not in second] or rows_listed
    columns, remarks = fit(columns_of(rows, graph.columns(), before=reading.ran_backward), terminal.width)
    table = ruled(padding=0)
    for key in columns:  # rich cuts the names if the table is still too wide
        table.add_column(column_heading(key), no_wrap=key != "name", overflow="ellipsis", vertical="bottom")
    for row, (name, *cells) in zip(rows, zip(*columns.values(), strict=True), strict=True):
        style = "green" if row.name in roots else "bright_blue" if row.is_leaf and row.requires_grad else ""
        rest = [Text(cell, "dim" if cell == "None" else "") for cell in cells]
        if "line" in columns and (link := line_link(row.place, reading.source)):
            rest[[*columns].index("line") - 1].stylize(f"link {link}")
        table.add_row(Text(name, style, no_wrap=True, overflow="ellipsis"), *rest)
    terminal.print(table)
    if second:
        remarks.insert(
            0, f"second names: {joined((f'{name} is {first}' for name, first in second.items()), MOST_ALIASES)}"
        )
    for remark in [*totals(graph), *remarks]:
        terminal.print(remark, style="dim")


def line_link(place: Place | None, source: Source | None) -> str:
    """Return the address of a line of a program, for terminals that open it at a click; "" for no line of a file."""
    if place is None or place.cell or source is None or source.kind != "script" or not source.file:
        return ""
    from pathlib import Path

    return f"{Path(place.file or source.file).absolute().as_uri()}#L{place.line}"


def print_changes(reading: Reading) -> None:
    """Print the changes of the tensor that was watched, a row for each line that changed it."""
    rows = [
        (
            place.number,
            cell_text(row.value),
            cell_text(row.grad.value),
            str(row.requires_grad),
            str(row.grad_fn),
            reading.graph.code_at(place),
        )
        for place, row, _ in reading.changes
    ]
    if reading.unlisted:
        middle = len(rows) // 2
        rows.insert(middle, ("…", f"{reading.unlisted:,} more", "", "", "", ""))
    print_rows(
        ("line", "value", "grad", "requires_grad", "grad_fn", "statement"), rows, whole=("line", "value", "grad")
    )


# ---------------------------------------------------------------- a static graph
def _rows(graph: Graph) -> list[tuple[str, ...]]:
    """Return a row for each operation: name, type, shape, dtype, its inputs by name (``^`` if one only runs first).

    >>> from gviz.graphs import Edge, Graph, Node
    >>> from gviz.graphs.numbers import Numbers
    >>> nodes = (Node("n0", "placeholder", "Placeholder", "a"), Node("n1", "operation", "Log", "Log", Numbers((None, 2), "float32")))
    >>> _rows(Graph(nodes, (Edge("n0", "n1"),), kind="static"))[1]
    ('Log', 'Log', '(?, 2)', 'float32', 'a')
    """
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


def operation_records(graph: Graph) -> list[dict[str, Any]]:
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
    print_rows(HEADINGS, _rows(graph))
