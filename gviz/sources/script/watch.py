"""Notice where a script calls ``backward()`` and ``make_dot()``, on what, and which names its tensors have at that moment."""

from __future__ import annotations

import functools
import math
import sys
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from itertools import zip_longest
from traceback import walk_stack, walk_tb
from types import ModuleType
from typing import Any

from gviz.graphs import LEFT_OUT, MADE_LATER, RETURNED, Gradient, Moment, Place, Stop
from gviz.graphs.numbers import Numbers
from gviz.options import SourceOptions
from gviz.sources.derivatives import results_noted
from gviz.sources.notes import Note
from gviz.sources.run import FEW_NODES, FIRST_CALLS, Pass
from gviz.sources.script.hooks import ScriptHooks
from gviz.sources.script.names import named_tensors, shallow
from gviz.sources.script.program import GVIZ, Script
from gviz.trace import Trace
from gviz.trace.facts import ByTensor, listed, recall, remember
from gviz.trace.listening import Listener, Observer
from gviz.trace.versions import Versions
from gviz.walk import (
    MOST_FLOWING,
    NodeFlow,
    NodeLike,
    grad_fn,
    gradient,
    graph_nodes,
    has_own_backward,
    memory_kept,
)

NOT_RETAINED = (
    "where backward() is called, no tensor that requires a gradient has that name; "
    "call its retain_grad() where it is made"
)
MOST_LEAVES = 1000
"""Leaves of earlier calls whose numbers a later call notes; those of more are data, and not parameters."""

FEW_INPUTS = 3
"""Inputs of a call that a remark names."""

MEASURED = 100
"""Calls of backward, the first ones, at which what the operations keep is measured, unless costs are what is asked
for."""

ARGUMENTS = {
    "Tensor.backward": ("tensors", "gradients", "retain_graph", "create_graph", "inputs"),
    "backward": ("tensors", "gradients", "retain_graph", "create_graph", "grad_variables", "inputs"),
    "grad": ("tensors", "inputs", "gradients", "retain_graph", "create_graph"),
    "make_dot": ("tensors",),
}
"""What the arguments of the calls are called here, in their order."""

WORDS = {
    "gradient": "gradients",
    "grad_tensors": "gradients",
    "grad_outputs": "gradients",
    "outputs": "tensors",
    "var": "tensors",
}
"""What PyTorch calls them."""


PASSED = "gviz passed"
"""Under which a node's ``metadata`` has the root of the last backward that has gone through it, and its place."""

OF_ASKED = "nan of the roots that are asked for"
"""Under which name the first bad call on these is kept."""


@dataclass(frozen=True)
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


class Calls(Observer):
    """The calls of a script that a picture may be of.

    Each is noted before it runs, since it may raise; the gradients that it leaves are noted afterwards.

    Args:
        script: whose code is the script's.
        engine: the module that the script knows as torch; PyTorch's serves as well as gviz's own.
        namespace: the script's globals.
        options: what is asked for of the gradients on their way, and of what the operations cost.
        after: called after each backward; it may end the run.
        has_layers: whether the script may have modules.
        trace: what counts the runs of lines, if they are asked for.
        is_read: whether somebody is going to read what is noted; it costs more than the script else.
    """

    def __init__(
        self,
        script: Script,
        engine: Any,
        namespace: Mapping[str, Any],
        options: SourceOptions,
        *,
        after: Callable[[], None],
        has_layers: bool,
        trace: Trace | None = None,
        is_read: bool = True,
    ) -> None:
        self.script, self.engine, self.namespace, self.options = script, engine, namespace, options
        self.after, self.trace = after, trace
        self.last: dict[str, Call] = {}
        """The last call of each function by its name, once there is one, that raises or does not. For a diagnosis, ``nan``
        is the first of the last calls that all have left something that is not finite, of graphs with common leaves;
        OF_ASKED is the first such one of those on the roots that are asked for."""
        self.passes: ByTensor[Pass] = {}  # the last pass through the graph of each root, as long as that lives
        self.leaves: ByTensor[
            bool
        ] = {}  # those that calls came to: a later call is to have their gradients of then, too
        self.roots: dict[str, Any] = {}  # of those that are asked for: what a call was made on last under the name
        self.is_read, self.is_running, self.count, self.earlier = is_read, False, 0, tuple[int, ...]()
        self.measured = math.inf if options.costs else MEASURED if options.kept else 0
        self.moments: dict[int, Moment] = {}  # of the last call
        self.failure: Stop | None = None  # why the last backward failed, if it did
        self.retained: set[str] = set()  # names of tensors that were told to keep their gradient
        self.versions = Versions(engine, self.living)
        self.hooks = ScriptHooks(script, self.numbers_of, has_layers=has_layers)

    @property
    def chosen(self) -> Call | None:
        """The call that the picture is of, unless a root is named."""
        return self.last.get(OF_ASKED) or self.last.get("nan") or self.last.get("backward") or self.last.get("make_dot")

    def of(self, roots: Collection[Any]) -> Pass | None:
        """Return the last pass from one of these roots; None if backward was called on none of them."""
        call = self.chosen
        if call is not None and any(root is tensor for root in roots for tensor in call.tensors):
            return call.about
        return next(filter(None, (recall(self.passes, root) for root in roots)), None)

    def moments_of(self, roots: Collection[Any], names: Mapping[str, Any], about: Pass) -> dict[int, Moment]:
        """Return what the tensors of a graph were when it was recorded, and when backward ran on it.

        Args:
            roots: the tensors that it is below.
            names: the tensors that have a name.
            about: the last pass through it; of function "" if there was none.
        """
        moments, last = dict(about.moments), self.last.get("backward")
        if about.function not in ("backward", "grad") and last is not None:
            nodes, parts = graph_nodes(roots), [node and node.metadata.get(PASSED) for node in map(grad_fn, roots)]
            inside = [one for one in names.values() if one.grad_fn in nodes or any(one is root for root in roots)]
            for one in (*inside, *(leaf for leaf in nodes.values() if leaf is not None)):
                if gradient(one) is not None or self.options.diagnose:
                    grad = last.about.moments.get(id(one), Moment()).grad
                    is_last = grad.value != grad.before  # else the last call has brought it nothing, or has failed
                    of = parts[0] if all(parts) else (last.about.of, last.about.place) if is_last else ("", None)
                    moments[id(one)] = moments.get(id(one), Moment())._replace(
                        grad=Gradient(),
                        remark="",
                        is_of_other=True,
                        grad_of=of[0],
                        grad_at=of[1],
                        is_of_whole=all(parts),
                    )
        moments |= self.versions.moments(roots, names.values(), about.at, moments)
        tensors = (*roots, *names.values())
        order = {id(one): node._sequence_nr() for one in tensors if (node := grad_fn(one)) is not None}  # noqa: SLF001
        end = about.at or max((order[id(root)] for root in roots if id(root) in order), default=math.inf)
        later = {key for key, number in order.items() if number > end}
        records = self.trace.outside.records if self.trace is not None and about.run else {}
        for one in names.values():
            if grad_fn(one) is None and (call := recall(records, one)) is not None and call.run > about.run:
                moments[id(one)] = Moment(remark=MADE_LATER)  # also where one that is gone had its identity then
        return moments | dict.fromkeys(later - about.moments.keys(), Moment(remark=MADE_LATER))

    def failure_of(self, error: BaseException | None) -> Stop | None:
        """Return why a backward has failed; None if Ctrl-C ended it, or what it was called on is no tensor."""
        call = self.last.get("backward")
        if call is None or not isinstance(error, Exception):
            return None
        own, frames = "" if self.script.is_written else self.script.code_file, walk_tb(error.__traceback__)
        inside = [self.script.place(line) for frame, line in frames if frame.f_code.co_filename == own]  # as in a hook
        return Stop(f"{type(error).__name__}: {error}", inside[-1] if inside else call.about.place)

    def failure_in(self, text: str) -> Stop | None:
        """Return why the last backward failed, if the picture is of that call; with its line in the text."""
        one = self.failure if self.chosen is self.last.get("backward") else None
        return one._replace(code=self.script.code_at(one.place, text)) if one and one.place else None

    def attach(self, listener: Listener) -> None:
        """Begin to be told of the calls of the engine's ``backward`` and ``grad``."""
        super().attach(listener)
        module = self.engine.autograd
        for owner, name in ((self.engine.Tensor, "backward"), (module, "backward"), (module, "grad")):
            listener.replace(owner, name, self.wrapper_of(getattr(owner, name)))

    def wrapper_of(self, original: Callable[..., Any]) -> Callable[..., Any]:
        """Return a function that is noted before it is called."""
        name, words = original.__name__, ARGUMENTS.get(original.__qualname__) or ARGUMENTS[original.__name__]

        @functools.wraps(original)
        def function(*args: Any, **kwargs: Any) -> Any:
            if self.is_running or in_transform(self.engine):  # called by another backward
                return original(*args, **kwargs)
            args = tuple(listed(one, self.engine.Tensor) for one in args)
            kwargs = {key: listed(one, self.engine.Tensor) for key, one in kwargs.items()}
            arguments = dict(zip(words, args, strict=False)) | {WORDS.get(key, key): one for key, one in kwargs.items()}
            tensors = as_several(arguments.get("tensors"))
            parts = (*tensors, *(one for one in as_several(arguments.get("gradients")) if one is not None))
            noted_tensors, leaves = list[Any](), list[Any]()
            hearing: AbstractContextManager[None] = nullcontext()
            # of anything but tensors the engine says what is wrong
            if tensors and self.is_read and all(issubclass(type(part), self.engine.Tensor) for part in parts):
                self.count += name != "grad"
                with self.listener.quiet():
                    noted_tensors, leaves, hearing = self.note_call(name, tensors, arguments)
            run = self.runs
            self.is_running, is_complete = True, False
            try:
                with hearing, results_noted() if arguments.get("create_graph") else nullcontext():
                    result, is_complete = original(*args, **kwargs), True
            finally:
                self.is_running = False
                if name == "backward":
                    self.failure = None if is_complete else self.failure_of(sys.exception())
                with self.listener.quiet():
                    self.note_gradients(noted_tensors)
            if name == "backward":
                self.earlier = (*self.earlier, run)[-100:]
                with self.listener.quiet():
                    self.note_end(leaves)
                self.after()
            return result

        return function

    def note_call(
        self, function: str, tensors: tuple[Any, ...], arguments: Mapping[str, Any]
    ) -> tuple[list[Any], list[Any], AbstractContextManager[None]]:
        """Note a call that is about to be made.

        Return the tensors whose numbers are of that moment, the leaves among them, and a block to make the call in.
        """
        nodes = graph_nodes(tensors)
        leaves = [
            *(leaf for leaf in nodes.values() if leaf is not None),
            *(one for one in tensors if one.requires_grad and one.grad_fn is None),  # a root may be one itself
        ]
        for leaf in leaves:
            remember(self.leaves, leaf, fact=True)
        known_leaves = [one for leaf, _ in self.leaves.values() if (one := leaf()) is not None]
        place, names = self.caller()
        # the table may be asked for of an earlier call
        by_name = named_tensors(names, [self.engine], asked=self.options.roots) if self.options.roots else {}
        self.roots |= {
            name: by_name[name] for name in self.options.roots if any(by_name.get(name) is tensor for tensor in tensors)
        }
        tensors_by_name = [one for one in (by_name or names).values() if issubclass(type(one), self.engine.Tensor)]
        noted_tensors = list(
            {
                id(one): one
                for one in (
                    *(known_leaves if len(known_leaves) <= MOST_LEAVES else leaves),
                    *tensors_by_name,
                    *self.retain(names),
                    *tensors,
                )
            }.values()
        )
        moments = {
            id(one): Moment(self.numbers_of(one), Gradient(None, self.grad_of(one)), bool(one.requires_grad))
            for one in noted_tensors
        }
        inputs = as_several(arguments["inputs"]) if arguments.get("inputs") is not None else ()
        for leaf, remark in self.remarks(function, place, names, inputs, leaves) if inputs else ():
            moments[leaf] = moments[leaf]._replace(remark=remark)
        flow, hearing = self.flowing(function, tensors, arguments, nodes)
        memory = (
            {node: memory_kept(node) for node in nodes}
            if self.count <= self.measured and not self.hooks.has_checkpoint
            else None
        )
        is_asked = self.options.flow or self.hooks.are_there
        own = flow if is_asked or self.has_shares else {}
        late_flow = (lambda: flow) if flow and not is_asked and self.is_small(nodes) else None
        about = Pass(
            function,
            place,
            own,
            late_flow,
            memory,
            moments,
            self.earlier,
            self.runs,
            self.count,
            at=self.versions.at_pass(),
            names=by_name,
            of=next((name for name, one in (by_name or names).items() if one is tensors[0]), ""),
            chain=self.trace.frames.chain() if self.trace is not None else (),
        )
        for node in nodes if self.options.diagnose and by_name and function == "backward" else ():
            node.metadata[PASSED] = about.of, place
        self.last[function] = Call(tensors, names, about)
        for tensor in tensors:
            earlier = recall(self.passes, tensor)
            if function == "backward" or earlier is None or earlier.function != "backward":
                remember(self.passes, tensor, about)
        self.moments = moments
        return noted_tensors, leaves, hearing

    @staticmethod
    def remarks(
        function: str, place: Place | None, names: Mapping[str, Any], inputs: Sequence[Any], leaves: list[Any]
    ) -> Iterator[tuple[int, str]]:
        """Yield a remark for each leaf that a call with ``inputs`` does not add to, with its identity."""
        names_by_id = {id(one): name for name, one in names.items()}
        more = ", …" * (len(inputs) > FEW_INPUTS)
        words = ", ".join(names_by_id.get(id(one), "…") for one in inputs[:FEW_INPUTS]) + more
        call = f"backward(inputs=[{words}])" if function == "backward" else f"autograd.grad(…, [{words}])"
        where = f", {place}" if place is not None else ""
        ids = {id(one) for one in inputs}
        for leaf in leaves:
            if id(leaf) not in ids:
                yield id(leaf), f"{LEFT_OUT}{call}{where}"
            elif function == "grad":
                yield id(leaf), f"{RETURNED}autograd.grad{where}"

    def retain(self, names: Mapping[str, Any]) -> list[Any]:
        """Tell the tensors that have a name of ``--retain`` now to keep their gradients, and return them."""
        candidates = named_tensors(names, [self.engine], asked=self.options.retain) if self.options.retain else {}
        tensors = {
            name: candidates[name]
            for name in self.options.retain
            if name in candidates and candidates[name].requires_grad
        }
        for tensor in tensors.values():
            tensor.retain_grad()
        self.retained |= tensors.keys()
        return list(tensors.values())

    def unretained(self) -> Note | None:
        """Return a warning of the names that no tensor had when it could be told to keep its gradient."""
        unknown = ", ".join(name for name in self.options.retain if name not in self.retained)
        return Note(f"--retain {unknown} not used: {NOT_RETAINED}", "warning") if unknown else None

    def note_gradients(self, noted_tensors: list[Any]) -> None:
        """Note the gradients that a call has left, be it that it raised."""
        for tensor in noted_tensors:
            moment, hooks = self.moments[id(tensor)], tuple(self.hooks.of_leaves.pop(id(tensor), ()))
            self.moments[id(tensor)] = moment._replace(
                grad=Gradient(self.grad_of(tensor), moment.grad.before, hooks=hooks)
            )
        self.hooks.of_leaves.clear()

    def note_end(self, leaves: list[Any]) -> None:
        """Note that a backward has come to its end, and to these leaves."""
        call = self.last.get("backward")
        if self.options.diagnose and call is not None:
            asked = [id(call.names.get(name)) for name in self.options.roots]
            for key in ("nan", OF_ASKED)[: 1 + (asked == [*map(id, call.tensors)])]:
                self.keep_first_bad(leaves, key)
        if self.trace is not None:
            chain = self.last["backward"].about.chain if self.last else ()
            self.trace.gradients.note_backward(leaves, chain, self.numbers_of, is_finite="nan" not in self.last)

    def keep_first_bad(self, leaves: list[Any], key: str) -> None:
        """Keep the first of the calls of backward, up to the last one, that all left nan or inf.

        One whose leaves are others than those of the last call, all finite still, has brought nothing to it; and a call
        with other leaves alone, between two such ones, is not the end of it.

        Args:
            leaves: those that the last call came to.
            key: that of the one to keep; it is of the last call's roots, or of all.
        """
        call, first = self.last["backward"], self.last.get(f"{key}, since")
        older = [leaf for leaf in graph_nodes(first.tensors).values() if leaf is not None] if first is not None else []
        is_other = {*map(id, older)}.isdisjoint(map(id, leaves))
        if self.are_finite([*call.tensors, *(leaf.grad for leaf in leaves)]):
            for one in (key, f"{key}, since")[: 2 - is_other]:
                self.last.pop(one, None)
        else:
            self.last[key] = self.last[f"{key}, since"] = (
                replace(call, about=replace(call.about, is_first_bad=True))
                if first is None or (is_other and self.are_finite([*older, *leaves]))
                else first
            )

    def are_finite(self, tensors: list[Any]) -> bool:
        """Return whether all numbers of tensors are finite: of what a backward started from, of what it has left."""
        return all(one is None or self.numbers_of(one).is_finite for one in tensors)

    def grad_of(self, tensor: Any) -> Numbers | None:
        """Return the numbers of a tensor's gradient; None for none."""
        grad = gradient(tensor)
        return None if grad is None else self.numbers_of(grad)

    def numbers_of(self, tensor: Any) -> Numbers:
        """Return the numbers of a tensor, as many as are asked for."""
        return self.versions.numbers_of(tensor, self.options.most)

    def living(self) -> list[Any]:
        """Return the tensors that the picture may be of: those that have a name now, and those of the last calls."""
        names = shallow(self.namespace)
        for frame, _ in walk_stack(sys._getframe()):  # noqa: SLF001 - as below
            names |= frame.f_locals if self.script.is_ours(frame.f_code.co_filename) else {}
        return [
            *named_tensors(names, [self.engine]).values(),
            *(tensor for call in self.last.values() for tensor in call.tensors),
        ]

    def flowing(
        self, function: str, tensors: tuple[Any, ...], arguments: Mapping[str, Any], nodes: Mapping[NodeLike, Any]
    ) -> tuple[Mapping[NodeLike, NodeFlow], AbstractContextManager[None]]:
        """Return how the gradient flows, and a block for the call.

        As it is going to flow; where the program has hooks it is filled in as the call runs. Through a graph that is
        freed already it is as it was the last time.
        """
        from gviz.flow import MOST_TO_DIAGNOSE, Follower, flow, users_first

        options, gradients = self.options, as_several(arguments.get("gradients"))
        pairs = zip_longest(tensors, gradients[: len(tensors)])
        runs = function != "make_dot" and all(tensor.numel() == 1 or grad is not None for tensor, grad in pairs)
        most = MOST_TO_DIAGNOSE if options.diagnose or self.has_shares else MOST_FLOWING
        inputs = (
            _nodes_of(self.engine, as_several(arguments.get("inputs"))) if arguments.get("inputs") is not None else None
        )
        is_unheard = (  # a library's hook, say, or a Function, whose backward runs once
            options.flow and inputs is None and (not self.listener.is_own or any(map(has_own_backward, nodes)))
        )
        if self.hooks.has_checkpoint:  # to ask for what operations saved computes it again
            return {}, nullcontext()
        if runs and (self.hooks.are_there or is_unheard):
            order = users_first([root.grad_fn for root in tensors if root.grad_fn is not None], most)
            one = Follower(
                self.engine,
                order,
                inputs,
                elements=options.most,
                jacobians=options.jacobians,
                all_factors=not options.diagnose,
            )
            one.start(tensors, gradients)
            return one.result, self.hooks.watching(one)
        if not (options.flow or self.has_shares or (self.is_small(nodes) and not self.hooks.has_packed)):
            return {}, nullcontext()
        new_flow = flow(
            self.engine,
            tensors,
            gradients if runs else (),
            has_gradient=runs,
            jacobians=options.jacobians,
            most=most,
            elements=options.most,
            all_factors=not options.diagnose,
            inputs=inputs,
        )
        last = self.last.get(function)
        if last is not None and options.jacobians and [*map(id, last.tensors)] == [*map(id, tensors)]:
            return max(new_flow, last.about.flow, key=len), nullcontext()  # of what is freed less is found
        return new_flow, nullcontext()

    def is_small(self, nodes: Collection[object]) -> bool:
        """Return whether the flow of a call is noted though nobody has asked for it."""
        return self.count <= FIRST_CALLS and len(nodes) <= FEW_NODES

    @property
    def runs(self) -> int:
        """How many runs of lines there have been; 0 where they are not counted."""
        return self.trace.frames.runs if self.trace is not None else 0

    @property
    def has_shares(self) -> bool:
        """Whether it is noted what operations hand on in this call."""
        return self.options.shares and self.count <= MEASURED and not self.hooks.has_packed

    def caller(self) -> tuple[Place | None, Mapping[str, Any]]:
        """Return the line of the script that a call comes from, and the names there."""
        _, place = self.script.running()
        return place, {**shallow(self.namespace), **_caller_names()}


def in_transform(engine: ModuleType) -> bool:
    """Return whether PyTorch compiles, or a transform of its ``torch.func`` runs: both call ``grad`` on own tensors."""
    functorch = getattr(getattr(engine, "_C", None), "_functorch", None)
    return functorch is not None and (functorch.peek_interpreter_stack() is not None or engine.compiler.is_compiling())


def as_several(value: Any) -> tuple[Any, ...]:
    """Return one tensor, several, or those of a dictionary, as several."""
    return tuple(value.values() if isinstance(value, dict) else value if type(value) in (list, tuple) else (value,))


def _nodes_of(engine: Any, tensors: Collection[Any]) -> list[NodeLike]:
    """Return the nodes that the gradients of tensors come to; nothing for one that gets none."""
    edges = [
        engine.autograd.graph.get_gradient_edge(one) if issubclass(type(one), engine.Tensor) else one
        for one in tensors
        if getattr(one, "requires_grad", True)
    ]
    return [edge.node for edge in edges if hasattr(edge, "node")]


def _caller_names() -> Mapping[str, Any]:
    """Return the local variables of the function that gviz was called from; none for those of a module."""
    frames = (frame for frame, _ in walk_stack(sys._getframe(1)))  # noqa: SLF001 - inspect.currentframe costs a large import
    caller = next((frame for frame in frames if not frame.f_code.co_filename.startswith(GVIZ)), None)
    return caller.f_locals if caller is not None and caller.f_locals is not caller.f_globals else {}
