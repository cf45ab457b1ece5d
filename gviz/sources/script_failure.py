"""A script's own error as a person wants it: the file and line, the line itself, the message, and no frames of gviz's."""

from __future__ import annotations

import os
import re
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gviz.errors import GvizError, Place, SourceError
from gviz.sources.backward_watch import GVIZ
from gviz.sources.files import STDIN
from gviz.sources.snippet import syntax_error

if TYPE_CHECKING:
    from types import CodeType, FrameType, TracebackType

__all__ = ["Failure", "Script", "describe"]

PYTHON = os.path.join(os.path.dirname(os.__file__), "")
"""Where Python's own library is."""

MAX_TEXT, MAX_LINES = 2000, 40
"""What is shown of an error's own text."""

NO_ATTRIBUTE = re.compile(r"module '(torch(?:\.\w+)*)' has no attribute '(\w+)'")
NO_METHOD = re.compile(r"'(\w+)' object has no attribute '(\w+)'")
NO_IMPORT = re.compile(r"cannot import name '(\w+)' from '(torch(?:\.\w+)*)'(?: \([^)]*\))?")
NO_MODULE = re.compile(r"No module named '(torch(?:\.\w+)*)'")


@dataclass(frozen=True)
class Script:
    """Where a script's code is.

    Args:
        file: its name as the user gave it, for messages.
        code_file: its name in its code objects, which is absolute.
        folder: where its neighbours are.
        lines: its text.
        engine: what runs it: ``gviz`` or ``torch``.
    """

    file: str
    code_file: str
    folder: str
    lines: tuple[str, ...]
    engine: str

    def is_ours(self, code_file: str) -> bool:
        """Whether code is the script's own or a neighbour's, rather than a library's, gviz's or Python's."""
        if code_file == self.code_file:
            return True
        if code_file.startswith((GVIZ, PYTHON)) or "site-packages" in code_file or "dist-packages" in code_file:
            return False
        return code_file.startswith(os.path.join(self.folder, ""))

    def shown(self, code_file: str) -> str:
        """The name of a file in messages: the user's own for the script, short ones for its neighbours."""
        if code_file == self.code_file:
            return self.file
        return os.path.join(os.path.dirname(self.file), os.path.relpath(code_file, self.folder))

    def line(self, code_file: str, number: int) -> str:
        """A line of the script or of a neighbour; "" where there is none."""
        if code_file != self.code_file:
            import linecache  # brings tokenize along, which a script that works has no need of

            return linecache.getline(code_file, number).rstrip("\n")
        return self.lines[number - 1] if 0 < number <= len(self.lines) else ""


@dataclass(frozen=True)
class Failure:
    """What a script raised.

    Args:
        error: as a message for the user.
        line: the script's own line that was running; None where none was.
    """

    error: GvizError
    line: int | None


def describe(error: BaseException, script: Script) -> Failure:
    """The message for an error that a script raised, or for its non-zero exit."""
    try:
        failure = _described(error, script)
        failure.error.report()
    except BaseException:  # noqa: BLE001 - the error's class is the program's code: each of its parts may be anything
        return _barely_described(error, script)
    return failure


def _barely_described(error: BaseException, script: Script) -> Failure:
    """The error's type and line alone, which no class can get in the way of."""
    frames = _frames(object.__getattribute__(error, "__traceback__"))
    ours: list[int | None] = [line for code, line, _, _ in frames if code.co_filename == script.code_file]
    lines = [line for line in ours if line is not None and line > 0]  # code without lines: None, or -1 before 3.11.3
    here = lines[-1] if lines else None
    text = "" if here is None else script.line(script.code_file, here).strip()
    name = type.__getattribute__(type(error), "__name__")
    return Failure(SourceError(f"{name} (more of it cannot be shown)", place=Place(text, file=script.file, line=here)), here)


def _described(error: BaseException, script: Script) -> Failure:
    """The whole message: the place down to the columns, the error's text and notes, and what was probably meant."""
    frames = [frame for frame in _frames(error.__traceback__) if script.is_ours(frame[0].co_filename)]
    here = next((line for code, line, _, _ in reversed(frames) if code.co_filename == script.code_file), None)
    if isinstance(error, SyntaxError) and error.filename and script.is_ours(os.path.abspath(error.filename)):
        shown = syntax_error(error, script.shown(os.path.abspath(error.filename)))  # a neighbour that is no Python
        return Failure(_with_hints(shown, _called_from(script, here)), here)
    place, called = None, None
    if frames:
        code, line, instruction, frame = frames[-1]
        place = _place(code, line, instruction, script)
        if code.co_filename != script.code_file:
            called = _called_from(script, here)
    else:
        frame = None
    if isinstance(error, GvizError):  # gviz's own word, as from make_dot
        return Failure(SourceError(error.what, place=place, hint=error.hint), here)
    message = _message(error)
    hints = (called, _similar_name(error, frame), _lacks_brackets(error), _lacks(error, message, script))
    return Failure(_with_hints(SourceError(message, place=place), *hints), here)


def _frames(traceback: TracebackType | None) -> list[tuple[CodeType, int, int, FrameType]]:
    """(code, line, instruction, frame) from the outermost call to the one that raised."""
    frames = []
    while traceback is not None:
        frame = traceback.tb_frame
        frames.append((frame.f_code, traceback.tb_lineno, traceback.tb_lasti, frame))
        traceback = traceback.tb_next
    return frames


def _place(code: CodeType, line: int, instruction: int, script: Script) -> Place:
    """The place of an instruction, down to the columns of its expression."""
    text = script.line(code.co_filename, line)
    bare = text.strip()
    positions = list(code.co_positions())[instruction // 2] if instruction >= 0 else (None, None, None, None)
    first, last, start, end = positions
    file = script.shown(code.co_filename)
    if first != line or start is None or end is None or not text:
        return Place(bare, column=0 if bare else None, length=len(bare), file=file, line=line)
    raw = text.encode()  # the compiler counts bytes
    column = len(raw[:start].decode(errors="replace"))
    until = len(raw[:end].decode(errors="replace")) if last == line else len(text.rstrip())
    return Place(bare, column=column - (len(text) - len(text.lstrip())), length=max(until - column, 1), file=file, line=line)


def _message(error: BaseException) -> str:
    """The error's type and text, with the names that the script knows: torch, not gviz's engine."""
    kind = type(error)
    name = kind.__qualname__ if kind.__module__ in {"builtins", "__main__"} else f"{kind.__module__}.{kind.__qualname__}"
    try:
        text = str(error)
    except BaseException as other:  # noqa: BLE001 - the error's own __str__ is the program's code, and may raise anything
        text = f"<its text cannot be shown: {type(other).__name__}>"
    if isinstance(error, SystemExit):
        return f"the script ended itself with {'exit status ' if isinstance(error.code, int) else ''}{text}"
    text = "\n".join([text, *(note for note in getattr(error, "__notes__", ()) if isinstance(note, str))])
    text = re.sub(r"\bgviz\.engine\b", "torch", re.sub(r"\bgviz\.static\b", "tensorflow", text))
    text = NO_IMPORT.sub(r"cannot import name '\1' from '\2'", text).strip()
    name = re.sub(r"^gviz\.engine\b", "torch", re.sub(r"^gviz\.static\b", "tensorflow", name))
    return f"{name}: {_cut(text)}" if text else name


def _cut(text: str) -> str:
    """As much of a text as a person reads: some programs put a whole file into their errors."""
    lines = text.split("\n")
    if len(text) <= MAX_TEXT and len(lines) <= MAX_LINES:
        return text
    return "\n".join(lines[:MAX_LINES])[:MAX_TEXT] + f"... ({len(text):,} characters in all)"


def _lacks(error: BaseException, message: str, script: Script) -> str | None:
    """The line for a name that gviz's engine has not, and PyTorch may have."""
    if script.engine != "gviz":
        return None
    found = None
    if isinstance(error, AttributeError):
        module = NO_ATTRIBUTE.search(message)
        if module:
            found = f"{module[1]}.{module[2]}"
        elif _is_engines(type(getattr(error, "obj", None))):
            method = NO_METHOD.search(message)
            found = f"torch.{method[1]}.{method[2]}" if method else None
    elif isinstance(error, ModuleNotFoundError):
        missing = NO_MODULE.search(message)
        found = missing[1] if missing else None
    elif isinstance(error, ImportError):
        name = NO_IMPORT.search(message)
        found = f"{name[2]}.{name[1]}" if name else None
    if found is None:
        return None
    hint = f"{found} is not in gviz's engine; run with --engine torch"
    if script.file == STDIN:
        return hint
    from shlex import quote

    return f"{hint}\nall that it lacks: gviz ops --missing {quote(script.file)}"


def _is_engines(kind: type) -> bool:
    """Whether a class is the engine's own, or derived from one of its classes other than object."""
    return f"{kind.__module__}.".startswith(("gviz.engine.", "gviz.autograd.", "gviz.numbers.", "torch."))


def _similar_name(error: BaseException, frame: FrameType | None) -> str | None:
    """What was probably meant by a name that does not exist."""
    name: Any = getattr(error, "name", None)
    if not isinstance(name, str):
        return None
    if isinstance(error, NameError) and frame is not None:
        if name in _USUAL:
            return f"write `{_USUAL[name]}` first"
        known: Any = [*frame.f_locals, *frame.f_globals]
    elif isinstance(error, AttributeError) and _is_the_engine(getattr(error, "obj", None)):
        known = dir(error.obj)
    else:
        return None
    from difflib import get_close_matches

    close = get_close_matches(name, [other for other in known if isinstance(other, str)], n=1, cutoff=0.75)
    return f"did you mean {close[0]}?" if close else None


def _lacks_brackets(error: BaseException) -> str | None:
    """Whether a function was used where its result was meant: ``loss = y.sum``."""
    if not isinstance(error, AttributeError | TypeError) or not re.search(UNCALLED, str(error)):
        return None
    return "a function was used without a call: are its brackets missing? x.sum is the function, x.sum() what it gives"


UNCALLED = r"'(builtin_function_or_)?method'|^'function' object|not (builtin_function_or_)?method$"
"""What messages of Python and PyTorch call a function that is no number, no tensor and no list."""

_USUAL = {
    "torch": "import torch",
    "nn": "from torch import nn",
    "F": "import torch.nn.functional as F",
    "optim": "from torch import optim",
    "np": "import numpy as np",
    "Variable": "from torch.autograd import Variable",
    "make_dot": "from torchviz import make_dot",
}
"""Names that articles leave out the import of."""


def _is_the_engine(thing: object) -> bool:
    return thing is not None and thing is sys.modules.get("gviz.engine")


def _called_from(script: Script, line: int | None) -> str | None:
    return f"called from {script.file}:{line}" if line is not None else None


def _with_hints(error: SourceError, *hints: str | None) -> SourceError:
    """The error, with what else there is to say below it."""
    lines = [line for line in (*hints, error.hint) if line]
    return SourceError(error.what, place=error.place, hint="\n".join(lines) or None)
