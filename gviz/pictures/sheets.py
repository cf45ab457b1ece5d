"""A page of gviz's own: the formula above, a circuit as large as it can be read, what its numbers are below."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from gviz.errors import warn_user
from gviz.graphs import Graph
from gviz.layout import RenderWarning
from gviz.layout.fonts.faces import type_width
from gviz.layout.ink import Item, Pen, Point, shifted
from gviz.pictures.circuits import arrow, strands
from gviz.pictures.legend import LegendEntry, legend_lines
from gviz.pictures.look import MARGIN, PAGES, docstring_of
from gviz.pictures.options import RenderOptions
from gviz.pictures.slide import warn_of_small_type
from gviz.pictures.theme import THEMES, Theme
from gviz.pictures.typesetting import TypeBox, phrase, row, text_box, typeset
from gviz.text import excerpt

TITLE, CAPTION, LEGEND = 20.0, 14.0, 11.5
"""Points of the type of a picture that stands on no page; a page has sizes of its own."""

EDGE, GAP = 12.0, 14.0
"""Points around a picture, and between title, circuit and legend."""

MOST_SCALE = 1.7
"""How far a small circuit is enlarged on a page."""

WIDE = 1000.0
"""Points from which on a picture that stands on no page goes on in a second row."""

BETWEEN = 18.0
"""Points between two entries of a legend."""

MOST_WIDE = 900.0
"""Points of the longest line of text that stands on no page."""

LEAD = 72.0
"""Points of an arrow, or of the line of a path, before what is said of it."""

APART = 1.6
"""The room between two statements, by the size of the type."""

MOST_FOOT = 0.35
"""The part of a page from which on what stands below is written in the smallest type that can be read."""

MOST_LINES = 4
"""Lines of a title, or of a text below."""

SHORT = 60
"""Characters of the statements that stand beside the name of a script."""


class Remark(NamedTuple):
    """A line below a circuit.

    Args:
        box: what it says.
        ink: of what: ``gradient``, ``muted`` or "" for the usual one.
        path: the number of the path that it is about, which is drawn before it; -1 for none.
        is_backward: whether an arrow to the left stands before it.
        depth: how far it is moved in.
    """

    box: TypeBox
    ink: str = ""
    path: int = -1
    is_backward: bool = False
    depth: float = 0.0


@dataclass
class InkedPage:
    """A page as ink: see :class:`gviz.layout.ink.Sheet`. ``least_type`` is the size of its smallest type, in points."""

    title: str
    description: str
    size: Point
    page: str
    content: list[Item]
    least_type: float = CAPTION

    def items(self) -> Iterable[Item]:
        """Return all that is drawn."""
        return self.content


class Block(NamedTuple):
    """Ink with its size, from its upper left corner."""

    items: list[Item]
    size: Point


class Content(Protocol):
    """What a page shows."""

    @property
    def titles(self) -> Sequence[str]:
        """The statements."""
        ...

    @property
    def arrays(self) -> Mapping[str, int]:
        """How many axes tensors with several elements have, by name."""
        ...

    @property
    def description(self) -> str:
        """The picture in a sentence, for those who cannot see it."""
        ...

    def as_large_as_it_is(self) -> Block:
        """Return the drawing where there is no page."""
        ...

    def in_room(self, room: Point) -> tuple[Block, float, float]:
        """Return the drawing whose type is the largest in a room, its scale, and the points of its smallest type."""
        ...

    def remarks(self, size: float, *, is_brief: bool) -> list[Remark]:
        """Return the lines below, in a size; on request the fewest that say what there is."""
        ...

    def entries(self) -> Iterable[LegendEntry]:
        """Return the entries of the legend: what occurs in the last drawing that was returned."""
        ...

    def sample(self, kind: str, size: float) -> Block:
        """Return what stands before the text of an entry, in a size of type; its base line is at 0."""
        ...


def theme_of(options: RenderOptions) -> Theme:
    """Return the colours of a page: TorchViz's are for its boxes."""
    return THEMES["light" if options.theme == "torchviz" else options.theme]


class SheetWriter:
    """Writes pages: the title above, the drawing as large as it can be read, below it what its numbers are.

    Args:
        content: what is shown.
        graph: whose it is.
        options: ``fit``, ``title``, ``caption``, ``legend`` and ``transparent`` are read.
    """

    def __init__(self, content: Content, graph: Graph, options: RenderOptions) -> None:
        self.shown, self.graph, self.options, self.theme = content, graph, options, theme_of(options)
        self.inks = {"": self.theme.ink, "muted": self.theme.muted, "gradient": self.theme.gradient}
        page = PAGES.get(options.fit)
        self.sizes = (page.title, page.caption, page.legend) if page is not None else (TITLE, CAPTION, LEGEND)
        self.room = (page.width, page.height) if page is not None else None
        self.most = page.width - 2 * MARGIN if page is not None else MOST_WIDE
        self.is_brief = False
        """Whether the lines below are the fewest: more of them leave no room for the drawing."""

    def page(self) -> InkedPage:
        """Return the page."""
        title = self.title()
        above = title.size[1] + GAP * bool(title.items)
        if self.room is None:
            drawing, scale, points, top, edge = self.shown.as_large_as_it_is(), 1.0, CAPTION, EDGE, EDGE
            foot = self.foot()
            wide = max(drawing.size[0], title.size[0], foot.size[0]) + 2 * EDGE
            size = wide, above + drawing.size[1] + foot.size[1] + 2 * EDGE + GAP
        else:
            size, top, edge = self.room, 28.0, MARGIN
            high, foot = -1.0, self.foot()
            if foot.size[1] > MOST_FOOT * size[1]:  # many words leave no room for what they are about
                self.sizes = self.sizes[0], PAGES[self.options.fit].least, self.sizes[2]
                foot = self.foot()
            while foot.size[1] > high:  # a line more, for what is said of that drawing alone, leaves less room
                high = foot.size[1]
                room = size[0] - 48, size[1] - title.size[1] - high - 2 * top - 2 * GAP
                drawing, scale, points = self.shown.in_room(room)
                if points < PAGES[self.options.fit].least and not self.is_brief:
                    self.is_brief = True
                    self.is_brief = self.foot().size[1] < foot.size[1]
                    high = -1.0 if self.is_brief else high
                foot = self.foot()
            warn_of_small_type(points, self.larger(), PAGES[self.options.fit])
        start = top + above
        free = size[1] - start - foot.size[1] - top - GAP - drawing.size[1] * scale
        place = (size[0] - drawing.size[0] * scale) / 2, start + max(free, 0) / 2
        content = [
            *shifted(title.items, edge, top),
            *shifted(drawing.items, *place, scale),
            *shifted(foot.items, edge, size[1] - top - foot.size[1]),
        ]
        page = "" if self.options.transparent else self.theme.page
        return InkedPage(self.graph.title, self.shown.description, size, page, content, points)

    def larger(self) -> str:
        """Return what makes the type larger."""
        if not self.options.path:
            return "a part of the graph, --root NAME or --max-nodes N"
        if len(self.options.path) > 1:
            return "fewer names for --path"
        return "another --view" if self.options.by == "statement" else "--by statement"

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
            [] if text and not is_derivative else [one for one in self.shown.titles if "∂" in one or not is_derivative]
        )
        if not options.of or is_expression or sum(map(len, titles)) <= SHORT:
            boxes += [self.formula(each, size) for each in titles]
        return self._flow(boxes, size, self.theme.ink)

    def formula(self, text: str, size: float) -> TypeBox:
        """Return a statement as mathematics sets it, or as code."""
        if " = " not in text:
            text = text.replace("=", " = ", 1)
        return (
            typeset(text, size, self.shown.arrays) if self.options.math == "on" else text_box(text, 0.9 * size, "mono")
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

    def foot(self) -> Block:
        """Return what stands below: what backward does, captions, remarks, and what there is in the drawing."""
        _, caption, size = self.sizes
        stop = self.graph.stop
        blocks = [self._remark(one, caption) for one in self.shown.remarks(caption, is_brief=self.is_brief)]
        blocks += [self._paragraph(line, caption, self.theme.ink) for line in self.options.caption.splitlines()]
        blocks += [self._paragraph(remark, size, self.theme.muted) for remark in self.graph.remarks]
        if self.options.legend:
            blocks.append(self._legend(size))
        if stop is not None:
            ink = self.theme.boxes["error"].pen
            blocks += [self._paragraph(text, size, ink) for text in (stop.where, stop.message)]
        return one_below_another(blocks, 8.0)

    def _legend(self, size: float) -> Block:
        """Return the legend in as many lines as it needs."""
        entries, set_text = list(self.shown.entries()), phrase if self.options.math == "on" else text_box
        samples = [self.shown.sample(one.kind, size) if one.kind else Block([], (0.0, 0.0)) for one in entries]
        boxes = [set_text(one.text, size) for one in entries]
        widths = [sample.size[0] + box.width for sample, box in zip(samples, boxes, strict=True)]
        items, y, wide = list[Item](), size, 0.0
        for number, line in enumerate(legend_lines(widths, BETWEEN, self.most)):
            x, y = 0.0, size + 1.5 * size * number
            for at in line:
                ink = self.inks[entries[at].ink]
                items += [*shifted(samples[at].items, x, y), *boxes[at].ink(x + samples[at].size[0], y, ink)]
                x += widths[at] + BETWEEN
            wide = max(wide, x - BETWEEN)
        return Block(items, (wide, y + 0.3 * size))

    def _remark(self, one: Remark, size: float) -> Block:
        """Return a line below, with the line of its path, or an arrow, before it."""
        ink = self.theme.paths[one.path] if one.path >= 0 else self.inks[one.ink]
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
    return min(room[0] / max(block.size[0], 1.0), room[1] / max(block.size[1], 1.0), MOST_SCALE)
