"""A page on which a long graph goes on in the next row or column, and a weight of every step is drawn beside its uses."""

from __future__ import annotations

import re
import warnings
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from io import BytesIO

import pytest
from program import Program
from pypdf import PdfReader

from gviz import GvizWarning, RenderOptions, SourceOptions, read
from gviz.graphs import Graph
from gviz.pictures import Arrow, Frame, Picture, Shape, picture_of, places, slide
from gviz.pictures.look import PAGES
from gviz.pictures.parts import drawn_parts
from gviz.pictures.places import Layout
from gviz.pictures.wrap import TURNS, wrapped
from gviz.render import dot, render, series

STEPS = 5
RNN = "; ".join(
    ["h0=tanh(w*x+b)", *(f"h{step}=tanh(u*h{step - 1}+b)" for step in range(1, STEPS)), f"y=h{STEPS - 1}**2"]
)
CHAIN = "; ".join(["a0=x*w", *(f"a{number}=sin(a{number - 1})" for number in range(1, 9))])


def graph_of(source: str, **values: float) -> Graph:
    return read(source, SourceOptions(values=values, flow=True), say=lambda _: None).graph


def laid_out(graph: Graph, direction: str, view: str = "dataflow") -> tuple[Picture, Layout]:
    picture = picture_of(graph, RenderOptions(view=view, rankdir=direction, fit="slide"))
    return picture, places.laid_out(picture, dot.dot_text, "auto")


def rectangle(layout: Layout, name: str) -> tuple[float, float, float, float]:
    shape = layout.shapes[name]
    x, y = (float(number) for number in shape["pos"].split(","))
    width, height = float(shape["width"]) * 36, float(shape["height"]) * 36
    return x - width, y - height, x + width, y + height


@pytest.mark.parametrize("direction", TURNS)
@pytest.mark.parametrize("view", ["dataflow", "torchviz", "autograd"])
@pytest.mark.parametrize("parts", [2, 3])
def test_no_box_is_lost_cut_or_laid_upon_another_one(direction: str, view: str, parts: int) -> None:
    _, layout = laid_out(graph_of(RNN), direction, view)
    folded = wrapped(layout, parts, direction)
    assert folded is not None
    assert folded.shapes.keys() == layout.shapes.keys()
    assert len(folded.arrows) == len(layout.arrows)
    x0, y0, x1, y1 = folded.bounds
    boxes = [rectangle(folded, name) for name in folded.shapes]
    before = [rectangle(layout, name) for name in layout.shapes]
    for number, one in enumerate(boxes):
        assert x0 - 0.1 <= one[0] < one[2] <= x1 + 0.1
        assert y0 - 0.1 <= one[1] < one[3] <= y1 + 0.1
        for other, was, other_was in zip(boxes[:number], [before[number]] * number, before[:number], strict=True):
            assert not overlap(one, other) or overlap(was, other_was)


def overlap(one: tuple[float, ...], other: tuple[float, ...]) -> bool:
    return all(one[at] < other[at + 2] - 0.1 and other[at] < one[at + 2] - 0.1 for at in (0, 1))


@pytest.mark.parametrize("direction", TURNS)
def test_a_line_that_is_cut_has_the_same_number_at_both_ends_and_one_arrowhead(direction: str) -> None:
    _, layout = laid_out(graph_of(CHAIN), direction)
    folded = wrapped(layout, 3, direction)
    assert folded is not None
    assert Counter(text for text, *_ in folded.marks) == {"1": 2, "2": 2}  # a chain has one line between two ranks
    cut = [arrow["pos"] for arrow in folded.arrows if ";" in arrow["pos"]]
    assert len(cut) == 2
    assert sum(place.count("e,") for place in cut) == sum(
        arrow["pos"].count("e,")
        for arrow, after in zip(layout.arrows, folded.arrows, strict=True)
        if ";" in after["pos"]
    )
    for place in cut:
        first, last = place.split(";")
        assert "e," not in first
        assert len(first.split()) % 3 == 1
        assert (len(last.split()) - last.count("e,")) % 3 == 1


@pytest.mark.parametrize("view", ["dataflow", "torchviz", "autograd"])
def test_each_line_has_one_arrowhead_cut_or_not(view: str) -> None:
    heads = {}
    for fit in ("none", "slide"):
        drawn = str(render(graph_of(CHAIN), "svg", RenderOptions(view=view, fit=fit)))
        edges = re.findall(r'class="edge">.*?</g>', drawn, re.DOTALL)
        heads[fit] = sorted(edge.count("<polygon") for edge in edges if "<path" in edge)
    assert sum(heads["none"]) > 8
    assert heads["slide"] == heads["none"]


def test_a_page_is_cut_only_where_its_type_would_be_too_small() -> None:
    page = PAGES["slide"]
    for source, is_cut in (("y=(x+w)*(w+1)", False), (CHAIN, True)):
        picture, layout = laid_out(graph_of(source), "LR")
        folded = slide.folded(layout, page, 0, 30, picture)
        assert (folded != layout) is is_cut
        assert bool(folded.marks) is is_cut
        if is_cut:
            assert slide.scale_of(folded, page, 0, 30) > slide.WORTH * slide.scale_of(layout, page, 0, 30)


def said_of(source: str, **options: str) -> list[str]:
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        render(graph_of(source), "svg", RenderOptions(fit="slide", **options))  # type: ignore[arg-type]
    return [str(one.message) for one in said if issubclass(one.category, GvizWarning)]


def test_a_chain_of_nine_operations_can_be_read_on_a_slide() -> None:
    assert said_of(CHAIN, view="dataflow") == said_of(CHAIN) == []


def test_a_page_has_one_size_whoever_makes_it() -> None:
    graph, options = graph_of(CHAIN), RenderOptions(fit="slide", view="dataflow", format="pdf")
    files = render(graph, "pdf", options), series.render(graph, "pdf", options, [1, 2])
    pages = [page for file in files for page in PdfReader(BytesIO(bytes(file))).pages]  # type: ignore[arg-type]
    assert [[float(side) for side in page.mediabox] for page in pages] == [[0, 0, 960, 540]] * 3


def test_small_type_is_said_in_tenths_of_a_point_with_what_makes_it_larger() -> None:
    long = "; ".join(["a0=x*w", *(f"a{number}=sin(a{number - 1})*w" for number in range(1, 40))])
    (said,) = said_of(long, view="dataflow", by="operation")
    found = re.fullmatch(r"the smallest type on this page has ([\d.]+) points, and a room needs 12; larger: (.*)", said)
    assert found is not None
    assert float(found[1]) < slide.LEAST_TYPE
    assert "--max-nodes N" in found[2]  # and no --by statement, whose type may be smaller


def test_a_page_that_cannot_be_read_draws_what_repeats_once_and_says_so() -> None:
    long = "; ".join(["a0=x*w", *(f"a{number}=sin(a{number - 1})*w" for number in range(1, 40))])
    (said, *_) = said_of(long)
    found = re.fullmatch(
        r"all 84 boxes would have type of ([\d.]+) points on this page: (.*), (\d+) boxes; (.*) draws all", said
    )
    assert found is not None, said
    assert found[2] == "blocks that repeat are drawn once"
    assert int(found[3]) < 20
    assert found[4] == "--fold off --by operation"
    (whole,) = said_of(long, fold="off", by="operation")
    assert whole.startswith("the smallest type on this page has")
    assert said_of("y=(x+w)*(w+1)") == []


# ------------------------------------------------------------------ weights of every step
@pytest.mark.parametrize("view", ["dataflow", "teaching", "micrograd"])
def test_a_weight_of_every_step_is_drawn_beside_its_later_uses(view: str) -> None:
    graph = graph_of(RNN, w=0.5, u=0.8, x=1, b=0.1)
    drawn = {
        how: str(render(graph, "dot", RenderOptions(view=view, repeat_leaves=how)))
        for how in ("auto", "never", "always")
    }
    assert drawn["auto"].count(f"used {STEPS}×") == 1  # b
    assert drawn["auto"].count(f"used {STEPS - 1}×") == 1  # u
    assert "used" not in drawn["never"]
    arrows = {how: text.count(" -> ") for how, text in drawn.items()}
    assert arrows["auto"] == arrows["never"] == arrows["always"]
    names = {how: len(re.findall(r"<TD>b</TD>", text)) for how, text in drawn.items()}
    assert 0 == names["never"] < names["auto"] <= names["always"] == STEPS - 1


def test_a_leaf_that_is_drawn_again_keeps_the_whole_sum_and_its_paths() -> None:
    graph = graph_of("a=x*w; b=a*w; c=b*w; d=c*w; e=d*w; y=e*w", x=1, w=1)
    always = str(render(graph, "dot", RenderOptions(view="dataflow", repeat_leaves="always")))
    assert "= 1 + 1 + 1 + 1 + 1 + 1" in always
    path = str(render(graph, "dot", RenderOptions(path=("w",), repeat_leaves="always")))
    assert path.count("<TD>w</TD>") == 5
    faint = [line for line in path.splitlines() if "<TD>w</TD>" in line and "#BDBDBD" in line]
    assert not faint  # each of them is on a path


@pytest.mark.parametrize("width", ["1.5", "0.3"])
@pytest.mark.parametrize("ends", ["b", "c", "bc"])
def test_a_title_of_a_frame_stands_where_no_line_strikes_it(width: str, ends: str) -> None:
    frame = Frame("f", {"label": "title  of it", "labeljust": "l", "fontsize": "10", "fontname": "monospace"})
    inside = [Shape("b", {"width": width}), Shape("c", {"width": width})]
    arrows = [Arrow("a", end, {"weight": "9"}, "", "") for end in ends]
    picture = Picture("", {}, {"fontname": "monospace"}, {}, [Shape("a", {}), frame, *inside, Frame(), *arrows])
    layout = places.laid_out(picture, dot.dot_text, "auto")
    place = layout.frames["f"]
    title = places.Title.of(place)
    ((x, y),) = places.curve_of(place["lp"])[0]
    left, _, right, top = corners(place)
    assert left < x - title.width / 2 < x + title.width / 2 < right
    assert y < top
    points = [point for arrow in layout.arrows for point in places.points_on(places.curve_of(arrow["pos"])[0])]
    assert all(abs(at - x) > title.width / 2 for at, height in points if abs(height - y) < title.height / 2)


NESTED = """\
import torch
from torch import nn

class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(3, 3), nn.Linear(3, 3)

    def forward(self, x):
        return x + self.second(torch.relu(self.first(x)))

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem, self.blocks = nn.Linear(2, 3), nn.ModuleList([Block() for _ in range(3)])

    def forward(self, x):
        x = self.stem(x)
        for block in self.blocks:
            x = block(x)
        return x

net = Net()
loss = net(torch.ones(1, 2)).sum()
loss.backward()
"""


@pytest.fixture(scope="module")
def nested(tmp_path_factory: pytest.TempPathFactory) -> Graph:
    file = tmp_path_factory.mktemp("nested") / "net.py"
    file.write_text(NESTED)
    return read(str(file), say=lambda _: None).graph


def corners(place: Mapping[str, str]) -> tuple[float, ...]:
    return tuple(map(float, place["bb"].split(",")))


def is_in(inner: Sequence[float], outer: Sequence[float]) -> bool:
    return all(inner[at] >= outer[at] - 0.1 and inner[at + 2] <= outer[at + 2] + 0.1 for at in (0, 1))


@pytest.mark.parametrize("direction", TURNS)
def test_a_frame_goes_on_in_the_next_row_or_column_around_what_is_in_it(nested: Graph, direction: str) -> None:
    options = RenderOptions(by="module", depth=3, fold="off", fit="slide", rankdir=direction)
    graph = drawn_parts(nested, options)
    picture = picture_of(graph, options)
    layout = places.laid_out(picture, dot.dot_text, "auto")
    folded = wrapped(layout, 3, direction)
    assert folded is not None
    pieces: dict[str, list[tuple[float, ...]]] = {}
    for path, piece in folded.pieces:
        pieces.setdefault(path, []).append(corners(piece))
        assert is_in(pieces[path][-1], folded.bounds)
    assert pieces.keys() == layout.frames.keys()
    assert len(pieces["net"]) == 3
    for path, frame in layout.frames.items():
        for name in layout.shapes:
            has_box = is_in(rectangle(layout, name), corners(frame))
            assert sum(is_in(rectangle(folded, name), one) for one in pieces[path]) == has_box
        outer = path.rpartition("/")[0]
        assert all(any(is_in(one, other) for other in pieces[outer]) for one in pieces[path] if outer)
    labels = [piece["label"].strip() for path, piece in folded.pieces if path == "net"]
    assert labels == ["net  Net", "… net", "… net"] if direction != "RL" else "… net" in labels
    page = dot.dot_text(replace(picture, statements=places.placed(picture.statements, folded)))
    assert page.count("subgraph") == len(folded.pieces)


def test_a_page_of_modules_that_can_be_read_stays_as_it_is_and_its_legend_fits(gviz: Program) -> None:
    (gviz.folder / "net.py").write_text(
        "import torch\nfrom torch import nn\n"
        "net = nn.Sequential(nn.Linear(3, 3), nn.ReLU(), nn.Linear(3, 1))\n"
        "net[0].register_forward_hook(lambda module, inputs, output: output * 2 + 1)\n"
        "x = torch.ones(1, 3)\nloss = net(x).sum()\nloss.backward()\n"
    )
    done = gviz("render", "net.py", "--by", "module", "--fit", "slide", "-o", "net.svg")
    assert done.err == "root: loss (backward called at line 7)\n"
    assert (gviz.folder / "net.svg").read_text().count('class="clust') == 1


def test_a_box_says_names_as_they_are_within_its_frame(nested: Graph) -> None:
    drawn = str(render(nested, "dot", RenderOptions(by="module", depth=3, fold="off")))
    texts = re.findall(r"<TD>(?:<[^>]*>)*([^<]+)", drawn)
    assert {"first", "second", "stem"} <= {*texts}
    assert "relu(first)" in drawn
    assert not any(re.search(r"net\.blocks\.\d\.", text) for text in texts)
    layered = str(render(nested, "svg", RenderOptions(by="module", depth=3, fold="off", layout="layered")))
    assert "net.blocks.0.first" in layered  # which has no frame that says it
