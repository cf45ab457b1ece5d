"""Tensors that an operation has taken apart, each as a step of its own: the parts of split, chunk and unbind."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import accumulate

from gviz.formulas.lectures import Facts, lecture
from gviz.formulas.local import lecture_text, option_value
from gviz.graphs import Edge, Flow, Gradient, Graph, Node, Recorded
from gviz.graphs.numbers import Element, Numbers, size_of
from gviz.passes.dataflow import outputs_of
from gviz.passes.elements import sum_of

CUTTING = ("SplitBackward0", "SplitWithSizesBackward0", "UnsafeSplitBackward0", "UnbindBackward0")
"""Operations whose results are parts of what they take."""

MOST = 256
"""Elements of a tensor whose parts are steps of their own."""


def with_parts_apart(graph: Graph) -> Graph:
    """Return the graph of the values with a node for each part of a tensor, which then is made as a slice is."""
    nodes, edges, made = {node.id: [node] for node in graph.nodes}, list[Edge](), outputs_of(graph)
    for node in graph.nodes:
        inputs, uses = graph.inputs.get(node.id, []), graph.uses.get(node.id, [])
        whole = inputs[0].flow.handed if len(inputs) == 1 else None
        outputs = sorted({use.output for use in uses})
        ranges = ranges_of(node, size_of(whole), outputs) if whole is not None and 0 < whole.numel <= MOST else {}
        if not ranges or node.id in graph.roots:
            edges += inputs
            continue
        nodes[node.id] = []
        for number, part_range in ranges.items():
            arrived = sum_of([use.flow.handed for use in uses if use.output == number])
            values = made[inputs[0].source][inputs[0].output].numbers
            part, edge = step_of_part(node, number, part_range, inputs[0], values=values, arrived=arrived)
            nodes[node.id].append(part)
            edges.append(edge)
    whole_ids = {node for node, parts in nodes.items() if not parts}
    whole_ids |= {node for node, parts in nodes.items() if parts and parts[0].id != node}
    if not whole_ids:
        return graph
    edges = [
        edge._replace(source=part_id(edge.source, edge.output), output=0) if edge.source in whole_ids else edge
        for edge in edges
    ]
    return graph.changed(nodes=tuple(part for parts in nodes.values() for part in parts), edges=tuple(edges))


def part_id(node: str, number: int) -> str:
    """Return the id of a part of what a node makes."""
    return f"{node}.{number}"


def step_of_part(
    node: Node,
    number: int,
    part_range: tuple[int, int, int],
    edge: Edge,
    *,
    values: Numbers | None,
    arrived: Numbers | None,
) -> tuple[Node, Edge]:
    """Return the node of a part, and the edge from the tensor that it is a part of.

    Args:
        node: what takes the tensor apart.
        number: which of the parts.
        part_range: the dimension along which it is cut, where the part begins and where it ends.
        edge: the one into that node.
        values: of the tensor.
        arrived: the gradient that came to the part; None where that is not known.
    """
    sizes = size_of(edge.flow.handed)
    is_one = node.label == "UnbindBackward0"
    dim, start, end = part_range
    stride = math.prod(sizes[dim + 1 :])
    places = [at for at in range(math.prod(sizes)) if start <= at // stride % sizes[dim] < end]
    own = (*sizes[:dim], *(() if is_one else (end - start,)), *sizes[dim + 1 :])

    def spread(elements: tuple[Element, ...] | None) -> Numbers | None:
        entries = dict(zip(places, elements or (), strict=False))
        return (
            Numbers(sizes, "float64", tuple(entries.get(at, 0) for at in range(math.prod(sizes)))) if entries else None
        )

    options = {"dim": dim, "index": start, "start": start, "end": end, "step": 1}
    label = "SelectBackward0" if is_one else "SliceBackward0"
    local = lecture(label, "self", options, Facts(sizes), Facts(own))
    is_factor = local is not None and local.is_factor
    rows = [[int(at == place) for at in range(math.prod(sizes))] for place in places]
    flow = Flow(
        lecture_text(local) if local is not None else edge.flow.symbol,
        spread((1,)) if is_factor else None,
        spread(arrived.elements if arrived is not None else None),
        None if is_factor else Numbers.of(rows),
    )
    elements = values.elements if values is not None else None
    names = node.recorded.outputs
    part = node._replace(
        id=part_id(node.id, number),
        name=(names[number : number + 1] or (node.name,))[0] or f"{node.name} [{number}]",
        numbers=Numbers(own, values.dtype, tuple(elements[at] for at in places)) if values and elements else None,
        grad=Gradient(arrived=arrived),
        expression=node.expression if node.expression.endswith("]") else f"{node.expression}[{number}]",
        recorded=Recorded(1),
    )
    return part, edge._replace(target=part.id, flow=flow)


def ranges_of(node: Node, sizes: tuple[int, ...], outputs: Sequence[int]) -> dict[int, tuple[int, int, int]]:
    """Return the dimension along which a tensor is cut, and where each part begins and ends there, by its output.

    There is none of an operation that does anything else, or of a saved graph whose options do not fit.

    >>> options = ("dim", "0"), ("split_size", "2")
    >>> ranges_of(Node("n0", "operation", "SplitBackward0", recorded=Recorded(attrs=options)), (3,), [0, 1])
    {0: (0, 0, 2), 1: (0, 2, 3)}
    """
    options = {name: option_value(text) for name, text in node.recorded.options.items()}
    dim = options.get("dim")
    if node.label not in CUTTING or not isinstance(dim, int) or not -len(sizes) <= dim < len(sizes):
        return {}
    size = sizes[dim]
    match options:
        case {"split_size": int(each)}:
            ends = [min((number + 1) * each, size) for number in range(size)]
        case {"split_sizes": tuple(lengths)} if all(isinstance(length, int) for length in lengths):
            ends = [*accumulate(lengths)]
        case _:
            ends = [*range(1, size + 1)] if node.label == "UnbindBackward0" else []
    starts = [0, *ends]
    ranges = {number: (dim % len(sizes), starts[number], ends[number]) for number in outputs if number < len(ends)}
    fit = all(0 <= start < end <= size for _, start, end in ranges.values())
    return ranges if fit and len(ranges) == len(outputs) else {}
