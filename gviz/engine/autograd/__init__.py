"""``torch.autograd``: backward, grad, Function, grad modes."""

from __future__ import annotations

import importlib
from typing import Any

from gviz.numbers.classes import type_text
from gviz.autograd.modes import enable_grad, inference_mode, no_grad, set_grad_enabled
from gviz.autograd.requests import backward, grad
from gviz.autograd.tensor import Tensor

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


class VariableMeta(type):
    """What lets every tensor be a Variable."""

    def __instancecheck__(cls, other: Any) -> bool:
        """Whether it is a tensor."""
        return isinstance(other, Tensor)


class Variable(metaclass=VariableMeta):
    """What old programs wrap tensors in: a call gives a tensor on the same memory."""

    def __new__(cls, data: Any, requires_grad: bool = False, volatile: bool = False) -> Any:
        """A leaf, which wants a gradient if it is asked for.

        Raises:
            TypeError: no tensor.
        """
        if not isinstance(data, Tensor):
            raise TypeError(f"Variable data has to be a tensor, but got {type_text(data)}")
        return data.detach().requires_grad_(requires_grad)


LATER = {
    "Function": "function", "detect_anomaly": "anomaly", "set_detect_anomaly": "anomaly", "gradcheck": "gradcheck",
    "gradgradcheck": "gradcheck",
}  # fmt: skip
"""What few programs use: loaded when it is first named, from that module."""


def __getattr__(name: str) -> Any:
    """Load what few programs use when it is first named."""
    if name in LATER:
        found = getattr(
            importlib.import_module(
                "gviz.autograd.anomaly" if LATER[name] == "anomaly" else f"gviz.engine.autograd.{LATER[name]}"
            ),
            name,
        )
        globals()[name] = found
        return found
    if name == "grad_mode":
        return importlib.import_module("gviz.autograd.modes")
    if name in ("function", "functional", "graph"):
        return importlib.import_module(f"gviz.engine.autograd.{name}")
    raise AttributeError(f"module 'torch.autograd' has no attribute '{name}'")
