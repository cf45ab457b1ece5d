"""Where backward started in a graph of several roots: it may have run from one of them alone."""

from __future__ import annotations

from collections.abc import Iterable

from gviz.graphs import Edge, Graph
from gviz.graphs.numbers import Numbers
from gviz.passes.elements import MINUS_ONE, TOLERANCE, agree, has_only, plus, sum_of, times


def starts_of(graph: Graph) -> dict[str, Numbers | None]:
    """Return the roots that backward starts at, by their ids, with the gradients there; None if not known.

    What arrives at a root that another one is made from consists of that gradient and what the other one hands on.
    """
    nodes = graph.by_id
    starts: dict[str, Numbers | None] = {}
    for root in graph.roots:
        arrives, gradients = nodes[root].grad.arrived, handed_on(graph.uses[root])
        if not gradients or arrives is None:
            starts[root] = arrives
        elif not is_close(arrives, sum_of(gradients)):
            starts[root] = plus(arrives, times(sum_of(gradients), MINUS_ONE))
    sure_starts = {root: start for root, start in starts.items() if start is not None or nodes[root].recorded.outputs}
    return sure_starts or dict.fromkeys(graph.roots)


def is_from_one(graph: Graph) -> bool:
    """Return whether backward has started from 1, so that what arrives, but for hooks, is a derivative of the roots."""
    return all(start is None or has_only(start, 1.0) for start in starts_of(graph).values())


def handed_on(uses: Iterable[Edge]) -> list[Numbers]:
    """Return the gradients that come over some edges, as far as they are known."""
    return [edge.flow.handed for edge in uses if edge.flow.handed is not None]


def is_close(one: Numbers | None, other: Numbers | None) -> bool:
    """Return whether two tensors are the same but for rounding."""
    return agree(one, other, scale=TOLERANCE)
