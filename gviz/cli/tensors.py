"""What ``gviz inspect`` prints: the table of a program's tensors, and the changes of one of them."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from gviz.cli import streams
from gviz.cli.table import LONGEST_CELL, console, cut, fit, heading, print_rows, ruled
from gviz.graphs import Graph, TensorRow
from gviz.graphs.numbers import Numbers
from gviz.pictures.labels import shape_text, value_text
from gviz.text import aligned_text, joined

if TYPE_CHECKING:
    from gviz.sources import Reading

MOST_ALIASES = 4
"""Second names that are listed below the table; the rest are counted."""


def print_tensors(reading: Reading, listed: Sequence[TensorRow]) -> None:
    """Print these tensors: all columns in a pipe; on a terminal those that fit, and a tensor of several names once."""
    graph = reading.graph
    if not streams.is_terminal(sys.stdout):  # a program looks for a row by any of its names
        columns = columns_of(listed, graph.columns(), before=reading.ran_backward)
        streams.write_product(aligned_text([list(columns), *zip(*columns.values(), strict=True)]))
        streams.write_product("".join(f"\n{line}\n" for line in totals(graph)))
        return
    from rich.text import Text

    terminal, roots = console(), {node.name for node in graph.nodes if node.id in graph.roots}
    second = {name: first for name, first in reading.aliases.items() if name not in roots}
    rows = [row for row in listed if row.name not in second] or listed
    columns, remarks = fit(columns_of(rows, graph.columns(), before=reading.ran_backward), terminal.width)
    table = ruled(padding=0)
    for key in columns:  # rich cuts the names if the table is still too wide
        table.add_column(heading(key), no_wrap=key != "name", overflow="ellipsis", vertical="bottom")
    for row, (name, *cells) in zip(rows, zip(*columns.values(), strict=True), strict=True):
        style = "green" if row.name in roots else "bright_blue" if row.is_leaf and row.requires_grad else ""
        rest = [Text(cell, "dim" if cell == "None" else "") for cell in cells]
        table.add_row(Text(name, style, no_wrap=True, overflow="ellipsis"), *rest)
    terminal.print(table)
    if second:
        remarks.insert(
            0, f"second names: {joined((f'{name} is {first}' for name, first in second.items()), MOST_ALIASES)}"
        )
    for remark in [*totals(graph), *remarks]:
        terminal.print(remark, style="dim")


def columns_of(rows: Sequence[TensorRow], places: Mapping[str, int], *, before: bool) -> dict[str, list[str]]:
    """Return the texts of each column, by its key; without lines, places or notes if there are none.

    Args:
        rows: the tensors.
        places: where in an expression some of them are computed, by their names.
        before: whether backward ran, so that there is a gradient before it.
    """
    keys = ("is_leaf", "requires_grad", "grad_fn", "retains_grad")
    columns = {
        "name": [row.name if row.expression is None else f"{row.name} = {row.expression}" for row in rows],
        **{key: [str(getattr(row, key)) for row in rows] for key in keys},
        "shape": [shape_text(row.shape) for row in rows],
        "dtype": [row.dtype for row in rows],
        "value": [_short(row.value) for row in rows],
        **({"grad_before": [_short(row.grad.before) for row in rows]} if before else {}),
        "grad_after" if before else "grad": [_short(row.grad.value) for row in rows],
        "line": [row.place.number if row.place is not None else "" for row in rows],
        "column": [str(places.get(row.name, "")) for row in rows],
        "note": [note_of(row) for row in rows],
    }
    lines = {row.place.without_run for row in rows if row.place is not None}
    wanted = {
        "line": len(lines) > 1 or (len(rows) == 1 and not places),  # all of an expression is in line 1
        "column": bool(places),
        "note": any(map(note_of, rows)),
    }
    return {key: cells for key, cells in columns.items() if wanted.get(key, True)}


def _short(value: Numbers | None) -> str:
    """Return a value as a cell has it."""
    return cut(value_text(value), LONGEST_CELL)


def note_of(row: TensorRow) -> str:
    """Return why a tensor is outside the graph; "" for one that is inside, unless it was written in place."""
    if row.broken is not None:
        is_here = row.broken.place is None or row.broken.place == row.place
        return row.broken.reason if is_here else f"{row.broken.reason}, {row.broken.place}"
    if row.requires_grad:
        return f"written in place at {row.place}" if row.is_written and row.place is not None else ""
    return "booleans" if row.dtype == "bool" else "integers" if "int" in row.dtype else "frozen"


def totals(graph: Graph) -> list[str]:
    """Return the line below the table: how many operations and leaves the graph has, and what it keeps for backward."""
    operations, leaves = (sum(node.kind == kind for node in graph.nodes) for kind in ("operation", "leaf"))
    if not operations:
        return []
    sizes = [node.recorded.kept for node in graph.nodes if node.recorded.kept is not None]
    parts = [f"{operations:,} operation{'s' * (operations > 1)}", f"{leaves:,} {'leaf' if leaves == 1 else 'leaves'}"]
    return [", ".join([*parts, *([f"{sum(sizes):,} bytes saved for backward"] if sizes else [])])]


def print_changes(reading: Reading) -> None:
    """Print the changes of the tensor that was watched, a row for each line that changed it."""
    rows = [
        (
            place.number,
            _short(row.value),
            _short(row.grad.value),
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
