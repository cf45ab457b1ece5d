"""The programs that are compared: an expression with its feeds, and the two that the articles time."""

from __future__ import annotations

import ast
from dataclasses import replace
from importlib import import_module
from typing import TYPE_CHECKING, Any

from gviz.errors import SourceError
from gviz.sources.compare import Pair, Static
from gviz.sources.expression import evaluate
from gviz.sources.expression_check import called_function
from gviz.sources.expression_limits import Budget
from gviz.sources.expression_parse import parse
from gviz.sources.names import CONSTANTS, did_you_mean, find_function, load_engine, shown
from gviz.sources.options import SourceOptions
from gviz.sources.static_source import checked, define
from gviz.sources.values import find_dtype, make_value

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from gviz.sources.expression_check import Program
    from gviz.sources.options import Note

__all__ = ["articles", "of_expression", "power"]

POWER, SIZE = 100, 10
"""The program of TensorFlow's guide: how often a matrix is multiplied, and its rows and columns."""

EXPRESSION = "e=a*b+log(d)*c"
VALUES = {"a": "2", "b": "3", "c": "5", "d": "10"}

FOUND = {
    "power": "a static run takes 0.13 of eager's time",
    "gradients": "a static run takes 0.4 of eager's time",
    "values": "a static run takes 1.6 to 3 times eager's time: it is slower",
}
"""What the real TensorFlow does with the articles' programs; not measured here."""


def articles(runs: int) -> list[Pair]:
    """power(x, 100) on matrices, then e = a*b + log(d)*c with its gradients and without."""
    options = SourceOptions(values=VALUES)
    with_gradients, _ = of_expression(EXPRESSION, options, runs=runs)
    values_only, _ = of_expression(EXPRESSION, replace(options, backward=False), runs=runs)
    return [power(runs), replace(with_gradients, found=FOUND["gradients"]), replace(values_only, found=FOUND["values"])]


def power(runs: int) -> Pair:
    """A matrix to the 100th power, as the guide times it: of integers, so that there is nothing to derive."""
    engine = load_engine()

    tf: Any = import_module("gviz.static")
    engine.manual_seed(0)
    feeds = [(engine.randint(-1, 2, (SIZE, SIZE), dtype=engine.int32).numpy(),) for _ in range(runs)]

    def build() -> Static:
        graph = tf.Graph()
        with graph.as_default():
            x = tf.placeholder(tf.int32, (SIZE, SIZE), name="x")
            result = tf.eye(SIZE, dtype=tf.int32)
            for _ in range(POWER):
                result = tf.matmul(x, result)
        return ready(graph, [x], [result])

    def run(feed: Sequence[Any]) -> list[Any]:
        x = engine.tensor(feed[0])
        result = engine.eye(SIZE, dtype=engine.int32)
        for _ in range(POWER):
            result = engine.matmul(x, result)
        return [result]

    title = f"power(x, {POWER}), x: {SIZE}×{SIZE} int32"
    return Pair(title, "the value", build, run, feeds, POWER + 1, POWER + 1, found=FOUND["power"])


def of_expression(
    text: str, options: SourceOptions, *, runs: int = 0, feeds: Sequence[Mapping[str, str]] = ()
) -> tuple[Pair, tuple[Note, ...]]:
    """An expression in both forms.

    Args:
        text: statements, as for :func:`gviz.sources.expression.evaluate`.
        options: values, the root, what is frozen, and whether there is a way backward.
        runs: how many feeds to make from the values; the first one is the values themselves.
        feeds: feeds as typed, in place of those; what one does not name has its value from the options.

    Returns:
        The program, and what there is to say of it.

    Raises:
        SourceError: it cannot be read, has no static form, or a feed does not fit it.
    """
    from gviz.walk import walk

    fixed = options.values
    if feeds:
        options = replace(options, values={**fixed, **feeds[0]})
    program, given = checked(text, options)
    define(program, given)  # what has no static form is refused here
    if feeds:
        fed = [read_feed({**fixed, **feed}, i, given, options.dtype) for i, feed in enumerate(feeds, 1)]
    done = evaluate(text, replace(options, grad_output="ones" if options.backward else None))
    if not feeds:
        fed = [list(given.values()) if i == 0 else [jittered(v) for v in given.values()] for i in seeded(runs)]
    root = next(iter(done.roots.values()))
    wanted = [
        i for i, (name, value) in enumerate(given.items())
        if options.backward and name not in options.frozen and value.is_floating_point() and root.requires_grad
    ]  # fmt: skip

    def build() -> Static:
        tf: Any = import_module("gviz.static")
        found = define(program, given, options.roots)
        placeholders = list(found.feeds)
        slopes = tf.gradients(found.root, [placeholders[i] for i in wanted]) if wanted else []
        return ready(found.graph, placeholders, [found.root, *slopes])

    picture = walk(done.roots, done.names)
    kinds = [node.kind for node in picture.nodes]
    forward, leaves = kinds.count("operation"), kinds.count("accumulate")
    names = [list(given)[i] for i in wanted]
    what = f"the value and the gradients of {', '.join(names)}" if names else "the value, no gradients"
    arrays = [[as_fed(value) for value in values] for values in fed]
    run = dynamic(program, given, wanted, options)
    if not wanted:  # nothing requires a gradient, so nothing is recorded
        return Pair(text, what, build, run, arrays, forward, forward), done.notes
    return Pair(text, what, build, run, arrays, forward + leaves, 2 * forward + leaves, picture), done.notes


def ready(graph: Any, placeholders: Sequence[Any], fetches: Sequence[Any]) -> Static:
    """A session for some fetches, planned."""
    tf: Any = import_module("gviz.static")
    session = tf.Session(graph=graph)
    there = [fetch for fetch in fetches if fetch is not None]
    computed = len(session.plan(there, placeholders).operations)
    if len(there) == len(fetches):
        return Static(graph, lambda feed: session.run(there, dict(zip(placeholders, feed, strict=True))), computed)

    def run(feed: Sequence[Any]) -> list[Any]:
        values = iter(session.run(there, dict(zip(placeholders, feed, strict=True))))
        return [None if fetch is None else next(values) for fetch in fetches]

    return Static(graph, run, computed)


# ------------------------------------------------------------------ the dynamic form
def dynamic(
    program: Program, given: Mapping[str, Any], wanted: Sequence[int], options: SourceOptions
) -> Callable[[Sequence[Any]], list[Any]]:
    """A function that makes leaves of a feed, computes the expression with the engine, and goes backward.

    It is compiled from the expression that was looked through, so that neither reading nor looking through is timed.
    """
    engine = load_engine()

    kinds = [value.dtype for value in given.values()]
    forward = compiled(engine, program, given, options.roots[0] if options.roots else None)
    tensor, differentiated = engine.tensor, [i in wanted for i in range(len(kinds))]

    def run(feed: Sequence[Any]) -> list[Any]:
        leaves = [tensor(v, dtype=k, requires_grad=r) for v, k, r in zip(feed, kinds, differentiated, strict=True)]
        root = forward(*leaves)
        if not wanted:
            return [root]
        if root.dim():
            root.backward(engine.ones_like(root))
        else:
            root.backward()
        return [root, *(leaves[i].grad for i in wanted)]

    return run


def compiled(engine: Any, program: Program, given: Mapping[str, Any], root: str | None) -> Any:
    """The expression as a Python function of the names that have a value.

    It returns the root, or what the last statement computes. Functions and constants get names that no expression can have.
    """
    bound, known, space = {*given, *program.assigned}, set(given), {}

    class Binder(ast.NodeTransformer):
        def visit_Name(self, node: ast.Name) -> ast.expr:
            return node if node.id in known else ast.Constant(CONSTANTS[node.id])

        def visit_Call(self, node: ast.Call) -> ast.Call:
            name = called_function(node, bound)
            if name is None:
                node.func = self.visit(node.func)
            else:
                space[f"{name}()"] = find_function(engine, name)
                node.func = ast.Name(f"{name}()", ast.Load())
            node.args, node.keywords = [self.visit(a) for a in node.args], [self.visit(k) for k in node.keywords]
            return node

    body: list[Any] = parse(program.source)
    for statement in body:
        statement.value = Binder().visit(statement.value)
        known.update(target.id for target in getattr(statement, "targets", ()))  # the static form takes no other targets
    if root is None and isinstance(body[-1], ast.Expr):
        body[-1] = ast.Return(body[-1].value)
    else:
        body.append(ast.Return(ast.Name(root or body[-1].targets[0].id, ast.Load())))
    module: Any = ast.parse(f"def forward({', '.join(given)}): pass")
    module.body[0].body = body
    exec(compile(ast.fix_missing_locations(module), "<expression>", "exec"), space)  # noqa: S102 - it was looked through
    return space["forward"]


# ------------------------------------------------------------------ feeds
def seeded(runs: int) -> range:
    """The numbers of the runs; their random numbers are the same each time."""
    engine = load_engine()

    engine.manual_seed(0)
    return range(runs)


def jittered(value: Any) -> Any:
    """A tensor near another one: each number up to a tenth larger or smaller; whole numbers stay."""
    engine = load_engine()

    if not value.is_floating_point():
        return value
    return value * (0.9 + 0.2 * engine.rand(tuple(value.shape), dtype=engine.float32)).to(value.dtype)


def as_fed(value: Any) -> Any:
    """What a person would feed: a Python number, or an array."""
    return value.item() if not value.dim() else value.detach().numpy()


def read_feed(feed: Mapping[str, str], number: int, given: Mapping[str, Any], dtype: str | None) -> list[Any]:
    """A feed as tensors, in the order of the names.

    Raises:
        SourceError: a name is missing, unknown, or has another shape than in the first feed.
    """
    engine = load_engine()

    for name in feed:
        if name not in given:
            hint = did_you_mean(name, given, f"the values are {', '.join(given)}")
            raise SourceError(f"feed {number}: there is no value called {shown(name)}", hint=hint)
    kind, budget, found = find_dtype(engine, dtype), Budget(), []
    for name, first in given.items():
        if name not in feed:
            raise SourceError(f"feed {number}: {name} is missing", hint=f"give it there, or for all feeds: {name}=1")
        value = make_value(engine, name, feed[name], kind, requires_grad=False, budget=budget)
        if value.shape != first.shape:
            what = f"feed {number}: {name} has shape {shape_of(value)}, but the placeholder has shape {shape_of(first)}"
            raise SourceError(what, hint="a placeholder keeps its shape, which is that of the first feed")
        found.append(value)
    return found


def shape_of(value: Any) -> str:
    """A shape as a tuple."""
    return str(tuple(value.shape))
