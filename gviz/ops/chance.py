"""Random numbers written over tensors or drawn for their elements; nothing of a gradient goes through them.

Source: PyTorch's derivatives.yaml, and Distributions.cpp; the numbers are those of gviz/numbers/random.py.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from gviz.numbers import random
from gviz.numbers.shapes import memory_order
from gviz.ops.rows import ARRAYS, Array, each_of, lacks, op, refuse, row

NONE = "zeros_like(grad)"

def over(self: Array, draw: Callable[[list[int]], Any]) -> Any:
    """Return what a function draws for sizes, those of a tensor, in the order in which it lies in memory."""
    order = memory_order(self.shape, [self])  # PyTorch fills it so
    return draw([self.shape[dim] for dim in order]).transpose(np.argsort(order))

row("uniform_fill", "UniformBackward0", lambda self, low=0.0, high=1.0, *, generator=None:
    over(self, lambda size: random.uniform(size, low, high, self.dtype, generator)), ".uniform_", self=NONE)
row("normal_fill", "NormalBackward0", lambda self, mean=0.0, std=1.0, *, generator=None:
    over(self, lambda size: random.normal(size, mean, std, self.dtype, generator, not self.flags.c_contiguous)),
    ".normal_", self=NONE)
row("exponential_fill", "ExponentialBackward0", lambda self, lambd=1.0, *, generator=None:
    exponential(self, lambd, generator), ".exponential_",
    check=lacks("", message="Exponential distribution: dtype must be floating point"), self=NONE)
row("bernoulli_each", "BernoulliBackward1", lambda self, p, *, generator=None:
    over(self, lambda _: random.bernoulli(
        np.broadcast_to(p, self.shape).transpose(memory_order(self.shape, [self])), (), self.dtype, generator)),
    ".bernoulli_", promote="none", self=NONE, p=NONE,
    check=each_of(
        lambda self, p: lacks("bernoulli_tensor_cpu_self_", "c")(self), lambda self, p: lacks("bernoulli_tensor_cpu_p_")(p)))
row("bernoulli_one", "BernoulliBackward2", lambda self, p=0.5, *, generator=None:
    over(self, lambda size: random.bernoulli(p, size, self.dtype, generator)), ".bernoulli_", self=NONE)
row("bernoulli", "BernoulliBackward0", lambda self, *, generator=None: random.bernoulli(self, generator=generator),
    "bernoulli", check=each_of(lacks("bernoulli_tensor_cpu_self_", "c"), lacks("bernoulli_tensor_cpu_p_", "biu")), self=NONE)
row("bernoulli_of", "NotImplemented", lambda self, p, *, generator=None: ARRAYS["bernoulli_one"](self, p, generator),
    "bernoulli", self='refuse_derivative("bernoulli")')
row("random_all", "RandomBackward2", lambda self, *, generator=None:
    over(self, lambda size: random.draw_integers(size, self.dtype, generator)), ".random_", check=lacks("random_kernel_cpu", "c"),
    self=NONE)
@op("RandomBackward1", ".random_", self=NONE)
def random_to(self, high: int, *, generator=None):
    return over(self, lambda size: random.randint(0, high, size, self.dtype, generator))
@op("RandomBackward0", ".random_", self=NONE)
def random_from(self, low: int, high: int, *, generator=None):
    return over(self, lambda size: random.randint(low, high, size, self.dtype, generator))

def exponential(self, lambd, generator):
    refuse(lambd <= 0, f"exponential_ expects lambda > 0.0, but found lambda={lambd}")
    return over(self, lambda size: random.exponential(size, lambd, generator)).astype(self.dtype)

def spread(shape, std, dtype, generator):
    """Return normal numbers around 0 with deviations; refuse negative ones."""
    refuse(not (std >= 0).all(), "normal expects all elements of std >= 0.0")
    return random.normal(shape, 0.0, 1.0, dtype, generator) * std

REAL_SPREAD = lacks("", "c", "normal expects standard deviation to be non-complex")
row("normal", "NormalBackward3", lambda mean, std, *, generator=None:
    (spread(np.broadcast_shapes(mean.shape, std.shape), std, mean.dtype, generator) + mean).astype(mean.dtype),
    "torch.normal", promote="none", check=each_of(
        lambda mean, std: REAL_SPREAD(std), lambda mean, std: lacks("normal_kernel_cpu", "biu")(mean)),
    mean="zeros_of(grad, mean_sym_sizes)", std="zeros_of(grad, std_sym_sizes)")
row("normal_mean", "NormalBackward1", lambda mean, std=1.0, *, generator=None:
    random.normal(mean.shape, 0.0, std, mean.dtype, generator) + mean, "torch.normal", mean="zeros_of(grad, mean_sym_sizes)")
row("normal_std", "NormalBackward2", lambda mean, std, *, generator=None:
    spread(std.shape, std, std.dtype, generator) + std.dtype.type(mean), "torch.normal",
    check=REAL_SPREAD, std="zeros_of(grad, std_sym_sizes)")

@op(None, "multinomial", nondiff=("self",), check=lacks(
    "", message="multinomial only supports floating-point dtypes for input, got: {name}"))
def multinomial(self, num_samples: int, replacement: bool = False, *, generator: Generator = None):
    refuse(self.ndim not in (1, 2), "multinomial(): prob_dist must be 1 or 2 dim")
    refuse(num_samples <= 0, "cannot sample n_sample <= 0 samples")
    refuse(not replacement and num_samples > self.shape[-1],
           "cannot sample n_sample > prob_dist.size(-1) samples without replacement")
    refuse((~np.isfinite(self)).any() or (self < 0).any(),
           "probability tensor contains either `inf`, `nan` or element < 0")
    refuse((self.sum(axis=-1) <= 0).any(), "invalid multinomial distribution (sum of probabilities <= 0)")
    return random.multinomial(self, num_samples, replacement, generator)

# ------------------------------------------------------------------ of other distributions
row("standard_gamma", "StandardGammaBackward0", lambda self, *, generator=None: np.maximum(
    np.finfo(self.dtype).tiny, each(random.draw_gamma, generator, self).astype(self.dtype)),
    self="grad * standard_gamma_grad(self, result)")
row("sample_dirichlet", None, lambda self, *, generator=None: shares(self, each(random.draw_gamma, generator, self)),
    nondiff=("self",))

def draw_poisson(rate, uniform, _normal):
    """Return a Poisson number: a product of uniform numbers, or from a rate of 10 on Hoermann's rejection (1993)."""
    if rate < 10:
        count, product, end = 0, uniform() if rate else 0.0, math.exp(-rate)
        while product > end:
            count, product = count + 1, product * uniform()
        return count
    b = 0.931 + 2.53 * math.sqrt(rate)
    a = -0.059 + 0.02483 * b
    while True:
        u, v = uniform() - 0.5, uniform()
        us = 0.5 - abs(u)
        k = math.floor((2 * a / us + b) * u + rate + 0.43)
        if us >= 0.07 and v <= 0.9277 - 3.6224 / (b - 2):
            return k
        if k < 0 or (us < 0.013 and v > us):
            continue
        height = math.log(v) + math.log(1.1239 + 1.1328 / (b - 3.4)) - math.log(a / (us * us) + b)
        if height <= -rate + k * math.log(rate) - math.lgamma(k + 1):
            return k

row("poisson", "PoissonBackward0", lambda self, generator=None:
    refuse((self < 0).any(), "invalid Poisson rate, expected rate to be non-negative")
    or each(draw_poisson, generator, self).astype(self.dtype), "torch.poisson", self=NONE,
    check=lacks("poisson_cpu"))
row("cauchy_fill", "CauchyBackward0", lambda self, median=0.0, sigma=1.0, *, generator=None: (
    refuse(sigma <= 0, f"cauchy_ expects sigma > 0.0, but found sigma={sigma:g}")
    or median + sigma * np.tan(np.pi * (units(self, generator) - 0.5))).astype(self.dtype), ".cauchy_", self=NONE)
row("geometric_fill", "GeometricBackward0", lambda self, p, *, generator=None:
    (refuse(not 0 < p < 1, f"geometric_ expects p to be in (0, 1), but got p={p:g}")
     or np.ceil(np.log(units(self, generator)) / np.log1p(-p))).astype(self.dtype), ".geometric_", self=NONE)
row("log_normal_fill", "LogNormalBackward0", lambda self, mean=1.0, std=2.0, *, generator=None: (
    refuse(std <= 0, f"log_normal_ expects std > 0.0, but found std={std:g}")
    or np.exp(mean + std * each(lambda _, uniform, normal: normal(), generator, self))).astype(self.dtype),
    ".log_normal_", check=lacks("log_normal_cpu", "biuc"), self=NONE)

row("binomial", "BinomialBackward0", lambda count, prob, generator=None:
    each(random.draw_binomial, generator, count, prob).astype(count.dtype), "torch.binomial", promote="none",
    count=NONE, prob=NONE)

def each(draw_one, generator, *arrays):
    """Return what a function draws for each element, float64."""
    numbers = [array.astype(np.float64).ravel().tolist() for array in arrays]
    drawn = random.each(numbers[0] if len(numbers) == 1 else zip(*numbers, strict=True), draw_one, generator)
    return drawn.reshape(arrays[0].shape)

def shares(self, numbers):
    """Return numbers divided by their sum, never 0 nor 1."""
    limits = np.finfo(self.dtype)
    return np.clip((numbers / numbers.sum(-1, keepdims=True)).astype(self.dtype), limits.tiny, 1 - limits.eps)

def units(self, generator):
    """Return a float64 number between 0 and 1 for each element."""
    return over(self, lambda size: random.uniform(size, 0.0, 1.0, np.dtype(np.float64), generator))

COEFFICIENTS = np.array((
    (0.16009398, -0.094634809, 0.025146376, -0.0030648343, 1, 0.32668115, 0.10406089, 0.0014179084),
    (0.53487893, 0.1298071, 0.065735949, -0.0015649758, 0.16639465, 0.020070113, -0.0035938915, -0.00058392623),
    (0.040121004, -0.0065914022, -0.0026286047, -0.0013441777, 0.017050642, -0.0021309326, 0.00085092367, -1.5247877e-07),
))

@op(None, nondiff=("self", "result"), promote="none")
def standard_gamma_grad(self, result):
    """PyTorch's approximations of how a gamma number changes with its shape: of small numbers, large shapes, others."""
    a, x = self.astype(np.float64), result.astype(np.float64)
    series = slopes = 0.0
    for i in range(6):
        term = (-x) ** i / math.factorial(i) / (a + i)
        series, slopes = series + term, slopes + term / (a + i)
    small = -((np.log(x) - ARRAYS["digamma"](a)) * series - slopes) * x * np.exp(x)
    near = (1 + 24 * a * (1 + 12 * a)) * (
        1440 * a**2 + 6 * x * (53 - 120 * x) - 65 * x * x / a + a * (107 + 3600 * x)) / (1244160 * a**4)
    third = (x - a - a * np.log(x / a)) ** -1.5
    slope = np.log(x / a) * (np.sqrt(8 * a) / (a - x) + np.where(x < a, -third, third))
    slope = slope - np.sqrt(2 / a) * (a + x) / (a - x) ** 2
    far = -(1 + 1 / (12 * a) * (1 + 1 / (24 * a))) * x * slope / np.sqrt(8 * a)
    u, v = np.log(x / a), np.log(a)
    first, second, third = COEFFICIENTS
    c = [first[i] + u * (second[i] + u * third[i]) for i in range(8)]
    middle = np.exp((c[0] + v * (c[1] + v * (c[2] + v * c[3]))) / (c[4] + v * (c[5] + v * (c[6] + v * c[7]))))
    large = np.where((0.9 * a <= x) & (x <= 1.1 * a), near, far)
    return np.where(x < 0.8, np.nan_to_num(small, nan=0.0), np.where(a > 8, large, middle)).astype(self.dtype)
