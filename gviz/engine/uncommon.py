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
from gviz.autograd.row import TENSORS
from gviz.autograd.tensor import Tensor, from_array
from gviz.engine.creation import finish, from_numpy, without_gradient
from gviz.numbers import dtypes
from gviz.numbers.classes import result_class
from gviz.numbers.shapes import wrap_dim
from gviz.numbers.words import refuse, refuse_any, warn_once

torch: Any = engine

__all__ = [
    "bartlett_window", "blackman_window", "block_diag", "chain_matmul", "cholesky_inverse", "combinations", "complex",
    "cumulative_trapezoid", "frexp", "frombuffer", "gradient", "hamming_window", "hann_window", "is_storage", "isreal",
    "kaiser_window", "nextafter", "pca_lowrank", "polar", "range", "scalar_tensor", "stft", "svd_lowrank",
    "triangular_solve", "unique_consecutive", "unravel_index", "vander", "view_as_complex", "view_as_real",
]  # fmt: skip


# ------------------------------------------------------------------ complex numbers
def complex(real: Tensor, imag: Tensor) -> Any:
    """Return complex numbers of their parts."""
    refuse(
        real.dtype != imag.dtype,
        f"Expected object of scalar type {real.dtype.scalar_name} but got scalar type {imag.dtype.scalar_name} for "
        "second argument",
    )
    first, second = without_gradient(real, imag)
    return from_array(
        np.asanyarray(first + second * first.dtype.type(1) * 1j, np.result_type(first, np.complex64)), None
    )


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
    refuse_any(
        {
            f"view_as_complex is only supported for half, float and double tensors, but got a tensor of scalar type: "
            f"{input.dtype.scalar_name}": not input.is_floating_point(),
            "Tensor must have a last dimension of size 2": not input.ndim or input.shape[-1] != 2,
        }
    )
    (array,) = without_gradient(input)
    return from_array(array.view(np.result_type(array, np.complex64))[..., 0], None)


def stft(
    input: Tensor,
    n_fft: int,
    hop_length: int | None = None,
    win_length: int | None = None,
    window: Tensor | None = None,
    center: bool = True,
    pad_mode: str = "reflect",
    normalized: bool = False,
    onesided: bool | None = None,
    return_complex: bool | None = None,
) -> Any:
    """Return the Fourier transforms of pieces of a signal that overlap, each times a window."""
    refuse(
        return_complex is None,
        "stft requires the return_complex parameter be given for real inputs, and will further require that "
        "return_complex=True in a future PyTorch release.",
    )
    hop, length = hop_length or n_fft // 4, win_length or n_fft
    before = (n_fft - length) // 2
    weights = (torch.ones(length) if window is None else window)._array
    weights = np.pad(weights, (before, n_fft - length - before))
    signal = torch.atleast_2d(input)
    if center:
        signal = torch.nn.functional.pad(signal.unsqueeze(1), (n_fft // 2,) * 2, pad_mode).squeeze(1)
    (array,) = without_gradient(signal)
    pieces = np.lib.stride_tricks.sliding_window_view(array, n_fft, axis=-1)[:, ::hop] * weights
    spectrum = np.swapaxes((np.fft.fft if onesided is False else np.fft.rfft)(pieces), -2, -1)
    spectrum = (spectrum / (math.sqrt(n_fft) if normalized else 1)).astype(np.result_type(array, np.complex64))
    result = from_array(spectrum.reshape(*input.shape[:-1], *spectrum.shape[-2:]), None)
    return result if return_complex else view_as_real(result)


def isreal(input: Tensor) -> Any:
    """Return whether each element has no imaginary part."""
    return from_array(np.isreal(input._array), None)


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


def kaiser_window(
    window_length: int, periodic: bool = True, beta: float = 12.0, *, dtype: dtypes.dtype | None = None
) -> Any:
    """Return Kaiser's window, which one period of a signal is multiplied with."""
    kind = (dtype or dtypes.get_default_dtype()).np
    return from_array(np.kaiser(window_length + bool(periodic), beta)[:window_length].astype(kind), None)


# ------------------------------------------------------------------ whole numbers and places
def unravel_index(indices: Tensor, shape: int | Sequence[int]) -> tuple[Any, ...]:
    """Return the places in a shape of elements that are counted one after the other."""
    return tuple(from_array(np.asanyarray(one), None) for one in np.unravel_index(indices._array, shape))


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
        rows.append(torch.nn.functional.pad(block, (before, width - before - block.shape[1])))
        before += block.shape[1]
    return torch.cat(rows)


def vander(x: Tensor, N: int | None = None, increasing: bool = False) -> Any:
    """Return the powers of each element of a vector, side by side."""
    powers = torch.arange(len(x) if N is None else N)
    return x.unsqueeze(-1) ** (powers if increasing else powers.flip(0))


def cholesky_inverse(L: Tensor, upper: bool = False) -> Any:
    """Return the inverse of the matrix that this is the Cholesky factor of."""
    return torch.inverse(L.mH @ L if upper else L @ L.mH)


def triangular_solve(
    b: Tensor, A: Tensor, upper: bool = True, transpose: bool = False, unitriangular: bool = False
) -> Any:
    """Return the solution of a triangular system, and a copy of its matrix."""
    warn_once(
        "torch.triangular_solve is deprecated in favor of torch.linalg.solve_triangularand will be removed in a future "
        "PyTorch release.\ntorch.linalg.solve_triangular has its arguments reversed and does not return a copy of one "
        "of the inputs.\nX = torch.triangular_solve(B, A).solution\nshould be replaced with\nX = "
        "torch.linalg.solve_triangular(A, B)."
    )
    solution = torch.linalg.solve_triangular(
        A.mT if transpose else A, b, upper=upper != transpose, unitriangular=unitriangular
    )
    return result_class("triangular_solve", ("solution", "cloned_coefficient"))([solution, A.clone()])


def chain_matmul(*matrices: Tensor) -> Any:
    """Return a chain of matrix products."""
    warn_once(
        "torch.chain_matmul is deprecated and will be removed in a future PyTorch release. Use torch.linalg.multi_dot "
        "instead, which accepts a list of two or more tensors rather than multiple parameters."
    )
    return torch.linalg.multi_dot(matrices)


def svd_lowrank(A: Tensor, q: int = 6, niter: int = 2, M: Tensor | None = None) -> tuple[Any, Any, Any]:
    """Return the first singular vectors and values, about, by multiplications with a random matrix."""
    matrix = A if M is None else A - M
    is_wide = matrix.shape[-2] < matrix.shape[-1]
    matrix = matrix.mH if is_wide else matrix
    basis = torch.linalg.qr(matrix @ torch.randn(matrix.shape[-1], q, dtype=A.dtype)).Q
    for _ in builtin_range(niter):
        basis = torch.linalg.qr(matrix.mH @ basis).Q
        basis = torch.linalg.qr(matrix @ basis).Q
    left, values, right = torch.linalg.svd(basis.mH @ matrix, full_matrices=False)
    left = basis @ left
    return (right.mH, values, left) if is_wide else (left, values, right.mH)


def pca_lowrank(A: Tensor, q: int | None = None, center: bool = True, niter: int = 2) -> tuple[Any, Any, Any]:
    """Return the principal components of rows: their :func:`svd_lowrank` around their mean."""
    rank = min(6, *A.shape[-2:]) if q is None else q
    refuse(
        not 0 <= rank <= min(A.shape[-2:]),
        f"q(={rank}) must be non-negative integer and not greater than min(m, n)={min(A.shape[-2:])}",
        ValueError,
    )
    return svd_lowrank(A - A.mean(-2, keepdim=True) if center else A, rank, niter)


# ------------------------------------------------------------------ along a dim
def gradient(
    input: Tensor,
    *,
    spacing: float | Tensor | Sequence[float | Tensor] = 1,
    dim: int | Sequence[int] | None = None,
    edge_order: int = 1,
) -> tuple[Any, ...]:
    """Return the slopes along dims of a function, from its values at points in steps of ``spacing``, or at those."""
    refuse(edge_order != 1, "edge_order=2 is not in gviz's engine; run with --engine torch", NotImplementedError)
    dims = list(builtin_range(input.ndim)) if dim is None else [dim] if isinstance(dim, int) else list(dim)
    steps = list(spacing) if isinstance(spacing, list | tuple) else [spacing] * len(dims)
    results = []
    for one, step in zip(dims, steps, strict=True):
        size = input.shape[one]
        shape = [-1 if i == wrap_dim(one, input.ndim) else 1 for i in builtin_range(input.ndim)]
        width: Any = step if not isinstance(step, Tensor) else step.diff().view(shape)
        slopes = input.diff(dim=one) / width
        first, last = slopes.narrow(one, 0, size - 2), slopes.narrow(one, 1, size - 2)
        left, right = (
            (0.5, 0.5)
            if not isinstance(step, Tensor)
            else (
                width.narrow(one, at, size - 2) / (width.narrow(one, 0, size - 2) + width.narrow(one, 1, size - 2))
                for at in (1, 0)
            )
        )
        inner = first * left + last * right
        results.append(torch.cat([slopes.narrow(one, 0, 1), inner, slopes.narrow(one, size - 2, 1)], one))
    return tuple(results)


def cumulative_trapezoid(y: Tensor, x: Tensor | None = None, *, dx: float = 1, dim: int = -1) -> Any:
    """Return the areas under a line through points, from the first to each of the others."""
    both = y.narrow(dim, 0, y.shape[dim] - 1) + y.narrow(dim, 1, y.shape[dim] - 1)
    if x is None:
        return (both * (dx / 2.0)).cumsum(dim)
    places = x.view([-1 if i == wrap_dim(dim, y.ndim) else 1 for i in builtin_range(y.ndim)]) if x.ndim == 1 else x
    return TENSORS["div_scalar"]((both * places.diff(dim=dim)).cumsum(dim), 2.0)


# ------------------------------------------------------------------ what is asked of one tensor
def is_storage(obj: object) -> bool:
    """Return whether this is the memory of a tensor."""
    return isinstance(obj, torch.storage.UntypedStorage)


def scalar_tensor(s: float, *, dtype: dtypes.dtype | None = None) -> Any:
    """Return a number as a tensor without dims, in the default type."""
    return torch.tensor(s, dtype=dtype or dtypes.get_default_dtype())


def frexp(input: Tensor) -> Any:
    """Return each number as a fraction of 0.5 to 1, and a power of two."""
    (array,) = without_gradient(input, lacking="gradients of torch.frexp")
    return result_class("frexp", ("mantissa", "exponent"))([from_array(part, None) for part in np.frexp(array)])


def nextafter(input: Tensor, other: Tensor) -> Any:
    """Return the next number that the type has, in the direction of another."""
    arrays = without_gradient(input, other, lacking="gradients of torch.nextafter")
    return from_array(np.nextafter(*arrays), None)


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
    values = start + step * np.arange(math.floor((end - start) / step) + 1)
    return finish(values.astype(kind), device, requires_grad)
