"""Places of texts beside lines."""

from __future__ import annotations

from itertools import pairwise

import pytest

from gviz.layout.spots import Leg, Rect, Sides, TextPlaces


@pytest.mark.parametrize("wide", [60.0, 80.0, 100.0, 120.0])
def test_a_number_right_above_the_box_of_another_line_asks_for_more_room(wide: float) -> None:
    lines = [[(40.0, 0.0), (190.0, 75.0)], [(40.0, 75.0), (190.0, 75.0)]]
    boxes = [Rect(0, -15, 40, 15), Rect(0, 60, 40, 90), Rect(190, 55, 230, 95)]
    pieces = [Leg(*pair, number, 0.7) for number, line in enumerate(lines) for pair in pairwise(line)]
    places = TextPlaces(lines, [0.7, 0.7], pieces, boxes, [{0}, {1}])
    spots = places.beside([Sides((40.0, 12.0), (wide, 12.0)), Sides((40.0, 12.0), None)], [0, 1])
    below = spots[0][1]
    assert below is not None
    assert below.rect.meets(boxes[1].grown(0, 18)) <= (0 in places.narrow)
