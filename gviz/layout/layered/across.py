"""Places across: what is to be vertical is, and the rest stands near the median of its neighbours.

Four extreme layouts and the mean of the two in the middle are those of Brandes and Köpf, "Fast and simple horizontal
coordinate assignment" (2002); main lines are aligned first here. A tangle, in which nothing can be vertical, gets
isotonic regression instead, row by row: Brandes and Köpf make it two to six times as wide.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections.abc import Iterable, Sequence
from itertools import accumulate, pairwise

from gviz.layout.layered.net import Net
from gviz.layout.layered.order import Rows, median
from gviz.reaching import first_to_last

GAP, LANE = 14.0, 6.0
"""Points between two boxes, and between a line and whatever is next to it."""

TANGLE = 0.1
"""Crossings for each box and place holder from which on a picture is a tangle."""

SETTLING, RELAXING = 8, 6
"""Rounds of the two ways to the median."""

MOST_RELAXED = 150_000
"""Boxes and place holders that are still moved to their medians."""

MAIN, FREE = 8.0, 0.05
"""How much a box on a line that is to be vertical, and one without neighbours, count where boxes share a place."""

FAR = 1e18


def across(net: Net, rows: Rows, place: list[int], crossed: Sequence[int]) -> list[float]:
    """Return the middle of each box and place holder, from the left side of the picture, in points."""
    room = [GAP if v < net.count else LANE for v in range(len(place))]
    if sum(crossed) > TANGLE * len(place):
        x = settle_rows(net, rows, room)
    else:
        x = aligned(net, rows, place, crossed, room)
        x = relaxed(net, rows, x, room) if len(x) <= MOST_RELAXED else x
    left = min([middle - width / 2 for middle, width in zip(x, net.width, strict=True)], default=0.0)
    return [middle - left for middle in x]


def space_between(net: Net, room: Sequence[float], v: int, w: int) -> float:
    """Return how far apart the middles of two neighbours are at least."""
    return (net.width[v] + net.width[w]) / 2 + min(room[v], room[w])


# ---------------------------------------------------------------- row by row
def settle_rows(net: Net, rows: Rows, room: Sequence[float]) -> list[float]:
    """Return places row by row, each box as near to the median of its neighbours as its row lets it be."""
    x = [0.0] * len(net.rank)
    spaced = [(row, row_offsets(net, room, row)) for row in rows if row]
    for turn in range(SETTLING):
        beside, mates = (net.down, net.after) if turn % 2 else (net.up, net.before)
        for row, offsets in reversed(spaced) if turn % 2 else spaced:
            targets = []
            for v, offset in zip(row, offsets, strict=True):
                if mates[v] >= 0:
                    targets.append((x[mates[v]] - offset, MAIN))
                else:
                    near = [x[u] for u in beside[v]]
                    targets.append((median(near) - offset, 1.0) if near else (x[v] - offset, FREE))
            for v, offset, at in zip(row, offsets, rising(targets), strict=True):
                x[v] = at + offset
    return x


def row_offsets(net: Net, room: Sequence[float], row: Sequence[int]) -> list[float]:
    """Return how far each box of a row is from the first one if they stand as near to each other as they may."""
    return [*accumulate((space_between(net, room, v, w) for v, w in pairwise(row)), initial=0.0)]


def rising(targets: Iterable[tuple[float, float]]) -> list[float]:
    """Return numbers that do not fall, as near as can be to those that are wanted, each with its weight.

    That is isotonic regression by pooling what falls.

    >>> rising([(1.0, 1.0), (5.0, 1.0), (3.0, 1.0)])
    [1.0, 4.0, 4.0]
    """
    pools: list[tuple[float, float, int]] = []
    for number, weight in targets:
        total, count = number * weight, 1
        while pools and pools[-1][0] * weight >= total * pools[-1][1]:
            before, heavy, many = pools.pop()
            total, weight, count = before + total, heavy + weight, many + count  # noqa: PLW2901 - of the pool
        pools.append((total, weight, count))
    return [total / weight for total, weight, count in pools for _ in range(count)]


# ---------------------------------------------------------------- aligned
def aligned(net: Net, rows: Rows, place: list[int], crossed: Sequence[int], room: Sequence[float]) -> list[float]:
    """Return the mean of the two middle ones of four layouts: aligned from above and below, packed left and right."""
    barred = barred_lines(net, rows, place, crossed)
    up = [sorted(one, key=place.__getitem__) for one in net.up]
    down = [sorted(one, key=place.__getitem__) for one in net.down]
    layouts = []
    for beside, mates, back, order in (
        (up, net.before, net.after, rows),
        (down, net.after, net.before, rows[::-1]),
    ):
        for is_leftward in (True, False):
            root = blocks(order, place, beside, mates, back, barred=barred, is_leftward=is_leftward)
            layouts.append(packed(net, rows, root, room, is_leftward=is_leftward))
    spans = [(min(x, default=0.0), max(x, default=0.0)) for x in layouts]
    low, high = min(spans, key=lambda span: span[1] - span[0])
    shifts = [high - end if turn % 2 else low - begin for turn, (begin, end) in enumerate(spans)]
    shifted = ([at + shift for at in x] for x, shift in zip(layouts, shifts, strict=True))
    return [sum(sorted(four)[1:3]) / 2 for four in zip(*shifted, strict=True)]


def barred_lines(net: Net, rows: Rows, place: list[int], crossed: Sequence[int]) -> set[tuple[int, int]]:
    """Return the lines that no alignment may follow: a main line, or the inner part of a long one, crosses them."""
    barred: set[tuple[int, int]] = set()

    def weight(line: tuple[int, int]) -> float:
        v, u = line
        return (net.before[u] == v) * (1 + net.depth[v]) + (v >= net.count and u >= net.count) * 0.5

    for row, count in zip(rows, crossed, strict=True):
        strong: list[tuple[int, int]] = []
        for line in sorted(((v, u) for v in row for u in net.down[v]), key=weight, reverse=True) if count else ():
            start, end = place[line[0]], place[line[1]]
            first, last = bisect_left(strong, (start, -1)), bisect_right(strong, (start, 1 << 60))
            if (first and strong[first - 1][1] > end) or (last < len(strong) and strong[last][1] < end):
                barred.add(line)
            elif weight(line):
                insort(strong, (start, end))
    return barred


def blocks(
    rows: Rows,
    place: list[int],
    beside: list[list[int]],
    mates: list[int],
    back: list[int],
    *,
    barred: set[tuple[int, int]],
    is_leftward: bool,
) -> list[int]:
    """Return the block of each box, what stands vertically in one line, by the number of its first."""
    root, is_taken = list(range(len(place))), bytearray(len(place))
    sign = 1 if is_leftward else -1
    for row in rows:
        reach = -(1 << 60)
        for v in row if is_leftward else reversed(row):
            for u in candidates(mates[v], beside[v], is_leftward=is_leftward):
                is_free = not is_taken[u] and (back[u] < 0 or back[u] == v) and place[u] * sign > reach
                if is_free and (u, v) not in barred and (v, u) not in barred:
                    root[v], is_taken[u], reach = root[u], 1, place[u] * sign
                    break
    return root


def candidates(mate: int, near: list[int], *, is_leftward: bool) -> list[int]:
    """Return what a box may be aligned with: its mate on a main line, else the medians of its neighbours."""
    if mate >= 0:
        return [mate]
    if len(near) < 2:
        return near
    half = len(near) // 2
    middle = near[half : half + 1] if len(near) % 2 else near[half - 1 : half + 1]
    return middle if is_leftward else middle[::-1]


def packed(net: Net, rows: Rows, root: list[int], room: Sequence[float], *, is_leftward: bool) -> list[float]:
    """Return places with all blocks as far to one side as they go, then back as far as they have room."""
    total = len(root)
    after: list[list[tuple[int, float]]] = [[] for _ in range(total)]
    for row in rows:
        for v, w in pairwise(row) if is_leftward else pairwise(reversed(row)):
            after[root[v]].append((root[w], space_between(net, room, v, w)))
    order = first_to_last([v for v in range(total) if root[v] == v], lambda v: [w for w, _ in after[v]])
    x = [0.0] * total
    for v in order:
        for w, space in after[v]:
            x[w] = max(x[w], x[v] + space)
    for v in reversed(order):
        if after[v]:
            x[v] = max(x[v], min([x[w] - space for w, space in after[v]]))
    return [x[block] if is_leftward else -x[block] for block in root]


# ---------------------------------------------------------------- towards the medians
def relaxed(net: Net, rows: Rows, x: list[float], room: Sequence[float]) -> list[float]:
    """Return the places with each vertical piece moved towards the median of its neighbours, if there is room."""
    is_side = sides(net)
    root = vertical_pieces(net, x, is_side)
    left: dict[int, list[tuple[int, float]]] = {}
    right: dict[int, list[tuple[int, float]]] = {}
    for row in rows:
        for v, w in pairwise(row):
            if root[v] != root[w]:
                space = space_between(net, room, v, w)
                left.setdefault(root[w], []).append((root[v], space))
                right.setdefault(root[v], []).append((root[w], space))
    pulls: dict[int, list[int]] = {}
    for v, block in enumerate(root):
        near = net.down[v] if is_side[v] else [u for u in (*net.up[v], *net.down[v]) if not is_side[u]]
        pulls.setdefault(block, []).extend([root[u] for u in near if root[u] != block])
    at = {block: x[block] for block in pulls}
    order = sorted(pulls, key=at.__getitem__)
    last = [v for v in reversed(net.by_row) if is_side[v]]
    for turn in range(RELAXING):
        shift = 0.0
        for block in (order if turn % 2 else order[::-1]) + last:
            if pulls[block]:
                low = max([at[u] + space for u, space in left.get(block, ())], default=-FAR)
                high = min([at[u] - space for u, space in right.get(block, ())], default=FAR)
                target = min(max(nearest_median(at[block], [at[u] for u in pulls[block]]), low), high)
                if low <= high:
                    shift = max(shift, abs(target - at[block]))
                    at[block] = target
        if shift < 1:
            break
    return [at[block] for block in root]


def nearest_median(here: float, values: list[float]) -> float:
    """Return the place between the two medians that is nearest to here."""
    values.sort()
    return min(max(here, values[(len(values) - 1) // 2]), values[len(values) // 2])


def sides(net: Net) -> bytearray:
    """Return for each box whether it is a leaf, or leads from one to its one user: it is to stand near that."""
    is_side = bytearray(len(net.rank))
    for v in net.by_row:
        has_user = v < net.count and len(net.down[v]) == 1
        is_side[v] = has_user and (not net.up[v] or (len(net.up[v]) == 1 and bool(is_side[net.up[v][0]])))
    return is_side


def vertical_pieces(net: Net, x: list[float], is_side: bytearray) -> list[int]:
    """Return the vertical piece that each box is in, by the number of its first; all of a piece get the same place."""
    root = list(range(len(x)))
    for v in net.by_row:
        mate = net.before[v]
        for u in [mate] if mate >= 0 else net.up[v]:
            if abs(x[u] - x[v]) < 0.5 and not is_side[u]:
                root[v] = root[u]
                x[v] = x[root[v]]
                break
    return root
