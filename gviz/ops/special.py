"""Special functions, which numpy lacks: the error function (from values of Python's), gamma (series of doubles), x log y.

Source: PyTorch's derivatives.yaml; the first guess of erfinv is Winitzki's (2008), the series of the gamma function are
Stirling's.
"""

from __future__ import annotations

import math
from functools import cache

import numpy as np

from gviz.ops.rows import ARRAYS, brief, dtypes, formula, function, lacks, op, refuse

# ------------------------------------------------------------------ the error function and its inverse
GRID = 1024  # so many points there are to a unit, at which Python's functions are called once
GAUSS = {4: ((0.5, 1.0),), 8: tuple((0.5 + side * math.sqrt(0.15), (8 - 3 * side * side) / 18) for side in (-1, 0, 1))}
"""Places and weights by which one step is integrated, for numbers of so many bytes."""

@cache
def on_grid(function, kind=np.float64, end=6):
    """Return what a function gives at the grid's points up to an end."""
    return np.array([function(i / GRID) for i in range(end * GRID + 1)], kind)

def density(x):
    """Return how fast the error function rises there."""
    return 2 / math.sqrt(math.pi) * math.exp(-x * x)

def from_grid(array, function, end, sign):
    """Return an error function of the size of each element: that of the nearest point, and the integral from there."""
    kind = np.promote_types(array.dtype, np.float32)
    if dtypes.is_meta(array):  # a point of the grid would be looked up for each
        return array.astype(kind)
    size, decay = np.minimum(np.abs(array.astype(kind, copy=False)), end), 0
    near = np.rint(np.fmin(size, end) * GRID)
    place, step = near.astype(np.intp), size - near * (1 / GRID)
    for share, weight in GAUSS[kind.itemsize]:
        part = step * share
        decay = decay + np.exp(-part * (near * (2 / GRID) + part)) * weight
    return np.add(on_grid(function, kind, end).take(place), decay * step * (on_grid(density, kind, end).take(place) * sign),
                  out=np.empty_like(size))  # which lies in memory as the array does

def erf_of(self):
    return np.copysign(from_grid(self, math.erf, 6, 1).astype(self.dtype, copy=False), self)

def erfc_of(self):
    value = from_grid(self, math.erfc, 28, -1)
    return np.where(self < 0, 2 - value, value).astype(self.dtype, copy=False)

def erfinv_of(self):
    """A first guess (Winitzki), a series from the grid's point there, and in double precision a step of Halley's."""
    size = np.abs(self)
    rest = 1 - size
    logarithm = np.log(rest * (1 + size))
    middle = 2 / (math.pi * 0.147) + logarithm / 2
    guess = np.sqrt(np.sqrt(middle * middle - logarithm / 0.147) - middle)
    place = np.rint(np.fmin(guess, 6) * GRID).astype(np.intp)
    u = np.where(size < 0.5, size - on_grid(math.erf).take(place), on_grid(math.erfc).take(place) - rest)
    kind = np.promote_types(self.dtype, np.float32)
    x, u = (place / GRID).astype(kind), (u / on_grid(density).take(place)).astype(kind)
    square = x * x
    x = x + u * (1 + u * (x + u * ((4 * square + 1) / 3 + u * x * (2 * square + 7 / 6))))
    if kind == np.float64:
        off = np.where(size < 0.5, size - erf_of(x), erfc_of(x) - rest) * np.exp(x * x) * (math.sqrt(math.pi) / 2)
        x = x + off / (1 - x * off)
    return np.copysign(np.where(size < 1, x, -logarithm).astype(self.dtype, copy=False), self, out=np.empty_like(self))

function("erf", "ErfBackward0", erf_of, "erf erf_ special.erf",
    self="1.1283791670955126 * exp(neg(power(self, 2))) * grad")
function("erfc", "ErfcBackward0", erfc_of, "erfc erfc_ special.erfc", check=lacks("erfc_vml_cpu", "c"),
    self="-1.1283791670955126 * exp(neg(power(self, 2))) * grad")
function("erfinv", "ErfinvBackward0", erfinv_of, "erfinv .erfinv_ special.erfinv",
    self="0.8862269254527579 * exp(power(erfinv(self), 2)) * grad")

# ------------------------------------------------------------------ the gamma function
SHIFT = 12  # arguments of the asymptotic series are moved up to this far from zero
BERNOULLI = (1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6, -3617 / 510)

def lgamma_of(self):
    """Moved up, then Stirling's series; reflected to the right side."""
    x = np.minimum(np.abs(self.astype(np.float64)), 1e306)  # from there on it is infinite
    z, product, series = x + 8, 1.0, 0.0
    for k in range(8):
        product = product * ((x + k) / z)
    for k, b in reversed([*enumerate(BERNOULLI, 1)]):
        series = series / (z * z) + b / (2 * k * (2 * k - 1))
    value = (x - 0.5) * (np.log(z) - 1) + (series / z - np.log(product) + (math.log(2 * math.pi) / 2 - 8.5))
    value = np.where((x == 1) | (x == 2), 0, value)
    wave = np.abs(np.sin(np.pi * (x - np.rint(x))))
    reflection = np.where(wave == 0, np.inf, math.log(math.pi) - np.log(wave) - np.log(x) - value)
    return np.where(self > 0, value, reflection).astype(self.dtype)

function("lgamma", "LgammaBackward0", lgamma_of, "lgamma .lgamma_ special.gammaln", check=lacks("lgamma_vml_cpu", "c"),
    self="grad * digamma(self)")

@op("DigammaBackward0", "digamma .digamma_ special.digamma special.psi", promote="float", check=lacks("digamma", "c"),
    self="grad * polygamma(1, self)")
def digamma(self):
    """Reflected to the right side, moved up, then its asymptotic series."""
    x, is_negative = self.astype(np.float64), self < 0
    y = np.where(is_negative, 1 - x, x)
    z = y + SHIFT
    series, square = np.zeros_like(z), 1 / (z * z)
    for k, b in reversed([*enumerate(BERNOULLI, 1)]):
        series = (series + b / (2 * k)) * square
    value = np.log(z) - 0.5 / z - series - sum(1 / (y + k) for k in range(SHIFT))
    value = np.where(is_negative, value - np.pi / np.tan(np.pi * x), value)
    value = np.where(is_negative & (x == np.floor(x)), np.nan, value)
    return np.where(x == 0, np.copysign(np.inf, -x), np.where(np.isposinf(x), np.inf, value)).astype(self.dtype)

@op("PolygammaBackward0", "torch.polygamma special.polygamma", promote="float", self="grad * polygamma(n + 1, self)")
def polygamma(n: int, self):
    """The n-th derivative of digamma; the first one reflected to the right side."""
    refuse(n < 0, "polygamma(n, x) does not support negative n.")
    if n == 0:
        return ARRAYS["digamma"](self)
    x = self.astype(np.float64)
    is_reflected = (x < 0.5) & (n == 1)
    value = (-1) ** (n + 1) * math.factorial(n) * zeta(n + 1.0, np.where(is_reflected, 1 - x, x))
    return np.where(is_reflected, (np.pi / np.sin(np.pi * x)) ** 2 - value, value).astype(self.dtype)

brief(".polygamma", lambda self, n: polygamma(n, self), "polygamma_of", n="int")

def zeta(s, q):
    """Return the sum of (q + k)^-s over all k: the first terms one by one, the rest by Euler and Maclaurin."""
    shift = SHIFT + int(np.ceil(-np.min(q, where=np.isfinite(q), initial=0)))  # to the right of all poles
    z, factor, square = q + shift, s, 1 / (q + shift) ** 2
    power = z ** (1 - s)  # numpy is quick with squares, not with other powers
    total = sum(1 / (q + k) ** 2 if s == 2 else (q + k) ** -s for k in range(shift)) + power / (s - 1) + 0.5 * z**-s
    for k, b in enumerate(BERNOULLI, 1):
        power = power * square
        total = total + b / math.factorial(2 * k) * factor * power
        factor *= (s + 2 * k - 1) * (s + 2 * k)
    return np.where(np.isinf(q), np.where(q < 0, np.inf, 0.0), total)

# ------------------------------------------------------------------ x log y
def times_log(self, other):
    return np.where((self == 0) & ~np.isnan(other), self.dtype.type(0), self * np.log(other))

function("xlogy", "XlogyBackward0", times_log, "xlogy xlogy_ special.xlogy", check=lacks("xlogy_cpu", "c"), rounding="each",
    other="grad * self / other",
    self="masked_fill(xlogy(grad, cast_like(other, grad)), logical_and(equal(self, 0.0), less_equal(other, 0.0)), 0.0)")
function("xlogy_base", "XlogyBackward1", lambda self, other: times_log(other.dtype.type(self), other), "xlogy special.xlogy",
    check=lacks("xlogy_cpu", "c"), rounding="each", other="grad * self / other")
function("xlogy_scalar", "XlogyBackward2", lambda self, other: times_log(self, self.dtype.type(other)),
    "xlogy xlogy_ special.xlogy", check=lacks("xlogy_cpu", "c"), rounding="each", self="xlogy_scalar_backward(grad, self, other)")
formula("xlogy_scalar_backward", lambda grad, self, other:
    xlogy_scalar(grad, other) if other > 0 else masked_fill(xlogy_scalar(grad, other), equal(self, 0.0), 0.0))
