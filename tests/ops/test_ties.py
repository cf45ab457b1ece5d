"""Equal elements keep their order when they are sorted, and the results among them are right."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from fuzzing import relaxed
from hypothesis import given, strategies as st

from gviz import engine

torch: Any = engine


def test_equal_elements_keep_their_order() -> None:
    x = torch.tensor([0.0, 8, 4, 1, 6, 1, 7, 3, 1, 0])
    assert x.sort(stable=True).indices.tolist() == [0, 9, 3, 5, 8, 7, 2, 4, 6, 1]
    assert x.argsort(descending=True).tolist() == [1, 6, 4, 2, 7, 3, 5, 8, 0, 9]


@pytest.mark.fuzz
@relaxed(100)
@given(st.lists(st.integers(0, 9), min_size=1, max_size=80), st.data())
def test_results_are_right_whatever_is_equal(numbers: list[int], data: Any) -> None:
    x, k = torch.tensor(numbers), data.draw(st.integers(1, len(numbers)))
    expected = np.sort(numbers)
    for result, values in (
        (x.sort(), expected),
        (x.sort(descending=True), expected[::-1]),
        (x.topk(k), expected[::-1][:k]),
        (x.topk(k, largest=False), expected[:k]),
        (x.kthvalue(k), expected[k - 1]),
    ):
        assert result.values.tolist() == values.tolist()
        assert x[result.indices].tolist() == values.tolist()
        assert len(set(np.ravel(result.indices.tolist()))) == np.size(values)
