"""Modules that hold others, or parameters: Sequential, ModuleList, ModuleDict, ParameterList, ParameterDict."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from itertools import groupby
from typing import TYPE_CHECKING, Any, ClassVar

from gviz.autograd.tensor import Tensor
from gviz.engine.nn.module import Module, bracketed
from gviz.engine.nn.parameter import Parameter
from gviz.numbers.words import type_name

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Self

__all__ = ["ModuleDict", "ModuleList", "ParameterDict", "ParameterList", "Sequential"]

class Holder(Module):
    """Base of all: what is held is among the modules, or the parameters."""

    _home: ClassVar[str] = "_modules"

    @property
    def held(self) -> dict[str, Any]:
        """What is held, by name."""
        return getattr(self, self._home)

    def put(self, name: str, value: Any) -> None:
        """Hold a module; or a parameter, which a plain tensor becomes."""
        if self._home == "_parameters" and type(value) is Tensor:
            value = Parameter(value)
        self.admit(self._home, name, value)

    def __len__(self) -> int:
        return len(self.held)

    def __getitem__(self, key: Any) -> Any:
        return self.held[key]

    def __delitem__(self, key: Any) -> None:
        del self.held[key]

    def extra_repr(self) -> str:
        """Return a line for each parameter that is held."""
        held = {} if self._home == "_modules" else self.held
        kinds = ((k, v.dtype if isinstance(self, Numbered) else type_name(v._array.dtype), v.shape) for k, v in held.items())
        return "\n".join(f"  ({k}): Parameter containing: [{kind} of size {'x'.join(map(str, n))}]" for k, kind, n in kinds)

    def pop(self, key: Any) -> Any:
        """Take something out."""
        found = self[key]
        del self[key]
        return found

class Numbered(Holder):
    """Things by number, with the manners of Python's lists."""

    def __init__(self, values: Iterable[Any] | None = None) -> None:
        super().__init__()
        self.extend(() if values is None else values)

    def named(self, position: Any) -> Any:
        """Return the name at a number, or the names of a slice."""
        try:
            return list(self.held)[position]
        except IndexError:
            raise IndexError(f"index {position} is out of range") from None

    def __getitem__(self, position: Any) -> Any:
        names = self.named(position)
        if not isinstance(position, slice):
            return self.held[names]
        chosen = OrderedDict((name, self.held[name]) for name in names)
        return type(self)(chosen if isinstance(self, Sequential) else chosen.values())

    def __setitem__(self, position: int, value: Any) -> None:
        setattr(self, self.named(position), value)

    def __delitem__(self, position: Any) -> None:
        names = self.named(position)
        for name in names if isinstance(position, slice) else [names]:
            del self.held[name]
        self.number(list(self))

    def number(self, values: list[Any]) -> None:
        """Hold these, under numbers from 0."""
        self.held.clear()
        for value in values:
            self.append(value)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.held.values())

    def __add__(self, values: Iterable[Any]) -> Self:
        return type(self)([*self, *values])

    def append(self, value: Any) -> Self:
        """Add one at the end."""
        self.put(str(len(self)), value)
        return self

    def extend(self, values: Iterable[Any]) -> Self:
        """Add several."""
        for value in list(values):
            self.append(value)
        return self

    __iadd__ = extend

    def insert(self, position: int, value: Any) -> Any:
        """Add one at a place."""
        values = list(self)
        values.insert(position, value)
        self.number(values)
        return self

class Sequential(Numbered):
    """Modules called one after the other."""

    def __init__(self, *modules: Any) -> None:
        super().__init__()
        named = len(modules) == 1 and isinstance(modules[0], OrderedDict)
        for name, module in modules[0].items() if named else enumerate(modules):
            self.add_module(str(name), module)

    def __add__(self, values: Any) -> Sequential:
        return Sequential(*self, *values)

    def forward(self, input: Any) -> Any:
        """Call each module on what the one before gave."""
        for module in self:
            input = module(input)
        return input

class ModuleList(Numbered):
    """A list of modules that the one holding it finds."""

    def __repr__(self) -> str:
        """Return it as PyTorch prints it: equal neighbours on one line, ``(0-2): 3 x Linear(...)``."""
        runs, first = [], 0
        for text, group in groupby(map(repr, self)):
            count = len(list(group))
            runs.append((f"{first}", text) if count == 1 else (f"{first}-{first + count - 1}", f"{count} x {text}"))
            first += count
        return bracketed(self._get_name(), [], runs)

def of_held(name: str) -> Any:
    """Return the method of that name of the dict that is held."""
    return lambda self: getattr(self.held, name)()

class Named(Holder):
    """Things by name, with the manners of Python's dicts."""

    def __init__(self, values: Any = None) -> None:
        super().__init__()
        self.update({} if values is None else values)

    def __setitem__(self, key: str, value: Any) -> None:
        self.put(key, value)

    def __iter__(self) -> Iterator[str]:
        return iter(self.held)

    def update(self, values: Any) -> None:
        """Add what is in a dict, or in pairs."""
        for key, value in values.items() if isinstance(values, Mapping | Named) else values:
            self[key] = value

    keys, values, items, clear = map(of_held, ("keys", "values", "items", "clear"))

class ModuleDict(Named):
    """A dict of modules that the one holding it finds."""

class ParameterDict(Named):
    """A dict of parameters."""

    _home = "_parameters"

    def update(self, values: Any) -> None:
        """Add what is in a dict, in the order of the names if this has none of its own, or in pairs."""
        super().update(sorted(values.items()) if isinstance(values, dict) and not isinstance(values, OrderedDict) else values)

class ParameterList(Numbered):
    """A list of parameters."""

    _home = "_parameters"

for container in (Sequential, ModuleList, ModuleDict, ParameterDict, ParameterList):
    container.__module__ = "torch.nn.modules.container"
