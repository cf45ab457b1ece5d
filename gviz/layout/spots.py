"""Free places for texts beside lines that are finished: each near its own line, on no box, no text and no line."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations, pairwise, product
from math import hypot
from typing import NamedTuple

from gviz.layout.ink import Point, Stroke

ON_BOX, ON_LINE, NEAR_LINE, ASTRAY = 60.0, 40.0, 14.0, 30.0
"""What a place costs: on a box or a text, on a line, close to one; and nearer to another line than to its own."""

NEAR_TEXT, CROWDED = 3.0, (4.0, 3.0)
"""And close to a box or to a text of another line, which might be read as one with it; the points, beside and above,
from which on two texts of different lines are told apart at a glance."""

NOT_OURS = (0.0, 18.0)
"""Points beside a box, and above and below it, within which a number reads as that of the box."""

SHARED, APART, UNEVEN = 30.0, 12.0, 14.0
"""What a stretch costs that lines share; that the two texts of a line stand beside different ones; or not opposite."""

ALONG = (
    *((share, 0.0) for share in (0.46, 0.4, 0.52, 0.34, 0.6, 0.28, 0.68, 0.22, 0.76)),
    *((share, 5.0) for share in (0.46, 0.34, 0.58)),
)
"""Where along a stretch a text is tried, the best place first, with the points that it is farther from the line."""

BESIDE = 2.6
"""Points between a line and its text."""

SHORTEST = 14.0
"""Points of the shortest stretch that a text stands beside."""

ROUNDS = 4
"""How often a text looks for a better place, with the others where they are by then."""

BAD = ON_LINE
"""The cost from which on a place is none."""


ASIDE = 3.0
"""Points from a line to its text."""

SHARES = 0.5, 0.25, 0.75
"""Where along a piece of a line its text is tried."""

CELL = 200.0, 30.0
"""The size of a cell of the page, in points."""


class Rect(NamedTuple):
    """A rectangle by its edges."""

    left: float
    top: float
    right: float
    bottom: float

    @classmethod
    def around(cls, middle: Point, wide: float, high: float) -> Rect:
        """Return the rectangle of a size around a point."""
        return cls(middle[0] - wide / 2, middle[1] - high / 2, middle[0] + wide / 2, middle[1] + high / 2)

    def meets(self, other: Rect) -> bool:
        """Return whether two rectangles have a point in common."""
        return (
            self.left < other.right and other.left < self.right and self.top < other.bottom and other.top < self.bottom
        )

    def grown(self, x: float, y: float) -> Rect:
        """Return it with so much more on each side."""
        return Rect(self.left - x, self.top - y, self.right + x, self.bottom + y)

    def is_hit(self, start: Point, end: Point) -> bool:
        """Return whether a straight line goes through it, by the method of Liang and Barsky."""
        (x, y), (to_x, to_y) = start, end
        if (min(to_x, x)) >= self.right or (max(to_x, x)) <= self.left:
            return False
        if (min(to_y, y)) >= self.bottom or (max(to_y, y)) <= self.top:
            return False
        across, down = to_x - x, to_y - y
        if abs(across) < 1e-12 or abs(down) < 1e-12:
            return True
        enter, leave = sorted(((self.left - x) / across, (self.right - x) / across))
        into, out_of = sorted(((self.top - y) / down, (self.bottom - y) / down))
        return max(0.0, enter, into) < min(1.0, leave, out_of)


class Leg(NamedTuple):
    """A straight piece of a line, with the number of that line; -1 for one that has no texts; and half its breadth."""

    start: Point
    end: Point
    line: int
    half: float = 0.0

    def hits(self, rect: Rect) -> bool:
        """Return whether it goes through a rectangle."""
        return rect.grown(self.half, self.half).is_hit(self.start, self.end)


class Spot(NamedTuple):
    """A place of a text: its middle, what it takes, its cost, where along its line it is, whether on the other side."""

    middle: Point
    rect: Rect
    cost: float
    piece: int = 0
    share: float = 0.0
    is_beyond: bool = False


class Sides(NamedTuple):
    """The sizes of the two texts of a line, above it and below it; None for none."""

    above: Point | None
    below: Point | None


class TextPlaces:
    """Where lines and boxes are, and where texts go.

    Args:
        lines: the points of each line that may have texts.
        halves: half the breadth of each, with all that is drawn along it.
        pieces: where lines and arrowheads are.
        boxes: what no text may stand on; texts are added as they are placed.
        twins: by line, those that join the same two boxes, itself among them: to be near to one is to be near to all.

    Attributes:
        crowded: how many texts are close to one of another line, or to another line or box than their own.
        bad: how many lines have a text on something, or beyond the line.
        narrow: the lines of all of these but the first kind.
    """

    def __init__(
        self,
        lines: Sequence[Sequence[Point]],
        halves: Sequence[float],
        pieces: Iterable[Leg],
        boxes: Iterable[Rect],
        twins: Sequence[set[int]],
    ) -> None:
        self.lines, self.twins, self.halves = lines, twins, halves
        self.rects, self.crowded, self.bad, self.narrow = list(boxes), 0, 0, list[int]()
        self.boxes = [*self.rects]
        self.pieces = [(one, extent(one[:2]).grown(one.half, one.half)) for one in pieces]

    def beside(self, texts: Sequence[Sides], sources: Sequence[int]) -> list[list[Spot | None]]:
        """Return the places of the two texts of each line, above and below.

        Args:
            texts: of each line.
            sources: where each line comes from: what lines of one source share carries no text.
        """
        order = sorted(
            (number for number, sides in enumerate(texts) if any(sides)),
            key=lambda number: -abs(self.lines[number][0][1] - self.lines[number][-1][1]),
        )
        spots_of: dict[int, list[Spot | None]] = {}
        for turn in range(ROUNDS):
            for number in order:
                around = [
                    spot.rect
                    for other, spots in spots_of.items()
                    if other != number
                    for spot in spots
                    if spot is not None
                ]
                own = [spot.rect for spot in spots_of.get(number, ()) if spot is not None]
                is_met = any(one.meets(other) for one in own for other in around)  # by one that came later
                if turn and not is_met and worst(spots_of[number]) < BAD:
                    continue
                spots_of[number] = self._pair(number, texts[number], sources, [*self.rects, *around])
        self.rects += [spot.rect for spots in spots_of.values() for spot in spots if spot is not None]
        for number, spots in spots_of.items():
            is_beyond = any(spot is not None and spot.is_beyond for spot in spots)
            self.bad += is_beyond or worst(spots) >= BAD
            self.narrow += [number] * (is_beyond or worst(spots) >= ASTRAY)
        wide = [[spot.rect.grown(*CROWDED) for spot in spots if spot is not None] for spots in spots_of.values()]
        self.crowded = (
            len(self.narrow)
            - self.bad
            + sum(one.meets(other) for first, second in combinations(wide, 2) for one in first for other in second)
        )
        return [spots_of.get(number, [None, None]) for number in range(len(texts))]

    def _pair(self, number: int, sides: Sides, sources: Sequence[int], rects: Sequence[Rect]) -> list[Spot | None]:
        """Return the best places of the two texts of a line, opposite to each other if that is free."""
        best: list[Spot | None] = [None, None]
        least = float("inf")
        tried: list[list[Spot | None]] = [[None] if size is None else [] for size in sides]
        for turn in (1, -1):  # the other side of the line is tried only where the own one has no place
            for spots, size, side in zip(tried, sides, (-1, 1), strict=True):
                new = self._spots(number, size, side * turn, sources, rects) if size is not None else ()
                spots.extend(spot._replace(is_beyond=turn < 0) for spot in new)
            for one, other in product(*tried):
                cost = (one.cost if one is not None else 0.0) + (other.cost if other is not None else 0.0)
                if cost < least and one is not None and other is not None:
                    cost += APART if one.piece != other.piece else UNEVEN * abs(one.share - other.share)
                    is_wrong = other.middle[1] < one.middle[1] and turn < 0  # a legend says which stands above
                    cost = float("inf") if is_wrong or one.rect.meets(other.rect) else cost
                if cost < least:
                    least, best = cost, [one, other]
            if worst(best) < BAD:
                break
        return best

    def _spots(
        self, number: int, size: Point, side: int, sources: Sequence[int], rects: Sequence[Rect]
    ) -> Iterator[Spot]:
        """Yield places of a text on one side of a line."""
        wide, high = size
        ends = self.lines[number][0], self.lines[number][-1]
        strangers = [
            box.grown(*NOT_OURS) for box in self.boxes if not any(box.grown(2, 2).is_hit(end, end) for end in ends)
        ]
        for piece, (start, end) in enumerate(pairwise(self.lines[number])):
            length = hypot(end[0] - start[0], end[1] - start[1])
            if length < SHORTEST:
                continue
            along = (end[0] - start[0]) / length, (end[1] - start[1]) / length
            across = along[1] * side, -along[0] * side
            if across[1] * side < 0 or (abs(across[1]) < 1e-9 and across[0] * side < 0):
                across = -across[0], -across[1]
            base = piece + SHARED * self._is_shared(number, (start, end), sources)
            reach = wide / 2 * abs(across[0]) + high / 2 * abs(across[1]) + BESIDE + self.halves[number]
            middles = [
                (
                    start[0] + along[0] * length * share + across[0] * (reach + more),
                    start[1] + along[1] * length * share + across[1] * (reach + more),
                )
                for share, more in ALONG
            ]
            far = reach + ALONG[-1][1]
            around = extent(middles).grown(max(wide / 2 + 9, far), max(high / 2 + 6, far))
            pieces, taken = self._pieces_in(around), [other for other in rects if other.meets(around)]
            others = [box for box in strangers if box.meets(around)]
            for (share, more), middle in zip(ALONG, middles, strict=True):
                off, rect = reach + more, Rect.around(middle, wide + 3, high + 3)
                cost = base + 6 * abs(share - ALONG[0][0]) + 2 * more + cost_of(rect, number, pieces, taken)
                cost += ASTRAY * any(rect.meets(box) for box in others)
                near = Rect.around(middle, 2 * off, 2 * off)
                if any(
                    one.line not in self.twins[number]
                    and near.is_hit(*one[:2])
                    and distance_to(middle, one) < off - 0.5
                    for one in pieces
                ):
                    cost += ASTRAY
                yield Spot(middle, rect, cost, piece, share)

    def _pieces_in(self, rect: Rect) -> list[Leg]:
        """Return the pieces of lines that may go through a rectangle."""
        return [one for one, around in self.pieces if around.meets(rect)]

    def _is_shared(self, number: int, piece: tuple[Point, Point], sources: Sequence[int]) -> bool:
        """Return whether another line of the same source runs along a piece."""
        return any(
            other != number and source == sources[number] and runs_along(piece, self.lines[other])
            for other, source in enumerate(sources)
        )

    def alone(self, number: int, size: Point) -> Spot | None:
        """Return the best place of the only text of a line, which is taken then; None if it is too short for one.

        It is on either side of it, near to its middle if that is free.
        """
        own, middle = range(len(self.lines)), len(self.lines[number]) / 2 - 1
        spots = [spot for side in (-1, 1) for spot in self._spots(number, size, side, own, self.rects)]
        best = min(spots, key=lambda spot: spot.cost - spot.piece + 2 * abs(spot.piece - middle), default=None)
        if best is not None:
            self.rects.append(best.rect)
        return best

    def near(self, wide: float, high: float, middles: Sequence[Point]) -> Spot:
        """Return the best of some places for a text of that size, which is taken then; the earlier the better."""
        spots = []
        for turn, middle in enumerate(middles):
            rect = Rect.around(middle, wide + 2, high + 2)
            around = rect.grown(*CROWDED)
            cost = turn + cost_among(self.rects, rect, around)
            cost += ON_LINE * sum(one.hits(rect) for one in self._pieces_in(rect))
            spots.append(Spot(middle, rect, cost))
        best = min(spots, key=lambda spot: spot.cost)
        self.rects.append(best.rect)
        return best


class FreePlaces:
    """What of a page is free yet: what is taken is listed by the cells of the page that it touches."""

    def __init__(self) -> None:
        self.rects = defaultdict[tuple[int, int], list[Rect]](list)

    def take(self, rect: Rect) -> None:
        """Note that a rectangle is taken."""
        for cell in cells_of(rect):
            self.rects[cell].append(rect)

    def first(self, middles: Sequence[Point], size: Point) -> Point:
        """Return the first of some middles around which that much is free, or the first of all; it is taken then."""
        middle = next((one for one in middles if self.is_free(Rect.around(one, *size))), middles[0])
        self.take(Rect.around(middle, *size))
        return middle

    def is_free(self, rect: Rect) -> bool:
        """Return whether a rectangle meets nothing."""
        return not any(rect.meets(other) for cell in cells_of(rect) for other in self.rects[cell])


def cells_of(rect: Rect) -> Iterator[tuple[int, int]]:
    """Yield the cells of the page that a rectangle touches."""
    (wide, high), (left, top, right, bottom) = CELL, rect
    return product(range(int(left // wide), int(right // wide) + 1), range(int(top // high), int(bottom // high) + 1))


def places_beside(strokes: Sequence[Stroke], size: Point) -> list[Point]:
    """Return the middles of places for a text of that size along a line: beside what is straight, else on it."""
    places = []
    for share, (start, end) in product(SHARES, pairwise(stroke[-2:] for stroke in strokes)):
        x, y = (one + (other - one) * share for one, other in zip(start, end, strict=True))
        aside, above = (half / 2 + ASIDE for half in size)
        aside, above = aside * (start[0] == end[0]), above * (start[1] == end[1])
        places += [(x + aside, y - above), (x - aside, y + above)]
    return places


def worst(spots: Iterable[Spot | None]) -> float:
    """Return the highest cost of some places."""
    return max([spot.cost for spot in spots if spot is not None], default=0.0)


def cost_of(rect: Rect, number: int, pieces: Iterable[Leg], rects: Sequence[Rect]) -> float:
    """Return what it costs a text of a line to stand there."""
    wide = rect.grown(7, 4)
    cost = cost_among(rects, rect, wide)
    for one in pieces:
        if one.hits(wide):
            cost += ON_LINE * one.hits(rect) + NEAR_LINE * (one.line != number)
    return cost


def cost_among(rects: Iterable[Rect], rect: Rect, around: Rect) -> float:
    """Return what it costs a text to stand on boxes and texts, or close to them: within the rectangle around it."""
    close = [other for other in rects if around.meets(other)]
    return NEAR_TEXT * len(close) + ON_BOX * sum(rect.meets(other) for other in close)


def extent(points: Iterable[Point]) -> Rect:
    """Return the rectangle around points."""
    xs, ys = zip(*points, strict=True)
    return Rect(min(xs), min(ys), max(xs), max(ys))


def distance_to(point: Point, piece: Leg) -> float:
    """Return how far a point is from a piece of a line."""
    (x, y), (left, top) = point, piece.start
    across, down = piece.end[0] - left, piece.end[1] - top
    share = ((x - left) * across + (y - top) * down) / (across**2 + down**2 or 1)
    share = max(0.0, min(1.0, share))
    return hypot(x - left - share * across, y - top - share * down)


def runs_along(piece: tuple[Point, Point], line: Sequence[Point]) -> bool:
    """Return whether a piece lies on a line for more than some points."""
    for start, end in pairwise(line):
        length = hypot(end[0] - start[0], end[1] - start[1]) or 1
        x, y = (end[0] - start[0]) / length, (end[1] - start[1]) / length
        if all(abs((point[0] - start[0]) * y - (point[1] - start[1]) * x) < 0.5 for point in piece):
            along = sorted((point[0] - start[0]) * x + (point[1] - start[1]) * y for point in piece)
            if min(along[1], length) - max(along[0], 0) > 8:
                return True
    return False


def count_crossings(lines: Sequence[Sequence[Point]]) -> int:
    """Return how many pairs of lines cross."""
    pieces = [[(*pair, extent(pair)) for pair in pairwise(line)] for line in lines]

    def turn(a: Point, b: Point, c: Point) -> float:
        return (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])

    return sum(
        turn(a, b, c) * turn(a, b, d) < -1e-6 and turn(c, d, a) * turn(c, d, b) < -1e-6
        for one, other in combinations(pieces, 2)
        for (a, b, around), (c, d, there) in product(one, other)
        if around.meets(there)
    )
