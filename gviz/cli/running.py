"""``gviz run``: a script runs, and nothing is drawn."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING

import click

from gviz.cli import streams
from gviz.cli.options import Source, SourceCommand, listed_option, takes_source
from gviz.cli.reading import run_and_draw_nothing
from gviz.graphs import TensorRow
from gviz.options import SourceOptions
from gviz.text import cut

if TYPE_CHECKING:
    from gviz.sources.script.changes import Change
    from gviz.training.script import ScriptSteps

EACH = 3
"""Runs of one line that are told of each tensor; of later ones only how many there were."""

LONGEST = 48
"""Characters of a value."""

EVERY = 10
"""Steps from one that is measured to the next."""


@click.command(
    cls=SourceCommand,
    page={
        "The run": "trace until stop-at engine",
        "The training": "norms watch every output",
    },
)
@takes_source("engine", "stop_at", "until")
@listed_option(
    "--norms",
    is_flag=True,
    help="Measure steps of the training: print on standard error the norms of gradients and parameters, and what is not "
    "right.",
    short="print norms of gradients by layer and step",
)
@listed_option(
    "--watch",
    "patterns",
    multiple=True,
    metavar="PATTERN",
    help="Measure the parameters, or modules, of such names, as in 'blocks.*'; repeatable. It sets --norms.",
    example="PATTERN",
    short="of these layers alone, such as 'blocks.*'",
)
@listed_option(
    "--every",
    type=click.IntRange(min=1),
    metavar="N",
    help="Measure every Nth step; 10 by default. It sets --norms.",
    example="N",
    short="of every Nth step; 10 by default",
)
@listed_option(
    "-o",
    "--output",
    metavar="FILE",
    help="Write the norms as a heat map, layers by steps, or as JSON (.json). It sets --norms.",
    example="FILE",
    short="their heat map: .svg, .pdf, .png; or .json",
)
@listed_option(
    "--trace",
    "traces",
    is_flag=True,
    help="Print on standard error what each line gives a value or a gradient to.",
    short="print what each line computes",
)
def run(
    *,
    source: Source,
    options: SourceOptions,
    norms: bool,
    patterns: tuple[str, ...],
    every: int | None,
    output: str | None,
    traces: bool,
) -> int:
    """Run a script and draw nothing.

    SOURCE is a .py script or .ipynb notebook, or - for a script on standard input. What it prints goes to standard
    output, and gviz exits with its exit status.

    \b
    Examples:
      gviz run train.py -- --epochs 1
      gviz run net.py --trace
      gviz run train.py --trace --stop-at backward
      gviz run train.py --norms --watch 'blocks.*' -o norms.svg
    """
    if source.kind != "script":
        raise click.UsageError("gviz run takes a script; an expression is computed by gviz inspect.")
    trace = _Trace()
    tell = trace.tell if traces else None
    if norms or patterns or every or output:
        from gviz.training.script import ScriptSteps

        steps = ScriptSteps(patterns or ("*",), every or EVERY)
        status = _run_and_measure(source, options, tell, steps, output)
    else:
        status = run_and_draw_nothing(source, options, tell)
    trace.end()
    return status


def _run_and_measure(
    source: Source,
    options: SourceOptions,
    tell: Callable[[Change], None] | None,
    steps: ScriptSteps,
    output: str | None,
) -> int:
    """Run a script, print the norms of its training and write them to a file; return its exit status."""
    from gviz.training.heatmap import format_of

    is_data = output is not None and output.endswith(".json")
    if output and not is_data:
        format_of(output)  # an unknown one is refused before the training
    try:
        status = run_and_draw_nothing(source, options, tell, (steps,))
    except KeyboardInterrupt:  # a training that was ended so has its norms
        status = 130
    steps.end()
    streams.talk(f"{steps.log}\n")
    if output:
        streams.talk(f"{steps.log.save(output) if is_data else steps.log.picture(output)}\n")
    return status


class _Trace:
    """Prints the changes of a script's tensors as they come; of each tensor in each line the first few."""

    def __init__(self) -> None:
        self.times: dict[tuple[str, str, bool], int] = {}

    def tell(self, change: Change) -> None:
        """Print a change."""
        row, is_value, place = change.row, change.is_value, change.place.number
        key = place, row.name, is_value
        self.times[key] = self.times.get(key, 0) + 1
        if self.times[key] <= EACH:
            streams.complain(_text_of(place, row, is_value=is_value), "note")

    def end(self) -> None:
        """Say what was left out."""
        places: dict[str, int] = {}
        for (place, _, _), times in self.times.items():
            if times > EACH:
                places[place] = max(places.get(place, 0), times)
        for place, times in sorted(
            places.items(), key=lambda one: [int(number) for number in re.findall(r"\d+", one[0])]
        ):
            streams.complain(f"{place:>4}  ... {times:,} times in all, the first {EACH} are shown", "note")


def _text_of(place: str, row: TensorRow, *, is_value: bool) -> str:
    """Return a change as a line of text.

    >>> from gviz.graphs import TensorRow
    >>> from gviz.graphs.numbers import Numbers
    >>> _text_of("4", TensorRow("y", Numbers.of(6.0), True, False, False, "MulBackward0"), is_value=True)
    '   4  y = 6  MulBackward0'
    """
    from gviz.pictures.labels import shape_text, value_text

    if not is_value:
        return f"{place:>4}  {row.name}.grad = {cut(value_text(row.grad.value), LONGEST)}"
    value = f" = {cut(value_text(row.value), LONGEST)}" if row.value is not None else ""
    shape = f"  {shape_text(row.shape)}" if row.shape else ""
    kind = row.grad_fn or ("leaf, requires_grad" if row.requires_grad else "no gradient")
    return f"{place:>4}  {row.name}{value}{shape}  {kind}"
