"""Activations, most with a row for their derivative, as in PyTorch; the linear layer. Rows that end in ``_`` are in place.

In place the input is gone, so that the derivative is told by the result.

Source: PyTorch's derivatives.yaml, and Activation.cpp; PReLU: He et al. (2015); ELU: Clevert et al. (2015); SELU:
Klambauer et al. (2017); CELU: Barron (2017); GELU: Hendrycks and Gimpel (2016); SiLU: Elfwing et al. (2017); Mish:
Misra (2019); GLU: Dauphin et al. (2016); RReLU: Xu et al. (2015).
"""

from __future__ import annotations

import math

import numpy as np

from gviz.numbers import random
from gviz.ops.joining import length_along
from gviz.ops.rows import (
    ARRAYS,
    NO_CLAMP,
    alike,
    brief,
    check_one_dtype,
    composite,
    dtypes,
    each_of,
    exp_of,
    formula,
    lacks,
    log1p_of,
    op,
    refuse,
    row,
    tanh_of,
)

ERF = np.frompyfunc(math.erf, 1, 1)
ROOT = math.sqrt(2 / math.pi)
FLAT = "zeros_like(grad)"


def activation(key, forward, formula, names=None, node="", check=None, **declared: object):
    """The row of an activation, in ``nn.functional`` with ``inplace``; of floats alone if nothing else is said."""
    node, check, names = node or key.title().replace("_", ""), check or lacks(f"{node or key}_cpu".lower()), names or f"F.{key}"
    row(key, f"{node}Backward0", forward, names, inplace=True, check=check, self=formula, **declared)


def slope(key, node, forward, formula, self=FLAT):
    """The row of a derivative: for the gradient that comes in it is itself, for the input flat if nothing is said."""
    row(key, f"{node}BackwardBackward0", forward, grad_output=formula, self=self)


def check_slope(name, slope, is_result):
    """Refuse to tell from the result of a function that falls below zero which input it had."""
    refuse(is_result and slope < 0,
           f"In-place {name} backward calculation is triggered with a negative slope which is not supported. "
           "This is caused by calling in-place forward function with a negative slope, please call "
           "out-of-place version instead.")

# ------------------------------------------------------------------ piecewise linear
LEAKY, HARD = "leaky_relu_backward(grad, self, negative_slope, False)", "hardtanh_backward(grad, self, min_val, max_val)"
SHRUNK, SOFT = "shrink_backward(grad, self, lambd)", "softshrink_backward(grad, self, lambd)"

def clipped(self, min_val=-1.0, max_val=1.0):
    """Return the values kept within bounds."""
    refuse(min_val > max_val, f"hardtanh(): min_val {min_val} cannot be greater than max_val {max_val}", ValueError)
    return np.minimum(np.maximum(self, dtypes.number(min_val, self.dtype)), dtypes.number(max_val, self.dtype))

def outside(self, lambd, value):
    """Return a value where an element is further from zero than that, or nan; 0 elsewhere."""
    return np.where(np.abs(self) <= lambd, self.dtype.type(0), value)

activation("leaky_relu", lambda self, negative_slope=0.01: np.where(self > 0, self, self * negative_slope), LEAKY)
alike("leaky_relu_", "LeakyReluBackward1", "leaky_relu", "F.leaky_relu_",
      self="leaky_relu_backward(grad, result, negative_slope, True)")
NO_BOOLS = each_of(NO_CLAMP, lacks("hardtanh", "b", "Bool inputs not supported for hardtanh"))
activation("hardtanh", clipped, HARD, "F.hardtanh F.hardtanh_", rounding="none", check=NO_BOOLS)
activation("relu6", lambda self, min_val=0, max_val=6: clipped(self, min_val, max_val), HARD, node="Hardtanh",
           check=NO_BOOLS, internal=("min_val", "max_val"))
slope("hardtanh_backward", "Hardtanh", lambda grad_output, self, min_val, max_val:
      np.where((self <= min_val) | (self >= max_val), self.dtype.type(0), grad_output), HARD)
activation("threshold", lambda self, threshold, value: np.where(self <= threshold, dtypes.number(value, self.dtype), self),
           "threshold_backward(grad, self, threshold)", "F.threshold torch.threshold", rounding="none",
           check=lacks("threshold_cpu", "bc"))
alike("threshold_", "ThresholdBackward1", "threshold", "F.threshold_ torch.threshold_")
row("hardshrink", "HardshrinkBackward0", lambda self, lambd=0.5: outside(self, lambd, self),
    "F.hardshrink hardshrink", check=lacks("hardshrink_cpu"), self=SHRUNK)

@op("SoftshrinkBackward0", "F.softshrink", check=lacks("softshrink_cpu"), self=SOFT)
def softshrink(self, lambd=0.5):
    refuse(lambd < 0, f"softshrink(): lambd must be in range [0, inf], but found {lambd}")
    return np.where(np.abs(self) <= lambd, self * 0, self - np.copysign(self.dtype.type(lambd), self))

row("shrink_backward", "HardshrinkBackwardBackward0", lambda grad_out, self, lambd: outside(self, lambd, grad_out),
    grad_out=SHRUNK, self=FLAT)
slope("softshrink_backward", "Softshrink", lambda grad_output, self, lambd: outside(self, lambd, grad_output), SOFT)

@op("LeakyReluBackwardBackward0", grad_output=LEAKY, self=FLAT)
def leaky_relu_backward(grad_output, self, negative_slope, self_is_result):
    check_slope("leakyReLu", negative_slope, self_is_result)
    return np.where(self > 0, grad_output, grad_output * negative_slope)

# ------------------------------------------------------------------ slopes that are learned, or random
@composite("F.prelu prelu")
def prelu(self, weight):
    """A leaky relu whose slope is learned, one for all or one per channel."""
    rank, channels = len(self.shape), self.shape[1] if len(self.shape) > 1 else 1
    refuse(numel_of(weight) not in (1, channels),
           "Mismatch of parameter numbers and input channel size. Found parameter numbers = "
           f"{numel_of(weight)} and channel size = {channels}.")
    if len(weight.shape) != rank:
        weight = view(weight, (1, -1, *(1,) * (rank - 2)) if rank > 1 else (1,) * rank)
    return prelu_kernel(self, weight)

def floats_alike(self, weight):
    """Refuse integers, and a weight of another dtype."""
    check_one_dtype(self, weight, "prelu: Type promoting not supported. Got {} and {}")
    lacks("prelu_cpu")(self)

row("prelu_kernel", "PreluKernelBackward0", lambda self, weight: np.where(self > 0, self, weight * self),
    check=floats_alike, self__weight="prelu_kernel_backward(grad, self, weight)")

row("prelu_kernel_backward", "PreluKernelBackwardBackward0", lambda grad_output, self, weight:
    (np.where(self > 0, grad_output, weight * grad_output), np.where(self > 0, 0, self * grad_output)),
    outputs=("grad_input", "grad_weight"), self="prelu_cross(grads[1], grad_output, self)",
    weight="prelu_cross(grads[0], grad_output, self)",
    grad_output="prelu_double_backward(grads[0], grads[1], self, weight)")

@composite
def prelu_double_backward(grad_self, grad_weight, self, weight):
    """The gradient of both results for the gradient that came in."""
    parts = [None if grad_weight is None else grad_weight * self, None if grad_self is None else grad_self * weight]
    low = added(parts[::-1])  # the right one is made first, as in PyTorch
    return where(greater_equal(self, 0), 0.0 if grad_self is None else grad_self, low)

# what both mixed second derivatives are: the gradient where the input is negative
formula("prelu_cross", lambda grad, grad_output, self:
    zeros_like(self) if grad is None else where(greater_equal(self, 0), 0.0, grad_output * grad))

RANDOM = "rrelu_with_noise_backward(grad, {}, noise, lower, upper, training, {})"

@op("RreluWithNoiseBackward0", "F.rrelu torch.rrelu", inplace=True, extras=("noise",), check=lacks("leaky_relu_cpu"),
    self=RANDOM.format("self", False))
def rrelu(self, lower=1 / 8, upper=1 / 3, training: bool = False):
    refuse(lower > upper, "rrelu(): Lower bound should be less than or equal to the upper bound")
    if not training:
        return self * np.where(self > 0, self.dtype.type(1), self.dtype.type((lower + upper) / 2)), np.zeros_like(self)
    noise, below = np.ones_like(self), self <= 0
    noise[below] = random.uniform((int(below.sum()),), lower, upper, np.dtype(np.float64), None)
    return self * noise, noise

alike("rrelu_", "RreluWithNoiseBackward1", "rrelu", "F.rrelu_ torch.rrelu_", self=RANDOM.format("result", True))

@op("RreluWithNoiseBackwardBackward0", nondiff=("noise",), grad_output=RANDOM.format("self", False), self=FLAT)
def rrelu_with_noise_backward(grad_output, self, noise, lower, upper, training, self_is_result):
    if training and upper - lower > 1e-6:
        return grad_output * noise
    return ARRAYS["leaky_relu_backward"](grad_output, self, (lower + upper) / 2, self_is_result)

# ------------------------------------------------------------------ exponential below zero
ELU = "elu_backward(grad, alpha, scale, input_scale, {})"
CELU = "elu_backward(grad, alpha, 1, 1.0 / alpha, {})"

def bent(self, alpha=1.0, scale=1, input_scale=1):
    """Return ``scale * x`` above zero, an exponential that falls to ``-alpha * scale`` below."""
    return np.where(self > 0, self * scale, np.expm1(np.minimum(0, self) * input_scale) * (alpha * scale))

activation("elu", bent, ELU.format("False, self"), internal=("scale", "input_scale"))
activation("selu", lambda self, alpha=1.6732632423543772, scale=1.0507009873554805, input_scale=1:
           bent(self, alpha, scale), ELU.format("False, self"), "F.selu torch.selu", "Elu",
           internal=("alpha", "scale", "input_scale"))
activation("celu", lambda self, alpha=1.0: bent(self, alpha, 1, 1 / alpha), CELU.format("False, self"), "F.celu torch.celu",
           check=lacks("elu_cpu"))
alike("elu_", "EluBackward1", "elu", "F.elu_", self=ELU.format("True, result"))
alike("selu_", "EluBackward1", "selu", "F.selu_ torch.selu_", self=ELU.format("True, result"))
alike("celu_", "CeluBackward1", "celu", "F.celu_ torch.celu_", self=CELU.format("True, result"))

@op("EluBackwardBackward0", grad_output="elu_backward(grad, alpha, scale, input_scale, is_result, self_or_result)",
    self_or_result="elu_double_backward(grad * grad_output * input_scale, alpha, scale, input_scale, is_result, "
    "self_or_result)")
def elu_backward(grad_output, alpha, scale, input_scale, is_result, self_or_result):
    check_slope("elu", alpha, is_result)
    low = np.minimum(self_or_result, 0)
    inner = low + alpha * scale if is_result else exp_of(low * input_scale) * (alpha * scale)
    return np.where(self_or_result <= 0, grad_output * input_scale * inner, grad_output * scale)

# the second derivative below zero; told by the result it is the same for every one
formula("elu_double_backward", lambda both, alpha, scale, input_scale, is_result, self_or_result:
    (both if is_result else elu_backward(both, alpha, scale, input_scale, is_result, self_or_result))
    * cast_like(less(self_or_result, 0), both))

# ------------------------------------------------------------------ smooth ones
GELU = "gelu_backward(grad, self, approximate)"
activation("silu", lambda self: self / (1 + exp_of(-self)), "silu_backward(grad, self)", check=lacks("silu_cpu", "biu"))
activation("mish", lambda self: self * tanh_of(np.logaddexp(0, self)), "mish_backward(grad, self)")
brief("F.softsign", lambda input: input / (absolute(input) + 1))
brief("F.tanhshrink", lambda input: input - tanh(input))

@op("GeluBackward0", "F.gelu", check=lacks("GeluKernelImpl"), self=GELU)
def gelu(self, *, approximate: str = "none"):
    refuse(approximate not in ("none", "tanh"),
           f"gelu(): approximate argument must be either none or tanh, not {approximate}")
    if approximate == "tanh":
        return 0.5 * self * (1 + tanh_of(ROOT * (self + 0.044715 * self**3)))
    return self * normal_below(self)

def normal_below(array):
    """Return the share of the normal distribution below each value."""
    place = array * math.sqrt(0.5)  # of a symbol numpy makes another one, by the function's name
    return 0.5 * (1 + (ARRAYS["erf"](place) if isinstance(place, np.ndarray) else np.asarray(ERF(place), array.dtype)))

@op("GeluBackwardBackward0", grad_output=GELU, self="gelu_double_backward(grad, grad_output, self, approximate)")
def gelu_backward(grad_output, self, approximate="none"):
    if approximate == "tanh":
        inner = tanh_of(ROOT * (self + 0.044715 * self**3))
        return grad_output * 0.5 * (1 + inner + self * (1 - inner * inner) * ROOT * (1 + 3 * 0.044715 * self * self))
    return grad_output * (normal_below(self) + self * exp_of(self * self * -0.5) / math.sqrt(2 * math.pi))

@composite
def gelu_double_backward(grad, grad_output, self, approximate):
    """The second derivative of x times a normal distribution, or of its approximation by tanh."""
    if approximate == "tanh":
        root = 0.7978845608028654
        inner = root * (self + 0.044715 * power(self, 3))
        bent, sech = tanh(inner), div(ones_of(self, tuple(self.shape)), cosh(inner))
        half, rest = 0.5 * self, 1 - bent * bent
        slope = root * (1 + 3 * 0.044715 * self * self)
        first = 0.5 * rest * slope
        second = half * slope * ((2 * sech) * (neg(sech) * bent) * slope)
        return grad * grad_output * (2 * first + second + half * rest * (6 * 0.044715 * self * root))
    square = self * self
    density = 0.3989422804014327 * exp(-0.5 * square)
    bend = square * density
    bend = 2 * density - bend  # made first, as in PyTorch
    return grad * grad_output * bend

@composite
def silu_backward(grad, self):
    """D (x s(x)) = s (1 + x (1 - s)), of operations that have derivatives themselves."""
    share_below = sigmoid(self)
    rise = self * sub(scalar_like(self, 1.0), share_below) + 1.0  # made first, as in PyTorch
    return grad * share_below * rise

@composite
def mish_backward(grad, self):
    """D (x tanh(softplus x)), of operations that have derivatives themselves."""
    share_below = sigmoid(self)
    inside = tanh(log1p(exp(self)))
    rest = sub(scalar_like(self, 1.0), inside * inside)
    return grad * (inside + self * share_below * rest)

@op("SoftplusBackward0", "F.softplus", check=lacks("softplus_cpu"), self="softplus_backward(grad, self, beta, threshold)")
def softplus(self, beta=1, threshold=20):
    scaled = self * beta
    return np.where(scaled > threshold, self, log1p_of(exp_of(np.minimum(scaled, threshold))) / beta)

row("softplus_backward", "SoftplusBackwardBackward0", lambda grad_output, self, beta, threshold:
    np.where((scaled := self * beta) > threshold, grad_output,
             grad_output * (grown := exp_of(scaled)) / (grown + 1)),
    grad_output="softplus_backward(grad, self, beta, threshold)",
    self="sigmoid_backward(grad * grad_output, sigmoid(x := self * beta)) * cast_like(less(x, threshold), grad) * beta")

@op("LogSigmoidBackward0", "F.logsigmoid", check=lacks("log_sigmoid_cpu"), extras=("buffer",),
    self="log_sigmoid_backward(grad, self, buffer)")
def log_sigmoid(self):
    buffer = exp_of(-np.abs(self))
    return np.minimum(self, 0) - log1p_of(buffer), buffer

row("log_sigmoid_backward", "LogSigmoidBackwardBackward0", lambda grad_output, self, buffer:
    grad_output * np.where(self < 0, 1, buffer) / (1 + buffer),
    nondiff=("buffer",), grad_output="log_sigmoid_backward(grad, self, buffer)",
    self="grad * grad_output * ((below := sigmoid(self)) - 1) * below")

# ------------------------------------------------------------------ smooth ones, of straight lines
activation("hardswish", lambda self: self * np.clip(self + 3, 0, 6) / 6, "hardswish_backward(grad, self)")
activation("hardsigmoid", lambda self: np.clip(self + 3, 0, 6) / 6, "hardsigmoid_backward(grad, self)")
slope("hardswish_backward", "Hardswish",
      lambda grad_output, self: np.where(self <= -3, 0, np.where(self < 3, grad_output * (self / 3 + 0.5), grad_output)),
      "hardswish_backward(grad, self)", "where(logical_and(greater(self, -3), less(self, 3)), grad * grad_output / 3.0, 0.0)")
row("hardsigmoid_backward", "NotImplemented", lambda grad_output, self: np.where((self > -3) & (self < 3), grad_output / 6, 0),
    grad_output__self='refuse_derivative("hardsigmoid_backward")')

# ------------------------------------------------------------------ gates, and the linear layer
@op("GluBackward0", "F.glu", self="glu_backward(grad, self, dim)")
def glu(self, dim: int = -1):
    size = length_along(self, dim, "glu")
    refuse(size % 2, f"Halving dimension must be even, but dimension {dim % self.ndim} is size {size}")
    lacks("glu_cpu")(self)
    value, gate = np.split(self, 2, dim)
    return value / (1 + exp_of(-gate))

@op("GluBackwardBackward0", promote="none", grad_output="glu_gradient(grad, self, dim)",
    self="glu_double_backward(grad, grad_output, self, dim)")
def glu_backward(grad_output, self, dim):
    value, gate = np.split(self, 2, dim)
    part = 1 / (1 + exp_of(-gate))
    return np.concatenate((grad_output * part, grad_output * value * part * (1 - part)), dim)

@composite
def halves(value, dim):
    """Both halves along a dimension."""
    size = value.shape[dim] // 2
    return slice_row(value, dim, 0, size, 1), slice_row(value, dim, size, 2 * size, 1)

@composite
def glu_gradient(grad, self, dim):
    """The gradient of a gate's gradient for what came in."""
    first, second = halves(grad * glu_backward(fill(zeros_like(halves(self, dim)[0]), 1), self, dim), dim)
    return first + second

@composite
def glu_double_backward(grad, grad_output, self, dim):
    """The second derivative of a gate, in PyTorch's order."""
    value, gate = halves(self, dim)
    part = sigmoid(gate)
    rest = 1 - part
    rise = part * rest
    to_value, to_gate = halves(grad, dim)
    both = to_gate * value
    first = to_gate * grad_output * rise
    bend = part * rise
    bend = rise * rest - bend
    second = to_value * grad_output * rise
    return cat([first, both * grad_output * bend + second], dim)

@composite("F.linear")
def linear(input, weight, bias: Tensor | None = None):
    """``input @ weight.T + bias``, as the nodes that PyTorch makes for it."""
    rank, width = len(input.shape), len(weight.shape)
    if not (rank and width):
        raise RuntimeError(f"both arguments to linear need to be at least 1D, but they are {rank}D and {width}D")
    if bias is None:
        return matmul(input, t(weight))
    if rank == 2:
        return addmm(bias, input, t(weight))
    if not (contiguous(input) and bias.shape):
        return matmul(input, t(weight)) + bias
    flat = view(input, (count_of(input.shape[:-1]), input.shape[-1]))
    return view(addmm(bias, flat, t(weight)), (*input.shape[:-1], weight.shape[0]))
