"""Temporary: public functions that are not made from rows yet."""

from __future__ import annotations

from types import FunctionType
from typing import Any

from gviz.autograd.inplace import write_out
from gviz.autograd.names import ALIASES

__all__ = ["public"]


def public(function: Any, name: str, *, method: bool = False, place: str = "") -> Any:
    """Return a function that takes ``out``, numpy's names of arguments and a keyword for its first tensor."""
    if not isinstance(function, FunctionType):
        return function
    code = function.__code__
    names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]

    def call(*args: Any, **kwargs: Any) -> Any:
        if not kwargs:
            return function(*args)
        out = None if "out" in names else kwargs.pop("out", None)
        words = {key if key in names or ALIASES.get(key) not in names else ALIASES[key]: value for key, value in kwargs.items()}
        return function(*args, **words) if out is None else write_out(name, out, lambda *args: function(*args, **words), args)

    call.__name__ = call.__qualname__ = name
    call.__doc__ = function.__doc__
    call.__wrapped__ = function  # type: ignore[attr-defined]
    return call
