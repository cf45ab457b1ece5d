"""Jupyter notebooks: their code cells, in order, as one script, and the places in it as cell and line."""

from __future__ import annotations

import ast
import re
from bisect import bisect_right
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from gviz.errors import SourceError
from gviz.files import parse_json
from gviz.graphs import Place
from gviz.sources.notes import Note
from gviz.text import joined

TIMED = ("time", "timeit", "capture", "prun")
"""Magics of a cell, or a line, that run the code behind them."""

NAMES = r"[A-Za-z_][\w.,* \[\]'\"]*=\s*"
MAGIC = re.compile(rf"^(?P<indent>\s*)(?:[%!].*|{NAMES}(?:!|%(?=[A-Za-z])).*|\?+[\w.]+|[\w.]+\?+)\s*$")
TIME = re.compile(rf"^(\s*(?:{NAMES})?)%time\s+(?=\S)")


@dataclass(frozen=True)
class Cells:
    """Where the cells of a notebook are in its script.

    Args:
        file: the notebook's name.
        starts: the number of the line before each cell; at last that of all lines.
    """

    file: str
    starts: tuple[int, ...]

    def split(self, line: int) -> tuple[int, int]:
        """Return the cell of a line of the script, counted from 1, and the line in it."""
        cell = bisect_right(self.starts[:-1], line - 1)
        return cell, line - self.starts[cell - 1]

    def line(self, place: Place) -> int:
        """Return the line of the script that a line of a cell is."""
        return self.starts[place.cell - 1] + place.line

    def until(self, place: str) -> str:
        """Return the place for a run to end at as a line of the script, for one in a cell: ``cell 2:1``, ``cell 2:1:3``.

        Raises:
            SourceError: there is no such cell, or it has no such line.
        """
        cell, line, *times = place.removeprefix("cell").split(":")
        number, count = int(cell), len(self.starts) - 1
        if number > count:
            raise SourceError(f"--until {place}: {self.file} has {count} code cell{'s' * (count > 1)}")
        lines = self.starts[number] - self.starts[number - 1]
        if int(line) > lines:
            raise SourceError(f"--until {place}: cell {number} of {self.file} has {lines} line{'s' * (lines > 1)}")
        return ":".join([str(self.starts[number - 1] + int(line)), *times])

    def place(self, line: int) -> Place:
        """Return a line of the script as the cell and its line."""
        cell, own = self.split(line)
        return Place(own, cell=cell)


def read_notebook(text: str, file: str) -> tuple[str, tuple[Note, ...], Cells]:
    r"""Return a notebook's code cells as one script, a note on what was left out of them, and where each one is.

    >>> cells = '[{"cell_type": "code", "source": "%matplotlib inline\\nx = 2"}, {"cell_type": "code", "source": ["y = x"]}]'
    >>> code, notes, places = read_notebook(f'{{"cells": {cells}}}', "net.ipynb")
    >>> code, notes[0].text, places.split(3)
    ('pass\nx = 2\ny = x\n', "left out %matplotlib inline: IPython's, not Python's", (2, 1))

    Raises:
        FileError: it is not JSON.
        SourceError: it is not a notebook, or has no code.
    """
    hint = "a notebook is JSON with a list of cells, as Jupyter has saved it since 2015"
    if not text.strip():
        raise SourceError(f"{file} is empty: there is nothing to run")
    notebook: Any = parse_json(text, file, hint)
    cells = notebook.get("cells") if isinstance(notebook, dict) else None
    if not isinstance(cells, list) or not all(
        isinstance(cell, dict) and _is_text(cell.get("source", "")) for cell in cells
    ):
        raise SourceError(f"{file} is not a notebook", hint=hint)
    lines, starts, left_out = list[str](), list[int](), list[str]()
    for cell in cells:
        source = cell.get("source", "")
        if cell.get("cell_type") == "code":
            starts.append(len(lines))
            lines += _code("".join(source), left_out)
    if not any(map(str.strip, lines)):
        raise SourceError(f"{file} has no code cell: there is nothing to run")
    notes = (Note(f"left out {joined(left_out, 3)}: IPython's, not Python's"),) if left_out else ()
    return "".join(f"{line}\n" for line in lines), notes, Cells(file, (*starts, len(lines)))


def display(*things: object, **_: object) -> None:
    """Show each thing in a line, as Jupyter's function of that name does where there are no pictures."""
    for thing in things:
        print(repr(thing))  # noqa: T201 - it is what the cell asks for


def _is_text(source: object) -> bool:
    """Return whether this is the text of a cell: a string, or a list of strings."""
    return isinstance(source, str) or (isinstance(source, list) and all(isinstance(line, str) for line in source))


def _code(cell: str, left_out: list[str]) -> list[str]:
    """Return the lines of a cell as Python, and note what is IPython's own; there are as many as before."""
    lines = cell.split("\n")
    with suppress(SyntaxError, ValueError, RecursionError, MemoryError):
        ast.parse(cell)
        return lines
    if cell.startswith("%%"):
        name = lines[0][2:].strip().partition(" ")[0]
        left_out.append(f"%%{name}" if name in TIMED else f"a cell of %%{name}")
        lines = ["pass", *lines[1:]] if name in TIMED else ["pass"] * len(lines)
    for number, line in enumerate(lines):
        magic = MAGIC.match(line)
        if magic and TIME.match(line):
            lines[number] = TIME.sub(r"\1", line)
        elif magic:
            left_out.append(line.strip())
            lines[number] = f"{magic['indent']}pass"
    return lines
