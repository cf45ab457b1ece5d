"""Properties of static graphs: the same numbers as the dynamic engine, and plans that do no more than they have to."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from fuzzing import relaxed
from hypothesis import given, strategies as st

from gviz import engine, static
from gviz.static.control import unit_of

tf: Any = static
torch: Any = engine

SHAPES = ((), (3,), (2, 3), (2, 1), (1, 3))
"""Any two of these broadcast."""
UNARY = ("exp", "sin", "cos", "tanh", "sigmoid", "square", "neg", "abs", "relu", "sum0")
BINARY = ("add", "sub", "mul", "maximum", "div")

Program = list[tuple[str, int, int]]


def program(draw: st.DrawFn) -> tuple[list[tuple[int, ...]], Program]:
    shapes = draw(st.lists(st.sampled_from(SHAPES), min_size=1, max_size=3))
    steps: Program = []
    for at in range(len(shapes), len(shapes) + draw(st.integers(1, 9))):
        name = draw(st.sampled_from(UNARY + BINARY))
        steps.append((name, draw(st.integers(0, at - 1)), draw(st.integers(0, at - 1))))
    return shapes, steps


programs = st.composite(program)()


def built(module: Any, leaves: list[Any], steps: Program) -> list[Any]:
    """All values of a program, with static or dynamic tensors."""
    is_static = module is tf
    functions: dict[str, Callable[..., Any]] = {
        "neg": operator.neg,
        "abs": operator.abs,
        "add": operator.add,
        "sub": operator.sub,
        "mul": operator.mul,
        "relu": tf.nn.relu if is_static else torch.relu,
        "sum0": tf.reduce_sum if is_static else torch.sum,
        "div": lambda a, b: a / (b * b + 1.0),
    }
    values = list(leaves)
    for name, one, other in steps:
        function = functions.get(name) or getattr(module, name)
        values.append(function(values[one], values[other]) if name in BINARY else function(values[one]))
    return values


def arrays(shapes: Sequence[tuple[int, ...]]) -> list[Any]:
    random = np.random.default_rng(len(shapes))
    return [random.uniform(-1.2, 1.2, shape) for shape in shapes]


def placeholders(shapes: Sequence[tuple[int, ...]], known: bool) -> list[Any]:
    return [tf.placeholder(tf.float64, shape if known else None) for shape in shapes]


@pytest.mark.fuzz
@relaxed(60)
@given(programs, st.booleans())
def test_values_and_gradients_are_those_of_the_dynamic_engine(
    made: tuple[list[tuple[int, ...]], Program], known: bool
) -> None:
    shapes, steps = made
    given_values = arrays(shapes)
    with tf.Graph().as_default():
        inputs = placeholders(shapes, known)
        values = built(tf, inputs, steps)
        grads = tf.gradients(values[-1], inputs, unconnected_gradients="zero")
        found = tf.Session().run([*values, *grads], dict(zip(inputs, given_values, strict=True)))
    leaves = [torch.tensor(v, dtype=torch.float64, requires_grad=True) for v in given_values]
    dynamic = built(torch, leaves, steps)
    if dynamic[-1].requires_grad:
        dynamic[-1].backward(torch.ones_like(dynamic[-1]))
    for one, other in zip(found, dynamic, strict=False):
        np.testing.assert_allclose(one, other.detach().numpy(), rtol=1e-9, atol=1e-12)
    ties = any(name in ("maximum", "relu", "abs") for name, *_ in steps)  # in a tie TensorFlow chooses, PyTorch halves
    for one, leaf in zip(found[len(values) :], leaves, strict=True):
        other = np.zeros(one.shape) if leaf.grad is None else leaf.grad.numpy()
        assert one.shape == other.shape
        if not ties:
            np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-12)


@pytest.mark.fuzz
@relaxed(60)
@given(programs, st.data(), st.booleans())
def test_a_part_that_is_fetched_is_as_in_the_whole(made: Any, data: st.DataObject, known: bool) -> None:
    shapes, steps = made
    with tf.Graph().as_default() as graph:
        inputs = placeholders(shapes, known)
        values = built(tf, inputs, steps)
        grads = [g for g in tf.gradients(values[-1], inputs) if g is not None]
        everything = [*values, *grads]
        feeds = dict(zip(inputs, arrays(shapes), strict=True))
        session = tf.Session()
        whole = session.run(everything, feeds)
        size = len(graph.get_operations())
        chosen = data.draw(st.lists(st.integers(0, len(everything) - 1), min_size=1, max_size=4))
        part = session.run([everything[i] for i in chosen], feeds)
        again = session.run([everything[i] for i in chosen], feeds)
    assert len(graph.get_operations()) == size
    for i, one, other in zip(chosen, part, again, strict=True):
        np.testing.assert_array_equal(one, whole[i])
        np.testing.assert_array_equal(one, other)


def needed(fetches: list[Any], feeds: set[Any]) -> set[Any]:
    """The operations that fetches depend on, with what is fed cut off."""
    found: set[Any] = set()
    waiting = [t.op for t in fetches if t not in feeds]
    while waiting:
        op = unit_of(waiting.pop())
        if op not in found:
            found.add(op)
            waiting.extend(t.op for t in op.inputs if t not in feeds)
    return found


@pytest.mark.fuzz
@relaxed(60)
@given(programs, st.data())
def test_a_plan_computes_nothing_that_the_fetches_do_not_need(made: Any, data: st.DataObject) -> None:
    shapes, steps = made
    with tf.Graph().as_default():
        inputs = placeholders(shapes, known=True)
        values = built(tf, inputs, steps)
        fetched = values[data.draw(st.integers(0, len(values) - 1))]
        fed = set(inputs) | {values[data.draw(st.integers(0, len(values) - 1))]}
        plan = tf.Session().plan(fetched, list(fed))
    assert set(plan.operations) <= needed([fetched], fed)
    assert len(set(plan.operations)) == len(plan.operations)


@pytest.mark.fuzz
@relaxed(60)
@given(programs)
def test_equal_operations_are_computed_once_and_constants_while_planning(made: Any) -> None:
    shapes, steps = made
    with tf.Graph().as_default():
        inputs = placeholders(shapes, known=True)
        one, other = built(tf, inputs, steps)[-1], built(tf, inputs, steps)[-1]
        session = tf.Session()
        assert len(session.plan([one, other], inputs).operations) == len(session.plan(one, inputs).operations)
        constants = [tf.constant(v) for v in arrays(shapes)]
        last = built(tf, constants, steps)[-1]
        plan = session.plan(last, [])
        assert not plan.operations
        np.testing.assert_allclose(
            session.run(last), session.run(one, dict(zip(inputs, arrays(shapes), strict=True))), rtol=1e-12
        )


@pytest.mark.fuzz
@relaxed(60)
@given(programs)
def test_results_are_no_views_of_each_other_and_of_what_is_fed(made: Any) -> None:
    _, steps = made
    shapes = [(4, 4)] * 3
    given_values = arrays(shapes)
    kept = [v.copy() for v in given_values]
    with tf.Graph().as_default():
        inputs = placeholders(shapes, known=True)
        values = built(
            tf, inputs, [(name, one % (i + 3), other % (i + 3)) for i, (name, one, other) in enumerate(steps)]
        )
        views = [tf.transpose(v) if v.shape.rank == 2 else v for v in values] + [
            v[1:] for v in values if v.shape.rank == 2
        ]
        everything = [v * 2.0 + v for v in [*values, *views]]
        feeds = dict(zip(inputs, given_values, strict=True))
        together = tf.Session().run(everything, feeds)
        singly = [tf.Session().run(v, feeds) for v in everything]
    for one, other in zip(together, singly, strict=True):
        np.testing.assert_array_equal(one, other)
    for one, other in zip(given_values, kept, strict=True):
        np.testing.assert_array_equal(one, other)


# ------------------------------------------------------------------ branches and loops
Nest: Any = st.recursive(
    st.sampled_from(["x * y", "x + y", "sin(x)", "x - y"]),
    lambda inner: st.one_of(
        st.tuples(st.just("if"), st.floats(-1, 1), inner, inner),
        st.tuples(st.just("while"), st.integers(1, 3), inner),
        st.tuples(st.just("then"), inner, inner),
    ),
    max_leaves=6,
)
PLAIN: dict[str, Callable[[Any, Any, Any], Any]] = {
    "x * y": lambda module, x, y: x * y,
    "x + y": lambda module, x, y: x + y,
    "sin(x)": lambda module, x, y: module.sin(x),
    "x - y": lambda module, x, y: x - y,
}


def in_graph(nest: Any, x: Any, y: Any) -> Any:
    """What a nest comes to with ``tf.cond`` and ``tf.while_loop``."""
    if isinstance(nest, str):
        return PLAIN[nest](tf, x, y)
    if nest[0] == "then":
        return in_graph(nest[2], in_graph(nest[1], x, y), y)
    if nest[0] == "if":
        holds = tf.reduce_sum(x) > nest[1]
        return tf.cond(holds, lambda: in_graph(nest[2], x, y), lambda: in_graph(nest[3], x, y))
    step = lambda i, v: (i + 1, tf.sin(in_graph(nest[2], v, y)))  # noqa: E731
    return tf.while_loop(lambda i, v: i < nest[1], step, [0, x])[1]


def in_python(nest: Any, x: Any, y: Any) -> Any:
    """The same with Python's ``if`` and ``for`` on the dynamic engine."""
    if isinstance(nest, str):
        return PLAIN[nest](torch, x, y)
    if nest[0] == "then":
        return in_python(nest[2], in_python(nest[1], x, y), y)
    if nest[0] == "if":
        return in_python(nest[2] if float(x.detach().sum()) > nest[1] else nest[3], x, y)
    for _ in range(nest[1]):
        x = torch.sin(in_python(nest[2], x, y))
    return x


@pytest.mark.fuzz
@relaxed(20)
@given(Nest, st.booleans())
def test_branches_and_loops_are_those_of_python_on_the_dynamic_engine(nest: Any, known: bool) -> None:
    with tf.Graph().as_default():
        inputs = [tf.placeholder(tf.float64, [3 if known else None]), tf.placeholder(tf.float64, [])]
        y = in_graph(nest, *inputs)
        fetches = [y, *tf.gradients(y, inputs, unconnected_gradients="zero")]
        session = tf.Session()
        for factor in (0.9, -1.3):
            given_values = [factor * np.array([0.4, -0.6, 0.9]), np.array(0.7)]
            found = session.run(fetches, dict(zip(inputs, given_values, strict=True)))
            leaves = [torch.tensor(v, dtype=torch.float64, requires_grad=True) for v in given_values]
            result = in_python(nest, *leaves)
            result.sum().backward()
            np.testing.assert_allclose(found[0], result.detach().numpy(), rtol=1e-9, atol=1e-12)
            for one, leaf in zip(found[1:], leaves, strict=True):
                other = np.zeros(one.shape) if leaf.grad is None else leaf.grad.numpy()
                np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-12)
