"""``torch.sparse``: matrices that are told by their elements, in coordinate form (COO).

They are computed with as the dense ones that they are: the numbers are PyTorch's, the memory is not. What PyTorch gives
as a sparse tensor is one here for sums, products with numbers and transposed matrices; other functions give dense ones.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from gviz import engine
from gviz.autograd.tensor import Tensor, from_array
from gviz.engine.creation import without_gradient
from gviz.engine.device import Layout
from gviz.numbers import dtypes, printing
from gviz.numbers.types import Array
from gviz.numbers.words import absent, refuse, warn_once

__all__ = ["addmm", "mm", "sum"]
torch: Any = engine
COO = Layout("sparse_coo")
to_arrays = partial(without_gradient, lacking="gradients of sparse tensors")
UNCOALESCED = "Cannot get {0} on an uncoalesced tensor, please call .coalesce() first"


def sparse_tensor(places: Array, numbers: Array, shape: Sequence[int], *, coalesced: bool = False) -> Any:
    """Return the tensor with these numbers at these places (a column for each), and zeros elsewhere."""
    dense = np.zeros(shape, numbers.dtype)
    np.add.at(dense, tuple(places), numbers)
    return marked(dense, places, numbers, coalesced)


def marked(dense: Array, places: Array, numbers: Array, coalesced: bool) -> Any:
    """Return a dense array as a tensor that is told by some of its elements."""
    tensor: Any = from_array(dense, None)
    tensor.__class__ = Sparse
    tensor._places, tensor._numbers, tensor._is_coalesced = places, numbers, coalesced
    return tensor


def to_sparse(tensor: Tensor) -> Any:
    """Return a dense tensor as a sparse one, of its elements that are not zero; it must not want a gradient."""
    (dense,) = to_arrays(tensor)
    places = np.array(np.nonzero(dense), np.int64)
    return marked(dense.copy(), places, dense[tuple(places)], coalesced=True)


def labelled(label: str, array: Array) -> str:
    """Return the text of one of the two parts, as it stands within the text of the tensor."""
    before = f"{label}=tensor("
    body = printing.format_body(array, len("tensor(" + before)) if array.size else f"[], size={array.shape}"
    return f"{before}{body})"


def of_numbers(change: Callable[..., Any]) -> Any:
    """Return a method that changes each number, and gives a sparse tensor if the others are numbers."""

    def method(self: Sparse, *others: object) -> Any:
        if any(isinstance(one, Tensor) and one.ndim for one in others):
            return change(self.to_dense(), *others)
        dense, numbers = to_arrays(
            *(change(from_array(one, None), *others) for one in (*to_arrays(self), self._numbers))
        )
        return marked(dense, self._places, numbers, self._is_coalesced)

    return method


class Sparse(Tensor):
    """A tensor that is told by its elements that are not zero."""

    __slots__ = ()
    __module__, __qualname__ = "torch", "Tensor"
    is_sparse, layout, is_leaf, grad_fn = True, COO, True, None
    _places: Array
    _numbers: Array
    _is_coalesced: bool

    def _indices(self) -> Any:
        return from_array(self._places, None)

    def _values(self) -> Any:
        return from_array(self._numbers, None)

    def indices(self) -> Any:
        """Return the places: a row for each dim. RuntimeError: one may be there twice."""
        refuse(not self._is_coalesced, UNCOALESCED.format("indices"))
        return self._indices()

    def values(self) -> Any:
        """Return the numbers. RuntimeError: a place may be there twice."""
        refuse(not self._is_coalesced, UNCOALESCED.format("values"))
        return self._values()

    def _nnz(self) -> int:
        return len(self._numbers)

    def is_coalesced(self) -> bool:
        """Return whether each place is there once, in order."""
        return self._is_coalesced

    def coalesce(self) -> Any:
        """Return it with each place once, in order."""
        if self._is_coalesced:
            return self
        places = np.unique(self._places, axis=1)
        return marked(to_arrays(self)[0], places, self._array[tuple(places)], coalesced=True)

    def to_dense(self) -> Any:
        """Return it as a dense tensor."""
        return from_array(to_arrays(self)[0].copy(), None)  # written to in place, it may want a gradient

    def t(self) -> Any:
        """Return the transposed matrix."""
        return marked(to_arrays(self)[0].T, self._places[::-1], self._numbers, coalesced=False)

    T = property(t)

    def transpose(self, dim0: int, dim1: int) -> Any:
        """Return the transposed matrix."""
        return self.t() if dim0 != dim1 else self

    def __add__(self, other: Tensor | float) -> Any:
        if not isinstance(other, Sparse):
            return self.to_dense() + other
        places = np.concatenate([self._places, other._places], 1)
        numbers = np.concatenate([self._numbers, other._numbers])
        both = marked(np.add(*to_arrays(self, other)), places, numbers, coalesced=False)
        is_plain = all(np.unique(one._places, axis=1).shape == one._places.shape for one in (self, other))
        return both.coalesce() if is_plain else both

    def sparse_dim(self) -> int:
        """Return how many dims the places have."""
        return len(self._places)

    def requires_grad_(self, requires_grad: object = True) -> Tensor:
        """Refuse: a sparse tensor that wants a gradient is not in gviz's engine."""
        refuse(
            requires_grad,
            "gradients of sparse tensors are not in gviz's engine; run with --engine torch",
            NotImplementedError,
        )
        return self

    def __repr__(self) -> str:
        kind = "" if self.dtype in (dtypes.get_default_dtype(), dtypes.int64) else f"dtype={self.dtype}, "
        parts = labelled("indices", self._places), labelled("values", self._numbers)
        sizes = f"size={tuple(self.shape)}, nnz={self._nnz()}, {kind}layout={COO}"
        return "tensor(" + ",\n       ".join([*parts, sizes]) + ")"

    clone = detach = of_numbers(lambda x: x.clone())
    __neg__ = neg = of_numbers(lambda x: -x)
    mul = __mul__ = __rmul__ = of_numbers(lambda x, y: x * y)
    div = __truediv__ = of_numbers(lambda x, y: x / y)
    to = of_numbers(lambda x, *args: x.to(*args))
    float, double, cpu = (
        of_numbers(lambda x: x.float()),
        of_numbers(lambda x: x.double()),
        of_numbers(lambda x: x.cpu()),
    )


def sparse_coo_tensor(
    indices: object,
    values: object,
    size: Sequence[int] | None = None,
    *,
    dtype: dtypes.dtype | None = None,
    device: object = None,
    requires_grad: bool = False,
    check_invariants: bool | None = None,
    is_coalesced: bool | None = None,
) -> Any:
    """Return the tensor with these values at these places, and zeros elsewhere; they must not want a gradient."""
    if check_invariants is None:
        warn_once(INVARIANTS)
    (numbers,) = to_arrays(torch.as_tensor(values, dtype=dtype))
    places = torch.as_tensor(indices)._array.astype(np.int64)
    shape = tuple(size) if size is not None else (*(places.max(1) + 1).tolist(), *numbers.shape[1:])
    refuse(
        len(shape) != len(places) + numbers.ndim - 1,
        f"'len(size) == sparse_dim + dense_dim' is not satisfied: len(size) = {len(shape)}, sparse_dim = "
        f"{len(places)}, dense_dim = {numbers.ndim - 1}",
    )
    for dim, (row, count) in enumerate(zip(places, shape, strict=False)):
        refuse(
            row.size and row.max() >= count,
            f"size is inconsistent with indices: for dim {dim}, size is {count} but found index {row.max(initial=0)}",
        )
    return sparse_tensor(places, numbers, shape, coalesced=bool(is_coalesced)).requires_grad_(requires_grad)


INVARIANTS = (
    "Sparse invariant checks are implicitly disabled. Memory errors (e.g. SEGFAULT) will occur when operating on a "
    "sparse tensor which violates the invariants, but checks incur performance overhead. To silence this warning, "
    "explicitly opt in or out. See `torch.sparse.check_sparse_tensor_invariants.__doc__` for guidance. "
)


def mm(mat1: Tensor, mat2: Tensor) -> Any:
    """Return the product of a sparse and a dense matrix."""
    return torch.mm(mat1, mat2)


spmm = mm


def addmm(mat: Tensor, mat1: Tensor, mat2: Tensor, *, beta: float = 1, alpha: float = 1) -> Any:
    """Return a matrix and the product of a sparse and a dense one."""
    return torch.addmm(mat, mat1, mat2, beta=beta, alpha=alpha)


def sum(input: Sparse, dim: int | None = None, dtype: dtypes.dtype | None = None) -> Any:
    """Return the sum of all elements, or a sparse tensor of those along a dim."""
    dense = input.to_dense()
    return dense.sum() if dim is None else to_sparse(dense.sum(dim))


class LookedUp:
    """The hook of a table of vectors: its gradient becomes a sparse tensor of the rows that were looked up."""

    def __init__(self) -> None:
        self.rows: list[tuple[Array, Array]] = []

    def __call__(self, weight: Tensor) -> None:
        """Make the gradient that was added a sparse one, or add its rows to those that are there."""
        grad: Any = weight.grad
        rows = [(grad._places[0], grad._numbers)] if isinstance(grad, Sparse) else []
        places, numbers = (np.concatenate(part) for part in zip(*rows, *self.rows, strict=True))
        self.rows.clear()
        weight._autograd_meta().grad = marked(grad._array, places[None], numbers, coalesced=False)


def note_rows(weight: Tensor, indices: Tensor, output: Tensor, padding_idx: int) -> None:
    """Let the gradient of a table be sparse, which has a row for each index that was looked up."""
    hooks = weight._autograd_meta().post_hooks
    own = next((hook for hook in hooks if isinstance(hook, LookedUp)), None)
    if own is None:
        hooks.append(own := LookedUp())
    flat, rows = indices._array.reshape(-1).astype(np.int64), own.rows
    keep = flat != padding_idx
    output.register_hook(lambda grad: rows.append((flat[keep], grad._array.reshape(len(flat), -1)[keep])))


def old_type(kind: dtypes.dtype, indices: Tensor, values: Tensor, size: Sequence[int] | None = None) -> Any:
    """Return a sparse tensor, as ``torch.sparse.FloatTensor`` makes it."""
    warn_once(
        "torch.sparse.SparseTensor(indices, values, shape, *, device=) is deprecated.  Please use "
        "torch.sparse_coo_tensor(indices, values, shape, dtype=, device=)."
    )
    return sparse_coo_tensor(indices, values.to(kind), size, check_invariants=False)


FloatTensor, DoubleTensor, LongTensor = (
    partial(old_type, kind) for kind in (dtypes.float32, dtypes.float64, dtypes.int64)
)
__getattr__ = absent("torch.sparse")
