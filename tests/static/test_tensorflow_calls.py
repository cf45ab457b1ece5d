"""Every function takes the arguments that TensorFlow documents, refuses a misspelt one, and gives TensorFlow's numbers.

``tests/recorded/tensorflow_arguments.json`` has the arguments of TensorFlow 2.21's ``tensorflow.compat.v1``, with their
defaults; the numbers here are what it prints after ``disable_v2_behavior()``.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from operator import attrgetter
from typing import Any

import numpy as np
import pytest
from program import ROOT

from gviz import static

tf: Any = static
ARGUMENTS: dict[str, dict[str, Any]] = json.loads(
    (ROOT / "tests" / "recorded" / "tensorflow_arguments.json").read_text(encoding="utf-8")
)
REQUIRED = "required"


@pytest.fixture(autouse=True)
def graph() -> Iterator[Any]:
    with tf.Graph().as_default() as opened:
        yield opened


def run(fetches: Any, feeds: Any = None) -> Any:
    """Run fetches in a session of their own, with all variables initialised."""
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        return session.run(fetches, feeds)


# ------------------------------------------------------------------ arguments
def samples() -> dict[str, Any]:
    """Something that each required argument may be, by its name."""
    variable = tf.Variable(2.0)
    matrix = [[1.0, 2.0], [3.0, 4.0]]
    return {
        **dict.fromkeys(("x", "y", "input", "tensor", "input_tensor", "params", "features", "logits", "t", "value"), matrix),
        **dict.fromkeys(("labels", "a", "b", "condition", "values", "inputs", "initial_value"), matrix),
        "bias": [1.0, 2.0], "ref": variable, "indices": [0], "shape": [4], "dims": [2], "dtype": tf.float32, "axis": 0,
        "num_rows": 2, "start": 3, "clip_value_min": 0.0, "clip_value_max": 1.0, "name": "named", "pred": tf.constant(True),
        "var_list": [variable], "cond": lambda i: i < 3, "body": lambda i: i + 1, "loop_vars": [0], "ys": variable * 2.0,
        "xs": variable, "fetches": variable, "loss": variable * variable, "learning_rate": 0.1, "delta": 1.0,
        "grads_and_vars": [(tf.constant(1.0), variable)], "logdir": "", "control_inputs": [variable],
        **dict.fromkeys(("input_", "onehot_labels", "multi_class_labels", "predictions", "weights", "losses"), matrix),
        **dict.fromkeys(("units", "filters", "kernel_size", "pool_size", "strides", "ksize", "depth", "decay_steps"), 2),
        **dict.fromkeys(("clip_norm", "momentum", "decay", "decay_rate", "mean", "variance", "variance_epsilon"), 0.5),
        "data": [1.0], "func": abs, "inp": [1.0], "Tout": tf.float32, "multiples": [1, 2], "paddings": [[1, 1], [0, 0]],
        "begin": [0, 0], "size": [1, 1], "seed": 1, "device_name_or_function": "/cpu:0", "name_or_scope": "scope", "k": 1,
        "padding": "SAME", "ids": [0], "targets": [0, 1], "t_list": [matrix], "global_step": 0, "checkpoint_dir": "missing",
        "checkpoint_prefix": "missing", "axes": [0], "biases": [1.0, 2.0], "offset": 1.0, "scale": 1.0, "loss_collection": "mine",
        "fn": lambda *given: given[-1], "elems": [1.0, 2.0], "stop": 5.0, "num": 3, "mask": [True, False], "tensors": [variable],
        "pred_fn_pairs": [(tf.constant(True), lambda: 1.0)], "variable": variable,
        "num_or_size_splits": 2, "dimension": 0, "sess": tf.Session(), "global_step_tensor": variable,
        "true_fn": lambda: 1.0, "false_fn": lambda: 2.0, "initializer": 1.0, "key": "variables", "self": variable,
        "branch_index": tf.constant(1), "branch_fns": [lambda: 1.0, lambda: 2.0],
        "num_sampled": 2, "num_classes": 4, "segment_ids": [0], "num_segments": 2,
        "num_units": 2, "cell": tf.nn.rnn_cell.BasicRNNCell(2), "cells": [tf.nn.rnn_cell.BasicRNNCell(2)],
    }  # fmt: skip


def called(name: str, given: dict[str, Any]) -> Any:
    """Call a function, or a method of an object made for it, by keywords."""
    owner, _, method = name.rpartition(".")
    makers: dict[str, Callable[[], Any]] = {
        "Session": tf.Session,
        "Variable": lambda: tf.Variable(2.0),
        "train.GradientDescentOptimizer": lambda: tf.train.GradientDescentOptimizer(0.1),
    }
    function = getattr(makers[owner](), method) if owner in makers else attrgetter(name)(tf)
    made = function(**given)
    if name == "variable_scope":  # whose arguments are looked at when it is opened
        with made:
            pass
    return made


def refusal(name: str, given: dict[str, Any]) -> str:
    """What a call raises, "" for nothing."""
    try:
        called(name, given)
    except Exception as error:  # noqa: BLE001 - whatever it is, the words tell whether the argument is known
        return str(error)
    return ""


PARTS = ["summary.FileWriter", "cond"]
"""What is called otherwise below: it writes a file; it has two names for each function."""


@pytest.mark.parametrize("name", sorted(ARGUMENTS.keys() - {*PARTS}))
def test_a_function_takes_each_documented_argument_and_no_other(name: str) -> None:
    known = samples()
    needed = {one: known[one] for one, default in ARGUMENTS[name].items() if default == REQUIRED}
    if name == "get_variable":
        needed["initializer"] = 1.0
    if "logits" in ARGUMENTS[name] and "labels" in ARGUMENTS[name]:
        needed = {"labels": known["labels"], "logits": known["logits"]}
    if name in ("cast", "logical_and", "logical_or", "logical_xor", "logical_not", "reduce_all", "reduce_any"):
        needed |= {one: [True, False] for one in ("x", "y", "input_tensor") if one in needed}
    for one, default in ARGUMENTS[name].items():
        value = known[one] if default == REQUIRED else default
        assert "unexpected keyword" not in refusal(name, {**needed, one: value}), one
    if not (name == "group" or name.endswith(("variables", "variables_initializer", "initialize_all_variables"))):
        assert "unexpected keyword argument 'misspelt'" in refusal(name, {**needed, "misspelt": 1})


def test_what_tensorflow_has_and_gviz_does_not_is_refused_by_its_name() -> None:
    with pytest.raises(ValueError, match=r"gviz has no output_type for tf.matmul\(\)"):
        tf.matmul([[1]], [[1]], output_type=tf.int32)
    with pytest.raises(ValueError, match=r"gviz has no use_resource for tf.Variable\(\)"):
        tf.Variable(1.0, use_resource=True)
    with pytest.raises(TypeError, match="unexpected keyword argument 'trainible'"):
        tf.Variable(1.0, trainible=False)


def test_case_runs_the_function_of_the_first_that_holds() -> None:
    x = tf.placeholder(tf.float32, [])
    pairs = [(x > 2, lambda: x * 2), (x > 1, lambda: x * x)]
    y = tf.case(pairs, default=lambda: -x)
    found = [run([y, *tf.gradients(y, x)], {x: value}) for value in (3.0, 1.5, 0.5)]
    assert found == [[6.0, 2.0], [2.25, 3.0], [-0.5, -1.0]]
    assert run(tf.case(pairs), {x: 1.5}) == 2.25
    with pytest.raises(tf.errors.InvalidArgumentError, match="None of conditions evaluated as True"):
        run(tf.case(pairs), {x: 0.5})
    with pytest.raises(tf.errors.InvalidArgumentError, match="more than 1 conditions"):
        run(tf.case(pairs, exclusive=True), {x: 3.0})


def test_switch_case_takes_the_last_function_where_no_other_has_the_number() -> None:
    place = tf.placeholder(tf.int32, [])
    plain, other = {0: lambda: tf.constant(1.0), 1: lambda: tf.constant(3.0)}, lambda: tf.constant(-1.0)
    fetches = [tf.switch_case(place, plain), tf.switch_case(place, plain, default=other)]
    assert [run(fetches, {place: number}) for number in (0, 1, 5, -1)] == [[1, 1], [3, 3], [3, -1], [3, -1]]
    with pytest.raises(ValueError, match=r"contiguous range of \[0 to 2\) but found \{0,2\}"):
        tf.switch_case(place, {0: plain[0], 2: plain[1]})


def test_classes_are_counted_and_what_is_none_is_refused_in_the_run() -> None:
    right, seen = tf.placeholder(tf.int64, [None]), tf.placeholder(tf.int64, [None])
    counts = tf.confusion_matrix(right, seen, num_classes=3)
    assert run(counts, {right: [0, 1, 2, 2], seen: [0, 2, 2, 1]}).tolist() == [[1, 0, 0], [0, 0, 1], [0, 1, 1]]
    assert run(tf.confusion_matrix([1, 0], [2, 0], dtype=tf.float32, weights=[2.0, 0.5])).tolist() == [
        [0.5, 0, 0], [0, 0, 2.0], [0, 0, 0]
    ]  # fmt: skip
    with pytest.raises(tf.errors.InvalidArgumentError, match="`predictions` out of bound"):
        run(counts, {right: [0, 1], seen: [0, 5]})


def test_unique_elements_come_in_their_order_and_texts_as_printf_writes_them() -> None:
    elements = run(tf.unique([1, 1, 2, 4, 4, 7, 2]))
    assert elements.y.tolist() == [1, 2, 4, 7]
    assert elements.idx.tolist() == [0, 0, 1, 2, 2, 3, 1]
    numbers = tf.constant([3.14159, -2.0, 1e10, np.inf])
    assert run(tf.as_string(numbers)).tolist() == [b"3.141590", b"-2.000000", b"10000000000.000000", b"inf"]
    assert run(tf.as_string(numbers, shortest=True)).tolist() == [b"3.14159", b"-2", b"1e+10", b"inf"]
    assert run(tf.as_string(numbers[:1], precision=2, width=6)).tolist() == [b"  3.14"]
    assert [*run(tf.as_string([7])), *run(tf.as_string([True]))] == [b"7", b"true"]


def test_classes_drawn_by_chance_are_those_of_tensorflow() -> None:
    tf.set_random_seed(5)
    rng = np.random.RandomState(0)
    weights, biases = tf.Variable(rng.randn(20, 6).astype("f")), tf.Variable(rng.randn(20).astype("f"))
    given, labels = tf.placeholder(tf.float32, [None, 6]), tf.placeholder(tf.int64, [None, 1])
    one = tf.nn.nce_loss(weights, biases, labels, given, 5, 20)
    other = tf.nn.sampled_softmax_loss(weights, biases, labels, given, 5, 20, seed=3)
    feeds = {given: rng.randn(4, 6), labels: rng.randint(0, 20, (4, 1))}
    found = run([one, other, tf.gradients(other, biases)[0]], feeds)
    np.testing.assert_allclose(found[0], [13.2464, 10.7548, 11.5118, 18.0181], atol=1e-4)
    np.testing.assert_allclose(found[1], [3.5553, 9.6085, 0.8728, 8.1059], atol=1e-4)
    assert abs(found[2].sum()) < 1e-5
    with pytest.raises(ValueError, match="Sampler's range is too small"):
        tf.nn.nce_loss(weights, biases, labels, given, 21, 20)


def test_sums_of_segments_and_inverses_have_derivatives() -> None:
    x = tf.placeholder(tf.float32, [None, None])
    sums = tf.unsorted_segment_sum(x, [0, 2, 0], 3)
    feeds = {x: [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]}
    assert run(sums, feeds).tolist() == [[6, 8], [0, 0], [3, 4]]
    assert run(tf.gradients(sums**2, x)[0], feeds).tolist() == [[12, 16], [6, 8], [12, 16]]
    feeds, inverse = {x: [[2.0, 1.0], [0.0, 4.0]]}, tf.matrix_inverse(x)
    np.testing.assert_allclose(run(inverse, feeds), [[0.5, -0.125], [0, 0.25]])
    np.testing.assert_allclose(run(tf.gradients(inverse, x)[0], feeds), [[-0.1875, -0.125], [-0.046875, -0.03125]])
    types = {op.type for op in tf.get_default_graph().get_operations()}
    assert "SymbolicGradient" not in types  # which TensorFlow would not import
    assert run(tf.unique_with_counts([3, 3, 1, 3]).count).tolist() == [3, 1]
    assert run(tf.nn.top_k([1.0, 3.0]).indices).tolist() == [1]


def test_a_summary_of_the_programs_own_numbers_is_written_as_tensorflow_does() -> None:
    summary = tf.Summary(value=[tf.Summary.Value(tag="acc", simple_value=0.5)])
    assert summary.SerializeToString() == b"\n\n\n\x03acc\x15\x00\x00\x00?"
    own = tf.Summary()
    own.value.add().tag = "acc"
    own.value[0].simple_value = 0.5
    assert own.SerializeToString() == summary.SerializeToString()
    histogram = run(tf.summary.histogram("long" * 50, [1.0, 2.0]))
    read = tf.Summary.FromString(summary.SerializeToString() + histogram)
    assert [(one.tag, one.simple_value) for one in read.value] == [("acc", 0.5), ("long" * 50, 0.0)]


def test_shape_invariants_are_nested_as_the_variables_are() -> None:
    with pytest.raises(ValueError, match="don't have the same nested structure"):
        tf.while_loop(lambda i, x: i < 3, lambda i, x: (i + 1, x), [0, 1.0], shape_invariants=[(), ()])


def test_parts_are_picked_by_places_and_by_a_mask() -> None:
    x = tf.placeholder(tf.float32, [3, 2])
    feeds = {x: np.arange(6.0).reshape(3, 2)}
    places, weights = [[0, 1], [2, 0], [0, 1]], [1.0, 2.0, 3.0]
    part = tf.gather_nd(x, places) * weights
    np.testing.assert_array_equal(run(part, feeds), [1, 8, 3])
    np.testing.assert_array_equal(run(tf.gradients(part, x)[0], feeds), [[0, 4], [0, 0], [2, 0]])
    masked = tf.boolean_mask(x, x[:, 0] > 1)
    np.testing.assert_array_equal(run(masked, feeds), [[2, 3], [4, 5]])
    np.testing.assert_array_equal(run(tf.gradients(masked**2, x)[0], feeds), [[0, 0], [4, 6], [8, 10]])
    values, order = run(tf.nn.top_k([[1.0, 3.0, 3.0, 2.0], [0.0, -1.0, 5.0, 5.0]], 2))
    np.testing.assert_array_equal(values, [[3, 3], [5, 5]])
    np.testing.assert_array_equal(order, [[1, 2], [2, 3]])


def test_what_is_left_to_do_and_what_waits_for_all() -> None:
    x, v = tf.placeholder(tf.float32, [2]), tf.Variable(1.0, name="v")
    assert tf.Session().run(tf.report_uninitialized_variables()).tolist() == [b"v"]
    assert run(tf.tuple([v * 2, tf.assign_add(v, 1.0)])) == [2.0, 2.0]
    second = tf.hessians(x[0] ** 2 * x[1], x)[0]
    np.testing.assert_array_equal(run(second, {x: [1.5, 2.0]}), [[4, 3], [3, 0]])


@pytest.mark.parametrize("function", ["elu", "selu"])
def test_second_derivatives_of_squares_of_units_are_right(function: str) -> None:
    x = tf.placeholder(tf.float64, [])
    slope = tf.gradients(getattr(tf.nn, function)(x) ** 2, x)[0]
    step, value = 1e-5, -3.0
    by_differences = (run(slope, {x: value + step}) - run(slope, {x: value - step})) / (2 * step)
    np.testing.assert_allclose(run(tf.gradients(slope, x)[0], {x: value}), by_differences, rtol=1e-6)


@pytest.mark.parametrize("of", ["images", "filter"])
def test_a_convolution_has_second_derivatives(of: str) -> None:
    rng = np.random.default_rng(1)
    images, kernel = rng.normal(size=(1, 4, 4, 2)), rng.normal(size=(2, 2, 2, 3))
    start = images if of == "images" else kernel
    x = tf.placeholder(tf.float64, start.shape)
    y = tf.nn.conv2d(*(x, kernel) if of == "images" else (images, x), [1, 2, 2, 1], "SAME") ** 3
    slope = tf.gradients(y, x)[0]
    direction, step = rng.normal(size=start.shape), 1e-6
    by_differences = (run(slope, {x: start + step * direction}) - run(slope, {x: start - step * direction})) / (
        2 * step
    )
    found = run(tf.gradients(tf.reduce_sum(slope * direction), x)[0], {x: start})
    np.testing.assert_allclose(found, by_differences, rtol=1e-5, atol=1e-6)


def test_older_names_of_the_two_functions_are_taken() -> None:
    assert run(tf.cond(tf.constant(True), fn1=lambda: 1.0, fn2=lambda: 2.0)) == 1.0


# ------------------------------------------------------------------ variables that are read after they are written
def after_assign() -> Any:
    v = tf.Variable(1.0)
    with tf.control_dependencies([tf.assign(v, 5.0)]):
        return [tf.identity(v), v * 2.0, tf.add(v, 1.0), tf.stack([v, v]), v.read_value()]


def after_a_group() -> Any:
    v, w = tf.Variable(1.0), tf.Variable(2.0)
    with tf.control_dependencies([tf.group(tf.assign(v, 5.0), tf.assign(w, 6.0))]):
        return [v + w]


def after_a_step() -> Any:
    v = tf.Variable(1.0)
    step = tf.train.GradientDescentOptimizer(0.1).minimize(v * v)
    with tf.control_dependencies([step]):
        return [tf.identity(v)]


def after_two_writes() -> Any:
    v = tf.Variable(1.0)
    with tf.control_dependencies([tf.assign(v, 5.0)]):
        second = tf.assign_add(v, 1.0)
    with tf.control_dependencies([second]):
        return [tf.identity(v)]


def before_and_after() -> Any:
    v = tf.Variable(1.0)
    before = v * 3.0
    with tf.control_dependencies([before]):
        written = tf.assign(v, 5.0)
    with tf.control_dependencies([written]):
        return [before, v * 3.0]


def in_a_branch() -> Any:
    v = tf.Variable(1.0)
    with tf.control_dependencies([tf.assign(v, 5.0)]):
        return [tf.cond(tf.constant(True), lambda: v + 1.0, lambda: v - 1.0)]


def after_a_loop() -> Any:
    v = tf.Variable(0.0)

    def body(i: Any) -> Any:
        with tf.control_dependencies([tf.assign_add(v, 1.0)]):
            return i + 1

    with tf.control_dependencies([tf.while_loop(lambda i: i < 3, body, [0])]):
        return [tf.identity(v)]


@pytest.mark.parametrize(
    ("build", "values"),
    [
        (after_assign, [5.0, 10.0, 6.0, [5.0, 5.0], 5.0]),
        (after_a_group, [11.0]),
        (after_a_step, [0.8]),
        (after_two_writes, [6.0]),
        (before_and_after, [3.0, 15.0]),
        (in_a_branch, [6.0]),
        (after_a_loop, [3.0]),
    ],
)
def test_a_variable_is_read_again_after_what_has_written_it(build: Callable[[], Any], values: list[Any]) -> None:
    for value, expected in zip(run(build()), values, strict=True):
        np.testing.assert_allclose(value, expected, rtol=1e-6)


def test_operations_may_wait_for_a_placeholder_that_is_fed() -> None:
    v, x = tf.Variable(1.0), tf.placeholder(tf.float32)
    with tf.control_dependencies([x]):
        written = tf.assign(v, 3.0)
    assert run(written, {x: 1.0}) == 3.0


def test_a_variable_is_read_in_each_step_of_a_loop() -> None:
    v = tf.Variable(1.0)

    def body(i: Any, total: Any) -> Any:
        with tf.control_dependencies([tf.assign_add(v, 1.0)]):
            return i + 1, total + v.read_value()

    total = tf.while_loop(lambda i, _: i < 2, body, [0, 0.0])[1]
    assert run(total) == 5.0


def test_a_moving_average_is_that_of_now() -> None:
    mean, x = tf.Variable(0.0), tf.placeholder(tf.float32)
    with tf.control_dependencies([tf.assign(mean, 0.9 * mean + 0.1 * x)]):
        out = tf.identity(mean)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        assert [round(float(session.run(out, {x: 10.0})), 3) for _ in range(4)] == [1.0, 1.9, 2.71, 3.439]


# ------------------------------------------------------------------ numbers
A, B = np.arange(6.0, dtype=np.float32).reshape(2, 3), np.arange(6.0, dtype=np.float32).reshape(2, 3) + 1
SHARES = np.array([[0.2, 0.3, 0.5], [0.1, 0.1, 0.8]], np.float32)


def test_the_adjoint_of_a_real_matrix_is_its_transpose() -> None:
    assert run(tf.matmul(A, B, adjoint_a=True)).tolist() == (A.T @ B).tolist()
    assert run(tf.matmul(A, B, adjoint_b=True)).tolist() == (A @ B.T).tolist()
    with pytest.raises(ValueError, match="Only one of `transpose_b` and `adjoint_b` can be True"):
        tf.matmul(A, B, transpose_b=True, adjoint_b=True)


def test_the_cross_entropy_goes_along_an_axis() -> None:
    along_first = [0.61457622, 0.91943496, 1.56316352]
    for function in (tf.nn.softmax_cross_entropy_with_logits, tf.nn.softmax_cross_entropy_with_logits_v2):
        for word in ("dim", "axis"):
            np.testing.assert_allclose(run(function(labels=SHARES, logits=A, **{word: 0})), along_first, rtol=1e-5)
    cube = np.arange(24, dtype=np.float32).reshape(2, 3, 4) ** 0.5
    found = run(
        tf.nn.softmax_cross_entropy_with_logits_v2(labels=np.ones((2, 3, 4), np.float32) / 3, logits=cube, axis=1)
    )
    np.testing.assert_allclose(found, [[1.6216, 1.392, 1.3297, 1.292], [1.1808, 1.176, 1.1717, 1.1679]], atol=1e-4)


def test_labels_are_constants_in_the_first_version_of_the_cross_entropy() -> None:
    labels, logits = tf.constant(SHARES), tf.constant(A)
    first, second = (
        tf.gradients(function(labels=labels, logits=logits), [labels, logits])
        for function in (tf.nn.softmax_cross_entropy_with_logits, tf.nn.softmax_cross_entropy_with_logits_v2)
    )
    assert first[0] is None
    assert second[0] is not None
    np.testing.assert_allclose(*run([first[1], second[1]]))


def test_integers_are_divided_as_python_2_did_and_their_mean_is_an_integer() -> None:
    assert run(tf.div(tf.constant([7, -7]), 2)).tolist() == [3, -4]
    assert run(tf.div(7.0, 2.0)) == 3.5
    means = [tf.reduce_mean([1, 2]), tf.reduce_mean([-1, -2]), tf.reduce_mean([[1, 2], [4, 5]], axis=0)]
    assert [mean.dtype for mean in means] == [tf.int32] * 3
    assert [np.array(mean).tolist() for mean in run(means)] == [1, -1, [2, 3]]


@pytest.mark.parametrize(
    ("function", "slope"),
    [("sqrt", 0.25), ("rsqrt", -0.0625), ("reciprocal", -0.0625)],
)
def test_a_branch_that_is_not_taken_hands_on_no_gradient_of_infinity(function: str, slope: float) -> None:
    x = tf.constant([0.0, 4.0])
    (grad,) = tf.gradients(tf.where(x > 0, getattr(tf, function)(x), x), x)
    (second,) = tf.gradients(grad, x)
    assert run(grad).tolist() == [1.0, slope]
    assert np.isfinite(run(second)[1])


@pytest.mark.parametrize(("function", "second"), [("sqrt", -0.03125), ("rsqrt", 0.0234375), ("reciprocal", 0.03125)])
def test_second_derivatives_of_these_are_tensorflow_s(function: str, second: float) -> None:
    x = tf.constant(4.0)
    (grad,) = tf.gradients(getattr(tf, function)(x), x)
    assert run(tf.gradients(grad, x)[0]) == pytest.approx(second)


def test_there_are_tensors_without_elements_and_places_where_a_condition_holds() -> None:
    assert [run(made).shape for made in (tf.zeros([0]), tf.ones([0, 3]), tf.zeros([2, 0]), tf.zeros([]))] == [
        (0,), (0, 3), (2, 0), (),
    ]  # fmt: skip
    places = tf.where([[True, False], [True, True]])
    assert (places.dtype, run(places).tolist()) == (tf.int64, [[0, 0], [1, 0], [1, 1]])
    with pytest.raises(ValueError, match="x and y must both be non-None or both be None"):
        tf.where([True], [1.0])


# ------------------------------------------------------------------ forms
def test_strings_are_bytes_in_results() -> None:
    text = tf.placeholder(tf.string, [2])
    assert run(tf.constant("a")) == b"a"
    assert run(tf.constant(["a", "é"])).tolist() == [b"a", "é".encode()]
    assert run(tf.Variable("a")) == b"a"
    assert type(run(tf.Variable("a"))) is bytes
    assert run(tf.identity(text), {text: ["x", "y"]}).tolist() == [b"x", b"y"]


def test_the_length_of_a_dimension_is_its_value() -> None:
    shape = tf.placeholder(tf.float32, [None, 3]).get_shape()
    assert (shape[0].value, shape[1].value, shape[1] == 3, int(shape[1]), repr(shape[0])) == (
        None,
        3,
        True,
        3,
        "Dimension(None)",
    )
    assert repr(tf.constant(A).shape.dims) == "[Dimension(2), Dimension(3)]"
    assert tf.placeholder(tf.float32).shape.dims is None
    assert [length.value for length in shape] == [None, 3]
    assert tf.zeros([shape[1], 2]).shape == [3, 2]
    assert tf.placeholder(tf.float32, [shape[0], shape[1]]).shape.as_list() == [None, 3]


def test_a_loop_returns_the_form_of_its_body() -> None:
    forms = [
        tf.while_loop(lambda i, j: i < 3, body, start)
        for body, start in (
            (lambda i, j: (i + 1, j), [0, 1]),
            (lambda i, j: [i + 1, j], (0, 1)),
            (lambda i, j: (i + 1, j), (0, 1)),
        )
    ]
    assert [type(form) for form in forms] == [tuple, list, tuple]


def test_the_error_of_a_run_names_the_line_that_made_the_node() -> None:
    x = tf.placeholder(tf.float32)
    y = tf.reshape(x, [2, 2], name="squared")
    with pytest.raises(Exception, match=rf"\[\[node squared \(Reshape\), made at {__file__}:\d+\]\]"):
        run(y, {x: [1.0, 2.0, 3.0]})


def test_variables_belong_to_the_collections_that_are_asked_for() -> None:
    other = tf.Variable(1.0, collections=["mine"])
    assert (tf.global_variables(), tf.get_collection("mine"), tf.trainable_variables()) == ([], [other], [other])
    assert tf.Variable(1.0).assign_add(delta=3.0, read_value=False) is not None
