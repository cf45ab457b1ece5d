"""``gviz compare``: what it counts, checks, draws and refuses; how long anything takes is nobody's business here."""

from __future__ import annotations

import re
from typing import Any

import pytest
from program import Program

from gviz.graphs import Graph

E = ("e=a*b+log(d)*c", "a=2", "b=3", "c=5", "d=10")


def compared(gviz: Program, *words: object) -> dict[str, Any]:
    """Return the one comparison of ``--json``."""
    done = gviz("compare", *words, "--json")
    assert done.status == 0, done.err
    (row,) = done.json()["comparisons"]
    assert isinstance(row, dict)
    return row


def test_an_expression_is_built_once_and_anew_and_gives_the_same_numbers(gviz: Program) -> None:
    row = compared(gviz, *E, "--runs", 7)
    assert (row["runs"], row["same"], row["compared"]) == (7, True, 7 * 5)
    static, dynamic = row["static"], row["dynamic"]
    assert (static["graphs"], static["operations"], static["operations_in_all"]) == (1, 17, 17)
    assert (dynamic["graphs"], dynamic["operations"], dynamic["operations_in_all"]) == (7, 4, 28)
    assert dynamic["computed"] == 4 + 4 + 4  # forward, backward, and what is added to the leaves
    assert 0 < static["computed"] < static["operations"]
    assert static["build"] > 0
    assert row["ratio"] == pytest.approx(static["run"] / dynamic["run"])


def test_frozen_names_may_have_commas_as_in_other_commands(gviz: Program) -> None:
    assert compared(gviz, "y=a*b*c", "--frozen", "a,b", "--runs", 2)["computes"] == "the value and the gradients of c"


def test_the_table_says_what_is_built_and_that_times_are_of_this_machine(gviz: Program) -> None:
    done = gviz("compare", *E, "--runs", 3)
    assert done.status == 0, done.err
    lines = [line.split() for line in done.out.splitlines()]
    assert ["graphs", "built", "1", "3"] in lines
    assert ["operations", "in", "all", "17", "12"] in lines
    for phrase in (
        "Both give the same numbers: 15 compared",
        "this machine",
        "static / dynamic: ",
        "garbage collector",
    ):
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
    row = compared(gviz, "y=x*w", "w=2", "--feeds", "feeds.json")
    assert (row["runs"], row["compared"], row["same"]) == (3, 3 * (2 + 2 + 1), True)


def test_what_differs_is_said(gviz: Program) -> None:
    done = gviz("compare", "y=maximum(a,b)", "a=1", "b=1", "--runs", 2)
    assert done.status == 1
    said = " ".join(done.out.split())
    assert "NOT the same, first in run 1: the gradient of a is 1.0 as a static graph, 0.5 as a dynamic one;" in said


def test_one_picture_has_both_graphs_side_by_side(gviz: Program) -> None:
    done = gviz("compare", *E, "--runs", 4, "-o", "both.json")
    assert done.status == 0, done.err
    graph = Graph.from_json((gviz.folder / "both.json").read_text())
    titles = {node.scope.partition("/")[0].split("\n")[0].strip() for node in graph.nodes}
    assert titles == {"static: built once, run 4 times", "dynamic: built 4 times"}
    labels = {node.label for node in graph.nodes}
    assert {"Placeholder", "AddV2", "AddBackward0", "AccumulateGrad"} <= labels
    assert all(edge.source[0] == edge.target[0] for edge in graph.edges)
    text = gviz("compare", *E, "--runs", 4, "-o", "-").out.replace("\xa0", " ")
    assert text.count('subgraph "cluster_static: built once') == 5  # it, gradients, and three scopes therein
    assert text.count('subgraph "cluster_dynamic: built 4 times') == 1
    assert "4 x 4 = 16 operations" in text
    assert text.count(">a run takes<") == 1
    assert len(re.findall(r">(?:static |dynamic)  █+ [\d.]+ [µm]?s<", text)) == 2


def test_a_picture_of_a_program_that_keeps_no_graph_is_an_image_too(gviz: Program) -> None:
    done = gviz("compare", "y=x*w", "--no-backward", "--runs", 2, "-o", "y.svg")
    assert done.status == 0, done.err
    assert done.files() == ["y.svg"]
    assert "no graph is kept" in (gviz.folder / "y.svg").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("content", "phrases"),
    [
        ("nope", ["this is not JSON", "such a file looks like"]),
        ('{"a": 1}', ["is not a list of feeds"]),
        ("[]", ["is not a list of feeds"]),
        ('[{"a": 1, "b": 2}, 3]', ["is not a list of feeds"]),
        ('[{"a": null, "b": 2}]', ["the value of 'a' is neither a real number nor a list"]),
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
        (["train.py"], 'gviz compare takes an expression or two scripts, not a script\nas in gviz compare "e='),
        (["graph.json"], "not a saved graph"),
        (["y=cumsum(a,0)"], "cumsum is not there in gviz's static graphs"),
        (["y=a*9**9**9"], "digits"),
        (["y=a*(1/0)"], "division by zero"),
        (["y=a<b"], "y has no graph"),
        (["y=a@b", "a=[[1,2]]", "b=[[1,2]]"], "1"),
        (["y=a*b", "--root", "q"], "--root q: there is no tensor of that name"),
        (["y=x;z=x", "--root", "y,z"], "--root y,z: there is no tensor of that name"),
        (["y=a*b", "-o", "x.foo"], "there is no format 'foo'"),
    ],
)
def test_sources_that_are_not_right(gviz: Program, words: list[str], phrase: str) -> None:
    files = {"train.py": "import torch", "graph.json": "{}"}
    for name, text in files.items():
        (gviz.folder / name).write_text(text)
    gviz("compare", *words).assert_refused(phrase, files=tuple(files))


@pytest.mark.parametrize(
    ("words", "phrase"),
    [
        (["y=x", "--runs", "0"], "--runs"),
        (["y=x", "--runs", "-3"], "--runs"),
        (["y=x", "--runs", "3", "--feeds", "f.json"], "take one"),
        (["--feeds", "f.json"], "--feeds needs a SOURCE"),
        (["--dtype", "float64"], "--dtype needs a SOURCE"),
        (["--no-backward"], "--no-backward needs a SOURCE"),
        (["--root", "y"], "--root needs a SOURCE"),
        (["y=x", "--format", "png"], "-o FILE"),
        (["y=x", "--json", "-o", "-"], "take one"),
        (["y=x", "2"], '"2" is not NAME=VALUE'),
    ],
)
def test_wrong_usage(gviz: Program, words: list[str], phrase: str) -> None:
    gviz("compare", *words).assert_refused(phrase, "gviz compare --help has an example", status=2)
