"""``gviz why`` of mistakes that programs of people had: the line is told, and the mend, made in the program, helps."""

from __future__ import annotations

from pathlib import Path

import pytest
from mended import mended

import gviz as package
from gviz import SourceOptions
from gviz.causes.assignments import Assignments
from gviz.causes.layers import causes_in
from gviz.causes.why import why
from gviz.graphs import Graph, TensorRow

ENGINES = ["gviz", pytest.param("torch", marks=pytest.mark.torch)]

pytestmark = pytest.mark.filterwarnings("ignore::gviz.GvizWarning", "ignore::UserWarning")

HEAD = """\
import torch
from torch import nn
import torch.nn.functional as F
torch.manual_seed(0)
"""

PROGRAMS = {
    "values that are a constant in an advantage alone": (
        "v.weight",
        """\
v, p, x = nn.Linear(2, 1), nn.Linear(2, 1), torch.ones(3, 2)
opt = torch.optim.SGD([*v.parameters(), *p.parameters()], 0.1)
value = torch.tensor([v(one).item() for one in x])
advantage = 1.0 - value.detach()
fit = (1.0 - value).pow(2).mean()
loss = (p(x).squeeze(1) * advantage).mean() + fit
loss.backward()
opt.step()
""",
        "detached",
        "was cut off by item()",
        [7],
        "value = torch.hstack([v(one) for one in x])",
    ),
    "values that are a constant in an advantage, and one in no loss": (
        "v.weight",
        """\
v, p, x = nn.Linear(2, 1), nn.Linear(2, 1), torch.ones(3, 2)
opt = torch.optim.SGD([*v.parameters(), *p.parameters()], 0.1)
value = v(x).squeeze(1).detach()
advantage = (1.0 - value).detach()
policy = (p(x).squeeze(1) * advantage).mean()
fit = (value - 1.0).pow(2).mean()
loss = policy + fit
loss.backward()
opt.step()
""",
        "detached",
        "was cut off by detach()",
        [7],
        "value = v(x).squeeze(1)",
    ),
    "what an estimator with a detach() of its own takes": (
        "enc.weight",
        """\
enc, dec, x = nn.Linear(3, 4), nn.Linear(4, 3), torch.randn(5, 3)
opt = torch.optim.SGD([*enc.parameters(), *dec.parameters()], 0.1)
soft = torch.softmax(enc(x), -1).detach()
hard = F.one_hot(soft.argmax(-1), 4).float()
z = hard - soft.detach() + soft
loss = F.mse_loss(dec(z), x)
loss.backward()
opt.step()
""",
        "detached",
        "was cut off by detach()",
        [7],
        "soft = torch.softmax(enc(x), -1)",
    ),
    "numbers of vectors in a list of lists": (
        "net.weight",
        """\
net, head = nn.Linear(3, 1), nn.Linear(2, 1)
outs = []
for x in torch.randn(4, 2, 3):
    outs.append(net(x).squeeze(-1).tolist())
loss = head(torch.tensor(outs)).pow(2).mean()
loss.backward()
""",
        "detached",
        "was cut off by tolist()",
        [8, 9],
        "outs.append(net(x).squeeze(-1)); and then loss = head(torch.stack(outs)).pow(2).mean()",
    ),
    "one of two lines that is to go": (
        "net.weight",
        """\
net = nn.Linear(3, 1)
loss = net(torch.ones(3)).pow(2).sum()
loss = loss.detach()
loss.requires_grad_(True)
loss.backward()
""",
        "false cure",
        "was cut off by detach()",
        [7, 8],
        "leave line 7 out",
    ),
    "a penalty on gradients without a graph": (
        "net.weight",
        """\
net = nn.Linear(3, 1)
opt = torch.optim.SGD(net.parameters(), 0.1)
for i in range(2):
    x = torch.randn(4, 3, requires_grad=True)
    y = torch.tanh(net(x))
    g, = torch.autograd.grad(y.sum(), x, retain_graph=True)
    opt.zero_grad()
    loss = y.mean() + 10 * ((g.norm(dim=1) - 1) ** 2).mean()
    loss.backward()
    opt.step()
""",
        "ok",
        "besides, a part of loss is a constant for it: the gradients that autograd returns have no graph of their own",
        [13, 10],
        "g, = torch.autograd.grad(y.sum(), x, retain_graph=True, create_graph=True)",
    ),
    "steps from .data of gradients without a graph": (
        "w",
        """\
w, b = torch.ones(2, 1, requires_grad=True), torch.zeros(2, requires_grad=True)
x = torch.tensor([[1.0], [2.0]])
inner = (F.linear(x, w, b) - x).pow(2).mean()
grads = torch.autograd.grad(inner, [w, b])
fast = [one.data - 0.1 * g for one, g in zip([w, b], grads)]
loss = F.linear(x, *fast).pow(2).mean()
loss.requires_grad_()
loss.backward()
""",
        "false cure",
        "without create_graph=True; on another way, what is made from w was cut off by .data",
        [9, 8, 11],
        "fast = [one - 0.1 * g for one, g in zip([w, b], grads)]",
    ),
    "the number of a loss": (
        "net.weight",
        """\
net = nn.Linear(3, 1)
x, losses = torch.randn(4, 3), []
for one in x:
    losses.append(net(one).pow(2).mean().item())
loss = sum(losses) / len(losses)
loss.backward()
""",
        "detached",
        "backward did not run: loss has no graph; what is made from it was cut off by item()",
        [10, 8],
        "losses.append(net(one).pow(2).mean())",
    ),
    "states that are rows of one tensor": (
        "W",
        """\
W = torch.randn(4, 4, requires_grad=True)
hs = torch.zeros(5, 4)
for t in range(4):
    hs[t + 1] = torch.tanh(W @ hs[t] + 1)
hs.sum().backward()
""",
        "written in place",
        "a tensor that was saved by @ for backward was written in place afterwards",
        [9, 8],
        "hs = hs.clone(); hs[t + 1] = torch.tanh(W @ hs.clone()[t] + 1)",
    ),
    "a part of the loss that only counts": (
        "net.weight",
        """\
net = nn.Linear(3, 1)
opt = torch.optim.SGD(net.parameters(), 0.1)
x, y = torch.randn(8, 3), torch.ones(8, 1)
out = net(x)
loss = 1 - ((torch.sigmoid(out) > 0.5).float() * y).mean() + 0.1 * out.pow(2).mean()
loss.backward()
opt.step()
""",
        "ok",
        "besides, a part of loss is a constant for it: > has no derivative",
        [10, 9],
        "loss = 1 - (torch.sigmoid(out) * y).mean() + 0.1 * out.pow(2).mean()",
    ),
    "a loop that gives its own name to new tensors": (
        "net.weight",
        """\
net = nn.Linear(3, 1)
for i in range(2):
    net(torch.randn(4, 3)).pow(2).mean().backward()
    with torch.no_grad():
        for p in net.parameters():
            p = p - 0.1 * p.grad
    net.zero_grad()
""",
        "overwritten",
        "and net.weight is as it was: the line gives the name p to a new tensor",
        [10],
        "p -= 0.1 * p.grad",
    ),
    "values written through .data": (
        "net.weight",
        """\
net, scale = nn.Linear(3, 1), nn.Parameter(torch.ones(()))
opt = torch.optim.SGD([scale, *net.parameters()], 0.1)
x, ys = torch.randn(4, 2, 3), torch.zeros(4, 2)
for t in range(2):
    ys.data[:, t] = net(x[:, t]).squeeze(-1)
loss = (ys * scale).sum()
loss.backward()
opt.step()
""",
        "detached",
        "what is made from it was cut off by .data",
        [9],
        "ys[:, t] = net(x[:, t]).squeeze(-1)",
    ),
    "numbers that are taken from themselves": (
        "net.weight",
        """\
net = nn.Linear(3, 2)
x, gain = torch.randn(4, 3), torch.tensor([1.0, 2.0, 3.0, 4.0])
new = F.log_softmax(net(x), 1)[:, 0]
old = F.log_softmax(net(x), 1)[:, 0]
loss = (torch.exp(new - old) * gain).mean()
loss.backward()
""",
        "zero",
        "where new and old, which are the same numbers, are taken from each other",
        [9, 7, 8, 10],
        "loss = (torch.exp(new - old.detach()) * gain).mean()",
    ),
    "two factors that are 0": (
        "A",
        """\
A, x = nn.Parameter(torch.zeros(2, 3)), torch.randn(4, 3)
B = nn.Parameter(torch.zeros(3, 2))
loss = (x @ A.t() @ B.t() + x).pow(2).mean()
loss.backward()
""",
        "zero",
        "the derivative of @ in line 7 for its input is 0 here",
        [7, 6],
        "B = nn.Parameter(torch.ones(3, 2))",
    ),
    "a factor 0 beside a cut": (
        "net.weight",
        """\
net = nn.Linear(3, 1)
x, y = torch.randn(4, 3), torch.ones(4, 1)
def score(p):
    p = p.detach()
    return (p * y).sum()
loss = score(net(x)) + 0.0 * net(x).mean()
loss.backward()
""",
        "zero",
        "is 0 here; on another way, what is made from it was cut off by detach()",
        [10, 8],
        "leave line 8 out",
    ),
    "a head that a loop freezes, too": (
        "net.1.weight",
        """\
net = nn.Sequential(nn.Linear(3, 3), nn.Linear(3, 1))
for p in net.parameters():
    p.requires_grad = False
loss = net(torch.randn(4, 3, requires_grad=True)).sum()
loss.backward()
""",
        "frozen",
        "it does not require a gradient any more",
        [7],
        "p.requires_grad = False; net[1].weight.requires_grad_()",
    ),
    "a state that a method is given again": (
        "net.rnn.weight_hh_l0",
        """\
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = nn.LSTM(3, 2)
    def forward(self, x, state=None):
        y, state = self.rnn(x, state)
        return y, state
net, state = Net(), None
for i in range(2):
    y, state = net(torch.randn(4, 1, 3), state)
    y.sum().backward()
""",
        "second backward",
        "state, made in line 10, links the two",
        [15, 10, 14],
        "y, state = net(torch.randn(4, 1, 3), state); state = tuple(one.detach() for one in state)",
    ),
    "gradients that a function leaves switched off": (
        "net.weight",
        """\
net = nn.Linear(3, 1)
opt = torch.optim.SGD(net.parameters(), 0.1)
def validate():
    torch.set_grad_enabled(False)
    return net(torch.randn(4, 3)).mean()
for i in range(2):
    loss = net(torch.randn(4, 3)).pow(2).mean()
    opt.zero_grad()
    if loss.requires_grad:
        loss.backward()
        opt.step()
    validate()
""",
        "cleared",
        "besides, a later loss has no graph: it was made where gradients are switched off",
        [12, 11, 8],
        "torch.set_grad_enabled(True); loss = net(torch.randn(4, 3)).pow(2).mean()",
    ),
    "gradients that are left switched off, as a call of torch.autograd.grad finds": (
        "net.0.weight",
        """\
net = nn.Sequential(nn.Linear(1, 4), nn.Tanh(), nn.Linear(4, 1))
opt = torch.optim.SGD(net.parameters(), 0.1)
def residual():
    x = torch.rand(4, 1, requires_grad=True)
    u = net(x)
    du, = torch.autograd.grad(u.sum(), x, create_graph=True)
    return (du + u).pow(2).mean()
for i in range(2):
    loss = residual()
    opt.zero_grad()
    loss.backward()
    opt.step()
    torch.set_grad_enabled(False)
    test = net(torch.ones(1, 1)).item()
""",
        "ok",
        "besides, a later u has no graph: it was made where gradients are switched off",
        [15, 9, 17],
        "torch.set_grad_enabled(True)",
    ),
    "a closure that does not call backward": (
        "net.weight",
        """\
net = nn.Linear(3, 1)
opt = torch.optim.LBFGS(net.parameters(), 0.1)
x, y = torch.randn(8, 3), torch.randn(8, 1)
def closure():
    opt.zero_grad()
    loss = (net(x) - y).pow(2).mean()
    return loss
loss = opt.step(closure)
""",
        "backward not run",
        "no backward has run to its end",
        [12],
        "loss = opt.step(lambda: [one := closure(), one.backward()][0])",
    ),
    "a part of the loss that is a number, and a print after backward": (
        "head.weight",
        """\
class Net(nn.Module):
    def forward(self, x):
        return torch.tanh(x)
net, body, head = Net(), nn.Linear(3, 1), nn.Linear(3, 1)
opt = torch.optim.SGD([*body.parameters(), *head.parameters()], 0.1)
x = torch.randn(4, 3)
for i in range(2):
    losses = {"a": body(net(x)).pow(2).mean(), "b": head(net(x)).pow(2).mean()}
    total = losses["a"] + losses["b"].item()
    opt.zero_grad()
    total.backward()
    opt.step()
    print({k: round(v.item(), 3) for k, v in losses.items()})
print(round(losses["b"].item(), 3))
""",
        "detached",
        "was cut off by item()",
        [13],
        "total = losses['a'] + losses['b']",
    ),
    "an inner loop from new leaves": (
        "w",
        """w = nn.Parameter(torch.randn(1, 3))
opt = torch.optim.SGD([w], 0.1)
x = torch.randn(4, 3)
for i in range(2):
    fast = [w.clone().detach().requires_grad_()]
    inner = F.linear(x, *fast).pow(2).mean()
    steps = torch.autograd.grad(inner, fast, create_graph=True)
    fast = [p - 0.1 * g for p, g in zip(fast, steps)]
    loss = F.linear(x, *fast).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
""",
        "detached",
        "was cut off by detach()",
        [9],
        "fast = [w.clone().requires_grad_()]",
    ),
    "a step in .data of a tensor that the loss is made from": (
        "delta",
        """\
base, delta = nn.Linear(2, 2).requires_grad_(False), torch.ones(2, requires_grad=True)
for i in range(2):
    v = base(torch.ones(3, 2))
    v.data += delta
    loss = v.pow(2).mean()
    loss.backward()
""",
        "detached",
        "it was cut off by .data",
        [10, 8],
        "v += delta",
    ),
    "an inner loop over a dictionary": (
        "net.weight",
        """\
net = nn.Linear(2, 1)
opt = torch.optim.SGD(net.parameters(), 0.1)
x = torch.randn(4, 2)
fast = {name: p.clone() for name, p in net.named_parameters()}
inner = torch.func.functional_call(net, fast, (x,)).pow(2).mean()
grads = torch.autograd.grad(inner, list(fast.values()))
fast = {name: (p - g).detach() for (name, p), g in zip(fast.items(), grads)}
fast = {name: p.requires_grad_() for name, p in fast.items()}
outer = torch.func.functional_call(net, fast, (x,)).pow(4).mean()
outer.backward()
opt.step()
""",
        "detached",
        "was cut off by detach()",
        [11],
        "fast = {name: p - g for (name, p), g in zip(fast.items(), grads)}",
    ),
    "a state without its graph": (
        "net.weight",
        """net = nn.Linear(3, 1)
x = torch.randn(4, 3)
state = dict(net.state_dict())
loss = torch.func.functional_call(net, state, (x,)).pow(2).mean() + net.bias.pow(2).sum()
loss.backward()
""",
        "detached",
        "was cut off by net.state_dict()",
        [7],
        "state = dict(net.state_dict(keep_vars=True))",
    ),
}

IN_WORDS = (
    "torch.set",
    "loss = opt",
    "loss = (torch",
    "loss = 1",
    "B = nn",
    "p.requires_grad = False; net",
    "y, state",
)
"""How mends begin that the answer has in words: what is to be chosen, or where it is to be put."""


def graph_of(folder: Path, program: str, engine: str) -> Graph:
    if engine == "torch":
        pytest.importorskip("torch")
    (folder / "train.py").write_text(program)
    options = SourceOptions(diagnose=True, engine=engine)
    graph: Graph = package.read(folder / "train.py", options, rootless=True).graph
    return graph


def row_of(graph: Graph, name: str) -> TensorRow:
    return next(row for row in graph.tensors if row.name == name)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("case", PROGRAMS)
def test_a_mistake_is_told_with_its_line_and_a_mend_that_helps(tmp_path: Path, case: str, engine: str) -> None:
    name, text, verdict, what, lines, mend = PROGRAMS[case]
    before = graph_of(tmp_path, HEAD + text, engine)
    cause = why(before, name)
    assert (cause.verdict, [place.line for place, _ in cause.lines]) == (verdict, lines), cause
    assert what in cause.what
    assert mend in cause.mend or mend.startswith(IN_WORDS)
    after = graph_of(tmp_path, mended(HEAD + text, cause, mend), engine)
    assert after.stop is None
    old, new = row_of(before, name), row_of(after, name)
    assert (old.grad.value, old.numbers) != (new.grad.value, new.numbers)
    assert why(after, name).verdict in ("ok", "cleared", "accumulated")


CHOICE = """\
net = nn.Linear(3, 3)
z = torch.softmax(net(torch.randn(4, 3)), -1)
hard = torch.zeros_like(z).scatter_(1, z.argmax(1, keepdim=True), 1.0)
st = hard - z.detach() + z
loss = (st * torch.arange(3.0)).sum(1).mean()
loss.backward()
"""
"""A straight-through estimator as it should be."""

TARGET = """\
net = nn.Linear(3, 1)
q = net(torch.randn(4, 3))
with torch.no_grad():
    y = 1 + 0.9 * net(torch.randn(4, 3))
loss = F.mse_loss(q.round(), y)
loss.backward()
"""
"""A rounded value, beside a target that has no graph on purpose."""

PADDED = """\
net = nn.Embedding(3, 2, padding_idx=0)
loss = net(torch.tensor([0, 0])).sum()
loss.backward()
"""


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    ("text", "told", "other"),
    [
        (CHOICE, "which is finite and not 0", "argmax"),
        (TARGET, "the derivative of round in line 9 for q is 0 here", "no_grad"),
        (PADDED, "all rows that are looked up are padding, or what comes to them cancels out", "flat"),
    ],
    ids=["a choice let through", "a target beside a rounding", "padding alone"],
)
def test_nothing_is_said_of_what_is_written_on_purpose_or_cannot_be(
    tmp_path: Path, text: str, told: str, other: str, engine: str
) -> None:
    cause = why(graph_of(tmp_path, HEAD + text, engine), "net.weight")
    assert told in cause.what
    assert other not in f"{cause.what} {cause.mend}"


CONSTANTS = """\
import numpy as np
net, head = nn.Linear(2, 2), nn.Linear(2, 1)
opt = torch.optim.SGD([{}, *head.parameters()], 0.1)
x = torch.ones(4, 2)
y = net(x).detach()
g = torch.from_numpy(np.clip(net(x).detach().numpy(), 0, 1))
loss = head(y + g).mean() {}
opt.zero_grad()
loss.backward()
opt.step()
"""


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", ["y", "g"])
def test_a_tensor_without_graph_may_be_a_constant_where_what_it_comes_from_has_gradients(
    tmp_path: Path, name: str, engine: str
) -> None:
    graphs = [
        graph_of(tmp_path, HEAD + CONSTANTS.format("*net.parameters()", rest), engine)
        for rest in ("", "+ net(x).pow(2).mean()")
    ]
    lost, meant = (why(graph, name) for graph in graphs)
    assert (lost.verdict, lost.is_wrong) == ("detached", True), lost
    assert (meant.verdict, meant.is_wrong, meant.lines) == ("detached", False, lost.lines), meant
    assert meant.mend.startswith(f"none, if {name} is to have no graph; else "), meant


@pytest.mark.parametrize("engine", ENGINES)
def test_a_picture_that_each_step_makes_anew_is_to_be_a_new_leaf_beside_the_data(tmp_path: Path, engine: str) -> None:
    program = """\
net, x = nn.Linear(2, 1), torch.rand(3, 2, requires_grad=True)
adv = x
for i in range(2):
    loss = net(adv).pow(2).mean()
    loss.backward()
    adv = adv + 0.1 * x.grad.sign()
"""
    cause = why(graph_of(tmp_path, HEAD + program, engine), "adv")
    mend = "adv = (adv + 0.1 * x.grad.sign()).detach().requires_grad_()"
    assert (cause.verdict, cause.mend) == ("overwritten", mend), "adv += ... would write into x"
    after = graph_of(tmp_path, mended(HEAD + program, cause, mend), engine)
    assert row_of(after, "x").history.arrivals == 1, "the other gradient came to the new leaf"


WIDEN = (
    "its input lies outside of the bounds, where the slope is 0: bring it within them, or widen them if what follows is"
    " finite there, too"
)

MARGIN_OF_SQUARES = (
    "none, if it is a margin that all examples keep, or free bits; else its input is 0, where x ** n has no slope, or n is 0: see what"
    " makes"
    " it so"
)

BEGINS_AT_0 = (
    "none, if net.k.weight is to begin at 0: a gradient comes to it, and a step changes it; else the other factor is 0, as"
    " net.k.weight is: give it other numbers"
)

MASK = (
    "the other factor is 0, as mask is: if mask is to mask what is used, see why all of it is masked; else give it other"
    " numbers"
)

ZEROS = {
    "zeros that a function writes": (
        "net.2.weight",
        """\
def start(m):
    if isinstance(m, nn.Linear):
        nn.init.zeros_(m.weight)
        nn.init.zeros_(m.bias)
net = nn.Sequential(nn.Linear(2, 3), nn.Tanh(), nn.Linear(3, 2))
net.apply(start)
loss = F.cross_entropy(net(torch.randn(4, 2)), torch.tensor([0, 1, 1, 1]))
""",
        [11, 7],
        "the other factor is 0, as net.0.weight is: give it other numbers",
    ),
    "zeros that a loop over parameters writes": (
        "net.2.weight",
        """\
net = nn.Sequential(nn.Linear(2, 3), nn.Tanh(), nn.Linear(3, 2))
for p in net.parameters():
    nn.init.zeros_(p)
loss = F.cross_entropy(net(torch.randn(4, 2)), torch.tensor([0, 1, 1, 1]))
""",
        [8, 7],
        "the other factor is 0, as net.0.weight is: give it other numbers",
    ),
    "zeros of a parameter of a module": (
        "net.a",
        """\
class Low(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Parameter(torch.zeros(2, 3))
        self.b = nn.Parameter(torch.zeros(3, 2))
    def forward(self, x):
        return x @ self.a @ self.b + x
net = Low()
loss = net(torch.ones(4, 2)).pow(2).mean()
""",
        [11, 12],
        "the other factor is 0, as net.b is: give it other numbers",
    ),
    "a sigmoid between two layers": (
        "net.0.weight",
        """\
net = nn.Sequential(nn.Linear(2, 3), nn.Sigmoid(), nn.Linear(3, 1), nn.Sigmoid())
loss = F.binary_cross_entropy(net(torch.full((4, 2), 1e6)), torch.ones(4, 1))
""",
        [6],
        "it is flat for inputs this large: make them smaller",
    ),
    "a mask that picks nothing": (
        "w",
        """\
w = torch.ones(3, requires_grad=True)
loss = (w * 2)[w > 5].mean()
""",
        [6],
        "see why index picks no element, or leave out a batch of which nothing is picked",
    ),
    "the mean of nothing": (
        "loss",
        """\
w = torch.ones(3, requires_grad=True)
loss = (w * 2)[w > 5].mean()
""",
        [6],
        "mean of no elements is nan: leave out a batch of which nothing is picked",
    ),
    "a division by a number that rounds": (
        "net.weight",
        """\
net = nn.Linear(3, 2)
loss = (torch.div(net(torch.randn(4, 3)), 0.1, rounding_mode="floor") * 0.1).pow(2).mean()
""",
        [6],
        "it has no slope at any input: take a function that has one",
    ),
    "a division by a tensor that rounds": (
        "net.weight",
        """\
net, steps = nn.Linear(3, 2), torch.tensor([0.1, 0.2])
loss = (torch.div(net(torch.randn(4, 3)), steps, rounding_mode="trunc") - 1).pow(2).mean()
""",
        [6],
        "it has no slope at any input: take a function that has one",
    ),
    "a bound that keeps a divisor from 0": (
        "net.weight",
        """\
net = nn.Linear(3, 1)
loss = (1 / (net(torch.randn(4, 3)) - 5).clamp_min(1e-6)).mean()
""",
        [6],
        "give it inputs above its bound",
    ),
    "a layer of which all is cut off, with a layer behind it": (
        "net.0.weight",
        """\
net = nn.Sequential(nn.Linear(3, 2), nn.ReLU(), nn.Linear(2, 1, bias=False))
nn.init.constant_(net[0].bias, -50.0)
loss = net(torch.randn(4, 3)).sum()
""",
        [7],
        "give it inputs above 0, or use a function such as leaky_relu or softplus",
    ),
    "margins beside another loss": (
        "net.weight",
        """\
net = nn.Linear(3, 1)
nn.init.constant_(net.bias, 50.0)
loss = (1 - net(torch.randn(4, 3))).clamp(min=0).squeeze(1).mean() + 0.1 * net.bias.pow(2).sum()
""",
        [7],
        f"none, if it is a margin that all examples keep, or free bits; else {WIDEN}",
    ),
    "squares of margins beside another loss": (
        "net.weight",
        """\
net = nn.Linear(3, 1)
nn.init.constant_(net.bias, 50.0)
loss = (1 - net(torch.randn(4, 3))).clamp(min=0).pow(2).mean() + 0.1 * net.bias.pow(2).sum()
""",
        [7],
        MARGIN_OF_SQUARES,
    ),
    "an output that is cut off": (
        "net.weight",
        """\
net = nn.Linear(3, 1)
nn.init.constant_(net.bias, -50.0)
loss = (net(torch.randn(4, 3)).clamp(min=0) - 1).pow(2).mean()
""",
        [7],
        WIDEN,
    ),
    "a bound that keeps a logarithm from nan": (
        "net.weight",
        "net = nn.Linear(3, 1)\nloss = (net(torch.randn(4, 3)) - 5).clamp(min=1e-6).log().mean()\n",
        [6],
        WIDEN,
    ),
    "a mask that a comparison makes": (
        "net.weight",
        """\
net, x = nn.Linear(3, 2), torch.randn(4, 3)
mask = (x[:, :1] > 9).float()
loss = (net(x).pow(2) * mask).sum() / mask.sum().clamp(min=1)
""",
        [7, 6],
        MASK,
    ),
    "a mask of what is squared": (
        "net.weight",
        """\
net, x = nn.Linear(3, 2), torch.randn(4, 3)
mask = x[:, :1] > 9
loss = ((net(x) - 1) * mask).pow(2).sum()
""",
        [7, 6],
        MASK,
    ),
    "a mask of both sides of a loss": (
        "net.weight",
        """\
net, x = nn.Linear(3, 2), torch.randn(4, 3)
mask = (x[:, :1] > 9).float()
loss = F.mse_loss(net(x) * mask, torch.ones(4, 2) * mask)
""",
        [7, 6],
        MASK,
    ),
    "a gate at 0 of what is squared": (
        "net.weight",
        """\
net, gate = nn.Linear(3, 2), nn.Parameter(torch.zeros(1))
loss = (net(torch.randn(4, 3)) * gate).pow(2).sum()
""",
        [6],
        "none, since loss is 0, and never less",
    ),
    "keys of zeros behind views": (
        "net.q.weight",
        """\
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.q, self.k = nn.Linear(4, 4), nn.Linear(4, 4)
        nn.init.zeros_(self.k.weight); nn.init.zeros_(self.k.bias)
    def forward(self, x):
        return torch.softmax(self.q(x) @ self.k(x).transpose(-1, -2) / 2, -1) @ x
net = Net()
loss = net(torch.randn(2, 3, 4)).pow(2).mean()
""",
        [11, 9],
        BEGINS_AT_0,
    ),
    "a mask that a method draws": (
        "net.weight",
        """\
class DropPath(nn.Module):
    def forward(self, x):
        keep = torch.bernoulli(torch.zeros(x.shape[0], 1))
        return x * keep
net, drop = nn.Linear(3, 3), DropPath()
x = torch.randn(2, 3)
loss = (x + drop(net(x)) - 1).pow(2).mean()
""",
        [8],
        MASK.replace("mask is", "keep is").replace("if mask", "if keep"),
    ),
    "margins of embeddings that all examples keep": (
        "net.weight",
        """\
net = nn.Linear(3, 1)
nn.init.constant_(net.bias, 10.0)
loss = F.hinge_embedding_loss(net(torch.randn(5, 3)), -torch.ones(5, 1)) + net.bias.pow(2).sum()
""",
        [7],
        "none, if it is a margin that all examples keep, or free bits; else give it inputs above its bound",
    ),
    "a where whose other side is cut off": (
        "net.weight",
        """\
net = nn.Linear(3, 1)
nn.init.constant_(net.bias, -10.0)
s = net(torch.randn(5, 3))
loss = (torch.where(s > 0, s, torch.relu(s)) - 1).pow(2).mean()
""",
        [8],
        "give it inputs above 0, or use a function such as leaky_relu or softplus",
    ),
    "a bag of padding": (
        "bag.weight",
        """\
bag = nn.EmbeddingBag(5, 3, padding_idx=0)
loss = (bag(torch.zeros(2, 3).long()) - 1).pow(2).sum()
""",
        [6],
        "look up tokens that are no padding; or see what is taken from what",
    ),
    "a layer of zeros with the learning rate 0": (
        "a.weight",
        """\
a, b, x = nn.Linear(3, 2), nn.Linear(2, 1), torch.randn(4, 3)
nn.init.zeros_(b.weight)
opt = torch.optim.SGD([{"params": a.parameters()}, {"params": b.parameters(), "lr": 0.0}], 0.1)
for i in range(3):
    opt.zero_grad()
    (b(a(x)) - 1).pow(2).mean().backward()
    opt.step()
loss = (b(a(x)) - 1).pow(2).mean()
""",
        [12, 6],
        "the other factor is 0, as b.weight is, and each step() has had the learning rate 0 for it: see what sets it",
    ),
}
"""Of each: the tensor, the program up to its loss, the lines that are named, and the mend."""


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("case", ZEROS)
def test_zeros_are_told_with_what_has_made_them(tmp_path: Path, case: str, engine: str) -> None:
    name, text, lines, mend = ZEROS[case]
    cause = why(graph_of(tmp_path, f"{HEAD}{text}loss.backward()\n", engine), name)
    assert ([place.line for place, _ in cause.lines], cause.mend) == (lines, mend), cause


@pytest.mark.parametrize("engine", ENGINES)
def test_a_fake_that_both_losses_use_is_to_be_cut_off_from_one(tmp_path: Path, engine: str) -> None:
    program = """\
G, D = nn.Linear(2, 1), nn.Linear(1, 1)
fake = G(torch.randn(4, 2)).detach()
d_loss = D(fake).mean()
d_loss.backward()
g_loss = D(fake).pow(2).mean()
g_loss.backward()
"""
    cause = why(graph_of(tmp_path, HEAD + program, engine), "fake")
    assert cause.mend == "fake = G(torch.randn(4, 2)); and d_loss = D(fake.detach()).mean()"


WHERE = "m = nn.Linear(4, 3, bias=False)\nx = torch.randn(6, 4)\nx[0] = 0\nh = m(x)\nn = torch.linalg.vector_norm(h, dim=1)\n"


@pytest.mark.parametrize(
    ("line", "sign", "better"),
    [
        ("torch.where(n == 0, torch.zeros(()), n.log())", "log", "torch.where(n == 0, 1, n).log()"),
        ("torch.where(n == 0, torch.zeros(()), n.rsqrt())", "rsqrt", "torch.where(n == 0, 1, n).rsqrt()"),
        ("torch.where(n != 0, (n + 1).acos(), torch.zeros(()))", "acos", ""),
    ],
    ids=["log", "rsqrt", "acos"],
)
@pytest.mark.parametrize("engine", ENGINES)
def test_an_input_under_where_is_to_be_harmless_before_its_operation(
    tmp_path: Path, line: str, sign: str, better: str, engine: str
) -> None:
    program = f"{HEAD}{WHERE}loss = {line}.mean()\nloss.backward()\n"
    cause = why(graph_of(tmp_path, program, engine), "m.weight")
    told = f"give {sign} harmless inputs where they are not picked, by a torch.where before it: one behind is too late"
    assert (cause.mend == told) == (better != ""), cause  # what is picked may be infinite, too
    if better:
        after = graph_of(tmp_path, program.replace(f"n.{sign}()", better), engine)
        assert why(after, "m.weight").verdict == "ok"


@pytest.mark.parametrize("size", [6, 600])
@pytest.mark.parametrize("engine", ENGINES)
def test_an_input_that_where_picks_is_not_told_as_one_that_it_does_not_pick(
    tmp_path: Path, size: int, engine: str
) -> None:
    loss = "loss = torch.where(d < 1, 0.5 * d ** 2, d - 0.5).mean()\nloss.backward()\n"
    program = f"{HEAD}m, x = nn.Linear(4, 3), torch.randn({size}, 4)\nd = (m(x) - m(x)).pow(2).sum(1).sqrt()\n{loss}"
    cause = why(graph_of(tmp_path, program, engine), "m.weight")
    assert (cause.mend, [place.line for place, _ in cause.lines]) == (FROM_SQRT, [6]), cause


FROM_SQRT = "keep the input of sqrt away from where its derivative is infinite: add a small number, or clamp it"


@pytest.mark.parametrize("size", [6, 600])
@pytest.mark.parametrize("engine", ENGINES)
def test_of_what_where_picks_in_sums_or_in_many_numbers_no_more_is_said_than_is_known(
    tmp_path: Path, size: int, engine: str
) -> None:
    program = f"""{HEAD}m, x = nn.Linear(4, 3), torch.randn({size}, 4)
d = (m(x) - m(x)).pow(2).sqrt(){".sum(1)" * (size == 6)}
loss = torch.where(x.sum(1{", keepdim=True" * (size > 6)}) > 0, d, 0).mean()
loss.backward()
"""
    cause = why(graph_of(tmp_path, program, engine), "m.weight")
    assert "and where where() picks the other side, 0 times inf is nan all the same" in cause.what
    assert cause.mend.endswith("; where they are picked, keep them away from where this is inf")


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    ("line", "mend", "better"),
    [
        ("s.log().mean()", "as s.exp() is", "s.exp().log().mean()"),
        ("s.rsqrt().mean()", "as s.exp() is", "s.exp().rsqrt().mean()"),
        (
            "(s - 200).exp().sum(1).log().mean()",
            "use logsumexp, or the input of exp itself",
            "(s - 200).logsumexp(1).mean()",
        ),
    ],
    ids=["log", "rsqrt", "log of exp"],
)
def test_what_is_all_below_0_gets_a_mend_that_has_a_slope(
    tmp_path: Path, line: str, mend: str, better: str, engine: str
) -> None:
    program = f"{HEAD}net = nn.Linear(3, 2)\ns = net(torch.randn(4, 3)) - 5\nloss = {line}\nloss.backward()\n"
    cause = why(graph_of(tmp_path, program, engine), "loss")
    assert (cause.verdict in ("nan", "inf"), cause.mend.endswith(mend)) == (True, True), cause
    assert why(graph_of(tmp_path, program.replace(line, better), engine), "net.weight").verdict == "ok"


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    "loss", ["torch.softmax(s, 1).pow(2).sum()", "F.cross_entropy(s, torch.arange(3))", "s.max(1)[0].sum()"]
)
def test_a_mask_of_infinities_that_does_no_harm_is_no_fault(tmp_path: Path, loss: str, engine: str) -> None:
    begin = f"{HEAD}net = nn.Linear(4, 3)\ns = net(torch.randn(3, 4)).masked_fill(torch.ones(3, 3).triu(1) > 0, -torch.inf)\n"
    cause = why(graph_of(tmp_path, f"{begin}loss = {loss}\nloss.backward()\n", engine), "s")
    assert cause.mend.startswith("none, if s is masked by it: loss and all gradients are finite; else put in"), cause
    assert not cause.is_wrong
    cause = why(graph_of(tmp_path, f"{begin}loss = {loss} + (s * 0).sum()\nloss.backward()\n", engine), "s")
    assert (cause.is_wrong, cause.mend[:24]) == (True, "put in a finite number i"), cause


CLAMPED = ".clamp(min=1e-6) does, whose slope is 0 there"

FIRST = {
    "exp of what has become -inf, in a sum": (
        "s = torch.zeros(3, requires_grad=True)\nd = -((w / s.sub(1e2).exp()) ** 2)\nloss = d.exp().sum().log()",
        [6],
        "/ makes the first inf, forward",
        "the divisor is too small for its dtype, or for what it divides: compute in float64, or in other units",
    ),
    "a sum of exp without a 0, beside -inf": (
        "m = w.masked_fill(w > 2, -torch.inf)\nz = (m.exp() / m.exp().sum()).sum()\nloss = z + (w - 9).sqrt().sum()",
        [7],
        "sqrt makes the first of them, forward",
        "sqrt is nan below 0: keep its input above it",
    ),
    "a large softmax": (
        "p = torch.softmax(torch.arange(3000.0) * w[0], 0)\nloss = -p.log().mean()",
        [6],
        "log makes the first -inf, forward",
        "log is infinite at 0, and softmax is 0 or 1 here: use log_softmax, or a loss that takes logits",
    ),
    "an operation that is known for no domain": (
        "r = w % torch.zeros(3)\nloss = (r * r).sum()",
        [5],
        "remainder makes the first of them, forward",
        "keep the input of remainder away from where that is so",
    ),
    "a derivative of xlogy": (
        "p = w * torch.tensor([0.0, 1.0, 1.0])\nloss = torch.xlogy(p, p).sum()",
        [6],
        "the derivative of xlogy for p is nan",
        f"xlogy, or a derivative of it, is not finite at 0: keep its input above 0, as p{CLAMPED}",
    ),
}
"""Of each: the program, the lines that are named, what began, and the mend."""


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("case", FIRST)
def test_what_is_not_finite_is_told_where_it_began(tmp_path: Path, case: str, engine: str) -> None:
    text, lines, what, mend = FIRST[case]
    program = f"import torch\nfrom torch import nn\nw = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)\n\n{text}\n"
    cause = why(graph_of(tmp_path, f"{program}loss.backward()\n", engine), "w")
    assert ([place.line for place, _ in cause.lines], cause.mend) == (lines, mend), cause
    assert cause.what.partition(": ")[2] == what


BESIDE_WHERE = {
    "a sum that both sides are made from": "d = (n * torch.tensor([0.0, 1, 1])).sum()\nloss = torch.where(d > 1, d, 0.1 * d)",
    "rows that are left out before": "d = n[1:]\nloss = torch.where(d > 1, d, 0.1 * d).mean()",
    "a Huber loss of what is normalized": (
        "e = (h / (n + 1e-6)[:, None] - 1).abs()\nloss = torch.where(e < 1, 0.5 * e ** 2, e - 0.5).mean()"
    ),
    "a sum of which all is picked": "d = (n * torch.tensor([0.0, 1, 1])).sum()\nloss = torch.where(d > 0, d, torch.zeros(()))",
}
"""Programs with a norm of 0, and with a torch.where that has no part in what it brings."""


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("case", BESIDE_WHERE)
def test_a_where_that_hides_nothing_is_not_named(tmp_path: Path, case: str, engine: str) -> None:
    begin = "m, x = nn.Linear(4, 3, bias=False), torch.randn(3, 4)\nx[0] = 0\nh = m(x)\nn = h.pow(2).sum(1).sqrt()\n"
    program = f"{HEAD}{begin}{BESIDE_WHERE[case]}\nloss.backward()\n"
    cause = why(graph_of(tmp_path, program, engine), "m.weight")
    assert (cause.mend, [place.line for place, _ in cause.lines]) == (FROM_SQRT, [8]), cause
    after = graph_of(tmp_path, program.replace(".sum(1).sqrt()", ".sum(1).clamp(min=1e-12).sqrt()"), engine)
    assert why(after, "m.weight").verdict == "ok"


@pytest.mark.parametrize("engine", ENGINES)
def test_under_where_what_makes_the_infinite_factor_of_a_product_is_to_have_harmless_inputs(
    tmp_path: Path, engine: str
) -> None:
    program = "import torch\np = torch.tensor([0.0, 0.5], requires_grad=True)\nlog_p = torch.log(p)\n"
    program += "loss = -torch.where(p > 0, p * log_p, torch.zeros(2)).sum()\nloss.backward()\n"
    cause = why(graph_of(tmp_path, program, engine), "p")
    assert [place.line for place, _ in cause.lines] == [4, 3]
    assert cause.mend.startswith("give log harmless inputs where they are not picked, by a torch.where before it")
    better = program.replace("torch.log(p)", "torch.log(torch.where(p > 0, p, 1))")
    assert why(graph_of(tmp_path, better, engine), "p").verdict == "ok"


@pytest.mark.parametrize(
    ("line", "better"),
    [
        ("x / 0.07 - 3", "the divisor is too small for its dtype, or for what it divides: compute in float64, or in"),
        ("x / torch.full((3,), 0.07).half() - 3", ""),  # an operation on what has no name is not looked at
        ("x / 0 - 3", "it is a division by 0: add a small number to the divisor"),
        ("x.var() - 3", "look at what goes into it: a number that is not finite, or one that is too large for its"),
        ("x[:1].var() - 3", "var of one element is nan: give it more of them"),
    ],
    ids=["a number", "a tensor", "zero", "var", "var of one"],
)
@pytest.mark.parametrize("engine", ENGINES)
def test_what_is_too_large_for_float16_is_no_division_by_0(tmp_path: Path, line: str, better: str, engine: str) -> None:
    program = f"import torch\nx = torch.tensor([8e3, 7e3, 6e3]).half().requires_grad_()\nloss = ({line}).pow(2).sum()\n"
    cause = why(graph_of(tmp_path, f"{program}loss.backward()\n", engine), "x")
    assert cause.mend.startswith(better), cause
    assert "by 0" not in cause.mend or line == "x / 0 - 3"


SHIFTED = """\
import torch
from torch import nn
torch.manual_seed(0)  # of one seed in fifteen the errors cancel out, too
net = nn.Sequential({}, nn.BatchNorm1d(3), nn.ReLU())
h = net(torch.randn(8, 2, 5)[..., {}])
loss = (h - 1).pow(2).mean(){}
loss.backward()
"""


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    ("parts", "is_shift"),
    [
        (("nn.Linear(2, 3)", "0", ""), True),
        (("nn.Conv1d(2, 3, 2)", ":", ""), True),
        (("nn.Linear(2, 3)", "0", " + net[0].bias.sum()"), False),
        (("nn.Linear(2, 3), nn.Tanh()", "0", ""), False),
    ],
)
def test_a_bias_before_a_batch_norm_has_rounding_errors_alone(
    tmp_path: Path, parts: tuple[str, ...], is_shift: bool, engine: str
) -> None:
    causes = {one.name: one for one in causes_in(graph_of(tmp_path, SHIFTED.format(*parts), engine))}
    cause, others = causes["net.0.bias"], [one for name, one in causes.items() if name != "net.0.bias"]
    assert (cause.verdict, cause.is_wrong, "is a rounding error" in cause.what) == (
        ("zero", False, True) if is_shift else ("ok", False, False)
    )
    assert not any("rounding" in one.what for one in others)


NO_SUMS = {
    "begun with a gradient": ("", "b = F.softmax(net(x), 1)\nb.backward(torch.eye(4)[:, :3])"),
    "begun with a gradient, of a batch norm": (
        "nn.BatchNorm1d(3, affine=False)",
        "net(x).backward(torch.eye(4)[:, :3])",
    ),
    "of one of two roots": (
        "",
        "a = net(x)\ntorch.autograd.backward([F.softmax(a, 1).sum(), F.cross_entropy(a, torch.tensor([0, 1, 2, 0]))])",
    ),
    "added to another": ("", "net(x).pow(2).sum().backward()\nF.softmax(net(x), 1).sum().backward()"),
    "of a gain that has become even": (
        "norm := nn.LayerNorm(3)",
        "norm.weight.data = torch.tensor([1.0, 2.0, 3.0])\nnet(x).sum().backward()\nwith torch.no_grad():\n    norm.weight.fill_(1.0)",
    ),
    "of what addmm adds to for each example": (
        "",
        "h = torch.addmm(net(x), x, torch.ones(2, 3))\nnn.BatchNorm1d(3)(h).pow(3).sum().backward()",
    ),
}


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("case", NO_SUMS)
def test_a_gradient_through_a_normalization_is_no_rounding_error_where_it_is_of_no_sum(
    tmp_path: Path, case: str, engine: str
) -> None:
    norm, rest = NO_SUMS[case]
    program = f"{HEAD}x = torch.randn(4, 2)\nnet = nn.Sequential(nn.Linear(2, 3), {norm})\n{rest}\n"
    cause = {one.name: one for one in causes_in(graph_of(tmp_path, program, engine))}["net.0.weight"]
    assert (cause.verdict, "rounding" in cause.what) in (("ok", False), ("accumulated", False)), cause


def test_a_gain_is_what_it_was_when_backward_ran(tmp_path: Path) -> None:
    program = (
        f"{HEAD}net = nn.Sequential(nn.Linear(2, 4), nn.LayerNorm(4))\nopt = torch.optim.SGD(net.parameters(), 0.1)\n"
        "net(torch.randn(5, 2)).sum().backward()\nopt.step()\n"
    )
    cause = {one.name: one for one in causes_in(graph_of(tmp_path, program, "gviz"))}["net.0.weight"]
    assert cause.verdict == "zero", cause


UNTOLD = {
    "mask": "h = m(torch.randn(5, 4)) * torch.tensor([0.0, 1, 1, 1, 1])[:, None]\nloss = (h / h.norm(dim=1)[:, None]).sum()",
    "dropout": "h = F.dropout(m(torch.randn(60, 4)), 0.9)\nloss = (h / h.norm(dim=1, keepdim=True)).sum()",
    "divisor of data": "loss = (m(torch.randn(5, 4)) / torch.tensor([2.0, 0.0, 1.0])).sum()",
    "exp of -inf": "a = m(torch.tensor([[0.0] * 4])) - torch.tensor(float('inf'))\nloss = (m.weight / a.exp().T).sum()",
}


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("case", UNTOLD)
def test_a_divisor_that_a_mask_makes_0_is_no_underflow(tmp_path: Path, case: str, engine: str) -> None:
    program = f"{HEAD}m = nn.Linear(4, 3)\n{UNTOLD[case]}\nloss.backward()\n"
    cause = why(graph_of(tmp_path, program, engine), "m.weight")
    assert cause.verdict in ("nan", "inf")
    assert "its dtype" not in cause.mend


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("write", ["z.data.mul_(2)", "z.data.clamp_(min=1.5)", "z.data[0] = 0.5"])
def test_a_write_by_way_of_data_is_mended_so_that_autograd_sees_it(tmp_path: Path, write: str, engine: str) -> None:
    program = (
        f"{HEAD}m = nn.Linear(4, 4)\nz = torch.exp(m(torch.randn(3, 4)))\n{write}\nloss = z.mean()\nloss.backward()\n"
    )
    before = graph_of(tmp_path, program, engine)
    cause = why(before, "m.weight")
    assert (cause.verdict, ".data" in cause.mend) == ("written in place", False)
    by_hand = {"z.data.mul_(2)": "z = z * 2", "z.data.clamp_(min=1.5)": "z = torch.clamp(z, min=1.5)"}.get(
        write, "z = torch.cat([torch.full((1, 4), 0.5), z[1:]])"
    )
    after, wanted = (graph_of(tmp_path, program.replace(write, one), engine) for one in (cause.mend, by_hand))
    grads = [row_of(graph, "m.weight").grad.value for graph in (after, wanted)]
    assert grads[0] == grads[1]


@pytest.mark.torch
def test_a_view_shows_what_is_nan_and_does_not_make_it(tmp_path: Path) -> None:
    program = """\
m = nn.Linear(4, 4)
s = m(torch.randn(2, 3, 4)).masked_fill(torch.tensor([True, False])[:, None, None], float("-inf"))
loss = m(s.softmax(-1) @ torch.randn(2, 4, 4)).pow(2).sum()
loss.backward()
"""
    cause = why(graph_of(tmp_path, HEAD + program, "torch"), "m.bias")
    assert "view makes" not in cause.what
    assert "domain" not in cause.mend


SUMMED = {
    "of what a function returns": ("loss.backward()", "total = total + step(b)", "total.backward()"),
    "that grows in place": ("loss.backward()", "total += step(b)", "(total / 3).backward()"),
    "of one of them": (
        "loss.backward()",
        "total = step(b) if total == 0 else torch.minimum(total, step(b))",
        "total.backward()",
    ),
    "of a list": ("loss.backward()", "losses.append(step(b))", "sum(losses).backward()"),
}


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("case", SUMMED)
def test_a_sum_of_losses_that_had_their_own_backward_is_one_backward_too_many(
    tmp_path: Path, case: str, engine: str
) -> None:
    own, added, last = SUMMED[case]
    text = f"""\
net, losses, total = nn.Linear(2, 1), [], 0
def step(b):
    loss = net(b).pow(2).mean()
    {{}}
    return loss
for b in torch.randn(3, 4, 2):
    {added}
{{}}
"""
    cause = why(graph_of(tmp_path, HEAD + text.format(own, last), engine), "net.weight")
    root = last.removesuffix(".backward()").strip("()") if "losses" not in last else "sum(losses)"
    assert (cause.verdict, cause.mend) == ("second backward", f"call backward() on loss or on {root}, and not on both")
    for one in (text.format("pass", last), text.format(own, "pass")):
        assert why(graph_of(tmp_path, HEAD + one, engine), "net.weight").verdict in ("ok", "accumulated")


def test_a_line_that_reads_the_shape_alone_is_not_on_the_way_of_the_numbers() -> None:
    flows = Assignments("x = f()\ny = g(x.size(0), x.dtype)\nz = x.view(x.size(0), -1)\n")
    assert [line.statement.lineno for line in flows.readers[None, "x"]] == [3]


@pytest.mark.parametrize("engine", ENGINES)
def test_of_one_line_that_runs_twice_without_gradients_the_switch_of_its_own_run_is_told(
    tmp_path: Path, engine: str
) -> None:
    program = """\
import torch
net = torch.nn.Linear(2, 1)
def forward(x):
    return net(x)
@torch.no_grad()
def collect(x):
    return forward(x)
x = torch.ones(3, 2)
old = collect(x)
torch.set_grad_enabled(False)
loss = (forward(x) * old).sum()
loss.backward()
"""
    graph = graph_of(tmp_path, program, engine)
    for name in ("net.weight", "loss"):
        cause = why(graph, name)
        assert [place.line for place, _ in cause.lines if place.line != 12] == [10], cause
        assert cause.mend == "write torch.set_grad_enabled(True) where gradients are wanted again"


@pytest.mark.parametrize("engine", ENGINES)
def test_of_a_layer_that_runs_in_two_blocks_without_gradients_a_tensor_has_the_block_that_made_it(
    tmp_path: Path, engine: str
) -> None:
    program = """\
import torch
class Q(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.value = torch.nn.Linear(2, 1)
    def forward(self, s):
        h = self.value(s)
        return h - h.mean()
q = Q()
with torch.no_grad():
    a = q(torch.ones(3, 2)).argmax(0).item()
with torch.no_grad():
    best = q(torch.ones(3, 2)).detach()
loss = (q(torch.ones(3, 2)) - best - a).pow(2).mean()
loss.backward()
"""
    assert {place.line for place, _ in why(graph_of(tmp_path, program, engine), "best").lines} == {13}


@pytest.mark.parametrize("engine", ENGINES)
def test_a_parameter_that_a_parametrization_has_replaced_is_no_number_of_python(tmp_path: Path, engine: str) -> None:
    program = """\
import torch
from torch.nn.utils.parametrizations import weight_norm
net = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.Linear(3, 1))
params = list(net.parameters())
opt = torch.optim.SGD(params, lr=0.1)
weight_norm(net[1])
for i in range(2):
    opt.zero_grad()
    loss = net(torch.ones(4, 2)).pow(2).mean()
    loss.backward()
    opt.step()
"""
    assert "numbers" not in why(graph_of(tmp_path, program, engine), "params[2]").mend
