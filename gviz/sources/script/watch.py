"""Notice where a script calls ``backward()`` and ``make_dot()``, on what, and which names its tensors have at that moment."""

from __future__ import annotations

import functools
import math
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from itertools import zip_longest
from types import FrameType
from typing import TYPE_CHECKING, Any

from gviz.sources.options import SourceOptions
from gviz.sources.script.names import graph_nodes, shallow
from gviz.sources.script.process import EngineFinder
from gviz.walk import bytes_kept

if TYPE_CHECKING:
    from gviz.trace import Trace

GVIZ = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))) + os.sep


FEW = 1000
"""Elements of a leaf whose numbers are remembered."""

MEASURED = 100
"""Calls of backward, the first ones, at which what the operations keep is measured, unless costs are what is asked
for."""


@dataclass(frozen=True)
class Call:
    """One call of ``backward()`` or ``make_dot()``.

    Args:
        function: its name.
        tensors: what it was called on; several for ``autograd.backward([a, b])``.
        line: the script's line that the call came from; None if no line of the script was running.
        names: the script's globals at that moment, and the local variables of the function that called.
        flow: how the gradient is going to flow, if that was asked for.
        kept: the bytes that each operation has saved, which backward frees; None if they were not looked at.
        before: the gradients that the leaves had, by the leaf's identity, if that was asked for.
        values: the numbers that they had, by the same: optimizers change them.
        turn: of the last line that had run when the call before this one was made; 0 for the first.
        number: the how manieth call it is.
        is_first_bad: whether it is the first of the last calls that all left something that is not finite.
    """

    function: str
    tensors: tuple[Any, ...]
    line: int | None
    names: Mapping[str, Any]
    flow: Mapping[Any, Any] = field(default_factory=dict)
    kept: Mapping[Any, int] | None = None
    before: Mapping[int, Any] = field(default_factory=dict)
    values: Mapping[int, Any] = field(default_factory=dict)
    turn: int = 0
    number: int = 1
    is_first_bad: bool = False


@contextmanager
def calls_watched(
    engine: Any,
    finder: EngineFinder,
    script: str,
    namespace: Mapping[str, Any],
    options: SourceOptions,
    *,
    after: Callable[[int | None], None],
    trace: Trace | None = None,
) -> Iterator[dict[str, Call]]:
    """Let the block run with ``backward`` of the engine and the finder's ``make_dot`` watched: they need to know nothing of it.

    Args:
        engine: the module that the script knows as torch; PyTorch's serves as well as gviz's own.
        finder: what gives the script its ``make_dot``.
        script: the script's file, as its code has it.
        namespace: the script's globals.
        options: what is asked for of the gradients on their way, and of what the operations cost.
        after: called after each backward, with its line; it may end the run.
        trace: what counts the runs of lines, if they are asked for.

    Yields:
        The last call of each function by its name, once there is one, that raises or does not; of ``grad`` the names
        alone. For a diagnosis, ``nan`` is the first of the last calls that all have left something that is not finite.
    """
    last: dict[str, Call] = {}
    running, count, earlier = False, 0, 0
    quiet = trace.quiet if trace is not None else nullcontext
    measured = math.inf if options.costs else MEASURED if options.kept else 0

    def flowing(
        function: str, tensors: tuple[Any, ...], args: tuple[Any, ...], kwargs: Mapping[str, Any]
    ) -> Mapping[Any, Any]:
        """Return how the gradient is going to flow; through a graph that is freed already, as it did the last time."""
        is_backward = function == "backward"
        flow, known = _flow(engine, tensors, args, kwargs, options, is_backward=is_backward), last.get(function)
        is_again = known is not None and [*map(id, known.tensors)] == [*map(id, tensors)]
        return known.flow if options.jacobians and known and is_again and len(flow) < len(known.flow) else flow

    def note(function: str, tensors: tuple[Any, ...], args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> list[Any]:
        """Note a call that is about to be made; return the leaves that its tensors are made from, if they are looked for."""
        nodes = graph_nodes(tensors) if options.costs or options.kept or options.flow else {}
        leaves = [leaf for leaf in nodes.values() if leaf is not None]
        last[function] = replace(
            _call(function, tensors, script, namespace),
            flow=flowing(function, tensors, args, kwargs) if options.flow else {},
            kept={node: bytes_kept(node) for node in nodes} if count <= measured else None,
            before={id(leaf): leaf.grad.detach().clone() for leaf in leaves if leaf.grad is not None},
            turn=earlier,
            number=count,
            values={id(leaf): leaf.detach().clone() for leaf in leaves if options.diagnose or leaf.numel() <= FEW},
        )
        return leaves

    def watched(original: Callable[..., Any], argument: str = "tensors") -> Callable[..., Any]:
        @functools.wraps(original)
        def function(*args: Any, **kwargs: Any) -> Any:
            nonlocal running, count, earlier
            if running:  # called by another backward
                return original(*args, **kwargs)
            roots = args[0] if args else kwargs.get(argument)
            tensors = tuple(roots) if isinstance(roots, list | tuple) else (roots,)
            leaves: list[Any] = []
            is_right = all(
                issubclass(type(tensor), engine.Tensor) for tensor in tensors
            )  # else the engine says what is wrong
            if tensors and is_right:  # noted before it is made: it may raise
                count += 1
                with quiet():
                    leaves = note(original.__name__, tensors, args[1:], kwargs)
            turn = trace.turn if trace is not None else 0
            running = True
            try:
                result = original(*args, **kwargs)
            finally:
                running = False
            if original.__name__ == "backward":
                earlier = turn
                with quiet():
                    if trace is not None:
                        trace.gradients.passed(leaves)
                    if options.diagnose:
                        _keep_first_bad(engine, last)
                after(last["backward"].line if "backward" in last else None)
            return result

        return function

    module, method, of_several, asked = (
        engine.autograd,
        engine.Tensor.backward,
        engine.autograd.backward,
        engine.autograd.grad,
    )
    engine.Tensor.backward, module.backward, module.grad = (
        watched(method),
        watched(of_several),
        _noted(asked, engine, last),
    )
    finder.watch = lambda make_dot: watched(make_dot, "var")
    try:
        yield last
    finally:
        engine.Tensor.backward, module.backward, module.grad = method, of_several, asked


def _noted(asked: Callable[..., Any], engine: Any, last: dict[str, Call]) -> Callable[..., Any]:
    """Return ``autograd.grad`` that remembers what its caller calls the leaves that it has: their graph may outlive it."""

    @functools.wraps(asked)
    def grad(*args: Any, **kwargs: Any) -> Any:
        local = _caller()[1].items()
        leaves = {name: one for name, one in local if type(one) is engine.Tensor and one.requires_grad and one.is_leaf}
        last.update({"grad": Call("grad", (), None, leaves)} if leaves else {})
        return asked(*args, **kwargs)

    return grad


def _flow(
    engine: Any,
    tensors: tuple[Any, ...],
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any],
    options: SourceOptions,
    *,
    is_backward: bool,
) -> Mapping[Any, Any]:
    """Return how the gradient is going to flow; the factors alone if backward is not called, or is going to refuse."""
    from gviz.flow import MOST, MOST_TO_DIAGNOSE, flow

    given = args[0] if args else kwargs.get("gradient", kwargs.get("grad_tensors"))
    gradients = tuple(given) if isinstance(given, list | tuple) else (given,)
    pairs = zip_longest(tensors, gradients[: len(tensors)])
    runs = is_backward and all(tensor.numel() == 1 or grad is not None for tensor, grad in pairs)
    most = MOST_TO_DIAGNOSE if options.diagnose else MOST
    return flow(engine, tensors, gradients if runs else (), has_gradient=runs, jacobians=options.jacobians, most=most)


def _keep_first_bad(engine: Any, last: dict[str, Call]) -> None:
    """Keep the first of the last calls of backward that all left something that is not finite."""
    if "backward" in last and _is_finite(engine, last["backward"]):
        last.pop("nan", None)
    elif "backward" in last:
        last.setdefault("nan", replace(last["backward"], is_first_bad=True))


def _is_finite(engine: Any, call: Call) -> bool:
    """Return whether what a backward started from is finite, and all the gradients that it has left."""
    found = [*call.tensors, *(leaf.grad for leaf in graph_nodes(call.tensors).values() if leaf is not None)]
    with engine.no_grad():
        return all(one is None or bool(engine.isfinite(one).all()) for one in found)


def _call(function: str, tensors: tuple[Any, ...], script: str, namespace: Mapping[str, Any]) -> Call:
    """Return what there is to remember of a call that is about to be made."""
    frame, local = _caller()
    while frame is not None and frame.f_code.co_filename != script:
        frame = frame.f_back
    return Call(function, tensors, frame.f_lineno if frame else None, {**shallow(namespace), **local})


def _caller() -> tuple[FrameType | None, Mapping[str, Any]]:
    """Return the frame that gviz was called from, and its local variables; none for those of a module."""
    caller: FrameType | None = sys._getframe(1)  # noqa: SLF001 - inspect.currentframe costs a large import and does just this
    while caller is not None and caller.f_code.co_filename.startswith(GVIZ):
        caller = caller.f_back
    return caller, caller.f_locals if caller is not None and caller.f_locals is not caller.f_globals else {}
