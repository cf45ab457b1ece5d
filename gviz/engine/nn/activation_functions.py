"""Softmax and its kin as functions that choose a dim if none is given."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gviz.autograd.row import TENSORS as call
from gviz.numbers.words import warn

if TYPE_CHECKING:
    Tensor = Any  # whose methods the table gives

__all__ = ["gumbel_softmax", "log_softmax", "softmax", "softmin"]


# ------------------------------------------------------------------ softmax
def choosing(name: str, row: str) -> Any:
    """Return the function of a row that gives shares along a dim; one that was not given is chosen, with PyTorch's warning."""

    def apply(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None) -> Tensor:
        if dim is None:
            warn(f"Implicit dimension choice for {name} has been deprecated. Change the call to include dim=X as an argument.")
            dim = 0 if input.ndim in (0, 1, 3) else 1
        input = -input if name == "softmin" else input
        return call[row](input if dtype is None else input.to(dtype), dim)

    return apply

softmax, softmin = choosing("softmax", "softmax_row"), choosing("softmin", "softmax_row")
log_softmax = choosing("log_softmax", "log_softmax_row")

def gumbel_softmax(logits: Tensor, tau: float = 1, hard: bool = False, eps: float = 1e-10, dim: int = -1) -> Tensor:
    """Return the :func:`softmax` with Gumbel noise; if ``hard``, a one at the largest, with the gradient of the soft one."""
    if eps != 1e-10:
        warn("`eps` parameter is deprecated and has no effect.")
    noise = call["zeros_like"](logits.detach())
    soft = ((logits + -noise.exponential_().log()) / tau).softmax(dim)
    if not hard:
        return soft
    one = noise.zero_().scatter_(dim, soft.max(dim, keepdim=True)[1], 1.0)
    return one - soft.detach() + soft
