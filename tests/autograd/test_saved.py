"""The ``_saved_*`` of nodes, before and after backward."""

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


def test_saved_tensors_are_gone_after_backward_and_numbers_stay() -> None:
    x = leaf([2.0])
    y = (x**2).sum()
    y.backward()
    power = y.grad_fn.next_functions[0][0]
    with pytest.raises(RuntimeError, match=r"directly access saved tensors after they have already been freed"):
        _ = power._saved_self
    assert power._saved_exponent == 2


def test_a_whole_number_above_those_of_int64_is_saved_as_a_float() -> None:
    x = torch.tensor(1.5, requires_grad=True)
    assert str((x * 2**63).grad_fn._saved_other) == "tensor(9.2234e+18, dtype=torch.float64)"
