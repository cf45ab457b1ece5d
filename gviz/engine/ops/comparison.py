"""Comparison and logic: their results are booleans and have no gradient."""

from __future__ import annotations

import numpy as np

from gviz.engine.ops.rows import row

BOTH = ("self", "other")

for name in ("equal", "not_equal", "less", "less_equal", "greater", "greater_equal"):
    row(name, None, getattr(np, name), nondiff=BOTH, promote="pointwise")
for name in ("logical_and", "logical_or", "logical_xor"):
    row(name, None, getattr(np, name), nondiff=BOTH)
for name in ("logical_not", "isnan", "isinf", "isfinite"):
    row(name, None, getattr(np, name), nondiff=("self",))
