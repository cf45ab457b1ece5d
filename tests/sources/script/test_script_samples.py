"""The articles' programs as scripts: every number that they show, on gviz's engine and, where it is installed, on PyTorch."""

from __future__ import annotations

import importlib.util
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from program import SAMPLES

from gviz.errors import SourceError
from gviz.graph import Graph, Node, TensorRow, Value
from gviz.sources import Reading, SourceOptions, read

NO_TORCH = pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="PyTorch is not installed")
ERROR_3X3 = "RuntimeError: grad can be implicitly created only for scalar outputs"
ERROR_TWICE = (
    "RuntimeError: Trying to backward through the graph a second time (or directly access saved tensors after they have "
    "already been freed). Saved intermediate values of the graph are freed when you call .backward() or autograd.grad(). "
    "Specify retain_graph=True if you need to backward through the graph a second time or if you need to access saved "
    "tensors after calling backward."
)

LEAVES_3X3 = ("a", "w1", "w2", "w3", "w4")


@pytest.fixture(params=["gviz", pytest.param("torch", marks=[pytest.mark.torch, NO_TORCH])])
def engine(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def sample(name: str, engine: str, *, rootless: bool = False) -> Reading:
    return read(str(SAMPLES / name), SourceOptions(engine=engine), rootless=rootless, say=lambda _: None)


def rows(graph: Graph) -> dict[str, TensorRow]:
    return {row.name: row for row in graph.tensors}


def number(value: Value) -> float:
    """The only number of a 0-d tensor, or of one with one element."""
    while isinstance(value, tuple):
        (value,) = value
    assert isinstance(value, int | float)
    return float(value)


def numbers(graph: Graph, field: str) -> dict[str, Any]:
    """Name -> value or gradient, for tensors of one element."""
    found = {row.name: getattr(row, field) for row in graph.tensors}
    return {name: None if value is None else pytest.approx(number(value), rel=1e-6) for name, value in found.items()}


def counts(graph: Graph) -> tuple[int, int]:
    return len(graph.nodes), len(graph.edges)


def labels(graph: Graph) -> Counter[str]:
    return Counter(node.label for node in graph.nodes if node.label)


def leaf(graph: Graph, name: str) -> Node:
    (found,) = [node for node in graph.nodes if node.kind == "leaf" and node.name == name]
    return found


def leaf_names(graph: Graph) -> set[str | None]:
    return {node.name for node in graph.nodes if node.kind == "leaf"}


def root(graph: Graph) -> Node:
    (found,) = graph.roots
    return graph.node(found)


def texts(reading: Reading, level: str = "note") -> list[str]:
    return [note.text for note in reading.notes if note.level == level]


class TestTwoInputsOneProduct:
    """y = (x + w) * (w + 1), x = 2, w = 1."""

    def test_the_gradients_are_5_and_2(self, engine: str) -> None:
        graph = sample("y_xw.py", engine).graph
        assert numbers(graph, "value") == {"w": 1, "x": 2, "a": 3, "b": 2, "y": 6}
        assert numbers(graph, "grad") == {"w": 5, "x": 2, "a": None, "b": None, "y": None}

    def test_the_picture_has_torchvizs_8_nodes_and_8_edges(self, engine: str) -> None:
        graph = sample("y_xw.py", engine).graph
        assert counts(graph) == (8, 8)
        assert labels(graph) == {"MulBackward0": 1, "AddBackward0": 2, "AccumulateGrad": 2}
        assert leaf_names(graph) == {"x", "w"}
        assert root(graph).name == "y"

    def test_ws_accumulategrad_is_one_node_with_two_ways_out(self, engine: str) -> None:
        graph = sample("y_xw.py", engine).graph
        (edge,) = [edge for edge in graph.edges if edge.source == leaf(graph, "w").id]
        ways = [graph.node(other.target) for other in graph.edges if other.source == edge.target]
        assert sorted(str(node.name) for node in ways) == ["a", "b"]

    def test_the_constant_is_an_empty_second_slot(self, engine: str) -> None:
        graph = sample("y_xw.py", engine).graph
        (b,) = [node for node in graph.nodes if node.kind == "operation" and node.name == "b"]
        assert b.slots == 2
        assert [edge.slot for edge in graph.edges if edge.target == b.id] == [0]

    def test_leaf_flags_and_grad_fns_are_the_articles(self, engine: str) -> None:
        table = rows(sample("y_xw_attributes.py", engine).graph)
        assert {name: row.is_leaf for name, row in table.items()} == {"w": True, "x": True, "a": False, "b": False, "y": False}
        assert {name: row.grad_fn for name, row in table.items()} == {
            "w": None,
            "x": None,
            "a": "AddBackward0",
            "b": "AddBackward0",
            "y": "MulBackward0",
        }
        assert all(row.requires_grad for row in table.values())

    def test_what_the_script_prints_is_what_pytorch_prints(self, engine: str, capsys: pytest.CaptureFixture[str]) -> None:
        sample("y_xw.py", engine)
        assert capsys.readouterr().out == "tensor([5.])\ntensor([2.])\n"

    @pytest.mark.filterwarnings("ignore:The .grad attribute")
    def test_the_printed_attributes_are_the_articles(self, engine: str, capsys: pytest.CaptureFixture[str]) -> None:
        sample("y_xw_attributes.py", engine)
        printed = capsys.readouterr().out
        assert "is_leaf:\n True True False False False\n" in printed
        assert "gradient:\n tensor([5.]) tensor([2.]) None None None\n" in printed
        assert "grad_fn:\n None None <AddBackward0 object at 0x" in printed

    @pytest.mark.filterwarnings("ignore:The .grad attribute")
    def test_a_keeps_its_gradient_when_asked_to(self, engine: str) -> None:
        graph = sample("y_xw_retain.py", engine).graph
        assert numbers(graph, "grad") == {"w": 5, "x": 2, "a": 2, "b": None, "y": None}
        assert [name for name, row in rows(graph).items() if row.retains_grad] == ["a"]

    def test_the_root_is_where_backward_was_called(self, engine: str) -> None:
        assert texts(sample("y_xw.py", engine)) == ["root: y (backward called at line 11)"]

    def test_a_pasted_session_runs_without_its_prompts(self, engine: str) -> None:
        reading = sample("pasted_session.py", engine)
        assert counts(reading.graph) == (8, 8)
        assert numbers(reading.graph, "grad") == {"w": 5, "x": 2, "y": None}
        assert texts(reading) == [
            "took the prompts (>>>) off, and left out 2 lines of output",
            "root: y (backward called at line 7)",
        ]


class TestFiveNeurons:
    """L = 10 - (w3*b + w4*c), b = w1*a, c = w2*a."""

    def test_the_values_and_gradients_are_the_articles(self, engine: str) -> None:
        graph = sample("five_neurons.py", engine).graph
        assert numbers(graph, "value") == {"a": 2, "w1": 1, "w2": 2, "w3": 3, "w4": 4, "b": 2, "c": 4, "d": 22, "L": -12}
        grads = {name: grad for name, grad in numbers(graph, "grad").items() if grad is not None}
        assert grads == {"w1": -6, "w2": -8, "w3": -2, "w4": -4, "a": -11}

    def test_the_picture_has_17_nodes_and_17_edges(self, engine: str) -> None:
        graph = sample("five_neurons.py", engine).graph
        assert counts(graph) == (17, 17)
        assert labels(graph) == {"RsubBackward1": 1, "AddBackward0": 1, "MulBackward0": 4, "AccumulateGrad": 5}
        assert leaf_names(graph) == {"a", "w1", "w2", "w3", "w4"}

    def test_it_prints_the_grad_fns_as_in_the_article(self, engine: str, capsys: pytest.CaptureFixture[str]) -> None:
        sample("five_neurons.py", engine)
        first, second = capsys.readouterr().out.splitlines()
        assert first == "The grad fn for a is None"
        assert second.startswith("The grad fn for d is <AddBackward0 object at 0x")

    def test_backward_on_3x3_shows_its_error_and_its_graph(self, engine: str) -> None:
        reading = sample("five_neurons_3x3.py", engine)
        assert reading.failed
        assert counts(reading.graph) == (17, 17)
        assert root(reading.graph).name == "L"
        (error,) = texts(reading, "error")
        where, line, marks = error.split("\n")
        assert where == f"{SAMPLES / 'five_neurons_3x3.py'}:18: {ERROR_3X3}"
        assert line == "  L.backward()"
        assert marks == "  ^^^^^^^^^^^^"
        assert texts(reading) == ["root: L (backward called at line 18)"]

    def test_on_error_stop_shows_the_error_alone(self, engine: str) -> None:
        options = SourceOptions(engine=engine, on_error="stop")
        with pytest.raises(SourceError) as caught:
            read(str(SAMPLES / "five_neurons_3x3.py"), options)
        assert caught.value.what == ERROR_3X3
        assert caught.value.place is not None
        assert caught.value.place.line == 18

    @pytest.mark.parametrize(("name", "size"), [("five_neurons_3x3_sum.py", (18, 18)), ("five_neurons_3x3_ones.py", (17, 17))])
    def test_the_sum_and_the_ones_both_give_3x3_gradients(self, engine: str, name: str, size: tuple[int, int]) -> None:
        reading = sample(name, engine)
        table = rows(reading.graph)
        assert not reading.failed
        assert counts(reading.graph) == size
        for leaf_name in LEAVES_3X3:
            assert table[leaf_name].shape == (3, 3)
        c, gradient = table["c"].value, table["w4"].grad
        assert isinstance(c, tuple)
        assert isinstance(gradient, tuple)
        for row, other in zip(c, gradient, strict=True):  # dL/dw4 = -c
            assert isinstance(row, tuple)
            assert other == pytest.approx(tuple(-x for x in row if isinstance(x, float)))

    def test_a_second_backward_raises_and_the_graph_is_drawn(self, engine: str) -> None:
        reading = sample("five_neurons_twice.py", engine)
        assert reading.failed
        (error,) = texts(reading, "error")
        assert error.startswith(f"{SAMPLES / 'five_neurons_twice.py'}:16: {ERROR_TWICE}\n")
        assert counts(reading.graph) == (17, 17)
        assert numbers(reading.graph, "grad")["a"] == -11

    def test_with_retain_graph_the_gradients_accumulate(self, engine: str) -> None:
        reading = sample("five_neurons_retain_graph.py", engine)
        grads = {name: grad for name, grad in numbers(reading.graph, "grad").items() if grad is not None}
        assert not reading.failed
        assert grads == {"w1": -12, "w2": -16, "w3": -4, "w4": -8, "a": -22}

    def test_after_a_step_the_picture_is_still_ls_with_the_old_w1(self, engine: str) -> None:
        graph = sample("five_neurons_update.py", engine).graph
        assert root(graph).name == "L"
        assert counts(graph) == (17, 17)
        assert number(leaf(graph, "w1").value) == 1
        assert number(leaf(graph, "w1").grad) == -6

    def test_after_a_step_the_table_has_the_new_w1_which_is_no_leaf(self, engine: str) -> None:
        w1 = rows(sample("five_neurons_update.py", engine).graph)["w1"]
        assert (w1.is_leaf, w1.requires_grad, w1.grad_fn, w1.grad) == (False, True, "SubBackward0", None)
        assert number(w1.value) == 4

    def test_frozen_weights_take_no_part(self, engine: str) -> None:
        graph = sample("five_neurons_frozen.py", engine).graph
        assert counts(graph) == (13, 13)
        assert leaf_names(graph) == {"a", "w3", "w4"}
        assert rows(graph)["w1"].grad is None
        assert number(rows(graph)["a"].grad) == -11

    def test_requires_grad_is_contagious(self, engine: str, capsys: pytest.CaptureFixture[str]) -> None:
        graph = sample("contagious.py", engine).graph
        assert capsys.readouterr().out == "False True True\n"
        assert {name: row.requires_grad for name, row in rows(graph).items()} == {
            "x": False,
            "w": True,
            "u": False,
            "v": True,
            "z": True,
        }

    def test_nothing_is_recorded_under_no_grad(self, engine: str) -> None:
        reading = sample("no_grad.py", engine)
        table = rows(reading.graph)
        assert (table["z"].grad_fn, table["z"].is_leaf, table["z"].requires_grad) == (None, True, False)
        assert root(reading.graph).name == "y"
        assert counts(reading.graph) == (6, 5)

    def test_no_grad_without_brackets_is_a_typeerror(self, engine: str) -> None:
        reading = sample("no_grad_without_brackets.py", engine)
        assert reading.failed
        (error,) = texts(reading, "error")
        assert ":7: TypeError: 'type' object does not support the context manager protocol\n  with torch.no_grad:" in error
        assert root(reading.graph).name == "y"

    def test_a_leaf_alone_has_no_graph_yet(self, engine: str) -> None:
        with pytest.raises(SourceError) as caught:
            sample("leaves.py", engine)
        assert caught.value.what == "there is no graph: t1, t2 require gradients, but nothing was computed from them"

    def test_leaves_alone_are_still_a_table(self, engine: str) -> None:
        reading = sample("leaves.py", engine, rootless=True)
        assert [(row.name, row.shape, row.requires_grad) for row in reading.graph.tensors] == [
            ("tsr", (3, 5), False),
            ("t1", (3, 3), True),
            ("t2", (3, 3), True),
        ]
        assert reading.graph.nodes == ()
        assert texts(reading, "warning") == [
            "there is no graph: t1, t2 require gradients, but nothing was computed from them",
        ]


class TestLine:
    """h = w*x + b, x = 1, w = 4, b = 0.5."""

    def test_all_three_leaves_give_9_nodes_and_8_edges(self, engine: str) -> None:
        graph = sample("h_wxb.py", engine).graph
        assert number(rows(graph)["h"].value) == 4.5
        assert counts(graph) == (9, 8)
        assert labels(graph) == {"AddBackward0": 1, "MulBackward0": 1, "AccumulateGrad": 3}

    def test_with_x_frozen_x_is_gone_from_the_picture(self, engine: str) -> None:
        graph = sample("h_wxb_frozen.py", engine).graph
        assert counts(graph) == (7, 6)
        assert leaf_names(graph) == {"w", "b"}
        assert "x" in rows(graph)

    def test_detach_leaves_the_originals_graph_as_it_is(self, engine: str) -> None:
        graph = sample("detach.py", engine).graph
        table = rows(graph)
        assert root(graph).name == "h"
        assert counts(graph) == (9, 8)
        for name in ("copy", "k"):
            assert (table[name].grad_fn, table[name].is_leaf, table[name].requires_grad) == (None, True, False)
        assert (number(table["copy"].value), number(table["k"].value)) == (4.5, 9.0)

    def test_without_backward_the_root_is_the_last_tensor_made(self, engine: str) -> None:
        assert texts(sample("h_wxb.py", engine)) == ["root: h (the last tensor assigned at line 8 that no other was made from)"]

    def test_the_articles_own_script_writes_its_pdf(self, engine: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.chdir(tmp_path)
        graph = sample("h_wxb_make_dot.py", engine).graph
        assert counts(graph) == (9, 8)
        assert (tmp_path / "h_wxb.pdf").read_bytes().startswith(b"%PDF")


class TestLogarithm:
    """e = a*b + log(d)*c with 2, 3, 5, 10."""

    def test_the_values_are_the_articles(self, engine: str) -> None:
        graph = sample("uvte.py", engine).graph
        values = {row.name: row.value for row in graph.tensors}
        assert values["u"] == 6
        assert values["t"] == pytest.approx(2.302585, abs=1e-6)
        assert values["v"] == pytest.approx(11.512925, rel=1e-6)
        assert values["e"] == 17.51292610168457

    def test_the_gradients_are_the_articles(self, engine: str) -> None:
        graph = sample("uvte.py", engine).graph
        grads = {row.name: row.grad for row in graph.tensors}
        assert grads == {
            "a": 3,
            "b": 2,
            "c": pytest.approx(2.302585, abs=1e-6),
            "d": 0.5,
            "u": None,
            "t": None,
            "v": None,
            "e": None,
        }

    def test_the_picture_has_13_nodes_and_12_edges(self, engine: str) -> None:
        graph = sample("uvte.py", engine).graph
        assert counts(graph) == (13, 12)
        assert labels(graph) == {"AddBackward0": 1, "MulBackward0": 2, "LogBackward0": 1, "AccumulateGrad": 4}

    def test_the_table_has_leaves_and_grad_fns(self, engine: str) -> None:
        table = rows(sample("uvte.py", engine).graph)
        assert {name: row.grad_fn for name, row in table.items() if not row.is_leaf} == {
            "u": "MulBackward0",
            "t": "LogBackward0",
            "v": "MulBackward0",
            "e": "AddBackward0",
        }

    def test_it_prints_every_node_before_and_after_backward(self, engine: str, capsys: pytest.CaptureFixture[str]) -> None:
        sample("uvte.py", engine)
        lines = capsys.readouterr().out.splitlines()
        assert lines[1] == "a tensor(2.) None None True True"
        assert lines[8].startswith("e tensor(17.5129) None <AddBackward0 object at 0x")
        assert lines[10] == "a tensor(2.) tensor(3.) None True True"
        assert lines[12] == "c tensor(5.) tensor(2.3026) None True True"

    def test_retain_grad_on_t_keeps_5(self, engine: str) -> None:
        table = rows(sample("uvte_retain.py", engine).graph)
        assert (table["t"].grad, table["t"].retains_grad) == (5, True)

    def test_a_quotient_has_divbackward0(self, engine: str) -> None:
        graph = sample("div.py", engine).graph
        assert rows(graph)["c"].grad_fn == "DivBackward0"
        assert numbers(graph, "grad") == {"a": 0.25, "b": -0.375, "c": None}
