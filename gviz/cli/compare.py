"""``gviz compare``: the same program as one static graph and as many dynamic ones."""

from __future__ import annotations

import gc
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from gviz.cli import streams
from gviz.cli.options import Source, SourceCommand, field_option, listed_option, takes_source
from gviz.cli.output import Output, makes_picture
from gviz.cli.reading import lean_numpy, ready
from gviz.cli.values import read_feeds, refuse_first
from gviz.errors import SourceError
from gviz.options import SourceOptions
from gviz.pictures.options import RenderOptions

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gviz.compare.measuring import ProgramPair

AS_IT_IS: dict[str, Any] = {"by": "operation", "collapse": ()}
"""How a picture is drawn whose scopes are boxes already."""

MOST_RUNS = 10_000
RUNS = 50
WIDEST = 80
"""Columns of the bars, however wide the terminal is."""


@click.command(
    cls=SourceCommand,
    page={
        "The runs": "runs feeds json",
        "The source": "root frozen values",
        "The picture": "output collapse theme rankdir fit",
    },
)
@listed_option(
    "--runs",
    type=click.IntRange(1, MOST_RUNS),
    help=f"Number of runs, with values near the given. [default: {RUNS}]",
    example="N",
    short="how many runs are timed",
)
@listed_option(
    "--feeds",
    metavar="FILE.json",
    help='The values of each run: [{"a": 1, "b": 2}, {"a": 3, "b": 4}].',
    example="FILE.json",
    short="the values of each run",
)
@listed_option("--json", "as_json", is_flag=True, help="Print the result as JSON.", short="print JSON")
@listed_option("--root", metavar="NAME", help="The root.", example="NAME", short="the tensor whose graph it is")
@takes_source("values", "frozen", "dtype", "backward", required=False, has_name=True)
@makes_picture(by_name="")
@field_option(RenderOptions, "collapse")
def compare(
    *,
    source: Source | None,
    options: SourceOptions,
    root: str | None,
    runs: int | None,
    feeds: str | None,
    as_json: bool,
    picture: Output | None,
    name: str | None = None,
) -> int:
    """Compare static and dynamic graphs of an expression or scripts.

    The static graph of SOURCE is built once and fed in each run; the dynamic engine builds a new graph in each run.
    Both are timed in turn, on this machine, and their results are compared. Without SOURCE three programs are compared:
    power(x, 100) on 10 by 10 matrices, as in TensorFlow's guide, and e = a*b + log(d)*c with and without gradients.
    Two scripts, one with TensorFlow 1 and one with PyTorch, are each run once, as they are.

    \b
    Examples:
      gviz compare
      gviz compare "e=a*b+log(d)*c" a=2 b=3 c=5 d=10 --runs 50 -o e.pdf
      gviz compare "y=relu(x@W+b)" --feeds feeds.json --json
      gviz compare while_static.py while_dynamic.py -o both.pdf
    """
    refuse_first(
        {
            "--runs makes values and --feeds has them: take one.": runs is not None and feeds is not None,
            f"--{'root' if root else 'feeds'} needs a SOURCE.": source is None and (root or feeds),
        }
    )
    if picture is not None:
        picture.check(source)
    if name is not None and source is not None:
        return compare_two(source, name, options, picture, option_values=(runs, feeds, root), as_json=as_json)
    pairs = programs(source, replace(options, roots=(root,) if root else ()), runs or RUNS, feeds)
    from gviz.compare import report
    from gviz.compare.measuring import measure

    gc.enable()  # as in the programs that people time
    comparisons = [measure(pair) for pair in pairs]
    if picture is not None:
        from gviz.compare.picture import bars_caption, side_by_side

        caption = "\n".join(filter(None, [bars_caption(comparisons), picture.options.caption]))
        graph = side_by_side(comparisons, picture.options.collapse)
        picture.drawn_with(caption=caption, **AS_IT_IS).write(graph)
    if picture is None or not picture.is_stdout:
        streams.write_product(
            report.as_json(comparisons) if as_json else report.as_text(comparisons, *_width_and_block())
        )
    return int(any(each.numbers.differs is not None for each in comparisons))


def compare_two(
    source: Source,
    name: str,
    options: SourceOptions,
    picture: Output | None,
    *,
    option_values: Sequence[object],
    as_json: bool,
) -> int:
    """Run two scripts; write their picture, and print what they did.

    Args:
        source: the first script.
        name: the file of the second one.
        options: the arguments of both.
        picture: what is drawn, None for nothing.
        option_values: the values of ``--runs``, ``--feeds`` and ``--root``, which scripts have no use for.
        as_json: whether JSON is printed.
    """
    from gviz.sources import Source as Origin

    other = Origin.of(name) if source.kind == "script" else None
    if other is None or other.kind != "script":
        raise click.UsageError(f'"{name}" is not NAME=VALUE, nor is it a script beside another.')
    unused = [option for option, value in zip(("--runs", "--feeds", "--root"), option_values, strict=True) if value]
    if unused:
        raise click.UsageError(f"{unused[0]} is for an expression: scripts say themselves what they run.")
    from gviz.sources.notes import unused as notes_on_unused

    for note in notes_on_unused(options, "script"):
        streams.say(note)
    with ready(source, product_on_stdout=True):
        from gviz.compare import report
        from gviz.compare.scripts import compare_scripts

        comparison = compare_scripts([source, other], options.argv)
    if picture is not None:
        from gviz.compare.picture import readable, scripts_side_by_side

        collapse = picture.options.collapse
        picture.drawn_with(**AS_IT_IS).write(scripts_side_by_side(comparison, collapse))
        if not collapse and (static := comparison.static.pictures[0]) is not readable(static):
            way = f"gviz static {comparison.files[0]} --by operation draws all"
            streams.complain(f"of the static graph, name scopes are drawn as boxes; {way}", "note")
    if picture is None or not picture.is_stdout:
        text = report.scripts_json(comparison) if as_json else report.scripts_text(comparison, _width_and_block()[0])
        streams.write_product(text)
    return int(comparison.numbers.differs is not None)


def programs(source: Source | None, options: SourceOptions, runs: int, feeds: str | None) -> list[ProgramPair]:
    """Return the programs to compare; SourceError if the source is not an expression."""
    with lean_numpy():
        from gviz.compare.programs import articles, of_expression

        if source is None:
            return articles(runs)
        if source.kind != "expression":
            raise SourceError(
                f"gviz compare takes an expression or two scripts, not a {source.kind.replace('graph', 'saved graph or JSON')}",
                hint='as in gviz compare "e=a*b" --feeds FILE.json, or gviz compare static.py dynamic.py',
            )
        pair, notes = of_expression(
            source.text, options, runs=runs, feeds=[] if feeds is None else read_feeds(feeds, MOST_RUNS)
        )
    for note in notes:
        streams.say(note)
    return [pair]


def _width_and_block() -> tuple[int, str]:
    """Return the columns of the text, and the character that bars are made of."""
    look = streams.terminal_look()
    return min(look.get("width", WIDEST), WIDEST), "#" if look.get("ascii") else "█"
