"""Static graphs from a source: an expression's placeholders and operations, or the default graph that a script has built."""

from __future__ import annotations

import ast
import operator
import unicodedata
from contextlib import suppress
from dataclasses import dataclass, field, replace
from importlib import import_module
from typing import TYPE_CHECKING, Any

from gviz.errors import SourceError
from gviz.sources.expression import notes_on_names
from gviz.sources.expression_check import check
from gviz.sources.expression_limits import Budget, TooLargeError, check_power
from gviz.sources.expression_parse import Source, parse, too_deep
from gviz.sources.expression_run import of_numbers
from gviz.sources.expression_text import operator_sign
from gviz.sources.names import CONSTANTS
from gviz.sources.options import Note, SourceOptions
from gviz.sources.reading import Reading
from gviz.sources.values import find_dtype, make_value

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from gviz.graph import Graph
    from gviz.sources.expression_check import Program
    from gviz.sources.reading import Talk

__all__ = ["StaticSource", "build", "checked", "define", "drawn", "left_in", "reading"]


@dataclass(frozen=True)
class StaticSource:
    """A static graph, and what is known of it.

    Args:
        graph: a ``gviz.static.Graph``.
        names: the source's names of its tensors; of a script's variables and operations too.
        root: the tensor that it is about; None for a script's graph.
        feeds: placeholder -> array, for an expression with values.
        notes: what there is to say.
        title: what it is called: an expression's root, a script's file.
        slopes: the derivatives of the root that were added.
    """

    graph: Any
    names: dict[str, Any] = field(default_factory=dict)
    root: Any = None
    feeds: dict[Any, Any] = field(default_factory=dict)
    notes: tuple[Note, ...] = ()
    title: str = ""
    slopes: tuple[Any, ...] = ()


FUNCTIONS = {
    "abs": "abs", "absolute": "abs", "neg": "negative", "negative": "negative", "sign": "sign", "exp": "exp", "log": "log",
    "log1p": "log1p", "expm1": "expm1", "sqrt": "sqrt", "rsqrt": "rsqrt", "square": "square", "reciprocal": "reciprocal",
    "sin": "sin", "cos": "cos", "tan": "tan", "asin": "asin", "acos": "acos", "atan": "atan", "sinh": "sinh", "cosh": "cosh",
    "tanh": "tanh", "sigmoid": "sigmoid", "erf": "erf", "relu": "nn.relu", "softplus": "nn.softplus", "elu": "nn.elu",
    "softmax": "nn.softmax", "log_softmax": "nn.log_softmax", "floor": "floor", "ceil": "ceil", "round": "round",
    "add": "add", "sub": "subtract", "subtract": "subtract", "mul": "multiply", "multiply": "multiply", "div": "divide",
    "divide": "divide", "pow": "pow", "maximum": "maximum", "minimum": "minimum", "where": "where", "matmul": "matmul",
    "mm": "matmul", "mv": "matmul", "sum": "reduce_sum", "mean": "reduce_mean", "prod": "reduce_prod", "max": "reduce_max",
    "min": "reduce_min", "amax": "reduce_max", "amin": "reduce_min", "reshape": "reshape", "view": "reshape", "t": "transpose",
    "transpose": "transpose", "cat": "concat", "concat": "concat", "stack": "stack", "squeeze": "squeeze",
    "unsqueeze": "expand_dims", "clamp": "clip_by_value", "detach": "stop_gradient", "item": "stop_gradient",
    "clone": "identity", "eq": "equal", "ne": "not_equal", "lt": "less", "le": "less_equal", "gt": "greater",
    "ge": "greater_equal",
}  # fmt: skip
"""PyTorch's name of a function or method -> TensorFlow's."""

OPTIONS = {"dim": "axis", "keepdim": "keepdims", "min": "clip_value_min", "max": "clip_value_max"}
"""Likewise for options."""

OPERATORS = {
    ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.Div: "truediv", ast.Pow: "pow", ast.MatMult: "matmul",
    ast.FloorDiv: "floordiv", ast.Mod: "mod", ast.Lt: "lt", ast.LtE: "le", ast.Gt: "gt", ast.GtE: "ge", ast.Eq: "eq",
    ast.NotEq: "ne",
}  # fmt: skip
"""A sign's function in Python's ``operator``."""


def build(text: str, options: SourceOptions) -> StaticSource:
    """The static graph of an expression: a placeholder for each name that has a value, an operation for each assigned name.

    Args:
        text: statements as for the dynamic graph; functions have PyTorch's names.
        options: values and roots are read.

    Raises:
        SourceError: it cannot be read, or uses what static graphs have not.
    """
    program, given = checked(text, options)
    return replace(define(program, given, options.roots), notes=(*_unused(options), *notes_on_names(program, options)))


def checked(text: str, options: SourceOptions) -> tuple[Program, dict[str, Any]]:
    """An expression, looked through, and each name's value as the engine's tensor; SourceError where it cannot be read."""
    from gviz import engine

    source = Source(text)
    statements = parse(source)
    if not statements:
        raise SourceError("the expression is empty", hint='write one, as in "e=a*b+log(d)*c"')
    program = check(statements, source, options.values)
    dtype, budget = find_dtype(engine, options.dtype), Budget()
    return program, {
        name: make_value(engine, name, options.values.get(name, "1.0"), dtype, requires_grad=False, budget=budget)
        for name in program.free
    }


def define(program: Program, given: dict[str, Any], wanted: Sequence[str] = ()) -> StaticSource:
    """The graph of an expression that was looked through, and nothing else, so that it can be timed.

    Raises:
        SourceError: it uses what static graphs have not.
    """
    tf: Any = import_module("gviz.static")

    graph = tf.Graph()
    names: dict[str, Any] = {}
    feeds = {}
    with graph.as_default():
        for name, value in given.items():
            names[name] = tf.placeholder(str(value.dtype).removeprefix("torch."), tuple(value.shape), name=in_ascii(name))
            feeds[names[name]] = value.numpy()
        builder = _Builder(tf, program, names)
        try:
            last = [builder.statement(statement) for statement in program.statements][-1]
        except RecursionError:
            raise too_deep(program.source) from None
        root = builder.root(wanted[0]) if wanted else last
        if isinstance(root, list):
            place = program.source.place(program.statements[-1])
            raise SourceError("a list is no tensor", place=place, hint="make one of it, as in stack([a, b]) or cat([a, b])")
        title = wanted[0] if wanted else next((name for name, value in names.items() if value is root), "")
        if not isinstance(root, tf.Tensor):  # a number has a box only where it is what the graph is about
            root = tf.constant(root, name=in_ascii(title) if title else "Const")
    return StaticSource(graph, names, root, feeds, title=title)


def _unused(options: SourceOptions) -> Iterator[Note]:
    """A warning for each option that belongs to recorded graphs, or to scripts."""
    given = {
        "--frozen": options.frozen,
        "--retain": options.retain,
        "--grad-output": options.grad_output,
        "--no-backward": not options.backward,
    }
    for option in (option for option, value in given.items() if value):
        yield Note(
            f"{option} not used: an expression's static graph has derivatives where --gradients asks for them", "warning"
        )
    if options.graph:
        yield Note("--graph not used: an expression has one graph", "warning")
    if len(options.roots) > 1:
        yield Note(f"--root {','.join(options.roots[1:])} not used: a static graph is drawn whole", "warning")


class _Builder:
    """Builds an expression's operations, deepest first.

    Args:
        tf: ``gviz.static``.
        program: the expression, looked through.
        names: what each name stands for; assignments are added.
    """

    def __init__(self, tf: Any, program: Program, names: dict[str, Any]) -> None:
        self.tf, self.program, self.names = tf, program, names

    def statement(self, statement: ast.Assign | ast.Expr) -> Any:
        """One statement's tensor."""
        if isinstance(statement, ast.Expr):
            return self.value(statement.value)
        found = None
        for target in statement.targets:
            if not isinstance(target, ast.Name):
                raise self.refusal(target, "a static graph's expression assigns one name at a time")
            found = self.value(statement.value, in_ascii(target.id)) if found is None else found
            self.names[target.id] = found
        return found

    def root(self, name: str) -> Any:
        """The tensor of a name that ``--root`` asks for."""
        if name not in self.names:
            raise SourceError(f"--root {name}: there is no such name", hint=f"there are {', '.join(self.names)}")
        return self.names[name]

    def refusal(self, node: ast.AST, what: str) -> SourceError:
        """An error with the place of what is wrong."""
        return SourceError(what, place=self.program.source.place(node), hint="a script with import tensorflow as tf can say it")

    def value(self, node: ast.expr, name: str | None = None) -> Any:
        """What a piece stands for; the operation that it makes is called ``name``."""
        try:
            return self._value(node, name)
        except (TypeError, ValueError, LookupError, ArithmeticError, NotImplementedError, TooLargeError) as error:
            raise SourceError(str(error), place=self.program.source.place(node)) from None

    def _value(self, node: ast.expr, name: str | None) -> Any:  # noqa: PLR0911 - one for each form
        named = {} if name is None else {"name": name}
        if isinstance(node, ast.Constant):
            return node.value
        if isinstance(node, ast.Name):
            if node.id in self.names:
                known = self.names[node.id]
                return self.tf.identity(known, **named) if name and isinstance(known, self.tf.Tensor) else known
            if node.id not in CONSTANTS:
                raise self.refusal(node, f"{node.id} is not there in a static graph")
            return CONSTANTS[node.id]
        if isinstance(node, ast.BinOp) and type(node.op) in OPERATORS:
            return self._two(node.op, node.left, node.right, named)
        if isinstance(node, ast.Compare) and len(node.ops) == 1 and type(node.ops[0]) in OPERATORS:
            return self._two(node.ops[0], node.left, node.comparators[0], named)
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub | ast.UAdd):
            inner = self.value(node.operand)
            if isinstance(node.op, ast.UAdd):
                return inner
            return self.tf.negative(inner, **named) if isinstance(inner, self.tf.Tensor) else -inner
        if isinstance(node, ast.List | ast.Tuple):
            return [self.value(item) for item in node.elts]
        if isinstance(node, ast.Attribute) and node.attr in {"T", "mT"}:
            return self.tf.transpose(self.value(node.value), **named)
        if isinstance(node, ast.Call):
            return self._call(node, named)
        raise self.refusal(node, f"{self.program.source.segment(node)}: a static graph's expression has no such form")

    def _two(self, sign: ast.operator | ast.cmpop, left: ast.expr, right: ast.expr, named: dict[str, str]) -> Any:
        """A sign between two: of numbers a number, else an operation; a number takes the dtype of the tensor beside it."""
        one, other = self.value(left), self.value(right)
        is_tensor = [isinstance(value, self.tf.Tensor) for value in (one, other)]
        if not any(is_tensor):
            check_power(operator_sign(sign), one, other)
            return of_numbers(operator_sign(sign), one, other)
        word = OPERATORS[type(sign)]
        function = getattr(self.tf, FUNCTIONS.get(word, word))
        if not named:
            return function(one, other) if word in {"eq", "ne"} else getattr(operator, word)(one, other)
        if all(is_tensor):
            return function(one, other, **named)
        with self.tf.name_scope(named["name"]) as scope:  # as the sign's own operation has it: y/x, y
            kind = (one if is_tensor[0] else other).dtype.base_dtype
            one, other = (
                v if t else self.tf.constant(v, kind, name=n) for v, t, n in zip((one, other), is_tensor, "xy", strict=True)
            )
            return function(one, other, name=scope)

    def _call(self, node: ast.Call, named: dict[str, str]) -> Any:
        """A function, or a method as a function of its tensor."""
        receiver: list[Any] = []
        if isinstance(node.func, ast.Attribute) and not (
            isinstance(node.func.value, ast.Name) and node.func.value.id in {"torch", "F"}
        ):
            receiver = [self.value(node.func.value)]
        function = (
            node.func.attr if isinstance(node.func, ast.Attribute) else node.func.id if isinstance(node.func, ast.Name) else ""
        )
        if function not in FUNCTIONS:
            raise self.refusal(node, f"{function} is not there in gviz's static graphs")
        args = receiver + [self.value(a) for a in node.args]
        options = {OPTIONS.get(str(k.arg), str(k.arg)): self.value(k.value) for k in node.keywords}
        if function == "clamp" and len(args) + len(options) == 2:  # one bound
            function = "minimum" if "clip_value_max" in options else "maximum"
            args, options = [*args, *options.values()], {}
        elif function in {"max", "min"} and len(args) == 2 and isinstance(args[1], self.tf.Tensor):
            function += "imum"
        found: Any = self.tf
        for part in FUNCTIONS[function].split("."):
            found = getattr(found, part)
        if FUNCTIONS[function] == "transpose":
            args = [args[0], *swapped(args[0].shape.rank, args[1:])]
        elif FUNCTIONS[function] == "reshape" and len(args) > 2:
            args = [args[0], args[1:]]
        elif FUNCTIONS[function] in ("concat", "stack") and len(args) == 1 and "axis" not in options:
            options["axis"] = 0
        return found(*args, **options, **named)


def in_ascii(name: str) -> str:
    """A name as TensorFlow takes it.

    >>> in_ascii("λ1"), in_ascii("café"), in_ascii("_x")
    ('lamda1', 'cafe', 'x')
    """
    letters = (c for c in unicodedata.normalize("NFKD", name) if not unicodedata.combining(c))
    words = (c if c.isascii() else unicodedata.name(c, "x").rsplit(" ", 1)[-1].lower() for c in letters)
    return "".join(words).lstrip("_") or "x"


def swapped(rank: int | None, axes: Sequence[int]) -> list[list[int]]:
    """TensorFlow's argument for PyTorch's two dimensions that change places; none for ``t()``.

    >>> swapped(3, [0, -1]), swapped(2, [])
    ([[2, 1, 0]], [])
    """
    if rank is None or len(axes) != 2:
        return []
    for axis in axes:
        if not -rank <= axis < rank:
            raise IndexError(f"Dimension out of range (expected to be in range of [{-rank}, {rank - 1}], but got {axis})")
    order = list(range(rank))
    order[axes[0]], order[axes[1]] = order[axes[1]], order[axes[0]]
    return [order]


def left_in(space: dict[str, Any], wanted: str = "", title: str = "") -> StaticSource | None:
    """The static graph that a script has built.

    Args:
        space: the script's global names.
        wanted: the name of a graph among them; "" for the default one, or where that is empty the first of the script's.
        title: what to call it.

    Returns:
        The graph, None where there is none.

    Raises:
        SourceError: there is no graph of that name.
    """
    tf: Any = import_module("gviz.static")
    kinds = {name: type(value) for name, value in space.items()}  # not isinstance: a script's globals may be anything
    graphs = {n: space[n] for n, kind in kinds.items() if issubclass(kind, tf.Graph) and not n.startswith("_")}
    graphs.update((name, space[name].graph) for name, kind in kinds.items() if issubclass(kind, tf.Session))
    if wanted and wanted not in graphs:
        known = (
            f"the graphs are {', '.join(graphs)}"
            if graphs
            else "the script names none: leave --graph out for the default graph"
        )
        raise SourceError(f"--graph {wanted}: there is no graph of that name", hint=known)
    choice = [graphs[wanted]] if wanted else [tf.get_default_graph(), *graphs.values()]
    graph = next((g for g in choice if len(g)), None)
    if graph is None:
        return None
    tensors = {name: space[name] for name, kind in kinds.items() if issubclass(kind, (tf.Tensor, tf.Variable, tf.Operation))}
    return StaticSource(graph, {n: tensor for n, tensor in tensors.items() if tensor.graph is graph}, title=title)


def reading(found: StaticSource, talk: Talk, *, failed: bool = False) -> Reading:
    """A static graph as every command reads it."""
    talk.say(*found.notes)
    return Reading(drawn(found), tuple(talk.notes), failed=failed, static=found)


def drawn(found: StaticSource) -> Graph:
    """Its picture, with what one run gives for an expression's values; without where that run fails."""
    from gviz.static.errors import OpError
    from gviz.static.picture import picture
    from gviz.static.session import Session

    values: dict[Any, Any] = {}
    if found.root is not None:
        tensors = [tensor for op in found.graph.get_operations() for tensor in op.outputs]
        with suppress(OpError, ValueError, TypeError, ArithmeticError):
            values = dict(zip(tensors, Session(graph=found.graph).run(tensors, found.feeds), strict=True))
    return picture(found.graph, values=values, title=found.title)
