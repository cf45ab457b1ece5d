"""Views after somebody wrote in place: the base's node, the views' new edges, and what PyTorch forbids.

Where a view is written its base gets a :class:`CopySlices` node, and every other view of that base finds its new edge
when it is next used (:func:`refresh`).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.lib.array_utils import byte_bounds
from numpy.lib.stride_tricks import as_strided

from gviz.autograd.hooks import move_edge
from gviz.autograd.modes import enable_grad
from gviz.autograd.node import Array, Edge, Node, short_name, target_of
from gviz.autograd.row import TENSORS
from gviz.autograd.tensor import Tensor, edge_of, from_array, recorded_edge
from gviz.autograd.words import FREED, VIEW_OF_BLOCK, VIEW_OF_FUNCTION, VIEW_OF_SEVERAL
from gviz.numbers.shapes import element_strides
from gviz.numbers.words import refuse


def refuse_view(view: Tensor, *, indirect: bool = False) -> None:
    """Refuse to write a view that was made in a way that forbids it, or (indirect) that its base was written."""
    creation_meta, base = view._autograd_meta().creation_meta, view._base
    if not creation_meta:
        refuse(
            not indirect and view.requires_grad and base is not None and base.is_leaf,
            "a view of a leaf Variable that requires grad is being used in an in-place operation.",
        )
        return
    verb = "its base or another view of its base has been" if indirect else "is being"
    end = {"multi": VIEW_OF_SEVERAL, "function": VIEW_OF_FUNCTION}.get(creation_meta)
    end = end or VIEW_OF_BLOCK.format("inference_mode" if creation_meta == "inference" else creation_meta)
    edge, name, start = recorded_edge(view), "", "A view was"
    if edge is not None:
        node, number = target_of(edge)
        name = f"Output {number} of {short_name(node)}"
        start = f"{name} is a view of a view which was"
    if creation_meta == "inference":
        start += f" created in inference mode and {verb} modified inplace in normal mode."
    elif edge is None or creation_meta == "no_grad":
        start += f" created in no_grad mode and {verb} modified inplace with grad mode enabled."
    else:
        start = f"{name} is a view and {verb} modified inplace."
    raise RuntimeError(start + end)


def offset(view: Array, base: Array) -> int:
    """How many elements of the base's memory lie before a view's first one."""
    return (byte_bounds(view)[0] - byte_bounds(base)[0]) // view.itemsize


class CopySlices(Node):
    """The node of a tensor of which a view was written: the old base gets the gradient, less what was overwritten."""

    __module__ = "builtins"
    __slots__ = ("layout", "part", "writer")

    def __init__(self, base: Tensor, view: Tensor, writer: Node) -> None:
        array = base._array
        super().__init__((edge_of(base), *writer._next[1:]), ((array.shape, array.dtype),))
        self.writer: Node | None = writer
        self.layout = array.shape, element_strides(array)
        self.part = view._array.shape, element_strides(view._array), offset(view._array, array)

    def apply(self, grads: list[Any], mask: list[bool]) -> Any:
        """The gradients of the old base and of what was written."""
        if self.writer is None:
            raise RuntimeError(FREED)
        if grads[0] is None:
            return (None,) * len(mask)
        shape, strides = self.layout
        item = grads[0]._array.itemsize
        memory = np.zeros(1 + sum((n - 1) * s for n, s in zip(shape, strides, strict=True) if n), grads[0]._array.dtype)
        full = from_array(as_strided(memory, shape, [s * item for s in strides]), None)
        full.copy_(grads[0])  # as the program writes in place (``inplace.py``): recorded if the grad mode is on
        part = TENSORS["as_strided"](full, *self.part)
        outs = type(self.writer).apply(self.writer, [TENSORS["clone"](part)], mask)
        part.copy_(TENSORS["zeros_like"](part) if outs[0] is None else outs[0])
        return (full if mask[0] else None, *outs[1:])

    def release(self) -> None:
        """Free what was written."""
        self.writer = None


def take_place(tensor: Tensor, edge: Edge) -> None:
    """Give a tensor whose memory was written its new place in the graph: for a view it is that of its base."""
    base = tensor._base
    if base is None:
        move_edge(tensor, edge)
        return
    move_edge(base, CopySlices(base, tensor, target_of(edge)[0]))
    tensor._refresh()


def refresh(view: Tensor) -> None:
    """Give a view the edge that its base has now, if the memory was written since, unless such views forbid it."""
    meta, version = view._meta, view._version_cell
    base = None if meta is None else meta.base
    if meta is None or base is None or version is None or meta.version_seen == version.count:
        return
    if base._edge is None and recorded_edge(view) is None:  # in no graph
        meta.version_seen = version.count
        return
    refuse_view(view, indirect=True)
    meta.version_seen = version.count
    source = base.detach().requires_grad_() if base._edge is None else base
    with enable_grad():
        fresh = TENSORS["as_strided"](
            source, view._array.shape, element_strides(view._array), offset(view._array, base._array)
        )
    if source is not base:  # the leaf was a view, and its views have lost their way to it
        fresh._edge._next = (None,)
    move_edge(view, fresh._edge)


Tensor._refresh = refresh
