"""The graph without what rounding has left of sums whose terms cancel: it is 0 at any precision that is shown."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from gviz.graphs import Edge, Graph, Node
from gviz.graphs.numbers import Numbers
from gviz.passes.elements import amount_along, array_of, settled_numbers, sum_to, times

SUMS = ("SumBackward0", "SumBackward1", "MeanBackward0", "MeanBackward1")
"""Operations that add up what they take."""


def without_rounding(graph: Graph) -> Graph:
    """Return the graph with 0 for each element of a sum, or of a gradient, that is a rounding of what was added up.

    A difference of two stays as the engine has it: what cancellation leaves is what a program may be about. So does a
    sum that something is computed from, which would not hold with 0.

    >>> from gviz.graphs import Recorded
    >>> made = Node("n0", "operation", "SumBackward0", "y", Numbers.of(2.4e-7), recorded=Recorded(slots=1))
    >>> inputs = Node("n1", "leaf", name="x", numbers=Numbers.of([1.0, -1.0]))
    >>> without_rounding(Graph((made, inputs), (Edge("n1", "n0"),), ("n0",))).nodes[0].numbers.elements
    (0.0,)
    """
    nodes, inputs = dict(graph.by_id), graph.inputs
    data = [edge for edge in graph.edges if edge.kind == "data"]
    results = {edge.source: edge.target for edge in data if nodes[edge.target].kind == "output"}
    leaves = {edge.target: edge.source for edge in data if nodes[edge.target].kind == "accumulate"}
    sources = {edge.source for edge in data if nodes[edge.target].kind == "operation"}
    new_nodes: dict[str, Node] = {}
    for node in graph.nodes:
        if node.label in SUMS and inputs[node.id] and not sources & {node.id, results.get(node.id)}:
            source, result = inputs[node.id][0].source, results.get(node.id, node.id)
            summand = nodes[results.get(source, leaves.get(source, source))]
            is_exact = summand.kind == "leaf" and node.label.startswith("Sum")  # what the program itself has typed
            numbers = settled_sum(nodes[result].numbers, summand.numbers, node, is_exact=is_exact)
            if numbers is not nodes[result].numbers:
                new_nodes[result] = nodes[result]._replace(numbers=numbers)
    edges = settled_gradients(graph, {**nodes, **new_nodes}, leaves, new_nodes)
    if not new_nodes and edges == graph.edges:
        return graph
    return graph.changed(nodes=tuple(new_nodes.get(node.id, node) for node in graph.nodes), edges=edges)


def settled_sum(total: Numbers | None, summands: Numbers | None, node: Node, *, is_exact: bool) -> Numbers | None:
    """Return the sum, or the mean, of all elements, with 0 where it is a rounding error of these.

    Args:
        total: the sum.
        summands: the elements.
        node: the operation.
        is_exact: whether no operation has rounded these, so that their exact sum is no rounding.
    """
    value, parts = array_of(total), array_of(summands)
    if value is None or parts is None or not parts.size or value.size != 1 or (is_exact and parts.sum() == value):
        return total
    return settled_numbers(total, value, abs(parts).sum() / (parts.size if node.label.startswith("Mean") else 1))


def settled_gradients(
    graph: Graph, nodes: Mapping[str, Node], leaves: Mapping[str, str], new_nodes: dict[str, Node]
) -> tuple[Edge, ...]:
    """Return the edges with gradients without rounding; add operations and leaves without it to ``new_nodes``.

    What comes to a tensor is compared with what it was added up from along all ways. What is exactly the product of what
    arrived and the local derivative, and exactly the sum of such products, is no rounding, however small.
    """
    amounts: dict[str, Any] = {}
    exact_sums: dict[str, Any] = {}  # of the parts, as long as each is exact; nan else
    settled: dict[tuple[str, int, str], Edge] = {}
    uses = {(edge.source, edge.target) for edge in graph.edges}
    for node in reversed(graph.order):
        arrived = array_of(node.grad.arrived)
        amount = amounts.get(node.id)
        amount = abs(arrived) if amount is None and arrived is not None else amount
        if arrived is None or amount is None or amount.shape != arrived.shape:
            continue
        is_exact = bool((exact_sums.get(node.id, arrived) == arrived).all())
        settled_arrived = node.grad.arrived if is_exact else settled_numbers(node.grad.arrived, arrived, amount)
        is_noise = (arrived != 0) & (array_of(settled_arrived) == 0)
        amount = abs(arrived) * ~is_noise + amount * is_noise  # what is no noise may vanish by honest products
        if settled_arrived is not node.grad.arrived:
            own = new_nodes.get(node.id, node)
            new_nodes[node.id] = own._replace(grad=own.grad._replace(arrived=settled_arrived))
        for edge in graph.inputs[node.id]:
            gradient = array_of(edge.flow.handed)
            if gradient is None or (edge.source, edge.target) not in uses:
                continue
            part = amount_along(edge, amount, gradient)
            product: Any = array_of(sum_to(times(node.grad.arrived, edge.flow.local), edge.flow.handed))
            is_like = is_exact and product is not None and product.shape == gradient.shape
            is_exact_product = is_like and bool((product == gradient).all())
            exact_sums[edge.source] = exact_sums.get(edge.source, 0) + (gradient if is_exact_product else math.nan)
            handed = edge.flow.handed if is_exact_product else settled_numbers(edge.flow.handed, gradient, part)
            settled[edge.target, edge.slot, edge.source] = edge._replace(flow=edge.flow._replace(handed=handed))
            before = amounts.get(edge.source)
            amounts[edge.source] = part if before is None or before.shape != part.shape else before + part
    for gate, leaf in leaves.items():
        node = new_nodes.get(leaf, nodes[leaf])
        value = array_of(node.grad.value) if gate in amounts else None
        if value is None or node.grad.before is not None or value.shape != amounts[gate].shape:
            continue
        if not (exact_sums[gate] == value).all():
            settled_value = settled_numbers(node.grad.value, value, amounts[gate])
            if settled_value is not node.grad.value:
                new_nodes[leaf] = node._replace(grad=node.grad._replace(value=settled_value))
    return tuple(settled.get((edge.target, edge.slot, edge.source), edge) for edge in graph.edges)
