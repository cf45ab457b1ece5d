"""Functions that make tensors: from data, filled, in steps; the old constructors (``torch.FloatTensor``).

Most are declared as what makes the array, with :func:`creates`, which adds what each of them takes besides the dtype.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from types import FunctionType, SimpleNamespace
from typing import Any

import numpy as np

from gviz.autograd.modes import mode
from gviz.autograd.row import NAMED, public_names
from gviz.autograd.tensor import Tensor, from_array
from gviz.engine.device import check_device
from gviz.engine.meta import blank, marked
from gviz.numbers import dtypes, printing, unpack
from gviz.numbers.classes import type_text
from gviz.numbers.types import Array
from gviz.numbers.words import no_memory, refuse, refuse_any, warn, warn_once

MAX_BYTES = 64 * 2**30
"""A tensor larger than this is refused before numpy tries."""


def finish(array: Array, device: object = None, requires_grad: bool = False) -> Tensor:
    """Return a tensor around a fresh array, requiring a gradient if asked for, which integers cannot."""
    tensor = from_array(marked(array) if check_device(device) else array, None)
    if requires_grad:
        refuse(
            array.dtype.kind not in dtypes.INEXACT,
            "Only Tensors of floating point and complex dtype can require gradients",
        )
        tensor.requires_grad = True
    return tensor


def without_gradient(*tensors: Tensor, lacking: str = "gradients of complex tensors") -> list[Array]:
    """Return the arrays of tensors. NotImplementedError: one wants a gradient, which would be lost."""
    refuse(
        mode.recording and any(one.requires_grad for one in tensors),
        f"{lacking} are not in gviz's engine; run with --engine torch",
        NotImplementedError,
    )
    return [one._array for one in tensors]


def made(function: Callable[..., Any], device: object, arguments: dict[str, Any]) -> Any:
    """Return the array that a function makes; on the device meta it has a size alone, and no numbers are made."""
    size = arguments.get("size")
    if size is None or not check_device(device) or not all(hasattr(n, "__index__") and n >= 0 for n in size):
        return function(**arguments)
    return blank(size, function(**{**arguments, "size": (0,)}).dtype)


NEGATIVE = "Trying to create tensor with negative dimension {}: {}"


def checked(size: Sequence[int], dtype: DType | None = None, negative: str = NEGATIVE) -> tuple[int, ...]:
    """Return a shape.

    Refuse what is not a whole number, a negative dimension (in those words), and what has no room in memory in that
    dtype.
    """
    for n in size:
        if not hasattr(n, "__index__"):
            raise TypeError(f"empty(): argument 'size' must be tuple of ints, not {type_text(n)}")
    if any(n < 0 for n in size):
        raise RuntimeError(negative.format(min(size), list(size)))
    kind = np.dtype(dtype or dtypes.get_default_dtype().np)
    if kind.itemsize * prod(size) > MAX_BYTES:
        raise no_memory(SimpleNamespace(shape=size, dtype=kind))
    return tuple(size)


def options(
    *,
    device: object = None,
    requires_grad: bool = False,
    layout: Layout = None,
    pin_memory: bool = False,
    memory_format: Format = None,
) -> None:
    """Take what every function that makes a tensor takes by name, besides the dtype; the last three change nothing."""


def creates(names: str) -> Callable[[Any], Any]:
    """Give a function that makes an array its public names, for calls that also take the options and give a tensor.

    A name that ends in ``_like`` takes a tensor in place of the size; one in ``.new_`` a tensor and a size: the dtype
    is its. ``is_turned`` is no option: it says that the tensor does not lie in the order of its indices.
    """

    def store(function: FunctionType) -> Any:
        for word in names.split():
            declare(word, function, word.endswith("_like"), word.endswith("_like") or word.startswith(".new_"))
        return function

    return store


def declare(word: str, function: FunctionType, is_like: bool, is_method: bool) -> None:
    """Store one public name of a function that makes an array; its signature is written out for that."""
    code = function.__code__
    own = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    asks = "is_turned" in own
    own = (*["self"] * is_method, *(name for name in own if name != "is_turned" and not (is_like and name == "size")))
    takes, count = (*own, *options.__code__.co_varnames), code.co_argcount + is_method - is_like

    def make(*values: Any) -> Tensor:
        arguments, (device, requires_grad) = dict(zip(own, values, strict=False)), values[len(own) : len(own) + 2]
        if not is_method:
            return finish(made(function, device, arguments), device, requires_grad)
        model = arguments.pop("self")._array
        device = model.device if device is None else device
        arguments["dtype"] = arguments["dtype"] or model.dtype
        if is_like:  # made as it lies in memory, for the numbers of a random one are drawn in that order
            order = sorted(range(model.ndim), key=lambda dim: -model.strides[dim] if 0 not in model.strides else 0)
            if asks:
                arguments["is_turned"] = order != sorted(order)
            arguments["size"] = [model.shape[dim] for dim in order]
            return finish(made(function, device, arguments).transpose(np.argsort(order)), device, requires_grad)
        return finish(made(function, device, arguments), device, requires_grad)

    form = options.__code__.replace(
        co_varnames=takes, co_nlocals=len(takes), co_argcount=count, co_kwonlyargcount=len(takes) - count
    )
    signature = FunctionType(form, {}, function.__name__, function.__defaults__)
    signature.__annotations__ = {"self": "Tensor"} | function.__annotations__ | options.__annotations__
    signature.__kwdefaults__ = dict(function.__kwdefaults__ or {}, **(options.__kwdefaults__ or {}))
    signature.__doc__ = function.__doc__
    NAMED.append((word, signature, make))


# ------------------------------------------------------------------ from data
@creates("torch.tensor")
def tensor(data: object, *, dtype: Dtype = None) -> Any:
    """Return a tensor of a number, nested lists, or an array, copied; an array keeps its dtype."""
    return copied(data, dtype, "torch.tensor")


@creates(".new_tensor")
def new_tensor(data: object, *, dtype: Dtype = None) -> Any:
    """Return a tensor of data, of the same dtype unless another one is wanted."""
    return copied(data, dtype, "tensor.new_tensor")


def copied(data: object, dtype: DType | None, function: str) -> Any:
    """Return an array of data; of a tensor's with a warning that names the function called."""
    if isinstance(data, Tensor):
        warn(
            "To copy construct from a tensor, it is recommended to use sourceTensor.detach().clone() "
            f"or sourceTensor.detach().clone().requires_grad_(True), rather than {function}(sourceTensor)."
        )
        data = data._array
    return unpack.infer(data, dtype)


@public_names("torch.as_tensor")
def as_tensor(data: object, *, dtype: Dtype = None, device: object = None) -> Tensor:
    """Return the tensor itself, a tensor on an array's memory, or a new tensor."""
    if isinstance(data, Tensor):
        return data.to(dtype=None if dtype is None else dtypes.of(dtype), device=device)
    is_shared = isinstance(data, np.ndarray) and dtype in (None, data.dtype)
    return from_numpy(data) if is_shared else finish(unpack.infer(data, dtype), device)


@public_names("torch.asarray")
def asarray(obj: object, *, dtype: Dtype = None, device: object = None, copy: bool | None = None) -> Tensor:
    """Return the same; a copy if one is wanted."""
    tensor = as_tensor(obj, dtype=dtype, device=device)
    return tensor.clone() if copy else tensor


@public_names("torch.from_numpy")
def from_numpy(array: object) -> Tensor:
    """Return a tensor on the array's memory."""
    if isinstance(array, np.ndarray) and not array.flags.writeable:
        warn_once(
            "The given NumPy array is not writable, and PyTorch does not support non-writable tensors. This means "
            "writing to this tensor will result in undefined behavior. You may want to copy the array to protect its "
            "data or make it writable before converting it to a tensor. This type of warning will be suppressed for "
            "the rest of this program."
        )
    return from_array(unpack.check_numpy(array).view(), None)  # what becomes of that array's shape is not the tensor's


# ------------------------------------------------------------------ filled
@creates("torch.empty torch.empty_like torch.zeros_like .new_empty .new_zeros")
def unwritten(size: Size, *, dtype: Dtype = None) -> Any:
    """Return zeros: memory that nobody has written holds anything."""
    return np.zeros(checked(size, dtype), dtype or dtypes.get_default_dtype().np)


@creates("torch.zeros")
def zeros(size: Size, *, dtype: Dtype = None) -> Any:
    """Return zeros."""
    return np.zeros(
        checked(size, dtype, "zeros: Dimension size must be non-negative."), dtype or dtypes.get_default_dtype().np
    )


@creates("torch.ones torch.ones_like .new_ones")
def ones(size: Size, *, dtype: Dtype = None) -> Any:
    """Return ones."""
    return np.ones(checked(size, dtype), dtype or dtypes.get_default_dtype().np)


@creates("torch.full torch.full_like .new_full")
def full(size: Size, fill_value: Number, *, dtype: Dtype = None) -> Any:
    """Return one value everywhere; its kind decides the dtype."""
    dtype = dtype or dtypes.number_type(fill_value)
    return np.full(checked(size, dtype), dtypes.number(fill_value, dtype, is_alone=prod(size) == 1), dtype)


def empty(shape: int | Sequence[int], dtype: object = None, device: object = None) -> Tensor:
    """Return zeros of one length or of several, as the layers of nn make them.

    Of an element type, or the default one.
    """
    np_dtype = None if dtype is None else dtypes.as_dtype(dtype).np
    size = shape if isinstance(shape, list | tuple) else (shape,)
    return finish(made(unwritten, device, {"size": size, "dtype": np_dtype}), device)


@creates("torch.eye")
def eye(n: int, m: int | None = None, *, dtype: Dtype = None) -> Any:
    """Return the identity matrix."""
    for name, count in (("n", n), ("m", m)):
        refuse(count is not None and count < 0, f"{name} must be greater or equal to 0, got {count}")
    return np.eye(*checked((n, n if m is None else m), dtype), dtype=dtype or dtypes.get_default_dtype().np)


def indices(find: Callable[..., Any]) -> Any:
    """Return a function that gives the rows and columns of a triangle as numpy finds them."""

    def triangle(row: int, col: int, offset: int = 0, *, dtype: Dtype = None) -> Any:
        if dtype is not None and dtype not in (np.int32, np.int64):
            raise dtypes.no_kernel(find.__name__, dtype)
        return np.stack(find(row, offset, col)).astype(dtype or np.int64)

    return triangle


creates("torch.tril_indices")(indices(np.tril_indices))
creates("torch.triu_indices")(indices(np.triu_indices))


# ------------------------------------------------------------------ in steps
@creates("torch.arange")
def arange_to(end: Number, *, dtype: Dtype = None) -> Any:
    """Return the numbers from 0 up to end."""
    return arange(0, end, dtype=dtype)


@creates("torch.arange")
def arange(start: Number, end: Number, step: Number = 1, *, dtype: Dtype = None) -> Any:
    """Return the numbers from start up to end, in steps; integers if all three are."""
    zero, backward = "step must be nonzero", "upper bound and lower bound inconsistent with step sign"
    refuse_any({zero: step == 0, backward: (end - start) * step < 0})
    whole = all(isinstance(value, int) for value in (start, end, step))
    np_dtype = dtype or np.dtype(np.int64 if whole else dtypes.get_default_dtype().np)
    if np_dtype.kind in "bc":
        raise dtypes.no_kernel("arange_cpu", np_dtype)
    refuse(np_dtype.kind in "iu" and int(step) == 0, zero, ValueError)
    if whole := whole or np_dtype == np.int64:
        start, end, step = int(start), int(end), int(step)
    count = -((start - end) // step) if whole else int(np.ceil((end - start) / step))
    if np_dtype.kind in "iu":
        start, step = int(start), int(step)
    index = np.arange(*checked((count,), np.dtype(np.int64)))
    if whole or np_dtype.kind != "f":
        return (start + index * step).astype(np_dtype)
    lanes = 32 // np_dtype.itemsize  # PyTorch rounds the first number of a register and counts the others from it; what
    # does not fill two registers is computed one by one
    first = np.where(index < count // (2 * lanes) * 2 * lanes, index // lanes * lanes, index)
    return counted(counted(start, step, first, np_dtype), step, index - first, np_dtype)


def counted(start: Array | float, step: float, index: Array, dtype: DType) -> Array:
    """Return start + step * index, multiplied and added with one rounding, as PyTorch's processor does."""
    return (np.longdouble(start) + np.longdouble(step) * index).astype(np.float64).astype(dtype)


@creates("torch.linspace")
def linspace(start: Number, end: Number, steps: int, *, dtype: Dtype = None) -> Any:
    """Return so many numbers from start to end, both included."""
    dtype = dtype or dtypes.get_default_dtype().np
    return evenly(start, end, steps, dtype).astype(dtype)


@creates("torch.logspace")
def logspace(start: Number, end: Number, steps: int, base: float = 10.0, *, dtype: Dtype = None) -> Any:
    """Return powers of a base, their exponents in equal steps."""
    dtype = dtype or dtypes.get_default_dtype().np
    if dtype.kind == "b":
        raise dtypes.no_kernel("logspace_cpu", dtype)
    return (np.float64(base) ** evenly(start, end, steps, np.dtype(np.float64))).astype(dtype)


def evenly(start: float, end: float, steps: int, dtype: DType) -> Any:
    """Return numbers in equal steps of that type, counted from both ends towards the middle."""
    refuse(steps < 0, "number of steps must be non-negative")
    if dtype.kind == "b":
        raise dtypes.no_kernel("linspace_cpu", dtype)
    exact = dtype if dtype.kind in "fcV" else np.dtype(np.float64)
    wide = np.dtype(np.complex128 if dtype.kind == "c" else np.float64)

    def rounded(value: Any) -> Any:
        return np.asarray(value).astype(exact).astype(wide)

    low, high, index = rounded(dtypes.number(start, dtype)), rounded(dtypes.number(end, dtype)), np.arange(steps)
    step = rounded(rounded(high - low) / max(steps - 1, 1))
    ways = (
        step * index,
        step * (steps - 1 - index),
    )  # multiplied and added with one rounding, as PyTorch's processor does
    up, down = map(rounded, ways) if exact.itemsize == 2 else ways  # but for half precision
    return np.where(index < max(steps // 2, 1), low + up, high - down)


# ------------------------------------------------------------------ old forms
class LegacyType:
    """``torch.FloatTensor`` and its kin: call it to make a tensor of that dtype, by shape or by values."""

    def __init__(self, dtype: dtypes.dtype) -> None:
        self.__name__, self.dtype, self.legacy_dtype = f"{dtype.scalar_name}Tensor", dtype, dtype

    def __call__(self, *data: object, **words: object) -> Tensor:
        """Return a tensor of that dtype."""
        return new(self, *data, **words)

    def __instancecheck__(self, value: object) -> bool:
        return isinstance(value, Tensor) and value.dtype is self.dtype

    def __repr__(self) -> str:
        return f"<class 'torch.{self.__name__}'>"


NO_OLD_FORM = (
    "new() received an invalid combination of arguments - got ({}), but expected one of:\n"
    " * (*, torch.device device = None)\n"
    " * (torch.Storage storage)\n"
    " * (Tensor other)\n"
    " * (tuple of ints size, *, torch.device device = None)\n"
    " * (object data, *, torch.device device = None)\n"
)


def new(cls: type | LegacyType, *data: Any, device: Any = None, **words: Any) -> Tensor:
    """Return ``Tensor(3, 5)`` by shape, ``Tensor([1, 2])`` by values, ``Tensor(x)`` on the memory of a tensor."""
    data += tuple(words.pop(name) for name in ("data", "other") if name in words)
    types = [*map(type_text, data), *(f"{name}={type_text(value)}" for name, value in words.items())]
    refuse(
        words or (len(data) > 1 and not all(hasattr(one, "__index__") for one in data)),
        NO_OLD_FORM.format(", ".join(types) + ", " * (not data)),
        TypeError,
    )
    kind = str(device or "cpu").partition(":")[0]
    refuse(kind != "cpu", f"legacy constructor expects device type: cpu but device type: {kind} was passed")
    dtype = getattr(cls, "legacy_dtype", None) or dtypes.get_default_dtype()
    first = data[0] if len(data) == 1 else None
    if isinstance(first, Tensor):
        refuse(
            first.dtype is not dtype and isinstance(cls, LegacyType),
            f"new(): expected a tensor of {dtype} (got {first.dtype})",
            TypeError,
        )
        array = first._array
    elif isinstance(first, list | tuple | range | np.ndarray) and not isinstance(first, printing.Size):
        array = unpack.infer(first, dtype.np)
    elif data and not isinstance(first, printing.Size) and not all(hasattr(one, "__index__") for one in data):
        raise TypeError(f"new(): data must be a sequence (got {type_text(data[0])})")
    else:
        array = np.zeros(checked(first if isinstance(first, printing.Size) else data or (0,), dtype.np), dtype.np)
    tensor: Tensor = object.__new__(cls if isinstance(cls, type) and issubclass(cls, Tensor) else Tensor)
    tensor._array, tensor._edge, tensor._meta, tensor._version_cell = array, None, None, None
    return tensor


Tensor.__new__ = staticmethod(new)  # type: ignore[method-assign,assignment]
