"""Sums, products and means of arrays, without numpy's warnings (which come from a module that the engine does not silence)."""

from __future__ import annotations

from typing import Any

import numpy as np


def totals(reduce: Any) -> Any:
    """Return the function of a reduction along axes, or of everything; in a dtype if one is asked for."""
    def total(array: Any, axis: Any = None, *, keepdims: bool = False, dtype: Any = None) -> Any:
        result = np.asarray(reduce(array, axis=axis, keepdims=keepdims), order="C")
        return result if dtype is None else result.astype(dtype)
    return total

add_up, multiply_up = totals(np.add.reduce), totals(np.multiply.reduce)

def average(array: Any, axis: Any = None, *, keepdims: bool = False) -> Any:
    total = add_up(array, axis, keepdims=keepdims)
    return np.asarray(total / array.dtype.type(array.size // max(total.size, 1)))
