"""Layers by what they take: options that are declared in PyTorch's order, and parameters whose shapes follow from them."""

from __future__ import annotations

from typing import Any, ClassVar

from gviz.engine.nn.module import Module
from gviz.engine.nn.parameter import Parameter, filled
from gviz.engine.text import bound, check_device

__all__ = ["LAYERS", "MADE", "Layer", "Weighted"]

LAYERS: dict[str, Any] = {}
"""All that are declared, by their names."""

MADE: dict[str, Any] = {"device": None, "dtype": None}
"""Where and in which type parameters are made."""


class Layer(Module):
    """A module whose options become its attributes."""

    _options: ClassVar[dict[str, Any]] = {}
    _refuser: ClassVar[str]

    def __init_subclass__(cls, home: str = "", options: dict[str, Any] | None = None, refuser: str = "") -> None:
        """Declare a layer.

        Args:
            home: the file that PyTorch has it in; a class of the user's has none.
            options: in PyTorch's order, with their defaults: see :func:`text.bound`.
            refuser: the class whose ``__init__`` refuses arguments in PyTorch, where it is a base of the layer.
        """
        cls._options = cls._options if options is None else options
        if home:
            cls.__module__ = f"torch.nn.modules.{home}"
            cls._refuser = refuser or cls.__name__
            LAYERS[cls.__name__] = cls

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__()
        self._take(bound(f"{self._refuser}.__init__", self._options, args, kwargs, before=1))

    def _take(self, values: dict[str, Any]) -> None:
        """Keep the values of the options."""
        for name, value in values.items():
            setattr(self, name, value)

    def unusual(self, usual: dict[str, Any]) -> str:
        """Those of the options that are not as usual, as text."""
        return "".join(f", {name}={getattr(self, name)}" for name, value in usual.items() if getattr(self, name) != value)


class Weighted(Layer):
    """A layer with parameters."""

    bias: Any

    def _take(self, values: dict[str, Any]) -> None:
        """Keep the values of the options, and make the parameters."""
        dtype, bias = values.pop("dtype"), values.pop("bias", True)
        check_device(values.pop("device") or "cpu")
        super()._take(values)
        shapes = self._shapes(bias)
        for name, shape in shapes.items():
            self.register_parameter(name, None if shape is None else Parameter(filled(shape, 0, dtype)))
        if shapes:
            self.reset_parameters()

    def _shapes(self, bias: bool) -> dict[str, tuple[int, ...] | None]:
        """The parameters; None for one that is not wanted."""
        raise NotImplementedError

    def reset_parameters(self) -> None:
        """Initial values."""
        raise NotImplementedError

    @property
    def has_bias(self) -> bool:
        """Whether there is one."""
        return self.bias is not None
