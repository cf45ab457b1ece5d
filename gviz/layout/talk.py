"""What Graphviz says while it draws goes to the C library's standard error; here it becomes warnings and messages."""

from __future__ import annotations

import os
import sys
import warnings
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from gviz.layout import RenderWarning

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["is_format_unknown", "overheard", "pass_on", "scratch_file"]

_HARMLESS = ("Fontconfig warning", "Fontconfig error", "unknown element")
"""Lines about how this machine's fonts are configured: they change nothing in a picture that has its own font."""


@contextmanager
def overheard() -> Iterator[list[str]]:
    """Collect what is written to file descriptor 2; the list is filled when the block ends.

    Whatever Python itself has written before stays in front of it.
    """
    heard: list[str] = []
    if sys.stderr is not None:
        with suppress(OSError, ValueError):
            sys.stderr.flush()
    file = scratch_file()
    try:
        kept = os.dup(2)
    except OSError:  # standard error is closed
        kept = -1
    try:
        os.dup2(file, 2)
        try:
            yield heard
        finally:
            if kept >= 0:
                os.dup2(kept, 2)
            elif file != 2:
                os.close(2)
        os.lseek(file, 0, os.SEEK_SET)
        with open(file, "rb", closefd=False) as text:
            heard.extend(text.read().decode("utf-8", "replace").splitlines())
    finally:
        if kept >= 0:
            os.close(kept)
        os.close(file)


def scratch_file() -> int:
    """Return the descriptor of a new nameless file: in memory where the system can."""
    if hasattr(os, "memfd_create"):
        with suppress(OSError):
            return os.memfd_create("gviz")
    from tempfile import TemporaryFile

    with TemporaryFile() as file:
        return os.dup(file.fileno())


def pass_on(heard: list[str]) -> list[str]:
    """Make warnings of what Graphviz remarked, each once; returns its errors, without the word "Error"."""
    errors = []
    for line in dict.fromkeys(line.strip() for line in heard):
        kind, colon, text = line.partition(": ")
        if colon and kind == "Error":
            errors.append(text)
        elif line and not any(harmless in line for harmless in _HARMLESS):
            remark = text.removeprefix("(null): ") if colon and kind == "Warning" else line
            warnings.warn(f"Graphviz: {remark}", RenderWarning, stacklevel=2)
    return errors


def is_format_unknown(said: list[str]) -> bool:
    """Whether Graphviz refused the format, and not a layout, say, that the DOT text asks for.

    >>> [is_format_unknown([f'Error: {what}: "foo" not recognized.']) for what in ("Format", "Layout type")]
    [True, False]
    """
    return any(line.removeprefix("Error: ").startswith(("Format:", "Renderer type:")) for line in said)
