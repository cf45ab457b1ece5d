"""Cards and wires as lectures draw them: circles on straight rows, a value above each line and its gradient below it.

What they say comes from a view; here they get their places, and become ink.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise, zip_longest
from math import copysign, hypot
from typing import NamedTuple

from gviz.layout.fonts.faces import extent_of, type_width
from gviz.layout.ink import BREADTH, Inked, Item, Outline, Pen, Point, Stretch, TextLine, extent_of_ink, shifted
from gviz.layout.rows import Room, RowPlaces, in_rows
from gviz.layout.spots import BAD, Leg, Rect, Sides, TextPlaces, count_crossings
from gviz.pictures.theme import Theme
from gviz.pictures.typesetting import TypeBox

NUMBER, NOTE, NAME = 15.0, 12.6, 15.0
"""Points: of the numbers on lines, of what stands below a circle, of the name of a result."""

LOW = 5.2
"""Points from the middle of a leaf down to the base line of its name, so that names stand level."""

RADIUS, TIGHT = 21.0, 34.0
"""Points: of a circle, and how high a smaller one is."""

HEAD, LINE = 7.5, 1.3
"""Points: of an arrowhead, and the breadth of a line."""

BACK, LIT_HEAD = 2.6, 1.3
"""Points from a wire to its line, and to that back; how many times larger the arrowhead of a line is that a step shows."""

FARTHER = 28.0
"""Points farther from its card, for a text that has no place near to it."""

OUT = 24.0
"""Points of the line that leads out of a root."""

LEAST_ROOM, STEEP, MOST_ROOM = 24.0, 0.62, 150.0
"""Points between columns; how many more a line needs by the height that it climbs, so that none is steep; at most."""

STEEP_TWINS = 30.0
"""Points of height between two cards from which on one of several lines between them is straight."""

TWINS_APART = 74.0
"""Points between lines that join the same two cards: the four numbers of two have their places there."""

MEETING, MEETING_TIGHT = 4.8, 4.2
"""Points between boxes whose lines meet, by the size of the numbers: the four of two lines have their places there."""

STRANDS: tuple[tuple[float, ...], ...] = ((), (7.0, 4.0), (1.6, 3.0), ())
"""The dashes of each path; the fourth is a double line."""

STRAND, DOUBLE, BESIDE = 2.4, 1.2, 3.6
"""Points: of a path, of each half of a double line, and from one path to the next in one line."""

OUTLINES: dict[str, tuple[tuple[float, ...], float]] = {
    "operation": ((), 1.3),
    "leaf": ((), 1.9),
    "again": ((3.0, 2.0), 1.1),
    "frozen": ((4.0, 3.0), 1.3),
    "constant": ((4.0, 3.0), 1.3),
    "intermediate": ((1.5, 2.5), 1.6),
    "output": ((), 2.2),
    "error": ((), 3.0),
}
"""The dashes and the breadth of the outline of each kind of box."""


class End(NamedTuple):
    """What stands at the end of the line out of a root: its name, its value and its gradient."""

    name: TypeBox
    value: str = ""
    grad: str = ""


class Component(NamedTuple):
    """A box of a circuit.

    Args:
        box: what stands in it.
        kind: of its look: ``operation``, ``output``, or a kind of leaf.
        name: of the result of an operation.
        note: what stands below it: the local derivative.
        brief: the same, shorter.
        bare: the same without a local derivative.
        total: its gradient as a sum, if it arrives in several ways.
        end: what stands at the end of the line out of a root; None if it is none.
        tip: what is read on it.
        is_again: whether it is a leaf that stands elsewhere, too.
        is_wrong: whether nan or inf begins here, or backward has stopped here.
        is_faint: whether it does not belong to what is shown.
        node: the id of the node that it is of.
    """

    box: TypeBox
    kind: str
    name: TypeBox = TypeBox()
    note: TypeBox = TypeBox()
    brief: TypeBox = TypeBox()
    bare: TypeBox = TypeBox()
    total: TypeBox = TypeBox()
    end: End | None = None
    tip: str = ""
    is_again: bool = False
    is_wrong: bool = False
    is_faint: bool = False
    node: str = ""

    @property
    def is_round(self) -> bool:
        """Whether it is a circle."""
        return self.kind in ("operation", "output")

    @property
    def look(self) -> str:
        """Which of :data:`OUTLINES` it has."""
        return "error" if self.is_wrong else "again" if self.is_again else self.kind

    def size(self, *, is_tight: bool) -> Point:
        """Return its width and height."""
        if self.is_round:
            return (
                (max(TIGHT, self.box.width + 10), TIGHT)
                if is_tight
                else (max(2 * RADIUS, self.box.width + 16), 2 * RADIUS)
            )
        return max(34.0, self.box.width + 18), max(30.0, self.box.height + 12)


class Wire(NamedTuple):
    """A line from a card to another: what is known along it, as texts.

    Args:
        source, target: numbers of cards.
        slot: which operand it is.
        value, grad: what stands above and below; "" for nothing.
        is_dashed: whether no gradient flows along it.
        paths: the numbers of the paths that go along it.
        is_faint: whether it does not belong to what is shown.
    """

    source: int
    target: int
    slot: int
    value: str = ""
    grad: str = ""
    is_dashed: bool = False
    paths: tuple[int, ...] = ()
    is_faint: bool = False


class Attempt(NamedTuple):
    """How dense a circuit is.

    Args:
        stretch: how much room there is beside numbers.
        apart: points between cards.
        is_tight: whether circles are smaller and notes brief.
        both: whether a second arrow goes back beside each line.
        is_bare: whether there are no local derivatives.
        wider: how many points more there are behind each column.
    """

    stretch: float = 1.0
    apart: float = 10.0
    is_tight: bool = False
    both: bool = False
    is_bare: bool = False
    wider: tuple[float, ...] = ()


class Circuit:
    """Cards and wires with their places.

    Args:
        cards: the boxes.
        wires: the lines, those of a card in the order of its operands.
        theme: the colours.
        attempt: how dense it is.

    Attributes:
        items: what is drawn, what is behind first, from 0, 0.
        size: width and height.
        crossings: how many lines cross.
        bad: texts that found no good place.
        crowded: how many pairs of numbers of different lines are close to each other.
    """

    def __init__(self, cards: Sequence[Component], wires: Sequence[Wire], theme: Theme, attempt: Attempt) -> None:
        self.cards, self.wires, self.theme, self.attempt = cards, wires, theme, attempt
        self.sizes = [card.size(is_tight=attempt.is_tight) for card in cards]
        self.notes = [card.bare if attempt.is_bare else card.brief if attempt.is_tight else card.note for card in cards]
        self.row_places = self._in_rows()
        self.x = self._across()
        self.lines = [self._line(number) for number in range(len(wires))]
        self.roots = [number for number, card in enumerate(cards) if card.end is not None]
        self.ends = [self._end(number) for number in self.roots]
        self.crossings = count_crossings(self.lines)
        twins = [{n for n, one in enumerate(wires) if one[:2] == wire[:2]} for wire in wires]
        boxes = [Rect.around(self.middle(number), *size) for number, size in enumerate(self.sizes)]
        halves = [self._half(wire) for wire in wires]
        pieces = [Leg(*pair, n, halves[n]) for n, line in enumerate(self.lines) for pair in pairwise(line)]
        pieces += [*self._heads(), *(Leg(*pair, -1) for line in self.ends for pair in pairwise(line))]
        self.places = TextPlaces(self.lines, halves, pieces, boxes, twins)
        self.bad = 0
        texts = [*self._root_texts(), *self._numbers(), *self._words()]
        self.crowded = self.places.crowded
        items = [*self._drawn_lines(), *self._drawn_cards(), *texts]
        left, top, right, bottom = extent_of_ink(items)
        self.items = list(shifted(items, 2 - left, 2 - top))
        self.size = right - left + 4, bottom - top + 4

    def wider(self) -> Attempt:
        """Return the attempt with more room where a number is close to something else than its line."""
        column, room = self.row_places.column, [0.0] * len(self.row_places.columns)
        for place, extra in enumerate(self.attempt.wider):
            room[place] = extra
        before = tuple(room)
        for number in self.places.narrow:
            wire = self.wires[number]
            more = max(self._wide(wire.value), self._wide(wire.grad, is_gradient=True)) / 2
            for place in {column[wire.source], column[wire.target] - 1}:
                room[place] = max(room[place], before[place] + more)
        return self.attempt._replace(wider=tuple(room))

    @property
    def least_type(self) -> float:
        """The size of the smallest type."""
        return NOTE if any(note.width for note in self.notes) else NUMBER

    # ------------------------------------------------------------ places
    def _in_rows(self) -> RowPlaces:
        """Return the columns and heights, with room for what stands above and below each card."""
        above = [
            high / 2 + (NAME if card.name.width else 0) for card, (_, high) in zip(self.cards, self.sizes, strict=True)
        ]
        below = [
            high / 2 + (NOTE + 10 if note.width else 0) + (NOTE + 4 if card.total.width else 0)
            for card, note, (_, high) in zip(self.cards, self.notes, self.sizes, strict=True)
        ]
        apart = self.attempt.apart
        meeting = MEETING_TIGHT if self.attempt.is_tight else MEETING
        room = Room(apart + 8, 2 * NUMBER + 12, meeting * NUMBER + apart / 2)
        return in_rows(above, below, [wire[:2] for wire in self.wires], room)

    def _across(self) -> list[float]:
        """Return the middle of each column: room for the widest number, for lines that climb, for notes."""
        places, count = self.row_places, len(self.row_places.columns)
        of_cards = [[card for card in column if card < len(self.cards)] for column in places.columns]
        wide = [max([0.0, *(self.sizes[card][0] for card in column)]) for column in of_cards]
        room = [LEAST_ROOM * self.attempt.stretch] * count
        for wire, chain in zip(self.wires, places.chains, strict=True):
            text = max(self._wide(wire.value), self._wide(wire.grad, is_gradient=True))
            first, last = places.column[wire.source], places.column[wire.target] - 1
            room[first] = max(room[first], text + (12 if self.attempt.is_tight else 20 * self.attempt.stretch))
            climb = abs(places.y[chain[-2]] - places.y[wire.target])
            room[last] = max(room[last], min(MOST_ROOM, climb * STEEP + 26 * (climb > 2)))
        room = list(map(sum, zip_longest(room, self.attempt.wider, fillvalue=0.0)))
        x = [wide[0] / 2] if wide else []
        for column in range(1, count):
            at = x[-1] + wide[column - 1] / 2 + room[column - 1] + wide[column] / 2
            for one in of_cards[column]:
                for other in of_cards[column - 1]:
                    is_level = abs(places.y[one] - places.y[other]) < 20
                    if is_level and self.notes[one].width and self.notes[other].width:
                        at = max(at, x[-1] + (self.notes[one].width + self.notes[other].width) / 2 + 12)
            x.append(at)
        self.wide = wide
        return x

    def middle(self, number: int) -> Point:
        """Return the middle of a card, or where a long line crosses a column."""
        return self.x[self.row_places.column[number]], self.row_places.y[number]

    def _line(self, number: int) -> list[Point]:
        """Return the points of a wire: straight, or with bends where it goes around others."""
        wire, chain = self.wires[number], self.row_places.chains[number]
        start, end = self.middle(wire.source), self.middle(wire.target)
        lanes = [
            (x + side * self.wide[self.row_places.column[lane]] / 2, y)
            for lane in chain[1:-1]
            for x, y in [self.middle(lane)]
            for side in (-1, 1)
        ]
        points = without_bends([start, *lanes, end])
        same = [n for n, one in enumerate(self.wires) if one[:2] == wire[:2]]
        if len(same) > 1 and len(points) == 2:
            points = self._bowed(points, wire, same.index(number) - (len(same) - 1) / 2, len(same))
        points[0], points[-1] = self._touch(wire.source, points[1]), self._touch(wire.target, points[-2])
        return points

    def _bowed(self, points: list[Point], wire: Wire, place: float, count: int) -> list[Point]:
        """Return a line beside others that join the same two cards, so many."""
        (x, y), (to_x, to_y) = points
        if abs(to_y - y) > STEEP_TWINS:  # one is straight, the others bow to where the line comes from no card
            place = place + (count - 1) / 2 if to_y > y else place - (count - 1) / 2
        off = place * TWINS_APART
        if abs(off) <= 1:
            return points
        length = hypot(to_x - x, to_y - y) or 1
        along, down = (to_x - x) / length, (to_y - y) / length
        lead = 7 + abs(off * down)  # so that a steep one does not begin behind its card
        half = self.sizes[wire.source][0] / 2
        near = max(half + lead, (half + 7 + down * off) / max(along, 0.1))  # and leads away from it
        far = length - self.sizes[wire.target][0] / 2 - 7
        bends = [(x + along * at - down * off, y + down * at + along * off) for at in (near, max(near, far))]
        return [points[0], *bends, points[-1]]

    def _end(self, number: int) -> list[Point]:
        """Return the line that leads out of a root."""
        x, y = self.middle(number)
        start = x + self.sizes[number][0] / 2
        return [(start, y), (start + OUT, y)]

    def _touch(self, number: int, towards: Point) -> Point:
        """Return where the line between a card and a point meets the card's outline."""
        (x, y), (wide, high) = self.middle(number), self.sizes[number]
        across, down = towards[0] - x, towards[1] - y
        if self.cards[number].is_round:  # two half circles with a piece between
            x += copysign((wide - high) / 2, across) if wide - high > 1 else 0.0
            length = hypot(towards[0] - x, towards[1] - y) or 1
            reach = (high / 2 + 0.6) / length
            return x + (towards[0] - x) * reach, y + (towards[1] - y) * reach
        if abs(across) < 1e-9:
            return x, y + copysign(high / 2, down)
        reach = (wide / 2 + 0.6) / abs(across)
        if abs(down) * reach <= high / 2 - 4:
            return x + across * reach, y + down * reach
        return x + copysign(wide / 2, across), y + copysign(high / 2 - 6, down)

    def _half(self, wire: Wire) -> float:
        """Return half the breadth of what is drawn along a wire: its line, one back beside it, or its paths."""
        strands_ = max(0, len(wire.paths) - 1 + (len(STRANDS) - 1 in wire.paths)) * BESIDE
        if not self.attempt.both:
            return (strands_ + (STRAND if wire.paths else LINE)) / 2
        return BACK + strands_ + 0.75 if wire.grad or wire.paths else LINE / 2

    def _heads(self) -> Iterator[Leg]:
        """Yield the arrowheads of the wires, as broad as they are."""
        for number, (wire, line) in enumerate(zip(self.wires, self.lines, strict=True)):
            size, both = HEAD * (1.5 if len(wire.paths) > 1 else LIT_HEAD), self.attempt.both and wire.grad
            for tip, other in ((line[-1], line[-2]), *([(line[0], line[1])] if both else [])):
                share = 0.0 if wire.is_dashed else size / (hypot(other[0] - tip[0], other[1] - tip[1]) or 1)
                end = tip[0] + share * (other[0] - tip[0]), tip[1] + share * (other[1] - tip[1])
                yield Leg(tip, end, number, BREADTH * size + (BACK if both else 0.0))

    # ------------------------------------------------------------ texts
    def _root_texts(self) -> Iterator[Item]:
        """Yield the name, value and gradient at the end of the line out of each root."""
        for number, line in zip(self.roots, self.ends, strict=True):
            name, value, grad = self.cards[number].end or End(TypeBox())
            wide = max(name.width, self._wide(value), self._wide(grad, is_gradient=True))
            x, y = line[-1][0] + 6 + wide / 2, line[-1][1]
            top, face = y - NUMBER * 1.28 - name.below, self.theme.gradient_face
            yield from with_part(name.centred(x, top, self.theme.ink), "end name", number)
            if value:
                yield number_at((x, y - 3), value, self.theme.value)._replace(part=f"end value {number}")
            if grad:
                low = x, y + NUMBER * 0.92
                yield number_at(low, grad, self.theme.gradient, face)._replace(part=f"end grad {number}")
            high = NUMBER * 1.28 + name.height
            self.places.rects.append(Rect(x - wide / 2, y - high, x + wide / 2, y + NUMBER))

    def _numbers(self) -> Iterator[Item]:
        """Yield the texts on the lines."""
        pairs = [(wire.value, wire.grad) for wire in self.wires]
        sides = [
            Sides(
                *(
                    (self._wide(text, is_gradient=bool(side)), sum(self._extent(text, is_gradient=bool(side))))
                    if text
                    else None
                    for side, text in enumerate(texts)
                )
            )
            for texts in pairs
        ]
        spots = self.places.beside(sides, [wire.source for wire in self.wires])
        self.bad = self.places.bad
        theme = self.theme
        looks = (theme.value, "bold"), (theme.gradient, theme.gradient_face)
        for number, (wire, texts, pair) in enumerate(zip(self.wires, pairs, spots, strict=True)):
            for word, text, spot, (ink, face) in zip(("value", "grad"), texts, pair, looks, strict=True):
                if spot is not None:
                    above, below = self._extent(text, is_gradient=word == "grad")
                    place = spot.middle[0], spot.middle[1] + (above - below) / 2
                    item = number_at(place, text, theme.muted if wire.is_faint else ink, face)
                    yield item._replace(part=f"{word} {number}")

    def _wide(self, text: str, *, is_gradient: bool = False) -> float:
        """Return the width of a number on a line."""
        return type_width(text, NUMBER, self.theme.gradient_face if is_gradient else "bold")

    def _extent(self, text: str, *, is_gradient: bool = False) -> tuple[float, float]:
        """Return how far a number on a line goes above its base line, and below."""
        return extent_of(text, NUMBER, self.theme.gradient_face if is_gradient else "bold")

    def _words(self) -> Iterator[Item]:
        """Yield names, notes and sums, each at one of a few places around its card."""
        for turn in ("name", "note", "total"):
            for number, card in enumerate(self.cards):
                box = self.notes[number] if turn == "note" else getattr(card, turn)
                if not box.width or (turn == "name" and card.end is not None):
                    continue
                spots = [(x, y - (box.above - box.below) / 2) for x, y in self._places_of(turn, number, box)]
                spot = self.places.near(box.width, box.height, spots)
                self.bad += spot.cost >= BAD
                x, y = spot.middle
                inks = {"name": self.theme.ink, "note": self.theme.muted, "total": self.theme.gradient}
                ink = self.theme.muted if card.is_faint else inks[turn]
                yield from with_part(box.centred(x, y + (box.above - box.below) / 2, ink), turn, number)

    def _places_of(self, kind: str, number: int, box: TypeBox) -> list[Point]:
        """Return where the base line of a text may have its middle, the best place first."""
        (x, y), (wide, high) = self.middle(number), self.sizes[number]
        up, down = y - high / 2 - 6 - box.below, y + high / 2 + 6 + max(box.above, 9)
        if kind == "name":
            left = x - wide / 2 - box.width / 2 + 4
            beside = (left, y - high / 2), (left, y + high / 2 + box.above - 2)
            return [(x, up), (x, down), *beside, (x, up - FARTHER), (x, down + FARTHER)]
        if kind == "note":
            aside = x - wide / 4 - box.width / 4, x + box.width / 4
            near = [(x, down), (x, up), (aside[0], down), (aside[1], down), (x, down + 16), (x, up - 16)]
            beyond = x + box.width / 2  # where lines come in from the left on both sides
            return [*near, (x, down + FARTHER), (x, up - FARTHER), (beyond, down), (beyond, up)]
        start = x - wide / 2 + max(box.width, wide) / 2
        left = x - wide / 2 - 6 - box.width / 2
        near = [(start, down), (start, up), (x, down), (x, up), (x, down + 18), (x, up - 18), (left, y + 4)]
        return [*near, (x, down + FARTHER), (x, up - FARTHER), (x, up - 1.5 * FARTHER)]

    # ------------------------------------------------------------ ink
    def _drawn_lines(self) -> Iterator[Item]:
        """Yield the lines, with their heads."""
        for number in range(len(self.wires)):
            yield from with_part(self._drawn_line(number), "wire", number)
        for number, line in zip(self.roots, self.ends, strict=True):
            yield arrow(line, Pen(self.theme.line, LINE))._replace(part=f"end {number}")

    def _drawn_line(self, number: int) -> Iterator[Item]:
        """Yield a line, with that of its gradient or with the paths along it."""
        theme, both, wire, line = self.theme, self.attempt.both, self.wires[number], self.lines[number]
        ink = theme.faint if wire.is_faint else theme.boxes["dashed"].pen if wire.is_dashed else theme.line
        pen = Pen(ink, LINE, (5.0, 2.0) if wire.is_dashed else ())
        if both and wire.grad:
            yield arrow(line_beside(line, -BACK), pen)
        elif wire.is_dashed:
            yield Stretch(line, pen)
        elif not wire.paths:
            yield arrow(line, pen)
        back = line_beside(line, BACK)[::-1]
        if wire.paths:
            yield from strands(back if both else line, wire.paths, theme, is_beside=both)
        elif both and wire.grad:
            yield arrow(back, Pen(theme.faint if wire.is_faint else theme.gradient, 1.5))

    def _drawn_cards(self) -> Iterator[Item]:
        """Yield the boxes, with what stands in them."""
        for number, card in enumerate(self.cards):
            (x, y), size = self.middle(number), self.sizes[number]
            fill, colour = self.theme.boxes["error" if card.is_wrong else card.kind]
            dash, breadth = OUTLINES[card.look]
            if card.is_faint:
                fill, colour = self.theme.page, self.theme.faint
                dash = () if card.is_again else dash  # in grey it would look as if it needed no gradient
            pen = Pen(colour, breadth, dash)
            part, radius = f"card {number}", size[1] / 2 if card.is_round else 8.0
            yield Outline((x, y), size, radius, fill, pen, card.tip, part)
            low = (card.box.above - card.box.below) / 2 if card.is_round or card.box.height > NUMBER * 1.3 else LOW
            ink = self.theme.muted if card.is_faint else self.theme.ink
            yield from with_part(card.box.centred(x, y + low, ink), "card", number)


def with_part(items: Iterable[Item], word: str, number: int) -> Iterator[Item]:
    """Yield ink with what it is a part of: ``card 3``, ``grad 0``."""
    return (item._replace(part=f"{word} {number}") for item in items)


def number_at(place: Point, text: str, colour: str, face: str = "bold") -> TextLine:
    """Return a number by the middle of its base line."""
    return TextLine(place, NUMBER, colour, (Inked(text, face=face),))


def strands(line: Sequence[Point], paths: Sequence[int], theme: Theme, *, is_beside: bool = False) -> Iterator[Stretch]:
    """Yield what is drawn of a line that paths go along: each in its colour and dashes, and the head of all.

    Args:
        line: its points.
        paths: their numbers.
        theme: the colours.
        is_beside: whether they are all to one side of the line.
    """
    strokes = [(number, off) for number in paths for off in ((-0.5, 0.5) if number == len(STRANDS) - 1 else (0.0,))]
    short = arrow(line, Pen(theme.line, LINE))
    head = Pen(theme.paths[paths[0]] if len(paths) == 1 else theme.line, 0.0)
    points = [(stroke[-2], stroke[-1]) for stroke in short.strokes]
    at = {number: BESIDE * (place if is_beside else place - (len(paths) - 1) / 2) for place, number in enumerate(paths)}
    for number, off in strokes:
        pen = Pen(theme.paths[number], DOUBLE if off else STRAND, STRANDS[number])
        yield Stretch(line_beside(points, at[number] + off * BESIDE), pen)
    yield Stretch([points[-1], line[-1]], head, short.heads, short.size * (1.2 + 0.3 * (len(paths) > 1)))


def arrow(line: Sequence[Point], pen: Pen) -> Stretch:
    """Return a line with a head at its end."""
    (x, y), tip = line[-2], line[-1]
    length = hypot(tip[0] - x, tip[1] - y) or 1
    back = HEAD * 0.8 / length
    end = tip[0] - (tip[0] - x) * back, tip[1] - (tip[1] - y) * back
    return Stretch([*line[:-1], end], pen, [(tip, (x, y))], HEAD)


def without_bends(points: Sequence[Point]) -> list[Point]:
    """Return a line without points at which it goes straight on."""
    corners = [points[0]]
    for (x, y), (to_x, to_y) in pairwise(points[1:]):
        left, top = corners[-1]
        area = abs((x - left) * (to_y - top) - (y - top) * (to_x - left))
        if area > 0.6 * hypot(to_x - left, to_y - top):
            corners.append((x, y))
    return [*corners, points[-1]]


def line_beside(points: Sequence[Point], off: float) -> list[Point]:
    """Return a line shifted aside, to its right for a positive number of points."""
    new_points = []
    for number, (x, y) in enumerate(points):
        before, after = points[max(number - 1, 0)], points[min(number + 1, len(points) - 1)]
        length = hypot(after[0] - before[0], after[1] - before[1]) or 1
        new_points.append((x - (after[1] - before[1]) / length * off, y + (after[0] - before[0]) / length * off))
    return new_points
