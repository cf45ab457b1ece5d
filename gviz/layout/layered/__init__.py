"""A layered layout, for what Graphviz cannot lay out in time: Sugiyama's four steps, linear in boxes and lines.

Rows (``ranks``), place holders and the lines that are to be straight (``net``), the order in each row (``order``),
places across (``across``), lines and columns (``lines``). The picture runs from top to bottom; y grows downwards. Equal
input gives equal places. Where Graphviz ends, it makes the better picture: its lines are shorter, and fewer of them
cross.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from gviz.layout.ink import Stroke
from gviz.layout.layered.across import across
from gviz.layout.layered.lines import ROW, grid_of, strokes_of
from gviz.layout.layered.net import Ends, Net
from gviz.layout.layered.order import ordered
from gviz.layout.layered.ranks import ranks_of

__all__ = ["Places", "layered"]

PARALLEL = 6.0
"""Points between lines that join the same two boxes."""


class Places(NamedTuple):
    """Where everything is, in points from the upper left corner.

    Args:
        middles: of the boxes.
        lines: the strokes of each line, the first its beginning; None for one that is to be straight, behind all boxes.
        heads: whether each line ends in its box, or in the trunk that it shares with others.
        size: width and height.
    """

    middles: list[tuple[float, float]]
    lines: list[list[Stroke] | None]
    heads: list[bool]
    size: tuple[float, float]


def layered(
    sizes: Sequence[tuple[float, float]],
    lines: Sequence[Ends],
    looks: Sequence[int] | None = None,
    rooms: Sequence[float] = (),
    *,
    may_cut: bool = True,
) -> Places:
    """Return where the boxes and lines of a graph go.

    Args:
        sizes: width and height of each box, in points.
        lines: (from, to) of each line, by the numbers of the boxes.
        looks: a number for the look of each line: those that look different never share a trunk.
        rooms: for the text of each line, how much there is to be below the row of its first box, in points.
        may_cut: whether a long, thin picture is cut into columns.

    >>> places = layered([(40, 20)] * 3, [(0, 1), (1, 2)])
    >>> places.middles, places.lines[0]
    ([(20.0, 10.0), (20.0, 50.0), (20.0, 90.0)], [(20.0, 20.0), (20.0, 40.0)])
    """
    if not sizes:
        return Places([], [], [], (0.0, 0.0))
    widths, heights = [width for width, _ in sizes], [height for _, height in sizes]
    net = Net(ranks_of(widths, lines), widths, lines, looks or [0] * len(lines))
    rows, place, crossed = ordered(net)
    x = across(net, rows, place, crossed)
    gaps = [ROW] * len(rows)
    for (source, _), room in zip(lines, rooms, strict=False):
        gaps[net.rank[source]] = max(gaps[net.rank[source]], room)
    grid = grid_of(net, rows, x, heights, gaps, may_cut=may_cut)
    twins = Counter(tuple(chain) for chain in net.chains if chain)
    counts: Counter[tuple[int, ...]] = Counter()
    all_strokes: list[list[Stroke] | None] = []
    for chain in net.chains:
        strokes = strokes_of(chain, net, x, heights, grid) if chain else None
        if strokes and chain and twins[tuple(chain)] > 1:
            aside = (counts[tuple(chain)] - (twins[tuple(chain)] - 1) / 2) * PARALLEL
            strokes = [tuple(n if i % 2 else n + aside for i, n in enumerate(stroke)) for stroke in strokes]
            counts[tuple(chain)] += 1
        all_strokes.append(strokes)
    middles = [grid.middle(net.rank[box], x[box]) for box in range(len(sizes))]
    heads = [chain is not None and chain[-1] < len(sizes) for chain in net.chains]
    return Places(middles, all_strokes, heads, grid.size)
