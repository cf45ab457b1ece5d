"""The ``graphviz`` package's Digraph, drawn by gviz's own way to Graphviz: where there is no ``dot`` program, too.

It overrides the three methods by which the package calls ``dot``; all else (saving, file names, viewing, notebooks) is
the package's. Its name keeps it from being taken for a format.
"""

from __future__ import annotations

import os
import re
import warnings
from collections.abc import Iterable, Sequence
from typing import Any

import graphviz
from graphviz.backend.rendering import get_format, get_outfile

from gviz.errors import RenderError, warn_user
from gviz.files import write
from gviz.layout import RenderWarning
from gviz.layout.graphviz import draw
from gviz.layout.plan import make_plan
from gviz.render.image import finish, warn_of_size, with_straight

_ID = r'(?:[A-Za-z_]\w*|-?(?:\.\d+|\d+(?:\.\d*)?)|"(?:[^"\\]|\\.)*")'
_ARROW = re.compile(rf"\s*({_ID}) -> ({_ID})(?: \[.*\])?\s*", re.DOTALL)
_BOX = re.compile(rf"\s*({_ID})(?: \[.*\])?\s*", re.DOTALL)
"""Patterns for the statements that the graphviz package writes; anything else is left to Graphviz."""

_DEFAULTS = frozenset(("graph", "node", "edge"))
"""Words before the attributes of all boxes and arrows."""


class Digraph(graphviz.Digraph):  # type: ignore[misc]  # the package has no type hints
    """A :class:`graphviz.Digraph` that needs no ``dot`` program to be drawn.

    Raises:
        gviz.errors.RenderError: from ``render``, ``pipe`` and ``view``, where Graphviz fails or cannot be had at all.
    """

    __module__ = graphviz.Digraph.__module__  # a program that prints what make_dot returns reads what TorchViz's is

    def save(
        self,
        filename: str | os.PathLike[str] | None = None,
        directory: str | os.PathLike[str] | None = None,
        **how: Any,
    ) -> str:
        """Save the DOT text, as the package does; a path as Windows has them is remarked on elsewhere."""
        name = os.fspath(filename if filename is not None else self.filename)
        if os.sep == "/" and "\\" in name:
            better = name.replace("\\", "/")
            warn_user(
                f"{name} is one file name here: backslashes separate folders on Windows only; write {better}",
                RenderWarning,
            )
        return str(super().save(filename, directory=directory, **how))

    def _render(
        self,
        engine: str,
        output: str | None = None,
        filepath: str | os.PathLike[str] = "",
        *,
        outfile: str | os.PathLike[str] | None = None,
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
        own = list(self)
        lines = own if "".join(own) == text else text.splitlines(keepends=True)
        picture = _draw(lines, engine, output, **how)
        os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
        return write(path, picture)

    def _pipe_lines(  # the lines are text
        self,
        engine: str,
        output: str,
        lines: Iterable[str],
        *,
        input_encoding: str,  # noqa: ARG002
        **how: Any,
    ) -> bytes:
        """Draw DOT lines; the bytes."""
        return _draw(list(lines), engine, output, **how)

    def _pipe_lines_string(self, engine: str, output: str, lines: Iterable[str], *, encoding: str, **how: Any) -> str:
        """Draw DOT lines; text."""
        return _draw(list(lines), engine, output, **how).decode(encoding)

    def _view(self, filepath: str | os.PathLike[str], *, format: str, quiet: bool) -> None:
        """Open a file in the viewer of this machine; where there is none, the file is there all the same."""
        try:
            super()._view(filepath, format=format, quiet=quiet)
        except OSError as error:
            warn_user(
                f"{os.fspath(filepath)} is written, but there is no program to view it "
                f"({error.filename or error.strerror})",
                RenderWarning,
            )


def _draw(
    lines: Sequence[str],
    engine: str,
    output: str | None,
    *,
    renderer: str | None = None,
    formatter: str | None = None,
    neato_no_op: bool | int | None = None,
    quiet: bool = False,
) -> bytes:
    """Return the picture of DOT lines, one for each statement, by the words that the package uses."""
    if (output or "").lower() == "vrml":  # files such as node1.png, over whatever is in the current folder
        raise RenderError(f"{output} is not drawn here: Graphviz would put files of its own into the current folder")
    program = engine if not neato_no_op else "nop2" if int(neato_no_op) > 1 else "nop"
    with warnings.catch_warnings(action="ignore" if quiet else None, category=RenderWarning):
        how = ":".join(part for part in (output, renderer, formatter) if part)
        return finish(_draw_as_planned(lines, how) if program == "dot" else draw("".join(lines), how, program=program))


def _draw_as_planned(lines: Sequence[str], output: str) -> bytes:
    """Return the picture as ``dot`` lays it out, with the limits and the straight arrows that large graphs need."""
    arrows = {i: (arrow[1], arrow[2]) for i, line in enumerate(lines) if (arrow := _ARROW.fullmatch(line))}
    boxes = {box[1]: None for box in map(_BOX.fullmatch, lines) if box and box[1] not in _DEFAULTS}
    names = list(dict.fromkeys([*boxes, *(end for ends in arrows.values() for end in ends)]))
    plan = make_plan(names, list(arrows.values()))
    if not (plan.attributes or plan.long) or any("layout=" in line for line in lines):
        return draw("".join(lines), output)
    if plan.is_slow:
        warn_of_size(len(names), len(plan.long), "the DOT text (.source) is there at once")
    head = next((place for place, line in enumerate(lines) if line.rstrip().endswith("{")), 0)
    limits = [
        f"\tgraph [{key}={value}]\n" for key, value in plan.attributes.items()
    ]  # first, so that the user's own win
    rest, straight = list(lines), []
    for index, place in enumerate(arrows):
        if index in plan.long:
            straight.append(lines[place])
            rest[place] = "\t{}\n\t{}\n".format(*arrows[place])  # boxes that nothing else tells of
    text = "".join([*rest[: head + 1], *limits, *rest[head + 1 :]])
    if not straight:
        return draw(text, output)
    return draw(with_straight(draw(text, "dot"), straight), output, program="nop2")
