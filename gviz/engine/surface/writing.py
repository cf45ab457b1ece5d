"""In-place methods: those made from the operation whose result they write, and those that change the shape."""

from __future__ import annotations

from typing import Any

from gviz.autograd import inplace
from gviz.numbers import dtypes
from gviz.autograd.call import OPERANDS
from gviz.autograd.modes import no_grad
from gviz.autograd.row import TENSORS as call
from gviz.engine.surface import pointwise
from gviz.engine.surface.indexing import set_item
from gviz.autograd.tensor import Tensor


COMPARISONS = {
    "eq": "eq", "ne": "ne", "lt": "lt", "le": "le", "gt": "gt", "ge": "ge", "not_equal": "ne", "less": "lt", "less_equal": "le",
    "greater": "gt", "greater_equal": "ge",
}  # fmt: skip

NAMES = (
    "floor_divide", "remainder", "fmod",     "copysign", "exp2",     "sinh", "cosh", "asin", "arcsin", "acos", "arccos",
    "atan", "arctan", "atan2", "arctan2", "sinc", "hypot", "deg2rad", "rad2deg",     "floor", "ceil", "trunc", "fix", "frac", "round", "nan_to_num", "erf", "erfc", "erfinv", "lgamma", "mvlgamma", "i0",
    "digamma", "igamma", "igammac", "xlogy", "lerp", "addcmul", "addcdiv",
    "nextafter", "heaviside", "gcd", "lcm", "bitwise_and", "bitwise_or", "bitwise_xor",
    "bitwise_not", "bitwise_left_shift", "bitwise_right_shift",
)  # fmt: skip
"""Methods with an in-place form that is that operation, its result written."""

AUGMENTED = {
    "__imod__": "remainder_", "__ifloordiv__": "floor_divide_", "__iand__": "bitwise_and_",
    "__ior__": "bitwise_or_", "__ixor__": "bitwise_xor_", "__ilshift__": "bitwise_left_shift_",
    "__irshift__": "bitwise_right_shift_",
}  # fmt: skip


def in_place_form(name: str, *, operation: Any = None) -> Any:
    """Return the method that writes what the method of a name gives into its tensor."""

    def method(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        chosen = getattr(Tensor, name) if operation is None else call[operation] if isinstance(operation, str) else operation
        return inplace.in_place(chosen, self, *args, **kwargs)

    return method


def augmented(method: Any) -> Any:
    """The operator that writes; what it does not know (a numpy array) it leaves to Python, which may make a new tensor."""

    def operate(self: Tensor, other: Any) -> Any:
        return method(self, other) if isinstance(other, OPERANDS) else NotImplemented

    return operate


def ldexp(self: Tensor, other: Tensor) -> Tensor:
    """``self * 2**other``; RuntimeError of integers, which cannot hold it."""
    if not self.dtype.is_floating_point:
        raise RuntimeError(f"ldexp can't be cast to the desired output type {self.dtype.scalar_name}")
    return call["ldexp"](self, other)


def float_power_(self: Tensor, exponent: Any) -> Tensor:
    """A power of a tensor of double precision, written. RuntimeError: it has another dtype."""
    if self.dtype is not dtypes.float64:
        raise RuntimeError(
            f"the base given to float_power_ has dtype {self.dtype.scalar_name} but the operation's result requires dtype "
            "Double"
        )
    return inplace.in_place(pointwise.float_power, self, exponent)


METHODS: dict[str, Any] = {
    **{f"{name}_": in_place_form(name) for name in (*NAMES, "clamp_max", "clamp_min")},
    **{  # these are not recorded, and may be done to a leaf
        f"logical_{name}_": no_grad()(in_place_form(f"logical_{name}")) for name in ("and", "or", "xor", "not")
    },
    **{
        f"{a}{name}_": in_place_form(f"{a}{name}", operation=f"a{name}_")
        for name in ("sinh", "cosh", "tanh") for a in ("a", "arc")
    },
    "polygamma_": in_place_form("polygamma", operation=lambda self, n: call["polygamma_"](n, self)),
    "ldexp_": in_place_form("ldexp", operation=ldexp),
    **{
        f"{name}_": in_place_form(name, operation=pointwise.by_kind(f"{key}_", f"{key}_tensor_"))
        for name, key in COMPARISONS.items()
    },
    "float_power_": float_power_, "__setitem__": set_item,
}  # fmt: skip
METHODS.update((name, augmented(METHODS[method])) for name, method in AUGMENTED.items())

FUNCTIONS: dict[str, Any] = {f"{name}_": METHODS[f"{name}_"] for name in ("round", "floor", "ceil", "trunc") if f"{name}_" in METHODS}
"""In-place operations that PyTorch offers as functions too."""
