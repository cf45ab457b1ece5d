"""The limits of element types: ``torch.finfo`` and ``torch.iinfo``."""

from __future__ import annotations

import builtins
from typing import Any

import numpy as np

from gviz.numbers.classes import BuiltIn
from gviz.numbers.dtypes import as_dtype, bool, dtype, get_default_dtype

__all__ = ["finfo", "iinfo"]


class _Limits(metaclass=BuiltIn):
    """What :class:`finfo` and :class:`iinfo` share: the type, its width, its ends, and how they are shown: with six digits."""

    _shown: tuple[str, ...] = ("min", "max")

    def __init__(self, of_type: dtype) -> None:
        self.dtype, self.bits = of_type.name, of_type.itemsize * 8

    def __eq__(self, other: object) -> builtins.bool:
        return type(other) is type(self) and other.__dict__ == self.__dict__

    __hash__ = None  # type: ignore[assignment]  # as in PyTorch

    def __repr__(self) -> str:
        limits = "".join(f"{name}={getattr(self, name):g}, " for name in self._shown)
        return f"{type(self).__name__}({limits}dtype={self.dtype})"


class finfo(_Limits):
    """The limits of a floating-point type (of a complex one: of its parts; without a type: of the default), as ``torch.finfo``.

    >>> from gviz.numbers.dtypes import float32
    >>> finfo(float32)
    finfo(resolution=1e-06, min=-3.40282e+38, max=3.40282e+38, eps=1.19209e-07, smallest_normal=1.17549e-38, \
tiny=1.17549e-38, dtype=float32)
    """

    __module__ = "torch"
    _shown = ("resolution", "min", "max", "eps", "smallest_normal", "tiny")

    def __init__(self, type: dtype | None = None) -> None:
        of_type = as_dtype(get_default_dtype() if type is None else type, "finfo(): argument 'type' (position 1)").to_real()
        if not of_type.is_floating_point:
            raise TypeError("torch.finfo() requires a floating point input type. Use torch.iinfo to handle 'torch.finfo'")
        super().__init__(of_type)
        numbers: Any = np.finfo(of_type.np)
        self.min, self.max, self.eps = (builtins.float(numbers.min), builtins.float(numbers.max), builtins.float(numbers.eps))
        self.tiny = self.smallest_normal = builtins.float(numbers.smallest_normal)
        self.resolution = builtins.float(f"1e-{numbers.precision}")


class iinfo(_Limits):
    """The limits of an integer type, as ``torch.iinfo``.

    >>> from gviz.numbers.dtypes import int8
    >>> iinfo(int8)
    iinfo(min=-128, max=127, dtype=int8)
    """

    __module__ = "torch"

    def __init__(self, type: dtype) -> None:
        of_type = as_dtype(type, "iinfo(): argument 'type' (position 1)")
        if of_type is bool:
            raise TypeError("torch.bool is not supported by torch.iinfo")
        if of_type.np.kind in "fc":
            raise TypeError("torch.iinfo() requires an integer input type. Use torch.finfo to handle 'torch.iinfo'")
        super().__init__(of_type)
        numbers = np.iinfo(of_type.np)
        self.min, self.max = builtins.int(numbers.min), builtins.int(numbers.max)
