"""Tables: as wide as they need to be in a pipe, as wide as the terminal on a terminal."""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from gviz.cli import streams
from gviz.errors import display_width
from gviz.render.labels import number, shape_text

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterator, Mapping, Sequence

    from rich.console import Console
    from rich.table import Table

    from gviz.graph import Graph, TensorRow, Value

__all__ = ["Column", "TensorTable", "aligned", "console", "fit", "print_rows", "ruled"]

MOST_ALIASES = 4
"""Second names that are told below the table; the rest are counted."""

LONGEST_CELL = 40
"""Characters of a value; a larger tensor is cut, for its shape stands beside it."""


@dataclass(frozen=True, slots=True)
class Column:
    """One column.

    Args:
        key: its name, in one word.
        heading: its name on a terminal, one or two lines.
        cells: one text a row.
    """

    key: str
    heading: str
    cells: tuple[str, ...]

    @property
    def width(self) -> int:
        """Terminal columns that the widest of its texts takes."""
        return max(display_width(text) for text in (*self.heading.split("\n"), *self.cells))


@dataclass(frozen=True, slots=True)
class Fitted:
    """Columns that fit, and what was said instead of the others.

    Args:
        columns: those that are left.
        same: (key, text) of the columns that had the same text in every row.
        left_out: keys of the columns that had to go.
    """

    columns: tuple[Column, ...]
    same: tuple[tuple[str, str], ...] = ()
    left_out: tuple[str, ...] = ()

    @property
    def width(self) -> int:
        """Terminal columns in all, with one space between two."""
        return sum(column.width + 1 for column in self.columns) - 1

    def remarks(self) -> Iterator[str]:
        """What is said below the table."""
        if self.same:
            yield "all: " + ", ".join(f"{key} {text}" for key, text in self.same)
        if self.left_out:
            yield f"left out: {', '.join(self.left_out)} (a wider terminal, or --json)"


def fit(columns: tuple[Column, ...], width: int) -> Fitted:
    """Make a table narrower, a step at a time, until it fits.

    First columns go that say the same in every row (a line below the table says it instead), then long texts are cut,
    then whole columns go; name and gradient stay, and names are cut last of all.

    Args:
        columns: all of them.
        width: terminal columns there are.
    """
    table = Fitted(columns)
    for step in _STEPS:
        if table.width <= width:
            break
        table = step(table)
    return table if table.width <= width else _cut(max(_name_width(table) - table.width + width, 6), "name")(table)


def _name_width(table: Fitted) -> int:
    """Terminal columns that the names take."""
    return next(column.width for column in table.columns if column.key == "name")


def _say_once(key: str) -> Callable[[Fitted], Fitted]:
    """The step that takes out a column of equal texts."""

    def step(table: Fitted) -> Fitted:
        column = next((column for column in table.columns if column.key == key), None)
        if column is None or len(set(column.cells)) != 1:
            return table
        return replace(table, columns=_without(table, key), same=(*table.same, (key, column.cells[0])))

    return step


def _leave_out(key: str) -> Callable[[Fitted], Fitted]:
    """The step that takes out a column whatever it says."""

    def step(table: Fitted) -> Fitted:
        kept = _without(table, key)
        return table if len(kept) == len(table.columns) else replace(table, columns=kept, left_out=(*table.left_out, key))

    return step


def _cut(longest: int, *keys: str) -> Callable[[Fitted], Fitted]:
    """The step that shortens the texts of some columns."""

    def step(table: Fitted) -> Fitted:
        return replace(
            table,
            columns=tuple(
                replace(column, cells=tuple(shorten(cell, longest) for cell in column.cells)) if column.key in keys else column
                for column in table.columns
            ),
        )

    return step


def _cut_meanings(longest: int) -> Callable[[Fitted], Fitted]:
    """The step that shortens what a name stands for, ``a = x + w``, and no name."""

    def short(cell: str) -> str:
        name, equals, _ = cell.partition(" = ")
        return shorten(cell, max(longest, len(name + equals) + 1)) if equals else cell

    def step(table: Fitted) -> Fitted:
        return replace(
            table,
            columns=tuple(
                replace(column, cells=tuple(map(short, column.cells))) if column.key == "name" else column
                for column in table.columns
            ),
        )

    return step


def _without(table: Fitted, key: str) -> tuple[Column, ...]:
    return tuple(column for column in table.columns if column.key != key)


_STEPS: tuple[Callable[[Fitted], Fitted], ...] = (
    _say_once("dtype"),
    _say_once("shape"),
    _say_once("retains_grad"),
    _say_once("grad_before"),
    _cut(16, "value", "grad", "grad_before", "grad_after"),
    _cut_meanings(16),
    _leave_out("dtype"),
    _leave_out("retains_grad"),
    _cut(10, "value", "grad", "grad_before", "grad_after"),
    _cut_meanings(10),
    _leave_out("requires_grad"),
    _leave_out("shape"),
    _leave_out("grad_before"),
    _leave_out("grad_fn"),
    _leave_out("is_leaf"),
    _cut(6, "value", "grad", "grad_after"),
    _cut_meanings(0),
)


class TensorTable:
    """The tensors of a graph as a table.

    Args:
        graph: whose tensors.
        before: whether there was a time before backward to show; the gradients were None then.
        aliases: second name -> first name; a tensor gets one row, a root that of its own name.
    """

    def __init__(self, graph: Graph, *, before: bool, aliases: Mapping[str, str] | None = None) -> None:
        self.graph = graph
        self.roots = {node.name for node in graph.nodes if node.id in graph.roots}
        self.aliases = {name: first for name, first in (aliases or {}).items() if name not in self.roots}
        self.rows = rows = tuple(row for row in graph.tensors if row.name not in self.aliases)
        gradients = {"grad_before": "grad\nbefore", "grad_after": "grad\nafter"} if before else {"grad": "grad"}
        self.columns = (
            Column("name", "name", tuple(_name(row) for row in rows)),
            Column("is_leaf", "leaf?", tuple(str(row.is_leaf) for row in rows)),
            Column("requires_grad", "requires\ngrad", tuple(str(row.requires_grad) for row in rows)),
            Column("grad_fn", "grad_fn", tuple(str(row.grad_fn) for row in rows)),
            Column("retains_grad", "retains\ngrad", tuple(str(row.retains_grad) for row in rows)),
            Column("shape", "shape", tuple(shape_text(row.shape) for row in rows)),
            Column("dtype", "dtype", tuple(row.dtype for row in rows)),
            Column("value", "value", tuple(value_text(row.value) for row in rows)),
            *(
                Column(key, heading, tuple("None" if key == "grad_before" else value_text(row.grad) for row in rows))
                for key, heading in gradients.items()
            ),
        )

    def plain(self) -> str:
        """The whole table for a pipe: a line a row."""
        return aligned([[column.key for column in self.columns], *zip(*(column.cells for column in self.columns), strict=True)])

    def show(self) -> None:
        """Print the table on this terminal, as much of it as fits the width; leaves and roots in the picture's colours."""
        from rich.text import Text

        terminal = console()
        fitted = fit(self.columns, terminal.width)
        table = ruled(padding=0)
        for column in fitted.columns:
            table.add_column(column.heading, no_wrap=True, overflow="ellipsis", vertical="bottom")
        styles = self._styles()
        for index, cells in enumerate(zip(*(column.cells for column in fitted.columns), strict=True)):
            table.add_row(
                *(
                    Text(cell, style=styles[index] if place == 0 else "dim" if cell == "None" else "")
                    for place, cell in enumerate(cells)
                )
            )
        terminal.print(table)
        for remark in (*self._second_names(), *fitted.remarks()):
            terminal.print(Text(remark, style="dim"))

    def _styles(self) -> list[str]:
        """A style for each row's name: roots green, leaves blue, as in the picture."""
        return ["green" if row.name in self.roots else "bright_blue" if row.is_leaf else "" for row in self.rows]

    def _second_names(self) -> Iterator[str]:
        """Which names have no row, since another one is that of the same tensor."""
        told = [f"{name} is {first}" for name, first in list(self.aliases.items())[:MOST_ALIASES]]
        if len(self.aliases) > MOST_ALIASES:
            told.append(f"and {len(self.aliases) - MOST_ALIASES} more")
        if told:
            yield "second names: " + ", ".join(told)


def _name(row: TensorRow) -> str:
    """The name, and what it stands for where gviz gave it: ``a = x + w``."""
    return row.name if row.expression is None else f"{row.name} = {row.expression}"


def console() -> Console:
    """Standard output as a terminal, on which texts stand as they are."""
    from rich.console import Console

    return Console(no_color=not streams.in_colour(sys.stdout), highlight=False, markup=False)


def ruled(padding: int | tuple[int, int] = (0, 1)) -> Table:
    """An empty table for a terminal, with a line below its headings."""
    from rich import box
    from rich.table import Table

    return Table(box=box.SIMPLE_HEAD, show_edge=False, padding=padding, pad_edge=False, header_style="bold")


def print_rows(
    headings: Sequence[str], rows: Sequence[Sequence[str]], *, whole: Sequence[str] = (), dim: Container[str] = ()
) -> None:
    """Print rows: aligned in a pipe; on a terminal in columns that are folded where it is narrow, but those headed ``whole``.

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


def aligned(lines: Sequence[Sequence[str]]) -> str:
    """Lines of cells as text for a pipe: columns aligned, and at least two spaces apart.

    >>> print(aligned([["name", "value"], ["x", "2"]]), end="")
    name  value
    x     2
    """
    widths = [max(map(display_width, column)) for column in zip(*lines, strict=True)]
    padded = (
        "  ".join(cell + " " * (width - display_width(cell)) for cell, width in zip(line, widths, strict=True))
        for line in lines
    )
    return "".join(f"{line.rstrip()}\n" for line in padded)


def value_text(value: Value) -> str:
    """A value as people read it, cut where it is long: most of a large tensor is never looked at.

    >>> value_text(6.0), value_text(((1.0, 0.1), (2.302585093, "nan"))), value_text(None)
    ('6', '[[1, 0.1], [2.302585, nan]]', 'None')
    """
    text = ""
    for piece in _pieces(value):
        text += piece
        if len(text) > LONGEST_CELL:
            break
    return shorten(text, LONGEST_CELL)


def _pieces(value: Value) -> Iterator[str]:
    """The parts of the text one by one."""
    if not isinstance(value, tuple):
        yield number(value)
        return
    yield "["
    for position, item in enumerate(value):
        yield ", " if position else ""
        yield from _pieces(item)
    yield "]"


def shorten(text: str, longest: int) -> str:
    """The text, cut to so many characters where it is longer.

    >>> shorten("[1, 2, 3]", 6)
    '[1, 2…'
    """
    return text if len(text) <= longest else text[: longest - 1].rstrip(", ") + "…"
