"""Sources: an expression, a script, a saved graph or standard input becomes a graph.

>>> from gviz.sources import SourceOptions, read
>>> reading = read("y=(x+w)*(w+1)", SourceOptions(values={"x": "2", "w": "1"}))
>>> [row.name for row in reading.graph.tensors]
['x', 'w', 'a', 'b', 'y']
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gviz.errors import SourceError
from gviz.sources.options import Note, SourceOptions
from gviz.sources.reading import Reading, Talk, find_aliases

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TextIO

__all__ = ["Note", "Reading", "SourceOptions", "read"]


def read(
    source: str,
    options: SourceOptions | None = None,
    *,
    stdin: TextIO | None = None,
    say: Callable[[Note], None] | None = None,
    script_stdout: TextIO | None = None,
    make_dot: Callable[..., Any] | None = None,
    rootless: bool = False,
) -> Reading:
    """Read a source: what it computes, or computed, as a graph.

    Args:
        source: an expression (``"y=(x+w)*(w+1)"``); a script (``net.py``: it is executed); a saved graph (``.json``); or
            ``-`` for standard input. Standard input, and a file of another suffix, is a graph if it begins with ``{``,
            a script if it imports, defines, loops, branches, prints or names torch, else an expression.
        options: how to read it.
        stdin: what ``-`` reads; None for the process's standard input.
        say: called with each note as it comes; the reading has them all.
        script_stdout: where a script's prints go; None for standard output.
        make_dot: what a script's ``from torchviz import make_dot`` gives; None for gviz's own.
        rootless: whether a script is fine in which nothing has a graph: the reading then has its tensors, no nodes and
            no roots, and a warning that says why.

    Returns:
        The graph and what there is to say.

    Raises:
        SourceError: an expression, a script or a saved graph that is not right.
        FileError: a file that cannot be read.
        MissingError: PyTorch is asked for and not installed.
    """
    from gviz.sources import files

    options = SourceOptions() if options is None else options
    talk = Talk(say)
    if source == "-":
        import sys

        text, file = files.read_stdin(sys.stdin if stdin is None else stdin), files.STDIN
    elif files.looks_like_a_file(source):
        text, file = files.decode(files.read_file(source), source), source
    else:
        return _expression(source, options, talk)
    from gviz.sources.kinds import kind_of

    kind = kind_of(text, file)
    if kind == "graph":
        return _saved(text, file, options, talk, rootless=rootless)
    if kind == "expression":
        return _expression(text, options, talk)
    from gviz.sources import script

    return script.run(text, file, options, talk, stdout=script_stdout, make_dot=make_dot, rootless=rootless)


def _expression(text: str, options: SourceOptions, talk: Talk) -> Reading:
    """Evaluate an expression and walk what it recorded."""
    from gviz.sources.expression import evaluate
    from gviz.sources.kinds import is_pasted
    from gviz.walk import walk

    if is_pasted(text):
        from gviz.sources.snippet import unwrap

        text, notes = unwrap(text)
        talk.say(*notes)
    if options.static:
        from gviz.sources import static_source

        return static_source.reading(static_source.build(text, options), talk)
    evaluated = evaluate(text, options)
    talk.say(*evaluated.notes)
    graph = walk(evaluated.roots, evaluated.names, saved=options.saved, expressions=evaluated.expressions)
    return Reading(graph, tuple(talk.notes), ran_backward=options.backward, aliases=find_aliases(evaluated.names))


def _saved(text: str, file: str, options: SourceOptions, talk: Talk, *, rootless: bool) -> Reading:
    """Load a graph; nothing is computed, so that values and the like change nothing."""
    from gviz.sources import saved

    if not text.strip():
        raise SourceError(f"{file} is empty: there is no graph in it")
    graph = saved.load(text, file)
    if not graph.nodes and not rootless:
        raise SourceError(f"{file} has no nodes: there is nothing to draw", hint="gviz inspect lists the tensors in it")
    given = {
        "values": options.values,
        "--root": options.roots,
        "--frozen": options.frozen,
        "--retain": options.retain,
        "--dtype": options.dtype,
        "--grad-output": options.grad_output,
        "--no-backward": not options.backward,
    }
    unused = [name for name, value in given.items() if value]
    if unused:
        talk.say(Note(f"{', '.join(unused)} not used: a saved graph is shown as it was saved", "warning"))
    return Reading(graph, tuple(talk.notes))
