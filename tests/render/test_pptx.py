"""Slides of native shapes, read back by python-pptx and, where it is, opened by LibreOffice."""

from __future__ import annotations

import io
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from pptx import Presentation
from program import Program, clean_environment
from pypdf import PdfReader

import gviz
from gviz import RenderOptions, engine as torch
from gviz.engine import nn
from gviz.graphs import Edge, Graph, Node
from gviz.render import RenderWarning, find, pptx, series
from gviz.render.marks import has_mark

HOSTILE = "</a:t> <script> & \" ' ]]> \x00 \x0b \ud800 \u202e _x000D_ 損失"

PAGE = 12192000, 6858000
"""The size of a slide in the unit of the format."""


def slides(data: bytes) -> list[Any]:
    """The slides of a file."""
    return list(Presentation(io.BytesIO(data)).slides)


def drawn(graph: Graph, **look: Any) -> Any:
    """The slide of a graph."""
    return slides(pptx.render(graph, RenderOptions(format="pptx", **look)))[0]


def formula() -> Graph:
    return gviz.read("y=(x+w)*(w+1)", x=2, w=1).with_facts(flow=True)


def lines_of(slide: Any) -> dict[str, Any]:
    """The connectors of a slide, by what screen readers say of them."""
    lines = [shape for shape in slide.shapes if shape.element.tag.endswith("cxnSp")]
    return {line.element.xpath(".//p:cNvPr")[0].get("descr"): line for line in lines}


def test_boxes_hold_their_texts_and_straight_lines_hold_on_to_boxes() -> None:
    slide = drawn(formula(), title="y = (x + w)·(w + 1)")
    texts = {shape.text_frame.text: shape for shape in slide.shapes if shape.has_text_frame}
    assert {"x = 2\ngrad = 2", "w = 1\ngrad = 5", "AddBackward0\na = x + w = 3", "y = 6"} <= set(texts)
    assert slide.shapes.title.text_frame.text == "y = (x + w)·(w + 1)"
    box = texts["AddBackward0\na = x + w = 3"]
    assert (box.name, box.element.xpath(".//p:cNvPr")[0].get("descr")) == (
        "AddBackward0",
        "AddBackward0\na = x + w = 3",
    )
    line = lines_of(slide)["x = 2 to AccumulateGrad"]
    start, end = (line.element.xpath(f".//a:{tag}")[0] for tag in ("stCxn", "endCxn"))
    leaf = texts["x = 2\ngrad = 2"]
    assert (start.get("id"), start.get("idx"), end.get("idx")) == (str(leaf.shape_id), "2", "0")
    assert (line.begin_x, line.begin_y) == (leaf.left + leaf.width // 2, leaf.top + leaf.height)
    assert line.element.xpath(".//a:tailEnd")[0].get("type") == "triangle"
    others = [shape for shape in slide.shapes if shape != slide.shapes.title]
    assert all(0 <= one.left <= one.left + one.width <= PAGE[0] for one in others)
    assert all(0 <= one.top <= one.top + one.height <= PAGE[1] for one in others)


def test_a_network_is_folded_to_what_has_the_largest_type(tmp_path: Path) -> None:
    net = nn.Sequential(*(nn.Sequential(nn.Linear(2, 2), nn.Tanh()) for _ in range(12)))
    graph = gviz.graph(net(torch.ones(3, 2)).sum(), model=net)
    with pytest.warns(RenderWarning, match="all 86 boxes would have type of 2.2 points"):
        graph.save(tmp_path / "net.pptx")
    slide = slides((tmp_path / "net.pptx").read_bytes())[0]
    sizes = [
        run.font.size.pt
        for shape in slide.shapes
        if shape.has_text_frame and shape != slide.shapes.title
        for paragraph in shape.text_frame.paragraphs
        for run in paragraph.runs
    ]
    assert min(sizes) > 8


def test_a_line_that_would_go_through_a_box_keeps_its_bends() -> None:
    slide = drawn(gviz.read("y=x*x+x", x=2).graph)
    curves = [shape for shape in slide.shapes if shape.element.xpath(".//a:custGeom")]
    assert [curve.element.xpath(".//p:cNvPr")[0].get("descr") for curve in curves] == ["AccumulateGrad to AddBackward0"]
    assert len(curves[0].element.xpath(".//a:lnTo")) > 5
    pair = [shape for shape in slide.shapes if shape.element.tag.endswith("cxnSp")]
    held = [bool(line.element.xpath(".//a:stCxn")) for line in pair]
    assert held.count(False) == 1  # of two lines between the same boxes, one stays beside the other


@pytest.mark.parametrize("view", ["dataflow", "circuit", "matrices"])
def test_every_view_has_its_texts(view: str) -> None:
    texts = " ".join(shape.text_frame.text for shape in drawn(formula(), view=view).shapes if shape.has_text_frame)
    assert "+" in texts
    assert "x" in texts


def test_names_that_are_markup_are_shown_and_what_xml_cannot_hold_is_written_out() -> None:
    slide = drawn(
        Graph((Node("n0", "output", name=HOSTILE), Node("n1", "operation", HOSTILE)), (Edge("n1", "n0"),), ("n0",))
    )
    text = "".join(shape.text_frame.text for shape in slide.shapes if shape.has_text_frame)
    assert "</a:t> <script> & \" ' ]]> \\x00 \\x0b \\ud800" in text
    assert "損失" in text


def test_the_same_graph_gives_the_same_file_which_gviz_knows_again() -> None:
    graph, options = formula(), RenderOptions(format="pptx")
    data = pptx.render(graph, options)
    assert data == pptx.render(graph, options)
    assert has_mark(data)
    about = Presentation(io.BytesIO(data)).core_properties
    assert (about.title, about.author) == ("y", "gviz")


def test_small_type_is_told_and_has_small_arrowheads() -> None:
    graph = gviz.read("y=" + "+".join(f"sin(x*{number})" for number in range(1, 15)), x=1).graph
    with pytest.warns(match="the smallest type on this page has .* points, and a room needs 12; larger: --max-nodes N"):
        slide = drawn(graph)
    ends = [end.get("w") for shape in slide.shapes for end in shape.element.xpath(".//a:tailEnd")]
    assert set(ends) == {"sm"}


def test_steps_are_a_slide_each_with_a_title_for_screen_readers() -> None:
    deck = slides(series.render(formula(), "pptx", RenderOptions(view="dataflow", theme="light")))
    assert len(deck) == 9
    assert deck[1].shapes.title.text_frame.text == "forward  a = x + w = 2 + 1 = 3"
    assert all(slide.shapes.title.top + slide.shapes.title.height <= 0 for slide in deck)
    assert "a = x + w = 2 + 1 = 3" in " ".join(
        shape.text_frame.text for shape in deck[1].shapes if shape.has_text_frame
    )


def test_steps_that_graphviz_draws_are_images() -> None:
    graph = gviz.read("y=" + "+".join(f"sin(x*{number})" for number in range(1, 15)), x=1).with_facts(flow=True)
    with pytest.warns(match="each slide has an image"):
        deck = slides(series.render(graph, "pptx", RenderOptions(view="dataflow"), [1]))
    images = [[shape for shape in slide.shapes if shape.name == "steps"] for slide in deck]
    assert [len(own) for own in images] == [1]
    assert (images[0][0].width, images[0][0].height) == PAGE


def test_without_python_pptx_it_is_said_before_a_script_runs(tmp_path: Path) -> None:
    (tmp_path / "pptx.py").write_text("raise ImportError")
    (tmp_path / "net.py").write_text("print('ran')")
    code = (
        "import sys, importlib.util as util; find = util.find_spec; "
        "util.find_spec = lambda name, *more: None if name == 'pptx' else find(name, *more); "
        "from gviz.cli import run; sys.exit(run(sys.argv[1:]))"
    )
    for words in (["render", "net.py", "-o", "y.pptx"], ["steps", "y=x*w", "-o", "y.pptx"]):
        line = [sys.executable, "-c", code, *words]
        done = subprocess.run(
            line, cwd=tmp_path, env=clean_environment(tmp_path), capture_output=True, text=True, check=False
        )
        assert (done.returncode, done.stdout) == (1, "")
        assert "pptx needs python-pptx, which is not installed\npip install python-pptx" in done.stderr


def test_the_command_line_writes_a_slide_and_a_folder_that_is_read_only_is_told(gviz: Program) -> None:
    assert gviz("render", "y=x*w", "x=2", "w=3", "-o", "y.pptx").status == 0
    assert slides((gviz.folder / "y.pptx").read_bytes())[0].shapes.title.text_frame.text == "y = x·w"
    assert find("PPTX") is not None
    done = gviz("steps", "y=x*w", "-o", "/proc/y.pptx")
    assert done.status == 1
    assert "/proc/y.pptx" in done.err


@pytest.mark.skipif(shutil.which("soffice") is None, reason="needs LibreOffice")
def test_libreoffice_opens_it(tmp_path: Path) -> None:
    (tmp_path / "y.pptx").write_bytes(series.render(formula(), "pptx", RenderOptions(view="dataflow")))
    words = [
        "soffice",
        "--headless",
        f"-env:UserInstallation=file://{tmp_path}/profile",
        "--convert-to",
        "pdf",
        "y.pptx",
    ]
    subprocess.run(words, cwd=tmp_path, capture_output=True, timeout=120, check=True)
    pages = PdfReader(tmp_path / "y.pdf").pages
    assert len(pages) == 9
    assert "part 1 of 2" in pages[6].extract_text() or "part 2 of 2" in pages[6].extract_text()
