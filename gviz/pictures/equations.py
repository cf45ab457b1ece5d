"""Rows of equations between tensors in brackets: value over gradient, and below each what backward computes there.

What they say comes from a view; here they get their places, and become ink.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from typing import NamedTuple

from gviz.graphs.numbers import Element, Numbers, size_of
from gviz.layout.ink import Item, Outline, Pen, Point, Stretch, extent_of_ink, shifted
from gviz.pictures.circuits import OUTLINES, arrow
from gviz.pictures.digits import decimal
from gviz.pictures.theme import Theme
from gviz.pictures.typesetting import SMALLER, TypeBox, number_box, text_box

NUMBER, FORMULA, REMARK, NAME, SIGN = 16.0, 15.5, 13.5, 20.0, 20.0
"""Points: of numbers, of formulas below them, of remarks and sizes, of names, of signs."""

CELL, PAD, BETWEEN, HOOK = 21.0, 9.0, 14.0, 6.0
"""Points: the height of a row of numbers, beside them, between columns, and of a bracket's ends."""

HEAD, LINE = 8.0, 1.6
"""Points: of an arrowhead, and the breadth of a line."""

WHOLE, TALLEST, CORNER = 16, 8, 4
"""Elements of a tensor that is written whole, the rows that it has at most, and rows and columns without a gap."""

MOST_DECIMALS = 4
"""Decimals that small numbers may add to those that were asked for."""

MORE = "…"
"""Stands for numbers that are left out."""

SHORT = 56.0
"""Points that name and sizes may take on one line, however narrow the numbers are."""

AXIS = 0.34
"""How high the middle of a sign is above the base line, by the size of its type."""

MATRIX = 2
"""The dimensions of a matrix."""


class NumberGrid(NamedTuple):
    """A tensor's numbers as they are written.

    Args:
        rows: texts.
        every: of several matrices below each other, the rows that each has; 0 for one.
        is_turned: whether a long column is written as a row, with the sign for that.
        is_cut: whether there are more numbers.
    """

    rows: tuple[tuple[str, ...], ...]
    every: int = 0
    is_turned: bool = False
    is_cut: bool = False

    @property
    def height(self) -> float:
        """Points from the upper to the lower end of the brackets."""
        return len(self.rows) * CELL + self.gaps(len(self.rows) - 1)

    def gaps(self, row: int) -> float:
        """Return the points of the gaps between matrices above a row."""
        return row // self.every * CELL / 3 if self.every else 0.0


class BracketNote(NamedTuple):
    """What stands below a tensor.

    Args:
        formula: what backward computes, behind what it is.
        brief: the same without what it is.
        remarks: what stands below that.
        code: the brief formula as Python writes it.
    """

    formula: TypeBox = TypeBox()
    brief: TypeBox = TypeBox()
    remarks: tuple[str, ...] = ()
    code: str = ""

    def with_remarks(self, remarks: Iterable[str]) -> BracketNote:
        """Return it with further remarks, each once."""
        return self._replace(remarks=tuple(dict.fromkeys([*self.remarks, *remarks])))


class Bracket(NamedTuple):
    """A tensor in an equation.

    Args:
        kind: of its look: a key of a theme's boxes, or ``grad`` for a gradient that stands alone.
        name: what stands above it.
        size: its sizes, and its norm if not all numbers are there.
        value: its numbers; None where they are not known.
        grad: those of its gradient; None for none.
        note: what stands below it.
        is_again: whether it stands elsewhere, too.
        tip: what is read on its value: the statement that makes it.
    """

    kind: str
    name: TypeBox = TypeBox()
    size: str = ""
    value: NumberGrid | None = None
    grad: NumberGrid | None = None
    note: BracketNote = BracketNote()
    is_again: bool = False
    tip: str = ""

    @property
    def columns(self) -> list[float]:
        """The widths of its columns of numbers: those of value and gradient are the same."""
        rows = [row for grid in (self.value, self.grad) if grid is not None for row in grid.rows]
        count = max([1, *map(len, rows)])
        return [max([8.0, *(number_text(row[at]).width for row in rows if at < len(row))]) for at in range(count)]

    @property
    def width(self) -> float:
        """Points from bracket to bracket."""
        columns = self.columns
        return sum(columns) + BETWEEN * (len(columns) - 1) + 2 * PAD

    @property
    def slot(self) -> float:
        """Points that it takes in a row: its name may be wider than its numbers."""
        is_turned = any(grid is not None and grid.is_turned for grid in (self.value, self.grad))
        return max(self.width + 2 * PAD * is_turned, *(sum(box.width for box in line) for line in self.head))

    @property
    def head(self) -> list[list[TypeBox]]:
        """What stands above it, from below: name and sizes, on one line if they are short."""
        size = text_box(self.size, REMARK)
        if self.name.width + size.width <= max(self.width, SHORT) or not self.size:
            return [[self.name, *([TypeBox(5.0), size] if self.size else [])]]
        return [[TypeBox(), TypeBox(), size], [self.name]]


class Sign(NamedTuple):
    """An operation: a sign between two tensors, or a function on an arrow; what is said below it.

    ``size`` is that of a sign's type, which stands on the axis of formulas; 0 for a function.
    """

    box: TypeBox
    is_arrow: bool = False
    remark: str = ""
    size: float = 0.0


class Phrase(NamedTuple):
    """What stands between without a circle: ``=``, a comma, ``∂y/∂x =``; ``is_red`` if it is about gradients."""

    box: TypeBox
    is_red: bool = False


Part = Bracket | Sign | Phrase

Look = tuple[str, Pen, str]
"""Fill, pen and ink of brackets."""


class EquationPiece(NamedTuple):
    """Ink of a part of a row, from its left end, with how far it reaches above and below the middle."""

    items: list[Item]
    width: float
    above: float
    below: float


def number_grid(
    value: Numbers | None, precision: int, *, is_column: bool = True, whole: int = WHOLE
) -> NumberGrid | None:
    """Return how a tensor's numbers are written; None for one of which nothing is known.

    >>> number_grid(Numbers.of([[1.0, 2.5], [-3.0, 10.0]]), 4).rows
    (('1.0', '2.5'), ('-3.0', '10.0'))
    >>> number_grid(Numbers.of([float(n) for n in range(20)]), 4, is_column=False).rows
    (('0', '1', '…', '19'),)

    Args:
        value: the tensor.
        precision: decimals at most.
        is_column: whether a vector is a column, as it stands to the right of a matrix.
        whole: elements of a tensor that is written whole.
    """
    if value is None or not value.is_known:
        return None
    if value.elements is None:
        return NumberGrid(((MORE,),), is_cut=True)
    sizes = size_of(value) or (1,)
    if len(sizes) == 1:
        sizes = (sizes[0], 1) if is_column else (1, sizes[0])
    wide = sizes[-1]
    rows = [value.elements[at : at + wide] for at in range(0, len(value.elements), max(wide, 1))]
    is_whole = len(value.elements) <= whole
    if is_whole and wide == 1 and len(rows) > TALLEST:
        return NumberGrid((aligned_texts([item for row in rows for item in row], precision),), is_turned=True)
    if not rows or (len(sizes) > MATRIX and (not is_whole or len(rows) > TALLEST)):
        return NumberGrid(((MORE if rows else "",),), is_cut=bool(rows))
    is_whole = is_whole and len(rows) <= TALLEST
    down, across = (picked(count, is_whole) for count in (len(rows), wide))
    places = [(row, at) for row in down for at in across if row is not None and at is not None]
    texts = dict(zip(places, aligned_texts([rows[row][at] for row, at in places], precision), strict=True))
    table = [tuple(texts.get((row, at), MORE) for at in across) for row in down]  # type: ignore[arg-type]
    return NumberGrid(tuple(table), sizes[-2] if len(sizes) > MATRIX else 0, is_cut=not is_whole)


def picked(count: int, is_whole: bool) -> list[int | None]:
    """Return which of so many rows are written, None for those between."""
    return [*range(count)] if is_whole or count <= CORNER else [0, 1, None, count - 1]


def aligned_texts(items: Sequence[Element], precision: int) -> tuple[str, ...]:
    """Return the numbers of a tensor with as many decimals each, as far as there are no exponents.

    >>> aligned_texts([1.0, -0.25, math.nan], 4), aligned_texts([2.0, 1e-6], 4)
    (('1.00', '-0.25', 'nan'), ('2', '1e-06'))
    >>> aligned_texts([0.5, -0.0125], 2)
    ('0.5000', '-0.0125')
    """
    sizes = [abs(item) if isinstance(item, float) and math.isfinite(item) else None for item in items]
    smallest = math.floor(math.log10(min(filter(None, sizes), default=1.0)))
    precision = max(precision, min(MOST_DECIMALS, 1 - smallest))  # two digits of the smallest number
    least = 10.0**-precision / 2  # what is smaller has all its digits, and is not written as 0
    texts = [
        f"{item:.{precision}f}" if size is not None and least <= size < 2 * least else decimal(item, precision)
        for item, size in zip(items, sizes, strict=True)
    ]
    are_fixed = [size is not None and (not size or size >= least) for size in sizes]
    lengths = [len(text.partition(".")[2]) for text, is_fixed in zip(texts, are_fixed, strict=True) if is_fixed]
    places = 0 if any("e" in text or "(" in text for text in texts) else max(lengths, default=0)
    return tuple(
        f"{item or 0.0:.{places}f}" if places and is_fixed else text
        for item, text, is_fixed in zip(items, texts, are_fixed, strict=True)
    )


@cache
def number_text(text: str) -> TypeBox:
    """Return a number in type."""
    return number_box(text, NUMBER)


class EquationWriter:
    """Writes rows of equations.

    Args:
        theme: the colours.
        is_brief: whether formulas stand without what they are.
    """

    def __init__(self, theme: Theme, *, is_brief: bool = False) -> None:
        self.theme, self.is_brief = theme, is_brief
        self.pale = blend(theme.gradient, theme.page, 0.1)
        self.pieces: dict[tuple[int, int, int], EquationPiece] = {}

    def lines(self, rows: Iterable[Sequence[Part]], wide: float) -> tuple[list[list[EquationPiece]], Point]:
        """Return rows no wider than that, if they can be cut, short ones beside each other, and the size of all."""
        lines: list[list[EquationPiece]] = []
        end = wide
        for row in rows:
            for piece in self.cut(row, wide):
                if end + APART + piece.width > wide:
                    lines.append([])
                    end = -APART
                lines[-1].append(piece)
                end += APART + piece.width
        highs = [max(one.above for one in line) + max(one.below for one in line) + ROWS_APART for line in lines]
        widest = max((sum(one.width + APART for one in line) - APART for line in lines), default=0.0)
        return lines, (widest, max(sum(highs) - ROWS_APART, 0.0))

    def ink(self, lines: Iterable[Sequence[EquationPiece]]) -> Iterator[Item]:
        """Yield the ink of such rows, from their upper left corner."""
        y = 0.0
        for line in lines:
            x, above = 0.0, max(one.above for one in line)
            for one in line:
                yield from shifted(one.items, x, y + above)
                x += one.width + APART
            y += above + max(one.below for one in line) + ROWS_APART

    def cut(self, row: Sequence[Part], wide: float) -> Iterator[EquationPiece]:
        """Yield a row, cut behind results, which stand again at the beginning of what follows."""
        start, last = 0, len(row) - 1
        while True:
            ends = [at for at in range(start + 2, last - 1) if is_result(row, at)]
            fitting = (at for at in (last, *reversed(ends)) if self.between(row, start, at).width <= wide)
            end = next(fitting, min([last, *ends]))
            yield self.between(row, start, end)
            if end == last:
                return
            start = end

    def between(self, row: Sequence[Part], start: int, end: int) -> EquationPiece:
        """Return the ink of a row from a result to another one, which is made once."""
        key = id(row), start, end
        if key not in self.pieces:
            parts = list(row[start : end + 1])
            if start and isinstance(parts[0], Bracket):
                parts[0] = parts[0]._replace(is_again=True)
            if end < len(row) - 1 and isinstance(parts[-1], Bracket):  # what is computed from it follows elsewhere
                parts[-1] = parts[-1]._replace(note=BracketNote())
            self.pieces[key] = self.piece(parts)
        return self.pieces[key]

    # ------------------------------------------------------------ a row
    def piece(self, row: Sequence[Part]) -> EquationPiece:
        """Return the ink of a row: 0, 0 is its left end, in the middle of the values."""
        brackets = [part for part in row if isinstance(part, Bracket)]
        tall = max([CELL, *(part.value.height for part in brackets if part.value is not None)])
        low = tall / 2 + 7
        bottom = low + max([-7.0, *(part.grad.height for part in brackets if part.grad is not None)])
        has_formulas = any(part.note.formula.parts for part in brackets)
        items: list[Item] = []
        x, notes_end, between = 0.0, -math.inf, 0
        for part in row:
            if isinstance(part, Bracket):
                notes = self.notes(part)
                half = max([0.0, *(box.width for box, _ in notes)]) / 2
                room = max(0.0, notes_end + 16 + half - part.slot / 2 - x)
                items[between:] = shifted(items[between:], room / 2, 0)
                x += room
                middle = x + part.slot / 2
                items += self.bracket(part, middle, low)
                y = bottom + 9
                for box, ink in notes:
                    y += max(box.above, 11.0) + 5
                    items += box.centred(middle, y, ink)
                    y += box.below
                notes_end, x, between = middle + half if notes else notes_end, x + part.slot, len(items)
            else:
                new_items, x = self.sign(part, x) if isinstance(part, Sign) else self.words(part, x)
                items += new_items
        if has_formulas:
            right = max(x, notes_end)
            left = min(extent_of_ink(items)[0], 0.0)
            items.append(arrow([(right, bottom + 8), (left, bottom + 8)], Pen(self.theme.gradient, LINE)))
        left, top, right, end = extent_of_ink(items)
        return EquationPiece(list(shifted(items, -left, 0)), right - left, -top, end)

    def notes(self, part: Bracket) -> list[tuple[TypeBox, str]]:
        """Return what stands below a tensor, with its colours."""
        formula = part.note.brief if self.is_brief else part.note.formula
        boxes = [(formula, self.theme.gradient)] if formula.parts else []
        return boxes + [(text_box(text, REMARK), self.theme.muted) for text in part.note.remarks]

    def look(self, kind: str, *, is_again: bool = False) -> Look:
        """Return how the brackets of a kind of tensor look; those of one that stands elsewhere, too, are empty."""
        red = self.theme.gradient
        fill, pen = (self.pale, red) if kind == "grad" else self.theme.boxes[kind]
        dash, _ = OUTLINES.get(kind, ((), 0.0))
        return "" if is_again else fill, Pen(pen, LINE, dash), red if kind == "grad" else self.theme.ink

    def bracket(self, part: Bracket, middle: float, low: float) -> Iterator[Item]:
        """Yield a tensor: its value around the middle of the row, its gradient below."""
        grid = part.value
        top = -grid.height / 2 if grid is not None else -CELL / 2
        look = self.look(part.kind, is_again=part.is_again)
        yield from self.fenced(grid or NumberGrid((("?",),)), part, (middle, top), look, part.tip)
        y = top - 6
        for name, *others in part.head:
            x = middle - sum(box.width for box in (name, *others)) / 2
            y -= name.below
            yield from name.ink(x, y, self.theme.ink)
            for box in others[1:]:
                yield from box.ink(x + name.width + others[0].width, y, self.theme.muted)
            y -= max(name.above, *(box.above for box in others), 10.0) + 5
        if part.grad is not None:
            yield from self.fenced(part.grad, part, (middle, low), self.look("grad"), part.note.code)

    def fenced(self, grid: NumberGrid, part: Bracket, middle_top: Point, look: Look, tip: str) -> Iterator[Item]:
        """Yield numbers in brackets, by the middle of their upper end."""
        fill, pen, ink = look
        (middle, top), wide, tall = middle_top, part.width, grid.height
        left, right, low = middle - wide / 2, middle + wide / 2, top + tall
        if fill:
            yield Outline((middle, top + tall / 2), (wide - 4, tall - 3), 0.0, fill, Pen(fill, 1.0), tip)
        for side, inner in ((left, left + HOOK), (right, right - HOOK)):
            yield Stretch([(inner, top), (side, top), (side, low), (inner, low)], pen)
        if grid.is_turned:
            yield from text_box("T", SMALLER * NUMBER).ink(right + 2, top + 6, ink)
        columns = part.columns
        for place, row in enumerate(grid.rows):
            x, y = left + PAD, top + (place + 0.5) * CELL + grid.gaps(place) + 0.35 * NUMBER
            if grid.every and place and not place % grid.every:
                rule = y - 0.35 * NUMBER - CELL / 2 - CELL / 6
                yield Stretch([(left + HOOK, rule), (right - HOOK, rule)], pen._replace(width=0.6))
            for text, column in zip(row, columns, strict=False):
                box = number_text(text)
                is_wrong = text.lstrip("-") in ("nan", "inf")
                yield from box.ink(x + column - box.width, y, self.theme.boxes["error"].pen if is_wrong else ink)
                x += column + BETWEEN

    def sign(self, part: Sign, x: float) -> tuple[list[Item], float]:
        """Return an operation, and where it ends."""
        lead = 34.0 if part.is_arrow else 10.0
        remark = text_box(part.remark, REMARK)
        wide = max(38.0, part.box.width + 16)
        start = x + max(lead, (remark.width - wide) / 2 + 8)
        fill, pen = self.theme.boxes["operation"]
        middle, end = start + wide / 2, start + wide
        items: list[Item] = [Outline((middle, 0.0), (wide, 38.0), 19.0, fill, Pen(pen, 1.3))]
        y = AXIS * part.size if part.size else (part.box.above - part.box.below) / 2
        items += part.box.centred(middle, y, self.theme.ink)
        items += remark.centred(middle, 34.0, self.theme.muted)
        after = end + start - x
        if part.is_arrow:
            line = Pen(self.theme.line, 1.4)
            items += [arrow([(x + 6, 0.0), (start - 2, 0.0)], line), arrow([(end, 0.0), (after - 6, 0.0)], line)]
        return items, after

    def words(self, part: Phrase, x: float) -> tuple[list[Item], float]:
        """Return what stands between, and where it ends."""
        gap = 10.0 if x else 0.0
        ink = self.theme.gradient if part.is_red else self.theme.ink
        y = 0.3 * SIGN if not part.is_red else 0.3 * FORMULA
        return list(part.box.ink(x + gap, y, ink)), x + gap + part.box.width + 10.0


APART, ROWS_APART = 50.0, 17.0
"""Points between equations beside each other, and between rows."""


def is_result(row: Sequence[Part], at: int) -> bool:
    """Return whether a part is what an operation makes and the next one uses, so that a row can be cut there."""
    before, after = row[at - 1], row[at + 1]
    is_made = (isinstance(before, Phrase) and before.box.text != ",") or (isinstance(before, Sign) and before.is_arrow)
    return isinstance(row[at], Bracket) and is_made and isinstance(after, Sign)


def blend(ink: str, page: str, part: float) -> str:
    """Return a colour of which a part is one, the rest another.

    >>> blend("#A63200", "#FFFFFF", 0.1)
    '#F6EAE6'
    """
    both = zip(*(bytes.fromhex(colour[1:]) for colour in (ink, page)), strict=True)
    return "#" + "".join(f"{round(one * part + other * (1 - part)):02X}" for one, other in both)
