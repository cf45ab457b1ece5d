"""``gviz why`` of programs that stop with an error, of one loss among several, and of the first of many bad gradients."""

from __future__ import annotations

from pathlib import Path

import pytest

import gviz as package
from gviz import SourceOptions
from gviz.causes.diagnosis import Cause
from gviz.causes.why import why, why_all
from gviz.graphs import Graph

ENGINES = ["gviz", pytest.param("torch", marks=pytest.mark.torch)]

pytestmark = pytest.mark.filterwarnings("ignore::gviz.GvizWarning", "ignore::UserWarning")


def graph_of(folder: Path, program: str, engine: str, *roots: str) -> Graph:
    if engine == "torch":
        pytest.importorskip("torch")
    (folder / "train.py").write_text(program)
    options = SourceOptions(diagnose=True, engine=engine, roots=roots)
    graph: Graph = package.read(folder / "train.py", options, rootless=True).graph
    return graph


def lines_of(cause: Cause) -> list[int]:
    return [place.line for place, _ in cause.lines]


DERIVATIVE = """\
import torch
from torch import nn
torch.manual_seed(0)
net = nn.Sequential(nn.Linear(1, 4), nn.Tanh(), nn.Linear(4, 1))
opt = torch.optim.SGD(net.parameters(), lr=0.1)
def derivative(u, x, {option}):
    return torch.autograd.grad(u.sum(), x, create_graph=True)[0]
for i in range(2):
    x, t = torch.rand(5, 1, requires_grad=True), torch.rand(5, 1)
    u = net({x})
    t.requires_grad_()
    loss = (derivative(u, {of}) - {target}).square().mean()
    opt.zero_grad()
    loss.backward()
    {clip}
    opt.step()
"""
SOUND = {"option": "n=1", "x": "x", "of": "x", "target": "1", "clip": "opt.zero_grad"}
IN_VAIN = {
    "made to require one after its use": (
        {"x": "x + t", "of": "t"},
        [7, 11],
        "call x.requires_grad_() before it is used; or use x where u is computed",
    ),
    "cut off": ({"x": "x.detach()"}, [7, 10], "u = net(x)"),
    "not used": ({"x": "torch.ones(5, 1)"}, [7, 9], "use x where u is computed"),
}


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("case", IN_VAIN)
def test_what_autograd_is_asked_for_in_vain_is_told_to_all_that_wait_for_backward(
    tmp_path: Path, case: str, engine: str
) -> None:
    change, lines, mend = IN_VAIN[case]
    graph = graph_of(tmp_path, DERIVATIVE.format(**SOUND | change), engine)
    for cause in (why(graph, name) for name in ("net.0.weight", "net.2.bias", "x")):
        assert (cause.verdict, lines_of(cause), cause.mend) == ("failed", lines, mend)
    assert not [one for one in why_all(graph_of(tmp_path, DERIVATIVE.format(**SOUND), engine)) if one.is_wrong]


@pytest.mark.parametrize("engine", ENGINES)
def test_what_is_made_of_a_tensor_beside_the_root_that_autograd_was_asked_of_is_no_mend(
    tmp_path: Path, engine: str
) -> None:
    program = DERIVATIVE.format(**SOUND).replace(
        "    loss = (derivative(u, x)",
        "    ux = derivative(u, x).detach().requires_grad_()\n    loss = (derivative(ux, x)",
    )
    program = program.replace("    u = net(x)\n", "    u = net(x)\n    other = u.exp()\n")
    cause = why(graph_of(tmp_path, program, engine), "net.0.weight")
    assert (cause.verdict, lines_of(cause), cause.mend) == ("failed", [7], "")
    assert cause.what == "the program stopped: u is not made from x"


@pytest.mark.parametrize("engine", ENGINES)
def test_of_a_list_that_autograd_is_asked_for_the_place_is_told(tmp_path: Path, engine: str) -> None:
    program = (
        "import torch\nclass Env:\n    def __init__(self):\n"
        "        self.x = [torch.randn(3, requires_grad=True) for _ in range(3)]\n    def forces(self):\n"
        "        e = self.x[0].sum() * self.x[2].sum()\n        return torch.autograd.grad(e, self.x)\n"
        "env = Env()\nsum(env.forces()).sum().backward()\n"
    )
    cause = why(graph_of(tmp_path, program, engine), "env.x[2]")
    assert (cause.verdict, lines_of(cause)) == ("failed", [7])
    assert cause.what.endswith("e is not made from self.x[1]")


@pytest.mark.parametrize("engine", ENGINES)
def test_an_error_after_a_derivative_and_before_backward_is_why_there_is_no_gradient(
    tmp_path: Path, engine: str
) -> None:
    program = DERIVATIVE.format(**SOUND | {"target": "torch.ones(4, 3)"})
    program = program.replace("    loss = (", "    ux = derivative(u, x)\n    loss = (")
    causes = [one for one in why_all(graph_of(tmp_path, program, engine)) if one.name not in ("t", "n")]
    assert {(one.verdict, *lines_of(one)) for one in causes} == {("failed", 13)}
    program = DERIVATIVE.format(**SOUND | {"option": "n=torch.ones(3)"}).replace(
        "create_graph", "grad_outputs=n, create_graph"
    )
    causes = [one for one in why_all(graph_of(tmp_path, program, engine)) if one.name not in ("t", "n")]
    assert {(one.verdict, *lines_of(one)) for one in causes} == {("failed", 7)}


PAIR = """\
import torch
from torch import nn
torch.manual_seed(0)
class Pair:
    def __init__(self):
        self.g, self.d, self.b = nn.Linear(2, 3), nn.Linear(3, 1), nn.Parameter(torch.zeros(1))
        self.opt_g = torch.optim.SGD(self.g.parameters(), lr=0.1)
        self.opt_d = torch.optim.SGD([*self.d.parameters(), self.b], lr=0.1)
    def step(self, z, real):
        fake = self.g(z)
        score = {score}
        loss_d = (score + self.b).mean()
        self.opt_d.zero_grad()
        loss_d.backward()
        {clip}
        self.opt_d.step()
        loss_g = -self.d(fake).mean()
        self.opt_g.zero_grad()
        loss_g.backward()
        self.opt_g.step()
pair = Pair()
for i in range(3):
    pair.step(torch.randn(4, 2), torch.randn(4, 3))
"""
FAKE = "self.d(fake.detach()) - self.d(real)"


@pytest.mark.parametrize("engine", ENGINES)
def test_of_an_error_for_want_of_a_gradient_what_has_kept_that_away_is_the_cause(tmp_path: Path, engine: str) -> None:
    norms = "norms = [p.grad.norm() for p in self.d.parameters()]"
    program = PAIR.format(score=f"torch.tensor(({FAKE}).tolist())", clip=norms)
    graph = graph_of(tmp_path, program, engine)
    cut, later = why(graph, "pair.d.weight"), why(graph, "pair.g.weight")
    assert (cut.verdict, lines_of(cut)) == ("detached", [11])
    assert (later.verdict, lines_of(later)) == ("failed", [15])  # its backward was to come
    assert later.mend == "see first why the gradient that it takes is None"
    sound = why_all(graph_of(tmp_path, PAIR.format(score=FAKE, clip=norms), engine))
    assert not [one for one in sound if one.is_wrong]


@pytest.mark.parametrize("engine", ENGINES)
def test_an_error_of_clipping_does_not_send_the_step_before_the_clipping(tmp_path: Path, engine: str) -> None:
    program = (
        "import torch\nnet = torch.nn.Linear(3, 1)\nopt = torch.optim.SGD(net.parameters(), lr=0.1)\n"
        "net(torch.ones(2, 3)).sum().backward()\nopt.zero_grad()\n"
        "torch.nn.utils.clip_grad_value_(net.parameters(), 1.0)\nopt.step()\n"
    )
    cause = why(graph_of(tmp_path, program, engine), "net.weight")
    assert (cause.verdict, lines_of(cause)) == ("taken away", [5])
    assert cause.mend == "call zero_grad() before backward(), and step() after it"


REFUSED = {
    "w = torch.randn(3, requires_grad=True).double()": "w = torch.randn(3).double().requires_grad_()",
    "w = torch.nn.Parameter(torch.zeros(1)) - 0.5": "w = torch.nn.Parameter(torch.zeros(1) - 0.5)",
    "v = torch.ones(2, requires_grad=True); w = v * 2": "give the optimizer what w is made from: v",
}


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("line", REFUSED)
def test_what_an_optimizer_refuses_as_no_leaf_is_not_to_retain_its_gradient(
    tmp_path: Path, line: str, engine: str
) -> None:
    cause = why(graph_of(tmp_path, f"import torch\n{line}\nopt = torch.optim.SGD([w], lr=0.1)\n", engine), "w")
    assert (cause.verdict.partition(":")[0], lines_of(cause), cause.mend) == ("not a leaf", [2], REFUSED[line])


TWO = """\
import torch
from torch import nn
torch.manual_seed(0)
a, b = nn.Linear(3, 1), nn.Linear(3, 1)
opt_a = torch.optim.SGD({params}, lr=0.1)
opt_b = torch.optim.SGD(b.parameters(), lr=0.1)
for i in range(4):
    x = torch.randn(5, 3)
    {clear}
    loss = a(x).square().mean()
    loss.backward()
    {more}
    opt_a.step()
    last = (b(x) {joint}).square().mean()
    opt_b.zero_grad()
    last.backward()
    opt_b.step()
"""
PLAIN = {"params": "a.parameters()", "clear": "opt_a.zero_grad()", "more": "", "joint": "- 1"}
OF_FIRST = {
    "sound": ({}, "ok", ""),
    "sound, with a later gradient": ({"joint": "+ a(x)"}, "ok", ""),
    "sound, of two losses": ({"joint": "+ a(x)", "more": "loss = a(x).mean(); loss.backward()"}, "accumulated", "none"),
    "not cleared": (
        {"clear": ""},
        "not cleared",
        "call zero_grad(), or a.bias.grad = None, before the first backward()",
    ),
    "no optimizer has it": ({"params": "[a.weight]"}, "not trained", ""),
    "a step too early": ({"clear": "opt_a.zero_grad(); opt_a.step(); opt_a.step = list"}, "not used", ""),
}


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("case", OF_FIRST)
def test_a_question_about_one_loss_of_several_hears_what_all_steps_have_used(
    tmp_path: Path, case: str, engine: str
) -> None:
    change, verdict, mend = OF_FIRST[case]
    cause = why(graph_of(tmp_path, TWO.format(**PLAIN | change), engine, "loss"), "a.bias")
    assert (cause.verdict, cause.is_wrong) == (verdict, verdict.startswith("not ") and verdict != "not trained")
    assert cause.mend.startswith(mend)


@pytest.mark.parametrize("engine", ENGINES)
def test_what_the_program_trains_by_another_loss_is_no_moving_average(tmp_path: Path, engine: str) -> None:
    program = (
        "import torch\nw, v = torch.ones(3, requires_grad=True), torch.ones(3, requires_grad=True)\n"
        "for i in range(3):\n    for one in (w, v):\n        loss = one.square().sum()\n        loss.backward()\n"
        "    with torch.no_grad():\n        w -= 0.1 * w.grad; v -= 0.1 * v.grad\n        w.grad = v.grad = None\n"
        "    other = w.exp().sum()\nother.backward()\n"
    )
    cause = why(graph_of(tmp_path, program, engine), "v")
    assert (cause.verdict, "moving average" in cause.what) == ("cleared", False)


@pytest.mark.parametrize("engine", ENGINES)
def test_nan_is_followed_to_the_first_backward_on_the_root_that_is_asked_for(tmp_path: Path, engine: str) -> None:
    program = TWO.format(**PLAIN).replace("a(x).square()", "(a(x).square() * min(1, 2 - i)).log()", 1)
    other = why(graph_of(tmp_path, program, engine), "a.bias")
    assert (other.verdict, other.mend) == ("nan", "gviz why SOURCE --root loss tells of that one")
    reading = package.read(tmp_path / "train.py", SourceOptions(diagnose=True, engine=engine, roots=("loss",)))
    cause = why(reading.graph, "a.bias")
    assert (cause.verdict, lines_of(cause), "log" in cause.what) == ("nan", [10], True)
    assert "line 11, call 5 of the whole program, the first with nan or inf" in reading.notes[0].text
    first = program.replace("min(1, 2 - i)", "-1")
    (tmp_path / "first.py").write_text(first)
    reading = package.read(tmp_path / "first.py", SourceOptions(diagnose=True, engine=engine, roots=("loss",)))
    assert "line 11, call 1 of the whole program, the first with nan or inf" in reading.notes[0].text
    last = why(graph_of(tmp_path, program, engine, "last"), "b.bias")
    assert last.verdict == "ok"


@pytest.mark.parametrize("engine", ENGINES)
def test_the_first_nan_is_that_of_its_model_though_another_one_s_backward_runs_between(
    tmp_path: Path, engine: str
) -> None:
    program = """\
import torch
from torch import nn
other, net, x = nn.Linear(3, 2), nn.Linear(3, 2), torch.ones(4, 3)
opt, opt_other = torch.optim.SGD(net.parameters(), 0.1), torch.optim.SGD(other.parameters(), 0.1)
for step in range(4):
    opt_other.zero_grad()
    other(x).pow(2).mean().backward()
    opt_other.step()
    loss = net(x).mean() * (1 if step != 1 else float("inf"))
    opt.zero_grad()
    loss.backward()
    opt.step()
"""
    (tmp_path / "train.py").write_text(program)
    reading = package.read(tmp_path / "train.py", SourceOptions(diagnose=True, engine=engine), rootless=True)
    assert "line 11, call 4 of the whole program, the first with nan or inf" in reading.notes[0].text


@pytest.mark.parametrize("engine", ENGINES)
def test_a_new_parameter_in_a_module_is_not_laid_to_the_line_that_makes_the_module(tmp_path: Path, engine: str) -> None:
    program = (
        "import torch\nnet = torch.nn.Linear(3, 1)\nopt = torch.optim.SGD(net.parameters(), lr=0.1)\n"
        "for i in range(2):\n    loss = net(torch.ones(2, 3)).square().sum()\n"
        "    net.weight = torch.nn.Parameter(net.weight.detach().clone())\n"
        "    opt.zero_grad()\n    loss.backward()\n    opt.step()\n"
    )
    cause = why(graph_of(tmp_path, program, engine), "net.weight")
    assert (cause.verdict, 2 in lines_of(cause)) == ("overwritten", False)


@pytest.mark.parametrize("engine", ENGINES)
def test_a_model_beside_its_trained_copy_is_told_that_the_loss_is_made_from_another(
    tmp_path: Path, engine: str
) -> None:
    program = (
        "import copy\nimport torch\ndef train(net, opt):\n    for i in range(2):\n        opt.zero_grad()\n"
        "        loss = net(torch.ones(2)).sum()\n        loss.backward()\n        opt.step()\n    return loss\n"
        "net = torch.nn.Linear(2, 1)\nloss = train({}, torch.optim.SGD(net.parameters(), 0.1))\n"
    )
    cause = why(graph_of(tmp_path, program.format("copy.deepcopy(net)"), engine), "net.weight")
    assert cause.verdict == "no path"
    assert cause.what == "loss is made from another net.weight, such as that of a copy, which no optimizer has"
    assert cause.mend == "compute loss from this one, or give the optimizer the other"
    assert not why(graph_of(tmp_path, program.format("net"), engine), "net.weight").is_wrong


@pytest.mark.parametrize("engine", ENGINES)
def test_of_a_choice_it_is_not_said_that_the_loss_does_not_use_it(tmp_path: Path, engine: str) -> None:
    program = (
        "import torch\nfrom torch import nn\ntorch.manual_seed(0)\nbody = nn.Linear(3, 4)\n"
        "mix = nn.MultiheadAttention(4, 2)\nh = (body(torch.randn(5, 7, 3)) > 0).float()\n"
        "loss = mix(h, h, h)[0].square().mean()\nloss.backward()\n"
    )
    cause = why(graph_of(tmp_path, program, engine), "body.weight")
    assert (lines_of(cause), "does not use it" in cause.what) == ([6], False)


MADE = """\
import torch
from torch import nn
torch.manual_seed(0)
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(3, 4)
        self.last = nn.Linear(4, 2)
    def forward(self, x):
        {hidden}
        return self.last(h)
net = Net()
x, t = torch.randn(5, 3), torch.tensor([0, 1, 1, 0, 1])
p = net(x)
{loss}
loss.backward()
"""


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    ("hidden", "loss", "mend"),
    [
        ("h = self.first(x)", "loss = nn.CrossEntropyLoss(p, t)", "nn.CrossEntropyLoss()(p, t)"),
        ("h = self.first(x)", "loss = nn.MSELoss(net(x), p)", "nn.MSELoss()(net(x), p)"),
        ("h = self.first(x)", "h = nn.Softmax(p); loss = h.sum()", "nn.Softmax()(p)"),
        ("h = self.first(x)", "loss = nn.Softmax(p, dim=1).sum()", "nn.Softmax(dim=1)(p)"),
        ("h = nn.ReLU(self.first(x))", "loss = p.sum()", "nn.ReLU()(self.first(x))"),
        ("h = nn.Tanh(self.first(x))", "loss = p.sum()", "nn.Tanh()(self.first(x))"),
        ("h = nn.Dropout(self.first(x))", "loss = p.sum()", "nn.Dropout()(self.first(x))"),
        ("h = nn.Flatten(nn.ReLU()(self.first(x)))", "loss = p.sum()", "nn.Flatten()(nn.ReLU()(self.first(x)))"),
        ("h = self.first(x)", "h = nn.LayerNorm(p); loss = h.sum()", "nn.LayerNorm(...)(p)"),
        ("h = self.first(x)", "h = nn.Linear(p, 2, bias=False); loss = h.sum()", "nn.Linear(..., bias=False)(p)"),
        ("h = nn.Linear(self.first(x), 4)", "loss = p.sum()", "nn.Linear(...)(self.first(x))"),
    ],
)
def test_a_module_made_from_tensors_is_to_be_called_at_its_own_line(
    tmp_path: Path, hidden: str, loss: str, mend: str, engine: str
) -> None:
    line = 15 if "nn." in loss else 10
    cause = why(graph_of(tmp_path, MADE.format(hidden=hidden, loss=loss), engine), "net.first.weight")
    assert (cause.verdict, lines_of(cause)) == ("failed", [line])
    assert cause.mend == f"write {mend}, which calls the module; this only makes it"
    mended = MADE.format(hidden=hidden, loss=loss).replace(mend.replace("()(", "(", 1), mend, 1)
    if "dim=1" not in loss and "..." not in mend:  # whose sizes nobody knows
        assert why(graph_of(tmp_path, mended, engine), "net.first.weight").verdict in ("ok", "zero")


@pytest.mark.parametrize("engine", ENGINES)
def test_of_two_modules_made_from_tensors_the_first_that_is_used_is_named(tmp_path: Path, engine: str) -> None:
    hidden = "h = nn.ReLU(self.first(x)); h = nn.Sigmoid()(h)\n        h = nn.ReLU(h)"
    cause = why(graph_of(tmp_path, MADE.format(hidden=hidden, loss="loss = p.sum()"), engine), "net.first.weight")
    assert lines_of(cause) == [10]
    assert cause.mend.startswith("write nn.ReLU()(self.first(x)), ")


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    "hidden",
    [
        "rate = 1.5; h = nn.Dropout(rate)(self.first(x))",  # no tensor
        "h = nn.Linear(torch.tensor([3, 4]), 4)",  # whole numbers, as sizes are
        "h = nn.Linear(x, 4, True, None, None, x)(x)",  # what is too much may be something else
        "h = (lambda size: nn.Linear(size, 4))(x)",  # who calls it has a tensor for a size
        "h = nn.Sequential(self.first(x))",
    ],
)
def test_a_module_that_was_not_made_from_tensors_or_needs_more_gets_no_such_mend(
    tmp_path: Path, hidden: str, engine: str
) -> None:
    cause = why(graph_of(tmp_path, MADE.format(hidden=hidden, loss="loss = p.sum()"), engine), "net.first.weight")
    assert (cause.verdict, cause.mend) == ("failed", "mend this line first")


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    ("made", "kind"),
    [
        ("nn.CrossEntropyLoss(torch.ones(2) + 1)", "CrossEntropyLoss"),
        ("nn.LeakyReLU(torch.tensor(0.1) * 1)", "LeakyReLU"),
    ],
)
def test_weights_of_classes_and_single_numbers_are_tensors_that_a_module_is_made_from(
    tmp_path: Path, made: str, kind: str, engine: str
) -> None:
    program = MADE.format(hidden="h = self.first(x)", loss=f"loss_fn = {made}; loss = loss_fn.backward()")
    cause = why(graph_of(tmp_path, program, engine), "net.first.weight")
    assert cause.mend == f"a {kind} is a module, and no tensor: what its call gives is one"


@pytest.mark.parametrize("engine", ENGINES)
def test_the_failure_of_another_backward_is_not_the_cause_for_the_root_that_is_asked_for(
    tmp_path: Path, engine: str
) -> None:
    program = """\
import torch
net, other = torch.nn.Linear(3, 1), torch.nn.Linear(3, 1)
x = torch.ones(5, 3)
kd = (net(x) + other(x)).pow(2).mean()
ce = net(x).abs().mean()
ce.backward()
bad = (net(x) > 0).float().mean()
bad.backward()
"""
    graph = graph_of(tmp_path, program, engine, "kd")
    cause = why(graph, "net.weight")
    assert (cause.verdict, cause.mend) == ("backward not run", "kd.backward(), which adds to what net.weight.grad has")
    assert (
        cause.what == "backward has not run on kd: the gradient that net.weight has had is of another backward"
    )  # not of bad
    assert [place.line for place, _ in cause.lines] == [6]
    assert why(graph, "other.weight").verdict == "backward not run"
    assert why(graph_of(tmp_path, program, engine), "net.weight").verdict == "no derivative"


@pytest.mark.parametrize("engine", ENGINES)
def test_beside_a_backward_that_fails_a_part_of_its_loss_is_cut_off_by_its_own_cuts_alone(
    tmp_path: Path, engine: str
) -> None:
    program = """\
import torch
net, base = torch.nn.Linear(3, 4), torch.nn.Linear(3, 4)
x = torch.ones(5, 3)
def greedy(x):
    with torch.no_grad():
        return base(x).argmax(-1).float()
def step(x):
    logp = net(x).log_softmax(-1).clone()
    entropy = -(logp.exp() * logp).sum(-1).mean()
    reinforce = ((logp[:, 0].detach() - greedy(x)) * logp[:, 1]).mean()
    loss = reinforce - 0.01 * entropy
    logp[:, 0] = 0.0
    loss.backward()
step(x)
"""
    assert why(graph_of(tmp_path, program, engine, "entropy"), "base.weight").verdict == "no path"
    assert "argmax() has no derivative" in why(graph_of(tmp_path, program, engine, "reinforce"), "base.weight").what


@pytest.mark.parametrize("engine", ENGINES)
def test_a_gradient_is_not_said_to_be_of_the_last_backward_if_that_has_brought_none(
    tmp_path: Path, engine: str
) -> None:
    program = """\
import torch
net, other = torch.nn.Linear(3, 1), torch.nn.Linear(3, 1)
x = torch.ones(5, 3)
kd = (net(x) + other(x)).pow(2).mean()
ce = other(x).abs().mean()
ce.backward()
last = net(x).abs().mean()
last.backward()
"""
    graph = graph_of(tmp_path, program, engine, "kd")
    assert why(graph, "net.weight").what.endswith("is of last")
    cause = why(graph, "other.weight")
    assert cause.what.endswith("is of another backward")
    assert [place.line for place, _ in cause.lines] == [6]

    graph = graph_of(tmp_path, program, engine, "kd")
    assert why(graph, "net.weight").what.endswith("is of last")
    cause = why(graph, "other.weight")
    assert cause.what.endswith("is of another backward")
    assert [place.line for place, _ in cause.lines] == [6]


INNER_STEP = """\
import torch
w = torch.tensor([1.0, 2.0], requires_grad=True)
lr = torch.tensor(0.1, requires_grad=True)
{}
fast = w * lr
support = (fast**2).sum()
(g,) = torch.autograd.grad(support, [fast], create_graph=True)
total = ((fast - lr * g) ** 2).sum()
{}
"""


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    ("before", "after", "of"),
    [
        ("", "total.backward()", "a later backward has brought"),
        ("(w * lr).sum().backward()", "", "was there before"),
        ("(w * lr).sum().backward()", "total.backward()", "is not of this call"),
    ],
)
def test_of_a_gradient_that_an_inner_step_was_not_asked_for_it_is_told_when_it_came(
    tmp_path: Path, before: str, after: str, of: str, engine: str
) -> None:
    cause = why(graph_of(tmp_path, INNER_STEP.format(before, after), engine, "support"), "lr")
    assert (cause.verdict, cause.mend) == ("ok", "")
    assert cause.what.startswith(f"lr has a gradient that {of}: autograd.grad(…, [fast]) was asked for")
    assert [place.line for place, _ in cause.lines] == ([7] if before else [7, 9])


@pytest.mark.parametrize("engine", ENGINES)
def test_a_backward_that_has_run_on_the_root_is_not_blamed_for_that_of_another_one_that_failed(
    tmp_path: Path, engine: str
) -> None:
    program = """\
import torch
from torch import nn
net, head = nn.Linear(2, 2), nn.Linear(2, 1)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
h = net(torch.ones(3, 2)).tanh()
a = h.pow(2).mean()
b = head(net(h)).pow(2).mean()
a.backward(retain_graph=True)
opt.step()
b.backward()
"""
    assert why(graph_of(tmp_path, program, engine, "a"), "net.bias").verdict == "ok"
    assert why(graph_of(tmp_path, program, engine), "head.bias").verdict == "written in place"


@pytest.mark.parametrize("engine", ENGINES)
def test_a_backward_that_was_not_called_is_no_mend_for_what_its_root_is_not_made_from(
    tmp_path: Path, engine: str
) -> None:
    program = """\
import torch
net, cut, other, x = torch.nn.Linear(2, 2), torch.nn.Linear(2, 2), torch.nn.Linear(2, 2), torch.ones(3, 2)
h = cut(x).detach()
unused = other(x).sum()
loss = (net(x) + h).pow(2).mean()
"""
    graph = graph_of(tmp_path, program, engine)
    assert {name: why(graph, f"{name}.weight").mend for name in ("net", "cut", "other")} == {
        "net": "loss.backward()",
        "cut": "h = cut(x); and then loss.backward()",
        "other": "compute a loss from other.weight, and call its backward()",
    }
    assert {why(graph, f"{name}.weight").verdict for name in ("net", "cut", "other")} == {"backward not run"}


@pytest.mark.parametrize("engine", ENGINES)
def test_of_a_part_of_a_loss_it_is_not_said_that_no_backward_has_run(tmp_path: Path, engine: str) -> None:
    program = """\
import torch
net, other = torch.nn.Linear(2, 2), torch.nn.Linear(2, 1)
x = torch.ones(3, 2)
a = net(x).pow(2).mean()
b = other(x.clone()).detach().mean()
loss = a + b
loss.backward()
"""
    cause = why(graph_of(tmp_path, program, engine, "a"), "other.weight")
    assert (cause.verdict, cause.what) == (
        "no path", "a is not made from other.weight: what comes of it was cut off by detach(), on its way to loss",
    )  # fmt: skip


RETURNED = {
    "a gradient for a number": ("g * ctx.k, g.sum()", "position 2", "return None at position 2"),
    "too many": ("g * ctx.k, None, g", "expected 2, got 3", "return 2: one for each argument of forward() after ctx"),
    "too few": ("g * ctx.k", "expected 2, got 1", "return 2: one for each argument of forward() after ctx"),
    "a wrong shape": ("g[:2], None", "[2] but expected shape compatible with [3]", "return there one of shape [3]"),
}


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(("returned", "what", "mend"), RETURNED.values(), ids=RETURNED)
def test_what_an_own_backward_returns_wrongly_is_told_at_its_line(
    tmp_path: Path, returned: str, what: str, mend: str, engine: str
) -> None:
    program = (
        "import torch\nclass Scale(torch.autograd.Function):\n    @staticmethod\n    def forward(ctx, x, k):\n"
        "        ctx.k = k\n        return x * k\n    @staticmethod\n    def backward(ctx, g):\n"
        f"        return {returned}\nx = torch.ones(3, requires_grad=True)\nScale.apply(x, 2.0).sum().backward()\n"
    )
    cause = why(graph_of(tmp_path, program, engine), "x")
    assert (cause.verdict, [place.line for place, _ in cause.lines]) == ("failed", [9, 11]), cause
    assert cause.what.startswith("backward failed: that of Scale has returned")
    assert what in cause.what
    assert cause.mend.startswith(mend)


CRITICS = """\
import torch
from torch import nn
class Critic(nn.Module):
    def __init__(self):
        super().__init__()
        self.q = nn.Linear(2, 1)
    def forward(self, x):
        return self.q(x)
critic, target = Critic(), Critic()
opt = torch.optim.SGD(critic.parameters(), lr=0.1)
x = torch.ones(3, 2)
with torch.no_grad():
    wanted = 0.9 * target(x)
    q = critic(x)
loss = (q - wanted).pow(2).mean()
loss.backward()
"""


@pytest.mark.parametrize("engine", ENGINES)
def test_of_two_calls_of_one_layer_without_gradients_the_one_that_a_root_is_made_of_is_blamed(
    tmp_path: Path, engine: str
) -> None:
    graph = graph_of(tmp_path, CRITICS, engine)
    for name in ("critic.q.weight", "loss"):
        assert lines_of(why(graph, name))[-1] == 14
    assert why(graph, "target.q.weight").verdict == "not trained"


@pytest.mark.parametrize("engine", ENGINES)
def test_what_has_cut_off_a_root_is_not_blamed_for_a_leaf_that_it_has_not_cut_off(tmp_path: Path, engine: str) -> None:
    program = """\
import torch
net, scale = torch.nn.Linear(2, 1), torch.zeros(1, requires_grad=True)
net_opt, opt = torch.optim.SGD(net.parameters(), lr=0.1), torch.optim.SGD([scale], lr=0.1)
class Temperature:
    @property
    def value(self):
        return scale.exp().item()
temperature = Temperature()
out = net(torch.ones(3, 2))
(temperature.value * out).mean().backward()
net_opt.step()
loss = (temperature.value * (out.detach() + 2)).mean()
loss.backward()
"""
    graph = graph_of(tmp_path, program, engine)
    cause = why(graph, "scale")
    assert lines_of(cause) == [13, 7], cause
    assert cause.mend == "return scale.exp(); and use it where loss is computed, if that does not"
    assert not why(graph, "net.weight").is_wrong


@pytest.mark.parametrize("engine", ENGINES)
def test_a_write_to_the_variable_of_a_loop_is_mended_by_a_list_that_is_new(tmp_path: Path, engine: str) -> None:
    block = "    with torch.no_grad():\n        for w, g in zip(fast, grads):\n            w.sub_(lr * g)\n"
    program = f"""\
import torch
net, lr = torch.nn.Linear(2, 2), torch.tensor(0.1, requires_grad=True)
fast, x, total = [*net.parameters()], torch.ones(3, 2), 0.0
for step in range(2):
    h = torch.nn.functional.linear(x, *fast)
    out = torch.nn.functional.linear(torch.tanh(h), *fast).pow(2).mean()
    total = total + out
    grads = torch.autograd.grad(out, fast, create_graph=True)
{block}total.backward()
"""
    cause = why(graph_of(tmp_path, program, engine), "net.weight")
    words, _, new = cause.mend.partition(": ")
    assert (cause.verdict, new) == ("written in place", "[w.sub(lr * g) for w, g in zip(fast, grads)]")
    assert words.startswith("put what the loop computes into a new list, where gradients are recorded")
    after = graph_of(tmp_path, program.replace(block, f"    fast = {new}\n"), engine)
    assert [why(after, name).verdict for name in ("net.weight", "net.bias", "lr")] == ["ok"] * 3


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("start", ["self.h", "self.h if self.h is not None else x.new_zeros(3, 4)"])
def test_a_state_that_an_object_carries_into_a_loop_is_detached_where_the_object_gets_it(
    tmp_path: Path, start: str, engine: str
) -> None:
    program = f"""\
import torch
from torch import nn
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell, self.out, self.h = nn.Linear(6, 4), nn.Linear(4, 1), torch.zeros(3, 4)
    def forward(self, x):
        h = {start}
        for i in range(2):
            h = self.cell(torch.cat([x[i], h], 1))
        self.h = h
        return self.out(h)
net = Net()
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for i in range(3):
    loss = net(torch.ones(2, 3, 2)).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
"""
    cause = why(graph_of(tmp_path, program, engine), "net.out.weight")
    assert (cause.verdict, cause.mend) == ("second backward", "self.h = h.detach()")
    assert [place.line for place, _ in cause.lines] == [18, 10, 11]
    cured = program.replace("self.h = h\n", f"{cause.mend}\n")
    assert not any(one.is_wrong for one in why_all(graph_of(tmp_path, cured, engine)))


@pytest.mark.parametrize("engine", ENGINES)
def test_parameters_that_a_loop_writes_with_their_graph_are_to_be_written_without(tmp_path: Path, engine: str) -> None:
    program = """\
import copy, torch
from torch import nn
student = nn.Linear(3, 2)
teacher = copy.deepcopy(student).requires_grad_(False)
opt = torch.optim.SGD(student.parameters(), lr=0.1)
x, decay = torch.ones(4, 3), torch.tensor(0.9)
for i in range(4):
    loss = (student(x) - teacher(x) - 1).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    for t, s in zip(teacher.parameters(), student.parameters()):
        t.mul_(decay).add_(s, alpha=0.1)
"""
    cause = why(graph_of(tmp_path, program, engine), "student.weight")
    assert (cause.verdict, cause.mend) == ("second backward", "with torch.no_grad(): t.mul_(decay).add_(s, alpha=0.1)")
    cured = program.replace("t.mul_(decay).add_(s, alpha=0.1)", cause.mend)
    assert not any(one.is_wrong for one in why_all(graph_of(tmp_path, cured, engine)))


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    "line", ['log = {"second": second.item()}', "print(second.item())", "hits = (p.argmax(1) == 0).sum()"]
)
def test_what_is_logged_of_a_result_below_the_root_does_not_cut_it_off_from_the_root(
    tmp_path: Path, line: str, engine: str
) -> None:
    program = f"""\
import torch
from torch import nn
body, one, two, x = nn.Linear(4, 4), nn.Linear(4, 2), nn.Linear(4, 3), torch.ones(5, 4)
opt = torch.optim.SGD([*body.parameters(), *one.parameters(), *two.parameters()], lr=0.1)
for step in range(2):
    h = torch.tanh(body(x))
    p = two(h)
    first, second = one(h).pow(2).mean(), p.pow(2).mean()
    opt.zero_grad()
    first.backward()
    opt.step()
    {line}
"""
    for root in ("h", "first"):
        cause = why(graph_of(tmp_path, program, engine, root), "two.weight")
        assert (cause.verdict, 12 in [place.line for place, _ in cause.lines]) == ("no path", False)


@pytest.mark.parametrize("engine", ENGINES)
def test_zeros_that_zero_grad_has_written_are_not_said_to_be_of_another_backward(tmp_path: Path, engine: str) -> None:
    program = """\
import torch
from torch import nn
body, a, b, x = nn.Linear(4, 4), nn.Linear(4, 2), nn.Linear(4, 3), torch.ones(5, 4)
opt = torch.optim.SGD([*body.parameters(), *a.parameters(), *b.parameters()], lr=0.1)
for step in range(3):
    opt.zero_grad(set_to_none=False)
    first = a(body(x)).pow(2).mean()
    first.backward()
    opt.step()
    opt.zero_grad(set_to_none=False)
    second = b(body(x)).pow(2).mean()
    second.backward()
    opt.step()
"""
    graph = graph_of(tmp_path, program, engine, "first")
    assert not any(one.is_wrong for one in why_all(graph))
    assert "b.weight.grad is 0, as zero_grad(), or another backward has left it" in why(graph, "b.weight").what


@pytest.mark.parametrize("engine", ENGINES)
def test_of_two_losses_in_one_line_the_one_that_is_not_to_train_what_links_them_is_detached(
    tmp_path: Path, engine: str
) -> None:
    program = """\
import torch
from torch import nn
enc, h1, h2, x = nn.Linear(4, 4), nn.Linear(4, 1), nn.Linear(4, 1), torch.ones(5, 4)
o1 = torch.optim.SGD([*enc.parameters(), *h1.parameters()], lr=0.1)
o2 = torch.optim.SGD(h2.parameters(), lr=0.1)
for i in range(2):
    z = torch.tanh(enc(x))
    l1 = h1(z).pow(2).mean(); l2 = (h2(z) - 1).pow(2).mean()
    o1.zero_grad(); l1.backward(); o1.step()
    o2.zero_grad(); l2.backward(); o2.step()
"""
    cause = why(graph_of(tmp_path, program, engine), "enc.weight")
    better = "l2 = (h2(z.detach()) - 1).pow(2).mean()"
    assert cause.mend == f"compute z anew before each backward(), or write {better}, if it is to be a constant there"
    cured = program.replace("l2 = (h2(z) - 1).pow(2).mean()", better)
    assert not any(one.is_wrong for one in why_all(graph_of(tmp_path, cured, engine)))


@pytest.mark.parametrize("engine", ENGINES)
def test_of_several_roots_a_gradient_that_one_backward_alone_has_brought_is_no_sum(tmp_path: Path, engine: str) -> None:
    program = """\
import torch
a, b, x = torch.nn.Linear(3, 1), torch.nn.Linear(3, 1), torch.ones(4, 3)
first = a(x).pow(2).mean()
first.backward()
last = b(x).pow(2).mean()
last.backward()
"""
    assert why(graph_of(tmp_path, program, engine, "first", "last"), "a.weight").verdict == "ok"


@pytest.mark.parametrize("engine", ENGINES)
def test_best_weights_that_a_training_ends_with_are_none_that_the_program_writes_itself(
    tmp_path: Path, engine: str
) -> None:
    program = """\
import copy, torch
from torch import nn
net, head, x = nn.Linear(3, 4), nn.Linear(4, 1), torch.ones(4, 3)
opt = torch.optim.SGD([*net.parameters(), *head.parameters()], lr=0.1)
for i in range(3):
    loss = head(net(x).detach()).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    best = copy.deepcopy(net.state_dict())
net.load_state_dict(best)
"""
    cause = why(graph_of(tmp_path, program, engine), "net.weight")
    assert (cause.verdict, cause.mend) == ("detached", "loss = head(net(x)).pow(2).mean()")


@pytest.mark.parametrize("engine", ENGINES)
def test_cuts_on_many_lines_of_other_files_leave_the_statements_of_the_program_what_they_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, engine: str
) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    measures = "\n".join(f"def measure{i}(x):\n    return x.mean().item() + {i}" for i in range(6))
    (tmp_path / f"measures_{engine}.py").write_text(measures)
    program = f"""\
import torch, measures_{engine} as measures
a, b, x = torch.nn.Linear(3, 4), torch.nn.Linear(4, 1), torch.ones(5, 3)
opt = torch.optim.SGD([*a.parameters(), *b.parameters()], lr=0.1)
for i in range(3):
    hidden = a(x).detach()
    out = b(hidden)
    loss = out.pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    log = [{", ".join(f"measures.measure{i}(out)" for i in range(6))}]
"""
    causes = {one.name: one.verdict for one in why_all(graph_of(tmp_path, program, engine)) if one.is_wrong}
    assert causes == {"a.weight": "detached", "a.bias": "detached"}
