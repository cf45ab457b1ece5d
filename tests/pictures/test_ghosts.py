"""``--ghosts``: constants and inputs without gradients, which PyTorch's graph leaves out, as dashed boxes."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from program import Program

from gviz.pictures.options import RenderOptions
from gviz.render import render
from gviz.sources import SourceOptions, read

FROZEN = SourceOptions(values={"x": 1, "w": 4, "b": 0.5}, frozen=("x",))


def drawn(source: str, options: SourceOptions, **look: object) -> str:
    """Return the picture of an expression as DOT."""
    return str(render(read(source, options).graph, "dot", RenderOptions(legend=False, **look)))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("source", "options", "text"),
    [
        ("y=(x+w)*(w+1)", SourceOptions(values={"x": 2, "w": 1}), "<B>1</B>"),
        ("h=w*x+b", FROZEN, "<B>x</B> = 1"),
        ("L=10-d", SourceOptions(values={"d": 22}), "<B>10</B>"),
    ],
)
def test_a_ghost_is_one_more_dashed_box_with_a_dashed_arrow(source: str, options: SourceOptions, text: str) -> None:
    without, ghosts = drawn(source, options), drawn(source, options, ghosts=True)
    assert text not in without
    assert text in ghosts
    assert ghosts.count(" -> ") == without.count(" -> ") + 1
    assert ghosts.count("dashed") == without.count("dashed") + 2


def test_torchviz_s_own_picture_has_no_ghosts() -> None:
    assert drawn("h=w*x+b", FROZEN, show=(), ghosts=True) == drawn("h=w*x+b", FROZEN, show=())


CUT = """\
import torch

x = torch.tensor(2.0)
w = torch.tensor(1.0, requires_grad=True)
h = w * x
d = h.detach()
with torch.no_grad():
    m = h + 1
n = (h > 0).float()
y = h * d
z = y * m
loss = z * n
loss.backward()
"""


@pytest.mark.parametrize("view", ["torchviz", "dataflow"])
def test_a_ghost_of_a_script_says_why_it_has_no_gradient_and_where(tmp_path: Path, view: str) -> None:
    (tmp_path / "cut.py").write_text(CUT)
    text = drawn(str(tmp_path / "cut.py"), SourceOptions(lines=True), ghosts=True, view=view)
    for reason in (
        "requires_grad=False, line 3", "detached from h, line 6", "under no_grad, line 8", "gt() has no derivative, line 9",
    ):  # fmt: skip
        assert reason in text


CLASSIFIER = """\
import torch
net = torch.nn.Linear(2, 2)
x, t = torch.ones(2, 2), torch.tensor([0, 1])
loss = torch.nn.functional.cross_entropy(net(x), t)
loss.backward()
"""


def test_the_classes_of_a_loss_are_a_ghost_as_its_input_is(gviz: Program) -> None:
    (gviz.folder / "net.py").write_text(CLASSIFIER, encoding="utf-8")
    text = gviz("render", "net.py", "--ghosts", "-o", "-", "--format", "dot").out
    ghosts = {name: re.search(rf"(c\d) \[label=.*<B>{name}</B> = ", text) for name in ("x", "t")}
    assert all(ghosts.values())
    assert all(f"{ghost[1]} -> " in text for ghost in ghosts.values() if ghost is not None)
