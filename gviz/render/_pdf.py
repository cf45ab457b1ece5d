"""PDF, written by gviz itself: pages of a picture, in the shipped fonts; text can be searched and copied.

Source: ISO 32000-1, https://opensource.adobe.com/dc-acrobat-sdk-docs/pdfstandards/PDF32000_2008.pdf.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator

from gviz.layout.fonts import warn_of_missing
from gviz.layout.fonts.faces import FACES, font_of
from gviz.layout.ink import Outline, Point, Sheet, Stretch, TextLine, head_of, text_width, word_width

LONGEST = 14_400.0
"""Points of the longest side of a page that viewers show."""

ROUND = 0.4477
"""How far from its end, by its radius, a point pulls that makes a curve a quarter of a circle."""

Used = dict[str, dict[str, int]]
"""By face: the number of the glyph of each character that is drawn; 0 for one that the face lacks."""

_CMAP = """/CIDInit /ProcSet findresource begin 12 dict begin begincmap /CMapName /Gviz def /CMapType 2 def
1 begincodespacerange <0000> <FFFF> endcodespacerange
{} endcmap CMapName currentdict /CMap defineresource pop end end"""


def pdf_bytes(sheet: Sheet, *, in_pages: bool = False) -> bytes:
    """Return a picture as PDF.

    Args:
        sheet: the picture.
        in_pages: whether one that is larger than a page can be is cut into several; else it is made smaller.
    """
    glyphs_of: Used = {}
    wide, high = sheet.size
    content = _packed("\n".join(_content(sheet, glyphs_of)).encode("ascii"))
    warn_of_missing("".join(char for glyphs in glyphs_of.values() for char, glyph in glyphs.items() if not glyph))
    scale = 1.0 if in_pages else min(1.0, LONGEST / max(wide, high))
    across, down = (range(int(-(-side // LONGEST)) if in_pages else 1) for side in (wide, high))
    tile = (min(wide, LONGEST), min(high, LONGEST)) if in_pages else (wide, high)
    windows = [(tile[0] * column, high - tile[1] * (row + 1)) for row in down for column in across]
    first = FIRST + FONT_OBJECTS * len(glyphs_of)
    fonts = b"".join(b"/%s %d 0 R" % (face.encode(), FIRST + FONT_OBJECTS * at) for at, face in enumerate(glyphs_of))
    pages = [
        b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 %.2f %.2f]/Contents[%d 0 R 3 0 R]/Resources<</Font<<%s>>>>>>"
        % (tile[0] * scale, tile[1] * scale, first + 2 * number, fonts)
        for number in range(len(windows))
    ]
    shifts = [_packed(b"%.6f 0 0 %.6f %.2f %.2f cm" % (scale, scale, -x * scale, -y * scale)) for x, y in windows]
    kids = b" ".join(b"%d 0 R" % (first + 2 * number + 1) for number in range(len(windows)))
    title = (b"\xfe\xff" + sheet.title.encode("utf-16-be", "replace")).hex().encode()
    return _document([
        b"<</Type/Catalog/Pages 2 0 R/Lang(en)>>",
        b"<</Type/Pages/Kids[%s]/Count %d>>" % (kids, len(windows)),
        content,
        b"<</Title<%s>/Producer(gviz)>>" % title,
        *(one for at, face in enumerate(glyphs_of) for one in _font_objects(face, glyphs_of[face], FIRST + FONT_OBJECTS * at)),
        *(one for pair in zip(shifts, pages, strict=True) for one in pair),
    ])  # fmt: skip


FIRST, FONT_OBJECTS = 5, 5
"""The number of the first object of the first font: after the catalogue, the list of pages, the drawing and the title;
and how many each has."""


def _font_objects(face: str, glyphs: dict[str, int], first: int) -> list[bytes]:
    """Return the objects of a font with the characters that are used.

    Args:
        face: which.
        glyphs: their glyphs.
        first: the number of the first object.
    """
    font, name = font_of(face), b"GVIZAA+" + FACES[face].document.encode()
    unit = 1000 / font.em
    pairs = sorted((glyph, char) for char, glyph in glyphs.items() if glyph)
    rows = [f"<{glyph:04X}> <{char.encode('utf-16-be').hex()}>" for glyph, char in pairs]
    parts = [rows[start : start + 100] for start in range(0, len(rows), 100)]
    mappings = "\n".join(f"{len(part)} beginbfchar {' '.join(part)} endbfchar" for part in parts)
    widths = "".join(f"{glyph}[{font.widths[glyph] * unit:.0f}]" for glyph, _ in pairs)
    box = " ".join(f"{side * unit:.0f}" for side in font.box)
    outlines = font.subset([glyph for glyph, _ in pairs])
    flags = (face == "mono") + 4 + 64 * (face == "math")
    return [
        b"<</Type/Font/Subtype/Type0/BaseFont/%s/Encoding/Identity-H/DescendantFonts[%d 0 R]/ToUnicode %d 0 R>>"
        % (name, first + 1, first + 3),
        b"<</Type/Font/Subtype/CIDFontType2/BaseFont/%s"
        b"/CIDSystemInfo<</Registry(Adobe)/Ordering(Identity)/Supplement 0>>"
        b"/FontDescriptor %d 0 R/CIDToGIDMap/Identity/DW 602/W[%s]>>" % (name, first + 2, widths.encode()),
        b"<</Type/FontDescriptor/FontName/%s/Flags %d/FontBBox[%s]/ItalicAngle %d/Ascent 928/Descent -236"
        b"/CapHeight 729/StemV 80/FontFile2 %d 0 R>>" % (name, flags, box.encode(), FACES[face].slant, first + 4),
        _packed(_CMAP.format(mappings).encode()),
        _packed(outlines, b"/Length1 %d" % len(outlines)),
    ]  # fmt: skip


def _content(sheet: Sheet, glyphs_of: Used) -> Iterator[str]:
    """Yield the operators that draw a picture; the characters that it uses get their glyphs on the way."""
    wide, high = sheet.size
    yield f"q 1 0 0 -1 0 {high:.2f} cm 1 j"
    if sheet.page:
        yield f"{_colour(sheet.page)} rg 0 0 {wide:.2f} {high:.2f} re f"
    for item in sheet.items():
        if isinstance(item, Stretch):
            yield _pen(item)
            path = " ".join(_stroke(number, stroke) for number, stroke in enumerate(item.strokes))
            yield f"{path} S"
            for tip, base in item.heads:
                corners = head_of(tip, base, item.size)
                tip_path = " ".join(_stroke(number, point) for number, point in enumerate(corners))
                yield f"{_colour(item.pen.colour)} rg {tip_path} f"
        elif isinstance(item, Outline):
            fill, pen = bool(item.fill), bool(item.pen.colour)
            ink = f"{_colour(item.fill)} rg " if fill else ""
            paint = "B" if fill and pen else "f" if fill else "S" if pen else "n"
            yield f"{ink}{_pen(item) if pen else ''} {_outline(item)} {paint}"
        else:
            yield from _text(item, glyphs_of)
    yield "Q"


def _text(item: TextLine, glyphs_of: Used) -> Iterator[str]:
    """Yield the operators of a line of text, each of its words in its ink; a bold one of code has an outline, too."""
    x = item.place[0] - text_width(item.words, item.size) / 2 * item.is_centred
    for word in item.words:
        glyphs, font_glyphs = glyphs_of.setdefault(word.face, {}), font_of(word.face).glyphs
        for char in word.text:
            if char not in glyphs:
                glyphs[char] = font_glyphs.get(ord(char), 0)
        codes = "".join(f"{glyphs[char]:04X}" for char in word.text)
        ink = _colour(word.colour or item.colour)
        bold = f"{ink} RG {item.size / 30:.2f} w [] 0 d 2 Tr" if word.is_bold else "0 Tr"
        place = f"1 0 0 -1 {x:.2f} {item.place[1]:.2f}"
        yield f"BT /{word.face} {item.size:.4g} Tf {ink} rg {bold} {place} Tm <{codes}> Tj ET"
        x += word_width(word, item.size)


def _colour(text: str) -> str:
    """Return a colour as PDF has it; one that is not told by its parts is black."""
    parts = [text[place : place + 2] for place in (1, 3, 5)] if text.startswith("#") else ["0"] * 3
    return " ".join(f"{int(part, 16) / 255:.3g}" for part in parts)


def _pen(item: Stretch | Outline) -> str:
    """Return the operators that choose a pen."""
    dash = " ".join(f"{part:g}" for part in item.pen.dash)
    return f"{_colour(item.pen.colour)} RG {item.pen.width:g} w [{dash}] 0 d"


def _stroke(number: int, stroke: Iterable[float]) -> str:
    """Return a piece of a path."""
    numbers = list(stroke)
    return f"{' '.join(f'{one:.1f}' for one in numbers)} {'m' if not number else 'c' if len(numbers) > 2 else 'l'}"


def _outline(item: Outline) -> str:
    """Return the path of a rectangle, with round corners if it has any."""
    (x, y), (wide, high) = item.middle, item.size
    left, top, right, low = x - wide / 2, y - high / 2, x + wide / 2, y + high / 2
    r = min(item.radius, wide / 2, high / 2)
    if not r:
        return f"{left:.1f} {top:.1f} {wide:.1f} {high:.1f} re"
    k = r * ROUND
    corners: list[tuple[Point, Point, Point, Point]] = [
        ((right - r, top), (right - k, top), (right, top + k), (right, top + r)),
        ((right, low - r), (right, low - k), (right - k, low), (right - r, low)),
        ((left + r, low), (left + k, low), (left, low - k), (left, low - r)),
        ((left, top + r), (left, top + k), (left + k, top), (left + r, top)),
    ]
    pieces = [_stroke(1, begin) + " " + _stroke(1, (*one, *two, *end)) for begin, one, two, end in corners]
    return f"{_stroke(0, (left + r, top))} {' '.join(pieces)} h"


def _packed(data: bytes, words: bytes = b"") -> bytes:
    """Return a stream, compressed."""
    packed = zlib.compress(data, 6)
    return b"<<%s/Length %d/Filter/FlateDecode>>stream\n" % (words, len(packed)) + packed + b"\nendstream"


def _document(objects: list[bytes]) -> bytes:
    """Return a file of these objects, the first of them the catalogue."""
    data, places = bytearray(b"%PDF-1.5\n%\xe2\xe3\xcf\xd3\n"), []
    for number, one in enumerate(objects, 1):
        places.append(len(data))
        data += b"%d 0 obj\n" % number + one + b"\nendobj\n"
    start = len(data)
    data += b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1)
    data += b"".join(b"%010d 00000 n \n" % place for place in places)
    info = next(number for number, one in enumerate(objects, 1) if one.startswith(b"<</Title"))
    return bytes(
        data + b"trailer<</Size %d/Root 1 0 R/Info %d 0 R>>\nstartxref\n%d\n%%%%EOF\n" % (len(objects) + 1, info, start)
    )
