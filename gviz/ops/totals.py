"""Sums, products and means of arrays, computed here rather than by numpy's methods.

What overflows is infinite, and what is empty is nan, without a word, as in PyTorch: numpy's methods warn from a module of
numpy's own, which the engine does not silence; these are the same reductions, called from here.
"""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["add_up", "average", "fused", "multiply_up"]

ADD: Any = np.add.reduce  # numpy's types tell keepdims=True and False apart, which here is not known before it runs
MULTIPLY: Any = np.multiply.reduce


def add_up(array: Any, axis: Any = None, *, keepdims: bool = False, dtype: Any = None) -> Any:
    """The sum along axes, or of everything; in a dtype where it is told, which numpy widens where it is small."""
    total = np.asarray(ADD(array, axis=axis, keepdims=keepdims), order="C")
    return total if dtype is None else total.astype(dtype)


def multiply_up(array: Any, axis: Any = None, *, keepdims: bool = False, dtype: Any = None) -> Any:
    """The product along axes, or of everything; in a dtype where it is told, which numpy widens where it is small."""
    total = np.asarray(MULTIPLY(array, axis=axis, keepdims=keepdims), order="C")
    return total if dtype is None else total.astype(dtype)


def average(array: Any, axis: Any = None, *, keepdims: bool = False) -> Any:
    """The mean along axes, or of everything; of half numbers added up in single precision, as numpy does."""
    kind = array.dtype
    total = np.asarray(ADD(array, axis=axis, keepdims=keepdims, dtype=np.float32 if kind == np.float16 else kind), order="C")
    count = array.size // max(total.size, 1) if total.size else 1
    return np.asarray(total / kind.type(count) if kind != np.float16 else total / np.float32(count)).astype(kind, copy=False)


def fused(factor: Any, array: Any, term: Any) -> Any:
    """``factor * array + term``, rounded once, as in the kernels of PyTorch: of single precision, computed in double."""
    if array.dtype != np.float32:
        return factor * array + term
    return (np.multiply(factor, array, dtype=np.float64) + term).astype(np.float32)
