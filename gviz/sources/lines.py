"""What a trace has learnt of a program, in the words of a graph: a line for each operation, and for each tensor outside."""

from __future__ import annotations

import ast
import linecache
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from gviz.graphs import GraphBreak, History, Module, Place, TensorRow
from gviz.sources.arguments import CallSites
from gviz.trace import Trace
from gviz.trace.known import recall
from gviz.trace.records import FunctionCall, Write, record_of
from gviz.walk import Origin, bytes_kept, grad_fn, graph_nodes

CHANGED = re.compile(
    r"an inplace operation: \[[\w.]+ \[(?P<shape>[\d, ]*)\]\](?:, which is output \d+ of (?P<maker>\w+),)?"
    r".*?is at version (?P<version>\d+)(?:; expected version (?P<saved>\d+))?",
    re.DOTALL,
)
"""PyTorch's words for a saved tensor that was written."""

BACKWARD = re.compile(r"Backward\d*$")
"""What PyTorch leaves out of the class of an operation in messages."""

MOST = 100_000
"""Operations that are looked at for the leaves below them."""


class Lines:
    """The lines of a program's operations and tensors.

    Args:
        trace: what its calls told.
        place: gives the place that people see, of a place in code.
        cell_code: gives the code at a line of a notebook's cell.
        keeps: whether to tell the bytes that operations keep.
        kept: the bytes that those have kept which backward has freed.
        tree: the syntax of the program; None where what is written in its calls is not asked for.
        file: the name that it has in code.
    """

    def __init__(
        self,
        trace: Trace,
        place: Callable[[Place], Place],
        *,
        cell_code: Callable[[Place], str] = lambda _: "",
        keeps: bool = False,
        kept: Mapping[Any, int | None] | None = None,
        tree: ast.Module | None = None,
        file: str = "",
    ) -> None:
        self.sites = CallSites(tree, file)
        self.trace, self.seen_as, self.cell_code, self.keeps = trace, place, cell_code, keeps
        self.kept = kept or {}
        self.places: dict[Place, Place] = {}  # those of code, as people see them
        self.functions: list[Module] = []  # the calls that operations were recorded in, each after the one around it
        self.calls: dict[int, tuple[int, FunctionCall]] = {}  # their places there
        self.writes: dict[int, list[Write]] | None = None  # in place, by the identity of what was written
        self.codes: dict[Place, str] = {}  # of the lines of other files, and of cells, that were named

    def of(self, node: Any) -> Origin | None:
        """Return where an operation was recorded; what it costs, if that was measured."""
        noted, costs = record_of(node), self.trace.timed
        kept = (self.kept[node] if node in self.kept else bytes_kept(node)) if self.keeps else None
        if noted is None:
            return Origin(None, kept=kept) if self.keeps else None
        call = noted.call
        # all fields at once: half the time of Place(...) and Origin(...), of which there are many
        place = tuple.__new__(Place, (*self.place(call.place)[:4], noted.run, self.function(noted.function)))
        is_written, seconds = call.writes and not call.is_view, noted.seconds if costs else None
        given = tuple(self.sites.arguments_of(noted, type(node).__name__))
        return tuple.__new__(Origin, (place, is_written, seconds, kept, noted.numbers, given))

    def function(self, call: FunctionCall | None) -> int:
        """Return the place of a call among the functions; -1 for none."""
        chain: list[FunctionCall] = []
        while call is not None and id(call) not in self.calls:
            chain.append(call)
            call = call.within
        place = self.calls[id(call)][0] if call is not None else -1
        for one in reversed(chain):
            self.functions.append(Module(one.name, "", one.number, place))
            place = len(self.functions) - 1
            self.calls[id(one)] = place, one
        return place

    def rows(
        self,
        rows: Iterable[TensorRow],
        named: Mapping[str, Any],
        below: Mapping[str, list[Any]],
        assigned: Mapping[str, Place],
        row_of: Callable[[str, Any], TensorRow],
        *,
        uses: Mapping[str, int],
    ) -> Iterator[TensorRow]:
        """Yield the rows of tensors with what is known of their lines; then a row for each leaf without a name.

        Args:
            rows: as the walk has them.
            named: the tensor of each row.
            below: the leaves that these are made from, of :func:`leaves_below`.
            assigned: name -> the line that gives it its value.
            row_of: gives the row of a leaf without a name.
            uses: name of a leaf -> the first run of a line in which the graph uses it.
        """
        unnamed = unnamed_leaves(named, below)
        tensors = {**unnamed, **named}
        names = {id(tensor): name for name, tensor in reversed(tensors.items())}  # the first one wins
        for row in [*rows, *(row_of(name, leaf) for name, leaf in unnamed.items())]:
            tensor = tensors[row.name]
            leaves = tuple(dict.fromkeys(names[id(leaf)] for leaf in below.get(row.name, ())))
            placed = self.row(row, tensor, names, assigned)
            history = self.history(placed, tensor)._replace(written=self.written(tensor, uses.get(row.name, 0)))
            yield placed._replace(leaves=leaves, history=history)

    def row(self, row: TensorRow, tensor: Any, names: Mapping[int, str], assigned: Mapping[str, Place]) -> TensorRow:
        """Return the row of one tensor with its line, and what has cut it off, if it is outside the graph."""
        node = tensor.grad_fn if row.grad_fn else None
        noted = record_of(node) if node is not None else None
        call = noted.call if noted else recall(self.trace.outside.records, tensor)
        is_of_a_layer = row.is_leaf and row.requires_grad and "." in row.name and type(tensor).__name__ == "Parameter"
        made_at = self.named(assigned.get(row.name.partition("[")[0].partition(".")[0]))
        if call is None or is_of_a_layer:  # a layer makes its parameters itself
            return row._replace(place=made_at)
        source = names.get(id(call.source()), "") if call.source is not None else ""
        broken = (
            GraphBreak(
                self.place(call.broken_at),
                call.broken_by,
                call.reason,
                source,
                is_list=any(cut.is_list for cut in call.cuts),
                switch=call.switch,
            )
            if call.reason and call.broken_at is not None
            else None
        )
        is_written = call.writes and noted is not None
        place = made_at if row.required_grad and not row.requires_grad else None
        return row._replace(place=place or self.place(call.place), is_written=is_written, broken=broken)

    def written(self, tensor: Any, use: int) -> Place | None:
        """Return where the memory of a tensor was written last before a run of a line; None where it was not."""
        if self.writes is None:
            self.writes = {}
            for write in self.trace.writes:
                self.writes.setdefault(id(write.owner()), []).append(write)
        own = [one for one in self.writes.get(id(tensor), ()) if one.run < use]
        return self.place(own[-1].place) if own else None

    def history(self, row: TensorRow, tensor: Any) -> History:
        """Return what has become of a tensor's gradient, and where the program asked for one."""
        trace = self.trace
        at, was_used, was_early = trace.gradients.of(tensor) or (None, False, False)
        cured, by_hand = recall(trace.requires_grad_set, tensor), recall(trace.autograd_grad, tensor)
        if row.broken is not None and row.is_leaf and row.requires_grad:
            call = recall(trace.outside.records, tensor)  # as by torch.tensor(loss.item(), requires_grad=True)
            cured = cured or (call.place if call is not None else None)
        cleared, set_at, asked_at = (self.place(one) if one is not None else None for one in (at, cured, by_hand))
        is_optimized = recall(trace.optimized, tensor) is True if trace.stepped else None
        return History(cleared, was_used, was_early, set_at, asked_at, is_optimized)

    def place(self, where: Place) -> Place:
        """Return a place in code as people see it; of one in another file, or a cell, the line of code is kept."""
        if where not in self.places:
            place = self.places[where] = self.seen_as(where)
            if place.file and place.without_run not in self.codes:
                self.codes[place.without_run] = linecache.getline(where.file, where.line).strip()
            self.named(place)
        return self.places[where]

    def named(self, place: Place | None) -> Place | None:
        """Return a place that the graph names; of one in a cell the line of code is kept."""
        if place is not None and place.cell and place.without_run not in self.codes:
            self.codes[place.without_run] = self.cell_code(place)
        return place

    def breaks(self, roots: Iterable[Any], named: Mapping[str, Any]) -> Iterator[GraphBreak]:
        """Yield the lines that cut tensors off.

        Args:
            roots: the tensors that the graph is of.
            named: the tensors that have a name.
        """
        trace = self.trace
        nodes = graph_nodes(roots) if trace.outside.cuts else ()
        outside = [call for node in nodes if (known := record_of(node)) is not None for call in known.outside]
        of_roots = filter(None, (recall(trace.outside.records, root) for root in roots))
        used = list({cut for call in [*outside, *of_roots] for cut in call.cuts})
        for cut in used:  # grows while it is read
            used += [one for one in cut.behind if one not in used]
        for cut in self.trace.outside.cuts.values():
            behind = tuple(name for name, tensor in named.items() if recall(cut.leaves, tensor))
            place = self.place(cut.call.broken_at) if cut.call.broken_at is not None else None
            facts = cut.call.broken_by, cut.call.reason, "", behind, cut in used, cut.is_number
            yield GraphBreak(place, *facts, cut.is_list, not cut.is_deep, cut.call.switch)

    def writes_in(self, message: str, roots: Iterable[Any]) -> tuple[tuple[Place, str], ...]:
        """Return the writes that PyTorch's message about a changed variable is about, the first one after it was saved first.

        The message has a shape, a version, and often the class of the operation that made the variable; not which one
        it is.
        """
        changed = CHANGED.search(message)
        if changed is None:
            return ()
        shape = tuple(int(size) for size in changed["shape"].split(",") if size.strip())
        maker, version, saved = changed["maker"] or "", int(changed["version"]), int(changed["saved"] or 0)
        graph = {id(thing) for pair in graph_nodes(list(roots)).items() for thing in pair}
        makers: dict[int, set[str]] = {}
        for write in self.trace.writes:
            makers.setdefault(id(write.owner), set()).update(BACKWARD.sub("", one) for one in write.makers)

        def likeness(write: Write) -> tuple[bool, bool, bool, bool, bool]:
            """Return in which ways a write fits, the strongest first."""
            owner = write.owner()
            is_there = owner is not None and (id(owner) in graph or id(owner.grad_fn) in graph)
            is_known, is_sized = (
                bool(maker) and maker in makers[id(write.owner)],
                math.prod(shape) in map(math.prod, write.shapes),
            )
            return is_known, bool(maker) == any(write.makers), shape in write.shapes, is_sized, is_there

        last = max((one for one in reversed(self.trace.writes) if one.version == version), key=likeness, default=None)
        if last is None:
            return ()
        after = [one for one in self.trace.writes if one.owner is last.owner and saved < one.version <= version]
        return tuple(dict.fromkeys((self.place(one.place), one.name) for one in after))


def leaves_below(named: Mapping[str, Any], known: dict[Any, tuple[int, list[Any]]]) -> dict[str, list[Any]]:
    """Return the leaves that each tensor is made from; of as many tensors as that takes no long time for.

    Args:
        named: the tensors.
        known: for operations that were looked at before, how many there are in all, and the leaves; more come in.
    """
    found, visited = {}, 0
    for name, tensor in named.items():
        node = grad_fn(tensor)
        if node is not None and visited < MOST:
            if node not in known:
                nodes = graph_nodes([tensor])
                known[node] = len(nodes), [leaf for leaf in nodes.values() if leaf is not None]
            visited += known[node][0]
            found[name] = known[node][1]
    return found


def unnamed_leaves(named: Mapping[str, Any], below: Mapping[str, list[Any]]) -> dict[str, Any]:
    """Return a name for each leaf that has none, ``leaf of y``: after the tensor that is made of the fewest leaves.

    Args:
        named: the tensors that have names.
        below: the leaves that each of them is made from.
    """
    known, found = set(map(id, named.values())), {}
    for name in sorted(below, key=lambda name: len(below[name])):
        for number, leaf in enumerate([leaf for leaf in below[name] if id(leaf) not in known], 1):
            known.add(id(leaf))
            found[f"leaf {number} of {name}" if number > 1 else f"leaf of {name}"] = leaf
    return found
