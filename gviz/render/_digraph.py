"""The ``graphviz`` package's Digraph, drawn by gviz's own way to Graphviz: where there is no ``dot`` program, too.

It overrides the three methods by which the package calls ``dot``; all else (saving, file names, viewing, notebooks) is
the package's. Its name keeps it from being taken for a format.
"""

from __future__ import annotations

import os
import warnings
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any

import graphviz
from graphviz.backend.rendering import get_format, get_outfile

from gviz.layout import RenderWarning
from gviz.layout.graphviz import draw
from gviz.render.image import finished
from gviz.render.writer import write

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

__all__ = ["Picture"]


class Picture(graphviz.Digraph):
    """A :class:`graphviz.Digraph` that needs no ``dot`` program to be drawn.

    Raises:
        gviz.errors.RenderError: from ``render``, ``pipe`` and ``view``, where Graphviz fails or cannot be had at all.
    """

    def save(self, filename: Any = None, directory: Any = None, *args: Any, **kwargs: Any) -> str:
        """Save the DOT text, as the package does; a path of Windows' is remarked on elsewhere."""
        name = os.fspath(filename if filename is not None else self.filename)
        if os.sep == "/" and "\\" in name:
            better = name.replace("\\", "/")
            remark = f"{name} is one file name here: backslashes separate folders on Windows only; write {better}"
            warnings.warn(remark, RenderWarning, stacklevel=2)
        return str(super().save(filename, directory, *args, **kwargs))

    def _render(  # the package calls it by position, then by name
        self,
        engine: str,
        format: str | None = None,
        filepath: Any = None,
        renderer: str | None = None,
        formatter: str | None = None,
        neato_no_op: bool | int | None = None,
        quiet: bool = False,
        *,
        outfile: Any = None,
        raise_if_result_exists: bool = False,
        overwrite_filepath: bool = False,
    ) -> str:
        """Draw a saved DOT file into another file, whose path it returns."""
        if outfile is not None:
            format = get_format(outfile, format=format)
            if not overwrite_filepath and os.path.realpath(outfile) == os.path.realpath(filepath):
                raise ValueError(f"outfile {os.fspath(outfile)!r} must be different from the file of the DOT text")
        else:
            outfile = get_outfile(filepath, format=format, renderer=renderer, formatter=formatter)
        path = os.fspath(outfile)
        if raise_if_result_exists and os.path.exists(path):
            raise graphviz.FileExistsError(f"output file exists: {path!r}")
        with open(filepath, encoding=self.encoding, newline="") as file:
            text = file.read()
        write(path, _drawn(text, engine, format, renderer, formatter, neato_no_op, quiet))
        return path

    def _pipe_lines(
        self,
        engine: str,
        format: str,
        input_lines: Iterable[str],
        *,
        input_encoding: str,  # noqa: ARG002 the lines are text already
        renderer: str | None = None,
        formatter: str | None = None,
        neato_no_op: bool | int | None = None,
        quiet: bool = False,
    ) -> bytes:
        """Draw DOT lines; the bytes."""
        return _drawn("".join(input_lines), engine, format, renderer, formatter, neato_no_op, quiet)

    def _pipe_lines_string(
        self,
        engine: str,
        format: str,
        input_lines: Iterable[str],
        *,
        encoding: str,
        renderer: str | None = None,
        formatter: str | None = None,
        neato_no_op: bool | int | None = None,
        quiet: bool = False,
    ) -> str:
        """Draw DOT lines; text."""
        return _drawn("".join(input_lines), engine, format, renderer, formatter, neato_no_op, quiet).decode(encoding)


def _drawn(
    text: str,
    engine: str,
    format: str | None,
    renderer: str | None,
    formatter: str | None,
    neato_no_op: bool | int | None,
    quiet: bool,
) -> bytes:
    """The picture of a DOT text, by the words that the package uses."""
    output = ":".join(part for part in (format, renderer, formatter) if part)
    program = engine if not neato_no_op else "nop2" if int(neato_no_op) > 1 else "nop"
    with ExitStack() as stack:
        if quiet:
            stack.enter_context(_silence())
        return finished(draw(text, output, program=program))


@contextmanager
def _silence() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RenderWarning)
        yield
