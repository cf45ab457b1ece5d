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
from gviz.trace.frames import RunningProgram
from gviz.trace.known import Known, recall, remember
from gviz.trace.listening import Observer

EMPTIES = {"zero_", "fill_", "detach_", "requires_grad_"}
"""Methods by which a program empties a gradient that it has read, or prepares that."""

CONSTANTS = ("LOAD_CONST", "LOAD_SMALL_INT", "BUILD_SLICE")
"""How Python, 3.11 to 3.14, comes to a constant index."""


class GradUse:
    """What became of the gradient of a leaf, after the last backward that came to it.

    Args:
        leaf: weakly.
    """

    __slots__ = ("at", "leaf", "number", "version", "was_read", "was_used")

    def __init__(self, leaf: Any) -> None:
        self.leaf, self.number = ref(leaf), 0
        self.version = leaf._version  # noqa: SLF001 - PyTorch's own name
        self.was_read = self.was_used = False
        self.at: Place | None = None  # where it was set to None, or to zeros


class Gradients(Observer):
    """The gradients of leaves; without a backward that is told of, nothing is looked at.

    Args:
        frames: what is running of the program.
    """

    def __init__(self, frames: RunningProgram) -> None:
        self.frames, self.backwards = frames, 0
        self.grad_uses: Known[GradUse] = {}  # of leaves
        self.held: Known[GradUse] = {}  # of gradients, and of tensors on their memory
        self.uses: dict[tuple[int, int], tuple[bool, CodeType]] = {}

    def passed(self, leaves: Iterable[Any]) -> None:
        """Note a backward that has come to these leaves."""
        self.backwards += 1
        for leaf in leaves:
            self.grad_uses.pop(id(leaf), None)
            if leaf.grad is not None:
                use = GradUse(leaf)
                remember(self.grad_uses, leaf, use)
                remember(self.held, leaf.grad, use)

    def got_gradient(self, leaf: Any) -> None:
        """Note that somebody reads the gradient of a leaf: the caller's caller.

        It counts if the program does, to use it.
        """
        use = recall(self.grad_uses, leaf)
        if use is not None and not use.was_read and use.at is None:
            frame: Any = sys._getframe(2)  # noqa: SLF001 - inspect.currentframe costs a large import and does just this
            frame = frame.f_back if frame.f_globals.get("__name__") == Observer.__module__ else frame  # PyTorch's mode
            use.was_read = self.frames.is_ours(frame.f_code.co_filename) and self.is_use(frame.f_code, frame.f_lasti)

    def gave_gradient(self, leaf: Any, value: Any) -> None:
        """Note that a leaf has been given a gradient: None, or a tensor."""
        use = recall(self.grad_uses, leaf)
        if use is not None and value is not None:
            remember(self.held, value, use)
        if use is not None:
            self.look(use, value)

    def wrote(self, tensor: Any) -> None:
        """Note a write into a tensor that may be a gradient."""
        use = recall(self.held, tensor)
        if use is not None:
            self.look(use, tensor)

    def shared(self, tensor: Any, result: Any) -> None:
        """Note a tensor on the memory of another, which may be a gradient."""
        use = recall(self.held, tensor)
        if use is not None:
            remember(self.held, result, use)

    def look(self, use: GradUse, value: Any) -> None:
        """Note whether a gradient is gone now: None, or nothing but zeros."""
        if value is not None and (getattr(value, "is_sparse", False) or bool(value.any())):
            use.at = None
        elif use.at is None and (call := self.frames.call("grad")) is not None:
            leaf = use.leaf()
            use.at, use.number = call.place, self.backwards
            use.was_used = use.was_read or leaf is None or leaf._version != use.version  # noqa: SLF001 - as above

    def is_use(self, code: CodeType, at: int) -> bool:
        """Return whether code uses the gradient that it reads there: more than to see whether it is None, or to empty it."""
        known = self.uses.get((id(code), at))
        if known is None:
            following = [one for one in dis.get_instructions(code) if one.offset > at and one.argval != "data"]
            names = [
                str(one.argval) for one in takewhile(lambda one: one.opname in ("LOAD_ATTR", "LOAD_METHOD"), following)
            ]
            after = [one.opname for one in dropwhile(lambda one: one.opname in CONSTANTS, following)]
            is_asked = following[0].opname.endswith("NONE") or after[0] in ("IS_OP", "STORE_SLICE")
            is_filled = after[0] == "STORE_SUBSCR" and len(after) < len(
                following
            )  # of the gradient, by a constant index
            known = self.uses[id(code), at] = (
                not is_asked and not is_filled and not (names and names[-1] in EMPTIES),
                code,
            )
        return known[0]

    def of(self, leaf: Any) -> tuple[Place, bool, bool] | None:
        """Return where the gradient of a leaf was taken away, whether it was used by then, and whether a backward followed.

        None if it was not taken away after the last backward that came to the leaf.
        """
        use = recall(self.grad_uses, leaf)
        if use is None or use.at is None:
            return None
        return use.at, use.was_used, use.number < self.backwards
