"""The user's own operations: torch.autograd.Function."""

from __future__ import annotations

from typing import Any

import pytest
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


def test_what_a_function_saved_is_freed_with_the_graph() -> None:
    y = Square.apply(leaf(3.0))
    assert y.grad_fn.saved_tensors[0].item() == 3.0
    y.backward()
    with pytest.raises(RuntimeError, match="a second time"):
        y.backward()


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


def test_needs_input_grad_knows_what_is_frozen() -> None:
    x, w = leaf(3.0), torch.tensor(5.0)
    first, _ = Scaled.apply(x, 10.0, w)
    assert tuple(first.grad_fn.needs_input_grad) == (True, False, False)
    first.backward()
    assert x.grad.item() == 10.0


def test_forward_is_not_recorded_and_no_node_is_made_without_gradients() -> None:
    y = Square.apply(torch.tensor(3.0))
    assert (y.requires_grad, y.grad_fn) == (False, None)
    with torch.no_grad():
        assert Square.apply(leaf(3.0)).grad_fn is None


def test_a_wrong_number_of_gradients_is_an_error() -> None:
    class Wrong(torch.autograd.Function):  # type: ignore[misc,unused-ignore]
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 1

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            return grad, grad

    y = Wrong.apply(leaf(1.0))
    with pytest.raises(RuntimeError) as caught:
        y.backward()
    assert str(caught.value) == "function WrongBackward returned an incorrect number of gradients (expected 1, got 2)"


def test_a_gradient_of_a_wrong_shape_is_an_error() -> None:
    class Wrong(torch.autograd.Function):  # type: ignore[misc,unused-ignore]
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 1

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            return torch.ones(3)

    with pytest.raises(RuntimeError) as caught:
        Wrong.apply(leaf([1.0, 2.0])).sum().backward()
    assert str(caught.value) == (
        "Function WrongBackward returned an invalid gradient at index 0 - got [3] but expected shape compatible with [2]"
    )


def test_a_function_can_be_differentiated_twice() -> None:
    x = leaf(3.0)
    (first,) = torch.autograd.grad(Square.apply(x), x, create_graph=True)
    (second,) = torch.autograd.grad(first, x)
    assert (first.item(), second.item()) == (6.0, 2.0)


def test_what_is_marked_non_differentiable_requires_no_gradient() -> None:
    class Parted(torch.autograd.Function):  # type: ignore[misc,unused-ignore]
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            sign = x > 0
            rounded = x * 1
            ctx.mark_non_differentiable(sign, rounded)
            return x * 2, sign, rounded

        @staticmethod
        def backward(ctx: Any, grad: Any, *others: Any) -> Any:
            return grad * 2

    out, sign, rounded = Parted.apply(leaf([1.0]))
    assert (out.requires_grad, sign.requires_grad, rounded.requires_grad) == (True, False, False)


def test_forward_and_setup_context_may_be_apart() -> None:
    class Cube(torch.autograd.Function):  # type: ignore[misc,unused-ignore]
        @staticmethod
        def forward(x: Any) -> Any:
            return x**3

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            ctx.save_for_backward(*inputs)

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            (x,) = ctx.saved_tensors
            return grad * 3 * x**2

    x = leaf(2.0)
    Cube.apply(x).backward()
    assert x.grad.item() == 12.0


def test_a_function_without_forward_or_backward_says_so() -> None:
    class Empty(torch.autograd.Function):  # type: ignore[misc,unused-ignore]
        pass

    class Half(torch.autograd.Function):  # type: ignore[misc,unused-ignore]
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 1

    with pytest.raises(NotImplementedError, match=r"You must implement the forward function for custom autograd.Function."):
        Empty.apply(leaf(1.0))
    with pytest.raises(NotImplementedError, match=r"You must implement either the backward or vjp method"):
        Half.apply(leaf(1.0)).backward()


def test_a_function_that_returns_its_input_gives_a_view_of_it() -> None:
    class Same(torch.autograd.Function):  # type: ignore[misc,unused-ignore]
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            return grad * 3

    x = leaf(1.0)
    y = Same.apply(x)
    assert y is not x
    y.backward()
    assert x.grad.item() == 3.0


def made(forward: Any, backward: Any) -> Any:
    """A Function of two tensors."""
    functions = {"forward": staticmethod(forward), "backward": staticmethod(backward)}
    found: Any = type("Made", (torch.autograd.Function,), functions)
    return found.apply


@pytest.mark.filterwarnings("ignore:Using backward")
@pytest.mark.parametrize("create", [False, True])
def test_a_gradient_that_is_none_goes_on_to_functions_and_hooks(create: bool) -> None:
    a, b = leaf([1.0, 2.0]), leaf([3.0, 4.0])
    seen: Any = []
    inner = made(lambda ctx, a, b: a * b, lambda ctx, g: (g, seen.append(g.tolist())))(a, b)
    middle = inner * 2
    middle.register_hook(seen.append)
    middle.grad_fn.register_hook(lambda given, got: seen.append((given, got)))
    made(lambda ctx, a, b: a * b, lambda ctx, g: (None, g))(middle, b).sum().backward(create_graph=create)
    assert seen == [None, ((None, None), (None,)), [0.0, 0.0]]
    assert (a.grad.tolist(), b.grad.tolist()) == ([0.0, 0.0], [1.0, 1.0])


def test_an_output_that_is_no_tensor_has_no_gradient() -> None:
    a, b = leaf([1.0, 2.0]), leaf([3.0, 4.0])
    seen: Any = []
    first, number, _ = made(lambda ctx, a, b: (a * 2, 3, b * 2), lambda ctx, *g: (seen.append(g), None))(a, b)
    first.sum().backward()
    assert number == 3
    assert [None if g is None else g.tolist() for g in seen[0]] == [[1.0, 1.0], None, [0.0, 0.0]]


def test_a_function_whose_gradients_do_not_fit_keeps_what_it_saved() -> None:
    def forward(ctx: Any, a: Any, b: Any) -> Any:
        ctx.save_for_backward(a)
        return a * b

    y = made(forward, lambda ctx, g: (ctx.saved_tensors[0][:1].expand(5), g))(leaf([1.0, 2.0]), leaf([3.0, 4.0]))
    for _ in range(2):
        with pytest.raises(RuntimeError, match=r"index 0 - got \[5\] but expected shape compatible with \[2\]"):
            y.sum().backward()


@pytest.mark.filterwarnings("ignore:Using backward")
def test_leaves_that_have_their_gradients_get_them_before_an_error_of_a_recorded_pass() -> None:
    x, y = leaf(2.0), leaf(3.0)
    failing = made(lambda ctx, a, b: a * b, lambda ctx, g: g.missing)(y, y)
    with pytest.raises(AttributeError):
        (x * failing).backward(create_graph=True)
    assert x.grad.item() == 9.0


def test_a_view_that_a_function_has_written_changes_the_place_of_its_base() -> None:
    def forward(ctx: Any, a: Any, b: Any) -> Any:
        ctx.mark_dirty(a)
        return a.mul_(b)

    base = leaf([1.0, 2.0]) * 1
    view, factor = base[:1], leaf(5.0)
    out = made(forward, lambda ctx, g: (g * 5, None))(view, factor)
    assert out is view
    assert (label(base.grad_fn), label(view.grad_fn)) == ("CopySlices", "AsStridedBackward0")
    x = leaf([1.0, 2.0])
    with pytest.raises(RuntimeError, match=r"^a view of a leaf Variable that requires grad is being used in an in-place"):
        made(forward, None)(x[:1], factor)


def test_an_input_that_comes_out_is_a_view_where_no_gradient_flows_too() -> None:
    def forward(ctx: Any, a: Any, b: Any) -> Any:
        ctx.mark_non_differentiable(a)
        return a

    x = torch.tensor([1.0])
    assert made(forward, None)(x, leaf(1.0))._base is x
    assert not made(forward, None)(leaf(2.0), leaf(1.0))._is_view()
