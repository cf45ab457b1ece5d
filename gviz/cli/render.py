"""``gviz render``: a source becomes a picture."""

from __future__ import annotations

import os
import sys
from dataclasses import replace
from typing import TYPE_CHECKING, NoReturn

import click

from gviz.cli import streams
from gviz.cli.options import SourceCommand, format_option, graphviz_option, rankdir_option, show_option, takes_source

if TYPE_CHECKING:
    from gviz.graph import Graph
    from gviz.render import RenderOptions
    from gviz.sources import SourceOptions

__all__ = ["render"]

TREE_LINES = 20
"""As much of the tree as goes with a picture on a terminal."""

LONGEST_STEM = 100
"""Characters of a file name that is made from a root's name."""


@click.command(cls=SourceCommand)
@takes_source
@show_option
@click.option(
    "-o", "--output", metavar="FILE", help="Where to: its suffix is the format, - is standard output. [default: ROOT.pdf]"
)
@format_option
@rankdir_option("TB", "The way the leaves lie: from top to bottom, from left to right ...")
@graphviz_option
def render(
    *, source: str, options: SourceOptions, show: tuple[str, ...], output: str | None, suffix: str | None, rankdir: str,
    graphviz: str,
) -> int:  # fmt: skip
    """Draw the graph behind SOURCE.

    SOURCE is an expression, a .py script (it is executed), a saved graph .json, or - for standard input.

    \b
    Examples:
      gviz render "y=(x+w)*(w+1)" x=2 w=1                  # y.pdf
      gviz render "h=w*x+b" --frozen x --rankdir LR -o h.svg
      gviz render train.py --root loss -o loss.png -- --epochs 1
      gviz render -o - -- "-x + w" | dot -Tpng > neg.png

    What gets no value is 1.0. Without -o the picture is ROOT.pdf in the current folder.
    """
    from gviz.cli.reading import read_source
    from gviz.render import RenderOptions

    suffix = suffix or format_of(output)
    check_format(suffix, output)
    how = RenderOptions(show=show, rankdir=rankdir.upper(), graphviz=graphviz, format=suffix)
    reading = read_source(source, replace(options, saved="saved" in show), product_on_stdout=output == "-")
    deliver(reading.graph, how, output)
    return 1 if reading.failed else 0


def check_format(suffix: str, output: str | None) -> None:
    """Refuse a format that is unknown, or that a terminal cannot show, before a script runs for an hour."""
    from gviz.render import find

    if find(suffix).is_binary(suffix) and output == "-" and streams.is_terminal(sys.stdout):
        _refuse_binary(suffix)


def deliver(graph: Graph, how: RenderOptions, output: str | None) -> None:
    """Write the picture where it is wanted.

    Args:
        graph: what to draw.
        how: its format, and how it looks.
        output: a file, - for standard output, None for ROOT.pdf in the current folder.
    """
    from gviz.render import render as draw
    from gviz.render import save

    if output == "-":
        how = _for_terminal(how) if streams.is_terminal(sys.stdout) else how
        streams.write_product(draw(graph, how.format, how))
    elif output is not None:
        save(graph, output, how)
    else:
        _save_by_name(graph, how)


def format_of(output: str | None) -> str:
    """The format that the output asks for by itself, "" where its name does not tell; FileError for a folder."""
    if output is None:
        return "pdf"
    if output == "-":
        return "txt" if streams.is_terminal(sys.stdout) else "dot"
    from gviz.render import suffix_of

    suffix = suffix_of(output)
    if suffix != "tensorboard" and os.path.isdir(output):
        from gviz.errors import FileError

        hint = f"name a file in it: {os.path.join(output, 'graph.pdf')}; with a slash, {output}/, it is for TensorBoard"
        raise FileError(f"{output} is a folder", hint=hint)
    return suffix


def _refuse_binary(suffix: str) -> NoReturn:
    """Say both ways out to somebody who asked for a picture in the midst of text."""
    ways = f"Name a file (-o FILE.{suffix}), or send it on (-o - --format {suffix} | ...)."
    raise click.UsageError(f"{suffix} is binary, which a terminal cannot show. {ways}", click.get_current_context())


def _for_terminal(how: RenderOptions) -> RenderOptions:
    """The same options, for a tree that fits this terminal."""
    from shutil import get_terminal_size

    colour, ascii_only = streams.in_colour(sys.stdout), not streams.takes_unicode(sys.stdout)
    return replace(how, width=get_terminal_size().columns, ascii=ascii_only, color=colour)


def _save_by_name(graph: Graph, how: RenderOptions) -> None:
    """Write ROOT.pdf in the current folder and say so; on a terminal the tree goes with it.

    Raises:
        FileError: a file of that name is there and is none of gviz's.
    """
    from gviz.errors import FileError
    from gviz.render import render as draw
    from gviz.render import save
    from gviz.render.marks import is_ours

    file = f"{default_stem(graph)}.{how.format}"
    if os.path.lexists(file) and not os.path.isdir(file) and not is_ours(file):
        raise FileError(f"{file} is here already and was not made by gviz", hint=f"to replace it: -o {file}")
    save(graph, file, how)
    if streams.is_terminal(sys.stdout):
        streams.write_product(draw(graph, "txt", replace(_for_terminal(how), max_lines=TREE_LINES)))
    streams.write_product(f"{file}\n")


def default_stem(graph: Graph) -> str:
    """A file name for the graph, from the names of its roots: ``y``, ``d_k`` for ``d['k']``, ``graph`` where nothing is left.

    A static graph, which ends in many operations, goes by its title.

    >>> from gviz.graph import Graph, Node
    >>> default_stem(Graph(nodes=(Node("n0", "output", name="d['k']"),), roots=("n0",)))
    'd_k'
    """
    import re

    names = [graph.title] if graph.kind == "static" else [node.name or "" for node in graph.nodes if node.id in graph.roots]
    stem = re.sub(r"[^A-Za-z0-9._-]+", "_", "-".join(names))[:LONGEST_STEM].strip("._-")
    if stem.upper() in {"AUX", "CON", "NUL", "PRN"}:  # devices, not files, on Windows
        stem += "_"
    return stem or "graph"
