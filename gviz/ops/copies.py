"""Copies, casts and fills: what writes or makes memory without computing.

Source: PyTorch's derivatives.yaml, and Copy.cpp and TensorConversions.cpp.
"""

from __future__ import annotations

import numpy as np

from gviz.autograd.inplace import in_place
from gviz.ops.rows import ARRAYS, TENSORS, broadcast_shape, composite, number, op, refuse, row, warn_once

row("clone_contiguous", "CloneBackward0", lambda self: self.copy(), self="grad")
row("zero", "ZeroBackward0", lambda self: repeated(0, self), "zero_", self="zeros_like(grad)")
row("undefined_grad", "UndefinedGradBackward", lambda self: self.copy(), self="None")
row("zeros_like", None, lambda self: np.zeros_like(self), nondiff=("self",))
row("zeros_of", None, lambda self, size: np.zeros(size, self.dtype), nondiff=("self",))
row("ones_of", None, lambda self, size: np.ones(size, self.dtype), nondiff=("self",))
row("whole", None, lambda self, one: np.full_like(self, number(one, self.dtype)), nondiff=("self",))
row("scalar_like", None, lambda self, value: np.asarray(value, self.dtype), nondiff=("self",))
row("least", None, lambda self: np.asarray(np.finfo(self.dtype).min, self.dtype), nondiff=("self",))
row("counted", None, lambda self, other: self.astype(other.dtype), nondiff=("self", "other"), promote="none")
@op("CloneBackward0", "clone", self="grad")
def clone(self, *, memory_format: Format = None):
    return self.copy("C" if memory_format is not None or 0 in self.strides else "K")

row("delayed_error", "Error", lambda tensors, message: [one if one is None else one.copy() for one in tensors],
    lists=("tensors",), outputs=("...",), promote="none", hidden=("message",), tensors="refuse(True, message)")

def repeated(value, array):
    return np.broadcast_to(np.asanyarray(value).astype(array.dtype), array.shape)

@op("FillBackward3", "fill_", promote="none", rounding="none", self="zeros_like(grad)", value="sum_all(grad)")
def fill_tensor(self, value):
    refuse(value.ndim, f"fill_ only supports 0-dimension value tensor but got tensor with {value.ndim} dimensions.")
    return np.full_like(self, value)
row("fill", "FillBackward2", lambda self, value: repeated(number(value, self.dtype, is_alone=self.size == 1), self), "fill_",
    rounding="none", self="zeros_like(grad)")
@op("CopyBackwards", ".copy_", grad_kinds="fcV?", promote="none", takes_number="other", self="zeros_like(grad)", other="grad")
def copy_into(self, other, non_blocking: bool = False):
    other = np.asanyarray(other)
    result = np.empty_like(self, order="C", shape=broadcast_shape(self.shape, other.shape))
    result[...] = real_of(other, self.dtype)
    return result

def real_of(array, kind):
    """Return the real parts of complex numbers that are to be real, and say so once; all else as it is."""
    if array.dtype.kind != "c" or np.dtype(kind).kind in "cb":
        return array
    warn_once("Casting complex values to real discards the imaginary part")
    return array.real

row("to_dtype", "ToCopyBackward0", lambda self, dtype:
    real_of(self, dtype).astype(dtype, order="C" if 0 in self.strides else "K"),
    grad_kinds="fcV?", promote="none", hidden=("self_sym_dtype",), self="to_dtype(grad, self_sym_dtype)")
@composite
def cast_like(value, other):
    """The value in the dtype of another one, or in that dtype: itself, where it has it."""
    have, kind = [getattr(kind, "np", kind) for kind in (value.dtype, getattr(other, "dtype", other))]
    return value if have == kind else to_dtype(value, kind)

def overwritten_array(value, operation, *operands, part=()):
    """Do an operation in place: to all of an array, or to the part that a view's row and options give."""
    if not part:
        return ARRAYS[operation](value, *operands)
    piece = ARRAYS[part[0]](value, *part[1:])
    piece[...] = ARRAYS[operation](piece, *operands)
    return value

def overwritten_tensor(value, operation, *operands, part=()):
    """Do the same to a tensor, recorded as the in-place change that it is in PyTorch."""
    in_place(TENSORS[operation], TENSORS[part[0]](value, *part[1:]) if part else value, *operands)
    return value

ARRAYS["overwritten"], TENSORS["overwritten"] = overwritten_array, overwritten_tensor
@composite
def multiplied(value, *factors):
    for factor in factors:
        value = value if factor is None else overwritten(value, "mul", factor)
    return value
