"""``gviz compare``: what it counts, checks, draws and refuses; how long anything takes is nobody's business here."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from program import Program

from gviz.graph import Graph
from gviz.sources.compare import Comparison, Pair, Static, check, compare, distance
from gviz.sources.compare_picture import bars, seconds
from gviz.sources.compare_programs import of_expression
from gviz.sources.names import load_engine
from gviz.sources.options import SourceOptions
from gviz.sources.static_source import build

E = ("e=a*b+log(d)*c", "a=2", "b=3", "c=5", "d=10")


def found(gviz: Program, *words: object) -> dict[str, Any]:
    """The one comparison of ``--json``."""
    done = gviz("compare", *words, "--json")
    assert done.status == 0, done.err
    (row,) = done.json()["comparisons"]
    assert isinstance(row, dict)
    return row


def test_an_expression_is_built_once_and_anew_and_gives_the_same_numbers(gviz: Program) -> None:
    row = found(gviz, *E, "--runs", 7)
    assert (row["runs"], row["same"], row["compared"]) == (7, True, 7 * 5)
    static, dynamic = row["static"], row["dynamic"]
    assert (static["graphs"], static["operations"], static["operations_in_all"]) == (1, 14, 14)
    assert (dynamic["graphs"], dynamic["operations"], dynamic["operations_in_all"]) == (7, 8, 56)
    assert dynamic["computed"] == 4 + 4 + 4  # forward, backward, and what is added to the leaves
    assert 0 < static["computed"] < static["operations"]
    assert static["build"] > 0
    assert row["ratio"] == pytest.approx(static["run"] / dynamic["run"])


def test_frozen_names_may_have_commas_as_in_other_commands(gviz: Program) -> None:
    assert found(gviz, "y=a*b*c", "--frozen", "a,b", "--runs", 2)["computes"] == "the value and the gradients of c"


def test_the_table_says_what_is_built_and_that_times_are_of_this_machine(gviz: Program) -> None:
    done = gviz("compare", *E, "--runs", 3)
    assert done.status == 0, done.err
    lines = [line.split() for line in done.out.splitlines()]
    assert ["graphs", "built", "1", "3"] in lines
    assert ["operations", "in", "all", "14", "24"] in lines
    for phrase in ("Both give the same numbers: 15 compared", "this machine", "static / dynamic: ", "garbage collector"):
        assert phrase in " ".join(done.out.split())
    assert sum("█" in line for line in done.out.splitlines()) == 2
    assert "\x1b" not in done.out


def test_without_a_source_the_articles_programs_are_compared(gviz: Program) -> None:
    done = gviz("compare", "--runs", 2, "--json")
    assert done.status == 0, done.err
    power, gradients, values = done.json()["comparisons"]
    assert power["program"].startswith("power(x, 100)")
    assert (power["static"]["operations"], power["dynamic"]["operations_in_all"]) == (102, 202)
    assert (power["same"], power["compared"]) == (True, 200)
    assert gradients["computes"] == "the value and the gradients of a, b, d, c"
    assert values["computes"] == "the value, no gradients"
    assert [row["in_tensorflow"] is not None for row in (power, gradients, values)] == [True] * 3


def test_feeds_come_from_a_file_and_the_command_line_fills_in(gviz: Program) -> None:
    (gviz.folder / "feeds.json").write_text('[{"x": [1, 2]}, {"x": [3, 4]}, {"x": [5, 6], "w": 3}]')
    row = found(gviz, "y=x*w", "w=2", "--feeds", "feeds.json")
    assert (row["runs"], row["compared"], row["same"]) == (3, 3 * (2 + 2 + 1), True)


def test_a_feeds_values_are_those_that_are_fed(tmp_path: Path) -> None:
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
        ("y=log(a)/(a-a)", {"a": "-1"}),
    ],
)
def test_both_forms_agree(text: str, values: dict[str, str]) -> None:
    pair, _ = of_expression(text, SourceOptions(values=values), runs=3)
    count, _, differs = check(pair.build(), pair)
    assert count > 0
    assert differs is None


def test_what_differs_is_said(gviz: Program) -> None:
    done = gviz("compare", "y=maximum(a,b)", "a=1", "b=1", "--runs", 2)
    assert done.status == 1
    assert "NOT the same, first in run 1" in done.out


def test_a_wrong_number_a_wrong_shape_and_a_lost_gradient_are_found() -> None:
    engine = load_engine()

    def differs(theirs: Any) -> int | None:
        static = Static(None, lambda feed: [engine.tensor([1.0, 2.0]).numpy()], 1)
        return check(static, Pair("", "", lambda: static, lambda feed: [theirs], [(), ()], 1, 1))[2]

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

    result = compare(Pair("", "", built, run, pair.feeds, 1, 1))
    assert calls["build"] < 20 < calls["run"]
    assert result.differs is None


def test_when_building_has_paid() -> None:
    pair = Pair("", "", lambda: Static(None, lambda feed: [], 0), lambda feed: [], [()], 0, 0)

    def after(build_time: float, static: float, dynamic: float) -> int | None:
        return Comparison(pair, pair.build(), build_time, static, dynamic, 0, 0.0, None).paid_after

    assert after(10, 1, 3) == 5
    assert after(11, 1, 3) == 6
    assert after(10, 3, 3) is None
    assert after(10, 4, 3) is None


def test_bars_fit_their_width() -> None:
    pair = Pair("", "", lambda: Static(None, lambda feed: [], 0), lambda feed: [], [()], 0, 0)
    result = Comparison(pair, pair.build(), 1.0, 5e-6, 50e-6, 0, 0.0, None)
    for width in (10, 30, 80):
        short, long = bars(result, width, "#")
        assert short.count("#") >= 1
        assert long.endswith("# 50 us")
        assert len(long) <= max(width, len("dynamic  # 50 us"))
    assert bars(result, 80, "#")[0].count("#") == round(bars(result, 80, "#")[1].count("#") / 10)
    assert [seconds(t) for t in (9.96e-7, 1e-3, 0.9999, 59)] == ["1.0 us", "1.0 ms", "1.0 s", "59.0 s"]


def test_one_picture_has_both_graphs_side_by_side(gviz: Program) -> None:
    done = gviz("compare", *E, "--runs", 4, "-o", "both.json")
    assert done.status == 0, done.err
    graph = Graph.from_json((gviz.folder / "both.json").read_text())
    titles = {node.scope.partition("/")[0].split("\n")[0].strip() for node in graph.nodes}
    assert titles == {"static: built once, run 4 times", "dynamic: built 4 times"}
    labels = {node.label for node in graph.nodes}
    assert {"Placeholder", "AddV2", "AddBackward0", "AccumulateGrad"} <= labels
    assert all(edge.source[0] == edge.target[0] for edge in graph.edges)
    text = gviz("compare", *E, "--runs", 4, "-o", "-").out
    assert text.count('subgraph "cluster_static: built once') == 5  # it, gradients, and three scopes therein
    assert text.count('subgraph "cluster_dynamic: built 4 times') == 1
    assert "4 x 8 = 32 operations" in text
    assert text.count("a run    █") == 2


@pytest.mark.parametrize("suffix", ["svg", "pdf", "dot", "txt"])
def test_the_picture_has_every_format(gviz: Program, suffix: str) -> None:
    done = gviz("compare", "y=x*w", "--no-backward", "--runs", 2, "-o", f"y.{suffix}")
    assert done.status == 0, done.err
    assert done.files() == [f"y.{suffix}"]
    assert "the value, no gradients" in done.out


@pytest.mark.parametrize(
    ("content", "phrases"),
    [
        ("nope", ["this is no JSON", "such a file looks like"]),
        ('{"a": 1}', ["holds no list of feeds"]),
        ("[]", ["holds no list of feeds"]),
        ('[{"a": 1, "b": 2}, 3]', ["holds no list of feeds"]),
        ('[{"a": null, "b": 2}]', ["the value of 'a' is neither a number nor a list"]),
        ('[{"a": 1, "b": 2}, {"a": 1}]', ["feed 2: b is missing", "for all feeds: b=1"]),
        ('[{"a": 1, "b": 2, "q": 3}]', ["feed 1: there is no value called q", "the values are a, b"]),
        ('[{"a": 1, "b": 2}, {"a": 1, "b": [1, 2]}]', ["feed 2: b has shape (2,), but the placeholder has shape ()"]),
        ('[{"a": "x y", "b": 2}]', ["there is no operator between x and y"]),
    ],
)
def test_feeds_that_are_not_right(gviz: Program, content: str, phrases: list[str]) -> None:
    (gviz.folder / "feeds.json").write_text(content)
    gviz("compare", "y=a*b", "--feeds", "feeds.json").assert_refused(*phrases, files=("feeds.json",))


@pytest.mark.parametrize(
    ("words", "phrase"),
    [
        (["y=x", "--feeds", "none.json"], "there is no file none.json"),
        (["train.py"], "gviz compare takes an expression"),
        (["graph.json"], "gviz compare takes an expression"),
        (["y=cumsum(a,0)"], "cumsum is not there in gviz's static graphs"),
        (["y=a*9**9**9"], "digits"),
        (["y=a*(1/0)"], "division by zero"),
        (["y=a<b"], "y has no graph"),
        (["y=a@b", "a=[[1,2]]", "b=[[1,2]]"], "1"),
        (["y=a*b", "--root", "q"], "--root q: there is no tensor of that name"),
        (["y=a*b", "-o", "x.foo"], "there is no format 'foo'"),
    ],
)
def test_sources_that_are_not_right(gviz: Program, words: list[str], phrase: str) -> None:
    gviz("compare", *words).assert_refused(phrase)


@pytest.mark.parametrize(
    ("words", "phrase"),
    [
        (["y=x", "--runs", "0"], "--runs"),
        (["y=x", "--runs", "-3"], "--runs"),
        (["y=x", "--runs", "3", "--feeds", "f.json"], "take one"),
        (["--feeds", "f.json"], "--feeds needs a SOURCE"),
        (["--dtype", "float64"], "--dtype needs a SOURCE"),
        (["y=x", "--format", "png"], "-o FILE"),
        (["y=x", "--json", "-o", "-"], "take one"),
        (["y=x", "2"], "'2' is no NAME=VALUE"),
    ],
)
def test_wrong_usage(gviz: Program, words: list[str], phrase: str) -> None:
    gviz("compare", *words).assert_refused(phrase, "gviz compare --help has an example", status=2)


def test_two_numbers_of_a_static_expression_are_pythons() -> None:
    ops = build("y=a*(1/2)+2*pi", SourceOptions()).graph.get_operations()
    assert [op.type for op in ops] == ["Placeholder", "Const", "Mul", "Const", "AddV2"]
    assert json.dumps([float(op.attrs["value"]) for op in ops if op.type == "Const"])[:9] == "[0.5, 6.2"
