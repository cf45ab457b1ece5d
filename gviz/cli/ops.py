"""``gviz ops``: the operations of gviz's engine, and the names of PyTorch that it lacks."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from gviz.cli import streams
from gviz.text import aligned, joined

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from gviz.explain.catalogue import Operation
    from gviz.sources.script.missing import Missing

__all__ = ["ops"]

MOST_IN_FULL = 6
"""Operations that are printed in full; more of them are a table."""

MOST_NAMED = 8
"""Functions and rows that are named if an operation is a part of them."""

HEADINGS = ("grad_fn", "called as", "name", "saves")
LONGEST = 60
"""Characters of a cell in a pipe's table."""
WIDTHS = (90, 120)
"""Columns of a terminal that also shows the third and the fourth heading."""


@click.command()
@click.argument("pattern", required=False)
@click.option(
    "--missing", metavar="WHAT", help="List what the engine lacks of a script (FILE.py) or a module (torch.nn.functional)."
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON: everything about each operation, or the missing names.")
def ops(*, pattern: str | None, missing: str | None, as_json: bool) -> int:
    """List the engine's operations, or what it lacks.

    Shows the names of an operation, its grad_fn, what it saves, its derivatives and its line in gviz's code. PATTERN is a name
    (mul, torch.mul, '*', MulBackward0), a part of names or a glob; without it all operations are listed.

    \b
    Examples:
      gviz ops MulBackward0
      gviz ops 'Add*'
      gviz ops --missing train.py
      gviz ops --missing torch.Tensor

    --missing lists the names of torch that a script uses, or that a module of PyTorch 2.13 has, and that the engine lacks. The
    script is read, not run; the exit status is 0 if nothing is missing, else 1.
    """
    if missing is not None:
        if pattern is not None:
            raise click.UsageError("--missing takes one script or module, without a PATTERN.")
        return _print_missing(missing, as_json=as_json)
    from gviz.explain.catalogue import matching, operations

    listed = operations() if pattern is None else matching(pattern)
    if not listed:
        _refuse(pattern or "")
    if as_json:
        _print_json({"operations": [_record(operation) for operation in listed]})
    elif len(listed) <= MOST_IN_FULL:
        _print_in_full(listed)
    else:
        _tabulate(listed)
    return 0


def _refuse(pattern: str) -> None:
    """Raise SourceError: there is no such operation; it says what may have been meant."""
    from gviz.errors import SourceError
    from gviz.explain.catalogue import operations
    from gviz.sources.script.missing import is_here
    from gviz.text import did_you_mean, excerpt

    for name in (f"torch.{pattern.removeprefix('torch.')}", f"torch.nn.{pattern}", f"torch.Tensor.{pattern}"):
        if is_here(name):
            hint = "gviz render draws the nodes that a call of it makes, if it makes any"
            raise SourceError(f"{name} is in the engine, but has no row of its own in the table of operations", hint=hint)
    names = sorted({name for operation in operations() for name in operation.names()})
    hint = did_you_mean(pattern, names, "gviz ops lists all; gviz ops --missing torch.Tensor what is missing")
    raise SourceError(f"the engine has no operation {excerpt(pattern)!r}", hint=hint)


def _record(operation: Operation) -> dict[str, Any]:
    """Return an operation as its JSON."""
    return {
        "name": operation.key,
        "grad_fn": operation.grad_fn,
        "called_as": operation.forms,
        "takes": operation.takes,
        "part_of": operation.part_of,
        "in_derivative_of": operation.derivative_of,
        "saves": operation.saved,
        "derivatives": [{"inputs": inputs.split(", "), "formula": formula} for inputs, formula in operation.formulas],
        "where": operation.where,
        "source": operation.source,
        "note": operation.note,
    }


def _print_json(record: dict[str, Any]) -> None:
    import json

    streams.write_product(json.dumps(record, ensure_ascii=False) + "\n")


def _facts(operation: Operation) -> Iterator[tuple[str, str]]:
    """Yield the lines on an operation: (what, text)."""
    yield "is", operation.note
    yield "called as", ", ".join(operation.forms)
    yield from (("takes", form) for form in operation.takes)
    yield "part of", joined(operation.part_of, MOST_NAMED)
    yield "saves", ", ".join(operation.saved)
    for inputs, formula in operation.formulas:
        yield f"grad of {inputs}", formula
    for meaning in operation.where:
        yield "where", meaning
    yield "in derivative of", joined(operation.derivative_of, MOST_NAMED)
    yield "stands in", operation.source


def _print_in_full(listed: Sequence[Operation]) -> None:
    """Print all about a few operations; lines are wrapped on a terminal only."""
    parts = [(_title(operation), [fact for fact in _facts(operation) if fact[1]]) for operation in listed]
    from gviz.cli.table import console

    if not streams.is_terminal(sys.stdout):
        streams.write_product(
            "\n".join(f"{title}\n{aligned([('  ' + what, text) for what, text in facts])}" for title, facts in parts)
        )
        return
    from rich.table import Table
    from rich.text import Text

    terminal = console()
    for number, (title, facts) in enumerate(parts):
        terminal.print(Text(("\n" if number else "") + title, style="bold"))
        grid = Table.grid(padding=(0, 2, 0, 0))
        grid.add_column(style="dim", no_wrap=terminal.width > 60, overflow="fold")
        grid.add_column(overflow="fold")
        for what, text in facts:
            grid.add_row(f"  {what}", text)
        terminal.print(grid)


def _title(operation: Operation) -> str:
    """Return ``MulBackward0 (mul)``."""
    return operation.key if operation.note else f"{operation.grad_fn or 'no grad_fn'} ({operation.key})"


def _tabulate(listed: Sequence[Operation]) -> None:
    """Print a line for each operation; on a terminal the columns share its width."""
    from gviz.cli.table import console, cut, ruled

    rows = [
        (
            operation.grad_fn or "None",
            ", ".join(operation.forms),
            operation.key,
            ", ".join(operation.saved).replace("_saved_", ""),
        )
        for operation in listed
    ]
    if not streams.is_terminal(sys.stdout):
        streams.write_product(aligned([HEADINGS, *([cut(cell, LONGEST) for cell in row] for row in rows)]))
        return
    terminal = console()
    headings = HEADINGS[: 2 + (terminal.width >= WIDTHS[0]) + (terminal.width >= WIDTHS[1])]
    table = ruled()
    for place, heading in enumerate(headings):
        least = None if place else min(max(len(row[0]) for row in rows), terminal.width // 2)
        table.add_column(heading, no_wrap=True, overflow="ellipsis", min_width=least, max_width=terminal.width // 2)
    for row in rows:
        table.add_row(*row[: len(headings)], style="dim" if row[0] == "None" else "")
    terminal.print(table)
    terminal.print(f"{len(rows)} operations; gviz ops NAME shows all about one", style="dim")


def _print_missing(what: str, *, as_json: bool) -> int:
    """Print what is missing, a line for each name; return the exit status."""
    from gviz.sources.options import Note
    from gviz.sources.script.missing import of_module, of_script

    if what == "torch" or what.startswith("torch."):
        names: Sequence[str] = of_module(what)
        lines: list[tuple[str, ...]] = [(name,) for name in names]
        record: dict[str, Any] = {"module": what, "missing": names}
    else:
        missing: Sequence[Missing] = of_script(what)
        lines = [(f"{m.file}:{m.line}", m.name, "" if m.is_sure else "if that is a tensor") for m in missing]
        record = {
            "file": what,
            "missing": [{"name": m.name, "file": m.file, "line": m.line, "sure": m.is_sure} for m in missing],
        }
    if as_json:
        _print_json(record)
    elif lines:
        streams.write_product(aligned(lines))
    else:
        streams.say(Note(f"{what}: nothing of PyTorch is missing", "dim"))
    return 1 if lines else 0
