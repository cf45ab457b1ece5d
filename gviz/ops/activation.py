"""Activations: rows whose derivative is an operation of its own, as in PyTorch (``elu_backward``), and the linear layer."""

from __future__ import annotations

import math

import numpy as np

from gviz.autograd.row import composite, op
from gviz.ops.rows import row

ERF = np.frompyfunc(math.erf, 1, 1)
ROOT = math.sqrt(2 / math.pi)
FLAT = "zeros_like(grad)"


def second(key, node, forward, formula, self=FLAT):
    """The row of a derivative whose second derivative is flat, or told."""
    row(key, node, forward, grad_output=formula, self=self)


def check_slope(name, slope, is_result):
    """Refuse to tell from the result of a function that falls below zero which input it had."""
    if is_result and slope < 0:
        raise RuntimeError(
            f"In-place {name} backward calculation is triggered with a negative slope which is not supported. This is caused "
            "by calling in-place forward function with a negative slope, please call out-of-place version instead."
        )


# ------------------------------------------------------------------ piecewise linear
LEAKY, HARD, SHRUNK = "leaky_relu_backward(grad, self, negative_slope, False)", "hardtanh_backward(grad, self, min_val, max_val)", "{}(grad, self, lambd)"
row("leaky_relu", "LeakyReluBackward0", lambda self, negative_slope=0.01: np.where(self > 0, self, self * negative_slope), self=LEAKY)
row("hardtanh", "HardtanhBackward0", lambda self, min_val=-1.0, max_val=1.0: np.clip(self, min_val, max_val), self=HARD)
row(
    "threshold", "ThresholdBackward0",
    lambda self, threshold, value: np.where(self <= threshold, self.dtype.type(value), self),
    self="threshold_backward(grad, self, threshold)",
)  # fmt: skip
second(
    "hardtanh_backward", "HardtanhBackwardBackward0",
    lambda grad_output, self, min_val, max_val: np.where((self <= min_val) | (self >= max_val), self.dtype.type(0), grad_output), HARD,
)  # fmt: skip


@op("LeakyReluBackwardBackward0", grad_output=LEAKY, self=FLAT)
def leaky_relu_backward(grad_output, self, negative_slope, self_is_result):
    check_slope("leakyReLu", negative_slope, self_is_result)
    return np.where(self > 0, grad_output, grad_output * negative_slope)


def outside(self, lambd):
    """What is further from zero than that."""
    return np.abs(self) > lambd


HARDSHRINK, SOFTSHRINK = SHRUNK.format("shrink_backward"), SHRUNK.format("softshrink_backward")
row("hardshrink", "HardshrinkBackward0", lambda self, lambd=0.5: self * outside(self, lambd), self=HARDSHRINK)
row("softshrink", "SoftshrinkBackward0", lambda self, lambd=0.5: (self - np.copysign(lambd, self)) * outside(self, lambd), self=SOFTSHRINK)
row("shrink_backward", "HardshrinkBackwardBackward0", lambda grad_out, self, lambd: grad_out * outside(self, lambd), grad_out=HARDSHRINK, self=FLAT)
second("softshrink_backward", "SoftshrinkBackwardBackward0", lambda grad_output, self, lambd: grad_output * outside(self, lambd), SOFTSHRINK)
row("prelu_kernel", "PreluKernelBackward0", lambda self, weight: np.where(self > 0, self, weight * self), self__weight="prelu_kernel_backward(grad, self, weight)")


@op(
    "PreluKernelBackwardBackward0", outputs=("grad_input", "grad_weight"),
    grad_output="prelu_double_backward(grads[0], grads[1], self, weight)", self="prelu_cross(grads[1], grad_output, self)",
    weight="prelu_cross(grads[0], grad_output, self)",
)  # fmt: skip
def prelu_kernel_backward(grad_output, self, weight):
    positive = self > 0
    return np.where(positive, grad_output, weight * grad_output), np.where(positive, 0, self * grad_output)


@composite
def prelu_double_backward(grad_self, grad_weight, self, weight):
    """The gradient of both results for the gradient that came in."""
    parts = [None if grad_weight is None else grad_weight * self, None if grad_self is None else grad_self * weight]
    low = added(parts[::-1])  # the right one is made first, as in PyTorch
    return where(greater_equal(self, 0), 0.0 if grad_self is None else grad_self, low)


@composite
def prelu_cross(grad, grad_output, self):
    """What both mixed second derivatives are: the gradient where the input is negative."""
    return zeros_like(self) if grad is None else where(greater_equal(self, 0), 0.0, grad_output * grad)


# ------------------------------------------------------------------ smooth ones
row("silu", "SiluBackward0", lambda self: self / (1 + np.exp(-self)), self="silu_backward(grad, self)")
row("mish", "MishBackward0", lambda self: self * np.tanh(np.logaddexp(0, self)), self="mish_backward(grad, self)")
row("hardswish", "HardswishBackward0", lambda self: self * np.clip(self + 3, 0, 6) / 6, self="hardswish_backward(grad, self)")
row("hardsigmoid", "HardsigmoidBackward0", lambda self: np.clip(self + 3, 0, 6) / 6, self="hardsigmoid_backward(grad, self)")
row(
    "elu", "EluBackward0",
    lambda self, alpha=1.0, scale=1, input_scale=1: np.where(
        self > 0, self * scale, np.expm1(np.minimum(0, self) * input_scale) * (alpha * scale)
    ),
    self="elu_backward(grad, alpha, scale, input_scale, False, self)",
)  # fmt: skip
row(
    "celu", "CeluBackward0", lambda self, alpha=1.0: np.where(self > 0, self, np.expm1(np.minimum(0, self) / alpha) * alpha),
    self="elu_backward(grad, alpha, 1, 1.0 / alpha, False, self)",
)  # fmt: skip


@op(
    "EluBackwardBackward0", grad_output="elu_backward(grad, alpha, scale, input_scale, is_result, self_or_result)",
    self_or_result="elu_double_backward(grad * grad_output * input_scale, alpha, scale, input_scale, is_result, self_or_result)",
)  # fmt: skip
def elu_backward(grad_output, alpha, scale, input_scale, is_result, self_or_result):
    check_slope("elu", alpha, is_result)
    low = np.minimum(self_or_result, 0)
    inner = low + alpha * scale if is_result else np.exp(low * input_scale) * (alpha * scale)
    return np.where(self_or_result <= 0, grad_output * input_scale * inner, grad_output * scale)


@composite
def elu_double_backward(both, alpha, scale, input_scale, is_result, self_or_result):
    """The second derivative below zero; told by the result it is the same for every one."""
    slope = both if is_result else elu_backward(both, alpha, scale, input_scale, is_result, self_or_result)
    return slope * cast_like(less(self_or_result, 0), both)


GELU = "gelu_backward(grad, self, approximate)"


@op("GeluBackward0", self=GELU)
def gelu(self, approximate="none"):
    if approximate == "tanh":
        return 0.5 * self * (1 + np.tanh(ROOT * (self + 0.044715 * self**3)))
    return self * normal_below(self)


def normal_below(array):
    """The share of the normal distribution below each value."""
    return 0.5 * (1 + np.asarray(ERF(array * math.sqrt(0.5)), array.dtype))


@op("GeluBackwardBackward0", grad_output=GELU, self="gelu_double_backward(grad, grad_output, self, approximate)")
def gelu_backward(grad_output, self, approximate="none"):
    if approximate == "tanh":
        inner = np.tanh(ROOT * (self + 0.044715 * self**3))
        return grad_output * 0.5 * (1 + inner + self * (1 - inner * inner) * ROOT * (1 + 3 * 0.044715 * self * self))
    return grad_output * (normal_below(self) + self * np.exp(self * self * -0.5) / math.sqrt(2 * math.pi))


@composite
def gelu_double_backward(grad, grad_output, self, approximate):
    """The second derivative of x times a normal distribution."""
    square = self * self
    density = 0.3989422804014327 * exp(-0.5 * square)
    bend = square * density
    bend = 2 * density - bend
    return grad * grad_output * bend


@composite
def silu_backward(grad, self):
    """D (x s(x)) = s (1 + x (1 - s)), of operations that have derivatives themselves."""
    share_below = sigmoid(self)
    slope = self * sub(scalar_like(self, 1.0), share_below) + 1.0  # made first, as in PyTorch
    return grad * share_below * slope


@composite
def mish_backward(grad, self):
    """D (x tanh(softplus x)), of operations that have derivatives themselves."""
    share_below = sigmoid(self)
    inside = tanh(log1p(exp(self)))
    rest = sub(scalar_like(self, 1.0), inside * inside)
    return grad * (inside + self * share_below * rest)


@op("SoftplusBackward0", self="softplus_backward(grad, self, beta, threshold)")
def softplus(self, beta=1, threshold=20):
    scaled = self * beta
    return np.where(scaled > threshold, self, np.log1p(np.exp(np.minimum(scaled, threshold))) / beta)


@op(
    "SoftplusBackwardBackward0", grad_output="softplus_backward(grad, self, beta, threshold)",
    self="softplus_double_backward(grad * grad_output, self, beta, threshold)",
)  # fmt: skip
def softplus_backward(grad_output, self, beta, threshold):
    scaled = self * beta
    return np.where(scaled > threshold, grad_output, grad_output / (1 + np.exp(-scaled)))


@composite
def softplus_double_backward(grad, self, beta, threshold):
    """The second derivative of a softplus, where it is not linear."""
    x = self * beta
    return sigmoid_backward(grad, sigmoid(x)) * cast_like(less(x, threshold), grad) * beta


@op("LogSigmoidBackward0", extras=("buffer",), self="log_sigmoid_backward(grad, self, buffer)")
def log_sigmoid(self):
    buffer = np.exp(-np.abs(self))
    return np.minimum(self, 0) - np.log1p(buffer), buffer


@op(
    "LogSigmoidBackwardBackward0", nondiff=("buffer",), grad_output="log_sigmoid_backward(grad, self, buffer)",
    self="log_sigmoid_double_backward(grad * grad_output, self)",
)  # fmt: skip
def log_sigmoid_backward(grad_output, self, buffer):
    return grad_output * np.where(self < 0, 1, buffer) / (1 + buffer)


@composite
def log_sigmoid_double_backward(grad, self):
    """D log s(x) twice: -s (1 - s)."""
    z = sigmoid(self)
    return grad * (z - 1) * z


second(
    "hardswish_backward", "HardswishBackwardBackward0",
    lambda grad_output, self: np.where(self <= -3, 0, np.where(self < 3, grad_output * (self / 3 + 0.5), grad_output)),
    "hardswish_backward(grad, self)", "where(logical_and(greater(self, -3), less(self, 3)), grad * grad_output / 3.0, 0.0)",
)  # fmt: skip


@op("NotImplemented", grad_output__self='refuse_derivative("hardsigmoid_backward")')
def hardsigmoid_backward(grad_output, self):
    return np.where((self > -3) & (self < 3), grad_output / 6, 0)


# ------------------------------------------------------------------ the linear layer
@composite
def linear(input, weight, bias=None):
    """``input @ weight.T + bias``, as the nodes that PyTorch makes for it."""
    if bias is None:
        return matmul(input, t(weight))
    if len(input.shape) == 2:
        return addmm(bias, input, t(weight))
    if not (contiguous(input) and bias.shape):
        return matmul(input, t(weight)) + bias
    flat = view(input, (count_of(input.shape[:-1]), input.shape[-1]))
    return view(addmm(bias, flat, t(weight)), (*input.shape[:-1], weight.shape[0]))
