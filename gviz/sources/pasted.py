"""Code as people paste it: with prompts, printed output, backticks and fences around it.

What is Python already is left as it is. Else the wrapping is taken off, line by line, so that the numbers of the
lines stay those of the paste; what is still not Python is shown with a caret.
"""

from __future__ import annotations

import ast
import re
import textwrap
from contextlib import suppress
from dataclasses import dataclass
from types import CodeType

from gviz.errors import Excerpt, SourceError
from gviz.sources.notebook import Cells
from gviz.sources.notes import Note
from gviz.text import joined

FENCE = re.compile(r"^[ \t]*(?:`{3,}|~{3,})[ \t]*[\w+{}. -]*$", re.MULTILINE)
PROMPT = re.compile(r"\s*(?:>>>?|In\s*\[\s*\d*\s*\]:)(?: |$|(?=[^\s>]))")
CONTINUED = re.compile(r"\s*\.{3,}:?(?: |$)")
OUTPUT = re.compile(r"\s*Out\s*\[\s*\d*\s*\]:")
BACKTICKS = re.compile(r"^[ \t]*`+|`+[ \t]*$", re.MULTILINE)
MAGIC = re.compile(r"^[%!].*", re.MULTILINE)

AWAITS = re.compile(r"'(await|async \w+)' outside")
AWAIT = "Jupyter alone awaits there: write it into async def main(), and call asyncio.run(main())"


@dataclass(frozen=True)
class Parsed:
    """A script that is Python.

    Args:
        tree: its syntax tree.
        code: the same, compiled.
        text: what was parsed; as many lines as were given.
        notes: what was taken off.
    """

    tree: ast.Module
    code: CodeType
    text: str
    notes: tuple[Note, ...] = ()


def parse(text: str, file: str, code_file: str = "", cells: Cells | None = None) -> Parsed:
    """Return the syntax tree and the code of a script, or of a snippet pasted from a page or a session.

    Args:
        text: the script, its line ends as newlines.
        file: its name, for messages.
        code_file: its name in its code, if that is another.
        cells: where the cells of a notebook are in it; None for anything else.

    Raises:
        SourceError: it is not Python even without prompts and fences; with the place and a caret.
    """
    tree = _as_it_is(text, file)
    bare, notes = unwrap(text) if tree is None else (text, ())
    try:
        tree = tree or ast.parse(bare)  # without the file, from which Python would quote the line with its prompt
        return Parsed(tree, compile(tree, code_file or file, "exec", dont_inherit=True), bare, notes)
    except SyntaxError as error:
        raise syntax_error(_quoting(bare, error) if tree is not None else error, file, cells) from None
    except (RecursionError, MemoryError):
        raise SourceError(f"{file} is nested too deeply for Python to read") from None
    except ValueError as error:  # a null byte, before Python 3.12
        raise SourceError(f"{file}: {error}") from None


def _quoting(text: str, error: SyntaxError) -> SyntaxError:
    """Return the compiler's error with its line of the text: it had only the tree, and counts bytes."""
    error.text = text.split("\n")[(error.lineno or 1) - 1]
    raw = error.text.encode()
    offsets = ((offset or 1) - 1 for offset in (error.offset, error.end_offset))
    error.offset, error.end_offset = (len(raw[:offset].decode(errors="replace")) + 1 for offset in offsets)
    return error


def syntax_error(error: SyntaxError, file: str, cells: Cells | None = None) -> SourceError:
    """Return the error for text that is not Python, with a caret under the place; ``file`` is the name to show."""
    text = (error.text or "").rstrip("\n")
    column = max((error.offset or 1) - 1, 0)
    end = (error.end_offset or 0) - 1 if error.end_lineno == error.lineno else len(text)
    cell, line = (0, error.lineno) if cells is None else cells.split(error.lineno or 1)
    place = Excerpt(text, column=column, length=max(end - column, 1), file=file, line=line, cell=cell)
    hint = AWAIT if AWAITS.match(error.msg) else _lookalike_hint(text[column : column + 1])
    return SourceError(f"{type(error).__name__}: {error.msg}", place=place, hint=hint)


def _lookalike_hint(character: str) -> str | None:
    """Return what to write instead of a character that only looks like Python's."""
    from gviz.sources.expression.characters import replacement

    right = None if character.isascii() else "" if character.isspace() else replacement(character)
    if right == "":
        return "an invisible character came with the paste: write an ordinary space, or none"
    return f"write {right} instead of {character}" if right else None


def _as_it_is(text: str, file: str = "<unknown>") -> ast.Module | None:
    """Return the tree of a text that is Python as it is given; None for another."""
    if not PROMPT.match(text):  # `In [1]: x = 2` is Python, an annotation
        with suppress(SyntaxError, ValueError, RecursionError, MemoryError):
            return ast.parse(text, file)
    return None


def unwrap(text: str) -> tuple[str, tuple[Note, ...]]:
    r"""Return the text without what surrounds pasted code, and a note for each thing taken off; Python stays as it is.

    The text has as many lines as before: what is left out leaves an empty line.

    >>> unwrap(">>> y = 2\n>>> y\n2")[0]
    'y = 2\ny\n'
    """
    if _as_it_is(text) is not None:
        return text, ()
    notes: list[Note] = []
    for step in (_take_fences, _take_backticks, _take_prompts, _take_magics):
        text, note = step(textwrap.dedent(text))
        notes += [Note(note)] if note else []
    return text, tuple(notes)


def _take_fences(text: str) -> tuple[str, str]:
    """Keep what stands between fences, of Python alone if some fence says so; a single fence is only taken off."""
    fences, parts = FENCE.findall(text), FENCE.split(text)
    is_python = [fence.strip("`~ \t{.").lower().startswith("py") for fence in fences[::2]]
    left_out = 0
    for number, part in enumerate(parts if len(fences) > 1 else []):
        if number % 2 == 0 or (any(is_python) and not is_python[number // 2]):
            parts[number] = "\n" * part.count("\n")
            left_out += sum(bool(line.strip()) for line in part.split("\n"))
    return "".join(
        parts
    ), f"took the fences ({fences[0].strip()}) off{_beside(left_out, 'outside of them')}" if fences else ""


def _take_backticks(text: str) -> tuple[str, str]:
    """Take backticks off that enclose the whole text, or each line."""
    is_enclosed = text.strip()[:1] == text.strip()[-1:] == "`"
    return (BACKTICKS.sub("", text), "took the enclosing backticks off") if is_enclosed else (text, "")


def _take_prompts(text: str) -> tuple[str, str]:
    """Keep what was typed at prompts, and leave out what a session printed between.

    Typed is what has a prompt; what continues an open bracket or block; and, after an ``In [3]:`` that stands alone,
    all that comes before the next ``Out`` or ``In``.
    """
    lines = text.split("\n")
    signs = ((number, PROMPT.match(line) or OUTPUT.match(line)) for number, line in enumerate(lines))
    first, sign = next((pair for pair in signs if pair[1]), (0, None))
    if sign is None or _goes_on(
        lines[:first], ">>>"
    ):  # the prompts of a docstring, in a script that is wrong elsewhere
        return text, ""
    statement, in_cell, left_out = list[str](), False, 0
    for number, line in enumerate(lines[first:], first):
        continued = CONTINUED.match(line) if statement else None
        prompt = continued or PROMPT.match(line)
        if prompt:
            lines[number] = line[prompt.end() :]
            statement = [*statement, lines[number]] if continued else [lines[number]]
            in_cell = line.strip().startswith("In") and not lines[number]
        elif not OUTPUT.match(line) and (in_cell or _goes_on(statement, line)):
            statement.append(line)
        else:
            lines[number], statement, in_cell = "", [], False
            left_out += bool(line.strip())
    return "\n".join(lines), f"took the prompts ({sign[0].strip()}) off{_beside(left_out, 'of output')}"


def _goes_on(statement: list[str], line: str) -> bool:
    """Return whether a line without a prompt belongs to the statement typed before it: to its bracket, or its block."""
    from codeop import compile_command

    is_in_block = bool(statement) and statement[-1][:1].isspace() and line[:1].isspace()
    try:
        return is_in_block or compile_command("\n".join([*statement, ""]), symbol="exec") is None
    except (SyntaxError, ValueError, OverflowError, RecursionError, MemoryError):
        return False  # whatever it is, the whole text's error will tell


def _take_magics(text: str) -> tuple[str, str]:
    """Leave out IPython's own commands, such as ``%matplotlib inline`` and ``!pip install``."""
    magics = MAGIC.findall(text)
    return MAGIC.sub("", text), f"left out {joined(magics, 1)}: IPython's, not Python's" if magics else ""


def _beside(left_out: int, where: str) -> str:
    return f", and left out {left_out} {'line' if left_out == 1 else 'lines'} {where}" if left_out else ""
