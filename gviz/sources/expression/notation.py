"""Mathematics as people type it, cut into tokens and rewritten as an expression: ``2x``, ``sin x``, ``（x＋w）``, ``|x|``.

Read only where an error is to be explained.

The tokens are forgiving where Python's are not: ``2x`` is a number and a name, ``×`` is a character like any other.
"""

from __future__ import annotations

import ast
import re
import warnings
from dataclasses import dataclass, replace
from keyword import iskeyword
from typing import TYPE_CHECKING
from unicodedata import decomposition, normalize

from gviz.sources.expression.allowed import OTHER_NAMES, functions

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from gviz.sources.expression.parse import Text

__all__ = ["JOINING", "Token", "foreign", "replacement", "rewrite", "suggestion", "tokens"]

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
"""Characters of typeset mathematics -> how an expression writes them; full-width ones and superscripts follow from Unicode."""

JOINING = ("and", "or", "not", "if", "else", "in", "is")
"""Words that stand between operands, or before one."""

_ENDS_OPERAND = (")", "]", "}")
_BRACKETS = {"(": ")", "[": "]"}
_BINDING = ("^", "**", ".", "[")
_OPERATORS = {"^": "**", "=>": ">=", "<>": "!=", ":=": "="}
_WORDS = ("True", "False", "None")


@dataclass(frozen=True)
class Token:
    """A piece of a source.

    Args:
        kind: number, name, string, operator or newline; function for a name that is known to be one.
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
        return self.kind in ("number", "string") or self.is_word or self.text in _ENDS_OPERAND

    @property
    def starts_operand(self) -> bool:
        """Tell if a value starts here."""
        return self.kind in ("number", "string", "function") or self.is_word or self.text == "("

    @property
    def is_word(self) -> bool:
        """Tell if this is a name rather than one of Python's own words."""
        return self.kind == "name" and (not iskeyword(self.text) or self.text in _WORDS)

    @property
    def awaits_operand(self) -> bool:
        """Tell if a value must follow: after an operator, an open bracket, or a word such as ``and``."""
        return self.text in JOINING or (self.kind == "operator" and not self.ends_operand)


def suggestion(source: Text, but: str = "") -> str | None:
    """Return the hint with the source as it should be written, None if no rewriting of it can be read.

    Args:
        source: what was typed.
        but: a function's name that stands for a value.

    >>> from gviz.sources.expression.parse import Text
    >>> suggestion(Text("y=2x")), suggestion(Text("y=2*("))
    ('write y=2*x', None)
    """
    code, text = source.code.strip(), rewrite(source.code, functions() - {but})
    if len(text) > MAX_SUGGESTED or not text.isprintable() or text == code or code[-1:] in "([{":  # what follows is not known
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return f"write {source.prefix}{text}" if ast.parse(text).body else None
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def tokens(code: str) -> list[Token]:
    """Return the tokens of a source; line ends inside brackets, spaces and comments are left out.

    >>> [token.text for token in tokens("y=2x  # twice")]
    ['y', '=', '2', 'x']
    """
    typed: list[Token] = []
    line, start, depth, is_apart = 1, 0, 0, False
    for match in _PATTERN.finditer(code):
        kind, text = match.lastgroup or "operator", match.group()
        if kind == "operator":
            depth += (text in "([{") - (text in ")]}")
        if kind not in ("space", "comment") and not (kind == "newline" and depth > 0):
            typed.append(Token(kind, text, line, match.start() - start, is_apart))
        is_apart = kind == "space"
        if "\n" in text:
            line, start = line + 1, match.end()
    return typed


def replacement(character: str) -> str | None:
    """Return how an expression writes a character beyond ASCII: None if it is fine in a name, "" if it must be left out.

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
    """Yield line, column and character of each one that cannot be in an expression, comments left out."""
    for number, line in enumerate(code.split("\n"), start=1):
        for column, character in enumerate(line.partition("#")[0]):
            is_digit_of_name = character.isdecimal() and (line[column - 1 : column] + character).isidentifier()
            is_letter = replacement(character) is None and ("x" + character).isidentifier()
            if not (character.isascii() or is_digit_of_name or is_letter):
                yield number, column, character


def rewrite(code: str, known: Collection[str] | None = None) -> str:
    """Return the source as an expression would have it: signs replaced, products and calls written out, brackets closed.

    The result is a suggestion; whoever shows it has to see whether it can be read.

    >>> rewrite("y = 2x^2 + sin x（w＋1"), rewrite("sin 2x cos x")
    ('y = 2*x**2 + sin(x*(w+1))', 'sin(2*x)*cos(x)')
    """
    typed = _with_functions(tokens(_bars(_plain(code))), functions() if known is None else known)
    text, open_brackets = "", ""
    applied: list[int] = []  # how many brackets were open where a function without brackets began
    for at, token in enumerate(typed):
        before = typed[at - 1] if at else Token("newline", "", 0, 0)
        is_applied = token.kind == "function" and typed[at + 1].text != "("
        while applied and applied[-1] == len(open_brackets) and not _goes_on(before, token, is_applied=is_applied):
            text += ")"
            applied.pop()
        if before.ends_operand and token.starts_operand and not (before.kind == "number" and token.text.startswith(".")):
            text += "*"
        elif token.is_apart and text and not text.endswith("("):
            text += " "
        is_top = at == 1 or (at > 1 and typed[at - 2].text in (";", "\n"))
        text += "=" if token.text == "==" and is_top else _OPERATORS.get(token.text, token.text)
        if is_applied:
            text += "("
            applied.append(len(open_brackets))
        if token.text in _BRACKETS:
            open_brackets += _BRACKETS[token.text]
        elif token.text in _ENDS_OPERAND:
            open_brackets = open_brackets[:-1]
    return (text + ")" * len(applied) + open_brackets[::-1]).strip()


def _with_functions(typed: list[Token], known: Collection[str]) -> list[Token]:
    """Return the tokens, with another kind and the engine's name for a function with its argument behind it."""
    marked = [*typed]
    for at, (before, token, after) in enumerate(zip([None, *typed], typed, [*typed[1:], None], strict=False)):
        is_member, is_called = before is not None and before.text == ".", after is not None and after.text == "("
        takes = after is not None and after.kind in ("name", "number") and not iskeyword(after.text)
        name = OTHER_NAMES.get(token.text, token.text)
        if token.kind == "name" and is_member and is_called:
            marked[at] = replace(token, kind="function")
        elif token.kind == "name" and not is_member and name in known and (is_called or takes):
            marked[at] = replace(token, kind="function", text=name)
    return marked


def _goes_on(before: Token, token: Token, *, is_applied: bool) -> bool:
    """Return whether a token belongs to the argument without brackets before it: a power, a part, or a factor does."""
    if before.kind == "function" or token.text in _BINDING or before.text in _BINDING[:-1]:
        return True
    return token.starts_operand and not is_applied


def _plain(code: str) -> str:
    """Return the text with each foreign character replaced; a run of superscripts becomes one exponent."""
    code = re.sub(r"[^\x00-\x7f]+", lambda match: _exponents(match.group()), code)
    code = re.sub(r"(?<=[\w)\]]) +mod +(?=[\w(])", " % ", code)
    return re.sub(r"√ *(?=\()", "sqrt", code).replace("√", "sqrt ").replace("{", "(").replace("}", ")")


def _exponents(run: str) -> str:
    text = "".join(c if c == "√" or (new := replacement(c)) is None else new for c in run)
    powers = re.split(r"((?:\*\*[-+()\w])+)", text)
    for i in range(1, len(powers), 2):
        exponent = powers[i].replace("**", "")
        powers[i] = f"**{exponent}" if re.fullmatch(r"-?\w+", exponent) else f"**({exponent})"
    return "".join(powers)


def _bars(code: str) -> str:
    """Return the text with ``|x|`` as ``abs(x)`` and ``||x||`` as ``norm(x)``."""
    code = re.sub(r"\|\|([^|\n]+)\|\|", r"norm(\1)", code)
    return re.sub(r"\|([^|\n]+)\|", r"abs(\1)", code)
