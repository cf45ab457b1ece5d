"""gviz's own layout: no line goes through a box, the main line is straight, and it takes anything."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import combinations, pairwise

import pytest

from gviz.layout.layered import Places, layered
from gviz.layout.layered.ranks import ranks_of
from gviz.layout.spots import count_crossings

Ends = tuple[int, int]


def recurrent(steps: int) -> list[Ends]:
    """A chain of steps, each of a product, a sum and a tanh, with two parameters beside it; the states go to the end."""
    lines: list[Ends] = []
    last = -1
    for step in range(steps):
        weight, bias, product, total, tanh = range(5 * step, 5 * step + 5)
        lines += [(weight, product), (product, total), (bias, total), (total, tanh), (tanh, 5 * steps)]
        lines += [(last, product)] if last >= 0 else []
        last = tanh
    return lines


def residual(blocks: int) -> list[Ends]:
    """Blocks of three with a line around each, and a parameter for each box of them."""
    lines: list[Ends] = []
    count, last = 1, 0
    for _ in range(blocks):
        start = last
        for _ in range(3):
            lines += [(count, count + 1), (last, count + 1)]
            last, count = count + 1, count + 2
        lines += [(start, count), (last, count)]
        last, count = count, count + 1
    return lines


def chance(count: int, seed: int) -> list[Ends]:
    """Boxes that use others near by."""
    draw = random.Random(seed)  # noqa: S311 - a graph, not a key
    return [
        (max(0, i - 1 - int(draw.expovariate(0.1))), i) for i in range(1, count) for _ in range(draw.choice((1, 2)))
    ]


def mesh(width: int, rows: int) -> list[Ends]:
    return [
        (row * width + (column + right) % width, (row + 1) * width + column)
        for row in range(rows)
        for column in range(width)
        for right in (0, 1)
    ]


GRAPHS = {
    "recurrent": recurrent(30),
    "residual": residual(12),
    "chance": chance(120, 1),
    "mesh": mesh(8, 20),
    "star": [(i, 300) for i in range(300)],
    "twins": [(0, 1), (0, 1), (0, 1), (1, 2), (0, 2)],
}


def sizes_of(lines: Sequence[Ends]) -> list[tuple[float, float]]:
    draw = random.Random(0)  # noqa: S311 - sizes, not a key
    return [(draw.uniform(30, 140), draw.choice((18.0, 30.0, 45.0))) for _ in range(1 + max(map(max, lines)))]


def points_of(strokes: Sequence[tuple[float, ...]]) -> Iterator[tuple[float, float]]:
    """Points of a line, some three of them apart."""
    for before, stroke in pairwise(strokes):
        x, y = before[-2:]
        pulls = stroke if len(stroke) == 6 else (x, y, *stroke, *stroke)
        a, b, c, d, u, v = pulls
        count = int((abs(u - x) + abs(v - y)) / 3) + 2
        for step in range(count + 1):
            t = step / count
            s = 1 - t
            yield (
                s**3 * x + 3 * s * s * t * a + 3 * s * t * t * c + t**3 * u,
                s**3 * y + 3 * s * s * t * b + 3 * s * t * t * d + t**3 * v,
            )


def overlapping(places: Places, sizes: Sequence[tuple[float, float]]) -> int:
    """How many boxes lie over each other."""
    boxes = [(x - w / 2, x + w / 2, y - h / 2, y + h / 2) for (x, y), (w, h) in zip(places.middles, sizes, strict=True)]
    return sum(
        a[0] < b[1] - 0.5 and b[0] < a[1] - 0.5 and a[2] < b[3] - 0.5 and b[2] < a[3] - 0.5
        for a, b in combinations(boxes, 2)
    )


def through_boxes(places: Places, sizes: Sequence[tuple[float, float]], lines: Sequence[Ends]) -> int:
    """How many lines go through a box that they do not join."""
    cells = defaultdict(list)
    for box, ((x, y), (w, h)) in enumerate(zip(places.middles, sizes, strict=True)):
        for row in range(int((y - h / 2) // 50), int((y + h / 2) // 50) + 1):
            cells[row].append((box, x - w / 2 + 1, x + w / 2 - 1, y - h / 2 + 1, y + h / 2 - 1))
    return sum(
        any(
            box not in ends and left < x < right and top < y < low
            for x, y in points_of(strokes)
            for box, left, right, top, low in cells[int(y // 50)]
        )
        for strokes, ends in zip(places.lines, lines, strict=True)
        if strokes
    )


@pytest.mark.parametrize("name", GRAPHS)
@pytest.mark.parametrize("may_cut", [False, True])
def test_no_line_goes_through_a_box_and_no_boxes_overlap(name: str, *, may_cut: bool) -> None:
    lines = GRAPHS[name]
    sizes = sizes_of(lines)
    places = layered(sizes, lines, may_cut=may_cut)
    assert not through_boxes(places, sizes, lines)
    assert not overlapping(places, sizes)
    assert all(0 <= x <= places.size[0] and 0 <= y <= places.size[1] for x, y in places.middles)


@pytest.mark.parametrize("name", ["recurrent", "residual"])
def test_the_main_line_is_vertical_and_nothing_crosses(name: str) -> None:
    lines = GRAPHS[name]
    places = layered(sizes_of(lines), lines, may_cut=False)
    across = [x for x, _ in places.middles]
    vertical = [(u, v) for u, v in lines if abs(across[u] - across[v]) < 1]
    longest, straight = (max(ranks_of([1] * len(across), ends)) for ends in (lines, vertical))
    assert straight == longest
    assert not count_crossings(
        [[(stroke[-2], stroke[-1]) for stroke in strokes] for strokes in places.lines if strokes]
    )


def test_lines_of_one_box_share_a_trunk_and_each_ends_with_a_head_or_in_it() -> None:
    lines = recurrent(40)
    places = layered(sizes_of(lines), lines)
    trunk = [head for head, (_, target) in zip(places.heads, lines, strict=True) if target == 200]
    assert trunk.count(True) == 2  # that of the last step, and the trunk of all others
    assert all(places.lines)


def test_lines_of_different_looks_share_nothing() -> None:
    chain = [(i, i + 1) for i in range(5)]
    alike, unlike = (layered([(40, 20)] * 6, [*chain, (0, 3), (0, 5)], [0] * 5 + looks) for looks in ([0, 0], [0, 1]))
    starts = [strokes[0] for strokes in unlike.lines[5:] if strokes]
    assert [start[1] for start in starts] == [20.0, 20.0]
    assert alike.lines[6] != unlike.lines[6]


def test_both_lines_of_a_square_can_be_seen() -> None:
    first, second = layered([(60, 20)] * 2, [(0, 1), (0, 1)]).lines
    assert first
    assert second
    assert first[0][0] + 6 == second[0][0]


def test_a_long_picture_goes_on_in_columns_and_a_wide_row_below() -> None:
    chain = [(i, i + 1) for i in range(500)]
    wide, high = layered([(80, 20)] * 501, chain).size
    assert 0.3 < wide / high < 3
    wide, high = layered([(80, 20)] * 3_001, [(i, 3_000) for i in range(3_000)]).size
    assert wide < 6 * high


def test_it_takes_any_graph() -> None:
    assert layered([], []).size == (0, 0)
    assert layered([(40, 20)] * 3, []).size[1] == 20
    for lines in ([(0, 0)], [(0, 1), (1, 0)], [(0, 1), (1, 2), (2, 1), (2, 2), (2, 3)]):
        places = layered([(40, 20)] * 4, lines)
        assert len(set(places.middles)) == 4
    rows = ranks_of([1] * 4, [(0, 1), (1, 2), (2, 1), (2, 3)])
    assert rows[0] < rows[1]
    assert rows[2] < rows[3]


def test_one_box_with_very_many_inputs_and_very_many_roots_take_seconds() -> None:
    star = [(i, 50_000) for i in range(50_000)]
    assert all(layered([(60, 20)] * 50_001, star).lines)
    roots = [(i % 20, 20 + i) for i in range(1_000)]
    assert all(layered([(60, 20)] * 1_020, roots).lines)


def test_equal_graphs_get_equal_places() -> None:
    lines = GRAPHS["chance"]
    assert layered(sizes_of(lines), lines) == layered(sizes_of(lines), lines)


@pytest.mark.parametrize("count", [1, 2, 3])
def test_lines_between_the_same_boxes_lie_side_by_side_around_the_middle(count: int) -> None:
    places = layered([(40, 20)] * 2, [(0, 1)] * count)
    begins = [strokes[0][0] for strokes in places.lines if strokes]
    assert len({*begins}) == count
    assert sum(begins) / count == pytest.approx(places.middles[0][0])
