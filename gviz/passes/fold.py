"""Blocks that repeat drawn once, in a frame that says how many they are.

The nodes of the last block stay. Every wire of the whole graph is on one of the folded one: inside the frame it is that
of each block; a wire from one block to the next is carried back, from the end of the frame to its beginning; and at the
border of the frame a label says of which block it is, where it is not that of all that need it. So the folded graph has
all that the whole one does, but for the names of operations and the numbers of other blocks.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import product
from math import prod

from gviz.errors import RenderError
from gviz.formulas.expressions import output_name
from gviz.garbage import without_collecting
from gviz.graphs import NO_FLOW, Edge, Graph, Node
from gviz.passes.blocks import known_of_blocks
from gviz.passes.boxes import ELSEWHERE
from gviz.passes.frames import Frames
from gviz.passes.names import common_path, fold_title, pattern, stem_of
from gviz.passes.part import fold_remarks
from gviz.passes.repeats import Fold, OperationSequence, saved_boxes
from gviz.passes.wires import (
    BLOCK_BEFORE,
    MOST_PAIRS,
    Coordinates,
    Counted,
    PlacedEdge,
    blocks_text,
    in_slots,
    is_last,
    relation,
    slot_step,
)
from gviz.reaching import reached
from gviz.text import did_you_mean, excerpt, joined, ordinal

MOST_SAID = 3
"""Folds that the text below a picture lists."""

LOOSE = 0.6
"""What a box counts that is saved since numbers may vary: one step with another number stands beside the others."""


class Variant:
    """Leaves that vary from block to block: one for each block, drawn as one.

    Args:
        leaves: by their places in the graph's nodes.
        number: counted from 1.
    """

    def __init__(self, leaves: tuple[int, ...], number: int) -> None:
        """Take the leaves."""
        self.leaves, self.number, self.count = leaves, number, len(leaves)
        self.folds: list[Fold] = []
        """The folds whose blocks use them."""
        self.first = self
        """Of rows whose last leaves are one row of a fold inside: the first of them, which says the block for all."""


class Candidate:
    """The folds of a graph that are found in one order of its operations.

    Args:
        graph: without AccumulateGrad nodes.
        least: how many blocks a fold has at least.
        unfold: titles of folds whose blocks are all drawn, or what they begin with.
        sequence: the operations in that order.
    """

    def __init__(self, graph: Graph, least: int, unfold: Collection[str], sequence: OperationSequence) -> None:
        """Find the folds."""
        self.graph, self.least, self.unfold = graph, max(least, 2), unfold
        self.rows: dict[tuple[int, int], tuple[Variant, int]] = {}
        """The leaves that vary: which row a leaf is in, and where, by the row that it is the last of and the leaf."""
        self.variants: list[Variant] = []
        self.titles: dict[Fold, str] = {}
        self.copies: dict[int, list[int]] = {}
        """The operations, or leaves, that one inside a fold stands for: one in each block of the folds around."""
        self.unfolded: list[str] = []
        """Titles of folds that are drawn block by block."""
        self.frames = Frames(graph)
        self.folds = sequence.folds(self._accepts)
        self.weight = saved_boxes(self.folds) * (1.0 if sequence.is_exact else LOOSE)

    def _accepts(self, fold: Fold) -> bool | None:
        """Return whether a fold is drawn as one; None if it is to be drawn block by block."""
        self.frames.trim(fold)
        if fold.count < self.least:
            return False
        title = fold_title(self.graph.nodes, fold.blocks, fold.rows, self.copies)
        if {title, stem_of(title)} & {*self.unfold}:
            self.unfolded.append(title)
            return None
        parents = [around for row in fold.rows if (around := self._parents(row)) is not None]
        if len(parents) < len(fold.rows):
            return False
        for leaves, above in zip(fold.rows, parents, strict=True):
            place = above[0], leaves[0]
            if place not in self.rows:
                self.variants.append(Variant(leaves, len(self.variants) + 1))
                places = enumerate(zip(above, leaves, strict=True))
                self.rows.update({key: (self.variants[-1], block) for block, key in places})
                for parent in filter(None, above):
                    self.variants[parent - 1].first = self.variants[above[0] - 1].first
            self.rows[place][0].folds.append(fold)
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


def without_accumulate(graph: Graph) -> Graph:
    """Return the graph with leaves in place of their AccumulateGrad."""
    by_id = graph.by_id
    leaf_of = {
        edge.target: edge.source
        for edge in graph.edges
        if by_id[edge.target].kind == "accumulate" and edge.kind == "data"
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
        self.whole, self.graph, self.has_ranges = graph, without_accumulate(graph), has_ranges
        best = max(self._candidates(least, unfold), key=lambda one: one.weight)
        self.folds, self.titles, self.rows, self.frames = best.folds, best.titles, best.rows, best.frames
        titles = [*best.unfolded, *self.titles.values()]
        for name in unfold:
            if all(name not in (title, stem_of(title)) for title in best.unfolded):
                hint_text = f"there are {joined(titles, most=5)}" if titles else "nothing repeats"
                hint = did_you_mean(name, [*titles, *map(stem_of, titles)]) or hint_text
                raise RenderError(f"there is no fold {excerpt(name)!r}", hint=hint)

    def _candidates(self, least: int, unfold: Collection[str]) -> Iterator[Candidate]:
        """Yield the folds in several orders of the operations, until few operations are left: numbers vary at last."""
        sequence, most = OperationSequence(self.graph), 0.0
        enough = 0.9 * sum(node.kind in ("operation", "group") for node in self.graph.nodes)
        for is_exact in (True, False):
            if not is_exact and (most >= enough or not sequence.loosen()):
                return
            for number, order in enumerate(sequence.orders):
                if (number and most >= enough) or not (sequence.rearrange(order) or not number):
                    continue
                candidate = Candidate(self.graph, least, unfold, sequence)
                most = max(most, candidate.weight)
                yield candidate

    # ---------------------------------------------------------------- where a node is drawn
    @cached_property
    def coordinates(self) -> list[Coordinates]:
        """The coordinates of each node of the graph: which node is drawn for it, and in which blocks it is."""
        nodes = range(len(self.graph.nodes))
        places: dict[int, tuple[Fold, int, int]] = {}  # of each level: an operation is once in it
        representatives, blocks = [*nodes], [dict[Counted, int]() for _ in nodes]
        level = self.folds
        while level:  # outer folds first: from there on an operation is where that of the last block is
            places = {
                number: (fold, block, step)
                for fold in level
                for block, numbers in enumerate(fold.blocks)
                for step, number in enumerate(numbers)
            }
            for number in nodes:
                if (at := places.get(representatives[number])) is not None:
                    fold, block, step = at
                    blocks[number][fold] = block
                    representatives[number] = fold.blocks[-1][step]
            level = [inner for fold in level for inner in fold.inside]
        outer = {inner: fold for fold in self.all_folds() for inner in fold.inside}
        for number in {leaf for _, leaf in self.rows}:
            parent, around = 0, None
            is_inside = True
            while (parent, representatives[number]) in self.rows:
                row, block = self.rows[parent, representatives[number]]
                fold = row.folds[0]
                is_inside = is_inside and len(row.folds) == 1 and outer.get(fold) is around
                blocks[number][fold if is_inside else row.first] = block
                representatives[number], parent, around = row.leaves[-1], row.number, fold
        return [Coordinates(*one) for one in zip(representatives, blocks, strict=True)]

    def all_folds(self) -> list[Fold]:
        """Return all folds, outer ones first."""
        return reached(self.folds, lambda fold: fold.inside)

    @property
    def least_boxes(self) -> int:
        """How many boxes are drawn, signs for what is carried not counted."""
        return len({place.representative for place in self.coordinates})

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
            representative, blocks = places[number]
            if any(isinstance(one, Variant) for one in blocks) or self.graph.nodes[number].kind != "operation":
                names.setdefault(representative, []).append(self.graph.nodes[number].name or "")
        regions, region_of = self.frames.with_folds(self.titles, places)
        blocks_of = known_of_blocks(self.graph, places, has_ranges=self.has_ranges)
        nodes = tuple(
            node._replace(
                region=region_of[number],
                name=pattern(names[number]) if len(names.get(number, ())) > 1 else node.name,
                blocks=blocks_of.get(number),
            )
            for number, node in enumerate(self.graph.nodes)
            if places[number].representative == number
        )
        folded = self.graph.changed(nodes=nodes, edges=self._edges(places), regions=regions)
        remarks = dict.fromkeys((*self.graph.remarks, *fold_remarks(folded)[:MOST_SAID]))
        return with_signs(folded.changed(remarks=(*remarks,)), self._lacking(places))

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
            key = start.representative, end.representative, slot, edge.label, edge.kind, edge.output, steps, count
            wires.setdefault(key, []).append((edge, start, end))
        return tuple(self._edge(several) for one in wires.values() for several in in_slots(one))

    def _lacking(self, places: list[Coordinates]) -> dict[tuple[str, int], str]:
        """Return for each input of a drawn node, by its slot, the blocks that lack what others have, as a text."""
        place_of = {node.id: place for node, place in zip(self.graph.nodes, places, strict=True)}
        fed: dict[tuple[str, int], set[tuple[int, ...]]] = {}
        folds: dict[tuple[str, int], list[Counted]] = {}
        for edge in self.graph.edges:
            representative, blocks = place_of[edge.target]
            if blocks and edge.kind == "data":
                key = self.graph.nodes[representative].id, edge.slot
                folds[key] = [*blocks]
                fed.setdefault(key, set()).add((*blocks.values(),))
        texts: dict[tuple[str, int], str] = {}
        for key, around in folds.items():
            sizes = [*(one.count for one in around)]
            if len(fed[key]) < prod(sizes):
                texts[key] = blocks_text({*product(*map(range, sizes))} - fed[key], around)
        return texts

    def _edge(self, edges: list[PlacedEdge]) -> Edge:
        """Return the edge that stands for others: with the slot and the flow of the last of them."""
        edge, start, end = (
            edges[-1]
            if len(edges) == 1
            else max(edges, key=lambda one: (*one[2].blocks.values(), *one[1].blocks.values()))
        )
        text, is_carried = relation([(one.blocks, other.blocks) for _, one, other in edges])
        step = slot_step(edges)
        every = f"to every {ordinal(abs(step))} input" if abs(step) > 1 else ""
        label = ", ".join(filter(None, [edge.label, text, every, "in reverse order" if step < 0 else ""]))
        return edge._replace(
            source=self.graph.nodes[start.representative].id,
            target=self.graph.nodes[end.representative].id,
            label=label,
            kind="carried" if is_carried else edge.kind,
            times=sum(one.source == self.graph.nodes[start.representative].id for one, *_ in edges),
            called=tuple(self._names_of_inputs(edges))[:MOST_PAIRS] or edge.called,
        )

    def _names_of_inputs(self, edges: list[PlacedEdge]) -> Iterator[tuple[int, str]]:
        """Yield for each slot of the drawn target what it gets, if the drawn source has another name."""
        for edge, start, end in edges:
            source = self.graph.by_id[edge.source]
            is_one_leaf = source.kind == "leaf" and not start.blocks.keys() <= end.blocks.keys()
            if is_last(end) and (is_one_leaf or not is_last(start)):
                yield edge.slot, (not source.is_letter and output_name(source, edge.output)) or ELSEWHERE


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
    for key, bundle_edges in wires.items():
        carried = [edge for edge in bundle_edges if edge.kind == "carried"]
        if carried:
            bundle = tuple(sorted(edge._replace(target="", slot=0, flow=NO_FLOW) for edge in bundle_edges))
            targets.setdefault((lacking.get(key, ""), bundle), []).append(carried[-1])
    nodes = [*graph.nodes]
    slots = {(edge.target, edge.slot) for bundle_edges in targets.values() for edge in bundle_edges}
    edges = [
        edge for edge in graph.edges if edge.kind not in ("data", "carried") or (edge.target, edge.slot) not in slots
    ]
    for (blocks, bundle), bundle_edges in targets.items():
        carried = [edge for edge in bundle if edge.kind == "carried"]
        inner = max(carried, key=lambda edge: _common(graph, [edge.source, bundle_edges[0].target]))
        maker, names = graph.by_id[inner.source], {edge: shown_name(graph.by_id[edge.source]) for edge in carried}
        others = [f"{names[edge]}: {edge.label or BLOCK_BEFORE}" for edge in carried if edge is not inner]
        sign = Node(
            f"{maker.id}_carried_{len(nodes)}",
            "carried",
            f"↻ {names[inner]} {inner.label or BLOCK_BEFORE}",
            expression="\n".join([*others, *[f"{blocks}: a constant"] * bool(blocks)]),
            region=_common(graph, [maker.id, *(edge.target for edge in bundle_edges)]),
        )
        nodes.append(sign)
        edges += [edge._replace(target=sign.id, times=edge.times * len(bundle_edges)) for edge in bundle]
        edges += [Edge(sign.id, edge.target, edge.slot, flow=edge.flow) for edge in bundle_edges]
    return graph.changed(nodes=tuple(nodes), edges=tuple(edges))


def shown_name(node: Node) -> str:
    """Return what people call the result of a node."""
    return node.name or node.label.removesuffix("Backward0")


def _common(graph: Graph, names: Sequence[str]) -> int:
    """Return the innermost frame that is around all of these nodes; -1 for none."""
    return [-1, *common_path([graph.frames_around(graph.by_id[name].region)[::-1] for name in names])][-1]
