"""``gviz formats``: what can be written here, and what makes it."""

from __future__ import annotations

import click

from gviz.cli import streams

__all__ = ["formats"]


@click.command()
def formats() -> int:
    """List the output formats, and what makes each of them here.

    \b
    Example:
      gviz formats
    """
    from gviz.render import formats as rows

    streams.write_product(repr(list(rows())) + "\n")
    return 0
