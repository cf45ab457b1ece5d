"""Two scripts side by side: what is counted, compared, drawn and refused; no time is asserted."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from program import Finished, Program

from gviz.graphs import Graph

SAMPLES = Path(__file__).parents[2] / "samples"

STATIC = """
import tensorflow.compat.v1 as tf
x = tf.placeholder(tf.float32, [], name="x")
y = x * x
g = tf.gradients(y, x)
with tf.Session() as session:
    for value in (1.0, 2.0):
        session.run([y, g], {x: value})
"""

DYNAMIC = """
import torch
for value in (1.0, 2.0):
    x = torch.tensor(value, requires_grad=True)
    y = x * x
    y.backward()
"""


def compared(gviz: Program, static: str, dynamic: str, *words: object) -> Finished:
    """Return what ``gviz compare`` has done with the texts of two scripts."""
    (gviz.folder / "a.py").write_text(static)
    (gviz.folder / "b.py").write_text(dynamic)
    return gviz("compare", "a.py", "b.py", *words)


def record(gviz: Program, static: str, dynamic: str) -> dict[str, Any]:
    """Return the same as JSON."""
    done = compared(gviz, static, dynamic, "--json")
    assert done.err == ""
    result = done.json()
    assert isinstance(result, dict)
    return result


@pytest.mark.parametrize(
    ("pair", "results", "graphs"),
    [
        ("while", ["steps", "y", "x.grad"], [5, 3, 1]),
        ("if", ["y", "x.grad", "w.grad"], [1, 1]),
        ("growing", ["y", "w.grad"], [4, 6]),
    ],
)
def test_the_three_contrasts_have_one_static_graph_and_a_dynamic_one_for_each_run(
    gviz: Program, pair: str, results: list[str], graphs: list[int]
) -> None:
    done = gviz("compare", SAMPLES / f"{pair}_static.py", SAMPLES / f"{pair}_dynamic.py", "--json")
    row = done.json()
    assert (row["same"], row["results"], row["runs"]) == (True, results, len(graphs))
    assert row["compared"] == len(results) * len(graphs)
    assert row["static"]["graphs"] == 1
    assert row["dynamic"]["operations"] == graphs
    assert len(row["static"]["runs"]) == len(row["dynamic"]["runs"]) == len(graphs)
    assert all(time > 0 for form in ("static", "dynamic") for time in row[form]["runs"])
    assert row["static"]["build"] > 0
    assert row["dynamic"]["build"] is None


def test_the_table_has_both_scripts_whatever_their_order(gviz: Program) -> None:
    compared(gviz, STATIC, DYNAMIC)
    done = gviz("compare", "b.py", "a.py")
    lines = [line.split() for line in done.out.splitlines()]
    assert ["script", "a.py", "b.py"] in lines
    assert ["graphs", "built", "1", "2"] in lines
    assert ["runs", "2", "2"] in lines
    assert lines[4][0] == "operations"
    assert lines[4][-5:] == ["2", "x", "1", "=", "2"]
    said = " ".join(done.out.split())
    assert "Compared are y, x.grad in 2 runs. Both give the same numbers: 4 compared" in said


def test_what_a_script_prints_goes_to_standard_error_and_json_is_alone(gviz: Program) -> None:
    done = compared(gviz, STATIC + "\nprint('static says this')", DYNAMIC + "\nprint('dynamic says that')", "--json")
    assert done.err.split("\n")[:2] == ["static says this", "dynamic says that"]
    assert done.json()["same"] is True


def test_results_that_differ_are_said_with_the_run_and_the_name(gviz: Program) -> None:
    done = compared(gviz, STATIC, DYNAMIC.replace("y = x * x", "y = x * x * value"))
    assert done.status == 1
    said = " ".join(done.out.split())
    assert "NOT the same, first in run 2: y is 4.0 as a static graph, 8.0 as a dynamic one;" in said


def test_without_a_name_that_both_have_nothing_is_compared(gviz: Program) -> None:
    dynamic = DYNAMIC.replace("y", "z").replace("x", "a")
    done = compared(gviz, STATIC, dynamic)
    assert done.status == 0
    assert "No result of a run has the same name in both scripts" in " ".join(done.out.split())
    (gviz.folder / "b.py").write_text(dynamic)
    assert gviz("compare", "a.py", "b.py", "--json").json()["same"] is None


def test_runs_without_a_common_result_are_not_compared_and_other_counts_are_said(gviz: Program) -> None:
    static = STATIC.replace("for value in", "session.run(tf.constant(0.0))\n    for value in")
    row = record(gviz, static, DYNAMIC)
    assert (len(row["static"]["runs"]), row["runs"], row["same"]) == (3, 2, True)
    alone = "session.run(y + 1.0, {x: value})"  # has no name, and is a run that is not compared
    static = STATIC.replace("session.run([y, g], {x: value})", f"session.run([y, g], {{x: value}}); {alone}")
    done = compared(gviz, static, DYNAMIC.replace("(1.0, 2.0)", "(1.0, 2.0, 3.0)"))
    assert "x.grad in 2 runs (the scripts have 2 and 3)." in " ".join(done.out.split())
    static = (
        STATIC.replace("session.run([y, g], {x: value})", "session.run(y, {x: value})")
        + "    session.run(g, {x: 1.0})\n"
    )
    done = compared(gviz, static, DYNAMIC)
    assert "Compared are y in 2 runs (the scripts have 3 and 2)." in " ".join(done.out.split())
    assert "No run of the same number has x.grad in both scripts." in " ".join(done.out.split())


def test_a_second_backward_through_a_graph_is_a_run_and_no_new_graph(gviz: Program) -> None:
    dynamic = DYNAMIC.replace("y.backward()", "y.backward(retain_graph=True)\n    y.backward()")
    row = record(gviz, STATIC, dynamic)
    assert row["dynamic"]["operations"] == [1, 1]
    assert len(row["dynamic"]["runs"]) == 4


def test_a_script_runs_once(gviz: Program) -> None:
    count = "\nopen('runs.txt', 'a').write('x')\n"
    compared(gviz, STATIC + count, DYNAMIC + count, "-o", "both.svg")
    assert (gviz.folder / "runs.txt").read_text() == "xx"


def test_the_picture_has_the_static_graph_and_the_dynamic_ones_that_differ(gviz: Program) -> None:
    scripts = SAMPLES / "while_static.py", SAMPLES / "while_dynamic.py"
    done = gviz("compare", *scripts, "-o", "both.json", "-o", "both.dot")
    assert "of the static graph, name scopes are drawn as boxes; gviz static" in done.err
    graph = Graph.from_json((gviz.folder / "both.json").read_text())
    text = (gviz.folder / "both.dot").read_text(encoding="utf-8").replace("\xa0", " ")
    for title in ("static: built once, run 3 times", "dynamic: built 3 times", "run 1 ", "run 2 ", "run 3 "):
        assert any(title in node.scope for node in graph.nodes), title
    assert "5 + 3 + 1 = 9 operations" in text
    leaves = [node for node in graph.nodes if node.kind == "leaf"]
    assert [(node.name, node.value and node.value.elements) for node in leaves] == [("x", (v,)) for v in (12, 40, 200)]


def test_scopes_of_the_static_graph_may_be_chosen_to_be_boxes(gviz: Program) -> None:
    scripts = SAMPLES / "while_static.py", SAMPLES / "while_dynamic.py"
    done = gviz("compare", *scripts, "--collapse", "while", "-o", "both.json")
    assert "are drawn as boxes" not in done.err
    graph = Graph.from_json((gviz.folder / "both.json").read_text())
    assert [node.name for node in graph.nodes if node.kind == "group"] == ["while", "while"]  # with gradients/while
    assert any("gradients" in node.scope for node in graph.nodes)


def test_of_dynamic_graphs_that_are_alike_one_is_drawn(gviz: Program) -> None:
    compared(gviz, STATIC, DYNAMIC, "-o", "both.json")
    graph = Graph.from_json((gviz.folder / "both.json").read_text())
    assert sum(node.label == "MulBackward0" for node in graph.nodes) == 1
    assert any("2 x 1 = 2 operations; one graph is drawn" in node.scope for node in graph.nodes)


@pytest.mark.parametrize(
    ("static", "dynamic", "phrase"),
    [
        (STATIC, STATIC, "both import tensorflow"),
        (DYNAMIC, DYNAMIC, "neither imports tensorflow"),
        (STATIC, "import torch", "b.py never calls backward()"),
        ("import tensorflow", DYNAMIC, "a.py imports tensorflow and builds no static graph"),
        (STATIC, "import torch\n1 / 0", "b.py:2: ZeroDivisionError"),
        (STATIC + "\nsession.run(y)", DYNAMIC, "Attempted to use a closed Session"),
        (STATIC, "import torch\n(", "b.py:2"),
    ],
)
def test_scripts_that_are_not_right(gviz: Program, static: str, dynamic: str, phrase: str) -> None:
    compared(gviz, static, dynamic).assert_refused(phrase, files=("a.py", "b.py"))


@pytest.mark.parametrize("option", [("--runs", 3), ("--feeds", "f.json"), ("--root", "y")])
def test_options_of_expressions_are_refused(gviz: Program, option: tuple[object, ...]) -> None:
    compared(gviz, STATIC, DYNAMIC, *option).assert_refused(
        f"{option[0]} is for an expression", status=2, files=("a.py", "b.py")
    )


def test_values_that_scripts_have_no_use_for_are_said(gviz: Program) -> None:
    done = compared(gviz, STATIC, DYNAMIC, "x=3")
    assert "x=3 not used" in done.err
    assert done.status == 0
