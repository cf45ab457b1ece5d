"""``gviz convert``: a saved graph in another format, and the schema of saved graphs."""

from __future__ import annotations

import click

from gviz.cli import streams
from gviz.cli.options import Source, SourceCommand, listed_option, takes_source
from gviz.cli.output import Output, makes_picture
from gviz.cli.render import draw_source
from gviz.options import SourceOptions


@click.command(
    cls=SourceCommand,
    page={
        "The files": "output schema",
        "What is drawn": "view show by around",
        "The picture": "theme rankdir fit",
    },
)
@takes_source(required=False)
@makes_picture("", has_views=True)
@listed_option(
    "--schema",
    "as_schema",
    is_flag=True,
    help="Print the JSON Schema of saved graphs.",
    short="print the JSON Schema of saved graphs",
)
def convert(*, source: Source | None, options: SourceOptions, picture: Output | None, as_schema: bool) -> int:
    """Write a saved graph in another format.

    SOURCE is a graph that gviz has saved (gviz render -o graph.json, Graph.to_json), or - for one on standard input;
    nothing is computed. The options are those of gviz render.

    \b
    Examples:
      gviz convert graph.json -o graph.pdf -o graph.tex
      gviz convert graph.json -o graph.html
      gviz convert --schema > gviz-graph.schema.json
    """
    if as_schema:
        from gviz.graphs.codec import dumped
        from gviz.graphs.schema import graph_schema

        streams.write_product(dumped(graph_schema()))
        return 0
    if source is None or picture is None:
        missing = "SOURCE, a saved graph" if source is None else "-o FILE, whose suffix is the format"
        raise click.UsageError(f"gviz convert needs {missing}.")
    if source.kind != "graph":
        raise click.UsageError("gviz convert takes a saved graph; gviz render draws any other SOURCE.")
    return draw_source(source, options, picture)
