"""``--color-by``: boxes in shades by the norm of their gradient or value."""

from __future__ import annotations

import re

import pytest

from gviz.layout import RenderWarning
from gviz.pictures.options import RenderOptions
from gviz.pictures.shades import DARK, GREY, LIGHT
from gviz.pictures.theme import THEMES
from gviz.render import render
from gviz.sources import SourceOptions, read

VALUES = {"a": 2, "b": 3, "c": 5, "d": 10}


def drawn(source: str, **look: str) -> str:
    """Return the picture of an expression as DOT."""
    values = VALUES if "d" in source else {"x": 3}
    graph = read(source, SourceOptions(values=values, flow=True)).graph
    return str(render(graph, "dot", RenderOptions(**look)))  # type: ignore[arg-type]


@pytest.mark.parametrize("view", ["torchviz", "dataflow", "teaching", "micrograd"])
def test_the_largest_and_the_smallest_have_their_shades_in_every_view(view: str) -> None:
    boxes = drawn("e=a*b+log(d)*c", view=view, color_by="grad-norm").split("ranksep")[1]
    assert {LIGHT[0], LIGHT[-1]} <= set(re.findall(r"#[0-9A-F]{6}", boxes))


def test_print_is_grey_and_dark_is_dark() -> None:
    assert GREY[-1] in drawn("e=a*b+log(d)*c", theme="print", color_by="value")
    assert DARK[-1] in drawn("e=a*b+log(d)*c", theme="dark", color_by="value")


def test_one_size_is_one_shade_of_the_scale() -> None:
    assert drawn("x", color_by="value").count("3  </TD>") == 1


def test_memory_and_time_are_those_of_operations_with_their_units() -> None:
    graph = read("y = exp(x*w).sum()", SourceOptions(values={"x": [1, 2], "w": [3, 4]}, costs=True)).graph
    memory, time = (str(render(graph, "dot", RenderOptions(color_by=measure))) for measure in ("memory", "time"))
    assert "bytes saved for backward from" in memory
    assert "8 B" in memory
    assert "16 B" not in memory, "16 is the largest: the scale says from where each shade begins"
    assert re.search(r"time of the call from.*[\d.]+ (µs|ms)", time)


def test_the_legend_has_no_colour_that_no_box_has() -> None:
    leaf, grey = (THEMES["torchviz"].boxes[kind].fill for kind in ("leaf", "operation"))
    by_value = drawn("e=a*b+log(d)*c", view="teaching", color_by="value")
    assert leaf not in by_value
    legend, _, boxes = drawn("e=a*b+log(d)*c", color_by="value").partition("ranksep")
    assert leaf not in legend
    assert grey in legend, "AccumulateGrad has no value and stays grey"
    assert grey in boxes


@pytest.mark.parametrize("view", ["torchviz", "dataflow", "teaching"])
def test_what_is_zero_has_a_look_of_its_own(view: str) -> None:
    faint = THEMES["torchviz"].faint
    graph = read("y=x*w", SourceOptions(values={"x": 3, "w": 0}, flow=True)).graph
    shown = str(render(graph, "dot", RenderOptions(view=view, color_by="value")))
    assert "exactly 0" in shown
    assert shown.count(faint) >= 3, "the scale, w and y"
    other = drawn("e=a*b+log(d)*c", view=view, color_by="value")
    assert "exactly 0" not in other
    assert faint not in other


@pytest.mark.parametrize(
    ("measure", "source", "why"),
    [
        ("grad-norm", SourceOptions(values={"x": 3}, backward=False, flow=True), "no backward ran"),
        ("time", SourceOptions(values={"x": 3}), "measured as a program runs, and this graph was made without"),
        ("value", SourceOptions(values={"x": 0}), "it is 0 in every box"),
    ],
)
def test_why_there_is_nothing_to_shade(measure: str, source: SourceOptions, why: str) -> None:
    graph = read("y=x*2", source).graph
    with pytest.warns(RenderWarning) as said:
        render(graph, "dot", RenderOptions(color_by=measure))
    assert any(f"nothing to colour by {measure}: " in str(one.message) and why in str(one.message) for one in said)
