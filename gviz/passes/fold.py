"""Blocks that repeat drawn once, in a frame that says how many they are.

The nodes of the last block stay. Every wire of the whole graph is on one of the folded one: inside the frame it is that
of each block; a wire from one block to the next is carried back, from the end of the frame to its beginning; and at the
border of the frame a label says of which block it is, where it is not that of all that need it. So the folded graph has
all that the whole one does, but for the names of operations and the numbers of other blocks.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import pairwise, product, takewhile
from math import prod
from typing import Any, NamedTuple, TypeAlias, TypeVar

from gviz.errors import RenderError
from gviz.formulas.expressions import output_name
from gviz.graphs import NO_FLOW, Edge, Graph, Node, Region
from gviz.passes.blocks import known_of_blocks
from gviz.passes.part import fold_remarks
from gviz.passes.repeats import CALL, DIGITS, Fold, OperationSequence, saved_boxes
from gviz.records import without_collecting
from gviz.text import braced, did_you_mean, excerpt, joined, shorten

UNNAMED = "repeats"
"""The title of a fold whose blocks have no names."""

MOST_SAID = 3
"""Folds that the text below a picture lists."""

BEFORE = "of the block before"
"""Whose result is carried over, where there is one fold alone."""

MOST_PAIRS = 4
"""Pairs of blocks that a label lists."""

LOOSE = 0.6
"""What a box counts that is saved since numbers may vary: one step with another number stands beside the others."""

ELSEWHERE = "…"
"""The name in a formula of what another block than the drawn one has made, if it has none."""

T = TypeVar("T")

Rows: TypeAlias = "dict[tuple[int, int], tuple[Variant, int]]"


class Variant:
    """Leaves that vary from block to block: one for each block, drawn as one.

    Args:
        leaves: by their places in the graph's nodes.
        number: counted from 1.
    """

    def __init__(self, leaves: tuple[int, ...], number: int) -> None:
        """Take the leaves."""
        self.leaves, self.number = leaves, number
        self.folds: list[Fold] = []
        """The folds whose blocks use them."""
        self.first = self
        """Of rows whose last leaves are one row of a fold inside: the first of them, which says the block for all."""


class Coordinates(NamedTuple):
    """Where a node of the whole graph is in the folded one.

    Args:
        drawn: the node that is drawn for it, by its place in the graph's nodes.
        blocks: of each fold, or row of leaves, that it is in, outer ones first: the block that it is in.
    """

    drawn: int
    blocks: dict[Fold | Variant, int]


def without_accumulate(graph: Graph) -> Graph:
    """Return the graph with leaves in place of their AccumulateGrad."""
    known = graph.by_id
    leaf_of = {
        edge.target: edge.source
        for edge in graph.edges
        if known[edge.target].kind == "accumulate" and edge.kind == "data"
    }
    if not leaf_of:
        return graph
    nodes = tuple(node for node in graph.nodes if node.id not in leaf_of)
    edges = tuple(
        edge._replace(source=leaf_of.get(edge.source, edge.source))
        for edge in graph.edges
        if edge.target not in leaf_of
    )
    roots = tuple(leaf_of.get(root, root) for root in graph.roots)
    return graph.changed(nodes=nodes, edges=edges, roots=roots)


class Folding:
    """The folds of a graph, and what is drawn for each of its nodes.

    Args:
        graph: any graph; what is folded in it already stays so.
        least: how many blocks a fold has at least.
        unfold: titles of folds whose blocks are all drawn, or what they begin with: ``blocks`` for ``blocks.{0…11}``.
        has_ranges: whether what is drawn says of which range the values and gradients of all blocks are.

    Raises:
        RenderError: there is no such title.
    """

    @without_collecting()
    def __init__(self, graph: Graph, least: int = 2, unfold: Collection[str] = (), *, has_ranges: bool = False) -> None:
        """Find the folds."""
        self.whole, self.graph = graph, without_accumulate(graph)
        self.least, self.unfold, self.has_ranges = least, unfold, has_ranges
        sequence = OperationSequence(self.graph)
        found: list[dict[str, Any]] = []
        for is_exact in (True, False):
            is_first = is_exact or (self._is_little(found) and sequence.loosen())
            for order in sequence.orders if is_first else ():
                if (not found or self._is_little(found)) and (sequence.rearrange(order) or is_first):
                    self._find(sequence)
                    self.weight = saved_boxes(self.folds) * (1.0 if is_exact else LOOSE)
                    found.append(dict(vars(self)))
                is_first = False
        vars(self).update(max(found, key=lambda one: one["weight"]))
        titles = [*self.kept, *self.titles.values()]
        for name in self.unfold:
            if all(name not in (title, stem_of(title)) for title in self.kept):
                listed = f"there are {joined(titles, most=5)}" if titles else "nothing repeats"
                hint = did_you_mean(name, [*titles, *map(stem_of, titles)]) or listed
                raise RenderError(f"there is no fold {excerpt(name)!r}", hint=hint)

    def _is_little(self, found: Sequence[Mapping[str, Any]]) -> bool:
        """Return whether all that was found leaves more than a tenth of the operations."""
        operations = sum(node.kind in ("operation", "group") for node in self.graph.nodes)
        return bool(10 * max(one["weight"] for one in found) < 9 * operations)

    def _find(self, sequence: OperationSequence) -> None:
        """Find the folds in one order of the operations."""
        self.rows: Rows = {}
        self.variants: list[Variant] = []
        self.titles: dict[Fold, str] = {}
        self.copies: dict[int, list[int]] = {}
        """The operations, or leaves, that one inside a fold stands for: one in each block of the folds around."""
        self.kept: list[str] = []
        """Titles of folds that are drawn block by block."""
        self.frames = Frames(self.graph)
        self.folds = sequence.folds(self._accepts)

    def _accepts(self, fold: Fold) -> bool | None:
        """Return whether a fold is drawn as one; None if it is to be drawn block by block."""
        self.frames.trim(fold)
        if fold.count < max(self.least, 2):
            return False
        title = fold_title(self.graph.nodes, fold, self.copies)
        if {title, stem_of(title)} & {*self.unfold}:
            self.kept.append(title)
            return None
        parents = [found for row in fold.rows if (found := self._parents(row)) is not None]
        if len(parents) < len(fold.rows):
            return False
        for leaves, above in zip(fold.rows, parents, strict=True):
            if (above[0], leaves[0]) not in self.rows:
                self.variants.append(Variant(leaves, len(self.variants) + 1))
                places = enumerate(zip(above, leaves, strict=True))
                self.rows.update({key: (self.variants[-1], block) for block, key in places})
                for parent in filter(None, above):
                    self.variants[parent - 1].first = self.variants[above[0] - 1].first
            self.rows[above[0], leaves[0]][0].folds.append(fold)
        self.titles[fold] = title
        for several in (*zip(*fold.blocks, strict=True), *fold.rows):
            self.copies[several[-1]] = [one for each in several for one in self.copies.get(each, [each])]
        return True

    def _parents(self, leaves: tuple[int, ...]) -> list[int] | None:
        """Return for each leaf the number of the row that it is the last of, 0 for none; None if they are no one box.

        Leaves of two folds are one box only if both take them in the same order, or one is inside the other.
        """
        parents: list[int] = []
        for leaf in leaves:
            parent = 0
            while (parent, leaf) in self.rows:
                row, block = self.rows[parent, leaf]
                if row.leaves == leaves:
                    break
                if block < len(row.leaves) - 1:
                    return None
                parent = row.number
            parents.append(parent)
        around = [self.variants[parent - 1].folds if parent else None for parent in parents]
        return parents if len({*parents}) == 1 or (around[0] and all(one == around[0] for one in around)) else None

    # ---------------------------------------------------------------- where a node is drawn
    @cached_property
    def coordinates(self) -> list[Coordinates]:
        """For each node of the graph where it is drawn."""
        nodes = range(len(self.graph.nodes))
        places: dict[int, tuple[Fold, int, int]] = {}  # of each level: an operation is once in it
        drawn, blocks = [*nodes], [dict[Fold | Variant, int]() for _ in nodes]
        level = self.folds
        while level:  # outer folds first: from there on an operation is where that of the last block is
            places = {
                number: (fold, block, step)
                for fold in level
                for block, numbers in enumerate(fold.blocks)
                for step, number in enumerate(numbers)
            }
            for number in nodes:
                if (at := places.get(drawn[number])) is not None:
                    fold, block, step = at
                    blocks[number][fold] = block
                    drawn[number] = fold.blocks[-1][step]
            level = [inner for fold in level for inner in fold.inside]
        outer = {inner: fold for fold in self.all_folds() for inner in fold.inside}
        for number in {leaf for _, leaf in self.rows}:
            parent, around = 0, None
            is_inside = True
            while (parent, drawn[number]) in self.rows:
                row, block = self.rows[parent, drawn[number]]
                fold = row.folds[0]
                is_inside = is_inside and len(row.folds) == 1 and outer.get(fold) is around
                blocks[number][fold if is_inside else row.first] = block
                drawn[number], parent, around = row.leaves[-1], row.number, fold
        return [Coordinates(*one) for one in zip(drawn, blocks, strict=True)]

    def all_folds(self) -> list[Fold]:
        """Return all folds, outer ones first."""
        found = [*self.folds]
        for fold in found:  # grows while it is read
            found += fold.inside
        return found

    @property
    def least_boxes(self) -> int:
        """How many boxes are drawn, signs for what is carried not counted."""
        return len({place.drawn for place in self.coordinates})

    # ---------------------------------------------------------------- the folded graph
    @cached_property
    @without_collecting()
    def folded(self) -> Graph:
        """The folded graph; the graph itself if nothing repeats."""
        if not self.folds:
            return self.whole
        places = self.coordinates
        names: dict[int, list[str]] = {}
        for number in sorted(range(len(places)), key=lambda one: (*places[one].blocks.values(),)):
            drawn, blocks = places[number]
            if any(isinstance(one, Variant) for one in blocks) or self.graph.nodes[number].kind != "operation":
                names.setdefault(drawn, []).append(self.graph.nodes[number].name or "")
        regions, region_of = self.frames.with_folds(self.titles, places)
        told = known_of_blocks(self.graph, places, has_ranges=self.has_ranges)
        nodes = tuple(
            node._replace(
                region=region_of[number],
                name=pattern(names[number]) if len(names.get(number, ())) > 1 else node.name,
                blocks=told.get(number),
            )
            for number, node in enumerate(self.graph.nodes)
            if places[number].drawn == number
        )
        folded = self.graph.changed(nodes=nodes, edges=self._edges(places), regions=regions)
        said = dict.fromkeys((*self.graph.remarks, *fold_remarks(folded)[:MOST_SAID]))
        return with_signs(folded.changed(remarks=(*said,)), self._lacking(places))

    def _edges(self, places: list[Coordinates]) -> tuple[Edge, ...]:
        """Return the edges of the folded graph, each for all those of the whole one that it stands for."""
        place_of = {node.id: places[number] for number, node in enumerate(self.graph.nodes)}
        wires: dict[object, list[tuple[Edge, Coordinates, Coordinates]]] = {}
        again: dict[object, int] = {}
        for edge in self.graph.edges:
            start, end = place_of[edge.source], place_of[edge.target]
            if not start.blocks and not end.blocks:
                wires[len(wires)] = [(edge, start, end)]
                continue
            steps = tuple(end.blocks[one] - block for one, block in start.blocks.items() if one in end.blocks)
            count = again.get(one := edge[:6], 0)
            again[one] = count + 1
            slot = edge.slot if end.blocks else -1
            key = start.drawn, end.drawn, slot, edge.label, edge.kind, edge.output, steps, count
            wires.setdefault(key, []).append((edge, start, end))
        return tuple(self._edge(found) for one in wires.values() for found in in_slots(one))

    def _lacking(self, places: list[Coordinates]) -> dict[tuple[str, int], str]:
        """Return for each input of a drawn node, by its slot, the blocks that lack what others have, as a text."""
        place_of = {node.id: place for node, place in zip(self.graph.nodes, places, strict=True)}
        fed: dict[tuple[str, int], set[tuple[int, ...]]] = {}
        folds: dict[tuple[str, int], list[Fold | Variant]] = {}
        for edge in self.graph.edges:
            drawn, blocks = place_of[edge.target]
            if blocks and edge.kind == "data":
                key = self.graph.nodes[drawn].id, edge.slot
                folds[key] = [*blocks]
                fed.setdefault(key, set()).add((*blocks.values(),))
        found: dict[tuple[str, int], str] = {}
        for key, around in folds.items():
            sizes = [*map(count_of, around)]
            if len(fed[key]) < prod(sizes):
                found[key] = blocks_text({*product(*map(range, sizes))} - fed[key], around)
        return found

    def _edge(self, found: list[Wire]) -> Edge:
        """Return the edge that stands for others: with the slot and the flow of the last of them."""
        edge, start, end = (
            found[-1]
            if len(found) == 1
            else max(found, key=lambda one: (*one[2].blocks.values(), *one[1].blocks.values()))
        )
        text, is_carried = relation([(one.blocks, other.blocks) for _, one, other in found])
        step = slot_step(found)
        turned = "in reverse order" if step == -1 else f"to every {step}. input" if step not in (0, 1) else ""
        label = ", ".join(filter(None, [edge.label, text, turned]))
        return edge._replace(
            source=self.graph.nodes[start.drawn].id,
            target=self.graph.nodes[end.drawn].id,
            label=label,
            kind="carried" if is_carried else edge.kind,
            times=sum(one.source == self.graph.nodes[start.drawn].id for one, *_ in found),
            called=tuple(self._called(found))[:MOST_PAIRS],
        )

    def _called(self, found: list[Wire]) -> Iterator[tuple[int, str]]:
        """Yield for each slot of the drawn target what it gets, if the drawn source has another name."""
        for edge, start, end in found:
            source = self.graph.by_id[edge.source]
            is_one_leaf = source.kind == "leaf" and not start.blocks.keys() <= end.blocks.keys()
            if is_last(end) and (is_one_leaf or not is_last(start)):
                yield edge.slot, (not source.is_letter and output_name(source, edge.output)) or ELSEWHERE


def is_last(place: Coordinates) -> bool:
    """Return whether a node is the one that is drawn: that of the last block."""
    return all(block == count_of(one) - 1 for one, block in place.blocks.items())


Wire: TypeAlias = tuple[Edge, Coordinates, Coordinates]
"""An edge of the whole graph, and where its ends are in the folded one."""


def in_slots(found: list[Wire]) -> list[list[Wire]]:
    """Return wires to a node outside of all folds: together if slots are in the order of blocks, else by slots."""
    if len({edge.slot for edge, *_ in found}) == 1 or (len(found[0][1].blocks) == 1 and slot_step(found)):
        return [found]
    by_slot: dict[int, list[Wire]] = {}
    for one in found:
        by_slot.setdefault(one[0].slot, []).append(one)
    return [*by_slot.values()]


def slot_step(found: list[Wire]) -> int:
    """Return by how much the slot grows from one block to the next; 0 if it does not, or irregularly."""
    slots = sorted(((*start.blocks.values(),), edge.slot) for edge, start, _ in found)
    steps = {after[1] - before[1] for before, after in pairwise(slots)}
    is_each_once = len({blocks for blocks, _ in slots}) == len(slots)
    return steps.pop() if len(steps) == 1 and is_each_once else 0


def with_signs(graph: Graph, lacking: Mapping[tuple[str, int], str]) -> Graph:
    """Return a folded graph with a sign for what comes from the block before, at the beginning of the block.

    To it lead what is carried and what the first block has in its place, and from it a wire to each that takes it.

    Args:
        graph: folded.
        lacking: the blocks that have nothing in the place of what others carry over, by the input: a constant.
    """
    wires: dict[tuple[str, int], list[Edge]] = {}
    for edge in graph.edges:
        if edge.kind in ("data", "carried"):
            wires.setdefault((edge.target, edge.slot), []).append(edge)
    targets: dict[tuple[str, tuple[Edge, ...]], list[Edge]] = {}
    for key, found in wires.items():
        carried = [edge for edge in found if edge.kind == "carried"]
        if carried:
            bundle = tuple(sorted(edge._replace(target="", slot=0, flow=NO_FLOW) for edge in found))
            targets.setdefault((lacking.get(key, ""), bundle), []).append(carried[-1])
    nodes = [*graph.nodes]
    taken = {(edge.target, edge.slot) for found in targets.values() for edge in found}
    edges = [
        edge for edge in graph.edges if edge.kind not in ("data", "carried") or (edge.target, edge.slot) not in taken
    ]
    for (blocks, bundle), found in targets.items():
        carried = [edge for edge in bundle if edge.kind == "carried"]
        inner = max(carried, key=lambda edge: _common(graph, [edge.source, found[0].target]))
        maker, names = graph.by_id[inner.source], {edge: shown_name(graph.by_id[edge.source]) for edge in carried}
        others = [f"{names[edge]}: {edge.label or BEFORE}" for edge in carried if edge is not inner]
        sign = Node(
            f"{maker.id}_carried_{len(nodes)}",
            "carried",
            f"↻ {names[inner]} {inner.label or BEFORE}",
            expression="\n".join([*others, *[f"{blocks}: a constant"] * bool(blocks)]),
            region=_common(graph, [maker.id, *(edge.target for edge in found)]),
        )
        nodes.append(sign)
        edges += [edge._replace(target=sign.id, times=edge.times * len(found)) for edge in bundle]
        edges += [Edge(sign.id, edge.target, edge.slot, flow=edge.flow) for edge in found]
    return graph.changed(nodes=tuple(nodes), edges=tuple(edges))


def shown_name(node: Node) -> str:
    """Return what people call the result of a node."""
    return node.name or node.label.removesuffix("Backward0")


def _common(graph: Graph, names: Sequence[str]) -> int:
    """Return the innermost frame that is around all of these nodes; -1 for none."""
    paths = []
    for name in names:
        path, region = [], graph.by_id[name].region
        while region >= 0:
            path.append(region)
            region = graph.regions[region].within
        paths.append(path[::-1])
    return [-1, *common_path(paths)][-1]


# ---------------------------------------------------------------- what a wire says
Blocks: TypeAlias = dict[Fold | Variant, int]


def relation(pairs: Sequence[tuple[Blocks, Blocks]]) -> tuple[str, bool]:
    """Return what is written on a wire that stands for several, and whether it leads from one block to a later one.

    Args:
        pairs: for each of them the blocks that its two ends are in.
    """
    start, end = pairs[0]
    both = [one for one in start if one in end]
    steps = {one: end[one] - start[one] for one in both}
    is_carried = any(step > 0 for step in steps.values()) and next(step for step in steps.values() if step) > 0
    texts: list[str] = []
    sizes: list[int] = []
    joint, several = _in_step(pairs, both), len({*start, *end}) > 1
    own = [one for one in start if one not in both]
    for one in own:
        blocks = {blocks[one] for blocks, _ in pairs}
        sizes.append(len(blocks))
        if one in joint:
            with_which = _of_which(joint[one], [*end], says_one=False)
            texts.append(
                "each" + _of_which(one, [*start]) * (len(own) > 1) + f" with each{with_which}" * bool(with_which)
            )
        else:
            text = _of_blocks(blocks, count_of(one), "all" if len(end) > len(both) else "each")
            texts.append(text + _of_which(one, [*start]) * (several and bool(text)))
    for one, block in end.items():
        blocks = {blocks[one] for _, blocks in pairs}
        step = steps.get(one, 0)
        whole = {*range(max(step, 0), count_of(one) + min(step, 0))}
        which = _of_which(one, [*end]) * several
        if one in both and (text := _of_step(step, block, len(blocks)) if several or step != 1 else ""):
            texts.append(text + which)
        if one not in joint.values():
            sizes.append(len(blocks))
            texts.append("" if blocks == whole else _for_blocks(blocks) + which)
    if prod(sizes) == len(pairs):
        return ", ".join(dict.fromkeys(filter(None, texts))), is_carried
    listed = [f"{_numbers(blocks)} → {_numbers(others)}" for blocks, others in pairs[:MOST_PAIRS]]
    return ", ".join([*listed, *["…"] * (len(pairs) > MOST_PAIRS)]), is_carried


def _in_step(
    pairs: Sequence[tuple[Blocks, Blocks]], both: Sequence[Fold | Variant]
) -> dict[Fold | Variant, Fold | Variant]:
    """Return the folds at the start of a wire of which each block goes with that of the same number at its end."""
    start, end = pairs[0]
    found: dict[Fold | Variant, Fold | Variant] = {}
    for one in start:
        blocks = [blocks[one] for blocks, _ in pairs]
        is_free = one not in both and len(pairs) > 1 and len({*blocks}) == count_of(one)
        partners = [
            other
            for other in end
            if count_of(other) == count_of(one)
            and other not in (*both, *found.values())
            and blocks == [others[other] for _, others in pairs]
        ]
        if is_free and partners:
            found[one] = partners[0]
    return found


def _of_step(step: int, block: int, count: int) -> str:
    """Return of which block is what a block takes, if it is of another one.

    Args:
        step: by how much the number of the block is larger than that of the one that it takes from.
        block: the number of one that takes something, counted from 0.
        count: how many do.
    """
    if step > 0:
        return BEFORE if step == 1 else f"of {step} blocks before"
    if not step:
        return ""
    return f"of block {block - step + 1}" if count == 1 else f"of {-step} block{'s' * (step < -1)} later"


def count_of(one: Fold | Variant) -> int:
    """Return how many blocks there are."""
    return one.count if isinstance(one, Fold) else len(one.leaves)


def _numbers(blocks: Blocks) -> str:
    """Return the blocks that a node is in, counted from 1."""
    return ".".join(str(block + 1) for block in blocks.values()) or "·"


def _of_which(one: Fold | Variant, around: Sequence[Fold | Variant], *, says_one: bool = True) -> str:
    """Return which fold a number of a block is of: by how many it has, unless another one around has as many."""
    count = count_of(one)
    alike = [other for other in around if count_of(other) == count]
    if len(alike) == 1:
        return f" of × {count}" * says_one
    return f" of the {'inner' if alike[-1] is one else 'outer' if alike[0] is one else 'middle'} × {count}"


def _of_blocks(blocks: set[int], count: int, word: str) -> str:
    """Return whose result goes out: nothing for that of the last block, which is drawn, and a word for those of all."""
    return "" if blocks == {count - 1} else word if len(blocks) == count else f"of {block_text(blocks)}"


def _for_blocks(blocks: set[int]) -> str:
    """Return which blocks get something."""
    return "first" if blocks == {0} else f"for {block_text(blocks)}"


def block_text(blocks: Iterable[int]) -> str:
    """Return the numbers of blocks, counted from 1.

    >>> block_text([0]), block_text([0, 1, 2, 5])
    ('block 1', 'blocks 1…3, 6')
    """
    runs: list[list[int]] = []
    for block in sorted(blocks):
        if runs and block == runs[-1][1] + 1:
            runs[-1][1] = block
        else:
            runs.append([block, block])
    texts = [f"{first + 1}" if first == last else f"{first + 1}…{last + 1}" for first, last in runs]
    return f"block{'s' * (len(texts) > 1 or '…' in texts[0])} {shorten(', '.join(texts), 40)}"


def blocks_text(found: Collection[tuple[int, ...]], around: Sequence[Fold | Variant]) -> str:
    """Return which blocks these are, each told by its number in every fold around it.

    Args:
        found: for each its numbers, outer ones first, counted from 0.
        around: the folds, outer ones first.
    """
    dims = [{*dim} for dim in zip(*found, strict=True)]
    if prod(map(len, dims)) > len(found):
        listed = [".".join(str(number + 1) for number in one) for one in sorted(found)[:MOST_PAIRS]]
        return f"blocks {', '.join([*listed, *['…'] * (len(found) > MOST_PAIRS)])}"
    several = len(around) > 1
    texts = [
        _for_blocks(dim).removeprefix("for ") + _of_which(one, around) * several
        for dim, one in zip(dims, around, strict=True)
        if len(dim) < count_of(one)
    ]
    return ", ".join(texts)


# ---------------------------------------------------------------- names
def pattern(names: Sequence[str]) -> str:
    """Return one name for several.

    >>> pattern(["blocks.0.weight", "blocks.1.weight", "blocks.2.weight"]), pattern(["a", "a"]), pattern(["u", "w"])
    ('blocks.{0…2}.weight', 'a', '{u, w}')
    >>> pattern(["l.0.a.0", "l.0.a.1", "l.1.a.0", "l.1.a.1"])
    'l.{0…1}.a.{0…1}'
    """
    names = [*dict.fromkeys(names)]
    if len(names) == 1:
        return names[0]
    words = [word[1] for name in names if (word := CALL.search(name))]
    if words and len(words) < len(names):
        names = [name if CALL.search(name) else f"{name}, {words[0]} 1" for name in names]
    pieces = [DIGITS.split(name) for name in names]
    if pieces[0] == pieces[-1] and all(one == pieces[0] for one in pieces):
        numbers = [DIGITS.findall(name) for name in names]
        parts = [[*dict.fromkeys(column)] for column in zip(*numbers, strict=True)]
        if prod(map(len, parts)) == len(names):
            middle = [braced(part) if len(part) > 1 else part[0] for part in parts]
            return "".join(text for pair in zip(pieces[0], [*middle, ""], strict=True) for text in pair)
    head = _beginning(names)
    tail = _beginning([name[len(head) :][::-1] for name in names])[::-1]
    return f"{head}{braced([name[len(head) : len(name) - len(tail)] for name in names])}{tail}"


def common_path(paths: Sequence[Sequence[T]]) -> list[T]:
    """Return what all paths begin with."""
    return [parts[0] for parts in takewhile(lambda parts: len({*parts}) == 1, zip(*paths, strict=False))]


def _by_numbers(name: str) -> list[int]:
    return [int(digits) for digits in DIGITS.findall(name)]


def _beginning(names: Sequence[str]) -> str:
    """Return what all names begin with."""
    return "".join(common_path(names))


def stem_of(title: str) -> str:
    """Return a title up to what varies.

    >>> stem_of("net.blocks.{0…11}"), stem_of("repeats")
    ('net.blocks', 'repeats')
    """
    return title.partition("{")[0].rstrip(".") or title


def fold_title(nodes: Sequence[Node], fold: Fold, copies: Mapping[int, Sequence[int]]) -> str:
    """Return the name of the blocks of a fold: what the names of all modules, or else leaves, of a block begin with.

    Where these do not vary it is the module that all blocks are in.
    """

    def copied(blocks: Iterable[Sequence[int]]) -> Iterator[Sequence[int]]:
        for block in blocks:
            columns = [copies.get(number, [number]) for number in block]
            yield from zip(*columns, strict=True) if len({*map(len, columns)}) == 1 else [block]

    paths = [[nodes[one].scope or _name_of_group(nodes[one]) for one in block] for block in copied(fold.blocks)]
    leaves = [[nodes[one].name or "" for one in block] for block in copied(zip(*fold.rows, strict=True))]
    for names in (paths, leaves):
        heads = [*map(beginning_of, names)]
        if heads and all(heads) and len({*heads}) == len(heads):
            return pattern(heads)
    return ".".join(common_path([path.split(".") for block in paths for path in block])) or UNNAMED


def _name_of_group(node: Node) -> str:
    return (node.name or "") if node.kind == "group" else ""


def beginning_of(names: Sequence[str]) -> str:
    """Return the path that names begin with, to its last number.

    >>> beginning_of(["net.blocks.3.ln.weight", "net.blocks.3.mlp.0.weight"]), beginning_of(["W"]), beginning_of([])
    ('net.blocks.3', '', '')
    """
    head = common_path([name.split(".") for name in names])
    while head and not any(sign.isdecimal() for sign in head[-1]):
        head.pop()
    return ".".join(head)


# ---------------------------------------------------------------- frames
class Frames:
    """The frames of a graph, and those of its folds.

    Args:
        graph: without AccumulateGrad nodes.
    """

    def __init__(self, graph: Graph) -> None:
        """Count what is in each frame."""
        self.graph = graph
        self.sizes = [0] * len(graph.regions)
        self.outside: dict[Fold, tuple[int, ...]] = {}
        """The frames around all blocks of a fold, outer ones first."""
        self.only: dict[Fold, Region | None] = {}
        for node in graph.nodes if graph.regions else ():
            if node.kind in ("operation", "group"):
                for region in self.around(node.region):
                    self.sizes[region] += 1

    def around(self, region: int) -> list[int]:
        """Return a frame and those around it, inner ones first."""
        found = []
        while region >= 0:
            found.append(region)
            region = self.graph.regions[region].within
        return found

    def trim(self, fold: Fold) -> None:
        """Leave of a fold the blocks, one after the other, of which each has the same frames, or the same around it."""
        self.outside[fold] = ()
        if not self.graph.regions:
            return
        ways = [self._way(block) for block in fold.blocks]
        ends = [0, *(number for number in range(1, len(ways)) if ways[number] != ways[number - 1]), len(ways)]
        length, first = max((end - start if ways[start] else 0, start) for start, end in pairwise(ends))
        fold.keep(first, first + length)
        if way := ways[first]:
            self.outside[fold] = way[-1]

    def _way(self, block: Sequence[int]) -> tuple[tuple[object, ...], tuple[int, ...]] | None:
        """Return how frames inside a block are laid around its operations, and the frames around it, outer ones first.

        None if there is a frame that is neither.
        """
        chains = [self.around(self.graph.nodes[number].region) for number in block]
        count = Counter(region for one in chains for region in one)
        own = [[region for region in one if count[region] == self.sizes[region]] for one in chains]
        rest = {tuple(one[len(inner) :][::-1]) for one, inner in zip(chains, own, strict=True)}
        if len(rest) > 1 or any(one[: len(inner)] != inner for one, inner in zip(chains, own, strict=True)):
            return None
        new: dict[int, int] = {}  # frames of a block, counted as they come
        looks = [tuple((new.setdefault(region, len(new)), self._look(region)) for region in inner) for inner in own]
        return tuple(looks), rest.pop()

    def _look(self, region: int) -> object:
        """Return what two frames have in common that take each other's place."""
        one = self.graph.regions[region]
        return DIGITS.sub("#", one.title), one.kind, one.times

    def with_folds(
        self, titles: dict[Fold, str], places: Sequence[Coordinates]
    ) -> tuple[tuple[Region, ...], dict[int, int]]:
        """Return the frames of the folded graph, and the frame of each node that is drawn.

        Args:
            titles: of the folds.
            places: where each node of the graph is drawn.
        """
        paths = {
            number: self._path(number, [one for one in blocks if isinstance(one, Fold)])
            for number, (drawn, blocks) in enumerate(places)
            if number == drawn
        }
        regions: list[Region] = []
        varying = self._varying_titles(places)
        known: dict[tuple[Fold | int, ...], int] = {(): -1}
        for path in paths.values():
            for end in range(1, len(path) + 1):
                if path[:end] not in known:
                    known[path[:end]] = len(regions)
                    region = self._region(path[end - 1], titles)
                    title = (
                        region.title if isinstance(path[end - 1], Fold) else varying.get(path[end - 1], region.title)
                    )
                    regions.append(region._replace(title=title, within=known[path[: end - 1]]))
        return tuple(regions), {number: known[path] for number, path in paths.items()}

    def _varying_titles(self, places: Sequence[Coordinates]) -> dict[Fold | int, str]:
        """Return what each frame inside a fold is called in all of its blocks."""
        found: dict[Fold | int, dict[str, None]] = {}
        for number, (drawn, blocks) in enumerate(places) if self.sizes else ():
            if blocks and self.graph.nodes[number].kind in ("operation", "group"):
                here = self.around(self.graph.nodes[drawn].region)
                for region, other in zip(here, self.around(self.graph.nodes[number].region), strict=False):
                    found.setdefault(region, {})[self.graph.regions[other].title] = None
        return {region: pattern(sorted(titles, key=_by_numbers)) for region, titles in found.items()}

    def _region(self, one: Fold | int, titles: dict[Fold, str]) -> Region:
        """Return a frame, but for the one that it is in."""
        if not isinstance(one, Fold):
            return self.graph.regions[one]
        if (frame := self._only_frame(one)) is None:
            return Region(titles[one], times=one.count)
        depth = len(self.outside[one])
        frames = [self.around(self.graph.nodes[block[0]].region)[-1 - depth] for block in one.blocks]
        return Region(pattern([self.graph.regions[number].title for number in frames]), frame.kind, times=one.count)

    def _only_frame(self, fold: Fold) -> Region | None:
        """Return the frame that is around all of the last block, and of nothing else; None if there is none."""
        if fold not in self.only:
            depth = len(self.outside.get(fold, ()))
            numbers = fold.blocks[-1] if self.sizes else ()
            chains = [self.around(self.graph.nodes[number].region)[::-1][depth:] for number in numbers]
            first = {one[0] if one else -1 for one in chains} or {-1}
            frame = self.graph.regions[min(first)] if len(first) == 1 and min(first) >= 0 else None
            self.only[fold] = frame if frame is not None and frame.times == 1 else None
        return self.only[fold]

    def _path(self, number: int, folds: Sequence[Fold]) -> tuple[Fold | int, ...]:
        """Return the frames around a node that is drawn, outer ones first."""
        own = tuple(self.around(self.graph.nodes[number].region)[::-1])
        path: list[Fold | int] = []
        done = 0
        for fold in folds:
            around = self.outside.get(fold, ())
            if own[: len(around)] != around:  # a leaf from elsewhere
                own = around
            path += [*own[done : len(around)], fold]
            done = max(done, len(around)) + (self._only_frame(fold) is not None)
        return (*path, *own[done:])
