"""Characters beyond ASCII that mathematics is typed with, and how an expression writes each: ``×``, ``²``, ``（``."""

from __future__ import annotations

import re
from collections.abc import Iterator
from unicodedata import decomposition, normalize

RAISED = "[ᵃᵇᶜᵈᵉᶠᵍʰⁱʲᵏˡᵐⁿᵒᵖʳˢᵗᵘᵛʷˣʸᶻᵝᵞᵟᵠᵡ]"
"""Raised letters, each the exponent of a power."""

NO_LETTER = f"[²³¹⁰⁴-⁹ᵀ½⅓⅔¼¾{RAISED[1:-1]}]"
"""A raised sign or a fraction, which a pattern would take for a part of a name."""

MARKS = "\u0300-\u036f\u20d0-\u20ff"
"""Marks above a letter that make no letter of their own with it: x̄."""

FRACTIONS = ("½", "⅓", "⅔", "¼", "¾")

MEANING = {
    "×": "*", "·": "*", "\N{GREEK ANO TELEIA}": "*", "⋅": "*", "∙": "*", "•": "*", "∗": "*", "✕": "*", "✖": "*", "⨯": "*",
    "⊙": "*", "∘": "*", "÷": "/", "∕": "/", "⁄": "/", "−": "-", "–": "-", "—": "-", "‐": "-", "‑": "-", "√": "sqrt",
    "≤": "<=", "≥": ">=", "≠": "!=", "≡": "=", "≔": "=", "←": "=", "∞": "inf", "⊤": ".T", "ᵀ": ".T", "ˆ": "**", "˄": "**",
    "⌊": "floor(", "⌋": ")", "⌈": "ceil(", "⌉": ")",
    "‘": "'", "’": "'",
    "“": '"', "”": '"', "′": "", "″": "", "…": "...", "、": ",", "。": ".", "【": "(", "】": ")", "「": "(", "」": ")",
    "〔": "(", "〕": ")", "⟨": "(", "⟩": ")", "½": "(1/2)", "⅓": "(1/3)", "⅔": "(2/3)", "¼": "(1/4)", "¾": "(3/4)",
    "\N{ZERO WIDTH SPACE}": "", "\N{ZERO WIDTH JOINER}": "", "\N{ZERO WIDTH NON-JOINER}": "", "\N{WORD JOINER}": "",
    "\N{SOFT HYPHEN}": "", "\N{ZERO WIDTH NO-BREAK SPACE}": "", "\N{INVISIBLE TIMES}": "*", "\N{INVISIBLE SEPARATOR}": "",
    "\N{LEFT-TO-RIGHT MARK}": "", "\N{RIGHT-TO-LEFT MARK}": "", "∥": "|", "‖": "||", "∑": "sum", "∏": "prod",
}  # fmt: skip
"""Characters of typeset mathematics -> how an expression writes them; full-width ones and superscripts follow from
Unicode."""


def replacement(character: str) -> str | None:
    """Return how an expression writes a character beyond ASCII: None if it is fine in a name, "" to leave it out.

    >>> replacement("×"), replacement("（"), replacement("²"), replacement("α")
    ('*', '(', '**2', None)
    """
    if character in MEANING:
        return MEANING[character]
    if character.isdecimal():
        return str(int(character))
    if decomposition(character).startswith("<super>") and character not in "ªº":
        return "**" + normalize("NFKC", character).replace("−", "-")
    if decomposition(character).startswith("<sub>") and not character.isidentifier():
        return f"_{plain}" if (plain := normalize("NFKC", character)).isalnum() else None
    if not ("x" + character).isidentifier():
        plain = normalize("NFKC", character)
        return plain if plain.isascii() and plain.isprintable() and plain.strip() else None
    return None


def exponent_text(raised: str) -> str:
    """Return superscripts as they stand behind ``**``, letters side by side as a product.

    >>> exponent_text("²³"), exponent_text("⁻¹"), exponent_text("ⁿ"), exponent_text("⁻²ⁿᵗ")
    ('23', '-1', 'n', '-2*n*t')
    """
    text = "".join((replacement(sign) or "").removeprefix("**") for sign in raised).lstrip("+")
    return re.sub(r"(?<=\w)(?=[^\W\d])|(?<=[^\W\d])(?=\d)", "*", text)


def foreign_characters(code: str) -> Iterator[tuple[int, int, str]]:
    """Yield line, column and character of each one that cannot be in an expression, comments left out."""
    for number, line in enumerate(code.split("\n"), start=1):
        for column, character in enumerate(line.partition("#")[0]):
            is_digit_of_name = character.isdecimal() and (line[column - 1 : column] + character).isidentifier()
            is_letter = replacement(character) is None and ("x" + character).isidentifier()
            if not (character.isascii() or is_digit_of_name or is_letter):
                yield number, column, character
