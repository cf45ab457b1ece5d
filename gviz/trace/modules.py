"""Which ``nn.Module`` recorded an operation: a note at the end of each call of a module, read once the graph is there.

A call notes on the operation that made its result which operations are older than the call. What is younger, from the
result down, was recorded in it; of calls within calls the innermost one counts. So a call costs the same whatever is in it.
"""

from __future__ import annotations

import dis
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from types import FunctionType
from typing import Any, NamedTuple
from weakref import ReferenceType, ref

from gviz.graphs import Module, Place, Unlisted
from gviz.trace.gradients import Known, recall, remember
from gviz.trace.versions import next_number
from gviz.walk import NodeLike

KEY = "gviz.modules"
"""Under which a node's ``metadata`` has the calls whose result it made."""

DEEPEST = 3
"""How far inside of lists, dictionaries and objects modules are looked for."""


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
        module = self.module()
        known = names.get(id(module), "") if module is not None else ""
        if known or self.above is None:
            return known or self.kind
        return f"{self.above.path(names)}.{self.own or self.kind}"


class ModuleCalls:
    """Notes the calls of modules.

    Args:
        engine: the module that the program knows as torch: gviz's engine, or PyTorch.
    """

    def __init__(self, engine: Any) -> None:
        self.engine = engine
        self.stack: list[ModuleCall] = []
        self.counts: Known[int] = {}

    @contextmanager
    def noted(self) -> Iterator[None]:
        """Let the calls in the block be noted."""
        kinds = import_module(f"{self.engine.__name__}.nn").Module.__mro__
        layer = next(kind for kind in kinds if "__call__" in vars(kind))
        original = layer.__call__
        layer.__call__ = self.around(original)
        try:
            yield
        finally:
            layer.__call__ = original

    def around(self, original: Callable[..., Any]) -> Callable[..., Any]:
        """Return the method that calls a module, noted."""

        def __call__(module: Any, *args: Any, **kwargs: Any) -> Any:  # noqa: N807 - its name is seen in tracebacks
            self.begin(module)
            result = None
            try:
                result = original(module, *args, **kwargs)
            finally:
                self.end(result)
            return result

        return __call__

    def begin(self, module: Any) -> None:
        """Note that a module is called."""
        number = (recall(self.counts, module) or 0) + 1
        remember(self.counts, module, number)
        above = self.stack[-1] if self.stack else None
        children = getattr(above.module() if above is not None else None, "_modules", {})
        own = next((name for name, child in children.items() if child is module), "")
        start = next_number(self.engine)
        call = ModuleCall(ref(module), type(module).__name__, number, start, len(self.stack), above, own)
        self.stack.append(call)

    def end(self, result: Any) -> None:
        """Note on what a call has made which call it was."""
        call = self.stack.pop()
        for tensor in tensors_in(result, self.engine.Tensor):
            node = tensor.grad_fn
            if node is not None and node._sequence_nr() >= call.start:  # noqa: SLF001 - PyTorch's own name
                node.metadata.setdefault(KEY, []).append(call)


def tensors_in(value: Any, kind: type) -> Iterator[Any]:
    """Yield the tensors in what a module returns: one, or lists and dictionaries of them."""
    todo = [value]
    while todo:
        item = todo.pop()
        if isinstance(item, kind):
            yield item
        elif isinstance(item, list | tuple):
            todo += item
        elif isinstance(item, dict):
            todo += item.values()


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
    found: dict[object, Module] = {}
    around: list[Module] = []
    places: dict[int, int] = {}

    def as_module(call: ModuleCall) -> Module:
        chain = [call]  # what is not listed yet, innermost first
        while (above := chain[-1].above) is not None and id(above) not in places:
            chain.append(above)
        for one in reversed(chain):
            within = places[id(one.above)] if one.above is not None else -1
            module = Module(one.path(names), one.kind, one.number, within)
            if one is not call:
                places[id(one)] = len(around)
                around.append(module)
        return module

    for call, end in sorted(calls, key=lambda pair: (pair[0].depth, pair[0].start)):
        module = as_module(call)
        todo, seen = [end], {end}
        for node in todo:  # grows while it is read
            found[node] = module
            for following, _ in node.next_functions:
                if following is not None and following not in seen and call.start <= order_of(following):
                    seen.add(following)
                    todo.append(following)
    return found, tuple(around)


def holders_of(modules: Mapping[int, tuple[str, Any]], named: Mapping[str, Any]) -> dict[object, Module]:
    """Return the module that holds each parameter, by the parameter's name in the program.

    Args:
        modules: from :func:`module_names`.
        named: the tensors that have a name; it may lead past the module: ``weight``, ``fc.weight``.
    """
    holder: dict[int, Module] = {}
    for path, module in modules.values():
        for parameter in vars(module).get("_parameters", {}).values():
            holder.setdefault(id(parameter), Module(path, type(module).__name__))
    return {name: holder[id(tensor)] for name, tensor in named.items() if id(tensor) in holder}


def unlisted(
    modules: Mapping[int, tuple[str, Any]], named: Mapping[str, Any], is_ours: Callable[[str], bool]
) -> dict[str, Unlisted]:
    """Return the tensors that modules hold, by their names in the program, and that are no parameters: what keeps each out.

    Args:
        modules: from :func:`module_names`.
        named: the tensors that have a name.
        is_ours: whether code of a file is the program's.
    """
    paths, found = dict(modules.values()), dict[str, Unlisted]()
    listed = {id(one) for module in paths.values() for one in vars(module).get("_parameters", {}).values()}
    for name, tensor in named.items():
        ends = [at for at, letter in enumerate(name) if letter == "." and name[:at] in paths]
        if not ends or id(tensor) in listed:
            continue
        path, attribute = name[: ends[-1]], re.split(r"[.\[]", name[ends[-1] + 1 :], maxsplit=1)[0]
        wrapper = wrapper_of(vars(paths[path]).get(attribute), tensor)
        if wrapper:
            place = assigned_at(type(paths[path]), attribute, is_ours)
            found[name] = Unlisted(path, attribute, wrapper, place)
    return found


def wrapper_of(held: Any, tensor: Any) -> str:
    """Return the class of ``torch.nn`` in which a module lists what it holds: ``ModuleList`` for a list of layers.

    "" for what none of them takes.
    """
    if held is tensor:
        return "Parameter"
    is_dict = type(held) is dict and all(type(key) is str for key in held)
    items = [*held.values()] if is_dict else held if type(held) in (list, tuple) else []
    of = "Parameter" if any(one is tensor for one in items) else "Module"
    is_whole = all(type(one) is type(tensor) if of == "Parameter" else "_modules" in dir(one) for one in items)
    return f"{of}{'Dict' if is_dict else 'List'}" if items and is_whole else ""


def assigned_at(kind: type, attribute: str, is_ours: Callable[[str], bool]) -> Place | None:
    """Return the line of a class that gives an attribute its value, in the file of its code; None if none does."""
    members = (one for base in kind.__mro__ for one in vars(base).values())
    codes = [one.__code__ for one in members if type(one) is FunctionType and is_ours(one.__code__.co_filename)]
    for code in codes:
        for one in dis.get_instructions(code):
            if one.opname == "STORE_ATTR" and one.argval == attribute and one.positions and one.positions.lineno:
                return Place(one.positions.lineno, code.co_filename)
    return None


def order_of(node: Any) -> int:
    """Return the number of an operation in the order of recording; -1 for an AccumulateGrad, which no call records."""
    return -1 if type(node).__name__ == "AccumulateGrad" else int(node._sequence_nr())  # noqa: SLF001 - as above


def module_names(namespace: Mapping[Any, Any], engine: Any) -> dict[int, tuple[str, Any]]:
    """Return the modules that names of a program reach, by their identity: each with its first name, and itself.

    All that a variable holds comes before the next variable, and before lists: a module is called as its parameters are.
    """
    nn = import_module(f"{engine.__name__}.nn")
    todo = [(name, value, 0) for name, value in namespace.items() if str(name)[:2] != "__"]
    names: dict[int, tuple[str, Any]] = {}
    for name, value, depth in todo:  # grows while it is read
        if issubclass(type(value), nn.Module) and "_modules" in vars(value):
            inside = [(name, value)]
            for path, module in inside:  # grows, too
                if module is not None and id(module) not in names:
                    names[id(module)] = path, module
                    inside += [(f"{path}.{child}", one) for child, one in vars(module)["_modules"].items()]
        elif depth < DEEPEST and type(value) in (list, tuple):
            todo += [(f"{name}[{at}]", item, depth + 1) for at, item in enumerate(value)]
        elif depth < DEEPEST and type(value) is dict:
            todo += [(f"{name}[{key!r}]", item, depth + 1) for key, item in value.items() if type(key) in (str, int)]
    return names
