"""What is written on an arrow of a folded graph: of which blocks the wires are that it stands for."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import pairwise
from math import prod
from typing import Any, NamedTuple, Protocol, TypeAlias

from gviz.graphs import Edge
from gviz.text import shorten


class Counted(Protocol):
    """A fold, or leaves that vary."""

    @property
    def count(self) -> int:
        """How many blocks, or leaves, there are."""


BlockNumbers: TypeAlias = Mapping[Any, int]
"""The block of each fold that a node is in, outer ones first."""


class Coordinates(NamedTuple):
    """Where a node of the whole graph is in the folded one.

    Args:
        representative: the node that is drawn for it, by its place in the graph's nodes.
        blocks: of each fold, or row of leaves, that it is in, outer ones first: the block that it is in.
    """

    representative: int
    blocks: BlockNumbers


PlacedEdge: TypeAlias = tuple[Edge, Coordinates, Coordinates]
"""An edge of the whole graph, and where its ends are in the folded one."""

BLOCK_BEFORE = "of the block before"
"""Whose result is carried over, where there is one fold alone."""

MOST_PAIRS = 4
"""Pairs of blocks that a label lists."""


def relation(pairs: Sequence[tuple[BlockNumbers, BlockNumbers]]) -> tuple[str, bool]:
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
            text = _of_blocks(blocks, one.count, "all" if len(end) > len(both) else "each")
            texts.append(text + _of_which(one, [*start]) * (several and bool(text)))
    for one, block in end.items():
        blocks = {blocks[one] for _, blocks in pairs}
        step = steps.get(one, 0)
        whole = {*range(max(step, 0), one.count + min(step, 0))}
        which = _of_which(one, [*end]) * several
        if one in both and (text := _of_step(step, block, len(blocks)) if several or step != 1 else ""):
            texts.append(text + which)
        if one not in joint.values():
            sizes.append(len(blocks))
            texts.append("" if blocks == whole else _for_blocks(blocks) + which)
    if prod(sizes) == len(pairs):
        return ", ".join(dict.fromkeys(filter(None, texts))), is_carried
    parts = [f"{_numbers(blocks)} → {_numbers(others)}" for blocks, others in pairs[:MOST_PAIRS]]
    return ", ".join([*parts, *["…"] * (len(pairs) > MOST_PAIRS)]), is_carried


def _in_step(pairs: Sequence[tuple[BlockNumbers, BlockNumbers]], both: Sequence[Counted]) -> dict[Counted, Counted]:
    """Return the folds at the start of a wire of which each block goes with that of the same number at its end."""
    start, end = pairs[0]
    partner_of: dict[Counted, Counted] = {}
    for one in start:
        blocks = [blocks[one] for blocks, _ in pairs]
        is_free = one not in both and len(pairs) > 1 and len({*blocks}) == one.count
        partners = [
            other
            for other in end
            if other.count == one.count
            and other not in (*both, *partner_of.values())
            and blocks == [others[other] for _, others in pairs]
        ]
        if is_free and partners:
            partner_of[one] = partners[0]
    return partner_of


def _of_step(step: int, block: int, count: int) -> str:
    """Return of which block is what a block takes, if it is of another one.

    Args:
        step: by how much the number of the block is larger than that of the one that it takes from.
        block: the number of one that takes something, counted from 0.
        count: how many do.
    """
    if step > 0:
        return BLOCK_BEFORE if step == 1 else f"of {step} blocks before"
    if not step:
        return ""
    return f"of block {block - step + 1}" if count == 1 else f"of {-step} block{'s' * (step < -1)} later"


def _numbers(blocks: BlockNumbers) -> str:
    """Return the blocks that a node is in, counted from 1."""
    return ".".join(str(block + 1) for block in blocks.values()) or "·"


def _of_which(one: Counted, around: Sequence[Counted], *, says_one: bool = True) -> str:
    """Return which fold a number of a block is of: by how many it has, unless another one around has as many."""
    count = one.count
    alike = [other for other in around if other.count == count]
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


def blocks_text(blocks: Collection[tuple[int, ...]], around: Sequence[Counted]) -> str:
    """Return which blocks these are, each told by its number in every fold around it.

    Args:
        blocks: for each its numbers, outer ones first, counted from 0.
        around: the folds, outer ones first.
    """
    dims = [{*dim} for dim in zip(*blocks, strict=True)]
    if prod(map(len, dims)) > len(blocks):
        parts = [".".join(str(number + 1) for number in one) for one in sorted(blocks)[:MOST_PAIRS]]
        return f"blocks {', '.join([*parts, *['…'] * (len(blocks) > MOST_PAIRS)])}"
    several = len(around) > 1
    texts = [
        _for_blocks(dim).removeprefix("for ") + _of_which(one, around) * several
        for dim, one in zip(dims, around, strict=True)
        if len(dim) < one.count
    ]
    return ", ".join(texts)


def in_slots(edges: list[PlacedEdge]) -> list[list[PlacedEdge]]:
    """Return wires to a node outside of all folds: together where slots are in the order of blocks, else by slots."""
    by_slot: dict[int, list[PlacedEdge]] = {}
    for one in edges:
        by_slot.setdefault(one[0].slot, []).append(one)
    if len(edges[0][1].blocks) != 1 or len(by_slot) < len(edges):
        return [*by_slot.values()]
    runs: list[list[PlacedEdge]] = []
    for one in sorted(edges, key=lambda one: (*one[1].blocks.values(),)):
        if runs and slot_step([*runs[-1], one]):
            runs[-1].append(one)
        else:  # two alone are in no order: the second may begin another run
            is_second = bool(runs) and len(runs[-1]) == 2 and bool(slot_step([runs[-1][1], one]))
            runs.append([runs[-1].pop(), one] if is_second else [one])
    return runs


def slot_step(edges: list[PlacedEdge]) -> int:
    """Return by how much the slot grows from one block to the next; 0 if it does not, or irregularly."""
    slots = sorted(((*start.blocks.values(),), edge.slot) for edge, start, _ in edges)
    steps = {after[1] - before[1] for before, after in pairwise(slots)}
    is_each_once = len({blocks for blocks, _ in slots}) == len(slots)
    return steps.pop() if len(steps) == 1 and is_each_once else 0


def is_last(place: Coordinates) -> bool:
    """Return whether a node is the one that is drawn: that of the last block."""
    return all(block == one.count - 1 for one, block in place.blocks.items())
