"""Comparison and logic: their results are booleans and have no gradient."""

from __future__ import annotations

import numpy as np

from gviz.engine.op import op


@op(None, nondiff=("self", "other"), promote="pointwise")
def equal(self, other):
    return np.equal(self, other)


@op(None, nondiff=("self", "other"), promote="pointwise")
def not_equal(self, other):
    return np.not_equal(self, other)


@op(None, nondiff=("self", "other"), promote="pointwise")
def less(self, other):
    return np.less(self, other)


@op(None, nondiff=("self", "other"), promote="pointwise")
def less_equal(self, other):
    return np.less_equal(self, other)


@op(None, nondiff=("self", "other"), promote="pointwise")
def greater(self, other):
    return np.greater(self, other)


@op(None, nondiff=("self", "other"), promote="pointwise")
def greater_equal(self, other):
    return np.greater_equal(self, other)


@op(None, nondiff=("self", "other"))
def logical_and(self, other):
    return np.logical_and(self, other)


@op(None, nondiff=("self", "other"))
def logical_or(self, other):
    return np.logical_or(self, other)


@op(None, nondiff=("self", "other"))
def logical_xor(self, other):
    return np.logical_xor(self, other)


@op(None, nondiff=("self",))
def logical_not(self):
    return np.logical_not(self)


@op(None, nondiff=("self",))
def isnan(self):
    return np.isnan(self)


@op(None, nondiff=("self",))
def isinf(self):
    return np.isinf(self)


@op(None, nondiff=("self",))
def isfinite(self):
    return np.isfinite(self)
