"""Element types are those of PyTorch, which is asked; what single values and types give is in tests/snippets.txt."""

from __future__ import annotations

import itertools
import math
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from program import python

from gviz import engine
from gviz.numbers import dtypes
from gviz.numbers.dtypes import of, result_type
from gviz.numbers.unpack import infer


@pytest.fixture
def default() -> Iterator[None]:
    yield
    dtypes.set_default_dtype(dtypes.float32)


def test_a_type_that_only_pytorch_has_is_named() -> None:
    with pytest.raises(TypeError, match=r"^torch\.uint16 is not in gviz's engine"):
        infer(np.array([1], np.uint16))


def test_a_list_that_holds_itself_is_refused() -> None:
    ring: list[Any] = []
    ring.append(ring)
    with pytest.raises(ValueError, match=r"^too many dimensions 'list'$"):
        infer(ring)
    hidden: list[Any] = [1]
    hidden.append(hidden)
    with pytest.raises(TypeError):
        infer(hidden)


def test_an_array_is_copied_in_its_order_in_memory() -> None:
    given = np.ones((2, 3)).T
    made = infer(given)
    made[0, 0] = 5
    assert given[0, 0] == 1
    assert made.flags.f_contiguous
    assert infer(np.broadcast_to(np.ones(2), (3, 2)).T).flags.c_contiguous


@pytest.mark.torch
@pytest.mark.parametrize("name", ["float32", "float64", "float16"])
def test_every_pair_of_operands_has_the_result_type_of_torch(name: str, default: None) -> None:
    torch = pytest.importorskip("torch")
    dtypes.set_default_dtype(dtypes.NAMES[name])
    torch.set_default_dtype(getattr(torch, name))
    try:
        operands: list[tuple[Any, Any]] = [(number, number) for number in (True, 2, 2.5, 2j)]
        for each, shape in itertools.product(dtypes.EVERY[:-1], ((), (1,), (0,))):
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


@pytest.mark.parametrize(("name", "c_name"), [("float16", "c10::Half"), ("bfloat16", "c10::BFloat16")])
def test_a_number_too_large_for_half_precision_is_refused_but_for_the_only_element(name: str, c_name: str) -> None:
    assert written(engine, name, "fill_", 1e300) == "[inf]"
    with pytest.raises(RuntimeError, match=f"value cannot be converted to type {c_name} without overflow"):
        engine.full((2,), 1e300, dtype=getattr(engine, name))
    with pytest.raises(RuntimeError, match=f"value cannot be converted to type {c_name} without overflow"):
        engine.nn.functional.pad(engine.zeros(1, dtype=getattr(engine, name)), (1, 0), value=-1e300)


@pytest.mark.torch
@pytest.mark.parametrize("way", WRITING)
def test_every_number_is_written_as_torch_writes_it(way: str) -> None:
    torch = pytest.importorskip("torch")
    for each, number in itertools.product(dtypes.EVERY[:-1], NUMBERS):
        if isinstance(number, complex):
            continue  # other words
        assert written(engine, each.name, way, number) == written(torch, each.name, way, number), (each, number)


def test_without_its_package_bfloat16_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ml_dtypes", None)
    with pytest.raises(ImportError, match=r"torch\.bfloat16 from the package ml_dtypes, .* pip install ml_dtypes"):
        _ = dtypes.Late("bfloat16", "BFloat16", "c10::BFloat16").np


def test_the_package_of_bfloat16_is_loaded_when_somebody_computes_with_it() -> None:
    code = (
        "import sys\nfrom gviz import engine as torch\nprint(torch.bfloat16, torch.finfo, 'ml_dtypes' in sys.modules)"
    )
    assert python(f"{code}\nx = torch.ones(1).bfloat16()\nprint('ml_dtypes' in sys.modules)").stdout.split()[-2:] == [
        "False",
        "True",
    ]
