"""Who requires a gradient, where gradients end up, and what backward leaves behind."""

from __future__ import annotations

import gc
import warnings
from typing import Any

import pytest
from tested import IS_GVIZ, label, leaf, slots, torch

SECOND_TIME = "Trying to backward through the graph a second time"


# Leaves -----------------------------------------------------------------------------------------------------------


def test_requiring_a_gradient_is_contagious() -> None:
    x, frozen = leaf(1.0), torch.tensor(2.0)
    assert (frozen * frozen).requires_grad is False
    assert (frozen * x).requires_grad is True
    assert (x > frozen).requires_grad is False


def test_what_no_recorded_operation_made_is_a_leaf() -> None:
    frozen = torch.tensor(2.0)
    assert (frozen * 2).is_leaf
    assert frozen.is_leaf
    assert leaf(1.0).is_leaf
    assert not (leaf(1.0) * 1).is_leaf


@pytest.mark.parametrize("values", [[1, 2], [True]])
def test_integers_cannot_require_a_gradient(values: list[Any]) -> None:
    with pytest.raises(RuntimeError, match=r"^Only Tensors of floating point and complex dtype can require gradients$"):
        torch.tensor(values, requires_grad=True)
    given = torch.tensor(values)
    with pytest.raises(RuntimeError, match=r"^only Tensors of floating point and complex dtype can require gradients$"):
        given.requires_grad = True


def test_a_non_leaf_cannot_be_told_to_require_no_gradient() -> None:
    y = leaf(1.0) * 2
    with pytest.raises(RuntimeError) as caught:
        y.requires_grad = False
    assert str(caught.value) == (
        "you can only change requires_grad flags of leaf variables. If you want to use a computed variable in a subgraph "
        "that doesn't require differentiation use var_no_grad = var.detach()."
    )


def test_a_leaf_that_stops_requiring_a_gradient_leaves_the_old_graph_alone() -> None:
    x = leaf(2.0)
    y = x * 3
    x.requires_grad_(requires_grad=False)
    assert (x * 3).requires_grad is False
    y.backward()
    assert x.grad is None


def test_backward_adds_to_the_gradient_that_is_there() -> None:
    x = leaf(2.0)
    for _ in range(3):
        (x * 5).backward()
    assert x.grad.item() == 15.0
    x.grad = None
    (x * 5).backward()
    assert x.grad.item() == 5.0


def test_accumulating_writes_into_the_gradient_in_place() -> None:
    x = leaf(2.0)
    (x * 5).backward()
    held = x.grad
    (x * 5).backward()
    assert x.grad is held
    assert held.item() == 10.0


def test_a_gradient_does_not_share_memory_with_another() -> None:
    x, w = leaf([1.0]), leaf([1.0])
    (x + w).backward()
    x.grad.zero_()
    assert w.grad.tolist() == [1.0]


def test_both_slots_of_a_square_stay() -> None:
    x = leaf(3.0)
    y = x * x
    assert slots(y.grad_fn) == [("AccumulateGrad", 0), ("AccumulateGrad", 0)]
    assert y.grad_fn.next_functions[0][0] is y.grad_fn.next_functions[1][0]
    y.backward()
    assert x.grad.item() == 6.0


def test_a_leaf_is_reached_through_one_node_as_long_as_a_graph_holds_it() -> None:
    x = leaf(3.0)
    y, z = x * 2, x * 3
    assert y.grad_fn.next_functions[0][0] is z.grad_fn.next_functions[0][0]
    assert y.grad_fn.next_functions[0][0].variable is x
    assert y.grad_fn.next_functions[0][0].name() == "torch::autograd::AccumulateGrad"


def test_a_broadcast_gradient_is_summed_back_to_the_shape_of_the_input() -> None:
    row, column, point = torch.ones(3, requires_grad=True), torch.ones(2, 1, requires_grad=True), leaf(1.0)
    (row * column * point).backward(torch.ones(2, 3))
    assert (row.grad.tolist(), column.grad.tolist(), point.grad.item()) == ([2.0] * 3, [[3.0], [3.0]], 6.0)


def test_gradients_have_the_dtype_of_their_tensor() -> None:
    single, double = leaf([1.0]), torch.tensor([2.0], dtype=torch.float64, requires_grad=True)
    y = single * double
    y.backward()
    assert (y.dtype, single.grad.dtype, double.grad.dtype) == (torch.float64, torch.float32, torch.float64)


# grad and retain_grad -----------------------------------------------------------------------------------------------


def test_reading_the_gradient_of_a_non_leaf_warns_once_per_place() -> None:
    y = leaf(1.0) * 2
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        for _ in range(3):
            assert y.grad is None
        assert y.grad is None
    assert len(caught) == 2
    assert str(caught[0].message).startswith(
        "The .grad attribute of a Tensor that is not a leaf Tensor is being accessed. Its .grad attribute won't be populated "
        "during autograd.backward()."
    )


def test_a_non_leaf_that_retains_its_gradient_accumulates_too() -> None:
    x = leaf(2.0)
    y = x * 3
    y.retain_grad()
    assert y.retains_grad
    z = y * y
    z.backward(retain_graph=True)
    z.backward()
    assert y.grad.item() == 24.0


def test_retain_grad_is_for_tensors_that_require_one() -> None:
    x = leaf(2.0)
    x.retain_grad()
    assert x.retains_grad is False
    with pytest.raises(RuntimeError, match=r"^can't retain_grad on Tensor that has requires_grad=False$"):
        torch.tensor(1.0).retain_grad()


def test_a_wrong_gradient_cannot_be_assigned() -> None:
    x = leaf([1.0, 2.0])
    with pytest.raises(TypeError, match=r"^assigned grad expected to be a Tensor or None but got grad of type float$"):
        x.grad = 1.0
    with pytest.raises(RuntimeError, match=r"attempting to assign a gradient of size '\[3\]' to a tensor of size"):
        x.grad = torch.ones(3)
    with pytest.raises(RuntimeError, match=r"^can't assign Variable as its own grad$"):
        x.grad = x
    x.grad = torch.ones(2)
    (x * 2).sum().backward()
    assert x.grad.tolist() == [3.0, 3.0]


# Freeing ----------------------------------------------------------------------------------------------------------


def test_a_graph_that_saved_tensors_runs_once() -> None:
    x = leaf(2.0)
    y = x * x
    y.backward()
    with pytest.raises(RuntimeError, match=SECOND_TIME):
        y.backward()


def test_a_graph_that_saved_no_tensor_runs_again() -> None:
    x = leaf(2.0)
    y = x + x + 1
    y.backward()
    y.backward()
    assert x.grad.item() == 4.0


def test_the_part_of_a_graph_that_another_root_shares_is_freed_too() -> None:
    x = leaf(2.0)
    shared = x.exp()
    first, second = shared * 2, shared + 1
    first.backward()
    with pytest.raises(RuntimeError, match=SECOND_TIME):
        second.backward()


def test_an_error_in_the_middle_leaves_no_gradient_waiting() -> None:
    x = leaf(2.0)
    y = x.exp()
    z = y + x
    y.backward()
    with pytest.raises(RuntimeError, match=SECOND_TIME):
        z.backward()
    x.grad = None
    w = x + x
    w.backward()
    assert x.grad.item() == 2.0


# backward's own refusals --------------------------------------------------------------------------------------------


def test_backward_needs_a_graph() -> None:
    with pytest.raises(RuntimeError, match=r"^element 0 of tensors does not require grad and does not have a grad_fn$"):
        torch.tensor(1.0).backward()


def test_a_leaf_alone_gets_a_gradient_of_one() -> None:
    x = leaf(2.0)
    x.backward()
    assert x.grad.item() == 1.0


def test_a_gradient_of_another_shape_is_refused() -> None:
    y = leaf([1.0, 2.0]) * 2
    with pytest.raises(RuntimeError) as caught:
        y.backward(torch.ones(3))
    assert str(caught.value) == (
        "Mismatch in shape: grad_output[0] has a shape of torch.Size([3]) and output[0] has a shape of torch.Size([2])."
    )


def test_a_gradient_is_a_tensor_or_several() -> None:
    with pytest.raises(TypeError, match=r"^'float' object is not iterable$"):
        (leaf(1.0) * 2).backward(1.0)


def test_grad_gives_gradients_and_leaves_grad_alone() -> None:
    x, w = leaf(2.0), leaf(3.0)
    y = x * w
    found = torch.autograd.grad(y, [x, w])
    assert [g.item() for g in found] == [3.0, 2.0]
    assert (x.grad, w.grad) == (None, None)


def test_grad_of_a_non_leaf_is_what_arrives_there() -> None:
    x = leaf(2.0)
    y = x * 3
    assert torch.autograd.grad(y * y, y)[0].item() == 12.0


def test_grad_of_what_is_not_in_the_graph_has_to_be_allowed() -> None:
    x, other = leaf(2.0), leaf(1.0)
    y = x * 3
    with pytest.raises(RuntimeError, match="appears to not have been used in the graph"):
        torch.autograd.grad(y, [x, other], retain_graph=True)
    assert torch.autograd.grad(y, [x, other], allow_unused=True)[1] is None


def test_backward_with_inputs_fills_only_these() -> None:
    x, w = leaf(2.0), leaf(3.0)
    (x * w).backward(inputs=[w])
    assert (x.grad, w.grad.item()) == (None, 2.0)


# Modes ------------------------------------------------------------------------------------------------------------


def test_nothing_is_recorded_under_no_grad() -> None:
    x = leaf(2.0)
    with torch.no_grad():
        y = x * 2
        assert torch.is_grad_enabled() is False
        with torch.enable_grad():
            z = x * 2
    assert (y.requires_grad, y.grad_fn, z.requires_grad) == (False, None, True)
    assert torch.is_grad_enabled()


def test_no_grad_is_a_decorator_with_and_without_brackets() -> None:
    x = leaf(2.0)

    @torch.no_grad()  # type: ignore[untyped-decorator]
    def with_brackets() -> Any:
        return x * 2

    @torch.no_grad  # type: ignore[untyped-decorator]
    def without() -> Any:
        return x * 2

    assert not with_brackets().requires_grad
    assert not without().requires_grad
    assert (x * 2).requires_grad


def test_set_grad_enabled_works_at_once_and_as_a_block() -> None:
    x = leaf(2.0)
    torch.set_grad_enabled(False)
    try:
        assert not (x * 2).requires_grad
    finally:
        torch.set_grad_enabled(True)
    with torch.set_grad_enabled(False):
        assert not (x * 2).requires_grad
    assert (x * 2).requires_grad


def test_an_error_inside_no_grad_puts_the_mode_back() -> None:
    with pytest.raises(ValueError, match="inside"), torch.no_grad():
        raise ValueError("inside")
    assert torch.is_grad_enabled()


def test_a_view_under_no_grad_requires_a_gradient_but_leads_nowhere() -> None:
    x = leaf([1.0, 2.0])
    with torch.no_grad():
        view = x[0]
        copy = x * 1
    assert (copy.requires_grad, copy.is_leaf) == (False, True)
    assert (view._is_view(), view._base is x, view.grad_fn) == (True, True, None)


# A backward pass inside another, and determinism ----------------------------------------------------------------------


def test_a_backward_pass_may_run_inside_a_hook() -> None:
    x, inner = leaf(2.0), leaf(3.0)
    y = x * 3

    def run_another(grad: Any) -> None:
        assert not torch.is_grad_enabled()
        with torch.enable_grad():
            (inner * inner).backward()

    y.register_hook(run_another)
    (y * 2).backward()
    assert (x.grad.item(), inner.grad.item()) == (6.0, 6.0)


def test_a_backward_pass_inside_a_hook_may_go_through_the_same_graph() -> None:
    x = leaf(2.0)
    shared = x * 3
    first, second = shared + 1, shared + 2
    first.register_hook(lambda grad: second.backward(retain_graph=True))
    first.backward()
    assert x.grad.item() == 6.0


def test_the_same_program_twice_gives_the_same_graph() -> None:
    def program() -> list[Any]:
        x, w = leaf([[1.0, 2.0]]), leaf([[3.0], [4.0]])
        y = ((x @ w).tanh() + x.sum(dim=-1, keepdim=True) ** 2).softmax(0)
        order, found = [y.grad_fn], []
        for node in order:
            found.append((label(node), slots(node)))
            order += [following for following, _ in node.next_functions if following is not None]
        return found

    assert program() == program()


# Memory: what is dropped is gone at once, without the garbage collector -------------------------------------------------


@pytest.fixture
def no_collector() -> Any:
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def watched(tensor: Any) -> Any:
    import weakref

    return weakref.ref(tensor)


def live(kind: type) -> int:
    """How many nodes of a class there are (they take no weak references, as PyTorch's)."""
    return sum(type(one) is kind for one in gc.get_objects())


@pytest.mark.skipif(not IS_GVIZ, reason="about gviz's own memory")
@pytest.mark.parametrize(
    "program",
    [
        lambda x: x * 2,
        lambda x: x * x,
        lambda x: (x * x).exp().sum(),
        lambda x: x.tanh().sum(dim=0),
        lambda x: (x @ x).relu().softmax(0),
        lambda x: x[0].reshape(2, 1).expand(2, 2).clone(),
        lambda x: torch.cat([x, x]).max(),
        lambda x: x.max(dim=0)[0],
        lambda x: torch.stack(list(x.unbind(0))).mean(),
    ],
)
def test_a_dropped_result_and_its_leaf_are_collected_at_once(program: Any, no_collector: None) -> None:
    x = torch.ones(2, 2, requires_grad=True)
    y = program(x)
    kind = type(y.grad_fn)
    before = live(kind)
    ends = [watched(x), watched(y)]
    del y
    assert ends[1]() is None
    assert live(kind) == before - 1
    del x
    assert ends[0]() is None


@pytest.mark.skipif(not IS_GVIZ, reason="about gviz's own memory")
def test_a_leaf_with_a_gradient_is_collected_at_once(no_collector: None) -> None:
    x = leaf([1.0, 2.0])
    y = (x * x).sum()
    y.backward()
    gone = [watched(x), watched(y), watched(x.grad)]
    del x, y
    assert [w() for w in gone] == [None] * 3


@pytest.mark.skipif(not IS_GVIZ, reason="about gviz's own memory")
def test_a_graph_keeps_its_leaves(no_collector: None) -> None:
    x = leaf([1.0, 2.0])
    y = x * 2
    gone = watched(x)
    del x
    assert gone() is y.grad_fn.next_functions[0][0].variable
    del y
    assert gone() is None


# Anomaly mode -----------------------------------------------------------------------------------------------------


@pytest.mark.skipif(not IS_GVIZ, reason="what runs a program here runs no script there")
def test_the_forward_lines_of_a_node_begin_at_the_programs_first_file() -> None:
    space: dict[str, Any] = {"__name__": "__main__", "torch": torch, "x": leaf(1.0)}
    with torch.autograd.set_detect_anomaly(True):
        exec(compile("def f():\n    return x.sqrt()\ny = f()", "program.py", "exec"), space)  # noqa: S102 - written here
    lines = [line.splitlines()[0] for line in space["y"].grad_fn.metadata["traceback_"]]
    assert lines == ['  File "program.py", line 3, in <module>', '  File "program.py", line 2, in f']


def test_anomaly_mode_names_the_forward_line_of_a_nan() -> None:
    x = torch.tensor([-1.0], requires_grad=True)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always", UserWarning)
        with torch.autograd.detect_anomaly():
            loss = (torch.sqrt(x) * 0).sum()
            with pytest.raises(RuntimeError, match="Function 'SqrtBackward0' returned nan values in its 0th output"):
                loss.backward()
    assert "loss = (torch.sqrt(x) * 0).sum()" in str(said[-1].message)
