"""The ink of a picture that gviz has laid out itself, read back from its SVG: what stands on what."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from itertools import combinations, pairwise
from typing import NamedTuple

from gviz.layout.fonts.faces import FACES, bearings_of, extent_of, type_width
from gviz.layout.spots import Rect

SVG = "{http://www.w3.org/2000/svg}"
HAIR = 0.4
"""Points by which things may touch."""


Line = tuple[tuple[float, float], tuple[float, float]]


class Text(NamedTuple):
    """A text and the rectangle of its ink."""

    words: str
    size: float
    ink: Rect


class Page(NamedTuple):
    """What is drawn: texts, boxes, and the straight pieces of lines."""

    size: tuple[float, float]
    texts: list[Text]
    boxes: list[Rect]
    lines: list[Line]


def read(svg: str) -> Page:
    """Read a picture."""
    root = ET.fromstring(svg)  # noqa: S314 - gviz's own
    style = "".join(root.find(f"{SVG}style").itertext())  # type: ignore[union-attr]
    rules = dict(re.findall(r"\.(a\d+)\{([^}]*)\}", style))
    _, _, wide, high = map(float, root.attrib["viewBox"].split())
    texts: list[Text] = []
    boxes: list[Rect] = []
    lines: list[Line] = []
    for one in root.iter():
        if one.tag == f"{SVG}text":
            texts.append(text_of(one, rules[one.attrib["class"]]))
        elif one.tag == f"{SVG}rect" and "class" in one.attrib:
            x, y, width, height = (float(one.attrib[name]) for name in ("x", "y", "width", "height"))
            boxes.append(Rect(x, y, x + width, y + height))
        elif one.tag == f"{SVG}path":
            numbers = [float(number) for number in re.findall(r"-?[\d.]+", one.attrib["d"])]
            lines += pairwise(zip(numbers[::2], numbers[1::2], strict=True))
    return Page((wide, high), texts, boxes, lines)


def text_of(one: ET.Element, rules: str) -> Text:
    """Read a text: its face is told by the family that its class has."""
    face = next(name for name, face in FACES.items() if rules.startswith(f"font-family:{face.css};text-anchor"))
    words, size = "".join(one.itertext()), float(one.attrib["font-size"])
    x, y = float(one.attrib["x"]), float(one.attrib["y"])
    above, below = extent_of(words, size, face)
    left, right = bearings_of(words, size) if face == "math" and words.strip() else (0.0, 0.0)
    return Text(
        words, size, Rect(x - left / 2, y - above, x + type_width(words.rstrip(), size, face) + right / 2, y + below)
    )


def faults(page: Page) -> Iterator[str]:
    """Yield what a reader would stumble over."""
    texts = [text for text in page.texts if text.words.strip()]
    wide, high = page.size
    for text in texts:
        ink = text.ink.grown(-HAIR, -HAIR)
        if text.ink.left < 0 or text.ink.top < 0 or text.ink.right > wide or text.ink.bottom > high:
            yield f"{text.words!r} is cut by the edge of the page"
        for box in page.boxes:
            is_inside = box.left < ink.left and ink.right < box.right and box.top < ink.top and ink.bottom < box.bottom
            if box.meets(ink) and not is_inside:
                yield f"{text.words!r} stands on the outline of a box"
        if any(ink.is_hit(*line) for line in page.lines):
            yield f"a line goes through {text.words!r}"
    for one, other in combinations(texts, 2):
        if one.ink.grown(-HAIR, -HAIR).meets(other.ink.grown(-HAIR, -HAIR)):
            yield f"{one.words!r} and {other.words!r} stand on each other"
