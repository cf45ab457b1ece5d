"""Groups that are drawn once hold the same, node by node and wire by wire: modules of random graphs, changed at random."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

import pytest
from fuzzing import seeds
from repeating import FAMILIES, layers, mutated, stages
from unfolding import assert_unfolds

from gviz.graphs import Graph, Module, Node
from gviz.passes import groups, wires
from gviz.passes.boxes import Boxes
from gviz.passes.fold import Folding
from gviz.passes.forms import without_numbers
from gviz.passes.groups import Groups


def in_modules(graph: Graph, random: Random) -> Graph:
    """Return the graph with a module for each few operations, those that its names tell or others."""
    if random.random() < 0.5:
        return graph
    size, ops = random.randint(2, 5), 0
    nodes: list[Node] = []
    for node in graph.nodes:
        ops += node.kind == "operation"
        module = Module(f"net.blocks.{ops // size}", "Block", 1 + ops // size)
        nodes.append(node._replace(module=module) if node.kind == "operation" else node)
    return graph.changed(nodes=tuple(nodes))


def described(inside: Sequence[Node], graph: Graph) -> tuple[object, object]:
    """Return the nodes of a group with all that numbers may not change, and the wires among them."""
    place = {node.id: number for number, node in enumerate(inside)}
    inner = [edge for node in inside for edge in graph.inputs[node.id] if edge.source in place]
    return (
        [(node.kind, node.label, node.shape, without_numbers(node.recorded)._replace(outputs=())) for node in inside],
        sorted((place[e.source], place[e.target], e.slot, e.kind, e.output, e.label) for e in inner),
    )


@pytest.mark.fuzz
@pytest.mark.parametrize("depth", [1, 2])
def test_groups_that_are_drawn_once_hold_the_same(depth: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wires, "MOST_PAIRS", 100_000)
    members: dict[str, Sequence[Node]] = {}
    content = Boxes.content

    def noted(self: Boxes, inside: Sequence[Node], title: str) -> str:
        members[inside[0].id] = inside
        return content(self, inside, title)

    monkeypatch.setattr(Boxes, "content", noted)
    saved = 0
    for seed in seeds(80):
        random = Random(seed)  # noqa: S311 - a test's
        plain = random.choice((layers(random.randint(4, 9)), stages(random.randint(3, 5), 4), FAMILIES[5](random)))
        graph = in_modules(mutated(plain, random, 3), random)
        if not Groups(graph, "module").tree:
            continue
        members.clear()
        grouped = groups.grouped(graph, depth=depth)
        folding = Folding(grouped)
        assert_unfolds(folding)
        for node, (drawn, _) in zip(folding.graph.nodes, folding.coordinates, strict=True):
            other = folding.graph.nodes[drawn]
            if node.card is not None and other.card is not None and node is not other:
                saved += 1
                assert described(members[node.id], graph) == described(members[other.id], graph), seed
    assert saved > 30
