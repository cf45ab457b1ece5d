"""Notices where a script calls ``backward()``, on what, and which names its tensors have at that moment."""

from __future__ import annotations

import functools
import os
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

from gviz.sources.script_names import shallow

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from types import FrameType, ModuleType

__all__ = ["BackwardCall", "BackwardWatch"]

GVIZ = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep


@dataclass(frozen=True)
class BackwardCall:
    """One call of ``backward()``.

    Args:
        tensors: what it was called on; several for ``autograd.backward([a, b])``.
        line: the script's line that the call came from; None where no line of the script was running.
        names: the script's globals at that moment.
        local_names: the local variables of the function that called, if it was one.
    """

    tensors: tuple[Any, ...]
    line: int | None
    names: Mapping[str, Any]
    local_names: Mapping[str, Any]


class BackwardWatch:
    """For the time of a ``with`` block, remembers the last call of ``backward()``.

    ``Tensor.backward`` and ``autograd.backward`` are replaced for that time, and put back: the engine needs to know
    nothing of it, and PyTorch's serves as well as gviz's own.

    Args:
        engine: the module that the script knows as torch.
        script: the script's file, as its code has it.
        namespace: the script's globals.
    """

    def __init__(self, engine: ModuleType, script: str, namespace: Mapping[str, Any]) -> None:
        self.engine: Any = engine
        self.script = script
        self.namespace = namespace
        self.last: BackwardCall | None = None
        self.running = False

    def __enter__(self) -> Self:
        """Begin to watch."""
        self.method = self.engine.Tensor.backward
        self.function = self.engine.autograd.backward
        self.engine.Tensor.backward = self._watched(self.method)
        self.engine.autograd.backward = self._watched(self.function)
        return self

    def __exit__(self, *_: object) -> None:
        """Put the engine's own functions back."""
        self.engine.Tensor.backward = self.method
        self.engine.autograd.backward = self.function

    def _watched(self, original: Callable[..., Any]) -> Callable[..., Any]:
        """The function, with each call noted that is not made by another backward."""

        @functools.wraps(original)
        def backward(*args: Any, **kwargs: Any) -> Any:
            if self.running:
                return original(*args, **kwargs)
            self._note(args[0] if args else kwargs.get("tensors"))
            self.running = True
            try:
                return original(*args, **kwargs)
            finally:
                self.running = False

        return backward

    def _note(self, given: Any) -> None:
        """Remember the call, before it is made: it may raise, and what it was called on is still the root."""
        tensors = tuple(given) if isinstance(given, list | tuple) else (given,)
        kind = self.engine.Tensor
        if not tensors or not all(issubclass(type(tensor), kind) for tensor in tensors):
            return  # the engine's own error tells what is wrong
        caller = _outside(sys._getframe(2))  # noqa: SLF001 - inspect.currentframe costs a large import and does just this
        frame: FrameType | None = caller
        while frame is not None and frame.f_code.co_filename != self.script:
            frame = frame.f_back
        local = caller.f_locals if caller is not None and caller.f_locals is not caller.f_globals else {}
        self.last = BackwardCall(tensors, frame.f_lineno if frame else None, shallow(self.namespace), dict(local))


def _outside(frame: FrameType | None) -> FrameType | None:
    """The innermost frame that is not gviz's own."""
    while frame is not None and frame.f_code.co_filename.startswith(GVIZ):
        frame = frame.f_back
    return frame
