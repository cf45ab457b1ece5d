"""Hooks on saved tensors: within a block for all that is saved, or on one saved tensor of a node."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from gviz.engine.autograd.watch import set_notes
from gviz.engine.modes import mode, no_grad
from gviz.engine.saved import FREED, FREED_TEXT, Packed, SavedResult, freed_error, output_number, output_tensor
from gviz.engine.tensor import Tensor, edge_of, from_array

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType

    from gviz.engine.saved import Saved

__all__ = ["SavedTensor", "disable_saved_tensors_hooks", "raw_saved", "raw_saved_tensors", "saved_tensors_hooks"]


class saved_tensors_hooks:
    """Within the block, what an operation saves is ``pack_hook(tensor)``; backward reads ``unpack_hook`` of that.

    Source: https://docs.pytorch.org/docs/2.13/autograd.html#torch.autograd.graph.saved_tensors_hooks
    """

    def __init__(self, pack_hook: Callable[[Tensor], Any], unpack_hook: Callable[[Any], Tensor]) -> None:
        self.pack_hook = pack_hook
        self.unpack_hook = unpack_hook

    def __enter__(self) -> None:
        """Begin."""
        if disable_saved_tensors_hooks.messages:
            raise RuntimeError(disable_saved_tensors_hooks.messages[-1])
        self.before = mode.notes
        set_notes((*[n for n in mode.notes if getattr(n, "__func__", None) is not saved_tensors_hooks.note], self.note))

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        """Put back what was."""
        set_notes(self.before)

    def note(self, node: Any) -> None:
        """Pack what a new node saved."""
        for saved, place in places(node):
            place.value = packed(node, place.value, saved, self.pack_hook, self.unpack_hook)


def places(node: Any) -> list[tuple[Saved | None, SavedTensor]]:
    """Where a node keeps saved tensors, and what they are in its row."""
    row = getattr(type(node), "_row", None)
    if row is not None:
        return [(row.saved[i], SavedTensor(node, i)) for i in row.tensor_positions]
    return [(None, SavedTensor(node, i)) for i in range(len(node._kept or ()))]


def packed(node: Any, value: Any, saved: Saved | None, pack: Any, unpack: Any, *, bare: bool = False) -> Any:
    """One saved tensor, or each of several, packed with the grad mode off.

    Args:
        node: which has saved it.
        value: as the node keeps it.
        saved: what it is in the node's row, None for a custom Function.
        pack: the one hook.
        unpack: the other.
        bare: whether the hook sees the tensor without its place in the graph.

    Raises:
        RuntimeError: the hook has written it.
    """
    if value.__class__ in (list, tuple):
        return [packed(node, one, saved, pack, unpack, bare=bare) for one in value]
    content, place = value.content if value.__class__ is SavedResult else value, None
    if content.__class__ is tuple:  # an output of a custom Function
        content, place = content
    elif content.__class__ is np.ndarray and saved is not None:
        place = output_number(saved, content)
    if content.__class__ is np.ndarray:
        content = from_array(content, None) if place is None or bare else output_tensor(node, content, place)
    elif isinstance(content, Tensor):
        place = edge_of(content)
        content = content.detach() if bare else content
    else:
        return value
    before = content._version
    with no_grad():
        made = pack(content)
    if content._version != before:
        raise RuntimeError(
            "A saved tensor pack hook is modifying its input in place. Tensors provided as input to pack hook cannot be "
            "modified by in-place operations as this can lead to unexpected side-effects. Please open an issue if you need to "
            "perform in-place operations on the input to a pack hook."
        )
    return Packed(made, unpack, place)


class SavedTensor:
    """One saved tensor of a node, as ``node._raw_saved_NAME``: hooks can be given to it alone."""

    __module__ = "torch._C._autograd"
    __slots__ = ("node", "part", "position")

    def __init__(self, node: Any, position: int, part: int | None = None) -> None:
        self.node = node
        self.position = position
        self.part = part

    @property
    def value(self) -> Any:
        """What the node keeps there."""
        kept = self.node._kept
        kept = kept[self.position] if kept.__class__ is tuple else kept
        return kept if self.part is None or kept is FREED else kept[self.part]

    @value.setter
    def value(self, value: Any) -> None:
        kept = self.node._kept
        if self.part is not None:
            kept[self.position][self.part] = value
        elif kept.__class__ is tuple:
            self.node._kept = (*kept[: self.position], value, *kept[self.position + 1 :])
        else:
            self.node._kept = value

    def register_hooks(self, *hooks: Any) -> None:
        """Pack this tensor now with the first of two hooks; the second gives it back.

        Raises:
            RuntimeError: there is no tensor (any more), or hooks have packed it already.
            TypeError: not two functions.
        """
        if len(hooks) != 2 or not all(callable(hook) for hook in hooks):
            raise TypeError(
                "register_hooks(): incompatible function arguments. The following argument types are supported:\n    1. (self: "
                "torch._C._autograd.SavedTensor, arg0: collections.abc.Callable, arg1: collections.abc.Callable) -> None\n\n"
                f"Invoked with: {', '.join(map(repr, (self, *hooks)))}"
            )
        value, row = self.value, getattr(type(self.node), "_row", None)
        if value.__class__ is Packed:
            already = "whose hooks have already been set. Hint: only one pair of hooks is allowed at a time."
            raise RuntimeError(f"Calling register_hooks on a saved tensor {already}")
        if value is FREED:
            told = FREED_TEXT.partition(". ")[2].replace("saved tensors", "saved variables")
            raise RuntimeError(f"Calling register_hooks on a saved tensor after it has been freed. {told}")
        if value is None:
            raise RuntimeError("Calling register_hooks on a saved tensor with value None is forbidden")
        self.value = packed(self.node, value, None if row is None else row.saved[self.position], *hooks, bare=True)


def raw_saved(node: Any, name: str) -> Any:
    """``node._raw_saved_NAME``: the place of one saved tensor, or of each of several."""
    (one,) = [place for saved, place in places(node) if saved is not None and saved.name == name]
    return tuple(SavedTensor(node, one.position, i) for i in range(len(one.value))) if one.value.__class__ is list else one


def raw_saved_tensors(node: Any) -> tuple[SavedTensor, ...]:
    """``node._raw_saved_tensors`` of a custom Function.

    Raises:
        RuntimeError: they are freed.
    """
    if node._kept is FREED:
        raise freed_error()
    return tuple(place for _, place in places(node))


class disable_saved_tensors_hooks:
    """Within the block nobody may hook saved tensors: who tries is told the message."""

    messages: ClassVar[list[str]] = []

    def __init__(self, error_message: str) -> None:
        self.message = error_message

    def __enter__(self) -> None:
        """Begin."""
        if any(getattr(note, "__func__", None) is saved_tensors_hooks.note for note in mode.notes):
            raise RuntimeError(self.message)
        self.messages.append(self.message)

    def __exit__(self, *_: object) -> None:
        """End."""
        self.messages.pop()
