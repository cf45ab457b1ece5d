"""Arithmetic, functions, comparison, logic, where and clamp: which row each call form means."""

from __future__ import annotations

from typing import Any

import numpy as np

from gviz.numbers import dtypes
from gviz.numbers.classes import left_over
from gviz.numbers.words import warn_once
from gviz.autograd.call import OPERANDS, plain_number
from gviz.autograd.row import NUMBERS
from gviz.autograd.modes import mode
from gviz.autograd.row import TENSORS as call
from gviz.autograd.tensor import Tensor, from_array


def keyed(key: str, count: int, *, tensors: bool = False) -> Any:
    """A row's function that takes that many arguments by position (and only tensors there), all others by keyword only."""

    def choose(*args: Any, **options: Any) -> Any:
        if len(args) > count or (tensors and not all(isinstance(value, Tensor) for value in args)):
            raise TypeError(f"{key}() takes {count} positional arguments but {len(args)} were given")
        return call[key](*args, **options)

    return choose


def power(input: Any, exponent: Any) -> Tensor:
    """``input ** exponent``: a row for each of number and tensor on either side."""
    if not isinstance(input, OPERANDS):
        raise TypeError
    if not isinstance(input, Tensor):
        return call["pow_base"](plain_number(input), exponent)
    if isinstance(exponent, Tensor):
        return call["pow_tensor"](input, exponent)
    return call["power"](input, plain_number(exponent))


def filled(self: Tensor, number: Any) -> Tensor:
    """A tensor of that shape and dtype with a number everywhere: what PyTorch's C++ makes of a number left of an operator."""
    return from_array(np.full(self._array.shape, number, self._array.dtype), None)


def reversed_div(self: Tensor, other: Any) -> Any:
    """``other / self``: the reciprocal, then a product, as PyTorch does; in a recorded derivative a tensor is divided."""
    if mode.formula and isinstance(other, NUMBERS):
        return call["div"](filled(self, other), self)
    return call["mul"](call["reciprocal"](self), other) if isinstance(other, OPERANDS) else left_over(other)


def operator_of(function: Any, swapped: bool = False) -> Any:
    """A function of two operands as Python's operator."""

    def operator(self: Tensor, other: Any) -> Any:
        if not isinstance(other, OPERANDS):
            return left_over(other)
        return function(other, self) if swapped else function(self, other)

    return operator


def invert(self: Tensor) -> Tensor:
    """``~self``; TypeError of what is neither integers nor booleans."""
    if self._array.dtype.kind in "fc":
        raise TypeError("~ (operator.invert) is only implemented on integer and Boolean-type tensors")
    return from_array(~self._array, None)


def positive(input: Tensor) -> Tensor:
    """The tensor itself; RuntimeError of booleans."""
    if input._array.dtype.kind == "b":
        raise RuntimeError("The `+` operator, on a bool tensor is not supported.")
    return input


def places(condition: Tensor) -> tuple[Tensor, ...]:
    """The indices where a tensor is not zero: a tensor for each dim."""
    return tuple(from_array(a, None) for a in np.nonzero(np.atleast_1d(condition._array)))


BOTH: dict[str, Any] = {"positive": positive}
METHODS: dict[str, Any] = {"__invert__": invert, "__pos__": positive, "__abs__": "absolute", "__neg__": "neg", "__rdiv__": reversed_div}
FUNCTIONS: dict[str, Any] = {}
