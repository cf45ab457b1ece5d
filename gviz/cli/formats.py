"""``gviz formats``: what can be written here, and what makes it."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from gviz.cli import streams

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["formats"]

HEADINGS = ("suffix", "what it is", "made by")


@click.command()
def formats() -> int:
    """List the output formats, and what makes each of them here.

    \b
    Examples:
      gviz formats
      gviz formats | grep svg

    Which of them work on this machine is found out by drawing one box in each.
    """
    from gviz.render import formats as rows

    streams.hear_warnings()
    lines = [(row.suffix, row.description, row.made_by if row.works else "nothing here") for row in rows()]
    if streams.is_terminal(sys.stdout):
        _show(lines)
    else:
        from gviz.cli.table import aligned

        streams.write_product(aligned([HEADINGS, *lines]))
    return 0


def _show(lines: Sequence[tuple[str, str, str]]) -> None:
    """Print the table on this terminal, descriptions wrapped where it is narrow."""
    from rich import box
    from rich.console import Console
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, header_style="bold")
    for heading, wraps in zip(HEADINGS, (False, True, True), strict=True):
        table.add_column(heading, no_wrap=not wraps, overflow="fold")
    for line in lines:
        table.add_row(*line, style="dim" if line[2] == "nothing here" else "")
    Console(no_color=not streams.in_colour(sys.stdout), highlight=False, markup=False).print(table)
