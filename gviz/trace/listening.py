"""The one place that listens to a running program: wrappers round the functions of its engine, which tell observers.

On gviz's engine the wrappers stand in the place of the functions. PyTorch has a mode that is asked for each function;
there they stand in a table of the mode's. Whatever is replaced is put back when the listener is left.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, nullcontext
from functools import partial, wraps
from gc import get_referents
from importlib import import_module
from time import perf_counter
from types import FunctionType, GeneratorType, ModuleType
from typing import Any, Protocol, Self

ENGINE = "gviz.engine"

SPACES = ("", ".linalg", ".special", ".nn.functional")
"""The modules of functions that a program calls."""

BINARY = "add sub mul truediv floordiv mod pow matmul and or xor lshift rshift"
OTHERS = "neg pos invert abs lt le gt ge eq ne getitem setitem"
OPERATORS = {
    *(f"__{kind}{sign}__" for kind in ("", "r", "i") for sign in BINARY.split()),
    *(f"__{sign}__" for sign in OTHERS.split()),
}

NUMBERS = {"item", "tolist", "numpy", "__array__", "__float__", "__int__", "__complex__"}
"""Calls that make numbers of tensors."""

MAKE_NONE = {
    *("is_inference", "size", "stride", "dim", "numel", "is_floating_point", "is_complex", "is_contiguous"),
    *("element_size", "data_ptr", "storage_offset", "untyped_storage", "is_grad_enabled", "get_default_dtype"),
}
"""Functions that make no tensor, and are called often."""

SHARES = ("detach", "data")
"""Calls whose result has the memory of what it was made from."""

TURNED = ("T", "mT", "H", "mH", "real", "imag")
"""Attributes that compute a tensor of another, as calls do."""

LENDS = ("numpy", "from_numpy", "as_tensor")
"""Calls after which an array of numpy's may have the memory of a tensor."""

MEMORY = ("detach", "numpy")
"""Methods whose result has the memory of the tensor, which somebody may write."""

OF_TENSORS = ("has_called", "will_write", "has_shared", "will_detach", "got_gradient", "gave_gradient")
"""Events for which the functions and attributes of tensors are listened to."""

NO_WRITES = {"requires_grad_", "detach_", "share_memory_", "rename_", "retain_grad_"}
"""Names with an underscore at their end that write no memory."""


class ParameterGroups(Protocol):
    """An optimizer of an engine."""

    param_groups: list[dict[str, Any]]


class Observer:
    """Base class of observers of a program. Each event has a method; an observer overrides those that it needs."""

    listener: Listener

    def attach(self, listener: Listener) -> None:
        """Begin to be told; the place for wrappers of the observer's own, by :meth:`Listener.replace`."""
        self.listener = listener

    def has_called(self, name: str, args: tuple[Any, ...], result: Any, seconds: float) -> None:
        """Take note of a call of a function of the engine; it took 0 seconds if that was not measured."""

    def will_write(self, tensor: Any, *, is_counted: bool = True) -> None:
        """Take note that the memory of a tensor is going to be written; some writes do not count for backward."""

    def has_shared(self, tensor: Any, result: Any, *, is_counted: bool) -> None:
        """Take note that two tensors share memory; ``is_counted`` says whether a write to one counts for the other."""

    def has_lent(self, tensor: object) -> None:
        """Take note of a tensor that shares its memory with a numpy array: writes to the array raise no event."""

    def has_parameters(self, optimizer: ParameterGroups) -> None:
        """Take note that an optimizer has got a group of parameters, the last of its groups."""

    def will_step(self, optimizer: ParameterGroups, *, has_closure: bool) -> None:
        """Take note that an optimizer is going to make a step; a closure computes the gradients within it."""

    def has_stepped(self, optimizer: ParameterGroups) -> None:
        """Take note that an optimizer has made a step."""

    def will_detach(self, tensor: Any) -> None:
        """Take note that a tensor is going to be taken out of its graph."""

    def got_gradient(self, leaf: Any) -> None:
        """Take note that the ``.grad`` of a leaf is read, by the caller's caller."""

    def gave_gradient(self, leaf: Any, value: Any | None) -> None:
        """Take note that the ``.grad`` of a leaf was set."""


class Quiet:
    """A block in which a listener raises no events; it is entered at each step of a training, and often in one."""

    __slots__ = ("before", "listener", "switch")

    def __init__(self, listener: Listener) -> None:
        self.listener = listener

    def __enter__(self) -> None:
        """Remember what was told of before, and tell of nothing."""
        listener = self.listener
        self.before = listener.is_inside, listener.is_quiet
        listener.is_inside = listener.is_quiet = True
        # a quarter of what asking the listener costs
        self.switch = nullcontext() if listener.is_own else listener.engine._C.DisableTorchFunction()  # noqa: SLF001
        self.switch.__enter__()

    def __exit__(self, *_: object) -> None:
        """Tell of what was told before."""
        self.switch.__exit__(None, None, None)
        self.listener.is_inside, self.listener.is_quiet = self.before


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
        self.is_compiling = getattr(getattr(engine, "compiler", None), "is_compiling", bool)  # no events are told then
        self.undoing = ExitStack()  # what puts back, and takes away, all that was done to the engine: the last first
        self.is_inside = False  # whether a call that is told of runs: what is called within it is not
        self.is_quiet = False  # whether gviz itself computes, for the program's sake
        self.paused_by: object = None  # who wants that no observer is told of calls
        self.mode: Any = None  # PyTorch's
        self.is_mode_away = False  # while calls are not told of
        self.quiet = partial(Quiet, self)  # a block in which no events are raised: gviz itself computes there
        self.told = {  # by event the methods of the observers who want to be told of it
            event: tuple(getattr(one, event) for one in observers if getattr(type(one), event) is not default)
            for event, default in vars(Observer).items()
            if event[0] != "_"
        }
        self.on_call, self.on_write = self.told["has_called"], self.told["will_write"]
        self.on_share, self.on_detach = self.told["has_shared"], self.told["will_detach"]

    def __enter__(self) -> Self:
        """Put the wrappers in place."""
        if self.told["has_called"]:  # within what an observer puts around it, who lists what it is given
            self.replace(self.engine.autograd, "grad", self.wrapper_of(self.engine.autograd.grad, "grad"))
        for one in self.observers:
            one.attach(self)
        if self.told["has_called"]:
            self.listen_to_classes()
        if self.told["has_stepped"]:
            self.listen_to_optimizers()
        if any(map(self.told.get, OF_TENSORS)) and self.is_own:
            self.listen_to_gviz()
        elif any(map(self.told.get, OF_TENSORS)):
            self.replace(
                self.engine, "from_numpy", self.wrapper_of(self.engine.from_numpy, "from_numpy")
            )  # knows no modes
            self.mode = self.undoing.enter_context(mode_of_torch(WrappersOfTorch(self)))
        return self

    def __exit__(self, *_: object) -> None:
        """Put back what was there before."""
        self.resume(self.paused_by)
        self.is_inside = self.is_quiet = True  # a library that was loaded meanwhile may go on to hold a wrapper
        self.undoing.close()

    def pause(self, owner: object) -> None:
        """Tell of no calls until the owner resumes: PyTorch's mode, which costs each call, goes if innermost."""
        if self.paused_by is None:
            self.paused_by = owner
            if self.mode and self.engine.overrides._get_current_function_mode() is self.mode:  # noqa: SLF001
                self.mode.__exit__(None, None, None)
                self.is_mode_away = True

    def resume(self, owner: object) -> None:
        """Tell of calls again, if it was this owner who has made a pause."""
        if self.paused_by is owner:
            self.paused_by = None
            if self.is_mode_away:
                self.mode.__enter__()
                self.is_mode_away = False

    def replace(self, owner: object, name: str, value: object) -> None:
        """Replace an attribute of an object until the listener is left."""
        if isinstance(owner, type) and name not in vars(owner):  # it is a base class's
            self.undoing.callback(delattr, owner, name)
        else:
            before = vars(owner)[name] if isinstance(owner, type) else getattr(owner, name)
            self.undoing.callback(setattr, owner, name, before)
        setattr(owner, name, value)

    # ---------------------------------------------------------------- wrappers
    def wrapper_of(self, function: Any, name: str, *, inputs_of: Callable[[Any], tuple[Any, ...]] | None = None) -> Any:
        """Return a function that tells of its calls.

        Args:
            function: what is called.
            name: its name.
            inputs_of: gives what a call computes with; calls within it are told of first then. None for a call that is
                told of alone.
        """
        is_alone, timed, is_torch = inputs_of is None, self.timed, not self.is_own
        writes = name == "numpy" or (is_torch and is_write(name))  # who has the array may write it
        on_call, is_shared, is_detaching = self.on_call, name == "detach", name == "detach_"
        on_lend = self.told["has_lent"] if name in LENDS else ()

        @wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            if writes and args:
                self.will_write(args[0])
            if self.is_inside or self.paused_by is not None:
                return function(*args, **kwargs)
            if kwargs and is_torch and kwargs.get("out") is not None:
                self.will_write(kwargs["out"])
            for tell in self.on_detach if is_detaching else ():
                tell(args[0])
            self.is_inside, start = is_alone, perf_counter() if timed else 0.0
            try:
                result = function(*args, **kwargs)
                seconds, self.is_inside = perf_counter() - start if timed else 0.0, True
                if is_shared:
                    self.has_shared(args[0], result)
                for tell in on_lend:
                    tell(args[0] if name == "numpy" else result)
                inputs = args if inputs_of is None else inputs_of(args)
                inputs = (*inputs, *kwargs.values()) if kwargs else inputs
                for tell in on_call:
                    tell(name, inputs, result, seconds)
            finally:
                self.is_inside = False
            return result

        return call

    def will_write(self, tensors: object, *, is_counted: bool = True) -> None:
        """Tell that tensors are going to be written: one, or those of a list."""
        for tell in () if self.is_quiet else self.on_write:
            for one in tensors if isinstance(tensors, list | tuple) else (tensors,):
                if isinstance(one, self.engine.Tensor):
                    tell(one, is_counted=is_counted)

    def tell(self, event: str, optimizer: ParameterGroups, **more: bool) -> None:
        """Tell of an event of an optimizer."""
        with self.quiet():
            for tell in self.told[event]:
                tell(optimizer, **more)

    def has_shared(self, tensor: object, result: object, *, is_counted: bool = True) -> None:
        """Tell of a tensor on the memory of another."""
        for tell in () if self.is_quiet else self.on_share:
            tell(tensor, result, is_counted=is_counted)

    def attributes(self) -> Iterator[tuple[str, Any, Any]]:
        """Yield what is told of attributes of tensors: the name of each, what reads it, and what sets it."""
        data, flag, grad = (getattr(self.engine.Tensor, name) for name in ("data", "requires_grad", "grad"))
        got, gave = self.told["got_gradient"], self.told["gave_gradient"]

        def share(tensor: Any) -> Any:
            result = data.__get__(tensor)
            self.has_shared(tensor, result, is_counted=False)
            return result

        def set_data(tensor: Any, value: Any) -> None:
            self.will_write(tensor, is_counted=False)
            data.__set__(tensor, value)
            is_cut = not self.is_inside and self.paused_by is None and value.requires_grad and not tensor.requires_grad
            for tell in self.on_call if is_cut else ():
                tell("data_", (value,), tensor, 0.0)

        def read(leaf: Any) -> Any:
            for tell in () if self.is_inside else got:
                tell(leaf)
            return grad.__get__(leaf)

        def write(leaf: Any, value: Any = None) -> None:
            grad.__set__(leaf, value)
            if not self.is_inside:
                with self.quiet():
                    for tell in gave:
                        tell(leaf, value)

        yield "data", self.wrapper_of(share, "data"), set_data
        if self.on_call:
            yield "requires_grad", flag.__get__, self.wrapper_of(flag.__set__, "requires_grad_")
            for name in TURNED:
                attribute = getattr(self.engine.Tensor, name)
                yield name, self.wrapper_of(attribute.__get__, name), attribute.__set__
        if got:
            yield "grad", read, write

    # ---------------------------------------------------------------- the engines
    def listen_to_classes(self) -> None:
        """Tell of calls of Functions, and of gviz's own layers."""
        self.replace(
            (own := self.engine.autograd.Function), "apply", classmethod(self.wrapper_of(own.apply.__func__, "apply"))
        )
        if self.is_own:  # PyTorch's call functions that are listened to
            layer = class_of_calls(self.engine)
            calling = self.wrapper_of(
                layer.__call__, "__call__", inputs_of=lambda args: (*args[1:], *args[0].parameters())
            )
            self.replace(layer, "__call__", calling)
        else:  # whose mode is not asked for a Parameter
            make = self.engine.nn.Parameter.__new__
            cut = self.wrapper_of(lambda data, kind, flag: make(kind, data, flag), "detach")

            def new(kind: type, data: Any = None, requires_grad: object = True) -> Any:
                return (
                    cut(data, kind, requires_grad)
                    if getattr(data, "requires_grad", False)
                    else make(kind, data, requires_grad)
                )

            self.replace(self.engine.nn.Parameter, "__new__", staticmethod(new))

    def listen_to_optimizers(self) -> None:
        """Tell of the parameters of optimizers, and of their steps."""
        optimizers = import_module(f"{self.engine.__name__}.optim{'' if self.is_own else '.optimizer'}")
        add = optimizers.Optimizer.add_param_group

        @wraps(add)
        def add_param_group(optimizer: ParameterGroups, *args: object, **kwargs: object) -> None:
            add(optimizer, *args, **kwargs)
            self.tell("has_parameters", optimizer)

        self.replace(optimizers.Optimizer, "add_param_group", add_param_group)
        for hook in (
            optimizers.register_optimizer_step_pre_hook(  # the optimizer is the first of the arguments
                lambda one, args, words: self.tell(
                    "will_step", one, has_closure=len(args) > 1 or words.get("closure") is not None
                )
            ),
            optimizers.register_optimizer_step_post_hook(lambda one, *_: self.tell("has_stepped", one)),
        ):
            self.undoing.callback(hook.remove)

    def listen_to_gviz(self) -> None:
        """Put wrappers in the place of functions and attributes of gviz's engine, which tells of writes by itself."""
        tensor, spaces = self.engine.Tensor, SPACES if self.on_call else ()
        self.replace(import_module("gviz.autograd.modes").mode, "writing", self.will_write)
        for home in (tensor, *(import_module(f"{ENGINE}{space}") for space in spaces)):
            for name, function in [*vars(home).items()]:
                is_public = name[0] != "_" and name not in MAKE_NONE
                is_wanted = is_public or name in OPERATORS or name in NUMBERS if self.on_call else name in MEMORY
                if is_wanted and isinstance(function, FunctionType):
                    self.replace(home, name, self.wrapper_of(function, name))
        for name, read, write in self.attributes():
            self.replace(
                tensor,
                name,
                property(read, write, write if name == "grad" else None, getattr(tensor, name).__doc__),
            )


NO_CALLS = ("__get__", "__set__", "__delete__", "_record_function")
"""How names begin of PyTorch's that are attributes, or belong to its profiler."""


class WrappersOfTorch(dict[Any, Any]):
    """PyTorch's functions, each with what is called in its place; a wrapper is made when its function is called first.

    Args:
        listener: what makes the wrappers.
    """

    def __init__(self, listener: Listener) -> None:
        super().__init__()
        self.listener = listener
        for name, read, write in listener.attributes():
            attribute = getattr(listener.engine.Tensor, name)
            self.update({attribute.__get__: read, attribute.__set__: write, attribute.__delete__: write})

    def __missing__(self, function: Any) -> Any:
        name = getattr(function, "__name__", "")
        is_untold = name in MAKE_NONE or name.startswith(NO_CALLS)
        return self.setdefault(function, function if is_untold else self.listener.wrapper_of(function, name))


def mode_of_torch(wrappers: WrappersOfTorch) -> Any:
    """Return PyTorch's mode in which wrappers are called in the place of its functions, but where it compiles them."""
    listener = wrappers.listener

    class Mode(import_module("torch.overrides").TorchFunctionMode):  # type: ignore[misc]
        def __torch_function__(
            self, function: Any, types: object, args: tuple[Any, ...] = (), kwargs: Any = None
        ) -> Any:
            call = function if listener.paused_by is not None or listener.is_compiling() else wrappers[function]
            return call(*args, **kwargs) if kwargs else call(*args)

    return Mode()


def is_write(name: str) -> bool:
    """Return whether a function of PyTorch writes its first argument, by its name.

    >>> [name for name in ("add_", "__iadd__", "__setitem__", "add", "__add__", "detach_") if is_write(name)]
    ['add_', '__iadd__', '__setitem__']
    """
    return (
        (name in OPERATORS and name[:3] == "__i")
        or name == "__setitem__"
        or (name[-1:] == "_" and name[-2:] != "__" and name not in NO_WRITES)
    )


def is_used_up(values: object) -> bool:
    """Return whether an iterator has come to its end, be it that a ``filter`` or ``map`` takes it.

    >>> numbers = (one for one in [1])
    >>> is_used_up(numbers), list(numbers), is_used_up(numbers), is_used_up([]), is_used_up(filter(None, numbers))
    (False, [1], True, False, True)
    >>> rest = iter([1, 2])
    >>> is_used_up(rest), list(rest), is_used_up(rest)
    (False, [1, 2], True)
    """
    return any(
        one.gi_frame is None if isinstance(one, GeneratorType) else isinstance(one, Iterator) and not get_referents(one)
        for one in (get_referents(values) if isinstance(values, filter | map) else [values])
    )


def class_of_calls(engine: ModuleType) -> Any:
    """Return the class whose ``__call__`` runs when a program calls a layer of an engine."""
    return next(kind for kind in import_module(f"{engine.__name__}.nn").Module.__mro__ if "__call__" in vars(kind))
