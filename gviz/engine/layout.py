"""How results lie in memory where an operand is not contiguous: in the order of dims that PyTorch computes from the operands.

Tensors whose arrays are not contiguous carry a mark (``Rare.laid``), so that all others need not be looked at: a view gets it
when it is made, a result from its operands.
"""

from __future__ import annotations

from itertools import zip_longest
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.lib.stride_tricks import as_strided

from gviz.engine.data.shapes import check_written

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["ELEMENTWISE", "arranged", "is_dense", "is_laid", "laid_like", "mark"]

ELEMENTWISE = frozenset({
    "add", "sub", "mul", "div", "add_alpha", "sub_alpha", "rsub", "pow_tensor", "maximum", "minimum", "clamp_tensor", "where",
    "equal", "not_equal", "less", "less_equal", "greater", "greater_equal", "logical_and", "logical_or", "logical_xor",
    "div_mode", "floor_divide", "remainder", "fmod", "clamp_min_tensor", "clamp_max_tensor", "atan2", "hypot", "nextafter",
    "logaddexp", "logaddexp2", "xlogy", "copysign", "ldexp", "heaviside", "fmax", "fmin", "lerp_scalar", "lerp", "addcmul",
    "addcdiv", "igamma", "igammac", "special_xlog1py", "isclose",
})  # fmt: skip
"""Rows of several tensors that go element by element."""


def is_laid(values: Iterable[Any]) -> bool:
    """Whether a tensor among arguments, or in a list among them, is marked."""
    return any(
        is_laid(value) if value.__class__ in (list, tuple) else getattr(getattr(value, "_rare", None), "laid", False)
        for value in values
    )


def mark(tensor: Any) -> Any:
    """Mark a tensor whose array is not contiguous; the tensor."""
    if not tensor._array.flags.c_contiguous:
        tensor.rare().laid = True
    return tensor


def arranged(array: Any, operands: Iterable[Any]) -> Any:
    """What was computed element by element, in the layout that PyTorch's TensorIterator gives it.

    Source: ``TensorIteratorBase::reorder_dimensions`` and ``compute_strides`` in PyTorch's ``TensorIterator.cpp``.
    """
    full = array.shape
    steps = [
        [step if size == whole else 0 for size, step, whole in zip_longest(a.shape[::-1], a.strides[::-1], full[::-1])][::-1]
        for a in operands
        if isinstance(a, np.ndarray)
    ]
    order = list(range(array.ndim))[::-1]  # from the innermost dim outwards

    def outer(one: int, other: int) -> int:
        """1 where the first dim lies further out than the other, -1 where further in, 0 where nothing tells."""
        for step in steps:
            if step[one] and step[other]:
                if step[one] != step[other]:
                    return 1 if step[one] > step[other] else -1
                if full[one] > full[other]:
                    return 1
        return 0

    for i in range(1, len(order)):
        at = i
        for j in range(i - 1, -1, -1):
            found = outer(order[j], order[at])
            if found > 0:
                order[j], order[at] = order[at], order[j]
                at = j
            elif found < 0:
                break
    strides, step = [0] * array.ndim, array.itemsize
    for dim in order:
        strides[dim], step = step, step * full[dim]
    if array.transpose(order[::-1]).flags.c_contiguous:  # but for dims of size one
        return array if list(array.strides) == strides else as_strided(array, full, strides)
    made = as_strided(np.empty(array.size, array.dtype), full, strides)
    made[...] = array
    return made


def is_dense(array: Any) -> bool:
    """Whether an array, in some order of its dims, fills its memory without gaps."""
    step = array.itemsize
    for stride, size in sorted((s, n) for s, n in zip(array.strides, array.shape, strict=True) if n != 1):
        if stride != step:
            return False
        step *= size
    return True


def laid_like(leaf: Any, grad: Any) -> Any:
    """A leaf's first gradient, in the leaf's own layout, contiguous where that has gaps."""
    like = grad if grad.strides == leaf._array.strides else leaf._array  # this counts where the leaf's data were exchanged
    check_written(like.shape, grad.shape)
    made = np.empty_like(like, leaf._array.dtype, order="K" if is_dense(like) else "C")
    made[...] = grad
    return mark(type(leaf).from_engine(made))
