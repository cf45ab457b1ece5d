"""The numbers of the articles that gviz was made for, as expressions; their programs are in tests/sources/script."""

from __future__ import annotations

from typing import Any

import pytest
from program import SAMPLES, Program

Y = ("y=(x+w)*(w+1)", "x=2", "w=1")
NEURONS = ("b=w1*a; c=w2*a; d=w3*b+w4*c; L=10-d", "a=2", "w1=1", "w2=2", "w3=3", "w4=4")
MATRICES = (NEURONS[0], *(f"{name}=ones(3,3)" for name in ("a", "w1", "w2", "w3", "w4")))
SUMMED = (NEURONS[0].replace("10-d", "(10-d).sum()"), *MATRICES[1:])
H = ("h=w*x+b", "x=1", "w=4", "b=0.5")
E = ("e=a*b+log(d)*c", "a=2", "b=3", "c=5", "d=10")
NAMED_E = ("u=a*b; t=log(d); v=t*c; e=u+v", *E[1:])


@pytest.mark.parametrize(
    ("words", "key", "cells"),
    [
        (Y, "value", {"x": 2, "w": 1, "a": 3, "b": 2, "y": 6}),
        (Y, "grad", {"x": 2, "w": 5, "a": None, "b": None, "y": None}),
        (Y, "is_leaf", {"x": True, "w": True, "a": False, "b": False, "y": False}),
        (Y, "grad_fn", {"x": None, "w": None, "a": "AddBackward0", "b": "AddBackward0", "y": "MulBackward0"}),
        ((*Y, "--retain", "a"), "grad", {"x": 2, "w": 5, "a": 2, "b": None, "y": None}),
        ((*Y, "--retain", "a"), "retains_grad", {"x": False, "w": False, "a": True, "b": False, "y": False}),
        ((*Y, "--no-backward"), "grad", dict.fromkeys("xwaby")),
        (NEURONS, "value", {"b": 2, "c": 4, "d": 22, "L": -12}),
        (NEURONS, "grad", {"a": -11, "w1": -6, "w2": -8, "w3": -2, "w4": -4}),
        ((*MATRICES, "--grad-output", "ones"), "grad", {"w1": [[-1] * 3] * 3, "a": [[-2] * 3] * 3}),
        (SUMMED, "grad", {"a": [[-2] * 3] * 3}),
        (SUMMED, "value", {"L": 72}),
        (H, "value", {"h": 4.5}),
        (H, "grad", {"x": 4, "w": 1, "b": 1}),
        (
            NAMED_E,
            "value",
            {"u": 6, "t": pytest.approx(2.302585), "v": pytest.approx(11.512925), "e": 17.51292610168457},
        ),
        ((*NAMED_E, "--retain", "t"), "grad", {"a": 3, "b": 2, "c": pytest.approx(2.302585), "d": 0.5, "t": 5}),
    ],
)
def test_the_table_has_the_numbers_of_the_articles(
    gviz: Program, words: tuple[str, ...], key: str, cells: dict[str, Any]
) -> None:
    rows = gviz.inspect(*words)
    assert {name: rows[name][key] for name in cells} == cells


def test_an_intermediate_without_a_name_has_its_expression(gviz: Program) -> None:
    assert {name: row.get("expression") for name, row in gviz.inspect(*Y).items()} == {
        "x": None, "w": None, "a": "x + w", "b": "w + 1", "y": None,
    }  # fmt: skip


def test_a_root_that_is_not_a_scalar_is_drawn_and_gets_no_gradients(gviz: Program) -> None:
    done = gviz("inspect", *MATRICES, "--json")
    assert done.status == 0
    assert "grad can be implicitly created only for scalar outputs" in done.err
    assert {row["grad"] for row in done.json()["tensors"]} == {None}


@pytest.mark.parametrize(
    ("words", "boxes", "arrows", "leaves"),
    [
        (Y, 8, 8, "xw"),
        (NEURONS, 17, 17, ["a", "w1", "w2", "w3", "w4"]),
        (H, 9, 8, "wxb"),
        ((*H, "--frozen", "x"), 7, 6, "wb"),
        (E, 13, 12, "abcd"),
        (NAMED_E, 13, 12, "abcd"),
    ],
)
def test_the_picture_has_the_boxes_of_the_articles(
    gviz: Program, words: tuple[str, ...], boxes: int, arrows: int, leaves: list[str]
) -> None:
    graph = gviz.graph(*words)
    assert (len(graph["nodes"]), len(graph["edges"])) == (boxes, arrows)
    assert {node["name"] for node in graph["nodes"] if node["kind"] == "leaf"} == set(leaves)


def test_arrows_of_y_run_from_the_leaves_to_the_root_in_the_order_of_the_operands(gviz: Program) -> None:
    graph = gviz.graph(*Y)
    names = {node["id"]: (node.get("label", "")) + " " + (node.get("name") or "") for node in graph["nodes"]}
    assert sorted((names[edge["source"]], edge.get("slot", 0), names[edge["target"]]) for edge in graph["edges"]) == [
        (" w", 0, "AccumulateGrad "),
        (" x", 0, "AccumulateGrad "),
        ("AccumulateGrad ", 0, "AddBackward0 a"),
        ("AccumulateGrad ", 0, "AddBackward0 b"),  # w again; the 1 leaves slot 1 empty
        ("AccumulateGrad ", 1, "AddBackward0 a"),
        ("AddBackward0 a", 0, "MulBackward0 y"),
        ("AddBackward0 b", 1, "MulBackward0 y"),
        ("MulBackward0 y", 0, " y"),
    ]
    assert [node["recorded"]["slots"] for node in graph["nodes"] if node.get("name") == "b"] == [2]


@pytest.mark.parametrize(
    ("expression", "operation"),
    [
        ("y=a+b", "AddBackward0"),
        ("y=a-b", "SubBackward0"),
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
def test_operations_have_pytorch_s_names(gviz: Program, expression: str, operation: str) -> None:
    values = {"A": "A=ones(2,2)", "B": "B=ones(2,2)", "C": "C=[2]"}
    assert (
        gviz.inspect(expression, *(value for name, value in values.items() if name in expression))["y"]["grad_fn"]
        == operation
    )


def test_every_sample_can_be_tabulated(gviz: Program) -> None:
    samples = sorted(SAMPLES.glob("*.py"))
    assert len(samples) > 20
    for sample in samples:
        done = gviz("inspect", sample, "--json")
        assert done.status in (0, 1), sample.name
        table = done.json()
        assert table.get("tensors") or table["operations"], (sample.name, done.err)
