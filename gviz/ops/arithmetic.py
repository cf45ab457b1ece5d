"""Arithmetic. Rows that end in ``_scalar`` are the overloads that PyTorch has for a number, shown in recorded derivatives.

Source: PyTorch's derivatives.yaml, and BinaryOps.cpp for what is refused.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from gviz.autograd.formulas import bind
from gviz.autograd.tensor import Tensor
from gviz.ops.rows import (
    NUMBERS,
    TENSORS,
    array_of,
    brief,
    check_one_dtype,
    composite,
    dtypes,
    each_of,
    fact,
    formula,
    function,
    function_as,
    in_double,
    lacks,
    mode,
    op,
    public_names,
    refuse,
    refusing,
    row,
)


@partial(refusing, "b")
def check_sub(*operands):
    count, what = sum(np.asarray(v).dtype.kind == "b" for v in operands), "Negation" if len(operands) == 1 else "Subtraction"
    refuse(count == 2, f"{what}, the `-` operator, with two bool tensors is not supported. "
                           "Use the `^` or `logical_xor()` operator instead.")
    if count:
        raise RuntimeError(f"{what}, the `-` operator, {'with' if operands[1:] else 'on'} a bool tensor is not supported. "
                           "If you are trying to invert a mask, use the `~` or `logical_not()` operator instead.")

fact("has_bools", lambda *operands: any(getattr(each, "dtype", 0) in (np.bool_, dtypes.bool_) for each in operands))
fact("refuse_bools", lambda *operands: check_sub(*(getattr(each, "_array", each) for each in operands)))
# a difference in a formula, refused where one side is of bools: the minus sign of arrays takes them
formula("minus", lambda self, other: refuse_bools(self, other) if has_bools(self, other) else self - other)

def scaled(array, alpha):
    if not hasattr(array, "dtype"):
        return array * alpha  # a number beside floats
    refuse(array.dtype.kind in "iub" and isinstance(alpha, float),
           "For integral input tensors, argument alpha must not be a floating point number.")
    return array if alpha == 1 else array * np.asarray(alpha).astype(array.dtype)

def common(self, number):
    has_type = self.dtype.kind == "f" and not isinstance(number, complex)
    return self if has_type else self.astype(dtypes.result_type(self, number), copy=False)

def alike(self, number):
    """Return the array and a number in the dtype that they have together."""
    array = common(self, number)
    return array, np.asarray(number).astype(array.dtype)

def signs(self):
    if self.dtype.kind == "c":
        return np.where(self == 0, self, self / np.where(self == 0, 1, np.abs(self)))
    return self.copy() if self.dtype.kind == "b" else np.subtract(self > 0, self < 0, dtype=self.dtype)  # 0 for nan

formula("maybe_multiply", lambda grad, number: grad if number == 1 else grad * number)

# whether it is a number in a derivative that is recorded: PyTorch's C++ makes a tensor of it first
fact("in_formula", lambda value: mode.formula and isinstance(value, NUMBERS))

# ------------------------------------------------------------------ sums and differences
row("add", "AddBackward0", lambda self, other, *, alpha=1: self + scaled(other, alpha) if alpha != 1 else self + other,
    "add .add_ + r+ +=", takes_number=True, rounding="few", ufunc=np.add, scalar_overload="add_scalar", self="grad",
    other="maybe_multiply(grad, alpha)")
row("sub", "SubBackward0", lambda self, other, *, alpha=1: self - scaled(other, alpha) if alpha != 1 else self - other,
    "sub subtract .sub_ .subtract_ - -=", takes_number=True, ufunc=np.subtract, scalar_overload="sub_scalar", check=check_sub,
    rounding="few", self="grad", other="maybe_multiply(neg(grad), alpha)")
row("rsub", "RsubBackward0", lambda self, other, *, alpha=1: other - scaled(self, alpha), "torch.rsub", check=check_sub,
    rounding="few", self="maybe_multiply(neg(grad), alpha)", other="grad")
@op("RsubBackward1", "torch.rsub", rounding="few", self="maybe_multiply(neg(grad), alpha)")
def rsub_scalar(self, other, alpha: Number = 1):
    check_sub(self, other)
    self, other = alike(self, other)
    return other - scaled(self, alpha)
brief("r-", lambda self, other: sub(full_as(self, other), self) if in_formula(other) else rsub_scalar(self, other),
    other="Operand")
row("add_scalar", "AddBackward1", lambda self, other: common(self, other) + other, rounding="few", self="grad")
row("sub_scalar", "SubBackward1", lambda self, other: common(self, other) - other, rounding="few", self="grad")
row("full_as", None, lambda self, value: np.full_like(self, value), nondiff=("self",))
row("neg", "NegBackward0", lambda self: -self, "neg negative neg_ negative_ -x", check=check_sub, self="neg(grad)")
row("absolute", "AbsBackward0", np.abs, "abs absolute abs(x)", check=lacks("abs_cpu", "b"), self="grad * sgn(self)")
row("absolute_", "AbsBackward0", np.abs, "abs_ .absolute_", self="grad * sgn(self)",
    check=each_of(lacks("abs_cpu", "b"), lacks("", "c", "In-place abs is not supported for complex tensors.")))
row("sgn", "SgnBackward0", signs, "sgn .sgn_", saves=("self", "result"), self="zeros_like(grad)")
row("sign", "SignBackward0", signs, "sign .sign_", check=lacks("", "c",
    "Unlike NumPy, torch.sign is not intended to support complex numbers. Please use torch.sgn instead.", NotImplementedError),
    self="zeros_like(grad)")
row("conjugate", None, np.conjugate, nondiff=("self",))
row("real_part", None, lambda self: self.real, view=True, nondiff=("self",))
is_complex = fact("is_complex", lambda value: np.iscomplexobj(array_of(value)))
brief("conj conj_physical resolve_conj", lambda self: conjugate(self) if is_complex(self) else self)
row("imag", None, lambda self: self.imag, "torch.imag", view=True, nondiff=("self",), check=lacks(
    "", "biufe", "imag is not implemented for tensors with non-complex dtypes."))
brief("torch.real", lambda self: real_part(self) if is_complex(self) else self)
function("angle", "AngleBackward0", lambda self: np.angle(self) if self.dtype.kind == "c" else
    np.where(np.isnan(self), self, np.where(self < 0, np.pi, 0)).astype(self.dtype), "angle", self="zeros_like(grad)")
NO_PLUS = "The `+` operator, on a bool tensor is not supported."
public_names("positive +x")(lambda self: refuse(self._array.dtype.kind == "b", NO_PLUS) or self)

# ------------------------------------------------------------------ products and quotients
row("mul", "MulBackward0", lambda self, other: self * other, "mul multiply .mul_ .multiply_ * r* *=", takes_number=True,
    ufunc=np.multiply, scalar_overload="mul_scalar", rounding="wide", self="grad * other", other="grad * self")
row("mul_scalar", "MulBackward1", lambda self, other: common(self, other) * other, self="grad * other")
function("div", "DivBackward0", lambda self, other: self / other, "div divide true_divide .div_ .divide_ .true_divide_ / /=",
    takes_number=True, rounding="wide", ufunc=np.true_divide, scalar_overload="div_scalar", self="grad / other",
    other="div_backward_other(grad, self, other)")
row("div_scalar", "DivBackward1", lambda self, other: self / other, promote="float", self="grad / other")
function("reciprocal", "ReciprocalBackward0", lambda self: 1 / self, self="neg(grad) * (result * result)")
@composite
def div_backward_other(grad, self, other):
    ratio = (self / other) / other  # PyTorch makes right operands first
    return neg(grad) * ratio
brief("r/", lambda self, other: div(full_as(self, other), self) if in_formula(other) else mul(reciprocal(self), other),
    other="Operand")
row("addcmul", "AddcmulBackward0", lambda self, tensor1, tensor2, *, value=1:
    self + self.dtype.type(value) * tensor1 * tensor2,
    "addcmul .addcmul_", check=lacks("addcmul_cpu_out", "b"), self="grad",
    tensor1="grad * (tensor2 * value)", tensor2="grad * (tensor1 * value)")
row("addcdiv", "AddcdivBackward0", lambda self, tensor1, tensor2, *, value=1: self + value * tensor1 / tensor2,
    "addcdiv .addcdiv_", self="grad",
    check=lambda self, *pair: lacks("addcdiv", "biu", "Integer division with addcdiv is no longer supported.")(*pair),
    tensor1="grad * (value / tensor2)",
    tensor2="neg(grad) * (value * tensor1 / (tensor2 * tensor2))")
def old(key, function):
    """Register the form of a name that PyTorch calls deprecated: the scale stands before what it scales."""
    form = bind(function_as(f"old_{key}", function), TENSORS)
    form.__annotations__ = {"value": "Number", "alpha": "Number", "other": "Operand"}
    public_names(f"{key} .{key}_")(form)

old("add", lambda self, alpha, other: add(self, other, alpha))
old("sub", lambda self, alpha, other: sub(self, other, alpha))
old("addcmul", lambda self, value, tensor1, tensor2: addcmul(self, tensor1, tensor2, value))
old("addcdiv", lambda self, value, tensor1, tensor2: addcdiv(self, tensor1, tensor2, value))

def check_lerp(self, end, weight=None):
    for name, value in (("end", end), ("weight", self if weight is None else weight)):
        check_one_dtype(self, value, f"expected dtype {{2}} for `{name}` but got dtype {{3}}")
    lacks("lerp_kernel_scalar", "biu")(self)

def between(self, end, weight):
    """Return the point from ``self`` to ``end``, counted from the nearer of the two, as PyTorch does."""
    return np.where(weight < 0.5, self + weight * (end - self), end - (end - self) * (1 - weight))

NEAR, FAR = "grad * (1 - weight)", "grad * weight"
row("lerp", "LerpBackward1", between, "lerp .lerp_", check=check_lerp, self=NEAR, end=FAR, weight="grad * (end - self)")
row("lerp_scalar", "LerpBackward0", between, "lerp .lerp_", check=check_lerp, self=NEAR, end=FAR)

# ------------------------------------------------------------------ powers
row("pow_tensor", "PowBackward1", lambda self, exponent:
    integer_power(self, exponent) if self.dtype.kind in "iu" else self**exponent,
    "pow .pow_ ** **=", check=lacks("pow", "b"),
    self="where(equal(exponent, 0.0), 0.0, grad * (exponent * pow_tensor(self, minus(exponent, 1))))",
    exponent="grad * where(logical_and(equal(self, 0), greater_equal(exponent, 0)), 0.0, result * log(cast_like(self, result)))")
@op("PowBackward0", "pow .pow_ ** **=", rounding="each", self="pow_backward(grad, self, exponent)")
def power(self, exponent):
    self = common(self, exponent)
    refuse(self.dtype.kind in "iu" and exponent < 0, "Integers to negative integer powers are not allowed.")
    if exponent == -0.5:  # as a root: minus infinity gives nan
        return 1 / np.sqrt(self)
    if exponent == -2:
        return 1 / (self * self)
    if exponent in (2, 3):
        return self * self if exponent == 2 else self * self * self
    return self**exponent if self.dtype.kind != "f" else in_double(np.power)(self, self.dtype.type(exponent))
@op("PowBackward2", "pow", rounding="each", exponent="pow_backward_base(grad, self, exponent, result)")
def pow_base(self, exponent):
    exponent, self = alike(exponent, self)
    lacks("pow", "b")(exponent)
    return integer_power(self, exponent) if exponent.dtype.kind in "iub" else self**exponent
row("ldexp", "LdexpBackward0", lambda self, other: (self * 2.0 ** other.astype(np.float64)).astype(self.dtype),
    "ldexp .ldexp_", promote="float", self="grad * 2.0**other", other="grad * result * 0.6931471805599453")
brief("r**", lambda self, other: pow_base(other, self), other="Operand")
brief("square square_", lambda self: power(self, 2))
@public_names("float_power")
def float_power(self: Operand, exponent: Operand):
    wide = dtypes.complex128 if is_complex(self) or is_complex(exponent) else dtypes.float64
    return (TENSORS["cast_like"](self, wide) if isinstance(self, Tensor) else wide.np.type(self).item()) ** (
        TENSORS["cast_like"](exponent, wide) if isinstance(exponent, Tensor) else exponent)
@public_names(".float_power_")
def float_power_(self, exponent: Operand):
    result = float_power(self, exponent)
    refuse(result.dtype is not self.dtype, f"the base given to float_power_ has dtype {self.dtype.scalar_name} but the "
           f"operation's result requires dtype {result.dtype.scalar_name}")
    return result

def integer_power(base, exponent):
    """Return a power of integers: towards zero if the exponent is negative."""
    ends = np.where(base == 1, 1, np.where(base == -1, 1 - 2 * (exponent % 2), 0))
    return np.where(exponent < 0, ends, base ** np.maximum(exponent, 0)).astype(exponent.dtype)
formula("pow_backward",
    lambda grad, self, exponent: grad * (float(exponent) * power(self, exponent - 1.0)) if exponent else zeros_like(self))
@composite
def pow_backward_base(grad, self, exponent, result):
    slope = result * number_log(self)
    return grad * (where(greater_equal(exponent, 0), 0.0, slope) if self == 0 else slope)
fact("number_log", lambda number: float(np.log(np.float64(number))))  # nan and minus infinity rather than an error
