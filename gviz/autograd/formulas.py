"""Python functions as data: the function of a formula's text, and the same code in another namespace."""

from __future__ import annotations

import re
import sys
from inspect import CO_VARARGS
from types import FunctionType
from typing import Any


def formula(text: str, variables: set[str], saves: tuple[str, ...]) -> Any:
    """Return the function that a derivative's text stands for: of the gradient and the saved things that it names."""
    names = compile(text, "<derivative>", "eval").co_names
    saved = *(name for name in names if name in variables or "_sym_" in name), *saves
    parameters = ", ".join(("grads" if "grads" in names else "grad", *saved))
    return eval(f"lambda {parameters}: {text}", {})  # noqa: S307 - the table's own


def inputs_of(name: str) -> tuple[str, ...]:
    """Return the inputs whose derivatives are declared together as ``a__b``; a name may end with an underscore."""
    return tuple(re.split("__(?!_)", name))


def parameters(function: Any) -> tuple[str, ...]:
    """Return the names of a Python function's positional parameters."""
    code = function.__code__
    return tuple(code.co_varnames[: code.co_argcount])


def bind(function: FunctionType, namespace: dict[str, Any]) -> FunctionType:
    """Return the same code, with global names looked up in that namespace."""
    return FunctionType(function.__code__, namespace, function.__name__, function.__defaults__, function.__closure__)


def place_of_declaration() -> tuple[str, int]:
    """Return the file and line of the module that is being run: where a row stands."""
    frame: Any = sys._getframe(1)
    while frame.f_code.co_name != "<module>":
        frame = frame.f_back
    return frame.f_code.co_filename, frame.f_lineno


def positional(function: FunctionType) -> FunctionType:
    """Return the same function with all parameters by position: a star in it is for those who call a public name."""
    code = function.__code__
    if not code.co_kwonlyargcount or code.co_flags & CO_VARARGS:
        return function
    flat = code.replace(co_argcount=code.co_argcount + code.co_kwonlyargcount, co_kwonlyargcount=0)
    defaults = (*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values())
    return FunctionType(flat, function.__globals__, function.__name__, defaults, function.__closure__)
