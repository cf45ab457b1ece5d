"""Other dtypes, and tensors made after the model of one."""

from __future__ import annotations

from typing import Any

import numpy as np

from gviz.engine.device import FORMATS, STRIDED, check_device, suggested
from gviz.numbers import dtypes
from gviz.numbers.classes import type_text
from gviz.numbers.words import type_name
from gviz.autograd.row import TENSORS as call
from gviz.ops.copies import filled
from gviz.engine.surface import creation
from gviz.autograd.tensor import Tensor


def to(
    self: Tensor, *args: Any, dtype: Any = None, device: Any = None, copy: bool = False, non_blocking: bool = False,
    memory_format: Any = None,
) -> Tensor:  # fmt: skip
    """In another dtype; the tensor itself where nothing changes."""
    flags = [arg for arg in args if isinstance(arg, bool)]
    copy = flags[1] if len(flags) > 1 else copy  # the first is non_blocking
    for arg in args:
        if isinstance(arg, dtypes.dtype | type):
            dtype = arg
        elif isinstance(arg, Tensor):
            dtype = arg.dtype
        elif not isinstance(arg, bool):
            device = arg
    if device is not None:
        check_device(device)
    kind = self._array.dtype if dtype is None else dtypes.as_dtype(dtype).np
    if kind == self._array.dtype and not copy and memory_format in {None, FORMATS["preserve_format"], suggested(self._array)}:
        return self
    return call["to_dtype"](self, kind, memory_format)


def caster(dtype: Any) -> Any:
    """``x.double()`` and its kin."""

    def cast(self: Tensor, *, memory_format: Any = None) -> Tensor:
        return to(self, dtype, memory_format=memory_format)

    return cast


def type_method(self: Tensor, dtype: Any = None) -> Any:
    """The old type name, or the tensor in another dtype."""
    if dtype is None:
        return type_name(self._array.dtype)
    if dtype in (int, float, bool, complex):
        raise ValueError(f"invalid type: '{dtype.__name__}'")
    if isinstance(dtype, str):
        for each in dtypes.ALL:
            if type_name(each.np) == dtype:
                return to(self, each)
        raise ValueError(f"invalid type: '{dtype}'")
    wanted = getattr(dtype, "legacy_dtype", dtype)
    if not isinstance(wanted, dtypes.dtype):
        raise TypeError("dtype must be a type, str, or dtype object")
    return to(self, wanted)


def clone(input: Tensor, *, memory_format: Any = None) -> Tensor:
    """A copy, on request in another order in memory."""
    return call["clone"](input) if memory_format is None else call["clone_in"](input, memory_format)


def itself(self: Tensor, *, memory_format: Any = None) -> Tensor:
    """``x.cpu()``: everything is on the CPU."""
    return self


def cuda(self: Tensor, device: Any = None, non_blocking: bool = False) -> Tensor:
    """On the GPU, which is not there: PyTorch without CUDA refuses it like this."""
    raise AssertionError("Torch not compiled with CUDA enabled")


def type_as(self: Tensor, other: Tensor) -> Tensor:
    """In the dtype of another tensor."""
    return to(self, other.dtype)


def subclass_of_tensors(cls: Any) -> type[Tensor]:
    """A class as it is, if its objects are tensors."""
    if not isinstance(cls, type):
        raise TypeError(f"cls must be a type (got {type_text(cls)})")
    if not issubclass(cls, Tensor):
        raise TypeError(
            "Creating a Tensor subclass from a class that does not inherit from Tensor is not possible. Make sure your class "
            "inherits from Tensor."
        )
    return cls


def as_subclass(self: Tensor, cls: Any) -> Tensor:
    """A view of everything, of another class."""
    kind = subclass_of_tensors(cls)
    made: Tensor = call["alias"](self)
    made.__class__ = kind
    return made


def make_subclass(cls: Any, data: Any, require_grad: bool = False) -> Tensor:
    """A leaf of another class on the same memory."""
    kind = subclass_of_tensors(cls)
    if not isinstance(data, Tensor):
        raise TypeError(f"_make_subclass(): argument 'data' (position 2) must be Tensor, not {type_text(data)}")
    made = data.detach().requires_grad_(require_grad)
    made.__class__ = kind
    return made


def is_tensor(obj: Any) -> bool:
    """Whether it is a tensor."""
    return isinstance(obj, Tensor)


def new_filled(fill: float) -> Any:
    """``x.new_zeros(2, 3)`` and its kin: a tensor of the same dtype."""

    def make(
        self: Tensor, *size: Any, dtype: Any = None, requires_grad: bool = False, device: Any = None, layout: Any = None,
        pin_memory: bool = False,
    ) -> Tensor:  # fmt: skip
        kind = self._array.dtype if dtype is None else dtypes.as_dtype(dtype).np
        return creation.finish(filled(np.empty(creation.sizes(size), kind), fill), requires_grad, device)

    return make


def asked(question: Any) -> Any:
    """A method of the tensor as a function, which names its argument ``input``."""

    def ask(input: Tensor) -> Any:
        return question(input)

    return ask


BOTH: dict[str, Any] = {"clone": clone}

METHODS: dict[str, Any] = {
    **{f"is_{what}": property(lambda _: False) for what in ("cuda", "sparse", "quantized", "mkldnn", "meta")},
    "layout": property(lambda _: STRIDED), "itemsize": property(Tensor.element_size),
    "as_subclass": as_subclass, "_make_subclass": staticmethod(make_subclass),
    "nbytes": property(lambda self: self._array.nbytes),
    "to": to, "type": type_method, "type_as": type_as, "cpu": itself, "cuda": cuda,
    "new_zeros": new_filled(0), "new_ones": new_filled(1),
    "float": caster(dtypes.float32), "double": caster(dtypes.float64), "half": caster(dtypes.float16),
    "long": caster(dtypes.int64), "int": caster(dtypes.int32), "short": caster(dtypes.int16),
    "byte": caster(dtypes.uint8), "char": caster(dtypes.int8), "bool": caster(dtypes.bool),
}  # fmt: skip

FUNCTIONS: dict[str, Any] = {
    "is_tensor": is_tensor,
    **{name: asked(getattr(Tensor, name)) for name in ("numel", "is_floating_point", "is_complex", "is_inference")},
}  # fmt: skip
