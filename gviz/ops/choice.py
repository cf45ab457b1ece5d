"""Choices between values: relu, maximum, minimum, clamp, where, masked_fill.

Source: PyTorch's derivatives.yaml, and TensorCompare.cpp.
"""

from __future__ import annotations

import numpy as np

from gviz.ops.rows import (
    NO_CLAMP,
    brief,
    broadcast_shape,
    check_one_dtype,
    composite,
    dtypes,
    each_of,
    formula,
    lacks,
    op,
    refuse,
    row,
    warn,
)

row("relu", "ReluBackward0", lambda self: np.maximum(0, self), "relu relu_ F.relu F.relu_", inplace=True,
    check=each_of(NO_CLAMP, lacks("relu", "b", "Boolean inputs not supported for relu")),
    self="threshold_backward(grad, result, 0)")

@op("ThresholdBackwardBackward0", grad_output="threshold_backward(grad, self, threshold)", self="zeros_like(grad)")
def threshold_backward(grad_output, self, threshold):
    """Return the gradient where the input is above the threshold, and where it is nan; else zero."""
    bits = np.dtype(f"i{grad_output.dtype.itemsize}")  # all of a gradient's bits or none: a choice of chance is slow
    passes = np.asanyarray(~(self <= threshold)).astype(bits)
    return (grad_output.view(bits) & np.negative(passes, out=passes)).view(grad_output.dtype)

# ------------------------------------------------------------------ the larger and the smaller
HALVED = "masked_fill(where(equal(self, other), grad / 2, grad), {}(self, other), 0)"  # equal elements share the gradient
UNORDERED = "{} not implemented for complex tensors."
for name, no, yes in (("max", "less", "greater"), ("min", "greater", "less")):
    row(f"{name}imum", f"{name.title()}imumBackward0", getattr(np, f"{name}imum"), f"{name} {name}imum",
        check=lacks("", "c", UNORDERED.format(f"{name}imum")), self=HALVED.format(no), other=HALVED.format(yes))
    taken = f"first_is({yes}_equal, self, other)"
    row(f"f{name}", f"F{name}Backward0", getattr(np, f"f{name}"), f"f{name}", check=lacks("", "c", UNORDERED.format(f"f{name}")),
        self=f"masked_fill(grad, logical_not({taken}), 0)", other=f"masked_fill(grad, {taken}, 0)")
row("heaviside", "NotImplemented", lambda self, values: np.where(self == 0, values, self > 0).astype(self.dtype, copy=False),
    "heaviside .heaviside_", check=each_of(
        lacks("", "c", "heaviside is not yet implemented for complex tensors."), lambda self, values:
        check_one_dtype(self, values, "heaviside is not yet implemented for tensors with different dtypes.")),
    self__values='refuse_derivative("heaviside")')
formula("first_is", lambda compare, self, other: logical_or(compare(self, other), isnan(other)))

# ------------------------------------------------------------------ clamp
def bounded(array, low, high):
    data = array if low is None else np.maximum(low, array)
    return data if high is None else np.minimum(high, data)

@op("ClampBackward0", "clamp clip clamp_ clip_", promote="pointwise", check=NO_CLAMP,
    self="clamp_backward_self(grad, self, min, max)",
    min="clamp_backward_min(grad, self, min, max)", max="clamp_backward_max(grad, self, min, max)")
def clamp_tensor(self, min: Tensor | None = None, max: Tensor | None = None):
    refuse(min is None is max, "torch.clamp: At least one of 'min' or 'max' must not be None")
    lacks("clamp_cpu", "" if min is None or max is None else "b")(self)
    return bounded(self, min, max)
@op("ClampBackward1", "clamp clip clamp_ clip_", check=NO_CLAMP, rounding="none", self="clamp_backward_self(grad, self, min, max)")
def clamp_scalar(self, min: Number | None = None, max: Number | None = None):
    if self.dtype.kind not in dtypes.FLOATS:
        self = self.astype(dtypes.result_type(self, *(v for v in (min, max) if v is not None)), copy=False)
    low, high = (None if bound is None else dtypes.number(bound, self.dtype) for bound in (min, max))
    return bounded(self, low, high)
@composite
def clamp_backward_self(grad, self, min, max):
    above, below = (None if min is None else greater_equal(self, min)), (None if max is None else less_equal(self, max))
    return where(above if below is None else below if above is None else logical_and(above, below), grad, 0.0)
formula("clamp_backward_min", lambda grad, self, min, max:
    where(less(self, min) if max is None else logical_and(less(min, max), less(self, min)), grad, 0.0))
formula("clamp_backward_max", lambda grad, self, min, max:
    where(greater(self, max) if min is None else logical_or(greater(self, max), less(max, min)), grad, 0.0))

# ------------------------------------------------------------------ by a mask
def check_condition(condition, self, other):
    if condition.dtype == np.uint8:
        warn("where received a uint8 condition tensor. This behavior is deprecated and will be removed in a future version of "
             "PyTorch. Use a boolean condition instead.")
    elif condition.dtype.kind != "b":
        name = dtypes.of(condition.dtype).scalar_name
        raise RuntimeError(f"where expected condition to be a boolean tensor, but got a tensor with dtype {name}")

@op("WhereBackward0", "torch.where", takes_number=True, check=check_condition, nondiff=("condition",),
    self="where(condition, grad, 0.0)", other="where(condition, 0.0, grad)")
def where(condition: Tensor, self, other):
    return np.where(condition, self, other)
brief(".where", lambda self, condition, other: where(condition, self, other), key="where_method", other="Operand")
brief("torch.where", lambda condition: unbind(nonzero(atleast(condition, 1)), 1), "nonzero_places")

def fill_where(self, mask, value):
    broadcast_shape(mask.shape, self.shape)
    refuse(mask.dtype.kind != "b",
           f"masked_fill_ only supports boolean masks, but got mask with dtype {dtypes.of(mask.dtype).c_name}")
    return np.asanyarray(np.where(mask, dtypes.number(value, self.dtype), self), order="C")

@op("MaskedFillBackward1", "masked_fill .masked_fill_", nondiff=("mask",), promote="none", rounding="none",
    self="masked_fill(grad, mask, 0)", value="sum_all(masked_select(grad, mask))")
def masked_fill_tensor(self, mask, value):
    refuse(value.ndim, "masked_fill_ only supports a 0-dimensional value tensor, "
           f"but got tensor with {value.ndim} dimension(s).")
    return fill_where(self, mask, value.item())
row("masked_fill", "MaskedFillBackward0", lambda self, mask, value: fill_where(self, mask, value), "masked_fill .masked_fill_",
    nondiff=("mask",), promote="none", rounding="none", self="masked_fill(grad, mask, 0)")
