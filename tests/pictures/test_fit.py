"""Pages whose type can be read: what is folded, grouped, said in short or left out for it, and what is said of that."""

from __future__ import annotations

import warnings
from pathlib import Path
from types import SimpleNamespace

import pytest

from gviz import RenderOptions, SourceOptions, read
from gviz.errors import GvizWarning
from gviz.graphs import Graph
from gviz.layout.ink import TextLine
from gviz.passes.dataflow import dataflow
from gviz.passes.groups import grouped
from gviz.passes.part import nearest_to_roots
from gviz.pictures import sheet_of
from gviz.pictures.look import PAGES
from gviz.pictures.parts import drawn_formula, drawn_parts, ways_to_fit
from gviz.render import render
from gviz.render._fit import fit_to_page, page_layout

MODELS = Path(__file__).parents[2] / "samples" / "models"
RNN = "; ".join(["h0=tanh(w*x0)", *[f"h{n}=tanh(w*x{n}+u*h{n - 1})" for n in range(1, 7)], "L=(h6-1)**2"])


def model(name: str) -> Graph:
    return read(str(MODELS / name), SourceOptions(functions=True, lines=True, kept=True)).graph


def said_of(graph: Graph, options: RenderOptions) -> list[str]:
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        render(graph, "svg", options)
    return [str(one.message) for one in said if issubclass(one.category, GvizWarning)]


@pytest.mark.parametrize("name", ["vae.py", "training_step.py", "adam.py"])
@pytest.mark.parametrize("fit", ["slide", "a4"])
def test_the_type_of_a_model_can_be_read_and_what_draws_all_of_it_is_named(name: str, fit: str) -> None:
    graph = model(name)
    said = said_of(graph, RenderOptions(fit=fit))
    assert not [text for text in said if text.startswith("the smallest type")]
    assert [text for text in said if text.endswith("; --fold off --by operation draws all")]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        options = fit_to_page(graph, RenderOptions(fit=fit, format="svg"), fit)
        assert page_layout(drawn_parts(graph, options), options).points >= PAGES[fit].readable


def test_parts_of_the_program_are_modules_and_lines_with_all_their_runs() -> None:
    graph = grouped(model("training_step.py"), "code", 2)
    names = {node.name: node for node in graph.nodes if node.kind == "group"}
    assert {"model.0", "model.5", "line 15", "line 16"} <= names.keys()
    assert names["line 16"].label.startswith("decay = sum(")
    inside = names["line 16"].card
    assert inside is not None
    assert inside.operations == 18  # six parameters: a square, its sum, and all of them added up
    assert not [node for node in graph.nodes if node.kind == "leaf"]  # each stays in its module


def test_runs_of_a_line_between_which_others_run_are_boxes_of_their_own() -> None:
    graph = grouped(model("unet.py"), "code", 2)
    assert not [node.name for node in graph.nodes if "part " in (node.name or "")]


def test_what_a_part_leaves_out_is_no_input_without_a_gradient() -> None:
    graph = read(RNN, SourceOptions(flow=True)).graph
    part = dataflow(nearest_to_roots(graph, 12))
    frozen = {node.name for node in part.nodes if node.kind == "frozen"}
    assert not frozen & {row.name for row in graph.tensors if row.requires_grad}


@pytest.mark.parametrize("view", ["circuit", "matrices"])
def test_no_sum_of_a_part_is_said_to_be_the_gradient(view: str) -> None:
    graph = read(RNN, SourceOptions(flow=True)).graph
    whole = next(row for row in graph.tensors if row.name == "w").grad
    assert whole is not None
    sheet = sheet_of(graph, RenderOptions(view=view, fit="slide", max_nodes=10))
    assert sheet is not None
    texts = ["".join(word.text for word in one.words) for one in sheet.items() if isinstance(one, TextLine)]
    assert not [text for text in texts if "sum below" in text or text.startswith("gradient of ")]


def test_operations_that_are_asked_for_are_all_drawn() -> None:
    graph = read(RNN, SourceOptions(flow=True)).graph
    assert fit_to_page(graph, RenderOptions(view="circuit", fit="slide", by="operation"), "slide").max_nodes == 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert fit_to_page(graph, RenderOptions(view="circuit", fit="slide"), "slide").max_nodes > 0


@pytest.mark.filterwarnings("ignore::gviz.GvizWarning")
def test_all_paths_of_a_slide_are_drawn_however_small_their_type_is(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = read(RNN, say=lambda _: None).graph
    monkeypatch.setattr(
        "gviz.render._fit.sheet_of",
        lambda shown, options: SimpleNamespace(least_type=99 / len(drawn_formula(shown, options).nodes)),
    )
    for path in (("w",), ()):
        options = fit_to_page(graph, RenderOptions(path=path, view="circuit", fit="slide"), "slide")
        assert bool(options.max_nodes) is not bool(path)


UNROLLED = """\
import torch

W = torch.tensor([[0.5, -0.3], [0.2, 0.8]], requires_grad=True)
U = torch.eye(2, requires_grad=True)
v = torch.tensor([1.0, -1.0], requires_grad=True)
xs = [torch.tensor([1.0, 0.0]), torch.tensor([0.0, 1.0]), torch.tensor([1.0, 1.0])]
h = torch.zeros(2)
for x in xs:
    h = torch.tanh(W @ h + U @ x)
loss = (v @ h - 1) ** 2
loss.backward()
"""


def test_long_products_of_paths_leave_room_for_the_circuit(tmp_path: Path) -> None:
    (tmp_path / "cell.py").write_text(UNROLLED)
    graph = read(str(tmp_path / "cell.py"), SourceOptions(flow=True)).graph
    options = RenderOptions(view="circuit", fit="slide", path=("W",))
    said = said_of(graph, options)
    points = float(said[0].split(" has ")[1].split()[0])
    assert points > 4
    assert said[0].endswith("larger: --by statement")
    words = str(render(graph, "svg", options))
    assert "the factors along each path are left out" in words.replace("\u00a0", " ").replace("&#160;", " ")


def test_a_page_tries_no_level_of_groups_that_there_is_not(tmp_path: Path) -> None:
    (tmp_path / "cell.py").write_text(UNROLLED)
    graph = read(str(tmp_path / "cell.py"), SourceOptions(functions=True, lines=True, kept=True)).graph
    ways = " ".join(text for _, text in ways_to_fit(graph, RenderOptions(fit="slide")))
    assert "--by code --depth 2" in ways
    assert "--depth 3" not in ways
