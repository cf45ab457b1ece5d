"""What is read on the boxes of an SVG that Graphviz has drawn: statements in place of the ids of its layout."""

from __future__ import annotations

import re
from html import unescape

from gviz.layout.fonts.faces import type_width
from gviz.pictures import Arrow, Picture, Shape
from gviz.pictures.look import LONGEST_LINE
from gviz.render._scene import label_rows
from gviz.render._svg import shown
from gviz.text import shorten

PIXEL = 0.75
"""Points: Graphviz measures type at 96 pixels an inch."""

_GROUP = re.compile(r'<g id="(?:node|edge|clust)\d+" class="(\w+)">\n<title>([^<]*)</title>\n')
_SANS = re.compile(
    r'(font-family="Gviz Sans,[^"]*"( font-weight="bold")?[^>]* font-size="([\d.]+)"[^>]*)>([^<]+)</text>'
)
_HEAD = re.compile(r'(<svg [^>]*?)>\n(<g id="graph0" class="graph"[^>]*>)\n(?:<title>[^<]*</title>\n)?')


def with_tips(svg: str, picture: Picture) -> str:
    """Return an SVG with what each box says as its tooltip, and with a title and a description of the whole."""
    shapes = [one for one in picture.statements if isinstance(one, Shape) and not one.id.startswith("__")]
    tips = {one.id: tip_of(one.look.get("label", one.id), one.id) for one in shapes}
    lines = sum(isinstance(one, Arrow) for one in picture.statements)

    def group(match: re.Match[str]) -> str:
        tip = tips.get(unescape(match[2]), "") if match[1] == "node" else ""
        return f'<g class="{match[1]}">\n' + (f"<title>{shown(tip)}</title>\n" if tip else "")

    def head(match: re.Match[str]) -> str:
        title = shorten(picture.title, LONGEST_LINE, middle=True)
        about = f"{len(shapes)} boxes and {lines} lines of the graph of {title or 'a tensor'}"
        names = f"<title>{shown(title)}</title>\n<desc>{shown(about)}</desc>"
        return f'{match[1]} role="img">\n{names}\n{match[2]}\n'

    return _GROUP.sub(group, _HEAD.sub(head, svg, count=1))


def with_widths(svg: str) -> str:
    """Return an SVG whose texts in gviz's proportional face are as wide as Graphviz takes them to be.

    That is what the boxes have room for, whatever font a viewer has: each letter is a whole number of pixels wide.
    """

    def text(match: re.Match[str]) -> str:
        start, bold, size, words = match.groups()
        face = "bold" if bold else "sans"
        wide = PIXEL * sum(round(type_width(letter, float(size), face) / PIXEL) for letter in unescape(words))
        return f'{start} textLength="{wide:.2f}" lengthAdjust="spacingAndGlyphs">{words}</text>'

    return _SANS.sub(text, svg)


def tip_of(label: str, name: str) -> str:
    r"""Return what a box says in one line.

    >>> tip_of("MulBackward0\ny = a * b", "n0")
    'MulBackward0: y = a * b'
    """
    rows = ["".join(word.text for word in row).replace("\xa0", " ").strip() for row in label_rows(label, name)]
    first, *others = [row for row in rows if row] or [""]
    return shorten(f"{first}: {', '.join(others)}" if others else first, LONGEST_LINE, middle=True)
