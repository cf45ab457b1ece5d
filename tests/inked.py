"""The ink of a picture that gviz has laid out itself, read back from its SVG: what stands on what."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from collections.abc import Callable, Iterator, Sequence
from itertools import combinations, pairwise
from math import hypot
from typing import NamedTuple

from gviz.layout.fonts.faces import FACES, bearings_of, extent_of, font_of, type_width
from gviz.layout.ink import COLUMN
from gviz.layout.spots import Leg, Rect, distance_to
from gviz.pictures import places
from gviz.text import display_width

SVG = "{http://www.w3.org/2000/svg}"
HAIR = 0.4
"""Points by which things may touch."""


class Line(NamedTuple):
    """A straight piece of a line, and half of how broad it is."""

    start: tuple[float, float]
    end: tuple[float, float]
    half: float = 0.0


class Text(NamedTuple):
    """A text, the rectangle of its ink, and its colour."""

    words: str
    size: float
    ink: Rect
    colour: str


class Card(NamedTuple):
    """A box, what is read on it, and the text in it."""

    box: Rect
    tip: str
    inside: str


class Page(NamedTuple):
    """What is drawn: texts, boxes, and the straight pieces of lines."""

    size: tuple[float, float]
    texts: list[Text]
    boxes: list[Rect]
    lines: list[Line]


def read(svg: str) -> Page:
    """Read a picture."""
    if 'class="graph"' in svg:
        return read_graphviz(svg)
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
            half = float(re.search(r"stroke-width:([\d.]+)", rules[one.attrib["class"]])[1]) / 2  # type: ignore[index]
            lines += [Line(*pair, half) for pair in pairwise(points_of(one.attrib["d"]))]
        elif one.tag == f"{SVG}polygon":
            lines += [Line(*pair) for pair in pairwise(points_of(one.attrib["points"]))]
    return Page((wide, high), texts, boxes, lines)


def points_of(text: str) -> list[tuple[float, float]]:
    """Return the points of a line."""
    numbers = [float(number) for number in re.findall(r"-?[\d.]+", text)]
    return list(zip(numbers[::2], numbers[1::2], strict=True))


def read_graphviz(svg: str) -> Page:
    """Read a picture that Graphviz has drawn: curves as straight pieces, arrowheads as their outlines."""
    root = ET.fromstring(svg)  # noqa: S314 - gviz's own
    left, top, wide, high = map(float, root.attrib["viewBox"].split())
    whole = root.find(f"{SVG}g")
    assert whole is not None
    scale, _, _, x, y = map(float, re.findall(r"-?[\d.]+", whole.attrib["transform"]))
    texts: list[Text] = []
    boxes: list[Rect] = []
    lines: list[Line] = []
    curves: list[list[tuple[float, float]]] = []

    def at(points: str) -> list[tuple[float, float]]:
        return [((a + x) * scale - left, (b + y) * scale - top) for a, b in points_of(points)]

    for group in whole.iter(f"{SVG}g"):
        kind, words = group.attrib.get("class", ""), list[Text]()
        for one in group:
            if one.tag == f"{SVG}text":
                words.append(text_of_graphviz(one, at, scale))
            elif one.tag == f"{SVG}path" and kind == "edge":
                curves.append(list(places.points_on(at(one.attrib["d"]))))
            elif one.tag == f"{SVG}polygon" and kind == "edge":
                lines += [Line(*pair) for pair in pairwise(at(one.attrib["points"]))]
            elif one.tag == f"{SVG}ellipse" and kind == "node":
                (middle,), half = at(f"{one.attrib['cx']} {one.attrib['cy']}"), float(one.attrib["rx"]) * scale
                boxes.append(Rect.around(middle, 2 * half, 2 * half))
            elif kind == "node" and has_outline(one) and one.tag != f"{SVG}polyline":
                points = at(one.attrib.get("points") or one.attrib["d"])
                xs, ys = zip(*points, strict=True)
                boxes.append(Rect(min(xs), min(ys), max(xs), max(ys)))
        texts += joined_texts(words)
    for curve in curves:  # what lies behind the box in which a line ends is not seen
        ends = [box for box in boxes for end in (curve[0], curve[-1]) if gap_to(box, end) == 0]
        lines += [
            Line(*pair) for pair in pairwise(curve) if not any(gap_to(box, end) == 0 for box in ends for end in pair)
        ]
    return Page((wide, high), texts, boxes, lines)


def has_outline(one: ET.Element) -> bool:
    """Return whether the outline of a shape is drawn: that of a plate behind a text on a line is not."""
    return one.attrib.get("stroke", "none") != "none" and float(one.attrib.get("stroke-width", 1)) > 0


def text_of_graphviz(one: ET.Element, at: Callable[[str], list[tuple[float, float]]], scale: float) -> Text:
    """Read a text that Graphviz has written: in the face for code, or on a page in one with letters of their own widths."""
    words, size = "".join(one.itertext()).replace("\u00a0", " "), float(one.attrib["font-size"]) * scale
    face = "bold" if one.attrib.get("font-weight") == "bold" else "sans"
    length = float(one.attrib.get("textLength", 0)) * scale
    stretch = length / type_width(words, size, face)  # who shows it makes the letters so much wider

    def width(text: str) -> float:
        return type_width(text, size, face) * stretch if length else display_width(text) * size * COLUMN

    ((x, y),) = at(f"{one.attrib['x']} {one.attrib['y']}")
    left = x - width(words) / 2 if one.attrib.get("text-anchor") == "middle" else x
    lead = width(words[: len(words) - len(words.lstrip())])
    ink = Rect(left + lead, y - 0.7 * size, left + width(words.rstrip()), y + 0.16 * size)
    return Text(words, size, ink, one.attrib.get("fill", ""))


def joined_texts(texts: Sequence[Text]) -> Iterator[Text]:
    """Yield the lines of texts, of whose words some have an ink of their own."""
    lines: dict[float, list[Text]] = {}
    for text in texts:
        if text.words.strip():
            lines.setdefault(round(text.ink.bottom, 1), []).append(text)
    for line in lines.values():
        first = line[0]
        for other in line[1:]:
            if other.ink.left - first.ink.right < 0.3 * other.size:
                whole = Rect(first.ink.left, first.ink.top, other.ink.right, first.ink.bottom)
                first = Text(first.words + other.words, first.size, whole, first.colour)
            else:
                yield first
                first = other
        yield first


def text_of(one: ET.Element, rules: str) -> Text:
    """Read a text: its face is told by the family that its class has."""
    face = next(name for name, face in FACES.items() if rules.startswith(f"font-family:{face.css};text-anchor"))
    words, size = "".join(one.itertext()), float(one.attrib["font-size"])
    x, y = float(one.attrib["x"]), float(one.attrib["y"])
    above, below = extent_of(words, size, face)
    left, right = bearings_of(words, size) if face == "math" and words.strip() else (0.0, 0.0)
    end = words.rstrip()[-1:]
    if face != "math" and end and any(font_of(face).ink(end)):  # the last letter's ink ends before the letter does
        right = 2 * min(0.0, font_of(face).ink(end)[2] * size / font_of(face).em - type_width(end, size, face))
    rect = Rect(x - left / 2, y - above, x + type_width(words.rstrip(), size, face) + right / 2, y + below)
    return Text(words, size, rect, rules.rpartition("fill:")[2])


def cards(svg: str) -> list[Card]:
    """Return the boxes that say what they are."""
    root, texts = ET.fromstring(svg), read(svg).texts  # noqa: S314 - gviz's own
    found = []
    for one in root.iter(f"{SVG}rect"):
        x, y, wide, high = (float(one.attrib.get(name, 0)) for name in ("x", "y", "width", "height"))
        tip, box = "".join(one.itertext()), Rect(x, y, x + wide, y + high)
        inside = "".join(text.words for text in texts if box.meets(text.ink.grown(-HAIR, -HAIR)))
        found += [Card(box, tip, inside)] if tip else []
    return found


def ways(svg: str) -> list[list[tuple[float, float]]]:
    """Return the lines, each with its points."""
    root = ET.fromstring(svg)  # noqa: S314 - gviz's own
    return [points_of(one.attrib["d"]) for one in root.iter(f"{SVG}path")]


class Wire(NamedTuple):
    """A line from a card to another, by their numbers, with the numbers above and below it."""

    source: int
    target: int
    value: float
    grad: float


def wires(svg: str, value: str, gradient: str) -> list[Wire]:
    """Return the lines between cards with the numbers that are nearest to each, in two colours."""
    boxes, lines = cards(svg), list[tuple[int, int, list[tuple[float, float]]]]()
    for points in ways(svg):
        ends = [
            min(range(len(boxes)), key=lambda at, end=end: gap_to(boxes[at].box, end))  # type: ignore[misc]
            for end in (points[0], points[-1])
        ]
        gaps = [gap_to(boxes[at].box, end) for at, end in zip(ends, (points[0], points[-1]), strict=True)]
        if max(gaps) < 12 and ends[0] != ends[1]:
            lines.append((ends[0], ends[1], points))
    told: list[dict[str, float]] = [{} for _ in lines]
    for text in read(svg).texts:
        if text.colour in (value, gradient) and re.fullmatch(r"−?[\d.]+(e[+−]\d+)?", text.words):
            gaps = [min(beside(text.ink, *pair) for pair in pairwise(points)) for _, _, points in lines]
            near = min(range(len(lines)), key=gaps.__getitem__, default=-1)
            if near >= 0 and gaps[near] < 40:
                told[near].setdefault(text.colour, float(text.words.replace("−", "-")))
    nothing = float("nan")
    return [
        Wire(source, target, one.get(value, nothing), one.get(gradient, nothing))
        for (source, target, _), one in zip(lines, told, strict=True)
    ]


def gap_to(box: Rect, point: tuple[float, float]) -> float:
    """Return how far a point is from a box."""
    x, y = point
    return hypot(max(box.left - x, 0, x - box.right), max(box.top - y, 0, y - box.bottom))


def beside(ink: Rect, start: tuple[float, float], end: tuple[float, float]) -> float:
    """Return how far the middle of a text is from a straight piece of a line."""
    return distance_to(((ink.left + ink.right) / 2, (ink.top + ink.bottom) / 2), Leg(start, end, 0))


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
        if any(ink.grown(line.half, line.half).is_hit(line.start, line.end) for line in page.lines):
            yield f"a line goes through {text.words!r}"
    for one, other in combinations(texts, 2):
        if one.ink.grown(-HAIR, -HAIR).meets(other.ink.grown(-HAIR, -HAIR)):
            yield f"{one.words!r} and {other.words!r} stand on each other"
