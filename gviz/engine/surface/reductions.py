"""Reductions and softmax: over everything or along dims, which row each call form means."""

from __future__ import annotations

from operator import index
from typing import Any

from gviz.numbers import dtypes
from gviz.autograd.row import TENSORS as call
from gviz.engine.surface.conversion import to
from gviz.autograd.tensor import Tensor

UNSET: Any = object()
"""The default of a dim that may be None: ``sum(x, None)`` is another row than ``sum(x)``."""


def typed(input: Tensor, dtype: Any) -> Tensor:
    """The input in the dtype that the result is asked for."""
    return input if dtype is None else to(input, dtype)


def dtype_of(dtype: Any) -> Any:
    """The dtype that the result is asked for, as numpy has it."""
    return None if dtype is None else dtypes.as_dtype(dtype).np


def as_dims(dim: Any) -> tuple[int, ...]:
    """One dim or several as a tuple, as PyTorch saves them."""
    if dim.__class__ is int:
        return (dim,)
    return tuple(dim) if isinstance(dim, list | tuple) else (index(dim),)


def softmax(input: Tensor, dim: int, dtype: Any = None) -> Tensor:
    """Exponentials that sum to one along ``dim``."""
    return call["softmax_row"](typed(input, dtype), dim)


def log_softmax(input: Tensor, dim: int, dtype: Any = None) -> Tensor:
    """The logarithm of :func:`softmax`, computed stably."""
    return call["log_softmax_row"](typed(input, dtype), dim)


BOTH: dict[str, Any] = {}
