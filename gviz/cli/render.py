"""``gviz render``: a source becomes a picture."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import replace

import click

from gviz.cli import streams
from gviz.cli.options import Source, SourceCommand, takes_source
from gviz.cli.output import Output, makes_picture, script_name, title_of
from gviz.cli.reading import read_source
from gviz.garbage import without_collecting
from gviz.options import SourceOptions
from gviz.pictures.options import SHEETS
from gviz.pictures.parts import DATA, drawn_parts, is_by_module, may_group

MANY = 100
"""Boxes above which a picture is larger than a screen, and people look for a smaller one."""


@click.command(
    cls=SourceCommand,
    page={
        "What is drawn": "view path order show by around",
        "The picture": "output theme rankdir fit",
        "The source": "root values until engine",
    },
)
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
    return draw_source(source, options, picture)


def draw_source(source: Source, options: SourceOptions, picture: Output) -> int:
    """Draw the graph of a source; return the exit status."""
    picture.check(source)
    if picture.options.view == "torchviz" and not picture.options.by and click.get_current_context().params["view"]:
        picture = picture.drawn_with(by="operation")  # who names TorchViz's boxes wants all of them
    if source.is_model and may_group(picture.options, picture.format):
        picture = picture.drawn_with(by="module")
    look = replace(picture.options, format=picture.format)
    options = replace(
        options,
        names=look.path,
        saved="saved" in look.show,
        flow=look.needs_flow or look.ghosts,  # which tells what is saved, as the classes of a loss
        jacobians=bool(look.path) or (look.needs_flow and source.kind == "expression"),
        lines=look.needs_lines
        or source.kind == "script",  # for values without a name, and where a gradient was cleared
        costs=look.needs_costs,
        kept=bool(look.groups)
        or (source.kind == "script" and may_group(look, picture.format)),  # it may be of modules by itself
        functions=look.needs_functions,
        details=picture.has_details,
        folds=picture.may_fold,
        shares=picture.may_fold and look.asks_folds,
    )
    with nullcontext() if source.kind == "script" else without_collecting():
        reading = read_source(source, options, product_on_stdout=picture.is_stdout)
    if (look.fit != "none" or look.format in ("html", "pptx")) and not (look.title or look.path or look.view in SHEETS):
        picture = picture.drawn_with(title=title_of(source, reading.graph))
    if look.view in SHEETS:
        picture = picture.drawn_with(of=source.text if source.kind == "expression" else script_name(source))
    if look.path:
        picture = picture.drawn_with(path=tuple(reading.graph.aliases.get(name, name) for name in look.path))
    with without_collecting():
        picture.write(reading.graph)
    boxes = len(reading.graph.nodes)
    is_whole = look.by in ("", "operation") and not look.groups and not is_by_module(reading.graph, look)
    if boxes > MANY and is_whole and look.fit == "none" and picture.format not in DATA:
        if picture.may_fold:
            boxes = len(drawn_parts(reading.graph, look).nodes)
        graph = reading.graph
        has_statements = any(node.place is not None for node in graph.nodes)
        way = "--by module, or " if graph.has_modules else "--by statement, or " if has_statements else ""
        way += "--max-nodes N" if source.kind == "graph" else "--root NAME"
        ways = f"{way}{',' * way.startswith('--by')} draws fewer; " * (graph.kind != "static")
        less = f"{ways}-o graph.txt is a tree of text"
        if boxes > MANY:
            streams.complain(f"the graph has {boxes} boxes: {less}", "note")
    return reading.status
