"""The first tensor of a program that is not finite, forward and backward."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from gviz.sources.options import Note

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

__all__ = ["not_finite"]


def not_finite(tensors: Mapping[str, Any], expressions: Mapping[str, str], ways: str = "") -> Iterator[Note]:
    """Yield which tensor became NaN or infinite first, and for which one the gradient is.

    Args:
        tensors: by name, in the order of the program.
        expressions: what some of the names stand for.
        ways: what tells more of a gradient.
    """
    for name, tensor in tensors.items():
        number = _infinite_in(tensor)
        if number is not None:
            made = f" = {expressions[name]}" if name in expressions else ""
            yield Note(f"{name}{made} is {number}: the first tensor that is not finite", "warning")
            break
    for name, tensor in tensors.items():
        grad = tensor.grad if tensor.is_leaf or tensor.retains_grad else None
        number = None if grad is None else _infinite_in(grad)
        if number is not None:
            yield Note("; ".join(filter(None, [f"the gradient of {name} is {number}", ways])), "warning")
            break


def _infinite_in(tensor: Any) -> str | None:
    """Return ``NaN``, ``inf`` or ``-inf`` if the tensor has one such element, else None."""
    if "float" not in str(tensor.dtype) or not tensor.numel():
        return None
    ends = tensor.detach().max().item(), tensor.detach().min().item()  # both are NaN if there is one
    return next((str(end).replace("nan", "NaN") for end in ends if not math.isfinite(end)), None)
