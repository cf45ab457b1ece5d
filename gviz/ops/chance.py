"""Random numbers written over tensors or drawn for their elements; nothing of a gradient goes through them.

Source: PyTorch's derivatives.yaml, and Distributions.cpp; the numbers are those of gviz/numbers/random.py.
"""

from __future__ import annotations

import numpy as np

from gviz.numbers import random
from gviz.ops.rows import ARRAYS, each_of, lacks, op, refuse, row

NONE = "zeros_like(grad)"

def in_memory(self):
    """Return the dims in the order in which a tensor lies in memory: PyTorch fills it so."""
    return sorted(range(self.ndim), key=lambda dim: -self.strides[dim])

def over(self, draw):
    """Return what a function draws for sizes, those of a tensor, in the order in which it lies in memory."""
    order = in_memory(self)
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
        np.broadcast_to(p, self.shape).transpose(in_memory(self)), (), self.dtype, generator)),
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
    refuse(not np.isfinite(self).all() or (self < 0).any(),
           "probability tensor contains either `inf`, `nan` or element < 0")
    refuse((self.sum(axis=-1) <= 0).any(), "invalid multinomial distribution (sum of probabilities <= 0)")
    return random.multinomial(self, num_samples, replacement, generator)
