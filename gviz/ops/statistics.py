"""Reductions beyond sum and mean: products, variances, norms, extremes over several dims."""

from __future__ import annotations

import numpy as np

from gviz.ops.checks import no_norm
from gviz.numbers.dtypes import of
from gviz.numbers.shapes import wrap_dim
from gviz.numbers.words import warn
from gviz.autograd.row import ARRAYS, ROWS, composite, everywhere, op
from gviz.ops.arithmetic import check_sub
from gviz.ops.reduction import axes_of, reducible, summed
from gviz.ops.rows import row
from gviz.ops.totals import add_up, average, multiply_up


@composite
def unsqueeze_reduced(value, dims, sizes, keepdim):
    """A reduced tensor with its dims put back, as PyTorch does: one or several, and none where it was over all."""
    if keepdim or not dims or not sizes:
        return value
    return unsqueeze(value, dims[0]) if len(dims) == 1 else restore_dims(value, dims, sizes, False)


# ------------------------------------------------------------------ products
@op("ProdBackward0", "prod", self="prod_backward(grad, cast_like(self, grad), result)")
def prod_all(self, *, dtype: Dtype = None):
    return multiply_up(summed(self, dtype), dtype=dtype)


@op("ProdBackward1", "prod", self="prod_dim_backward(grad, cast_like(self, grad), result, dim, keepdim)")
def prod_dim(self, dim: int, keepdim: bool = False, *, dtype: Dtype = None):
    return multiply_up(summed(self, dtype), axes_of(self, dim), keepdims=keepdim, dtype=dtype)


@everywhere
def zeros_in(value):
    """How many elements are zero."""
    array = getattr(value, "_array", value)
    return int(array.size - np.count_nonzero(array))


@composite
def prod_backward(grad, self, result):
    """The product over each element; where some are zero, the products of all others."""
    if not self.shape:
        return grad
    if zeros_in(self) > 1 and not hasattr(grad, "grad_fn"):  # a recorded one goes on to the products
        return zeros_like(self)
    if not zeros_in(self):
        return grad * (result / self)
    return view(prod_safe_zeros(grad, view(contiguous_of(self), (-1,)), 0), tuple(self.shape))


@composite
def prod_dim_backward(grad, self, result, dim, keepdim):
    """The same along a dimension."""
    if not self.shape:
        return grad
    dim = wrap_dim(dim, len(self.shape))
    if not keepdim:
        grad, result = unsqueeze(grad, dim), unsqueeze(result, dim)
    return prod_safe_zeros(grad, self, dim) if zeros_in(self) else grad * (result / self)


@composite
def prod_safe_zeros(grad, self, dim):
    """For each element the product of those before it and of those after it: no division."""
    count = self.shape[dim]
    if count == 1:
        return grad
    ones = ones_of(grad, (*self.shape[:dim], 1, *self.shape[dim + 1 :]))
    before = cumprod(cat([ones, narrow(self, dim, 0, count - 1)], dim), dim)
    after = cumprod(cat([ones, flip(narrow(self, dim, 1, count - 1), (dim,))], dim), dim)
    return grad * (before * flip(after, (dim,)))


# ------------------------------------------------------------------ variance
@composite("var")
def var_unbiased(self, dim: Ints | None, unbiased: bool = True, keepdim: bool = False):
    """With Bessel's correction or without."""
    return var(self, dim, int(unbiased), keepdim)


@composite("std")
def std_unbiased(self, dim: Ints | None, unbiased: bool = True, keepdim: bool = False):
    """With Bessel's correction or without."""
    return std(self, dim, int(unbiased), keepdim)


@op("VarBackward0", "var", self="var_backward(grad, self, dim, correction, keepdim)")
def var(self, dim: Ints | None = None, *, correction: Number | None = None, keepdim: bool = False):
    return variance(self, dim, correction, keepdim, "var")


@op("StdBackward0", "std", self="var_backward(masked_fill(grad / (result * 2), equal(result, 0), 0), self, dim, correction, keepdim)")
def std(self, dim: Ints | None = None, *, correction: Number | None = None, keepdim: bool = False):
    return np.sqrt(variance(self, dim, correction, keepdim, "std"))


@composite("var")
def var_of_all(self, unbiased: bool):
    """Of all elements."""
    return var(self, None, int(unbiased), False)


@composite("std")
def std_of_all(self, unbiased: bool):
    """Of all elements."""
    return std(self, None, int(unbiased), False)


def variance(self, dim, correction, keepdim, name):
    """The mean square distance of floating point numbers from their mean, with Bessel's correction."""
    if self.dtype.kind not in "fc":
        raise RuntimeError(f"{name if 'mean' in name else 'std and var'} only support floating point and complex dtypes")
    axes = axes_of(self, dim)
    count = self.size if axes is None else int(np.prod([self.shape[a] for a in axes])) if self.ndim else 1
    away = self - average(self, axes, keepdims=True)
    square = add_up((away * away.conj()).real if away.dtype.kind == "c" else np.square(away), axes, keepdims=keepdim)
    correction = 1 if correction is None else correction
    free = max(count - correction, 0)
    if self.size // max(square.size, 1) <= correction:
        warn(
            f"{name}(): degrees of freedom is <= 0. Correction should be strictly less than the reduction factor (input numel "
            "divided by output numel)."
        )
    return np.divide(square, square.dtype.type(free))


@composite
def var_backward(grad, self, dim, correction, keepdim):
    """The gradient of a variance: twice the distance from the mean, over the degrees of freedom."""
    correction = 1 if correction is None else correction
    if not self.shape or dim is None:
        free = numel_of(self) - correction
        if free <= 0:
            return grad * unbounded(self)
        away = self - mean_all(self)
        return (2.0 / free) * grad * away
    if len(self.shape) > 1:
        grad = unsqueeze_reduced(grad, dim, self.shape, keepdim)
    free = reduced_count(tuple(self.shape), dim) - correction
    away = self - mean_dim(self, dim, True)
    return (2.0 / free if free else float("inf")) * grad * away


@op(None, nondiff=("self",))
def unbounded(self):
    return np.where(self == average(self), self.dtype.type(np.nan), self.dtype.type(np.inf))


@op("VarMeanBackward0", "torch.var_mean", outputs=("result0", "result1"), self="var_mean_backward(grad, self, dim, correction, keepdim)")
def var_mean(self, dim: Ints | None = None, *, correction: Number | None = None, keepdim: bool = False):
    return variance(self, dim, correction, keepdim, "var_mean"), mean_beside(self, dim, keepdim)


@op("StdMeanBackward0", "torch.std_mean", outputs=("result0", "result1"), self="std_mean_backward(grad, self, result0, dim, correction, keepdim)")
def std_mean(self, dim: Ints | None = None, *, correction: Number | None = None, keepdim: bool = False):
    return np.sqrt(variance(self, dim, correction, keepdim, "std_mean")), mean_beside(self, dim, keepdim)


def mean_beside(self, dim, keepdim):
    """The mean that is given with a variance."""
    return average(self, axes_of(self, dim), keepdims=keepdim)


@composite
def var_mean_backward(grads, self, dim, correction, keepdim):
    """The gradients of a variance and of a mean, those that there are, added."""
    spread = None if grads[0] is None else var_backward(grads[0], self, dim, correction, keepdim)
    size = tuple(self.shape)
    return added([spread, None if grads[1] is None else sum_backward(grads[1], size, dim, keepdim) / reduced_count(size, dim)])


@composite
def std_mean_backward(grads, self, result0, dim, correction, keepdim):
    """The same for a standard deviation."""
    first = None if grads[0] is None else masked_fill(grads[0] / (result0 * 2), equal(result0, 0), 0)
    return var_mean_backward([first, grads[1]], self, dim, correction, keepdim)


# ------------------------------------------------------------------ norms
@op("LinalgVectorNormBackward0", promote="none", self="norm_backward(grad, self, ord, result, dim, keepdim)")
def vector_norm(self, ord=2, dim=None, keepdim=False, dtype=None):
    if self.dtype.kind not in "fc":
        raise RuntimeError(
            "linalg.vector_norm: Expected a floating point or complex tensor as input. Got " + of(self.dtype).scalar_name
        )
    axes = axes_of(self, dim)
    if not self.size and (ord < 0 or ord == np.inf):
        empty = next((f"the dimension {d}because this dimension is empty and" for d in dim or () if not self.shape[d]), None)
        if empty or not dim:
            raise RuntimeError(
                f"linalg.vector_norm cannot compute the {ord} norm on {empty or 'an empty tensor because'} the operation does "
                "not have an identity"
            )
    size = np.abs(self if dtype is None else self.astype(dtype))
    if ord == np.inf:
        return size.max(axis=axes, keepdims=keepdim)
    if ord == -np.inf:
        return size.min(axis=axes, keepdims=keepdim)
    if ord == 0:
        return (size != 0).sum(axis=axes, keepdims=keepdim).astype(size.dtype)
    if ord == 1:
        return add_up(size, axes, keepdims=keepdim)
    if ord == 2:
        return np.sqrt(add_up(np.square(size), axes, keepdims=keepdim))
    return add_up(size**ord, axes, keepdims=keepdim) ** (1 / ord)


@op("NormBackward1", promote="none", self="norm_backward(grad, self, p, result, dim, keepdim)")
def norm(self, p, dim, keepdim=False):
    return ARRAYS["vector_norm"](self, p, dim, keepdim)


@composite
def norm_backward(grad, self, ord, result, dim, keepdim):
    """The gradient of a p-norm, written case by case as PyTorch does."""
    ord = float(ord)
    grad = unsqueeze_reduced(grad, dim, self.shape, keepdim)
    norm = unsqueeze_reduced(result, dim, self.shape, keepdim)
    if ord == 0:
        return None
    if ord == 1:
        return sgn(self) * grad
    if ord == 2:
        return grad * masked_fill(self / norm, equal(norm, 0), 0)
    size = absolute(self)
    if ord in {float("inf"), float("-inf")}:
        chosen = logical_or(equal(size, norm), isnan(size))
        shares = (grad / count_chosen(grad, chosen, dim)) * chosen
        return sgn(self) * shares
    if ord < 1:
        scaled = masked_fill(overwritten(size, "power", ord - 1), equal(self, 0), 0)  # right operands are made first
        scaled, rest = sgn(self) * scaled, power(norm, 1 - ord)
        return scaled * grad * rest
    scaled = sgn(self) * overwritten(size, "power", ord - 1) if ord < 2 else self * overwritten(size, "power", ord - 2)
    return scaled * masked_fill(grad / power(norm, ord - 1), equal(norm, 0), 0)


row("count_chosen", None, lambda self, mask, dim: mask.sum(axis=axes_of(mask, dim), keepdims=True), nondiff=("self", "mask"))


ARRAYS["count_chosen"] = lambda self, mask, dim: ROWS["count_chosen"].forward(self, mask, dim).astype(self.dtype)


@op(
    "DistBackward0",
    check=check_sub,
    self="dist_backward(grad, self - other, p, result)",
    other="neg(dist_backward(grad, self - other, p, result))",
)
def dist(self, other, p=2):
    if self.dtype.kind not in "fc":
        raise no_norm(self.dtype)
    return ARRAYS["vector_norm"](self - other, p)


@composite
def dist_backward(grad, difference, p, result):
    """The gradient of a norm of everything."""
    return norm_backward(grad, difference, float(p), result, (), True)


@op("RenormBackward0", self="renorm_backward(grad, self, p, dim, maxnorm)")
def renorm(self, p, dim, maxnorm):
    if p <= 0:
        raise RuntimeError("renorm: non-positive-norm not supported")
    if maxnorm < 0:
        raise RuntimeError(f"renorm: expected maxnorm to be >= 0 but got {maxnorm:g}")
    if self.ndim < 2:
        raise RuntimeError(f"renorm: input needs at least 2 dimensions, got {self.ndim} dimensions")
    norms = ARRAYS["vector_norm"](self, p, all_but(dim, self.ndim), True)
    return np.where(norms > maxnorm, self * (maxnorm / (norms + 1e-7)), self).astype(self.dtype, order="C")


@everywhere
def all_but(dim, ndim):
    """All dims but one."""
    return tuple(i for i in range(ndim) if i != wrap_dim(dim, ndim))


@composite
def renorm_backward(grad, self, p, dim, maxnorm):
    """The gradient of slices that are scaled down to a norm: without its part along the slice."""
    dims = all_but(dim, len(self.shape))
    kind = "float32" if str(self.dtype).endswith("float16") else "float64"
    norm = vector_norm(self, p, dims, True, kind)
    along = norm_backward(sum_dim(self * grad, dims, True, kind), self, p, norm, dims, True)
    inverse = reciprocal(norm + 1e-7)
    rest = grad - inverse * along
    return where(greater(norm, maxnorm), cast_like(maxnorm * inverse * rest, grad), grad)


# ------------------------------------------------------------------ extremes, sums of exponentials
EXTREME = "extreme_backward(grad, self, dim, keepdim, result)"


@op("AmaxBackward0", "amax", self=EXTREME)
def amax(self, dim: Ints = (), keepdim: bool = False):
    return extreme_over(self, dim, keepdim, "max")


@op("AminBackward0", "amin", self=EXTREME)
def amin(self, dim: Ints = (), keepdim: bool = False):
    return extreme_over(self, dim, keepdim, "min")


def extreme_over(array, dim, keepdim, name):
    """The greatest (or least) element over dims."""
    return getattr(reducible(array, dim, f"a{name}"), name)(axis=axes_of(array, dim), keepdims=keepdim)


@composite
def extreme_backward(grad, self, dim, keepdim, result):
    """The gradient shared among all elements that equal the extreme."""
    if not keepdim:
        shape = tuple(1 if i in wrap_dims(dim, len(self.shape)) else n for i, n in enumerate(self.shape)) if dim else ()
        grad, result = reshape(grad, shape), reshape(result, shape)
    chosen = equal(result, self)
    return (grad / count_chosen(grad, chosen, dim)) * chosen


@op("AminmaxBackward0", outputs=("min", "max"), self="aminmax_backward(grad, self, dim, keepdim, min, max)")
def aminmax(self, dim=None, keepdim=False):
    dims = () if dim is None else (dim,)
    if not self.size and not dims:
        raise RuntimeError("aminmax(): cannot compute aminmax over an empty dimension as the operation has no identity.")
    if dims and self.ndim and not self.shape[axis := wrap_dim(dim, self.ndim)]:
        raise IndexError(f"aminmax: Expected reduction dim {axis} to have non-zero size.")
    return ARRAYS["amin"](self, dims, keepdim), ARRAYS["amax"](self, dims, keepdim)


@composite
def aminmax_backward(grads, self, dim, keepdim, min, max):
    """The gradients of both extremes, those that there are, added."""
    dims = () if dim is None else (dim,)
    return added(
        [g if g is None else extreme_backward(g, self, dims, keepdim, r) for g, r in zip(grads, (min, max), strict=True)]
    )


@op("NansumBackward0", self="sum_backward(cast_like(grad, self), tuple(self.shape), dim, keepdim) * logical_not(isnan(self))")
def nansum(self, dim=None, keepdim=False, dtype=None):
    numbers = np.where(np.isnan(self), self.dtype.type(0), self)
    return add_up(summed(numbers, dtype), axes_of(self, dim), keepdims=keepdim, dtype=dtype)


@op("LogsumexpBackward0", "logsumexp special.logsumexp", promote="float", self="logsumexp_backward(grad, self, result, dim, keepdim)")
def logsumexp(self, dim: Ints, keepdim: bool = False):
    axes = axes_of(self, dim)
    top = self.max(axis=axes, keepdims=True, initial=-np.inf)
    top = np.where(np.isinf(top), 0, top)
    total = np.log(np.exp(self - top).sum(axis=axes, keepdims=True)) + top
    return total if keepdim or not self.ndim else total.squeeze(axes)


@composite
def logsumexp_backward(grad, self, result, dim, keepdim):
    """The gradient in shares of the exponentials."""
    grad = unsqueeze_reduced(grad, dim, self.shape, keepdim)
    return grad * exp(self - unsqueeze_reduced(result, dim, self.shape, keepdim))
