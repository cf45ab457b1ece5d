"""Hooks on saved tensors: within a block for all that is saved, or on one saved tensor of a node."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from gviz.autograd.modes import mode, no_grad
from gviz.autograd.node import Node
from gviz.autograd.saved import GONE, Packed, Saved
from gviz.autograd.tensor import Tensor, edge_of, from_array
from gviz.autograd.words import FREED

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["SavedTensor", "disable_saved_tensors_hooks", "raw_saved", "raw_saved_tensors", "saved_tensors_hooks"]


class saved_tensors_hooks:
    """Within the block, an operation saves ``pack_hook(tensor)``, and backward reads ``unpack_hook`` of that.

    Source: https://docs.pytorch.org/docs/2.13/autograd.html#torch.autograd.graph.saved_tensors_hooks
    """

    def __init__(self, pack_hook: Callable[[Tensor], Any], unpack_hook: Callable[[Any], Tensor]) -> None:
        self.pack_hook = pack_hook
        self.unpack_hook = unpack_hook

    def __enter__(self) -> None:
        if disable_saved_tensors_hooks.messages:
            raise RuntimeError(disable_saved_tensors_hooks.messages[-1])
        self.before = mode.notes
        mode.notes = (*[note for note in mode.notes if not packs(note)], self.note)

    def __exit__(self, *_: object) -> None:
        mode.notes = self.before

    def note(self, node: Any) -> None:
        """Pack the tensors that a new node has saved."""
        for place in places(node):
            place.value = packed(node, place.value, place.number, self.pack_hook, self.unpack_hook)


def packs(note: Any) -> bool:
    """Return whether a function that is called with new nodes is that of :class:`saved_tensors_hooks`."""
    return getattr(note, "__func__", None) is saved_tensors_hooks.note


def places(node: Any) -> list[SavedTensor]:
    """Return where a node keeps saved tensors."""
    row = node._row
    if row is None:
        return [SavedTensor(node, i) for i in range(len(node._kept or ()))]
    return [SavedTensor(node, i) for i, save in enumerate(row.plan) if save.source in ("input", "result", "extra")]


def packed(node: Any, value: Any, number: int | None, pack: Any, unpack: Any, *, bare: bool = False) -> Any:
    """Return one saved tensor, or each of several, packed with the grad mode off.

    Args:
        node: the node that has saved it.
        value: what the node keeps.
        number: which output of the node it is, None if it is an input.
        pack: the one hook.
        unpack: the other.
        bare: whether the hook sees the tensor without its place in the graph.

    Raises:
        RuntimeError: the hook has written it.
    """
    if value.__class__ in (list, tuple):
        return [packed(node, one, number, pack, unpack, bare=bare) for one in value]
    content, edge = value, None
    if value.__class__ is Saved:
        content, number = value.content, value.number
    if content.__class__ is np.ndarray:
        number = number if content.dtype.kind in "fc" else None
        content = from_array(content, None if number is None or bare else (node, number))
    elif isinstance(content, Tensor):
        edge = edge_of(content)
        content = content.detach() if bare else content
    else:
        return value
    before = content._version
    with no_grad():
        result = pack(content)
    if content._version != before:
        raise RuntimeError(
            "A saved tensor pack hook is modifying its input in place. Tensors provided as input to pack hook cannot be "
            "modified by in-place operations as this can lead to unexpected side-effects. Please open an issue if you need to "
            "perform in-place operations on the input to a pack hook."
        )
    return Packed(result, unpack, edge, number)


class SavedTensor:
    """One saved tensor of a node, as ``node._raw_saved_NAME``: hooks can be given to it alone."""

    __module__ = "torch._C._autograd"
    __slots__ = ("node", "part", "position")

    def __init__(self, node: Any, position: int, part: int | None = None) -> None:
        self.node = node
        self.position = position
        self.part = part

    @property
    def number(self) -> int | None:
        """Which output of the node it is, None if it is an input."""
        return None if self.node._row is None else self.node._row.numbered[self.position]

    @property
    def value(self) -> Any:
        """What the node keeps there."""
        kept = self.node._kept[self.position]
        return kept if self.part is None or kept is GONE else kept[self.part]

    @value.setter
    def value(self, value: Any) -> None:
        kept = list(self.node._kept)
        if self.part is None:
            kept[self.position] = value
        else:
            kept[self.position] = [value if i == self.part else one for i, one in enumerate(kept[self.position])]
        self.node._kept = kept

    def register_hooks(self, pack_hook: Any, unpack_hook: Any) -> None:
        """Pack this tensor now with the first of two hooks; the second returns it.

        Raises:
            RuntimeError: there is no tensor (any more), or hooks have packed it already.
        """
        value = self.value
        if value.__class__ is Packed:
            already = "whose hooks have already been set. Hint: only one pair of hooks is allowed at a time."
            raise RuntimeError(f"Calling register_hooks on a saved tensor {already}")
        if value is GONE:
            reason = FREED.partition(". ")[2].replace("saved tensors", "saved variables")
            raise RuntimeError(f"Calling register_hooks on a saved tensor after it has been freed. {reason}")
        if value is None:
            raise RuntimeError("Calling register_hooks on a saved tensor with value None is forbidden")
        self.value = packed(self.node, value, self.number, pack_hook, unpack_hook, bare=True)


def raw_saved(node: Any, name: str) -> Any:
    """Return ``node._raw_saved_NAME``: the place of one saved tensor, or of each of several."""
    place = SavedTensor(node, next(i for i, save in enumerate(node._row.plan) if save.name == name))
    several = place.value.__class__ is list
    return tuple(SavedTensor(node, place.position, i) for i in range(len(place.value))) if several else place


def raw_saved_tensors(node: Any) -> tuple[SavedTensor, ...]:
    """Return ``node._raw_saved_tensors`` of a custom Function. RuntimeError: they are freed."""
    if node._kept is GONE:
        raise RuntimeError(FREED)
    return tuple(places(node))


class disable_saved_tensors_hooks:
    """Within the block nobody may hook saved tensors: who tries gets the message."""

    messages: ClassVar[list[str]] = []

    def __init__(self, error_message: str) -> None:
        self.message = error_message

    def __enter__(self) -> None:
        if any(packs(note) for note in mode.notes):
            raise RuntimeError(self.message)
        self.messages.append(self.message)

    def __exit__(self, *_: object) -> None:
        self.messages.pop()


Node.raw_saved = raw_saved
