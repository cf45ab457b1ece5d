"""``torch.jit`` and ``torch.compile``: functions and modules run as they stand, which a warning says once.

PyTorch compiles them, for the same numbers. There is no compiler here, so what shows the compiled code (``.graph``,
``.code``) is absent.

Source: https://docs.pytorch.org/docs/2.13/jit.html
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from gviz.autograd.modes import no_grad
from gviz.engine.nn.module import Module
from gviz.engine.serialization import load, save
from gviz.numbers.words import absent, warn_once

__all__ = [
    "ScriptModule", "compile", "export", "fork", "ignore", "is_scripting", "is_tracing", "load", "save", "script",
    "script_if_tracing", "script_method", "trace", "trace_module", "unused", "wait",
]  # fmt: skip


Program: TypeAlias = Callable[..., Any]
"""A function, a module or a class."""


def eager(word: str) -> None:
    """Say, once, that something is not compiled."""
    warn_once(f"torch.{word} compiles nothing here: gviz runs the program as it stands, with the same numbers")


class ScriptModule(Module):
    """A module whose methods would be compiled."""

    def __init__(self) -> None:
        eager("jit.ScriptModule")
        super().__init__()


def script(obj: Program, optimize: object = None, example_inputs: object = None) -> Any:
    """Return the function, module or class itself."""
    eager("jit.script")
    return obj


def trace(
    func: Program, example_inputs: object = None, *, example_kwarg_inputs: dict[str, Any] | None = None, **_: object
) -> Any:
    """Return the function or module itself, after it has run once on the example."""
    eager("jit.trace")
    args = example_inputs if isinstance(example_inputs, tuple | list) else (example_inputs,)
    with no_grad():
        func(**example_kwarg_inputs) if example_kwarg_inputs else func(*args)
    return func


def trace_module(mod: object, inputs: dict[str, Any], **_: object) -> Any:
    """Return the module itself, after its methods have run once on their examples."""
    for name, example in inputs.items():
        trace(getattr(mod, name), example)
    return mod


def same(function: Program | None = None, *_: object, **__: object) -> Any:
    """Return what is decorated itself, with or without options of the decorator."""
    return function if callable(function) else lambda decorated: decorated


export = ignore = unused = script_if_tracing = script_method = same


def compile(model: Program | None = None, **_: object) -> Any:
    """Return the function or module itself: ``torch.compile``, also as a decorator."""
    eager("compile")
    return same(model)


def is_scripting() -> bool:
    """Return False: the code runs as Python."""
    return False


is_tracing = is_scripting


def fork(func: Callable[..., Any], *args: object, **kwargs: object) -> Any:
    """Return what a function returns: it is called at once."""
    return func(*args, **kwargs)


def wait(future: object) -> Any:
    """Return what :func:`fork` returned."""
    return future


__getattr__ = absent("torch.jit")
