"""Steps on a circuit: what is known by then is there, what a step is about is lit, and nothing moves."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from gviz import RenderOptions, SourceOptions, read
from gviz.graphs import Graph
from gviz.layout.ink import Outline, Stretch, TextLine, extent_of_ink
from gviz.pictures.circuit_steps import CircuitSlide, circuit_slides
from gviz.pictures.look import PAGES
from gviz.render import series

Y, VALUES = "y=(x+w)*(w+1)", {"x": 2, "w": 1}
LIGHT = RenderOptions(theme="light")


def graph_of(source: str, values: Mapping[str, Any] | None = None, **options: Any) -> Graph:
    return read(source, SourceOptions(values=values or {}, flow=True, **options)).graph


def slides_of(graph: Graph, options: RenderOptions = LIGHT) -> list[CircuitSlide]:
    return circuit_slides(graph, options, PAGES["slide"])


def texts(slide: CircuitSlide, word: str) -> list[str]:
    """The texts of the parts of a circuit of a kind, such as ``grad``, on a slide."""
    items = [one for one in slide.picture.items() if one.part.rpartition(" ")[0] == word]
    return ["".join(run.text for run in one.words) for one in items if isinstance(one, TextLine)]


def test_a_value_is_there_when_it_is_computed_and_a_gradient_when_it_comes() -> None:
    slides = slides_of(graph_of(Y, VALUES))
    assert [sorted(texts(slide, "value")) for slide in slides[:3]] == [
        ["1", "1", "2"],
        ["1", "1", "2", "3"],
        ["1", "1", "2", "2", "3"],
    ]
    assert [texts(slide, "grad") for slide in slides[:5]] == [[]] * 5
    assert [sorted(texts(slide, "grad")) for slide in slides[5:]] == [
        ["2", "3"],
        ["2", "3", "3"],
        *[["2", "2", "2", "3", "3"]] * 2,
    ]
    assert [texts(slide, "end value") for slide in slides[2:4]] == [[], ["6"]]
    assert [texts(slide, "end grad") for slide in slides[3:5]] == [[], ["1"]]


def test_a_sum_is_there_when_its_last_part_has_come() -> None:
    slides = slides_of(graph_of(Y, VALUES))
    sums = [texts(slide, "total") for slide in slides]
    assert sums == [[]] * 7 + [["2 + 3 = 5"]] * 2


def test_results_have_the_letters_that_the_captions_call_them_by() -> None:
    last = slides_of(graph_of(Y, VALUES))[-1]
    assert texts(last, "name") == ["a", "b"]


def test_what_is_to_come_is_faint_and_what_a_step_is_about_is_lit() -> None:
    def fills(slide: CircuitSlide) -> list[str]:
        cards = (one for one in slide.picture.items() if isinstance(one, Outline) and one.part.startswith("card "))
        return [card.fill for card in cards if card.radius > 20]

    page, lit, usual, root = "#FFFFFF", "#FFF3B0", "#F4F4F4", "#D3EBBF"
    first, second, *_, last = map(fills, slides_of(graph_of(Y, VALUES)))
    assert sorted(first) == [page] * 3
    assert sorted(second) == sorted([lit, page, page])
    assert sorted(last) == sorted([usual, usual, root])


def test_an_arrow_turns_round_for_the_gradient() -> None:
    slides = slides_of(graph_of(Y, VALUES))
    lines = [
        {one.part: one for one in slide.picture.items() if isinstance(one, Stretch) and one.part.startswith("wire ")}
        for slide in (slides[-1], slides[5])
    ]
    back = [part for part, line in lines[1].items() if line.pen.colour == "#A63200"]
    assert len(back) == 2, "to both operands of the product"
    for part in back:
        ((tip, _),) = lines[1][part].heads
        start = lines[0][part].strokes[0]
        assert tip == pytest.approx(start[-2:]), "the head is where the line begins"


@pytest.mark.parametrize("source", [Y, "L=(tanh(w*x+b)-t)**2", "y=sum(relu(x@W+b))", "y=x*x"])
@pytest.mark.parametrize("theme", ["torchviz", "dark", "print"])
def test_nothing_moves_and_nothing_of_a_step_before_is_gone(source: str, theme: str) -> None:
    values = {"x": [[1, 2]], "W": [[1, -2], [3, -4]], "b": [0.5, 0.5]} if "@" in source else {}
    known: dict[str, set[tuple[float, float]]] = {}
    for slide in slides_of(graph_of(source, values), RenderOptions(theme=theme)):
        own: dict[str, set[tuple[float, float]]] = {}
        for one in slide.picture.items():
            if one.part and not isinstance(one, Stretch):
                own.setdefault(one.part, set()).add(one.place if isinstance(one, TextLine) else one.middle)
        assert known.items() <= {part: places for part, places in own.items() if part in known}.items()
        known = own


def test_by_line_the_code_stands_beside_the_circuit_with_the_line_that_runs_lit() -> None:
    graph = read("a = x + w\ny = a*w", SourceOptions(flow=True, lines=True)).graph
    slides = slides_of(graph, RenderOptions(theme="light", every="line"))
    codes = [
        [
            one
            for one in slide.picture.items()
            if isinstance(one, TextLine) and one.words[0].face == "mono" and one.words[0].text.strip() in "12"
        ]
        for slide in slides
    ]
    assert [len(code) for code in codes] == [2] * len(slides)
    lit = [
        [one.middle[1] for one in slide.picture.items() if isinstance(one, Outline) and not one.part]
        for slide in slides
    ]
    assert [len(rows) for rows in lit[:3]] == [1, 1, 0]
    assert lit[0] < lit[1]


def test_large_graphs_have_slides_by_graphviz() -> None:
    assert slides_of(graph_of(Y))
    assert not slides_of(graph_of("; ".join(["a0=x*w", *[f"a{number + 1}=tanh(a{number})" for number in range(30)]])))
    assert not slides_of(graph_of("; ".join(["a0=x*w", *[f"a{number + 1}=tanh(a{number})" for number in range(50)]])))


def test_the_same_steps_make_the_same_bytes() -> None:
    graph = graph_of(Y, VALUES)
    assert series.render(graph, "pdf", LIGHT) == series.render(graph_of(Y, VALUES), "pdf", LIGHT)


def test_a_title_of_two_lines_stands_above_the_circuit() -> None:
    text = "first=tanh(left*right); second_result=tanh(first+shift); loss_of_all=(second_result*first-target_value)**2"
    slide = slides_of(graph_of(text))[-1]
    items = [*slide.picture.items()]
    title = [one for one in items if isinstance(one, TextLine) and not one.part and one.place[1] < 200]
    assert len({round(one.place[1]) for one in title}) > 1
    circuit = [one for one in items if one.part]
    assert extent_of_ink(title)[3] < extent_of_ink(circuit)[1]
