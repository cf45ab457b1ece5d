"""Named results: ``torch.return_types.max`` and its kin."""

from __future__ import annotations

from functools import cache
from operator import itemgetter
from typing import Any

from gviz.numbers.classes import BuiltIn

__all__ = ["Results", "result_class"]


class Results(tuple, metaclass=BuiltIn):  # type: ignore[type-arg] # noqa: SLOT001 - subclasses add properties
    """A tuple whose items have names, printed as PyTorch prints them."""

    names: tuple[str, ...] = ()

    def __repr__(self) -> str:
        items = ",\n".join(f"{name}={value!r}" for name, value in zip(self.names, self, strict=True))
        return f"torch.return_types.{type(self).__name__}(\n{items})"


@cache
def result_class(name: str, names: tuple[str, ...]) -> Any:
    """The class of that name, with a property for each output."""
    body: dict[str, Any] = {"names": names, "__module__": "torch.return_types"}
    body.update({n: property(itemgetter(i)) for i, n in enumerate(names)})
    return type(name, (Results,), body)
