"""What introductory courses do with TensorFlow 1, with the numbers, names and bytes that TensorFlow 2.21 gives after
``disable_v2_behavior()``: training, layers, scopes, files, curves, random numbers."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from program import ROOT

from gviz import events, static

tf: Any = static


@pytest.fixture(autouse=True)
def graph() -> Iterator[Any]:
    with tf.Graph().as_default() as opened:
        yield opened


def started() -> Any:
    """A session with all variables initialised."""
    session = tf.Session()
    session.run(tf.global_variables_initializer())
    return session


def names() -> list[str]:
    return [variable.op.name for variable in tf.global_variables()]


# ------------------------------------------------------------------ optimisers
OPTIMIZERS: dict[str, tuple[Callable[[], Any], list[float], list[str]]] = {
    "adam": (lambda: tf.train.AdamOptimizer(0.1), [0.32342255, -1.3082014, 2.304856],
             ["beta1_power", "beta2_power", "Variable/Adam", "Variable/Adam_1"]),
    "momentum": (lambda: tf.train.MomentumOptimizer(0.01, 0.9), [0.57894784, 1.3657556, 2.8629537], ["Variable/Momentum"]),
    "nesterov": (lambda: tf.train.MomentumOptimizer(0.01, 0.9, use_nesterov=True),
                 [0.51796144, 0.61134183, 2.835858], ["Variable/Momentum"]),
    "adagrad": (lambda: tf.train.AdagradOptimizer(0.1), [0.63459307, -1.6143683, 2.6313512], ["Variable/Adagrad"]),
    "rmsprop": (lambda: tf.train.RMSPropOptimizer(0.1), [0.27096066, -0.84601474, 2.5527844],
                ["Variable/RMSProp", "Variable/RMSProp_1"]),
    "centered": (lambda: tf.train.RMSPropOptimizer(0.1, 0.8, 0.5, 1e-6, centered=True),
                 [-0.06297492, -0.15247622, 2.0868087], ["Variable/RMSProp", "Variable/RMSProp_1", "Variable/RMSProp_2"]),
    "adadelta": (lambda: tf.train.AdadeltaOptimizer(1.0), [0.9967941, -1.9967927, 2.996792],
                 ["Variable/Adadelta", "Variable/Adadelta_1"]),
}  # fmt: skip


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_an_optimiser_takes_tensorflow_s_steps(name: str) -> None:
    make, after, kept = OPTIMIZERS[name]
    w = tf.Variable([1.0, -2.0, 3.0])
    step = make().minimize(tf.reduce_sum(tf.square(w) * [1.0, 10.0, 0.1]))
    session = started()
    for _ in range(7):
        session.run(step)
    np.testing.assert_allclose(session.run(w), after, rtol=2e-5)
    assert names() == ["Variable", *kept]


def test_what_an_optimiser_keeps_can_be_asked_for() -> None:
    w = tf.Variable([1.0, 2.0])
    optimizer = tf.train.AdamOptimizer()
    optimizer.minimize(tf.reduce_sum(w), global_step=tf.train.get_or_create_global_step())
    assert optimizer.get_slot(w, "m").op.name == "Variable/Adam"
    assert optimizer.get_slot(w, "q") is None
    assert optimizer.get_slot_names() == ["m", "v"]
    assert tf.train.get_global_step().op.name == "global_step"


def test_a_table_that_is_looked_up_is_refused_where_tensorflow_leaves_the_other_rows_alone() -> None:
    table = tf.Variable(tf.ones([4, 2]))
    loss = tf.reduce_sum(tf.nn.embedding_lookup(table, [0, 2]))
    with pytest.raises(ValueError, match="gviz has no Momentum for a table that is looked up, as Variable"):
        tf.train.MomentumOptimizer(0.1, 0.9).minimize(loss)
    session_after = tf.train.AdagradOptimizer(0.1).minimize(loss)
    session = started()
    session.run(session_after)
    np.testing.assert_allclose(session.run(table)[:, 0], [0.90465, 1.0, 0.90465, 1.0], atol=1e-5)


def test_gradients_are_clipped_and_rates_decay() -> None:
    step = tf.Variable(0, trainable=False)
    rate = tf.train.exponential_decay(0.5, step, 2, 0.8, staircase=True)
    w, v = tf.Variable([3.0, -4.0]), tf.Variable([[1.0, 2.0]])
    loss = tf.reduce_sum(tf.square(w)) * 2 + tf.reduce_sum(v * v) + 0.01 * tf.nn.l2_loss(w)
    optimizer = tf.train.GradientDescentOptimizer(rate)
    grads, variables = zip(*optimizer.compute_gradients(loss), strict=True)
    clipped, length = tf.clip_by_global_norm(grads, 5.0)
    train = optimizer.apply_gradients(zip(clipped, variables, strict=True), global_step=step)
    session, seen = started(), []
    for _ in range(4):
        seen.append(session.run([length, rate]))
        session.run(train)
    np.testing.assert_allclose(seen, [[20.5427, 0.5], [10.808714, 0.5], [1.9648415, 0.4], [0.5782536, 0.4]], rtol=1e-5)
    np.testing.assert_allclose(session.run(w), [0.04062954, -0.05417269], rtol=1e-4)


def test_the_moving_average_of_a_variable() -> None:
    v, count = tf.Variable(0.0, name="v"), tf.Variable(0, trainable=False)
    average = tf.train.ExponentialMovingAverage(0.9, count)
    update = average.apply([v])
    session, seen = started(), []
    for i in range(4):
        session.run([tf.assign(v, i + 1.0), tf.assign(count, i * 10)])
        session.run(update)
        seen.append(float(session.run(average.average(v))))
    np.testing.assert_allclose(seen, [0.9, 1.395, 1.8765, 2.3542876], rtol=1e-5)
    assert average.average(v).name == "v/ExponentialMovingAverage:0"


# ------------------------------------------------------------------ scopes and layers
def test_variables_are_shared_by_their_names() -> None:
    with tf.variable_scope("a"), tf.variable_scope("b", initializer=tf.constant_initializer(0.4)) as scope:
        c, u = tf.get_variable("c", [2]), tf.get_variable("u", [2], initializer=tf.zeros_initializer)
    with tf.variable_scope(scope, reuse=True):
        assert tf.get_variable("c", [2]) is c
        assert tf.constant(1.0, name="x").name == "b/x:0"
    with tf.variable_scope("a/b", reuse=tf.AUTO_REUSE):
        assert tf.get_variable("c") is c
    cells = []
    for _ in range(2):
        with tf.variable_scope(None, default_name="cell"):
            cells.append(tf.get_variable("w", [1]).op.name)
    with tf.name_scope("names"), tf.variable_scope("v"):
        assert [tf.get_variable("g", [1]).op.name, tf.Variable(1.0, name="h").op.name] == ["v/g", "names/v/h"]
    assert cells == ["cell/w", "cell_1/w"]
    assert [variable.op.name for variable in tf.trainable_variables("a")] == ["a/b/c", "a/b/u"]
    assert [value.tolist() for value in started().run([c, u])] == [[np.float32(0.4)] * 2, [0.0, 0.0]]


@pytest.mark.parametrize(
    ("reuse", "name", "shape", "words"),
    [
        (
            None,
            "c",
            [2],
            "Variable s/c already exists, disallowed. Did you mean to set reuse=True or reuse=tf.AUTO_REUSE",
        ),
        (True, "d", [2], "Variable s/d does not exist, or was not created with tf.get_variable()"),
        (True, "c", [3], "Trying to share variable s/c, but specified shape (3,) and found shape (2,)."),
        (None, "e", [None], "Shape of a new variable (s/e) must be fully defined, but instead was (?,)."),
    ],
)
def test_a_variable_that_is_there_or_not_is_refused_in_tensorflow_s_words(
    reuse: Any, name: str, shape: list[int | None], words: str
) -> None:
    with tf.variable_scope("s"):
        tf.get_variable("c", [2])
    with tf.variable_scope("s", reuse=reuse), pytest.raises(ValueError, match="ariable ") as refusal:
        tf.get_variable(name, shape)
    assert words in str(refusal.value)


def test_a_convolutional_network_of_layers_learns_as_in_tensorflow() -> None:
    tf.set_random_seed(5)
    rng = np.random.RandomState(5)
    images, labels = rng.rand(8, 100).astype(np.float32), rng.randint(0, 5, 8)

    def network(x: Any, *, reuse: bool, training: bool) -> Any:
        with tf.variable_scope("ConvNet", reuse=reuse):
            maps = tf.layers.conv2d(tf.reshape(x, [-1, 10, 10, 1]), 4, 3, activation=tf.nn.relu)
            flat = tf.layers.dense(tf.layers.flatten(tf.layers.max_pooling2d(maps, 2, 2)), 12)
            return tf.layers.dense(tf.layers.dropout(flat, rate=0.25, training=training), 5)

    x = tf.placeholder(tf.float32, [8, 100])
    logits, answers = network(x, reuse=False, training=True), network(x, reuse=True, training=False)
    loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(logits=logits, labels=labels))
    step = tf.train.get_or_create_global_step()
    train = tf.train.AdamOptimizer(0.01).minimize(loss, global_step=step)
    session = started()
    losses = [session.run([train, loss], {x: images})[1] for _ in range(5)]
    np.testing.assert_allclose(losses, [1.7244589, 1.6378099, 1.5296888, 1.4200078, 1.4313688], rtol=1e-4)
    count, scores = session.run([step, answers], {x: images})
    np.testing.assert_allclose(scores[0], [0.24541318, 0.28663784, 0.48449993, 0.15239426, -0.01457532], rtol=1e-3)
    assert count == 5
    assert [one for one in names() if "Adam" not in one and "power" not in one] == [
        *(f"ConvNet/{layer}/{part}" for layer in ("conv2d", "dense", "dense_1") for part in ("kernel", "bias")), "global_step",
    ]  # fmt: skip


def test_images_whose_padding_is_uneven() -> None:
    x = tf.constant(np.arange(40, dtype=np.float32).reshape(1, 5, 4, 2) ** 0.5)
    w = tf.constant(np.arange(36, dtype=np.float32).reshape(3, 3, 2, 2) / 10)
    y = tf.nn.conv2d(x, w, [1, 2, 2, 1], "SAME")
    pooled = [pool(x, [1, 2, 3, 1], [1, 2, 2, 1], "SAME") for pool in (tf.nn.max_pool, tf.nn.avg_pool)]
    grads = [tf.gradients(tf.square(y), [x, w])[0], *(tf.gradients(tf.square(one), x)[0] for one in pooled)]
    assert [one.shape.as_list() for one in (y, *pooled)] == [[1, 3, 2, 2]] * 3
    session = tf.Session()
    recorded = [481.35880, 30.138901, 26.620325, 43582.672, 121.79625, 108.25525]
    sums = [
        float(np.sum(value[..., 0] if i < 3 else value)) for i, value in enumerate(session.run([y, *pooled, *grads]))
    ]
    np.testing.assert_allclose(sums, recorded, rtol=1e-4)


def test_losses_are_tensorflow_s() -> None:
    p, z, losses = tf.constant([[0.2, 0.7], [0.9, 0.1]]), tf.constant([[0.0, 1.0], [1.0, 1.0]]), tf.losses
    made = [
        losses.mean_squared_error(z, p), losses.absolute_difference(z, p, weights=[[1.0], [0.0]]), losses.log_loss(z, p),
        losses.huber_loss(z, p * 4, delta=0.5), losses.hinge_loss(z, p), losses.softmax_cross_entropy(z, p, label_smoothing=0.1),
        losses.sparse_softmax_cross_entropy([0, 1], p), losses.sigmoid_cross_entropy(z, p, weights=2.0),
        losses.mean_squared_error(z, p, reduction=losses.Reduction.SUM),
    ]  # fmt: skip
    recorded = [0.2375, 0.25, 0.7469407, 0.6, 0.625, 0.9820841, 1.0725888, 1.0934377, 0.95]
    np.testing.assert_allclose(tf.Session().run(made), recorded, rtol=1e-5)
    assert losses.get_losses() == made


# ------------------------------------------------------------------ lists of tensors
def test_functions_are_called_for_each_part_of_a_tensor() -> None:
    parts, w = np.arange(1, 7, dtype=np.float32), tf.Variable(0.5)
    states = tf.scan(lambda state, x: tf.tanh(w * state + x), parts / 10, initializer=tf.constant(0.1))
    pairs = tf.scan(
        lambda pair, _: (pair[1], pair[0] + pair[1]), np.zeros(5, np.int32), (tf.constant(0), tf.constant(1))
    )
    made = [
        tf.scan(lambda total, x: total + x, parts), tf.scan(lambda total, x: total + x, parts, reverse=True),
        tf.map_fn(lambda x: x * x, parts), tf.foldl(lambda total, x: total * 2 + x, parts),
        tf.foldr(lambda total, x: total * 2 + x, parts),
    ]  # fmt: skip
    sums, back, squares, left, right = (value.tolist() for value in started().run(made))
    assert (sums, back, squares) == ([1, 3, 6, 10, 15, 21], [21, 20, 18, 15, 11, 6], [1, 4, 9, 16, 25, 36])
    assert (left, right) == (120.0, 321.0)
    values, slope, (_, fibonacci) = started().run([states, tf.gradients(tf.reduce_sum(states), w)[0], pairs])
    np.testing.assert_allclose(
        values, [0.14888504, 0.26775375, 0.40855616, 0.5400868, 0.64695466, 0.72753835], rtol=1e-5
    )
    assert slope == pytest.approx(1.8108648, rel=1e-5)
    assert fibonacci.tolist() == [1, 2, 3, 5, 8]


def test_a_loop_fills_a_list_of_tensors() -> None:
    x = tf.constant(2.0)
    _, rows = tf.while_loop(
        lambda i, _: i < 3,
        lambda i, rows: (i + 1, rows.write(i, tf.cast(i, tf.float32) * [x, 1.0])),
        (0, tf.TensorArray(tf.float32, 3)),
    )
    whole = rows.stack()
    assert whole.shape.as_list() == [None, 2]
    value, slope, size, part = tf.Session().run([whole, tf.gradients(whole, x)[0], rows.size(), rows.read(2)])
    assert (value.tolist(), slope, size, part.tolist()) == ([[0, 0], [2, 1], [4, 2]], 3.0, 3, [4, 2])


# ------------------------------------------------------------------ recurrent networks
CELLS = {
    "BasicRNNCell": [9.874214, 41.67974, 1.181913], "BasicLSTMCell": [0.07821939, 0.7095543, 0.3348364],
    "LSTMCell": [0.07821939, 0.7095543, 0.3348364],
    "GRUCell": [0.07890416, 0.2097901, 0.114366, 0.7577556, 0.3590491],
}  # fmt: skip
"""What TensorFlow 2.21 gives for the loss below, and for the sums of its gradients."""


@pytest.mark.parametrize("name", CELLS)
def test_a_cell_goes_through_sequences_of_several_lengths(name: str) -> None:
    tf.set_random_seed(1)
    x, lengths = tf.placeholder(tf.float32, [None, 5, 3]), tf.placeholder(tf.int32, [None])
    outputs, state = tf.nn.dynamic_rnn(getattr(tf.nn.rnn_cell, name)(4), x, sequence_length=lengths, dtype=tf.float32)
    loss = tf.reduce_sum(tf.square(outputs))
    slopes = [tf.reduce_sum(tf.abs(slope)) for slope in tf.gradients(loss, tf.trainable_variables())]
    feeds = {x: np.sin(np.arange(30.0)).reshape(2, 5, 3), lengths: [2, 4]}
    loss_and_sums, whole, last = started().run([[loss, *slopes], outputs, getattr(state, "h", state)], feeds)
    np.testing.assert_allclose(loss_and_sums, CELLS[name], rtol=1e-5)
    assert whole.shape == (2, 5, 4)
    assert not whole[0, 2:].any()
    np.testing.assert_array_equal(last, [whole[0, 1], whole[1, 3]])


def test_a_loop_and_no_loop_give_the_same_states() -> None:
    x = tf.placeholder(tf.float32, [2, 3, 3])
    cell = tf.nn.rnn_cell.MultiRNNCell([tf.nn.rnn_cell.GRUCell(4), tf.nn.rnn_cell.BasicLSTMCell(2)])
    looped, first = tf.nn.dynamic_rnn(cell, x, dtype=tf.float32)
    with tf.variable_scope("", reuse=True):
        steps, second = tf.nn.static_rnn(cell, tf.unstack(x, axis=1), dtype=tf.float32)
    values = started().run([looped, tf.stack(steps, 1), first[0], second[0]], {x: np.ones((2, 3, 3))})
    np.testing.assert_allclose(values[0], values[1], rtol=1e-6)
    np.testing.assert_allclose(values[2], values[3], rtol=1e-6)
    with pytest.raises(ValueError, match="gviz has no use_peepholes for"):
        tf.nn.rnn_cell.LSTMCell(4, use_peepholes=True)


@pytest.mark.parametrize(
    ("dims", "variance"),
    [([12, 3], [0.9990368, 0.9986096, 0.9989871]), ([3, 2, 2, 3], [0.9991311, 0.998665, 0.9990768])],
)
def test_batch_normalization_has_moving_averages_to_be_brought_up_to_date(
    dims: list[int], variance: list[float]
) -> None:
    x, training = tf.placeholder(tf.float32, [None, *dims[1:]]), tf.placeholder(tf.bool, [])
    y = tf.layers.batch_normalization(x, momentum=0.998, training=training)
    updates = tf.get_collection(tf.GraphKeys.UPDATE_OPS)
    feeds = {x: np.sin(np.arange(36.0) ** 2).reshape(dims), training: True}
    session = started()
    value, _ = session.run([y, updates], feeds)
    flat = value.reshape(-1, 3)
    np.testing.assert_allclose([flat.mean(0), flat.std(0)], [[0] * 3, [1] * 3], atol=3e-3)
    np.testing.assert_allclose(session.run(tf.global_variables()[3]), variance, rtol=1e-6)
    same = session.run(y, {**feeds, training: False})
    np.testing.assert_allclose(same, feeds[x] / np.sqrt(np.array(variance) + 0.001), rtol=1e-2, atol=1e-2)


# ------------------------------------------------------------------ random numbers
def test_random_numbers_are_those_of_tensorflow_s_seeds() -> None:
    tf.set_random_seed(5)
    made = [
        tf.random_normal([2]), tf.random_uniform([2]), tf.truncated_normal([2]), tf.random_uniform([5], 0, 10, tf.int32),
        tf.random_normal([2], seed=7), tf.random_uniform([2], dtype=tf.float64), tf.truncated_normal([2], dtype=tf.float64),
    ]  # fmt: skip
    session = tf.Session()
    first, second = ([part.tolist() for part in session.run(made)] for _ in range(2))
    recorded: list[list[float]] = [
        [-1.7138785, -0.6787023], [0.3875184, 0.74854553], [1.7571344, -0.16563478], [0, 1, 8, 6, 4], [-0.87252676, -0.920335],
        [0.7189715224565423, 0.08085053266201347], [-1.689382069640118, -0.13023406380617006],
    ]  # fmt: skip
    for one, other in zip(first, recorded, strict=True):
        np.testing.assert_allclose(one, other, rtol=2e-6)
    np.testing.assert_allclose(second[0], [-0.2950869, -0.21065663], rtol=2e-6)


# ------------------------------------------------------------------ files
def test_what_a_saver_has_written_is_read_again(tmp_path: Path) -> None:
    with tf.variable_scope("m"):
        v = tf.get_variable("v", [2], initializer=tf.constant_initializer([1.0, 2.0]))
    n = tf.Variable(3, name="n")
    saver = tf.train.Saver(max_to_keep=2)
    session = started()
    session.run([v.assign(v * 2), tf.assign_add(n, 1)])
    paths = [saver.save(session, str(tmp_path / "model"), global_step=i) for i in range(3)]
    assert sorted(file.name for file in tmp_path.iterdir()) == ["checkpoint", "model-1.npz", "model-2.npz"]
    assert tf.train.latest_checkpoint(str(tmp_path)) == paths[-1]
    other = tf.Session()
    saver.restore(other, paths[-1])
    assert [value.tolist() for value in other.run([v, n])] == [[2.0, 4.0], 4]
    with pytest.raises(tf.errors.NotFoundError, match="Key q not found in checkpoint"):
        tf.train.Saver({"q": v}).restore(other, paths[-1])
    with pytest.raises(ValueError, match="The passed save_path is not a valid checkpoint"):
        saver.restore(other, paths[0])


def test_summaries_are_tensorflow_s_bytes_and_go_into_the_event_file(tmp_path: Path) -> None:
    w = tf.Variable([1.0, 2.0, 3.0], name="w")
    with tf.name_scope("layer1"):
        tf.summary.histogram("weights", w)
    tf.summary.scalar("loss", tf.reduce_sum(w) / 4)
    merged, session = tf.summary.merge_all(), started()
    value = session.run(merged)
    assert value.hex() == (
        "0ab4010a0e6c61796572312f776569676874732aa10109000000000000f03f110000000000000840190000000000000840210000000000001840"
        "290000000000002c40323808996919155aed3f2b14facdbe24f03fdc94cd2e8d75ff3fe011f10c744d014068bc10359a0707400d9cc5a0295509"
        "40ffffffffffffef7f3a380000000000000000000000000000f03f0000000000000000000000000000f03f0000000000000000000000000000f0"
        "3f00000000000000000a0b0a046c6f7373150000c03f"
    )
    with tf.summary.FileWriter(tmp_path, session.graph) as writer:
        for step in range(3):
            writer.add_summary(value, step)
    (file,) = tmp_path.iterdir()
    data = file.read_bytes()
    assert data.endswith(events.summary_event(value, 1) + events.summary_event(value, 2))
    assert data.count(value) == 3


# ------------------------------------------------------------------ what is done besides
def test_programs_may_print_check_and_call_python(capsys: pytest.CaptureFixture[str]) -> None:
    x = tf.placeholder_with_default([1.0, 2.0], [2])
    doubled = tf.py_func(lambda a: a * np.float32(2), [x], tf.float32)
    printed = tf.Print(x, [x, tf.shape(x)], "x is ")
    with tf.control_dependencies([tf.Assert(tf.reduce_all(x > 0), [x])]):
        checked = tf.identity(x)
    session = tf.InteractiveSession()
    assert doubled.eval().tolist() == [2.0, 4.0]
    assert session.run(tf.gradients(printed, x)[0]).tolist() == [1.0, 1.0]
    assert checked.eval().tolist() == printed.eval().tolist() == [1.0, 2.0]
    assert capsys.readouterr().err == "x is [1 2][2]\n"
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"assertion failed: \[-1 2\]"):
        checked.eval({x: [-1.0, 2.0]})
    with pytest.raises(
        tf.errors.InvalidArgumentError, match="py_func returns float64, but was declared to return float32"
    ):
        tf.py_func(lambda a: a.astype(float), [x], tf.float32).eval()
    session.close()


def test_devices_are_written_on_operations() -> None:
    with tf.device("/gpu:1"):
        a = tf.constant(1.0)
        with tf.device("/cpu:0"):
            b = tf.constant(1.0)
    assert [a.device, b.device, tf.constant(1.0).device] == ["/device:GPU:1", "/device:CPU:0", ""]


# ------------------------------------------------------------------ the graph of gradients
GRAPHS: dict[str, dict[str, Any]] = json.loads(
    (ROOT / "tests" / "recorded" / "tensorflow_graphs.json").read_text(encoding="utf-8")
)


@pytest.mark.parametrize("name", GRAPHS)
def test_the_graph_of_gradients_is_tensorflow_s(graph: Any, name: str) -> None:
    exec(GRAPHS[name]["program"], {"tf": tf})  # noqa: S102 - the programs of the recording
    ours = {op.name: [op.type, [t.name for t in op.inputs]] for op in graph.get_operations()}
    theirs = {node: [kind, inputs] for node, kind, inputs in GRAPHS[name]["nodes"]}
    assert ours == theirs
