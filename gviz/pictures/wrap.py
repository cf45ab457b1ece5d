"""A long, thin graph in several rows, or columns: cut between its ranks, its lines go on in the next row.

A layout goes in, a layout comes out; only places change. Graphviz draws a line in pieces if its place has a ``;``
between.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain, pairwise
from typing import NamedTuple

from gviz.pictures.places import PAD, Curve, Layout, Point, Title, curve_of, points_on

MOST_PARTS = 5
"""Rows, or columns."""

SPACE = 22.0
"""Points between two of them."""

INSET = 8.0
"""Points between the outline of a frame and what is in it."""

NARROW = 4.0
"""Points of a space in which nothing is cut: lines begin about as far from their boxes."""

STUB = 12.0
"""Points that a line is longer where it is cut."""

LABEL, LOW_LABEL = 30.0, 12.0
"""Points that the text of a line takes, about, and those of its height: Graphviz does not tell."""

NEAR = 0.25
"""How far from its ideal place a cut may be, as a part of a row, to strike fewer lines."""

SHARES, HEAD = (0.5, 0.3, 0.7), 100
"""Where in the space between two ranks a cut may be; what it costs to cut through an arrowhead, in lines."""


class Turn(NamedTuple):
    """How points are turned so that a graph runs from left to right and its parts stand above each other, and back."""

    is_across: bool
    sign: float

    def to(self, point: Point) -> Point:
        """Return a point as (along the ranks, across them)."""
        x, y = point
        return (x * self.sign, -y) if self.is_across else (-y * self.sign, x)

    def back(self, point: Point) -> Point:
        """Return a point that :meth:`to` has turned."""
        along, over = point
        return (along * self.sign, -over) if self.is_across else (over, -along * self.sign)


TURNS = {"TB": Turn(False, 1), "BT": Turn(False, -1), "LR": Turn(True, 1), "RL": Turn(True, -1)}


Pieces = list[tuple[int, list[Point]]]
"""A line, turned: the points of its pieces, each with the number of the part that it is in."""


def wrapped(layout: Layout, count: int, direction: str) -> Layout | None:
    """Return the layout in so many rows or columns; None if there is no place for that many cuts.

    Args:
        layout: what Graphviz has laid out.
        count: how many parts there are to be, from 2 on.
        direction: from where to where it runs, one of :data:`gviz.pictures.options.RANKDIRS`.
    """
    turn = TURNS[direction]
    boxes = {name: _box_of(shape, turn) for name, shape in layout.shapes.items()}
    curves = [_turned(arrow.get("pos", ""), turn) for arrow in layout.arrows]
    labels = [_turned(arrow.get("lp", ""), turn)[0] for arrow in layout.arrows]
    texts = [(label[0], (LABEL if turn.is_across else LOW_LABEL, LABEL)) for label in labels if label]
    frames = {path: Area.of(frame, turn) for path, frame in layout.frames.items()}
    edges = [edge for frame in frames.values() for edge in frame.edges(boxes.values())]
    places = cuts([*boxes.values(), *texts, *edges], curves, [*frames.values()], count)
    if places is None:
        return None
    part_of = {name: sum(place < along for place in places) for name, ((along, _), _) in boxes.items()}
    heads = [0.0, *(sum(frame.head for frame in frames.values() if frame.is_cut(place)) for place in places)]
    lines = [with_stubs(list(split(points, places)), heads) for points, _, _ in curves]
    along = [place + side * width / 2 for (place, _), (width, _) in [*boxes.values(), *edges] for side in (-1, 1)]
    begins, ends = [min(along), *places], [*places, max(along)]
    spans: list[list[float]] = [[] for _ in begins]
    for name, ((_, over), (_, height)) in boxes.items():
        spans[part_of[name]] += [over - height / 2, over + height / 2]
    for part, points in chain.from_iterable(lines):
        spans[part] += [over for _, over in points]
    for number, (width, height) in layout.texts.items():
        half = (height if turn.is_across else width) / 2
        spans[part_at(labels[number], places)] += [labels[number][0][1] + side * half for side in (-1, 1)]
    parts = [Strip(*one) for one in zip(begins, ends, heads, spans, strict=True)]
    pieces = [*frame_pieces(frames, parts, list(chain.from_iterable(lines)), turn)]
    for _, part, piece, _ in pieces:
        spans[part] += [piece.top, piece.bottom]
    shifts, low = [], 0.0
    for begin, head, span in zip(begins, heads, spans, strict=True):
        shifts.append((STUB + head - begin, low - min(span)))
        low += max(span) - min(span) + SPACE

    def moved(point: Point, part: int) -> str:
        x, y = turn.back((point[0] + shifts[part][0], point[1] + shifts[part][1]))
        return f"{x:.3f},{y:.3f}"

    shapes = {name: {**shape, "pos": moved(boxes[name][0], part_of[name])} for name, shape in layout.shapes.items()}
    arrows = []
    for arrow, line, curve, label in zip(layout.arrows, lines, curves, labels, strict=True):
        pos = {"pos": _place_of(line, curve, moved)} if line else {}
        lp = {"lp": moved(label[0], part_at(label, places))} if label else {}
        arrows.append({**arrow, **pos, **lp})
    placed: list[tuple[str, Mapping[str, str]]] = []
    for path, part, piece, title in pieces:
        corners = [_point(moved(corner, part)) for corner in ((piece.low, piece.top), (piece.high, piece.bottom))]
        (left, right), (bottom, top) = (sorted(side) for side in zip(*corners, strict=True))
        bb = f"{left:.3f},{bottom:.3f},{right:.3f},{top:.3f}"
        place = {**layout.frames[path], "bb": bb, "lp": moved(piece.middle, part), "label": title}
        placed.append((path, place))
    joints = [(str(number), part, end) for number, joint in enumerate(joints_of(lines), 1) for part, end in joint]
    marks = [(number, *turn.back((x + shifts[part][0], y + shifts[part][1]))) for number, part, (x, y) in joints]
    length = max(end - begin + head for begin, end, head in zip(begins, ends, heads, strict=True)) + 2 * STUB
    page = [turn.back((0.0, 0.0)), turn.back((length, low - SPACE))]
    (x0, x1), (y0, y1) = (sorted(values) for values in zip(*page, strict=True))
    return layout._replace(shapes=shapes, arrows=arrows, bounds=(x0, y0, x1, y1), marks=marks, pieces=placed)


class Area(NamedTuple):
    """A frame, turned.

    Args:
        low: where it begins along the ranks.
        high: where it ends.
        top: where it begins across them.
        bottom: where it ends.
        middle: of its title.
        title: its title.
        head: the room along the ranks for the title of a part that begins within the frame.
    """

    low: float
    high: float
    top: float
    bottom: float
    middle: Point
    title: Title
    head: float

    @classmethod
    def of(cls, frame: Mapping[str, str], turn: Turn) -> Area:
        """Return a frame as it was laid out, turned."""
        x0, y0, x1, y1 = (float(number) for number in frame["bb"].split(","))
        ends = zip(turn.to((x0, y0)), turn.to((x1, y1)), strict=True)
        (low, high), (top, bottom) = (sorted(pair) for pair in ends)
        title = Title.of(frame)
        head = INSET if turn.is_across else title._replace(lines=title.lines[:1]).height + 2
        return cls(low, high, top, bottom, turn.to(_point(frame["lp"])), title, head)

    def is_cut(self, place: float) -> bool:
        """Return whether a cut goes through it."""
        return self.low < place < self.high

    def title_in(self, begin: float) -> Title:
        """Return its title in a part that begins there: where it goes on, its name alone."""
        lines = [f"… {self.title.lines[0].partition('  ')[0]}"] if self.is_cut(begin) else self.title.lines
        return self.title._replace(lines=lines)

    def is_around(self, other: Area) -> bool:
        """Return whether it is around another frame, or is that."""
        is_along = self.low <= other.low and other.high <= self.high
        return is_along and self.top <= other.top and other.bottom <= self.bottom

    def edges(self, boxes: Iterable[tuple[Point, Point]]) -> Iterator[tuple[Point, Point]]:
        """Yield as boxes what is between the ends of the frame and the first and the last box in it: no cut is there."""
        inside = [
            (along - width / 2, along + width / 2)
            for (along, over), (width, _) in boxes
            if self.is_cut(along) and self.top < over < self.bottom
        ]
        first, last = min(low for low, _ in inside), max(high for _, high in inside)
        for low, high in ((self.low, first), (last, self.high)):
            yield ((low + high) / 2, self.top), (high - low + 1, 0.0)


class Strip(NamedTuple):
    """A row or column.

    Args:
        begin: where it begins along the ranks.
        end: where it ends.
        head: the room above it for the titles of frames that are cut there.
        over: where there is something across the ranks.
    """

    begin: float
    end: float
    head: float
    over: Sequence[float]


def frame_pieces(
    frames: Mapping[str, Area], parts: Sequence[Strip], lines: Pieces, turn: Turn
) -> Iterator[tuple[str, int, Area, str]]:
    """Yield the pieces of each frame: its path, the number of the part, where it is there, its title; outer ones first.

    Args:
        frames: by their paths.
        parts: the rows or columns.
        lines: pieces of lines, which no title is to be on.
        turn: how all is turned.
    """
    paths = sorted(frames, key=lambda path: frames[path].low - frames[path].high)
    depths = {path: sum(frames[outer].is_around(frames[path]) for outer in paths) for path in paths}
    for number, (begin, end, head, over) in enumerate(parts):
        points = [point for at, line in lines if at == number for point in points_on(line)]
        inside = [path for path in paths if frames[path].low < end and begin < frames[path].high]
        levels = {path: max(depths.values()) - depths[path] + 1 for path in inside}
        titles = {path: frames[path].title_in(begin) for path in inside}
        bottoms = {path: min(frames[path].bottom, max(over) + INSET * levels[path]) for path in inside}
        first = min([*over, *(bottoms[path] - titles[path].width - PAD + INSET * levels[path] for path in inside)])
        used = begin - head
        for path in inside:
            frame, title, is_rest = frames[path], titles[path], frames[path].is_cut(begin)
            above = levels[path] * (title.height + PAD if turn.is_across else INSET)
            top, bottom, half = max(frame.top, first - above), bottoms[path], title.width / 2 + PAD
            low, high = used if is_rest else frame.low, min(frame.high, end)
            used += frame.head * is_rest
            is_struck = False
            if turn.is_across:
                middle = (low + half if turn.sign > 0 else high - half), top + (title.height + PAD) / 2
            else:
                along, clear = low + frame.head / 2 if is_rest else frame.middle[0], 0.0
                if along > high:  # a title at the lower end stands where the lines are longer, beside their numbers
                    high, clear = high + STUB - 1, NARROW
                    along = high - title.height / 2
                near = (y for x, y in points if abs(x - along) < title.height / 2 + clear)
                beside = [place for y in near for place in (y - clear, y, y + clear)]
                start = title.start(top, bottom, beside)
                middle = along, (top + PAD if start is None else start) + title.width / 2
                is_struck = start is None
            place = frame._replace(low=low, high=high, top=top, bottom=bottom, middle=middle)
            yield (
                path,
                number,
                place,
                "" if is_struck and is_rest else "\n".join(title.lines),
            )  # where it goes on it is known


def _point(text: str) -> Point:
    """Return a point as Graphviz writes it."""
    x, y = text.split(",")
    return float(x), float(y)


def _box_of(shape: Mapping[str, str], turn: Turn) -> tuple[Point, Point]:
    """Return the middle and the size of a box, turned."""
    width, height = float(shape["width"]) * 72, float(shape["height"]) * 72
    return turn.to(_point(shape["pos"])), (width, height) if turn.is_across else (height, width)


def _turned(place: str, turn: Turn) -> Curve:
    """Return a line as Graphviz has placed it, turned."""
    points, start, end = curve_of(place)
    return [*map(turn.to, points)], start and turn.to(start), end and turn.to(end)


def cuts(
    boxes: Sequence[tuple[Point, Point]], curves: Sequence[Curve], frames: Sequence[Area], count: int
) -> list[float] | None:
    """Return where to cut so that the parts are about as long and few lines and frames are struck; None if that fails.

    No arrowhead is cut off: it begins where the points of the curve end.
    """
    intervals = sorted((along - width / 2, along + width / 2) for (along, _), (width, _) in boxes)
    free, reach = [], intervals[0][1]
    for low, high in intervals:
        if low > reach + NARROW:
            free += [reach + (low - reach) * share for share in SHARES]
        reach = max(reach, high)
    first, length = intervals[0][0], reach - intervals[0][0]
    places: list[float] = []
    for number in range(1, count):
        ideal = first + length * number / count
        rest = [place for place in free if not places or place > places[-1]]
        near = [place for place in rest if abs(place - ideal) <= NEAR * length / count]
        if not near:
            return None
        struck = {
            place: sum(map(partial(cost, place=place), curves)) + sum(frame.is_cut(place) for frame in frames)
            for place in near
        }
        best = min(near, key=lambda place: (struck[place], abs(place - ideal)))
        if struck[best] >= HEAD:  # an arrow would end in nothing, and the number of its other end stand nowhere
            return None
        places.append(best)
    return places


def cost(curve: Curve, place: float) -> int:
    """Return what it costs to cut a line: nothing if it does not cross, much in an arrowhead."""
    points, start, end = curve
    heads = [(points[0], start), (points[-1], end)] if points else []
    is_in_head = any(tip is not None and crosses([point, tip], place) for point, tip in heads)
    return HEAD if is_in_head else crosses(points, place)


def crosses(points: Sequence[Point], place: float) -> bool:
    """Return whether a line goes from one side of a place to the other."""
    return bool(points) and min(points[0][0], points[-1][0]) < place < max(points[0][0], points[-1][0])


def split(points: list[Point], places: Sequence[float]) -> Iterator[tuple[int, list[Point]]]:
    """Yield the pieces of a curve between places, each with the number of the part that it is in."""
    piece: list[Point] = points[:1]
    for at in range(0, len(points) - 3, 3):
        segment = points[at : at + 4]
        inside = [place for place in places if crosses(segment, place)]
        for place in inside if segment[0][0] < segment[3][0] else reversed(inside):
            before, segment = halves(segment, place)
            yield part_at(before, places), [*piece, *before[1:]]
            piece = segment[:1]
        piece = [*piece, *segment[1:]]
    if len(piece) > 1:
        yield part_at(piece, places), piece


def part_at(points: Sequence[Point], places: Sequence[float]) -> int:
    """Return the number of the part in which a piece of a curve is."""
    middle = (points[0][0] + points[-1][0]) / 2
    return sum(place < middle for place in places)


def halves(segment: Sequence[Point], place: float) -> tuple[list[Point], list[Point]]:
    """Return the two parts of a Bezier curve that crosses a place once, at a parameter found by halving."""
    low, high = 0.0, 1.0
    is_rising = segment[0][0] < segment[3][0]
    for _ in range(40):
        middle = (low + high) / 2
        before, after = at_parameter(segment, middle)
        low, high = (middle, high) if (after[0][0] < place) == is_rising else (low, middle)
    return before, after


def at_parameter(segment: Sequence[Point], share: float) -> tuple[list[Point], list[Point]]:
    """Return a Bezier curve cut at a parameter.

    >>> at_parameter([(0, 0), (0, 2), (2, 2), (2, 0)], 0.5)
    ([(0, 0), (0.0, 1.0), (0.5, 1.5), (1.0, 1.5)], [(1.0, 1.5), (1.5, 1.5), (2.0, 1.0), (2, 0)])
    """
    rows = [list(segment)]
    while len(rows[-1]) > 1:
        rows.append([tuple(a + (b - a) * share for a, b in zip(*pair, strict=True)) for pair in pairwise(rows[-1])])  # type: ignore[misc]
    return [row[0] for row in rows], [row[-1] for row in reversed(rows)]


def with_stubs(pieces: Pieces, heads: Sequence[float]) -> Pieces:
    """Return the pieces of a line, each a bit longer where it has been cut, so that there is room for a mark.

    Args:
        pieces: of the line.
        heads: the room above each part for titles of frames.
    """
    longer = [(part, list(points)) for part, points in pieces]
    for (part, points), (after, rest) in pairwise(longer):
        (x, y), (x1, y1) = points[-1], rest[0]
        step, back = (STUB, STUB + heads[after]) if after > part else (-STUB - heads[part], -STUB)
        points += [(x + step * count / 3, y) for count in (1, 2, 3)]
        rest[:0] = [(x1 - back * count / 3, y1) for count in (3, 2, 1)]
    return longer


def joints_of(lines: Sequence[Pieces]) -> list[list[tuple[int, Point]]]:
    """Return the two ends of each cut, each with its part, as they are read: part by part, and across the line."""
    joints = [[(one[0], one[1][-1]), (other[0], other[1][0])] for line in lines for one, other in pairwise(line)]
    return sorted(joints, key=lambda joint: (joint[0][0], joint[0][1][1]))


def _place_of(pieces: Pieces, curve: Curve, moved: Callable[[Point, int], str]) -> str:
    """Return the place of a line as Graphviz reads it: its pieces with a ``;`` between.

    The piece with an arrowhead at its start comes last: all that come after it would get one as well.
    """
    _, start, end = curve
    texts = []
    for number, (part, points) in enumerate(pieces):
        words = [moved(point, part) for point in points]
        if start is not None and not number:
            words.insert(0, f"s,{moved(start, part)}")
        if end is not None and number == len(pieces) - 1:
            words.insert(0, f"e,{moved(end, part)}")
        texts.append(" ".join(words))
    return ";".join(texts if start is None else reversed(texts))
