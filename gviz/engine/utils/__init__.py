"""``torch.utils``: modules that are loaded when they are named: ``checkpoint``, ``data``."""

from __future__ import annotations

from gviz.autograd.tensor import Tensor
from gviz.numbers.words import absent

__all__ = ["checkpoint", "data", "swap_tensors"]


def swap_tensors(t1: Tensor, t2: Tensor) -> None:
    """Let two tensors be each other: values, gradients and places in graphs, wherever they are named."""
    for slot in Tensor.__slots__:
        if slot == "__weakref__":
            continue
        first, second = getattr(t1, slot, None), getattr(t2, slot, None)
        setattr(t1, slot, second)
        setattr(t2, slot, first)


__getattr__ = absent("torch.utils", "checkpoint", "data")
