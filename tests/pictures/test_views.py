"""The other views: the formula with its local derivatives, AccumulateGrad within its leaf, micrograd's records."""

from __future__ import annotations

import io
import re
import xml.etree.ElementTree as ET
from dataclasses import replace
from typing import Any

import pytest
from pypdf import PdfReader

import gviz
from gviz.graphs import Graph
from gviz.passes.dataflow import dataflow
from gviz.pictures.options import SHEETS, VIEWS, RenderOptions
from gviz.pictures.theme import THEMES
from gviz.render import render
from gviz.sources import SourceOptions

ARTICLE = ("y=(x+w)*(w+1)", {"x": "2", "w": "1"})
FIVE = ("a=x+w; b=w+1; y=a*b", {"x": "2", "w": "1"})
E = ("e=a*b+log(d)*c", {"a": "2", "b": "3", "c": "5", "d": "10"})
MATRICES = ("y=tanh(x@w).sum()", {"x": "[[1,2]]", "w": "[[0.1,0.2,0.3],[0.4,0.5,0.6]]"})

SVG = "{http://www.w3.org/2000/svg}"


def read(source: tuple[str, dict[str, str]], **options: Any) -> Graph:
    text, values = source
    return gviz.read(text, SourceOptions(values=values, flow=True, **options)).graph


def lines(graph: Graph, view: str, **options: Any) -> list[str]:
    """Return the lines of each box, of each plate on an arrow and of the legend, as one reads them."""
    drawn = str(render(graph, "svg", RenderOptions(view=view, **options)))
    found = []
    for group in ET.fromstring(drawn).iter(f"{SVG}g"):  # noqa: S314 gviz's own picture
        rows: dict[str, str] = {}
        for text in group.findall(f"{SVG}text"):
            rows[text.get("y", "")] = rows.get(text.get("y", ""), "") + (text.text or "").replace("\xa0", " ")
        found += [row.strip() for row in rows.values() if row.strip()]
    return found


@pytest.mark.parametrize("view", ["dataflow", "micrograd", "autograd"])
def test_what_is_computed_of_frozen_inputs_alone_hangs_together(view: str) -> None:
    graph = read(("y=(10-t**2)*w", {"w": "2", "t": "3"}), frozen=("t",))
    shapes = {node.id for node in dataflow(graph).nodes if node.kind == "frozen"}
    drawn = str(render(graph, "dot", RenderOptions(view=view)))
    ends = [line.split("[")[0].split(" -> ") for line in drawn.splitlines() if " -> " in line]
    joined = {end.strip().partition(":")[0] for pair in ends for end in pair}
    assert len(shapes) == 3
    assert shapes <= joined


# dataflow


def test_dataflow_has_the_local_derivative_on_each_line_as_symbol_and_number() -> None:
    drawn = lines(read(ARTICLE), "dataflow")
    for text in ("∂y/∂a = b = 2", "∂y/∂b = a = 3", "∂a/∂x = 1", "∂a/∂w = 1", "∂b/∂w = 1"):
        assert drawn.count(text) == 1, text


def test_dataflow_has_the_values_below_the_circles_and_the_gradient_below_each() -> None:
    drawn = lines(read(ARTICLE), "dataflow")
    for text in (
        "a = 3",
        "∂y/∂a = 2",
        "b = 2",
        "∂y/∂b = 3",
        "y = 6",
        "∂y/∂y = 1",
        "x = 2",
        "grad = 2",
        "w = 1",
        "grad = 5",
    ):
        assert text in drawn
    assert "= 2 + 3" in drawn  # where two ways meet
    assert drawn.count("+") == 2
    assert drawn.count("×") == 1
    assert "AccumulateGrad" not in "".join(drawn)


def test_a_negative_summand_has_brackets() -> None:
    drawn = lines(read(("y=x*w-x", {"x": "2", "w": "3"})), "dataflow")
    assert {"= 3 + (-1)", "= (-1) + 3"} & set(drawn)


def test_constants_and_frozen_inputs_are_dashed() -> None:
    drawn = str(render(read(("h=w*x+3", {"x": "2", "w": "4"}), frozen=("x",)), "dot", RenderOptions(view="dataflow")))
    constant, frozen = (re.search(rf"^ +\w+ \[.*{name}</.*$", drawn, re.MULTILINE) for name in ("<TD>3", "<B>x"))
    assert constant is not None
    assert frozen is not None
    assert "dashed" in constant[0]
    assert "dashed" in frozen[0]
    for kind in ("leaf", "constant", "needs no gradient"):
        assert f">{kind}  </TD>" in drawn


def test_a_tensor_has_its_factors_if_they_are_few_and_else_what_is_done_to_the_gradient() -> None:
    drawn = lines(read(MATRICES), "dataflow")
    assert {"∂b/∂a", "1 - b²", "= [[0.4869, 0.305, 0.1807]]", "x.T @ grad"} < set(drawn)
    assert "‖grad‖ = 1.3468" in drawn


def test_without_backward_there_are_symbols_and_no_gradients() -> None:
    drawn = lines(read(ARTICLE, backward=False), "dataflow")
    assert "∂y/∂a = b = 2" in drawn
    assert "∂y/∂a = 2" not in drawn
    assert "grad = None" in drawn


def test_a_saved_graph_without_gradients_on_their_way_is_drawn_with_symbols_and_says_why() -> None:
    text, values = ARTICLE
    graph = Graph.from_json(gviz.read(text, SourceOptions(values=values)).graph.to_json())
    with pytest.warns(gviz.GvizWarning, match="no numbers of gradients"):
        drawn = lines(graph, "dataflow")
    assert "∂y/∂a = b" in drawn


def test_a_saved_graph_with_them_is_drawn_the_same() -> None:
    graph = read(E)
    for view in VIEWS:
        options = RenderOptions(view=view)
        assert render(Graph.from_json(graph.to_json()), "dot", options) == render(graph, "dot", options)


# teaching


def test_teaching_has_accumulategrad_in_its_leaf_with_the_sum_that_arrives() -> None:
    drawn = lines(read(ARTICLE), "teaching")
    assert drawn.count("AccumulateGrad") == 2
    assert "w.grad = 2 + 3 = 5" in drawn
    assert "x.grad = 2" in drawn


def test_teaching_has_what_is_saved_in_the_operation_and_the_product_on_each_line() -> None:
    drawn = lines(read(ARTICLE), "teaching")
    assert "saved: self = a, other = b" in drawn
    assert {"↑ 1 · 2 = 2", "↑ 1 · 3 = 3", "↑ 3 · 1 = 3"} <= set(drawn)
    assert drawn.count("↑ 2 · 1 = 2") == 2
    assert "↑ ∂y/∂y = 1" in drawn
    assert "backward() starts here" in drawn


def test_teaching_names_what_is_saved_of_an_input_without_gradient() -> None:
    graph = read(("h=w*x+b", {"w": "4", "x": "1", "b": "0.5"}), frozen=("x",))
    assert "saved: other = x = 1" in lines(graph, "teaching")
    assert "data 1" in lines(graph, "micrograd")


def test_teaching_keeps_pytorch_s_names() -> None:
    drawn = lines(read(E), "teaching")
    assert {"AddBackward0", "MulBackward0", "LogBackward0"} <= set(drawn)


def test_teaching_breaks_what_is_saved_and_names_it_in_the_legend_if_there_is_any() -> None:
    drawn = lines(read(("y=max_pool2d(x, 2).sum()", {"x": str([[[[1, 2], [3, 4]]]])})), "teaching")
    assert "saved: self = x, ceil_mode = False," in drawn
    assert "kept for backward" in " ".join(drawn)
    assert "kept for backward" not in " ".join(lines(read(("y=x+w", {})), "teaching"))


# without gradients


@pytest.mark.parametrize("view", ["dataflow", "teaching"])
@pytest.mark.parametrize("show", [("value",), ()])
def test_a_view_without_grad_shows_no_gradient(view: str, show: tuple[str, ...]) -> None:
    assert "grad" in " ".join(lines(read(ARTICLE), view)).replace("grad_fn", "")
    drawn = " ".join(lines(read(ARTICLE), view, show=show)).replace("grad_fn", "")
    assert "∂y/∂y" not in drawn
    assert "grad" not in drawn
    assert ("= 3" in drawn) is (bool(show) or view == "dataflow")


# legends


def test_the_legend_tells_of_what_stands_on_the_lines_and_of_nothing_else() -> None:
    assert "on a line: local derivative" in " ".join(lines(read(ARTICLE), "dataflow"))
    assert "on a line" not in " ".join(lines(read(ARTICLE), "dataflow", symbols="off"))


# micrograd


def test_micrograd_has_a_record_of_label_data_and_grad_for_each_value() -> None:
    drawn = str(render(read(ARTICLE), "dot", RenderOptions(view="micrograd")))
    records = [re.sub(r"<[^>]*>", "|", line) for line in drawn.splitlines() if "<VR/>" in line]
    texts = [[part for part in record.split("|") if part.strip()][1:-1] for record in records]
    assert ["x", "data 2", "grad 2"] in texts
    assert ["w", "data 1", "grad 5"] in texts
    assert ["a", "data 3", "grad 2"] in texts
    assert ["y", "data 6", "grad 1"] in texts


def test_micrograd_has_a_small_circle_for_each_operation() -> None:
    drawn = str(render(read(ARTICLE), "dot", RenderOptions(view="micrograd")))
    assert drawn.count("shape=circle") == 3
    assert len(re.findall(r"label=\"\+\"", drawn)) == 2


# all of them


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("theme", THEMES)
def test_a_view_is_drawn_in_every_theme_without_a_remark_of_graphviz(view: str, theme: str) -> None:
    for source in (ARTICLE, E, MATRICES, FIVE):
        graph = read(source)
        for suffix in ("svg", "png"):
            assert render(graph, suffix, RenderOptions(view=view, theme=theme))
        assert render(graph, "dot", RenderOptions(view=view, theme=theme)) == render(
            graph, "dot", RenderOptions(view=view, theme=theme)
        )


@pytest.mark.parametrize("view", VIEWS)
def test_the_text_of_a_pdf_can_be_searched(view: str) -> None:
    drawn = render(read(ARTICLE), "pdf", RenderOptions(view=view))
    assert isinstance(drawn, bytes)
    text = PdfReader(io.BytesIO(drawn), strict=True).pages[0].extract_text()
    words = {
        "torchviz": "MulBackward0",
        "dataflow": "∂y/∂a = b = 2",
        "teaching": "w.grad = 2 + 3 = 5",
        "micrograd": "data 6",
        "autograd": "w.grad += 5",
        "circuit": "2 + 3 = 5",
        "matrices": "a part: sum below",
    }
    assert words.get(view, "y = ") in text


@pytest.mark.parametrize("view", VIEWS)
def test_the_direction_of_a_view_can_be_chosen(view: str) -> None:
    drawn = str(render(read(ARTICLE), "dot", RenderOptions(view=view)))
    assert ("rankdir=LR" in drawn) is (VIEWS[view] == "LR")
    assert "rankdir=BT" in str(render(read(ARTICLE), "dot", RenderOptions(view=view, rankdir="BT")))


@pytest.mark.parametrize("view", VIEWS)
def test_a_slide_is_16_to_9_and_has_the_title_and_the_caption(view: str) -> None:
    options = RenderOptions(
        view=view, fit="slide", title="Two ways to w", caption="its gradient is a sum", theme="light"
    )
    drawn = str(render(read(ARTICLE), "svg", options))
    size = re.search(r'width="([\d.]+)pt" height="([\d.]+)pt"', drawn)
    assert size is not None
    assert float(size[1]) / float(size[2]) == pytest.approx(16 / 9, rel=0.01)
    assert "Two ways to w" in drawn.replace("&#160;", " ")
    assert "its gradient is a sum" in drawn.replace("&#160;", " ")


@pytest.mark.parametrize("fit", ["slide", "a4"])
@pytest.mark.parametrize("text", ["k" * 5000, "<&\\N" * 200, "損失 " * 300, "two\nlines", "one line\n" * 40])
def test_a_page_keeps_its_size_whatever_is_said_on_it(fit: str, text: str) -> None:
    drawn = str(render(read(ARTICLE), "svg", RenderOptions(fit=fit, title=text, caption=text)))
    size = re.search(r'width="([\d.]+)pt" height="([\d.]+)pt"', drawn)
    assert size is not None
    assert tuple(map(float, size.groups())) == {"slide": (960, 540), "a4": (842, 595)}[fit]


@pytest.mark.parametrize("fit", ["slide", "a4"])
def test_a_long_title_of_a_page_is_whole_and_a_very_long_one_is_told_of(
    fit: str, recwarn: pytest.WarningsRecorder
) -> None:
    title = "The gradient of the loss by the weights of the second layer, after one step"
    drawn = render(read(ARTICLE), "pdf", RenderOptions(fit=fit, title=title))
    assert isinstance(drawn, bytes)
    page = PdfReader(io.BytesIO(drawn)).pages[0]
    assert title in " ".join(page.extract_text().split())
    assert not recwarn.list
    with pytest.warns(gviz.GvizWarning, match=r"the title has 151 characters, of which 98"):
        render(read(ARTICLE), "svg", RenderOptions(fit=fit, title=f"{title} {title}"))


def test_every_text_of_a_slide_is_on_it() -> None:
    for source in (ARTICLE, E):
        for view in [view for view in VIEWS if view not in SHEETS]:
            drawn = str(render(read(source), "svg", RenderOptions(view=view, fit="slide")))
            box = re.search(r'viewBox="([\d.-]+) ([\d.-]+) ([\d.]+) ([\d.]+)"', drawn)
            shift = re.search(
                r'class="graph" transform="scale\(([\d.]+)[^)]*\) rotate\(0\) translate\(([\d.-]+)[, ]+([\d.-]+)\)',
                drawn,
            )
            assert box is not None
            assert shift is not None
            scale, right, down = map(float, shift.groups())
            for x, y in re.findall(r'<text [^>]*x="([\d.-]+)" y="([\d.-]+)"', drawn):
                assert 0 <= (float(x) + right) * scale <= float(box[3]), view
                assert 0 <= (float(y) + down) * scale <= float(box[4]), view


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (RenderOptions(show=(), theme="dark", title="y"), "TorchViz's own picture has no use for --theme and --title"),
        (RenderOptions(view="micrograd", show=("shape",)), "the view micrograd has no use for --show"),
        (RenderOptions(view="autograd", show=("value",)), "the view autograd has no use for --show"),
        (
            RenderOptions(view="autograd", by="module"),
            "the view autograd has no use for --by; --view torchviz draws a box for each module",
        ),
        (RenderOptions(view="autograd", repeat_leaves="always"), "the view autograd has no use for --repeat-leaves"),
        (
            RenderOptions(view="teaching", ghosts=True, path=("w",)),
            "the view teaching has no use for --ghosts and --path",
        ),
    ],
)
def test_what_a_view_does_not_use_is_named(options: RenderOptions, text: str) -> None:
    with pytest.warns(gviz.GvizWarning) as said:
        render(read(ARTICLE), "dot", options)
    assert [str(one.message) for one in said] == [text]


def test_why_there_are_no_numbers_on_the_lines(recwarn: pytest.WarningsRecorder) -> None:
    render(gviz.read("y=x", x=1).graph, "dot", RenderOptions(view="dataflow"))
    assert not recwarn.list
    advice = "the graph was made, or saved, without them; name the view there, too"
    for backward in (True, False):
        options = SourceOptions(values=ARTICLE[1], backward=backward)
        saved = Graph.from_json(gviz.read(ARTICLE[0], options).graph.to_json())
        with pytest.warns(gviz.GvizWarning, match=advice):
            render(saved, "dot", RenderOptions(view="dataflow"))
        named = Graph.from_json(gviz.read(ARTICLE[0], replace(options, flow=True)).graph.to_json())
        render(named, "dot", RenderOptions(view="dataflow"))
        assert not recwarn.list


def test_the_size_of_the_font_reaches_signs_circles_and_plates() -> None:
    small, large = (
        str(render(read(ARTICLE), "dot", RenderOptions(view="dataflow", font_size=size))) for size in (12, 24)
    )
    for usual, twice in (
        ('POINT-SIZE="22"', 'POINT-SIZE="44"'),
        ('HEIGHT="36"', 'HEIGHT="72"'),
        (" width=0.5 ", " width=1 "),
    ):
        assert small.count(usual) == large.count(twice) > 0
    assert "fontsize=22" in large  # of plates
    assert re.search(r"nodesep=0.16 ranksep=0.2\b", small)
    assert re.search(r"nodesep=0.32 ranksep=0.4\b", large)
    assert re.search(r"edge \[[^\]]*arrowsize=1.2", large)
    bare = str(render(read(ARTICLE), "dot", RenderOptions(view="dataflow", show=(), font_size=24)))
    assert 'POINT-SIZE="44"' in bare


@pytest.mark.filterwarnings("ignore:invalid value", "ignore::gviz.GvizWarning")
@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize(("x", "is_told"), [("-1", True), ("2", False)])
def test_what_holds_nan_has_the_look_of_an_error(view: str, x: str, is_told: bool) -> None:
    drawn = str(render(read(("y=log(x)*w", {"x": x, "w": "2"})), "dot", RenderOptions(view=view)))
    pen = THEMES["torchviz"].boxes["error"].pen
    assert (pen in drawn) is is_told
