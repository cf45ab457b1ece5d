"""The face in Python: what ``import gviz`` gives to somebody who has an expression, a tensor or a notebook."""

from __future__ import annotations

import inspect
import pydoc
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from program import python
from scripts import nested
from tested import leaf

import gviz
from gviz import engine, static as tf
from gviz.static.graph import Graph


def values_of(graph: gviz.Graph) -> dict[str, Any]:
    return {row.name: row.value.nested() if row.value is not None else None for row in graph.tensors}


# Reading


def test_values_are_keywords() -> None:
    assert values_of(gviz.read("y=x*w", x=2, w=1.5).graph) == {"x": 2, "w": 1.5, "y": 3}


@pytest.mark.parametrize(
    "value",
    [
        [[1, 2.5]],
        ((1, 2.5),),
        "[[1, 2.5]]",
        np.array([[1, 2.5]]),
        engine.tensor([[1, 2.5]], requires_grad=True),
        [np.array([1, 2.5])],
        np.array([[2.5, 1]])[:, ::-1],
    ],
    ids=["lists", "tuples", "text", "array", "tensor", "list of arrays", "turned array"],
)
def test_a_value_may_be_nested_an_array_a_tensor_or_a_text(value: Any) -> None:
    assert values_of(gviz.read("y=W.sum()", W=value).graph)["W"] == [[1, 2.5]]


@pytest.mark.filterwarnings("ignore:x is inf")
@pytest.mark.parametrize("number", [2, 2.0, True, np.float32(0.1), np.int64(-3), float("inf"), 1e-45])
def test_a_number_stays_the_number(number: Any) -> None:
    row = gviz.read("y=x*2", gviz.SourceOptions(dtype="float64"), x=number).graph.tensors[0]
    assert (nested(row.value), row.shape) == (float(number), ())


def test_keywords_win_over_the_values_of_the_options() -> None:
    options = gviz.SourceOptions(values={"x": 2, "w": 3}, frozen=("w",))
    reading = gviz.read("y=x*w", options, x=5)
    assert values_of(reading.graph) == {"x": 5, "w": 3, "y": 15}
    assert [row.name for row in reading.graph.tensors if not row.requires_grad] == ["w"]


def test_a_large_array_is_read_as_it_is() -> None:
    array = np.arange(250_000.0).reshape(500, 500)
    graph = gviz.read("y=x.sum()", gviz.SourceOptions(dtype="float64"), x=array).graph
    assert values_of(graph)["y"] == array.sum()
    assert values_of(gviz.read("y=x.sum()", x=np.ones((0, 3))).graph)["y"] == 0
    assert [node.kind for node in graph.nodes] == ["output", "operation", "accumulate", "leaf"]


@pytest.mark.parametrize("value", [None, {}, {1}, 1j, [1, None], object(), np.array([1j])])
def test_what_is_neither_a_number_nor_a_list_is_refused(value: Any) -> None:
    with pytest.raises(gviz.GvizError, match="the value of 'x' is neither a real number nor a list"):
        gviz.read("y=x", x=value)


@pytest.mark.parametrize(
    ("name", "value"), [("dtype", "float64"), ("roots", ["h"]), ("options", 3), ("say", 3), ("stdin", [1])]
)
def test_an_option_is_not_taken_for_a_value(name: str, value: Any) -> None:
    with pytest.raises(
        gviz.GvizError, match=rf"{name} is the name of an option\n.*gviz\.SourceOptions: {name}="
    ) as caught:
        gviz.read("y=x*2", **{name: value})
    assert f'values={{"{name}": ...}}' in str(caught.value)
    assert values_of(gviz.read("y=say*2", gviz.SourceOptions(values={"say": 3})).graph)["y"] == 6


def test_one_name_may_stand_alone() -> None:
    options = gviz.SourceOptions(roots="yy", frozen="ww")  # type: ignore[arg-type]
    assert (options.roots, options.frozen) == (("yy",), ("ww",))


def test_an_error_shows_where_it_is_and_how_to_mend_it() -> None:
    with pytest.raises(gviz.GvizError) as caught:
        gviz.read("y=logg(x)", x=2)
    assert str(caught.value).splitlines()[1:] == ["  y=logg(x)", "    ^^^^", "did you mean log?"]


# Graphs of tensors


def test_a_tensor_has_a_graph() -> None:
    w, x = leaf(1.0), leaf(2.0)
    a, b = x + w, w + 1
    graph = gviz.graph(a * b, params={"w": w, "x": x, "a": a})
    assert [node.name for node in graph.nodes if node.kind == "leaf"] == ["x", "w"]
    assert [node.label for node in graph.nodes if node.name in ("a", "output") and node.label] == [
        "MulBackward0",
        "AddBackward0",
    ]
    assert (graph.title, values_of(graph)) == ("output", {"w": 1, "x": 2, "a": 3, "b": 2, "output": 6})


def test_several_tensors_have_one_graph() -> None:
    x = leaf(2.0)
    y, z = x * 2, x * 3
    assert gviz.graph([y, z, x * 4], {"z": z}).title == "y, z, output3"
    assert gviz.graph({"y": y, "z": z}).title == "y, z"


def test_the_graph_of_a_module_has_the_names_of_its_parameters() -> None:
    net = engine.nn.Linear(2, 1)
    graph = gviz.graph(net(engine.ones(3, 2)).sum(), dict(net.named_parameters()))
    assert {node.name for node in graph.nodes if node.kind == "leaf"} == {"weight", "bias"}


def test_saved_tensors_are_nodes_if_they_are_asked_for() -> None:
    assert any(node.kind == "saved" for node in gviz.graph(leaf(2.0).exp(), saved=True).nodes)


@pytest.mark.parametrize("thing", [3, "y=x*w", None, np.ones(2)])
def test_a_graph_is_made_of_tensors(thing: Any) -> None:
    with pytest.raises(TypeError, match=rf"gviz.graph\(\) takes tensors, but this is of type {type(thing).__name__}"):
        gviz.graph(thing)


@pytest.mark.parametrize("function", [gviz.graph, gviz.make_dot])
def test_names_are_a_dictionary_or_pairs(function: Any) -> None:
    x, net = engine.ones(2, requires_grad=True), engine.nn.Linear(1, 1)
    for wrong in (x * 2, [x, 1], 3):
        with pytest.raises(TypeError, match=f"parameters are a dictionary .* not of type {type(wrong).__name__}"):
            function(x * 2, wrong)
    assert function(net(x[:1]), net.named_parameters()) is not None


def test_the_graph_function_shows_its_arguments() -> None:
    words = ["tensors", "params", "saved", "flow", "values", "model", "view"]
    assert list(inspect.signature(gviz.graph).parameters) == words
    assert "Args:" in str(gviz.graph.__doc__)
    call = (
        "graph(tensors: 'Nest', params: 'Params' = None, *, saved: 'bool' = False, flow: 'bool' = False, "
        "values: 'Values | None' = 'summary', model: 'Params' = None, view: 'str' = '') -> 'Drawing'"
    )
    assert call in pydoc.plain(pydoc.render_doc(gviz.graph))


def test_a_tensor_of_a_static_graph_draws_all_of_it() -> None:
    with Graph().as_default() as static:
        a = tf.placeholder("float", name="a")
        b = tf.multiply(a, 2.0, name="b")
    assert [node.name for node in gviz.graph(b).nodes] == ["a", "b/y", "b"]
    assert (gviz.graph(b).title, gviz.graph(static).title, gviz.graph([b]).kind) == ("b", "", "static")
    assert str(gviz.graph(static)._repr_svg_()).count("<svg") == 1


def test_a_short_line_represents_graphs_readings_and_notes() -> None:
    reading = gviz.read("y=(x+w)*(w+1)", x=2)
    assert (repr(reading), repr(reading.graph)) == ("<Reading y: 8 boxes, 8 arrows>", "<Graph y: 8 boxes, 8 arrows>")
    assert repr(gviz.Graph()) == "<Graph: 0 boxes, 0 arrows>"
    assert str(reading.notes[0]) == "w not given: 1.0 used"


# Pictures


def test_a_graph_and_a_reading_are_saved_in_the_format_of_the_suffix(tmp_path: Path) -> None:
    reading = gviz.read("y=x*w", x=2, w=1)
    saved = [
        reading.save(tmp_path / "a.svg"),
        reading.graph.save(str(tmp_path / "b.svg")),
        gviz.save(reading, tmp_path / "c.svg"),
    ]
    assert saved == [str(tmp_path / name) for name in ("a.svg", "b.svg", "c.svg")]
    a, b, c = (Path(name).read_bytes() for name in saved)
    assert a == b == c
    assert b"MulBackward0" in a
    reading.save(tmp_path / "plain.dot", gviz.RenderOptions(show=()))
    assert "grad = " not in (tmp_path / "plain.dot").read_text(encoding="utf-8")


def test_options_of_a_picture_take_words_as_the_command_line_does() -> None:
    options = gviz.RenderOptions(show="value", rankdir="lr")  # type: ignore[arg-type]
    assert options == gviz.RenderOptions(show=("value",), rankdir="LR")
    with pytest.raises(gviz.GvizError, match=r"show is one of .*, not 'valeu'\ndid you mean value"):
        gviz.RenderOptions(show="valeu")  # type: ignore[arg-type]


def test_a_notebook_shows_readings_graphs_and_tensors() -> None:
    reading, x = gviz.read("y=x*w"), leaf(2.0)
    for value in (reading, reading.graph, engine.tensor([2.0], requires_grad=True) * 2):
        assert "<svg" in str(value._repr_svg_())
    if isinstance(x, engine.Tensor):
        assert x._repr_svg_() is None


def test_a_notebook_shows_a_line_of_text_for_a_large_graph_and_the_numbers_of_its_tensor() -> None:
    y: Any = engine.ones(2, requires_grad=True)
    for _ in range(400):
        y = -y
    assert y._repr_svg_() is None
    assert gviz.graph(y)._repr_svg_() is None
    assert repr(gviz.graph(y)) == "<Graph y: 403 boxes, 402 arrows>"


# Importing


def test_static_graphs_are_there_without_an_import_of_their_own() -> None:
    assert gviz.static is tf
    assert callable(gviz.static.placeholder)


@pytest.mark.parametrize(
    ("code", "loaded"),
    [
        ("gviz.engine", "gviz.render"),
        ("gviz.engine", "gviz.walk"),
        ("gviz.engine", "gviz.graphs"),
        ("gviz.read('y=x*w', x=2)", "gviz.render"),
        ("gviz.SourceOptions(values={'x': 2})", "numpy"),
    ],
)
def test_nothing_is_imported_before_it_is_needed(code: str, loaded: str) -> None:
    assert python(f"import gviz, sys\n{code}\nassert {loaded!r} not in sys.modules").stderr == ""


def test_a_graph_is_called_whatever_was_imported_before() -> None:
    script = "import gviz.graphs, gviz\nx = gviz.engine.ones(1, requires_grad=True)\nassert gviz.graph(x * 2).title == 'output'"
    assert python(script).stderr == ""


@pytest.mark.torch
def test_tensors_of_the_real_torch_have_the_same_graph() -> None:
    torch = pytest.importorskip("torch")
    graphs = []
    for library in (engine, torch):
        x = library.tensor(2.0, requires_grad=True)
        graphs.append(gviz.graph((x * x).exp(), {"x": x}))
    assert graphs[0] == graphs[1]


def test_a_source_may_be_a_path(tmp_path: Path) -> None:
    file = tmp_path / "two.py"
    file.write_text("import torch\nx = torch.tensor(2.0, requires_grad=True)\ny = x * x\n")
    assert [row.name for row in gviz.read(file).graph.tensors] == ["x", "y"]
    with pytest.raises(TypeError, match="int"):
        gviz.read(3)
