"""``gviz why`` of programs that train: what people ask about, and a mend that is one."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from program import Program

import gviz as package
from gviz import SourceOptions
from gviz.causes.assignments import Assignments
from gviz.causes.diagnosis import Cause
from gviz.causes.layers import causes_in
from gviz.causes.why import why, why_all
from gviz.graphs import Graph
from gviz.passes.part import around

PROGRAMS = Path(__file__).parent.parent / "programs"
ENGINES = ["gviz", pytest.param("torch", marks=pytest.mark.torch)]


def graph_of(folder: Path, program: str, engine: str) -> Graph:
    if engine == "torch":
        pytest.importorskip("torch")
    (folder / "program.py").write_text(program)
    options = SourceOptions(diagnose=True, engine=engine)
    graph: Graph = package.read(folder / "program.py", options, rootless=True).graph
    return graph


def lines_of(cause: Cause) -> list[int]:
    return [place.line for place, _ in cause.lines]


TIED = """\
import torch
from torch import nn
torch.manual_seed(0)
class LM(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(5, 3)
        self.out = nn.Linear(3, 5, bias=False)
        self.out.weight = self.emb.weight
        self.unused = nn.Linear(3, 3)
    def forward(self, i):
        return self.out(self.emb(i))
lm = LM()
i = torch.tensor([0, 1, 2]); t = torch.tensor([1, 2, 3])
loss = nn.functional.cross_entropy(lm(i), t)
loss.backward()
"""


@pytest.mark.parametrize("engine", ENGINES)
def test_a_weight_that_two_layers_share_is_known_by_both_names(tmp_path: Path, engine: str) -> None:
    graph = graph_of(tmp_path, TIED, engine)
    first, second = (why(graph, f"lm.{name}.weight") for name in ("emb", "out"))
    assert (first.verdict, second.verdict, second.name) == ("ok", "ok", "lm.out.weight")
    assert "lm.out.weight and lm.emb.weight are one tensor, whose gradient is the sum over all its uses" in second.what
    assert graph.aliases == {"lm.out.weight": "lm.emb.weight"} == Graph.from_json(graph.to_json()).aliases
    assert "lm.out.weight" not in [cause.name for cause in why_all(graph)]
    near = [[node.id for node in around(graph, [f"lm.{name}.weight"], 1).nodes] for name in ("emb", "out")]
    assert near[0] == near[1] != []


def test_commands_know_both_names_of_a_weight_that_two_layers_share(gviz: Program) -> None:
    (gviz.folder / "tie.py").write_text(TIED)
    table = gviz("inspect", "tie.py").out.splitlines()
    assert [line.endswith("is lm.emb.weight") for line in table if "lm.out.weight" in line] == [True]
    rows = gviz("inspect", "tie.py", "--json").json()["tensors"]
    assert [row["same_as"] for row in rows if "same_as" in row] == ["lm.emb.weight"]
    drawn, same = (gviz("explain", "tie.py", "--wrt", f"lm.{name}.weight").out for name in ("emb", "out"))
    assert "∂loss/∂lm.emb.weight: two paths" in drawn
    assert same == drawn


def test_a_class_that_lists_its_parameters_itself_is_asked_as_it_answers(tmp_path: Path) -> None:
    own = "    def named_parameters(self):\n        yield 'emb.weight', self.emb.weight\nlm = LM()\n"
    graph = graph_of(tmp_path, TIED.replace("lm = LM()\n", own), "gviz")
    assert [row.name for row in graph.tensors if row.requires_grad and row.is_leaf] == ["lm.emb.weight"]


DQN = """\
import torch
from torch import nn
torch.manual_seed(0)
class Q(nn.Module):
    def __init__(self):
        super().__init__()
        self.f = nn.Linear(4, 8)
        self.o = nn.Linear(8, 2)
    def forward(self, s):
        return self.o(torch.relu(self.f(s)))
q, target = Q(), Q()
opt = torch.optim.SGD(q.parameters(), lr=0.1)
s, s2, r = torch.randn(6, 4), torch.randn(6, 4), torch.randn(6)
{}
loss = ((pred - y) ** 2).mean()
opt.zero_grad()
loss.backward()
opt.step()
"""

RIGHT = """\
with torch.no_grad():
    y = r + 0.9 * target(s2).max(1)[0]
pred = q(s).max(1)[0]
"""

BLOCKS = {
    "with torch.no_grad():\n    pred = q(s).max(1)[0]\ny = r + target(s2).max(1)[0]": (15, "torch.no_grad()"),
    "def predict(s):\n    with torch.inference_mode():\n        return q(s)\npred = predict(s).max(1)[0].clone()\ny = r": (
        16,
        "torch.inference_mode()",
    ),
    "@torch.no_grad()\ndef predict(s):\n    return q(s)\npred = predict(s).max(1)[0]\ny = r + target(s2).max(1)[0]": (
        16,
        "torch.no_grad()",
    ),
    "torch.set_grad_enabled(False)\npred = q(s).max(1)[0]\ntorch.set_grad_enabled(True)\ny = r + target(s2).max(1)[0]": (
        15,
        "torch.set_grad_enabled(False)",
    ),
    "with torch.no_grad():\n    y = r + 0.9 * q(s2).max(1)[0]\nwith torch.no_grad():\n    pred = q(s).max(1)[0]": (
        15,
        "torch.no_grad()",
    ),
}


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("block", BLOCKS)
def test_the_call_of_a_network_in_a_block_without_gradients_is_the_line_to_blame(
    tmp_path: Path, block: str, engine: str
) -> None:
    program = DQN.format(block).replace("loss =", "w = torch.ones(1, requires_grad=True)\nloss = w.sum() +")
    line, switch = BLOCKS[block]
    cause = why(graph_of(tmp_path, program, engine), "q.f.weight")
    assert (cause.verdict, lines_of(cause)[0]) == ("no_grad", line)
    assert f"switched off, by {switch}" in cause.what
    mend = "compute it outside of" if block[0] == "@" else "take the line, and what is computed from it there, out of"
    if "inference_mode" in block:  # whose tensors autograd cannot use
        mend = "take the line, what is computed from it there, and what makes the tensors that it takes, out of"
    assert cause.mend.startswith(f"{mend} {switch}")


@pytest.mark.parametrize("engine", ENGINES)
def test_a_target_network_that_is_called_without_gradients_is_no_fault(tmp_path: Path, engine: str) -> None:
    graph = graph_of(tmp_path, DQN.format(RIGHT), engine)
    causes = {cause.name: cause for cause in why_all(graph)}
    assert (causes["q.f.weight"].verdict, causes["target.f.weight"].verdict) == ("ok", "not trained")
    assert lines_of(causes["target.f.weight"]) == [15]
    assert (
        causes["target.f.weight"].mend
        == "none, unless target is to be trained: take the line, and what is computed from it there, out of torch.no_grad()"
    )


SAMPLED = """\
import torch
from torch import nn
torch.manual_seed(0)
enc = nn.Linear(3, 4)
dec = nn.Linear(2, 3)
x = torch.rand(5, 3)
mu, lv = enc(x).chunk(2, 1)
d = torch.distributions.Normal(mu, torch.exp(0.5 * lv))
z = d.sample()
loss = nn.functional.mse_loss(dec(z), x)
loss.backward()
"""


@pytest.mark.parametrize("engine", ENGINES)
def test_a_sample_of_a_distribution_is_the_cause_and_rsample_the_mend(tmp_path: Path, engine: str) -> None:
    cause = why(graph_of(tmp_path, SAMPLED, engine), "enc.weight")
    assert (cause.verdict, lines_of(cause)) == ("no_grad", [9])
    assert "by what the line calls" in cause.what
    mend = cause.mend.partition("; or")[0]
    assert mend == "z = d.rsample()"
    assert why(graph_of(tmp_path, SAMPLED.replace("z = d.sample()", mend), engine), "enc.weight").verdict == "ok"


@pytest.mark.parametrize("engine", ENGINES)
def test_gradients_that_were_left_switched_off_are_blamed_on_that_line(tmp_path: Path, engine: str) -> None:
    block = "torch.set_grad_enabled(False)\ny = q(s2).max(1)[0]\npred = q(s).max(1)[0]"
    program = DQN.format(block).replace("loss.backward()", "")  # which would raise
    cause = why(graph_of(tmp_path, program, engine), "q.f.weight")
    assert (cause.verdict, lines_of(cause)) == ("no_grad", [14])
    assert cause.mend.startswith("write torch.set_grad_enabled(True) where gradients are wanted again")


GAN = """\
import torch
from torch import nn
torch.manual_seed(0)
G = nn.Sequential(nn.Linear(2, 8), nn.ReLU(), nn.Linear(8, 1))
D = nn.Sequential(nn.Linear(1, 8), nn.LeakyReLU(0.2), nn.Linear(8, 1))
opt_g = torch.optim.Adam(G.parameters(), lr=0.01)
opt_d = torch.optim.Adam(D.parameters(), lr=0.01)
bce = nn.BCEWithLogitsLoss()
real = torch.randn(16, 1) + 3
for step in range(3):
    fake = G(torch.randn(16, 2)).detach()
    d_loss = bce(D(real), torch.ones(16, 1)) + bce(D(fake), torch.zeros(16, 1))
    opt_d.zero_grad()
    d_loss.backward()
    opt_d.step()
    g_loss = bce(D(fake), torch.ones(16, 1))
    opt_g.zero_grad()
    g_loss.backward()
    opt_g.step()
"""


@pytest.mark.parametrize("engine", ENGINES)
def test_a_detach_that_another_loss_needs_is_moved_to_where_that_is_computed(tmp_path: Path, engine: str) -> None:
    cause = why(graph_of(tmp_path, GAN, engine), "G.0.weight")
    first, _, second = cause.mend.partition("; and ")
    assert (cause.verdict, lines_of(cause), first) == ("detached", [11], "fake = G(torch.randn(16, 2))")
    assert second == "d_loss = bce(D(real), torch.ones(16, 1)) + bce(D(fake.detach()), torch.zeros(16, 1))"
    lines = GAN.split("\n")
    lines[10:12] = [f"    {first}", f"    {second}"]
    assert why(graph_of(tmp_path, "\n".join(lines), engine), "G.0.weight").verdict == "ok"


ACTOR_CRITIC = """\
import torch
from torch import nn
torch.manual_seed(0)
class AC(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(4, 8)
        self.heads = [nn.Linear(8, 2), nn.Linear(8, 1)]
    def forward(self, s):
        z = torch.tanh(self.body(s))
        return self.heads[0](z), self.heads[1](z)
net = AC()
opt = torch.optim.Adam(net.parameters(), lr=1e-2)
for _ in range(3):
    s = torch.randn(5, 4)
    logits, v = net(s)
    logp = torch.log_softmax(logits, 1)
    act = torch.multinomial(logp.exp(), 1)
    ret = torch.randn(5, 1)
    adv = ret - v.item() if v.numel() == 1 else ret - v.detach()
    actor = -(logp.gather(1, act) * adv).mean()
    critic = (ret - v.detach()).pow(2).mean()
    loss = actor + 0.5 * critic
    opt.zero_grad(); loss.backward(); opt.step()
"""


@pytest.mark.parametrize("engine", ENGINES)
def test_a_loss_that_trains_nothing_is_blamed_and_not_the_constant_advantage(tmp_path: Path, engine: str) -> None:
    cause = why(graph_of(tmp_path, ACTOR_CRITIC, engine), "net.heads[1].weight")
    assert (cause.verdict, lines_of(cause)) == ("detached", [22, 8])
    assert "besides, net.heads is a plain list" in cause.what
    mends = cause.mend.split("; and ")
    assert mends == [
        "critic = (ret - v).pow(2).mean()",
        "self.heads = nn.ModuleList([nn.Linear(8, 2), nn.Linear(8, 1)])",
    ]
    lines = ACTOR_CRITIC.split("\n")
    lines[21], lines[7] = f"    {mends[0]}", f"        {mends[1]}"
    assert why(graph_of(tmp_path, "\n".join(lines), engine), "net.heads.1.weight").verdict == "ok"


@pytest.mark.parametrize("engine", ENGINES)
def test_of_a_line_with_two_branches_the_one_that_has_run_is_mended(tmp_path: Path, engine: str) -> None:
    program = ACTOR_CRITIC.replace("loss = actor + 0.5 * critic", "loss = actor")
    cause = why(graph_of(tmp_path, program, engine), "net.heads[1].weight")
    assert (cause.verdict, lines_of(cause)[0]) == ("detached", 20)
    assert cause.mend.startswith("adv = ret - v.item() if v.numel() == 1 else ret - v; and")


MAML = """\
import torch
import torch.nn.functional as F
torch.manual_seed(0)
theta = {"w": torch.randn(3, 1, requires_grad=True), "b": torch.zeros(1, requires_grad=True)}
def f(p, x):
    return x @ p["w"] + p["b"]
meta_loss = 0.0
xs, ys, xq, yq = torch.randn(4, 3), torch.randn(4, 1), torch.randn(4, 3), torch.randn(4, 1)
inner = F.mse_loss(f(theta, xs), ys)
g = torch.autograd.grad(inner, list(theta.values()))
fast = {k: (v - 0.1 * gg).detach().requires_grad_() for (k, v), gg in zip(theta.items(), g)}
meta_loss = meta_loss + F.mse_loss(f(fast, xq), yq)
meta_loss.backward()
"""


@pytest.mark.parametrize("engine", ENGINES)
def test_a_cut_behind_another_is_not_proposed_to_be_mended_alone(tmp_path: Path, engine: str) -> None:
    cause = why(graph_of(tmp_path, MAML, engine), "theta['w']")
    assert (cause.verdict, lines_of(cause)) == ("detached", [11])
    lines = MAML.split("\n")
    lines[10] = cause.mend
    assert why(graph_of(tmp_path, "\n".join(lines), engine), "theta['w']").verdict == "ok"


@pytest.mark.parametrize("engine", ENGINES)
def test_an_operation_without_slope_is_told_though_an_earlier_gradient_is_there(tmp_path: Path, engine: str) -> None:
    program = """\
import torch
w = torch.tensor(2.0, requires_grad=True)
u = torch.tensor(3.0, requires_grad=True)
h = w * u
l1 = h ** 2
l2 = torch.round(h) * w
l1.backward(retain_graph=True)
w.grad = None
l2.backward()
"""
    cause = why(graph_of(tmp_path, program, engine), "u")
    assert (cause.verdict, lines_of(cause)) == ("accumulated", [9, 6])
    assert "what this one brings is 0: the derivative of round in line 6 for h is 0 here" in cause.what
    assert cause.mend.startswith("rounding has no slope")


OF_LAYERS = """\
import torch
from torch import nn
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(2, 1)
        self.temp = nn.Parameter(torch.tensor(1.0), requires_grad=False)
    def forward(self, x):
        return self.fc(x) * self.temp
net = Net()
mu = nn.Parameter(torch.zeros(1))
d = torch.distributions.Normal(mu, 1.0)
for p in net.parameters():
    p.data -= 0.1
loss = net(torch.ones(2)).sum() + d.mean.sum()
loss.backward()
"""


@pytest.mark.parametrize("engine", ENGINES)
def test_a_parameter_is_placed_where_it_or_its_module_is_made(tmp_path: Path, engine: str) -> None:
    graph = graph_of(tmp_path, OF_LAYERS, engine)
    places = {row.name: row.place.line for row in graph.tensors if row.place is not None}
    assert (places["net.fc.weight"], places["mu"], places["p"]) == (10, 11, 10)
    cause = why(graph, "net.temp")
    assert (cause.verdict, cause.what) == ("frozen", "net.temp does not require a gradient")
    assert cause.mend == "net.temp.requires_grad_()"


@pytest.mark.parametrize("engine", ENGINES)
def test_a_training_that_diverges_has_changed_no_gradient_by_itself(tmp_path: Path, engine: str) -> None:
    program = """\
import torch
from torch import nn
torch.manual_seed(0)
net = nn.Linear(3, 1)
opt = torch.optim.SGD(net.parameters(), lr=1e6)
x, y = torch.randn(8, 3) * 100, torch.randn(8, 1)
for i in range(30):
    loss = nn.functional.mse_loss(net(x), y)
    opt.zero_grad(); loss.backward(); opt.step()
"""
    cause = why(graph_of(tmp_path, program, engine), "net.weight")
    assert (cause.verdict, lines_of(cause)) == ("nan", [8])
    assert cause.mend.startswith("the numbers grow from one backward to the next: take a smaller learning rate")


REINFORCE = """\
import torch
from torch import nn
torch.manual_seed(0)
policy = nn.Linear(3, 2)
opt = torch.optim.Adam(policy.parameters(), 1e-2)
logps, rewards = [], []
s = torch.randn(3)
for t in range(3):
    probs = torch.softmax(policy(s), -1)
    a = torch.multinomial(probs, 1).item()
    logps.append(torch.log(probs[a]).item())
    rewards.append(float(a + 1))
    s = torch.randn(3)
R = sum(rewards)
loss = torch.tensor([-lp * R for lp in logps], requires_grad=True).sum()
opt.zero_grad(); loss.backward(); opt.step()
"""


@pytest.mark.parametrize("engine", ENGINES)
def test_numbers_of_log_probabilities_are_blamed_and_not_the_sample(tmp_path: Path, engine: str) -> None:
    cause = why(graph_of(tmp_path, REINFORCE, engine), "policy.weight")
    assert (cause.verdict, lines_of(cause)) == ("detached", [11, 15])
    first, second = cause.mend.split("; and then ")
    lines = REINFORCE.split("\n")
    lines[10], lines[14] = f"    {first}", second
    assert why(graph_of(tmp_path, "\n".join(lines), engine), "policy.weight").verdict == "ok"


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(("start", "verdict"), [("zeros_like", "no gradient"), ("ones_like", "ok")])
def test_a_leaf_that_backward_was_not_asked_for_is_told_so_though_it_has_a_gradient(
    tmp_path: Path, start: str, verdict: str, engine: str
) -> None:
    program = f"""\
import torch
m = torch.nn.Linear(2, 2)
for p in m.parameters():
    p.grad = torch.{start}(p)
loss = m(torch.randn(3, 2)).pow(2).sum()
loss.backward(inputs=[m.weight])
"""
    cause = why(graph_of(tmp_path, program, engine), "m.bias")
    assert (cause.verdict, lines_of(cause)) == (verdict, [6])
    assert "was asked for the gradients of other tensors: m.bias is not among its inputs" in cause.what


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("y", ["Exp.apply(x)", "3 * x"])
def test_a_derivative_without_a_graph_that_was_asked_for_has_a_cause_of_its_own(
    tmp_path: Path, y: str, engine: str
) -> None:
    program = f"""\
import torch
class Exp(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        y = x.exp()
        ctx.save_for_backward(y)
        return y
    @staticmethod
    def backward(ctx, g):
        y, = ctx.saved_tensors
        return g * y.detach()
x = torch.tensor([0.5, 1.0], requires_grad=True)
y = {y}
g, = torch.autograd.grad(y.sum(), x, create_graph=True)
h = g.pow(2).sum()
h.backward()
"""
    cause = why(graph_of(tmp_path, program, engine), "x")
    assert lines_of(cause) == [16, 14]
    assert "has no graph: nothing that it is computed from requires one" in cause.what
    assert ("the backward of Exp" in cause.mend) == (y != "3 * x")


@pytest.mark.torch
def test_what_pytorch_computes_while_it_compiles_is_not_looked_at(tmp_path: Path) -> None:
    program = """\
import torch
net = torch.nn.Linear(4, 1)
torch.compile(net, backend="aot_eager")(torch.randn(6, 4)).sum().backward()
"""
    assert why(graph_of(tmp_path, program, "torch"), "net.weight").verdict == "ok"


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("function", ["body", "lambda t: body(t)"])
@pytest.mark.parametrize("words", [", use_reentrant=True", ""])
def test_a_checkpoint_that_runs_without_gradients_is_the_cause(
    tmp_path: Path, words: str, function: str, engine: str
) -> None:
    if engine == "torch" and not words:
        pytest.skip("PyTorch asks for the word")
    program = f"""\
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint
body = nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 4))
head = nn.Linear(4, 2)
x = torch.randn(3, 4)
h = checkpoint({function}, x{words})
loss = head(h).logsumexp(1).mean()
loss.backward()
"""
    cause = why(graph_of(tmp_path, program, engine), "body.0.weight")
    assert (cause.verdict, lines_of(cause)) == ("no_grad", [7])
    mend = cause.mend.partition("; or")[0]
    assert mend == f"h = checkpoint({function}, x, use_reentrant=False)"
    mended = program.replace(f"h = checkpoint({function}, x{words})", mend)
    assert why(graph_of(tmp_path, mended, engine), "body.0.weight").verdict == "ok"


@pytest.mark.filterwarnings("ignore::gviz.GvizWarning")
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    ("rest", "mend"),
    [
        ("", "compute a loss from w, and call its backward()"),
        ("y = (w * 2).sum()\n", "y.backward()"),
        (
            "y = (w * 2).sum()\nif y < 0:\n    y.backward()\n",
            "let the program come to its backward(), and let an error of it be seen: as it ran, it did not, or that failed",
        ),
    ],
)
def test_a_program_that_did_not_come_to_backward_is_told_what_it_lacks(
    tmp_path: Path, rest: str, mend: str, engine: str
) -> None:
    program = f"import torch\nw = torch.ones(2, requires_grad=True)\n{rest}"
    cause = why(graph_of(tmp_path, program, engine), "w")
    assert (cause.verdict, cause.mend) == ("backward not run", mend)


@pytest.mark.parametrize("engine", ENGINES)
def test_a_buffer_that_requires_a_gradient_is_no_parameter(tmp_path: Path, engine: str) -> None:
    program = """\
import torch
from torch import nn
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(3, 3)
        self.register_buffer("w", torch.randn(3, requires_grad=True))
    def forward(self, x):
        return self.a(x) * self.w
net = Net()
loss = net(torch.randn(2, 3)).sum()
loss.backward()
"""
    cause = why(graph_of(tmp_path, program, engine), "net.w")
    assert (cause.verdict, lines_of(cause)) == ("no parameter", [7])
    assert cause.mend == "self.w = nn.Parameter(torch.randn(3))"


@pytest.mark.parametrize("engine", ENGINES)
def test_a_buffer_has_a_name_where_it_is_asked_about(tmp_path: Path, engine: str) -> None:
    program = """\
import torch
from torch import nn
class Positions(nn.Module):
    def __init__(self):
        super().__init__()
        table = torch.zeros(2)
        self.register_buffer("table", table + 1, persistent=False)
        self.norm = nn.BatchNorm1d(2)
        self.out = nn.Linear(2, 1)
    def forward(self, x):
        return self.out(self.norm(x + self.table))
net = Positions()
loss = net(torch.randn(4, 2)).sum()
loss.backward()
"""
    graph = graph_of(tmp_path, program, engine)
    assert [one.name for one in why_all(graph)] == [
        "net.norm.weight",
        "net.norm.bias",
        "net.out.weight",
        "net.out.bias",
    ]
    table, running = (
        why(package.read(tmp_path / "program.py", SourceOptions(diagnose=True, engine=engine, names=(one,))).graph, one)
        for one in ("net.table", "net.norm.running_var")
    )
    assert (table.verdict, lines_of(table)) == ("frozen", [7])
    assert "net.table is a buffer, and net.parameters() does not list it" in table.what
    assert table.mend == "self.table = nn.Parameter(table + 1)"
    assert running.mend.startswith("none, if it is to be a buffer; else net.norm.running_var = nn.Parameter(...)")


@pytest.mark.parametrize("engine", ENGINES)
def test_a_step_into_a_new_object_has_overwritten_the_leaf(tmp_path: Path, engine: str) -> None:
    program = """\
import torch
from dataclasses import dataclass
@dataclass
class State:
    w: torch.Tensor
def train_step(s, x, lr=0.1):
    loss = (x @ s.w).pow(2).mean()
    loss.backward()
    new_w = s.w - lr * s.w.grad
    return State(new_w)
s = State(torch.ones(3, requires_grad=True))
s = train_step(s, torch.ones(2, 3))
"""
    cause = why(graph_of(tmp_path, program, engine), "s.w")
    assert (cause.verdict, lines_of(cause)) == ("overwritten", [9])
    assert cause.mend == "with torch.no_grad(): write into s.w in place"


HEAD = """\
import torch
from torch import nn
torch.manual_seed(0)
x = torch.randn(4, 3, requires_grad=True)
a, b, c = nn.Linear(3, 3), nn.Linear(3, 1), nn.RNNCell(3, 3, nonlinearity="relu")
"""
MASKED = """\
rows = torch.tensor([True, True, True, False])
s = a(x).masked_fill(~rows[:, None], -torch.inf)
p = s.softmax(-1)
loss = b(p)[rows].pow(2).mean()
"""
REPEATED = """\
nn.init.constant_(c.weight_hh, 9.0); h = torch.ones(4, 3)
for _ in range(80):
    h = c(x, h)
loss = h.mean()
"""
OF_DERIVATIVES = """\
y = b(torch.tanh(a(x)))
g, = torch.autograd.grad(y.sum(), x, create_graph=True)
loss = g.pow(2).mean()
"""
OF_NOTHING = """\
few = x[x[:, 0] > 9]
loss = a(few).sum() + b(x).sum()
"""


FILL_VALUE = """\
import torch
from torch import nn
torch.manual_seed(0)
a, out, x, h = nn.Linear(3, 4), nn.Linear(4, 1), torch.randn(4, 12, 3), torch.zeros(4, 4)
x[2, 8, 1] = 1e25
for t in range(12):
    h = 0.8 * h + 0.2 * a(x[:, t])
loss = nn.functional.mse_loss(out(h), torch.zeros(4, 1))
loss.backward()
"""
MASK_OF_SATURATED = """\
import torch
from torch import nn
a = nn.Linear(4, 3)
nn.init.constant_(a.weight, 20.0)
p = torch.sigmoid(a(torch.ones(6, 4)))
loss = -torch.log(p * torch.tensor([1.0, 1.0, 0.0])).mean()
loss.backward()
"""
CLASSES_BESIDE = """\
import torch
from torch import nn
a = nn.Linear(4, 3)
loss = nn.functional.nll_loss(torch.log_softmax(a(torch.ones(1, 4)), dim=0), torch.tensor([1]))
loss.backward()
"""
REWARD = """\
import torch
from torch import nn
a = nn.Linear(4, 1)
nn.init.constant_(a.bias, -8.0)
loss = -a(torch.rand(6, 4)).clamp(min=0).mean()
loss.backward()
"""


@pytest.mark.filterwarnings("ignore::gviz.GvizWarning", "ignore::RuntimeWarning")
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    ("program", "wrong", "right"),
    [
        (FILL_VALUE, "the numbers grow", "see whether its inputs, or what comes to it, are too large"),
        (MASK_OF_SATURATED, "sigmoid is", "log is infinite at 0, and nan below: keep its input above 0"),
        (CLASSES_BESIDE, "one class", "log_softmax of one element is 0 whatever it is: give it a dim of several"),
        (REWARD, "none, if", "its input lies outside of the bounds"),
    ],
    ids=["a fill value of the data", "a mask of a saturated sigmoid", "classes along another dim", "a reward"],
)
def test_a_reason_that_looks_alike_is_not_told(
    tmp_path: Path, program: str, wrong: str, right: str, engine: str
) -> None:
    mend = why(graph_of(tmp_path, program, engine), "a.weight").mend
    assert wrong not in mend, mend
    assert mend.startswith(right), mend


@pytest.mark.filterwarnings("ignore::gviz.GvizWarning", "ignore::RuntimeWarning")
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    ("program", "name", "told"),
    [
        (MASKED, "b.weight", (8, "a row of nothing but -inf has no softmax")),
        (REPEATED, "c.weight_hh", (8, "the numbers grow from one call of this line to the next")),
        (OF_DERIVATIVES, "b.bias", (5, "none, if loss is made of derivatives alone")),
        (OF_NOTHING, "a.weight", (7, "none, if some batches leave it out")),
    ],
    ids=["masked row", "growth", "bias of a derivative", "batch of nothing"],
)
def test_the_line_at_which_it_begins_is_told_and_what_may_be_meant(
    tmp_path: Path, program: str, name: str, told: tuple[int, str], engine: str
) -> None:
    cause = why(graph_of(tmp_path, f"{HEAD}{program}loss.backward()\n", engine), name)
    assert (lines_of(cause)[0], cause.mend[: len(told[1])]) == told, cause


@pytest.mark.parametrize("engine", ENGINES)
def test_a_layer_that_writes_in_place_is_told_by_the_line_that_calls_it(tmp_path: Path, engine: str) -> None:
    program = """\
import torch
from torch import nn
net, act = nn.Sequential(nn.Linear(4, 4), nn.Sigmoid()), nn.ReLU(inplace=True)
h = net(torch.ones(6, 4))
g = act(h)
loss = (g * h).mean()
loss.backward()
"""
    graph = graph_of(tmp_path, program, engine)
    assert lines_of(why(graph, "net.0.weight")) == [7, 4, 5]
    assert [node.place.line for node in graph.nodes if node.recorded.is_written and node.place] == [5]


HARMLESS = {
    "a mask": "p = h.masked_fill(torch.eye(4)[:3] > 0, -torch.inf).softmax(1).mean()",
    "targets that are all ignored": "p = F.cross_entropy(h, torch.full((3,), -100))",
    "a constant": "p = torch.log(torch.zeros(3)).mean() + h.sum()",
}


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("case", HARMLESS)
def test_what_no_derivative_computes_with_is_no_cause_of_nan(tmp_path: Path, case: str, engine: str) -> None:
    """A value that is not finite, beside the square root of 0, whose derivative is infinite."""
    program = f"""\
import torch
from torch import nn
import torch.nn.functional as F
net = nn.Linear(2, 4)
h = net(torch.ones(3, 2))
{HARMLESS[case]}
d = (h - h.detach()).pow(2).sum(1).sqrt()
loss = p + d.mean()
loss.backward()
"""
    cause = why(graph_of(tmp_path, program, engine), "net.weight")
    assert lines_of(cause) == [7], cause
    assert "the derivative of sqrt for its input is inf, backward" in cause.what


@pytest.mark.parametrize("engine", ENGINES)
def test_a_product_that_overflows_backward_is_told_where_the_loss_has_overflowed_too(
    tmp_path: Path, engine: str
) -> None:
    program = """\
import torch
net = torch.nn.Linear(64, 64).half()
h = net(torch.full((4, 64), 100.0).half())
loss = (h * h).sum()
loss.backward()
"""
    cause = why(graph_of(tmp_path, f"{program}torch.manual_seed(0)\n", engine), "net.weight")
    assert (lines_of(cause), "addmm hands on" in cause.what) == ([3], True), cause


INPUTS = {
    "twice in a line": (
        "s = 1000 * a(x)\nloss = (torch.log1p(torch.exp(s)) - torch.log1p(torch.exp(-s))).mean()\n",
        "as (-s).clamp(max=10) does, whose slope is 0 there; likewise with s",
        {"exp(s)": "exp(s.clamp(max=10))", "exp(-s)": "exp((-s).clamp(max=10))"},
    ),
    "twice in a line, backward": (
        "s, t = torch.ones(2) + 0 * a(x)[0, :2]\nloss = torch.acos(s) - torch.acos(t)\n",
        "as s.clamp(-1 + 1e-6, 1 - 1e-6) does, whose slope is 0 there; likewise with t",
        {"acos(s)": "acos(s.clamp(-1 + 1e-6, 1 - 1e-6))", "acos(t)": "acos(t.clamp(-1 + 1e-6, 1 - 1e-6))"},
    ),
    "the second output": (
        "mu, logvar = a(1000 * x)[:, :2].chunk(2, 1)\nloss = (mu.pow(2) + logvar.exp() - logvar).mean()\n",
        "as logvar.clamp(max=10) does, whose slope is 0 there",
        {"logvar.exp()": "logvar.clamp(max=10).exp()"},
    ),
}
"""Inputs that are to be kept small: a part of the mend, and what it makes of the program."""


@pytest.mark.filterwarnings("ignore::gviz.GvizWarning", "ignore::RuntimeWarning")
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("case", INPUTS)
def test_each_input_that_is_to_be_kept_small_is_told_by_its_name(tmp_path: Path, case: str, engine: str) -> None:
    body, mend, texts = INPUTS[case]
    program = f"{HEAD}a, x = nn.Linear(4, 3), torch.randn(6, 4)\n{body}loss.backward()\n"
    assert why(graph_of(tmp_path, program, engine), "a.weight").mend.endswith(mend)
    for old, new in texts.items():
        program = program.replace(old, new)
    graph = graph_of(tmp_path, program, engine)
    (grad,) = (row.grad.value for row in graph.tensors if row.name == "a.weight")
    assert grad is not None
    assert grad.is_finite


IMPORTS = "import torch\nfrom torch import nn\n"
AFTER = {
    "a gradient that is set to 0 afterwards": (
        """\
net = nn.Linear(2, 4)
h = net(torch.ones(3, 2))
m = h.masked_fill(torch.eye(4)[:3] > 0, -torch.inf)
loss = m.softmax(1)[0, 1] + (h - h.detach()).pow(2).sum().sqrt()
loss.backward()
net.zero_grad(set_to_none=False)
""",
        "the derivative of sqrt for its input is inf, backward",
    ),
    "a sum over two ways that overflows": (
        """\
net = nn.Linear(2, 1).half()
nn.init.ones_(net.weight)
h = net(50 * torch.ones(3, 2).half())
loss = (h * h).sum() * 400
loss.backward()
""",
        "addmm hands on inf, backward",
    ),
}
"""Programs with a loss, or a mask, that is infinite and does no harm to the gradient."""


@pytest.mark.filterwarnings("ignore::gviz.GvizWarning", "ignore::RuntimeWarning")
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("case", AFTER)
def test_no_value_is_blamed_that_does_not_come_into_the_gradient(tmp_path: Path, case: str, engine: str) -> None:
    program, what = AFTER[case]
    cause = why(graph_of(tmp_path, f"{IMPORTS}{program}", engine), "net.weight")
    assert cause.what.endswith(what), cause


@pytest.mark.parametrize("engine", ENGINES)
def test_a_hook_that_makes_a_gradient_explode_is_told(tmp_path: Path, engine: str) -> None:
    program = """\
net = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 1))
net[0].weight.register_hook(lambda grad: grad * 1e13)
net(torch.ones(6, 4)).sum().backward()
"""
    graph = graph_of(tmp_path, f"{IMPORTS}{program}", engine)
    (cause,) = causes_in(graph, ["net.0.weight"])
    assert (cause.verdict, lines_of(cause)) == ("exploding", [4])
    assert "hooks have changed on its way: at net.0.weight norm" in cause.what
    assert causes_in(graph, ["net.0.bias"])[0].verdict == "ok"


GCN = """\
import torch
A = torch.tensor([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 0.0]])
w = torch.ones(2, 2, requires_grad=True)
deg = A.sum(1)
D = torch.diag(deg ** -0.5)
h = D @ A @ D @ torch.ones(3, 2) @ w
loss = torch.nn.functional.nll_loss(torch.log_softmax(h, 1), torch.tensor([0, 1, 0]))
loss.backward()
"""
LOCAL_GCN = """\
import torch
class Layer(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = torch.nn.Linear(2, 2, bias=False)
    def forward(self, x, A):
        d = A.sum(1).pow(-0.5)
        A = d[:, None] * A * d[None, :]
        return A @ self.lin(x)
layer = Layer()
A = torch.tensor([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 0.0]])
loss = layer(torch.ones(3, 2), A).pow(2).sum()
loss.backward()
"""


@pytest.mark.parametrize("engine", ENGINES)
def test_a_power_outside_of_the_graph_is_blamed_for_what_its_zero_has_made_infinite(
    tmp_path: Path, engine: str
) -> None:
    cause = why(graph_of(tmp_path, GCN, engine), "w")
    assert cause.what.endswith("is not finite itself; ** makes the first such number, outside of the graph")
    mend = "a negative power of 0 is infinite: keep its base above 0, as deg.clamp(min=1e-6) does"
    assert (lines_of(cause), cause.mend) == ([5], mend)
    cause = why(graph_of(tmp_path, LOCAL_GCN, engine), "layer.lin.weight")
    assert "log_softmax" not in cause.what
    assert "** makes the first such number" in cause.what
    assert cause.mend.endswith("as A.sum(1).clamp(min=1e-6) does")
    assert 7 in lines_of(cause)
    learned = GCN.replace("[0.0, 0.0, 0.0]])", "[0.0, 0.0, 0.0]], requires_grad=True)")
    cause = why(graph_of(tmp_path, learned, engine), "A")
    assert (lines_of(cause), cause.mend.partition(":")[0]) == ([5], "a negative power of 0 is infinite")


STANDARDIZED = """\
import torch
class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = torch.nn.Conv1d(1, 2, 3)
    def forward(self, x):
        std = x.std(-1, keepdim=True)
        h = (x - 1) / std
        return self.conv({})
net = Net()
loss = net(torch.ones(2, 1, 8)).mean()
loss.backward()
"""
INFINITE_PRIOR = """\
import torch
w = torch.ones(2, 3, requires_grad=True)
counts = torch.tensor([0.0, 1.0, 2.0])
q = torch.log(counts)
logits = w - q
loss = torch.nn.functional.cross_entropy(logits, torch.tensor([1, 2]))
loss.backward()
"""


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("given", ["h", "torch.nn.functional.pad(h, (2, 0))"])
def test_a_layer_that_is_given_nan_does_not_make_it(tmp_path: Path, given: str, engine: str) -> None:
    cause = why(graph_of(tmp_path, STANDARDIZED.format(given), engine), "net.conv.weight")
    assert "what convolution is given is not finite; / makes the first such number, outside of the graph" in cause.what
    mend = "its divisor is 0, or too small for its dtype: add a small number to std"
    assert (lines_of(cause), cause.mend) == ([9, 8], mend)


@pytest.mark.parametrize("engine", ENGINES)
def test_an_infinity_that_is_no_mask_is_blamed_for_the_nan_that_a_softmax_makes_of_it(
    tmp_path: Path, engine: str
) -> None:
    cause = why(graph_of(tmp_path, INFINITE_PRIOR, engine), "w")
    assert cause.what.endswith("q is not finite itself; log makes the first such number, outside of the graph")
    assert lines_of(cause) == [4]


NAN_IN_TARGET = """\
import torch
x, score = torch.tensor([1.0, 2.0]), torch.tensor([1.0, 200.0])
w = torch.ones(2, requires_grad=True)
def teacher(v):
    e = v.exp()
    total = torch.zeros(1).index_add(0, torch.tensor([0, 0]), e)
    return {}
soft = teacher(score).exp()
loss = (soft * w).sum()
loss.backward()
"""


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("result", ["e / (total + 1e-9)", "e / e", "e - e", "torch.where(v > 0, e, v)", "e.log()", "v"])
def test_the_first_infinity_outside_of_the_graph_is_named_where_the_program_made_it(
    tmp_path: Path, result: str, engine: str
) -> None:
    program = NAN_IN_TARGET.format(result)
    cause = why(graph_of(tmp_path, program, engine), "w")
    at, operand = (8, "teacher(score)") if result == "v" else (5, "v")
    assert cause.what.endswith("soft is not finite itself; exp makes the first such number, outside of the graph")
    assert (lines_of(cause), f"as {operand}.clamp(max=10) does" in cause.mend) == ([at], True)
    mended = program.replace(f"{operand}.exp()", f"{operand}.clamp(max=2).exp()")
    assert why(graph_of(tmp_path, mended, engine), "w").verdict == "ok"


OUTSIDE = """\
import numpy as np
import torch
w = torch.ones(2, requires_grad=True)
p = torch.tensor([0.0, 1.0])
{}
loss = (w * x).sum()
loss.backward()
"""
MADE_OUTSIDE = {
    "in_place": ("x = torch.ones(2); y = 1 - p; x /= y", "/ makes the first", [5], "add a small number to it"),
    "a_view_in_place": ("x = torch.ones(2); x[0] /= p[0]", "/ makes the first", [5], "add a small number to it"),
    "a_function": ("x = torch.div(p, p)", "/ makes the first", [5], "add a small number to p"),
    "of_numpy": (
        "q = np.log(p.numpy()) * 0\nx = torch.from_numpy(q)",
        "nor what from_numpy() was given",
        [6, 5],
        "look at the data, and at what is computed of them",
    ),
    "a_mask_that_a_softmax_makes_nan_of": (
        "m = p.masked_fill(p < 2, float('-inf'))\nx = torch.softmax(m, 0)",
        "softmax makes the first",
        [6],
        "leave an element of each row unmasked",
    ),
    "the_mean_of_nothing": ("x = p[p > 2].mean()", "mean makes the first", [5], "or none"),
    "beside_an_infinity_that_was_left_out": (
        "a = torch.where(p > 0, p.log(), p)\nx = a + p / p",
        "/ makes the first",
        [6],
        "add a small number to p",
    ),
    "behind_the_exp_of_an_infinity": ("a = p.log()\nq = a.exp()\nx = 1 / q", "x is not finite itself", [7], ""),
    "put_in": ("y = torch.tensor([float('inf'), 1.0])\nx = y * 2", "x is not finite itself", [6], "look at the data"),
}


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("case", MADE_OUTSIDE.values(), ids=MADE_OUTSIDE)
def test_of_what_is_made_outside_of_the_graph_the_first_maker_is_named_or_none(
    tmp_path: Path, case: tuple[str, str, list[int], str], engine: str
) -> None:
    lines, words, at, mend = case
    cause = why(graph_of(tmp_path, OUTSIDE.format(lines), engine), "w")
    assert (lines_of(cause), words in cause.what, mend in cause.mend) == (at, True, True), cause
    assert ("makes the first" in cause.what) == ("makes" in words), cause


@pytest.mark.parametrize("engine", ENGINES)
def test_a_divisor_that_is_0_as_the_exp_of_an_infinite_number_is_followed_to_that_number(
    tmp_path: Path, engine: str
) -> None:
    program = """\
import torch
w = torch.tensor([0.5, -1.0], requires_grad=True)
m = torch.tensor([0.1, 0.2], requires_grad=True)
log_var = torch.log(torch.relu(w))
loss = (log_var + m.pow(2) / log_var.exp()).mean()
loss.backward()
"""
    cause = why(graph_of(tmp_path, program, engine), "m")
    assert (cause.what, lines_of(cause)) == ("m.grad is inf: log makes the first of them, forward", [4])
    assert "torch.relu(w).clamp(min=1e-6)" in cause.mend
    mended = program.replace("torch.relu(w)", "torch.relu(w).clamp(min=1e-6)")
    assert why(graph_of(tmp_path, mended, engine), "m").verdict == "ok"


def test_a_division_by_what_is_not_0_is_not_blamed_for_data_that_are_nan(tmp_path: Path) -> None:
    program = """\
import torch
raw, std = torch.tensor([1.0, float("nan")]), torch.tensor([2.0, 2.0])
x = raw / std
w = torch.ones(2, requires_grad=True)
loss = (w * x).sum()
loss.backward()
"""
    cause = why(graph_of(tmp_path, program, "gviz"), "w")
    assert (cause.what, cause.mend) == ("w.grad is nan: x is not finite itself", "look at the data")


@pytest.mark.parametrize("engine", ENGINES)
def test_an_infinity_that_a_mask_puts_in_is_to_be_a_finite_number_where_nan_comes_of_it(
    tmp_path: Path, engine: str
) -> None:
    program = """\
import torch
w = torch.ones(2, 3, requires_grad=True)
mask = torch.tensor([[True, True, False], [True, True, True]])
emit = (w * 2).masked_fill(~mask, float('-inf'))
alpha = emit[:, :1] + torch.zeros(2, 2)
for t in range(1, 3):
    new = torch.logsumexp(alpha.unsqueeze(2) + emit[:, t].view(2, 1, 1) + torch.zeros(2, 2), dim=1)
    alpha = torch.where(mask[:, t].unsqueeze(1), new, alpha)
loss = (torch.logsumexp(alpha, 1) - (emit * mask.float()).sum(1)).mean()
loss.backward()
"""
    cause = why(graph_of(tmp_path, program, engine), "w")
    assert (cause.what, lines_of(cause)) == ("w.grad is nan: masked_fill puts in the first -inf, forward", [4])
    assert cause.mend == "put in a finite number in place of -inf, such as -1e4: 0 times inf is nan"
    assert why(graph_of(tmp_path, program.replace("float('-inf')", "-1e4"), engine), "w").verdict == "ok"


@pytest.mark.parametrize("engine", ENGINES)
def test_a_factor_of_0_that_no_mask_has_made_is_told_with_its_line(tmp_path: Path, engine: str) -> None:
    program = """\
import torch
w, x = torch.ones(1, requires_grad=True), torch.ones(3, requires_grad=True)
y = torch.relu(x * 2).sum()
g = torch.autograd.grad(y, x, create_graph=True)[0]
h = torch.autograd.grad((g * x * 0 + g).sum(), x)[0]
loss = (w * h).sum()
loss.backward()
"""
    cause = why(graph_of(tmp_path, program, engine), "w")
    assert (cause.verdict, "mask" in cause.mend or "dropout" in cause.mend) == ("zero", False), cause


ZERO_FACTORS = {
    "a_large_dropout_behind_a_view": (
        (
            "drop, net = nn.Dropout(1.0), nn.Linear(6, 4)\nx = torch.ones(6, 20, 6)\n"
            "loss = net(drop(x * w).transpose(0, 1)).pow(2).sum()"
        ),
        "net.weight",
        "drop (Dropout) has set all of it to 0 in this run",
    ),
    "a_weight_of_0_beside_a_square_of_0": (
        (
            "net = nn.Linear(2, 1, bias=False)\nnet.weight.data.mul_(0.0)\n"
            "loss = net(w * torch.ones(3, 2)).pow(2).sum() + (net(w * torch.ones(2, 2)) - 1).pow(2).sum()"
        ),
        "w",
        "the other factor is 0, as net.weight is",
    ),
}


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("case", ZERO_FACTORS.values(), ids=ZERO_FACTORS)
def test_of_several_ways_the_factor_that_is_0_is_told(tmp_path: Path, case: tuple[str, str, str], engine: str) -> None:
    lines, name, mend = case
    program = f"import torch\nfrom torch import nn\nw = torch.ones(1, requires_grad=True)\n{lines}\nloss.backward()\n"
    cause = why(graph_of(tmp_path, program, engine), name)
    assert (cause.verdict, mend in cause.mend) == ("zero", True), cause


ATTENTION = """\
import torch
q, k, v = (torch.ones(2, 3, 4, requires_grad=True) for _ in range(3))
pad = torch.tensor([[False, False, True], [True, True, True]])
scores = (q @ k.transpose(-1, -2)).masked_fill(pad[:, None, :], float("-inf"))
out = torch.softmax(scores, dim=-1) @ v
loss = out.pow(2).mean()
loss.backward()
"""


@pytest.mark.parametrize("engine", ENGINES)
def test_a_softmax_of_a_masked_row_is_named_where_its_product_is_taken_in_the_same_line(
    tmp_path: Path, engine: str
) -> None:
    cause = why(graph_of(tmp_path, ATTENTION, engine), "v")
    assert (cause.what, lines_of(cause)) == ("v.grad is nan: softmax makes the first of them, forward", [5])
    assert cause.mend.startswith("a row of nothing but -inf has no softmax")


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(("call", "values"), [("svd", "singular values"), ("eigh", "eigenvalues")])
def test_the_derivative_of_a_decomposition_with_equal_values_divides_by_their_difference(
    tmp_path: Path, engine: str, call: str, values: str
) -> None:
    program = f"""\
import torch
A = torch.eye(3, requires_grad=True)
parts = torch.linalg.{call}(A)
loss = (parts[-1] * torch.arange(9.0).view(3, 3)).sum()
loss.backward()
"""
    cause = why(graph_of(tmp_path, program, engine), "A")
    assert f"the derivative of {call} for A is " in cause.what
    told = f"divides by the differences of the {values}, and two of them are equal{', or one is 0' * (call == 'svd')}: take"
    assert told in cause.mend


@pytest.mark.parametrize("engine", ENGINES)
def test_a_matrix_without_an_inverse_is_told_with_what_to_do(tmp_path: Path, engine: str) -> None:
    program = """\
import torch
A = torch.tensor([[1.0, 2.0], [2.0, 4.0]], requires_grad=True)
loss = torch.linalg.inv(A).sum()
loss.backward()
"""
    cause = why(graph_of(tmp_path, program, engine), "A")
    assert cause.mend.startswith("the matrix has no inverse, as its rows depend on one another: add a small number")
    slogdet = program.replace("inv(A).sum()", "slogdet(A)[1]")
    cause = why(graph_of(tmp_path, slogdet, engine), "A")
    assert "the matrix has no inverse" in cause.mend


NEWER = {
    "dict": (
        """\
import torch
class Net: pass
net = Net()
net.p = {k: torch.ones(2, requires_grad=True) for k in ("w", "b")}
x = torch.tensor([1.0, 2.0])
for step in range(2):
    loss = ((net.p["w"] * x + net.p["b"]) ** 2).sum()
    loss.backward()
    for k in net.p:
        g = net.p[k].grad
        net.p[k] = torch.tensor((net.p[k] - 0.1 * g).tolist(), requires_grad=True)
""",
        "net.p['w']",
        [11],
    ),
    "attribute": (
        """\
import torch
class Net: pass
net, x = Net(), torch.tensor([1.0, 2.0])
net.w = torch.tensor(1.0, requires_grad=True)
loss = ((net.w * x - 3) ** 2).mean()
loss.backward()
g = net.w.grad.item()
net.w = torch.tensor(net.w.item() - 0.1 * g, requires_grad=True)
""",
        "net.w",
        [8],
    ),
    "asked_of_autograd": (
        """\
import torch
class Net: pass
net, x = Net(), torch.tensor([1.0, 2.0])
net.w = torch.tensor(1.0, requires_grad=True)
for step in range(3):
    loss = ((net.w * x - 3) ** 2).mean()
    g, = torch.autograd.grad(loss, [net.w])
    net.w = torch.tensor(net.w.item() - 0.1 * g.item(), requires_grad=True)
""",
        "net.w",
        [8],
    ),
}


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", NEWER)
def test_a_leaf_that_is_made_anew_of_the_numbers_of_the_old_one_is_a_newer_one(
    tmp_path: Path, engine: str, name: str
) -> None:
    program, leaf, lines = NEWER[name]
    cause = why(graph_of(tmp_path, program, engine), leaf)
    assert (cause.verdict, lines_of(cause)) == ("new leaf", lines)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    ("made", "cut", "verdict"),
    [
        ("pass", "w.detach() * x", "detached"),
        ("with torch.no_grad(): h = w * x", "h", "no_grad"),
    ],
)
def test_a_newer_leaf_whose_older_one_was_cut_off_is_not_promised_a_gradient(
    tmp_path: Path, engine: str, made: str, cut: str, verdict: str
) -> None:
    program = f"""\
import torch
w, b = torch.tensor(1.0, requires_grad=True), torch.tensor(0.5, requires_grad=True)
x = torch.tensor([1.0, 2.0])
for step in range(3):
    {made}
    loss = (({cut} + b) ** 2).mean()
    loss.backward()
    g = 0.0 if w.grad is None else w.grad.item()
    w = torch.tensor(w.item() - 0.1 * g, requires_grad=True)
    b = torch.tensor(b.item() - 0.1 * b.grad.item(), requires_grad=True)
"""
    graph = graph_of(tmp_path, program, engine)
    cause = why(graph, "w")
    assert (cause.verdict, lines_of(cause)[0]) == (verdict, 6 if verdict == "detached" else 5)
    assert "no gradient came to that one, either" in cause.what
    assert why(graph, "b").verdict == "new leaf"


AGENT = """\
import torch
from torch import nn
torch.manual_seed(0)
class Agent:
    def __init__(self):
        self.net, self.target_net = nn.Linear(4, 2), nn.Linear(4, 2)
        self.target_net.load_state_dict(self.net.state_dict())
        self.opt = torch.optim.Adam(self.net.parameters(), lr=1e-2)
    def learn(self, s, a, r, s2):
        q = self.net(s).gather(1, a[:, None])[:, 0]
        best = self.net(s2).max(1)[1]
        y = r + 0.9 * self.target_net(s2)[range(len(a)), best]
        loss = nn.functional.mse_loss(q, y.detach())
        self.opt.zero_grad()
        loss.backward()
        self.opt.step()
agent = Agent()
for step in range(3):
    agent.learn(torch.randn(8, 4), torch.randint(0, 2, (8,)), torch.randn(8), torch.randn(8, 4))
"""
ATTACKS = {
    "asked": """\
    x = X.clone().requires_grad_(True)
    g, = torch.autograd.grad(F.cross_entropy(net(x), Y), x)
    adv = (x + 0.1 * g.sign()).detach()
""",
    "zeroed": """\
    x = X.clone().requires_grad_(True)
    for _ in range(2):
        F.cross_entropy(net(x), Y).backward()
        x.data = (x + 0.1 * x.grad.sign()).clamp(-2, 2)
        x.grad.zero_()
    adv = x.detach()
""",
    "accumulated": """\
    x = X.clone().requires_grad_(True)
    F.cross_entropy(net(x), Y).backward()
    adv = (x + 0.1 * x.grad.sign()).detach()
""",
}


@pytest.mark.parametrize("engine", ENGINES)
def test_a_target_network_of_an_agent_that_has_another_one_to_train_is_none_on_purpose(
    tmp_path: Path, engine: str
) -> None:
    graph = graph_of(tmp_path, AGENT, engine)
    assert not [cause for cause in why_all(graph) if cause.is_wrong]
    cause = why(graph, "agent.target_net.weight")
    assert (cause.verdict, "all of agent.target_net, as of a teacher or a target" in cause.what) == (
        "not trained",
        True,
    )


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("attack", ATTACKS)
def test_the_input_of_adversarial_training_is_no_fault(tmp_path: Path, engine: str, attack: str) -> None:
    program = f"""\
import torch
import torch.nn.functional as F
torch.manual_seed(0)
net = torch.nn.Linear(4, 3)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
X, Y = torch.randn(16, 4), torch.randint(0, 3, (16,))
for epoch in range(3):
{ATTACKS[attack]}
    opt.zero_grad()
    loss = F.cross_entropy(net(adv), Y)
    loss.backward()
    opt.step()
"""
    causes = why_all(graph_of(tmp_path, program, engine))
    assert not [cause for cause in causes if cause.is_wrong]
    verdicts = {"asked": "detached", "zeroed": "cleared", "accumulated": "ok"}
    assert next(cause.verdict for cause in causes if cause.name == "x") == verdicts[attack]


NAMES_AGAIN = """\
import torch
a = torch.tensor([2.0, 3.0], requires_grad=True)
b = torch.tensor([6.0, 4.0], requires_grad=True)
q = 3 * a**3 - b**2
q.backward(torch.ones(2))
print(9 * a**2 == a.grad)
x, z = torch.rand(2), torch.rand(2, requires_grad=True)
a = x + 1
b = x + z
"""


@pytest.mark.parametrize("engine", ENGINES)
def test_a_name_of_a_leaf_that_is_used_again_for_something_else_is_no_fault(tmp_path: Path, engine: str) -> None:
    causes = {cause.name: cause.verdict for cause in why_all(graph_of(tmp_path, NAMES_AGAIN, engine))}
    assert causes == {
        "a (at backward)": "ok", "b (at backward)": "ok", "a": "frozen", "x": "frozen", "z": "new leaf"
    }  # fmt: skip


@pytest.mark.parametrize("engine", ENGINES)
def test_the_name_of_data_that_is_used_again_is_asked_about_what_has_it_now(tmp_path: Path, engine: str) -> None:
    program = """\
import torch
w = torch.tensor(0.5, requires_grad=True)
x, y = torch.tensor([1.0, 2.0]), torch.tensor([2.0, 4.0])
loss = ((w * x - y) ** 2).mean()
loss.backward()
y = w * x
"""
    cause = why(graph_of(tmp_path, program, engine), "y")
    assert (cause.verdict, lines_of(cause)) == ("not a leaf", [6])
    assert cause.mend == "y.retain_grad() before backward() on what is made from it: loss is not"


@pytest.mark.parametrize("engine", ENGINES)
def test_the_leaves_of_a_net_that_a_lesson_has_shown_before_are_no_fault(tmp_path: Path, engine: str) -> None:
    program = """\
import torch
x = torch.ones(4, 3)
net = torch.nn.Linear(3, 2)
output = net(x)
net = torch.nn.Linear(3, 1)
loss = net(x).mean()
loss.backward()
"""
    causes = why_all(graph_of(tmp_path, program, engine))
    assert [(cause.name, cause.verdict) for cause in causes] == [
        ("x", "frozen"), ("net.weight", "ok"), ("net.bias", "ok")
    ]  # fmt: skip


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("cleared", ["opt.zero_grad()", "opt.zero_grad(set_to_none=False)"])
@pytest.mark.parametrize(
    ("loss", "verdict"), [("b(a(x) * 0 + x).pow(2).mean()", "zero"), ("b(x + (a(x) * 0).log()).mean()", "nan")]
)
def test_a_gradient_that_is_wrong_before_it_is_clipped_and_cleared_is_told_so(
    tmp_path: Path, engine: str, cleared: str, loss: str, verdict: str
) -> None:
    program = f"""\
import torch
torch.manual_seed(0)
a, b = torch.nn.Linear(3, 3), torch.nn.Linear(3, 1)
params = [*a.parameters(), *b.parameters()]
opt = torch.optim.SGD(params, lr=0.1)
x = torch.randn(8, 3)
for epoch in range(1):
    loss = {loss}
    loss.backward()
    torch.nn.utils.clip_grad_norm_(params, 1.0)
    opt.step()
    {cleared}
"""
    cause = why(graph_of(tmp_path, program, engine), "a.weight")
    assert (cause.verdict, 8 in lines_of(cause)) == (verdict, True), cause


@pytest.mark.parametrize("engine", ENGINES)
def test_a_statistic_that_links_two_graphs_is_not_taken_for_a_method_of_its_name(tmp_path: Path, engine: str) -> None:
    program = """\
import torch
class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = torch.nn.Linear(2, 2)
        self.register_buffer("mean", torch.zeros(2))
    def forward(self, x):
        self.mean = 0.9 * self.mean + 0.1 * x.mean(0)
        return self.fc(x - self.mean)
net, x = Net(), torch.ones(3, 2, requires_grad=True)
for _ in range(2):
    loss = net(x).pow(2).sum()
    loss.backward()
"""
    graph = graph_of(tmp_path, program, engine)
    cause = why(graph, "net.fc.weight")
    assert (cause.verdict, cause.mend) == ("second backward", "self.mean = self.mean.detach() before it is used again")
    whose = "grad is of an earlier backward"
    assert (whose in cause.what, whose in why(graph, "x").what) == (False, True), "this one has added to one of them"


@pytest.mark.parametrize("engine", ENGINES)
def test_a_hook_of_a_module_that_returns_nothing_is_not_blamed_for_what_came_later(tmp_path: Path, engine: str) -> None:
    program = """\
import torch
torch.manual_seed(0)
net = torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.ReLU(), torch.nn.Linear(3, 1))
opt = torch.optim.SGD(net.parameters(), lr=0.1)
x = torch.randn(8, 3, requires_grad=True)
net[0].register_full_backward_hook(lambda m, gi, go: None)
net[2].weight.register_hook(lambda g: g / 0)
for _ in range(3):
    opt.zero_grad()
    net(x).pow(2).mean().backward()
    opt.step()
"""
    graph = graph_of(tmp_path, program, engine)
    assert "hook" in why(graph, "net.2.weight").mend
    assert "hook" not in why(graph, "net.0.weight").what


@pytest.mark.parametrize("engine", ENGINES)
def test_a_list_of_all_steps_that_gets_the_name_of_the_leaf_is_no_fault(tmp_path: Path, engine: str) -> None:
    program = """\
import torch
w = torch.tensor([1.0, 2.0], requires_grad=True)
steps = []
for _ in range(3):
    loss = (w**2).sum()
    loss.backward()
    with torch.no_grad():
        w -= 0.1 * w.grad
    w.grad = None
    steps.append(w.clone())
w = torch.stack(steps)
"""
    causes = why_all(graph_of(tmp_path, program, engine))
    assert [(cause.name, cause.verdict) for cause in causes] == [("w (at backward)", "cleared")]


@pytest.mark.parametrize("engine", ENGINES)
def test_what_a_copied_state_dict_holds_never_required_a_gradient(tmp_path: Path, engine: str) -> None:
    program = """\
import copy, torch
net = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.BatchNorm1d(2))
net(torch.rand(4, 2)).pow(2).mean().backward()
best = copy.deepcopy(net.state_dict())
"""
    graph = graph_of(tmp_path, program, engine)
    assert why(graph, "best['1.num_batches_tracked']").verdict == "integer"
    assert "any more" not in why(graph, "best['1.running_mean']").what


@pytest.mark.parametrize("line", ["for key in net.state_dict(): print(key)", "kept = net.state_dict()"])
def test_a_program_that_only_keeps_its_weights_is_told_to_compute_a_loss(tmp_path: Path, line: str) -> None:
    program = f"import torch\nnet = torch.nn.Linear(3, 2)\n{line}\n"
    with pytest.warns(package.GvizWarning, match="there is no graph"):
        causes = why_all(graph_of(tmp_path, program, "gviz"))
    assert {(cause.verdict, cause.mend.partition(",")[0]) for cause in causes} == {
        ("backward not run", "compute a loss from net.weight"), ("backward not run", "compute a loss from net.bias")
    }  # fmt: skip


@pytest.mark.parametrize("name", ["adversarial_example", "constrained_weights"])
def test_what_a_program_does_with_a_trained_model_is_no_fault(tmp_path: Path, name: str) -> None:
    graph = graph_of(tmp_path, (PROGRAMS / f"{name}.py").read_text(), "gviz")
    assert not [cause for cause in why_all(graph) if cause.is_wrong]


@pytest.mark.parametrize("engine", ENGINES)
def test_a_factor_that_is_spread_over_elements_which_cancel_out_is_not_told_as_times_0(
    tmp_path: Path, engine: str
) -> None:
    program = """\
import torch
g, x = torch.tensor(2.0, requires_grad=True), torch.tensor([1.0, -1.0])
y = (g * x).sum()
y.backward()
"""
    cause = why(graph_of(tmp_path, program, engine), "g")
    assert (cause.verdict, cause.what.partition(": ")[2]) == (
        "zero",
        "* in line 3 hands on 0 to g: what comes to it cancels out there",
    )
    assert "factor" not in cause.mend


@pytest.mark.parametrize("engine", ENGINES)
def test_a_leaf_that_a_forward_gives_away_stays_in_training_by_its_mend(tmp_path: Path, engine: str) -> None:
    program = """\
import torch
from torch import nn
class Scale(nn.Module):
    def __init__(self):
        super().__init__()
        self.l = nn.Linear(4, 1)
        self.s = torch.ones(1, requires_grad=True)
    def forward(self, x):
        self.s = self.s / self.s.norm()
        return self.l(x) * self.s
model = Scale()
opt = torch.optim.SGD([*model.parameters(), model.s], lr=0.1)
for _ in range(2):
    loss = model(torch.ones(2, 4)).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
"""
    cause = why(graph_of(tmp_path, program, engine), "model.l.weight")
    mend = "with torch.no_grad(): self.s.copy_(self.s / self.s.norm())"
    assert (cause.verdict, cause.mend) == ("second backward", mend)
    mended = program.replace("self.s = self.s / self.s.norm()", mend)
    assert why(graph_of(tmp_path, mended, engine), "model.s").verdict not in ("not a leaf", "frozen")


@pytest.mark.parametrize("engine", ENGINES)
def test_an_image_that_a_function_optimizes_by_a_closure_stays_in_training_by_its_mend(
    tmp_path: Path, engine: str
) -> None:
    program = """\
import torch
def draw(target):
    image = torch.rand(3).requires_grad_()
    optimizer = torch.optim.LBFGS([image], lr=0.1)
    for step in range(3):
        def closure():
            optimizer.zero_grad()
            loss = (image - target).pow(2).mean()
            loss.backward()
            return loss
        optimizer.step(closure)
        image = image.clamp(0, 1)
draw(torch.rand(3))
"""
    cause = why(graph_of(tmp_path, program, engine), "leaf of loss")
    mend = "with torch.no_grad(): image.copy_(image.clamp(0, 1))"
    assert (cause.verdict, cause.mend) == ("second backward", mend)
    mended = graph_of(tmp_path, program.replace("image = image.clamp(0, 1)", mend), engine)
    assert mended.stop is None
    assert not [one for one in why_all(mended) if one.is_wrong]


@pytest.mark.parametrize("engine", ENGINES)
def test_what_a_forward_keeps_of_its_input_is_to_be_no_parameter(tmp_path: Path, engine: str) -> None:
    program = """\
import torch
from torch import nn
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(4, 1)
        self.scale = torch.ones(1)
    def forward(self, x):
        self.mean = x.mean(1, keepdim=True).detach()
        return self.lin(x - self.mean) * self.scale + self.mean
net, x = Net(), torch.randn(8, 4)
loss = net(x).pow(2).mean()
loss.backward()
"""
    graph = graph_of(tmp_path, program, engine)
    assert "Parameter" not in why(graph, "net.mean").mend
    assert why(graph, "net.scale").mend == "self.scale = nn.Parameter(torch.ones(1))"


@pytest.mark.parametrize("engine", ENGINES)
def test_another_backward_in_the_same_pass_is_not_the_one_that_freed_the_state_of_the_pass_before(
    tmp_path: Path, engine: str
) -> None:
    program = """\
import torch
from torch import nn
cell, head, aux = nn.GRUCell(3, 4), nn.Linear(4, 1), nn.Linear(3, 1)
h = torch.zeros(2, 4)
for step in range(3):
    x = torch.randn(2, 3)
    h = cell(x, h)
    y = head(h)
    side = aux(x).pow(2).mean()
    side.backward()
    loss = (y - 1).pow(2).mean()
    loss.backward()
"""
    cause = why(graph_of(tmp_path, program, engine), "cell.weight_hh")
    assert (cause.verdict, cause.mend) == ("second backward", "h = h.detach() before it is used again")
    twice = program.replace("h = cell(x, h)", "h = cell(x, torch.zeros(2, 4))") + "    (y.mean() + 1).backward()\n"
    assert "y, made in line 8, links the two" in why(graph_of(tmp_path, twice, engine), "cell.weight_hh").what


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    "lines",
    [
        "u = (x - x.mean(1, keepdim=True)) / std * gain\nv = u + mix(u)",
        "v = mix((x - x.mean(1, keepdim=True)) / std * gain)",
        "u = (x - x.mean(1, keepdim=True)) / std * gain\nv = att(u, u, u)[0]",
    ],
)
def test_a_layer_on_three_dimensions_is_not_blamed_for_nan_that_it_was_given(
    tmp_path: Path, lines: str, engine: str
) -> None:
    program = f"""\
import torch
from torch import nn
gain, mix, att = nn.Parameter(torch.ones(1)), nn.Linear(1, 1), nn.MultiheadAttention(1, 1)
x = torch.zeros(4, 6, 1)
std = x.var(1, keepdim=True).sqrt()
{lines}
loss = v.pow(2).mean()
loss.backward()
"""
    cause = why(graph_of(tmp_path, program, engine), "gain")
    assert (cause.verdict, cause.lines[0][0].line) == ("nan", 6)
    assert cause.mend == "its divisor is 0, or too small for its dtype: add a small number to std"


@pytest.mark.parametrize("engine", ENGINES)
def test_a_loss_that_is_made_anew_of_numbers_has_no_graph_by_requires_grad(tmp_path: Path, engine: str) -> None:
    program = """\
import torch
from torch import nn
net, x = nn.Linear(3, 2), torch.randn(4, 3)
losses = net(x).pow(2).mean(0)
fit = torch.tensor([l.item() for l in losses], requires_grad=True).sum()
loss = fit + 0.01 * net.weight.abs().sum()
loss.backward()
"""
    cause = why(graph_of(tmp_path, program, engine), "fit")
    assert (cause.verdict, cause.mend) == ("false cure", "fit = torch.hstack([l for l in losses]).sum()")
    own = program.replace("[l.item() for l in losses]", "[1.0, 2.0]")
    assert why(graph_of(tmp_path, own, engine), "fit").verdict == "not a leaf: the leaf has no name"


@pytest.mark.parametrize("engine", ENGINES)
def test_of_a_commitment_that_a_detach_cuts_off_the_choice_that_is_let_through_is_not_told(
    tmp_path: Path, engine: str
) -> None:
    program = """\
import torch
from torch import nn
torch.manual_seed(0)
enc, dec, book, x = nn.Linear(4, 3), nn.Linear(3, 4), torch.randn(5, 3), torch.randn(8, 4)
z = enc(x)
idx = torch.cdist(z, book).argmin(1)
q = book[idx]
with torch.no_grad():
    book.index_add_(0, idx, z, alpha=0.1)
commit = (z.detach() - q).pow(2).mean()
st = z + (q - z).detach()
loss = (dec(st) - x).pow(2).mean() + commit
loss.backward()
"""
    cause = why(graph_of(tmp_path, program, engine), "enc.weight")
    assert (cause.verdict, cause.is_wrong, [place.line for place, _ in cause.lines]) == ("ok", False, [13, 10])
    assert cause.mend == "none, if it is to be one; else commit = (z - q).pow(2).mean()"


@pytest.mark.parametrize("engine", ENGINES)
def test_an_index_is_not_said_to_make_the_inf_that_it_picks(tmp_path: Path, engine: str) -> None:
    program = """\
import torch
torch.manual_seed(0)
end, net, x = torch.zeros(5, requires_grad=True), torch.nn.Linear(3, 5), torch.randn(4, 6, 3)
opt = torch.optim.SGD([end, *net.parameters()], 0.1)
tags, mask, b = torch.randint(0, 5, (4, 6)), torch.rand(4, 6) > 0.5, torch.arange(4)
for _ in range(2):
    em = net(x).masked_fill(~mask.unsqueeze(-1), -float("inf"))
    score = end[tags[:, 0]]
    for t in range(6):
        score = score + em[b, t, tags[:, t]] * mask[:, t].float()
    loss = -score.mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
"""
    cause = why(graph_of(tmp_path, program, engine), "score")
    assert cause.verdict == "nan"
    assert "index makes" not in cause.what


@pytest.mark.parametrize("engine", ENGINES)
def test_a_mask_without_a_name_is_not_blamed_for_the_softmax_of_a_row_that_it_covers(
    tmp_path: Path, engine: str
) -> None:
    program = """\
import torch
torch.manual_seed(0)
att = torch.nn.MultiheadAttention(8, 2, batch_first=True)
x, pad = torch.randn(2, 3, 8), torch.tensor([[False, False, True], [True, True, True]])
loss = att(x, x, x, key_padding_mask=pad)[0].pow(2).mean()
loss.backward()
"""
    cause = why(graph_of(tmp_path, program, engine), "att.out_proj.weight")
    assert "softmax makes the first of them, forward" in cause.what


IN_A_FUNCTION = """\
import torch
from torch import nn
def step(net, x):
    with torch.no_grad():
        loss = net(x).mean()
    loss.backward()
def train():
    layers = nn.Linear(3, 2)
    x = torch.rand(4, 3)
    step(layers, x)
train()
"""


@pytest.mark.parametrize("engine", ENGINES)
def test_a_failure_in_a_function_is_told_with_the_tensors_that_it_had(tmp_path: Path, engine: str) -> None:
    graph = graph_of(tmp_path, IN_A_FUNCTION, engine)
    cause = why(graph, "layers.weight")  # the name of the function that called the one that fails
    assert (cause.verdict, lines_of(cause)[-1]) == ("no_grad", 5)
    assert [one.name for one in why_all(graph)][:2] == ["layers.weight", "layers.bias"]
    graph = graph_of(tmp_path, IN_A_FUNCTION.replace("loss.backward()", "loss @ x"), engine)
    assert why(graph, "layers.weight").verdict != "ok"
    assert {"layers.weight", "net.weight", "x", "loss"} <= {row.name for row in graph.tensors}


def test_a_layer_that_fails_in_its_own_code_shows_what_it_had_computed(tmp_path: Path) -> None:
    program = (
        "import torch\nclass Net(torch.nn.Module):\n    def __init__(self):\n        super().__init__()\n"
        "        self.a, self.b = torch.nn.Linear(3, 4), torch.nn.Linear(5, 2)\n"
        "    def forward(self, x):\n        h = self.a(x)\n        return self.b(h)\n"
        "def train():\n    net = Net()\n    net(torch.ones(2, 3)).sum().backward()\ntrain()\n"
    )
    graph = graph_of(tmp_path, program, "gviz")
    rows = {row.name: row for row in graph.tensors}
    assert [node.name for node in graph.nodes if node.kind == "output"] == ["h"]
    assert rows["self.a.weight"].same_as == "net.a.weight"


TWO_ROOTS = """\
import torch
x = torch.tensor([1.0, 0.0], requires_grad=True)
a = torch.sqrt(x).sum()
a.backward()
p = torch.tensor([0.0, 1.0], requires_grad=True)
b = (p * torch.log(p)).sum()
b.backward()
"""


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("roots", [(), ("a",), ("b",)])
@pytest.mark.parametrize("is_there", [True, False], ids=["of both", "made later"])
def test_a_gradient_of_another_root_that_is_not_finite_has_the_line_of_its_own_backward(
    tmp_path: Path, roots: tuple[str, ...], engine: str, is_there: bool
) -> None:
    lines = TWO_ROOTS.splitlines(keepends=True)
    (tmp_path / "program.py").write_text(
        "".join(lines if not is_there else [*lines[:1], lines[4], *lines[1:4], *lines[5:]])
    )
    if engine == "torch":
        pytest.importorskip("torch")
    options = SourceOptions(diagnose=True, engine=engine, roots=roots)
    graph = package.read(tmp_path / "program.py", options, rootless=True).graph
    own, other, name = ("x", "p", "b") if roots == ("a",) else ("p", "x", "a")
    backward = 7 if name == "b" else 4 + is_there
    assert graph.backward is not None
    assert graph.backward.line != backward  # as gviz inspect does, the last one is taken
    cause = why(graph, other)
    assert (lines_of(cause), cause.mend) == ([backward], f"gviz why SOURCE --root {name} tells of that one")
    assert f"{'b' if name == 'a' else 'a'} is not made from {other}" in cause.what
    assert lines_of(why(graph, own))[0] == (6 if own == "p" else 3 + is_there)


FROZEN_CRITIC = """\
import torch
from torch import nn
torch.manual_seed(0)
G, D = nn.Linear(2, 2), nn.Linear(2, 1)
opt_g = torch.optim.SGD(G.parameters(), lr=0.1)
opt_d = torch.optim.SGD(D.parameters(), lr=0.1)
history = []
def d_step():
    opt_d.zero_grad()
    fake = G(torch.randn(4, 2)).detach()
    d_loss = D(fake).mean() - D(torch.randn(4, 2)).mean()
    d_loss.backward()
    opt_d.step()
    return d_loss.item()
def g_step():
    opt_g.zero_grad()
    for p in D.parameters():
        p.requires_grad_(False)
    g_loss = -D(G(torch.randn(4, 2))).mean()
    g_loss.backward()
    opt_g.step()
for step in range(3):
    history.append(d_step())
    g_step()
"""


@pytest.mark.parametrize("engine", ENGINES)
def test_what_is_frozen_and_stays_so_is_blamed_on_the_line_that_freezes_it(tmp_path: Path, engine: str) -> None:
    graph = graph_of(tmp_path, FROZEN_CRITIC, engine)
    cause = why(graph, "D.weight")
    assert (cause.is_wrong, cause.verdict, lines_of(cause)) == (True, "frozen root", [12, 18])
    assert cause.mend == (
        "leave the lines 17 and 18 out; or, for D.weight alone, D.weight.requires_grad_() before it is used again"
    )
    assert why(graph, "G.weight").verdict == "ok"  # another call of backward has brought its gradient
    without = FROZEN_CRITIC.replace("    for p in D.parameters():\n        p.requires_grad_(False)\n", "")
    again = FROZEN_CRITIC.replace("    opt_d.zero_grad()\n", "    opt_d.zero_grad()\n    D.weight.requires_grad_()\n")
    for mended in (without, again):
        assert not why(graph_of(tmp_path, mended, engine), "D.weight").is_wrong


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    "use",
    [
        "torch.zeros(3, 3).index_add(0, torch.tensor([0, 1, 1]), w * h / count)",
        "torch.zeros(3, 3).index_put((torch.tensor([0, 1, 2]),), w * h / count)",
        "cell(w * h / count, h)",
    ],
)
def test_a_division_by_0_is_found_behind_what_puts_its_result_elsewhere(tmp_path: Path, use: str, engine: str) -> None:
    program = f"""\
import torch
w = torch.ones(3, 3, requires_grad=True)
count, h, cell = torch.zeros(3, 1), torch.zeros(3, 3), torch.nn.GRUCell(3, 3)
for step in range(2):
    h = torch.tanh({use} * 2)
h.sum().backward()
"""
    cause = why(graph_of(tmp_path, program, engine), "w")
    assert (cause.verdict, cause.mend) == ("nan", "it is a division by 0: add a small number to the divisor"), cause
    assert "/ makes the first of them, forward" in cause.what


PACKED = """\
import torch
from torch import nn
net, head = nn.Linear(3, 4), nn.Linear(4, 1)
opt = torch.optim.SGD([*net.parameters(), *head.parameters()], 0.1)
packed = nn.utils.rnn.pack_padded_sequence(net(torch.randn(2, 5, 3)), torch.tensor([5, 3]), batch_first=True)
packed = packed._replace(data=packed.data.detach())
out, _ = nn.utils.rnn.pad_packed_sequence(packed, batch_first=True)
loss = head(out).pow(2).mean()
loss.backward()
"""


@pytest.mark.parametrize("engine", ENGINES)
def test_a_packed_sequence_is_cut_off_by_no_lengths_of_it(tmp_path: Path, engine: str) -> None:
    cause = why(graph_of(tmp_path, PACKED, engine), "net.weight")
    assert ("cut off by detach()" in cause.what, "derivative" in cause.what) == (True, False), cause
    assert lines_of(cause) == [6], cause


IN_MAIN = """\
import torch
from torch import nn
scale = torch.tensor(2.0)
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.time, self.body = nn.Linear(3, 4), nn.Linear(3, 4)
    def forward(self, x):
        with torch.no_grad():
            t = self.time(x)
        return self.body(x) + t * scale
def main():
    model = Net()
    model(torch.ones(2, 3)).pow(2).mean().backward()
main()
"""


@pytest.mark.parametrize("engine", ENGINES)
def test_a_parameter_that_only_a_function_held_is_asked_about_beside_a_global_tensor(
    tmp_path: Path, engine: str
) -> None:
    for program in (IN_MAIN, IN_MAIN.replace("scale = torch.tensor(2.0)", "scale = 2.0")):
        causes = {one.name: one for one in why_all(graph_of(tmp_path, program, engine))}
        assert {"model.time.weight", "model.body.weight"} <= causes.keys()
        assert (causes["model.time.weight"].verdict, lines_of(causes["model.time.weight"])) == ("no_grad", [10])


FROZEN_COPY = """\
import copy, torch
net = torch.nn.Linear(3, 2)
ema = copy.deepcopy(net)
for model in (net, ema):
    for p in model.parameters():
        p.requires_grad_(False)
x = torch.ones(4, 3)
with torch.no_grad():
    target = ema(x) + 1
net(x).pow(2).mean().backward()
"""

ROOTS_OF_FROZEN = {
    "net(x).pow(2).mean()": ["net"],
    "torch.zeros(4, 2).add_(net(x)).sum()": ["net"],
    "(net(x) * ema(x)).sum()": ["net", "ema"],
    "(net(x) - target).pow(2).mean()": ["net"],
    "(net(x) - 2 * ema(x).detach()).pow(2).mean()": ["net"],
    "torch.nn.functional.cross_entropy(net(x), ema(x).argmax(-1))": ["net"],
    "target.sum()": ["ema"],  # no_grad() comes to light when that is thawed
}
"""Roots without a graph, each with the models which it could have one by, if they required gradients."""


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("root", ROOTS_OF_FROZEN)
def test_of_what_is_frozen_only_what_the_root_is_made_from_is_blamed(tmp_path: Path, engine: str, root: str) -> None:
    graph = graph_of(tmp_path, FROZEN_COPY.replace("net(x).pow(2).mean()", root), engine)
    used = {f"{model}.{part}" for model in ROOTS_OF_FROZEN[root] for part in ("weight", "bias")}
    assert {one.name for one in why_all(graph) if one.is_wrong} - {"target"} == used
    assert {one.verdict for one in why_all(graph) if one.name in used} == {"frozen root"}


REWRAPPED = """\
import torch
from torch import nn
torch.manual_seed(0)
actor, critic = nn.Linear(2, 1), nn.Linear(3, 1)
actor_opt = torch.optim.SGD(actor.parameters(), lr=0.1)
critic_opt = torch.optim.SGD(critic.parameters(), lr=0.1)
for step in range(2):
    s, a = torch.randn(4, 2), torch.randn(4, 1)
    critic_loss = (critic(torch.cat([s, a], 1)) - 1).pow(2).mean()
    critic_opt.zero_grad()
    critic_loss.backward()
    critic_opt.step()
    for p in critic.parameters():
        p.requires_grad = False
    loss = -critic(torch.cat([s, actor(s)], 1)).mean()
    loss = loss.detach()
    loss.requires_grad_(True)
    actor_opt.zero_grad()
    loss.backward()
    actor_opt.step()
    for p in critic.parameters():
        p.requires_grad = True
"""


@pytest.mark.parametrize("engine", ENGINES)
def test_a_false_cure_is_told_of_what_its_root_was_made_from_alone(tmp_path: Path, engine: str) -> None:
    verdicts = {cause.name: cause.verdict for cause in why_all(graph_of(tmp_path, REWRAPPED, engine))}
    assert (verdicts["actor.weight"], verdicts["critic.weight"]) == ("false cure", "ok"), verdicts


DERIVATIVE_OF_A_GRADIENT = """\
import torch
x = torch.tensor(2.0, requires_grad=True)
y = x ** 3
y.backward()
dy = x.grad
torch.autograd.grad(dy, x)
"""


@pytest.mark.parametrize("engine", ENGINES)
def test_a_gradient_that_autograd_grad_is_called_on_needs_a_graph_of_its_own(tmp_path: Path, engine: str) -> None:
    graph = graph_of(tmp_path, DERIVATIVE_OF_A_GRADIENT, engine)
    cause = why(graph, "dy")
    assert (cause.verdict, cause.mend) == ("detached", "y.backward(create_graph=True)")
    assert graph.stop is not None
    assert graph_of(tmp_path, DERIVATIVE_OF_A_GRADIENT.replace("y.backward()", cause.mend), engine).stop is None


LOOP = """\
import copy
import torch
import torch.nn.functional as F
from torch import nn
torch.manual_seed(0)
net, head = nn.Sequential(nn.Linear(3, 4), nn.Tanh()), nn.Linear(4, 1)
opt = torch.optim.SGD([*net.parameters(), *head.parameters()], lr=0.1)
x, y = torch.randn(8, 3), torch.randn(8, 1)
for step in range(3):
    opt.zero_grad()
"""
"""Two modules, their optimizer, and the beginning of a loop."""


@pytest.mark.parametrize("engine", ENGINES)
def test_a_copy_of_a_module_that_predicts_after_the_training_is_not_to_be_trained(tmp_path: Path, engine: str) -> None:
    body = """\
    loss = F.mse_loss(head(net(x)), y)
    loss.backward()
    opt.step()
    if step == 1:
        best = copy.deepcopy(net)
print(head(best(x)).mean())
"""
    causes = {cause.name: cause for cause in why_all(graph_of(tmp_path, LOOP + body, engine))}
    assert (causes["best.0.weight"].verdict, causes["net.0.weight"].verdict) == ("not trained", "ok")
    assert not any(cause.is_wrong for cause in causes.values())


WITHOUT_GRAPH = {
    "a detach() where gradients are switched off": (
        "    h = net(x)\n    with torch.no_grad():\n        loss = head(h).mean() + (head(h.detach()) - y).mean()\n",
        "no_grad",
        13,
        "take the line, and what is computed from it there, out of torch.no_grad()",
    ),
    "a detach() by another name": (
        (
            "    stop = torch.detach\n    h = net(x)\n"
            "    with torch.no_grad():\n        loss = (head(h) * head(stop(h))).mean()\n"
        ),
        "no_grad",
        14,
        "take the line, and what is computed from it there, out of torch.no_grad()",
    ),
    "a no_grad before a detach()": (
        "    with torch.no_grad():\n        h = net(x)\n    loss = F.mse_loss(head(h), y).detach()\n",
        "detached",
        13,
        "loss = F.mse_loss(head(h), y)",
    ),
    "numbers of a list": (
        "    h = torch.tensor(net(x).tolist())\n    loss = (h - y).mean()\n",
        "detached",
        11,
        "h = net(x)",
    ),
}


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("case", WITHOUT_GRAPH)
def test_what_took_the_graph_from_a_root_is_blamed_and_no_cut_before_it(tmp_path: Path, case: str, engine: str) -> None:
    body, verdict, line, mend = WITHOUT_GRAPH[case]
    graph = graph_of(tmp_path, f"{LOOP}{body}    loss.backward()\n    opt.step()\n", engine)
    for name in ("net.0.weight", "loss"):
        cause = why(graph, name)
        assert (cause.verdict, lines_of(cause)[-1], cause.mend) == (verdict, line, mend), cause
    assert why(graph, "x").verdict == "frozen"


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("line", ["q.grad = None", "nn.utils.clip_grad_value_([q], 0.0)"])
def test_to_clamp_weights_is_no_use_of_gradients_that_no_step_had(tmp_path: Path, line: str, engine: str) -> None:
    body = f"""\
    loss = F.mse_loss(head(net(x)), y)
    loss.backward()
    for q in [*net.parameters(), *head.parameters()]:
        {line}
    opt.step()
    for q in [*net.parameters(), *head.parameters()]:
        q.data.clamp_(-1, 1)
"""
    cause = why(graph_of(tmp_path, LOOP + body, engine), "net.0.weight")
    assert cause.is_wrong, cause
    assert lines_of(cause) == [14], cause


@pytest.mark.parametrize("engine", ENGINES)
def test_a_constant_without_a_name_is_not_where_nan_begins_if_an_operation_makes_it(
    tmp_path: Path, engine: str
) -> None:
    body = """\
    logits = net(x) / 0
    soft = torch.softmax(logits, 1)
    hard = F.one_hot(soft.argmax(1), 4).float()
    loss = F.mse_loss(head(hard - soft.detach() + soft), y)
    loss.backward()
"""
    cause = why(graph_of(tmp_path, LOOP + body, engine), "net.0.weight")
    assert (cause.verdict, lines_of(cause)) == ("nan", [11]), cause


@pytest.mark.parametrize("engine", ENGINES)
def test_nan_in_a_bias_that_another_backward_has_left_is_never_meant(tmp_path: Path, engine: str) -> None:
    body = """\
    loss = torch.sqrt(net(x).mean() * 0)
    loss.backward()
other = head(x[:, [0, 1, 2, 0]]).sum()
other.backward()
"""
    graph = graph_of(tmp_path, LOOP + body, engine)
    assert [why(graph, f"net.0.{name}").is_wrong for name in ("weight", "bias")] == [True, True]


@pytest.mark.parametrize("engine", ENGINES)
def test_a_loss_that_is_cut_off_beside_a_penalty_is_told(tmp_path: Path, engine: str) -> None:
    body = """\
    loss = F.mse_loss(head(net(x)), y).detach()
    loss = loss + 0.1 * net[0].weight.pow(2).sum()
    loss.backward()
    opt.step()
"""
    cause = why(graph_of(tmp_path, LOOP + body, engine), "net.0.weight")
    assert "a part of loss is a constant for it: that part was cut off by detach()" in cause.what
    assert (cause.verdict, lines_of(cause)) == ("ok", [13, 11]), cause
    assert cause.mend == "none, if it is to be one; else loss = F.mse_loss(head(net(x)), y)"


@pytest.mark.parametrize("engine", ENGINES)
def test_a_target_whose_numbers_are_logged_as_well_is_not_to_be_trained(tmp_path: Path, engine: str) -> None:
    body = """\
    target = copy.deepcopy(net) if step == 0 else target
    mask = torch.tensor([True, False] * 4)
    later = torch.zeros(8, 1)
    with torch.no_grad():
        later[mask] = target(x[mask]).max(1, keepdim=True).values
    logged = later.detach().numpy()
    loss = F.mse_loss(head(net(x)), later)
    loss.backward()
    opt.step()
"""
    verdicts = {cause.name: cause.verdict for cause in why_all(graph_of(tmp_path, LOOP + body, engine))}
    assert (verdicts["target.0.weight"], verdicts["mask"], verdicts["net.0.weight"]) == ("not trained", "integer", "ok")


@pytest.mark.parametrize("engine", ENGINES)
def test_the_gradient_of_a_backward_before_the_error_of_another_is_no_fault(tmp_path: Path, engine: str) -> None:
    body = """\
    part = net(x).pow(2).mean()
    (part + net(x).sum()).backward()
    second = head(torch.zeros(8, 4)).detach()
    second.backward()
"""
    graph = graph_of(tmp_path, LOOP + body, engine)
    assert why(graph, "net.0.weight").verdict != "backward not run"


COMPUTED = """\
import torch
w = torch.tensor([0.3, 0.7])
y = (w * torch.tensor([1.0, 2.0])).sum()
w.requires_grad_(True)
loss = (y - 1) ** 2
loss.requires_grad_(True)
loss.backward()
"""


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    ("setting", "verdict", "lines"),
    [
        ("loss = (y - 1) ** 2\nloss.requires_grad_(True)\n", "false cure", [5, 6]),
        ("loss = (y - 1) ** 2\nloss.requires_grad = True\n", "false cure", [5, 6]),
        ("loss = ((y - 1) ** 2).requires_grad_()\n", "false cure", [5]),
        ("loss = torch.tensor(2.0)\nloss.requires_grad_()\n", "leaf root", [5]),
        ("loss = torch.tensor(2.0, requires_grad=True)\n", "leaf root", [5]),
    ],
)
def test_requires_grad_makes_no_graph_of_a_loss_that_was_computed_without(
    tmp_path: Path, engine: str, setting: str, verdict: str, lines: list[int]
) -> None:
    program = COMPUTED.replace("loss = (y - 1) ** 2\nloss.requires_grad_(True)\n", setting)
    cause = why(graph_of(tmp_path, program, engine), "loss")
    assert (cause.verdict, lines_of(cause)) == (verdict, lines)
    if verdict == "false cure":
        assert "brings no graph back: nothing that it is made from required a gradient then" in cause.what
        cured = program.replace("0.7])", "0.7], requires_grad=True)").replace(setting, "loss = (y - 1) ** 2\n")
        assert why(graph_of(tmp_path, cured.replace("w.requires_grad_(True)\n", ""), engine), "w").verdict == "ok"


@pytest.mark.parametrize("engine", ENGINES)
def test_what_no_parameters_list_in_a_moving_average_is_not_to_be_used(tmp_path: Path, engine: str) -> None:
    program = """\
import copy
import torch
from torch import nn
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(2, 2)
        self.blocks = [nn.Linear(2, 2)]
    def forward(self, x):
        return self.blocks[0](self.fc(x))
net = Net()
ema = copy.deepcopy(net)
opt = torch.optim.SGD(net.parameters(), 0.1)
for step in range(2):
    loss = net(torch.ones(1, 2)).sum()
    opt.zero_grad()
    loss.backward()
    opt.step()
    with torch.no_grad():
        for p, q in zip(ema.parameters(), net.parameters()):
            p.mul_(0.9).add_(q, alpha=0.1)
"""
    causes = {cause.name: cause for cause in why_all(graph_of(tmp_path, program, engine))}
    assert {name for name, cause in causes.items() if cause.is_wrong} == {"net.blocks[0].weight", "net.blocks[0].bias"}
    assert causes["ema.blocks[0].weight"].verdict == causes["ema.fc.weight"].verdict == "not trained"


@pytest.mark.parametrize("engine", ENGINES)
def test_nan_of_a_constant_that_is_computed_from_the_graph_began_there(tmp_path: Path, engine: str) -> None:
    body = """\
    logits = net(x) / 0
    assign = lambda t: torch.exp(t.detach()) / torch.exp(t.detach()).sum()
    loss = -(assign(logits) * F.log_softmax(logits + head(net(x)), 1)).sum()
    loss.backward()
"""
    cause = why(graph_of(tmp_path, LOOP + body, engine), "head.weight")
    assert (cause.verdict, lines_of(cause)) == ("nan", [11]), cause


@pytest.mark.parametrize("engine", ENGINES)
def test_nan_that_came_in_a_later_pass_sends_to_the_leaf_where_it_began(tmp_path: Path, engine: str) -> None:
    body = """\
    loss = F.mse_loss(head(torch.sqrt(net(x) * 0)), y)
    loss.backward()
    opt.step()
"""
    cause = why(graph_of(tmp_path, LOOP + body, engine), "head.weight")
    assert (cause.verdict, cause.mend) == ("nan", "gviz why SOURCE net.0.weight tells where that of net.0.weight began")
    assert lines_of(why(graph_of(tmp_path, LOOP + body, engine), "net.0.weight")) == [11]


@pytest.mark.parametrize("engine", ENGINES)
def test_nan_of_another_root_has_the_line_of_its_own_backward_though_it_is_cut_off_from_the_first(
    tmp_path: Path, engine: str
) -> None:
    body = """\
    first = F.mse_loss(head(net(x).detach()), y) / 0
    first.backward()
    opt.step()
    second = head(net(x)).sum()
    second.backward()
"""
    cause = why(graph_of(tmp_path, LOOP + body, engine), "net.0.weight")
    assert (cause.verdict, lines_of(cause), cause.mend) == (
        "nan",
        [15],
        "gviz why SOURCE --root second tells of that one",
    )


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    ("before", "after", "verdict"), [("", "opt.step()", "ok"), ("opt.zero_grad()", "opt.step()", "taken away")]
)
def test_what_is_frozen_after_the_training_has_the_verdict_on_its_training(
    tmp_path: Path, before: str, after: str, verdict: str, engine: str
) -> None:
    body = f"""\
    loss = F.mse_loss(head(net(x)), y)
    loss.backward()
    {before or "pass"}
    {after}
for p in net.parameters():
    p.requires_grad_(False)
"""
    assert why(graph_of(tmp_path, LOOP + body, engine), "net.0.weight").verdict == verdict


@pytest.mark.parametrize("engine", ENGINES)
def test_an_error_between_two_backwards_explains_the_gradient_that_the_second_was_to_bring(
    tmp_path: Path, engine: str
) -> None:
    program = """\
import torch
import torch.nn.functional as F
from torch import nn
torch.manual_seed(0)
made, judged = nn.Linear(2, 2), nn.Linear(2, 1)
first, second = (torch.optim.SGD(one.parameters(), 0.1) for one in (judged, made))
fake = made(torch.ones(3, 2))
loss = judged(fake.detach()).mean()
loss.backward()
first.step()
other = F.mse_loss(judged(fake), torch.ones(3, 1)).view(7)
other.backward()
second.step()
"""
    graph = graph_of(tmp_path, program, engine)
    causes = {name: why(graph, f"{name}.weight") for name in ("made", "judged")}
    assert (causes["made"].verdict, lines_of(causes["made"])) == ("failed", [11]), causes["made"]
    assert causes["judged"].verdict == "ok", causes["judged"]


@pytest.mark.parametrize("engine", ENGINES)
def test_the_root_of_another_backward_is_to_have_a_name_of_its_own(tmp_path: Path, engine: str) -> None:
    body = """\
    loss = net(x).sum() * 0
    loss.backward()
loss = head(torch.ones(1, 4)).sum()
loss.backward()
"""
    cause = why(graph_of(tmp_path, LOOP + body, engine), "net.0.weight")
    assert cause.mend == "give its root a name of its own, and gviz why SOURCE --root NAME tells of that one"


STUDENT_AND_TARGET = """\
import copy
import torch
from torch import nn
torch.manual_seed(0)
q = nn.Linear(2, 2)
target = copy.deepcopy(q)
opt = torch.optim.SGD(q.parameters(), lr=0.1)
state = torch.ones(1, 2)
def act(s):
    with torch.no_grad():
        return q(s).argmax().item()
replay = [(torch.ones(1, 2), act(state)) for _ in range(3)]
for i in range(2):
    s = torch.cat([one for one, _ in replay])
    a = torch.tensor([float(action) for _, action in replay])
    with torch.no_grad():
        goal = target(s).max(1).values + a
    loss = (q(s).sum(1) - goal).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
"""


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("    opt.step()\n", "    opt.step(); opt.step()\n"),
        ("    loss.backward()\n", "    loss.backward(); loss.backward()\n"),
        ("loss = (q(s).sum(1)", "loss = (q(s).detach().sum(1)"),
        ("    opt.zero_grad()\n", "    opt.zero_grad(); loss = torch.tensor(loss.item(), requires_grad=True)\n"),
    ],
)
def test_targets_and_data_are_not_blamed_for_the_fault_of_another(
    tmp_path: Path, before: str, after: str, engine: str
) -> None:
    assert STUDENT_AND_TARGET.count(before) == 1
    causes = why_all(graph_of(tmp_path, STUDENT_AND_TARGET.replace(before, after), engine))
    wrong = {cause.name for cause in causes if cause.is_wrong}
    assert wrong
    assert wrong <= {"q.weight", "q.bias", "loss"}, causes


DATA = """\
import torch
data = [torch.ones(2) for _ in range({count})]
w = torch.tensor(2.0{required})
total = sum((one * w).sum() for one in data)
total.backward()
"""
WRITTEN_LAYERS = """\
import torch
net = torch.nn.Sequential(*[torch.nn.Linear(2, 2) for _ in range({count})])
net(torch.ones(1, 2)).sum().backward()
for p in net.parameters():
    p -= 0.1 * p.grad
"""


def counted(function: Callable[..., Any], calls: list[str]) -> Callable[..., Any]:
    """A function that notes each of its calls."""

    def call(*args: Any, **words: Any) -> Any:
        calls.append(function.__name__)
        return function(*args, **words)

    return call


@pytest.mark.parametrize(
    "program",
    [DATA.replace("{required}", ""), DATA.replace("{required}", ", requires_grad=True"), WRITTEN_LAYERS],
    ids=["nothing requires a gradient", "sound", "layers"],
)
def test_of_twice_as_many_tensors_the_text_is_searched_twice_as_often(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, program: str
) -> None:
    counts = []
    for count in (30, 60):
        graph, calls = graph_of(tmp_path, program.format(count=count), "gviz"), list[str]()
        with monkeypatch.context() as patch:
            patch.setattr(re, "search", counted(re.search, calls))
            patch.setattr(Assignments, "way", counted(Assignments.way, calls))
            why_all(graph)
        counts.append(len(calls))
    assert counts[1] < 2.5 * counts[0] + 10, counts


OVER_TWO_LINES = """\
import torch
w = torch.tensor([1.0, 2.0], requires_grad=True)
with torch.no_grad():
    a = w * 2
    b = a + 1
{}
loss.backward()
"""


@pytest.mark.parametrize("engine", ENGINES)
def test_a_switch_over_several_lines_is_left_by_all_that_is_computed_there(tmp_path: Path, engine: str) -> None:
    out = "take the line, and what is computed from it there, out of torch.no_grad()"
    cause = why(
        graph_of(tmp_path, OVER_TWO_LINES.format("loss = (b * torch.ones(2, requires_grad=True)).sum()"), engine), "w"
    )
    assert (cause.verdict, lines_of(cause)) == ("no_grad", [4])
    assert cause.mend.startswith(f"{out}; or")
    beside = why(graph_of(tmp_path, OVER_TWO_LINES.format("loss = (b * w).sum()"), engine), "w")
    assert (beside.verdict, lines_of(beside)) == ("ok", [7, 4])
    assert beside.mend == f"none, unless w is to be trained on that way, too: {out}"


@pytest.mark.parametrize("engine", ENGINES)
def test_a_derivative_of_a_derivative_is_asked_for_where_the_first_one_is(tmp_path: Path, engine: str) -> None:
    program = (
        "import torch\nx = torch.tensor(3.0, requires_grad=True)\ny = x ** 2\n"
        "g, = torch.autograd.grad(y, x)\nh, = torch.autograd.grad(g, x)\n"
    )
    graph = graph_of(tmp_path, program, engine)
    for cause in (why(graph, "x"), why_all(graph)[0]):
        assert (cause.name, cause.verdict, lines_of(cause)) == ("x", "detached", [5, 4])
        assert cause.mend == "g, = torch.autograd.grad(y, x, create_graph=True)"


@pytest.mark.parametrize("engine", ENGINES)
def test_a_hook_that_returns_what_it_may_not_is_told_with_its_line_and_what_it_made(
    tmp_path: Path, engine: str
) -> None:
    program = (
        "import torch\nx = torch.tensor([1.0, 2.0], requires_grad=True)\n"
        "x.register_post_accumulate_grad_hook(lambda p: p.grad.mul_(0.5))\n(x * x).sum().backward()\n"
    )
    graph = graph_of(tmp_path, program, engine)
    cause = why(graph, "x")
    assert (cause.verdict, lines_of(cause)) == ("failed", [4, 3])
    assert cause.mend == 'gviz explain "Tensor post accumulate grad hooks should return None." says what helps'
    (change,) = next(node.grad.hooks for node in graph.nodes if node.grad.hooks)
    assert [one and one.elements for one in (change.given, change.made)] == [(2.0, 4.0), (1.0, 2.0)]


def test_a_mend_for_an_optimizer_without_a_step_tells_of_its_name(tmp_path: Path) -> None:
    program = (
        "import torch\na, b = torch.nn.Linear(2, 2), torch.nn.Linear(2, 1)\n"
        "opt = torch.optim.SGD(a.parameters(), lr=0.1)\nopt = torch.optim.SGD(b.parameters(), lr=0.1)\n"
        "loss = b(a(torch.ones(1, 2))).sum()\nloss.backward()\nopt.step()\n"
    )
    cause = why(graph_of(tmp_path, program, "gviz"), "a.weight")
    assert cause.verdict == "not used"
    assert cause.mend.endswith("if its name is now another's, give each a name of its own")


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("switch", ["no_grad", "inference_mode"])
def test_a_model_that_only_predicts_has_no_fault(tmp_path: Path, switch: str, engine: str) -> None:
    program = f"""\
import torch
net = torch.nn.Linear(2, 1)
with torch.{switch}():
    y = net(torch.ones(3, 2)).sigmoid()
"""
    cause = why(graph_of(tmp_path, program, engine), "net.weight")
    assert (cause.verdict, lines_of(cause), cause.is_wrong) == ("no_grad", [4], False)
    assert cause.mend.startswith("none, if nothing is to be trained; else take the line")
    loss = f"{program}loss = y.mean()\nloss.backward()\n"
    assert why(graph_of(tmp_path, loss, engine), "net.weight").is_wrong
