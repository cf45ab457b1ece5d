"""Random tensors and generators, on the numbers of ``random.py``: PyTorch's own stream."""

from __future__ import annotations

from typing import Any

import numpy as np

from gviz.engine import random as face
from gviz.numbers import random
from gviz.numbers import dtypes
from gviz.autograd.inplace import in_place
from gviz.autograd.row import TENSORS as call
from gviz.engine.surface.creation import finish, plain, sized, sizes
from gviz.autograd.tensor import Tensor, from_array


def shaped(generate: Any) -> Any:
    """A creation function around one of ``random``'s functions of (shape, dtype)."""

    def make(
        *shape: Any, size: Any = None, dtype: Any = None, requires_grad: bool = False, device: Any = None, generator: Any = None
    ) -> Tensor:
        return finish(generate(sized(shape, size, generate.__name__), plain(dtype), generator), requires_grad, device)

    make.__name__ = generate.__name__
    return make


rand: Any = shaped(random.rand)
randn: Any = shaped(random.randn)


def randint(
    low: int = 0, high: Any = None, size: Any = None, *, dtype: Any = None, requires_grad: bool = False, device: Any = None,
    generator: Any = None,
) -> Tensor:  # fmt: skip
    """Integers from low up to, not including, high."""
    if size is None:
        high, size = None, high
    if high is None:
        low, high = 0, low
    if not isinstance(size, list | tuple):
        raise TypeError("no sizes")
    drawn = random.randint(low, high, sizes((size,), "randint"), plain(dtype, dtypes.int64), generator)
    return finish(drawn, requires_grad, device)


def randperm(n: int, *, dtype: Any = None, device: Any = None, generator: Any = None) -> Tensor:
    """The numbers below n in random order."""
    return finish(random.randperm(n, generator).astype(plain(dtype, dtypes.int64)), False, device)


def alike(make: Any) -> Any:
    """Return a function that makes random numbers in the shape of another tensor."""

    def make_like(input: Tensor, *, dtype: Any = None, requires_grad: bool = False, device: Any = None) -> Tensor:
        return make(input._array.shape, dtype=dtype or input.dtype, requires_grad=requires_grad, device=device)

    return make_like


def randint_like(
    input: Tensor, low: int, high: Any = None, *, dtype: Any = None, requires_grad: bool = False, device: Any = None
) -> Any:
    """Random integers in the shape of another tensor."""
    low, high = (0, low) if high is None else (low, high)
    return randint(low, high, input._array.shape, dtype=dtype or input.dtype, requires_grad=requires_grad, device=device)


def normal(
    mean: Any, std: Any = 1.0, size: Any = None, *, generator: Any = None, dtype: Any = None, requires_grad: bool = False,
    device: Any = None, layout: Any = None,
) -> Any:  # fmt: skip
    """Normal random numbers: for each mean and deviation of tensors, or of one mean and deviation in a shape."""
    means, spreads = isinstance(mean, Tensor), isinstance(std, Tensor)
    if not means and not spreads:
        return finish(random.normal(sizes((size,), "normal"), mean, std, plain(dtype), generator), requires_grad, device)
    return call["normal" if means and spreads else "normal_mean" if means else "normal_std"](mean, std, generator)


def bernoulli(input: Tensor, p: Any = None, *, generator: Any = None) -> Any:
    """Ones with the probabilities that a tensor holds, or with one for all, else zeros."""
    if not isinstance(input, Tensor):
        raise TypeError
    return call["bernoulli"](input, generator) if p is None else call["bernoulli_of"](input, p, generator)


def multinomial(input: Tensor, num_samples: int, replacement: bool = False, *, generator: Any = None) -> Tensor:
    """Indices drawn with the weights that each row holds; refuses more than there are, and weights that are none."""
    weights = input._array
    if weights.dtype.kind != "f":
        raise RuntimeError(f"multinomial only supports floating-point dtypes for input, got: {input.dtype.scalar_name}")
    if weights.ndim not in (1, 2):
        raise RuntimeError("prob_dist must be 1 or 2 dim")
    if num_samples <= 0:
        raise RuntimeError("cannot sample n_sample <= 0 samples")
    if not replacement and num_samples > weights.shape[-1]:
        raise RuntimeError("cannot sample n_sample > prob_dist.size(-1) samples without replacement")
    if not np.isfinite(weights).all() or (weights < 0).any():
        raise RuntimeError("probability tensor contains either `inf`, `nan` or element < 0")
    if (weights.sum(axis=-1) <= 0).any():
        raise RuntimeError("invalid multinomial distribution (sum of probabilities <= 0)")
    return from_array(random.multinomial(weights, num_samples, replacement, generator), None)


def filled(name: str) -> Any:
    """``x.uniform_()`` and its kin: random numbers written in place."""

    def fill(self: Tensor, *args: Any, generator: Any = None, **kwargs: Any) -> Tensor:
        return in_place(call[name], self, *args, generator=generator, **kwargs)

    return fill


def bernoulli_(self: Tensor, p: Any = 0.5, *, generator: Any = None) -> Tensor:
    """Ones with a probability, or those of a tensor, written in place."""
    return in_place(call["bernoulli_each" if isinstance(p, Tensor) else "bernoulli_one"], self, p, generator=generator)


def random_(self: Tensor, *bounds: Any, generator: Any = None) -> Tensor:
    """Integers written in place: from a bound up to another, below one, or of all that the dtype has."""
    key = ("random_all", "random_to", "random_from")[len(bounds)]
    return in_place(call[key], self, *bounds, generator=generator)


BOTH: dict[str, Any] = {"bernoulli": bernoulli, "multinomial": multinomial}

METHODS: dict[str, Any] = {
    **{f"{name}_": filled(f"{name}_fill") for name in ("uniform", "normal", "exponential")},
    "bernoulli_": bernoulli_, "random_": random_,
}  # fmt: skip

FUNCTIONS: dict[str, Any] = {
    "randint_like": randint_like, "normal": normal,
    "rand": rand, "randn": randn, "randint": randint, "randperm": randperm,
    "rand_like": alike(rand), "randn_like": alike(randn),
    "manual_seed": face.manual_seed, "seed": face.seed, "initial_seed": face.initial_seed,
    "Generator": random.Generator, "default_generator": random.default_generator,
    "get_rng_state": face.get_rng_state, "set_rng_state": face.set_rng_state,
}  # fmt: skip
