"""Functions of one variable or two: exponentials, logarithms, roots, trigonometry, tanh, sigmoid, atan2, hypot.

Source: PyTorch's derivatives.yaml, and UnaryOps.cpp.
"""

from __future__ import annotations

import numpy as np

from gviz.ops.rows import composite, exp_of, function, in_double, lacks, op, row

function("exp", "ExpBackward0", in_double(np.exp), self="grad * result")
function("exp2", "Exp2Backward0", in_double(np.exp2), "exp2 exp2_ special.exp2", self="grad * result * 0.6931471805599453")
function("expm1", "Expm1Backward0", in_double(np.expm1), "expm1 expm1_ special.expm1", self="grad * (result + 1)")
function("log", "LogBackward0", in_double(np.log), self="grad / self")
function("log2", "Log2Backward0", in_double(np.log2), self="grad / (self * 0.6931471805599453)")
function("log10", "Log10Backward0", in_double(np.log10), self="grad / (self * 2.302585092994046)")
function("log1p", "Log1PBackward0", in_double(np.log1p), "log1p log1p_ special.log1p", self="grad / (self + 1)")
function("sqrt", "SqrtBackward0", np.sqrt, self="grad / (2 * result)")
function("rsqrt", "RsqrtBackward0", lambda self: 1 / np.sqrt(self), rounding="few", self="-0.5 * grad * power(result, 3)")
row("nan_to_num", "NanToNumBackward0",
    lambda self, nan=None, posinf=None, neginf=None: np.nan_to_num(self, nan=nan or 0.0, posinf=posinf, neginf=neginf),
    "nan_to_num nan_to_num_", self="grad * isfinite(self)")

# ------------------------------------------------------------------ trigonometry
function("sin", "SinBackward0", in_double(np.sin), self="grad * cos(self)")
function("cos", "CosBackward0", in_double(np.cos), self="grad * neg(sin(self))")
function("tan", "TanBackward0", in_double(np.tan), self="grad * (1 + power(result, 2))")
function("asin", "AsinBackward0", in_double(np.arcsin), "asin arcsin asin_ arcsin_", self="grad * rsqrt(neg(self) * self + 1)")
function("acos", "AcosBackward0", in_double(np.arccos), "acos arccos acos_ arccos_", self="grad * neg(rsqrt(neg(self) * self + 1))")
function("atan", "AtanBackward0", in_double(np.arctan), "atan arctan atan_ arctan_", self="grad / (self * self + 1)")
function("sinh", "SinhBackward0", in_double(np.sinh), self="grad * cosh(self)")
function("cosh", "CoshBackward0", in_double(np.cosh), self="grad * sinh(self)")
function("tanh", "TanhBackward0", in_double(np.tanh), "tanh tanh_ F.tanh", self="tanh_backward(grad, result)")
function("deg2rad", "Deg2RadBackward0", lambda self: self * 0.017453292519943295,
    check=lacks("", "c", "deg2rad is not supported for complex tensors."), self="grad * 0.017453292519943295")
function("rad2deg", "Rad2DegBackward0", lambda self: self * 57.29577951308232,
    check=lacks("", "c", "rad2deg is not supported for complex tensors."), self="grad * 57.29577951308232")
for name, forward, slope in (
    ("sinh", np.arcsinh, "grad * rsqrt(power(self, 2) + 1)"), ("cosh", np.arccosh, "grad * rsqrt(self * self - 1)"),
    ("tanh", np.arctanh, "grad * 1 / (1 - power(self, 2))"),
):
    function(f"a{name}", f"A{name}Backward0", forward, f"a{name} arc{name}", self=slope)
    function(f"a{name}_", f"A{name}Backward1", forward, f"a{name}_ arc{name}_",
        self=f'not_implemented("inplace version of a{name}")')

def tanh_slope(output):
    """Return 1 - y²; of a float32 without rounding y² before, as processors compute it in PyTorch's kernel."""
    if getattr(output, "dtype", None) != np.float32:  # and a formula's symbol
        return 1 - output * output
    return (1 - np.square(output, dtype=np.float64)).astype(np.float32)

row("tanh_backward", "TanhBackwardBackward0", lambda grad_output, output: grad_output * tanh_slope(output),
    grad_output="tanh_backward(grad, output)", output="grad * (-2 * output * grad_output)")

# ------------------------------------------------------------------ sigmoid and its inverse, sinc
function("sigmoid", "SigmoidBackward0", lambda self: 1 / (1 + exp_of(-self)), "sigmoid sigmoid_ special.expit F.sigmoid",
    self="sigmoid_backward(grad, result)")
function("sinc", "SincBackward0", lambda self: np.sinc(self * np.float32(1)).astype(self.dtype), "sinc sinc_ special.sinc",
    self="sinc_backward(grad, self)")
row("sigmoid_backward", "SigmoidBackwardBackward0", lambda grad_output, output: grad_output * (1 - output) * output,
    grad_output="sigmoid_backward(grad, output)", output="grad * grad_output * (-2 * output + 1)")
@op("LogitBackward0", "logit logit_ special.logit", promote="float", check=lacks("logit_cpu", "c"),
    self="logit_backward(grad, self, eps)")
def logit(self, eps: Number | None = None):
    if eps is not None:  # the lower bound goes first, also where it is above the upper one
        low, high = self.dtype.type(eps), self.dtype.type(1 - eps)
        self = np.where(self < low, low, np.where(self > high, high, self))
    return np.log(self / (1 - self))
@composite
def logit_backward(grad, self, eps):
    low, beyond = (0.0, float("nan")) if eps is None else (eps, 0.0)
    outside = logical_or(less(self, low), greater(self, 1.0 - low))
    return where(logical_not(outside), grad / (self * (1.0 - self)), beyond)
@composite
def sinc_backward(grad, self):
    at_pi, square = self * 3.141592653589793, self * self * 3.141592653589793
    sine = sin(at_pi)
    return where(equal(square, 0), 0.0, grad * ((at_pi * cos(at_pi) - sine) / square))

# ------------------------------------------------------------------ two variables
function("atan2", "Atan2Backward0", in_double(np.arctan2), "atan2 arctan2 .atan2_ .arctan2_",
    self__other="atan2_backward(grad, self, other, grad_input_mask)")
row("hypot", "HypotBackward0", np.hypot, "hypot .hypot_", check=lacks("hypot_cpu"),
    self="grad * self / result", other="grad * other / result")
row("logaddexp", "LogaddexpBackward0", np.logaddexp, "logaddexp", check=lacks("logaddexp_cpu"),
    self="grad / (1 + exp(minus(other, self)))", other="grad / (1 + exp(minus(self, other)))")
row("logaddexp2", "Logaddexp2Backward0", np.logaddexp2, "logaddexp2", check=lacks("logaddexp2_cpu"),
    self="grad / (1 + pow_base(2, minus(other, self)))", other="grad / (1 + pow_base(2, minus(self, other)))")
SIGNED = "grad * masked_fill(result / self, equal(self, 0), 0)"
function("copysign", "CopysignBackward0", np.copysign, "copysign .copysign_", self=SIGNED, other="zeros_like(grad)")
function("copysign_scalar", "CopysignBackward1", lambda self, other: np.copysign(self, self.dtype.type(other)),
    "copysign .copysign_", self=SIGNED)
@composite
def atan2_backward(grad, self, other, mask):
    square = other * other
    square = self * self + square
    inverse = masked_fill(reciprocal(square), equal(square, 0), 0)
    return grad * other * inverse if mask[0] else None, grad * neg(self) * inverse if mask[1] else None
