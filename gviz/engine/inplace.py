"""Writing in place: versions, what PyTorch forbids, and the graph afterwards.

An in-place form is made from the ordinary operation: it runs on a twin that keeps the old values and the old place in
the graph, its result is written into the tensor's memory, and the tensor takes the result's place in the graph. Where
the tensor is a view, its base gets a :class:`CopySlices` node instead, and every other view of that base finds its new
edge when it is next used (:func:`renew_edge`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.lib.stride_tricks import as_strided

from gviz.engine import dtypes, text
from gviz.engine.modes import mode
from gviz.engine.node import NO_GRAD_VIEW, Node, SavedResult, next_seq
from gviz.engine.op import ROWS, TENSORS
from gviz.engine.tensor import Tensor, edge_of, from_array

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["CopySlices", "in_place", "renew_edge", "reshape_in_place", "set_item"]


def in_place(operation: Callable[..., Any], tensor: Tensor, *args: Any, **kwargs: Any) -> Tensor:
    """Run an operation on a tensor and leave the result in its memory.

    Raises:
        RuntimeError: PyTorch forbids it (a leaf that requires a gradient, a view of one, a result of another shape or kind).
    """
    check(tensor, args)
    twin = from_array(tensor._array.copy(), edge_of(tensor))
    result = operation(twin, *args, **kwargs)
    array = result._array
    if array.shape != tensor._array.shape:
        raise RuntimeError(
            f"output with shape {list(tensor._array.shape)} doesn't match the broadcast shape {list(array.shape)}"
        )
    refuse_cast(array.dtype, tensor._array.dtype)
    kept = getattr(result._edge, "saved", None)
    if twin._edge is not None and (kept is twin or (kept.__class__ is tuple and any(value is twin for value in kept))):
        twin._edge = TENSORS["clone"](twin)._edge  # what PyTorch saves is a recorded copy
    tensor._array[...] = array
    write(tensor, result._edge)
    return tensor


def reshape_in_place(operation: Callable[..., Any], tensor: Tensor, *args: Any) -> Tensor:
    """Change a tensor's own shape: it keeps its memory (a view its base too) and takes the operation's place in the graph."""
    check(tensor)
    result = operation(from_array(tensor._array, edge_of(tensor)), *args)
    tensor._array = result._array
    version = tensor.version_cell()
    version.count += 1
    if result._edge is not None:
        tensor._edge = result._edge
        move_hooks(tensor)
    tensor.rare().seen = version.count
    return tensor


def refuse_cast(have: Any, want: Any) -> None:
    """A result may not lose its kind: no float into integers.

    Raises:
        RuntimeError: it would.
    """
    kinds = "biufc"
    order = {"b": 0, "i": 1, "u": 1, "f": 2, "c": 3}
    if have.kind in kinds and order[have.kind] > order[want.kind]:
        names = text.SCALAR_NAMES
        raise RuntimeError(
            f"result type {names.get(have.name, have.name)} can't be cast to the desired output type "
            f"{names.get(want.name, want.name)}"
        )


def check(tensor: Tensor, others: tuple[Any, ...] = ()) -> None:
    """Whether this tensor may be written now.

    Raises:
        RuntimeError: it may not, in PyTorch's words.
    """
    if not mode.on:
        return
    tensor.refresh()
    base = tensor._base
    if tensor.is_leaf and tensor.requires_grad and base is None:
        raise RuntimeError("a leaf Variable that requires grad is being used in an in-place operation.")
    if base is None:
        return
    grads = tensor.requires_grad or any(isinstance(o, Tensor) and o.requires_grad for o in others)
    if base.is_leaf and base.requires_grad:
        raise RuntimeError("a view of a leaf Variable that requires grad is being used in an in-place operation.")
    origin = tensor.rare().origin
    if origin == "multi" and grads:
        node, number = tensor.grad_fn, tensor.output_nr
        name = "" if node is None else node.name().removesuffix("0").removesuffix("Backward")
        raise RuntimeError(
            f"Output {number} of {name} is a view and is being modified inplace. This view is the output of a function "
            "that returns "
            "multiple views. Such functions do not allow the output views to be modified inplace. You should replace the "
            "inplace "
            "operation by an out-of-place one."
        )
    if origin == "no_grad" and grads:
        raise RuntimeError(
            "A view was created in no_grad mode and is being modified inplace with grad mode enabled. Given that this "
            "use case is "
            "ambiguous and error-prone, it is forbidden. You can clarify your code by moving both the view and the "
            "inplace either both "
            "inside the no_grad block (if you don't want the inplace to be tracked) or both outside (if you want the "
            "inplace to be tracked)."
        )


def write(tensor: Tensor, edge: Any) -> None:
    """The tensor's memory was written: raise its version and give it its new place in the graph."""
    version = tensor.version_cell()
    version.count += 1
    if edge is None or not mode.on:
        return
    row = getattr(type(edge), "row", None)
    base = tensor._base
    if base is None:
        tensor._edge = edge
        move_hooks(tensor)
        if row is not None:
            save_written(edge, tensor, version)
        return
    slices = CopySlices(base, tensor, edge)
    base._edge = slices
    renew_edge(tensor)


def move_hooks(tensor: Tensor) -> None:
    """A retained gradient is that of the tensor as it is now."""
    if tensor._rare is not None and tensor._rare.retains:
        from gviz.engine import hooks

        hooks.retain(tensor._edge, tensor)


def save_written(node: Node, tensor: Tensor, version: Any) -> None:
    """What the node saved as its result is the tensor's own memory now, at this version."""
    row = type(node).row
    kept = node.saved if node.saved.__class__ is tuple else (node.saved,)
    changed = tuple(
        SavedResult(tensor._array, version, version.count)
        if i in row.tensor_positions and row.saved[i].kind == "result"
        else value
        for i, value in enumerate(kept)
    )
    node.saved = changed if node.saved.__class__ is tuple else changed[0] if kept and row.saved else node.saved


def address(array: Any) -> int:
    """Where an array's first element lies."""
    return int(array.__array_interface__["data"][0])


class CopySlices(Node):
    """The node of a tensor of which a view was written: the gradient goes to the old base, less what was overwritten."""

    __slots__ = ("base_shape", "base_strides", "function", "offset", "view_shape", "view_strides")

    def __init__(self, base: Tensor, view: Tensor, function: Node) -> None:
        array, part = base._array, view._array
        self.function = function
        self.edges = (edge_of(base), *function.edges[1:])
        self.seq = next_seq()
        self.shape = array.shape
        self.saved = None
        self.base_shape, self.base_strides = array.shape, array.strides
        self.view_shape, self.view_strides = part.shape, part.strides
        self.offset = address(part) - address(array)

    def apply(self, grad: Any, keep: bool) -> Any:
        """The gradients of the old base and of what was written."""
        full, part = self.layout(grad.dtype)
        full[...] = grad
        out = self.function.apply(part.copy(), keep)
        outs = out if isinstance(out, tuple) else (out,)
        part[...] = 0 if outs[0] is None else outs[0]
        return (np.ascontiguousarray(full), *outs[1:])

    def layout(self, dtype: Any) -> tuple[Any, Any]:
        """Memory laid out as the base's, and the view in it."""
        item = dtype.itemsize
        span = 1 + sum((n - 1) * s // item for n, s in zip(self.base_shape, self.base_strides, strict=True) if n)
        memory = np.zeros(max(span, 1), dtype)
        full = as_strided(memory, self.base_shape, self.base_strides)
        return full, as_strided(memory[self.offset // item :], self.view_shape, self.view_strides)

    def apply_tensors(self, grad: Any, keep: bool) -> Any:
        """The same, recorded."""
        item = grad._array.itemsize
        size, stride, offset = self.view_shape, tuple(s // item for s in self.view_strides), self.offset // item
        full = in_place(TENSORS["copy_into"], from_array(self.layout(grad._array.dtype)[0], None), grad)
        part = TENSORS["as_strided"](full, size, stride, offset)
        out = self.function.apply_tensors(TENSORS["clone"](part), keep)
        outs = out if isinstance(out, tuple) else (out,)
        in_place(TENSORS["copy_into"], part, TENSORS["zeros_like"](part) if outs[0] is None else outs[0])
        return (full, *outs[1:])


def renew_edge(view: Tensor) -> None:
    """Give a view the edge that its base has now, through its place in the base's memory."""
    base = view._base
    rare = view.rare()
    rare.seen = view.version_cell().count
    if base is None or base._edge is None or view._edge is NO_GRAD_VIEW:
        return
    item = view._array.itemsize
    stride = tuple(s // item for s in view._array.strides)
    before, mode.on = mode.on, True
    try:
        fresh = ROWS["as_strided"].ready()(
            base, view._array.shape, stride, (address(view._array) - address(base._array)) // item
        )
    finally:
        mode.on = before
    view._edge = fresh._edge


def set_item(tensor: Tensor, key: Any, value: Any) -> None:
    """``tensor[key] = value``: through a view where the key gives one, else as ``index_put_``."""
    from gviz.engine.surface.indexing import views_of

    part, indices = views_of(tensor, key)
    if not isinstance(value, Tensor):
        value = from_array(np.asarray(value, part._array.dtype), None)
    if value._array.dtype != part._array.dtype:
        value = value.to(dtypes.of(part._array.dtype))
    if indices is not None:
        in_place(TENSORS["index_put"], part, indices, value, False)
        return
    shape = part._array.shape
    if not value._array.ndim and shape:
        in_place(TENSORS["fill_tensor"], part, value)
        return
    if value._array.shape != shape:
        value = fitted(value, shape)
    in_place(TENSORS["copy_into"], part, value)


def fitted(value: Tensor, shape: tuple[int, ...]) -> Tensor:
    """A value broadcast to the place it is written to.

    Raises:
        RuntimeError: it does not fit.
    """
    have = value._array.shape
    while len(have) > len(shape) and have[0] == 1:
        value = TENSORS["squeeze_dim"](value, 0)
        have = value._array.shape
    try:
        expanded: Tensor = TENSORS["expand"](value, shape)
    except RuntimeError:
        if len(have) > len(shape):
            raise RuntimeError(
                f"expand(torch.FloatTensor{{{list(have)}}}, size={list(shape)}): the number of sizes provided "
                f"({len(shape)}) must be greater "
                f"or equal to the number of dimensions in the tensor ({len(have)})"
            ) from None
        raise
    return expanded
