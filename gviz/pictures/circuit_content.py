"""A circuit as a page shows it: as dense as it can be read, in one row or in several, with its legend."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import product

from gviz.formulas.formula import UNKNOWN, UNNAMED
from gviz.layout.fonts.faces import type_width
from gviz.layout.ink import Inked, Outline, Pen, Point, TextLine
from gviz.pictures.circuit_reader import FAR, CircuitReader
from gviz.pictures.circuits import NUMBER, OUTLINES, TIGHT, Attempt, Circuit, Component, Wire, arrow
from gviz.pictures.cuts import WRAPPED_GAP, in_parts
from gviz.pictures.page import LEFT_OUT_BEFORE
from gviz.pictures.sheets import WIDE, Block, LegendEntry, scale_in, theme_of
from gviz.pictures.slide import PAGES
from gviz.pictures.typesetting import TypeBox, TypeRun, name_box, row, text_box

ROOMY = ((1.0, 1.5, 3.0), (8.0, 16.0, 28.0, 44.0, 64.0))
"""What is tried, in turn, until all texts have their places: room beside numbers, and points between cards."""

FAR_APART = (20.0, 32.0, 46.0, 64.0, 90.0)
"""Points between cards where texts have no place of their own otherwise."""

HOPELESS, MANY = 0.25, 30
"""How small type is, by what can be read, that a denser circuit would not make large enough; boxes of a large circuit."""

DENSITIES = (
    (False, False, (8.0, 20.0, 36.0)),
    (True, False, (8.0, 20.0, 36.0)),
    (True, True, (8.0, 14.0, 20.0, 28.0)),
    (False, True, (8.0, 20.0, 36.0)),
    (False, False, FAR_APART),
)
"""What is tried on a page: whether it is tight, whether local derivatives are left out, and points between cards."""

KINDS = {
    "leaf": "leaf",
    "again": "the same leaf again",
    "frozen": "needs no gradient",
    "intermediate": LEFT_OUT_BEFORE,
    "output": "root",
    "error": "nan or inf begins here",
}
"""What the legend says of boxes."""


STOPPED = "backward stops here"
"""What the legend says of a box that is marked where the program has stopped."""


circuit_of = lru_cache(maxsize=128)(Circuit)
"""Lays a circuit out: the page of its size has the circuits that were tried to choose what goes onto it."""


class CircuitContent:
    """A circuit as a page shows it: see :class:`gviz.pictures.sheets.Content`.

    Args:
        reader: what its cards and wires say.
    """

    def __init__(self, reader: CircuitReader) -> None:
        self.reader, self.options, self.theme = reader, reader.options, theme_of(reader.options)
        self.titles, self.remarks = reader.titles(), reader.remarks
        self.arrays: Mapping[str, int] = {}
        self.description = f"The circuit of {'; '.join(self.titles)}, with values and gradients on its lines"
        self.all_cards, self.wires = reader.circuit(0)
        self.few_cards, self.few_wires = reader.circuit(FAR)
        self.cards: Sequence[Component] = self.all_cards
        self.drawn_wires: Sequence[Wire] = self.wires
        self.has_both = self.options.arrows == "both"

    def _tries(self, attempts: Iterable[Attempt]) -> Iterator[tuple[Circuit, int]]:
        """Yield circuits, first with few leaves that stand again, then with a leaf beside each use."""
        listed = list(attempts)
        for far, cards, wires in ((FAR, self.few_cards, self.few_wires), (0, self.all_cards, self.wires)):
            for attempt in listed if far or len(cards) > len(self.few_cards) else ():
                yield circuit_of(tuple(cards), tuple(wires), self.theme, attempt), far

    def as_large_as_it_is(self) -> Block:
        """Return the first circuit in which every text has its place; the one that lacks fewest, if there is none."""
        best: Circuit | None = None
        attempts = [Attempt(stretch, apart, both=self.has_both) for stretch, apart in product(*ROOMY)]
        for circuit, _ in self._tries(attempts):
            if best is None or (circuit.bad, circuit.crowded) < (best.bad, best.crowded):
                best = circuit
            if not best.bad and not best.crowded:
                break
        if best is None:
            return Block([], (0.0, 0.0))
        self.cards, self.drawn_wires = best.cards, best.wires
        whole = Block(best.items, best.size)
        rows = [*self._cut(whole)] if whole.size[0] > WIDE else []
        fitting = next((one for one in rows if one.size[0] <= WIDE), None)
        return fitting or min([whole, *rows], key=lambda one: one.size[0])

    def _cut(self, whole: Block, room: Point | None = None, least: float = 0.0) -> Iterator[Block]:
        """Yield a circuit in two rows and in three, where there are places for it; in a room if it may be so large."""
        wide, high = whole.size
        for count in (2, 3):
            smallest = Block([], ((wide - 4) / count, high + (count - 1) * (WRAPPED_GAP + TIGHT)))
            if room is None or scale_in(room, smallest) > least:
                parts = in_parts(whole, count, self.theme)
                yield from (parts,) if parts is not None else ()

    def in_room(self, room: Point) -> tuple[Block, float, float]:
        """Return the circuit that has the largest type in a room, its scale, and its smallest type.

        It stands in one row, if that can be read.
        """
        least = PAGES[self.options.fit].least
        best: tuple[float, Block, float, Circuit] | None = None
        for is_tight, is_bare, gaps in DENSITIES:
            is_free = best is not None and best[0] > 0  # no text stands on anything else
            points = best[3].least_type * best[2] if best is not None else 0.0
            if best is not None and (points < HOPELESS * least or (is_free and (gaps is FAR_APART or points >= least))):
                break
            count = 2 if len(self.all_cards) > MANY else len(ROOMY[0]) * len(gaps)  # of a large one each takes long
            stretches = (1.0, 1.6) if is_tight else (1.0, 1.5, 3.0) if gaps is FAR_APART else (1.0, 1.5)
            stretches = (0.85, 1.0) if is_bare and not is_tight else stretches
            tries = [*product(stretches, gaps)][:count]
            attempts = [Attempt(stretch, apart, is_tight, self.has_both, is_bare) for stretch, apart in tries]
            for circuit, far in self._tries(attempts):
                if not far and best is not None and best[0] > 0 and best[3].least_type * best[2] >= least:
                    break
                whole = Block(circuit.items, circuit.size)
                scale = scale_in(room, whole)
                worth, loss = 1 - 0.05 * circuit.crossings, 3 * circuit.bad + 0.03 * circuit.crowded + 0.1 * (not far)
                needed = 0.0 if best is None or worth <= 0 else (best[0] + loss) / worth
                for rows in (
                    self._cut(whole, room, max(1.15 * scale, needed)) if scale * circuit.least_type < least else ()
                ):
                    if scale_in(room, rows) > 1.15 * scale:
                        whole, scale = rows, scale_in(room, rows)
                score = scale * worth - loss
                if best is None or score > best[0]:
                    best = score, whole, scale, circuit
        if best is None:
            return Block([], (0.0, 0.0)), 1.0, NUMBER
        _, block, scale, circuit = best
        is_bare, self.drawn_wires = circuit.attempt.is_bare, circuit.wires
        self.cards = [card._replace(note=card.bare) for card in circuit.cards] if is_bare else circuit.cards
        return block, scale, circuit.least_type * scale

    # ------------------------------------------------------------ the legend
    def entries(self, size: float) -> Iterator[LegendEntry]:
        """Yield what the numbers of each colour, and the kinds of boxes that occur, are."""
        theme = self.theme
        yield from self._numbers(size)
        if self.has_both and any(wire.grad for wire in self.wires):
            line = arrow([(26.0, -0.3 * size), (0.0, -0.3 * size)], Pen(theme.gradient, 1.5))
            yield LegendEntry(text_box("gradient, on its way back", size), theme.ink, [line], 32)
        has_notes = any(card.note.width and card.is_round for card in self.cards)
        letter, is_code = self.reader.comes_in, self.options.math == "off"
        has_z = any(
            letter in part.text
            for card in self.cards
            for box in (card.box, card.note)
            for part in box.parts
            if card.is_round and isinstance(part, TypeRun) and (part.face == "math" or is_code)
        )
        z = [name_box(letter, size), text_box(" is what comes in", size)] if has_z else []
        notes: list[TypeBox] = []
        if any(one.note.width and not card.note.width for one, card in zip(self.all_cards, self.cards, strict=False)):
            notes.append(text_box("local derivatives are left out: there is no room for them", size))
        if has_notes:
            notes.append(row(text_box(f"at a circle: local derivative{'; ' * bool(z)}", size), *z))
        elif z:
            notes.append(row(*z))
        if any(UNKNOWN in text for text in self.titles):
            notes.append(text_box(f"{UNKNOWN} {UNNAMED}", size))
        if remark := self.reader.decimals.remark(self.options.show):
            notes.append(text_box(remark, size))
        yield from (LegendEntry(note, theme.muted) for note in notes)
        drawn = {card.look for card in self.cards}
        for kind, text in KINDS.items():
            if kind in drawn:
                fill, pen = theme.boxes["repeat" if kind == "again" else kind]
                dash, width = OUTLINES[kind]
                sample = Outline((11.0, -0.32 * size), (20.0, 0.9 * size), 3.0, fill, Pen(pen, width, dash))
                has_stopped = kind == "error" and self.reader.graph.stop is not None
                yield LegendEntry(text_box(STOPPED if has_stopped else text, size), theme.muted, [sample], 27)

    def _numbers(self, size: float) -> Iterator[LegendEntry]:
        """Yield what the numbers on the lines are, each in its colour."""
        theme = self.theme
        ends = [card.end for card in self.cards if card.end is not None]
        numbers = [
            ("value", "0.37", theme.value, "bold", text_box("value, above the line", size)),
            ("grad", "−0.53", theme.gradient, theme.gradient_face, self.reader.gradient(size)),
        ]
        for key, text, ink, face, box in numbers:
            if key in self.options.show and any(getattr(one, key) for one in (*self.wires, *ends)):
                sample = TextLine((0.0, 0.0), size, ink, (Inked(text, face=face),), is_centred=False)
                yield LegendEntry(box, theme.ink, [sample], type_width(text, size, face) + 6)
