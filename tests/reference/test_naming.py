"""Names of graph nodes, explained: those of today, older ones, and what print() puts around them."""

from __future__ import annotations

from typing import Any

import pytest

from gviz import engine
from gviz.errors import SourceError
from gviz.reference.catalogue import operations
from gviz.reference.naming import named, operations_by_label


@pytest.mark.parametrize(
    ("name", "label"),
    [
        ("AddBackward0", "AddBackward0"),
        ("<AddBackward0>", "AddBackward0"),
        ("grad_fn=<SumBackward1>)", "SumBackward1"),
        ("<torch.autograd.graph.MulBackward0 object at 0x7f3c>", "MulBackward0"),
        ("addbackward0", "AddBackward0"),
        ("RsubBackward1", "RsubBackward1"),
        ("AccumulateGrad", "AccumulateGrad"),
        ("torch::autograd::AccumulateGrad", "AccumulateGrad"),
        ("torch::autograd::CopySlices", "CopySlices"),
        ("ThAddBackward", "AddBackward0"),
        ("ThMulBackward", "MulBackward0"),
        ("MulBackward", "MulBackward0"),
        ("AddmmBackward", "AddmmBackward0"),
        ("AddConstantBackward", "AddBackward0"),
        ("ThresholdBackward0", "ThresholdBackward0"),
        ("CudnnConvolutionBackward", "ConvolutionBackward0"),
        ("ThnnConv2DBackward", "ConvolutionBackward0"),
        ("CudnnBatchNormBackward", "NativeBatchNormBackward0"),
        ("MseLossBackward", "MseLossBackward0"),
        ("relu", "ReluBackward0"),
        ("torch.mul", "MulBackward0"),
    ],
)
def test_a_name_is_found(name: str, label: str) -> None:
    assert named(name)[0].operation.grad_fn == label


def test_nodes_of_the_table_are_explained_by_its_own_name_and_none_is_said_to_be_older() -> None:
    for label in [*operations_by_label()][::5]:
        (found,) = named(label)
        assert found.operation.grad_fn == label
        assert not any("older" in remark for remark in found.remarks)


def test_the_digit_is_an_overload_s_number_and_no_depth() -> None:
    (found,) = named("SumBackward1")
    (remark,) = found.remarks
    assert "tells overloads apart" in remark
    assert "no layer and no depth" in remark
    assert "SumBackward0" in remark
    assert not named("AccumulateGrad")[0].remarks


def test_an_older_name_says_so_and_has_all_its_overloads() -> None:
    found = named("SumBackward")
    assert [one.operation.grad_fn for one in found] == ["SumBackward0", "SumBackward1"]
    assert found[0].remarks[0] == (
        "SumBackward is an older name, from before overloads had numbers: PyTorch 2.13 has SumBackward0 and SumBackward1."
    )


def test_the_example_of_an_operation_makes_its_node() -> None:
    x, y, v = (engine.full(size, 0.5).requires_grad_() for size in ((2, 2), (2, 2), (2,)))
    seen = 0
    for operation in operations()[::5]:
        if operation.grad_fn is None or operation.grad_fn not in operations_by_label():
            continue
        for found in named(operation.grad_fn):
            if found.example:
                made: Any = eval(found.example, {"torch": engine, "x": x, "y": y, "v": v})  # noqa: S307 - gviz's own
                made = made[0] if isinstance(made, tuple | list) else made
                assert type(made.grad_fn).__name__ == found.operation.grad_fn
                seen += 1
    assert seen > 20


def test_the_example_of_a_node_without_a_call_shows_it() -> None:
    for name in ("AccumulateGrad", "CopySlices"):
        *steps, last = named(name)[0].example.split("; ")
        space: dict[str, Any] = {"torch": engine}
        exec("\n".join(steps), space)  # noqa: S102 - gviz's own
        assert type(eval(last, space)).__name__ == name  # noqa: S307


def test_an_operation_that_saves_nothing_says_so() -> None:
    assert ("saves", "nothing: its derivative needs no value") in named("NegBackward0")[0].facts()


def test_a_wrong_name_has_the_one_that_was_meant() -> None:
    with pytest.raises(SourceError, match="no operation has the name 'AddBakward0'") as refused:
        named("AddBakward0")
    assert refused.value.hint == "did you mean AddBackward0?"


def test_a_name_without_a_digit_may_be_that_of_an_own_function() -> None:
    with pytest.raises(SourceError) as refused:
        named("CubeBackward")
    assert "a class of your own, Cube(torch.autograd.Function)" in str(refused.value)


def test_what_records_an_operation_has_been_run() -> None:
    facts = dict(named("UnsafeViewBackward0")[0].facts())
    assert facts["is"] == "what autograd records for torch.kron, among others"
    assert facts["example"] == "torch.kron(x, y)"


@pytest.mark.parametrize("name", ["backward", "loss.backward", "Tensor.backward"])
def test_backward_is_no_operation_and_runs_the_graph(name: str) -> None:
    with pytest.raises(SourceError, match="backward is no operation of the graph: it runs the graph"):
        named(name)


@pytest.mark.parametrize(
    ("typed", "meant"), [("leafs", "leaf"), ("is_leav", "is_leaf"), ("retain_gard", "retain_grad")]
)
def test_a_word_that_is_mistyped_is_proposed(typed: str, meant: str) -> None:
    with pytest.raises(SourceError) as refused:
        named(typed)
    assert refused.value.hint == f"did you mean {meant}?"
