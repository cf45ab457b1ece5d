"""Notice where a script calls ``backward()``, on what, and which names its tensors have at that moment."""

from __future__ import annotations

import functools
import os
import sys
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gviz.sources.script.names import shallow

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from types import FrameType

__all__ = ["BackwardCall", "backward_watched"]

GVIZ = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))) + os.sep


@dataclass(frozen=True)
class BackwardCall:
    """One call of ``backward()``.

    Args:
        tensors: what it was called on; several for ``autograd.backward([a, b])``.
        line: the script's line that the call came from; None if no line of the script was running.
        names: the script's globals at that moment, and the local variables of the function that called.
    """

    tensors: tuple[Any, ...]
    line: int | None
    names: Mapping[str, Any]


@contextmanager
def backward_watched(engine: Any, script: str, namespace: Mapping[str, Any]) -> Iterator[list[BackwardCall]]:
    """Let the block run with ``Tensor.backward`` and ``autograd.backward`` watched: the engine needs to know nothing of it.

    Args:
        engine: the module that the script knows as torch; PyTorch's serves as well as gviz's own.
        script: the script's file, as its code has it.
        namespace: the script's globals.

    Yields:
        A list that holds the last call, once there is one.
    """
    last: list[BackwardCall] = []
    running = False

    def watched(original: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(original)
        def backward(*args: Any, **kwargs: Any) -> Any:
            nonlocal running
            if running:  # called by another backward
                return original(*args, **kwargs)
            roots = args[0] if args else kwargs.get("tensors")
            tensors = tuple(roots) if isinstance(roots, list | tuple) else (roots,)
            is_right = all(issubclass(type(tensor), engine.Tensor) for tensor in tensors)  # else the engine says what is wrong
            if tensors and is_right:
                last[:] = [_call(tensors, script, namespace)]  # before it is made: it may raise
            running = True
            try:
                return original(*args, **kwargs)
            finally:
                running = False

        return backward

    method, function = engine.Tensor.backward, engine.autograd.backward
    engine.Tensor.backward, engine.autograd.backward = watched(method), watched(function)
    try:
        yield last
    finally:
        engine.Tensor.backward, engine.autograd.backward = method, function


def _call(tensors: tuple[Any, ...], script: str, namespace: Mapping[str, Any]) -> BackwardCall:
    """Return what there is to remember of a call that is about to be made."""
    caller: FrameType | None = sys._getframe(1)  # noqa: SLF001 - inspect.currentframe costs a large import and does just this
    while caller is not None and caller.f_code.co_filename.startswith(GVIZ):
        caller = caller.f_back
    frame = caller
    while frame is not None and frame.f_code.co_filename != script:
        frame = frame.f_back
    local = caller.f_locals if caller is not None and caller.f_locals is not caller.f_globals else {}
    return BackwardCall(tensors, frame.f_lineno if frame else None, {**shallow(namespace), **local})
