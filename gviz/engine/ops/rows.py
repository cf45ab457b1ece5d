"""Makers of rows that are alike: in all but a function, in all but the name of a node, or with their derivatives."""

from __future__ import annotations

from types import FunctionType
from typing import Any

from gviz.engine.op import ROWS, op


def row(key, node, forward, **declared: Any):
    """A row whose forward is an expression, and gets the row's name."""
    op(node, **declared)(FunctionType(forward.__code__, forward.__globals__, key, forward.__defaults__, forward.__closure__))


def function(key, node, forward, formula):
    """A row for a function of one floating point variable (integers become the default float)."""
    row(key, node, forward, promote="float", self=formula)


def alike(key, node, other):
    """A row that is another one but for the name of its node: an in-place form, which of a view makes no view."""
    same = ROWS[other]
    row(key, node, same.forward, nondiff=same.nondiff, outputs=same.outputs, promote=same.promote, **same.formulas)


def pair(key, node, forward, backward, formula, second, first=None, **declared: Any):
    """A row, and the row ``KEY_backward`` of its derivative, made of functions that several such pairs share.

    Args:
        key: the row's name.
        node: what both graph nodes' names begin with.
        forward: on arrays.
        backward: its derivative on arrays, the gradient first.
        formula: the derivative, which calls it by the name ``backward``.
        second: the derivative of that for the gradient, which calls the row itself by the name ``forward``.
        first: what else the row says.
        declared: what else the row of the derivative says.
    """
    names = {"forward": key, "backward": f"{key}_backward"}
    row(key, f"{node}Backward0", forward, self=calling(names, formula), **first or {})
    row(f"{key}_backward", f"{node}BackwardBackward0", backward, grad_output=calling(names, second), **declared)


def calling(names, formula):
    """A formula that calls other rows than it is written with."""
    code = formula.__code__
    return FunctionType(code.replace(co_names=tuple(names.get(name, name) for name in code.co_names)), formula.__globals__)
