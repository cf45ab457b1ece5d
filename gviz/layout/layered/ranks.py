"""The row of each box: below what it is made from, near to the outputs, then where its lines are short."""

from __future__ import annotations

from collections.abc import Sequence

from gviz.layout.layered.net import Ends

ROUNDS = 4
"""How often boxes are moved to where their lines are shorter."""

WIDE = 12.0
"""How many times as wide as high a picture is whose rows go on below."""

ASPECT = 1.4
"""Width by height of a picture whose rows or columns are cut."""

HIGH = 50.0
"""Points from a row to the next, roughly."""


def ranks_of(widths: Sequence[float], lines: Sequence[Ends]) -> list[int]:
    """Return the row of each box, 0 for the first. A line of a cycle may go up.

    Args:
        widths: of the boxes, in points.
        lines: (from, to) of each.
    """
    ins, outs = neighbours(len(widths), lines)
    order = users_before(ins, outs)
    rank = [0] * len(widths)
    for box in order:
        low = rank[box] + 1
        for source in ins[box]:
            rank[source] = max(rank[source], low)
    rows = max(rank, default=0) + 1
    row_widths = [0.0] * rows
    for row, width in zip(rank, widths, strict=True):
        row_widths[row] += width
    if max(row_widths) > WIDE * HIGH * rows:
        rank = narrow(widths, ins, outs, (ASPECT * HIGH * sum(row_widths)) ** 0.5)
        rows = max(rank) + 1
        return [rows - 1 - row for row in rank]
    return with_short_lines([rows - 1 - row for row in rank], order, ins, outs)


def neighbours(count: int, lines: Sequence[Ends]) -> tuple[list[list[int]], list[list[int]]]:
    """Return what each box is made from, and what uses it."""
    ins: list[list[int]] = [[] for _ in range(count)]
    outs: list[list[int]] = [[] for _ in range(count)]
    for source, target in lines:
        if source != target:
            ins[target].append(source)
            outs[source].append(target)
    return ins, outs


def users_before(ins: list[list[int]], outs: list[list[int]]) -> list[int]:
    """Return the boxes, users before what they use; the lines that close a cycle are taken out of both lists."""
    waiting = [len(users) for users in outs]
    is_done = bytearray(len(ins))
    order = [box for box, count in enumerate(waiting) if not count]
    at = rest = 0
    while at < len(order) or len(order) < len(ins):
        if at == len(order):  # a cycle: one of its boxes goes before its users
            while is_done[rest]:
                rest += 1
            last, visited = rest, set()
            while last not in visited:
                visited.add(last)
                last = next(user for user in outs[last] if not is_done[user])
            waiting[last] = 0
            order.append(last)
            for user in [user for user in outs[last] if not is_done[user]]:
                ins[user].remove(last)
                outs[last].remove(user)
        box = order[at]
        is_done[box] = 1
        at += 1
        for source in ins[box]:
            waiting[source] -= 1
            if not waiting[source]:
                order.append(source)
    return order


def with_short_lines(rank: list[int], order: Sequence[int], ins: list[list[int]], outs: list[list[int]]) -> list[int]:
    """Return rows with shorter lines in all: up goes what has more lines in than out, down what has fewer."""
    best, least = rank, sum(rank[user] - row for users, row in zip(outs, rank, strict=True) for user in users)
    for _ in range(ROUNDS if any(len(ins[box]) > len(outs[box]) > 0 for box in order) else 0):
        rank = list(rank)
        for box in reversed(order):
            if ins[box] and len(ins[box]) >= len(outs[box]):
                rank[box] = max([rank[source] for source in ins[box]]) + 1
        for box in order:
            if outs[box] and len(ins[box]) <= len(outs[box]):
                rank[box] = min([rank[user] for user in outs[box]]) - 1
        total = sum(rank[user] - row for users, row in zip(outs, rank, strict=True) for user in users)
        if total >= least:
            break
        best, least = rank, total
    low = min(best, default=0)
    return [row - low for row in best]


def narrow(widths: Sequence[float], ins: list[list[int]], outs: list[list[int]], limit: float) -> list[int]:
    """Return the rows from the outputs up, none wider than the limit: what has no room goes into a further row.

    The boxes come depth first, so that a chain stays together.
    """
    rank, waiting = [0] * len(widths), [len(users) for users in outs]
    row_widths, further = [0.0], [0]  # of each row: its width, and the next row that may have room
    stack = [box for box in reversed(range(len(widths))) if not waiting[box]]
    while stack:
        box = stack.pop()
        row = max([rank[user] for user in outs[box]], default=-1) + 1
        path = []
        while row < len(row_widths) and (
            further[row] > row or (row_widths[row] and row_widths[row] + widths[box] > limit)
        ):
            path.append(row)
            further[row] = row = max(further[row], row + 1)
        for other in path:
            further[other] = row
        while row >= len(row_widths):
            further.append(len(row_widths))
            row_widths.append(0.0)
        row_widths[row] += widths[box]
        rank[box] = row
        for source in reversed(ins[box]):
            waiting[source] -= 1
            if not waiting[source]:
                stack.append(source)
    return rank
