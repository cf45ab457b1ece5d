"""Random numbers as TensorFlow draws them: for the same seeds they are the same.

They come from a counter (Philox 4x32, ten rounds: Salmon and others, "Parallel random numbers: as easy
as 1, 2, 3", 2011): each count gives four whole numbers of 32 bits, and a float, or half a double, is made of each.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias

import numpy as np

from gviz.static.graph import Graph
from gviz.static.types import Array

Kind: TypeAlias = "type[np.generic]"

FACTORS, STEPS = (0xD2511F53, 0xCD9E8D57), (0x9E3779B9, 0xBB67AE85)
LOW = 0xFFFFFFFF
RESERVED = 256
"""Counts that a run reserves for each number, as one of those that are drawn again may need several."""
SAMPLER_RESERVES = 512
"""The same for each class that is drawn."""
SMALLEST = 1e-7
"""Of which a logarithm is taken."""


class Philox:
    """Draws numbers for one operation, others in each run.

    Args:
        seeds: two numbers.
    """

    def __init__(self, seeds: tuple[int, int]) -> None:
        self._key, self._high = seeds
        self._count = 0

    def words(self, starts: Array, many: int) -> Array:
        """Return the whole numbers of counts: from each start on, so many fours, in a row."""
        counts: Any = (starts[:, None] + np.arange(many)).ravel().astype(np.uint64)
        high = np.zeros_like(counts)
        a, b, c, d = counts & LOW, counts >> 32, high + (self._high & LOW), high + (self._high >> 32 & LOW)
        keys = [self._key & LOW, self._key >> 32 & LOW]
        for _ in range(10):
            one, other = a * np.uint64(FACTORS[0]), c * np.uint64(FACTORS[1])
            a, b, c, d = (
                (other >> 32) ^ b ^ np.uint64(keys[0]),
                other & LOW,
                (one >> 32) ^ d ^ np.uint64(keys[1]),
                one & LOW,
            )
            keys = [(key + step) & LOW for key, step in zip(keys, STEPS, strict=True)]
        return np.stack([a, b, c, d], 1).reshape(len(starts), -1)

    def draw(self, size: Iterable[int], width: int) -> tuple[Array, int, tuple[int, ...]]:
        """Return whole numbers for so many numbers of some width, how many these are, and their shape; count on."""
        shape = tuple(int(n) for n in size)
        many = math.prod(shape)
        words = self.words(np.array([self._count]), -(-many * width // 4))[0]
        self._count += many * RESERVED
        return words, many, shape

    def uniform(self, size: Iterable[int], dtype: Kind) -> Array:
        """Return numbers from 0 to 1."""
        words, many, shape = self.draw(size, 1 + (dtype is np.float64))
        return fractions(words, dtype)[:many].reshape(shape).astype(dtype)

    def integers(self, size: Iterable[int], low: Array, high: Array, dtype: Kind) -> Array:
        """Return whole numbers from low to high, high not among them."""
        words, many, shape = self.draw(size, 1 + (dtype is np.int64))
        whole = words if dtype is np.int32 else words[::2] | words[1::2] << np.uint64(32)
        return (low + (whole % np.uint64(int(high) - int(low))).astype(np.int64))[:many].reshape(shape).astype(dtype)

    def normal(self, size: Iterable[int], dtype: Kind) -> Array:
        """Return normally distributed numbers."""
        words, many, shape = self.draw(size, 1 + (dtype is np.float64))
        return in_pairs(fractions(words, dtype))[:many].reshape(shape).astype(dtype)

    def truncated_normal(self, size: Iterable[int], dtype: Kind) -> Array:
        """Return normally distributed numbers, those left out that are 2 or more from 0."""
        wide = dtype is np.float64
        shape, each = tuple(int(n) for n in size), 2 if wide else 4
        many = math.prod(shape)
        starts = self._count + np.arange(-(-many // each)) * RESERVED
        numbers = in_pairs(fractions(self.words(starts, 32), dtype))
        self._count += many * RESERVED
        order = np.argsort(np.abs(numbers) >= 2, axis=1, kind="stable")[:, :each]
        return np.take_along_axis(numbers, order, 1).ravel()[:many].reshape(shape).astype(dtype)

    def classes(self, right: Array, attrs: Mapping[str, Any]) -> list[Array]:
        """Return classes that differ, small ones more often, and how often those and the right ones are expected."""
        count, classes = attrs["num_sampled"], attrs["range_max"]
        first, size = np.array([], np.int64), count
        while len(first) < count:
            size *= 2
            halves = fractions(self.words(np.array([self._count]), size)[0], np.float64)
            drawn = (np.exp(halves * math.log1p(classes)).astype(np.int64) - 1) % classes
            first = np.sort(np.unique(drawn, return_index=True)[1])[:count]
        self._count += count * SAMPLER_RESERVES
        tries = int(first[-1]) + 1

        def expected(numbers: Array) -> Array:
            chance = (np.log((numbers + 2) / (numbers + 1)) / math.log1p(classes)).astype(np.float32)
            return chance * np.float32(count) if tries == count else -np.expm1(tries * np.log1p(-chance))

        return [drawn[first], expected(right), expected(drawn[first])]


def fractions(words: Array, dtype: Kind) -> Array:
    """Return numbers from 0 to 1 with the bits of whole ones; a double has those of two."""
    if dtype is np.float64:
        high, low = words[..., ::2] & np.uint64(0xFFFFF), words[..., 1::2]
        return (high << np.uint64(32) | low | np.uint64(1023 << 52)).view(np.float64) - 1.0
    return ((words & np.uint64(0x7FFFFF)) | np.uint64(127 << 23)).astype(np.uint32).view(np.float32) - np.float32(1)


def in_pairs(numbers: Array) -> Array:
    """Return normally distributed numbers, two for each pair of uniform ones (Box and Muller)."""
    kind = numbers.dtype.type
    length = np.sqrt(kind(-2) * np.log(np.maximum(numbers[..., ::2], kind(SMALLEST))))
    angle = kind(2 * math.pi) * numbers[..., 1::2]
    return np.stack([np.sin(angle) * length, np.cos(angle) * length], -1).reshape(*numbers.shape[:-1], -1)


DEFAULT_SEED = 87654321


def seeds_of(graph: Graph, seed: int | None) -> tuple[int, int] | None:
    """Return the two seeds of a new operation, from the graph's and its own; None if it has neither."""
    whole = graph.extras.get("seed")
    if whole is None:
        return None if seed is None else (DEFAULT_SEED, int(seed))
    if seed is None:
        seed = graph.extras.setdefault("seeds", 0)
        graph.extras["seeds"] += 1
    return int(whole), int(seed)


def generator_of(seeds: tuple[int, int] | None) -> Philox:
    """Return what draws numbers for seeds: without any, others in each session."""
    key = np.random.default_rng().integers(2**32, size=2).tolist() if seeds is None else seeds
    return Philox((key[0], key[1] if any(key) else 2**31 - 1))
