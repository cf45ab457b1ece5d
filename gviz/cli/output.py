"""The options of a picture: its file, its format and its looks. All commands that draw share them."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property, wraps
from typing import TYPE_CHECKING, Any

import click

from gviz.cli import streams
from gviz.cli.options import OneOf, not_one_of
from gviz.errors import FileError, RenderError
from gviz.render import RenderOptions, find, render, save, suffix_of
from gviz.render.options import ENGINES, RANKDIRS, SHOWABLE

if TYPE_CHECKING:
    from collections.abc import Callable

    from gviz.cli.options import Command
    from gviz.graph import Graph
    from gviz.sources import Source

__all__ = ["Output", "default_stem", "makes_picture"]

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
        show: the lines in the boxes, of :data:`gviz.render.options.SHOWABLE`.
        rankdir: the sides of the leaves and of the root.
        graphviz: the program that makes images.
    """

    file: str | None
    suffix: str | None
    show: tuple[str, ...]
    rankdir: str
    graphviz: str

    @property
    def is_stdout(self) -> bool:
        """Whether the picture goes to standard output."""
        return self.file == "-"

    @cached_property
    def format(self) -> str:
        """The format that is asked for; FileError for a folder."""
        if self.suffix or self.file is None:
            return (self.suffix or "pdf").lower()
        if self.is_stdout:
            return "txt" if streams.is_terminal(sys.stdout) else "dot"
        suffix = suffix_of(self.file)
        if suffix != "tensorboard" and os.path.isdir(self.file):
            example = os.path.join(self.file, "graph.pdf")
            hint = f"name a file in it: {example}; with a slash, {self.file}/, it is for TensorBoard"
            raise FileError(f"{self.file} is a folder", hint=hint)
        return suffix

    def check(self, source: Source | None) -> None:
        """Refuse a file that is the source, a format that is unknown or one that no terminal shows: before a script runs."""
        with suppress(OSError, ValueError):  # one is not there
            if source is not None and self.file and source.file and os.path.samefile(self.file, source.file):
                raise FileError(f"-o {self.file} is SOURCE: the picture would replace it", hint="give the picture another name")
        on_terminal = self.is_stdout and streams.is_terminal(sys.stdout)
        try:
            module = find(self.format, any_word=bool(self.suffix))
        except RenderError as error:
            raise click.BadParameter(str(error), param_hint="'--format'") if self.suffix else error from None
        if on_terminal and self.format not in module.TEXTS:
            ways = f"Name a file (-o FILE.{self.format}), or send it on (-o - --format {self.format} | ...)."
            raise click.UsageError(f"{self.format} is binary, which a terminal cannot show. {ways}")

    def write(self, graph: Graph) -> None:
        """Draw a graph, and write the picture; FileError if ROOT.pdf would replace a file that gviz did not make."""
        from gviz.render.marks import is_ours

        if self.is_stdout:
            streams.write_product(render(graph, self.format, for_terminal(self.options)))
            return
        file = self.file or f"{default_stem(graph)}.{self.format}"
        if self.file is None and os.path.lexists(file) and not os.path.isdir(file) and not is_ours(file):
            raise FileError(f"{file} is here already and was not made by gviz", hint=f"to replace it: -o {file}")
        save(graph, file, self.options)
        if self.file is None:
            if streams.is_terminal(sys.stdout):
                streams.write_product(render(graph, "txt", replace(for_terminal(self.options), max_lines=TREE_LINES)))
            streams.write_product(f"{file}\n")

    @property
    def options(self) -> RenderOptions:
        """How the picture is drawn."""
        return RenderOptions(self.show, self.rankdir, self.graphviz, self.format)

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
        click.option("--show", default="value,grad", show_default=True, metavar="WORD,...",
                     help=f"The lines in the boxes: {', '.join(SHOWABLE)}, or none (TorchViz's own picture), or all."),
        click.option("-o", "--output", "file", metavar="FILE",
                     help=f"The file to write. Its suffix is the format; - is standard output.{default}"),
        click.option("--format", "suffix", metavar="SUFFIX", help="The format, if it is not the suffix of the file."),
        click.option("--rankdir", type=OneOf(RANKDIRS), default=rankdir,
                     metavar="TB|BT|LR|RL", show_default=True,
                     help="The direction of the arrows: from top to bottom (TB), from left to right (LR) ..."),
        click.option("--graphviz", type=OneOf(ENGINES), default="auto", show_default=True,
                     help="The program that makes images: the Graphviz that came with gviz, or the system's dot."),
    )  # fmt: skip

    def decorate(command: Command) -> Command:
        @wraps(command)
        def with_picture(*, show: str, file: str | None, suffix: str | None, rankdir: str, graphviz: str, **others: Any) -> int:
            picture = Output(file, suffix, lines_of(show), rankdir, graphviz)
            if file is None and not by_name and suffix is not None:
                raise click.UsageError("--format is for a picture: name its file, -o FILE.")
            return command(picture=picture if file is not None or by_name else None, **others)

        decorated: Command = with_picture
        for option in reversed(options):
            decorated = option(decorated)
        return decorated

    return decorate


def lines_of(show: str) -> tuple[str, ...]:
    """Return the words of ``--show`` in the order of the lines in a box; ``none`` is empty, ``all`` is everything."""
    words = {word.strip().lower() for word in show.split(",") if word.strip()}
    for word in sorted(words - {*SHOWABLE, "none", "all"}):
        raise click.BadParameter(not_one_of(word, (*SHOWABLE, "none", "all")), param_hint="'--show'")
    if "none" in words and len(words) > 1:
        raise click.BadParameter("none cannot be combined with other words.", param_hint="'--show'")
    return SHOWABLE if "all" in words else tuple(word for word in SHOWABLE if word in words)


def for_terminal(options: RenderOptions) -> RenderOptions:
    """Return the options for a tree that fits the terminal, if standard output is one."""
    if not streams.is_terminal(sys.stdout):
        return options
    from shutil import get_terminal_size

    colour, ascii_only = streams.in_colour(sys.stdout), not streams.takes_unicode(sys.stdout)
    return replace(options, width=get_terminal_size().columns, ascii=ascii_only, color=colour)


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
