"""A shipped font: the glyphs of its characters, their widths and ink, and a copy of the file with few of them.

Source: the OpenType specification, https://learn.microsoft.com/typography/opentype/spec/.
"""

from __future__ import annotations

import struct
from collections.abc import Collection
from functools import cached_property

from gviz.reaching import reached

KEPT = ("cvt ", "fpgm", "head", "hhea", "hmtx", "maxp", "prep")
"""The tables that a PDF needs besides the outlines."""

_MORE, _WORDS, _SCALE, _SCALES, _MATRIX = 0x20, 0x01, 0x08, 0x40, 0x80
"""Flags of a part of a glyph: more parts follow; how long its arguments and its scale are."""


class Font:
    """A TrueType font, read from its file.

    Args:
        path: the file.
    """

    def __init__(self, path: str) -> None:
        with open(path, "rb") as file:
            self.data = file.read()
        count = struct.unpack_from(">H", self.data, 4)[0]
        rows = (struct.unpack_from(">4sLLL", self.data, 12 + 16 * row) for row in range(count))
        self.tables = {tag.decode(): self.data[start : start + size] for tag, _, start, size in rows}

    @cached_property
    def glyphs(self) -> dict[int, int]:
        """The number of the glyph of each character."""
        table = self.tables["cmap"]
        count = struct.unpack_from(">H", table, 2)[0]
        places = [struct.unpack_from(">HHL", table, 4 + 8 * row)[2] for row in range(count)]
        start = next(place for place in places if struct.unpack_from(">H", table, place)[0] == 12)
        ranges = struct.unpack_from(">L", table, start + 12)[0]
        glyph_of: dict[int, int] = {}
        for row in range(ranges):
            first, last, glyph = struct.unpack_from(">LLL", table, start + 16 + 12 * row)
            glyph_of.update(zip(range(first, last + 1), range(glyph, glyph + last - first + 1), strict=True))
        return glyph_of

    @cached_property
    def em(self) -> int:
        """The units of the square that a letter is drawn in."""
        return int(struct.unpack_from(">H", self.tables["head"], 18)[0])

    @cached_property
    def widths(self) -> tuple[int, ...]:
        """The width of each glyph, in units."""
        many, count = struct.unpack_from(">H", self.tables["hhea"], 34)[0], len(self._places) - 1
        listed: tuple[int, ...] = struct.unpack_from(f">{2 * many}H", self.tables["hmtx"])[::2]
        return listed + listed[-1:] * (count - int(many))

    @cached_property
    def box(self) -> tuple[int, int, int, int]:
        """The box that holds every glyph, in units: left, low, right, top."""
        left, low, right, top = struct.unpack_from(">4h", self.tables["head"], 36)
        return left, low, right, top

    def ink(self, char: str) -> tuple[int, int, int, int]:
        """Return the box of a character's ink, in units: left, low, right, top; all 0 for a space."""
        outline = self.outline(self.glyphs.get(ord(char), 0))
        left, low, right, top = struct.unpack_from(">4h", outline, 2) if len(outline) > 10 else (0, 0, 0, 0)
        return left, low, right, top

    @cached_property
    def _places(self) -> tuple[int, ...]:
        """Where the outline of each glyph begins, and where the last one ends."""
        is_long = struct.unpack_from(">h", self.tables["head"], 50)[0]
        raw = self.tables["loca"]
        places: tuple[int, ...] = struct.unpack(f">{len(raw) // (4 if is_long else 2)}{'L' if is_long else 'H'}", raw)
        return places if is_long else tuple(2 * place for place in places)

    def outline(self, glyph: int) -> bytes:
        """Return the outline of a glyph; an empty one for a space."""
        return self.tables["glyf"][self._places[glyph] : self._places[glyph + 1]]

    def _parts(self, glyph: int) -> list[int]:
        """Return the glyphs that a glyph is made of, as an é is of an e and an accent."""
        outline, place, parts = self.outline(glyph), 10, []
        flags = _MORE if len(outline) > place and struct.unpack_from(">h", outline)[0] < 0 else 0
        while flags & _MORE:
            flags, part = struct.unpack_from(">HH", outline, place)
            parts.append(part)
            scale = 2 if flags & _SCALE else 4 if flags & _SCALES else 8 if flags & _MATRIX else 0
            place += 4 + (4 if flags & _WORDS else 2) + scale
        return parts

    def subset(self, glyphs: Collection[int]) -> bytes:
        """Return the font with the outlines of these glyphs alone; they keep their numbers."""
        used_glyphs = {*reached([0, *glyphs], self._parts)}
        outlines, places = bytearray(), []
        for glyph in range(len(self._places) - 1):
            places.append(len(outlines))
            outlines += self.outline(glyph) if glyph in used_glyphs else b""
        places.append(len(outlines))
        head = bytearray(self.tables["head"])
        head[50:52] = struct.pack(">h", 1)
        tables = {name: self.tables[name] for name in KEPT if name in self.tables}
        return _file({
            **tables,
            "head": bytes(head),
            "glyf": bytes(outlines),
            "loca": struct.pack(f">{len(places)}L", *places),
        })  # fmt: skip


def _file(tables: dict[str, bytes]) -> bytes:
    """Return a font file of these tables."""
    power = len(tables).bit_length() - 1
    head = bytearray(struct.pack(">LHHHH", 0x10000, len(tables), 16 << power, power, 16 * (len(tables) - (1 << power))))
    body, start = bytearray(), len(head) + 16 * len(tables)
    for tag in sorted(tables):
        padded = tables[tag] + b"\0" * (-len(tables[tag]) % 4)
        check = sum(struct.unpack(f">{len(padded) // 4}L", padded)) & 0xFFFFFFFF
        head += struct.pack(">4sLLL", tag.encode(), check, start + len(body), len(tables[tag]))
        body += padded
    return bytes(head + body)
