"""The programs that are compared: an expression with its feeds, and the two that the articles time."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from gviz import engine, static as tf
from gviz.compare.measuring import ProgramPair, Static
from gviz.errors import SourceError
from gviz.options import SourceOptions
from gviz.sources.expression import evaluate, with_names
from gviz.sources.expression.limits import Budget
from gviz.sources.expression.program import Program
from gviz.sources.expression.run import compile_program, find_callee
from gviz.sources.expression.static import StaticForm, look_through
from gviz.sources.expression.values import find_dtype, make_value
from gviz.sources.notes import Note
from gviz.static.gradients import gradients
from gviz.static.graph import Graph, Tensor
from gviz.static.session import Session
from gviz.text import did_you_mean, excerpt
from gviz.walk import walk

POWER, SIZE = 100, 10
"""The program of TensorFlow's guide: the power of the matrix, and its rows and columns."""

EXPRESSION = "e=a*b+log(d)*c"
VALUES = {"a": "2", "b": "3", "c": "5", "d": "10"}

IN_TENSORFLOW = (
    "a static run takes 0.13 of eager's time",
    "a static run takes 0.4 to 0.6 of eager's time",
    "a static run takes some 2.3 times eager's time: it is slower",
)
"""Times of the articles' programs in the real TensorFlow; not measured here."""

SMALL_IN_TENSORFLOW = (
    "the session is slower than eager on a few operations without gradients, 2.3 times, "
    "and takes 0.4 to 0.6 of eager's time with them"
)
"""The same of other small expressions."""


def articles(runs: int) -> list[ProgramPair]:
    """Return power(x, 100) on matrices, and e = a*b + log(d)*c with its gradients and without."""
    options = (SourceOptions(values=VALUES, backward=is_derived) for is_derived in (True, False))
    expressions = [of_expression(EXPRESSION, each, runs=runs)[0] for each in options]
    return [
        replace(pair, in_tensorflow=words)
        for pair, words in zip([power(runs), *expressions], IN_TENSORFLOW, strict=True)
    ]


def power(runs: int) -> ProgramPair:
    """Return a matrix to the 100th power, as the guide times it: of integers, so that there is nothing to derive."""
    engine.manual_seed(0)
    feeds = [(engine.randint(-1, 2, (SIZE, SIZE), dtype=engine.int32).numpy(),) for _ in range(runs)]

    def multiplied(library: Any, x: Any) -> list[Any]:
        result = library.eye(SIZE, dtype=library.int32)
        for _ in range(POWER):
            result = library.matmul(x, result)
        return [result]

    def build() -> Static:
        with Graph().as_default() as graph:
            x = tf.placeholder(tf.int32, (SIZE, SIZE), name="x")
            return plan_static(graph, [x], multiplied(tf, x))

    def run(feed: Sequence[Any]) -> list[Any]:
        return multiplied(engine, engine.tensor(feed[0]))

    return ProgramPair(
        f"power(x, {POWER}), x: {SIZE}×{SIZE} int32", "the value", build, run, feeds, POWER + 1, POWER + 1
    )


def of_expression(
    text: str, options: SourceOptions, *, runs: int = 0, feeds: Sequence[Mapping[str, str]] = ()
) -> tuple[ProgramPair, tuple[Note, ...]]:
    """Return an expression in both forms, and the notes on it.

    Args:
        text: statements, as for :func:`gviz.sources.expression.evaluate`.
        options: the values, the root, the frozen names, and whether the runs go backward.
        runs: the count of feeds that are made from the values; the first one is the values themselves.
        feeds: feeds as typed, in place of those; a name that one lacks has its value from the options.

    Raises:
        SourceError: it cannot be read, has no static form, or a feed does not fit it.
    """
    if feeds:
        feeds = [{**options.values, **feed} for feed in feeds]
        options = replace(options, values=feeds[0])
    program, values = look_through(text, options)
    options = with_names(options, program)
    rows = [read_feed(feed, i, values, options.dtype) for i, feed in enumerate(feeds, 1)]
    computed = evaluate(text, replace(options, grad_output="ones" if options.backward else None))
    form = StaticForm(program, options.roots)
    form.define(values)  # what has no static form is refused here
    text = program.reading() or text
    if not feeds:
        engine.manual_seed(0)
        rows = [[jitter(value) if i else value for value in values.values()] for i in range(runs)]
    frozen = options.frozen if options.backward else values
    places = [i for i, (name, value) in enumerate(values.items()) if name not in frozen and value.is_floating_point()]

    def build() -> Static:
        source = form.define(values)
        placeholders = list(source.feeds)
        slopes = gradients(source.root, [placeholders[i] for i in places]) if places else []
        return plan_static(source.graph, placeholders, [source.root, *slopes])

    names = {name: tensor for name, tensor in computed.names.items() if name not in computed.expressions}
    picture = walk(computed.roots, names)  # letters of gviz's own are not in both
    nodes = [node.kind for node in picture.nodes]
    forward, leaves = nodes.count("operation"), nodes.count("accumulate")
    arrays = [[value.detach().numpy() if value.dim() else value.item() for value in row] for row in rows]
    run = dynamic(program, values, places, options.roots[0] if options.roots else None)
    if not places:  # nothing requires a gradient, so nothing is recorded
        pair = ProgramPair(text, "the value, no gradients", build, run, arrays, forward, forward)
        return replace(pair, in_tensorflow=SMALL_IN_TENSORFLOW), computed.notes
    derived = [name for i, name in enumerate(values) if i in places]
    return ProgramPair(
        text,
        f"the value and the gradients of {', '.join(derived)}",
        build,
        run,
        arrays,
        forward,
        2 * forward + leaves,
        picture,
        ("the value", *(f"the gradient of {name}" for name in derived)),
        SMALL_IN_TENSORFLOW,
    ), computed.notes


def plan_static(graph: Graph, placeholders: Sequence[Tensor], fetches: Sequence[Tensor | None]) -> Static:
    """Return a graph with a planned session for some fetches; None, for no derivative, stays None."""
    session = Session(graph=graph)
    tensors = [fetch for fetch in fetches if fetch is not None]

    def run(feed: Sequence[Any]) -> list[Any]:
        values: list[Any] = session.run(tensors, dict(zip(placeholders, feed, strict=True)))
        if len(tensors) == len(fetches):
            return values
        rest = iter(values)
        return [None if fetch is None else next(rest) for fetch in fetches]

    return Static(graph, run, len(session.plan(tensors, placeholders).operations))


def dynamic(
    program: Program, values: Mapping[str, Any], places: Sequence[int], root: str | None
) -> Callable[[Sequence[Any]], list[Any]]:
    """Return a function that makes leaves of a feed, computes the expression with the engine, and goes backward.

    It is compiled from the checked expression, so that neither reading nor checking is timed.
    """
    forward = compile_program(
        program, {piece: find_callee(word, piece) for piece, word in program.words.items()}, root=root
    )
    tensor, types = engine.tensor, [(value.dtype, i in places) for i, value in enumerate(values.values())]

    def run(feed: Sequence[Any]) -> list[Any]:
        leaves = [tensor(v, dtype=dtype, requires_grad=r) for v, (dtype, r) in zip(feed, types, strict=True)]
        root = forward(*leaves)
        if places:
            root.backward(engine.ones_like(root) if root.dim() else None)
        return [root, *(leaves[i].grad for i in places)]

    return run


def jitter(value: engine.Tensor) -> Any:
    """Return a tensor near another one: each number up to a tenth larger or smaller; whole numbers stay."""
    factor = 0.9 + 0.2 * engine.rand(tuple(value.shape), dtype=engine.float32)
    return value * factor.to(value.dtype) if value.is_floating_point() else value


def read_feed(feed: Mapping[str, str], number: int, values: Mapping[str, Any], dtype: str | None) -> list[Any]:
    """Return a feed as tensors, in the order of the names.

    Raises:
        SourceError: a name is missing, unknown, or has another shape than in the first feed.
    """
    for name in (name for name in feed if name not in values):
        raise SourceError(
            f"feed {number}: there is no value called {excerpt(name)}",
            hint=did_you_mean(name, values, f"the values are {', '.join(values)}"),
        )
    value_dtype, budget, row = find_dtype(dtype), Budget(), []
    for name, first in values.items():
        if name not in feed:
            raise SourceError(f"feed {number}: {name} is missing", hint=f"give it there, or for all feeds: {name}=1")
        value = make_value(name, feed[name], value_dtype, requires_grad=False, budget=budget)
        if value.shape != first.shape:
            raise SourceError(
                (
                    f"feed {number}: {name} has "
                    f"shape {tuple(value.shape)}, but the placeholder has shape {tuple(first.shape)}"
                ),
                hint="a placeholder keeps its shape, which is that of the first feed",
            )
        row.append(value)
    return row
