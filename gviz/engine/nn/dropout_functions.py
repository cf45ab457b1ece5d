"""Dropout as functions: of elements, and of whole channels of signals, images and volumes."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gviz.autograd import inplace as writing
from gviz.numbers import random
from gviz.numbers.dtypes import of
from gviz.numbers.words import warn
from gviz.autograd.row import TENSORS as call
from gviz.engine.surface.sampling import is_turned
from gviz.autograd.tensor import Tensor, from_array

__all__ = ["alpha_dropout", "dropout", "dropout1d", "dropout2d", "dropout3d", "feature_alpha_dropout"]

DEPRECATED = (
    "dropout{d}d: Received a {n}-D input to dropout{d}d, which is deprecated and will result in an error in a future release. "
    "To retain the behavior and silence this warning, please use dropout instead. Note that dropout{d}d exists to provide "
    "channel-wise dropout on inputs with {d} spatial dimensions, a channel dimension, and an optional batch dimension (i.e. "
    "{a}D or {b}D inputs)."
)
ONE_SPATIAL = (
    "dropout2d: Received a 3D input to dropout2d and assuming that channel-wise 1D dropout behavior is desired - input is "
    "interpreted as shape (N, C, L), where C is the channel dim. This behavior will change in a future release to interpret "
    "the input as one without a batch dimension, i.e. shape (C, H, W). To maintain the 1D channel-wise dropout behavior, "
    "please switch to using dropout1d instead."
)


ALPHA = 1.7580993408473766
"""What a dropped element becomes, negative: the limit of :func:`functional.selu`."""


def dropped(input: Tensor, p: float, training: bool, inplace: bool, shape: Any, alpha: bool = False) -> Any:
    """What of that shape is drawn together set to zero with probability ``p``, the rest scaled up; only in training.

    With ``alpha`` it is set to -:data:`ALPHA`, and all of it scaled and shifted to keep mean and variance.
    """
    if not training or p == 0 or not input._array.size:
        return input
    kind = input._array.dtype
    if kind.kind not in "fc":
        raise RuntimeError(f"result type Float can't be cast to the desired output type {of(kind).scalar_name}")
    if p < 1 and not alpha and shape == input._array.shape and is_turned(input):  # drawn in the order in memory
        noise = call["bernoulli_one"](call["zeros_like"](input), 1 - p)._array
    else:
        noise = np.zeros((), kind) if p == 1 else random.bernoulli(1 - p, shape, kind)
    scale = 1 / (math.sqrt((ALPHA * ALPHA * p + 1) * (1 - p)) if alpha else 1 - p) if p < 1 else 1
    factor = from_array(noise * kind.type(scale) if alpha else noise / kind.type(1 - p or 1), None)
    found: Any = writing.in_place(call["mul"], input, factor) if inplace else call["mul"](input, factor)
    if not alpha or p == 1:
        return found
    return found.add_(from_array((noise - 1) * kind.type(ALPHA * scale) + kind.type(ALPHA * scale * p), None))


def check_probability(p: float) -> None:
    """Refuse a ``p`` that is no probability."""
    if p < 0.0 or p > 1.0:
        raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")


def dropout(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Any:
    """Elements set to zero with probability ``p``, the others scaled up; only in training."""
    check_probability(p)
    return dropped(input, p, training, inplace, input._array.shape)


def alpha_dropout(input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False) -> Any:
    """:func:`dropout` that keeps mean and variance of what :func:`functional.selu` gave."""
    check_probability(p)
    return dropped(input, p, training, inplace, input._array.shape, alpha=True)


def feature_alpha_dropout(input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False) -> Any:
    """:func:`alpha_dropout` of whole channels."""
    check_probability(p)
    return channels_dropped(input, p, training, inplace, alpha=True)


def of_channels(dims: int) -> Any:
    """The public dropout of channels that have so many dimensions."""

    def apply(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Any:
        check_probability(p)
        rank = input._array.ndim
        if dims == 1 and rank not in (2, 3):
            raise RuntimeError(
                f"dropout1d: Expected 2D or 3D input, but received a {rank}D input. Note that dropout1d exists to provide "
                "channel-wise dropout on inputs with 1 spatial dimension, a channel dimension, and an optional batch "
                "dimension (i.e. 2D or 3D inputs)."
            )
        if rank not in (dims + 1, dims + 2):
            warn(DEPRECATED.format(d=dims, n=rank, a=dims + 1, b=dims + 2))
        if dims == 2 and rank == 3:
            warn(ONE_SPATIAL)
        if dims == 2 or rank == dims + 2:
            return channels_dropped(input, p, training, inplace)
        if inplace:
            return channels_dropped(input.unsqueeze_(0), p, training, inplace).squeeze_(0)  # type: ignore[attr-defined]
        return call["squeeze_dim"](channels_dropped(call["unsqueeze"](input, 0), p, training, inplace), 0)

    return apply


def channels_dropped(input: Tensor, p: float, training: bool, inplace: bool, alpha: bool = False) -> Any:
    """Whole channels, the second dimension, set to zero."""
    sizes = input._array.shape
    if len(sizes) < 2 and training and 0 < p < 1 and input._array.size:
        raise RuntimeError("Feature dropout requires at least 2 dimensions in the input")
    return dropped(input, p, training, inplace, (*sizes[:2], *(1,) * (len(sizes) - 2)), alpha)


dropout1d, dropout2d, dropout3d = map(of_channels, (1, 2, 3))
