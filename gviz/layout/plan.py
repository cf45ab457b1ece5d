"""How to ask Graphviz for a layout so that it answers: limits for its search, and arrows that it should not route.

``dot`` lays a place holder for each rank that an arrow crosses. A value that every step of a loop uses again has arrows
across all of them: 300 steps make 45,000 place holders and would take minutes. So the longest arrows are left out of
the layout and drawn straight when all else has its place; and the search for positions, whose cost grows with the
square of the number of place holders, gets a limit (``nslimit``) that small graphs never reach.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import NamedTuple

_MOST_PLACES = 4_000
"""Place holders that any graph may have; a larger graph may have one per node."""

_SEARCH = 2.5e8
"""Steps of the search times places: about two seconds."""

_SLOW = 5_000
"""Nodes and place holders that take noticeably long."""


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


def rank_spans(nodes: Sequence[str], edges: Sequence[tuple[str, str]]) -> list[int]:
    """Return how many ranks each edge goes down, at least 1; a node's rank is the longest way from it to an output.

    Each node but the outputs has an edge of span 1, so that none is lost when long edges are left out.
    """
    users = dict.fromkeys(nodes, 0)
    inputs: dict[str, list[str]] = {}
    for source, target in edges:
        users[source] += 1
        inputs.setdefault(target, []).append(source)
    rank = dict.fromkeys(nodes, 0)
    ready = [node for node in nodes if not users[node]]
    for node in ready:  # grows while it is read
        for source in inputs.get(node, ()):
            rank[source] = max(rank[source], rank[node] + 1)
            users[source] -= 1
            if not users[source]:
                ready.append(source)
    return [max(rank[source] - rank[target], 1) for source, target in edges]
