"""Random numbers written over tensors or drawn for their elements; nothing of a gradient goes through them."""

from __future__ import annotations

import numpy as np

from gviz.autograd.row import op
from gviz.numbers import random
from gviz.ops.rows import alike

NONE = "zeros_like(grad)"

@op("UniformBackward0", ".uniform_", self=NONE)
def uniform_fill(self, low: float = 0.0, high: float = 1.0, *, generator: Any = None):
    return random.uniform(self.shape, low, high, self.dtype, generator)

@op("NormalBackward0", ".normal_", self=NONE)
def normal_fill(self, mean: float = 0.0, std: float = 1.0, *, generator: Any = None):
    return random.normal(self.shape, mean, std, self.dtype, generator)

@op("ExponentialBackward0", ".exponential_", self=NONE)
def exponential_fill(self, lambd: float = 1.0, *, generator: Any = None):
    return random.exponential(self.shape, lambd, generator).astype(self.dtype)

@op("BernoulliBackward1", ".bernoulli_", promote="none", self=NONE, p=NONE)
def bernoulli_each(self, p, *, generator: Any = None):
    return random.bernoulli(np.broadcast_to(p, self.shape), (), self.dtype, generator)

@op("BernoulliBackward2", ".bernoulli_", self=NONE)
def bernoulli_one(self, p: float = 0.5, *, generator: Any = None):
    return random.bernoulli(p, self.shape, self.dtype, generator)

@op("BernoulliBackward0", "bernoulli", self=NONE)
def bernoulli(self, *, generator: Any = None):
    return random.bernoulli(self, generator=generator)

alike("bernoulli_of", "NotImplemented", "bernoulli_one", "bernoulli", self='refuse_derivative("bernoulli")')

@op("RandomBackward2", ".random_", self=NONE)
def random_all(self, *, generator: Any = None):
    return random.integers(self.shape, self.dtype, generator)

@op("RandomBackward1", ".random_", self=NONE)
def random_to(self, high: int, *, generator: Any = None):
    return random.randint(0, high, self.shape, self.dtype, generator)

@op("RandomBackward0", ".random_", self=NONE)
def random_from(self, low: int, high: int, *, generator: Any = None):
    return random.randint(low, high, self.shape, self.dtype, generator)

def spread(shape, std, dtype, generator):
    """Return normal numbers around 0 with deviations; refuse negative ones."""
    if (std < 0).any():
        raise RuntimeError("normal expects all elements of std >= 0.0")
    return random.normal(shape, 0.0, 1.0, dtype, generator) * std

@op("NormalBackward3", "torch.normal", mean="zeros_of(grad, mean_sym_sizes)", std="zeros_of(grad, std_sym_sizes)")
def normal(mean, std, *, generator: Any = None):
    return spread(np.broadcast_shapes(mean.shape, std.shape), std, mean.dtype, generator) + mean

@op("NormalBackward1", "torch.normal", mean="zeros_of(grad, mean_sym_sizes)")
def normal_mean(mean, std: float = 1.0, *, generator: Any = None):
    return random.normal(mean.shape, 0.0, std, mean.dtype, generator) + mean

@op("NormalBackward2", "torch.normal", std="zeros_of(grad, std_sym_sizes)")
def normal_std(mean: float, std, *, generator: Any = None):
    return spread(std.shape, std, std.dtype, generator) + std.dtype.type(mean)

@op(None, "multinomial", nondiff=("self",))
def multinomial(self, num_samples: int, replacement: bool = False, *, generator: Any = None):
    if num_samples <= 0:
        raise RuntimeError("cannot sample n_sample <= 0 samples")
    if not replacement and num_samples > self.shape[-1]:
        raise RuntimeError("cannot sample n_sample > prob_dist.size(-1) samples without replacement")
    if not np.isfinite(self).all() or (self < 0).any():
        raise RuntimeError("probability tensor contains either `inf`, `nan` or element < 0")
    if (self.sum(axis=-1) <= 0).any():
        raise RuntimeError("invalid multinomial distribution (sum of probabilities <= 0)")
    return random.multinomial(self, num_samples, replacement, generator)
