"""The articles' programs on the engine: values, gradients, labels, edges, leaves and errors."""

from __future__ import annotations

from typing import Any

import pytest
from tested import label, labels, leaf, slots, torch

SECOND_TIME = "Trying to backward through the graph a second time"


def y_of(x: Any, w: Any) -> tuple[Any, Any, Any]:
    a = torch.add(x, w)
    b = torch.add(w, 1)
    return a, b, torch.mul(a, b)


def test_y_has_the_values_and_gradients_of_the_articles() -> None:
    w, x = leaf(1.0), leaf(2.0)
    a, b, y = y_of(x, w)
    assert (a.item(), b.item(), y.item()) == (3.0, 2.0, 6.0)
    y.backward()
    assert (w.grad.item(), x.grad.item()) == (5.0, 2.0)


def test_only_leaves_keep_their_gradient() -> None:
    w, x = leaf([1.0]), leaf([2.0])
    a, b, y = y_of(x, w)
    a.retain_grad()
    y.backward()
    assert [t.is_leaf for t in (w, x, a, b, y)] == [True, True, False, False, False]
    assert a.grad.tolist() == [2.0]
    with pytest.warns(UserWarning, match="not a leaf Tensor is being accessed"):
        assert b.grad is None


def test_y_has_the_graph_of_the_articles() -> None:
    w, x = leaf(1.0), leaf(2.0)
    a, b, y = y_of(x, w)
    assert [label(t.grad_fn) for t in (w, x, a, b, y)] == [None, None, "AddBackward0", "AddBackward0", "MulBackward0"]
    assert [node for node, _ in y.grad_fn.next_functions] == [a.grad_fn, b.grad_fn]
    assert [node.variable is t for (node, _), t in zip(a.grad_fn.next_functions, (x, w), strict=True)] == [True, True]
    assert slots(b.grad_fn) == [("AccumulateGrad", 0), (None, 0)]
    assert a.grad_fn.next_functions[1][0] is b.grad_fn.next_functions[0][0], "a leaf has one node, with two ways out"


def five(a: Any, w1: Any, w2: Any, w3: Any, w4: Any) -> tuple[Any, ...]:
    b = w1 * a
    c = w2 * a
    d = w3 * b + w4 * c
    return b, c, d, 10 - d


def test_five_neurons_have_the_values_and_gradients_of_the_article() -> None:
    a, weights = leaf(2.0), [leaf(float(i)) for i in (1, 2, 3, 4)]
    b, c, d, loss = five(a, *weights)
    assert [t.item() for t in (b, c, d, loss)] == [2.0, 4.0, 22.0, -12.0]
    loss.backward()
    assert [w.grad.item() for w in weights] == [-6.0, -8.0, -2.0, -4.0]
    assert a.grad.item() == -11.0
    assert label(loss.grad_fn) == "RsubBackward1"
    assert labels(loss) == ["RsubBackward1", "AddBackward0", *["MulBackward0"] * 2, "AccumulateGrad", "MulBackward0",
                            "AccumulateGrad", "MulBackward0", *["AccumulateGrad"] * 3]  # fmt: skip


def test_a_matrix_is_no_root_without_a_gradient() -> None:
    a, weights = torch.ones(3, 3, requires_grad=True), [torch.ones(3, 3, requires_grad=True) for _ in range(4)]
    loss = five(a, *weights)[-1]
    with pytest.raises(RuntimeError) as caught:
        loss.backward()
    assert str(caught.value) == "grad can be implicitly created only for scalar outputs"
    loss.backward(torch.ones(loss.shape))
    assert a.grad.tolist() == [[-2.0] * 3] * 3


def test_the_sum_of_a_matrix_is_a_root() -> None:
    a, weights = torch.ones(3, 3, requires_grad=True), [torch.ones(3, 3, requires_grad=True) for _ in range(4)]
    (10 - five(a, *weights)[2]).sum().backward()
    assert weights[0].grad.tolist() == [[-1.0] * 3] * 3


def test_a_second_backward_is_an_error_and_retain_graph_allows_it() -> None:
    a, weights = leaf(2.0), [leaf(float(i)) for i in (1, 2, 3, 4)]
    loss = five(a, *weights)[-1]
    loss.backward(retain_graph=True)
    loss.backward()
    assert a.grad.item() == -22.0
    with pytest.raises(RuntimeError, match=SECOND_TIME):
        loss.backward()


def test_an_update_outside_no_grad_makes_a_new_tensor_that_is_no_leaf() -> None:
    w1 = leaf(1.0)
    (w1 * 3).backward()
    updated = w1 - 0.1 * w1.grad
    assert (updated.is_leaf, label(updated.grad_fn)) == (False, "SubBackward0")


def test_no_grad_without_brackets_is_a_type_error() -> None:
    with pytest.raises(TypeError, match="context manager protocol"), torch.no_grad:
        pass


def test_old_constructors_take_a_shape() -> None:
    tsr = torch.Tensor(3, 5)
    t2 = torch.FloatTensor(3, 3)
    t2.requires_grad = True
    assert (tuple(tsr.shape), tuple(t2.shape), t2.is_leaf) == ((3, 5), (3, 3), True)
    assert torch.randn((3, 3), requires_grad=True).requires_grad


def test_h_is_the_torchviz_article_s() -> None:
    x, w, b = leaf(1.0), leaf(4.0), leaf(0.5)
    h = w * x + b
    assert h.item() == 4.5
    assert labels(h) == ["AddBackward0", "MulBackward0", *["AccumulateGrad"] * 3]


def test_a_frozen_input_leaves_an_empty_slot() -> None:
    x, w, b = torch.tensor(1.0), leaf(4.0), leaf(0.5)
    h = w * x + b
    assert slots(h.grad_fn.next_functions[0][0]) == [("AccumulateGrad", 0), (None, 0)]


def test_detach_leaves_the_graph_of_the_original_as_it_is() -> None:
    w = leaf(4.0)
    h = w * 2
    copy = h.detach()
    assert (copy.requires_grad, copy.grad_fn, label(h.grad_fn)) == (False, None, "MulBackward0")
    assert copy.data_ptr() == h.data_ptr()


def test_e_has_the_values_and_gradients_of_the_article() -> None:
    a, b, c, d = (leaf(v) for v in (2.0, 3.0, 5.0, 10.0))
    u, t = a * b, torch.log(d)
    v = t * c
    e = u + v
    t.retain_grad()
    e.backward()
    assert e.item() == 17.51292610168457
    assert [round(g.grad.item(), 6) for g in (a, b, c, d, t)] == [3.0, 2.0, 2.302585, 0.5, 5.0]
    assert labels(e) == ["AddBackward0", "MulBackward0", "MulBackward0", "AccumulateGrad", "AccumulateGrad", "LogBackward0",
                         "AccumulateGrad", "AccumulateGrad"]  # fmt: skip


def test_a_quotient_is_a_div_backward() -> None:
    assert label((leaf(1.0) / leaf(2.0)).grad_fn) == "DivBackward0"
