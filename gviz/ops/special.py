"""Special functions, which numpy lacks (Python's, or series here, in double precision): gamma, error function, x log y."""

from __future__ import annotations

import math

import numpy as np

from gviz.autograd.row import op
from gviz.ops.rows import formula, function


def each(called):
    elementwise = np.frompyfunc(called, 1, 1)
    return lambda self: np.asarray(elementwise(self)).astype(self.dtype)

# ------------------------------------------------------------------ the error function and its inverse
erf_of, erfc_of = each(math.erf), each(math.erfc)

def erfinv_of(self):
    """Return where the error function has that value: a first guess (Winitzki), then Halley's steps."""
    y = self.astype(np.float64)
    logarithm, inside = np.log1p(-y * y), np.abs(y) < 1
    middle = 2 / (math.pi * 0.147) + logarithm / 2
    x = np.where(inside, np.sqrt(np.sqrt(middle * middle - logarithm / 0.147) - middle), 0.0)
    size, small = np.abs(y), np.abs(y) < 0.5
    for _ in range(3):
        off = np.empty_like(x)
        off[small], off[~small] = erf_of(x[small]) - size[small], 1 - size[~small] - erfc_of(x[~small])
        slope = off * np.exp(x * x) * (math.sqrt(math.pi) / 2)
        x = x - slope / (1 + x * slope)
    return np.copysign(np.where(inside, x, np.where(size == 1, np.inf, np.nan)), y).astype(self.dtype)

function("erf", "ErfBackward0", erf_of, "erf erf_ special.erf",
    self="1.1283791670955126 * exp(neg(power(self, 2))) * grad")
function("erfc", "ErfcBackward0", erfc_of, "erfc erfc_ special.erfc",
    self="-1.1283791670955126 * exp(neg(power(self, 2))) * grad")
function("erfinv", "ErfinvBackward0", erfinv_of, "erfinv .erfinv_ special.erfinv",
    self="0.8862269254527579 * exp(power(erfinv(self), 2)) * grad")

# ------------------------------------------------------------------ the gamma function
SHIFT = 12  # arguments of the asymptotic series are moved up to this far from zero
BERNOULLI = (1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6, -3617 / 510)

def lgamma_of(x):
    return math.inf if math.isinf(x) or (x <= 0 and x == math.floor(x)) else x if math.isnan(x) else math.lgamma(x)

function("lgamma", "LgammaBackward0", each(lgamma_of), "lgamma .lgamma_ special.gammaln", self="grad * digamma(self)")

@op("DigammaBackward0", "digamma .digamma_ special.digamma special.psi", promote="float", self="grad * polygamma(1, self)")
def digamma(self):
    """Reflected to the right side, moved up, then its asymptotic series."""
    x, left = self.astype(np.float64), self < 0
    y = np.where(left, 1 - x, x)
    z = y + SHIFT
    series, square = np.zeros_like(z), 1 / (z * z)
    for k, b in reversed([*enumerate(BERNOULLI, 1)]):
        series = (series + b / (2 * k)) * square
    value = np.log(z) - 0.5 / z - series - sum(1 / (y + k) for k in range(SHIFT))
    value = np.where(left, value - np.pi / np.tan(np.pi * x), value)
    value = np.where(left & (x == np.floor(x)), np.nan, value)
    return np.where(x == 0, np.copysign(np.inf, -x), np.where(np.isposinf(x), np.inf, value)).astype(self.dtype)

@op("PolygammaBackward0", promote="float", self="grad * polygamma(n + 1, self)")
def polygamma(n, self):
    """The n-th derivative of digamma, n > 0; the first one reflected to the right side."""
    x = self.astype(np.float64)
    left = (x < 0.5) & (n == 1)
    value = (-1) ** (n + 1) * math.factorial(n) * zeta(n + 1.0, np.where(left, 1 - x, x))
    return np.where(left, (np.pi / np.sin(np.pi * x)) ** 2 - value, value).astype(self.dtype)

def zeta(s, q):
    """Return the sum of (q + k)^-s over all k: the first terms one by one, the rest by Euler and Maclaurin."""
    z, factor, square = q + SHIFT, s, 1 / (q + SHIFT) ** 2
    power = z ** (1 - s)  # numpy is quick with squares, not with other powers
    total = sum(1 / (q + k) ** 2 if s == 2 else (q + k) ** -s for k in range(SHIFT)) + power / (s - 1) + 0.5 * z**-s
    for k, b in enumerate(BERNOULLI, 1):
        power = power * square
        total = total + b / math.factorial(2 * k) * factor * power
        factor *= (s + 2 * k - 1) * (s + 2 * k)
    return np.where(np.isinf(q), np.where(q < 0, np.inf, 0.0), total)

# ------------------------------------------------------------------ x log y
def times_log(self, other):
    return np.where((self == 0) & ~np.isnan(other), self.dtype.type(0), self * np.log(other))

function("xlogy", "XlogyBackward0", times_log, "xlogy xlogy_ special.xlogy", other="grad * self / other",
    self="masked_fill(xlogy(grad, other), logical_and(equal(self, 0.0), less_equal(other, 0.0)), 0.0)")
function("xlogy_base", "XlogyBackward1", lambda self, other: times_log(other.dtype.type(self), other), "xlogy special.xlogy",
    other="grad * self / other")
function("xlogy_scalar", "XlogyBackward2", lambda self, other: times_log(self, self.dtype.type(other)),
    "xlogy xlogy_ special.xlogy", self="xlogy_scalar_backward(grad, self, other)")
formula("xlogy_scalar_backward", lambda grad, self, other:
    xlogy_scalar(grad, other) if other > 0 else masked_fill(xlogy_scalar(grad, other), equal(self, 0.0), 0.0))
