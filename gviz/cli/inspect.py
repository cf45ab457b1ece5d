"""``gviz inspect``: the leaf / non-leaf table of a source."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from gviz.cli import streams
from gviz.cli.options import SourceCommand, takes_source

if TYPE_CHECKING:
    from gviz.graph import Graph
    from gviz.sources import Reading, Source, SourceOptions

__all__ = ["inspect"]


@click.command(cls=SourceCommand)
@takes_source()
@click.option("--json", "as_json", is_flag=True, help="Print the same rows and the graph as JSON.")
def inspect(*, source: Source, options: SourceOptions, as_json: bool) -> int:
    """List the tensors of SOURCE, or the operations of a static graph.

    SOURCE is an expression, a .py script or .ipynb notebook (it is executed), a saved graph .json, or - for
    standard input.

    \b
    Examples:
      gviz inspect "y=(x+w)*(w+1)" x=2 w=1 --retain a
      gviz inspect train.py --json

    An expression runs backward first (unless --no-backward). A script's tensors are listed as they are when it ends.
    """
    from gviz.cli.reading import read_source

    reading = read_source(source, options, product_on_stdout=True, rootless=True)
    if as_json:
        streams.write_product(to_json(reading.graph))
    else:
        _print_table(reading)
    return int(reading.failed)


def to_json(graph: Graph) -> str:
    """Return the table and the graph as one line of JSON.

    Returns:
        ``{"tensors": [...], "graph": {...}}``: a tensor has the nine keys of its row, and ``expression`` if it stands
        for one; the graph is that of ``gviz render -o graph.json``. A static graph has ``operations`` in place of tensors.
    """
    import json

    if graph.kind == "static":
        from gviz.cli import operations

        return operations.to_json(graph)
    record = graph.as_dict()
    tensors = [{key: cell for key, cell in row.items() if key != "expression" or cell is not None} for row in record["tensors"]]
    return json.dumps({"tensors": tensors, "graph": record}, ensure_ascii=False, allow_nan=False) + "\n"


def _print_table(reading: Reading) -> None:
    """Print the table; SourceError if there is nothing to list."""
    if reading.graph.kind == "static":
        from gviz.cli.operations import show_operations

        show_operations(reading.graph)
        return
    from gviz.cli.table import print_tensors
    from gviz.errors import SourceError

    if not reading.graph.tensors:
        raise SourceError("there are no named tensors to list")
    print_tensors(reading.graph, before=reading.ran_backward, aliases=reading.aliases)
