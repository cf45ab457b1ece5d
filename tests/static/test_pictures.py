"""Pictures of static graphs: what a box is, which one is the root, what is folded, and what the legend says."""

from __future__ import annotations

from pathlib import Path

import pytest
from program import Program

from gviz.graphs import Graph
from gviz.options import SourceOptions
from gviz.passes.groups import FEW_SCOPES
from gviz.passes.scopes import with_scopes
from gviz.sources import read

SAMPLES = Path(__file__).parents[2] / "samples"

XOR = """
import tensorflow.compat.v1 as tf
x, t = tf.placeholder(tf.float32, [None, 2], name="x"), tf.placeholder(tf.float32, [None, 1], name="t")
with tf.name_scope("hidden"):
    w1 = tf.Variable(tf.random_normal([2, 8], seed=1), name="w")
    b1 = tf.Variable(tf.zeros([8]), name="b")
    h = tf.nn.sigmoid(tf.matmul(x, w1) + b1)
with tf.name_scope("output"):
    w2 = tf.Variable(tf.random_normal([8, 1], seed=2), name="w")
    b2 = tf.Variable(tf.zeros([1]), name="b")
    y = tf.nn.sigmoid(tf.matmul(h, w2) + b2)
with tf.name_scope("loss"):
    loss = tf.reduce_mean(tf.square(y - t))
with tf.name_scope("train"):
    step = tf.train.GradientDescentOptimizer(1.0).minimize(loss)
"""


def graph_of(text: str, folder: Path) -> Graph:
    """Return the picture of a script's static graph, as data."""
    file = folder / "static.py"
    file.write_text(f"import tensorflow as tf\n{text}")
    return read(file, SourceOptions(static=True)).graph


def test_a_derivative_says_what_it_is_by_the_programs_names(tmp_path: Path) -> None:
    text = """
x, w = tf.placeholder(tf.float32, [], name="x"), tf.Variable(2.0)
y = tf.tanh(w * x)
slopes = tf.gradients(y, [w, x])
curved = tf.gradients(slopes[0], w)
"""
    meanings = {node.expression for node in graph_of(text, tmp_path).nodes}
    assert {"∂y/∂w", "∂y/∂x", "∂(∂y/∂w)/∂w", "w"} <= meanings


def test_a_tensor_that_is_two_derivatives_says_both(tmp_path: Path) -> None:
    text = (
        "a, b = tf.placeholder(tf.float32, []), tf.placeholder(tf.float32, [])\ny = a + b\ng = tf.gradients(y, [a, b])"
    )
    (both,) = [node for node in graph_of(text, tmp_path).nodes if "∂" in node.expression]
    assert both.expression == "∂y/∂a, ∂y/∂b"


def test_the_root_is_what_was_differentiated_and_no_derivative(tmp_path: Path) -> None:
    graph = graph_of(XOR, tmp_path)
    assert [graph.by_id[root].name for root in graph.roots] == ["loss/Mean"]
    graph = graph_of("x = tf.placeholder(tf.float32, [])\ny, z = x * 2.0, x + 1.0", tmp_path)
    assert [graph.by_id[root].name for root in graph.roots] == ["mul", "add"]


def test_constants_stand_beside_their_operation_and_not_in_a_frame_of_their_own() -> None:
    framed = with_scopes(read(SAMPLES / "while_static.py", SourceOptions(static=True)).graph)
    assert "Less" not in {region.title for region in framed.regions}
    (constant,) = [node for node in framed.nodes if node.name == "while/Less/y"]
    assert constant.scope == "while"
    used = {node.region for node in framed.nodes} | {region.within for region in framed.regions}
    assert used >= set(range(len(framed.regions)))


def test_scopes_are_boxes_where_all_operations_are_too_many(gviz: Program) -> None:
    (gviz.folder / "xor.py").write_text(XOR)
    boxes = len(graph_of(XOR, gviz.folder).nodes)
    done = gviz("static", "xor.py", "-o", "xor.svg")
    assert done.err == f"warning: the graph has {boxes} boxes: drawn by name scope; --by operation draws all\n"
    assert (gviz.folder / "xor.svg").read_text(encoding="utf-8").count('class="node"') <= FEW_SCOPES
    done = gviz("static", "xor.py", "--by", "operation", "-o", "all.svg")
    assert done.err == ""
    assert (gviz.folder / "all.svg").read_text(encoding="utf-8").count('class="node"') == boxes
    data = gviz("render", "xor.py", "-o", "xor.json")
    assert data.err == ""
    assert len(Graph.from_json((gviz.folder / "xor.json").read_text()).nodes) == boxes


def test_a_variable_is_within_its_own_scope_when_that_is_a_box(gviz: Program) -> None:
    (gviz.folder / "xor.py").write_text(XOR)
    text = gviz("render", "xor.py", "--by", "module", "--depth", "2", "-o", "-").out
    assert ">hidden/w</B>" in text
    assert "VariableV2" not in text


@pytest.mark.parametrize("has_order", [True, False])
def test_the_legend_says_what_a_dashed_arrow_is_where_there_is_one(gviz: Program, has_order: bool) -> None:
    text = (
        "v = tf.Variable(1.0)\ninit = tf.global_variables_initializer()" if has_order else "v = tf.constant(1.0) * 2.0"
    )
    (gviz.folder / "static.py").write_text(f"import tensorflow as tf\n{text}")
    assert ("dashed arrow: runs first" in gviz("static", "static.py", "-o", "-").out) is has_order


def test_a_constant_that_is_text_shows_it(gviz: Program) -> None:
    (gviz.folder / "static.py").write_text(
        "import tensorflow as tf\na = tf.constant('hello')\nb = tf.constant([b'x', b'y'])"
    )
    assert "= a = hello" in gviz("static", "static.py", "-o", "-", "--format", "txt").out


def test_one_dashed_arrow_says_that_a_scope_runs_first(gviz: Program) -> None:
    (gviz.folder / "xor.py").write_text(XOR + "init = tf.global_variables_initializer()")
    text = gviz("render", "xor.py", "--by", "module", "--depth", "1", "-o", "-").out
    assert text.count("style=dashed color=") == 2  # from both layers to init


def test_layers_that_repeat_are_drawn_once_though_each_initialises_variables_of_its_own(gviz: Program) -> None:
    text = """
import tensorflow.compat.v1 as tf
h = x = tf.placeholder(tf.float32, [None, 4], name="x")
for number in range(12):
    h = tf.layers.dense(h, 4, tf.nn.relu, name=f"layer_{number}")
loss = tf.reduce_mean(h, name="loss")
"""
    graph = graph_of(text, gviz.folder)
    assert [graph.by_id[root].name for root in graph.roots] == ["loss"]
    (gviz.folder / "net.py").write_text(text)
    gviz("static", "net.py", "--fold", "on", "-o", "net.svg")
    assert "layer_{0…11}" in (gviz.folder / "net.svg").read_text()
