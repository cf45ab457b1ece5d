"""``gviz formats``: the formats that can be written here, and the programs that make them."""

from __future__ import annotations

import click

from gviz.cli import streams

HEADINGS = ("suffix", "what it is", "made by")


@click.command()
def formats() -> int:
    """List the output formats, and the program that makes each.

    \b
    Examples:
      gviz formats
      gviz formats | grep svg

    gviz draws a box in each format to find out which of them work on this machine.
    """
    from gviz.cli.table import print_rows
    from gviz.render import formats as rows

    streams.hear_warnings()
    lines = [(row.suffix, row.description, row.made_by if row.works else "nothing here") for row in rows()]
    print_rows(HEADINGS, lines, whole=HEADINGS[:1], dim=("nothing here",))
    return 0
