"""``gviz ops``: the operations of gviz's engine, and what a script or a part of PyTorch has that the engine has not."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from gviz.cli import streams

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from gviz.engine.readers.catalogue import Operation
    from gviz.sources.missing import Missing

__all__ = ["ops"]

MOST_TOLD = 6
"""Operations that are told in full; more of them are a table."""

MOST_NAMED = 8
"""Functions and rows that are named where one is a part of them."""

HEADINGS = ("grad_fn", "called as", "name", "saves")
LONGEST = 60
"""Characters of a cell in a pipe's table."""
WIDTHS = (90, 120)
"""Columns of a terminal that also shows the third and the fourth heading."""


@click.command()
@click.argument("pattern", required=False)
@click.option(
    "--missing", metavar="WHAT", help="What a script (FILE.py) or a module (torch.nn.functional) has that the engine lacks."
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON: everything about each operation, or the missing names.")
def ops(*, pattern: str | None, missing: str | None, as_json: bool) -> int:
    """List the engine's operations, or what it lacks.

    An operation is told with its names, its grad_fn, what it saves, its derivatives and the line of gviz's code that it stands
    in. PATTERN is a name (mul, torch.mul, '*', MulBackward0), a part of names or a glob; without it all are listed.

    \b
    Examples:
      gviz ops MulBackward0
      gviz ops 'Add*'
      gviz ops --missing train.py
      gviz ops --missing torch.Tensor

    --missing says which names of torch a script uses, or a module of PyTorch 2.13 has, that the engine has not. The script
    is read, not run; the exit status is 0 where nothing is missing, else 1.
    """
    if missing is not None:
        if pattern is not None:
            raise click.UsageError("--missing takes one script or module, and no PATTERN beside it.")
        return _print_missing(missing, as_json=as_json)
    from gviz.engine.readers.catalogue import matching, operations

    found = operations() if pattern is None else matching(pattern)
    if not found:
        _refuse(pattern or "")
    if as_json:
        _print_json({"operations": [_record(operation) for operation in found]})
    elif len(found) <= MOST_TOLD:
        _tell(found)
    else:
        _tabulate(found)
    return 0


def _refuse(pattern: str) -> None:
    """Raise SourceError: there is no such operation; it says what may have been meant."""
    from difflib import get_close_matches

    from gviz.engine.readers.catalogue import operations
    from gviz.errors import SourceError
    from gviz.sources.missing import is_here
    from gviz.sources.names import shown

    for name in (f"torch.{pattern.removeprefix('torch.')}", f"torch.nn.{pattern}", f"torch.Tensor.{pattern}"):
        if is_here(name):
            hint = "gviz render draws the nodes that a call of it makes, if it makes any"
            raise SourceError(f"{name} is in the engine, and has no row of its own in the table of operations", hint=hint)
    names = sorted({name for operation in operations() for name in operation.names()})
    close = get_close_matches(pattern[:60], names, n=3, cutoff=0.8)
    hint = (
        f"did you mean {' or '.join(close)}?"
        if close
        else "gviz ops lists all; gviz ops --missing torch.Tensor what is missing"
    )
    raise SourceError(f"the engine has no operation {shown(pattern)!r}", hint=hint)


def _record(operation: Operation) -> dict[str, Any]:
    """An operation as JSON has it."""
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
    """What there is to say of an operation: (what, text)."""
    yield "is", operation.note
    yield "called as", ", ".join(operation.forms)
    yield from (("takes", form) for form in operation.takes)
    yield "part of", _some(operation.part_of)
    yield "saves", ", ".join(operation.saved)
    for inputs, formula in operation.formulas:
        yield f"grad of {inputs}", formula
    for meaning in operation.where:
        yield "where", meaning
    yield "in derivative of", _some(operation.derivative_of)
    yield "stands in", operation.source


def _some(names: Sequence[str]) -> str:
    """The first of many names, and how many more there are."""
    more = len(names) - MOST_NAMED
    return ", ".join(names[:MOST_NAMED]) + (f" and {more} more" if more > 0 else "")


def _tell(found: Sequence[Operation]) -> None:
    """Print all about a few operations; lines are wrapped on a terminal only."""
    told = [(_title(operation), [fact for fact in _facts(operation) if fact[1]]) for operation in found]
    from gviz.cli.table import aligned, console

    if not streams.is_terminal(sys.stdout):
        streams.write_product(
            "\n".join(f"{title}\n{aligned([('  ' + what, text) for what, text in facts])}" for title, facts in told)
        )
        return
    from rich.table import Table
    from rich.text import Text

    terminal = console()
    for number, (title, facts) in enumerate(told):
        terminal.print(Text(("\n" if number else "") + title, style="bold"))
        grid = Table.grid(padding=(0, 2, 0, 0))
        grid.add_column(style="dim", no_wrap=terminal.width > 60, overflow="fold")
        grid.add_column(overflow="fold")
        for what, text in facts:
            grid.add_row(f"  {what}", text)
        terminal.print(grid)


def _title(operation: Operation) -> str:
    """``MulBackward0 (mul)``."""
    return operation.key if operation.note else f"{operation.grad_fn or 'no grad_fn'} ({operation.key})"


def _tabulate(found: Sequence[Operation]) -> None:
    """Print a line an operation; on a terminal the columns share its width."""
    from gviz.cli.table import aligned, console, ruled, shorten

    rows = [
        (operation.grad_fn or "None", ", ".join(operation.forms), operation.key, ", ".join(_bare(operation.saved)))
        for operation in found
    ]
    if not streams.is_terminal(sys.stdout):
        streams.write_product(aligned([HEADINGS, *([shorten(cell, LONGEST) for cell in row] for row in rows)]))
        return
    terminal = console()
    shown = 2 + (terminal.width >= WIDTHS[0]) + (terminal.width >= WIDTHS[1])
    table = ruled()
    for place, heading in enumerate(HEADINGS[:shown]):
        least = None if place else min(max(len(row[0]) for row in rows), terminal.width // 2)
        table.add_column(heading, no_wrap=True, overflow="ellipsis", min_width=least, max_width=terminal.width // 2)
    for row in rows:
        table.add_row(*row[:shown], style="dim" if row[0] == "None" else "")
    terminal.print(table)
    terminal.print(f"{len(rows)} operations; gviz ops NAME tells all about one", style="dim")


def _bare(saved: Sequence[str]) -> Iterator[str]:
    return (name.removeprefix("_saved_") for name in saved)


def _print_missing(what: str, *, as_json: bool) -> int:
    """Print what is missing, a line a name; the exit status."""
    from gviz.cli.table import aligned
    from gviz.sources.missing import of_module, of_script
    from gviz.sources.options import Note

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
