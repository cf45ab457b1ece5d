"""``gviz version``: which gviz this is."""

from __future__ import annotations

import click

from gviz import __version__


@click.command()
def version() -> int:
    """Print the version of gviz.

    \b
    Example:
      gviz version
    """
    click.echo(f"gviz {__version__}")
    return 0
