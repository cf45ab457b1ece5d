"""``torch.autograd.forward_ad``: tangents, which here are found by going backward twice.

The numbers are PyTorch's. What is computed from a dual tensor has a graph here, which it needs for its tangent.

Source: https://docs.pytorch.org/docs/2.13/autograd.html#forward-mode-automatic-differentiation
"""

from __future__ import annotations

from typing import Any, NamedTuple

from gviz.autograd.modes import enable_grad
from gviz.autograd.tensor import Tensor
from gviz.engine.autograd.function import LEVELS
from gviz.engine.func import outside, slopes_of
from gviz.numbers.words import absent, refuse


class UnpackedDualTensor(NamedTuple):
    """A tensor, and how much it changes along the tangents."""

    primal: Tensor
    tangent: Tensor | None


class dual_level:
    """A block in which dual tensors live."""

    def __enter__(self) -> int:
        return enter_dual_level()

    def __exit__(self, *_: object) -> None:
        exit_dual_level()


def enter_dual_level() -> int:
    """Open a level; return its number."""
    refuse(LEVELS, "Nested forward mode AD is not supported at the moment")
    LEVELS.append([])
    return 0


def exit_dual_level(*, level: int | None = None) -> None:
    """Close the level, and forget its tangents."""
    LEVELS.pop()


def make_dual(tensor: Tensor, tangent: Tensor, *, level: int | None = None) -> Any:
    """Return a tensor that has a tangent."""
    refuse(
        not LEVELS,
        "Trying to create a dual Tensor for forward AD but no level exists, make sure to enter_dual_level() first.",
    )
    refuse(
        not tensor.is_floating_point(), f"Expected primal to be floating point or complex, but got: {tensor.dtype}",
        ValueError,
    )  # fmt: skip
    refuse(
        tensor.shape != tangent.shape,
        "Trying to set a forward gradient that has a different size than that of the original Tensor, this is not "
        f"supported. Tensor is of size {list(tensor.shape)} while the given forward gradient is of size "
        f"{list(tangent.shape)}.",
    )
    with enable_grad():
        dual = tensor.view_as(tensor) if tensor.requires_grad else tensor.detach().requires_grad_()
    LEVELS[-1].append((dual, tangent))
    return dual


def unpack_dual(tensor: Tensor, *, level: int | None = None) -> UnpackedDualTensor:
    """Return a tensor and its tangent: None if no tangent leads to it, or its level is closed."""
    duals = LEVELS[-1] if LEVELS else []
    own = [tangent for dual, tangent in duals if dual is tensor]
    if own or not duals or not tensor.requires_grad:
        return UnpackedDualTensor(tensor, own[0] if own else None)
    with enable_grad():
        weights = tensor.detach().new_zeros(tensor.shape).requires_grad_()
        slopes = slopes_of(tensor, [dual for dual, _ in duals], weights)
        total: Any = sum((slope * tangent).sum() for slope, (_, tangent) in zip(slopes, duals, strict=True))
        change = slopes_of(total, [weights])[0]
    return UnpackedDualTensor(outside(tensor, [dual for dual, _ in duals]), change.detach())


__getattr__ = absent("torch.autograd.forward_ad")
