"""Rounding and division with rounding: floor, round, remainder, fmod, floor division. Their own derivative is zero or one."""

from __future__ import annotations

import numpy as np

from gviz.numbers.dtypes import no_kernel
from gviz.autograd.row import ARRAYS, composite, op
from gviz.ops.arithmetic import alike
from gviz.ops.choice import larger, smaller
from gviz.ops.rows import row

FLAT = "zeros_like(grad)"


def on_a_line(name):
    """A check of the operand: complex numbers are not rounded."""

    def check(operand):
        if np.asarray(operand).dtype.kind == "c":
            raise NotImplementedError(f"{name} is not supported for complex inputs")

    return check


row("floor", "FloorBackward0", np.floor, check=on_a_line("floor"), self=FLAT)
row("ceil", "CeilBackward0", np.ceil, check=on_a_line("ceil"), self=FLAT)
row("trunc", "TruncBackward0", np.trunc, check=on_a_line("trunc"), self=FLAT)
row("round_even", "RoundBackward0", lambda self: np.rint(self) if self.dtype.kind == "f" else self.copy(), self=FLAT)
row("round_decimals", "RoundBackward1", lambda self, decimals: np.round(self, decimals), self=FLAT)
row("frac", "FracBackward0", lambda self: self - np.trunc(self), self="grad")
row("remainder_scalar", "RemainderBackward0", lambda self, other: ARRAYS["remainder"](*alike(self, other)), self="grad")


def check_divisor(self, other, name):
    """Refuse to divide booleans, and integers by zero."""
    if self.dtype.kind == "b":
        raise no_kernel(f"{name}_cpu", self.dtype)
    if self.dtype.kind in "iu" and not np.all(other):
        raise RuntimeError("ZeroDivisionError")


@op(
    "DivBackward2", "div divide div_ divide_", numbers=True,
    self="div_mode_self(grad, other, rounding_mode)", other="div_mode_other(grad, self, other, rounding_mode)",
)  # fmt: skip
def div_mode(self, other, *, rounding_mode: str | None):
    if rounding_mode is None:
        return np.true_divide(self, other)
    if rounding_mode in ("floor", "trunc"):
        check_divisor(np.asarray(self), other, f"div_{rounding_mode}")
        return (
            np.floor_divide(self, other) if rounding_mode == "floor" else np.trunc(self / other).astype(self.dtype, copy=False)
        )
    raise RuntimeError(f"div expected rounding_mode to be one of None, 'trunc', or 'floor' but found '{rounding_mode}'")


@composite
def div_mode_self(grad, other, rounding_mode):
    """A rounded quotient is flat."""
    return grad / other if rounding_mode is None else zeros_like(grad)


@composite
def div_mode_other(grad, self, other, rounding_mode):
    """A rounded quotient is flat."""
    return div_backward_other(grad, self, other) if rounding_mode is None else zeros_like(grad)


NOT_DIFFERENTIABLE = 'refuse_derivative("floor_divide")'


@op("NotImplemented", self=NOT_DIFFERENTIABLE)
def floor_divide_scalar(self, other):
    return ARRAYS["div_mode"](*alike(self, other), "floor")


@op("NotImplemented", self__other=NOT_DIFFERENTIABLE)
def floor_divide(self, other):
    return ARRAYS["div_mode"](self, other, "floor")


@op("NotImplemented", other=NOT_DIFFERENTIABLE)
def floor_divide_base(self, other):
    return ARRAYS["div_mode"](*alike(other, self)[::-1], "floor")


@composite
def refuse_derivative(name):
    """PyTorch's error for an operation that has no derivative."""
    raise RuntimeError(f"derivative for aten::{name} is not implemented")


@composite
def not_implemented(name):
    """PyTorch's error for a derivative that its table names as missing."""
    raise NotImplementedError(f"the derivative for '{name}' is not implemented.")


@op("RemainderBackward1", self="grad", other='neg(grad) * div_mode(self, other, "floor")')
def remainder(self, other):
    check_divisor(np.asarray(self), other, "remainder")
    rest = np.fmod(self, other)
    if rest.dtype.kind == "f":  # as C++ has it: a rest of zero keeps the sign of what was divided
        return np.where((rest != 0) & ((np.asarray(other) < 0) != (rest < 0)), rest + other, rest)
    return np.remainder(self, other)


@op("NotImplemented", other='refuse_derivative("remainder")')
def remainder_base(self, other):
    return ARRAYS["remainder"](*alike(other, self)[::-1])


@op("FmodBackward0", self="grad")
def fmod_scalar(self, other):
    return ARRAYS["fmod"](*alike(self, other))


@op("FmodBackward1", self="grad", other='neg(grad) * div_mode(self, other, "trunc")')
def fmod(self, other):
    check_divisor(self, other, "fmod")
    return np.fmod(self, other)


@op("ClampMinBackward0", self="where(greater_equal(self, min), grad, 0.0)")
def clamp_min(self, min):
    return ARRAYS["clamp_scalar"](self, min)


@op("ClampMaxBackward0", self="where(less_equal(self, max), grad, 0.0)")
def clamp_max(self, max):
    return ARRAYS["clamp_scalar"](self, None, max)


@op("ClampMinBackward1", self="where(greater_equal(self, min), grad, 0.0)", min="where(less(self, min), grad, 0.0)")
def clamp_min_tensor(self, min):
    return larger(self, min)


@op("ClampMaxBackward1", self="where(less_equal(self, max), grad, 0.0)", max="where(greater(self, max), grad, 0.0)")
def clamp_max_tensor(self, max):
    return smaller(self, max)
