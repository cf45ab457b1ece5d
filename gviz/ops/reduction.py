"""Reductions, and what is computed along a dimension."""

from __future__ import annotations

from math import prod

import numpy as np

from gviz.numbers.dtypes import no_kernel, number, of
from gviz.numbers.shapes import wrap_dim, wrap_dims
from gviz.autograd.row import composite, everywhere, op
from gviz.ops.rows import row
from gviz.ops.totals import add_up, average


def axes_of(array, dim):
    """Numpy's axes for PyTorch's dims: none or an empty list mean all."""
    dims = (dim,) if isinstance(dim, int) else tuple(dim or ())
    return wrap_dims(dims, array.ndim) if dims else None


def summed(array, dtype=None):
    """In the dtype asked for; without one integers and booleans are summed as int64."""
    if dtype is not None:
        return array.astype(dtype)
    return array.astype(np.int64) if array.dtype.kind in "biu" and array.dtype != np.int64 else array


@op("SumBackward0", "sum", self="expand(grad, self_sym_sizes)")
def sum_all(self, *, dtype: Dtype = None):
    return add_up(summed(self, dtype), dtype=dtype)


@op("SumBackward1", "sum", self="sum_backward(grad, self_sym_sizes, dim, keepdim)")
def sum_dim(self, dim: Ints | None, keepdim: bool = False, *, dtype: Dtype = None):
    return add_up(summed(self, dtype), axes_of(self, dim), keepdims=keepdim, dtype=dtype)


@composite
def sum_backward(grad, sizes, dims, keepdim):
    """The gradient of a sum: the same for every element that was summed."""
    return expand(unsqueeze_reduced(grad, dims, sizes, keepdim), sizes)


@composite
def restore_dims(value, dims, sizes, keepdim):
    """Put back, with size one, the dimensions that a reduction took away."""
    if not keepdim and sizes:
        dims = (dims,) if isinstance(dims, int) else dims
        for dim in sorted(wrap_dims(dims, len(sizes))) if dims else range(len(sizes)):
            value = unsqueeze(value, dim)
    return value


@op("MeanBackward0", "mean", self="expand(grad, self_sym_sizes) / self_sym_numel")
def mean_all(self, *, dtype: Dtype = None):
    return average(check_mean(self if dtype is None else self.astype(dtype)))


@op(
    "MeanBackward1", "mean", saves=("self_sym_numel",),
    self="sum_backward(grad, self_sym_sizes, dim, keepdim) / reduced_count(self_sym_sizes, dim)",
)  # fmt: skip
def mean_dim(self, dim: Ints | None, keepdim: bool = False, *, dtype: Dtype = None):
    return average(check_mean(self if dtype is None else self.astype(dtype)), axes_of(self, dim), keepdims=keepdim)


def check_mean(array):
    """The array; refuses integers, whose mean PyTorch does not take."""
    if array.dtype.kind in "biu":
        raise RuntimeError(
            "mean(): could not infer output dtype. Input dtype must be either a floating point or complex dtype. "
            f"Got: {of(array.dtype).scalar_name}"
        )
    return array


@everywhere
def reduced_count(sizes, dims):
    """How many elements go into one result."""
    dims = (dims,) if isinstance(dims, int) else dims
    return prod(sizes[dim] for dim in wrap_dims(dims, len(sizes))) if dims else prod(sizes)


# ------------------------------------------------------------------ extremes
def reducible(array, dim, name):
    """The array; refuses to look for an extreme of nothing."""
    if array.size:
        return array
    axes = axes_of(array, dim)
    if axes is None:
        raise RuntimeError(
            f"{name}(): Expected reduction dim to be specified for input.numel() == 0. Specify the reduction dim with the "
            "'dim' argument."
        )
    for axis in axes or ():
        if not array.shape[axis]:
            raise IndexError(f"{name}(): Expected reduction dim {axis} to have non-zero size.")
    return array


SELECTED = "select_backward_of(grad, dim, indices, self_sym_sizes, keepdim)"
PLACES = ("values", "indices")

row("max_all", "MaxBackward1", lambda self: reducible(self, None, "max").max(), "max", self="evenly_distribute(grad, self, result)")
row("min_all", "MinBackward1", lambda self: reducible(self, None, "min").min(), "min", self="evenly_distribute(grad, self, result)")


@op("MaxBackward0", "max", outputs=PLACES, self=SELECTED)
def max_dim(self, dim: int, keepdim: bool = False):
    return extreme(self, dim, keepdim, "max")


@op("MinBackward0", "min", outputs=PLACES, self=SELECTED)
def min_dim(self, dim: int, keepdim: bool = False):
    return extreme(self, dim, keepdim, "min")


@op(None, "argmax", nondiff=("self",))
def argmax(self, dim: int | None = None, keepdim: bool = False):
    return place_of(self, dim, keepdim, "argmax")


@op(None, "argmin", nondiff=("self",))
def argmin(self, dim: int | None = None, keepdim: bool = False):
    return place_of(self, dim, keepdim, "argmin")


@op(None, "any", nondiff=("self",))
def any_of(self, dim: Ints | None = None, keepdim: bool = False):
    return truth(np.any, self, dim, keepdim)


@op(None, "all", nondiff=("self",))
def all_of(self, dim: Ints | None = None, keepdim: bool = False):
    return truth(np.all, self, dim, keepdim)


row("count_true", None, lambda self: np.asarray(self).sum(), nondiff=("self",))


@composite
def evenly_distribute(grad, self, result):
    """The gradient shared among all elements that equal the result."""
    chosen = same_or_nan(self, result)
    return masked_fill_tensor(zeros_like(self), chosen, grad / count_true(chosen))


@op(None, nondiff=("self", "other"))
def same_or_nan(self, other):
    return np.isnan(self) if np.isnan(other).any() else np.equal(self, other)


def extreme(array, dim, keepdim, name):
    """Values and indices of the greatest (or least) element along a dimension; the first of equal ones."""
    return searched(array, dim, lambda axis: getattr(reducible(array, axis, name), f"arg{name}")(axis, keepdims=True), keepdim)


def laid_out(array, model):
    """An array in the memory order of another of the same shape."""
    found = np.empty_like(model, array.dtype)
    found[...] = array
    return found


def placed(array, indices, axis, keepdim=True):
    """The elements at places along an axis, and these places; without that axis if so asked."""
    values, indices = np.take_along_axis(array, indices, axis), np.asarray(indices, order="C")
    return (values, indices) if keepdim else (values.squeeze(axis), indices.squeeze(axis))


def searched(array, dim, find, keepdim=True):
    """The elements at the places that are found along a dim, and these places; a number is found itself."""
    axis = wrap_dim(dim, array.ndim)
    return placed(array, find(axis), axis, keepdim) if array.ndim else (array.copy(), np.zeros((), np.int64))


@composite
def select_backward_of(grad, dim, indices, sizes, keepdim):
    """The gradient of a reduction that picks one element: put where that element was."""
    if not keepdim and sizes:
        grad, indices = unsqueeze(grad, dim), unsqueeze(indices, dim)
    return scatter(zeros_of(grad, sizes), dim, indices, grad)


def place_of(array, dim, keepdim, name):
    """Where the greatest (or least) element is; refuses booleans, and nothing, of which none is the greatest."""
    if array.dtype.kind == "b":
        raise RuntimeError(f"{name}(): does not support bool input")
    if dim is None and not array.size:
        raise IndexError(f"{name}(): Expected reduction dim to be specified for input.numel() == 0.")
    find = getattr(np, name)
    reducible(array, dim, name)
    return find(array, axis=None if dim is None else wrap_dim(dim, array.ndim), keepdims=keepdim)


def truth(ask, array, dim, keepdim):
    """Whether any or all are true: of bytes a byte again, as in PyTorch."""
    found = ask(array, axis=axes_of(array, dim), keepdims=keepdim)
    return np.asarray(found, array.dtype) if array.dtype.name == "uint8" else found


# ------------------------------------------------------------------ softmax and its kin
def check_softmax(array, dim, name):
    """Refuse all but floating point numbers."""
    if array.dtype.kind not in "fc" and array.size:
        kernel = f"{name}_lastdim_kernel_impl" if dim == max(array.ndim, 1) - 1 else f"{name}_kernel_impl"
        raise no_kernel(kernel, array.dtype)


@op("SoftmaxBackward0", "softmax", self="softmax_backward_data(grad, result, dim)")
def softmax_row(self, dim: int):
    dim = wrap_dim(dim, self.ndim)
    check_softmax(self, dim, "softmax")
    if not self.size:
        return self.copy()
    if not self.ndim:
        return np.exp(self - self)  # 1, or nan
    e = np.exp(np.asarray(self, order="C") - self.max(axis=dim, keepdims=True, initial=-np.inf))
    return e / e.sum(axis=dim, keepdims=True)


@op(
    "SoftmaxBackwardDataBackward0",
    grad_output="softmax_backward_data(grad, output, dim)",
    output="softmax_double_backward(grad, grad_output, dim, output)",
)
def softmax_backward_data(grad_output, output, dim):
    weighted = grad_output * output
    return weighted - output * (weighted.sum(axis=dim, keepdims=True) if np.ndim(output) else weighted)


@composite("softmax")
def softmax_typed(self, dim: int, dtype: Dtype):
    """In a dtype."""
    return softmax_row(cast_like(self, dtype), dim)


@composite("log_softmax")
def log_softmax_typed(self, dim: int, dtype: Dtype):
    """In a dtype."""
    return log_softmax_row(cast_like(self, dtype), dim)


@composite
def softmax_double_backward(grad, grad_output, dim, output):
    """Second derivative of softmax, written as PyTorch does."""
    last = grad_output * sum_dim(output * grad, (dim,), True)
    middle = sum_dim(output * grad_output, (dim,), True) * grad
    return grad_output * grad - middle - last


@op("LogSoftmaxBackward0", "log_softmax", self="log_softmax_backward_data(grad, result, dim)")
def log_softmax_row(self, dim: int):
    dim = wrap_dim(dim, self.ndim)
    check_softmax(self, dim, "log_softmax")
    if not self.size:
        return self.copy()
    if not self.ndim:
        return self - self
    shifted = np.asarray(self, order="C") - self.max(axis=dim, keepdims=True, initial=-np.inf)
    return shifted - np.log(np.exp(shifted).sum(axis=dim, keepdims=True))


@op(
    "LogSoftmaxBackwardDataBackward0",
    grad_output="grad - sum_dim(grad * exp(output), (dim,), True)",
    output="neg(sum_dim(grad_output, (dim,), True)) * exp(output) * grad",
)
def log_softmax_backward_data(grad_output, output, dim):
    return grad_output - np.exp(output) * (grad_output.sum(axis=dim, keepdims=True) if np.ndim(output) else grad_output)
