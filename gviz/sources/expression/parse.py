"""Text to a program: Python's own parser behind a guard, the check, and an answer with a caret for what they refuse.

The parser is recursive C code with limits of its own; a text beyond them gets an answer with a way out.
"""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Mapping

from gviz.errors import Excerpt, SourceError
from gviz.sources.expression.check import Program, RefusedError
from gviz.text import printable

MAX_CHARACTERS = 50_000
"""An expression longer than that is a program, and belongs in a file."""

MAX_VALUE_CHARACTERS = 2_000_000
"""A value may hold a whole table of numbers."""

UNSEEN = re.compile(r"[\x00-\x08\x0b-\x1f\x7f\ud800-\udfff]")
"""Characters that no source can hold: control characters, and halves of pairs."""

_SPACES = dict.fromkeys([0x0B, 0x0C, 0xA0, *range(0x2000, 0x200B), 0x202F, 0x205F, 0x3000], " ")


class Text:
    """A source text with its lines, to say where in it something is.

    Args:
        text: the expression or value as typed.
        prefix: shown before the first line and not parsed, such as ``x=`` for the value of x.
    """

    def __init__(self, text: str, prefix: str = "") -> None:
        text = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n").translate(_SPACES)
        self.prefix = prefix
        self.given: Mapping[str, object] = {}  # the values of names, known when it is read
        self.lines = text.split("\n")
        self.code = "\n".join(line.lstrip() for line in self.lines)
        """The text to parse: no line of it is indented, since an expression has no blocks."""

    def place(self, node: ast.AST) -> Excerpt:
        """Return the place of a node of the parsed code; of one that spans lines, what is on its first line."""
        line, start, end = (getattr(node, key, None) for key in ("lineno", "col_offset", "end_col_offset"))
        code = self.lines[(line or 1) - 1].lstrip().encode("utf-8", "replace")  # the parser counts bytes
        end = end if getattr(node, "end_lineno", None) == line else None
        before, text = (part.decode("utf-8", "ignore") for part in (code[:start], code[start:end]))
        return self.place_at(line or 1, len(before) if start else 0, len(text))

    def place_at(self, line: int, column: int, length: int = 1) -> Excerpt:
        """Return the place of ``length`` characters at a 0-based column of the parsed code's 1-based line."""
        line = min(max(line, 1), len(self.lines))
        text = self.lines[line - 1]
        column += len(text) - len(text.lstrip())
        visible = printable(text.replace("\t", " "))
        if line == 1:
            visible, column = self.prefix + visible, column + len(self.prefix)
        return Excerpt(visible, max(column, 0), max(length, 1), line=line if len(self.lines) > 1 else None)

    def place_of(self, index: int) -> Excerpt:
        """Return the place of a character of the parsed code."""
        before = self.code[:index]
        return self.place_at(before.count("\n") + 1, index - before.rfind("\n") - 1)

    def segment(self, node: ast.AST) -> str:
        """Return the node's text as typed, of its first line."""
        place = self.place(node)
        column = place.column or 0
        return place.text[column : column + place.length]


def read_program(source: Text, given: Mapping[str, object] | None = None, limit: int = MAX_CHARACTERS) -> Program:
    """Return a source's statements, looked through.

    Args:
        source: the text.
        given: the values of names, which win over functions and constants.
        limit: how many characters it may have.

    Raises:
        SourceError: it is empty, cannot be read, or has something that is not a part of an expression; with its place.
    """
    _check_characters(source, limit)
    source.given = given = given or {}
    try:
        if not source.code.isascii():
            from gviz.sources.expression.advice import refuse_characters

            refuse_characters(source)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the parser's remarks on style, such as "invalid decimal literal"
            statements = ast.parse(source.code).body
        if not statements:
            raise SourceError("the expression is empty", hint='write one, as in gviz render "y=(x+w)*(w+1)" x=2 w=1')
        return Program(source, statements, given)
    except (RefusedError, SyntaxError, RecursionError, MemoryError) as error:
        from gviz.sources.expression.advice import answer  # only an error needs it

        raise answer(error, source) from None


def _check_characters(source: Text, limit: int) -> None:
    """Refuse what is too long, and characters that no source can hold."""
    code, unseen = source.code, UNSEEN.search(source.code)
    if len(code) > limit:
        what = f"this has {len(code):,} characters; at most {limit:,} are read"
        hint = "write it as a script, in several statements: gviz render file.py"
        raise SourceError(what, place=source.place_of(limit), hint=hint)
    if unseen is not None:
        what = f"the character U+{ord(unseen.group()):04X} cannot be part of an expression"
        hint = "take it out; it cannot be seen, and may have come along with a copied text"
        raise SourceError(what, place=source.place_of(unseen.start()), hint=hint)
