"""``torch.fx._symbolic_trace``: run a program with proxies in place of tensors, and note what it does as a graph."""

from __future__ import annotations

import builtins
import inspect
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from types import FunctionType
from typing import Any

from gviz.autograd.tensor import Tensor
from gviz.engine.fx.graph import WRAPPED, Graph
from gviz.engine.fx.graph_module import GraphModule
from gviz.engine.fx.node import Argument, Node, Target
from gviz.engine.fx.proxy import Proxy, TracerBase
from gviz.engine.nn.hooks import Hooks
from gviz.engine.nn.module import Module
from gviz.engine.nn.parameter import Parameter
from gviz.engine.settings import _assert
from gviz.numbers.words import absent, refuse

__all__ = ["Tracer", "symbolic_trace", "wrap"]

PLAIN = (str, int, float, bool, complex, type(None), type(...), range, FunctionType, type)
"""The classes of arguments that a node keeps as they are."""


class Tracer(TracerBase):
    """Traces a module or a function: ``trace(root)`` returns its graph.

    Modules of ``torch.nn`` stay as calls of modules; ``is_leaf_module`` may be written anew to keep others.
    """

    __module__ = "torch.fx._symbolic_trace"
    root: Argument

    def __init__(
        self, autowrap_modules: Argument = (), autowrap_functions: Argument = (), param_shapes_constant: bool = False
    ) -> None:
        self.autowrap_functions = tuple(autowrap_functions)

    # ------------------------------------------------------------------ what may be written anew
    def is_leaf_module(self, m: Module, module_qualified_name: str) -> bool:
        """Return whether a module is one node, and not what it does inside."""
        from gviz.engine.nn.containers import Sequential

        return type(m).__module__.startswith("torch.nn") and not isinstance(m, Sequential)

    def path_of_module(self, mod: Module) -> str:
        """Return the dotted name of a module. NameError: it is not one of those of the root."""
        for name, module in self.root.named_modules():
            if module is mod:
                return str(name)
        raise NameError("module is not installed as a submodule")

    def call_module(self, m: Module, forward: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Note the call of a module as a node, or trace what it does."""
        path = self.path_of_module(m)
        self.stack[path] = (path, type(m))
        try:
            if self.is_leaf_module(m, path):
                return self.create_proxy("call_module", path, args, kwargs)
            return forward(*args, **kwargs)
        finally:
            del self.stack[path]

    def getattr(self, attr: str, attr_val: Argument, parameter_proxy_cache: dict[str, Any]) -> Any:
        """Return what a module has under a name: a parameter as a node."""
        kinds = (
            (Parameter, "named_parameters"),
            *(((Tensor, "named_buffers"),) if self.proxy_buffer_attributes else ()),
        )
        for kind, names in kinds:
            if isinstance(attr_val, kind):
                for name, own in getattr(self.root, names)():
                    if own is attr_val:
                        if name not in parameter_proxy_cache:
                            parameter_proxy_cache[name] = self.create_proxy("get_attr", name, (), {})
                        return parameter_proxy_cache[name]
        return attr_val

    # ------------------------------------------------------------------ nodes
    def create_node(
        self,
        kind: str,
        target: Target,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        name: str | None = None,
        type_expr: Argument = None,
    ) -> Node:
        """Add a node, which says in which modules it was called."""
        node = super().create_node(kind, target, args, kwargs, name, type_expr)
        if self.stack and kind not in ("placeholder", "get_attr"):
            node.meta["nn_module_stack"] = OrderedDict(self.stack)
        return node

    def one_arg(self, a: Argument) -> Any:
        """Return one thing of an argument; a tensor is read from the module, where it may become a constant."""
        if isinstance(a, Tensor):
            return self.graph.get_attr(self.place_of(a))
        if isinstance(a, Proxy):
            return a.node
        if isinstance(a, PLAIN) or type(a).__module__.startswith("torch"):
            return a
        return refuse(True, f"argument of type: {type(a)}", NotImplementedError)

    def place_of(self, tensor: Tensor) -> str:
        """Return the dotted name of a tensor; one without a name becomes ``_tensor_constant0``.

        NameError: it is a parameter of another module.
        """
        for path, module in self.root.named_modules():
            for name, value in {**vars(module), **module._parameters, **module._buffers}.items():
                if value is tensor:
                    return f"{path}.{name}" if path else name
        refuse(isinstance(tensor, Parameter), "parameter is not a member of this module", NameError)
        number = 0
        while hasattr(self.root, f"_tensor_constant{number}"):
            number += 1
        setattr(self.root, f"_tensor_constant{number}", tensor)
        return f"_tensor_constant{number}"

    # ------------------------------------------------------------------ tracing
    def trace(self, root: Argument, concrete_args: dict[str, Any] | None = None) -> Graph:
        """Return the graph of a module, or of a function; ``concrete_args`` are values that are fixed for it."""
        is_module = isinstance(root, Module)
        self.root, function = (root, type(root).forward) if is_module else (Module(), root)
        self.graph, self.stack = Graph(tracer_cls=type(self)), dict[str, Any]()
        refuse(not isinstance(function, FunctionType), f"Expected FunctionType, got {type(function)}", AssertionError)
        args = self.inputs(function, is_module, concrete_args or {})
        with self.listening():
            result = with_plain_parameters(function, len(args))(*args)
            self.create_node("output", "output", (self.create_arg(result),), {})
        return self.graph

    def inputs(self, function: Argument, is_module: bool, fixed: dict[str, Any]) -> list[Any]:
        """Return the arguments that the program is traced with: a proxy for each, or a value that is fixed."""
        own = inspect.unwrap(function)
        parameters = inspect.signature(own).parameters
        code = own.__code__
        flags = sum(bool(code.co_flags & flag) for flag in (inspect.CO_VARARGS, inspect.CO_VARKEYWORDS))
        names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount + flags]
        args: list[Any] = [self.root] if is_module else []
        for one in [parameters[name] for name in names if name in parameters][len(args) :]:
            if one.kind in (one.VAR_POSITIONAL, one.VAR_KEYWORD):
                star = "*" if one.kind is one.VAR_POSITIONAL else "**"
                args.append(self.create_proxy("placeholder", f"{star}{one.name}", (), {}, f"_{one.name}"))
            else:
                args.append(self.fixed(one, fixed[one.name]) if one.name in fixed else self.placeholder(one, one.name))
        return args

    def placeholder(self, parameter: inspect.Parameter, name: str) -> Any:
        """Return a proxy for a parameter."""
        default = () if parameter.default is parameter.empty else (parameter.default,)
        kind = None if parameter.annotation is parameter.empty else parameter.annotation
        kind = kind if isinstance(kind, type) else None
        return self.create_proxy("placeholder", name, default, {}, type_expr=kind)

    def fixed(self, parameter: inspect.Parameter, value: Argument) -> Any:
        """Return the value that a parameter always has; the graph checks that it is called with it."""
        proxy = self.placeholder(parameter, f"{parameter.name}_1")
        message = f"{parameter.name} has been specialized to have value {value} but got another value"
        if value is None:
            self.create_proxy("call_function", _assert_is_none, (proxy, message), {})
        elif isinstance(value, bool | int | float | str):
            self.create_proxy("call_function", _assert, (proxy == value, message), {})
        return value

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Let calls of modules, their attributes and wrapped functions come here for the time of a block."""
        tracer, call, get = self, Hooks.__call__, Module.__getattr__
        cache: dict[str, Any] = {}

        def traced_call(module: Argument, *args: Argument, **kwargs: Argument) -> Any:
            return tracer.call_module(module, lambda *a, **k: call(module, *a, **k), args, kwargs)

        def traced_getattr(module: Argument, name: str) -> Any:
            return tracer.getattr(name, get(module, name), cache)

        with ExitStack() as undo:
            for kind, name, new in ((Hooks, "__call__", traced_call), (Module, "__getattr__", traced_getattr)):
                undo.callback(setattr, kind, name, getattr(kind, name))
                setattr(kind, name, new)
            for names, name in HOMES:
                if (function := names.get(name, getattr(builtins, name, None))) is not None:
                    undo.callback(*((names.__setitem__, name, names[name]) if name in names else (names.pop, name)))
                    names[name] = noting(function)
            yield


def with_plain_parameters(function: Argument, count: int) -> Any:
    """Return a function that takes by position what the given one takes by name only, or as ``*args``, ``**kwargs``."""
    code = function.__code__
    if not (code.co_kwonlyargcount or code.co_flags & (inspect.CO_VARARGS | inspect.CO_VARKEYWORDS)):
        return function
    flags = code.co_flags & ~(inspect.CO_VARARGS | inspect.CO_VARKEYWORDS)
    code = code.replace(co_argcount=count, co_posonlyargcount=0, co_kwonlyargcount=0, co_flags=flags)
    return FunctionType(code, function.__globals__, function.__name__, None, function.__closure__)


def _assert_is_none(value: Argument, msg: str) -> None:
    refuse(value is not None, msg, AssertionError)


HOMES: list[tuple[dict[str, Any], str]] = []
"""The functions that are nodes of their own: the globals of their module, and their name there."""


def noting(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that is noted as a node if an argument of it is traced."""
    from gviz.signatures.names import override_in

    def call(*args: Argument, **kwargs: Argument) -> Any:
        kind: Argument = override_in((args, kwargs))
        return function(*args, **kwargs) if kind is None else kind.__torch_function__(function, (kind,), args, kwargs)

    return call


def wrap(fn_or_name: Argument) -> Any:
    """Let a function of this module, or one of Python's, be a node of its own; also a decorator."""
    refuse(
        not (callable(fn_or_name) or isinstance(fn_or_name, str)),
        "Unsupported type for global function! Must be either a callable or string name",
    )
    frame: Argument = inspect.currentframe()
    caller = frame.f_back
    refuse(caller.f_code.co_name != "<module>", "wrap must be called at the top level of a module", NotImplementedError)
    name = fn_or_name if isinstance(fn_or_name, str) else fn_or_name.__name__
    HOMES.append((caller.f_globals, name))
    WRAPPED.append(getattr(builtins, name, None) if isinstance(fn_or_name, str) else fn_or_name)
    return fn_or_name


def symbolic_trace(root: Argument, concrete_args: dict[str, Any] | None = None) -> GraphModule:
    """Return a module whose code is what another module, or a function, does with its inputs."""
    tracer = Tracer()
    graph = tracer.trace(root, concrete_args)
    return GraphModule(tracer.root, graph, type(root).__name__ if isinstance(root, Module) else root.__name__)


__getattr__ = absent("torch.fx._symbolic_trace")
