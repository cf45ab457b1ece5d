"""Modules that hold others, or parameters: Sequential, ModuleList, ModuleDict, ParameterList, ParameterDict."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Mapping
from itertools import pairwise
from operator import index
from typing import TYPE_CHECKING, Any, ClassVar

from gviz.numbers.words import type_name
from gviz.engine.nn.module import Module, bracketed
from gviz.engine.nn.parameter import Parameter
from gviz.autograd.tensor import Tensor

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Self

__all__ = ["ModuleDict", "ModuleList", "ParameterDict", "ParameterList", "Sequential"]


class Holder(Module):
    """Base of all: what is held is among the modules, or the parameters."""

    _home: ClassVar[str] = "_modules"

    def put(self, name: str, value: Any) -> None:
        """Hold a module; or a parameter, which a plain tensor becomes."""
        if self._home == "_modules":
            self.add_module(name, value)
        else:
            self.register_parameter(name, Parameter(value) if isinstance(value, Tensor) and type(value) is Tensor else value)

    @property
    def held(self) -> dict[str, Any]:
        """What is held, by name."""
        return getattr(self, self._home)  # type: ignore[no-any-return]

    def __len__(self) -> int:
        return len(self.held)

    def __getitem__(self, key: Any) -> Any:
        return self.held[key]

    def __delitem__(self, key: Any) -> None:
        del self.held[key]

    def pop(self, key: Any) -> Any:
        """Take something out."""
        found = self[key]
        del self[key]
        return found


class Numbered(Holder):
    """Things by number, with Python's list manners."""

    def place(self, position: Any) -> str:
        """The name at a number."""
        number = index(position)
        if not -len(self) <= number < len(self):
            raise IndexError(f"index {number} is out of range")
        return list(self.held)[number]

    def __getitem__(self, position: Any) -> Any:
        if not isinstance(position, slice):
            return self.held[self.place(position)]
        chosen = OrderedDict(list(self.held.items())[position])
        return type(self)(chosen) if isinstance(self, Sequential) else type(self)(chosen.values())

    def __setitem__(self, position: int, value: Any) -> None:
        setattr(self, self.place(position), value)

    def __delitem__(self, position: Any) -> None:
        names = list(self.held)
        for name in names[position] if isinstance(position, slice) else [self.place(position)]:
            del self.held[name]
        self.number(list(self))

    def number(self, values: list[Any]) -> None:
        """Hold these, under numbers from 0."""
        self.held.clear()
        self.held.update((str(i), value) for i, value in enumerate(values))

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
        if not hasattr(type(values), "__iter__") or (isinstance(values, Tensor) and self._home == "_parameters"):
            raise TypeError(f"{type(self).__name__}.extend should be called with an iterable, but got {type(values).__name__}")
        for value in values:
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
        for name, module in modules[0].items() if named else ((str(i), module) for i, module in enumerate(modules)):
            self.add_module(name, module)

    def __add__(self, values: Any) -> Sequential:
        return Sequential(*self, *summand(values))

    def __iadd__(self, values: Any) -> Self:
        return self.extend(summand(values))

    def extend(self, values: Iterable[Any]) -> Self:
        """Add several."""
        for value in values:
            self.append(value)
        return self

    def __mul__(self, times: Any) -> Sequential:
        return Sequential(*list(self) * factor(self, times))

    __rmul__ = __mul__

    def __imul__(self, times: Any) -> Self:
        return self.extend(list(self) * (factor(self, times) - 1))

    def insert(self, index: int, module: Any) -> Self:
        """Add one at a place, refusing what is none."""
        if not isinstance(module, Module):
            raise AssertionError(f"module should be of type: {Module}")  # noqa: TRY004 - as PyTorch does
        if not (-len(self) <= index <= len(self)):
            raise IndexError(f"Index out of range: {index}")
        super().insert(index, module)
        return self

    def forward(self, input: Any) -> Any:
        """Each module on what the one before gave."""
        for module in self:
            input = module(input)
        return input


def summand(modules: Any) -> Sequential:
    """What may be added to modules that are called one after the other."""
    if not isinstance(modules, Sequential):
        raise ValueError(  # noqa: TRY004 - as PyTorch does
            f"add operator supports only objects of Sequential class, but {type(modules)} is given."
        )
    return modules


def factor(modules: Sequential, times: Any) -> int:
    """How many times modules may be called one after the other."""
    if not isinstance(times, int):
        raise TypeError(f"unsupported operand type(s) for *: {type(modules)} and {type(times)}")
    if times <= 0:
        raise ValueError(f"Non-positive multiplication factor {times} for {type(modules)}")
    return times


class ModuleList(Numbered):
    """A list of modules that the one holding it finds."""

    def __init__(self, modules: Iterable[Module] | None = None) -> None:
        super().__init__()
        self.extend(() if modules is None else modules)

    def __repr__(self) -> str:
        """As PyTorch prints it: equal neighbours on one line, ``(0-2): 3 x Linear(...)``."""
        texts = [repr(module) for module in self]
        starts = [i for i, text in enumerate(texts) if not i or texts[i - 1] != text]
        runs = [(first, last - 1) for first, last in pairwise([*starts, len(texts)])]
        names = [f"{first}" if first == last else f"{first}-{last}" for first, last in runs]
        told = [texts[first] if first == last else f"{last - first + 1} x {texts[first]}" for first, last in runs]
        return bracketed(self._get_name(), [], list(zip(names, told, strict=True)))


class Named(Holder):
    """Things by name, with Python's dict manners."""

    _called: ClassVar[str]
    """What messages call it."""

    def __init__(self, values: Any = None) -> None:
        super().__init__()
        self.update({} if values is None else values)

    def __setitem__(self, key: str, value: Any) -> None:
        self.put(key, value)

    def __iter__(self) -> Iterator[str]:
        return iter(self.held)

    def __contains__(self, key: str) -> bool:
        return key in self.held

    def update(self, values: Any) -> None:
        """Add what is in a dict, or in pairs."""
        if not isinstance(values, Iterable):
            raise TypeError(
                f"{self._called}.update should be called with an iterable of key/value pairs, but got {type(values).__name__}"
            )
        if isinstance(values, Mapping | Named):
            ordered = self._home == "_modules" or isinstance(values, OrderedDict | Named)
            values = values.items() if ordered else sorted(values.items())
        else:
            values = list(values)
            pair: Any
            for i, pair in enumerate(values):
                start = f"{type(self).__name__} update sequence element #{i}"
                if not hasattr(type(pair), "__iter__"):
                    raise TypeError(f"{start} should be Iterable; is{type(pair).__name__}")
                if len(pair) != 2:
                    raise ValueError(f"{start} has length {len(pair)}; 2 is required")
        for key, value in values:
            self[key] = value

    def keys(self) -> Any:
        """The names."""
        return self.held.keys()

    def values(self) -> Any:
        """What is held."""
        return self.held.values()

    def items(self) -> Any:
        """Both."""
        return self.held.items()

    def clear(self) -> None:
        """Take everything out."""
        self.held.clear()


class ModuleDict(Named):
    """A dict of modules that the one holding it finds."""

    _called = "ModuleDict"


def parameter_lines(named: Any, kind: Any) -> str:
    """How parameters are shown: one line for each."""
    sizes = ((key, kind(value), "x".join(map(str, value.shape))) for key, value in named)
    return "\n".join(f"  ({key}): Parameter containing: [{name} of size {size}]" for key, name, size in sizes)


class ParameterDict(Named):
    """A dict of parameters."""

    _home = "_parameters"
    _called = "ParametersDict"

    def __setitem__(self, key: str, value: Any) -> None:
        if not isinstance(key, str):
            raise TypeError(
                "Index given to ParameterDict cannot be used as a key as it is not a string (type is "
                f"'{type(key).__name__}'). Open an issue on github if you need non-string keys."
            )
        super().__setitem__(key, value)

    def __getitem__(self, key: str) -> Any:
        return getattr(self, key)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Refused."""
        raise RuntimeError("ParameterDict should not be called.")

    def extra_repr(self) -> str:
        """One line for each."""
        return parameter_lines(self.items(), lambda value: type_name(value._array.dtype))


class ParameterList(Numbered):
    """A list of parameters."""

    _home = "_parameters"

    def __init__(self, values: Iterable[Any] | None = None) -> None:
        super().__init__()
        self.extend(() if values is None else values)

    def extra_repr(self) -> str:
        """One line for each."""
        return parameter_lines(enumerate(self), lambda value: value.dtype)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Refused."""
        raise RuntimeError("ParameterList should not be called.")


for container in (Sequential, ModuleList, ModuleDict, ParameterDict, ParameterList):
    container.__module__ = "torch.nn.modules.container"
