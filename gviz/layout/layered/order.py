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

ROUNDS: tuple[tuple[int, int, Sequence[tuple[bool, bool]], int], ...] = (
    (20_000, 24, STARTS, 4),
    (60_000, 8, STARTS[::2], 1),
    (100_000, 8, STARTS[:1], 4),
    (1 << 60, 4, STARTS[:1], 4),
)
"""By the number of boxes and place holders: how many sweeps, from which starts, and how many may bring nothing."""

TANGLED = 2
"""Crossings for each box and place holder from which on another start brings nothing."""

TRIES = 400_000
"""Pairs of neighbours that a round of exchanges looks at, at most."""

FEW, COSTLY = 12, 2_000
"""Pairs of lines of two neighbours that are compared one by one, and that are counted at all."""


def ordered(net: Net) -> tuple[Rows, list[int], list[int]]:
    """Return the rows from left to right, the place of each box in its row, and how many lines cross below each row."""
    total, place = len(net.rank), [0] * len(net.rank)
    _, rounds, starts, patience = next(row for row in ROUNDS if total < row[0])
    best: list[int] = []
    best_rows: Rows = []
    for is_from_inputs, is_mirrored in starts:
        rows = depth_first(net, is_from_inputs=is_from_inputs, is_mirrored=is_mirrored)
        note_places(rows, place)
        crossed = [crossings_of(row, place, net.down) for row in rows]
        least, stale = sum(crossed), 0
        for turn in range(rounds + 1):
            if turn:
                improve(net, rows, place, crossed, turn)
            crossings = sum(crossed)
            if not best or crossings < sum(best):
                best, best_rows = [*crossed], [list(row) for row in rows]
            stale = 0 if crossings < least else stale + (turn > 0)
            least = min(least, crossings)
            if not least or stale > patience:
                break
        if not any(best) or sum(best) > TANGLED * len(place):
            break
    note_places(best_rows, place)
    return best_rows, place, best


def improve(net: Net, rows: Rows, place: list[int], crossed: list[int], turn: int) -> None:
    """Sweep, downwards and upwards in turns, and exchange neighbours; note how many lines cross below each row."""
    recount(net, rows, place, crossed, sweep(rows, place, net.up if turn % 2 else net.down, is_downward=bool(turn % 2)))
    is_small = len(place) < ROUNDS[0][0]
    if sum(crossed) > 0 and (is_small or sum(crossed) < TANGLED * len(place)):  # a large tangle stays one
        recount(net, rows, place, crossed, exchange(net, rows, place, crossed, is_even=turn % 4 > 1))


def recount(net: Net, rows: Rows, place: list[int], crossed: list[int], changed: set[int]) -> None:
    """Note how many lines cross beside the rows that have changed."""
    for at in {*changed, *(at - 1 for at in changed if at)}:
        crossed[at] = crossings_of(rows[at], place, net.down)


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


def sweep(rows: Rows, place: list[int], beside: list[list[int]], *, is_downward: bool) -> set[int]:
    """Sort each row by the medians of places in the row before it; what has no neighbour there stays where it is.

    Returns:
        The rows that have another order than before.
    """
    changed: set[int] = set()
    for at_row in range(len(rows)) if is_downward else reversed(range(len(rows))):
        row = rows[at_row]
        if len(row) < 2:
            continue
        keys = [median([place[u] for u in beside[v]]) if beside[v] else -1.0 for v in row]
        moving = iter(sorted([at for at, key in enumerate(keys) if key >= 0], key=keys.__getitem__))
        new_row = [v if key < 0 else row[next(moving)] for v, key in zip(row, keys, strict=True)]
        if new_row != row:
            rows[at_row] = new_row
            changed.add(at_row)
            for at, v in enumerate(new_row):
                place[v] = at
    return changed


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


def exchange(net: Net, rows: Rows, place: list[int], crossed: Sequence[int], *, is_even: bool) -> set[int]:
    """Exchange neighbours wherever fewer lines cross then, in rows beside which lines do cross.

    Returns:
        The rows that have another order than before.

    Args:
        net: the boxes.
        rows: their order, which is changed.
        place: likewise.
        crossed: how many lines cross below each row.
        is_even: whether every other pair is exchanged that brings nothing, too: it may open a way.
    """
    tries, has_changed, up, down = 0, True, net.up, net.down
    changed: set[int] = set()
    for _ in range(4):
        if not has_changed or tries > TRIES:
            break
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
                    changed.add(at_row)
    return changed


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
