"""Modules that hold others: Sequential, ModuleList, ModuleDict, ParameterList, ParameterDict."""

from __future__ import annotations

from operator import index
from typing import TYPE_CHECKING, Any

from gviz.engine.nn.module import Module, indented
from gviz.engine.nn.parameter import Parameter
from gviz.engine.text import type_name

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Self

    from gviz.engine.tensor import Tensor

__all__ = ["ModuleDict", "ModuleList", "ParameterDict", "ParameterList", "Sequential"]


class Numbered(Module):
    """Children by number, with Python's list manners."""

    def place(self, position: Any) -> str:
        """The name of the child at a number.

        Raises:
            IndexError: there is none.
        """
        number = index(position)
        if not -len(self) <= number < len(self):
            raise IndexError(f"index {number} is out of range")
        return str(list(self._modules)[number])

    def __getitem__(self, position: Any) -> Any:
        if isinstance(position, slice):
            chosen = list(self._modules.items())[position]
            return type(self)(dict(chosen)) if isinstance(self, Sequential) else type(self)([m for _, m in chosen])
        return self._modules[self.place(position)]

    def __setitem__(self, position: int, module: Module) -> None:
        self._modules[self.place(position)] = module

    def __delitem__(self, position: Any) -> None:
        names = list(self._modules)
        for name in names[position] if isinstance(position, slice) else [self.place(position)]:
            del self._modules[name]
        kept = list(self._modules.values())
        self._modules.clear()
        self._modules.update({str(i): m for i, m in enumerate(kept)})

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._modules.values())

    def append(self, module: Module) -> Self:
        """Add a child at the end."""
        self.add_module(str(len(self)), module)
        return self

    def extend(self, modules: Iterable[Module]) -> Self:
        """Add several."""
        for module in modules:
            self.append(module)
        return self

    def insert(self, position: int, module: Module) -> Any:
        """Add a child at a place."""
        kept = list(self._modules.values())
        kept.insert(position, module)
        self._modules.clear()
        self._modules.update({str(i): m for i, m in enumerate(kept)})
        return self


class Sequential(Numbered):
    """Modules called one after the other."""

    def __init__(self, *modules: Any) -> None:
        super().__init__()
        named = modules[0].items() if len(modules) == 1 and isinstance(modules[0], dict) else enumerate(modules)
        for name, module in named:
            if not isinstance(module, Module):
                raise TypeError(
                    f"{type(module).__module__}.{type(module).__name__} is not a Module subclass".replace("builtins.", "")
                )
            self.add_module(str(name), module)

    def forward(self, input: Any) -> Any:
        """Each module on what the one before gave."""
        for module in self:
            input = module(input)
        return input


class ModuleList(Numbered):
    """A list of modules that the one holding it finds."""

    def __init__(self, modules: Iterable[Module] | None = None) -> None:
        super().__init__()
        self.extend(modules or ())

    def __repr__(self) -> str:
        """As PyTorch prints it: equal neighbours on one line, ``(0-2): 3 x Linear(...)``."""
        runs: list[list[Any]] = []
        for number, text in enumerate(map(repr, self)):
            if runs and runs[-1][2] == text:
                runs[-1][1] = number
            else:
                runs.append([number, number, text])
        if not runs:
            return self._get_name() + "()"
        lines = [
            f"({first}): {indented(text)}" if first == last else f"({first}-{last}): {last - first + 1} x {indented(text)}"
            for first, last, text in runs
        ]
        return self._get_name() + "(\n  " + "\n  ".join(lines) + "\n)"


class Named(Module):
    """Children by name, with Python's dict manners."""

    def __init__(self, values: Any = None) -> None:
        super().__init__()
        self.update(values or {})

    def home(self) -> dict[str, Any]:
        """Where the children are."""
        return self._modules  # type: ignore[no-any-return]

    def __getitem__(self, key: str) -> Any:
        return self.home()[key]

    def __setitem__(self, key: str, value: Any) -> None:
        setattr(self, key, value)

    def __delitem__(self, key: str) -> None:
        del self.home()[key]

    def __len__(self) -> int:
        return len(self.home())

    def __iter__(self) -> Iterator[str]:
        return iter(self.home())

    def __contains__(self, key: str) -> bool:
        return key in self.home()

    def update(self, values: Any) -> None:
        """Add what is in a dict, or in pairs."""
        for key, value in values.items() if hasattr(values, "items") else values:
            self[key] = value

    def pop(self, key: str) -> Any:
        """Take a child out."""
        return self.home().pop(key)

    def keys(self) -> Any:
        """The names."""
        return self.home().keys()

    def values(self) -> Any:
        """The children."""
        return self.home().values()

    def items(self) -> Any:
        """Both."""
        return self.home().items()


class ModuleDict(Named):
    """A dict of modules that the one holding it finds."""

    def __setitem__(self, key: str, value: Any) -> None:
        self.add_module(key, value)


def parameter_lines(named: Any, kind: Any) -> str:
    """How parameters are shown: one line for each."""
    lines = []
    for key, value in named:
        size = "x".join(map(str, value.shape))
        lines.append(f"  ({key}): Parameter containing: [{kind(value)} of size {size}]")
    return "\n".join(lines)


class ParameterDict(Named):
    """A dict of parameters."""

    def home(self) -> dict[str, Any]:
        """Where the parameters are."""
        return self._parameters  # type: ignore[no-any-return]

    def __setitem__(self, key: str, value: Any) -> None:
        self.register_parameter(key, value if isinstance(value, Parameter) else Parameter(value))

    def extra_repr(self) -> str:
        """One line for each."""
        return parameter_lines(self.items(), lambda value: type_name(value._array.dtype))


class ParameterList(Module):
    """A list of parameters."""

    def __init__(self, values: Iterable[Any] | None = None) -> None:
        super().__init__()
        self.extend(values or ())

    def append(self, value: Tensor) -> Self:
        """Add a parameter at the end; a plain tensor becomes one."""
        self.register_parameter(str(len(self)), value if isinstance(value, Parameter) else Parameter(value))
        return self

    def extend(self, values: Iterable[Any]) -> Self:
        """Add several."""
        for value in values:
            self.append(value)
        return self

    def __getitem__(self, position: int) -> Any:
        return list(self._parameters.values())[position]

    def __setitem__(self, position: int, value: Any) -> None:
        self.register_parameter(str(position % len(self)), value if isinstance(value, Parameter) else Parameter(value))

    def __len__(self) -> int:
        return len(self._parameters)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._parameters.values())

    def extra_repr(self) -> str:
        """One line for each."""
        return parameter_lines(enumerate(self), lambda value: value.dtype)
