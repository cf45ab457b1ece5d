"""From a row to its function: the two hot paths, and the choice between them and the general way.

``one_input`` and ``two_inputs`` are written out by hand for plain rows (one output, no view, at most the operands or the result
saved): their checks are the few that cannot be left out. What is not the plain case (numbers, mixed dtypes, subclasses,
keywords), and every other row, goes through ``general.py``, which has a quick way of its own for plain tensors.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from weakref import ref

import numpy as np

from gviz.engine.calls.refusals import guarded_row, takes_numbers
from gviz.engine.data.classes import left_over
from gviz.engine.derivatives import crossed
from gviz.engine.formulas import direct, own
from gviz.engine.general import OPERANDS, REMARKS, general
from gviz.engine.modes import mode
from gviz.engine.node import link, next_seq
from gviz.engine.saved import guarded
from gviz.engine.tensor import Tensor, edge_of, from_array

if TYPE_CHECKING:
    from gviz.engine.op import Row

__all__ = ["make"]

ndarray = np.ndarray
new = object.__new__


def make(row: Row) -> tuple[Any, Any]:
    """The recording function of a row, and the same as an operator."""
    fallback = general(row)
    return choose(row, fallback), choose(row, operator(fallback, row.key == "equal") if len(row.parameters) > 1 else fallback)


def make_public(row: Row, name: str, *, method: bool) -> Any:
    """The recording function of a row under a public name: it takes numbers only where PyTorch's does."""
    call = choose(row, guarded_row(row, general(row), name, method=method), numbers=takes_numbers(name))
    call.__name__ = call.__qualname__ = name
    return call


def operator(function: Any, arrays: bool) -> Any:
    """A function that leaves operands it does not know to Python, which then names both types; arrays only where they count."""

    def call(self: Any, other: Any = 0) -> Any:
        if arrays and other.__class__ is ndarray and other.dtype.kind in "biufc":
            other = from_array(other, None)
        return function(self, other) if isinstance(other, OPERANDS) else left_over(other)

    return call


def choose(row: Row, fallback: Any, *, numbers: bool = True) -> Any:
    """The maker for a row: a hot path where the row is plain, else the general one."""
    plain = not (row.outputs or row.view or row.lists or row.node in (None, "NotImplemented") or row.promote == "none")
    names = row.parameters
    if (
        plain
        and len(names) == 1
        and len(row.edges) == 1
        and len(row.saved) <= 1
        and all(s.kind in ("input", "result") for s in row.saved)
    ):
        return own(one_input(row, fallback))
    if plain and len(names) == 2 and len(row.edges) == 2 and (not row.saved or crossed(row)):
        return own(two_inputs(row, fallback, numbers=numbers))
    return fallback


NOTHING: Any = object()
"""Stands for an argument that was not given: cheaper than ``*args`` on every call."""


def unusual(fallback: Any, inputs: tuple[Any, ...], surplus: tuple[Any, ...], out: Any) -> Any:
    """A call with too few arguments, with too many, or with ``out``."""
    args = [arg for arg in (*inputs, *surplus) if arg is not NOTHING]
    if out is NOTHING:
        return fallback(*args)
    return fallback(*args, out=out) if surplus[0] is NOTHING else fallback(*args, out)


def one_input(row: Row, fallback: Any) -> Any:  # noqa: C901 - the hot path, written out
    """One tensor in, one of the same shape out; saves nothing, the input or the result."""
    forward, cls = direct(row.compute), row.cls
    kind = row.saved[0].kind if row.saved else ""
    keep_result, keep_input = kind == "result", kind == "input"

    def call(  # noqa: C901, PLR0912 - a call would cost 5 % of an operation
        input: Any = NOTHING, surplus: Any = NOTHING, third: Any = NOTHING, out: Any = NOTHING
    ) -> Any:
        if input.__class__ is not Tensor or surplus is not out:  # both are nothing
            return unusual(fallback, (input,), (surplus, third), out)
        if (rare := input._rare) is not None and rare.laid:
            return fallback(input)
        array = input._array
        try:
            data = forward(array)
        except (TypeError, KeyError, *REMARKS):  # booleans, for which numpy has no such function
            return fallback(input)
        if data.__class__ is not ndarray:
            data = np.asarray(data)
        if data.dtype is not array.dtype:
            return fallback(input)
        result = new(Tensor)
        result._array = data
        result._rare = None
        edge = input._edge
        if edge is not None and mode.on:
            if edge.__class__ is ref:
                edge = edge() or link(input)
            elif input._rare is not None:
                edge = edge_of(input)
            node = cls()
            node._left = edge
            node._right = None
            node._seq = next_seq()
            node._shape = data.shape if edge is None else edge._shape
            if keep_result:
                node._kept = data
            elif keep_input:
                node._kept = input if input._rare is None else guarded(input)
            else:
                node._kept = None
            result._edge = node
        elif input._rare is not None and mode.on and input.requires_grad:  # a view whose base was written since
            return fallback(input)
        else:
            result._edge = None
            if mode.inference:
                result.rare().inference = True
        return result

    return call


def two_inputs(row: Row, fallback: Any, *, numbers: bool = True) -> Any:  # noqa: C901, PLR0915 - the hot path, written out
    """Two tensors of one dtype in, one out; saves nothing, or each input for the other."""
    forward, cls = direct(row.compute), row.cls
    saves, floats = bool(row.saved), row.promote == "float"

    def call(  # noqa: C901, PLR0911, PLR0912, PLR0915 - a call would cost 5 % of an operation
        input: Any = NOTHING, other: Any = NOTHING, surplus: Any = NOTHING, out: Any = NOTHING
    ) -> Any:
        if input.__class__ is Tensor and other.__class__ is Tensor and surplus is out:  # both are nothing
            a, b = input._array, other._array
            if ((rare := input._rare) is not None and rare.laid) or ((rare := other._rare) is not None and rare.laid):
                return fallback(input, other)
            if a.dtype is b.dtype:
                try:
                    data = forward(a, b)
                except (ValueError, TypeError, *REMARKS):
                    return fallback(input, other)
                if data.__class__ is not ndarray:
                    data = np.asarray(data)
                if floats and data.dtype is not a.dtype:
                    return fallback(input, other)
                result = new(Tensor)
                result._array = data
                result._rare = None
                left, right = input._edge, other._edge
                if (left is not None or right is not None) and mode.on:
                    if left.__class__ is ref:
                        left = left() or link(input)
                    elif input._rare is not None:
                        left = edge_of(input)
                    if right.__class__ is ref:
                        right = right() or link(other)
                    elif other._rare is not None:
                        right = edge_of(other)
                    node = cls()
                    node._left = left
                    node._right = right
                    node._seq = next_seq()
                    if left is not None and right is not None and left._shape == right._shape:
                        node._shape = left._shape  # one tuple for the whole chain
                    else:
                        node._shape = data.shape
                    if saves:
                        if left is None:
                            other = None
                        elif other._rare is not None:
                            other = guarded(other)
                        if right is None:
                            input = None
                        elif input._rare is not None:
                            input = guarded(input)
                        node._kept = (other, input)
                    else:
                        node._kept = None
                    result._edge = node
                elif (
                    (input._rare is not None or other._rare is not None)
                    and mode.on
                    and (input.requires_grad or other.requires_grad)
                ):
                    return fallback(input, other)  # a view whose base was written since
                else:
                    result._edge = None
                    if mode.inference:
                        result.rare().inference = True
                return result
        elif (
            surplus is out
            and input.__class__ is Tensor
            and (other.__class__ is float or other.__class__ is int)
            and input._array.dtype.char in "fd"
            and ((rare := input._rare) is None or not rare.laid)
        ):
            return with_number(input, other)
        if other is NOTHING or surplus is not out:
            return unusual(fallback, (input, other), (surplus,), out)
        return fallback(input, other)

    def with_number(input: Any, other: Any) -> Any:
        """A floating point tensor and a Python number: numpy keeps the tensor's dtype, as PyTorch does."""
        array = input._array
        try:
            data = forward(array, other)
        except REMARKS:
            return fallback(input, other)
        if data.__class__ is not ndarray:
            data = np.asarray(data)
        if data.dtype is not array.dtype:
            return fallback(input, other)
        result = new(Tensor)
        result._array = data
        result._rare = None
        edge = input._edge
        if edge is not None and mode.on and not mode.formula:
            if edge.__class__ is ref:
                edge = edge() or link(input)
            elif input._rare is not None:
                edge = edge_of(input)
            node = cls()
            node._left = edge
            node._right = None
            node._seq = next_seq()
            node._shape = data.shape if edge is None else edge._shape
            node._kept = (other, None) if saves else None
            result._edge = node
            return result
        if mode.on and (edge is not None or (input._rare is not None and input.requires_grad)):
            return fallback(input, other)
        result._edge = None
        if mode.inference:
            result.rare().inference = True
        return result

    with_number = own(with_number) if numbers else fallback
    return call
