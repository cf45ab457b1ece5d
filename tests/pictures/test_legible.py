"""Pictures can be read, whatever draws them: no text stands on a text or on an outline, no line goes through one."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import inked
import pytest
from fuzzing import relaxed
from hypothesis import given, strategies as st
from program import Program
from test_drawn_equations import EXPRESSIONS, VALUES

import gviz
from gviz.graphs import Graph
from gviz.render import RenderOptions, render, series

SOURCES = EXPRESSIONS.filter(lambda text: text not in VALUES)

WAYS: dict[str, dict[str, Any]] = {
    "circuit, two arrows": {"view": "circuit", "arrows": "both"},
    "circuit, two arrows, slide": {"view": "circuit", "arrows": "both", "fit": "slide"},
    "circuit, a4": {"view": "circuit", "fit": "a4"},
    "path": {"path": ("",)},
    "path, slide": {"path": ("",), "fit": "slide"},
    "dataflow": {"view": "dataflow"},
    "dataflow, top down": {"view": "dataflow", "rankdir": "TB"},
    "dataflow, slide": {"view": "dataflow", "fit": "slide"},
    "teaching": {"view": "teaching"},
    "teaching, slide": {"view": "teaching", "fit": "slide"},
    "autograd, slide": {"view": "autograd", "fit": "slide"},
    "micrograd": {"view": "micrograd"},
    "boxes, slide": {"fit": "slide"},
}


def graph_of(text: str, seed: int) -> Graph:
    """Return the graph of an expression, of which one input may be frozen."""
    used = {name: value for name, value in VALUES.items() if re.search(rf"\b{name}\b", text)}
    frozen = [*used][seed % 7 : seed % 7 + 1] if len(used) > 1 else ()
    options = gviz.SourceOptions(values=used, flow=True, frozen=tuple(frozen))
    return gviz.read(f"y={text}", options, say=lambda _: None).graph


def faults_of(graph: Graph, seed: int, **options: Any) -> list[str]:
    """Return what is hard to read in a picture of a graph; a path is that to one of the leaves."""
    if "path" in options:
        leaves = sorted(node.name or "" for node in graph.nodes if node.kind == "leaf")
        options["path"] = (leaves[seed % len(leaves)],)
    return list(inked.faults(inked.read(str(render(graph, "svg", RenderOptions(**options))))))


@pytest.mark.fuzz
@pytest.mark.filterwarnings("ignore::gviz.GvizWarning")
@pytest.mark.parametrize("way", WAYS)
@relaxed(4)
@given(SOURCES, st.integers(0, 10**6))
def test_pictures_of_random_expressions_can_be_read(way: str, text: str, seed: int) -> None:
    assert not faults_of(graph_of(text, seed), seed, **WAYS[way])


def pages_of(graph: Graph) -> Iterator[str]:
    """Yield some pages of the steps."""
    options = RenderOptions(format="svg")
    slides = series._slides(graph, "svg", options, ())
    for slide in (slides[len(slides) // 2], slides[-2], slides[-1]):
        yield series.drawing(slide, "svg", options).decode()


@pytest.mark.fuzz
@pytest.mark.filterwarnings("ignore::gviz.GvizWarning")
@relaxed(4)
@given(SOURCES, st.integers(0, 10**6))
def test_steps_of_random_expressions_can_be_read(text: str, seed: int) -> None:
    for svg in pages_of(graph_of(text, seed)):
        assert not list(inked.faults(inked.read(svg)))


@pytest.mark.filterwarnings("ignore::gviz.GvizWarning")
@pytest.mark.parametrize(
    ("text", "values", "options"),
    [
        ("y=sum(x*w+b)", {"x": [[1, 2], [3, 4]], "w": [1, -1], "b": 0.5}, {"view": "dataflow"}),
        ("y=(A*B).sum()+trace(A@B)", {"A": [[1, 2], [3, 4]], "B": [[0, 1], [1, 0]]}, {"view": "teaching"}),
        ("y=sin(x)*exp(x)", {"x": 0}, {"view": "dataflow", "order": 2}),
        ("y=sum(W*x+W.T-W*x)", {"x": 1.5, "W": [[0.3, -0.6], [1.1, 0.9]]}, {"view": "dataflow"}),
    ],
)
def test_a_line_bends_where_it_would_go_through_a_text(
    text: str, values: dict[str, Any], options: dict[str, Any]
) -> None:
    order = options.pop("order", 0)
    source = gviz.SourceOptions(values=values, flow=True, order=order)
    assert not faults_of(gviz.read(text, source, say=lambda _: None).graph, 0, **options)


@pytest.mark.filterwarnings("ignore::gviz.GvizWarning")
@pytest.mark.parametrize("where", ["below", "beside"])
@pytest.mark.parametrize("text", ["e=a*b+log(d)*c", "y=exp(x*w)", "y=(x*w+b)**2"])
def test_slides_of_static_graphs_with_frames_can_be_read(text: str, where: str, gviz: Program) -> None:
    values = {name: "[[1,2],[3,4]]" if name.isupper() else "2" for name in re.findall(r"\b[a-zA-Z]\b", text)}
    inputs = [f"{name}={value}" for name, value in values.items() if f"{name}=" not in text]
    done = gviz("static", text, *inputs, "--gradients", where, "--fit", "slide", "-o", "y.svg")
    svg = (gviz.folder / "y.svg").read_text(encoding="utf-8")
    assert done.status == 0, done.err
    assert not list(inked.faults(inked.read(svg)))
