"""Lines and columns: vertical through the rows, a curve in each gap between two rows, so that none goes through a box.

A long, thin picture is cut between rows into columns, as a text is; lines that are cut go on through the space between.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from gviz.layout.ink import Stroke
from gviz.layout.layered.across import FAR, GAP, LANE
from gviz.layout.layered.net import Ends, Net
from gviz.layout.layered.order import Rows
from gviz.layout.layered.ranks import ASPECT

ROW, PITCH, MOST_TURN = 20.0, 0.04, 40.0
"""Points between two rows; how many more for each point that a line goes to the side there, and at most."""

LONG, THIN, MOST_CUT = 1_500.0, 3.0, 20
"""How high a picture is, in points and by its width, that is cut into columns, and how many lines a cut may meet."""

NO_WAY = 0.01
"""Points between two heights that are the same but for rounding."""

STUB = 8.0
"""Points of a cut line that are straight."""


class Grid(NamedTuple):
    """Where the rows are.

    Args:
        tops, bottoms: the edges of the rows, as if there were one column.
        column: that of each row.
        shift: how far all of a column is moved, to the right and down.
        edge: the right side of each column, where the lanes of its cut lines begin.
        lane: of each line that is cut, by the ends of its piece; the first is next to the column.
        lanes: how many there are behind each column.
        size: of the whole picture.
    """

    tops: list[float]
    bottoms: list[float]
    column: list[int]
    shift: list[tuple[float, float]]
    edge: list[float]
    lane: dict[Ends, int]
    lanes: list[int]
    size: tuple[float, float]

    def middle(self, row: int, x: float) -> tuple[float, float]:
        """Return the place of what stands in the middle of a row."""
        right, down = self.shift[self.column[row]]
        return x + right, (self.tops[row] + self.bottoms[row]) / 2 + down

    def height(self, row: int) -> float:
        """Return that of a row."""
        return self.bottoms[row] - self.tops[row]


def grid_of(
    net: Net, rows: Rows, x: Sequence[float], heights: Sequence[float], gaps: Sequence[float], *, may_cut: bool
) -> Grid:
    """Return where the rows are.

    Args:
        net: the boxes.
        rows: their order.
        x: their middles.
        heights: of the boxes.
        gaps: points below each row, at least.
        may_cut: whether a thin picture is cut into columns.
    """
    tops, bottoms = edges_of(net, rows, x, heights, gaps)
    width = max([middle + wide / 2 for middle, wide in zip(x, net.width, strict=True)])
    through = [sum(len(net.down[v]) for v in row) for row in rows]
    cuts = cuts_of(bottoms, width, through) if may_cut else []
    column = [bisect_left(cuts, row) for row in range(len(rows))]
    lows, highs = [FAR] * (len(cuts) + 1), [-FAR] * (len(cuts) + 1)
    for v, rank in enumerate(net.rank):
        lows[column[rank]] = min(lows[column[rank]], x[v] - net.width[v] / 2)
        highs[column[rank]] = max(highs[column[rank]], x[v] + net.width[v] / 2)
    lane: dict[Ends, int] = {}
    lanes = [0] * len(lows)
    for cut in cuts:  # the rightmost turns first and lands last, so that no two lines cross on the way
        turns = sorted({(-x[v], -x[u], v, u) for v in rows[cut] for u in net.down[v]})
        lane |= {(v, u): number for number, (_, _, v, u) in enumerate(turns)}
        lanes[column[cut]] = len(turns)
    above = STUB + LANE * max(lanes) if cuts else 0.0
    shift: list[tuple[float, float]] = []
    edge: list[float] = []
    at = 0.0
    for number, (low, high) in enumerate(zip(lows, highs, strict=True)):
        shift.append((at - low, above - tops[cuts[number - 1] + 1 if number else 0]))
        edge.append(at + high - low + GAP)
        at += high - low + 2 * GAP + LANE * lanes[number]
    low_end = max(bottoms[last] + down for last, (_, down) in zip([*cuts, len(rows) - 1], shift, strict=True))
    return Grid(tops, bottoms, column, shift, edge, lane, lanes, (at - 2 * GAP, low_end + above))


def edges_of(
    net: Net, rows: Rows, x: Sequence[float], heights: Sequence[float], gaps: Sequence[float]
) -> tuple[list[float], list[float]]:
    """Return the upper and the lower edges of the rows; a gap is as high as its lines need to turn in."""
    tops: list[float] = []
    bottoms: list[float] = []
    y = 0.0
    for row, gap in zip(rows, gaps, strict=True):
        tops.append(y)
        bottoms.append(y + max([heights[v] for v in row if v < net.count], default=10.0))
        turn = max([abs(x[u] - x[v]) for v in row for u in net.down[v]], default=0.0)
        y = bottoms[-1] + gap + min(turn * PITCH, MOST_TURN)
    return tops, bottoms


def cuts_of(bottoms: Sequence[float], width: float, through: Sequence[int]) -> list[int]:
    """Return the rows below which a picture is cut, where few lines go through; none if it is not thin.

    Args:
        bottoms: the lower edges of the rows.
        width: of the picture.
        through: how many lines go through the gap below each row.
    """
    thin = bottoms[-1] / max(width, 1.0)
    parts, cuts = round((thin * ASPECT) ** 0.5) if thin > THIN and bottoms[-1] > LONG else 1, [-1]
    part = bottoms[-1] / parts
    for target in [part * number for number in range(1, parts)]:
        first = max(cuts[-1] + 1, bisect_left(bottoms, target - 0.2 * part))
        near = range(first, min(bisect_left(bottoms, target + 0.2 * part), len(bottoms) - 1))
        if near:
            cuts.append(min(near, key=lambda row: (through[row], abs(bottoms[row] - target))))
    return cuts[1:] if max([through[cut] for cut in cuts[1:]], default=0) <= MOST_CUT else []


def strokes_of(
    chain: Sequence[int], net: Net, x: Sequence[float], heights: Sequence[float], grid: Grid
) -> list[Stroke]:
    """Return the way of a line, from the lower edge of the first of its chain to the upper edge of the last."""
    v, end = chain[0], chain[-1]
    x_begin, y_begin = grid.middle(net.rank[v], x[v])
    strokes: list[Stroke] = [(x_begin, y_begin + (heights[v] if v < net.count else grid.height(net.rank[v])) / 2)]
    for v, u in pairwise(chain):
        (begin, y), (x_end, low) = grid.middle(net.rank[v], x[v]), grid.middle(net.rank[u], x[u])
        y += grid.height(net.rank[v]) / 2  # a line bends below the highest box of its row alone
        low -= grid.height(net.rank[u]) / 2
        strokes += [(begin, y)] if abs(strokes[-1][-1] - y) > NO_WAY else []
        if (v, u) in grid.lane and grid.column[net.rank[v]] != grid.column[net.rank[u]]:
            strokes += [*_around((v, u), (begin, x_end), net, grid), (x_end, low)]
        elif abs(begin - x_end) < 0.3:
            strokes.append((x_end, low))
        else:
            bend = (low - y) / 2
            strokes.append((begin, y + bend, x_end, low - bend, x_end, low))
    x_last, y_last = grid.middle(net.rank[end], x[end])
    top = y_last - (heights[end] if end < net.count else grid.height(net.rank[end])) / 2
    return [*strokes, (x_last, top)] if abs(strokes[-1][-1] - top) > NO_WAY else strokes


def _around(piece: Ends, ends: tuple[float, float], net: Net, grid: Grid) -> list[Stroke]:
    """Return the way from a row through the space between two columns to the first row of the next one."""
    row = net.rank[piece[0]]
    number, turn = grid.column[row], grid.lane[piece]
    lane = grid.edge[number] + LANE * turn
    low = grid.bottoms[row] + grid.shift[number][1] + STUB / 2 + LANE * turn
    high = grid.tops[row + 1] + grid.shift[number + 1][1] - STUB - LANE * (grid.lanes[number] - 1 - turn)
    return [(ends[0], low), (lane, low), (lane, high), (ends[1], high)]
