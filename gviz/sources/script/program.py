"""A script as its code objects know it: which files are its own, and the places in them as people see them."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from types import FrameType

from gviz.files import STDIN
from gviz.graphs import Place
from gviz.sources.notebook import Cells
from gviz.sources.source import MODEL, Source

GVIZ = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))) + os.sep

PYTHON = os.path.join(os.path.dirname(os.__file__), "")
"""Where Python's own library is."""


@dataclass(frozen=True)
class Script:
    """Where a script's code is.

    Args:
        file: its name as the user gave it, for messages.
        code_file: its name in its code objects, which is absolute.
        folder: where its neighbours are.
        engine: what runs it: ``gviz`` or ``torch``.
        cells: where the cells of a notebook are in its text; None for anything else.
    """

    file: str
    code_file: str
    folder: str
    engine: str
    cells: Cells | None = None

    @classmethod
    def of(cls, source: Source, engine: str = "") -> Script:
        """Return the script of a file, or of standard input."""
        file = source.file or STDIN
        if file == STDIN:
            return cls(file, file, os.getcwd(), engine)
        code_file = os.path.abspath(file)  # as Python: a script may change the current folder
        return cls(file, code_file, os.path.dirname(code_file), engine, source.cells)

    @property
    def is_written(self) -> bool:
        """Whether gviz has written it, to run a model: its lines are of no file that a person has."""
        return MODEL.fullmatch(self.file) is not None

    def place(self, line: int, code_file: str = "") -> Place:
        """Return a line of the script, or of another file, as people see it: of a notebook the cell and its line."""
        if code_file not in ("", self.code_file):
            return Place(line, self.name(code_file))
        return Place(line) if self.cells is None else self.cells.place(line)

    def code_at(self, place: Place, text: str) -> str:
        """Return the code of a line of the script, in its text."""
        return text.split("\n")[(place.line if self.cells is None else self.cells.line(place)) - 1].strip()

    def running(self) -> tuple[FrameType | None, Place | None]:
        """Return the innermost frame of the script's own file that is running, and its line; None if none is."""
        frame: FrameType | None = sys._getframe(1)  # noqa: SLF001 - inspect.currentframe costs a large import and does just this
        while frame is not None and frame.f_code.co_filename != self.code_file:
            frame = frame.f_back
        return frame, self.place(frame.f_lineno) if frame is not None and not self.is_written else None

    def is_ours(self, code_file: str) -> bool:
        """Return whether code is the script's own or a neighbour's, rather than a library's, gviz's or Python's."""
        if code_file == self.code_file:
            return not self.is_written
        if code_file.startswith((GVIZ, PYTHON)) or "site-packages" in code_file or "dist-packages" in code_file:
            return False
        return code_file.startswith(os.path.join(self.folder, ""))

    def name(self, code_file: str) -> str:
        """Return the name of a file in messages: the user's own for the script, short ones for its neighbours."""
        if code_file == self.code_file:
            return self.file
        return os.path.join(os.path.dirname(self.file), os.path.relpath(code_file, self.folder))
