"""Rows in one line: whose forward is an expression, or a function that several share.

Source: nothing of PyTorch's: these functions declare what the other files say.
"""

from __future__ import annotations

from types import FunctionType
from typing import Any

import numpy as np

from gviz.autograd.row import ROWS, composite, everywhere, op

CALLS = {1: lambda self: np.sin(self), 2: lambda self, other: np.hypot(self, other)}
"""Forwards that call a function of numpy's, by how many arrays that takes."""


def called(key: str, function: FunctionType, names: tuple[str, ...] | None = None) -> Any:
    """Return a copy of a function under another name, and with other names of globals."""
    code = function.__code__ if names is None else function.__code__.replace(co_names=names)
    copy = FunctionType(code.replace(co_qualname=key), function.__globals__, key, function.__defaults__, function.__closure__)
    copy.__annotations__, copy.__kwdefaults__ = function.__annotations__, function.__kwdefaults__
    return copy

@everywhere
def array_of(value):
    """Return the array of a tensor; an array as it is."""
    return getattr(value, "_array", value)

def row(key, node, forward, names="", **declared: object):
    """Store a row whose forward is an expression, a shared function, or one of numpy's, of ``self`` (and ``other``)."""
    numpys = isinstance(forward, np.ufunc)
    function = called(key, CALLS[forward.nin], ("np", forward.__name__)) if numpys else called(key, forward)
    function.ufunc = forward if numpys else function
    op(node, names, **declared)(function)

def function(key, node, forward, names=None, **declared: object):
    """Store a row of a function of floats (integers become the default float), in the table as ``NAME`` and ``NAME_``."""
    row(key, node, forward, f"{key} {key}_" if names is None else names, promote="float", **declared)

def alike(key, node, other, names="", **derivatives: str):
    """Store a row that is another one but for its node, and derivatives told by the result: an in-place form, not a view."""
    same = ROWS[other]
    copied = ("nondiff", "lists", "outputs", "extras", "promote", "hidden", "own", "check")
    declared = {name: getattr(same, name) for name in copied}
    row(key, node, same.forward, names, **{**declared, **same.texts, **derivatives})

def brief(names, function, key="", **kinds: str):
    """Register a composite of one expression, called as its first name; the kinds are the annotations of its parameters."""
    named = called(key or names.split()[0].rpartition(".")[2], function)
    named.__annotations__ = kinds
    composite(names)(named)

def fact(key, function):
    """Register a function of plain numbers, or of sizes, of one expression in every namespace; return it."""
    return everywhere(called(key, function))

def formula(key, function):
    """Register a composite of one expression that only formulas use."""
    composite(called(key, function))
