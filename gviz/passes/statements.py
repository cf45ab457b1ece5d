"""One node for each statement of the program: what a formula computes on the way, and gives no name, is part of it.

The derivative of such a node for an input is composed of those of its operations: multiplied along a way, added where
there are several. ``d = w3*b + w4*c`` is one node then, with the derivative w3 for b.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from gviz.formulas.formula import GRAD, UNKNOWN, Formula
from gviz.graphs import Edge, Flow, Graph, Hooked, Node
from gviz.graphs.numbers import Numbers, size_of
from gviz.passes.elements import ONE, agree, plus, summed_dims, times

LONGEST = 100
"""Characters of a formula: a longer one is none any more."""

TOO_LONG = "_" * (LONGEST + 1)
"""What stands for a formula that is none any more: what it is put into is too long, too."""


class Part(NamedTuple):
    """The derivative of a statement for something that it computes, or uses.

    Args:
        symbol: it as a formula; None if that is not known, or too long.
        is_factor: whether it is multiplied with the gradient, element by element, rather than a formula of it.
        local: its numbers.
        handed: the gradient that goes there.
    """

    symbol: Formula | None
    is_factor: bool
    local: Numbers | None
    handed: Numbers | None


def by_statement(graph: Graph) -> Graph:
    """Return the graph of the values with one operation for each statement.

    >>> from gviz.graphs import Hooked, Edge, Flow, Graph, Node
    >>> nodes = [Node("d", "operation", "AddBackward0", "d"), Node("e", "operation", "MulBackward0", "e", is_letter=True)]
    >>> nodes += [Node(name, "leaf", name=name) for name in "bwc"]
    >>> edges = [Edge("e", "d", 0, flow=Flow("1")), Edge("c", "d", 1, flow=Flow("1")), Edge("w", "e", 0, flow=Flow("b"))]
    >>> one = by_statement(Graph(tuple(nodes), (*edges, Edge("b", "e", 1, flow=Flow("w"))), ("d",)))
    >>> [node.name for node in one.nodes], [(edge.source, edge.flow.symbol) for edge in one.edges]
    (['d', 'b', 'w', 'c'], [('c', '1'), ('w', 'b'), ('b', 'w')])

    Args:
        graph: what :func:`gviz.passes.dataflow.dataflow` returns.
    """
    order = graph.inputs_first()
    owner = owners(order, graph.uses, graph.roots)
    inner = {node.id for node in order if owner[node.id] != node.id}
    formulas = formulas_of(order, inner)
    parts = {node.id: Part(Formula.parse("1"), True, ONE, node.grad.arrived) for node in order if node.id not in inner}
    part_of: dict[tuple[str, int, str], Part] = {}
    position = {node.id: number for number, node in enumerate(graph.nodes)}
    places: dict[tuple[str, int, str], tuple[int, int]] = {}
    for node in reversed(order):
        for edge in graph.inputs[node.id]:
            part = through_edge(parts[node.id], edge)
            if edge.source in inner:
                parts[edge.source] = part if edge.source not in parts else added(parts[edge.source], part)
            else:
                key = (edge.source, edge.output, owner[node.id])
                part_of[key] = part if key not in part_of else added(part_of[key], part)
                places[key] = min(places.get(key, (len(order), 0)), (position[node.id], edge.slot))
    nodes = graph.by_id
    slots: dict[str, int] = {}
    edges = []
    for key in sorted(part_of, key=places.__getitem__):  # inputs in the order in which the statement names them
        source, output, target = key
        slots[target] = slots.get(target, -1) + 1
        edges.append(
            composed_edge(Edge(source, target, slots[target], output=output), nodes[target], part_of[key], formulas)
        )
    hooks: dict[str, list[Hooked]] = {}  # of what has no box of its own: the statement hands on what they made
    for one in order:
        if one.id in inner:
            hooks.setdefault(owner[one.id], []).extend(hook._replace(kind="handed") for hook in one.grad.hooks)
    nodes_left = tuple(with_hooks(whole(node, formulas), hooks) for node in graph.nodes if node.id not in inner)
    return replace(graph, nodes=nodes_left, edges=tuple(edges))


def owners(order: list[Node], users: Mapping[str, list[Edge]], roots: tuple[str, ...]) -> dict[str, str]:
    """Return the operation that ends the statement of each node; what several statements use has a node of its own."""
    owner: dict[str, str] = {}
    for node in reversed(order):
        ends = {owner[edge.target] for edge in users[node.id]}
        is_inner = (
            node.kind == "operation" and (node.is_letter or not node.name) and node.id not in roots and len(ends) == 1
        )
        owner[node.id] = ends.pop() if is_inner else node.id
    return owner


def formulas_of(order: list[Node], inner: set[str]) -> dict[str, Formula]:
    """Return what the letters inside of statements stand for, in names of the program."""
    formulas: dict[str, Formula] = {}
    for node in order:
        if node.id in inner and node.name:
            formula = Formula.read(node.expression)
            formulas[node.name] = (limited(formula.replaced(formulas)) if formula else None) or Formula.parse(TOO_LONG)
    return formulas


def through_edge(part: Part, edge: Edge) -> Part:
    """Return the derivative for an input of an operation from that for the operation."""
    symbol, is_factor = Formula.read(edge.flow.symbol), edge.flow.local is not None or GRAD not in edge.flow.symbol
    gradient = edge.flow.handed
    if symbol is None or part.symbol is None:
        return Part(None, is_factor, times(part.local, edge.flow.local), gradient)
    if summed_dims(edge):
        product = as_gradient(part).times(symbol) if is_factor else symbol.replaced({GRAD: as_gradient(part)})
        return Part(limited(added_up(product, edge)), False, None, gradient)
    if is_factor:
        return Part(limited(part.symbol.times(symbol)), part.is_factor, times(part.local, edge.flow.local), gradient)
    return Part(limited(symbol.replaced({GRAD: as_gradient(part)})), False, None, gradient)


def added_up(product: Formula, edge: Edge) -> Formula:
    """Return a product, added up over what the input was spread over."""
    dims, sizes = summed_dims(edge), size_of(edge.flow.handed)
    is_whole = len(sizes) + len(dims) == len(size_of(edge.flow.local))
    name, over = ("sum", dims[0] if len(dims) == 1 else dims) if is_whole else ("sum_to_size", sizes)
    return Formula.parse(f"{name}({product.python}, {over})" if sizes else f"sum({product.python})")


def as_gradient(part: Part) -> Formula:
    """Return what a part makes of the gradient that arrives at the statement."""
    symbol = part.symbol or Formula.parse(UNKNOWN)
    return Formula.parse(GRAD).times(symbol) if part.is_factor else symbol


def added(one: Part, other: Part) -> Part:
    """Return the sum of the derivatives along two ways."""
    local, gradient = plus(one.local, other.local), plus(one.handed, other.handed)
    is_factor = one.is_factor and other.is_factor
    if one.symbol is None or other.symbol is None:
        return Part(None, is_factor, local, gradient)
    first, second = (one.symbol, other.symbol) if is_factor else (as_gradient(one), as_gradient(other))
    return Part(limited(first.plus(second)), is_factor, local, gradient)


def limited(formula: Formula) -> Formula | None:
    """Return a formula that can be read, None for a longer one."""
    return formula if len(formula.python) <= LONGEST else None


def composed_edge(edge: Edge, target: Node, part: Part, formulas: Mapping[str, Formula]) -> Edge:
    """Return an edge with its derivative; the number is left out where the engine's gradient is another.

    Several operands that are not known may be different ones: such a formula would say less than none.
    """
    text = "" if part.symbol is None else str(part.symbol.replaced(formulas))
    is_checked = target.grad.arrived is None or agree(times(target.grad.arrived, part.local), part.handed)
    symbol = "" if len(text) > LONGEST or text.count(UNKNOWN) > 1 else text
    return edge._replace(flow=Flow(symbol, part.local if is_checked else None, part.handed))


def with_hooks(node: Node, hooks: Mapping[str, Sequence[Hooked]]) -> Node:
    """Return a statement that tells what hooks within it have changed."""
    own = hooks.get(node.id)
    return node._replace(grad=node.grad._replace(hooks=(*node.grad.hooks, *own))) if own else node


def whole(node: Node, formulas: Mapping[str, Formula]) -> Node:
    """Return an operation with the whole of its statement as its expression."""
    formula = Formula.read(node.expression) if node.kind == "operation" and node.expression else None
    if formula is None:
        return node
    text = formula.replaced(formulas).python
    return node._replace(expression=text if len(text) <= LONGEST else node.expression)
