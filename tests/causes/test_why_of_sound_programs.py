"""``gviz why`` of programs that people write and that train as they are to: nothing in them is a fault."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import gviz as package
from gviz import SourceOptions
from gviz.causes.diagnosis import Cause
from gviz.causes.why import why, why_all
from gviz.graphs import Graph

ENGINES = ["gviz", pytest.param("torch", marks=pytest.mark.torch)]


def graph_of(folder: Path, program: str, engine: str, **options: Any) -> Graph:
    if engine == "torch":
        pytest.importorskip("torch")
    (folder / "program.py").write_text(program)
    read = SourceOptions(diagnose=True, engine=engine, **options)
    graph: Graph = package.read(folder / "program.py", read, rootless=True).graph
    return graph


def lines_of(cause: Cause) -> list[int]:
    return [place.line for place, _ in cause.lines]


HEAD = """\
import copy
import torch
from torch import nn
import torch.nn.functional as F
torch.manual_seed(0)
"""

LOOP = """\
opt = torch.optim.SGD({}, lr=0.1)
for step in range(4):
    loss = {}
    opt.zero_grad(); loss.backward(); opt.step()
"""

SOUND = {
    "adapter merged after the training": """\
class LoRA(nn.Module):
    def __init__(self):
        super().__init__()
        self.base, self.a, self.b = nn.Linear(4, 4), nn.Parameter(torch.randn(2, 4)), nn.Parameter(torch.zeros(4, 2))
    def forward(self, x):
        return self.base(x) + x @ self.a.T @ self.b.T
    def merge(self):
        self.base.weight = nn.Parameter(self.base.weight.detach() + (self.b @ self.a).detach())
net = nn.Sequential(LoRA(), nn.ReLU(), nn.Linear(4, 1))
"""
    + LOOP.format("net.parameters()", "net(torch.randn(8, 4)).pow(2).mean()")
    + "net[0].merge()\n",
    "head for the next task": """\
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body, self.head = nn.Linear(4, 8), nn.Linear(8, 2)
    def reset_head(self):
        self.head = nn.Linear(8, 2)
    def forward(self, x):
        return self.head(self.body(x).relu())
net = Net()
for task in range(2):
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(3):
        loss = net(torch.randn(8, 4)).pow(2).mean()
        opt.zero_grad(); loss.backward(); opt.step()
    net.reset_head()
""",
    "plain list that the optimizer has": """\
class Prompted(nn.Module):
    def __init__(self):
        super().__init__()
        self.body, self.prompts = nn.Linear(4, 1), [torch.randn(4, requires_grad=True) for _ in range(2)]
    def forward(self, x):
        return self.body(x + self.prompts[0] * self.prompts[1])
net = Prompted()
opt = torch.optim.SGD([*net.parameters(), *net.prompts], lr=0.1)
for step in range(5):
    net(torch.randn(3, 4)).pow(2).mean().backward()
    if step % 2 == 1:
        opt.step(); opt.zero_grad()
""",
    "input that a module keeps for its gradient": """\
class Saliency(nn.Module):
    def __init__(self, model):
        super().__init__()
        self.model, self.image = model, None
    def forward(self, image):
        self.image = image.clone().requires_grad_()
        self.model(self.image)[:, 0].sum().backward()
        return self.image.grad.abs()
model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
"""
    + LOOP.format("model.parameters()", "model(torch.randn(5, 4)).pow(2).mean()")
    + "opt.zero_grad()\nexplainer = Saliency(model)\nprint(explainer(torch.randn(5, 4)).mean())\n",
    "moving average that the optimizer has, too": """\
class BYOL(nn.Module):
    def __init__(self):
        super().__init__()
        self.online = nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 4))
        self.target, self.pred = copy.deepcopy(self.online), nn.Linear(4, 4)
    def forward(self, a, b):
        with torch.no_grad():
            t = self.target(b)
        return 2 - 2 * F.cosine_similarity(self.pred(self.online(a)), t).mean()
    @torch.no_grad()
    def update(self, tau=0.9):
        for o, t in zip(self.online.parameters(), self.target.parameters()):
            t.mul_(tau).add_(o, alpha=1 - tau)
model, x = BYOL(), torch.randn(8, 6)
"""
    + LOOP.format("model.parameters()", "model(x + 0.1, x - 0.1)")
    + "    model.update()\n",
    "codebook that a moving average writes": """\
class VQVAE(nn.Module):
    def __init__(self):
        super().__init__()
        self.enc, self.dec, self.codebook = nn.Linear(4, 2), nn.Linear(2, 4), nn.Parameter(torch.randn(5, 2))
    def forward(self, x):
        z = self.enc(x)
        index = (z[:, None] - self.codebook).pow(2).sum(2).argmin(1)
        e = self.codebook[index].detach()
        with torch.no_grad():
            for k in range(5):
                if (index == k).any():
                    self.codebook[k].lerp_(z[index == k].mean(0), 0.1)
        return F.mse_loss(self.dec(z + (e - z).detach()), x) + 0.25 * F.mse_loss(z, e)
model, x = VQVAE(), torch.randn(16, 4)
"""
    + LOOP.format("[*model.enc.parameters(), *model.dec.parameters()]", "model(x)"),
    "temperature that is not to be learned": """\
class Clip(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b, self.scale = nn.Linear(4, 3), nn.Linear(5, 3), nn.Parameter(torch.tensor(2.0))
    def forward(self, x, y):
        return self.scale.detach().exp() * self.a(x) @ self.b(y).T
model, x, y = Clip(), torch.randn(6, 4), torch.randn(6, 5)
"""
    + LOOP.format(
        "[p for n, p in model.named_parameters() if n != 'scale']", "F.cross_entropy(model(x, y), torch.arange(6))"
    ),
    "steps along what autograd.grad() returns": """\
net = nn.Linear(4, 1)
params = list(net.parameters())
for _ in range(4):
    loss = net(torch.randn(8, 4)).pow(2).mean()
    with torch.no_grad():
        for p, g in zip(params, torch.autograd.grad(loss, params)):
            p.sub_(0.1 * g)
""",
    "steps of a function along what autograd.grad() returns": """\
net = nn.Linear(4, 1)
params = list(net.parameters())
def descend(params, grads):
    with torch.no_grad():
        for p, g in zip(params, grads):
            p -= 0.1 * g
for _ in range(4):
    loss = net(torch.randn(8, 4)).pow(2).mean()
    descend(params, torch.autograd.grad(loss, params))
""",
    "squares of what autograd.grad() returns": """\
net = nn.Linear(4, 2)
total = {n: torch.zeros_like(p) for n, p in net.named_parameters()}
loss = net(torch.randn(8, 4)).pow(2).mean()
for (n, p), g in zip(net.named_parameters(), torch.autograd.grad(loss, list(net.parameters()))):
    total[n] += g.pow(2)
""",
    "attack with autograd.grad()": """\
model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2)).eval()
x, y = torch.rand(5, 4), torch.randint(0, 2, (5,))
adv = x.clone()
for _ in range(3):
    adv.requires_grad_()
    loss = F.cross_entropy(model(adv), y)
    grad, = torch.autograd.grad(loss, adv)
    adv = (adv + 0.05 * grad.sign()).clamp(0, 1).detach()
""",
    "gradients that are projected, and given to the optimizer": """\
net = nn.Linear(4, 2)
params = list(net.parameters())
opt = torch.optim.SGD(params, 0.1)
for _ in range(4):
    out = net(torch.randn(8, 4))
    losses = [out[:, 0].pow(2).mean(), (out[:, 1] - 1).pow(2).mean()]
    gs = [torch.autograd.grad(one, params, retain_graph=True) for one in losses]
    for p, g1, g2 in zip(params, *gs):
        p.grad = g1 + g2
    opt.step()
    opt.zero_grad()
""",
    "inputs of backward() in turns": """\
a, b = nn.Linear(4, 4), nn.Linear(4, 1)
opts = [torch.optim.SGD(one.parameters(), 0.1) for one in (a, b)]
for step in range(4):
    loss = b(a(torch.randn(8, 4)).relu()).pow(2).mean()
    loss.backward(inputs=list((a, b)[step % 2].parameters()))
    opts[step % 2].step(); opts[step % 2].zero_grad()
""",
    "free bits": """\
enc, dec, prior = nn.Linear(3, 4), nn.Linear(2, 3), nn.Parameter(torch.zeros(2))
x = torch.randn(5, 3)
m, v = enc(x).chunk(2, -1)
kl = 0.005 * ((m - prior) ** 2 + v.exp() - v - 1).sum(1)
loss = ((dec(m + v.exp()) - x) ** 2).mean() + kl.mean().clamp(min=1.0) + kl.clamp(min=2.0).mean()
loss = loss + torch.max(kl.mean(), torch.tensor(3.0))
loss.backward()
""",
    "score of what each parameter and its gradient are": """\
net = nn.Sequential(nn.Linear(4, 3), nn.Linear(3, 1))
net(torch.randn(8, 4)).pow(2).mean().backward()
score = 0.0
for p in net.parameters():
    score = score + (p * p.grad).abs().sum()
print(score)
""",
    "encoder that some passes train": """\
enc, head = nn.Linear(4, 8), nn.Linear(8, 2)
opt = torch.optim.SGD([*enc.parameters(), *head.parameters()], 0.1)
for step in range(8):
    h = enc(torch.randn(8, 4)).relu()
    if step % 4:
        h = h.detach()
    loss = head(h).pow(2).mean()
    opt.zero_grad(); loss.backward(); opt.step()
""",
    "body that is trained for some epochs": """\
body, head = nn.Linear(4, 8), nn.Linear(8, 2)
opt = torch.optim.SGD([*body.parameters(), *head.parameters()], 0.1)
for epoch in range(5):
    with torch.set_grad_enabled(epoch < 3):
        h = body(torch.randn(8, 4)).relu()
    loss = head(h).pow(2).mean()
    opt.zero_grad(); loss.backward(); opt.step()
""",
    "prototype that the program writes, in the optimizer": """\
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.enc, self.proto = nn.Linear(4, 3), nn.Parameter(torch.zeros(2, 3))
    def forward(self, x):
        return self.enc(x)
    @torch.no_grad()
    def keep(self, x):
        self.proto.copy_(self.enc(x)[:2])
model, x = Net(), torch.randn(6, 4)
"""
    + LOOP.format("model.parameters()", "model(x).pow(2).mean()")
    + "    model.keep(x)\n",
    "loss of a batch without targets": """\
net = nn.Linear(4, 2)
opt = torch.optim.SGD(net.parameters(), 0.1)
for mask in ([True, False], [True, True], [False, False]):
    loss = net(torch.randn(2, 4))[torch.tensor(mask)].pow(2).mean() if any(mask) else torch.tensor(0.0, requires_grad=True)
    opt.zero_grad()
    loss.backward()
    opt.step()
""",
    "sums of gradients, and a comment": """\
net, total = nn.Linear(4, 2), 0.0
params = list(net.parameters())
for _ in range(2):
    loss = net(torch.randn(8, 4)).pow(2).mean()
    grads = torch.autograd.grad(loss, params)  # and no p.grad here
    total += grads[0].pow(2)
""",
}
"""Programs of which each one was once told to have a fault."""


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("program", SOUND.values(), ids=SOUND)
def test_a_sound_program_has_no_fault(tmp_path: Path, program: str, engine: str) -> None:
    causes = why_all(graph_of(tmp_path, HEAD + program, engine))
    assert causes
    assert not [cause for cause in causes if cause.is_wrong]


TEACHER = f"""\
{HEAD}net, teacher, x = nn.Linear(3, 2), nn.Linear(3, 2), torch.randn(8, 3)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
y = net(x)
kd = (y - teacher(x).detach()).pow(2).mean()
loss = kd + y.mean()
opt.zero_grad(); loss.backward(); opt.step()
"""


@pytest.mark.parametrize("engine", ENGINES)
def test_a_teacher_is_none_that_is_to_be_trained_by_a_part_of_the_loss_either(tmp_path: Path, engine: str) -> None:
    cause = why(graph_of(tmp_path, TEACHER, engine, roots=("kd",)), "teacher.weight")
    assert (cause.verdict, cause.is_wrong) == ("not trained", False)


@pytest.mark.parametrize("engine", ENGINES)
def test_what_an_optimizer_has_trained_before_it_was_frozen_is_no_moving_average(tmp_path: Path, engine: str) -> None:
    program = f"{HEAD}net = nn.Linear(4, 1)\n" + LOOP.format("net.parameters()", "net(torch.randn(8, 4)).pow(2).mean()")
    program += "opt.zero_grad()\nnet.requires_grad_(False)\nx = torch.zeros(1, 4, requires_grad=True)\nscore = net(x).pow(2).sum()\n"
    cause = why(graph_of(tmp_path, f"{program}score.backward()\n", engine), "net.weight")
    assert (cause.verdict, "writes it itself" in cause.what) == ("frozen", False), cause


FORGOTTEN_BIAS = f"""\
{HEAD}class Dense(nn.Module):
    def __init__(self, i, o):
        super().__init__()
        self.weight, self.bias = nn.Parameter(torch.randn(o, i) * 0.3), nn.Parameter(torch.zeros(o))
    def forward(self, x):
        return x @ self.weight.T
net, x = nn.Sequential(Dense(3, 8), nn.Tanh(), Dense(8, 1)), torch.randn(8, 3, requires_grad=True)
out = net(x)
g, = torch.autograd.grad(out.sum(), x, create_graph=True)
loss = {{}}g.pow(2).mean()
loss.backward()
"""


@pytest.mark.parametrize("engine", ENGINES)
def test_a_bias_that_a_layer_has_forgotten_is_a_fault_beside_a_penalty_on_gradients(
    tmp_path: Path, engine: str
) -> None:
    both = graph_of(tmp_path, FORGOTTEN_BIAS.format("out.pow(2).mean() + 0.1 * "), engine)
    assert [why(both, f"net.{at}.bias").is_wrong for at in (0, 2)] == [True, True]
    alone = graph_of(tmp_path, FORGOTTEN_BIAS.format(""), engine)
    assert not why(alone, "net.2.bias").is_wrong, "of derivatives it has no part in"


PENALTY = f"""\
{HEAD}net = nn.Linear(4, 1)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
def norm(net):
    total = 0.0
    for p in net.parameters():
        total = total + p.grad.norm() ** 2
    return total.sqrt()
loss = net(torch.randn(8, 4)).pow(2).mean()
loss.backward()
penalty = {{}}
penalty.backward()
opt.step()
"""


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("penalty", ["sum(p.grad.pow(2).sum() for p in net.parameters())", "norm(net)"])
def test_a_penalty_on_gradients_that_a_loop_reads_wants_their_graph(tmp_path: Path, penalty: str, engine: str) -> None:
    cause = why(graph_of(tmp_path, PENALTY.format(penalty), engine), "penalty")
    assert (cause.verdict, lines_of(cause)) == ("detached", [16, 14])
    assert cause.mend.startswith("loss.backward(create_graph=True)")


FORGOTTEN = f"""\
{HEAD}policy, critic = nn.Linear(3, 4), nn.Linear(3, 1)
opt = torch.optim.Adam([*policy.parameters(), *critic.parameters()], lr=0.1)
for step in range(2):
    x = torch.randn(8, 3)
    logp = policy(x).log_softmax(-1)
    adv = x[:, 0] - critic(x)[:, 0]
    critic_loss = adv.pow(2).mean()
    loss = (adv.detach() * logp[:, 0]).mean()
    opt.zero_grad(); loss.backward(); opt.step()
"""


@pytest.mark.parametrize("engine", ENGINES)
def test_a_loss_that_is_left_out_is_told_before_the_detach_that_is_meant(tmp_path: Path, engine: str) -> None:
    cause = why(graph_of(tmp_path, FORGOTTEN, engine), "critic.weight")
    assert (cause.verdict, lines_of(cause)) == ("detached", [13, 12])
    assert cause.mend.startswith("use critic_loss where loss is computed, if that is to train critic.weight; else ")


@pytest.mark.parametrize("engine", ENGINES)
def test_a_clip_that_finds_nothing_since_the_loss_is_a_number_is_in_its_place(tmp_path: Path, engine: str) -> None:
    program = f"{HEAD}net, x = nn.Linear(3, 2), torch.randn(8, 3)\n" + LOOP.format("net.parameters()", "net(x).sum()")
    program += """\
for step in range(3):
    loss = torch.tensor(net(x).mean().item(), requires_grad=True)
    opt.zero_grad(); loss.backward()
    nn.utils.clip_grad_norm_(net.parameters(), 1.0)
    opt.step()
"""
    assert why(graph_of(tmp_path, program, engine), "net.weight").verdict == "cleared"


@pytest.mark.parametrize("engine", ENGINES)
def test_a_part_of_the_loss_is_constant_for_what_was_switched_off_and_not_for_the_sampling(
    tmp_path: Path, engine: str
) -> None:
    program = f"""\
{HEAD}net, x = nn.Linear(3, 4), torch.randn(8, 3)
logp = net(x).log_softmax(-1)
a = torch.multinomial(logp.exp(), 1)
adv = a[:, 0].float()
with torch.no_grad():
    picked = logp.gather(1, a)[:, 0]
reinforce = (adv.detach() * picked).mean()
loss = reinforce + 0.01 * logp.exp().pow(2).mean()
loss.backward()
"""
    graph = graph_of(tmp_path, program, engine)
    assert lines_of(why(graph, "net.weight"))[-1] == 11
    assert (why(graph, "reinforce").verdict, lines_of(why(graph, "reinforce"))) == ("no_grad", [11])


@pytest.mark.parametrize("engine", ENGINES)
def test_a_moving_average_that_is_written_with_its_graph_is_to_be_written_without(tmp_path: Path, engine: str) -> None:
    program = f"{HEAD}net = nn.Linear(3, 1)\ntarget = copy.deepcopy(net)\n"
    program += LOOP.format("net.parameters()", "net(torch.randn(8, 3)).sum()")
    program += "    for p, t in zip(net.parameters(), target.parameters()):\n        t.mul_(0.9).add_(p, alpha=0.1)\n"
    cause = why(graph_of(tmp_path, program, engine), "target.weight")
    assert (cause.verdict, cause.mend) == ("failed", "with torch.no_grad(): t.mul_(0.9).add_(p, alpha=0.1)")


@pytest.mark.parametrize("engine", ENGINES)
def test_what_has_freed_a_graph_is_a_call_of_autograd_grad_on_that_graph(tmp_path: Path, engine: str) -> None:
    program = f"""\
{HEAD}net, probe = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1)), torch.randn(1, 3, requires_grad=True)
before = torch.autograd.grad(net(probe).sum(), probe)[0]
x = torch.randn(8, 3, requires_grad=True)
out = net(x)
g = torch.autograd.grad(out.sum(), x)[0]
loss = out.pow(2).mean() + g.pow(2).mean()
loss.backward()
"""
    cause = why(graph_of(tmp_path, program, engine), "net.0.weight")
    assert (cause.verdict, lines_of(cause)) == ("second backward", [12, 10])


@pytest.mark.parametrize("engine", ENGINES)
def test_what_is_frozen_in_an_optimizer_is_not_told_to_be_all_that_a_loss_is_made_from(
    tmp_path: Path, engine: str
) -> None:
    program = f"""\
{HEAD}body, head = nn.Linear(3, 4).requires_grad_(False), nn.Linear(4, 2)
opt = torch.optim.SGD([*body.parameters(), *head.parameters()], lr=0.1)
torch.set_grad_enabled(False)
loss = head(body(torch.randn(5, 3))).pow(2).mean()
loss.backward()
"""
    cause = why(graph_of(tmp_path, program, engine), "body.weight")
    assert cause.what == "backward did not run: loss has no graph, and body.weight requires no gradient"


ACTOR_AND_CRITIC = f"""\
{HEAD}actor, critic = nn.Linear(4, 2), nn.Linear(4, 1)
a_opt, c_opt = torch.optim.SGD(actor.parameters(), 0.1), torch.optim.SGD(critic.parameters(), 0.1)
s, r = torch.randn(8, 4), torch.randn(8, 1)
logp = actor(s).log_softmax(1)
picked = logp.gather(1, torch.zeros(8, 1).long())
adv = r - critic(s).exp()
critic_loss = adv.pow(2).mean()
actor_loss = -(picked * adv).mean()
critic_loss.backward(); c_opt.step()
actor_loss.backward(); a_opt.step()
"""

SHARED = f"""\
{HEAD}enc, a, b = nn.Linear(4, 8), nn.Linear(8, 1), nn.Linear(8, 1)
opt_a = torch.optim.SGD([*enc.parameters(), *a.parameters()], 0.1)
opt_b = torch.optim.SGD(b.parameters(), 0.1)
h = enc(torch.randn(8, 4)).tanh()
loss_a = a(h).pow(2).mean()
loss_a.backward(); opt_a.step()
part = (b(h) - 1).pow(2).mean()
loss_b = part + part.exp()
loss_b.backward(); opt_b.step()
"""


@pytest.mark.parametrize("engine", ENGINES)
def test_what_links_two_graphs_was_freed_and_is_no_constant_of_the_loss_that_trains_it(
    tmp_path: Path, engine: str
) -> None:
    cause = why(graph_of(tmp_path, ACTOR_AND_CRITIC, engine), "actor.weight")
    assert (cause.verdict, "picked" in cause.mend) == ("second backward", False)
    assert "take adv.detach() if it is to be a constant" in cause.mend
    cause = why(graph_of(tmp_path, SHARED, engine), "enc.weight")
    assert (cause.verdict, "loss_a = " in cause.mend) == ("second backward", False)
    part = why(graph_of(tmp_path, SHARED, engine, roots=("part",)), "enc.weight")
    assert part.mend == "gviz why SOURCE enc.weight --root loss_b tells what links the two"


@pytest.mark.parametrize("engine", ENGINES)
def test_a_sample_of_what_has_no_rsample_is_not_told_to_be_made_by_it(tmp_path: Path, engine: str) -> None:
    program = f"{HEAD}enc = nn.Linear(4, 2)\nz = torch.distributions.{{}}.sample()\nloss = z.sum()\n"
    normal, bernoulli = "Normal(enc(torch.ones(1, 4)), 1.0)", "Bernoulli(logits=enc(torch.ones(1, 4)))"
    mends = [why(graph_of(tmp_path, program.format(one), engine), "enc.weight").mend for one in (normal, bernoulli)]
    assert ["rsample()" in one for one in mends] == [True, False], mends


@pytest.mark.parametrize("engine", ENGINES)
def test_a_dict_by_numbers_that_is_to_be_a_module_is_read_by_strings(tmp_path: Path, engine: str) -> None:
    program = f"""\
{HEAD}class Heads(nn.Module):
    def __init__(self):
        super().__init__()
        self.body, self.heads = nn.Linear(4, 4), {{}}
        for task in range(2):
            self.heads[task] = nn.Linear(4, 1)
    def forward(self, x, task):
        return self.heads[task](self.body(x))
net = Heads()
opt = torch.optim.SGD(net.parameters(), 0.1)
net(torch.randn(8, 4), 0).pow(2).mean().backward()
opt.step()
"""
    cause = why(graph_of(tmp_path, program, engine), "net.heads[0].weight")
    assert (cause.verdict, cause.is_wrong) == ("no parameter", True)
    assert cause.mend.endswith("; its keys are strings: heads[str(...)] where it is used")


@pytest.mark.parametrize("engine", ENGINES)
def test_a_number_in_a_dictionary_is_told_to_cut_its_loss_off(tmp_path: Path, engine: str) -> None:
    program = f"""\
{HEAD}net = nn.Linear(4, 1)
opt = torch.optim.SGD(net.parameters(), 0.1)
def run(x):
    pred = net(x)
    return {{"pred": pred, "loss": pred.pow(2).mean().item()}}
outs = [run(torch.randn(8, 4)) for _ in range(2)]
total = torch.tensor(sum(one["loss"] for one in outs) / 2, requires_grad=True)
opt.zero_grad(); total.backward(); opt.step()
"""
    cause = why(graph_of(tmp_path, program, engine), "net.weight")
    assert (cause.verdict, lines_of(cause), "pred" in cause.what) == ("no path", [10], False)


CARRIED = """\
enc, head = nn.Linear(4, 8), nn.Linear(8, 2)
opt = torch.optim.SGD([*enc.parameters(), *head.parameters()], 0.1)
if __name__ == "__main__":
    h = enc(torch.randn(8, 4)).relu()
    for step in range(3):
        loss = head(h).pow(2).mean()
        opt.zero_grad(); loss.backward(); opt.step()
        {}h = h.detach()
"""


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(("condition", "is_wrong"), [("", True), ("if step < 9: ", False)])
def test_a_cut_that_each_pass_makes_is_in_no_turns_for_a_condition_around_all_of_it(
    tmp_path: Path, condition: str, is_wrong: bool, engine: str
) -> None:
    cause = why(graph_of(tmp_path, HEAD + CARRIED.format(condition), engine), "enc.weight")
    assert (cause.verdict, cause.is_wrong) == ("detached", is_wrong), cause
