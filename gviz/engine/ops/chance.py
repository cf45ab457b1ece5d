"""Random numbers written over tensors or drawn for their elements; nothing of a gradient goes through them."""

from __future__ import annotations

import numpy as np

from gviz.engine import random
from gviz.engine.op import op

NONE = lambda grad: zeros_like(grad)  # noqa: E731 - a formula


@op("UniformBackward0", self=NONE)
def uniform_fill(self, low=0.0, high=1.0, generator=None):
    return random.uniform(self.shape, low, high, self.dtype, generator)


@op("NormalBackward0", self=NONE)
def normal_fill(self, mean=0.0, std=1.0, generator=None):
    return random.normal(self.shape, mean, std, self.dtype, generator)


@op("ExponentialBackward0", self=NONE)
def exponential_fill(self, lambd=1.0, generator=None):
    if not lambd > 0:
        raise RuntimeError(f"exponential_ expects lambda > 0.0, but found lambda={lambd:g}")
    return random.exponential(self.shape, lambd, generator).astype(self.dtype)


@op("BernoulliBackward2", self=NONE)
def bernoulli_one(self, p=0.5, generator=None):
    return random.bernoulli(p, self.shape, self.dtype, generator)


@op("BernoulliBackward1", promote="none", self=NONE, p=NONE)
def bernoulli_each(self, p, generator=None):
    return random.bernoulli(np.broadcast_to(p, self.shape), None, self.dtype, generator)


@op("BernoulliBackward0", self=NONE)
def bernoulli(self, generator=None):
    return random.bernoulli(self, None, None, generator)


@op("RandomBackward0", self=NONE)
def random_from(self, low, high, generator=None):
    return random.randint(low, high, self.shape, self.dtype, generator)


@op("RandomBackward1", self=NONE)
def random_to(self, high, generator=None):
    return random.randint(0, high, self.shape, self.dtype, generator)


@op("RandomBackward2", self=NONE)
def random_all(self, generator=None):
    return random.integers(self.shape, self.dtype, generator)


@op("NormalBackward1", mean=lambda grad, mean_sym_sizes: zeros_of(grad, mean_sym_sizes))
def normal_mean(mean, std=1.0, generator=None):
    return random.normal(mean.shape, 0.0, std, mean.dtype, generator) + mean


@op("NormalBackward2", std=lambda grad, std_sym_sizes: zeros_of(grad, std_sym_sizes))
def normal_std(mean, std, generator=None):
    return random.normal(std.shape, 0.0, 1.0, std.dtype, generator) * std + std.dtype.type(mean)


@op(
    "NormalBackward3",
    mean=lambda grad, mean_sym_sizes: zeros_of(grad, mean_sym_sizes),
    std=lambda grad, std_sym_sizes: zeros_of(grad, std_sym_sizes),
)
def normal(mean, std, generator=None):
    return random.normal(np.broadcast_shapes(mean.shape, std.shape), 0.0, 1.0, mean.dtype, generator) * std + mean
