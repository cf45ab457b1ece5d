"""A page of gviz's own: the formula above, a circuit as large as it can be read, what its numbers are below."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import NamedTuple

from gviz.errors import warn_user
from gviz.graphs import Graph
from gviz.layout import RenderWarning
from gviz.layout.fonts.faces import type_width
from gviz.layout.ink import Inked, Item, Pen, Point, Stretch, TextLine, extent_of_ink, shifted
from gviz.pictures.circuits import NOTE, Attempt, Circuit, Component, Wire, arrow
from gviz.pictures.options import RenderOptions
from gviz.pictures.slide import MARGIN, PAGES
from gviz.pictures.theme import THEMES, Theme
from gviz.pictures.typesetting import TypeBox, name_box, row, text_box, typeset

TITLE, CAPTION, LEGEND = 20.0, 14.0, 11.5
"""Points of the type of a picture that stands on no page; a page has sizes of its own."""

LEAST = {"slide": 12.0, "a4": 8.0}
"""Points of the smallest type on a page that can be read from the last row, or on paper."""

EDGE, GAP = 12.0, 14.0
"""Points around a picture, and between title, circuit and legend."""

MOST_SCALE = 1.7
"""How far a small circuit is enlarged on a page."""

ROOMY = ((1.0, 1.5), (8.0, 14.0, 22.0, 32.0, 44.0))
"""What is tried, in turn, until all texts have their places: room beside numbers, and points between cards."""

WIDE = 1000.0
"""Points from which on a picture that stands on no page goes on in a second row."""

WRAPPED_GAP = 26.0
"""Points between two rows of a circuit that is cut."""


class Drawn(NamedTuple):
    """What a page shows.

    Args:
        circuit: returns cards and wires, of leaves that stand again beyond so many columns.
        titles: the statements.
        names: of the roots.
        example: the sign of an operation, and what backward does there, in numbers; at most one.
    """

    circuit: Callable[[int], tuple[list[Component], list[Wire]]]
    titles: Sequence[str]
    names: Sequence[str]
    example: Sequence[tuple[TypeBox, str]]


@dataclass
class InkedPage:
    """A page as ink: see :class:`gviz.layout.ink.Sheet`."""

    title: str
    description: str
    size: Point
    page: str
    content: list[Item]

    def items(self) -> Iterable[Item]:
        """Return all that is drawn."""
        return self.content


class Block(NamedTuple):
    """Ink with its size, from its upper left corner."""

    items: list[Item]
    size: Point


def circuit_page(drawn: Drawn, graph: Graph, options: RenderOptions) -> InkedPage:
    """Return the page of a circuit, as large as it is, or a slide or a sheet of A4."""
    theme = THEMES["light" if options.theme == "torchviz" else options.theme]  # TorchViz's colours are for its boxes
    return Sheets(drawn, graph, options, theme).page()


class Sheets:
    """The parts of a page.

    Args:
        drawn: what is shown.
        graph: whose it is.
        options: ``fit``, ``title``, ``caption``, ``legend`` and ``transparent`` are read.
        theme: the colours.
    """

    def __init__(self, drawn: Drawn, graph: Graph, options: RenderOptions, theme: Theme) -> None:
        self.drawn, self.graph, self.options, self.theme = drawn, graph, options, theme
        page = PAGES.get(options.fit)
        self.sizes = (page.title, page.caption, page.legend) if page is not None else (TITLE, CAPTION, LEGEND)
        self.room = (page.width, page.height) if page is not None else None

    def page(self) -> InkedPage:
        """Return the page."""
        title, foot = self.title(), self.foot()
        if self.room is None:
            best, scale = self._readable(), 1.0
            wide = max(best.size[0], title.size[0], foot.size[0]) + 2 * EDGE
            size = wide, title.size[1] + best.size[1] + foot.size[1] + 2 * EDGE + GAP * bool(title.items) + GAP
            top, edge = EDGE, EDGE
        else:
            size, top, edge = self.room, 28.0, MARGIN
            room = size[0] - 48, size[1] - title.size[1] - foot.size[1] - 2 * top - 2 * GAP
            best, scale = self._largest(room)
        start = top + title.size[1] + GAP * bool(title.items)
        free = size[1] - start - foot.size[1] - top - GAP - best.size[1] * scale
        place = (size[0] - best.size[0] * scale) / 2, start + max(free, 0) / 2
        content = [
            *shifted(title.items, edge, top),
            *shifted(best.items, *place, scale),
            *shifted(foot.items, edge, size[1] - top - foot.size[1]),
        ]
        page = "" if self.options.transparent else self.theme.page
        return InkedPage(self.graph.title, self.description(), size, page, content)

    # ------------------------------------------------------------ the circuit
    def _tries(self, attempts: Iterable[Attempt]) -> Iterator[tuple[Circuit, int]]:
        """Yield circuits, first with few leaves that stand again, then with a leaf beside each use."""
        listed = list(attempts)
        for far in (3, 0):
            cards, wires = self.drawn.circuit(far)
            for attempt in listed:
                yield Circuit(cards, wires, self.theme, attempt), far

    def _readable(self) -> Block:
        """Return the first circuit in which every text has its place; the one that lacks fewest, if there is none."""
        best: Circuit | None = None
        attempts = [Attempt(stretch, apart) for stretch, apart in product(*ROOMY)]
        for circuit, _ in self._tries(attempts):
            if best is None or circuit.bad < best.bad:
                best = circuit
            if not best.bad:
                break
        whole = Block(best.items, best.size) if best is not None else Block([], (0.0, 0.0))
        return in_two_rows(whole) or whole if whole.size[0] > WIDE else whole

    def _largest(self, room: Point) -> tuple[Block, float]:
        """Return the circuit that has the largest type on a page, and its scale: in one row, if that can be read."""
        least = LEAST[self.options.fit]
        best: tuple[float, Block, float] | None = None
        for is_tight in (False, True):
            if best is not None and best[0] > 0 and best[2] * NOTE >= least:
                break
            stretches = (1.0, 1.6) if is_tight else (1.0, 1.5)
            attempts = [Attempt(one, apart, is_tight) for one in stretches for apart in (8.0, 20.0, 36.0)]
            for circuit, far in self._tries(attempts):
                if not far and best is not None and best[0] > 0:
                    break
                whole = Block(circuit.items, circuit.size)
                scale = scale_in(room, whole)
                if (
                    scale * NOTE < least
                    and (two := in_two_rows(whole)) is not None
                    and scale_in(room, two) > 1.15 * scale
                ):
                    whole, scale = two, scale_in(room, two)
                score = scale * (1 - 0.05 * circuit.crossings) - 3 * circuit.bad - 0.1 * (not far)
                if best is None or score > best[0]:
                    best = score, whole, scale
        if best is None:
            return Block([], (0.0, 0.0)), 1.0
        if best[2] * NOTE < least:
            warn_user(
                f"the smallest type on the page has {best[2] * NOTE:.1f} points, below {least:g}: "
                "--root NAME draws a part of the graph",
                RenderWarning,
            )
        return best[1], best[2]

    # ------------------------------------------------------------ texts
    def title(self) -> Block:
        """Return the title: the statements as mathematics sets them, or the text that was asked for."""
        size = self.sizes[0]
        texts = [self.options.title] if self.options.title else list(self.drawn.titles)
        boxes = [text_box(text, size) if self.options.title else typeset(text, size) for text in texts]
        most = self.room[0] - 2 * MARGIN if self.room is not None else 900.0
        lines: list[list[TypeBox]] = [[]]
        for box in boxes:
            if lines[-1] and sum(one.width + 1.6 * size for one in lines[-1]) + box.width > most:
                lines.append([])
            lines[-1].append(box)
        items: list[Item] = []
        y = wide = 0.0
        for line in filter(None, lines):
            whole = row(*[part for box in line for part in (TypeBox(1.6 * size), box)][1:])
            scale = min(1.0, most / max(whole.width, 1.0))
            items += whole.ink(0, y + whole.above * scale, self.theme.ink, scale)
            y, wide = y + whole.height * scale + 6, max(wide, whole.width * scale)
        return Block(items, (wide, max(y - 6, 0.0)))

    def foot(self) -> Block:
        """Return what stands below: what backward does at one operation, captions, and what the numbers are."""
        _, caption, size = self.sizes
        rows: list[list[Item]] = []
        if self.options.legend:
            rows += [list(self._example(caption)) for _ in self.drawn.example]
        rows += [[text_at(line, caption, self.theme.ink)] for line in self.options.caption.splitlines()]
        rows += [[text_at(remark, size, self.theme.muted)] for remark in self.graph.remarks]
        if self.options.legend:
            rows.append(list(self._legend(size)))
        if self.graph.stop is not None:
            rows.append([text_at(str(self.graph.stop.message), size, self.theme.gradient)])
        items: list[Item] = []
        y = wide = 0.0
        for one in rows:
            left, top, right, bottom = extent_of_ink(one)
            items += shifted(one, -left, y - top)
            y, wide = y + bottom - top + 8, max(wide, right - left)
        return Block(items, (wide, max(y - 8, 0.0)))

    def _example(self, size: float) -> Iterator[Item]:
        """Yield the line about what backward does."""
        ((sign, text),) = self.drawn.example
        ink = self.theme.gradient
        yield arrow([(60.0, -0.3 * size), (0.0, -0.3 * size)], Pen(ink, 1.8))
        head = row(
            text_box("backward: what arrives × local derivative, through ", size), sign, text_box(f":  {text}", size)
        )
        yield from head.ink(72, 0, ink)

    def _legend(self, size: float) -> Iterator[Item]:
        """Yield what the numbers of each colour are."""
        x = 0.0
        wire_texts: list[tuple[str, str, TypeBox]] = []
        if "value" in self.options.show:
            wire_texts.append(("0.37", self.theme.value, text_box("value, above the line", size)))
        if "grad" in self.options.show:
            wire_texts.append(("−0.53", self.theme.gradient, self._gradient_of(size)))
        for number, ink, box in wire_texts:
            yield TextLine((x, 0), size, ink, (Inked(number, face="bold"),), is_centred=False)
            x += type_width(number, size, "bold") + 6
            yield from box.ink(x, 0, self.theme.ink)
            x += box.width + 26
        told = row(
            text_box("below a circle: local derivative; ", size),
            name_box("z", size),
            text_box(" is what comes in", size),
        )
        yield from told.ink(x, 0, self.theme.muted)

    def _gradient_of(self, size: float) -> TypeBox:
        """Return what a gradient is of."""
        if len(self.drawn.names) != 1:
            return text_box("gradient of the sum of the roots, below the line", size)
        (name,) = self.drawn.names
        top = name_box(name, size) if name.isidentifier() else text_box(f"({name})", size)
        quotient = row(text_box("∂", size), top, text_box("/∂", size))
        return row(quotient, text_box("(this value), below the line", size))

    def description(self) -> str:
        """Return what the picture shows, for those who cannot see it."""
        return f"The circuit of {'; '.join(self.drawn.titles)}, with values and gradients on its lines"


def text_at(text: str, size: float, ink: str) -> TextLine:
    """Return a text that begins at 0, 0."""
    return TextLine((0.0, 0.0), size, ink, (Inked(text, face="sans"),), is_centred=False)


def scale_in(room: Point, block: Block) -> float:
    """Return how large a block is drawn in a room."""
    return min(room[0] / block.size[0], room[1] / block.size[1], MOST_SCALE)


def in_two_rows(block: Block) -> Block | None:
    """Return a long circuit in two rows, cut where one level line goes through; None if there is no such place."""
    wide, _ = block.size
    extents = [(item, extent_of_ink([item])[::2]) for item in block.items]
    lines = [(item, span) for item, span in extents if isinstance(item, Stretch)]
    spans = [span for item, span in extents if not isinstance(item, Stretch)]
    best: tuple[float, Stretch] | None = None
    for cut in range(int(wide * 0.38), int(wide * 0.62), 2):
        met = [item for item, (left, right) in lines if left < cut < right]
        is_level = len(met) == 1 and len(met[0].strokes) == 2 and abs(met[0].strokes[0][1] - met[0].strokes[1][1]) < 0.5
        if not is_level or any(left - 2 < cut < right + 2 for left, right in spans):
            continue
        if best is None or abs(cut - wide / 2) < abs(best[0] - wide / 2):
            best = float(cut), met[0]
    if best is None:
        return None
    cut_at, line = best
    first: list[Item] = []
    second: list[Item] = []
    for item, (left, _) in extents:
        if item is line:
            (x, y), end = line.strokes[0], line.strokes[1]
            first.append(line._replace(strokes=[(x, y), (max(cut_at, x + 16), y)]))
            second.append(line._replace(strokes=[(min(cut_at, end[0] - 16) - 20, y), end]))
        else:
            (first if left < cut_at else second).append(item)
    halves = [(items, extent_of_ink(items)) for items in (first, second)]
    upper, lower = (
        Block(list(shifted(items, -box[0], -box[1])), (box[2] - box[0], box[3] - box[1])) for items, box in halves
    )
    items = [*upper.items, *shifted(lower.items, 0, upper.size[1] + WRAPPED_GAP)]
    return Block(items, (max(upper.size[0], lower.size[0]), upper.size[1] + WRAPPED_GAP + lower.size[1]))
