"""Arithmetic on the numbers of gradients, as backward does it."""

from __future__ import annotations

import pytest

from gviz.graphs.numbers import Numbers
from gviz.passes.elements import through


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_what_goes_through_a_jacobian_keeps_the_dtype_of_the_gradient(dtype: str) -> None:
    passed = through(Numbers.of([1.0, 2.0], dtype), Numbers.of([[1.0], [3.0]]), Numbers.of([0.0]))
    assert passed == Numbers.of([7.0], dtype)
