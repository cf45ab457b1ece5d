"""``torch.autograd``: backward, grad, Function, grad modes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gviz.autograd import modes as grad_mode
from gviz.autograd.anomaly import detect_anomaly, set_detect_anomaly
from gviz.autograd.modes import enable_grad, inference_mode, mode, no_grad, set_grad_enabled
from gviz.autograd.requests import backward, grad
from gviz.autograd.tensor import Tensor
from gviz.engine.autograd.function import Function
from gviz.engine.autograd.gradcheck import gradcheck, gradgradcheck
from gviz.numbers.classes import type_text
from gviz.numbers.words import absent, refuse

__all__ = [
    "Function", "Variable", "backward", "detect_anomaly", "enable_grad", "forward_ad", "function", "functional", "grad",
    "grad_mode",
    "gradcheck", "gradgradcheck", "graph", "inference_mode", "no_grad", "set_detect_anomaly", "set_grad_enabled",
]  # fmt: skip


class VariableMeta(type):
    """What lets every tensor be a Variable."""

    def __instancecheck__(cls, other: object) -> bool:
        return isinstance(other, Tensor)


class ExecutionEngine:
    """What runs backward passes."""

    @staticmethod
    def queue_callback(callback: Callable[[], object]) -> None:
        """Call a function at the end of the running backward pass. RuntimeError: none is running."""
        refuse(mode.running is None, "Final callbacks can only be installed during backward pass.")
        mode.running.callbacks.append(callback)


class Variable(metaclass=VariableMeta):
    """What old programs wrap tensors in: a call gives a leaf on the same memory."""

    _execution_engine = ExecutionEngine()

    def __new__(cls, data: Any, requires_grad: bool = False, volatile: bool = False) -> Any:
        """Return the leaf, which wants a gradient if it is asked for."""
        refuse(not isinstance(data, Tensor), f"Variable data has to be a tensor, but got {type_text(data)}", TypeError)
        return data.detach().requires_grad_(requires_grad)


__getattr__ = absent("torch.autograd", "forward_ad", "function", "functional", "graph", "profiler")
