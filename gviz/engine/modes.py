"""Whether operations are recorded: the grad mode, and PyTorch's context managers that change it.

One object holds the state, read by every operation: ``mode.on`` (are operations recorded?), ``mode.said`` (inside inference
mode, where none is: what :func:`is_grad_enabled` says) and ``mode.formula``
(is a derivative being evaluated on tensors? then numbers in it are PyTorch's scalar overloads, see ``op.py``).
"""

from __future__ import annotations

import functools
import inspect
import warnings
from typing import TYPE_CHECKING, Any

import numpy as np

from gviz.engine.data.classes import call_after, type_text

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = [
    "enable_grad", "inference_mode", "is_anomaly_check_nan_enabled", "is_anomaly_enabled", "is_grad_enabled",
    "is_inference_mode_enabled", "mode", "no_grad", "refuse_inference", "set_grad_enabled",
]  # fmt: skip


class Mode:
    """The state that decides what an operation records."""

    __slots__ = ("anomaly", "formula", "inference", "notes", "on", "running", "said")

    def __init__(self) -> None:
        self.on = self.said = True
        self.formula = False
        self.inference = False
        self.running: Any = None  # the nodes of a backward pass: one inside it (in a hook, in a Function) puts gradients aside
        self.anomaly = ""  # "nan" where backward looks for it, "lines" where it only tells of errors
        self.notes: tuple[Callable[[Any], None], ...] = ()  # called with each new node, see autograd/watch.py and packing.py


mode = Mode()


def refuse_inference(tensor: Any) -> None:
    """Refuse to write an inference tensor outside of inference mode."""
    if not mode.inference and tensor._rare is not None and tensor.is_inference():
        raise RuntimeError(
            "Inplace update to inference tensor outside InferenceMode is not allowed.You can make a clone to get a normal "
            "tensor before doing inplace update.See https://github.com/pytorch/rfcs/pull/17 for more details."
        )


DECORATED = (
    "Decorating classes is deprecated and will be disabled in future versions. You should only decorate functions or methods. "
    "To preserve the current behavior of class decoration, you can directly decorate the `__init__` method and nothing else."
)


class GradMode:
    """A context manager, and a decorator, that sets the grad mode and puts it back.

    Source: https://docs.pytorch.org/docs/2.13/autograd.html#locally-disabling-gradient-computation
    """

    on = True
    inference: bool | None = None

    def __enter__(self) -> None:
        """Set the mode; what it was is kept for the end of the block."""
        self.before = (mode.on, mode.said, mode.inference)
        mode.inference = mode.inference if self.inference is None else self.inference
        mode.on, mode.said = self.on and not mode.inference, self.on

    def __exit__(self, *_: object) -> None:
        mode.on, mode.said, mode.inference = self.before

    def __call__(self, orig_func: Callable[..., Any]) -> Callable[..., Any]:
        """The function, run in this mode each time it is called; a generator, between one value and the next."""
        if isinstance(orig_func, type):
            warnings.warn(DECORATED, FutureWarning, stacklevel=2)

        @functools.wraps(orig_func)
        def run(*args: Any, **kwargs: Any) -> Any:
            with self.clone():
                return orig_func(*args, **kwargs)

        @functools.wraps(orig_func)
        def generate(*args: Any, **kwargs: Any) -> Any:
            inner = orig_func(*args, **kwargs)
            step: Any = inner.send
            given: tuple[Any, ...] = (None,)
            while True:
                try:
                    with self.clone():
                        value = step(*given)
                except StopIteration as end:
                    return end.value
                try:
                    step, given = inner.send, ((yield value),)
                except BaseException as error:  # noqa: BLE001 - it is for the generator to see
                    step, given = inner.throw, (error,)

        return generate if inspect.isgeneratorfunction(orig_func) else run

    def clone(self) -> GradMode:
        """A fresh manager of the same mode, so that a decorated function may call itself."""
        return type(self)()


class no_grad(GradMode):
    """Operations in the block are not recorded; their results require no gradient."""

    on = False
    before = (False, False, False)  # what a block that was never entered puts back

    def __new__(cls, function: Callable[..., Any] | None = None) -> Any:
        """``@no_grad`` works without brackets too, as in PyTorch."""
        made = super().__new__(cls)
        return made if function is None else made(function)


class enable_grad(no_grad):
    """Operations in the block are recorded, whatever the mode outside."""

    on = True


class inference_mode(GradMode):
    """Like :class:`no_grad`, and tensors made in the block are inference tensors; with False the block does nothing."""

    def __new__(cls, mode: Any = True) -> Any:
        """``@inference_mode`` works without brackets too."""
        made = super().__new__(cls)
        made.on = not mode
        made.inference = bool(mode)
        return made if isinstance(mode, bool) else made(mode)

    def clone(self) -> GradMode:
        """A fresh manager of the same mode."""
        fresh: GradMode = inference_mode(self.inference)
        return fresh


class set_grad_enabled(GradMode):
    """Set the grad mode at once; as a context manager, put it back at the end of the block."""

    def __init__(self, mode: Any) -> None:
        if not isinstance(mode, bool):
            raise TypeError(f"set_grad_enabled(): argument 'enabled' (position 1) must be bool, not {type_text(mode)}")
        self.on = mode
        super().__enter__()

    def __enter__(self) -> None:
        """The mode was set when this was made."""

    def __repr__(self) -> str:
        """As PyTorch prints it."""
        return f"torch.autograd.grad_mode.set_grad_enabled(mode={self.on})"

    def __call__(self, orig_func: Callable[..., Any]) -> Callable[..., Any]:
        """As a decorator, the mode is set only while the function runs."""
        self.__exit__()
        return super().__call__(orig_func)

    def clone(self) -> GradMode:
        """A fresh manager of the same mode."""
        return set_grad_enabled(self.on)


def silent_numpy() -> Any:
    """A block in which numpy says nothing of nan and infinity, whatever filters of warnings a script sets: PyTorch does not."""
    return np.errstate(divide="ignore", invalid="ignore", over="ignore")


def is_anomaly_enabled() -> bool:
    """Whether backward keeps watch, see :func:`~gviz.engine.autograd.watch.set_detect_anomaly`."""
    return bool(mode.anomaly)


def is_anomaly_check_nan_enabled() -> bool:
    """Whether it looks for NaN when it does."""
    return mode.anomaly in ("", "nan")


def is_grad_enabled() -> bool:
    """Whether operations are recorded now."""
    return mode.said if mode.inference else mode.on


def is_inference_mode_enabled() -> bool:
    """Whether the program is inside :class:`inference_mode`."""
    return mode.inference


for kind in (no_grad, enable_grad, inference_mode, set_grad_enabled):
    kind.__module__ = "torch.autograd.grad_mode"
call_after("_DecoratorContextManager", GradMode)
call_after("_NoParamDecoratorContextManager", no_grad)
