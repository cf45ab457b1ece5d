"""Tensors in another dtype, on another device, or of another class."""

from __future__ import annotations

from typing import Any

from gviz.autograd.row import TENSORS as call, named
from gviz.autograd.tensor import Tensor
from gviz.engine.device import check_device
from gviz.numbers import dtypes
from gviz.numbers.words import refuse, type_name


@named(".to")
def to(
    self: Tensor, *args: object, dtype: object = None, device: object = None, copy: bool = False, **_: object
) -> Tensor:
    """Return the tensor in another dtype; itself if nothing changes."""
    flags = [arg for arg in args if isinstance(arg, bool)]
    copy = flags[1] if len(flags) > 1 else copy  # the first is non_blocking
    for arg in args:
        if isinstance(arg, dtypes.dtype | type | Tensor):
            dtype = arg.dtype if isinstance(arg, Tensor) else arg
        elif not isinstance(arg, bool):
            device = arg
    check_device(device)
    kind = self._array.dtype if dtype is None else dtypes.as_dtype(dtype).np
    return call["to_dtype"](self, kind) if copy or kind != self._array.dtype else self


def caster(dtype: object) -> Any:
    """Return ``x.double()`` and its kin; of no dtype ``x.cpu()``, where everything is."""

    def cast(self: Tensor, *, memory_format: Format = None) -> Tensor:
        return to(self, dtype)

    return cast


for word, kind in {
    "float": dtypes.float32, "double": dtypes.float64, "half": dtypes.float16, "long": dtypes.int64,
    "int": dtypes.int32, "short": dtypes.int16, "byte": dtypes.uint8, "char": dtypes.int8, "bool": dtypes.bool_,
    "cpu": None,
}.items():  # fmt: skip
    named(f".{word}")(caster(kind))


@named(".type")
def in_type(self: Tensor, dtype: object = None, non_blocking: bool = False) -> Any:
    """Return the old name of the tensor's type, or the tensor in another dtype."""
    if dtype is None:
        return type_name(self._array.dtype)
    wanted = {type_name(each.np): each for each in dtypes.ALL}.get(dtype) if isinstance(dtype, str) else dtype
    wanted = getattr(wanted, "legacy_dtype", wanted)
    refuse(not isinstance(wanted, dtypes.dtype), f"invalid type: '{dtype}'", ValueError)
    return to(self, wanted)


named(".type_as")(lambda self, other: to(self, other.dtype))
named(".cuda")(lambda self, *_, **__: to(self, "cuda"))


def make_subclass(cls: type, data: Tensor, require_grad: bool = False) -> Tensor:
    """Return a leaf of another class on the same memory."""
    made = data.detach().requires_grad_(require_grad)
    made.__class__ = cls
    return made


Tensor._make_subclass = staticmethod(make_subclass)  # type: ignore[attr-defined]
