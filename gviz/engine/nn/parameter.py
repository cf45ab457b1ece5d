"""Parameters: tensors that a module finds when they are assigned to it."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from gviz.autograd.tensor import Tensor, from_array
from gviz.engine.copying import renewed
from gviz.numbers.dtypes import INEXACT
from gviz.numbers.words import absent, refuse, type_name

__all__ = ["Parameter", "typename"]


class Parameter(Tensor):
    """A tensor that is trained, on the memory of another: assigned to a module, it is one of its parameters."""

    __slots__ = ()
    __module__ = "torch.nn.parameter"

    def __new__(cls, data: Tensor | None = None, requires_grad: bool = True) -> Any:
        """Make a leaf on the same memory."""
        parameter: Any = from_array(np.empty(0, np.float32), None) if data is None else data.detach()
        refuse(
            requires_grad and parameter._array.dtype.kind not in INEXACT,
            "Only Tensors of floating point and complex dtype can require gradients",
        )
        parameter.__class__ = cls
        return parameter.requires_grad_(requires_grad)

    def __repr__(self) -> str:
        return f"Parameter containing:\n{super().__repr__()}"

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        return type(self)(from_array(self._array.copy(), None), self.requires_grad)

    def __reduce__(self) -> Any:
        return renewed, ("gviz.engine.nn", "Parameter", self.data, self.requires_grad), self.__dict__


def typename(value: Any) -> str:
    """Return what PyTorch calls a value in its messages: a class or a function by its own name, else the type."""
    if isinstance(value, Tensor):
        return type_name(value._array.dtype)
    kind = value if hasattr(value, "__qualname__") else type(value)
    home = "torch._VariableFunctionsClass" if str(kind.__module__).startswith("gviz.") else kind.__module__
    if vars(sys.modules.get("gviz.engine.nn.functional", sys)).get(kind.__name__) is kind:
        home = "torch.nn.functional"
    return kind.__qualname__ if home in (None, "builtins") else f"{home}.{kind.__qualname__}"


__getattr__ = absent("torch.nn.parameter")
