"""Sums, means, extremes and softmax: over everything, or along dims.

Source: PyTorch's derivatives.yaml, and ReduceOps.cpp and SoftMax.cpp.
"""

from __future__ import annotations

from math import prod

import numpy as np

from gviz.numbers.summing import in_register, loop_total
from gviz.ops.rows import (
    brief,
    composite,
    everywhere,
    exp_of,
    formula,
    lacks,
    log_of,
    no_kernel,
    of,
    op,
    precise_exp,
    refuse,
    row,
    wrap_dim,
    wrap_dims,
)


def totals(reduce):
    """Return the function of a reduction along axes, or of everything; in a dtype if one is asked for."""
    def total(array, axis=None, *, keepdims=False, dtype=None):
        result = np.asanyarray(reduce(array, axis=axis, keepdims=keepdims), order="C")
        return result if dtype is None else result.astype(dtype)
    return total

add_up, multiply_up = totals(loop_total), totals(np.multiply.reduce)  # whose warnings are silenced, unlike np.sum's

def average(array, axis=None, *, keepdims=False):
    total = add_up(array, axis, keepdims=keepdims)
    return np.asanyarray(total / array.dtype.type(array.size // max(total.size, 1)))

def axes_of(array, dim):
    """Return numpy's axes for PyTorch's dims: None and an empty list mean all."""
    dims = (dim,) if isinstance(dim, int) else tuple(dim or ())
    return wrap_dims(dims, array.ndim) if dims else None

def summed(array, dtype=None):
    return array.astype(dtype if dtype is not None else np.int64 if array.dtype.kind in "biu" else array.dtype, copy=False)

row("sum_all", "SumBackward0", lambda self, *, dtype=None: add_up(summed(self, dtype), dtype=dtype), "sum",
    self="expand(grad, self_sym_sizes)")
@op("SumBackward1", "sum", self="sum_backward(grad, self_sym_sizes, dim, keepdim)")
def sum_dim(self, dim: Ints | None, keepdim: bool = False, *, dtype: Dtype = None):
    return add_up(summed(self, dtype), axes_of(self, dim), keepdims=keepdim, dtype=dtype)
formula("sum_backward", lambda grad, sizes, dims, keepdim: expand(unsqueeze_reduced(grad, dims, sizes, keepdim), sizes))

@composite
def unsqueeze_reduced(value, dims, sizes, keepdim):
    """Return a reduced value with its dims put back, each of size one; what is reduced over all dims needs none."""
    if keepdim or not dims or not sizes:
        return value
    for dim in dims if len(dims) == 1 else sorted(wrap_dims(dims, len(sizes))):
        value = unsqueeze(value, dim)
    return value

row("mean_all", "MeanBackward0", lambda self, *, dtype=None: average(averaged(self, dtype)), "mean",
    self="expand(grad, self_sym_sizes) / self_sym_numel")
@op("MeanBackward1", "mean", saves=("self_sym_numel",),
    self="sum_backward(grad, self_sym_sizes, dim, keepdim) / reduced_count(self_sym_sizes, dim)")
def mean_dim(self, dim: Ints | None, keepdim: bool = False, *, dtype: Dtype = None):
    return average(averaged(self, dtype), axes_of(self, dim), keepdims=keepdim)

def averaged(array, dtype):
    array = array if dtype is None else array.astype(dtype)
    if array.dtype.kind in "biu":
        raise RuntimeError(f"mean(): could not infer output dtype. {'Optional' if dtype else 'Input'} dtype must be either a "
                           f"floating point or complex dtype. Got: {of(array.dtype).scalar_name}")
    return array

@everywhere
def reduced_count(sizes, dims):
    dims = (dims,) if isinstance(dims, int) else dims
    return prod(sizes[dim] for dim in wrap_dims(dims, len(sizes))) if dims else prod(sizes)

# ------------------------------------------------------------------ extremes
SHARED, SELECTED = "evenly_distribute(grad, self, result)", "select_backward_of(grad, dim, indices, self_sym_sizes, keepdim)"
EXTREME = "extreme_backward(grad, self, dim, keepdim, result)"
PLACES = ("values", "indices")

def refuse_nothing(name, array, axes):
    if axes is None and not array.size:
        message = f"{name}(): Expected reduction dim to be specified for input.numel() == 0."
        refuse(name.startswith("arg"), message, IndexError)
        raise RuntimeError(f"{message} Specify the reduction dim with the 'dim' argument.")
    for axis in axes or ():
        refuse(not array.shape[axis], f"{name}(): Expected reduction dim {axis} to have non-zero size.", IndexError)

def extreme(name, array, dim, keepdim=False):
    """Return what numpy's function of that name finds over dims."""
    axes = axes_of(array, dim)
    refuse_nothing(name, array, axes)
    axis = axes[0] if axes and len(axes) == 1 else axes or None
    return getattr(np, name)(np.asanyarray(array, order="C"), axis=axis, keepdims=keepdim)

def searched(array, dim, find, keepdim=True):
    """Return the elements at the places that are found along a dim, and these places."""
    axis, lines = wrap_dim(dim, array.ndim), np.atleast_1d(array)
    indices = find(lines, axis)
    values = np.take_along_axis(lines, indices, axis)
    return (values, indices) if keepdim and array.ndim else (values.squeeze(axis), indices.squeeze(axis))

def find_extremes(kind, title):
    """Store the rows that look for the largest ("max") or the smallest elements: of all, along dims, and where they are."""

    def extreme_dim(self, dim: int, keepdim: bool = False):
        refuse_nothing(kind, self, axes_of(self, dim))
        return searched(self, dim, lambda lines, axis: getattr(np, f"arg{kind}")(lines, axis, keepdims=True), keepdim)

    def extreme_dims(self, dim: Ints | None = (), keepdim: bool = False):
        return extreme(f"a{kind}", self, dim, keepdim)

    def place(self, dim: int | None = None, keepdim: bool = False):
        return extreme(f"arg{kind}", self, dim, keepdim)

    row(f"{kind}_all", f"{title}Backward1", lambda self: extreme(kind, self, None), kind,
        check=lacks(f"{kind}_all", "c"), self=SHARED)
    row(f"{kind}_dim", f"{title}Backward0", extreme_dim, kind, check=lacks("", "c", f"{kind}(): does not support complex input"),
        outputs=PLACES, self=SELECTED)
    row(f"a{kind}", f"A{kind}Backward0", extreme_dims, f"a{kind}", check=lacks(f"{kind}_values_cpu", "c"), self=EXTREME)
    row(f"arg{kind}", None, place, f"arg{kind}", nondiff=("self",),
        check=lacks("", "bc", f"arg{kind}(): does not support {{}} input"))

find_extremes("max", "Max")
find_extremes("min", "Min")
row("aminmax", "AminmaxBackward0", lambda self, *, dim=None, keepdim=False:
    (extreme("amin", self, dim, keepdim), extreme("amax", self, dim, keepdim)),
    "aminmax", outputs=("min", "max"), check=lacks("aminmax", "c"), self="aminmax_backward(grads, self, dim, keepdim, min, max)")

def truth(find):
    def reduced(self, dim: Ints | None = None, keepdim: bool = False):
        truths = np.asanyarray(find(self, axis=() if dim == () else axes_of(self, dim), keepdims=keepdim))
        return truths.astype(np.uint8 if self.dtype == np.uint8 else bool, "C")  # bytes give a byte
    return reduced

row("any_of", None, truth(np.any), "any", nondiff=("self",))
row("all_of", None, truth(np.all), "all", nondiff=("self",))
row("count_true", None, lambda self: np.asanyarray(self).sum(), nondiff=("self",))
row("count_chosen", None, lambda self, mask, dim: mask.sum(axis=axes_of(mask, dim), keepdims=True, dtype=self.dtype),
    nondiff=("self", "mask"), promote="none")
row("same_or_nan", None, lambda self, other: np.isnan(self) if np.isnan(other).any() else np.equal(self, other),
    nondiff=("self", "other"))
@composite
def evenly_distribute(grad, self, result):
    """Return the gradient shared among all elements that equal the result."""
    ties = same_or_nan(self, result)
    return masked_fill_tensor(zeros_like(self), ties, grad / count_true(ties))
@composite
def select_backward_of(grad, dim, indices, sizes, keepdim):
    """Return the gradient of a reduction that picks one element: put where that element was."""
    if not keepdim and sizes:
        grad, indices = unsqueeze(grad, dim), unsqueeze(indices, dim)
    return scatter(zeros_of(grad, sizes), dim, indices, grad)
@composite
def extreme_backward(grad, self, dim, keepdim, result):
    if not keepdim:
        shape = tuple(1 if i in wrap_dims(dim, len(self.shape)) else n for i, n in enumerate(self.shape)) if dim else ()
        grad, result = reshape(grad, shape), reshape(result, shape)
    ties = equal(result, self)
    return (grad / count_chosen(grad, ties, dim)) * ties
@composite
def aminmax_backward(grads, self, dim, keepdim, min, max):
    parts, dims = zip(grads, (min, max), strict=True), () if dim is None else (dim,)
    return added([None if grad is None else extreme_backward(grad, self, dims, keepdim, result) for grad, result in parts])

# ------------------------------------------------------------------ softmax
def lowered(array, dim, name):
    """Return the elements less the largest one along a dim, so that none is too large for exp; refuse integers."""
    axis = wrap_dim(dim, array.ndim)
    if array.dtype.kind != "f":
        raise no_kernel(f"{name}_lastdim_kernel_impl", array.dtype)
    return np.asanyarray(array, order="C") - array.max(axis=axis, keepdims=True, initial=-np.inf)

@op("SoftmaxBackward0", self="softmax_backward_data(grad, result, dim)")
def softmax_row(self, dim: int):
    shifted = lowered(self, dim, "softmax")
    if wrap_dim(dim, self.ndim) != self.ndim - 1:  # nor is there one of a single number
        return (e := precise_exp(shifted)) / e.sum(axis=dim, keepdims=True)
    return (e := exp_of(shifted)) * (1 / in_register(e))
@op("LogSoftmaxBackward0", self="log_softmax_backward_data(grad, result, dim)")
def log_softmax_row(self, dim: int):
    shifted = lowered(self, dim, "log_softmax")
    is_last = wrap_dim(dim, self.ndim) == self.ndim - 1
    return shifted - log_of(in_register(exp_of(shifted)) if is_last else precise_exp(shifted).sum(axis=dim, keepdims=True))
brief("softmax special.softmax",
    lambda self, dim, dtype=None: softmax_row(self if dtype is None else cast_like(self, dtype), dim))
brief("log_softmax special.log_softmax",
    lambda self, dim, dtype=None: log_softmax_row(self if dtype is None else cast_like(self, dtype), dim))
@op("SoftmaxBackwardDataBackward0", promote="none", grad_output="softmax_backward_data(grad, output, dim)",
    output="softmax_double_backward(grad, grad_output, dim, output)")
def softmax_backward_data(grad_output, output, dim):
    weighted, is_last = grad_output * output, wrap_dim(dim, output.ndim) == output.ndim - 1
    return (grad_output - (in_register(weighted) if is_last else weighted.sum(axis=dim, keepdims=True))) * output
@composite
def softmax_double_backward(grad, grad_output, dim, output):
    last = grad_output * sum_dim(output * grad, (dim,), True)
    middle = sum_dim(output * grad_output, (dim,), True) * grad
    return grad_output * grad - middle - last
row("log_softmax_backward_data", "LogSoftmaxBackwardDataBackward0",
    lambda grad_output, output, dim: grad_output - exp_of(output) * grad_output.sum(axis=dim, keepdims=True),
    promote="none", grad_output="grad - sum_dim(grad * exp(output), (dim,), True)",
    output="neg(sum_dim(grad_output, (dim,), True)) * exp(output) * grad")
