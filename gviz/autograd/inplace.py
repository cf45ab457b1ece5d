"""Writing in place: what PyTorch forbids, versions, and the graph afterwards.

An in-place form is made from the ordinary operation: it runs on a twin that keeps the old values and the old place in
the graph, its result is written into the tensor's memory, and the tensor takes the result's place in the graph
(``views.py``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any
from weakref import ref

import numpy as np
from numpy.lib.array_utils import byte_bounds

from gviz.autograd.modes import mode
from gviz.autograd.node import AccumulateGrad
from gviz.autograd.row import TENSORS
from gviz.autograd.tensor import Tensor, Version, edge_of, from_array, recorded_edge
from gviz.autograd.views import refuse_view, take_place
from gviz.autograd.words import INFERENCE_WRITTEN, NO_DATA
from gviz.numbers import dtypes
from gviz.numbers.words import refuse

ONE_MEMORY = (
    "unsupported operation: {} to a single memory location. Please clone() the tensor before performing the operation."
)

SHARED = ("masked_fill", "masked_fill_tensor", "index_put", "index_fill", "index_fill_tensor")
"""Operations that PyTorch lets write where several elements are one memory, as those of expand() are."""


def in_place(operation: Callable[..., Any], tensor: Tensor, *args: object) -> Tensor:
    """Run an operation on a tensor and leave the result in its memory.

    Raises:
        RuntimeError: PyTorch forbids it (a leaf that requires a gradient, a view of one, a result of another shape or
            kind).
    """
    refuse_write(tensor, args)
    array = tensor._array
    twin = from_array(array.copy("K"), edge_of(tensor) if mode.recording else None)
    result = operation(twin, *args)
    values = result._array
    if values.shape != array.shape:  # the message is written for those who need it: this is done for each step
        raise RuntimeError(
            f"output with shape {list(array.shape)} doesn't match the broadcast shape {list(values.shape)}"
        )
    if values.dtype != array.dtype:
        refuse(
            "dtype" in getattr(operation, "parameters", ()) and args[-1] is not None,
            f"Bad in-place call: input tensor dtype {dtypes.of(array.dtype).c_name} and output tensor dtype"
            f" {dtypes.of(values.dtype).c_name} should match",
        )
        refuse_cast(values.dtype, array.dtype)
    refuse(values.device != array.device == "cpu", NO_DATA, NotImplementedError)
    is_filled = getattr(operation, "key", "") in SHARED
    others = [one._array for one in args if isinstance(one, Tensor) and (one._array.ndim or not is_filled)]
    is_shared = refuse_overlap(array, values, others, is_filled=is_filled)
    refuse(
        not array.flags.forc
        and np.ptp(byte_bounds(array)) < array.nbytes
        and not (is_shared or is_filled or getattr(operation, "texts", {}).get("self") == "zeros_like(grad)"),
        "arithmetic in place on windows that overlap is not in gviz's engine; run with --engine torch",
        NotImplementedError,
    )
    node = result.grad_fn if mode.recording else None
    if twin._edge is not None and node is not None and any(value is twin for value in node._saved or ()):
        twin._edge = TENSORS["clone"](twin)._edge  # what PyTorch saves is a recorded copy
    # Where elements share a memory, what the operation leaves as it was, whatever that is, does not cover what it writes
    other = operation(from_array((array == 0).astype(array.dtype), None), *args)._array if is_shared else values
    written = (values != array) | (values == other) | (np.isnan(values) & np.isnan(other)) if is_shared else ...
    array[written] = values[written]
    version = count_write(tensor)
    if node is not None:  # the result was recorded
        type(node).watch(node, result.output_nr, version, array)
        take_place(tensor, result._edge)
    return tensor


def refuse_overlap(array: Any, values: Any, others: Iterable[Any], *, is_filled: bool = False) -> bool:
    """Refuse to write values where several elements, or an element and one of another array, are one memory.

    Return whether several elements are one memory, which an operation that fills may write.
    """
    is_shared = array.size > 1 and any(
        n > 1 and step and not own for n, own, step in zip(array.shape, array.strides, values.strides, strict=False)
    )
    refuse(is_shared and not is_filled, ONE_MEMORY.format("more than one element of the written-to tensor refers"))
    refuse(
        any(np.may_share_memory(array, one) and overlaps(array, one) for one in others),
        ONE_MEMORY.format("some elements of the input tensor and the written-to tensor refer"),
    )
    return is_shared


def overlaps(array: Any, other: Any) -> bool:
    """Return whether two arrays share a part of their memory, as far as PyTorch looks: neither may have gaps in it."""
    sides = [
        (byte_bounds(one), [step for n, step in zip(one.shape, one.strides, strict=True) if n > 1], one.nbytes)
        for one in (array, other)
    ]
    return sides[0] != sides[1] and all(end - begin == size for (begin, end), _, size in sides)


def refuse_cast(have: np.dtype[Any], want: np.dtype[Any]) -> None:
    """Refuse to write a result into memory of a dtype that cannot hold it: a float is not made an integer."""
    refuse(
        not dtypes.can_cast(have, want),
        f"result type {dtypes.of(have).scalar_name} can't be cast to the desired output type"
        f" {dtypes.of(want).scalar_name}",
    )


def reshape_in_place(operation: Callable[..., Any], tensor: Tensor, *args: object) -> Tensor:
    """Change a tensor's own shape: it keeps its memory and its base, and takes the operation's place in the graph."""
    refuse_write(tensor)
    result = operation(from_array(tensor._array, edge_of(tensor)), *args)
    tensor._array = result._array
    version = count_write(tensor)
    if result._edge is not None:
        tensor._edge = result._edge
        tensor._autograd_meta().version_seen = version.count
    elif tensor._edge.__class__ is ref:  # a leaf: the node in existing graphs stays as it was
        tensor._edge = ref(AccumulateGrad(tensor))
    return tensor


def count_write(tensor: Tensor) -> Version:
    """Count a write and return the version; an inference tensor has none, as PyTorch says after the write."""
    refuse(not mode.inference and tensor.is_inference(), INFERENCE_WRITTEN)
    version = tensor._version_counter()
    version.count += 1
    return version


def refuse_write(tensor: Tensor, others: Iterable[Any] = ()) -> None:
    """Refuse a tensor that may not be written now; who wants to hear of writing hears of it."""
    if mode.writing is not None:
        mode.writing(tensor)
    if not mode.recording or not any(isinstance(one, Tensor) and one.requires_grad for one in (tensor, *others)):
        return
    if tensor._is_view():
        refuse_view(tensor)
    refuse(
        tensor.requires_grad and recorded_edge(tensor) is None,
        "a leaf Variable that requires grad is being used in an in-place operation.",
    )
