"""What nodes save: ``_saved_*`` before and after backward."""

from __future__ import annotations

from typing import Any

import pytest
from tested import leaf, torch


def saved_names(node: Any) -> list[str]:
    return [name for name in dir(node) if name.startswith("_saved_")]


def test_a_product_saves_what_the_other_factor_needs() -> None:
    x, w, frozen = leaf([2.0]), leaf([3.0]), torch.ones(1)
    both, one = (x * w).grad_fn, (x * frozen).grad_fn
    assert saved_names(both) == ["_saved_other", "_saved_self"]
    assert (both._saved_self is x, both._saved_other is w) == (True, True)
    assert (one._saved_self, one._saved_other is frozen) == (None, True)


def test_a_saved_result_has_its_place_in_the_graph() -> None:
    y = leaf([2.0]).exp()
    saved = y.grad_fn._saved_result
    assert saved.tolist() == y.tolist()
    assert saved.grad_fn is y.grad_fn


def test_numbers_are_saved_too() -> None:
    x = leaf([[2.0, 3.0]])
    assert (x + 1).grad_fn._saved_alpha == 1
    assert (x**3).grad_fn._saved_exponent == 3
    assert x.sum(dim=1).grad_fn._saved_self_sym_sizes == (1, 2)
    assert x.sum(dim=-1).grad_fn._saved_dim == (2**64 - 1,)
    assert x.mean().grad_fn._saved_self_sym_numel == 2
    assert x[-1].grad_fn._saved_index == 2**64 - 1


def test_what_is_not_saved_is_no_attribute() -> None:
    with pytest.raises(AttributeError):
        _ = (leaf(1.0) + 1).grad_fn._saved_other


def test_saved_tensors_are_gone_after_backward_and_numbers_stay() -> None:
    x = leaf([2.0])
    y = (x**2).sum()
    y.backward()
    power = y.grad_fn.next_functions[0][0]
    with pytest.raises(RuntimeError, match=r"directly access saved tensors after they have already been freed"):
        _ = power._saved_self
    assert power._saved_exponent == 2


def test_saved_tensors_stay_with_retain_graph() -> None:
    x = leaf([2.0])
    y = x * x
    y.backward(retain_graph=True)
    assert y.grad_fn._saved_self is x


def test_a_saved_tensor_that_was_modified_cannot_be_read() -> None:
    x, w = leaf([1.0]), torch.ones(1)
    y = x * w
    w.add_(1)
    with pytest.raises(RuntimeError, match="has been modified by an inplace operation"):
        _ = y.grad_fn._saved_other


def test_the_end_of_a_slice_is_told_where_its_gradient_is_recorded() -> None:
    x = leaf([1.0, 2.0, 3.0])
    (grad,) = torch.autograd.grad(torch.trapezoid(x * x, x), x, create_graph=True)
    nodes, ends = [grad.grad_fn], []
    for node in nodes:
        ends += [node._saved_end] if type(node).__name__ == "SliceBackwardBackward0" else []
        nodes += [n for n, _ in node.next_functions if n is not None and n not in nodes]
    assert 2**63 - 1 in ends
    assert None not in ends


def test_a_power_in_a_norm_s_gradient_saves_a_recorded_copy() -> None:
    x = leaf([1.0, 2.0])
    (grad,) = torch.autograd.grad(torch.linalg.vector_norm(x, 3), x, create_graph=True)
    nodes = [grad.grad_fn]
    for node in nodes:
        nodes += [n for n, _ in node.next_functions if n is not None and n not in nodes]
    copies = [type(n._saved_self.grad_fn).__name__ for n in nodes if type(n).__name__ == "PowBackward0"]
    assert "CloneBackward0" in copies
