"""The call of a row: operands to arrays of one dtype, the forward, the result as a tensor, the node that records it."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from functools import partial
from typing import Any

import numpy as np

from gviz.autograd.modes import mode
from gviz.autograd.node import Array, Edge, Node, edge_to, next_seq
from gviz.autograd.row import NUMBERS, TENSORS, Row
from gviz.autograd.saved import SavedValue, save
from gviz.autograd.tensor import Tensor, edge_of, from_array
from gviz.autograd.words import COMPLEX
from gviz.numbers import dtypes
from gviz.numbers.classes import type_text
from gviz.numbers.shapes import broadcast_shape, element_strides, memory_order
from gviz.numbers.words import no_memory

OPERANDS: Any = (Tensor, *NUMBERS)
STEPWISE = {"each": sys.maxsize, "few": 64, "first": 0}
"""By the rounding of a row: below how many elements its kernel rounds after each step; more are computed 64 at once."""

FACTS: dict[str, Any] = {
    "dim": lambda array: array.ndim,
    "sizes": lambda array: array.shape,
    "dtype": lambda array: array.dtype,
    "numel": lambda array: array.size,
    "strides": element_strides,
}
"""What a row may save of an input instead of the input."""


def call(row: Row, *args: Any) -> Any:
    """Return the operation's result; it is recorded if the grad mode is on and an input requires a gradient.

    Arguments are in the order of the parameters; the last ones may be left to their defaults.
    """
    if (missing := len(row.parameters) - len(args)) > 0:
        args += row.defaults[-missing:]
    if row.scalar_overload and mode.formula and any(isinstance(args[i], NUMBERS) for i in row.inputs):
        return TENSORS[row.scalar_overload](*args[:2])
    arrays = operands(row, args)
    forward = (
        partial(in_single, row)
        if dtypes.NARROW and not (row.view or row.reshapes or row.rounding == "none")
        else row.forward
    )
    if own := [
        one for one in one_by_one([arrays[i] for i in row.inputs]) if hasattr(one, "forward")
    ]:  # without numbers or masked: computed in another way
        forward = own[0].forward(row, forward, args)  # without numbers or masked: computed in another way
    try:
        data = forward(*arrays)
    except (
        RuntimeWarning,
        FloatingPointError,
    ):  # a script's filters make errors of numpy's warnings: PyTorch gives none
        with np.errstate(all="ignore"):
            data = forward(*arrays)
    except MemoryError as error:
        raise no_memory(error) from None
    except (ValueError, ZeroDivisionError) as error:
        broadcast_shape(*(np.shape(arrays[i]) for i in row.inputs if not isinstance(arrays[i], list)))
        if f"{row.key}()" in str(error):  # the row's own word, not numpy's or Python's
            raise
        raise RuntimeError(f"{row.key}(): {error}") from None
    except IndexError as error:
        raise IndexError(str(error).replace("for axis", "for dimension")) from None
    except TypeError as error:  # numpy has no loop for this dtype
        if not any(sign in str(error) for sign in ("for the input types", "numpy boolean", "No loop")):
            raise
        broadcast_shape(*(np.shape(arrays[i]) for i in row.inputs))
        raise dtypes.no_kernel(f"{row.key}_cpu", arrays[row.inputs[0]].dtype) from None
    return data if isinstance(data, Tensor) else results(row, args, row.arranged(arrays, data))


def operands(row: Row, args: tuple[Any, ...]) -> list[Any]:
    """Return the arguments for the forward: tensors as arrays, brought to one dtype by PyTorch's rule."""
    arrays, dtype, same = list(args), None, True
    for i in row.inputs:
        value = args[i]
        if value.__class__ is Tensor or isinstance(value, Tensor):
            array = arrays[i] = value._array
            if array.dtype is not dtype:
                same, dtype = same and dtype is None, array.dtype
        elif value.__class__ in (list, tuple) and row.parameters[i] in row.lists:
            arrays[i], same = [one._array if isinstance(one, Tensor) else one for one in value], False
        elif isinstance(value, NUMBERS):
            arrays[i] = plain_number(value)
            same = same and dtype is not None and dtype.kind == "f" and value.__class__ in (int, float)
        elif value is not None:
            name = row.parameters[i].replace("self", "input")
            raise TypeError(f"{row.key}(): argument '{name}' (position {i + 1}) must be Tensor, not {type_text(value)}")
    if row.check is not None:
        row.check(*(arrays[i] for i in row.inputs))
    if not row.promoted_inputs or (
        same and (row.promote != "float" or (dtype is not None and dtype.kind in dtypes.INEXACT))
    ):
        return arrays
    return promoted(row, arrays)


def in_single(row: Row, *operands: object) -> Any:
    """Return what the forward gives; of 16 bits computed in float32 and rounded, as PyTorch's kernels do.

    The first operand that is of real numbers says the dtype of the results, unless the call does.
    """
    arrays = [one for one in one_by_one(operands) if isinstance(one, np.ndarray)]
    kinds = [array.dtype for array in arrays if array.dtype.kind in dtypes.FLOATS]
    narrow = next((kind for kind in kinds if kind in dtypes.NARROW), None)
    if narrow is None or (set(kinds) != {narrow} and row.rounding != "mixed"):
        return row.forward(*operands)
    in_steps = max(array.size for array in arrays) < STEPWISE.get(row.rounding, 0)

    def converted(value: object) -> Any:
        if isinstance(value, list):
            return [converted(one) for one in value]
        if value.__class__ in (int, float) and row.rounding in STEPWISE:
            value = np.asarray(value).astype(narrow)
        if in_steps or not isinstance(value, np.ndarray) or value.dtype != narrow:
            return value
        return value.astype(np.float32, "C" if 0 in value.strides else "K")

    data = row.forward(*map(converted, operands))
    if kinds[0] != narrow or any(isinstance(one, np.dtype) for one in operands):
        return data
    outputs = [
        dtypes.cast(one, narrow) if getattr(one, "dtype", None) == np.float32 else one
        for one in (data if row.outputs or row.extras else (data,))
    ]
    return outputs if row.outputs or row.extras else outputs[0]


def one_by_one(values: Iterable[Any]) -> list[Any]:
    """Return values, and each of what is in a list or a tuple among them."""
    return [one for value in values for one in (value if value.__class__ in (list, tuple) else (value,))]


def plain_number(value: object) -> Any:
    """Return a numpy number as Python's own; a truth value of numpy's is a float, as PyTorch takes it."""
    return float(value) if isinstance(value, np.bool_) else value.item() if isinstance(value, np.generic) else value


def promoted(row: Row, arrays: list[Any]) -> list[Any]:
    """Return the operands in their common dtype; integers in the default float dtype if the row is about floats."""
    flat = [value for value in one_by_one([arrays[i] for i in row.promoted_inputs]) if value is not None]
    target = dtypes.result_type(*flat) if len(flat) > 1 else getattr(flat[0], "dtype", None) if flat else None
    if target is not None and row.promote == "float" and target.kind in "iub":
        target = dtypes.get_default_dtype().np
    if target is None:
        return arrays

    def cast(value: Any, i: int) -> Any:
        if row.rounding == "wide" and i and target in dtypes.NARROW and not np.ndim(value):
            return np.asarray(value).item()
        return value if value is None else dtypes.as_array(value).astype(target, copy=False)

    for i in row.promoted_inputs:
        arrays[i] = [cast(one, i) for one in arrays[i]] if isinstance(arrays[i], list) else cast(arrays[i], i)
    return arrays


# ------------------------------------------------------------------ results
def results(row: Row, args: tuple[Any, ...], data: Any) -> Any:
    """Return the tensor, or the tensors, that a call gives; without what the forward made only for the derivatives."""
    arrays = [own_memory(row, args, array) for array in (data if row.outputs or row.extras else (data,))]
    outputs = arrays[: max(len(row.outputs), 1)] if row.extras else arrays
    flows = (
        len(outputs)
        if row.outputs == ("...",)
        else sum(array is None or array.dtype.kind in row.grad_kinds for array in outputs)
    )
    node = (
        record_call(row, args, arrays, flows)
        if mode.recording and (flows or (outputs and "?" not in row.grad_kinds))
        else None
    )
    tensors: list[Any] = []
    for i, array in enumerate(outputs):
        if array is None:  # a derivative that nobody wants
            tensors.append(None)
            continue
        tensors.append(
            from_array(array, None if node is None or array.dtype.kind not in row.grad_kinds else edge_to(node, i))
        )
        if row.view:
            mark_view(tensors[-1], args[row.inputs[0]], "multi" if row.outputs else "")
    return row.result_class(tensors) if row.outputs else tensors[0]


def laid_as(result: Array, operands: list[Array]) -> Array:
    """Return a result in the order of memory that PyTorch gives to one of elements of these operands."""
    if result.flags.c_contiguous and all(one.flags.c_contiguous for one in operands):
        return result
    order = memory_order(result.shape, operands)
    ordered = np.array(result.transpose(order), order="C", copy=1 in result.shape or None)
    return ordered.transpose([*map(order.index, range(result.ndim))])


def own_memory(row: Row, args: tuple[Any, ...], data: Any) -> Any:
    """Return what a forward made as an array, or what makes it later.

    Copied if it is on an input's memory, but for views.
    """
    array = data if data is None or callable(data) else dtypes.as_array(data)
    if row.view or row.reshapes or not isinstance(array, np.ndarray):
        return array
    inputs = (value._array for value in args if isinstance(value, Tensor))
    return (
        array.copy("C" if 0 in array.strides else "K")
        if any(one is array or (array.base is not None and np.may_share_memory(array, one)) for one in inputs)
        else array
    )


def record_call(row: Row, args: tuple[Any, ...], arrays: list[Any], flows: int) -> Node | None:
    """Return the node of a call with so many outputs that have a gradient; None if no input requires one."""
    if row.node is None:
        return None
    inputs = one_by_one([args[i] for i in row.edges])
    if not any(isinstance(value, Tensor) and value.requires_grad for value in inputs):
        return None
    if any(array is not None and array.dtype.kind == "c" for array in arrays[:1]):
        raise NotImplementedError(COMPLEX)
    if not flows:
        raise RuntimeError(f"Autograd not support dtype: {dtypes.of(arrays[0].dtype).scalar_name}")
    node: Node = object.__new__(row.cls)
    node._next = edges = tuple([edge_of(value) if isinstance(value, Tensor) else None for value in inputs])
    node._outputs = tuple([((), None) if array is None else (array.shape, array.dtype) for array in arrays[:flows]])
    node._hooks = None
    node._seq = next_seq()
    node._saved = saved_values(row, args, edges, arrays)
    for note in mode.node_callbacks:
        note(node, args, arrays)
    return node


def saved_values(
    row: Row, args: tuple[Any, ...], edges: tuple[Edge | None, ...], arrays: list[Any]
) -> list[SavedValue]:
    """Return what a call keeps, in the order of the row's plan."""
    values: list[SavedValue] = []
    for _, source, index, guard in row.plan:
        is_needed = guard is None or edges[guard] is not None
        if source == "input":
            values.append(save(args[index]) if is_needed else None)
        elif source == "option":
            values.append(args[index])
        elif source in ("result", "extra"):
            values.append(arrays[index])
        else:
            values.append(fact_of(source, args[index] if index >= 0 else arrays[-1 - index]) if is_needed else ())
    if (
        row.skips_sole_input and sum(edge is not None for edge in edges) == 1
    ):  # the input whose gradient alone is wanted
        name = row.parameters[row.edges[next(i for i, edge in enumerate(edges) if edge is not None)]]
        values[next(i for i, save in enumerate(row.plan) if save.name == name)] = None
    return values


def fact_of(name: str, value: Any) -> Any:
    """Return the fact that is saved in place of an input: a key of :data:`FACTS`, or one size (``size_1``)."""
    if value.__class__ in (list, tuple):
        return tuple(fact_of(name, one) for one in value)
    if value is None:
        return (0,)  # of sizes_opt
    array = value._array if isinstance(value, Tensor) else dtypes.as_array(value)
    name = name.removesuffix("_opt")
    return (
        FACTS[name](array)
        if name in FACTS
        else array.shape[int(name.rpartition("_")[2]) * (-1 if "minus" in name else 1)]
    )


def mark_view(view: Tensor, source: Tensor, creation_meta: str) -> None:
    """Note that a result shares the memory of an input (if it really does), and with it the version."""
    if view._array.base is None and view._array is not source._array:
        return
    meta = view._autograd_meta()
    meta.inference = source.is_inference()
    if meta.inference:  # which has no version, and a view of it is a tensor like any other, that nothing has recorded
        view._edge = None
        return
    meta.base = source._base if source._is_view() else source
    view._version_cell = source._version_counter()
    meta.version_seen = view._version_cell.count
    meta.creation_meta = creation_meta or (source._meta.creation_meta if source._meta is not None else "")
    if not mode.recording:
        meta.creation_meta = "inference" if mode.inference or meta.creation_meta == "inference" else "no_grad"


Row.__call__ = call  # type: ignore[method-assign]
