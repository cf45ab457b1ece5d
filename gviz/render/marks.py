"""How gviz knows its own files again: a mark that every viewer ignores.

The default name ``ROOT.pdf`` must never replace a file that gviz did not make, so each format that can hold a remark
gets one, always the same:

- DOT: the comment ``// made by gviz`` below the first line
- SVG: the comment ``<!-- made by gviz -->`` at the end
- PDF: the comment ``% made by gviz`` before the last ``startxref``. A viewer that stores a reader's notes appends another
  ``startxref`` behind it; such a file is the reader's, and no longer gviz's
- PostScript: the comment ``%% made by gviz`` at the end
- PNG: a ``tEXt`` chunk ``Software: gviz`` before the end
- JPEG, GIF: a comment at the start, at the end
- JSON: its own ``"format": "gviz-graph"``

Other formats have no place for one; such files count as not made by gviz.
"""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["DOT_MARK", "has_mark", "is_ours", "mark"]

_ENDS = 4096
"""Bytes at both ends of a file among which the mark is."""

_MADE = b"made by gviz"
DOT_MARK = _MADE.decode()
_JSON_MARK = b'"format": "gviz-graph"'
_PNG_CHUNK = b"\x00\x00\x00\x0dtEXtSoftware\x00gviz\xc8\xcd\x34\x1f"
"""Length, type, keyword, text and the CRC-32 of the last three."""
_JPEG_COMMENT = b"\xff\xfe\x00\x0e" + _MADE
_GIF_COMMENT = b"\x21\xfe\x0c" + _MADE + b"\x00"


def _before(last: bytes, text: bytes) -> Callable[[bytes], bytes]:
    """Put a text before the last occurrence of something; files without it stay as they are."""

    def put(data: bytes) -> bytes:
        head, found, tail = data.rpartition(last)
        return head + text + found + tail if found else data

    return put


def _at_end(text: bytes) -> Callable[[bytes], bytes]:
    return lambda data: data + (b"" if data.endswith(b"\n") else b"\n") + text + b"\n"


def _after_first_segment(data: bytes) -> bytes:
    """A JPEG file's comment: behind its first segment, which has to be where it is."""
    end = 4 + int.from_bytes(data[4:6], "big") if data[2:3] == b"\xff" else 2
    return data[:end] + _JPEG_COMMENT + data[end:]


_MARKERS: dict[bytes, tuple[bytes, Callable[[bytes], bytes]]] = {
    b"%PDF": (b"% made by gviz\nstartxref", _before(b"startxref", b"% made by gviz\n")),
    b"%!PS": (b"%% made by gviz", _at_end(b"%% made by gviz")),
    b"<?xml": (b"<!-- made by gviz -->", _at_end(b"<!-- made by gviz -->")),
    b"<svg": (b"<!-- made by gviz -->", _at_end(b"<!-- made by gviz -->")),
    b"\x89PNG": (_PNG_CHUNK, _before(b"\x00\x00\x00\x00IEND", _PNG_CHUNK)),
    b"\xff\xd8": (_JPEG_COMMENT, _after_first_segment),
    b"GIF8": (_GIF_COMMENT, lambda data: data[:-1] + _GIF_COMMENT + data[-1:]),
    b"digraph": (b"// made by gviz", lambda data: data),
    b"{": (_JSON_MARK, lambda data: data),
}
"""By a file's first bytes: the mark to look for, and what puts it there."""


def mark(data: bytes) -> bytes:
    """The same picture with gviz's mark in it, if its format has a place for one."""
    for start, (_, put) in _MARKERS.items():
        if data.startswith(start):
            return put(data)
    return data


def has_mark(data: bytes) -> bool:
    r"""Whether gviz made this file.

    >>> has_mark(b'digraph "y" {\n    // made by gviz\n}\n'), has_mark(b"%PDF-1.4 three years of work")
    (True, False)
    """
    for start, (sign, _) in _MARKERS.items():
        if data.startswith(start):
            return sign in data and (start != b"%PDF" or data.rfind(b"startxref") < data.rfind(sign) + len(sign))
    return False


def is_ours(path: str | os.PathLike[str]) -> bool:
    """Whether gviz made this file, by its mark; a file that cannot be read, or is no regular one, is not."""
    try:
        if not stat.S_ISREG(os.stat(path).st_mode):
            return False
        with open(path, "rb") as file:
            head = file.read(_ENDS)
            rest = max(os.fstat(file.fileno()).st_size - _ENDS, len(head))
            file.seek(rest)
            return has_mark(head + file.read())
    except (OSError, ValueError):
        return False
