"""make_dot is TorchViz's: the same boxes and arrows in the same order, on gviz's engine and on PyTorch's, without dot."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
import warnings
import xml.etree.ElementTree as ET
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import graphviz
import pytest
from program import ROOT
from torchviz_models import MODELS, OPTIONS
from torchviz_programs import GOLD, PROGRAMS, statements

import gviz.engine
from gviz import make_dot
from gviz.errors import RenderError
from gviz.layout import RenderWarning
from gviz.text import shorten

engine: Any = gviz.engine
DRAWN: dict[str, list[str]] = json.loads(GOLD.read_text(encoding="utf-8"))["drawn"]


@pytest.fixture
def picture() -> Any:
    x = engine.tensor(2.0, requires_grad=True)
    w = engine.tensor(1.0, requires_grad=True)
    return make_dot((x + w) * (w + 1), params={"x": x, "w": w})


@pytest.fixture
def no_dot_program(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("name", PROGRAMS)
def test_gviz_s_tensors_are_drawn_as_torchviz_draws_pytorch_s(name: str) -> None:
    assert statements(make_dot(**PROGRAMS[name](engine))) == DRAWN[name]


@pytest.mark.torch
@pytest.mark.skipif(not (find_spec("torch") and find_spec("torchviz")), reason="needs torch and torchviz")
@pytest.mark.parametrize("name", PROGRAMS)
def test_pytorch_s_tensors_are_drawn_as_torchviz_draws_them(name: str) -> None:
    import torch
    import torchviz

    program = PROGRAMS[name](torch)
    assert statements(make_dot(**program)) == statements(torchviz.make_dot(**program)) == DRAWN[name]


@pytest.mark.torch
@pytest.mark.skipif(not (find_spec("torch") and find_spec("torchviz")), reason="needs torch and torchviz")
@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("name", MODELS)
def test_a_model_s_graph_is_torchviz_s_box_by_box_and_arrow_by_arrow(name: str, options: str) -> None:
    """Boxes are paired in the order of the statements: equal statements are an isomorphism with its labels and looks."""
    import torch
    import torchviz

    call = {**MODELS[name](torch), **OPTIONS[options]}
    ours, theirs = make_dot(**call), torchviz.make_dot(**call)
    assert statements(ours) == statements(theirs)
    assert (ours.node_attr, ours.edge_attr) == (theirs.node_attr, theirs.edge_attr)


def test_the_look_is_torchviz_s(picture: Any) -> None:
    look = {"style": "filled", "shape": "box", "align": "left", "fontsize": "10"}
    assert picture.node_attr == {**look, "ranksep": "0.1", "height": "0.2", "fontname": "monospace"}
    assert picture.graph_attr == {"size": "12,12"}
    assert make_dot(**PROGRAMS["chain"](engine)).graph_attr == {"size": "23.25,23.25"}


def test_it_is_a_digraph_that_can_still_be_changed(picture: Any) -> None:
    assert isinstance(picture, graphviz.Digraph)
    picture.attr(rankdir="LR")
    picture.node("note", "a note")
    assert "a note" in picture.pipe(format="svg", encoding="utf-8")
    assert picture.copy().source == picture.source


@pytest.mark.parametrize(
    "text", ['say "hi"', "<b>bold</b>", "a&lt;b", "C:\\new", "\\N", "two\nlines", "nul\x00", "\ud800", "k" * 20_000]
)
def test_a_name_shows_as_it_is_but_a_very_long_one_is_cut(text: str) -> None:
    w = engine.tensor([1.0, 2.0], requires_grad=True)
    drawn = make_dot(w, params={text: w}).pipe(format="svg")
    elements = ET.fromstring(drawn).iter()  # noqa: S314 gviz's own picture
    texts = [element.text for element in elements if element.tag.endswith("}text")]
    label = shorten(text.replace("\x00", "\\x00").replace("\ud800", "\\ud800"), 200, middle=True)
    assert [(line or "").strip() for line in texts] == [*label.split("\n"), "(2)"]


def test_a_chain_is_deeper_than_python_s_stack() -> None:
    y = x = engine.tensor(1.0, requires_grad=True)
    for _ in range(sys.getrecursionlimit() * 2):
        y = y + x
    assert len(make_dot(y).body) > sys.getrecursionlimit() * 4


def test_what_backward_has_freed_is_drawn_as_freed() -> None:
    x = engine.tensor(2.0, requires_grad=True)
    y = x * x
    y.backward()
    assert "[freed]" in make_dot(y, show_attrs=True, show_saved=True).source


def test_a_long_attribute_is_cut() -> None:
    x = engine.tensor([[1.0, 2.0, 3.0]], requires_grad=True)
    y = x.sum(dim=(0, 1))
    short, long = (make_dot(y, show_attrs=True, max_attr_chars=most).source for most in (5, 50))
    assert "(0, 1)" in long
    assert "(0, 1)" not in short
    assert "..." in short


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"var": 3}, "make_dot draws tensors; var is of type int"),
        ({"var": [engine.ones(1), "x"]}, "make_dot draws tensors; var is of type str"),
        ({"params": {"w": 1.0}}, "make_dot draws tensors; w is of type float"),
        ({"params": 3}, "parameters are a dictionary"),
        ({"max_attr_chars": None}, "max_attr_chars is a whole number"),
    ],
)
def test_arguments_of_a_wrong_type_are_refused(given: dict[str, Any], said: str) -> None:
    with pytest.raises(TypeError, match=said):
        make_dot(**{"var": engine.ones(1), **given})


# Files, as the graphviz package makes them


def files(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


@pytest.mark.parametrize(
    ("how", "returned", "made"),
    [
        ({}, "Digraph.gv.pdf", ["Digraph.gv", "Digraph.gv.pdf"]),
        ({"filename": "h", "format": "pdf", "view": False}, "h.pdf", ["h", "h.pdf"]),
        ({"filename": "tmp/new/h", "format": "svg"}, "tmp/new/h.svg", ["tmp/new/h", "tmp/new/h.svg"]),
        ({"filename": "h.gv", "directory": "out", "cleanup": True}, "out/h.gv.pdf", ["out/h.gv.pdf"]),
        ({"outfile": "h.png"}, "h.png", ["h.gv", "h.png"]),
        ({"filename": "h", "format": "svg", "renderer": "cairo"}, "h.cairo.svg", ["h", "h.cairo.svg"]),
        ({"filename": "h", "engine": "neato", "format": "plain"}, "h.plain", ["h", "h.plain"]),
    ],
)
def test_render_makes_the_package_s_files_without_dot(
    picture: Any, no_dot_program: Path, how: dict[str, Any], returned: str, made: list[str]
) -> None:
    assert picture.render(**how) == returned
    assert files(no_dot_program) == made


@pytest.mark.skipif(os.sep != "/", reason="where backslashes are no separators")
def test_a_path_of_windows_makes_one_file_and_a_remark(picture: Any, no_dot_program: Path) -> None:
    with pytest.warns(RenderWarning, match="write D:/tmp/h"):
        assert picture.render(filename="D:\\tmp\\h", format="pdf") == "D:\\tmp\\h.pdf"
    assert files(no_dot_program) == ["D:\\tmp\\h", "D:\\tmp\\h.pdf"]


def test_pipe_and_notebooks_need_no_dot(picture: Any, no_dot_program: Path) -> None:
    assert picture.pipe()[:5] == b"%PDF-"
    assert b"20000101000000" in picture.pipe()
    assert "<svg" in picture.pipe(format="svg", encoding="utf-8")
    bundle = picture._repr_mimebundle_()
    assert "MulBackward0" in bundle["image/svg+xml"]


def test_an_existing_result_can_be_kept(picture: Any, no_dot_program: Path) -> None:
    picture.render(outfile="h.png")
    with pytest.raises(graphviz.FileExistsError):
        picture.render(outfile="h.png", raise_if_result_exists=True)


def test_making_a_dot_needs_neither_torch_nor_a_drawing_library_until_it_is_drawn() -> None:
    code = (
        "import sys; from gviz import engine, make_dot; make_dot(engine.ones(1)); "
        "assert not {'torch', 'pygraphviz', 'pygraphviz._graphviz'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True, env={**os.environ, "PYTHONPATH": str(ROOT)})


def test_quiet_keeps_graphviz_s_remarks_away(picture: Any) -> None:
    picture.edge("n0:nowhere", "n1")
    with pytest.warns(RenderWarning, match="port nowhere unrecognized"):
        picture.pipe(format="svg")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        picture.pipe(format="svg", quiet=True)


def test_a_format_that_litters_the_current_folder_is_refused(picture: Any, no_dot_program: Path) -> None:
    with pytest.raises(RenderError, match="vrml is not drawn here"):
        picture.pipe(format="vrml")
    assert files(no_dot_program) == []


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="other systems bring a viewer")
def test_a_picture_that_cannot_be_viewed_is_written_all_the_same(picture: Any, no_dot_program: Path) -> None:
    with pytest.warns(RenderWarning, match="h.pdf is written, but there is no program to view it"):
        assert picture.view("h") == "h.pdf"
    assert files(no_dot_program) == ["h", "h.pdf"]


# Large graphs


def shared(steps: int) -> Any:
    """A loop whose every step uses the same leaf: arrows across the whole picture."""
    y = w = engine.tensor(1.0, requires_grad=True)
    for _ in range(steps):
        y = y + w
    return make_dot(y, params={"w": w})


def test_a_long_loop_has_every_box_and_arrow_soon_and_its_source_as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gviz.layout.plan._SLOW", 500)
    monkeypatch.setattr("gviz.layout.plan._MOST_PLACES", 500)
    long = shared(300)
    before = long.source
    start = time.monotonic()
    with pytest.warns(RenderWarning, match="its arrows are so long that they are drawn straight"):
        drawn = long.pipe(format="svg", encoding="utf-8")
    assert time.monotonic() - start < 60  # by itself Graphviz takes many minutes
    assert (drawn.count('class="node"'), drawn.count('class="edge"')) == (303, 602)
    assert long.source == before


def test_what_the_user_adds_to_a_large_graph_is_drawn_too_and_a_saved_file_the_same(
    no_dot_program: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gviz.layout.plan._MOST_PLACES", 100)
    long = shared(40)
    long.edge("only here", "n0", color="red")
    long.node("note", 'a -> b "quoted" [x]')
    long.attr(nslimit="1")
    drawn = long.pipe(format="svg", encoding="utf-8")
    assert (drawn.count('class="node"'), drawn.count('class="edge"')) == (45, 83)
    assert "only here" in drawn
    assert long.render("h", format="svg") == "h.svg"
    assert (no_dot_program / "h.svg").read_text(encoding="utf-8") == drawn
