"""The tree for the terminal: readable, within its width, each node in full once."""

from __future__ import annotations

import re

import pytest
from gold import assert_gold
from graphs import article, chain, every_kind, leaf, loop, named, node

from gviz.graphs import Edge, Graph, Node
from gviz.render import RenderOptions, render
from gviz.text import display_width

EVERYTHING = RenderOptions(show=("value", "grad", "shape", "dtype", "state", "saved", "attrs"))


def tree(graph: Graph, options: RenderOptions | None = None) -> list[str]:
    text = render(graph, "txt", options)
    assert isinstance(text, str)
    assert text == "" or text.endswith("\n")
    return text.splitlines()


def test_the_article_s_graph_is_a_tree() -> None:
    assert tree(article()) == [
        "y = 6",
        "└─ MulBackward0  a * b",
        "   ├─ AddBackward0  a = x + w = 3",
        "   │  ├─ AccumulateGrad",
        "   │  │  └─ x = 2  grad = 2",
        "   │  └─ AccumulateGrad",
        "   │     └─ w = 1  grad = 5",
        "   └─ AddBackward0  b = w + □ = 2",
        "      └─ ↑ AccumulateGrad w",
        "□ an input that needs no grad",
    ]


@pytest.mark.parametrize(
    ("how", "options"),
    [
        ("default", RenderOptions()),
        ("everything", EVERYTHING),
        ("plain", RenderOptions(show=())),
        ("narrow", RenderOptions(width=30)),
    ],
)
def test_the_text_is_as_it_was_found_right(how: str, options: RenderOptions) -> None:
    assert_gold(f"every_kind_{how}.txt", str(render(every_kind(), "txt", options)))


def test_the_same_in_ascii() -> None:
    drawn = tree(article(), RenderOptions(ascii=True))
    assert drawn[2:4] == ["   |- AddBackward0  a = x + w = 3", "   |  |- AccumulateGrad"]
    assert drawn[-1] == "? an input that needs no grad"
    assert drawn[-2] == "      ^ AccumulateGrad w".replace("^", "`- ^")
    assert drawn[-3] == "   `- AddBackward0  b = w + ? = 2"
    assert all(line.isascii() for line in tree(named("π損"), RenderOptions(ascii=True)))
    assert "(!)" in tree(Graph((leaf("w", "w", 1.0, "nan"),), (), ("w",)), RenderOptions(ascii=True))[0]


@pytest.mark.parametrize("width", [20, 40, 80, 200])
@pytest.mark.parametrize("graph", [article(), every_kind(), chain(60), named("x" * 300, "損" * 100)])
def test_no_line_is_wider_than_the_terminal(graph: Graph, width: int) -> None:
    assert max(display_width(line) for line in tree(graph, RenderOptions(width=width))) <= width


def test_every_operation_of_a_deep_chain_is_there_once_and_the_margin_is_found_again() -> None:
    drawn = tree(chain(500), RenderOptions(width=60))
    assert sum("AddBackward0" in line for line in drawn) >= 500
    assert max(map(len, drawn)) <= 60
    put_off = re.findall(r"↓ \[(\d+)\]$", "\n".join(drawn), re.MULTILINE)
    taken_up = [match[1] for line in drawn if (match := re.match(r"\[(\d+)\] AddBackward0", line))]
    assert put_off == taken_up == [str(number) for number in range(1, len(put_off) + 1)]


def test_a_branch_that_was_put_off_is_put_off_once() -> None:
    drawn = "\n".join(tree(loop(60), RenderOptions(width=40)))
    assert drawn.count("w = 1") + drawn.count("leaf") + len(re.findall(r"↑ w", drawn)) >= 60
    numbers = re.findall(r"^\[(\d+)\]", drawn, re.MULTILINE)
    assert len(numbers) == len(set(numbers))


def test_both_slots_of_a_square_are_there() -> None:
    nodes = (Node("r", "output", name="y"), Node("n1", "operation", "MulBackward0"), leaf("x", "x", 3.0))
    graph = Graph(nodes, (Edge("n1", "r"), Edge("x", "n1", 0), Edge("x", "n1", 1)), ("r",))
    assert tree(graph) == ["y", "└─ MulBackward0", "   ├─ x = 3  grad = None", "   └─ ↑ x"]


def test_what_no_root_is_made_from_is_shown_as_well() -> None:
    graph = Graph((*article().nodes, node("n9", "frozen", name="c", value=1.0, shape=())), article().edges, ("n0",))
    assert tree(graph)[-2] == "c = 1"


def test_a_circle_comes_to_an_end() -> None:
    graph = Graph((Node("a", "operation", "A"), Node("b", "operation", "B")), (Edge("a", "b"), Edge("b", "a")), ("a",))
    assert tree(graph) == ["A", "└─ B", "   └─ ↑ A"]
    assert tree(Graph()) == []


def test_newlines_and_controls_in_names_keep_to_their_line() -> None:
    assert tree(named("two\nlines", "\x1b[31mred", "\ud800"))[1:] == [
        "├─ two\\nlines = 1  grad = None",
        "├─ \\x1b[31mred = 1  grad = None",
        "└─ \\ud800 = 1  grad = None",
    ]


def test_colours_are_those_of_the_picture_and_only_on_demand() -> None:
    assert "\x1b" not in "".join(tree(article()))
    coloured = tree(article(), RenderOptions(color=True))
    assert "\x1b[94mx = 2  grad = 2\x1b[0m" in coloured[4]
    assert [re.sub(r"\x1b\[\d*m", "", line) for line in coloured] == tree(article())
    wrong = tree(Graph((leaf("w", "w", "nan"),), (), ("w",)), RenderOptions(color=True))
    assert wrong == ["\x1b[91mw = nan  grad = None\x1b[0m"]


def test_a_long_tree_can_be_cut_and_says_by_how_much() -> None:
    drawn = tree(article(), RenderOptions(max_lines=4))
    assert drawn == [*tree(article())[:3], "… 7 more lines"]
    assert (
        tree(article(), RenderOptions(max_lines=10)) == tree(article()) == tree(article(), RenderOptions(max_lines=0))
    )
