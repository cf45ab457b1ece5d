"""Comparison and logic: their results are booleans and have no gradient."""

from __future__ import annotations

import numpy as np

from gviz.engine.data.dtypes import result_type
from gviz.engine.ops.rows import row

BOTH = ("self", "other")


def as_number(compare):
    """A comparison whose truth is a number in the dtype of the first operand: what its in-place form writes."""

    def compared(self, other):
        kind = result_type(self, other)
        return compare(self.astype(kind, copy=False), np.asarray(other).astype(kind)).astype(self.dtype)

    return compared


FLAT = "zeros_like(grad)"
for name, function in {
    "eq": np.equal, "ne": np.not_equal, "lt": np.less, "le": np.less_equal, "gt": np.greater, "ge": np.greater_equal,
}.items():  # fmt: skip
    row(f"{name}_", f"{name.title()}Backward0", as_number(function), promote="none", self=FLAT)
    row(f"{name}_tensor_", f"{name.title()}Backward1", as_number(function), promote="none", self=FLAT, other=FLAT)

for name in ("equal", "not_equal", "less", "less_equal", "greater", "greater_equal"):
    row(name, None, getattr(np, name), nondiff=BOTH, promote="pointwise")
for name in ("logical_and", "logical_or", "logical_xor"):
    row(name, None, getattr(np, name), nondiff=BOTH)
for name in ("logical_not", "isnan", "isinf", "isfinite"):
    row(name, None, getattr(np, name), nondiff=("self",))
