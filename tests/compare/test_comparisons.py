"""Both forms of a program: they agree, what differs is found, and one is built anew in each run; no time is asserted."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from gviz import engine
from gviz.compare.measuring import Agreement, Comparison, ProgramPair, Static, agreement_of, distance, measure
from gviz.compare.picture import bars, seconds, side_by_side
from gviz.compare.programs import articles, of_expression
from gviz.options import SourceOptions
from gviz.render import render


def test_a_feeds_values_are_those_that_are_fed() -> None:
    pair, _ = of_expression("y=x*w", SourceOptions(values={"w": "2"}), feeds=[{"x": "3"}, {"x": "5", "w": "7"}])
    assert [[v.item() for v in pair.run(feed)] for feed in pair.feeds] == [[6, 2, 3], [35, 7, 5]]
    static = pair.build()
    assert [[float(v) for v in static.run(feed)] for feed in pair.feeds] == [[6, 2, 3], [35, 7, 5]]


def test_feeds_near_the_values_are_the_same_each_time() -> None:
    first, second = (of_expression("y=x*w", SourceOptions(values={"x": "[1, 2]"}), runs=4)[0].feeds for _ in range(2))
    assert [[list(x), w] for x, w in first] == [[list(x), w] for x, w in second]
    assert (list(first[0][0]), first[0][1]) == ([1, 2], 1)
    assert len({w for _, w in first}) == 4
    assert all(0.9 <= w <= 1.1 for _, w in first)


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("y=relu(x@W+b).sum()", {"x": "[[1,-2]]", "W": "[[1,2],[3,4]]", "b": "[0.5,0.5]"}),
        ("y=x.T@x", {"x": "ones(3,2)"}),
        ("y=softmax(x, dim=0)", {"x": "[1,2,3]"}),
        ("y=cat([a, b])*2", {"a": "[1,2]", "b": "[3]"}),
        ("y=x.transpose(0, 1).reshape(2, 3)*(1/2)", {"x": "[[1,2],[3,4],[5,6]]"}),
        ("y=a*floor(b)", {}),  # no derivative in TensorFlow, zeros in PyTorch
        ("z=a*b; y=-z+a*pi; y=where(y > z, y, z)", {}),
        ("y=a.detach()*b", {}),
        ("y=a*sqrt(2)+exp(1)", {}),
        ("y=log(a)/(a-a)", {"a": "-1"}),
    ],
)
def test_both_forms_agree(text: str, values: dict[str, str]) -> None:
    pair, _ = of_expression(text, SourceOptions(values=values), runs=3)
    count, _, differs, *_ = agreement_of(pair.build(), pair)
    assert count > 0
    assert differs is None


def test_a_wrong_number_a_wrong_shape_and_a_lost_gradient_are_found() -> None:
    def differs(theirs: Any) -> int | None:
        static = Static(None, lambda feed: [engine.tensor([1.0, 2.0]).numpy()], 1)
        return agreement_of(static, ProgramPair("", "", lambda: static, lambda feed: [theirs], [(), ()], 1, 1))[2]

    assert differs(engine.tensor([1.0, 2.0])) is None
    assert differs(engine.tensor([1.0, 2.0000001])) is None
    assert differs(engine.tensor([1.0, 2.001])) == 1
    assert differs(engine.tensor([1.0, float("nan")])) == 1
    assert differs(engine.tensor([1.0])) == 1
    assert differs(None) == 1
    assert distance(None, engine.zeros(2)) == (2, 0.0, True)
    assert distance(None, engine.ones(2))[2] is False


def test_the_dynamic_form_is_built_in_each_run_and_the_static_one_is_not() -> None:
    calls = {"build": 0, "run": 0}
    pair, _ = of_expression("y=x*x", SourceOptions(), runs=2)

    def built() -> Static:
        calls["build"] += 1
        return pair.build()

    def run(feed: Any) -> Any:
        calls["run"] += 1
        return pair.run(feed)

    result = measure(ProgramPair("", "", built, run, pair.feeds, 1, 1, results=pair.results))
    assert calls["build"] < 20 < calls["run"]
    assert result.numbers.differs is None


def test_when_building_has_paid() -> None:
    pair = ProgramPair("", "", lambda: Static(None, lambda feed: [], 0), lambda feed: [], [()], 0, 0)

    def after(build_time: float, static: float, dynamic: float) -> int | None:
        return Comparison(pair, pair.build(), build_time, static, dynamic, Agreement(0, 0.0, None)).paid_after

    assert after(10, 1, 3) == 5
    assert after(11, 1, 3) == 6
    assert after(10, 3, 3) is None
    assert after(10, 4, 3) is None


def test_bars_fit_their_width() -> None:
    pair = ProgramPair("", "", lambda: Static(None, lambda feed: [], 0), lambda feed: [], [()], 0, 0)
    result = Comparison(pair, pair.build(), 1.0, 5e-6, 50e-6, Agreement(0, 0.0, None))
    for width in (10, 30, 80):
        short, long = bars(result, width, "#")
        assert short.count("#") >= 1
        assert long.endswith("# 50 µs")
        assert len(long) <= max(width, len("dynamic  # 50 µs"))
    assert bars(result, 80, "#")[0].count("#") == round(bars(result, 80, "#")[1].count("#") / 10)
    assert [seconds(t) for t in (9.96e-7, 1e-3, 0.9999, 59)] == ["1.0 µs", "1.0 ms", "1.0 s", "59.0 s"]


def test_the_table_of_the_docs_agrees_with_itself_and_with_what_is_built() -> None:
    text = (Path(__file__).parents[2] / "docs" / "static.md").read_text(encoding="utf-8")
    head, _, *rows = [line.strip("| ").split(" | ") for line in text.splitlines() if line.startswith("| ")]
    units = {"µs": 1e-6, "ms": 1e-3, "s": 1.0}
    for row, pair in zip(rows, articles(50), strict=True):
        cells = dict(zip(head, row, strict=True))
        assert int(cells["operations built, static"]) == len(pair.build().graph.operations)
        assert int(cells["dynamic"]) == 50 * pair.recorded
        times = [cells[name].split() for name in ("to build", "a static run", "a dynamic run")]
        build, static, dynamic = (float(number) * units[unit] for number, unit in times)
        assert float(cells["ratio"]) == pytest.approx(static / dynamic, rel=0.06, abs=0.006)
        assert int(cells["paid after"].split()[0]) == pytest.approx(build / (dynamic - static), rel=0.1, abs=1.1)


def test_an_expression_of_ones_own_says_what_the_real_tensorflow_does() -> None:
    for backward in (True, False):
        pair, _ = of_expression("y=x*w", SourceOptions(backward=backward), runs=2)
        assert "the session is slower than eager on a few operations without gradients, 2.3 times" in pair.in_tensorflow


def test_numbers_that_are_nan_are_counted_apart() -> None:
    pair, _ = of_expression("y=sqrt(a)", SourceOptions(values={"a": "-1"}), runs=3)
    count, _, differs, _, not_finite = agreement_of(pair.build(), pair)
    assert (count, differs, not_finite) == (6, None, 6)


@pytest.mark.parametrize("text", ["y=a*tanh(b+a)", "y=(c-b)*tanh(a)", "y=(d*(a-b))-(c-(a*tanh(c)))"])
def test_inputs_stand_in_one_order_left_and_right(text: str) -> None:
    pair, _ = of_expression(text, SourceOptions(), runs=1)
    graph = side_by_side([Comparison(pair, pair.build(), 0.1, 0.1, 0.1, Agreement(1, 0.0, None))])
    boxes = re.findall(r'<g class="node">\s*<title>[^<]*</title>(.*?)</g>', str(render(graph, "svg")), re.DOTALL)
    places: dict[bool, list[tuple[float, str]]] = {True: [], False: []}
    for box in (box for box in boxes if "Placeholder" in box or "grad =" in box):
        x, name = re.findall(r'<text[^>]* x="([^"]*)"[^>]*font-weight="bold"[^>]*>(\w)<', box)[0]
        places["Placeholder" in box].append((float(x), name))
    left, right = ([name for _, name in sorted(side)] for side in places.values())
    assert len(left) > 1
    assert left == right
