"""Refusals that several rows share, in PyTorch's words."""

from __future__ import annotations

from typing import Any

from gviz.numbers import dtypes


def check_one_dtype(first: Any, second: Any, message: str) -> None:
    """Refuse two dtypes that differ, by a message with places for their names."""
    if first.dtype != second.dtype:
        raise RuntimeError(message.format(*(dtypes.of(array.dtype).scalar_name for array in (first, second))))

def check_floats(array: Any, name: str, kernel: str = "") -> None:
    """Refuse a matrix of integers."""
    if array.dtype.kind not in "fc":
        dtype = dtypes.of(array.dtype).scalar_name
        raise RuntimeError(f"{name}: Expected a floating point or complex tensor as input. Got {dtype}")
