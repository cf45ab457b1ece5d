"""The limits of element types: ``torch.finfo`` and ``torch.iinfo``."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np

from gviz.numbers.dtypes import as_dtype, bool_, dtype, get_default_dtype
from gviz.numbers.words import refuse


class _Limits:
    """The part that :class:`finfo` and :class:`iinfo` share: type, width and ends, printed with six digits."""

    __module__ = "torch"
    repr_fields: tuple[str, ...] = ("min", "max")

    def __init__(self, of_type: dtype, numbers: np.finfo[Any] | np.iinfo[Any], number: type[float]) -> None:
        self.dtype, self.bits, self.min, self.max = (
            of_type.name,
            of_type.itemsize * 8,
            number(numbers.min),
            number(numbers.max),
        )

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and other.__dict__ == self.__dict__

    __hash__ = None  # type: ignore[assignment]  # as in PyTorch

    def __repr__(self) -> str:
        return "{}({}dtype={})".format(
            type(self).__name__, "".join(f"{name}={getattr(self, name):g}, " for name in self.repr_fields), self.dtype
        )


class finfo(_Limits):
    """The limits of a floating-point type, of the parts of a complex one, or of the default type, as ``torch.finfo``.

    >>> from gviz.numbers.dtypes import float32
    >>> finfo(float32).eps, finfo(float32).bits
    (1.1920928955078125e-07, 32)
    """

    repr_fields = ("resolution", "min", "max", "eps", "smallest_normal", "tiny")

    def __init__(self, type: dtype | None = None) -> None:
        of_type = as_dtype(get_default_dtype() if type is None else type).to_real()
        refuse(
            not of_type.is_floating_point,
            "torch.finfo() requires a floating point input type. Use torch.iinfo to handle 'torch.finfo'",
            TypeError,
        )
        numbers: Any = import_module(of_type.np.type.__module__).finfo(of_type.np)
        super().__init__(of_type, numbers, float)
        self.eps, self.tiny = float(numbers.eps), float(numbers.smallest_normal)
        self.smallest_normal, self.resolution = self.tiny, float(f"1e-{numbers.precision}")


class iinfo(_Limits):
    """The limits of an integer type, as ``torch.iinfo``.

    >>> from gviz.numbers.dtypes import int8
    >>> iinfo(int8)
    iinfo(min=-128, max=127, dtype=int8)
    """

    def __init__(self, type: dtype) -> None:
        of_type = as_dtype(type)
        refuse(
            of_type is bool_ or of_type.is_floating_point or of_type.is_complex,
            "torch.iinfo() requires an integer input type. Use torch.finfo to handle 'torch.iinfo'",
            TypeError,
        )
        super().__init__(of_type, np.iinfo(of_type.np), int)
