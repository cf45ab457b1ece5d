"""``gviz why`` of tensors that were cut off: each way from the tensor to the root is told, and what is proposed mends it."""

from __future__ import annotations

from pathlib import Path

import pytest
from mended import has_gradient, is_code, mended, parts_of_mend

import gviz as package
from gviz import SourceOptions
from gviz.causes.why import why, why_all
from gviz.graphs import Graph

SMOOTHLY = (
    "compute the loss from something that changes smoothly, or let gradients through a choice:"
    " soft + (hard - soft).detach()"
)

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
    "two_states_in_a_line": (
        "cell.weight_ih",
        """\
cell, head = nn.LSTMCell(2, 3), nn.Linear(3, 1)
x = torch.randn(4, 2)
h, c = torch.zeros(4, 3), torch.zeros(4, 3)
for i in range(3):
    h, c = cell(x, (h, c))
    h, c = h.data, c.data
loss = head(h).pow(2).mean()
loss.backward()
""",
        [9],
        ["leave line 9 out"],
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
    "a_checkpoint_of_detached_data": (
        "layers.0.weight",
        """\
from torch.utils.checkpoint import checkpoint
inp, layers, head = nn.Linear(3, 4), nn.ModuleList([nn.Linear(4, 4), nn.Linear(4, 4)]), nn.Linear(4, 1)
h = inp(torch.randn(5, 3))
for layer in layers:
    h = checkpoint(layer, h.data, use_reentrant=True)
loss = head(h).pow(2).mean()
loss.backward()
""",
        [8],
        [
            "h = checkpoint(layer, h, use_reentrant=False)",
        ],
    ),
    "numbers_in_a_list_of_lists": (
        "att.weight",
        """\
att = nn.Linear(3, 1)
rows = torch.randn(2, 4, 3)
scores = torch.tensor([[att(one).item() for one in row] for row in rows])
loss = (torch.softmax(scores, 1).unsqueeze(-1) * rows).pow(2).sum()
loss.requires_grad_(True)
loss.backward()
""",
        [6, 8],
        ["scores = torch.stack([torch.hstack([att(one).squeeze() for one in row]) for row in rows])"],
    ),
    "a_flag_on_a_loss_whose_name_another_has": (
        "net.weight",
        """\
net = nn.Linear(3, 1)
for phase in ["train", "val"]:
    with torch.set_grad_enabled(phase == "Train"):
        loss = net(torch.randn(4, 3)).pow(2).mean()
    if phase == "train":
        loss.requires_grad = True
        loss.backward()
""",
        [7, 9],
        [
            (
                "take the line, and what is computed from it there, out of "
                "torch.set_grad_enabled(phase == 'Train'); and leave out loss.requires_grad = True"
            )
        ],
    ),
    "a_number_for_the_logarithm_of_a_probability": (
        "policy.weight",
        """\
policy, value, logps, rewards, values = nn.Linear(4, 2), nn.Linear(4, 1), [], [], []
for t in range(5):
    s = torch.randn(4)
    d = torch.distributions.Categorical(logits=policy(s))
    a = d.sample()
    logps.append(d.log_prob(a).item())
    values.append(value(s))
    rewards.append(float(a))
ret, v = torch.tensor(rewards), torch.cat(values)
logp = torch.tensor(logps)
loss = -(logp * (ret - v)).mean() + (v - ret).pow(2).mean()
loss.backward()
""",
        [9, 13],
        ["logps.append(d.log_prob(a)); and then logp = torch.hstack(logps)"],
    ),
    "an_array_of_numpy_that_numbers_are_written_into": (
        "net.weight",
        """import numpy as np
net, head, kept = nn.Linear(4, 1), nn.Linear(3, 1), np.zeros(3, dtype="float32")
for i in range(3):
    kept[i] = net(torch.randn(1, 4)).item()
loss = head(torch.as_tensor(kept)).mean()
loss.backward()
""",
        [7, 8],
        ["compute it with torch: numpy keeps no graph"],
    ),
    "an_argmax_beside_a_target": (
        "q.weight",
        """\
q = nn.Linear(3, 2)
s, s2, r = torch.randn(6, 3), torch.randn(6, 3), torch.randn(6)
pred = q(s).argmax(dim=1).float()
y = r + 0.9 * q(s2).max(1)[0].detach()
loss = (pred - y).pow(2).mean()
loss.requires_grad_(True)
loss.backward()
""",
        [6, 7, 9],
        [SMOOTHLY, "y = r + 0.9 * q(s2).max(1)[0]"],
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
    "a_function_of_the_name_of_a_method": (
        "net.weight",
        """\
net = nn.Linear(3, 1)
opt = torch.optim.SGD(net.parameters(), 0.1)
def step(x):
    return net(x).pow(2).mean().item()
tot = 0.0
for i in range(3):
    tot += step(torch.randn(4, 3))
loss = torch.tensor(tot / 3, requires_grad=True)
loss.backward()
opt.step()
""",
        [7, 11],
        ["return net(x).pow(2).mean(); and then loss = tot / 3"],
    ),
    "a_float_tensor_that_is_made_a_leaf": (
        "net.weight",
        """\
net = nn.Linear(3, 1)
losses = []
for x in torch.randn(6, 3):
    losses.append(float(net(x) ** 2))
loss = torch.FloatTensor(losses).mean()
loss.requires_grad = True
loss.backward()
""",
        [7, 8, 9],
        [
            (
                "losses.append(net(x) ** 2); and then loss = torch.hstack(losses).mean();"
                " and leave out loss.requires_grad = True"
            )
        ],
    ),
    "a_number_in_an_attribute": (
        "net.weight",
        """\
net = nn.Linear(3, 1)
class Loss:
    def __call__(self, p):
        v = p.pow(2).mean()
        self.w = 1 / (v.item() + 1)
        return v.detach() * self.w
crit = Loss()
loss = crit(net(torch.randn(4, 3))) + net.bias.sum()
loss.backward()
""",
        [8, 9],
        ["self.w = 1 / (v + 1)", "return v * self.w"],
    ),
    "a_list_that_keeps_all_runs": (
        "net.weight",
        """\
net, head = nn.Linear(3, 2), nn.Linear(2, 1)
seen = []
for i in range(3):
    h = net(torch.randn(4, 3))
    seen.append(h.pow(2).mean().item())
    loss = head(h.detach()).mean() + sum(seen)
    loss.backward()
""",
        [8, 9],
        [
            "seen.append(h.pow(2).mean()); and then empty seen after each backward()",
            "loss = head(h).mean() + sum(seen)",
        ],
    ),
    "an_attribute_that_keeps_all_runs": (
        "net.fc.weight",
        """\
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc, self.scale, self.mean = nn.Linear(2, 1), nn.Parameter(torch.ones(1)), torch.zeros(())
    def forward(self, x):
        self.mean = 0.9 * self.mean + 0.1 * self.fc(x).mean().item()
        return self.scale * self.mean
net = Net()
for i in range(2):
    loss = net(torch.ones(3, 2)).pow(2).sum()
    loss.backward()
""",
        [9],
        [
            (
                "self.mean = 0.9 * self.mean + 0.1 * self.fc(x).mean();"
                " and then self.mean = self.mean.detach() after each backward()"
            )
        ],
    ),
    "no_slope_on_one_way": (
        "w",
        """\
w = nn.Parameter(torch.randn(3))
loss = w.round().sum() + (w.detach() ** 3).sum()
loss.backward()
""",
        [5],
        [
            "rounding has no slope: w + (w.round() - w).detach() lets the gradient through",
            "loss = w.round().sum() + (w ** 3).sum()",
        ],
    ),
    "an_estimator_on_the_wrong_side": (
        "enc.weight",
        """\
enc, dec = nn.Linear(3, 3), nn.Linear(3, 3)
x, book = torch.randn(4, 3), torch.randn(8, 3)
z = enc(x)
q = book[torch.cdist(z, book).argmin(1)]
q = q + (z - q).detach()
loss = (dec(q) - x).pow(2).mean()
loss.backward()
""",
        [8],
        ["write z + (q - z).detach()"],
    ),
    "three_ways_out_of_a_module": (
        "net.body.weight",
        """\
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body, self.head = nn.Linear(3, 4), nn.Linear(4, 2)
    def forward(self, x):
        h = torch.relu(self.body(x))
        reg = float(h.abs().mean())
        return self.head(h.detach()), {"reg": reg, "aux": self.head(h.data)}
net = Net()
out, info = net(torch.randn(4, 3))
loss = out.mean() + 0.1 * info["reg"] + info["aux"].mean()
loss.backward()
""",
        [10, 11],
        [
            "reg = h.abs().mean()",
            "return (self.head(h), {'reg': reg, 'aux': self.head(h.data)})",
            "return (self.head(h.detach()), {'reg': reg, 'aux': self.head(h)})",
        ],
    ),
    "a_layer_of_the_name_of_a_method": (
        "net.body.weight",
        """\
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body, self.norm = nn.Linear(3, 4), nn.LayerNorm(4)
    def forward(self, x):
        h = self.body(x).detach()
        return self.norm(h)
net = Net()
loss = net(torch.randn(6, 3)).pow(2).mean()
loss.backward()
""",
        [9],
        ["h = self.body(x)"],
    ),
    "numbers_that_are_made_a_variable": (
        "m.weight",
        """\
m = nn.Linear(3, 2)
total = 0
for r in torch.randn(4, 3):
    v = m(r).pow(2).sum().item()
    total = total + v
loss = torch.autograd.Variable(torch.tensor(total), requires_grad=True)
loss.backward()
""",
        [7, 9],
        ["v = m(r).pow(2).sum(); and then loss = total"],
    ),
    "a_tensor_that_is_made_a_variable": (
        "m.weight",
        """\
m = nn.Linear(3, 2)
loss = nn.functional.mse_loss(m(torch.randn(4, 3)).data, torch.randn(4, 2))
loss = torch.autograd.Variable(loss, requires_grad=True)
loss.backward()
""",
        [5, 6],
        [
            (
                "loss = nn.functional.mse_loss(m(torch.randn(4, 3)), torch.randn(4, 2));"
                " and then leave out loss = torch.autograd.Variable(loss, requires_grad=True)"
            )
        ],
    ),
    "a_list_that_each_run_makes": (
        "enc.weight",
        """\
enc, a, b = nn.Linear(3, 3), nn.Linear(3, 2), nn.Linear(3, 2)
for i in range(2):
    h = enc(torch.randn(4, 3))
    outs = [d(h.detach()) for d in (a, b)]
    loss = sum(one.sum() for one in outs)
    loss.backward()
""",
        [7],
        ["outs = [d(h) for d in (a, b)]"],
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
        ["loss = torch.hstack([a, b, torch.tensor(1.0)]).sum()"],
    ),
    "an_advantage_stays_a_constant_in_a_loss_that_is_cut_off": (
        "net.weight",
        """\
net = nn.Linear(3, 1)
values = net(torch.randn(6, 3))
advantage = 1.0 - values
loss = ((values.sigmoid().log() * advantage.detach()).sum() + advantage.pow(2).mean()).data
loss.backward()
""",
        [8, 7],
        ["loss = (values.sigmoid().log() * advantage.detach()).sum() + advantage.pow(2).mean()"],
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
        if all(map(is_code, parts_of_mend(mend))):
            assert has_gradient(graph_of(tmp_path, mended(program, cause, mend), engine), name), mend


@pytest.mark.parametrize("engine", ENGINES)
def test_a_parameter_that_each_pass_makes_anew_is_to_be_written_in_place(tmp_path: Path, engine: str) -> None:
    program = """\
import torch
from torch import nn
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(torch.ones(3, 5))
        self.b = nn.Parameter(torch.ones(3))
    def forward(self, x):
        self.w = nn.Parameter(nn.functional.normalize(self.w, dim=1))
        return nn.functional.linear(x, self.w, self.b)
net = Net()
opt = torch.optim.SGD(net.parameters(), 0.1)
for i in range(3):
    loss = net(torch.ones(6, 5)).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
"""
    cause = why(graph_of(tmp_path, program, engine), "net.w")
    mend = "with torch.no_grad(): self.w.copy_(nn.functional.normalize(self.w, dim=1))"
    assert (cause.verdict, [place.line for place, _ in cause.lines], cause.mend) == ("overwritten", [9], mend), cause
    assert why(graph_of(tmp_path, mended(program, cause, mend), engine), "net.w").verdict == "ok"


@pytest.mark.parametrize("engine", ENGINES)
def test_a_parameter_that_is_made_anew_before_the_optimizer_is_not_overwritten(tmp_path: Path, engine: str) -> None:
    program = """\
import torch
from torch import nn
class Scale(nn.Module):
    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(torch.ones(2))
        self.w = nn.Parameter(self.w * 0.1)
a, b = Scale(), nn.Linear(2, 1)
opt = torch.optim.SGD(b.parameters(), lr=0.1)
loss = (a.w ** 2).sum()
loss.backward()
opt.step()
"""
    cause = why(graph_of(tmp_path, program, engine), "a.w")
    assert (cause.verdict, cause.mend) == (
        "not trained",
        "none, if it is not to be trained; else opt = torch.optim.SGD([*b.parameters(), a.w], lr=0.1)",
    )


@pytest.mark.parametrize("engine", ENGINES)
def test_a_pretrained_embedding_is_frozen_by_its_maker(tmp_path: Path, engine: str) -> None:
    rest = "emb = nn.Embedding.from_pretrained(torch.randn(5, 3))\nhead = nn.Linear(3, 1)\n"
    program = TRAINING.format(f"{rest}loss = head(emb(torch.tensor([1, 2]))).pow(2).mean()\nloss.backward()\n")
    cause = why(graph_of(tmp_path, program, engine), "emb.weight")
    assert cause.mend == "emb = nn.Embedding.from_pretrained(torch.randn(5, 3), freeze=False)", cause
    assert has_gradient(graph_of(tmp_path, mended(program, cause, cause.mend), engine), "emb.weight")


STORIES: dict[str, tuple[str, str, str, list[int], str]] = {
    "the_prediction_of_the_run_before": (
        "net.weight",
        """\
net = nn.Linear(3, 2)
x = torch.randn(4, 3)
prev = None
for i in range(3):
    pred = torch.softmax(net(x), 1)
    loss = pred.pow(2).sum()
    if prev is not None:
        loss = loss + (pred * (pred / prev).log()).sum()
    prev = pred
    loss.backward()
""",
        "second backward",
        [13, 8, 11, 12],
        "prev = pred.detach()",
    ),
    "a_list_of_predictions": (
        "net.weight",
        """\
net = nn.Linear(3, 2)
x = torch.randn(4, 3)
old = [torch.zeros(4, 2)]
for i in range(3):
    pred = net(x)
    loss = (pred - 0.5 * old[-1]).pow(2).sum()
    old.append(pred)
    loss.backward()
""",
        "second backward",
        [11, 8, 9, 10],
        "old.append(pred.detach())",
    ),
    "a_memory_of_results": (
        "net.weight",
        """\
net = nn.Linear(3, 3)
mem = torch.zeros(3)
for i in range(3):
    y = net(torch.randn(3)) + mem
    loss = y.pow(2).sum()
    mem = 0.5 * mem + 0.5 * y
    loss.backward()
""",
        "second backward",
        [10, 9, 7],
        "mem = (0.5 * mem + 0.5 * y).detach()",
    ),
    "a_weight_that_is_computed_once": (
        "v",
        """\
v = nn.Parameter(torch.randn(2, 3))
opt = torch.optim.SGD([v], lr=0.1)
w = v * v.norm(dim=1, keepdim=True)
for i in range(3):
    loss = (torch.randn(4, 3) @ w.t()).pow(2).mean()
    loss.backward(retain_graph=True)
    opt.step()
""",
        "written in place",
        [9, 6, 10],
        "compute w anew before each backward()",
    ),
    "features_that_are_computed_once_without_gradients": (
        "body.weight",
        """\
body, head = nn.Linear(3, 3), nn.Linear(3, 1)
opt = torch.optim.SGD([*body.parameters(), *head.parameters()], lr=0.1)
with torch.no_grad():
    h = body(torch.randn(4, 3))
for i in range(2):
    loss = head(h).pow(2).mean()
    loss.backward()
    opt.step()
""",
        "no_grad",
        [7],
        "take the line, and what is computed from it there, out of torch.no_grad(), and run it before each backward()",
    ),
    "a_decorator": (
        "body.weight",
        """\
body, head = nn.Linear(3, 3), nn.Linear(3, 1)
@torch.no_grad()
def features(x):
    return body(x)
loss = head(features(torch.randn(4, 3))).pow(2).mean()
loss.backward()
torch.optim.SGD(body.parameters(), lr=0.1).step()
""",
        "no_grad",
        [7],
        (
            "compute it outside of torch.no_grad(), which stands above its function in line 5, for each backward() anew;"
            " or, if body.weight is not to be trained, give the optimizer what loss is to train"
        ),
    ),
    "an_attribute_after_the_cut": (
        "net.weight",
        """\
net, head = nn.Linear(2, 2), nn.Linear(2, 1)
x = torch.randn(3, 2)
h = torch.relu(x @ net.weight.detach().T.mT.mT + net.bias)
loss = head(h).pow(2).mean()
loss.backward()
""",
        "detached",
        [6],
        "h = torch.relu(x @ net.weight.T.mT.mT + net.bias)",
    ),
    "a_teacher_after_a_pass_in_eval": (
        "ema.weight",
        """\
net, ema = nn.Linear(3, 1), nn.Linear(3, 1)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for i in range(2):
    x = torch.randn(4, 3)
    loss = (net(x) - ema(x).detach()).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
out = net(torch.randn(2, 3)).sum()
out.backward()
""",
        "not trained",
        [8],
        "none, unless ema.weight is to be trained: loss = (net(x) - ema(x)).pow(2).mean()",
    ),
}
"""Of each: the tensor, the program after three lines of imports, the verdict, the lines that are named, and the mend."""


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("case", STORIES)
def test_a_tensor_that_outlives_its_run_has_its_line_and_its_mend(tmp_path: Path, case: str, engine: str) -> None:
    name, rest, verdict, lines, mend = STORIES[case]
    program = TRAINING.partition("{}")[0] + rest
    cause = why(graph_of(tmp_path, program, engine), name)
    assert (cause.verdict, [place.line for place, _ in cause.lines], cause.mend) == (verdict, lines, mend), cause
    if is_code(mend):
        assert has_gradient(graph_of(tmp_path, mended(program, cause, mend), engine), name)


CALLED = """\
import torch
x, c = torch.tensor(3.0, requires_grad=True), torch.tensor(1.0)
def cube(v):
    return float(v) ** 3
{}y = a + x
y.backward()
"""

CALLS = {
    "a = cube(x)\n": True,
    "print(cube(x))\na = cube(c)\n": False,
    "for one in (x, c):\n    a = cube(one)\n": False,
    "for one in (x, c):\n    a = one.item()\n": False,
}


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(("lines", "is_told"), CALLS.items(), ids=[*map(str, range(len(CALLS)))])
def test_numbers_that_a_function_returns_are_told_only_where_they_surely_come_to_the_root(
    tmp_path: Path, lines: str, is_told: bool, engine: str
) -> None:
    cause = why(graph_of(tmp_path, CALLED.format(lines), engine), "x")
    assert (cause.verdict, "on another way, which may be meant, none comes" in cause.what) == ("ok", is_told)
    assert (cause.mend == "none, unless x is to be trained on that way, too: return v ** 3") == is_told


VAE = """\
import torch
from torch import nn
enc, head, dec = nn.Linear(6, 8), nn.Linear(8, 4), nn.Linear(2, 6)
x = torch.randn(16, 6)
h = torch.relu(enc(x))
mu, logvar = head(h).chunk(2, dim=1)
std = (0.5 * logvar).exp()
{}
loss = (dec(z) - x).pow(2).mean() + 0.5 * (mu.pow(2) + logvar.exp() - logvar - 1).mean()
loss.backward()
"""

OTHER_WAYS = {
    "z = (mu + std * torch.randn_like(std)).detach()": "z = mu + std * torch.randn_like(std)",
    "z = mu.detach() + std * torch.randn_like(std)": "z = mu + std * torch.randn_like(std)",
    "z = mu + std * torch.randn_like(std)": "",
    "z = mu - mu.amax().detach()": "",
    "z = mu + (mu.round() - mu).detach()": "",
    "z = mu / mu.norm().item()": "z = mu / mu.norm()",
}


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(("line", "mend"), OTHER_WAYS.items(), ids=[*map(str, range(len(OTHER_WAYS)))])
def test_a_way_that_a_detach_cuts_off_beside_another_is_told_of_the_one_tensor_that_is_asked_about(
    tmp_path: Path, line: str, mend: str, engine: str
) -> None:
    graph = graph_of(tmp_path, VAE.format(line), engine)
    cause, all_causes = why(graph, "enc.weight"), why_all(graph)
    assert (cause.verdict, cause.is_wrong) == ("ok", False)
    assert cause.mend == (f"none, unless enc.weight is to be trained on that way, too: {mend}" if mend else "")
    assert ("on another way, which may be meant, none comes" in cause.what) == bool(mend)
    assert [place.line for place, _ in cause.lines] == ([10, 8] if mend else [10])
    assert not any(one.mend for one in all_causes if one.verdict == "ok")


PHYSICS = """\
import torch
from torch import nn
torch.manual_seed(0)
net = nn.Sequential(nn.Linear(1, 8), nn.Tanh(), nn.Linear(8, 1))
x = torch.rand(6, 1, requires_grad=True)
u = net(x)
du = torch.autograd.grad(u.sum(), x, create_graph=True)[0]
d2u = torch.autograd.grad(du.sum(), x{}
loss = {} + net(torch.ones(1, 1)).pow(2).mean()
loss.backward()
"""

DERIVATIVES = {
    ", retain_graph=True)[0]": ", retain_graph=True, create_graph=True)[0]",
    ", create_graph=True)[0].detach()": ", create_graph=True)[0]",
    ", create_graph=True)[0]": "",
}
"""Ends of the call of the second derivative, each with that of the mend; "" for what has its graph."""


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(("end", "better"), DERIVATIVES.items(), ids=[*map(str, range(len(DERIVATIVES)))])
def test_a_derivative_without_a_graph_on_one_of_several_ways_is_told_and_is_no_fault(
    tmp_path: Path, end: str, better: str, engine: str
) -> None:
    graph = graph_of(tmp_path, PHYSICS.format(end, "(d2u + torch.sin(x)).pow(2).mean()"), engine)
    cause = why(graph, "net.2.weight")
    assert (cause.verdict, cause.is_wrong, [one.is_wrong for one in why_all(graph)]) == ("ok", False, [False] * 5)
    assert ("on another way, which may be meant, none comes" in cause.what) == bool(better)
    mend = f"d2u = torch.autograd.grad(du.sum(), x{better}" if better else ""
    assert cause.mend == (f"none, unless net.2.weight is to be trained on that way, too: {mend}" if better else "")
    logged = why(graph_of(tmp_path, PHYSICS.format(end, "u.pow(2).mean()"), engine), "net.2.weight")
    assert (logged.verdict, logged.mend) == ("ok", "")


IN_CHUNKS = """\
import torch
from torch import nn
torch.manual_seed(0)
rnn, head = nn.GRU(3, 4, batch_first=True), nn.Linear(4, 3)
opt = torch.optim.SGD([*rnn.parameters(), *head.parameters()], 0.1)
h = torch.zeros(1, 2, 4)
{}for i in range(3):
    x = torch.randn(2, 5, 3)
    {}
    loss = head(out).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step(){}
"""

CHUNKS = {
    "before": ("", "h = h.detach(); out, h = rnn(x, h)", "", ""),
    "after": ("", "out, h = rnn(x, h)", "\n    h = h.detach()", ""),
    "within": ("", "out, h = rnn(x, h.detach())", "", ""),
    "by another name": ("", "out, last = rnn(x, h)", "\n    h = last.detach()", ""),
    "in a function": ("def run(x, state):\n    return rnn(x, state.detach())\n", "out, h = run(x, h)", "", ""),
    "of each step of a sequence": (
        "",
        "h = torch.zeros(1, 2, 4)\n    for t in range(5): out, h = rnn(x[:, t : t + 1], h.detach())",
        "",
        "out, h = rnn(x[:, t:t + 1], h)",
    ),
    "beside one within the pass": (
        "",
        "h = h.detach(); out, h = rnn(x, h)\n    out = out.detach() + h.mean()",
        "",
        "out = out + h.mean()",
    ),
    "beside an exponent that is shifted": (
        "",
        "out, h = rnn(x); h = h - h.max().detach()\n    out = out.detach() + h.mean()",
        "",
        "out = out + h.mean()",
    ),
}
"""Of each: what stands before the loop, in it and at its end, and the mend; "" where a state is taken on to a next pass."""


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("case", CHUNKS)
def test_the_detach_that_keeps_a_pass_from_the_freed_graph_of_the_one_before_is_not_told_with_a_mend(
    tmp_path: Path, case: str, engine: str
) -> None:
    *lines, mend = CHUNKS[case]
    cause = why(graph_of(tmp_path, IN_CHUNKS.format(*lines), engine), "rnn.weight_ih_l0")
    assert cause.verdict == "ok"
    assert cause.mend == (f"none, unless rnn.weight_ih_l0 is to be trained on that way, too: {mend}" if mend else "")


INDICES = {
    "with torch.no_grad(): hard = e.argmax(1)": ("no derivative", SMOOTHLY),
    "with torch.no_grad(): hard = (e > 0)": ("no derivative", SMOOTHLY),
    "hard = e.detach() * 2": ("detached", "hard = e * 2"),
    "with torch.no_grad(): hard = e * 2": (
        "no_grad",
        "take the line, and what is computed from it there, out of torch.no_grad()",
    ),
}
"""Lines that cut a tensor off, each with the verdict and the mend: an index has no graph, wherever it is computed."""


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("line", INDICES)
def test_an_index_is_not_mended_by_gradients_being_recorded_where_it_is_computed(
    tmp_path: Path, line: str, engine: str
) -> None:
    program = (
        "import torch\nnet = torch.nn.Linear(3, 3)\ne = net(torch.randn(4, 3))\n{}\nhard.float().mean().backward()\n"
    )
    cause = why(graph_of(tmp_path, program.format(line), engine), "net.weight")
    assert (cause.verdict, cause.mend) == INDICES[line]


OF_INDICES = {
    "with torch.no_grad(): hard = net(x).argmax(1)": ("no derivative", "argmax() has no derivative"),
    "with torch.no_grad(): hard = (net(x).softmax(1) > 0.5) & (x > 0)": ("no derivative", "> has no derivative"),
    "hard = net(x).detach().argmax(1)": ("no derivative", "argmax() has no derivative"),
    "hard = (net(x).argmax(1) == 1)": ("no derivative", "argmax() has no derivative"),
    "d = net(x).detach(); hard = torch.where(d > 0, d, 0 * d)": ("detached", "it was cut off by detach()"),
    "d = net(x).detach(); hard = d * (net(x) > 0)": ("detached", "it was cut off by detach()"),
    "with torch.no_grad(): p = net(x); hard = p[p > 0]": (
        "no_grad",
        "it was made where gradients are switched off, by torch.no_grad()",
    ),
}
"""Lines, each with the verdict on ``hard``, and what it says of it."""


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("line", OF_INDICES)
def test_an_index_that_is_asked_about_has_no_graph_whatever_it_is_computed_of_and_is_not_told_of_what_it_takes(
    tmp_path: Path, line: str, engine: str
) -> None:
    program = (
        "import torch\ntorch.manual_seed(0)\nnet, x = torch.nn.Linear(3, 3), torch.randn(3, 3)\n"
        f"{line}\nnet(x).mean().backward()\n"
    )
    cause = why(graph_of(tmp_path, program, engine), "hard")
    verdict, clause = OF_INDICES[line]
    assert (cause.verdict, cause.what) == (verdict, f"hard is outside the graph: {clause}")
    assert (SMOOTHLY in cause.mend) == (verdict == "no derivative")
    assert "no_grad" not in cause.mend or verdict == "no_grad"


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    "line",
    [
        "with torch.no_grad(): hard = net(x).argmax(1)",
        "d = net(x).detach(); hard = d.argmax(1)",
        "with torch.no_grad(): hard = torch.tensor([row.argmax().item() for row in net(x)])",
    ],
)
def test_an_index_on_the_way_to_the_root_is_told_and_nothing_that_is_cut_off_before_it(
    tmp_path: Path, line: str, engine: str
) -> None:
    program = (
        "import torch\ntorch.manual_seed(0)\nnet, x = torch.nn.Linear(3, 3), torch.randn(4, 3)\n"
        "head = torch.nn.Embedding(3, 1)\nopt = torch.optim.SGD([*net.parameters(), *head.parameters()], lr=0.1)\n"
        f"{line}\nhead(hard).sum().backward()\nopt.step()\n"
    )
    cause = why(graph_of(tmp_path, program, engine), "net.weight")
    assert cause.verdict == "no derivative"
    assert cause.mend.startswith(SMOOTHLY)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    "line",
    [
        "labels = teacher(x).argmax(1)",
        "labels = teacher(x).detach().argmax(1)",
        "with torch.no_grad(): labels = teacher(x).argmax(1)",
        "labels = (teacher(x)[:, 0] > 0).long()",
    ],
)
def test_a_teacher_that_gives_labels_and_that_no_optimizer_has_is_not_to_be_trained(
    tmp_path: Path, line: str, engine: str
) -> None:
    program = (
        "import torch\ntorch.manual_seed(0)\nteacher, student = torch.nn.Linear(3, 3), torch.nn.Linear(3, 3)\n"
        "opt = torch.optim.SGD(student.parameters(), lr=0.1)\nx = torch.randn(4, 3)\n"
        f"{line}\nloss = torch.nn.functional.cross_entropy(student(x), labels)\nloss.backward()\nopt.step()\n"
    )
    graph = graph_of(tmp_path, program, engine)
    cause = why(graph, "teacher.weight")
    assert (cause.verdict, cause.is_wrong) == ("not trained", False)
    assert cause.what.endswith(
        " has no derivative; so it is with all of teacher, as of a teacher or a target: loss trains others"
    )
    assert why(graph, "student.weight").verdict == "ok"


NUMBERS = {
    "l1 = net.weight.abs().sum().item()": "l1 = net.weight.abs().sum()",
    "l1 = torch.tensor([one.abs().sum() for one in [net.weight]]).sum() * net.bias": (
        "l1 = torch.hstack([one.abs().sum() for one in [net.weight]]).sum() * net.bias"
    ),
    "l1 = math.exp(net.weight.sum())": "l1 = torch.exp(net.weight.sum())",
    "l1 = torch.from_numpy(np.abs(net.weight.detach().numpy())).sum()": ("compute it with torch: numpy keeps no graph"),
    "l1 = net.weight.abs().sum()": "",
    "l1 = 0.0; print(net.weight.abs().sum().item())": "",
    "l1 = net.weight.abs().sum().item(); l1 = 0.0": "",
}


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(("line", "mend"), NUMBERS.items(), ids=[*map(str, range(len(NUMBERS)))])
def test_a_part_of_a_loss_that_is_made_of_numbers_is_told_where_it_surely_comes_to_the_root(
    tmp_path: Path, line: str, mend: str, engine: str
) -> None:
    program = (
        "import math\nimport numpy as np\nimport torch\nnet = torch.nn.Linear(2, 1)\n"
        f"loss = net(torch.ones(3, 2)).pow(2).mean()\n{line}\ntotal = loss + 0.01 * l1\ntotal.backward()\n"
    )
    cause = why(graph_of(tmp_path, program, engine), "net.weight")
    assert (cause.verdict, cause.is_wrong) == ("ok", False)
    assert cause.mend == (f"none, unless net.weight is to be trained on that way, too: {mend}" if mend else ""), cause
    assert [place.line for place, _ in cause.lines] == ([8, 6] if mend else [8])


@pytest.mark.parametrize("engine", ENGINES)
def test_a_call_of_a_long_loop_is_one_place_though_python_comes_to_run_it_in_another_way(
    tmp_path: Path, engine: str
) -> None:
    program = (
        "import torch\nw, v = torch.tensor(1.0, requires_grad=True), torch.tensor(2.0, requires_grad=True)\n"
        "opt = torch.optim.SGD([w, v], 0.1)\nfor step in range(30):\n    opt.zero_grad()\n"
        "    loss = (torch.full((2,), float(w)) * v).sum()\n    loss.backward()\n    opt.step()\n"
    )
    cause = why(graph_of(tmp_path, program, engine), "w")
    assert (cause.verdict, [place.line for place, _ in cause.lines]) == ("detached", [6])
    assert "places" not in cause.what
    assert "before each backward()" not in cause.mend


ENCODER = """\
import torch
from torch import nn
torch.manual_seed(0)
enc, dec, x = nn.Linear(4, 2), nn.Sequential(nn.Linear(2, 3), nn.Tanh(), nn.Linear(3, 4)), torch.randn(3, 4)
{optimizer}
{line}
loss = ((dec(h) - x) ** 2).mean()
loss.backward()
{step}
"""


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    ("line", "mend"),
    [
        ("h = enc(x).data", "h = enc(x)"),
        ("h = enc(x).detach()", "h = enc(x)"),
        ("h = enc(x).detach().requires_grad_()", "h = enc(x).requires_grad_()"),
        ("h = torch.relu(enc(x)).detach() * 2", "h = torch.relu(enc(x)) * 2"),
    ],
)
def test_an_encoder_that_is_cut_off_is_told_with_the_cut_where_no_optimizer_says_what_is_trained(
    tmp_path: Path, line: str, mend: str, engine: str
) -> None:
    program = ENCODER.format(line=line, optimizer="", step="")
    cause = why(graph_of(tmp_path, program, engine), "enc.weight")
    assert (cause.verdict, cause.is_wrong, [place.line for place, _ in cause.lines]) == ("detached", True, [6]), cause
    assert cause.mend == mend
    assert why(graph_of(tmp_path, program.replace(line, mend), engine), "enc.weight").verdict == "ok"
    trained = {"optimizer": "opt = torch.optim.SGD(dec.parameters(), lr=0.1)", "step": "opt.step()"}
    graph = graph_of(tmp_path, ENCODER.format(line=line, **trained), engine)
    assert why(graph, "enc.weight").verdict == "not trained"  # which the optimizer tells: dec alone is
    if "requires_grad" not in line:
        graph = graph_of(tmp_path, program.replace(line, f"with torch.no_grad(): {mend}"), engine)
        assert why(graph, "enc.weight").verdict == "not trained"  # a block around it is meant


GATE = """\
import torch
from torch import nn
torch.manual_seed(0)
lin, gate, out, x = nn.Linear(4, 4), nn.Linear(4, 4), nn.Linear(4, 1), torch.randn(6, 4)
opt = torch.optim.SGD([*lin.parameters(), *gate.parameters(), *out.parameters()], lr=0.1)
def soft(s):
    weight = (s - s.amax(1, keepdim=True).detach()).exp()
    return weight / weight.sum(1, keepdim=True)
h = torch.tanh(lin(x))
{}
loss = out(a * h).pow(2).mean()
loss.backward()
opt.step()
"""

OUT = "take the line, and what is computed from it there, out of torch.no_grad()"

SHUT = {
    "a sound detach() in a function that a block is around": (
        "with torch.no_grad():\n    a = soft(gate(h))",
        ("no_grad", [11], OUT),
        "a = soft(gate(h))",
    ),
    "a sound detach() before the block": (
        "g = gate(h)\nscale = g.abs().max().detach()\nwith torch.no_grad():\n    a = torch.sigmoid(g / scale)",
        ("no_grad", [13], OUT),
        "g = gate(h)\nscale = g.abs().max().detach()\na = torch.sigmoid(g / scale)",
    ),
    "only the shape of what has a graph": (
        "with torch.no_grad():\n    n = torch.arange(4).expand_as(h)\na = gate(h).detach().gather(1, n)",
        ("detached", [12], "a = gate(h).gather(1, n)"),
        "with torch.no_grad():\n    n = torch.arange(4).expand_as(h)\na = gate(h).gather(1, n)",
    ),
    "a detach() within the block": (
        "with torch.no_grad():\n    g = gate(h).detach()\n    a = torch.sigmoid(g)",
        ("no_grad", [11, 12], f"{OUT}; and then g = gate(h)"),
        "g = gate(h)\na = torch.sigmoid(g)",
    ),
    "a detach() between two operations of a line in the block": (
        "with torch.no_grad():\n    a = torch.sigmoid((gate(h) * 2).detach() * 3)",
        ("no_grad", [11], f"{OUT}; and then a = torch.sigmoid(gate(h) * 2 * 3)"),
        "a = torch.sigmoid(gate(h) * 2 * 3)",
    ),
    "a detach() of what the block has made": (
        "with torch.no_grad():\n    g = gate(h)\na = torch.sigmoid(g.detach())",
        ("no_grad", [11, 12], f"{OUT}; and then a = torch.sigmoid(g)"),
        "g = gate(h)\na = torch.sigmoid(g)",
    ),
    "one block after another": (
        "with torch.no_grad():\n    g = gate(h)\nwith torch.no_grad():\n    a = torch.sigmoid(g)",
        ("no_grad", [11, 13], OUT),
        "g = gate(h)\na = torch.sigmoid(g)",
    ),
    "a block that only a log is made in": (
        "with torch.no_grad():\n    print(float(gate(h).mean()))\na = torch.sigmoid(gate(h).detach())",
        ("detached", [12], "a = torch.sigmoid(gate(h))"),
        "a = torch.sigmoid(gate(h))",
    ),
}
"""Cuts of which only one alone, or only all together, would let the gradient through: without them as it should be."""


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("case", SHUT)
def test_a_cut_is_blamed_that_alone_would_let_a_gradient_through_and_else_all_that_are_in_its_way(
    tmp_path: Path, case: str, engine: str
) -> None:
    lines, answer, better = SHUT[case]
    cause = why(graph_of(tmp_path, GATE.format(lines), engine), "gate.weight")
    assert (cause.verdict, [place.line for place, _ in cause.lines], cause.mend) == answer, cause
    assert "places" not in cause.what
    assert has_gradient(graph_of(tmp_path, GATE.format(better), engine), "gate.weight")


@pytest.mark.parametrize("engine", ENGINES)
def test_another_root_is_not_said_to_be_computed_from_one_of_several_results(tmp_path: Path, engine: str) -> None:
    program = """\
import torch
from torch import nn
torch.manual_seed(0)
router, expert, x = nn.Linear(4, 3), nn.Linear(4, 4), torch.randn(5, 4)
opt = torch.optim.SGD([*router.parameters(), *expert.parameters()], lr=0.1)
probability = torch.softmax(router(x), -1)
weight, chosen = probability.detach().topk(2, -1)
share = nn.functional.one_hot(chosen, 3).float().mean((0, 1))
balance = (share * expert(x).mean()).sum()
loss = (expert(x) * weight.sum(-1, keepdim=True)).pow(2).mean()
loss.backward()
opt.step()
"""
    cause = why(graph_of(tmp_path, program, engine), "router.weight")
    assert (cause.verdict, cause.mend) == ("detached", "weight, chosen = probability.topk(2, -1)"), cause
    assert has_gradient(graph_of(tmp_path, program.replace(".detach()", ""), engine), "router.weight")


BUFFER = """\
import random
from collections import deque
import torch
from torch import nn
class Q(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(4, 3)
    def forward(self, s):
        h = self.body(s)
        return h - h.mean(1, keepdim=True)
torch.manual_seed(0)
q, buffer = Q(), deque(maxlen=20)
s = torch.randn(4)
for _ in range(4):
    with torch.no_grad():
        a = q(s[None]).argmax(1).item()
    buffer.append((s, a, random.random() < 0.2))
    s = s + torch.randn(4)
batch = random.sample(list(buffer), 4)
D = torch.tensor([float(one[2]) for one in batch])
loss = (q(torch.stack([one[0] for one in batch])).mean(1) * D).sum()
loss.backward()
"""


@pytest.mark.parametrize("engine", ENGINES)
def test_the_call_of_a_class_or_of_what_is_imported_is_no_call_of_a_layer(tmp_path: Path, engine: str) -> None:
    # deque() hands on nothing of what forward() returns: D has no part of what was made under no_grad().
    assert why(graph_of(tmp_path, BUFFER, engine), "D").verdict == "frozen"


SAMPLER = """\
import torch
net = torch.nn.Linear(2, 1)
{head}def sample(n):
    x = torch.ones(n, 2)
    for k in range(2):
        x.requires_grad_(True)
        h = torch.tanh(net(x))
        e = h.sum()
        (g,) = torch.autograd.grad(e, x)
        x = x - 0.1 * g
    return x
{call}
"""


@pytest.mark.filterwarnings("ignore::gviz.GvizWarning")
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    ("head", "call", "mend"),
    [
        (
            "@torch.no_grad()\n",
            "fake = sample(3)",
            "compute e from x on under torch.enable_grad(), within torch.no_grad()",
        ),
        (
            "",
            "with torch.no_grad():\n    fake = sample(3)",
            "take the line, and what is computed from it there, out of torch.no_grad()",
        ),
    ],
)
def test_a_sampler_without_gradients_that_asks_for_some_is_to_have_them_switched_on_within(
    tmp_path: Path, engine: str, head: str, call: str, mend: str
) -> None:
    program = SAMPLER.format(head=head, call=call)
    for name in ("net.weight", "x"):
        cause = why(graph_of(tmp_path, program, engine), name)
        assert (cause.verdict, cause.mend) in (("no_grad", mend), ("not trained", "none, unless it is to be trained"))
        assert cause.verdict == "no_grad" or name == "x"
    body = "        h = torch.tanh(net(x))\n        e = h.sum()\n"
    on = program.replace(body, "        with torch.enable_grad():\n" + body.replace("        ", " " * 12))
    if head:
        assert graph_of(tmp_path, on, engine).stop is None


@pytest.mark.filterwarnings("ignore::gviz.GvizWarning")
@pytest.mark.parametrize("engine", ENGINES)
def test_of_a_step_along_a_gradient_it_is_not_said_that_none_has_come(tmp_path: Path, engine: str) -> None:
    program = """\
import torch
net = torch.nn.Linear(2, 1)
def sample(n):
    x = torch.ones(n, 2, requires_grad=True)
    for k in range(2):
        with torch.enable_grad():
            e = net(x).sum()
        e.backward()
        x = x - 0.1 * x.grad
    return x
with torch.no_grad():
    fake = sample(3)
"""
    cause = why(graph_of(tmp_path, program, engine), "x")
    assert "no gradient came" not in cause.what
    assert cause.mend == "x -= 0.1 * x.grad; and set its .grad to None after it, as backward() adds to it"


RECORD = """\
from collections import namedtuple
from dataclasses import dataclass
import torch
from torch import nn
{head}
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body, self.head = nn.Linear(4, 3), nn.Linear(3, 1)
    def forward(self, x):
        h = self.body(x)
        y = self.head(h.detach())
        norm = h.norm().item()
        return {value}
net = Net()
for i in range(2):
    out = net(torch.ones(2, 4))
    loss = {y}.pow(2).mean()
    loss.backward()
"""

RECORDS = {
    "dictionary": ("", "{'y': y, 'norm': norm}", "out['y']"),
    "namedtuple": ("Out = namedtuple('Out', 'y norm')", "Out(y, norm)", "out.y"),
    "dataclass": ("@dataclass\nclass Out:\n    y: torch.Tensor\n    norm: float", "Out(y=y, norm=norm)", "out.y"),
}


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("case", RECORDS)
def test_of_several_values_in_one_object_a_number_is_not_said_to_come_to_the_root(
    tmp_path: Path, case: str, engine: str
) -> None:
    head, value, y = RECORDS[case]
    cause = why(graph_of(tmp_path, RECORD.format(head=head, value=value, y=y), engine), "net.body.weight")
    assert "item" not in cause.what
    assert cause.mend == "y = self.head(h)", cause


@pytest.mark.parametrize("engine", ENGINES)
def test_a_variable_of_a_function_keeps_nothing_for_the_next_backward(tmp_path: Path, engine: str) -> None:
    program = """\
import torch
from torch import nn
layers, heads = nn.ModuleList([nn.Linear(2, 2), nn.Linear(2, 2)]), nn.ModuleList([nn.Linear(2, 1), nn.Linear(2, 1)])
def forward(x):
    outs = []
    for layer, head in zip(layers, heads):
        x = torch.tanh(layer(x)).detach()
        outs.append(head(x))
    return outs
for i in range(2):
    loss = sum(out.pow(2).mean() for out in forward(torch.ones(3, 2)))
    loss.backward()
"""
    cause = why(graph_of(tmp_path, program, engine), "layers.0.weight")
    assert cause.mend == "x = torch.tanh(layer(x))", cause
