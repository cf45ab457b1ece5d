"""What is computed along a dimension from its start to each place: sums, products, extremes, sums of exponentials.

Source: PyTorch's derivatives.yaml, and ReduceOps.cpp and FunctionsManual.cpp (cumprod_backward, logcumsumexp_backward).
"""

from __future__ import annotations

import numpy as np

from gviz.ops.reduction import PLACES, summed
from gviz.ops.rows import composite, formula, lacks, row, wrap_dim


def running(accumulate, array, dim):
    """Return what a function of numpy's accumulates up to each place along a dim; a number stays one."""
    lines = np.array(array, copy=None, order="C", subok=True, ndmin=1)
    return accumulate(lines, wrap_dim(dim, array.ndim), array.dtype).reshape(array.shape)

def numbers_to_sum(kernel, array, dtype):
    lacks(kernel, "b")(total := summed(array, dtype))
    return total

row("cumsum", "CumsumBackward0", lambda self, dim, *, dtype=None:
    running(np.add.accumulate, numbers_to_sum("cumsum_out_cpu", self, dtype), dim),
    "cumsum .cumsum_", hidden=("self_sym_dtype",), self="cumsum_backward(cast_like(grad, self_sym_dtype), dim)")
formula("cumsum_backward",
    lambda grad, dim: grad if numel_of(grad) <= 1 or grad.shape[dim] == 1 else reversed_cumsum(grad, dim))
formula("reversed_cumsum", lambda value, dim: flip(cumsum(flip(value, (dim,)), dim), (dim,)))
row("cumprod", "CumprodBackward0", lambda self, dim, *, dtype=None:
    running(np.multiply.accumulate, numbers_to_sum("cumprod_out_cpu", self, dtype), dim),
    "cumprod .cumprod_", self="cumprod_backward(cast_like(grad, self), self, dim, result)")
@composite
def cumprod_backward(grad, self, dim, result):
    dim = wrap_dim(dim, len(self.shape))
    if numel_of(self) <= 1 or self.shape[dim] == 1:
        return grad
    return cumprod_past_zeros(grad, self, dim, result) if zeros_in(self) else reversed_cumsum(result * grad, dim) / self
@composite
def cumprod_past_zeros(grad, self, dim, result):
    """Return the same without a division: element by element along the dimension."""
    count, slopes = self.shape[dim], zeros_like(grad)
    ones = ones_of(grad, (*self.shape[:dim], 1, *self.shape[dim + 1 :]))
    for k in range(count):
        first = prod_dim(narrow(self, dim, 0, k), dim, True) if k else ones
        later = cumprod(slice_row(self, dim, k + 1, None, 1), dim) if k < count - 1 else None
        rest = expand(first, later.shape) * later if k and later is not None else later
        others = first if rest is None else cat([first, rest], dim)
        part = sum_dim(slice_row(grad, dim, k, None, 1) * others, (dim,))
        slopes = overwritten(slopes, "copy_into", part, part=("select", dim, k))
    return slopes

LARGEST = "scatter_add(zeros_like(self), dim, indices, grad)"

def best_so_far(better):
    """Return the forward that gives the extremes up to each place, and the last place where each was."""
    def best(self, dim: int):
        values, axis = running(better.accumulate, self, dim), wrap_dim(dim, self.ndim)
        places = np.arange(self.shape[axis] if self.ndim else 1).reshape([-1 if d == axis else 1 for d in range(self.ndim)])
        return values, running(np.maximum.accumulate, np.where((self == values) | np.isnan(self), places, 0), axis)
    return best

row("cummax", "CummaxBackward0", best_so_far(np.maximum), "cummax", check=lacks("cummax_cpu", "c"),
    outputs=PLACES, self=LARGEST)
row("cummin", "CumminBackward0", best_so_far(np.minimum), "cummin", check=lacks("cummin_cpu", "c"),
    outputs=PLACES, self=LARGEST)
row("logcumsumexp", "LogcumsumexpBackward0", lambda self, dim: running(np.logaddexp.accumulate, self, dim), "logcumsumexp",
    check=lacks("logcumsumexp_out_cpu"), self="logcumsumexp_backward(grad, self, result, dim)")
@composite
def logcumsumexp_backward(grad, self, result, dim):
    """Return the gradient's positive and negative parts by their logarithms: sums of exponentials from the other end."""
    lowest, size = least(grad), log(absolute(grad))
    positive, negative = where(greater(grad, 0), size, lowest), where(less(grad, 0), size, lowest)
    upper = exp(reversed_logcumsumexp(positive - result, dim) + self)
    return upper - exp(reversed_logcumsumexp(negative - result, dim) + self)

formula("reversed_logcumsumexp", lambda value, dim: flip(logcumsumexp(flip(value, (dim,)), dim), (dim,)))
