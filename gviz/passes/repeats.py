"""Blocks of a graph that repeat, found without being told and checked wire by wire: layers, steps of a loop, copies.

The operations are put in a sequence, each after its inputs, what an input is made of before the next input: so the
blocks of a model, or the steps of a loop, lie one behind the other. Two operations at a distance p are alike if
label, shape, slots and attributes are the same, and each input is the same one, or as far back as the other's, or of
the same form from outside. A stretch of p alike operations or more is a repeat of period p. Few periods are worth
trying: the distances between operations with the same neighbourhood. What is found so is a guess; a fold is what the
check leaves.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from itertools import chain, pairwise, takewhile
from typing import Any, TypeAlias

import numpy as np

from gviz.graphs import Edge, Graph
from gviz.passes.forms import form_of, lacks_inputs_alone, leaf_form_of, unknown_operations, varying_numbers

MOST_INPUTS = 16
"""Inputs up to which an operation may be part of a repeat."""

PERIODS, PHASES = 24, 16
"""Periods, and beginnings of a block, that are tried."""

LEAST_SAVED = 4
"""Boxes that a fold must save. A group counts twice, since it stands for several operations."""

SHALLOW = 4
"""Operations on the way from a leaf, the leaf counted, that stand before what needs them rather than after the leaf."""

EFFORT, OVERHEAD = 12, 200
"""How often each operation may be looked at, and what a look at a few costs in operations; what is left then stays."""

Block: TypeAlias = list[int]
"""The operations of a block, by their places in the graph's nodes."""


class Fold:
    """Blocks that are the same but for what each has of its own.

    Args:
        blocks: for each block its operations, by their places in the graph's nodes, in the same order.
        rows: leaves that vary: each row has one for each block.
        at: the place in the sequence at which the last block begins.
    """

    def __init__(self, blocks: list[Block], rows: list[tuple[int, ...]], at: int = 0) -> None:
        """Take what was found."""
        self.blocks, self.rows, self.at = blocks, rows, at
        self.inside: list[Fold] = []
        """Folds inside the last block."""

    @property
    def count(self) -> int:
        """How many blocks there are."""
        return len(self.blocks)

    @property
    def period(self) -> int:
        """How many operations each has."""
        return len(self.blocks[0])

    def keep(self, first: int, end: int) -> None:
        """Keep some of the blocks."""
        self.at -= (self.count - end) * self.period
        self.blocks, self.rows = self.blocks[first:end], [row[first:end] for row in self.rows]


Accepts: TypeAlias = Callable[[Fold], bool | None]
"""Whether a fold is to be drawn as one; None if it is not, but what is inside its blocks may be."""


def saved_boxes(folds: Sequence[Fold]) -> int:
    """Return how many operations are not drawn because of folds."""
    return sum((fold.count - 1) * fold.period + saved_boxes(fold.inside) for fold in folds)


# ---------------------------------------------------------------- the sequence
class OperationSequence:
    """The operations of a graph, each after its inputs, as arrays: the form of each, and where its inputs come from.

    An input is the place of an operation in the sequence, -1 for none, or -2 - n for the node n that is no operation.

    Args:
        graph: without AccumulateGrad nodes, which are beside leaves what no block has.
    """

    def __init__(self, graph: Graph) -> None:
        """Put the operations in their order."""
        self.nodes = graph.nodes
        place = {node.id: number for number, node in enumerate(graph.nodes)}
        self.inputs: list[list[tuple[Edge, int]]] = [[] for _ in graph.nodes]
        fixed = set(graph.roots)
        for edge in graph.edges:
            if edge.kind == "carried":  # it is folded already
                fixed |= {edge.source, edge.target}
            else:
                self.inputs[place[edge.target]].append((edge, place[edge.source]))
        self.fixed = {place[name] for name in fixed} | {*_in_folds(graph), *unknown_operations(graph)}
        self.orders = self._orders([place[root] for root in graph.roots])
        self.order = self.orders[0]
        self.is_exact = True
        """Whether numbers that may vary have to be the same."""
        self.at = {number: index for index, number in enumerate(self.order)}
        self.form, self.input, self.wire = (np.zeros(0, np.int64) for _ in range(3))
        self.loose: list[int] = []
        self.sources: Any = []  # lists of the arrays, which are read faster
        self.wires: Any = []
        self.width = 1
        self._fill()

    def _orders(self, roots: list[int]) -> list[list[int]]:
        """Return the operations, each after its inputs, in several orders.

        In the first comes first what the longest way leads to; in the second everything as soon as possible. In both
        stands before all else what is made of a leaf alone, and used again and again; in the third it does not.
        """
        several = [sorted(inputs, key=_by_slot) if len(inputs) > 1 else inputs for inputs in self.inputs]
        sources = [[source for _, source in inputs] for inputs in several]
        depth = [0] * len(sources)
        for number in walked(roots, sources):
            depth[number] = 1 + max((depth[source] for source in sources[number]), default=0)
        deepest = (sorted(ends, key=lambda one: -depth[one]) if len(ends) > 1 else ends for ends in sources)
        order = walked(roots, [*deepest])
        soon = as_soon_as_possible(order, sources, [one <= SHALLOW for one in depth])
        runs = [0] * len(sources)
        for number in order:  # the order in which a script ran is better, where it is known
            runs[number] = max(self.nodes[number].run, max((runs[source] for source in sources[number]), default=0))
        # A leaf that is transposed once and used in each step is not a part of the first step.
        uses = Counter(chain.from_iterable(sources))
        made_of_leaf, hoisted = set[int](), set[int]()
        for number in order:
            ends = sources[number]
            if not ends or (len(ends) == 1 and ends[0] in made_of_leaf and self.nodes[number].recorded.slots <= 1):
                made_of_leaf.add(number)
        for number in reversed(order):
            if sources[number] and number in made_of_leaf and (uses[number] > 1 or number in hoisted):
                hoisted |= {number, *sources[number]}
        steps = {n for n in order if sources[n] or self.nodes[n].kind in ("operation", "group")}
        rank = [-1 if number in hoisted else run for number, run in enumerate(runs)]
        ways = (order, rank), (soon, rank), (order, runs)
        return [sorted((number for number in way if number in steps), key=key.__getitem__) for way, key in ways]

    def loosen(self) -> bool:
        """Let numbers vary from block to block; return whether more operations are alike then."""
        if not any(map(varying_numbers, {id(node.card or node.recorded): node for node in self.nodes}.values())):
            return False
        count, self.is_exact, self.loose = len(np.unique(self.form)), False, []
        self._fill()
        return len(np.unique(self.form)) < count

    def rearrange(self, order: list[int]) -> bool:
        """Put the operations in another order; return whether it is another."""
        if self.order == order:
            return False
        before = self.at
        self.order = order
        self.at = {number: index for index, number in enumerate(self.order)}
        places = np.array([before[number] for number in self.order])
        new = np.argsort(places)
        self.form, self.input, self.wire = self.form[places], self.input[places], self.wire[places]
        self.input = np.where(self.input >= 0, new[np.maximum(self.input, 0)], self.input)
        self.loose = [self.loose[index] for index in places]
        self.sources, self.wires = self.input.tolist(), self.wire.tolist()
        return True

    def _fill(self) -> None:
        """Make the arrays."""
        forms: dict[Any, int] = {}
        wires: dict[Any, int] = {}
        cells: list[tuple[int, int, int, int]] = []  # place, column, input, wire
        numbers: list[int] = []
        for index, number in enumerate(self.order):
            node, columns, form = self.nodes[number], [*self._columns(number)], None
            is_fixed = any(column >= MOST_INPUTS for column, _ in columns) or number in self.fixed
            if not is_fixed and node.kind in ("operation", "group"):
                form = form_of(node, is_exact=self.is_exact)
            numbers.append(forms.setdefault(form or number, len(forms)))
            self.loose.append(forms.setdefault(form[:-1] if form else number, len(forms)))
            for column, (edge, source) in () if is_fixed else columns:
                wire = wires.setdefault((edge.kind, edge.label, edge.output), len(wires))
                cells.append((index, column, self.at.get(source, -2 - source), wire))
        places, slots, sources, kinds_of = np.array(cells, np.int64).reshape(-1, 4).T
        self.form = np.array(numbers, np.int64)
        self.width = 1 + int(slots.max(initial=0))
        self.input = np.full((len(self.order), self.width), -1, np.int64)
        self.wire = self.input.copy()
        self.input[places, slots], self.wire[places, slots] = sources, kinds_of
        self.sources, self.wires = self.input.tolist(), self.wire.tolist()
        self.kind_of_wire = [*({key[:2]: None for key in wires})]
        kinds = {key: number for number, key in enumerate(self.kind_of_wire)}
        self.wire_kinds = [kinds[key[:2]] for key in wires]
        leaf_forms: dict[Any, int] = {}
        self.leaf_form = np.array([leaf_forms.setdefault(leaf_form_of(node), len(leaf_forms)) for node in self.nodes])

    def _columns(self, number: int) -> Iterator[tuple[int, tuple[Edge, int]]]:
        """Yield the inputs of an operation, each with its column: its slot, where these differ; others are last."""
        inputs = self.inputs[number]
        if len(inputs) == 1 and inputs[0][0].kind == "data":
            yield inputs[0][0].slot, inputs[0]
            return
        data = [one for one in inputs if one[0].kind == "data"]
        others = sorted((one for one in inputs if one[0].kind != "data"), key=_by_slot)
        slots = [edge.slot for edge, _ in data]
        if len({*slots}) == len(slots):
            yield from zip(slots, data, strict=True)
        else:  # a group: operations in their order, then leaves
            behind = len(self.order)
            data.sort(key=lambda one: (one[0].slot, self.at.get(one[1], behind), self.nodes[one[1]].name or ""))
            yield from enumerate(data)
        slots_end = max([*slots, len(slots) - 1, self.nodes[number].recorded.slots - 1], default=-1) + 1
        yield from enumerate(others, slots_end)

    # ---------------------------------------------------------------- finding
    def folds(self, accepts: Accepts) -> list[Fold]:
        """Return the folds of the whole sequence."""
        top: list[Fold] = []
        waiting = deque([(0, len(self.order), top)])
        effort = EFFORT * (len(self.order) + 10 * OVERHEAD)
        while waiting and effort > 0:
            low, high, folds = waiting.popleft()
            if not self._may_repeat(low, high):
                continue
            effort -= high - low + OVERHEAD
            end = low
            for first, last, fold in self._folds_of_part(low, high, accepts):
                waiting.append((end, first, folds))
                end = last
                if isinstance(fold, Fold):
                    folds.append(fold)
                    waiting.append((fold.at, fold.at + fold.period, fold.inside))
                else:  # not wanted: what is inside its blocks is
                    waiting.extend((begin, begin + fold, folds) for begin in range(last - fold, first - 1, -fold))
            if end > low:
                waiting.append((end, high, folds))
        return top

    def _may_repeat(self, low: int, high: int) -> bool:
        """Return whether a part has as many operations of the same form as a fold saves."""
        if high - low < 2:
            return False
        forms = self.form[low:high]
        size = high - low
        least = LEAST_SAVED if size > 2 * LEAST_SAVED else 2  # few groups
        return size - len(np.unique(forms)) >= least

    def _folds_of_part(self, low: int, high: int, accepts: Accepts) -> list[tuple[int, int, Fold | int]]:
        """Return the folds of a part that do not overlap, in their order, each with its beginning and its end.

        In place of a fold that is not wanted stands its period.
        """
        stretches: list[tuple[int, int, int, int]] = []
        for period in self._periods(low, high):
            good = np.concatenate(([False], self._alike(low, high, period), [False]))
            turns = np.flatnonzero(good[1:] != good[:-1])
            for begin, end in zip(turns[::2].tolist(), turns[1::2].tolist(), strict=True):
                if end - begin >= period:
                    stretches.append(
                        (-((end - begin) // period * period), low + begin + period, low + end + period, period)
                    )
        stretches.sort(key=lambda one: one[0])
        occupied = np.zeros(high - low, bool)
        folds: list[tuple[int, int, Fold | int]] = []
        for _, begin, end, period in stretches:
            if occupied[begin - period - low : end - low].any():
                continue
            result = self._fold_at(low, begin, end, period, occupied)
            if result is None:
                continue
            first, last, fold = result
            is_wanted = accepts(fold)
            if is_wanted is not False:
                occupied[first - low : last - low] = True
                folds.append((first, last, fold if is_wanted else period))
        return sorted(folds, key=lambda one: one[0])

    def _periods(self, low: int, high: int) -> list[int]:
        """Return the distances between operations with the same neighbourhood, the most frequent first.

        Few operations have few blocks, of which the first has other neighbours: then near neighbours are enough.
        """
        source, places = self.input[low:high], np.arange(low, high)
        is_inner = (source >= low) & (source < high)
        back = np.where(is_inner, places[:, None] - source, 0)
        mark = self.form[low:high].astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(1)
        periods: list[int] = []
        for turn in range(3):
            if turn and high - low <= OVERHEAD:
                periods = [*self._gaps(mark, places), *periods]
            mixed = mark.copy()
            for column in range(self.width):
                inner = is_inner[:, column]
                neighbour = np.where(inner, mark[np.where(inner, source[:, column] - low, 0)], np.uint64(7 + column))
                step = np.minimum(back[:, column], 64).astype(np.uint64)
                mixed = (mixed ^ (neighbour + step * np.uint64(31))) * np.uint64(0xBF58476D1CE4E5B9) + np.uint64(column)
                mixed ^= mixed >> np.uint64(29)
            mark = mixed
        periods = [*dict.fromkeys([*self._gaps(mark, places), *periods])]
        return [period for period in periods if 2 * period <= high - low][:PERIODS]

    @staticmethod
    def _gaps(mark: np.ndarray, places: np.ndarray) -> list[int]:
        """Return the distances between operations with the same mark, the most frequent first."""
        order = np.lexsort((places, mark))
        is_same = mark[order][1:] == mark[order][:-1]
        gaps, counts = np.unique((places[order][1:] - places[order][:-1])[is_same], return_counts=True)
        return [int(gap) for gap in gaps[np.argsort(-counts, kind="stable")]]

    def _alike(self, low: int, high: int, period: int) -> Any:
        """Return for each operation of low + period ... high whether it is as the one a period before."""
        here, before = slice(low + period, high), slice(low, high - period)
        same = self.form[here] == self.form[before]
        for column in range(self.width):
            a, b = self.input[here, column], self.input[before, column]
            leaf = (a <= -2) & (b <= -2)
            leaf &= self.leaf_form[np.where(leaf, -2 - a, 0)] == self.leaf_form[np.where(leaf, -2 - b, 0)]
            outside = (a >= 0) & (b >= 0) & (a < low) & (b < low)
            outside &= self.form[np.maximum(a, 0)] == self.form[np.maximum(b, 0)]
            same &= (a == b) | leaf | ((b >= 0) & (a - b == period)) | outside
            same &= self.wire[here, column] == self.wire[before, column]
        return same

    def _fold_at(self, low: int, begin: int, end: int, period: int, occupied: Any) -> tuple[int, int, Fold] | None:
        """Return the fold of a stretch of alike operations, with its beginning and its end in the sequence.

        It begins where most blocks fit, fewest wires go from one to the next, and a module, or a line, begins.
        """
        first = begin - period
        cut_wires = [*zip(self._wires_cut(first, begin, end, period), self._depths(begin, period), strict=True)]
        best: tuple[int, int, list[int] | None] | None = None
        most = (end - first) // period + 1
        whole = {shift for shift in (low + period - first,) if 0 <= shift < period}  # with all from the beginning on
        ways = sorted({*range(period)} - whole, key=lambda shift: (cut_wires[shift], shift))
        for shift in sorted([*ways[:PHASES], *whole], key=lambda shift: (cut_wires[shift], shift)):
            count = (end - first - shift) // period
            if count < 2:
                continue
            start = first + shift
            window = self._before(low, start, period)
            if window is not None and occupied[start - period - low : start - low].any():
                window = None
            count += window is not None
            if best is None or count > best[0]:  # of as many the first
                best = count, start, window
            if count == most:
                break
        if best is None:
            return None
        count, start, window = best
        blocks = [window] if window is not None else []
        blocks += [[*range(at, at + period)] for at in range(start, start + (count - len(blocks)) * period, period)]
        for skipped in range(min(2, len(blocks) - 1)):  # the first may be another one
            agreeing, rows = self._agreeing(blocks[skipped:])
            fold_blocks = blocks[skipped : skipped + agreeing]
            weight = sum(1 + (self.nodes[self.order[index]].kind == "group") for index in blocks[0])
            if agreeing > 1 and (agreeing - 1) * weight >= LEAST_SAVED:
                fold = Fold([[self.order[index] for index in block] for block in fold_blocks], rows, fold_blocks[-1][0])
                return min(fold_blocks[0]), fold_blocks[-1][-1] + 1, fold
        return None

    def _depths(self, begin: int, period: int) -> list[tuple[int, bool]]:
        """Return how deep in modules a block would begin and end, and if within a line, if it began 0, 1, ... later."""
        nodes = [self.nodes[number] for number in self.order[begin - 1 : begin + period]]
        paths = [node.scope.split(".") if node.scope else [] for node in nodes]
        return [
            (
                sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(before, after, strict=False))),
                one.run == other.run,
            )
            for (before, after), (one, other) in zip(pairwise(paths), pairwise(nodes), strict=True)
        ]

    def _wires_cut(self, first: int, begin: int, end: int, period: int) -> list[int]:
        """Return how many wires cross the border between blocks, if it is moved down by 0, 1, ... operations."""
        change = [0] * (period + 1)
        for index in range(begin, min(begin + 2 * period, end)):
            for source in {one for one in self.sources[index] if first <= one < index}:
                low, high = max(source + 1 - begin, 0), min(index - begin, period - 1)
                if low <= high:
                    change[low] += 1
                    change[high + 1] -= 1
        counts, total = [], 0
        for step in change[:period]:
            total += step
            counts.append(total)
        return counts

    def _before(self, low: int, start: int, period: int) -> list[int] | None:
        """Return the operations just before a block in the order of its own, if they are one block more, else None.

        They are found along the wires, from what the block takes over: where a loop begins, the order may be another,
        and what is carried comes from outside.
        """
        if start - period < low:
            return None
        image: dict[int, int] = {}
        todo = [
            (x, y)
            for index in range(start + period, start + 2 * period)
            for x, y in zip(self.sources[index], self.sources[index - period], strict=True)
            if start <= x < start + period
        ]
        while todo:
            x, y = todo.pop()
            if x in image:
                if image[x] != y:
                    return None
                continue
            if not start - period <= y < start or self.loose[x] != self.loose[y]:
                return None
            image[x] = y
            todo += [
                (a, b) for a, b in zip(self.sources[x], self.sources[y], strict=True) if start <= a < start + period
            ]
        if not image:  # copies side by side: nothing is carried
            image = {start + step: start - period + step for step in range(period)}
            if any(self.loose[x] != self.loose[y] for x, y in image.items()):
                return None
        is_whole = len(image) == period == len({*image.values()})
        return [image[start + step] for step in range(period)] if is_whole else None

    # ---------------------------------------------------------------- checking
    def _agreeing(self, blocks: list[Block]) -> tuple[int, list[tuple[int, ...]]]:
        """Return how many blocks, from the first on, are the same wire by wire, and the rows of leaves that vary."""
        count = len(blocks)
        for _ in range(4):
            if count < 2:
                break
            check = Check(self, blocks[:count])
            if check.agreeing == count:
                return count, check.leaf_rows()
            count = check.agreeing
        return 0, []


class Check:
    """What blocks have in common: each operation's form, and for each input one of these, in all of them.

    - what the same operation of the same block makes
    - what the same operation of the block before makes, or so many blocks before; the first have it from outside
    - the same thing from outside
    - something from outside that no other block has, and in this block all that the others have of their own there

    Args:
        sequence: the operations.
        blocks: by their places in it.
    """

    def __init__(self, sequence: OperationSequence, blocks: list[Block]) -> None:
        """Look at all operations and all wires."""
        self.sequence, self.blocks = sequence, blocks
        self.agreeing = len(blocks)
        self.where = {index: (number, step) for number, block in enumerate(blocks) for step, index in enumerate(block)}
        self.rows: dict[int, tuple[list[int], int]] = {}  # what varies: the row that it is in, and its block
        self.shared: set[int] = set()
        self.taken_first: set[int] = set()
        for step in range(len(blocks[0])):
            members = [block[step] for block in blocks]
            lacking = True in [self._cell(members, column) for column in range(sequence.width)]  # each is looked at
            forms = [sequence.loose[index] for index in members] if lacking else sequence.form[members].tolist()
            if lacking:
                self._end(_first_other([sequence.form[index] for index in members[1:]]) + 1)
                first, other = (sequence.nodes[sequence.order[index]] for index in members[:2])
                if not lacks_inputs_alone(first, other):
                    self._end(1)
                if not sequence.is_exact:  # what the first has besides could be taken for a number that varies
                    numbers = [varying_numbers(sequence.nodes[sequence.order[index]]) for index in members]
                    self._end(_first_other(numbers[1:]) + 1)
            self._end(_first_other(forms))
        for source in (self.shared | self.taken_first) & self.rows.keys():
            self._end(self.rows[source][1] if source in self.shared else 1)

    def _end(self, number: int) -> None:
        """Say that a block differs from those before."""
        self.agreeing = min(self.agreeing, max(number, 1))

    def _cell(self, members: list[int], column: int) -> bool:
        """Look at one input of one operation in all blocks; return whether the first has none that others have."""
        sources = [self.sequence.sources[index][column] for index in members]
        wires = [self.sequence.wires[index][column] for index in members]
        places = [self.where.get(source) for source in sources]
        first = next((number for number, place in enumerate(places) if place is not None), len(members))
        if first == len(members):
            self._end(_first_other(wires))
            self._outside(sources)
            return False
        number, step = places[first] or (0, 0)
        back = first - number
        kinds = self.sequence.wire_kinds
        is_data = self.sequence.kind_of_wire[kinds[wires[first]]][0] == "data"
        if number or (back and not is_data):  # what is carried over two blocks comes to the first two from outside
            self._end(first)
            return False
        for number in range(first, len(members)):
            if places[number] != (number - back, step):
                self._end(number)
                break
        self._end(first + _first_other(wires[first:]))
        for number, (source, wire) in enumerate(zip(sources[:first], wires[:first], strict=True)):
            if source != -1 and kinds[wire] != kinds[wires[first]]:
                self._end(number)
        self.taken_first |= {source for source in sources[:first] if source != -1}
        return -1 in sources[:first]

    def _outside(self, sources: list[int]) -> None:
        """Look at what comes from outside: the same for all blocks, or for each its own."""
        if sources[0] == sources[1]:
            self._end(_first_other(sources))
            if sources[0] != -1:
                self.shared.add(sources[0])
            return
        row = self.rows[sources[0]][0] if sources[0] in self.rows else sources
        form = self._form(sources[0])
        for number, source in enumerate(sources):
            place = self.rows.get(source)
            is_known = place is not None and place[0] is row and place[1] == number
            if not (is_known if row is not sources else place is None) or self._form(source) != form:
                self._end(number)
                return
            self.rows[source] = row, number

    def _form(self, source: int) -> tuple[int, int]:
        """Return what kind of thing an input from outside is."""
        if source < 0:
            return source == -1, int(self.sequence.leaf_form[-2 - source])
        return 2, self.sequence.loose[source]

    def leaf_rows(self) -> list[tuple[int, ...]]:
        """Return the rows of leaves that vary, by their places in the graph's nodes."""
        rows = {id(row): row for row, _ in self.rows.values() if row[0] <= -2}
        return [tuple(-2 - source for source in row) for row in rows.values()]


def _first_other(values: Sequence[object]) -> int:
    """Return the place of the first value that is not the first one; their number if there is none."""
    if values.count(values[0]) == len(values):
        return len(values)
    return next(place for place, value in enumerate(values) if value != values[0])


# ---------------------------------------------------------------- order
def _by_slot(one: tuple[Edge, int]) -> tuple[str, int]:
    return one[0].kind, one[0].slot


def _in_folds(graph: Graph) -> Iterator[int]:
    """Yield the places of nodes in frames that stand for several blocks."""
    for number, node in enumerate(graph.nodes if graph.regions else ()):
        if any(graph.regions[region].times > 1 for region in graph.frames_around(node.region)):
            yield number


def walked(starts: Sequence[int], sources: Sequence[Sequence[int]]) -> list[int]:
    """Return the places of all nodes, each after its inputs, from the starts on, then what these do not lead to."""
    seen = bytearray(len(sources))
    order: list[int] = []
    for start in chain(starts, range(len(sources))):
        if seen[start]:
            continue
        seen[start] = 1
        stack = [(start, iter(sources[start]))]
        while stack:
            number, rest = stack[-1]
            for source in rest:
                if not seen[source]:
                    seen[source] = 1
                    stack.append((source, iter(sources[source])))
                    break
            else:
                stack.pop()
                order.append(number)
    return order


def as_soon_as_possible(order: Sequence[int], sources: Sequence[Sequence[int]], stays: Sequence[bool]) -> list[int]:
    """Return an order in which an operation comes as soon as all of its inputs have come.

    A loss for each step would else come after all steps. What ``stays``, as what is made of a leaf, is where it was:
    before what needs it.
    """
    waiting = [len(inputs) for inputs in sources]
    users: list[list[int]] = [[] for _ in sources]
    for number in reversed(order):
        for source in sources[number]:
            users[source].append(number)
    is_done = bytearray(len(sources))
    arranged: list[int] = []
    for start in order:
        stack = [start]
        while stack:
            number = stack.pop()
            if is_done[number]:
                continue
            is_done[number] = 1
            arranged.append(number)
            for user in users[number]:
                waiting[user] -= 1
                if not waiting[user] and not stays[user]:
                    stack.append(user)
    return arranged
