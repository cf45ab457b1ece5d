"""The lines of a plan, and which of them write their result over an operand that nobody needs any more."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

__all__ = ["Step", "is_elementwise", "lend_memory"]


class Step:
    """One line of a plan: the name of its result, the call, its operation, the function, names and constants that it uses."""

    __slots__ = ("args", "depth", "function", "op", "target", "text")

    def __init__(self, target: str, text: str, op: Any, function: Any = None, args: Iterable[str] = (), depth: int = 1) -> None:
        self.target, self.text, self.op, self.function, self.args, self.depth = target, text, op, function, tuple(args), depth

    def line(self) -> str:
        """As Python."""
        return "    " * self.depth + (f"{self.target} = {self.text}" if self.target else self.text)


def lend_memory(steps: Sequence[Step], results: set[str], bind: Callable[[Any, str], str]) -> None:
    """Write results over operands that nobody needs any more.

    Only between elementwise functions of one known shape and dtype, of operands that such a function has made and only
    such functions have seen: no views of them can be around.
    """
    last: dict[str, int] = {}
    plain: dict[str, Step] = {}
    for i, step in enumerate(steps):
        for name in step.args:
            last[name] = i
            if not is_elementwise(step):
                plain.pop(name, None)
        if step.depth == 1 and is_elementwise(step) and step.target not in results:
            plain[step.target] = step
    seen_by_others = {n for s in steps if not is_elementwise(s) for n in s.args}
    for i, step in enumerate(steps):
        if step.depth != 1 or not is_elementwise(step):
            continue
        for name in step.args:
            giver = plain.get(name)
            if giver is None or last[name] != i or name in seen_by_others or not same_memory(giver, step):
                continue
            step.text = f"{bind(step.function, step.function.__name__)}({', '.join([*step.args, name])})"
            break


def is_elementwise(step: Step) -> bool:
    """Whether a step is one call of a numpy function, element by element."""
    return isinstance(step.function, np.ufunc)


def same_memory(giver: Step, step: Step) -> bool:
    """Whether two results have the same known size and dtype."""
    one, other = giver.op.outputs[0], step.op.outputs[0]
    return one.shape.is_fully_defined() and bool(one.shape.rank) and one.shape == other.shape and one.dtype == other.dtype
