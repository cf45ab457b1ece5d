"""Writing in place: what PyTorch forbids, versions, and the graph afterwards.

An in-place form is made from the ordinary operation: it runs on a twin that keeps the old values and the old place in
the graph, its result is written into the tensor's memory, and the tensor takes the result's place in the graph. Where
the tensor is a view, its base gets a ``CopySlices`` node instead (``views.py``).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from weakref import ref

import numpy as np
from numpy.lib.array_utils import byte_bounds

from gviz.engine.data import dtypes
from gviz.engine.data.classes import type_text
from gviz.engine.data.results import result_class
from gviz.engine.data.shapes import broadcast_shape
from gviz.engine.data.words import EXPANDED, RESIZED, type_name, warn
from gviz.engine.elements import steps_of
from gviz.engine.general import OPERANDS, WORD
from gviz.engine.layout import is_dense
from gviz.engine.modes import mode, no_grad, refuse_inference
from gviz.engine.op import TENSORS
from gviz.engine.ops.shape import may_meet
from gviz.engine.saved import Packed, SavedResult
from gviz.engine.tensor import Tensor, edge_of, from_array
from gviz.engine.views import refuse_view, take_place

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from gviz.engine.node import Node

__all__ = ["copy_to", "in_place", "reshape_in_place", "set_item"]


OVERLAP = "unsupported operation: {} to a single memory location. Please clone() the tensor before performing the operation."
PIECEWISE = frozenset({
    "masked_select", "gather", "take", "cat", "stack", "index_select", "index_copy", "index_add", "index_put", "scatter",
    "scatter_add", "scatter_reduce", "put",
})  # fmt: skip
"""Functions that may not even write exactly where they read."""
HEEDLESS = frozenset({
    "masked_scatter", "masked_fill", "index_fill", "tril", "triu", "addmm", "addmv", "addbmm", "baddbmm", "mm", "mv", "bmm",
    "matmul", "sum", "mean", "softmax", "logsumexp",
})  # fmt: skip
"""Functions that do not look whether they write what they read."""
LONGEST = 1 << 14
"""Elements of a tensor up to which PyTorch's loop is followed step by step where it writes what it still reads."""


def in_place(
    operation: Callable[..., Any], tensor: Tensor, *args: Any, wherever: bool | str = False, name: str = "",
    spelling: str = "scalar_name", **kwargs: Any,
) -> Tensor:  # fmt: skip
    """Run an operation on a tensor and leave the result in its memory.

    Args:
        operation: it gives what is written.
        tensor: its first operand, which is overwritten.
        args: the other operands.
        wherever: whether it may write several elements in one place; as a text with this warning; if true, over what it reads.
        name: its name, if it is one of those that look at what they read in another way than element by element.
        spelling: which of its names the dtype has in the message that it cannot hold the result.
        kwargs: further options of the operation.

    Raises:
        RuntimeError: PyTorch forbids it (a leaf that requires a gradient, a view of one, a result of another shape or kind).
    """
    check(tensor, (*args, *kwargs.values()))
    if wherever and wherever is not True and is_expanded(tensor._array):
        warn(wherever)
    shared = wherever is not True and refuse_overlap(tensor._array, (*args, *kwargs.values()), name, within=wherever is False)
    twin = from_array(tensor._array.copy("K"), edge_of(tensor))
    try:
        result = operation(twin, *args, **kwargs)
    except (NotImplementedError, TypeError) as error:  # PyTorch asks for the kernel last
        if isinstance(error, NotImplementedError) or any(isinstance(value, complex) for value in args):
            arrays = [getattr(value, "_array", value) for value in (tensor, *args) if isinstance(value, OPERANDS)]
            kind = dtypes.result_type(*arrays)
            if kind.kind == "c" or repr(dtypes.of(kind).scalar_name) in str(error):
                refuse_result(broadcast_shape(*map(np.shape, arrays)), kind, tensor._array, spelling)
        raise
    array = result._array
    refuse_result(array.shape, array.dtype, tensor._array, spelling)
    kept = getattr(result._edge, "_kept", None)
    if twin._edge is not None and (kept is twin or (kept.__class__ is tuple and any(value is twin for value in kept))):
        twin._edge = TENSORS["clone"](twin)._edge  # what PyTorch saves is a recorded copy
    if shared and name in PIECEWISE | HEEDLESS:
        changed = (array != twin._array) & ~(np.isnan(array) & np.isnan(twin._array))
        np.copyto(tensor._array, array, where=changed)  # what was not written must not undo what was, in one place
    elif shared and array.size <= LONGEST:
        write_in_turn(tensor._array, operation, args, kwargs)
    else:
        tensor._array[...] = array
    write(tensor, result._edge)
    return tensor


def write_out(name: str, out: Any, compute: Callable[[], Any], args: Iterable[Any]) -> Any:
    """What a function gives, written into the tensor (or the tensors) given as ``out``, if nothing requires a gradient."""
    outs = [out] if isinstance(out, Tensor) else list(out)
    if mode.on and any(isinstance(value, Tensor) and value.requires_grad for value in (*args, *outs)):
        raise RuntimeError(
            f"{name}(): functions with out=... arguments don't support automatic differentiation, but one of the arguments "
            "requires grad."
        )
    given = [value for one in args for value in (one if isinstance(one, list | tuple) else [one])]
    found = compute()
    if isinstance(out, Tensor):
        refuse_cast(found._array.dtype, out._array.dtype)
        return fill_out(out, found._array, given, name)
    if len(outs) != len(found):
        raise TypeError(f"expected tuple of {len(found)} elements but got {len(outs)}")
    for one, result in zip(outs, found, strict=True):
        if one.dtype is not result.dtype:
            raise RuntimeError(f"Expected out tensor to have dtype {result.dtype.c_name}, but got {one.dtype.c_name} instead")
        fill_out(one, result._array, given, name)
    return result_class(f"{type(found).__name__}_out", found.names)(outs)


def fill_out(out: Tensor, array: Any, args: Iterable[Any], name: str) -> Tensor:
    """Write a result into a tensor, which gets its shape if it has another one."""
    check(out)
    refuse_overlap(out._array, args, name)
    if out._array.shape != array.shape:
        if out._array.size:
            warn(RESIZED.format(list(out._array.shape), list(array.shape)))
        out._array = np.empty(array.shape, out._array.dtype)
    out._array[...] = array
    out.version_cell().count += 1
    return out


def reshape_in_place(operation: Callable[..., Any], tensor: Tensor, *args: Any) -> Tensor:
    """Change a tensor's own shape: it keeps its memory (a view its base too) and takes the operation's place in the graph."""
    check(tensor)
    result = operation(from_array(tensor._array, edge_of(tensor)), *args)
    tensor._array = result._array
    if tensor._edge.__class__ is ref and (node := tensor._edge()) is not None:
        node._shape = result._array.shape  # a leaf's node in graphs that exist expects gradients like it
    version = tensor.version_cell()
    version.count += 1
    if result._edge is not None:
        tensor._edge = result._edge  # a gradient that is retained stays that of the tensor as it was
        tensor.rare().seen = version.count
    return tensor


def write_in_turn(array: Any, operation: Any, args: Any, kwargs: dict[str, Any]) -> None:
    """Write an array that shares memory with itself or an operand as PyTorch's loop does, which reads what it has written.

    Along the innermost dim it takes 64 bytes at once where these lie side by side, and what is left one by one.
    """
    order = sorted(range(array.ndim), key=lambda dim: -array.strides[dim])
    inputs = [np.broadcast_to(a._array, array.shape).transpose(order) if isinstance(a, Tensor) else a for a in args]
    output, item = array.transpose(order), array.itemsize
    length, at_once = output.shape[-1], 64 // item
    steps = {a.strides[-1] // a.itemsize for a in (output, *inputs) if isinstance(a, np.ndarray)}
    blocks = length - length % at_once if steps <= {0, 1} else 0
    parts = [slice(i, i + at_once) for i in range(0, blocks, at_once)] + [slice(i, i + 1) for i in range(blocks, length)]
    with no_grad():
        for place in np.ndindex(output.shape[:-1]):
            lines = [a[place] if isinstance(a, np.ndarray) else a for a in inputs]
            held = [a.copy() if isinstance(a, np.ndarray) and not a.strides[0] else a for a in lines]
            for part in parts:
                given = held if part.start < blocks else lines
                operands = (from_array(a[part], None) if isinstance(a, np.ndarray) else a for a in given)
                output[place][part] = operation(from_array(output[place][part], None), *operands, **kwargs)._array


def refuse_overlap(array: Any, others: Iterable[Any] = (), name: str = "", *, within: bool = True) -> bool:
    """Refuse to write (within) a tensor with several elements in one place, or in memory that another operand has too.

    Args:
        array: what is written.
        others: the operands.
        name: of the function; where it is none of those above, an operand may be the very tensor.
        within: whether the first is refused.

    Returns:
        whether elements may be in one place, or be those of an operand, all the same
    """
    sharing = [o._array for o in others if isinstance(o, Tensor) and np.may_share_memory(array, o._array)]
    which = ""
    if within and is_expanded(array):
        which = "more than one element of the written-to tensor refers"
    elif sharing and name not in HEEDLESS and any(shares_part(array, o, same=name not in PIECEWISE) for o in sharing):
        which = "some elements of the input tensor and the written-to tensor refer"
    if which:
        raise RuntimeError(OVERLAP.format(which))
    return may_overlap(array) or any(not same_place(array, o) for o in sharing)


def is_expanded(array: Any) -> bool:
    """Whether several elements lie in one place."""
    return bool(
        0 in array.strides and array.size and any(n > 1 and not s for n, s in zip(array.shape, array.strides, strict=True))
    )


def may_overlap(array: Any) -> bool:
    """Whether several elements may lie in one place."""
    return not array.flags.forc and may_meet((n, s) for n, s in zip(array.shape, array.strides, strict=True) if n > 1)


def shares_part(written: Any, read: Any, *, same: bool) -> bool:
    """Whether two arrays that share memory have no gaps, unless (same) they share it element by element."""
    alike = byte_bounds(written) == byte_bounds(read) and steps_of(written) == steps_of(read)
    return is_dense(written) and is_dense(read) and not (same and alike)


def same_place(one: Any, other: Any) -> bool:
    """Whether two arrays are the same elements of the same memory."""
    facts = [(a.__array_interface__["data"], a.shape, a.strides, a.dtype) for a in (one, other)]
    return bool(facts[0] == facts[1])


def refuse_result(shape: tuple[int, ...], kind: Any, array: Any, spelling: str) -> None:
    """Refuse to write a result of another shape, or one that would lose its kind."""
    if shape != array.shape:
        raise RuntimeError(f"output with shape {list(array.shape)} doesn't match the broadcast shape {list(shape)}")
    refuse_cast(kind, array.dtype, spelling)


def refuse_cast(have: Any, want: Any, spelling: str = "scalar_name") -> None:
    """Refuse to make a result lose its kind: no float becomes an integer."""
    if not dtypes.can_cast(have, want):
        have, want = dtypes.of(have).scalar_name, getattr(dtypes.of(want), spelling)
        raise RuntimeError(f"result type {have} can't be cast to the desired output type {want}")


def check(tensor: Tensor, others: Iterable[Any] = ()) -> None:
    """Refuse a tensor that may not be written now."""
    refuse_inference(tensor)
    if not mode.on:
        return
    wanted = tensor.requires_grad
    if not wanted and not any(isinstance(o, Tensor) and o.requires_grad for o in others):
        return
    if tensor._is_view():
        refuse_view(tensor)
    if wanted and (tensor._edge is None or tensor._edge.__class__ is ref):  # as far as is known: is_leaf would find out more
        raise RuntimeError("a leaf Variable that requires grad is being used in an in-place operation.")


def write(tensor: Tensor, edge: Any) -> None:
    """The tensor's memory was written: raise its version and give it its new place in the graph."""
    version = tensor.version_cell()
    version.count += 1
    if edge is None or not mode.on:
        return
    if getattr(type(edge), "_row", None) is not None:
        save_written(edge, tensor, version)
    take_place(tensor, edge)


def save_written(node: Node, tensor: Tensor, version: Any) -> None:
    """What the node saved as its result is the tensor's own memory now, at this version."""
    row = type(node)._row
    kept = node._kept if node._kept.__class__ is tuple else (node._kept,)
    changed = tuple(
        SavedResult(tensor._array, version, version.count)
        if i in row.tensor_positions
        and (row.saved[i].kind, row.saved[i].index) == ("result", 0)
        and value.__class__ is not Packed  # a hook has it, and no version is compared
        else value
        for i, value in enumerate(kept)
    )
    node._kept = changed if node._kept.__class__ is tuple else changed[0] if kept and row.saved else node._kept


def set_item(tensor: Tensor, key: Any, value: Any) -> None:
    """``tensor[key] = value``: through a view where the key gives one, else as ``index_put_``."""
    from gviz.engine.surface.indexing import views_of

    source = value if isinstance(value, Tensor) else from_array(number_array(value, tensor), None)
    part, indices = views_of(tensor, key, writing=True)
    if indices is None:
        copy_to(part, source)
        return
    source = without_leading_ones(source, always=False)
    warning = EXPANDED.format("index_put_", "indices", "tensor")
    in_place(TENSORS["index_put"], part, indices, source, False, wherever=warning, name="index_put")


def number_array(value: Any, tensor: Tensor) -> Any:
    """A number of Python's as the 0-d array that is assigned."""
    if not isinstance(value, (bool, int, float, complex, np.integer)):
        raise TypeError(f"can't assign a {type_text(value)} to a {type_name(tensor._array.dtype)}")
    if isinstance(value, int) and not -WORD <= value < WORD:
        raise ValueError("Overflow when unpacking long long")
    return np.asarray(dtypes.number(value, tensor._array.dtype))


def copy_to(part: Tensor, source: Tensor) -> None:
    """Write a tensor into a view: as it is, everywhere, or expanded without its leading ones."""
    shape = part._array.shape
    if source._array.shape != shape:
        if not source._array.ndim:
            in_place(TENSORS["fill_tensor"], part, source)
            return
        source = without_leading_ones(source, always=True)
        if source._array.shape != shape:
            source = TENSORS["expand"](source, shape)
    in_place(TENSORS["copy_into"], part, source, wherever=same_place(part._array, source._array))


def without_leading_ones(source: Tensor, *, always: bool) -> Tensor:
    """The tensor without its first dimensions of size one, as a view (made anyway if so asked)."""
    have = source._array.shape
    first = next((i for i, size in enumerate(have) if size != 1), len(have))
    shorter: Tensor = TENSORS["view"](source, have[first:]) if first or always else source
    return shorter
