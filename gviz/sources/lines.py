"""What a trace has learnt of a program, as a graph has it: a line for each operation, and for each tensor outside."""

from __future__ import annotations

import ast
import linecache
import math
import re
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

from gviz.formulas.operands import rows_by_label
from gviz.graphs import GraphCut, History, Module, Place, TensorRow
from gviz.sources.arguments import CallSites
from gviz.sources.derivatives import origin_in_derivative
from gviz.trace import Trace
from gviz.trace.facts import recall
from gviz.trace.frames import Chain
from gviz.trace.records import CallRecord, Cut, CutResult, FunctionCall, NodeRecord, Write, record_of
from gviz.walk import Argument, NodeFlow, NodeLike, Origin, grad_fn, graph_nodes, is_freed, memory_kept

CHANGED = re.compile(
    r"an inplace operation: \[[\w.]+ \[(?P<shape>[\d, ]*)\]\](?:, which is output \d+ of (?:\w+::)*(?P<maker>\w+),)?"
    r".*?is at version (?P<version>\d+)(?:; expected version (?P<saved>\d+))?",
    re.DOTALL,
)
"""PyTorch's words for a saved tensor that was written."""

BACKWARD = re.compile(r"Backward\d*$")
"""What PyTorch leaves out of the class of an operation in messages."""

SUMS = {"Add", "Sub", "Rsub", "Sum", "Mean", "Neg", "Stack", "Cat"}
"""Operations that add what comes in."""

SQUEEZE = "SqueezeBackward4"
"""What a vector @ matrix ends with: the vector is a matrix of one row in the product."""

MOST = 100_000
"""Operations that are looked at for the leaves below them."""


class Lines:
    """The lines of a program's operations and tensors.

    Args:
        trace: what its calls told.
        place: gives the place that people see, of a place in code.
        cell_code: gives the code at a line of a notebook's cell.
        keeps: whether to tell the memory that operations keep.
        memory: what those have kept which backward has freed.
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
        memory: Mapping[Any, Mapping[object, int] | None] | None = None,
        tree: ast.Module | None = None,
        file: str = "",
    ) -> None:
        self.sites = CallSites(tree, file)
        self.trace, self.seen_as, self.cell_code, self.keeps = trace, place, cell_code, keeps
        self.memory = memory or {}
        self.places: dict[Place, Place] = {}  # those of code, as people see them
        self.functions: list[Module] = []  # the calls that operations were recorded in, each after the one around it
        self.calls: dict[int, tuple[int, FunctionCall]] = {}  # their places there
        self.writes: dict[int, list[Write]] | None = None  # in place, by the identity of what was written
        self.rows_times_matrix: dict[Any, Origin] = {}  # the product in a vector @ matrix, of which no call tells
        self.codes: dict[Place, str] = {}  # of the lines of other files, and of cells, that were named

    def origin_of(self, node: Any) -> Origin | None:
        """Return where an operation was recorded; what it costs, if that was measured."""
        noted, costs, label = record_of(node), self.trace.timed, type(node).__name__
        memory = (self.memory[node] if node in self.memory else memory_kept(node)) if self.keeps else None
        own = origin_in_derivative(node)
        if noted is None and node in self.rows_times_matrix:
            return self.rows_times_matrix[node]._replace(kept=memory)
        if noted is None:
            return own._replace(kept=memory) if own is not None else Origin(None, kept=memory) if self.keeps else None
        call = noted.call
        # all fields at once: half the time of Place(...) and Origin(...), of which there are many
        place = tuple.__new__(Place, (*self.place(call.place)[:4], noted.run, self.function(noted.function)))
        is_written, seconds = call.writes and not call.is_view, noted.seconds if costs else None
        arguments = tuple(self.sites.arguments_of(noted, label) if own is None else own.given)
        if label == SQUEEZE and call.name == "matmul" and record_of(inner := node.next_functions[0][0]) is None:
            result = noted.numbers and noted.numbers._replace(shape=(1, *(noted.numbers.shape or ())))
            given = tuple(map(as_row, self.sites.arguments_of(noted, type(inner).__name__)))
            self.rows_times_matrix[inner] = Origin(place, numbers=result, given=given)
        numbers = noted.numbers or (own and own.numbers)
        began = self.beginning(noted) if noted.outside else None
        return tuple.__new__(Origin, (place, is_written, seconds, memory, numbers, arguments, noted.others, began))

    def beginning(self, noted: NodeRecord) -> GraphCut | None:
        """Return the call outside of the graph that has made the first nan or inf of what an operation was given."""
        call = next((one.began for one in noted.outside if one.began is not None and one.began.name), None)
        return call and GraphCut(self.place(call.place), call.name, "not finite", span=self.span(call))

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
        tensors_by_name: Mapping[str, Any],
        below: Mapping[str, list[Any]],
        assignments: Mapping[str, Place],
        row_of: Callable[[str, Any], TensorRow],
        *,
        uses: Mapping[str, int],
        chain: Chain,
        earlier: int,
    ) -> Iterator[TensorRow]:
        """Yield the rows of tensors with what is known of their lines; then a row for each leaf without a name.

        Args:
            rows: as the walk has them.
            tensors_by_name: the tensor of each row.
            below: the leaves that these are made from, of :func:`leaves_below`.
            assignments: name -> the line that gives it its value.
            row_of: gives the row of a leaf without a name.
            uses: name of a leaf -> the first run of a line in which the graph uses it.
            chain: where the backward was called that the graph is of; () for none.
            earlier: how many runs of lines there had been when the backward before that one was called; 0 for none.
        """
        unnamed = unnamed_leaves(tensors_by_name, below, self.first_name)
        tensors = {**unnamed, **tensors_by_name}
        names = {id(tensor): name for name, tensor in reversed(tensors.items())}  # the first one wins
        for row in [*rows, *(row_of(name, leaf) for name, leaf in unnamed.items())]:
            tensor, leaves = tensors[row.name], dict.fromkeys(names[id(leaf)] for leaf in below.get(row.name, ()))
            new_row = self.row(row, tensor, names, assignments)._replace(leaves=tuple(leaves))
            yield new_row._replace(
                history=self.history(new_row, tensor, chain, earlier)._replace(
                    written=self.last_write_before(tensor, uses.get(row.name, 0))
                )
            )

    def row(self, row: TensorRow, tensor: Any, names: Mapping[int, str], assignments: Mapping[str, Place]) -> TensorRow:
        """Return the row of one tensor with its line, and what has cut it off, if it is outside the graph."""
        node = grad_fn(tensor)
        noted = record_of(node) if node is not None else None
        call = noted.call if noted else recall(self.trace.outside.records, tensor)
        name, is_parameter = row.same_as or row.name, row.is_leaf and type(tensor).__name__ == "Parameter"
        made_at = self.with_code_kept(assignments.get(re.split(r"[.\[]", name)[0]) if not row.is_renamed else None)
        is_of_layer = is_parameter and row.requires_grad and not row.is_renamed and ("." in name or made_at is not None)
        if call is None or is_of_layer:
            # a layer makes its parameters itself, and PyTorch tells of none
            return row._replace(place=made_at and made_at._replace(run=call.run if call is not None else 0))
        cut = (
            GraphCut(
                self.place(call.cut_at),
                call.cut_by,
                call.reason,
                names.get(id(call.source()), "") if call.source is not None else "",
                is_list=any(one.cut.is_list for one in call.cuts),
                switch=call.switch,
                span=self.span(call),
            )
            if call.reason and call.cut_at is not None
            else None
        )
        place = made_at if row.required_grad and not row.requires_grad else None
        return row._replace(
            place=(place or self.place(call.place))._replace(run=call.run),
            is_written=call.writes and noted is not None,
            broken=cut,
        )

    def first_name(self, leaf: Any) -> tuple[str, bool]:
        """Return the name that a leaf was given when it was made, and whether it is the first of that name."""
        call = recall(self.trace.outside.records, leaf)
        return ("", False) if call is None or call.at is None else self.sites.name_of_value(*call.at)

    def names_written(self, nodes: Iterable[Any]) -> dict[str, int]:
        """Return the names that operations were written with for leaves which have others since, and whose each was.

        Args:
            nodes: the operations.

        Returns:
            Name -> the identity of the leaf: of names outside of functions alone, one for each leaf.
        """
        written: dict[int, set[str]] = {}
        for node, noted in ((one, record_of(one)) for one in nodes):
            row, code = rows_by_label().get(type(node).__name__), noted and noted.call.at and noted.call.at[0]
            if noted is None or row is None or not code or code.co_name != "<module>":
                continue
            texts = self.sites.texts_of(noted)
            for place, (following, _) in zip(row.edges, node.next_functions, strict=False):
                leaf, (text, is_outdated) = getattr(following, "variable", None), texts.get(place, ("", False))
                if leaf is not None and is_outdated and text.isidentifier():
                    written.setdefault(id(leaf), set()).add(text)
        return {next(iter(names)): leaf for leaf, names in written.items() if len(names) == 1}

    def last_write_before(self, tensor: Any, use: int) -> Place | None:
        """Return where the memory of a tensor was changed last before a run of a line; None where it was not."""
        own = [one for one in self.writes_to(tensor) if one.run < use and not one.is_idle]
        return self.place(own[-1].place)._replace(run=own[-1].run) if own else None

    def writes_to(self, tensor: object) -> Sequence[Write]:
        """Return the writes into the memory of a tensor, in order."""
        if self.writes is None:
            self.writes = {}
            for write in self.trace.writes:
                self.writes.setdefault(id((write.leaf or write.owner)()), []).append(write)
        return self.writes.get(id(tensor), ())

    def history(self, row: TensorRow, tensor: Any, chain: Chain, earlier: int) -> History:
        """Return what has become of a tensor's gradient, and where the program asked for one."""
        trace, gradients = self.trace, self.trace.gradients
        required_at = recall(trace.requires_grad_set, tensor)
        if row.broken is not None and row.is_leaf and row.requires_grad:
            call = recall(trace.outside.records, tensor)  # as by torch.tensor(loss.item(), requires_grad=True)
            required_at = required_at or (call.place if call is not None else None)
        is_optimized = gradients.optimizes(tensor)
        asked_at = recall(trace.autograd_grad, tensor)
        record, put_in = recall(gradients.records, tensor), recall(gradients.put_in, tensor)
        # Where the optimizers were made that step after a backward that came to it.
        stepping = {at for chain in (record.arrivals if record else ()) for at in gradients.made_of.get(chain, ())}
        made = stepping or {*gradients.made_at.values()}
        runs = [
            one.run
            for node in (graph_nodes([tensor]) if row.is_written and type(tensor).__name__ == "Parameter" else ())
            if (one := record_of(node)) is not None
        ]
        history = History(
            requires_grad_set=self.place_if_any(required_at),
            autograd_grad=self.place_if_any(asked_at),
            grad_of_others=self.place_if_any(None if asked_at or gradients.calls.total() else gradients.asked_at),
            is_optimized=is_optimized,
            optimizer=self.place_if_any(next(iter(made))) if is_optimized is False and len(made) == 1 else None,
            put_in=self.place_if_any(put_in and put_in.place)
            if (stepping or record is None) and not is_optimized
            else None,
            idle_steps=gradients.idle_steps,
            is_grown=min(runs, default=0) < earlier < max(runs, default=0),
            is_updated=any(
                one.run > gradients.first_run > 0
                # and not what a training ends with, such as its best weights
                and (
                    one.run < gradients.last_run
                    or "load_state_dict(" not in linecache.getline(one.place.file, one.place.line)
                )
                for one in self.writes_to(tensor)
            ),
        )
        if record is None:
            return history
        is_of_other = record.steps > 0 and record.stepped_in[chain] < gradients.calls[chain]  # another optimizer's turn
        is_cleared, is_there = record.cleared_at is not None, record.has_had_gradient
        lost = gradients.lost(record)
        brought, stepped_after = (
            [self.place(Place(trace.frames.line_of(code, at), code.co_filename)) for code, at in call[:1]]
            for call in (record.chain, record.stepped_after)
        )
        return history._replace(
            grad_cleared=self.place_if_any(record.cleared_at),
            was_used=record.was_used if is_cleared else is_there and (record.was_read or record.has_updated),
            was_early=is_cleared and record.cleared_in < gradients.calls.total(),
            copied=self.place_if_any(gradients.copied(tensor) if is_optimized is False and brought else None),
            first_norm=record.first_norm,
            steps=record.steps if gradients.is_complete else None,
            arrivals=record.arrivals[record.chain],
            wasted=lost.total(),
            wasted_at=self.place_if_any(max(lost, key=lost.__getitem__, default=None)),
            still_steps=record.still_steps,
            idle_steps=max(0, 0, *[*record.by_optimizer.values()][-1:])
            if is_optimized
            else [*gradients.made_of.get(record.chain, {}).values()].count(False),
            stepped=self.place_if_any(record.stepped_at),
            stepped_twice=self.place_if_any(next((at for at, count in record.twice.items() if count > 1), None)),
            unclipped=self.place_if_any(
                next(iter(record.clips))
                if record.clips.total() > 1 and record.arrivals and gradients.clipping.isdisjoint(record.clips)
                else None
            ),
            clipped_scaled=self.place_if_any(
                next((at for at, times in record.scaled.items() if at and times > 1), None)
            ),
            clips_nothing=self.place_if_any(
                next(iter(gradients.clips_nothing), None) if record.steps and not record.clipped_at else None
            ),
            is_stale=record.is_stale,
            used_sum=record.used_sum,
            is_updated=record.version != record.first_version if is_there else history.is_updated,
            brought=next(iter(brought), None),
            stepped_after=None
            if record.arrivals[record.stepped_after] or record.stepped_after == gradients.chain
            else next(iter(stepped_after), None),
            is_stepped_later=record.idle_steps > 1
            and recall(gradients.optimized, tensor) == gradients.calls.total() + 1 > 1,
            is_own_turn=bool(is_optimized) and record.stepped_after in ((), record.chain),
            is_same_call=record.arrivals[chain] > 0 and not is_of_other,
            grad_set=self.place_if_any(record.set_at or record.given_at),
            spoiled=self.place_if_any(record.spoiled_at),
            spread=self.place_if_any(record.spread_at),
            took_bad=record.took_bad,
        )

    def place_if_any(self, where: Place | None) -> Place | None:
        """Return a place as people see it; None for None."""
        return self.place(where) if where is not None else None

    def place(self, where: Place) -> Place:
        """Return a place in code as people see it; of one in another file, or a cell, the line of code is kept."""
        if where not in self.places:
            place = self.places[where] = self.seen_as(where)
            if place.file and place.without_run not in self.codes:
                self.codes[place.without_run] = linecache.getline(where.file, where.line).strip()
            self.with_code_kept(place)
        return self.places[where]

    def with_code_kept(self, place: Place | None) -> Place | None:
        """Return a place that the graph names; of one in a cell the line of code is kept."""
        if place is not None and place.cell and place.without_run not in self.codes:
            self.codes[place.without_run] = self.cell_code(place)
        return place

    def cuts(self, roots: Iterable[Any], names: Mapping[str, Any], flow: Mapping[Any, NodeFlow]) -> Iterator[GraphCut]:
        """Yield the lines that cut tensors off.

        Args:
            roots: the tensors that the graph is of.
            names: the tensors that have a name.
            flow: how the gradient flows, as far as it is known.
        """
        outside, roots = self.trace.outside, [*roots]
        made = [call for root in roots if (call := recall(outside.records, root)) is not None]
        keys = {id(one()) for call in made for one in call.frozen}
        frozen = tuple(name for name, tensor in names.items() if id(tensor) in keys)
        yield from [GraphCut(None, "requires_grad_", "frozen", "", frozen, is_used=True)] * bool(frozen)
        if not outside.cuts:
            return
        nodes = graph_nodes(roots)
        direct = cuts_in(nodes) | {result for call in made for result in call.cuts}
        summed, entering = cuts_added_to(roots), cuts_in(one for one in nodes if is_of_leaves_alone(one))
        not_idle = cuts_in(
            one
            for one in nodes
            if one not in flow or (arrived := flow[one].arrived) is None or not arrived.has_only(0.0)
        )
        results = [result for cut in outside.cuts.values() for result in cut.results.values()]
        nearer: dict[CutResult, CutResult | None] = dict.fromkeys(one for one in results if one in direct)
        in_graph = [*nearer]
        for result in in_graph:  # grows while it is read
            for one in [one for one in results if one in result.earlier and one not in nearer]:
                nearer[one] = result
                in_graph.append(one)
        groups: dict[tuple[Cut, bool, bool], list[CutResult]] = {}
        for result in results:
            groups.setdefault((result.cut, result in nearer, not result.leaves), []).append(result)
        beside = {
            name: one
            for name, one in names.items()
            if grad_fn(one) is not None
            and one.grad_fn not in nodes
            and one.numel() == 1
            and not any(one is root for root in roots)
        }
        others = {name: cuts_in(graph_nodes([one])) for name, one in beside.items()}
        sums = {name: cuts_added_to([one]) for name, one in beside.items() if others[name]}
        for (cut, is_used, _), group in groups.items():
            leaves = {key for one in group for key, (leaf, _) in one.leaves.items() if leaf() is not None}
            behind = tuple(name for name, tensor in names.items() if id(tensor) in leaves)
            place = self.place_if_any(cut.call.cut_at)
            place = place._replace(run=cut.last_run) if place is not None and cut.runs == 1 else place
            after = nearer[group[0]] if is_used and direct.isdisjoint(group) else None
            while after is not None and after in group:
                after = nearer[after]
            yield GraphCut(place, cut.call.cut_by, cut.call.reason, "", behind, is_used, cut.is_number)._replace(
                is_list=cut.is_list,
                is_of_leaves=not cut.is_deep,
                switch=cut.call.switch,
                block=self.place_if_any(cut.call.block),
                is_summand=not summed.isdisjoint(group),
                others=tuple(name for name, cuts in others.items() if not cuts.isdisjoint(group)),
                added_to=tuple(name for name, cuts in sums.items() if not cuts.isdisjoint(group)),
                span=self.span(cut.call),
                is_freed=is_freed_beside(cut.source(), nodes),
                behind=-1 if after is None else [*groups].index((after.cut, True, not after.leaves)) + bool(frozen),
                is_input=not entering.isdisjoint(group),
                is_idle=not direct.isdisjoint(group) and not_idle.isdisjoint(group),
            )

    def span(self, call: CallRecord) -> tuple[int, int, int, int] | None:
        """Return where the expression of a call is written; None where that is not known, and in a typed expression."""
        if call.at is None or call.place.column:
            return None
        code, instruction = call.at
        line, last, column, end = next(islice(code.co_positions(), instruction // 2, None))
        if line is None or last is None or column is None or end is None:
            return None
        if code.co_filename == self.sites.file:
            return line, column, last, end
        indent = len(text := linecache.getline(code.co_filename, line)) - len(text.lstrip())
        return (0, column - indent, 0, end - indent) if line == last else None

    def writes_in(self, message: str, roots: Iterable[Any]) -> tuple[tuple[Place, str], ...]:
        """Return the writes that PyTorch's message about a changed variable is about, in the order of the program."""
        changed = CHANGED.search(message)
        last = last_write(changed, self.trace.writes, graph_nodes(roots)) if changed is not None else None
        if changed is None or last is None:
            return ()
        versions = range(int(changed["saved"] or 0) + 1, last.version + 1)
        own = [one for one in self.trace.writes if one.owner is last.owner and one.version in versions]
        return tuple(dict.fromkeys((self.place(one.place), one.name) for one in own))


def as_row(vector: Argument) -> Argument:
    """Return what a product with a matrix makes of a vector: a matrix of one row."""
    own = vector.numbers and vector.numbers._replace(shape=(1, *(vector.numbers.shape or ())))
    return Argument(None, vector.text and f"unsqueeze({vector.text}, 0)", own)


def last_write(changed: re.Match[str], writes: Sequence[Write], nodes: Mapping[Any, Any]) -> Write | None:
    """Return the last write into the variable that a message is about; None if none fits.

    The message has a shape, a version, and often the class of the operation that made the variable; not which one it
    is. Of the writes that made such a version, the one that is most like it counts.

    Args:
        changed: the message.
        writes: those of the program.
        nodes: the operations of the graph, and its leaves.
    """
    shape = tuple(int(size) for size in changed["shape"].split(",") if size.strip())
    maker, things = changed["maker"] or "", {id(thing) for pair in nodes.items() for thing in pair}
    makers: dict[int, set[str]] = {}
    for write in writes:
        makers.setdefault(id(write.owner), set()).update(BACKWARD.sub("", one) for one in write.makers)

    def likeness(write: Write) -> tuple[bool, bool, bool, bool, bool]:
        """Return in which ways a write fits, the strongest first."""
        owner = write.owner()
        is_there = owner is not None and (id(owner) in things or id(owner.grad_fn) in things)
        kinds = maker, "CopySlices" if maker == "AsStrided" else ""  # a view is made anew after a write
        is_sized = math.prod(shape) in map(math.prod, write.shapes)
        return (
            not makers[id(write.owner)].isdisjoint({*kinds} - {""}),
            bool(maker) == any(write.makers),
            shape in write.shapes,
            is_sized,
            is_there,
        )

    of_version = (one for one in reversed(writes) if one.version == int(changed["version"]))
    fitting = [one for one in of_version if any(likeness(one)[::3])]  # by the operation, or by the size
    return max(fitting, key=likeness, default=None)


def cuts_in(nodes: Iterable[Any]) -> set[CutResult]:
    """Return what came of cuts and is used by these operations."""
    return {result for one in filter(None, map(record_of, nodes)) for call in one.outside for result in call.cuts}


def is_of_leaves_alone(node: NodeLike) -> bool:
    """Return whether an operation takes nothing of the graph but leaves, as they are, transposed or expanded."""
    ways = [one.next_functions for one, _ in node.next_functions if one is not None]
    return all(len(way) < 2 and not any(one.next_functions for one, _ in way if one is not None) for way in ways)


def cuts_added_to(roots: Iterable[Any]) -> set[CutResult]:
    """Return what came of cuts and is only added to some tensors, so that no gradient of theirs depends on it."""
    sums = sums_of(roots)
    return cuts_in(sums) - cuts_in(node for node in graph_nodes(roots) if node not in sums)


def is_freed_beside(tensor: Any, nodes: Container[Any]) -> bool:
    """Return whether a backward through other operations than these has freed some that a tensor is made by."""
    own = graph_nodes([tensor]) if tensor is not None else ()
    return any(node not in nodes and is_freed(node) for node in own)


def sums_of(roots: Iterable[Any]) -> set[Any]:
    """Return the sums through which what comes in is only added to the roots, be it times a constant.

    The last operation of a call that records several, such as cosine_similarity, is none: it does not add its inputs.
    """
    todo, sums = [*filter(None, map(grad_fn, roots))], set[Any]()
    for node in todo:  # grows while it is read
        label, inputs = BACKWARD.sub("", type(node).__name__), [one for one, _ in node.next_functions]
        inside = [one for one in inputs if one is not None]
        is_call = (record := record_of(node)) is not None and record.call.name.endswith(label.lower())
        if label in SUMS and is_call and node not in sums:
            sums.add(node)
            todo += inside
        elif len(inside) == 1 and (label == "Mul" or (label == "Div" and inputs[0] is not None)):
            todo += inside
    return sums


def leaves_below(names: Mapping[str, Any], cache: dict[Any, tuple[int, list[Any]]]) -> dict[str, list[Any]]:
    """Return the leaves that each tensor is made from; of as many tensors as that takes no long time for.

    Args:
        names: the tensors.
        cache: for operations that were looked at before, how many there are in all, and the leaves; more come in.
    """
    leaves, visited = {}, 0
    for name, tensor in names.items():
        node = grad_fn(tensor)
        if node is not None and visited < MOST:
            if node not in cache:
                nodes = graph_nodes([tensor])
                cache[node] = len(nodes), [leaf for leaf in nodes.values() if leaf is not None]
            visited += cache[node][0]
            leaves[name] = cache[node][1]
    return leaves


def unnamed_leaves(
    names: Mapping[str, Any],
    below: Mapping[str, list[Any]],
    first_name: Callable[[Any], tuple[str, bool]] = lambda _: ("", False),
) -> dict[str, Any]:
    """Return a name for each leaf that has none.

    That is ``w (1st)``, if it was the first of a name that was given to another one later; else ``leaf of y``, after
    the tensor that is made of the fewest leaves.

    Args:
        names: the tensors that have names.
        below: the leaves that each of them is made from.
        first_name: gives the name of a leaf when it was made, and whether it is the first of that name.
    """
    ids, leaves = set(map(id, names.values())), {}
    for name in sorted(below, key=lambda name: len(below[name])):
        for number, leaf in enumerate([leaf for leaf in below[name] if id(leaf) not in ids], 1):
            ids.add(id(leaf))
            own, is_first = first_name(leaf)
            of = f"leaf {number} of {name}" if number > 1 else f"leaf of {name}"
            leaves[f"{own} (1st)" if is_first and own in names else of] = leaf
    return leaves
