"""Quantiles, counts, places among sorted values, areas under lines; and what is asked of shapes and dtypes alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gviz.autograd.call import plain_number
from gviz.autograd.row import TENSORS, public_names
from gviz.autograd.tensor import Tensor, from_array
from gviz.numbers import dtypes, printing
from gviz.numbers.classes import result_class
from gviz.numbers.shapes import broadcast_shape, wrap_dim
from gviz.numbers.types import Array
from gviz.numbers.words import refuse, refuse_any
from gviz.ops.rearranging import broadcast_tensors, meshgrid
from gviz.ops.rows import array_of, lacks

ROUNDED = {"linear": np.floor, "midpoint": np.floor, "lower": np.floor, "higher": np.ceil, "nearest": np.rint}
"""The place among sorted values that an interpolation takes, or begins with."""


def constant(array: Array | Sequence[int], dtype: DType | None = None) -> Any:
    """Return an array as a tensor that is not a part of the graph."""
    return from_array(np.asanyarray(array, dtype), None)


@public_names("quantile")
def quantile(
    self: Tensor, q: Operand, dim: int | None = None, keepdim: bool = False, *, interpolation: str = "linear"
) -> Any:
    """Return the values below which shares of the others lie: of everything, or along a dim."""
    return quantiles(self, q, dim, keepdim, interpolation, skips_nan=False)


@public_names("nanquantile")
def nanquantile(
    self: Tensor, q: Operand, dim: int | None = None, keepdim: bool = False, *, interpolation: str = "linear"
) -> Any:
    """Return the values below which shares of the others lie, as if nan were not there."""
    return quantiles(self, q, dim, keepdim, interpolation, skips_nan=True)


def quantiles(self: Tensor, q: Operand, dim: int | None, keepdim: bool, interpolation: str, *, skips_nan: bool) -> Any:
    """Return the values below which shares of the others lie; nan is the largest, makes all nan, or is left out."""
    is_wide = self._array.dtype in (np.float32, np.float64)
    refuse_any(
        {
            "quantile() input tensor must be either float or double dtype": not is_wide,
            "quantile() input tensor must be non-empty": not self._array.size,
            f"quantile() interpolation must be one of {', '.join(ROUNDED)}, but got {interpolation}": interpolation
            not in ROUNDED,
        }
    )
    shares = q if isinstance(q, Tensor) else constant(np.asarray(q, self._array.dtype)).to(self.device)
    array = shares._array
    refuse(array.dtype != self._array.dtype, "quantile() q tensor must be same dtype as the input tensor")
    wrong = "q values must be in the range [0, 1]" if shares is q else f"q must be in the range [0, 1] but got {q:g}"
    refuse((~((array >= 0) & (array <= 1))).any(), f"quantile() {wrong}")
    values = self.reshape(-1) if dim is None and self.ndim != 1 else self
    axis = wrap_dim(dim or 0, values.ndim)
    shape = tuple(1 if i == axis else n for i, n in enumerate(values.shape) if keepdim or i != axis)
    shape = (1,) * self.ndim if keepdim and dim is None else shape
    if axis < values.ndim - 1:
        values = values.unsqueeze(-1).transpose(axis, -1)
    last = values.shape[-1] - 1 if values.ndim else 0
    ordered = values.sort(-1)[0].view((*shape, last + 1))
    is_nan = np.isnan(ordered._array)
    if skips_nan:
        ranks = shares * constant(last - is_nan.sum(axis=-1, keepdims=True), self._array.dtype)
        ranks = ranks.masked_fill(ranks < 0, 0)
    else:
        ranks, has_nan = broadcast_tensors(
            TENSORS["mul_scalar"](shares, last), constant(is_nan.any(axis=-1, keepdims=True))
        )
        ranks = ranks.masked_fill(has_nan, last)
    places = constant(ROUNDED[interpolation](ranks._array), np.int64)
    result = ordered.gather(-1, places)
    if interpolation in ("linear", "midpoint"):
        weight = constant(np.full_like(ranks._array, 0.5)) if interpolation == "midpoint" else ranks - places
        result.lerp_(ordered.gather(-1, constant(np.ceil(ranks._array), np.int64)), weight)
    return (result.unsqueeze_(0).transpose_(0, -1) if shares.ndim else result).squeeze_(-1)


@public_names("histc")
def histc(self: Tensor, bins: int = 100, min: Number = 0, max: Number = 0) -> Any:
    """Return how many elements fall into each of so many bins of one width."""
    array = self._array
    lacks("histogram_cpu")(array)
    low, high = (min, max) if min != max else (array.min(), array.max()) if array.size else (0, 1)
    low, high = (low - 1, high + 1) if low == high else (low, high)
    return constant(np.histogram(array, bins, (float(low), float(high)))[0], array.dtype)


@public_names("histogram")
def histogram(
    self: Tensor, bins: object, *, range: object = None, weight: Tensor | None = None, density: bool = False
) -> Any:
    """Return how many elements, or how much weight, each bin has, and the edges of the bins."""
    lacks("histogram_cpu")(self._array)
    edges: Any = bins._array if isinstance(bins, Tensor) else bins
    span: Any = range
    refuse(
        isinstance(bins, Tensor) and range is not None,
        "histogram(): range is only for a number of bins",
        TypeError,
    )
    counts, edges = np.histogram(
        self._array, edges, span, density=density, weights=None if weight is None else weight._array
    )
    kind = self._array.dtype
    return result_class("histogram", ("hist", "bin_edges"))([constant(counts, kind), constant(edges, kind)])


@public_names("torch.searchsorted")
def searchsorted(
    sorted_sequence: Tensor,
    self: Operand,
    *,
    out_int32: bool = False,
    right: bool = False,
    side: str | None = None,
    sorter: Tensor | None = None,
) -> Any:
    """Return where each value would be put into sorted rows, or into rows that ``sorter`` puts in order."""
    rows, values = sorted_sequence._array, np.asanyarray(array_of(self))
    rows = rows if sorter is None else np.take_along_axis(rows, sorter._array, -1)
    refuse_any(
        {
            "torch.searchsorted(): boundaries tensor should be 1 dimension or the first N-1 dimensions of boundaries "
            f"tensor and input value tensor must match, but we got boundaries tensor {list(rows.shape)} and input "
            f"value tensor {list(values.shape)}": rows.ndim != 1 and rows.shape[:-1] != values.shape[:-1],
            f"torch.searchsorted(): side can only be 'left' or 'right' but got {side}": side
            not in (None, "left", "right"),
        }
    )
    lacks("searchsorted_out_cpu", "bc")(rows, values)
    places = np.empty_like(values, dtype=np.int32 if out_int32 else np.int64, order="C", shape=values.shape)
    for at in np.ndindex(rows.shape[:-1]):  # of a single row once: all values are its own
        places[at or ...] = np.searchsorted(
            rows[at], values[at or ...], "right" if right or side == "right" else "left"
        )
    return constant(places)


@public_names("torch.bucketize")
def bucketize(self: Operand, boundaries: Tensor, *, out_int32: bool = False, right: bool = False) -> Any:
    """Return the number of the bucket that each value falls into."""
    refuse(boundaries.ndim != 1, f"boundaries tensor must be 1 dimension, but got dim({boundaries.ndim})")
    return searchsorted(boundaries, self, out_int32=out_int32, right=right)


@public_names("torch.isin")
def isin(elements: Operand, test_elements: Operand, *, assume_unique: bool = False, invert: bool = False) -> Any:
    """Return whether each element is among others."""
    for one in (elements, test_elements):
        lacks("", "bc", "Unsupported input type encountered for isin(): {name}")(array_of(one))
    return constant(np.isin(array_of(elements), array_of(test_elements), invert=invert))


@public_names("torch.trapezoid torch.trapz")
def trapezoid(y: Tensor, x: Tensor | None = None, *, dx: Number = 1, dim: int = -1) -> Any:
    """Return the area under a line through points along a dim: all at one distance, or at places ``x``."""
    dim, operands = wrap_dim(dim, y.ndim), "`y`" if x is None else "`x` or `y`"
    refuse(
        any(one is not None and one._array.dtype.kind == "b" for one in (x, y)),
        f"trapezoid: received a bool input for {operands}, but bool is not supported",
    )
    if not y.shape[dim]:
        return constant(np.zeros(y.sum((dim,)).shape), y._array.dtype)
    if x is None:
        last = y.select(dim, -1)  # PyTorch's order of making them
        ends = TENSORS["mul_scalar"](y.select(dim, 0) + last, 0.5)
        return TENSORS["mul_scalar"](y.sum((dim,)) - ends, float(dx))
    if x.ndim == 1:
        refuse(len(x) != y.shape[dim], "trapezoid: There must be one `x` value for each sample point")
        x = x.view([-1 if i == dim else 1 for i in range(y.ndim)])
    x = x if x.ndim >= y.ndim else x.view((*(1,) * (y.ndim - x.ndim), *x.shape))
    slices = TENSORS["slice_row"]
    (x0, x1), (y0, y1) = ((slices(one, dim, 0, -1, 1), slices(one, dim, 1, None, 1)) for one in (x, y))
    return TENSORS["div_scalar"](((y0 + y1) * (x1 - x0)).sum((dim,)), 2.0)


@public_names("torch.cartesian_prod")
def cartesian_prod(*tensors: Tensor) -> Tensor:
    """Return every choice of one element each."""
    if any(tensor.ndim != 1 for tensor in tensors):
        raise RuntimeError(f"Expect a 1D vector, but got shape {next(list(t.shape) for t in tensors if t.ndim != 1)}")
    columns = [grid.flatten() for grid in meshgrid(*tensors, indexing="ij")]
    return TENSORS["stack"](columns, 1) if len(tensors) > 1 else tensors[0]


@public_names("torch.broadcast_shapes")
def broadcast_shapes(*shapes: int | Sequence[int]) -> Any:
    """Return the shape that shapes have together."""
    return printing.Size(broadcast_shape(*((shape,) if isinstance(shape, int) else shape for shape in shapes)))


@public_names("torch.can_cast")
def can_cast(from_: Dtype, to: Dtype) -> bool:
    """Return whether a tensor of one dtype may be written into one of the other."""
    return dtypes.can_cast(from_, to)


@public_names("torch.result_type")
def result_type(tensor1: Operand, tensor2: Operand) -> Any:
    """Return the dtype that two operands have together."""
    return dtypes.of(dtypes.result_type(*(plain_number(array_of(operand)) for operand in (tensor1, tensor2))))
