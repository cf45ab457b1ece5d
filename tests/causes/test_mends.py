"""Each line that ``gviz why`` writes anew runs, and brings the gradient back; where none is known, it says so in words."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import pytest
from mended import has_gradient, mended

import gviz as package
from gviz import SourceOptions
from gviz.causes.fixes import out_of_place
from gviz.causes.why import why
from gviz.graphs import Graph

pytestmark = pytest.mark.filterwarnings("ignore::gviz.GvizWarning", "ignore::UserWarning")

HEAD = """\
import math
import numpy as np
import torch
import torch.nn.functional as F
from torch import nn
torch.manual_seed(0)
"""

WRITTEN = """\
w, b = torch.rand(3, 4, requires_grad=True), torch.rand(3, 4)
y = torch.exp(w)
z = 2 * y.sum()
{}
(z + y.sum()).backward()
assert w.grad.any()
"""

WRITES = (
    "y += 1", "y -= b", "y *= 2", "y /= 2", "y **= 2", "y[0] = 0", "y[:, 0] += 1", "y[y > 1] = 0.0", "y[0].mul_(3)",
    "y[1:].zero_()", "y.view(-1).mul_(2)", "y.detach().mul_(2)", "y.add_(1)", "y.sub_(b, alpha=0.1)", "y.mul_(b)",
    "y.addcmul_(b, b)", "y.bernoulli_(0.5)", "y.clamp_(min=0.5)", "y.copy_(b)", "y.cumsum_(0)", "y.exponential_()",
    "y.fill_(3.0)", "y.fill_diagonal_(0.0)", "y.index_add_(0, torch.tensor([0]), b[:1])", "y.lerp_(b, 0.5)",
    "y.masked_fill_(y > 1, 0)", "y.masked_scatter_(y > 1, b)", "y.nan_to_num_()", "y.neg_()", "y.normal_()",
    "y.pow_(2)", "y.put_(torch.tensor([0]), torch.tensor([1.0]))", "y.random_(0, 5)", "y.relu_()", "torch.relu_(y)",
    "y.renorm_(2, 0, 1.0)", "y.scatter_(1, torch.zeros(3, 1, dtype=torch.long), 0.5)", "y.sqrt_()", "y.triu_()",
    "y.uniform_(0, 1)", "y.zero_()", "torch.nn.init.zeros_(y)", "y *= 1 - float(b[0, 0] > 9)", "y[0] = torch.sin(y[1])",
    "y.index_copy_(0, torch.tensor([0]), y[1:2] * y[2:])",
)  # fmt: skip
"""Writes into what exp has saved."""

TAKEN = (
    "torch.clamp(x, max=p.item() / 2)", "x ** p.item()", "x * math.exp(p.item())", "x * math.sqrt(float(p))",
    "x.clone().fill_(p.item())", "x.masked_fill(x > 0, p.item())", "torch.where(x > 0, p.item(), x)",
    "torch.tensor([p.item(), 1.0]) * x[0, 0]", "x * max(p.item(), 0.1)", "torch.lerp(x, x * 2, p.item())",
    "torch.distributions.Normal(0.0, p.item()).log_prob(x)", "torch.Tensor([p]) * x", "x * torch.tensor(p.tolist())",
    "x * torch.as_tensor(p.item())", "x * (p.item() if p.item() > 0 else 0.0)", "torch.mul(x, float(p.detach()))",
    "x * torch.tensor([p.item(), float(len(x))]).sum()", "x * sum(map(abs, [p.item()]))",
)  # fmt: skip
"""Numbers in whose place a tensor may stand."""

REFUSED = {
    "F.leaky_relu(x, p.item())": "F.leaky_relu()", "F.elu(x, alpha=p.item())": "F.elu()",
    "F.softplus(x, beta=p.item())": "F.softplus()", "x[:, :int(p * 2)]": "int()", "x * round(p.item(), 2)": "round()",
    "torch.linspace(0, p.item(), 5)": "torch.linspace()", "F.dropout(x, p.item())": "F.dropout()",
    "torch.arange(0, p.item(), 0.25)": "torch.arange()", "F.hardtanh(x, -p.item(), p.item())": "F.hardtanh()",
    "sum(x[0, i] for i in range(int(p * 2)))": "int()", "torch.full_like(x, p.item())": "torch.full_like()",
    "F.smooth_l1_loss(x, x * 2, beta=p.item())": "F.smooth_l1_loss()", "x.new_full((3,), p.item())": "x.new_full()",
    "torch.normal(0.0, p.item(), (3, 3))": "torch.normal()", "F.layer_norm(x, (3,), eps=p.item())": "F.layer_norm()",
    "torch.addcmul(x, x, x, value=p.item())": "torch.addcmul()", "torch.full((5, 4), float(p))": "torch.full()",
    "torch.scalar_tensor(p.item())": "torch.scalar_tensor()",
    "torch.stack([*map(torch.tensor, (p * x[0]).tolist())])": "map()",
}  # fmt: skip
"""Numbers that no tensor may stand in the place of, each with what takes it."""


def graph_of(folder: Path, program: str) -> Graph:
    (folder / "program.py").write_text(HEAD + program)
    graph: Graph = package.read(folder / "program.py", SourceOptions(diagnose=True), rootless=True).graph
    return graph


def test_each_write_into_a_new_tensor_runs_and_brings_the_gradient(tmp_path: Path) -> None:
    stop = graph_of(tmp_path, "".join(WRITTEN.format(out_of_place(line)) for line in WRITES)).stop
    assert stop is None, stop


def test_a_number_is_left_out_where_a_tensor_may_stand_alone(tmp_path: Path) -> None:
    values = [re.sub(r"\bp\b", f"p{i}", value) for i, value in enumerate((*TAKEN, *REFUSED))]
    leaves = "".join(f"p{i} = torch.tensor(0.9, requires_grad=True)\n" for i in range(len(values)))
    head = f"q, x = torch.ones((), requires_grad=True), torch.rand(3, 3)\n{leaves}"
    lines = [f"y{i} = {value}" for i, value in enumerate(values)]

    def graph_with(lines: Sequence[str]) -> Graph:
        results = ", ".join(f"y{i}" for i in range(len(lines)))
        end = f"loss = sum((q * one).sum() for one in [{results}])\nloss.backward()\n"
        return graph_of(tmp_path, "\n".join([head, *lines, end]))

    graph = graph_with(lines)
    mends = [why(graph, f"p{i}").mend for i in range(len(values))]
    for mend, thing in zip(mends[len(TAKEN) :], REFUSED.values(), strict=True):
        assert mend.endswith(
            f"no gradient goes through this argument of {thing}: compute it with operations on tensors"
        )
    after = graph_with(mends[: len(TAKEN)])
    assert [mend for i, mend in enumerate(mends[: len(TAKEN)]) if not has_gradient(after, f"p{i}")] == []


def test_a_write_through_a_view_is_not_taken_from_the_tensor_behind(tmp_path: Path) -> None:
    program = WRITTEN.format("r = y[0]\nr += 1")
    assert why(graph_of(tmp_path, program), "w").mend.startswith(
        "r is a view, and the tensor behind it is written, too"
    )
    assert graph_of(tmp_path, program.replace("r = ", "y = y.clone(); r = ")).stop is None


LEAVES = {
    "loss = torch.tensor(0.0{})\nfor i in range(3):\n    loss += (w * i).sum()": "loss",
    "loss = torch.zeros(1{})\nfor i in range(3):\n    loss += net(x)[i].pow(2)": "loss",
    "loss = torch.zeros(()){}\nfor i in range(3):\n    part = net(x).mean() + w.sum()\n    loss.add_(part)": "loss",
    "out = torch.zeros(3{})\nfor i in range(3):\n    out[i] = net(x).mean() * i\nloss = out.sum()": "out",
    "h = torch.ones(3, 3{})\nfor i in range(2):\n    h[i + 1] = torch.tanh(h[i] @ w)\nloss = h.sum()": "h",
}
"""Programs that write what is computed into a leaf, each with its name."""


@pytest.mark.parametrize("lines", LEAVES)
def test_a_leaf_that_is_to_hold_results_is_to_require_no_gradient(tmp_path: Path, lines: str) -> None:
    head = "net, x, w = nn.Linear(3, 1), torch.rand(3, 3), torch.rand(3, 3, requires_grad=True)\n"
    flag = ".requires_grad_()" if ")){}" in lines else ", requires_grad=True"
    before, name = graph_of(tmp_path, f"{head}{lines.format(flag)}\nloss.backward()\n"), LEAVES[lines]
    taken = "net.weight" if "net(" in lines else "w"
    for one in (name, taken):
        mend = why(before, one).mend
        assert mend.startswith(f"make {name} without requires_grad, if it is to hold what is computed from "), mend
    program = f"{head}{lines.format('')}\nloss.sum().backward()\n"
    after = graph_of(tmp_path, program)
    if after.stop is not None:  # it is written after it was saved, too
        cause = why(after, taken)
        assert cause.verdict == "written in place"
        after = graph_of(tmp_path, mended(HEAD + program, cause, cause.mend).removeprefix(HEAD))
    assert after.stop is None
    assert has_gradient(after, taken)


@pytest.mark.parametrize(
    ("write", "mend"),
    [
        ("w -= 0.1 * w.grad", "with torch.no_grad(): w -= 0.1 * w.grad"),
        ("w.sub_(rate * g)", "with torch.no_grad(): w.sub_(rate * g)"),
        ("w.clamp_(0, 1)", "with torch.no_grad(): w.clamp_(0, 1)"),
        ("F.relu(w, inplace=True)", "write the result into a new tensor; of a layer, leave out inplace=True"),
        (
            "w += s(w)",
            "make w without requires_grad, if it is to hold what is computed; else with torch.no_grad(): w += s(w)",
        ),
    ],
)
def test_a_leaf_is_written_under_no_grad_by_an_update_alone(tmp_path: Path, write: str, mend: str) -> None:
    program = "rate, w = 0.1, torch.ones(3, requires_grad=True)\ndef s(w): return -w.detach()\nw.sum().backward()\n"
    assert why(graph_of(tmp_path, f"{program}g = w.grad\n{write}\n"), "w").mend == mend


IN_NUMPY = {
    "kept = [net(one).mean().detach().numpy() for one in x]\nloss = torch.tensor(np.mean(kept)).requires_grad_()": "",
    "out = np.dot(x.numpy(), net.weight.detach().numpy().T)\nloss = torch.from_numpy(out - x.numpy()).mean()": "",
    "kept = [net(one).mean().item() for one in x]\nloss = torch.tensor(np.mean(kept), requires_grad=True)": (
        "kept = [net(one).mean() for one in x]; and then {}, in line 9"
    ),
    "out = net(x).tolist()\nloss = torch.tensor(out - np.array([1.0])).mean()": "out = net(x); and then {}, in line 9",
    "out = net(x).tolist()\nloss = torch.tensor(out - x.numpy()).mean()": "out = net(x); and then {}, in line 9",
}
"""Lines with numpy among them, each with what is to be written."""


@pytest.mark.parametrize("lines", IN_NUMPY)
def test_no_line_is_shown_in_which_numpy_would_take_a_tensor_of_the_graph(tmp_path: Path, lines: str) -> None:
    program = f"net, x = nn.Linear(3, 1), torch.rand(2, 3)\n{lines}\nloss.backward()\n"
    words = "compute it with torch: numpy keeps no graph"
    cause = why(graph_of(tmp_path, program), "net.weight")
    assert cause.mend == (IN_NUMPY[lines] or "{}").format(words)
    assert {place.line for place, _ in cause.lines} >= {8, 9}


def test_a_number_that_comes_to_an_index_is_told_in_words(tmp_path: Path) -> None:
    lines = (
        "w, x = torch.tensor(2.0, requires_grad=True), torch.rand(3, requires_grad=True)\nn = int(w)\ny = x[:n].sum()\n"
    )
    mend = why(graph_of(tmp_path, f"{lines}y.backward()\n"), "w").mend
    assert "no gradient goes through" in mend
    kept = "w, kept = torch.ones(3, requires_grad=True), []\nkept.append(w.sum().item())\n"
    loss = "loss = torch.tensor(kept[len(kept) - 1], requires_grad=True)\nloss.backward()\n"
    mend = why(graph_of(tmp_path, f"{kept}{loss}"), "w").mend
    assert mend == "kept.append(w.sum()); and then loss = kept[len(kept) - 1]"


CUT = """\
import copy
net, g = nn.Linear(3, 4), nn.Linear(4, 1)
opt, x = torch.optim.SGD([*net.parameters(), *g.parameters()], 0.1), torch.randn(5, 3)
{}
loss = g(h).pow(2).mean()
loss.backward()
opt.step()
"""

CUTS = {
    "h = torch.Tensor(net(x).detach())": ("detach()", "h = net(x)"),
    "h = nn.Parameter(net(x))": ("nn.Parameter()", "h = net(x)"),
    "h = torch.zeros(5, 4); h.data = net(x)": (".data", "h = net(x)"),
    "h = copy.deepcopy(net(x).detach())": ("detach()", "no gradient goes through this argument of copy.deepcopy()"),
}


@pytest.mark.parametrize("line", CUTS)
def test_what_tells_of_no_call_is_followed_in_the_text(tmp_path: Path, line: str) -> None:
    call, mend = CUTS[line]
    cause = why(graph_of(tmp_path, CUT.format(line)), "net.weight")
    assert (cause.verdict, [place.line for place, _ in cause.lines]) == ("detached", [10])
    assert f"was cut off by {call}" in cause.what
    assert cause.mend.startswith(mend)


def test_one_of_several_numbers_in_a_list_is_not_taken_for_another(tmp_path: Path) -> None:
    program = """\
w, kept = torch.ones(2, requires_grad=True), []
kept.append((w.max().item(), 0.5))
x = torch.tensor([one[1] for one in kept])
loss = (w * x).sum()
loss.backward()
"""
    assert why(graph_of(tmp_path, program), "x").verdict == "frozen"


@pytest.mark.parametrize(
    ("line", "verdict", "mend"),
    [
        ("g = w.grad.mul_(float('nan'))\nprint(g)", "nan", "write finite numbers into w.grad"),
        ("g = torch.nn.utils.clip_grad_norm_([w], float('nan'))\nprint(g)", "nan", "give it a finite bound"),
        ("w.grad.mul_(float('nan'))", "nan", "write finite numbers into w.grad; or leave line 12 out"),
        (
            "g, w.grad = w.grad, None\nprint(g)",
            "taken away",
            "change .grad after step(); or w.requires_grad_(False), if it is not to be trained",
        ),
        (
            "w.grad = None",
            "taken away",
            "run line 12 after step(); or w.requires_grad_(False), if it is not to be trained",
        ),
    ],
)
def test_a_line_that_gives_a_name_is_not_to_be_left_out_nor_moved(
    tmp_path: Path, line: str, verdict: str, mend: str
) -> None:
    program = f"""\
w = torch.ones(2, requires_grad=True)
opt = torch.optim.SGD([w], 0.1)
opt.zero_grad()
loss = (w * 2).sum()
loss.backward()
{line}
opt.step()
"""
    cause = why(graph_of(tmp_path, program), "w")
    assert (cause.verdict, cause.mend) == (verdict, mend)


@pytest.mark.parametrize(
    ("scheduler", "when"),
    [("", ""), ("; torch.optim.lr_scheduler.StepLR(opt, 1)", " before its scheduler is made")],
)
def test_an_optimizer_that_was_made_of_another_module_is_to_be_made_later(
    tmp_path: Path, scheduler: str, when: str
) -> None:
    program = f"""\
import copy
net = nn.Linear(2, 1)
opt = torch.optim.SGD(net.parameters(), 0.1){scheduler}
net = copy.deepcopy(net)
net(torch.ones(2)).sum().backward()
opt.step()
"""
    cause = why(graph_of(tmp_path, program), "net.weight")
    assert [place.line for place, _ in cause.lines] == [9, 10]
    assert cause.mend == (
        "make the optimizer after line 10, where net.weight is made, and with it, or give it to the optimizer's"
        f" add_param_group(){when}"
    )


@pytest.mark.parametrize(("write", "mend"), [("zero_()", "y = y.clone(); y.zero_()"), ("mul_(3)", "y = y.mul(3)")])
@pytest.mark.parametrize("lines", ["y = torch.exp(w); z = y.sum()", "y = 2 * w; z = (y**2).sum()"])
def test_a_write_that_autograd_does_not_see_is_told(tmp_path: Path, lines: str, write: str, mend: str) -> None:
    program = f"w = torch.ones(3, requires_grad=True)\n{lines}\ny.data.{write}\nz.backward()\n"
    cause = why(graph_of(tmp_path, program), "w")
    assert (cause.verdict, [place.line for place, _ in cause.lines]) == ("written in place", [8, 9])
    assert cause.mend == mend
    mended = why(graph_of(tmp_path, program.replace(f"y.data.{write}", cause.mend)), "w")
    assert mended.what == "w has a gradient, which is finite and not 0"


def test_a_write_that_nobody_sees_but_that_nothing_had_saved_is_no_fault(tmp_path: Path) -> None:
    lines = "w = torch.ones(3, requires_grad=True)\ny = 2 * w\ny.data.mul_(3)\n(y * w).sum().backward()\n"
    cause = why(graph_of(tmp_path, lines), "w")
    assert (cause.verdict, cause.what) == ("ok", "w has a gradient")


@pytest.mark.parametrize(
    ("lines", "mend"),
    [
        ("ys = [torch.exp(w)]; z = ys[0].sum(); ys[0] += 1", "write the result into a new tensor"),
        ("y = w * w; z = y.sum()\nwith torch.no_grad(): w.mul_(2)", "call backward() before w is written"),
        ("y = torch.exp(w); z = y.sum(); x = y; y += 1", "y = y + 1; and x = y after it, if both are to change"),
    ],
)
def test_a_write_that_no_line_does_without_is_told_in_words(tmp_path: Path, lines: str, mend: str) -> None:
    program = f"w = torch.ones(3, requires_grad=True)\n{lines}\nz.backward()\n"
    assert why(graph_of(tmp_path, program), "w").mend.startswith(mend)


LARGE = """\
net, x = nn.Sequential(nn.Linear(3, 4)), torch.rand(2, 3)
{}
loss = h.mean()
loss.backward()
"""

OPERANDS = {
    "h = torch.exp(net(x * 2000).abs())": "net(x * 2000).abs()",
    "h = net[0](x * 2000).abs().exp()": "net[0](x * 2000).abs()",
    "h, g = (net(x).abs() * 2000).chunk(2, 1); h = h + torch.exp(g)": "g",
    "y = net(x).abs(); h = torch.exp(-y) + torch.exp(2000 * y)": "2000 * y",
    "h = torch.log(net(x) * torch.zeros(()))": "net(x) * torch.zeros(())",
    "p = torch.log(-torch.ones(4)); h = net(x) * p": "-torch.ones(4)",
}
"""Lines with an operation whose input is to be kept small, or above 0, each with that input."""


@pytest.mark.parametrize("line", OPERANDS)
def test_the_input_of_an_operation_is_written_as_its_line_has_it(tmp_path: Path, line: str) -> None:
    cause, operand = why(graph_of(tmp_path, LARGE.format(line)), "net.0.weight"), OPERANDS[line]
    better = re.search(r"as (\S.*?\.clamp\(\S+\)) does", cause.mend)
    assert better is not None, cause.mend
    assert better[1].partition(".clamp")[0].strip("()") == operand.strip("()")
    after = graph_of(tmp_path, LARGE.format(line[::-1].replace(operand[::-1], better[1][::-1], 1)[::-1]))
    grad = next(row.grad.value for row in after.tensors if row.name == "net.0.weight")
    assert grad is not None
    assert grad.is_finite


def test_what_is_to_be_written_twice_is_told_in_words_where_it_is_a_call(tmp_path: Path) -> None:
    mends = [
        why(graph_of(tmp_path, LARGE.format(line)), "net.0.weight").mend
        for line in ("h = net(x).round()", "y = net(x); h = y.round()")
    ]
    assert mends[0].endswith("lets the gradient through; input stands for what round takes")
    assert mends[1].endswith("y + (y.round() - y).detach() lets the gradient through")
