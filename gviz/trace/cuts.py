"""Tensors outside the graph: how each was made, and which calls have cut off what it was made from."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection
from types import ModuleType
from typing import Any
from weakref import ref

from gviz.trace.facts import MOST_ITEMS, ByTensor, flat, recall, remember
from gviz.trace.frames import RunningProgram
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

    def keep(self, tensor: Any, call: CallRecord) -> None:
        """Keep what is known of a tensor outside the graph, as long as it lives."""
        is_made_here = call.reason or not call.writes  # what was written first was made elsewhere
        if id(tensor) not in self.records and is_made_here:
            remember(self.records, tensor, call)

    def never_required(self, tensor: Any) -> bool:
        """Return whether a call has made a tensor that has required no gradient at any time."""
        record = recall(self.records, tensor)
        return record is not None and not record.reason and not recall(self.leaves, tensor)

    def will_detach(self, tensor: Any, call: CallRecord | None) -> None:
        """Note what detach_ is going to take out of its graph, which is gone afterwards."""
        self.detach_record = (
            self.record_of_cut(call._replace(name="detach_"), [tensor], is_number=False)
            if call is not None and tensor.grad_fn is not None
            else None
        )

    def put_outside(self, tensor: Any, call: CallRecord, name: str) -> None:
        """Note a tensor that a call has taken out of its graph: ``detach_``, or ``requires_grad_`` with False."""
        is_detached, before = name == "detach_", self.detach_record
        cuts = before.cuts if is_detached and before is not None else frozenset[CutResult]()
        reason, frozen = ("detached", ()) if is_detached else ("frozen", (ref(tensor),))
        record = call._replace(cut_at=call.place, cut_by=name, writes=False)
        remember(self.records, tensor, record._replace(reason=reason, cuts=cuts, frozen=frozenset(frozen)))

    def note_made(self, tensor: Any, call: CallRecord, args: tuple[Any, ...]) -> None:
        """Note a tensor outside the graph that a call has made, or has written."""
        before = recall(self.records, tensor)
        if before is None:
            self.keep(tensor, self.record_of_result(call, args)._replace(run=self.frames.runs))
        elif (call.writes and not before.reason) and (
            (record := self.record_of_result(call, args)).reason or record.frozen or record.began
        ):
            made = record._replace(place=before.place, name=before.name, run=before.run, writes=False)
            remember(self.records, tensor, made)

    def note_number(self, value: Any, call: CallRecord, args: tuple[Any, ...]) -> None:
        """Note a number, or an array, that a call has made of a tensor."""
        record = self.record_of_result(call, args, is_number=True)
        self.numbers.append((value, record))
        for one in record.cuts:
            one.cut.is_number = True

    def cut_off_among(self, args: tuple[Any, ...]) -> tuple[CallRecord, ...]:
        """Return what is known of the arguments that were cut off from a graph, or that nan or inf came into."""
        records = (recall(self.records, one) for value in args for one in flat(value, MOST_ITEMS))
        return tuple(each for each in records if each is not None and (each.reason or each.began))

    def record_of_result(self, call: CallRecord, args: tuple[Any, ...], *, is_number: bool = False) -> CallRecord:
        """Return how a tensor outside the graph was made, and what cut it off, if anything did."""
        given = () if call.name.endswith("_like") else args  # of which it takes the shape alone
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
        if inside:
            is_list = not all(any(one is value for value in args) for one in inside)
            records.insert(0, self.record_of_cut(call, inside, is_number=is_number, is_list=is_list))
        if call.name in FROM_NUMBERS and not records and self.numbers:
            ids = {id(one) for value in args[:1] for one in flat(value, MOST_ITEMS) if not isinstance(one, int)}
            records = [record for number, record in self.numbers if id(number) in ids and record.reason]
        if not records:
            return call._replace(frozen=frozen, is_closed=not is_open) if frozen else call
        first = next((one for one in records if one.cuts), records[0])
        cuts = first.cuts if len(records) == 1 else first.cuts.union(*(one.cuts for one in records))
        return first._replace(
            place=call.place,
            name=call.name,
            writes=call.writes,
            cuts=cuts,
            frozen=frozen,
            is_closed=not is_open,
            began=call.began,
        )

    def record_of_cut(
        self, call: CallRecord, tensors: Collection[Any], *, is_number: bool, is_list: bool = False
    ) -> CallRecord:
        """Return how a call makes something outside the graph of tensors inside; note the leaves behind them."""
        is_on = self.engine.is_grad_enabled() and call.name != CHECKPOINT
        is_detached = is_number or call.name in DETACHES
        reason = "detached" if is_detached else "no derivative" if is_on else "no_grad"
        place, switch = self.frames.switch() if reason == "no_grad" else (None, "")
        switch = switch or (LIBRARY if call.name == CHECKPOINT else "")
        key = place or call.place, call.name, reason, call.at if reason != "no_grad" else None
        cut = self.cuts.get(key)
        if cut is None:
            record = call._replace(reason=reason, cut_at=key[0], cut_by=call.name, switch=switch)
            cut = self.cuts[key] = Cut(record)
        cut.is_list, cut.last_run = cut.is_list or is_list, self.frames.runs
        cut.runs += 2 if call.writes else 1  # a write into what is outside already is not told again
        return cut.add_tensors(tensors)
