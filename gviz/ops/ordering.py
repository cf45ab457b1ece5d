"""What is found by order along a dim: sort, topk, medians, modes, unique values. Equal elements keep their order.

Source: PyTorch's derivatives.yaml, and Sorting.cpp.
"""

from __future__ import annotations

import numpy as np

from gviz.ops.reduction import PLACES, SELECTED, SHARED, axes_of, refuse_nothing, searched
from gviz.ops.rows import ARRAYS, brief, composite, each_of, lacks, laid_as, op, refuse, row, wrap_dim

SORTED = "select_backward_of(grad, dim, indices, self_sym_sizes, True)"
UNIQUE = ("output", "inverse", "counts")

def ordered(array, axis, descending=False):
    if descending:
        return array.shape[axis] - 1 - np.flip(np.argsort(np.flip(array, axis), axis, kind="stable"), axis)
    return np.argsort(array, axis, kind="stable")

def count_along(array, dim):
    axis = wrap_dim(dim, array.ndim)
    return array.shape[axis] if array.ndim else 1

NO_SORT = lacks("", "c", " Sort does not support complex dtypes on CPU")
row("sort", "SortBackward0", lambda self, dim=-1, descending=False:
    [laid_as(one, [self]) for one in searched(self, dim, lambda lines, axis: ordered(lines, axis, descending))],
    "sort", check=NO_SORT, outputs=PLACES, self=SORTED)
@op("SortBackward1", "sort", check=NO_SORT, outputs=PLACES, self=SORTED)
def sort_stable(self, *, stable: bool | None, dim: int = -1, descending: bool = False):
    return ARRAYS["sort"](self, dim, descending)
brief("argsort", lambda self, *, stable, dim=-1, descending=False: sort(self, dim, descending)[1], "argsort_stable", stable="bool")
brief("msort", lambda self: sort(self, 0)[0])
brief("argsort", lambda self, dim=-1, descending=False: sort(self, dim, descending)[1])
NO_TOPK = "topk does not support {} dtypes on CPU"
@op("TopkBackward0", "topk", check=each_of(lacks("", "b", NO_TOPK), lacks("", "c", f" {NO_TOPK}")), outputs=PLACES, self=SORTED)
def topk(self, k: int, dim: int = -1, largest: bool = True, sorted: bool = True):
    refuse(not count_along(self, dim) >= k >= 0, "selected index k out of range")
    return searched(self, dim, lambda lines, axis: ordered(lines, axis, largest).take(range(k), axis))
@op("KthvalueBackward0", "kthvalue", check=lacks("kthvalue_cpu", "bc"), outputs=PLACES, self=SELECTED)
def kthvalue(self, k: int, dim: int = -1, keepdim: bool = False):
    refuse_nothing("kthvalue", self, axes_of(self, dim))
    refuse(not 1 <= k <= count_along(self, dim),
           f"kthvalue(): selected number k out of range for dimension {wrap_dim(dim, self.ndim)}")
    return searched(self, dim, lambda lines, axis: ordered(lines, axis).take([k - 1], axis), keepdim)
@op("MedianBackward0", "median", check=lacks("median_cpu", "bc"), self=SHARED)
def median_all(self):
    flat = np.sort(self, axis=None) if self.size else self.dtype.type([np.nan])
    return flat[-1] if np.isnan(flat[-1:]).any() else flat[(flat.size - 1) // 2]
@op("MedianBackward1", "median", check=lacks("median_out", "bc"), outputs=PLACES, self=SELECTED)
def median_dim(self, dim: int, keepdim: bool = False):
    def middle(lines, axis):
        order, unknown = ordered(lines, axis).take([(lines.shape[axis] - 1) // 2], axis), np.isnan(lines)
        return np.where(unknown.any(axis, keepdims=True), unknown.argmax(axis, keepdims=True), order)

    return searched(self, dim, middle, keepdim)
@op("NanmedianBackward0", "nanmedian", check=lacks("median_cpu", "bc"), self=SHARED)
def nanmedian_all(self):
    known = np.sort(self[~np.isnan(self)])
    return known[(known.size - 1) // 2] if known.size else self.dtype.type(np.nan)
@op("NanmedianBackward1", "nanmedian", check=lacks("median_out", "bc"), outputs=PLACES, self=SELECTED)
def nanmedian_dim(self, dim: int, keepdim: bool = False):
    refuse_nothing("median", self, axes_of(self, dim))

    def middle(lines, axis):
        known = (~np.isnan(lines)).sum(axis, keepdims=True)
        return np.take_along_axis(ordered(lines, axis), np.maximum(known - 1, 0) // 2, axis)

    return searched(self, dim, middle, keepdim)
@op("ModeBackward0", "mode", check=lacks("mode_cpu", "c"), outputs=PLACES, self=SELECTED)
def mode(self, dim: int = -1, keepdim: bool = False):
    refuse_nothing("mode", self, axes_of(self, dim))

    def last(lines, axis):
        """Return the last place of what is there most often, of the smallest of several."""
        lines = np.moveaxis(lines, axis, -1)
        order, number = lines.argsort(-1, kind="stable"), np.arange(lines.shape[-1])
        values, fresh = np.take_along_axis(lines, order, -1), np.ones(lines.shape, bool)
        fresh[..., 1:] = values[..., 1:] != values[..., :-1]
        counts = number - np.maximum.accumulate(np.where(fresh, number, 0), -1)  # how many of the same came before
        return np.moveaxis(np.take_along_axis(order, counts.argmax(-1)[..., None], -1), -1, axis)

    return searched(self, dim, last, keepdim)

# ------------------------------------------------------------------ unique values
@op("Unique2Backward0", check=lacks("unique", "c"), outputs=UNIQUE, self='not_implemented("_unique2")')
def unique2(self):
    # each nan is a value of its own; the places are asked for so that numpy sorts these in their order
    values, _, inverse, counts = np.unique(self, True, True, True, equal_nan=False)
    return values, inverse.reshape(self.shape), counts
@op("UniqueDimBackward0", check=lacks("unique_dim", "c"), outputs=UNIQUE, self='not_implemented("unique_dim")')
def unique_dim(self, dim):
    values, inverse, counts = np.unique(self, return_inverse=True, return_counts=True, axis=wrap_dim(dim, self.ndim))
    return values, inverse.reshape(-1), counts
@composite("unique")
def unique(self, sorted: bool = True, return_inverse: bool = False, return_counts: bool = False, dim: int | None = None):
    values, inverse, counts = unique2(self) if dim is None else unique_dim(self, dim)
    return (values, *[inverse] * return_inverse, *[counts] * return_counts) if return_inverse or return_counts else values
