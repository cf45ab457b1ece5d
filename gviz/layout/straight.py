"""Lines of a picture that Graphviz has laid out, as straight as they can be; the texts on them where the line is free.

For Graphviz a text on a line is a box between two others: that keeps room for it, and bends the line. When all places
are known, each line gets the best of a few routes between its ends, and its text the best place along that route.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import pairwise
from math import atan2, hypot, pi
from typing import NamedTuple

from gviz.layout.spots import Rect, count_crossings, extent, runs_along

Point = tuple[float, float]

STRUCK, TOUCHED, ALONG, CROSSED, TURNED, ASIDE = 100.0, 30.0, 30.0, 10.0, 8.0, 12.0
"""What a route costs: through a box or a text, close to one, along another line, across one; that it turns by a right
angle; and that its text is at an end of it, and not in the middle."""

CLOSE, HAIR = 4.0, 1.5
"""Points that a line keeps from boxes, and from texts."""

LEAD = 7.0
"""Points of a line that are seen before its text, and behind it besides the arrowhead."""

SHARES = (0.5, 0.42, 0.58, 0.34, 0.66, 0.26, 0.74, 0.18, 0.82)
"""Where along a line a text may stand."""

LEVELS = (0.15, 0.3, 0.5, 0.7, 0.85)
"""Where along Graphviz's line the levels are tried at which a line with two bends goes, and where it changes its level."""

FLAT = 0.5
"""How far a line goes towards the edge of a box, by how far it goes along it, so that it is seen to end there."""

ROUNDS = 3
"""How often each line looks for a better route, with the others where they are by then."""


class Course(NamedTuple):
    """A line as Graphviz has drawn it.

    Args:
        source, target: the ids of the boxes at its ends.
        points: those of the line, as short straight pieces.
        plate: the rectangle of the text on it, if there is one.
        head: the length of its arrowhead.
    """

    source: str
    target: str
    points: Sequence[Point]
    plate: Rect | None
    head: float


class Route:
    """A route of a line.

    Args:
        points: those of the line.
        plate: the rectangle of the text on it.
        share: how much of the line is before the middle of that.
        is_own: whether it is Graphviz's own.

    Attributes:
        text_cost: what its text costs by what does not move, once that is known.
    """

    def __init__(
        self, points: Sequence[Point], plate: Rect | None, share: float = SHARES[0], *, is_own: bool = False
    ) -> None:
        self.points, self.plate, self.share, self.is_own = points, plate, share, is_own
        self.text_cost: float | None = None

    @cached_property
    def extent(self) -> Rect:
        """The rectangle around all of it."""
        return extent([*self.points, *((self.plate[:2], self.plate[2:]) if self.plate is not None else ())])

    @cached_property
    def legs(self) -> list[tuple[Point, Point, Rect]]:
        """The straight parts of the whole line, each with the rectangle around it."""
        return [(*pair, extent(pair)) for pair in pairwise(self.points)]

    @cached_property
    def segments(self) -> list[tuple[Point, Point]]:
        """The straight parts of what is seen of the line."""
        return [pair for piece in self.pieces for pair in pairwise(piece)]

    @cached_property
    def pieces(self) -> list[Sequence[Point]]:
        """The line without what is behind its text."""
        if self.plate is None:
            return [self.points]
        inside = [at for at, pair in enumerate(pairwise(self.points)) if self.plate.is_hit(*pair)]
        if not inside:
            return [self.points]
        first, last = inside[0], inside[-1]
        enter = entry_into(self.plate, self.points[first], self.points[first + 1])
        leave = entry_into(self.plate, self.points[last + 1], self.points[last])
        return [[*self.points[: first + 1], enter], [leave, *self.points[last + 1 :]]]


class Router:
    """Finds routes for the lines of a picture.

    Args:
        courses: the lines.
        boxes: the rectangles of boxes, by id.
        round_: the ids of circles.
        texts: the rectangles of texts outside of their boxes.
        free: the numbers of the lines that may get another route.
        is_across: whether the picture runs from left to right.
    """

    def __init__(
        self,
        courses: Sequence[Course],
        boxes: Mapping[str, Rect],
        round_: set[str],
        texts: Sequence[Rect],
        free: Collection[int],
        *,
        is_across: bool,
    ) -> None:
        self.courses, self.boxes, self.round, self.is_across = courses, boxes, round_, is_across
        self.free, self.texts = free, [text.grown(HAIR, HAIR) for text in texts]
        self.routes = [Route(course.points, course.plate, is_own=True) for course in courses]
        self.costs = [0.0 for _ in courses]

    @property
    def is_clear(self) -> bool:
        """Whether no line goes through a box or a text, once the routes are there."""
        return all(cost < STRUCK for cost in self.costs)

    def routed(self) -> list[Route]:
        """Return the best route of each line."""
        routes_of_courses = {
            number: sorted(self._routes_of(course), key=lambda pair: pair[0])
            for number, course in enumerate(self.courses)
            if number in self.free
        }
        for _ in range(ROUNDS):
            before = list(self.routes)
            for number, routes in routes_of_courses.items():
                self.routes[number] = self._best(number, routes)
            if before == self.routes:
                break
        return self.routes

    def _best(self, number: int, routes: Sequence[tuple[float, list[Route]]]) -> Route:
        """Return the route of a line that is best beside those of the others by now."""
        course, others = self.courses[number], [route for at, route in enumerate(self.routes) if at != number]
        best, least = self.routes[number], float("inf")
        for cost, places in routes:
            if cost >= least:
                break
            for route in places:
                if route.text_cost is None:
                    route.text_cost = self._text_cost(course, route)
                alone = cost + route.text_cost
                whole = alone + cost_beside(route, others, least - alone) if alone < least else alone
                if whole < least:
                    best, least = route, whole
        self.costs[number] = least
        return best

    def _routes_of(self, course: Course) -> Iterator[tuple[float, list[Route]]]:
        """Yield routes of a line with what they cost, each with some places of its text."""
        yield self._line_cost(course, course.points), [Route(course.points, course.plate, is_own=True)]
        for points in self._paths(course):
            if course.plate is None:
                places = [Route(points, None)]
            else:
                wide, high = course.plate.right - course.plate.left, course.plate.bottom - course.plate.top
                places = [Route(points, Rect.around(point_at(points, share), wide, high), share) for share in SHARES]
            yield self._line_cost(course, points), places

    def _paths(self, course: Course) -> Iterator[list[Point]]:
        """Yield routes between the ends of a line: straight, then with bends."""
        start, end = course.points[0], course.points[-1]
        yield self._touching(course, [start, end])
        yield [start, end]
        middles = [middle_of(self.boxes[name]) for name in (course.source, course.target)]
        if not {course.source, course.target} & self.round:
            yield [
                entry_into(self.boxes[course.source], *middles[::-1]),
                entry_into(self.boxes[course.target], *middles),
            ]
        if course.plate is not None:
            yield self._touching(course, [start, middle_of(course.plate), end])
            yield [start, middle_of(course.plate), end]
        axis = 0 if self.is_across else 1
        for share in (0.2, 0.35, 0.5, 0.65, 0.8):
            along = start[axis] + share * (end[axis] - start[axis])
            for part in (0.0, 0.85, 1.0):
                level = start[1 - axis] + part * (end[1 - axis] - start[1 - axis])
                yield self._touching(course, [start, self._bend(along, level), end])
        for share in LEVELS:
            near, far = (start[axis] + part * (end[axis] - start[axis]) for part in (0.15, 0.85))
            level = point_at(course.points, share)[1 - axis]
            yield self._touching(course, [start, self._bend(near, level), self._bend(far, level), end])
            near, far = (start[axis] + part * (end[axis] - start[axis]) for part in (share - 0.06, share + 0.06))
            bends = self._bend(near, start[1 - axis]), self._bend(far, end[1 - axis])
            yield self._touching(course, [start, *bends, end])

    def _bend(self, along: float, level: float) -> Point:
        """Return a point by its places along the ranks and across them."""
        return (along, level) if self.is_across else (level, along)

    def _touching(self, course: Course, points: list[Point]) -> list[Point]:
        """Return a route that ends at the outline of a circle where it comes from the circle's middle."""
        first, last = points[0], points[-1]
        if course.source in self.round:
            first = on_circle(self.boxes[course.source], points[1])
        if course.target in self.round:
            last = on_circle(self.boxes[course.target], points[-2])
        return [first, *points[1:-1], last]

    def _line_cost(self, course: Course, points: Sequence[Point]) -> float:
        """Return what the line costs of a route, by boxes and their texts."""
        segments, around = [*pairwise(points)], extent(points).grown(CLOSE, CLOSE)
        cost = TURNED * turning(points) / (pi / 2) + TOUCHED * self._is_flat(course, points)
        for name, box in self.boxes.items():
            if not around.meets(box):
                continue
            if name in (course.source, course.target):
                inner = box.grown(-CLOSE, -CLOSE)
                cost += STRUCK * any(inner.is_hit(*pair) for pair in segments)
            elif any(box.grown(CLOSE, CLOSE).is_hit(*pair) for pair in segments):
                cost += STRUCK if any(box.is_hit(*pair) for pair in segments) else TOUCHED
        return cost + STRUCK * sum(
            around.meets(text) and any(text.is_hit(*pair) for pair in segments) for text in self.texts
        )

    def _is_flat(self, course: Course, points: Sequence[Point]) -> bool:
        """Return whether a line comes to the edge of a box as if it ran along it."""
        if course.target in self.round:
            return False
        box, (x, y), (from_x, from_y) = self.boxes[course.target], points[-1], points[-2]
        is_at_side = min(abs(x - box.left), abs(x - box.right)) < min(abs(y - box.top), abs(y - box.bottom))
        inwards, along = (abs(x - from_x), abs(y - from_y))[:: 1 if is_at_side else -1]
        return inwards < FLAT * along

    def _text_cost(self, course: Course, route: Route) -> float:
        """Return what the text costs of a route, by boxes and their texts, and by where on the line it is."""
        plate, pieces = route.plate, route.pieces
        if plate is None:
            return 0.0
        around, wide = plate.grown(CLOSE / 2, CLOSE / 2), plate.grown(CLOSE, 1)
        struck = sum(around.meets(box) for box in self.boxes.values()) + sum(wide.meets(text) for text in self.texts)
        first, last = (
            sum(hypot(b[0] - a[0], b[1] - a[1]) for a, b in pairwise(piece)) for piece in (pieces[0], pieces[-1])
        )
        is_short = not route.is_own and (len(pieces) < 2 or first < LEAD or last < course.head + LEAD)
        return STRUCK * (struck + is_short) + ASIDE * abs(route.share - SHARES[0])


def cost_beside(route: Route, others: Iterable[Route], most: float) -> float:
    """Return what a route costs beside those of other lines, or more than ``most``."""
    cost, around = 0.0, route.extent.grown(1, 1)
    for other in others:
        if not around.meets(other.extent):
            continue
        if route.plate is not None:
            if other.plate is not None:
                cost += STRUCK * route.plate.grown(CLOSE / 2, CLOSE / 2).meets(other.plate)
            cost += STRUCK * any(route.plate.is_hit(*pair) for pair in other.segments)
        if other.plate is not None:
            cost += STRUCK * any(other.plate.is_hit(*pair) for pair in route.segments)
        near = [leg[:2] for leg in other.legs if around.meets(leg[2])]  # of a long line few are near
        cost += CROSSED * any(count_crossings([pair, leg]) for leg in near for pair in pairwise(route.points))
        cost += ALONG * any(runs_along(pair, leg) for leg in near for pair in pairwise(route.points))
        if cost >= most:
            break
    return cost


def middle_of(box: Rect) -> Point:
    """Return the middle of a rectangle."""
    return (box.left + box.right) / 2, (box.top + box.bottom) / 2


def point_at(points: Sequence[Point], share: float) -> Point:
    """Return the point of a line that so much of its length is before."""
    lengths = [hypot(b[0] - a[0], b[1] - a[1]) for a, b in pairwise(points)]
    rest = share * sum(lengths)
    for (a, b), length in zip(pairwise(points), lengths, strict=True):
        if rest <= length:
            part = rest / (length or 1)
            return a[0] + part * (b[0] - a[0]), a[1] + part * (b[1] - a[1])
        rest -= length
    return points[-1]


def turning(points: Sequence[Point]) -> float:
    """Return by how much a line turns, all in all."""
    angles = [atan2(b[1] - a[1], b[0] - a[0]) for a, b in pairwise(points) if a != b]
    return sum(abs((after - before + pi) % (2 * pi) - pi) for before, after in pairwise(angles))


def entry_into(box: Rect, outside: Point, inside: Point) -> Point:
    """Return where a straight line comes into a rectangle."""
    share = 0.0
    for axis in (0, 1):
        start, delta = outside[axis], inside[axis] - outside[axis]
        low, high = box[axis], box[axis + 2]
        if delta and not low < start < high:
            share = max(share, ((low if start <= low else high) - start) / delta)
    return outside[0] + share * (inside[0] - outside[0]), outside[1] + share * (inside[1] - outside[1])


def on_circle(box: Rect, towards: Point) -> Point:
    """Return where the line from the middle of a circle to a point leaves it."""
    (x, y), radius = middle_of(box), (box.right - box.left) / 2
    length = hypot(towards[0] - x, towards[1] - y) or 1
    return x + (towards[0] - x) * radius / length, y + (towards[1] - y) * radius / length
