"""Static graphs: names, dtypes, shapes, control inputs and what refuses, as TensorFlow 1 has them."""

from __future__ import annotations

import collections
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from gviz import static

tf: Any = static


@pytest.fixture
def graph() -> Iterator[Any]:
    with tf.Graph().as_default() as found:
        yield found


def made(graph: Any, after: int = 0) -> list[str]:
    return [op.name for op in graph.get_operations()[after:]]


# ------------------------------------------------------------------ names
def test_what_is_no_tensor_becomes_a_constant_below_the_operation(graph: Any) -> None:
    x = tf.placeholder(tf.float32, [2], name="x")
    _ = (x + 1, 1 + x, tf.maximum(x, 0.0), tf.concat([x, [1.0]], 0), tf.stack([x[0], 2.0]), tf.log(2.0))
    slices = [f"strided_slice{part}" for part in ("/stack", "/stack_1", "/stack_2", "")]
    assert made(graph, 1) == [
        "add/y", "add", "add_1/x", "add_1", "Maximum/y", "Maximum", "concat/values_1", "concat/axis", "concat", *slices,
        "stack/1", "stack", "Log/x", "Log",
    ]  # fmt: skip


def test_integers_are_divided_as_float64_through_casts(graph: Any) -> None:
    i = tf.constant([1, 2], name="i")
    assert (i / 2).dtype == tf.float64
    assert made(graph, 1) == ["truediv/y", "truediv/Cast", "truediv/Cast_1", "truediv"]


@pytest.mark.parametrize("value", [[1.0, 2.0], 3.0, np.ones(2)])
def test_a_reduction_of_no_tensor_works_out_the_axes_when_it_runs(graph: Any, value: Any) -> None:
    assert tf.Session().run(tf.reduce_sum(value)) == np.sum(value)
    assert made(graph) == ["Rank/Const", "Rank", "range/start", "range/delta", "range", "Sum/input", "Sum"]


def test_a_name_that_tensorflow_refuses_is_refused(graph: Any) -> None:
    for build, name in ((tf.constant, "a b"), (tf.constant, "_x"), (tf.square, "a b")):
        with pytest.raises(ValueError, match="is not a valid"):
            build(1, name=name)


def test_control_inputs_are_left_out_where_an_input_brings_them(graph: Any) -> None:
    first = tf.no_op(name="first")
    with tf.control_dependencies([first]):
        one = tf.constant(1.0, name="one")
        two = tf.add(one, one, name="two")
        with tf.control_dependencies(None):
            free = tf.constant(2.0, name="free")
    assert [[c.name for c in t.op.control_inputs] for t in (one, two, free)] == [["first"], [], []]


# ------------------------------------------------------------------ dtypes and shapes
@pytest.mark.parametrize(
    ("text", "dtype"),
    [("float", tf.float32), ("double", tf.float64), ("half", tf.float16), ("int", tf.int64), ("float32", tf.float32)],
)
def test_a_text_names_tensorflow_s_dtype(text: str, dtype: Any) -> None:
    assert tf.placeholder(text).dtype == dtype


@pytest.mark.parametrize(
    ("build", "text"),
    [
        (
            lambda f, i: f + i,
            "Input 'y' of 'AddV2' Op has type int32 that does not match type float32 of argument 'x'.",
        ),
        (lambda f, i: i + 1.5, "Input 'y' of 'AddV2' Op has type float32 that does not match type int32"),
        (lambda f, i: i * 1.5, "Expected int32, but got 1.5 of type 'float'."),
        (lambda f, i: 1.5 * i, "Expected int32, but got 1.5 of type 'float'."),
        (lambda f, i: f / i, "`x` and `y` must have the same dtype, got tf.float32 != tf.int32."),
        (lambda f, i: tf.add(1, f), "Input 'y' of 'AddV2' Op has type float32 that does not match type int32"),
        (lambda f, i: tf.exp(i), "Value passed to parameter 'x' has DataType int32 not in list of allowed values: "),
        (
            lambda f, i: tf.logical_not(f),
            "Input 'x' of 'LogicalNot' Op has type float32 that does not match expected type of bool.",
        ),
        (lambda f, i: tf.add_n([f, i]), "Tensors in list passed to 'inputs' of 'AddN' Op have types [float32, int32]"),
        (lambda f, i: tf.cond(f, lambda: f, lambda: f), "Input 'pred' of 'Switch' Op has type float32"),
    ],
)
def test_dtypes_do_not_mix(graph: Any, build: Any, text: str) -> None:
    with pytest.raises(TypeError) as caught:
        build(tf.constant([1.0, 2.0]), tf.constant([1, 2]))
    assert text in str(caught.value)


SHAPES: dict[str, tuple[Any, Any]] = {
    "x[1:, 0]": (lambda x: x[1:, 0], [None]),
    "x[0]": (lambda x: x[0], [3]),
    "concat": (lambda x: tf.concat([x, x], 1), [None, 6]),
    "stack": (lambda x: tf.stack([x, x], axis=-1), [None, 3, 2]),
    "matmul": (lambda x: tf.matmul(x, x, transpose_b=True), [None, None]),
    "reshape to a computed shape": (lambda x: tf.reshape(x, [tf.shape(x)[0], 1, 3]), [None, 1, 3]),
    "reshape to -1": (lambda x: tf.reshape(x, [3, -1]), [3, None]),
    "zeros of a computed shape": (lambda x: tf.zeros([tf.shape(x)[0], 2]), [None, 2]),
    "sum": (lambda x: tf.reduce_sum(x, 0, keepdims=True), [1, 3]),
    "broadcast": (lambda x: x + tf.ones([4, 1]), [4, 3]),
}


@pytest.mark.parametrize("name", SHAPES)
def test_shapes_are_known_as_far_as_they_can_be(graph: Any, name: str) -> None:
    build, dims = SHAPES[name]
    x = tf.placeholder(tf.float32, [None, 3])
    y = build(x)
    assert y.shape.as_list() == dims
    value = tf.Session().run(y, {x: np.ones((4, 3))})
    assert all(n in (None, m) for n, m in zip(dims, value.shape, strict=True))


@pytest.mark.parametrize(
    "build",
    [
        lambda x: tf.reduce_sum(x, 1), lambda x: tf.reduce_sum(x, [0, -2]), lambda x: tf.reshape(x, [2, 2]),
        lambda x: tf.reshape(x, [-1, -1]), lambda x: tf.stack([x, x], axis=3), lambda x: tf.unstack(x, axis=1), lambda x: x[3],
        lambda x: x[1:2, 0], lambda x: tf.concat([x, x], 1), lambda x: tf.concat([], 0), lambda x: tf.transpose(x, [1]),
        lambda x: tf.squeeze(x, [0]), lambda x: tf.squeeze(x, [2]), lambda x: tf.gather(x, [0], axis=1),
        lambda x: tf.gather(x[0], [0]), lambda x: tf.expand_dims(x, 5), lambda x: tf.matmul(x, x), lambda x: x + np.ones(2),
    ],
)  # fmt: skip
def test_shapes_that_cannot_be_are_refused_while_building(graph: Any, build: Any) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - of any of the rules
        build(tf.placeholder(tf.float32, [3]))


def test_what_does_not_fit_is_refused_in_tensorflow_s_words(graph: Any) -> None:
    x, unknown = tf.placeholder(tf.float32, [3]), tf.placeholder(tf.float32)
    refused: list[tuple[Any, str]] = [
        (lambda: tf.constant([1, 2, 3], shape=[2]), r"^Too many elements provided\. Takes at most 2, but got 3\.$"),
        (lambda: x[5], r"^slice index 5 of dimension 0 out of bounds\. for '\{\{node strided_slice"),
        (lambda: tf.stack([x, tf.ones([4])]), r"^Dimensions must be equal, but are 3 and 4 for '\{\{node stack\}\}"),
        (lambda: tf.concat([x, tf.ones([3, 4])], 0), r"^Tensors must have same number of dimensions: got 1 and 2 for"),
        (
            lambda: tf.concat([tf.ones([1, 3]), tf.ones([3, 4])], 0),
            r"^Dimension 0 in both shapes must be equal, but are 3 and 4\. Shapes are \[3\] and \[4\]\.",
        ),
    ]
    for build, text in refused:
        with pytest.raises(ValueError, match=text):
            build()
    sizes = tf.placeholder(tf.int32, [2])
    for shape, text in (([2, 2], "has 4"), (sizes, "has 4"), ([-1, 2], "requires a multiple of 2")):
        words = f"^Input to reshape is a tensor with 3 values, but the requested shape {text}\n"
        with pytest.raises(tf.errors.InvalidArgumentError, match=words):
            tf.Session().run(tf.reshape(unknown, shape), {unknown: [1, 2, 3], sizes: [2, 2]})


@pytest.mark.parametrize(
    ("build", "dims"),
    [
        (lambda x, y: x + y, [5, 3]),
        (lambda x, y: tf.matmul(x, y, transpose_b=True), [None, 5]),
        (lambda x, y: tf.add_n([x, y]), [5, 3]),
        (lambda x, y: tf.reduce_sum(x * y), []),
        (lambda x, y: tf.squeeze(x, [0]), [3]),
        (lambda x, y: tf.concat([x, y], 1), [5, None]),
        (lambda x, y: x[0] < y[0], [3]),
        (lambda x, y: tf.gather(x, [0, 1, 1, 2], axis=1), [None, 4]),
    ],
)
def test_an_unknown_length_is_what_the_function_lets_it_be(graph: Any, build: Any, dims: list[int | None]) -> None:
    x, y = tf.placeholder(tf.float32, [None, 3]), tf.placeholder(tf.float32, [5, None])
    assert build(x, y).shape.as_list() == dims


def test_an_unknown_rank_is_what_the_function_lets_it_be(graph: Any) -> None:
    x = tf.placeholder(tf.float32)
    assert tf.transpose(x, [0, 3, 1, 2]).shape.as_list() == [None] * 4
    assert [(x @ tf.ones([3, 2])).shape.dims, tf.reduce_sum(x, 4).shape.dims, (x + 1).shape.dims] == [None] * 3
    assert tf.argmax(x, 5).shape.dims is None  # the largest rank that is tried is the first that has such an axis


def test_types_in_gradients_are_tensorflow_s(graph: Any) -> None:
    x = tf.placeholder(tf.float32, [2, 3])
    y = (
        tf.nn.softmax(tf.nn.relu(tf.matmul(x, tf.transpose(x)) + x[0, 0]))
        + tf.stack(tf.unstack(tf.sqrt(x))[::-1])[:, :2]
    )
    tf.gradients([tf.reduce_max(y, 1), tf.reduce_mean(tf.concat([y, x / y[0, 0]], 1), 0)], x)
    types = {op.type for op in graph.get_operations() if op.name.startswith("gradients")}
    assert types == {  # TensorFlow has FloorDiv and Maximum, too, of constants alone, which nothing uses
        "AddN", "Cast", "ConcatOffset", "Const", "Equal", "Fill", "FloorMod", "InvertPermutation", "MatMul", "Mul", "Neg", "Pack",
        "RealDiv", "ReluGrad", "Reshape", "Slice", "SqrtGrad", "StridedSliceGrad", "Sub", "Sum", "Tile", "Transpose", "Unpack",
    }  # fmt: skip


def test_a_tensor_is_no_dtype(graph: Any) -> None:
    x = tf.placeholder(tf.float32)
    with pytest.raises(TypeError, match="to a TensorFlow DType"):
        tf.cast(x, x)


def test_a_dtype_of_a_conversion_goes_by_its_name(graph: Any) -> None:
    assert tf.convert_to_tensor(1, "float64").dtype == tf.float64
    with pytest.raises(ValueError, match="requested dtype float64 for Tensor with dtype float32"):
        tf.convert_to_tensor(tf.constant(1.0), "float64")


def test_what_tf_has_not_is_missing_in_tensorflow_s_words() -> None:
    for where, name in ((tf, "nope"), (tf.nn, "conv9d"), (tf.train, "FtrlOptimizer")):
        with pytest.raises(AttributeError, match=rf"module 'tensorflow[a-z.]*' has no attribute '{name}'"):
            getattr(where, name)


# ------------------------------------------------------------------ sessions
def test_fetches_come_back_in_their_form(graph: Any) -> None:
    x = tf.placeholder(tf.float32, [], name="x")
    pair = collections.namedtuple("pair", "a b")  # noqa: PYI024 - as users write it
    session = tf.Session()
    assert session.run(pair(x, [x * 2, {"c": x}]), {x: 1}) == pair(1.0, [2.0, {"c": 1.0}])
    assert session.run([], {}) == []
    assert session.run((x, x, "x:0"), {"x:0": 2}) == (2.0, 2.0, 2.0)
    assert session.run([x, x + 1], {x: 3}) == [3.0, 4.0]


def test_a_run_says_what_does_not_fit(graph: Any) -> None:
    x, y = tf.placeholder(tf.float32, name="x"), tf.placeholder(tf.float32, name="y")
    rows = tf.constant([[1.0, 2.0]])
    session = tf.Session()
    clashes: list[tuple[Any, str]] = [
        (lambda: rows + y, r"Incompatible shapes: \[1,2\] vs. \[3\]"),
        (lambda: tf.unstack(rows + x, 1)[0] + y, r"Incompatible shapes: \[2\] vs. \[3\]"),
        (lambda: tf.matmul([x], [y]), r"Matrix size-incompatible: In\[0\]: \[1,2\], In\[1\]: \[1,3\]"),
        (lambda: tf.add_n([x, y]), "must have the same size and shape"),
        (lambda: tf.stack([x, y]), "stack expects each tensor to be equal size"),
        (lambda: tf.matmul(x, y), "Matrix size-incompatible"),
        (lambda: tf.cast(x, tf.int32) // 0, "Integer division by zero"),
    ]
    for build, text in clashes:
        with pytest.raises(tf.errors.InvalidArgumentError, match=text):
            session.run(build(), {x: [1, 2], y: [1, 2, 3]})
    i = tf.placeholder(tf.int32)
    with pytest.raises(TypeError, match="is not compatible with Tensor type"):
        session.run(i, {i: 2**40})


def test_operations_are_fetched_beside_tensors(graph: Any) -> None:
    v = tf.Variable(1.0)
    doubled, value = tf.assign(v, v * 2).op, v.read_value()
    session = tf.Session()
    assert session.run(v.initializer) is None
    assert [session.run([doubled, value], {})[0] for _ in range(2)] == [None, None]
    assert session.run({"a": doubled, "b": [v]}) == {"a": None, "b": [8.0]}


def test_a_session_is_the_default_one_until_it_is_closed(graph: Any) -> None:
    one = tf.constant(1.0)
    session = tf.InteractiveSession()
    with tf.Session() as inner:
        assert (tf.get_default_session(), one.eval()) == (inner, 1.0)
    assert tf.get_default_session() is session
    session.close()
    with pytest.raises(ValueError, match="No default session is registered"):
        one.eval()


def test_a_cycle_made_by_hand_is_named(graph: Any) -> None:
    b = tf.constant(1.0) + 1
    c = b * 2
    b.op.inputs = (c, b.op.inputs[1])
    with pytest.raises(tf.errors.InvalidArgumentError, match="contains a cycle with"):
        tf.Session().run(c)


def test_variables_are_read_where_they_are_used(graph: Any) -> None:
    w = tf.Variable(1.0, name="w")
    with tf.control_dependencies([tf.assign_add(w, 1.0)]):
        after = w.read_value()
    session = tf.Session()
    session.run(w.initializer)
    assert [session.run(after), session.run(after), session.run(w)] == [2.0, 3.0, 3.0]
    with pytest.raises(tf.errors.FailedPreconditionError, match="Attempting to use uninitialized value w"):
        tf.Session().run(w)


def test_a_variable_may_begin_with_another_one(graph: Any) -> None:
    w = tf.Variable(2.0)
    v = tf.Variable(w.initialized_value() * 3)
    session = tf.Session()
    session.run(v.initializer)
    assert session.run(v) == 6.0
    session.run(tf.global_variables_initializer())
    assert session.run([w, v]) == [2.0, 6.0]


def test_what_is_added_to_a_variable_stays_as_it_is(graph: Any) -> None:
    x, v = tf.placeholder(tf.float32, [3]), tf.Variable(tf.zeros([3]))
    y = x * x
    z = y + 1
    session = tf.Session()
    session.run(v.initializer)
    found = session.run([z, tf.assign_add(v, y)], {x: [1, 2, 3]})
    np.testing.assert_array_equal(found, [[2, 5, 10], [1, 4, 9]])


def test_an_optimizer_takes_a_rate_that_is_fed_and_counts_steps(graph: Any) -> None:
    w, other = tf.Variable(2.0, name="w"), tf.Variable(1.0, name="other")
    rate, step = tf.placeholder(tf.float32, []), tf.Variable(0, trainable=False)
    train = tf.train.GradientDescentOptimizer(rate).minimize(w * w + other, global_step=step, var_list=[w])
    session = tf.Session()
    session.run(tf.global_variables_initializer())
    session.run(train, {rate: 0.25})
    assert session.run([w, other, step]) == [1.0, 1.0, 1]
    with pytest.raises(ValueError, match="No gradients provided for any variable"):
        tf.train.GradientDescentOptimizer(0.1).minimize(tf.constant(1.0))


@pytest.mark.parametrize(("function", "names"), [("argmax", ("axis", "dimension")), ("expand_dims", ("axis", "dim"))])
def test_an_argument_goes_by_both_names_that_tensorflow_has_for_it(
    graph: Any, function: str, names: tuple[str, str]
) -> None:
    values = [[1.0, 2.0], [4.0, 3.0]]
    one, other = (tf.Session().run(getattr(tf, function)(values, **{name: 0})) for name in names)
    np.testing.assert_array_equal(one, other)
    assert one.shape == ((2,) if function == "argmax" else (1, 2, 2))


def test_numbers_beside_a_tensor_are_packed_in_its_dtype(graph: Any) -> None:
    packed = tf.convert_to_tensor([0.1, tf.constant(2.0, tf.float64)])
    assert packed.dtype == tf.float64
    assert tf.Session().run(packed).tolist() == [0.1, 2.0]


def test_what_a_run_gives_is_the_user_s_to_change(graph: Any) -> None:
    v, x, k = tf.Variable([1.0, 2.0]), tf.placeholder(tf.float32, [2]), tf.constant([1.0, 2.0])
    session, fed = tf.Session(), np.array([1, 2], np.float32)
    session.run(v.initializer)
    for source in (v, x, k):
        y = tf.identity(source)
        for fetched in (
            y,
            tf.transpose(y),
            tf.reshape(y, [2, 1]),
            y[::-1],
            tf.unstack(y[None])[0],
            tf.gradients(y * 2, y, x)[0],
        ):
            first, again = session.run([fetched, fetched], {x: fed})
            first[...] = 9
            assert 9 not in again
            assert 9 not in session.run(fetched, {x: fed})
    np.testing.assert_array_equal([session.run(v), fed, session.run(k)], [[1, 2]] * 3)


# ------------------------------------------------------------------ loops and branches
def powers(x: Any) -> dict[str, tuple[Any, float, float]]:
    """Tensors with their value and derivative at 2."""

    def repeated(times: int, value: Any, step: Any) -> Any:
        return tf.while_loop(lambda i, v: i < times, lambda i, v: (i + 1, step(i, v)), (0, value))[1]

    return {
        "a loop": (repeated(3, x, lambda i, v: v * x), 16.0, 32.0),
        "a loop in a loop": (repeated(3, x, lambda i, v: repeated(2, v, lambda j, u: u * x)), 128.0, 448.0),
        "a branch in a loop": (
            repeated(4, x, lambda i, v: tf.cond(tf.equal(i % 2, 0), lambda: v * x, lambda: v + x)),
            14.0,
            17.0,
        ),
        "a loop in a branch": (tf.cond(x > 0, lambda: repeated(3, x, lambda i, v: v * x), lambda: -x), 16.0, 32.0),
        "a branch in a branch": (
            tf.cond(x > 0, lambda: tf.cond(x > 1, lambda: x * x, lambda: x), lambda: -x),
            4.0,
            4.0,
        ),
    }


@pytest.mark.parametrize(
    "name", ["a loop", "a loop in a loop", "a branch in a loop", "a loop in a branch", "a branch in a branch"]
)
def test_derivatives_go_through_loops_and_branches(graph: Any, name: str) -> None:
    x = tf.placeholder(tf.float32, [])
    y, value, derivative = powers(x)[name]
    assert tf.Session().run([y, *tf.gradients(y, x)], {x: 2.0}) == [value, derivative]


def test_loops_refuse_what_tensorflow_refuses(graph: Any) -> None:
    x = tf.constant(1.0)
    y = tf.while_loop(lambda v: v < 9.0, lambda v: v * v + x, [x])
    for once in (y, tf.cond(x > 0.0, lambda: tf.while_loop(lambda v: v < 9.0, lambda v: v * v + x, [x]), lambda: x)):
        with pytest.raises(TypeError, match="Second-order gradient for while loops not supported"):
            tf.gradients(tf.gradients(once, x), x)
    with pytest.raises(ValueError, match="To allow the shape to vary across iterations"):
        tf.while_loop(lambda a: True, lambda a: tf.concat([a, a], 0), [tf.ones([2])])
    with pytest.raises(TypeError, match="enters the loop with dtype int32, but has dtype float32 after one iteration"):
        tf.while_loop(lambda i: i < 3, lambda i: tf.cast(i, tf.float32), [tf.constant(0)])


def test_branches_may_give_a_number_but_not_another_form(graph: Any) -> None:
    x = tf.placeholder(tf.float32, [])
    y = tf.cond(x > 0, lambda: x, lambda: 0.0)
    assert [tf.Session().run([y, *tf.gradients(y, x)], {x: v}) for v in (2, -2)] == [[2.0, 1.0], [0.0, 0.0]]
    for other in (lambda: [x, x], lambda: (x,), lambda: {"a": x}):
        with pytest.raises(ValueError, match="must have the same structure"):
            tf.cond(x > 0, lambda: (x, x), other)


def test_a_variable_of_a_loop_that_is_not_fetched_needs_no_feed(graph: Any) -> None:
    x, n = tf.placeholder(tf.float32, []), tf.placeholder(tf.int32, [])
    i, y = tf.while_loop(lambda i, y: i < n, lambda i, y: (i + 1, y * x), (0, 1.0))
    session = tf.Session()
    assert session.run(i, {n: 3}) == 3
    assert session.run([y, i], {n: 3, x: 2}) == [8.0, 3]
    with pytest.raises(tf.errors.InvalidArgumentError, match="You must feed a value"):
        session.run(y, {n: 3})


def test_an_endless_loop_is_stopped(graph: Any) -> None:
    endless = tf.while_loop(lambda i: i >= 0, lambda i: i * 1, [tf.constant(0)])
    with pytest.raises(tf.errors.DeadlineExceededError, match="took 50 steps"):
        tf.Session(loop_limit=50).run(endless)


def test_only_the_branch_that_is_taken_changes_a_variable(graph: Any) -> None:
    v, p = tf.Variable(0.0), tf.placeholder(tf.bool, [])
    y = tf.cond(p, lambda: tf.assign_add(v, 1.0), lambda: tf.identity(v))
    session = tf.Session()
    session.run(v.initializer)
    assert [session.run(y, {p: taken}) for taken in (True, False, True)] == [1.0, 1.0, 2.0]


def test_derivatives_of_branches_of_unknown_shape(graph: Any) -> None:
    x = tf.placeholder(tf.float32, [None, None])
    y = tf.cond(tf.reduce_sum(x) > 0, lambda: x**3, lambda: x * x)
    slope = tf.gradients(y, x)[0]
    np.testing.assert_allclose(tf.Session().run(slope, {x: [[1, 2]]}), [[3, 12]])
    np.testing.assert_allclose(tf.Session().run(slope, {x: [[-1, -2]]}), [[-2, -4]])


def test_a_result_of_the_branch_that_has_not_run_is_not_there(graph: Any) -> None:
    x = tf.placeholder(tf.float32, [])
    tf.gradients(tf.cond(x > 0, lambda: x * x, lambda: x + 1), x)
    part = "gradients/cond/mul_grad/Mul:0"
    assert tf.Session().run(part, {x: 3.0}) == 3.0
    with pytest.raises(tf.errors.InvalidArgumentError, match="does not have value"):
        tf.Session().run(part, {x: -3.0})


@pytest.mark.parametrize(
    "function",
    [
        tf.reduce_sum,
        lambda w: tf.reshape(w, [2, 1]),
        lambda w: w[1],
        lambda w: tf.gather(w, 1),
        lambda w: tf.concat([w, w], 0),
        lambda w: tf.cond(tf.constant(True), lambda: tf.reduce_sum(w), lambda: 0.0),
    ],
)
def test_what_comes_after_a_write_by_one_of_its_constants_does_so(graph: Any, function: Any) -> None:
    w = tf.Variable([1.0, 2.0])
    with tf.control_dependencies([tf.assign(w, w * 3)]):
        after = function(w)
    session = tf.Session()
    session.run(w.initializer)
    assert np.max(session.run(after)) in (6.0, 9.0)
    np.testing.assert_array_equal(session.run(w), [3, 6])


def test_a_variable_changes_from_step_to_step_of_a_loop(graph: Any) -> None:
    v = tf.Variable(1.0)

    def step(i: Any, total: Any) -> tuple[Any, Any]:
        with tf.control_dependencies([tf.assign_add(v, 1.0)]):
            return i + 1, total * 2 + v

    session = tf.Session()
    total = tf.while_loop(lambda i, total: i < 3, step, [0, 0.0])[1]
    session.run(v.initializer)
    assert [session.run(total), session.run(v)] == [18.0, 4.0]


# ------------------------------------------------------------------ derivatives where TensorFlow has its own rule
def test_ties_and_zeros_are_derived_as_tensorflow_does(graph: Any) -> None:
    x, n = tf.constant([0.0, 1.0, -1.0, 2.0]), tf.placeholder(tf.float32, [4])
    run = tf.Session().run
    np.testing.assert_array_equal(run(tf.gradients(tf.maximum(x, 0.0), x)[0]), [1, 1, 0, 1])
    np.testing.assert_array_equal(run(tf.gradients(tf.minimum(x, 1.0), x)[0]), [1, 1, 1, 0])
    tied = tf.constant([1.0, 1.0, 0.0])
    np.testing.assert_array_equal(run(tf.gradients(tf.reduce_max(tied), tied)[0]), [0.5, 0.5, 0])
    by_exponent = run(tf.gradients(tf.pow(x, n), n)[0], {n: [0, 0, 2, 3]})
    np.testing.assert_allclose(by_exponent, [0, 0, 0, 8 * np.log(2)], rtol=1e-6)


def test_products_and_extremes_are_derived_by_operations_again_and_again(graph: Any) -> None:
    x = tf.placeholder(tf.float64, [None, 3])
    value = np.array([[2.0, 3.0, 5.0], [1.0, 0.0, 4.0]])
    first = tf.gradients(tf.reduce_prod(x, 1), x)[0]
    second = tf.gradients(first[:, 0], x)[0]
    third = tf.gradients(second[:, 1], x)[0]
    found = tf.Session().run([first, second, third], {x: value})
    np.testing.assert_array_equal(found[0], [[15, 10, 6], [0, 4, 0]])
    np.testing.assert_array_equal([part[0] for part in found[1:]], [[0, 5, 3], [0, 0, 1]])
    shared = tf.gradients(tf.reduce_max(x * x, 0), x)[0]
    np.testing.assert_array_equal(tf.Session().run(shared, {x: [[1.0, -2, 3], [1, 2, 4]]}), [[1, -2, 0], [1, 2, 8]])


def test_each_of_several_joined_tensors_gets_its_part_of_the_gradient(graph: Any) -> None:
    x, y = tf.placeholder(tf.float32, [None]), tf.placeholder(tf.float32, [None])
    joined = tf.concat([x, y, x], 0)
    found = tf.Session().run(tf.gradients(joined * joined, [x, y]), {x: [1, 2], y: [3]})
    np.testing.assert_array_equal(found[0], [4, 8])
    np.testing.assert_array_equal(found[1], [6])


@pytest.mark.parametrize(
    "build",
    [
        lambda f: tf.gradients(tf.cast(f, tf.int32), f),
        lambda f: tf.gradients(tf.floor(f), f),
        lambda f: tf.gradients(3.0, f),
    ],
)
def test_what_has_no_derivative_gives_none(graph: Any, build: Any) -> None:
    assert build(tf.constant([1.0])) == [None]


# ------------------------------------------------------------------ functions and plans
def test_a_function_is_traced_once_for_each_signature() -> None:
    traced = []

    def doubled(x: Any, times: int = 2) -> Any:
        traced.append(x)
        return x * times

    double = tf.function(doubled)
    assert [double(np.float32(3)), double(np.float32(4))] == [6.0, 8.0]
    np.testing.assert_array_equal(double(np.ones(2, np.float32)), [2, 2])
    np.testing.assert_array_equal(double(np.ones(2, np.float32), times=3), [3, 3])
    assert len(traced) == 3


def test_lists_of_other_lengths_are_another_signature() -> None:
    counted = tf.function(lambda a, b: tf.add_n([*a, *b]) * (10 * len(a) + len(b)))
    one = np.float32(1)
    assert [counted([one], [one, one]), counted([one, one], [one]), counted([one, one], b=[one])] == [36, 63, 63]


def test_a_plan_can_be_read_and_is_the_same_each_time() -> None:
    sources = set()
    for _ in range(3):
        with tf.Graph().as_default():
            a, b = tf.placeholder(tf.float32, name="a"), tf.placeholder(tf.float32, name="b")
            e = tf.log(a) * b + tf.log(a) * (1.0 + 2.0)
            sources.add(tf.Session().plan(e, [a, b]).source)
    (source,) = sources
    assert source.splitlines() == [
        "def run(state, random, v1, v2):", "    v3 = log(v1)", "    v4 = v3 * v2", "    v5 = v3 * k_1", "    v6 = v4 + v5",
        "    return v6,",
    ]  # fmt: skip


def test_a_plan_is_made_once(graph: Any) -> None:
    x = tf.placeholder(tf.float32, [None])
    y = x * 2
    session = tf.Session()
    plan = session.plan(y, [x])
    plan.call = lambda *args: ("of this plan",)
    assert [session.run(y, {x: np.ones(size)}) for size in range(4)] == ["of this plan"] * 4
