"""Tensors that an operation has taken apart, each as a step of its own: the parts of split, chunk and unbind."""

from __future__ import annotations

import ast
import math
from itertools import accumulate

from gviz.formulas.lectures import Facts, lecture
from gviz.formulas.local import lecture_text
from gviz.formulas.operands import signed
from gviz.graphs import Edge, Flow, Gradient, Graph, Node, Recorded
from gviz.graphs.numbers import Element, Numbers, size_of
from gviz.passes.elements import sum_of

CUTTING = ("SplitBackward0", "SplitWithSizesBackward0", "UnsafeSplitBackward0", "UnbindBackward0")
"""Operations whose results are parts of what they take."""

MOST = 256
"""Elements of a tensor whose parts are steps of their own."""


def with_parts_apart(shown: Graph) -> Graph:
    """Return the graph of the values with a node for each part of a tensor, which then is made as a slice is."""
    nodes, edges = {node.id: [node] for node in shown.nodes}, list[Edge]()
    for node in shown.nodes:
        inputs, uses = shown.inputs.get(node.id, []), shown.uses.get(node.id, [])
        whole = inputs[0].flow.handed if len(inputs) == 1 else None
        is_cut = (
            node.label in CUTTING
            and node.id not in shown.roots
            and is_whole_number(node.recorded.options.get("dim", ""))
        )
        if not is_cut or whole is None or not 0 < whole.numel <= MOST:
            edges += inputs
            continue
        nodes[node.id] = []
        for number in sorted({use.output for use in uses}):
            arrived = sum_of([use.flow.handed for use in uses if use.output == number])
            part, edge = step_of_part(node, number, inputs[0], shown.by_id[inputs[0].source].numbers, arrived)
            nodes[node.id].append(part)
            edges.append(edge)
    cut = {node for node, parts in nodes.items() if not parts}
    cut |= {node for node, parts in nodes.items() if parts and parts[0].id != node}
    if not cut:
        return shown
    edges = [
        edge._replace(source=part_id(edge.source, edge.output), output=0) if edge.source in cut else edge
        for edge in edges
    ]
    return shown.changed(nodes=tuple(part for parts in nodes.values() for part in parts), edges=tuple(edges))


def is_whole_number(text: str) -> bool:
    """Return whether an option is a whole number: that of a saved graph is any text."""
    return signed(text).removeprefix("-").isdecimal()


def part_id(node: str, number: int) -> str:
    """Return the id of a part of what a node makes."""
    return f"{node}.{number}"


def step_of_part(
    node: Node, number: int, edge: Edge, values: Numbers | None, arrived: Numbers | None
) -> tuple[Node, Edge]:
    """Return the node of a part, and the edge from the tensor that it is a part of.

    Args:
        node: what takes the tensor apart.
        number: which of the parts.
        edge: the one into that node.
        values: of the tensor.
        arrived: the gradient that came to the part; None where that is not known.
    """
    sizes = size_of(edge.flow.handed)
    options = {name: ast.literal_eval(signed(text)) for name, text in node.recorded.options.items()}
    dim = options["dim"] % len(sizes)
    is_one = node.label == "UnbindBackward0"
    start, end = part_range(options, number, sizes[dim])
    stride = math.prod(sizes[dim + 1 :])
    places = [at for at in range(math.prod(sizes)) if start <= at // stride % sizes[dim] < end]
    own = (*sizes[:dim], *(() if is_one else (end - start,)), *sizes[dim + 1 :])

    def spread(elements: tuple[Element, ...] | None) -> Numbers | None:
        given = dict(zip(places, elements or (), strict=False))
        return Numbers(sizes, "float64", tuple(given.get(at, 0) for at in range(math.prod(sizes)))) if given else None

    known = {"dim": dim, "index": start, "start": start, "end": end, "step": 1}
    label = "SelectBackward0" if is_one else "SliceBackward0"
    found = lecture(label, "self", known, Facts(sizes), Facts(own))
    is_factor = found is not None and found.is_factor
    rows = [[int(at == place) for at in range(math.prod(sizes))] for place in places]
    flow = Flow(
        lecture_text(found) if found is not None else edge.flow.symbol,
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


def part_range(options: dict[str, object], number: int, size: int) -> tuple[int, int]:
    """Return where a part begins and ends along its dimension.

    >>> part_range({"split_size": 2}, 1, 3), part_range({"split_sizes": (1, 2)}, 1, 3), part_range({}, 1, 3)
    ((2, 3), (1, 3), (1, 2))
    """
    match options:
        case {"split_size": int(each)}:
            return number * each, min((number + 1) * each, size)
        case {"split_sizes": tuple(lengths)}:
            ends = [0, *accumulate(lengths)]
            return ends[number], ends[number + 1]
    return number, number + 1
