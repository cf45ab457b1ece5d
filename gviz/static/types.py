"""The types of values: dtypes as names for numpy's, shapes that may have unknown parts, and nested lists and dicts.

None for a length means unknown; None for a whole shape means that not even the number of dimensions is known.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias, TypeGuard

import numpy as np

from gviz.numbers.words import refuse

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
        self.as_numpy_dtype: type[np.generic] = np.dtype(object if number in ("string", "resource") else number).type
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

RESOURCE = DType("resource")
"""What is no number: a stack."""
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
    name = "string" if name == "object" else name
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
    refuse(value is None, "None values not supported.", ValueError)
    array = np.asarray(value)
    if array.dtype.kind in "USO":
        array = as_bytes(array)
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


def as_bytes(array: Array) -> Array:
    """Return an array of texts, or of other objects, with bytes for each text, as TensorFlow keeps strings."""
    items = [item.encode() if isinstance(item, str) else item for item in array.ravel().tolist()]
    out = np.empty(len(items), object)
    out[:] = items
    return out.reshape(array.shape)


# ------------------------------------------------------------------ shapes
class Dimension(int):
    """A known length of a shape: the number, which TensorFlow 1's programs read as ``value``."""

    value = property(int)
    __str__ = int.__repr__

    def __repr__(self) -> str:
        return f"Dimension({int(self)})"


class UnknownDimension:
    """An unknown length of a shape, whose ``value`` is None."""

    value = None

    def __repr__(self) -> str:
        return "Dimension(None)"

    def __str__(self) -> str:
        return "?"

    def __eq__(self, other: object) -> bool:
        return getattr(other, "value", other) is None

    def __hash__(self) -> int:
        return hash(None)


UNKNOWN = UnknownDimension()

Dims: TypeAlias = "tuple[int | None, ...] | None"
ShapeLike: TypeAlias = "TensorShape | Sequence[int | None] | int | None"


class ClashError(ValueError):
    """Shapes that cannot go together, in TensorFlow's words, but without the node, which the caller knows."""


class TensorShape:
    """The shape of a tensor as far as it is known: None for an unknown length, or for an unknown rank."""

    def __init__(self, dims: ShapeLike) -> None:
        self._dims: Dims = as_shape(dims)

    @property
    def dims(self) -> list[Dimension | UnknownDimension] | None:
        """Return the lengths, None for an unknown rank."""
        return None if self._dims is None else [UNKNOWN if n is None else Dimension(n) for n in self._dims]

    @property
    def rank(self) -> int | None:
        """Return the number of dimensions, None if it is unknown."""
        return None if self._dims is None else len(self._dims)

    ndims = rank

    def as_list(self) -> list[int | None]:
        """Return the lengths; ValueError if the rank is unknown."""
        if self._dims is None:
            raise ValueError("as_list() is not defined on an unknown TensorShape.")
        return list(self._dims)

    def is_fully_defined(self) -> bool:
        """Return whether all lengths are known."""
        return self._dims is not None and None not in self._dims

    def num_elements(self) -> int | None:
        """How many elements there are, None where that is unknown."""
        return None if self._dims is None or None in self._dims else math.prod(n or 0 for n in self._dims)

    def is_compatible_with(self, other: ShapeLike) -> bool:
        """Return whether a tensor could have both shapes."""
        return fits(self._dims, as_shape(other))

    def __iter__(self) -> Iterator[Dimension | UnknownDimension]:
        self.as_list()
        return iter(self.dims or ())

    def __len__(self) -> int:
        return len(self.as_list())

    def __getitem__(self, place: int | slice) -> Any:
        if isinstance(place, slice):
            return TensorShape(None if self._dims is None else self._dims[place])
        return UNKNOWN if self.dims is None else self.dims[place]

    def __eq__(self, other: object) -> bool:
        try:
            return self._dims == as_shape(other)  # type: ignore[arg-type]
        except TypeError:
            return False

    def __hash__(self) -> int:
        return hash(self._dims)

    def __str__(self) -> str:
        if self._dims is None:
            return "<unknown>"
        parts = ["?" if n is None else str(n) for n in self._dims]
        return f"({', '.join(parts)}{',' if len(parts) == 1 else ''})"

    def __repr__(self) -> str:
        return f"TensorShape({self.dims})"


def as_shape(value: ShapeLike) -> Dims:
    """Return a shape given as a list, a number, a :class:`TensorShape` or None; TypeError for anything else."""
    if value is None:
        return None
    if isinstance(value, TensorShape):
        return value._dims
    if isinstance(value, (list, tuple)):
        return tuple(None if n is None or n in (-1, UNKNOWN) else int(n) for n in value)
    try:
        return (int(value),)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        raise TypeError(
            f"Dimension value must be integer or None or have an __index__ method, got value {value!r}"
        ) from None


def dims_text(dims: Sequence[int | None] | None) -> str:
    """As messages of shape clashes print it: ``[?,2]``."""
    return "?" if dims is None else "[" + ",".join("?" if n is None else str(n) for n in dims) + "]"


def fits(one: Dims, other: Dims) -> bool:
    """Return whether a tensor could have both shapes."""
    if one is None or other is None or len(one) != len(other):
        return one is None or other is None
    return all(a is None or b is None or a == b for a, b in zip(one, other, strict=True))


def merge_dims(one: Dims, other: Dims) -> Dims:
    """Return all that is known of a shape from two sources."""
    if one is None or other is None:
        return other if one is None else one
    refuse(len(one) != len(other), f"Shapes must be equal rank, but are {len(one)} and {len(other)}", ClashError)
    for i, (a, b) in enumerate(zip(one, other, strict=True)):
        if a != b and None not in (a, b):
            raise ClashError(
                f"Dimension {i} in both shapes must be equal, but are {a} and {b}. "
                f"Shapes are {dims_text(one)} and {dims_text(other)}."
            )
    return tuple(b if a is None else a for a, b in zip(one, other, strict=True))


def common_dims(one: Dims, other: Dims) -> Dims:
    """What two shapes have in common, as a branch's result or a loop's variable has it."""
    if one is None or other is None or len(one) != len(other):
        return None
    return tuple(a if a == b else None for a, b in zip(one, other, strict=True))


# ------------------------------------------------------------------ nested values
def leaves(structure: object) -> Iterator[Any]:
    """What is in nested lists, tuples and dicts, in order."""
    if isinstance(structure, dict):
        structure = [structure[key] for key in sorted(structure)]
    if isinstance(structure, (list, tuple)):
        for item in structure:
            yield from leaves(item)
    else:
        yield structure


def fill_structure(structure: object, items: Iterator[object]) -> Any:
    """Return the same structure with other leaves."""
    if isinstance(structure, dict):
        values = {key: fill_structure(structure[key], items) for key in sorted(structure)}
        return {key: values[key] for key in structure}
    if isinstance(structure, (list, tuple)):
        parts = [fill_structure(item, items) for item in structure]
        return type(structure)(*parts) if hasattr(structure, "_fields") else type(structure)(parts)
    return next(items)


def nesting(structure: object) -> object:
    """Return the form of nested values: 0 for each leaf, and tuples as lists."""
    if isinstance(structure, dict):
        return {key: nesting(item) for key, item in structure.items()}
    return [nesting(item) for item in structure] if isinstance(structure, (list, tuple)) else 0
