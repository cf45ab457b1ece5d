"""Mermaid's flowchart. That its own parser reads all of this was tried with mermaid 11."""

from __future__ import annotations

import re

import pytest

import gviz
from gviz import RenderOptions
from gviz.graphs import Edge, Graph, Node
from gviz.render import RenderWarning, mermaid

HOSTILE = (
    "</script>",
    "%%{init}%%",
    "end",
    "click A href",
    'a"b`c',
    "\u2028",
    "\ud800",
    "--> x",
    "|x|",
    "損失",
    "#35;",
    "(\n)",
    "[]{}",
)


def test_boxes_and_arrows_are_those_of_the_graph() -> None:
    lines = mermaid.render(gviz.read("y=x*w", x=2, w=3).graph, RenderOptions()).splitlines()
    assert lines[0] == "flowchart TB"
    assert '  g3(["<b>x</b> = 2<br>grad = 3"]):::is_leaf' in lines
    assert "  g3 --> g2" in lines
    assert '  g0[["<b>y</b> = 6"]]:::is_output' in lines


@pytest.mark.parametrize("name", HOSTILE, ids=range(len(HOSTILE)))
def test_no_name_is_taken_for_a_word_of_the_language(name: str) -> None:
    nodes = Node(name, "operation", name, expression=name), Node("b", "leaf", name=name)
    text = mermaid.render(Graph(nodes, (Edge("b", name, label=name),), (name,)), RenderOptions())
    boxes = text.splitlines()[1:3]
    box = re.compile(r"""  g\d(\[\[?|\(\[)"([\w ().,:=+\-/'<>]|#\d+;)+"(\]\]?|\]\)):::is_\w+""")
    assert all(map(box.fullmatch, boxes))
    assert all(tag in ("<b>", "</b>", "<br>") for tag in re.findall(r"<[^>]*>", text))


def test_more_than_github_draws_is_warned_of() -> None:
    nodes = tuple(Node(f"n{i}", "operation", "TanhBackward0") for i in range(502))
    edges = tuple(Edge(f"n{i + 1}", f"n{i}") for i in range(501))
    with pytest.warns(RenderWarning, match="501 arrows"):
        mermaid.render(Graph(nodes, edges, ("n0",)), RenderOptions())
