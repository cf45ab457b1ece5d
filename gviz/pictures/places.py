"""Places: where Graphviz has put the boxes, lines and frames of a picture, as data that can be moved."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from math import hypot
from types import MappingProxyType
from typing import Any, NamedTuple

from gviz.layout.fonts.faces import type_width
from gviz.layout.graphviz import draw
from gviz.layout.ink import COLUMN
from gviz.layout.spots import Leg, Rect, TextPlaces, count_crossings, extent
from gviz.layout.straight import Course, Router, middle_of
from gviz.pictures.html import Html, left_aligned
from gviz.pictures.page import is_routed
from gviz.pictures.picture import LARGE, Arrow, Frame, Picture, Plate, Shape, Statement
from gviz.pictures.theme import FONT, SANS
from gviz.text import display_width

_POINT = re.compile(r"([es],)?(-?[\d.]+(?:e[-+]?\d+)?),(-?[\d.]+(?:e[-+]?\d+)?)")

Point = tuple[float, float]
Curve = tuple[list[Point], Point | None, Point | None]
"""The points of a line, and where its arrowheads end, if it has any: at its start, at its end."""


class Layout(NamedTuple):
    """Where everything is: attributes of boxes by id, lines by number, frames by path; the box around all.

    The marks are texts with their places: the ends of lines that go on in another row have the same number. A frame
    that goes on there has several pieces, by its path. The sizes of texts beside lines are by the lines' numbers. It is
    clear where no line goes through a box or a text on a line.
    """

    shapes: Mapping[str, Mapping[str, str]]
    arrows: Sequence[Mapping[str, str]]
    frames: Mapping[str, Mapping[str, str]]
    bounds: tuple[float, float, float, float]
    marks: Sequence[tuple[str, float, float]] = ()
    pieces: Sequence[tuple[str, Mapping[str, str]]] = ()
    texts: Mapping[int, Point] = MappingProxyType({})
    is_clear: bool = True


def laid_out(picture: Picture, write: Callable[[Picture], str], graphviz: str) -> Layout:
    """Return the layout of a picture without its legend.

    Where a line has no way around a text, boxes are farther apart; where the title of a frame has no room, it is wider.

    Args:
        picture: what is laid out.
        write: returns a picture as DOT.
        graphviz: the engine that lays out.
    """
    layout = graphviz_layout(picture, write, graphviz)
    spaces = {key: float(picture.graph[key]) for key in SPACES if key in picture.graph}
    for factor in (2, 3) if spaces else ():
        if layout.is_clear:
            break
        wider = {key: f"{factor * space:g}" for key, space in spaces.items()}
        layout = graphviz_layout(replace(picture, graph={**picture.graph, **wider}), write, graphviz)
    titles, wide = {path: Title.of(frame) for path, frame in layout.frames.items()}, dict[str, str]()
    free, struck = with_free_titles(layout)
    for times in WIDER:
        if not struck:
            break
        wide |= {path: titles[path].wide_label(times) for path in struck}
        statements = [
            one._replace(look={**one.look, "label": wide[one.path]})
            if isinstance(one, Frame) and one.path in wide
            else one
            for one in picture.statements
        ]
        free, struck = with_free_titles(graphviz_layout(replace(picture, statements=statements), write, graphviz))
    return free


def graphviz_layout(picture: Picture, write: Callable[[Picture], str], graphviz: str) -> Layout:
    """Return where Graphviz puts everything, with straight lines and their texts where they are free.

    Args:
        picture: what is laid out.
        write: returns a picture as DOT.
        graphviz: the engine that lays out.
    """
    numbered: list[Statement] = []
    types: dict[str, dict[str, str]] = {}
    usual = {"fontname": FONT, "fontsize": "14", **picture.graph}
    count = 0
    for one in picture.statements:
        if isinstance(one, Arrow):
            numbered.append(one._replace(look={**one.look, "id": f"e{count}"}))
            count += 1
        elif name := one.id if isinstance(one, Shape) else one.path:
            types[name] = {key: one.look.get(key, usual.get(key, "")) for key in ("label", "fontname", "fontsize")}
            numbered.append(one._replace(look={**one.look, "id": name.encode().hex()}))
        else:
            numbered.append(one)
    bare = {key: value for key, value in picture.graph.items() if key not in ("label", "size")}
    has_plates, has_routes = any(isinstance(one, Plate) for one in numbered), any(map(is_routed, numbered))
    text = write(replace(picture, graph={**bare, "pad": "0"}, statements=numbered))
    data = json.loads(draw(text, "json" if has_routes else "json0", using=graphviz))
    shapes, frames = {}, {}
    for item in data.get("objects", []):
        if "pos" in item:
            shapes[bytes.fromhex(item["id"]).decode()] = {key: item[key] for key in ("pos", "width", "height")}
        elif "bb" in item:
            path = bytes.fromhex(item["id"]).decode()
            place = {key: item[key] for key in ("bb", "lp") if key in item}
            frames[path] = {**place, **types[path]}
    arrows: list[Mapping[str, str]] = [{}] * count
    for item in data.get("edges", []):
        if item.get("style") != "invis":  # which only hold boxes in their order
            arrows[int(item["id"][1:])] = {key: item[key] for key in ("pos", "lp") if key in item}
    left, bottom, right, top = (float(number) for number in data["bb"].split(","))
    layout = Layout(shapes, arrows, frames, (left, bottom, right, top), texts=text_sizes(picture, arrows))
    if len(shapes) > LARGE:
        return layout
    shape_statements = [one for one in numbered if isinstance(one, Shape)]
    boxes = {one.id: box_of({**shapes[one.id], **fixed_size(one)}) for one in shape_statements if one.id in shapes}
    if not has_plates:
        layout = with_free_labels(layout, [*boxes.values()])
    if not has_routes:
        return layout
    ops = {bytes.fromhex(item["id"]).decode(): item.get("_ldraw_", ()) for item in data["objects"] if "pos" in item}
    texts = [text for name, box in boxes.items() for text in texts_outside(box, ops[name])]
    return with_straight_lines(layout, picture, numbered, boxes, [*texts, *texts_of_lines(layout).values()])


CROSSING, BEND, SHARP = 0.05, 0.01, 0.85
"""How much larger type weighs up a crossing, and a bend; the cosine of an angle from which on a line bends."""


def ease_of(layout: Layout) -> float:
    """Return how easily the lines of a layout are followed: 1 without a crossing or a bend, less with each.

    >>> bent = [{"pos": "0,0 0,4 0,7 0,9 3,9 6,9 9,9"}, {"pos": "2,0 2,1 2,2 2,3"}]
    >>> [round(ease_of(Layout({}, arrows, {}, (0, 0, 9, 9))), 3) for arrows in (bent[1:], bent)]
    [1.0, 0.99]
    """
    lines = [curve_of(arrow["pos"])[0][::3] for arrow in layout.arrows if "pos" in arrow]
    if len(lines) > MOST_COMPARED:
        return 1.0
    ways = [[(x - left, y - top) for (left, top), (x, y) in pairwise(line)] for line in lines]
    turns = [(one, other) for way in ways for one, other in pairwise(way)]
    bends = sum(x * to_x + y * to_y < SHARP * hypot(x, y) * hypot(to_x, to_y) for (x, y), (to_x, to_y) in turns)
    return 1 / (1 + CROSSING * count_crossings(lines) + BEND * bends)


MOST_COMPARED = 100
"""Lines of a layout whose crossings are counted."""


def texts_of_lines(layout: Layout) -> dict[int, Rect]:
    """Return the rectangles of the texts beside lines, by the numbers of the lines."""
    middles = {at: curve_of(layout.arrows[at]["lp"])[0][0] for at in layout.texts}
    return {at: Rect.around(middles[at], *size) for at, size in layout.texts.items()}


MOST_TRIED = 42_000
"""Pieces of lines with texts times pieces of all lines up to which texts are moved to where they are free: more takes
seconds."""


def text_sizes(picture: Picture, places: Sequence[Mapping[str, str]]) -> dict[int, Point]:
    """Return how wide and high the texts beside lines are, by the numbers of the lines."""
    looks = [{"fontsize": "14", **picture.edge, **one.look} for one in picture.statements if isinstance(one, Arrow)]
    sizes = [(one.get("label", ""), float(one["fontsize"])) for one in looks]
    return {
        number: (display_width(label) * size * COLUMN, 0.8 * size)
        for number, ((label, size), place) in enumerate(zip(sizes, places, strict=True))
        if "lp" in place and not isinstance(label, Html)
    }


def with_free_labels(layout: Layout, boxes: Sequence[Rect]) -> Layout:
    """Return the layout with the texts beside lines where they are near to no other line, text or side of a frame."""
    numbers = [at for at, place in enumerate(layout.arrows) if "pos" in place]
    curves = [curve_of(layout.arrows[at]["pos"])[0] for at in numbers]
    lines = [[*[*points_on(curve)][::5], curve[-1]] for curve in curves]
    pieces = [Leg(*pair, number, 0.5) for number, line in enumerate(lines) for pair in pairwise(line)]
    for left, low, right, high in (map(float, frame["bb"].split(",")) for frame in layout.frames.values()):
        corners = (left, low), (right, low), (right, high), (left, high), (left, low)
        pieces += [Leg(*side, -1, 0.5) for side in pairwise(corners)]
    tried = sum(len(line) for line, at in zip(lines, numbers, strict=True) if at in layout.texts)
    if tried * len(pieces) > MOST_TRIED:
        return layout
    texts = TextPlaces(lines, [0.5] * len(lines), pieces, boxes, [{number} for number in range(len(lines))])
    moved, (left, _, right, _) = list(layout.arrows), layout.bounds
    taken = texts_of_lines(layout)
    for number, at in enumerate(numbers):
        if at not in layout.texts:
            continue
        spot = texts.alone(number, layout.texts[at])
        others = [*boxes, *(rect for other, rect in taken.items() if other != at)]
        if spot is None or any(spot.rect.meets(other) for other in others):
            continue
        if left <= spot.rect.left and spot.rect.right <= right:
            taken[at] = spot.rect
            moved[at] = {**moved[at], "lp": f"{spot.middle[0]:.3f},{spot.middle[1]:.3f}"}
    return layout._replace(arrows=moved)


def fixed_size(shape: Shape) -> dict[str, str]:
    """Return the size of a shape that its label does not change; nothing for any other."""
    return {key: shape.look[key] for key in ("width", "height") if "fixedsize" in shape.look and key in shape.look}


def texts_outside(box: Rect, ops: Iterable[Mapping[str, Any]]) -> Iterator[Rect]:
    """Yield the rectangles of the texts of a box that stand outside of it, as Graphviz tells where it draws them."""
    size = 0.0
    for op in ops:
        if op["op"] == "F":
            size = op["size"]
        elif op["op"] == "T" and op["text"].strip():
            (x, y), wide = op["pt"], op["width"]
            left = x - {"l": 0.0, "c": 0.5, "r": 1.0}[op["align"]] * wide
            rect = Rect(left, y - 0.2 * size, left + wide, y + 0.75 * size)
            if not (box.left <= rect.left and rect.right <= box.right and box.top <= y <= box.bottom):
                yield rect


def box_of(place: Mapping[str, Any]) -> Rect:
    """Return the rectangle of a box by its place."""
    x, y = map(float, place["pos"].split(","))
    return Rect.around((x, y), 72 * float(place["width"]), 72 * float(place["height"]))


def with_straight_lines(
    layout: Layout,
    picture: Picture,
    statements: Sequence[Statement],
    rects: Mapping[str, Rect],
    texts: Sequence[Rect],
) -> Layout:
    """Return the layout with lines that are as straight as they can be, and the texts on them where they are free."""
    shapes = [one for one in statements if isinstance(one, Shape) and one.id in rects]
    plates = {one.id: rects[one.id] for one in shapes if isinstance(one, Plate)}
    boxes = {one.id: rects[one.id] for one in shapes if not isinstance(one, Plate)}
    circles = {one.id for one in shapes if one.look.get("shape") == "circle"}
    arrows = [one for one in statements if isinstance(one, Arrow)]
    out = {one.start: at for at, one in enumerate(arrows) if one.start in plates}
    numbers = [
        (at, out[one.end]) if one.end in out else (at,)
        for at, one in enumerate(arrows)
        if one.start not in plates and "pos" in layout.arrows[at] and one.start != one.end
    ]
    courses = []
    for own in numbers:
        curves = [curve_of(layout.arrows[at]["pos"]) for at in own]
        first, last = curves[0], curves[-1]
        points = [first[1]] if first[1] is not None else []
        for curve in curves:
            points += [*points_on(curve[0])][::3]
            points.append(curve[0][-1])
        points += [last[2]] if last[2] is not None else []
        head = hypot(last[0][-1][0] - last[2][0], last[0][-1][1] - last[2][1]) if last[2] is not None else 0.0
        plate = plates.get(arrows[own[0]].end)
        courses.append(Course(arrows[own[0]].start, arrows[own[-1]].end, points, plate, head))
    is_across = picture.graph.get("rankdir", "TB") in ("LR", "RL")
    free = {number for number, own in enumerate(numbers) if plates or is_routed(arrows[own[0]])}
    router = Router(courses, boxes, circles, texts, free, is_across=is_across)
    routes = router.routed()
    new_shapes, lines = dict(layout.shapes), list(layout.arrows)
    for own, route in zip(numbers, routes, strict=True):
        if route.is_own:
            continue
        for at, piece in zip(own, route.pieces, strict=True):
            lines[at] = {**layout.arrows[at], "pos": straight_pos(piece, curve_of(layout.arrows[at]["pos"]))}
        if route.plate is not None:
            x, y = middle_of(route.plate)
            name = arrows[own[0]].end
            new_shapes[name] = {**layout.shapes[name], "pos": f"{x:.3f},{y:.3f}"}
    whole = extent([layout.bounds[:2], layout.bounds[2:], *(point for route in routes for point in route.points)])
    bounds = whole.left, whole.top, whole.right, whole.bottom
    return layout._replace(shapes=new_shapes, arrows=lines, bounds=bounds, is_clear=router.is_clear)


def straight_pos(points: Sequence[Point], like: Curve) -> str:
    """Return a line of straight pieces as Graphviz writes its place, with the arrowheads of another one."""
    curve, start, end = like
    way, marks = list(points), ""
    if start is not None:
        marks += f"s,{way[0][0]:.3f},{way[0][1]:.3f} "
        way[0] = towards(way[0], way[1], hypot(curve[0][0] - start[0], curve[0][1] - start[1]))
    if end is not None:
        marks += f"e,{way[-1][0]:.3f},{way[-1][1]:.3f} "
        way[-1] = towards(way[-1], way[-2], hypot(curve[-1][0] - end[0], curve[-1][1] - end[1]))
    thirds = [
        towards(a, b, share * hypot(b[0] - a[0], b[1] - a[1])) for a, b in pairwise(way) for share in (1 / 3, 2 / 3, 1)
    ]
    return marks + " ".join(f"{x:.3f},{y:.3f}" for x, y in (way[0], *thirds))


def towards(point: Point, other: Point, length: float) -> Point:
    """Return the point that is so far from one towards another."""
    share = length / (hypot(other[0] - point[0], other[1] - point[1]) or 1)
    return point[0] + share * (other[0] - point[0]), point[1] + share * (other[1] - point[1])


def curve_of(place: str) -> Curve:
    """Return a line as Graphviz writes its place.

    >>> curve_of("e,40,0 0,0 10,0 20,0 34,0")
    ([(0.0, 0.0), (10.0, 0.0), (20.0, 0.0), (34.0, 0.0)], None, (40.0, 0.0))
    """
    marked = [(mark, (float(x), float(y))) for mark, x, y in _POINT.findall(place)]
    tips = dict(marked)
    return [point for mark, point in marked if not mark], tips.get("s,"), tips.get("e,")


def placed(statements: Iterable[Statement], layout: Layout) -> list[Statement]:
    """Return boxes and lines with the places of a layout; a shape of a fixed size keeps it, as its label is larger."""
    result: list[Statement] = []
    count = 0
    for one in statements:
        if isinstance(one, Arrow):
            if layout.arrows[count] or one.look.get("style") != "invis":
                result.append(one._replace(look={**one.look, **layout.arrows[count]}))
            count += 1
        elif isinstance(one, Shape):
            result.append(one._replace(look={**one.look, **layout.shapes[one.id], **fixed_size(one)}))
        else:
            whole = [layout.frames[one.path]] if one.path in layout.frames else [{}]
            first, *others = [piece for path, piece in layout.pieces if path == one.path] or whole
            for number, piece in enumerate(others):  # before the frame, and so behind all that is in it
                result += [Frame(f"{one.path} … {number}", framed(one, piece)), Frame()]
            result.append(one._replace(look=framed(one, first)) if one.path else one)
    return result


def framed(frame: Frame, place: Mapping[str, str]) -> dict[str, str]:
    """Return the look of a frame at its place; lines of its title begin below each other."""
    lines = place.get("label", "").split("\n")
    label = {"label": left_aligned(lines)} if len(lines) > 1 else {}
    return {**frame.look, **place, **label}


def with_places(picture: Picture, write: Callable[[Picture], str], graphviz: str) -> Picture:
    """Return a picture with the places of its layout; what stands below it gets its place when it is drawn.

    Args:
        picture: what is laid out.
        write: returns a picture as DOT.
        graphviz: the engine that lays out.
    """
    layout = laid_out(picture, write, graphviz)
    graph = {key: value for key, value in picture.graph.items() if key not in ("size", "rankdir")}
    return replace(picture, graph=graph, statements=placed(picture.statements, layout))


SHARES = (0.0, 0.25, 0.5, 0.75, 1.0)
"""Where along its width a text of a line is looked for."""

SPACES = "ranksep", "nodesep"
"""The room between boxes, which is made larger where a line has no way around a text."""

PAD, CLEAR = 8.0, 3.0
"""Points around the title of a frame as Graphviz places it, and those between it and a line."""

WIDER = 2.2, 3.0, 4.0
"""How many times wider than its title a frame becomes that has no room for it: what is inside is in the middle, so
lines come in beside the title."""


class Title(NamedTuple):
    """The title of a frame: its lines, the size and the face of their type."""

    lines: Sequence[str]
    size: float
    face: str

    @classmethod
    def of(cls, frame: Mapping[str, str]) -> Title:
        """Return the title of a frame as it was laid out."""
        face = "sans" if frame["fontname"] == SANS else "mono"
        return cls([line.rstrip() for line in frame["label"].split("\n")], float(frame["fontsize"]), face)

    @property
    def width(self) -> float:
        """How wide its longest line is."""
        return max(type_width(line, self.size, self.face) for line in self.lines)

    @property
    def height(self) -> float:
        """How high all of its lines are."""
        return 1.2 * self.size * len(self.lines)

    def wide_label(self, times: float) -> str:
        """Return its text in more lines, so many times as wide as they are."""
        lines = [part for line in self.lines for part in line.split("  ", 1)]
        spaces = (times - 1) * self._replace(lines=lines).width / type_width(" ", self.size, self.face)
        return "\n".join(line.ljust(len(line) + round(spaces)) for line in lines)

    def start(self, low: float, high: float, lines: Iterable[float]) -> float | None:
        """Return where it begins between the sides of its frame so that no line strikes it; None if there is no room.

        >>> title = Title(["net"], 10.0, "mono")
        >>> title.start(0, 70, [10, 15]), title.start(0, 30, [20])
        (18.0, None)
        """
        struck = sorted(lines)
        starts = (x for x in (low + PAD, *(x + CLEAR for x in struck)) if low + PAD <= x <= high - PAD - self.width)
        return next((x for x in starts if not any(x - CLEAR < y < x + self.width + CLEAR for y in struck)), None)


def with_free_titles(layout: Layout) -> tuple[Layout, set[str]]:
    """Return the layout with titles of frames where no line strikes them, and the frames that have no such place."""
    points = [point for arrow in layout.arrows for point in points_on(curve_of(arrow.get("pos", ""))[0])]
    rects = texts_of_lines(layout).values()
    texts = [
        (rect.left + share * (rect.right - rect.left), y) for rect in rects for share in SHARES for y in rect[1::2]
    ]
    frames, struck = dict(layout.frames), set[str]()
    for path, frame in frames.items():
        title, (left, _, right, _) = Title.of(frame), map(float, frame["bb"].split(","))
        middle = float(frame["lp"].split(",")[1])
        beside = [x for x, y in [*points, *texts] if abs(y - middle) < title.height / 2]
        start = title.start(left, right, beside)
        if start is None:
            struck.add(path)
            start = left + PAD
        frames[path] = {**frame, "label": "\n".join(title.lines), "lp": f"{start + title.width / 2:.3f},{middle:.3f}"}
    return layout._replace(frames=frames), struck


def points_on(curve: Sequence[Point]) -> Iterator[Point]:
    """Yield points on a line of Bezier curves, so near to one another that none passes a letter unseen.

    >>> list(points_on([(0.0, 0.0), (0.0, 2.0), (0.0, 4.0), (0.0, 6.0)]))
    [(0.0, 0.0), (0.0, 3.0), (0.0, 6.0)]
    """
    for at in range(0, len(curve) - 3, 3):
        a, b, c, d = curve[at : at + 4]
        steps = 1 + round(max(abs(d[0] - a[0]), abs(d[1] - a[1])) / 5)
        for step in range(steps + 1):
            t, u = step / steps, 1 - step / steps
            weights = u**3, 3 * u * u * t, 3 * u * t * t, t**3
            x, y = (sum(w * point[axis] for w, point in zip(weights, (a, b, c, d), strict=True)) for axis in (0, 1))
            yield x, y
