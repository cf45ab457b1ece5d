"""Sources: an expression, a script, a saved graph or standard input becomes a graph.

>>> from gviz.sources import read
>>> reading = read("y=(x+w)*(w+1)", x=2, w=1)
>>> [row.name for row in reading.graph.tensors]
['x', 'w', 'a', 'b', 'y']
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from dataclasses import replace
from importlib import import_module
from typing import Any, TextIO

from gviz.errors import GvizWarning, SourceError, warn_user
from gviz.graphs import Stop
from gviz.options import SourceOptions
from gviz.sources.notes import Note, unused
from gviz.sources.reading import Reading, Talk, not_finite_notes
from gviz.sources.source import Source, text_or_path

__all__ = ["Note", "Reading", "Source", "SourceOptions", "read"]


def read(
    source: str | os.PathLike[str] | Source,
    options: SourceOptions | None = None,
    *,
    stdin: TextIO | None = None,
    say: Callable[[Note], None] | None = None,
    rootless: bool = False,
    **values: Any,
) -> Reading:
    """Return the graph of a source: ``read("y=x*w", x=2, w=[1, 3])``.

    Args:
        source: an expression (``"y=(x+w)*(w+1)"``); a script (``net.py``: it is executed); a notebook (``net.ipynb``:
            its code cells are); a saved graph (``.json``); ``-`` for standard input; or what :meth:`Source.of` made of
            one of these. Standard input, and a file of another suffix, is a graph if it begins with ``{``, a script if
            it imports, defines, loops, branches, prints or names torch, else an expression.
        options: how to read it.
        stdin: what ``-`` reads; None for the process's standard input.
        say: called with each note as it comes; the reading has them all. Without it warnings, such as of a value that
            the source does not use, and a script's own error are each a :class:`gviz.GvizWarning`.
        rootless: whether a script is fine in which nothing has a graph: the reading then has its tensors, no nodes and
            no roots, and a warning that says why.
        values: numbers, lists, arrays or texts by name, added to those of the options, over which they win. A value
            with the name of an option, such as ``dtype`` or ``say``, is given in the options:
            ``SourceOptions(values={"say": 2})``.

    Returns:
        The graph and what there is to say.

    Raises:
        SourceError: an expression, a script or a saved graph that is not right.
        FileError: a file that cannot be read.
        MissingError: PyTorch is asked for and not installed.
    """
    own = {"options": options, "stdin": stdin, "say": say}
    for name, value in {**own, **values}.items():
        if name in SourceOptions.__dataclass_fields__ or (name in own and _is_value(value)):
            raise SourceError(
                f"{name} is the name of an option",
                hint="options, and a value of that name, go into gviz.SourceOptions: "
                f'{name}=..., or values={{"{name}": ...}}',
            )
    options = options or SourceOptions()
    options = replace(
        options,
        values={**options.values, **values},
        flow=options.flow or bool(options.order and not options.diagnose),  # which names the results of a derivative
    )
    origin = source if isinstance(source, Source) else Source.of(text_or_path(source), stdin, options.values)
    talk = Talk(say)
    talk.say(*origin.notes)
    heard: list[warnings.WarningMessage] | None = None
    if origin.kind == "expression" or origin.file is None:
        import_module("gviz.engine")  # whose filter for numpy's warnings the block would take back
        try:
            with warnings.catch_warnings(record=say is None) as heard:
                reading = _expression(origin.text, options, talk)
        except SourceError as error:
            if origin.file and error.place and error.place.line:  # that of a value has no line
                error.place = replace(error.place, file=origin.file)
            raise
    elif origin.kind == "graph":
        reading = _saved(origin.text, origin.file, options, talk, rootless=rootless)
    else:
        from gviz.sources.model import with_program
        from gviz.sources.script import run_script

        with with_program(origin, options) as program:
            reading = run_script(program, options, talk, rootless=rootless)
    for one in heard or ():  # the engine's, of a line in gviz
        warn_user(str(one.message), one.category)
    for note in reading.notes if say is None else ():
        if note.level in {"warning", "error"}:
            warn_user(note.text, GvizWarning)
    return replace(reading, source=origin, options=options)


def _is_value(thing: object) -> bool:
    """Return True for what is a value of a source rather than an option of :func:`read`."""
    return isinstance(thing, int | float | complex | str | list | tuple | dict) or hasattr(thing, "tolist")


def _expression(text: str, options: SourceOptions, talk: Talk) -> Reading:
    """Return the graph that an expression recorded."""
    if options.engine == "torch":
        talk.say(Note("--engine torch not used: gviz's engine computes expressions; PyTorch runs scripts", "warning"))
    talk.say(*unused(options, "expression"))
    if options.static:
        from gviz.sources.expression.static import build
        from gviz.sources.static import reading

        return reading(build(text, options), talk)
    from gviz.sources.expression import evaluate
    from gviz.sources.run import graph_of_run

    run = evaluate(text, options)
    talk.say(*run.notes, *not_finite_notes(run.names, run.expressions))
    graph = graph_of_run(run, options)
    if run.error:  # it has no root, and is read to be explained
        roots = options.roots or tuple(run.names)[-1:]
        graph = replace(graph, stop=Stop(run.error.what, code=f"{roots[0]}.backward()"))
    return Reading(graph, tuple(talk.notes), ran_backward=options.backward)


def _saved(text: str, file: str, options: SourceOptions, talk: Talk, *, rootless: bool) -> Reading:
    """Return a saved graph; nothing is computed, so that values and the like change nothing."""
    from gviz.sources import saved

    if not text.strip():
        raise SourceError(f"{file} is empty: it holds no graph")
    if options.order:
        raise SourceError(
            f"--order {options.order}: a saved graph cannot be differentiated",
            hint="name the expression or the script that it was saved from",
        )
    graph = saved.load_graph(text, file)
    if not graph.nodes and not rootless:
        raise SourceError(f"{file} has no nodes: there is nothing to draw", hint="gviz inspect lists the tensors in it")
    talk.say(*unused(options, "graph"))
    return Reading(graph, tuple(talk.notes))
