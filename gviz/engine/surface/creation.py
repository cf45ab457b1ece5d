"""Functions that make tensors: from data, filled, in steps, random."""

from __future__ import annotations

import math
from operator import index
from typing import TYPE_CHECKING, Any

import numpy as np

from gviz.engine.device import Device, check_device
from gviz.numbers import dtypes
from gviz.numbers.classes import type_text
from gviz.numbers.printing import Size
from gviz.numbers.words import TENSOR_OPTIONS, warn, warn_once
from gviz.ops.copies import filled
from gviz.autograd.tensor import Tensor, from_array

if TYPE_CHECKING:
    from collections.abc import Sequence

MAX_BYTES = 64 * 2**30
"""A tensor larger than this is refused before numpy tries."""


def finish(array: Any, requires_grad: bool, device: Any = None) -> Tensor:
    """A tensor around a fresh array, requiring a gradient if asked for, which integers cannot."""
    if device is not None:
        check_device(device)
    made = from_array(array, None)
    if requires_grad is not False:
        if requires_grad is not True:
            raise TypeError(f"argument 'requires_grad' must be bool, not {type_text(requires_grad)}")
        if array.dtype.kind not in "fc":
            raise RuntimeError("Only Tensors of floating point and complex dtype can require gradients")
        made.requires_grad = True
    return made


def plain(dtype: Any, default: Any = None) -> Any:
    """Numpy's dtype for PyTorch's, or for the default one."""
    return dtypes.as_dtype(dtype).np if dtype is not None else (default or dtypes.get_default_dtype()).np


def sizes(shape: Sequence[Any], name: str = "empty") -> tuple[int, ...]:
    """A shape from ``(2, 3)`` or ``2, 3``, checked.

    Args:
        shape: the arguments that say it.
        name: the function that they were given to, for what is refused: no integers, negative ones, too much memory.
    """
    if not shape:
        raise TypeError(f'{name}() missing 1 required positional arguments: "size"')
    if len(shape) == 1 and isinstance(shape[0], list | tuple):
        shape = shape[0]
    elif not is_size(shape[0]):
        raise TypeError(f"{name}(): argument 'size' (position 1) must be tuple of ints, not {type_text(shape[0])}")
    found = []
    for i, size in enumerate(shape):
        if not is_size(size) and not i:
            raise TypeError(
                f"{name}(): argument 'size' (position 1) must be tuple of ints, but found element of type "
                f"{type_text(size)} at pos 0"
            )
        if not is_size(size):
            raise TypeError(
                f"{name}(): argument 'size' failed to unpack the object at pos {i + 1} with error \"type must be tuple of "
                f'ints,but got {type_text(size)}"'
            )
        found.append(int(size.__index__()))
    total = 8
    for size in found:
        total *= size
        if size < 0 and name == "zeros":
            raise RuntimeError("zeros: Dimension size must be non-negative.")
        if size < 0:
            raise RuntimeError(f"Trying to create tensor with negative dimension {size}: {found}")
    if total > MAX_BYTES:
        raise RuntimeError(
            f"[enforce fail at alloc_cpu.cpp] DefaultCPUAllocator: can't allocate memory: you tried to allocate {total} "
            "bytes. Error code 12 (Cannot allocate memory)"
        )
    return tuple(found)


def sized(shape: tuple[Any, ...], size: Any, name: str) -> tuple[int, ...]:
    """The shape of ``zeros(2, 3)``, ``zeros((2, 3))`` and ``zeros(size=(2, 3))``."""
    if size is None:
        return sizes(shape, name)
    if shape:
        raise TypeError(f"{name}() got multiple values for argument 'size'")
    if not isinstance(size, list | tuple):
        raise TypeError(f"{name}(): argument 'size' must be tuple of ints, not {type_text(size)}")
    return sizes((size,), name)


def is_size(value: Any) -> bool:
    """Whether it can be the size of a dimension."""
    try:
        index(value)
    except TypeError:  # a tensor of others than one integer, too
        return False
    return not isinstance(value, bool)


def tensor(
    data: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False, pin_memory: bool = False
) -> Tensor:
    """A tensor from a number, nested lists, or an array, copied.

    Numbers become float32, integers int64, booleans bool, unless another dtype is wanted; an array keeps its dtype.
    Source: https://docs.pytorch.org/docs/2.13/generated/torch.tensor.html
    """
    return copied(data, dtype, device, requires_grad, "torch.tensor")


def copied(data: Any, dtype: Any, device: Any, requires_grad: bool, called: str) -> Tensor:
    """A tensor of data; of a tensor's with a warning that names the function called."""
    if isinstance(data, Tensor):
        warn(
            "To copy construct from a tensor, it is recommended to use sourceTensor.detach().clone() "
            f"or sourceTensor.detach().clone().requires_grad_(True), rather than {called}(sourceTensor)."
        )
        return finish(np.array(data._array, plain(dtype) if dtype is not None else data._array.dtype), requires_grad, device)
    return finish(dtypes.infer(data, dtype), requires_grad, device)


def as_tensor(data: Any, *, dtype: Any = None, device: Any = None) -> Tensor:
    """The tensor itself, an array's memory as a tensor, or a new tensor."""
    if device is not None:
        check_device(device)
    if isinstance(data, Tensor):
        return data if dtype is None else data.to(dtype)
    if isinstance(data, np.ndarray) and (dtype is None or dtypes.as_dtype(dtype).np == data.dtype):
        return from_numpy(data)
    return finish(dtypes.infer(data, dtype), requires_grad=False)


def from_numpy(array: Any) -> Tensor:
    """A tensor on the array's memory."""
    if isinstance(array, np.ndarray) and not array.flags.writeable:
        warn_once(
            "The given NumPy array is not writable, and PyTorch does not support non-writable tensors. This means writing "
            "to this tensor will result in undefined behavior. You may want to copy the array to protect its data or make it "
            "writable before converting it to a tensor. This type of warning will be suppressed for the rest of this program."
        )
    return from_array(dtypes.check_numpy(array).view(), None)  # what becomes of that array's shape is not the tensor's


def filler(name: str, value: int) -> Any:
    """``zeros``, ``ones`` and ``empty``, which PyTorch leaves as the memory was: here it is zeros."""
    fill = np.ones if value else np.zeros

    def make(
        *shape: Any, size: Any = None, dtype: Any = None, requires_grad: bool = False, device: Any = None, out: Any = None,
        layout: Any = None,
    ) -> Tensor:  # fmt: skip
        made = finish(fill(sized(shape, size, name), plain(dtype)), requires_grad, device)
        if out is None:
            return made
        if not isinstance(out, Tensor):
            raise TypeError(f"{name}(): argument 'out' must be Tensor, not {type_text(out)}")
        if out._array.shape != made._array.shape:
            out._array = np.zeros(made._array.shape, out._array.dtype)
        return out.fill_(value)  # type: ignore[attr-defined]

    return make


zeros, ones, empty = filler("zeros", 0), filler("ones", 1), filler("empty", 0)


def full(size: Any, fill_value: Any, *, dtype: Any = None, requires_grad: bool = False, device: Any = None) -> Tensor:
    """One value everywhere; its kind decides the dtype."""
    if isinstance(size, int):
        raise TypeError("full(): argument 'size' (position 1) must be tuple of ints, not int")
    value = fill_value.item() if isinstance(fill_value, Tensor) else fill_value
    kind = plain(dtype) if dtype is not None else dtypes.number_type(value)
    return finish(filled(np.empty(sizes((size,), "full"), kind), value), requires_grad, device)


def eye(n: int, m: int | None = None, *, dtype: Any = None, requires_grad: bool = False, device: Any = None) -> Tensor:
    """The identity matrix."""
    for name, size in (("n", n), ("m", m)):
        if isinstance(size, int) and size < 0:
            raise RuntimeError(f"{name} must be greater or equal to 0, got {size}")
    sizes((n, n if m is None else m))
    return finish(np.eye(n, m, dtype=plain(dtype)), requires_grad, device)


def arange(
    *args: Any, start: Any = None, end: Any = None, step: Any = None, dtype: Any = None, requires_grad: bool = False,
    device: Any = None,
) -> Tensor:  # fmt: skip
    """Numbers from start (0) up to end, in steps (1); integers where all three are."""
    given = [a.item() if isinstance(a, Tensor) else a for a in args]
    if len(given) == 1 and end is None:
        end = given[0]
    elif given:
        start, end, step = (*given, *(end, step)[len(given) - 1 :])[:3]
    if end is None:
        raise TypeError("arange() has no end")
    start, step = 0 if start is None else start, 1 if step is None else step
    if step == 0:
        raise RuntimeError("step must be nonzero")
    whole = all(isinstance(v, int) for v in (start, end, step))
    kind = plain(dtype, dtypes.int64 if whole else None)
    if kind.kind == "b":
        raise dtypes.no_kernel("arange_cpu", kind)
    if not (math.isfinite(start) and math.isfinite(end)):
        raise RuntimeError(f"unsupported range: {start} -> {end}")
    if (end - start) * step < 0:
        raise RuntimeError("upper bound and lower bound inconsistent with step sign")
    count = -((start - end) // step) if whole else int(np.ceil((end - start) / step))
    if kind.kind in "iu" and not whole:  # counted in whole numbers, or in the numbers given; the steps are whole
        start, end, step = int(start), int(end), int(step)
        count = -((start - end) // step) if kind == np.int64 and step else count
    sizes((max(count, 0),))
    values = start + np.arange(count) * step
    return finish(values.astype(kind), requires_grad, device)


def linspace(start: Any, end: Any, steps: int, *, dtype: Any = None, requires_grad: bool = False, device: Any = None) -> Tensor:
    """``steps`` numbers from start to end, both included."""
    return finish(evenly(start, end, steps, plain(dtype), "linspace").astype(plain(dtype)), requires_grad, device)


def evenly(start: Any, end: Any, steps: int, kind: Any, name: str) -> Any:
    """Numbers in equal steps, counted from both ends towards the middle."""
    if not hasattr(steps, "__index__"):
        raise TypeError("no number of steps")
    if steps < 0:
        raise RuntimeError("number of steps must be non-negative")
    tensors = {which: v._array.ndim for which, v in (("start", start), ("end", end)) if isinstance(v, Tensor)}
    if any(tensors.values()):
        given = " and ".join(f"{which} with {ndim} dimension(s)" for which, ndim in tensors.items())
        raise RuntimeError(f"{name} only supports 0-dimensional start and end tensors, but got {given}.")
    low, high = (v.item() if isinstance(v, Tensor) else v for v in (start, end))
    for value in (low, high):
        dtypes.number(value, kind, half=True)
    if kind.kind != "f":
        low, high, kind = int(low), int(high), np.dtype(np.float64)
    if steps < 2:
        return np.full(steps, low, kind)
    low, high = kind.type(low), kind.type(high)
    precise = np.float64 if name == "logspace" else kind.type
    step = precise(high - low) / precise(steps - 1)
    index = np.arange(steps, dtype=precise)
    near = index < steps // 2
    slope, index, end = np.where(near, step, -step), np.where(near, index, steps - 1 - index), np.where(near, low, high)
    return slope * index + end if name == "logspace" else fused(slope, index, end)


def fused(a: Any, b: Any, c: Any) -> Any:
    """``a * b + c`` rounded once, as the processor does where PyTorch counts in equal steps."""
    if a.dtype != np.float64:
        return (np.float64(a) * b + c).astype(a.dtype)
    product, (high, low) = a * b, split(a)
    head, tail = split(b)
    lost = ((high * head - product) + high * tail + low * head) + low * tail
    total = product + c
    back = total - product
    return total + (((product - (total - back)) + (c - back)) + lost)


def split(value: Any) -> tuple[Any, Any]:
    """A double in two halves, so that products of halves are exact (Dekker)."""
    wide = value * 134217729.0
    high = wide - (wide - value)
    return high, value - high


def logspace(
    start: Any, end: Any, steps: int, base: float = 10.0, *, dtype: Any = None, requires_grad: bool = False, device: Any = None
) -> Tensor:
    """Powers of ``base``, their exponents in equal steps."""
    powers = np.float64(base) ** evenly(start, end, steps, plain(dtype), "logspace")
    return finish(powers.astype(plain(dtype)), requires_grad, device)


def like(fill: Any) -> Any:
    """A function that makes a tensor like another one, filled with that value."""

    def make(
        input: Tensor, *, dtype: Any = None, requires_grad: bool = False, device: Any = None, memory_format: Any = None,
        layout: Any = None, pin_memory: bool = False,
    ) -> Tensor:  # fmt: skip
        kind = plain(dtype) if dtype is not None else input._array.dtype
        order: Any = "C" if 0 in input._array.strides else "K"
        made = filled(np.empty_like(input._array, kind, order), fill)
        return finish(made if memory_format is None else memory_format.copy(made), requires_grad, device)

    return make


zeros_like, ones_like = like(0), like(1)


def full_like(input: Tensor, fill_value: Any, **options: Any) -> Tensor:
    """One value everywhere, in the shape of another tensor."""
    made: Tensor = like(fill_value.item() if isinstance(fill_value, Tensor) else fill_value)(input, **options)
    return made


# ------------------------------------------------------------------ old forms
def legacy(cls: Any, data: tuple[Any, ...], options: dict[str, Any]) -> Tensor:
    """``Tensor(3, 5)`` by shape, ``Tensor([1, 2])`` by values.

    Raises:
        TypeError: a tensor of another dtype, or nothing that there is such a tensor of.
        RuntimeError: another device.
    """
    kind = getattr(cls, "legacy_dtype", None) or dtypes.get_default_dtype()
    if options or len(data) > 1:
        if (device := Device(options.pop("device", "cpu"))).type != "cpu":
            raise RuntimeError(f"legacy constructor expects device type: cpu but device type: {device.type} was passed")
        data = (*data, *options.values())
    one = data[0] if len(data) == 1 else None
    if isinstance(one, Tensor):
        if one.dtype is not kind and isinstance(cls, LegacyType):
            wanted, given = (TENSOR_OPTIONS.format(each.c_name) for each in (kind, one.dtype))
            raise TypeError(f"expected {wanted} (got {given})")
        array = one._array
    elif isinstance(one, list | tuple | range | np.ndarray) and not isinstance(one, Size):
        array = dtypes.infer(one, kind)
    elif len(data) == 1 and not isinstance(one, Size) and not hasattr(one, "__index__"):
        wrong = "invalid data type '{}'" if isinstance(one, str) else "data must be a sequence (got {})"
        raise TypeError(f"new(): {wrong.format(type_text(one))}")
    else:
        array = np.zeros(sizes(data, "new") if data else (0,), kind.np)
    made: Tensor = object.__new__(cls if isinstance(cls, type) and issubclass(cls, Tensor) else Tensor)
    made._array, made._edge, made._rare, made._version_cell = array, None, None, None
    return made


class LegacyType:
    """``torch.FloatTensor`` and its kin: call it to make a tensor of that dtype."""

    def __init__(self, name: str, dtype: Any) -> None:
        self.__name__ = name
        self.dtype = dtype
        self.legacy_dtype = dtype

    def __call__(self, *data: Any, **options: Any) -> Tensor:
        """A tensor by shape or values."""
        return legacy(self, data, options)

    def __instancecheck__(self, value: object) -> bool:
        return isinstance(value, Tensor) and value.dtype is self.dtype

    def __repr__(self) -> str:
        return f"<class 'torch.{self.__name__}'>"


FUNCTIONS: dict[str, Any] = {
    "tensor": tensor, "as_tensor": as_tensor, "from_numpy": from_numpy, "zeros": zeros, "ones": ones, "empty": empty,
    "full": full, "eye": eye, "arange": arange, "linspace": linspace, "logspace": logspace, "zeros_like": zeros_like,
    "ones_like": ones_like, "full_like": full_like, "empty_like": zeros_like,
}  # fmt: skip

Tensor.__new__ = staticmethod(lambda cls, *data, **options: legacy(cls, data, options))

Tensor.__new__ = lambda cls, *data, **options: legacy(cls, data, options)  # type: ignore[method-assign]
