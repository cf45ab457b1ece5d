"""How numbers lie in memory: elements in another order than that of their indices, and small integers, as in PyTorch."""

from __future__ import annotations

from typing import Any

import pytest

from gviz import engine
from gviz.engine.nn import functional as F

torch: Any = engine
NUMBERS = [[0.5, 2.0, 1.5], [1.0, 0.25, 3.0]]


def turned(numbers: Any = None) -> Any:
    """A leaf that holds these numbers column by column."""
    return torch.tensor(NUMBERS if numbers is None else numbers).t().contiguous().t().requires_grad_()


def test_elements_are_put_and_taken_by_the_order_of_the_indices() -> None:
    x, places = turned(), torch.tensor([1, 5])
    put = x.detach().put(places, torch.tensor([7.0, 9.0]))
    assert put.tolist() == [[0.5, 7.0, 1.5], [1.0, 0.25, 9.0]]
    torch.take(x, places).sum().backward()
    assert x.grad.tolist() == [[0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]


def test_a_volume_of_classes_may_lie_in_any_order() -> None:
    logits = torch.zeros(2, 3, 1, 3, 2).transpose(-1, -2).requires_grad_()
    target = torch.zeros(2, 1, 3, 2, dtype=torch.int64).transpose(-1, -2)
    assert F.cross_entropy(logits, target).item() == pytest.approx(1.0986123)


@pytest.mark.parametrize(
    ("call", "strides"),
    [
        (lambda x: x.clone(), (1, 2)), (lambda x: x.flip(0), (1, 2)),
        (lambda x: x.cumsum(0), (3, 1)), (lambda x: x.softmax(1), (3, 1)),
        (lambda x: x.masked_fill(x > 1, 0.0), (3, 1)), (lambda x: x.rot90(), (2, 1)), (lambda x: x.rot90(2), (1, 2)),
        (lambda x: x.index_select(1, torch.tensor([0, 2])), (2, 1)), (lambda x: x.topk(2).indices, (2, 1)),
        (lambda x: x.gather(0, torch.tensor([[0, 1, 1]])), (3, 1)), (lambda x: F.pad(x, (1, 0)), (4, 1)),
    ],
)  # fmt: skip
def test_results_lie_in_memory_as_in_pytorch(call: Any, strides: tuple[int, ...]) -> None:
    assert call(turned().detach()).stride() == strides


def test_a_mean_square_norm_is_copied_where_its_elements_lie_in_another_order() -> None:
    assert type(F.rms_norm(turned(), (3,)).grad_fn).__name__ == "CloneBackward0"
    assert type(F.rms_norm(turned().contiguous(), (3,)).grad_fn).__name__ == "MulBackward0"


@pytest.mark.parametrize(
    ("call", "dtype"),
    [
        (lambda x: x.sum(dtype=torch.int32), "int32"), (lambda x: x.sum(0, dtype=torch.int8), "int8"),
        (lambda x: x.prod(dtype=torch.bool), "bool"), (lambda x: x.cumsum(0, dtype=torch.int16), "int16"),
        (lambda x: x.trace(), "int64"), (lambda x: torch.add(x, x, alpha=-3), "uint8"),
        (lambda x: x.index_add(0, torch.tensor([0]), x[:1], alpha=-1), "uint8"),
    ],
)  # fmt: skip
def test_small_integers_keep_the_dtype_that_pytorch_gives_them(call: Any, dtype: str) -> None:
    assert str(call(torch.tensor([[1, 2], [3, 4]], dtype=torch.uint8)).dtype) == f"torch.{dtype}"
