"""What the engine offers under PyTorch's names, and which row each call form means.

An overload is a row; a public name is a choice among rows. Where a name is one row, :data:`ROWS_AS_ARE` says so; where
the arguments decide (``max(x)``, ``max(x, dim=0)``, ``max(x, y)``), a function here chooses. :func:`install` binds both
to the tensor's methods and operators and to the engine's namespace.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from gviz.engine import creation, dtypes, inplace, text
from gviz.engine.op import ROWS, TENSORS, Row
from gviz.engine.ops.indexing import get_item
from gviz.engine.tensor import Tensor, from_array

if TYPE_CHECKING:
    from collections.abc import Callable

NUMBERS = (int, float, bool, complex, np.generic)
OPERANDS = (Tensor, *NUMBERS)
call = TENSORS  # the recording functions by key, always the ready ones

ROWS_AS_ARE = {
    "mul": "mul", "multiply": "mul", "neg": "neg", "negative": "neg", "reciprocal": "reciprocal", "abs": "absolute", "absolute": "absolute",
    "exp": "exp", "log": "log", "log2": "log2", "log10": "log10", "log1p": "log1p", "expm1": "expm1", "sqrt": "sqrt", "rsqrt": "rsqrt",
    "sin": "sin", "cos": "cos", "tan": "tan", "tanh": "tanh", "sigmoid": "sigmoid", "relu": "relu", "sign": "sign", "sgn": "sgn",
    "maximum": "maximum", "minimum": "minimum", "mm": "mm", "mv": "mv", "dot": "dot", "bmm": "bmm", "matmul": "matmul",
    "t": "t", "transpose": "transpose", "swapaxes": "transpose", "swapdims": "transpose", "unsqueeze": "unsqueeze", "clone": "clone",
    "eq": "equal", "ne": "not_equal", "not_equal": "not_equal", "lt": "less", "less": "less", "le": "less_equal", "less_equal": "less_equal",
    "gt": "greater", "greater": "greater", "ge": "greater_equal", "greater_equal": "greater_equal",
    "logical_and": "logical_and", "logical_or": "logical_or", "logical_xor": "logical_xor", "logical_not": "logical_not",
    "isnan": "isnan", "isinf": "isinf", "isfinite": "isfinite", "argmax": "argmax", "argmin": "argmin", "any": "any_of", "all": "all_of",
    "outer": "outer", "ger": "outer", "gather": "gather", "scatter_add": "scatter_add", "select": "select", "unbind": "unbind",
    "split_with_sizes": "split_with_sizes", "narrow": "narrow", "index_put": "index_put",
}  # fmt: skip
"""Name (function and method) -> key of the row or composite that it is."""

OPERATORS = {
    "__add__": "add", "__radd__": "add", "__sub__": "sub", "__mul__": "mul", "__rmul__": "mul", "__truediv__": "div", "__neg__": "neg",
    "__abs__": "absolute", "__lt__": "less", "__le__": "less_equal", "__gt__": "greater", "__ge__": "greater_equal",
    "__eq__": "equal", "__ne__": "not_equal",
}  # fmt: skip
"""Operator -> key of its row."""


# ------------------------------------------------------------------ arithmetic
def add(input: Any, other: Any, *, alpha: Any = 1) -> Tensor:
    """``input + alpha * other``."""
    return call["add"](input, other) if alpha == 1 else call["add_alpha"](input, as_operand(input, other), alpha)  # type: ignore[no-any-return]


def sub(input: Any, other: Any, *, alpha: Any = 1) -> Tensor:
    """``input - alpha * other``."""
    return call["sub"](input, other) if alpha == 1 else call["sub_alpha"](input, as_operand(input, other), alpha)  # type: ignore[no-any-return]


def rsub(input: Tensor, other: Any, *, alpha: Any = 1) -> Tensor:
    """``other - alpha * input``."""
    return call["rsub"](input, other, alpha) if isinstance(other, Tensor) else call["rsub_scalar"](input, other, alpha)  # type: ignore[no-any-return]


def div(input: Any, other: Any, *, rounding_mode: str | None = None) -> Tensor:
    """``input / other``."""
    if rounding_mode is None:
        return call["div"](input, other)  # type: ignore[no-any-return]
    raise NotImplementedError(f"div(rounding_mode={rounding_mode!r}) is not in gviz's engine")


def power(input: Any, exponent: Any) -> Tensor:
    """``input ** exponent``: a row for each of number and tensor on either side."""
    if not isinstance(input, Tensor):
        return call["pow_base"](input, exponent)  # type: ignore[no-any-return]
    if isinstance(exponent, Tensor):
        return call["pow_tensor"](input, exponent)  # type: ignore[no-any-return]
    return call["power"](input, exponent)  # type: ignore[no-any-return]


def as_operand(input: Any, other: Any) -> Any:
    """A number as the 0-d tensor that PyTorch makes of it."""
    if isinstance(other, NUMBERS):
        return from_array(np.asarray(other, dtypes.result_type(input._array, other)), None)
    return other


def reversed_sub(self: Tensor, other: Any) -> Any:
    """``other - self``."""
    return call["rsub_scalar"](self, other, 1) if isinstance(other, NUMBERS) else NotImplemented


def reversed_div(self: Tensor, other: Any) -> Any:
    """``other / self``: the reciprocal, then a product, as PyTorch does."""
    return call["mul"](call["reciprocal"](self), other) if isinstance(other, NUMBERS) else NotImplemented


def operator_power(self: Tensor, other: Any) -> Any:
    """``self ** other``."""
    return power(self, other) if isinstance(other, OPERANDS) else NotImplemented


def reversed_power(self: Tensor, other: Any) -> Any:
    """``other ** self``."""
    return call["pow_base"](other, self) if isinstance(other, NUMBERS) else NotImplemented


def operator_matmul(self: Tensor, other: Any) -> Any:
    """``self @ other``."""
    return call["matmul"](self, other) if isinstance(other, Tensor) else NotImplemented


def square(input: Tensor) -> Tensor:
    """``input ** 2``."""
    return call["power"](input, 2)  # type: ignore[no-any-return]


def logical(key: str, on_integers: Callable[[Any, Any], Any]) -> Any:
    """``&``, ``|`` or ``^``: logical on booleans, bit by bit on integers."""

    def operator(self: Tensor, other: Any) -> Any:
        array = getattr(other, "_array", other)
        if self._array.dtype.kind == "b" and np.asarray(array).dtype.kind == "b":
            return call[key](self, other)
        return from_array(on_integers(self._array, array), None)

    return operator


def invert(self: Tensor) -> Tensor:
    """``~self``."""
    return from_array(~self._array, None)


def where(condition: Tensor, input: Any = None, other: Any = None) -> Any:
    """Elements of ``input`` where the condition holds, else of ``other``; alone, the indices where it holds."""
    if input is None:
        return tuple(from_array(a, None) for a in np.nonzero(condition._array))
    return call["where"](condition, input, other)


def where_method(self: Tensor, condition: Tensor, other: Any) -> Tensor:
    """``self`` where the condition holds, else ``other``."""
    return call["where"](condition, self, other)  # type: ignore[no-any-return]


def clamp(input: Tensor, min: Any = None, max: Any = None) -> Tensor:
    """Values kept between two bounds, numbers or tensors.

    Raises:
        RuntimeError: no bound at all.
    """
    if min is None and max is None:
        raise RuntimeError("torch.clamp: At least one of 'min' or 'max' must not be None")
    tensors = isinstance(min, Tensor) or isinstance(max, Tensor)
    return call["clamp_tensor" if tensors else "clamp_scalar"](input, min, max)  # type: ignore[no-any-return]


# ------------------------------------------------------------------ reductions
def typed(input: Tensor, dtype: Any) -> Tensor:
    """The input in the dtype that the result is asked for."""
    return input if dtype is None else to(input, dtype)


def no_dim(dim: Any) -> bool:
    """Whether a reduction is over everything."""
    return dim is None or (isinstance(dim, list | tuple) and not dim)


def as_dims(dim: Any) -> tuple[int, ...]:
    """One dim or several as a tuple, as PyTorch saves them."""
    return (dim,) if isinstance(dim, int) else tuple(dim)


def sum(input: Tensor, dim: Any = None, keepdim: bool = False, *, dtype: Any = None, axis: Any = None) -> Tensor:
    """The sum of all elements, or along dims."""
    input, dim = typed(input, dtype), axis if dim is None else dim
    if no_dim(dim) and not keepdim:
        return call["sum_all"](input)  # type: ignore[no-any-return]
    return call["sum_dim"](input, as_dims(dim if dim is not None else ()), keepdim)  # type: ignore[no-any-return]


def mean(input: Tensor, dim: Any = None, keepdim: bool = False, *, dtype: Any = None, axis: Any = None) -> Tensor:
    """The mean of all elements, or along dims."""
    input, dim = typed(input, dtype), axis if dim is None else dim
    if no_dim(dim) and not keepdim:
        return call["mean_all"](input)  # type: ignore[no-any-return]
    return call["mean_dim"](input, as_dims(dim if dim is not None else ()), keepdim)  # type: ignore[no-any-return]


def extreme(name: str, pairwise: str) -> Any:
    """``max`` or ``min``: of everything, along a dim with indices, or of two tensors."""

    def choose(input: Tensor, dim: Any = None, keepdim: bool = False, *, other: Any = None, axis: Any = None) -> Any:
        dim = axis if dim is None else dim
        if isinstance(dim, Tensor) or other is not None:
            return call[pairwise](input, dim if other is None else other)
        if dim is None:
            return call[f"{name}_all"](input)
        return call[f"{name}_dim"](input, dim, keepdim)

    choose.__name__ = name
    return choose


def softmax(input: Tensor, dim: Any = None, dtype: Any = None, _stacklevel: int = 3) -> Tensor:
    """Exponentials that sum to one along ``dim``."""
    return call["softmax_row"](typed(input, dtype), implicit_dim(input, dim))  # type: ignore[no-any-return]


def log_softmax(input: Tensor, dim: Any = None, dtype: Any = None, _stacklevel: int = 3) -> Tensor:
    """The logarithm of :func:`softmax`, computed stably."""
    return call["log_softmax_row"](typed(input, dtype), implicit_dim(input, dim))  # type: ignore[no-any-return]


def implicit_dim(input: Tensor, dim: Any) -> int:
    """The dim of a softmax that was not told one."""
    return dim if dim is not None else 0 if input._array.ndim in (0, 1, 3) else 1


# ------------------------------------------------------------------ shape
def flat_sizes(size: tuple[Any, ...]) -> tuple[Any, ...]:
    """``(2, 3)`` from ``2, 3`` or from ``(2, 3)``."""
    return tuple(size[0]) if len(size) == 1 and isinstance(size[0], list | tuple) else size


def reshape(input: Tensor, *shape: Any) -> Tensor:
    """The same elements in another shape; a view where the memory allows it."""
    return call["reshape"](input, flat_sizes(shape))  # type: ignore[no-any-return]


def view(self: Tensor, *shape: Any) -> Tensor:
    """The same memory in another shape."""
    return call["view"](self, flat_sizes(shape))  # type: ignore[no-any-return]


def permute(input: Tensor, *dims: Any) -> Tensor:
    """The dimensions in another order."""
    return call["permute"](input, flat_sizes(dims))  # type: ignore[no-any-return]


def expand(self: Tensor, *size: Any) -> Tensor:
    """Dimensions of size one repeated without copying."""
    return call["expand"](self, flat_sizes(size))  # type: ignore[no-any-return]


def broadcast_to(input: Tensor, size: Any) -> Tensor:
    """Expanded to that shape."""
    return call["expand"](input, tuple(size))  # type: ignore[no-any-return]


def expand_as(self: Tensor, other: Tensor) -> Tensor:
    """Expanded to the shape of another tensor."""
    return call["expand"](self, other._array.shape)  # type: ignore[no-any-return]


def view_as(self: Tensor, other: Tensor) -> Tensor:
    """In the shape of another tensor."""
    return call["view"](self, other._array.shape)  # type: ignore[no-any-return]


def reshape_as(self: Tensor, other: Tensor) -> Tensor:
    """In the shape of another tensor."""
    return call["reshape"](self, other._array.shape)  # type: ignore[no-any-return]


def squeeze(input: Tensor, dim: Any = None) -> Tensor:
    """Without dimensions of size one: all, or those named."""
    if dim is None:
        return call["squeeze_all"](input)  # type: ignore[no-any-return]
    return call["squeeze_dim" if isinstance(dim, int) else "squeeze_dims"](input, dim)  # type: ignore[no-any-return]


def flatten(input: Tensor, start_dim: int = 0, end_dim: int = -1) -> Tensor:
    """Dimensions from start to end made one.

    Raises:
        RuntimeError: start lies after end.
    """
    shape = input._array.shape
    if not shape:
        return call["reshape"](input, (1,))  # type: ignore[no-any-return]
    first, last = text.wrap_dim(start_dim, len(shape)), text.wrap_dim(end_dim, len(shape))
    if first > last:
        raise RuntimeError("flatten() has invalid args: start_dim cannot come after end_dim")
    if first == last:
        return input
    return call["reshape"](input, (*shape[:first], int(np.prod(shape[first : last + 1])), *shape[last + 1 :]))  # type: ignore[no-any-return]


def ravel(input: Tensor) -> Tensor:
    """One dimension."""
    return call["reshape"](input, (-1,))  # type: ignore[no-any-return]


def cat(tensors: Any, dim: int = 0, *, axis: Any = None) -> Tensor:
    """Tensors joined along a dimension they have."""
    return call["cat"](list(tensors), dim if axis is None else axis)  # type: ignore[no-any-return]


def stack(tensors: Any, dim: int = 0) -> Tensor:
    """Tensors joined along a new dimension."""
    return call["stack"](list(tensors), dim)  # type: ignore[no-any-return]


def split(input: Tensor, split_size_or_sections: Any, dim: int = 0) -> Any:
    """Pieces of a size, or of several sizes."""
    if isinstance(split_size_or_sections, int):
        return call["split_size"](input, split_size_or_sections, dim)
    return call["split_with_sizes"](input, tuple(split_size_or_sections), dim)


def chunk(input: Tensor, chunks: int, dim: int = 0) -> Any:
    """That many pieces of about the same size.

    Raises:
        RuntimeError: no pieces asked for.
    """
    if chunks <= 0:
        raise RuntimeError(f"chunk expects `chunks` to be greater than 0, got: {chunks}")
    length = input._array.shape[text.wrap_dim(dim, input._array.ndim)]
    return call["split_size"](input, max(-(-length // chunks), 1), dim)


def contiguous(self: Tensor, memory_format: Any = None) -> Tensor:  # noqa: ARG001
    """The tensor itself, or a copy in the order of the indices."""
    return self if self._array.flags.c_contiguous else call["clone"](self)  # type: ignore[no-any-return]


def property_t(self: Tensor) -> Tensor:
    """``x.T``: the dimensions in reverse."""
    return call["permute"](self, tuple(reversed(range(self._array.ndim))))  # type: ignore[no-any-return]


def property_mt(self: Tensor) -> Tensor:
    """``x.mT``: the last two dimensions exchanged."""
    return call["transpose"](self, -2, -1)  # type: ignore[no-any-return]


# ------------------------------------------------------------------ dtype
def to(
    self: Tensor, *args: Any, dtype: Any = None, device: Any = None, copy: bool = False, non_blocking: bool = False
) -> Tensor:  # noqa: ARG001
    """In another dtype; the tensor itself where nothing changes."""
    for arg in args:
        if isinstance(arg, dtypes.dtype):
            dtype = arg
        elif isinstance(arg, Tensor):
            dtype = arg.dtype
        elif not isinstance(arg, bool):
            device = arg
    if device is not None:
        text.check_device(device)
    if dtype is None or dtype.np == self._array.dtype:
        return call["clone"](self) if copy else self  # type: ignore[no-any-return]
    return call["to_dtype"](self, dtype.np)  # type: ignore[no-any-return]


def caster(dtype: Any) -> Any:
    """``x.double()`` and its kin."""

    def cast(self: Tensor, memory_format: Any = None) -> Tensor:  # noqa: ARG001
        return to(self, dtype)

    return cast


def type_method(self: Tensor, dtype: Any = None) -> Any:
    """The old type name, or the tensor in another dtype."""
    if dtype is None:
        return text.type_name(self._array.dtype)
    if isinstance(dtype, str):
        names = {name: short for short, name in text.TYPE_NAMES.items()}
        return to(self, getattr(dtypes, names[dtype]))
    return to(self, getattr(dtype, "legacy_dtype", dtype))


def itself(self: Tensor, *_: Any, **__: Any) -> Tensor:
    """``x.cpu()``: everything is on the CPU."""
    return self


def new_filled(fill: float) -> Any:
    """``x.new_zeros(2, 3)`` and its kin: a tensor of the same dtype."""

    def make(self: Tensor, *size: Any, dtype: Any = None, requires_grad: bool = False) -> Tensor:
        kind = self._array.dtype if dtype is None else dtype.np
        return creation.finish(np.full(creation.sizes(size), fill, kind), requires_grad)

    return make


# ------------------------------------------------------------------ in place
IN_PLACE: dict[str, Any] = {
    "add_": add, "sub_": sub, "mul_": "mul", "div_": div, "pow_": power, "neg_": "neg", "exp_": "exp", "log_": "log", "sqrt_": "sqrt",
    "sin_": "sin", "cos_": "cos", "tanh_": "tanh", "sigmoid_": "sigmoid", "relu_": "relu", "abs_": "absolute", "square_": square,
    "reciprocal_": "reciprocal", "rsqrt_": "rsqrt", "clamp_": clamp, "clip_": clamp, "zero_": "zero", "tan_": "tan", "log1p_": "log1p",
    "expm1_": "expm1", "sign_": "sign", "scatter_add_": "scatter_add", "index_put_": "index_put",
}  # fmt: skip
"""In-place method -> the operation it writes the result of."""
AUGMENTED = {"__iadd__": "add_", "__isub__": "sub_", "__imul__": "mul_", "__itruediv__": "div_", "__ipow__": "pow_"}


def in_place_form(operation: Any) -> Any:
    """The method that writes an operation's result into its first operand."""

    def method(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        return inplace.in_place(call[operation] if isinstance(operation, str) else operation, self, *args, **kwargs)

    return method


def fill_(self: Tensor, value: Any) -> Tensor:
    """Write one value everywhere."""
    return inplace.in_place(call["fill_tensor" if isinstance(value, Tensor) else "fill"], self, value)


def copy_(self: Tensor, src: Any, non_blocking: bool = False) -> Tensor:  # noqa: ARG001
    """Write another tensor's values, broadcast and cast."""
    source = (
        inplace.fitted(to(creation.as_tensor(src), self.dtype), self._array.shape)
        if creation.as_tensor(src)._array.shape != self._array.shape
        else to(creation.as_tensor(src), self.dtype)
    )
    return inplace.in_place(call["copy_into"], self, source)


METHODS: dict[str, Any] = {
    "add": add, "sub": sub, "subtract": sub, "rsub": rsub, "div": div, "divide": div, "true_divide": div, "pow": power, "square": square,
    "clamp": clamp, "clip": clamp, "sum": sum, "mean": mean, "max": extreme("max", "maximum"), "min": extreme("min", "minimum"),
    "softmax": softmax, "log_softmax": log_softmax, "reshape": reshape, "permute": permute, "squeeze": squeeze, "flatten": flatten,
    "ravel": ravel, "split": split, "chunk": chunk, "broadcast_to": broadcast_to,
}  # fmt: skip
"""Name -> function, offered both as ``torch.NAME`` and as a method."""

METHODS_ONLY: dict[str, Any] = {
    "view": view, "expand": expand, "expand_as": expand_as, "view_as": view_as, "reshape_as": reshape_as, "contiguous": contiguous, "to": to,
    "float": caster(dtypes.float32), "double": caster(dtypes.float64), "half": caster(dtypes.float16), "long": caster(dtypes.int64),
    "int": caster(dtypes.int32), "bool": caster(dtypes.bool), "type": type_method, "cpu": itself, "where": where_method,
    "new_zeros": new_filled(0), "new_ones": new_filled(1), "fill_": fill_, "copy_": copy_,
    "type_as": lambda self, other: to(self, other.dtype), "__getitem__": get_item, "__setitem__": inplace.set_item,
    "__rsub__": reversed_sub, "__rtruediv__": reversed_div, "__pow__": operator_power, "__rpow__": reversed_power,
    "__matmul__": operator_matmul, "__and__": logical("logical_and", np.bitwise_and), "__or__": logical("logical_or", np.bitwise_or),
    "__xor__": logical("logical_xor", np.bitwise_xor), "__invert__": invert, "__pos__": itself,
    "T": property(property_t), "mT": property(property_mt),
}  # fmt: skip

FUNCTIONS_ONLY: dict[str, Any] = {
    "cat": cat, "concat": cat, "concatenate": cat, "stack": stack, "where": where, "tensor": creation.tensor, "as_tensor": creation.as_tensor,
    "from_numpy": creation.from_numpy, "zeros": creation.zeros, "ones": creation.ones, "empty": creation.zeros, "full": creation.full,
    "eye": creation.eye, "arange": creation.arange, "linspace": creation.linspace, "logspace": creation.logspace,
    "zeros_like": creation.zeros_like, "ones_like": creation.ones_like, "full_like": creation.full_like, "empty_like": creation.zeros_like,
    "rand": creation.rand, "randn": creation.randn, "randint": creation.randint, "randperm": creation.randperm,
    "rand_like": creation.rand_like, "randn_like": creation.randn_like, "manual_seed": creation.manual_seed,
    "numel": Tensor.numel, "is_tensor": lambda obj: isinstance(obj, Tensor), "is_floating_point": Tensor.is_floating_point,
}  # fmt: skip


def install(namespace: dict[str, Any]) -> None:
    """Bind everything to the tensor class and to the engine's namespace."""
    for name, key in ROWS_AS_ARE.items():
        place(key, Tensor, name)
        place(key, namespace, name)
    for name, key in OPERATORS.items():
        place(key, Tensor, name)
    for name, function in METHODS.items():
        setattr(Tensor, name, function)
        namespace[name] = function
    for name, function in METHODS_ONLY.items():
        setattr(Tensor, name, function)
    for name, operation in IN_PLACE.items():
        setattr(Tensor, name, in_place_form(operation))
    for name, method in AUGMENTED.items():
        setattr(Tensor, name, getattr(Tensor, method))
    namespace.update(FUNCTIONS_ONLY)


def place(key: str, owner: Any, name: str) -> None:
    """Bind a row's function to a name now, and again when the row has been made ready."""
    row: Row | None = ROWS.get(key)
    function = TENSORS[key] if row is None else row.entry(name)
    if row is not None:
        row.places.append((owner, name))
    if isinstance(owner, dict):
        owner[name] = function
    else:
        setattr(owner, name, function)
