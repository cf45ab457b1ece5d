"""Sparse tensors have no gradients in gviz's engine: what would lose one is refused, and what needs none goes on."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

from gviz import engine

torch: Any = engine
PLACES = [[0, 1, 1], [1, 0, 2]]
SIZE = (2, 3)


def matrix(values: Any, **options: Any) -> Any:
    """The sparse matrix of three values."""
    return torch.sparse_coo_tensor(PLACES, values, SIZE, check_invariants=False, **options)


BECOMES_SPARSE: dict[str, Callable[[Any], Any]] = {
    "a leaf's values": matrix,
    "computed values": lambda r: matrix(r * 2),
    "values of another type": lambda r: matrix(r, dtype=torch.float64),
    "no size": lambda r: torch.sparse_coo_tensor(PLACES, r, check_invariants=False),
    "the old class": lambda r: torch.sparse.FloatTensor(torch.tensor(PLACES), r, SIZE),
    "a dense tensor": lambda r: r.to_sparse(),
    "times a number": lambda r: matrix([1.0, 2.0, 3.0]) * r[0],
    "a number times it": lambda r: r[0] * matrix([1.0, 2.0, 3.0]),
    "over a number": lambda r: matrix([1.0, 2.0, 3.0]) / r[0],
}


@pytest.mark.parametrize("become_sparse", BECOMES_SPARSE.values(), ids=BECOMES_SPARSE)
def test_a_gradient_that_would_be_lost_in_a_sparse_tensor_is_refused(become_sparse: Callable[[Any], Any]) -> None:
    values = torch.tensor([3.0, 4.0, 5.0], requires_grad=True)
    words = "gradients of sparse tensors are not in gviz's engine; run with --engine torch"
    with pytest.raises(NotImplementedError, match=f"^{re.escape(words)}$"):
        become_sparse(values)

    assert become_sparse(values.detach()).is_sparse
    with torch.no_grad():
        assert become_sparse(values).is_sparse


USED: dict[str, Callable[[Any], Any]] = {
    "dense": lambda s: s.to_dense(),
    "once each": lambda s: s.coalesce(),
    "transposed": lambda s: s.t(),
    "a sum of two": lambda s: s + s,
    "a product": lambda s: s * 2,
    "a sum of rows": lambda s: torch.sparse.sum(s, 0),
}


@pytest.mark.parametrize("use", USED.values(), ids=USED)
def test_a_sparse_matrix_that_was_multiplied_in_place_by_a_parameter_keeps_its_gradient_or_refuses(
    use: Callable[[Any], Any],
) -> None:
    weight = torch.tensor(2.0, requires_grad=True)
    sparse = matrix([3.0, 4.0, 5.0])
    use(sparse)
    sparse.mul_(weight)
    with pytest.raises(NotImplementedError, match="gradients of sparse tensors"):
        use(sparse)

    torch.sparse.mm(sparse, torch.ones(3, 2)).sum().backward()
    assert weight.grad.item() == 24


def test_a_sparse_matrix_of_data_lets_the_gradient_of_the_dense_one_through() -> None:
    dense = torch.ones(3, 2, requires_grad=True)
    torch.sparse.mm(matrix(torch.tensor([3.0, 4.0, 5.0])), dense).sum().backward()

    assert dense.grad.tolist() == [[4.0, 4.0], [3.0, 3.0], [5.0, 5.0]]


@pytest.mark.parametrize(
    ("name", "call"),
    {
        "torch.frexp": torch.frexp,
        "torch.nextafter": lambda x: torch.nextafter(x, x + 1),
        "torch.linalg.lu_factor": torch.linalg.lu_factor,
        "complex tensors": torch.fft.fft,
    }.items(),
)
def test_another_gradient_that_the_engine_lacks_is_said_by_its_name(name: str, call: Callable[[Any], Any]) -> None:
    with pytest.raises(
        NotImplementedError, match=f"^gradients of {re.escape(name)} are not in gviz's engine; run with"
    ):
        call(torch.eye(2, requires_grad=True))
