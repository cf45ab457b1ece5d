"""Reading a source for a command: its notes go to standard error, and numpy starts no threads that it will not use."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import replace
from importlib import import_module
from typing import TYPE_CHECKING, TypeAlias

from gviz.cli import streams
from gviz.errors import SourceError
from gviz.standins import stand_ins
from gviz.wiring import Wires

if TYPE_CHECKING:
    from gviz import sources
    from gviz.graphs import Graph
    from gviz.sources import Source, SourceOptions
    from gviz.sources.script.changes import Change
    from gviz.trace.listening import Observer

Reading: TypeAlias = "sources.Reading"
"""What a command has read; its help loads nothing of it."""

SPARED = (
    "numpy._typing",
    "numpy._core._add_newdocs",
    "numpy._core._add_newdocs_scalars",
    "ctypes",
    "pickle",
    "platform",
    "textwrap",
)
"""Modules that numpy loads to be described, or for what an expression does not do: a third of its loading time."""


def read_source(source: Source, options: SourceOptions, *, product_on_stdout: bool, rootless: bool = False) -> Reading:
    """Read a source and print its notes.

    Args:
        source: an expression, a script or a saved graph.
        options: how to read it.
        product_on_stdout: keep the prints of a script off standard output.
        rootless: accept a script in which no tensor has a graph.

    Raises:
        GvizError: the source is not right.
    """
    from gviz.sources import read

    with ready(source, product_on_stdout=product_on_stdout):
        reading = read(source, options, say=streams.say, rootless=rootless)
    Wires.stage("computing")
    return reading


def read_whole(source: Source, options: SourceOptions) -> Graph:
    """Return the graph of a source that is compared, with lines; SourceError if a script has not come to its end."""
    reading = read_source(source, replace(options, lines=True), product_on_stdout=True)
    if reading.status:
        raise SourceError(f"{source.file} did not come to its end: its graph is not compared")
    return reading.graph


@contextmanager
def ready(source: Source, *, product_on_stdout: bool) -> Iterator[None]:
    """Make ready for a source to be read; arguments as for :func:`read_source`."""
    with ExitStack() as stack:
        if source.kind != "script":
            Wires.stage("reading")  # a script prints what it likes meanwhile
            stack.enter_context(lean_numpy())
        else:
            stack.enter_context(as_a_script())
            if product_on_stdout:
                stack.enter_context(streams.product_alone())
        streams.hear_warnings()  # a script may draw pictures itself
        yield


def run_and_draw_nothing(
    source: Source, options: SourceOptions, tell: Callable[[Change], None] | None, observers: Sequence[Observer] = ()
) -> int:
    """Run a script, draw nothing, and return its exit status.

    Args:
        source: the script.
        options: how to run it.
        tell: called with each change of a tensor; None for nobody.
        observers: are told of the run, too.
    """
    from gviz.sources.reading import Talk
    from gviz.sources.script import run_only

    with ready(source, product_on_stdout=False):
        return run_only(source, options, Talk(streams.say), tell, observers)


@contextmanager
def as_a_script() -> Iterator[None]:
    """Let a script close its files after Ctrl-C, and have the whole of numpy."""
    for name in SPARED if "numpy" in sys.modules else ():
        import_module(name)
    with streams.interruptible():
        yield


@contextmanager
def lean_numpy() -> Iterator[None]:
    """Let numpy load without what an expression has no use for: threads of its BLAS, docstrings, type hints.

    All of that is set only while it loads, so that child processes do not see the variable and whoever imports the
    modules later gets them. A value of the variable that the user has set stays.
    """
    name = "OPENBLAS_NUM_THREADS"
    is_set = name in os.environ
    os.environ.setdefault(name, "1")
    try:
        with stand_ins(*SPARED, NDArray=list) if "numpy" not in sys.modules else nullcontext():
            yield
    finally:
        if not is_set:
            del os.environ[name]
