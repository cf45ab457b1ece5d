"""Comparison and logic: their results are booleans and have no gradient."""

from __future__ import annotations

import numpy as np

from gviz.engine.op import op


def question(name, promote, count):
    """A row that asks numpy's function of that name about each element of one tensor, or of two."""
    function = getattr(np, name)

    def ask(self):
        return function(self)

    def compare(self, other):
        return function(self, other)

    op(None, key=name, nondiff=("self", "other")[:count], promote=promote)(ask if count == 1 else compare)


for name in ("equal", "not_equal", "less", "less_equal", "greater", "greater_equal"):
    question(name, "pointwise", 2)
for name in ("logical_and", "logical_or", "logical_xor"):
    question(name, "", 2)
for name in ("logical_not", "isnan", "isinf", "isfinite"):
    question(name, "", 1)
