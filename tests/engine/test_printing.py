"""Tensors and shapes as PyTorch 2.13 printed them; the test marked torch asks it anew."""

from __future__ import annotations

import copy
import pickle
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from gviz import engine
from gviz.engine import nn
from gviz.numbers import dtypes, printing
from gviz.numbers.printing import Size, format_tensor, set_printoptions, size

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(autouse=True)
def options() -> Iterator[None]:
    set_printoptions(profile="default")
    yield
    set_printoptions(profile="default")


def float32(data: Any) -> np.ndarray[Any, Any]:
    return np.array(data, np.float32)


@pytest.mark.parametrize(
    ("array", "text"),
    [
        (float32(6), "tensor(6.)"),
        (float32(-0.0), "tensor(-0.)"),
        (float32([1, 2]), "tensor([1., 2.])"),
        (float32([1.0, 2.5]), "tensor([1.0000, 2.5000])"),
        (float32([1e-5, 1]), "tensor([1.0000e-05, 1.0000e+00])"),
        (float32([1e-4, 0.1]), "tensor([1.0000e-04, 1.0000e-01])"),
        (float32([1e8, 1]), "tensor([1.0000e+08, 1.0000e+00])"),
        (float32([99999]), "tensor([99999.])"),
        (float32([1, np.nan, -np.inf]), "tensor([1., nan, -inf])"),
        (float32([1.5, np.nan, -np.inf]), "tensor([1.5000,    nan,   -inf])"),
        (float32([[1, -2.5], [1e3, 4]]), "tensor([[   1.0000,   -2.5000],\n        [1000.0000,    4.0000]])"),
        (float32([[[[0], [0]], [[0], [0]]]]), "tensor([[[[0.],\n          [0.]],\n\n         [[0.],\n          [0.]]]])"),
        (np.array([True, False]), "tensor([ True, False])"),
        (np.array([1, -20]), "tensor([  1, -20])"),
        (np.array([1, 2], np.int32), "tensor([1, 2], dtype=torch.int32)"),
        (np.array(2.5), "tensor(2.5000, dtype=torch.float64)"),
        (np.array([1 + 2j, -1.5 - 0j], np.complex64), "tensor([ 1.0000+2.j, -1.5000+0.j])"),
        (np.array(1j, np.complex64), "tensor(0.+1.j)"),
        (float32(np.zeros((0, 3))), "tensor([], size=(0, 3))"),
        (np.array([], np.int64), "tensor([], dtype=torch.int64)"),
        (float32([]), "tensor([])"),
    ],
)
def test_a_tensor_prints_as_in_pytorch(array: np.ndarray[Any, Any], text: str) -> None:
    assert format_tensor(array) == text


def test_long_lines_are_broken_at_80_characters() -> None:
    assert format_tensor(np.arange(30, dtype=np.float32)) == (
        "tensor([ 0.,  1.,  2.,  3.,  4.,  5.,  6.,  7.,  8.,  9., 10., 11., 12., 13.,\n"
        "        14., 15., 16., 17., 18., 19., 20., 21., 22., 23., 24., 25., 26., 27.,\n"
        "        28., 29.])"
    )


def test_more_than_1000_elements_show_their_edges() -> None:
    assert format_tensor(np.arange(1001)) == "tensor([   0,    1,    2,  ...,  998,  999, 1000])"
    row = "[0., 0., 0.,  ..., 0., 0., 0.]"
    lines = [row, row, row, "...", row, row, row]
    assert format_tensor(np.zeros((40, 40), np.float32)) == "tensor([" + ",\n        ".join(lines) + "])"


def test_the_edges_of_a_large_tensor_decide_the_form_of_its_numbers() -> None:
    array = np.zeros(2000, np.float32)
    array[1000] = 1.5
    assert format_tensor(array) == "tensor([0., 0., 0.,  ..., 0., 0., 0.])"


def test_what_made_a_tensor_comes_before_that_it_wants_a_gradient() -> None:
    assert format_tensor(float32(6), requires_grad=True) == "tensor(6., requires_grad=True)"
    assert format_tensor(float32(6), requires_grad=True, grad_fn_name="MulBackward0") == "tensor(6., grad_fn=<MulBackward0>)"


def test_suffixes_without_room_go_on_the_next_line() -> None:
    array = np.linspace(0, 1, 11)
    assert (
        format_tensor(array, requires_grad=True).split("\n")[-1]
        == "        0.9000, 1.0000], dtype=torch.float64, requires_grad=True)"
    )
    wide = format_tensor(np.linspace(0, 1, 9), grad_fn_name="LinspaceBackward0")
    assert wide.split("\n")[-1] == "       dtype=torch.float64, grad_fn=<LinspaceBackward0>)"


def test_the_default_type_is_not_named() -> None:
    dtypes.set_default_dtype(dtypes.float64)
    try:
        assert format_tensor(np.array([1.0])) == "tensor([1.])"
        assert format_tensor(float32([1.0])) == "tensor([1.], dtype=torch.float32)"
    finally:
        dtypes.set_default_dtype(dtypes.float32)


def test_print_options_change_what_is_printed() -> None:
    set_printoptions(precision=2, sci_mode=True)
    assert format_tensor(float32([1, 2.5])) == "tensor([1.00e+00, 2.50e+00])"
    set_printoptions(threshold=5, edgeitems=1)
    assert format_tensor(np.arange(6)) == "tensor([0,  ..., 5])"


def test_print_options_can_be_read_and_given_back() -> None:
    set_printoptions(precision=2, linewidth=40, sci_mode=False)
    kept = dict(vars(printing._options))
    set_printoptions(profile="full")
    assert vars(printing._options)["threshold"] == float("inf")
    assert vars(printing._options)["sci_mode"] is None
    set_printoptions(**kept)
    assert vars(printing._options) == kept


def test_a_format_is_for_the_number_of_a_0d_tensor() -> None:
    assert f"{engine.tensor(2.0):.2f}" == "2.00"
    assert f"{engine.tensor(2.0)}" == "2.0"
    assert f"{engine.tensor([2.0])}" == "tensor([2.])"


def test_a_format_for_more_than_a_number_is_a_type_error() -> None:
    with pytest.raises(TypeError, match=r"unsupported format string passed to Tensor\.__format__"):
        format(engine.tensor([2.0]), ".2f")
    with pytest.raises(TypeError, match=r"Parameter\.__format__"):
        format(nn.Parameter(engine.tensor(2.0)), ".2f")


def test_a_shape_prints_and_cuts_as_torch_size() -> None:
    shape = Size([2, 3])
    assert repr(shape) == str(shape) == "torch.Size([2, 3])"
    assert repr(Size()) == "torch.Size([])"
    assert str(type(shape)) == "<class 'torch.Size'>"
    assert (shape.numel(), Size().numel()) == (6, 1)
    assert hash(shape) == hash((2, 3))
    assert shape == (2, 3)


def test_a_part_of_a_shape_and_joined_shapes_are_shapes() -> None:
    shape = size((2, 3))
    for found, expected in [
        (shape[1:], (3,)),
        (shape + (4,), (2, 3, 4)),  # noqa: RUF005 - the operator is what is tested
        ((4,) + shape, (4, 2, 3)),  # noqa: RUF005
        (shape * 2, (2, 3, 2, 3)),
        (2 * shape, (2, 3, 2, 3)),
        (copy.copy(shape), (2, 3)),
        (pickle.loads(pickle.dumps(shape)), (2, 3)),  # noqa: S301 - made in this line
    ]:
        assert type(found) is Size
        assert found == expected
    assert shape[-1] == 3


@pytest.mark.parametrize("lengths", [[1.5], [1, "a"], 5])
def test_a_shape_holds_integers_only(lengths: Any) -> None:
    with pytest.raises(TypeError):
        Size(lengths)


def random_array(rng: np.random.Generator) -> np.ndarray[Any, Any]:
    """Any shape, type and magnitude."""
    dims = int(rng.integers(0, 6))
    longest = (1, 1500, 60, 12, 6, 4)[dims]
    shape = tuple(int(n) for n in rng.integers(0 if rng.random() < 0.1 else 1, longest, size=dims, endpoint=True))
    dtype = dtypes.ALL[rng.integers(len(dtypes.ALL))].np
    values = rng.normal(size=shape) * 10.0 ** rng.integers(-rng.integers(0, 10), rng.integers(1, 10), size=shape)
    values = np.where(rng.random(shape) < 0.1 * rng.integers(0, 2), rng.choice([np.nan, np.inf, 0.0]), values)
    if rng.random() < 0.3:
        values = np.round(values)
    with np.errstate(all="ignore"):
        return (values + 1j * np.roll(values, 1) if dtype.kind == "c" else values).astype(dtype)


@pytest.mark.torch
@pytest.mark.parametrize("seed", range(20))
def test_random_tensors_print_as_torch_prints_them(seed: int) -> None:
    torch = pytest.importorskip("torch")
    rng = np.random.default_rng(seed)
    for _ in range(50):
        array = np.asarray(random_array(rng))
        assert format_tensor(array) == repr(torch.from_numpy(array.copy())), array
