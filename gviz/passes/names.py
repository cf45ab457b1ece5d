"""One name for several that differ by what varies, and what names have in common."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import takewhile
from math import prod
from typing import TypeAlias, TypeVar

from gviz.graphs import Node
from gviz.passes.forms import CALL, DIGITS
from gviz.text import braced

T = TypeVar("T")

Block: TypeAlias = Sequence[int]
Copies: TypeAlias = Mapping[int, Sequence[int]]

UNNAMED = "repeats"
"""The title of a fold whose blocks have no names."""


def pattern(names: Sequence[str]) -> str:
    """Return one pattern for several names.

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
    head = "".join(common_path(names))
    tail = "".join(common_path([name[len(head) :][::-1] for name in names]))[::-1]
    return f"{head}{braced([name[len(head) : len(name) - len(tail)] for name in names])}{tail}"


def common_path(paths: Sequence[Sequence[T]]) -> list[T]:
    """Return what all paths begin with."""
    return [parts[0] for parts in takewhile(lambda parts: len({*parts}) == 1, zip(*paths, strict=False))]


def by_numbers(name: str) -> list[int]:
    """Return the key to sort names by: the numbers in a name."""
    return [int(digits) for digits in DIGITS.findall(name)]


def stem_of(title: str) -> str:
    """Return a title up to what varies.

    >>> stem_of("net.blocks.{0…11}"), stem_of("repeats")
    ('net.blocks', 'repeats')
    """
    return title.partition("{")[0].rstrip(".") or title


def beginning_of(names: Sequence[str]) -> str:
    """Return the path that names begin with, to its last number.

    >>> beginning_of(["net.blocks.3.ln.weight", "net.blocks.3.mlp.0.weight"]), beginning_of(["W"]), beginning_of([])
    ('net.blocks.3', '', '')
    """
    head = common_path([name.split(".") for name in names])
    while head and not any(sign.isdecimal() for sign in head[-1]):
        head.pop()
    return ".".join(head)


def fold_title(nodes: Sequence[Node], blocks: Iterable[Block], rows: Iterable[Block], copies: Copies) -> str:
    """Return the name of the blocks of a fold: what the names of all modules, or else leaves, of a block begin with.

    Where these do not vary it is the module that all blocks are in.

    Args:
        nodes: of the graph.
        blocks: the operations of each block, by their places among the nodes.
        rows: the leaves that vary: a row has one for each block.
        copies: what each node stands for, if it is drawn for several.
    """
    paths = [
        [nodes[one].scope or (nodes[one].name or "") * (nodes[one].kind == "group") for one in block]
        for block in inner_blocks(blocks, copies)
    ]
    leaves = [[nodes[one].name or "" for one in block] for block in inner_blocks(zip(*rows, strict=True), copies)]
    for names in (paths, leaves):
        heads = [*map(beginning_of, names)]
        if heads and all(heads) and len({*heads}) == len(heads):
            return pattern(heads)
    return ".".join(common_path([path.split(".") for block in paths for path in block])) or UNNAMED


def inner_blocks(blocks: Iterable[Block], copies: Copies) -> Iterator[Block]:
    """Yield blocks, each of those inside which a block stands for."""
    for block in blocks:
        columns = [copies.get(number, [number]) for number in block]
        yield from zip(*columns, strict=True) if len({*map(len, columns)}) == 1 else [block]
