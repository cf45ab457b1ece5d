"""A call of any row with any operands: arguments in order, one dtype for all, the forward, the node.

The hot paths of ``makers.py``, which are for arithmetic and functions of one variable, come here with all else: a quick way for
plain tensors and options (a reduction, a view, an index, a matrix product), and one for keywords, numbers, lists, None, mixed
dtypes, several outputs. Recording is the same there and here: one node, its edges, its shape, its creation number and what it
saves.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from gviz.engine import hooks
from gviz.engine.data import dtypes
from gviz.engine.data.classes import type_text
from gviz.engine.data.results import result_class
from gviz.engine.data.shapes import broadcast_shape
from gviz.engine.data.words import COMPLEX, bound, no_memory
from gviz.engine.layout import ELEMENTWISE, arranged, is_laid, mark
from gviz.engine.modes import mode
from gviz.engine.node import NO_GRAD_VIEW, Output, next_seq
from gviz.engine.op import TENSORS
from gviz.engine.tensor import Tensor, edge_of, from_array

if TYPE_CHECKING:
    from gviz.engine.op import Row

__all__ = ["NUMBERS", "OPERANDS", "general", "plain_number"]

ndarray = np.ndarray
new = object.__new__

NUMBERS: Any = (int, float, bool, complex, np.generic)

OPERANDS = (Tensor, *NUMBERS)

WORD = 1 << 63
"""From here on an integer does not fit (as a number without a sign, from twice that)."""

SCALAR_ROWS = {"add": "add_scalar", "sub": "sub_scalar", "mul": "mul_scalar", "div": "div_scalar"}
"""In a derivative that is recorded, a number next to a tensor is PyTorch's scalar overload (``MulBackward1``)."""

REMARKS = (RuntimeWarning, FloatingPointError, MemoryError)
"""What a forward raises that is not about its operands: numpy's remarks (on ``log(0)``, where the program's own filters or
``np.seterr`` make errors of them), which are computed past, and that there is no memory, which is told as PyTorch does."""

IN_SINGLE = frozenset({"mul", "div"})
"""Rows that take a number, or a 0-d tensor, beside float16 as it is, and round what comes of it."""


def general(row: Row) -> Any:
    """Any row, any operands: keywords, numbers, lists, None, mixed dtypes, views, several outputs."""
    forward, arity = row.compute, len(row.parameters)

    def call(*args: Any, **kwargs: Any) -> Any:
        if kwargs or len(args) != arity:
            args = in_order(row, args, kwargs)
        if (
            mode.formula
            and (scalar := SCALAR_ROWS.get(row.key)) is not None
            and any(isinstance(args[i], NUMBERS) for i in row.inputs)
        ):
            return TENSORS[scalar](*args)
        arrays, mixed = operands(row, args)
        try:
            data = forward(*arrays)
        except MemoryError as error:
            raise no_memory(error) from None
        except REMARKS:
            with np.errstate(all="ignore"):
                data = forward(*arrays)
        except ValueError:
            broadcast_shape(*(np.shape(arrays[i]) for i in row.inputs if not isinstance(arrays[i], list)))
            raise
        if row.key in IN_SINGLE and arrays[0].dtype != arrays[1].dtype:
            data = data.astype(np.float16)
        if row.key in ELEMENTWISE and is_laid(args):
            data = arranged(data, arrays)
        return record(row, args, data, mixed)

    return plain(row, call)


def in_order(row: Row, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...]:
    """Arguments in the order of the row's parameters, defaults filled in; refuses unknown and missing ones."""
    names = row.parameters
    if not kwargs and 0 < len(names) - len(args) <= len(row.defaults):
        return args + row.defaults[len(args) - len(names) :]
    if "input" in kwargs and "input" not in names:
        kwargs[names[0]] = kwargs.pop("input")
    options = dict.fromkeys(names, ...) | dict(zip(reversed(names), reversed(row.defaults), strict=False))
    return tuple(bound(row.key, options, args, kwargs).values())


def operands(row: Row, args: tuple[Any, ...]) -> tuple[list[Any], bool]:
    """The arrays for the forward, brought to one dtype by PyTorch's rule; and whether that changed any."""
    arrays = list(args)
    for i in row.inputs:
        value = args[i]
        if isinstance(value, Tensor):
            arrays[i] = value._array
        elif isinstance(value, list | tuple) and row.parameters[i] in row.lists:
            arrays[i] = [v._array if isinstance(v, Tensor) else v for v in value]
        elif isinstance(value, NUMBERS):
            arrays[i] = plain_number(value)
            if value.__class__ is int and not -WORD <= value < 2 * WORD:
                raise OverflowError("int too big to convert")
        elif value is not None:
            raise TypeError(
                f"{row.key}(): argument '{row.parameters[i].replace('self', 'input')}' (position {i + 1}) must be Tensor, "
                f"not {type_text(value)}"
            )
    if row.check is not None:
        row.check(*(arrays[i] for i in row.inputs))
    if row.promote == "none" or not (row.edges or row.promote):
        return arrays, False
    return promoted(row, arrays)


def plain_number(value: Any) -> Any:
    """A numpy number as Python's own; a truth of numpy's is a float, as to PyTorch, which knows Python's only."""
    return float(value) if isinstance(value, np.bool_) else value.item() if isinstance(value, np.generic) else value


def promoted(row: Row, arrays: list[Any]) -> tuple[list[Any], bool]:
    """Cast the differentiable operands to their common dtype; integers to the default float where the row is about floats."""
    flat: list[Any] = []
    positions = row.inputs if row.promote == "pointwise" else row.edges
    for i in positions:
        value = arrays[i]
        flat.extend(value if isinstance(value, list) else [value])
    flat = [value for value in flat if value is not None]
    target = dtypes.result_type(*flat) if len(flat) > 1 else getattr(flat[0], "dtype", None) if flat else None
    if target is not None and row.promote == "float" and target.kind in "iub":
        target = dtypes.get_default_dtype().np
    if target is None:
        return arrays, False
    mixed = False
    wide = row.key in IN_SINGLE and target == np.float16

    def cast(value: Any) -> Any:
        nonlocal mixed
        if isinstance(value, ndarray):
            if value.dtype is target or value.dtype == target:
                return value
            mixed = True
            return value.astype(target)
        return value if value is None else np.asarray(value).astype(target)  # an integer out of range wraps around

    for i in positions:
        value = arrays[i]
        arrays[i] = [cast(v) for v in value] if isinstance(value, list) else cast(value)
    if wide and not np.ndim(flat[1]):
        arrays[1] = np.asarray(flat[1], np.float32)
    return arrays, mixed


def record(row: Row, args: tuple[Any, ...], data: Any, mixed: bool) -> Any:
    """Wrap what the forward gave, with a node if some input wants a gradient."""
    several = row.outputs
    arrays = list(data) if several or row.extras else [data]
    if not arrays:  # unbind of an empty tensor
        return ()
    arrays = [a if a.__class__ is ndarray or a is None else np.asarray(a) for a in arrays]
    shown = arrays[: len(several)] if row.extras and several else arrays
    split = len(shown) if several == ("...",) else sum(a is None or a.dtype.kind in "fc" for a in shown) if several else 0
    split = 0 if split == 1 and several != ("...",) else split
    node = make_node(row, args, arrays, mixed=mixed, split=split) if mode.on and row.cls is not None else None
    if not several:
        result = mark(from_array(arrays[0], node if arrays[0].dtype.kind in "fc" else None))
        if row.view:
            mark_view(result, args[row.inputs[0]], arrays[0], row)
        return result
    results: list[Any] = []
    for i, array in enumerate(shown):
        if array is None:  # a derivative that nobody wants
            results.append(None)
            continue
        edge = None
        if node is not None and array.dtype.kind in "fc":
            edge = Output(node, i, array.shape) if split else node
        results.append(mark(from_array(array, edge)))
        if row.view:
            mark_view(results[-1], args[row.inputs[0]], array, row)
    return tuple(results) if several == ("...",) else result_class(row.key.partition("_")[0], several)(results)


def make_node(row: Row, args: tuple[Any, ...], arrays: list[Any], *, mixed: bool, split: int) -> Any:
    """The node of a call, None if no input wants a gradient.

    Args:
        row: the operation.
        args: its arguments.
        arrays: what its forward gave.
        mixed: whether operands were cast.
        split: how many outputs have a gradient where these are several, each of which then has an edge of its own.
    """
    inputs: list[Any] = []
    for i in row.edges:
        value = args[i]
        inputs.extend(value) if isinstance(value, list | tuple) else inputs.append(value)
    if row.node == "NotImplemented":  # what PyTorch's fallback makes knows of nothing else
        inputs = [v for v in inputs if isinstance(v, Tensor) and v.requires_grad]
    if not any(isinstance(v, Tensor) and v.requires_grad for v in inputs):
        return None
    edges = tuple(edge_of(v) if isinstance(v, Tensor) else None for v in inputs)
    first = next(a for a in arrays if a is not None)
    if first.dtype.kind == "c":
        raise NotImplementedError(COMPLEX)
    node = new(row.cls)
    node._edges = edges
    node._seq = next_seq()
    node._shape = first.shape
    if split:
        next_seq()  # an output's edge is younger than its node
        node._shape = hooks.parts_shape(tuple(() if a is None else a.shape for a in arrays[:split]))
    saved = row.save(args, edges, arrays)
    node._kept = saved[0] if len(saved) == 1 and row.saved[0].kind in ("input", "result") and len(row.edges) == 1 else saved
    if mixed or any(isinstance(v, Tensor) and v._array.dtype != first.dtype for v in inputs):
        hooks.cast_gradients(node, [v._array.dtype if isinstance(v, Tensor) else None for v in inputs])
    for note in mode.notes:
        note(node)
    return node


def mark_view(result: Tensor, source: Any, array: Any, row: Row) -> None:
    """Note that the result shares the memory of an input (if it really does), and with it the version."""
    if array.base is None and array is not source._array:
        return
    rare = mark(result).rare()
    rare.base = source._base if source._is_view() else source
    rare.version = source.version_cell()
    rare.seen = rare.version.count
    if not mode.on:
        rare.origin = "inference" if mode.inference else "no_grad"
        if rare.base.requires_grad:
            result._edge = NO_GRAD_VIEW
    elif row.outputs:
        rare.origin = "multi"
    elif source._rare is not None and source._rare.origin:
        rare.origin = source._rare.origin


# ------------------------------------------------------------------ one tensor, or two of one dtype, and options
def plain(row: Row, careful: Any) -> Any:
    """The quick function of a row, which leaves what is unusual to the careful one; that one for an unusual row."""
    unusual = row.outputs or row.extras or row.lists or row.check is not None or row.node == "NotImplemented"
    if unusual or row.inputs != row.edges:
        return careful
    if row.inputs == [0]:
        return lone(row, careful)
    return pair(row, careful) if row.inputs == [0, 1] and not row.view else careful


def lone(row: Row, careful: Any) -> Any:
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
        if (floats and array.dtype.kind != "f") or ((rare := tensor._rare) is not None and rare.laid):
            return careful(*args)
        try:
            data = forward(array, *args[1:])
        except (ValueError, *REMARKS):  # for PyTorch's message
            return careful(*args)
        if data.__class__ is not ndarray:
            data = np.asarray(data)
        edge = None if not mode.on else tensor._edge if tensor._rare is None else edge_of(tensor) or tensor._edge
        node = None if edge is None else made(row, args, (tensor,), data)
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
        if a.dtype is not b.dtype or (floats and a.dtype.kind != "f") or is_laid((first, second)):
            return careful(*args)
        try:
            data = forward(a, b, *args[2:])
        except (ValueError, TypeError, *REMARKS):
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
