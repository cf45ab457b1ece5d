"""Writing in place: versions, refusals, views and their bases."""

from __future__ import annotations

from typing import Any

import pytest
from tested import label, labels, leaf, slots, torch


def message(function: Any) -> str:
    with pytest.raises(RuntimeError) as caught:
        function()
    return str(caught.value)


def test_versions_count_what_is_written_in_place() -> None:
    x = torch.ones(2)
    assert x._version == 0
    x.add_(1)
    x[0] = 5
    x.zero_()
    assert x._version == 3


def test_a_view_and_a_detached_twin_share_the_version() -> None:
    x = torch.ones(2, 2)
    view, twin = x[0], x.detach()
    x.mul_(2)
    assert (view._version, twin._version) == (1, 1)
    twin.add_(1)
    assert (x._version, view.tolist()) == (2, [3.0, 3.0])


def test_data_has_a_version_of_its_own() -> None:
    x = leaf([1.0])
    x.data.add_(1)
    assert (x._version, x.tolist()) == (0, [2.0])


def test_an_in_place_operation_takes_the_place_in_the_graph() -> None:
    x = leaf([1.0, 2.0])
    y = x * 2
    same = y
    y.exp_()
    assert same is y
    assert labels(y) == ["ExpBackward0", "MulBackward0", "AccumulateGrad"]
    y.sum().backward()
    assert x.grad.tolist() == (y * 2).tolist()


def test_a_leaf_cannot_be_written_in_place() -> None:
    x = leaf([1.0])
    assert message(lambda: x.add_(1)) == "a leaf Variable that requires grad is being used in an in-place operation."
    assert message(lambda: x[0].add_(1)) == (
        "a view of a leaf Variable that requires grad is being used in an in-place operation."
    )
    with torch.no_grad():
        x.add_(1)
    assert x.tolist() == [2.0]


def test_the_version_error_names_the_operation_and_the_versions() -> None:
    x = leaf([1.0, 2.0])
    y = x.exp()
    z = y.sum()
    with torch.no_grad():
        y.add_(1)
    assert message(z.backward) == (
        "one of the variables needed for gradient computation has been modified by an inplace operation: "
        "[torch.FloatTensor [2]], which is output 0 of Exp, is at version 1; expected version 0 instead. Hint: enable anomaly "
        "detection to find the operation that failed to compute its gradient, with torch.autograd.set_detect_anomaly(True, "
        "check_nan=False)."
    )


def test_a_leaf_written_through_detach_is_found_out() -> None:
    x = leaf([1.0, 2.0])
    y = x * x
    x.detach().add_(1)
    assert "[torch.FloatTensor [2]] is at version 1; expected version 0 instead" in message(y.sum().backward)


def test_an_input_written_in_place_after_it_was_saved_is_found_out() -> None:
    x, w = leaf([1.0]), torch.ones(1)
    y = x * w
    w.add_(1)
    assert "is at version 1; expected version 0 instead" in message(y.backward)


def test_what_is_not_saved_may_be_written() -> None:
    x = leaf([1.0, 2.0])
    y = x * 2
    z = y + 1
    y.mul_(3)
    z.sum().backward()
    assert x.grad.tolist() == [2.0, 2.0]


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


def test_outputs_of_unbind_cannot_be_written() -> None:
    first, _ = (leaf([1.0, 2.0]) * 1).unbind(0)
    assert message(lambda: first.add_(1)) == (
        "Output 0 of Unbind is a view and is being modified inplace. This view is the output of a function that returns "
        "multiple views. Such functions do not allow the output views to be modified inplace. You should replace the inplace "
        "operation by an out-of-place one."
    )


def test_a_view_made_under_no_grad_cannot_be_written_with_gradients() -> None:
    base = leaf([1.0, 2.0]) * 1
    with torch.no_grad():
        view = base[0]
    assert message(lambda: view.mul_(2)).startswith("A view was created in no_grad mode and is being modified inplace with")


def test_a_result_of_another_shape_or_kind_cannot_be_written() -> None:
    assert message(lambda: torch.ones(2).add_(torch.ones(3, 2))) == (
        "output with shape [2] doesn't match the broadcast shape [3, 2]"
    )
    assert message(lambda: torch.tensor([1]).add_(torch.tensor([1.5]))) == (
        "result type Float can't be cast to the desired output type Long"
    )


def test_plus_equals_is_in_place_and_plus_is_not() -> None:
    x = torch.ones(2)
    same = x
    x += 1
    assert x is same
    x = x + 1
    assert x is not same
    assert (same.tolist(), x.tolist()) == ([2.0, 2.0], [3.0, 3.0])


def test_detach_in_place_takes_a_tensor_out_of_the_graph() -> None:
    y = leaf(1.0) * 2
    y.detach_()
    assert (y.is_leaf, y.requires_grad, y.grad_fn) == (True, False, None)
    assert message((leaf([1.0]) * 1)[0].detach_).startswith("Can't detach views in-place. Use detach() instead.")


def test_index_put_takes_a_tuple_of_indices() -> None:
    x = torch.ones(3)
    assert torch.index_put(x, (torch.tensor([0]),), torch.tensor([5.0])).tolist() == [5.0, 1.0, 1.0]
    x.index_put_((torch.tensor([1]),), torch.tensor([2.0]), accumulate=True)
    assert x.tolist() == [1.0, 3.0, 1.0]


def test_the_grad_of_a_view_that_must_not_be_used_any_more_is_none() -> None:
    class Flat(torch.autograd.Function):  # type: ignore[misc]
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x.view(-1)

    x = torch.ones(2, requires_grad=True) * 1
    y = Flat.apply(x)
    y.retain_grad()
    x.mul_(2)
    assert y.grad is None
    with pytest.raises(RuntimeError, match="Output 0 of Flat is a view"):
        _ = y.is_leaf
