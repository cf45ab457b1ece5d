"""The user's own operations, torch.autograd.Function; what PyTorch prints of more of them is in tests/snippets.txt."""

from __future__ import annotations

from typing import Any

from tested import label, leaf, slots, torch


class Square(torch.autograd.Function):  # type: ignore[misc,unused-ignore]
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        (x,) = ctx.saved_tensors
        return grad * 2 * x


class Scaled(torch.autograd.Function):  # type: ignore[misc,unused-ignore]
    @staticmethod
    def forward(ctx: Any, x: Any, factor: float, w: Any) -> Any:
        ctx.factor = factor
        return x * factor + w, w * 2

    @staticmethod
    def backward(ctx: Any, first: Any, second: Any) -> Any:
        ctx.seen = (first, second)
        return first * ctx.factor, None, first + 2 * second if ctx.needs_input_grad[2] else None


def test_a_function_is_one_node_named_after_its_class() -> None:
    x = leaf(3.0)
    y = Square.apply(x)
    assert (label(y.grad_fn), slots(y.grad_fn)) == ("SquareBackward", [("AccumulateGrad", 0)])
    y.backward()
    assert (y.item(), x.grad.item()) == (9.0, 6.0)


def test_several_outputs_have_numbers_and_missing_gradients_are_zeros() -> None:
    x, w = leaf(3.0), leaf(5.0)
    first, second = Scaled.apply(x, 10.0, w)
    assert (first.item(), second.item(), first.output_nr, second.output_nr) == (35.0, 10.0, 0, 1)
    assert first.grad_fn is second.grad_fn
    assert slots(first.grad_fn) == [("AccumulateGrad", 0), ("AccumulateGrad", 0)]
    total = second * 3
    assert slots(total.grad_fn) == [("ScaledBackward", 1), (None, 0)]
    total.backward()
    assert [g.item() for g in second.grad_fn.seen] == [0.0, 3.0]
    assert (x.grad.item(), w.grad.item()) == (0.0, 6.0)


def test_forward_is_not_recorded_and_no_node_is_made_without_gradients() -> None:
    y = Square.apply(torch.tensor(3.0))
    assert (y.requires_grad, y.grad_fn) == (False, None)
    with torch.no_grad():
        assert Square.apply(leaf(3.0)).grad_fn is None
