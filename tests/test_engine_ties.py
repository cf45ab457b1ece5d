"""Equal elements: sorting and selecting leave them where PyTorch 2.13 does, and the gradient goes where it goes there."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gviz import engine

torch: Any = engine
TWENTY = [0.0, 8, 4, 1, 6, 1, 7, 3, 1, 5, 1, 8, 6, 3, 5, 4, 4, 2, 2, 0]


@pytest.mark.parametrize(
    ("numbers", "find", "indices"),
    [
        ([1.0, 1, 1, 1], lambda x: x.topk(1).indices, [2]),
        ([1.0, 0, 1, 1], lambda x: x.topk(2).indices, [2, 3]),
        (TWENTY, lambda x: x.topk(5).indices, [1, 11, 6, 4, 12]),
        (TWENTY, lambda x: x.topk(5, largest=False).indices, [19, 0, 10, 8, 5]),
        ([0.0, 0, 1], lambda x: x.kthvalue(1).indices, 1),
        (TWENTY, lambda x: x.kthvalue(9).indices, 13),
        (TWENTY, lambda x: x.mode().indices, 3),
        (TWENTY, lambda x: x.sort().indices[:6], [19, 0, 10, 8, 5, 3]),
        (TWENTY, lambda x: x.sort(stable=True).indices[:6], [0, 19, 3, 5, 8, 10]),
        (TWENTY, lambda x: x.argsort(descending=True)[-6:], [10, 8, 5, 3, 0, 19]),
    ],
)
def test_equal_elements_come_in_pytorchs_order(numbers: list[float], find: Any, indices: Any) -> None:
    assert find(torch.tensor(numbers)).tolist() == indices


def test_the_gradient_goes_to_the_element_that_was_chosen() -> None:
    x = torch.tensor([1.0, 1.0, 1.0, 1.0], requires_grad=True)
    x.topk(1).values.sum().backward()
    assert x.grad.tolist() == [0.0, 0.0, 1.0, 0.0]


@given(st.lists(st.integers(0, 9), min_size=1, max_size=80), st.data())
def test_what_is_found_is_right_whatever_is_equal(numbers: list[int], data: Any) -> None:
    x, k = torch.tensor(numbers), data.draw(st.integers(1, len(numbers)))
    expected = np.sort(numbers)
    for found, values in (
        (x.sort(), expected),
        (x.sort(descending=True), expected[::-1]),
        (x.topk(k), expected[::-1][:k]),
        (x.topk(k, largest=False), expected[:k]),
        (x.kthvalue(k), expected[k - 1]),
    ):
        assert found.values.tolist() == values.tolist()
        assert x[found.indices].tolist() == values.tolist()
        assert len(set(np.ravel(found.indices.tolist()))) == np.size(values)
