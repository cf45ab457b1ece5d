"""The order in each row: depth first from the outputs or inputs, then sweeps by medians, and exchanges of neighbours.

The median sweeps are those of Gansner, Koutsofios, North and Vo, "A technique for drawing directed graphs" (1993).
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections.abc import Sequence

from gviz.layout.layered.net import Net

Rows = list[list[int]]

STARTS = ((False, False), (False, True), (True, False), (True, True))
"""Orders to begin with, (from the inputs, mirrored); the best end counts. A tangled LSTM needs the third."""

ROUNDS = ((20_000, 24, 4), (60_000, 8, 4), (100_000, 8, 1), (1 << 60, 4, 1))
"""By the number of boxes and place holders: how many sweeps, and from how many starts."""

PATIENCE = 4
"""Sweeps that may bring nothing before the next start."""

TANGLED = 2
"""Crossings for each box and place holder from which on another start brings nothing."""

TRIES = 400_000
"""Pairs of neighbours that a round of exchanges looks at, at most."""

FEW, COSTLY = 12, 2_000
"""Pairs of lines of two neighbours that are compared one by one, and that are counted at all."""


def ordered(net: Net) -> tuple[Rows, list[int], list[int]]:
    """Return the rows from left to right, the place of each box in its row, and how many lines cross below each row."""
    total, place = len(net.rank), [0] * len(net.rank)
    rounds, starts = next((rounds, starts) for size, rounds, starts in ROUNDS if total < size)
    best: list[int] = []
    best_rows: Rows = []
    for is_from_inputs, is_mirrored in STARTS[:starts]:
        rows = depth_first(net, is_from_inputs=is_from_inputs, is_mirrored=is_mirrored)
        note_places(rows, place)
        least, stale = -1, 0
        for turn in range(rounds + 1):
            crossed = improved(net, rows, place, turn)
            crossings = sum(crossed)
            if not best or crossings < sum(best):
                best, best_rows = crossed, [list(row) for row in rows]
            stale = 0 if least < 0 or crossings < least else stale + 1
            least = crossings if least < 0 else min(least, crossings)
            if not least or stale > PATIENCE:
                break
        if not any(best) or sum(best) > TANGLED * len(place):
            break
    note_places(best_rows, place)
    return best_rows, place, best


def improved(net: Net, rows: Rows, place: list[int], turn: int) -> list[int]:
    """Sweep, downwards and upwards in turns, exchange neighbours, and return how many lines cross below each row."""
    if turn:
        sweep(rows, place, net.up if turn % 2 else net.down, is_downward=bool(turn % 2))
    crossed = [crossings_of(row, place, net.down) for row in rows]
    is_small = len(place) < ROUNDS[0][0]
    if turn and sum(crossed) > 0 and (is_small or sum(crossed) < TANGLED * len(place)):  # a large tangle stays one
        exchange(net, rows, place, crossed, is_even=turn % 4 > 1)
        crossed = [crossings_of(row, place, net.down) for row in rows]
    return crossed


def note_places(rows: Rows, place: list[int]) -> None:
    """Note the places of the boxes in their rows."""
    for row in rows:
        for at, v in enumerate(row):
            place[v] = at


def depth_first(net: Net, *, is_from_inputs: bool, is_mirrored: bool) -> Rows:
    """Return the rows in the order in which a walk from the outputs, or the inputs, meets their boxes."""
    rows: Rows = [[] for _ in range(max(net.rank, default=-1) + 1)]
    seen = bytearray(len(net.rank))
    ends, ways = (net.up, net.down) if is_from_inputs else (net.down, net.up)
    for start in [v for v in range(net.count) if not ends[v]] + list(range(len(net.rank))):
        stack = [start]
        while stack:
            v = stack.pop()
            if not seen[v]:
                seen[v] = 1
                rows[net.rank[v]].append(v)
                stack += ways[v] if is_mirrored else reversed(ways[v])
    return rows


def sweep(rows: Rows, place: list[int], beside: list[list[int]], *, is_downward: bool) -> None:
    """Sort each row by the medians of places in the row before it; what has no neighbour there stays where it is."""
    for row in rows if is_downward else reversed(rows):
        if len(row) < 2:
            continue
        keys = [median([place[u] for u in beside[v]]) if beside[v] else -1.0 for v in row]
        moving = iter(sorted([at for at, key in enumerate(keys) if key >= 0], key=keys.__getitem__))
        row[:] = [v if key < 0 else row[next(moving)] for v, key in zip(row[:], keys, strict=True)]
        for at, v in enumerate(row):
            place[v] = at


def median(values: list[int] | list[float]) -> float:
    """Return the middle of some numbers, or the mean of the two in the middle."""
    if len(values) == 1:
        return values[0]
    values.sort()
    half = len(values) // 2
    return values[half] if len(values) % 2 else (values[half - 1] + values[half]) / 2


def crossings_of(row: Sequence[int], place: list[int], down: list[list[int]]) -> int:
    """Return how many lines cross in the gap below a row: pairs whose ends are the other way round."""
    ends: list[int] = []
    crossings = last = 0
    for v in row:
        below = [place[u] for u in down[v]]
        for end in below:
            if end < last:
                crossings += len(ends) - bisect_right(ends, end)
        for end in below:
            if end >= last:
                last = end
                ends.append(end)
            else:
                insort(ends, end)
    return crossings


def exchange(net: Net, rows: Rows, place: list[int], crossed: Sequence[int], *, is_even: bool) -> None:
    """Exchange neighbours wherever fewer lines cross then, in rows beside which lines do cross.

    Args:
        net: the boxes.
        rows: their order, which is changed.
        place: likewise.
        crossed: how many lines cross below each row.
        is_even: whether every other pair is exchanged that brings nothing, too: it may open a way.
    """
    tries, has_changed, up, down = 0, True, net.up, net.down
    for _ in range(4):
        if not has_changed or tries > TRIES:
            return
        has_changed = False
        for at_row, row in enumerate(rows):
            if not crossed[at_row] and not (at_row and crossed[at_row - 1]):
                continue
            for at in range(len(row) - 1):
                v, w = row[at], row[at + 1]
                gain = 0
                for one, other in ((up[v], up[w]), (down[v], down[w])):
                    if one and other:
                        gain += gain_of(one, other, place)
                tries += 1
                if gain > 0 or (is_even and not gain and not tries & 1):
                    row[at], row[at + 1] = w, v
                    place[v], place[w] = at + 1, at
                    has_changed = has_changed or gain > 0


def gain_of(ends: list[int], others: list[int], place: list[int]) -> int:
    """Return how many crossings fewer two neighbours have on one side if they change places."""
    if len(ends) * len(others) > FEW:
        return gain_of_many(ends, others, place)
    gain = 0
    for v in ends:
        end = place[v]
        for u in others:
            gain += (end > place[u]) - (end < place[u])
    return gain


def gain_of_many(ends: list[int], others: list[int], place: list[int]) -> int:
    """Return the same for many lines."""
    if len(ends) * len(others) > COSTLY:
        return 0
    beside = sorted([place[u] for u in others])
    many = len(beside)
    return sum([bisect_left(beside, place[v]) + bisect_right(beside, place[v]) - many for v in ends])
