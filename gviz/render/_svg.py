"""SVG, written by gviz itself: a class for each look, so that a large picture stays small; text can be searched."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterator
from functools import cache
from html import escape

from gviz.layout.fonts.faces import FACES
from gviz.layout.ink import Inked, Outline, Pen, Sheet, Stretch, TextLine, head_of, text_width, word_width
from gviz.text import visible

CODE = f"text{{font-family:{FACES['mono'].css};text-anchor:middle;font-kerning:none}}"
"""The usual face. Without kerning a text has the width that gviz has measured."""


def svg_text(sheet: Sheet) -> str:
    """Return a picture as SVG, 72 points to the inch as Graphviz's is."""
    wide, high = sheet.size
    looks: dict[str, str] = {}
    body = list(_lines(sheet, looks))
    style = "".join(f".{name}{{{rules}}}" for rules, name in looks.items())
    page = [f'<rect width="{wide:.1f}" height="{high:.1f}" fill="{escape(sheet.page)}"/>'] if sheet.page else []
    head = f'width="{wide:.0f}pt" height="{high:.0f}pt" viewBox="0 0 {wide:.1f} {high:.1f}" role="img"'
    about = [f"<desc>{shown(sheet.description)}</desc>"] if sheet.description else []
    return "\n".join([
        '<?xml version="1.0" encoding="UTF-8"?>',
        f'<svg xmlns="http://www.w3.org/2000/svg" {head}>',
        f"<title>{shown(sheet.title)}</title>",
        *about,
        f"<style>path{{fill:none}}{CODE}.b{{font-weight:bold}}{style}</style>",
        *page,
        *body,
        "</svg>\n",
    ])  # fmt: skip


def _lines(sheet: Sheet, looks: dict[str, str]) -> Iterator[str]:
    """Yield an element for each line, box and text; the looks get their classes on the way."""

    def look(rules: str) -> str:
        return looks.setdefault(rules, f"a{len(looks)}")

    for item in sheet.items():
        if isinstance(item, Stretch):
            path = "".join(_stroke(number, stroke) for number, stroke in enumerate(item.strokes))
            yield f'<path class="{look(_pen(item.pen))}" d="{path}"/>'
            for tip, base in item.heads:
                corners = " ".join(f"{x:.1f},{y:.1f}" for x, y in head_of(tip, base, item.size))
                yield f'<polygon class="{look(f"fill:{item.pen.colour}")}" points="{corners}"/>'
        elif isinstance(item, Outline):
            (x, y), (wide, high) = item.middle, item.size
            rules = f"fill:{item.fill or 'none'};{_pen(item.pen)}"
            corner = f' rx="{item.radius:.1f}"' if item.radius else ""
            place = f'x="{x - wide / 2:.1f}" y="{y - high / 2:.1f}" width="{wide:.1f}" height="{high:.1f}"'
            end = f"><title>{shown(item.tip)}</title></rect>" if item.tip else "/>"
            yield f'<rect class="{look(rules)}" {place}{corner}{end}'
        elif item.is_centred and all(word.face == "mono" for word in item.words):
            yield _text(item, look(f"font-size:{item.size:g}px;fill:{item.colour}"))
        else:
            x = item.place[0] - text_width(item.words, item.size) / 2 * item.is_centred
            for word in item.words:
                rules = f"font-family:{FACES[word.face].css};text-anchor:start;fill:{word.colour or item.colour}"
                yield _run(word, (x, item.place[1]), item.size, look(rules))
                x += word_width(word, item.size)


def _run(word: Inked, place: tuple[float, float], size: float, look: str) -> str:
    """Return a text that begins at a place and is as wide as it was measured, whatever font a viewer has."""
    x, y = place
    wide = f' textLength="{word_width(word, size):.2f}" lengthAdjust="spacingAndGlyphs"' if len(word.text) > 1 else ""
    start = f'<text class="{look}" x="{x:.2f}" y="{y:.2f}" font-size="{size:.4g}"{wide} xml:space="preserve">'
    return f"{start}{shown(word.text)}</text>"


def shown(text: str) -> str:
    """Return a text as XML has it; what no picture can hold is written as Python would escape it."""
    return escape(text if text.isprintable() else visible(text), quote=False)


@cache
def _pen(pen: Pen) -> str:
    """Return the rules of a pen."""
    colour, width, dash = pen
    dashes = f";stroke-dasharray:{','.join(f'{part:g}' for part in dash)}" if dash else ""
    return f"stroke:{colour or 'none'};stroke-width:{width:g}{dashes}"


def _stroke(number: int, stroke: tuple[float, ...]) -> str:
    """Return a piece of a path."""
    word = "M" if not number else "C" if len(stroke) > 2 else "L"
    return word + ("%.1f %.1f %.1f %.1f %.1f %.1f" if len(stroke) > 2 else "%.1f %.1f") % stroke  # the fastest way


def _text(item: TextLine, look: str) -> str:
    """Return a line of code, each of its words in its ink."""
    start = f'<text class="{look}" x="{item.place[0]:.1f}" y="{item.place[1]:.1f}" xml:space="preserve">'
    if len(item.words) == 1 and not (item.words[0].colour or item.words[0].is_bold):
        return f"{start}{escape(item.words[0].text, quote=False)}</text>"
    words = []
    for word in item.words:
        bold = ' class="b"' if word.is_bold else ""
        ink = f' style="fill:{escape(word.colour)}"' if word.colour else ""
        text = escape(word.text, quote=False)
        words.append(f"<tspan{bold}{ink}>{text}</tspan>" if bold or ink else text)
    return f"{start}{''.join(words)}</text>"


def as_image(svg: str, alt: str) -> str:
    """Return a picture as an element of HTML, with its text for who does not see it.

    Of the elements of an SVG a notebook that is not trusted would keep the texts alone; it shows an image.
    """
    return f'<img alt="{escape(alt)}" src="data:image/svg+xml;base64,{b64encode(svg.encode()).decode()}">'
