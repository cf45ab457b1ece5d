"""A page of gviz's own: the formula above, a circuit as large as it can be read, what its numbers are below."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise, product
from typing import NamedTuple

from gviz.errors import warn_user
from gviz.formulas.formula import UNKNOWN, UNNAMED
from gviz.graphs import Graph
from gviz.layout import RenderWarning
from gviz.layout.fonts.faces import type_width
from gviz.layout.ink import Inked, Item, Outline, Pen, Point, Stretch, TextLine, extent_of_ink, shifted
from gviz.pictures.circuits import AGAIN, HEAD, NOTE, NUMBER, Attempt, Circuit, Component, Wire, arrow, strands
from gviz.pictures.look import docstring_of
from gviz.pictures.options import RenderOptions
from gviz.pictures.slide import MARGIN, PAGES
from gviz.pictures.theme import THEMES, Theme
from gviz.pictures.typesetting import TypeBox, name_box, row, text_box, typeset
from gviz.text import excerpt

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

MOST_WIDE = 900.0
"""Points of the longest line of text that stands on no page."""

WRAPPED_GAP, STUB, JOINT, HAIR = 22.0, 16.0, 7.0, 0.4
"""Points between two rows of a circuit that is cut, of the piece that each end of a line gets, of half a number on it;
and between a cut and what stands beside it."""

LEAD = 72.0
"""Points of an arrow, or of the line of a path, before what is said of it."""

APART = 1.6
"""The room between two statements, by the size of the type."""

MOST_LINES = 4
"""Lines of a title, or of a text below."""

SHORT = 60
"""Characters of the statements that stand beside the name of a script."""

COMES_IN = "z"
"""The name of what comes into an operation."""


class Remark(NamedTuple):
    """A line below a circuit.

    Args:
        box: what it says.
        ink: of what: ``gradient``, ``muted`` or ``ink``.
        path: the number of the path that it is about, which is drawn before it; -1 for none.
        is_backward: whether an arrow to the left stands before it.
        depth: how far it is moved in.
    """

    box: TypeBox
    ink: str = "ink"
    path: int = -1
    is_backward: bool = False
    depth: float = 0.0


class Drawn(NamedTuple):
    """What a page shows.

    Args:
        circuit: returns cards and wires, of leaves that stand again beyond so many columns.
        titles: the statements.
        gradient: returns what the numbers below the lines are, in a size.
        remarks: returns the lines below, in a size.
        has_z: whether what comes in has its name in a circle, or below one.
        arrays: the names of tensors with several elements.
    """

    circuit: Callable[[int], tuple[list[Component], list[Wire]]]
    titles: Sequence[str]
    gradient: Callable[[float], TypeBox]
    remarks: Callable[[float], list[Remark]]
    has_z: bool = True
    arrays: Collection[str] = ()


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
        self.most = page.width - 2 * MARGIN if page is not None else MOST_WIDE
        self.has_both = options.arrows == "both"

    def page(self) -> InkedPage:
        """Return the page."""
        title, cards = self.title(), self.drawn.circuit(0)[0]
        foot = self.foot(cards)  # as many kinds of boxes as there may be
        if self.room is None:
            (best, cards), scale = self._readable(), 1.0
            foot = self.foot(cards)
            wide = max(best.size[0], title.size[0], foot.size[0]) + 2 * EDGE
            size = wide, title.size[1] + best.size[1] + foot.size[1] + 2 * EDGE + GAP * bool(title.items) + GAP
            top, edge = EDGE, EDGE
        else:
            size, top, edge = self.room, 28.0, MARGIN
            high = 0.0
            while foot.size[1] > high:  # a line more, for what is said of that circuit alone, leaves less room
                high = foot.size[1]
                room = size[0] - 48, size[1] - title.size[1] - high - 2 * top - 2 * GAP
                best, cards, scale, points = self._largest(room)
                foot = self.foot(cards)
            if points < (least := LEAST[self.options.fit]):
                warn_user(
                    f"the smallest type on the page has {points:.1f} points, below {least:g}: "
                    "--root NAME draws a part of the graph",
                    RenderWarning,
                )
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

    def _readable(self) -> tuple[Block, list[Component]]:
        """Return the first circuit in which every text has its place; the one that lacks fewest, if there is none."""
        best: Circuit | None = None
        attempts = [Attempt(stretch, apart, both=self.has_both) for stretch, apart in product(*ROOMY)]
        for circuit, _ in self._tries(attempts):
            if best is None or circuit.bad < best.bad:
                best = circuit
            if not best.bad:
                break
        if best is None:
            return Block([], (0.0, 0.0)), []
        whole = Block(best.items, best.size)
        rows = [*self._cut(whole)] if whole.size[0] > WIDE else []
        fitting = next((one for one in rows if one.size[0] <= WIDE), None)
        return fitting or min([whole, *rows], key=lambda one: one.size[0]), list(best.cards)

    def _cut(self, whole: Block) -> Iterator[Block]:
        """Yield a circuit in two rows, and in three, as far as there are places for it."""
        for count in (2, 3):
            rows = in_parts(whole, count, self.theme)
            if rows is not None:
                yield rows

    def _largest(self, room: Point) -> tuple[Block, list[Component], float, float]:
        """Return the circuit that has the largest type on a page, its cards, its scale, and its smallest type.

        It stands in one row, if that can be read.
        """
        least = LEAST[self.options.fit]
        best: tuple[float, Block, float, Circuit] | None = None
        for is_tight, is_bare in ((False, False), (True, False), (True, True)):
            if best is not None and best[0] > 0 and self._type_of(best[3]) * best[2] >= least:
                break
            stretches = (1.0, 1.6) if is_tight else (1.0, 1.5)
            attempts = [
                Attempt(one, apart, is_tight, self.has_both, is_bare)
                for one in stretches
                for apart in ((8.0, 14.0, 20.0, 28.0) if is_bare else (8.0, 20.0, 36.0))
            ]
            for circuit, far in self._tries(attempts):
                if not far and best is not None and best[0] > 0:
                    break
                whole = Block(circuit.items, circuit.size)
                scale = scale_in(room, whole)
                for rows in self._cut(whole) if scale * self._type_of(circuit) < least else ():
                    if scale_in(room, rows) > 1.15 * scale:
                        whole, scale = rows, scale_in(room, rows)
                score = scale * (1 - 0.05 * circuit.crossings) - 3 * circuit.bad - 0.1 * (not far)
                if best is None or score > best[0]:
                    best = score, whole, scale, circuit
        if best is None:
            return Block([], (0.0, 0.0)), [], 1.0, NUMBER
        _, block, scale, circuit = best
        cards = [card._replace(note=card.bare) if circuit.attempt.is_bare else card for card in circuit.cards]
        return block, cards, scale, self._type_of(circuit) * scale

    def _type_of(self, circuit: Circuit) -> float:
        """Return the size of the smallest type of a circuit."""
        return NOTE if any(note.width for note in circuit.notes) else NUMBER

    # ------------------------------------------------------------ texts
    def title(self) -> Block:
        """Return the title: what was asked for, else what a script says of itself, else the statements.

        Statements stand as mathematics sets them; beside the name of a script if they are short, beside the formula
        that they are a derivative of always.
        """
        size, options = self.sizes[0], self.options
        text = options.title or docstring_of(self.graph.code)
        is_derivative, is_expression = "∂" in self.graph.title, "=" in options.of
        boxes = [text_box(text, size)] if text else []
        if boxes and boxes[0].width > self.most:
            return self._paragraph(text, size, self.theme.ink)
        if not boxes and options.of and not is_expression:
            boxes = [text_box(f"{options.of}: {self.graph.title}", size)]
        elif not boxes and is_derivative:
            boxes = [self.formula(each.strip(), size) for each in options.of.split(";") if is_expression]
        if is_derivative and not options.title:
            boxes.append(text_box(f"{order_in_words(self.graph.title)}:", size))
        titles = (
            [] if text and not is_derivative else [one for one in self.drawn.titles if "∂" in one or not is_derivative]
        )
        if not options.of or is_expression or sum(map(len, titles)) <= SHORT:
            boxes += [self.formula(each, size) for each in titles]
        return self._flow(boxes, size, self.theme.ink)

    def formula(self, text: str, size: float) -> TypeBox:
        """Return a statement as mathematics sets it, or as code."""
        if " = " not in text:
            text = text.replace("=", " = ", 1)
        return (
            typeset(text, size, self.drawn.arrays) if self.options.math == "on" else text_box(text, 0.9 * size, "mono")
        )

    def _flow(self, boxes: Sequence[TypeBox], size: float, ink: str) -> Block:
        """Return boxes side by side, in as many lines as they need; what is longer than a line is made smaller."""
        most = self.most
        lines: list[list[TypeBox]] = [[]]
        for box in boxes:
            if lines[-1] and sum(one.width + APART * size for one in lines[-1]) + box.width > most:
                lines.append([])
            lines[-1].append(box)
        items: list[Item] = []
        y = wide = 0.0
        for line in filter(None, lines):
            whole = row(*[part for box in line for part in (TypeBox(APART * size), box)][1:])
            scale = min(1.0, most / max(whole.width, 1.0))
            items += whole.ink(0, y + whole.above * scale, ink, scale)
            y, wide = y + whole.height * scale + 6, max(wide, whole.width * scale)
        return Block(items, (wide, max(y - 6, 0.0)))

    def _paragraph(self, text: str, size: float, ink: str) -> Block:
        """Return a text in as many lines as it needs; what is beyond the last of them is left out, which is said."""
        lines = [""]
        for word in text_pieces(text.split(), size, self.most):
            longer = f"{lines[-1]} {word}".lstrip()
            if type_width(longer, size) <= self.most - 2 * size:
                lines[-1] = longer
            else:
                lines.append(word)
        if len(lines) > MOST_LINES:
            warn_user(f"a text of {len(text)} characters has no room on the page: {excerpt(text)}", RenderWarning)
            lines = [*lines[: MOST_LINES - 1], f"{lines[MOST_LINES - 1]} …"]
        blocks = [self._flow([text_box(line, size)], size, ink) for line in lines]
        return one_below_another(blocks, 6.0)

    def foot(self, cards: Sequence[Component]) -> Block:
        """Return what stands below: what backward does, captions, remarks, and what there is in the circuit.

        Args:
            cards: the boxes that are drawn.
        """
        _, caption, size = self.sizes
        stop = self.graph.stop
        blocks = [self._remark(one, caption) for one in self.drawn.remarks(caption)]
        blocks += [self._paragraph(line, caption, self.theme.ink) for line in self.options.caption.splitlines()]
        blocks += [self._paragraph(remark, size, self.theme.muted) for remark in self.graph.remarks]
        if self.options.legend:
            blocks.append(self._legend(cards, size))
        if stop is not None:
            ink = self.theme.boxes["error"].pen
            blocks += [self._paragraph(text, size, ink) for text in (stop.where, stop.message)]
        return one_below_another(blocks, 8.0)

    def _remark(self, one: Remark, size: float) -> Block:
        """Return a line below, with the line of its path, or an arrow, before it."""
        inks = {"gradient": self.theme.gradient, "muted": self.theme.muted, "ink": self.theme.ink}
        ink = self.theme.paths[one.path] if one.path >= 0 else inks[one.ink]
        y, items = max(one.box.above, 0.7 * size), list[Item]()
        middle = [(0.0, y - 0.3 * size), (LEAD - 12, y - 0.3 * size)]
        if one.path >= 0 and not one.depth:
            items += strands(middle, (one.path,), self.theme)
        if one.is_backward:
            items.append(arrow(middle[::-1], Pen(ink, 1.8)))
        start = one.depth + LEAD * (one.path >= 0 or one.is_backward)
        most = self.most
        scale = min(1.0, most / max(start + one.box.width, 1.0))
        items += one.box.ink(start, y, ink, scale)
        return Block(items, (start + one.box.width * scale, y + one.box.below))

    def _legend(self, cards: Sequence[Component], size: float) -> Block:
        """Return what the numbers of each colour, and the kinds of boxes that occur, are."""
        theme, show = self.theme, self.options.show
        entries: list[tuple[list[Item], float]] = []

        def tell(sample: list[Item], wide: float, box: TypeBox, ink: str = theme.ink) -> None:
            entries.append(([*sample, *box.ink(wide, 0, ink)], wide + box.width))

        wires = self.drawn.circuit(0)[1]
        ends = [card.end for card in cards if card.end is not None]
        number = [
            ("value", "0.37", theme.value, "bold", text_box("value, above the line", size)),
            ("grad", "−0.53", theme.gradient, theme.gradient_face, self.drawn.gradient(size)),
        ]
        for key, text, ink, face, box in number:
            if key in show and any(getattr(one, key) for one in (*wires, *ends)):
                digits = TextLine((0.0, 0.0), size, ink, (Inked(text, face=face),), is_centred=False)
                tell([digits], type_width(text, size, face) + 6, box)
        if self.has_both and any(wire.grad for wire in wires):
            line = [(26.0, -0.3 * size), (0.0, -0.3 * size)]
            tell([arrow(line, Pen(theme.gradient, 1.5))], 32, text_box("gradient, on its way back", size))
        if any(
            one.note.width and not card.note.width for one, card in zip(self.drawn.circuit(0)[0], cards, strict=False)
        ):
            tell([], 0, text_box("local derivatives are left out: there is no room for them", size), theme.muted)
        z = [name_box(COMES_IN, size), text_box(" is what comes in", size)] if self.drawn.has_z else []
        if any(card.note.width and card.is_round for card in cards):
            head = f"below a circle: local derivative{'; ' * bool(z)}"
            tell([], 0, row(text_box(head, size), *z), theme.muted)
        elif z:
            tell([], 0, row(*z), theme.muted)
        kinds = {
            "leaf": (any(card.is_again for card in cards), AGAIN, 1.1, "the same leaf again"),
            "frozen": (any(card.kind == "frozen" for card in cards), (4.0, 3.0), 1.3, "needs no gradient"),
            "error": (
                any(card.is_wrong for card in cards),
                (),
                3.0,
                "backward stops here" if self.graph.stop else "nan or inf begins here",
            ),
        }
        if any(UNKNOWN in text for text in self.drawn.titles):
            tell([], 0, text_box(f"{UNKNOWN} {UNNAMED}", size), theme.muted)
        for kind, (is_drawn, dash, width, text) in kinds.items():
            if is_drawn:
                fill, pen = theme.boxes[kind]
                sample = Outline((11.0, -0.32 * size), (20.0, 0.9 * size), 3.0, fill, Pen(pen, width, dash))
                tell([sample], 27, text_box(text, size), theme.muted)
        return entries_in_lines(entries, self.most, size)

    def description(self) -> str:
        """Return what the picture shows, for those who cannot see it."""
        return f"The circuit of {'; '.join(self.drawn.titles)}, with values and gradients on its lines"


def one_below_another(blocks: Iterable[Block], gap: float) -> Block:
    """Return blocks below each other; empty ones take no room."""
    items: list[Item] = []
    y = wide = 0.0
    for block in blocks:
        if block.items:
            items += shifted(block.items, 0, y)
            y, wide = y + block.size[1] + gap, max(wide, block.size[0])
    return Block(items, (wide, max(y - gap, 0.0)))


def text_pieces(texts: Iterable[str], size: float, most: float) -> Iterator[str]:
    """Yield words; one that is longer than a line in pieces."""
    for text in texts:
        count = max(1, int((most - 2 * size) / max(type_width(text, size) / len(text), 0.1)))
        yield from (text[start : start + count] for start in range(0, len(text), count))


def entries_in_lines(entries: Sequence[tuple[list[Item], float]], most: float, size: float) -> Block:
    """Return entries of a legend, each with its width, in as many lines as they need."""
    items: list[Item] = []
    x, y, wide = 0.0, size, 0.0
    for sample, width in entries:
        if x and x + width > most:
            x, y = 0.0, y + 1.5 * size
        items += shifted(sample, x, y)
        wide, x = max(wide, x + width), x + width + 24
    return Block(items, (wide, y + 0.3 * size))


def order_in_words(name: str) -> str:
    """Return which derivative a name is of.

    >>> order_in_words("∂y/∂x"), order_in_words("∂²y/∂x²"), order_in_words("∂⁴y/∂x⁴")
    ('derivative', 'second derivative', '4th derivative')
    """
    digit = "⁰¹²³⁴⁵⁶⁷⁸⁹".find(name[1])
    words = {-1: "", 2: "second ", 3: "third "}
    return f"{words.get(digit, f'{digit}th ')}derivative"


def scale_in(room: Point, block: Block) -> float:
    """Return how large a block is drawn in a room."""
    return min(room[0] / block.size[0], room[1] / block.size[1], MOST_SCALE)


def in_parts(block: Block, count: int, theme: Theme) -> Block | None:
    """Return a long circuit in so many rows; None where it cannot be cut."""
    rows, rest, taken = list[Block](), block, 0
    for left in range(count, 1, -1):
        found = cut_in_two(rest, 1 / left, taken, theme)
        if found is None:
            return None
        first, rest, more = found
        rows.append(first)
        taken += more
    return one_below_another((*rows, rest), WRAPPED_GAP)


def cut_in_two(block: Block, share: float, taken: int, theme: Theme) -> tuple[Block, Block, int] | None:
    """Return a circuit cut where level lines alone go through, with numbers on the ends of several; None for nowhere.

    Args:
        block: the circuit.
        share: where it is to be cut, by its width.
        taken: how many numbers stand on the ends of lines already.
        theme: the colours.
    """
    wide, _ = block.size
    extents = [(item, extent_of_ink([item])[::2]) for item in block.items]
    lines = [(item, span) for item, span in extents if isinstance(item, Stretch) and span[1] - span[0] > 2 * JOINT]
    long = {id(item) for item, _ in lines}
    spans = [span for item, span in extents if id(item) not in long]
    best: tuple[float, int, list[tuple[Stretch, float]]] | None = None
    for at in range(int(wide * share * 0.76), int(wide * min(share * 1.24, 0.9))):
        is_taken = any(left - HAIR < at < right + HAIR for left, right in spans)
        if is_taken or any(min(abs(at - end) for end in span) < HEAD / 2 for _, span in lines):
            continue
        met = [(item, level_at(item, at)) for item, (left, right) in lines if left < at < right]
        levels = [(item, y) for item, y in met if y is not None]
        if not met or len(levels) < len(met):
            continue
        cost = abs(at - wide * share) + 0.12 * wide * (len(ends_of(levels)) - 1)
        if best is None or cost < best[0]:
            best = cost, at, levels
    if best is None:
        return None
    _, at, levels = best
    cut = {id(item): y for item, y in levels}
    halves: tuple[list[Item], list[Item]] = [], []
    ends = ends_of(levels)
    more = STUB - JOINT * (len(ends) > 1)
    for item, (left, _) in extents:
        if id(item) in cut:
            parts = halves_of(item, at, cut[id(item)], more)  # type: ignore[arg-type]
            for half, part in zip(halves, parts, strict=True):
                half.append(part)
        else:
            halves[left >= at].append(item)
    for number, y in enumerate(ends if len(ends) > 1 else (), taken + 1):
        for half, x in zip(halves, (at + STUB, at - STUB), strict=True):
            half.extend(row_joint((x, y), str(number), theme))
    first, second = (
        Block(list(shifted(items, -box[0], -box[1])), (box[2] - box[0], box[3] - box[1]))
        for items, box in ((half, extent_of_ink(half)) for half in halves)
    )
    return first, second, len(ends) if len(ends) > 1 else 0


def level_at(line: Stretch, x: float) -> float | None:
    """Return how high a line is at a place where it is level; None where it climbs, or passes twice."""
    points = [(stroke[-2], stroke[-1]) for stroke in line.strokes]
    met = [(one, other) for one, other in pairwise(points) if min(one[0], other[0]) < x < max(one[0], other[0])]
    return met[0][0][1] if len(met) == 1 and abs(met[0][0][1] - met[0][1][1]) < 0.5 else None


def ends_of(levels: Sequence[tuple[Stretch, float]]) -> list[float]:
    """Return the heights of lines that are cut, those of one line with several strands once."""
    heights: list[float] = []
    for _, y in sorted(levels, key=lambda level: level[1]):
        if not heights or y - heights[-1] > JOINT:
            heights.append(y)
    return heights


def halves_of(line: Stretch, x: float, y: float, more: float) -> tuple[Stretch, Stretch]:
    """Return a line in two, cut where it is level, each so much longer; the heads stay where they are."""
    points = [(stroke[-2], stroke[-1]) for stroke in line.strokes]
    is_back = points[0][0] > points[-1][0]
    way = points[::-1] if is_back else points
    left, right = ([point for point in way if (point[0] < x) == side] for side in (True, False))
    pair = [*left, (x + more, y)], [(x - more, y), *right]
    heads = tuple([head for head in line.heads if (head[0][0] < x) == side] for side in (True, False))
    first, second = (
        line._replace(strokes=half[::-1] if is_back else half, heads=own) for half, own in zip(pair, heads, strict=True)
    )
    return first, second


def row_joint(middle: Point, text: str, theme: Theme) -> list[Item]:
    """Return the number at the end of a line that goes on in another row."""
    ring = Outline(middle, (2 * JOINT, 2 * JOINT), JOINT, theme.page, Pen(theme.muted, 0.8))
    return [ring, TextLine((middle[0], middle[1] + 0.36 * 9), 9.0, theme.muted, (Inked(text, face="sans"),))]
