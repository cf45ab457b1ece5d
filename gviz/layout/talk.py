"""Graphviz's remarks, which the C library writes to standard error, as warnings and messages."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from gviz.errors import RenderError, warn_user
from gviz.layout import DrawingError, NoEngineError, RenderWarning

_HARMLESS = ("Fontconfig warning", "Fontconfig error", "unknown element", "no hard-coded metrics", "Pango-CRITICAL")
"""Lines about how this machine's fonts are configured: they change nothing in a picture that has its own font.

Of type far below a pixel, which is not seen anyway, Graphviz's library writes the last two.
"""


@contextmanager
def overheard() -> Iterator[list[str]]:
    """Collect the lines that are written to file descriptor 2; the list is filled when the block ends.

    Python's own text, written before, stays in front of them.
    """
    lines: list[str] = []
    if sys.stderr is not None:
        with suppress(OSError, ValueError):
            sys.stderr.flush()
    file = scratch_file()
    try:
        stderr = os.dup(2)
    except OSError:  # standard error is closed
        stderr = -1
    try:
        os.dup2(file, 2)
        try:
            yield lines
        finally:
            if stderr >= 0:
                os.dup2(stderr, 2)
            elif file != 2:
                os.close(2)
        os.lseek(file, 0, os.SEEK_SET)
        with open(file, "rb", closefd=False) as text:
            lines.extend(text.read().decode("utf-8", "replace").splitlines())
    finally:
        if stderr >= 0:
            os.close(stderr)
        os.close(file)


def scratch_file() -> int:
    """Return the descriptor of a new nameless file: in memory where the system can."""
    if hasattr(os, "memfd_create"):
        with suppress(OSError):
            return os.memfd_create("gviz")
    from tempfile import TemporaryFile

    with TemporaryFile() as file:
        return os.dup(file.fileno())


def pass_on(lines: list[str]) -> list[str]:
    """Make warnings of Graphviz's remarks, each once; return its errors, without the word "Error"."""
    errors = []
    for line in dict.fromkeys(line.strip() for line in lines):
        level, colon, text = line.partition(": ")
        if colon and level == "Error":
            errors.append(text)
        elif line and not any(harmless in line for harmless in _HARMLESS):
            remark = text.removeprefix("(null): ") if colon and level == "Warning" else line
            warn_user(f"Graphviz: {remark}", RenderWarning)
    return errors


def refusal(lines: list[str], engine: str, output: str, otherwise: str = "it does not say why") -> RenderError:
    """Return why there is no picture, from Graphviz's lines: an engine without the format, else the DOT text.

    >>> [refusal([f'Error: {name}: "foo" not recognized.'], "dot", "foo").what for name in ("Format", "Layout type")]
    ['dot does not make foo', 'Graphviz cannot draw this: Layout type: "foo" not recognized.']
    """
    if any(line.removeprefix("Error: ").startswith(("Format:", "Renderer type:")) for line in lines):
        return NoEngineError(f"{engine} does not make {output}")
    return DrawingError("Graphviz cannot draw this: " + ("; ".join(pass_on(lines)) or otherwise))
