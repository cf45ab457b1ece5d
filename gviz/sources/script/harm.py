"""What a script has replaced in Python's own modules and in torch, and the memory that it has filled.

gviz goes on in the same process.
"""

from __future__ import annotations

import builtins
import sys
from types import ModuleType
from typing import Any

from gviz.sources.notes import Note
from gviz.text import joined

SYS = frozenset({"argv", "path", "meta_path", "stdin", "stdout", "stderr"})
"""What scripts do replace in ``sys``; :mod:`gviz.sources.script.process` puts it back at its end."""

RESERVE = 32 * 2**20
"""Bytes that are set aside while a script runs, and not written to: gviz has them if the script has filled the
memory."""

VALUES = frozenset({"sys", "os", "linecache"})
"""Modules whose values, such as ``os.environ``, gviz reads; of the others it has functions and classes."""


GONE = type("Gone", (), {})()
"""In the place of what a module has no more."""


class Unharmed:
    """Python's modules, numpy, torch and its tensors as they are now, and some memory.

    Leaving the context puts them back, before anything else is done: ``isinstance`` may be gone.

    Args:
        engine: what the script knows as torch.

    Attributes:
        note: a warning of what could not have worked any more: ``os.getcwd``, ``len``; None for nothing.
    """

    note: Note | None = None

    def __init__(self, engine: Any) -> None:
        self.reserve: bytearray | None = bytearray(RESERVE)
        self.limit, self.table = sys.getrecursionlimit(), sys.modules
        self.modules = {name: module for name, module in sys.modules.items() if name != "__main__"}
        self.builtins = dict(vars(builtins))
        owners = [
            (name, module)
            for name, module in self.modules.items()
            if name == "numpy" or (name.partition(".")[0] in sys.stdlib_module_names and isinstance(module, ModuleType))
        ]
        owners += [("torch", engine), ("torch.Tensor", engine.Tensor)]
        self.spaces = [(name, owner, dict(vars(owner))) for name, owner in owners]

    def __enter__(self) -> None:
        """Nothing is to be done: what there is was noted when this was made."""

    def __exit__(self, *_: object) -> None:
        """Put back what they were."""
        self.reserve = None
        space = builtins.__dict__  # first of all, with nothing that is in there
        harmed = [(name, space.get(name)) for name, was in self.builtins.items() if space.get(name) is not was]
        space.update(self.builtins)
        for module, owner, before in self.spaces:
            space = vars(owner)
            for name, was in before.items():
                now = space.get(name, GONE)
                if now is not was and module != "builtins" and is_replaced(module, name, was, now):
                    setattr(owner, name, was)
                    harmed.append((f"{module}.{name}", now))
        if sys.modules is not self.table:
            harmed.append(("sys.modules", None))
            sys.modules = self.table
        for name, loaded in self.modules.items():
            if self.table.get(name) is not loaded:
                harmed.append((f"sys.modules[{name!r}]", self.table.get(name)))
                self.table[name] = loaded
        sys.setrecursionlimit(self.limit)
        broken = [name for name, now in harmed if not works(now)]
        what = f"the script has replaced what gviz and Python need: {joined(broken)}"
        if broken:
            self.note = Note(f"{what}; it was put back after the script's end", "warning")


def is_replaced(module: str, name: str, was: object, now: object) -> bool:
    """Return whether the script has replaced a part of a module.

    Changes that modules make themselves do not count, nor those for which Python has a place, as for a hook.
    """
    if (module == "sys" and name in SYS) or name.endswith("hook"):
        return False
    if now is GONE or works(was):
        return not name.startswith("_") or not works(now)
    return module in VALUES and was is not None and type(now) is not type(was)


def works(thing: object) -> bool:
    """Return whether an object is a function, a class, a module, or a property."""
    return callable(thing) or isinstance(thing, ModuleType) or hasattr(type(thing), "__get__")
