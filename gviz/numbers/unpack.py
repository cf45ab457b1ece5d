"""Python data to an array, as ``torch.tensor`` does it: numbers, nested sequences of them, numpy arrays."""

from __future__ import annotations

from functools import reduce
from itertools import chain
from typing import Any

import numpy as np

from gviz.numbers.classes import MIXED, is_pytorchs, type_text
from gviz.numbers.dtypes import NARROW, cast, dtype, get_default_dtype, number, number_type, of, promote
from gviz.numbers.types import Array
from gviz.numbers.words import refuse, warn

MAX_DIMS = 64
"""Dimensions that an array can have: numpy's limit."""
SMALL, LARGE = 1e-37, 1e38
"""Amounts that all others hold, so that nothing is to be silenced where they are stored."""
PLAIN = frozenset({bool, int, float, complex})
OF_KIND: dict[str, Any] = {"b": bool, "i": int, "u": int, "f": float, "V": float, "c": complex}
"""Python's type of number for each kind of numpy's dtypes."""


def infer(data: object, dtype: np.dtype[Any] | None = None) -> Array:
    """Return the array that ``torch.tensor(data)`` holds; always a new one.

    Args:
        data: a number, a sequence of sequences of numbers (any depth up to :data:`MAX_DIMS`), or a numpy array. Tensors
            may be
            among the numbers: what has an element type as its ``dtype`` is one.
        dtype: the element type; else Python floats get the default type, integers int64, bools bool, numpy arrays and
            numbers keep theirs, and several in one sequence are promoted.

    Raises:
        ValueError, TypeError, RuntimeError, OverflowError: data is ragged, not numbers, or does not fit; PyTorch's
            texts.

    >>> infer([[1, 2.5]])
    array([[1. , 2.5]], dtype=float32)
    """
    is_plain = data.__class__ is float and dtype is None and (not data or SMALL < abs(data) < LARGE)
    if is_plain and get_default_dtype().np not in NARROW:
        return np.array(data, get_default_dtype().np)
    if isinstance(data, np.ndarray):
        return np.array(
            cast(check_numpy(data), data.dtype if dtype is None else dtype), order="C" if 0 in data.strides else "K"
        )
    if isinstance(data, list) and data and isinstance(data[0], np.ndarray):
        warn(
            "Creating a tensor from a list of numpy.ndarrays is extremely slow. Please consider converting the list "
            "to a single numpy.ndarray with numpy.array() before converting to a tensor."
        )
    values, sizes = unpacked(data)
    types = set(map(type, values))
    kinds = [number_type(one()) for one in types] if types <= PLAIN else [type_of_number(value) for value in values]
    if not types <= PLAIN:
        values = [OF_KIND[kind.kind](value) for kind, value in zip(kinds, values, strict=True)]
    array_type = dtype if dtype is not None else reduce(promote, kinds) if kinds else get_default_dtype().np
    return stored(values, array_type).reshape(sizes)


def unpacked(data: Any) -> tuple[list[Any], list[int]]:
    """Return the numbers of nested sequences in their order, and the shape."""
    sizes: list[int] = []
    level = [data]
    while level and is_sequence(level[0]):
        if len(sizes) == MAX_DIMS or isinstance(level[0], str | bytes):
            problem = "too many dimensions" if sizes else "new(): invalid data type"
            raise (ValueError if sizes else TypeError)(f"{problem} '{type_text(level[0])}'")
        length = len(level[0])
        for one in level:
            if not is_sequence(one):
                raise TypeError("not a sequence")
            if len(one) != length:
                raise ValueError(f"expected sequence of length {length} at dim {len(sizes)} (got {len(one)})")
        sizes.append(length)
        level = list(chain.from_iterable(level))
    return level, sizes


def is_sequence(value: object) -> bool:
    """Return whether a value can be indexed, and is not a mapping, a numpy number or a tensor."""
    if isinstance(value, list | tuple | str | bytes):
        return True
    refuse(is_pytorchs(type(value)), MIXED, TypeError)
    return hasattr(type(value), "__getitem__") and not isinstance(value, dict | np.generic) and not has_dtype(value)


def has_dtype(value: object) -> bool:
    """Return whether a value is a tensor: it has an element type as its ``dtype``."""
    return isinstance(getattr(value, "dtype", None), dtype)


def type_of_number(value: Any) -> np.dtype[Any]:
    """Return the type of one number: a Python, numpy or 0-d tensor's one; refuse anything else."""
    if isinstance(value, bool | int | float | complex) and not isinstance(value, np.generic):
        return number_type(value)
    if has_dtype(value):
        return value.dtype.np  # type: ignore[no-any-return]
    if isinstance(value, str | bytes):
        raise TypeError(f"new(): invalid data type '{type_text(value)}'")
    if isinstance(value, np.generic):
        return of(value.dtype).np
    refuse(is_sequence(value), f"must be real number, not {type_text(value)}", TypeError)
    raise RuntimeError(f"Could not infer dtype of {type_text(value)}")


def stored(values: list[Any], array_type: np.dtype[Any]) -> Array:
    """Return the array of Python's numbers in a type; refuse a number that it does not hold."""
    if array_type.kind not in "iu":
        return cast(
            np.array(values, {"f": np.float64, "V": np.float64, "c": np.complex128}.get(array_type.kind, array_type)),
            array_type,
        )
    if all(isinstance(value, int) for value in values):
        try:
            array = np.array(values, np.int64)
        except OverflowError:
            raise ValueError("Overflow when unpacking long long") from None
        limits = np.iinfo(array_type)
        if not array.size or limits.min <= array.min() <= array.max() <= limits.max:
            return array.astype(array_type, copy=False)
    return np.array([number(value, array_type, array_type.name) for value in values], array_type)


def check_numpy(array: object) -> Array:
    """Return the array itself.

    Refuse one that cannot share its memory with a tensor: negative strides, another byte order.
    """
    if not isinstance(array, np.ndarray):
        raise TypeError(f"expected np.ndarray (got {type_text(array)})")
    refuse(
        any(stride < 0 for stride in array.strides),
        "At least one stride in the given numpy array is negative, and tensors with negative strides are not "
        "currently supported. (You can probably work around this by making a copy of your array  with "
        "array.copy().) ",
        ValueError,
    )
    refuse(
        not array.dtype.isnative,
        "given numpy array has byte order different from the native byte order. "
        "Conversion between byte orders is currently not supported.",
        ValueError,
    )
    of(array.dtype)
    return array
