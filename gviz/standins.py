"""Stand-ins for modules that libraries import and a command does not use, loaded when somebody asks for more."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from types import ModuleType
from typing import Any


class StandIn(ModuleType):
    """A module in place of another, which is loaded when a name is asked of it that it lacks."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # what Python asks each module that it imports
            raise AttributeError(name)
        if sys.modules.get(self.__name__) is self:
            del sys.modules[self.__name__]
        return getattr(import_module(self.__name__), name)


@contextmanager
def stand_ins(*names: str, **attributes: Any) -> Iterator[None]:
    """Let libraries load with stand-ins for modules that are not loaded yet; later imports get the modules.

    Args:
        names: the modules.
        attributes: what the libraries ask of them while they load, of no use later.
    """
    missing = {name: StandIn(name) for name in names if name not in sys.modules}
    for module in missing.values():
        vars(module).update(attributes)
    sys.modules.update(missing)
    try:
        yield
    finally:
        for name, module in missing.items():
            for attribute in attributes:
                vars(module).pop(attribute)
            if sys.modules.get(name) is module:
                del sys.modules[name]
