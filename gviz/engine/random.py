"""``torch.random``: the default stream of random numbers, the states of generators as tensors, random tensors."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, SupportsInt

import numpy as np

from gviz.autograd.tensor import Tensor, from_array
from gviz.engine.creation import checked, creates
from gviz.numbers import random
from gviz.numbers.classes import type_text
from gviz.numbers.dtypes import no_kernel
from gviz.numbers.random import Generator, default_generator
from gviz.numbers.words import absent, refuse, type_name

__all__ = [
    "Generator",
    "default_generator",
    "fork_rng",
    "get_rng_state",
    "initial_seed",
    "manual_seed",
    "seed",
    "set_rng_state",
]


def get_state(self: Generator = default_generator) -> Tensor:
    """Return where the stream is, as a tensor of 5056 bytes."""
    return from_array(self.state, None)


def set_state(self: Generator, new_state: Any) -> Generator:
    """Go back to a state of :func:`get_state`, or of PyTorch's; return the generator itself."""
    name = type_name(new_state._array.dtype) if isinstance(new_state, Tensor) else type_text(new_state)
    refuse(name != "torch.ByteTensor", f"expected a torch.ByteTensor, but got {name}", TypeError)
    self.state = new_state._array
    return self


Generator.get_state, Generator.set_state = get_state, set_state  # type: ignore[attr-defined]
seed, initial_seed, get_rng_state = default_generator.seed, default_generator.initial_seed, get_state


def manual_seed(seed: SupportsInt) -> Generator:
    """Begin the default stream at ``int(seed)`` (``torch.manual_seed``), and return its generator."""
    return default_generator.manual_seed(int(seed))


def set_rng_state(new_state: object) -> None:
    """Put the default stream where :func:`get_rng_state` was called."""
    set_state(default_generator, new_state)


@contextmanager
def fork_rng(devices: object = None, enabled: bool = True, **_: object) -> Iterator[None]:
    """Let a block draw random numbers as if it had not: the stream goes on from where it was before."""
    before = get_rng_state()
    try:
        yield
    finally:
        if enabled:
            set_rng_state(before)


# ------------------------------------------------------------------ random tensors
@creates("torch.rand torch.rand_like")
def rand(size: Size, *, generator: Generator | None = None, dtype: Dtype = None) -> Any:
    """Return uniform numbers in [0, 1)."""
    return random.uniform(checked(size), dtype=dtype, generator=generator)


@creates("torch.randn torch.randn_like")
def randn(size: Size, *, generator: Generator | None = None, dtype: Dtype = None, is_turned: bool = False) -> Any:
    """Return standard normal numbers."""
    return random.normal(checked(size), dtype=dtype, generator=generator, one_by_one=is_turned)


@creates("torch.randint torch.randint_like")
def randint_to(high: int, size: Size, *, generator: Generator | None = None, dtype: Dtype = None) -> Any:
    """Return integers from 0 up to, not including, high."""
    return random.randint(0, high, checked(size, dtype), dtype, generator)


@creates("torch.randint torch.randint_like")
def randint(low: int, high: int, size: Size, *, generator: Generator | None = None, dtype: Dtype = None) -> Any:
    """Return integers from low up to, not including, high."""
    return random.randint(low, high, checked(size, dtype), dtype, generator)


def permuted_range(n: int, generator: Generator | None = None) -> Array:
    """Return the integers 0 to ``n`` - 1 in random order , int64."""
    refuse(n < 0, f"Trying to create tensor with negative dimension {n}: [{n}]")
    steps = max(n - 1, 0)
    offsets = (generator or default_generator).draw(steps) % np.arange(n, n - steps, -1, dtype=np.uint32)
    order = list(range(n))
    for i, offset in enumerate(offsets.tolist()):
        order[i], order[i + offset] = order[i + offset], order[i]
    return np.array(order, np.int64)


@creates("torch.randperm")
def randperm(n: int, *, generator: Generator | None = None, dtype: Dtype = None) -> Any:
    """Return the numbers below n in random order."""
    if dtype is not None and dtype.kind in "bc":
        raise no_kernel("randperm", dtype)
    return permuted_range(n, generator).astype(dtype or np.int64)


@creates("torch.normal")
def normal(mean: float, std: float, size: Size, *, generator: Generator | None = None, dtype: Dtype = None) -> Any:
    """Return normal numbers of one mean and deviation.

    Those of tensors of means or deviations are rows of the table.
    """
    return random.normal(checked(size), mean, std, dtype, generator)


__getattr__ = absent("torch.random")
