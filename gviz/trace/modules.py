"""Which ``nn.Module`` recorded an operation: a note at the end of each call of a module, read once the graph is there.

A call notes on the operation that made its result which operations are older than the call. What is younger, from the
result down, was recorded in it; of calls within calls the innermost one counts. A call costs the same whatever is in it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, NamedTuple, TypeAlias
from weakref import ReferenceType, ref

from gviz.graphs import Module
from gviz.reaching import reached
from gviz.trace.facts import ByTensor, recall, remember, tensors_in
from gviz.trace.listening import Listener, Observer, class_of_calls
from gviz.trace.versions import next_number
from gviz.walk import NodeLike, next_nodes

KEY = "gviz.modules"
"""Under which a node's ``metadata`` has the calls whose result it made."""


EngineModule: TypeAlias = Any
"""An ``nn.Module`` of gviz's engine, or of PyTorch."""


class ModuleCall(NamedTuple):
    """A call of a module.

    Args:
        module: weakly.
        kind: its class.
        number: which call of this module it is, counted from 1.
        start: what was recorded before the call has a smaller number.
        depth: how many calls it is within.
        above: the call that it is within.
        own: the name that the module above has for this one; "" if it has none.
    """

    module: ReferenceType[Any]
    kind: str
    number: int
    start: int
    depth: int
    above: ModuleCall | None
    own: str

    def path(self, names: Mapping[int, str]) -> str:
        """Return the names that lead to the module.

        As far as the program has none, the module above and its name there.
        """
        name = names.get(id(self.module()), "")
        if name or self.above is None:
            return name or self.kind
        return f"{self.above.path(names)}.{self.own or self.kind}"


class ModuleObserver(Observer):
    """Base class of observers that are told when the call of a module begins and ends."""

    def attach(self, listener: Listener) -> None:
        """Begin to be told of the calls of modules."""
        super().attach(listener)
        layer = class_of_calls(listener.engine)
        listener.replace(layer, "__call__", self.around(layer.__call__))

    def around(self, original: Callable[..., Any]) -> Callable[..., Any]:
        """Return the method that calls a module, told of but where PyTorch compiles it."""

        # its name is seen in tracebacks
        def __call__(module: EngineModule, *args: object, **kwargs: object) -> Any:  # noqa: N807
            if self.listener.is_compiling():
                return original(module, *args, **kwargs)
            self.begin(module)
            result = None
            try:
                result = original(module, *args, **kwargs)
            finally:
                self.end(module, result)
            return result

        return __call__

    def begin(self, module: EngineModule) -> None:
        """Take note that a module is called."""

    def end(self, module: EngineModule, result: object) -> None:
        """Take note of what a call has made; None where it has raised an error."""


class ModuleCalls(ModuleObserver):
    """Notes the calls of modules."""

    def __init__(self) -> None:
        self.stack: list[ModuleCall] = []
        self.counts: ByTensor[int] = {}

    def begin(self, module: EngineModule) -> None:
        """Note that a module is called."""
        number = (recall(self.counts, module) or 0) + 1
        remember(self.counts, module, number)
        above = self.stack[-1] if self.stack else None
        children = getattr(above.module() if above is not None else None, "_modules", {})
        own = next((name for name, child in children.items() if child is module), "")
        start, depth = next_number(self.listener.engine), len(self.stack)
        self.stack.append(ModuleCall(ref(module), type(module).__name__, number, start, depth, above, own))

    def end(self, _: EngineModule, result: object) -> None:
        """Note on what a call has made which call it was."""
        call = self.stack.pop()
        for tensor in tensors_in(result, self.listener.engine.Tensor):
            node = tensor.grad_fn
            if node is not None and node._sequence_nr() >= call.start:  # noqa: SLF001 - PyTorch's own name
                node.metadata.setdefault(KEY, []).append(call)


def modules_of(
    nodes: Mapping[NodeLike, Any], names: Mapping[int, str]
) -> tuple[dict[object, Module], tuple[Module, ...]]:
    """Return the module that each operation was recorded in, and the calls that others were made in.

    An operation that was recorded in none has none.

    Args:
        nodes: the operations of a graph.
        names: those of modules, by their identity.
    """
    calls = [(call, node) for node in nodes for call in getattr(node, "metadata", {}).get(KEY, ())]
    modules: dict[object, Module] = {}
    around: list[Module] = []
    places: dict[int, int] = {}

    def as_module(call: ModuleCall) -> Module:
        chain = [call]  # what is not listed yet, innermost first
        while (above := chain[-1].above) is not None and id(above) not in places:
            chain.append(above)
        for one in reversed(chain):
            module = Module(one.path(names), one.kind, one.number, places[id(one.above)] if one.above else -1)
            if one is not call:
                places[id(one)] = len(around)
                around.append(module)
        return module

    for call, end in sorted(calls, key=lambda pair: (pair[0].depth, pair[0].start)):
        modules |= dict.fromkeys(reached([end], partial(recorded_since, call.start)), as_module(call))
    return modules, tuple(around)


def recorded_since(start: int, node: Any) -> list[Any]:
    """Return those of the operations that one leads to that were recorded at such a number or later."""
    return [following for following in next_nodes(node) if order_of(following) >= start]


def order_of(node: Any) -> int:
    """Return the number of an operation in the order of recording; -1 for an AccumulateGrad, which no call records."""
    return -1 if type(node).__name__ == "AccumulateGrad" else int(node._sequence_nr())  # noqa: SLF001 - as above
