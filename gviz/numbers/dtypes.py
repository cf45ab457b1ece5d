"""Element types, and how two of them combine.

The category counts first (bool < integer < float < complex); tensors with dimensions before 0-d ones before Python
numbers.
Source: https://docs.pytorch.org/docs/2.13/tensor_attributes.html.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np

from gviz.numbers.classes import type_text
from gviz.numbers.types import Array, Number


class dtype:
    """An element type, as ``torch.float32``; there is one object for each.

    Attributes:
        name: "float32"; the text of the whole is "torch.float32".
        np: the numpy dtype of an array that holds it.
        is_floating_point, is_complex, is_signed: the category.
        itemsize: bytes of one element.
        scalar_name: what PyTorch's messages call it, "Float"; ``FloatTensor`` is made of it.
        c_name: the C++ name that some messages have, "float", "long int".
    """

    __slots__ = ("c_name", "is_complex", "is_floating_point", "is_signed", "itemsize", "name", "np", "scalar_name")
    __module__ = "torch"  # the name that type(x.dtype) shows

    def __init__(self, name: str, scalar_name: str, c_name: str) -> None:
        self.name, self.scalar_name, self.c_name = name, scalar_name, c_name
        self.np: np.dtype[Any] = np.dtype(name)
        kind, self.itemsize = self.np.kind, self.np.itemsize
        self.is_floating_point, self.is_complex, self.is_signed = kind == "f", kind == "c", kind in "ifc"

    def __repr__(self) -> str:
        return "torch." + self.name

    def __reduce__(self) -> tuple[Callable[[str], dtype], tuple[str]]:
        """Copy and unpickle it as the same object."""
        return dtype_named, (self.name,)

    def to_complex(self) -> dtype:
        """Return the complex type with parts of this type (of float16 complex64: numpy has no half complex)."""
        if self.np.kind not in INEXACT:
            raise RuntimeError(f"Unknown Complex ScalarType for {self.scalar_name}")
        return complex128 if self.name in {"float64", "complex128"} else complex64

    def to_real(self) -> dtype:
        """Return the type of the parts of a complex type; every other type is its own."""
        return {"complex64": float32, "complex128": float64}.get(self.name, self)


class Late(dtype):
    """An element type of 16 bits: rows compute with it in another way from when somebody has such numbers.

    numpy has no bfloat16: the package ml_dtypes gives it.
    """

    __slots__ = ()

    def __init__(self, name: str, scalar_name: str, c_name: str) -> None:
        self.name, self.scalar_name, self.c_name = name, scalar_name, c_name
        self.is_floating_point, self.is_complex, self.is_signed, self.itemsize = True, False, True, 2

    def __getattr__(self, name: str) -> Any:
        """Return ``np``, made and entered in the tables at the first call. ImportError: there is no package."""
        if name != "np":
            raise AttributeError(name)
        try:
            self.np = np.dtype(np.float16 if self is float16 else import_module("ml_dtypes").bfloat16)
        except ImportError:
            raise ImportError(
                f"gviz's engine has {self} from the package ml_dtypes, which is not installed: pip install ml_dtypes, "
                "or run the script with --engine torch"
            ) from None
        _OF[self.np] = self
        _PROMOTED.update({pair: _promote(*pair) for one in _OF for pair in ((one, self.np), (self.np, one))})
        NARROW.append(self.np)
        return self.np


FLOATS, INEXACT = "fV", "fcV"
"""numpy's letters of the kinds of real, and of real or complex numbers: bfloat16 is "V" there."""
NARROW: list[np.dtype[Any]] = []
"""bfloat16 and float16, once somebody computes with them: rows compute with these in float32."""

bfloat16 = Late("bfloat16", "BFloat16", "c10::BFloat16")
float16 = Late("float16", "Half", "c10::Half")
float32 = dtype("float32", "Float", "float")
float64 = dtype("float64", "Double", "double")
int8 = dtype("int8", "Char", "signed char")
int16 = dtype("int16", "Short", "short int")
int32 = dtype("int32", "Int", "int")
int64 = dtype("int64", "Long", "long int")
uint8 = dtype("uint8", "Byte", "unsigned char")
bool_ = dtype("bool", "Bool", "bool")
complex64 = dtype("complex64", "ComplexFloat", "c10::complex<float>")
complex128 = dtype("complex128", "ComplexDouble", "c10::complex<double>")

EVERY = (float64, float32, complex64, complex128, int64, int32, int16, int8, uint8, bool_, float16, bfloat16)
"""Every element type; the last two are made late."""

NAMES: dict[str, dtype] = {each.name: each for each in EVERY} | {
    "half": float16, "float": float32, "double": float64, "short": int16, "int": int32, "long": int64,
    "cfloat": complex64, "cdouble": complex128,
}  # fmt: skip
"""Each name that PyTorch's module has for an element type, the short ones included."""


def dtype_named(name: str) -> dtype:
    """Return the element type of a name, "float32" or "long"."""
    return NAMES[name]


OF_PYTHON: dict[Any, dtype] = {float: float64, int: int64, bool: bool_, complex: complex128}


def as_dtype(value: object) -> dtype:
    """Return the element type that an argument means.

    Python's own ``float``, ``int`` and ``complex`` are the wide ones.
    """
    if isinstance(value, dtype):
        return value
    if isinstance(value, type) and value in OF_PYTHON:
        return OF_PYTHON[value]
    raise TypeError(f"argument 'dtype' must be torch.dtype, not {type_text(value)}")


def number(value: Any, dtype: np.dtype[Any], name: str = "", *, is_alone: bool = False) -> Any:
    """Return a Python number as one of a dtype's, as C++ converts what is written into a tensor.

    Refuse what is out of range, but for the only element of a tensor: in 16 bits it becomes infinite.

    A negative number may wrap around in uint8, as long as its size fits. Messages call the dtype by ``name``, else as
    C++ does.
    """
    if value.__class__ is float and dtype.name in ("float32", "float64") and -1e38 < value < 1e38:
        return dtype.type(value)  # nearly all that is written
    if isinstance(value, complex) and not value.imag:
        value = value.real
    fits = dtype.kind in "bc" or not isinstance(value, complex)
    if fits and dtype.kind in "iu":
        limits, whole = np.iinfo(dtype), isinstance(value, int | np.integer)
        low, high = (-limits.max if whole and not limits.min else limits.min), limits.max
        fits = low <= value <= (high if whole else float(high))  # as a float, int64's end is 2**63
        value = int(value) % 256 if fits and value < 0 == limits.min else value
    with np.errstate(all="ignore"):
        result = np.asarray(value).astype(dtype)[()] if fits else value
    if not fits or (
        dtype.kind in INEXACT
        and not (is_alone and dtype.itemsize == 2)  # bytes
        and abs(value) < np.inf
        and not np.isfinite(result)
    ):
        c_name = f"{dtype.name}_t" if dtype.kind in "iu" and dtype.name != "int32" else of(dtype).c_name
        raise RuntimeError(f"value cannot be converted to type {name or c_name} without overflow")
    return result


_OF: dict[np.dtype[Any], dtype] = {each.np: each for each in EVERY[:-2]}
_default = float32


def of(array_dtype: np.dtype[Any]) -> dtype:
    """Return the element type of an array, by its numpy dtype; refuse one that PyTorch does not have, in its words.

    >>> of(np.dtype("int64"))
    torch.int64
    """
    if (known_dtype := _OF.get(array_dtype)) is not None:
        return known_dtype
    name = array_dtype.type.__name__
    if name == "float16":
        return _OF[float16.np]
    if name in {"uint16", "uint32", "uint64"}:  # PyTorch has them, with hardly an operation
        raise TypeError(f"torch.{name} is not in gviz's engine; convert the array first, as with array.astype('int64')")
    raise TypeError(
        f"can't convert np.ndarray of type numpy.{name}. The only supported types are: float64, float32, float16, "
        "complex64, complex128, int64, int32, int16, int8, uint64, uint32, uint16, uint8, and bool."
    )


def no_kernel(kernel: str, array_dtype: np.dtype[Any]) -> NotImplementedError:
    """Return PyTorch's error for a type that one of its kernels does not take."""
    return NotImplementedError(f"\"{kernel}\" not implemented for '{of(array_dtype).scalar_name}'")


def get_default_dtype() -> dtype:
    """Return the type that Python floats get: float32 until :func:`set_default_dtype`."""
    return _default


def set_default_dtype(d: object) -> None:
    """Let Python floats become ``d``, a type of real numbers; refuse other types."""
    if not isinstance(d, dtype) or not d.is_floating_point:
        start = "" if isinstance(d, dtype) else "invalid dtype object: "
        raise TypeError(f"{start}only floating-point types are supported as the default type")
    global _default  # noqa: PLW0603 - PyTorch has one default for the whole process
    _default = _OF[d.np]


# Promotion ---------------------------------------------------------------------------------------------------------

_CATEGORY = {"b": 0, "u": 1, "i": 1, "f": 2, "V": 2, "c": 3}


def _promote(a: np.dtype[Any], b: np.dtype[Any]) -> np.dtype[Any]:
    """Return numpy's answer; but beside a float or complex type the width of an integer one counts for nothing."""
    ranks = _CATEGORY[a.kind], _CATEGORY[b.kind]
    if ranks[0] != ranks[1] and min(ranks) < 2:
        return a if ranks[0] > ranks[1] else b
    return a if a == b else np.promote_types(*(np.float32 if one.kind == "V" else one for one in (a, b)))


_PROMOTED = {(a, b): _promote(a, b) for a in _OF for b in _OF}


def promote(a: np.dtype[Any], b: np.dtype[Any]) -> np.dtype[Any]:
    """Return the type that holds both, by PyTorch's table (``torch.promote_types``).

    >>> promote(np.dtype("int64"), np.dtype("float32")), promote(np.dtype("uint8"), np.dtype("int8"))
    (dtype('float32'), dtype('int16'))
    """
    return a if a is b else _PROMOTED[a, b]


def promote_types(type1: object, type2: object) -> dtype:
    """Return what :func:`promote` does, for element types (``torch.promote_types``)."""
    return _OF[promote(as_dtype(type1).np, as_dtype(type2).np)]


def can_cast(from_: np.dtype[Any], to: np.dtype[Any]) -> bool:
    """Return whether a result of one type may be written into a tensor of another: never down a category."""
    return _CATEGORY[from_.kind] <= _CATEGORY[to.kind]


def number_type(value: Number) -> np.dtype[Any]:
    """Return the type of a Python (or numpy) number among tensors.

    Bool, int64, or the default float or complex type.
    """
    if isinstance(value, bool | np.bool_):
        return bool_.np
    if isinstance(value, int | np.integer):
        return int64.np
    if isinstance(value, float | np.floating):
        return _default.np
    if isinstance(value, complex | np.complexfloating):
        return _default.to_complex().np
    raise TypeError(f"expected a tensor or a number, but got {type(value).__name__}")


def _combine(higher: np.dtype[Any] | None, lower: np.dtype[Any] | None) -> np.dtype[Any] | None:
    """Return the type of operands of two priorities: the lower ones only raise the category."""
    if higher is None or lower is None:
        return lower if higher is None else higher
    if _CATEGORY[higher.kind] >= _CATEGORY[lower.kind]:
        return higher
    return _OF[higher].to_complex().np if higher.kind == "f" else promote(higher, lower)


class WrappedNumber(np.ndarray):
    """A number where a tensor is wanted: an array that counts for the dtype no more than the number does."""

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: object, **kwargs: object) -> Any:
        """Compute as with a plain array, and give a plain one."""
        plain = (np.asarray(value) if isinstance(value, WrappedNumber) else value for value in inputs)
        return getattr(ufunc, method)(*plain, **kwargs)


def is_meta(array: object) -> bool:
    """Return whether it is an array of the device meta, which has no numbers."""
    return getattr(array, "device", "cpu") == "meta"


def as_array(value: object) -> Any:
    """Return an array of numpy's own class for a value; itself if its class computes rows in a way of its own."""
    return value if value.__class__ is np.ndarray or hasattr(value, "forward") else np.asarray(value)


def result_type(*operands: Array | Number) -> np.dtype[Any]:
    """Return the type in which PyTorch computes with these operands, arrays and numbers (``torch.result_type``).

    It is that of the arrays with dimensions; 0-d arrays, and after them numbers (also numpy's), count only where their
    category (bool < integer < float < complex) is higher.

    >>> result_type(np.array([1, 2]), 2.5), result_type(np.array([1.0], "float32"), np.array(1.0))
    (dtype('float32'), dtype('float32'))
    """
    dimensioned = scalar = number = None
    for operand in operands:
        if not isinstance(operand, np.ndarray) or isinstance(operand, WrappedNumber):
            kind = number_type(operand.item() if isinstance(operand, WrappedNumber) else operand)
            number = kind if number is None else promote(number, kind)
        elif operand.ndim:
            dimensioned = operand.dtype if dimensioned is None else promote(dimensioned, operand.dtype)
        else:
            scalar = operand.dtype if scalar is None else promote(scalar, operand.dtype)
    result = _combine(dimensioned, _combine(scalar, number))
    return _default.np if result is None else result


def cast(array: Array, target: np.dtype[Any]) -> Array:
    """Return ``array.astype(target)``, in silence; the array itself if it has that type already."""
    if array.dtype == target:
        return array
    if array.dtype.kind == "c" and target.kind in "iuf":
        array = array.real
    with np.errstate(all="ignore"):
        return array.astype(target)
