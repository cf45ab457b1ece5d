"""Gradients of gradients: backward recorded with ``create_graph=True``."""

from __future__ import annotations

import pytest
from tested import label, labels, leaf, torch

from gviz.numbers.words import WARNED


def test_the_second_derivative_of_a_cube() -> None:
    x = leaf(3.0)
    y = x**3
    (first,) = torch.autograd.grad(y, x, create_graph=True)
    (second,) = torch.autograd.grad(first, x, create_graph=True)
    (third,) = torch.autograd.grad(second, x)
    assert (first.item(), second.item(), third.item()) == (27.0, 18.0, 6.0)


def test_the_recorded_backward_has_pytorch_s_nodes() -> None:
    x = leaf(3.0)
    (first,) = torch.autograd.grad(x.tanh(), x, create_graph=True)
    assert label(first.grad_fn) == "TanhBackwardBackward0"
    (first,) = torch.autograd.grad(x**3, x, create_graph=True)
    assert labels(first) == ["MulBackward0", "MulBackward1", "PowBackward0", "AccumulateGrad"]


def test_backward_with_create_graph_gives_leaves_gradients_with_a_graph() -> None:
    x = leaf(3.0)
    y = x * x
    WARNED.clear()
    with pytest.warns(UserWarning, match="will create a reference cycle"):
        y.backward(create_graph=True)
    assert x.grad.requires_grad
    assert x.grad.item() == 6.0
    (second,) = torch.autograd.grad(x.grad, x)
    assert second.item() == 2.0
    x.grad = None


def test_without_create_graph_nothing_is_recorded() -> None:
    x = leaf(3.0)
    (first,) = torch.autograd.grad(x * x, x)
    assert first.requires_grad is False


def test_a_penalty_on_the_gradient_reaches_the_leaves() -> None:
    x, w = leaf([1.0, 2.0]), leaf([3.0, 4.0])
    y = (x * x * w).sum()
    (first,) = torch.autograd.grad(y, x, create_graph=True)
    (first**2).sum().backward()
    assert x.grad.tolist() == [72.0, 256.0]
    assert w.grad.tolist() == [24.0, 128.0]


def test_mixed_second_derivatives_agree() -> None:
    x, w = leaf(2.0), leaf(3.0)
    y = (x * w).sin() * x
    by_x, by_w = torch.autograd.grad(y, [x, w], create_graph=True)
    (one,) = torch.autograd.grad(by_x, w, retain_graph=True)
    (other,) = torch.autograd.grad(by_w, x)
    assert one.item() == pytest.approx(other.item(), rel=1e-5)


def test_hooks_under_create_graph_are_recorded() -> None:
    x = leaf(3.0)
    y = x * x
    y.register_hook(lambda grad: grad * x)
    (first,) = torch.autograd.grad(y, x, create_graph=True)
    (second,) = torch.autograd.grad(first, x)
    assert (first.item(), second.item()) == (18.0, 12.0)


def test_grad_outputs_may_require_gradients_themselves() -> None:
    x, v = leaf([1.0, 2.0]), leaf([1.0, 1.0])
    (first,) = torch.autograd.grad(x * x, x, v, create_graph=True)
    (by_v,) = torch.autograd.grad(first.sum(), v)
    assert by_v.tolist() == [2.0, 4.0]


def test_a_gradient_that_comes_back_untouched_is_the_tensor_that_was_given() -> None:
    a, b, v = leaf([1.0, 2.0]), leaf([3.0, 4.0]), leaf([1.0, 1.0])
    by_a, by_b = torch.autograd.grad(a + b, [a, b], v)
    assert by_a is by_b is v
    by_a, by_b = torch.autograd.grad((a + b).sum(), [a, b])
    assert by_a is by_b


def test_a_given_gradient_of_another_dtype_is_cast_and_the_cast_recorded() -> None:
    x, v = leaf([1.0, 2.0]), torch.tensor([1.0, 1.0], dtype=torch.float64, requires_grad=True)
    for create in (False, True):
        (grad,) = torch.autograd.grad(x, x, v, create_graph=create)
        assert (grad.dtype, type(grad.grad_fn).__name__) == (torch.float32, "ToCopyBackward0")
