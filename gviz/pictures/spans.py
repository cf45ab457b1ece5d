"""Text in inks: what stands in a box, on a line or below a picture, before a format writes it.

A line is a list of spans. How an ink looks, and how a text is quoted, is the business of the format.
"""

from __future__ import annotations

from typing import NamedTuple


class Span(NamedTuple):
    """A piece of a line.

    Args:
        text: any text.
        ink: "" for the usual one, ``muted``, ``gradient``, ``value``, ``faint``, ``error``, or ``path 0`` to
            ``path 3``.
        is_bold: as a tensor's name is.
    """

    text: str
    ink: str = ""
    is_bold: bool = False


Line = tuple[Span, ...]


class Box(NamedTuple):
    """A box as it is drawn.

    Args:
        kind: what it looks like, one of :data:`gviz.graphs.KINDS`: that of its node, but a root that nothing has made
            looks like the leaf that it is, and the last operation of a static graph like a root.
        lines: top line first.
        is_root: whether it is what the picture is of.
        is_error: whether one of the lines says that something went wrong.
    """

    kind: str
    lines: tuple[Line, ...]
    is_root: bool = False
    is_error: bool = False


def text_of(line: Line) -> str:
    """Return a line without its inks."""
    return "".join(span.text for span in line)


def describe(box: Box) -> str:
    """Return what a box says on one line, for the terminal."""
    return "  ".join(text_of(line).strip() for line in box.lines).replace("\n", "\\n")
