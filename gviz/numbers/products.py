"""Products of matrices in PyTorch's order: each element is a sum of the fused products of its row and its column, one by one."""

import numpy as np

from gviz.numbers.types import Array


def product(left: Array, right: Array) -> Array:
    """Return the product of two float32 matrices, or of stacks of them, with the last bits that MKL gives it.

    So does numpy's library where the right matrix is as wide as its registers; a narrow one is filled up with zeros.
    """
    (rows, terms), columns = left.shape[-2:], right.shape[-1]
    if left.dtype != np.float32 or columns % 16 == 0 or not 1 < columns < (128 if rows > 1 else 11) or terms > 384:
        return left @ right
    wide = np.pad(right, [(0, 0)] * (right.ndim - 1) + [(0, -columns % 16)])
    return np.ascontiguousarray(((left if rows > 1 else np.repeat(left, 2, axis=-2)) @ wide)[..., :rows, :columns])
