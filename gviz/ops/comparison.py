"""Comparison, logic and bits: their results have no gradient.

Source: PyTorch's native_functions.yaml, BinaryOps.cpp and TensorCompare.cpp.
"""

from __future__ import annotations

import numpy as np

from gviz.ops.rows import TENSORS, brief, check_one_dtype, dtypes, lacks, op, public_names, refuse, row

BOTH = ("self", "other")

def as_number(compare):
    return lambda self, other: compare(self, other).astype(self.dtype)

def ordered(name, compare):
    """Return the function that compares operands which have an order: complex numbers have none."""
    def compared(self, other):
        if np.iscomplexobj(self) or np.iscomplexobj(other):
            raise dtypes.no_kernel(f"{name}_cpu", dtypes.result_type(self, other))
        return compare(self, other)
    return compared

for key, short, sign in (
    ("equal", "eq", "=="), ("not_equal", "ne", "!="), ("less", "lt", "<"), ("less_equal", "le", "<="), ("greater", "gt", ">"),
    ("greater_equal", "ge", ">="),
):
    compare, long = getattr(np, key), "" if key == "equal" else key
    compare = compare if short in ("eq", "ne") else ordered(short, compare)
    row(key, None, compare, f"{short} {long} {sign}", takes_number="other", nondiff=BOTH, promote="pointwise")
    words, node = f".{short}_ {long and f'.{long}_'}", f"{short.title()}Backward"
    flat = {"promote": "none", "grad_kinds": "biufcV", "self": "zeros_like(grad)"}
    row(f"{short}_tensor_", f"{node}1", as_number(compare), words, **flat, other="zeros_like(grad)")
    row(f"{short}_", f"{node}0", as_number(compare), words, **flat)
for name in ("logical_and", "logical_or", "logical_xor"):
    row(name, None, getattr(np, name), f"{name} .{name}_", nondiff=BOTH)
for name in ("isnan", "isinf", "isfinite", "signbit"):
    row(name, None, getattr(np, name), name, nondiff=("self",))
row("logical_not", None, np.logical_not, "logical_not .logical_not_", nondiff=("self",))
row("isposinf", None, lambda self: np.isposinf(self), "isposinf", nondiff=("self",),
    check=lacks("", "c", "isposinf does not support complex inputs."))
row("isneginf", None, lambda self: np.isneginf(self), "isneginf", nondiff=("self",),
    check=lacks("", "c", "isneginf does not support complex inputs."))
@op(None, "isclose", nondiff=BOTH, check=lambda self, other: check_one_dtype(self, other, "{} did not match {}"))
def isclose(self, other, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False):
    return np.isclose(self, other, rtol, atol, equal_nan)
@public_names("allclose")
def allclose(self, other, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False):
    return bool(TENSORS["isclose"](self, other, rtol, atol, equal_nan)._array.all().item())
public_names("equal")(lambda self, other: bool(np.array_equal(self._array, other._array)))
public_names("is_same_size")(lambda self, other: self._array.shape == other._array.shape)

# ------------------------------------------------------------------ bits
for key, sign, forward in (
    ("bitwise_and", "& r& &= {0} .{0}_", np.bitwise_and), ("bitwise_or", "| r| |= {0} .{0}_", np.bitwise_or),
    ("bitwise_xor", "^ r^ ^= {0} .{0}_", np.bitwise_xor),
    ("lshift", "<< <<= bitwise_left_shift .bitwise_left_shift_", np.left_shift),
    ("rshift", ">> >>= bitwise_right_shift .bitwise_right_shift_", np.right_shift),
):
    row(key, None, forward, sign.format(key), takes_number=True, nondiff=BOTH, promote="pointwise",
        check=lacks(f"{key}_cpu", "b" if key.endswith("shift") else ""))
row("bitwise_not", None, np.invert, "bitwise_not .bitwise_not_", nondiff=("self",))
public_names("~x")(lambda self: refuse(
    self._array.dtype.kind not in "biu", "~ (operator.invert) is only implemented on integer and Boolean-type tensors", TypeError)
    or TENSORS["bitwise_not"](self))
brief("r<<", lambda self, other: lshift(other, self), other="Operand")
brief("r>>", lambda self, other: rshift(other, self), other="Operand")
