"""Folded graphs unfolded again, from what is written on their arrows alone: it knows nothing of how folds are found."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import product
from typing import Any

from gviz.graphs import Blocks, Edge, Graph
from gviz.passes.fold import Folding
from gviz.passes.forms import varying_numbers, without_numbers


def assert_unfolds(folding: Folding) -> None:
    """Compare what the folded graph says with the whole one: each wire, each operation, what varies, what is lacking."""
    whole = folding.graph
    assert unfolded_wires(folding) == Counter(
        (edge.source, edge.target, edge.slot, edge.kind, edge.output, edge.label) for edge in whole.edges
    )
    for node, (drawn, _) in zip(whole.nodes, folding.coordinates, strict=True):
        other = whole.nodes[drawn]
        assert [getattr(node, name) for name in FACTS] == [getattr(other, name) for name in FACTS], node
        lacks = {edge.slot for edge in whole.inputs[node.id]} < {edge.slot for edge in whole.inputs[other.id]}
        one, same = (without_numbers(each.recorded)._replace(outputs=()) for each in (node, other))  # these are names
        assert one == same or lacks, node
    frames = [region.times for region in folding.folded.regions if region.times > 1]
    assert sorted(frames) == sorted(one.count for one in folding.all_folds()), "each fold has one frame"
    assert_what_varies_is_said(folding)
    assert_what_lacks_is_said(folding)


FACTS = ("kind", "label", "numbers")
"""What the operations of all blocks have in common."""


# ---------------------------------------------------------------- wires
Instance = tuple[str, tuple[tuple[int, int], ...]]
"""A node of the folded graph, and for each fold around it, by its identity, the number of a block."""

Numbered = dict[int, int]
"""The number of a block by the identity of its fold."""


def unfolded_wires(folding: Folding) -> Counter[tuple[Any, ...]]:
    """Return the wires of the whole graph, as the folded one says them.

    Which node of the whole graph is which block's is all that is taken from the folding.
    """
    whole = folding.graph
    folded = folding.folded if folding.folds else whole
    name: dict[Instance, str] = {}
    sizes: dict[str, Numbered] = {}
    for number, (drawn, blocks) in enumerate(folding.coordinates):
        of = whole.nodes[drawn].id
        key = of, tuple(sorted((id(one), block) for one, block in blocks.items()))
        assert key not in name, "two nodes are the same block's"
        name[key] = whole.nodes[number].id
        if number == drawn:
            sizes[of] = {id(one): one.count for one in blocks}
    counts = Counter(of for of, _ in name)
    for of, dims in sizes.items():
        assert counts[of] == len(list(product(*map(range, dims.values())))), of
    wires: Counter[tuple[Any, ...]] = Counter()
    for edge in without_signs(folded):
        start, end = sizes[edge.source], sizes[edge.target]
        own, text, step = parts_of_label(edge.label)
        pairs = instances(text, start, end, is_carried=edge.kind == "carried")
        order = sorted(tuple(source[one] for one in start) for source, _ in pairs)
        step = step if not end and len(pairs) > 1 else 0
        for source, target in pairs:
            ends = (name[edge.source, tuple(sorted(source.items()))], name[edge.target, tuple(sorted(target.items()))])
            slot = edge.slot - step * (len(order) - 1 - order.index(tuple(source[one] for one in start)))
            kind = "data" if edge.kind == "carried" else edge.kind
            wires[*ends, slot, kind, edge.output, own] += 1
    return wires


def without_signs(folded: Graph) -> Iterator[Edge]:
    """Yield the edges of a folded graph, those through signs from end to end."""
    signs = {node.id for node in folded.nodes if node.kind == "carried"}
    for edge in folded.edges:
        if edge.target not in signs:
            for one in [one for one in folded.edges if one.target == edge.source] if edge.source in signs else [edge]:
                yield one._replace(target=edge.target, slot=edge.slot)


def parts_of_label(label: str) -> tuple[str, str, int]:
    """Return what the arrow had on it before, what is said of blocks, and by how much the slot grows with each."""
    own = re.match(r"\.T(?:, |$)", label)
    rest = label[own.end() :] if own else label
    way = -1 if rest.endswith("in reverse order") else 1
    rest = rest.removesuffix("in reverse order").removesuffix(", ")
    every = re.search(r"(?:, |^)to every (\d+)(?:st|nd|rd|th) input$", rest)
    text = rest[: every.start()] if every else rest
    step = way * int(every[1]) if every else way if way < 0 else int(bool(re.search(r"each|blocks ", text)))
    return ".T" if own else "", text, step


TOKEN = re.compile(
    r"(?P<word>each|all|first|of the block before|of (?P<before>\d+) blocks before|of (?P<later>\d+) blocks? later"
    r"|(?P<whose>of|for) blocks? (?P<list>\d+(?:…\d+)?(?:, \d+(?:…\d+)?)*))"
    r"(?: of (?P<which>× \d+|the (?:inner|middle|outer) × \d+))?"
    r"(?: with each of (?P<mate>the (?:inner|middle|outer) × \d+))?(?:, |$)"
)
"""What is said of one fold."""


class Said:
    """What is written on a wire, by the identity of the fold that it is said of.

    Args:
        label: without the text of its own.
        start: how many blocks there are of each fold around its beginning, outer ones first.
        end: likewise around its end.
        is_carried: whether it leads to a later block.
    """

    def __init__(self, label: str, start: Numbered, end: Numbered, *, is_carried: bool) -> None:
        self.start, self.end = start, end
        self.both = [one for one in start if one in end]
        self.sources: dict[int, set[int]] = {}
        """The blocks whose results go out, if not that of the last alone."""
        self.targets: dict[int, set[int]] = {}
        """The blocks that get something, if not all."""
        self.steps = dict.fromkeys(self.both, int(is_carried and len({*start, *end}) == 1))
        """By how much the number of the block that takes is larger, of folds around both ends."""
        self.fixed: dict[int, int] = {}
        """Of these, the one block that gives."""
        self.all: list[int] = []
        """The folds of which the results of all blocks go out."""
        self.mates: dict[int, list[int]] = {}
        """Of these, those that go in step with a fold at the end, and what that may be."""
        at = 0
        while at < len(label):
            token = TOKEN.match(label, at)
            assert token, label
            at = token.end()
            self.note(token)
        for one, block in self.fixed.items():
            (target,) = self.targets.get(one) or {0}
            self.steps[one] = target - block

    def note(self, token: re.Match[str]) -> None:
        """Note what is said of one fold."""
        which, word = token["which"] or "", token["word"]
        own, free = ([one for one in ends if one not in self.both] for ends in (self.start, self.end))
        if word in ("each", "all"):
            (one,) = named(which, self.start, own)
            self.all.append(one)
            if word == "each":
                self.mates[one] = named(token["mate"] or "", self.end, free)
        elif word == "first" or token["whose"] == "for":
            (one,) = named(which, self.end, [*self.end])
            self.targets[one] = {0} if word == "first" else numbers_of(token["list"])
        elif token["whose"] and (
            found := named(which, self.start, [one for one in self.start if one not in self.both])
        ):
            (one,) = found
            self.sources[one] = numbers_of(token["list"])
        else:
            (one,) = named(which, self.end, self.both)
            self.steps[one] = int(token["before"] or 1) if "before" in word else -int(token["later"] or 0)
            if token["whose"]:
                (self.fixed[one],) = numbers_of(token["list"])

    def choices(self) -> Iterator[list[tuple[Numbered, Numbered]]]:
        """Yield for each fold, or two in step, the numbers of its blocks at the two ends."""
        for one in self.both:
            step = self.steps[one]
            whole = range(max(step, 0), self.start[one] + min(step, 0))
            yield [({one: block - step}, {one: block}) for block in self.targets.get(one, whole)]
        free = [one for one in self.end if one not in self.both]
        for one in self.start:
            if one in self.both:
                continue
            if one not in self.all:
                yield [({one: block}, {}) for block in self.sources.get(one, {self.start[one] - 1})]
                continue
            mates = [mate for mate in self.mates.get(one, ()) if mate in free and self.end[mate] == self.start[one]][:1]
            yield [({one: block}, dict.fromkeys(mates, block)) for block in range(self.start[one])]
            free = [mate for mate in free if mate not in mates]
        for one in free:
            yield [({}, {one: block}) for block in self.targets.get(one, range(self.end[one]))]


def instances(label: str, start: Numbered, end: Numbered, *, is_carried: bool) -> list[tuple[Numbered, Numbered]]:
    """Return the pairs of blocks that a wire stands for, by what is written on it; arguments as for Said."""
    if "→" in label:
        return [(read(one, start), read(other, end)) for one, other in re.findall(r"([\d.·]+) → ([\d.·]+)", label)]
    said = Said(label, start, end, is_carried=is_carried)
    return [
        (
            {one: block for part, _ in parts for one, block in part.items()},
            {k: v for _, p in parts for k, v in p.items()},
        )
        for parts in product(*said.choices())
    ]


def named(which: str, around: Numbered, choice: Sequence[int]) -> list[int]:
    """Return which of some folds is meant by how many blocks it has, and by its place among those with as many."""
    if not which:
        return [*choice]
    count = int(which.rpartition(" ")[2])
    alike = [one for one in around if around[one] == count]
    if which.startswith("the"):
        assert len(alike) > 1
        alike = {"the inner": alike[-1:], "the outer": alike[:1], "the middle": alike[1:-1]}[which.rpartition(" ×")[0]]
    return [one for one in alike if one in choice]


def read(text: str, dims: Numbered) -> Numbered:
    """Return the blocks that a text has the numbers of, as in 2.1."""
    return {} if text == "·" else dict(zip(dims, (int(number) - 1 for number in text.split(".")), strict=True))


def numbers_of(text: str) -> set[int]:
    """Return the blocks that a text lists."""
    found: set[int] = set()
    for part in text.split(", "):
        first, _, last = part.partition("…")
        found |= {*range(int(first) - 1, int(last or first))}
    return found


# ---------------------------------------------------------------- what is said beside
def assert_what_varies_is_said(folding: Folding) -> None:
    """Compare the numbers of each block with those that the drawn one says."""
    whole, known = folding.graph, folding.folded.by_id
    found: dict[str, list[Any]] = {}
    for node, (drawn, blocks) in zip(whole.nodes, folding.coordinates, strict=True):
        if blocks:
            found.setdefault(whole.nodes[drawn].id, []).append(((*blocks.values(),), varying_numbers(node)))
    for name, several in found.items():
        rows = [numbers for _, numbers in sorted(several, key=lambda one: one[0])]
        rows = [row for row in rows if len(row) == len(rows[-1])]  # a first block may have a constant besides
        columns = [[text for _, text in column] for column in zip(*rows, strict=True)]
        varies = {one.texts for one in (known[name].blocks or Blocks()).varies}
        assert varies == {tuple(column) for column in columns if len({*column}) > 1}


def assert_what_lacks_is_said(folding: Folding) -> None:
    """Compare the text of each sign with the blocks that have no wire where it leads to."""
    whole, folded = folding.graph, folding.folded
    has = {(edge.target, edge.slot) for edge in whole.edges}
    signs = {node.id: node for node in folded.nodes if node.kind == "carried"}
    for edge in folded.edges:
        if edge.source in signs:
            lacking = [
                blocks
                for node, (drawn, blocks) in zip(whole.nodes, folding.coordinates, strict=True)
                if whole.nodes[drawn].id == edge.target and (node.id, edge.slot) not in has
            ]
            text = signs[edge.source].expression
            assert text.endswith(": a constant") == bool(lacking)
            for blocks in lacking if all(len(blocks) == 1 for blocks in lacking) else ():
                (number,) = blocks.values()
                assert number in (numbers_of(re.sub(r"blocks? |:.*", "", text)) if "first" not in text else {0})
