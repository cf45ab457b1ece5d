"""An expression as a static graph: a placeholder for each name that has a value, an operation for each assigned name.

The expression is compiled as for the engine (:mod:`gviz.sources.expression.run`); what its pieces call are TensorFlow's
functions, those of :mod:`gviz.static`.
"""

from __future__ import annotations

import ast
import operator
import re
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from gviz import engine, static as tf
from gviz.engine import Tensor as Value
from gviz.errors import SourceError
from gviz.numbers.shapes import wrap_dim
from gviz.options import SourceOptions
from gviz.signatures.names import NAMES
from gviz.sources.expression import notes_on_names, notes_on_reading, with_names
from gviz.sources.expression.allowed import CONSTANTS, DTYPES
from gviz.sources.expression.limits import Budget, check_power
from gviz.sources.expression.parse import read_program
from gviz.sources.expression.program import ExpressionText, Program
from gviz.sources.expression.run import (
    CHOSEN,
    ENGINE_ERRORS,
    OPERATORS,
    choose_sign,
    compile_program,
    engine_error,
    find_callee,
    refuse_lists,
    takes_number,
    with_dim,
)
from gviz.sources.expression.values import make_leaves
from gviz.sources.notes import Note, unused
from gviz.sources.static import StaticSource, named_root
from gviz.static.build import constant
from gviz.static.graph import Graph, Tensor

FUNCTIONS = {
    name: name
    for name in (
        "abs", "acos", "add", "asin", "atan", "ceil", "concat", "cos", "cosh", "divide", "erf", "exp", "expm1", "floor", "log",
        "log1p", "matmul", "maximum", "minimum", "multiply", "negative", "pow", "reciprocal", "reshape", "round", "rsqrt",
        "sigmoid", "sign", "sin", "sinh", "sqrt", "square", "squeeze", "stack", "subtract", "tan", "tanh", "transpose", "where",
    )
} | {
    "absolute": "abs", "amax": "reduce_max", "amin": "reduce_min", "cat": "concat", "clamp": "clip_by_value",
    "clone": "identity", "detach": "stop_gradient", "div": "divide", "elu": "nn.elu", "eq": "equal", "ge": "greater_equal",
    "gt": "greater", "item": "stop_gradient", "le": "less_equal", "log_softmax": "nn.log_softmax", "lt": "less",
    "max": "reduce_max", "mean": "reduce_mean", "min": "reduce_min", "mm": "matmul", "mul": "multiply", "mv": "matmul",
    "ne": "not_equal", "neg": "negative", "prod": "reduce_prod", "relu": "nn.relu", "softmax": "nn.softmax",
    "softplus": "nn.softplus", "sub": "subtract", "sum": "reduce_sum", "t": "transpose", "unsqueeze": "expand_dims",
    "view": "reshape",
}  # fmt: skip
"""PyTorch's name of a function or method -> TensorFlow's."""

OPTIONS = {"dim": "axis", "keepdim": "keepdims", "min": "clip_value_min", "max": "clip_value_max"}
"""PyTorch's name of an option -> TensorFlow's."""


def build(text: str, options: SourceOptions) -> StaticSource:
    """Return the static graph of an expression.

    Args:
        text: statements as for the dynamic graph; functions have PyTorch's names.
        options: values and roots are read.

    Raises:
        SourceError: it cannot be read, or uses what static graphs lack.
    """
    program, values = look_through(text, options)
    options = with_names(options, program)
    notes = [
        *unused(options, "static"),
        *notes_on_names(program, options),
    ]
    if len(options.roots) > 1:
        first, others = options.roots[0], ",".join(options.roots[1:])
        what = f"--root {others} not used: {first} is what is computed and differentiated; the graph is drawn whole"
        notes.append(Note(what, "warning"))
    source = StaticForm(program, options.roots).define(values)
    return replace(source, notes=(*notes_on_reading(program), *notes))


def look_through(text: str, options: SourceOptions) -> tuple[Program, dict[str, Value]]:
    """Return an expression that has passed the check, and the value of each name as the engine's tensor.

    Raises:
        SourceError: it cannot be read.
    """
    program = read_program(ExpressionText(text), options.values)
    return program, {name: value.detach() for name, value in make_leaves(program, options, Budget()).items()}


class StaticForm:
    """An expression that has passed the check, ready to define static graphs; reading and compiling it are done.

    What its pieces call are TensorFlow's functions. A piece that is assigned gives its operation the name.

    Args:
        program: the expression.
        roots: the names of the root; without any it is what the last statement comes to.

    Raises:
        SourceError: it uses what static graphs lack.
    """

    def __init__(self, program: Program, roots: Sequence[str] = ()) -> None:
        self.program, self.source = program, program.source
        self.names: dict[str, Any] = {}
        self.name_options: dict[ast.expr, dict[str, str]] = {}
        self.copies: dict[ast.expr, str] = {}
        last: str | None = None
        for statement in program.statements:
            last = None
            for target in getattr(statement, "targets", []):
                if not isinstance(target, ast.Name):
                    raise self.refusal(target, "a static graph's expression assigns one name at a time")
                last = last or target.id
                self.name_options[statement.value] = {"name": in_ascii(last)}
                if isinstance(statement.value, ast.Name):
                    self.copies[target] = last
        self.root = roots[0] if roots else last
        is_name = self.root in program.free or self.root in program.assigned
        self.forward = compile_program(
            program,
            {piece: self.find(word, piece) for piece, word in program.words.items()},
            self.assign,
            self.root if is_name else None,
        )

    def define(self, values: Mapping[str, Value]) -> StaticSource:
        """Return the graph, with placeholders for values of these shapes.

        Nothing else is done, so that it can be timed.

        Raises:
            SourceError: TensorFlow refuses a piece, or the root is not a tensor.
        """
        with Graph().as_default() as graph:
            names: dict[str, Any] = {
                name: tf.placeholder(str(value.dtype).removeprefix("torch."), tuple(value.shape), name=in_ascii(name))
                for name, value in values.items()
            }
            feeds = {names[name]: value.numpy() for name, value in values.items()}
            self.names = names
            try:
                root = self.forward(*names.values())
                if isinstance(root, list | tuple):
                    place, hint = self.program.statements[-1], "make one of it, as in stack([a, b]) or cat([a, b])"
                    raise SourceError("a list is not a tensor", place=self.source.place(place), hint=hint)
                title = self.root or next((name for name, value in names.items() if value is root), "")
                if not isinstance(root, Tensor):  # a number has a box only where it is what the graph is about
                    root = constant(root, name=in_ascii(title) if title else "Const")
            except ENGINE_ERRORS as error:
                raise engine_error(error, self.source) from None
        source = StaticSource(graph, names, root, feeds, title=title)
        return replace(source, root=named_root(source, self.root)) if self.root and self.root not in names else source

    def assign(self, piece: ast.expr, value: object) -> object:
        """Note what a name stands for; the copy of another name is an operation of its own."""
        if isinstance(piece, ast.Name):
            first = self.copies.get(piece)
            if first is not None and isinstance(value, Tensor):
                value = tf.identity(value, name=in_ascii(first)) if first == piece.id else self.names[first]
            self.names[piece.id] = value
        return value

    def find(self, word: str, piece: ast.expr) -> object:
        """Return what a piece calls, or the constant that it is."""
        options, name = self.name_options.get(piece, {}), word.lstrip(".")
        if isinstance(piece, ast.Call):
            if name not in FUNCTIONS:
                raise self.refusal(piece, f"{name} is not there in gviz's static graphs")
            return takes_number(word, partial(self._call, name, options))
        if isinstance(piece, ast.UnaryOp | ast.BinOp | ast.Compare) and word not in ("~", "&", "|", "<<", ">>"):
            compute = word if word in CHOSEN else find_callee(word, piece)
            return partial(self._operator, compute, options, piece)
        if word in (".T", ".mT"):
            return partial(tf.transpose, **options)
        if word in CONSTANTS:
            return CONSTANTS[word]
        form = f"{self.source.segment(piece)}: a static graph's expression has no such form"
        raise self.refusal(piece, f"{word} is not there in a static graph" if word in DTYPES else form)

    def refusal(self, node: ast.AST, what: str) -> SourceError:
        """Return an error with the place of what is wrong."""
        return SourceError(what, place=self.source.place(node), hint="gviz render draws it as autograd records it")

    def _operator(
        self, compute: Callable[..., Any] | str, options: dict[str, str], piece: ast.expr, *values: Any
    ) -> object:
        """Return the result of a sign: of numbers a number, else an operation; a number takes the tensor's dtype."""
        refuse_lists(values, self.program.parts[piece], self.source)
        if isinstance(compute, str):
            compute = OPERATORS[choose_sign(piece, self.program, *values)]
        is_tensor = [isinstance(value, Tensor) for value in values]
        if compute is operator.pow and not any(is_tensor):
            check_power("**", *values)
        if compute is operator.pos:
            return values[0]
        if not any(is_tensor) or not (options or compute in (operator.eq, operator.ne)):
            return compute(*values)
        function = operator.attrgetter(FUNCTIONS.get(compute.__name__, compute.__name__))(tf)
        if not options or all(is_tensor):
            return function(*values, **options)
        with tf.name_scope(options["name"]) as scope:  # as the sign's own operation has it: y/x, y
            dtype = values[is_tensor.index(True)].dtype.base_dtype
            both = zip(values, is_tensor, "xy", strict=True)
            return function(*(v if is_there else constant(v, dtype, name=n) for v, is_there, n in both), name=scope)

    def _call(self, name: str, name_option: dict[str, str], /, *args: Any, **kwargs: object) -> object:
        """Return the result of a function, or of a method as a function of its tensor."""
        kwargs = with_dim(name, args, kwargs)
        check_call(name, args, kwargs)
        typed_name, options = name, {OPTIONS.get(key, key): value for key, value in kwargs.items()}
        if name == "clamp" and len(args) + len(options) == 2:  # one bound
            name = "minimum" if "clip_value_max" in options else "maximum"
            args, options = (*args, *options.values()), {}
        elif name in {"max", "min"} and len(args) == 2 and isinstance(args[1], Tensor):
            name += "imum"
        word = FUNCTIONS[name]
        if word == "transpose":
            args = (args[0], *swap_axes(args[0].shape.rank, args[1:]))
        elif word == "reshape" and len(args) > 2:
            args = (args[0], args[1:])
        elif word in ("concat", "stack") and len(args) == 1 and "axis" not in options:
            options["axis"] = 0
        try:
            return operator.attrgetter(word)(tf)(*args, **options, name=name_option.get("name"))
        except TypeError as error:  # the function has another name there
            what = re.sub(r" and name, got (\d+) by.*", r" in a static graph, and got \1 arguments", str(error))
            raise TypeError(re.sub(r"^[\w.<>]+\(\)", f"{typed_name}()", what)) from None


def check_call(name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """Raise TypeError, with PyTorch's words, for arguments that PyTorch's function of that name has no place for.

    >>> check_call("abs", (1.0, 5), {})
    Traceback (most recent call last):
    TypeError: abs() takes 1 positional argument but 2 were given
    """

    def stand_in(value: object) -> Any:
        """Return an empty tensor for one without a value; static graphs take a number where PyTorch wants a tensor."""
        if isinstance(value, list | tuple):
            return type(value)(map(stand_in, value))
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        return engine.tensor(0) if is_number else engine.empty(()) if isinstance(value, Tensor) else value

    words = [word for word in (name, f".{name}", f"torch.{name}", f"F.{name}") if word in NAMES]
    arguments = stand_in(args), {key: stand_in(value) for key, value in kwargs.items()}
    if words and not any(form.bind(*arguments) for word in words for form in NAMES[word].forms):
        raise TypeError(NAMES[words[0]].refusal(*arguments))


def in_ascii(name: str) -> str:
    """Return a name as TensorFlow takes it.

    >>> in_ascii("λ1"), in_ascii("café"), in_ascii("_x")
    ('lamda1', 'cafe', 'x')
    """
    letters = (c for c in unicodedata.normalize("NFKD", name) if not unicodedata.combining(c))
    words = (c if c.isascii() else unicodedata.name(c, "x").rsplit(" ", 1)[-1].lower() for c in letters)
    return "".join(words).lstrip("_") or "x"


def swap_axes(rank: int | None, axes: Sequence[int]) -> list[list[int]]:
    """Return TensorFlow's argument for PyTorch's two dimensions that change places; none for ``t()``.

    >>> swap_axes(3, [0, -1]), swap_axes(2, [])
    ([[2, 1, 0]], [])
    """
    if rank is None or len(axes) != 2:
        return []
    one, other = (wrap_dim(axis, rank) for axis in axes)
    return [[{one: other, other: one}.get(axis, axis) for axis in range(rank)]]
