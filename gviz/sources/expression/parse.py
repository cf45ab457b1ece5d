"""A text to a program: Python's own parser behind a guard, the check, and an answer with a caret for what they refuse.

The parser is recursive C code with limits of its own; a text beyond them gets an answer with a way out.
"""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Mapping
from typing import TYPE_CHECKING

from gviz.errors import SourceError
from gviz.sources.expression.program import ExpressionText, Program, RefusedError

if TYPE_CHECKING:
    from gviz.sources.expression.tokens import Token

MAX_CHARACTERS = 50_000
"""An expression longer than that is a program, and belongs in a file."""

MAX_VALUE_CHARACTERS = 2_000_000
"""A value may hold a whole table of numbers."""

UNSEEN = re.compile(r"[\x00-\x08\x0b-\x1f\x7f\ud800-\udfff]")
"""Characters that no source can hold: control characters, and halves of pairs."""


def read_program(
    source: ExpressionText, values: Mapping[str, object] | None = None, limit: int = MAX_CHARACTERS
) -> Program:
    """Return a source's statements, looked through.

    Args:
        source: the text.
        values: the values of names, which win over functions and constants.
        limit: how many characters it may have.

    Raises:
        SourceError: it is empty, cannot be read, or has something that is not a part of an expression; with its place.
    """
    _check_characters(source, limit)
    source.values = values = values or {}
    program: Program | Exception
    try:
        program = _parsed(source, values)
    except (RefusedError, SyntaxError, RecursionError, MemoryError) as error:
        program = error
    if isinstance(program, Exception):  # read outside of the handler, so that Python shows one error, not two
        from gviz.sources.expression.advice import answer_to  # only an error needs it

        reading = _mathematics(source)
        if isinstance(reading, Program):
            return reading
        raise answer_to(program, source, reading)
    if source.prefix or all((len(name) == 1 and name not in "eE") or name in values for name in program.free):
        return program
    reading = _mathematics(source, is_python=True)  # wx is w*x, e**x is exp(x)
    return reading if isinstance(reading, Program) else program


def _parsed(source: ExpressionText, values: Mapping[str, object]) -> Program:
    """Return a source's statements as Python reads them."""
    if "%o%" in source.code and "o" not in values:  # of R, and two remainders to Python
        raise SyntaxError("")
    if not source.code.isascii():
        from gviz.sources.expression.characters import foreign_characters

        if next(foreign_characters(source.code), None):
            raise SyntaxError("")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the parser's remarks on style, such as "invalid decimal literal"
        statements = ast.parse(source.code).body
    if not statements:
        raise SourceError("the expression is empty", hint='write one, as in gviz render "y=(x+w)*(w+1)" x=2 w=1')
    return Program(source, statements, values)


def _mathematics(
    source: ExpressionText, *, is_python: bool = False
) -> Program | Token | RefusedError | SyntaxError | None:
    """Return a source as the mathematics that it may be, or why it is none. SourceError: it has two readings."""
    from gviz.sources.expression.advice import refuse_other
    from gviz.sources.expression.mathematics import Doubt, read_mathematics

    refuse_other(source)
    reading = read_mathematics(source, is_python=is_python)
    if isinstance(reading, Doubt):
        from gviz.sources.expression.suggestion import doubt_error

        raise doubt_error(reading, source)
    return reading


def _check_characters(source: ExpressionText, limit: int) -> None:
    """Refuse what is too long, and characters that no source can hold."""
    code, unseen = source.code, UNSEEN.search(source.code)
    if len(code) > limit:
        raise SourceError(
            f"this has {len(code):,} characters; at most {limit:,} are read",
            place=source.place_of(limit),
            hint="write it as a script, in several statements: gviz render file.py",
        )
    if unseen is not None:
        raise SourceError(
            f"the character U+{ord(unseen.group()):04X} cannot be part of an expression",
            place=source.place_of(unseen.start()),
            hint="take it out; it cannot be seen, and may have come along with a copied text",
        )
