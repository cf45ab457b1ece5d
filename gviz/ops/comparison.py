"""Comparison and logic: their results are booleans and have no gradient."""

from __future__ import annotations

import numpy as np

from gviz.numbers.dtypes import result_type
from gviz.ops.rows import row

BOTH = ("self", "other")


def as_number(compare):
    """A comparison whose truth is a number in the dtype of the first operand: what its in-place form writes."""
    return lambda self, other: compare(*(np.asarray(v).astype(result_type(self, other)) for v in (self, other))).astype(self.dtype)


for key, short, sign in (
    ("equal", "eq", "=="), ("not_equal", "ne", "!="), ("less", "lt", "<"), ("less_equal", "le", "<="), ("greater", "gt", ">"),
    ("greater_equal", "ge", ">="),
):  # fmt: skip
    compare, node, long = getattr(np, key), short.title(), "" if key == "equal" else key
    row(key, None, compare, f"{short} {long} {sign}", numbers=True, nondiff=BOTH, promote="pointwise")
    flat = {"promote": "none", "self": "zeros_like(grad)"}
    row(f"{short}_", f"{node}Backward0", as_number(compare), **flat)
    row(f"{short}_tensor_", f"{node}Backward1", as_number(compare), **flat, other="zeros_like(grad)")
for name in ("logical_and", "logical_or", "logical_xor"):
    row(name, None, getattr(np, name), name, nondiff=BOTH)
for name in ("logical_not", "isnan", "isinf", "isfinite"):
    row(name, None, getattr(np, name), name, nondiff=("self",))
