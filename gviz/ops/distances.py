"""Distances between rows: every row of one matrix to every row of another."""

from __future__ import annotations

import numpy as np

from gviz.autograd.row import ARRAYS, composite, op


@composite
def cdist_of(x1, x2, p, mode):
    """The distance of each row to each row of another matrix, or batch of matrices."""
    large = mode != "donot_use_mm_for_euclid_dist" and max(x1.shape[-2], x2.shape[-2]) > 25
    if (
        p == 2 and numel_of(x1) and numel_of(x2) and (large or mode == "use_mm_for_euclid_dist")
    ):  # by one matrix product, an operation of its own
        batch = broadcast_shape(tuple(x1.shape[:-2]), tuple(x2.shape[:-2]))
        left, right = x1, x2
        if any(size != 1 for size in batch):
            left, right = (view(contiguous_of(expand(x, (*batch, *x.shape[-2:]))), (-1, *x.shape[-2:])) for x in (x1, x2))
        return view(euclidean_dist(left, right), (*batch, x1.shape[-2], x2.shape[-2]))
    return cdist_forward(x1, x2, p)


@op(
    "CdistBackward0",
    x1="cdist_backward(contiguous_of(grad), x1, x2, p, result)",
    x2="cdist_backward_other(grad, x1, x2, p, result)",
)
def cdist_forward(x1, x2, p):
    steps = x1[..., :, None, :] - x2[..., None, :, :]
    return ARRAYS["vector_norm"](steps, p, (-1,)) if steps.shape[-1] else np.zeros(steps.shape[:-1], steps.dtype)


@composite
def contiguous_of(value):
    """The value with its elements in the order of the indices."""
    return value if contiguous(value) else clone_contiguous(value)


NEVER = 'not_implemented("_cdist_backward")'


@op("CdistBackwardBackward0", grad_output=NEVER, x1=NEVER, x2=NEVER, cdist=NEVER)
def cdist_backward(grad_output, x1, x2, p, cdist):
    steps = x1[..., :, None, :] - x2[..., None, :, :]
    scale, far = grad_output[..., None], cdist[..., None]
    if p == 0:
        return np.zeros_like(x1)
    if p == 1:
        each = scale * np.sign(steps)
    elif p == np.inf:
        each = scale * np.sign(steps) * (np.abs(steps) == far)
    else:
        size = np.where(steps == 0, 0, np.abs(steps) ** (p - 1)) if p < 2 else np.abs(steps) ** (p - 1)
        each = np.where(far == 0, 0, np.sign(steps) * size * scale / far ** (p - 1))
    return each.sum(axis=-2).astype(x1.dtype, copy=False)


@composite
def cdist_backward_other(grad, x1, x2, p, result):
    """The gradient for the second ones."""
    result = contiguous_of(transpose(result, -2, -1))  # the last argument is made first, as in PyTorch
    return cdist_backward(contiguous_of(transpose(grad, -2, -1)), x2, x1, p, result)


NEVER_PDIST = 'not_implemented("_pdist_backward")'


@op("PdistBackward0", self="pdist_backward(grad, self, p, result)")
def pdist_forward(self, p):
    if self.dtype.kind != "f":
        raise RuntimeError("pdist only supports floating-point dtypes")
    return ARRAYS["cdist_forward"](self, self, p)[np.triu_indices(len(self), 1)]


@op("PdistBackwardBackward0", grad=NEVER_PDIST, self=NEVER_PDIST, pdist=NEVER_PDIST)
def pdist_backward(grad, self, p, pdist):
    places = np.triu_indices(len(self), 1)
    scale, far = np.zeros((2, len(self), len(self)), self.dtype)
    scale[places], far[places] = grad, pdist
    return ARRAYS["cdist_backward"](scale + scale.T, self, self, p, far + far.T)


@composite
def pdist(input, p=2.0):
    """The distance of each row to each row after it."""
    if len(input.shape) != 2:
        raise RuntimeError(f"pdist only supports 2D tensors, got: {len(input.shape)}D")
    if p < 0:
        raise RuntimeError("pdist only supports non-negative p values")
    return pdist_forward(contiguous_of(input), float(p))


@op("EuclideanDistBackward0", x1__x2="euclidean_dist_backward(grad, x1, x2, result)")
def euclidean_dist(x1, x2):
    return ARRAYS["cdist_forward"](x1, x2, 2.0)


@composite
def euclidean_dist_backward(grad, x1, x2, result):
    """The unit vectors along the distances, added up by matrix products."""
    ratio = masked_fill(grad / result, equal(result, 0), 0)
    flipped = transpose(ratio, -2, -1)
    return (
        x1 * sum_dim(ratio, (-1,), True) - matmul(ratio, x2),
        x2 * unsqueeze(sum_dim(ratio, (-2,), False), -1) - matmul(flipped, x1),
    )
