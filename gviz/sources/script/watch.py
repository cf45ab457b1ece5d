"""Notice where a script calls ``backward()``, on what, and which names its tensors have at that moment."""

from __future__ import annotations

import functools
import os
import sys
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import zip_longest
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
        flow: how the gradient is going to flow, if that was asked for.
    """

    tensors: tuple[Any, ...]
    line: int | None
    names: Mapping[str, Any]
    flow: Mapping[Any, Any]


@contextmanager
def backward_watched(engine: Any, script: str, namespace: Mapping[str, Any], *, flows: bool) -> Iterator[list[BackwardCall]]:
    """Let the block run with ``Tensor.backward`` and ``autograd.backward`` watched: the engine needs to know nothing of it.

    Args:
        engine: the module that the script knows as torch; PyTorch's serves as well as gviz's own.
        script: the script's file, as its code has it.
        namespace: the script's globals.
        flows: whether to look at how the gradient flows.

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
                given = args[1] if len(args) > 1 else kwargs.get("gradient", kwargs.get("grad_tensors"))
                flowing = _flow(engine, tensors, given) if flows else {}
                last[:] = [_call(tensors, script, namespace, flowing)]  # before it is made: it may raise
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


def _flow(engine: Any, tensors: tuple[Any, ...], given: Any) -> Mapping[Any, Any]:
    """Return how the gradient is going to flow from these tensors; the factors alone if backward is going to refuse."""
    from gviz.flow import flow

    gradients = tuple(given) if isinstance(given, list | tuple) else (given,)
    runs = all(tensor.numel() == 1 or grad is not None for tensor, grad in zip_longest(tensors, gradients[: len(tensors)]))
    return flow(engine, tensors, gradients, has_gradient=runs)


def _call(tensors: tuple[Any, ...], script: str, namespace: Mapping[str, Any], flow: Mapping[Any, Any]) -> BackwardCall:
    """Return what there is to remember of a call that is about to be made."""
    caller: FrameType | None = sys._getframe(1)  # noqa: SLF001 - inspect.currentframe costs a large import and does just this
    while caller is not None and caller.f_code.co_filename.startswith(GVIZ):
        caller = caller.f_back
    frame = caller
    while frame is not None and frame.f_code.co_filename != script:
        frame = frame.f_back
    local = caller.f_locals if caller is not None and caller.f_locals is not caller.f_globals else {}
    return BackwardCall(tensors, frame.f_lineno if frame else None, {**shallow(namespace), **local}, flow)
