"""Arithmetic, functions, comparison, logic, where and clamp: which row each call form means."""

from __future__ import annotations

from typing import Any

import numpy as np

from gviz.engine.data import dtypes
from gviz.engine.data.classes import left_over
from gviz.engine.data.words import warn_once
from gviz.engine.general import NUMBERS, OPERANDS, plain_number
from gviz.engine.modes import mode
from gviz.engine.op import TENSORS as call
from gviz.engine.surface.reductions import UNSET
from gviz.engine.tensor import Tensor, from_array


def keyed(key: str, count: int, *, tensors: bool = False) -> Any:
    """A row's function that takes that many arguments by position (and only tensors there), all others by keyword only."""

    def choose(*args: Any, **options: Any) -> Any:
        if len(args) > count or (tensors and not all(isinstance(value, Tensor) for value in args)):
            raise TypeError(f"{key}() takes {count} positional arguments but {len(args)} were given")
        return call[key](*args, **options)

    return choose


def with_alpha(key: str) -> Any:
    """``input + alpha * other``, or ``input - alpha * other``."""

    def choose(input: Any, other: Any, *, alpha: Any = 1) -> Any:
        if alpha == 1 and alpha is not True:
            return call[key](input, other)
        if isinstance(input, NUMBERS):
            input = from_array(np.asarray(input, dtypes.number_type(input)), None)
        return call[f"{key}_alpha"](input, as_operand(input, other), alpha)

    return choose


add, sub = with_alpha("add"), with_alpha("sub")


def rsub(input: Tensor, other: Any, *, alpha: Any = 1) -> Tensor:
    """``other - alpha * input``."""
    return call["rsub"](input, other, alpha) if isinstance(other, Tensor) else call["rsub_scalar"](input, other, alpha)


def div(input: Any, other: Any, *, rounding_mode: str | None = "") -> Tensor:
    """``input / other``, on request rounded down ("floor") or towards zero ("trunc")."""
    if not rounding_mode and rounding_mode is not None:
        return call["div"](input, other)
    return call["div_mode"](input, other, rounding_mode)


def power(input: Any, exponent: Any) -> Tensor:
    """``input ** exponent``: a row for each of number and tensor on either side."""
    if not isinstance(input, OPERANDS):
        raise TypeError
    if not isinstance(input, Tensor):
        return call["pow_base"](plain_number(input), exponent)
    if isinstance(exponent, Tensor):
        return call["pow_tensor"](input, exponent)
    return call["power"](input, plain_number(exponent))


def as_operand(input: Any, other: Any) -> Any:
    """A number as the 0-d tensor that PyTorch makes of it."""
    if isinstance(other, NUMBERS):
        return from_array(np.asarray(other, dtypes.result_type(input._array, other)), None)
    return other


def filled(self: Tensor, number: Any) -> Tensor:
    """A tensor of that shape and dtype with a number everywhere: what PyTorch's C++ makes of a number left of an operator."""
    return from_array(np.full(self._array.shape, number, self._array.dtype), None)


def reversed_sub(self: Tensor, other: Any) -> Any:
    """``other - self``; in a recorded derivative PyTorch's C++ subtracts from a tensor."""
    if mode.formula and isinstance(other, NUMBERS):
        return call["sub"](filled(self, other), self)
    return rsub(self, plain_number(other)) if isinstance(other, OPERANDS) else left_over(other)


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


def operator_matmul(self: Tensor, other: Any) -> Any:
    """``self @ other``."""
    return call["matmul"](self, other) if isinstance(other, Tensor) else left_over(other)


def operator_rmatmul(self: Tensor, other: Any) -> Any:
    """``other @ self``."""
    return call["matmul"](other, self) if isinstance(other, Tensor) else left_over(other)


def square(input: Tensor) -> Tensor:
    """``input ** 2``."""
    return call["power"](input, 2)


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


def where(condition: Tensor, input: Any = UNSET, other: Any = UNSET) -> Any:
    """Elements of ``input`` where the condition holds, else of ``other``; alone, the indices where it holds.

    Raises:
        TypeError: one of the two is missing.
    """
    if (input is UNSET) != (other is UNSET) or input is None or other is None:
        raise TypeError("where() takes both input and other, or none of them")
    if input is UNSET:
        return places(condition)
    if getattr(condition, "dtype", None) is dtypes.uint8:
        warn_once(
            "where received a uint8 condition tensor. This behavior is deprecated and will be removed in a future version of "
            "PyTorch. Use a boolean condition instead."
        )
    return call["where"](condition, input, other)


def where_method(self: Tensor, condition: Tensor, other: Any) -> Tensor:
    """``self`` where the condition holds, else ``other``."""
    return call["where"](condition, self, other)


def clamp(input: Tensor, min: Any = None, max: Any = None) -> Tensor:
    """Values kept between two bounds, numbers or tensors. RuntimeError: no bound at all."""
    if min is None and max is None:
        raise RuntimeError("torch.clamp: At least one of 'min' or 'max' must not be None")
    if isinstance(min, complex) or isinstance(max, complex):
        if input._array.dtype.kind != "f":
            raise NotImplementedError("clamp is not supported for complex types")
        if any(isinstance(bound, complex) and bound.imag for bound in (min, max)):
            raise RuntimeError("value cannot be converted to type double without overflow")
        min, max = (bound.real if isinstance(bound, complex) else bound for bound in (min, max))
    tensors = [isinstance(bound, Tensor) for bound in (min, max) if bound is not None]
    if len(set(tensors)) > 1 or not all(isinstance(bound, OPERANDS) for bound in (min, max) if bound is not None):
        raise TypeError("a number and a tensor, or neither")
    return call["clamp_tensor" if tensors[0] else "clamp_scalar"](input, min, max)


BOTH: dict[str, Any] = {
    "mul": "mul", "multiply": "mul", "neg": "neg", "negative": "neg", "reciprocal": "reciprocal",
    "abs": "absolute", "absolute": "absolute", "sign": "sign", "sgn": "sgn",
    "exp": "exp", "log": "log", "log2": "log2", "log10": "log10", "log1p": "log1p", "expm1": "expm1",
    "sqrt": "sqrt", "rsqrt": "rsqrt", "sin": "sin", "cos": "cos", "tan": "tan", "tanh": "tanh", "sigmoid": "sigmoid",
    "relu": "relu", "maximum": "maximum", "minimum": "minimum",
    "eq": "equal", "ne": "not_equal", "not_equal": "not_equal", "lt": "less", "less": "less",
    "le": "less_equal", "less_equal": "less_equal", "gt": "greater", "greater": "greater",
    "ge": "greater_equal", "greater_equal": "greater_equal",
    "logical_and": "logical_and", "logical_or": "logical_or", "logical_xor": "logical_xor", "logical_not": "logical_not",
    "isnan": "isnan", "isinf": "isinf", "isfinite": "isfinite",
    "add": add, "sub": sub, "subtract": sub, "div": div, "divide": div, "true_divide": div,
    "pow": power, "square": square, "positive": positive, "clamp": clamp, "clip": clamp,
}  # fmt: skip

METHODS: dict[str, Any] = {
    "__add__": "add", "__radd__": "add", "__sub__": "sub", "__mul__": "mul", "__rmul__": "mul", "__truediv__": "div",
    "__neg__": "neg", "__abs__": "absolute", "__lt__": "less", "__le__": "less_equal", "__gt__": "greater",
    "__ge__": "greater_equal", "__eq__": "equal", "__ne__": "not_equal",
    "where": where_method, "__rsub__": reversed_sub, "__rtruediv__": reversed_div,
    "__pow__": operator_of(power), "__rpow__": operator_of(power, swapped=True), "__matmul__": operator_matmul,
    "__rmatmul__": operator_rmatmul, "__rdiv__": reversed_div,
    "__invert__": invert, "__pos__": positive,
}  # fmt: skip

FUNCTIONS: dict[str, Any] = {"where": where, "rsub": rsub}
