"""Suggestions: an expression in place of what cannot be read, if that is certain to work."""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Iterable
from itertools import count
from unicodedata import normalize

from gviz.errors import SourceError
from gviz.sources.expression.allowed import CONSTANTS, OTHER_NAMES, functions, word_set
from gviz.sources.expression.characters import replacement
from gviz.sources.expression.mathematics import Doubt, read_mathematics
from gviz.sources.expression.products import as_calls, as_product
from gviz.sources.expression.program import ExpressionText, Program, RefusedError
from gviz.sources.expression.rewriting import rewrite

MAX_SUGGESTED = 200
"""Characters of an expression that a hint repeats."""

_APART = re.compile(
    r"[;\n]|,(?=\s*[^\W\d]\w*\s*=(?!=))|:(?=\s)|\b(?:and|at|for|given|let|where|with)\b(?=\s*[^\W\d]\w*\s*=(?!=))"
    r"|(?<=\d)\s+in\b"
)
_VALUE = re.compile(r"([^\W\d]\w*) *= *([-−+]?[\d.]+(?:[eE][-+]?\d+)?|\[[\[\]\d.,eE+\-\s]+\])")


NO_NAMES = word_set("by divided of print than the to")
"""Words that stand for nothing in a formula."""


def suggestion(source: ExpressionText, but: str = "", names: Iterable[str] = ()) -> str | None:
    """Return the hint with the source as it should be written, None if gviz could not read that either.

    Args:
        source: what was typed.
        but: a function's name that stands for a value.
        names: names that are known beside those with a value.

    >>> from gviz.sources.expression.program import ExpressionText
    >>> suggestion(ExpressionText("y=2x")), suggestion(ExpressionText("y=2*("))
    ('write y=2*x', None)
    """
    code, text = (
        source.code.strip(),
        rewrite(source.code, functions() - {but}, {**dict.fromkeys(names), **source.values}),
    )
    text = text if ";" in code or "\n" in code else makers_first(text)
    is_whole = code[-1:] not in "([{"  # else what follows is not known
    is_fit = is_whole and text != code and len(text) <= MAX_SUGGESTED and text.isprintable()
    if not is_fit or not is_right(text, source):
        return None
    operands = re.findall(r"(?<![\w.])([^\W\d]\w*)(?=(?:\.T)? @)|@ ([^\W\d]\w*)(?![\w(])", text)
    known_names = {*source.values, *re.findall(r"([^\W\d]\w*) *=(?!=)", text)}
    missing = [name for name in dict.fromkeys(one or other for one, other in operands) if name not in known_names]
    return f"write {source.prefix}{text}{' and give ' if missing else ''}{example_values(missing)}"


def makers_first(text: str) -> str:
    """Return statements, each behind those that make what it is made from, as lectures write them the other way round.

    >>> makers_first("L = (p-t)**2; p = w*x"), makers_first("x = y; y = x"), makers_first("a = x*2; y = a + 1")
    ('p = w*x; L = (p-t)**2', 'x = y; y = x', 'a = x*2; y = a + 1')
    """
    todo, done = [part.strip() for part in text.split(";")], list[str]()
    while todo:
        names = {one: one.partition("=")[0].strip() for one in todo}
        uses = {one: {*re.findall(r"\w+", one.partition("=")[2])} - {names[one]} for one in todo}
        free = [one for one in todo if uses[one].isdisjoint(names.values())] or todo  # else each waits for another
        done.append(free[0])
        todo.remove(free[0])
    return "; ".join(done)


def _computes(piece: ast.AST) -> bool:
    """Return whether a piece of syntax comes to something: no ``abs()`` of nothing, no ``()``, no ``[1, 2]*x``."""
    match piece:
        case ast.Tuple(elts=[]) | ast.Call(func=ast.Name(), args=[], keywords=[]):
            return False
        case ast.Assign(value=ast.List() | ast.Tuple()) | ast.Expr(value=ast.List() | ast.Tuple()):
            return False
        case ast.BinOp(left=ast.List() | ast.Tuple()) | ast.BinOp(right=ast.List() | ast.Tuple()):
            return False
        case ast.BinOp(op=ast.BitOr(), left=ast.Name() | ast.Constant()):  # P(x|w)
            return False
    return True


def values_apart(source: ExpressionText) -> tuple[str, int] | None:
    """Return the hint with the values of ``y=x² where x=3`` behind the formula, and where the first is; None for none.

    >>> values_apart(ExpressionText("f(x)=x², x=3")), values_apart(ExpressionText("x₁=2; y=3x₁"))
    (('write it behind: gviz render "f=x**2" x=3', 9), ('write it behind: gviz render "y=3*x_1" x_1=2', 0))
    """
    parts = [part.strip(" ,;\n") for part in _APART.split(source.code) if part.strip(" ,;\n")]
    plain = ["".join(sign if sign.isidentifier() else replacement(sign) or sign for sign in part) for part in parts]
    values = [match for part in plain if (match := _VALUE.fullmatch(part))]
    formulas = [part for part, text in zip(parts, plain, strict=True) if not _VALUE.fullmatch(text)]
    text = re.sub(r"^([^\W\d]\w*) *\([\w, ]+\) *=(?!=)", r"\1=", "; ".join(formulas))  # f(x)=...
    text = makers_first(rewrite(text, values={match[1]: match[2] for match in values} | {**source.values}))
    words = re.findall(r"[^\W\d]\w*", text)
    is_fit = values and len(text) <= MAX_SUGGESTED and all(match[1] in words for match in values)
    if not is_fit or source.prefix or '"' in text or not is_right(text, ExpressionText(text)):
        return None
    behind = (f"{match[1]}={match[2].replace(' ', '').replace('−', '-')}" for match in values)
    start = source.code.index(next(part for part in parts if part not in formulas))
    return f'write it behind: gviz render "{text}" {" ".join(behind)}', start


def doubt_error(doubt: Doubt, source: ExpressionText) -> SourceError:
    """Return the error for what has two readings: with the whole text written out where that can be read, else both."""
    hint = doubt.ways
    if doubt.name:
        advice = suggestion(source, names=doubt.letters) or hint
        hint = f"{advice}; or give it a value, if it is a name: {doubt.name}=1"
    texts = [rewrite(text, values=source.values) for text in doubt.texts]
    if texts and all(is_right(text, ExpressionText(text)) for text in texts):
        hint = f"write {' or '.join(texts)}"
    token = doubt.token
    return SourceError(doubt.what, place=source.place_at(token.line, token.column, len(token.text)), hint=hint)


def example_values(names: Iterable[str]) -> str:
    """Return values for operands of ``@``: a capital letter is a matrix, another one a vector.

    >>> example_values(["W", "x", "b"])
    'W=[[1,2],[3,4]] x=[1,2] b=[3,4]'
    """
    vectors = (f"[{2 * at + 1},{2 * at + 2}]" for at in count())
    return " ".join(f"{name}={'[[1,2],[3,4]]' if name[0].isupper() else next(vectors)}" for name in names)


def is_right(text: str, source: ExpressionText) -> bool:
    """Return whether an expression can be read in one way, and each name in it is in its source, and no function's.

    A letter alone, as t, is a name here: the functions that are called so are not meant. A sign of a sum, an index
    alone, and names that are glued together are no names.
    """
    code = normalize("NFKC", source.code).replace("_", "")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            program = Program(source, ast.parse(text.replace("·", "*")).body, source.values)
    except (RefusedError, SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    if source.prefix and {*program.free} - CONSTANTS.keys():  # a value has no names
        return False
    new_source = ExpressionText(text)
    new_source.values = source.values
    if isinstance(read_mathematics(new_source, is_python=True), Doubt):
        return False
    pieces = [piece for statement in program.statements for piece in ast.walk(statement)]
    if source.prefix:  # a value may be a list
        pieces = [piece for piece in pieces if not isinstance(piece, ast.stmt)]
    return (
        bool(program.statements)
        and all(map(_computes, pieces))
        and all(
            name.replace("_", "") in code
            and not (name[-1] == "_" and name + "{" in source.code)
            and (len(name) == 1 or name not in functions())
            and not OTHER_NAMES.get(name, "").startswith("1/")
            and name not in NO_NAMES
            and not name.startswith("log_")
            and not (f"{name}**" in text and len(name) > len("sin") and name[1:] in functions())
            and not (re.search(r"[Σ∑∏]|^_", name) or as_product(name, source.values) or as_calls(name, source.values))
            for name in program.free.keys() - source.values.keys()
        )
    )
