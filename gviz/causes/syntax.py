"""The text of a program as syntax: its statements, copies of them in which some expressions are others, its calls.

What takes a tensor of the graph where a program writes a number is told by gviz's own table of PyTorch's functions.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from importlib import import_module
from typing import Any, TypeAlias

from gviz.signatures.forms import ALIASES, CallForm
from gviz.signatures.names import NAMES

LONGEST = 20
"""Lines of a statement that is shown as a mend: a longer one is data."""

Change: TypeAlias = "Callable[[ast.AST, ast.expr], ast.AST]"
"""What becomes of a node: of the node as it was, and of a copy of it whose parts have been changed already."""

SPACES = {
    "torch": "torch", "torch.Tensor": "", "F": "F", "nn.functional": "F", "torch.nn.functional": "F",
    "torch.linalg": "linalg", "torch.special": "special",
}  # fmt: skip
"""Modules of PyTorch as programs write them, by the name of each in the table."""

OF_NUMBERS = {"math", "nn", "np", "numpy", "torch", "torch.nn"}
"""Modules whose functions take no tensor of the graph, or lose the graph, if the table has none of that name."""

NUMPY_CALLS = ("np.", "numpy.")
"""How calls of numpy begin."""

COPIERS = {"deepcopy", "dumps"}
"""Functions, often imported by name, that lose the graph or refuse it."""

ANYTHING = {
    "abs", "dict", "enumerate", "filter", "float", "getattr", "iter", "list", "max", "min", "next", "pow", "reversed",
    "set", "setattr", "sorted", "sum", "tuple", "type", "zip",
}  # fmt: skip
"""Python's own functions that take a tensor as they take a number, and give what has its graph."""


@lru_cache(maxsize=1024)  # whoever asks again is to get the same statements: they are keys
def parsed(program: str) -> ast.Module:
    """Return the syntax of a program, the same at each call, nobody being to change it."""
    return parse(program)


def parse(text: str) -> ast.Module:
    """Return the syntax of a text; that of an empty program if it cannot be read."""
    try:
        return ast.parse(text)
    except (SyntaxError, ValueError, RecursionError):
        return ast.Module([], [])


def statements(line: str) -> list[ast.stmt]:
    """Return the simple statements of a line, with those of a body that stands on the same line as its head.

    Nothing for a part of a statement, such as the head of a loop.

    >>> [ast.unparse(one) for one in statements("def f(x): h = x * 2; return h")], statements("for i in range(3):")
    (['h = x * 2', 'return h'], [])
    """
    parts, todo = list[ast.stmt](), parse(line.strip()).body[::-1]
    while todo:
        node = todo.pop()
        inner = [*getattr(node, "body", ()), *getattr(node, "orelse", ())]
        todo += inner[::-1]
        is_part = isinstance(node, ast.Expr) and not isinstance(node.value, ast.Call)  # of what begins on another line
        parts += [] if inner or is_part else [node]
    return parts


@lru_cache(maxsize=4)
def spans_of_statements(program: str) -> tuple[tuple[int, int, ast.stmt], ...]:
    """Return the statements of a program, the outer ones first, each with its first line, decorators too, and its last."""
    parts = [one for one in ast.walk(parsed(program)) if isinstance(one, ast.stmt)]
    first = {one: min([one.lineno, *(above.lineno for above in getattr(one, "decorator_list", ()))]) for one in parts}
    return tuple((first[one], one.end_lineno or one.lineno, one) for one in parts)


def statements_at(program: str, number: int) -> list[ast.stmt]:
    """Return the statements of a program that a line is in, the outermost first."""
    return [one for first, last, one in spans_of_statements(program) if first <= number <= last]


def whole_statement(program: str, number: int) -> str:
    r"""Return the simple statement of several lines that a line of a program belongs to; "" if that stands on one line.

    >>> whole_statement("h = f(\n    w,\n)\ny = h", 2), whole_statement("h = f(w)", 1)
    ('h = f(w)', '')
    """
    own = [one for one in statements_at(program, number) if not hasattr(one, "body")]
    return ast.unparse(own[0]) if len(own) == 1 and 0 < (own[0].end_lineno or 0) - own[0].lineno <= LONGEST else ""


def expression_at(program: str, span: Sequence[int]) -> tuple[ast.stmt, ast.expr] | None:
    """Return the expression at a place of a program, with its statement; None if there is none, or it is in a head.

    >>> ast.unparse(expression_at("y = x.detach() * 2", (1, 4, 1, 14))[1])
    'x.detach()'
    """
    return next(
        (
            (one, part)
            for one in statements_at(program, span[0])
            if not hasattr(one, "body")
            for part in ast.walk(one)
            if isinstance(part, ast.expr) and is_at(part, span)
        ),
        None,
    )


def is_at(node: ast.AST, span: Sequence[int]) -> bool:
    """Return whether an expression is written at a place; of a method on a line of its own, where the call ends."""
    place = tuple(getattr(node, name, 0) for name in ("lineno", "col_offset", "end_lineno", "end_col_offset"))
    is_same_end = isinstance(node, ast.Call | ast.Attribute) and place[2:] == (*span[2:],) and place[0] < span[0]
    return place == (*span,) or is_same_end


def last_name(node: ast.AST) -> str:
    """Return the last part of a name, be it that of a call: of ``self.loss`` and ``self.loss(y)`` it is ``loss``."""
    name = node.func if isinstance(node, ast.Call) else node
    return str(getattr(name, "attr", getattr(name, "id", "")))


def is_stored(node: ast.AST) -> bool:
    """Return whether a name is assigned where it stands."""
    return isinstance(getattr(node, "ctx", None), ast.Store)


def names_within(target: ast.AST) -> list[ast.expr]:
    """Return the names, attributes and items that a target assigns to, as ``out, (h, *c)`` does.

    >>> [ast.unparse(one) for one in names_within(ast.parse("out, (self.h, c[0], *d) = f(h)").body[0].targets[0])]
    ['out', 'self.h', 'c[0]', 'd']
    """
    return [
        one for one in ast.walk(target) if is_stored(one) and isinstance(one, ast.Name | ast.Attribute | ast.Subscript)
    ]


def calls_of(node: ast.AST, *names: str) -> Iterator[ast.Call]:
    """Yield the calls within a statement or an expression of functions, or methods, of these names."""
    yield from (one for one in ast.walk(node) if isinstance(one, ast.Call) and last_name(one) in names)


def has(node: ast.AST, test: Callable[[ast.AST], bool]) -> bool:
    """Return whether a node, or one within it, passes a test."""
    return any(map(test, ast.walk(node)))


def rebuilt(part: object, change: Change) -> Any:
    """Return a copy of a statement or an expression in which each node, the inner ones first, is what becomes of it."""
    if isinstance(part, list):
        return [rebuilt(one, change) for one in part]
    if not isinstance(part, ast.AST):
        return part
    copy: Any = type(part)(**{name: rebuilt(value, change) for name, value in ast.iter_fields(part)})
    return change(part, ast.copy_location(copy, part))


# ---------------------------------------------------------------- calls
def forms_of(function: ast.expr) -> list[CallForm]:
    """Return the forms of the calls of a function of torch, or of a method of tensors; [] if the table has none.

    >>> [len(forms_of(ast.parse(one, mode="eval").body)) for one in ("y.mul", "y.fill", "torch.relu", "F.zero")]
    [1, 0, 1, 0]
    """
    import_module("gviz.engine.nn.functional")  # which fills the table, the engine being below it
    name, space = last_name(function), SPACES.get(ast.unparse(function).rpartition(".")[0], "")
    return next((NAMES[key].forms for key in (f"{space}.{name}", name) if key in NAMES), [])


def operands_of_call(call: ast.Call) -> list[ast.expr]:
    """Return what a function of torch is called with, a method of tensors with its owner first; without keywords.

    >>> calls = [ast.parse(one, mode="eval").body for one in ("torch.exp(x)", "x.pow(2)")]
    >>> [[*map(ast.unparse, operands_of_call(call))] for call in calls]
    [['x'], ['x', '2']]
    """
    owner = getattr(call.func, "value", None)
    return [*([] if owner is None or ast.unparse(owner) in SPACES else [owner]), *call.args]


def parts_of_sum(value: ast.AST | None) -> list[ast.AST]:
    """Return a value with what is added, multiplied and the like in it, and no part of a call or of a list.

    >>> [[*map(ast.unparse, parts_of_sum(parse(one).body[0].value))] for one in ("a - b.item() * 2", "[a + b]")]
    [['a - b.item() * 2', 'a', 'b.item() * 2', 'b.item()', '2'], ['[a + b]']]
    """
    sides = [getattr(value, name, None) for name in ("left", "right", "operand")]
    return [value, *(part for side in sides for part in parts_of_sum(side))] if value is not None else []


def takes_tensor(call: ast.Call, argument: ast.AST) -> bool:
    """Return whether a call takes a tensor of the graph for one of its arguments; True for a function of the program.

    >>> texts = "torch.clamp(x, p)", "torch.full(x, p)", "range(p)", "x.norm(p)", "self.norm(p)"
    >>> calls = [ast.parse(one, mode="eval").body for one in texts]
    >>> [takes_tensor(call, call.args[-1]) for call in calls]
    [True, False, False, False, True]
    """
    name, owner = last_name(call), ast.unparse(getattr(call.func, "value", ast.Name("")))  # of nn.ReLU()(x) it is ""
    if name == "map":
        return takes_tensor(ast.Call(call.args[0], [argument], []), argument)  # type: ignore[list-item]
    if owner == "":
        return name in ANYTHING or not (hasattr(builtins, name) or name in COPIERS)
    forms = forms_of(call.func)
    if not forms or isinstance(argument, ast.Starred) or owner == "self":  # whose norm() is a layer, and no tensor's
        return owner not in OF_NUMBERS and name not in COPIERS
    place = call.args.index(argument) + (owner not in SPACES) if argument in call.args else None
    word = (argument.arg or "") if isinstance(argument, ast.keyword) else ""
    for form in forms:
        many = form.parameters[1 if form.parameters[0].type == "str" else 0].name in ("tensors", "operands")
        is_taken = any(
            one.type in ("Tensor", "Tensors", "Operand", "Any")
            for at, one in enumerate(form.parameters)
            if at == place or one.name == ALIASES.get(word, word)
        )
        if many or (is_taken and len(call.args) <= form.places):
            return True
    return False


def obstacle(statement: ast.AST, is_inside: Callable[[ast.AST], bool]) -> str:
    """Return the first thing that a part of a statement comes to and no gradient goes through; "" for nothing.

    >>> line = ast.parse("y = x[:int(p)] + torch.full((2,), p)")
    >>> obstacle(line, lambda node: last_name(node) == "p")
    'int()'
    """
    for node in reversed([*ast.walk(statement)]):  # the inner ones first
        match node:
            case ast.Call(function, arguments, words):
                if any(has(one, is_inside) and not takes_tensor(node, one) for one in (*arguments, *words)):
                    return f"{ast.unparse(function)}()"
            case ast.Subscript(_, index) if has(index, is_inside):
                return "an index"
            case ast.Compare() if has(node, is_inside):
                return "a comparison"
    return ""
