"""Where a picture goes, in which format, and how it looks: the options that the drawing commands share, decided once."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass, replace
from functools import wraps
from typing import TYPE_CHECKING, Any

import click

from gviz.cli import streams

if TYPE_CHECKING:
    from collections.abc import Callable

    from gviz.cli.options import Command
    from gviz.graph import Graph
    from gviz.render import RenderOptions

__all__ = ["SHOWN", "Output", "default_stem", "makes_picture"]

SHOWN = ("value", "grad", "shape", "dtype", "state", "saved", "attrs")
"""The words of ``--show``."""

TREE_LINES = 20
"""Lines of the tree that is printed beside a picture on a terminal."""

LONGEST_STEM = 100
"""Characters of a file name that is made from a root's name."""


@dataclass(frozen=True)
class Output:
    """A picture that was asked for.

    Args:
        file: its file, - for standard output, None for ROOT.pdf in the current folder.
        suffix: its format, None for the suffix of the file.
        show: the lines in the boxes, of :data:`SHOWN`.
        rankdir: the sides of the leaves and of the root.
        graphviz: the program that makes images.
    """

    file: str | None
    suffix: str | None
    show: tuple[str, ...]
    rankdir: str
    graphviz: str

    @property
    def format(self) -> str:
        """The format that is asked for."""
        return self.suffix or format_of(self.file)

    def check(self) -> None:
        """Refuse a format that is unknown, or that a terminal cannot show, before a script runs for an hour."""
        from gviz.render import find

        suffix, module = self.format, find(self.format, any_word=bool(self.suffix))
        if module.is_binary(suffix) and self.is_stdout and streams.is_terminal(sys.stdout):
            ways = f"Name a file (-o FILE.{suffix}), or send it on (-o - --format {suffix} | ...)."
            raise click.UsageError(f"{suffix} is binary, which a terminal cannot show. {ways}", click.get_current_context())

    @property
    def is_stdout(self) -> bool:
        """Whether the picture goes to standard output."""
        return self.file == "-"

    def write(self, graph: Graph) -> None:
        """Draw a graph, and write the picture; FileError if ROOT.pdf would replace a file that gviz did not make."""
        from gviz.errors import FileError
        from gviz.render import RenderOptions, render, save
        from gviz.render.marks import is_ours

        how = RenderOptions(self.show, self.rankdir.upper(), self.graphviz, self.format)
        if self.is_stdout:
            streams.write_product(render(graph, how.format, for_terminal(how)))
            return
        file = self.file or f"{default_stem(graph)}.{how.format}"
        if self.file is None and os.path.lexists(file) and not os.path.isdir(file) and not is_ours(file):
            raise FileError(f"{file} is here already and was not made by gviz", hint=f"to replace it: -o {file}")
        save(graph, file, how)
        if self.file is None:
            if streams.is_terminal(sys.stdout):
                streams.write_product(render(graph, "txt", replace(for_terminal(how), max_lines=TREE_LINES)))
            streams.write_product(f"{file}\n")

    def write_events(self, data: bytes, graph: Graph) -> None:
        """Write an event file for TensorBoard into the folder that was asked for."""
        from gviz.events import write_events

        if self.is_stdout:
            streams.write_product(data)
            return
        folder = write_events(self.file or f"{default_stem(graph)}.tensorboard", data)
        if self.file is None:
            streams.write_product(f"{folder}\n")


def makes_picture(rankdir: str, by_name: str = "ROOT.pdf") -> Callable[[Command], Command]:
    """Give a command the options of a picture: it is called with ``picture``, an :class:`Output`.

    Args:
        rankdir: the default of ``--rankdir``.
        by_name: the file without ``--output``; "" if there is no picture then, and ``picture`` is None.
    """
    default = f" [default: {by_name}]" if by_name else ""
    options = (
        click.option("--show", callback=_shown, default="value,grad", show_default=True, metavar="WHAT,...",
                     help=f"The lines in the boxes: {', '.join(SHOWN)}, or none (TorchViz's own picture), or all."),
        click.option("-o", "--output", "file", metavar="FILE",
                     help=f"The file; its suffix is the format, and - is standard output.{default}"),
        click.option("--format", "suffix", metavar="SUFFIX", help="The format, if it is not the suffix of the file."),
        click.option("--rankdir", type=click.Choice(["TB", "BT", "LR", "RL"], case_sensitive=False), default=rankdir,
                     metavar="TB|BT|LR|RL", show_default=True,
                     help="The direction of the arrows: from top to bottom (TB), from left to right (LR) ..."),
        click.option("--graphviz", type=click.Choice(["auto", "embedded", "system"]), default="auto", show_default=True,
                     help="The program that makes images: the Graphviz that came with gviz, or the system's dot."),
    )  # fmt: skip

    def decorate(command: Command) -> Command:
        @wraps(command)
        def with_picture(
            *, show: tuple[str, ...], file: str | None, suffix: str | None, rankdir: str, graphviz: str, **others: Any
        ) -> int:
            if file is not None or by_name:
                return command(picture=Output(file, suffix, show, rankdir, graphviz), **others)
            if suffix is not None:
                raise click.UsageError("--format is for a picture: name its file, -o FILE.", click.get_current_context())
            return command(picture=None, **others)

        decorated: Command = with_picture
        for option in reversed(options):
            decorated = option(decorated)
        return decorated

    return decorate


def _shown(context: click.Context, parameter: click.Parameter, given: str) -> tuple[str, ...]:
    """Return the words of ``--show`` in the order of :data:`SHOWN`; ``none`` is empty, ``all`` is everything."""
    chosen = {word.strip().lower() for word in given.split(",") if word.strip()}
    for word in sorted(chosen - {*SHOWN, "none", "all"}):
        raise click.BadParameter(f"{word!r} is not one of {', '.join(SHOWN)}, none, all.", context, parameter)
    if "none" in chosen and len(chosen) > 1:
        raise click.BadParameter("none cannot be combined with other words.", context, parameter)
    return SHOWN if "all" in chosen else tuple(word for word in SHOWN if word in chosen)


def format_of(file: str | None) -> str:
    """Return the format that a file's name asks for; FileError for a folder."""
    if file is None:
        return "pdf"
    if file == "-":
        return "txt" if streams.is_terminal(sys.stdout) else "dot"
    from gviz.errors import FileError
    from gviz.render import suffix_of

    suffix = suffix_of(file)
    if suffix != "tensorboard" and os.path.isdir(file):
        hint = f"name a file in it: {os.path.join(file, 'graph.pdf')}; with a slash, {file}/, it is for TensorBoard"
        raise FileError(f"{file} is a folder", hint=hint)
    return suffix


def for_terminal(how: RenderOptions) -> RenderOptions:
    """Return the options for a tree that fits the terminal, if standard output is one."""
    if not streams.is_terminal(sys.stdout):
        return how
    from shutil import get_terminal_size

    colour, ascii_only = streams.in_colour(sys.stdout), not streams.takes_unicode(sys.stdout)
    return replace(how, width=get_terminal_size().columns, ascii=ascii_only, color=colour)


def default_stem(graph: Graph) -> str:
    """Return a file name from the names of a graph's roots: ``y``, ``d_k`` for ``d['k']``, ``graph`` if nothing is left.

    A static graph, which ends in many operations, has the name of its title.

    >>> from gviz.graph import Graph, Node
    >>> default_stem(Graph(nodes=(Node("n0", "output", name="d['k']"),), roots=("n0",)))
    'd_k'
    """
    import re

    names = [graph.title] if graph.kind == "static" else [node.name or "" for node in graph.nodes if node.id in graph.roots]
    stem = re.sub(r"[^A-Za-z0-9._-]+", "_", "-".join(names))[:LONGEST_STEM].strip("._-")
    if stem.upper() in {"AUX", "CON", "NUL", "PRN"}:  # devices, not files, on Windows
        stem += "_"
    return stem or "graph"
