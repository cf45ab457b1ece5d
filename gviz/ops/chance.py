"""Random numbers written over tensors or drawn for their elements; nothing of a gradient goes through them."""

from __future__ import annotations

import numpy as np

from gviz.numbers import random
from gviz.numbers.dtypes import of
from gviz.autograd.row import op
from gviz.ops.rows import alike, row

NONE = "zeros_like(grad)"


@op("UniformBackward0", self=NONE)
def uniform_fill(self, low=0.0, high=1.0, generator=None):
    return random.uniform(self.shape, low, high, self.dtype, generator)


@op("NormalBackward0", self=NONE)
def normal_fill(self, mean=0.0, std=1.0, generator=None):
    return random.normal(self.shape, mean, std, self.dtype, generator)


@op("ExponentialBackward0", self=NONE)
def exponential_fill(self, lambd=1.0, generator=None):
    if self.dtype.kind != "f":
        raise RuntimeError(
            "Exponential distribution is a continuous probability distribution. dtype must be a floating point but you "
            "specified " + of(self.dtype).scalar_name
        )
    if not lambd > 0:
        raise RuntimeError(f"exponential_ expects lambda > 0.0, but found lambda={lambd:g}")
    return random.exponential(self.shape, lambd, generator).astype(self.dtype)


@op("BernoulliBackward2", self=NONE)
def bernoulli_one(self, p=0.5, generator=None):
    return random.bernoulli(p, self.shape, self.dtype, generator)


alike("bernoulli_of", "NotImplemented", "bernoulli_one", self='refuse_derivative("bernoulli")')


@op("BernoulliBackward1", promote="none", self=NONE, p=NONE)
def bernoulli_each(self, p, generator=None):
    return random.bernoulli(np.broadcast_to(p, self.shape), (), self.dtype, generator)


row("bernoulli", "BernoulliBackward0", lambda self, generator=None: random.bernoulli(self, generator=generator), self=NONE)


@op("RandomBackward0", self=NONE)
def random_from(self, low, high, generator=None):
    return random.randint(low, high, self.shape, self.dtype, generator)


@op("RandomBackward1", self=NONE)
def random_to(self, high, generator=None):
    return random.randint(0, high, self.shape, self.dtype, generator)


@op("RandomBackward2", self=NONE)
def random_all(self, generator=None):
    return random.integers(self.shape, self.dtype, generator)


def check_spread(std):
    """Refuse negative deviations."""
    if (std < 0).any():
        raise RuntimeError("normal expects all elements of std >= 0.0")


@op("NormalBackward1", mean="zeros_of(grad, mean_sym_sizes)")
def normal_mean(mean, std=1.0, generator=None):
    return random.normal(mean.shape, 0.0, std, mean.dtype, generator) + mean


@op("NormalBackward2", std="zeros_of(grad, std_sym_sizes)")
def normal_std(mean, std, generator=None):
    check_spread(std)
    return random.normal(std.shape, 0.0, 1.0, std.dtype, generator) * std + std.dtype.type(mean)


@op("NormalBackward3", mean="zeros_of(grad, mean_sym_sizes)", std="zeros_of(grad, std_sym_sizes)")
def normal(mean, std, generator=None):
    check_spread(std)
    return random.normal(np.broadcast_shapes(mean.shape, std.shape), 0.0, 1.0, mean.dtype, generator) * std + mean
