"""Special functions: gamma and its kin, the inverse error function, entropy, the normal distribution.

Numpy has none of them: they are series and continued fractions here, in double precision.
"""

from __future__ import annotations

import math

import numpy as np

from gviz.autograd.row import ARRAYS, composite, everywhere, op
from gviz.ops.rows import alike, function, row
from gviz.ops.trigonometry import floating, xlogarithm

SHIFT = 12
"""Arguments of the asymptotic series are moved up to this far from zero."""
BERNOULLI = (1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6, -3617 / 510)


def log_gamma(x):
    """The logarithm of the gamma function's size; infinite at 0, -1, -2, ..."""
    return math.inf if math.isinf(x) or (x <= 0 and x == math.floor(x)) else x if math.isnan(x) else math.lgamma(x)


LGAMMA = np.frompyfunc(log_gamma, 1, 1)


function("lgamma", "LgammaBackward0", lambda self: floating(LGAMMA(self), self), self="grad * digamma(self)")


@op("DigammaBackward0", promote="float", self="grad * polygamma(1, self)")
def digamma(self):
    return floating(psi(np.asarray(self, np.float64)), self)


def psi(x):
    """The logarithmic derivative of gamma: reflected to the right side, moved up, then its asymptotic series."""
    left = x < 0
    y = np.where(left, 1 - x, x)
    shift = sum(1 / (y + k) for k in range(SHIFT))
    z = y + SHIFT
    series = sum(b / (2 * k * z ** (2 * k)) for k, b in enumerate(BERNOULLI, 1))
    found = np.log(z) - 0.5 / z - series - shift
    found = np.where(left, found - np.pi / np.tan(np.pi * x), found)
    found = np.where(left & (x == np.floor(x)), np.nan, found)
    return np.where(x == 0, np.copysign(np.inf, -x), np.where(np.isposinf(x), np.inf, found))


@op("PolygammaBackward0", promote="float", self="grad * polygamma(n + 1, self)")
def polygamma(n, self):
    if n < 0:
        raise RuntimeError("polygamma(n, x) does not support negative n.")
    x = np.asarray(self, np.float64)
    return floating(
        psi(x) if n == 0 else trigamma(x, self.dtype) if n == 1 else signed_factorial(n) * zeta(n + 1.0, x, np.nan),
        self,
    )


def signed_factorial(n):
    """The factor of the n-th derivative; infinite where it leaves double precision."""
    return (1 if n % 2 else -1) * (math.factorial(n) if n < 171 else math.inf)


alike("polygamma_", "PolygammaBackward1", "polygamma")


def trigamma(x, kind):
    """The second logarithmic derivative of gamma, reflected to the right side by a sine of the dtype's precision."""
    left = x < 0.5
    found = zeta(2.0, np.where(left, 1 - x, x))
    pi = kind.type(np.pi) if kind.kind == "f" else np.float32(np.pi)
    return np.where(left, pi * pi / np.square(np.sin(pi * x.astype(pi.dtype))) - found, found)


def zeta(s, q, far=0.0):
    """The sum of (q + k)^-s over all k: the first terms one by one, the rest by Euler and Maclaurin; ``far`` for infinity."""
    total = sum((q + k) ** -s for k in range(SHIFT))
    z = q + SHIFT
    total = total + z ** (1 - s) / (s - 1) + 0.5 * z**-s
    factor = s
    for k, b in enumerate(BERNOULLI, 1):
        total = total + b / math.factorial(2 * k) * factor * z ** (-s - 2 * k + 1)
        factor *= (s + 2 * k - 1) * (s + 2 * k)
    return np.where(np.isinf(q), np.where(q < 0, np.inf, far), total)


ENDS = (
    (lambda a, x: a < 0 or x < 0 or (a == 0 and not x > 0), math.nan),
    (lambda a, x: a != 0 and x == 0, 0.0),
    (lambda a, x: math.isinf(a) and math.isinf(x), math.nan),
    (lambda a, x: math.isinf(a), 0.0),
    (lambda a, x: a == 0 or math.isinf(x), 1.0),
    (lambda a, x: math.isnan(a) or math.isnan(x), math.nan),
)
"""Where the incomplete gamma function needs no sum, asked in PyTorch's order, which counts where something is no number."""


def gamma_below(a, x):
    """The regularised incomplete gamma function: a series near zero, a continued fraction (Lentz) further out."""
    for holds, value in ENDS:
        if holds(a, x):
            return value
    if a > 1e12:  # a normal distribution (Temme)
        away = max(x / a - 1, -1 + 2**-53)
        return 0.5 * math.erfc(-math.copysign(math.sqrt(max(a * (away - math.log1p(away)), 0)), away))
    scale = math.exp(a * math.log(x) - x - math.lgamma(a))
    if not scale:
        return float(x > a)
    if x < a + 1:
        term = total = 1 / a
        k = a
        while abs(term) > abs(total) * 1e-17:
            k += 1
            term *= x / k
            total += term
        return total * scale
    b = x + 1 - a
    c, d = 1e300, 1 / b
    fraction, i = d, 0
    factor = 0.0
    while abs(factor - 1) > 1e-16 and i < 10000:
        i += 1
        step = -i * (i - a)
        b += 2
        d = 1 / (step * d + b)
        c = b + step / c
        factor = c * d
        fraction *= factor
    return 1 - fraction * scale


GAMMA_BELOW = np.frompyfunc(gamma_below, 2, 1)


@op(
    "IgammaBackward0",
    self='not_implemented("igamma: input")',
    other="grad * exp((self - 1) * log(other) - other - lgamma(self))",
)
def igamma(self, other):
    return floating(GAMMA_BELOW(self, other), self)


@op(
    "IgammacBackward0",
    self='not_implemented("igammac: input")',
    other="neg(grad) * exp((self - 1) * log(other) - other - lgamma(self))",
)
def igammac(self, other):
    return floating(1 - GAMMA_BELOW(self, other), self)


# ------------------------------------------------------------------ the error function turned round, entropy
def error_inverse(y):
    """Where the error function has that value: a first guess (Winitzki), then Halley's steps."""
    if math.isnan(y) or abs(y) >= 1:
        return math.copysign(math.inf, y) if abs(y) == 1 else math.nan
    logarithm = math.log1p(-y * y)
    middle = 2 / (math.pi * 0.147) + logarithm / 2
    x = math.copysign(math.sqrt(math.sqrt(middle * middle - logarithm / 0.147) - middle), y)
    for _ in range(4):
        off = (
            (math.erf(x) - y if abs(y) < 0.5 else math.copysign(1, y) * (1 - abs(y) - math.erfc(abs(x))))
            * math.sqrt(math.pi)
            / 2
        )
        slope = off * math.exp(x * x)
        x -= slope / (1 + x * slope)
    return x


ERFINV = np.frompyfunc(error_inverse, 1, 1)


@op("ErfinvBackward0", promote="float", self="0.8862269254527579 * exp(power(erfinv(self), 2)) * grad")
def erfinv(self):
    return floating(ERFINV(self), self)


@op("SpecialNdtriBackward0", promote="float", self="grad * 2.5066282746310002 * exp(power(result, 2) / 2)")
def special_ndtri(self):
    return floating(ERFINV(2 * np.asarray(self, np.float64) - 1) * math.sqrt(2), self)


@op("SpecialEntrBackward0", promote="float", self="grad * neg(1 + log(self))")
def special_entr(self):
    return np.where(self < 0, -np.inf, -xlogarithm(self, self))


@op(
    "SpecialXlog1PyBackward0",
    promote="float",
    self="masked_fill(special_xlog1py(grad, other), logical_and(equal(self, 0.0), less_equal(other, -1.0)), 0.0)",
    other="grad * self / (other + 1)",
)
def special_xlog1py(self, other):
    return np.where((self == 0) & ~np.isnan(other), np.zeros_like(self), self * np.log1p(other))


@op("SpecialXlog1PyBackward1", promote="float", other="grad * self / (other + 1)")
def special_xlog1py_base(self, other):
    return ARRAYS["special_xlog1py"](other.dtype.type(self), other)


@op("SpecialXlog1PyBackward2", promote="float", self="xlog1py_scalar_backward(grad, self, other)")
def special_xlog1py_scalar(self, other):
    return ARRAYS["special_xlog1py"](self, self.dtype.type(other))


@composite
def xlog1py_scalar_backward(grad, self, other):
    """The logarithm of one more than a number; none at zero where there is no logarithm."""
    slope = special_xlog1py_scalar(grad, other)
    return slope if other > -1 else masked_fill(slope, equal(self, 0.0), 0.0)


# ------------------------------------------------------------------ Bessel functions, scaled tails of the normal distribution
def bessel(x, order):
    """A modified Bessel function of order 0 or 1 over exp(|x|): the mean of exp(|x| (cos t - 1)) cos(order t) over a circle."""
    size = np.minimum(np.abs(x), 1e8)  # from there on it falls like a root
    count = 15 + int(2.5 * math.sqrt(np.max(size, initial=0, where=~np.isnan(size))))
    found = np.zeros_like(size)
    for step in (np.arange(count) + 0.5) * math.pi / 2 / count:
        cosine = math.cos(step)
        both = -cosine * np.expm1(-2 * size * cosine) if order else 1 + np.exp(-2 * size * cosine)
        found += np.exp(-2 * size * math.sin(step / 2) ** 2) * both
    found *= 0.5 / count * np.sqrt(1e8 / np.maximum(np.abs(x), 1e8))
    return np.copysign(found, x) if order else found


def grown(x, order):
    """The same as it is."""
    return bessel(x, order) * np.exp(np.abs(x))


def of_double(formula, order):
    """A forward in double precision."""
    return lambda self: floating(formula(np.asarray(self, np.float64), order), self)


function("i0", "I0Backward0", of_double(grown, 0), self="grad * special_i1(self)")
function("special_i0e", "SpecialI0EBackward0", of_double(bessel, 0), self="grad * (special_i1e(self) - sgn(self) * result)")
function("special_i1", "SpecialI1Backward0", of_double(grown, 1), self="i1_backward(grad, self, result)")
function("special_i1e", "SpecialI1EBackward0", of_double(bessel, 1), self="i1e_backward(grad, self, result)")


@everywhere
def spacing_at_one(value):
    """The distance from one to the next number of the dtype."""
    return float(np.finfo(getattr(value, "_array", value).dtype).eps)


@composite
def i1_backward(grad, self, result):
    """I0 - I1 / x, and a half at zero, written as PyTorch does."""
    large = greater(absolute(self), spacing_at_one(self))
    safe = where(large, self, spacing_at_one(self))
    part = result * reciprocal(safe)  # right operands are made first, as in PyTorch
    return grad * where(large, i0(safe) - part, 0.5)


@composite
def i1e_backward(grad, self, result):
    """The same of the scaled ones."""
    large = greater(absolute(self), spacing_at_one(self))
    safe = where(large, self, spacing_at_one(self))
    part = reciprocal(safe)
    part = result * (sgn(safe) + part)
    return grad * where(large, special_i0e(safe) - part, 0.5)


def scaled_tail(x):
    """The complementary error function times exp(x^2), far out by a continued fraction."""
    if x < 10:
        return math.exp(x * x) * math.erfc(x) if x > -26.6 else math.inf
    fraction = x
    for k in range(20, 0, -1):
        fraction = x + k / 2 / fraction
    return 1 / (fraction * math.sqrt(math.pi))


def log_below(x):
    """The logarithm of the share of the normal distribution that lies below."""
    if x < -1:
        return math.log(scaled_tail(-x / math.sqrt(2)) / 2) - x * x / 2 if x > -math.inf else x
    return math.log1p(-math.erfc(x / math.sqrt(2)) / 2)


SCALED_TAIL, LOG_BELOW = np.frompyfunc(scaled_tail, 1, 1), np.frompyfunc(log_below, 1, 1)
function(
    "special_erfcx",
    "SpecialErfcxBackward0",
    lambda self: floating(SCALED_TAIL(self), self),
    self="(2.0 * self * result - 1.1283791670955126) * grad",
)
function(
    "special_log_ndtr",
    "SpecialLogNdtrBackward0",
    lambda self: floating(LOG_BELOW(self), self),
    self="grad / 2.5066282746310002 * exp(neg(result + power(self, 2) / 2))",
)


# ------------------------------------------------------------------ the multivariate gamma function
row("half_steps", None, lambda self, p: np.arange(-p / 2 + 0.5, 0.5, 0.5, dtype=self.dtype), nondiff=("self",))


@op(
    "MvlgammaBackward0",
    promote="float",
    self='grad * sum_dim(overwritten(half_steps(self, p) + unsqueeze(self, -1), "digamma"), (-1,))',
)
def mvlgamma(self, p):
    if p < 1:
        raise RuntimeError("p has to be greater than or equal to 1")
    constant = p * (p - 1) / 4 * math.log(math.pi)
    return floating(sum(LGAMMA(self - i / 2) for i in range(p)) + constant, self)
