"""``gviz steps``: a source becomes a series of slides, one for each step, forward and backward."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from gviz.cli import streams
from gviz.cli.options import (
    OneOf,
    SourceCommand,
    field_option,
    listed_option,
    refuse_source,
    takes_source,
)
from gviz.cli.output import default_stem, look_of, title_of, unnamed_file
from gviz.cli.reading import read_source
from gviz.cli.values import refuse_first
from gviz.errors import SourceError
from gviz.files import for_file
from gviz.graphs import Graph
from gviz.layout import RenderWarning
from gviz.pictures.options import RenderOptions
from gviz.wiring import Wires

if TYPE_CHECKING:
    from gviz.pictures.series import Slide
    from gviz.sources import Source, SourceOptions

MOST_PAGES = 100
"""Pages that are drawn without a question."""

PER_LAYOUT, PER_PAGE, PER_BOX = 0.0005, 0.01, 0.0008
"""Seconds that a graph takes, about: its layout for each pair of boxes; a page; each box on it."""

EVERY = {"module": "call of a module", "line": "line forward"}
"""What else a page may be for than an operation."""

FORWARD = "no gradient is on its way in this graph: backward did not run, or its steps were not saved"
SAVED = "gviz render SOURCE --view dataflow -o graph.json saves them with the graph"


class Series(NamedTuple):
    """The slides that were asked for.

    Args:
        files: where they go; "" for ROOT-steps.pdf.
        options: how they are drawn; their format is "" for the suffix of the file.
        only: ``forward`` or ``backward``, or "" for both.
        first: number of the first step.
        last: number of the last step; None for the last that there is.
        seconds: how long each is shown, where it plays.
        is_sure: whether they are wanted however many there are.
    """

    files: tuple[str, ...]
    options: RenderOptions
    only: str
    first: int
    last: int | None
    seconds: float
    is_sure: bool

    def check(self, source: Source) -> None:
        """Refuse a format that is unknown, before a script runs."""
        from gviz.render import series

        for file in self.files:
            refuse_source(file, source, "steps")
            if file == "-":
                suffix = series.series_format(self.options.format or "pdf")
                if suffix not in series.WHOLE or (suffix != "html" and streams.is_terminal(sys.stdout)):
                    raise click.UsageError(
                        f"-o - takes one file that is no image: -o - --format {', '.join(series.WHOLE)}."
                    )
            elif self.options.format or (file and not series.is_folder(file)):
                series.series_format(self.options.format or os.path.splitext(file)[1][1:])

    def numbers_of(self, graph: Graph) -> list[int]:
        """Return the numbers of the steps that are wanted, and say so if there are none backward."""
        from gviz.passes.dataflow import dataflow
        from gviz.pictures import LARGE
        from gviz.pictures.steps import chosen, has_backward, steps_of

        if graph.kind == "static":
            raise SourceError(
                "gviz steps goes through a recorded graph; this one is static", hint="gviz static draws it"
            )
        values_graph = dataflow(graph)
        if len(values_graph.nodes) > LARGE:
            raise SourceError(
                f"this graph has {len(values_graph.nodes)} boxes; steps of more than {LARGE} cannot be followed",
                hint="take a part of it with --root NAME; gviz render --path NAME draws the paths to one tensor",
            )
        if not has_backward(values_graph):
            if self.only == "backward":
                raise SourceError(FORWARD, hint=SAVED)
            streams.complain(f"{FORWARD}; these are the steps forward", "warning")
        if self.options.every == "line" and not any(node.place for node in values_graph.nodes):
            hint = (
                "leave out --every line; gviz render SOURCE --view dataflow --show line -o graph.json saves lines, too"
            )
            raise SourceError("the lines of this graph are not known", hint=hint)
        if self.options.every == "module" and not any(node.module and node.module.call for node in values_graph.nodes):
            raise SourceError("no module recorded an operation of this graph", hint="leave out --every module")
        steps = steps_of(values_graph, self.options)
        numbers = chosen(steps, self.only, self.first, self.last)
        if not numbers:
            what = f"--from {self.first}" if self.first > len(steps) else "none of them is asked for"
            raise click.UsageError(f"{what}: there are {len(steps)} steps; see --only, --from and --to.")
        self.ask(values_graph, numbers)
        return numbers

    def ask(self, graph: Graph, numbers: Sequence[int]) -> None:
        """Refuse very many pages unless they are asked for; say how many there are, and how long they take.

        One in HTML is one page, however many steps it has.
        """
        from gviz.pictures.steps import steps_of

        boxes, pages = len(graph.nodes), len(numbers)
        files = [
            file for file in self.files if (self.options.format or os.path.splitext(file)[1][1:]).lower() != "html"
        ]
        about = duration(PER_LAYOUT * boxes**2 + len(files) * pages * (PER_PAGE + PER_BOX * boxes))
        if pages <= MOST_PAGES or not files:
            return
        if self.is_sure:
            streams.complain(f"{pages} pages take about {about}", "note")
            return
        is_known = {
            "module": any(node.module and node.module.call for node in graph.nodes),
            "line": any(node.place for node in graph.nodes),
        }
        larger = [every for every in is_known if is_known[every] and every != self.options.every]
        counts = [len(steps_of(graph, replace(self.options, every=every))) for every in larger]
        ways = [
            "gviz render SOURCE --path NAME shows the way of one gradient on one page",
            *(
                f"--every {every} has a page for each {EVERY[every]}: {count} pages in all"
                for every, count in zip(larger, counts, strict=True)
            ),
            "--from 1 --to 40 or --only backward draws a part; --yes draws all of them",
        ]
        raise SourceError(f"these are {pages} pages, which take about {about}", hint="\n".join(ways))

    def write(self, graph: Graph) -> None:
        """Draw the steps, and write them; FileError if ROOT-steps.pdf would replace a file that gviz did not make."""
        from gviz.render import series

        numbers = self.numbers_of(graph)
        with warnings.catch_warnings():
            for name in self.files:
                if name == "-":
                    suffix = series.series_format(self.options.format or "pdf")
                    streams.write_product(
                        series.render(graph, suffix, self.options, numbers, self.seconds, watch=watched)
                    )
                    continue
                file = name or unnamed_file(f"{default_stem(graph)}-steps", self.options.format or "pdf")
                with for_file(file):
                    files = series.save(graph, file, self.options, numbers, self.seconds, watch=watched)
                if (not name or files != [file]) and "-" not in self.files:
                    streams.write_product("".join(f"{one}\n" for one in files))
                warnings.simplefilter("ignore", RenderWarning)  # it would be said of each file


def duration(seconds: float) -> str:
    """Return a time as people say it.

    >>> duration(3.4), duration(38), duration(170)
    ('3 seconds', '40 seconds', '3 minutes')
    """
    rounded = round(seconds, -1) if seconds > 10 else max(seconds, 1)
    unit, count = ("minute", round(seconds / 60)) if rounded >= 60 else ("second", round(rounded))
    return f"{count} {unit}{'s' * (count > 1)}"


def watched(slides: Sequence[Slide]) -> Iterator[Slide]:
    """Yield the slides as they are drawn, with a bar on a terminal that tells how far it is."""
    if not streams.is_terminal(sys.stderr):
        yield from slides
        return
    Wires.stage("")  # this bar takes its place
    with click.progressbar(slides, label="drawing", file=sys.stderr, show_pos=True) as bar:
        yield from bar


@click.command(
    cls=SourceCommand,
    page={
        "The steps": "every only from to yes",
        "The file": "output theme title",
        "The source": "root frozen retain values until engine",
    },
)
@takes_source()
@listed_option(
    "-o",
    "--output",
    "files",
    metavar="FILE",
    multiple=True,
    help="The file to write; repeatable. pdf, html, pptx, tex, gif and webp hold all steps; png, svg ... are y-01.png, "
    "y-02.png ...; a folder, frames/, gets 01.png ...  [default: ROOT-steps.pdf]",
    example="FILE",
    short="the file; its suffix is the format",
)
@field_option(RenderOptions, "format")
@field_option(RenderOptions, "every")
@listed_option("--only", type=OneOf(("forward", "backward")), help="Leave out the other half.", example="WORD")
@listed_option(
    "--from",
    "first",
    type=click.IntRange(1),
    default=1,
    metavar="N",
    help="The first step, by its number.",
    example="N",
    short="the first step, by its number",
)
@listed_option(
    "--to",
    "last",
    type=click.IntRange(1),
    metavar="N",
    help="The last step, by its number.",
    example="N",
    short="the last step, by its number",
)
@click.option(
    "--seconds",
    type=click.FloatRange(0.1, 60),
    default=2.0,
    show_default=True,
    metavar="S",
    help="How long each step is shown, where it plays (html, gif, webp).",
)
@listed_option(
    "--yes",
    "is_sure",
    is_flag=True,
    help=f"Draw more than {MOST_PAGES} pages.",
    short="draw more than 100 pages",
)
@field_option(
    RenderOptions,
    "theme",
    default="light",
    show_default=True,
    help="The colours: TorchViz's, pale ones, light on dark, or shades of grey for a printer.",
)
@field_option(RenderOptions, "title", help="The text above. [default: the formula, or the root's name]")
@field_option(RenderOptions, "precision")
@field_option(RenderOptions, "scale", help="How many times as large an image is in pixels: 1 is 1920 by 1080.")
@field_option(RenderOptions, "graphviz")
def steps(
    *,
    source: Source,
    options: SourceOptions,
    files: tuple[str, ...],
    only: str | None,
    first: int,
    last: int | None,
    seconds: float,
    is_sure: bool,
    **look: Any,
) -> int:
    """Draw SOURCE step by step, forward and backward.

    SOURCE is an expression, a .py script or .ipynb notebook (it is executed), a saved graph .json, or - for
    standard input.

    \b
    Examples:
      gviz steps "y=(x+w)*(w+1)" x=2 w=1 -o y.pdf          # a page for each step
      gviz steps "y=(x+w)*(w+1)" x=2 w=1 -o y.html         # plays in a browser
      gviz steps train.py --root loss --only backward -o loss.gif
      gviz steps "y=tanh(w*x+b)" -o frames/ --format svg   # frames/01.svg ...

    Missing values default to 1.0. A step has the same number, and each box the same place, whatever is left out.
    """
    refuse_first(
        {
            f"--from {first} --to {last}: the last step comes before the first.": last is not None and last < first,
            "-o - is given twice.": files.count("-") > 1,
        }
    )
    drawn_as = RenderOptions(view="dataflow", **look_of(look, has_file=bool(files)))
    series = Series(files or ("",), drawn_as, only or "", first, last, seconds, is_sure)
    series.check(source)
    is_by_line = series.options.every == "line"
    lined = source
    if is_by_line and source.kind == "expression":
        lined = replace(
            source, text="\n".join(part.strip() for part in source.text.split(";"))
        )  # a line for each statement
    reading = read_source(
        lined,
        replace(options, flow=True, jacobians=source.kind == "expression", lines=is_by_line or source.kind == "script"),
        product_on_stdout="-" in series.files,
    )
    if not series.options.title:
        text = source.text if source.kind == "expression" and "∂" not in reading.graph.title else ""
        title = title_of(source, reading.graph)
        series = series._replace(options=replace(series.options, title=title, of=text))
    series.write(reading.graph)
    return reading.status
