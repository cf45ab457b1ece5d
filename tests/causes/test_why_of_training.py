"""``gviz why`` of what happens to a gradient over time: used, cleared, added to, spoiled; and of a backward that failed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import gviz as package
from gviz import SourceOptions
from gviz.causes.diagnosis import Cause
from gviz.causes.layers import causes_in
from gviz.causes.why import why, why_all
from gviz.graphs import Graph

ENGINES = ["gviz", pytest.param("torch", marks=pytest.mark.torch)]

pytestmark = pytest.mark.filterwarnings("ignore::gviz.GvizWarning", "ignore::UserWarning")

LOOP = """\
import torch
from torch import nn
torch.manual_seed(0)
net, head = nn.Linear(3, 3), nn.Linear(3, 1)
opt = torch.optim.SGD([*net.parameters(), *head.parameters()], 0.1)
x = torch.randn(4, 3)
for i in range(3):
    {}
"""


def graph_of(folder: Path, program: str, engine: str, roots: tuple[str, ...] = ()) -> Graph:
    if engine == "torch":
        pytest.importorskip("torch")
    (folder / "train.py").write_text(program)
    options = SourceOptions(diagnose=True, engine=engine, roots=roots)
    graph: Graph = package.read(folder / "train.py", options, rootless=True).graph
    return graph


def lines_of(cause: Cause) -> list[int]:
    return [place.line for place, _ in cause.lines]


CASES = {
    "sound": ("opt.zero_grad(); head(net(x)).sum().backward(); opt.step()", "ok", "", ""),
    "no step": ("opt.zero_grad(); head(net(x)).sum().backward()", "not used", "was not called", "call step()"),
    "a step before each backward": (
        "opt.zero_grad(); opt.step(); head(net(x)).sum().backward()",
        "not used",
        "while net.weight.grad was empty",
        "call step() after backward(), and before the next zero_grad(), or what else empties .grad",
    ),
    "a read is no step": (
        "head(net(x)).sum().backward(); print(net.weight.grad); opt.zero_grad(); opt.step()",
        "taken away",
        "before a step() had used it",
        "call zero_grad() before backward()",
    ),
    "set to None": (
        "head(net(x)).sum().backward(); net.weight.grad = None; opt.step()",
        "taken away",
        "before a step() had used it",
        "run net.weight.grad = None after step(); or net.weight.requires_grad_(False)",
    ),
    "clipped to nothing": (
        "head(net(x)).sum().backward(); nn.utils.clip_grad_norm_(net.parameters(), 0.0); opt.step()",
        "zero",
        "it was set to 0 after backward",
        "give clip_grad_norm_ a bound above 0",
    ),
    "clipped by a norm that is inf": (
        (
            "(1e25 * head(net(x)).sum()).backward();"
            " nn.utils.clip_grad_norm_([*net.parameters(), *head.parameters()], 0.5); opt.step()"
        ),
        "zero",
        "it was set to 0 after backward",
        "give clip_grad_norm_ gradients whose norm is finite",
    ),
    "made infinite": (
        "opt.zero_grad(); head(net(x)).sum().backward(); net.weight.grad.fill_(float('inf')); opt.step()",
        "inf",
        "backward had left finite numbers in net.weight.grad",
        "write finite numbers into net.weight.grad; or leave net.weight.grad.fill_(float('inf')) out",
    ),
    "not cleared after a step": (
        "head(net(x)).sum().backward(); opt.step()",
        "not cleared",
        "though net.weight had been updated with it by then",
        "call zero_grad(), or net.weight.grad = None, before each backward()",
    ),
    "micro-batches": (
        "opt.zero_grad(); head(net(x)).sum().backward(); head(net(x + 1)).sum().backward(); opt.step()",
        "accumulated",
        "it was not empty when the last one began",
        "none, if the sum is meant, as of several batches for one step; else call zero_grad()",
    ),
    "no gradient this time": (
        "opt.zero_grad(); head(net(x) if i == 1 else net(x).detach()).sum().backward(); opt.step()",
        "detached",
        "what is made from it was cut off by detach()",
        "head(net(x) if i == 1 else net(x)).sum().backward()",
    ),
    "a gradient of its own": (
        "opt.zero_grad(); head(net(x)).sum().backward(); net.weight.grad = torch.ones(3, 3); opt.step()",
        "ok",
        "net.weight has the gradient that this line has given it",
        "",
    ),
    "noise on a gradient": (
        "opt.zero_grad(); head(net(x)).sum().backward(); net.weight.grad += torch.ones(3, 3); opt.step()",
        "ok",
        "which is finite and not 0",
        "",
    ),
    "a gradient times 0": (
        "opt.zero_grad(); head(net(x)).sum().backward()\n    net.weight.grad *= torch.zeros(3, 3); opt.step()",
        "zero",
        "it was set to 0 after backward",
        "run net.weight.grad *= torch.zeros(3, 3) after step(); or net.weight.requires_grad_(False)",
    ),
    "one of three steps": (
        "opt.zero_grad(); head(net(x)).sum().backward(); (opt.step() if i == 2 else None)",
        "taken away",
        "2 of the 3 that this backward() has brought went before a step() had used them",
        "call zero_grad() after each step() alone; or none, if these steps are left out on purpose",
    ),
    "the first of each two batches for one step": (
        "for _ in (1, 2): opt.zero_grad(); head(net(x)).sum().backward()\n    opt.step()",
        "taken away",
        "3 of the 6 that this backward() has brought went before a step() had used them",
        "call zero_grad() after each step() alone; or none, if these steps are left out on purpose",
    ),
    "all but the last of the batches for one step": (
        "head(net(x)).sum().backward(); opt.zero_grad(); (opt.step() if i == 2 else None)",
        "taken away",
        "before a step() had used it",
        "call zero_grad() after each step() alone",
    ),
    "a second backward for nobody": (
        "net(x).sum().backward(); opt.step(); opt.zero_grad(); net(x).exp().sum().backward(); opt.zero_grad()",
        "taken away",
        "before a step() had used it",
        "call zero_grad() before backward()",
    ),
    "inf that is set to 0": (
        "opt.zero_grad(); head(net(x)).sum().backward(); net.weight.grad.fill_(float('inf')).zero_(); opt.step()",
        "nan",
        "net.weight.grad is 0, which line 8 has written: backward had left finite numbers in net.weight.grad",
        "write finite numbers into net.weight.grad",
    ),
    "a parameter made anew": (
        "opt.zero_grad(); head(net(x)).sum().backward(); opt.step()\n    net.weight = nn.Parameter(net.weight.detach() + 1)",
        "overwritten",
        "that one, of its sizes, has no name any more",
        "with torch.no_grad(): net.weight.copy_(...)",
    ),
}
"""Of each: what the loop does, and the verdict for net.weight, with words of the sentence and of the mend."""


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("case", CASES)
def test_each_gradient_is_followed_over_time(tmp_path: Path, case: str, engine: str) -> None:
    body, verdict, what, mend = CASES[case]
    cause = why(graph_of(tmp_path, LOOP.format(body), engine), "net.weight")
    assert cause.verdict == verdict, cause
    assert what in cause.what
    assert cause.mend.startswith(mend), cause
    assert bool(cause.mend) == bool(mend)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(("condition", "verdict"), [("i == 2", "taken away"), ("i != 1", "ok")])
def test_the_line_that_takes_a_gradient_away_before_a_step_is_named(
    tmp_path: Path, condition: str, verdict: str, engine: str
) -> None:
    body = f"""opt.zero_grad()
    loss = head(net(x)).sum()
    loss.backward()
    if {condition}:
        opt.step()"""
    cause = why(graph_of(tmp_path, LOOP.format(body), engine), "net.weight")
    assert (cause.verdict, lines_of(cause)) == (verdict, [10, 8]), cause


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(("before", "verdict"), [("opt.zero_grad(); ", "taken away"), ("", "cleared")])
def test_batches_that_are_thrown_away_are_told_where_the_gradient_is_cleared_at_the_end(
    tmp_path: Path, engine: str, before: str, verdict: str
) -> None:
    loop = LOOP.replace("range(3)", "range(4)")
    body = f"{before}head(net(x)).sum().backward(); (opt.step(), opt.zero_grad()) if i % 2 else None"
    cause = why(graph_of(tmp_path, loop.format(body), engine), "net.weight")
    assert cause.verdict == verdict, cause
    lost = "2 of the 4 that this backward() has brought went before a step() had used them"
    assert (lost in cause.what) == bool(before)


ADVERSARIES = """\
import torch
from torch import nn
G, D = nn.Linear(2, 2), nn.Linear(2, 1)
og, od = (torch.optim.SGD(one.parameters(), lr=0.1) for one in (G, D))
for i in range(3):
    fake = G(torch.ones(4, 2))
    od.zero_grad()
    D(fake.detach()).mean().backward()
    od.step()
    og.zero_grad(); {}
    g_loss = -D(fake).mean()
    g_loss.backward()
    og.step(); {}
"""


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    ("before", "after", "verdict"), [("od.zero_grad()", "", "ok"), ("", "od.zero_grad()", "cleared")]
)
def test_what_a_loss_of_others_leaves_in_a_trained_tensor_may_be_taken_away(
    tmp_path: Path, before: str, after: str, verdict: str, engine: str
) -> None:
    cause = why(graph_of(tmp_path, ADVERSARIES.format(before, after), engine), "D.weight")
    assert (cause.verdict, cause.mend) == (verdict, ""), cause


TEXTBOOK = """\
import torch
x = torch.tensor([1.0, 2.0])
w = torch.zeros(2, requires_grad=True)
for i in range(3):
    loss = (w * x - 1).pow(2).sum()
    loss.backward()
    with torch.no_grad():
        w = w - 0.1 * w.grad
"""


@pytest.mark.parametrize("engine", ENGINES)
def test_a_name_that_an_update_gives_to_a_new_tensor_is_known_when_the_next_backward_has_failed(
    tmp_path: Path, engine: str
) -> None:
    causes = {cause.name: cause for cause in why_all(graph_of(tmp_path, TEXTBOOK, engine))}
    mend = "w -= 0.1 * w.grad; and set its .grad to None after it, as backward() adds to it"
    assert (causes["w"].verdict, lines_of(causes["w"]), causes["w"].mend) == ("overwritten", [8], mend)


@pytest.mark.parametrize("engine", ENGINES)
def test_nan_that_a_program_writes_is_told_of_all_that_it_spoils(tmp_path: Path, engine: str) -> None:
    body = "opt.zero_grad(); head(net(x)).sum().backward()\n    net.weight.grad *= float('nan')\n    print()\n    opt.step()"
    graph = graph_of(tmp_path, LOOP.format(body), engine)
    for name in ("net.weight", "head.weight"):
        cause = why(graph, name)
        assert (cause.verdict, lines_of(cause)) == ("nan", [9]), cause
        assert "learning rate" not in cause.mend


NAN = {
    "of the weights, by hand": (
        "if i == 1: net.weight.data /= 0\n    opt.zero_grad(); head(net(x)).pow(2).sum().backward(); opt.step()",
        8,
        "net.weight was not finite any more when this backward began, and was written last by this line",
        "write finite numbers there",
    ),
    "of the learning rate": (
        "opt.zero_grad(); head(net(x)).sum().backward(); opt.param_groups[0]['lr'] = float('nan')\n    opt.step()",
        9,
        "net.weight was not finite any more when this backward began, and was written last by this line",
        "look at the options of the optimizer",
    ),
    "of weights that grow": (
        "opt.zero_grad(); (1e12 * head(net(x)).pow(2).sum()).backward(); opt.step()",
        8,
        "addmm hands on -inf, backward",
        "the numbers grow from one backward to the next: take a smaller learning rate",
    ),
    "of data": (
        "opt.zero_grad(); head(net(x * 1e30 ** (i == 2))).pow(2).sum().backward(); opt.step()",
        8,
        "addmm hands on -inf, backward",
        "see whether its inputs, or what comes to it, are too large for float32",
    ),
}


STEP_OF_NAN = """\
import torch
from torch import nn
torch.manual_seed(0)
critic, actor = nn.Linear(3, 1), nn.Linear(2, 3)
of_critic = torch.optim.SGD(critic.parameters(), lr=0.1)
of_actor = torch.optim.SGD(actor.parameters(), lr=0.1)
x, aim = torch.ones(4, 2), torch.zeros(4, 1)
for i in range(3):
    of_critic.zero_grad()
    critic_loss = (critic(actor(x).detach()) - aim.log()).pow(2).mean()
    critic_loss.backward()
    {}of_critic.step()
    of_actor.zero_grad()
    actor_loss = -critic(actor(x)).mean()
    actor_loss.backward()
    of_actor.step()
"""


@pytest.mark.parametrize("engine", ENGINES)
def test_a_step_that_was_given_nan_is_not_said_to_have_made_it_by_its_options(tmp_path: Path, engine: str) -> None:
    cause = why(graph_of(tmp_path, STEP_OF_NAN.format(""), engine, ("actor_loss",)), "actor.weight")
    began = "critic.weight was not finite any more when this backward began, and was written last by this line"
    assert cause.what.endswith(f"{began}; a step of its optimizer was given a gradient of it that was not finite")
    assert (lines_of(cause), cause.mend) == ([12], "gviz why SCRIPT critic.weight tells where that began")
    cause = why(graph_of(tmp_path, STEP_OF_NAN.format(""), engine), "critic.weight")
    assert (lines_of(cause), "log" in cause.what) == ([10], True), cause


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    "line", ["loss = (w * (h.detach() - 1)).sum()", "cut = h.detach() - 1; loss = (w * cut).sum()"]
)
def test_what_is_cut_off_and_not_finite_is_no_data(tmp_path: Path, line: str, engine: str) -> None:
    start = "import torch\nw, v = (torch.full((2,), one, requires_grad=True) for one in (1.0, 0.0))\nh = v.log()\n"
    cause = why(graph_of(tmp_path, f"{start}{line}\nloss.backward()\n", engine), "w")
    assert (cause.verdict, cause.mend) == ("inf", "gviz why SOURCE h --root h tells where that of h began"), cause


@pytest.mark.parametrize("engine", ENGINES)
def test_a_step_with_a_finite_gradient_is_not_said_to_have_been_given_nan(tmp_path: Path, engine: str) -> None:
    program = STEP_OF_NAN.replace("aim.log()", "aim").format("of_critic.param_groups[0]['lr'] = float('inf'); ")
    cause = why(graph_of(tmp_path, program, engine, ("actor_loss",)), "actor.weight")
    assert (lines_of(cause), "look at the options of the optimizer" in cause.mend) == ([12], True), cause


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("case", NAN)
def test_nan_comes_from_the_line_that_has_made_it(tmp_path: Path, case: str, engine: str) -> None:
    body, line, what, mend = NAN[case]
    cause = why(graph_of(tmp_path, LOOP.format(body), engine), "net.weight")
    assert cause.verdict in ("nan", "inf")
    assert lines_of(cause) == [line], cause
    assert what in cause.what
    assert cause.mend.startswith(mend), cause


@pytest.mark.parametrize("engine", ENGINES)
def test_clipping_to_one_norm_spreads_nan_and_its_origin_is_named(tmp_path: Path, engine: str) -> None:
    body = (
        "opt.zero_grad(); (head(x).sum() + net(x).mul(0).sqrt().sum()).backward()\n"
        "    nn.utils.clip_grad_norm_([*net.parameters(), *head.parameters()], 1.0)\n    opt.step()"
    )
    graph = graph_of(tmp_path, LOOP.format(body), engine)
    assert [lines_of(why(graph, name)) for name in ("head.weight", "net.weight")] == [[9], [8]]
    assert "since the gradient of net.weight was not finite" in why(graph, "head.weight").what


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("clear", ["zero_grad()", "zero_grad(set_to_none=False)"])
@pytest.mark.parametrize("bad", [1, 2])
def test_nan_that_clipping_has_spread_is_told_after_a_step_has_used_it_and_it_is_cleared(
    tmp_path: Path, bad: int, clear: str, engine: str
) -> None:
    body = (
        f"(head(x).square().sum() + (net(x).sum() * 0 + (i != {bad})).sqrt()).backward()\n"
        "    nn.utils.clip_grad_norm_([*net.parameters(), *head.parameters()], max_norm=1.0)\n"
        f"    opt.step()\n    opt.{clear}"
    )
    graph = graph_of(tmp_path, LOOP.format(body), engine)
    assert [lines_of(why(graph, name))[0] for name in ("head.weight", "net.weight")] == [9, 8]
    assert why(graph, "head.weight").what == (
        "a step() has used nan or inf of head.weight.grad: backward had left finite numbers in it, and this line has"
        " written others, since the gradient of net.weight was not finite"
    )
    unclipped = graph_of(
        tmp_path,
        LOOP.format(body.replace("nn.utils.clip_grad_norm_", "dict.fromkeys").replace("max_norm=", "")),
        engine,
    )
    assert why(unclipped, "head.weight").verdict == "cleared"


def test_a_script_that_gviz_ends_early_may_have_steps_to_come(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(LOOP.format(CASES["sound"][0].replace("; ", "\n    ")))
    options = SourceOptions(diagnose=True, stop_at="backward")
    graph = package.read(tmp_path / "train.py", options, rootless=True).graph
    assert why(graph, "net.weight").verdict == "ok"


@pytest.mark.parametrize("engine", ENGINES)
def test_a_moving_average_is_not_trained(tmp_path: Path, engine: str) -> None:
    program = LOOP.replace("x =", "ema = nn.Linear(3, 3)\nx =")
    body = "opt.zero_grad(); head(net(x)).sum().backward(); opt.step(); ema.weight.data.mul_(0.9).add_(net.weight.data)"
    graph = graph_of(tmp_path, program.format(body), engine)
    assert [why(graph, name).verdict for name in ("ema.weight", "ema.bias")] == ["not trained", "not trained"]


@pytest.mark.parametrize("engine", ENGINES)
def test_optimizers_that_take_turns_in_one_line_have_no_fault(tmp_path: Path, engine: str) -> None:
    body = (
        "for opt, of in {one: net, two: head}.items():\n"
        "        loss = head(net(x) if of is net else net(x).detach()).pow(2).sum()\n"
        "        opt.zero_grad(); loss.backward(); opt.step()"
    )
    pair = "one, two = (torch.optim.SGD(of.parameters(), 0.1) for of in (net, head))"
    program = LOOP.replace("opt = torch.optim.SGD([*net.parameters(), *head.parameters()], 0.1)", pair)
    cause = why(graph_of(tmp_path, program.replace("{}", body), engine), "net.weight")
    assert (cause.verdict, cause.is_wrong) == ("ok", False), cause


@pytest.mark.parametrize("engine", ENGINES)
def test_a_tensor_that_no_optimizer_has_is_not_trained(tmp_path: Path, engine: str) -> None:
    program = LOOP.replace("x =", "head = nn.Linear(3, 2)\nx =")
    body = "net.zero_grad(); head.zero_grad(); head(net(x)).sum().backward(); opt.step()"
    cause = why(graph_of(tmp_path, program.format(body), engine), "head.weight")
    assert (cause.verdict, cause.is_wrong, lines_of(cause)) == ("not trained", False, [5, 6]), cause


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    ("steps", "line"),
    [
        ("net(head(x).detach()).sum().backward(); two.step(); head(x).sum().backward(); one.step()", 5),
        ("net(head(x).detach()).sum().backward(); one.step(); head(x).sum().backward(); two.step()", 6),
        ("head(x).sum().backward(); one.step(); two.step()", 9),
    ],
)
def test_of_two_optimizers_the_one_is_named_that_steps_after_the_backward(
    tmp_path: Path, steps: str, line: int, engine: str
) -> None:
    both = "one = torch.optim.SGD(net.parameters(), 0.1)\ntwo = torch.optim.SGD(net.parameters(), 0.1)"
    program = LOOP.replace("opt = torch.optim.SGD([*net.parameters(), *head.parameters()], 0.1)", both)
    program = program.replace(
        "net, head = nn.Linear(3, 3), nn.Linear(3, 1)", "net, head = nn.Linear(3, 1), nn.Linear(3, 3)"
    )
    body = f"net.zero_grad(); head.zero_grad(); {steps}"
    cause = why(graph_of(tmp_path, program.format(body), engine), "head.weight")
    assert lines_of(cause)[:1] == [line], cause


@pytest.mark.parametrize("engine", ENGINES)
def test_a_layer_that_is_not_used_has_lost_no_gradient(tmp_path: Path, engine: str) -> None:
    program = LOOP.replace("*head.parameters()", "*head.parameters(), *spare.parameters()")
    program = program.replace("opt =", "spare = nn.Linear(3, 3)\nopt =")
    for line in ("opt.zero_grad()", "opt.zero_grad(set_to_none=False)", "spare.weight.grad = None"):
        body = f"{line}; head(net(x)).sum().backward(); opt.step()"
        cause = why(graph_of(tmp_path, program.format(body), engine), "spare.weight")
        assert (cause.verdict, lines_of(cause)) == ("no path", [5]), cause


TARGET = LOOP.replace("opt = torch.optim.SGD([*net.parameters(), *head.parameters()], 0.1)", "{}")


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("zero_grad", ["opt.zero_grad()", "net.zero_grad()"])
def test_an_optimizer_that_has_only_the_target_is_told_at_both(tmp_path: Path, zero_grad: str, engine: str) -> None:
    head = "opt = torch.optim.SGD(head.parameters(), 0.1)"
    body = f"""with torch.no_grad():
        y = head(x)
    loss = (net(x) - y).pow(2).sum(); {zero_grad}; loss.backward(); opt.step()"""
    graph = graph_of(tmp_path, TARGET.replace("{}", head, 1).format(body), engine)
    trained, target = why(graph, "net.weight"), why(graph, "head.weight")
    assert (trained.verdict, trained.is_wrong, lines_of(trained)[-1]) == ("not trained", False, 5)
    assert "else opt = torch.optim.SGD([*head.parameters(), net.weight], 0.1)" in trained.mend
    assert (target.verdict, lines_of(target)) == ("no_grad", [9])
    assert "the optimizer has head.weight, and nothing that loss is made from" in target.what
    assert target.mend.endswith("; or, if head.weight is not to be trained, give the optimizer what loss is to train")


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("clear", ["zero_grad()", "zero_grad(set_to_none=False)"])
def test_a_gradient_that_was_0_in_each_pass_of_an_accumulation_is_zero(tmp_path: Path, clear: str, engine: str) -> None:
    body = f"""(net(x).pow(2).sum() + head(x).clamp(99.0).sum()).backward()
    if i % 2: opt.step(); opt.{clear}"""
    program = LOOP.replace("range(3)", "range(4)").format(body)
    trained, idle = (why(graph_of(tmp_path, program, engine), f"{name}.weight") for name in ("net", "head"))
    assert (trained.verdict, trained.is_wrong) == ("cleared", False)
    assert (idle.verdict, idle.is_wrong, lines_of(idle)) == ("zero", True, [8])


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("target", ["mean", "net.mean"])
def test_a_running_value_that_is_detached_from_the_run_before_has_no_other_mend(
    tmp_path: Path, target: str, engine: str
) -> None:
    start = f"x = torch.randn(4, 3)\n{target} = torch.zeros(())"
    line = f"{target} = 0.9 * {target}.detach() + 0.1 * net(x).pow(2).mean()"
    body = f"""{line}
    opt.zero_grad(); {target}.backward(); opt.step()"""
    program = LOOP.replace("x = torch.randn(4, 3)", start)
    cause = why(graph_of(tmp_path, program.format(body), engine), "net.weight")
    assert (cause.verdict, cause.is_wrong, cause.mend) == ("ok", False, "none"), cause
    assert "is a constant for it: that part was cut off by detach()" in cause.what


AGENT = """\
import torch
from torch import nn
class Agent:
    def __init__(self):
        self.net, self.head = nn.Linear(3, 1), nn.Linear(3, 1)
        self.opt = torch.optim.SGD(self.head.parameters(), 0.1)
    def learn(self, x):
        with torch.no_grad():
            y = self.head(x)
        loss = (self.net(x) - y).pow(2).sum()
        self.opt.zero_grad(); loss.backward(); self.opt.step()
agent = Agent()
for step in range(2):
    agent.learn(torch.ones(2, 3))
"""


@pytest.mark.parametrize("engine", ENGINES)
def test_an_object_whose_optimizer_has_only_the_target_has_a_model_that_is_not_trained(
    tmp_path: Path, engine: str
) -> None:
    graph = graph_of(tmp_path, AGENT, engine)
    trained, target = why(graph, "agent.net.weight"), why(graph, "agent.head.weight")
    assert (trained.verdict, trained.is_wrong, lines_of(trained)[-1]) == ("not trained", False, 6)
    assert "and nothing that loss is made from" in target.what
    assert target.is_wrong


@pytest.mark.parametrize("engine", ENGINES)
def test_what_an_optimizer_has_is_wrong_where_the_loss_is_made_from_others_and_these_are_not(
    tmp_path: Path, engine: str
) -> None:
    head = "opt = torch.optim.SGD(head.parameters(), 0.1)"
    body = "loss = net(x).sum(); opt.zero_grad(); loss.backward(); opt.step()"
    beside = why_all(graph_of(tmp_path, TARGET.replace("{}", head, 1).format(body), engine))
    assert {one.name: one.verdict for one in beside if one.is_wrong} == {
        "head.weight": "no path",
        "head.bias": "no path",
    }
    assert all(
        "; or give the optimizer, which has nothing that loss is made" in one.mend for one in beside if one.is_wrong
    )
    # Nothing has the names of the optimizer's tensors.
    lost = head.replace("head.", "nn.Linear(3, 1).")
    alone = why_all(graph_of(tmp_path, TARGET.replace("{}", lost, 1).format(body), engine))
    assert {one.name: one.verdict for one in alone if one.is_wrong} == {
        "net.weight": "not used",
        "net.bias": "not used",
    }
    adversarial = """\
import torch
from torch import nn
net, x = nn.Linear(2, 1), torch.ones(4, 2, requires_grad=True)
opt = torch.optim.SGD([x], lr=0.5)
for i in range(2):
    loss = net((x * 2).detach()).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
"""
    causes = why_all(graph_of(tmp_path, adversarial, engine))
    assert [one.name for one in causes if one.is_wrong] == ["x"], causes


@pytest.mark.parametrize("engine", ENGINES)
def test_a_gradient_that_no_zero_grad_of_an_optimizer_clears_is_of_a_tensor_that_is_not_trained(
    tmp_path: Path, engine: str
) -> None:
    program = TARGET.replace("{}", "opt = torch.optim.SGD(head.parameters(), 0.1)", 1)
    body = "opt.zero_grad(); head(net(x)).sum().backward(); opt.step()"
    cause = why(graph_of(tmp_path, program.format(body), engine), "net.weight")
    assert cause.verdict == "not trained", cause
    assert "no optimizer has net.weight, so that no zero_grad() of one clears it" in cause.what
    assert "else opt = torch.optim.SGD([*head.parameters(), net.weight], 0.1); or" in cause.mend
    later = program.replace("net, head = nn.Linear(3, 3),", "head =", 1).replace("x =", "net = nn.Linear(3, 3)\nx =", 1)
    assert (
        "where net.weight is made, and with it"
        in why(graph_of(tmp_path, later.format(body), engine), "net.weight").mend
    )


@pytest.mark.parametrize("engine", ENGINES)
def test_a_learning_rate_of_0_in_each_step_trains_nothing(tmp_path: Path, engine: str) -> None:
    for ten, verdict in ((10, "not used"), (2, "ok")):
        sched = f"sched = torch.optim.lr_scheduler.LambdaLR(opt, lambda s: s // {ten})\nx = "
        body = "opt.zero_grad(); head(net(x)).sum().backward(); opt.step(); sched.step()"
        cause = why(graph_of(tmp_path, LOOP.replace("x = ", sched).format(body), engine), "net.weight")
        assert cause.verdict == verdict, cause
        assert ("had the learning rate 0" in cause.what) == (ten == 10)


@pytest.mark.parametrize("engine", ENGINES)
def test_zeros_of_another_backward_are_not_said_to_be_of_the_last_one(tmp_path: Path, engine: str) -> None:
    body = "(head(x) - head(x + 1)).sum().backward(); loss = net(x).sum(); loss.backward()"
    cause = why(graph_of(tmp_path, LOOP.replace("opt = ", "_ = ").format(body), engine), "head.bias")
    what = "head.bias.grad is 0, as another backward has left it: loss is not made from head.bias"
    told = cause.verdict, cause.what, lines_of(cause)
    assert told == ("zero", f"{what}; that of head.weight was not 0", [8])
    assert cause.mend.endswith("gviz why SOURCE --root NAME tells of that one"), "that root has no name"
    assert not cause.is_wrong


@pytest.mark.parametrize("engine", ENGINES)
def test_zeros_of_another_backward_may_cancel_by_design_though_the_weight_beside_them_is_cleared(
    tmp_path: Path, engine: str
) -> None:
    body = (
        "(head(x) - head(x + 1)).sum().backward(); opt.step(); opt.zero_grad(set_to_none=False)\n"
        "    loss = net(x).sum(); loss.backward()"
    )
    cause = why(graph_of(tmp_path, LOOP.format(body), engine), "head.bias")
    assert (cause.verdict, cause.is_wrong) == ("zero", False), cause
    assert cause.what.endswith("loss is not made from head.bias; that of head.weight was not 0")


@pytest.mark.torch
def test_a_sparse_gradient_without_elements_is_a_cleared_one(tmp_path: Path) -> None:
    program = LOOP.replace("nn.Linear(3, 3)", "nn.Embedding(3, 3, sparse=True)").replace("randn(4, 3)", "arange(3)")
    body = "head(net(x)).sum().backward(); opt.step(); opt.zero_grad(set_to_none=False)"
    cause = why(graph_of(tmp_path, program.format(body), "torch"), "net.weight")
    assert (cause.verdict, cause.is_wrong, lines_of(cause)) == ("cleared", False, [8]), cause


@pytest.mark.parametrize("engine", ENGINES)
def test_the_input_of_a_gradient_penalty_needs_no_gradient_of_its_own(tmp_path: Path, engine: str) -> None:
    body = """\
x.requires_grad_()
    g, = torch.autograd.grad(torch.relu(head(x)).sum(), x, create_graph=True)
    (g.norm() - 1).pow(2).backward(); loss = net(torch.ones(4, 3)).sum(); loss.backward()"""
    cause = why(graph_of(tmp_path, LOOP.format(body), engine), "x")
    assert (cause.verdict, cause.is_wrong) == ("zero", False), cause
    assert cause.mend.startswith("none, if torch.autograd.grad alone is to use x"), cause


@pytest.mark.parametrize("engine", ENGINES)
def test_paths_that_cancel_are_no_fault_where_others_have_gradients(tmp_path: Path, engine: str) -> None:
    graph = graph_of(tmp_path, LOOP.format("(head(x) - head(x + 1)).sum().backward(); opt.step()"), engine)
    cause = why(graph, "head.bias")
    assert (cause.verdict, cause.is_wrong) == ("zero", False), cause
    assert cause.mend.startswith("none, if they are to cancel out")


CLEARED = {
    "at the start": "if i % {n} == 0: opt.{zero_grad}\n    {backward}\n    if i % {n} == {n} - 1: opt.step()",
    "at the end": "{backward}\n    if i % {n} == {n} - 1: opt.step(); opt.{zero_grad}",
}
"""Runs of a loop whose gradients, of so many batches for a step, are cleared before these or after the step."""

LARGE = LOOP.replace("Linear(3, 3)", "Linear(300, 300)").replace("(3, 1)", "(300, 1)").replace("(4, 3)", "(4, 300)")
LARGE = LARGE.replace("range(3)", "range(4)")

ZEROS = {
    "ways that cancel by design": ("(0.001 * (head(x) - head(2 * x))).pow(2).sum().backward()", "head.bias"),
    "many ways that do": ("(0.001 * (net(x) - net(2 * x))).pow(2).sum().backward()", "net.bias"),
    "an input that is never above 0": ("((head(net(x)) - 5000).relu().sum() + head(x).sum()).backward()", "net.bias"),
}


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("batches", [1, 2])
@pytest.mark.parametrize("argument", ["", "set_to_none=False"])
@pytest.mark.parametrize("where", CLEARED)
@pytest.mark.parametrize("case", ZEROS)
def test_what_is_said_of_zeros_does_not_depend_on_how_gradients_are_cleared(
    tmp_path: Path, *, case: str, where: str, argument: str, batches: int, engine: str
) -> None:
    """What backward has brought is judged, to others as well, and not what clearing has left of it."""
    backward, name = ZEROS[case]
    body = CLEARED[where].format(backward=backward, n=batches, zero_grad=f"zero_grad({argument})")
    cause = why(graph_of(tmp_path, LARGE.format(body), engine), name)
    assert (cause.verdict, cause.is_wrong) == ("zero", case == "an input that is never above 0"), cause
    assert cause.is_wrong or cause.mend.startswith("none, if they are to cancel out, as others have gradients"), cause


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("batches", [1, 2])
@pytest.mark.parametrize("zero_grad", ["zero_grad()", "zero_grad(set_to_none=False)"])
def test_a_sum_of_batches_that_was_used_and_cleared_has_not_cancelled(
    tmp_path: Path, zero_grad: str, batches: int, engine: str
) -> None:
    backward = "head(net(x)).pow(2).sum().backward()"
    body = CLEARED["at the end"].format(backward=backward, n=batches, zero_grad=zero_grad)
    cause = why(graph_of(tmp_path, LARGE.format(body), engine), "net.weight")
    assert (cause.verdict, lines_of(cause)) == ("cleared", [9]), cause


@pytest.mark.parametrize("engine", ENGINES)
def test_a_gradient_of_zeros_in_an_earlier_batch_is_no_sum_in_the_next(tmp_path: Path, engine: str) -> None:
    """``zero_grad(set_to_none=False)`` finds zeros then, and leaves zeros: what comes next is added to nothing."""
    backward = "(head(net(x)) * (i != 1)).sum().backward()"
    body = CLEARED["at the end"].format(backward=backward, n=1, zero_grad="zero_grad(set_to_none=False)")
    cause = why(graph_of(tmp_path, LOOP.format(body), engine), "net.weight")
    assert (cause.verdict, cause.is_wrong, lines_of(cause)) == ("cleared", False, [9]), cause


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("where", CLEARED)
def test_batches_that_cancel_are_no_fault_where_others_have_gradients(tmp_path: Path, where: str, engine: str) -> None:
    backward = "(net(x).sum() + (-1) ** i * head(x).sum()).backward()"
    body = CLEARED[where].format(backward=backward, n=2, zero_grad="zero_grad(set_to_none=False)")
    cause = why(graph_of(tmp_path, LOOP.replace("range(3)", "range(4)").format(body), engine), "head.bias")
    assert (cause.verdict, cause.is_wrong) == ("zero", False), cause
    assert cause.mend.startswith("none, if the sum is meant, as others have gradients; else call zero_grad()"), cause


SMALL = {
    "many sigmoids": (
        "nn.Sequential(*[m for _ in range(14) for m in (nn.Linear(3, 3), nn.Sigmoid())])",
        ("net.0.weight", "vanishing", True),
    ),
    "a batch norm after a bias": (
        "nn.Sequential(nn.Linear(3, 3), nn.BatchNorm1d(3), nn.Tanh())",
        ("net.0.bias", "zero", False),
    ),
}


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("batches", [1, 2])
@pytest.mark.parametrize("where", CLEARED)
@pytest.mark.parametrize("case", SMALL)
def test_what_is_small_beside_others_is_told_wherever_gradients_are_cleared(
    tmp_path: Path, case: str, where: str, batches: int, engine: str
) -> None:
    net, told = SMALL[case]
    backward = "head(net(x)).pow(2).sum().backward()"
    body = CLEARED[where].format(backward=backward, n=batches, zero_grad="zero_grad()")
    program = LOOP.replace("range(3)", "range(4)").replace("nn.Linear(3, 3)", net).format(body)
    (cause,) = causes_in(graph_of(tmp_path, program, engine), [told[0]])
    assert (cause.name, cause.verdict, cause.is_wrong) == told, cause


@pytest.mark.parametrize("engine", ENGINES)
def test_a_gradient_that_is_clipped_and_cleared_does_not_explode(tmp_path: Path, engine: str) -> None:
    clip = "nn.utils.clip_grad_norm_([*net.parameters(), *head.parameters()], 1.0)"
    body = f"(1e12 * head(net(x)).sum()).backward(); {clip}; opt.step(); opt.zero_grad()"
    (cause,) = causes_in(graph_of(tmp_path, LOOP.format(body), engine), ["net.weight"])
    assert (cause.verdict, cause.is_wrong) == ("cleared", False), cause


@pytest.mark.parametrize("engine", ENGINES)
def test_a_sum_for_one_step_is_to_be_cleared_after_the_step(tmp_path: Path, engine: str) -> None:
    body = "[head(net(x)).sum().backward() for _ in range(2)]; opt.step()"
    cause = why(graph_of(tmp_path, LOOP.format(body), engine), "net.weight")
    assert (cause.verdict, cause.mend) == (
        "not cleared",
        "call zero_grad(), or net.weight.grad = None, after each step()",
    )


@pytest.mark.parametrize("engine", ENGINES)
def test_a_frozen_copy_that_the_program_writes_is_not_to_be_mended(tmp_path: Path, engine: str) -> None:
    body = "head(x).sum().backward(); net.requires_grad_(False); net.weight.lerp_(torch.ones(3, 3), 0.1)"
    cause = why(graph_of(tmp_path, LOOP.format(body), engine), "net.weight")
    assert cause.verdict == "frozen"
    assert cause.mend.startswith("none, unless net.weight is to be trained: "), cause


WITH_TARGET = """\
import copy, torch
from torch import nn
torch.manual_seed(0)
net = nn.Linear(3, 2)
target = copy.deepcopy(net).requires_grad_(False)
opt = torch.optim.SGD([*net.parameters(), {}], 0.1)
for i in range(3):
    x = torch.randn(4, 3)
    loss = (net(x) - target(x)).pow(2).mean() + net.bias.sum()
    opt.zero_grad()
    loss.backward()
    opt.step()
    for p, t in zip(net.parameters(), target.parameters()):
        {}
"""

WRITES_TO_TARGET = {
    "with torch.no_grad(): t.mul_(0.9).add_(p, alpha=0.1)": True,
    "t.data.mul_(0.9).add_(p.data, alpha=0.1)": True,
    "t.data.copy_(0.9 * t.data + 0.1 * p.data)": True,
    "t.data = 0.9 * t.data + 0.1 * p.data": True,
    "print(t.data.sum())": False,
}
"""How programs write the weights of a target, and one that does not."""


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("given", ["", "*target.parameters()"])
@pytest.mark.parametrize(
    ("line", "is_average"), WRITES_TO_TARGET.items(), ids=[*map(str, range(len(WRITES_TO_TARGET)))]
)
def test_a_target_that_the_program_writes_is_no_fault_however_it_is_written_and_be_it_that_an_optimizer_has_it(
    tmp_path: Path, line: str, is_average: bool, given: str, engine: str
) -> None:
    cause = why(graph_of(tmp_path, WITH_TARGET.format(given, line), engine), "target.weight")
    assert (cause.verdict, "the program writes it itself, as a moving average" in cause.what) == ("frozen", is_average)
    better = "target = copy.deepcopy(net).requires_grad_()"
    assert cause.mend == (f"none, unless target.weight is to be trained: {better}" if is_average else better)


MOMENTUM = """\
import copy, torch
from torch import nn
torch.manual_seed(0)
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.online, self.head = nn.Linear(3, 2), nn.Linear(2, 2)
        self.target = {}
        self.target.requires_grad_(False)
net = Net()
targets = list(net.target.parameters())
opt = torch.optim.SGD(net.parameters(), 0.1)
for i in range(3):
    x = torch.randn(4, 3)
    loss = (net.head(net.online(x)) - net.target(x)).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    with torch.no_grad():
        for p, t in zip(net.online.parameters(), targets):
            t.mul_(0.9).add_(p, alpha=0.1)
"""


@pytest.mark.parametrize("engine", ENGINES)
def test_of_a_target_that_is_no_copy_both_names_are_said_to_be_one_tensor(tmp_path: Path, engine: str) -> None:
    cause = why(graph_of(tmp_path, MOMENTUM.format("self.online"), engine), "net.online.weight")
    assert cause.verdict == "frozen"
    assert cause.what.endswith("the program writes it itself; net.target.weight is the same tensor")
    assert cause.mend.startswith(
        "none, unless net.online.weight is to be trained: let net.target.weight be a tensor of its own, as"
        " copy.deepcopy() makes one, if they are to be two; else "
    )
    copied = graph_of(tmp_path, MOMENTUM.format("copy.deepcopy(self.online)"), engine)
    assert why(copied, "net.online.weight").verdict == "ok"
    assert why(copied, "net.target.weight").what.endswith("itself, as a moving average or a copy of others")


@pytest.mark.parametrize("engine", ENGINES)
def test_a_softmax_of_one_element_is_told_so(tmp_path: Path, engine: str) -> None:
    body = "(torch.softmax(head(net(x)), 1) - 0.5).pow(2).sum().backward()"
    cause = why(graph_of(tmp_path, LOOP.format(body), engine), "net.weight")
    assert (cause.verdict, cause.mend) == (
        "zero",
        "softmax of one element is 1 whatever it is: give it a dim of several, or use sigmoid for one class",
    )


FAILURES = {
    "cut": ("loss = loss.detach()", "detached", [11, 9], "it was cut off by detach()"),
    "twice": ("loss.backward()", "second backward", [11], "freed"),
    "of a hook": ("loss.register_hook(lambda g: 1 / 0)", "failed", [9, 11], "ZeroDivisionError"),
}


@pytest.mark.parametrize("engine", ENGINES)
def test_what_a_backward_has_brought_before_it_failed_is_not_said_to_be_missing(tmp_path: Path, engine: str) -> None:
    program = """\
import torch
torch.manual_seed(0)
att, aux = torch.nn.Linear(3, 4), torch.nn.Linear(3, 2)
a = att(torch.ones(5, 3)).softmax(-1)
b = a.log()
a.mul_(2)
(b.mean() + aux(torch.ones(5, 3)).pow(2).mean()).backward()
"""
    graph = graph_of(tmp_path, program, engine)
    assert "backward did not run to its end" in why(graph, "att.weight").what
    assert why(graph, "aux.weight").what.endswith("aux.weight.grad is what had come to it until then")


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("case", FAILURES)
def test_a_backward_that_failed_and_was_caught_is_told_though_an_old_gradient_is_there(
    tmp_path: Path, case: str, engine: str
) -> None:
    line, verdict, lines, what = FAILURES[case]
    body = (
        f"loss = head(net(x)).sum()\n    if i == 2: {line}\n"
        "    try:\n        loss.backward()\n    except Exception: pass\n    opt.step()"
    )
    cause = why(graph_of(tmp_path, LOOP.format(body), engine), "net.weight")
    assert (cause.verdict, lines_of(cause)) == (verdict, lines), cause
    assert what in cause.what
    assert "The program caught the error" in cause.what
    assert cause.what.endswith("net.weight.grad is of an earlier backward") or case != "cut"


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    ("owner", "stepped", "expected"), [("nets[-1]", "opt", ("not trained", [4])), ("net", "opts[1]", ("not used", [6]))]
)
def test_a_leaf_that_no_step_changes_is_told_so_though_the_last_loss_is_not_made_from_it(
    tmp_path: Path, owner: str, stepped: str, expected: tuple[str, list[int]], engine: str
) -> None:
    program = f"""\
import torch
from torch import nn
nets = [nn.Linear(2, 1) for _ in range(2)]
opts = [torch.optim.SGD({owner}.parameters(), lr=0.1) for net in nets]
for net, opt in zip(nets, opts):
    net(torch.ones(3, 2)).sum().backward()
    {stepped}.step()
"""
    cause = why(graph_of(tmp_path, program, engine), "nets[0].weight")
    assert (cause.verdict, lines_of(cause)) == expected, cause


FUNCTIONS = {
    "grad": "grads = torch.func.grad(loss_of)(params)",
    "grad_and_value": "grads, _ = torch.func.grad_and_value(loss_of)(params)",
    "vjp": "grads, = torch.func.vjp(loss_of, params)[1](torch.tensor(1.0))",
    "autograd.grad": "grads = dict(zip(params, torch.autograd.grad(loss_of(params), [*params.values()])))",
}


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("call", FUNCTIONS)
def test_gradients_that_functions_are_asked_for_train_copies_and_not_the_module(
    tmp_path: Path, call: str, engine: str
) -> None:
    program = f"""\
import torch
net = torch.nn.Linear(3, 1)
params = {{name: one.detach().clone().requires_grad_() for name, one in net.named_parameters()}}
x = torch.ones(4, 3)
def loss_of(params):
    return torch.func.functional_call(net, params, (x,)).pow(2).mean()
for i in range(2):
    {FUNCTIONS[call]}
    params = {{name: (one - 0.1 * grads[name]).detach().requires_grad_() for name, one in params.items()}}
"""
    cause = why(graph_of(tmp_path, program, engine), "net.weight")
    assert (cause.verdict, cause.is_wrong) == ("not trained", False), cause
    assert [place.line for place, _ in cause.lines] == [8], cause
    assert "nothing calls backward(): gradients come from line 8, " in cause.what


RETURNED_GRADIENT = {
    "print(g)": ("not trained", "none, if the program uses what it returns; else loss.backward()"),
    "print(w.grad)": ("backward not run", "loss.backward()"),
    "": ("backward not run", "loss.backward()"),
    "torch.optim.SGD([w], 0.1).step(); print(g)": ("backward not run", "loss.backward()"),
}


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("use", RETURNED_GRADIENT)
def test_a_gradient_that_is_returned_and_used_is_no_fault(tmp_path: Path, use: str, engine: str) -> None:
    program = f"""\
import torch
w = torch.ones(2, requires_grad=True)
loss = (w ** 2).sum()
g, = torch.autograd.grad(loss, w)
{use}
"""
    cause = why(graph_of(tmp_path, program, engine), "w")
    assert (cause.verdict, cause.mend) == RETURNED_GRADIENT[use], cause
    assert cause.is_wrong == (cause.verdict == "backward not run")


@pytest.mark.parametrize("engine", ENGINES)
def test_a_backward_that_a_leaf_has_no_part_in_adds_nothing_to_its_gradient(tmp_path: Path, engine: str) -> None:
    program = """\
import torch
net = torch.nn.Linear(2, 1)
opt = torch.optim.SGD(net.parameters(), 0.1)
mix = torch.randn(3, 2).requires_grad_()
net(mix).sum().backward()
opt.step()
opt.zero_grad()
loss = net(torch.randn(3, 2)).sum()
loss.backward()
opt.step()
"""
    cause = why(graph_of(tmp_path, program, engine), "mix")
    assert (cause.verdict, cause.what) == (
        "not trained",
        "mix has a gradient, but no optimizer has mix: no step() changes it",
    )


@pytest.mark.parametrize("engine", ENGINES)
def test_a_zero_that_may_be_meant_is_not_counted_as_a_fault(tmp_path: Path, engine: str) -> None:
    program = """\
import torch
alpha = torch.zeros(1, requires_grad=True)
w = torch.ones(3, requires_grad=True)
loss = (alpha * torch.tanh(w) + 1).sum()
loss.backward()
"""
    cause = why(graph_of(tmp_path, program, engine), "w")
    assert (cause.verdict, cause.is_wrong) == ("zero", False), cause
    assert cause.mend.startswith("none, if alpha is to begin at 0")


@pytest.mark.parametrize("engine", ENGINES)
def test_an_input_that_is_moved_by_its_gradient_has_overwritten_nothing(tmp_path: Path, engine: str) -> None:
    program = """\
import torch
w, x = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
(w * x).sum().backward()
moved = (x + 0.1 * x.grad.sign()).detach()
(w * moved).sum().backward()
"""
    assert why(graph_of(tmp_path, program, engine), "moved").verdict == "detached"


@pytest.mark.parametrize("engine", ENGINES)
def test_a_step_to_new_tensors_is_to_make_leaves_of_them(tmp_path: Path, engine: str) -> None:
    program = """\
import torch
w, x = torch.ones(2, requires_grad=True), torch.ones(4, 2)
params = [w]
for i in range(3):
    (x @ params[0]).pow(2).mean().backward()
    params = [(p - 0.1 * p.grad).detach() for p in params]
"""
    mend = "params = [(p - 0.1 * p.grad).detach().requires_grad_() for p in params]"
    cause = why(graph_of(tmp_path, program, engine), "w")
    assert (cause.verdict, cause.mend, cause.lines[-1][0].line) == ("detached", mend, 6)
    sound = program.replace(".detach()", ".detach().requires_grad_()")
    assert not any(one.is_wrong for one in why_all(graph_of(tmp_path, sound, engine)))


@pytest.mark.parametrize("engine", ENGINES)
def test_a_leaf_that_each_step_makes_anew_of_the_one_before_is_asked_about_once(tmp_path: Path, engine: str) -> None:
    program = """\
import torch
x, y = torch.arange(1.0, 4), torch.tensor([2.0, 4.0, 5.0])
theta = torch.zeros(2, requires_grad=True)
for step in range(4):
    loss = 0.0
    for a, b in zip(x, y):
        loss = loss + (theta[0] + theta[1] * a - b) ** 2
    (g,) = torch.autograd.grad(loss, theta)
    theta = (theta - 0.1 * g).detach().requires_grad_()
final = ((theta[0] + theta[1] * x - y) ** 2).mean()
final.backward()
"""
    causes = why_all(graph_of(tmp_path, program, engine))
    assert next(one.verdict for one in causes if one.name == "theta") == "ok"
    assert not [one for one in causes if one.is_wrong]


@pytest.mark.parametrize("engine", ENGINES)
def test_a_copy_that_requires_a_gradient_from_its_own_line_on_is_not_told_to_do_so_earlier(
    tmp_path: Path, engine: str
) -> None:
    program = """\
import torch
net = torch.nn.Linear(3, 1)
params = [p.detach().requires_grad_() for p in net.parameters()]
net(torch.ones(4, 3)).pow(2).mean().backward()
"""
    cause = why(graph_of(tmp_path, program, engine), "params[0]")
    assert (cause.verdict, [place.line for place, _ in cause.lines]) == ("no path", [3]), cause
    assert "requires_grad_()" not in cause.mend, cause


@pytest.mark.parametrize("engine", ENGINES)
def test_a_loss_that_each_step_computes_anew_is_no_leaf_that_was_overwritten(tmp_path: Path, engine: str) -> None:
    program = """\
import torch
w = torch.tensor(3.0, requires_grad=True)
for i in range(6):
    loss = w**4
    loss.backward()
    with torch.no_grad():
        w -= 0.5 * w.grad
    w.grad = None
loss = w**4
loss.backward()
"""
    (cause,) = why_all(graph_of(tmp_path, program, engine))
    assert (cause.name, cause.verdict, lines_of(cause)) == ("w", "nan", [4])
    assert "smaller learning rate" in cause.mend


@pytest.mark.parametrize("later", ["y = x * 5", "y = y + 1", "y = (y * 2).sum()"])
def test_a_result_whose_name_another_result_has_after_backward_is_no_leaf_that_was_overwritten(
    tmp_path: Path, later: str
) -> None:
    program = (
        f"import torch\nx = torch.tensor([1.0, 2.0], requires_grad=True)\ny = x * 2\n(y**2).sum().backward()\n{later}\n"
    )
    (cause,) = why_all(graph_of(tmp_path, program, "gviz"))
    assert (cause.name, cause.verdict) == ("x", "ok")


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    "update", ["w.data -= 0.1 * w.grad", "w.data = w.data - 0.1 * w.grad", "w.detach().sub_(w.grad)"]
)
def test_an_update_through_data_uses_a_gradient_as_one_in_no_grad_does(
    tmp_path: Path, update: str, engine: str
) -> None:
    program = "import torch\nw = torch.tensor(1.0, requires_grad=True)\nfor i in range(3):\n    ((w * 2 - 1) ** 2).backward()\n    "
    plain, cleared = (
        why(graph_of(tmp_path, f"{program}{update}{more}\n", engine), "w") for more in ("", "; w.grad = None")
    )
    assert (plain.verdict, plain.is_wrong) == ("not cleared", True)
    assert (cleared.verdict, "after the program had read it" in cleared.what) == ("cleared", True)


LOADED, READ = "net.load_state_dict(best)", "; log = net.weight.grad.norm()"

ENDS = {
    "nothing": ("", ""),
    "the best numbers": ("", LOADED),
    "the best numbers, with a log of gradients": (READ, LOADED),
    "other numbers, one by one": ("", "for key, one in net.named_parameters(): one.data.copy_(best[key])"),
    "new numbers": (READ, "net.reset_parameters()"),
    "new numbers by init": (READ, "torch.nn.init.trunc_normal_(net.weight)"),
}


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(("seen", "end"), ENDS.values(), ids=ENDS)
def test_numbers_that_are_loaded_after_a_training_are_no_use_of_a_gradient(
    tmp_path: Path, seen: str, end: str, engine: str
) -> None:
    begin = "import torch\nnet = torch.nn.Linear(3, 1)\nopt = torch.optim.SGD(net.parameters(), 0.1)\n"
    before, loop = "best = {key: one.clone() for key, one in net.state_dict().items()}\n", "for i in range(3):\n    "
    steps = {
        "opt.step(); net(torch.ones(2, 3)).sum().backward()": "call step() after backward()",
        "net(torch.ones(2, 3)).sum().backward(); opt.step()": "make the optimizer after line 4, where net.weight is made",
    }
    for again, (step, mend) in zip(("", "net = torch.nn.Linear(3, 1)\n"), steps.items(), strict=True):
        program = f"{begin}{again}{before}{loop}opt.zero_grad(); {step}{seen}\n{end}\n"
        cause = why(graph_of(tmp_path, program, engine), "net.weight")
        assert (cause.verdict, cause.is_wrong, cause.mend[: len(mend)]) == ("not used", True, mend)


@pytest.mark.parametrize("engine", ENGINES)
def test_an_update_that_is_copied_into_a_leaf_uses_the_gradient_that_the_program_has_read(
    tmp_path: Path, engine: str
) -> None:
    begin = "import torch\nw = torch.tensor(1.0, requires_grad=True)\nfor i in range(3):\n    ((w * 2 - 1) ** 2).backward()\n"
    for update in ("w.copy_(w - 0.1 * w.grad)", "w.data.copy_(w - 0.1 * w.grad)", "w.data = w - 0.1 * w.grad"):
        program = f"{begin}    with torch.no_grad(): {update}\n"
        assert why(graph_of(tmp_path, program, engine), "w").verdict == "not cleared"


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("end", ["", "net.load_state_dict({key: one + 0 for key, one in net.state_dict().items()})"])
def test_what_was_cut_off_is_not_freed_by_numbers_that_are_loaded_afterwards(
    tmp_path: Path, end: str, engine: str
) -> None:
    program = (
        "import torch\nnet = torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.Linear(3, 1))\ndef train():\n"
        "    mean = net(torch.ones(2, 3)).pow(2).mean()\n    loss = torch.tensor(mean.item(), requires_grad=True)\n"
        f"    loss.backward()\ntrain()\n{end}\n"
    )
    cause = why(graph_of(tmp_path, program, engine), "net.0.weight")
    assert (cause.verdict, cause.mend) == ("detached", "loss = mean")


GAN = """\
import torch
G, D = torch.nn.Linear(2, 2), torch.nn.Linear(2, 1)
opt_g, opt_d = (torch.optim.SGD(one.parameters(), 0.1) for one in (G, D))
z, real = torch.randn(4, 2), torch.randn(4, 2)
for i in range(3):
    {}
    opt_g.zero_grad()
    g_loss = -D(G(z)).mean()
    g_loss.backward()
    opt_g.step()
"""

STEPS_OF_D = {
    "sound": ("opt_d.zero_grad(); (D(G(z).detach()).mean() - D(real).mean()).backward(); opt_d.step()", False),
    "two losses": (
        "D.zero_grad(); D(G(z).detach()).mean().backward(); (-D(real).mean()).backward(); opt_d.step()",
        False,
    ),
    "clipped weights": (
        "D.zero_grad(); (D(G(z).detach()).mean() - D(real).mean()).backward(); opt_d.step(); D.weight.data.clamp_(-1, 1)",
        False,
    ),
    "a gradient of its own": (
        "(D(G(z).detach()).mean() - D(real).mean()).backward(); D.weight.grad = torch.ones(1, 2); opt_d.step()",
        False,
    ),
    "not cleared": ("(D(G(z).detach()).mean() - D(real).mean()).backward(); opt_d.step()", True),
    "not cleared between two steps": (
        "D.zero_grad(); D(real).mean().backward(); opt_d.step(); D(G(z).detach()).mean().backward(); opt_d.step()",
        True,
    ),
}


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(("step", "is_wrong"), STEPS_OF_D.values(), ids=STEPS_OF_D)
def test_a_sum_that_a_step_has_used_before_another_loss_came_is_not_cleared(
    tmp_path: Path, step: str, is_wrong: bool, engine: str
) -> None:
    cause = why(graph_of(tmp_path, GAN.format(step), engine), "D.weight")
    assert (cause.verdict, cause.is_wrong) == ("not cleared" if is_wrong else "accumulated", is_wrong), cause
    assert ([place.line for place, _ in cause.lines], "has used such a sum" in cause.what) == (
        [9, 6] if is_wrong else [9],
        is_wrong,
    )


TWICE = {
    "one optimizer": ("opt.zero_grad(); head(net(x)).sum().backward(); opt.step()\n    opt.step()", True),
    "cleared at the end": ("head(net(x)).sum().backward(); opt.step()\n    opt.step(); opt.zero_grad()", True),
    "two optimizers": (
        "opt.zero_grad(); head(net(x)).sum().backward(); opt.step()\n    both[1].step()",
        True,
    ),
    "several steps with one": ("opt.step() if i else head(net(x)).sum().backward()", False),
    "the second one against the first": (
        "opt.zero_grad(); head(net(x)).sum().backward(); opt.step(); [p.grad.neg_() for p in net.parameters()]\n    opt.step()",
        False,
    ),
    "of a class of its own": (
        "opt.zero_grad(); head(net(x)).sum().backward(); slow.step(); head(net(x)).sum().backward(); slow.step()",
        False,
    ),
    "of one that calls another": (
        "opt.zero_grad(); head(net(x)).sum().backward(); ahead.step(); ahead.zero_grad()",
        False,
    ),
    "of a frozen one, again and again": (
        "head.zero_grad(); head(net(x)).sum().backward(); both[1].step(); net.requires_grad_(False)",
        True,
    ),
    "of one that the loss leaves out": (
        "both[1].zero_grad() if i < 2 else head.zero_grad(); head(net(x) if i < 2 else x).sum().backward(); both[1].step()",
        True,
    ),
    "of a frozen one without a gradient": (
        "opt.zero_grad(); head(net(x)).sum().backward(); both[1].step(); net.requires_grad_(False)",
        False,
    ),
    "of one that has zeros": (
        "(head(net(x)) * 0 if i < 2 else head(x)).sum().backward(); both[1].step(); both[1].step()",
        False,
    ),
    "with a closure": ("both[0].step(lambda: (both[0].zero_grad(), y := head(net(x)).sum(), y.backward())[1])", False),
}

OPTIMIZERS = """\
class Slow(torch.optim.SGD):
    def step(self):
        super().step()
class Ahead(torch.optim.Optimizer):
    def __init__(self, base):
        super().__init__(base.param_groups, dict(lr=0.1))
        self.base = base
    def step(self):
        self.base.step()
        with torch.no_grad():
            net.weight.mul_(0.5)
slow, ahead = Slow(net.parameters(), 0.1), Ahead(torch.optim.SGD(net.parameters(), 0.1))
both = [torch.optim.LBFGS(net.parameters()), torch.optim.Adam(net.parameters(), 0.1)]
for i in range(4):
"""


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(("step", "is_twice"), TWICE.values(), ids=TWICE)
def test_a_gradient_that_each_pass_uses_for_two_steps_is_told(
    tmp_path: Path, step: str, is_twice: bool, engine: str
) -> None:
    program = LOOP.replace("for i in range(3):\n", OPTIMIZERS).format(step)
    cause = why(graph_of(tmp_path, program, engine), "net.weight")
    assert (cause.verdict == "stepped twice", cause.is_wrong or not is_twice) == (is_twice, True), cause
    if is_twice:
        number = next(at for at, line in enumerate(program.splitlines()[::-1]) if "step()" in line)
        assert lines_of(cause) == [len(program.splitlines()) - number]
        assert cause.mend == (
            "call step() once after each backward() that brings net.weight one, of the one optimizer that has it"
        )


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    ("begin", "end", "verdict"),
    [("", "; trainer.zero_grad()", "cleared"), ("net.zero_grad(); ", "", "ok"), ("", "", "not cleared")],
    ids=["cleared by the hook", "cleared before backward", "never cleared"],
)
def test_a_step_within_a_hook_uses_the_gradient_that_has_just_come(
    tmp_path: Path, begin: str, end: str, verdict: str, engine: str
) -> None:
    program = f"""\
import torch
net = torch.nn.Linear(3, 1)
trainers = {{p: torch.optim.SGD([p], lr=0.1) for p in net.parameters()}}
def hook(p):
    trainer = trainers[p]
    trainer.step(){end}
for p in net.parameters():
    p.register_post_accumulate_grad_hook(hook)
for i in range(4):
    {begin}net(torch.randn(8, 3)).pow(2).mean().backward()
"""
    causes = why_all(graph_of(tmp_path, program, engine))
    assert {cause.verdict for cause in causes} == {verdict}, causes


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("is_outlier", [True, False])
def test_a_number_of_the_data_that_is_too_large_is_not_told_as_growth(
    tmp_path: Path, is_outlier: bool, engine: str
) -> None:
    program = f"""\
import torch
torch.manual_seed(0)
net = torch.nn.Linear(2, 1)
opt = torch.optim.SGD(net.parameters(), {0.1 if is_outlier else 30.0})
data = [torch.randn(16, 2) for _ in range(25)]
data[-1][3] = {1e25 if is_outlier else 1.0}
for x in data:
    opt.zero_grad()
    (net(x) - x @ torch.tensor([[30.0], [-40.0]])).pow(2).mean().backward()
    opt.step()
"""
    cause = why(graph_of(tmp_path, program, engine), "net.weight")
    assert cause.verdict in ("nan", "inf")
    assert ("grow from one backward" in cause.mend) != is_outlier, cause


CLIPPED = {
    "before backward": ("opt.zero_grad()\n    {clip}\n    {loss}.backward(); opt.step()", True),
    "zeros before backward": ("opt.zero_grad(set_to_none=False)\n    {clip}\n    {loss}.backward(); opt.step()", True),
    "after the end": ("{loss}.backward(); opt.step(); opt.zero_grad()\n    {clip}", True),
    "in its place": ("opt.zero_grad(); {loss}.backward(); {clip}; opt.step()", False),
    "a part of it each time": (
        "opt.zero_grad()\n    for j in range(2): {clip}; {loss}.backward()\n    opt.step()",
        False,
    ),
    "of a layer that is used at times": (
        "opt.zero_grad(); ({loss} if i % 2 else net.bias.sum()).backward(); {clip}; opt.step()",
        False,
    ),
    "of zeros": ("opt.zero_grad(); ({loss} * 0).backward(); {clip}; opt.step()", False),
    "twice": ("opt.zero_grad(); {clip}; {loss}.backward(); {clip}; opt.step()", False),
    "after the step": ("opt.zero_grad(); {loss}.backward(); opt.step(); {clip}", True),
    "after the step, whose norm is kept": ("opt.zero_grad(); {loss}.backward(); opt.step(); norm = {clip}", True),
    "after the step, of the norm alone": ("opt.zero_grad(); {loss}.backward(); opt.step(); norm = {meter}", False),
    "after the step, of no effect": ("opt.zero_grad(); {loss}.backward(); opt.step(); {meter}", False),
    "between two steps": ("opt.zero_grad(); {loss}.backward(); opt.step(); {clip}; opt.step()", False),
    "between the steps of two optimizers": (
        "opt.zero_grad(); {loss}.backward(); both[0].step(); {clip}; both[1].step()",
        False,
    ),
    "of several batches": ("{loss}.backward()\n    if i % 2: {clip}; opt.step(); opt.zero_grad()", False),
    "of another one": ("head.zero_grad(); {loss}.backward(); opt.step(); net.zero_grad(); {clip}", True),
}


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(("step", "is_idle"), CLIPPED.values(), ids=CLIPPED)
def test_clipping_that_finds_no_gradient_is_told(tmp_path: Path, step: str, is_idle: bool, engine: str) -> None:
    clip = "nn.utils.clip_grad_norm_([*net.parameters(), *head.parameters()], 1.0)"
    meter = clip.replace("1.0", "float('inf')")
    both = "both = [torch.optim.SGD(one.parameters(), 0.1) for one in (net, head)]\nfor i in"
    program = LOOP.format(step.format(clip=clip, meter=meter, loss="head(net(x)).sum()")).replace("for i in", both)
    cause = why(graph_of(tmp_path, program, engine), "net.weight")
    assert (cause.verdict == "not clipped", cause.is_wrong) == (is_idle, is_idle or "* 0" in step), cause
    if is_idle:
        number = next(at for at, line in enumerate(program.splitlines(), 1) if "clip" in line)
        assert (lines_of(cause), cause.mend) == ([number], "clip between backward() and step()")


WRONG_TENSORS = {
    "without a graph": ("[p.detach() for p in net.parameters()]", True),
    "a deep copy": ("copy.deepcopy(net).parameters()", True),
    "new leaves": ("[p.detach().clone().requires_grad_() for p in net.parameters()]", True),
    "of another layer": ("nn.Linear(3, 3).parameters()", False),
    "of a frozen copy": ("copy.deepcopy(net).requires_grad_(False).parameters()", False),
}


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(("tensors", "is_copy"), WRONG_TENSORS.values(), ids=WRONG_TENSORS)
def test_an_optimizer_of_copies_is_told_beside_one_that_trains_the_rest(
    tmp_path: Path, tensors: str, is_copy: bool, engine: str
) -> None:
    program = LOOP.replace("*net.parameters(), *head", f"*{tensors}, *head").replace(
        "import torch", "import copy, torch", 1
    )
    graph = graph_of(tmp_path, program.format(CASES["sound"][0]), engine)
    cause = why(graph, "net.weight")
    assert (cause.verdict, cause.is_wrong) == (("not used", True) if is_copy else ("not trained", False)), cause
    assert ("give the optimizer net.weight itself" in cause.mend) == is_copy, cause
    assert why(graph, "head.weight").verdict == "ok"


CRITIC = """\
import torch
from torch import nn
torch.manual_seed(0)
G, C = nn.Linear(2, 2), nn.Linear(2, 1)
og, oc = torch.optim.SGD(G.parameters(), 0.1), torch.optim.SGD(C.parameters(), 0.1)
for i in range(3):
    oc.zero_grad()
    (C(G(torch.randn(8, 2)).detach()).mean() - C(torch.randn(8, 2)).mean()).backward()
    oc.step()
    og.zero_grad()
    (-C(G(torch.randn(8, 2))).mean()).backward()
"""


@pytest.mark.parametrize("engine", ENGINES)
def test_a_step_that_the_generator_lacks_takes_no_gradient_of_the_critic_away(tmp_path: Path, engine: str) -> None:
    graph = graph_of(tmp_path, CRITIC, engine)
    assert [why(graph, name).verdict for name in ("C.bias", "C.weight", "G.weight")] == [
        "ok",
        "accumulated",
        "not used",
    ]
    pair = "og, oc = torch.optim.SGD(G.parameters(), 0.1), torch.optim.SGD(C.parameters(), 0.1)"
    one = CRITIC.replace(pair, "og = oc = torch.optim.SGD([*G.parameters(), *C.parameters()], 0.1)")
    assert why(graph_of(tmp_path, one, engine), "C.bias").verdict == "taken away"


USED_UP = {
    "given to the optimizer": ("net.parameters()", "params", "params", True),
    "inside of a filter": ("filter(lambda p: p.requires_grad, net.parameters())", "params", "params", True),
    "by the first call": ("net.parameters()", "net.parameters()", "params", True),
    "a chain of two": ("__import__('itertools').chain(net.parameters(), head.parameters())", "params", "params", True),
    "an iterator of a list, by a filter": (
        "filter(lambda p: p.requires_grad, [*net.parameters()])",
        "params",
        "params",
        True,
    ),
    "a list": ("[*net.parameters()]", "params", "params", False),
    "a new one each time": ("net.parameters()", "params", "net.parameters()", False),
    "that gives nothing": ("iter([])", "net.parameters()", "(p for p in head.parameters() if p.grad)", False),
}


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("case", USED_UP)
def test_clipping_that_is_given_a_generator_which_is_used_up_is_told(tmp_path: Path, case: str, engine: str) -> None:
    params, own, clipped, is_idle = USED_UP[case]
    program = LOOP.replace("opt = torch.optim.SGD([*net.parameters(), *head.parameters()]", "params = {}; {}({}")
    step = f"nn.utils.clip_grad_norm_({clipped}, 1.0)\n    opt.step()"
    body = f"opt.zero_grad(); head(net(x)).pow(4).sum().backward()\n    {step}"
    code = program.format(params, "opt = torch.optim.SGD", own, body)
    cause = why(graph_of(tmp_path, code.replace("0.1", "0.001"), engine), "net.weight")
    mend = "give clip_grad_norm_ a list, as of list(model.parameters()): an iterator gives what it has once"
    assert (cause.verdict, cause.mend) == (("not clipped", mend) if is_idle else ("ok", "")), cause
    if is_idle:
        assert lines_of(cause) == [9]
        cause = why(graph_of(tmp_path, code.replace("0.1", "1e9"), engine), "net.weight")
        assert (cause.verdict, lines_of(cause)) == ("nan", [8, 9]), cause
        assert cause.mend.endswith(f"; besides, {mend}")


@pytest.mark.parametrize("engine", ENGINES)
def test_a_write_into_a_part_is_told_from_others_as_often_written(tmp_path: Path, engine: str) -> None:
    program = (
        "import torch\nenc, v = torch.nn.Linear(3, 4), torch.nn.Linear(4, 1)\nkeys = torch.tanh(enc(torch.randn(2, 5, 3)))\n"
        "total, seen = 0, torch.zeros(7)\nfor t in range(3):\n    context = (v(keys).softmax(1) * keys).sum(1)\n"
        "    keys[:, 0] = 0\n    total = total + context.sum()\n    seen.add_(1)\ntotal.backward()\n"
    )
    cause = why(graph_of(tmp_path, program, engine), "enc.weight")
    assert (cause.verdict, lines_of(cause)) == ("written in place", [10, 6, 7])
    assert cause.mend == "keys = keys.clone(); keys[:, 0] = 0"


@pytest.mark.parametrize("engine", ENGINES)
def test_a_chain_of_writes_in_place_is_told_where_one_has_written_what_the_one_before_had_saved(
    tmp_path: Path, engine: str
) -> None:
    program = """\
import torch
net = torch.nn.Linear(2, 3)
v = torch.tanh(net(torch.ones(4, 2)))
v.sigmoid_().mul_(2)
loss = v.sum()
loss.backward()
"""
    cause = why(graph_of(tmp_path, program, engine), "net.weight")
    assert "saved by sigmoid for backward" in cause.what
    assert (lines_of(cause), cause.mend) == ([6, 4], "v = v.sigmoid().mul(2)")
    cured = why(graph_of(tmp_path, program.replace("v.sigmoid_().mul_(2)", cause.mend), engine), "net.weight")
    assert cured.verdict == "ok"


ADAPTED = """\
import torch
from torch import nn
import torch.nn.functional as F
torch.manual_seed(0)
base, x = nn.Linear(32, 32).requires_grad_(False), torch.randn(4, 16, 32)
a, b = nn.Parameter({}(4, 32)), nn.Parameter(torch.zeros(32, 4))
opt = torch.optim.SGD([a, b], 0.1)
for i in range({}):
    opt.zero_grad()
    loss = (base(x) + F.linear(F.linear(x, a), b)).square().mean()
    loss.backward()
    {}
    opt.step()
"""


@pytest.mark.parametrize("engine", ENGINES)
def test_a_product_with_zeros_is_0_though_no_number_of_it_is_kept(tmp_path: Path, engine: str) -> None:
    both = graph_of(tmp_path, ADAPTED.format("torch.zeros", 3, ""), engine)
    for name, other in ("ab", "ba"):
        cause = why(both, name)
        assert (cause.verdict, cause.is_wrong, lines_of(cause)) == ("zero", True, [10, 6])
        assert cause.mend == f"the other factor is 0, as {other} is: give it other numbers"
    assert why(graph_of(tmp_path, ADAPTED.format("torch.randn", 3, ""), engine), "b").verdict == "ok"


@pytest.mark.parametrize("engine", ENGINES)
def test_what_no_step_changes_is_not_to_begin_at_0(tmp_path: Path, engine: str) -> None:
    first = why(graph_of(tmp_path, ADAPTED.format("torch.randn", 1, ""), engine), "a")
    assert (first.verdict, first.is_wrong) == ("zero", False)
    assert first.mend.startswith("none, if b is to begin at 0: a gradient comes to it, and a step changes it")
    left_out = why(graph_of(tmp_path, ADAPTED.format("torch.randn", 3, "").replace("[a, b]", "[a]"), engine), "a")
    assert (left_out.verdict, left_out.is_wrong) == ("zero", True)
    assert left_out.mend == "the other factor is 0, as b is, and no step changes it: give it to an optimizer"
    clipped = graph_of(tmp_path, ADAPTED.format("torch.randn", 3, "nn.utils.clip_grad_norm_([a, b], 0.0)"), engine)
    cause = why(clipped, "a")
    assert (cause.verdict, cause.is_wrong) == ("zero", True)
    assert cause.mend == "the other factor is 0, as b is: see what takes away the gradient that comes to it"
    assert why(clipped, "b").mend == "give clip_grad_norm_ a bound above 0"


AVERAGED = """\
import copy
import torch
from torch import nn
torch.manual_seed(0)
net, hyper, z, x = nn.Linear(3, 2), nn.Linear(1, 8), torch.ones(1), torch.randn(4, 3)
ema = copy.deepcopy(net).requires_grad_(False)
for i in range({}):
    ema.weight.add_(net.weight)
ema.weight.detach_()
opt = torch.optim.SGD([*net.parameters(), *hyper.parameters()], 0.1)
for i in range(4):
    opt.zero_grad()
    {}
    loss.backward()
    opt.step()
    {}
"""

LOSS, EACH = "loss = net(x).square().mean()", "for a, b in zip(ema.parameters(), net.parameters()): {}"

AVERAGES = {
    "lerp_": ("0", LOSS, EACH.format("a.lerp_(b, 0.1)"), True),
    "mul_ and add_": ("0", LOSS, EACH.format("a.mul_(0.9).add_(0.1 * b)"), True),
    "copy_": ("0", LOSS, EACH.format("a.copy_(b)"), True),
    "before backward": ("0", EACH.format("a.lerp_(b, 0.1)") + "\n    " + LOSS, "", True),
    "under no_grad": ("0", LOSS, "with torch.no_grad():\n        " + EACH.format("a.lerp_(b, 0.1)"), False),
    "detached": ("0", LOSS, EACH.format("a.lerp_(b.detach(), 0.1)"), False),
    "let go of": ("0", LOSS, EACH.format("a.lerp_(b, 0.1); a.detach_()"), False),
    "merged first": ("3", LOSS, "", False),
    "merged first, and kept": ("3", LOSS, "", False),
    "merged last": ("0", LOSS, "if i == 3: ema.weight.add_(net.weight); ema.weight.add_(net.weight)", False),
    "of a hypernetwork": (
        "0",
        "ema.weight.detach_().copy_(hyper(z)[:6].view(2, 3))\n    loss = (ema(x) + net(x)).square().mean()",
        "",
        False,
    ),
}


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("case", AVERAGES)
def test_a_moving_average_that_is_recorded_is_told(tmp_path: Path, case: str, engine: str) -> None:
    *parts, is_kept = AVERAGES[case]
    program = AVERAGED.format(*parts).replace("ema.weight.detach_()\nopt", "opt" if "kept" in case else "\nopt")
    causes = {one.name: one for one in why_all(graph_of(tmp_path, program, engine))}
    assert {name for name, one in causes.items() if one.verdict == "graph kept"} == (
        {"ema.weight", "ema.bias"} if is_kept else set()
    )
    if is_kept:
        cause = why(graph_of(tmp_path, program, engine), "ema.weight")
        number, line = next((at, one) for at, one in enumerate(program.splitlines(), 1) if "in zip" in one)
        assert (cause, lines_of(cause)) == (causes["ema.weight"], [number])
        assert cause.mend == f"with torch.no_grad(): {line.partition('): ')[2]}"
        cured = program.replace(line.strip(), f"with torch.no_grad():\n        {line.strip()}")
        assert not [one for one in why_all(graph_of(tmp_path, cured, engine)) if one.verdict == "graph kept"]


PAIR = """\
import torch
from torch import nn
torch.manual_seed(0)
net, judge = nn.Linear(3, 2), nn.Linear(2, 1)
opt, opt_judge = torch.optim.SGD(net.parameters(), 0.1), torch.optim.SGD(judge.parameters(), 0.1)
x, real = torch.randn(4, 3), torch.randn(4, 2)
"""
"""Two models, each with an optimizer of its own."""

IN_TURN = """\
for i in range(3):
    fake = net(x)
    opt.zero_grad()
    loss = judge({}).square().mean()
    loss.backward()
    opt.step()
    opt_judge.zero_grad()
    loss_judge = (judge(fake.detach()) - judge(real)).mean()
    loss_judge.backward()
    opt_judge.step()
"""

IN_PHASES = """\
for i in range(3):
    opt.zero_grad()
    loss = net(x).square().mean(){}
    loss.backward()
    opt.step()
with torch.no_grad():
    codes = net(x)
for i in range(3):
    opt_judge.zero_grad()
    loss = judge(codes).square().mean()
    loss.backward()
    opt_judge.step()
"""

CUTS_OF_ITS_TURN = {
    "in turn": (IN_TURN.format("fake"), IN_TURN.format("torch.tensor(fake.tolist())"), [11, 12]),
    "in phases": (
        IN_PHASES.format(""),
        IN_PHASES.format(".detach().requires_grad_()"),
        [10, 11],
    ),
}


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(("sound", "cut_off", "lines"), CUTS_OF_ITS_TURN.values(), ids=CUTS_OF_ITS_TURN)
def test_what_cuts_a_model_off_from_the_loss_of_another_optimizer_is_not_blamed(
    tmp_path: Path, sound: str, cut_off: str, lines: list[int], engine: str
) -> None:
    assert not [one for one in why_all(graph_of(tmp_path, PAIR + sound, engine)) if one.is_wrong]
    causes = {one.name: one for one in why_all(graph_of(tmp_path, PAIR + cut_off, engine))}
    cause = causes["net.weight"]
    assert (cause.verdict, lines_of(cause)) == ("no gradient", lines)
    assert f"--until {lines[-1]} " in cause.mend
    assert not causes["judge.weight"].is_wrong
    (tmp_path / "train.py").write_text(PAIR + cut_off)  # and what the mend says tells the cut
    options = SourceOptions(diagnose=True, engine=engine, until=str(lines[-1]))
    earlier = package.read(tmp_path / "train.py", options, rootless=True).graph
    assert "was cut off by" in why(earlier, "net.weight").what


@pytest.mark.parametrize("engine", ENGINES)
def test_a_model_that_its_own_turns_train_has_lost_nothing_of_the_turn_of_one_that_is_cut_off(
    tmp_path: Path, engine: str
) -> None:
    turns = (
        "for i in range(3):\n    fake = net(x).detach()\n    loss_judge = (judge(fake) - judge(real)).mean()\n"
        "    loss_judge.backward()\n    opt_judge.step()\n    loss = judge(fake).mean()\n    opt.zero_grad()\n"
        "    loss.backward()\n    opt.step()\n    opt_judge.zero_grad()\n"
    )
    causes = {one.name: one for one in why_all(graph_of(tmp_path, PAIR + turns, engine))}
    assert (causes["judge.weight"].verdict, causes["net.weight"].verdict) == ("cleared", "detached")
    unused = turns.replace("    opt.step()\n", "")
    causes = {one.name: one for one in why_all(graph_of(tmp_path, PAIR + unused, engine))}
    assert causes["judge.weight"].verdict == "taken away"


@pytest.mark.parametrize("engine", ENGINES)
def test_of_a_root_without_a_graph_a_frozen_model_of_an_optimizer_is_told_beside_what_cuts_another_off(
    tmp_path: Path, engine: str
) -> None:
    steps = (
        "for one in judge.parameters():\n    one.requires_grad = False\n"
        "with torch.no_grad():\n    action = net(x)\n"
        "loss_judge = judge(action).mean()\nloss_judge.backward()\nopt_judge.step()\n"
    )
    causes = {one.name: one for one in why_all(graph_of(tmp_path, PAIR + steps, engine))}
    assert lines_of(causes["net.weight"]) == [12, 10]
    assert causes["net.weight"].mend.startswith(
        "if loss_judge is to train net.weight: take the line, and what is computed from it there, out of"
    )
    assert (causes["judge.weight"].verdict, lines_of(causes["judge.weight"])) == ("frozen root", [12, 8])
    assert causes["judge.weight"].mend.startswith("if loss_judge is to train judge.weight: ")


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    ("trained", "wrong"),
    [
        ("net.parameters()", {"net.weight", "net.bias", "loss"}),
        ("[*net.parameters(), *ema.parameters()]", {"net.weight", "net.bias", "ema.weight", "ema.bias", "loss"}),
    ],
)
def test_a_frozen_copy_in_place_of_the_model_is_at_fault_if_an_optimizer_has_it(
    tmp_path: Path, trained: str, wrong: set[str], engine: str
) -> None:
    program = (
        "import copy\nimport torch\nnet = torch.nn.Linear(3, 1)\nema = copy.deepcopy(net).requires_grad_(False)\n"
        f"opt = torch.optim.SGD({trained}, 0.1)\nfor i in range(2):\n    loss = ema(torch.ones(2, 3)).pow(2).mean()\n"
        "    opt.zero_grad()\n    loss.backward()\n    opt.step()\n    with torch.no_grad():\n"
        "        for a, b in zip(ema.parameters(), net.parameters()):\n            a.lerp_(b, 0.1)\n"
    )
    causes = {one.name: one for one in why_all(graph_of(tmp_path, program, engine))}
    assert {one.name for one in causes.values() if one.is_wrong} == wrong
    if "ema.weight" not in wrong:
        assert causes["ema.weight"].verdict == "frozen"
        assert causes["loss"].mend == "use net.weight where loss is computed"
        sound = graph_of(tmp_path, program.replace("= ema(", "= net("), engine)
        assert not any(one.is_wrong for one in why_all(sound))


ZERO_FACTORS = """\
import torch
from torch import nn
a = nn.Parameter(torch.zeros(4, 2))
b = nn.Parameter(torch.ones(2, SIZE))
nn.init.zeros_(b)
opt = torch.optim.OPTIMIZER([a, b], lr=0.1, weight_decay=0.1)
for i in range(3):
    opt.zero_grad()
    loss = (torch.ones(8, 4) @ a @ b).sub(1).pow(2).mean()
    loss.backward()
    opt.step()
"""


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("size", [2, 300])
@pytest.mark.parametrize("optimizer", ["SGD", "AdamW"])
def test_a_step_that_leaves_a_zero_as_it_was_is_not_told_as_what_has_written_it(
    tmp_path: Path, optimizer: str, size: int, engine: str
) -> None:
    program = ZERO_FACTORS.replace("OPTIMIZER", optimizer).replace("SIZE", str(size))
    graph = graph_of(tmp_path, program, engine)
    assert [lines_of(why(graph, name)) for name in "ab"] == [[9, 5], [9, 3]]
    late = program.replace("nn.init.zeros_(b)", "") + "    with torch.no_grad(): b.mul_(0)\n"
    assert lines_of(why(graph_of(tmp_path, late, engine), "a")) == [9, 12]


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("clear", ["opt.zero_grad()", "opt.zero_grad(set_to_none=False)"])
def test_a_sum_that_each_step_uses_is_not_cleared_though_it_is_gone_at_the_end(
    tmp_path: Path, clear: str, engine: str
) -> None:
    begin = "import torch\nnet = torch.nn.Linear(3, 1)\nopt = torch.optim.SGD(net.parameters(), 0.1)\nfor epoch in range(2):\n"
    in_loop = "        (net(torch.ones(1, 3)).sum() * 2).backward()\n        opt.step()\n"
    wrong = f"{begin}    for i in range(2):\n{in_loop}    {clear}\n"
    cause = why(graph_of(tmp_path, wrong, engine), "net.weight")
    assert (cause.verdict, lines_of(cause)) == ("not cleared", [6, 7, 8])
    assert "its last step() has used such a sum" in cause.what
    right = f"{begin}    for i in range(2):\n{in_loop}        {clear}\n"
    assert why(graph_of(tmp_path, right, engine), "net.weight").verdict == "cleared"


ATTACK = """\
import torch
x, goal = torch.rand(3), torch.rand(3)
for i in range({}):
    x.requires_grad_(True)
    loss = (x - goal).square().sum()
    loss.backward()
    with torch.no_grad():
        x = x - 0.1 * x.grad.sign()
        x = x.clamp(0, 1)
"""


@pytest.mark.parametrize("engine", ENGINES)
def test_what_each_pass_makes_a_leaf_of_is_no_leaf_that_is_cut_off(tmp_path: Path, engine: str) -> None:
    cause = why(graph_of(tmp_path, ATTACK.format(3), engine), "x")
    assert (cause.verdict, cause.is_wrong, lines_of(cause)) == ("new leaf", False, [9])
    once = why(graph_of(tmp_path, ATTACK.format(1), engine), "x")
    assert (once.verdict, once.is_wrong) == ("new leaf", False)
    assert once.mend.startswith("none, if x is to get no further gradient; else "), "nothing tells whether it is"


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(("end", "is_wrong"), [("print(net(x).argmax(1))", False), ("x = x + x.grad.sign()", True)])
def test_an_input_that_is_moved_once_along_its_gradient_with_its_graph_is_no_fault(
    tmp_path: Path, end: str, is_wrong: bool, engine: str
) -> None:
    program = f"""\
import torch
net = torch.nn.Linear(3, 2)
x = torch.rand(4, 3, requires_grad=True)
net(x).logsumexp(1).sum().backward(retain_graph=True)
x = (x + 0.1 * x.grad.sign()).clamp(0, 1)
{end}
"""
    graph = graph_of(tmp_path, program, engine)
    own = [cause for cause in why_all(graph) if cause.name.startswith("x")]
    assert [(cause.verdict, cause.is_wrong) for cause in own] == [("overwritten", is_wrong)] * 2
    mend = "x = (x + 0.1 * x.grad.sign()).clamp(0, 1).detach().requires_grad_()"
    assert why(graph, "x").mend == ("" if is_wrong else "none, if x is to get no further gradient; else ") + mend


ADVERSARIAL = """\
import torch
torch.manual_seed(0)
net = torch.nn.Linear(3, 1)
opt = torch.optim.SGD(net.parameters(), 0.1)
x, y = torch.randn(4, 3), torch.randn(4, 1)
for i in range(3):
    {start}
    loss = (net(adv) - y).square().mean()
    loss.backward()
    {step}
    opt.zero_grad()
    loss = (net(adv) - y).square().mean()
    loss.backward()
    opt.step()
"""
STEPS = [
    "adv = adv.detach() + 0.1 * adv.grad.sign()",
    "adv = (adv + 0.1 * adv.grad.sign()).clamp(-1, 1).detach()",
    "with torch.no_grad(): adv = adv + 0.1 * adv.grad.sign()",
    "adv = adv + 0.1 * adv.grad.sign()",
]


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    ("start", "step"),
    [
        *(("adv = x.clone().requires_grad_()", step) for step in STEPS),
        *(("x.grad = None; adv = x.requires_grad_()", step) for step in STEPS[:3]),
    ],
)
@pytest.mark.parametrize("end", ["", "print({}['acc'])\n"])
def test_what_is_made_of_a_leaf_when_its_gradient_was_used_has_overwritten_nothing(
    tmp_path: Path, start: str, step: str, end: str, engine: str
) -> None:
    causes = why_all(graph_of(tmp_path, ADVERSARIAL.format(start=start, step=step) + end, engine))
    wrong = [cause for cause in causes if cause.is_wrong and not (end and cause.verdict == "failed")]
    assert not wrong


@pytest.mark.parametrize("engine", ENGINES)
def test_the_variable_of_a_loop_over_data_may_be_moved_and_that_over_parameters_may_not(
    tmp_path: Path, engine: str
) -> None:
    over_data = """\
import torch
net = torch.nn.Linear(3, 1).requires_grad_(False)
score = 0.0
for x in [torch.ones(2, 3), torch.zeros(2, 3)]:
    x.requires_grad = True
    net(x).square().mean().backward()
    x = (x + 0.1 * x.grad.sign()).detach()
    score += net(x).mean().item()
"""
    assert not [cause for cause in why_all(graph_of(tmp_path, over_data, engine)) if cause.is_wrong]
    over_parameters = """\
import torch
net = torch.nn.Linear(3, 1)
for i in range(2):
    net(torch.ones(2, 3)).square().mean().backward()
    for p in net.parameters():
        p = p.detach() - 0.1 * p.grad
    net.zero_grad()
"""
    cause = why(graph_of(tmp_path, over_parameters, engine), "net.weight")
    assert (cause.verdict, cause.is_wrong, lines_of(cause)) == ("overwritten", True, [6])


@pytest.mark.parametrize("engine", ENGINES)
def test_a_copy_of_a_model_is_not_blamed_for_what_its_forward_is_called_under(tmp_path: Path, engine: str) -> None:
    program = (
        "import copy\nimport torch\n"
        "class Net(torch.nn.Module):\n    def __init__(self):\n        super().__init__()\n"
        "        self.scale = torch.nn.Parameter(torch.ones(3))\n"
        "    def forward(self, x):\n        return x * self.scale.exp()\n"
        "net = Net()\nopt = torch.optim.SGD(net.parameters(), 0.1)\nx = torch.rand(4, 3)\n"
        "for i in range(2):\n    with torch.no_grad():\n        old = net(x)\n    opt.zero_grad()\n"
        "    loss = (net(x) - old + 1).square().mean()\n    loss.backward()\n    opt.step()\nkept = copy.deepcopy(net)\n"
    )
    cause = why(graph_of(tmp_path, program, engine), "kept.scale")
    assert (cause.verdict in ("new leaf", "not trained"), cause.is_wrong) == (True, False)


@pytest.mark.parametrize("engine", ENGINES)
def test_losses_that_are_kept_with_their_graphs_make_no_fault_of_the_leaf_of_each_pass(
    tmp_path: Path, engine: str
) -> None:
    program = (
        "import torch\nw, rate = torch.ones(3), torch.tensor(0.1, requires_grad=True)\n"
        "opt = torch.optim.SGD([rate], 0.01)\nlosses = []\nfor i in range(3):\n"
        "    w = w.detach().requires_grad_()\n    (g,) = torch.autograd.grad(w.square().sum(), w)\n"
        "    new = w - rate * g\n    loss = new.square().sum()\n    opt.zero_grad()\n    loss.backward()\n"
        "    opt.step()\n    losses.append(loss)\n    w = new\n"
    )
    graph = graph_of(tmp_path, program, engine)
    assert any(one.name == "leaf of losses[0]" for one in graph.tensors)
    assert not [one for one in why_all(graph) if one.is_wrong]


@pytest.mark.parametrize("engine", ENGINES)
def test_a_second_phase_that_steps_without_backward_is_told(tmp_path: Path, engine: str) -> None:
    phase = "for i in range(3):\n    opt_judge.zero_grad()\n    loss = judge(real).square().mean()\n    {}opt_judge.step()\n"
    program = PAIR.replace("net, judge = nn.Linear(3, 2), nn.Linear(2, 1)", "net = nn.Linear(3, 2)").replace(
        "opt, opt_judge = torch.optim.SGD(net.parameters(), 0.1), torch.optim.SGD(judge.parameters(), 0.1)",
        "opt = torch.optim.SGD(net.parameters(), 0.1)",
    )
    program += "for i in range(3):\n    opt.zero_grad(); net(x).square().mean().backward(); opt.step()\n"
    program += "judge = nn.Linear(2, 1)\nopt_judge = torch.optim.SGD(judge.parameters(), 0.1)\n"
    causes = {one.name: one for one in why_all(graph_of(tmp_path, program + phase.format(""), engine))}
    assert (causes["judge.weight"].verdict, lines_of(causes["judge.weight"])) == ("backward not run", [14, 9])
    assert not causes["net.weight"].is_wrong
    sound = graph_of(tmp_path, program + phase.format("loss.backward(); "), engine)
    assert not [one for one in why_all(sound) if one.is_wrong]


@pytest.mark.parametrize("engine", ENGINES)
def test_a_step_before_its_own_backward_and_after_another_one_is_told_with_both(tmp_path: Path, engine: str) -> None:
    early = (
        "for i in range(3):\n    opt_judge.zero_grad()\n    judge(real).square().mean().backward()\n    opt_judge.step()\n"
        "    loss = net(x).square().mean()\n    opt.zero_grad()\n    opt.step()\n    loss.backward()\n"
    )
    cause = why(graph_of(tmp_path, PAIR + early, engine), "net.weight")
    assert (cause.verdict, lines_of(cause)) == ("no gradient", [9, 13])
    assert cause.mend.startswith("call step() after loss's backward(), if that is to train net.weight; else gviz why ")


@pytest.mark.parametrize("engine", ENGINES)
def test_the_step_of_a_model_that_another_one_s_turn_has_brought_a_gradient_is_told_with_its_own_turn(
    tmp_path: Path, engine: str
) -> None:
    turns = (
        "for i in range(3):\n    opt_judge.zero_grad()\n    loss_judge = judge(real).square().mean()\n"
        "    loss_judge = torch.tensor(loss_judge.item(), requires_grad=True)\n    loss_judge.backward()\n"
        "    opt_judge.step()\n    opt.zero_grad()\n    loss = judge(net(x)).mean()\n    loss.backward()\n    opt.step()\n"
    )
    causes = {one.name: one for one in why_all(graph_of(tmp_path, PAIR + turns, engine))}
    assert (causes["judge.weight"].verdict, lines_of(causes["judge.weight"])) == ("no gradient", [11, 12])
    assert "--until 12 tells why" in causes["judge.weight"].mend
    assert not causes["net.weight"].is_wrong


@pytest.mark.parametrize("engine", ENGINES)
def test_a_loss_of_an_earlier_backward_that_was_made_a_leaf_is_told_with_what_has_cut_it_off(
    tmp_path: Path, engine: str
) -> None:
    turn = IN_TURN.format("fake").replace("    loss.backward()", "    {}loss.backward()")
    cure = "loss = torch.tensor(loss.item(), requires_grad=True)\n    "
    causes = {one.name: one for one in why_all(graph_of(tmp_path, PAIR + turn.format(cure), engine))}
    assert (causes["loss"].verdict, lines_of(causes["loss"]), causes["loss"].is_wrong) == ("false cure", [11], True)
    assert causes["loss"].mend == "leave line 11 out"
    assert causes["net.weight"].is_wrong
    assert not causes["judge.weight"].is_wrong
    split = (  # of the two backwards of a model in two parts the second one begins at what the first one came to
        "for i in range(3):\n    h = net(x)\n    cut = h.detach().requires_grad_()\n    opt.zero_grad()\n"
        "    opt_judge.zero_grad()\n    loss = judge(cut).square().mean()\n    loss.backward()\n"
        "    h.backward(cut.grad)\n    opt.step()\n    opt_judge.step()\n"
    )
    for sound in (turn.format(""), split):
        assert not [one for one in why_all(graph_of(tmp_path, PAIR + sound, engine)) if one.is_wrong]


@pytest.mark.parametrize("engine", ENGINES)
def test_a_loss_that_was_made_a_leaf_says_nothing_of_what_was_trained_before(tmp_path: Path, engine: str) -> None:
    program = """\
import torch
from torch import nn
torch.manual_seed(0)
net, probe, x = nn.Linear(3, 4), nn.Linear(4, 2), torch.randn(5, 3)
opt = torch.optim.SGD(net.parameters(), 0.1)
loss = net(x).pow(2).mean()
loss.backward()
opt.step()
{}probe_opt = torch.optim.SGD(probe.parameters(), 0.1)
with torch.no_grad():
    h = net(x)
wrong = probe(h).argmax(-1).float().mean().requires_grad_()
wrong.backward()
probe_opt.step()
"""
    for clearing, verdict in (("", "ok"), ("opt.zero_grad()\n", "cleared")):
        causes = {one.name: one for one in why_all(graph_of(tmp_path, program.format(clearing), engine))}
        assert (causes["net.weight"].verdict, causes["net.weight"].is_wrong) == (verdict, False), causes["net.weight"]
        assert {causes[name].verdict for name in ("probe.weight", "wrong")} == {"false cure"}


@pytest.mark.parametrize("engine", ENGINES)
def test_clipping_is_not_out_of_place_where_no_backward_brings_a_gradient(tmp_path: Path, engine: str) -> None:
    step = (
        "opt.zero_grad()\n    loss = head(net(x)).sum().detach().requires_grad_()\n    loss.backward()\n"
        "    nn.utils.clip_grad_norm_(net.parameters(), 1.0)\n    opt.step()\nnet.requires_grad_(False)"
    )
    causes = why_all(graph_of(tmp_path, LOOP.format(step), engine))
    assert not [one for one in causes if one.verdict == "not clipped"]
    assert [one.name for one in causes if one.is_wrong and one.verdict == "false cure" and one.name == "loss"]


@pytest.mark.parametrize("engine", ENGINES)
def test_a_gradient_that_autograd_cannot_compute_is_not_asked_of_what_has_no_part_in_it(
    tmp_path: Path, engine: str
) -> None:
    program = (
        "import torch\nw, rate = torch.ones(3), torch.tensor(0.1, requires_grad=True)\n"
        "opt = torch.optim.SGD([rate], 0.01)\n(g,) = torch.autograd.grad(w.square().sum(), w)\n"
        "(w - rate * g).sum().backward()\nopt.step()\n"
    )
    cause = why(graph_of(tmp_path, program, engine), "rate")
    assert (cause.verdict, lines_of(cause), "use rate" in cause.mend) == ("failed", [4], False)


@pytest.mark.parametrize("engine", ENGINES)
def test_the_graph_of_an_earlier_pass_is_no_other_way_for_a_gradient_that_is_0(tmp_path: Path, engine: str) -> None:
    program = (
        "import torch\nw, rate = torch.ones(3), torch.tensor(0.1, requires_grad=True)\n"
        "opt = torch.optim.SGD([rate], 0.01)\ndef fit(w):\n    for i in range(3):\n"
        "        w = w.detach().requires_grad_()\n        (g,) = torch.autograd.grad(torch.relu(w - 9).sum(), w)\n"
        "        new = w - rate.exp() * g\n        opt.zero_grad()\n        new.sum().backward()\n"
        "        opt.step()\n        w = new\nfit(w)\n"
    )
    cause = why(graph_of(tmp_path, program, engine), "rate")
    assert (cause.verdict, lines_of(cause), "requires_grad_" in cause.mend) == ("zero", [8], False)


@pytest.mark.parametrize("engine", ENGINES)
def test_what_empties_gradients_before_the_step_is_to_run_after_it(tmp_path: Path, engine: str) -> None:
    empty = "for p in opt.param_groups[0]['params']:\n        p.grad = None"
    body = "loss = head(net(x)).sum(); loss.backward()\n    {}\n    {}"
    cause = why(graph_of(tmp_path, LOOP.format(body.format(empty, "opt.step()")), engine), "net.weight")
    assert (cause.verdict, cause.mend.partition(";")[0]) == ("taken away", "run the lines 9 and 10 after step()")
    assert (
        why(graph_of(tmp_path, LOOP.format(body.format("opt.step()", empty)), engine), "net.weight").verdict
        == "cleared"
    )


@pytest.mark.parametrize("engine", ENGINES)
def test_a_gradient_that_is_lost_in_its_own_turn_is_not_asked_of_a_later_root(tmp_path: Path, engine: str) -> None:
    phases = (
        "for i in range(3):\n    net(x).square().mean().backward()\n    {}\n"
        "with torch.no_grad():\n    codes = net(x)\n"
        "for i in range(3):\n    opt_judge.zero_grad()\n    loss = judge(codes).mean()\n    loss.backward()\n"
        "    opt_judge.step()\n"
    )
    lost = graph_of(tmp_path, PAIR + phases.format("opt.zero_grad(); opt.step()"), engine)
    assert (why(lost, "net.weight").verdict, lines_of(why(lost, "net.weight"))) == ("taken away", [9])
    assert not why(lost, "judge.weight").is_wrong
    sound = graph_of(tmp_path, PAIR + phases.format("opt.step(); opt.zero_grad()"), engine)
    assert not [one for one in why_all(sound) if one.is_wrong]


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("kept", ["losses.append(loss)", "total = total + loss", "total += loss"])
def test_losses_of_earlier_passes_are_no_other_roots_to_detach_for(tmp_path: Path, kept: str, engine: str) -> None:
    step = (
        "h = net(x).detach()\n    loss = head(h).square().mean()\n    opt.zero_grad()\n    loss.backward()\n    opt.step()\n"
        f"    {kept}"
    )
    program = LOOP.format(step).replace("for i in", "losses, total = [], 0.0\nfor i in", 1)
    assert why(graph_of(tmp_path, program, engine), "net.weight").mend == "h = net(x)"


ROOTS = """\
import torch
from torch import nn
torch.manual_seed(0)
policy, critic = nn.Linear(3, 2), nn.Linear(3, 1)
opt, opt_v = torch.optim.SGD(policy.parameters(), 0.1), torch.optim.SGD(critic.parameters(), 0.1)
x = torch.randn(4, 3)
h = torch.tanh(policy(x))
for epoch in range(2):
    with torch.no_grad():
        value, old = critic(x), policy(x)
    pi_loss = {loss}
    {steps}
    v_loss = {v_loss}
    opt_v.zero_grad()
    v_loss.backward()
    opt_v.step()
"""

OF_ROOTS = {
    "the first fails, the first time": ({"loss": "policy(x).argmax() * value.mean()"}, (), "no derivative", "no_grad"),
    "all trained": ({}, (), "ok", "ok"),
    "each step before its backward": (
        {"steps": "opt.zero_grad(); opt.step(); pi_loss.backward()"},
        (),
        "not used",
        "ok",
    ),
    "so, asked at its root": (
        {"steps": "opt.zero_grad(); opt.step(); pi_loss.backward()"},
        ("pi_loss",),
        "not used",
        "ok",
    ),
    "the second fails": ({"v_loss": "(critic(x).detach() - old.mean()).pow(2).mean()"}, (), "ok", "detached"),
    "the first fails, the second time": ({"loss": "(h * value).mean()"}, (), "second backward", "ok"),
    "the first fails without a graph, the second time": (
        {"loss": "((policy(x).detach() if epoch else policy(x)) * value).mean()"},
        (),
        "detached",
        "ok",
    ),
}


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("case", OF_ROOTS)
def test_of_several_losses_each_parameter_is_told_what_its_own_has_brought_and_what_its_own_steps_used(
    tmp_path: Path, case: str, engine: str
) -> None:
    parts, roots, of_policy, of_critic = OF_ROOTS[case]
    sound = {
        "loss": "(policy(x) - old).exp().mean() * value.mean()",
        "steps": "opt.zero_grad(); pi_loss.backward(); opt.step()",
        "v_loss": "(critic(x) - old.mean()).pow(2).mean()",
    }
    (tmp_path / "train.py").write_text(ROOTS.format(**{**sound, **parts}))
    if engine == "torch":
        pytest.importorskip("torch")
    options = SourceOptions(diagnose=True, engine=engine, roots=roots)
    causes = {one.name: one for one in why_all(package.read(tmp_path / "train.py", options, rootless=True).graph)}
    verdicts = {name: cause.verdict for name, cause in causes.items() if name != "x"}
    assert verdicts == {
        "policy.weight": of_policy,
        "policy.bias": of_policy,
        "critic.weight": of_critic,
        "critic.bias": of_critic,
    }
    assert not causes["critic.weight"].mend.startswith("take")


IN_THREE_TURNS = """\
import torch
from torch import nn
torch.manual_seed(0)
actor, critic = nn.Linear(3, 2), nn.Linear(2, 1)
scale = torch.zeros(1, requires_grad=True)
opt, opt_critic = torch.optim.SGD(actor.parameters(), 0.1), torch.optim.SGD(critic.parameters(), 0.1)
opt_scale, x = torch.optim.SGD([scale], 0.1), torch.randn(4, 3)
for epoch in range(2):
    with torch.no_grad():
        target = actor(x)
    critic_loss = critic(target).square().mean()
    opt_critic.zero_grad()
    critic_loss.backward()
    opt_critic.step()
    for p in critic.parameters():
        p.requires_grad_(False)
    act = actor(x)
    loss = (critic(act) * scale.exp().detach()).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    for p in critic.parameters():
        p.requires_grad_(True)
    scale_loss = (scale * act.detach()).mean()
    opt_scale.zero_grad()
    scale_loss.backward()
    opt_scale.step()
"""
"""One that is frozen while another is trained through it, and a number that is trained by what the other has made."""

OF_THREE = {
    "sound": ("", "", "ok", "ok", "ok"),
    "the second without a graph": ("act = actor(x)", "act = actor(x).detach()", "detached", "ok", "detached"),
    "the first never thawed": ("requires_grad_(True)", "requires_grad_(False)", "ok", "frozen root", "ok"),
    "the third requires no gradient": ("zeros(1, requires_grad=True)", "zeros(1)", "ok", "ok", "frozen root"),
    "the second never cleared": ("    opt.zero_grad()\n", "", "not cleared", "ok", "ok"),
    "the second not given to its optimizer": (
        "SGD(actor.parameters()",
        "SGD([actor.weight]",
        "not trained",
        "ok",
        "ok",
    ),
}


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("case", OF_THREE)
def test_what_one_loss_lacks_is_not_told_of_what_another_has_trained(tmp_path: Path, case: str, engine: str) -> None:
    old, new, *verdicts = OF_THREE[case]
    program = IN_THREE_TURNS.replace(old, new, 1) if old else IN_THREE_TURNS
    graph = graph_of(tmp_path, program, engine)
    causes = [why(graph, name) for name in ("actor.bias", "critic.weight", "scale")]
    assert [cause.verdict for cause in causes] == verdicts
    if case == "the second without a graph":  # of the two that are cut off, either may be meant
        assert causes[2].mend == "if loss is to train scale: loss = (critic(act) * scale.exp()).mean()"


@pytest.mark.parametrize("engine", ENGINES)
def test_the_gradients_of_a_closure_are_to_be_emptied_within_it(tmp_path: Path, engine: str) -> None:
    head = "import torch\nfrom torch import nn\ntorch.manual_seed(0)\nnet = nn.Linear(3, 1)\n"
    text = (
        f"{head}opt = torch.optim.LBFGS(net.parameters())\nx, t = torch.randn(5, 3), torch.randn(5, 1)\n"
        "def closure():\n    {}loss = nn.functional.mse_loss(net(x), t)\n    loss.backward()\n    return loss\n"
        "for i in range(2):\n    opt.step(closure)\n"
    )
    cause = why(graph_of(tmp_path, text.format(""), engine), "net.weight")
    assert cause.verdict == "not cleared"
    assert cause.mend == "call zero_grad(), or net.weight.grad = None, in closure(), before each backward()"
    assert not why(graph_of(tmp_path, text.format("opt.zero_grad(); "), engine), "net.weight").is_wrong


@pytest.mark.parametrize("engine", ENGINES)
def test_backward_in_a_closure_is_to_be_called_on_what_that_returns_and_not_on_what_step_does(
    tmp_path: Path, engine: str
) -> None:
    program = (
        "import torch\nfrom torch import nn\nnet, x = nn.Linear(3, 1), torch.ones(5, 3)\n"
        "opt = torch.optim.LBFGS(net.parameters())\n"
        "def closure():\n    opt.zero_grad()\n    return net(x).pow(2).mean() + net.bias.pow(2).sum()\n"
        "last = opt.step(closure)\n"
    )
    cause = why(graph_of(tmp_path, program, engine), "net.weight")
    assert (cause.verdict, lines_of(cause)) == ("backward not run", [8])
    assert cause.mend == "in closure, which step() calls for the gradients, call backward() on what it returns"


@pytest.mark.parametrize("engine", ENGINES)
def test_a_model_of_which_a_copy_is_trained_under_its_name_is_no_new_leaf(tmp_path: Path, engine: str) -> None:
    program = (
        "import copy\nimport torch\ndef train(net, opt):\n    for i in range(2):\n        opt.zero_grad()\n"
        "        loss = net(torch.ones(2)).sum()\n        loss.backward()\n        opt.step()\n    return loss\n"
        "net = torch.nn.Linear(2, 1)\nloss = train(copy.deepcopy(net), torch.optim.SGD(net.parameters(), 0.1))\n"
    )
    assert why(graph_of(tmp_path, program, engine), "net.weight").verdict == "no path"


ROLLOUT = """\
import torch
from torch import nn
from torch.distributions import Categorical
torch.manual_seed(0)
actor, critic = nn.Linear(3, 2), nn.Linear(3, 1)
opt_a, opt_c = (torch.optim.SGD(one.parameters(), lr=0.1) for one in (actor, critic))
@torch.no_grad()
def rollout(obs):
    dist = Categorical(logits=actor(obs))
    act = dist.sample()
    return act, act.float() + 0.9 * critic(obs).squeeze(-1)
for step in range(3):
    obs = torch.randn(4, 3)
    act, value = rollout(obs)
    dist = Categorical(logits=actor(obs))
    actor_loss = -(dist.log_prob(act) * value).mean() - 0.01 * dist.entropy().mean()
    critic_loss = (critic(obs).squeeze(-1) - value).pow(2).mean()
    opt_a.zero_grad()
    actor_loss.backward()
    opt_a.step()
    opt_c.zero_grad()
    critic_loss.backward()
    opt_c.step()
"""


@pytest.mark.parametrize("engine", ENGINES)
def test_what_another_loss_trains_gets_no_mend_that_writes_on_a_name_of_two_meanings(
    tmp_path: Path, engine: str
) -> None:
    graph = graph_of(tmp_path, ROLLOUT, engine)
    cause = why(graph, "actor.weight")
    assert (cause.verdict, cause.is_wrong) == ("ok", False)
    assert cause.mend in ("", "none, unless critic_loss is to train it, too")
    assert "dist.detach()" not in str([one.text() for one in why_all(graph)])
    assert "dist.detach()" not in why(graph, "value").text()


FROZEN_BY_ALIAS = """\
import torch
from torch import nn
net = nn.Linear(3, 1)
ema = net.requires_grad_(False)
def criterion(model, x):
    return (model(x) - 1).pow(2).mean()
for step in range(8):
    loss = criterion(net, torch.ones(2, 3))
    loss.backward()
    if step % 8 == 7:
        v = criterion(ema, torch.ones(2, 3)).item()
        print(v)
"""


@pytest.mark.parametrize("engine", ENGINES)
def test_what_is_frozen_is_not_laid_to_a_number_that_a_line_takes_later(tmp_path: Path, engine: str) -> None:
    cause = why(graph_of(tmp_path, FROZEN_BY_ALIAS, engine), "net.weight")
    assert cause.verdict == "frozen root"
    assert {place.line for place, _ in cause.lines} == {4, 9}
    assert "item" not in cause.mend
    assert "v = " not in cause.mend


WITHOUT_BRACKETS = [
    ("loss = head(net(x)).sum()\n    opt.zero_grad()\n    loss.backward", "backward not run", [10], "loss.backward()"),
    (
        "loss = head(net(x)).sum()\n    opt.zero_grad\n    loss.backward()",
        "not cleared",
        [10, 11, 9],
        "opt.zero_grad()",
    ),
]


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("case", WITHOUT_BRACKETS)
def test_a_call_without_its_brackets_is_named(
    tmp_path: Path, case: tuple[str, str, list[int], str], engine: str
) -> None:
    """The line that names a method and calls nothing is the one to mend, and not the one that makes the loss."""
    body, verdict, lines, call = case
    cause = why(graph_of(tmp_path, LOOP.format(f"{body}\n    opt.step()"), engine), "net.weight")
    assert (cause.verdict, lines_of(cause), cause.mend) == (verdict, lines, f"{call}, with its brackets")
    mended = body.replace(call.removesuffix("()"), call).replace("()()", "()")
    assert why(graph_of(tmp_path, LOOP.format(f"{mended}\n    opt.step()"), engine), "net.weight").verdict == "ok"


def test_a_method_that_is_kept_under_a_name_is_called_by_that(tmp_path: Path) -> None:
    body = "loss = head(net(x)).sum(); back = loss.backward; opt.zero_grad(); back(); opt.step()"
    assert why(graph_of(tmp_path, LOOP.format(body), "gviz"), "net.weight").verdict == "ok"
    body = "loss = head(net(x)).sum(); back = loss.backward; opt.zero_grad(); opt.step()"
    assert "brackets" not in why(graph_of(tmp_path, LOOP.format(body), "gviz"), "net.weight").mend


def test_in_a_notebook_the_cell_of_a_call_without_brackets_is_not_guessed(tmp_path: Path) -> None:
    sources = "import torch\nw = torch.ones(2, requires_grad=True)", "loss = w.sum()\nloss.backward"
    cells = [{"cell_type": "code", "source": text, "outputs": [], "metadata": {}} for text in sources]
    (tmp_path / "net.ipynb").write_text(json.dumps({"cells": cells, "metadata": {}, "nbformat": 4}))
    graph = package.read(tmp_path / "net.ipynb", SourceOptions(diagnose=True), rootless=True).graph
    cause = why(graph, "w")
    assert cause.mend == "loss.backward(), with its brackets"
    assert all(place.cell for place, _ in cause.lines)


NETWORK = """\
import torch
from torch import nn
torch.manual_seed(0)
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body, self.head = nn.Linear(3, 3), nn.Linear(3, 1)
    def forward(self, x):
        return self.head(self.body(x))
net = Net()
opt = torch.optim.SGD(net.parameters(), 0.1)
{}
x = torch.randn(4, 3)
for i in range(3):
    opt.zero_grad(); net(x).sum().backward(); opt.step()
"""


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("net.head = nn.Linear(3, 1)", "net.head.weight"),
        ("net.head.weight = nn.Parameter(torch.ones(1, 3))", "net.head.weight"),
        ("net.head = nn.Sequential(nn.Tanh(), nn.Linear(3, 1))", "net.head.1.bias"),
        ("body = nn.Sequential(net.body); body.append(nn.Linear(3, 3)); net.body = body", "net.body.1.weight"),
    ],
)
def test_a_layer_put_in_after_its_optimizer_was_made_is_used_by_no_step(
    tmp_path: Path, line: str, name: str, engine: str
) -> None:
    causes = {one.name: one for one in why_all(graph_of(tmp_path, NETWORK.format(line), engine))}
    cause = causes[name]
    assert (cause.verdict, cause.is_wrong, lines_of(cause)) == ("not used", True, [11, 12]), cause
    assert f"make the optimizer after line 12, where {name} is put in" in cause.mend
    old = [one for one in causes.values() if one.name.startswith("net.body") and one.name != name]
    assert old
    assert not any(one.is_wrong for one in old if not one.name.startswith("net.body.1"))


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    ("line", "then", "verdict"),
    [
        ("net.head = nn.Linear(3, 1); opt = torch.optim.SGD(net.parameters(), 0.1)", "", "ok"),
        ("net.head = nn.Linear(3, 1); opt.add_param_group({'params': net.head.parameters()})", "", "ok"),
        ("net.head = nn.Linear(3, 1).requires_grad_(False)", "", "frozen"),
        ("net.head = net.head", "", "ok"),
        ("", "net.head = nn.Linear(3, 1); net(x).sum().backward()", "not trained"),  # which no step follows
        ("aside = nn.Linear(3, 1); net.head.register_forward_hook(lambda m, a, y: y + aside(a[0]))", "", "not trained"),
    ],
)
def test_a_layer_that_was_put_in_on_purpose_is_no_fault(
    tmp_path: Path, line: str, then: str, verdict: str, engine: str
) -> None:
    causes = {one.name: one for one in why_all(graph_of(tmp_path, NETWORK.format(line) + then, engine))}
    assert causes["aside.weight" if "aside" in line else "net.head.weight"].verdict == verdict
    assert not any(one.is_wrong for one in causes.values()), causes


SCALED = NETWORK.replace("{}", "scaler = torch.amp.GradScaler('cpu', init_scale={})").replace(
    "opt.zero_grad(); net(x).sum().backward(); opt.step()",
    "opt.zero_grad(); scaler.scale(net(x).sum()).backward(); {}; scaler.step(opt); scaler.update()",
)


@pytest.mark.torch
@pytest.mark.parametrize(
    ("scale", "clip", "expected"),
    [
        (1024.0, "nn.utils.clip_grad_norm_(net.parameters(), 1.0)", ("not clipped", True, [15])),
        (1024.0, "nn.utils.clip_grad_value_(net.parameters(), 1.0)", ("not clipped", True, [15])),
        (1024.0, "scaler.unscale_(opt); nn.utils.clip_grad_norm_(net.parameters(), 1.0)", ("ok", False, [15])),
        (1024.0, "net.body.weight.grad", ("ok", False, [15])),
        (1024.0, "nn.utils.clip_grad_norm_(net.parameters(), float('inf'))", ("ok", False, [15])),  # for a log
        (1.0, "nn.utils.clip_grad_norm_(net.parameters(), 1.0)", ("ok", False, [15])),
        (
            1024.0,
            "nn.utils.clip_grad_norm_(net.parameters(), scaler.get_scale())",
            ("not clipped", False, [15]),  # a bound that is multiplied, too
        ),
    ],
)
def test_gradients_are_clipped_before_they_are_divided_by_the_scale_of_the_loss(
    tmp_path: Path, scale: float, clip: str, expected: tuple[str, bool, list[int]]
) -> None:
    graph = graph_of(tmp_path, SCALED.format(scale, clip), "torch")
    for cause in (why(graph, name) for name in ("net.body.weight", "net.head.bias")):
        assert (cause.verdict, cause.is_wrong, lines_of(cause)) == expected, cause
        assert cause.mend.startswith("call unscale_()") == cause.is_wrong


MEANT = {
    "embeddings that an attack moves": (
        (
            "opt.zero_grad(); head(net(x)).sum().backward(); old = net.weight.data.clone(); net.weight.data.add_(net.weight.grad)\n"
            "    head(net(x)).sum().backward(); net.weight.data = old; opt.step()"
        ),
        ("accumulated", "it was not empty when the last one began", "none, if the sum is meant"),
    ),
    "weights that are moved in place": (
        (
            "opt.zero_grad(); head(net(x)).sum().backward(); old = net.weight.detach().clone()\n"
            "    with torch.no_grad(): net.weight.add_(0.1 * net.weight.grad)\n"
            "    head(net(x)).sum().backward()\n    with torch.no_grad(): net.weight.copy_(old)\n    opt.step()"
        ),
        ("accumulated", "it was not empty when the last one began", "none, if the sum is meant"),
    ),
    "a decay that is given before": (
        "net.weight.grad = 0.01 * net.weight.detach(); head(net(x)).sum().backward(); opt.step()",
        ("accumulated", "is the sum of what backward has brought and of what line 8 has given it", ""),
    ),
    "a decay that is added after zero_grad()": (
        (
            "opt.zero_grad(set_to_none=False); (net.weight.grad.add_(net.weight.detach()) if i else None)\n"
            "    head(net(x)).sum().backward(); opt.step()"
        ),
        ("accumulated", "is the sum of what backward has brought and of what line 8 has given it", ""),
    ),
    "noise before each backward": (
        "net.weight.grad.normal_(0, 1) if i else None; head(net(x)).sum().backward(); opt.step()",
        ("accumulated", "is the sum of what backward has brought and of what line 8 has given it", ""),
    ),
    "given once, and never cleared": (
        "exec('if not i: net.weight.grad = torch.ones(3, 3)'); head(net(x)).sum().backward(); opt.step()",
        ("not cleared", "though net.weight had been updated with it by then", "call zero_grad()"),
    ),
    "a line search": (
        (
            "opt.zero_grad(); head(net(x)).sum().backward(); g, old = net.weight.grad.norm(), net.weight.detach().clone(); opt.step()\n"
            "    with torch.no_grad(): net.weight.copy_(old)\n    opt.step()"
        ),
        ("ok", "has a gradient", ""),
    ),
}


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("case", MEANT)
def test_what_a_program_writes_between_two_backwards_is_no_step(tmp_path: Path, case: str, engine: str) -> None:
    body, (verdict, what, mend) = MEANT[case]
    cause = why(graph_of(tmp_path, LOOP.format(body), engine), "net.weight")
    assert (cause.verdict, cause.is_wrong) == (verdict, verdict == "not cleared"), cause
    assert what in cause.what, cause
    assert cause.mend.startswith(mend), cause
    assert bool(cause.mend) == bool(mend)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(("skipped", "is_wrong"), [("i > 3", False), ("i > 1", True)])
def test_a_last_step_that_is_left_out_is_no_fault_where_most_gradients_were_used(
    tmp_path: Path, skipped: str, is_wrong: bool, engine: str
) -> None:
    body = f"head(net(x)).sum().backward(); (None if {skipped} else opt.step()); opt.zero_grad()"
    cause = why(graph_of(tmp_path, LOOP.replace("range(3)", "range(5)").format(body), engine), "net.weight")
    assert (cause.verdict, cause.is_wrong) == ("taken away" if is_wrong else "cleared", is_wrong), cause
    if not is_wrong:
        assert "1 of the 5 that this backward() has brought went before a step() had used them" in cause.what
        assert (
            cause.mend == "none, if these steps are left out on purpose; else call zero_grad() after each step() alone"
        )


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("rate", [0.0, 0.1])
def test_a_group_that_alone_has_the_learning_rate_0_may_be_meant(tmp_path: Path, rate: float, engine: str) -> None:
    groups = f"[dict(params=net.parameters(), lr=0.0), dict(params=head.parameters(), lr={rate})]"
    program = LOOP.replace("[*net.parameters(), *head.parameters()]", groups)
    cause = why(
        graph_of(tmp_path, program.format("opt.zero_grad(); head(net(x)).sum().backward(); opt.step()"), engine),
        "net.weight",
    )
    assert (cause.verdict, cause.is_wrong) == ("not used", not rate), cause
    assert cause.mend.startswith("none, if its group is not to be trained; else see what") == bool(rate), cause


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("is_flat", [True, False])
def test_a_leaf_on_the_memory_of_an_optimizer_s_tensor_is_trained_with_it(
    tmp_path: Path, is_flat: bool, engine: str
) -> None:
    begin = "net, head = nn.Linear(3, 3), nn.Linear(3, 1)\nflat = torch.cat([net.weight.detach().flatten(), torch.ones(3)])\n"
    on_flat = "flat.grad = torch.zeros(12)\nnet.weight.data, net.weight.grad = (one[:9].view(3, 3) for one in (flat, flat.grad))\n"
    program = (
        LOOP.replace("net, head = nn.Linear(3, 3), nn.Linear(3, 1)\n", begin + on_flat * is_flat)
        .replace("[*net.parameters(), *head.parameters()]", "[flat, net.bias]")
        .format("flat.grad.zero_() if flat.grad is not None else None; head(net(x)).sum().backward(); opt.step()")
    )
    cause = why(graph_of(tmp_path, program, engine), "net.weight")
    assert (cause.verdict == "ok", "no optimizer has net.weight" in cause.what) == (is_flat, not is_flat), cause


IDLE = {
    "a learning rate of 0": (
        "[*net.parameters()], 0.0)",
        "had the learning rate 0, and changed nothing",
        "see what sets",
    ),
    "another network": (
        "[*net.parameters()], 0.1)\nnet = copy.deepcopy(net)",
        "no optimizer has net.weight",
        "make the optimizer after line 6, where net.weight is made",
    ),
}


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("zero_grad", ["zero_grad()", "zero_grad(set_to_none=False)"])
@pytest.mark.parametrize("case", IDLE)
def test_what_no_step_has_changed_is_told_wherever_gradients_are_cleared(
    tmp_path: Path, case: str, zero_grad: str, engine: str
) -> None:
    optimizer, what, mend = IDLE[case]
    program = (
        LOOP.replace("[*net.parameters(), *head.parameters()], 0.1)", optimizer)
        .replace("import torch\n", "import copy, torch\n")
        .format(f"net(x).sum().backward(); opt.step(); net.{zero_grad}")
    )
    cause = why(graph_of(tmp_path, program, engine), "net.weight")
    assert (cause.verdict, cause.is_wrong) == ("not used", True), cause
    assert "net.weight had a gradient, but " in cause.what
    assert what in cause.what
    assert cause.mend.startswith(mend), cause


CRITICS = """\
import torch
from torch import nn
torch.manual_seed(0)
actor, one, two = nn.Linear(3, 1), nn.Linear(1, 1), nn.Linear(1, 1)
actor_opt = torch.optim.SGD(actor.parameters(), 0.1)
critic_opt = torch.optim.SGD([*one.parameters(), *two.parameters()], 0.1)
scale = torch.ones((), requires_grad=True)
x, y = torch.randn(4, 3), torch.full((4, 1), -9.0)
for i in range(3):
    first, second = one(y), two(y)
    critic_loss = (first - y).pow(2).mean() + (second + 99).pow(2).mean()
    critic_opt.zero_grad()
    {}.backward()
    critic_opt.step()
    actor_loss = torch.min(one(actor(x)), two(actor(x)) + 1000).mean()
    actor_opt.zero_grad()
    actor_loss.backward()
    actor_opt.step()
    scale_loss = scale * 2
    scale_loss.backward()
"""


@pytest.mark.parametrize("engine", ENGINES)
def test_zeros_of_another_loss_do_not_hide_that_the_one_its_optimizer_steps_after_leaves_a_leaf_out(
    tmp_path: Path, engine: str
) -> None:
    graph = graph_of(tmp_path, CRITICS.format("(first - y).pow(2).mean()"), engine)
    for cause in (why(graph, name) for name in ("two.weight", "two.bias")):
        assert (cause.verdict, cause.is_wrong, lines_of(cause)) == ("no gradient", True, [13, 14]), cause
        assert cause.mend.endswith("--until 14 tells why, at that backward()")
    sound = why_all(graph_of(tmp_path, CRITICS.format("critic_loss"), engine))
    assert "no gradient" not in [one.verdict for one in sound]


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    ("critics", "listed"),
    [("one.parameters()", "actor.parameters()"), ("two.parameters()", "[*one.parameters(), actor.weight]")],
)
def test_of_two_optimizers_of_one_model_one_is_to_have_the_model_that_none_has(
    tmp_path: Path, critics: str, listed: str, engine: str
) -> None:
    program = CRITICS.format("critic_loss").replace(
        "actor_opt = torch.optim.SGD(actor", "actor_opt = torch.optim.SGD(one"
    )
    graph = graph_of(tmp_path, program.replace("[*one.parameters(), *two.parameters()]", critics), engine)
    assert f"else actor_opt = torch.optim.SGD({listed}, 0.1)" in why(graph, "actor.weight").mend


CUT_OFF = """\
import torch
from torch import nn
w = nn.Parameter(torch.tensor([1.0, 0.0, 2.0]))
log_probability = torch.log(w)
log_probability.clamp(max=1).mean().backward()
{}
a = torch.tensor(1.0, requires_grad=True)
loss = -(a * {}).mean()
loss.backward()
"""


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    ("line", "factor"), [("", "(log_probability.detach() - 2)"), ("target = log_probability.detach() - 2", "target")]
)
def test_of_a_constant_that_is_not_finite_the_result_is_told_that_it_was_cut_off_from(
    tmp_path: Path, line: str, factor: str, engine: str
) -> None:
    program = CUT_OFF.format(line, factor)
    mend = "gviz why SOURCE log_probability --root log_probability tells where that of log_probability began"
    assert why(graph_of(tmp_path, program, engine), "a").mend == mend
    origin = why(graph_of(tmp_path, program, engine, ("log_probability",)), "log_probability")
    assert (lines_of(origin), "log makes the first" in origin.what) == ([4], True), origin
    data = why(graph_of(tmp_path, CUT_OFF.format("target = torch.tensor([1.0, float('inf')])", "target"), engine), "a")
    assert "log_probability" not in data.mend


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    "made", ["x = x.clone().requires_grad_(True)", "x = torch.rand(8, 1, requires_grad=True)", "x = nn.Parameter(x)"]
)
def test_points_that_each_call_of_a_function_makes_anew_are_not_overwritten(
    tmp_path: Path, engine: str, made: str
) -> None:
    program = f"""\
import torch
from torch import nn
net = nn.Sequential(nn.Linear(1, 4), nn.Tanh(), nn.Linear(4, 1))
opt = torch.optim.SGD(net.parameters(), lr=0.1)
def residual(x):
    {made}
    u = net(x)
    return torch.autograd.grad(u.sum(), x, create_graph=True)[0] + u
for i in range(3):
    opt.zero_grad()
    loss = residual(torch.rand(8, 1)).pow(2).mean()
    loss.backward()
    opt.step()
    val = residual(torch.rand(8, 1)).abs().mean().item()
"""
    causes = why_all(graph_of(tmp_path, program, engine))
    assert [cause.name for cause in causes if cause.is_wrong] == []
    assert {cause.verdict for cause in causes if cause.name == "x"} <= {"new leaf", "not trained"}


@pytest.mark.parametrize("engine", ENGINES)
def test_points_that_only_derivatives_are_asked_of_need_no_optimizer(tmp_path: Path, engine: str) -> None:
    program = """\
import torch
net = torch.nn.Linear(1, 1)
x = torch.linspace(0, 1, 4).unsqueeze(1).requires_grad_(True)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for i in range(3):
    u = net(x) ** 2
    loss = (torch.autograd.grad(u.sum(), x, create_graph=True)[0] + u).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
"""
    cause = why(graph_of(tmp_path, program, engine), "x")
    assert (cause.verdict, cause.is_wrong) == ("not trained", False)
    assert cause.mend.startswith("none, if it is not to be trained, and nothing reads its .grad; else opt = ")


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("call", ["torch.autograd.grad(loss, {})", "loss.backward(inputs={})"])
@pytest.mark.parametrize("given", ["net.parameters()", "dict(net.named_parameters()).values()"])
def test_what_autograd_is_asked_for_may_be_listed_once_alone(
    tmp_path: Path, given: str, call: str, engine: str
) -> None:
    program = f"""\
import torch
net = torch.nn.Linear(2, 1)
for i in range(2):
    loss = net(torch.ones(3, 2)).pow(2).mean()
    grads = {call.format(given)} or [p.grad for p in net.parameters()]
    with torch.no_grad():
        for p, g in zip(net.parameters(), grads):
            p -= 0.1 * g
            p.grad = None
"""
    cause = why(graph_of(tmp_path, program, engine), "net.weight")
    assert cause.verdict in ("ok", "cleared"), cause
    assert "other tensors" not in cause.what


@pytest.mark.parametrize("engine", ENGINES)
def test_that_the_gradient_of_another_tensor_is_read_is_no_fault_of_one_that_the_program_writes_itself(
    tmp_path: Path, engine: str
) -> None:
    program = """\
import copy
import torch
net = torch.nn.Linear(2, 1)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
x = torch.ones(3, 2)
for i in range(2):
    opt.zero_grad()
    learner = copy.deepcopy(net)
    inner = torch.autograd.grad(learner(x).pow(2).mean(), learner.parameters())
    with torch.no_grad():
        for p, g in zip(learner.parameters(), inner):
            p.sub_(0.1 * g)
    loss = learner(x + 1).pow(2).mean()
    outer = torch.autograd.grad(loss, learner.parameters())
    for p, g in zip(net.parameters(), outer):
        p.grad = g if p.grad is None else p.grad + g
    opt.step()
"""
    graph = graph_of(tmp_path, program, engine)
    assert [why(graph, name).verdict for name in ("net.weight", "learner.weight")] == ["ok", "ok"]


@pytest.mark.parametrize("engine", ENGINES)
def test_of_what_torch_func_is_called_on_it_is_not_said_that_it_is_another_tensor(tmp_path: Path, engine: str) -> None:
    program = """\
import torch
net = torch.nn.Linear(3, 1)
params, x = dict(net.named_parameters()), torch.ones(4, 3)
def loss_of(params):
    return torch.func.functional_call(net, params, (x,)).pow(2).mean()
for i in range(2):
    grads = torch.func.grad(loss_of)(params)
    with torch.no_grad():
        for name in params:
            params[name] -= 0.1 * grads[name]
"""
    cause = why(graph_of(tmp_path, program, engine), "net.weight")
    assert cause.what == "nothing calls backward(): gradients come from line 7, which sets no .grad"
    assert not cause.is_wrong


@pytest.mark.parametrize("engine", ENGINES)
def test_a_network_made_anew_after_its_optimizer_is_not_used_though_another_network_is_trained(
    tmp_path: Path, engine: str
) -> None:
    program = """\
import torch
from torch import nn
x = torch.randn(4, 3)
gen, disc = nn.Linear(3, 2), nn.Linear(2, 1)
opt = torch.optim.SGD(gen.parameters(), lr=0.1)
opt_d = torch.optim.SGD(disc.parameters(), lr=0.1)
{}
for _ in range(3):
    opt_d.zero_grad()
    disc(gen(x).detach()).pow(2).mean().backward()
    opt_d.step()
    opt.zero_grad()
    loss = disc(gen(x)).mean()
    loss.backward()
    opt.step()
"""
    anew = why(graph_of(tmp_path, program.format("gen = nn.Linear(3, 2)"), engine), "gen.weight")
    assert (anew.verdict, anew.is_wrong, lines_of(anew)) == ("not used", True, [5, 7])
    assert not any(one.is_wrong for one in why_all(graph_of(tmp_path, program.format(""), engine)))


@pytest.mark.parametrize("engine", ENGINES)
def test_layers_that_a_function_lets_require_gradients_after_an_optimizer_took_those_that_did_are_not_used(
    tmp_path: Path, engine: str
) -> None:
    program = """\
import torch
from torch import nn
body, head = nn.Linear(3, 4), nn.Linear(4, 2)
body.requires_grad_(False)
opt = torch.optim.SGD([p for p in (*body.parameters(), *head.parameters()) {}], lr=0.1)
def thaw(module):
    for p in module.parameters():
        p.requires_grad = True
for epoch in range(3):
    if epoch == 1:
        thaw(body)
    opt.zero_grad()
    loss = head(body(torch.ones(5, 3))).pow(2).mean()
    loss.backward()
    opt.step()
"""
    late = why(graph_of(tmp_path, program.format("if p.requires_grad"), engine), "body.weight")
    assert (late.verdict, late.is_wrong, lines_of(late)) == ("not used", True, [5, 8])
    assert late.mend.startswith("make the optimizer after line 8, where body.weight comes to require a gradient")
    assert not why(graph_of(tmp_path, program.format(""), engine), "body.weight").is_wrong


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    ("optimized", "step", "mend"),
    [
        ("net.parameters(), lr=0.1", "opt.step()", ""),
        ("net.parameters(), lr=0.0", "opt.step()", "see what sets the learning rate"),
        ("net.parameters(), lr=0.1", "pass", "call step() of that one after backward()"),
        ("copy.deepcopy(net).parameters(), lr=0.1", "opt.step()", "give the optimizer net.weight itself"),
    ],
)
def test_a_gradient_that_the_program_writes_anew_is_to_be_used_like_any_other(
    tmp_path: Path, optimized: str, step: str, mend: str, engine: str
) -> None:
    program = f"""\
import copy, torch
net, x = torch.nn.Linear(3, 1), torch.ones(4, 3)
opt = torch.optim.SGD({optimized})
for i in range(3):
    opt.zero_grad()
    net.zero_grad()
    loss = (net(x) - 1).pow(2).mean()
    loss.backward()
    for p in net.parameters():
        p.grad = p.grad / p.grad.norm()
    {step}
"""
    cause = why(graph_of(tmp_path, program, engine), "net.weight")
    assert (cause.verdict, cause.is_wrong) == (("not used", True) if mend else ("ok", False))
    assert cause.mend.startswith(mend)


@pytest.mark.parametrize("engine", ENGINES)
def test_what_the_groups_of_an_optimizer_have_lost_is_not_used_by_its_steps(tmp_path: Path, engine: str) -> None:
    program = """\
import torch
net, x = torch.nn.Linear(3, 1), torch.ones(4, 3)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
opt.param_groups[0]["params"] = [p for p in net.parameters() if p.ndim < 2]
for i in range(3):
    opt.zero_grad()
    loss = (net(x) - 1).pow(2).mean()
    loss.backward()
    opt.step()
"""
    cause = why(graph_of(tmp_path, program, engine), "net.weight")
    assert cause.what == "net.weight has a gradient, but step() of an optimizer that has it was not called"
    assert "see that its param_groups still have the parameter" in cause.mend


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    ("line", "mend"),
    [
        ("z = torch.normal(h, torch.ones_like(h))", "z = h + torch.randn_like(h)"),
        ("z = h.round()", "z = h + (h.round() - h).detach()"),
        ("z = torch.floor(h)", "z = h + (h.floor() - h).detach()"),
    ],
)
def test_what_has_no_slope_on_one_of_two_ways_is_told_beside_the_gradient(
    tmp_path: Path, line: str, mend: str, engine: str
) -> None:
    body = f"""h = net(x)
    {line}
    loss = head(z).pow(2).sum() + h.pow(2).sum(); opt.zero_grad(); loss.backward(); opt.step()"""
    cause = why(graph_of(tmp_path, LOOP.format(body), engine), "net.weight")
    assert (cause.verdict, cause.is_wrong) == ("ok", False)
    assert "on another way, which may be meant, comes only 0: the derivative of" in cause.what
    assert cause.mend.startswith("none, unless net.weight is to be trained on that way, too: ")
    cured = why(graph_of(tmp_path, LOOP.format(body.replace(line, mend)), engine), "net.weight")
    assert (cured.verdict, cured.mend) == ("ok", "")


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("is_one_optimizer", [True, False])
def test_what_cuts_off_in_a_later_phase_all_that_its_optimizer_was_to_train_is_told(
    tmp_path: Path, is_one_optimizer: bool, engine: str
) -> None:
    optimizer = "opt = torch.optim.SGD([*net.parameters(), *head.parameters()], lr=0.1)"
    program = f"""\
import torch
from torch import nn
net, head, x = nn.Linear(3, 2), nn.Linear(2, 1), torch.ones(4, 3)
{optimizer}
for i in range(2):
    first = net(x).pow(2).mean()
    opt.zero_grad()
    first.backward()
    opt.step()
{"pass" if is_one_optimizer else optimizer}
for i in range(2):
    loss = (head(net(x).detach()) - 1).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
"""
    cause = why(graph_of(tmp_path, program, engine), "net.weight")
    if is_one_optimizer:  # which has trained it by the other loss, and may be there for both
        assert (cause.verdict, cause.is_wrong) == ("cleared", False)
    else:
        assert (cause.verdict, cause.is_wrong, lines_of(cause)) == ("detached", True, [12])
        assert cause.what.startswith("earlier steps have used gradients of net.weight, and those of its last optimizer")
        assert cause.mend == "loss = (head(net(x)) - 1).pow(2).mean()"
