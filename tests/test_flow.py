"""How gradients flow: what backward is going to do, found without doing it, on gviz's engine and on the real PyTorch."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

import pytest
from scripts import nested

import gviz
from gviz import engine
from gviz.flow import Follower, flow, users_first
from gviz.formulas.expressions import with_letters
from gviz.formulas.local import with_symbols
from gviz.graphs import Graph
from gviz.graphs.numbers import Numbers
from gviz.walk import MOST_FLOWING, NodeFlow, numbers


def leaf(torch: Any, value: Any) -> Any:
    return torch.tensor(value, requires_grad=True)


def article(torch: Any) -> dict[str, Any]:
    x, w = leaf(torch, 2.0), leaf(torch, 1.0)
    return {"x": x, "w": w, "y": (x + w) * (w + 1)}


def tensors(torch: Any) -> dict[str, Any]:
    x, w, b = leaf(torch, [[1.0, -2.0], [3.0, 0.5]]), leaf(torch, [[0.1, 0.2], [0.3, -0.4]]), leaf(torch, [0.5, -0.5])
    return {"x": x, "w": w, "b": b, "y": torch.relu(x @ w + b).sum()}


def network(torch: Any) -> dict[str, Any]:
    x, w = leaf(torch, [0.5, -1.0, 2.0]), leaf(torch, 0.3)
    h = torch.tanh(x * w)
    return {"x": x, "w": w, "h": h, "y": torch.log_softmax(h, 0)[1] + h.mean() ** 2}


def several_outputs(torch: Any) -> dict[str, Any]:
    x = leaf(torch, [1.0, 2.0, 3.0])
    a, b, c = x.unbind()
    return {"x": x, "y": a * b + c}


def broadcast(torch: Any) -> dict[str, Any]:
    x, w = leaf(torch, [[1.0], [2.0]]), leaf(torch, [3.0, 4.0, 5.0])
    return {"x": x, "w": w, "y": (x * w / 2 - w).prod()}


PROGRAMS = [article, tensors, network, several_outputs, broadcast]


def told(graph: Graph) -> list[Any]:
    """Return all that is said of gradients in a graph."""
    formula = with_symbols(with_letters(graph))
    said: list[Any] = [(node.label, node.grad.arrived) for node in formula.nodes]
    return said + [(edge.source, edge.target, edge.slot, *edge.flow) for edge in formula.edges]


def flat(value: Any) -> list[Any]:
    return [number for item in value for number in flat(item)] if isinstance(value, tuple | list) else [value]


@pytest.mark.torch
@pytest.mark.parametrize("program", PROGRAMS)
def test_it_is_the_same_on_both_engines(program: Any) -> None:
    torch = pytest.importorskip("torch")
    own, real = (program(engine), program(torch))
    ours, theirs = (
        told(gviz.graph({"y": space["y"]}, params={name: t for name, t in space.items() if name != "y"}, flow=True))
        for space in (own, real)
    )
    assert len(ours) == len(theirs)
    for one, other in zip(flat(ours), flat(theirs), strict=True):
        assert one == (pytest.approx(other, rel=1e-5, abs=1e-7) if isinstance(other, float) else other)
    assert all(tensor.grad is None for tensor in real.values() if tensor.is_leaf)


@pytest.mark.parametrize("program", PROGRAMS)
def test_what_arrives_at_the_leaves_is_what_backward_gives_them(program: Any) -> None:
    space = program(engine)
    flows = flow(engine, [space["y"]])
    sums: dict[Any, Any] = {}
    for node, one in flows.items():
        for (following, _), passed in zip(node.next_functions, one.inputs, strict=True):
            if type(following).__name__ == "AccumulateGrad":
                grad = engine.tensor(nested(passed.handed))
                sums[following] = grad if following not in sums else sums[following] + grad
    assert all(tensor.grad is None for tensor in space.values() if tensor.is_leaf)
    space["y"].backward()
    leaves = [tensor for tensor in space.values() if tensor.is_leaf]
    assert len(sums) == len(leaves)
    for node, total in sums.items():
        assert node.variable.grad.tolist() == total.tolist()


def test_the_factor_times_what_arrives_is_what_is_handed_on() -> None:
    space = article(engine)
    flows = {type(node).__name__: one for node, one in flow(engine, [space["y"]]).items()}
    product = flows["MulBackward0"]
    assert isinstance(product, NodeFlow)
    assert (nested(product.arrived), [nested(one.local) for one in product.inputs]) == (1.0, [2.0, 3.0])
    assert [nested(one.handed) for one in product.inputs] == [2.0, 3.0]


def test_without_backward_there_are_the_factors_alone() -> None:
    space = article(engine)
    for one in flow(engine, [space["y"]], has_gradient=False).values():
        assert one.arrived is None
        assert {passed.handed for passed in one.inputs} == {None}
        assert any(passed.local is not None for passed in one.inputs)


def test_it_starts_with_the_gradient_that_backward_is_given() -> None:
    x = leaf(engine, [1.0, 2.0])
    y = x * 3
    (one,) = flow(engine, [y], [engine.tensor([1.0, 10.0])]).values()
    assert nested(one.inputs[0].handed) == [3.0, 30.0]
    assert nested(one.inputs[0].local) == [3.0, 3.0]


def test_what_is_freed_and_a_user_s_own_function_say_nothing() -> None:
    class Cube(engine.autograd.Function):
        calls = 0

        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return x**3

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            Cube.calls += 1
            return grad * 3 * ctx.saved_tensors[0] ** 2

    x = leaf(engine, 2.0)
    y = Cube.apply(x * 2) + 1
    assert [type(node).__name__ for node in flow(engine, [y])] == ["AddBackward0"]
    assert Cube.calls == 0
    z = engine.exp(x) * x
    z.backward()
    assert flow(engine, [z]) == {}


def test_a_graph_that_nobody_reads_is_not_looked_at() -> None:
    y = x = leaf(engine, 2.0)
    for _ in range(MOST_FLOWING + 1):
        y = y * 1.0
    assert flow(engine, [y]) == {}
    assert flow(engine, [x]) == {}


@pytest.mark.parametrize("form", [lambda y: y, lambda y: [y], lambda y: (y,), lambda y: {"y": y}])
def test_a_graph_of_tensors_has_their_flow_in_whichever_form_they_come(form: Any) -> None:
    x, w = leaf(engine, 2.0), leaf(engine, 3.0)
    graph, bare = gviz.graph(form(x * w), flow=True), gviz.graph(form(x * w))
    handed = [edge.flow.handed.nested() for edge in graph.edges if edge.flow.handed]
    assert {*handed} == {2.0, 3.0}
    assert not any(edge.flow.handed for edge in bare.edges)


@pytest.mark.torch
def test_a_pass_that_is_followed_computes_each_operation_once_unless_it_has_another_hook() -> None:
    torch = pytest.importorskip("torch")

    def runs_of_tanh(*, hooked: bool) -> int:
        x = leaf(torch, [0.5, -1.0])
        y = torch.tanh(x)
        if hooked:
            y.grad_fn.register_hook(lambda in_grads, _: tuple(2 * one for one in in_grads))
        root = (3 * y).sum()
        follower = Follower(torch, users_first([root.grad_fn], MOST_FLOWING), None, all_factors=False)
        follower.start([root], ())
        with torch.profiler.profile() as profile, follower.watching(nullcontext):
            root.backward()
        own = follower.result[y.grad_fn]
        assert own.arrived == Numbers((2,), "float32", (3.0, 3.0))
        assert own.inputs[0].handed == numbers(x.grad)
        assert [one.kind for one in own.hooks] == ["handed"] * hooked
        return sum(one.name == "TanhBackward0" for one in profile.events())

    assert runs_of_tanh(hooked=False) == 1
    assert runs_of_tanh(hooked=True) == 2
