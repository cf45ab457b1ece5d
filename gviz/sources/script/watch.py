"""Notice where a script calls ``backward()`` and ``make_dot()``, on what, and which names its tensors have at that moment."""

from __future__ import annotations

import functools
import math
import sys
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import replace
from itertools import zip_longest
from types import FrameType
from typing import Any

from gviz.graphs import Gradient, Moment, Place
from gviz.graphs.numbers import FEW_ELEMENTS, Numbers
from gviz.records import record
from gviz.sources.options import Note, SourceOptions
from gviz.sources.run import Pass
from gviz.sources.script.names import named_tensors, shallow
from gviz.sources.script.process import EngineFinder
from gviz.sources.script.program import GVIZ, Script
from gviz.trace import Trace
from gviz.trace.gradients import Known, recall, remember
from gviz.walk import MOST_FLOWING, NodeFlow, NodeLike, bytes_kept, gradient, graph_nodes, numbers

NOT_RETAINED = (
    "where backward() is called, no tensor that requires a gradient has that name; "
    "call its retain_grad() where it is made"
)
MEASURED = 100
"""Calls of backward, the first ones, at which what the operations keep is measured, unless costs are what is asked
for."""


@record
class Call:
    """A call of ``backward()`` or ``make_dot()``, with the tensors of that moment.

    Args:
        tensors: what it was called on; several for ``autograd.backward([a, b])``.
        names: the script's globals then, and the local variables of the function that called.
        about: what happened.
    """

    tensors: tuple[Any, ...]
    names: Mapping[str, Any]
    about: Pass


class Calls:
    """The calls of a script that a picture may be of: each is noted before it is made, since it may raise, and what it has left.

    Args:
        script: whose code is the script's.
        engine: the module that the script knows as torch; PyTorch's serves as well as gviz's own.
        namespace: the script's globals.
        options: what is asked for of the gradients on their way, and of what the operations cost.
        after: called after each backward; it may end the run.
        trace: what counts the runs of lines, if they are asked for.
    """

    def __init__(
        self,
        script: Script,
        engine: Any,
        namespace: Mapping[str, Any],
        options: SourceOptions,
        *,
        after: Callable[[], None],
        trace: Trace | None = None,
    ) -> None:
        self.script, self.engine, self.namespace, self.options = script, engine, namespace, options
        self.after, self.trace = after, trace
        self.last: dict[str, Call] = {}
        """The last call of each function by its name, once there is one, that raises or does not. For a diagnosis, ``nan``
        is the first of the last calls that all have left something that is not finite."""
        self.gone: Mapping[str, Any] = {}
        """The leaves that the function had which called ``autograd.grad()`` last: their graph may outlive it."""
        self.passes: Known[Pass] = {}  # the last pass through the graph of each root, as long as that lives
        self.is_running, self.count, self.earlier = False, 0, 0
        self.measured = math.inf if options.costs else MEASURED if options.kept else 0
        self.moments: dict[int, Moment] = {}  # of the last call
        self.retained: set[str] = set()  # names of tensors that were told to keep their gradient
        self.numbers: Known[tuple[int, Numbers]] = {}  # of large tensors that nobody has written since

    @property
    def chosen(self) -> Call | None:
        """The call that the picture is of, unless a root is named."""
        return self.last.get("nan") or self.last.get("backward") or self.last.get("make_dot")

    def of(self, roots: Collection[Any]) -> Pass | None:
        """Return the last pass from one of these roots; None if backward was called on none of them."""
        call = self.chosen
        if call is not None and any(root is tensor for root in roots for tensor in call.tensors):
            return call.about
        return next(filter(None, (recall(self.passes, root) for root in roots)), None)

    @contextmanager
    def noted(self, finder: EngineFinder) -> Iterator[None]:
        """Note the calls of the engine's ``backward`` and the finder's ``make_dot`` in the block: they need to know nothing of it."""
        tensor, module = self.engine.Tensor, self.engine.autograd
        method, of_several, asked = tensor.backward, module.backward, module.grad
        tensor.backward, module.backward = self.watched(method), self.watched(of_several)
        module.grad = self.with_leaves_noted(asked)
        finder.watch = lambda make_dot: self.watched(make_dot, "var")
        try:
            yield
        finally:
            tensor.backward, module.backward, module.grad = method, of_several, asked

    def with_leaves_noted(self, asked: Callable[..., Any]) -> Callable[..., Any]:
        """Return ``autograd.grad`` that remembers what its caller calls the leaves that it has."""

        @functools.wraps(asked)
        def grad(*args: Any, **kwargs: Any) -> Any:
            named = {name: one for name, one in _caller_names().items() if type(one) is self.engine.Tensor}
            leaves = {name: one for name, one in named.items() if one.requires_grad and one.is_leaf}
            self.gone = leaves or self.gone
            return asked(*args, **kwargs)

        return grad

    def watched(self, original: Callable[..., Any], argument: str = "tensors") -> Callable[..., Any]:
        """Return a function that is noted before it is called."""

        @functools.wraps(original)
        def function(*args: Any, **kwargs: Any) -> Any:
            if self.is_running:  # called by another backward
                return original(*args, **kwargs)
            roots = args[0] if args else kwargs.get(argument)
            tensors = tuple(roots) if isinstance(roots, list | tuple) else (roots,)
            is_right = all(issubclass(type(tensor), self.engine.Tensor) for tensor in tensors)
            watched, leaves = list[Any](), list[Any]()
            if tensors and is_right:  # else the engine says what is wrong
                self.count += 1
                with self.quiet():
                    watched, leaves = self.note(original.__name__, tensors, args[1:], kwargs)
            run = self.trace.run if self.trace is not None else 0
            self.is_running = True
            try:
                result = original(*args, **kwargs)
            finally:
                self.is_running = False
                with self.quiet():
                    self.left(watched)
            if original.__name__ == "backward":
                self.earlier = run
                with self.quiet():
                    self.passed(leaves)
                self.after()
            return result

        return function

    def quiet(self) -> AbstractContextManager[None]:
        """Let the trace hear nothing of what gviz does itself."""
        return self.trace.quiet() if self.trace is not None else nullcontext()

    def note(
        self, function: str, tensors: tuple[Any, ...], args: tuple[Any, ...], kwargs: Mapping[str, Any]
    ) -> tuple[list[Any], list[Any]]:
        """Note a call that is about to be made.

        Return the tensors whose numbers are of that moment, and the leaves among them.
        """
        nodes = graph_nodes(tensors)
        leaves = [leaf for leaf in nodes.values() if leaf is not None]
        place, names = self.caller()
        named = [value for value in names.values() if issubclass(type(value), self.engine.Tensor)]
        watched = list({id(one): one for one in (*leaves, *named, *self.retain(names), *tensors)}.values())
        moments = {id(one): Moment(self.numbers_of(one), Gradient(None, self.grad_of(one))) for one in watched}
        flow = self.flowing(function, tensors, args, kwargs) if self.options.flow else {}
        kept = {node: bytes_kept(node) for node in nodes} if self.count <= self.measured else None
        about = Pass(function, place, flow, kept, moments, self.earlier, self.count)
        self.last[function] = Call(tensors, names, about)
        for tensor in tensors:
            remember(self.passes, tensor, about)
        self.moments = moments
        return watched, leaves

    def retain(self, names: Mapping[str, Any]) -> list[Any]:
        """Return the tensors that are to keep their gradients, by the names that they have now, once they are told so."""
        asked = named_tensors(names, [self.engine]) if self.options.retain else {}
        tensors = {name: asked[name] for name in self.options.retain if name in asked and asked[name].requires_grad}
        for tensor in tensors.values():
            tensor.retain_grad()
        self.retained |= tensors.keys()
        return list(tensors.values())

    def unretained(self) -> Note | None:
        """Return a warning of the names that no tensor had when it could be told to keep its gradient."""
        unknown = ", ".join(name for name in self.options.retain if name not in self.retained)
        return Note(f"--retain {unknown} not used: {NOT_RETAINED}", "warning") if unknown else None

    def left(self, watched: list[Any]) -> None:
        """Note the gradients that a call has left, be it that it raised."""
        for tensor in watched:
            moment = self.moments[id(tensor)]
            self.moments[id(tensor)] = moment._replace(grad=moment.grad._replace(value=self.grad_of(tensor)))

    def passed(self, leaves: list[Any]) -> None:
        """Note that a backward has come to its end, and to these leaves."""
        if self.trace is not None:
            self.trace.gradients.passed(leaves)
        if self.options.diagnose:
            _keep_first_bad(self.engine, self.last, leaves)

    def grad_of(self, tensor: Any) -> Numbers | None:
        """Return the numbers of a tensor's gradient; None for none."""
        grad = gradient(tensor)
        return None if grad is None else self.numbers_of(grad)

    def numbers_of(self, tensor: Any) -> Numbers:
        """Return the numbers of a tensor; those of a large one are computed when it was written, and not each time."""
        most = self.options.most
        if tensor.numel() <= FEW_ELEMENTS or tensor.is_inference():
            return numbers(tensor, most)
        version, known = tensor._version, recall(self.numbers, tensor)  # noqa: SLF001 - PyTorch's own name
        if known is None or known[0] != version:
            known = version, numbers(tensor, most)
            remember(self.numbers, tensor, known)
        return known[1]

    def flowing(
        self, function: str, tensors: tuple[Any, ...], args: tuple[Any, ...], kwargs: Mapping[str, Any]
    ) -> Mapping[NodeLike, NodeFlow]:
        """Return how the gradient is going to flow; through a graph that is freed already, as it did the last time."""
        flow = _flow(self.engine, tensors, args, kwargs, self.options, is_backward=function == "backward")
        last = self.last.get(function)
        is_again = last is not None and [*map(id, last.tensors)] == [*map(id, tensors)]
        is_freed = last is not None and self.options.jacobians and is_again and len(flow) < len(last.about.flow)
        return last.about.flow if last is not None and is_freed else flow

    def caller(self) -> tuple[Place | None, Mapping[str, Any]]:
        """Return the line of the script that a call comes from, and the names there."""
        _, place = self.script.running()
        return place, {**shallow(self.namespace), **_caller_names()}


def _flow(
    engine: Any,
    tensors: tuple[Any, ...],
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any],
    options: SourceOptions,
    *,
    is_backward: bool,
) -> Mapping[NodeLike, NodeFlow]:
    """Return how the gradient is going to flow; the factors alone if backward is not called, or is going to refuse."""
    from gviz.flow import MOST_TO_DIAGNOSE, flow

    given = args[0] if args else kwargs.get("gradient", kwargs.get("grad_tensors"))
    gradients = tuple(given) if isinstance(given, list | tuple) else (given,)
    pairs = zip_longest(tensors, gradients[: len(tensors)])
    runs = is_backward and all(tensor.numel() == 1 or grad is not None for tensor, grad in pairs)
    return flow(
        engine,
        tensors,
        gradients if runs else (),
        has_gradient=runs,
        jacobians=options.jacobians,
        most=MOST_TO_DIAGNOSE if options.diagnose else MOST_FLOWING,
        elements=options.most,
        all_factors=not options.diagnose,
    )


def _keep_first_bad(engine: Any, last: dict[str, Call], leaves: list[Any]) -> None:
    """Keep the first of the last calls of backward, now one to these leaves, that all left something that is not finite."""
    call = last.get("backward")
    if call is not None and _is_finite(engine, [*call.tensors, *(leaf.grad for leaf in leaves)]):
        last.pop("nan", None)
    elif call is not None:
        last.setdefault("nan", replace(call, about=replace(call.about, is_first_bad=True)))


def _is_finite(engine: Any, found: list[Any]) -> bool:
    """Return whether what a backward started from is finite, and all the gradients that it has left."""
    with engine.no_grad():
        return all(one is None or numbers(one).is_finite for one in found)


def _caller_names() -> Mapping[str, Any]:
    """Return the local variables of the function that gviz was called from; none for those of a module."""
    caller: FrameType | None = sys._getframe(1)  # noqa: SLF001 - inspect.currentframe costs a large import and does just this
    while caller is not None and caller.f_code.co_filename.startswith(GVIZ):
        caller = caller.f_back
    return caller.f_locals if caller is not None and caller.f_locals is not caller.f_globals else {}
