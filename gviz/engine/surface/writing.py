"""In-place methods: those made from the operation whose result they write, and those that change the shape."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from gviz.autograd import inplace
from gviz.numbers import dtypes
from gviz.autograd.call import OPERANDS
from gviz.autograd.modes import no_grad
from gviz.autograd.row import TENSORS as call
from gviz.ops.shape import flat_memory
from gviz.engine.surface import creation, pointwise
from gviz.engine.surface.indexing import set_item
from gviz.autograd.tensor import Tensor


def owner(array: Any) -> Any:
    """Return the array whose memory another one is a part of."""
    last = step = array
    while step is not None:  # as_strided puts an object of its own between two arrays
        last, step = step if isinstance(step, np.ndarray) else last, getattr(step, "base", None)
    return last


def offset(array: Any) -> int:
    """Return how many elements of the memory that an array is part of lie before its first one."""
    start, first = (one.__array_interface__["data"][0] for one in (owner(array), array))
    return int(first - start) // int(array.itemsize)


COMPARISONS = {
    "eq": "eq", "ne": "ne", "lt": "lt", "le": "le", "gt": "gt", "ge": "ge", "not_equal": "ne", "less": "lt", "less_equal": "le",
    "greater": "gt", "greater_equal": "ge",
}  # fmt: skip

NAMES = (
    "floor_divide", "remainder", "fmod",     "copysign", "exp2",     "sinh", "cosh", "asin", "arcsin", "acos", "arccos",
    "atan", "arctan", "atan2", "arctan2", "sinc", "hypot", "deg2rad", "rad2deg",     "floor", "ceil", "trunc", "fix", "frac", "round", "nan_to_num", "erf", "erfc", "erfinv", "lgamma", "mvlgamma", "i0",
    "digamma", "igamma", "igammac", "xlogy", "lerp", "addcmul", "addcdiv", "addmm", "addmv", "addr", "baddbmm", "addbmm",
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


def resize_(self: Tensor, *size: Any) -> Tensor:
    """Another shape of the memory from the first element on; more of it where that is too little, zero where PyTorch's is not.

    Raises:
        RuntimeError: the tensor requires a gradient, or may not be written.
    """
    if self.requires_grad:
        raise RuntimeError("cannot resize variables that require grad")
    inplace.check(self)
    shape = creation.sizes(size, "resize_")
    if shape != self._array.shape:
        memory, count = flat_memory(owner(self._array))[offset(self._array) :], prod(shape)
        if count > memory.size:
            memory = np.concatenate([memory, np.zeros(count - memory.size, memory.dtype)])
        self._array = memory[:count].reshape(shape)
        self.version_cell().count += 1
    return self


def resize_as_(self: Tensor, the_template: Tensor) -> Tensor:
    """:func:`resize_` to the shape of another tensor."""
    return resize_(self, tuple(the_template._array.shape))


def fill_(self: Tensor, value: Any) -> Tensor:
    """Write one value everywhere. RuntimeError: a tensor with dimensions."""
    if isinstance(value, Tensor) and value._array.ndim:
        raise RuntimeError(f"fill_ only supports 0-dimension value tensor but got tensor with {value._array.ndim} dimensions.")
    if isinstance(value, Tensor):
        return inplace.in_place(call["fill_tensor"], self, value)
    return inplace.in_place(call["fill"], self, value)


def reshaping(key: str) -> Any:
    """A method that changes the tensor's own shape: ``t_`` and its kin."""

    def method(self: Tensor, *args: Any) -> Tensor:
        return inplace.reshape_in_place(call[key], self, *args)

    return method


def squeeze_(self: Tensor, dim: Any = None) -> Tensor:
    """Drop dims of size one: all, or those named."""
    if dim is None:
        return inplace.reshape_in_place(call["squeeze_all_"], self)
    return inplace.reshape_in_place(call["squeeze_dim_" if isinstance(dim, int) else "squeeze_dims_"], self, dim)


def fill_diagonal_(self: Tensor, fill_value: Any, wrap: bool = False) -> Tensor:
    """Write one value on the diagonal. RuntimeError: fewer than two dims, or more than two that differ."""
    if self._array.ndim < 2:
        raise RuntimeError("dimensions must larger than 1")
    if self._array.ndim > 2 and len(set(self._array.shape)) > 1:
        raise RuntimeError("all dimensions of input must be of equal length")
    steps = self.stride()
    line = call["as_strided"](self, (min(self._array.shape),), (sum(steps),), 0)
    inplace.in_place(call["fill"], line, fill_value.item() if isinstance(fill_value, Tensor) else fill_value)
    return self


def delete(self: Tensor, key: Any) -> None:
    """``del x[key]``, which PyTorch refuses."""
    raise TypeError("Tensor does not support deleting items")


METHODS: dict[str, Any] = {
    "__delitem__": delete,
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
    "float_power_": float_power_, "resize_": resize_, "resize_as_": resize_as_,
    **{f"{name}_": in_place_form(name) for name in ("tril", "triu")},
    "zero_": in_place_form("zero", operation="zero"),
    "fill_": fill_, "fill_diagonal_": fill_diagonal_,
    "t_": reshaping("t_"), "transpose_": reshaping("transpose_"), "swapaxes_": reshaping("transpose_"),
    "swapdims_": reshaping("transpose_"), "unsqueeze_": reshaping("unsqueeze_"), "squeeze_": squeeze_,
    "__setitem__": set_item,
}  # fmt: skip
METHODS.update((name, augmented(METHODS[method])) for name, method in AUGMENTED.items())

FUNCTIONS: dict[str, Any] = {f"{name}_": METHODS[f"{name}_"] for name in ("fill", "zero", "round", "floor", "ceil", "trunc") if f"{name}_" in METHODS}
"""In-place operations that PyTorch offers as functions too."""
