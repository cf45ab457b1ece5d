"""Refusals that several rows share, in PyTorch's words."""

from __future__ import annotations

from typing import Any

from gviz.numbers import dtypes

__all__ = ["check_floats", "check_one_dtype", "no_norm"]


def check_one_dtype(first: Any, second: Any, message: str) -> None:
    """Refuse two dtypes that differ, by a message with places for their names."""
    if first.dtype != second.dtype:
        raise RuntimeError(message.format(*(dtypes.of(array.dtype).scalar_name for array in (first, second))))


def check_floats(array: Any, name: str, kernel: str = "") -> None:
    """Refuse a matrix of integers."""
    if array.dtype.kind not in "fc":
        dtype = dtypes.of(array.dtype).scalar_name
        raise RuntimeError(f"{name}: Expected a floating point or complex tensor as input. Got {dtype}")


def no_norm(dtype: Any) -> RuntimeError:
    """Return PyTorch's error for a dtype that has no norm."""
    name = dtypes.of(dtype).scalar_name
    return RuntimeError(f"norm(): input dtype should be either floating point or complex. Got {name} instead.")
