"""``gviz why``: why a gradient is None, zero, not a number, or the sum of several."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import click

from gviz.cli import streams
from gviz.cli.options import READING, SourceCommand, listed_option, takes_source

if TYPE_CHECKING:
    from gviz.causes.diagnosis import Cause
    from gviz.sources import Source, SourceOptions

INKS = {"bold": "1", "good": "32;1", "bad": "31;1", "dim": "2"}
"""ANSI's styles of the parts of an answer."""


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
    from gviz.causes.diagnosis import WIDTH
    from gviz.causes.layers import causes_in
    from gviz.cli.reading import read_source
    from gviz.cli.tensors import line_link
    from gviz.reference.error_help import help_in

    options = replace(options, diagnose=True, names=() if name is None else (name,))
    reading = read_source(source, options, product_on_stdout=True, rootless=True)
    causes = causes_in(reading.graph, None if name is None else [name])
    links = {str(place): line_link(place, reading.source) for cause in causes for place, _ in cause.lines}
    if as_json:
        streams.write_json([cause.as_dict() for cause in causes])
    elif name is not None:
        width = min(streams.terminal_look().get("width", WIDTH), WIDTH)
        streams.write_product(f"{causes[0].text(width, partial(inked, links=links))}\n")
    else:
        print_table(causes, links)
    names = {row.name for row in reading.graph.tensors}  # a variable of a function may be gone
    bad = {
        root.name: number
        for root in map(reading.graph.by_id.__getitem__, reading.graph.roots)
        if root.name in names and root.value and (number := root.value.not_finite)
    }
    if bad and not any(cause.verdict in ("nan", "inf") for cause in causes):
        streams.complain(f"gviz why SOURCE {next(iter(bad))} tells where its {next(iter(bad.values()))} began", "note")
    if (stop := reading.graph.stop) and help_in(stop.message) and not any(cause.is_wrong for cause in causes):
        streams.complain("the script stopped with an error: gviz explain TEXT says what it means", "note")
    return reading.status or int(any(cause.is_wrong for cause in causes))


def inked(text: str, ink: str, links: Mapping[str, str]) -> str:
    """Return a text in a style, and a place in the program with its link, where colours are welcome."""
    if not streams.in_colour(sys.stdout):
        return text
    link = links.get(text, "")
    shown = f"\x1b]8;;{link}\x1b\\{text}\x1b]8;;\x1b\\" if link else text
    return f"\x1b[{INKS[ink]}m{shown}\x1b[0m"


def print_table(causes: Sequence[Cause], links: Mapping[str, str]) -> None:
    """Print a row for each cause, its place with a link; SourceError if there is no leaf."""
    from gviz.cli.table import print_rows
    from gviz.errors import SourceError

    if not causes:
        raise SourceError(
            "there are no leaves: nothing that a gradient could come to",
            hint="what only a function holds is known once a backward() has come to it: call loss.backward() there",
        )
    rows = [
        (
            cause.name,
            cause.verdict,
            str(cause.lines[-1][0]) if cause.lines else "",
            cause.mend if cause.is_wrong else "",
        )
        for cause in causes
    ]
    print_rows(("name", "why", "where", "mend"), rows, whole=("name", "where"), links=links)
    wrong = sum(cause.is_wrong for cause in causes)
    if wrong:
        streams.complain(
            f"{wrong} of {len(causes)} gradients are not as they should be; gviz why SOURCE NAME tells more", "note"
        )
