"""Reads an expression's text: parsed, held against the allow-list, and explained where it is refused."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gviz.errors import SourceError
from gviz.sources.expression.check import Program, RefusedError, check
from gviz.sources.expression.parse import MAX_CHARACTERS, Source, parse

if TYPE_CHECKING:
    from collections.abc import Collection

__all__ = ["read"]


def read(source: Source, given: Collection[str] = (), limit: int = MAX_CHARACTERS) -> Program:
    """Return a source's statements, looked through.

    Args:
        source: the text.
        given: names that have a value, which win over functions and constants.
        limit: how many characters it may have.

    Raises:
        SourceError: it is empty, cannot be read, or has something that is no part of an expression; with its place.
    """
    try:
        statements = parse(source, limit)
        if not source.code.isascii():
            from gviz.sources.expression.advice import refused_characters

            refusal = refused_characters(source)
            if refusal is not None:
                raise refusal
        if not statements:
            raise SourceError("the expression is empty", hint='write one, as in gviz render "y=(x+w)*(w+1)" x=2 w=1')
        return check(statements, source, given)
    except RefusedError as error:
        from gviz.sources.expression.advice import refused  # only an error needs it

        raise refused(error.node, error.program) from None
    except SyntaxError as error:
        from gviz.sources.expression.advice import unreadable

        raise unreadable(source, error) from None
