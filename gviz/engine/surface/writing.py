"""In-place methods: each is made from the operation whose result it writes."""

from __future__ import annotations

from typing import Any

from gviz.engine import creation, inplace, text
from gviz.engine.op import TENSORS as call
from gviz.engine.surface.arithmetic import add, clamp, div, power, square, sub
from gviz.engine.tensor import Tensor

IN_PLACE: dict[str, Any] = {
    "add_": add, "sub_": sub, "mul_": "mul", "div_": div, "pow_": power, "square_": square, "neg_": "neg",
    "reciprocal_": "reciprocal", "abs_": "absolute", "sign_": "sign", "exp_": "exp", "log_": "log", "log1p_": "log1p",
    "expm1_": "expm1", "sqrt_": "sqrt", "rsqrt_": "rsqrt", "sin_": "sin", "cos_": "cos", "tan_": "tan", "tanh_": "tanh",
    "sigmoid_": "sigmoid", "relu_": "relu", "clamp_": clamp, "clip_": clamp, "scatter_add_": "scatter_add",
}  # fmt: skip
"""In-place method -> the operation it writes the result of."""

AUGMENTED = {"__iadd__": "add_", "__isub__": "sub_", "__imul__": "mul_", "__itruediv__": "div_", "__ipow__": "pow_"}


def in_place_form(operation: Any, *, wherever: bool | str = False) -> Any:
    """The method that writes an operation's result into its first operand (wherever: even over what it reads)."""

    def method(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        chosen = call[operation] if isinstance(operation, str) else operation
        return inplace.in_place(chosen, self, *args, wherever=wherever, **kwargs)

    return method


def fill_(self: Tensor, value: Any) -> Tensor:
    """Write one value everywhere.

    Raises:
        RuntimeError: a tensor with dimensions.
    """
    if isinstance(value, Tensor) and value._array.ndim:
        raise RuntimeError(f"fill_ only supports 0-dimension value tensor but got tensor with {value._array.ndim} dimensions.")
    return inplace.in_place(call["fill_tensor" if isinstance(value, Tensor) else "fill"], self, value, wherever=True)


def copy_(self: Tensor, src: Any, non_blocking: bool = False) -> Tensor:
    """Write another tensor's values, broadcast and cast."""
    source = creation.as_tensor(src)
    return inplace.in_place(call["copy_into"], self, source, wherever=inplace.same_place(self._array, source._array))


METHODS: dict[str, Any] = {
    "fill_": fill_,
    "copy_": copy_,
    "__setitem__": inplace.set_item,
    **{name: in_place_form(operation) for name, operation in IN_PLACE.items()},
    "zero_": in_place_form("zero", wherever=True),
    "index_put_": in_place_form("index_put", wherever=text.EXPANDED.format("index_put_", "indices", "tensor")),
}
METHODS.update((name, METHODS[method]) for name, method in AUGMENTED.items())
