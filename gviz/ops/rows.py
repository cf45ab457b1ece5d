"""What a file of rows is written with: ways to declare one, shapes and dtypes, and the refusals that rows share.

A file takes all of it from here. ``gviz/ops/__init__.py`` says which way is for what.

Source: nothing of PyTorch's but the messages, which are those of its native functions.
"""

from __future__ import annotations

import math
from types import FunctionType
from typing import Any

import numpy as np

from gviz.autograd.call import laid_as
from gviz.autograd.modes import mode
from gviz.autograd.row import ARRAYS, NUMBERS, ROWS, TENSORS, Row, composite, everywhere, op, public_names
from gviz.numbers import dtypes
from gviz.numbers.dtypes import no_kernel, number, of
from gviz.numbers.random import fused, polynomial
from gviz.numbers.shapes import broadcast_shape, wrap_dim, wrap_dims
from gviz.numbers.types import Array
from gviz.numbers.words import LinAlgError, refuse, refuse_any, type_name, warn, warn_once

__all__ = [
    "ARRAYS", "NO_CLAMP", "NUMBERS", "TENSORS", "Array", "LinAlgError", "alike", "array_of", "brief",
    "broadcast_shape", "check_floats", "check_one_dtype", "check_square", "composite", "dtypes", "each_of",
    "everywhere", "exp_of", "fact", "formula", "function", "function_as", "in_double", "lacks", "laid_as", "log1p_of", "log_of",
    "mode", "no_kernel", "number", "of", "op", "precise_exp", "public_names", "refuse", "refuse_any", "refusing", "row", "tanh_of",
    "type_name", "warn", "warn_once", "wrap_dim", "wrap_dims",
]

for shared in (broadcast_shape, refuse, wrap_dim, wrap_dims):
    everywhere(shared)

CALLS = {1: lambda self: np.sin(self), 2: lambda self, other: np.hypot(self, other)}
"""Forwards that call a function of numpy's, by how many arrays that takes."""


def function_as(key: str, function: FunctionType, names: tuple[str, ...] | None = None) -> Any:
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
    if isinstance(forward, np.ufunc):
        declared["ufunc"] = forward
        function = function_as(key, CALLS[forward.nin], ("np", forward.__name__))
    else:
        function = function_as(key, forward)
    op(node, names, **declared)(function)

def function(key, node, forward, names=None, **declared: object):
    """Store a row of a function of floats (integers become the default float), in the table as ``NAME`` and ``NAME_``."""
    row(key, node, forward, f"{key} {key}_" if names is None else names, promote="float", **declared)

def in_double(ufunc):
    """Return a forward that computes one of numpy's functions as float64: rounded, it is what PyTorch has more often."""
    if ufunc.nin == 2:
        return lambda self, other: ufunc(self, other, dtype=np.result_type(self, other, np.float64)).astype(self.dtype)
    return lambda self: ufunc(self, dtype=np.result_type(self, np.float64)).astype(self.dtype)

FEW_EXPONENTIALS = 1 << 14
"""Elements whose exponentials take as long as some calls."""

def as_float64(ufunc):
    """Return one of numpy's functions that computes float32 numbers as float64, of symbols and others itself."""
    return lambda x: ufunc(x, dtype=np.float64).astype(np.float32) if getattr(x, "dtype", None) == np.float32 else ufunc(x)

precise_exp, log_of, log1p_of, tanh_of = map(as_float64, (np.exp, np.log, np.log1p, np.tanh))
EXPONENTIAL = (1.98527617612853646e-4, 1.39304355252534151e-3, 8.33336077630519867e-3, 4.16664853692054749e-2,
    1.66666671633720398e-1, 0.5)
"""The float32 coefficients of SLEEF's expf, the highest power first (src/libm/sleefsimdsp.c)."""

def exp_of(x):
    """Return the exponential; of few float32 numbers to the bit that SLEEF, which PyTorch's activations call, computes."""
    if getattr(x, "dtype", None) != np.float32 or x.size > FEW_EXPONENTIALS:
        return precise_exp(x)
    power = np.rint(x * np.float32(1 / math.log(2)))
    rest = fused(power, -1.428606765330187045e-6, fused(power, -0.693145751953125, x))
    series = fused(rest * rest, polynomial(rest, EXPONENTIAL), rest) + np.float32(1)
    value = (series * np.exp2(power, dtype=np.float64)).astype(np.float32)
    return np.where(x > 104, np.float32(np.inf), np.where(x < -104, np.float32(0), value))

def alike(key, node, other, names="", **derivatives: str):
    """Store a row that is another one but for its node, and derivatives told by the result: an in-place form, not a view."""
    same = ROWS[other]
    copied = ("nondiff", "lists", "outputs", "extras", "promote", "hidden", "internal", "check")
    declared = {name: getattr(same, name) for name in copied}
    row(key, node, same.forward, names, **{**declared, **same.texts, **derivatives})

def brief(names, function, key="", **kinds: str):
    """Register a composite of one expression, called as its first name; the kinds are the annotations of its parameters."""
    public = function_as(key or names.split()[0].rpartition(".")[2], function)
    public.__annotations__ = kinds
    composite(names)(public)

def arranged(row, operands, result):
    """Return a result in the order of memory that PyTorch gives it: where operands disagree, numpy takes that of the indices."""
    arrays = [one for one in operands if isinstance(one, np.ndarray)]
    if (row.promote == "none" or result.__class__ is not np.ndarray or result.ndim < 2
            or all(one.flags.c_contiguous for one in arrays[:-1])):
        return result
    return laid_as(result, arrays[::-1] if row.key == "rsub" else arrays)
Row.arranged = arranged

def fact(key, function):
    """Register a function of plain numbers, or of sizes, of one expression in every namespace; return it."""
    return everywhere(function_as(key, function))

def formula(key, function):
    """Register a composite of one expression that only formulas use."""
    composite(function_as(key, function))

# ------------------------------------------------------------------ what several rows refuse
def check_one_dtype(first: Array, second: Array, message: str) -> None:
    """Refuse two dtypes that differ, by a message with places for their names, and their names in C++."""
    if first.dtype != second.dtype:
        kinds = [dtypes.of(array.dtype) for array in (first, second)]
        raise RuntimeError(message.format(*(kind.scalar_name for kind in kinds), *(kind.c_name for kind in kinds)))

def lacks(kernel: str, kinds: str = "biuc", message: str = "", error: type[Exception] = RuntimeError) -> Any:
    """Return the check of a row whose kernel PyTorch has not for numbers of these kinds.

    Args:
        kernel: its name.
        kinds: numpy's letters for kinds of dtypes, and "e" for those of two bytes; the operands' common dtype is of one.
        message: what is said in place of PyTorch's usual sentence, with a place for "complex" or "bool", and ``{name}``.
        error: the type of that.
    """
    def check(*operands: Any) -> None:
        common = dtypes.result_type(*[value for value in operands if value is not None])
        if ("e" if common.char in "eE" else common.kind) in kinds:
            words = message.format("complex" if common.kind == "c" else "bool", name=dtypes.of(common).scalar_name)
            raise error(words) if words else dtypes.no_kernel(kernel, common)
    return refusing(kinds, check)

def each_of(*checks: Any) -> Any:
    """Return the check that is several, one after the other."""
    def check(*operands: Any) -> None:
        for one in checks:
            one(*operands)
    return refusing("".join(getattr(one, "refused", "f") for one in checks), check)

def refusing(kinds: str, check: Any) -> Any:
    """Say of a check that it refuses these kinds of numbers alone: a call of others can do without it; return it."""
    check.refused = kinds
    return check

NO_CLAMP = lacks("", "c", "clamp is not supported for complex types", NotImplementedError)

@everywhere
def check_square(array: Array, name: str, square: bool = True) -> None:
    """Refuse what is not a matrix, or batch of them; and (unless told not to) one with other rows than columns."""
    refuse(len(array.shape) < 2, f"{name}: The input tensor A must have at least 2 dimensions.")
    refuse(square and array.shape[-2] != array.shape[-1], f"{name}: A must be batches of square matrices, but they are "
           "{} by {} matrices".format(*array.shape[-2:]))

def check_floats(array: Array, name: str) -> None:
    """Refuse a matrix of integers."""
    refuse(array.dtype.kind not in dtypes.INEXACT,
           f"{name}: Expected a floating point or complex tensor as input. Got {dtypes.of(array.dtype).scalar_name}")
