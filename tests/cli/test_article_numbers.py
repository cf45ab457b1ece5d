"""Every number of the articles that gviz was made for, through the command line."""

from __future__ import annotations

from typing import Any

import pytest
from program import SAMPLES, Program

Y = ("y=(x+w)*(w+1)", "x=2", "w=1")
NEURONS = ("b=w1*a; c=w2*a; d=w3*b+w4*c; L=10-d", "a=2", "w1=1", "w2=2", "w3=3", "w4=4")
H = ("h=w*x+b", "x=1", "w=4", "b=0.5")
E = ("e=a*b+log(d)*c", "a=2", "b=3", "c=5", "d=10")
NAMED_E = ("u=a*b; t=log(d); v=t*c; e=u+v", "a=2", "b=3", "c=5", "d=10")

Rows = dict[str, dict[str, Any]]


def column(rows: Rows, key: str) -> dict[str, Any]:
    return {name: row[key] for name, row in rows.items()}


def size(graph: dict[str, Any]) -> tuple[int, int]:
    """How many boxes and arrows the picture has."""
    return len(graph["nodes"]), len(graph["edges"])


def label(node: dict[str, Any]) -> str:
    """What a box is, in one word."""
    return str(node.get("label") or node.get("name"))


def inputs(graph: dict[str, Any], target: dict[str, Any]) -> list[tuple[int, str]]:
    """What goes into a box: (slot, label), in the order of the slots."""
    by_id = {node["id"]: node for node in graph["nodes"]}
    return sorted((edge["slot"], label(by_id[edge["source"]])) for edge in graph["edges"] if edge["target"] == target["id"])


def operations(graph: dict[str, Any]) -> list[dict[str, Any]]:
    return [node for node in graph["nodes"] if node["kind"] == "operation"]


# A. y = (x + w) * (w + 1), with x = 2, w = 1


def test_a_values_on_the_way_of_y(gviz: Program) -> None:
    assert column(gviz.inspect(*Y), "value") == {"x": 2, "w": 1, "a": 3, "b": 2, "y": 6}


def test_a_gradients_of_y_reach_the_leaves_only(gviz: Program) -> None:
    assert column(gviz.inspect(*Y), "grad") == {"x": 2, "w": 5, "a": None, "b": None, "y": None}


def test_a_retained_gradient_is_shown(gviz: Program) -> None:
    rows = gviz.inspect(*Y, "--retain", "a")
    assert rows["a"]["grad"] == 2
    assert column(rows, "retains_grad") == {"x": False, "w": False, "a": True, "b": False, "y": False}


def test_no_gradients_before_backward(gviz: Program) -> None:
    assert set(column(gviz.inspect(*Y, "--no-backward"), "grad").values()) == {None}


def test_a_leaves_and_grad_fns_of_y(gviz: Program) -> None:
    rows = gviz.inspect(*Y)
    assert column(rows, "is_leaf") == {"x": True, "w": True, "a": False, "b": False, "y": False}
    assert column(rows, "grad_fn") == {"x": None, "w": None, "a": "AddBackward0", "b": "AddBackward0", "y": "MulBackward0"}
    assert "expression" not in rows["y"]
    assert (rows["a"]["expression"], rows["b"]["expression"]) == ("x + w", "w + 1")


def test_a_picture_of_y_has_8_boxes_and_8_arrows(gviz: Program) -> None:
    graph = gviz.graph(*Y)
    assert size(graph) == (8, 8)
    kinds = sorted(node["kind"] for node in graph["nodes"])
    assert kinds == ["accumulate"] * 2 + ["leaf"] * 2 + ["operation"] * 3 + ["output"]


def test_a_backward_graph_of_y_keeps_the_order_of_the_operands(gviz: Program) -> None:
    graph = gviz.graph(*Y)
    product, a, b = operations(graph)
    assert [label(node) for node in (product, a, b)] == ["MulBackward0", "AddBackward0", "AddBackward0"]
    assert (product["name"], a["name"], b["name"]) == ("y", "a", "b")
    by_id = {node["id"]: node for node in graph["nodes"]}
    arrows = {(by_id[e["source"]]["id"], e["target"], e["slot"]) for e in graph["edges"]}
    assert {(a["id"], product["id"], 0), (b["id"], product["id"], 1)} <= arrows
    assert [label(node) for node in graph["nodes"] if node["kind"] == "accumulate"] == ["AccumulateGrad"] * 2


def test_a_constant_leaves_its_slot_empty(gviz: Program) -> None:
    graph = gviz.graph(*Y)
    b = next(node for node in operations(graph) if node["name"] == "b")
    assert b["slots"] == 2
    assert inputs(graph, b) == [(0, "AccumulateGrad")]


def test_a_leaf_used_twice_has_one_box_with_two_ways_out(gviz: Program) -> None:
    graph = gviz.graph(*Y)
    leaf = next(node for node in graph["nodes"] if node["kind"] == "leaf" and node["name"] == "w")
    (accumulate,) = (edge["target"] for edge in graph["edges"] if edge["source"] == leaf["id"])
    assert sum(edge["source"] == accumulate for edge in graph["edges"]) == 2


# B. five neurons


def test_b_values_and_gradients_of_the_five_neurons(gviz: Program) -> None:
    rows = gviz.inspect(*NEURONS)
    values = column(rows, "value")
    assert {name: values[name] for name in "bcdL"} == {"b": 2, "c": 4, "d": 22, "L": -12}
    grads = column(rows, "grad")
    assert {name: grads[name] for name in ("a", "w1", "w2", "w3", "w4")} == {"a": -11, "w1": -6, "w2": -8, "w3": -2, "w4": -4}


def test_b_picture_of_the_five_neurons_has_17_boxes_and_17_arrows(gviz: Program) -> None:
    graph = gviz.graph(*NEURONS)
    assert size(graph) == (17, 17)
    assert label(operations(graph)[0]) == "RsubBackward1"


MATRICES = ("b=w1*a; c=w2*a; d=w3*b+w4*c; L=10-d", *(f"{name}=ones(3,3)" for name in ("a", "w1", "w2", "w3", "w4")))


def test_b_a_root_that_is_no_scalar_is_drawn_and_gets_no_gradients(gviz: Program) -> None:
    done = gviz("inspect", *MATRICES, "--json")
    assert done.status == 0
    assert "grad can be implicitly created only for scalar outputs" in done.err
    assert {row["grad"] for row in done.json()["tensors"]} == {None}


def test_b_ones_start_the_backward_pass_of_a_root_that_is_no_scalar(gviz: Program) -> None:
    rows = gviz.inspect(*MATRICES, "--grad-output", "ones")
    assert rows["w1"]["grad"] == [[-1] * 3] * 3
    assert rows["a"]["grad"] == [[-2] * 3] * 3


def test_b_a_sum_makes_the_root_a_scalar(gviz: Program) -> None:
    rows = gviz.inspect(MATRICES[0].replace("10-d", "(10-d).sum()"), *MATRICES[1:])
    assert rows["L"]["value"] == 72
    assert rows["a"]["grad"] == [[-2] * 3] * 3
    assert rows["L"]["grad_fn"] == "SumBackward0"


# C. h = w*x + b


def test_c_h_is_four_and_a_half(gviz: Program) -> None:
    rows = gviz.inspect(*H)
    assert rows["h"]["value"] == 4.5
    assert (rows["x"]["grad"], rows["w"]["grad"], rows["b"]["grad"]) == (4, 1, 1)


def test_c_picture_of_h_has_9_boxes_and_8_arrows(gviz: Program) -> None:
    assert size(gviz.graph(*H)) == (9, 8)


def test_c_a_frozen_input_is_not_drawn(gviz: Program) -> None:
    graph = gviz.graph(*H, "--frozen", "x")
    assert size(graph) == (7, 6)
    assert {node["name"] for node in graph["nodes"] if node["kind"] == "leaf"} == {"w", "b"}


@pytest.mark.parametrize(("kind", "colour"), [("leaf", "lightblue"), ("output", "darkolivegreen1")])
def test_c_colours_are_torchviz_s(gviz: Program, kind: str, colour: str) -> None:
    dot = gviz("render", *H, "-o", "-").out
    wanted = sum(node["kind"] == kind for node in gviz.graph(*H)["nodes"])
    assert dot.count(f"fillcolor={colour}") == wanted > 0


def test_c_arrows_run_from_the_leaves_to_the_root(gviz: Program) -> None:
    graph = gviz.graph(*H)
    targets = {edge["target"] for edge in graph["edges"]}
    sources = {edge["source"] for edge in graph["edges"]}
    assert all(node["id"] not in targets for node in graph["nodes"] if node["kind"] == "leaf")
    assert all(root not in sources for root in graph["roots"])


@pytest.mark.parametrize(
    ("expression", "operation"),
    [
        ("y=a+b", "AddBackward0"),
        ("y=a-b", "SubBackward0"),
        ("y=a*b", "MulBackward0"),
        ("y=A@B", "MmBackward0"),
        ("y=a/b", "DivBackward0"),
        ("y=A.t()", "TBackward0"),
        ("y=a**2", "PowBackward0"),
        ("y=C.squeeze()", "SqueezeBackward0"),
        ("y=a.unsqueeze(0)", "UnsqueezeBackward0"),
        ("y=relu(a)", "ReluBackward0"),
        ("y=sigmoid(a)", "SigmoidBackward0"),
    ],
)
def test_c_operations_have_pytorch_s_names(gviz: Program, expression: str, operation: str) -> None:
    matrices = [f"{name}=ones(2,2)" for name in "AB" if name in expression]
    lists = ["C=[2]"] if "C" in expression else []
    assert label(operations(gviz.graph(expression, *matrices, *lists))[0]) == operation


# D. e = a*b + log(d)*c


def test_d_values_and_gradients_of_e(gviz: Program) -> None:
    rows = gviz.inspect(*NAMED_E, "--retain", "t")
    values = column(rows, "value")
    assert values["u"] == 6
    assert values["t"] == pytest.approx(2.302585, abs=1e-6)
    assert values["v"] == pytest.approx(11.512925, abs=2e-6)
    assert values["e"] == 17.51292610168457
    grads = column(rows, "grad")
    assert (grads["a"], grads["b"], grads["d"], grads["t"]) == (3, 2, 0.5, 5)
    assert grads["c"] == pytest.approx(2.302585, abs=1e-6)


def test_d_picture_of_e_has_13_boxes_and_12_arrows(gviz: Program) -> None:
    assert size(gviz.graph(*E)) == (13, 12)
    assert size(gviz.graph(*NAMED_E)) == (13, 12)


def test_d_the_article_s_table_has_all_six_columns(gviz: Program) -> None:
    rows = gviz.inspect(*NAMED_E)
    assert set(rows) == set("abcdutve")
    for row in rows.values():
        assert {"name", "value", "grad", "grad_fn", "is_leaf", "requires_grad"} <= set(row)
    assert column(rows, "grad_fn")["t"] == "LogBackward0"
    assert column(rows, "requires_grad") == dict.fromkeys(rows, True)


# The articles' own programs: their numbers are in tests/sources/script/test_script_samples.py


def test_sample_backward_of_a_tensor_that_is_no_scalar_shows_error_and_graph(gviz: Program) -> None:
    done = gviz("render", SAMPLES / "five_neurons_3x3.py", "-o", "-")
    assert done.status == 1
    assert "grad can be implicitly created only for scalar outputs" in done.err
    assert "five_neurons_3x3.py:18" in done.err
    assert "RsubBackward1" in done.out


def test_every_sample_can_be_tabulated(gviz: Program) -> None:
    samples = sorted(SAMPLES.glob("*.py"))
    assert len(samples) > 20
    for sample in samples:
        done = gviz("inspect", sample, "--json")
        assert done.status in (0, 1), sample.name
        found = done.json()
        assert found.get("tensors") or found["operations"], (sample.name, done.err)
