"""Rounding, remainders, and functions of several tensors: which row each call form means."""

from __future__ import annotations

from typing import Any

import numpy as np

from gviz.numbers import dtypes
from gviz.numbers.shapes import broadcast_shape
from gviz.autograd.call import OPERANDS, plain_number
from gviz.autograd.row import TENSORS as call
from gviz.engine.surface import arithmetic
from gviz.engine.surface.arithmetic import keyed, operator_of
from gviz.engine.conversion import to
from gviz.autograd.tensor import Tensor, from_array


def rounded(input: Tensor, *, decimals: int | None = None) -> Tensor:
    """To the nearest integer, or to that many decimals."""
    if decimals == 0 and input._array.dtype.kind not in "fc":
        raise dtypes.no_kernel("round_vml_cpu", input._array.dtype)
    return call["round_even"](input) if decimals is None else call["round_decimals"](input, decimals)


def by_kind(numbers: str, tensors: str, base: str = "") -> Any:
    """A function of two operands that has a row for a number and one for a tensor (and one for a number first)."""

    def choose(input: Any, other: Any) -> Tensor:
        if not isinstance(other, OPERANDS):
            raise TypeError("neither a tensor nor a number")
        if base and not isinstance(input, Tensor):
            return call[base](input, other)
        return call[tensors if isinstance(other, Tensor) else numbers](input, other)

    return choose


remainder = by_kind("remainder_scalar", "remainder", "remainder_base")
fmod = by_kind("fmod_scalar", "fmod")
floor_divide = by_kind("floor_divide_scalar", "floor_divide", "floor_divide_base")


def clamp_min(input: Tensor, min: Any) -> Tensor:
    """Values not below a bound."""
    return call["clamp_min_tensor" if isinstance(min, Tensor) else "clamp_min"](input, min)


def clamp_max(input: Tensor, max: Any) -> Tensor:
    """Values not above a bound."""
    return call["clamp_max_tensor" if isinstance(max, Tensor) else "clamp_max"](input, max)


def lerp(input: Tensor, end: Tensor, weight: Any) -> Tensor:
    """On the line from ``input`` to ``end``. RuntimeError: the dtypes differ."""
    if not isinstance(end, Tensor):
        raise TypeError("no number")
    for name, other in (("end", end), ("weight", weight)):
        if isinstance(other, Tensor) and other.dtype is not input.dtype and (name == "end" or other._array.ndim):
            raise RuntimeError(f"expected dtype {input.dtype.c_name} for `{name}` but got dtype {other.dtype.c_name}")
    if isinstance(weight, Tensor):
        return call["lerp"](input, end, weight)
    return call["lerp_scalar"](input, end, plain_number(weight))


def equal(input: Tensor, other: Tensor) -> bool:
    """Whether two tensors have the same shape and elements."""
    return bool(np.array_equal(input._array, other._array))


def allclose(input: Tensor, other: Tensor, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False) -> bool:
    """Whether all elements are close."""
    return bool(call["isclose"](input, other, rtol, atol, equal_nan)._array.all())


def is_same_size(self: Tensor, other: Tensor) -> bool:
    """Whether two tensors have the same shape."""
    return self._array.shape == other._array.shape


def bitwise(function: Any, kernel: str = "", operands: Any = OPERANDS) -> Any:
    """A function of integers or booleans, bit by bit.

    Args:
        function: numpy's.
        kernel: PyTorch's name for it, where that is another one.
        operands: what it takes.
    """

    def apply(input: Any, other: Any) -> Any:
        if not (isinstance(input, operands) and isinstance(other, operands)):
            raise TypeError("neither tensors nor numbers")
        values = [getattr(v, "_array", v) for v in (input, other)]
        kind = dtypes.result_type(*values)
        broadcast_shape(*map(np.shape, values))
        if kind.kind in "fc":
            raise dtypes.no_kernel(f"{kernel or function.__name__}_cpu", kind)
        found = np.asarray(function(*(np.asarray(v).astype(kind) for v in values)))
        return from_array(found, None)

    return apply


xlogy = by_kind("xlogy_scalar", "xlogy", "xlogy_base")
copysign = by_kind("copysign_scalar", "copysign")


def float_power(input: Any, exponent: Any) -> Tensor:
    """A power in double precision."""
    return arithmetic.power(*(to(v, dtypes.float64) if isinstance(v, Tensor) else float(v) for v in (input, exponent)))


def polygamma(n: int, input: Tensor) -> Tensor:
    """The n-th derivative of :func:`digamma`."""
    return call["polygamma"](n, input)


def polygamma_method(self: Tensor, n: int) -> Tensor:
    """The n-th derivative of :func:`digamma`."""
    return call["polygamma"](n, self)


def real(input: Tensor) -> Tensor:
    """The real part, which of a real tensor is the tensor itself."""
    if input._array.dtype.kind == "c":
        raise NotImplementedError("parts of complex tensors are not in gviz's engine; run with --engine torch")
    return input


def question(function: Any) -> Any:
    """A question to each element: numpy's function as it is."""

    def ask(input: Tensor) -> Tensor:
        return from_array(np.asarray(function(input._array)), None)

    return ask


BITWISE = {name: bitwise(getattr(np, f"bitwise_{name}")) for name in ("and", "or", "xor")}
BITWISE |= {"lshift": bitwise(np.left_shift, "lshift"), "rshift": bitwise(np.right_shift, "rshift")}

BOTH: dict[str, Any] = {
    "floor": "floor", "ceil": "ceil", "trunc": "trunc", "fix": "trunc", "frac": "frac",
    "asin": "asin", "arcsin": "asin", "acos": "acos", "arccos": "acos", "atan": "atan", "arctan": "atan",
    "sinh": "sinh", "cosh": "cosh", "asinh": "asinh", "arcsinh": "asinh", "acosh": "acosh", "arccosh": "acosh",
    "atanh": "atanh", "arctanh": "atanh", "exp2": "exp2", "erf": "erf", "erfc": "erfc", "sinc": "sinc",
    "atan2": "atan2", "arctan2": "atan2", "hypot": "hypot", "logaddexp": "logaddexp", "logaddexp2": "logaddexp2",
    "fmax": "fmax", "fmin": "fmin", "deg2rad": "deg2rad", "rad2deg": "rad2deg", "nan_to_num": "nan_to_num",
    "isclose": "isclose", "lgamma": "lgamma", "digamma": "digamma", "erfinv": "erfinv", "igamma": "igamma",
    "igammac": "igammac", "ldexp": "ldexp", "nextafter": "nextafter", "heaviside": "heaviside", "dist": "dist",
    "i0": "i0", "angle": "angle", "frexp": "frexp", "mvlgamma": "mvlgamma",
    "round": rounded, "remainder": remainder, "fmod": fmod, "floor_divide": floor_divide, "clamp_min": clamp_min,
    "clamp_max": clamp_max, "lerp": lerp, "addcmul": keyed("addcmul", 3, tensors=True),
    "addcdiv": keyed("addcdiv", 3, tensors=True),
    "equal": equal, "allclose": allclose, "is_same_size": is_same_size, "xlogy": xlogy,
    "isposinf": question(np.isposinf), "isneginf": question(np.isneginf), "isreal": question(np.isreal),
    "signbit": question(np.signbit), "bitwise_not": arithmetic.invert,
    "gcd": bitwise(np.gcd, operands=Tensor), "lcm": bitwise(np.lcm, operands=Tensor),
    "bitwise_left_shift": BITWISE["lshift"], "bitwise_right_shift": BITWISE["rshift"],
    **dict.fromkeys(("conj", "conj_physical", "resolve_conj", "resolve_neg"), real),
    "copysign": copysign, "float_power": float_power,
    "bitwise_and": BITWISE["and"], "bitwise_or": BITWISE["or"], "bitwise_xor": BITWISE["xor"],
}  # fmt: skip

METHODS: dict[str, Any] = {
    "__mod__": operator_of(remainder), "__rmod__": operator_of(remainder, swapped=True),
    "__floordiv__": operator_of(floor_divide), "__rfloordiv__": operator_of(floor_divide, swapped=True),
    **{f"__{side}{name}__": operator_of(function, side == "r") for name, function in BITWISE.items() for side in ("", "r")},
            "polygamma": polygamma_method, "real": property(real),
}  # fmt: skip

FUNCTIONS: dict[str, Any] = {"polygamma": polygamma, "real": real}
