"""Layers by what they take: options that are declared in PyTorch's order, a function, and parameters of known shapes."""

from __future__ import annotations

from collections.abc import Iterable
from inspect import CO_VARKEYWORDS, unwrap
from itertools import takewhile
from typing import Any, ClassVar

from gviz.engine.device import check_device
from gviz.numbers.classes import lent
from gviz.numbers.words import bound
from gviz.engine.nn.checks import LAYER_CHECKS
from gviz.engine.nn.module import Module
from gviz.engine.nn.parameter import Parameter, filled

__all__ = ["LAYERS", "MADE", "Layer", "each"]

LAYERS: dict[str, Any] = {}
"""All that are declared, by their names."""

MADE: dict[str, Any] = {"device": None, "dtype": None}
"""Where and in which type parameters are made."""

UNKEPT = (*MADE, "bias", "size_average", "reduce", "*")
"""What becomes no attribute: ``bias`` says whether there is such a parameter, the next two PyTorch no longer keeps."""


def each(value: Any, count: int) -> tuple[Any, ...]:
    """One for every dimension, or those that were given, however many: how layers keep sizes."""
    return tuple(value) if isinstance(value, Iterable) else (value,) * count


class Layer(Module):
    """A function as a module: its options become attributes; what it has learnt, or weighs with, is among the parameters."""

    _options: ClassVar[dict[str, Any]] = {}
    _refuser: ClassVar[str]
    _function: ClassVar[Any]
    _inputs: ClassVar[dict[str, Any]]
    _passed: ClassVar[list[str]]
    _in_turn: ClassVar[bool]
    """Whether what is passed stands right behind the inputs among the function's parameters: by position it is quicker."""
    _shapes: ClassVar[dict[str, str]] = {}
    """The parameters, with the names of the options that are their sizes."""
    _shown: ClassVar[str | None] = None
    bias: Any

    def __init_subclass__(
        cls, home: str = "", options: dict[str, Any] | None = None, refuser: str = "", function: Any = None
    ) -> None:
        """Declare a layer.

        Args:
            home: the file that PyTorch has it in; a class of the user's has none.
            options: in PyTorch's order, with their defaults: see :func:`words.bound`.
            refuser: the class whose ``__init__`` refuses arguments in PyTorch, where it is a base of the layer.
            function: it is called with the inputs and, for its other parameters, with the attributes of their names.
        """
        cls._options = cls._options if options is None else options
        if home:
            cls.__module__ = f"torch.nn.modules.{home}"
            cls._refuser = refuser or cls.__name__
            LAYERS[cls.__name__] = cls
            if cls.forward is not Layer.forward and "forward" not in vars(cls):  # PyTorch has one for each
                owner = f"_{cls.__name__[:-2]}" if "Norm" in cls.__name__ else cls.__name__
                cls.forward = lent(cls.forward, owner)  # type: ignore[method-assign]
        if function is not None:
            cls._function = staticmethod(function)
            code = unwrap(function).__code__
            names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
            own = [*cls._shapes, *(name for name in cls._options if name not in UNKEPT), "training"]
            inputs = list(takewhile(lambda name: name not in own and name not in UNKEPT, names))
            cls._inputs = {"input" if name == "x" else name: ... for name in inputs}
            various = bool(code.co_flags & CO_VARKEYWORDS)  # an activation
            cls._passed = own[:-1] if various else [name for name in names if name in own]
            cls._in_turn = [*names[len(inputs) :]][: len(cls._passed)] == cls._passed and "reduce" not in cls._options
            cls._in_turn = cls._in_turn or various

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__()
        self._take(bound(f"{self._refuser}.__init__", self._options, args, kwargs, before=1))

    def _take(self, values: dict[str, Any]) -> None:
        """Keep the values of the options, and make the parameters."""
        check_device(values.get("device") or "cpu")
        if self._refuser in LAYER_CHECKS:
            LAYER_CHECKS[self._refuser](**values)
        for name, value in values.items():
            if name not in UNKEPT:
                setattr(self, name, value)
        shapes = self._shaped(values.get("bias", True))
        for name, shape in shapes.items():
            self.register_parameter(name, None if shape is None else Parameter(filled(shape, 0, values["dtype"])))
        if shapes:
            self.reset_parameters()

    def _shaped(self, bias: bool) -> dict[str, Any]:
        """The parameters' shapes, as they were given; None for one that is not wanted."""
        found: dict[str, Any] = {}
        for name, named in self._shapes.items():
            given = [getattr(self, size) for size in named.split()]
            found[name] = None if name == "bias" and not bias else given[0] if len(given) == 1 else tuple(given)
        return found

    def reset_parameters(self) -> None:
        """Initial values."""
        raise NotImplementedError

    def forward(self, *inputs: Any, **named: Any) -> Any:
        """The function of the input, or of the inputs."""
        if named or len(inputs) != len(self._inputs):
            inputs = tuple(bound(f"{type(self).__name__}.forward", self._inputs, inputs, named, before=1).values())
        if self._in_turn:
            return self._function(*inputs, *[getattr(self, name) for name in self._passed])
        return self._function(*inputs, **{name: getattr(self, name) for name in self._passed})

    @property
    def has_bias(self) -> bool:
        """Whether there is one."""
        return self.bias is not None

    def extra_repr(self) -> str:
        """What the layer says it shows, else the options."""
        if self._shown is not None:
            return self._shown.format(self=self)
        values = {name: self.has_bias if name == "bias" else getattr(self, name) for name in self._options if name not in MADE}
        told = [f"{name}={value}" for name, value in values.items() if name != "inplace"]
        return ", ".join(told + ["inplace=True"] * bool(values.get("inplace")))

    def unusual(self, usual: dict[str, Any]) -> str:
        """Those of the options that are not as usual, as text."""
        return "".join(f", {name}={getattr(self, name)}" for name, value in usual.items() if getattr(self, name) != value)
