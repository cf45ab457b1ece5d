"""Parameters: tensors that a module finds when they are assigned to it."""

from __future__ import annotations

from typing import Any

import numpy as np

from gviz.numbers.classes import type_text
from gviz.numbers.dtypes import as_dtype, get_default_dtype
from gviz.numbers.printing import parameter_text
from gviz.numbers.words import absent
from gviz.engine.surface.creation import sizes
from gviz.autograd.tensor import Tensor, from_array

__all__ = ["Buffer", "Parameter", "filled"]


class Parameter(Tensor):
    """A tensor that is trained, on the memory of another: assigned to a module, it is one of its parameters."""

    __slots__ = ()
    __module__ = "torch.nn.parameter"

    def __new__(cls, data: Tensor | None = None, requires_grad: bool = True) -> Any:
        """A leaf on the same memory."""
        if data is not None and not isinstance(data, Tensor):
            raise AttributeError(f"'{type_text(data)}' object has no attribute 'detach'")
        if data is not None and requires_grad and data._array.dtype.kind not in "fc":
            raise RuntimeError("Only Tensors of floating point and complex dtype can require gradients")
        made = object.__new__(cls)
        made._array = np.empty(0, np.float32) if data is None else data._array
        made._edge = made._rare = made._version_cell = None
        if data is not None and data.is_inference():
            made.rare().inference = True
        made
        made.requires_grad_(requires_grad)
        return made

    def __repr__(self) -> str:
        return parameter_text(super().__repr__())

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        if id(self) not in memo:
            memo[id(self)] = type(self)(from_array(self._array.copy("K"), None), self.requires_grad)
        return memo[id(self)]

    def __reduce__(self) -> Any:
        return rebuild, (self.data, self.requires_grad, self.__dict__)


def rebuild(data: Tensor, requires_grad: bool, notes: dict[str, Any]) -> Parameter:
    """A parameter from what was pickled."""
    made: Parameter = Parameter(data, requires_grad)
    made.__dict__.update(notes)
    made.version_cell().count = data._version
    return made


def Buffer(data: Tensor | None = None, *, persistent: bool = True) -> Tensor:
    """The same memory out of the graph: gviz registers buffers by ``register_buffer``."""
    return from_array(np.empty(0, np.float32), None) if data is None else data.detach().requires_grad_(data.requires_grad)


def filled(shape: Any, value: float = 0.0, dtype: Any = None) -> Tensor:
    """A tensor of one value."""
    return from_array(np.full(sizes((shape,)), value, (as_dtype(dtype) if dtype else get_default_dtype()).np), None)


__getattr__ = absent("torch.nn.parameter")
