"""The default view: TorchViz's boxes and arrows, whatever stands in them; and, without anything in them, its very picture."""

from __future__ import annotations

import re
from typing import Any

import pytest
from gold import assert_gold
from program import Program

import gviz
from gviz import engine as torch
from gviz.graphs import Graph
from gviz.pictures import LARGE, Arrow, RenderOptions, Shape, picture_of
from gviz.pictures.repeat import with_repeats
from gviz.render import render
from gviz.sources import SourceOptions
from gviz.walk import walk

EXPRESSIONS: dict[str, dict[str, str]] = {
    "y=(x+w)*(w+1)": {"x": "2", "w": "1"},
    "e=a*b+log(d)*c": {"a": "2", "b": "3", "c": "5", "d": "10"},
    "a=x*w; b=a+x; y=a*b": {"x": "2", "w": "3"},
    "y=x*x": {"x": "3"},
    "y=relu(x@W+b).sum()": {"x": "[[1,2]]", "W": "[[1,2],[3,4]]", "b": "0.5"},
    "y=x.unbind()[0]*2": {"x": "[1,2]"},
    "y=x[0]*x[1]": {"x": "[1,2]"},
    "y=softmax(x,0).sum()": {"x": "[1,2,3]"},
    "y=log(x)": {"x": "-1"},
    "y=x.view(4)": {"x": "[[1,2],[3,4]]"},
    "y=x**3-2**x": {"x": "2"},
    "x": {"x": "2"},
    "y=stack([x,w]).mean()": {"x": "2", "w": "1"},
}

SHOWN: list[tuple[str, ...]] = [
    (),
    ("value", "grad"),
    ("shape",),
    ("value", "grad", "shape", "dtype", "local", "state", "saved", "attrs"),
]


def read(text: str, **options: Any) -> Graph:
    return gviz.read(text, SourceOptions(values=EXPRESSIONS[text], **options)).graph


def counts(graph: Graph, options: RenderOptions) -> tuple[int, int]:
    statements = picture_of(graph, options).statements
    return tuple(sum(isinstance(one, kind) for one in statements) for kind in (Shape, Arrow))  # type: ignore[return-value]


@pytest.mark.filterwarnings("ignore::gviz.GvizWarning")
@pytest.mark.parametrize("text", EXPRESSIONS)
def test_boxes_and_arrows_are_as_many_as_torchviz_s_whatever_is_shown(text: str) -> None:
    name, dot, program = text.rpartition("=")[0].rpartition(" ")[2] or text, "", text
    space: dict[str, Any] = {
        key: torch.tensor(eval(value), dtype=torch.float32, requires_grad=True)  # noqa: S307 - numbers
        for key, value in EXPRESSIONS[text].items()
    }
    functions = {key: getattr(torch, key) for key in ("log", "relu", "softmax", "stack")}
    exec(program, functions, space)  # noqa: S102 - the test's own
    dot = gviz.make_dot(space[name], params={key: space[key] for key in EXPRESSIONS[text]}).source
    boxes = len(set(re.findall(r"^\t(\w+) \[", dot, re.MULTILINE)) - {"node", "graph", "edge"})
    expected = (boxes, dot.count(" -> "))
    graph = read(text, flow=True)
    assert (len(graph.nodes), len(graph.edges)) == expected
    for show in SHOWN:
        assert counts(graph, RenderOptions(show=show)) == expected
    drawn = str(render(graph, "svg"))
    assert (drawn.count('class="node"'), drawn.count('class="edge"')) == expected


@pytest.mark.filterwarnings("ignore::gviz.GvizWarning")
def test_none_is_torchviz_s_picture_to_the_byte() -> None:
    texts = [
        str(render(read(text), "dot", RenderOptions(show=(), rankdir=way)))
        for text in EXPRESSIONS
        for way in ("TB", "LR")
    ]
    assert_gold("none.dot", "\n".join(texts))


def test_saved_tensors_do_not_turn_the_picture_upside_down() -> None:
    graph = read("e=a*b+log(d)*c", saved=True)
    leaves = {node.id for node in graph.nodes if node.kind == "leaf"}
    arrows = [one for one in picture_of(graph, RenderOptions(show=("saved",))).statements if isinstance(one, Arrow)]
    kept = [arrow for arrow in arrows if arrow.look.get("dir") == "none"]
    assert {arrow.look.get("constraint") for arrow in kept if arrow.end in leaves} == {"false"}
    assert {arrow.look.get("constraint") for arrow in kept if arrow.end not in leaves} == {None}
    places = dict(
        re.findall(
            r"^node (\w+) [\d.]+ ([\d.]+)", str(render(graph, "plain", RenderOptions(show=("saved",)))), re.MULTILINE
        )
    )
    for edge in graph.edges:
        if edge.kind == "data":
            assert float(places[edge.source]) > float(places[edge.target])


def repeated_weights(steps: int) -> Graph:
    w, h = torch.tensor(0.5, requires_grad=True), torch.tensor(1.0, requires_grad=True)
    names = {"w": w, "h": h}
    for _ in range(steps):
        h = torch.tanh(h * w)
    return walk({"y": h}, names)


def test_a_weight_of_every_step_is_drawn_beside_its_later_uses_and_says_how_often() -> None:
    graph = repeated_weights(6)
    shapes, arrows = counts(graph, RenderOptions())
    assert shapes > len(graph.nodes)
    assert arrows == len(graph.edges)
    assert "used 6×" in str(render(graph, "dot"))
    assert counts(graph, RenderOptions(repeat_leaves="never")) == (len(graph.nodes), len(graph.edges))
    assert counts(graph, RenderOptions(show=())) == (len(graph.nodes), len(graph.edges))
    always, _ = counts(graph, RenderOptions(repeat_leaves="always"))
    assert always >= shapes


@pytest.mark.parametrize("how", ["auto", "always"])
def test_a_weight_of_two_uses_is_drawn_once_beside_one_of_many(how: str) -> None:
    b = torch.tensor(2.0, requires_grad=True)
    w, h = torch.tensor(0.5, requires_grad=True), torch.tensor(1.0, requires_grad=True)
    names, h = {"w": w, "b": b, "h": h}, h * b
    for _ in range(6):
        h = torch.tanh(h * w)
    graph = walk({"y": h * b}, names)
    repeated = with_repeats(graph, RenderOptions(repeat_leaves=how))
    assert {node.name for node in repeated.nodes[len(graph.nodes) :]} == {"w"}


def test_no_root_says_that_it_keeps_no_gradient() -> None:
    def states(retain: tuple[str, ...]) -> str:
        graph = gviz.read("a=x*w; y=a*x", SourceOptions(values={"x": "2"}, retain=retain)).graph
        return str(render(graph, "dot", RenderOptions(show=("value", "state"))))

    assert "retained" not in states(())
    assert states(("a",)).count("retained") == 1


def test_a_direction_for_graphviz_alone_is_that_of_the_legend_too() -> None:
    graph = gviz.read("y=x*w").graph
    assert "→ data; gradients flow back ←" in str(render(graph, "dot", RenderOptions(graph=(("rankdir", "LR"),))))
    with pytest.raises(gviz.GvizError, match="rankdir is one of TB, BT, LR, RL, not 'XY'"):
        RenderOptions(graph=(("rankdir", "xy"),))


def test_a_picture_of_more_boxes_than_anybody_reads_has_plain_labels() -> None:
    small, large = (
        str(render(repeated_weights(steps), "dot", RenderOptions(repeat_leaves="never"))) for steps in (3, LARGE)
    )
    assert "<TABLE" in small
    assert "<TABLE" not in large
    assert " size=" in large


@pytest.mark.parametrize("direction", ["TB", "BT", "LR", "RL"])
def test_the_legend_says_which_way_data_and_gradients_go(direction: str) -> None:
    forward, back = {"TB": ("↓", "↑"), "BT": ("↑", "↓"), "LR": ("→", "←"), "RL": ("←", "→")}[direction]
    text = str(render(read("y=x*x"), "dot", RenderOptions(rankdir=direction)))
    assert f"{forward} data; gradients flow back {back}" in text
    assert "leaf: made by you, keeps its grad" in text
    assert "saved for backward" not in text
    assert "data;" not in str(render(read("y=x*x"), "dot", RenderOptions(legend=False)))


def test_the_legend_of_a_root_that_nothing_has_made_explains_leaves() -> None:
    assert "leaf: made by you" in str(render(gviz.read("y=x", SourceOptions(values={"x": 2})).graph, "dot"))


@pytest.mark.parametrize("command", ["static", "compare"])
def test_the_gradients_of_a_static_graph_stand_below_its_root(gviz: Program, command: str) -> None:
    words = [command, "e=a*b+log(d)*c", "a=2", "b=3", "c=5", "d=10", "-o", "e.svg"]
    assert gviz(*words, *(["--gradients"] if command == "static" else [])).status == 0
    svg = (gviz.folder / "e.svg").read_text(encoding="utf-8")
    places = re.findall(r'<text[^>]* y="([-\d.]+)"[^>]*>([^<]+)</text>', svg)
    y = {text.strip(): float(place) for place, text in reversed(places)}
    assert y["AddV2"] < y["grad_ys_0"]


def test_a_local_derivative_has_the_sign_for_about_where_the_printed_numbers_do_not_come_to_it() -> None:
    for x, text in ((1.0, "2·b ≈ 0.6667"), (3.0, "2·b = 2")):
        graph = gviz.read("b=x/3;y=b**2", SourceOptions(values={"x": x}, flow=True)).graph
        statements = picture_of(graph, RenderOptions(show=("value", "grad", "local"))).statements
        assert any(text in str(one) for one in statements if isinstance(one, Arrow)), text
