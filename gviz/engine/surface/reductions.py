"""Reductions and softmax: over everything or along dims, which row each call form means."""

from __future__ import annotations

from operator import index
from typing import Any

from gviz.engine.data import dtypes
from gviz.engine.op import TENSORS as call
from gviz.engine.surface.conversion import to
from gviz.engine.tensor import Tensor

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


def total(name: str) -> Any:
    """``sum`` or ``mean``: of all elements, or along dims."""
    whole, whole_typed, along = f"{name}_all", f"{name}_typed", f"{name}_dim"

    def choose(input: Tensor, dim: Any = UNSET, keepdim: Any = UNSET, *, dtype: Any = None, axis: Any = UNSET) -> Tensor:
        if dtype is not None and name == "mean" and dtypes.as_dtype(dtype).np.kind not in "fc":
            raise RuntimeError(
                "mean(): could not infer output dtype. Optional dtype must be either a floating point or complex dtype. "
                f"Got: {dtypes.as_dtype(dtype).scalar_name}"
            )
        dim = axis if dim is UNSET else dim
        if dim is UNSET:
            if keepdim is not UNSET:
                raise TypeError("keepdim without a dim")
            return call[whole](input) if dtype is None else call[whole_typed](input, dtype_of(dtype))
        keepdim = keepdim is not UNSET and keepdim
        return call[along](input, None if dim is None else as_dims(dim), keepdim, dtype_of(dtype))

    return choose


def extreme(name: str, pairwise: str) -> Any:
    """``max`` or ``min``: of everything, along a dim with indices, or of two tensors."""

    def choose(input: Tensor, dim: Any = None, keepdim: bool = False, *, other: Any = None, axis: Any = None) -> Any:
        dim = axis if dim is None else dim
        if other is not None and (dim is not None or not isinstance(other, Tensor)):
            raise TypeError("a dim and a tensor, or a number")
        if dim is None and keepdim:
            raise TypeError("keepdim without a dim")
        if (isinstance(dim, Tensor) and not keepdim) or other is not None:
            return call[pairwise](input, dim if other is None else other)
        if dim is None:
            return call[f"{name}_all"](input)
        return call[f"{name}_dim"](input, dim if dim.__class__ is int else index(dim), keepdim)

    choose.__name__ = name
    return choose


def softmax(input: Tensor, dim: int, dtype: Any = None) -> Tensor:
    """Exponentials that sum to one along ``dim``."""
    return call["softmax_row"](typed(input, dtype), dim)


def log_softmax(input: Tensor, dim: int, dtype: Any = None) -> Tensor:
    """The logarithm of :func:`softmax`, computed stably."""
    return call["log_softmax_row"](typed(input, dtype), dim)


BOTH: dict[str, Any] = {
    "argmax": "argmax", "argmin": "argmin", "any": "any_of", "all": "all_of",
    "sum": total("sum"), "mean": total("mean"), "max": extreme("max", "maximum"), "min": extreme("min", "minimum"),
    "softmax": softmax, "log_softmax": log_softmax,
}  # fmt: skip
