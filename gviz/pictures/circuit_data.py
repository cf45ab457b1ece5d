"""A circuit as data, for a page that shows it step by step: pieces of ink with their owners, in names of colours."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import chain, groupby, pairwise
from typing import TypeAlias

from gviz.layout.ink import (
    Item,
    Outline,
    Pen,
    Stretch,
    TextLine,
    extent_of_ink,
    head_of,
    shifted,
    text_width,
    word_width,
)
from gviz.pictures.circuit_steps import CircuitScene
from gviz.pictures.steps import Step
from gviz.pictures.theme import Theme, colour_names
from gviz.text import visible

FONTS = {
    "mono": "{} var(--mono)",
    "mono-bold": "bold {} var(--mono)",
    "sans": "{} var(--sans)",
    "bold": "bold {} var(--sans)",
    "math": "italic {} var(--serif)",
}
"""Faces, as CSS has them, in the page's names."""

Piece: TypeAlias = list[object]
"""What becomes an element: the numbers of its look and of its place, and the text if it is one."""


def circuit_data(scene: CircuitScene, steps: list[Step], number: dict[str, int]) -> dict[str, object]:
    """Return the circuit: its pieces, and which of them are there at each step.

    Args:
        scene: the circuit.
        steps: those that are shown, in their order.
        number: of each node.

    Returns:
        ``parts``, what is behind first, each as its pieces, behind their owner (``card 3``, ``value 2``); the ``looks``
        of pieces, as rules of CSS, and their ``places``; ``frames``, of each step and at last of the whole circuit, as
        the parts that come and those that go; ``cards``, the node and the place of each by its number; ``wires``, each
        the edge that it is; ``size``.
    """
    left, top, right, bottom = extent_of_ink(scene.items)
    frames = [*(scene.seen(step) for step in steps), [*enumerate(scene.items)]]
    order: dict[str, tuple[int, Item]] = {}
    for frame in frames:
        for place, item in frame:
            order.setdefault(f"{place} {item}", (place, item))
    keys = sorted(order, key=lambda key: order[key][0])
    part_of = {key: part for part, key in enumerate(keys)}
    sets = [set[int](), *({part_of[f"{place} {item}"] for place, item in frame} for frame in frames)]
    ink = InkData(scene.theme)
    items = shifted((order[key][1] for key in keys), -left, -top)
    owned = groupby(items, key=lambda item: item.part)
    parts = [[owner, *([*chain.from_iterable(ink.pieces(item))] for item in same)] for owner, same in owned]
    outlines = [item for item in shifted(scene.items, -left, -top) if isinstance(item, Outline) and item.part]
    numbers = [int(item.part.split()[1]) for item in outlines]
    cards = {at: [number[scene.cards[at].node], *corner_of(item)] for at, item in zip(numbers, outlines, strict=True)}
    return {
        "parts": parts,
        "looks": list(ink.looks),
        "places": [json.loads(place) for place in ink.places],
        "frames": [[sorted(now - before), sorted(before - now)] for before, now in pairwise(sets)],
        "cards": cards,
        "wires": [scene.edges[scene.cards[wire.target].node, wire.slot] for wire in scene.wires],
        "size": [round(right - left), round(bottom - top)],
    }


class InkData:
    """Makes pieces of ink.

    Args:
        theme: whose colours they have.
    """

    def __init__(self, theme: Theme) -> None:
        self.names = {colour: f"var(--{name})" for name, colour in reversed(colour_names(theme).items())}
        self.looks: dict[str, int] = {}
        self.places: dict[str, int] = {}

    def piece(self, rules: str, place: str | list[float], *text: str) -> Piece:
        """Return a piece by the numbers of its look and its place."""
        look = self.looks.setdefault(rules, len(self.looks))
        return [look, self.places.setdefault(json.dumps(place), len(self.places)), *text]

    def pen(self, pen: Pen) -> str:
        """Return the rules of a line, or of an outline."""
        dash = f";stroke-dasharray:{','.join(f'{part:.3g}' for part in pen.dash)}" if pen.dash else ""
        return f"stroke:{self.names[pen.colour]};stroke-width:{pen.width:.3g}{dash}" if pen.colour else "stroke:none"

    def pieces(self, item: Item) -> Iterator[Piece]:
        """Yield the pieces of ink."""
        if isinstance(item, Outline):
            fill = self.names.get(item.fill, "none")
            yield self.piece(f"fill:{fill};{self.pen(item.pen)}", [*corner_of(item), tenth(item.radius)])
        elif isinstance(item, TextLine):
            x = item.place[0] - text_width(item.words, item.size) / 2 * item.is_centred
            for word in item.words:
                wide = word_width(word, item.size)
                face = "mono-bold" if word.is_bold and word.face == "mono" else word.face
                rules = f"font:{FONTS[face].format(f'{item.size:.3g}px')};fill:{self.names[word.colour or item.colour]}"
                place = [tenth(x + wide / 2), tenth(item.place[1]), tenth(wide) if len(word.text) > 1 else 0]
                yield self.piece(rules, place, visible(word.text))
                x += wide
        else:
            yield self.piece(self.pen(item.pen), path_text(item))
            for tip, base in item.heads:
                _, left, right = head_of(tip, base, item.size)
                along = (tip[at] - (left[at] + right[at]) / 2 for at in (0, 1))
                yield self.piece(f"fill:{self.names[item.pen.colour]}", [*map(tenth, (*tip, *along))])


def corner_of(item: Outline) -> list[float]:
    """Return the place of a rectangle by its corner, its width and its height."""
    (x, y), (wide, high) = item.middle, item.size
    return [tenth(x - wide / 2), tenth(y - high / 2), tenth(wide), tenth(high)]


def path_text(item: Stretch) -> str:
    """Return a line as SVG's path."""
    letters = ["M", *("C" if len(stroke) > 2 else "L" for stroke in item.strokes[1:])]
    return "".join(
        letter + " ".join(f"{tenth(part):g}" for part in stroke)
        for letter, stroke in zip(letters, item.strokes, strict=True)
    )


def tenth(number: float) -> float:
    """Return a place as precise as it is drawn; a whole number without decimals."""
    rounded = round(number, 1)
    return int(rounded) if rounded.is_integer() else rounded
