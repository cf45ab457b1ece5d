"""Random tensors print as in PyTorch, which is asked; what else is printed is in tests/snippets.txt."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gviz.numbers import dtypes
from gviz.numbers.printing import format_tensor


def random_array(rng: np.random.Generator) -> np.ndarray[Any, Any]:
    """Any shape, type and magnitude."""
    dims = int(rng.integers(0, 6))
    longest = (1, 1500, 60, 12, 6, 4)[dims]
    shape = tuple(int(n) for n in rng.integers(0 if rng.random() < 0.1 else 1, longest, size=dims, endpoint=True))
    dtype = dtypes.EVERY[:-1][rng.integers(len(dtypes.EVERY[:-1]))].np
    values = rng.normal(size=shape) * 10.0 ** rng.integers(-rng.integers(0, 10), rng.integers(1, 10), size=shape)
    values = np.where(rng.random(shape) < 0.1 * rng.integers(0, 2), rng.choice([np.nan, np.inf, 0.0]), values)
    if rng.random() < 0.3:
        values = np.round(values)
    with np.errstate(all="ignore"):
        return (values + 1j * np.roll(values, 1) if dtype.kind == "c" else values).astype(dtype)


@pytest.mark.torch
@pytest.mark.parametrize("seed", range(20))
def test_random_tensors_print_as_torch_prints_them(seed: int) -> None:
    torch = pytest.importorskip("torch")
    rng = np.random.default_rng(seed)
    for _ in range(50):
        array = np.asarray(random_array(rng))
        assert format_tensor(array) == repr(torch.from_numpy(array.copy())), array
