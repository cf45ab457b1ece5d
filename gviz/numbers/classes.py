"""Classes as messages name them, values of the real PyTorch, and results whose items have names."""

from __future__ import annotations

from functools import cache
from operator import itemgetter
from typing import Any

MIXED = "gviz's engine and PyTorch do not mix"
CLASS_STATEMENT = 1 << 9
"""The flag of a class that a class statement made."""


def is_pytorchs(cls: type) -> bool:
    """Return whether a class is the real PyTorch's: one of those of its classes that are written in C is below it."""
    return any(
        one.__module__.partition(".")[0] == "torch" and not one.__flags__ & CLASS_STATEMENT for one in cls.__mro__
    )


def type_text(value: object) -> str:
    """Return what messages call the type of a value: with its module if it is PyTorch's own, here or there."""
    cls = type(value)
    owned = cls.__module__ in ("torch", "numpy") and cls.__name__ != "Tensor"
    name = f"{cls.__module__}.{cls.__qualname__}" if owned else cls.__name__
    return f"{name} of PyTorch ({MIXED})" if is_pytorchs(cls) else name


class Results(tuple):  # type: ignore[type-arg] # noqa: SLOT001 - subclasses add properties
    """A tuple whose items have names, printed as PyTorch prints ``torch.return_types.max``."""

    names: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return "torch.return_types.{}(\n{})".format(
            type(self).__name__,
            ",\n".join(f"{name}={value!r}" for name, value in zip(self.names, self, strict=True)),
        )


@cache
def result_class(name: str, names: tuple[str, ...]) -> Any:
    """Return the class of that name, with a property for each output."""
    return type(
        name,
        (Results,),
        {
            "names": names,
            "__module__": "torch.return_types",
            **{each: property(itemgetter(i)) for i, each in enumerate(names)},
        },
    )
