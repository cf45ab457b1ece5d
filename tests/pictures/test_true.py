"""Pictures say nothing false: norms are not set out as arithmetic, outputs keep their names, saved tensors theirs."""

from __future__ import annotations

import re
from html import unescape
from itertools import pairwise
from typing import TYPE_CHECKING

import pytest

import gviz
from gviz.answers.formulas import footnotes
from gviz.derivations.derivation import derive
from gviz.formulas.local import local_derivative
from gviz.passes.dataflow import dataflow
from gviz.pictures.options import VIEWS
from gviz.pictures.spans import text_of
from gviz.pictures.steps import lines_at, steps_of
from gviz.render import RenderOptions, render, series

if TYPE_CHECKING:
    from pathlib import Path

    from gviz.graphs import Graph

LINEAR = """\
import torch
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(2, 2), nn.Tanh(), nn.Linear(2, 1))
x = torch.tensor([[1.0, 2.0]], requires_grad=True)
loss = net(x).pow(2).mean()
loss.backward()
"""

UNBOUND = """\
import torch

x = torch.tensor([1.0, 2.0], requires_grad=True)
a, b = x.unbind()
y = a * b
z = a + b
torch.autograd.backward([y, z])
"""

BATCH = """\
import torch

torch.manual_seed(0)
w = torch.ones(2, 3, requires_grad=True)
y = ((torch.ones(2, 3) > 0) * 2.0 * w.exp() + torch.rand(3)).sum()
y.backward()
"""

NINE = [[1, 2, 3], [4, 5, 6], [7, 8, 9]]


def graph_of(tmp_path: Path, program: str) -> Graph:
    (tmp_path / "program.py").write_text(program)
    return gviz.read(tmp_path / "program.py", gviz.SourceOptions(flow=True)).graph


def drawn(graph: Graph, view: str, *path: str) -> str:
    """Return the texts of a picture, without inks."""
    svg = str(render(graph, "svg", RenderOptions(view=view, path=path))).replace("&#160;", " ")
    return unescape("\n".join(re.findall(r">([^<>]+)</text>", svg)))


def test_norms_are_not_multiplied_or_added() -> None:
    graph = gviz.read("y=(x*w*w).sum()", gviz.SourceOptions(flow=True), x=NINE, w=NINE).graph
    text = drawn(graph, "teaching")
    assert not re.search(r"norm[^\n]*[·+=]", text)
    assert "‖w.grad‖ = " in text
    assert "↑ norm " in text


@pytest.mark.parametrize("view", [*VIEWS, "path"])
def test_a_norm_looks_like_one_and_a_size_is_no_number(view: str) -> None:
    graph = gviz.read("y=(x@w).tanh().sum()", gviz.SourceOptions(flow=True), x=NINE, w=NINE).graph
    text = drawn(graph, "" if view == "path" else view, *(["w"] if view == "path" else []))
    assert not re.search(r"\||\(\d+, \d+\)|= norm", text)
    assert "3×3" in text or view == "micrograd"
    if view == "matrices":  # which has all numbers of so small a tensor
        assert "norm" not in text
        return
    assert "‖grad‖ = " in text or "‖w.grad‖ = " in text or re.search(r"(grad\s+|\n)norm ", text)
    assert "w\\n (3, 3)" in str(render(graph, "dot", RenderOptions(show=())))  # as TorchViz has it


@pytest.mark.parametrize("path", [(), ("u",)])
@pytest.mark.parametrize("precision", [4, 8])
@pytest.mark.parametrize("text", ["((u+tanh(u))).sum()", "((u/(1+u**2))).sum()"])
def test_a_sum_has_its_total_and_both_have_the_digits_that_were_asked_for(
    text: str, precision: int, path: tuple[str, ...]
) -> None:
    graph = gviz.read(f"root={text}", gviz.SourceOptions(flow=True), u=[0.5, -1.25]).graph
    dot = str(render(graph, "dot", RenderOptions(view="dataflow", path=path, precision=precision)))
    rows = [unescape(re.sub("<[^>]*>", "", row)) for row in dot.replace("</TD>", "\n").split("\n")]
    total, parts = next(pair for pair in pairwise(rows) if pair[0].startswith("grad = "))
    numbers = [
        [float(number) for number in re.findall(r"-?[\d.]+", text)] for text in (total, *re.split(r" \+ ", parts))
    ]
    assert [sum(column) for column in zip(*numbers[1:], strict=True)] == pytest.approx(
        numbers[0], abs=10.0**-precision, rel=1e-6
    )
    assert parts.startswith("= ")


def test_a_total_that_is_too_long_stands_beside_no_sum() -> None:
    values = [[1.234567, -2.345678], [3.456789, -4.56789]]
    graph = gviz.read("y=(x+tanh(x)).sum()", gviz.SourceOptions(flow=True), x=values).graph
    text = drawn(graph, "dataflow")
    assert "‖grad‖ = " in text
    assert " + [[" not in text


NAMED = """\
import torch
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(2, 2), nn.Tanh(), nn.Linear(2, 1, bias=False))
batch = [torch.ones(3, 2), torch.zeros(3, 1)]
mask = torch.tensor([[1.0], [0.0], [1.0]])


def losses(out, target):
    error = (1 - (out - target)) * mask
    return error.pow(2).mean(), out.abs().sum()


loss, size = losses(net(batch[0]), batch[1])
(loss + 0.1 * size).backward()
"""


@pytest.mark.parametrize("view", ["torchviz", "teaching", "dataflow"])
def test_operands_without_a_gradient_have_the_names_that_the_program_has(tmp_path: Path, view: str) -> None:
    (tmp_path / "program.py").write_text(NAMED)
    graph = gviz.read(tmp_path / "program.py", gviz.SourceOptions(flow=view != "torchviz", lines=True)).graph
    text = drawn(graph, view).replace("\n", "")
    assert "□" not in text
    for name in ("batch[0]",) if view == "torchviz" else ("batch[0]", "batch[1]", "mask"):
        assert name in text, name


def test_a_name_of_a_function_that_names_another_tensor_outside_is_not_shown(tmp_path: Path) -> None:
    program = "import torch\nx = torch.ones(2)\nw = torch.ones(2, requires_grad=True)\n"
    program += "def f(x):\n    return (w - x).sum()\ny = f(torch.zeros(2)) + (w * x).sum()\ny.backward()\n"
    (tmp_path / "program.py").write_text(program)
    text = drawn(gviz.read(tmp_path / "program.py", gviz.SourceOptions(lines=True)).graph, "torchviz")
    assert "w - □" in text
    assert "w * x" in text


def test_what_is_unpacked_is_not_said_of_one_of_its_parts(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(NAMED)
    text = drawn(gviz.read(tmp_path / "program.py", gviz.SourceOptions(lines=True)).graph, "torchviz")
    assert "losses(" not in text
    assert re.search(r"size\s+= 1\.2194", text)


@pytest.mark.parametrize("view", list(VIEWS))
def test_a_derivative_is_told_in_names_and_the_gradient_says_of_what_it_is(view: str) -> None:
    options = gviz.SourceOptions(flow=view != "torchviz", order=2)
    text = drawn(gviz.read("y=x**3+x*w", options, x=2, w=3).graph, view).replace("\n", "")
    assert "□" not in text
    of_it = "∂(∂²y/∂x²)/∂(this {})".format
    assert {"circuit": of_it("value"), "matrices": of_it("tensor")}.get(view, "grad is that of ∂²y/∂x²") in text
    assert "f = c * 2 = 4" in text or view != "torchviz"


def test_a_leaf_that_is_drawn_again_says_of_what_its_gradient_is_too() -> None:
    text = drawn(gviz.read("f=100*(y-x**2)**2+(1-x)**2", gviz.SourceOptions(order=2), x=-1, y=2).graph, "torchviz")
    assert "grad is that of ∂²f/∂y² + ∂²f/∂x²; used 5×" in text.replace("\n", " ")


def test_the_gradients_of_a_script_are_not_those_of_a_drawn_derivative(tmp_path: Path) -> None:
    program = "import torch\nx = torch.tensor(2.0, requires_grad=True)\ny = x ** 3\ny.backward(retain_graph=True)\n"
    (tmp_path / "program.py").write_text(program)
    text = drawn(gviz.read(tmp_path / "program.py", gviz.SourceOptions(order=2)).graph, "torchviz")
    assert "grad is that of y" in text


def test_an_operand_that_is_detached_where_it_is_used_says_so(tmp_path: Path) -> None:
    program = "import torch\nw, x = (torch.tensor(v, requires_grad=True) for v in (2.0, 3.0))\nh = x * 2\n"
    (tmp_path / "program.py").write_text(f"{program}y = w * h.detach() + x\ny.backward()\n")
    options = gviz.SourceOptions(flow=True, lines=True)
    assert "detached from h, line 4" in drawn(gviz.read(tmp_path / "program.py", options).graph, "dataflow")


def test_a_product_for_a_broadcast_input_is_added_up() -> None:
    graph = gviz.read("y=(x*w).sum()", gviz.SourceOptions(flow=True), x=[1, 2], w=3).graph
    text = drawn(graph, "teaching")
    assert "↑ [1, 1] · [3, 3] = [3, 3]" in text
    assert "↑ Σ over all ([1, 1] · [1, 2]) = 3" in text.splitlines()


def test_each_output_of_an_operation_has_its_own_name_value_and_sum(tmp_path: Path) -> None:
    graph = graph_of(tmp_path, UNBOUND)
    formula, teaching = drawn(graph, "dataflow"), drawn(graph, "teaching")
    assert {"∂y/∂a", "b = 2", "∂y/∂b", "a = 1", "∂z/∂a", "∂z/∂b", "grad @ J(unbind)"} <= set(formula.splitlines())
    assert "\na\n = 1\ngrad = 3\n= 2 + 1\nb\n = 2\ngrad = 2\n= 1 + 1\n" in re.sub(" +", " ", formula)
    assert "self = a, other = b" in teaching
    assert "x.unbind() = 1" not in teaching
    records = drawn(graph, "micrograd")
    assert "\na\ndata 1\ngrad 3\n" in records
    assert "\nb\ndata 2\ngrad 2\n" in records


def test_an_unknown_operand_is_explained_wherever_it_stands(tmp_path: Path) -> None:
    graph = graph_of(tmp_path, BATCH)
    for view in ("torchviz", "dataflow", "teaching"):
        text = drawn(graph, view)
        assert "□ an input that needs no grad" in text
        assert text.count("□") > 1, view
        assert "□" not in drawn(gviz.read("y=x*w", gviz.SourceOptions(flow=True)).graph, view)


def test_saved_tensors_have_the_names_of_the_table(tmp_path: Path) -> None:
    text = drawn(graph_of(tmp_path, LINEAR), "teaching")
    assert "mat1 = x" in text
    assert "mat2 = x" not in text


def test_what_is_no_factor_has_no_quotient(tmp_path: Path) -> None:
    lines = drawn(graph_of(tmp_path, LINEAR), "dataflow").splitlines()
    assert "grad.T" in lines
    assert any("grad @ " in line for line in lines)
    assert not [
        line
        for line in lines
        if "∂" in line and re.search(r"\bgrad\b", line) and "flows" not in line and "on a line" not in line
    ]
    (found,) = {local_derivative("TBackward0", 0, ["w"], "a", {})}
    assert found is not None
    assert (found.symbol, found.is_factor) == ("grad.T", False)


def test_an_operand_that_is_a_call_or_transposed_is_a_factor_all_the_same() -> None:
    for operand in ("w.T", "f(w)", "net.weight"):
        found = local_derivative("MulBackward0", 0, ["x", operand], "y", {})
        assert found is not None
        assert (found.symbol, found.is_factor) == (operand, True)


LETTERS = """\
import torch

x = torch.tensor(2.0, requires_grad=True)
w = torch.tensor(3.0, requires_grad=True)
a = x * w + 1
b = 10 - a * x
c = b * x + a * w
c.backward()
"""


def test_the_last_operation_of_a_statement_does_not_claim_the_others(tmp_path: Path) -> None:
    graph = graph_of(tmp_path, LETTERS)
    lines = drawn(graph, "teaching").replace("\n =", " =").splitlines()
    assert {"a = f + 1 = 7", "b = 10 - g = -4"} <= set(lines)
    assert [line for line in lines if line.startswith("c = ")] == ["c = j + h = 13"]
    assert {"1", "10"} <= set(drawn(graph, "dataflow").splitlines())  # the constants of the statements


def test_an_unknown_operand_is_told_by_its_number(tmp_path: Path) -> None:
    graph = graph_of(tmp_path, LETTERS.replace("c = ", "k = 4\nc = (k * 5) * b + ").replace("b * x + a * w", "a"))
    assert "□" not in drawn(graph, "dataflow")
    assert "20" in drawn(graph, "dataflow")


def test_the_gradient_of_several_roots_is_of_none_of_them(tmp_path: Path) -> None:
    text = drawn(graph_of(tmp_path, UNBOUND), "dataflow")
    assert "∂root" not in text
    assert text.splitlines().count("grad = 1") == 2


TWICE = """\
import torch

w = torch.tensor(3.0, requires_grad=True)
(w * w * 18).backward()
y = w * 3
y.backward()
with torch.no_grad():
    w -= 0.1
w.grad = None
"""


@pytest.mark.parametrize("view", ["torchviz", "dataflow", "teaching"])
def test_a_gradient_of_two_passes_is_before_and_what_arrived(tmp_path: Path, view: str) -> None:
    text = drawn(graph_of(tmp_path, TWICE), view)
    assert "108 (before) + 3" in text
    assert "111" in text


@pytest.mark.parametrize("view", ["torchviz", "dataflow", "teaching"])
def test_a_pass_that_brought_0_says_what_was_there_before(tmp_path: Path, view: str) -> None:
    text = drawn(graph_of(tmp_path, TWICE.replace("w * 3", "torch.round(w) * 4")), view)
    assert "108 (before) + 0" in text


@pytest.mark.parametrize("view", ["torchviz", "dataflow", "teaching", "autograd", "micrograd"])
def test_each_view_says_what_the_program_did_later(tmp_path: Path, view: str) -> None:
    assert "now 2.9; grad cleared" in drawn(graph_of(tmp_path, TWICE), view)


def test_the_last_step_says_what_the_program_did_later_and_no_earlier_one(tmp_path: Path) -> None:
    graph, options = dataflow(graph_of(tmp_path, TWICE)), RenderOptions()
    steps = steps_of(graph, options)
    (leaf,) = [node.id for node in graph.nodes if node.kind == "leaf"]
    frames = [[text_of(line).strip() for line in at] for at in lines_at(graph, options, steps)[leaf]]
    assert frames[-1][1:] == ["grad = 111", "= 108 (before) + 3", "now 2.9; grad cleared"]
    assert frames[0][1] == "grad = 108"
    assert not any("now" in line for at in frames[:-1] for line in at)


@pytest.mark.parametrize("view", ["dataflow", "teaching"])
def test_parts_that_a_hook_has_changed_are_not_set_out_as_their_sum(tmp_path: Path, view: str) -> None:
    hook = "w.register_hook(lambda grad: grad * 10)"
    program = f"import torch\nw = torch.tensor(1.0, requires_grad=True)\n{hook}\n(w * 2 + w * 3).backward()\n"
    changed, plain = (drawn(graph_of(tmp_path, text), view) for text in (program, program.replace(hook, "")))
    assert "grad = 50" in changed
    assert not re.search(r"[23] \+ [23]", changed)
    assert re.search(r"[23] \+ [23]", plain)


@pytest.mark.parametrize(("numbers", "sign"), [("nan", "nan"), ("inf", "inf")])
def test_a_tensor_with_nan_among_many_says_so(tmp_path: Path, numbers: str, sign: str) -> None:
    program = f"""\
import torch

x = torch.ones(400)
x[7] = float("{numbers}")
w = torch.ones(400, requires_grad=True)
y = (w * x).sum()
y.backward()
"""
    text = drawn(graph_of(tmp_path, program), "dataflow")
    assert f"grad has {sign} ⚠" in text
    assert f"x size 400 has {sign}" in text.replace("\n", "")
    assert "grad now" not in text
    assert "None" not in drawn(graph_of(tmp_path, program), "torchviz")


def test_an_unknown_operand_is_the_same_before_and_after_backward_has_freed_the_graph() -> None:
    from gviz import engine

    w, x = engine.tensor([1.0, 2.0], requires_grad=True), engine.tensor([3.0, 4.0])
    loss = (w * x).sum()
    assert "□ an input that needs no grad" in drawn(gviz.graph(loss, {"w": w}), "torchviz")
    loss.backward()
    assert "□ an input that needs no grad" in drawn(gviz.graph(loss, {"w": w}), "torchviz")


OVERWRITTEN = """\
import torch

w = torch.tensor([1.0, 2.0], requires_grad=True)
loss = 0
for batch in [torch.tensor([3.0, 4.0]), torch.tensor([5.0, 6.0])]:
    loss = loss + ((w * batch) ** 2).sum()
loss.backward()
"""


def test_every_view_says_the_same_of_an_operand_without_a_name(tmp_path: Path) -> None:
    graph = graph_of(tmp_path, OVERWRITTEN)
    reason = "□ an input that needs no grad"
    for view in ("torchviz", "dataflow", "teaching"):
        text = drawn(graph, view)
        assert ("□" in text) == (reason in text), view
    assert reason in drawn(graph, "torchviz")
    assert reason in drawn(graph, "", "w")
    assert reason in str(render(graph, "txt", RenderOptions()))
    assert reason.replace("□", "?") in str(render(graph, "txt", RenderOptions(ascii=True)))
    series.save(graph, str(tmp_path / "step.svg"), RenderOptions())
    assert all(reason in unescape(page.read_text()).replace("\xa0", " ") for page in tmp_path.glob("step-*.svg"))
    assert f"□ is {reason[2:]}" in footnotes(derive(graph))[0]


@pytest.mark.parametrize(
    ("formula", "told"),
    [
        ("h=x; h=tanh(w*h); h=tanh(w*h); y=h-1", {"a": "w * x", "b": "w * h (2nd)", "h": "tanh(b)"}),
        ("y=x*y+w", {"a": "x * y (1st)", "y": "a + w"}),
        ("x=x*w; y=x+x*w", {"x": "x (1st) * w", "a": "x * w", "y": "x + a"}),
    ],
)
def test_a_name_that_is_assigned_again_is_told_from_the_earlier_tensor(formula: str, told: dict[str, str]) -> None:
    shown = dataflow(gviz.read(formula, gviz.SourceOptions(flow=True), say=lambda _: None).graph)
    texts = {node.name: node.expression for node in shown.nodes if node.kind == "operation"}
    assert {name: texts[name] for name in told} == told


def test_the_title_of_a_circuit_has_each_statement_of_a_name() -> None:
    graph = gviz.read("h=x; h=tanh(w*h); h=tanh(w*h); y=h-1", gviz.SourceOptions(flow=True), say=lambda _: None).graph
    svg = str(render(graph, "svg", RenderOptions(view="circuit")))
    text = "".join(re.findall(r">([^<>]+)</t", svg))
    assert "h (2nd)  =  tanh(wx)" in text
    assert "h  =  tanh(w · h (2nd))" in text


BESIDE = "L2=(w*x)**2; M=L2+w"


def test_a_derivative_with_two_values_has_its_sign_for_the_sum_alone() -> None:
    said = gviz.explain(BESIDE, "w", w=2.8, x=2, say=lambda _: None)
    assert [line.strip() for line in said.text().splitlines() if "∂M/∂w =" in line] == [
        "∂M/∂w = 22.4 + 1 = 23.4 = w.grad"
    ]
    graph = gviz.read(BESIDE, gviz.SourceOptions(flow=True, values={"w": 2.8, "x": 2}), say=lambda _: None).graph
    assert "∂M/∂w" not in drawn(graph, "dataflow")
    steps = steps_of(dataflow(graph), RenderOptions())
    captions = [text_of(line) for step in steps for line in step.caption]
    assert not any("∂M/∂w = 1" in text for text in captions)
    assert any("to w:  ∂M/∂M · local derivative = 1 · 1 = 1" in text for text in captions)
