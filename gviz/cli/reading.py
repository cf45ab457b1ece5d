"""Reading a source for a command: its notes go to standard error, and numpy starts no threads that it will not use."""

from __future__ import annotations

import gc
import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

from gviz.cli import streams

if TYPE_CHECKING:
    from gviz.sources import Reading, Source, SourceOptions
    from gviz.sources.script.changes import Change


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

    if source.kind == "script":
        options = replace(options, on_interrupt="draw")
    with ready(source, product_on_stdout=product_on_stdout):
        return read(source, options, say=streams.say, rootless=rootless)


@contextmanager
def ready(source: Source, *, product_on_stdout: bool) -> Iterator[None]:
    """Make ready for a source to be read; arguments as for :func:`read_source`."""
    with ExitStack() as stack:
        if source.kind != "script":
            stack.enter_context(one_thread())
        else:
            stack.enter_context(as_a_script())
            if product_on_stdout:
                stack.enter_context(streams.product_alone())
        streams.hear_warnings()  # a script may draw pictures itself
        yield


def run_script(source: Source, options: SourceOptions, tell: Callable[[Change], None] | None) -> int:
    """Run a script, draw nothing, and return its exit status.

    Args:
        source: the script.
        options: how to run it.
        tell: called with each change of a tensor; None for nobody.
    """
    from gviz.sources.reading import Talk
    from gviz.sources.script import run_only

    options, talk = replace(source.placed(options), on_interrupt="draw"), Talk(streams.say, source.cells)
    with as_a_script(), source.renamed():
        streams.hear_warnings()
        return run_only(source.text, source.file or "", options, talk, tell)


@contextmanager
def as_a_script() -> Iterator[None]:
    """Let a script collect its garbage, and close its files after Ctrl-C."""
    gc.enable()
    with streams.interruptible():
        yield


@contextmanager
def one_thread() -> Iterator[None]:
    """Let numpy's BLAS start one thread, which saves 100 ms of processor time: an expression has no use for more.

    The variable is set only while numpy loads, so that child processes do not see it. A value that the user has set
    stays.
    """
    name = "OPENBLAS_NUM_THREADS"
    is_set = name in os.environ
    os.environ.setdefault(name, "1")
    try:
        yield
    finally:
        if not is_set:
            del os.environ[name]
