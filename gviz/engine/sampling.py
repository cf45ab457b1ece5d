"""Functions that make random tensors, of PyTorch's own stream of numbers (``numbers/random.py``)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from gviz.autograd.row import named
from gviz.engine.creation import checked, finish
from gviz.numbers import random
from gviz.numbers.dtypes import get_default_dtype

if TYPE_CHECKING:
    from typing import Any as Dtype
    from typing import Any as Size

    from gviz.autograd.tensor import Tensor

INT64 = np.dtype(np.int64)


@named("torch.rand")
def rand(size: Size, *, generator: Any = None, dtype: Dtype = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    """Return uniform numbers in [0, 1)."""
    return finish(random.rand(checked(size), dtype, generator), device, requires_grad)


@named("torch.randn")
def randn(size: Size, *, generator: Any = None, dtype: Dtype = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    """Return standard normal numbers."""
    return finish(random.randn(checked(size), dtype, generator), device, requires_grad)


@named("torch.randint")
def randint_to(
    high: int, size: Size, *, generator: Any = None, dtype: Dtype = None, device: Any = None, requires_grad: bool = False
) -> Tensor:
    """Return integers from 0 up to, not including, high."""
    return randint(0, high, size, generator=generator, dtype=dtype, device=device, requires_grad=requires_grad)


@named("torch.randint")
def randint(
    low: int, high: int, size: Size, *, generator: Any = None, dtype: Dtype = None, device: Any = None,
    requires_grad: bool = False,
) -> Tensor:  # fmt: skip
    """Return integers from low up to, not including, high."""
    return finish(random.randint(low, high, checked(size), dtype or INT64, generator), device, requires_grad)


@named("torch.randperm")
def randperm(n: int, *, generator: Any = None, dtype: Dtype = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    """Return the numbers below n in random order."""
    return finish(random.randperm(n, generator).astype(dtype or INT64), device, requires_grad)


@named("torch.normal")
def normal(
    mean: float, std: float, size: Size, *, generator: Any = None, dtype: Dtype = None, device: Any = None,
    requires_grad: bool = False,
) -> Tensor:  # fmt: skip
    """Return normal numbers of one mean and deviation; those of tensors of means or deviations are rows of the table."""
    return finish(random.normal(checked(size), mean, std, dtype or get_default_dtype().np, generator), device, requires_grad)


# ------------------------------------------------------------------ in the shape of a tensor
@named("torch.rand_like")
def rand_like(
    self: Tensor, *, dtype: Dtype = None, device: Any = None, requires_grad: bool = False, memory_format: Any = None
) -> Tensor:
    """Return uniform numbers in the shape of a tensor."""
    return finish(random.rand(self._array.shape, dtype or self._array.dtype), device, requires_grad)


@named("torch.randn_like")
def randn_like(
    self: Tensor, *, dtype: Dtype = None, device: Any = None, requires_grad: bool = False, memory_format: Any = None
) -> Tensor:
    """Return standard normal numbers in the shape of a tensor."""
    return finish(random.randn(self._array.shape, dtype or self._array.dtype), device, requires_grad)


@named("torch.randint_like")
def randint_like_to(self: Tensor, high: int, *, dtype: Dtype = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    """Return integers from 0 up to, not including, high in the shape of a tensor."""
    return randint_like(self, 0, high, dtype=dtype, device=device, requires_grad=requires_grad)


@named("torch.randint_like")
def randint_like(
    self: Tensor, low: int, high: int, *, dtype: Dtype = None, device: Any = None, requires_grad: bool = False
) -> Tensor:
    """Return integers from low up to, not including, high in the shape of a tensor."""
    return finish(random.randint(low, high, self._array.shape, dtype or self._array.dtype), device, requires_grad)
