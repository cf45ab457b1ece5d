"""The numbers of a picture are of one moment: when backward ran; what came later is said apart, in one way."""

from __future__ import annotations

import re
from html import unescape
from pathlib import Path

import pytest
from program import Program

from gviz import SourceOptions, explain, inspect, read
from gviz.graphs import MADE_LATER, Graph
from gviz.pictures.options import VIEWS
from gviz.pictures.shades import measured
from gviz.render import RenderOptions, render

LATER = """\
import torch

w = torch.tensor([3.0, 1.0], requires_grad=True)
L = (w * w).sum()
L.backward()
with torch.no_grad():
    w -= 0.5
{}
"""

TWICE = """\
import torch

w = torch.tensor(2.0, requires_grad=True)
a = w * 3
(a * 2).backward(retain_graph=True)
l2 = a * w
l2.backward()
"""


def graph_of(tmp_path: Path, program: str) -> Graph:
    (tmp_path / "program.py").write_text(program)
    return read(tmp_path / "program.py", SourceOptions(flow=True)).graph


def drawn(graph: Graph, view: str, *path: str) -> str:
    """Return the texts of a picture, without inks."""
    svg = str(render(graph, "svg", RenderOptions(view=view, path=path))).replace("&#160;", " ")
    return unescape("\n".join(re.findall(r">([^<>]+)</text>", svg)))


@pytest.mark.parametrize("clear", ["w.grad.zero_()", "w.grad = None", "torch.optim.SGD([w], 0.1).zero_grad()"])
def test_what_came_later_has_the_same_words_in_all_views(gviz: Program, clear: str) -> None:
    (gviz.folder / "later.py").write_text(LATER.format(clear))
    ways = [*(("--view", view) for view in VIEWS), ("--path", "w"), ("--color-by", "grad-norm"), ("--rankdir", "LR")]
    for way in ways:
        dot = gviz("render", "later.py", *way, "-o", "-").out
        assert "now [2.5, 0.5]; grad cleared, line 8" in dot, way
        assert "[3, 1]" in dot
    assert "now [2.5, 0.5]; grad cleared, line 8" in gviz("inspect", "later.py").out
    assert "later" not in gviz("inspect", "y=x*w").out


def test_the_shades_of_gradients_are_of_one_backward(tmp_path: Path) -> None:
    leaf = next(node for node in graph_of(tmp_path, TWICE).nodes if node.name == "w")
    assert leaf.grad.value is not None
    assert (leaf.grad.value.norm, measured(leaf, "grad-norm")) == (18, 12)


def test_a_path_says_what_its_product_is_added_to(tmp_path: Path) -> None:
    text = drawn(graph_of(tmp_path, TWICE), "", "w").replace("\xa0", " ")
    assert "added to w.grad, which was 6" in text
    assert "another backward" not in text


def test_of_several_roots_gradients_are_those_of_the_one_that_backward_ran_from(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(TWICE.replace("(a * 2).backward", "l1 = a * 2\nl1.backward"))
    options = SourceOptions(flow=True, roots=("l1", "l2"))
    text = drawn(read(tmp_path / "program.py", options).graph, "dataflow")
    assert "∂l2/∂a = 2" in text
    assert "= 6 (before) + 6 + 6" in text


JOINED = """\
import torch
w, x = torch.tensor([1.0, 2.0], requires_grad=True), torch.tensor([3.0, 4.0])
h = torch.{}
{}y = (h * h).sum()
y.backward()
{}
"""


@pytest.mark.parametrize("join", ["cat([w, x])", "stack((w, x))", "hstack([w, x, x])"])
@pytest.mark.parametrize("writes", [("x.zero_()\n", ""), ("", "x.zero_()")])
def test_what_was_joined_has_the_numbers_of_its_moment(gviz: Program, join: str, writes: tuple[str, str]) -> None:
    (gviz.folder / "joined.py").write_text(JOINED.format(join, *writes))
    text = gviz("explain", "joined.py").out
    assert "w = [1, 2], x = [3, 4]" in text
    assert "those of now" not in text
    assert "now [0, 0]" in gviz("inspect", "joined.py").out
    dot = gviz("render", "joined.py", "--view", "dataflow", "-o", "-").out
    assert "<B>x</B> = [3, 4]" in dot


def test_what_is_joined_without_a_name_is_told_as_it_is_written(tmp_path: Path) -> None:
    code = (
        "import torch\nw, x = torch.tensor([1.0, 2.0], requires_grad=True), torch.tensor([3.0, 4.0])\nxs = [x, x * 3]\n"
        "y = torch.stack([w, x * 2]).sum() + torch.cat([torch.ones(1), w]).sum() + torch.cat([w, *xs, xs[1] + 1]).sum()\n"
        "y.backward()\n"
    )
    (tmp_path / "joined.py").write_text(code)
    text = str(explain(tmp_path / "joined.py", say=lambda _: None))
    assert "stack(w, x·2)" in text
    assert "cat(torch.ones(1), w)" in text
    assert "= cat(w, x, …, f) = [1, 2, 3, 4, 9, 12, 10, 13]" in text
    assert "□" not in text


def test_what_was_made_after_backward_says_so_also_without_a_gradient(tmp_path: Path) -> None:
    code = (
        "import torch\nw = torch.tensor([0.5, -1.5], requires_grad=True)\nx = torch.ones(2)\nL = (w * x).prod()\nL.backward()\n"
        "num = torch.zeros_like(w)\nwith torch.no_grad():\n    up = (w + 0.1).prod()\n    num[0] = up - L\n"
    )
    (tmp_path / "check.py").write_text(code)
    rows = {row.name: row.moment for row in read(tmp_path / "check.py", SourceOptions(lines=True)).graph.tensors}
    assert [name for name, moment in rows.items() if moment and moment.remark == MADE_LATER] == ["num", "up"]


@pytest.mark.parametrize("engine", ["gviz", pytest.param("torch", marks=pytest.mark.torch)])
def test_leaves_that_change_places_before_backward_have_the_names_that_operations_were_written_with(
    tmp_path: Path, engine: str
) -> None:
    if engine == "torch":
        pytest.importorskip("torch")
    code = (
        "import torch\na = torch.tensor(2.0, requires_grad=True)\nb = torch.tensor(3.0, requires_grad=True)\n"
        "for _ in range(2):\n    c = a * b + a\na, b = b, a\nc.backward()\n"
    )
    (tmp_path / "swapped.py").write_text(code)
    options = SourceOptions(engine=engine)
    text = str(explain(tmp_path / "swapped.py", options=options, say=lambda _: None))
    assert "a = 2, b = 3" in text
    assert "= a·b = 6" in text
    assert "∂c/∂a = 3 + 1 = 4 = a.grad" in text
    table = str(inspect(tmp_path / "swapped.py", options=options, say=lambda _: None))
    assert "now 3; grad now 2" in table


def test_a_field_of_a_named_tuple_is_called_as_the_program_calls_it(tmp_path: Path) -> None:
    code = (
        "import torch\nfrom typing import NamedTuple\nclass P(NamedTuple):\n    w: torch.Tensor\n    b: torch.Tensor\n"
        "p = P(torch.tensor([1.0, 2.0], requires_grad=True), torch.tensor(0.1, requires_grad=True))\n"
        "memory = [P(torch.ones(2), torch.zeros(())) for _ in range(3)]\npair = (p.w * 2, p.b)\n"
        "loss = (pair[0] * memory[0].w).sum() + p.b\nloss.backward()\n"
    )
    (tmp_path / "fields.py").write_text(code)
    rows = read(tmp_path / "fields.py", SourceOptions(lines=True)).graph.tensors
    assert [row.name for row in rows] == ["p.w", "p.b", "pair[0]", "pair[1]", "loss"]
