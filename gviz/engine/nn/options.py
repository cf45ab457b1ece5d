"""Layers by what they take.

A line of options, a function that they are arguments of, and parameters of known shapes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any, ClassVar

from gviz.engine.creation import empty
from gviz.engine.nn import init
from gviz.engine.nn.module import Module
from gviz.engine.nn.parameter import Parameter

LAYERS: dict[str, Any] = {}
"""All that are declared, by their names."""

MADE = "device=None, dtype=None"
"""Where and in which type parameters are made."""

UNKEPT = {"self", "device", "dtype", "bias", "size_average", "reduce"}
"""What becomes no attribute: ``bias`` says whether there is such a parameter, the last two PyTorch no longer keeps."""


def each(value: object, count: int) -> tuple[Any, ...]:
    """Return one for every dimension, or those that were given, however many: how layers keep sizes."""
    return tuple(value) if isinstance(value, Iterable) else (value,) * count


def method(kind: type, name: str, takes: str, gives: str, **names: object) -> Any:
    """Write a method from its parameters and what it returns: Python itself binds arguments and refuses wrong ones."""
    function = eval(f"lambda self, {takes}: {gives}", {**names, "__name__": __name__})  # noqa: S307 - gviz's own
    function.__name__, function.__qualname__, function.__module__ = name, f"{kind.__name__}.{name}", kind.__module__
    setattr(kind, name, function)
    return function.__code__.co_varnames[1:]


def refuse_options(refused: dict[str, Any], values: dict[str, Any]) -> None:
    """Refuse options with the first of these messages whose function of them is true.

    As ValueError, or as the class of error that it returns.
    """
    for message, wrong in refused.items():
        if error := wrong(**values):
            raise (error if isinstance(error, type) else ValueError)(message.format(**values))


def begin_uniform(self: Any) -> None:
    """Write values uniform within one over the root of the number of inputs, as most layers with weights begin."""
    init.kaiming_uniform_(self.weight, a=math.sqrt(5))
    if self.bias is not None:
        init.within([self.bias], init.fans(self.weight)[0])


class Layer(Module):
    """A function as a module: its options become attributes, the tensors that it learns become parameters."""

    _takes_: ClassVar[str] = ""
    _options_: ClassVar[tuple[str, ...]] = ()
    _shapes_: ClassVar[dict[str, str]] = {}
    _shown_: ClassVar[str | None] = None
    _usual_: ClassVar[dict[str, Any]] = {}
    _tuples_: ClassVar[dict[str, int]] = {}
    _refused_: ClassVar[dict[str, Any]] = {}

    def __init_subclass__(
        cls,
        home: str = "",
        function: Callable[..., Any] | None = None,
        inputs: str = "input",
        more: str = "",
        less: str = "",
        begin: Callable[..., Any] | None = None,
        **facts: object,
    ) -> None:
        """Declare a layer; a subclass of the user's declares nothing.

        Args:
            home: the file that PyTorch has it in.
            function: it is called with the inputs and, by their names, with the parameters and the options.
            inputs: what ``forward`` takes.
            more: attributes that the function is called with, too.
            less: options that it is not called with; those that are sizes of parameters are not among them anyway.
            begin: the function that writes initial values, if not as usual.
            facts: ``takes``: the options as parameters of a Python function. ``shapes``: the parameters, with the names
                of the options that are their sizes. ``shown``: the text in the brackets, if it is not all options, and
                ``usual``: options that follow it where they are something else. ``tuples``: options that are kept as
                tuples, of how many numbers where one is given. ``refused``: messages, each with a function of the
                options that is true if it is due; the error is a ValueError, or of the class that the function returns.
        """
        for name, value in facts.items():
            setattr(cls, f"_{name}_", value)
        if begin is not None or not (
            {"_shapes_", "_shaped_"}.isdisjoint(vars(cls)) or hasattr(cls, "reset_parameters")
        ):
            cls.reset_parameters = begin or begin_uniform  # type: ignore[attr-defined] # only of these classes
        if home:
            cls.__module__ = f"torch.nn.modules.{home}"
            LAYERS[cls.__name__] = cls
            if "__init__" not in vars(cls):
                cls._options_ = method(
                    cls, "__init__", cls._takes_, "Module.__init__(self) or self._take_(locals())", Module=Module
                )
        if function is not None:
            apart = {*UNKEPT, *less.split(), *" ".join(cls._shapes_.values()).split()}
            option_names = [*cls._shapes_, *(name for name in cls._options_ if name not in apart), *more.split()]
            arguments = [one.replace("=None", f"={one.partition('=')[0]}") for one in inputs.split(", ")]
            words = ", ".join([*arguments, *(f"{name}=self.{name}" for name in option_names)])
            method(cls, "forward", inputs, f"function({words})", function=function)

    def _take_(self, values: dict[str, Any]) -> None:
        """Keep the values of the options, and make the parameters."""
        refuse_options(self._refused_, values)
        for name, value in values.items():
            if name not in UNKEPT:
                is_tuple = name in self._tuples_ and not isinstance(value, str)
                setattr(self, name, each(value, self._tuples_[name]) if is_tuple else value)
        shapes = self._shaped_(values.get("bias", True))
        for name, shape in shapes.items():
            self.register_parameter(
                name, None if shape is None else Parameter(empty(shape, values["dtype"], values["device"]))
            )
        if shapes:
            self.reset_parameters()

    def _shaped_(self, bias: bool) -> dict[str, Any]:
        """Return the parameters' shapes; None for one that is not wanted."""
        sizes = {
            name: [getattr(self, size) for size in size_names.split()] for name, size_names in self._shapes_.items()
        }
        return {k: None if k == "bias" and not bias else v[0] if len(v) == 1 else tuple(v) for k, v in sizes.items()}

    def extra_repr(self) -> str:
        """Return what the layer says it shows, else the options."""
        values = {**vars(self), "bias": getattr(self, "bias", None) is not None}
        if self._shown_ is not None:
            return self._shown_.format(**values) + self._unusual_(
                {k: v for k, v in self._usual_.items() if k in self._options_}
            )
        texts = [f"{name}={values[name]}" for name in self._options_ if name in values and name != "inplace"]
        return ", ".join(texts + ["inplace=True"] * bool(values.get("inplace")))

    def _unusual_(self, usual: dict[str, Any]) -> str:
        """Return those of the options that are not as usual, as text."""
        return "".join(
            f", {name}={getattr(self, name)}" for name, value in usual.items() if getattr(self, name) != value
        )
