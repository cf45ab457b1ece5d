"""Functions of one variable: exponentials, logarithms, roots, trigonometry, tanh, sigmoid."""

from __future__ import annotations

import numpy as np

from gviz.autograd.row import composite, op
from gviz.ops.rows import function

function("exp", "ExpBackward0", np.exp, self="grad * result")
function("log", "LogBackward0", np.log, self="grad / self")
function("log2", "Log2Backward0", np.log2, self="grad / (self * 0.6931471805599453)")
function("log10", "Log10Backward0", np.log10, self="grad / (self * 2.302585092994046)")
function("log1p", "Log1PBackward0", np.log1p, self="grad / (self + 1)")
function("expm1", "Expm1Backward0", np.expm1, self="grad * (result + 1)")
function("sqrt", "SqrtBackward0", np.sqrt, self="grad / (2 * result)")
function("rsqrt", "RsqrtBackward0", lambda self: 1 / np.sqrt(self), self="-0.5 * grad * power(result, 3)")
function("sin", "SinBackward0", np.sin, self="grad * cos(self)")
function("cos", "CosBackward0", np.cos, self="grad * neg(sin(self))")
function("tan", "TanBackward0", np.tan, self="grad * (1 + power(result, 2))")
function("tanh", "TanhBackward0", np.tanh, self="tanh_backward(grad, result)")


@op("TanhBackwardBackward0", grad_output="tanh_backward(grad, output)", output="grad * (-2 * output * grad_output)")
def tanh_backward(grad_output, output):
    return grad_output - grad_output * output * output


function("sigmoid", "SigmoidBackward0", lambda self: 1 / (1 + np.exp(-self)), self="sigmoid_backward(grad, result)")


@op("SigmoidBackwardBackward0", grad_output="sigmoid_backward(grad, output)", output="grad * grad_output * (-2 * output + 1)")
def sigmoid_backward(grad_output, output):
    return (grad_output - grad_output * output) * output


@op("LogitBackward0", "logit logit_", promote="float", self="logit_backward(grad, self, eps)")
def logit(self, eps: Number | None = None):
    if eps is not None:  # the lower bound goes first, also where it is above the upper one
        low, high = self.dtype.type(eps), self.dtype.type(1 - eps)
        self = np.where(self < low, low, np.where(self > high, high, self))
    return np.log(self / (1 - self))


@composite
def logit_backward(grad, self, eps):
    """The gradient between the bounds; without bounds there is none outside of 0 and 1."""
    low, beyond = (0.0, float("nan")) if eps is None else (eps, 0.0)
    outside = logical_or(less(self, low), greater(self, 1.0 - low))
    return where(logical_not(outside), grad / (self * (1.0 - self)), beyond)
