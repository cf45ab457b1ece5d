"""A long circuit in several rows: cut where level lines alone go through, which go on in the next row."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from math import ceil, floor, inf

from gviz.layout.ink import Inked, Item, Outline, Pen, Point, Stretch, TextLine, extent_of_ink, shifted
from gviz.pictures.circuits import HEAD
from gviz.pictures.sheets import Block, one_below_another
from gviz.pictures.theme import Theme

WRAPPED_GAP, STUB, JOINT, HAIR = 22.0, 16.0, 7.0, 0.4
"""Points between two rows of a circuit that is cut, of the piece that each end of a line gets, of half a number on it;
and between a cut and what stands beside it."""


def in_parts(block: Block, count: int, theme: Theme) -> Block | None:
    """Return a long circuit in so many rows; None where it cannot be cut."""
    rows, rest, numbers_before = list[Block](), block, 0
    for parts_left in range(count, 1, -1):
        halves = cut_in_two(rest, 1 / parts_left, numbers_before, theme)
        if halves is None:
            return None
        first, rest, more = halves
        rows.append(first)
        numbers_before += more
    return one_below_another((*rows, rest), WRAPPED_GAP)


def cut_in_two(block: Block, share: float, numbers_before: int, theme: Theme) -> tuple[Block, Block, int] | None:
    """Return a circuit cut where level lines alone go through, with numbers on the ends of several; None for nowhere.

    Args:
        block: the circuit.
        share: where it is to be cut, by its width.
        numbers_before: how many numbers stand on the ends of lines already.
        theme: the colours.
    """
    wide, _ = block.size
    cards: dict[str, list[Item]] = {}
    for item in block.items:
        cards.setdefault(card_of_ink(item), []).append(item)
    spans_of = {card: extent_of_ink(items)[::2] for card, items in cards.items() if card}
    extents = [(item, spans_of.get(card_of_ink(item)) or extent_of_ink([item])[::2]) for item in block.items]
    lines = [(item, span) for item, span in extents if isinstance(item, Stretch) and span[1] - span[0] > 2 * JOINT]
    long = {id(item) for item, _ in lines}
    spans = [span for item, span in extents if id(item) not in long]
    taken = {at for left, right in spans for at in range(floor(left - HAIR) + 1, ceil(right + HAIR))}
    best: tuple[float, int, list[tuple[Stretch, float]]] | None = None
    for at in range(int(wide * share * 0.66), int(wide * min(share * 1.34, 0.9))):
        if at in taken or any(min(abs(at - end) for end in span) < HEAD / 2 for _, span in lines):
            continue
        crossings = [(item, level_at(item, at)) for item, (left, right) in lines if left < at < right]
        levels = [(item, y) for item, y in crossings if y is not None]
        if not crossings or len(levels) < len(crossings):
            continue
        cost = abs(at - wide * share) + 0.12 * wide * (len(ends_of(levels)) - 1)
        if best is None or cost < best[0]:
            best = cost, at, levels
    if best is None:
        return None
    _, at, levels = best
    heights = {id(item): y for item, y in levels}
    halves: tuple[list[Item], list[Item]] = [], []
    ends = ends_of(levels)
    more = STUB - JOINT * (len(ends) > 1)
    for item, (left, _) in extents:
        if id(item) in heights:
            parts = halves_of(item, at, heights[id(item)], more)  # type: ignore[arg-type]
            for half, part in zip(halves, parts, strict=True):
                half.append(part)
        else:
            halves[left >= at].append(item)
    for number, y in enumerate(ends if len(ends) > 1 else (), numbers_before + 1):
        for half, x in zip(halves, (at + STUB, at - STUB), strict=True):
            half.extend(row_joint((x, y), str(number), theme))
    first, second = (
        Block(list(shifted(items, -box[0], -box[1])), (box[2] - box[0], box[3] - box[1]))
        for items, box in ((half, extent_of_ink(half)) for half in halves)
    )
    return first, second, len(ends) if len(ends) > 1 else 0


def card_of_ink(item: Item) -> str:
    """Return the card whose outline or text something is: all of that stays in one row; "" for what is of none."""
    word, _, number = item.part.partition(" ")
    return f"card {number}" if word in ("card", "name", "note", "total") else ""


def level_at(line: Stretch, x: float) -> float | None:
    """Return how high a line is at a place where it is level; None where it climbs, or passes twice."""
    points = [(stroke[-2], stroke[-1]) for stroke in line.strokes]
    pieces = [(one, other) for one, other in pairwise(points) if min(one[0], other[0]) < x < max(one[0], other[0])]
    return pieces[0][0][1] if len(pieces) == 1 and abs(pieces[0][0][1] - pieces[0][1][1]) < 0.5 else None


def ends_of(levels: Sequence[tuple[Stretch, float]]) -> list[float]:
    """Return the heights of lines that are cut, those of one line with several strands once."""
    heights: list[float] = []
    last = -inf
    for _, y in sorted(levels, key=lambda level: level[1]):
        heights += [y] if y - last > JOINT else []
        last = y
    return heights


def halves_of(line: Stretch, x: float, y: float, more: float) -> tuple[Stretch, Stretch]:
    """Return a line in two, cut where it is level, each so much longer; the heads stay where they are."""
    points = [(stroke[-2], stroke[-1]) for stroke in line.strokes]
    is_back = points[0][0] > points[-1][0]
    way = points[::-1] if is_back else points
    left, right = ([point for point in way if (point[0] < x) == side] for side in (True, False))
    pair = [*left, (x + more, y)], [(x - more, y), *right]
    heads = tuple([head for head in line.heads if (head[0][0] < x) == side] for side in (True, False))
    first, second = (
        line._replace(strokes=half[::-1] if is_back else half, heads=own) for half, own in zip(pair, heads, strict=True)
    )
    return first, second


def row_joint(middle: Point, text: str, theme: Theme) -> list[Item]:
    """Return the number at the end of a line that goes on in another row."""
    ring = Outline(middle, (2 * JOINT, 2 * JOINT), JOINT, theme.page, Pen(theme.muted, 0.8))
    return [ring, TextLine((middle[0], middle[1] + 0.36 * 9), 9.0, theme.muted, (Inked(text, face="sans"),))]
