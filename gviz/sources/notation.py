"""Helpful answers for what people type as mathematics: ``2x``, ``sin x``, ``（x＋w）``, ``y==...``, a missing operand.

Read only when the parser has refused a source (or names hold characters that look like operators).
Every answer shows the source with a caret and, where it can be told, the whole expression as it should be.
"""

from __future__ import annotations

import ast
import re
import warnings
from keyword import iskeyword, kwlist
from typing import TYPE_CHECKING
from unicodedata import name as character_name

from gviz.errors import SourceError
from gviz.sources.expression_parse import Source, too_deep
from gviz.sources.names import FUNCTIONS, OTHER_NAMES, printable, shown
from gviz.sources.notation_tokens import Token, foreign, replacement, rewrite, tokens

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

__all__ = ["check_names", "explain", "suggestion"]

MAX_SUGGESTED = 200
"""Characters of an expression that a hint repeats."""

_STATEMENTS = frozenset(kwlist) - frozenset(
    ("True", "False", "None", "and", "as", "await", "in", "is", "lambda", "not", "or", "yield")
)
"""Words that begin a statement."""

_PREFIXES = ("+", "-", "~", "(", "[", "{", "...")
_CLOSING = (")", "]", "}", ",", ";", "\n", ":", "=")
_WORDS = ("True", "False", "None")
_JOINING = frozenset(("and", "or", "not", "if", "else", "in", "is"))
"""Words that stand between operands, or before one."""


def explain(source: Source, error: SyntaxError) -> SourceError:
    """The answer to a source that Python's parser refuses.

    Args:
        source: what was typed.
        error: what the parser said.
    """
    message = error.msg or "invalid syntax"
    if "too many nested" in message:
        return too_deep(source)
    if "integer string conversion" in message:
        return _too_many_digits(source)
    found = tokens(source.code)
    for look in _LOOKS:
        answer = look(source, found, message)
        if answer is not None:
            return answer
    return _at(source, error, f"this cannot be read as an expression: {message}", suggestion(source))


def _too_many_digits(source: Source) -> SourceError:
    """The answer to a number that Python does not read; its parser does not say where it is."""
    _, line, start, end = max(
        (match.end() - match.start(), number, match.start(), match.end())
        for number, text in enumerate(source.code.split("\n"), 1)
        for match in re.finditer(r"[0-9_]*", text)
    )
    place = source.place_at(line, start, end - start)
    return SourceError("this whole number has too many digits", place=place, hint="write it as a power of ten, as in 1e30")


def check_names(source: Source) -> None:
    """Raise SourceError for characters that Python takes as part of a name, and a reader as a sign: ``x·w``, ``xᵀ``."""
    for line, column, character in foreign(source.code):
        if replacement(character) is not None and ("x" + character).isidentifier() and not character.isdecimal():
            raise _foreign_at(source, line, column, character)


def suggestion(source: Source, functions: Collection[str] = FUNCTIONS) -> str | None:
    """The hint with the source as it should be written, None where no rewriting of it can be read.

    >>> suggestion(Source("y=2x"))
    'write y=2*x'
    """
    text = rewrite(source.code, functions)
    if len(text) > MAX_SUGGESTED or not text.isprintable() or text == source.code.strip() or not _can_be_read(text):
        return None
    return f"write {source.prefix}{text}"


def _can_be_read(text: str) -> bool:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return bool(ast.parse(text).body)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False


def _at(source: Source, error: SyntaxError, what: str, hint: str | None) -> SourceError:
    """An error where the parser stopped."""
    place = source.place_at(error.lineno or 1, max((error.offset or 1) - 1, 0))
    return SourceError(printable(what), place=place, hint=hint and printable(hint))


def _on(source: Source, token: Token, what: str, hint: str | None) -> SourceError:
    """An error on a token."""
    length = 1 if token.kind == "newline" else len(token.text)
    place = source.place_at(token.line, token.column, length)
    return SourceError(printable(what), place=place, hint=hint and printable(hint))


def _foreign_at(source: Source, line: int, column: int, character: str) -> SourceError:
    meant = replacement(character)
    known = f"{shown(character)} ({character_name(character, f'U+{ord(character):04X}').lower()})"
    written = {None: "is no part of an expression", "": "has to be left out"}.get(meant, f"is written {meant} in an expression")
    if character == "√":
        written = "is written sqrt(...) in an expression"
    return SourceError(f"{known} {written}", place=source.place_at(line, column), hint=suggestion(source))


def _foreign(source: Source, _: list[Token], __: str) -> SourceError | None:
    """``（x＋w）``, ``x×w``, ``x²``, ``√x``, curly quotes, and what else has no meaning."""
    for line, column, character in foreign(source.code):
        return _foreign_at(source, line, column, character)
    return None


def _latex(source: Source, found: list[Token], _: str) -> SourceError | None:
    r"""``\frac{x}{w}`` and ``$x$``."""
    for token in found:
        if token.text in ("\\", "$"):
            return _on(
                source,
                token,
                f"{token.text} has no meaning in an expression",
                "LaTeX is not read: write x/w for a fraction, x**2 for a power",
            )
    return None


def _statement(source: Source, found: list[Token], _: str) -> SourceError | None:
    """``import``, ``def``, ``for`` and whatever else needs a program."""
    for before, token in zip([None, *found], found, strict=False):
        starts = before is None or before.text in (";", "\n")
        if starts and token.text in _STATEMENTS:
            hint = "put the program into a file and draw that: gviz render file.py"
            return _on(source, token, f"{token.text} is a statement of a program, not of an expression", hint)
    return None


def _keyword(source: Source, found: list[Token], _: str) -> SourceError | None:
    """``lambda*x``: a word of Python's own where a name should be."""
    for position, token in enumerate(found):
        if token.kind != "name" or (token.is_word and not iskeyword(token.text)):
            continue
        after = found[position + 1] if position + 1 < len(found) else None
        openers = ("(", "[", "-", "+", "~", "...", "*", "**")
        alone = after is None or (after.kind in ("operator", "newline") and after.text not in openers)
        if token.text == "lambda" and (alone or (after is not None and after.text in ("*", "**", "+", "-"))):
            return _on(source, token, "lambda is a word of Python's own and cannot be a name", "call it lam, as in lam*x")
        joins = token.text in _JOINING and not (after is not None and after.text == "=")
        begins = token.text in _STATEMENTS - {"if", "else", "for", "async"}
        if (alone or begins) and not joins and token.text not in _WORDS:
            hint = f"choose another name, such as {token.text}_ or {token.text}1"
            return _on(source, token, f"{token.text} is a word of Python's own and cannot be a name", hint)
    return None


def _quotes(source: Source, found: list[Token], message: str) -> SourceError | None:
    """``x'`` and half a string."""
    if "string literal" not in message:
        return None
    for token in found:
        if token.text in ("'", '"'):
            hint = "a prime cannot be in a name: write x1 or dx; text in quotes is only for arguments, as in mode='mean'"
            return _on(source, token, "this quote begins a text that does not end", hint)
    return None


def _assignment(source: Source, found: list[Token], message: str) -> SourceError | None:
    """``2=x``, ``f(x)=2*x``, ``x+1=y``: only a name can be on the left."""
    if "assign to" not in message and "illegal target" not in message:
        return None
    left: list[Token] = []
    depth = 0
    for token in found:
        depth += (token.text in ("(", "[", "{")) - (token.text in (")", "]", "}"))
        if depth == 0 and token.text in (";", "\n", "="):
            if token.text == "=" and not all((part.is_word and part.text not in _WORDS) or part.text == "," for part in left):
                return _no_name(source, left)
            left = []
        else:
            left.append(token)
    return None


def _no_name(source: Source, left: list[Token]) -> SourceError:
    """The answer to an assignment to what is no name."""
    hint = "write the name on the left, as in y = x*2"
    if len(left) > 1 and left[0].is_word and left[1].text == "(":
        hint = f"there are no functions of one's own: write y = ... and give {left[2].text if len(left) > 3 else 'x'} a value"
    return _on(source, left[0], f"{''.join(token.text for token in left)} cannot be assigned to: it is no name", hint)


def _brackets(source: Source, found: list[Token], message: str) -> SourceError | None:
    """A bracket without its partner."""
    pairs = {")": "(", "]": "[", "}": "{"}
    opened: list[Token] = []
    for token in found:
        if token.kind != "operator":
            continue
        if token.text in pairs.values():
            opened.append(token)
        elif token.text in pairs:
            if not opened:
                return _on(
                    source, token, f"this {token.text} has no {pairs[token.text]} before it", "take it out, or open the bracket"
                )
            if opened[-1].text != pairs[token.text]:
                return _on(source, token, f"this {token.text} closes a {opened[-1].text}", f"close {opened[-1].text} first")
            opened.pop()
    if opened and ("never closed" in message or "EOF" in message):
        partner = next(closing for closing, opening in pairs.items() if opening == opened[-1].text)
        return _on(source, opened[-1], f"this {opened[-1].text} is not closed", f"add the {partner} that is missing")
    return None


def _bars(source: Source, found: list[Token], _: str) -> SourceError | None:
    """``|x|``: a bar where an operand should begin or end."""
    for position, token in enumerate(found):
        before = found[position - 1] if position else None
        if token.text == "|" and (before is None or not before.ends_operand):
            return _on(
                source, token, "the absolute value is written abs(...), the length of a vector norm(...)", suggestion(source)
            )
    return None


def _marks(source: Source, found: list[Token], _: str) -> SourceError | None:
    """``x!``, ``x?``, ``5%``, ``:=`` and other signs."""
    answers = {
        "!": ("there is no factorial", "write the product: 3*2*1"),
        "?": ("? has no meaning in an expression", None),
        "@=": ("@= changes a tensor in place", "write y = y @ x"),
        ":=": (":= is written = here", suggestion(source)),
        "=>": ("=> is written >= here", suggestion(source)),
        "<>": ("<> is written != here", suggestion(source)),
        "`": ("a backtick has no meaning in an expression", "take the backticks off"),
        "->": ("-> has no meaning in an expression", None),
    }
    for token in found:
        if token.text in answers and token.kind == "operator":
            return _on(source, token, *answers[token.text])
    return None


def _side_by_side(source: Source, found: list[Token], _: str) -> SourceError | None:
    """``2x``, ``x w``, ``sin x``: an operator is missing; ``(x+)*2``, ``x*``: an operand is."""
    ended = [*found, Token("newline", "\n", found[-1].line, found[-1].column + len(found[-1].text))] if found else []
    for position, token in enumerate(ended):
        before = ended[position - 1] if position else None
        if before is not None and before.ends_operand and token.starts_operand and token.text != "(":
            return _product(source, before, token)
        missing = _missing(before, token)
        if missing is not None:
            where = token if before is None or token.kind != "newline" else before
            return _on(source, where, missing, suggestion(source) or "write what is to stand there, as in (x + w)*2")
    return None


def _product(source: Source, before: Token, token: Token) -> SourceError:
    """The answer to two operands side by side."""
    meant = OTHER_NAMES.get(before.text, before.text)
    if before.text == "print":
        return _on(source, before, "nothing has to be printed", "leave print out; gviz inspect shows every value")
    if before.kind == "name" and meant in FUNCTIONS:
        return _on(
            source,
            before,
            f"{before.text} needs brackets around its argument",
            suggestion(source) or f"write {meant}({token.text})",
        )
    if before.kind == token.kind == "number":
        close = token.text.startswith(".") and token.column == before.column + len(before.text)
        hint = (
            "a number has one decimal point"
            if close
            else f"write {before.text}*{token.text} to multiply, {before.text}, {token.text} in a list"
        )
        return _on(source, token, f"two numbers stand side by side: {before.text} {token.text}", hint)
    what = f"there is no operator between {before.text} and {token.text}"
    return _on(source, token, what, suggestion(source) or f"to multiply, write {before.text}*{token.text}")


def _missing(before: Token | None, token: Token) -> str | None:
    """What is missing between two tokens, None if they may follow each other."""
    if token.text == ";" and (before is None or before.text == ";"):
        return "there is no statement before this ;"
    if before is None or before.text in (";", "\n"):
        begins = _is_binary(token) or token.text in ("=", "**", ".", ",")
        return f"there is nothing before {token.text}" if begins else None
    if before.text in ("(", "[", "{"):
        empty = _is_binary(token) or token.text == "," or (before.text == "[" and token.text == "]")
        return f"there is nothing between {before.text} and {token.text}" if empty else None
    wants_more = (before.kind == "operator" and not before.ends_operand and before.text != "...") or before.text in _JOINING
    if not wants_more:
        return None
    if token.kind == "newline" or token.text in (")", "]", "}", ";", ",", "="):
        fine = before.text == ":" or (before.text == "," and token.text != ",")
        return None if fine else f"there is nothing after {before.text}"
    doubled = (_is_binary(token) and before.text != ":") or (before.text == "." and token.text == ".")
    return f"there is nothing between {before.text} and {token.text}" if doubled else None


def _is_binary(token: Token) -> bool:
    """Whether an operator stands between two operands only; ``*x`` and ``**x`` unpack."""
    return token.kind == "operator" and token.text not in (*_PREFIXES, *_CLOSING, "*", "**", ".")


_LOOKS: tuple[Callable[[Source, list[Token], str], SourceError | None], ...] = (
    _foreign, _latex, _statement, _quotes, _brackets, _keyword, _assignment, _bars, _marks, _side_by_side,
)  # fmt: skip
"""In this order: the first that finds something answers."""
