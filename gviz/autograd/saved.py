"""What a node keeps of a call, and how it is read back.

A saved input is the tensor itself. A saved result is its array, never the tensor (that would be a cycle of references),
and gets its edge back when it is read. Memory that may have been written since is kept with its version at that time
(:class:`Saved`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias
from weakref import ref

import numpy as np

from gviz.autograd.modes import mode
from gviz.autograd.node import AccumulateGrad, Array, Edge, Node, edge_to, short_name
from gviz.autograd.tensor import Tensor, Version, from_array
from gviz.autograd.words import CHANGED, DETACHED, FREED, INFERENCE_SAVED
from gviz.numbers.dtypes import INEXACT
from gviz.numbers.words import type_name

SavedValue: TypeAlias = "Tensor | Array | Saved | Packed | list[SavedValue] | Option"
"""What a node keeps in place of one saved thing: an input itself, the array of a result, both with their version where
their memory was written, what a hook has packed, several of these, or an option of the call."""
Option: TypeAlias = Any
GONE: Any = object()
"""Stands where a saved tensor was, after backward has freed it."""


class Saved:
    """A saved tensor, or (with a number) the array of the node's own output of that number, with its version."""

    __slots__ = ("content", "expected", "number", "version")

    def __init__(self, content: Tensor | Array, version: Version, number: int | None = None) -> None:
        self.content = content
        self.version = version
        self.expected = version.count
        self.number = number


class Packed(NamedTuple):
    """What a user's hook made of a saved tensor, the hook that returns the tensor, and its place in the graph."""

    content: Any
    unpack: Callable[[Any], object]
    edge: Edge | None
    number: int | None

    def unpacked(self, node: Node) -> Tensor:
        """Return the tensor, in its place in the graph."""
        tensor = self.unpack(self.content)
        if not isinstance(tensor, Tensor):
            name = type(tensor).__name__
            raise TypeError(f"Output of saved tensor unpack_hook expected to be a Tensor but got result of type {name}")
        edge = self.edge if self.number is None else edge_to(node, self.number)
        if edge is None:
            return tensor.detach() if tensor.requires_grad else tensor
        return from_array(tensor._array, ref(edge) if isinstance(edge, AccumulateGrad) else edge)


def save(value: Any) -> SavedValue:
    """Return what is kept of a tensor to be saved: itself while its memory was never written, else with its version."""
    if value.__class__ in (list, tuple):
        return [save(one) for one in value]
    if not isinstance(value, Tensor):
        return value
    if value._meta is not None and value.is_inference():
        raise RuntimeError(INFERENCE_SAVED)
    return Saved(value, value._version_cell) if value._version_cell is not None and value._version_cell.count else value


def unpack(node: Node, value: SavedValue, number: int | None = None) -> Any:
    """Return a saved value as a derivative sees it (an array is the node's output of that number)."""
    if value is GONE:
        raise RuntimeError(FREED)
    if value.__class__ is list:
        return tuple(unpack(node, one) for one in value)
    if value.__class__ is Packed:
        return value.unpacked(node)
    content: Any = value
    version, expected = getattr(value, "_version_cell", None), 0
    if value.__class__ is Saved:
        content, version, expected, number = value.content, value.version, value.expected, value.number
    if version is not None and version.count != expected:
        raise changed(node, content, number, version.count, expected)
    if isinstance(content, np.ndarray):
        content = from_array(
            content, edge_to(node, number or 0) if number is not None and content.dtype.kind in INEXACT else None
        )
        content._version_cell = version
    if isinstance(content, Tensor) and content._meta is not None and content._meta.detached > node._seq:
        raise RuntimeError(DETACHED)
    return content


def changed(node: Node, content: Tensor | Array, number: int | None, count: int, expected: int) -> RuntimeError:
    """Return PyTorch's error for a saved tensor that was written in place since: it is at version ``count``."""
    maker: Node | None = node
    array: Any = content
    if isinstance(content, Tensor):
        maker, number, array = content.grad_fn, content.output_nr, content._array
    origin = "" if maker is None else f", which is output {number} of {short_name(maker)},"
    name = "CPUBoolType" if array.dtype.kind == "b" else type_name(array.dtype)
    return RuntimeError(CHANGED[bool(mode.anomaly)].format(f"{name} {list(array.shape)}", origin, count, expected))
