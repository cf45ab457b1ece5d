"""``torch.storage``: the memory of a tensor, which its views share, as a row of numbers or of bytes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from gviz.autograd.inplace import reshape_in_place
from gviz.autograd.tensor import Tensor, from_array
from gviz.engine.device import Device
from gviz.numbers import dtypes
from gviz.numbers.shapes import element_strides
from gviz.numbers.types import Array
from gviz.numbers.words import absent, refuse, warn_once
from gviz.ops.shape import flat_memory

__all__ = ["TypedStorage", "UntypedStorage"]

DEPRECATED = (
    "TypedStorage is deprecated. It will be removed in the future and UntypedStorage will be the only storage class. "
    "This should only matter to you if you are using storages directly.  To access UntypedStorage directly, use "
    "tensor.untyped_storage() instead of tensor.storage()"
)


class UntypedStorage:
    """The bytes of a tensor and of all that share them."""

    device, is_cuda, is_sparse = property(lambda self: Device(self._array.device)), False, False

    def __init__(self, array: Array) -> None:
        self._array = array

    def __len__(self) -> int:
        return len(self._array)

    def __getitem__(self, place: int | slice) -> Any:
        return type(self)(self._array[place]) if isinstance(place, slice) else self._array[place].item()

    def __setitem__(self, place: int | slice, value: object) -> None:
        self._array[place] = value

    def __iter__(self) -> Iterator[Any]:
        return iter(self._array.tolist())

    def __repr__(self) -> str:
        numbers = "...\n" if dtypes.is_meta(self._array) else "".join(f" {number}\n" for number in self._array.tolist())
        name = f"{type(self).__module__}.{type(self).__name__}"
        return f"{numbers}[{name}({self.kind}device={self.device}) of size {len(self)}]"

    kind, size = property(lambda self: ""), __len__

    def data_ptr(self) -> int:
        """Return the address of the first element."""
        return 0 if dtypes.is_meta(self._array) else int(self._array.ctypes.data)

    def nbytes(self) -> int:
        """Return the bytes."""
        return int(self._array.nbytes)

    def tolist(self) -> list[Any]:
        """Return the numbers."""
        return list(self)


class TypedStorage(UntypedStorage):
    """The numbers of a tensor and of all that share them."""

    dtype = property(lambda self: dtypes.of(self._array.dtype))
    kind = property(lambda self: f"dtype={self.dtype}, ")

    def untyped(self) -> UntypedStorage:
        """Return its bytes."""
        return UntypedStorage(self._array.view(np.uint8))


for own in (UntypedStorage, TypedStorage):
    own.__module__ = "torch.storage"


def memory(tensor: Tensor) -> Any:
    """Return the memory that a tensor is on, as one dim."""
    return flat_memory((tensor if tensor._base is None else tensor._base)._array)


def storage(self: Tensor) -> TypedStorage:
    """Return the memory as numbers."""
    warn_once(DEPRECATED)
    return TypedStorage(memory(self))


def untyped_storage(self: Tensor) -> UntypedStorage:
    """Return the memory as bytes."""
    return TypedStorage(memory(self)).untyped()


def set_(
    self: Tensor,
    source: Tensor | UntypedStorage | None = None,
    storage_offset: int = 0,
    size: Sequence[int] | None = None,
    stride: Sequence[int] | None = None,
) -> Tensor:
    """Put a tensor on the memory of another one, or on a storage."""
    if isinstance(source, Tensor) and size is None:
        array = source._array
    else:
        flat: Any = np.empty(0, self._array.dtype) if source is None else getattr(source, "_array", None)
        flat = memory(source) if isinstance(source, Tensor) else flat
        refuse(flat is None, "set_(): argument 'source' must be a Tensor or a Storage", TypeError)
        sizes = (len(flat) - storage_offset,) if size is None else tuple(size)
        steps = element_strides(np.empty(sizes)) if stride is None else stride
        array = from_array(flat, None).as_strided(sizes, steps, storage_offset)._array
    return reshape_in_place(lambda _: from_array(array, None), self)


def as_strided_(self: Tensor, size: Sequence[int], stride: Sequence[int], storage_offset: int | None = None) -> Tensor:
    """Let a tensor be other places of its memory."""
    return reshape_in_place(lambda x: x.as_strided(size, stride, storage_offset), self)


__getattr__ = absent("torch.storage")
