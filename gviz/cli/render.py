"""``gviz render``: a source becomes a picture."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import click

from gviz.cli import streams
from gviz.cli.options import SourceCommand, takes_source
from gviz.cli.output import Output, makes_picture, title_of
from gviz.cli.reading import read_source
from gviz.wiring import Wires

if TYPE_CHECKING:
    from gviz.sources import Source, SourceOptions

MANY = 100
"""Boxes above which a picture is larger than a screen, and people look for a smaller one."""


@click.command(cls=SourceCommand)
@takes_source()
@makes_picture(has_views=True)
def render(*, source: Source, options: SourceOptions, picture: Output) -> int:
    """Draw the graph of SOURCE.

    SOURCE is an expression, a .py script or .ipynb notebook (it is executed), a saved graph .json, or - for
    standard input.

    \b
    Examples:
      gviz render "y=(x+w)*(w+1)" x=2 w=1                  # y.pdf
      gviz render "h=w*x+b" --frozen x --rankdir LR -o h.svg
      gviz render "y=(x+w)*(w+1)" x=2 w=1 --path w -o w.png
      gviz render train.py --root loss -o loss.png -- --epochs 1
      gviz render -o - -- "-x + w" | dot -Tpng > neg.png

    Missing values default to 1.0. Without -o the picture is ROOT.pdf in the current folder.
    """
    picture.check(source)
    look = picture.options
    options = replace(
        options,
        saved="saved" in look.show,
        flow=look.needs_flow,
        jacobians=bool(look.path) or (look.needs_flow and source.kind == "expression"),
        lines=look.needs_lines
        or source.kind == "script",  # for values without a name, and where a gradient was cleared
        costs=look.needs_costs,
        details=picture.has_details,
    )
    with streams.stages():
        if source.kind != "script":  # which prints what it likes
            Wires.stage("reading")
        reading = read_source(source, options, product_on_stdout=picture.is_stdout)
    if look.fit != "none" and not (look.title or look.path):
        picture = picture.drawn_with(title=title_of(source, reading.graph))
    if look.path:
        picture = picture.drawn_with(path=tuple(reading.aliases.get(name, name) for name in look.path))
    with streams.stages():
        picture.write(reading.graph)
    boxes = len(reading.graph.nodes)
    if boxes > MANY and look.by == "operation":
        from gviz.render import image

        less = (
            f"the graph has {boxes} boxes: --by statement, or --root NAME, draws fewer; -o graph.txt is a tree of text"
        )
        if picture.format in (*image.SUFFIXES, *image.ALSO):
            streams.complain(less, "note")
    return reading.status
