"""Inverse and hyperbolic functions, the error function, and functions of two or three tensors: atan2, hypot, lerp, addcmul."""

from __future__ import annotations

import math

import numpy as np

from gviz.ops.checks import check_one_dtype
from gviz.autograd.row import composite, op
from gviz.ops.rows import function, row

function("asin", "AsinBackward0", np.arcsin, self="grad * rsqrt(neg(self) * self + 1)")
function("acos", "AcosBackward0", np.arccos, self="grad * neg(rsqrt(neg(self) * self + 1))")
function("atan", "AtanBackward0", np.arctan, self="grad / (self * self + 1)")
function("sinh", "SinhBackward0", np.sinh, self="grad * cosh(self)")
function("cosh", "CoshBackward0", np.cosh, self="grad * sinh(self)")
function("asinh", "AsinhBackward0", np.arcsinh, self="grad * rsqrt(power(self, 2) + 1)")
function("acosh", "AcoshBackward0", np.arccosh, self="grad * rsqrt(self * self - 1)")
function("atanh", "AtanhBackward0", np.arctanh, self="grad * 1 / (1 - power(self, 2))")
function("exp2", "Exp2Backward0", np.exp2, self="grad * result * 0.6931471805599453")
function("asinh_", "AsinhBackward1", np.arcsinh, self='refuse_in_place("asinh")')
function("acosh_", "AcoshBackward1", np.arccosh, self='refuse_in_place("acosh")')
function("atanh_", "AtanhBackward1", np.arctanh, self='refuse_in_place("atanh")')
function(
    "erf", "ErfBackward0", lambda self: floating(ERF(self), self), self="1.1283791670955126 * exp(neg(power(self, 2))) * grad"
)
function("sinc", "SincBackward0", lambda self: floating(np.sinc(self), self), self="sinc_backward(grad, self)")
function(
    "deg2rad", "Deg2RadBackward0", lambda self: floating(self * 0.017453292519943295, self), self="grad * 0.017453292519943295"
)
function("rad2deg", "Rad2DegBackward0", lambda self: floating(self * 57.29577951308232, self), self="grad * 57.29577951308232")
function("atan2", "Atan2Backward0", np.arctan2, self__other="atan2_backward(grad, self, other, grad_input_mask)")
row("hypot", "HypotBackward0", np.hypot, self="grad * self / result", other="grad * other / result")
function(
    "xlogy_base", "XlogyBackward1", lambda self, other: xlogarithm(other.dtype.type(self), other), other="grad * self / other"
)
row("nextafter", "NextafterBackward0", np.nextafter, self="where(not_equal(self, other), grad, 0.0)", other="zeros_like(grad)")
row(
    "logaddexp",
    "LogaddexpBackward0",
    np.logaddexp,
    self="grad / (1 + exp(other - self))",
    other="grad / (1 + exp(self - other))",
)


@composite
def refuse_in_place(name):
    """PyTorch has no derivative for these in place."""
    raise NotImplementedError(f"the derivative for 'inplace version of {name}' is not implemented.")


ERF, ERFC = np.frompyfunc(math.erf, 1, 1), np.frompyfunc(math.erfc, 1, 1)


def floating(values, model):
    """Values in a tensor's dtype; for integers in one that shows that a floating point dtype is needed."""
    return np.asarray(values).astype(model.dtype if model.dtype.kind == "f" else np.float64)


@op("ErfcBackward0", promote="float", self="-1.1283791670955126 * exp(neg(power(self, 2))) * grad")
def erfc(self):
    return floating(ERFC(self), self)


@composite
def sinc_backward(grad, self):
    """D sin(pi x)/(pi x), and zero at x = 0, written as PyTorch does."""
    at_pi = self * 3.141592653589793
    square = self * self * 3.141592653589793
    sine = sin(at_pi)
    return where(equal(square, 0), 0.0, grad * ((at_pi * cos(at_pi) - sine) / square))


@op("NanToNumBackward0", self="grad * isfinite(self)")
def nan_to_num(self, nan=None, posinf=None, neginf=None):
    return np.nan_to_num(self, nan=nan or 0.0, posinf=posinf, neginf=neginf)


@composite
def atan2_backward(grad, self, other, wanted):
    """D atan2(y, x) = (x dy - y dx) / (x^2 + y^2), and zero at the origin."""
    square = other * other
    square = self * self + square
    inverse = masked_fill(reciprocal(square), equal(square, 0), 0)
    return grad * other * inverse if wanted[0] else None, grad * neg(self) * inverse if wanted[1] else None


@op("Logaddexp2Backward0", self="grad / (1 + pow_base(2, other - self))", other="grad / (1 + pow_base(2, self - other))")
def logaddexp2(self, other):
    return np.logaddexp2(self, other)


@op(
    "XlogyBackward0",
    promote="float",
    self="masked_fill(xlogy(grad, other), logical_and(equal(self, 0.0), less_equal(other, 0.0)), 0.0)",
    other="grad * self / other",
)
def xlogy(self, other):
    return xlogarithm(self, other)


@op("XlogyBackward2", promote="float", self="xlogy_scalar_backward(grad, self, other)")
def xlogy_scalar(self, other):
    return xlogarithm(self, self.dtype.type(other))


@composite
def xlogy_scalar_backward(grad, self, other):
    """The logarithm of a number; none at zero where there is no logarithm."""
    return xlogy_scalar(grad, other) if other > 0 else masked_fill(xlogy_scalar(grad, other), equal(self, 0.0), 0.0)


def xlogarithm(self, other):
    """``self * log(other)``, zero where ``self`` is."""
    return np.where((self == 0) & ~np.isnan(other), self.dtype.type(0), self * np.log(other))


SIGNED = "grad * masked_fill(result / self, equal(self, 0), 0)"


function("copysign", "CopysignBackward0", np.copysign, self=SIGNED, other="zeros_like(grad)")
function("copysign_scalar", "CopysignBackward1", lambda self, other: np.copysign(self, self.dtype.type(other)), self=SIGNED)


@op("LdexpBackward0", promote="float", self="grad * pow_base(2, other)", other="grad * result * 0.6931471805599453")
def ldexp(self, other):
    return self * np.exp2(other)


@op("FrexpBackward0", outputs=("mantissa", "exponent"), self="grad / exp2(exponent)")
def frexp(self):
    if self.dtype.kind != "f":
        raise RuntimeError("torch.frexp() only supports floating-point dtypes")
    return np.frexp(self)


@op("AngleBackward0", promote="float", self="flat_at(grad, self)")
def angle(self):
    if self.dtype.kind == "c":
        return np.angle(self)
    return floating(np.where(np.isnan(self), np.nan, np.where(self < 0, np.pi, 0.0)), self)


@composite
def flat_at(grad, self):
    """No gradient: the angle of a real number is 0 or pi."""
    return zeros_like(self)


TWO_DTYPES = "heaviside is not yet implemented for tensors with different dtypes."


@op(
    "NotImplemented",
    check=lambda self, values: check_one_dtype(self, values, TWO_DTYPES),
    self__values='refuse_derivative("heaviside")',
)
def heaviside(self, values):
    return np.where(self == 0, values, self > 0).astype(self.dtype, copy=False)


MORE, LESS = "first_is_more(self, other)", "first_is_more(neg(self), neg(other))"
row("fmax", "FmaxBackward0", np.fmax, self=f"masked_fill(grad, logical_not({MORE}), 0)", other=f"masked_fill(grad, {MORE}, 0)")
row("fmin", "FminBackward0", np.fmin, self=f"masked_fill(grad, logical_not({LESS}), 0)", other=f"masked_fill(grad, {LESS}, 0)")


@composite
def first_is_more(self, other):
    """Where the first of two is at least the second, or the second is not a number."""
    return logical_or(greater_equal(self, other), isnan(other))


def lerp(self, end, weight):
    """From ``self`` to ``end``, counted from the nearer of the two, as PyTorch does."""
    return np.where(weight < 0.5, self + weight * (end - self), end - (end - self) * (1 - weight))


row("lerp_scalar", "LerpBackward0", lerp, self="grad * (1 - weight)", end="grad * weight")
row("lerp", "LerpBackward1", lerp, self="grad * (1 - weight)", end="grad * weight", weight="grad * (end - self)")


@op("AddcmulBackward0", self="grad", tensor1="grad * (tensor2 * value)", tensor2="grad * (tensor1 * value)")
def addcmul(self, tensor1, tensor2, value=1):
    return self + self.dtype.type(value) * tensor1 * tensor2


def check_quotient(self, tensor1, tensor2):
    """Refuse to divide integers by integers."""
    if all(getattr(value, "dtype", np.dtype(int)).kind in "iub" for value in (tensor1, tensor2)):
        raise RuntimeError(
            "Integer division with addcdiv is no longer supported, and in a future  release addcdiv will perform a true "
            "division of tensor1 and tensor2. The historic addcdiv behavior can be implemented as (input + value * "
            "torch.trunc(tensor1 / tensor2)).to(input.dtype) for integer inputs and as (input + value * tensor1 / tensor2) for "
            "float inputs. The future addcdiv behavior is just the latter implementation: (input + value * tensor1 / tensor2), "
            "for all dtypes."
        )


@op(
    "AddcdivBackward0",
    check=check_quotient,
    self="grad",
    tensor1="grad * (value / tensor2)",
    tensor2="neg(grad) * (value * tensor1 / (tensor2 * tensor2))",
)
def addcdiv(self, tensor1, tensor2, value=1):
    return self + value * tensor1 / tensor2
