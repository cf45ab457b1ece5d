"""A circuit as a page shows it: as dense as it can be read, in one row or in several, with its legend."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import product

from gviz.layout.fonts.faces import type_width
from gviz.layout.ink import Inked, Outline, Pen, Point, TextLine
from gviz.pictures.circuit_reader import FAR, CircuitReader
from gviz.pictures.circuits import NUMBER, OUTLINES, TIGHT, Attempt, Circuit, Component, Wire, arrow
from gviz.pictures.cuts import WRAPPED_GAP, in_parts
from gviz.pictures.legend import FORMULA_WORDS, LegendEntry, kind_entries, unknown_entries
from gviz.pictures.look import PAGES
from gviz.pictures.sheets import WIDE, Block, scale_in, theme_of
from gviz.pictures.typesetting import TypeRun

ROOMY = ((1.0, 1.5), (8.0, 16.0, 28.0, 44.0, 64.0))
"""What is tried, in turn, until all texts have their places: room beside numbers, and points between cards."""

FAR_APART = (20.0, 32.0, 46.0, 64.0, 90.0)
"""Points between cards where texts have no place of their own otherwise."""

WIDENED = 8
"""How often columns are set farther apart where a number has no good place."""

HOPELESS, MANY = 0.25, 20
"""How small type is, by what can be read, that a denser circuit would not make large enough; boxes of a large circuit."""

DENSITIES = (
    (False, False, (8.0, 20.0, 36.0)),
    (True, False, (8.0, 20.0, 36.0)),
    (True, True, (8.0, 14.0, 20.0, 28.0)),
    (False, True, (8.0, 20.0, 36.0)),
    (False, False, FAR_APART),
)
"""What is tried on a page: whether it is tight, whether local derivatives are left out, and points between cards."""

SAMPLES = {"value": "0.37", "grad": "−0.53"}
"""The numbers that the legend has as samples."""


circuit_of = lru_cache(maxsize=128)(Circuit)
"""Lays a circuit out: the page of its size has the circuits that were tried to choose what goes onto it."""


def badness(circuit: Circuit) -> tuple[int, int]:
    """Return how many texts have no good place, and how many pairs of numbers are close to each other."""
    return circuit.bad, circuit.crowded


class CircuitContent:
    """A circuit as a page shows it: see :class:`gviz.pictures.sheets.Content`.

    Args:
        reader: what its cards and wires say.
    """

    def __init__(self, reader: CircuitReader) -> None:
        self.reader, self.options, self.theme = reader, reader.options, theme_of(reader.options)
        self.titles, self.remarks, self.arrays = reader.titles(), reader.remarks, reader.arrays
        self.description = f"The circuit of {'; '.join(self.titles)}, with values and gradients on its lines"
        self.all_cards, self.wires = reader.circuit(0)
        self.few_cards, self.few_wires = reader.circuit(FAR)
        self.cards: Sequence[Component] = self.all_cards
        self.drawn_wires: Sequence[Wire] = self.wires
        self.has_both = self.options.arrows == "both"

    def _tries(self, attempts: Iterable[Attempt]) -> Iterator[tuple[Circuit, int]]:
        """Yield circuits, first with few leaves that stand again, then with a leaf beside each use.

        At last the best of them has columns farther apart where numbers have no good place.
        """
        listed = list(attempts)
        for far, cards, wires in ((FAR, self.few_cards, self.few_wires), (0, self.all_cards, self.wires)):
            circuits = []
            for attempt in listed if far or len(cards) > len(self.few_cards) else ():
                circuits.append(circuit_of(tuple(cards), tuple(wires), self.theme, attempt))
                yield circuits[-1], far
            circuit = min(circuits, key=badness, default=None)
            for _ in range(min(WIDENED, len(listed))):
                if circuit is None or not circuit.places.narrow:
                    break
                circuit = circuit_of(circuit.cards, circuit.wires, self.theme, circuit.wider())
                yield circuit, far

    def as_large_as_it_is(self) -> Block:
        """Return the first circuit in which every text has its place; the one that lacks fewest, if there is none."""
        best: Circuit | None = None
        attempts = [Attempt(stretch, apart, both=self.has_both) for stretch, apart in product(*ROOMY)]
        for circuit, _ in self._tries(attempts):
            best = circuit if best is None else min(best, circuit, key=badness)
            if badness(best) == (0, 0):
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
            count = 2 if len(self.all_cards) > MANY else None  # of a large one each takes long
            stretches = (1.0,) if is_tight else (1.0, 1.5, 3.0) if gaps is FAR_APART else (1.0, 1.5)
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
    def entries(self) -> Iterator[LegendEntry]:
        """Yield what the numbers of each colour, and the kinds of boxes that occur, are."""
        ends = [card.end for card in self.cards if card.end is not None]
        for key, text in (("value", "value, above the line"), ("grad", self.reader.gradient_words())):
            if key in self.options.show and any(getattr(one, key) for one in (*self.drawn_wires, *ends)):
                yield LegendEntry(text, key)
        if self.has_both and any(wire.grad for wire in self.wires):
            yield LegendEntry("gradient, on its way back", "back")
        if any(one.note.width and not card.note.width for one, card in zip(self.all_cards, self.cards, strict=False)):
            yield LegendEntry("local derivatives are left out: there is no room for them", ink="muted")
        has_notes = any(card.note.width and card.is_round for card in self.cards)
        notes = ["at a circle: local derivative"] * has_notes + [
            f"{self.reader.comes_in} is what comes in"
        ] * self.has_z
        yield from [LegendEntry("; ".join(notes), ink="muted")] if notes else []
        yield from unknown_entries(self.titles)
        if remark := self.reader.decimals.remark(self.options.show):
            yield LegendEntry(remark, ink="muted")
        words = FORMULA_WORDS if self.reader.graph.stop is None else {**FORMULA_WORDS, "error": "backward stops here"}
        yield from kind_entries(words, {card.look for card in self.cards} - {"operation"})

    @property
    def has_z(self) -> bool:
        """Whether the letter for what comes in stands in a circle, or below one."""
        is_code = self.options.math == "off"
        letter = self.reader.comes_in if is_code else self.reader.comes_in.partition("_")[0]  # in is below the line
        boxes = [box for card in self.cards if card.is_round for box in (card.box, card.note)]
        runs = [part for box in boxes for part in box.parts if isinstance(part, TypeRun)]
        return any(letter in run.text and (run.face == "math" or is_code) for run in runs)

    def sample(self, kind: str, size: float) -> Block:
        """Return what stands before the text of an entry of the legend."""
        theme = self.theme
        if kind == "back":
            return Block([arrow([(26.0, -0.3 * size), (0.0, -0.3 * size)], Pen(theme.gradient, 1.5))], (32.0, size))
        if kind in SAMPLES:
            ink, face = (theme.value, "bold") if kind == "value" else (theme.gradient, theme.gradient_face)
            number = TextLine((0.0, 0.0), size, ink, (Inked(SAMPLES[kind], face=face),), is_centred=False)
            return Block([number], (type_width(SAMPLES[kind], size, face) + 6, size))
        fill, pen = theme.boxes["repeat" if kind == "again" else kind]
        dash, width = OUTLINES[kind]
        sample = Outline((11.0, -0.32 * size), (20.0, 0.9 * size), 3.0, fill, Pen(pen, width, dash))
        return Block([sample], (27.0, size))
