"""``gviz.watch``: what a training does, measured while it runs, on gviz's engine and on the real PyTorch."""

from __future__ import annotations

import gc
import json
import pickle
import sys
import weakref
from collections.abc import Callable
from copy import deepcopy
from importlib import import_module
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import gviz
from gviz import GvizError
from gviz.graphs import Place
from gviz.training.log import MOST_ROWS, Log
from gviz.training.running import path_and_line

ENGINES = ["gviz.engine", pytest.param("torch", marks=pytest.mark.torch)]


@pytest.fixture(params=ENGINES)
def torch(request: pytest.FixtureRequest) -> Any:
    """An engine, always with the same random numbers."""
    engine: Any = pytest.importorskip(request.param)
    for name in ("nn", "nn.functional", "optim"):
        import_module(f"{request.param}.{name}")
    engine.manual_seed(0)
    return engine


def network(torch: Any, *layers: Any) -> Any:
    """A small network."""
    nn = torch.nn
    return nn.Sequential(*(layers or (nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))))


def batch(torch: Any) -> Any:
    """Sixteen inputs."""
    return torch.randn(16, 4)


def train(
    torch: Any,
    net: Any,
    *,
    steps: int = 12,
    lr: float = 0.05,
    loss_of: Callable[[Any], Any] = lambda y: (y**2).mean(),
    optimizer: Any = None,
    clears: bool = True,
    **options: Any,
) -> Log:
    """A loop, watched."""
    optimizer, x = optimizer or torch.optim.SGD(net.parameters(), lr=lr), batch(torch)
    with gviz.watch(net, **{"every": 1, **options}) as log:
        for _ in range(steps):
            if clears:
                optimizer.zero_grad()
            loss_of(net(x)).backward()
            optimizer.step()
    return log


def kinds(log: Log) -> list[str]:
    """The kinds of what was found."""
    return [one.kind for one in log.findings]


# ------------------------------------------------------------------ numbers
def test_the_numbers_are_those_that_one_computes_by_hand_at_each_step(torch: Any) -> None:
    net, x, by_hand = network(torch), batch(torch), {}
    optimizer = torch.optim.Adam(net.parameters(), lr=0.05)
    with gviz.watch(net, every=2) as log:
        for step in range(5):
            optimizer.zero_grad()
            loss = (net(x) ** 2).mean()
            loss.backward()
            before = {name: one.detach().clone() for name, one in net.named_parameters()}
            grads = {name: one.grad.norm().item() for name, one in net.named_parameters()}
            optimizer.step()
            for name, one in net.named_parameters():
                update = (one.detach() - before[name]).norm().item()
                by_hand[step, name] = loss.item(), grads[name], before[name].norm().item(), update
    assert [row.step for row in log.rows] == [0, 2, 4]
    assert log.steps == 5
    for row in log.rows:
        for name, norms in row.norms.items():
            assert (row.root, norms.grad, norms.weight, norms.update) == by_hand[row.step, name]
    assert json.loads(json.dumps(log.to_dict()))["parameters"]["0.weight"]["grad"] == [
        by_hand[step, "0.weight"][1] for step in (0, 2, 4)
    ]


def test_a_step_is_the_optimizer_s_however_often_backward_runs_for_it(torch: Any) -> None:
    net, x = network(torch), batch(torch)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    with gviz.watch(net, every=1) as log:
        for _ in range(3):
            optimizer.zero_grad()
            for part in x.split(4):
                (net(part) ** 2).mean().backward()
            grad = net[0].weight.grad.norm().item()
            optimizer.step()
    assert (log.by, log.steps) == ("optimizer", 3)
    assert log.rows[-1].norms["0.weight"].grad == grad
    assert not log.findings


def test_two_optimizers_share_a_step_until_one_of_them_begins_its_next(torch: Any) -> None:
    net, x = network(torch), batch(torch)
    first, last = (torch.optim.SGD(one.parameters(), lr=0.1) for one in (net[0], net[2]))
    with gviz.watch(net, every=1) as log:
        for step in range(4):
            net.zero_grad()
            (net(x) ** 2).mean().backward()
            first.step()
            if step % 2:
                last.step()
    assert log.steps == 4
    assert [len(row.norms) for row in log.rows] == [2, 4, 2, 4]


@pytest.mark.parametrize("fails", [False, True])
def test_the_step_of_an_optimizer_around_another_one_is_measured_as_a_whole(torch: Any, fails: bool) -> None:
    class Around(torch.optim.Optimizer):  # type: ignore[misc]
        def __init__(self, inner: Any) -> None:
            super().__init__(inner.param_groups, {"lr": 0.1})
            self.inner = inner
            self.slow = [one.detach().clone() for one in net.parameters()]

        def step(self, closure: None = None) -> None:
            if fails:
                raise RuntimeError
            self.inner.step()
            with torch.no_grad():
                for slow, one in zip(self.slow, net.parameters(), strict=True):
                    slow.add_(one - slow, alpha=0.5)
                    one.copy_(slow)

    net, moved = torch.nn.Linear(4, 1), []
    inner = torch.optim.SGD(net.parameters(), lr=0.1)
    optimizer = Around(inner)
    with gviz.watch(net, every=1) as log:
        for _ in range(3):
            inner.zero_grad()
            net(batch(torch)).pow(2).mean().backward()
            before = net.weight.detach().clone()
            try:
                optimizer.step()
            except RuntimeError:
                net(batch(torch)).pow(2).mean().backward()
                inner.step()  # which is no part of the other one's
            moved.append((before - net.weight.detach()).norm().item())
    assert log.steps == 3
    assert [row.norms["weight"].update for row in log.rows] == moved
    assert {rate for row in log.rows for rate in row.rates.values()} == {f"{'SGD' if fails else 'Around'}, lr=0.1"}


@pytest.mark.parametrize("each", [1, 2])
@pytest.mark.parametrize("kind", ["SGD", "SGD made before", "LBFGS"])
def test_an_optimizer_that_takes_the_place_of_another_begins_a_step(torch: Any, kind: str, each: int) -> None:
    net, x, other = network(torch), batch(torch), torch.nn.Linear(4, 1)
    watched, by_hand = torch.nn.ModuleList([net, other]), list[Any]()
    of_other = torch.optim.Adam(other.parameters(), lr=0.01)

    def loss() -> Any:
        optimizer.zero_grad()
        number = net(x).pow(2).mean() + other(x).pow(2).mean()
        number.backward()
        return number

    optimizers = [torch.optim.SGD(net.parameters(), lr=0.01) for _ in range(3)]
    with gviz.watch(watched, every=1) as log:
        for at in range(3):
            if kind != "SGD made before":
                optimizer = getattr(torch.optim, kind if at else "SGD")(net.parameters(), lr=0.01)
            else:
                optimizer, each = optimizers[at], 2  # with one step each they may be those of tasks that share a step
            for _ in range(each):
                of_other.zero_grad()
                before = net[0].weight.detach().clone()
                by_hand.append(loss().item())
                optimizer.step(*[loss] * (at > 0 and kind == "LBFGS"))
                of_other.step()
                by_hand[-1] = by_hand[-1], (before - net[0].weight.detach()).norm().item()
    measured = [(row.root, row.norms["0.0.weight"].update) for row in log.rows]
    assert log.steps == 3 * each
    assert [update for _, update in measured] == [update for _, update in by_hand]
    assert kind == "LBFGS" or measured == by_hand
    assert all("1.weight" in row.norms for row in log.rows)
    assert not log.findings
    assert not log.remarks


def test_the_states_of_optimizers_that_are_gone_are_not_kept(torch: Any) -> None:
    net, others = torch.nn.Linear(4, 1), list[Any]()
    with gviz.watch(net) as log:
        for _ in range(3):
            optimizer = torch.optim.Adam(net.parameters())
            others.append(weakref.ref(optimizer))
            for _ in range(2):
                optimizer.zero_grad()
                net(batch(torch)).sum().backward()
                optimizer.step()
        gc.collect()
        assert [one() is None for one in others] == [True, True, False]
    assert log.steps == 6


def test_parameters_that_an_optimizer_gets_are_measured_in_the_next_measured_step(torch: Any) -> None:
    net, x = network(torch), batch(torch)
    optimizer = torch.optim.SGD(net[2].parameters(), lr=0.05)
    with gviz.watch(net, every=5) as log:
        for step in range(6):
            if step == 3:
                net.append(torch.nn.Linear(1, 1))
                optimizer.add_param_group({"params": [*net[0].parameters(), *net[3].parameters()]})
            net.zero_grad()
            net(x).pow(2).mean().backward()
            grads = {name: one.grad.norm().item() for name, one in net.named_parameters()}
            optimizer.step()
    assert {name: one.grad for name, one in log.rows[-1].norms.items()} == grads
    assert not log.findings


def test_without_an_optimizer_each_backward_is_a_step(torch: Any) -> None:
    net, x = network(torch), batch(torch)
    with gviz.watch(net, every=1) as log:
        for _ in range(3):
            net.zero_grad()
            (net(x) ** 2).mean().backward()
            with torch.no_grad():
                for one in net.parameters():
                    one.sub_(0.1 * one.grad)
    assert (log.by, log.steps) == ("backward", 3)
    assert log.rows[-1].norms["2.bias"].grad == net[2].bias.grad.norm().item()
    assert log.rows[-1].norms["2.bias"].update is None


@pytest.mark.parametrize("kind", ["SGD", "LBFGS"])  # the latter calls it several times
def test_gradients_that_a_closure_computes_are_measured_within_the_step(torch: Any, kind: str) -> None:
    net, x = network(torch), batch(torch)
    optimizer = getattr(torch.optim, kind)(net.parameters(), lr=0.1)

    def closure() -> Any:
        optimizer.zero_grad()
        loss = (net(x) ** 2).mean()
        loss.backward()
        return loss

    with gviz.watch(net, every=1) as log:
        for _ in range(2):
            optimizer.step(closure)
    assert (log.steps, [row.step for row in log.rows]) == (2, [0, 1])
    assert log.rows[-1].norms["0.weight"].grad == net[0].weight.grad.norm().item()


def test_patterns_choose_parameters_and_modules(torch: Any) -> None:
    assert list(train(torch, network(torch), names="2.*").rows[0].norms) == ["2.weight", "2.bias"]
    assert list(train(torch, network(torch), names=["0", "*.bias"]).rows[0].norms) == ["0.weight", "0.bias", "2.bias"]


def test_a_parameter_that_is_tied_is_measured_by_each_of_its_names(torch: Any) -> None:
    net = torch.nn.ModuleDict({"encoder": torch.nn.Linear(4, 4), "decoder": torch.nn.Linear(4, 4)})
    net["decoder"].weight = net["encoder"].weight
    x, names = batch(torch), {"*": ["encoder.weight", "encoder.bias", "decoder.bias"]}
    names["decoder.*"] = ["decoder.weight", "decoder.bias"]
    for pattern, measured in names.items():
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        with gviz.watch(net, pattern, every=1) as log:
            for _ in range(3):
                optimizer.zero_grad()
                net["decoder"](net["encoder"](x)).pow(2).mean().backward()
                optimizer.step()
        assert [*log.rows[-1].norms] == measured
        assert not log.findings


def test_older_steps_are_thinned_out(torch: Any) -> None:
    log = Log(1)
    for step in range(5 * MOST_ROWS):
        log.row(step)
    assert len(log.rows) <= MOST_ROWS
    assert log.rows[0].step == 0
    assert [row.step for row in log.rows[-100:]] == list(range(5 * MOST_ROWS - 100, 5 * MOST_ROWS))
    assert log.is_thinned
    log.shapes, log.steps = {"weight": (1,)}, 5 * MOST_ROWS
    assert log.heading().endswith(" of them are kept, older ones thinned out: the table is of these")


# ------------------------------------------------------------------ what is not right
def test_nan_on_the_way_forward_is_traced_to_its_operation_line_and_operand(torch: Any) -> None:
    class Net(torch.nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.inner = network(torch)

        def forward(self, x: Any) -> Any:
            y = self.inner(x) * 0 - 1
            hidden = y.masked_fill(torch.ones(16, 1) > 0, -float("inf")).exp()  # an inf that comes to nothing
            return torch.log(y) + hidden

    log = train(torch, Net(), hunt=True)
    (finding,) = log.findings
    assert (finding.kind, finding.step, finding.operation) == ("not finite", 0, "log")
    line = next(n for n, text in enumerate(Path(__file__).read_text().splitlines(), 1) if "torch.log(y)" in text)
    assert finding.place.endswith(f"test_watch.py:{line}")
    assert finding.operand == "y is -1 in all 16 elements"


@pytest.mark.parametrize("is_written", [True, False])
def test_an_inf_in_the_input_is_named_though_a_later_layer_makes_nan_of_it(torch: Any, is_written: bool) -> None:
    net = network(torch, torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 1))
    x = batch(torch)
    if not is_written:
        x[0, 0] = float("inf")  # before anybody watches
    with gviz.watch(net, every=1, hunt=True) as log:
        if is_written:
            x[0, 0] = float("inf")
        with torch.no_grad():
            net[2].weight.fill_(1.0)
            net[0].weight[:, 0] = torch.tensor([1.0, -1.0] * 4)
            net[2].weight[0, 0] = 0.0
        net(x).sum().backward()
    (finding,) = log.findings
    layer = "a layer" if torch.__name__ == "gviz.engine" else "linear"
    assert finding.operation == layer
    start = f"{'setitem' if is_written else layer} at"
    assert f"; before that {start}" in finding.operand
    assert finding.operand.endswith("gives inf: it is called with inf" if is_written else "inf in 1 of 64 elements")


def test_nan_on_the_way_back_is_traced_to_its_operation_and_what_that_has_saved(torch: Any) -> None:
    log = train(torch, network(torch), hunt=True, loss_of=lambda y: torch.sqrt(y * 0).sum())
    (finding,) = log.findings
    assert (finding.step, finding.operation) == (0, "SqrtBackward0 (of sqrt)")
    assert "the loss was finite (0)" in finding.what
    assert "saved result is 0 in all 16 elements" in finding.operand


def test_nan_that_was_made_forward_and_came_into_gradients_alone_is_traced_to_where_it_was_made(torch: Any) -> None:
    rows = torch.arange(16) < 1

    def loss_of_others(y: Any) -> Any:
        weights = (y * torch.ones(1, 4)).masked_fill(rows[:, None], -float("inf")).softmax(1)
        return (weights @ y.transpose(0, 1)[:, :4].transpose(0, 1))[~rows].pow(2).mean()  # all but the first row

    (finding,) = train(torch, network(torch), hunt=True, loss_of=loss_of_others).findings
    assert "the loss was finite" in finding.what
    assert (finding.operation, finding.name) == ("softmax", "0.weight")
    assert "-inf in 4 of 64 elements, from masked_fill at" in finding.operand
    assert finding.operand.endswith("has saved self with nan")


@pytest.mark.parametrize("by", ["hook", "gradient"])
def test_nan_that_no_operation_has_made_is_not_laid_on_the_one_that_it_comes_to(torch: Any, by: str) -> None:
    net, x = network(torch), batch(torch)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    with gviz.watch(net, every=1, hunt=True) as log:
        y = net(x)
        y.register_hook(lambda grad: grad * float("nan")) if by == "hook" else None
        y.backward(torch.full_like(y, float("nan")) if by == "gradient" else torch.ones_like(y))
        optimizer.step()
    (finding,) = log.findings
    what = "the gradient that came is nan in 16 of 16 elements, from a hook, a sum of gradients, or what backward() was given"
    assert what in finding.what


@pytest.mark.torch
def test_of_float16_it_is_told_where_it_ends() -> None:
    torch: Any = pytest.importorskip("torch")
    torch.manual_seed(0)
    half = network(torch, torch.nn.Linear(4, 4)).half()
    with gviz.watch(half, every=1, hunt=True) as log:
        (half(batch(torch).half()) * 6e4 * 6e4).float().sum().backward()
    assert log.findings[0].operand.endswith("; the result is float16, which ends at 65504")


@pytest.mark.torch
def test_rows_that_a_sparse_gradient_leaves_out_count_as_zeros() -> None:
    torch: Any = pytest.importorskip("torch")
    table = torch.nn.Embedding(4, 2, sparse=True)
    optimizer = torch.optim.SGD(table.parameters(), lr=0.1)
    with gviz.watch(table, every=1) as log:
        (table(torch.tensor([0, 0])).sum()).backward()
        optimizer.step()
    assert log.rows[-1].norms["weight"].zeros == 0.75


def test_without_a_hunt_it_is_told_when_nan_came_and_on_which_way(torch: Any) -> None:
    (finding,) = train(torch, network(torch), loss_of=lambda y: torch.log(y * 0 - 1).sum()).findings
    assert "the loss was nan when backward() ran" in finding.what
    assert "with finite parameters: it came on the way forward, or with its inputs; hunt=True names" in finding.what
    (finding,) = train(torch, network(torch), loss_of=lambda y: torch.sqrt(y * 0).sum()).findings
    assert "it came on the way back, or was written after it; hunt=True names" in finding.what


@pytest.mark.parametrize("is_hunted", [False, True])
@pytest.mark.parametrize("is_cleared", [False, True])
def test_a_loss_whose_step_was_left_out_is_not_told_of_a_later_step(
    torch: Any, is_cleared: bool, is_hunted: bool
) -> None:
    net, x = torch.nn.Linear(4, 1), batch(torch)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
    with gviz.watch(net, every=1, hunt=is_hunted) as log:
        for step in range(4):
            optimizer.zero_grad() if is_cleared or step < 3 else None
            y = net(x)
            loss = (
                (y * float("inf")).abs().sum() if step == 2 else (y - y).abs().sum() if step == 3 else y.pow(2).mean()
            )
            loss.backward()
            if step == 3 and is_cleared:
                net.weight.grad[0] = float("nan")
            optimizer.step() if step != 2 else None
    (finding,) = log.findings
    assert finding.step == 2
    if is_cleared:
        assert "the loss was finite (0), but the gradient of weight has nan" in finding.what
        assert "or was written after it" in finding.what
        assert not finding.operation
    else:
        assert "the loss was inf when backward() ran" in finding.what
        assert finding.operation == ("mul" if is_hunted else "")


def test_what_the_program_writes_into_a_gradient_is_not_laid_on_backward(torch: Any) -> None:
    net, x = network(torch), batch(torch)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    with gviz.watch(net, "2", every=1, hunt=True) as log:
        (net(x) ** 2).mean().backward()
        net[2].weight.grad[0] = float("nan")
        optimizer.step()
    (finding,) = log.findings
    assert (finding.name, finding.operation) == ("2.weight", "")
    assert "or was written after it" in finding.what


@pytest.mark.parametrize("is_hunted", [False, True])
@pytest.mark.parametrize("at", [None, 0, 2])
def test_a_constant_mask_of_inf_is_not_blamed(torch: Any, at: int | None, is_hunted: bool) -> None:
    nn = torch.nn

    class Attention(nn.Module):  # type: ignore[misc,name-defined]
        def __init__(self) -> None:
            super().__init__()
            hidden = torch.full((4, 4), float("-inf")).triu(1)
            self.mask, self.layer = nn.Parameter(hidden, requires_grad=False), nn.Linear(4, 4)

        def forward(self, x: Any) -> Any:
            return (x @ self.layer(x).transpose(0, 1) + self.mask).softmax(-1) @ x

    net, steps = Attention(), iter(range(4))

    def loss(y: Any) -> Any:
        return (y.pow(2) * (float("nan") if next(steps) == at else 1.0)).mean()

    optimizer, x = torch.optim.Adam(net.parameters()), torch.randn(4, 4)
    with gviz.watch(net, every=1, hunt=is_hunted) as log:
        for _ in range(4):
            optimizer.zero_grad()
            loss(net(x)).backward()
            optimizer.step()
    assert [one.step for one in log.findings] == [at] * (at is not None)
    assert "mask" not in str(log.findings)
    assert not log.findings or is_hunted != ("it came on the way forward, or with its inputs" in log.findings[0].what)
    assert "finite parameters" not in str(log.findings)


def test_a_parameter_that_is_not_measured_is_blamed_too(torch: Any) -> None:
    net = network(torch)
    with torch.no_grad():
        net[0].weight[0, 0] = float("nan")
    (finding,) = train(torch, net, names="2", steps=1).findings
    assert "0.weight itself was not finite from the beginning" in finding.what


def test_a_parameter_that_a_step_has_made_infinite_is_named(torch: Any) -> None:
    log = train(torch, network(torch), steps=2, lr=1e38, loss_of=lambda y: (y * 1e3).sum(), hunt=True)
    assert log.findings[0].operation == "step"
    assert "though the gradients were finite" in log.findings[0].what


def test_a_parameter_that_is_not_finite_at_the_end_has_the_line_of_the_optimizer_that_has_it(torch: Any) -> None:
    one, other = network(torch), network(torch)
    with gviz.watch({"one": one, "other": other}) as log:
        (one(batch(torch)) * 1e3).sum().backward()
        other(batch(torch)).sum().backward()
        torch.optim.SGD(one.parameters(), lr=1e38).step()
        line = (
            Path(__file__).read_text().splitlines().index("        torch.optim.SGD(one.parameters(), lr=1e38).step()")
        )
        torch.optim.SGD(other.parameters(), lr=0.1).step()
    (finding,) = log.findings
    assert finding.what.startswith("one.")
    assert finding.place.endswith(f"test_watch.py:{line + 1}")


@pytest.mark.parametrize("is_hunted", [False, True])
@pytest.mark.parametrize("by", ["step", "program"])
def test_a_parameter_that_is_not_finite_has_the_line_of_the_last_step_or_none_if_that_has_left_it_finite(
    torch: Any, by: str, is_hunted: bool
) -> None:
    net = network(torch)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    with gviz.watch(net, hunt=is_hunted) as log:
        for _ in range(2):
            optimizer.zero_grad()
            net(batch(torch)).sum().backward()
            optimizer.step()
        optimizer.zero_grad()
        net(batch(torch)).sum().backward()
        optimizer.param_groups[0]["lr"] = float("inf") if by == "step" else 0.1
        optimizer.step()  # the last
        with torch.no_grad():
            net[0].weight.mul_(float("inf") if by == "program" else 1.0)
    (finding,) = log.findings
    line = Path(__file__).read_text().splitlines().index("        optimizer.step()  # the last") + 1
    assert (finding.name, finding.step) == ("0.weight", 2)
    if by == "program" and is_hunted:
        assert (
            finding.what
            == "0.weight has inf at the end, and had none after the last step(), though the gradients were finite"
        )
        assert not finding.place
    else:
        place = f"test_watch.py:{line}, though the gradients were finite"
        assert f"{'after' if is_hunted else 'at the end, after'} the step at " in finding.what
        assert finding.what.endswith(place)


@pytest.mark.parametrize("is_hunted", [False, True])
def test_a_loss_of_another_model_is_not_told_of_the_step_of_this_one(torch: Any, is_hunted: bool) -> None:
    net, other = network(torch), network(torch)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    with gviz.watch(net, every=1, hunt=is_hunted) as log:
        for step in range(5):
            optimizer.zero_grad()
            loss = net(batch(torch)).pow(2).mean()
            (loss * (float("nan") if step == 3 else 1.0)).backward()
            (other(batch(torch)).sum() * float("nan" if step == 1 else "1")).backward()
            optimizer.step()
    (finding,) = log.findings
    assert finding.step == 3


def test_steps_with_gradients_that_backward_has_not_brought_are_not_kept(torch: Any) -> None:
    net = network(torch)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    watch = gviz.watch(net)
    with watch as log:
        for _ in range(5):
            parameters = [*net.parameters()]
            grads = torch.autograd.grad((net(batch(torch)) ** 2).mean(), parameters)
            for one, grad in zip(parameters, grads, strict=True):
                one.grad = grad
            optimizer.step()
    assert log.steps == 5
    assert not log.findings
    assert len(watch.steps.stepped_since) == 1


def test_a_learning_rate_that_is_too_high_is_told_by_large_updates(torch: Any) -> None:
    log = train(torch, network(torch, torch.nn.Linear(4, 1)), lr=20.0, steps=3)
    assert kinds(log) == ["large update"]
    assert "with SGD, lr=20" in log.findings[0].what


def test_a_learning_rate_is_told_as_each_step_had_it(torch: Any) -> None:
    net = network(torch, torch.nn.Linear(4, 1))
    optimizer = torch.optim.SGD(net.parameters(), lr=20.0)
    schedule = torch.optim.lr_scheduler.ExponentialLR(optimizer, 2.0)
    with gviz.watch(net, every=1) as log:
        for _ in range(3):
            optimizer.zero_grad()
            net(batch(torch)).pow(2).mean().backward()
            optimizer.step()
            schedule.step()
    assert "with SGD, lr=20, then SGD, lr=40, then SGD, lr=80" in log.findings[0].what


def test_a_first_step_that_destroys_the_model_is_told(torch: Any) -> None:
    def saturated(y: Any) -> Any:
        return (y.sigmoid() - 0.3).pow(2).mean()

    found = {}
    for lr, scale in (
        (5.0, 1.0),
        (0.01, 1.0),
        (5.0, 0.0),
        (0.01, 1e-4),
    ):  # the last: of weights that are small at first
        net = network(torch, torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 1))
        with torch.no_grad():
            [one.mul_(scale) for one in net.parameters()]
        loss_of = saturated if scale == 1.0 else lambda y: (y - 1).pow(2).mean()
        log = train(torch, net, optimizer=torch.optim.Adam(net.parameters(), lr=lr), loss_of=loss_of, steps=3)
        found[lr, scale] = [(one.kind, one.step, one.name, one.what) for one in log.findings]
    ((kind, step, name, what),) = found.pop((5.0, 1.0))
    assert (kind, step, name) == ("large update", 0, "0.weight")
    assert what.startswith("each weight was changed by 1")
    assert what.endswith("times its norm, as 0.weight, or more, with Adam, lr=5")
    assert not any("each weight" in one[-1] for findings in found.values() for one in findings), found


def test_an_exploding_rnn_is_found_when_it_overflows_and_the_growth_is_told(torch: Any) -> None:
    weight = torch.nn.Linear(4, 4, bias=False)

    class Rnn(torch.nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.cell = weight

        def forward(self, x: Any) -> Any:
            for _ in range(30):
                x = self.cell(x) + x
            return x

    log = train(torch, Rnn(), lr=0.01, hunt=True)
    finding = log.findings[0]
    assert finding.kind == "not finite"
    assert "has grown from" in finding.what


def test_a_step_before_its_backward_is_told_though_that_of_another_loss_ran_last(torch: Any) -> None:
    model, other = network(torch, torch.nn.Linear(4, 1)), network(torch, torch.nn.Linear(4, 1))
    optimizer, its = (torch.optim.SGD(one.parameters(), lr=0.1) for one in (model, other))
    with gviz.watch({"model": model, "other": other}, every=1) as log:
        other(torch.ones(2, 4)).sum().backward()
        its.step()
        for _ in range(5):
            optimizer.zero_grad()
            optimizer.step()
            model(torch.ones(2, 4)).sum().backward()
            its.zero_grad()
            other(torch.ones(2, 4)).sum().backward()
            its.step()
    text = next(one.what for one in log.findings if "model.0.weight" in one.what or "no parameter" in one.what)
    assert text.endswith("zero_grad() is to come first, then backward(), and step() last"), text


def test_gradients_that_are_cleared_between_backward_and_step_stop_no_training(torch: Any) -> None:
    model = network(torch, torch.nn.Linear(4, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with gviz.watch(model, every=1) as log:
        for step in range(3):
            model(torch.ones(2, 4)).sum().backward()
            if step:
                optimizer.zero_grad()
            optimizer.step()
    assert "not cleared" not in kinds(log)


def test_gradients_that_are_not_cleared_are_told_with_the_line_of_backward(torch: Any) -> None:
    log = train(torch, network(torch), clears=False, lr=1e-3)
    assert kinds(log) == ["not cleared"]
    assert log.findings[0].step == 1
    assert "test_watch.py" in log.findings[0].place
    grads = [row.norms["0.weight"].grad for row in log.rows]
    assert all(one < other for one, other in pairwise(grads))  # type: ignore[operator]


def test_steps_that_change_nothing_are_told(torch: Any) -> None:
    net, other = network(torch), network(torch)
    logs = []
    for trained, zeroed, factor in (
        (net, {"set_to_none": True}, 1.0),
        (net, {"set_to_none": False}, 1.0),
        (net[2], {}, 1.0),
        (other, {}, 1.0),
        (net, {}, 0.0),
    ):
        optimizer = torch.optim.SGD(trained.parameters(), lr=0.1)
        with gviz.watch(net, every=1) as log:
            for _ in range(3):
                (net(batch(torch)).pow(2).mean() * factor + 1).backward()
                optimizer.zero_grad(**zeroed) if zeroed else None
                optimizer.step()
        net.zero_grad()
        logs.append(log)
    found = [kinds(log) for log in logs]
    assert found == [["no gradient"], ["zero gradient"], ["not cleared"], ["not trained"], ["zero gradient"]]
    assert "zero_grad() is to come first" in logs[0].findings[0].what
    assert "that of 0.weight was not, when backward() had brought it" in logs[1].findings[0].what
    assert logs[2].remarks == ["2 parameters got a gradient that no optimizer has used: 0.weight, 0.bias"]
    assert "gviz.why" in logs[4].findings[0].what
    assert not any(log.remarks for log in (*logs[:2], *logs[3:]))
    assert kinds(train(torch, network(torch), lr=0.0)) == ["no update"]


@pytest.mark.parametrize("fault", ["", "part cleared", "stepped twice"])
def test_what_becomes_of_the_gradients_of_a_part_is_told(torch: Any, fault: str) -> None:
    net = network(torch)
    body = torch.optim.SGD((net if fault == "stepped twice" else net[0]).parameters(), lr=0.01)
    head = torch.optim.Adam(net[2].parameters(), lr=0.01)
    with gviz.watch(net, every=1) as log:
        for _ in range(3):
            body.zero_grad(), head.zero_grad()
            net(batch(torch)).pow(2).mean().backward()
            net[2].zero_grad() if fault == "part cleared" else None
            body.step(), head.step()
    words = {
        "": [],
        "part cleared": [
            "no parameter of the optimizer (Adam, lr=0.01) had a gradient when step() began, in the steps 0, 1, 2:"
        ],
        "stepped twice": [
            "two optimizers, SGD and Adam, have each made a step with the gradients of one backward(): of"
        ],
    }
    assert all(one.what.startswith(text) for one, text in zip(log.findings, words[fault], strict=True))


@pytest.mark.parametrize("to_none", [True, False])
@pytest.mark.parametrize("is_used", [True, False])
def test_zeros_of_zero_grad_that_another_task_leaves_are_no_gradient_that_becomes_0(
    torch: Any, to_none: bool, is_used: bool
) -> None:
    heads = torch.nn.ModuleList([torch.nn.Linear(4, 1), torch.nn.Linear(4, 1)])
    trainer = torch.optim.SGD(heads.parameters(), lr=0.01)
    with gviz.watch(heads, every=2) as log:
        for at in range(8):
            trainer.zero_grad(set_to_none=to_none)
            y = heads[at % 2](batch(torch)).pow(2).mean()
            (y + heads[1](batch(torch)).mean() * 0 if is_used else y).backward()
            trainer.step()
    assert kinds(log) == ["zero gradient"] * is_used


def test_an_optimizer_that_was_given_the_parameters_of_another_hides_none_of_its_steps(torch: Any) -> None:
    first, second = network(torch), network(torch)
    own, wrong = torch.optim.SGD(first.parameters(), lr=0.01), torch.optim.Adam(first.parameters(), lr=0.01)
    with gviz.watch({"first": first, "second": second}, every=1) as log:
        for _ in range(3):
            for net, optimizer in ((first, own), (second, wrong)):
                optimizer.zero_grad()
                net(batch(torch)).pow(2).mean().backward()
                optimizer.step()
    norms = log.rows[-1].norms["first.0.weight"]
    assert norms.grad
    assert norms.update
    told = "no parameter of the optimizer (Adam, lr=0.01) had a gradient when step() began, in the steps 0, 1, 2"
    assert [one.what.partition(":")[0] for one in log.findings] == [told]


@pytest.mark.parametrize("every", [1, 3])
def test_a_gradient_that_comes_after_the_step_of_its_optimizer_and_is_cleared_before_the_next_is_told(
    torch: Any, every: int
) -> None:
    nn = torch.nn
    critic, actor, x = nn.ModuleDict({"q1": nn.Linear(4, 1), "q2": nn.Linear(4, 1)}), nn.Linear(4, 4), batch(torch)
    trainers = [torch.optim.SGD(one.parameters(), lr=0.01) for one in (critic, actor)]
    grads = list[Any]()
    with gviz.watch({"critic": critic, "actor": actor}, every=every) as log:
        for _ in range(16):
            trainers[0].zero_grad()
            (critic["q1"](x) - 1).pow(2).mean().backward()
            grads.append(critic["q2"].weight.grad)
            trainers[0].step()
            trainers[1].zero_grad()
            (critic["q1"](actor(x)) + critic["q2"](actor(x))).mean().backward()
            trainers[1].step()
    assert grads == [None] * 16
    (finding,) = log.findings
    assert finding.what.startswith("critic.q2.weight, critic.q2.bias had no gradient when step() began, in the steps ")


def test_gradients_that_another_step_uses_or_that_are_0_are_not_told_as_taken_away(torch: Any) -> None:
    nn = torch.nn
    net, other, x = nn.ModuleDict({"a": nn.Linear(4, 1), "b": nn.Linear(4, 1)}), nn.Linear(4, 1), batch(torch)
    trainer, more = (torch.optim.SGD(one.parameters(), lr=0.01) for one in (net, other))
    with gviz.watch({"net": net, "other": other}, every=2) as log:
        for _ in range(8):
            for name in "ab":  # a step of its own for each: that of b is never measured
                trainer.zero_grad()
                (net[name](x) - 1).pow(2).mean().backward()
                trainer.step()
            more.zero_grad()
            other(x).mean().backward()
            more.step()
    assert log.findings == []
    with gviz.watch(net, every=1) as log:
        for _ in range(8):
            trainer.zero_grad()
            (net["a"](x) - net["a"](x.flip(0)) + net["b"](x) ** 2).sum().backward()  # the parts of a's bias cancel
            trainer.step()
            trainer.zero_grad()
            (net["a"](x) + net["b"](x)).sum().backward()
    assert [one for one in log.findings if "taken it away" in one.what] == []


@pytest.mark.parametrize("is_large_first", [True, False])
def test_a_parameter_of_two_optimizers_has_the_numbers_of_all_their_steps(torch: Any, is_large_first: bool) -> None:
    nn = torch.nn
    shared, heads = nn.Linear(4, 8), [nn.Linear(8, 1), nn.Linear(8, 1)]
    model = nn.ModuleDict({"shared": shared, "first": heads[0], "second": heads[1]})
    trainers = [torch.optim.SGD([*shared.parameters(), *head.parameters()], lr=0.01) for head in heads]
    scales, by_hand = [1.0, 1e-3] if is_large_first else [0.0, 1.0], list[Any]()
    with gviz.watch(model, every=1) as log:
        for _ in range(4):
            begin, grads, x = shared.weight.detach().clone(), list[Any](), batch(torch)
            moved = torch.zeros(8, 4)
            for head, trainer, scale in zip(heads, trainers, scales, strict=True):
                trainer.zero_grad()
                ((head(torch.tanh(shared(x))) - 1).pow(2).mean() * scale).backward()
                grad, before = shared.weight.grad, shared.weight.detach().clone()
                grads.append((grad.norm().item(), (grad == 0).sum().item() / grad.numel()))
                trainer.step()
                moved = moved + (shared.weight.detach() - before)
            by_hand.append((*max(grads), begin.norm().item(), moved.norm().item()))
    assert log.findings == []
    for row, numbers in zip(log.rows, by_hand, strict=True):
        assert tuple(row.norms["shared.weight"]) == pytest.approx(numbers, rel=1e-5)
        assert row.norms["first.weight"].grad == row.own[id(trainers[0])]["first.weight"].grad


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_a_gradient_that_is_0_for_one_optimizer_alone_is_no_finding(torch: Any, order: tuple[int, int]) -> None:
    net, x = network(torch), batch(torch)
    trainers = [torch.optim.SGD(net.parameters(), lr=0.01) for _ in order]
    with gviz.watch(net, every=1) as log:
        for _ in range(4):
            for scale in order:
                trainers[scale].zero_grad()
                ((net(x) - 1).pow(2).mean() * scale + 1).backward()
                trainers[scale].step()
    assert log.findings == []
    assert all(row.norms["0.weight"].grad and row.norms["0.weight"].update for row in log.rows)


def test_a_first_step_that_is_too_large_is_told_of_the_optimizer_that_made_it(torch: Any) -> None:
    actor, critic = network(torch), network(torch)
    x, trainers = batch(torch), []
    with gviz.watch({"actor": actor, "critic": critic}, every=1) as log:
        trainers = [(actor, torch.optim.Adam(actor.parameters(), lr=1e-3))]
        trainers += [(critic, torch.optim.Adam(critic.parameters(), lr=10.0))]
        for _ in range(3):
            for net, optimizer in trainers:
                optimizer.zero_grad()
                net(x).pow(2).mean().backward()
                optimizer.step()
    large = [one.what for one in log.findings if one.kind == "large update" and one.step == 0]
    assert [what.endswith("with Adam, lr=10") for what in large] == [True]


def test_a_copy_of_a_model_that_is_watched_is_a_model_like_any_other(torch: Any) -> None:
    net = network(torch)
    with gviz.watch(net, every=1):
        copies = [deepcopy(net), pickle.loads(pickle.dumps(net))]  # noqa: S301 - of this test
        x = batch(torch)
    values = [one(x).sum().item() for one in copies]
    assert values == [net(x).sum().item()] * 2


def test_a_relu_of_another_model_is_not_measured(torch: Any) -> None:
    nn = torch.nn
    other = network(torch, nn.Linear(4, 3), nn.ReLU(), nn.Linear(3, 4))
    with gviz.watch(network(torch, nn.Linear(4, 2)), every=1) as log:
        other(batch(torch)).sum().backward()
    assert not log.rows[0].units
    assert "no gradient has come to these parameters" in str(log)


def test_a_relu_whose_units_are_all_dead_is_told(torch: Any) -> None:
    nn = torch.nn
    net = network(torch, nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
    with torch.no_grad():
        net[0].bias.fill_(-100.0)
    log = train(torch, net, steps=20)
    assert kinds(log) == ["zero gradient", "dead units"]
    assert "8 of 8 units of relu 1 (" in log.findings[1].what
    assert log.rows[0].units[log.findings[1].name].idle == 8


def test_units_that_are_0_in_one_of_two_calls_of_a_step_are_not_0_in_it(torch: Any) -> None:
    nn = torch.nn
    critic = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
    actor, seen, by_hand = nn.Linear(4, 4), list[Any](), list[int]()
    critic[1].register_forward_hook(lambda module, args, result: seen.append((result.detach() == 0).sum(0) == 2))
    trainers = [torch.optim.SGD(one.parameters(), lr=0.01) for one in (critic, actor)]
    with gviz.watch({"critic": critic, "actor": actor}, every=1) as log:
        for _ in range(5):
            x = torch.randn(2, 4)
            for trainer, given in zip(trainers, (x, actor), strict=True):
                trainer.zero_grad()
                (critic(x) if given is x else critic(given(x) * 3)).mean().backward()
                trainer.step()
            by_hand.append(int((seen[-2] & seen[-1]).sum()))
    assert [row.units[name].idle for row in log.rows for name in row.units] == by_hand
    assert any(int(one.sum()) != idle for one, idle in zip(seen[1::2], by_hand, strict=True))


def test_units_that_are_0_in_all_calls_of_the_steps_are_told_with_all_their_inputs(torch: Any) -> None:
    nn = torch.nn
    net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
    with torch.no_grad():
        net[0].bias.fill_(-100.0)
    trainers = [torch.optim.SGD(net.parameters(), lr=0.01) for _ in range(2)]
    with gviz.watch(net, every=1) as log:
        for _ in range(10):
            for trainer in trainers:
                trainer.zero_grad()
                net(batch(torch)).mean().backward()
                trainer.step()
    assert [idle.inputs for row in log.rows for idle in row.units.values()] == [0] * 7 + [256, 288, 320]


def test_a_function_relu_is_known_by_its_module_and_line(torch: Any) -> None:
    class Net(torch.nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.a, self.b = torch.nn.Linear(4, 8), torch.nn.Linear(8, 1)

        def forward(self, x: Any) -> Any:
            return self.b(torch.nn.functional.relu(self.a(x)))

    (name,) = train(torch, Net(), steps=1).rows[0].units
    assert name.startswith("relu after a (")


def test_channels_of_a_convolution_are_the_units(torch: Any) -> None:
    nn = torch.nn
    net = network(torch, nn.Unflatten(1, (1, 4)), nn.Conv1d(1, 3, 3), nn.ReLU(), nn.Flatten(), nn.Linear(6, 1))
    (idle,) = train(torch, net, steps=1).rows[0].units.values()
    assert idle.units == 3


@pytest.mark.parametrize("way", ["w @ x", "x @ w", "addmm", "bmm", "w @ vector", "x @ vector", "merged", "unknown"])
def test_the_units_of_a_product_are_along_the_axis_of_its_weight(torch: Any, way: str) -> None:
    class Net(torch.nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.w, self.b = torch.nn.Parameter(torch.ones(3, 4)), torch.nn.Parameter(torch.zeros(3, 1))
            self.first = torch.nn.Linear(4, 4)
            with torch.no_grad():
                self.w[0] = -1.0

        def forward(self, x: Any) -> Any:
            x = self.first(x).pow(2) + 3  # above 0
            ways = {
                "w @ x": lambda: self.w @ x.t() + self.b,
                "x @ w": lambda: x @ self.w.t(),
                "addmm": lambda: torch.addmm(self.b, self.w, x.t()),
                "bmm": lambda: torch.bmm(self.w.unsqueeze(0).expand(2, 3, 4), x.view(2, 8, 4).transpose(1, 2)),
                "w @ vector": lambda: self.w @ x[0],
                "x @ vector": lambda: x @ self.w[0],
                "merged": lambda: torch.nn.functional.linear(x, self.w + self.b @ self.b.t() @ self.w),
                "unknown": lambda: x @ x.t(),
            }
            return torch.relu(ways[way]()).sum()

    log = train(torch, Net(), steps=20, lr=0.0)
    known = [(one.units, one.idle) for one in log.rows[0].units.values()]
    assert known == [(3, 1)] * (way not in ("x @ vector", "unknown"))
    silent = [one.inputs for one in log.rows[-1].units.values() if one.silent]  # 16 in each step
    assert silent == [320] * (way in ("w @ x", "x @ w", "addmm", "merged"))


def test_an_input_that_has_a_gradient_is_no_weight(torch: Any) -> None:
    net = network(torch, torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 1))
    x, optimizer = batch(torch).requires_grad_(), torch.optim.SGD(net.parameters(), lr=0.01)
    with gviz.watch(net, every=1) as log:
        net(x).sum().backward()
        optimizer.step()
    (idle,) = log.rows[0].units.values()
    assert idle.units == 8


@pytest.mark.parametrize("way", ["squeeze", "view", "mean", "unsqueeze"])
def test_places_of_a_sequence_are_no_units(torch: Any, way: str) -> None:
    class Net(torch.nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.a = torch.nn.Linear(1, 1)

        def forward(self, x: Any) -> Any:
            y = self.a(x.unsqueeze(-1))
            ways = {"squeeze": lambda: y.squeeze(-1), "view": lambda: y.view(x.shape), "mean": lambda: y.mean(-1)}
            return torch.relu(ways.get(way, lambda: y)()).sum()

    units = [idle.units for idle in train(torch, Net(), steps=1).rows[0].units.values()]
    assert units == [1] * (way == "unsqueeze")


def test_a_gradient_that_nothing_is_added_to_is_no_sum(torch: Any) -> None:
    net = network(torch)
    before, after = (torch.optim.SGD(one.parameters(), lr=0.01) for one in (net, net[2]))
    net(batch(torch)).pow(2).mean().backward()
    before.step()
    for one in net[0].parameters():
        one.requires_grad_(False)
    with gviz.watch(net, every=1) as log:
        for _ in range(4):
            after.zero_grad()
            net(batch(torch)).pow(2).mean().backward()
            before.step()
    assert "not cleared" not in kinds(log)


@pytest.mark.torch
def test_what_a_checkpoint_computes_again_is_seen_once_and_its_saved_tensors_stay_its_own() -> None:
    torch: Any = pytest.importorskip("torch")
    checkpoint: Any = import_module("torch.utils.checkpoint").checkpoint

    class Net(torch.nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.a = torch.nn.Linear(4, 8)

        def forward(self, x: Any) -> Any:
            return checkpoint(lambda x: torch.relu(self.a(x)) + torch.sqrt(self.a(x) * 0), x, use_reentrant=False)

    with torch.no_grad():
        (net := Net()).a.bias.fill_(-100.0)
    log = train(torch, net, steps=1, hunt=True, loss_of=lambda y: y.sum())
    (idle,) = log.rows[0].units.values()
    assert (idle.idle, idle.units) == (8, 8)
    assert log.findings[0].operation == "SqrtBackward0 (of sqrt)"


def test_a_bias_whose_parts_cancel_as_those_of_a_critic_do_is_no_finding(torch: Any) -> None:
    net, x = network(torch), batch(torch)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
    with gviz.watch(net, every=1) as log:
        for _ in range(3):
            optimizer.zero_grad()
            (net(x).mean() - net(x + 1).mean()).backward()
            optimizer.step()
    assert [row.norms["2.bias"].grad for row in log.rows] == [0.0] * 3
    assert "zero gradient" not in kinds(log)


def test_gradients_that_are_too_small_for_16_bits_are_told_and_no_scaler_that_refuses_them(torch: Any) -> None:
    net = network(torch).half()
    x = batch(torch).half()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    with gviz.watch(net, every=1) as log:
        for _ in range(3):
            optimizer.zero_grad()
            (net(x).float().mean() * 1e-8 + 1).backward()
            optimizer.step()
    assert kinds(log) == ["zero gradient"]
    assert log.findings[0].what.endswith("gviz.why(loss, model) before backward() tells where it becomes 0")


def test_a_gradient_that_is_too_large_for_16_bits_is_told(torch: Any) -> None:
    net = network(torch).half()
    x = batch(torch).half()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    with gviz.watch(net, every=1) as log:
        (net(x).float().sum() * 1e5).backward()
        optimizer.step()
    (finding,) = log.findings
    assert "the loss was finite" in finding.what


def test_a_second_step_with_the_same_gradients_is_told(torch: Any) -> None:
    found = []
    for again in ("", "step", "new gradients", "changed", "none"):
        net = network(torch)
        optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
        optimizer.step()  # without any gradient, as to make its state
        with gviz.watch(net, every=1) as log:
            for _ in range(3):
                optimizer.zero_grad()
                net(batch(torch)).pow(2).mean().backward()
                optimizer.step()
                before = [one.grad for one in net.parameters()]  # which live on
                for one in net.parameters() if again in ("new gradients", "changed") else ():
                    one.grad = torch.ones_like(one) if again == "new gradients" else one.grad
                    one.grad.mul_(0.5)
                optimizer.zero_grad() if again == "none" else None
                optimizer.step() if again else None
                assert len(before) == 4
        found.append(log.findings)
    (finding,) = found[1]
    assert [len(one) for one in found] == [0, 1, 0, 0, 0]
    assert (finding.kind, finding.step, finding.name) == ("stepped twice", 1, "0.weight")
    assert finding.what.startswith(
        "Adam has made a second step with the same gradients: of 0.weight, 0.bias, 2.weight and 1"
    )


@pytest.mark.parametrize("way", ["copy_", "data.copy_", "data", "load_state_dict", "none"])
@pytest.mark.parametrize("every", [1, 10])
def test_steps_that_a_line_search_takes_back_are_none(torch: Any, every: int, way: str) -> None:
    net, x = torch.nn.Linear(4, 1), batch(torch)
    y, optimizer, by_hand = x.sum(1, keepdim=True), torch.optim.SGD(net.parameters(), lr=0.0), list[Any]()
    trials = 0
    with gviz.watch(net, every=every) as log:
        for _ in range(6):
            optimizer.zero_grad()
            loss = (net(x) - y).pow(2).mean()
            loss.backward()
            saved, state = [one.detach().clone() for one in net.parameters()], deepcopy(net.state_dict())
            for size in (64.0, 16.0, 0.25, 0.01):
                optimizer.param_groups[0]["lr"] = size
                optimizer.step()
                trials += 1
                with torch.no_grad():
                    if (net(x) - y).pow(2).mean() < loss:
                        break
                    if way == "load_state_dict":
                        net.load_state_dict(state)
                    for one, old in zip(net.parameters(), saved, strict=True) if way != "load_state_dict" else ():
                        if way == "copy_":
                            one.copy_(old)
                        elif way == "data.copy_":
                            one.data.copy_(old)
                        elif way == "data":
                            one.data = old.clone()
            by_hand.append((net.weight.detach() - saved[0]).norm().item())
    if way == "none":
        assert "stepped twice" in kinds(log)
        return
    assert not log.findings
    assert every > 1 or log.steps == 6 < trials
    assert [row.norms["weight"].update for row in log.rows][:1] == by_hand[:1]
    assert every > 1 or [row.norms["weight"].update for row in log.rows] == by_hand


def test_steps_without_a_gradient_tell_what_backward_had_brought(torch: Any) -> None:
    words = {}
    for brings in ("none", "zeros", "nothing ran", "others"):
        net, teacher, other = network(torch), network(torch), torch.ones(1, requires_grad=True)
        optimizer = torch.optim.Adam((teacher if brings == "others" else net).parameters(), lr=0.01)
        with gviz.watch({"net": net, "teacher": teacher}, every=1) as log:
            for _ in range(3):
                part = net(batch(torch)).sum() * (brings == "others")
                part = part if brings in ("zeros", "others") else part.item()
                (other + part).sum().backward() if brings != "nothing ran" else None
                optimizer.zero_grad()
                optimizer.step()
        (finding,) = log.findings
        words[brings] = (finding.kind, finding.what.partition(": ")[2])
    assert words == {
        "none": ("no gradient", "backward() had brought them none; gviz.why(loss, model) tells why"),
        "zeros": ("no gradient", "backward() had brought them none but zeros"),
        "nothing ran": ("no gradient", "backward() had not run"),
        "others": (
            "no gradient",
            (
                "backward() had brought gradients to others alone: see which parameters the optimizer was given, and"
                " gviz.why(loss, model)"
            ),
        ),
    }


@pytest.mark.parametrize("is_cleared", [True, False])
def test_the_steps_without_a_gradient_are_those_of_their_optimizer(torch: Any, is_cleared: bool) -> None:
    net, other = network(torch), network(torch)
    every = torch.optim.SGD(net.parameters(), lr=0.01)
    third = torch.optim.SGD(other.parameters(), lr=0.02)
    with gviz.watch({"net": net, "other": other}, every=1) as log:
        for number in range(12):
            every.zero_grad()
            net(batch(torch)).pow(2).mean().backward()
            every.step()
            if number % 3 == 2:
                third.zero_grad()
                third.step() if is_cleared else None
                (
                    other(batch(torch)) if is_cleared else other(batch(torch)).detach() * net(batch(torch))
                ).sum().backward()
                third.step() if not is_cleared else None
    (finding,) = [one for one in log.findings if one.kind == "no gradient"]
    steps = "no parameter of the optimizer (SGD, lr=0.02) had a gradient when step() began, in the steps 2, 5, 8: "
    assert finding.what.startswith(steps)


def test_a_gradient_that_came_after_the_step_is_not_said_to_be_zeros(torch: Any) -> None:
    net = network(torch)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
    with gviz.watch(net, every=1) as log:
        for _ in range(4):
            loss = net(batch(torch)).pow(2).mean()
            optimizer.zero_grad()
            optimizer.step()
            loss.backward()
    (finding,) = [one for one in log.findings if one.kind == "no gradient"]
    wanted = "in each iteration zero_grad() is to come first, then backward(), and step() last"
    assert finding.what.partition(": ")[2] == wanted


def test_hunting_names_the_operation_of_a_nan_that_clipping_has_spread(torch: Any) -> None:
    net = network(torch)
    head = torch.nn.Linear(1, 1, bias=False)
    optimizer = torch.optim.SGD([*net.parameters(), *head.parameters()], lr=0.01)
    with gviz.watch({"net": net, "head": head}, every=1, hunt=True) as log:
        loss = net(batch(torch)).sum() + head(torch.zeros(1)).sqrt().sum() * 0
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_([*net.parameters(), *head.parameters()], 1.0)
        optimizer.step()
    (finding,) = log.findings
    assert finding.what.startswith("the loss was finite")
    assert "but the gradient of head.weight has nan: SqrtBackward0" in finding.what


def test_the_order_of_the_three_calls_is_told_where_a_step_finds_no_gradient(torch: Any) -> None:
    net = network(torch)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
    with gviz.watch(net, every=1) as log:
        for _ in range(4):
            net(batch(torch)).pow(2).mean().backward()
            optimizer.zero_grad()
            optimizer.step()
    wanted = "in each iteration zero_grad() is to come first, then backward(), and step() last"
    assert [one.what.partition(": ")[2] for one in log.findings if one.kind == "no gradient"] == [wanted]


def test_zero_grad_is_to_come_after_a_step_and_not_before_each_of_several_calls_of_backward(torch: Any) -> None:
    net = network(torch)
    optimizer = torch.optim.SGD(net.parameters(), lr=1e-3)
    with gviz.watch(net, every=1) as log:
        for number in range(1, 9):
            net(batch(torch)).pow(2).mean().backward()
            optimizer.step() if number % 4 == 0 else None
    assert kinds(log) == ["not cleared"]
    assert "zero_grad() is to come between a step() and the next backward()" in log.findings[0].what


def test_a_step_that_leaves_no_gradient_to_the_next_ones_is_told(torch: Any) -> None:
    net = network(torch, torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 1), torch.nn.Sigmoid())
    log = train(
        torch, net, optimizer=torch.optim.Adam(net.parameters(), lr=1e5), loss_of=lambda y: 1 + y.mean(), steps=4
    )
    (finding,) = log.findings
    assert (finding.kind, finding.step) == ("zero gradient", 3)
    assert "step 0, before these, has changed " in finding.what
    assert "times its norm, with Adam, lr=100000; gviz.why" in finding.what


@pytest.mark.parametrize("size", [1e-24, 3e-23, 1e-19])
def test_numbers_whose_squares_are_too_small_have_a_norm(torch: Any, size: float) -> None:
    net = network(torch, torch.nn.Linear(4, 2), torch.nn.Linear(2, 1))
    optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
    with gviz.watch(net, every=1) as log:
        for _ in range(3):
            optimizer.zero_grad()
            (net[0](batch(torch)).pow(2).mean() + net[1](torch.ones(3, 2)).mean() * size).backward()
            optimizer.step()
    assert [row.norms["1.weight"].grad for row in log.rows] == [pytest.approx(size * 2**0.5, rel=1e-6, abs=0)] * 3
    assert kinds(log) == []


# ------------------------------------------------------------------ sound models
def conv(torch: Any) -> Any:
    """A convolution with batch norm."""
    nn = torch.nn
    layers = nn.Conv1d(1, 4, 3, bias=False), nn.BatchNorm1d(4), nn.ReLU(), nn.Flatten(), nn.Linear(8, 1)
    return network(torch, nn.Unflatten(1, (1, 4)), *layers)


def attention(torch: Any) -> Any:
    """Attention with a mask of -inf."""

    class Attention(torch.nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.qkv, self.out = torch.nn.Linear(4, 12), torch.nn.Linear(4, 1)

        def forward(self, x: Any) -> Any:
            q, k, v = self.qkv(x).chunk(3, 1)
            mask = torch.ones(16, 16).triu(1) > 0
            return self.out((q @ k.t()).masked_fill(mask, float("-inf")).softmax(1) @ v)

    return Attention()


def rnn(torch: Any) -> Any:
    """A recurrent network."""

    class Rnn(torch.nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.rnn, self.out = torch.nn.GRU(1, 6, batch_first=True), torch.nn.Linear(6, 1)

        def forward(self, x: Any) -> Any:
            return self.out(self.rnn(x.unsqueeze(2))[0][:, -1])

    return Rnn()


@pytest.mark.parametrize("make", [network, conv, attention, rnn])
@pytest.mark.parametrize("optimizer", ["SGD", "Adam"])
def test_a_sound_model_raises_no_alarm(torch: Any, make: Callable[[Any], Any], optimizer: str) -> None:
    net = make(torch)
    optimizer = getattr(torch.optim, optimizer)(net.parameters(), lr=0.01)
    log = train(torch, net, optimizer=optimizer, steps=20, hunt=True, loss_of=lambda y: ((y - 1) ** 2).mean())
    assert not log.findings


def test_two_networks_that_play_against_each_other_raise_no_alarm(torch: Any) -> None:
    g, d = network(torch, torch.nn.Linear(2, 4)), network(torch)
    of_g, of_d = (torch.optim.Adam(one.parameters(), lr=0.01) for one in (g, d))
    loss = torch.nn.functional.binary_cross_entropy_with_logits
    with gviz.watch({"g": g, "d": d}, every=1) as log:
        for _ in range(10):
            of_d.zero_grad()
            made = g(torch.randn(16, 2))
            (loss(d(batch(torch)), torch.ones(16, 1)) + loss(d(made.detach()), torch.zeros(16, 1))).backward()
            of_d.step()
            of_g.zero_grad()
            loss(d(made), torch.ones(16, 1)).backward()  # which leaves gradients in d, until its next zero_grad()
            of_g.step()
    assert not log.findings
    assert log.steps == 10
    assert list(log.rows[-1].norms) == [*(f"d.{name}" for name, _ in d.named_parameters()), "g.0.weight", "g.0.bias"]


@pytest.mark.torch
def test_the_gradients_of_an_optimizer_that_divides_them_by_the_scale_itself_are_those_that_it_uses() -> None:
    torch: Any = pytest.importorskip("torch")
    torch.manual_seed(0)
    net, x, by_hand = network(torch), batch(torch), []
    optimizer = torch.optim.AdamW(net.parameters(), lr=0.01, fused=True)
    scaler = torch.amp.GradScaler("cpu", init_scale=2.0**16)
    with gviz.watch(net, every=1, hunt=True) as log:
        for step in range(4):
            optimizer.zero_grad()
            scaler.scale((net(x) * (1e18 if step == 2 else 1.0)).pow(2).mean()).backward()
            if step != 2:
                by_hand.append(net[0].weight.grad.norm().item() / scaler.get_scale())
            scaler.step(optimizer)
            scaler.update()
    assert not log.findings
    assert [row.norms["0.weight"].grad for row in log.rows] == pytest.approx(by_hand)


@pytest.mark.torch
def test_a_step_that_a_scaler_leaves_out_raises_no_alarm() -> None:
    torch: Any = pytest.importorskip("torch")
    net = network(torch)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    scaler = torch.amp.GradScaler("cpu", init_scale=2.0**120)
    with gviz.watch(net, every=1, hunt=True) as log:
        for _ in range(12):
            optimizer.zero_grad()
            scaler.scale(((net(batch(torch)) * 100) ** 2).mean()).backward()
            scaler.step(optimizer)
            scaler.update()
    assert not log.findings
    assert 0 < log.steps < 12


# ------------------------------------------------------------------ the block
@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_whatever_ends_the_block_everything_is_put_back_and_the_log_stays(torch: Any, error: type) -> None:
    net, x = network(torch), batch(torch)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    before = torch.Tensor.backward, torch.relu, torch.nn.functional.relu, type(optimizer).step
    log = Log(1)

    def interrupted() -> None:
        nonlocal log
        with gviz.watch(net, every=1, hunt=True) as log:
            for step in range(3):
                optimizer.zero_grad()
                (net(x) ** 2).mean().backward()
                if step == 2:
                    raise error
                optimizer.step()

    with pytest.raises(error):
        interrupted()
    assert before == (torch.Tensor.backward, torch.relu, torch.nn.functional.relu, type(optimizer).step)
    assert not any(one._forward_hooks or one._forward_pre_hooks for one in net.modules())
    assert [row.step for row in log.rows] == [0, 1]
    optimizer.step()
    assert log.steps == 2


def test_a_watch_within_a_watch_sees_the_same(torch: Any) -> None:
    net, x = network(torch), batch(torch)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    with gviz.watch(net, every=1) as outer, gviz.watch(net[0], every=1) as inner:
        for _ in range(2):
            optimizer.zero_grad()
            (net(x) ** 2).mean().backward()
            optimizer.step()
    assert [row.norms["weight"] for row in inner.rows] == [row.norms["0.weight"] for row in outer.rows]


def test_a_watched_training_computes_what_it_computes_without(torch: Any) -> None:
    results = []
    for hunt in (None, False, True):
        torch.manual_seed(1)
        net = network(torch, torch.nn.Linear(4, 8), torch.nn.Dropout(0.5), torch.nn.ReLU(), torch.nn.Linear(8, 1))
        optimizer, x = torch.optim.Adam(net.parameters(), lr=0.01), batch(torch)
        watch = gviz.watch(net if hunt is not None else torch.nn.ReLU(), every=2, hunt=bool(hunt))
        with watch:
            for _ in range(5):
                optimizer.zero_grad()
                (net(x) ** 2).mean().backward()
                optimizer.step()
        results.append([one.tolist() for one in net.parameters()])
    assert results[0] == results[1] == results[2]


@pytest.mark.parametrize("at", ["the beginning", "the end"])
def test_parameters_whose_gradients_no_optimizer_uses_are_told_wherever_they_are_cleared(torch: Any, at: str) -> None:
    net, idle = network(torch), torch.nn.Linear(4, 4)
    net.add_module("idle", torch.nn.Linear(1, 1))
    body, head = (torch.optim.SGD(one.parameters(), lr=0.01) for one in (net[0], net[2]))
    with gviz.watch({"net": net, "idle": idle}) as log:
        for _ in range(3):
            net.zero_grad() if at == "the beginning" else None
            net[2](net[1](net[0](batch(torch)))).pow(2).mean().backward()
            head.step()
            (head.zero_grad(), body.zero_grad()) if at == "the end" else None
    assert log.remarks == ["2 parameters got a gradient that no optimizer has used: net.0.weight, net.0.bias"]
    assert not log.findings


def test_a_gradient_that_an_earlier_training_has_left_was_not_got_in_this_one(torch: Any) -> None:
    net = network(torch)
    before, after = (torch.optim.SGD(one.parameters(), lr=0.01) for one in (net, net[2]))

    def train(optimizer: Any) -> None:
        for _ in range(3):
            optimizer.zero_grad()
            net(batch(torch)).pow(2).mean().backward()
            optimizer.step()

    train(before)
    for one in net[0].parameters():
        one.requires_grad_(False)
    with gviz.watch(net, every=1) as log:
        train(after)
    assert net[0].weight.grad is not None
    assert not log.remarks
    assert not log.findings


def test_clipping_that_comes_before_backward_or_after_the_step_is_told(torch: Any) -> None:
    utils = import_module(f"{torch.__name__}.nn.utils")
    found = {}
    for at in (
        "before",
        "after",
        "of zeros",
        "after the step",
        "after it without effect",
        "of the norm",
        "between",
        "used up",
    ):
        net = network(torch)
        optimizer, other = (torch.optim.SGD(one.parameters(), lr=0.01) for one in (net, net[0]))
        clipped = (one for one in net.parameters())
        with gviz.watch(net, every=2) as log:
            for _ in range(5):
                optimizer.zero_grad()
                utils.clip_grad_norm_(net.parameters(), 1.0) if at == "before" else None
                (net(batch(torch)).pow(2).mean() * (at != "of zeros") + 1).backward()
                utils.clip_grad_norm_(net.parameters(), 1.0) if at in ("after", "of zeros") else None
                utils.clip_grad_norm_(clipped, max_norm=1.0) if at == "used up" else None
                other.step() if at == "between" else None
                utils.clip_grad_norm_(net.parameters(), 0.001) if at == "between" else None
                optimizer.step()
                utils.clip_grad_norm_(net.parameters(), 0.001) if at == "after the step" else None
                utils.clip_grad_norm_(net.parameters(), 1e9) if at == "after it without effect" else None
                utils.clip_grad_norm_(net.parameters(), float("inf")) if at == "of the norm" else None
        found[at] = [(one.kind, one.step) for one in log.findings]
    told = dict.fromkeys(("before", "after the step", "used up"), ("not clipped", 2)) | {
        "of zeros": ("zero gradient", 4)
    }
    assert found == {key: [told[key]] if key in told else [] for key in found}


@pytest.mark.parametrize("is_late", [False, True])
@pytest.mark.parametrize("watched", ["actor", "critic", "of both the actor", "both"])
def test_clipping_is_judged_by_the_gradients_that_it_is_given(torch: Any, watched: str, is_late: bool) -> None:
    utils = import_module(f"{torch.__name__}.nn.utils")
    models = {"actor": torch.nn.Linear(4, 2), "critic": torch.nn.Linear(4, 1)}
    of_actor, of_critic = (torch.optim.SGD(one.parameters(), lr=0.01) for one in models.values())
    model, names = (models[watched], "*") if watched in models else (models, "*" if watched == "both" else "actor")
    with gviz.watch(model, names, every=1) as log:
        for step in range(4):
            of_actor.zero_grad()
            of_critic.zero_grad()
            x, weight = batch(torch), 0.0 if step < 2 else 9.0  # of the critic, which comes later
            (models["actor"](x).pow(2).sum() + weight * (models["critic"](x) - 5).pow(2).sum()).backward()
            utils.clip_grad_norm_(models["actor"].parameters(), 0.01)
            of_actor.step()
            of_critic.step() if is_late else None
            utils.clip_grad_norm_((one for one in models["critic"].parameters()), 0.01)
            of_critic.step() if not is_late else None
    assert kinds(log) == ["not clipped"] * (is_late and watched in ("critic", "both"))


def test_what_was_not_seen_is_said(torch: Any) -> None:
    with gviz.watch(network(torch)) as log:
        network(torch)(batch(torch))
    assert str(log).startswith("no step was seen: neither backward() nor the step() of an optimizer")
    with gviz.watch(torch.nn.ReLU()) as log:
        pass
    assert str(log) == "nothing is measured: there is no model with parameters of such names"
    with pytest.raises(GvizError, match="there is nothing to draw"):
        log.picture("never.svg")


def test_what_is_no_module_and_a_wrong_number_are_refused(torch: Any) -> None:
    with pytest.raises(TypeError, match=r"takes an nn.Module, or a dict of names and modules; not of type Tensor"):
        gviz.watch(torch.ones(2))
    with pytest.raises(ValueError, match="every is 1 or more, not 0"):
        gviz.watch(network(torch), every=0)


# ------------------------------------------------------------------ what it is shown as
def test_the_heat_map_has_a_row_for_each_parameter_and_a_mark_for_what_has_no_shade(tmp_path: Path) -> None:
    from gviz import engine

    net, x = engine.nn.ModuleDict({"0": engine.nn.Linear(4, 1), "unused": engine.nn.Linear(2, 2)}), batch(engine)
    optimizer = engine.optim.SGD(net.parameters(), lr=0.1)
    with gviz.watch(net, every=1) as log:
        for _ in range(6):
            optimizer.zero_grad()
            engine.log(net["0"](x) * 0 - 1).sum().backward()
            optimizer.step()
    svg = Path(log.picture(tmp_path / "run.svg")).read_text()
    for text in (
        "Norm of the gradient, by layer and step",
        "0.weight",
        "unused.bias",
        "none",
        "step 0: the loss was nan",
    ):
        assert text in svg
    assert "unused.weight, step 3: -" in svg
    assert Path(log.picture(tmp_path / "run.pdf", "weight")).read_bytes().startswith(b"%PDF")
    data = json.loads(Path(log.save(tmp_path / "run.json")).read_text())
    assert data["measured"] == list(range(6))
    assert data["root"] == ["nan"] * 6
    with pytest.raises(GvizError, match="there is no heat map in the format 'docx'"):
        log.picture("run.docx")
    with pytest.raises(ValueError, match="show is one of grad, weight, update"):
        log.picture("run.svg", "colour")


def test_a_large_model_is_drawn_by_layers(tmp_path: Path) -> None:
    from gviz import engine
    from gviz.training.heatmap import groups_of

    layers = [f"blocks.{number}.{part}.weight" for number in range(12) for part in ("attn", "mlp", "ln")]
    groups = groups_of([*layers, "head.weight"], 20)
    assert list(groups) == [*(f"blocks.{number}" for number in range(12)), "head.weight"]
    assert groups["blocks.3"] == layers[9:12]
    log = train(engine, network(engine, *(engine.nn.Linear(4, 4) for _ in range(30))), steps=1)
    assert "(2 parameters)" in Path(log.picture(tmp_path / "run.svg")).read_text()


def test_the_table_says_what_its_columns_are_of() -> None:
    from gviz import engine

    log = train(engine, network(engine), steps=3)
    lines = str(log).splitlines()
    assert lines[0] == "3 steps of the optimizer, counted from 0; each is measured"
    assert lines[1].split("  ")[0] == "parameter"
    assert [line.split()[0] for line in lines[2:6]] == ["0.weight", "0.bias", "2.weight", "2.bias"]
    assert 'src="data:image/svg+xml;base64,' in log._repr_html_()
    assert repr(log) == "<Log: 3 steps of the optimizer, counted from 0; each is measured; 0 findings>"


def test_a_backward_within_a_backward_is_hunted_too(torch: Any) -> None:
    checkpoint = import_module(f"{torch.__name__}.utils.checkpoint").checkpoint
    net = network(torch, torch.nn.Linear(4, 4), torch.nn.Linear(4, 4))
    optimizer, x = torch.optim.SGD(net.parameters(), lr=0.1), batch(torch)
    with gviz.watch(net, every=1, hunt=True) as log:
        for _ in range(2):
            optimizer.zero_grad()
            h = checkpoint(lambda t: torch.tanh(net[1](t)), net[0](x), use_reentrant=True)
            h = checkpoint(lambda t: torch.tanh(net[1](t)), h, use_reentrant=True)
            torch.autograd.backward(h.sum())
            optimizer.step()
        optimizer.zero_grad()
        torch.log(x[:1] * 0 * net[0].weight).sum().backward()
        optimizer.step()
    assert [(one.step, one.operation) for one in log.findings] == [(2, "log")]


def test_zeros_are_measured_without_a_look_at_each_number(torch: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    looked = list[Any]()
    monkeypatch.setattr("gviz.training.parameters.numbers", lambda tensor, _: looked.append(tensor))
    net = network(torch)
    torch.nn.init.zeros_(net[0].bias)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.0)  # whose updates are 0, too
    with gviz.watch(net, every=1) as log:
        for _ in range(2):
            optimizer.zero_grad()
            net(batch(torch)).pow(2).mean().backward()
            optimizer.step()
    assert (log.rows[-1].norms["0.bias"].weight, log.rows[-1].norms["0.bias"].update) == (0.0, 0.0)
    assert not looked


def test_a_model_of_which_all_is_measured_is_not_asked_for_its_names_at_each_step(
    torch: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gviz.training.parameters.fnmatchcase", lambda *_: pytest.fail("names are compared"))
    net = network(torch)
    log = train(torch, net, steps=2)
    assert len(log.names()) == 4


def test_a_line_of_a_notebook_is_named_by_its_cell(monkeypatch: pytest.MonkeyPatch) -> None:
    """IPython compiles each cell as a file of its own, and knows the cell's number by that."""
    assert path_and_line(Place(6, "/ipykernel_1/32.py")) == "/ipykernel_1/32.py:6"
    shell = SimpleNamespace(compile=SimpleNamespace(_filename_map={"/ipykernel_1/32.py": 10}))
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))
    assert path_and_line(Place(6, "/ipykernel_1/32.py")) == "cell 10, line 6"
    assert path_and_line(Place(2, str(Path.cwd() / "train.py"))) == "train.py:2"


def test_a_line_of_a_terminals_ipython_is_named_by_its_cell(monkeypatch: pytest.MonkeyPatch, torch: Any) -> None:
    """IPython's own files, which run the cell, are no program's."""
    file = "<ipython-input-3-a1b2c3d4e5f6>"
    shell = SimpleNamespace(compile=SimpleNamespace(_filename_map={file: 3}))
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))
    net = network(torch)
    cell = """\
opt = torch.optim.SGD(net.parameters(), lr=0.01)
for _ in range(4):
    net(x).sum().backward()
    opt.step()
"""
    with gviz.watch(net, every=1) as log:
        exec(compile(cell, file, "exec"), {"torch": torch, "net": net, "x": batch(torch)})  # noqa: S102 - as IPython does
    assert "were there when backward() ran (cell 3, line 3)" in str(log)
