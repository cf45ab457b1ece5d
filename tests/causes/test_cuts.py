"""``gviz why`` of tensors that were cut off: each way from the tensor to the root is told, and what is proposed mends it."""

from __future__ import annotations

from pathlib import Path

import pytest
from mended import has_gradient, is_code, mended

import gviz as package
from gviz import SourceOptions
from gviz.causes.why import why
from gviz.graphs import Graph

ENGINES = ["gviz", pytest.param("torch", marks=pytest.mark.torch)]

pytestmark = pytest.mark.filterwarnings("ignore::gviz.GvizWarning", "ignore::UserWarning")


def graph_of(folder: Path, program: str, engine: str) -> Graph:
    if engine == "torch":
        pytest.importorskip("torch")
    (folder / "program.py").write_text(program)
    graph: Graph = package.read(folder / "program.py", SourceOptions(diagnose=True, engine=engine), rootless=True).graph
    return graph


TRAINING = """\
import torch
from torch import nn
torch.manual_seed(0)
{}
for one in [*globals().values()]:
    if isinstance(one, nn.Module):
        torch.optim.SGD(one.parameters(), lr=0.1).step()
"""

WAYS: dict[str, tuple[str, str, list[int], list[str]]] = {
    "numpy_on_the_main_way": (
        "net.bias",
        """\
import numpy as np
net = nn.Linear(3, 1)
x, y = torch.randn(6, 3), torch.randn(6, 1)
hist = []
for i in range(3):
    pred = net(x)
    res = torch.from_numpy(np.abs(pred.detach().numpy() - y.numpy()))
    loss = res.mean() + 1e-3 * net.weight.data.pow(2).sum()
    hist.append(loss)
final = torch.stack(hist).sum()
final.requires_grad_(True)
final.backward()
""",
        [10, 14],
        ["compute it with torch: numpy keeps no graph"],
    ),
    "detach_and_item": (
        "A.weight",
        """\
A, B = nn.Linear(3, 3), nn.Linear(3, 1)
x, y = torch.randn(6, 3), torch.randn(6, 1)
for i in range(2):
    h = A(x)
    la = (B(h.detach()) - y).pow(2).mean()
    lb = h.pow(2).mean().item()
    print(h.sum().item())
    loss = la + 0.1 * lb
    loss.backward()
""",
        [8, 9],
        ["la = (B(h) - y).pow(2).mean()", "lb = h.pow(2).mean()"],
    ),
    "both_sides_of_a_loss": (
        "enc.weight",
        """\
enc, pred = nn.Linear(4, 3), nn.Linear(3, 3)
def D(p, z):
    return -nn.functional.cosine_similarity(p, z.detach(), dim=-1).mean()
x1, x2 = torch.randn(5, 4), torch.randn(5, 4)
z1, z2 = enc(x1), enc(x2)
p1 = pred(z1.detach())
loss = D(p1, z2)
loss.backward()
""",
        [9, 6],
        [
            "p1 = pred(z1)",
            "return -nn.functional.cosine_similarity(p, z, dim=-1).mean()",
        ],
    ),
    "one_of_two_in_a_line": (
        "theta",
        """\
theta = nn.Parameter(torch.randn(4))
lp = torch.log_softmax(theta, 0)
reward = torch.tensor([1.0, 2.0, 0.5, 3.0])
loss = -(lp.detach() * reward.detach()).mean()
loss.requires_grad_(True)
loss.backward()
""",
        [7, 8],
        ["loss = -(lp * reward.detach()).mean()"],
    ),
    "straight_through_with_one_too_many": (
        "enc.weight",
        """\
enc, dec = nn.Linear(4, 3), nn.Linear(3, 4)
x = torch.randn(5, 4)
y = torch.softmax(enc(x), -1)
hard = torch.nn.functional.one_hot(y.argmax(-1), 3).float()
z = hard - y.detach() + y.detach()
loss = (dec(z) - x).pow(2).mean()
loss.backward()
""",
        [8],
        ["z = hard - y.detach() + y"],
    ),
    "straight_through_on_the_wrong_side": (
        "code.weight",
        """\
code, dec = nn.Embedding(5, 3), nn.Linear(3, 3)
z = torch.randn(6, 3, requires_grad=True)
q = code(torch.tensor([0, 1, 2, 3, 4, 0]))
commit = (z - q.detach()).pow(2).mean()
q = z.detach() + (q - z).detach()
loss = dec(q).pow(2).mean() + commit
loss.backward()
""",
        [7],
        ["commit = (z - q).pow(2).mean()"],
    ),
    "a_number_that_goes_through_a_list_and_a_mean": (
        "net.weight",
        """\
net = nn.Linear(3, 1)
x = torch.randn(4, 3)
losses = []
for i in range(3):
    out = net(x)
    losses.append(float(out.pow(2).mean()))
avg = sum(losses) / len(losses)
final = torch.tensor(avg, requires_grad=True)
final.backward()
""",
        [9, 11],
        ["losses.append(out.pow(2).mean()); and then final = avg"],
    ),
    "a_number_that_a_function_returns": (
        "net.weight",
        """\
net, head = nn.Linear(3, 2), nn.Linear(2, 1)
def penalty(h, log):
    log.append(h.abs().max().item())
    value = h.pow(2).mean().item()
    return h.detach(), value
log = []
h, p = penalty(net(torch.randn(4, 3)), log)
loss = head(h).mean() + p
loss.backward()
""",
        [7, 8],
        ["value = h.pow(2).mean()", "return (h, value)"],
    ),
    "two_cuts_on_one_way": (
        "a.weight",
        """\
a, b, c = nn.Linear(3, 3), nn.Linear(3, 3), nn.Linear(3, 1)
x = torch.randn(4, 3)
h = a(x).detach()
g = b(h).detach()
loss = c(g).pow(2).mean()
loss.backward()
""",
        [6, 7],
        ["h = a(x); and then g = b(h)"],
    ),
    "a_function_that_two_losses_call": (
        "b.weight",
        """\
a, b, c = nn.Linear(3, 3), nn.Linear(3, 3), nn.Linear(3, 1)
def frozen(h):
    return h.detach()
x = torch.randn(4, 3)
other = c(frozen(a(x))).mean()
loss = c(frozen(b(x))).pow(2).mean()
loss.backward()
""",
        [6],
        ["return h"],
    ),
    "a_list_of_numbers_and_constants": (
        "net.weight",
        """\
net = nn.Linear(3, 1)
a = net(torch.randn(4, 3)).mean()
b = a * 2
loss = torch.tensor([a.item(), b.item(), 1.0], requires_grad=True).sum()
loss.backward()
""",
        [7],
        ["loss = torch.stack([a, b, torch.tensor(1.0)]).sum()"],
    ),
}
"""Of each: the tensor, the program after three lines of imports, the lines that are named, and the mends."""


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("case", WAYS)
def test_each_way_is_told_with_its_line_and_each_mend_mends(tmp_path: Path, case: str, engine: str) -> None:
    name, rest, lines, mends = WAYS[case]
    program = TRAINING.format(rest)
    cause = why(graph_of(tmp_path, program, engine), name)
    assert [place.line for place, _ in cause.lines] == lines, cause
    assert cause.mend.split("; or ") == mends, cause
    for mend in mends:
        if is_code(mend.split("; and ")[0]):
            assert has_gradient(graph_of(tmp_path, mended(program, cause, mend), engine), name), mend
