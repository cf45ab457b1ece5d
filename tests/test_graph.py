"""The graph as data: checked when made, and the same after a way through JSON."""

from __future__ import annotations

import json
from typing import Any

import pytest

from gviz.graphs import Edge, Graph, Node, TensorRow, to_value

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
HEAD = '{"format": "gviz-graph", "version": 1, '


@pytest.mark.parametrize("graph", [GRAPH, Graph(nodes=(Node("n0", "placeholder", shape=(None, 3)),), kind="static")])
def test_json_and_back_is_the_same_graph_and_the_same_bytes(graph: Graph) -> None:
    back = Graph.from_json(graph.to_json())
    assert back == graph
    assert back.to_json() == graph.to_json()


def test_json_holds_no_infinity_that_other_programs_refuse() -> None:
    text = Graph(nodes=(Node("n0", "leaf", value=to_value([float("inf"), float("-inf"), float("nan")])),)).to_json()

    assert json.loads(text)["nodes"][0]["value"] == ["inf", "-inf", "nan"]


@pytest.mark.parametrize("record", [LEAF, GRAPH.edges[0], ROW, GRAPH])
def test_a_record_cannot_be_changed(record: Any) -> None:
    with pytest.raises(AttributeError):
        setattr(record, next(iter(record.__match_args__)), "z")


@pytest.mark.parametrize(
    ("parts", "words"),
    [
        ({"nodes": (LEAF, LEAF)}, "two nodes have the id 'n1'"),
        ({"nodes": (LEAF,), "edges": (Edge("n1", "n9"),)}, "there is no node 'n9'"),
        ({"nodes": (LEAF,), "edges": (Edge("n8", "n1"),)}, "there is no node 'n8'"),
        ({"nodes": (LEAF,), "roots": ("n7",)}, "there is no node 'n7' to be a root"),
        ({"nodes": (Node("n0", "box"),)}, "unknown kind 'box'"),
        ({"nodes": (Node("n0", "operation", slots=-1),)}, "-1 slots"),
        ({"nodes": (LEAF,), "edges": (Edge("n1", "n1", kind="line"),)}, "unknown kind 'line'"),
        ({"nodes": (LEAF,), "edges": (Edge("n1", "n1", slot=-1),)}, "negative slot or output"),
        (
            {"nodes": (LEAF,), "edges": (Edge("n1", "n" * 999),)},
            r"^edge n1 -> n{37}\.\.\.: there is no node 'n{36}\.\.\.$",
        ),
        ({"nodes": (LEAF,), "roots": ("n" * 999,)}, r"^there is no node 'n{36}\.\.\. to be a root$"),
        ({"nodes": (LEAF,), "edges": (Edge("n1", "n1", output=-1),)}, "negative slot or output"),
    ],
)
def test_a_graph_that_does_not_hold_together_is_refused(parts: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        Graph(**parts)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[]", "not a graph of gviz"),
        ("{}", "not a graph of gviz"),
        ('{"format": "gviz-graph", "version": 99}', "version 99; this gviz reads version 1"),
        ('{"format": "gviz-graph", "version": 1}', 'there is no "nodes" in this graph'),
        (HEAD + '"nodes": [{"id": "n0", "kind": "leaf", "wings": 2}], "edges": []}', "wings"),
        (HEAD + '"nodes": [3], "edges": []}', r"nodes\[0\] is 3, not a record"),
        (HEAD + '"nodes": 3, "edges": []}', '"nodes" is 3, not a list'),
        ("[" * 100_000, "nested too deeply"),
        ("{", "."),
    ],
)
def test_json_that_is_no_graph_is_refused_with_its_reason(text: str, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        Graph.from_json(text)
