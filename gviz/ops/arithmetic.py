"""Arithmetic. Rows that end in ``_scalar`` are the overloads that PyTorch has for a number, as they show inside recorded derivatives."""

from __future__ import annotations

from typing import Any

import numpy as np

from gviz.numbers import dtypes
from gviz.autograd.modes import mode
from gviz.autograd.row import NUMBERS, composite, everywhere, op
from gviz.ops.rows import function, row

NO_BOOLEANS = {
    2: "Subtraction, the `-` operator, with two bool tensors is not supported. Use the `^` or `logical_xor()` operator instead.",
    1: "Subtraction, the `-` operator, with a bool tensor is not supported. If you are trying to invert a mask, use the `~` or "
    "`logical_not()` operator instead.",
    0: "Negation, the `-` operator, on a bool tensor is not supported. If you are trying to invert a mask, use the `~` or "
    "`logical_not()` operator instead.",
}


def check_sub(*operands: Any):
    """Refuse booleans, which PyTorch neither subtracts nor negates."""
    count = sum(np.asarray(v).dtype.kind == "b" for v in operands)
    if count:
        raise RuntimeError(NO_BOOLEANS[count if len(operands) == 2 else 0])


check_neg = check_sub


def scaled(array, alpha):
    """``alpha * array``; refuses a factor of another kind."""
    if array.dtype.kind in "iub" and isinstance(alpha, float):
        raise RuntimeError("For integral input tensors, argument alpha must not be a floating point number.")
    return array if alpha == 1 else array * np.asarray(alpha, array.dtype)


def common(self, number):
    """The array in the dtype that it has together with a number."""
    return self if self.dtype.kind == "f" else self.astype(dtypes.result_type(self, number), copy=False)


def alike(self, number):
    """The array and a number in the dtype that they have together."""
    array = common(self, number)
    return array, np.asarray(number).astype(array.dtype)


@composite
def maybe_multiply(grad, number):
    """``grad * number``; the gradient itself where the number is 1."""
    return grad if number == 1 else grad * number


@op("AddBackward0", "add add_ + r+ +=", numbers=True, scalar="add_scalar", self="grad", other="maybe_multiply(grad, alpha)")
def add(self, other, *, alpha: Number = 1):
    return self + scaled(np.asarray(other), alpha) if alpha != 1 else self + other


@op(
    "SubBackward0", "sub subtract sub_ subtract_ - -=", numbers=True, scalar="sub_scalar", check=check_sub,
    self="grad", other="maybe_multiply(neg(grad), alpha)",
)  # fmt: skip
def sub(self, other, *, alpha: Number = 1):
    return self - scaled(np.asarray(other), alpha) if alpha != 1 else self - other


@op("RsubBackward0", "torch.rsub", self="maybe_multiply(neg(grad), alpha)", other="grad", check=check_sub)
def rsub(self: Tensor, other: Tensor, *, alpha: Number = 1):
    return other - scaled(self, alpha)


@op("RsubBackward1", "torch.rsub", self="maybe_multiply(neg(grad), alpha)", check=lambda self: check_sub(self, 0))
def rsub_scalar(self: Tensor, other: Number, *, alpha: Number = 1):
    self, other = alike(self, other)
    return other - scaled(self, alpha)


@composite("r-")
def reversed_sub(self: Tensor, other: Operand):
    """``other - self``; in a recorded derivative PyTorch's C++ subtracts from a tensor."""
    return sub(full_as(self, other), self) if in_formula(other) else rsub_any(self, other)


@composite
def rsub_any(self, other):
    """``other - self``."""
    return rsub_scalar(self, other) if is_number(other) else rsub(self, other)


row(
    "mul", "MulBackward0", lambda self, other: self * other, "mul multiply mul_ multiply_ * r* *=", numbers=True, scalar="mul_scalar",
    self="grad * other", other="grad * self",
)  # fmt: skip
row("add_scalar", "AddBackward1", lambda self, other: common(self, other) + other, self="grad")
row("sub_scalar", "SubBackward1", lambda self, other: common(self, other) - other, self="grad")
row("mul_scalar", "MulBackward1", lambda self, other: common(self, other) * other, self="grad * other")
row("div_scalar", "DivBackward1", lambda self, other: self / other, self="grad / other")
row("neg", "NegBackward0", lambda self: -self, "neg negative neg_ negative_", check=check_sub, self="neg(grad)")
row("absolute", "AbsBackward0", np.abs, "abs absolute abs_ absolute_", self="grad * sgn(self)")
row("sgn", "SgnBackward0", lambda self: signs(self), "sgn sgn_", saves=("self", "result"), self="zeros_like(grad)")
row("sign", "SignBackward0", lambda self: signs(self), "sign sign_", self="zeros_like(grad)")
row("full_as", None, lambda self, value: np.full_like(self, value), nondiff=("self",))
function(
    "div", "DivBackward0", lambda self, other: self / other, "div divide true_divide div_ divide_ true_divide_ / /=",
    numbers=True, scalar="div_scalar",
    self="grad / other", other="div_backward_other(grad, self, other)",
)  # fmt: skip
function("reciprocal", "ReciprocalBackward0", lambda self: 1 / self, self="neg(grad) * (result * result)")


@composite
def div_backward_other(grad, self, other):
    """D (a / b) / db = -a / b^2, written as PyTorch does, which makes right operands first."""
    ratio = (self / other) / other
    return neg(grad) * ratio


@composite("r/")
def reversed_div(self: Tensor, other: Operand):
    """``other / self``: the reciprocal, then a product, as PyTorch does; in a recorded derivative a tensor is divided."""
    return div(full_as(self, other), self) if in_formula(other) else mul(reciprocal(self), other)


@everywhere
def is_number(value):
    """Whether it is a number and no tensor."""
    return isinstance(value, NUMBERS)


@everywhere
def in_formula(value):
    """Whether it is a number in a derivative that is recorded."""
    return mode.formula and isinstance(value, NUMBERS)


# ------------------------------------------------------------------ powers
@op(
    "PowBackward1", "pow pow_ ** **=", self="pow_backward_self(grad, self, exponent)",
    exponent="grad * where(logical_and(equal(self, 0), greater_equal(exponent, 0)), 0.0, result * log(self))",
)  # fmt: skip
def pow_tensor(self: Tensor, exponent: Tensor):
    return integer_power(self, exponent) if self.dtype.kind in "iub" else self**exponent


@op("PowBackward0", "pow pow_ ** **=", self="pow_backward(grad, self, exponent)")
def power(self: Tensor, exponent: Number):
    self = common(self, exponent)
    if self.dtype.kind in "iu" and exponent < 0:
        raise RuntimeError("Integers to negative integer powers are not allowed.")
    if exponent == -0.5:  # as a root: minus infinity gives nan
        return 1 / np.sqrt(self)
    return self * self if exponent == 2 else self**exponent


@op("PowBackward2", "pow", exponent="pow_backward_base(grad, self, exponent, result)")
def pow_base(self: Number, exponent: Tensor):
    exponent, self = alike(exponent, self)
    return integer_power(self, exponent) if exponent.dtype.kind in "iub" else self**exponent


@composite("r**")
def reversed_pow(self: Tensor, other: Operand):
    """``other ** self``."""
    return pow_base(other, self)


@composite("square square_")
def square(self: Tensor):
    """``self ** 2``."""
    return power(self, 2)


def integer_power(base, exponent):
    """A power of integers: towards zero where the exponent is negative."""
    ends = np.where(base == 1, 1, np.where(base == -1, 1 - 2 * (exponent % 2), 0))
    return np.where(exponent < 0, ends, base ** np.maximum(exponent, 0)).astype(exponent.dtype)


@composite
def pow_backward(grad, self, exponent):
    """D x^n = n x^(n-1), and zero for n = 0 even where x is 0."""
    exponent = float(exponent)
    return grad * (exponent * power(self, exponent - 1)) if exponent else zeros_like(self)


@composite
def pow_backward_self(grad, self, exponent):
    """The same where the exponent is a tensor."""
    return where(equal(exponent, 0.0), 0.0, grad * (exponent * pow_tensor(self, exponent - 1)))


@composite
def pow_backward_base(grad, self, exponent, result):
    """The same for a number as the base."""
    slope = result * number_log(self)
    return grad * (where(greater_equal(exponent, 0), 0.0, slope) if self == 0 else slope)


@everywhere
def number_log(number):
    """Natural logarithm of a number: nan and minus infinity rather than an error."""
    return float(np.log(np.float64(number)))


def signs(array):
    """-1, 0 or 1; 0 for nan, as PyTorch has it."""
    return array.copy() if array.dtype.kind == "b" else np.subtract(array > 0, array < 0, dtype=array.dtype)
