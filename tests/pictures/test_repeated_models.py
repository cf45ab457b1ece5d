"""Models whose blocks repeat: what one drawn block says of all, where blocks begin, and what they are called."""

from __future__ import annotations

import re
import warnings
from pathlib import Path

import pytest
from program import Program

import gviz
from gviz.graphs import Graph, Node
from gviz.layout import RenderWarning, plan
from gviz.pictures.labels import lines
from gviz.pictures.options import RenderOptions
from gviz.pictures.parts import drawn_parts
from gviz.pictures.spans import text_of
from gviz.render import render

LOOP = """
import torch
w = torch.tensor(0.9, requires_grad=True)
h = torch.tensor(1.0)
for t in range(16):
    h = torch.tanh(w * h + 0.1 * t)
h.backward()
"""

STAGES = """
import torch
from torch import nn
torch.manual_seed(0)
class Stage(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers, self.down = nn.ModuleList(nn.Linear(4, 4) for _ in range(4)), nn.Linear(4, 4)
    def forward(self, x):
        for layer in self.layers:
            x = x + torch.tanh(layer(x))
        return torch.relu(self.down(x))
net = nn.Sequential(*[Stage() for _ in range(3)])
loss = net(torch.randn(2, 4)).sum()
loss.backward()
"""

MODEL = """
import torch
from torch import nn
torch.manual_seed(0)
class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm, self.fc = nn.LayerNorm(4), nn.Linear(4, 4)
    def forward(self, x):
        return x + torch.tanh(self.fc(self.norm(x)))
class Experts(nn.Module):
    def __init__(self):
        super().__init__()
        self.gate, self.experts = nn.Linear(4, 6), nn.ModuleList(Block() for _ in range(6))
    def forward(self, x):
        share = torch.softmax(self.gate(x), 1)
        return sum(share[:, number:number + 1] * expert(x) for number, expert in enumerate(self.experts))
"""

SHARED = (
    MODEL
    + """
block = Block()
x = torch.randn(2, 4, requires_grad=True)
y = x
for _ in range(6):
    y = block(y)
y.sum().backward()
"""
)

EXPERTS = (
    MODEL
    + """
net = Experts()
net(torch.randn(2, 4, requires_grad=True)).sum().backward()
"""
)


def folded(folder: Path, code: str, *, shares: bool = False, **look: object) -> Graph:
    """Return the folded graph of a script."""
    (folder / "net.py").write_text(code)
    graph = gviz.read(folder / "net.py", options=gviz.SourceOptions(folds=True, lines=True, shares=shares)).graph
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RenderWarning)
        return drawn_parts(graph, RenderOptions(**{"format": "svg", "fold": "on", **look}))  # type: ignore[arg-type]


def said(node: Node) -> list[str]:
    """Return the lines of a box."""
    return [text_of(line) for line in lines(node, RenderOptions())]


def named(graph: Graph, name: str) -> Node:
    """Return the leaf of that name."""
    (node,) = (node for node in graph.nodes if node.kind in ("leaf", "group") and node.name == name)
    return node


# ---------------------------------------------------------------- what a block says of all
def test_what_each_step_hands_to_a_shared_weight_adds_up_to_its_gradient(tmp_path: Path) -> None:
    leaf = named(folded(tmp_path, LOOP, shares=True), "w")
    assert leaf.blocks is not None
    assert [share.block for share in leaf.blocks.shares] == [str(number) for number in range(16, 0, -1)]
    total = sum(float((share.grad.elements or (0.0,))[0]) for share in leaf.blocks.shares)
    assert leaf.grad.value is not None
    assert total == pytest.approx(float((leaf.grad.value.elements or (0.0,))[0]), rel=1e-5)
    first = said(leaf).index("block 16: 0.0329 ████████")
    assert said(leaf)[first + 1] == "15: 0.0012 ▎", "a bar for each, by its size"
    assert said(leaf)[-1].startswith("10 others: ")
    assert not any(node.is_letter for node in folded(tmp_path, LOOP, shares=True).nodes)


def test_shares_add_up_to_the_gradient_in_print(tmp_path: Path) -> None:
    code = LOOP.replace("0.9", "0.5").replace("range(16)", "range(20)").replace("0.1 * t", "0.1")
    texts = said(named(folded(tmp_path, code, shares=True), "w"))
    assert "grad = 0.3614" in texts
    shares = [float(text.split(": ")[1].split()[0]) for text in texts if re.match(r"(block )?\d+( others)?: ", text)]
    assert (len(shares), f"{sum(shares):.4f}") == (7, "0.3614")


def test_two_blocks_have_shares(tmp_path: Path) -> None:
    code = """
import torch
w = torch.tensor(0.9, requires_grad=True)
y = torch.stack([torch.tanh(torch.exp(torch.sin(w * x))) for x in torch.tensor([0.5, 2.0])]).sum()
y.backward()
"""
    blocks = named(folded(tmp_path, code, shares=True), "w").blocks
    assert blocks is not None
    assert [share.block for share in blocks.shares] == ["2", "1"]


def test_what_one_block_takes_and_something_else_has_no_shares(tmp_path: Path) -> None:
    code = LOOP.replace("h = torch.tensor(1.0)", "h = h0 = torch.tensor(1.0, requires_grad=True)")
    graph = folded(tmp_path, code.replace("h.backward", "(h * h0).backward"), shares=True)
    w, h0 = (named(graph, name).blocks for name in ("w", "h0"))
    assert w is not None
    assert len(w.shares) == 16
    assert h0 is None or not h0.shares


def test_sizes_of_shares_are_norms_and_what_hooks_change_has_no_shares(tmp_path: Path) -> None:
    matrix = (
        LOOP.replace("torch.tensor(0.9,", "torch.eye(3,").replace("w * h", "w @ h").replace("(1.0)", "([1., 2, 3])")
    )
    matrix = matrix.replace("h.backward", "h.sum().backward")
    leaf = named(folded(tmp_path, matrix, shares=True), "w")
    assert [line for line in said(leaf) if line.startswith("norms: block 16: ")]
    assert said(leaf)[-1].endswith("…")
    hooked = LOOP.replace("h = torch.tensor", "w.register_hook(lambda grad: 2 * grad)\nh = torch.tensor")
    blocks = named(folded(tmp_path, hooked, shares=True), "w").blocks
    assert blocks is None or not blocks.shares


def test_numbers_that_vary_are_said_of_operations_and_of_boxes(tmp_path: Path) -> None:
    graph = folded(tmp_path, LOOP)
    assert [one.times for one in graph.regions] == [16]
    assert [line for node in graph.nodes for line in said(node) if "varies" in line] == ["varies: 0, 0.1, … 1.5"]
    step = LOOP.replace("h = torch.tanh(w * h + 0.1 * t)", "h = step(h, t)")
    step = step.replace("h = torch.tensor", "def step(h, t):\n    return torch.tanh(w * h + 0.1 * t)\nh = torch.tensor")
    (tmp_path / "net.py").write_text(step)
    options = gviz.SourceOptions(folds=True, functions=True, lines=True)
    graph = gviz.read(tmp_path / "net.py", options=options).graph
    shown = drawn_parts(graph, RenderOptions(format="svg", fold="on", by="function", depth=1))
    texts = [line for node in shown.nodes for line in said(node) if "varies" in line]
    assert texts == ["varies: 0.1, 0.2, … 1.5"]  # the first call has no gradient to hand on to h


def test_the_range_of_all_blocks_is_told_on_request(tmp_path: Path) -> None:
    leaf = named(folded(tmp_path, STAGES, fold="range"), "net.{0…2}.down.bias")
    assert said(leaf)[-2:] == ["all blocks: norm 0.4505 … 0.573", "all blocks: ‖grad‖ 0.3341 … 2.8284"]
    assert not any(node.blocks for node in folded(tmp_path, STAGES).nodes)


# ---------------------------------------------------------------- names
def test_a_fold_inside_a_fold_names_the_blocks_of_both(tmp_path: Path) -> None:
    graph = folded(tmp_path, STAGES)
    assert [(one.title, one.times) for one in graph.regions] == [("net.{0…2}", 3), ("net.{0…2}.layers.{0…3}", 4)]
    assert named(graph, "net.{0…2}.layers.{0…3}.weight")


def test_an_operand_of_another_block_has_its_own_name(gviz: Program) -> None:
    sample = Path(__file__).parents[2] / "samples" / "models" / "training_step.py"
    assert gviz("render", sample, "--fold", "on", "-o", "y.dot").status == 0
    text = (gviz.folder / "y.dot").read_text()
    assert "□" not in text
    assert re.search(r"convolution\(images, \S+bias, padding", text)


def test_frames_of_blocks_are_called_by_all_blocks(tmp_path: Path) -> None:
    code = STAGES.replace("range(3)", "range(5)")
    graph = folded(tmp_path, code, by="module", depth=4)
    titles = {one.title for one in graph.regions}
    assert "net.{0…4}" in titles
    assert not [title for title in titles if re.search(r"net\.\d", title)]


# ---------------------------------------------------------------- models
def test_a_block_that_is_called_six_times_is_folded_by_module(tmp_path: Path) -> None:
    graph = folded(tmp_path, SHARED, by="module", depth=1)
    assert [(one.title, one.times) for one in graph.regions] == [("block", 6)]
    assert [node.name for node in graph.nodes if node.kind == "group"] == ["block, call {1…6}"]


def test_experts_beside_each_other_are_one_block(tmp_path: Path) -> None:
    graph = folded(tmp_path, EXPERTS, by="module", depth=2)
    assert [(one.title, one.times) for one in graph.regions if "experts" in one.title] == [("net.experts.{0…5}", 6)]
    assert [line for node in graph.nodes for line in said(node) if line.startswith("start varies: ")]


def test_blocks_begin_where_modules_begin(tmp_path: Path) -> None:
    code = (
        MODEL
        + "net = nn.Sequential(*[Block() for _ in range(8)])\nnet(torch.randn(2, 4, requires_grad=True)).sum().backward()"
    )
    graph = folded(tmp_path, code)
    (fold,) = graph.regions
    assert (fold.title, fold.times) == ("net.{0…7}", 8)
    assert sorted(node.label for node in graph.nodes if node.region == 0 and node.kind == "operation") == sorted(
        ["NativeLayerNormBackward0", "TBackward0", "AddmmBackward0", "TanhBackward0", "AddBackward0"]
    )


def test_data_parallel_is_the_module_in_it(tmp_path: Path) -> None:
    code = MODEL + "net = nn.DataParallel(Block())\nnet(torch.randn(2, 4, requires_grad=True)).sum().backward()"
    graph = folded(tmp_path, code, by="module", depth=1, fold="off")
    assert [(node.name, node.label) for node in graph.nodes if node.kind == "group"] == [("net", "DataParallel")]


def test_hooks_of_modules_are_no_operations_of_the_summary(gviz: Program) -> None:
    hooked = "net = Block()\nnet.register_full_backward_hook(lambda *_: None)\nnet(torch.randn(2, 4)).sum().backward()"
    counts = []
    for code in (hooked, hooked.replace("net.register_full_backward_hook(lambda *_: None)\n", "")):
        (gviz.folder / "net.py").write_text(MODEL + code)
        text = gviz("summary", "net.py").out
        counts.append(re.findall(r"^ *net +.*$", text, re.MULTILINE)[:1])
    assert counts[0] == counts[1]


# ---------------------------------------------------------------- pages and depths
def test_a_page_says_what_is_folded(gviz: Program) -> None:
    (gviz.folder / "net.py").write_text(LOOP)
    gviz("render", "net.py", "--fold", "on", "--fit", "slide", "-o", "y.svg")
    text = (gviz.folder / "y.svg").read_text().replace("&#160;", " ")
    assert "16 blocks of the same, with the numbers of the last" in text


def test_a_picture_that_is_of_modules_by_itself_tells_saved_bytes(gviz: Program) -> None:
    code = MODEL + "net = nn.Sequential(*[Block() for _ in range(30)])\nnet(torch.randn(2, 4)).sum().backward()"
    (gviz.folder / "net.py").write_text(code)
    assert "drawn by module" in gviz("render", "net.py", "-o", "y.svg").err
    assert "saved<" in (gviz.folder / "y.svg").read_text()


def test_boxes_say_how_often_they_repeat_where_a_graph_of_that_size_is_laid_out_by_gviz(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "net.py").write_text(LOOP)
    graph = gviz.read(tmp_path / "net.py").graph
    monkeypatch.setattr(plan, "_LATE", 1)
    with pytest.warns(RenderWarning, match="no frames"):
        text = str(render(graph, "svg", RenderOptions(format="svg", fold="on")))
    assert len(re.findall(r"in [^<]* × 16", text)) == 4  # three operations, and the sign
    assert "16 blocks of the same" in re.sub(r"\s|<[^>]*>", " ", text)
