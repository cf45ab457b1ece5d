"""What becomes of a gradient after backward: where the program takes it away, and whether it has used it by then."""

from __future__ import annotations

import dis
import sys
from collections.abc import Iterable
from itertools import dropwhile, takewhile
from types import CodeType
from typing import Any
from weakref import ref

from gviz.graphs import Place
from gviz.trace.facts import ByTensor, recall, remember
from gviz.trace.frames import RunningProgram
from gviz.trace.listening import Observer

EMPTIES = {"zero_", "fill_", "detach_", "requires_grad_"}
"""Methods by which a program empties a gradient that it has read, or prepares that."""

CONSTANTS = ("LOAD_CONST", "LOAD_SMALL_INT", "BUILD_SLICE")
"""How Python, 3.11 to 3.14, comes to a constant index."""


class GradFate:
    """What became of the gradient of a leaf, after the last backward that came to it.

    Args:
        leaf: weakly.
    """

    __slots__ = ("cleared_at", "cleared_in", "leaf", "leaf_version", "was_read", "was_used")

    def __init__(self, leaf: Any) -> None:
        self.leaf, self.cleared_in = ref(leaf), 0
        self.leaf_version = leaf._version  # noqa: SLF001 - PyTorch's own name
        self.was_read = self.was_used = False
        self.cleared_at: Place | None = None  # where it was set to None, or to zeros


class Gradients(Observer):
    """The gradients of leaves; without a backward that is told of, nothing is looked at.

    Args:
        frames: what is running of the program.
    """

    def __init__(self, frames: RunningProgram) -> None:
        self.frames, self.backwards = frames, 0
        self.fates: ByTensor[GradFate] = {}  # of leaves
        self.by_memory: ByTensor[GradFate] = {}  # of gradients, and of tensors on their memory
        self.uses: dict[tuple[int, int], tuple[bool, CodeType]] = {}

    def note_backward(self, leaves: Iterable[Any]) -> None:
        """Note a backward that has come to these leaves."""
        self.backwards += 1
        for leaf in leaves:
            self.fates.pop(id(leaf), None)
            if leaf.grad is not None:
                fate = GradFate(leaf)
                remember(self.fates, leaf, fate)
                remember(self.by_memory, leaf.grad, fate)

    def got_gradient(self, leaf: Any) -> None:
        """Note that somebody reads the gradient of a leaf: the caller's caller.

        It counts if the program does, to use it.
        """
        fate = recall(self.fates, leaf)
        if fate is not None and not fate.was_read and fate.cleared_at is None:
            frame: Any = sys._getframe(2)  # noqa: SLF001 - inspect.currentframe costs a large import and does just this
            frame = frame.f_back if frame.f_globals.get("__name__") == Observer.__module__ else frame  # PyTorch's mode
            fate.was_read = self.frames.is_ours(frame.f_code.co_filename) and self.is_use(frame.f_code, frame.f_lasti)

    def gave_gradient(self, leaf: Any, value: Any) -> None:
        """Note that a leaf has been given a gradient: None, or a tensor."""
        fate = recall(self.fates, leaf)
        if fate is not None and value is not None:
            remember(self.by_memory, value, fate)
        if fate is not None:
            self.note_if_cleared(fate, value)

    def wrote(self, tensor: Any) -> None:
        """Note a write into a tensor that may be a gradient."""
        fate = recall(self.by_memory, tensor)
        if fate is not None:
            self.note_if_cleared(fate, tensor)

    def shared(self, tensor: Any, result: Any) -> None:
        """Note a tensor on the memory of another, which may be a gradient."""
        fate = recall(self.by_memory, tensor)
        if fate is not None:
            remember(self.by_memory, result, fate)

    def note_if_cleared(self, fate: GradFate, value: Any) -> None:
        """Note whether a gradient is gone now: None, or nothing but zeros."""
        if value is not None and (getattr(value, "is_sparse", False) or bool(value.any())):
            fate.cleared_at = None
        elif fate.cleared_at is None and (call := self.frames.note_call("grad")) is not None:
            leaf = fate.leaf()
            fate.cleared_at, fate.cleared_in = call.place, self.backwards
            fate.was_used = fate.was_read or leaf is None or leaf._version != fate.leaf_version  # noqa: SLF001

    def is_use(self, code: CodeType, at: int) -> bool:
        """Return whether code uses the gradient that it reads there: not if it asks for None, or empties it."""
        entry = self.uses.get((id(code), at))
        if entry is None:
            following = [one for one in dis.get_instructions(code) if one.offset > at and one.argval != "data"]
            names = [
                str(one.argval) for one in takewhile(lambda one: one.opname in ("LOAD_ATTR", "LOAD_METHOD"), following)
            ]
            after = [one.opname for one in dropwhile(lambda one: one.opname in CONSTANTS, following)]
            is_test = following[0].opname.endswith("NONE") or after[0] == "IS_OP"
            has_index = len(after) < len(following)  # a constant one, of the gradient
            is_filled = after[0] == "STORE_SLICE" or (after[0] == "STORE_SUBSCR" and has_index)
            is_emptied = is_filled or bool(names and names[-1] in EMPTIES)
            entry = self.uses[id(code), at] = not is_test and not is_emptied, code
        return entry[0]

    def cleared(self, leaf: Any) -> tuple[Place, bool, bool] | None:
        """Return where the gradient of a leaf was cleared, whether it was used by then, whether a backward followed.

        None if it was not taken away after the last backward that came to the leaf.
        """
        fate = recall(self.fates, leaf)
        if fate is None or fate.cleared_at is None:
            return None
        return fate.cleared_at, fate.was_used, fate.cleared_in < self.backwards
