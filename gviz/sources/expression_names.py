"""The names of an expression's tensors: those it assigns, and a, b, c ... for what it leaves without a name."""

from __future__ import annotations

from itertools import count, product
from typing import TYPE_CHECKING, Any

from gviz.sources.expression_limits import is_tensor
from gviz.sources.names import FIELDS

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

__all__ = ["ROOT_NAME", "Naming", "letters", "parts_of"]

ROOT_NAME = "graph"
"""The name of a root that has none."""


class Naming:
    """Keeps every named tensor, in the order of first assignment.

    Args:
        taken: names that the program mentions, which no unnamed tensor may get.
    """

    def __init__(self, taken: Collection[str]) -> None:
        self.expressions: dict[str, str] = {}
        self._taken = set(taken)
        self._letters = letters()
        self._records: list[tuple[str, Any]] = []
        self._by_tensor: dict[int, str] = {}  # by identity; the records keep every tensor alive
        self._times: dict[str, int] = {}
        self._position: dict[str, int] = {}

    @property
    def tensors(self) -> dict[str, Any]:
        """Name -> tensor, in the order of first assignment."""
        return dict(self._records)

    def name_of(self, tensor: Any) -> str | None:
        """The tensor's first name, None if it has none."""
        return self._by_tensor.get(id(tensor))

    def assign(self, name: str, value: Any) -> None:
        """Note that the program gives a name to a tensor, or to a tuple of tensors, whose parts are named by their places.

        A name that is assigned again belongs to the later tensor; the earlier one becomes ``x (1st)``.
        """
        if is_tensor(value):
            self._assign(name, value)
        elif isinstance(value, tuple | list):
            for part, text in parts_of(value, name):
                if self.name_of(part) is None:
                    self._assign(text, part)

    def unnamed(self, tensor: Any, text: str, is_new: bool) -> str | None:
        """The name of a tensor that is computed on the way: one that it has, else the next free letter if it is new.

        Args:
            tensor: what was computed.
            text: what it stands for.
            is_new: whether to name it at all.
        """
        name = self.name_of(tensor)
        if name is None and is_new:
            name = next(letter for letter in self._letters if letter not in self._taken)
            self._assign(name, tensor)
            self.expressions[name] = text
        return name

    def root(self, tensor: Any, text: str) -> str:
        """The name of a root that the program does not name: ``graph``."""
        name = self.name_of(tensor)
        if name is None:
            name = next(free for free in self._root_names() if free not in self._taken)
            self._assign(name, tensor)
            self.expressions[name] = text
        return name

    def _root_names(self) -> Iterator[str]:
        yield ROOT_NAME
        for number in count(2):
            yield f"{ROOT_NAME}{number}"

    def _assign(self, name: str, tensor: Any) -> None:
        if name in self._position:
            position = self._position[name]
            before = self._records[position][1]
            if before is tensor:
                return
            self._times[name] = self._times.get(name, 0) + 1
            old = f"{name} ({_ordinal(self._times[name])})"
            self._records[position] = (old, before)
            if self._by_tensor.get(id(before)) == name:
                self._by_tensor[id(before)] = old
        self._position[name] = len(self._records)
        self._records.append((name, tensor))
        self._by_tensor.setdefault(id(tensor), name)


def parts_of(value: tuple[Any, ...] | list[Any], name: str) -> list[tuple[Any, str]]:
    """The tensors in a tuple, each with how it is written: ``m.values`` where it has a field's name, else ``m[0]``."""
    fields = {
        id(getattr(value, field)): field for field in sorted(FIELDS) if isinstance(value, tuple) and hasattr(value, field)
    }
    return [
        (part, f"{name}.{fields[id(part)]}" if id(part) in fields else f"{name}[{number}]")
        for number, part in enumerate(value)
        if is_tensor(part)
    ]


def letters() -> Iterator[str]:
    """a, b, ... z, aa, ab, ... without end.

    >>> from itertools import islice
    >>> list(islice(letters(), 25, 29))
    ['z', 'aa', 'ab', 'ac']
    """
    for length in count(1):
        for combination in product("abcdefghijklmnopqrstuvwxyz", repeat=length):
            yield "".join(combination)


def _ordinal(number: int) -> str:
    endings = {1: "st", 2: "nd", 3: "rd"}
    return f"{number}{endings.get(number % 10, 'th') if number % 100 not in (11, 12, 13) else 'th'}"
