"""Rows in one line: whose forward is an expression or a function that several share, and those that are alike."""

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
    row(key, node, same.forward, nondiff=same.nondiff, outputs=same.outputs, promote=same.promote, **same.texts)
