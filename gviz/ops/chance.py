"""Random numbers written over tensors or drawn for their elements; nothing of a gradient goes through them.

Source: PyTorch's derivatives.yaml, and Distributions.cpp; the numbers are those of gviz/numbers/random.py.
"""

from __future__ import annotations

import numpy as np

from gviz.numbers import random
from gviz.ops.rows import alike, lacks, op, refuse, row

NONE = "zeros_like(grad)"

def drawn(key, node, names, forward, kinds=(), **declared):
    """Store a row that draws numbers, by a generator if one is given; the kinds are those of its other options."""
    forward.__annotations__ = dict(kinds, generator="Generator")
    row(key, node, forward, names, **declared)

def in_memory(self):
    """Return the dims in the order in which a tensor lies in memory: PyTorch fills it so."""
    return sorted(range(self.ndim), key=lambda dim: -self.strides[dim])

def over(self, draw):
    """Return what a function draws for sizes, those of a tensor, in the order in which it lies in memory."""
    order = in_memory(self)
    return draw([self.shape[dim] for dim in order]).transpose(np.argsort(order))

drawn("uniform_fill", "UniformBackward0", ".uniform_", lambda self, low=0.0, high=1.0, *, generator=None:
      over(self, lambda size: random.uniform(size, low, high, self.dtype, generator)), self=NONE)
drawn("normal_fill", "NormalBackward0", ".normal_", lambda self, mean=0.0, std=1.0, *, generator=None:
      over(self, lambda size: random.normal(size, mean, std, self.dtype, generator, not self.flags.c_contiguous)), self=NONE)
drawn("exponential_fill", "ExponentialBackward0", ".exponential_", lambda self, lambd=1.0, *, generator=None:
      exponential(self, lambd, generator), check=lacks("", message="Exponential distribution: dtype must be floating point"),
      self=NONE)
drawn("bernoulli_each", "BernoulliBackward1", ".bernoulli_", lambda self, p, *, generator=None:
      over(self, lambda _: random.bernoulli(
          np.broadcast_to(p, self.shape).transpose(in_memory(self)), (), self.dtype, generator)),
      promote="none", self=NONE, p=NONE)
drawn("bernoulli_one", "BernoulliBackward2", ".bernoulli_", lambda self, p=0.5, *, generator=None:
      over(self, lambda size: random.bernoulli(p, size, self.dtype, generator)), self=NONE)
drawn("bernoulli", "BernoulliBackward0", "bernoulli", lambda self, *, generator=None:
      random.bernoulli(self, generator=generator), check=lacks("bernoulli_tensor_cpu_p_"), self=NONE)
alike("bernoulli_of", "NotImplemented", "bernoulli_one", "bernoulli", self='refuse_derivative("bernoulli")')
drawn("random_all", "RandomBackward2", ".random_", lambda self, *, generator=None:
      over(self, lambda size: random.integers(size, self.dtype, generator)), self=NONE)
drawn("random_to", "RandomBackward1", ".random_", lambda self, high, *, generator=None:
      over(self, lambda size: random.randint(0, high, size, self.dtype, generator)), {"high": "int"}, self=NONE)
drawn("random_from", "RandomBackward0", ".random_", lambda self, low, high, *, generator=None:
      over(self, lambda size: random.randint(low, high, size, self.dtype, generator)), {"low": "int", "high": "int"}, self=NONE)

def exponential(self, lambd, generator):
    refuse(lambd <= 0, f"exponential_ expects lambda > 0.0, but found lambda={lambd}")
    return over(self, lambda size: random.exponential(size, lambd, generator)).astype(self.dtype)

def spread(shape, std, dtype, generator):
    """Return normal numbers around 0 with deviations; refuse negative ones."""
    refuse((std < 0).any(), "normal expects all elements of std >= 0.0")
    return random.normal(shape, 0.0, 1.0, dtype, generator) * std

drawn("normal", "NormalBackward3", "torch.normal", lambda mean, std, *, generator=None:
      spread(np.broadcast_shapes(mean.shape, std.shape), std, mean.dtype, generator) + mean,
      mean="zeros_of(grad, mean_sym_sizes)", std="zeros_of(grad, std_sym_sizes)")
drawn("normal_mean", "NormalBackward1", "torch.normal", lambda mean, std=1.0, *, generator=None:
      random.normal(mean.shape, 0.0, std, mean.dtype, generator) + mean, mean="zeros_of(grad, mean_sym_sizes)")
drawn("normal_std", "NormalBackward2", "torch.normal", lambda mean, std, *, generator=None:
      spread(std.shape, std, std.dtype, generator) + std.dtype.type(mean), std="zeros_of(grad, std_sym_sizes)")

@op(None, "multinomial", nondiff=("self",), check=lacks("", message="multinomial only supports floating-point input"))
def multinomial(self, num_samples: int, replacement: bool = False, *, generator: Generator = None):
    refuse(self.ndim not in (1, 2), "multinomial(): prob_dist must be 1 or 2 dim")
    refuse(num_samples <= 0, "cannot sample n_sample <= 0 samples")
    refuse(not replacement and num_samples > self.shape[-1],
           "cannot sample n_sample > prob_dist.size(-1) samples without replacement")
    refuse(not np.isfinite(self).all() or (self < 0).any(),
           "probability tensor contains either `inf`, `nan` or element < 0")
    refuse((self.sum(axis=-1) <= 0).any(), "invalid multinomial distribution (sum of probabilities <= 0)")
    return random.multinomial(self, num_samples, replacement, generator)
