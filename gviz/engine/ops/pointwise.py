"""Pointwise operations: one row each. Rows that end in ``_scalar`` are the overloads PyTorch uses inside derivatives."""

from __future__ import annotations

import numpy as np

from gviz.engine import dtypes
from gviz.engine.op import PASS, composite, everywhere, op

ZERO = {np.dtype(code): np.zeros((), code) for code in "efdbhilqBFD?"}
ONE = {dtype: np.ones((), dtype) for dtype in ZERO}
"""Constants by dtype: numpy takes twice as long with a Python number."""


# ------------------------------------------------------------------ helpers that formulas share
@composite
def maybe_multiply(grad, number):
    """``grad * number``; the gradient itself where the number is 1."""
    return grad if number == 1 else grad * number


@composite
def pow_backward(grad, self, exponent):
    """D x^n = n x^(n-1), and zero for n = 0 even where x is 0."""
    return zeros_like(self) if exponent == 0 else grad * (exponent * power(self, exponent - 1))


@composite
def pow_backward_self(grad, self, exponent):
    """The same where the exponent is a tensor."""
    return where(equal(exponent, 0.0), 0.0, grad * (exponent * pow_tensor(self, exponent - 1)))


@composite
def pow_backward_exponent(grad, self, exponent, result):
    """D x^n / dn = x^n log x, and zero where x = 0 and n >= 0."""
    return grad * where(logical_and(equal(self, 0), greater_equal(exponent, 0)), 0.0, result * log(self))


@composite
def pow_backward_base(grad, self, exponent, result):
    """The same for a number as the base."""
    if self == 0:
        return where(greater_equal(exponent, 0), 0.0, grad * (result * number_log(self)))
    return grad * (result * number_log(self))


@everywhere
def number_log(number):
    """Natural logarithm of a number: nan and minus infinity rather than an error, as PyTorch has it."""
    return float(np.log(np.float64(number)))


# ------------------------------------------------------------------ arithmetic
def check_sub(self, other):
    """PyTorch subtracts no booleans."""
    kinds = [getattr(getattr(v, "dtype", None), "kind", "b" if isinstance(v, bool) else "") for v in (self, other)]
    if kinds == ["b", "b"]:
        raise RuntimeError(
            "Subtraction, the `-` operator, with two bool tensors is not supported. Use the `^` or `logical_xor()` operator instead."
        )
    if "b" in kinds:
        raise RuntimeError(
            "Subtraction, the `-` operator, with a bool tensor is not supported. "
            "If you are trying to invert a mask, use the `~` or `logical_not()` operator instead."
        )


@op("AddBackward0", self=PASS, other=PASS, shows={"alpha": 1})
def add(self, other):
    return self + other


@op("AddBackward0", self=PASS, other=lambda grad, alpha: maybe_multiply(grad, alpha))
def add_alpha(self, other, alpha):
    return self + (other if alpha == 1 else other * alpha)


@op("AddBackward1", self=PASS, shows={"alpha": 1})
def add_scalar(self, other):
    return self + other


@op("SubBackward0", self=PASS, other=lambda grad: neg(grad), shows={"alpha": 1})
def sub(self, other):
    if self.dtype.kind == "b":
        check_sub(self, other)
    return self - other


@op("SubBackward0", self=PASS, other=lambda grad, alpha: maybe_multiply(neg(grad), alpha))
def sub_alpha(self, other, alpha):
    return self - other * alpha


@op("SubBackward1", self=PASS, shows={"alpha": 1})
def sub_scalar(self, other):
    return self - other


@op("RsubBackward0", self=lambda grad, alpha: maybe_multiply(neg(grad), alpha), other=PASS)
def rsub(self, other, alpha=1):
    return other - (self if alpha == 1 else self * alpha)


@op("RsubBackward1", self=lambda grad, alpha: maybe_multiply(neg(grad), alpha))
def rsub_scalar(self, other, alpha=1):
    check_sub(self, other)
    return other - (self if alpha == 1 else self * alpha)


@op("MulBackward0", self=lambda grad, other: grad * other, other=lambda grad, self: grad * self)
def mul(self, other):
    return self * other


@op("MulBackward1", self=lambda grad, other: grad * other)
def mul_scalar(self, other):
    return self * other


@op(
    "DivBackward0",
    promote="float",
    self=lambda grad, other: grad / other,
    other=lambda grad, self, other: div_backward_other(grad, self, other),
)
def div(self, other):
    return self / other


@op("DivBackward1", self=lambda grad, other: grad / other)
def div_scalar(self, other):
    return self / other


@composite
def div_backward_other(grad, self, other):
    """D (a / b) / db = -a / b^2, written as PyTorch does."""
    return neg(grad) * ((self / other) / other)


@op("NegBackward0", self=lambda grad: neg(grad))
def neg(self):
    return -self


@op("ReciprocalBackward0", promote="float", self=lambda grad, result: neg(grad) * (result * result))
def reciprocal(self):
    return np.reciprocal(self)


@op("PowBackward0", self=lambda grad, self, exponent: pow_backward(grad, self, exponent))
def power(self, exponent):
    if self.dtype.kind in "iu" and isinstance(exponent, int) and exponent < 0:
        raise RuntimeError("Integers to negative integer powers are not allowed.")
    if isinstance(exponent, float) and self.dtype.kind in "iub":
        self = self.astype(dtypes.get_default_dtype().np)
    return self * self if exponent == 2 else self**exponent


@op(
    "PowBackward1",
    self=lambda grad, self, exponent: pow_backward_self(grad, self, exponent),
    exponent=lambda grad, self, exponent, result: pow_backward_exponent(grad, self, exponent, result),
)
def pow_tensor(self, exponent):
    if self.dtype.kind in "iu" and exponent.dtype.kind in "iu" and (exponent < 0).any():
        raise RuntimeError("Integers to negative integer powers are not allowed.")
    return self**exponent


@op("PowBackward2", exponent=lambda grad, self, exponent, result: pow_backward_base(grad, self, exponent, result))
def pow_base(self, exponent):
    if isinstance(self, float) and exponent.dtype.kind in "iub":
        exponent = exponent.astype(dtypes.get_default_dtype().np)
    return self**exponent


@op("AbsBackward0", self=lambda grad, self: grad * sgn(self))
def absolute(self):
    return np.abs(self)


@op("SgnBackward0", self=lambda grad: zeros_like(grad))
def sgn(self):
    return np.sign(self)


@op("SignBackward0", self=lambda grad: zeros_like(grad))
def sign(self):
    return np.sign(self)


# ------------------------------------------------------------------ exponentials, roots, trigonometry
@op("ExpBackward0", promote="float", self=lambda grad, result: grad * result)
def exp(self):
    return np.exp(self)


@op("LogBackward0", promote="float", self=lambda grad, self: grad / self)
def log(self):
    return np.log(self)


@op("Log2Backward0", promote="float", self=lambda grad, self: grad / (self * 0.6931471805599453))
def log2(self):
    return np.log2(self)


@op("Log10Backward0", promote="float", self=lambda grad, self: grad / (self * 2.302585092994046))
def log10(self):
    return np.log10(self)


@op("Log1PBackward0", promote="float", self=lambda grad, self: grad / (self + 1))
def log1p(self):
    return np.log1p(self)


@op("Expm1Backward0", promote="float", self=lambda grad, result: grad * (result + 1))
def expm1(self):
    return np.expm1(self)


@op("SqrtBackward0", promote="float", self=lambda grad, result: grad / (2 * result))
def sqrt(self):
    return np.sqrt(self)


@op("RsqrtBackward0", promote="float", self=lambda grad, result: -0.5 * grad * power(result, 3))
def rsqrt(self):
    return 1 / np.sqrt(self)


@op("SinBackward0", promote="float", self=lambda grad, self: grad * cos(self))
def sin(self):
    return np.sin(self)


@op("CosBackward0", promote="float", self=lambda grad, self: grad * neg(sin(self)))
def cos(self):
    return np.cos(self)


@op("TanBackward0", promote="float", self=lambda grad, result: grad * (1 + power(result, 2)))
def tan(self):
    return np.tan(self)


@op("TanhBackward0", promote="float", self=lambda grad, result: tanh_backward(grad, result))
def tanh(self):
    return np.tanh(self)


@op(
    "TanhBackwardBackward0",
    grad_output=lambda grad, output: tanh_backward(grad, output),
    output=lambda grad, grad_output, output: grad_output * (-2 * output * grad),
)
def tanh_backward(grad_output, output):
    return grad_output - grad_output * output * output  # three operations on arrays and no number: numbers are slow


@op("SigmoidBackward0", promote="float", self=lambda grad, result: sigmoid_backward(grad, result))
def sigmoid(self):
    one = ONE[self.dtype]
    return one / (one + np.exp(-self))


@op(
    "SigmoidBackwardBackward0",
    grad_output=lambda grad, output: sigmoid_backward(grad, output),
    output=lambda grad, grad_output, output: grad * grad_output * (-2 * output + 1),
)
def sigmoid_backward(grad_output, output):
    return (grad_output - grad_output * output) * output


# ------------------------------------------------------------------ choice
@op("ReluBackward0", self=lambda grad, result: threshold_backward(grad, result, 0))
def relu(self):
    return np.maximum(self, ZERO[self.dtype])


@op(
    "ThresholdBackwardBackward0",
    grad_output=lambda grad, self, threshold: threshold_backward(grad, self, threshold),
    self=lambda grad: zeros_like(grad),
)
def threshold_backward(grad_output, self, threshold):
    zero = ZERO[grad_output.dtype]
    return np.where(self > (threshold or zero), grad_output, zero)


@op(
    "MaximumBackward0",
    self=lambda grad, self, other: masked_fill(where(equal(self, other), grad / 2, grad), less(self, other), 0),
    other=lambda grad, self, other: masked_fill(where(equal(self, other), grad / 2, grad), greater(self, other), 0),
)
def maximum(self, other):
    return np.maximum(self, other)


@op(
    "MinimumBackward0",
    self=lambda grad, self, other: masked_fill(where(equal(self, other), grad / 2, grad), greater(self, other), 0),
    other=lambda grad, self, other: masked_fill(where(equal(self, other), grad / 2, grad), less(self, other), 0),
)
def minimum(self, other):
    return np.minimum(self, other)


@op("ClampBackward1", self=lambda grad, self, min, max: clamp_backward(grad, self, min, max))
def clamp_scalar(self, min=None, max=None):
    if isinstance(min, float) or isinstance(max, float):
        self = self.astype(dtypes.result_type(self, *(v for v in (min, max) if v is not None)), copy=False)
    data = self if min is None else np.maximum(self, self.dtype.type(min))
    return data.copy() if max is None and min is None else data if max is None else np.minimum(data, self.dtype.type(max))


@composite
def clamp_backward(grad, self, min, max):
    """The gradient where the value lies between the bounds, bounds included."""
    return where(within(self, min, max), grad, 0.0)


@op(None, nondiff=("self",))
def within(self, min, max):
    inside = np.ones(self.shape, bool)
    if min is not None:
        inside &= self >= min
    if max is not None:
        inside &= self <= max
    return inside


@op(
    "ClampBackward0",
    promote="pointwise",
    self=lambda grad, self, min, max: clamp_backward_self(grad, self, min, max),
    min=lambda grad, self, min, max: clamp_backward_min(grad, self, min, max),
    max=lambda grad, self, min, max: clamp_backward_max(grad, self, min, max),
)
def clamp_tensor(self, min=None, max=None):
    data = self if min is None else np.maximum(self, min)
    return data if max is None else np.minimum(data, max)


@composite
def clamp_backward_self(grad, self, min, max):
    """The gradient where the value lies between its bounds."""
    zero = 0.0
    if min is not None and max is not None:
        return where(logical_and(greater_equal(self, min), less_equal(self, max)), grad, zero)
    return where(greater_equal(self, min), grad, zero) if max is None else where(less_equal(self, max), grad, zero)


@composite
def clamp_backward_min(grad, self, min, max):
    """The gradient where the lower bound was taken (and is below the upper one)."""
    zero = 0.0
    if max is None:
        return where(less(self, min), grad, zero)
    return where(logical_and(less(min, max), less(self, min)), grad, zero)


@composite
def clamp_backward_max(grad, self, min, max):
    """The gradient where the upper bound was taken."""
    zero = 0.0
    if min is None:
        return where(greater(self, max), grad, zero)
    return where(logical_or(greater(self, max), less(max, min)), grad, zero)


@op(
    "WhereBackward0",
    nondiff=("condition",),
    self=lambda grad, condition: where(condition, grad, 0.0),
    other=lambda grad, condition: where(condition, 0.0, grad),
)
def where(condition, self, other):
    return np.where(condition, self, other)


@op("MaskedFillBackward0", nondiff=("mask",), promote="none", self=lambda grad, mask: masked_fill(grad, mask, 0))
def masked_fill(self, mask, value):
    return np.where(mask, self.dtype.type(value), self)


# ------------------------------------------------------------------ comparison and logic: no gradient
@op(None, nondiff=("self", "other"))
def equal(self, other):
    return np.equal(self, other)


@op(None, nondiff=("self", "other"))
def not_equal(self, other):
    return np.not_equal(self, other)


@op(None, nondiff=("self", "other"))
def less(self, other):
    return np.less(self, other)


@op(None, nondiff=("self", "other"))
def less_equal(self, other):
    return np.less_equal(self, other)


@op(None, nondiff=("self", "other"))
def greater(self, other):
    return np.greater(self, other)


@op(None, nondiff=("self", "other"))
def greater_equal(self, other):
    return np.greater_equal(self, other)


@op(None, nondiff=("self", "other"))
def logical_and(self, other):
    return np.logical_and(self, other)


@op(None, nondiff=("self", "other"))
def logical_or(self, other):
    return np.logical_or(self, other)


@op(None, nondiff=("self", "other"))
def logical_xor(self, other):
    return np.logical_xor(self, other)


@op(None, nondiff=("self",))
def logical_not(self):
    return np.logical_not(self)


@op(None, nondiff=("self",))
def isnan(self):
    return np.isnan(self)


@op(None, nondiff=("self",))
def isinf(self):
    return np.isinf(self)


@op(None, nondiff=("self",))
def isfinite(self):
    return np.isfinite(self)


# ------------------------------------------------------------------ copies
@op("CloneBackward0", self=PASS)
def clone(self):
    return np.array(self)


@op("CopyBackwards", self=lambda grad: zeros_like(grad), src=PASS)
def copy_into(self, src):
    return np.array(src)


@op("FillBackward2", self=lambda grad: zeros_like(grad))
def fill(self, value):
    return np.full_like(self, value)


@op("FillBackward3", promote="none", self=lambda grad: zeros_like(grad), value=lambda grad: sum_all(grad))
def fill_tensor(self, value):
    return np.full_like(self, value)


@op("ZeroBackward0", self=lambda grad: zeros_like(grad))
def zero(self):
    return np.zeros_like(self)


@op(
    "ToCopyBackward0",
    promote="none",
    hidden=("self_sym_dtype",),
    self=lambda grad, self_sym_dtype: to_dtype(grad, self_sym_dtype),
)
def to_dtype(self, dtype):
    return self.astype(dtype)


@op(None, nondiff=("self",))
def zeros_like(self):
    return np.zeros_like(self)
