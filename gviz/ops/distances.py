"""Distances between rows: every row of one matrix to every row of another.

Source: PyTorch's derivatives.yaml, and Distance.cpp.
"""

from __future__ import annotations

import numpy as np

from gviz.ops.convolution import portions
from gviz.ops.rows import (
    ARRAYS,
    array_of,
    broadcast_shape,
    check_one_dtype,
    composite,
    each_of,
    fact,
    formula,
    lacks,
    op,
    refuse,
    row,
)

fact("check_rows", lambda name, value:
    lacks("", message=f"cdist only supports floating-point dtypes, {name} got: {{name}}")(array_of(value)))

@composite("torch.cdist")
def cdist(x1, x2, p: float = 2.0, compute_mode: str | None = None):
    """Return the distance of each row to each row of another matrix, or batch of matrices."""
    refuse(min(len(x1.shape), len(x2.shape)) < 2,
           f"cdist only supports at least 2D tensors, got: {len(x1.shape)}D and {len(x2.shape)}D")
    refuse(x1.shape[-1] != x2.shape[-1],
           f"X1 and X2 must have the same number of columns. X1: {x1.shape[-1]} X2: {x2.shape[-1]}")
    refuse(p < 0, f"cdist only supports non-negative p values, but got p = {p}")
    check_rows("X1", x1)
    check_rows("X2", x2)
    large = compute_mode != "donot_use_mm_for_euclid_dist" and max(x1.shape[-2], x2.shape[-2]) > 25
    if p != 2 or not numel_of(x1) or not numel_of(x2) or not (large or compute_mode == "use_mm_for_euclid_dist"):
        return cdist_forward(x1, x2, float(p))
    batch = broadcast_shape(tuple(x1.shape[:-2]), tuple(x2.shape[:-2]))  # by one matrix product, an operation of its own
    sizes = (*batch, x1.shape[-2], x2.shape[-2])
    if any(size != 1 for size in batch):
        x1, x2 = (view(contiguous_of(expand(x, (*batch, *x.shape[-2:]))), (-1, *x.shape[-2:])) for x in (x1, x2))
    return view(euclidean_dist(x1, x2), sizes)

@op("CdistBackward0", promote="none", check=each_of(
    lacks("cdist", "e"), lambda x1, x2: check_one_dtype(x1, x2, "expected scalar type {} but found {}")),
    x1="cdist_backward(contiguous_of(grad), x1, x2, p, result)", x2="cdist_backward_other(grad, x1, x2, p, result)")
def cdist_forward(x1, x2, p):
    result = np.zeros((*broadcast_shape(x1.shape[:-2], x2.shape[:-2]), x1.shape[-2], x2.shape[-2]), x1.dtype)
    for some, steps in apart(x1, x2):
        if p == 2:
            np.sqrt(np.einsum("...knm,...knm->...nm", steps, steps), out=result[..., some, :])
        else:
            result[..., some, :] = ARRAYS["vector_norm"](steps, p, (-3,))
    return result

def apart(x1, x2):
    """Yield slices of the rows of the first, and their differences from all rows of the second as (..., columns, some, all).

    Numbers of a column lie side by side, and no more are made at once than a processor keeps at hand.
    """
    first, second = (np.array(x.mT, order="C")[..., None] for x in (x1, x2))
    each = first.size // max(x1.shape[-2], 1) * x2.shape[-2]
    for some in portions(range(x1.shape[-2]), each) if x1.size and x2.size else ():
        yield some, first[..., some, :] - second.mT

formula("contiguous_of", lambda value: value if contiguous(value) else clone_contiguous(value))
NEVER = 'not_implemented("_cdist_backward")'

@op("CdistBackwardBackward0", promote="none", grad_output=NEVER, x1=NEVER, x2=NEVER, cdist=NEVER)
def cdist_backward(grad_output, x1, x2, p, cdist):
    scale = np.where(cdist, grad_output / cdist ** (p - 1), 0) if 0 < p < np.inf and p != 1 else grad_output * bool(p)
    result = np.zeros((*grad_output.shape[:-2], *x1.shape[:-3:-1]), x1.dtype)
    for some, steps in apart(x1, x2):
        slopes = slopes_of(steps, p, cdist[..., None, some, :])
        np.einsum("...knm,...nm->...kn", slopes, scale[..., some, :], out=result[..., some])
    return np.array(result.mT, order="C")

def slopes_of(steps, p, far):
    """Return how a sum of powers p, or the largest, changes with each difference, for a distance of 1."""
    if p == 2:
        return steps
    sign = np.sign(steps) if np.isnan(far).any() else np.subtract(steps > 0, steps < 0, dtype=steps.dtype)  # the quicker way
    if p in (0, 1):
        return sign
    return sign * (np.abs(steps) == far if p == np.inf else np.where(steps, np.abs(steps) ** (p - 1), 0))

@composite
def cdist_backward_other(grad, x1, x2, p, result):
    """Return the gradient for the second ones."""
    result = contiguous_of(transpose(result, -2, -1))  # the last argument is made first, as in PyTorch
    return cdist_backward(contiguous_of(transpose(grad, -2, -1)), x2, x1, p, result)

row("euclidean_dist", "EuclideanDistBackward0", lambda x1, x2: ARRAYS["cdist_forward"](x1, x2, 2),
    promote="none", x1__x2="euclidean_dist_backward(grad, x1, x2, result)")

@composite
def euclidean_dist_backward(grad, x1, x2, result):
    """Return the unit vectors along the distances, added up by matrix products."""
    ratio = masked_fill(grad / result, equal(result, 0), 0)
    flipped = transpose(ratio, -2, -1)
    first = x1 * sum_dim(ratio, (-1,), True) - matmul(ratio, x2)
    return first, x2 * unsqueeze(sum_dim(ratio, (-2,), False), -1) - matmul(flipped, x1)
