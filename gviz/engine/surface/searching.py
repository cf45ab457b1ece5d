"""Quantiles, counts, and where values are: what is asked of data; differences and areas under it."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from gviz.autograd import inplace
from gviz.numbers import dtypes
from gviz.numbers.shapes import wrap_dim
from gviz.autograd.call import plain_number
from gviz.autograd.row import TENSORS as call
from gviz.engine.surface.conversion import to
from gviz.engine.surface.rearranging import broadcast_tensors, meshgrid
from gviz.engine.surface.shape import listed
from gviz.autograd.tensor import Tensor, from_array

ROUNDED = {"lower": np.floor, "higher": np.ceil, "nearest": np.rint}


def quantile_of(*, ignore: bool) -> Any:
    """``quantile`` or ``nanquantile``: the value below which that share of the others lies, of everything or along a dim."""

    def find(input: Tensor, q: Any, dim: Any = None, keepdim: bool = False, *, interpolation: str = "linear") -> Tensor:
        if not isinstance(q, int | float | Tensor) or isinstance(q, bool):
            raise TypeError("no share")
        array = input._array
        if isinstance(q, list | tuple):
            raise TypeError("shares are a number or a tensor")
        shares = np.asarray(getattr(q, "_array", q), array.dtype)
        check_quantile("quantile", input, q, shares, interpolation)
        ndim = array.ndim
        if dim is None:
            values, kept = call["reshape"](input, (-1,)) if ndim != 1 else input, (1,) * ndim
            shape = kept if keepdim else ()
        else:
            dim = wrap_dim(dim, ndim)
            shape = tuple(1 if i == dim else n for i, n in enumerate(array.shape) if keepdim or i != dim)
            values = input
            if dim != ndim - 1:
                values = call["transpose"](call["unsqueeze"](input, -1), dim, -1)
        count = values._array.shape[-1] if values._array.ndim else 1
        many = shares.ndim > 0
        full = (shares.size, *shape) if many else shape
        ordered = call["view"](call["sort"](values, -1, False)[0], (*full[many:], count))
        ranks = ranked(q if isinstance(q, Tensor) else from_array(shares, None), ordered, ignore=ignore)
        places = ROUNDED.get(interpolation, np.floor)(ranks._array)
        found = picked(ordered, places)
        if interpolation in ("linear", "midpoint"):
            half = from_array(np.full_like(places, 0.5), None)
            weight = half if interpolation == "midpoint" else call["sub"](ranks, from_array(places.astype(np.int64), None))
            inplace.in_place(call["lerp"], found, picked(ordered, np.ceil(ranks._array)), weight)
        if many:
            found = call["transpose_"](call["unsqueeze_"](found, 0), 0, -1)
        return call["squeeze_dim_"](found, -1)

    return find


def ranked(q: Tensor, ordered: Tensor, *, ignore: bool) -> Tensor:
    """Where among sorted values a share of them lies below; the last place where there are nans, unless these are ignored."""
    nans = np.isnan(ordered._array)
    if ignore:
        ranks = call["mul"](q, from_array(np.asarray((~nans).sum(axis=-1, keepdims=True) - 1), None))
        return call["masked_fill"](ranks, call["less"](ranks, 0), 0)
    last = nans.shape[-1] - 1
    ranks, spoilt = broadcast_tensors(call["mul_scalar"](q, last), from_array(nans.any(axis=-1, keepdims=True), None))
    return call["masked_fill"](ranks, spoilt, last)


def picked(ordered: Tensor, ranks: Any) -> Tensor:
    """Elements at ranks along the last dim."""
    return call["gather"](ordered, -1, from_array(ranks.astype(np.int64), None))


def check_quantile(name: str, input: Tensor, q: Any, shares: Any, interpolation: str) -> None:
    """Refuse what has no quantiles, and shares that are none."""
    if not input._array.size:
        raise RuntimeError(f"{name}() input tensor must be non-empty")
    if shares.ndim > 1:
        raise RuntimeError(f"{name}() q must be a scalar or 1D tensor")
    if input._array.dtype.name not in ("float32", "float64"):
        raise RuntimeError("quantile() input tensor must be either float or double dtype")
    if isinstance(q, Tensor) and q.dtype is not input.dtype:
        raise RuntimeError("quantile() q tensor must be same dtype as the input tensor")
    if interpolation not in ("linear", "midpoint", *ROUNDED):
        raise RuntimeError(
            f"{name}() interpolation must be one of linear, lower, higher, midpoint or nearest, but got {interpolation}"
        )
    if not ((shares >= 0) & (shares <= 1)).all():
        if isinstance(q, Tensor):
            raise RuntimeError(f"{name}() q values must be in the range [0, 1]")
        raise RuntimeError(f"{name}() q must be in the range [0, 1] but got {q:g}")


def msort(input: Tensor) -> Tensor:
    """Sorted along the first dim."""
    return call["sort"](input, 0, False)[0]


def searchsorted(
    sorted_sequence: Tensor, input: Any, *, out_int32: bool = False, right: bool = False, side: str | None = None,
    sorter: Any = None,
) -> Tensor:  # fmt: skip
    """Where each value would be put into sorted rows. RuntimeError: rows that do not fit the values."""
    rows = sorted_sequence._array
    if sorter is not None:
        rows = np.take_along_axis(rows, sorter._array, -1)
    values = np.asarray(getattr(input, "_array", input))
    if rows.ndim != 1 and rows.shape[:-1] != values.shape[:-1]:
        raise RuntimeError(
            "torch.searchsorted(): boundaries tensor should be 1 dimension or the first N-1 dimensions of boundaries tensor "
            f"and input value tensor must match, but we got boundaries tensor {list(rows.shape)} and input value tensor "
            f"{list(values.shape)}"
        )
    if rows.dtype.kind in "bc":
        raise dtypes.no_kernel("searchsorted_out_cpu", rows.dtype)
    place: Any = "right" if right or side == "right" else "left"
    if rows.ndim == 1:
        found = np.searchsorted(rows, values, place)
    else:
        found = np.empty(values.shape, np.int64)
        for at in np.ndindex(rows.shape[:-1]):
            found[at] = np.searchsorted(rows[at], values[at], place)
    return from_array(np.asarray(found, np.int32 if out_int32 else np.int64), None)


def bucketize(input: Any, boundaries: Tensor, *, out_int32: bool = False, right: bool = False) -> Tensor:
    """The number of the bucket that each value falls into. RuntimeError: boundaries that are no vector."""
    if boundaries._array.ndim != 1:
        raise RuntimeError(f"boundaries tensor must be 1 dimension, but got dim({boundaries._array.ndim})")
    return searchsorted(boundaries, input, out_int32=out_int32, right=right)


def isin(elements: Any, test_elements: Any, *, assume_unique: bool = False, invert: bool = False) -> Tensor:
    """Whether each element is among others."""
    first, second = (getattr(v, "_array", v) for v in (elements, test_elements))
    if "b" in {getattr(v, "dtype", np.dtype(float)).kind for v in (first, second)}:
        raise RuntimeError("Unsupported input type encountered for isin(): Bool")
    return from_array(np.asarray(np.isin(first, second, invert=invert)), None)


def histc(input: Tensor, bins: int = 100, min: Any = 0, max: Any = 0) -> Tensor:
    """How many elements fall into each of that many bins of one width."""
    array = input._array
    if bins <= 0:
        raise RuntimeError(f"torch.histogram(): bins must be > 0, but got {bins} for dimension 0")
    if array.dtype.kind in "iubc":
        raise dtypes.no_kernel({"b": "linspace_cpu", "c": "aminmax_cpu"}.get(array.dtype.kind, "histogram_cpu"), array.dtype)
    low, high = (min, max) if min != max else (array.min(), array.max()) if array.size else (0, 1)
    if low > high:
        raise RuntimeError("torch.histc: max must be larger than min")
    if not (np.isfinite(low) and np.isfinite(high)):
        raise RuntimeError(f"torch.histc: range of [{low:g}, {high:g}] is not finite")
    low, high = (low - 1, high + 1) if low == high else (low, high)
    counts, _ = np.histogram(array, bins, (float(low), float(high)))
    return from_array(counts.astype(array.dtype), None)


def trapezoid(y: Tensor, x: Any = None, *, dx: Any = 1, dim: int = -1) -> Tensor:
    """The area under a line through points, along a dim: all with one distance, or at places ``x``.

    Raises:
        IndexError: there are no dims.
        RuntimeError: there are booleans, or not as many places as points.
    """
    if not y._array.ndim:
        raise IndexError(f"Dimension specified as {dim} but tensor has no dimensions")
    refuse_flags("trapezoid", y, x)
    if x is None:
        y = to(y, dtypes.get_default_dtype()) if y._array.dtype.kind in "iub" else y
        last = call["select"](y, dim, -1)  # PyTorch's order of making them
        ends = call["mul_scalar"](call["add"](call["select"](y, dim, 0), last), 0.5)
        inner = call["sub"](call["sum_dim"](y, (dim,), False), ends)
        return call["mul_scalar"](inner, float(dx))
    dim = wrap_dim(dim, y._array.ndim)
    steps = steps_between("trapezoid", x, y, dim)
    return halved(call["sum_dim"](call["mul"](call["add"](*without_ends(y, dim)), steps), (dim,), False))


def cumulative_trapezoid(y: Tensor, x: Any = None, *, dx: Any = 1, dim: int = -1) -> Tensor:
    """:func:`trapezoid` up to each point. RuntimeError: there are booleans."""
    refuse_flags("cumulative_trapezoid", y, x)
    if x is None:
        return call["cumsum"](call["mul_scalar"](call["add"](*without_ends(y, dim)), dx / 2), dim)
    dim = wrap_dim(dim, y._array.ndim)
    steps = steps_between("cumulative_trapezoid", x, y, dim)
    return halved(call["cumsum"](call["mul"](call["add"](*without_ends(y, dim)), steps), dim))


def halved(value: Tensor) -> Tensor:
    """Half of it; of integers in the default dtype."""
    value = to(value, dtypes.get_default_dtype()) if value._array.dtype.kind in "iu" else value
    return call["div_scalar"](value, 2.0)


def refuse_flags(name: str, y: Tensor, x: Any) -> None:
    """Refuse booleans among points and places."""
    if "b" in {value._array.dtype.kind for value in (y, x) if value is not None}:
        what = "`y`" if x is None else "`x` or `y`"
        raise RuntimeError(f"{name}: received a bool input for {what}, but bool is not supported")


def steps_between(name: str, x: Tensor, y: Tensor, dim: int) -> Tensor:
    """The distances of places that follow each other; refuses other places than points."""
    if x._array.ndim == 1 and x._array.size != y._array.shape[dim]:
        raise RuntimeError(f"{name}: There must be one `x` value for each sample point")
    if x._array.ndim == 1:
        x = call["view"](x, tuple(-1 if i == dim else 1 for i in range(y._array.ndim)))
    elif x._array.ndim < y._array.ndim:
        x = call["view"](x, (1,) * (y._array.ndim - x._array.ndim) + x._array.shape)
    before, after = without_ends(x, dim)
    return call["sub"](after, before)


def without_ends(value: Tensor, dim: int) -> tuple[Tensor, Tensor]:
    """All but the last along a dim, and all but the first."""
    return call["slice_row"](value, dim, 0, -1, 1), call["slice_row"](value, dim, 1, None, 1)


def triangle_indices(lower: bool) -> Any:
    """``tril_indices`` or ``triu_indices``: rows and columns of a triangle."""

    def indices(row: int, col: int, offset: int = 0, *, dtype: Any = None, device: Any = None, layout: Any = None) -> Tensor:
        for name, size in (("row", row), ("col", col)):
            if size < 0:
                raise RuntimeError(f"{name} must be non-negative, got{size}")
        pick = np.tril_indices if lower else np.triu_indices
        kind = np.int64 if dtype is None else dtypes.as_dtype(dtype).np
        return from_array(np.stack(pick(row, offset, col)).astype(kind), None)

    return indices


def broadcast_shapes(*shapes: Any) -> Any:
    """The shape that shapes have together.

    Raises:
        RuntimeError: there is none, or one of them is none.
        ValueError: a length is negative.
    """
    from gviz.numbers.printing import Size

    given = [(s,) if isinstance(s, int) else s for s in shapes if s is not None]
    for shape in given:
        if not isinstance(shape, list | tuple):
            raise RuntimeError(  # noqa: TRY004 - as PyTorch does
                f"Input shapes should be of type ints, a tuple of ints, or a list of ints, got {shape}"
            )
    common = [1] * max(map(len, given), default=0)
    for i, shape in enumerate(given):
        for at in range(-1, -1 - len(shape), -1):
            if common[at] == 1 and shape[at] < 0:
                raise ValueError("Attempting to broadcast a dimension with negative length!")
            if shape[at] not in (1, common[at]) and common[at] != 1:
                raise RuntimeError(
                    f"Attempting to broadcast a dimension of length {shape[at]} at {at}! Mismatching argument at index {i} had "
                    f"{shape}; but expected shape should be broadcastable to {common}"
                )
            common[at] = shape[at] if common[at] == 1 else common[at]
    return Size(common)


def result_type(tensor1: Any, tensor2: Any) -> Any:
    """The dtype that two operands have together."""
    return dtypes.of(dtypes.result_type(*(plain_number(getattr(v, "_array", v)) for v in (tensor1, tensor2))))


def can_cast(from_: Any, to: Any) -> bool:
    """Whether a dtype may become another: never from floating point to integers, nor from numbers to bool."""
    kinds, (from_, to) = "biufc", map(dtypes.as_dtype, (from_, to))
    rank = [max(kinds.index(kind.np.kind), 1 if kind.np.kind in "iu" else 0) for kind in (from_, to)]
    return rank[0] <= rank[1] or {from_.np.kind, to.np.kind} <= {"i", "u"}


def cartesian_prod(*tensors: Tensor) -> Tensor:
    """Every choice of one element each. RuntimeError: a tensor that is no vector."""
    for tensor in listed(tensors):
        if tensor._array.ndim != 1:
            raise RuntimeError(f"Expect a 1D vector, but got shape {list(tensor._array.shape)}")
    if len(tensors) == 1:
        return tensors[0]
    grids = meshgrid(*tensors, indexing="ij")
    return call["stack"]([call["reshape"](g, (-1,)) for g in grids], 1)


def combinations(input: Tensor, r: int = 2, with_replacement: bool = False) -> Tensor:
    """Every choice of elements in their order, on request with repeats. RuntimeError: no vector, or a negative number."""
    if input._array.ndim != 1:
        raise RuntimeError(f"Expect a 1D vector, but got shape {list(input._array.shape)}")
    if r < 0:
        raise RuntimeError(f"Expect a non-negative number, but got {r}")
    if not r:
        return call["zeros_of"](input, (0,))
    places = np.indices((input._array.size,) * r, sparse=True)
    follows = np.less_equal if with_replacement else np.less
    chosen = np.ones((input._array.size,) * r, bool)
    for before, after in pairwise(places):
        chosen &= follows(before, after)
    mask = from_array(chosen, None)
    return call["stack"]([call["masked_select"](g, mask) for g in meshgrid(*[input] * r, indexing="ij")], 1)


BOTH: dict[str, Any] = {
    "quantile": quantile_of(ignore=False), "nanquantile": quantile_of(ignore=True), "msort": msort, "histc": histc,
}  # fmt: skip

FUNCTIONS: dict[str, Any] = {
    "searchsorted": searchsorted, "bucketize": bucketize, "isin": isin, "trapezoid": trapezoid, "trapz": trapezoid,
    "tril_indices": triangle_indices(True), "triu_indices": triangle_indices(False), "broadcast_shapes": broadcast_shapes,
    "result_type": result_type, "can_cast": can_cast, "cartesian_prod": cartesian_prod,
    "combinations": combinations, "cumulative_trapezoid": cumulative_trapezoid,
}  # fmt: skip
