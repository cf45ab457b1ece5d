"""Views after somebody wrote in place: the base's node, the views' new edges, and what PyTorch forbids.

Where a view is written, its base gets a :class:`CopySlices` node, and every other view of that base finds its new edge when
it is next used (:func:`renew_edge`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.lib.stride_tricks import as_strided

from gviz.engine.modes import enable_grad
from gviz.engine.node import Node, next_seq, public_edge, short_name
from gviz.engine.op import TENSORS
from gviz.engine.saved import freed_error
from gviz.engine.tensor import edge_of, from_array

if TYPE_CHECKING:
    from gviz.engine.tensor import Tensor

__all__ = ["CopySlices", "move_edge", "owner", "refuse_view", "renew_edge", "take_place"]


def refuse_view(view: Tensor, *, indirect: bool = False) -> None:
    """Refuse to write a view that was made in a way that forbids it, or (indirect) that its base was written."""
    origin = view.rare().origin
    if not origin:
        if not indirect and view.requires_grad and view._base is not None and view._base.is_leaf:
            raise RuntimeError("a view of a leaf Variable that requires grad is being used in an in-place operation.")
        return
    written = "its base or another view of its base has been" if indirect else "is being"
    edge = view._edge if isinstance(view._edge, Node) else None
    if origin == "multi":
        end = (
            " This view is the output of a function that returns multiple views. Such functions do not allow the output views "
            "to be modified inplace. You should replace the inplace operation by an out-of-place one."
        )
    elif origin == "function":
        end = (
            " This view was created inside a custom Function (or because an input was returned as-is) and the autograd logic "
            "to handle view+inplace would override the custom backward associated with the custom Function, leading to "
            "incorrect gradients. This behavior is forbidden. You can fix this by cloning the output of the custom Function."
        )
    else:
        block = "inference_mode" if origin == "inference" else origin
        end = (
            " Given that this use case is ambiguous and error-prone, it is forbidden. You can clarify your code by moving both "
            f"the view and the inplace either both inside the {block} block (if you don't want the inplace to be tracked) or "
            "both outside (if you want the inplace to be tracked)."
        )
    node, number = public_edge(edge)
    start = "A view was" if edge is None else f"Output {number} of {short_name(node)} is a view of a view which was"
    if origin == "inference":
        start += f" created in inference mode and {written} modified inplace in normal mode."
    elif edge is None or origin == "no_grad":
        start += f" created in no_grad mode and {written} modified inplace with grad mode enabled."
    else:
        start = f"Output {number} of {short_name(node)} is a view and {written} modified inplace."
    raise RuntimeError(start + end)


def owner(array: Any) -> Any:
    """The array whose memory another one is a part of."""
    found = step = array
    while step is not None:  # as_strided puts an object of its own between two arrays
        found, step = step if isinstance(step, np.ndarray) else found, getattr(step, "base", None)
    return found


def offset(array: Any) -> int:
    """How many elements of the memory that an array is part of lie before its first one."""
    start, first = (one.__array_interface__["data"][0] for one in (owner(array), array))
    return int(first - start) // int(array.itemsize)


class CopySlices(Node):
    """The node of a tensor of which a view was written: the gradient goes to the old base, less what was overwritten."""

    __module__ = "builtins"
    __slots__ = ("base_shape", "base_strides", "function", "offset", "view_shape", "view_strides")

    def __init__(self, base: Tensor, view: Tensor, function: Node) -> None:
        array, part = base._array, view._array
        self.function: Node | None = function
        self._edges = (edge_of(base), *function._edges[1:])
        self._seq = next_seq()
        self._shape = array.shape
        self._kept = None
        item = array.itemsize  # all in elements: a gradient may have another dtype
        self.base_shape, self.base_strides = array.shape, tuple(s // item for s in array.strides)
        self.view_shape, self.view_strides = part.shape, tuple(s // item for s in part.strides)
        self.offset = offset(part) - offset(array)  # after base.data = ... each counts in its own memory

    def _apply(self, grad: Any, keep: bool) -> Any:
        """The gradients of the old base and of what was written."""
        full, part = self.layout(grad.dtype)
        full[...] = grad
        out = self.written(keep)._apply(part.copy(), True)  # it may be in the graph of a derivative too
        outs = out if isinstance(out, tuple) else (out,)
        part[...] = 0 if outs[0] is None else outs[0]
        return (np.ascontiguousarray(full), *outs[1:])

    def written(self, keep: bool) -> Node:
        """The node of what was written, which is freed with the graph.

        Raises:
            RuntimeError: it is freed.
        """
        if self.function is None:
            raise freed_error()
        function, self.function = self.function, self.function if keep else None
        return function

    def layout(self, dtype: Any) -> tuple[Any, Any]:
        """Memory laid out as the base's, and the view in it."""
        item = dtype.itemsize
        parts = (self.base_shape, self.base_strides), (self.view_shape, self.view_strides)
        starts = max(-self.offset, 0), max(self.offset, 0)
        spans = [1 + sum((n - 1) * s for n, s in zip(*part, strict=True) if n) for part in parts]
        memory = np.zeros(max(map(sum, zip(starts, spans, strict=True))), dtype)  # holds a view that lies elsewhere now, too
        full, view = (
            as_strided(memory[at:], size, [s * item for s in steps]) for at, (size, steps) in zip(starts, parts, strict=True)
        )
        return full, view

    def _apply_tensors(self, grad: Any, keep: bool) -> Any:
        """The same, recorded."""
        from gviz.engine.inplace import in_place

        size, stride, offset = self.view_shape, self.view_strides, self.offset
        full = in_place(TENSORS["copy_into"], from_array(self.layout(grad._array.dtype)[0], None), grad)
        part = TENSORS["as_strided"](full, size, stride, offset)
        out = self.written(keep)._apply_tensors(TENSORS["clone"](part), True)
        outs = out if isinstance(out, tuple) else (out,)
        in_place(TENSORS["copy_into"], part, TENSORS["zeros_like"](part) if outs[0] is None else outs[0])
        return (full, *outs[1:])


def move_edge(tensor: Tensor, edge: Any) -> None:
    """Give a tensor a new place in the graph; a retained gradient is that of the tensor as it is now."""
    if tensor._rare is not None and tensor._rare.retains:
        from gviz.engine import hooks

        hooks.forget(tensor._edge)
        hooks.retain(edge, tensor)
    tensor._edge = edge


def take_place(tensor: Tensor, edge: Any) -> None:
    """Give a tensor whose memory was written its new place in the graph: for a view it is that of its base."""
    base = tensor._base
    if base is None:
        move_edge(tensor, edge)
        return
    before = base._edge
    move_edge(base, CopySlices(base, tensor, edge))
    try:
        renew_edge(tensor)
    except RuntimeError:  # the view lies outside of other data that the base was given
        move_edge(base, before)
        raise


def renew_edge(view: Tensor) -> None:
    """Give a view the edge that its base has now, through its place in the base's memory, unless such views forbid it."""
    base = view._base
    rare = view.rare()
    if base is not None and (base._edge is not None or isinstance(view._edge, Node)):
        refuse_view(view, indirect=True)
    rare.seen = view.version_cell().count
    if base is None or (base._edge is None and not isinstance(view._edge, Node)):
        return
    item = view._array.itemsize
    stride = tuple(s // item for s in view._array.strides)
    source = base.detach().requires_grad_() if base._edge is None else base
    with enable_grad():
        fresh = TENSORS["as_strided"](source, view._array.shape, stride, offset(view._array) - offset(base._array))
    if source is not base:  # the leaf was a view, and its views have lost their way to it
        fresh._edge._edges = (None,)
    move_edge(view, fresh._edge)
