"""The one place that listens to a running program: wrappers round the functions of its engine, which tell observers.

gviz's engine and PyTorch are listened to in the same way. Whatever is replaced is put back when the listener is left.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import update_wrapper, wraps
from importlib import import_module
from time import perf_counter
from types import BuiltinFunctionType, FunctionType, MethodDescriptorType, ModuleType, WrapperDescriptorType
from typing import Any, Self

ENGINE = "gviz.engine"

SPACES = ("", ".linalg", ".special", ".nn.functional")
"""The modules of functions that a program calls."""

SEQUENCES = ("lstm", "gru", "rnn_tanh", "rnn_relu", "lstm_cell", "gru_cell", "rnn_tanh_cell", "rnn_relu_cell")
"""Functions that PyTorch's layers call by a module of their own, ``torch._VF``."""

HELD = {("torch.nn.functional", "relu")}
"""Functions that PyTorch's layers hold already, and save by their names; each calls one that is listened to."""

KINDS = (BuiltinFunctionType, FunctionType, MethodDescriptorType, WrapperDescriptorType)
"""What PyTorch's functions are."""

BINARY = "add sub mul truediv floordiv mod pow matmul and or xor lshift rshift"
OTHERS = "neg pos invert abs lt le gt ge eq ne getitem setitem"
OPERATORS = {
    *(f"__{kind}{sign}__" for kind in ("", "r", "i") for sign in BINARY.split()),
    *(f"__{sign}__" for sign in OTHERS.split()),
}

NUMBERS = {"item", "tolist", "numpy", "__array__", "__float__", "__int__", "__complex__"}
"""Calls that make numbers of tensors."""

MAKE_NONE = {
    *("accumulate_grad", "autograd_meta", "refresh", "version_cell"),
    *("is_inference", "size", "stride", "dim", "numel", "is_floating_point", "is_complex", "is_contiguous"),
    *("element_size", "data_ptr", "storage_offset", "untyped_storage", "is_grad_enabled", "get_default_dtype"),
}
"""Functions that make no tensor, and are called often."""

SHARES = ("detach", "data")
"""Calls whose result has the memory of what it was made from."""

NO_WRITES = {"requires_grad_", "detach_", "share_memory_", "rename_", "retain_grad_"}
"""Names with an underscore at their end that write no memory."""


class Observer:
    """Somebody who is told what a program does. Each event has a method; who wants to know of it overrides that."""

    listener: Listener

    def attach(self, listener: Listener) -> None:
        """Begin to be told; the place for wrappers of the observer's own, by :meth:`Listener.replace`."""
        self.listener = listener

    def called(self, name: str, args: tuple[Any, ...], result: Any, seconds: float) -> None:
        """Take note of a call of a function of the engine; it took 0 seconds if that was not measured."""

    def will_write(self, tensor: Any, *, is_counted: bool = True) -> None:
        """Take note that the memory of a tensor is going to be written; some writes do not count for backward."""

    def has_shared(self, tensor: Any, result: Any, *, is_counted: bool) -> None:
        """Take note of a tensor on the memory of another; writes to one count for the other, too, or do not."""

    def will_detach(self, tensor: Any) -> None:
        """Take note that a tensor is going to be taken out of its graph."""

    def got_gradient(self, leaf: Any) -> None:
        """Take note that the ``.grad`` of a leaf is read, by the caller's caller."""

    def gave_gradient(self, leaf: Any, value: Any) -> None:
        """Take note that the ``.grad`` of a leaf was set."""


class Listener:
    """Wrappers round the functions of an engine, from the moment that it is entered until it is left.

    Args:
        engine: the module that the program knows as torch: gviz's engine, or PyTorch.
        observers: who is told.
        timed: whether to measure how long calls take.
    """

    def __init__(self, engine: ModuleType, *observers: Observer, timed: bool = False) -> None:
        self.engine, self.observers, self.timed = engine, observers, timed
        self.is_own = engine.__name__ == ENGINE
        self.replaced: list[tuple[Any, str, bool, Any]] = []
        self.is_inside = False  # whether a call that is told of runs: what is called within it is not
        self.is_quiet = False  # whether gviz itself computes, for the program's sake

    def __enter__(self) -> Self:
        """Put the wrappers in place."""
        functions = [*self.functions()]  # before observers put theirs in
        self.on_write, self.on_share = self.wanting("will_write"), self.wanting("has_shared")
        for one in self.observers:
            one.attach(self)
        for home, name in functions:
            self.replace(home, name, self.telling(getattr(home, name), name))
        if self.is_own:  # gviz's engine tells of writes by itself
            self.replace(import_module("gviz.autograd.modes").mode, "writing", self.will_write)
        self.listen_to_attributes()
        if self.wanting("called"):
            self.listen_to_classes()
        return self

    def __exit__(self, *_: object) -> None:
        """Put back what was there before."""
        self.is_inside = self.is_quiet = True  # a library that was loaded meanwhile may go on to hold a wrapper
        for owner, name, is_own, before in reversed(self.replaced):
            if is_own:
                setattr(owner, name, before)
            else:
                delattr(owner, name)
        self.replaced.clear()

    @contextmanager
    def quiet(self) -> Iterator[None]:
        """Tell nobody of what the block does: calls of gviz's own, for the program's."""
        before = self.is_inside, self.is_quiet
        self.is_inside = self.is_quiet = True
        try:
            yield
        finally:
            self.is_inside, self.is_quiet = before

    def replace(self, owner: object, name: str, value: object) -> None:
        """Put something in the place of what an owner has by a name, until the listener is left."""
        is_own = not isinstance(owner, type) or name in vars(owner)
        before = vars(owner).get(name) if isinstance(owner, type) else getattr(owner, name)
        self.replaced.append((owner, name, is_own, before))
        setattr(owner, name, value)

    def wanting(self, event: str) -> tuple[Callable[..., None], ...]:
        """Return the methods of the observers who want to be told of an event."""
        wanted = (one for one in self.observers if getattr(type(one), event) is not getattr(Observer, event))
        return tuple(getattr(one, event) for one in wanted)

    # ---------------------------------------------------------------- functions
    def functions(self) -> Iterator[tuple[Any, str]]:
        """Yield the functions of the engine that are listened to: where each is, and its name."""
        is_all, engine = bool(self.wanting("called")), self.engine.__name__
        for home in (self.engine.Tensor, *(import_module(f"{engine}{space}") for space in SPACES)):
            for name in dir(home):
                is_public = name[0] != "_" and name not in MAKE_NONE
                is_wanted = (is_public and is_all) or name in SHARES or name == "numpy"
                is_operator = (name in OPERATORS or name in NUMBERS) and is_all
                if (is_wanted or is_operator or self.writes(name)) and self.is_function(home, name):
                    yield home, name
        for name in () if self.is_own else SEQUENCES:
            yield import_module("torch._VF"), name

    def is_function(self, home: ModuleType | type, name: str) -> bool:
        """Return whether a home has a function by a name that computes with tensors."""
        if self.is_own:
            return isinstance(vars(home).get(name), FunctionType)
        if (home.__name__, name) in HELD:
            return False
        function = getattr(home, name)
        names = function.__code__.co_names if isinstance(function, FunctionType) else ("has_torch_function",)
        return isinstance(function, KINDS) and any(one.startswith("has_torch_function") for one in names)

    def writes(self, name: str) -> bool:
        """Return whether a function of PyTorch writes its first argument; gviz's engine tells of writes by itself."""
        is_update = name in OPERATORS and name[:3] == "__i"
        is_named_so = name[-1] == "_" and name[-2:] != "__" and name not in NO_WRITES
        return not self.is_own and (is_update or is_named_so or name == "__setitem__")

    def telling(self, function: Any, name: str, *, takes: Callable[[Any], tuple[Any, ...]] | None = None) -> Any:
        """Return a function that tells of its calls.

        Args:
            function: what is called.
            name: its name.
            takes: gives what a call computes with; calls within it are told of first then. None for a call that is
                told of alone.
        """
        is_alone, timed, writes = takes is None, self.timed, self.writes(name) or name == "numpy"
        has_out, is_shared, is_detaching = not self.is_own, name == "detach", name == "detach_"
        called, will_detach = self.wanting("called"), self.wanting("will_detach")

        @wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            if writes and args:
                self.will_write(args[0])
            if self.is_inside:
                return function(*args, **kwargs)
            if kwargs and has_out and kwargs.get("out") is not None:
                self.will_write(kwargs["out"])
            if is_detaching:
                for tell in will_detach:
                    tell(args[0])
            self.is_inside, start = is_alone, perf_counter() if timed else 0.0
            try:
                result = function(*args, **kwargs)
                seconds, self.is_inside = perf_counter() - start if timed else 0.0, True
                if is_shared:
                    self.has_shared(args[0], result)
                given = args if takes is None else takes(args)
                given = (*given, *kwargs.values()) if kwargs else given
                for tell in called:
                    tell(name, given, result, seconds)
            finally:
                self.is_inside = False
            return result

        return Twin(call, function) if isinstance(function, BuiltinFunctionType) else call

    def will_write(self, written: object, *, is_counted: bool = True) -> None:
        """Tell that tensors are going to be written: one, or those of a list."""
        for tell in () if self.is_quiet else self.on_write:
            for one in written if isinstance(written, list | tuple) else (written,):
                if isinstance(one, self.engine.Tensor):
                    tell(one, is_counted=is_counted)

    def has_shared(self, tensor: Any, result: Any, *, is_counted: bool = True) -> None:
        """Tell of a tensor on the memory of another."""
        for tell in () if self.is_quiet else self.on_share:
            tell(tensor, result, is_counted=is_counted)

    # ---------------------------------------------------------------- attributes and classes
    def listen_to_attributes(self) -> None:
        """Tell of what a program reads and sets of a tensor: ``data``, ``requires_grad`` and ``grad``."""
        kind, called = self.engine.Tensor, self.wanting("called")
        data, flag = kind.data, kind.requires_grad

        def share(tensor: Any) -> Any:
            result = data.__get__(tensor)
            self.has_shared(tensor, result, is_counted=False)
            return result

        def set_data(tensor: Any, value: Any) -> None:
            self.will_write(tensor, is_counted=False)
            data.__set__(tensor, value)

        self.replace(kind, "data", property(self.telling(share, "data") if called else share, set_data))
        if called:
            setting = self.telling(flag.__set__, "requires_grad_")
            self.replace(kind, "requires_grad", property(flag.__get__, setting))
        if self.wanting("got_gradient"):
            self.replace(kind, "grad", self.telling_gradients(kind.grad))

    def telling_gradients(self, grad: Any) -> property:
        """Return the property of a tensor's gradient that tells who reads it, and who sets it."""
        got, gave = self.wanting("got_gradient"), self.wanting("gave_gradient")

        def read(leaf: Any) -> Any:
            if not self.is_inside:
                for tell in got:
                    tell(leaf)
            return grad.__get__(leaf)

        def write(leaf: Any, value: Any = None) -> None:
            grad.__set__(leaf, value)
            if not self.is_inside:
                with self.quiet():
                    for tell in gave:
                        tell(leaf, value)

        return property(read, write, write, grad.__doc__)

    def listen_to_classes(self) -> None:
        """Tell of calls of Functions and of ``autograd.grad``; and of gviz's own layers and optimizers."""
        module, function = self.engine.autograd, self.engine.autograd.Function
        self.replace(function, "apply", classmethod(self.telling(function.apply.__func__, "apply")))
        self.replace(module, "grad", self.telling(module.grad, "grad"))
        if self.is_own:  # PyTorch's call functions that are listened to
            layer = class_of_calls(self.engine)
            calling = self.telling(layer.__call__, "__call__", takes=lambda args: (*args[1:], *args[0].parameters()))
            self.replace(layer, "__call__", calling)
            optimizer = import_module(f"{ENGINE}.optim").Optimizer
            self.replace(optimizer, "step", self.telling(optimizer.step, "step", takes=lambda args: args))


def class_of_calls(engine: ModuleType) -> Any:
    """Return the class whose ``__call__`` runs when a program calls a layer of an engine."""
    return next(kind for kind in import_module(f"{engine.__name__}.nn").Module.__mro__ if "__call__" in vars(kind))


class Twin:
    """A wrapper of one of PyTorch's built-in functions: equal to it, since classes of a program look them up by it.

    Args:
        call: what is called in its place.
        function: the function.
    """

    def __init__(self, call: Callable[..., Any], function: BuiltinFunctionType) -> None:
        update_wrapper(self, function, updated=())
        self.call, self.function = call, function

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the function, and tell of it."""
        return self.call(*args, **kwargs)

    def __eq__(self, other: object) -> bool:
        """Return whether another is the function, or a wrapper of it."""
        return bool(self.function == (other.function if isinstance(other, Twin) else other))

    def __hash__(self) -> int:
        """Return what the function has."""
        return hash(self.function)

    def __repr__(self) -> str:
        """Return what stands for the function."""
        return repr(self.function)

    def __reduce__(self) -> str:
        """Be saved by its name, as functions are."""
        return str(self.function.__name__)
