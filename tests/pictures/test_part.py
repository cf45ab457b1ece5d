"""Parts of a graph: what is left out is said, what stays is as it was, and nothing false is read off what is left."""

from __future__ import annotations

import random
import re
from pathlib import Path

import pytest
from graphs import node
from program import Program

import gviz
from gviz.errors import RenderError, SourceError
from gviz.graphs import Edge, Graph, Node
from gviz.passes.dataflow import dataflow
from gviz.passes.part import around, between, hidden, nearest_to_roots
from gviz.pictures.options import RenderOptions
from gviz.render import render

LINEAR = """
import torch
lin = torch.nn.Linear(2, 2)
y = lin(torch.ones(1, 2)).sum()
y.backward()
"""


def random_graph(seed: int, size: int = 40) -> Graph:
    chance = random.Random(seed)  # noqa: S311 - graphs, no secrets
    nodes = tuple(node(f"n{number}", "operation", "AddBackward0", f"t{number}") for number in range(size))
    pairs = [(at, chance.randrange(at)) for at in range(1, size) for _ in range(chance.randint(1, 2))]
    return Graph(nodes, tuple(Edge(f"n{a}", f"n{b}", slot) for slot, (a, b) in enumerate(pairs)), ("n0",))


@pytest.mark.parametrize("seed", range(20))
def test_what_lies_between_is_on_a_way_and_nothing_else(seed: int) -> None:
    graph = random_graph(seed)
    ways = {one: [edge.source for edge in graph.inputs[one]] for one in graph.by_id}

    def has_way(start: str, end: str) -> bool:
        todo, seen = [start], {start}
        for one in todo:
            new = [other for other in ways[one] if other not in seen]
            seen.update(new)
            todo += new
        return end in seen

    part = between(graph, "t39", "t0")
    assert {one.id for one in part.nodes} == {one for one in ways if has_way("n0", one) and has_way(one, "n39")}
    assert part.nodes == between(graph, "t0", "t39").nodes


@pytest.mark.parametrize("seed", range(10))
def test_a_part_has_the_edges_among_its_nodes_and_says_how_many_there_were(seed: int) -> None:
    graph = random_graph(seed)
    for part in (around(graph, ["t7"], 2), nearest_to_roots(graph, 11)):
        ids = {one.id for one in part.nodes}
        assert [edge for edge in graph.edges if {edge.source, edge.target} <= ids] == [*part.edges]
        assert part.remarks[-1].startswith(f"{len(ids)} of 40 boxes: ")
    assert len(nearest_to_roots(graph, 11).nodes) == 11
    assert nearest_to_roots(graph, 40) is graph


def test_a_hidden_transpose_is_said_where_it_was(tmp_path: Path) -> None:
    (tmp_path / "lin.py").write_text(LINEAR)
    graph = gviz.read(tmp_path / "lin.py").graph
    text = str(render(graph, "dot", RenderOptions(hide=("views", "accumulate"))))
    assert "TBackward0" not in text
    assert "AccumulateGrad" not in text
    assert "lin.weight.T" in text
    assert ", lin.weight)" not in text


def test_roots_stay_and_no_other_box_becomes_one() -> None:
    graph = gviz.read("y=(x.T @ w).T", x=[[1, 2]], w=[[3, 4]]).graph
    assert hidden(graph, ["views"]).roots == graph.roots
    assert around(graph, ["x"], 1).roots == ()


def test_unknown_names_and_words_are_refused_with_those_there_are(gviz: Program) -> None:
    for option in ("--around", "--between"):
        words = ("wz",) if option == "--around" else ("wz", "y")
        gviz("render", "yy=xx*ww", "xx=2", "ww=3", option, *words).assert_refused("there is no tensor wz", "yy, xx, ww")
    gviz("render", "y=x*w", "x=2", "w=3", "--hide", "vews").assert_refused("did you mean views?")
    assert gviz("render", "y=x*w", "x=2", "w=3", "--hops", "0", "--around", "x", "-o", "-").status == 0


def test_tensors_without_a_way_between_them_are_refused() -> None:
    with pytest.raises(SourceError, match="no way from x to w"):
        between(gviz.read("y=x*w", x=1, w=2).graph, "x", "w")
    with pytest.raises(RenderError, match="between takes two names, not 1"):
        RenderOptions(between=("x",))


def test_a_graph_of_more_roots_than_boxes_are_wanted_is_cut_too() -> None:
    nodes = [Node(f"n{at}", "operation", "MulBackward0", f"y{at}") for at in range(20)]
    graph = Graph(
        (*nodes, Node("w", "leaf", name="w")), tuple(Edge("w", one.id) for one in nodes), tuple(one.id for one in nodes)
    )
    less = nearest_to_roots(graph, 5)
    assert [node.name for node in less.nodes] == ["y0", "y1", "y2", "y3", "y4"]
    assert less.remarks == ("5 of 21 boxes: those nearest to the root",)
    assert nearest_to_roots(graph, 21) is graph


def test_a_result_that_is_left_out_is_no_input_that_needs_no_gradient(tmp_path: Path) -> None:
    file = tmp_path / "rnn.py"
    step = "w = torch.tensor(0.5, requires_grad=True)\nh = w\nfor _ in range(5):\n    h = torch.tanh(w * h + w)\n"
    file.write_text(f"import torch\n{step}h.backward()\n", encoding="utf-8")
    whole = gviz.read(str(file), gviz.SourceOptions(flow=True), say=lambda _: None).graph
    for most in (5, 8, 11):
        assert {one.kind for one in dataflow(nearest_to_roots(whole, most)).nodes} <= {"leaf", "operation"}


@pytest.mark.parametrize("view", ["circuit", "matrices", "dataflow"])
def test_a_tensor_alone_is_a_part(view: str) -> None:
    graph = gviz.read("y=W@x", gviz.SourceOptions(flow=True), W=[[1, 2], [3, 4]], x=[5, 6]).graph
    svg = str(render(graph, "svg", RenderOptions(view=view, around=("W",), hops=0, fit="slide")))
    assert "1 of 3 boxes: up to 0 lines from W" in svg


def test_what_comes_to_a_leaf_in_a_part_is_not_said_to_be_all() -> None:
    graph = gviz.read("y=(x+w)*(w+1)*x*w", gviz.SourceOptions(flow=True), x=2, w=3).graph
    svg = str(render(graph, "svg", RenderOptions(view="autograd", max_nodes=7)))
    assert "w.grad += 40 + …" in svg
    assert "w.grad += 94<" in str(render(graph, "svg", RenderOptions(view="autograd")))


def test_no_letter_of_a_part_stands_for_a_box_that_is_left_out(gviz: Program) -> None:
    lines = "import torch", "x = torch.tensor(2.0, requires_grad=True)", "y = (x * 3 + x**2).exp()", "y.backward()"
    (gviz.folder / "p.py").write_text("\n".join(lines), encoding="utf-8")
    gviz("render", "p.py", "--view", "circuit", "--max-nodes", 2, "-o", "y.svg")
    svg = (gviz.folder / "y.svg").read_text(encoding="utf-8")
    assert "2 of 5 boxes" in svg
    assert not re.findall(r">[abcfg]</text>", svg)


def test_a_part_without_a_path_says_that_it_is_a_part(gviz: Program) -> None:
    done = gviz("render", "y=tanh(w*x)*x*x*x", "--path", "w", "--max-nodes", "4", "-o", "y.svg")
    assert "error: no path from y to w in what is drawn: 4 of 7 boxes: those nearest to the root" in done.err


def test_the_sum_of_paths_in_a_part_is_not_said_to_be_the_derivative(gviz: Program) -> None:
    formula = "z=sigmoid(a*x+b*h); n=tanh(c*x+z*(d*h)); y=(1-z)*n+z*h"
    gviz("render", formula, "h=0.3", "--path", "h", "--max-nodes", "11", "-o", "y.svg")
    picture = (gviz.folder / "y.svg").read_text(encoding="utf-8")
    assert "in what is drawn, multiply along" in picture
    assert "along what is drawn = " in picture
    assert "not all is drawn, 11 of " in picture


def test_the_part_nearest_to_the_root_has_no_accumulate_grad_without_its_leaf() -> None:
    text = "o=sigmoid(w*x+u*h); c=f*k+i*q; y=o*tanh(c)"
    graph = gviz.read(text, say=lambda _: None).graph
    for most in range(4, 16):
        less = nearest_to_roots(graph, most)
        assert all(less.inputs[node.id] for node in less.nodes if node.kind == "accumulate")
