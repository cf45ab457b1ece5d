"""Tensors outside the graph: how each was made, and which calls have cut off what it was made from."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection
from types import ModuleType
from typing import Any
from weakref import ref

from gviz.trace.facts import MOST_ITEMS, ByTensor, flat, recall, remember
from gviz.trace.frames import RunningProgram
from gviz.trace.listening import SHARES
from gviz.trace.records import CallRecord, Cut, CutResult
from gviz.trace.switches import LIBRARY

FROM_NUMBERS = {"tensor", "as_tensor", "new_tensor", "from_numpy"}
"""Calls that make a tensor of numbers."""

DETACHES = {"detach", "detach_", "data", "grad", *FROM_NUMBERS}
"""Calls whose result is out of the graph by intention."""

CHECKPOINT = "CheckpointFunction"
"""The Function of ``checkpoint(..., use_reentrant=True)``; of gviz's engine as of PyTorch."""

LATEST = 100
"""The last numbers made of tensors, which are remembered."""


class OutsideGraph:
    """What is known of tensors outside the graph.

    Args:
        engine: the module that the program knows as torch.
        frames: what is running of the program.
    """

    def __init__(self, engine: ModuleType, frames: RunningProgram) -> None:
        self.engine, self.tensor, self.frames = engine, engine.Tensor, frames
        self.records: ByTensor[CallRecord] = {}
        self.leaves: ByTensor[bool] = {}  # the tensors that a call has made, or let require a gradient
        self.numbers: deque[tuple[Any, CallRecord]] = deque(maxlen=LATEST)
        self.cuts: dict[tuple[Any, ...], Cut] = {}  # by the place in the code, the name and the reason
        self.detach_record: CallRecord | None = None  # how the tensor that detach_ is called on is cut off

    def keep(self, tensor: object, call: CallRecord) -> None:
        """Keep what is known of a tensor outside the graph, as long as it lives."""
        if id(tensor) not in self.records and (call.reason or not call.writes):  # else it was made elsewhere
            remember(self.records, tensor, call)

    def never_required(self, tensor: object) -> bool:
        """Return whether a call has made a tensor that has required no gradient at any time."""
        record = recall(self.records, tensor)
        return record is not None and not record.reason and not recall(self.leaves, tensor)

    def will_detach(self, tensor: Any, call: CallRecord | None) -> None:
        """Note what detach_ is going to take out of its graph, which is gone afterwards."""
        cut = call and self.as_cut(call._replace(name="detach_"), tensor)
        self.detach_record = cut if cut is None or tensor.grad_fn is None else self.record_of_cut(cut, [tensor])

    def put_outside(self, tensor: Any, call: CallRecord, name: str) -> None:
        """Note a tensor that a call has taken out of its graph: ``detach_``, or ``requires_grad_`` with False."""
        record = (name == "detach_" and self.detach_record) or call._replace(
            cut_at=call.place, cut_by=name, reason="frozen", frozen=frozenset([ref(tensor)])
        )
        remember(self.records, tensor, record._replace(source=None, writes=False, began=call.began))

    def note_made(self, tensor: Any, call: CallRecord, args: tuple[Any, ...]) -> None:
        """Note a tensor outside the graph that a call has made, or has written."""
        before = recall(self.records, tensor)
        if before is None:
            self.keep(tensor, self.record_of_result(call, args, tensor)._replace(run=self.frames.runs))
        elif (call.writes and not before.reason) and (
            (record := self.record_of_result(call, args, tensor)).reason or record.frozen or record.began
        ):
            remember(
                self.records,
                tensor,
                record._replace(place=before.place, name=before.name, run=before.run, writes=False),
            )

    def note_number(self, value: Any, call: CallRecord, args: tuple[Any, ...]) -> None:
        """Note a number, or an array, that a call has made of a tensor."""
        record = self.record_of_result(call, args, value)
        self.numbers.append((value, record))
        for one in record.cuts:
            one.cut.is_number = True

    def cut_off_among(self, args: tuple[Any, ...]) -> tuple[CallRecord, ...]:
        """Return what is known of the arguments that were cut off from a graph, or that nan or inf came into."""
        records = (recall(self.records, one) for value in args for one in flat(value, MOST_ITEMS))
        return tuple(each for each in records if each is not None and (each.reason or each.began))

    def record_of_result(self, call: CallRecord, args: tuple[Any, ...], result: Any) -> CallRecord:
        """Return how a tensor outside the graph, or a number, was made, and what cut it off, if anything did."""
        given = () if call.name.endswith("_like") else args[:1] if call.name.endswith("_as") else args  # shapes alone
        tensors = [one for one in flat(given, MOST_ITEMS) if isinstance(one, self.tensor)]
        inside = [one for one in tensors if one.requires_grad]
        known = [(one, before) for one in tensors if not one.requires_grad and (before := recall(self.records, one))]
        records = [before for _, before in known if before.reason not in ("", "frozen")]
        ways = [  # on which what is frozen would bring a graph, if it required a gradient
            (one, before)
            for one, before in known
            if before.frozen and not before.is_closed and (one.is_floating_point() or one.is_complex())
        ]
        is_open = bool(ways) and self.engine.is_grad_enabled() and call.name not in DETACHES
        frozen = frozenset[Any]().union(*(before.frozen for _, before in (ways if is_open else known)))
        cut = self.as_cut(call, result) if inside or records else call
        is_index = (  # and not made of another, which is told then
            (bool(records) and cut.reason == "no derivative")
            and not (result.is_floating_point() or result.is_complex())
            and all(before.reason != "no derivative" for before in records)
        )
        inside += [  # to open what these are behind would bring them no gradient either
            leaf
            for before in (records if is_index else ())
            for one in before.cuts
            for at, _ in one.leaves.values()
            if (leaf := at()) is not None
        ]
        earlier = frozenset(
            one
            for before in (records if cut.reason == "no_grad" or call.name in SHARES else ())
            for one in before.cuts
            if one.cut.call.block != cut.block
        )
        if inside or earlier:
            own = self.record_of_cut(
                cut,
                inside or tensors,
                is_list=not is_index and not all(any(one is value for value in args) for one in inside),
                earlier=earlier,
            )
            records = [own] if is_index else [own, *records] if inside else [*records, own]
        if call.name in FROM_NUMBERS and not records and self.numbers:
            ids = {id(one) for value in args[:1] for one in flat(value, MOST_ITEMS) if not isinstance(one, int)}
            records = [record for number, record in self.numbers if id(number) in ids and record.reason]
        if not records:
            return call._replace(frozen=frozen, is_closed=not is_open) if frozen else call
        first = min(  # an index says only which of the numbers are taken that another one tells of
            (
                one
                for one in (records[:-1] if earlier and not inside else records)  # this call has cut off nothing, then
                if one.cuts
            ),
            key=lambda one: (
                one.reason == "no derivative"
                and any(
                    each.leaves.keys() <= more.leaves.keys()
                    for other in records
                    for more in other.cuts
                    for each in one.cuts
                    if other.reason != one.reason
                )
            ),
            default=records[0],
        )
        cuts = first.cuts if len(records) == 1 else first.cuts.union(*(one.cuts for one in records)) - earlier
        return first._replace(
            place=call.place,
            name=call.name,
            writes=call.writes,
            cuts=cuts,
            frozen=frozen,
            is_closed=not is_open,
            began=call.began,
        )

    def as_cut(self, call: CallRecord, result: Any) -> CallRecord:
        """Return a call with why its result of a tensor inside a graph is outside, and what switches gradients off.

        Integers, such as indices, have no graph in any mode.
        """
        is_off = not self.engine.is_grad_enabled() or call.name == CHECKPOINT
        reason = (
            "detached"
            if call.name in DETACHES or not isinstance(result, self.tensor)
            else "no_grad"
            if is_off and (result.is_floating_point() or result.is_complex())
            else "no derivative"
        )
        place, switch, block = self.frames.switch() if reason == "no_grad" else (None, "", None)
        return call._replace(
            reason=reason,
            cut_at=place or call.place,
            cut_by=call.name,
            switch=switch or LIBRARY * (call.name == CHECKPOINT),
            block=block,
        )

    def record_of_cut(
        self, call: CallRecord, tensors: Collection[Any], *, is_list: bool = False, earlier: Collection[CutResult] = ()
    ) -> CallRecord:
        """Return how a call makes something outside the graph of tensors; note the leaves behind them.

        Args:
            call: of :meth:`as_cut`.
            tensors: those inside; others, if there are none.
            is_list: whether they came in a list.
            earlier: what has come of cuts before that this call would have made, as well.
        """
        key = call.cut_at, call.name, call.reason, call.at if call.reason != "no_grad" else None
        cut = self.cuts.setdefault(key, Cut(call))
        cut.is_list, cut.last_run = cut.is_list or is_list, self.frames.runs
        cut.runs += 2 if call.writes else 1  # a write into what is outside already is not told again
        return cut.add_tensors(tensors, earlier)
