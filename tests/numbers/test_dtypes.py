"""Element types: promotion and inference as PyTorch 2.13 gave them; those marked torch ask it anew."""

from __future__ import annotations

import copy
import itertools
import math
import pickle
from collections import deque
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from gviz import engine
from gviz.numbers import dtypes, limits
from gviz.numbers.dtypes import of, promote_types, result_type
from gviz.numbers.unpack import infer

if TYPE_CHECKING:
    from collections.abc import Iterator

SHORT = {"b": "bool", "u1": "uint8", "i1": "int8", "i2": "int16", "i4": "int32", "i8": "int64"} | {
    "f2": "float16", "f4": "float32", "f8": "float64", "c8": "complex64", "c16": "complex128",
}  # fmt: skip

PROMOTION = """
  b   b  u1  i1  i2  i4  i8  f2  f4  f8  c8 c16
 u1  u1  u1  i2  i2  i4  i8  f2  f4  f8  c8 c16
 i1  i1  i2  i1  i2  i4  i8  f2  f4  f8  c8 c16
 i2  i2  i2  i2  i2  i4  i8  f2  f4  f8  c8 c16
 i4  i4  i4  i4  i4  i4  i8  f2  f4  f8  c8 c16
 i8  i8  i8  i8  i8  i8  i8  f2  f4  f8  c8 c16
 f2  f2  f2  f2  f2  f2  f2  f2  f4  f8  c8 c16
 f4  f4  f4  f4  f4  f4  f4  f4  f4  f8  c8 c16
 f8  f8  f8  f8  f8  f8  f8  f8  f8  f8 c16 c16
 c8  c8  c8  c8  c8  c8  c8  c8  c8 c16  c8 c16
c16 c16 c16 c16 c16 c16 c16 c16 c16 c16 c16 c16
"""


BYTE_ORDER = (
    "given numpy array has byte order different from the native byte order. "
    "Conversion between byte orders is currently not supported."
)
NO_TEXT = (
    "can't convert np.ndarray of type numpy.str_. The only supported types are: float64, float32, float16, complex64, "
    "complex128, int64, int32, int16, int8, uint64, uint32, uint16, uint8, and bool."
)


@pytest.fixture
def default() -> Iterator[None]:
    yield
    dtypes.set_default_dtype(dtypes.float32)


def inferred(data: Any, dtype: dtypes.dtype | None = None) -> tuple[str, Any]:
    """The element type and the values, or the error's type and text."""
    try:
        array = infer(data, None if dtype is None else dtype.np)
    except (OverflowError, RuntimeError, TypeError, ValueError) as error:
        return type(error).__name__, str(error)
    return of(array.dtype).name, array.tolist()


@pytest.mark.parametrize("row", PROMOTION.split("\n")[1:-1])
def test_two_types_promote_as_in_pytorchs_table(row: str) -> None:
    first, *expected = row.split()
    found = [promote_types(dtypes.NAMES[SHORT[first]], dtypes.NAMES[name]).name for name in SHORT.values()]
    assert found == [SHORT[name] for name in expected]


def test_a_type_is_written_as_torch_writes_it() -> None:
    assert [str(dtypes.float32), repr(dtypes.bool), f"{dtypes.long}"] == ["torch.float32", "torch.bool", "torch.int64"]
    assert str(dtypes.float).rsplit(".", 1)[-1] == "float32"


def test_the_short_names_are_the_same_objects() -> None:
    pairs = {"half": "float16", "float": "float32", "double": "float64", "short": "int16", "int": "int32", "long": "int64"}
    assert all(getattr(dtypes, short) is getattr(dtypes, name) for short, name in pairs.items())


def test_a_copied_or_unpickled_type_is_the_same_object() -> None:
    for each in dtypes.ALL:
        assert copy.deepcopy(each) is each
        assert pickle.loads(pickle.dumps(each)) is each  # noqa: S301 - made in this line


def test_a_type_knows_its_category_and_width() -> None:
    assert dtypes.float16.is_floating_point
    assert dtypes.complex64.is_complex
    assert not dtypes.complex64.is_floating_point
    assert [each.itemsize for each in (dtypes.bool, dtypes.int64, dtypes.complex128)] == [1, 8, 16]
    assert dtypes.float64.to_complex() is dtypes.complex128
    assert dtypes.complex64.to_real() is dtypes.float32


def test_tensors_with_dimensions_come_before_those_without_and_these_before_numbers() -> None:
    wide, narrow = np.array(1.0), np.ones(2, np.float32)
    assert result_type(narrow, wide) == np.float32
    assert result_type(np.array(1, np.int8), 5) == np.int8
    assert result_type(np.ones(2, np.int8), np.array(1, np.int64)) == np.int8


def test_a_higher_category_counts_whatever_its_place() -> None:
    integers = np.ones(2, np.int64)
    assert result_type(integers, 2.5) == np.float32
    assert result_type(integers, np.array(1.0)) == np.float64
    assert result_type(np.ones(2), 2j) == np.complex128
    assert result_type(np.ones(2, np.bool_), 3) == np.int64
    assert result_type(np.ones(2, np.float32), np.float64(2)) == np.float32


def test_a_python_float_follows_the_default_type(default: None) -> None:
    dtypes.set_default_dtype(dtypes.float64)
    assert inferred(2.5) == ("float64", 2.5)
    assert result_type(np.ones(2, np.int64), 2.5) == np.float64
    assert of(infer(2j).dtype) is dtypes.complex128


@pytest.mark.parametrize(
    ("given", "text"),
    [
        (dtypes.int32, "only floating-point types are supported as the default type"),
        ("float32", "invalid dtype object: only floating-point types are supported as the default type"),
    ],
)
def test_the_default_type_is_a_float_type(given: Any, text: str) -> None:
    with pytest.raises(TypeError) as caught:
        dtypes.set_default_dtype(given)
    assert str(caught.value) == text


def test_a_result_is_never_written_down_a_category() -> None:
    assert dtypes.can_cast(np.dtype("f8"), np.dtype("f2"))
    assert not dtypes.can_cast(np.dtype("f4"), np.dtype("i8"))
    assert not dtypes.can_cast(np.dtype("u1"), np.dtype("?"))


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (2.0, ("float32", 2.0)),
        (2, ("int64", 2)),
        (True, ("bool", True)),
        (2j, ("complex64", 2j)),
        ([1, 2.5], ("float32", [1.0, 2.5])),
        ([True, 2], ("int64", [1, 2])),
        ([[1, 2], (3, 4)], ("int64", [[1, 2], [3, 4]])),
        ([], ("float32", [])),
        ([[], []], ("float32", [[], []])),
        (range(3), ("int64", [0, 1, 2])),
        (deque([1, 2]), ("int64", [1, 2])),
        (bytearray(b"ab"), ("int64", [97, 98])),
        (np.float64(2), ("float64", 2.0)),
        ([np.float32(1), 2], ("float32", [1.0, 2.0])),
        ([np.int8(1), np.uint8(2)], ("int16", [1, 2])),
        ([np.array([1, 2]), [3, 4]], ("int64", [[1, 2], [3, 4]])),
        (np.array([1.0]), ("float64", [1.0])),
        ([1e39, -1e39], ("float32", [np.inf, -np.inf])),
        (1e39, ("float32", np.inf)),
        ([1.0, 2**70], ("float32", [1.0, float(2**70)])),
    ],
)
def test_python_data_gets_the_type_that_pytorch_gives_it(data: Any, expected: tuple[str, Any]) -> None:
    assert inferred(data) == expected


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    ("data", "name", "expected"),
    [
        (-2.7, "int64", ("int64", -2)),
        ([2.5, -2.5], "int32", ("int32", [2, -2])),
        (-1, "uint8", ("uint8", 255)),
        (2**70, "bool", ("bool", True)),
        (float("nan"), "bool", ("bool", True)),
        ([0, 2], "bool", ("bool", [False, True])),
        ([1, 2], "complex64", ("complex64", [1 + 0j, 2 + 0j])),
        ([65520, 1], "float16", ("float16", [np.inf, 1.0])),
        (np.array([300, -1]), "uint8", ("uint8", [44, 255])),
        (np.array([2 + 3j]), "float32", ("float32", [2.0])),
        (-2.7, "uint8", ("RuntimeError", "value cannot be converted to type uint8 without overflow")),
        ([1, 300], "int8", ("RuntimeError", "value cannot be converted to type int8 without overflow")),
        (float("nan"), "int32", ("RuntimeError", "value cannot be converted to type int32 without overflow")),
        (None, "float32", ("RuntimeError", "Could not infer dtype of NoneType")),
        (2**63, "int64", ("ValueError", "Overflow when unpacking long long")),
        (2**1100, "float64", ("OverflowError", "int too large to convert to float")),
    ],
)
def test_python_data_is_converted_to_the_type_that_is_asked_for(data: Any, name: str, expected: tuple[str, Any]) -> None:
    assert inferred(data, dtypes.NAMES[name]) == expected


@pytest.mark.parametrize(
    ("data", "error", "text"),
    [
        ([[1, 2], [3]], "ValueError", "expected sequence of length 2 at dim 1 (got 1)"),
        ([[[1], [2]], [[3]]], "ValueError", "expected sequence of length 2 at dim 1 (got 1)"),
        ([1.0, [2.0]], "TypeError", "must be real number, not list"),
        ([1, [2]], "TypeError", "must be real number, not list"),
        ([[1], 2], "TypeError", "not a sequence"),
        ("abc", "TypeError", "new(): invalid data type 'str'"),
        ([1, "a"], "TypeError", "new(): invalid data type 'str'"),
        (["a"], "ValueError", "too many dimensions 'str'"),
        (None, "RuntimeError", "Could not infer dtype of NoneType"),
        ({1: 2}, "RuntimeError", "Could not infer dtype of dict"),
        ([1, {2}], "RuntimeError", "Could not infer dtype of set"),
        (deque, "RuntimeError", "Could not infer dtype of type"),
        (2**63, "ValueError", "Overflow when unpacking long long"),
        ([2**63, -1], "ValueError", "Overflow when unpacking long long"),
        ([np.array(1), np.array(2)], "TypeError", "len() of unsized object"),
        (np.array([1.0], ">f8"), "ValueError", BYTE_ORDER),
        (np.array(["a"]), "TypeError", NO_TEXT),
    ],
)
def test_wrong_data_gets_pytorchs_message(data: Any, error: str, text: str) -> None:
    assert inferred(data) == (error, text)


def test_a_type_that_only_pytorch_has_is_named() -> None:
    kind, text = inferred(np.array([1], np.uint16))
    assert kind == "TypeError"
    assert text.startswith("torch.uint16 is not in gviz's engine")


def test_a_list_that_holds_itself_is_refused() -> None:
    ring: list[Any] = []
    ring.append(ring)
    assert inferred(ring) == ("ValueError", "too many dimensions 'list'")
    hidden: list[Any] = [1]
    hidden.append(hidden)
    assert inferred(hidden)[0] == "TypeError"


def test_an_array_is_copied() -> None:
    given = np.ones((2, 3)).T
    made = infer(given)
    made[0, 0] = 5
    assert given[0, 0] == 1
    assert made.flags.c_contiguous


def test_limits_print_as_in_pytorch() -> None:
    assert repr(limits.finfo()) == (
        "finfo(resolution=1e-06, min=-3.40282e+38, max=3.40282e+38, eps=1.19209e-07, smallest_normal=1.17549e-38, "
        "tiny=1.17549e-38, dtype=float32)"
    )
    assert repr(limits.iinfo(dtypes.int64)) == "iinfo(min=-9.22337e+18, max=9.22337e+18, dtype=int64)"
    assert limits.finfo(dtypes.complex128) == limits.finfo(dtypes.float64)
    assert (limits.iinfo(dtypes.uint8).max, limits.finfo(dtypes.float16).bits) == (255, 16)


@pytest.mark.parametrize(
    ("function", "given", "text"),
    [
        ("iinfo", dtypes.bool, "torch.iinfo() requires an integer input type. Use torch.finfo to handle 'torch.iinfo'"),
        ("iinfo", dtypes.float32, "torch.iinfo() requires an integer input type. Use torch.finfo to handle 'torch.iinfo'"),
        ("finfo", dtypes.int8, "torch.finfo() requires a floating point input type. Use torch.iinfo to handle 'torch.finfo'"),
        ("finfo", "float32", "argument 'dtype' must be torch.dtype, not str"),
    ],
)
def test_limits_of_another_category_are_refused(function: str, given: Any, text: str) -> None:
    with pytest.raises(TypeError) as caught:
        getattr(limits, function)(given)
    assert str(caught.value) == text


@pytest.mark.torch
@pytest.mark.parametrize("name", ["float32", "float64", "float16"])
def test_every_pair_of_operands_has_the_result_type_of_torch(name: str, default: None) -> None:
    torch = pytest.importorskip("torch")
    dtypes.set_default_dtype(dtypes.NAMES[name])
    torch.set_default_dtype(getattr(torch, name))
    try:
        operands: list[tuple[Any, Any]] = [(number, number) for number in (True, 2, 2.5, 2j)]
        for each, shape in itertools.product(dtypes.ALL, ((), (1,), (0,))):
            operands.append((np.ones(shape, each.np), torch.ones(shape, dtype=getattr(torch, each.name))))
        for (a, torch_a), (b, torch_b) in itertools.product(operands, operands):
            expected = str(torch.result_type(torch_a, torch_b)).replace("complex32", "complex64")
            assert str(of(result_type(a, b))) == expected, (a, b)
    finally:
        torch.set_default_dtype(torch.float32)


NUMBERS: tuple[Any, ...] = (0, 1, -1, -0.5, -128, -128.5, -255, -256, 255, 255.5, 256, True, 70000, 2**62, 2**63, 9.3e18, 1e300,
           math.inf, math.nan, 1j, 2 + 0j)  # fmt: skip
WRITING = {
    "fill_": lambda torch, x, number: x.fill_(number),
    "full_like": lambda torch, x, number: torch.full_like(x, number),
    "new_full": lambda torch, x, number: x.new_full((1,), number),
    "masked_fill": lambda torch, x, number: x.masked_fill(x == 1, number),
    "index_fill": lambda torch, x, number: x.index_fill(0, torch.tensor([0]), number),
    "scatter": lambda torch, x, number: x.scatter(0, torch.tensor([0]), number),
}


def written(torch: Any, name: str, way: str, number: Any) -> str:
    try:
        return repr(WRITING[way](torch, torch.ones(1, dtype=getattr(torch, name)), number).tolist())
    except RuntimeError as error:
        return str(error)


@pytest.mark.parametrize(
    ("name", "number", "found"),
    [
        ("uint8", -255, "[1]"),
        ("uint8", -0.5, "value cannot be converted to type uint8_t without overflow"),
        ("uint8", 256, "value cannot be converted to type uint8_t without overflow"),
        ("int8", -0.5, "[0]"),
        ("int32", math.nan, "value cannot be converted to type int without overflow"),
        ("int64", 2**63, "value cannot be converted to type int64_t without overflow"),
        ("float32", 1e300, "value cannot be converted to type float without overflow"),
        ("float32", math.inf, "[inf]"),
        ("float16", 1e300, "value cannot be converted to type c10::Half without overflow"),
        ("float64", 1j, "value cannot be converted to type double without overflow"),
        ("bool", 1j, "[True]"),
    ],
)
def test_a_number_that_is_written_has_to_fit_the_dtype(name: str, number: Any, found: str) -> None:
    assert written(engine, name, "fill_", number) == found


@pytest.mark.torch
@pytest.mark.parametrize("way", WRITING)
def test_every_number_is_written_as_torch_writes_it(way: str) -> None:
    torch = pytest.importorskip("torch")
    for each, number in itertools.product(dtypes.ALL, NUMBERS):
        if isinstance(number, complex) or (each is dtypes.float16 and abs(number) > 65504):
            continue  # other words, and infinity in PyTorch if all of a float16 tensor is filled: gviz refuses both
        assert written(engine, each.name, way, number) == written(torch, each.name, way, number), (each, number)
