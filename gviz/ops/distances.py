"""Distances between rows: every row of one matrix to every row of another."""

from __future__ import annotations

import numpy as np

from gviz.autograd.row import ARRAYS, composite, op
from gviz.ops.checks import check_one_dtype
from gviz.ops.rows import formula, row


@composite("torch.cdist")
def cdist(x1, x2, p: float = 2.0, compute_mode: str | None = None):
    """Return the distance of each row to each row of another matrix, or batch of matrices."""
    if min(len(x1.shape), len(x2.shape)) < 2:
        raise RuntimeError(f"cdist only supports at least 2D tensors, got: {len(x1.shape)}D and {len(x2.shape)}D")
    if x1.shape[-1] != x2.shape[-1]:
        raise RuntimeError(f"X1 and X2 must have the same number of columns. X1: {x1.shape[-1]} X2: {x2.shape[-1]}")
    refuse(p < 0, f"cdist only supports non-negative p values, but got p = {p}")
    large = compute_mode != "donot_use_mm_for_euclid_dist" and max(x1.shape[-2], x2.shape[-2]) > 25
    if p != 2 or not numel_of(x1) or not numel_of(x2) or not (large or compute_mode == "use_mm_for_euclid_dist"):
        return cdist_forward(x1, x2, float(p))
    batch = broadcast_shape(tuple(x1.shape[:-2]), tuple(x2.shape[:-2]))  # by one matrix product, an operation of its own
    sizes = (*batch, x1.shape[-2], x2.shape[-2])
    if any(size != 1 for size in batch):
        x1, x2 = (view(contiguous_of(expand(x, (*batch, *x.shape[-2:]))), (-1, *x.shape[-2:])) for x in (x1, x2))
    return view(euclidean_dist(x1, x2), sizes)

@op("CdistBackward0", check=lambda x1, x2: check_one_dtype(x1, x2, "expected scalar type {} but found {}"),
    x1="cdist_backward(contiguous_of(grad), x1, x2, p, result)", x2="cdist_backward_other(grad, x1, x2, p, result)")
def cdist_forward(x1, x2, p):
    steps = x1[..., :, None, :] - x2[..., None, :, :]
    return ARRAYS["vector_norm"](steps, p, (-1,)) if steps.shape[-1] else np.zeros(steps.shape[:-1], steps.dtype)

formula("contiguous_of", lambda value: value if contiguous(value) else clone_contiguous(value))
NEVER = 'not_implemented("_cdist_backward")'

@op("CdistBackwardBackward0", grad_output=NEVER, x1=NEVER, x2=NEVER, cdist=NEVER)
def cdist_backward(grad_output, x1, x2, p, cdist):
    steps = x1[..., :, None, :] - x2[..., None, :, :]
    scale, far = grad_output[..., None], cdist[..., None]
    if p == np.inf:
        each = scale * np.sign(steps) * (np.abs(steps) == far)
    elif p == 1:
        each = scale * np.sign(steps)
    else:
        size = np.where(steps == 0, 0, np.abs(steps) ** (p - 1)) if p else 0 * steps
        each = np.where(far == 0, 0, np.sign(steps) * size * scale / far ** (p - 1))
    return each.sum(axis=-2).astype(x1.dtype, copy=False)

@composite
def cdist_backward_other(grad, x1, x2, p, result):
    """Return the gradient for the second ones."""
    result = contiguous_of(transpose(result, -2, -1))  # the last argument is made first, as in PyTorch
    return cdist_backward(contiguous_of(transpose(grad, -2, -1)), x2, x1, p, result)

def straight(x1, x2):
    steps = x1[..., :, None, :] - x2[..., None, :, :]
    return np.sqrt(np.einsum("...k,...k->...", steps, steps))

row("euclidean_dist", "EuclideanDistBackward0", straight, x1__x2="euclidean_dist_backward(grad, x1, x2, result)")

@composite
def euclidean_dist_backward(grad, x1, x2, result):
    """Return the unit vectors along the distances, added up by matrix products."""
    ratio = masked_fill(grad / result, equal(result, 0), 0)
    flipped = transpose(ratio, -2, -1)
    first = x1 * sum_dim(ratio, (-1,), True) - matmul(ratio, x2)
    return first, x2 * unsqueeze(sum_dim(ratio, (-2,), False), -1) - matmul(flipped, x1)
