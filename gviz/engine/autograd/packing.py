"""Hooks on saved tensors: within a block for all that is saved, or on one saved tensor of a node."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, Self
from weakref import WeakKeyDictionary, WeakValueDictionary

import numpy as np

from gviz.autograd.modes import mode, no_grad
from gviz.autograd.node import Node, edge_to
from gviz.autograd.saved import GONE, Packed, Saved
from gviz.autograd.tensor import Tensor, edge_of, from_array
from gviz.autograd.words import FREED
from gviz.numbers.dtypes import INEXACT
from gviz.numbers.words import refuse, refuse_any


class saved_tensors_hooks:
    """Within the block, an operation saves ``pack_hook(tensor)``, and backward reads ``unpack_hook`` of that.

    Source: https://docs.pytorch.org/docs/2.13/autograd.html#torch.autograd.graph.saved_tensors_hooks
    """

    def __init__(self, pack_hook: Callable[[Tensor], Any], unpack_hook: Callable[[Any], Tensor]) -> None:
        self.pack_hook = pack_hook
        self.unpack_hook = unpack_hook

    def __enter__(self) -> Any:
        if disable_saved_tensors_hooks.messages:
            raise RuntimeError(disable_saved_tensors_hooks.messages[-1])
        mode.node_callbacks = (*mode.node_callbacks, self.note)

    def __exit__(self, *_: object) -> None:
        last = next((note for note in reversed(mode.node_callbacks) if packs(note)), None)
        mode.node_callbacks = tuple(note for note in mode.node_callbacks if note is not last)

    def note(self, node: Node, *_: object) -> None:
        """Pack the tensors that a new node has saved, if this block is the innermost one."""
        inner = next(note for note in reversed(mode.node_callbacks) if packs(note)).__self__
        for place in places(node) if inner is self else ():
            place.pack(self.pack_hook, self.unpack_hook)


class Handle:
    """What stands for a saved tensor in the block of :class:`allow_mutation_on_saved_tensors`.

    Lives as long as it is saved.
    """


class allow_mutation_on_saved_tensors(saved_tensors_hooks):
    """Within the block saved tensors may be written in place: each is copied before the first write, for backward.

    Backward has to run in the block, too. The manager shows which tensors are saved, and which were copied.

    Source: https://docs.pytorch.org/docs/2.13/autograd.html#torch.autograd.graph.allow_mutation_on_saved_tensors
    """

    def __init__(self) -> None:
        super().__init__(self.pack, self.unpack)
        self.original: WeakKeyDictionary[Handle, Tensor] = WeakKeyDictionary()
        self.cloned: WeakKeyDictionary[Handle, Tensor] = WeakKeyDictionary()
        self.tid_to_weakhandle: WeakValueDictionary[int, Handle] = WeakValueDictionary()

    def __enter__(self) -> Self:
        is_nested = getattr(mode.writing, "__func__", None) is allow_mutation_on_saved_tensors.copy
        refuse(is_nested, "allow_mutation_on_saved_tensors contexts cannot be nested")
        super().__enter__()
        self.before, mode.writing = mode.writing, self.copy
        return self

    def __exit__(self, *_: object) -> None:
        super().__exit__()
        mode.writing = self.before
        self.clear()

    def clear(self) -> None:
        """Forget all tensors that are saved."""
        for table in (self.original, self.cloned, self.tid_to_weakhandle):
            table.clear()

    def pack(self, tensor: Tensor) -> Handle:
        """Return what stands for a tensor: the same as before if it is saved again."""
        handle = self.tid_to_weakhandle.setdefault(id(tensor._array), Handle())
        self.original[handle] = tensor
        return handle

    def unpack(self, handle: Handle) -> Any:
        """Return the tensor with the values that it was saved with."""
        tensor = self.cloned.get(handle, self.original.get(handle))
        refuse(
            tensor is None,
            "Trying to backward outside of the 'allow_mutation_on_saved_tensors' contextin which the graph was "
            "originally recorded.",
            AssertionError,
        )
        return tensor

    def copy(self, target: Tensor) -> None:
        """Copy the tensors on the memory that is about to be written."""
        if self.before is not None:
            self.before(target)
        for handle, one in list(self.original.items()):
            if np.may_share_memory(one._array, target._array):
                self.cloned[handle] = from_array(one._array.copy(), None)
                del self.original[handle], self.tid_to_weakhandle[id(one._array)]


def packs(note: object) -> bool:
    """Return whether a function that is called with new nodes is that of :class:`saved_tensors_hooks`."""
    return getattr(note, "__func__", None) is saved_tensors_hooks.note


def places(node: Node) -> list[SavedTensor]:
    """Return where a node keeps saved tensors."""
    row = node._row
    if row is None:
        return [SavedTensor(node, i) for i in range(len(node._saved or ()))]
    return [SavedTensor(node, i) for i, save in enumerate(row.plan) if save.is_tensor]


class SavedTensor:
    """One saved tensor of a node, as ``node._raw_saved_NAME``: hooks can be given to it alone."""

    __module__ = "torch._C._autograd"
    __slots__ = ("node", "part", "position")

    def __init__(self, node: Node, position: int, part: int | None = None) -> None:
        self.node = node
        self.position = position
        self.part = part

    @property
    def number(self) -> int | None:
        """Which output of the node it is, None if it is an input."""
        return None if self.node._row is None else self.node._row.output_numbers[self.position]

    @property
    def value(self) -> Any:
        """What the node keeps there."""
        entry = entry() if callable(entry := self.node._saved[self.position]) else entry
        return entry if self.part is None or entry is GONE else entry[self.part]

    @value.setter
    def value(self, value: object) -> None:
        entry = list(self.node._saved)
        whole = self.part is None
        entry[self.position] = (
            value if whole else [value if i == self.part else one for i, one in enumerate(entry[self.position])]
        )
        self.node._saved = entry

    @property
    def data(self) -> Any:
        """The tensor that is kept, or what hooks made of it, also if it was written since; None if it is freed."""
        value = None if self.node._saved is GONE else self.value
        content = getattr(value, "content", value)
        return None if content is GONE or isinstance(content, np.ndarray) else content

    def register_hooks(self, pack_hook: Callable[..., Any], unpack_hook: Callable[..., Any]) -> None:
        """Pack this tensor now with the first of two hooks; the second returns it.

        Raises:
            RuntimeError: there is no tensor (any more), or hooks have packed it already.
        """
        value = self.value
        advice = FREED.partition(". ")[2].replace("saved tensors", "saved variables")
        refuse_any(
            {
                "Calling register_hooks on a saved tensor whose hooks have already been set. Hint: only one pair of "
                "hooks is allowed at a time.": value.__class__ is Packed,
                f"Calling register_hooks on a saved tensor after it has been freed. {advice}": value is GONE,
                "Calling register_hooks on a saved tensor with value None is forbidden": value is None,
            }
        )
        self.pack(pack_hook, unpack_hook, bare=True)

    def pack(self, pack_hook: Callable[..., Any], unpack_hook: Callable[..., Any], *, bare: bool = False) -> None:
        """Keep what a hook makes of the tensor (``bare``: without its place in the graph), or of each of several.

        Raises:
            RuntimeError: the hook has written it.
        """
        value, number, edge = self.value, self.number, None
        if value.__class__ in (list, tuple):
            for i in range(len(value)):
                SavedTensor(self.node, self.position, i).pack(pack_hook, unpack_hook, bare=bare)
        if value.__class__ is Saved:
            number, value = value.number, value.content
        if isinstance(value, np.ndarray):
            number = number if value.dtype.kind in INEXACT else None
            value = from_array(value, None if number is None or bare else edge_to(self.node, number))
        elif isinstance(value, Tensor):
            edge = edge_of(value)
            value = value.detach() if bare else value
        else:
            return
        before = value._version
        with no_grad():
            content = pack_hook(value)
        refuse(
            value._version != before,
            "A saved tensor pack hook is modifying its input in place. Tensors provided as input to pack hook cannot "
            "be modified by in-place operations as this can lead to unexpected side-effects. Please open an issue if "
            "you need to perform in-place operations on the input to a pack hook.",
        )
        self.value = Packed(content, unpack_hook, edge, number)


def raw_saved(node: Node, position: int) -> Any:
    """Return ``node._raw_saved_NAME``: the place of one saved tensor, or of each of several."""
    place = SavedTensor(node, position)
    several = place.value.__class__ is list
    return tuple(SavedTensor(node, position, i) for i in range(len(place.value))) if several else place


def raw_saved_tensors(node: Node) -> tuple[SavedTensor, ...]:
    """Return ``node._raw_saved_tensors`` of a custom Function. RuntimeError: they are freed."""
    refuse(node._saved is GONE, FREED)
    return tuple(places(node))


class disable_saved_tensors_hooks:
    """Within the block nobody may hook saved tensors: who tries gets the message."""

    messages: ClassVar[list[str]] = []

    def __init__(self, error_message: str) -> None:
        self.message = error_message

    def __enter__(self) -> None:
        refuse(any(packs(note) for note in mode.node_callbacks), self.message)
        self.messages.append(self.message)

    def __exit__(self, *_: object) -> None:
        self.messages.pop()


Node.raw_saved = raw_saved
