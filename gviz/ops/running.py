"""What is computed along a dimension from its start to each place: sums, products, extremes, sums of exponentials."""

from __future__ import annotations

import numpy as np

from gviz.numbers.dtypes import no_kernel
from gviz.numbers.shapes import wrap_dim
from gviz.autograd.row import ARRAYS, composite, op
from gviz.ops.reduction import PLACES, summed
from gviz.ops.rows import row


def running(self, dim, dtype, name):
    """Sums or products, by numpy's name, up to each place."""
    dim = wrap_dim(dim, self.ndim)
    values = np.array(summed(self, dtype), order="C")
    if values.dtype.kind == "b" and self.ndim:
        raise no_kernel(f"{name}_out_cpu", values.dtype)
    return getattr(values, name)(axis=dim, dtype=values.dtype) if self.ndim else values


@op("CumsumBackward0", hidden=("self_sym_dtype",), self="cumsum_backward(cast_like(grad, self_sym_dtype), dim)")
def cumsum(self, dim, dtype=None):
    found = running(self, dim, dtype, "cumsum")
    return found + found.dtype.type(0) if self.ndim else found  # PyTorch begins with 0: no sum is -0.0


@composite
def cumsum_backward(grad, dim):
    """A sum from the other end."""
    return grad if numel_of(grad) <= 1 or grad.shape[dim] == 1 else reversed_cumsum(grad, dim)


@composite
def reversed_cumsum(value, dim):
    """Running sums from the end."""
    return flip(cumsum(flip(value, (dim,)), dim), (dim,))


@op("CumprodBackward0", self="cumprod_backward(cast_like(grad, self), self, dim, result)")
def cumprod(self, dim, dtype=None):
    return running(self, dim, dtype, "cumprod")


@composite
def cumprod_backward(grad, self, dim, result):
    """The sum of all later products, each over this element; where some are zero, the products of the others."""
    dim = wrap_dim(dim, len(self.shape))
    count = self.shape[dim] if self.shape else 1
    if numel_of(self) <= 1 or count == 1:
        return grad
    return cumprod_past_zeros(grad, self, dim, result) if zeros_in(self) else reversed_cumsum(result * grad, dim) / self


@composite
def cumprod_past_zeros(grad, self, dim, result):
    """The same in a form that has derivatives itself: element by element along the dimension."""
    count = self.shape[dim]
    ones = ones_of(grad, (*self.shape[:dim], 1, *self.shape[dim + 1 :]))
    found = zeros_like(grad)
    for k in range(count):
        first = prod_dim(narrow(self, dim, 0, k), dim, True) if k else ones
        later = cumprod(slice_row(self, dim, k + 1, None, 1), dim) if k < count - 1 else None
        rest = expand(first, later.shape) * later if k and later is not None else later
        others = first if rest is None else cat([first, rest], dim)
        part = sum_dim(slice_row(grad, dim, k, None, 1) * others, (dim,))
        found = overwritten(found, "copy_into", part, part=("select", dim, k))
    return found


def past_zeros(grad, self, dim, result):
    """The same for arrays, at once: what comes before the first zero as if nothing followed, then that zero, else nothing."""
    seen = (self == 0).cumsum(axis=dim)
    before, first = seen == 0, (seen == 1) & (self == 0)
    found = ARRAYS["reversed_cumsum"](np.where(before, result * grad, 0), dim) / np.where(before, self, 1)
    later = np.where((seen == 1) & ~first, self, 1).cumprod(axis=dim) * np.where(seen == 1, grad, 0)
    at_zero = later.sum(axis=dim, keepdims=True) * np.where(before, self, 1).prod(axis=dim, keepdims=True)
    return np.where(first, at_zero, np.where(before, found, 0))


ARRAYS["cumprod_past_zeros"] = past_zeros


LARGEST = "scatter_add(zeros_like(self), dim, indices, grad)"
row("cummax", "CummaxBackward0", lambda self, dim: best_so_far(self, dim, np.maximum), outputs=PLACES, self=LARGEST)
row("cummin", "CumminBackward0", lambda self, dim: best_so_far(self, dim, np.minimum), outputs=PLACES, self=LARGEST)


def best_so_far(array, dim, better):
    """The extremes up to each place, and the last place where each was."""
    axis, array = wrap_dim(dim, array.ndim), np.array(array, order="C")
    if not array.ndim:
        return array.copy(), np.zeros((), np.int64)
    values = better.accumulate(array, axis)
    places = np.arange(array.shape[axis]).reshape([-1 if d == axis else 1 for d in range(array.ndim)])
    reached = np.where((array == values) | np.isnan(array), places, 0)
    return values, np.maximum.accumulate(reached, axis)


@op("LogcumsumexpBackward0", self="logcumsumexp_backward(grad, self, result, dim)")
def logcumsumexp(self, dim):
    axis = wrap_dim(dim, self.ndim)
    if self.dtype.kind != "f":
        raise no_kernel("logcumsumexp_out_cpu", self.dtype)
    return np.logaddexp.accumulate(self.astype(np.float64, order="C"), axis).astype(self.dtype) if self.ndim else self.copy()


@composite
def logcumsumexp_backward(grad, self, result, dim):
    """The gradient's positive and negative parts by their logarithms: sums of exponentials from the other end."""
    if not self.shape or not numel_of(self):
        return grad
    lowest, size = least(grad), log(absolute(grad))
    positive, negative = where(greater(grad, 0), size, lowest), where(less(grad, 0), size, lowest)
    upper = exp(reversed_logcumsumexp(positive - result, dim) + self)
    return upper - exp(reversed_logcumsumexp(negative - result, dim) + self)


@composite
def reversed_logcumsumexp(value, dim):
    """Running sums of exponentials from the end."""
    return flip(logcumsumexp(flip(value, (dim,)), dim), (dim,))
