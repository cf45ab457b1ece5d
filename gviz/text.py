"""Words for people: texts made short, visible and as wide as they look, lists with commas, and the name that was meant."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = ["aligned", "closest", "did_you_mean", "display_width", "excerpt", "joined", "printable", "shorten", "visible"]

EXCERPT = 40
"""Characters of a user's own text that a message repeats."""

ALIKE = 0.78
"""Two names are alike from here on, as difflib measures: ``lg`` is like ``log`` (0.8), ``foo`` not like ``floor`` (0.75)."""

LONGEST_NAME = 60
"""Characters of a name that are compared."""

REPLACED = "\N{REPLACEMENT CHARACTER}"

UNDRAWABLE = frozenset("\ufeff\ufffe\uffff\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
"""What XML forbids, and what turns around the text behind it."""


def shorten(text: str, most: int, *, middle: bool = False, mark: str = "...") -> str:
    """Return the text cut to so many characters, its end or its middle left out.

    >>> shorten("encoder.layers.0.weight", 13), shorten("encoder.layers.0.weight", 13, middle=True)
    ('encoder.la...', 'encod...eight')
    """
    if len(text) <= most:
        return text
    room = max(most - len(mark), 0)
    tail = room // 2 if middle else 0
    return text[: room - tail] + mark + text[len(text) - tail :]


def visible(text: str) -> str:
    r"""Return the text with every character that no picture and no terminal shows written as Python would escape it.

    Those are control characters but for the newline, lone surrogates, what XML forbids, and what turns text around.

    >>> visible("naïve\x00\t"), visible("\udc80"), visible("a\nb") == "a\nb"
    ('naïve\\x00\\t', '\\udc80', True)
    """
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c == "\n" or _is_drawn(c) else repr(c)[1:-1] for c in text)


def _is_drawn(char: str) -> bool:
    """Whether a character that Python does not call printable has its place in a text: spaces, joiners, private use."""
    from unicodedata import category

    return category(char) in ("Zs", "Cf", "Co", "Cn") and char not in UNDRAWABLE


def printable(text: str) -> str:
    """Return the text with a mark for each character that a terminal does not show: columns stay as they are.

    >>> printable("x" + chr(27)) == "x" + chr(0xFFFD)
    True
    """
    return "".join(c if c.isprintable() else REPLACED for c in text)


def excerpt(text: str) -> str:
    """Return a user's text as a message repeats it: printable and short.

    >>> excerpt("a" * 50)
    'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa...'
    """
    return shorten(printable(text[: EXCERPT + 1]), EXCERPT)


def display_width(text: str) -> int:
    """Return the terminal columns that the text takes: wide (East Asian, full-width) characters take two.

    >>> display_width("x（")
    3
    """
    if text.isascii():
        return len(text)
    from unicodedata import combining, east_asian_width  # only needed if a text has other characters than ASCII

    return sum(0 if combining(c) else 2 if east_asian_width(c) in "WF" else 1 for c in text)


def aligned(lines: Sequence[Sequence[str]]) -> str:
    """Return lines of cells as text: columns aligned, and at least two spaces apart.

    >>> print(aligned([["name", "value"], ["x", "2"]]), end="")
    name  value
    x     2
    """
    widths = [max(map(display_width, column)) for column in zip(*lines, strict=True)]
    padded = (
        "  ".join(cell + " " * (width - display_width(cell)) for cell, width in zip(line, widths, strict=True))
        for line in lines
    )
    return "".join(f"{line.rstrip()}\n" for line in padded)


def joined(items: Iterable[str], most: int = 6) -> str:
    """Return the first items with commas between, and how many more there are.

    >>> joined("abc"), joined("abcd", 2)
    ('a, b, c', 'a, b and 2 more')
    """
    listed = list(items)
    more = f" and {len(listed) - most} more" if len(listed) > most else ""
    return ", ".join(listed[:most]) + more


def closest(name: str, among: Iterable[str]) -> str | None:
    """Return the name that was probably meant: in another case, with the same letters in another order, or alike; or None.

    >>> closest("sigmiod", ["sigmoid", "sin"]), closest("LOG", ["log"]), closest("smu", ["sum"]), closest("foo", ["floor"])
    ('sigmoid', 'log', 'sum', None)
    """
    names = sorted(among)
    letters = sorted(name.lower())
    same = [other for other in names if sorted(other.lower()) == letters]
    if same:
        return min(same, key=lambda other: other.lower() != name.lower())
    from difflib import get_close_matches  # only an error needs it

    return next(iter(get_close_matches(name[:LONGEST_NAME], names, n=1, cutoff=ALIKE)), None)


def did_you_mean(name: str, among: Iterable[str], otherwise: str = "") -> str:
    """Return a hint with the name that was probably meant, else the given text.

    >>> did_you_mean("losss", ["loss"]), did_you_mean("q", ["x"], "there is only x")
    ('did you mean loss?', 'there is only x')
    """
    meant = closest(name, among)
    return f"did you mean {meant}?" if meant else otherwise
