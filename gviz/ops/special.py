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
def erfinv_of(y):
    """Return where the error function has that value: a first guess (Winitzki), then Halley's steps."""
    if math.isnan(y) or abs(y) >= 1:
        return math.copysign(math.inf, y) if abs(y) == 1 else math.nan
    logarithm = math.log1p(-y * y)
    middle = 2 / (math.pi * 0.147) + logarithm / 2
    x = math.copysign(math.sqrt(math.sqrt(middle * middle - logarithm / 0.147) - middle), y)
    for _ in range(4):
        off = math.erf(x) - y if abs(y) < 0.5 else math.copysign(1, y) * (1 - abs(y) - math.erfc(abs(x)))
        slope = off * math.exp(x * x) * math.sqrt(math.pi) / 2
        x -= slope / (1 + x * slope)
    return x

function("erf", "ErfBackward0", each(math.erf), "erf erf_ special.erf",
    self="1.1283791670955126 * exp(neg(power(self, 2))) * grad")
function("erfc", "ErfcBackward0", each(math.erfc), "erfc erfc_ special.erfc",
    self="-1.1283791670955126 * exp(neg(power(self, 2))) * grad")
function("erfinv", "ErfinvBackward0", each(erfinv_of), "erfinv .erfinv_ special.erfinv",
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
    series = sum(b / (2 * k * z ** (2 * k)) for k, b in enumerate(BERNOULLI, 1))
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
    z, factor = q + SHIFT, s
    total = sum((q + k) ** -s for k in range(SHIFT)) + z ** (1 - s) / (s - 1) + 0.5 * z**-s
    for k, b in enumerate(BERNOULLI, 1):
        total = total + b / math.factorial(2 * k) * factor * z ** (-s - 2 * k + 1)
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
