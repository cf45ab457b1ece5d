"""``gviz static``: a source as a static graph, defined once to be run many times."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from gviz.cli import streams
from gviz.cli.options import SourceCommand, format_option, graphviz_option, rankdir_option, show_option, takes_source

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gviz.graph import Graph
    from gviz.sources import Reading, SourceOptions

__all__ = ["static"]


@click.command(cls=SourceCommand)
@takes_source
@show_option
@click.option("-o", "--output", metavar="FILE", help="Where to, as for render. [default: ROOT.pdf]")
@format_option
@click.option("--gradients", is_flag=True, help="Add the operations of the root's derivatives, in a scope of their own.")
@click.option("--collapse", metavar="SCOPE", multiple=True, help="Draw a name scope, as in gradients, as one box; repeat it.")
@click.option("--graph", metavar="NAME", default="", help="The script's graph of that name, in place of the default graph.")
@click.option("--plan", "as_plan", is_flag=True, help="Print the flat function that a run of the root becomes.")
@click.option("--table", "as_table", is_flag=True, help="Print the table of operations.")
@rankdir_option("BT", "The way the placeholders lie: BT has them at the bottom.")
@graphviz_option
def static(
    *, source: str, options: SourceOptions, show: tuple[str, ...], output: str | None, suffix: str | None, gradients: bool,
    collapse: tuple[str, ...], graph: str, as_plan: bool, as_table: bool, rankdir: str, graphviz: str,
) -> int:  # fmt: skip
    """Draw SOURCE as a static graph, as TensorFlow 1 builds it.

    Operations are boxes, tensors are arrows with their shapes. SOURCE is an expression (its names become placeholders), a
    script that imports tensorflow (it is executed; all of its default graph is drawn), a saved graph .json, or - for
    standard input.

    \b
    Examples:
      gviz static "e=a*b+log(d)*c" a=2 b=3 c=5 d=10 -o e.pdf
      gviz static "e=a*b+log(d)*c" --gradients --collapse gradients
      gviz static train_tf.py --format tensorboard -o logs/
      gviz static train_tf.py --plan --root loss
      gviz static "y=relu(x@W+b)" "x=ones(2,3)" "W=ones(3,4)" b=0.5 --plan
    """
    from gviz.cli.reading import read_source
    from gviz.cli.render import check_format, deliver, format_of
    from gviz.render import RenderOptions

    is_text = as_plan or as_table
    if is_text and ((as_plan and as_table) or collapse or suffix or output not in {None, "-"}):
        text, others = ("--plan", "--table, ") if as_plan else ("--table", "")
        raise click.UsageError(f"{text} prints text, and goes with none of {others}-o FILE, --format and --collapse.")
    suffix = suffix or format_of(None if is_text else output)
    check_format(suffix, None if is_text else output)
    how = RenderOptions(show=show, rankdir=rankdir.upper(), graphviz=graphviz, format=suffix)
    wanted = replace(options, static=True, graph=graph)
    reading = read_source(source, wanted, product_on_stdout=is_text or output == "-")
    reading = with_gradients(reading) if gradients else reading
    if as_plan:
        streams.write_product(plan_text(reading, options.roots))
    elif as_table:
        from gviz.cli.operations import show_operations

        show_operations(reading.graph)
    elif suffix == "tensorboard" and reading.static is not None:
        write_event_file(reading, output)
    else:
        deliver(collapsed(reading.graph, collapse), how, output)
    return 1 if reading.failed else 0


def write_event_file(reading: Reading, output: str | None) -> None:
    """What TensorFlow itself writes for TensorBoard: every operation with its parameters and all of its shapes."""
    from gviz.cli.render import default_stem
    from gviz.events import event_file
    from gviz.static.events import graph_def
    from gviz.writer import write_events

    found = event_file(graph_def(reading.static.graph))
    if output == "-":
        streams.write_product(found)
        return
    folder = output or f"{default_stem(reading.graph)}.tensorboard"
    write_events(folder, found)
    if output is None:
        streams.write_product(f"{folder}\n")


def with_gradients(reading: Reading) -> Reading:
    """The same, with the derivatives of the root with respect to its placeholders.

    Raises:
        SourceError: there is no root to differentiate, or an operation has no derivative.
    """
    from gviz.errors import SourceError
    from gviz.sources.static_source import drawn
    from gviz.static.gradients import gradients

    found = reading.static
    if found is None:
        raise SourceError("--gradients needs an expression, not a saved picture of a graph")
    if found.root is None:
        hint = "in a script, write tf.gradients(y, [x]); gviz draws the operations that it adds"
        raise SourceError("--gradients is for expressions: a script says itself what to differentiate", hint=hint)
    try:
        slopes = tuple(slope for slope in gradients(found.root, list(found.feeds)) if slope is not None)
    except (LookupError, TypeError, ValueError) as error:
        raise SourceError(str(error)) from None
    return replace(reading, graph=drawn(found), static=replace(found, slopes=slopes))


def collapsed(graph: Graph, scopes: tuple[str, ...]) -> Graph:
    """The graph with some scopes as one box each; SourceError where there is no such scope."""
    if not scopes:
        return graph
    from gviz.errors import SourceError
    from gviz.passes.collapse import collapse

    try:
        return collapse(graph, scopes)
    except ValueError as error:
        raise SourceError(f"--collapse: {error}") from None


def plan_text(reading: Reading, roots: Sequence[str] = ()) -> str:
    """What a run of the root (and of its derivatives, where they were added), of a script's names, or of all ends becomes.

    Raises:
        SourceError: there is nothing to run.
    """
    from gviz.errors import SourceError
    from gviz.static.errors import OpError
    from gviz.static.session import Session

    found = reading.static
    if found is None:
        raise SourceError("--plan needs the graph itself, not a saved picture of it")
    session = Session(graph=found.graph)
    fetches: Any = found.root if not found.slopes else [found.root, *found.slopes]
    for name in roots:
        if name not in found.names:
            raise SourceError(f"--root {name}: there is no such name", hint=f"there are {', '.join(found.names) or 'none'}")
    if fetches is None and roots:
        fetches = [found.names[name] for name in roots]
    if fetches is None:
        used = {t for op in found.graph.get_operations() for t in op.inputs}
        inside = [op for op in found.graph.get_operations() if op.context is None]
        # of a Merge the other output, which branch it was, is nobody's
        outputs = [t for op in inside for t in (op.outputs[:1] if op.type == "Merge" else op.outputs)]
        fetches = [t for t in outputs if t not in used and t.op.type != "VariableV2"]
    feeds = [op.outputs[0] for op in found.graph.get_operations() if op.type == "Placeholder" and op.context is None]
    try:
        plan = session.plan(fetches, feeds)
    except (ValueError, TypeError, RuntimeError, OpError) as error:
        raise SourceError(str(error)) from None
    count = len(found.graph)
    told = (
        f"# {count} operations in the graph: {len(plan.operations)} are computed, {len(plan.folded)} folded into constants, "
        f"{len(plan.shared)} shared\n"
    )
    return told + plan.source
