"""PyTorch's stream of random numbers on the CPU, number for number.

PyTorch draws 32-bit words from a Mersenne Twister seeded in the old way, which is numpy's ``RandomState``; this module
makes uniform, normal and integer numbers of them as PyTorch's kernels do (aten/src/ATen/core/DistributionsHelper.h and
native/cpu/DistributionTemplates.h of PyTorch 2.13). Equal to the last bit are all but normal numbers in tensors of 16
and
more elements on processors without AVX2, where PyTorch uses other logarithms and sines: about 1e-7. Of float64 the last
bit may differ (1e-16).

Functions take the shape and the dtype of the result (a float or complex type, of which both parts are drawn; else the
default one), and the generator that they draw from (else the default one). numpy.random is loaded at the first draw: it
costs 10 ms.
"""

from __future__ import annotations

import math
import operator
import os
from collections.abc import Callable, Iterable, Sequence
from functools import reduce
from typing import Any, TypeAlias

import numpy as np

from gviz.numbers.classes import type_text
from gviz.numbers.dtypes import INEXACT, cast, get_default_dtype, no_kernel, of
from gviz.numbers.types import Array, DType
from gviz.numbers.words import refuse

WIDE_RANGE = 1 << 28  # from here on PyTorch takes two words for an integer
BLOCK = 16  # elements of which PyTorch makes normal numbers at once
FIRST_SEED = 67280421310721  # that of every new torch.Generator
WORDS = 624  # of a Mersenne Twister's state
FLOAT64 = np.dtype(np.float64)
Draw: TypeAlias = Callable[[], float]

STATE = np.dtype(
    [
        ("seed", "<u8"), ("left", "<i4"), ("seeded", "<i4"), ("next", "<u8"), ("words", "<u8", (WORDS,)),
        ("normal_x", "<f8"), ("normal_y", "<f8"), ("normal_rho", "<f8"), ("normal_is_valid", "<i4"), ("gap", "V4"),
        ("normal_float", "<f4"), ("normal_float_is_valid", "?"), ("end", "V3"),
    ]
)  # fmt: skip
"""PyTorch's layout of a generator's state, 5056 bytes."""


class Generator:
    """A stream of random numbers (``torch.Generator``), on the CPU.

    >>> uniform((2,), generator=Generator().manual_seed(0))
    array([0.4962566, 0.7682218], dtype=float32)
    """

    __module__ = "torch._C"

    def __init__(self, device: object = "cpu") -> None:
        """Begin at the seed that every new generator of PyTorch has."""
        refuse(str(device) != "cpu", f"gviz's engine computes on the CPU only; got a generator for device '{device}'")
        self.device = device
        self._begin(FIRST_SEED)

    def _begin(self, seed: int) -> None:
        self._seed = seed
        self._stream: np.random.RandomState | None = None  # made when it is first needed
        self._has_drawn = False
        self._spare: float | None = None  # the second of two normal numbers

    def manual_seed(self, seed: int) -> Generator:
        """Begin again at ``seed``, -2**63 to 2**64 - 1, of which only the lower 32 bits count.

        Return the generator itself.
        """
        refuse(
            isinstance(seed, bool) or not hasattr(type(seed), "__index__"),
            f"manual_seed expected a long, but got {type_text(seed)}",
        )
        number = operator.index(seed)
        refuse(not -(1 << 63) <= number < 1 << 64, "Overflow when unpacking long long", ValueError)
        self._begin(number % (1 << 64))
        return self

    def seed(self) -> int:
        """Begin again at a seed from the operating system, and return it."""
        self._begin(int.from_bytes(os.urandom(8), "little"))
        return self._seed

    def initial_seed(self) -> int:
        """Return the seed that the stream began at, 0 to 2**64 - 1."""
        return self._seed

    @property
    def state(self) -> Array:
        """Where the stream is: 5056 bytes, laid out as PyTorch does; it can be set to go back."""
        state = np.zeros(1, STATE)
        inner: dict[str, Any] = self._words().get_state(legacy=False)["state"]
        state["seed"], state["seeded"], state["words"] = self._seed, 1, inner["key"]
        state["left"], state["next"] = WORDS - inner["pos"] + 1, inner["pos"] if self._has_drawn else 0
        if self._spare is not None:
            state["normal_is_valid"], state["normal_y"] = 1, self._spare
        return state.view(np.uint8)

    @state.setter
    def state(self, state: Array) -> None:
        refuse(state.size != STATE.itemsize, "RNG state is wrong size")
        fields = np.frombuffer(state.tobytes(), STATE)[0]
        position = WORDS if fields["left"] == 1 else int(fields["next"])
        self._begin(int(fields["seed"]))
        self._words().set_state(("MT19937", fields["words"].astype(np.uint32), position, 0, 0.0))
        self._has_drawn = bool(fields["next"])
        self._spare = float(fields["normal_y"]) if fields["normal_is_valid"] else None

    def _words(self) -> np.random.RandomState:
        if self._stream is None:
            self._stream = np.random.RandomState(self._seed & 0xFFFFFFFF)
        return self._stream

    def draw(self, count: int) -> Array:
        """Return the next words of the stream, uint32."""
        self._has_drawn = self._has_drawn or count > 0
        return self._words().randint(0, 1 << 32, size=count, dtype=np.uint32)

    def draw_wide(self, count: int) -> Array:
        """Return the next numbers of two words each, the first one high; uint64."""
        words = self.draw(2 * count).astype(np.uint64)
        return words[0::2] << np.uint64(32) | words[1::2]

    def draw_unit(self, count: int, dtype: DType = FLOAT64) -> Array:
        """Return uniform numbers in [0, 1): float64 of 53 bits, for any other type float32 of 24 bits."""
        if dtype.itemsize == 8:
            return (self.draw_wide(count) & np.uint64((1 << 53) - 1)) * 2.0**-53
        return (self.draw(count) & np.uint32((1 << 24) - 1)).astype(np.float32) * np.float32(2.0**-24)

    def draw_normal(self, count: int) -> list[float]:
        """Return standard normal numbers one by one, in double precision: Box-Muller makes two, the second is kept."""
        numbers = [] if self._spare is None or not count else [self._spare]
        self._spare = None if numbers else self._spare
        unit = self.draw_unit((count - len(numbers) + 1) // 2 * 2).tolist()
        for u1, u2 in zip(unit[0::2], unit[1::2], strict=True):
            radius, angle = math.sqrt(-2.0 * math.log1p(-u2)), 2.0 * math.pi * u1
            numbers += radius * math.cos(angle), radius * math.sin(angle)
        if len(numbers) > count:
            self._spare = numbers.pop()
        return numbers


default_generator = Generator()
"""The stream that functions draw from without a ``generator``; begun at a seed of the operating system's, as in
PyTorch."""
default_generator.seed()


def float_type(dtype: DType | None, kernel: str) -> DType:
    """Return the type to draw in. NotImplementedError: an integer one has no such kernel."""
    np_dtype = get_default_dtype().np if dtype is None else dtype
    if np_dtype.kind not in INEXACT:
        raise no_kernel(kernel, np_dtype)
    return np_dtype


def uniform(
    shape: Sequence[int],
    low: float = 0.0,
    high: float = 1.0,
    dtype: DType | None = None,
    generator: Generator | None = None,
) -> Array:
    """Return uniform numbers from ``low`` up to, not including, ``high`` (``torch.rand``, ``Tensor.uniform_``)."""
    np_dtype = float_type(dtype, "check_uniform_bounds")
    if np_dtype.kind == "c":
        return uniform((*shape, 2), low, high, of(np_dtype).to_real().np, generator).view(np_dtype).reshape(shape)
    refuse(low > high, f"uniform_ expects to return a [from, to) range, but found from={low:g} > to={high:g}")
    unit = (generator or default_generator).draw_unit(math.prod(shape), np_dtype)
    start, stop = unit.dtype.type(low), unit.dtype.type(high)
    if start != 0 or stop != 1:
        # PyTorch's processor instruction multiplies and adds with one rounding, which for float32 is float64 rounded
        unit = (unit * np.float64(stop - start) + np.float64(start)).astype(unit.dtype, copy=False)
    numbers = unit.astype(np_dtype, copy=False)
    numbers[numbers == np_dtype.type(high)] = np_dtype.type(
        low
    )  # what is rounded up to the excluded bound goes to the other
    return numbers.reshape(shape)


def normal(
    shape: Sequence[int],
    mean: float = 0.0,
    std: float = 1.0,
    dtype: DType | None = None,
    generator: Generator | None = None,
    one_by_one: bool = False,
) -> Array:
    """Return normal numbers with that mean and standard deviation (``torch.randn``, ``Tensor.normal_``).

    One by one they are drawn for few, and for a tensor that does not lie in the order of its indices; else in blocks.
    """
    np_dtype, source, count = float_type(dtype, "normal_kernel_cpu"), generator or default_generator, math.prod(shape)
    refuse(not std >= 0, f"normal expects std >= 0.0, but found std {std:g}")
    if np_dtype.kind == "c":
        parts = normal((*shape, 2), 0.0, std / math.sqrt(2), of(np_dtype).to_real().np, generator, one_by_one).view(
            np_dtype
        )
        return parts[..., 0] + np.full((), mean, np_dtype)
    if count < BLOCK or one_by_one:
        return cast(
            np.array([value * std + mean for value in source.draw_normal(count)], np.float64), np_dtype
        ).reshape(shape)
    whole = count - count % BLOCK
    # the rest is drawn and forgotten but for float16: PyTorch makes the last block anew, over what is there
    numbers = np.empty(count, np.float64 if np_dtype.itemsize == 8 else np.float32)
    numbers[:whole] = normal_blocks(
        source.draw_unit(whole if np_dtype.itemsize == 2 else count, np_dtype)[:whole], mean, std
    )
    if whole < count:
        numbers[-BLOCK:] = normal_blocks(source.draw_unit(BLOCK, np_dtype), mean, std)
    return numbers.astype(np_dtype, copy=False).reshape(shape)


def normal_blocks(unit: Array, mean: float, std: float) -> Array:
    """Return normal numbers by Box-Muller in blocks of 16: the first eight make the radius, the others the angle."""
    blocks = unit.reshape(-1, 2, BLOCK // 2)
    rest, angle = 1 - blocks[:, 0], 2 * math.pi * blocks[:, 1]
    logs, (cosine, sine) = (
        (logarithm(rest), cosine_and_sine(angle))
        if unit.dtype == np.float32
        else (np.log(rest), (np.cos(angle), np.sin(angle)))
    )
    radius = np.sqrt(-2 * logs)
    return fused(np.stack((radius * cosine, radius * sine), axis=1).reshape(-1), std, mean)


CEPHES = {
    "logarithm": (
        7.0376836292e-2, -1.1514610310e-1, 1.1676998740e-1, -1.2420140846e-1, 1.4249322787e-1, -1.6668057665e-1,
        2.0000714765e-1, -2.4999993993e-1, 3.3333331174e-1,
    ),
    "cosine": (2.443315711809948e-5, -1.388731625493765e-3, 4.166664568298827e-2),
    "sine": (-1.9515295891e-4, 8.3321608736e-3, -1.6666654611e-1),
    "pi / -4": (-0.78515625, -2.4187564849853515625e-4, -3.77489497744594108e-8),
}  # fmt: skip
"""The float functions of normal numbers: coefficients, highest power first, and parts (ATen's cpu/avx_mathfun.h)."""


def fused(one: Array, other: Array | float, more: Array | float) -> Array:
    """Return one * other + more, rounded once, as processors with fused multiplication do (float64: 999 of 1000)."""
    kind, wide = one.dtype.type, np.float64 if one.dtype.itemsize == 4 else np.longdouble
    return (wide(one) * kind(other) + kind(more)).astype(kind)  # type: ignore[no-any-return]


def polynomial(x: Array, coefficients: Sequence[float]) -> Array:
    """Return the polynomial of float32 numbers with these coefficients, the highest power first."""
    first, *rest = coefficients
    return reduce(lambda value, coefficient: fused(value, x, coefficient), rest, np.full_like(x, first))


def logarithm(x: Array) -> Array:
    """Return the natural logarithm of float32 numbers in (0, 1], to the bit that PyTorch's normal numbers have."""
    mantissa, exponent = np.frexp(x)
    low = mantissa < math.sqrt(0.5)
    x, power = np.where(low, 2 * mantissa, mantissa) - 1, (exponent - low).astype(np.float32)
    series = fused(polynomial(x, CEPHES["logarithm"]) * x, x * x, power * np.float32(-2.12194440e-4))
    return fused(power, 0.693359375, x + fused(x * x, -0.5, series))


def cosine_and_sine(x: Array) -> tuple[Array, Array]:
    """Return cosine and sine of float32 angles in [0, 2 pi), to the bits that PyTorch's normal numbers have."""
    octant = (x * np.float32(4 / math.pi)).astype(np.int32) + 1 & ~1
    x = reduce(lambda rest, part: fused(octant.astype(np.float32), part, rest), CEPHES["pi / -4"], x)
    square = x * x
    cosine = fused(polynomial(square, CEPHES["cosine"]) * square, square, -square * np.float32(0.5)) + 1
    sine = fused(polynomial(square, CEPHES["sine"]) * square, x, x)
    turned = octant & 2 != 0
    cosine, sine = np.where(turned, sine, cosine), np.where(turned, cosine, sine)
    return np.where(octant - 2 & 4, cosine, -cosine), np.where(octant & 4, -sine, sine)


def randint(
    low: int, high: int, shape: Sequence[int], dtype: DType | None = None, generator: Generator | None = None
) -> Array:
    """Return integers from ``low`` up to, not including, ``high`` (``torch.randint``), int64 by default."""
    refuse(low >= high, f"random_ expects 'from' to be less than 'to', but got from={low} >= to={high}")
    np_dtype = np.dtype(dtype or np.int64)
    refuse(np_dtype.kind == "c", "check_random_bounds handles only integral, floating-point and boolean types")
    least, most = (0, 1) if np_dtype.kind == "b" else (-math.inf, math.inf)
    if np_dtype.kind in "iu":
        least, most = int(np.iinfo(np_dtype).min), int(np.iinfo(np_dtype).max)
    for name, bound in (("from", low), ("to - 1", high - 1)):
        refuse(not least <= bound <= most, f"{name} is out of bounds for {of(np_dtype).c_name}")
    source, count, span = generator or default_generator, math.prod(shape), high - low
    words = source.draw(count).astype(np.uint64) if span < WIDE_RANGE else source.draw_wide(count)
    # the sum wraps around in 64 bits, so it is right for a span beyond 2**63 too
    numbers: Array = (words % np.uint64(span) + np.uint64(low % (1 << 64))).view(np.int64).reshape(shape)
    return numbers.astype(np_dtype, copy=False)


def draw_integers(shape: Sequence[int], dtype: DType, generator: Generator | None = None) -> Array:
    """Return integers from 0 to the largest that a type holds without a gap (``Tensor.random_`` without bounds)."""
    source, count = generator or default_generator, math.prod(shape)
    top = (
        1 << (np.finfo(dtype).nmant + 1) if dtype.kind == "f" else 1 if dtype.kind == "b" else int(np.iinfo(dtype).max)
    )
    words = source.draw_wide(count) if dtype in (np.float64, np.int64) else source.draw(count).astype(np.uint64)
    return (words % np.uint64(top + 1)).astype(dtype).reshape(shape)


def bernoulli(
    p: Any, shape: Sequence[int] = (), dtype: DType | None = None, generator: Generator | None = None
) -> Array:
    """Return ones with probability ``p``, else zeros (``torch.bernoulli``, the mask of a dropout).

    An array has one for each.

    With one for all it is what PyTorch gives on processors other than Intel's, where MKL's own generator makes the
    mask.
    """
    source, own = generator or default_generator, isinstance(p, np.ndarray)
    if dtype is not None and dtype.kind == "c":
        raise no_kernel("bernoulli_scalar_cpu_", dtype)
    refuse(not np.all((p >= 0) & (p <= 1)), f"bernoulli_ expects p to be in [0, 1], but got p={p}")
    shape, np_dtype = (p.shape, float_type(p.dtype, "bernoulli_tensor_cpu_p_")) if own else (shape, FLOAT64)
    ones: Array = source.draw_unit(math.prod(shape), np_dtype).reshape(shape) < p
    return ones.astype(dtype or (np_dtype if own else get_default_dtype().np))


def each(numbers: Iterable[Any], draw_one: Any, generator: Generator | None = None) -> Array:
    """Return what a function draws for each number, one after the other, of (number, uniform, normal); float64."""
    source = generator or default_generator
    draw: tuple[Draw, Draw] = (lambda: float(source.draw_unit(1)[0])), (lambda: source.draw_normal(1)[0])
    return np.array([draw_one(number, *draw) for number in numbers], np.float64)


def draw_gamma(shape: float, uniform: Draw, normal: Draw) -> float:
    """Return a gamma number of rate 1: rejection of cubes of normal numbers (Marsaglia and Tsang, 2000)."""
    scale = 1.0
    if shape < 1:
        if shape == 0:
            return 0.0
        scale, shape = (1 - uniform()) ** (1 / shape), shape + 1
    d = shape - 1 / 3
    c = 1 / math.sqrt(9 * d)
    while True:
        x = normal()
        while 1 + c * x <= 0:
            x = normal()
        v, u = (1 + c * x) ** 3, 1 - uniform()
        if u < 1 - 0.0331 * x**4 or math.log(u) < 0.5 * x * x + d * (1 - v + math.log(v)):
            return scale * d * v


def draw_binomial(trials: tuple[float, float], uniform: Draw, normal: Draw) -> float:
    """Return how many of so many trials succeed: by waits, or where 10 are expected by Hoermann's rejection (1993)."""
    count, p = trials
    if count <= 0 or p <= 0 or p >= 1:
        return count if p >= 1 else 0.0
    if p > 0.5:
        return count - draw_binomial((count, 1 - p), uniform, normal)
    if count * p < 10:
        number, wait = -1, 0.0
        while wait <= count:
            number, unit = number + 1, uniform()
            wait += math.ceil(math.log(unit) / math.log1p(-p)) if unit else math.inf
        return number
    deviation, odds, m = math.sqrt(count * p * (1 - p)), p / (1 - p), math.floor((count + 1) * p)
    b = 1.15 + 2.53 * deviation
    a = -0.0873 + 0.0248 * b + 0.01 * p
    while True:
        u, v = uniform() - 0.5, uniform()
        us = 0.5 - abs(u)
        k = math.floor((2 * a / us + b) * u + count * p + 0.5)
        if us >= 0.07 and v <= 0.92 - 4.2 / b:
            return k
        if k < 0 or k > count:
            continue
        height = math.log(v * (2.83 + 5.1 / b) * deviation / (a / (us * us) + b))
        bound = (
            (m + 0.5) * math.log((m + 1) / (odds * (count - m + 1)))
            + (count + 1) * math.log((count - m + 1) / (count - k + 1))
            + (k + 0.5) * math.log(odds * (count - k + 1) / (k + 1))
            + stirling_rest(m) + stirling_rest(count - m) - stirling_rest(k) - stirling_rest(count - k)
        )  # fmt: skip
        if height <= bound:
            return k


def stirling_rest(k: float) -> float:
    """Return what Stirling's formula lacks of the logarithm of k!."""
    return math.lgamma(k + 1) - (k + 0.5) * math.log(k + 1) + (k + 1) - 0.5 * math.log(2 * math.pi)


def exponential(shape: Sequence[int], rate: float = 1.0, generator: Generator | None = None) -> Array:
    """Return exponential numbers (``Tensor.exponential_``), float64.

    Logarithms of uniform numbers of double precision.
    """
    unit, tiny = (generator or default_generator).draw_unit(math.prod(shape)), np.finfo(np.float64).eps / 2
    return (np.where(unit >= 1 - tiny, -tiny, np.log1p(-unit)) * (-1.0 / rate)).reshape(shape)


def multinomial(weights: Array, count: int, replacement: bool, generator: Generator | None = None) -> Array:
    """Return indices drawn with the weights of each row (``torch.multinomial``), int64.

    Without replacement each weight races against an exponential number of its own; with it, uniform numbers are looked
    up among the running sums.
    """
    if not replacement or count == 1:
        race = weights / exponential(weights.shape, 1.0, generator).astype(weights.dtype)
        return np.argsort(-race, axis=-1, kind="stable")[..., :count]
    rows = weights.reshape(-1, weights.shape[-1])
    sums = np.cumsum(rows, axis=-1, dtype=weights.dtype)
    sums = sums / sums[:, -1:]
    unit = (generator or default_generator).draw_unit(len(rows) * count).reshape(len(rows), count)
    return np.array(
        [np.searchsorted(row[:-1].astype(np.float64), u) for row, u in zip(sums, unit, strict=True)], np.int64
    ).reshape(*weights.shape[:-1], count)
