"""``torch.fx.proxy``: what stands for a tensor while a program is traced, and notes each operation on it as a node."""

from __future__ import annotations

import dis
import inspect
import operator
from collections.abc import Callable, Iterator
from typing import Any, NoReturn

from gviz.autograd.tensor import Tensor
from gviz.engine.fx.graph import Graph
from gviz.engine.fx.node import IN_PYTHON, Argument, Node, Target, map_aggregate
from gviz.numbers.words import absent
from gviz.signatures.names import NATIVE_FUNCTIONS, Name

__all__ = ["Attribute", "GraphAppendingTracer", "Proxy", "TraceError", "TracerBase"]

NOT_ITERABLE = (
    "Proxy object cannot be iterated. This can be attempted when the Proxy is used in a loop or as a *args or **kwargs "
    "function argument. See the torch.fx docs on pytorch.org for a more detailed explanation of what types of control "
    "flow can be traced, and check out the Proxy docstring for help troubleshooting Proxy iteration errors"
)


class TraceError(ValueError):
    """A program does with a traced value what only a number can do, such as to decide an ``if``."""

    __module__ = "torch.fx.proxy"


class Proxy:
    """Stands for the result of a node: an operation on it becomes a node of the same graph."""

    __module__ = "torch.fx.proxy"

    def __init__(self, node: Node, tracer: TracerBase | None = None) -> None:
        self.node = node
        graph: Any = node.graph  # a Graph, which node.py does not know
        self.tracer = tracer or GraphAppendingTracer(graph)

    def __repr__(self) -> str:
        return f"Proxy({self.node.name})"

    def __getattr__(self, k: str) -> Any:
        return Attribute(self, k)

    def __call__(self, *args: Argument, **kwargs: Argument) -> Any:
        """Note the call of the value itself."""
        return self.tracer.create_proxy("call_method", "__call__", (self, *args), kwargs)

    def __iter__(self) -> Any:
        frame = inspect.currentframe()
        caller = frame.f_back if frame is not None else None
        if caller is not None:
            step = next(one for one in dis.get_instructions(caller.f_code) if one.offset == caller.f_lasti)
            if step.opname == "UNPACK_SEQUENCE":  # a, b = proxy
                return (self.__getitem__(i) for i in range(step.argval))
        return self.tracer.iter(self)

    def __bool__(self) -> bool:
        return self.tracer.to_bool(self)

    def __len__(self) -> NoReturn:
        raise RuntimeError(
            "'len' is not supported in symbolic tracing by default. If you want this call to be recorded, please call "
            "torch.fx.wrap('len') at module scope"
        )

    def __abs__(self) -> Any:
        return self.tracer.create_proxy("call_function", operator.abs, (self,), {})

    def keys(self) -> Any:
        """Return the keys of a dict, which cannot be known."""
        return self.tracer.keys(self)

    @classmethod
    def __torch_function__(
        cls, orig_method: Argument, types: Argument, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        """Note the call of one of torch's functions."""
        args, kwargs = as_python_passes_it(orig_method, args, kwargs or {})
        tracer = tracer_in((args, kwargs))
        name = getattr(orig_method, "public", None)
        own = isinstance(name, Name) and name.method and getattr(Tensor, name.method, None) is orig_method
        if own or (isinstance(name, Name) and name.spec in ("F.sigmoid", "F.tanh")):  # PyTorch calls the method there
            return tracer.create_proxy("call_method", orig_method.__name__, args, kwargs)
        return tracer.create_proxy("call_function", orig_method, args, kwargs)

    __hash__ = object.__hash__


def as_python_passes_it(
    function: Argument, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Return the arguments as a function that PyTorch has in Python passes them on.

    Those without a default by position, all others by name.
    """
    name = getattr(function, "public", None)
    if not isinstance(name, Name) or not (
        (name.space == "F" and name.base not in NATIVE_FUNCTIONS) or (name.space == "torch" and name.base in IN_PYTHON)
    ):
        return args, kwargs
    bound = inspect.signature(function).bind(*args, **kwargs)
    bound.apply_defaults()
    positional, words = [], dict[str, Any]()
    for parameter in bound.signature.parameters.values():
        if parameter.name == "out" and name.base not in ("norm", "tensordot", "normalize"):
            continue
        value = bound.arguments[parameter.name]
        if parameter.kind is parameter.VAR_POSITIONAL:
            positional += value
        elif parameter.default is parameter.empty and parameter.kind is not parameter.VAR_KEYWORD:
            positional.append(value)
        else:
            words[parameter.name] = value
    return tuple(positional), words


def tracer_in(arguments: Argument) -> TracerBase:
    """Return the tracer of the first proxy in nested arguments."""
    things = [arguments]
    for one in things:
        if isinstance(one, Proxy):
            return one.tracer
        things += one.values() if isinstance(one, dict) else one if isinstance(one, list | tuple) else ()
    raise AssertionError("no Proxy among the arguments")


class Attribute(Proxy):
    """An attribute of a traced value: a node of its own if it is used, else the method that is called."""

    __module__ = "torch.fx.proxy"

    def __init__(self, root: Proxy, attr: str) -> None:
        self.root, self.attr, self.tracer = root, attr, root.tracer
        self._node: Node | None = None

    @property
    def node(self) -> Node:  # type: ignore[override] # made when it is needed
        """The node of the attribute."""
        if self._node is None:
            self._node = self.tracer.create_proxy("call_function", getattr, (self.root, self.attr), {}).node
        return self._node

    def __call__(self, *args: Argument, **kwargs: Argument) -> Any:
        """Note the call of a method."""
        return self.tracer.create_proxy("call_method", self.attr, (self.root, *args), kwargs)


def operation(name: str, reflected: bool) -> Any:
    """Return the method for one of Python's operators."""
    function = getattr(operator, name)

    def operate(self: Proxy, *others: Argument) -> Any:
        args = (others[0], self) if reflected else (self, *others)
        return self.tracer.create_proxy("call_function", function, args, {})

    return operate


TWO_WAYS = "add sub mul floordiv truediv mod pow lshift rshift and_ or_ xor matmul"
for word in f"{TWO_WAYS} eq ne lt gt le ge pos neg invert getitem".split():
    setattr(Proxy, f"__{word.strip('_')}__", operation(word, False))
for word in TWO_WAYS.split():
    setattr(Proxy, f"__r{word.strip('_')}__", operation(word, True))


class TracerBase:
    """Makes nodes, and proxies for their results."""

    graph: Graph
    proxy_buffer_attributes: bool = False

    def create_node(
        self,
        kind: str,
        target: Target,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        name: str | None = None,
        type_expr: Argument = None,
    ) -> Node:
        """Add a node to the graph."""
        return self.graph.create_node(kind, target, args, kwargs, name, type_expr)

    def proxy(self, node: Node) -> Proxy:
        """Return what stands for the result of a node."""
        return Proxy(node, self)

    def create_proxy(
        self,
        kind: str,
        target: Target,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        name: str | None = None,
        type_expr: Argument = None,
        proxy_factory_fn: Callable[[Node], Any] | None = None,
    ) -> Any:
        """Add a node, whose arguments may be proxies; return what stands for its result."""
        args, kwargs = self.create_arg(args), self.create_arg(kwargs)
        return (proxy_factory_fn or self.proxy)(self.create_node(kind, target, args, kwargs, name, type_expr))

    def create_arg(self, a: Argument) -> Any:
        """Return an argument as a node keeps it: nodes in place of proxies, also within lists and dicts."""
        return map_aggregate(a, self.one_arg)

    def one_arg(self, a: Argument) -> Any:
        """Return one thing of an argument as a node keeps it."""
        return a.node if isinstance(a, Proxy) else a

    def to_bool(self, obj: Proxy) -> bool:
        """Refuse to decide anything by a value that is not there."""
        raise TraceError("symbolically traced variables cannot be used as inputs to control flow")

    def iter(self, obj: Proxy) -> Iterator[Any]:
        """Refuse to go through a value that is not there."""
        raise TraceError(NOT_ITERABLE)

    def keys(self, obj: Proxy) -> Any:
        """Return the keys of a dict as a node."""
        return self.create_proxy("call_method", "keys", (obj,), {})


class GraphAppendingTracer(TracerBase):
    """Adds to a graph that is there."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph


__getattr__ = absent("torch.fx.proxy")
