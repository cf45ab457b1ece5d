"""``gviz why`` of programs that train: what people ask about, and a mend that is one."""

from __future__ import annotations

from pathlib import Path

import pytest
from program import Program

import gviz as package
from gviz import SourceOptions
from gviz.causes.diagnosis import Cause
from gviz.causes.why import why, why_all
from gviz.graphs import Graph
from gviz.passes.part import around

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
    assert cause.mend.startswith(f"take the line out of {switch}")


@pytest.mark.parametrize("engine", ENGINES)
def test_a_target_network_that_is_called_without_gradients_is_no_fault(tmp_path: Path, engine: str) -> None:
    graph = graph_of(tmp_path, DQN.format(RIGHT), engine)
    causes = {cause.name: cause for cause in why_all(graph)}
    assert (causes["q.f.weight"].verdict, causes["target.f.weight"].verdict) == ("ok", "not trained")
    assert lines_of(causes["target.f.weight"]) == [15]
    assert (
        causes["target.f.weight"].mend == "none, unless target is to be trained: take the line out of torch.no_grad()"
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
