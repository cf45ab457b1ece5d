"""``gviz diff``: what is different in the graph of another source, or of the same one later."""

from __future__ import annotations

import click

from gviz.cli import streams
from gviz.cli.options import READING, Source, SourceCommand, listed_option, takes_source
from gviz.cli.output import Output, makes_picture
from gviz.cli.reading import read_whole
from gviz.options import SourceOptions


@click.command(
    cls=SourceCommand,
    page={
        "What is compared": "values tolerance json",
        "The picture": "output theme rankdir fit",
        "The sources": "root frozen until engine",
    },
)
@takes_source(*(name for name in READING if name != "values"), has_other=True)
@listed_option(
    "--values",
    "has_values",
    is_flag=True,
    help="Compare the numbers of tensors and gradients as well.",
    short="compare numbers as well",
)
@listed_option(
    "--tolerance",
    type=click.FloatRange(0),
    default=1e-5,
    show_default=True,
    metavar="NUMBER",
    help="How far apart two numbers may be, for their size; for numbers below 1 by itself.",
    example="NUMBER",
    short="how far apart two numbers may be",
)
@listed_option("--json", "as_json", is_flag=True, help="Print the differences as JSON.", short="print JSON")
@makes_picture(by_name="")
def diff(
    *,
    source: Source,
    other: str,
    options: SourceOptions,
    has_values: bool,
    tolerance: float,
    as_json: bool,
    picture: Output | None,
) -> int:
    """Say what is different in the graph of a second SOURCE.

    A SOURCE is an expression, a .py script or .ipynb notebook (it is executed), a saved graph .json, or - for standard
    input.

    \b
    Examples:
      gviz diff "y=relu(x*w)" "y=tanh(x*w)"
      gviz diff old.py new.py -o d.svg
      gviz diff saved.json train.py --values

    Boxes are known by the names of leaves and roots, and by what they are made from and used for. What a program calls
    its other results, and on which lines, is no difference. The exit status is 0 if the graphs are the same, 1 if they
    differ, 2 for an error.
    """
    from gviz.compare.diff import Diff
    from gviz.sources import Source as Origin

    if picture is not None:
        picture.check(source)
    first, second = (read_whole(one, options) for one in (source, Origin.of(other, values=options.values)))
    differences = Diff(first, second, has_values, tolerance)
    if picture is not None:
        picture.write(differences.graph)
    if as_json:
        streams.write_json(differences.to_dict())
    elif picture is None or not picture.is_stdout:
        streams.write_product(f"{differences}\n")
    return int(bool(differences))
