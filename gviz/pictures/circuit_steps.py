"""The steps of a computation on a circuit: it is laid out once, and each slide shows what is known by then."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from gviz.graphs import Graph
from gviz.layout.fonts.faces import font_of
from gviz.layout.ink import Inked, Item, Outline, Pen, Stretch, TextLine, shifted
from gviz.pictures.circuit_content import CircuitContent
from gviz.pictures.circuit_reader import CircuitReader
from gviz.pictures.circuits import LIT_HEAD, Component
from gviz.pictures.html import inks
from gviz.pictures.legend import unknown_entries
from gviz.pictures.look import MARGIN, Page
from gviz.pictures.options import RenderOptions
from gviz.pictures.series import LIT_LINE, LIT_PEN, code_beside, progress, width_beside, with_code
from gviz.pictures.sheets import InkedPage, SheetWriter
from gviz.pictures.slide import LINE
from gviz.pictures.spans import Line, Span, text_of
from gviz.pictures.steps import Step, graph_of_steps, is_told_at, steps_of
from gviz.pictures.theme import Theme

MOST, LEAST_TYPE = 40, 8
"""Boxes of a circuit that steps are drawn on, and points of its smallest type; else Graphviz makes the slides."""

TALL_TITLE = 100.0
"""Points of statements that take too much of a page: it is called by its root then."""

TOP, FOOT = 28.0, 20.0
"""Points above the title, and below the line that tells how far it is."""

GAP = 24.0
"""Points between a program and the circuit beside it."""


class CircuitSlide(NamedTuple):
    """A step as a page: see :class:`gviz.pictures.series.Slide`."""

    picture: InkedPage
    step: Step
    number: int
    of: int


def circuit_slides(graph: Graph, options: RenderOptions, page: Page, wanted: Sequence[int] = ()) -> list[CircuitSlide]:
    """Return the slides; none where the circuit could not be read.

    Args:
        graph: a graph that tells local derivatives and gradients on their way.
        options: ``theme``, ``precision``, ``title``, ``of``, ``math`` and ``every`` are read.
        page: the size of each slide.
        wanted: numbers of the steps that are drawn, counted from 1; all if there is none.
    """
    shown = graph_of_steps(graph)
    steps = steps_of(shown, options)
    scene = circuit_scene(shown, graph, options, steps, page)
    if scene is None:
        return []
    numbers = wanted or range(1, len(steps) + 1)
    return [CircuitSlide(scene.at(number), steps[number - 1], number, len(steps)) for number in numbers]


def circuit_scene(
    shown: Graph, graph: Graph, options: RenderOptions, steps: Sequence[Step], page: Page, *, is_bare: bool = False
) -> CircuitScene | None:
    """Return the circuit of some steps; None where it could not be read. Arguments as for :class:`CircuitScene`."""
    if sum(node.kind != "constant" for node in shown.nodes) > MOST:
        return None
    scene = CircuitScene(shown, graph, replace(options, view="circuit", fit="slide"), steps, page, is_bare=is_bare)
    return None if scene.least_type < LEAST_TYPE else scene


class CircuitScene:
    """The ink of all slides.

    Args:
        shown: the graph of the formula.
        graph: whose it is.
        options: see :func:`circuit_slides`.
        steps: all steps.
        page: the size of each slide.
        is_bare: whether the circuit stands alone: who shows it has places of their own for title, caption and code.
    """

    def __init__(
        self,
        shown: Graph,
        graph: Graph,
        options: RenderOptions,
        steps: Sequence[Step],
        page: Page,
        *,
        is_bare: bool,
    ) -> None:
        page = with_code(page, graph.code)
        self.graph, self.options, self.steps, self.page, self.is_bare = graph, options, steps, page, is_bare
        self.content = CircuitContent(CircuitReader(shown, options, has_letters=True))
        self.theme = self.content.theme
        self.nodes, self.roots = shown.by_id, {*shown.roots}
        self.edges = {(edge.target, edge.slot): number for number, edge in enumerate(shown.edges)}
        self.handing: dict[str, set[int]] = {
            node.id: set() for node in shown.nodes
        }  # edges over which a gradient comes
        self.local: dict[str, set[int]] = {node.id: set() for node in shown.nodes}  # edges over which one is handed on
        for number, edge in enumerate(shown.edges):
            if edge.flow.handed is not None:
                self.handing[edge.source].add(number)
                self.local[edge.target].add(number)
        titled = replace(options, title="" if options.of else options.title)
        title = SheetWriter(self.content, graph, titled).title()
        if title.size[1] > TALL_TITLE:
            title = SheetWriter(self.content, graph, replace(options, title=graph.title)).title()
        self.title = [] if is_bare else list(title.items)
        said = [*(line for step in steps for line in step.caption), *((Span(title),) for title in self.content.titles)]
        self.note = "".join(one.text for one in unknown_entries(map(text_of, said)))
        self.lines = 0 if is_bare else max(len(step.caption) for step in steps)
        self.side = 0.0 if is_bare else width_beside(graph, options, page)
        start = self.side + GAP * bool(self.side)
        top = 0.0 if is_bare else TOP + max(page.title * 1.4, title.size[1] + page.title * 0.4)
        low = 0.0 if is_bare else FOOT + page.legend + self.lines * page.caption * LINE + 14
        room = page.width - 48 - start, page.height - top - low - 16
        block, self.scale, self.least_type = self.content.in_room(room)
        place = (
            start + (page.width - start - block.size[0] * self.scale) / 2,
            top + (room[1] - block.size[1] * self.scale) / 2 + 8,
        )
        self.top, self.room = top, room
        self.items = list(shifted(block.items, *place, self.scale))
        self.cards, self.wires = self.content.cards, self.content.drawn_wires

    def at(self, number: int) -> InkedPage:
        """Return the page of a step, by its number counted from 1."""
        step = self.steps[number - 1]
        items = [item for _, item in self.seen(step)]
        texts = [] if self.is_bare else [*shifted(self.title, MARGIN, TOP), *self._texts(step, number)]
        code = list(self._code(step)) if self.side else []
        size = self.page.width, self.page.height
        return InkedPage(
            self.graph.title,
            " ".join("".join(span.text for span in line) for line in step.caption),
            size,
            self.theme.page,
            [*items, *texts, *code],
        )

    def seen(self, step: Step) -> list[tuple[int, Item]]:
        """Return what is seen of the circuit at a step, each piece with its number, in the order of drawing."""
        look = StepLook(self, step)
        items = [(at, one) for at, item in enumerate(self.items) if (one := look.seen(item)) is not None]
        return [*items, *enumerate(look.heads, len(self.items))]

    def _texts(self, step: Step, number: int) -> Iterator[Item]:
        """Yield the caption, and how far it is."""
        page, theme = self.page, self.theme
        low = page.height - FOOT
        y = low - page.legend * 1.3 - (self.lines - 1) * page.caption * LINE - 8
        for line in step.caption:
            yield text_line(line, (MARGIN, y), page.caption, theme)
            y += page.caption * LINE
        yield text_line(progress(self.steps, number, self.note), (MARGIN, low), page.legend, theme)

    def _code(self, step: Step) -> Iterator[Item]:
        """Yield the program beside the circuit, with the line that runs lit."""
        size = self.page.code
        high = size * LINE
        rows = code_beside(self.graph.code, step.line, max(int(self.room[1] / high), 1))
        y = self.top + (self.room[1] - len(rows) * high) / 2 + high
        for is_lit, line in rows:
            if is_lit:
                wide, lit = self.side, self.theme.boxes["lit"].fill
                yield Outline((MARGIN - 4 + wide / 2, y - 0.3 * size), (wide, high), 0.0, lit, Pen(lit))
            yield text_line(line, (MARGIN, y), size, self.theme, "mono")
            y += high


class StepLook:
    """How the parts of a circuit look at a step.

    Args:
        scene: the circuit.
        step: the step.

    Attributes:
        heads: arrowheads of gradients. The texts of a line leave no room for one as broad as its lit line makes it.
    """

    def __init__(self, scene: CircuitScene, step: Step) -> None:
        self.heads: list[Item] = []
        self.scene, self.step, self.theme = scene, step, scene.theme
        self.handed = {*step.handed}

    def seen(self, item: Item) -> Item | None:
        """Return a piece of ink as it looks at this step; None for what is not there."""
        word, _, number = item.part.rpartition(" ")
        if not word:
            return item
        look: Callable[[Item, int], Item | None] = getattr(self, f"_{word.replace(' ', '_')}")
        return look(item, int(number))

    def _edge(self, number: int) -> int:
        """Return the number of the edge that a wire is."""
        wire = self.scene.wires[number]
        return self.scene.edges[self._card_of(wire.target).node, wire.slot]

    def _card_of(self, number: int) -> Component:
        """Return a card by its number."""
        return self.scene.cards[number]

    def _is_known(self, number: int) -> bool:
        """Return whether a card has its value."""
        return self._card_of(number).node in self.step.computed

    def _is_lit(self, number: int) -> bool:
        """Return whether a step is about an edge: one into its operation, backward one that a gradient takes."""
        wire = self.scene.wires[number]
        is_here = self._card_of(wire.target).node in self.step.nodes
        return is_here and (self.step.phase != "backward" or self._edge(number) in self.handed)

    # ------------------------------------------------------------ boxes
    def _card(self, item: Item, number: int) -> Item | None:
        card, theme, step = self._card_of(number), self.theme, self.step
        if not self._is_known(number):
            return self._faint(item) if card.is_round else None
        is_start = step.phase == "start" and card.node in self.scene.roots
        reached = (self.scene.wires[at].source for at in range(len(self.scene.wires)) if self._is_lit(at))
        is_reached = step.phase == "backward" and not card.is_round and number in reached
        if isinstance(item, Outline) and (card.node in step.nodes or is_start or is_reached):
            fill, pen = theme.boxes["lit"]
            width = float(LIT_PEN) * self.scene.scale
            return item._replace(pen=Pen(pen, width, item.pen.dash), fill=fill if card.is_round else item.fill)
        return item

    def _faint(self, item: Item) -> Item:
        """Return ink of what is not computed yet."""
        faint = self.theme.faint
        if isinstance(item, TextLine):
            return item._replace(colour=faint)
        pen = item.pen._replace(colour=faint, dash=item.pen.dash or (4.0, 3.0))
        return item._replace(pen=pen, fill=self.theme.page) if isinstance(item, Outline) else item._replace(pen=pen)

    def _name(self, item: Item, number: int) -> Item | None:
        return item if self._is_known(number) else None

    def _note(self, item: Item, number: int) -> Item | None:
        """Return a local derivative where it is used; what is said of a leaf when it is due."""
        card = self._card_of(number)
        edges = self.scene.local[card.node]
        is_used = bool(edges & self.handed) if card.is_round else is_told_at(self.scene.nodes[card.node], self.step)
        return item if is_used else None

    def _total(self, item: Item, number: int) -> Item | None:
        edges = self.scene.handing[self._card_of(number).node]
        return item if edges <= self.handed and self.step.has_started else None

    # ------------------------------------------------------------ lines
    def _wire(self, item: Item, number: int) -> Item | None:
        wire, theme, step = self.scene.wires[number], self.theme, self.step
        if not self._is_known(wire.source) and not self._card_of(wire.source).is_round:
            return None
        if not self._is_known(wire.target):
            return self._faint(item)
        if wire.is_dashed or not self._is_lit(number) or not isinstance(item, Stretch):
            return item
        width = float(LIT_LINE) * self.scene.scale
        if step.phase != "backward":
            return item._replace(pen=Pen(theme.value, width), size=item.size * LIT_HEAD)
        back = [stroke[-2:] for stroke in item.strokes[::-1]]
        if item.heads:
            back[0] = item.heads[0][0]  # where a line has a head it ends before its tip
        (x, y), tip = back[-2][-2:], back[-1][-2:]
        pieces = [one for one in self.scene.items if one.part == item.part and isinstance(one, Stretch)]
        size = max(one.size for one in pieces)
        if item is pieces[0]:
            away = max(((tip[0] - x) ** 2 + (tip[1] - y) ** 2) ** 0.5, 1e-9)
            back[-1] = tip[0] - (tip[0] - x) / away * 0.8 * size, tip[1] - (tip[1] - y) / away * 0.8 * size
            self.heads.append(
                Stretch([back[-1], tip], Pen(theme.gradient, 0.0), [((tip[0], tip[1]), (x, y))], size, item.part)
            )
        return Stretch(back, Pen(theme.gradient, width), part=item.part)

    def _value(self, item: Item, number: int) -> Item | None:
        return item if self._is_known(self.scene.wires[number].source) else None

    def _grad(self, item: Item, number: int) -> Item | None:
        return item if self._edge(number) in self.handed else None

    # ------------------------------------------------------------ the root
    def _end(self, item: Item, number: int) -> Item | None:
        return item if self._is_known(number) else self._faint(item)

    _end_name, _end_value = _end, _name

    def _end_grad(self, item: Item, _: int) -> Item | None:
        return item if self.step.has_started else None


def text_line(line: Line, place: tuple[float, float], size: float, theme: Theme, usual: str = "sans") -> TextLine:
    """Return a line of text in its inks; signs that the usual face lacks are in that for code."""
    colours = inks(theme)
    words = []
    for span in line:
        face = "bold" if span.is_bold and usual == "sans" else usual
        known = font_of(face).glyphs
        face = face if all(ord(char) in known for char in span.text) else "mono"
        words.append(Inked(span.text, colours.get(span.ink, ""), span.is_bold and face == "mono", face))
    return TextLine(place, size, theme.ink, words, is_centred=False)
