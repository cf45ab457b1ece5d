"""``gviz summary``: a graph on one screen."""

from __future__ import annotations

import shlex
from dataclasses import replace

import click

from gviz.cli import streams
from gviz.cli.options import Source, SourceCommand, listed_option, takes_source, typed_options
from gviz.cli.reading import read_source
from gviz.graphs.codec import as_plain
from gviz.options import SourceOptions


@click.command(
    cls=SourceCommand,
    page={
        "The answer": "json",
        "The source": "root frozen retain values until engine",
    },
)
@takes_source()
@listed_option("--json", "as_json", is_flag=True, help="Print the summary as JSON.", short="print JSON")
def summary(*, source: Source, options: SourceOptions, as_json: bool) -> int:
    """Say how large the graph of SOURCE is, and what it is made of.

    SOURCE is an expression, a .py script or .ipynb notebook (it is executed), a saved graph .json, or - for standard
    input.

    \b
    Examples:
      gviz summary train.py
      gviz summary train.py --json
    """
    from gviz.answers.summary import summary as summary_of, summary_lines

    reading = read_source(source, replace(options, kept=True, folds=True), product_on_stdout=True)
    short = summary_of(reading.graph)
    if as_json:
        streams.write_json(as_plain(short, always=short._fields))
    else:
        arguments = shlex.join(["--", *options.argv]) if options.argv else ""
        words = [source.file or source.text, *(f"{name}={value}" for name, value in options.values.items())]
        flags = typed_options(click.get_current_context(), "as_json", "values")
        lines = summary_lines(short, " ".join([shlex.join(words), *flags]), arguments)
        streams.write_product("".join(f"{line}\n" for line in lines))
    return reading.status
