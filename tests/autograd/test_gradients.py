"""Where gradients end up, and what backward leaves behind; what PyTorch prints of both is in tests/snippets.txt."""

from __future__ import annotations

import gc
import warnings
import weakref
from typing import Any

import pytest
from tested import IS_GVIZ, label, leaf, slots, torch


def test_what_no_recorded_operation_made_is_a_leaf() -> None:
    frozen = torch.tensor(2.0)
    assert (frozen * 2).is_leaf
    assert frozen.is_leaf
    assert leaf(1.0).is_leaf
    assert not (leaf(1.0) * 1).is_leaf


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


@pytest.mark.parametrize("dtype", [torch.int64, torch.int32, torch.uint8, torch.float32])
def test_the_logarithm_in_a_derivative_is_no_whole_number_though_its_operand_is(dtype: Any) -> None:
    base, x = torch.tensor([2, 3]).to(dtype), leaf([0.5, 2.0])
    (base**x).sum().backward()
    assert x.grad.tolist() == pytest.approx([0.980258, 9.887511])
    x.grad = None
    torch.xlogy(x, base).sum().backward()
    assert x.grad.tolist() == pytest.approx([0.693147, 1.098612])


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


def test_a_leaf_is_reached_through_one_node_as_long_as_a_graph_holds_it() -> None:
    x = leaf(3.0)
    y, z = x * 2, x * 3
    assert y.grad_fn.next_functions[0][0] is z.grad_fn.next_functions[0][0]
    assert y.grad_fn.next_functions[0][0].variable is x
    assert y.grad_fn.next_functions[0][0].name() == "torch::autograd::AccumulateGrad"


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


def test_an_error_in_the_middle_leaves_no_gradient_waiting() -> None:
    x = leaf(2.0)
    y = x.exp()
    z = y + x
    y.backward()
    with pytest.raises(RuntimeError, match="a second time"):
        z.backward()
    x.grad = None
    w = x + x
    w.backward()
    assert x.grad.item() == 2.0


def test_grad_gives_gradients_and_leaves_grad_alone() -> None:
    x, w = leaf(2.0), leaf(3.0)
    y = x * w
    gradients = torch.autograd.grad(y, [x, w])
    assert [g.item() for g in gradients] == [3.0, 2.0]
    assert (x.grad, w.grad) == (None, None)


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
        order, nodes = [y.grad_fn], []
        for node in order:
            nodes.append((label(node), slots(node)))
            order += [following for following, _ in node.next_functions if following is not None]
        return nodes

    assert program() == program()


# Memory: what is dropped is gone at once, without the garbage collector -------------------------------------------------


@pytest.fixture
def no_collector() -> Any:
    gc.collect()
    gc.disable()
    yield
    gc.enable()


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
    ends = [weakref.ref(x), weakref.ref(y)]
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
    gone = [weakref.ref(x), weakref.ref(y), weakref.ref(x.grad)]
    del x, y
    assert [w() for w in gone] == [None] * 3


@pytest.mark.skipif(not IS_GVIZ, reason="about gviz's own memory")
def test_a_graph_keeps_its_leaves(no_collector: None) -> None:
    x = leaf([1.0, 2.0])
    y = x * 2
    gone = weakref.ref(x)
    del x
    assert gone() is y.grad_fn.next_functions[0][0].variable
    del y
    assert gone() is None


# Anomaly mode -----------------------------------------------------------------------------------------------------


@pytest.mark.skipif(not IS_GVIZ, reason="there another file runs the program")
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
