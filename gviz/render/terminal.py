"""The graph as a tree for the terminal: roots on top, what they are made from below, indented.

A node that several others use is shown in full where it is met first, and by its name (``↑ AccumulateGrad w``) after
that. Where a tree would grow wider than the terminal, its branch goes on at the left margin, under a number.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from itertools import accumulate
from typing import NamedTuple

from gviz.graphs import Edge, Graph, Node
from gviz.pictures.labels import boxes
from gviz.pictures.legend import unknown_entries
from gviz.pictures.look import ANSI, WRONG
from gviz.pictures.options import LOOKS, RenderOptions
from gviz.pictures.spans import describe
from gviz.text import display_width, visible

SUFFIXES = ("txt", "tree", "terminal")
TEXTS = SUFFIXES
DESCRIPTION = "a tree for the terminal, root on top"
IGNORES = (*LOOKS, "view", "path", "by", "symbols")


class Guides(NamedTuple):
    """The pieces that a tree is drawn with; all branches are equally wide."""

    branch: str
    last: str
    down: str
    blank: str
    again: str
    below: str
    dots: str


_UNICODE = Guides("├─ ", "└─ ", "│  ", "   ", "↑ ", "↓ ", "…")
_ASCII = Guides("|- ", "`- ", "|  ", "   ", "^ ", "v ", "...")

_SIGNS = str.maketrans({"□": "?", "⚠": "(!)", "…": "...", "∂": "d", "×": "x", "·": "*", "‖": "|"})
_SIGNS |= {ord(power): f"^{digit}" for digit, power in enumerate("⁰¹²³⁴⁵⁶⁷⁸⁹")}
"""gviz's own signs in ASCII; other characters, which are those of names, are escaped."""

_LEAST_ROOM = 32
"""Columns that a line has at the least for its text, however deep it is."""


class Entry(NamedTuple):
    """A line to come: its node, the guides left of it, those below it, and the name of the edge to it."""

    node: str
    lead: str
    below: str
    remark: str


def render(graph: Graph, options: RenderOptions) -> str:
    """Return the graph as lines of text.

    Args:
        graph: any graph, deep ones too.
        options: ``show``, ``width``, ``ascii``, ``color`` and ``max_lines`` are read.

    Returns:
        Lines no wider than the terminal, each ending in a newline.
    """
    tree = Tree(graph, options)
    rows = [*tree.lines(), *graph.remarks]
    rows += [tree.line("", remark.text) for remark in unknown_entries(tree.texts.values())]
    if 0 < options.max_lines < len(rows):
        hidden = len(rows) - options.max_lines + 1
        rows[options.max_lines - 1 :] = [f"{tree.guides.dots} {hidden} more lines"]
    return "".join(f"{line}\n" for line in rows)


class Tree:
    """A graph on its way to text."""

    def __init__(self, graph: Graph, options: RenderOptions) -> None:
        self.options = options
        self.guides = _ASCII if options.ascii else _UNICODE
        self.nodes, self.inputs = graph.by_id, graph.inputs
        self.roots = graph.roots
        box_of = dict(zip(self.nodes, boxes(graph, options, table=False), strict=True))
        self.texts = {node: describe(box) for node, box in box_of.items()}
        inks = {node: WRONG if box.is_error else ANSI.get(box.kind) for node, box in box_of.items()}
        self.colours = inks if options.color else {}
        self.deepest = max(options.width - _LEAST_ROOM, 6)
        self.seen: set[str] = set()
        self.numbers: dict[str, int] = {}
        self.waiting: deque[str] = deque()

    def lines(self) -> Iterator[str]:
        """Yield all lines: the roots' trees, branches that were put off, then nodes that no root is made from."""
        for start in (*self.roots, *self.nodes):
            if start in self.seen:
                continue
            yield from self.branch(Entry(start, "", "", ""))
            while self.waiting:  # drawing one may put off more
                node = self.waiting.popleft()
                yield from self.branch(Entry(node, f"[{self.numbers[node]}] ", "   ", ""))

    def branch(self, start: Entry) -> Iterator[str]:
        """Yield the tree below one node; an explicit stack takes the place of recursion."""
        guides, stack = self.guides, [start]
        while stack:
            entry = stack.pop()
            node = self.nodes[entry.node]
            inputs = self.inputs.get(node.id, [])
            if node.id in self.seen:
                yield self.line(entry.lead, guides.again + entry.remark + self.title(node), node)
            elif inputs and len(entry.below) > self.deepest:
                number = self.number(node.id)
                yield self.line(entry.lead, entry.remark + self.title(node), node, f"  {guides.below}[{number}]")
            else:
                self.seen.add(node.id)
                yield self.line(entry.lead, entry.remark + self.texts[node.id], node)
                last = len(inputs) - 1
                stack.extend(
                    Entry(
                        edge.source,
                        entry.below + (guides.last if index == last else guides.branch),
                        entry.below + (guides.blank if index == last else guides.down),
                        self.remark(edge),
                    )
                    for index, edge in reversed(list(enumerate(inputs)))
                )

    def number(self, node: str) -> int:
        """Return the number under which a branch that finds no room goes on."""
        if node not in self.numbers:
            self.numbers[node] = len(self.numbers) + 1
            self.waiting.append(node)
        return self.numbers[node]

    def remark(self, edge: Edge) -> str:
        """Return the words for an arrow: a size; that it is saved, the base of a view, or runs before."""
        if edge.kind == "control":
            return "after "
        if edge.kind == "saved":
            return "saved " if edge.label == self.nodes[edge.source].label else f"saved as {edge.label}: "
        if edge.kind == "view":
            return "view of "
        if edge.kind in ("added", "removed"):
            return f"{edge.kind}: "
        return f"{edge.label}: " if edge.label else ""

    def title(self, node: Node) -> str:
        """Return the name of a node: of the leaf that AccumulateGrad fills, of what an operation makes."""
        name = node.name
        if node.kind == "accumulate":
            name = next((self.nodes[edge.source].name for edge in self.inputs.get(node.id, ())), None)
        own = node.label if node.kind != "saved" or not node.name else ""
        return " ".join(part for part in (own, name) if part) or node.kind

    def line(self, lead: str, text: str, node: Node | None = None, tail: str = "") -> str:
        """Return one line, its text cut to the room that the terminal's width leaves, and coloured as a node is."""
        text = visible(text).replace("\n", "\\n")
        if self.options.ascii:
            text = text.translate(_SIGNS).encode("ascii", "backslashreplace").decode()
        text = self.fitted(text, max(self.options.width - len(lead) - len(tail), 3)) + tail
        colour = self.colours.get(node.id) if node is not None else None
        return f"{lead}\x1b[{colour}m{text}\x1b[0m" if colour else lead + text

    def fitted(self, text: str, room: int) -> str:
        """Return the text in so many columns; wide characters take two."""
        if display_width(text) <= room:
            return text
        room -= len(self.guides.dots)
        fits = sum(width <= room for width in accumulate(map(display_width, text)))
        return text[:fits] + self.guides.dots
