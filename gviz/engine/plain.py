"""Calls of any row where the operands are plain: one tensor, or two of one dtype, and options.

Between the hot paths of ``makers.py``, which are for arithmetic and functions of one variable, and ``general.py``, which takes
whatever comes: a reduction, a view, an index, a quotient, a matrix product. What is not plain goes on to ``general.py``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from gviz.engine import hooks
from gviz.engine.modes import mode
from gviz.engine.node import next_seq
from gviz.engine.tensor import Tensor, edge_of, from_array

if TYPE_CHECKING:
    from gviz.engine.op import Row

__all__ = ["plain"]

ndarray = np.ndarray
new = object.__new__


def plain(row: Row, careful: Any, mark_view: Any) -> Any:
    """The quick function of a row, which leaves what is unusual to the careful one; that one where the row is unusual itself.

    Args:
        row: the operation.
        careful: its function for any operands.
        mark_view: notes that a result is a view of the input.
    """
    if row.outputs or row.extras or row.lists or row.check is not None or row.inputs != row.edges:
        return careful
    if row.inputs == [0]:
        return lone(row, careful, mark_view)
    return pair(row, careful) if row.inputs == [0, 1] and not row.view else careful


def lone(row: Row, careful: Any, mark_view: Any) -> Any:
    """One tensor and options."""
    forward, arity, defaults, view = row.compute, len(row.parameters), row.defaults, row.view
    floats = row.promote == "float"

    def call(*args: Any, **kwargs: Any) -> Any:
        missing = arity - len(args)
        if kwargs or missing < 0 or missing > len(defaults) or len(args) == 0 or not isinstance(args[0], Tensor):
            return careful(*args, **kwargs)
        if missing:
            args += defaults[-missing:]
        tensor = args[0]
        array = tensor._array
        if floats and array.dtype.kind != "f":
            return careful(*args)
        try:
            data = forward(array, *args[1:])
        except ValueError:  # for PyTorch's message
            return careful(*args)
        if data.__class__ is not ndarray:
            data = np.asarray(data)
        edge = tensor._edge if tensor._rare is None else edge_of(tensor) or tensor._edge
        node = made(row, args, (tensor,), data) if edge is not None and mode.on else None
        result = from_array(data, node)
        if view:
            mark_view(result, tensor, data, row)
        return result

    return call


def pair(row: Row, careful: Any) -> Any:
    """Two tensors of one dtype, and options."""
    forward, arity, floats = row.compute, len(row.parameters), row.promote == "float"

    def call(*args: Any, **kwargs: Any) -> Any:
        if kwargs or len(args) != arity or not (isinstance(args[0], Tensor) and isinstance(args[1], Tensor)):
            return careful(*args, **kwargs)
        first, second = args[0], args[1]
        a, b = first._array, second._array
        if a.dtype is not b.dtype or (floats and a.dtype.kind != "f"):
            return careful(*args)
        try:
            data = forward(a, b, *args[2:])
        except (ValueError, TypeError):
            return careful(*args)
        if data.__class__ is not ndarray:
            data = np.asarray(data)
        wants = mode.on and (first.requires_grad or second.requires_grad)
        return from_array(data, made(row, args, (first, second), data) if wants else None)

    return call


def made(row: Row, args: tuple[Any, ...], inputs: tuple[Any, ...], data: Any) -> Any:
    """The node of a call."""
    if row.cls is None or data.dtype.kind not in "fc":
        return None
    node = new(row.cls)
    edges = (edge_of(inputs[0]),) if len(inputs) == 1 else (edge_of(inputs[0]), edge_of(inputs[1]))
    node._left = edges[0]
    node._right = edges[1] if len(edges) == 2 else None
    node._seq = next_seq()
    node._shape = data.shape
    saved = row.save(args, edges, (data,))
    node._kept = saved[0] if len(saved) == 1 == len(inputs) and row.saved[0].kind in ("input", "result") else saved
    if data.dtype is not inputs[0]._array.dtype:
        hooks.cast_gradients(node, [tensor._array.dtype for tensor in inputs])
    for note in mode.notes:
        note(node)
    return node
