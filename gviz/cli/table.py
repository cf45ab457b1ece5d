"""Tables: as wide as they need to be in a pipe, as wide as the terminal on a terminal."""

from __future__ import annotations

import sys
from collections.abc import Container, Mapping, Sequence
from typing import TYPE_CHECKING

from gviz.cli import streams
from gviz.pictures.table import LONGEST_CELL
from gviz.text import aligned_text, cut, display_width, shorten

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

SHORT_CELL, SHORTER_CELL, SHORTEST_CELL = 16, 8, 6
"""Characters of a value on a narrow terminal, before a gradient is left out, at last."""

LONGEST_NAME, LEAST_CODE = 24, 12
"""Characters of a name, and the fewest of a statement, on a narrow terminal."""

TWO_LINES = ("requires_grad", "retains_grad", "grad_before", "grad_after")
"""Headings that take two lines on a terminal."""

LEFT_OUT = ("dtype", "retains_grad", "column", "shape", "requires_grad", "grad_before", "grad_fn", "note", "is_leaf")
"""Columns that are left out on a narrow terminal, in this order."""


def fit(columns: Mapping[str, list[str]], width: int) -> tuple[dict[str, list[str]], list[str]]:
    """Return the columns that fit, with shorter texts if need be, and the lines that say what the others hold.

    >>> fit({"name": ["x", "y"], "dtype": ["int64", "int64"], "value": ["1", "2"]}, 10)
    ({'name': ['x', 'y'], 'value': ['1', '2']}, ['all: dtype int64'])
    """
    short = with_less_code(shortened(columns, LONGEST_CELL), width)
    short = short if width_of(short) <= width else with_less_code(shortened(columns, SHORT_CELL), width)
    same, left_out = [], []
    for key in LEFT_OUT:
        if key == "grad_before" and width_of(short) > width:
            short = shortened(short, SHORTER_CELL)
        if key in short and width_of(short) > width:
            texts = set(short.pop(key))
            if len(texts) == 1:
                same.append(f"{key} {texts.pop()}")
            else:
                left_out.append(key)
    if width_of(short) > width:
        short = shortened(short, SHORTEST_CELL)
    remarks = [f"all: {', '.join(same)}"] if same else []
    remarks += [f"left out: {', '.join(left_out)} (a wider terminal, or --json)"] if left_out else []
    whole = {key: columns[key] for key in short}
    return (whole if width_of(whole) <= width else short), remarks


def column_heading(key: str) -> str:
    """Return the heading of a column on a terminal.

    >>> column_heading("grad_after"), column_heading("grad_fn")
    ('grad\\n_after', 'grad_fn')
    """
    return key.replace("_", "\n_") if key in TWO_LINES else key


def width_of(columns: Mapping[str, list[str]]) -> int:
    """Return the terminal columns that a table takes, with one space between two columns."""
    return (
        sum(max(map(display_width, (*column_heading(key).split("\n"), *cells))) + 1 for key, cells in columns.items())
        - 1
    )


def with_less_code(columns: dict[str, list[str]], width: int) -> dict[str, list[str]]:
    """Return the columns with statements as long as the others leave room; a reader knows them by their beginning."""
    if "statement" not in columns:
        return columns
    room = width - width_of({key: cells for key, cells in columns.items() if key != "statement"}) - 1
    return {**columns, "statement": [cut(cell, max(room, LEAST_CODE)) for cell in columns["statement"]]}


def shortened(columns: Mapping[str, list[str]], most: int) -> dict[str, list[str]]:
    """Return the columns with values of so many characters; of ``a = x + w`` the name stays."""

    def short(key: str, cell: str) -> str:
        name, equals, _ = cell.partition(" = ")
        if key == "name":
            if not equals:
                return shorten(cell, max(most, LONGEST_NAME), middle=True, mark="…")
            return cut(cell, max(most, len(name + equals) + 1))
        return cut(cell, most) if key.startswith(("value", "grad", "later")) and key != "grad_fn" else cell

    return {key: [short(key, cell) for cell in cells] for key, cells in columns.items()}


def console() -> Console:
    """Return standard output as a terminal, on which texts stand as they are."""
    from rich.console import Console

    # without a system of colours there is no bold and no dim either, as in the other commands
    return Console(color_system="auto" if streams.in_colour(sys.stdout) else None, highlight=False, markup=False)


def ruled(padding: int | tuple[int, int] = (0, 1)) -> Table:
    """Return an empty table for a terminal, with a line below its headings."""
    from rich import box
    from rich.table import Table

    return Table(box=box.SIMPLE_HEAD, show_edge=False, padding=padding, pad_edge=False, header_style="bold")


def print_rows(
    headings: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    whole: Sequence[str] = (),
    dim: Container[str] = (),
    links: Mapping[str, str] | None = None,
) -> None:
    """Print rows: aligned in a pipe; on a narrow terminal without some columns, others folded but ``whole`` ones.

    Rows whose last cell is one of ``dim`` are of less interest. ``links`` has the addresses of cells by their texts.
    """
    if not streams.is_terminal(sys.stdout):
        streams.write_product(aligned_text([headings, *rows]))
        return
    from rich.text import Text

    terminal, table, addresses = console(), ruled(), links or {}
    room = terminal.width - 2 * len(headings)  # columns stand three spaces apart, not one as width_of has it
    columns, remarks = fit({key: [row[i] for row in rows] for i, key in enumerate(headings)}, room)
    for key in columns:
        table.add_column(column_heading(key), no_wrap=key in whole, overflow="fold", vertical="bottom")
    for row in zip(*columns.values(), strict=True):
        cells = (Text(cell, f"link {link}" if (link := addresses.get(cell)) else "") for cell in row)
        table.add_row(*cells, style="dim" if row[-1] in dim else "")
    terminal.print(table)
    for remark in remarks:
        terminal.print(remark, style="dim")
