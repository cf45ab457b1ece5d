"""``x[key]`` and ``x[key] = value``: a key becomes select, slice, unsqueeze and index tensors, as in PyTorch."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from gviz.autograd.inplace import in_place
from gviz.autograd.row import TENSORS as call
from gviz.autograd.tensor import Tensor, from_array
from gviz.numbers import dtypes, unpack
from gviz.numbers.classes import type_text
from gviz.numbers.words import refuse, type_name, warn

INT64_MAX = 2**63 - 1
SEQUENCE = (
    "Using a non-tuple sequence for multidimensional indexing is deprecated and will be changed in pytorch 2.9; use "
    "x[tuple(seq)] instead of x[seq]. In pytorch 2.9 this will be interpreted as tensor index, x[torch.tensor(seq)], "
    "which will result either in an error or a different result"
)
LONGEST_TUPLE = 32
"""A list that is shorter and holds lists, slices, tensors, None or ... is taken as a tuple."""


def get_item(self: Tensor, key: object) -> Any:
    """Return ``x[key]``: ints select, slices slice, None adds a dimension, tensors, lists and masks gather."""
    result, indices = taken_apart(self, key)
    if indices is None:
        return result if result is not self else call["alias"](self)
    return call["index"](result, indices)


def set_item(tensor: Tensor, key: object, value: Any) -> None:
    """Do ``x[key] = value``: write through a view where the key gives one, else as ``index_put_``."""
    if not isinstance(value, Tensor):
        if not isinstance(value, int | float | complex | np.integer):
            raise TypeError(f"can't assign a {type_text(value)} to a {type_name(tensor._array.dtype)}")
        value = from_array(np.asarray(dtypes.number(value, tensor._array.dtype, is_alone=True)), None)
    if key is False:  # writes nothing, and makes no node
        return
    part, indices = taken_apart(tensor, key, writing=True)
    if indices is not None:
        in_place(call["index_put"], part, indices, without_leading_ones(value, always=False), False)
        return
    shape = part._array.shape
    if value._array.shape != shape:
        if not value._array.ndim:
            in_place(call["fill_tensor"], part, value)
            return
        value = without_leading_ones(value, always=True)
        value = value if value._array.shape == shape else call["expand"](value, shape)
    in_place(call["copy_into"], part, value)


def without_leading_ones(source: Tensor, *, always: bool) -> Any:
    """Return a view of a tensor without its first dimensions of size one.

    Itself if there are none, but for ``always``.
    """
    have = source._array.shape
    first = next((i for i, size in enumerate(have) if size != 1), len(have))
    return call["view"](source, have[first:]) if first or always else source


# ------------------------------------------------------------------ keys
def taken_apart(tensor: Tensor, key: Any, *, writing: bool = False) -> tuple[Tensor, list[Any] | None]:
    """Return the tensor after the parts of a key that give views, and the index tensors that are left.

    None if there are none.

    They are a list, with None for each dimension that is taken whole. A tensor that is written to is not viewed first.
    """
    if isinstance(key, slice):
        return sliced(tensor, 0, key, whole=not writing), None
    if key.__class__ is int:
        return selected(tensor, 0, key, 0), None
    text = len(key) if isinstance(key, str) else 0  # taken for so many indices
    if not isinstance(key, tuple):
        if nested := text or is_nested(key):
            warn(SEQUENCE)
        key = tuple(key) if nested else (key,)
    parts = [as_index(part) for part in key] if text <= tensor._array.ndim else []
    free_dims = tensor._array.ndim - (text or sum(indexed_dims(part) for part in parts))
    if free_dims < 0:
        raise IndexError(f"too many indices for tensor of dimension {tensor._array.ndim}")
    dim, indices = 0, list[Any]()
    for position, part in enumerate(parts):
        if part is Ellipsis:
            dim += free_dims
        elif part is None:
            tensor = call["unsqueeze"](tensor, dim)
            dim += 1
        elif isinstance(part, slice):
            tensor = sliced(tensor, dim, part, whole=False)
            dim += 1
        elif isinstance(part, int):
            tensor = selected(tensor, dim, part, position)
        else:
            if not part._array.ndim:  # a truth value: a new dimension that is kept or empty
                tensor = call["unsqueeze"](tensor, dim)
                part = from_array(np.zeros(int(part._array), np.int64), None)  # noqa: PLW2901
            indices += [None] * (dim - len(indices)) + [part]
            dim += indexed_dims(part)
    return tensor, indices or None


def is_nested(key: object) -> bool:
    """Return whether a list stands for a tuple."""
    return (
        isinstance(key, list)
        and len(key) < LONGEST_TUPLE
        and any(
            one is None or one is Ellipsis or isinstance(one, list | tuple | slice | Tensor | np.ndarray) for one in key
        )
    )


def as_index(part: Any) -> Any:
    """Return a part of a key as None, an ellipsis, a slice, an int, a truth value (0-d) or an index tensor."""
    if part is None or part is Ellipsis or isinstance(part, slice):
        return part
    if isinstance(part, bool | np.bool_):
        return from_array(np.asarray(part), None)
    if isinstance(part, Tensor):
        array = part._array
        if array.dtype == np.uint8:
            warn("indexing with dtype torch.uint8 is now deprecated, please use a dtype torch.bool instead.")
            return from_array(array.astype(bool), None)
        refuse(
            array.dtype.kind not in "bi", "tensors used as indices must be long, int, byte or bool tensors", IndexError
        )
        return int(array) if not array.ndim and array.dtype.kind == "i" else part
    if isinstance(part, np.ndarray | list | tuple | range):
        array = unpack.infer(part)
        return as_index(from_array(array if array.dtype in (np.bool_, np.uint8) else array.astype(np.int64), None))
    refuse(isinstance(part, str), "new(): invalid data type 'str'", TypeError)
    if not hasattr(part, "__index__"):
        raise IndexError(
            "only integers, slices (`:`), ellipsis (`...`), None and long or byte Variables are valid indices (got "
            f"{type_text(part)})"
        )
    return operator.index(part)


def indexed_dims(part: object) -> int:
    """Return how many dimensions of the tensor a part of a key takes."""
    if part is None or part is Ellipsis:
        return 0
    return int(part._array.ndim) if isinstance(part, Tensor) and part._array.dtype.kind == "b" else 1


def selected(tensor: Tensor, dim: int, position: int, real_dim: int) -> Tensor:
    """Select one position of a dimension; refuse one that is out of range: the dimension is counted as in the key."""
    shape = tensor._array.shape
    refuse(
        not shape,
        "invalid index of a 0-dim tensor. Use `tensor.item()` in Python or `tensor.item<T>()` in C++ to convert "
        "a 0-dim tensor to a number",
        IndexError,
    )
    size = shape[dim] if dim < len(shape) else 0  # a second ellipsis leads past the last dimension
    if not -size <= position < size:
        raise IndexError(f"index {position} is out of bounds for dimension {real_dim} with size {size}")
    return call["select"](tensor, dim, position)


def sliced(tensor: Tensor, dim: int, part: slice, *, whole: bool) -> Tensor:
    """Slice a dimension; return the tensor itself if that leaves all of it, unless the slice is the whole key."""
    part.indices(0)  # checks the types, and refuses a step of 0
    start, stop, step = (
        default if bound is None else operator.index(bound)
        for bound, default in ((part.start, 0), (part.stop, INT64_MAX), (part.step, 1))
    )
    refuse(step < 0, "step must be greater than zero", ValueError)
    shape = tensor._array.shape
    refuse(not shape, "slice() cannot be applied to a 0-dim tensor.", IndexError)
    if not whole and start == 0 and stop >= max(shape[dim : dim + 1], default=0) and step == 1:
        return tensor
    return call["slice_row"](tensor, dim, start, stop, step)
