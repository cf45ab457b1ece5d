"""Blocks that repeat in a picture: when they are drawn once without being asked for, and what is said of it."""

from __future__ import annotations

import re
import warnings
from pathlib import Path

import pytest
from repeating import Builder, layers, rnn

import gviz
from gviz.errors import RenderError
from gviz.layout import RenderWarning
from gviz.pictures import Arrow, picture_of
from gviz.pictures.options import RenderOptions
from gviz.pictures.parts import drawn_parts
from gviz.render import render
from gviz.render._scene import Scene, placed_looks, placed_notes


def boxes(steps: int, **look: object) -> int:
    """Return how many boxes a picture of so many steps has."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RenderWarning)
        return len(drawn_parts(rnn(steps), RenderOptions(**{"format": "svg", **look})).nodes)  # type: ignore[arg-type]


def test_a_large_picture_is_folded_and_a_small_one_or_data_only_if_asked() -> None:
    assert boxes(100) == boxes(5, fold="on") == boxes(100, format="json", fold="on") == 10
    assert boxes(5) == boxes(5, fold="off") == len(rnn(5).nodes)
    assert {
        boxes(100, **look) for look in ({"fold": "off"}, {"format": "json"}, {"show": ()}, {"view": "dataflow"})
    } == {408}


def test_what_is_folded_by_itself_is_said_with_the_way_back() -> None:
    with pytest.warns(RenderWarning, match=r"repeats × 100; 10 boxes in place of 408; --fold off draws all$"):
        drawn_parts(rnn(100), RenderOptions(format="svg"))


def test_a_fold_is_opened_by_its_name_or_where_there_are_few_blocks() -> None:
    for look in ({"unfold": "net.blocks"}, {"unfold": "net.blocks.{0…6}"}, {"fold_min": 8}):
        options = RenderOptions(format="svg", fold="on", **look)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RenderWarning)
            assert not drawn_parts(layers(7), options).regions
    with pytest.raises(RenderError, match=r"no fold 'net.block'") as error:
        drawn_parts(layers(7), RenderOptions(format="svg", unfold="net.block"))  # type: ignore[arg-type]
    assert error.value.hint == "did you mean net.blocks?"


ODD = """
import torch
from torch import nn
torch.manual_seed(0)
class Block(nn.Module):
    def __init__(self, act):
        super().__init__()
        self.fc, self.act = nn.Linear(3, 3), act
    def forward(self, x):
        return x + self.act(self.fc(x))
net = nn.Sequential(*(Block(torch.tanh if number != 6 else torch.sigmoid) for number in range(12)))
loss = net(torch.randn(2, 3, requires_grad=True)).sum()
loss.backward()
"""


def test_boxes_of_modules_are_alike_only_if_what_is_in_them_is(tmp_path: Path) -> None:
    (tmp_path / "odd.py").write_text(ODD)
    graph = gviz.read(tmp_path / "odd.py").graph
    text = str(render(graph, "dot", RenderOptions(by="module", depth=2, fold="on")))
    titles = re.findall(r'label="(net\.[^"]*×[^"]*)"', text)
    assert sorted(map(str.strip, titles)) == ["net.{0…5}  × 6", "net.{7…11}  × 5"]
    assert "net.6" in text


def test_a_picture_without_frames_says_in_each_box_which_frame_it_is_in() -> None:
    with pytest.warns(RenderWarning, match="each box says what it is in"):
        text = str(render(layers(7), "svg", RenderOptions(fold="on", layout="layered")))
    assert text.count("in net.blocks.{0…6}  × 7") == 6  # three operations, two leaves, and the sign
    assert "7 blocks of the same" in re.sub(r"\s|<[^>]*>", " ", text)


def test_an_image_of_its_own_layout_has_remarks_and_heads_at_the_right_ends() -> None:
    options = RenderOptions(format="png", fold="on", layout="layered")
    scene = Scene(picture_of(drawn_parts(layers(7), options), options))
    note, *texts = placed_notes(scene)
    assert "7 blocks of the same" in re.sub(r"\s", " ", note.look["label"])
    assert [one.look["label"].strip() for one in texts] == ["first"]
    assert not [one for one in placed_looks(scene, has_labels=False) if one.look.get("label", "").strip() == "first"]
    arrows = [one for one in placed_looks(scene) if isinstance(one, Arrow)]
    assert {one.look["pos"][0] for one in arrows if one.look.get("dir") == "back"} == {"s"}
    for one in arrows:
        places = re.findall(r"([-.\d]+),([-.\d]+)", one.look["pos"])
        assert places[0] != places[-1 if one.look.get("dir") != "back" else 1]  # a head has a direction


def test_remarks_count_what_is_drawn() -> None:
    options = {"format": "svg", "fold": "on"}
    less = drawn_parts(layers(7), RenderOptions(**options, max_nodes=2))  # type: ignore[arg-type]
    assert less.remarks == ("2 of 10 boxes of the folded graph: those nearest to the root",)
    more = drawn_parts(layers(7), RenderOptions(**options, max_nodes=6))  # type: ignore[arg-type]
    assert more.remarks[0].startswith("net.blocks.{0…6} × 7")


def test_a_leaf_says_how_often_it_is_used_in_all_blocks() -> None:
    text = str(render(rnn(8), "dot", RenderOptions(fold="on", repeat_leaves="always")))
    assert "used" not in text
    one = Builder()
    h, w = one.leaf("h0"), one.leaf("w")
    for _ in range(8):
        h = one.op("Tanh", one.op("Add", one.op("Mm", h, w), one.op("Mul", one.op("Exp", w), w)))
    text = str(render(one.graph(one.op("Mm", h, w)), "dot", RenderOptions(fold="on", repeat_leaves="always")))
    assert re.findall(r"used \d+×", text) == ["used 25×"]


def test_modules_are_opened_as_far_as_what_repeats_leaves_few_boxes(tmp_path: Path) -> None:
    (tmp_path / "deep.py").write_text(ODD.replace("number != 6", "True").replace("range(12)", "range(30)"))
    graph = gviz.read(tmp_path / "deep.py").graph
    with pytest.warns(RenderWarning, match=r"net\.\{0…29\} × 30; \d+ boxes in place of 9\d; --fold off draws all"):
        shown = drawn_parts(graph, RenderOptions(format="svg", by="module"))
    assert {node.name for node in shown.nodes if node.kind == "group"} == {"net.{0…29}.fc"}
    whole = drawn_parts(graph, RenderOptions(format="svg", by="module", fold="off"))
    assert sum(node.kind == "group" for node in whole.nodes) == 30
