"""The graph as data: checked when made, and the same after a way through JSON."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

import pytest

from gviz.graph import Edge, Graph, Node, TensorRow, to_value

LEAF = Node("n1", "leaf", name="w", shape=(), dtype="float32", value=1.0, grad=5.0)
ROOT = Node("n0", "output", name="y", shape=(2,), dtype="float32", value=(1.0, "nan"), state="not retained")
ROW = TensorRow("w", (), "float32", requires_grad=True, is_leaf=True, retains_grad=False, grad_fn=None, value=1.0)
GRAPH = Graph(
    nodes=(ROOT, LEAF, Node("n2", "operation", "MulBackward0", slots=2, attrs=(("alpha", "1"),))),
    edges=(Edge("n1", "n2", 0), Edge("n1", "n2", 1), Edge("n2", "n0", output=1)),
    roots=("n0",),
    tensors=(ROW,),
    title="y",
)


def test_json_and_back_is_the_same_graph() -> None:
    assert Graph.from_json(GRAPH.to_json()) == GRAPH


def test_the_same_graph_gives_the_same_bytes() -> None:
    assert GRAPH.to_json() == Graph.from_json(GRAPH.to_json()).to_json()


def test_json_holds_no_infinity_that_other_programs_refuse() -> None:
    text = Graph(nodes=(Node("n0", "leaf", value=to_value([float("inf"), float("-inf"), float("nan")])),)).to_json()

    assert json.loads(text)["nodes"][0]["value"] == ["inf", "-inf", "nan"]


def test_a_graph_cannot_be_changed() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        GRAPH.title = "z"  # type: ignore[misc]


@pytest.mark.parametrize("record", [LEAF, GRAPH.edges[0], ROW])
def test_a_record_cannot_be_changed(record: Any) -> None:
    with pytest.raises(AttributeError):
        record.name = "z"


def test_a_negative_slot_or_output_is_refused() -> None:
    for wrong in (Edge("n1", "n1", slot=-1), Edge("n1", "n1", output=-1)):
        with pytest.raises(ValueError, match="negative slot or output"):
            Graph(nodes=(LEAF,), edges=(wrong,))
    with pytest.raises(ValueError, match="-1 slots"):
        Graph(nodes=(Node("n0", "operation", slots=-1),))


def test_a_length_that_is_unknown_comes_back_from_json() -> None:
    graph = Graph(nodes=(Node("n0", "placeholder", shape=(None, 3)),), kind="static")
    assert Graph.from_json(graph.to_json()) == graph


def test_both_edges_between_two_nodes_are_kept() -> None:
    assert [edge.slot for edge in Graph.from_json(GRAPH.to_json()).edges if edge.target == "n2"] == [0, 1]


@pytest.mark.parametrize(
    ("parts", "words"),
    [
        ({"nodes": (LEAF, LEAF)}, "two nodes have the id 'n1'"),
        ({"nodes": (LEAF,), "edges": (Edge("n1", "n9"),)}, "there is no node 'n9'"),
        ({"nodes": (LEAF,), "edges": (Edge("n8", "n1"),)}, "there is no node 'n8'"),
        ({"nodes": (LEAF,), "roots": ("n7",)}, "there is no node 'n7' to be a root"),
    ],
)
def test_a_graph_that_does_not_hold_together_is_refused(parts: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        Graph(**parts)


def test_a_node_of_an_unknown_kind_is_refused() -> None:
    with pytest.raises(ValueError, match="unknown kind 'box'"):
        Graph(nodes=(Node("n0", "box"),))


def test_an_edge_of_an_unknown_kind_is_refused() -> None:
    with pytest.raises(ValueError, match="unknown kind 'line'"):
        Graph(nodes=(LEAF,), edges=(Edge("n1", "n1", kind="line"),))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[]", "not a graph of gviz"),
        ("{}", "not a graph of gviz"),
        ('{"format": "gviz-graph", "version": 99}', "version 99; this gviz reads version 1"),
        ('{"format": "gviz-graph", "version": 1}', 'there is no "nodes" in this graph'),
        ('{"format": "gviz-graph", "version": 1, "nodes": [{"id": "n0", "kind": "leaf", "wings": 2}], "edges": []}', "wings"),
        ('{"format": "gviz-graph", "version": 1, "nodes": [3], "edges": []}', r"nodes\[0\] is 3, not a record"),
        ('{"format": "gviz-graph", "version": 1, "nodes": 3, "edges": []}', '"nodes" is 3, not a list'),
        ("[" * 100_000, "nested too deeply"),
        ("{", "."),
    ],
)
def test_json_that_is_no_graph_is_refused_with_its_reason(text: str, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        Graph.from_json(text)
