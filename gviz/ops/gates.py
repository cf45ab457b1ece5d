"""Activations of a kind of their own: the gated linear unit, the randomized relu, and those that differ in place.

In place the input is gone, so the derivative is told by the result.
"""

from __future__ import annotations

import numpy as np

from gviz.autograd.row import ARRAYS, composite, op
from gviz.ops.rows import alike


@op("GluBackward0", self="glu_backward(grad, self, dim)")
def glu(self, dim):
    value, gate = np.split(self, 2, dim)
    return value / (1 + np.exp(-gate))


@op(
    "GluBackwardBackward0",
    grad_output="glu_gradient(grad, self, dim)",
    self="glu_double_backward(grad, grad_output, self, dim)",
)
def glu_backward(grad_output, self, dim):
    value, gate = np.split(self, 2, dim)
    share = 1 / (1 + np.exp(-gate))
    return np.concatenate((grad_output * share, grad_output * value * share * (1 - share)), dim)


@composite
def halves(value, dim):
    """Both halves along a dimension."""
    size = value.shape[dim] // 2
    return slice_row(value, dim, 0, size, 1), slice_row(value, dim, size, 2 * size, 1)


@composite
def glu_gradient(grad, self, dim):
    """The gradient of a gate's gradient for what came in."""
    both = grad * glu_backward(fill(zeros_like(halves(self, dim)[0]), 1), self, dim)
    size = both.shape[dim] // 2
    second = slice_row(both, dim, size, 2 * size, 1)
    return slice_row(both, dim, 0, size, 1) + second


@composite
def glu_double_backward(grad, grad_output, self, dim):
    """The second derivative of a gate, written as PyTorch does."""
    value, gate = halves(self, dim)
    share = sigmoid(gate)
    rest = 1 - share
    slope = share * rest
    to_value, to_gate = halves(grad, dim)
    both = to_gate * value
    first = to_gate * grad_output * slope
    bend = share * slope
    bend = slope * rest - bend
    second = to_value * grad_output * slope
    return cat([first, both * grad_output * bend + second], dim)


# ------------------------------------------------------------------ a relu with random slopes
RRELU = "rrelu_with_noise_backward(grad, self, noise, lower, upper, training, False)"


@op("RreluWithNoiseBackward0", nondiff=("noise",), self=RRELU)
def rrelu_with_noise(self, noise, lower, upper, training):
    return self * (noise if training else np.where(self > 0, self.dtype.type(1), self.dtype.type((lower + upper) / 2)))


@op("RreluWithNoiseBackwardBackward0", nondiff=("noise",), grad_output=RRELU, self="zeros_like(grad)")
def rrelu_with_noise_backward(grad_output, self, noise, lower, upper, training, self_is_result):
    if training and upper - lower > 1e-6:
        return grad_output * noise
    return ARRAYS["leaky_relu_backward"](grad_output, self, (lower + upper) / 2, self_is_result)


alike(
    "rrelu_with_noise_",
    "RreluWithNoiseBackward1",
    "rrelu_with_noise",
    self="rrelu_with_noise_backward(grad, result, noise, lower, upper, training, True)",
)


# ------------------------------------------------------------------ in place
alike("leaky_relu_", "LeakyReluBackward1", "leaky_relu", self="leaky_relu_backward(grad, result, negative_slope, True)")
alike("elu_", "EluBackward1", "elu", self="elu_backward(grad, alpha, scale, input_scale, True, result)")
alike("celu_", "CeluBackward1", "celu", self="elu_backward(grad, alpha, 1, 1.0 / alpha, True, result)")
alike("threshold_", "ThresholdBackward1", "threshold")
