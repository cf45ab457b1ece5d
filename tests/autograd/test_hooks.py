"""Hooks: what they hold and return; when they run, and what PyTorch prints of it, is in tests/snippets.txt."""

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


@pytest.mark.parametrize("create", [False, True])
@pytest.mark.parametrize("register", ["register_hook", "register_prehook"])
@pytest.mark.parametrize(
    ("make", "words"),
    [
        (list, "expected tuple, but hook returned 'list'"),
        (
            lambda grads: grads + grads,
            "hook '<lambda>' has returned an incorrect number of values (got {}, but expected {})",
        ),
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
