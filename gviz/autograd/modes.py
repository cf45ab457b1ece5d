"""Whether operations are recorded: the grad mode, inference mode, and PyTorch's context managers that change them."""

from __future__ import annotations

import functools
import inspect
import warnings
from collections.abc import Callable, Sequence
from copy import copy
from typing import Any

__all__ = [
    "enable_grad", "inference_mode", "is_anomaly_check_nan_enabled", "is_anomaly_enabled", "is_grad_enabled",
    "is_inference_mode_enabled", "mode", "no_grad", "set_grad_enabled",
]  # fmt: skip


class Mode:
    """The state that decides what an operation records; there is one for the whole process.

    Slots:
        recording: whether operations are recorded. In inference mode none are, whatever ``grad_enabled`` is.
        grad_enabled: what the program has set, and ``torch.is_grad_enabled()`` returns.
        inference: whether results are inference tensors.
        formula: whether a derivative is being recorded; then a number in it is PyTorch's scalar overload
        (``MulBackward1``).
        running: the backward pass that is running, None outside of one.
        anomaly: "nan" if backward looks for NaN, "lines" if it only names the forward line of an error, else "".
        keep: whether a backward pass leaves what the nodes have saved, whatever it was asked: the examples of a
        ``vmap`` share the graph behind them.
        node_callbacks: functions that are called with each new node, what it was given, and what it has made.
        writing: a function that is called with each tensor before it is written in place, or None.
    """

    __slots__ = (
        "anomaly", "formula", "grad_enabled", "inference", "keep", "node_callbacks", "recording", "running", "writing",
    )  # fmt: skip

    def __init__(self) -> None:
        self.recording = self.grad_enabled = True
        self.inference = self.formula = self.keep = False
        self.running: Any = None
        self.writing: Callable[[Any], None] | None = None
        self.anomaly = ""
        self.node_callbacks: tuple[Callable[[Any, Sequence[Any], Sequence[Any]], None], ...] = ()


mode = Mode()


class GradMode:
    """A context manager, and a decorator, that sets the grad mode and puts it back."""

    on = True
    inference: bool | None = None

    def __enter__(self) -> None:
        self.before = mode.recording, mode.grad_enabled, mode.inference
        mode.inference = mode.inference if self.inference is None else self.inference
        mode.recording, mode.grad_enabled = self.on and not mode.inference, self.on

    def __exit__(self, *_: object) -> None:
        mode.recording, mode.grad_enabled, mode.inference = self.before

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return the function so that each call runs in this mode; a generator, between one value and the next.

        Each call enters a copy of this manager: a decorated function may call itself.
        """
        if inspect.isclass(function):
            warnings.warn(
                "Decorating classes is deprecated and will be disabled in future versions. You should only decorate "
                "functions or methods. To preserve the current behavior of class decoration, you can directly decorate "
                "the `__init__` method and nothing else.",
                FutureWarning,
                stacklevel=2,
            )

        @functools.wraps(function)
        def run(*args: object, **kwargs: object) -> Any:
            with copy(self):
                return function(*args, **kwargs)

        @functools.wraps(function)
        def generate(*args: object, **kwargs: object) -> Any:
            inner = function(*args, **kwargs)
            step: Any = inner.send
            values: tuple[Any, ...] = (None,)
            while True:
                try:
                    with copy(self):
                        value = step(*values)
                except StopIteration as end:
                    return end.value
                try:
                    step, values = inner.send, ((yield value),)
                except BaseException as error:  # noqa: BLE001 - the generator handles it
                    step, values = inner.throw, (error,)

        return generate if inspect.isgeneratorfunction(function) else run


class no_grad(GradMode):
    """Operations in the block are not recorded; their results require no gradient."""

    on = False
    before = (False, False, False)  # what a block that was never entered puts back

    def __new__(cls, function: Callable[..., Any] | None = None) -> Any:
        """``@no_grad`` works without brackets too."""
        manager = super().__new__(cls)
        return manager if function is None else manager(function)


class enable_grad(no_grad):
    """Operations in the block are recorded, whatever the mode outside."""

    on = True


class inference_mode(GradMode):
    """Like :class:`no_grad`, and tensors made in the block are inference tensors; with False the block does nothing."""

    def __new__(cls, mode: Any = True) -> Any:
        """``@inference_mode`` works without brackets too."""
        manager = super().__new__(cls)
        manager.on, manager.inference = not mode, bool(mode)
        return manager if isinstance(mode, bool) else manager(mode)


class set_grad_enabled(GradMode):
    """Set the grad mode at once; as a context manager, put it back at the end of the block."""

    def __init__(self, mode: object) -> None:
        self.on = bool(mode)
        super().__enter__()

    def __enter__(self) -> None:
        """The mode was set when this was made."""

    def __repr__(self) -> str:
        return f"torch.autograd.grad_mode.set_grad_enabled(mode={self.on})"

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """As a decorator, the mode is set only while the function runs."""
        self.__exit__()
        return GradMode.__call__((enable_grad if self.on else no_grad)(), function)


def is_grad_enabled() -> bool:
    """Return whether the grad mode is on."""
    return mode.grad_enabled


def is_inference_mode_enabled() -> bool:
    """Return whether the program is inside :class:`inference_mode`."""
    return mode.inference


def is_anomaly_enabled() -> bool:
    """Return whether anomaly mode is on."""
    return bool(mode.anomaly)


def is_anomaly_check_nan_enabled() -> bool:
    """Return whether anomaly mode looks for NaN when it is on."""
    return mode.anomaly in ("", "nan")


for manager_class in (no_grad, enable_grad, inference_mode, set_grad_enabled):
    manager_class.__module__ = "torch.autograd.grad_mode"
