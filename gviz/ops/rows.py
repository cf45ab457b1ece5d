"""Rows in one line: whose forward is an expression, or a function that several share."""

from __future__ import annotations

from types import FunctionType
from typing import Any

import numpy as np

from gviz.autograd.row import ROWS, composite, op

CALLS = {1: lambda self: np.sin(self), 2: lambda self, other: np.hypot(self, other)}
"""Forwards that call a function of numpy's, by how many arrays that takes."""


def row(key, node, forward, names="", **declared: Any):
    """Store a row whose forward is an expression, a shared function, or one of numpy's, of ``self`` (and ``other``)."""
    made = CALLS[forward.nin] if isinstance(forward, np.ufunc) else forward
    code = made.__code__ if made is forward else made.__code__.replace(co_names=("np", forward.__name__))
    named = FunctionType(code, made.__globals__, key, made.__defaults__, made.__closure__)
    named.__annotations__, named.__kwdefaults__ = made.__annotations__, made.__kwdefaults__
    op(node, names, **declared)(named)


def brief(names, function, **kinds: str):
    """A composite whose body is an expression, called as its first name; the kinds are the annotations of its parameters."""
    key = names.split()[0].rpartition(".")[2]
    named = FunctionType(function.__code__, function.__globals__, key, function.__defaults__, function.__closure__)
    named.__annotations__ = kinds
    composite(names)(named)


def function(key, node, forward, names=None, **declared: Any):
    """Store a row of a function of floats (integers become the default float), in the table as ``NAME`` and ``NAME_``."""
    row(key, node, forward, f"{key} {key}_" if names is None else names, promote="float", **declared)


def alike(key, node, other, names="", **derivatives: str):
    """Store a row that is another one but for its node, and derivatives told by the result: an in-place form, not a view."""
    same = ROWS[other]
    declared = {name: getattr(same, name) for name in ("nondiff", "lists", "outputs", "extras", "promote", "hidden")}
    row(key, node, same.forward, names, **{**declared, **same.texts, **derivatives})
