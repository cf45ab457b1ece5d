"""Code as people paste it: with prompts, printed output, backticks and fences around it.

What is Python already is left as it is. Else the wrapping is taken off, line by line, so that the numbers of the
lines stay those of the paste; what is still not Python is shown with a caret.
"""

from __future__ import annotations

import ast
import re
import textwrap
from dataclasses import dataclass

from gviz.errors import Place, SourceError
from gviz.sources.options import Note

__all__ = ["Parsed", "parse", "syntax_error", "unwrap"]

FENCE = re.compile(r"\s*(?:`{3,}|~{3,})\s*[\w+{}. -]*$")
PROMPT = re.compile(r"\s*(?:>>>?|In\s*\[\s*\d*\s*\]:)(?: |$|(?=[^\s>]))")
CELL = re.compile(r"\s*In\s*\[\s*\d*\s*\]:\s*$")
CONTINUED = re.compile(r"\s*\.{3,}:?(?: |$)")
OUTPUT = re.compile(r"\s*Out\s*\[\s*\d*\s*\]:")
BACKTICKS = re.compile(r"^\s*`+|`+\s*$")
MAGIC = re.compile(r"[%!]")

STRINGS = re.compile(r"""('{3}|"{3}|['"])(?:\\.|(?!\1).)*(?:\1|$)|#.*""")
"""Strings and comments of a line, in which any character may stand."""

LOOKALIKES = {"“": '"', "”": '"', "„": '"', "‘": "'", "’": "'", "−": "-", "–": "-", "×": "*", "·": "*", "÷": "/"}
"""Characters that word processors and web pages put in the place of Python's."""


@dataclass(frozen=True)
class Parsed:
    """A script that is Python.

    Args:
        tree: its syntax tree.
        text: what was parsed; as many lines as were given.
        notes: what was taken off.
    """

    tree: ast.Module
    text: str
    notes: tuple[Note, ...] = ()


def parse(text: str, file: str) -> Parsed:
    """Return the syntax tree of a script, or of a snippet pasted from a page or a session.

    Args:
        text: the script, its line ends as newlines.
        file: its name, for messages.

    Raises:
        SourceError: it is not Python even without prompts and fences; with the place and a caret.
    """
    try:
        return Parsed(_tree(text, file), text)
    except SyntaxError:
        bare, notes = unwrap(text)
    try:
        return Parsed(_tree(bare, file), bare, notes)
    except SyntaxError as error:
        raise syntax_error(error, file) from None


def _tree(text: str, file: str) -> ast.Module:
    """Return the syntax tree, the parser's other ways to fail made into a SourceError."""
    try:
        return ast.parse(text, file)
    except (RecursionError, MemoryError):
        raise SourceError(f"{file} is nested too deeply for Python to read") from None
    except ValueError as error:  # a null byte, before Python 3.12
        raise SourceError(f"{file}: {error}") from None


def syntax_error(error: SyntaxError, file: str) -> SourceError:
    """Return the error for text that is not Python, with a caret under the place; ``file`` is the name to show for it."""
    text = (error.text or "").rstrip("\n")
    column = max((error.offset or 1) - 1, 0)
    end = (error.end_offset or 0) - 1 if error.end_lineno == error.lineno else len(text)
    place = Place(text, column=column, length=max(end - column, 1), file=file, line=error.lineno)
    return SourceError(f"{type(error).__name__}: {error.msg}", place=place, hint=_lookalike_hint(text, column))


def _lookalike_hint(text: str, column: int) -> str | None:
    """Return what to write instead of a character that only looks like Python's."""
    from unicodedata import normalize

    wrong = text[column : column + 1]
    if wrong.isascii():  # what the parser stopped at need not be the culprit: before 3.11.3 it names the number before it
        code = STRINGS.sub("", text)
        wrong = next((c for c in code if not c.isascii() and not f"x{c}".isidentifier()), "")
    if not wrong:
        return None
    if not wrong.strip() or wrong in "\u200b\ufeff":
        return "an invisible character came with the paste: write an ordinary space, or none"
    right = LOOKALIKES.get(wrong) or normalize("NFKC", wrong)
    return f"write {right} instead of {wrong}" if right != wrong and right.isascii() else None


def unwrap(text: str) -> tuple[str, tuple[Note, ...]]:
    r"""Return the text without what surrounds pasted code, and a note for each thing taken off.

    The text has as many lines as before: what is left out leaves an empty line.

    >>> unwrap(">>> y = 2\n>>> y\n2")[0]
    'y = 2\ny\n'
    """
    lines = text.split("\n")
    notes = []
    for step in (_take_fences, _take_backticks, _take_prompts, _take_indent, _take_magics):
        lines, note = step(lines)
        if note:
            notes.append(Note(note))
    return "\n".join(lines), tuple(notes)


def _take_fences(lines: list[str]) -> tuple[list[str], str]:
    """Keep what stands between fences; a single fence is only taken off."""
    fences = [line for line in lines if FENCE.match(line)]
    if not fences:
        return lines, ""
    kept, inside, left_out = [], len(fences) == 1, 0
    for line in lines:
        is_fence = FENCE.match(line) is not None
        inside = inside != (is_fence and len(fences) > 1)
        kept.append(line if inside and not is_fence else "")
        left_out += bool(line.strip()) and not inside and not is_fence
    beside = f", and left out {_count(left_out, 'line')} outside of them" if left_out else ""
    return kept, f"took the fences ({fences[0].strip()}) off{beside}"


def _take_backticks(lines: list[str]) -> tuple[list[str], str]:
    """Take backticks off that enclose the whole text, or each line."""
    text = "\n".join(lines).strip()
    if not text.startswith("`") or not text.endswith("`"):
        return lines, ""
    return [BACKTICKS.sub("", line) for line in lines], "took the enclosing backticks off"


def _take_indent(lines: list[str]) -> tuple[list[str], str]:
    """Take off the indentation that all lines share."""
    bare = textwrap.dedent("\n".join(lines)).split("\n")
    is_less = any(line and line != old for line, old in zip(bare, lines, strict=True))
    return (bare, "took off the indentation that all lines share") if is_less else (lines, "")


def _take_prompts(lines: list[str]) -> tuple[list[str], str]:
    """Keep what was typed at prompts, and leave out what a session printed between.

    Typed is what has a prompt; what continues an open bracket or block; and, after an ``In [3]:`` that stands alone, all that
    comes before the next ``Out`` or ``In``.
    """
    first = next((number for number, line in enumerate(lines) if PROMPT.match(line) or OUTPUT.match(line)), None)
    if first is None or _is_open(lines[:first]):  # the prompts of a docstring, in a script that is wrong elsewhere
        return lines, ""
    kept, typed, prompts, left_out = lines[:first], list[str](), 0, 0
    in_cell = in_body = False
    for line in lines[first:]:
        prompt = PROMPT.match(line) or (CONTINUED.match(line) if typed else None)
        if prompt:
            code = line[prompt.end() :]
            typed = [*typed, code] if CONTINUED.match(line) else [code]
            in_cell, in_body = CELL.match(line) is not None, False
            prompts += 1
        else:
            is_output = OUTPUT.match(line) is not None
            in_cell = in_cell and not is_output
            in_body = not is_output and bool(typed) and ((in_body and line[:1].isspace()) or _is_open(typed))
            code = line if in_cell or in_body else ""
            typed = [*typed, line] if in_body else []
            left_out += bool(line.strip()) and not code
        kept.append(code)
    sign = PROMPT.match(lines[first]) or OUTPUT.match(lines[first])
    beside = f", and left out {_count(left_out, 'line')} of output" if left_out else ""
    return kept, f"took the prompts ({sign[0].strip() if sign else ''}) off {_count(prompts, 'line')}{beside}"


def _is_open(typed: list[str]) -> bool:
    """Whether the statement typed so far needs more lines."""
    from codeop import compile_command

    try:
        return compile_command("\n".join([*typed, ""]), symbol="exec") is None
    except (SyntaxError, ValueError, OverflowError, RecursionError, MemoryError):
        return False  # whatever it is, the whole text's error will tell


def _take_magics(lines: list[str]) -> tuple[list[str], str]:
    """Leave out IPython's own commands, such as ``%matplotlib inline`` and ``!pip install``."""
    magics = [line for line in lines if MAGIC.match(line)]
    if not magics:
        return lines, ""
    beside = f" and {_count(len(magics) - 1, 'more line')}" if len(magics) > 1 else ""
    bare = ["" if MAGIC.match(line) else line for line in lines]
    return bare, f"left out {magics[0].strip()!r}{beside}: IPython's, not Python's"


def _count(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"
