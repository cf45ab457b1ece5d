"""Code as people paste it: with prompts, printed output, backticks and fences around it.

What is Python already is left as it is. Else the wrapping is taken off, line by line, so that the numbers of the
lines stay those of the paste; what is still no Python is shown with a caret.
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass

from gviz.errors import Place, SourceError
from gviz.sources.options import Note

__all__ = ["Parsed", "parse", "syntax_error", "unwrap"]

FENCE = re.compile(r"\s*(?:`{3,}|~{3,})\s*[\w+{}. -]*$")
PROMPT = re.compile(r"\s*(?:>>>?|In\s*\[\s*\d*\s*\]:)(?: |$|(?=[^\s>]))")
CELL = re.compile(r"\s*In\s*\[\s*\d*\s*\]:\s*$")
CONTINUED = re.compile(r"\s*\.{3,}:?(?: |$)")
OUTPUT = re.compile(r"\s*Out\s*\[\s*\d*\s*\]:")
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
    """The syntax tree of a script, or of a snippet pasted from a page or a session.

    Args:
        text: the script, its line ends as newlines.
        file: its name, for messages.

    Raises:
        SourceError: no Python even without prompts and fences; with the place and a caret.
    """
    try:
        return Parsed(_tree(text, file), text)
    except SyntaxError as error:
        first = syntax_error(error, file)
    bare, notes = unwrap(text)
    try:
        return Parsed(_tree(bare, file), bare, notes)
    except SyntaxError as error:
        if notes:
            first = syntax_error(error, file)
    without, magics = _leave_out_magics(bare.split("\n"))
    if magics:
        try:
            return Parsed(_tree("\n".join(without), file), "\n".join(without), (*notes, Note(magics)))
        except SyntaxError:
            raise first from None  # what is wrong is something else
    raise first


def _tree(text: str, file: str) -> ast.Module:
    """Parse, with the parser's other ways to fail made into a SourceError."""
    try:
        return ast.parse(text, file)
    except (RecursionError, MemoryError):
        raise SourceError(f"{file} is nested too deeply for Python to read") from None
    except ValueError as error:  # a null byte, before Python 3.12
        raise SourceError(f"{file}: {error}") from None


def syntax_error(error: SyntaxError, file: str) -> SourceError:
    """The error for text that is no Python, with a caret under the place.

    Args:
        error: Python's.
        file: the name to show for it.
    """
    text = (error.text or "").rstrip("\n")
    column = max((error.offset or 1) - 1, 0)
    one_line = error.end_lineno == error.lineno
    length = max((error.end_offset or 0) - 1 - column, 1) if one_line else max(len(text) - column, 1)
    place = Place(text, column=column, length=length, file=file, line=error.lineno)
    return SourceError(f"{type(error).__name__}: {error.msg}", place=place, hint=_lookalike_hint(text, column))


def _lookalike_hint(text: str, column: int) -> str | None:
    """What to write instead of a character that only looks like Python's."""
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
    r"""The text without what surrounds pasted code, and a note for each thing taken off.

    The text has as many lines as before: what is left out leaves an empty line.

    >>> unwrap(">>> y = 2\n>>> y\n2")[0]
    'y = 2\ny\n'
    """
    lines = text.split("\n")
    notes = []
    for step in (_take_fences, _take_backticks, _take_prompts, _take_indent):
        lines, said = step(lines)
        if said:
            notes.append(Note(said))
    return "\n".join(lines), tuple(notes)


def _take_fences(lines: list[str]) -> tuple[list[str], str]:
    """Keep what stands between fences; a single fence is only taken off."""
    fences = [number for number, line in enumerate(lines) if FENCE.match(line)]
    if not fences:
        return lines, ""
    kept, inside, left_out = [], len(fences) == 1, 0
    for line in lines:
        if FENCE.match(line):
            inside = inside if len(fences) == 1 else not inside
            kept.append("")
        elif inside:
            kept.append(line)
        else:
            left_out += bool(line.strip())
            kept.append("")
    beside = f", and left out {_count(left_out, 'line')} outside of them" if left_out else ""
    return kept, f"took the fences ({lines[fences[0]].strip()}) off{beside}"


def _take_backticks(lines: list[str]) -> tuple[list[str], str]:
    """Take backticks off that enclose the whole text, or each line."""
    said = "took the enclosing backticks off"
    full = [number for number, line in enumerate(lines) if line.strip()]
    if not full or not lines[full[0]].lstrip().startswith("`"):
        return lines, ""
    if all(line.strip().startswith("`") and line.strip().endswith("`") for line in lines if line.strip()):
        return [line.strip().strip("`") for line in lines], said
    if not lines[full[-1]].rstrip().endswith("`"):
        return lines, ""
    bare = list(lines)
    bare[full[0]] = bare[full[0]].lstrip().lstrip("`")
    bare[full[-1]] = bare[full[-1]].rstrip().rstrip("`")
    return bare, said


def _take_indent(lines: list[str]) -> tuple[list[str], str]:
    """Take off the indentation that all lines share."""
    full = [line for line in lines if line.strip() and not line.lstrip().startswith("#")]
    shared = min((len(line) - len(line.lstrip()) for line in full), default=0)
    if not shared:
        return lines, ""
    margin = full[0][:shared]
    bare = [line[shared:] if line.startswith(margin) else line.lstrip() for line in lines]
    return bare, "took off the indentation that all lines share"


def _take_prompts(lines: list[str]) -> tuple[list[str], str]:
    """Keep what was typed at prompts, and leave out what a session printed between."""
    first = next((number for number, line in enumerate(lines) if PROMPT.match(line) or OUTPUT.match(line)), None)
    if first is None or not _is_python(lines[:first]):  # the prompts of a docstring, in a script that is wrong elsewhere
        return lines, ""
    session = _Session()
    bare = lines[:first] + [session.take(line) for line in lines[first:]]
    prompt = PROMPT.match(lines[first]) or OUTPUT.match(lines[first])
    shown = prompt[0].strip() if prompt else ""
    beside = f", and left out {_count(session.left_out, 'line')} of output" if session.left_out else ""
    return bare, f"took the prompts ({shown}) off {_count(session.prompts, 'line')}{beside}"


def _is_python(lines: list[str]) -> bool:
    """Whether the lines are Python by themselves, as where a paste begins behind its first prompt."""
    try:
        ast.parse("\n".join(lines))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True


class _Session:
    """A session line by line: which lines were typed?

    Typed is what has a prompt; what continues an open bracket or block; and, after an ``In [3]:`` that stands
    alone, all that comes before the next ``Out`` or ``In``.
    """

    def __init__(self) -> None:
        self.prompts = 0
        self.left_out = 0
        self.in_cell = False
        self.block: list[str] = []  # what was typed since the last prompt
        self.in_body = False  # in a block whose lines have no prompts

    def take(self, line: str) -> str:
        """What of the line was typed; "" where it is output."""
        if CELL.match(line):
            self.prompts += 1
            self.in_cell, self.block, self.in_body = True, [], False
            return ""
        prompt = PROMPT.match(line)
        if prompt:
            self.prompts += 1
            self.in_cell, self.block, self.in_body = False, [line[prompt.end() :]], False
            return self.block[0]
        if OUTPUT.match(line):
            self.left_out += 1
            self.in_cell, self.block, self.in_body = False, [], False
            return ""
        if self.in_cell:
            return line
        return self._without_prompt(line)

    def _without_prompt(self, line: str) -> str:
        more = CONTINUED.match(line)
        if more and self.block:
            self.prompts += 1
            self.block.append(line[more.end() :])
            return self.block[-1]
        self.in_body = (self.in_body and line[:1].isspace()) or (bool(self.block) and _is_open(self.block))
        if not self.in_body:
            self.left_out += bool(line.strip())
            self.block = []
            return ""
        self.block.append(line)
        return line


def _is_open(block: list[str]) -> bool:
    """Whether the statement typed so far needs more lines."""
    try:
        ast.parse("\n".join(block))
    except SyntaxError as error:
        return any(sign in str(error.msg) for sign in ("never closed", "expected an indented block", "unterminated triple"))
    except (ValueError, RecursionError, MemoryError):
        return False  # whatever it is, the whole text's error will tell
    return False


def _leave_out_magics(lines: list[str]) -> tuple[list[str], str]:
    """Leave out IPython's own commands, such as ``%matplotlib inline`` and ``!pip install``."""
    magics = [line for line in lines if MAGIC.match(line)]
    if not magics:
        return lines, ""
    beside = f" and {_count(len(magics) - 1, 'more line')}" if len(magics) > 1 else ""
    bare = ["" if MAGIC.match(line) else line for line in lines]
    return bare, f"left out {magics[0].strip()!r}{beside}: IPython's, not Python's"


def _count(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"
