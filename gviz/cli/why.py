"""``gviz why``: why a gradient is None, zero, not a number, or the sum of several."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from gviz.cli import streams
from gviz.cli.options import READING, SourceCommand, listed_option, takes_source

if TYPE_CHECKING:
    from gviz.causes.diagnosis import Cause
    from gviz.sources import Source, SourceOptions

INKS = {"bold": "1", "good": "32;1", "bad": "31;1", "dim": "2"}
"""ANSI's styles of the parts of an answer."""

WIDTH = 78
"""Columns of an answer on a terminal that is wider, and in a pipe."""


@click.command(
    cls=SourceCommand,
    page={
        "The answer": "json",
        "The source": "root frozen retain values grad-output until engine",
    },
)
@takes_source(*READING, has_name=True)
@listed_option("--json", "as_json", is_flag=True, help="Print the causes as JSON.", short="print JSON")
def why(*, source: Source, options: SourceOptions, name: str | None, as_json: bool) -> int:
    """Say why a gradient is None, zero or NaN.

    SOURCE is an expression, a .py script or .ipynb notebook (it is executed), a saved graph .json, or - for standard
    input.

    \b
    Examples:
      gviz why train.py w
      gviz why train.py            # all leaves and parameters

    The exit status is 1 if something is wrong, or the script failed.
    """
    from gviz.causes.why import why as cause_of, why_all
    from gviz.cli.reading import read_source

    reading = read_source(source, replace(options, diagnose=True), product_on_stdout=True, rootless=True)
    causes = [cause_of(reading.graph, name)] if name is not None else why_all(reading.graph)
    if as_json:
        streams.write_json([_record(cause) for cause in causes])
    elif name is not None:
        streams.write_product("".join(f"{line}\n" for line in answer(causes[0])))
    else:
        print_table(causes)
    roots = (reading.graph.by_id[root] for root in reading.graph.roots)
    bad = {root.name: number for root in roots if root.name and root.value and (number := root.value.not_finite)}
    if bad and not any(cause.verdict in ("nan", "inf") for cause in causes):
        streams.complain(f"gviz why SOURCE {next(iter(bad))} tells where its {next(iter(bad.values()))} began", "note")
    if reading.graph.stop and not any(cause.is_wrong for cause in causes):
        streams.complain("the script stopped with an error: gviz explain TEXT says what it means", "note")
    return reading.status or int(any(cause.is_wrong for cause in causes))


def _record(cause: Cause) -> dict[str, Any]:
    """Return a cause for JSON: ``{"name", "verdict", "is_wrong", "what", "lines", "mend"}``."""
    lines = [[str(place), code] for place, code in cause.lines]
    return {**cause._asdict(), "is_wrong": cause.is_wrong, "lines": lines}


def answer(cause: Cause) -> Iterator[str]:
    """Yield the lines of an answer: the verdict, what happened, the lines of the program, and the mend."""
    from textwrap import wrap

    from gviz.text import display_width, printable

    width = min(streams.terminal_look().get("width", WIDTH), WIDTH)
    yield f"{inked(cause.name, 'bold')}: {inked(cause.verdict, 'bad' if cause.is_wrong else 'good')}"
    yield from wrap(f"{cause.what.removesuffix('.')}.", width)
    column = max([len("mend"), *(display_width(str(place)) for place, _ in cause.lines)]) + 3
    for place, code in cause.lines:
        yield f"  {inked(str(place), 'dim')}{' ' * (column - display_width(str(place)))}{printable(code)}".rstrip()
    if cause.mend:
        first, *rest = wrap(cause.mend, max(width - column - 2, 20), break_long_words=False)
        yield f"  {inked('mend', 'bold')}{' ' * (column - len('mend'))}{first}"
        yield from (f"  {' ' * column}{line}" for line in rest)


def inked(text: str, ink: str) -> str:
    """Return a text in a style, where colours are welcome."""
    return f"\x1b[{INKS[ink]}m{text}\x1b[0m" if streams.in_colour(sys.stdout) else text


def print_table(causes: Sequence[Cause]) -> None:
    """Print a row for each cause; SourceError if there is no leaf."""
    from gviz.cli.table import print_rows
    from gviz.errors import SourceError

    if not causes:
        raise SourceError("there are no leaves: nothing that a gradient could come to")
    rows = [
        (
            cause.name,
            cause.verdict,
            str(cause.lines[-1][0]) if cause.lines else "",
            cause.mend if cause.is_wrong else "",
        )
        for cause in causes
    ]
    print_rows(("name", "why", "where", "mend"), rows, whole=("name", "where"), dim=())
    wrong = sum(cause.is_wrong for cause in causes)
    if wrong:
        streams.complain(
            f"{wrong} of {len(causes)} have no gradient that can be used; gviz why SOURCE NAME tells more", "note"
        )
