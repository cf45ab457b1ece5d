"""Arithmetic: add, sub, mul, div, neg, reciprocal, powers, abs, sign.

Rows that end in ``_scalar`` are the overloads that PyTorch has for a number, as they show inside recorded derivatives.
"""

from __future__ import annotations

import numpy as np

from gviz.engine import dtypes
from gviz.engine.op import PASS, composite, everywhere, op


@composite
def maybe_multiply(grad, number):
    """``grad * number``; the gradient itself where the number is 1."""
    return grad if number == 1 else grad * number


def check_sub(self, other):
    """PyTorch subtracts no booleans."""
    kinds = [getattr(getattr(v, "dtype", None), "kind", "b" if isinstance(v, bool) else "") for v in (self, other)]
    if kinds == ["b", "b"]:
        raise RuntimeError(
            "Subtraction, the `-` operator, with two bool tensors is not supported. Use the `^` or `logical_xor()` "
            "operator instead."
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


@op("AbsBackward0", self=lambda grad, self: grad * sgn(self))
def absolute(self):
    return np.abs(self)


@op("SgnBackward0", self=lambda grad: zeros_like(grad))
def sgn(self):
    return np.sign(self)


@op("SignBackward0", self=lambda grad: zeros_like(grad))
def sign(self):
    return np.sign(self)
