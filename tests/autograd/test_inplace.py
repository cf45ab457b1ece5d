"""Writing in place: views and their bases; what PyTorch refuses is in tests/snippets.txt."""

from __future__ import annotations

import pytest
from tested import label, leaf, slots, torch


def test_a_view_and_a_detached_twin_share_the_version() -> None:
    x = torch.ones(2, 2)
    view, twin = x[0], x.detach()
    x.mul_(2)
    assert (view._version, twin._version) == (1, 1)
    twin.add_(1)
    assert (x._version, view.tolist()) == (2, [3.0, 3.0])


def test_an_in_place_operation_takes_the_place_in_the_graph() -> None:
    x = leaf([1.0, 2.0])
    y = x * 2
    same = y
    y.exp_()
    assert same is y
    assert (label(y.grad_fn), slots(y.grad_fn)) == ("ExpBackward0", [("MulBackward0", 0)])
    y.sum().backward()
    assert x.grad.tolist() == (y * 2).tolist()


def test_a_view_written_in_place_makes_copy_slices_of_its_base() -> None:
    x = leaf([1.0, 2.0, 3.0])
    base = x * 2
    view = base[:2]
    view.mul_(10)
    assert label(base.grad_fn) == "CopySlices"
    assert label(view.grad_fn) == "AsStridedBackward0"
    assert slots(base.grad_fn) == [("MulBackward0", 0), (None, 0)]
    base.sum().backward()
    assert x.grad.tolist() == [20.0, 20.0, 2.0]


def test_assigning_to_a_part_gives_that_part_no_gradient_and_the_value_one() -> None:
    x, v = leaf([1.0, 2.0, 3.0]), leaf(7.0)
    base = x * 2
    base[1] = v
    assert label(base.grad_fn) == "CopySlices"
    assert base.tolist() == [2.0, 7.0, 6.0]
    base.sum().backward()
    assert (x.grad.tolist(), v.grad.item()) == ([2.0, 0.0, 2.0], 1.0)


def test_views_find_their_new_edge_after_their_base_was_written() -> None:
    x = leaf([1.0, 2.0])
    base = x * 2
    view = base[0]
    assert label(view.grad_fn) == "SelectBackward0"
    base.mul_(3)
    view.backward()
    assert x.grad.tolist() == [6.0, 0.0]


def test_a_view_of_a_view_has_the_first_base() -> None:
    base = leaf([[1.0, 2.0]]) * 1
    view = base[0][1:]
    assert view._base is base
    view.add_(1)
    assert label(base.grad_fn) == "CopySlices"


@pytest.mark.parametrize("method", ["add_", "mul_", "exp_"])
def test_arithmetic_on_windows_that_overlap_is_refused_and_no_other_numbers_are_given(method: str) -> None:
    x = torch.arange(4.0)
    with pytest.raises(NotImplementedError, match="windows that overlap is not in gviz's engine"):
        getattr(x.unfold(0, 2, 1), method)(*[2] * (method != "exp_"))
    assert x.tolist() == [0, 1, 2, 3]
