"""The errors of gviz: each says what happened, where, and how to mend it.

A mistake in the user's input is a :class:`GvizError`; the command line catches that one class, prints it on standard
error and exits with :attr:`GvizError.exit_code`. The engine's own errors are PyTorch's (RuntimeError, IndexError ...);
the code that runs a source turns them into a :class:`GvizError`.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass

from gviz.text import display_width

PASSED = ("gviz", "contextlib", "IPython", "ipykernel", "decorator", "traitlets")
"""Packages that a warning passes on its way to the program, or to the notebook's cell, that called gviz."""

MAX_SHOWN = 76
"""Columns of source that an error shows; a longer line is cut around the caret."""


@dataclass(frozen=True)
class Excerpt:
    """What a message shows of a source: a line of it, and the part that it is about.

    Args:
        text: the source line, without its newline.
        column: 0-based offset of the first offending character in ``text``; None marks the whole line.
        length: the number of offending characters, at least 1.
        file: the file's name; None for an expression.
        line: 1-based line number in ``file``, or in its cell; None for an expression of one line.
        cell: of a notebook, counted from 1; 0 for anything else.
    """

    text: str
    column: int | None = None
    length: int = 1
    file: str | None = None
    line: int | None = None
    cell: int = 0

    def __str__(self) -> str:
        """Return the place as people write it: ``net.py:14``, ``a.ipynb cell 2, line 1``, ``line 2``; "" for none."""
        if self.cell:
            return f"{self.file or ''} cell {self.cell}, line {self.line}".lstrip()
        if self.file is None:
            return "" if self.line is None else f"line {self.line}"
        return self.file if self.line is None else f"{self.file}:{self.line}"


def caret(place: Excerpt) -> str:
    """Return the source line with a caret under the offending part, cut to fit a terminal.

    >>> print(caret(Excerpt("y=2x", column=3)))
      y=2x
         ^
    """
    text = place.text.replace("\t", " ")
    if place.column is None:
        return "  " + (text if len(text) <= MAX_SHOWN else text[: MAX_SHOWN - 3] + "...")
    column, length = min(place.column, len(text)), max(place.length, 1)
    if len(text) > MAX_SHOWN:
        start = max(0, min(column - MAX_SHOWN // 2, len(text) - MAX_SHOWN))
        head, tail = ("..." if start else ""), ("..." if start + MAX_SHOWN < len(text) else "")
        text = head + text[start : start + MAX_SHOWN] + tail
        column += len(head) - start
    length = min(length, max(len(text) - column, 1))
    return (
        f"  {text}\n  {' ' * display_width(text[:column])}{'^' * max(display_width(text[column : column + length]), 1)}"
    )


class GvizError(Exception):
    """A mistake that the user can mend.

    Args:
        what: one sentence on what happened.
        place: where it happened, if there is a source to point into.
        hint: what to do next.
        about: what else is known of it: a line each, before the hint.
    """

    exit_code = 1

    def __init__(
        self, what: str, *, place: Excerpt | None = None, hint: str | None = None, about: tuple[str, ...] = ()
    ) -> None:
        super().__init__(what)
        self.what = what
        self.place = place
        self.hint = hint
        self.about = about

    def __str__(self) -> str:
        """Return the whole message, several lines: what happened, the source with a caret, what to do."""
        first = ": ".join(filter(None, (str(self.place or ""), str(self.what))))
        source = caret(self.place) if self.place is not None and self.place.text else ""
        return "\n".join(filter(None, (first, source, *self.about, self.hint)))

    def _render_traceback_(self) -> list[str]:
        """Return what a notebook shows in place of the traceback, whose frames are gviz's own: the message."""
        return [
            f"{type(self).__name__}: {line}" if not number else line
            for number, line in enumerate(str(self).split("\n"))
        ]


class SourceError(GvizError):
    """A mistake in an expression, a value or a script."""


class FileError(GvizError):
    """A file that cannot be read or written."""


class RenderError(GvizError):
    """A picture that cannot be made: unknown format, no Graphviz, a layout that fails."""


class ArgumentError(GvizError, TypeError):
    """A thing of another type than a function takes."""


class GvizWarning(UserWarning):
    """A remark of gviz's on what it read or drew all the same."""


class MissingError(GvizError):
    """Something optional that is not installed here, or not in gviz's engine."""


def warn_user(message: str, category: type[Warning] = GvizWarning) -> None:
    """Give a warning at the line of the program that called gviz."""
    import warnings  # only a warning needs it

    level, frame = 2, sys._getframe(1)  # noqa: SLF001 - warnings counts frames too
    while frame.f_back is not None and str(frame.f_globals.get("__name__")).partition(".")[0] in PASSED:
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)
