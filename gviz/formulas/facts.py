"""What is known of the elements of a graph's tensors, for formulas that depend on it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from gviz.formulas.lectures import EXTREMES, Facts
from gviz.graphs import Graph
from gviz.graphs.numbers import Numbers, size_of


def facts_about(value: Numbers | None, like: Numbers | None = None) -> Facts | None:
    """Return what is known of the elements of a tensor, or the sizes alone of another one that are its own.

    >>> facts_about(Numbers.of([0.0, 1.0]))
    Facts(shape=(2,), has_zeros=True, has_nan=False, is_zero=False, ties=0)
    >>> facts_about(None, Numbers.of([[2.0]])).shape, facts_about(None)
    ((1, 1), None)
    """
    source = value if value is not None and value.shape is not None else like
    if source is None or source.shape is None:
        return None
    if source is like or not source.is_known:
        return Facts(size_of(source))
    return Facts(size_of(source), source.summary.zeros > 0, source.has_nan, source.has_only(0))


def with_ties(result: Facts | None, value: Numbers | None, of: Numbers | None) -> Facts | None:
    """Return the facts of an extreme with how many elements are equal to it."""
    if result is None or value is None or of is None or value.elements is None or of.elements is None or value.shape:
        return result
    return result._replace(ties=of.elements.count(value.elements[0]))


def facts_of(graph: Graph, operands: Mapping[str, Sequence[str]]) -> dict[str, tuple[Facts | None, ...]]:
    """Return what is known of the inputs of each operation, in the order of its slots, and of its result.

    Args:
        graph: any recorded one.
        operands: what the inputs of each operation are called: one without a gradient is known by its name alone.
    """
    nodes, rows = graph.by_id, {row.name: row for row in graph.tensors}
    data = [edge for edge in graph.edges if edge.kind == "data"]
    stands_for = {edge.target: nodes[edge.source] for edge in data if nodes[edge.target].kind == "accumulate"}
    results = {edge.source: nodes[edge.target] for edge in data if nodes[edge.target].kind == "output"}
    values: dict[str, dict[int, Numbers | None]] = {}
    inputs: dict[str, dict[int, Facts | None]] = {}
    for edge in data:
        source = stands_for.get(edge.source) or results.get(edge.source) or nodes[edge.source]
        value = source.recorded.result(edge.output) if source.recorded.outputs else source.numbers
        values.setdefault(edge.target, {})[edge.slot] = value
        inputs.setdefault(edge.target, {})[edge.slot] = facts_about(value, edge.flow.handed)
    facts = {}
    for node in graph.nodes:
        if node.kind == "operation":
            slots = inputs.get(node.id, {})
            frozen = {slot: rows[text] for slot, text in enumerate(operands.get(node.id, ())) if text in rows}
            slots = {slot: facts_about(row.at_backward()[0]) for slot, row in frozen.items()} | slots
            value = None if node.recorded.outputs else results.get(node.id, node).numbers
            about = facts_about(value, node.grad.arrived)
            about = with_ties(about, value, values.get(node.id, {}).get(0)) if node.label in EXTREMES else about
            facts[node.id] = (*(slots.get(slot) for slot in range(node.recorded.slots)), about)
    return facts
