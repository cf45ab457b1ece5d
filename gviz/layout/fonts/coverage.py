"""Which characters a font has, read from its ``cmap`` table by hand: quicker than any font library, and only on demand.

Source: the OpenType specification, https://learn.microsoft.com/typography/opentype/spec/cmap, formats 4 and 12.
"""

from __future__ import annotations

import os
import re
from bisect import bisect_left
from struct import error, unpack_from
from typing import TYPE_CHECKING, BinaryIO
from unicodedata import category

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["advice", "system_fonts", "takes_ink", "without"]

_MOST_NAMED = 8
"""Characters that a warning names; the rest it counts."""

_FOLDERS = ("/usr/share/fonts", "/usr/local/share/fonts", "~/.local/share/fonts", "~/.fonts")
_SUFFIXES = (".ttf", ".otf", ".ttc", ".otc")

_PACKAGES = (
    ("fonts-noto-color-emoji", re.compile("[\u2600-\u27bf\u2b00-\u2bff\U0001f000-\U0001faff]")),
    ("fonts-noto-cjk", re.compile("[\u1100-\u11ff\u2e80-\u9fff\uac00-\ud7ff\uf900-\ufaff\ufe30-\uffef\U00020000-\U0003ffff]")),
    ("fonts-noto-core", re.compile("")),
)
"""Debian's packages, by the characters that they are for; the last one is for all others."""


def takes_ink(char: str) -> bool:
    r"""Whether a character is to be seen: not the joiners, marks of direction and variation selectors.

    >>> takes_ink("損"), takes_ink("\u200d"), takes_ink("\ufe0f")
    (True, False, False)
    """
    return category(char) not in ("Cc", "Cf", "Cs", "Zs", "Zl", "Zp") and not "\ufe00" <= char <= "\ufe0f"


def without(chars: set[str], font: str) -> set[str]:
    """The characters that a font file lacks; all of them where it cannot be read.

    >>> from gviz.layout.fonts import FONT
    >>> without({"β", "損"}, FONT)
    {'損'}
    """
    try:
        with open(font, "rb") as file:
            tables = list(_tables(file))
        return {char for char in chars if not any(_has(table, ord(char)) for table in tables)}
    except (OSError, error, IndexError):
        return chars


def _tables(file: BinaryIO) -> Iterator[bytes]:
    """The Unicode subtables of a font, or of each font in a collection."""
    head = file.read(12)
    starts: tuple[int, ...] = (0,)
    if head[:4] == b"ttcf":
        count = unpack_from(">I", head, 8)[0]
        starts = unpack_from(f">{count}I", file.read(4 * count))
    for start in starts:
        file.seek(start + 4)
        directory = file.read(8 + 16 * 64)
        for index in range(unpack_from(">H", directory)[0]):
            tag, offset, length = unpack_from(">4s4xII", directory, 8 + 16 * index)
            if tag == b"cmap":
                file.seek(offset)
                yield from _subtables(file.read(length))


def _subtables(cmap: bytes) -> Iterator[bytes]:
    """The subtables that map Unicode: of platform 0, and Windows' encodings 1 and 10."""
    for index in range(unpack_from(">H", cmap, 2)[0]):
        platform, encoding, offset = unpack_from(">HHI", cmap, 4 + 8 * index)
        if platform == 0 or (platform == 3 and encoding in (1, 10)):
            yield cmap[offset:]


def _has(table: bytes, code: int) -> bool:
    """Whether a subtable gives the character a glyph; formats other than 4 and 12 are not for single characters."""
    kind = unpack_from(">H", table)[0]
    if kind == 12:
        count = unpack_from(">I", table, 12)[0]
        groups = unpack_from(f">{3 * count}I", table, 16)
        index = bisect_left(groups[1::3], code)
        return index < count and bool(groups[3 * index] <= code)
    return kind == 4 and code <= 0xFFFF and _has_segment(table, code)


def _has_segment(table: bytes, code: int) -> bool:
    """The same in format 4, whose segments may have holes: glyph 0 is none."""
    count = unpack_from(">H", table, 6)[0] // 2
    ends = unpack_from(f">{count}H", table, 14)
    index = bisect_left(ends, code)
    if index == count:
        return False
    start, delta, skip = (unpack_from(">H", table, 16 + 2 * (part * count + index))[0] for part in (1, 2, 3))
    if start > code:
        return False
    if skip == 0:
        return bool((code + delta) & 0xFFFF)
    return bool(unpack_from(">H", table, 16 + 2 * (3 * count + index) + skip + 2 * (code - start))[0])


def system_fonts() -> Iterator[str]:
    """The font files of this machine that Graphviz may use, by the folders that its configuration names."""
    for folder in dict.fromkeys([*_FOLDERS, *_configured()]):
        for place, _, names in os.walk(os.path.expanduser(folder), followlinks=True):
            yield from (os.path.join(place, name) for name in sorted(names) if name.lower().endswith(_SUFFIXES))


def _configured() -> Iterator[str]:
    """The folders that the user's, or the system's, configuration of fontconfig names."""
    try:
        with open(os.environ.get("FONTCONFIG_FILE", "/etc/fonts/fonts.conf"), encoding="utf-8", errors="replace") as file:
            yield from re.findall(r"<dir>\s*([^<]+?)\s*</dir>", file.read())
    except OSError:
        return


def advice(chars: set[str]) -> str:
    """What to say of characters that no font has.

    >>> advice({"損"})
    'no font here has 損 (U+640D): a box is drawn in its place; install one that has it, such as fonts-noto-cjk'
    """
    known = sorted(chars)
    named = ", ".join(f"{char} (U+{ord(char):04X})" for char in known[:_MOST_NAMED])
    if len(known) > _MOST_NAMED:
        named += f" and {len(known) - _MOST_NAMED} more"
    packages = dict.fromkeys(next(package for package, those in _PACKAGES if those.match(char)) for char in known)
    one = len(known) == 1
    boxes, it = ("a box is drawn in its place", "it") if one else ("boxes are drawn in their place", "them")
    return f"no font here has {named}: {boxes}; install one that has {it}, such as {', '.join(packages)}"
