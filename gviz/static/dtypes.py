"""TensorFlow's dtypes, as names for numpy's."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["DTYPES", "DType", "as_dtype", "as_value", "bool_", "float32", "int32", "is_array"]


class DType:
    """A type of elements.

    Args:
        name: TensorFlow's, as in ``float32``.
        enum: its number in event files.
        cpp: the name that messages of a run give it.
    """

    def __init__(self, name: str, enum: int, cpp: str = "", *, is_ref: bool = False) -> None:
        self.name = name
        self.as_datatype_enum = enum
        self.cpp = cpp or name
        self.is_ref = is_ref
        base = name.removesuffix("_ref")
        self.as_numpy_dtype: Any = np.dtype(object if base == "string" else base).type
        self.is_floating = base.startswith("float")
        self.is_integer = "int" in base
        self.is_bool = base == "bool"

    @property
    def base_dtype(self) -> DType:
        """Return the type itself, for a reference to a variable."""
        return DTYPES[self.name.removesuffix("_ref")]

    @property
    def ref(self) -> DType:
        """What a variable's own tensor has."""
        return DType(self.name + "_ref", self.as_datatype_enum + 100, self.cpp, is_ref=True)

    def __repr__(self) -> str:
        return f"tf.{self.name}"

    def __str__(self) -> str:
        return f"<dtype: '{self.name}'>"

    def __eq__(self, other: object) -> bool:
        if isinstance(other, DType):
            return self.name == other.name
        try:
            return other is not None and self.name == as_dtype(other).name
        except TypeError:
            return False

    def __hash__(self) -> int:
        return hash(self.name)


DTYPES = {
    name: DType(name, enum, cpp)
    for name, enum, cpp in (
        ("float32", 1, "float"), ("float64", 2, "double"), ("int32", 3, ""), ("uint8", 4, ""), ("int16", 5, ""),
        ("int8", 6, ""), ("string", 7, ""), ("int64", 9, ""), ("bool", 10, ""), ("float16", 19, "half"),
    )
}  # fmt: skip

float32, int32, bool_ = DTYPES["float32"], DTYPES["int32"], DTYPES["bool"]

PYTHON = {float: float32, int: int32, bool: bool_, str: DTYPES["string"], bytes: DTYPES["string"]}


def as_dtype(value: Any) -> DType:
    """Return the dtype of that name, number type or array; TypeError if TensorFlow has none for it."""
    if isinstance(value, DType):
        return value
    if isinstance(value, type) and value in PYTHON:
        return PYTHON[value]
    try:
        name = np.dtype(value).name
    except (TypeError, ValueError):
        name = str(value)
    if name not in DTYPES:
        raise TypeError(f"Cannot convert the argument `type_value`: {value!r} to a TensorFlow DType.")
    return DTYPES[name]


def is_array(value: Any) -> bool:
    """Return whether it is an array of numpy's, or a number with numpy's dtype."""
    return isinstance(value, (np.ndarray, np.generic))


def as_value(value: Any, dtype: DType | None) -> np.ndarray[Any, Any]:
    """Return a Python value as an array: Python's own numbers are float32 and int32, arrays keep their dtype or are cast.

    TypeError for a value that does not fit the dtype, ValueError for None and for ragged lists.
    """
    if value is None:
        raise ValueError("None values not supported.")
    array: np.ndarray[Any, Any] = np.asarray(value)
    array = array.astype(object) if array.dtype.kind in "US" else array
    kind = array.dtype.kind
    if is_array(value):
        return array if dtype is None else array.astype(dtype.as_numpy_dtype)
    if dtype is None:
        if kind == "i" and array.size and not np.array_equal(array, array.astype(np.int32)):
            return array
        return array.astype(np.float32 if kind == "f" else np.int32) if kind in "fi" else array
    fitting = "b" if dtype.is_bool else "fiub" if dtype.is_floating else "iub" if dtype.is_integer else "O"
    if array.size and kind not in fitting:
        first = np.ravel(array)[0]
        first = first.item() if isinstance(first, np.generic) else first
        raise TypeError(f"Expected {dtype.name}, but got {first!r} of type '{type(first).__name__}'.")
    return array.astype(dtype.as_numpy_dtype)
