"""``torch.fft``: Fourier transforms, which are numpy's; without gradients, for these are complex.

Source: https://docs.pytorch.org/docs/2.13/fft.html
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gviz.autograd.tensor import Tensor, from_array
from gviz.engine.creation import finish, without_gradient
from gviz.numbers import dtypes
from gviz.numbers.words import absent

__all__ = [
    "fft", "fft2", "fftfreq", "fftn", "fftshift", "hfft", "ifft", "ifft2", "ifftn", "ifftshift", "ihfft", "irfft",
    "irfft2", "irfftn", "rfft", "rfft2", "rfftfreq", "rfftn",
]  # fmt: skip


def transformed(name: str, input: Tensor, sizes: object, dims: object, norm: str | None) -> Any:
    """Return what numpy's function of that name gives, in the precision of the input."""
    (array,) = without_gradient(input)
    wide = array if array.dtype.kind in "fc" else array.astype(dtypes.get_default_dtype().np)
    try:
        result = getattr(np.fft, name)(wide, sizes, dims, norm)
    except ValueError as error:
        raise RuntimeError(f"torch.fft.{name}: {error}") from None
    is_single = wide.dtype in (np.float32, np.complex64)
    narrow = np.complex64 if result.dtype.kind == "c" else np.float32
    return from_array(result.astype(narrow) if is_single else result, None)


def along_a_line(name: str) -> Any:
    """Return the transform of that name along one dim."""

    def transform(input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None) -> Any:
        return transformed(name, input, n, dim, norm)

    return named(transform, name)


def along_dims(name: str, usual: tuple[int, ...] | None) -> Any:
    """Return the transform of that name along several dims: these, or all, unless others are given."""

    def transform(
        input: Tensor,
        s: int | Sequence[int] | None = None,
        dim: int | Sequence[int] | None = usual,
        norm: str | None = None,
    ) -> Any:
        sizes, dims = ([one] if isinstance(one, int) else one for one in (s, dim))
        return transformed(name, input, sizes, dims, norm)

    return named(transform, name)


def named(function: Callable[..., Any], name: str) -> Any:
    """Return a function with its name and docstring."""
    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"Return the transform ``{name}`` of a tensor."
    return function


KINDS = ("fft", "ifft", "rfft", "irfft")
fft, ifft, rfft, irfft, hfft, ihfft = map(along_a_line, (*KINDS, "hfft", "ihfft"))
fft2, ifft2, rfft2, irfft2 = (along_dims(f"{kind}2", (-2, -1)) for kind in KINDS)
fftn, ifftn, rfftn, irfftn = (along_dims(f"{kind}n", None) for kind in KINDS)


def fftfreq(n: int, d: float = 1.0, *, dtype: DType | None = None, requires_grad: bool = False) -> Any:
    """Return the frequencies of ``fft``, for ``n`` samples at distances of ``d``."""
    return finish(np.fft.fftfreq(n, d).astype(dtype or dtypes.get_default_dtype().np), None, requires_grad)


def rfftfreq(n: int, d: float = 1.0, *, dtype: DType | None = None, requires_grad: bool = False) -> Any:
    """Return the frequencies of ``rfft``, for ``n`` samples at distances of ``d``."""
    return finish(np.fft.rfftfreq(n, d).astype(dtype or dtypes.get_default_dtype().np), None, requires_grad)


def rolled(input: Tensor, dim: int | Sequence[int] | None, way: int) -> Any:
    """Return a tensor moved by half its size along dims, all unless some are given."""
    dims = range(input.ndim) if dim is None else (dim,) if isinstance(dim, int) else dim
    sizes = [input.shape[one] for one in dims]
    return input.roll([size // 2 if way > 0 else (size + 1) // 2 for size in sizes], list(dims))


def fftshift(input: Tensor, dim: int | Sequence[int] | None = None) -> Any:
    """Return a spectrum with the frequency 0 in the middle."""
    return rolled(input, dim, 1)


def ifftshift(input: Tensor, dim: int | Sequence[int] | None = None) -> Any:
    """Return what :func:`fftshift` was given."""
    return rolled(input, dim, -1)


__getattr__ = absent("torch.fft")
