"""Shapes, indexing, joining, splitting and matrix products: which row each call form means."""

from __future__ import annotations

from operator import index
from typing import TYPE_CHECKING, Any

import numpy as np

from gviz.ops.shape import VIEWS
from gviz.engine.surface.public import public
from gviz.numbers import dtypes
from gviz.numbers.classes import type_text
from gviz.numbers.shapes import wrap_dim
from gviz.numbers.words import warn_once
from gviz.autograd.row import TENSORS as call
from gviz.engine.surface.indexing import get_item

if TYPE_CHECKING:
    from gviz.autograd.tensor import Tensor


def listed(given: tuple[Any, ...]) -> tuple[Any, ...]:
    """``(a, b)`` from ``a, b`` or from ``(a, b)``. TypeError: one of several is no tensor."""
    tensors = tuple(given[0]) if len(given) == 1 and isinstance(given[0], list | tuple) else given
    for i, one in enumerate(tensors):
        if not hasattr(one, "_array"):
            raise TypeError(f"expected Tensor as element {i} in argument 0, but got {type_text(one)}")
    return tensors


def flat_sizes(size: tuple[Any, ...]) -> tuple[Any, ...]:
    """``(2, 3)`` from ``2, 3`` or from ``(2, 3)``. TypeError: nothing was given."""
    if len(size) != 1:
        if not size:
            raise TypeError("no sizes")
        return size
    if isinstance(size[0], list | tuple):
        return tuple(size[0])
    if isinstance(size[0], bool):
        raise TypeError("a flag is no size")
    return (index(size[0]),)


SIZES = {"size", "shape", "dims", "repeats"}
"""What PyTorch calls the sizes, where they are named."""


def sized(key: str) -> Any:
    """``reshape``, ``view``, ``permute``, ``expand``, ``repeat``: numbers one by one, or as one tuple."""

    def method(input: Tensor, *size: Any, **named: Any) -> Tensor:
        if key == "view" and isinstance((*size, *named.values(), None)[0], dtypes.dtype):
            raise NotImplementedError("views of another dtype are not in gviz's engine; run with --engine torch")
        if named and not size and named.keys() <= SIZES:
            size = tuple(named.values())
        elif named:
            raise TypeError
        return call[key](input, flat_sizes(size))

    return method


def sum_to_size(self: Tensor, *size: Any) -> Tensor:
    """Summed to a shape that could be broadcast to this one. RuntimeError: it could not."""
    wanted, have = flat_sizes(size), self._array.shape
    if len(wanted) > len(have) or any(n not in (1, m) for n, m in zip(wanted[::-1], have[::-1], strict=False)):
        raise RuntimeError(f"size {{{list(wanted)}}} is not expandable to size {{{list(have)}}}.")
    return call["sum_to"](self, wanted)


def sized_as(key: str) -> Any:
    """``reshape_as``, ``view_as``, ``expand_as``: the shape is that of another tensor."""

    def method(self: Tensor, other: Tensor) -> Tensor:
        return call[key](self, other._array.shape)

    return method


def squeezing(end: str) -> Any:
    """``squeeze``, or the form that copies: without dimensions of size one: all, or those named."""

    def squeeze(input: Tensor, dim: Any = None) -> Tensor:
        if dim is None:
            return call[f"squeeze_all{end}"](input)
        return call[f"squeeze_{'dims' if isinstance(dim, list | tuple) else 'dim'}{end}"](input, dim)

    return squeeze


def flatten(input: Tensor, start_dim: int = 0, end_dim: int = -1) -> Tensor:
    """Dimensions from start to end made one. RuntimeError: start lies after end."""
    shape = input._array.shape
    first, last = wrap_dim(start_dim, len(shape)), wrap_dim(end_dim, len(shape))
    if not shape:
        return call["reshape"](input, (1,))
    if first > last:
        raise RuntimeError("flatten() has invalid args: start_dim cannot come after end_dim")
    if first == last:
        return input
    return call["reshape"](input, (*shape[:first], int(np.prod(shape[first : last + 1])), *shape[last + 1 :]))


def ravel(input: Tensor) -> Tensor:
    """One dimension."""
    return call["view"](contiguous(input), (-1,))


def tensor_list(name: str, tensors: Any) -> list[Any]:
    """The tensors of a list or tuple, which holds nothing else."""
    if not isinstance(tensors, list | tuple):
        given = type_text(tensors)
        raise TypeError(f"{name}(): argument 'tensors' (position 1) must be tuple of Tensors, not {given}")
    for i, one in enumerate(tensors):
        if not hasattr(one, "_array"):
            raise TypeError(f"expected Tensor as element {i} in argument 0, but got {type_text(one)}")
    return list(tensors)


def cat(tensors: Any, dim: int = 0, *, axis: Any = None) -> Tensor:
    """Tensors joined along a dimension they have."""
    return call["cat"](tensor_list("cat", tensors), dim if axis is None else axis)


def block_diag(*tensors: Tensor) -> Tensor:
    """Matrices one after another on the diagonal of zeros."""
    return call["block_diag"](list(listed(tensors)))


def pieces(input: Tensor, split_size: int, dim: int = 0) -> Any:
    """Pieces of a size."""
    return call["split_size"](input, split_size, dim)


def pieces_of(input: Tensor, split_sizes: Any, dim: int = 0) -> Any:
    """Pieces of several sizes."""
    if not isinstance(split_sizes, list | tuple):
        raise TypeError("no sizes")
    return call["split_with_sizes"](input, tuple(split_sizes), dim)


INNER = {
    "split": public(pieces, "split", method=False, place="_VF."),
    "split_with_sizes": public(pieces_of, "split_with_sizes", method=False),
}
"""What Python's ``split`` calls, as in PyTorch: built-in functions, with refusals of their own."""


def split_method(self: Tensor, split_size: Any, dim: int = 0) -> Any:
    """Pieces of a size, or of several sizes."""
    if hasattr(split_size, "_array") and split_size._array.size == 1:
        split_size = int(split_size)
    return INNER["split" if isinstance(split_size, int) else "split_with_sizes"](self, split_size, dim)


def split(tensor: Tensor, split_size_or_sections: Any, dim: int = 0) -> Any:
    """The same as a function."""
    return split_method(tensor, split_size_or_sections, dim)


def chunker(sized: str, several: str) -> Any:
    """``chunk``, or ``unsafe_chunk``: that many pieces of about the same size. RuntimeError: no pieces asked for."""

    def chunk(input: Tensor, chunks: int, dim: int = 0) -> Any:
        if not input._array.ndim:
            raise RuntimeError("chunk expects at least a 1-dimensional tensor")
        if chunks <= 0:
            raise RuntimeError(f"chunk expects `chunks` to be greater than 0, got: {chunks}")
        length = input._array.shape[wrap_dim(dim, input._array.ndim)]
        if not length:
            return call[several](input, (0,) * chunks, dim)
        return call[sized](input, -(-length // chunks), dim)

    return chunk


def tensor_split(input: Tensor, indices_or_sections: Any, dim: int = 0, *, indices: Any = None, sections: Any = None) -> Any:
    """That many pieces whose sizes differ by at most one, or pieces cut at those places.

    Raises:
        RuntimeError: nothing to cut, or no pieces asked for.
    """
    shape = input._array.shape
    if not shape:
        raise RuntimeError("tensor_split expected at least a 1-dimensional tensor, but got a tensor with 0 dims")
    dim = wrap_dim(dim, len(shape))
    length = shape[dim]
    if hasattr(indices_or_sections, "_array"):
        indices_or_sections = indices_or_sections._array.tolist()
    if isinstance(indices_or_sections, int):
        count = indices_or_sections
        if count <= 0:
            raise RuntimeError(f"number of sections must be larger than 0, got {count}")
        cuts = [i * (length // count) + min(i, length % count) for i in range(1, count)]
    else:
        cuts = list(indices_or_sections)
    return tuple(call["slice_row"](input, dim, a, b, 1) for a, b in zip([0, *cuts], [*cuts, length], strict=True))


def splitter(name: str, dim: int, least: int) -> Any:
    """``hsplit`` and its kin: :func:`tensor_split` along a fixed dim, into pieces of one size."""

    def cut(input: Tensor, indices_or_sections: Any) -> Any:
        ndim = input._array.ndim
        if ndim < least:
            raise RuntimeError(
                f"torch.{name} requires a tensor with at least {least} dimension, but got a tensor with {ndim} dimensions!"
            )
        if hasattr(indices_or_sections, "_array") and indices_or_sections._array.ndim:
            raise TypeError("numbers, not a tensor")
        along = min(dim, ndim - 1)
        if isinstance(indices_or_sections, int):
            length = input._array.shape[along]
            if indices_or_sections <= 0 or length % indices_or_sections:
                raise RuntimeError(
                    f"torch.{name} attempted to split along dimension {along}, but the size of the dimension {length} is not "
                    f"divisible by the split_size {indices_or_sections}!"
                )
        return tensor_split(input, indices_or_sections, along)

    return cut


def contiguous(self: Tensor, *, memory_format: Any = None) -> Tensor:
    """The tensor itself, or a copy in the order of the indices."""
    if memory_format is not None:
        return self if memory_format.holds(self._array) else call["clone_in"](self, memory_format)
    return self if self._array.flags.c_contiguous else call["clone_contiguous"](self)


def property_t(self: Tensor) -> Tensor:
    """``x.T``: the dimensions in reverse."""
    if self._array.ndim not in (0, 2):
        warn_once(
            "The use of `x.T` on tensors of dimension other than 2 to reverse their shape is deprecated and it will throw an "
            "error in a future release. Consider `x.mT` to transpose batches of matrices or "
            "`x.permute(*torch.arange(x.ndim - 1, -1, -1))` to reverse the dimensions of a tensor."
        )
    return call["permute"](self, tuple(reversed(range(self._array.ndim))))


def exchanged(name: str) -> Any:
    """``mT``, ``mH``, ``H`` and ``adjoint()``: the last two dimensions exchanged; a 0-d tensor is given back as it is."""

    def exchange(input: Tensor) -> Tensor:
        ndim = input._array.ndim
        if not ndim:
            return input
        if name == "H" and ndim != 2:
            more = " For batches of matrices, consider using tensor.mH" if ndim > 2 else ""
            raise RuntimeError(f"tensor.H is only supported on matrices (2-D tensors). Got {ndim}-D tensor.{more}")
        if ndim == 1:
            raise RuntimeError(f"tensor.{name} is only supported on matrices or batches of matrices. Got 1-D tensor.")
        return call["transpose"](input, -2, -1)

    return exchange


BOTH: dict[str, Any] = {
    "t": "t", "transpose": "transpose", "swapaxes": "transpose", "swapdims": "transpose", "unsqueeze": "unsqueeze",
    "unbind": "unbind", "split_with_sizes": "split_with_sizes",
    "unsafe_split": "unsafe_split", "unsafe_split_with_sizes": "unsafe_split_with_sizes",
    "mm": "mm", "mv": "mv", "dot": "dot", "bmm": "bmm", "matmul": "matmul",
    "squeeze": squeezing(""), "flatten": flatten, "ravel": ravel,
    "chunk": chunker("split_size", "split_with_sizes"),
    "unsafe_chunk": chunker("unsafe_split", "unsafe_split_with_sizes"),
    "tensor_split": tensor_split,
    "hsplit": splitter("hsplit", 1, 1), "vsplit": splitter("vsplit", 0, 2), "dsplit": splitter("dsplit", 2, 3),
    "adjoint": exchanged("adjoint()"),
}  # fmt: skip

METHODS: dict[str, Any] = {
    "expand_as": sized_as("expand"), "view_as": sized_as("view"),
    "reshape_as": sized_as("reshape"), "sum_to_size": sum_to_size, "split": split_method,
    "contiguous": contiguous, "__getitem__": get_item, "T": property(property_t), "mT": property(exchanged("mT")),
    "mH": property(exchanged("mH")), "H": property(exchanged("H")),
}  # fmt: skip

FUNCTIONS: dict[str, Any] = {
    **{f"{key.removesuffix('_row').removesuffix('_size')}_copy": f"{key}_copy" for key in VIEWS if "squeeze_" not in key},
    "squeeze_copy": squeezing("_copy"), "view_copy": "view_copy", "split": split,
    "block_diag": block_diag,
}  # fmt: skip
