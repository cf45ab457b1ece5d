"""The ``graphviz`` package's Digraph, drawn by gviz's own way to Graphviz: where there is no ``dot`` program, too.

It overrides the three methods by which the package calls ``dot``; all else (saving, file names, viewing, notebooks) is
the package's. Its name keeps it from being taken for a format.
"""

from __future__ import annotations

import os
import warnings
from typing import TYPE_CHECKING, Any

import graphviz
from graphviz.backend.rendering import get_format, get_outfile

from gviz.layout import RenderWarning
from gviz.layout.graphviz import draw
from gviz.render.image import finished
from gviz.render.writer import write

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["Digraph"]


class Digraph(graphviz.Digraph):  # type: ignore[misc]  # the package has no type hints
    """A :class:`graphviz.Digraph` that needs no ``dot`` program to be drawn.

    Raises:
        gviz.errors.RenderError: from ``render``, ``pipe`` and ``view``, where Graphviz fails or cannot be had at all.
    """

    def save(self, filename: Any = None, directory: Any = None, **how: Any) -> str:
        """Save the DOT text, as the package does; a path as Windows has them is remarked on elsewhere."""
        name = os.fspath(filename if filename is not None else self.filename)
        if os.sep == "/" and "\\" in name:
            better = name.replace("\\", "/")
            remark = f"{name} is one file name here: backslashes separate folders on Windows only; write {better}"
            warnings.warn(remark, RenderWarning, stacklevel=2)
        return str(super().save(filename, directory=directory, **how))

    def _render(
        self,
        engine: str,
        output: str | None = None,
        filepath: Any = None,
        *,
        outfile: Any = None,
        raise_if_result_exists: bool = False,
        overwrite_filepath: bool = False,
        **how: Any,
    ) -> str:
        """Draw a saved DOT file into another file, whose path it returns."""
        if outfile is None:
            outfile = get_outfile(filepath, format=output, renderer=how.get("renderer"), formatter=how.get("formatter"))
        else:
            output = get_format(outfile, format=output)
            if not overwrite_filepath and os.path.realpath(outfile) == os.path.realpath(filepath):
                raise ValueError(f"outfile {os.fspath(outfile)!r} must be different from the file of the DOT text")
        path: str = os.fspath(outfile)
        if raise_if_result_exists and os.path.exists(path):
            raise graphviz.FileExistsError(f"output file exists: {path!r}")
        with open(filepath, encoding=self.encoding, newline="") as file:
            text = file.read()
        picture = _drawn(text, engine, output, **how)
        os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
        return write(path, picture)

    def _pipe_lines(self, engine: str, output: str, lines: Iterable[str], *, input_encoding: str, **how: Any) -> bytes:  # noqa: ARG002 the lines are text
        """Draw DOT lines; the bytes."""
        return _drawn("".join(lines), engine, output, **how)

    def _pipe_lines_string(self, engine: str, output: str, lines: Iterable[str], *, encoding: str, **how: Any) -> str:
        """Draw DOT lines; text."""
        return _drawn("".join(lines), engine, output, **how).decode(encoding)


def _drawn(
    text: str,
    engine: str,
    output: str | None,
    *,
    renderer: str | None = None,
    formatter: str | None = None,
    neato_no_op: bool | int | None = None,
    quiet: bool = False,
) -> bytes:
    """The picture of a DOT text, by the words that the package uses."""
    program = engine if not neato_no_op else "nop2" if int(neato_no_op) > 1 else "nop"
    with warnings.catch_warnings():
        if quiet:
            warnings.simplefilter("ignore", RenderWarning)
        return finished(draw(text, ":".join(part for part in (output, renderer, formatter) if part), program=program))
