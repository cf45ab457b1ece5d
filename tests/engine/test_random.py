"""Random numbers are those of PyTorch, which is asked; what single seeds and calls give is in tests/snippets.txt."""

from __future__ import annotations

import random as python_random

import numpy as np
import pytest
from program import python

from gviz import engine
from gviz.engine.random import permuted_range
from gviz.numbers import random


def test_numpy_random_is_not_loaded_before_the_first_draw() -> None:
    code = "import gviz.numbers.random, sys; sys.exit('numpy.random' in sys.modules)"
    assert python(code).returncode == 0


@pytest.mark.torch
@pytest.mark.parametrize("seed", [0, 1, 42, 2**40, -1, -(2**63), 2**64 - 1])
def test_any_sequence_of_draws_stays_in_step_with_torch(seed: int) -> None:
    torch = pytest.importorskip("torch")
    choose = python_random.Random(seed)  # noqa: S311 - not for secrets
    engine.manual_seed(seed)
    torch.manual_seed(seed)
    types = {
        np.dtype(name): getattr(torch, name) for name in ("float16", "float32", "float64", "complex64", "complex128")
    }
    for _ in range(100):
        shape = choose.choice([(), (3,), (0,), (20,), (16,), (15,), (2, 3), (31,), (700,)])
        dtype = choose.choice(list(types))
        kind, real = types[dtype], torch.float32
        pairs = [
            (random.uniform(shape, dtype=dtype), torch.rand(shape, dtype=kind)),
            (random.randint(-3, 2**31, shape), torch.randint(-3, 2**31, shape)),
            (random.normal(shape, dtype=dtype), torch.randn(shape, dtype=kind)),
            (permuted_range(9), torch.randperm(9)),
            (random.bernoulli(0.3, shape), torch.empty(shape, dtype=real).bernoulli_(0.3)),
            (random.uniform(shape, -0.1, 0.3), torch.empty(shape, dtype=real).uniform_(-0.1, 0.3)),
        ]
        for array, tensor in pairs:
            expected = tensor.numpy()
            assert array.dtype == expected.dtype
            np.testing.assert_allclose(array, expected, rtol=0, atol=2e-3 if dtype.itemsize == 2 else 5e-7)
    assert engine.get_rng_state().tolist() == torch.get_rng_state().tolist()


def test_a_tensor_like_another_lies_in_memory_as_that_does_and_is_drawn_in_that_order() -> None:
    turned = engine.ones(2, 6).t()
    engine.manual_seed(0)
    in_order = engine.rand(2, 6)
    engine.manual_seed(0)
    assert engine.rand_like(turned).tolist() == in_order.t().tolist()
    assert engine.zeros_like(turned).stride() == (1, 6)
    assert engine.zeros_like(engine.ones(3, 1).expand(3, 4)).stride() == (4, 1)
    assert engine.zeros_like(engine.ones(3).expand(2, 3)).stride() == (3, 1)
