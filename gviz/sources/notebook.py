"""Jupyter notebooks: their code cells, in order, as one script, and the places in it as cell and line."""

from __future__ import annotations

import ast
import re
from bisect import bisect_right
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeVar

from gviz.errors import SourceError
from gviz.files import parse_json
from gviz.sources.options import Note
from gviz.text import joined

if TYPE_CHECKING:
    from gviz.errors import GvizError
    from gviz.graph import Graph, Node, TensorRow

__all__ = ["Cells", "read_notebook"]

Placed = TypeVar("Placed", "Node", "TensorRow")

TIMED = ("time", "timeit", "capture", "prun")
"""Magics of a cell, or a line, that run the code behind them."""

MAGIC = re.compile(r"^(?P<indent>\s*)(?:[%!].*|\?+[\w.]+|[\w.]+\?+)\s*$")
TIME = re.compile(r"^(\s*)%time\s+(?=\S)")


@dataclass(frozen=True)
class Cells:
    """Where the cells of a notebook are in its script.

    Args:
        file: the notebook's name.
        starts: the number of the line before each cell.
    """

    file: str
    starts: tuple[int, ...]

    def split(self, line: int) -> tuple[int, int]:
        """Return the cell of a line of the script, counted from 1, and the line in it."""
        cell = bisect_right(self.starts, line - 1)
        return cell, line - self.starts[cell - 1]

    def renamed(self, text: str) -> str:
        """Return a text with cells and their lines for lines of the script."""

        def words(match: re.Match[str]) -> str:
            cell, line = self.split(int(match[1] or match[2]))
            return f"{self.file if match[1] else ''} cell {cell}, line {line}".lstrip()

        return re.sub(rf"{re.escape(self.file)}:(\d+)|\bline (\d+)\b", words, text)

    def rename_error(self, error: GvizError) -> None:
        """Let an error name the cell and its line."""
        place = error.place
        error.hint = error.hint and self.renamed(error.hint)
        if place is not None and place.file == self.file and place.line:
            cell, line = self.split(place.line)
            error.place = replace(place, file=f"{self.file} cell {cell}, line {line}", line=None)

    def rename_graph(self, graph: Graph) -> Graph:
        """Return a graph whose error, operations and tensors name the cell and its line."""
        rows = tuple(self.placed(row)._replace(cut_at=self.renamed(row.cut_at)) for row in graph.tensors)
        return replace(graph, error=self.renamed(graph.error), nodes=tuple(map(self.placed, graph.nodes)), tensors=rows)

    def placed(self, item: Placed) -> Placed:
        """Return a node or a row with its line in its cell, which takes the place of the file."""
        if not item.line or item.file:
            return item
        cell, line = self.split(item.line)
        return item._replace(file=f"cell {cell}", line=line)


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
    notebook: Any = parse_json(text, file, hint)
    cells = notebook.get("cells") if isinstance(notebook, dict) else None
    if not isinstance(cells, list) or not all(isinstance(cell, dict) and _is_text(cell.get("source", "")) for cell in cells):
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
    return "".join(f"{line}\n" for line in lines), notes, Cells(file, tuple(starts))


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
