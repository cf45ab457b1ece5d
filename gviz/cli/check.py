"""``gviz check``: whether the graph of a program is still what it was, for a pull request."""

from __future__ import annotations

from dataclasses import replace

import click

from gviz.cli import streams
from gviz.cli.options import READING, OneOf, Source, SourceCommand, listed_option, takes_source
from gviz.cli.reading import read_whole
from gviz.errors import FileError, SourceError
from gviz.files import STDIN, decode, read_file, write
from gviz.options import SourceOptions


@click.command(
    cls=SourceCommand,
    page={"The check": "all-grads update format", "The source": "root until engine"},
)
@takes_source(*READING)
@listed_option(
    "--all-grads",
    is_flag=True,
    help="Ask for a gradient of each leaf that is neither None, nor zeros, nor nan or inf, too.",
    short="each leaf is to have a gradient that can be used",
)
@listed_option("--update", is_flag=True, help="Write the graph as it is now.", short="write the graph as it is now")
@listed_option(
    "--format",
    "look",
    type=OneOf(("text", "github")),
    default="text",
    show_default=True,
    help="Print text, or annotations that GitHub shows in a pull request.",
    example="github",
    short="print annotations of a pull request",
)
def check(*, source: Source, options: SourceOptions, all_grads: bool, update: bool, look: str) -> int:
    """Say whether the graph of a script is what it was.

    The graph of SOURCE, a .py script or .ipynb notebook (it is executed), is compared with the one in the file beside
    it: train.graph.json for train.py, which --update writes. It has no numbers, no names of intermediate results and no
    lines.

    \b
    Examples:
      gviz check train.py --update
      gviz check train.py --all-grads --format github

    The exit status is 0 if the graph is the same, 1 if it differs or a gradient is missing, 2 for an error.
    """
    from gviz.causes.why import why_all
    from gviz.compare.diff import Diff
    from gviz.compare.golden import annotation, golden_file, places_of, skeleton
    from gviz.sources.saved import load_graph

    if source.kind != "script" or source.file in (None, STDIN):
        raise SourceError("gviz check takes a script or a notebook", hint="gviz diff compares any two graphs")
    program, file = str(source.file), golden_file(str(source.file))
    graph = read_whole(source, replace(options, diagnose=all_grads and not update))
    if update:
        streams.write_product(f"{write(file, skeleton(graph).to_json())}\n")
        return 0
    try:
        golden = load_graph(decode(read_file(file), file), file)
    except FileError as error:
        raise FileError(error.what, hint=f"gviz check {program} --update writes it") from None
    differences = Diff(golden, graph)
    causes = [cause for cause in (why_all(graph) if all_grads else ()) if cause.is_wrong]
    if look == "github":
        rows = [
            annotation(program, place, [line for change in changes for line in differences.lines_of(change)])
            for place, changes in places_of(differences).items()
        ]
        rows += [annotation(program, cause.lines[-1][0] if cause.lines else None, [str(cause)]) for cause in causes]
    else:
        rows = [str(differences), *(f"\n{cause}" for cause in causes)]
    streams.write_product("".join(f"{row}\n" for row in rows))
    if differences:
        streams.complain(f"the graph is not that of {file}: if that is meant, gviz check {program} --update", "note")
    return int(bool(differences or causes))
