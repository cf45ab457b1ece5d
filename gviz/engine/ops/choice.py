"""Choices between values: relu, maximum, minimum, clamp, where, masked_fill."""

from __future__ import annotations

import numpy as np

from gviz.engine.data import dtypes
from gviz.engine.op import composite, op
from gviz.engine.ops.constants import ZERO
from gviz.engine.ops.rows import row


def check_relu(operand):
    """Refuse booleans, of which PyTorch has no relu."""
    if operand.dtype.kind == "b":
        raise RuntimeError("Boolean inputs not supported for relu")


def check_condition(condition, self, other):
    """Refuse a condition that is not made of booleans, and a number that is out of range."""
    if condition.dtype.kind != "b" and condition.dtype.name != "uint8":
        name = dtypes.of(condition.dtype).scalar_name
        raise RuntimeError(f"where expected condition to be a boolean tensor, but got a tensor with dtype {name}")
    for value in (self, other):
        if not isinstance(value, np.ndarray):
            dtypes.number(value, dtypes.result_type(self, other))


@op("ReluBackward0", check=check_relu, self="threshold_backward(grad, result, 0)")
def relu(self):
    return np.maximum(ZERO[self.dtype], self)  # of equal ones numpy takes the second: -0.0 stays


@op("ThresholdBackwardBackward0", grad_output="threshold_backward(grad, self, threshold)", self="zeros_like(grad)")
def threshold_backward(grad_output, self, threshold):
    zero = ZERO[grad_output.dtype]
    return np.where(self <= (threshold or zero), zero, grad_output)  # nan lets the gradient pass


def few(array):
    """Whether the elements are fewer than PyTorch's kernels take at once, by which they choose between zeros of two signs."""
    return array.nbytes < 64


def larger(self, other):
    """The larger of each two; of equal ones the first where they are few, else the second, as numpy does."""
    return np.maximum(other, self) if few(self) else np.maximum(self, other)


def smaller(self, other):
    """The smaller of each two, of equal ones likewise."""
    return np.minimum(other, self) if few(self) else np.minimum(self, other)


HALVED = "masked_fill(where(equal(self, other), grad / 2, grad), {}(self, other), 0)"  # equal elements share the gradient
row("maximum", "MaximumBackward0", larger, self=HALVED.format("less"), other=HALVED.format("greater"))
row("minimum", "MinimumBackward0", smaller, self=HALVED.format("greater"), other=HALVED.format("less"))


@op("ClampBackward1", self="where(within(self, min, max), grad, 0.0)")
def clamp_scalar(self, min=None, max=None):
    if self.dtype.kind != "f":
        self = self.astype(dtypes.result_type(self, *(v for v in (min, max) if v is not None)), copy=False)
    low, high = (None if bound is None else dtypes.number(bound, self.dtype, half=True) for bound in (min, max))
    data = self if low is None else np.maximum(low, self)
    return data.copy() if high is None is low else data if high is None else np.minimum(high, data)


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
    self="clamp_backward_self(grad, self, min, max)",
    min="clamp_backward_min(grad, self, min, max)",
    max="clamp_backward_max(grad, self, min, max)",
)
def clamp_tensor(self, min=None, max=None):
    if self.dtype.kind == "b" and min is not None is not max:
        raise dtypes.no_kernel("clamp_cpu", self.dtype)
    data = self if min is None else larger(self, min)
    return data if max is None else smaller(data, max)


@composite
def clamp_backward_self(grad, self, min, max):
    """The gradient where the value lies between its bounds."""
    above, below = (None if min is None else greater_equal(self, min)), (None if max is None else less_equal(self, max))
    return where(above if below is None else below if above is None else logical_and(above, below), grad, 0.0)


@composite
def clamp_backward_min(grad, self, min, max):
    """The gradient where the lower bound was taken (and is below the upper one)."""
    taken = less(self, min)
    return where(taken if max is None else logical_and(less(min, max), taken), grad, 0.0)


@composite
def clamp_backward_max(grad, self, min, max):
    """The gradient where the upper bound was taken."""
    taken = greater(self, max)
    return where(taken if min is None else logical_or(taken, less(max, min)), grad, 0.0)


@op(
    "WhereBackward0",
    check=check_condition,
    nondiff=("condition",),
    self="where(condition, grad, 0.0)",
    other="where(condition, 0.0, grad)",
)
def where(condition, self, other):
    return np.where(condition, self, other)


@op("MaskedFillBackward0", nondiff=("mask",), promote="none", self="masked_fill(grad, mask, 0)")
def masked_fill(self, mask, value):
    return np.asarray(np.where(mask, dtypes.number(value, self.dtype, half=True), self), order="C")
