"""DOT: TorchViz's look, gviz's text in the boxes, any name escaped, the same text for the same graph."""

from __future__ import annotations

import re
import time
from typing import Any

import pytest
from fuzzing import relaxed
from gold import assert_gold
from graphs import article, chain, every_kind, node as node_of
from hypothesis import example, given, strategies as st

from gviz.errors import RenderError
from gviz.graphs import Edge, Graph, Node
from gviz.pictures.labels import lines
from gviz.pictures.look import picture_size
from gviz.pictures.spans import text_of
from gviz.render import RenderOptions, render
from gviz.render.dot import quote
from gviz.text import visible

PLAIN = RenderOptions(show=())
EVERYTHING = RenderOptions(show=("value", "grad", "shape", "dtype", "state", "saved", "attrs"))


def dot(graph: Graph, options: RenderOptions | None = None) -> str:
    text = render(graph, "dot", options)
    assert isinstance(text, str)
    return text


@pytest.mark.parametrize(("name", "graph"), [("article", article()), ("every_kind", every_kind())])
@pytest.mark.parametrize(
    ("how", "options"), [("default", RenderOptions()), ("plain", PLAIN), ("everything", EVERYTHING)]
)
def test_the_text_is_as_it_was_found_right(name: str, graph: Graph, how: str, options: RenderOptions) -> None:
    assert_gold(f"{name}_{how}.dot", dot(graph, options))


FOUR = ((-0.02247906,), (0.9178659,), (0.5739973,), (0.2912345,))


@pytest.mark.parametrize(
    ("name", "shape", "value", "most", "expected"),
    [
        ("W", (2, 2), ((1.0, 2.0), (3.0, 4.0)), 50, ["W = [[1, 2], [3, 4]]", "grad = [[1, 2], [3, 4]]"]),
        ("W", (5,), (1.0,) * 5, 50, ["W size 5", "‖grad‖ = 2.2361"]),
        ("W", (0, 3), (), 50, ["W 0×3", "‖grad‖ = 0"]),
        (None, (), 2.5, 50, ["2.5", "grad = 2.5"]),
        ("w", (), 2.302585092994046, 50, ["w = 2.3026", "grad = 2.3026"]),
        ("w", (), 1e-9, 50, ["w = 1e-09", "grad = 1e-09"]),
        ("w", (), "-inf", 50, ["w = -inf", "grad = -inf ⚠"]),
        ("w", (), True, 50, ["w = True", "grad = True"]),
        ("w", (), 7, 50, ["w = 7", "grad = 7"]),
        # the values stand on a line of their own if the name leaves them no room; the middle of a long name is left out
        (
            "w",
            (4, 1),
            FOUR,
            50,
            ["w", "= [[-0.0225], [0.9179], [0.574], [0.2912]]", "grad = [[-0.0225], [0.9179], [0.574], [0.2912]]"],
        ),
        ("a" * 70, (4,), (1.2345678,) * 4, 50, ["a" * 30 + "…" + "a" * 29, "= [1.2346, 1.2346, 1.2346, 1.2346]"]),
        # the shape stands for values that do not fit
        ("w", (4,), (-1.2345678e-30,) * 4, 40, ["w size 4", "‖grad‖ = 2.469e-30"]),
    ],
)
def test_a_tensor_shows_its_values_if_they_can_be_read_or_its_shape(
    name: str | None, shape: tuple[int, ...], value: Any, most: int, expected: list[str]
) -> None:
    node = node_of("n0", "leaf", name=name, shape=shape, value=value, grad=value)
    assert [text_of(line) for line in lines(node, RenderOptions(max_chars=most))][: len(expected)] == expected


def test_none_is_torchviz_s_label() -> None:
    labels = [[text_of(line) for line in lines(node, PLAIN)] for node in every_kind().nodes]
    assert labels[:6] == [
        ["q", " (3)"],
        ["SelectBackward0"],
        ["MulBackward0"],
        ["other", " ()"],
        ["AccumulateGrad"],
        ["W", " (3, 3)"],
    ]
    assert labels[6] == ["", " (3, 3)"]


def test_large_graphs_get_large_pictures_as_torchviz_s_do() -> None:
    assert [picture_size(statements) for statements in (80, 81)] == ["12,12", "12.15,12.15"]
    assert 'size="30.15,30.15"' in dot(chain(100), PLAIN)
    assert 'size="90.45,90.45"' in dot(chain(301))


def test_a_picture_that_can_be_read_has_no_least_size() -> None:
    assert " size=" not in dot(article())


def test_the_leaves_may_lie_on_the_left() -> None:
    assert "rankdir=LR" in dot(article(), RenderOptions(rankdir="LR"))
    assert "rankdir" not in dot(article())


@pytest.mark.parametrize("node_id", ["node", "Graph", "a b", 'a"b', "1a", "a:b", "-1", "é", "a\\"])
def test_any_id_is_an_id_in_dot(node_id: str) -> None:
    graph = Graph(
        (Node(node_id, "leaf", name="w"), Node("n1", "operation", "AddBackward0")), (Edge(node_id, "n1"),), ("n1",)
    )
    drawn = render(graph, "svg", RenderOptions())
    assert isinstance(drawn, str)
    assert drawn.count('class="node"') == 2
    assert drawn.count('class="edge"') == 1


TEXTS = st.text(st.characters(codec=None, exclude_categories=()), max_size=12)


@pytest.mark.fuzz
@given(TEXTS)
@example('"')
@example("\\")
@example('\\"')
@example("\\N\\G\\l")
@example("&lt;&#65;&amp;")
@example("<b>")
@example("\ud800\x00\ufffe")
@relaxed(100)
def test_a_quoted_text_reads_back_as_itself(text: str) -> None:
    quoted = quote(text)
    inside = quoted[1:-1]
    assert quoted[0] == quoted[-1] == '"'
    assert not re.search(r'(?<!\\)(?:\\\\)*"', inside)
    back = re.sub(r"\\(.)", lambda match: "\n" if match[1] == "n" else match[1], inside).replace("&amp;", "&")
    assert back == visible(text)
    if text.isprintable():
        assert back == text
    quoted.encode()


def test_equal_graphs_give_equal_text() -> None:
    assert dot(article()) == dot(Graph.from_json(article().to_json()))
    assert dot(Graph()).startswith("digraph {")


def test_a_chain_of_100_000_operations_is_written_in_a_loop() -> None:
    graph = chain(100_000)
    start = time.process_time()
    text = dot(graph)
    assert text.count("\n") == 200_000 + 7
    assert time.process_time() - start < 5  # ten times what it takes: this is about quadratic growth


def test_options_that_mean_nothing_are_refused() -> None:
    for wrong in ({"show": ("values",)}, {"rankdir": "up"}, {"graphviz": "mine"}):
        with pytest.raises(RenderError, match="is one of"):
            RenderOptions(**wrong)
