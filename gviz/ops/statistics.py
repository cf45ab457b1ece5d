"""Products, variances, norms, and reductions beside what is not a number.

Source: PyTorch's derivatives.yaml, and ReduceOps.cpp and FunctionsManual.cpp (prod_backward, var_backward,
norm_backward).
"""

from __future__ import annotations

import numpy as np

from gviz.ops.reduction import add_up, average, axes_of, multiply_up, summed
from gviz.ops.rows import (
    ARRAYS,
    TENSORS,
    array_of,
    brief,
    check_floats,
    composite,
    dtypes,
    exp_of,
    fact,
    formula,
    lacks,
    log_of,
    mode,
    op,
    public_names,
    refuse,
    refuse_any,
    row,
    warn,
    wrap_dim,
)

# ------------------------------------------------------------------ products
row("prod_all", "ProdBackward0", lambda self, *, dtype=None: multiply_up(summed(self, dtype), dtype=dtype), "prod",
    self="prod_backward(grad, cast_like(self, grad), result)")
row("prod_dim", "ProdBackward1", lambda self, dim, keepdim=False, *, dtype=None:
    multiply_up(summed(self, dtype), axes_of(self, dim), keepdims=keepdim, dtype=dtype), "prod",
    self="prod_dim_backward(grad, cast_like(self, grad), result, dim, keepdim)")
fact("zeros_in", lambda value: int(np.sum(array_of(value) == 0)))
fact("recording", lambda: mode.recording)
@composite
def prod_backward(grad, self, result):
    if not zeros_in(self) or not self.shape:
        return grad * (result / self) if self.shape else grad
    if zeros_in(self) > 1 and not recording():  # a recorded one goes on to the products
        return zeros_like(self)
    return view(prod_safe_zeros(grad, view(contiguous_of(self), (-1,)), 0), tuple(self.shape))
@composite
def prod_dim_backward(grad, self, result, dim, keepdim):
    if not self.shape:
        return grad
    if not keepdim:
        grad, result = unsqueeze(grad, dim), unsqueeze(result, dim)
    return prod_safe_zeros(grad, self, wrap_dim(dim, len(self.shape))) if zeros_in(self) else grad * (result / self)
@composite
def prod_safe_zeros(grad, self, dim):
    """Return for each element the product of those before it and of those after it: no division."""
    count = self.shape[dim]
    if count == 1:
        return grad
    ones = ones_of(grad, (*self.shape[:dim], 1, *self.shape[dim + 1 :]))
    before = cumprod(cat([ones, narrow(self, dim, 0, count - 1)], dim), dim)
    after = cumprod(cat([ones, flip(narrow(self, dim, 1, count - 1), (dim,))], dim), dim)
    return grad * (before * flip(after, (dim,)))

# ------------------------------------------------------------------ variance
def variance(self, dim, correction, keepdim, name):
    """Return the mean square distance of numbers from their mean, with Bessel's correction, and their mean."""
    refuse(self.dtype.kind not in "fc",
           f"{name if 'mean' in name else 'std and var'} only support floating point and complex dtypes")
    axes, correction = axes_of(self, dim), 1 if correction is None else correction
    mean = average(self, axes, keepdims=True)
    square = add_up(np.square(np.abs(self - mean)), axes, keepdims=keepdim)
    count = self.size // max(square.size, 1)
    if count <= correction:
        warn(f"{name}(): degrees of freedom is <= 0. Correction should be strictly less than the reduction factor (input numel "
             "divided by output numel).")
    return np.divide(square, square.dtype.type(max(count - correction, 0))), mean.reshape(square.shape)

def measure_spread(key, node, names, shown, self, outputs=()):
    """Store the row of a variance or deviation, and its two older forms, in which the correction is told by a flag."""

    @public_names(names)
    def over_all(self, unbiased: bool):
        return TENSORS[key](self, None, int(unbiased), False)

    @public_names(names)
    def over_dims(self, dim: Ints | None, unbiased: bool = True, keepdim: bool = False):
        return TENSORS[key](self, dim, int(unbiased), keepdim)

    def spread(self, dim: Ints | None = None, *, correction: Number | None = None, keepdim: bool = False):
        return shown(*variance(self, dim, correction, keepdim, key))

    row(key, node, spread, names, self=f"{self}, self, dim, correction, keepdim)", outputs=outputs)

MEANS = ("result0", "result1")
measure_spread("var", "VarBackward0", "var", lambda square, mean: square, "var_backward(grad")
measure_spread("std", "StdBackward0", "std", lambda square, mean: np.sqrt(square), "var_backward(root_grad(grad, result)")
measure_spread("var_mean", "VarMeanBackward0", "torch.var_mean", lambda square, mean: (square, mean),
    "var_mean_backward(grads", outputs=MEANS)
measure_spread("std_mean", "StdMeanBackward0", "torch.std_mean", lambda square, mean: (np.sqrt(square), mean),
    "var_mean_backward([root_grad(grads[0], result0), grads[1]]", outputs=MEANS)
@composite
def var_backward(grad, self, dim, correction, keepdim):
    whole = not self.shape or dim is None
    if not whole and len(self.shape) > 1:
        grad = unsqueeze_reduced(grad, dim, self.shape, keepdim)
    free = (numel_of(self) if whole else count_of([self.shape[at] for at in dim])) - (1 if correction is None else correction)
    away = self - (mean_all(self) if whole else mean_dim(self, dim, True))
    return (2.0 / free if free > 0 else float("inf")) * grad * away
formula("root_grad", lambda grad, result: None if grad is None else masked_fill(grad / (result * 2), equal(result, 0), 0))
@composite
def var_mean_backward(grads, self, dim, correction, keepdim):
    size, spread = tuple(self.shape), None if grads[0] is None else var_backward(grads[0], self, dim, correction, keepdim)
    return added([spread, None if grads[1] is None else sum_backward(grads[1], size, dim, keepdim) / reduced_count(size, dim)])

# ------------------------------------------------------------------ norms
def check_norm_type(have, want):
    kind, first, second = "complex" if have.kind == "c" else "real", dtypes.of(have).scalar_name, dtypes.of(want).scalar_name
    refuse_any({
        f"linalg.vector_norm: dtype should be floating point or complex, but got {second}": want.kind not in "fc",
        f"linalg.vector_norm: dtype should be {kind} for {kind} inputs, but got {second}": have.kind != want.kind,
        f"linalg.vector_norm: the dtype of the input ({first}) should be convertible without narrowing to the specified dtype "
        f"({second})": dtypes.promote(have, want) != want,
    })  # fmt: skip

@op("LinalgVectorNormBackward0", "linalg.vector_norm", promote="none",
    self="norm_backward(grad, self, ord, result, dim, keepdim)")
def vector_norm(self, ord: Number = 2.0, dim: Ints | None = None, keepdim: bool = False, *, dtype: Dtype = None):
    check_floats(self, "linalg.vector_norm")
    check_norm_type(self.dtype, np.dtype(dtype or self.dtype))
    axes, size = axes_of(self, dim), np.abs(self if dtype is None else self.astype(dtype), order="C")
    for axis in [axis for axis in axes or range(self.ndim) if not self.shape[axis]] if ord < 0 or ord == np.inf else ():
        raise RuntimeError(f"linalg.vector_norm cannot compute the {ord:g} norm on "
                           + (f"the dimension {axis}because this dimension is empty and" if dim and self.ndim > 1 else
                              "an empty tensor because") + " the operation does not have an identity")
    if abs(ord) == np.inf:
        return (size.max if ord > 0 else size.min)(axis=axes, keepdims=keepdim)
    if ord == 0:
        return (size != 0).sum(axis=axes, keepdims=keepdim, dtype=size.dtype)
    if ord == 2:
        return np.sqrt(add_up(np.square(size), axes, keepdims=keepdim))
    return add_up(size**ord, axes, keepdims=keepdim) ** (1 / ord)

row("norm", "NormBackward1", lambda self, p, dim, keepdim=False: ARRAYS["vector_norm"](self, p, dim, keepdim), promote="none",
    self="norm_backward(grad, self, p, result, dim, keepdim)")
@composite
def norm_backward(grad, self, ord, result, dim, keepdim):
    ord = float(ord)
    grad, norm = (unsqueeze_reduced(value, dim, self.shape, keepdim) for value in (grad, result))
    if ord in (0, 1):
        return sgn(self) * grad if ord else None
    if ord == 2:
        return grad * masked_fill(self / norm, equal(norm, 0), 0)
    size = absolute(self)
    if abs(ord) == float("inf"):
        ties = logical_or(equal(size, norm), isnan(size))
        shares = (grad / count_chosen(grad, ties, dim)) * ties
        return sgn(self) * shares
    if ord < 1:
        scaled = masked_fill(overwritten(size, "power", ord - 1), equal(self, 0), 0)  # right operands are made first
        scaled, rest = sgn(self) * scaled, power(norm, 1 - ord)
        return scaled * grad * rest
    scaled = sgn(self) * overwritten(size, "power", ord - 1) if ord < 2 else self * overwritten(size, "power", ord - 2)
    return scaled * masked_fill(grad / power(norm, ord - 1), equal(norm, 0), 0)

row("dist", "DistBackward0", lambda self, other, p=2: ARRAYS["vector_norm"](self - other, p), "dist",
    self="dist_backward(grad, self - other, p, result)", other="neg(dist_backward(grad, self - other, p, result))")
formula("dist_backward", lambda grad, difference, p, result: norm_backward(grad, difference, float(p), result, (), True))
@op("RenormBackward0", "renorm .renorm_", self="renorm_backward(grad, self, p, dim, maxnorm)")
def renorm(self, p: Number, dim: int, maxnorm: Number):
    refuse(self.ndim < 2, f"renorm: input needs at least 2 dimensions, got {self.ndim} dimensions")
    refuse(maxnorm < 0, f"renorm: expected maxnorm to be >= 0 but got {maxnorm}")
    norms = ARRAYS["vector_norm"](self, p, all_but(dim, self.ndim), True)
    return np.where(norms > maxnorm, self * (maxnorm / (norms + 1e-7)), self).astype(self.dtype)
all_but = fact("all_but", lambda dim, ndim: tuple(i for i in range(ndim) if i != wrap_dim(dim, ndim)))
@composite
def renorm_backward(grad, self, p, dim, maxnorm):
    dims = all_but(dim, len(self.shape))
    norm = vector_norm(self, p, dims, True, "float64")
    along = norm_backward(sum_dim(self * grad, dims, True, "float64"), self, p, norm, dims, True)
    inverse = reciprocal(norm + 1e-7)
    return where(greater(norm, maxnorm), cast_like(maxnorm * inverse * (grad - inverse * along), grad), grad)

# ------------------------------------------------------------------ sums of numbers and of exponentials
@op("NansumBackward0", "nansum", check=lacks("", "c", "nansum on CPU does not support complex inputs"),
    self="sum_backward(cast_like(grad, self), tuple(self.shape), dim, keepdim) * logical_not(isnan(self))")
def nansum(self, dim: Ints | None = None, keepdim: bool = False, *, dtype: Dtype = None):
    numbers = summed(np.where(np.isnan(self), self.dtype.type(0), self), dtype)
    lacks("nansum_cpu", "c" if self.dtype.kind == "f" else "")(numbers)
    return add_up(numbers, axes_of(self, dim), keepdims=keepdim, dtype=dtype)
@composite("nanmean")
def nanmean(self, dim: Ints | None = None, keepdim: bool = False, *, dtype: Dtype = None):
    refuse(array_of(self).dtype.kind in "biu",
           f"nanmean(): expected input to have floating point or complex dtype but got {self.dtype.scalar_name}")
    return nansum(self, dim, keepdim, dtype) / sum_dim(logical_not(isnan(self)), dim, keepdim)
@op("LogsumexpBackward0", "logsumexp special.logsumexp", promote="float",
    self="logsumexp_backward(grad, self, result, dim, keepdim)")
def logsumexp(self, dim: Ints, keepdim: bool = False):
    self, axes = np.asanyarray(self, order="C"), axes_of(self, dim)
    top = np.nan_to_num(self.max(axis=axes, keepdims=True, initial=-np.inf), nan=np.nan, posinf=0, neginf=0)
    total = log_of(exp_of(self - top).sum(axis=axes, keepdims=True)) + top
    return total if keepdim or not self.ndim else total.squeeze(axes)
formula("logsumexp_backward", lambda grad, self, result, dim, keepdim:
    unsqueeze_reduced(grad, dim, self.shape, keepdim) * exp(self - unsqueeze_reduced(result, dim, self.shape, keepdim)))

# ------------------------------------------------------------------ counts
row("nonzero", None, lambda self: np.argwhere(self), "nonzero argwhere", nondiff=("self",))
brief("nonzero", lambda self, *, as_tuple: nonzero_places(self) if as_tuple else nonzero(self), key="nonzero_as",
    as_tuple="bool")
@op(None, "count_nonzero", nondiff=("self",))
def count_nonzero(self, dim: Ints | None = None):
    return np.asanyarray(np.count_nonzero(self, axis=axes_of(self, dim)), np.int64, order="C")
@op(None, "bincount", check=lambda self, weights: lacks("bincount_cpu", "fbce")(self), nondiff=("self", "weights"),
    promote="none")
def bincount(self, weights: Tensor | None = None, minlength: int = 0):
    refuse(self.ndim != 1 or (self < 0).any(), "bincount only supports 1-d non-negative integral inputs.")
    counts = np.bincount(self, weights, minlength)
    return counts if weights is None or weights.dtype != np.float32 else counts.astype(np.float32)
