"""What people type as mathematics, cut into tokens and rewritten as an expression: ``2x``, ``sin x``, ``（x＋w）``, ``|x|``.

Read only where an error is to be explained.

The tokens are forgiving where Python's are not: ``2x`` is a number and a name, ``×`` is a character like any other.
"""

from __future__ import annotations

import ast
import re
import warnings
from dataclasses import dataclass
from keyword import iskeyword
from typing import TYPE_CHECKING
from unicodedata import decomposition, normalize

from gviz.sources.expression.allowed import OTHER_NAMES, functions

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from gviz.sources.expression.parse import Source

__all__ = ["Token", "foreign", "replacement", "rewrite", "suggestion", "tokens"]

MAX_SUGGESTED = 200
"""Characters of an expression that a hint repeats."""

_PATTERN = re.compile(
    r"""(?P<space>[ \t]+|\\\n)
      | (?P<comment>\#[^\n]*)
      | (?P<newline>\n)
      | (?P<number>0[xXoObB][0-9a-fA-F_]+ | (?:[0-9][0-9_]*\.?[0-9]* | \.[0-9]+)(?:[eE][+-]?[0-9]+)?)
      | (?P<name>[^\W\d]\w*)
      | (?P<string>'[^'\n]*' | "[^"\n]*")
      | (?P<operator>\*\*=|//=|>>=|<<=|\.\.\.|\*\*|//|<<|>>|<=|>=|==|!=|->|=>|:=|<>|[-+*/%@&|^]=|.)""",
    re.VERBOSE,
)

_MEANT = {
    "×": "*", "·": "*", "\N{GREEK ANO TELEIA}": "*", "⋅": "*", "∙": "*", "•": "*", "∗": "*", "✕": "*", "✖": "*", "⨯": "*",
    "⊙": "*", "∘": "*", "÷": "/", "∕": "/", "⁄": "/", "−": "-", "–": "-", "—": "-", "‐": "-", "‑": "-", "√": "sqrt",
    "≤": "<=", "≥": ">=", "≠": "!=", "≡": "=", "≔": "=", "→": "", "∞": "inf", "⊤": ".T", "ᵀ": ".T", "ˆ": "**", "˄": "**",
    "‘": "'", "’": "'",
    "“": '"', "”": '"', "′": "", "″": "", "…": "...", "、": ",", "。": ".", "【": "(", "】": ")", "「": "(", "」": ")",
    "〔": "(", "〕": ")", "⟨": "(", "⟩": ")", "½": "(1/2)", "⅓": "(1/3)", "⅔": "(2/3)", "¼": "(1/4)", "¾": "(3/4)",
    "\N{ZERO WIDTH SPACE}": "", "\N{ZERO WIDTH JOINER}": "", "\N{ZERO WIDTH NON-JOINER}": "", "\N{WORD JOINER}": "",
    "\N{SOFT HYPHEN}": "", "\N{ZERO WIDTH NO-BREAK SPACE}": "", "\N{INVISIBLE TIMES}": "*", "\N{INVISIBLE SEPARATOR}": "",
    "\N{LEFT-TO-RIGHT MARK}": "", "\N{RIGHT-TO-LEFT MARK}": "", "∥": "|", "‖": "||",
}  # fmt: skip
"""What a character of typeset mathematics is in an expression; full-width ones and superscripts follow from Unicode."""

_ENDS_OPERAND = (")", "]")
_WORDS = ("True", "False", "None")
_PREFIXES = ("+", "-", "~", "(", "[", "{", "...", ")", "]", "}", ",", ";", "\n", ":", "=", "*", "**", ".")


@dataclass(frozen=True)
class Token:
    """A piece of a source.

    Args:
        kind: number, name, string, operator or newline.
        text: as typed.
        line: 1-based.
        column: 0-based.
    """

    kind: str
    text: str
    line: int
    column: int

    @property
    def ends_operand(self) -> bool:
        """Whether a value can end here, so that an operator has to follow."""
        return self.kind in ("number", "string") or self.is_word or self.text in _ENDS_OPERAND

    @property
    def starts_operand(self) -> bool:
        """Whether a value starts here."""
        return self.kind in ("number", "string") or self.is_word or self.text == "("

    @property
    def is_word(self) -> bool:
        """Whether this is a name rather than one of Python's own words."""
        return self.kind == "name" and (not iskeyword(self.text) or self.text in _WORDS)

    @property
    def is_binary(self) -> bool:
        """Whether an operator stands between two operands only; ``*x`` and ``**x`` unpack."""
        return self.kind == "operator" and self.text not in _PREFIXES


def suggestion(source: Source, but: str = "") -> str | None:
    """Return the hint with the source as it should be written, None if no rewriting of it can be read.

    Args:
        source: what was typed.
        but: a function's name that stands for a value.

    >>> from gviz.sources.expression.parse import Source
    >>> suggestion(Source("y=2x"))
    'write y=2*x'
    """
    text = rewrite(source.code, functions() - {but})
    if len(text) > MAX_SUGGESTED or not text.isprintable() or text == source.code.strip():
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return f"write {source.prefix}{text}" if ast.parse(text).body else None
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def tokens(code: str) -> list[Token]:
    """The tokens of a source; line ends inside brackets, spaces and comments are left out.

    >>> [token.text for token in tokens("y=2x  # twice")]
    ['y', '=', '2', 'x']
    """
    found: list[Token] = []
    line, start, depth = 1, 0, 0
    for match in _PATTERN.finditer(code):
        kind, text = match.lastgroup or "operator", match.group()
        if kind == "operator":
            depth += (text in "([{") - (text in ")]}")
        if kind not in ("space", "comment") and not (kind == "newline" and depth > 0):
            found.append(Token(kind, text, line, match.start() - start))
        if "\n" in text:
            line, start = line + 1, match.end()
    return found


def replacement(character: str) -> str | None:
    """What a character beyond ASCII is in an expression, None for one that is fine in a name, "" for one to leave out.

    >>> replacement("×"), replacement("（"), replacement("²"), replacement("α")
    ('*', '(', '**2', None)
    """
    if character in _MEANT:
        return _MEANT[character]
    if character.isdecimal():
        return str(int(character))
    if decomposition(character).startswith("<super>") and character not in "ªº":
        return "**" + normalize("NFKC", character).replace("−", "-")
    if decomposition(character).startswith("<sub>") and not character.isidentifier():
        return "_" + normalize("NFKC", character)
    if not ("x" + character).isidentifier():
        plain = normalize("NFKC", character)
        return plain if plain.isascii() and plain.isprintable() and plain.strip() else None
    return None


def foreign(code: str) -> Iterator[tuple[int, int, str]]:
    """Line, column and character of each one that has no place in an expression, comments left out."""
    for number, line in enumerate(code.split("\n"), start=1):
        for column, character in enumerate(line.partition("#")[0]):
            if not character.isascii() and (replacement(character) is not None or not ("x" + character).isidentifier()):
                yield number, column, character


def rewrite(code: str, known: Collection[str] | None = None) -> str:
    """The source as an expression would have it: every sign replaced, products and calls written out.

    The result is a suggestion; whoever shows it has to see whether it can be read.

    >>> rewrite("y = 2x^2 + sin x（w＋1）")
    'y = 2*x**2 + sin(x*(w+1))'
    """
    return _Rewriter(tokens(_bars(_plain(code))), functions() if known is None else known).text()


def _plain(code: str) -> str:
    """The text with each foreign character replaced; a run of superscripts becomes one exponent."""
    code = re.sub(r"[^\x00-\x7f]+", lambda match: _exponents(match.group()), code)
    return re.sub(r"√ *(?=\()", "sqrt", code).replace("√", "sqrt ").replace("{", "(").replace("}", ")")


def _exponents(run: str) -> str:
    text = "".join(c if c == "√" or (new := replacement(c)) is None else new for c in run)
    powers = re.split(r"((?:\*\*[-+()\w])+)", text)
    for i in range(1, len(powers), 2):
        exponent = powers[i].replace("**", "")
        powers[i] = f"**{exponent}" if re.fullmatch(r"-?\w+", exponent) else f"**({exponent})"
    return "".join(powers)


def _bars(code: str) -> str:
    """``|x|`` as ``abs(x)`` and ``||x||`` as ``norm(x)``."""
    code = re.sub(r"\|\|([^|\n]+)\|\|", r"norm(\1)", code)
    return re.sub(r"\|([^|\n]+)\|", r"abs(\1)", code)


class _Rewriter:
    """Writes tokens out again with the operators that mathematics leaves out."""

    def __init__(self, found: list[Token], functions: Collection[str]) -> None:
        self.found, self.functions = found, functions
        self.parts: list[str] = []
        self.at = 0
        self.last: Token | None = None

    def text(self) -> str:
        while self.at < len(self.found):
            token = self.found[self.at]
            if self._is_application(self.at):
                self._lead(token)
                self._application()
            else:
                self._emit(token)
        return "".join(self.parts).strip()

    def _is_application(self, at: int) -> bool:
        """Whether a function's name is followed by its argument without brackets: ``sin x``."""
        token, after = self.found[at], self._get(at + 1)
        dotted = at > 0 and self.found[at - 1].text == "."
        known = token.kind == "name" and self._name(token) in self.functions and not dotted
        return known and after is not None and after.kind in ("name", "number") and not iskeyword(after.text)

    def _application(self) -> None:
        """Write ``sin 2x`` as ``sin(2*x)``; at a function whose argument has no brackets."""
        opened = 0
        while self._is_application(self.at):
            self.parts += [self._name(self.found[self.at]), "("]
            self.at += 1
            opened += 1
        self.last = None
        while (token := self._get(self.at)) is not None and self._belongs(token):
            depth = 0
            while (token := self._get(self.at)) is not None:  # a bracket is taken whole
                depth += (token.text in ("(", "[")) - (token.text in _ENDS_OPERAND)
                self._emit(token)
                if depth <= 0:
                    break
        self.parts.append(")" * opened)
        self.last = Token("operator", ")", 0, 0)

    def _belongs(self, token: Token) -> bool:
        if self.last is None:
            return True
        power = token.text in ("^", "**", ".", "[") or self.last.text in ("^", "**", ".")
        return power or (token.starts_operand and not self._is_application(self.at))

    def _emit(self, token: Token) -> None:
        self._lead(token)
        top = self.at == 1 or (self.at > 1 and self.found[self.at - 2].text in (";", "\n"))
        text = {"^": "**", "=>": ">=", "<>": "!=", ":=": "="}.get(token.text, token.text)
        self.parts.append("=" if token.text == "==" and top else self._name(token) if self._is_called() else text)
        self.last = token
        self.at += 1

    def _lead(self, token: Token) -> None:
        """Write what comes before a token: a ``*`` that is missing, else the space that was typed."""
        before = self.found[self.at - 1] if self.at else None
        is_product = self.last is not None and self.last.ends_operand and token.starts_operand
        if is_product and (token.text != "(" or not self._is_call(self.at - 1)):
            self.parts.append("*")
            return
        spaced = before is not None and before.line == token.line and before.column + len(before.text) < token.column
        if spaced and self.parts and not self.parts[-1].endswith("("):
            self.parts.append(" ")

    def _is_call(self, at: int) -> bool:
        """Whether the token is a name that a bracket calls, rather than multiplies."""
        token = self.found[at]
        dotted = at > 0 and self.found[at - 1].text == "."
        return token.kind == "name" and (dotted or self._name(token) in self.functions)

    def _is_called(self) -> bool:
        after = self._get(self.at + 1)
        return self.found[self.at].kind == "name" and after is not None and after.text == "("

    def _name(self, token: Token) -> str:
        """The engine's name for a function."""
        meant = OTHER_NAMES.get(token.text, token.text)
        return meant if meant in self.functions else token.text

    def _get(self, at: int) -> Token | None:
        return self.found[at] if 0 <= at < len(self.found) else None
