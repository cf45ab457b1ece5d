"""Nodes drawn as one box each so that no arrows go round in a circle which the graph has not."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Mapping

from gviz.graphs import Graph
from gviz.reaching import first_to_last

BESIDE = ("saved", "carried")
"""The kinds of edges that may lead back."""


def without_cycles(graph: Graph, box_of: Mapping[str, str]) -> dict[str, tuple[str, int]]:
    """Return the box of each node, and which part of it: a box on a circle of arrows is cut into parts, counted from 0.

    >>> from gviz.graphs import Edge, Node
    >>> line = Graph(tuple(Node(name, "leaf") for name in "abc"), (Edge("a", "b"), Edge("b", "c")))
    >>> without_cycles(line, {"a": "box", "b": "b", "c": "box"})
    {'a': ('box', 0), 'b': ('b', 0), 'c': ('box', 1)}

    Args:
        graph: any graph; nodes on a circle of its own stay in their box.
        box_of: the box of each node.
    """
    edges = [edge for edge in graph.edges if edge.kind not in BESIDE]
    knot = knotted((box_of[edge.source], box_of[edge.target]) for edge in edges)
    part_of = {node.id: (box_of[node.id], 0) for node in graph.nodes}
    inside = [edge for edge in edges if box_of[edge.source] in knot and box_of[edge.target] in knot] if knot else []
    waiting = Counter(edge.target for edge in inside)
    late = Counter(box_of[edge.target] for edge in inside if box_of[edge.source] != box_of[edge.target])
    uses: dict[str, list[str]] = {}
    for edge in inside:
        uses.setdefault(edge.source, []).append(edge.target)
    whole: dict[str, list[str]] = {}  # boxes with nodes whose inputs are all there: nothing outside has to come first
    partly: dict[str, list[str]] = {}  # of these, something outside has to
    for node in graph.nodes:
        if (box := box_of[node.id]) in knot and not waiting[node.id]:
            (partly if late[box] else whole).setdefault(box, []).append(node.id)
    parts: Counter[str] = Counter()
    while whole or partly:
        ready = whole or partly
        box = next(iter(ready))
        members = ready.pop(box)
        for one in members:  # grows while it is read
            part_of[one] = box, parts[box]
            for target in uses.get(one, ()):
                waiting[target] -= 1
                other = box_of[target]
                late[other] -= other != box
                if other != box and not late[other] and other in partly:
                    whole[other] = partly.pop(other)
                if not waiting[target]:
                    there = members if other == box else (partly if late[other] else whole).setdefault(other, [])
                    there.append(target)
        parts[box] += 1
    return part_of


def knotted(edges: Iterable[tuple[Hashable, Hashable]]) -> set[Hashable]:
    """Return the boxes on circles of arrows, and those between two circles.

    >>> sorted(knotted([("a", "b"), ("b", "c"), ("c", "b"), ("c", "d")]))
    ['b', 'c']
    """
    arrows = [pair for pair in {*edges} if pair[0] != pair[1]]
    for start, end in ((0, 1), (1, 0)):  # first what has no circle before it goes, then what has none behind it
        following = defaultdict[Hashable, list[Hashable]](list)
        for arrow in arrows:
            following[arrow[start]].append(arrow[end])
        outside = {*first_to_last([*following], following.__getitem__)}
        arrows = [arrow for arrow in arrows if not outside & {*arrow}]
    return {box for arrow in arrows for box in arrow}
