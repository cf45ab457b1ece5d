"""Makers of rows that are alike: in all but a function, in all but the name of a node, or with their derivatives."""

from __future__ import annotations

from types import FunctionType
from typing import Any

from gviz.engine.op import ROWS, op


def function(key, node, forward, formula):
    """A row for a function of one floating point variable (integers become the default float)."""
    stored(key, forward, op(node, promote="float", self=formula))


def alike(key, node, other):
    """A row that is another one but for the name of its node: an in-place form, which of a view makes no view."""
    row = ROWS[other]
    stored(key, row.forward, op(node, nondiff=row.nondiff, outputs=row.outputs, promote=row.promote, **row.formulas))


def pair(key, node, forward, backward, formula, second, row=None, **declared: Any):
    """A row, and the row ``KEY_backward`` of its derivative, made of functions that several such pairs share.

    Args:
        key: the row's name.
        node: what both graph nodes' names begin with.
        forward: on arrays.
        backward: its derivative on arrays, the gradient first.
        formula: the derivative, which calls it by the name ``backward``.
        second: the derivative of that for the gradient, which calls the row itself by the name ``forward``.
        row: what else the row says.
        declared: what else the row of the derivative says.
    """
    names = {"forward": key, "backward": f"{key}_backward"}
    stored(key, forward, op(f"{node}Backward0", self=calling(names, formula), **row or {}))
    stored(f"{key}_backward", backward, op(f"{node}BackwardBackward0", grad_output=calling(names, second), **declared))


def stored(key, forward, store):
    """Store a row whose forward gets its name."""
    store(FunctionType(forward.__code__, forward.__globals__, key, forward.__defaults__, forward.__closure__))


def calling(names, formula):
    """A formula that calls other rows than it is written with."""
    code = formula.__code__
    return FunctionType(code.replace(co_names=tuple(names.get(name, name) for name in code.co_names)), formula.__globals__)
