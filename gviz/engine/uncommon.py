"""Functions of torch that few programs name: parts of complex numbers, windows, whole numbers, choices.

They are loaded when they are named. The numbers and gradients are PyTorch's, the graphs behind them are those of what
they are composed of here.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gviz import engine
from gviz.autograd.modes import mode
from gviz.autograd.tensor import Tensor, from_array
from gviz.autograd.words import COMPLEX
from gviz.engine.creation import finish, from_numpy
from gviz.numbers import dtypes
from gviz.numbers.classes import result_class
from gviz.numbers.shapes import wrap_dim
from gviz.numbers.words import refuse, warn_once

torch: Any = engine

__all__ = [
    "bartlett_window", "blackman_window", "block_diag", "combinations", "complex", "cumulative_trapezoid", "detach",
    "frombuffer", "hamming_window", "hann_window", "is_nonzero", "is_signed", "is_storage", "ldexp",
    "msort", "nanmedian", "polar", "range", "unique_consecutive", "unravel_index", "vander", "view_as_complex",
    "view_as_real",
]  # fmt: skip


# ------------------------------------------------------------------ complex numbers
def without_gradient(*tensors: Tensor) -> list[Any]:
    """Return the arrays of tensors that want no gradient."""
    refuse(mode.recording and any(one.requires_grad for one in tensors), COMPLEX, NotImplementedError)
    return [one._array for one in tensors]


def complex(real: Tensor, imag: Tensor) -> Any:
    """Return complex numbers of their parts."""
    refuse(
        real.dtype != imag.dtype,
        f"Expected object of scalar type {real.dtype.scalar_name} but got scalar type {imag.dtype.scalar_name} for "
        "second argument",
    )
    first, second = without_gradient(real, imag)
    return from_array(np.asarray(first + second * first.dtype.type(1) * 1j, np.result_type(first, np.complex64)), None)


def polar(abs: Tensor, angle: Tensor) -> Any:
    """Return complex numbers of their sizes and angles."""
    return complex(abs * angle.cos(), abs * angle.sin())


def view_as_real(input: Tensor) -> Any:
    """Return complex numbers as pairs of numbers, on the same memory."""
    refuse(not input.is_complex(), "view_as_real is only supported for complex tensors")
    (array,) = without_gradient(input)
    return from_array(array[..., None].view(array.real.dtype), None)


def view_as_complex(input: Tensor) -> Any:
    """Return pairs of numbers as complex numbers, on the same memory."""
    refuse(
        not input.is_floating_point(),
        f"view_as_complex is only supported for half, float and double tensors, but got a tensor of scalar type: "
        f"{input.dtype.scalar_name}",
    )
    refuse(not input.ndim or input.shape[-1] != 2, "Tensor must have a last dimension of size 2")
    (array,) = without_gradient(input)
    return from_array(array.view(np.result_type(array, np.complex64))[..., 0], None)


# ------------------------------------------------------------------ windows
def window(name: str, *cosines: float) -> Callable[..., Any]:
    """Return the function that makes a window: a sum of cosines with these weights, or without any a triangle."""

    def make(
        window_length: int,
        periodic: bool = True,
        *,
        dtype: dtypes.dtype | None = None,
        device: object = None,
        requires_grad: bool = False,
    ) -> Any:
        kind = (dtype or dtypes.get_default_dtype()).np
        turns = np.arange(window_length, dtype=kind) / max(window_length - 1 + bool(periodic), 1)
        values: Any = sum(weight * np.cos(2 * math.pi * k * turns) for k, weight in enumerate(cosines))
        values = values if cosines else 1 - np.abs(2 * turns - 1)
        return finish(np.ones(1, kind) if window_length == 1 else values.astype(kind), device, requires_grad)

    make.__name__ = make.__qualname__ = name
    make.__doc__ = (
        f"Return {name.removesuffix('_window').capitalize()}'s window, which one period of a signal is multiplied with."
    )
    return make


bartlett_window, hann_window = window("bartlett_window"), window("hann_window", 0.5, -0.5)
hamming_window, blackman_window = window("hamming_window", 0.54, -0.46), window("blackman_window", 0.42, -0.5, 0.08)


# ------------------------------------------------------------------ whole numbers and places
def unravel_index(indices: Tensor, shape: int | Sequence[int]) -> tuple[Any, ...]:
    """Return the places in a shape of elements that are counted one after the other."""
    return tuple(from_array(np.asarray(one), None) for one in np.unravel_index(indices._array, shape))


def unique_consecutive(
    input: Tensor, return_inverse: bool = False, return_counts: bool = False, dim: int | None = None
) -> Any:
    """Return elements (or slices along a dim) without those that are as the one before."""
    array = input._array.reshape(-1) if dim is None else np.moveaxis(input._array, dim, 0)
    rows = array.reshape(len(array), -1)
    is_new = np.concatenate([np.ones(min(len(rows), 1), bool), (rows[1:] != rows[:-1]).any(axis=1)])
    kept = array[is_new] if dim is None else np.moveaxis(array[is_new], 0, dim)
    groups = np.cumsum(is_new) - 1
    results = [kept]
    if return_inverse:
        results.append(groups.reshape(input.shape if dim is None else -1))
    if return_counts:
        results.append(np.bincount(groups))
    tensors = [from_array(np.array(one), None) for one in results]
    return tensors[0] if len(tensors) == 1 else tuple(tensors)


def combinations(input: Tensor, r: int = 2, with_replacement: bool = False) -> Any:
    """Return every choice of so many elements, in their order."""
    choose = itertools.combinations_with_replacement if with_replacement else itertools.combinations
    places = list(choose(builtin_range(len(input)), r))
    return input[torch.tensor(places)] if places else input.new_empty((0, r))


# ------------------------------------------------------------------ matrices
def block_diag(*tensors: Tensor) -> Any:
    """Return a matrix with others along its diagonal, and zeros elsewhere."""
    blocks = [torch.atleast_2d(one) for one in tensors]
    rows, width, before = [], sum(one.shape[1] for one in blocks), 0
    for block in blocks:
        after = width - before - block.shape[1]
        rows.append(torch.nn.functional.pad(block, (before, after)))
        before += block.shape[1]
    return torch.cat(rows)


def vander(x: Tensor, N: int | None = None, increasing: bool = False) -> Any:
    """Return the powers of each element of a vector, side by side."""
    powers = torch.arange(len(x) if N is None else N)
    return x.unsqueeze(-1) ** (powers if increasing else powers.flip(0))


# ------------------------------------------------------------------ along a dim
def msort(input: Tensor) -> Any:
    """Return rows sorted along the first dim."""
    return input.sort(0)[0]


def nanmedian(input: Tensor, dim: int | None = None, keepdim: bool = False) -> Any:
    """Return the median of what is not nan: of all, or along a dim with its place."""
    flat, along = (input.reshape(-1), 0) if dim is None else (input, wrap_dim(dim, input.ndim))
    ordered, places = flat.sort(along)
    middle = (((~flat.isnan()).sum(along, keepdim=True) - 1) // 2).clamp(min=0)
    values, indices = (one.gather(along, middle) for one in (ordered, places))
    if dim is None:
        return values.squeeze(0)
    pair = [values, indices] if keepdim else [values.squeeze(along), indices.squeeze(along)]
    return result_class("nanmedian", ("values", "indices"))(pair)


def cumulative_trapezoid(y: Tensor, x: Tensor | None = None, *, dx: float = 1, dim: int = -1) -> Any:
    """Return the areas under a line through points, from the first to each of the others."""
    size = y.shape[dim]
    left, right = y.narrow(dim, 0, size - 1), y.narrow(dim, 1, size - 1)
    width: Any = dx if x is None else x.diff(dim=-1) if x.ndim == 1 else x.diff(dim=dim)
    if x is not None and x.ndim == 1:
        width = width.view([-1 if i == wrap_dim(dim, y.ndim) else 1 for i in builtin_range(y.ndim)])
    return ((left + right) * width).cumsum(dim) / 2.0


def ldexp(input: Tensor, other: Tensor) -> Any:
    """Return each element times a power of two."""
    return input * torch.pow(2.0, other)


# ------------------------------------------------------------------ what is asked of one tensor
def detach(input: Tensor) -> Any:
    """Return the tensor without its graph."""
    return input.detach()


def is_nonzero(input: Tensor) -> bool:
    """Return whether the only element is not zero."""
    return bool(input)


def is_signed(input: Tensor) -> bool:
    """Return whether the dtype has negative numbers."""
    return input._array.dtype.kind not in "ub"


def is_storage(obj: object) -> bool:
    """Return whether this is the memory of a tensor, which has no object of its own here."""
    return False


def frombuffer(
    buffer: Buffer, *, dtype: dtypes.dtype, count: int = -1, offset: int = 0, requires_grad: bool = False
) -> Any:
    """Return a tensor on the memory of bytes."""
    return from_numpy(np.frombuffer(buffer, dtype.np, count, offset)).requires_grad_(requires_grad)


builtin_range = range


def range(
    start: float = 0,
    end: float | None = None,
    step: float = 1,
    *,
    dtype: dtypes.dtype | None = None,
    device: object = None,
    requires_grad: bool = False,
) -> Any:
    """Return numbers in steps up to an end, which is one of them; ``arange`` leaves it out."""
    warn_once(
        "torch.range is deprecated and will be removed in a future release because its behavior is inconsistent with "
        "Python's range builtin. Instead, use torch.arange, which produces values in [start, end)."
    )
    start, end = (0, start) if end is None else (start, end)
    kind = (dtype or dtypes.get_default_dtype()).np
    steps = np.arange(math.floor((end - start) / step) + 1)
    return finish((start + step * steps).astype(kind), device, requires_grad)
