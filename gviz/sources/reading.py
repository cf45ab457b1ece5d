"""The result of reading a source: its graph, and the notes on it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any

from gviz.graphs import Graph, Place
from gviz.sources.notes import Note
from gviz.walk import all_finite

if TYPE_CHECKING:
    from gviz.options import SourceOptions
    from gviz.sources.script.changes import Change
    from gviz.sources.source import Source


@dataclass(frozen=True)
class Reading:
    """A source that was read.

    Args:
        graph: what there is to draw, list or save.
        notes: what standard error says, in order.
        failed: whether a script raised, so that the graph is only as far as it came; the exit status is 1 then.
        status: what a command that shows it exits with: 1 if a script raised, 130 if Ctrl-C ended it, else 0.
        ran_backward: whether backward ran, so that there was a time before it: gviz's in an expression, the script's
            own in a script whose lines were asked for.
        changes: how the tensor that was to be watched changed in a script, in order.
        unlisted: how many changes are left out in their middle.
        source: what was read.
        options: how.
        static: the :class:`~gviz.sources.static.StaticSource` whose picture the graph is, None for a recorded one.
    """

    graph: Graph
    notes: tuple[Note, ...] = ()
    failed: bool = False
    status: int = 0
    ran_backward: bool = False
    changes: tuple[Change, ...] = ()
    unlisted: int = 0
    source: Source | None = None
    options: SourceOptions | None = None
    static: Any = None

    def __repr__(self) -> str:
        """Return the title and the size of the graph, and whether its script failed."""
        return f"<{self.graph.summary('Reading')}{', failed' if self.failed else ''}>"


def find_aliases(names: Mapping[str, Any]) -> dict[str, str]:
    """Return the second names of tensors, each with the first.

    >>> tensor = object()
    >>> find_aliases({"net.fc.bias": tensor, "x": object(), "p": tensor})
    {'p': 'net.fc.bias'}
    """
    first: dict[int, str] = {}
    return {name: other for name, tensor in names.items() if (other := first.setdefault(id(tensor), name)) != name}


def not_finite_notes(
    tensors: Mapping[str, Any],
    expressions: Mapping[str, str],
    ways: str = "",
    lines: Mapping[str, Place] | None = None,
    what: str = "tensor",
) -> Iterator[Note]:
    """Yield which tensor became NaN or infinite first, and for which one the gradient is.

    Args:
        tensors: by name, in the order of the program.
        expressions: what some of the names stand for.
        ways: what tells more of a gradient.
        lines: the line of the program that gives a name its value.
        what: what was searched.
    """
    for name, number in _first_infinite(tensors.items()):
        expression = f" = {expressions[name]}" if name in expressions else ""
        place = f" ({lines[name]})" if lines and name in lines else ""
        is_stepped = (
            lines is not None and tensors[name].is_leaf and tensors[name].requires_grad
        )  # as steps have left it
        when = " at the end" if is_stepped else f": the first {what} that is not finite{place}"
        yield Note(f"{name}{expression} is {number}{when}", "warning")
    grads = ((name, tensor.grad) for name, tensor in tensors.items() if tensor.is_leaf or tensor.retains_grad)
    for name, number in _first_infinite((name, grad) for name, grad in grads if grad is not None):
        yield Note("; ".join(filter(None, [f"the gradient of {name} is {number}", ways])), "warning")


def _first_infinite(tensors: Iterable[tuple[str, Any]]) -> Iterator[tuple[str, str]]:
    """Yield the first tensor that is not finite, by its name, and its number; nothing if all of them are."""
    return islice(((name, number) for name, tensor in tensors if (number := _infinite_in(tensor)) is not None), 1)


def _infinite_in(tensor: Any) -> str | None:
    """Return ``NaN``, ``inf`` or ``-inf`` if the tensor has one such element, else None."""
    if "float" not in str(tensor.dtype) or not tensor.numel() or all_finite(tensor):
        return None
    extremes = (end.item() for end in (tensor.max(), tensor.min()))  # both are NaN if there is one
    return next((str(end).replace("nan", "NaN") for end in extremes if not math.isfinite(end)), None)


class Talk:
    """Collects notes, and passes each one on at once to whoever listens.

    Args:
        listener: called with each note as it comes; None for nobody.
    """

    def __init__(self, listener: Callable[[Note], None] | None = None) -> None:
        self.notes: list[Note] = []
        self.listener = listener

    def say(self, *notes: Note | None) -> None:
        """Take the notes, in order; None is nothing to say."""
        for note in filter(None, notes):
            self.notes.append(note)
            if self.listener is not None:
                self.listener(note)
