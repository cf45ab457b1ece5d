"""Hooks: on tensors, on nodes, after accumulation; their order, and what they may change."""

from __future__ import annotations

from typing import Any

import pytest
from tested import leaf, torch


def test_a_hook_sees_the_gradient_and_may_replace_it() -> None:
    x = leaf(2.0)
    y = x * 3
    seen: list[float] = []

    def hook(grad: Any) -> Any:
        seen.append(grad.item())
        return grad * 10

    y.register_hook(hook)
    (y * 2).backward()
    assert (seen, x.grad.item()) == ([2.0], 60.0)


def test_hooks_run_in_the_order_of_their_registration() -> None:
    x = leaf(2.0)
    order: list[str] = []
    x.register_hook(lambda grad: order.append("first"))
    x.register_hook(lambda grad: order.append("second"))
    (x * 3).backward()
    assert order == ["first", "second"]


def test_a_removed_hook_does_not_run() -> None:
    x = leaf(2.0)
    order: list[str] = []
    handle = x.register_hook(lambda grad: order.append("removed"))
    with x.register_hook(lambda grad: order.append("left")):
        handle.remove()
        handle.remove()
    (x * 3).backward()
    assert order == []


def test_a_retained_gradient_is_that_after_all_hooks() -> None:
    x = leaf(2.0)
    y = x * 3
    y.retain_grad()
    y.register_hook(lambda grad: grad * 2)
    (y * 5).backward()
    assert y.grad.item() == 10.0


def test_a_node_s_hook_gets_gradients_of_inputs_and_outputs() -> None:
    x, w = leaf(2.0), leaf(5.0)
    y = x * w
    seen: list[Any] = []
    y.grad_fn.register_hook(lambda inputs, outputs: seen.append(([g.item() for g in inputs], [g.item() for g in outputs])))
    y.backward()
    assert seen == [([5.0, 2.0], [1.0])]


def test_a_node_s_hook_may_replace_the_gradients_of_its_inputs() -> None:
    x = leaf(2.0)
    y = x * 3
    y.grad_fn.register_hook(lambda inputs, outputs: (inputs[0] * 100, None))
    y.backward()
    assert x.grad.item() == 300.0


def test_a_prehook_may_replace_the_gradient_of_the_output() -> None:
    x = leaf(2.0)
    y = x * 3
    y.grad_fn.register_prehook(lambda grads: (grads[0] * 7,))
    y.backward()
    assert x.grad.item() == 21.0


def test_tensor_hooks_come_before_prehooks_and_posthooks_last() -> None:
    x = leaf(2.0)
    y = x * 3
    order: list[str] = []
    y.grad_fn.register_hook(lambda inputs, outputs: order.append("post"))
    y.grad_fn.register_prehook(lambda grads: order.append("pre"))
    y.register_hook(lambda grad: order.append("tensor"))
    y.backward()
    assert order == ["tensor", "pre", "post"]


def test_a_post_accumulate_hook_runs_when_the_gradient_is_there() -> None:
    x = leaf(2.0)
    seen: list[float] = []
    x.register_post_accumulate_grad_hook(lambda tensor: seen.append(tensor.grad.item()))
    (x * 3).backward()
    (x * 3).backward()
    assert seen == [3.0, 6.0]


def test_a_wrong_post_accumulate_hook_is_an_error_after_the_others_which_see_what_it_returned() -> None:
    x = leaf(2.0)
    seen: list[object] = []
    x.register_post_accumulate_grad_hook(lambda tensor: tensor.grad.clone())
    x.register_post_accumulate_grad_hook(lambda tensor: seen.append((tensor.item(), tensor.grad)))
    with pytest.raises(RuntimeError, match=r"^Tensor post accumulate grad hooks should return None\.$"):
        (x * 3).backward()
    assert seen == [(3.0, None)]


def test_a_leaf_runs_as_soon_as_its_last_gradient_has_arrived() -> None:
    x, w = leaf(2.0), leaf(3.0)
    order: list[str] = []
    y = x * 2
    z = y * w
    x.register_hook(lambda grad: order.append("x"))
    y.register_hook(lambda grad: order.append("y"))
    w.register_hook(lambda grad: order.append("w"))
    z.register_hook(lambda grad: order.append("z"))
    z.backward()
    assert order == ["z", "w", "y", "x"]


def test_hooks_are_for_tensors_that_require_a_gradient() -> None:
    with pytest.raises(RuntimeError, match=r"^cannot register a hook on a tensor that doesn't require gradient$"):
        torch.tensor(1.0).register_hook(lambda grad: None)
    with pytest.raises(RuntimeError, match=r"post accumulate grad hooks cannot be registered on non-leaf tensors"):
        (leaf(1.0) * 2).register_post_accumulate_grad_hook(lambda tensor: None)


def test_a_hook_that_raises_ends_the_backward_pass() -> None:
    x = leaf(2.0)
    y = x * 3

    def refuse(grad: Any) -> None:
        raise ValueError("not this one")

    y.register_hook(refuse)
    with pytest.raises(ValueError, match="not this one"):
        y.backward()
    assert x.grad is None


def test_hooks_run_under_create_graph_on_tensors_of_the_graph() -> None:
    x = leaf(2.0)
    y = x * x
    seen: list[bool] = []
    x.register_hook(lambda grad: seen.append(grad.requires_grad))
    (found,) = torch.autograd.grad(y, x, create_graph=True)
    assert seen == [True]
    assert found.item() == 4.0


def test_no_gradient_that_somebody_holds_is_written_to_later() -> None:
    x, w = torch.full((64, 64), 0.5, requires_grad=True), torch.full((64, 64), 0.9, requires_grad=True)
    seen: list[Any] = []
    y = x
    for _ in range(4):
        y = y * w + x + x
        y.register_hook(lambda grad: seen.append((grad, grad.tolist())))
    start = torch.ones(64, 64)
    y.backward(start, retain_graph=True)
    first = w.grad.tolist()
    (again,) = torch.autograd.grad(y, [w], start)
    assert [grad.tolist() for grad, _ in seen] == [values for _, values in seen]
    assert len(seen) == 8
    assert start.tolist() == torch.ones(64, 64).tolist()
    assert again.tolist() == first == w.grad.tolist()


def test_a_hook_on_a_written_view_may_not_change_the_dtype() -> None:
    x = torch.zeros(2, 3, requires_grad=True) * 1
    view = x[:1]
    view.exp_()
    view.register_hook(lambda g: g.double())
    with pytest.raises(RuntimeError, match=r"has changed the type of value \(was torch.FloatTensor got torch.DoubleTensor\)"):
        view.sum().backward()


def test_a_gradient_of_another_dtype_passes_a_written_view_within_its_memory() -> None:
    base = torch.zeros(2, 3, requires_grad=True) * 1
    base[:1].exp_()
    grads = base.grad_fn(torch.ones(2, 3, dtype=torch.float64))
    assert grads.tolist() == [[1.0] * 3, [1.0] * 3]
    assert grads.dtype is torch.float64


@pytest.mark.parametrize("create", [False, True])
@pytest.mark.parametrize("register", ["register_hook", "register_prehook"])
@pytest.mark.parametrize(
    ("make", "words"),
    [
        (list, "expected tuple, but hook returned 'list'"),
        (lambda grads: grads + grads, "hook '<lambda>' has returned an incorrect number of values (got {}, but expected {})"),
        (lambda grads: tuple(3 for _ in grads), "expected Variable, but hook returned 'int'"),
        (lambda grads: tuple(g.sum() for g in grads), "hook '<lambda>' has changed the size of value"),
        (
            lambda grads: tuple(g.double() for g in grads),
            "hook '<lambda>' has changed the type of value (was torch.FloatTensor got torch.DoubleTensor)",
        ),
    ],
)
def test_what_a_hook_of_a_node_returns_has_to_fit(make: Any, words: str, register: str, create: bool) -> None:
    x, w = leaf([1.0, 2.0]), leaf([3.0, 4.0])
    y = x * w
    getattr(y.grad_fn, register)(lambda grads, *_: make(grads))
    with pytest.raises((RuntimeError, TypeError)) as raised:
        torch.autograd.grad(y.sum(), [x, w], create_graph=create)
    count = 2 if register == "register_hook" else 1
    assert str(raised.value) == words.format(2 * count, count)


def test_a_none_among_gradients_stays_one() -> None:
    x = leaf([1.0, 2.0])
    y = x * 2
    y.grad_fn.register_hook(lambda grads, _: tuple(torch.zeros(2) for _ in grads))
    with pytest.raises(RuntimeError, match=r"^can't replace a None gradient with a non-None value$"):
        y.sum().backward()


def test_hooks_of_a_node_see_all_of_its_outputs() -> None:
    x, seen = leaf([1.0, 2.0, 3.0]), []
    y = x.unbind()
    y[1].grad_fn.register_prehook(lambda grads: seen.append([None if g is None else g.item() for g in grads]))
    y[0].grad_fn.register_prehook(lambda grads: (None, grads[1] * 2, None))
    y[1].backward()
    assert (seen, x.grad.tolist()) == ([[None, 1.0, None]], [0.0, 2.0, 0.0])


@pytest.mark.parametrize(("bad", "grads"), [("x", [None, None, 1.0]), ("w", [3.0, None, 1.0]), ("b", [None, None, None])])
def test_after_an_error_in_the_hook_of_a_leaf_the_leaves_behind_it_get_no_gradient(bad: str, grads: list[Any]) -> None:
    leaves = {"x": leaf(2.0), "w": leaf(3.0), "b": leaf(5.0)}
    leaves[bad].register_hook(lambda _: 3)
    with pytest.raises(TypeError):
        (leaves["b"] + leaves["x"] * leaves["w"]).backward()
    assert [None if one.grad is None else one.grad.item() for one in leaves.values()] == grads


def test_a_root_that_is_a_leaf_comes_before_all_that_has_to_be_computed() -> None:
    x, b, order = leaf(2.0), leaf(5.0), []
    x.register_hook(lambda _: order.append("x"))
    b.register_hook(lambda _: order.append("b"))
    torch.autograd.backward([x * 2, b])
    assert order == ["b", "x"]


def test_a_retained_gradient_is_that_of_the_tensor_after_a_view_of_it_was_written() -> None:
    y = leaf([1.0, 2.0]) * 2
    y.retain_grad()
    y[:1].mul_(5)
    y.sum().backward()
    assert y.grad.tolist() == [1.0, 1.0]
