"""Arithmetic on the numbers of gradients, as backward does it."""

from __future__ import annotations

import numpy as np
import pytest

from gviz.graphs import Edge, Flow
from gviz.graphs.numbers import Numbers
from gviz.passes.elements import amount_along, times_jacobian


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_what_goes_through_a_jacobian_keeps_the_dtype_of_the_gradient(dtype: str) -> None:
    passed = times_jacobian(Numbers.of([1.0, 2.0], dtype), Numbers.of([[1.0], [3.0]]), Numbers.of([0.0]))
    assert passed == Numbers.of([7.0], dtype)


def test_what_a_sum_hands_on_was_added_up_from_as_much_for_each_element() -> None:
    edge = Edge("x", "s", flow=Flow("2", Numbers.of(2.0), Numbers.of([1e-9, 1e-9, 1e-9])))
    assert amount_along(edge, np.asarray(3.0), np.asarray([1e-9, 1e-9, 1e-9])).tolist() == [6.0, 6.0, 6.0]
