"""SVG, written by gviz itself: a class for each look, so that a large picture stays small; text can be searched."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

from gviz.render._scene import Outline, Scene, Stretch, TextLine, head_of

FONT = "'DejaVu Sans Mono',monospace"


def svg_text(scene: Scene) -> str:
    """Return a picture as SVG, 72 points to the inch as Graphviz's is."""
    wide, high = scene.size
    looks: dict[str, str] = {}
    body = list(_lines(scene, looks))
    style = "".join(f".{name}{{{rules}}}" for rules, name in looks.items())
    page = [f'<rect width="{wide:.1f}" height="{high:.1f}" fill="{escape(scene.page)}"/>'] if scene.page else []
    head = f'width="{wide:.0f}pt" height="{high:.0f}pt" viewBox="0 0 {wide:.1f} {high:.1f}"'
    return "\n".join([
        '<?xml version="1.0" encoding="UTF-8"?>',
        f'<svg xmlns="http://www.w3.org/2000/svg" {head}>',
        f"<title>{escape(scene.picture.title)}</title>",
        f"<style>path{{fill:none}}text{{font-family:{FONT};text-anchor:middle}}.b{{font-weight:bold}}{style}</style>",
        *page,
        *body,
        "</svg>\n",
    ])  # fmt: skip


def _lines(scene: Scene, looks: dict[str, str]) -> Iterator[str]:
    """Yield an element for each line, box and text; the looks get their classes on the way."""

    def look(rules: str) -> str:
        return looks.setdefault(rules, f"a{len(looks)}")

    for item in scene.items():
        if isinstance(item, Stretch):
            path = "".join(_stroke(number, stroke) for number, stroke in enumerate(item.strokes))
            yield f'<path class="{look(_pen(item))}" d="{path}"/>'
            for tip, base in item.heads:
                corners = " ".join(f"{x:.1f},{y:.1f}" for x, y in head_of(tip, base, item.size))
                yield f'<polygon class="{look(f"fill:{item.pen.colour}")}" points="{corners}"/>'
        elif isinstance(item, Outline):
            (x, y), (wide, high) = item.middle, item.size
            rules = f"fill:{item.fill or 'none'};{_pen(item)}"
            corner = f' rx="{item.radius:.1f}"' if item.radius else ""
            place = f'x="{x - wide / 2:.1f}" y="{y - high / 2:.1f}" width="{wide:.1f}" height="{high:.1f}"'
            yield f'<rect class="{look(rules)}" {place}{corner}/>'
        else:
            yield _text(item, look(f"font-size:{item.size:g}px;fill:{item.colour}"))


def _pen(item: Stretch | Outline) -> str:
    """Return the rules of a pen."""
    colour, width, dash = item.pen
    dashes = f";stroke-dasharray:{','.join(f'{part:g}' for part in dash)}" if dash else ""
    return f"stroke:{colour or 'none'};stroke-width:{width:g}{dashes}"


def _stroke(number: int, stroke: tuple[float, ...]) -> str:
    """Return a piece of a path."""
    word = "M" if not number else "C" if len(stroke) > 2 else "L"
    return word + " ".join(f"{one:.1f}" for one in stroke)


def _text(item: TextLine, look: str) -> str:
    """Return a line of text, each of its words in its ink."""
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
