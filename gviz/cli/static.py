"""``gviz static``: a source as a static graph, defined once to be run many times."""

from __future__ import annotations

from dataclasses import replace

import click

from gviz.cli import streams
from gviz.cli.options import Source, SourceCommand, field_option, listed_option, takes_source
from gviz.cli.output import Output, makes_picture, title_of
from gviz.cli.reading import read_source
from gviz.options import SourceOptions
from gviz.pictures.options import RenderOptions


@click.command(
    cls=SourceCommand,
    page={
        "What is drawn": "root gradients collapse graph show",
        "The picture": "output theme rankdir fit",
        "What is printed": "plan table",
    },
)
@takes_source("values", "roots", "dtype", "engine", "on_error")
@makes_picture()
@field_option(RenderOptions, "by")
@field_option(RenderOptions, "depth")
@field_option(RenderOptions, "collapse")
@field_option(RenderOptions, "expand")
@field_option(RenderOptions, "fold")
@field_option(RenderOptions, "unfold")
@field_option(RenderOptions, "fold_min")
@field_option(RenderOptions, "gradients", alone="below")
@field_option(SourceOptions, "graph", dest="graph_name", default="")
@listed_option(
    "--plan",
    "as_plan",
    is_flag=True,
    help="Print the numpy function that a run of the root becomes.",
    short="print the numpy function that a run becomes",
)
@listed_option(
    "--table", "as_table", is_flag=True, help="Print the table of operations.", short="print the table of operations"
)
def static(
    *,
    source: Source,
    options: SourceOptions,
    picture: Output,
    graph_name: str,
    as_plan: bool,
    as_table: bool,
) -> int:
    """Draw SOURCE as a static graph, as TensorFlow 1 builds it.

    Operations are boxes, tensors are arrows with their shapes. SOURCE is an expression (its names become placeholders),
    a script that imports tensorflow (it is executed; all of its default graph is drawn), a saved graph .json, or - for
    standard input.

    \b
    Examples:
      gviz static "e=a*b+log(d)*c" a=2 b=3 c=5 d=10 -o e.pdf
      gviz static "e=a*b+log(d)*c" --gradients beside --fit slide
      gviz static "e=a*b+log(d)*c" --gradients --collapse gradients
      gviz static train_tf.py --format tensorboard -o logs/
      gviz static train_tf.py --plan --root loss
      gviz static "y=relu(x@W+b)" "x=ones(2,3)" "W=ones(3,4)" b=0.5 --plan
    """
    is_text = as_plan or as_table
    if not is_text:
        picture.check(source)
    elif (
        (as_plan and as_table)
        or picture.options.collapse
        or picture.options.format
        or picture.files[0] not in {None, "-"}
    ):
        text, others = ("--plan", "--table, ") if as_plan else ("--table", "")
        raise click.UsageError(
            f"{text} prints text: it cannot be combined with {others}-o FILE, --format or --collapse."
        )
    options = replace(options, static=True, graph=graph_name)
    reading = read_source(source, options, product_on_stdout=is_text or picture.is_stdout)
    if reading.graph.kind != "static":
        streams.complain(f"{source.file} is not a static graph: it is drawn as autograd recorded it", "warning")
    if picture.options.gradients not in ("", "off"):
        from gviz.sources.static import with_gradients

        reading = with_gradients(reading)
    if as_plan:
        from gviz.sources.static import plan_text

        streams.write_product(plan_text(reading, options.roots))
    elif as_table:
        from gviz.cli.tensors import show_operations

        show_operations(reading.graph)
    elif picture.format == "tensorboard" and reading.static is not None:  # which gets all that TensorFlow writes
        from gviz.events import event_file
        from gviz.static.out import as_graph_def

        picture.write_events(event_file(as_graph_def(reading.static.graph)), reading.graph)
    else:
        if picture.options.fit != "none" and not picture.options.title:
            picture = picture.drawn_with(title=title_of(source, reading.graph))
        picture.write(reading.graph)
    return reading.status
