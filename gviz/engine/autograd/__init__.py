"""``torch.autograd``: backward, grad, Function, grad modes."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from gviz.engine.modes import enable_grad, inference_mode, no_grad, set_grad_enabled
from gviz.engine.requests import backward, grad

if TYPE_CHECKING:
    from gviz.engine.tensor import Tensor

__all__ = [
    "Function",
    "Variable",
    "backward",
    "enable_grad",
    "function",
    "functional",
    "grad",
    "graph",
    "inference_mode",
    "no_grad",
    "set_grad_enabled",
]


def Variable(data: Tensor, requires_grad: bool = False, volatile: bool = False) -> Tensor:
    """The tensor itself on its memory, as old programs wrap it."""
    made = data.detach()
    if requires_grad:
        made.requires_grad_()
    return made


LATER = {
    "Function": "function", "detect_anomaly": "watch", "set_detect_anomaly": "watch", "gradcheck": "differences",
    "gradgradcheck": "differences",
}  # fmt: skip
"""What few programs use: loaded when it is first named, from that module."""


def __getattr__(name: str) -> Any:
    """Load what few programs use when it is first named."""
    if name in LATER:
        found = getattr(importlib.import_module(f"gviz.engine.autograd.{LATER[name]}"), name)
        globals()[name] = found
        return found
    if name == "grad_mode":
        return importlib.import_module("gviz.engine.modes")
    if name in ("function", "functional", "graph"):
        return importlib.import_module(f"gviz.engine.autograd.{name}")
    raise AttributeError(f"module 'torch.autograd' has no attribute '{name}'")
