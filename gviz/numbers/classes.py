"""What messages call the class of a value, and which values are the real PyTorch's."""

from __future__ import annotations

from types import FunctionType
from typing import Any

__all__ = ["MIXED", "BuiltIn", "call_after", "is_pytorchs", "left_over", "lent", "refuse_mixing", "type_text"]

MIXED = "gviz's engine and PyTorch do not mix"
CLASS_STATEMENT = 1 << 9
"""The flag of a class that a class statement made."""


class BuiltIn(type):
    """What makes a class that is C's own in PyTorch: Python's messages call it by its module too (``torch.dtype``)."""

    def __new__(cls, name: str, bases: Any, body: dict[str, Any]) -> Any:
        """A class; one that a program derives from it is called by its own name."""
        short, home = body.get("__qualname__", name), body["__module__"]
        body["__qualname__"] = short
        return super().__new__(cls, f"{home}.{short}" if home.partition(".")[0] == "torch" else name, bases, body)

    @property
    def __name__(cls) -> str:  # type: ignore[override]
        return cls.__qualname__.rpartition(".")[2]


TP_NAME: Any = vars(type)["__name__"]
"""What Python's messages call a class, which for one of these is not its ``__name__``."""


def is_pytorchs(kind: type) -> bool:
    """Whether a class is the real PyTorch's: one of those of its classes that are C's is below it."""
    return any(one.__module__.partition(".")[0] == "torch" and not one.__flags__ & CLASS_STATEMENT for one in kind.__mro__)


def type_text(value: Any) -> str:
    """What messages call the type of a value: with the module where the type is C's own, here or in PyTorch."""
    kind = type(value)
    plain = kind.__flags__ & CLASS_STATEMENT or kind.__module__ == "builtins"
    name = TP_NAME.__get__(kind) if plain else f"{kind.__module__}.{kind.__qualname__}"
    return f"{name} of PyTorch ({MIXED})" if is_pytorchs(kind) else name


def call_after(owner: str, *kinds: type) -> None:
    """Let Python's messages call the methods of a class by another: that which has them in PyTorch."""
    for kind in kinds:
        for name, method in vars(kind).items():
            method = getattr(method, "__func__", method)  # noqa: PLW2901 - __new__ is a static one
            if isinstance(method, FunctionType):
                method.__qualname__ = f"{owner}.{name}"


def lent(method: Any, owner: str) -> Any:
    """A copy of a method for another class, by which messages call it."""
    made = FunctionType(method.__code__, method.__globals__, method.__name__, method.__defaults__, method.__closure__)
    made.__doc__, made.__kwdefaults__, made.__qualname__ = method.__doc__, method.__kwdefaults__, f"{owner}.{method.__name__}"
    return made


def refuse_mixing(value: Any) -> None:
    """TypeError: a value of the real PyTorch's."""
    if is_pytorchs(type(value)):
        raise TypeError(MIXED)


def left_over(operand: Any) -> Any:
    """What an operator gives for an operand that it does not know: Python names both types then. TypeError: it is PyTorch's."""
    refuse_mixing(operand)
    return NotImplemented
