"""Arithmetic: add, sub, mul, div, neg, reciprocal, powers, abs, sign.

Rows that end in ``_scalar`` are the overloads that PyTorch has for a number, as they show inside recorded derivatives.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gviz.engine.data import dtypes
from gviz.engine.data.shapes import broadcast_shape
from gviz.engine.op import composite, everywhere, op
from gviz.engine.ops.constants import ONE
from gviz.engine.ops.rows import function, row


@composite
def maybe_multiply(grad, number):
    """``grad * number``; the gradient itself where the number is 1."""
    return grad if number == 1 else grad * number


def check_sub(self, other):
    """Refuse booleans, which PyTorch does not subtract."""
    booleans = [isinstance(v, bool) or getattr(getattr(v, "dtype", None), "kind", "") == "b" for v in (self, other)]
    if all(booleans):
        raise RuntimeError(
            "Subtraction, the `-` operator, with two bool tensors is not supported. Use the `^` or `logical_xor()` "
            "operator instead."
        )
    if any(booleans):
        raise RuntimeError(
            "Subtraction, the `-` operator, with a bool tensor is not supported. "
            "If you are trying to invert a mask, use the `~` or `logical_not()` operator instead."
        )


def check_neg(operand):
    """Refuse booleans, which PyTorch does not negate."""
    if operand.dtype.kind == "b":
        raise RuntimeError(
            "Negation, the `-` operator, on a bool tensor is not supported. If you are trying to invert a mask, use the `~` "
            "or `logical_not()` operator instead."
        )


def scaled(array, alpha, beside):
    """``alpha * array``, in the array's dtype, to be added to what is beside it; refuses a factor of another kind."""
    broadcast_shape(beside.shape, array.shape)  # its refusal comes first
    if array.dtype.kind in "iub" and isinstance(alpha, float):
        raise RuntimeError("For integral input tensors, argument alpha must not be a floating point number.")
    if array.dtype.kind != "b" and isinstance(alpha, bool):
        raise RuntimeError("Boolean alpha only supported for Boolean results.")
    return array if alpha == 1 else array * dtypes.number(alpha, array.dtype, half=True)


def common(self, number):
    """The array in the dtype that it has together with a number."""
    return (
        self
        if self.dtype.kind == "f" and not isinstance(number, complex)
        else self.astype(dtypes.result_type(self, number), copy=False)
    )


def alike(self, number):
    """The array and a number in the dtype that they have together; an integer out of range wraps around."""
    array = common(self, number)
    return array, number if isinstance(number, complex) else np.asarray(number).astype(array.dtype)


row("add", "AddBackward0", lambda self, other: self + other, self="grad", other="grad", shows={"alpha": 1})
row("add_scalar", "AddBackward1", lambda self, other: common(self, other) + other, self="grad")
row(
    "sub", "SubBackward0", lambda self, other: self - other, self="grad", other="neg(grad)", shows={"alpha": 1}, check=check_sub
)
row("sub_scalar", "SubBackward1", lambda self, other: common(self, other) - other, self="grad")
row("mul", "MulBackward0", lambda self, other: self * other, self="grad * other", other="grad * self")
row("mul_scalar", "MulBackward1", lambda self, other: common(self, other) * other, self="grad * other")
function(
    "div", "DivBackward0", lambda self, other: self / other, self="grad / other", other="div_backward_other(grad, self, other)"
)
row("div_scalar", "DivBackward1", lambda self, other: self / other, self="grad / other")
row("neg", "NegBackward0", lambda self: -self, check=check_neg, self="neg(grad)")
row("absolute", "AbsBackward0", np.abs, self="grad * sgn(self)")
row("sure_zeros", None, lambda self: np.zeros(self.shape, self.dtype).view(SureZero), nondiff=("self",))
row("sgn", "SgnBackward0", lambda self: signs(self), saves=("self", "result"), self="sure_zeros(grad)")
row("sign", "SignBackward0", lambda self: signs(self), self="zeros_like(grad)")


@op("AddBackward0", self="grad", other="maybe_multiply(grad, alpha)")
def add_alpha(self, other, alpha):
    return self + scaled(other, alpha, self)


@op("SubBackward0", self="grad", other="maybe_multiply(neg(grad), alpha)", check=check_sub)
def sub_alpha(self, other, alpha):
    return self - scaled(other, alpha, self)


@op("RsubBackward0", self="maybe_multiply(neg(grad), alpha)", other="grad", check=check_sub)
def rsub(self, other, alpha=1):
    return other - scaled(self, alpha, other)


@op("RsubBackward1", self="maybe_multiply(neg(grad), alpha)")
def rsub_scalar(self, other, alpha=1):
    if self.dtype.kind == "f" and alpha == 1 and alpha is not True and not isinstance(other, bool):
        return other - self
    check_sub(self, other)
    self, other = alike(self, other)
    return other - scaled(self, alpha, self)


@composite
def div_backward_other(grad, self, other):
    """D (a / b) / db = -a / b^2, written as PyTorch does, which makes right operands first."""
    ratio = (self / other) / other
    return neg(grad) * ratio


@op("ReciprocalBackward0", promote="float", self="neg(grad) * (result * result)")
def reciprocal(self):
    return np.true_divide(ONE[self.dtype], self)


NEGATIVE_POWER = "Integers to negative integer powers are not allowed."


@op("PowBackward0", self="pow_backward(grad, self, exponent)")
def power(self, exponent):
    if self.dtype.kind in "iub":
        self = common(self, exponent)
        if self.dtype.kind in "iu":
            if exponent < 0:
                raise RuntimeError(NEGATIVE_POWER)
            if exponent > np.iinfo(self.dtype).max:
                raise RuntimeError(f"value cannot be converted to type {self.dtype.name}_t without overflow")
        if self.dtype.kind == "b":  # to the power of a boolean
            return self | (not exponent)
    if exponent == -0.5:  # as a root: minus infinity gives nan
        return 1 / np.sqrt(self)
    return self * self if exponent == 2 else self**exponent


@op(
    "PowBackward1",
    self="pow_backward_self(grad, self, exponent)",
    exponent="grad * where(logical_and(equal(self, 0), greater_equal(exponent, 0)), 0.0, result * log(self))",
)
def pow_tensor(self, exponent):
    return integer_power(self, exponent) if self.dtype.kind in "iub" else self**exponent


@op("PowBackward2", exponent="pow_backward_base(grad, self, exponent, result)")
def pow_base(self, exponent):
    exponent, self = alike(exponent, self)
    return integer_power(self, exponent) if exponent.dtype.kind in "iub" else self**exponent


def integer_power(base, exponent):
    """A power of integers, no booleans: towards zero where the exponent is negative, as PyTorch's kernel has it."""
    broadcast_shape(np.shape(base), exponent.shape)
    if exponent.dtype.kind == "b":
        raise dtypes.no_kernel("pow", exponent.dtype)
    positive = base ** np.maximum(exponent, 0)
    ends = np.where(base == 1, 1, np.where(base == -1, 1 - 2 * (exponent % 2), 0))
    return np.where(exponent < 0, ends, positive).astype(exponent.dtype)


@composite
def pow_backward(grad, self, exponent):
    """D x^n = n x^(n-1), and zero for n = 0 even where x is 0."""
    exponent = float(exponent)
    return grad * (exponent * power(self, exponent - 1)) if exponent else zeros_like(self)


@composite
def pow_backward_self(grad, self, exponent):
    """The same where the exponent is a tensor."""
    refuse_boolean(exponent)
    return where(equal(exponent, 0.0), 0.0, grad * (exponent * pow_tensor(self, exponent - 1)))


@everywhere
def refuse_boolean(exponent):
    """An exponent that is a boolean tensor cannot be made one less."""
    check_sub(getattr(exponent, "_array", exponent), 1)


@composite
def pow_backward_base(grad, self, exponent, result):
    """The same for a number as the base."""
    slope = result * number_log(self)
    return grad * (where(greater_equal(exponent, 0), 0.0, slope) if self == 0 else slope)


@everywhere
def number_log(number):
    """Natural logarithm of a number: nan and minus infinity rather than an error, as PyTorch has it."""
    return float(np.log(np.float64(number)))


def signs(array):
    """-1, 0 or 1; 0 for nan, as PyTorch has it; of complex numbers those of size one that lie in the same direction."""
    if array.dtype.kind == "c":
        return np.where(array == 0, 0, array / np.where(array == 0, 1, np.abs(array))).astype(array.dtype)
    return array.copy() if array.dtype.kind == "b" else np.subtract(array > 0, array < 0, dtype=array.dtype)


class SureZero(np.ndarray):
    """Zeros that stay zero when they are multiplied or divided, even by infinity: PyTorch's ZeroTensor."""

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        """As of a plain array, but for products and quotients."""
        arrays = [np.asarray(value) if isinstance(value, SureZero) else value for value in inputs]
        if ufunc in {np.multiply, np.negative} or (ufunc is np.true_divide and isinstance(inputs[0], SureZero)):
            return np.zeros(np.broadcast_shapes(*map(np.shape, arrays)), np.result_type(*arrays)).view(SureZero)
        return getattr(ufunc, method)(*arrays, **kwargs)
