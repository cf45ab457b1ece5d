"""The numbers of steps inside a function and of derivatives, computed again: autograd gives them no name and keeps few."""

from __future__ import annotations

import ast

from gviz.errors import SourceError
from gviz.formulas.formula import Formula
from gviz.graphs import Graph, Node
from gviz.graphs.numbers import Numbers
from gviz.options import SourceOptions
from gviz.passes.dataflow import dataflow
from gviz.passes.elements import agree
from gviz.sources.expression import evaluate
from gviz.sources.expression.allowed import RANDOM
from gviz.walk import numbers

RESULT = "result_"
"""The name of what is computed again."""

MOST = 100
"""Operations without numbers up to which that is done."""


def with_results(graph: Graph, dtype: str | None) -> Graph:
    """Return the graph with the numbers of its unnamed results, computed again from what has numbers.

    What cannot be computed from its expression, such as a step that has no name in public, stays without. Where a tensor
    that has numbers would have others if it were computed from these, as one written under no_grad has, all stay without.

    Args:
        graph: of operations.
        dtype: of the computation; None for the usual one.
    """
    output_sources = {edge.source for edge in graph.edges if graph.by_id[edge.target].kind == "output"}
    unnamed = [node for node in graph.nodes if node.kind == "operation" and node.id not in output_sources]
    if not 0 < sum(not is_whole(node.numbers) for node in unnamed) <= MOST:
        return graph
    named_nodes = [node for node in dataflow(graph).order if node.name and node.kind != "constant"]  # inputs first
    numbers_by_name = {node.name: node.numbers for node in named_nodes if is_whole(node.numbers)}
    results: dict[str, Numbers] = {}
    computed: set[str | None] = set()
    for node in named_nodes:
        is_known = node.name in numbers_by_name
        if node.kind != "operation" or (is_known and computed.isdisjoint(Formula.parse(node.expression).variables)):
            continue
        value = computed_from(node, numbers_by_name, dtype)
        if is_known and value is not None and not agree(value, node.numbers):
            return graph
        if not is_known and value is not None:
            numbers_by_name[node.name] = results[node.id] = value
            computed.add(node.name)
    nodes = tuple(node._replace(numbers=results[node.id]) if node.id in results else node for node in graph.nodes)
    return graph.changed(nodes=nodes) if results else graph


def is_whole(value: Numbers | None) -> bool:
    """Return whether all elements of a tensor are known."""
    return value is not None and value.elements is not None


def computed_from(node: Node, numbers_by_name: dict[str | None, Numbers | None], dtype: str | None) -> Numbers | None:
    """Return what an operation makes of known tensors; None where that is not known."""
    formula = Formula.read(node.expression)
    if formula is None or not formula.variables or not formula.variables <= numbers_by_name.keys() or is_vague(formula):
        return None
    values = {name: value.nested() for name in formula.variables if (value := numbers_by_name[name]) is not None}
    options = SourceOptions(values=values, backward=False, dtype=dtype)
    try:
        return numbers(evaluate(f"{RESULT} = {formula.python}", options).names[RESULT])
    except SourceError:
        return None


def is_vague(formula: Formula) -> bool:
    """Return whether a call in a formula leaves arguments out, as ``…``, or makes other numbers each time.

    >>> [is_vague(formula) for text in ("f(x, …)", "x[…, 0]", "dropout(x)") if (formula := Formula.read(text))]
    [True, False, True]
    """
    calls = [node for node in ast.walk(formula.node) if isinstance(node, ast.Call)]
    is_short = any(isinstance(one, ast.Constant) and one.value is ... for call in calls for one in call.args)
    return is_short or not RANDOM.isdisjoint(formula.names)
