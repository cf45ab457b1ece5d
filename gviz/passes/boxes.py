"""Several nodes of a graph as one box: the edges between boxes, and what each box comes to."""

from __future__ import annotations

import math
from bisect import insort
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cached_property
from typing import TypeAlias

from gviz.formulas.expressions import output_name
from gviz.graphs import NO_FLOW, Card, Edge, Graph, Node
from gviz.graphs.numbers import Sizes
from gviz.passes.acyclic import without_cycles
from gviz.passes.forms import DIGITS, form_of, unknown_operations, varying_numbers
from gviz.text import joined

COUNTED = ("operation", "group")
"""The kinds of nodes that are in the group that recorded them; all others are in that of what uses them."""

HOOK = "BackwardHookFunctionBackward"
"""What calls the backward hooks of a module: no operation of the network."""

STATIC = ("placeholder", "variable", "constant")
"""The kinds of operations of static graphs besides."""

ELSEWHERE = "…"
"""The name in a formula of what a box that is not drawn, or is one of several outputs, has made, if it has none."""

MOST_LABELS = 2
"""Labels of edges that an edge in place of them has."""

Wire: TypeAlias = tuple[str, str, str, int]
"""An arrow between boxes: from, to, its kind, and its slot in an operation."""

Ends: TypeAlias = tuple[tuple[int, int], ...]
"""Nodes of a group, by their places in it, each with the number of an output."""


class Boxes:
    """The boxes of a graph. Each has the id of its first node.

    Args:
        graph: any graph.
        groups: the group that each node is drawn in, by its number; -1 for one that is a box of its own.
    """

    def __init__(self, graph: Graph, groups: Mapping[str, int]) -> None:
        self.graph = graph
        first: dict[int, str] = {}
        for name, place in groups.items():
            first.setdefault(place, name)
        part_of = without_cycles(graph, {name: first[place] if place >= 0 else name for name, place in groups.items()})
        self.members: dict[tuple[str, int], list[Node]] = defaultdict(list)
        """The nodes of each box, by that of its group and the part of this that it is."""
        for node in graph.nodes:
            self.members[part_of[node.id]].append(node)
        self.box_of = {node.id: inside[0].id for inside in self.members.values() for node in inside}
        self.number_of = {node.id: number for inside in self.members.values() for number, node in enumerate(inside)}
        """The place of each node in its box."""
        self.groups = {self.box_of[name]: place for name, place in groups.items() if place >= 0}
        """The boxes of groups, each with the number of its group."""
        self.between = merged(graph.edges, self.box_of, self.groups)
        """The edges between boxes, those from a group without its output."""
        self.slots = Counter(edge.target for edge in self.between if edge.kind == "data")
        self.sizes = sizes_through(graph, self.box_of)

    @cached_property
    def ends_of_wires(self) -> dict[Wire, Ends]:
        """For each arrow from a group which of its nodes, and which of their outputs, it is of."""
        ends_of: dict[Wire, set[tuple[int, int]]] = defaultdict(set)
        for edge in self.graph.edges:
            start, end = self.box_of[edge.source], self.box_of[edge.target]
            if start != end and start in self.groups:
                wire = self.wire_of(edge._replace(source=start, target=end))
                ends_of[wire].add((self.number_of[edge.source], edge.output))
        return {wire: tuple(sorted(ends)) for wire, ends in ends_of.items()}

    def wire_of(self, edge: Edge) -> Wire:
        """Return which arrow between boxes it is: of those to a group there is one of each kind."""
        has_slot = edge.target not in self.groups and edge.kind != "control"
        return edge.source, edge.target, edge.kind, edge.slot if has_slot else -1

    @cached_property
    def outputs(self) -> dict[str, list[Ends]]:
        """What is used of each group outside, each together with what else is used in the same place."""
        outputs: dict[str, list[Ends]] = defaultdict(list)
        for (start, *_), ends in self.ends_of_wires.items():
            if ends not in outputs[start]:
                insort(outputs[start], ends)
        return outputs

    @property
    def edges(self) -> tuple[Edge, ...]:
        """The edges between boxes; what a group with several outputs gives to an operation has a name of its own."""
        inside = {nodes[0].id: nodes for nodes in self.members.values()}
        edges: list[Edge] = []
        for edge in self.between:
            if edge.source in self.groups:
                outputs, ends = self.outputs[edge.source], self.ends_of_wires[self.wire_of(edge)]
                names = edge.called
                if len(outputs) > 1 and edge.target not in self.groups:
                    number, output = ends[0]
                    node = inside[edge.source][number]
                    names = ((edge.slot, (not node.is_letter and output_name(node, output)) or ELSEWHERE),)
                edge = edge._replace(output=outputs.index(ends), called=names)  # noqa: PLW2901
            edges.append(edge)
        return tuple(edges)

    def card(self, inside: Sequence[Node], kind: str, title: str) -> Card:
        """Return what a box comes to, for other boxes to be compared with it.

        Args:
            inside: its nodes.
            kind: the class of a module.
            title: of the group; what its parts are called is told from there on.
        """
        numbers = tuple(pair for node in inside for pair in varying_numbers(node))
        card = card_of(inside, kind, *self.sizes[inside[0].id])
        return card._replace(numbers=numbers, content=self.content(inside, title))

    @cached_property
    def unknown(self) -> set[str]:
        """The operations of which nobody knows what they saved."""
        return {self.graph.nodes[number].id for number in unknown_operations(self.graph)}

    @cached_property
    def slot_of(self) -> dict[tuple[str, str, str, int], int]:
        """The slot of each edge between boxes, by the two boxes, the kind and the output."""
        return {(edge.source, edge.target, edge.kind, edge.output): edge.slot for edge in self.between}

    def content(self, inside: Sequence[Node], title: str) -> str:
        """Return a digest of a box: every node with what is known of it but its numbers, and every wire with its end.

        Of a wire from another box the arrow tells which node it is of, since the first block has another one.
        """
        from hashlib import blake2b  # loads OpenSSL, which most pictures have no use for

        path, box = title.partition(",")[0], inside[0].id
        digest = blake2b(repr(self.outputs[box]).encode(), digest_size=8)
        sources: dict[str, set[int]] = defaultdict(set)
        for node in inside:
            for edge in self.graph.inputs[node.id]:
                sources[self.box_of[edge.source]].add(self.number_of[edge.source])
        ranks = {other: sorted(numbers) for other, numbers in sources.items() if other != box}
        for node in inside:
            form = (node.id,) if node.id in self.unknown else form_of(node, is_exact=False)
            names = [
                text[len(path) :] if text.startswith(path) else DIGITS.sub("#", text)
                for text in (node.scope, (node.name or "") * (node.kind == "leaf"))
            ]
            ends = []
            for edge in sorted(self.graph.inputs[node.id], key=lambda edge: (edge.kind, edge.slot)):
                other, number = self.box_of[edge.source], self.number_of[edge.source]
                slots = [self.slot_of.get((other, box, edge.kind, output)) for output in (edge.output, 0)]
                end = (None, number) if other == box else (slots, ranks[other].index(number))
                ends.append((edge.kind, edge.slot, edge.output, edge.label, *end))
            digest.update(repr((form, node.shape, names, ends)).encode())
        return digest.hexdigest()


def merged(edges: Iterable[Edge], box_of: Mapping[str, str], cards: Collection[str]) -> tuple[Edge, ...]:
    """Return the edges between boxes: those of a group each once, unless they are other inputs of an operation.

    What only says that one runs before another is no input. An edge that is one for several has the labels of all.

    Args:
        edges: between nodes.
        box_of: the box of each node.
        cards: the boxes that are groups.
    """
    edge_of: dict[object, Edge] = {}
    labels = defaultdict[object, dict[str, None]](dict)
    slots: Counter[str] = Counter()
    for number, edge in enumerate(edges):
        start, end = box_of[edge.source], box_of[edge.target]
        if start not in cards and end not in cards:
            edge_of[number] = edge
        elif start != end:
            slot = -1 if end in cards or edge.kind == "control" else edge.slot
            output = 0 if start in cards else edge.output
            key = start, end, edge.kind, slot, output
            labels[key][edge.label] = None
            if key not in edge_of:
                is_numbered = end in cards and edge.kind == "data"
                slot = slots[end] if is_numbered else edge.slot * (end not in cards)
                slots[end] += is_numbered
                edge_of[key] = edge._replace(source=start, target=end, slot=slot, output=output, flow=NO_FLOW)
    for one, several in labels.items():
        if len(several) > 1:
            edge_of[one] = edge_of[one]._replace(label=joined(filter(None, several), MOST_LABELS))
    return tuple(edge_of.values())


def sizes_through(graph: Graph, box_of: Mapping[str, str]) -> dict[str, tuple[tuple[Sizes, ...], tuple[Sizes, ...]]]:
    """Return the sizes of what goes into each box and out of it, nothing for a side of which one is not known.

    Parameters of modules are not counted as inputs. Where nothing goes out it is what the box computes for nobody: the
    derivatives of a static graph, or its root.
    """
    nodes, shapes = graph.by_id, {node.id: node.shape for node in graph.nodes}
    for edge in graph.edges:
        if nodes[edge.target].kind == "accumulate":
            shapes[edge.target] = shapes[edge.source]
        if edge.output or nodes[edge.source].recorded.outputs:
            shapes[edge.source] = None  # the node's shape is that of one of several outputs
    sides: dict[str, tuple[dict[object, Sizes | None], ...]] = {box: ({}, {}) for box in box_of.values()}
    for edge in graph.edges:
        start, end, node = box_of[edge.source], box_of[edge.target], nodes[edge.source]
        is_parameter = node.kind in ("leaf", "accumulate") and node.module is not None
        if start != end and edge.kind == "data" and not is_parameter:
            for side in (sides[end][0], sides[start][1]):
                side[edge.source, edge.output] = shapes[edge.source]
    ends = defaultdict[str, list[Sizes | None]](list)
    for node in graph.nodes:
        if node.kind == "operation" and all(edge.kind != "data" for edge in graph.uses[node.id]):
            ends[box_of[node.id]].append(shapes[node.id])
    return {box: (all_of(ins.values()), all_of(outs.values() or ends[box])) for box, (ins, outs) in sides.items()}


def all_of(sizes: Iterable[Sizes | None]) -> tuple[Sizes, ...]:
    """Return the sizes if all of them are known, else ()."""
    items = [*sizes]
    return tuple(one for one in items if one is not None) * (None not in items)


def card_of(nodes: Sequence[Node], kind: str, inputs: tuple[Sizes, ...], outputs: tuple[Sizes, ...]) -> Card:
    """Return the card of several nodes together; a group among them counts as all the nodes in it."""
    cards = [node.card or card_of_one(node) for node in nodes]
    saved_bytes = [card.kept for card in cards if card.operations]
    grads = [card.grad for card in cards if card.parameters]
    return Card(
        kind,
        sum(card.operations for card in cards),
        sum(card.parameters for card in cards),
        sum(card.elements for card in cards),
        inputs,
        outputs,
        None if None in saved_bytes or not saved_bytes else sum(one or 0 for one in saved_bytes),
        None if None in grads or not grads else math.hypot(*(one or 0.0 for one in grads)),
    )


def card_of_one(node: Node) -> Card:
    """Return the card of one node."""
    if node.kind == "leaf":
        grad = node.grad.value.norm if node.grad.value is not None and node.grad.value.is_known else None
        return Card("", 0, 1, node.numbers.numel if node.numbers is not None else 0, grad=grad)
    return Card("", int(node.kind in COUNTED + STATIC and node.label != HOOK), kept=node.recorded.kept)
