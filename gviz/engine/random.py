"""``torch.random``: the default stream of random numbers, and generators with their state as tensors."""

from __future__ import annotations

from typing import Any

import numpy as np

from gviz.autograd.tensor import Tensor, from_array
from gviz.numbers.classes import type_text
from gviz.numbers.random import Generator, default_generator
from gviz.numbers.words import absent, type_name

__all__ = ["Generator", "default_generator", "get_rng_state", "initial_seed", "manual_seed", "seed", "set_rng_state"]


def get_state(self: Generator) -> Tensor:
    """Return where the stream is, as a tensor of 5056 bytes."""
    return from_array(self.state, None)


def set_state(self: Generator, new_state: Any) -> Generator:
    """Go back to a state of :func:`get_state`, or of PyTorch's; return the generator itself."""
    if not isinstance(new_state, Tensor) or new_state._array.dtype != np.uint8:
        name = type_name(new_state._array.dtype) if isinstance(new_state, Tensor) else type_text(new_state)
        raise TypeError(f"expected a torch.ByteTensor, but got {name}")
    self.state = new_state._array
    return self


Generator.get_state, Generator.set_state = get_state, set_state  # type: ignore[attr-defined]


def manual_seed(seed: Any) -> Generator:
    """Begin the default stream at ``int(seed)`` (``torch.manual_seed``), and return its generator."""
    return default_generator.manual_seed(int(seed))


def seed() -> int:
    """Begin the default stream at a seed from the operating system, and return it."""
    return default_generator.seed()


def initial_seed() -> int:
    """Return the seed that the default stream began at."""
    return default_generator.initial_seed()


def get_rng_state() -> Tensor:
    """Return where the default stream is."""
    return get_state(default_generator)


def set_rng_state(new_state: Any) -> None:
    """Put the default stream where :func:`get_rng_state` was called."""
    set_state(default_generator, new_state)


__getattr__ = absent("torch.random")
