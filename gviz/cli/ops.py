"""``gviz ops``: the operations of gviz's engine, and the names of PyTorch that it lacks."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from gviz.cli import streams
from gviz.text import aligned_text, cut, did_you_mean, excerpt

if TYPE_CHECKING:
    from gviz.reference.catalogue import TableOperation

MOST_IN_FULL = 6
"""Operations that are printed in full; more of them are a table."""

HEADINGS = ("grad_fn", "called as", "name", "saves")
NOTHING = "no name of PyTorch that its text tells of is missing; what objects lack shows when it runs"
LONGEST = 60
"""Characters of a cell in a pipe's table."""
WIDTHS = (0, 0, 90, 120)
"""Columns of a terminal that shows each heading."""


def offered(_context: click.Context, _argument: click.Parameter, beginning: str) -> list[str]:
    """Return the names of operations that a word begins, for Tab."""
    from gviz.reference.catalogue import operations

    return sorted({name for one in operations() for name in one.names() if name.startswith(beginning)})


@click.command()
@click.argument("pattern", required=False, shell_complete=offered)
@click.option(
    "--missing",
    metavar="SOURCE",
    help="List the names that the engine lacks: of a script (FILE.py) or a module (torch.nn).",
)
@click.option(
    "--json", "as_json", is_flag=True, help="Print JSON: everything about each operation, or the missing names."
)
def ops(*, pattern: str | None, missing: str | None, as_json: bool) -> int:
    """List the engine's operations, or what it lacks.

    Shows the names of an operation, its grad_fn, its saved tensors, its derivatives and its line in gviz's code.
    PATTERN is a name (mul, torch.mul, '*', MulBackward0), a part of names or a glob. Without PATTERN all operations are
    listed.

    \b
    Examples:
      gviz ops MulBackward0
      gviz ops 'Add*'
      gviz ops --missing train.py
      gviz ops --missing torch.Tensor

    --missing lists the names that a script uses, or that a module of PyTorch 2.13 has, and that the engine lacks. The
    script is read, not run. The exit status is 0 if nothing is missing, else 1.
    """
    if missing is not None:
        if pattern is not None:
            raise click.UsageError("--missing takes one script or module, without a PATTERN.")
        return _print_missing(missing, as_json=as_json)
    from gviz.reference.catalogue import matching, operations

    matches = matching(pattern) if pattern else operations()
    if not matches:
        _refuse(pattern or "")
    if as_json:
        streams.write_json({"operations": [operation.as_dict() for operation in matches]})
    elif len(matches) <= MOST_IN_FULL:
        _print_in_full(matches)
    else:
        _tabulate(matches)
    return 0


def _refuse(pattern: str) -> None:
    """Raise SourceError: there is no such operation; it says what may have been meant."""
    from gviz.errors import SourceError
    from gviz.reference.catalogue import operations
    from gviz.sources.script.torch_names import lacking_part

    for name in (f"torch.{pattern.removeprefix('torch.')}", f"torch.nn.{pattern}", f"torch.Tensor.{pattern}"):
        if lacking_part(name) is None:
            raise SourceError(
                f"{name} is in the engine, but has no row of its own in the table of operations",
                hint="gviz render draws the nodes that a call of it makes, if it makes any",
            )
    names = {name for operation in operations() for name in operation.names()}
    hint = did_you_mean(
        pattern, names, "gviz ops lists all operations; gviz ops --missing torch.Tensor lists what is missing"
    )
    raise SourceError(f"the engine has no operation {excerpt(pattern)!r}", hint=hint)


def _print_in_full(operations: Sequence[TableOperation]) -> None:
    """Print all about a few operations; lines are wrapped on a terminal only."""
    if not streams.is_terminal(sys.stdout):
        parts = (aligned_text([(f"  {head}", text) for head, text in operation.facts()]) for operation in operations)
        streams.write_product("\n".join(f"{one.title}\n{part}" for one, part in zip(operations, parts, strict=True)))
        return
    from rich.table import Table
    from rich.text import Text

    from gviz.cli.table import console

    terminal = console()
    for number, operation in enumerate(operations):
        terminal.print(Text(("\n" if number else "") + operation.title, style="bold"))
        grid = Table.grid(padding=(0, 2, 0, 0))
        grid.add_column(style="dim", no_wrap=terminal.width > 60, overflow="fold")
        grid.add_column(overflow="fold")
        for head, text in operation.facts():
            grid.add_row(f"  {head}", text)
        terminal.print(grid)


def _tabulate(operations: Sequence[TableOperation]) -> None:
    """Print a line for each operation; a terminal shows as many columns as it has room for."""
    from gviz.cli.table import console, ruled

    saved = (", ".join(one.saved).replace("_saved_", "") for one in operations)
    rows = [
        (one.grad_fn or "None", ", ".join(one.forms), one.key, text)
        for one, text in zip(operations, saved, strict=True)
    ]
    if not streams.is_terminal(sys.stdout):
        streams.write_product(aligned_text([HEADINGS, *([cut(cell, LONGEST) for cell in row] for row in rows)]))
        return
    terminal, table = console(), ruled()
    headings = [heading for heading, width in zip(HEADINGS, WIDTHS, strict=True) if terminal.width >= width]
    for heading in headings:
        least = min(max(len(row[0]) for row in rows), terminal.width // 2) if heading == "grad_fn" else None
        table.add_column(heading, no_wrap=True, overflow="ellipsis", min_width=least, max_width=terminal.width // 2)
    for row in rows:
        table.add_row(*row[: len(headings)], style="dim" if row[0] == "None" else "")
    terminal.print(table)
    terminal.print(f"{len(rows)} operations; gviz ops NAME shows all about one", style="dim")


def _print_missing(source: str, *, as_json: bool) -> int:
    """Print the missing names of a script or a module, a line for each; return the exit status."""
    from gviz.sources.script.missing import of_module, of_script

    if source == "torch" or source.startswith("torch."):
        names = of_module(source)
        lines: list[tuple[str, ...]] = [(name,) for name in names]
        record: dict[str, Any] = {"module": source, "missing": names}
    else:
        uses = of_script(source)
        lines = [(str(use.place), use.name, use.doubt()) for use in uses]
        missing = [
            {
                "name": use.name,
                "file": use.place.file,
                **({"cell": use.place.cell} if use.place.cell else {}),
                "line": use.place.line,
                "sure": use.is_sure,
            }
            for use in uses
        ]
        record = {"file": source, "missing": missing}
    if as_json:
        streams.write_json(record)
    elif lines:
        streams.write_product(aligned_text(lines))
    else:
        streams.complain(f"{source}: {NOTHING if 'file' in record else 'nothing of PyTorch is missing'}", "note")
    return 1 if lines else 0
