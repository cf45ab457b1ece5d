"""Copies, casts and fills: what writes or makes memory without computing."""

from __future__ import annotations

import numpy as np

from gviz.engine.dtypes import number
from gviz.engine.op import ARRAYS, PASS, TENSORS, composite, op
from gviz.engine.text import broadcast_shape


@op("CloneBackward0", self=PASS)
def clone(self):
    return np.array(self, order="C" if 0 in self.strides else "K")


@op("CloneBackward0", self=PASS)
def clone_contiguous(self):
    return np.array(self, order="C")


@op("CopyBackwards", promote="none", self=lambda grad: zeros_like(grad), src=PASS)
def copy_into(self, src):
    result = np.empty(broadcast_shape(self.shape, src.shape), self.dtype)
    result[...] = src
    return result


@op("FillBackward2", self=lambda grad: zeros_like(grad))
def fill(self, value):
    return np.full_like(self, number(value, self.dtype))


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


@composite
def cast_like(value, other):
    """The value in the dtype of another one: itself, where it has it."""
    return value if value.dtype == other.dtype else to_dtype(value, getattr(other.dtype, "np", other.dtype))


@op(None, nondiff=("self",))
def zeros_like(self):
    return np.zeros_like(self)


@op(None, nondiff=("self",))
def zeros_of(self, size):
    return np.zeros(size, self.dtype)


def overwritten_array(value, operation, operand, part=()):
    """An array that an operation was done to in place: to all of it or to a part, which is told by a view's row and options."""
    if not part:
        return ARRAYS[operation](value, operand)
    piece = ARRAYS[part[0]](value, *part[1:])
    piece[...] = ARRAYS[operation](piece, operand)
    return value


def overwritten_tensor(value, operation, operand, part=()):
    """The same, recorded as the in-place change that it is in PyTorch."""
    from gviz.engine.inplace import in_place

    in_place(TENSORS[operation], TENSORS[part[0]](value, *part[1:]) if part else value, operand)
    return value


ARRAYS["overwritten"], TENSORS["overwritten"] = overwritten_array, overwritten_tensor
