"""The numbers of what a derivative is computed from: autograd gives these results no name, and keeps few of them."""

from __future__ import annotations

from gviz.errors import SourceError
from gviz.formulas.formula import Formula
from gviz.graphs import Graph, Node
from gviz.graphs.numbers import Numbers
from gviz.options import SourceOptions
from gviz.passes.dataflow import dataflow
from gviz.sources.expression import evaluate
from gviz.walk import numbers

RESULT = "result_"
"""The name of what is computed again."""

MOST = 100
"""Operations of a graph up to which that is done."""


def with_results(graph: Graph, dtype: str | None) -> Graph:
    """Return the graph of a derivative with the numbers of its unnamed results, computed again from what has numbers.

    What cannot be computed from its expression, such as a step that has no name in public, stays without.

    Args:
        graph: of operations.
        dtype: of the computation; None for the usual one.
    """
    named_nodes = {node.id: node for node in dataflow(graph).nodes if node.name and node.kind != "constant"}
    numbers_by_name = {node.name: node.numbers for node in named_nodes.values() if is_whole(node.numbers)}
    todo = [node for node in reversed(named_nodes.values()) if node.kind == "operation" and not is_whole(node.numbers)]
    results: dict[str, Numbers] = {}
    is_further = len(todo) <= MOST
    while is_further:  # each turn computes at least one, or is the last
        is_further = False
        for node in [node for node in todo if node.name not in numbers_by_name]:
            value = computed_from(node, numbers_by_name, dtype)
            if value is not None:
                numbers_by_name[node.name] = results[node.id] = value
                is_further = True
    nodes = tuple(node._replace(numbers=results[node.id]) if node.id in results else node for node in graph.nodes)
    return graph.changed(nodes=nodes) if results else graph


def is_whole(value: Numbers | None) -> bool:
    """Return whether all elements of a tensor are known."""
    return value is not None and value.elements is not None


def computed_from(node: Node, numbers_by_name: dict[str | None, Numbers | None], dtype: str | None) -> Numbers | None:
    """Return what an operation makes of known tensors; None where that is not known."""
    formula = Formula.read(node.expression)
    if formula is None or not formula.variables or not formula.variables <= numbers_by_name.keys():
        return None
    values = {name: value.nested() for name in formula.variables if (value := numbers_by_name[name]) is not None}
    options = SourceOptions(values=values, backward=False, dtype=dtype)
    try:
        return numbers(evaluate(f"{RESULT} = {formula.python}", options).names[RESULT])
    except SourceError:
        return None
