"""Dropout as functions: of elements, and of whole channels of signals, images and volumes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from gviz.autograd.tensor import from_array
from gviz.numbers import random
from gviz.numbers.dtypes import of
from gviz.numbers.words import warn

if TYPE_CHECKING:
    Tensor = Any  # whose methods the table gives

__all__ = ["dropout", "dropout1d", "dropout2d", "dropout3d"]

DEPRECATED = (
    "dropout{d}d: Received a {n}-D input to dropout{d}d, which is deprecated and will result in an error in a future release. "
    "To retain the behavior and silence this warning, please use dropout instead. Note that dropout{d}d exists to provide "
    "channel-wise dropout on inputs with {d} spatial dimensions, a channel dimension, and an optional batch dimension (i.e. "
    "{a}D or {b}D inputs)."
)
ONE_SPATIAL = ("dropout2d: Received a 3D input to dropout2d and assuming that channel-wise 1D dropout behavior is desired - "
               "input is interpreted as shape (N, C, L), where C is the channel dim. This behavior will change in a future "
               "release to interpret the input as one without a batch dimension, i.e. shape (C, H, W). To maintain the 1D "
               "channel-wise dropout behavior, please switch to using dropout1d instead.")

def dropped(input: Tensor, p: float, training: bool, inplace: bool, *, channels: bool = False) -> Tensor:
    """Return the input with elements, or whole channels, set to zero with probability ``p``; the others are scaled up."""
    if not 0 <= p <= 1:
        raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")
    if not training or p == 0 or not input.numel():
        return input
    if input._array.dtype.kind not in "fc":
        raise RuntimeError(f"result type Float can't be cast to the desired output type {of(input._array.dtype).scalar_name}")
    if channels and input.ndim < 2:
        raise RuntimeError("Feature dropout requires at least 2 dimensions in the input")
    dtype, shape = input._array.dtype, (*input.shape[:2], *(1,) * (input.ndim - 2)) if channels else input.shape
    noise = np.zeros((), dtype) if p == 1 else random.bernoulli(1 - p, shape, dtype)
    factor = from_array(noise / dtype.type(1 - p or 1), None)
    return input.mul_(factor) if inplace else input * factor

def dropout(input: Tensor, p: float = 0.5, training: bool = True, inplace: Any = False) -> Tensor:
    """Return the input with elements set to zero with probability ``p``, the others scaled up; only in training."""
    return dropped(input, p, training, inplace)

def of_channels(dims: int) -> Any:
    """Return the public dropout of channels that have so many dimensions."""

    def apply(input: Tensor, p: float = 0.5, training: bool = True, inplace: Any = False) -> Tensor:
        rank = input.ndim
        if rank not in (dims + 1, dims + 2):
            warn(DEPRECATED.format(d=dims, n=rank, a=dims + 1, b=dims + 2))
        if dims == 2 and rank == 3:
            warn(ONE_SPATIAL)
        if dims == 2 or rank == dims + 2:
            return dropped(input, p, training, inplace, channels=True)
        found = dropped(input.unsqueeze_(0) if inplace else input.unsqueeze(0), p, training, inplace, channels=True)
        return found.squeeze_(0) if inplace else found.squeeze(0)

    return apply

dropout1d, dropout2d, dropout3d = map(of_channels, (1, 2, 3))
