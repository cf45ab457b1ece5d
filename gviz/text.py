"""Words for people: short texts, their width on a screen, lists with commas, and the name that was probably meant."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

ALIKE = 0.78
"""Two names are alike from here on, as difflib measures: ``lg`` is like ``log`` (0.8), ``foo`` not like ``floor``
(0.75)."""

POWERS = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")

NO_LETTERS = str.maketrans("[", ".", "_{}]")
"""Signs of a name that stand for an index, as subscripts do."""

OTHER_SIGNS = {*"{[."}
"""Signs of ASCII of which a name may have others in their place."""

UNDRAWABLE = frozenset("\ufeff\ufffe\uffff\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
"""Characters that XML forbids, and those that turn around the text behind them."""


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


def shorten_lines(text: str, most: int) -> str:
    """Return the text with each of its lines cut to so many characters, the middle left out."""
    if len(text) <= most:
        return text
    return "\n".join(shorten(line, most, middle=True) for line in text.split("\n"))


def visible(text: str) -> str:
    r"""Return the text with an escape, as Python writes it, for each character that no picture and no terminal shows.

    Those are control characters except the newline, lone surrogates, separators of lines, characters that XML forbids,
    and those that turn the text around.

    >>> visible("naïve\x00\t"), visible("\udc80"), visible("a\nb") == "a\nb"
    ('naïve\\x00\\t', '\\udc80', True)
    """
    if text.replace("\n", "").isprintable():
        return text
    from unicodedata import category  # only needed if a text has such characters

    hidden = {c for c in set(text) - {"\n"} if category(c) in ("Cc", "Cs", "Zl", "Zp") or c in UNDRAWABLE}
    return "".join(repr(c)[1:-1] if c in hidden else c for c in text)


def legible(text: str, most: int = 1000) -> str:
    """Return a text as a terminal can show it: spaces for tabs, escapes for invisible characters, and shorter lines."""
    return shorten_lines(visible(text.expandtabs()), most)


def printable(text: str) -> str:
    """Return the text with a mark for each character that a terminal does not show: columns stay as they are."""
    return "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text)


def excerpt(text: str, most: int = 40) -> str:
    """Return a user's text as a message repeats it: printable, and so many characters at most.

    >>> excerpt("a" * 50)
    'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa...'
    """
    return shorten(printable(text[: most + 1]), most)


def display_width(text: str) -> int:
    """Return the terminal columns that the text takes: wide (East Asian, full-width) characters take two."""
    if text.isascii():
        return len(text)
    from unicodedata import combining, east_asian_width  # only needed if a text has other characters than ASCII

    odd = {c: 0 if combining(c) else 2 for c in set(text) if combining(c) or east_asian_width(c) in "WF"}
    return sum(odd.get(c, 1) for c in text) if odd else len(text)


def aligned_text(lines: Sequence[Sequence[str]]) -> str:
    """Return lines of cells as text: columns aligned, and at least two spaces apart.

    >>> print(aligned_text([["name", "value"], ["x", "2"]]), end="")
    name  value
    x     2
    """
    widths = [max(map(display_width, column)) for column in zip(*lines, strict=True)]
    padded = (
        "  ".join(cell + " " * (width - display_width(cell)) for cell, width in zip(line, widths, strict=True))
        for line in lines
    )
    return "".join(f"{line.rstrip()}\n" for line in padded)


def cut(text: str, most: int) -> str:
    """Return the text with an ellipsis in place of its end if it is longer than that.

    >>> cut("[1, 2, 3]", 6)
    '[1, 2…'
    """
    return text if len(text) <= most else text[: most - 1].rstrip(", ") + "…"


def joined(items: Iterable[str], most: int = 6) -> str:
    """Return the first items with commas between, and how many more there are.

    >>> joined("abc"), joined("abcd", 2)
    ('a, b, c', 'a, b and 2 more')
    """
    texts = list(items)
    more = f" and {len(texts) - most} more" if len(texts) > most else ""
    return ", ".join(texts[:most]) + more


def ordinal(number: int) -> str:
    """Return the place that a number is of.

    >>> ordinal(1), ordinal(12), ordinal(22)
    ('1st', '12th', '22nd')
    """
    endings = {1: "st", 2: "nd", 3: "rd"}
    return f"{number}{endings.get(number % 10, 'th') if number % 100 not in (11, 12, 13) else 'th'}"


def quotient_of(of: str, by: str, order: int = 1) -> str:
    """Return a derivative as it is written.

    >>> quotient_of("y", "w"), quotient_of("y", "x", 2), quotient_of("∂y/∂x", "w"), quotient_of("a + b", "w")
    ('∂y/∂w', '∂²y/∂x²', '∂(∂y/∂x)/∂w', '∂(a + b)/∂w')
    """
    power = "" if order == 1 else str(order).translate(POWERS)
    of, by = (f"({name})" if "/" in name or " + " in name else name for name in (of, by))
    return f"∂{power}{of}/∂{by}{power}"


def letters_of(name: str) -> str:
    """Return a name without the signs that may be typed in other ways.

    >>> letters_of("w₂") == letters_of("w_{2}"), letters_of("net[0].weight") == letters_of("net.0.weight")
    (True, True)
    """
    from unicodedata import normalize  # only names beyond ASCII need it

    return normalize("NFKC", name).translate(NO_LETTERS)


def name_among(typed: str, names: Iterable[str]) -> str:
    """Return the one of some names that was typed, perhaps with other signs; else what was typed.

    It may be typed as w₂ or w_{2} for w_2, and as Python has it: net[0].weight for net.0.weight.

    >>> name_among("w₁₂", ["w_1", "w_12"]), name_among("σ₁", ["σ1"]), name_among("x_{1}", ["x_1", "x1"])
    ('w_12', 'σ1', 'x_{1}')
    >>> name_among("net[0].weight", ["net.0.weight", "net.1.weight"]), name_among("ps.0", ["ps[0]"])
    ('net.0.weight', 'ps[0]')
    """
    if typed in (there := [*names]) or (typed.isascii() and OTHER_SIGNS.isdisjoint(typed)):
        return typed
    alike = [name for name in there if letters_of(name) == letters_of(typed)]
    return alike[0] if len(alike) == 1 else typed


def closest(name: str, among: Iterable[str]) -> str | None:
    """Return the name that was probably meant: in another case, with the same letters in another order, or alike.

    Or None.

    >>> closest("sigmiod", ["sigmoid", "sin"]), closest("LOG", ["log"]), closest("smu", ["Sum", "sum"]), closest("fo", ["log"])
    ('sigmoid', 'log', 'sum', None)
    """
    names = sorted(among)
    letters = sorted(name.lower())
    same = [other for other in names if sorted(other.lower()) == letters]
    if same:
        return min(same, key=lambda other: (other.lower() != name.lower(), sorted(other) != sorted(name)))
    from difflib import get_close_matches  # only an error needs it

    return next(iter(get_close_matches(name, names, n=1, cutoff=ALIKE)), None)


def did_you_mean(name: str, among: Iterable[str], otherwise: str = "") -> str:
    """Return a hint with the name that was probably meant, else the given text.

    >>> did_you_mean("losss", ["loss"]), did_you_mean("q", ["x"], "there is only x")
    ('did you mean loss?', 'there is only x')
    """
    suggestion = closest(name, among)
    return f"did you mean {suggestion}?" if suggestion else otherwise


def amount(count: int, noun: str, several: str = "") -> str:
    """Return how many there are of something, with the word for several if that is not one with an s.

    >>> amount(1, "operation"), amount(1200, "operation"), amount(0, "box", "boxes")
    ('1 operation', '1,200 operations', '0 boxes')
    """
    return f"{count:,} {noun if count == 1 else several or f'{noun}s'}"


def bytes_text(count: int) -> str:
    """Return a number of bytes as people read it.

    >>> bytes_text(80), bytes_text(2048), bytes_text(3_500_000)
    ('80 bytes', '2 KiB', '3.3 MiB')
    """
    if count < 1024:
        return amount(count, "byte")
    power = min((count.bit_length() - 1) // 10, 4)
    return f"{count / 1024**power:.1f}".removesuffix(".0") + f" {'KMGT'[power - 1]}iB"


def braced(parts: Sequence[str]) -> str:
    """Return what names differ in: all of three, the first and the last of more.

    >>> braced(["0", "1", "2"]), braced(["u", "w"]), braced(["1", "2", "4", "8"])
    ('{0…2}', '{u, w}', '{1, 2, … 8}')
    """
    is_dense = (
        [*parts] == [str(number) for number in range(int(parts[0]), int(parts[0]) + len(parts))]
        if parts[0].isdecimal()
        else False
    )
    if is_dense:
        return f"{{{parts[0]}…{parts[-1]}}}"
    return f"{{{', '.join(parts) if len(parts) < 4 else f'{parts[0]}, {parts[1]}, … {parts[-1]}'}}}"
