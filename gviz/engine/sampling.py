"""Random tensors and generators, on the numbers of ``random.py``: PyTorch's own stream."""

from __future__ import annotations

from typing import Any

from gviz.engine import dtypes, random
from gviz.engine.creation import finish, plain, sizes
from gviz.engine.tensor import Tensor, from_array


def shaped(generate: Any) -> Any:
    """A creation function around one of ``random``'s functions of (shape, dtype)."""

    def make(*size: Any, dtype: Any = None, requires_grad: bool = False, device: Any = None, generator: Any = None) -> Tensor:
        more = {} if generator is None else {"generator": generator}
        return finish(generate(sizes(size, generate.__name__), plain(dtype), **more), requires_grad, device)

    make.__name__ = generate.__name__
    return make


rand: Any = shaped(random.rand)
randn: Any = shaped(random.randn)


def randint(
    low: int, high: Any = None, size: Any = None, *, dtype: Any = None, requires_grad: bool = False, generator: Any = None
) -> Tensor:
    """Integers from low up to, not including, high."""
    if size is None:
        low, high, size = 0, low, high
    more = {} if generator is None else {"generator": generator}
    return finish(
        random.randint(low, high, sizes((size,), "randint"), **more).astype(plain(dtype, dtypes.int64)), requires_grad
    )


def randperm(n: int, *, dtype: Any = None, generator: Any = None) -> Tensor:
    """The numbers below n in random order."""
    more = {} if generator is None else {"generator": generator}
    return finish(random.randperm(n, **more).astype(plain(dtype, dtypes.int64)), requires_grad=False)


def rand_like(input: Tensor, *, dtype: Any = None, requires_grad: bool = False) -> Tensor:
    """Uniform random numbers in the shape of another tensor."""
    made: Tensor = rand(input._array.shape, dtype=dtype or input.dtype, requires_grad=requires_grad)
    return made


def randn_like(input: Tensor, *, dtype: Any = None, requires_grad: bool = False) -> Tensor:
    """Normal random numbers in the shape of another tensor."""
    made: Tensor = randn(input._array.shape, dtype=dtype or input.dtype, requires_grad=requires_grad)
    return made


class Generator(random.Generator):
    """``torch.Generator``: a stream of random numbers whose states are tensors."""

    __module__ = "torch"

    def get_state(self) -> Any:
        """Where the stream is, as a tensor of 5056 bytes."""
        return from_array(super().get_state(), None)

    def set_state(self, new_state: Any) -> Generator:
        """Go back to a state of :meth:`get_state`.

        Raises:
            TypeError: no tensor.
            RuntimeError: not of bytes, or not that many, with PyTorch's text.
        """
        if not isinstance(new_state, Tensor):
            raise TypeError(f"expected a torch.ByteTensor, but got {type(new_state).__name__}")
        if new_state.dtype is not dtypes.uint8:
            raise TypeError(f"expected a torch.ByteTensor, but got torch.{new_state.dtype.scalar_name}Tensor")
        super().set_state(new_state._array)
        return self


default_generator = Generator()
"""The stream that is drawn from without a generator: the one of ``random.py``, its state given as a tensor."""
default_generator.__dict__ = random.default_generator.__dict__


def manual_seed(seed: Any) -> Generator:
    """Start the random stream anew, as PyTorch's CPU generator does."""
    random.manual_seed(seed)
    return default_generator


FUNCTIONS: dict[str, Any] = {
    "rand": rand, "randn": randn, "randint": randint, "randperm": randperm, "rand_like": rand_like, "randn_like": randn_like,
    "manual_seed": manual_seed, "seed": random.seed, "initial_seed": random.initial_seed, "Generator": Generator,
    "default_generator": default_generator, "get_rng_state": default_generator.get_state,
    "set_rng_state": default_generator.set_state,
}  # fmt: skip
