"""Tokens of what people type, and which bars in it belong together.

They are forgiving where Python's are not: ``2x`` is a number and a name, ``×`` is a character like any other.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from keyword import iskeyword

from gviz.sources.expression.characters import FRACTIONS, MARKS, NO_LETTER, RAISED

_PATTERN = re.compile(
    rf"""(?P<space>[ \t]+|\\\n)
      | (?P<comment>\#[^\n]*)
      | (?P<newline>\n)
      | (?P<number>0[xXoObB][0-9a-fA-F_]+ | (?:[0-9][0-9_]*\.?[0-9]* | \.[0-9]+)(?:[eE][+-]?[0-9]+)?)
      | (?P<power>(?:[⁺⁻]?(?:[²³¹⁰⁴-⁹]+|{RAISED}))+|ᵀ|⊤)
      | (?P<name>(?!{NO_LETTER})[^\W\d](?:(?!{NO_LETTER})[\w{MARKS}])*)
      | (?P<string>'[^'\n]*' | "[^"\n]*")
      | (?P<operator>\*\*=|//=|>>=|<<=|\.\.\.|\*\*|//|<<|>>|<=|>=|==|!=|\.[-+*/^]
        |%(?:[*/]|o|in)?%|\|>|->|=>|=<|:=|<>|[-+*/%@&|^]=|.)""",
    re.VERBOSE,
)

CLOSING = (")", "]", "}")

JOINING = ("and", "or", "not", "if", "else", "in", "is")
"""Words that stand between operands, or before one."""

BARS = {"|": "abs", "||": "norm", "‖": "norm", "∥": "norm"}
MAX_WAYS = 64
"""Ways to read bars that are looked through; beyond them it is not certain which belong together."""

_BRACKETS = {"(": ")", "[": "]"}
_WORDS = ("True", "False", "None")


@dataclass(frozen=True)
class Token:
    """A piece of a source.

    Args:
        kind: number, name, power, string, operator or newline; function for a name that is known to be one.
        text: as typed.
        line: 1-based.
        column: 0-based.
        is_apart: if a space is before it.
    """

    kind: str
    text: str
    line: int
    column: int
    is_apart: bool = False

    @property
    def ends_operand(self) -> bool:
        """Tell if a value can end here, so that an operator must follow."""
        return self.kind in ("number", "string") or self.is_word or self.text in CLOSING

    @property
    def starts_operand(self) -> bool:
        """Tell if a value starts here."""
        return self.kind in ("number", "string", "function") or self.is_word or self.text == "("

    @property
    def ends_value(self) -> bool:
        """Tell if an operand of mathematics can end here: with a power or a fraction, too."""
        return self.ends_operand or self.kind == "power" or self.text in (*FRACTIONS, "∞", "⟩")

    @property
    def starts_value(self) -> bool:
        """Tell if an operand of mathematics starts here."""
        return self.starts_operand or self.text in (*FRACTIONS, "√", "∞", "⟨", "∑", "∏")

    @property
    def is_word(self) -> bool:
        """Tell if this is a name rather than one of Python's own words."""
        return self.kind == "name" and (not iskeyword(self.text) or self.text in _WORDS)

    @property
    def awaits_operand(self) -> bool:
        """Tell if a value must follow: after an operator, an open bracket, or a word such as ``and``."""
        return self.text in JOINING or (self.kind == "operator" and not self.ends_operand)


def tokens_of(code: str) -> list[Token]:
    """Return the tokens of a source; line ends inside brackets, spaces and comments are left out.

    >>> [token.text for token in tokens_of("y=2x  # twice")]
    ['y', '=', '2', 'x']
    """
    tokens: list[Token] = []
    line, start, depth, is_apart = 1, 0, 0, False
    for match in _PATTERN.finditer(code):
        kind, text = match.lastgroup or "operator", match.group()
        if kind == "operator":
            depth += (text in "([{") - (text in ")]}")
        if kind not in ("space", "comment") and not (kind == "newline" and depth > 0):
            tokens.append(Token(kind, text, line, match.start() - start, is_apart))
        is_apart = kind == "space"
        if "\n" in text:
            line, start = line + 1, match.end()
    return tokens


@dataclass(frozen=True)
class Bars:
    """Two signs around a value, ``|x|`` or ``||x||``: the tokens that they begin at, and how many tokens each has."""

    first: int
    last: int
    width: int
    name: str


def bar_readings(tokens: Sequence[Token]) -> list[list[Bars]]:
    """Return the ways in which the bars of a source belong together; [] for none, or for too many of them.

    >>> [[(bars.name, bars.first, bars.last) for bars in way] for way in bar_readings(tokens_of("|(|x|)*b| + ||w||"))]
    [[('abs', 2, 4), ('abs', 0, 8), ('norm', 10, 13)]]
    >>> len(bar_readings(tokens_of("|a|b|c|"))), len(bar_readings(tokens_of("|a")))
    (2, 0)
    """
    group, opened, groups = 0, [0], list[int]()  # a pair of bars is in one statement, and in one pair of brackets
    for at, token in enumerate(tokens):
        if token.text in _BRACKETS or (token.text == ";" or token.kind == "newline"):
            group = at + 1
            opened = [*opened, group] if token.text in _BRACKETS else [group]
        elif token.text in CLOSING and len(opened) > 1:
            opened.pop()
        groups.append(opened[-1])
    return _paired(tokens, groups, is_double=True) or _paired(tokens, groups, is_double=False)


def _paired(tokens: Sequence[Token], groups: Sequence[int], *, is_double: bool) -> list[list[Bars]]:
    """Return the ways in which bars belong together, two beside each other as one sign, or as two."""
    ways: list[tuple[tuple[Bars, ...], list[Bars], bool]] = [((), [], False)]  # open ones, pairs, if a bar closed last
    at, end = 0, -1  # the token, and the last one of the bar before
    while at < len(tokens):
        token, after = tokens[at], tokens[at + 1 : at + 2]
        is_pair = is_double and token.text == "|" and bool(after) and after[0].text == "|" and not after[0].is_apart
        width, name = 1 + is_pair, BARS.get(token.text + "|" * is_pair)
        if name is not None:
            follows = tokens[at + width] if at + width < len(tokens) else Token("newline", "", 0, 0)
            starts = follows.starts_value or follows.text in (*BARS, "+", "-", "~", "−", "[")
            new = []
            for opened, pairs, closed in ways:
                ends = closed if end == at - 1 and at else at > 0 and tokens[at - 1].ends_value
                bars = Bars(at, at, width, name)
                if opened and ends and (one := opened[-1]).name == name and groups[one.first] == groups[at]:
                    new.append((opened[:-1], [*pairs, replace(one, last=at)], True))
                if starts:
                    new.append(((*opened, bars), pairs, False))
            ways, end = new, at + width - 1
        if len(ways) > MAX_WAYS:
            return []
        at += width
    return [pairs for opened, pairs, _ in ways if not opened]
