"""The remark ``made by gviz`` in a picture, which no viewer shows: the default name ``y.pdf`` replaces such files alone.

DOT and JSON are written with theirs, JPEG has the one of the library that draws it; other formats have none.
"""

from __future__ import annotations

import os

__all__ = ["has_mark", "is_ours", "mark"]

_PNG_CHUNK = b"\x00\x00\x00\x0dtEXtSoftware\x00gviz\xc8\xcd\x34\x1f"
"""Length, type, keyword, text and the CRC-32 of the last three."""

_MARKS = {
    b"%PDF": (b"% made by gviz\n", b"startxref"),
    b"%!PS": (b"%% made by gviz\n", b""),
    b"<?xml": (b"<!-- made by gviz -->\n", b""),
    b"<svg": (b"<!-- made by gviz -->\n", b""),
    b"\x89PNG": (_PNG_CHUNK, b"\x00\x00\x00\x00IEND"),
    b"GIF8": (b"\x21\xfe\x0cmade by gviz\x00", b";"),
}
"""By a file's first bytes: the remark, and the last thing in the file, before which it stands."""

_SIGNS = {b"digraph": b"// made by gviz", b"{": b'"format": "gviz-graph"', b"\xff\xd8": b"CREATOR: gd-jpeg"}
"""By a file's first bytes: a text in each file of ours that needs no remark."""


def mark(data: bytes) -> bytes:
    """Return the same picture with gviz's remark in it, if its format has a place for one."""
    for start, (remark, last) in _MARKS.items():
        if data.startswith(start) and last in data:
            place = data.rindex(last)
            return data[:place] + remark + data[place:]
    return data


def has_mark(data: bytes) -> bool:
    r"""Return True if gviz made this file, and nobody added to it since: notes in a PDF stand behind its old end.

    >>> has_mark(b'digraph "y" {\n    // made by gviz\n}\n'), has_mark(b"%PDF-1.4 three years of work")
    (True, False)
    """
    if any(data.startswith(start) and sign in data for start, sign in _SIGNS.items()):
        return True
    return any(remark in data and data == mark(data.replace(remark, b"")) for remark, _ in _MARKS.values())


def is_ours(path: str | os.PathLike[str]) -> bool:
    """Return True if gviz made this file; one that cannot be read, or is not a regular one, counts as another's."""
    try:
        with open(path if os.path.isfile(path) else "", "rb") as file:
            return has_mark(file.read())
    except OSError:
        return False
