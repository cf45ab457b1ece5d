"""What is known of the calls of a program: which line made a tensor or an operation, and what cut a tensor off."""

from __future__ import annotations

from collections.abc import Collection
from types import CodeType
from typing import Any, NamedTuple
from weakref import ref

from gviz.graphs import Place
from gviz.graphs.numbers import Numbers
from gviz.trace.facts import ByTensor, remember
from gviz.walk import graph_nodes

KEY = "gviz"
"""Under which a node's ``metadata`` has what is known of it."""

EFFORT = 100_000
"""Operations that are looked at, in all, for the leaves behind what a call cuts off: a call in a loop does so very
often."""

MOST_RESULTS = 100
"""Groups of leaves that are kept apart, for one call that cuts tensors off: those of further ones go with the last."""


class CallRecord(NamedTuple):
    """The call that made a tensor.

    Args:
        place: the innermost line of the program.
        name: the function's name.
        reason: why the result is outside the graph though an input was inside: ``detached``, ``no_grad`` or
            ``no derivative``; or ``frozen`` if ``requires_grad = False`` took it out; "" otherwise.
        cut_at: where that happened: here, or where the tensor was made that this one was made from.
        cut_by: the name of the call that it happened in.
        switch: what had switched gradients off there, as the program has it; "" for another reason.
        block: the first line of the block, or of the function, in which it had; None where there is none.
        source: the tensor inside, weakly.
        writes: whether it wrote its result into the memory of its first argument.
        cuts: what cut it off from the graph: several calls, if it was made from several such tensors.
        is_view: whether it wrote into a view: its operation makes the view anew, and another one has written.
        at: the code that made it, and the instruction there; None where that is not known.
        run: of a tensor outside the graph, the run of a line that made it, counted over the whole program; 0 where that
            is not kept.
        frozen: weakly, of a tensor that nothing has cut off, the tensors behind it that the program has frozen.
        is_closed: whether it would have no graph even if these required gradients: it was made under no_grad(), say.
        began: of a tensor outside the graph, the call outside that has made the first nan or inf behind it; None where
            there is none, or none is known.
    """

    place: Place
    name: str
    reason: str = ""
    cut_at: Place | None = None
    cut_by: str = ""
    switch: str = ""
    block: Place | None = None
    source: Any = None
    writes: bool = False
    cuts: frozenset[CutResult] = frozenset()
    is_view: bool = False
    at: tuple[CodeType, int] | None = None
    run: int = 0
    frozen: frozenset[Any] = frozenset()
    is_closed: bool = False
    began: CallRecord | None = None


class FunctionCall(NamedTuple):
    """A call of a function of the program.

    Args:
        name: with the class that it is in: ``Net.forward``.
        number: which call of this function it is, of those that recorded something, counted from 1.
        within: the call that it was made in.
    """

    name: str
    number: int
    within: FunctionCall | None


class Constant(NamedTuple):
    """An argument without a gradient, as an operation keeps it.

    Args:
        at: which argument it is; of an item of a list the place of the list and that in it.
        value: a tensor weakly, a number, the kind of another; of a tensor that the call has written what it was before.
        numbers: of a small tensor, as it was then; None where they are not kept.
    """

    at: int | tuple[int, int]
    value: Any
    numbers: Numbers | None = None


class NodeRecord(NamedTuple):
    """What is kept with an operation.

    Args:
        call: the call that it was recorded in.
        run: which run of a line that was, counted from 1 over the whole program.
        seconds: how long the call took; 0 if that was not measured.
        numbers: of its result, where they are kept: of a small one, and of one that has nan or inf.
        others: those of its other results, by the number of the output.
        outside: what is known of inputs that were cut off from a graph.
        constants: the arguments without a gradient.
        argument_count: how many all are.
        function: the call of a function that it was in, where that was asked for.
    """

    call: CallRecord
    run: int
    seconds: float
    numbers: Numbers | None
    outside: tuple[CallRecord, ...] = ()
    constants: tuple[Constant, ...] = ()
    argument_count: int = 0
    function: FunctionCall | None = None
    others: dict[int, Numbers | None] | None = None

    def tensors(self) -> list[Any]:
        """Return the tensors among the constants; None for one that is no more."""
        return [one.value() for one in self.constants if isinstance(one.value, ref)]


class Cut:
    """A call of the program that cuts tensors off.

    Args:
        call: what it did the first time.
    """

    __slots__ = ("call", "effort", "is_deep", "is_list", "is_number", "last_run", "results", "runs", "source")

    def __init__(self, call: CallRecord) -> None:
        self.call, self.last_run, self.runs, self.source = call, 0, 0, call.source
        self.results: dict[frozenset[int], CutResult] = {}  # by the identities of the leaves behind what was taken
        self.effort, self.is_number = EFFORT, False  # whether numbers came of it, which nobody can follow
        self.is_list, self.is_deep = False, False  # whether it took a list of tensors, and one that is no leaf

    def add_tensors(self, tensors: Collection[Any], earlier: Collection[CutResult]) -> CallRecord:
        """Note that one call cuts off tensors, and what came of earlier cuts; return what is known of the result."""
        owners = [*map(owner_under_no_grad, tensors)]
        self.is_deep = self.is_deep or any(one.grad_fn is not None for one in owners)
        result = self.result_of(owners) if self.effort > 0 or not self.results else [*self.results.values()][-1]
        result.earlier.update(earlier)
        self.source = ref(owners[0])
        return self.call._replace(source=self.source, cuts=result.as_set)

    def result_of(self, tensors: Collection[Any]) -> CutResult:
        """Return what comes of tensors, by the leaves behind them: those of each run of a loop are mostly the same."""
        nodes = graph_nodes(tensors)
        own = (one for one in tensors if one.grad_fn is None and one.requires_grad)
        leaves = [one for one in (*nodes.values(), *own) if one is not None]
        self.effort -= len(nodes) + 10
        key = frozenset(map(id, leaves))
        if key not in self.results and len(self.results) == MOST_RESULTS:
            key = next(reversed(self.results))
        result = self.results.setdefault(key, CutResult(self))
        for leaf in leaves:
            remember(result.leaves, leaf, True)
        for node_record in filter(None, map(record_of, nodes)):
            result.earlier.update(*(call.cuts for call in node_record.outside))
        return result


def owner_under_no_grad(tensor: Any) -> Any:
    """Return the tensor that a view of it without a graph of its own, as made under no_grad, stands for."""
    base = tensor._base  # noqa: SLF001 - PyTorch's own name
    return base if tensor.grad_fn is None and base is not None else tensor


class CutResult:
    """What came of those calls of a cut that took tensors with the same leaves behind them.

    Args:
        cut: the call.
    """

    __slots__ = ("as_set", "cut", "earlier", "leaves")

    def __init__(self, cut: Cut) -> None:
        self.cut, self.as_set = cut, frozenset([self])
        self.leaves: ByTensor[bool] = {}
        self.earlier: set[CutResult] = set()  # of earlier cuts, of which something came into what it took


class Write(NamedTuple):
    """A write in place.

    Args:
        place: its line.
        name: the function's name.
        owner: the tensor that has the memory, weakly: what was written, or what that is a view of.
        shapes: of what was written, and of the owner.
        version: of the memory afterwards; -1 where the write is not counted, as one to ``.data``.
        makers: the operations that had made the owner before, and now, by their classes; "" for none.
        run: which run of a line that was, counted over the whole program.
        leaf: weakly, the leaf whose memory the owner has by ``.data``, or ``detach()``; None for another owner.
        is_idle: whether a leaf that it has written is as it was, as far as that is known.
    """

    place: Place
    name: str
    owner: Any
    shapes: tuple[tuple[int, ...], ...]
    version: int
    makers: tuple[str, str] = ("", "")
    run: int = 0
    leaf: Any = None
    is_idle: bool = False


def record_of(node: Any) -> NodeRecord | None:
    """Return what is known of an operation."""
    return node.metadata.get(KEY)  # type: ignore[no-any-return]
