"""How the tensors of a script change: what each of its statements gave a value or a gradient to."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple
from weakref import ref

from gviz.graphs import Place, TensorRow
from gviz.graphs.numbers import FEW_ELEMENTS
from gviz.sources.script.names import global_of, named_tensors
from gviz.walk import gradient, numbers, numel_of, tensor_row

MOST_COMPARED = 1000
"""Elements of a tensor that are compared; of a larger one only the count of its writes, which ``.data`` leaves as it
is."""

HALF = 15
"""Changes of a watched tensor that are kept: so many at the beginning, and at the end."""


class Change(NamedTuple):
    """What a statement has changed.

    Args:
        place: of the statement.
        row: the tensor after it.
        is_value: whether its value is another, or its name stands for another tensor; else it is the gradient that
            changed.
    """

    place: Place
    row: TensorRow
    is_value: bool


class Changes:
    """Notices what the statements of a script change.

    Args:
        libraries: what the script knows as torch.
        name: of the tensor that is watched; "" for all that a name reaches.
        tell: called with each change; None to keep them: the first and the last ones.
        most: elements of a tensor that are listed.
    """

    def __init__(
        self,
        libraries: Iterable[Any],
        name: str = "",
        tell: Callable[[Change], None] | None = None,
        *,
        most: int = FEW_ELEMENTS,
    ) -> None:
        self.libraries, self.name, self.tell, self.most = tuple(libraries), name, tell, most
        self.base = global_of(name)
        self.bound: dict[tuple[Any, str], Any] = {}
        self.states: dict[int, tuple[Any, Any, Any]] = {}
        self.first: list[Change] = []
        self.rest: deque[Change] = deque(maxlen=HALF)
        self.count = 0

    def saw(self, place: Place, frame: Any) -> None:
        """Look at the tensors that the code of a frame can name, after the statement at that place."""
        spaces = [(None, frame.f_globals)]
        if frame.f_locals is not frame.f_globals:
            spaces.append((frame.f_code, frame.f_locals))
        for owner, space in spaces:
            looked = space if not self.name else {self.base: space[self.base]} if self.base in space else {}
            for name, tensor in named_tensors(looked, self.libraries, asked=[*filter(None, [self.name])]).items():
                if not self.name or name == self.name:
                    self.look(place, owner, name, tensor)

    def look(self, place: Place, owner: Any, name: str, tensor: Any) -> None:
        """Compare a tensor with what it was when it was looked at last, by whatever name."""
        key, states, grad = id(tensor), self.states, gradient(tensor)
        now = state(tensor), None if grad is None else (id(grad), *state(grad))
        is_bound = self.bound.get((owner, name)) is tensor
        _, *before = states.get(key, (None, *now))
        states[key] = ref(tensor, lambda _: states.pop(key, None)), *now
        self.bound[owner, name] = tensor
        is_value = not is_bound or before[0] != now[0]
        if is_value or before[1] != now[1]:
            is_read = (
                self.tell is None or now[0][-1] is not None
            )  # a trace of all tensors reads no numbers of large ones
            self.keep(Change(place, tensor_row(name, tensor, most=self.most if is_read else None), is_value))

    def keep(self, change: Change) -> None:
        """Give a change to the caller of ``tell``; without one, keep it."""
        self.count += 1
        if self.tell is not None:
            self.tell(change)
        elif len(self.first) < HALF:
            self.first.append(change)
        else:
            self.rest.append(change)

    def result(self) -> tuple[tuple[Change, ...], int]:
        """Return the first and the last changes, and how many are left out in the middle."""
        changes = (*self.first, *self.rest)
        return changes, self.count - len(changes)


def state(tensor: Any) -> tuple[Any, ...]:
    """Return what tells whether a tensor has changed: its ``requires_grad``, its version and its numbers."""
    version = 0 if tensor.is_inference() else tensor._version  # noqa: SLF001 - PyTorch's own name
    value = numbers(tensor, MOST_COMPARED) if numel_of(tensor) <= MOST_COMPARED else None
    return bool(tensor.requires_grad), version, value
