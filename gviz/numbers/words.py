"""Warnings and messages that several rooms share."""

from __future__ import annotations

import math
import sys
import warnings
from importlib import import_module
from types import ModuleType
from typing import Any

from gviz.numbers.dtypes import of
from gviz.numbers.types import DType

ROOMS = ("gviz.engine", "gviz.ops", "gviz.signatures", "gviz.autograd", "gviz.numbers", "gviz.trace")


def warn(message: str, category: type[Warning] = UserWarning) -> None:
    """Give PyTorch's warning at the line of the program that called the engine."""
    level, frame = 2, sys._getframe(1)
    while frame.f_back is not None and str(frame.f_globals.get("__name__")).startswith(ROOMS):
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)


WARNED: set[str] = set()


def warn_once(message: str) -> None:
    """Give a warning once in a process."""
    if message not in WARNED:
        WARNED.add(message)
        warn(message)


def refuse(wrong: object, message: str, error: type[Exception] = RuntimeError) -> Any:
    """Refuse a call with this message if something is wrong with it; else an expression may go on with ``or``."""
    if wrong:
        raise error(message)


def refuse_any(wrongs: dict[str, object], error: type[Exception] = RuntimeError) -> None:
    """Refuse a call with the first of these messages whose value says that something is wrong with it."""
    for message, wrong in wrongs.items():
        refuse(wrong, message, error)


def no_memory(error: Any) -> Exception:
    """Return PyTorch's error for numpy's, which names the array that there was no room for; any other as it is."""
    return (
        RuntimeError(
            "[enforce fail at alloc_cpu.cpp:127] err == 0. DefaultCPUAllocator: can't allocate memory: you tried to "
            f"allocate {math.prod(error.shape) * error.dtype.itemsize} bytes. Error code 12 (Cannot allocate memory)"
        )
        if hasattr(error, "shape")
        else error
    )


def type_name(dtype: DType) -> str:
    """Return PyTorch's old type name, as its messages use it: ``torch.FloatTensor``."""
    return f"torch.{of(dtype).scalar_name}Tensor"


def absent(module: str, *late: str) -> Any:
    """Return the ``__getattr__`` of the module that calls this, whose ``dir()`` then has none of gviz's own helpers.

    It loads these parts when they are named, and is itself each file of PyTorch that something in it says to be of
    (``torch.optim.sgd``); it refuses the rest as PyTorch does.
    """
    own = sys._getframe(1).f_globals

    def missing(name: str) -> Any:
        if name in late:
            return import_module(f"gviz.engine{module.removeprefix('torch')}.{name}")
        things = [one for one in own.values() if not isinstance(one, ModuleType)]
        if any(getattr(one, "__module__", None) == f"{module}.{name}" for one in things):
            return sys.modules[own["__name__"]]
        raise AttributeError(f"module '{module}' has no attribute '{name}'")

    def listed() -> list[str]:
        special = {name for name in own if name.startswith("__")} - {"__annotations__", "__dir__", "__getattr__"}
        return sorted({*own["__all__"], *late, *special})

    if "__all__" in own:
        own["__dir__"] = listed
    return missing


class LinAlgError(RuntimeError):
    """A matrix that cannot be inverted or factored: ``torch.linalg.LinAlgError``."""


LinAlgError.__name__ = LinAlgError.__qualname__ = "_LinAlgError"
LinAlgError.__module__ = "torch._C"
