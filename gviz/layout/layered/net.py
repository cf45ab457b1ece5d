"""The boxes with a place holder in each row that a line crosses, so that all lines go from a row to the next."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

Ends = tuple[int, int]
"""A line: the numbers of the boxes that it comes from and goes to."""

BUDGET, FREE = 4, 2_000
"""Place holders for each box, and for any picture; the longest lines beyond are drawn straight, behind all boxes."""


class Net:
    """Boxes and place holders, numbered one after the other, with the lines between neighbouring rows.

    Long lines of one source, or into one target, whichever has more of them, share their place holders: a trunk with
    branches, which is drawn once.

    Args:
        rank: the row of each box.
        width: of each box, in points.
        lines: (from, to) of each.
        looks: a number for the look of each line: those that look different share nothing.

    Attributes:
        count: of the boxes; what has a higher number is a place holder.
        up, down: what each is joined to in the row above, and in the row below.
        chains: what each line goes through, its ends included; None for a line that is to be straight. A line that
            meets the trunk of a shorter one ends there, or begins there.
        before, after: the neighbours in the line that is to be vertical at each box, or -1.
        depth: how many boxes there are above each.
        by_row: all numbers, the first row first.
    """

    def __init__(
        self, rank: Sequence[int], width: Sequence[float], lines: Sequence[Ends], looks: Sequence[int]
    ) -> None:
        self.count, self.rank, self.width = len(rank), list(rank), list(width)
        self.up: list[list[int]] = [[] for _ in rank]
        self.down: list[list[int]] = [[] for _ in rank]
        self.chains: list[list[int] | None] = [None] * len(lines)
        self._trunks: dict[int, int] = {}
        self._add_lines(lines, looks)
        total = len(self.rank)
        self.by_row = sorted(range(total), key=self.rank.__getitem__)
        self.before, self.after, self.depth = [-1] * total, [-1] * total, [0] * total
        self._choose_straight_lines()

    def _add_lines(self, lines: Sequence[Ends], looks: Sequence[int]) -> None:
        """Add the lines, short ones first, as long as the budget lasts."""
        rank = self.rank
        spans = [rank[target] - rank[source] for source, target in lines]
        outs, ins = [0] * self.count, [0] * self.count
        for (source, target), span in zip(lines, spans, strict=True):
            if span > 1:
                outs[source] += 1
                ins[target] += 1
        most, ways = self.count + BUDGET * self.count + FREE, 2 * self.count
        for number in sorted(range(len(lines)), key=spans.__getitem__):
            (source, target), span = lines[number], spans[number]
            if span < 1 or (span > 1 and len(rank) > most):
                continue
            is_fan = outs[source] >= ins[target]
            trunk = looks[number] * ways + (source if is_fan else self.count + target)
            self.chains[number] = self._add_chain(source, target, trunk, is_fan=is_fan)
        self._trunks.clear()

    def _add_chain(self, source: int, target: int, trunk: int, *, is_fan: bool) -> list[int]:
        """Return what a line goes through, with new place holders where its trunk has none yet."""
        low, high = self.rank[source], self.rank[target]
        chain: list[int] = []
        for row in range(high - 1, low, -1) if is_fan else range(low + 1, high):
            key = trunk << 32 | row
            place = self._trunks.get(key)
            if place is not None:
                chain.append(place)
                break
            place = self._trunks[key] = len(self.rank)
            self.rank.append(row)
            self.width.append(1.0)
            self.up.append([])
            self.down.append([])
            chain.append(place)
        else:
            chain.append(source if is_fan else target)
        chain = [*reversed(chain), target] if is_fan else [source, *chain]
        for v, u in pairwise(chain):
            self.down[v].append(u)
            self.up[u].append(v)
        return chain

    def _choose_straight_lines(self) -> None:
        """Share all out among lines that are to be vertical: the longest way first, then the longest of what is left.

        A line takes, of what its first box is made from, the one that lies deepest and is in no other line; of two as
        deep the one from which the way goes on.
        """
        up, after, before, depth = self.up, self.after, self.before, self.depth
        for v in self.by_row:
            if up[v]:
                depth[v] = max([depth[u] for u in up[v]]) + (v < self.count)

        def goes_on(u: int) -> tuple[int, int]:
            return depth[u], max([depth[w] for w in up[u] if after[w] < 0], default=-1)

        ends = self.by_row[::-1]
        ends.sort(key=depth.__getitem__, reverse=True)
        for end in ends:
            v = end
            while before[v] < 0:
                free = [u for u in up[v] if after[u] < 0]
                if not free:
                    break
                u = free[0] if len(free) == 1 else max(free, key=goes_on)
                before[v], after[u] = u, v
                v = u
