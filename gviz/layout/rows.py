"""A layout from left to right for few boxes with texts on their lines: chains lie on one row, lines are straight.

Columns and the order in them are those of the layered layout. Then what is to lie on one row becomes a block: an
operation with the deepest of its inputs, the lane of a long line with its source. The heights of blocks are least
squares of how far lines climb, with room for all texts: a quadratic program, solved by Hildreth's method ("A quadratic
programming procedure", 1957).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from gviz.layout.layered.net import Ends, Net
from gviz.layout.layered.order import ordered
from gviz.layout.layered.ranks import ranks_of
from gviz.reaching import first_to_last

ROUNDS, ENOUGH = 1500, 1e-4
"""Rounds of the quadratic program, and the change at which it ends."""

LONG = 2.0
"""The weight of a piece of a long line, which is to be straight; that of other lines is 1."""


class Room(NamedTuple):
    """How far apart things are, in points.

    Args:
        boxes: two boxes of a column.
        lanes: a lane and what is next to it.
        meeting: two boxes whose lines meet: there the texts of both lines have their places.
    """

    boxes: float
    lanes: float
    meeting: float


class RowPlaces(NamedTuple):
    """The columns and heights of boxes and lanes.

    Args:
        column: of each box, then of each place where a long line crosses a column.
        y: likewise, in points; y grows downwards.
        chains: what each line goes through, its ends included.
        columns: what is in each column, from above.
    """

    column: list[int]
    y: list[float]
    chains: list[list[int]]
    columns: list[list[int]]


def in_rows(above: Sequence[float], below: Sequence[float], lines: Sequence[Ends], room: Room) -> RowPlaces:
    """Return where boxes go.

    Args:
        above: how high each box is above the line through it.
        below: how deep it is below.
        lines: (from, to) of each, of each box in the order of its operands.
        room: how far apart things are.

    >>> placed = in_rows([10, 10, 10], [10, 10, 10], [(0, 2), (1, 2)], Room(8, 8, 20))
    >>> placed.column, [round(y - placed.y[2]) for y in placed.y]
    ([0, 0, 1], [-14, 14, 0])
    """
    heights = [up + down for up, down in zip(above, below, strict=True)]
    net = Net(ranks_of(heights, lines), heights, lines, range(len(lines)))
    chains = [chain or [] for chain in net.chains]
    place = {(chain[-2], chain[-1]): number for number, chain in enumerate(chains) if chain}
    for box, inputs in enumerate(net.up):
        inputs.sort(key=lambda source, box=box: place.get((source, box), 0))  # type: ignore[misc]
    columns, *_ = ordered(net)
    block = row_blocks(net, columns, chains)
    gaps: dict[Ends, float] = {}
    for one, other in [pair for column in columns for pair in pairwise(column)]:
        deep, high = (side[v] if v < net.count else 0.0 for side, v in ((below, one), (above, other)))
        gap = deep + high + (room.boxes if max(one, other) < net.count else room.lanes)
        if {*net.down[one]} & {*net.down[other]} or {*net.up[one]} & {*net.up[other]}:
            gap = max(gap, room.meeting)
        pair = block[one], block[other]
        gaps[pair] = max(gaps.get(pair, 0.0), gap)
    pulls = [(block[v], block[w], 1.0 if max(v, w) < net.count else LONG) for v in net.by_row for w in net.down[v]]
    heights = least_squares(max(block, default=-1) + 1, pulls, gaps)
    return RowPlaces(net.rank, [heights[one] for one in block], chains, columns)


def row_blocks(net: Net, columns: list[list[int]], chains: Sequence[Sequence[int]]) -> list[int]:
    """Return the number of the block that each box and lane is in, counted from 0.

    Two are joined only if the blocks still have an order from above to below.
    """
    pairs: list[Ends] = []
    for box in sorted(range(net.count), key=lambda box: -net.depth[box]):
        deepest = sorted(net.up[box], key=lambda source: -net.depth[source])
        if deepest and (len(deepest) == 1 or net.depth[deepest[0]] > net.depth[deepest[1]]):
            pairs.append((deepest[0], box))
    pairs += [pair for chain in chains for pair in pairwise(chain[1:-1])]
    pairs += [pair for chain in chains if len(chain) > 2 for pair in ((chain[0], chain[1]), (chain[-2], chain[-1]))]
    of = list(range(len(net.rank)))
    for one, other in pairs:
        joined = [of[one] if block == of[other] else block for block in of]
        if has_order({(joined[v], joined[w]) for column in columns for v, w in pairwise(column)}):
            of = joined
    numbers = {block: number for number, block in enumerate(dict.fromkeys(of))}
    return [numbers[block] for block in of]


def has_order(pairs: set[Ends]) -> bool:
    """Return whether things can be listed so that of each pair the first comes before the second."""
    after = defaultdict[int, list[int]](list)
    for one, other in pairs:
        after[one].append(other)
    things = {one for pair in pairs for one in pair}
    return len(first_to_last(things, after.__getitem__)) == len(things)


def least_squares(count: int, pulls: Sequence[tuple[int, int, float]], gaps: dict[Ends, float]) -> list[float]:
    """Return heights for which the weighted squares of the pulled pairs' differences are least.

    Args:
        count: of the heights.
        pulls: pairs that are to be level, each with a weight.
        gaps: by pair: how much the second is greater than the first at least.
    """
    square = np.eye(count) * 1e-3
    for one, other, weight in pulls:
        square[one, one] += weight
        square[other, other] += weight
        square[one, other] -= weight
        square[other, one] -= weight
    if not gaps:
        return [0.0] * count
    sides, needed = np.zeros((len(gaps), count)), np.array([*gaps.values()])
    for number, (one, other) in enumerate(gaps):
        sides[number, one] -= 1
        sides[number, other] += 1
    through = np.linalg.solve(square, sides.T)
    matrix = sides @ through
    forces = np.zeros(len(gaps))
    for _ in range(ROUNDS):
        before = forces.copy()
        for number in range(len(gaps)):
            lack = needed[number] - matrix[number] @ forces
            forces[number] = max(0.0, forces[number] + lack / matrix[number, number])
        if abs(forces - before).max() < ENOUGH:
            break
    return [float(height) for height in through @ forces]
