"""Values at nan, at the ends of a range and at signed zeros, and bools where a formula subtracts: as PyTorch has them."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest
from tested import torch


@pytest.mark.parametrize(
    ("name", "value", "result", "slope"),
    [
        ("softshrink", math.nan, math.nan, 1.0),
        ("softshrink", 0.2, 0.0, 0.0),
        ("softshrink", -0.2, -0.0, 0.0),
        ("softshrink", 0.5, 0.0, 0.0),
        ("softshrink", -3.0, -2.5, 1.0),
        ("softshrink", math.inf, math.inf, 1.0),
        ("hardshrink", math.nan, math.nan, 1.0),
        ("hardshrink", -0.2, 0.0, 0.0),
        ("hardshrink", -0.5, 0.0, 0.0),
        ("hardshrink", -math.inf, -math.inf, 1.0),
        ("gelu", math.inf, math.inf, math.nan),
    ],
)
def test_an_activation_of_one_number(name: str, value: float, result: float, slope: float) -> None:
    x = torch.tensor(value, dtype=torch.float64, requires_grad=True)
    y = getattr(torch.nn.functional, name)(x)
    y.backward()
    for found, wanted in ((y.item(), result), (x.grad.item(), slope)):
        assert found == wanted or (math.isnan(found) and math.isnan(wanted))
        assert math.isnan(wanted) or math.copysign(1, found) == math.copysign(1, wanted)


@pytest.mark.parametrize(
    ("first", "second"), [((30, 3), (2, 3)), ((4, 1, 30, 3), (5, 2, 3)), ((30, 3), (0, 3)), ((0, 3), (30, 3))]
)
@pytest.mark.parametrize("p", [1.0, 2.0, 3.0])
def test_the_distances_of_many_rows_are_those_of_each_pair(
    first: tuple[int, ...], second: tuple[int, ...], p: float
) -> None:
    torch.manual_seed(0)
    x, other = torch.randn(first), torch.randn(second)
    pairs = (x.unsqueeze(-2) - other.unsqueeze(-3)).abs().pow(p).sum(-1).pow(1 / p)
    found = torch.cdist(x, other, p)
    assert found.shape == pairs.shape
    assert torch.allclose(found, pairs, atol=1e-4)


@pytest.mark.parametrize("again", [False, True], ids=["numbers", "create_graph"])
@pytest.mark.parametrize(
    "of",
    [
        lambda x, mask: x**mask,
        torch.logaddexp,
        lambda x, mask: torch.logaddexp2(mask, x),
    ],
)
def test_a_derivative_that_subtracts_refuses_bools(of: Callable[..., Any], *, again: bool) -> None:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = of(x, torch.tensor([True, False])).sum()
    with pytest.raises(RuntimeError, match="Subtraction, the `-` operator, with a bool tensor is not supported"):
        torch.autograd.grad(y, x, create_graph=again)


def test_a_rare_function_has_the_last_digit_of_pytorch() -> None:
    x = torch.tensor([0.7, 0.1, 0.31])
    of_pytorch = {
        "asin": [0.7753974795341492, 0.1001674234867096, 0.3151930272579193],
        "acos": [0.7953988313674927, 1.4706288576126099, 1.255603313446045],
        "atan": [0.6107259392738342, 0.09966865181922913, 0.3006056845188141],
        "cosh": [1.2551690340042114, 1.0050041675567627, 1.0484360456466675],
        "log10": [-0.15490196645259857, -1.0, -0.508638322353363],
    }
    assert {name: getattr(torch, name)(x).tolist() for name in of_pytorch} == of_pytorch
    assert torch.atan2(torch.tensor(1.0), torch.tensor(1.0)).item() == 0.7853981852531433
