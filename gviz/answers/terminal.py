"""An explanation as text, as wide as a terminal."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import TypeVar

from gviz.answers import Explanation, Page
from gviz.answers.formulas import (
    LONGEST_CELL,
    Section,
    counted,
    footnotes,
    forward,
    grad_name,
    heading,
    is_scalar,
    local_text,
    numbers,
    remark,
    section_of,
    steps,
    target,
)
from gviz.derivations.derivation import MOST_LISTED, Derivation, begins_with_one
from gviz.derivations.paths import Chain, Path
from gviz.graphs import Node
from gviz.pictures.trails import in_brackets
from gviz.text import display_width, shorten, visible

LEAST_WIDTH = 40
"""Columns that the text takes at the least; a narrower terminal breaks its lines itself."""

LONGEST_NAMES, MOST_GIVEN = 60, 24
"""Characters of a path's names; values that are listed before the paths."""

ASCII = str.maketrans({
    "∂": "d", "→": "->", "·": "*", "×": "x", "²": "^2", "³": "^3", "…": "...", "−": "-", "÷": "/", "□": "?",
})  # fmt: skip
"""gviz's own signs in ASCII; other characters, those of names, are escaped."""

BOLD, DIM = "1", "2"

Part = TypeVar("Part")


def render(explanation: Explanation, page: Page) -> str:
    """Return the lines, none wider than the page, each ending in a newline."""
    writer = Writer(page)
    if isinstance(explanation.content, Derivation):
        writer.derivation(explanation.content)
    else:
        for number, section in enumerate(section_of(explanation.content)):
            writer.section(section, is_first=not number)
    return "".join(f"{line}\n" for line in writer.lines)


class Writer:
    """Collects lines."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.width = max(page.width, LEAST_WIDTH)
        self.lines: list[str] = []

    def line(self, text: str = "", style: str = "") -> None:
        """Add a line."""
        text = visible(text)
        if self.page.ascii:
            text = text.translate(ASCII).encode("ascii", "backslashreplace").decode()
        self.lines.append(f"\x1b[{style}m{text}\x1b[0m" if style and self.page.color and text else text)

    def wrapped(self, text: str, first: str = "", indent: str = "", style: str = "") -> None:
        """Add a text in as many lines as it needs."""
        for line in textwrap.wrap(
            text, self.width, initial_indent=first, subsequent_indent=indent, break_on_hyphens=False
        ):
            self.line(line, style)

    # ---------------------------------------------------------------- chain rule
    def derivation(self, derivation: Derivation) -> None:
        """Add what was computed, then the paths to each tensor."""
        self.wrapped(heading(derivation), style=BOLD)
        self.line()
        self.given(derivation.given)
        rows = [forward(node) for node in derivation.computed[:MOST_LISTED]]
        texts = [(name, beside(text, value, " = ")) for name, text, value in rows]
        width = max((display_width(name) for name, _ in texts), default=0)
        for name, text in texts:
            self.equation(f"  {name:<{width}} = ", text.split(" = "))
        if len(derivation.computed) > MOST_LISTED:
            self.line(f"  … and {len(derivation.computed) - MOST_LISTED:,} more", DIM)
        for chain in derivation.chains:
            self.chain(chain)
        for text in footnotes(derivation):
            self.line()
            self.wrapped(text, style=DIM)

    def given(self, nodes: Sequence[Node]) -> None:
        """Add the values that the computation begins with, in lines as long as they fit."""
        texts = [beside(node.name or "", forward(node)[2], " = ") for node in nodes[:MOST_GIVEN]]
        if len(nodes) > MOST_GIVEN:
            texts.append(f"… and {len(nodes) - MOST_GIVEN} more")
        line = ""
        for text in texts:
            if line and display_width(line) + display_width(text) + 4 > self.width:
                self.line(f"  {line}")
                line = ""
            line = f"{line}, {text}" if line else text
        if line:
            self.line(f"  {shorten(line, self.width - 2, middle=True, mark='…')}")

    def chain(self, chain: Chain) -> None:
        """Add the paths to one tensor, and what they come to."""
        of, wrt = target(chain)
        name = quotient(of, wrt) if of else wrt
        self.line()
        self.wrapped(f"{name}: {counted(chain)}", style=BOLD)
        plain = all(is_scalar(chain, path) for path in chain.paths)
        heads = [self.names(path) for path in chain.paths]
        width = max((display_width(head) for head in heads), default=0)
        for head, path in zip(heads, chain.paths, strict=True):
            if plain and path.edges:
                self.scalar_path(f"  {head}{' ' * (width - display_width(head))}   ", chain, path)
            else:
                self.line(f"  {head}")
                self.tensor_path(chain, path)
        self.sum(name, chain)

    def names(self, path: Path) -> str:
        """Return the names along a path."""
        return shorten(" → ".join(self.ends(path.names)), min(LONGEST_NAMES, self.width - 4), middle=True, mark="…")

    def ends(self, parts: Sequence[Part]) -> Sequence[Part]:
        """Return the parts of a line, without those in its middle that are going to be cut: each takes four columns or more."""
        most = self.width // 8 + 1
        return parts if len(parts) <= 2 * most else (*parts[:most], *parts[-most:])

    def scalar_path(self, head: str, chain: Chain, path: Path) -> None:
        """Add a path of numbers in one line: its derivatives, their symbols, their numbers, the product."""
        start = [] if begins_with_one(chain) else [numbers(chain.start)]
        sides = [
            " · ".join([*start, *(quotient(*pair) for pair in self.ends(list(pairwise(path.names))))]),
            " · ".join(map(in_brackets, [*start, *self.ends(path.symbols)])),
            " · ".join(map(in_brackets, [*start, *map(local_text, self.ends(path.edges))])) if path.is_known else "",
            numbers(path.product),
        ]
        self.equation(head, list(dict.fromkeys(side for side in sides if side)))

    def equation(self, head: str, sides: Sequence[str]) -> None:
        """Add an equation; where it is too long, each side has a line, and a side that is still too long is cut."""
        whole = head + " = ".join(sides)
        if display_width(whole) <= self.width:
            self.line(whole)
            return
        indent = min(display_width(head), self.width // 2)
        if indent < display_width(head):
            self.line(shorten(head.rstrip(), self.width, middle=True, mark="…"))
        for number, side in enumerate(sides):
            lead = head if not number and indent == display_width(head) else " " * indent
            text = f"= {side}" if number else side
            self.line(lead + shorten(text, self.width - indent, middle=True, mark="…"))

    def tensor_path(self, chain: Chain, path: Path) -> None:
        """Add the steps of a path as a table: the derivative, its symbol, its numbers, and the gradient behind it."""
        rows = [(quotient(step.of, step.wrt), step.symbol, step.value, step.gradient) for step in steps(path)]
        if not begins_with_one(chain):
            rows.insert(0, ("start", "", "", numbers(chain.start, LONGEST_CELL)))
        rows.insert(0, ("step", "derivative", "its numbers", "gradient"))
        table = [row for row in zip(*rows, strict=True) if any(row[1:])]
        for number, row in enumerate(zip(*fitted(table, self.width - 4), strict=True)):
            self.line(f"    {'  '.join(row)}".rstrip(), "" if number else DIM)

    def sum(self, name: str, chain: Chain) -> None:
        """Add the line of the sum."""
        products = [numbers(path.product) for path in chain.paths]
        parts = (
            " + ".join(map(in_brackets, products)) if chain.is_complete and len(products) > 1 and all(products) else ""
        )
        known = chain.sum if chain.sum is not None else chain.found
        if known is None and chain.count == 1:
            known = chain.paths[0].product
        total = numbers(known, self.width - display_width(f"  {name} =  = {chain.wrt}.grad"))
        sides = list(dict.fromkeys(side for side in (parts, total) if side))
        if len(sides) == 2 and display_width(f"  {name} = {parts} = {total}") > self.width:
            sides = ["the sum of these", total]
        if not chain.is_complete and total:
            sides = [f"the sum of all {chain.count:,}", total]
        if sides:
            self.equation(f"  {name} = ", [*sides, *filter(None, [grad_name(chain)])])
        self.wrapped(remark(chain), "  ", "  ", DIM)

    # ---------------------------------------------------------------- words
    def section(self, section: Section, *, is_first: bool) -> None:
        """Add the explanation of a name or an error."""
        if not is_first:
            self.line()
        self.wrapped(section.title, style=BOLD)
        for paragraph in section.paragraphs:
            self.line()
            self.wrapped(paragraph)
        if section.facts:
            self.line()
        width = max((len(head) for head, _ in section.facts), default=0) + 4
        for head, text in section.facts:
            self.wrapped(text, f"  {head:<{width - 2}}", " " * width)
        for when, code in section.ways:
            self.line()
            self.wrapped(when, "- ", "  ")
            for line in code.splitlines():
                self.line(f"      {line}")


def beside(text: str, value: str, sign: str) -> str:
    """Return a text with its value; a size, in round brackets, stands beside it without a sign."""
    return (" " if value.startswith("(") else sign).join(filter(None, [text, value]))


def quotient(of: str, wrt: str) -> str:
    """Return a derivative: ``∂y/∂w``; that of a sum, or by a name with spaces, in brackets."""
    return "/".join(f"∂({name})" if " " in name else f"∂{name}" for name in (of, wrt))


def fitted(columns: Sequence[Sequence[str]], width: int) -> Iterator[list[str]]:
    """Yield the columns of a table, padded, the widest cut where they are too wide together."""
    widths = [max(map(display_width, column)) for column in columns]
    while sum(widths) + 2 * (len(widths) - 1) > width and max(widths) > 6:
        widths[widths.index(max(widths))] -= 1
    for column, most in zip(columns, widths, strict=True):
        cells = [shorten(cell, most, middle=True, mark="…") for cell in column]
        yield [cell + " " * (most - display_width(cell)) for cell in cells]
