"""Modules that hold others, or parameters: Sequential, ModuleList, ModuleDict, ParameterList, ParameterDict."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Mapping
from itertools import chain, groupby
from operator import index
from typing import Any, Self, SupportsIndex

from gviz.autograd.tensor import Tensor
from gviz.engine.nn.module import Module, bracketed
from gviz.engine.nn.parameter import Parameter
from gviz.numbers.words import refuse, type_name

__all__ = ["DataParallel", "ModuleDict", "ModuleList", "ParameterDict", "ParameterList", "Sequential"]


def of_entries(method: Any) -> Any:
    """Return a method of dicts as one of what is held."""
    return lambda self, *args: method(self._entries_, *args)


class Holder(Module):
    """Base of all: what is held is among the modules."""

    _entries_: Any = property(lambda self: self._modules)
    __setitem__ = Module.add_module
    __len__, __getitem__, _clear_ = map(of_entries, (len, dict.__getitem__, dict.clear))

    def pop(self, key: Any) -> Any:
        """Take something out."""
        value = self[key]
        del self[key]
        return value


def through_list(change: Any) -> Any:
    """Return a method that changes what is held as a list, and numbers it from 0."""

    def method(self: Numbered, *args: object) -> Any:
        values = list(self)
        change(values, *args)
        self._clear_()
        return self.extend(values)

    return method


class Numbered(Holder):
    """Things by number, with the manners of Python's lists."""

    def __init__(self, values: Iterable[Any] | None = ()) -> None:
        super().__init__()
        self.extend(() if values is None else values)

    __iter__ = of_entries(lambda entries: iter(entries.values()))

    def __getitem__(self, position: SupportsIndex | slice) -> Any:
        if not isinstance(position, slice):
            return self._entries_[self._name_(position)]
        part = list(self._entries_.items())[position]
        return type(self)(OrderedDict(part) if isinstance(self, Sequential) else dict(part).values())

    def __setitem__(self, position: SupportsIndex, value: Any) -> None:  # type: ignore[override]
        super().__setitem__(self._name_(position), value)

    def _name_(self, position: SupportsIndex) -> str:
        at, count = index(position), len(self)
        refuse(not -count <= at < count, f"index {at} is out of range", IndexError)
        return list(self._entries_)[at]

    def append(self, value: Any) -> Self:
        """Add one at the end."""
        super().__setitem__(str(len(self)), value)
        return self

    def extend(self, values: Any) -> Self:
        """Add several. TypeError: these are not several."""
        refuse(
            not isinstance(values, Iterable) or (isinstance(values, Tensor) and not isinstance(self, ModuleList)),
            f"{self._get_name()}.extend should be called with an iterable, but got {type(values).__name__}",
            TypeError,
        )
        for value in list(values):
            self.append(value)
        return self

    __iadd__ = extend


class Sequential(Numbered):
    """Modules called one after the other."""

    __delitem__ = through_list(list.__delitem__)

    def __init__(self, *modules: Any) -> None:
        super().__init__()
        has_names = len(modules) == 1 and isinstance(modules[0], OrderedDict)
        for name, module in modules[0].items() if has_names else enumerate(modules):
            self.add_module(str(name), module)

    def __add__(self, other: Sequential) -> Any:
        refuse(
            not isinstance(other, Sequential),
            f"add operator supports only objects of Sequential class, but {type(other)} is given.",
            ValueError,
        )
        return Sequential(*self, *other)

    def __mul__(self, other: int) -> Any:
        refuse(
            not isinstance(other, int), f"unsupported operand type(s) for *: {type(self)} and {type(other)}", TypeError
        )
        refuse(other <= 0, f"Non-positive multiplication factor {other} for {type(self)}", ValueError)
        return Sequential(*(list(self) * other))

    __rmul__ = __mul__
    __iadd__: Any = lambda self, other: self.extend((self + other)[len(self) :])
    __imul__: Any = lambda self, other: self.extend((self * other)[len(self) :])

    def insert(self, index: int, module: Any) -> Any:
        """Put a module before another. AssertionError: it is none; IndexError: there is no such place."""
        refuse(not isinstance(module, Module), f"module should be of type: {Module}", AssertionError)
        refuse(not -len(self) <= index <= len(self), f"Index out of range: {index}", IndexError)
        return through_list(list.insert)(self, index, module)

    def forward(self, input: object) -> Any:
        """Call each module on what the one before gave."""
        for module in self:
            input = module(input)
        return input


class DataParallel(Module):
    """A module for several devices: without any, as here, it is the module itself."""

    def __init__(self, module: Module, device_ids: object = None, output_device: object = None, dim: int = 0) -> None:
        super().__init__()
        self.module = module
        self.device_ids: list[int] = []

    def forward(self, *inputs: object, **kwargs: object) -> Any:
        """Call the module."""
        return self.module(*inputs, **kwargs)


class ModuleList(Numbered):
    """A list of modules that the one holding it finds."""

    __delitem__ = through_list(list.__delitem__)

    def insert(self, index: int, module: Module) -> None:
        """Put a module before another."""
        through_list(list.insert)(self, index, module)

    def __add__(self, values: Iterable[Any]) -> Any:
        return ModuleList(chain(self, values))

    def __repr__(self) -> str:
        """Return it as PyTorch prints it: equal neighbours on one line, ``(0-2): 3 x Linear(...)``."""
        runs, first = [], 0
        for text, group in groupby(map(repr, self)):
            count = len(list(group))
            runs.append((f"{first}", text) if count == 1 else (f"{first}-{first + count - 1}", f"{count} x {text}"))
            first += count
        return bracketed(self._get_name(), [], runs)


class Parameters(Holder):
    """Base of those that hold parameters, and other things as they are."""

    _entries_ = property(lambda self: {name: getattr(self, name) for name in vars(self).get("_keys", self._parameters)})
    pop = property()

    def __setitem__(self, name: str, value: object) -> None:
        setattr(
            self, name, value if isinstance(value, Parameter) or not isinstance(value, Tensor) else Parameter(value)
        )
        vars(self).setdefault("_keys", dict.fromkeys(self._parameters))[name] = None

    def extra_repr(self) -> str:
        """Return a line for each thing that is held."""
        return "\n".join(
            f"  ({name}): "
            + (
                f"Parameter containing: [{one.dtype if hasattr(self, 'append') else type_name(one._array.dtype)} "
                f"of size {'x'.join(map(str, one.shape))}]"
                if isinstance(one, Tensor)
                else f"Object of type: {type(one).__name__}"
            )
            for name, one in self._entries_.items()
        )


class Named(Holder):
    """Things by name, with the manners of Python's dicts."""

    def __init__(self, values: Mapping[str, Any] | Iterable[tuple[str, Any]] | None = ()) -> None:
        super().__init__()
        self.update(() if values is None else values)

    __iter__, keys, values, items = map(of_entries, (iter, dict.keys, dict.values, dict.items))

    def update(self, values: Any) -> None:
        """Add what is in a dict, or in pairs: parameters of a plain dict in the order of their names, as in PyTorch."""
        refuse(
            not isinstance(values, Iterable),
            f"{self._get_name().replace('Parameter', 'Parameters')}.update should be called with an iterable of "
            f"key/value pairs, but got {type(values).__name__}",
            TypeError,
        )
        pairs = values.items() if isinstance(values, Mapping | Named) else values
        for key, value in sorted(pairs) if isinstance(self, Parameters) and type(values) is dict else pairs:
            self[key] = value


class ModuleDict(Named):
    """A dict of modules that the one holding it finds."""

    __delitem__, clear = of_entries(dict.__delitem__), Holder._clear_


class ParameterDict(Named, Parameters):
    """A dict of parameters, and of other things."""

    get, __reversed__, pop = of_entries(dict.get), of_entries(reversed), Holder.pop

    def __delitem__(self, key: str) -> None:
        del self._keys[key]
        delattr(self, key)

    def clear(self) -> None:
        """Take everything out."""
        for key in list(self):
            del self[key]


class ParameterList(Numbered, Parameters):  # type: ignore[misc] # which both have, each for its keys
    """A list of parameters, and of other things."""


for container in (Sequential, ModuleList, ModuleDict, ParameterDict, ParameterList):
    container.__module__ = "torch.nn.modules.container"
