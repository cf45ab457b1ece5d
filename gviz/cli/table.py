"""Tables: as wide as they need to be in a pipe, as wide as the terminal on a terminal."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from gviz.cli import streams
from gviz.render.labels import number, shape_text
from gviz.text import aligned, display_width, joined

if TYPE_CHECKING:
    from collections.abc import Container, Iterator, Mapping, Sequence

    from rich.console import Console
    from rich.table import Table

    from gviz.graph import Graph, Value

__all__ = ["TensorTable", "console", "cut", "print_rows", "ruled"]

MOST_ALIASES = 4
"""Second names that are listed below the table; the rest are counted."""

LONGEST_CELL = 40
"""Characters of a value; a larger tensor is cut, for its shape stands beside it."""

SHORT_CELL, SHORTEST_CELL = 16, 6
"""Characters of a value on a narrow terminal, and on a very narrow one."""

HEADINGS = {
    "name": "name", "is_leaf": "leaf?", "requires_grad": "requires\ngrad", "grad_fn": "grad_fn",
    "retains_grad": "retains\ngrad", "shape": "shape", "dtype": "dtype", "value": "value", "grad": "grad",
    "grad_before": "grad\nbefore", "grad_after": "grad\nafter",
}  # fmt: skip
"""The columns, with their headings on a terminal."""

SAID_ONCE = ("dtype", "shape", "retains_grad", "grad_before")
"""Columns that a line below the table replaces if all rows say the same, in this order."""

LEFT_OUT = ("dtype", "retains_grad", "requires_grad", "shape", "grad_before", "grad_fn", "is_leaf")
"""Columns that are left out on a narrow terminal, in this order."""


@dataclass
class Fitted:
    """Columns that fit a terminal, by their keys, and what is said in place of the others."""

    columns: dict[str, list[str]]
    same: dict[str, str] = field(default_factory=dict)
    left_out: list[str] = field(default_factory=list)

    def width(self) -> int:
        """Return the terminal columns that the table takes, with one space between two columns."""
        return sum(max(map(display_width, (*HEADINGS[key].split("\n"), *cells))) + 1 for key, cells in self.columns.items()) - 1

    def shorten(self, most: int) -> None:
        """Cut the values, the gradients, and what names stand for."""
        for key, cells in self.columns.items():
            if key == "name":
                cells[:] = [_short_meaning(cell, most) for cell in cells]
            elif key in {"value", "grad", "grad_before", "grad_after"}:
                cells[:] = [cut(cell, most) for cell in cells]

    def remarks(self) -> Iterator[str]:
        """Return the lines below the table."""
        if self.same:
            yield "all: " + ", ".join(f"{key} {text}" for key, text in self.same.items())
        if self.left_out:
            yield f"left out: {', '.join(self.left_out)} (a wider terminal, or --json)"


def fit(columns: Mapping[str, list[str]], width: int) -> Fitted:
    """Return as much of a table as fits: equal texts once, then shorter texts, then fewer columns; name and gradient stay."""
    table = Fitted({key: list(cells) for key, cells in columns.items()})
    for key in SAID_ONCE:
        if table.width() > width and len(set(table.columns.get(key, ()))) == 1:
            table.same[key] = table.columns.pop(key)[0]
    if table.width() > width:
        table.shorten(SHORT_CELL)
    for key in LEFT_OUT:
        if table.width() > width and key in table.columns:
            del table.columns[key]
            table.left_out.append(key)
    if table.width() > width:
        table.shorten(SHORTEST_CELL)
    return table


def _short_meaning(cell: str, most: int) -> str:
    """Return ``a = x + w`` with its meaning cut, and the name whole."""
    name, equals, _ = cell.partition(" = ")
    return cut(cell, max(most, len(name + equals) + 1)) if equals else cell


class TensorTable:
    """The tensors of a graph as a table.

    Args:
        graph: whose tensors.
        before: whether there was a time before backward to show; the gradients were None then.
        aliases: second name -> first name; a tensor gets one row, a root that of its own name.
    """

    def __init__(self, graph: Graph, *, before: bool, aliases: Mapping[str, str] | None = None) -> None:
        self.roots = {node.name for node in graph.nodes if node.id in graph.roots}
        self.aliases = {name: first for name, first in (aliases or {}).items() if name not in self.roots}
        self.rows = [row for row in graph.tensors if row.name not in self.aliases]
        self.columns = {
            "name": [row.name if row.expression is None else f"{row.name} = {row.expression}" for row in self.rows],
            **{key: [str(getattr(row, key)) for row in self.rows] for key in ("is_leaf", "requires_grad", "grad_fn")},
            "retains_grad": [str(row.retains_grad) for row in self.rows],
            "shape": [shape_text(row.shape) for row in self.rows],
            "dtype": [row.dtype for row in self.rows],
            "value": [_value(row.value) for row in self.rows],
            **({"grad_before": ["None" for _ in self.rows]} if before else {}),
            "grad_after" if before else "grad": [_value(row.grad) for row in self.rows],
        }

    def plain(self) -> str:
        """Return the whole table for a pipe: a line for each row."""
        return aligned([list(self.columns), *zip(*self.columns.values(), strict=True)])

    def show(self) -> None:
        """Print the table on this terminal, as much of it as fits the width; leaves and roots in the picture's colours."""
        from rich.text import Text

        terminal = console()
        fitted = fit(self.columns, terminal.width)
        table = ruled(padding=0)
        for key in fitted.columns:  # rich cuts the names, the one column that may be narrower than its texts
            table.add_column(HEADINGS[key], no_wrap=key != "name", overflow="ellipsis", vertical="bottom")
        for row, (name, *cells) in zip(self.rows, zip(*fitted.columns.values(), strict=True), strict=True):
            style = "green" if row.name in self.roots else "bright_blue" if row.is_leaf else ""
            rest = [Text(cell, style="dim" if cell == "None" else "") for cell in cells]
            table.add_row(Text(name, style=style, no_wrap=True, overflow="ellipsis"), *rest)
        terminal.print(table)
        if self.aliases:
            terminal.print(
                f"second names: {joined((f'{n} is {a}' for n, a in self.aliases.items()), MOST_ALIASES)}", style="dim"
            )
        for remark in fitted.remarks():
            terminal.print(remark, style="dim")


def console() -> Console:
    """Return standard output as a terminal, on which texts stand as they are."""
    from rich.console import Console

    return Console(no_color=not streams.in_colour(sys.stdout), highlight=False, markup=False)


def ruled(padding: int | tuple[int, int] = (0, 1)) -> Table:
    """Return an empty table for a terminal, with a line below its headings."""
    from rich import box
    from rich.table import Table

    return Table(box=box.SIMPLE_HEAD, show_edge=False, padding=padding, pad_edge=False, header_style="bold")


def print_rows(
    headings: Sequence[str], rows: Sequence[Sequence[str]], *, whole: Sequence[str] = (), dim: Container[str] = ()
) -> None:
    """Print rows: aligned in a pipe; on a narrow terminal columns are folded, but those headed ``whole``.

    Rows whose last cell is one of ``dim`` are of less interest.
    """
    if not streams.is_terminal(sys.stdout):
        streams.write_product(aligned([headings, *rows]))
        return
    table = ruled()
    for heading in headings:
        table.add_column(heading, no_wrap=heading in whole, overflow="fold")
    for row in rows:
        table.add_row(*row, style="dim" if row[-1] in dim else "")
    console().print(table)


def _value(value: Value) -> str:
    """Return a value as people read it, cut if it is long: most of a large tensor is never looked at.

    >>> _value(((1.0, 0.1), (2.302585093, "nan"))), _value(None)
    ('[[1, 0.1], [2.302585, nan]]', 'None')
    """
    text = ""
    for piece in _pieces(value):
        text += piece
        if len(text) > LONGEST_CELL:
            break
    return cut(text, LONGEST_CELL)


def _pieces(value: Value) -> Iterator[str]:
    """Yield the parts of a value's text one by one."""
    if not isinstance(value, tuple):
        yield number(value)
        return
    yield "["
    for position, item in enumerate(value):
        yield ", " if position else ""
        yield from _pieces(item)
    yield "]"


def cut(text: str, most: int) -> str:
    """Return the text with an ellipsis in place of its end if it is longer than that.

    >>> cut("[1, 2, 3]", 6)
    '[1, 2…'
    """
    return text if len(text) <= most else text[: most - 1].rstrip(", ") + "…"
