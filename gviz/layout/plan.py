"""How to ask Graphviz for a layout so that it answers: limits for its search, and arrows that it should not route.

``dot`` lays a place holder for each rank that an arrow crosses. A value that every step of a loop uses again has arrows
across all of them: 300 steps make 45,000 place holders and would take minutes. So the longest arrows are left out of
the layout and drawn straight when all else has its place; and the search for positions, whose cost grows with the
square of the number of place holders, gets a limit (``nslimit``) that small graphs never reach.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from itertools import accumulate
from typing import NamedTuple

from gviz.reaching import first_to_last

_MOST_PLACES = 4_000
"""Place holders that any graph may have; a larger graph may have one per node."""

_SEARCH = 2.5e8
"""Steps of the search times places: about two seconds."""

_SLOW = 5_000
"""Nodes and place holders that take noticeably long."""

_DEEP = 20
"""Edges of a longest path from which on a picture without a straight line drifts to the side."""

_LATE = 3_000
"""Boxes, and place holders, from which on Graphviz keeps people waiting: up to there it takes half a second or less."""


class LayoutPlan(NamedTuple):
    """How to ask Graphviz for a layout.

    Args:
        attributes: of the graph.
        long: the edges, by their places in the list, that are to be drawn straight at the end.
        is_slow: True if it will take more than some seconds.
    """

    attributes: dict[str, str]
    long: frozenset[int]
    is_slow: bool


def make_plan(nodes: Sequence[str], edges: Sequence[tuple[str, str]]) -> LayoutPlan:
    """Return the plan for a graph.

    Args:
        nodes: ids.
        edges: (source, target) of each.

    >>> chain = [(f"n{i}", f"n{i + 1}") for i in range(200)]
    >>> plan = make_plan([f"n{i}" for i in range(201)] + ["w"], chain + [("w", target) for _, target in chain])
    >>> len(plan.long), plan.attributes
    (111, {'nslimit': '14.16'})
    """
    lengths = rank_spans(nodes, edges)
    places = sum(span - 1 for span in lengths)
    budget = max(_MOST_PLACES, len(nodes))
    shortest = sorted(range(len(lengths)), key=lengths.__getitem__)  # first
    totals = zip(shortest, accumulate(lengths[index] - 1 for index in shortest), strict=True)
    long = [index for index, total in totals if total > budget]
    size = len(nodes) + min(places, budget)
    limit = _SEARCH / max(size, 1) ** 2
    return LayoutPlan({"nslimit": f"{limit:.4g}"} if limit < 1_000 else {}, frozenset(long), size > _SLOW)


def is_for_layered(
    nodes: Sequence[str], edges: Sequence[tuple[str, str]], *, is_bare: bool, has_labels: bool = False
) -> bool:
    """Return True for a graph that gviz lays out itself, since Graphviz would take too long.

    Args:
        nodes: ids.
        edges: (source, target) of each.
        is_bare: whether it is TorchViz's own picture, which is Graphviz's as long as that can route all of its arrows.
        has_labels: whether an edge has a label: Graphviz puts a rank for labels between two others then.
    """
    if is_bare:
        plan = make_plan(nodes, edges)
        return plan.is_slow or bool(plan.long)
    return len(nodes) + sum(span * (1 + has_labels) - 1 for span in rank_spans(nodes, edges)) > _LATE


def rank_spans(nodes: Sequence[str], edges: Sequence[tuple[str, str]]) -> list[int]:
    """Return how many ranks each edge goes down, at least 1; a node's rank is the longest way from it to an output.

    Each node but the outputs has an edge of span 1, so that none is lost when long edges are left out.
    """
    rank = _ranks(nodes, edges)
    return [max(rank[source] - rank[target], 1) for source, target in edges]


def main_line(nodes: Sequence[str], edges: Sequence[tuple[str, str]]) -> frozenset[int]:
    """Return the edges of one longest path, by their places in the list.

    Where several paths are as long, a deep graph takes the first; a small one leaves that part out, since its picture
    is symmetric there.

    >>> diamond = [("x", "a"), ("a", "b"), ("a", "c"), ("b", "d"), ("c", "d"), ("d", "y"), ("d", "y")]
    >>> sorted(main_line("xabcdy", diamond))
    [0, 5]
    """
    rank = _ranks(nodes, edges)
    from_rank: dict[int, list[int]] = {}
    for number, (source, target) in enumerate(edges):
        if rank[source] == rank[target] + 1:
            from_rank.setdefault(rank[source], []).append(number)
    top = max(rank.values(), default=0)
    ends = [node for node in nodes if rank[node] == top]
    line: list[int] = []
    node, longest = ends[0] if ends else "", set(ends)
    for row in range(top, 0, -1):
        ways = [number for number in from_rank[row] if edges[number][0] in longest]
        longest = {edges[number][1] for number in ways}
        first = next(number for number in ways if edges[number][0] == node)
        node = edges[first][1]
        if top > _DEEP or len({edges[number] for number in ways}) == 1:
            line.append(first)
    return frozenset(line)


def _ranks(nodes: Sequence[str], edges: Sequence[tuple[str, str]]) -> dict[str, int]:
    """Return the longest way from each node to an output; in a cycle, and above it, that is not told."""
    inputs = defaultdict[str, list[str]](list)
    for source, target in edges:
        inputs[target].append(source)
    rank = dict.fromkeys(nodes, 0)
    for node in first_to_last(nodes, inputs.__getitem__):
        for source in inputs[node]:
            rank[source] = max(rank[source], rank[node] + 1)
    return rank
