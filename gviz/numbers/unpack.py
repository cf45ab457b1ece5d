"""Nested Python data to an array, for :func:`gviz.numbers.dtypes.infer`.

Lists of plain numbers go through numpy as a whole. All else goes element by element in PyTorch's order: ranges, bytes,
deques, numpy scalars and tensors among the numbers, and wrong data, where the order decides which message comes.
"""

from __future__ import annotations

import operator
from functools import reduce
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np

from gviz.numbers import dtypes
from gviz.numbers.classes import refuse_mixing, type_text
from gviz.numbers.dtypes import cast, complex128, dtype, float16, float64, get_default_dtype, int64, number, of, promote
from gviz.numbers.words import warn

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    Array = np.ndarray[Any, Any]

_NUMBERS = frozenset({bool, int, float, complex})


def unpack(data: Any, wanted: dtype | None) -> Array:
    """The array of a number or of nested sequences; arguments and errors as :func:`gviz.numbers.dtypes.infer`."""
    array = _unpack_plain(data, wanted) if type(data) is list or type(data) is tuple else None
    if array is None and isinstance(data, list) and data and isinstance(data[0], np.ndarray):
        warn(
            "Creating a tensor from a list of numpy.ndarrays is extremely slow. Please consider converting the list to a "
            "single numpy.ndarray with numpy.array() before converting to a tensor."
        )
    return _unpack_any(data, wanted) if array is None else array


def _unpack_plain(data: Sequence[Any], wanted: dtype | None) -> Array | None:
    """Lists and tuples of Python's numbers at the speed of C; None where anything is unusual."""
    sizes: list[int] = []
    level: Sequence[Any] = data
    while True:
        sizes.append(len(data))
        if not data or len(sizes) > dtypes.MAX_DIMS:
            return None
        kinds = set(map(type, level))
        if kinds <= _NUMBERS:
            break
        if not kinds <= {list, tuple} or set(map(len, level)) != {len(level[0])}:
            return None
        data, level = level[0], list(chain.from_iterable(level))
    if wanted is None:
        wanted = _plain_type(kinds)
    try:
        array = _convert_plain(level, kinds, wanted)
    except OverflowError:
        return None
    return None if array is None else array.reshape(sizes)


def _plain_type(kinds: set[type]) -> dtype:
    if complex in kinds:
        return get_default_dtype().to_complex()
    if float in kinds:
        return get_default_dtype()
    return int64 if int in kinds else dtypes.bool


def _convert_plain(flat: Sequence[Any], kinds: set[type], wanted: dtype) -> Array | None:
    """An array of Python's numbers; None where a number may not fit or may not be converted."""
    if (wanted.is_floating_point and complex in kinds) or (wanted.np.kind in "iu" and kinds & {float, complex}):
        return None
    if wanted.np.kind not in "iu":
        widest = dtypes.bool if wanted is dtypes.bool else complex128 if wanted.is_complex else float64
        return cast(np.array(flat, widest.np), wanted.np)
    array = np.array(flat, int64.np)
    if wanted is int64:
        return array
    limits = np.iinfo(wanted.np)
    return array.astype(wanted.np) if limits.min <= array.min() and array.max() <= limits.max else None


# Element by element -----------------------------------------------------------------------------------------------


def _unpack_any(data: Any, wanted: dtype | None) -> Array:
    if isinstance(data, (str, bytes)):
        raise TypeError(f"new(): invalid data type '{type_text(data)}'")
    sizes = _find_sizes(data)
    array_type = _find_type(data) if wanted is None else wanted.np
    array = np.empty(sizes, array_type)
    if not array.size:
        return array  # [[], [1]] is not looked at further
    flat = array.reshape(-1)  # a new array is contiguous: a view
    store = _storer(of(array_type))
    with np.errstate(all="ignore"):
        for i, element in enumerate(_elements(data, sizes)):
            flat[i] = store(element)
    return array


def _is_tensor(value: object) -> bool:
    return isinstance(getattr(value, "dtype", None), dtype)


def _is_sequence(value: object) -> bool:
    """C's PySequence_Check: it can be indexed, and is no mapping, numpy scalar or tensor."""
    if isinstance(value, (list, tuple, str, bytes)):
        return True
    refuse_mixing(value)
    return hasattr(type(value), "__getitem__") and not isinstance(value, (dict, np.generic)) and not _is_tensor(value)


def _find_sizes(data: Any) -> list[int]:
    """The shape, by the first element of each level."""
    sizes: list[int] = []
    while _is_sequence(data):
        sizes.append(len(data))
        if len(sizes) > dtypes.MAX_DIMS:
            raise ValueError(f"too many dimensions '{type_text(data)}'")
        if not sizes[-1]:
            break
        try:
            data = data[0]
        except Exception:  # noqa: BLE001 - whatever a class raises here, PyTorch says this
            raise ValueError(f"could not determine the shape of object type '{type_text(data)}'") from None
    return sizes


def _find_type(data: Any, depth: int = 0) -> np.dtype[Any]:
    """The promoted type of all elements; an empty sequence counts as the default type."""
    if not _is_sequence(data) or isinstance(data, str | bytes | np.ndarray):
        return _element_type(data)
    if depth >= dtypes.MAX_DIMS:
        raise ValueError(f"too many dimensions '{type_text(data)}'")
    found = [_find_type(data[i], depth + 1) for i in range(len(data))]
    return reduce(promote, found) if found else get_default_dtype().np


def _element_type(value: Any) -> np.dtype[Any]:
    if isinstance(value, (np.ndarray, np.generic)) and not isinstance(value, (str, bytes)):
        return of(value.dtype).np
    if _is_tensor(value):
        tensor_type: np.dtype[Any] = value.dtype.np
        return tensor_type
    if isinstance(value, (bool, int, float, complex)):
        return dtypes.number_type(value)
    if isinstance(value, (str, bytes)):
        raise TypeError(f"new(): invalid data type '{type_text(value)}'")
    raise RuntimeError(f"Could not infer dtype of {type_text(value)}")


def _elements(data: Any, sizes: list[int], depth: int = 0) -> Iterator[Any]:
    """The elements in the order of memory, each level checked against the shape when it is entered."""
    if depth == len(sizes):
        yield data
        return
    try:
        inner = list(data)
    except TypeError:
        raise TypeError("not a sequence") from None
    if len(inner) != sizes[depth]:
        raise ValueError(f"expected sequence of length {sizes[depth]} at dim {depth} (got {len(inner)})")
    for value in inner:
        yield from _elements(value, sizes, depth + 1)


def _storer(target: dtype) -> Callable[[Any], Any]:
    """How PyTorch converts one element to the type."""
    if target is dtypes.bool:
        return _to_bool
    if target.is_floating_point:
        if target is float16:
            return lambda value: np.float32(_to_float(value))  # PyTorch rounds twice
        return _to_float
    if target.is_complex:
        return _to_complex

    def to_integer(value: Any) -> Any:
        whole = value if isinstance(value, float) else operator.index(value)
        if isinstance(whole, int) and not -(1 << 63) <= whole < 1 << 63:
            raise ValueError("Overflow when unpacking long long")
        return number(whole, target.np, name=target.name)

    return to_integer


def _to_bool(value: Any) -> bool:
    return bool(value) if isinstance(value, (float, complex, np.bool_)) else operator.index(value) != 0


def _to_float(value: Any) -> float:
    if isinstance(value, (float, int)) or hasattr(type(value), "__float__") or hasattr(type(value), "__index__"):
        return float(value)
    raise TypeError(f"must be real number, not {type_text(value)}")


def _to_complex(value: Any) -> complex:
    if isinstance(value, complex) or hasattr(type(value), "__complex__"):
        return complex(value)
    return complex(_to_float(value))
