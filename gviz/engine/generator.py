"""The stream of random numbers itself: PyTorch's Mersenne Twister, its seeds and its states."""

from __future__ import annotations

import math
import operator
import os
from typing import TYPE_CHECKING, Any

import numpy as np

from gviz.engine.tensor import Tensor, from_array
from gviz.engine.text import type_name

if TYPE_CHECKING:
    Array = np.ndarray[Any, Any]
    DType = np.dtype[Any]

__all__ = ["Generator"]

_FIRST_SEED = 67280421310721  # that of every new torch.Generator
_WORDS = 624  # of a Mersenne Twister's state

_STATE = np.dtype(
    [
        ("seed", "<u8"), ("left", "<i4"), ("seeded", "<i4"), ("next", "<u8"), ("words", "<u8", (_WORDS,)),
        ("normal_x", "<f8"), ("normal_y", "<f8"), ("normal_rho", "<f8"), ("normal_is_valid", "<i4"), ("gap", "V4"),
        ("normal_float", "<f4"), ("normal_float_is_valid", "?"), ("end", "V3"),
    ]
)  # fmt: skip
"""PyTorch's layout of a generator's state, 5056 bytes."""


class Generator:
    """A stream of random numbers (``torch.Generator``), on the CPU.

    >>> from gviz.engine.random import rand
    >>> rand((2,), generator=Generator().manual_seed(0))
    array([0.4962566, 0.7682218], dtype=float32)
    """

    __module__ = "torch"

    def __init__(self, device: object = "cpu") -> None:
        """Begin at the seed that every new generator of PyTorch has."""
        if str(device) != "cpu":
            raise RuntimeError(f"gviz's engine computes on the CPU only; got a generator for device '{device}'")
        self.device = device
        self._begin(_FIRST_SEED)

    def _begin(self, seed: int) -> None:
        self._seed = seed
        self._stream: np.random.RandomState | None = None  # made at the first draw
        self._kept: float | None = None  # the second of two normal numbers

    def manual_seed(self, seed: int) -> Generator:
        """Begin again at ``seed``, -2**63 to 2**64 - 1, of which only the lower 32 bits count; returns the generator itself."""
        if isinstance(seed, bool) or not hasattr(type(seed), "__index__"):
            raise RuntimeError(f"manual_seed expected a long, but got {type(seed).__name__}")
        number = operator.index(seed)
        if not -(1 << 63) <= number < 1 << 64:
            raise ValueError("Overflow when unpacking long long")
        self._begin(number % (1 << 64))
        return self

    def seed(self) -> int:
        """Begin again at a seed from the operating system, and return it."""
        self._begin(int.from_bytes(os.urandom(8), "little"))
        return self._seed

    def initial_seed(self) -> int:
        """The seed that the stream began at, 0 to 2**64 - 1."""
        return self._seed

    def get_state(self) -> Tensor:
        """Where the stream is, to go back to it: a tensor of 5056 bytes, laid out as PyTorch does."""
        state, is_fresh = np.zeros(1, _STATE), self._stream is None
        inner: dict[str, Any] = self._words().get_state(legacy=False)["state"]
        position = inner["pos"]
        state["seed"], state["seeded"], state["words"] = self._seed, 1, inner["key"]
        state["left"] = _WORDS - position + 1
        state["next"] = 0 if is_fresh else position
        if self._kept is not None:
            state["normal_is_valid"], state["normal_y"] = 1, self._kept
        return from_array(state.view(np.uint8), None)

    def set_state(self, new_state: Any) -> Generator:
        """Go back to a state of :meth:`get_state`, or of PyTorch's; returns the generator itself."""
        if not isinstance(new_state, Tensor) or new_state._array.dtype != np.uint8:
            given = type_name(new_state._array.dtype) if isinstance(new_state, Tensor) else type(new_state).__name__
            raise TypeError(f"expected a torch.ByteTensor, but got {given}")
        raw = new_state._array.tobytes()
        if len(raw) != _STATE.itemsize:
            raise RuntimeError("RNG state is wrong size")
        fields = np.frombuffer(raw, _STATE)[0]
        position = _WORDS if fields["left"] == 1 else int(fields["next"])
        self._begin(int(fields["seed"]))
        self._words().set_state(("MT19937", fields["words"].astype(np.uint32), position, 0, 0.0))
        self._kept = float(fields["normal_y"]) if fields["normal_is_valid"] else None
        return self

    def _words(self) -> np.random.RandomState:
        if self._stream is None:
            self._stream = np.random.RandomState(self._seed & 0xFFFFFFFF)
        return self._stream

    def draw(self, count: int) -> Array:
        """The next words of the stream, uint32."""
        return self._words().randint(0, 1 << 32, size=count, dtype=np.uint32)

    def draw_wide(self, count: int) -> Array:
        """The next numbers of two words each, the first one high; uint64."""
        words = self.draw(2 * count).astype(np.uint64)
        return words[0::2] << np.uint64(32) | words[1::2]

    def draw_unit(self, count: int, dtype: DType) -> Array:
        """Uniform numbers in [0, 1): float64 of 53 bits, for any other type float32 of 24 bits."""
        if dtype.itemsize == 8:
            return (self.draw_wide(count) & np.uint64((1 << 53) - 1)) * 2.0**-53
        return (self.draw(count) & np.uint32((1 << 24) - 1)).astype(np.float32) * np.float32(2.0**-24)

    def draw_normal(self, count: int) -> list[float]:
        """Standard normal numbers one by one, in double precision: Box-Muller makes two, the second is kept."""
        found = [] if self._kept is None or not count else [self._kept]
        if found:
            self._kept = None
        pairs = (count - len(found) + 1) // 2
        unit = self.draw_unit(2 * pairs, np.dtype(np.float64)).tolist()
        for u1, u2 in zip(unit[0::2], unit[1::2], strict=True):
            radius, angle = math.sqrt(-2.0 * math.log1p(-u2)), 2.0 * math.pi * u1
            found += radius * math.cos(angle), radius * math.sin(angle)
        if len(found) > count:
            self._kept = found.pop()
        return found
