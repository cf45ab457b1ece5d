"""What boxes say: numbers as print(tensor) shows them, names and statements cut, norms, None, nan where it begins."""

from __future__ import annotations

import math
import re
from typing import Any

import pytest
from graphs import article, every_kind, leaf, node, numbers

import gviz
from gviz.graphs import Edge, Flow, Graph, Node, Place, Stop
from gviz.pictures.digits import decimal
from gviz.pictures.labels import (
    boxes,
    short_value,
    value_text,
)
from gviz.pictures.options import RenderOptions
from gviz.pictures.spans import Box, text_of
from gviz.render import render
from gviz.sources import SourceOptions

PRECISE = RenderOptions()


def said(graph: Graph, options: RenderOptions = PRECISE) -> dict[str, list[str]]:
    """Return the lines of each box by the id of its node."""
    return {
        node.id: [text_of(line) for line in box.lines]
        for node, box in zip(graph.nodes, boxes(graph, options), strict=True)
    }


def one(node: Node, options: RenderOptions = PRECISE) -> Box:
    (box,) = boxes(Graph((node,)), options)
    return box


@pytest.mark.parametrize(
    ("number", "precision", "text"),
    [
        (6.0, 4, "6"),
        (-0.0, 4, "0"),
        (2.302585092994046, 4, "2.3026"),
        (2.302585092994046, 0, "2"),
        (2.302585092994046, 7, "2.3025851"),
        (0.5, 4, "0.5"),
        (100.0, 0, "100"),
        (0.0001, 4, "0.0001"),
        (0.00001, 4, "1e-05"),
        (0.00001, 6, "0.00001"),
        (-1.2345e-7, 4, "-1.2345e-07"),
        (-1.234567e-7, 4, "-1.235e-07"),
        (0.99999, 4, "0.99999"),
        (0.99999386, 4, "0.9999939"),
        (2000000.5, 4, "2000000.5"),
        (12345678.0, 4, "12345678"),
        (99999.5, 4, "99999.5"),
        (123456.0, 4, "123456"),
        (7, 4, "7"),
        (True, 4, "True"),
        ("nan", 4, "nan"),
    ],
)
def test_a_number_has_the_decimals_that_were_asked_for(number: float | str, precision: int, text: str) -> None:
    assert decimal(number, precision) == text


def test_the_table_of_inspect_has_all_digits_of_a_float32() -> None:
    assert value_text(numbers((2.302585092994046, 0.1))) == "[2.302585, 0.1]"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        *((2.0, "2"), ((1.0, 2.5), "[1, 2.5]"), (((1.0, 2.0), (3.0, 4.0)), "[[1, 2], [3, 4]]")),
        *(((3.0, 4.0, 0.0, 0.0, 0.0), "norm 5"), ((), "norm 0")),
    ],
)  # fmt: skip
def test_at_most_four_numbers_are_shown_else_the_norm(value: Any, text: str) -> None:
    assert short_value(numbers(value)) == text


def test_a_leaf_without_a_gradient_says_so() -> None:
    assert text_of(one(leaf("n0", "w", 1.0)).lines[-1]) == "grad = None"
    assert [text_of(line) for line in one(node("n0", "frozen", name="c", value=1.0, shape=())).lines] == ["c = 1"]
    assert "grad" not in text_of(one(leaf("n0", "w", 1.0), RenderOptions(show=("value",))).lines[-1])


def test_a_large_gradient_is_told_by_its_norm() -> None:
    grad = tuple(tuple(1.0 for _ in range(3)) for _ in range(3))
    assert [text_of(line) for line in one(leaf("n0", "W", grad, grad, (3, 3))).lines] == ["W 3×3", "‖grad‖ = 3"]


def test_the_norm_of_huge_numbers_does_not_overflow() -> None:
    assert short_value(numbers((1e300, 1e300, 0.0, 0.0, 0.0))) == f"norm {math.sqrt(2) * 1e300:.4g}"


def test_a_long_name_and_a_long_expression_are_cut_in_the_middle() -> None:
    expression = "+".join("abcdefghijklmnopqrstuvwxyz")
    box = one(node("n0", "operation", "AddBackward0", "n" * 70, (), value=3.0, expression=expression))
    label, statement, value = (text_of(line) for line in box.lines)
    assert label == "AddBackward0"
    name, _, expression = statement.partition(" = ")
    assert (len(name), len(expression), value) == (60, 44, "= 3")
    assert name.count("…") == expression.count("…") == 1
    assert expression.startswith("a+b")
    assert expression.endswith("+z")


def test_the_statement_stands_in_the_operation_and_the_root_s_value_in_the_root() -> None:
    lines = said(article())
    assert lines["n2"] == ["AddBackward0", "a = x + w = 3"]
    assert lines["n1"] == ["MulBackward0", "a * b"]
    assert lines["n0"] == ["y = 6"]


def test_each_output_of_an_operation_has_its_name() -> None:
    graph = gviz.read("a,b=x.unbind(); y=a*b", x=[1, 2]).graph
    (lines,) = (lines for lines in said(graph).values() if lines[0] == "UnbindBackward0")
    assert lines[1].startswith("a, b")


def test_a_dim_of_minus_one_is_told_as_it_was_written() -> None:
    softmax = node("n0", "operation", "SoftmaxBackward0", attrs=(("dim", "18446744073709551615"),))
    assert text_of(one(softmax, RenderOptions(show=("attrs",))).lines[-1]) == "dim: -1"


@pytest.mark.filterwarnings("ignore:invalid value", "ignore::gviz.GvizWarning")
def test_nan_is_pinned_where_it_begins() -> None:
    graph = gviz.read("a=x-2; b=log(a); y=b*3+w", x=1, w=1).graph
    nodes = {node.id: node for node in graph.nodes}
    drawn = {nodes[key].label or nodes[key].name: box for key, box in zip(nodes, boxes(graph, PRECISE), strict=True)}
    texts = {key: [text_of(line) for line in box.lines] for key, box in drawn.items()}
    assert texts["LogBackward0"][-1] == "nan begins here"
    assert [key for key, lines in texts.items() if "nan begins here" in lines] == ["LogBackward0"]
    assert texts["x"][-1] == "grad = -3"
    assert not drawn["x"].is_error
    assert drawn["LogBackward0"].is_error
    assert not drawn["SubBackward0"].is_error
    dot = str(render(graph, "dot"))
    assert re.search(r"<B>nan begins here</B>.* penwidth=3", dot)


def test_infinity_is_pinned_too_and_nothing_where_nothing_is_known() -> None:
    made = node("n0", "operation", "ExpBackward0", "y", (), value="inf", slots=1)
    known, unknown = leaf("n1", "x", 1000.0), Node("n1", "operation", "AddBackward0")
    for below, lines in (
        (known, ["ExpBackward0", "y = exp(x) = inf", "inf begins here"]),
        (unknown, ["ExpBackward0", "y = inf"]),
    ):
        assert said(Graph((made, below), (Edge("n1", "n0"),), ("n0",)))["n0"] == lines


def test_a_root_is_framed_and_a_leaf_that_is_the_root_still_a_leaf() -> None:
    drawn = {node.id: box for node, box in zip(article().nodes, boxes(article(), PRECISE), strict=True)}
    assert [key for key, box in drawn.items() if box.is_root] == ["n0"]
    (alone,) = boxes(Graph((node("n0", "output", name="x", shape=(), value=2.0),), (), ("n0",)), PRECISE)
    assert (alone.kind, alone.is_root) == ("leaf", True)
    assert "grad = None" in [text_of(line) for line in alone.lines]


BROKEN = """\
import torch
w = torch.tensor(4.0, requires_grad=True)
h = w * 2
h.backward()
h.backward()
"""


@pytest.mark.filterwarnings("ignore::gviz.GvizWarning")
def test_a_failed_backward_is_told_on_the_picture_with_its_line_and_pytorch_s_words(tmp_path: Any) -> None:
    (tmp_path / "twice.py").write_text(BROKEN)
    reading = gviz.read(tmp_path / "twice.py")
    assert reading.failed
    for view in ("torchviz", "dataflow", "teaching", "micrograd"):
        drawn = str(render(reading.graph, "svg", RenderOptions(view=view))).replace("&#160;", " ")
        assert "✗" in drawn, view
        assert "line 5" in drawn, view
        assert "RuntimeError: Trying to backward through the graph" in drawn, view
    assert "✗" not in str(render(article(), "svg"))


def test_a_banner_is_eight_lines_at_most() -> None:
    stop = Stop("many words of an error " * 40, Place(3), "y.backward()")
    graph = Graph(article().nodes, article().edges, ("n0",), stop=stop)
    drawn = str(render(graph, "dot"))
    (banner,) = re.findall(r"<B>✗.*?</FONT>", drawn)
    assert banner.count("<BR") == 9
    assert "…" in banner


@pytest.mark.parametrize("view", ["torchviz", "dataflow", "teaching", "micrograd", "autograd"])
def test_any_name_is_cut_before_graphviz_reads_it(view: str) -> None:
    for name in ("x" * 40_000, "損" * 20_000, "<&>" * 10_000, "\\N" * 10_000):
        nodes = (
            node("n0", "output", name="y", shape=(), value=2.0),
            node("n1", "operation", "MulBackward0", name="y", shape=(), value=2.0, slots=1, arrived=1.0),
            leaf("n2", name, 2.0, 1.0),
        )
        flow = Flow(name, numbers(1.0), numbers(1.0))
        edges = (Edge("n1", "n0"), Edge("n2", "n1", flow=flow))
        graph = Graph(nodes, edges, ("n0",), title=name)
        assert len(str(render(graph, "svg", RenderOptions(view=view)))) < 30_000


def test_the_same_words_stand_in_the_tree() -> None:
    options = RenderOptions(show=("value", "grad", "shape", "dtype", "state"))
    tree = str(render(every_kind(), "txt", options))
    for lines in said(every_kind(), options).values():
        assert "  ".join(lines).replace("\n", "\\n").strip() in tree


def test_values_that_were_not_asked_for_are_not_there() -> None:
    graph = gviz.read("y=x*w", SourceOptions(values={"x": "2", "w": "3"})).graph
    assert ["x"] in said(graph, RenderOptions(show=("shape",))).values()
    assert ["x = 2"] in said(graph, RenderOptions(show=("value",))).values()
    assert ["x float32"] in said(graph, RenderOptions(show=("dtype",))).values()
