"""A backward pass that fails leaves the engine as it was."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tested import torch

if TYPE_CHECKING:
    from collections.abc import Callable


def moved_into_the_graph() -> None:
    """A leaf that became the result of an operation between forward and backward."""
    x, w = (torch.tensor([1.0, 2.0], requires_grad=True) for _ in range(2))
    y = (x * 2).sum()
    x.requires_grad_(False)
    x.add_(w)
    y.backward()


def of_another_size() -> None:
    """A leaf whose data was replaced between forward and backward."""
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = x * x
    x.data = torch.ones(3)
    y.sum().backward()


@pytest.mark.parametrize(
    ("program", "message"),
    [
        (moved_into_the_graph, "leaf variable has been moved into the graph interior"),
        (of_another_size, "size of tensor"),
    ],
)
def test_operations_are_recorded_after_it(program: Callable[[], None], message: str) -> None:
    with pytest.raises(RuntimeError, match=message):
        program()
    x = torch.tensor([3.0], requires_grad=True)
    y = x * 2
    y.backward()
    assert y.requires_grad
    assert x.grad == 2
    assert torch.is_grad_enabled()
