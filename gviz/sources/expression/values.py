"""Values of an expression's names, as people type them: ``x=2``, ``W=[[1,2],[3,4]]``, ``x=ones(3,3)``.

A value is a leaf of the graph: a tensor of its own, float32 unless another dtype is asked for, that requires gradients
unless it is frozen. A number has no dimensions; ``[2]`` has one element.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Collection
from keyword import iskeyword
from typing import Any

from gviz import engine
from gviz.engine import Tensor
from gviz.errors import SourceError
from gviz.options import SourceOptions
from gviz.sources.expression.limits import Budget, flat_values
from gviz.sources.expression.naming import tensors_of
from gviz.sources.expression.parse import MAX_VALUE_CHARACTERS, read_program
from gviz.sources.expression.program import ExpressionText, Program
from gviz.sources.expression.run import ENGINE_ERRORS, engine_error, run_program
from gviz.sources.notes import short_text
from gviz.text import did_you_mean, excerpt

NUMBER = re.compile(r"[-+]?(0|[1-9][0-9]{0,14})(\.[0-9]{0,15})?")
"""A value that need not be read as an expression."""

DECIMAL = re.compile(r"\s*([-+]?\d+),(\d+)\s*")
"""A number with a comma, of decimals or of thousands."""

CELL = re.compile(r"[-+]?(?:(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?|inf|nan)")
"""A number in a table of numbers."""

NEXT = re.compile(r"\s*[,;]\s*(?=[^\W\d]\w*\s*=(?!=))")
"""What stands between two values that were typed as one, as in ``x=2,w=3``."""

INTEGERS = re.compile(r"(dtype *= *(torch\.)?(u?int\d+|long|int|short|bool) *\)|\.(long|int|short|bool)\(\)) *$")
"""The end of a value that asks for whole numbers, as those of classes are; without it arange(3) is one of real ones."""

FLOATING = ("float32", "float64", "float16", "bfloat16")
"""Dtypes that have gradients."""

OTHER_DTYPES = {
    "float": "float32", "single": "float32", "double": "float64", "half": "float16", "f32": "float32", "f64": "float64",
    "bf16": "bfloat16",
}  # fmt: skip
"""Other names of theirs."""


def normalize_name(name: str) -> str:
    """Return the name as Python reads it (NFKC), so that full-width or composed letters name the same value.

    Raises:
        SourceError: it is not a name.

    >>> normalize_name("\N{FULLWIDTH LATIN SMALL LETTER X}")
    'x'
    """
    if name.isascii() and name.isidentifier() and not iskeyword(name):
        return name
    from unicodedata import normalize  # only names beyond ASCII need it

    plain = normalize("NFKC", name)
    if plain.isidentifier() and not iskeyword(plain):
        return plain
    place = ExpressionText(name).place_at(1, 0, len(name))
    if iskeyword(plain):
        raise SourceError(
            f"{plain} is a word of Python's own and cannot be a name",
            place=place,
            hint="call it lam" if plain == "lambda" else f"choose another name, such as {plain}_",
        )
    raise SourceError(
        f"{excerpt(name)} is not a name", place=place, hint="a name has letters, digits and _, and begins with no digit"
    )


def find_dtype(name: str | None) -> Any:
    """Return the engine's dtype of that name, float32 for None; SourceError for none, or one without gradients."""
    plain = (name or "float32").removeprefix("torch.")
    plain = OTHER_DTYPES.get(plain, plain)
    if plain in FLOATING:
        return getattr(engine, plain)
    there = f"there are {', '.join(FLOATING)}"
    if plain.startswith("complex"):
        raise SourceError("complex numbers are not possible in an expression", hint=there)
    if plain.startswith(("int", "uint", "bool")):
        raise SourceError(f"values of dtype {plain} have no gradients", hint=there)
    raise SourceError(f"there is no dtype {excerpt(name or '')}", hint=did_you_mean(plain, FLOATING, there))


def make_leaves(
    program: Program, options: SourceOptions, budget: Budget, classes: Collection[str] = ()
) -> dict[str, Tensor]:
    """Return the value of each name that needs one, 1.0 if none is given; values that are not needed are read too.

    Those of ``classes`` are integers. What is read as another thing than what was typed is added to the program's
    ``readings``.
    """
    dtype = find_dtype(options.dtype)
    what = "the number of a class, or of a row: an integer, which has no gradient"
    program.readings += [f"{name}={short_text(options.values[name])}, {what}" for name in classes]
    leaves = {
        name: make_value(
            name,
            options.values.get(name, "1.0"),
            engine.int64 if name in classes else dtype,
            requires_grad=name not in options.frozen,
            budget=budget,
            readings=program.readings,
        )
        for name in dict.fromkeys([*program.free, *options.values])
    }
    return {name: leaves[name] for name in program.free}


def make_value(
    name: str,
    text: Any,
    dtype: object,
    *,
    requires_grad: bool = True,
    budget: Budget | None = None,
    readings: list[str] | None = None,
) -> Tensor:
    """Return the leaf tensor for a value.

    Args:
        name: shown in front of the value in errors; an option such as ``--grad-output `` ends in a space.
        text: the value as typed; or an array, or a tensor.
        dtype: of the tensor.
        requires_grad: whether gradients are to flow to it.
        budget: how much may be computed.
        readings: what a value is added to that is read as another text.

    Raises:
        SourceError: no value, or one that is too large.
    """
    if not isinstance(text, str):  # an array, or a tensor of whichever library
        leaf: Tensor = engine.tensor(text.tolist(), dtype=dtype).reshape(tuple(text.shape)).clone()
    elif NUMBER.fullmatch(text):
        leaf = engine.tensor(float(text), dtype=dtype)
    else:
        prefix = name if name.endswith(" ") else f"{name}="
        leaf = _computed(ExpressionText(text, prefix), dtype, budget or Budget(), [] if readings is None else readings)
    leaf.requires_grad_(requires_grad and leaf.is_floating_point())
    return leaf


def as_rows(text: str) -> str | None:
    r"""Return numbers that spaces and semicolons separate, as numpy and MATLAB write them, as lists; None for no such.

    >>> as_rows("[1 2]"), as_rows("1 2; 3 4"), as_rows("[[1. 2.]\n [3. 4.]]"), as_rows("2.0f"), as_rows("x y")
    ('[1, 2]', '[[1, 2], [3, 4]]', '[[1., 2.], [3., 4.]]', '2.0', None)
    """
    plain = re.sub(r"(?<=\d)f\b|(?<=\d\.)f\b", "", " ".join(text.split()))
    is_flat = plain.count("[") == plain.count("]") < 2
    rows = [row.strip() for row in (plain.strip("[] ") if is_flat else plain).strip("; ").split(";")]
    rows = [re.sub(r"(?<=[\d.\]nf]) +(?=[-+.\d\[ni])", ", ", row) for row in rows]
    cells = [cell.strip() for cell in re.split(r"[\[\],]+", ",".join(rows))]
    if not any(cells) or not all(CELL.fullmatch(cell) for cell in cells if cell):
        return None
    if len(rows) > 1:
        return f"[{', '.join(f'[{row}]' for row in rows)}]" if is_flat else None
    return f"[{rows[0]}]" if is_flat and ("[" in plain or len(cells) > 1) else rows[0]


def _read_value(source: ExpressionText) -> tuple[ExpressionText, Program, str]:
    """Return the program of a value, its source, and what was read if that is not what was typed."""
    rows = None
    try:
        program = read_program(source, limit=MAX_VALUE_CHARACTERS)
    except SourceError:
        rows = as_rows(source.code)
        if rows is None:
            raise
    else:
        rows = as_rows(source.code) if len(program.statements) > 1 else None
        if rows is None:
            return source, program, program.reading()
    source = ExpressionText(rows, source.prefix)
    return source, read_program(source, limit=MAX_VALUE_CHARACTERS), rows


def _computed(source: ExpressionText, dtype: object, budget: Budget, readings: list[str]) -> Any:
    """Return the tensor for a value that is an expression."""
    if not source.code.partition("#")[0].strip():
        raise SourceError("there is no value", place=source.place_at(1, 0), hint="write a number, as in x=2")
    for end in NEXT.finditer(source.code):
        if all(len(set(map(source.code[: end.start()].count, pair))) == 1 for pair in ("()", "[]")):  # no dtype=float64
            raise SourceError(
                "a value is one expression",
                place=source.place_of(end.end()),
                hint="write a blank between two values, and no other sign, as in x=2 w=3",
            )
    source, program, formula = _read_value(source)
    readings += [f"{source.prefix}{formula}"] if formula else []
    first, *rest = program.statements
    if rest or not isinstance(first, ast.Expr):
        raise SourceError(
            "a value is one expression", place=source.place([first, *rest][-1]), hint="write one value, as in x=2"
        )
    for name, place in program.free.items():
        raise SourceError(
            f"{name} is not a value",
            place=source.place(place),
            hint="write a number (2, -1, 1e-3, 1/3), a list ([[1,2],[3,4]]), "
            "or ones(3,3), arange(6).reshape(2,3) and the like",
        )
    if isinstance(first.value, ast.Tuple) and source.segment(first)[:1] not in ("(", ""):
        parts = [source.segment(part) for part in first.value.elts]
        hint = f"write brackets around several: [{', '.join(parts)}]"
        if (number := DECIMAL.fullmatch(source.code)) is not None:  # 1,000 may be a thousand
            whole = f"{number[1]}{number[2]} or " if len(number[2]) == len("000") else ""
            hint = f"write {whole}{number[1]}.{number[2]} for a number, [{', '.join(parts)}] for several"
        raise SourceError("a comma makes several values", place=source.place(first), hint=hint)
    value = run_program(program, (), budget, lambda _, value: value)
    _check_numbers(value, source, first.value)
    try:
        # A result of reshape would be a view, with a base in the picture: its numbers are what was asked for.
        if not isinstance(value, Tensor):
            return engine.tensor(value, dtype=dtype)
        return value.detach().to(value.dtype if INTEGERS.search(source.code) else dtype).clone()
    except ENGINE_ERRORS as error:
        raise engine_error(error, source, _uneven(first.value)) from error


def _check_numbers(value: object, source: ExpressionText, node: ast.expr) -> None:
    """Refuse what is neither a tensor, nor a number, nor a list of numbers."""
    place = source.place(node)
    if isinstance(value, list | tuple):
        tensors = tensors_of(value, source.segment(node))
        if tensors:
            is_list = isinstance(node, ast.List | ast.Tuple)
            raise SourceError(
                "several tensors are not one value",
                place=place,
                hint="join them: stack([...]) or cat([...])" if is_list else f"take one of them: {tensors[0][1]}",
            )
    if not isinstance(value, Tensor) and not all(isinstance(part, int | float) for part in flat_values([value])):
        raise SourceError(
            f"{excerpt(source.segment(node))} is not a value",
            place=place,
            hint="write a number or a list of numbers, as in [[1,2],[3,4]]",
        )


def _uneven(node: ast.expr) -> ast.expr:
    """Return the first row of another length than the first beside it; the whole list if there is none."""
    rows = [part for part in ast.walk(node) if isinstance(part, ast.List | ast.Tuple)]
    sizes: dict[ast.expr, int] = {row: len(row.elts) for row in rows}
    return next((part for row in rows for part in row.elts if sizes.get(part) != sizes.get(row.elts[0])), node)
