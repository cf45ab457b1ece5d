"""Activations: rows whose derivative is an operation of its own, as in PyTorch (``elu_backward``), and the linear layer."""

from __future__ import annotations

import math

import numpy as np

from gviz.engine.data import dtypes
from gviz.engine.op import composite, op
from gviz.engine.ops.choice import few
from gviz.engine.ops.rows import row

error_function = np.frompyfunc(math.erf, 1, 1)
SQRT_2_OVER_PI = math.sqrt(2 / math.pi)


# ------------------------------------------------------------------ piecewise linear
def check_slope(name, slope, is_result):
    """Refuse to tell from the result of a function that falls below zero which input it had."""
    if is_result and slope < 0:
        raise RuntimeError(
            f"In-place {name} backward calculation is triggered with a negative slope which is not supported. This is caused "
            "by calling in-place forward function with a negative slope, please call out-of-place version instead."
            + " File an issue at https://github.com/pytorch/pytorch if you do require supporting in-place leakRelu backward "
            "calculation with negative slope" * (name == "leakyReLu")
        )


@op("LeakyReluBackward0", self="leaky_relu_backward(grad, self, negative_slope, False)")
def leaky_relu(self, negative_slope=0.01):
    return np.where(self > 0, self, self * self.dtype.type(negative_slope))


@op("LeakyReluBackwardBackward0", grad_output="leaky_relu_backward(grad, self, negative_slope, False)", self="zeros_like(grad)")
def leaky_relu_backward(grad_output, self, negative_slope, self_is_result):
    check_slope("leakyReLu", negative_slope, self_is_result)
    return np.where(self > 0, grad_output, grad_output * grad_output.dtype.type(negative_slope))


@op("HardtanhBackward0", self="hardtanh_backward(grad, self, min_val, max_val)")
def hardtanh(self, min_val=-1.0, max_val=1.0):
    if min_val > max_val:
        raise ValueError("min_val cannot be greater than max_val")
    if self.dtype.name == "uint8" and int(min(min_val, max_val)) < 0:
        raise RuntimeError("cannot do hardtanh on an unsigned type with negative limits")
    return np.clip(self, *(dtypes.number(bound, self.dtype, half=True) for bound in (min_val, max_val)))


@op("HardtanhBackwardBackward0", grad_output="hardtanh_backward(grad, self, min_val, max_val)", self="zeros_like(grad)")
def hardtanh_backward(grad_output, self, min_val, max_val):
    return np.where((self <= min_val) | (self >= max_val), grad_output.dtype.type(0), grad_output)


@op("ThresholdBackward0", self="threshold_backward(grad, self, threshold)")
def threshold(self, threshold, value):
    return np.where(self <= dtypes.number(threshold, self.dtype), dtypes.number(value, self.dtype, half=True), self)


@op("PreluKernelBackward0", self__weight="prelu_kernel_backward(grad, self, weight)")
def prelu_kernel(self, weight):
    return np.where(self > 0, self, weight * self)


@op(
    "PreluKernelBackwardBackward0",
    outputs=("grad_input", "grad_weight"),
    grad_output="prelu_double_backward(grads[0], grads[1], self, weight)",
    self="prelu_cross(grads[1], grad_output, self)",
    weight="prelu_cross(grads[0], grad_output, self)",
)
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


@op("EluBackward0", self="elu_backward(grad, alpha, scale, input_scale, False, self)")
def elu(self, alpha=1.0, scale=1, input_scale=1):
    kind = self.dtype.type
    return np.where(self > 0, self * kind(scale), np.expm1(np.minimum(0, self) * kind(input_scale)) * kind(alpha * scale))


@op("CeluBackward0", self="elu_backward(grad, alpha, 1, 1.0 / alpha, False, self)")
def celu(self, alpha=1.0):
    if alpha == 0:
        raise RuntimeError("ZeroDivisionError: alpha cannot be 0 for CELU")
    kind = self.dtype.type
    return np.where(self > 0, self, np.expm1(np.minimum(0, self) / kind(alpha)) * kind(alpha))


@op(
    "EluBackwardBackward0",
    grad_output="elu_backward(grad, alpha, scale, input_scale, is_result, self_or_result)",
    self_or_result="elu_double_backward(grad * grad_output * input_scale, alpha, scale, input_scale, is_result, "
    "self_or_result)",
)
def elu_backward(grad_output, alpha, scale, input_scale, is_result, self_or_result):
    check_slope("elu", alpha, is_result)
    kind = grad_output.dtype.type
    low = np.minimum(self_or_result, 0)
    inner = (low + kind(alpha * scale)) if is_result else np.exp(low * kind(input_scale)) * kind(alpha * scale)
    return np.where(self_or_result <= 0, grad_output * kind(input_scale) * inner, grad_output * kind(scale))


@composite
def elu_double_backward(both, alpha, scale, input_scale, is_result, self_or_result):
    """The second derivative below zero; told by the result it is the same for every one."""
    slope = both if is_result else elu_backward(both, alpha, scale, input_scale, is_result, self_or_result)
    return slope * cast_like(less(self_or_result, 0), both)


@op("GeluBackward0", self="gelu_backward(grad, self, approximate)")
def gelu(self, approximate="none"):
    if approximate not in ("none", "tanh"):
        raise RuntimeError("approximate argument must be either none or tanh.")
    if approximate == "tanh":
        return 0.5 * self * (1 + np.tanh(SQRT_2_OVER_PI * (self + 0.044715 * self**3)))
    return self * normal_below(self)


def normal_below(array):
    """The share of the normal distribution below each value."""
    return 0.5 * (1 + np.asarray(error_function(array * math.sqrt(0.5)), array.dtype))


@op(
    "GeluBackwardBackward0",
    grad_output="gelu_backward(grad, self, approximate)",
    self="gelu_double_backward(grad, grad_output, self, approximate)",
)
def gelu_backward(grad_output, self, approximate="none"):
    if approximate == "tanh":
        inner = np.tanh(SQRT_2_OVER_PI * (self + 0.044715 * self**3))
        slope = SQRT_2_OVER_PI * (1 + 3 * 0.044715 * self * self)
        return grad_output * 0.5 * (1 + inner + self * (1 - inner * inner) * slope)
    density = np.exp(self * self * -0.5) * (1 / math.sqrt(2 * math.pi))
    return grad_output * (normal_below(self) + self * density)


@composite
def gelu_double_backward(grad, grad_output, self, approximate):
    """The second derivative: of x times a normal distribution, or of its approximation by tanh."""
    if approximate == "tanh":
        inner = 0.7978845608028654 * (self + 0.044715 * power(self, 3))
        bent, sech = tanh(inner), div(ones_of(self, tuple(self.shape)), cosh(inner))
        half, rest = 0.5 * self, 1 - bent * bent
        slope = 0.7978845608028654 * (1 + 3 * 0.044715 * self * self)
        first = 0.5 * rest * slope
        second = half * slope * ((2 * sech) * (neg(sech) * bent) * slope)
        third = half * rest * (6 * 0.044715 * self * 0.7978845608028654)
        return grad * grad_output * (2 * first + second + third)
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
    kind = self.dtype.type
    scaled = self * kind(beta)
    return np.where(scaled > threshold, self, np.log1p(np.exp(np.minimum(scaled, kind(threshold)))) / kind(beta))


@op(
    "SoftplusBackwardBackward0",
    grad_output="softplus_backward(grad, self, beta, threshold)",
    self="softplus_double_backward(grad * grad_output, self, beta, threshold)",
)
def softplus_backward(grad_output, self, beta, threshold):
    scaled = self * self.dtype.type(beta)
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
    "LogSigmoidBackwardBackward0",
    nondiff=("buffer",),
    grad_output="log_sigmoid_backward(grad, self, buffer)",
    self="log_sigmoid_double_backward(grad * grad_output, self)",
)
def log_sigmoid_backward(grad_output, self, buffer):
    return grad_output * np.where(self < 0, 1, buffer) / (1 + buffer)


@composite
def log_sigmoid_double_backward(grad, self):
    """D log s(x) twice: -s (1 - s)."""
    z = sigmoid(self)
    return grad * (z - 1) * z


@op(
    "HardswishBackwardBackward0",
    grad_output="hardswish_backward(grad, self)",
    self="where(logical_and(greater(self, -3), less(self, 3)), grad * grad_output / 3.0, 0.0)",
)
def hardswish_backward(grad_output, self):
    return np.where(self <= -3, 0, np.where(self < 3, grad_output * (self / 3 + 0.5), grad_output))


@op("NotImplemented", grad_output__self='refuse_derivative("hardsigmoid_backward")')
def hardsigmoid_backward(grad_output, self):
    return np.where((self > -3) & (self < 3), grad_output * np.float32(1 / 6), 0)  # a single number in PyTorch's kernel too


@op("HardshrinkBackward0", self="shrink_backward(grad, self, lambd)")
def hardshrink(self, lambd=0.5):
    return np.where(np.abs(self) <= lambd, 0, self)


@op("SoftshrinkBackward0", self="softshrink_backward(grad, self, lambd)")
def softshrink(self, lambd=0.5):
    if lambd < 0:
        most, name = np.finfo(self.dtype).max, dtypes.of(self.dtype).scalar_name
        raise RuntimeError(f"lambda must be in range [0, {most:g}] for input dtype {name}, but found {lambd:g}")
    lambd, zero = self.dtype.type(lambd), self * 0 if few(self) else self.dtype.type(0)
    return np.where(np.abs(self) <= lambd, zero, self - np.copysign(lambd, self))


@op("HardshrinkBackwardBackward0", grad_out="shrink_backward(grad, self, lambd)", self="zeros_like(grad)")
def shrink_backward(grad_out, self, lambd):
    return np.where(np.abs(self) <= lambd, 0, grad_out)


@op("SoftshrinkBackwardBackward0", grad_output="softshrink_backward(grad, self, lambd)", self="zeros_like(grad)")
def softshrink_backward(grad_output, self, lambd):
    return np.where(np.abs(self) <= lambd, 0, grad_output)


# ------------------------------------------------------------------ the linear layer
@composite
def linear(input, weight, bias=None):
    """``input @ weight.T + bias``, as the nodes that PyTorch makes for it."""
    if not (input.shape and weight.shape):
        left, right = len(input.shape), len(weight.shape)
        raise RuntimeError(f"both arguments to linear need to be at least 1D, but they are {left}D and {right}D")
    if bias is None:
        return matmul(input, t(weight))
    if len(input.shape) == 2:
        return addmm(bias, input, t(weight))
    if not (contiguous(input) and bias.shape):
        return matmul(input, t(weight)) + bias
    flat = view(input, (count_of(input.shape[:-1]), input.shape[-1]))
    return view(addmm(bias, flat, t(weight)), (*input.shape[:-1], weight.shape[0]))
