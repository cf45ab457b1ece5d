"""An explanation as text, as wide as a terminal."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from itertools import zip_longest

from gviz.answers import Explanation, PageStyle
from gviz.answers.formulas import PRECISION, forward, grad_name, numbers_text, path_steps, remark
from gviz.answers.writer import Part, Writer
from gviz.derivations.derivation import MOST_LISTED, Derivation
from gviz.derivations.paths import GAP, Chain, Path
from gviz.graphs import Node
from gviz.pictures.digits import ABOUT, holds, joined_sides, printed_sum
from gviz.text import display_width, shorten, visible

LEAST_WIDTH = 40
"""Columns that the text takes at the least; a narrower terminal breaks its lines itself."""

LONGEST_NAMES, LONGEST_CUT, MOST_START_VALUES = 60, 8, 24
"""Characters of a path's names, and of one that is cut at least; values that are listed before the paths."""

ASCII = str.maketrans({
    "∂": "d", "→": "->", "·": "*", "×": "x", "²": "^2", "³": "^3", "…": "...", "−": "-", "÷": "/", "□": "?",
    "Σ": "sum", "π": "pi", "≈": "~=",
})  # fmt: skip
"""gviz's own signs in ASCII; other characters, those of names, are escaped."""

BOLD, DIM = "1", "2"


def render(explanation: Explanation, page: PageStyle) -> str:
    """Return the lines, none wider than the page, each ending in a newline."""
    lines = list(TerminalWriter(page).blocks(explanation.content))
    return "".join(f"{line}\n" for line in lines[not lines[0] :])


class TerminalWriter(Writer):
    """Writes lines, with an empty one before each block."""

    def __init__(self, page: PageStyle) -> None:
        self.page = page
        self.width = max(page.width, LEAST_WIDTH)

    def line(self, text: str = "", style: str = "") -> str:
        """Return a line as the page can show it."""
        text = visible(text)
        if self.page.ascii:
            text = text.translate(ASCII).encode("ascii", "backslashreplace").decode()
        return f"\x1b[{style}m{text}\x1b[0m" if style and self.page.color and text else text

    def wrapped(self, text: str, first: str = "", indent: str = "", style: str = "") -> Iterator[str]:
        """Yield a text in as many lines as it needs."""
        for line in textwrap.wrap(
            text, self.width, initial_indent=first, subsequent_indent=indent, break_on_hyphens=False
        ):
            yield self.line(line, style)

    def cut(self, lead: str, lines: Iterable[str], style: str = "") -> Iterator[str]:
        """Yield lines; one of a name or a number that is wider than the page is cut."""
        for line in lines:
            yield self.line(lead + shorten(line, self.width - len(lead), middle=True, mark="…"), style)

    # ---------------------------------------------------------------- words
    def title(self, text: str) -> Iterator[str]:
        yield from ("", *self.wrapped(text, style=BOLD))

    def paragraph(self, text: str) -> Iterator[str]:
        yield from ("", *self.wrapped(text))

    def remark(self, text: str) -> Iterator[str]:
        yield from ("", *self.wrapped(text, style=DIM))

    def facts(self, facts: Sequence[tuple[str, str]]) -> Iterator[str]:
        yield ""
        width = max(len(head) for head, _ in facts) + 4
        for head, text in facts:
            yield from self.wrapped(text, f"  {head:<{width - 2}}", " " * width)

    def ways(self, ways: Sequence[tuple[str, str]]) -> Iterator[str]:
        for when, code in ways:
            yield ""
            yield from self.wrapped(when, "- ", "  ")
            yield from (self.line(f"      {line}".rstrip()) for line in code.splitlines())

    # ---------------------------------------------------------------- chain rule
    def values(self, derivation: Derivation) -> Iterator[str]:
        yield ""
        yield from self.start_values(derivation.start_nodes)
        rows = [forward(node, self.digits) for node in derivation.nearest(MOST_LISTED)]
        width = max((display_width(name) for name, _, _ in rows), default=0)
        for name, text, value in rows:
            sides = [_beside(text, value)] if value.startswith("(") else [*filter(None, [text, value])]
            yield from self.equation(f"  {name:<{width}} = ", sides)
        if len(derivation.operations) > MOST_LISTED:
            yield self.line(f"  … and {len(derivation.operations) - MOST_LISTED:,} more", DIM)

    def start_values(self, nodes: Sequence[Node]) -> Iterator[str]:
        """Yield the values that the computation begins with, in lines as long as they fit."""
        texts = [_beside(node.name or "", forward(node, self.digits)[2]) for node in nodes[:MOST_START_VALUES]]
        if len(nodes) > MOST_START_VALUES:
            texts.append(f"… and {len(nodes) - MOST_START_VALUES} more")
        line = ""
        for text in texts:
            if line and display_width(line) + display_width(text) + 4 > self.width:
                yield from self.cut("  ", in_lines(line, self.width - 2))
                line = ""
            line = f"{line}, {text}" if line else text
        if line:
            yield from self.cut("  ", in_lines(line, self.width - 2))

    def subtitle(self, name: str, text: str) -> Iterator[str]:
        yield from self.title(f"{name}: {text}")

    def ends(self, parts: Sequence[Part]) -> Sequence[Part]:
        """Return the parts of an equation; of one that takes many lines those at its ends."""
        most = self.width // 16
        return parts if len(parts) <= 4 * most else (*parts[:most], *parts[-most:])

    def names(self, path: Path) -> str:
        """Return the names along a path; where they have no room, long names are cut before any is left out."""
        names = [*self.ends(path.names)]
        names[len(names) // 2 :] = [*([GAP] if len(names) < len(path.names) else ()), *names[len(names) // 2 :]]
        room = min(LONGEST_NAMES, self.width - 4)
        if len(" → ".join(names)) > room:
            each = max(LONGEST_CUT, room // len(names) - len(" → "))
            names = [shorten(name, each, middle=True, mark="…") for name in names]
        return shorten(" → ".join(names), room, middle=True, mark="…")

    def products(self, chain: Chain) -> Iterator[str]:
        heads = [self.names(path) for path in chain.paths]
        width = max((display_width(head) for head in heads), default=0)
        for head, path in zip(heads, chain.paths, strict=True):
            lead = f"  {head}{' ' * (width - display_width(head))}   "
            yield from self.equation(lead, self.distinct_sides(chain, path)) if path.edges else self.steps(chain, path)

    def equation(self, head: str, sides: Sequence[str]) -> Iterator[str]:
        """Yield an equation; where it is too long, each side has a line, or several."""
        whole, width = joined_sides([head + sides[0], *sides[1:]]), display_width(head)
        if display_width(whole) <= self.width:
            yield self.line(whole)
            return
        indent = min(width, self.width // 2)
        if indent < width:
            yield self.line(shorten(head.rstrip(), self.width, middle=True, mark="…"))
        for number, side in enumerate(sides):
            lead = head if not number and indent == width else " " * indent
            sign = "= " if number and not side.startswith(ABOUT) else ""
            first, *rest = in_lines(f"{sign}{side}", self.width - indent)
            yield from (*self.cut(lead, [first]), *self.cut(" " * indent, rest))

    def steps(self, chain: Chain, path: Path) -> Iterator[str]:
        """Yield the steps of a path as a table: the derivative, its symbol, its numbers, and the gradient behind it."""
        yield self.line(f"  {self.names(path)}")
        rows = [("step", "derivative", "its numbers", "gradient"), *path_steps(chain, path, self.digits)]
        table = [row for row in zip(*rows, strict=True) if any(row[1:])]
        lines = [[line for cell in column for line in matrix_lines(cell)] for column in table]
        least = [max(display_width(line) for cell in column for line in in_lines(cell, 1)) for column in table]
        wide, folded = ([max(map(display_width, column)) for column in columns] for columns in (table, lines))
        widths = narrowed(wide, folded, least, self.width - 4)
        for number, row in enumerate(zip(*table, strict=True)):
            style = "" if number else DIM
            if not widths:  # a line, or some, for each cell
                for at, cell in enumerate(filter(None, row)):
                    yield from self.cut(f"    {'  ' * bool(at)}", in_lines(cell, self.width - 6), style)
                continue
            cells = [in_lines(cell, width) for cell, width in zip(row, widths, strict=True)]
            for parts in zip_longest(*cells, fillvalue=""):
                pairs = zip(parts, widths, strict=True)
                line = "  ".join(part + " " * (width - display_width(part)) for part, width in pairs)
                yield self.line(f"    {line}".rstrip(), style)

    def total(self, name: str, chain: Chain) -> Iterator[str]:
        gradient = chain.path_sum if chain.sum is None else chain.sum
        if gradient is None and chain.count == 1:
            gradient = chain.paths[0].product
        parts, sign = self.sum_of(chain)
        total = numbers_text(gradient)
        sides = [*filter(None, [parts, f"{sign}{total}" if parts and total else total])]
        if parts and display_width(f"  {name} = {parts} = {total}") > self.width:
            in_print = printed_sum([path.product for path in chain.paths], PRECISION, 0)
            sign = "" if in_print is None or holds(in_print, gradient, PRECISION) else ABOUT
            sides = ["the sum of these", f"{sign}{total}"] if total else []
        if not chain.is_complete and total:
            sides = [f"the sum of all {chain.count:,}", total]
        if sides:
            yield from self.equation(f"  {name} = ", [*sides, *filter(None, [grad_name(chain)])])
        yield from self.wrapped(remark(chain), "  ", "  ", DIM)


def _beside(text: str, value: str) -> str:
    """Return a text with its value; a size, in round brackets, is said to be one."""
    is_size = value.startswith("(")
    return (" of size " if is_size else " = ").join(
        filter(None, [text, value.replace(") ", "), ") if is_size else value])
    )


def narrowed(wide: list[int], folded: list[int], least: list[int], most: int) -> list[int]:
    """Return the widths of columns: on one line each, or of folded cells, the widest made narrower; none if none fits.

    >>> narrowed([5, 9], [5, 7], [2, 3], 20), narrowed([5, 9], [5, 7], [2, 3], 11), narrowed([5, 9], [5, 7], [4, 5], 10)
    ([5, 9], [4, 5], [])
    """
    room = most - 2 * (len(wide) - 1)
    if sum(wide) <= room:
        return wide
    widths = [max(pair) for pair in zip(folded, least, strict=True)]
    while sum(widths) > room:
        at = max(range(len(widths)), key=lambda column: (widths[column] > least[column], widths[column]))
        if widths[at] == least[at]:
            return []
        widths[at] -= 1
    return widths


def matrix_lines(cell: str) -> list[str]:
    """Return a cell in lines: of a matrix one for each row, as print shows it.

    >>> matrix_lines("J = [[1, 0], [0, 25]]"), matrix_lines("x·[1, 2]")
    (['J = [[1, 0],', '     [0, 25]]'], ['x·[1, 2]'])
    """
    indent = " " * (cell.find("[[") + 1)
    return re.sub(r"(?<=\]), (?=\[)", f",\n{indent}", cell).split("\n") if indent else [cell]


def in_lines(cell: str, width: int) -> list[str]:
    """Return a cell in lines of a width, broken between words and numbers, and behind signs.

    >>> in_lines("J = [[1, 0], [0, 25]]", 10), in_lines("x·exp(-a²)/sqrt(2·π)", 12)
    (['J = [[1,', '      0],', '     [0,', '      25]]'], ['x·exp(-a²)/', 'sqrt(2·π)'])
    """
    if display_width(cell) <= width:
        return [cell]
    lines = []
    for row in matrix_lines(cell):
        margin = len(row) - len(row.lstrip()) or row.find("[[") + 1
        line, width_used = row[: len(row) - len(row.lstrip())], len(row) - len(row.lstrip())
        for piece in breakable_parts(row.lstrip(), width):
            size = display_width(piece)
            if line.strip() and width_used + size - piece.endswith(" ") > width:
                lines.append(line.rstrip())
                line, width_used = " " * (margin + bool(margin)), margin + bool(margin)
            line, width_used = line + piece, width_used + size
        lines.append(line.rstrip())
    return lines


def breakable_parts(text: str, width: int) -> Iterator[str]:
    """Yield the parts of a text between which a line may end: factors, and what is in a factor that is too long.

    >>> list(breakable_parts("= (1 - a) · sigmoid(x)·(1 - x)", 12))
    ['= (1 - a) · ', 'sigmoid(', 'x)·(', '1 ', '- ', 'x)']
    """
    for part in re.findall(r".+?(?: · |, |$)", text):
        yield from [part] if display_width(part) <= width else re.findall(r"(?:= )?.+?(?:[ ·(/_]+|$)", part)
