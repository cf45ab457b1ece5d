"""The articles' programs as scripts: every number that they show, on gviz's engine and, where it is installed, on PyTorch."""

from __future__ import annotations

import importlib.util
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from program import SAMPLES
from scripts import leaves, roots, rows, texts

from gviz.errors import SourceError
from gviz.graphs.numbers import Numbers
from gviz.sources import Reading, SourceOptions, read

NO_TORCH = pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="PyTorch is not installed")
ERROR_3X3 = "RuntimeError: grad can be implicitly created only for scalar outputs"
ERROR_TWICE = (
    "RuntimeError: Trying to backward through the graph a second time (or directly access saved tensors after they have "
    "already been freed). Saved intermediate values of the graph are freed when you call .backward() or autograd.grad(). "
    "Specify retain_graph=True if you need to backward through the graph a second time or if you need to access saved "
    "tensors after calling backward."
)
NO_GRAPH = "there is no graph: t1, t2 require gradients, but nothing that has a name was computed from them"

pytestmark = pytest.mark.filterwarnings("ignore:The .grad attribute")


@pytest.fixture(params=["gviz", pytest.param("torch", marks=[pytest.mark.torch, NO_TORCH])])
def engine(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def sample(name: str, engine: str, *, rootless: bool = False) -> Reading:
    return read(str(SAMPLES / name), SourceOptions(engine=engine), rootless=rootless, say=lambda _: None)


def number(value: Numbers | None) -> float:
    """The only number of a 0-d tensor, or of one with one element."""
    assert value is not None
    assert value.elements is not None
    (element,) = value.elements
    assert isinstance(element, int | float)
    return float(element)


def size(reading: Reading) -> tuple[int, int]:
    return len(reading.graph.nodes), len(reading.graph.edges)


NEURONS = {"a": 2, "w1": 1, "w2": 2, "w3": 3, "w4": 4, "b": 2, "c": 4, "d": 22, "L": -12}


@pytest.mark.parametrize(
    ("name", "values", "grads"),
    [
        ("y_xw.py", {"w": 1, "x": 2, "a": 3, "b": 2, "y": 6}, {"w": 5, "x": 2}),
        ("y_xw_retain.py", {}, {"w": 5, "x": 2, "a": 2}),
        ("pasted_session.py", {}, {"w": 5, "x": 2}),
        ("five_neurons.py", NEURONS, {"w1": -6, "w2": -8, "w3": -2, "w4": -4, "a": -11}),
        ("five_neurons_frozen.py", {}, {"w3": -2, "w4": -4, "a": -11}),
        ("five_neurons_retain_graph.py", {}, {"w1": -12, "w2": -16, "w3": -4, "w4": -8, "a": -22}),
        ("h_wxb.py", {"h": 4.5}, {}),
        ("detach.py", {"h": 4.5, "copy": 4.5, "k": 9}, {}),
        ("uvte.py", {"u": 6, "t": 2.302585, "v": 11.512925, "e": 17.512926}, {"a": 3, "b": 2, "c": 2.302585, "d": 0.5}),
        ("uvte_retain.py", {}, {"a": 3, "b": 2, "c": 2.302585, "d": 0.5, "t": 5}),
        ("div.py", {}, {"a": 0.25, "b": -0.375}),
    ],
)
def test_values_and_gradients_are_the_articles(
    name: str, values: dict[str, float], grads: dict[str, float], engine: str
) -> None:
    reading = sample(name, engine)
    table = rows(reading)
    assert not reading.failed
    assert {known: number(table[known].value) for known in values} == pytest.approx(values, rel=1e-6)
    assert {row.name: number(row.grad.value) for row in table.values() if row.grad.value is not None} == pytest.approx(
        grads, rel=1e-6
    )


@pytest.mark.parametrize(
    ("name", "root", "shape", "operations", "leaf_names"),
    [
        ("y_xw.py", "y", (8, 8), {"MulBackward0": 1, "AddBackward0": 2}, "x w"),
        ("pasted_session.py", "y", (8, 8), {"MulBackward0": 1, "AddBackward0": 2}, "x w"),
        ("five_neurons.py", "L", (17, 17), {"RsubBackward1": 1, "AddBackward0": 1, "MulBackward0": 4}, "a w1 w2 w3 w4"),
        (
            "five_neurons_frozen.py",
            "L",
            (13, 13),
            {"RsubBackward1": 1, "AddBackward0": 1, "MulBackward0": 4},
            "a w3 w4",
        ),
        ("no_grad.py", "y", (6, 5), {"MulBackward0": 1}, "x w"),
        ("h_wxb.py", "h", (9, 8), {"AddBackward0": 1, "MulBackward0": 1}, "x w b"),
        ("h_wxb_frozen.py", "h", (7, 6), {"AddBackward0": 1, "MulBackward0": 1}, "w b"),
        ("detach.py", "h", (9, 8), {"AddBackward0": 1, "MulBackward0": 1}, "x w b"),
        ("uvte.py", "e", (13, 12), {"AddBackward0": 1, "MulBackward0": 2, "LogBackward0": 1}, "a b c d"),
    ],
)
def test_the_picture_is_torchvizs(
    *, name: str, root: str, shape: tuple[int, int], operations: dict[str, int], leaf_names: str, engine: str
) -> None:
    reading = sample(name, engine)
    assert (roots(reading), size(reading), leaves(reading)) == ([root], shape, set(leaf_names.split()))
    assert Counter(node.label for node in reading.graph.nodes if node.kind == "operation") == operations


@pytest.mark.parametrize(
    ("name", "grad_fns"),
    [
        ("y_xw_attributes.py", {"a": "AddBackward0", "b": "AddBackward0", "y": "MulBackward0"}),
        ("uvte.py", {"u": "MulBackward0", "t": "LogBackward0", "v": "MulBackward0", "e": "AddBackward0"}),
        ("div.py", {"c": "DivBackward0"}),
    ],
)
def test_leaves_and_grad_fns_are_the_articles(name: str, grad_fns: dict[str, str], engine: str) -> None:
    table = rows(sample(name, engine))
    assert {row.name: row.grad_fn for row in table.values() if not row.is_leaf} == grad_fns
    assert all(row.requires_grad for row in table.values())
    assert all(row.grad_fn is None for row in table.values() if row.is_leaf)


@pytest.mark.parametrize(
    ("name", "phrases"),
    [
        ("y_xw.py", ["tensor([5.])\ntensor([2.])\n"]),
        ("y_xw_attributes.py", ["is_leaf:\n True True False False False\n"]),
        ("y_xw_attributes.py", ["gradient:\n tensor([5.]) tensor([2.]) None None None\n"]),
        ("y_xw_attributes.py", ["grad_fn:\n None None <AddBackward0 object at 0x"]),
        ("five_neurons.py", ["The grad fn for a is None\nThe grad fn for d is <AddBackward0 object at 0x"]),
        ("contagious.py", ["False True True\n"]),
        ("uvte.py", ["a tensor(2.) None None True True\n", "\ne tensor(17.5129) None <AddBackward0 object at 0x"]),
        ("uvte.py", ["\na tensor(2.) tensor(3.) None True True\n", "\nc tensor(5.) tensor(2.3026) None True True\n"]),
    ],
)
def test_what_a_program_prints_is_what_pytorch_prints(
    name: str, phrases: list[str], engine: str, capsys: pytest.CaptureFixture[str]
) -> None:
    sample(name, engine)
    printed = capsys.readouterr().out
    assert [phrase for phrase in phrases if phrase not in printed] == []


@pytest.mark.parametrize(
    ("name", "line", "message", "code", "root", "shape"),
    [
        ("five_neurons_3x3.py", 18, ERROR_3X3, "L.backward()", "L", (17, 17)),
        ("five_neurons_twice.py", 16, ERROR_TWICE, "L.backward()", "L", (17, 17)),
        (
            "no_grad_without_brackets.py",
            7,
            "TypeError: 'type' object does not support the context manager protocol",
            "with torch.no_grad:",
            "y",
            (4, 4),
        ),
    ],
)
def test_a_program_that_raises_is_drawn_up_to_there(
    *, name: str, line: int, message: str, code: str, root: str, shape: tuple[int, int], engine: str
) -> None:
    reading = sample(name, engine)
    assert reading.failed
    assert (roots(reading), size(reading)) == ([root], shape)
    assert texts(reading, "error")[0].startswith(f"{SAMPLES / name}:{line}: {message}\n  {code}\n  ")


@pytest.mark.parametrize(
    ("name", "notes"),
    [
        ("y_xw.py", ["root: y (backward called at line 11)"]),
        ("h_wxb.py", ["root: h (the last tensor assigned at line 8 that no other was made from)"]),
        (
            "pasted_session.py",
            ["took the prompts (>>>) off, and left out 2 lines of output", "root: y (backward called at line 7)"],
        ),
    ],
)
def test_the_root_is_told(name: str, notes: list[str], engine: str) -> None:
    assert texts(sample(name, engine)) == notes


@pytest.mark.parametrize(
    ("name", "shape"), [("five_neurons_3x3_sum.py", (18, 18)), ("five_neurons_3x3_ones.py", (17, 17))]
)
def test_the_sum_and_the_ones_both_give_3x3_gradients(engine: str, name: str, shape: tuple[int, int]) -> None:
    reading = sample(name, engine)
    table: dict[str, Any] = rows(reading)
    assert not reading.failed
    assert size(reading) == shape
    assert {table[leaf].shape for leaf in ("a", "w1", "w2", "w3", "w4")} == {(3, 3)}
    for row, other in zip(table["c"].value.nested(), table["w4"].grad.value.nested(), strict=True):  # dL/dw4 = -c
        assert other == pytest.approx([-x for x in row])


def test_after_a_step_the_picture_has_the_old_w1_and_the_table_the_new_one(engine: str) -> None:
    reading = sample("five_neurons_update.py", engine)
    (old,) = [node for node in reading.graph.nodes if node.kind == "leaf" and node.name == "w1"]
    new = rows(reading)["w1"]
    assert (roots(reading), size(reading)) == (["L"], (17, 17))
    assert (number(old.value), number(old.grad.value)) == (1, -6)
    assert (number(new.value), new.grad.value, new.grad_fn) == (4, None, "SubBackward0")
    assert (new.is_leaf, new.requires_grad) == (False, True)


@pytest.mark.parametrize(
    ("name", "requires_grad"),
    [
        ("contagious.py", {"x": False, "w": True, "u": False, "v": True, "z": True}),
        ("y_xw_retain.py", {"w": True, "x": True, "a": True, "b": True, "y": True}),
    ],
)
def test_requires_grad_is_contagious(name: str, requires_grad: dict[str, bool], engine: str) -> None:
    assert {name: row.requires_grad for name, row in rows(sample(name, engine)).items()} == requires_grad


@pytest.mark.parametrize(("name", "outside"), [("no_grad.py", ["z"]), ("detach.py", ["copy", "k"])])
def test_what_is_made_outside_of_the_graph_is_a_leaf_without_gradient(
    name: str, outside: list[str], engine: str
) -> None:
    table = rows(sample(name, engine))
    for other in outside:
        assert (table[other].grad_fn, table[other].is_leaf, table[other].requires_grad) == (None, True, False)


def test_leaves_alone_have_no_graph_and_are_still_a_table(engine: str) -> None:
    with pytest.raises(SourceError) as caught:
        sample("leaves.py", engine)
    assert caught.value.what == NO_GRAPH
    reading = sample("leaves.py", engine, rootless=True)
    table = [(row.name, row.shape, row.requires_grad) for row in reading.graph.tensors]
    assert table == [("tsr", (3, 5), False), ("t1", (3, 3), True), ("t2", (3, 3), True)]
    assert reading.graph.nodes == ()
    assert NO_GRAPH in texts(reading, "warning")  # and on PyTorch that tsr, which nobody has filled, may be NaN


def test_the_articles_own_script_writes_its_pdf(engine: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert size(sample("h_wxb_make_dot.py", engine)) == (9, 8)
    assert (tmp_path / "h_wxb.pdf").read_bytes().startswith(b"%PDF")
