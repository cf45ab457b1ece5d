"""``gviz compare``: the same program as one static graph and as many dynamic ones."""

from __future__ import annotations

import gc
import sys
from shutil import get_terminal_size
from typing import TYPE_CHECKING, Any

import click

from gviz.cli import streams
from gviz.cli.options import NAMES, SourceCommand, dtype_option, format_option, rankdir_option, values_option

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gviz.sources.compare import Comparison, Pair

__all__ = ["compare"]

MOST_RUNS = 10_000
WIDEST = 80
"""Columns of the bars, however wide the terminal is."""

_EXAMPLE = 'such a file looks like [{"a": 1, "b": 2}, {"a": 3, "b": 4}]'


@click.command(cls=SourceCommand)
@click.argument("words", nargs=-1, metavar="[SOURCE [NAME=VALUE]...]")
@click.option("--runs", type=click.IntRange(1, MOST_RUNS), help="How often, with values near the given ones. [default: 50]")
@click.option("--feeds", metavar="FILE.json", help='The values of each run: [{"a": 1, "b": 2}, {"a": 3, "b": 4}].')
@click.option("-o", "--output", metavar="FILE", help="Both graphs side by side; its suffix is the format, as for render.")
@format_option
@click.option("--json", "as_json", is_flag=True, help="Print what was found as JSON.")
@values_option
@click.option("--root", metavar="NAME", help="The root, where it is not what the last statement assigns.")
@click.option("--frozen", **NAMES, help="Requires no gradient.")
@dtype_option
@click.option("--no-backward", is_flag=True, help="Compute the value alone, without gradients.")
@rankdir_option("BT", "The way the values lie in the picture.")
def compare(
    *, words: Sequence[str], after: Sequence[str], runs: int | None, feeds: str | None, output: str | None, suffix: str | None,
    as_json: bool, rankdir: str, **given: Any
) -> int:  # fmt: skip
    """Run an expression as one static graph and as dynamic ones.

    The static graph of SOURCE is built once and fed in each run; the dynamic engine builds its graph anew each time. Both are
    timed in turn, on this machine, and their numbers are held against each other. Without SOURCE: the program of TensorFlow's
    guide, power(x, 100) on 10 by 10 matrices, and e = a*b + log(d)*c with and without gradients.

    \b
    Examples:
      gviz compare
      gviz compare "e=a*b+log(d)*c" a=2 b=3 c=5 d=10 --runs 50 -o e.pdf
      gviz compare "y=relu(x@W+b)" --feeds feeds.json --json
    """
    from gviz.cli.reading import one_thread
    from gviz.cli.render import check_format, deliver, format_of
    from gviz.render import RenderOptions

    if output is None and suffix is not None:
        raise click.UsageError("--format is for a picture: name its file, -o FILE.", click.get_current_context())
    if as_json and output == "-":
        raise click.UsageError("-o - and --json both go to standard output: take one.", click.get_current_context())
    if runs is not None and feeds is not None:
        raise click.UsageError("--runs makes values and --feeds has them: take one.", click.get_current_context())
    if output is not None:
        suffix = suffix or format_of(output)
        check_format(suffix, output)
    with one_thread():
        pairs = programs(words, after, runs, feeds, given)
    from gviz.sources.compare import compare as measure

    gc.enable()  # as in the programs that people time
    found = [measure(pair) for pair in pairs]
    if output is not None and suffix is not None:
        from gviz.sources.compare_picture import side_by_side

        drawn = next((each for each in found if each.pair.picture is not None), found[0])
        deliver(side_by_side(drawn), RenderOptions(rankdir=rankdir.upper(), format=suffix), output)
    if output != "-":
        streams.write_product(as_text(found) if not as_json else to_json(found))
    return 1 if any(each.differs is not None for each in found) else 0


def programs(
    words: Sequence[str], after: Sequence[str], runs: int | None, feeds: str | None, given: dict[str, Any]
) -> list[Pair]:
    """What is to be compared.

    Raises:
        click.UsageError: feeds or options without a source.
        GvizError: the source is not right.
    """
    from gviz.cli.values import is_script, read_words
    from gviz.errors import SourceError
    from gviz.sources import SourceOptions
    from gviz.sources.compare_programs import articles, of_expression

    if not words and not after:
        if feeds is not None or any(given.values()):
            name = "--feeds" if feeds is not None else next(f"--{k.replace('_', '-')}" for k, v in given.items() if v)
            raise click.UsageError(f"{name} needs a SOURCE: an expression.", click.get_current_context())
        return articles(runs or 50)
    source, values, _ = read_words(words, after, given["values"])
    if is_script(source) or source.lower().endswith(".json"):
        raise SourceError("gviz compare takes an expression, which has both forms", hint='as in gviz compare "e=a*b+log(d)*c"')
    roots = (given["root"],) if given["root"] else ()
    options = SourceOptions(
        values=values, roots=roots, frozen=given["frozen"], dtype=given["dtype"], backward=not given["no_backward"]
    )
    pair, notes = of_expression(source, options, runs=runs or 50, feeds=[] if feeds is None else read_feeds(feeds))
    for note in notes:
        streams.say(note)
    return [pair]


def read_feeds(file: str) -> list[dict[str, str]]:
    """Feeds from a JSON file; FileError where it cannot be read, or holds no feeds."""
    from gviz.cli.values import as_texts, read_json
    from gviz.errors import FileError

    found = read_json(file, _EXAMPLE)
    if not isinstance(found, list) or not found or not all(isinstance(feed, dict) for feed in found):
        raise FileError(f"{file} holds no list of feeds", hint=_EXAMPLE)
    if len(found) > MOST_RUNS:
        raise FileError(f"{file} holds {len(found)} feeds; gviz runs {MOST_RUNS} at most")
    return [as_texts(file, feed, _EXAMPLE) for feed in found]


# ------------------------------------------------------------------ what is printed
def as_text(found: Sequence[Comparison]) -> str:
    """A table and bars for each program."""
    on_terminal = streams.is_terminal(sys.stdout)
    width = min(get_terminal_size().columns, WIDEST) if on_terminal else WIDEST
    block = "#" if on_terminal and not streams.takes_unicode(sys.stdout) else "█"
    parts = [part(each, width, block) for each in found]
    return "\n".join([*parts, *(_wrapped(line, width) for line in HOW)]) + "\n"


HOW = (
    "Times are of this machine: of a run the median after a warm-up, both forms in turn; of building the quickest.",
    "Python's garbage collector is on.",
    "A static run feeds the planned graph; a dynamic run makes the leaves, computes, goes backward and drops its graph.",
    "Reading the expression is in neither; building is defining the graph, its derivatives and the plan.",
)


def part(found: Comparison, width: int, block: str) -> str:
    """One program."""
    from gviz.cli.table import aligned
    from gviz.sources.compare_picture import bars, seconds

    pair, runs = found.pair, len(found.pair.feeds)
    size = len(found.static.graph)
    rows = [
        ("", "static", "dynamic"),
        ("graphs built", "1", str(runs) if pair.picture is not None else "none kept"),
        ("runs", str(runs), str(runs)),
        ("operations each", str(size), str(pair.recorded)),
        ("operations in all", str(size), str(runs * pair.recorded)),
        ("computed a run", str(found.static.computed), str(pair.computed)),
        ("build and plan", seconds(found.build), "in each run"),
        ("a run takes", seconds(found.static_run), seconds(found.dynamic_run)),
    ]
    told = [f"static / dynamic: {found.ratio:.2g}; {paid(found)}.", same(found)]
    if pair.found:
        told.append(f"In the real TensorFlow (found elsewhere, not measured here) {pair.found}.")
    head, tail = _wrapped(f"{pair.title}: {pair.what}", width), [_wrapped(line, width) for line in told]
    return "\n".join([head, "", aligned(rows), *bars(found, width, block), "", *tail, ""])


def paid(found: Comparison) -> str:
    """When building has paid."""
    count = found.paid_after
    if count is None:
        return "building does not pay, for a static run is not faster"
    return f"building has paid after {count} run{'s' * (count != 1)}"


def same(found: Comparison) -> str:
    """Whether the numbers are the same."""
    if found.differs is not None:
        return (
            f"The numbers are NOT the same, first in run {found.differs}; they differ by {found.largest:.2g} of their size. "
            "TensorFlow and PyTorch define a few derivatives differently, such as that of maximum(a, b) where a equals b."
        )
    return f"Both give the same numbers: {found.values} compared, the largest difference is {found.largest:.1g} of their size."


def _wrapped(text: str, width: int) -> str:
    """A sentence in lines that fit."""
    from textwrap import fill

    return fill(text, max(width, 20))


def to_json(found: Sequence[Comparison]) -> str:
    """Everything, times in seconds."""
    import json
    import math

    rows = [
        {
            "program": each.pair.title,
            "computes": each.pair.what,
            "runs": len(each.pair.feeds),
            "same": each.differs is None,
            "compared": each.values,
            "largest_difference": each.largest if math.isfinite(each.largest) else "inf",
            "first_that_differs": each.differs,
            "static": {
                "graphs": 1,
                "operations": len(each.static.graph),
                "operations_in_all": len(each.static.graph),
                "computed": each.static.computed,
                "build": each.build,
                "run": each.static_run,
            },
            "dynamic": {
                "graphs": len(each.pair.feeds),
                "operations": each.pair.recorded,
                "operations_in_all": len(each.pair.feeds) * each.pair.recorded,
                "computed": each.pair.computed,
                "run": each.dynamic_run,
            },
            "ratio": each.ratio,
            "paid_after": each.paid_after,
            "in_tensorflow": each.pair.found or None,
        }
        for each in found
    ]
    return json.dumps({"comparisons": rows, "notes": HOW}, ensure_ascii=False, indent=1) + "\n"
