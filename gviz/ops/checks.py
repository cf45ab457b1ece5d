"""Refusals that several rows share, in PyTorch's words: of dtypes that differ, or that a kernel of PyTorch's lacks.

Source: the messages are those of PyTorch's native functions.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gviz.autograd.row import everywhere
from gviz.numbers import dtypes
from gviz.numbers.types import Array
from gviz.numbers.words import refuse

everywhere(refuse)

def check_one_dtype(first: Array, second: Array, message: str) -> None:
    """Refuse two dtypes that differ, by a message with places for their names."""
    if first.dtype != second.dtype:
        raise RuntimeError(message.format(*(dtypes.of(array.dtype).scalar_name for array in (first, second))))

def lacks(kernel: str, kinds: str = "biu", message: str = "") -> Any:
    """Return the check of a row whose kernel PyTorch has not for these numbers: if all are booleans ("b") or integers."""
    def check(*operands: object) -> None:
        for value in operands:
            if value is not None and np.asarray(value).dtype.kind not in kinds:
                return
        raise RuntimeError(message) if message else dtypes.no_kernel(kernel, np.asarray(operands[0]).dtype)
    return refusing(kinds)(check)

def refusing(kinds: str) -> Any:
    """Say of a check that it refuses these kinds of numbers alone: a call of others can do without it."""
    def mark(check: Any) -> Any:
        check.refused = kinds
        return check
    return mark

@everywhere
def check_square(array: Array, name: str, square: bool = True) -> None:
    """Refuse what is not a matrix, or batch of them; and (unless told not to) one with other rows than columns."""
    refuse(len(array.shape) < 2, f"{name}: The input tensor A must have at least 2 dimensions.")
    refuse(square and array.shape[-2] != array.shape[-1], f"{name}: A must be batches of square matrices, but they are "
           "{} by {} matrices".format(*array.shape[-2:]))

def check_floats(array: Array, name: str) -> None:
    """Refuse a matrix of integers."""
    refuse(array.dtype.kind not in "fc",
           f"{name}: Expected a floating point or complex tensor as input. Got {dtypes.of(array.dtype).scalar_name}")
