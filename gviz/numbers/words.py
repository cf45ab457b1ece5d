"""Warnings and messages that several rooms share."""

from __future__ import annotations

import math
import sys
import warnings
from typing import Any

from gviz.numbers.dtypes import of

__all__ = ["LinAlgError", "absent", "bound", "no_memory", "type_name", "warn", "warn_once"]

ROOMS = ("gviz.engine", "gviz.ops", "gviz.autograd", "gviz.numbers")


def warn(message: str) -> None:
    """Give PyTorch's warning at the line of the program that called the engine."""
    level, frame = 2, sys._getframe(1)
    while frame.f_back is not None and str(frame.f_globals.get("__name__")).startswith(ROOMS):
        level, frame = level + 1, frame.f_back
    warnings.warn(message, UserWarning, stacklevel=level)


WARNED: set[str] = set()


def warn_once(message: str, kind: str = "") -> None:
    """Give a warning once in a process, or once for its kind."""
    if (kind or message) not in WARNED:
        WARNED.add(kind or message)
        warn(message)


def no_memory(error: Any) -> Exception:
    """Return PyTorch's error for numpy's, which names the array that there was no room for; any other as it is."""
    if not hasattr(error, "shape"):
        return error  # type: ignore[no-any-return]
    return RuntimeError(
        "[enforce fail at alloc_cpu.cpp:127] err == 0. DefaultCPUAllocator: can't allocate memory: you tried to allocate "
        f"{math.prod(error.shape) * error.dtype.itemsize} bytes. Error code 12 (Cannot allocate memory)"
    )


def type_name(dtype: Any) -> str:
    """Return PyTorch's old type name, as its messages use it: ``torch.FloatTensor``."""
    return f"torch.{of(dtype).scalar_name}Tensor"


def bound(
    name: str, options: dict[str, Any], args: tuple[Any, ...], kwargs: dict[str, Any], before: int = 0, needs: str = ""
) -> dict[str, Any]:
    """The values of options that were given by position or by name: those of ``...`` must be, those behind a ``*`` by name.

    Raises:
        TypeError: they do not fit, in Python's words: ``before`` arguments stand before them, ``needs`` is the function's name
            where one is missing, if it is another.
    """
    values = {option: value for option, value in options.items() if option != "*"}
    placed = list(options)[: list(options).index("*") if "*" in options else None]
    given = dict(zip(placed, args, strict=False))
    for option in kwargs:
        if option not in values or option in given:
            what = "got multiple values for argument" if option in values else "got an unexpected keyword argument"
            raise TypeError(f"{name}() {what} '{option}'")
    if len(args) > len(placed):
        most, least = len(placed) + before, before + sum(options[option] is ... for option in placed)
        takes = f"from {least} to {most}" if least < most else str(most)
        given_now = len(args) + before
        raise TypeError(f"{name}() takes {takes} positional argument{'s' * (most > 1)} but {given_now} were given")
    values |= given | kwargs
    if names := [repr(option) for option, value in values.items() if value is ...]:
        told = names[0] if len(names) == 1 else ", ".join(names[:-1]) + "," * (len(names) > 2) + f" and {names[-1]}"
        raise TypeError(f"{needs or name}() missing {len(names)} required positional argument{'s' * (len(names) > 1)}: {told}")
    return values


def absent(module: str) -> Any:
    """Return the ``__getattr__`` of a module, which says in PyTorch's words that a name is not there."""

    def missing(name: str) -> Any:
        raise AttributeError(f"module '{module}' has no attribute '{name}'")

    return missing


class LinAlgError(RuntimeError):
    """A matrix that cannot be inverted or factored: ``torch.linalg.LinAlgError``."""


LinAlgError.__name__ = LinAlgError.__qualname__ = "_LinAlgError"
LinAlgError.__module__ = "torch._C"
