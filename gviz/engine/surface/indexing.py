"""``x[key]``: a key is taken apart into select, slice, unsqueeze and index tensors, as PyTorch does."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from gviz.numbers import dtypes
from gviz.numbers.classes import is_pytorchs, type_text
from gviz.numbers.words import type_name, warn
from gviz.autograd.inplace import in_place
from gviz.autograd.row import TENSORS as call
from gviz.autograd.tensor import Tensor, from_array

__all__ = ["get_item", "set_item", "views_of"]

INT64_MAX = 2**63 - 1
INVALID = "only integers, slices (`:`), ellipsis (`...`), None and long or byte Variables are valid indices (got {})"
SEQUENCE = (
    "Using a non-tuple sequence for multidimensional indexing is deprecated and will be changed in pytorch 2.9; use "
    "x[tuple(seq)] instead of x[seq]. In pytorch 2.9 this will be interpreted as tensor index, x[torch.tensor(seq)], which "
    "will result either in an error or a different result"
)
LONGEST_TUPLE = 32
"""A list that is shorter and holds lists, slices, tensors, None or ... is taken as a tuple."""


def get_item(self: Tensor, key: Any) -> Any:
    """``x[key]``: ints select, slices slice, None adds a dimension, tensors, lists and masks gather."""
    result, indices = views_of(self, key)
    if indices is None:
        return result if result is not self else call["alias"](self)
    return call["index"](result, indices)


def views_of(self: Tensor, key: Any, *, writing: bool = False) -> tuple[Tensor, list[Any] | None]:
    """Apply the parts of a key that give views; what is left are index tensors, one per dimension, or None.

    Args:
        self: the tensor.
        key: what stands in the brackets.
        writing: whether the part is then written to; the whole tensor is then not viewed first.

    Returns:
        (the tensor after views, a list of index tensors and None, or None where there are none)

    Raises:
        IndexError: too many indices, or an index that does not fit.
        TypeError: an index of a type that PyTorch does not take.
    """
    if isinstance(key, slice):
        return sliced(self, 0, key, whole=not writing), None
    if is_integer(key):
        return selected(self, 0, operator.index(key), 0), None
    if not isinstance(key, tuple):
        if nested := is_nested(key):
            warn(SEQUENCE)
        key = key if nested else (key,)
    keys = [as_index(part) for part in key]
    return Taken(self, keys).apart()


class Taken:
    """A key being taken apart, from left to right.

    Args:
        tensor: what is indexed.
        keys: the parts of the key, lists made tensors.

    Raises:
        IndexError: there are more parts than dimensions.
    """

    def __init__(self, tensor: Tensor, keys: list[Any]) -> None:
        self.result = tensor
        self.keys = keys
        self.dim = 0  # of the result, for the next part
        self.indices: list[Any] = []
        self.left = tensor._array.ndim - sum(indexed_dims(one) for one in keys)
        if self.left < 0:
            raise IndexError(f"too many indices for tensor of dimension {tensor._array.ndim}")

    def apart(self) -> tuple[Tensor, list[Any] | None]:
        """Take each part; the views, and the index tensors."""
        for position, one in enumerate(self.keys):
            if one is Ellipsis:
                self.dim += self.left
            elif one is None:
                self.add_dim()
                self.dim += 1
            elif isinstance(one, bool):
                self.take_truth(one)
            elif isinstance(one, Tensor):
                self.take_tensor(one, position)
            elif isinstance(one, slice):
                self.result = sliced(self.result, self.dim, one, whole=False)
                self.dim += 1
            elif hasattr(one, "__index__") and not isinstance(one, np.bool_):
                self.result = selected(self.result, self.dim, operator.index(one), position)
            else:
                raise IndexError(INVALID.format(type_text(one)))
        return self.result, self.indices or None

    def add_dim(self) -> None:
        """A dimension of size one."""
        self.result = call["unsqueeze"](self.result, self.dim)

    def take_truth(self, truth: bool) -> None:
        """True or False: a new dimension that is kept or empty."""
        self.add_dim()
        self.take_index(from_array(np.array([0] if truth else [], np.int64), None), 1)

    def take_tensor(self, index: Tensor, position: int) -> None:
        """A tensor: a mask, indices, or one integer."""
        array = index._array
        if array.ndim == 0 and array.dtype.kind in "biu":
            if array.dtype.kind == "b" or array.dtype.name == "uint8":
                self.take_truth(bool(array))
            else:
                self.result = selected(self.result, self.dim, int(array), position)
            return
        if array.dtype.kind not in "biu":
            raise IndexError("tensors used as indices must be long, int, byte or bool tensors")
        self.take_index(index, indexed_dims(index))

    def take_index(self, index: Tensor, dims: int) -> None:
        """Note an index tensor for the dimension that is next."""
        self.indices += [None] * (self.dim - len(self.indices)) + [index]
        self.dim += dims


def is_integer(key: Any) -> bool:
    """Whether a key is one integer: no boolean, tensor or list."""
    if key.__class__ is int or not hasattr(key, "__index__"):
        return key.__class__ is int
    return not isinstance(key, (bool, Tensor, np.ndarray, np.bool_)) and not is_pytorchs(type(key))


def is_nested(key: Any) -> bool:
    """Whether a list, or a text, stands for a tuple."""
    if not isinstance(key, list | str) or len(key) >= LONGEST_TUPLE:
        return False
    return any(one is None or one is Ellipsis or isinstance(one, (list, tuple, str, slice, Tensor, np.ndarray)) for one in key)


def as_index(part: Any) -> Any:
    """A list, a range or an array as an index tensor; anything else as it is."""
    if isinstance(part, np.ndarray):
        return from_array(part if part.dtype.kind == "b" or part.dtype.name == "uint8" else part.astype(np.int64), None)
    if isinstance(part, (Tensor, dict, set)) or not hasattr(type(part), "__getitem__") or isinstance(part, np.generic):
        return part
    array = dtypes.infer(part)
    return from_array(array if array.dtype.kind == "b" or array.dtype.name == "uint8" else array.astype(np.int64), None)


def indexed_dims(part: Any) -> int:
    """How many dimensions of the tensor a part of a key takes."""
    if part is None or part is Ellipsis or isinstance(part, bool):
        return 0
    if isinstance(part, Tensor):
        if part._array.dtype.kind == "b":
            return int(part._array.ndim)
        if part._array.dtype.name == "uint8":
            warn("indexing with dtype torch.uint8 is now deprecated, please use a dtype torch.bool instead.")
            return int(part._array.ndim)
    return 1


def selected(tensor: Tensor, dim: int, position: int, real_dim: int) -> Tensor:
    """Select one position of a dimension. IndexError: it is out of range; the dimension is counted as in the key."""
    shape = tensor._array.shape
    if not shape and position == 0:
        raise IndexError(
            "invalid index of a 0-dim tensor. Use `tensor.item()` in Python or `tensor.item<T>()` in C++ to convert a 0-dim "
            "tensor to a number"
        )
    if not -INT64_MAX - 1 <= position <= INT64_MAX:
        raise ValueError("Overflow when unpacking long long")
    size = shape[dim] if dim < len(shape) else 0  # a second ellipsis leads past the last dimension
    if not -size <= position < size:
        raise IndexError(f"index {position} is out of bounds for dimension {real_dim} with size {size}")
    found: Tensor = call["select"](tensor, dim, position)
    return found


def sliced(tensor: Tensor, dim: int, part: slice, *, whole: bool) -> Tensor:
    """Slice a dimension; the tensor itself where that leaves all of it, unless the slice is the whole key.

    Raises:
        IndexError: there is no dimension.
        TypeError: bounds that are no integers.
        ValueError: a step that is not positive.
    """
    part.indices(0)  # checks the types, and refuses a step of 0
    step = 1 if part.step is None else operator.index(part.step)
    if step < 0:
        raise ValueError("step must be greater than zero")
    shape = tensor._array.shape
    if not shape:
        raise IndexError("slice() cannot be applied to a 0-dim tensor.")
    start = 0 if part.start is None else operator.index(part.start)
    stop = INT64_MAX if part.stop is None else operator.index(part.stop)
    if not whole and start == 0 and stop >= max(shape[dim : dim + 1], default=0) and step == 1:
        return tensor
    found: Tensor = call["slice_row"](tensor, dim, start, stop, step)
    return found


def set_item(tensor: Tensor, key: Any, value: Any) -> None:
    """``tensor[key] = value``: through a view where the key gives one, else as ``index_put_``."""
    source = value if isinstance(value, Tensor) else from_array(number_array(value, tensor), None)
    part, indices = views_of(tensor, key, writing=True)
    if indices is None:
        copy_to(part, source)
        return
    source = without_leading_ones(source, always=False)
    in_place(call["index_put"], part, indices, source, False)


def number_array(value: Any, tensor: Tensor) -> Any:
    """A number of Python's as the 0-d array that is assigned."""
    if not isinstance(value, (bool, int, float, complex, np.integer)):
        raise TypeError(f"can't assign a {type_text(value)} to a {type_name(tensor._array.dtype)}")
    return np.asarray(dtypes.number(value, tensor._array.dtype))


def copy_to(part: Tensor, source: Tensor) -> None:
    """Write a tensor into a view: as it is, everywhere, or expanded without its leading ones."""
    shape = part._array.shape
    if source._array.shape != shape:
        if not source._array.ndim:
            in_place(call["fill_tensor"], part, source)
            return
        source = without_leading_ones(source, always=True)
        if source._array.shape != shape:
            source = call["expand"](source, shape)
    in_place(call["copy_into"], part, source)


def without_leading_ones(source: Tensor, *, always: bool) -> Tensor:
    """The tensor without its first dimensions of size one, as a view (made anyway if so asked)."""
    have = source._array.shape
    first = next((i for i, size in enumerate(have) if size != 1), len(have))
    shorter: Tensor = call["view"](source, have[first:]) if first or always else source
    return shorter


METHODS: dict[str, Any] = {"__getitem__": get_item, "__setitem__": set_item}
