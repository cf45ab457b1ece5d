"""TensorFlow's dtypes, as names for numpy's."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias, TypeGuard

import numpy as np

if TYPE_CHECKING:
    from numpy import typing as npt  # which is slow to import

Array: TypeAlias = "np.ndarray[Any, np.dtype[Any]]"
ArrayLike: TypeAlias = "npt.ArrayLike"
DTypeLike: TypeAlias = "DType | npt.DTypeLike"
Value: TypeAlias = "Array | np.generic"
"""What a run gives: an array, or a number with numpy's dtype."""


class DType:
    """A type of elements.

    Args:
        name: TensorFlow's, as in ``float32``.
        cpp: the name that messages of a run give it.
        base: for the type of a variable's own tensor, as in ``float32_ref``: what it refers to.
    """

    def __init__(self, name: str, cpp: str = "", base: DType | None = None) -> None:
        self.name = name
        self.cpp = cpp or name
        self.is_ref = base is not None
        self.base_dtype = base or self
        number = self.base_dtype.name
        self.as_numpy_dtype: type[np.generic] = np.dtype(object if number == "string" else number).type
        self.is_floating = number.startswith("float")
        self.is_integer = "int" in number
        self.is_bool = number == "bool"

    @property
    def ref(self) -> DType:
        """Return what a variable's own tensor has."""
        return DType(f"{self.name}_ref", self.cpp, self)

    def __repr__(self) -> str:
        return f"tf.{self.name}"

    def __str__(self) -> str:
        return f"<dtype: '{self.name}'>"

    def __eq__(self, other: object) -> bool:
        try:
            return other is not None and self.name == as_dtype(other).name  # type: ignore[arg-type]
        except TypeError:
            return False

    def __hash__(self) -> int:
        return hash(self.name)


DTYPES = {
    name: DType(name, {"float32": "float", "float64": "double", "float16": "half"}.get(name, ""))
    for name in ("float32", "float64", "int32", "uint8", "int16", "int8", "string", "int64", "bool", "float16")
}

float32, int32, bool_ = DTYPES["float32"], DTYPES["int32"], DTYPES["bool"]

PYTHON = {float: float32, "float": float32, int: int32, bool: bool_, str: DTYPES["string"], bytes: DTYPES["string"]}


def as_dtype(value: DTypeLike) -> DType:
    """Return the dtype of that name, number type or array; TypeError if TensorFlow has none for it."""
    if isinstance(value, DType):
        return value
    if isinstance(value, type | str) and value in PYTHON:
        return PYTHON[value]
    try:
        name = np.dtype(value).name
    except (TypeError, ValueError):
        name = str(value)
    if name not in DTYPES:
        raise TypeError(f"Cannot convert the argument `type_value`: {value!r} to a TensorFlow DType.")
    return DTYPES[name]


def is_array(value: object) -> TypeGuard[Value]:
    """Return whether it is an array of numpy's, or a number with numpy's dtype."""
    return isinstance(value, (np.ndarray, np.generic))


def as_value(value: object, dtype: DType | None) -> Array:
    """Return a Python value as an array: Python's numbers are float32 and int32, arrays keep their dtype or are cast.

    TypeError for a value that does not fit the dtype, or that no dtype has; ValueError for None and for ragged lists.
    """
    if value is None:
        raise ValueError("None values not supported.")
    array = np.asarray(value)
    array = array.astype(object) if array.dtype.kind in "US" else array
    letter = array.dtype.kind
    if is_array(value):
        return array if dtype is None else array.astype(dtype.as_numpy_dtype)
    other = (
        next((one for one in array.ravel().tolist() if not isinstance(one, str | bytes)), None)
        if letter in "uO"
        else None
    )
    if other is not None and not isinstance(other, int):
        raise TypeError(
            f"Failed to convert elements of {value} to Tensor. Consider casting elements to a supported type."
        )
    if other is not None and not (dtype and dtype.is_floating):
        number = str(other) if other.bit_length() < 100 else f"a number of {other.bit_length()} bits"
        raise TypeError(f"{number} is too large for an integer of 64 bits: write it as a float")
    letter = letter if other is None else "u"
    if dtype is None:
        if letter == "i" and array.size and not np.array_equal(array, array.astype(np.int32)):
            return array
        return array.astype(np.float32 if letter == "f" else np.int32) if letter in "fi" else array
    fitting = "b" if dtype.is_bool else "fiub" if dtype.is_floating else "iub" if dtype.is_integer else "O"
    if array.size and letter not in fitting:
        first = array.ravel().tolist()[0]
        raise TypeError(f"Expected {dtype.name}, but got {first!r} of type '{type(first).__name__}'.")
    return array.astype(dtype.as_numpy_dtype)
