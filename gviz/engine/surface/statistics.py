"""Products, variances, norms, extremes, order: which row each call form means."""

from __future__ import annotations

from typing import Any

import numpy as np

from gviz.numbers import dtypes
from gviz.numbers.shapes import wrap_dim, wrap_dims
from gviz.autograd.row import TENSORS as call
from gviz.engine.surface.arithmetic import keyed, places
from gviz.engine.surface.reductions import UNSET, as_dims, dtype_of
from gviz.autograd.tensor import Tensor, from_array


def running(key: str) -> Any:
    """``cumsum`` or ``cumprod``: what is added up, or multiplied, to each place along a dim."""

    def choose(input: Tensor, dim: int, *, dtype: Any = None) -> Tensor:
        return call[key](input, dim, dtype_of(dtype))

    return choose


def over(key: str, every: Any = None) -> Any:
    """A row's function over one dim, or several; ``every`` is what the row calls all of them."""

    def choose(input: Tensor, dim: Any = every, keepdim: bool = False, *, axis: Any = None, **typed: Any) -> Tensor:
        dim = dim if axis is None else axis
        words = {name: dtype_of(value) for name, value in typed.items()}
        return call[key](input, every if dim is None else as_dims(dim), keepdim, **words)

    return choose


logsumexp, nansum = over("logsumexp", UNSET), over("nansum")


def nanmean(input: Tensor, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Tensor:
    """The mean of what is a number: of all elements, or along dims."""
    if input._array.dtype.kind not in "fc":
        raise RuntimeError(
            f"nanmean(): expected input to have floating point or complex dtype but got {input.dtype.scalar_name}"
        )
    axes = None if dim is None or not input._array.ndim else wrap_dims(as_dims(dim), input._array.ndim)
    count = np.sum(~np.isnan(input._array), axis=axes, keepdims=keepdim)
    return call["div"](nansum(input, dim, keepdim, dtype=dtype), from_array(np.asarray(count), None))


def sort(input: Tensor, dim: int = -1, descending: bool = False, *, stable: bool | None = None) -> Any:
    """Sorted values along a dim, and where they were."""
    return call["sort" if stable is None else "sort_stable"](input, dim, descending)


def argsort(input: Tensor, dim: int = -1, descending: bool = False, *, stable: bool = False) -> Tensor:
    """Where the sorted values along a dim were."""
    return call["sort_stable" if stable else "sort"](input, dim, descending)[1]


def middle(name: str) -> Any:
    """``median`` or ``nanmedian``: the middle value, the lower of two: of everything, or along a dim with its place."""

    def choose(input: Tensor, dim: Any = None, keepdim: bool = False) -> Any:
        if dim is None and keepdim:
            raise TypeError("no dim")
        return call[f"{name}_all"](input) if dim is None else call[f"{name}_dim"](input, dim, keepdim)

    return choose


def nonzero(input: Tensor, *, as_tuple: bool = False) -> Any:
    """Where elements are not zero: a row of indices each, or a tensor for each dim."""
    if as_tuple:
        return places(input)
    return call["nonzero"](input)


def unique(
    input: Tensor, sorted: bool = True, return_inverse: bool = False, return_counts: bool = False, dim: Any = None
) -> Any:
    """The different values, or slices along a dim, and on request where they go and how often they are there."""
    values, inverse, counts = (
        call["unique2"](input) if dim is None else call["unique_dim"](input, wrap_dim(dim, input._array.ndim))
    )
    found = (values, *[inverse] * return_inverse, *[counts] * return_counts)
    return found if len(found) > 1 else values


def bincount(input: Tensor, weights: Any = None, minlength: int = 0) -> Tensor:
    """How often each number is there."""
    if weights is not None and not isinstance(weights, Tensor):
        raise TypeError("no weights")
    if input._array.dtype.kind not in "iu":
        raise dtypes.no_kernel("bincount_cpu", input._array.dtype)
    if input._array.ndim != 1 or (input._array < 0).any():
        raise RuntimeError("bincount only supports 1-d non-negative integral inputs.")
    if weights is not None and weights._array.shape != input._array.shape:
        raise RuntimeError("weights should be 1-d and have the same length as input")
    if weights is None:
        return from_array(np.bincount(input._array, None, minlength), None)
    kind = weights._array.dtype if weights._array.dtype == np.float32 else np.float64
    return from_array(np.bincount(input._array, weights._array, minlength).astype(kind), None)


BOTH: dict[str, Any] = {}
