"""Rounding and division with rounding: floor, round, remainder, fmod, floor division. Their own derivative is zero or one.

Source: PyTorch's derivatives.yaml, and UnaryOps.cpp and BinaryOps.cpp.
"""

from __future__ import annotations

import numpy as np

from gviz.ops.arithmetic import alike
from gviz.ops.rows import ARRAYS, NO_CLAMP, brief, dtypes, each_of, formula, lacks, no_kernel, op, refuse, row

FLAT = "zeros_like(grad)"
for key, names, forward in (
    ("floor", "floor floor_", np.floor), ("ceil", "ceil ceil_", np.ceil), ("trunc", "trunc fix trunc_ fix_", np.trunc),
    ("round_even", "round round_", lambda self: np.rint(self) if self.dtype.kind == "f" else self),
):
    name = key.partition("_")[0]
    row(key, f"{name.title()}Backward0", forward, names, self=FLAT, check=each_of(
        lacks(f"{name}_vml_cpu", "bc" if name == "round" else "b"),
        lacks("", "c", f"{name} is not supported for complex inputs", NotImplementedError)))
row("frac", "FracBackward0", lambda self: self - np.trunc(self), "frac frac_", check=lacks("frac_cpu"), self="grad")
@op("RoundBackward1", "round round_ special.round", check=lacks("round_cpu"), self=FLAT)
def round_decimals(self, *, decimals: int = 0):
    return np.round(self, decimals)

# ------------------------------------------------------------------ quotients
@op("DivBackward2", "div divide .div_ .divide_", takes_number=True, rounding="wide",
    self="grad / other if rounding_mode is None else zeros_like(grad)",
    other="div_backward_other(grad, self, other) if rounding_mode is None else zeros_like(grad)")
def div_mode(self, other, *, rounding_mode: str | None):
    refuse(rounding_mode not in (None, "trunc", "floor"),
           f"div expected rounding_mode to be one of None, 'trunc', or 'floor' but found '{rounding_mode}'")
    if rounding_mode is None:
        return np.true_divide(self, other)
    check_divisor(f"div_{rounding_mode}_cpu", self, other)
    return np.floor_divide(self, other) if rounding_mode == "floor" else np.trunc(self / other).astype(self.dtype, copy=False)

@op("NotImplemented", "floor_divide .floor_divide_ // //=", takes_number=True, rounding="wide",
    self__other='refuse_derivative("floor_divide")')
def floor_divide(self, other):
    check_divisor("div_floor_cpu", self, other)
    return np.floor_divide(self, other)

def check_divisor(kernel, self, other):
    if (common := np.result_type(self, other)).kind in "bc":
        raise no_kernel(kernel, common)
    refuse(self.dtype.kind in "iu" and not np.all(other), "ZeroDivisionError")
formula("refuse_derivative", lambda name: refuse(True, f"derivative for aten::{name} is not implemented"))
formula("not_in_engine", lambda what:
    refuse(True, f"{what} are not in gviz's engine; run with --engine torch", NotImplementedError))
formula("not_implemented", lambda name:
    refuse(True, f"the derivative for '{name}' is not implemented.", NotImplementedError))

# ------------------------------------------------------------------ remainders
def rest(self, other):
    """Return what division towards minus infinity leaves; as in C++ a rest of zero keeps the sign of what was divided."""
    check_divisor("remainder_cpu", self, other)
    if self.dtype.kind != "f":
        return np.remainder(self, other)
    remainder = np.fmod(self, other)
    return np.where((remainder != 0) & ((other < 0) != (remainder < 0)), remainder + other, remainder)

def towards_zero(self, other):
    check_divisor("fmod_cpu", self, other)
    return np.fmod(self, other)

row("remainder", "RemainderBackward1", rest, "remainder .remainder_ % %=",
    self="grad", other='neg(grad) * div_mode(self, other, "floor")')
row("remainder_scalar", "RemainderBackward0", lambda self, other: rest(*alike(self, other)), "remainder .remainder_ % %=",
    rounding="first", self="grad")
row("remainder_base", "NotImplemented", lambda self, other: rest(*alike(other, self)[::-1]), "remainder",
    rounding="first", other='refuse_derivative("remainder")')
row("fmod", "FmodBackward1", towards_zero, "fmod .fmod_", self="grad", other='neg(grad) * div_mode(self, other, "trunc")')
row("fmod_scalar", "FmodBackward0", lambda self, other: towards_zero(*alike(self, other)), "fmod .fmod_", rounding="first", self="grad")
brief("r%", lambda self, other: remainder_base(other, self), other="Operand")
brief("r//", lambda self, other: floor_divide(other, self), other="Operand")

# ------------------------------------------------------------------ one bound
row("clamp_min_tensor", "ClampMinBackward1", lambda self, min: np.maximum(self, min), "clamp_min clamp_min_",
    check=lacks("maximum_cpu", "c"), self="where(greater_equal(self, min), grad, 0.0)", min="where(less(self, min), grad, 0.0)")
row("clamp_max_tensor", "ClampMaxBackward1", lambda self, max: np.minimum(self, max), "clamp_max clamp_max_",
    check=lacks("minimum_cpu", "c"), self="where(less_equal(self, max), grad, 0.0)", max="where(greater(self, max), grad, 0.0)")
row("clamp_min", "ClampMinBackward0", lambda self, min: ARRAYS["clamp_scalar"](self, min), "clamp_min clamp_min_",
    check=NO_CLAMP, self="where(greater_equal(self, min), grad, 0.0)")
row("clamp_max", "ClampMaxBackward0", lambda self, max: ARRAYS["clamp_scalar"](self, None, max), "clamp_max clamp_max_",
    check=NO_CLAMP, self="where(less_equal(self, max), grad, 0.0)")

# ------------------------------------------------------------------ divisors
for key, ufunc in (("gcd", np.gcd), ("lcm", np.lcm)):
    row(key, None, ufunc, f"{key} {key}_", nondiff=("self", "other"), check=lacks(f"{key}_cpu", "bfce"))

# ------------------------------------------------------------------ the numbers that integers would stand for
def quantized(self, scale, zero_point, quant_min, quant_max):
    """Return the numbers that integers of so many steps stand for, and where the steps did not go beyond the bounds."""
    refuse(quant_min > quant_max, "`quant_min` should be less than or         equal to `quant_max`.")
    scale, zero_point = np.asarray(scale, self.dtype), np.asarray(zero_point, self.dtype)
    refuse(np.any((zero_point < quant_min) | (zero_point > quant_max)),
           "`zero_point` must be between `quant_min` and `quant_max`.")
    steps = np.rint(self * (1 / scale)) + zero_point
    return (np.clip(steps, quant_min, quant_max) - zero_point) * scale, (steps >= quant_min) & (steps <= quant_max)

NODE, PER_TENSOR = "FakeQuantizePer{}AffineCachemask{}Backward0", "torch.fake_quantize_per_tensor_affine"
PASSED = {"extras": ("mask",), "self": "where(mask, grad, 0.0)", "promote": "none"}
@op(NODE.format("Tensor", "TensorQparams"), PER_TENSOR, nondiff=("scale", "zero_point"), **PASSED)
def fake_quantize_by_tensors(self, scale, zero_point, quant_min: int, quant_max: int):
    return quantized(self, scale, zero_point, quant_min, quant_max)
@op(NODE.format("Tensor", ""), PER_TENSOR, **PASSED)
def fake_quantize(self, scale: float, zero_point: int, quant_min: int, quant_max: int):
    return quantized(self, scale, zero_point, quant_min, quant_max)
@op(NODE.format("Channel", ""), "torch.fake_quantize_per_channel_affine", nondiff=("scale", "zero_point"), **PASSED)
def fake_quantize_channels(self, scale, zero_point, axis: int, quant_min: int, quant_max: int):
    kind = dtypes.of(zero_point.dtype).scalar_name
    refuse(kind not in ("Int", "Float", "Half"), f"Zero-point must be Int32, Float or Half, found {kind}")
    refuse(not scale.size == zero_point.size == self.shape[axis],
           "dimensions of scale and zero-point are not consistent with input tensor")
    sizes = [-1 if i == axis % self.ndim else 1 for i in range(self.ndim)]
    return quantized(self, scale.reshape(sizes), zero_point.reshape(sizes), quant_min, quant_max)
