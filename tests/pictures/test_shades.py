"""``--color-by``: boxes in shades by the norm of their gradient or value."""

from __future__ import annotations

import re

import pytest

from gviz.pictures.options import RenderOptions
from gviz.pictures.shades import DARK, GREY, LIGHT
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
