"""Blocks that repeat are found and drawn once, with what each has of its own."""

from __future__ import annotations

import time
from typing import Any

import pytest
from repeating import Builder, layers, nested, parallel, rnn
from unfolding import assert_unfolds

from gviz.graphs import Card, Graph, Node, Recorded, Region
from gviz.passes.fold import Folding
from gviz.passes.wires import blocks_text


def recurrent(first: str, attrs: tuple[tuple[str, str], ...] = (), steps: int = 6) -> Graph:
    """Return a loop whose first step has a constant in place of what is carried, a leaf, or nothing."""
    one = Builder()
    w = one.leaf("W")
    one.nodes.append(Node("c", "constant", name="0"))
    h = {"constant": "c", "leaf": one.leaf("h0"), "none": ""}[first]
    for number in range(steps):
        recorded = Recorded(2, attrs if number == 0 else (("alpha", "1"), ("mat2", "freed")))
        h = one.op("Tanh", one.op("Mm", h, w, recorded=recorded))
    return one.graph(h)


@pytest.mark.parametrize("first", ["constant", "leaf", "none"])
@pytest.mark.parametrize("mat2", ["freed", "None", "other"])
@pytest.mark.parametrize("alpha", ["1", "None", "2"])
def test_what_the_first_step_gets_is_said_or_it_stands_beside(first: str, mat2: str, alpha: str) -> None:
    attrs = ("alpha", alpha), *([("other", "freed")] if mat2 == "other" else [("mat2", mat2)])
    folding = Folding(recurrent(first, attrs))
    is_same = alpha == "1" and (mat2 == "freed" or (mat2, first) == ("None", "none"))
    assert [fold.count for fold in folding.folds] == [6 if is_same else 5]
    (sign,) = (node for node in folding.folded.nodes if node.kind == "carried")
    assert sign.expression == ("first: a constant" if is_same and first == "none" else "")
    firsts = [edge.source for edge in folding.folded.edges if edge.target == sign.id and edge.label == "first"]
    assert len(firsts) == (not sign.expression)


# ---------------------------------------------------------------- what is found
def folds_of(graph: Graph) -> list[Any]:
    """Return title, blocks, operations in each, and the folds inside."""
    folding = Folding(graph)

    def listed(folds: Any) -> list[Any]:
        return [(folding.titles[one], one.count, one.period, listed(one.inside)) for one in folds]

    return listed(folding.folds)


def test_layers_are_one_block_with_their_names_and_what_the_first_gets() -> None:
    graph = layers(12)
    assert folds_of(graph) == [("net.blocks.{0…11}", 12, 3, [])]
    folded = Folding(graph).folded
    assert [(one.title, one.times) for one in folded.regions] == [("net.blocks.{0…11}", 12)]
    inside = [node.name or node.label for node in folded.nodes if node.region == 0]
    assert {"net.blocks.{0…11}.fc.weight", "net.blocks.{0…11}.fc.bias", "↻ Add of the block before"} <= {*inside}
    (first,) = (edge for edge in folded.edges if edge.label == "first")
    assert folded.by_id[first.source].label == "EmbeddingBackward0"
    assert [edge.kind for edge in folded.edges if edge.target == first.target] == ["data", "carried"]
    assert Graph.from_json(folded.to_json()) == folded


def test_a_loop_inside_a_loop_is_a_fold_inside_a_fold() -> None:
    ((_, count, period, inside),) = folds_of(nested(3, 4))
    assert (count, period, inside) == (3, 15, [("blocks.{0…3}", 4, 3, [])])


def test_branches_side_by_side_and_results_of_all_steps() -> None:
    graph = Folding(parallel(1000)).folded
    assert len(graph.nodes) == 6
    assert [edge.label for edge in graph.edges].count("each") == 1


def cards(count: int, *, odd: int = -1) -> Graph:
    """Return a model of blocks that are closed to cards, one of which may be of another class."""
    one = Builder()
    x = one.op("Embedding", one.leaf("table"))
    for number in range(count):
        card = Card("Other" if number == odd else "Block", 49, 12, 3000, ((2, 10),), ((2, 10),), 2048, 0.1 * number)
        x = one.op("Block", x, kind="group", name=f"net.blocks.{number}", card=card)
    return one.graph(one.op("Mse", x))


def test_cards_fold_whose_names_differ_by_numbers_alone() -> None:
    assert folds_of(cards(12)) == [("net.blocks.{0…11}", 12, 1, [])]
    assert "net.blocks.{0…11}" in [node.name for node in Folding(cards(12)).folded.nodes]
    assert [count for _, count, *_ in folds_of(cards(12, odd=5))] == [5, 6]


def test_frames_around_blocks_become_the_frame_of_the_fold() -> None:
    graph = layers(6)
    regions = Region("net", "Net"), *(Region(f"net.blocks.{number}", "Block", 0) for number in range(6))
    number_of = {node.id: int(number) for number, node in enumerate(graph.nodes)}
    starts = [number_of[node.id] for node in graph.nodes if node.label == "AddmmBackward0"]
    nodes = []
    for number, node in enumerate(graph.nodes):
        block = sum(start - 4 <= number for start in starts) - 1
        nodes.append(
            node._replace(region=0 if block < 0 or node.label == "MseBackward0" or node.kind == "output" else 1 + block)
        )
    framed = Graph(tuple(nodes), graph.edges, graph.roots, regions=regions)
    folded = Folding(framed).folded
    assert [(one.title, one.kind, one.within, one.times) for one in folded.regions] == [
        ("net", "Net", -1, 1),
        ("net.blocks.{0…5}", "Block", 0, 6),
    ]
    cut = [
        node._replace(region=2 if node.region == 1 and node.label == "AddBackward0" else node.region) for node in nodes
    ]
    assert [count for _, count, *_ in folds_of(Graph(tuple(cut), graph.edges, graph.roots, regions=regions))] == [4]


def test_what_is_folded_stays_as_it_is() -> None:
    folded = Folding(layers(12)).folded
    assert Folding(folded).folded is folded


def test_a_step_that_differs_stands_beside_the_fold() -> None:
    folded = Folding(rnn(8)).folded
    assert [one.times for one in folded.regions] == [8]
    graph = rnn(8)
    last = max(number for number, node in enumerate(graph.nodes) if node.label == "TanhBackward0")
    nodes = [
        node._replace(label="ReluBackward0") if number == last else node for number, node in enumerate(graph.nodes)
    ]
    folded = Folding(Graph(tuple(nodes), graph.edges, graph.roots)).folded
    assert [one.times for one in folded.regions] == [7]
    (relu,) = (node for node in folded.nodes if node.label == "ReluBackward0")
    assert relu.region == -1


@pytest.mark.parametrize(
    "graph",
    [
        Graph(),
        Graph((Node("n0", "leaf", name="x"),), roots=("n0",)),
        layers(4, prefix="x" * 10_000),
    ],
)
def test_graphs_without_operations_and_long_names_are_folded_as_any(graph: Graph) -> None:
    assert len(Folding(graph).folded.nodes) <= max(len(graph.nodes), 1)


def test_a_thousand_roots_stay_and_say_of_which_block_they_are() -> None:
    one = Builder()
    h, ends = one.leaf("h"), []
    for _ in range(1000):
        h = one.op("Tanh", one.op("Mul", one.op("Add", h)))
        ends.append(h)
    folded = Folding(one.graph(*ends)).folded
    assert sum(node.kind == "output" for node in folded.nodes) == 1000
    assert {edge.label for edge in folded.edges if edge.target == "r0"} == {"of block 1"}


def test_one_operation_with_very_many_inputs_is_not_a_block() -> None:
    one = Builder()
    x = one.leaf("x")
    folded = Folding(one.graph(one.op("Stack", *[x] * 50_000))).folded
    assert len(folded.edges) == 50_002


def test_many_different_folds_are_found_in_a_time_that_grows_with_the_graph() -> None:
    def seconds(count: int) -> float:
        one = Builder()
        x = one.leaf("x")
        for number in range(count):
            for _ in range(3):
                for part in "abc":
                    x = one.op(f"Op{number}{part}", x)
        graph, start = one.graph(x), time.process_time()
        assert len(Folding(graph).folds) == count
        return time.process_time() - start

    assert seconds(4000) < 16 * max(seconds(500), 0.05)


def test_operations_of_which_nobody_knows_what_they_saved_do_not_fold() -> None:
    graph = rnn(200)
    known = Recorded(1, (("alpha", "1"),))
    nodes = [
        node._replace(recorded=known) if node.label == "TanhBackward0" and number > 500 else node
        for number, node in enumerate(graph.nodes)
    ]
    folding = Folding(Graph(tuple(nodes), graph.edges, graph.roots))
    found = [folding.graph.nodes[number] for block in folding.folds[0].blocks for number in block]
    assert len(folding.folds) == 1
    assert {node.recorded for node in found if node.label == "TanhBackward0"} == {known}


def test_each_sign_says_of_which_loop_the_block_before_is() -> None:
    one = Builder()
    h, w, v = "", one.leaf("w"), one.leaf("v")
    for _ in range(4):
        for _ in range(5):
            h = one.op("Tanh", one.op("Add", one.op("Mm", h, w, recorded=Recorded(2)), v))
        h = one.op("Relu", one.op("Div", one.op("Bmm", h, v), v))
    (sign,) = (node for node in Folding(one.graph(h)).folded.nodes if node.kind == "carried")
    assert sign.label == "↻ Tanh of the block before of × 5"
    assert sign.expression.split("\n") == [
        "Relu: of the block before of × 4, first of × 5",
        "first of × 4, first of × 5: a constant",
    ]


def test_blocks_of_two_folds_that_are_no_rectangle_are_listed_by_both_numbers() -> None:
    pairs = [(0, 1), (1, 0), *((number, number) for number in range(2, 20))]
    assert blocks_text(pairs[:2], ()) == "blocks 1.2, 2.1"
    assert blocks_text(pairs, ()).startswith("blocks 1.2, 2.1, 3.3, ")
    assert blocks_text(pairs, ()).endswith(", …")


def test_where_all_is_known_an_operation_that_saves_nothing_folds_wherever_it_stands() -> None:
    one = Builder()
    w, h = one.leaf("w"), one.leaf("h")
    for _ in range(200):
        h = one.op("Mm", h, one.op("T", w), recorded=Recorded(2, (("mat2", "freed"),)))
    graph = one.graph(h)
    nodes = sorted(graph.nodes, key=lambda node: node.label == "TBackward0")  # as a walk from the root meets them
    half, whole = (Graph(tuple(nodes), graph.edges, graph.roots, is_detailed=known) for known in (False, True))
    assert folds_of(half) == []
    assert folds_of(whole) == [("repeats", 200, 2, [])]


def test_weights_of_parts_of_layers_that_each_turn_uses_again_have_one_box_for_all_parts() -> None:
    one = Builder()
    x = one.leaf("x")
    weights = [[[one.leaf(f"layers.{i}.{j}.{name}") for name in "wv"] for j in range(3)] for i in range(3)]
    for _ in range(4):
        for layer in weights:
            for w, v in layer:
                x = one.op("Relu", one.op("Mul", one.op("Mm", x, w), v))
            x = one.op("Tanh", x)
        x = one.op("Sin", x)
    folding = Folding(one.graph(x))
    assert [node.name for node in folding.folded.nodes if node.kind == "leaf"] == [
        "x", "layers.{0…2}.{0…2}.w", "layers.{0…2}.{0…2}.v",
    ]  # fmt: skip
    assert_unfolds(folding)
