"""Notes: lines for standard error on what was read, and on options that a source has no use for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from gviz.options import SourceOptions, declared
from gviz.text import excerpt, joined

DECLARED = declared(SourceOptions)

Level: TypeAlias = Literal["note", "warning", "error", "dim"]
"""How loud a note is: ``dim`` is for a terminal only, ``error`` goes with exit status 1."""


def short_text(value: object) -> str:
    """Return a value as a message repeats it, in one line."""
    return excerpt(" ".join(str(value).split()))


def unused(options: SourceOptions, kind: str) -> list[Note]:
    """Return a warning for each option that was set and has no effect on this kind of source, with advice.

    >>> [note.text for note in unused(SourceOptions(stop_at="backward", watch="y"), "expression")]
    ['--stop-at backward, --watch y not used: an expression is computed as a whole; these are for scripts']

    Args:
        options: as they were given.
        kind: of the source: script, expression, graph, or static for the static graph of an expression.
    """
    flags: dict[str, list[str]] = {}
    for name, one in DECLARED.items():
        if kind in one.instead and getattr(options, name) != getattr(SourceOptions(), name):
            flags.setdefault(one.instead[kind], []).append(_option_text(name, one.flag(name), getattr(options, name)))
    return [Note(f"{', '.join(words)} not used: {instead}", "warning") for instead, words in flags.items()]


def _option_text(name: str, flag: str, value: Any) -> str:
    """Return an option as the command line has it."""
    if name == "values":
        return joined([f"{each}={short_text(item)}" for each, item in value.items()], 3)
    return (
        flag if isinstance(value, bool) else f"{flag} {excerpt(value if isinstance(value, str) else ','.join(value))}"
    )


@dataclass(frozen=True)
class Note:
    """One line for standard error.

    Args:
        text: the line.
        level: how loud it is.
    """

    text: str
    level: Level = "note"

    def __str__(self) -> str:
        """Return the line."""
        return self.text
