"""Values of an expression's names, as people type them: ``x=2``, ``W=[[1,2],[3,4]]``, ``x=ones(3,3)``.

A value is a leaf of the graph: a tensor of its own, float32 unless another dtype is asked for, that requires gradients
unless it is frozen. A number has no dimensions; ``[2]`` has one element.
"""

from __future__ import annotations

import ast
from keyword import iskeyword
from typing import TYPE_CHECKING, Any

from gviz.errors import SourceError
from gviz.sources.expression_check import check
from gviz.sources.expression_limits import Budget, is_tensor
from gviz.sources.expression_names import parts_of
from gviz.sources.expression_parse import MAX_VALUE_CHARACTERS, Source, parse
from gviz.sources.expression_run import ENGINE_ERRORS, Runner, engine_error
from gviz.sources.names import did_you_mean, shown

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

__all__ = ["find_dtype", "make_value", "normalized", "split_value", "split_values"]

FLOATING = ("float32", "float64", "float16", "bfloat16")
"""Dtypes that have gradients."""

_DTYPE_NAMES = {
    "float": "float32",
    "single": "float32",
    "double": "float64",
    "half": "float16",
    "f32": "float32",
    "f64": "float64",
}


def split_values(texts: Iterable[str]) -> dict[str, str]:
    """The values of a command line, ``["x=2", "w=1.5"]``, by name and in order.

    Raises:
        SourceError: one is no ``NAME=VALUE``, or a name comes twice.

    >>> split_values(["x=2", "W=[[1,2],[3,4]]"])
    {'x': '2', 'W': '[[1,2],[3,4]]'}
    """
    found: dict[str, str] = {}
    for text in texts:
        name, value = split_value(text)
        if name in found:
            place = Source(text).place_at(1, 0, len(name))
            raise SourceError(
                f"{name} has a value twice: {shown(found[name])} and {shown(value)}", place=place, hint="leave one out"
            )
        found[name] = value
    return found


def split_value(text: str) -> tuple[str, str]:
    """Name and value of ``x=2``.

    Raises:
        SourceError: it is no ``NAME=VALUE``.

    >>> split_value("x = [1, 2]")
    ('x', '[1, 2]')
    """
    source = Source(text)
    left, equals, right = text.partition("=")
    if not equals:
        hint = "write NAME=VALUE, as in x=2; an expression has to be in quotes, so that the shell passes it as one"
        raise SourceError("this is no value of a name", place=source.place_at(1, 0, len(text)), hint=hint)
    if not left.strip():
        raise SourceError("there is no name before =", place=source.place_at(1, 0), hint="write NAME=VALUE, as in x=2")
    if right.startswith("="):
        raise SourceError("== compares", place=source.place_at(1, len(left), 2), hint=f"write {left.strip()}={right[1:]}")
    if not right.strip():
        raise SourceError(
            "there is no value after =", place=source.place_at(1, len(left)), hint=f"write a number, as in {left.strip()}=2"
        )
    name = normalized(left.strip(), source)
    return name, right.strip()


def normalized(name: str, source: Source | None = None) -> str:
    """The name as Python reads it (NFKC), so that full-width or composed letters name the same value.

    Raises:
        SourceError: it is no name.

    >>> normalized("\N{FULLWIDTH LATIN SMALL LETTER X}")
    'x'
    """
    if name.isascii() and name.isidentifier() and not iskeyword(name):
        return name
    from unicodedata import normalize  # only names beyond ASCII need it

    plain = normalize("NFKC", name)
    if plain.isidentifier() and not iskeyword(plain):
        return plain
    place = (source or Source(name)).place_at(1, 0, len(name))
    if iskeyword(plain):
        hint = "call it lam" if plain == "lambda" else f"choose another name, such as {plain}_"
        raise SourceError(f"{plain} is a word of Python's own and cannot be a name", place=place, hint=hint)
    raise SourceError(
        f"{shown(name)} is no name", place=place, hint="a name has letters, digits and _, and begins with no digit"
    )


def find_dtype(engine: Any, name: str | None) -> Any:
    """The engine's dtype of that name, float32 for None; SourceError for another name, or one without gradients."""
    plain = (name or "float32").removeprefix("torch.")
    plain = _DTYPE_NAMES.get(plain, plain)
    if plain in FLOATING and getattr(engine, plain, None) is not None:
        return getattr(engine, plain)
    there = [dtype for dtype in FLOATING if getattr(engine, dtype, None) is not None]
    hint = did_you_mean(plain, there, f"there are {', '.join(there)}")
    if plain.startswith(("int", "uint", "bool", "complex")):
        raise SourceError(f"values of dtype {plain} have no gradients", hint=f"there are {', '.join(there)}")
    raise SourceError(f"there is no dtype {shown(name or '')}", hint=hint)


def make_value(
    engine: Any, name: str, text: str, dtype: Any, *, requires_grad: bool = True, budget: Budget | None = None
) -> Any:
    """The leaf tensor for a value.

    Args:
        engine: the engine's module.
        name: shown in front of the value in errors; an option such as ``--grad-output `` ends in a space.
        text: the value as typed.
        dtype: of the tensor.
        requires_grad: whether gradients are to flow to it.
        budget: how much may be computed.

    Raises:
        SourceError: no value, or one that is too large.
    """
    source = Source(text, prefix=name if name.endswith(" ") else f"{name}=")
    node = _expression(source)
    value = Runner(engine, source, {}, (), budget=budget or Budget()).run(node).value
    try:
        return _leaf(engine, _numbers(value, source, node), dtype, requires_grad=requires_grad)
    except ENGINE_ERRORS as error:
        raise engine_error(error, source, node) from error


def _expression(source: Source) -> ast.expr:
    """The one expression that a value is."""
    statements = parse(source, MAX_VALUE_CHARACTERS)
    if not statements:
        raise SourceError("there is no value", place=source.place_at(1, 0), hint="write a number, as in x=2")
    program = check(statements, source)
    first = program.statements[0]
    if not isinstance(first, ast.Expr):
        raise SourceError("a value is no assignment", place=source.place(first), hint="write one value, as in x=2")
    if len(program.statements) > 1:
        raise SourceError("a value is one expression", place=source.place(program.statements[1]), hint="leave the rest out")
    node = first.value
    if program.free:
        raise _no_value(source, node, program.free[0])
    if isinstance(node, ast.Tuple) and source.segment(node)[:1] not in ("(", ""):
        parts = [source.segment(part) for part in node.elts]
        hint = (
            f"write {'.'.join(parts)} for a number, [{', '.join(parts)}] for several"
            if len(parts) == 2
            else "write brackets around several numbers, as in [1, 2]"
        )
        raise SourceError("a comma makes several values", place=source.place(node), hint=hint)
    return node


def _no_value(source: Source, root: ast.expr, name: str) -> SourceError:
    """The error for a name in a value."""
    node = next(node for node in ast.walk(root) if isinstance(node, ast.Name) and node.id == name)
    hint = "write a number (2, -1, 1e-3, 1/3), a list ([[1,2],[3,4]]), or ones(3,3), arange(6).reshape(2,3) and the like"
    return SourceError(f"{name} is no value", place=source.place(node), hint=hint)


def _leaf(engine: Any, value: Any, dtype: Any, *, requires_grad: bool) -> Any:
    """A tensor of its own with the value's numbers."""
    if not is_tensor(value):
        return engine.tensor(value, dtype=dtype, requires_grad=requires_grad)
    # A result of reshape would be a view, with a base in the picture: its numbers are what was asked for.
    leaf = value.detach().to(dtype).clone()
    return leaf.requires_grad_() if requires_grad else leaf


def _numbers(value: Any, source: Source, node: ast.expr) -> Any:
    """The value, if it is a tensor, a number, or a list of numbers."""
    if is_tensor(value) or isinstance(value, int | float):
        return value
    if not isinstance(value, list | tuple):
        what = f"{shown(source.segment(node))} is no value"
        raise SourceError(what, place=source.place(node), hint="write a number or a list of numbers")
    tensors = parts_of(value, source.segment(node))
    if tensors:
        written = isinstance(node, ast.List | ast.Tuple)
        hint = "join them: stack([...]) or cat([...])" if written else f"take one of them: {tensors[0][1]}"
        raise SourceError("several tensors are no value", place=source.place(node), hint=hint)
    _check_rows(value, source, node)
    return value


def _check_rows(value: list[Any] | tuple[Any, ...], source: Source, node: ast.expr) -> None:
    """Refuse rows of different lengths, numbers beside rows, and what is neither; level by level."""
    level: list[tuple[Any, ast.expr]] = [(value, node)]
    while level and isinstance(level[0][0], list | tuple):
        length = len(level[0][0])
        for row, place in level:
            if not isinstance(row, list | tuple):
                raise SourceError(
                    "a number stands beside a list",
                    place=source.place(place),
                    hint="all rows need the same length, as in [[1,2],[3,4]]",
                )
            if len(row) != length:
                what = f"this row has {len(row)} element{'s' * (len(row) != 1)}, the first one {length}"
                raise SourceError(what, place=source.place(place), hint="all rows need the same length, as in [[1,2],[3,4]]")
        level = [(part, _part(place, number)) for row, place in level for number, part in enumerate(row)]
    for part, place in level:
        if isinstance(part, list | tuple):
            raise SourceError(
                "a list stands beside a number",
                place=source.place(place),
                hint="all rows need the same length, as in [[1,2],[3,4]]",
            )
        if not isinstance(part, int | float):
            raise SourceError(
                f"{shown(source.segment(place))} is no number",
                place=source.place(place),
                hint="a list has numbers only, as in [1, 2]",
            )


def _part(node: ast.expr, number: int) -> ast.expr:
    """The syntax of a row's part, or the row itself where it was not written as a list."""
    return node.elts[number] if isinstance(node, ast.List | ast.Tuple) else node


def unused_text(name: str, values: Mapping[str, str], used: Iterable[str]) -> str:
    """What to say of a value that the expression does not use."""
    hint = did_you_mean(name, [other for other in used if other not in values])
    return f"{name}={shown(values[name])} is not used: the expression has no {name}" + (f"; {hint}" if hint else "")
