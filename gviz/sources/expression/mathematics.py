"""Mathematics that has one reading, read as it is meant: ``2x``, ``x²``, ``|x|``, ``√x``, ``f(x)=wx+b``.

Read only where Python's parser or the allow-list refuses an expression, and where a name without a value may be a
product. Each piece that is written keeps the place of what was typed, so that errors and tables point there. What has
two readings is refused; :mod:`gviz.sources.expression.suggestion` writes what is suggested then.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from keyword import iskeyword
from math import factorial
from typing import Any

from gviz.sources.expression.allowed import (
    MODULES,
    function_name,
    is_function,
    word_set,
)
from gviz.sources.expression.characters import FRACTIONS, exponent_text, replacement
from gviz.sources.expression.pieces import Piece, program_of
from gviz.sources.expression.products import (
    LETTER,
    MANY,
    OF_VARIABLE,
    SUBSCRIPT,
    TRANSPOSED_NAME,
    USUAL,
    KnownNames,
    as_calls,
    as_product,
    dimensions,
    has_case,
    is_callable,
)
from gviz.sources.expression.program import ExpressionText, Program, RefusedError
from gviz.sources.expression.rewriting import WORDS_OF_SIGNS, with_angles
from gviz.sources.expression.tokens import CLOSING, Token, bar_readings, tokens_of

SUM = "sum(...) adds all elements, as in sum(w*x) with w=[1,2] x=[3,4]"
BY_ELEMENT = {".*": "*", "./": "/", ".^": "**", ".+": "+", ".-": "-"}
"""Signs of MATLAB and Julia, for each element by itself."""

LOGARITHMS = ("log10", "log2")
"""What ``lg`` may be."""

QUOTES = {"“": "”“", "”": "”", "„": "“”", "«": "»", "»": "«", "‘": "’‘", "‚": "‘’", "’": "’"}
"""Quotes that are no quotes of a shell's -> those that close them."""

MAX_FACTORIAL = 20
"""The factorial of a larger number does not fit into 64 bits."""

PRODUCTS = ("×", "·", "⋅", "∙", "•", "\N{GREEK ANO TELEIA}", "\N{INVISIBLE TIMES}")
"""Signs of products that are ``*`` of numbers, and another thing of matrices."""

ANGLES = ("⟨", "⟩")
SIGNS = ("−", "÷", "∕", "⊙", "∘", "∗", "≤", "≥", "≠")
"""Signs that have one meaning."""

POWERS = ("^", "**")
TRANSPOSES = ("ᵀ", "⊤", "^T")
REDUCTIONS = word_set("∑ ∏ sum mean prod max min amax amin median norm std var logsumexp sort")
SIGNS_OF_ONE = ("+", "-", "−", "~")
"""Signs of one operand."""

BEFORE_TERM = ("", "+", "-", "−", ")", "]", ",", ";", "\n", "=", "==", "!=", "<", ">", "<=", ">=")
DIVISIONS = ("/", "//", "%", "@", "÷", "∕")
_END = Token("newline", "", 0, 0)


@dataclass(frozen=True)
class Doubt:
    """A piece that has two readings.

    Args:
        token: the piece.
        what: what is the matter with it.
        ways: the hint with both readings, unless a suggestion for the whole text is better.
        name: a name without a value that it is; "" for anything else.
        letters: names that may stand in such names.
        texts: what may have been meant by the whole text.
    """

    token: Token
    what: str
    ways: str
    name: str = ""
    letters: tuple[str, ...] = ()
    texts: tuple[str, ...] = ()


def read_mathematics(
    source: ExpressionText, *, is_python: bool = False
) -> Program | Doubt | Token | RefusedError | SyntaxError | None:
    """Return the program that a source is if its mathematics has one reading, or what has two.

    Or why it is none: the first piece of which it is not certain how it is meant, or what is wrong with the whole.

    Args:
        source: what was typed, and the values of names; its places stay those of the program.
        is_python: whether Python reads it too, so that names alone may be products.

    >>> program = read_mathematics(ExpressionText("y = 2x² + |w|"))
    >>> program.reading(), list(program.free)
    ('y = 2*x**2 + abs(w)', ['x', 'w'])
    >>> read_mathematics(ExpressionText("y = 1/2x")).ways
    'write 1/(2*x) or (1/2)*x'
    """
    reader = _Reader(source, is_python=is_python)
    program = program_of(source, reader.pieces) if reader.read() else reader.stop
    if not isinstance(program, Program):
        return program
    if source.prefix and program.free:
        return None
    return reader.doubts[0] if reader.doubts else program


class _Reader:
    """Writes the pieces of a source, token by token.

    Args:
        source: what was typed.
        is_python: whether Python reads it too.
    """

    def __init__(self, source: ExpressionText, *, is_python: bool) -> None:
        self.source, self.values = source, source.values
        tokens = tokens_of(with_angles("".join(map(_plain, source.code))))
        before = len(tokens)
        tokens = [one for one, after in pairwise([*tokens, _END]) if (one.text, after.text) != (".", "(")]  # exp.(x)
        has_matrices = len(tokens) < before or any(one.text in BY_ELEMENT or one.text == "inv" for one in tokens)
        signs = BY_ELEMENT | ({"*": "·"} if has_matrices else {})  # where .* is by element, * is that of matrices
        tokens = [*_split([*_with_brackets(tokens)], self.values)]
        self.tokens = [replace(one, text=signs.get(one.text, one.text)) for one in tokens]
        self.pieces: list[Piece] = []
        self.pairs = dict(_bracket_pairs(self.tokens))
        if "Σ" not in {*self.values, *self._assigned()}:  # the letter of a keyboard for the sign of a sum
            self.tokens = [replace(one, text="∑", kind="operator") if one.text == "Σ" else one for one in self.tokens]
        self.doubts: list[Doubt] = []  # what has two readings
        self.stop: Token | None = None  # the first token that cannot be read with certainty
        self.defined: dict[str, list[str]] = {}  # f(x) = ... -> what is in its brackets
        self.closing: dict[int, list[str]] = {}  # at a token: what is written behind it, a bracket first
        self.skipped: set[int] = set(self._quotes())
        self.arguments: set[int] = set()  # where the argument of a function begins, behind a power
        self.bars = {} if is_python else dict(self._bars())
        self.operators = [""]  # for each open bracket, the sign before the factors that are read
        self.names = KnownNames(self.values, set(self._assigned()))
        self.names.value_names = self._names_of_values()
        self._call_functions()

    def _call_functions(self) -> None:
        """Give a function round brackets for ``Exp[x]``, and the small letters that it has."""
        for at, token in enumerate(self.tokens):
            is_square = self._next(at).text == "[" and at + 1 in self.pairs
            if self.names.is_function(token.text) and is_square:
                is_known = is_callable(token.text.lower())
                self.tokens[at] = replace(token, text=token.text.lower() if is_known else token.text)
                for end, sign in ((at + 1, "("), (self.pairs.get(at + 1, at + 1), ")")):
                    self.tokens[end] = replace(self.tokens[end], text=sign)

    def read(self) -> bool:
        """Write all pieces; return whether that came out, and is another thing than what was typed."""
        for at, token in enumerate(self.tokens):
            if at not in self.skipped:
                is_read = not self._is_product(at) or self._multiply(at, self.tokens[at - 1], token)
                if not is_read or not self._token(at, token):
                    self.stop = token
                    return False
            for text in self.closing.pop(at, ()):
                self._write(text, token)
        is_other = [piece.text for piece in self.pieces] != [token.text for token in tokens_of(self.source.code)]
        return is_other or bool(self.doubts)

    def _write(self, text: str, first: Token, last: Token | None = None, mark: str = "") -> bool:
        before = self.pieces[-1] if self.pieces else None
        is_joined = before is not None and (
            text == ")" or before.last is first or (before.text == "(" and before.first.text != "(")
        )
        self.pieces.append(Piece(text, first, last or first, first.is_apart and not is_joined, mark))
        return True

    def _next(self, at: int, by: int = 1) -> Token:
        return self.tokens[at + by] if 0 <= at + by < len(self.tokens) else _END

    def _quotes(self) -> Iterator[int]:
        """Yield the tokens that are quotes around all of the source, which a shell takes for letters."""
        first, last = self._next(0, 0), self._next(len(self.tokens) - 1, 0)
        if first.text in QUOTES and last.text in QUOTES[first.text]:
            yield from (0, len(self.tokens) - 1)
        elif first is last and first.kind == "string" and not re.fullmatch(r"\w*", first.text[1:-1]):
            inside = replace(first, text=first.text[1:-1], column=first.column + 1)
            self.tokens[:] = [
                replace(one, line=first.line, column=inside.column + one.column) for one in tokens_of(inside.text)
            ]

    # -------------------------------------------------------------- signs
    def _token(self, at: int, token: Token) -> bool:  # noqa: C901, PLR0911 - one answer for each kind
        """Write a token; return False if it has no reading."""
        text = token.text
        if token.kind == "name":
            return self._name(at, token)
        if token.kind == "power":
            return self._power(at, token, text)
        if at in self.bars:
            return self._bar(at, token)
        if text == "√":
            return self._function(at, token, "sqrt")
        if text in ("∑", "∏"):
            return self._sum(at, token)
        if text in ANGLES:
            return self._inner_product(at, token)
        if text in FRACTIONS:
            return all(self._write(part, token) for part in replacement(text) or "")
        if token.kind == "number":
            return self._number(at, token)
        if text in ("(", "["):
            self.operators.append("")
        elif text in (")", "]") and len(self.operators) > 1:
            self.operators.pop()
        elif token.kind in ("operator", "newline") and text != "." and not self._is_unary(at):
            self.operators[-1] = text if text not in ("^", "**") else self.operators[-1]
        if text == "^" or text in PRODUCTS:
            return self._write("**" if text == "^" else "*", token, mark=text if text in ("^", "×") else "·")
        sign = replacement(text) if text in SIGNS or text == "∞" else text
        return (sign or "").isascii() and self._write(sign or "", token)

    def _number(self, at: int, token: Token) -> bool:
        """Write a number, with the fraction or the factorial behind it, and without C's sign of a float."""
        after = self._next(at)
        if after.text == "!" and token.text.isdecimal() and int(token.text) <= MAX_FACTORIAL:
            self.skipped.add(at + 1)
            return self._write(str(factorial(int(token.text))), token, after)
        is_mixed = after.text in FRACTIONS and not after.is_apart
        is_float = (
            after.text == "f"
            and "f" not in self.names
            and all("." in one.text and not sign.is_apart for one, sign in pairwise(self.tokens) if sign.text == "f")
        )
        if not is_mixed and not is_float:
            return self._write(token.text, token)
        self.skipped.add(at + 1)
        parts = ("(", token.text, "+", *(replacement(after.text) or "")[1:]) if is_mixed else (token.text,)
        return all(self._write(part, token, after) for part in parts)

    def _inner_product(self, at: int, token: Token) -> bool:
        """Write ``⟨x,w⟩`` of two vectors as ``(x @ w)``; return False if it is not certain that they are vectors."""
        one, comma, other, end = (self._next(at, by) for by in range(1, 5))
        are_vectors = [dimensions(self.values.get(name.text)) for name in (one, other)] == [1, 1]
        if token.text != "⟨" or comma.text not in (",", "|") or end.text != "⟩" or not are_vectors:
            return False
        self.skipped.update(range(at + 1, at + 5))
        pieces = (("(", token), (one.text, one), (" @ ", comma), (other.text, other), (")", end))
        return all(self._write(*piece) for piece in pieces)

    def _is_unary(self, at: int) -> bool:
        """Return whether a token is the sign of one operand."""
        return self.tokens[at].text in SIGNS_OF_ONE and not self._ends(at - 1)

    def _ends(self, at: int) -> bool:
        """Return whether an operand ends with a token."""
        return self.bars.get(at, "") == ")" or self._next(at, 0).ends_value

    def _starts(self, at: int) -> bool:
        """Return whether an operand starts with a token."""
        return self.bars.get(at, ")") != ")" or self._next(at, 0).starts_value

    def _is_product(self, at: int) -> bool:
        """Return whether a token and the one before it are factors of a product."""
        before, token = self._next(at, -1), self.tokens[at]
        if at == 0 or at in self.arguments or not (self._ends(at - 1) and self._starts(at)):
            return False
        if before.text in TRANSPOSES and self.pieces[-1].text == " @ ":
            return False
        if token.text == "(" and before.kind == "name":
            return self.names.is_value(before.text) and not self._is_function(at - 1)
        return not (before.kind == "name" and self._is_function(at - 1, bare=True))

    def _multiply(self, at: int, before: Token, token: Token) -> bool:
        """Write the sign of a product that has none; return False if it is not certain what its factors are."""
        is_number = token.kind == "number" or token.text in FRACTIONS
        is_float = before.kind == "number" and "." in before.text and token.text == "f"
        is_e = token.text == "e" and not (
            "e" in self.names or self._next(at).text in POWERS or self._next(at).kind == "power"
        )
        is_next = self._next(at).text in ("=", "==") and len(self.operators) == 1
        operand = self._operand(at)
        binds = operand is not None and self._next(operand).text in (".", "[")
        if token.text[0] == "_" or (at in self.bars and before.kind == "name" and self.names.is_function(before.text)):
            return False  # softmax(x)_i, ||x||_1, sin|x|
        if (is_number and before.text not in CLOSING) or is_float or is_e or is_next or binds:
            return False
        is_applied = self._is_function(at) or (
            OF_VARIABLE.fullmatch(f"{token.text}x") and self._is_function(at, bare=True)
        )
        words = [one.text for one in (before, token) if one.kind == "name" and before.kind == token.kind]
        words = words[: 1 if is_applied and token.text not in WORDS_OF_SIGNS else 2]
        is_word = (len(word) > 2 or word in WORDS_OF_SIGNS for word in words if word not in self.names)
        if any(is_word) and not any(SUBSCRIPT.search(word) for word in words):
            return False  # print x
        if before.text == "]" or before.kind == "string" or token.kind == "string":
            return False
        if token.text == "x10" and before.kind == "number" and "x10" not in self.names:  # 3x10^-3
            self._doubt(token, "x10 has two readings", f"write {before.text}*10 or {before.text}*x10")
        self._refuse_index(at, before.text)
        self._refuse_doubt(at, token)
        return self._times(before, token)

    def _times(self, before: Token, token: Token) -> bool:
        """Write the sign of a product: that of matrices behind a transposed one, as in ``xᵀ W x``."""
        is_chain = [piece.text for piece in self.pieces[-2:-1]] == [" @ "]
        if is_chain and token.kind == "name" and dimensions(self.values.get(token.text)) != 0:
            return self._write(" @ ", before, token)
        return self._write("*", replace(before, is_apart=False), token, mark="·")

    def _refuse_index(self, at: int, name: str) -> None:
        """Note that ``x(1)`` may be a part of a vector, as MATLAB writes it."""
        inside = "".join(one.text for one in self.tokens[at + 1 : self.pairs.get(at, at)])
        is_part = self._next(at, 0).text == "(" and re.fullmatch(r"(\d+|end)(,(\d+|end))*", inside) is not None
        if is_part and dimensions(self.values.get(name)):
            places = (str(max(int(one) - 1, 0)) if one.isdecimal() else "-1" for one in inside.split(","))
            ways = f"write {name}[{', '.join(places)}] for a part, which is counted from 0"
            ways += f", or {name}*({inside})" if inside.isdecimal() else ""
            self._doubt(self.tokens[at], f"{name}({inside}) has two readings", ways)

    def _refuse_doubt(self, at: int, token: Token) -> None:
        """Note a product without a sign behind a division or a power, which has several readings."""
        before = self._next(at, -1)
        first = at - 1 - self._is_unary(at - 2)  # of what may be an exponent
        is_power = self._next(first, -1).text in ("^", "**") and before.text not in CLOSING and not token.is_apart
        is_division = self.operators[-1] in DIVISIONS
        if not is_division and not is_power:
            return
        sign = self._sign_before(at, DIVISIONS)
        term = self._sign_before(sign if is_division else at, BEFORE_TERM) + 1
        whole, other = self._text(term, at - 1), self._text(at, self._product_end(at))
        parts = [self._text(first, at - 1)] * is_power + [self._text(sign + 1, at - 1)] * is_division
        ways = [f"{whole.removesuffix(part)}({part}*{other})" for part in parts] + [f"({whole})*{other}"]
        what = f"{self._next(first, -1).text if is_power else self.operators[-1]} before a product without a sign"
        many = "two" if len(parts) == 1 else "several"
        self._doubt(token, f"{what} has {many} readings", f"write {' or '.join(ways)}")

    def _sign_before(self, at: int, signs: Collection[str]) -> int:
        """Return where the last of some signs stands before a token, or its own bracket opens; -1 for neither.

        What is in other brackets, and the sign of an exponent, are passed over.
        """
        starts = {end: start for start, end in self.pairs.items()}
        at -= 1
        while at >= 0:
            text = self.tokens[at].text
            is_exponents = self._is_unary(at) and self._next(at, -1).text in ("^", "**")
            if at in starts:
                at = starts[at]
            elif at in self.pairs or text == "[" or (text in signs and not is_exponents):
                return at
            at -= 1
        return -1

    def _product_end(self, at: int) -> int:
        """Return where a product without signs ends that starts at a token."""
        while True:
            end = self._raised_operand(at)
            if end is None and (self._next(at, 0).text in ("√", "∑", "∏") or self._is_function(at, bare=True)):
                at += 1
            elif end is not None and end + 1 < len(self.tokens) and self._is_product(end + 1):
                at = end + 1
            else:
                return at if end is None else end

    def _text(self, first: int, last: int) -> str:
        """Return what was typed from one token to another, with the signs of products."""
        text = ""
        for at, token in enumerate(self.tokens[first : last + 1], start=first):
            is_product = at > first and self.tokens[at - 1].text not in TRANSPOSES and self._is_product(at)
            text += ("*" if is_product else " " * (token.is_apart and at > first)) + token.text
        return text

    def _power(self, at: int, token: Token, exponent: str) -> bool:
        """Write a superscript."""
        before = self._next(at, -1)
        if exponent in TRANSPOSES:
            return self._transposed(at, token, before)
        is_of_transposes = before.text == ")" and any(one.text in TRANSPOSES for one in self.tokens)  # (XᵀX)⁻¹
        is_inverse = exponent == "⁻¹" and (is_of_transposes or dimensions(self.values.get(before.text, 0)) != 0)
        if not self._ends(at - 1) or before.kind == "power" or is_inverse or self._next(at).text in (".", "["):
            return False
        self._write("**", token, mark="^")
        return self._raise(token, exponent)

    def _raise(self, token: Token, raised: str) -> bool:
        """Write superscripts as an exponent, in brackets if they are more than a number or a name."""
        text = exponent_text(raised)
        pieces = [one.text for one in tokens_of(text if re.fullmatch(r"-?\w+", text) else f"({text})")]
        return all(self._write(piece, token) for piece in pieces)

    def _transposed(self, at: int, token: Token, before: Token) -> bool:
        """Write a transposed name, and the sign behind it; return False for what has no value to tell how."""
        dims = dimensions(self.values.get(before.text))
        if before.kind != "name" or dims is None or self._next(at).text in (".", "[", "^", "**"):
            return False
        if dims == 2:
            self._write(".", token)
            self._write("T", token)
        if self._starts(at + 1) and dims:
            self._write(" @ ", token)
        return True

    def _bar(self, at: int, token: Token) -> bool:
        """Write a bar, or two, as a function with its bracket."""
        name = self.bars[at]
        self.operators = (self.operators[:-1] or [""]) if name == ")" else [*self.operators, ""]
        if name != ")":
            self._write(name, token, mark="" if name == "norm" or self._is_reduced(at) else "|")
        last = self.tokens[at + 1] if at + 1 in self.skipped else token
        return self._write("(" if name != ")" else ")", token, last)

    def _is_reduced(self, at: int) -> bool:
        """Return whether a bar opens what a sum, a mean or the like is of, so that it is meant for each element."""
        around = [start for start, end in self.pairs.items() if start <= at < end]
        before = {function_name(self._next(start, -1).text) for start in around}
        return bool(before & REDUCTIONS) or self._next(self.pairs[at]).text == "."

    # -------------------------------------------------------------- names
    def _name(self, at: int, token: Token) -> bool:  # noqa: PLR0911 - one answer for each kind
        """Write a name: a function, a factor, or several."""
        text, before, after = token.text, self._next(at, -1), self._next(at)
        is_keyword = after.text == "=" and len(self.operators) > 1
        if not text[0].isidentifier():  # a subscript alone
            return False
        if iskeyword(text) or before.text == "." or is_keyword or (after.text == "." and text in MODULES):
            return self._write(text, token)
        if after.text == "(" and (text in self.defined or self._defines(at)):
            return self._defined(at, token)
        if text == "e" and text not in self.names and (after.text in POWERS or after.kind == "power"):
            return self._exponential(at, token, after)
        if text == "E" and text not in self.names and after.text in POWERS and self._next(at, 2).kind != "number":
            power = self._text(
                at + 2, self._raised_operand(at + 2 + (self._next(at, 2).text in SIGNS_OF_ONE)) or at + 2
            )
            ways = f"write e^{power}; or give it a value, if it is a name: E=1"
            self._doubt(token, "E before a power may be e, and it has no value", ways)
        if after.text == "(" and (factor := self.names.factor_before(text)):
            name, column = text.removeprefix(factor), token.column + len(factor)
            function = replace(token, text=name, column=column, is_apart=False)
            self._write(self.names.numbered_name(factor), replace(token, text=factor))
            return self._write("*", function, mark="·") and self._function(at, function, function_name(name))
        if text == "lg" and text not in self.names:
            return self._logarithm(at, token)
        if (raised := self._raised(at)) is not None:
            return self._power_of_function(at, token, *raised)
        if self._is_function(at) or self._is_function(at, bare=True):
            return self._function(at, token, function_name(text))
        return self._factors(at, token)

    def _factors(self, at: int, token: Token) -> bool:
        """Write a name that is no function: one, or the factors of a product."""
        text, before, after = token.text, self._next(at, -1), self._next(at)
        is_new, is_sum = text not in self.names, "Σ" in text and "Σ" not in self.names
        is_transposed = any(replacement(c) is not None for c in SUBSCRIPT.sub("", text) if not c.isascii())
        is_root = after.kind == "power" or after.text == "^"  # sin²(x), xsin²(x)
        is_root = is_root and len(text) > 1 and (is_function(text) or (len(text) > MANY and is_function(text[1:])))
        if is_new and is_root and len(text) == len("gt"):  # torch.gt, but hardly meant
            parts, _ = self.names.factors(text, has_subscript=False)
            if len(parts) == 1:
                return self._glued(text, [[*text]], token) and self._write(text, token)
            is_root = False
        is_power_t = text == "T" and before.text == "^"
        if is_transposed or (is_new and (is_root or is_power_t or text == "Σ")):
            return False
        if is_new and is_sum:
            return self._glued(text, [], token) and self._write(text, token)
        is_name = not (is_new and has_case(text)) or text.lower() in USUAL or is_function(text)
        plain = self.names.numbered_name(text)
        letters = [] if is_name else LETTER.findall(plain)
        if before.text == "√" and len(letters) > 1 and "".join(letters) == plain:
            other = "*".join(letters[1:]) + self._text(at, self._product_end(at)).removeprefix(text)
            return self._root_of_product(token, letters[0], other) and self._write(plain, token)
        if is_new and after.text in ("-", "+") and after.is_apart and is_function(text) and len(text) > 1:
            end = self._atom(at + 2)
            if end == at + 2 and not self._next(at, 2).is_apart and text not in self.names.value_names - {text}:
                sign, other = after.text, self._next(at, 2).text
                ways = f"write {text}({sign}{other}), or {text} {sign} {other} if {text} is a name of yours"
                self._doubt(token, f"{text} {sign}{other} has two readings", ways)
        has_subscript, column = SUBSCRIPT.search(text) is not None, token.column
        parts, readings = self.names.factors(plain, has_subscript=has_subscript)
        if readings is not None:
            self._glued(plain, readings, token)
        is_bound = before.text in ("^", "**", "√") or self.operators[-1] in DIVISIONS
        if len(parts) > 1 and (is_bound or after.text in (".", "[", "(")):
            factors = [f"({'*'.join(parts)})"] if is_bound else parts
            return self._glued(plain, [factors], token) and self._write(text, token)
        for number, part in enumerate(parts):
            as_typed = part.replace("_", "") if has_subscript else part  # without the line of a subscript
            here = replace(token, text=as_typed, column=column, is_apart=token.is_apart and not number)
            origin, column = here if len(parts) > 1 else token, column + len(as_typed)
            if number:
                self._times(origin, origin)
            self._write(part, origin)
        return True

    def _glued(self, name: str, ways: Sequence[Sequence[str]], token: Token) -> bool:
        """Note that a name without a value may be a product, a sum, or a function with its argument."""
        hint = f"write {' or '.join('*'.join(parts) for parts in ways)}" if ways else SUM
        last = tuple(other[-1] for other in self.names.value_names if as_calls(other, other[-1]))
        return self._doubt(token, f"{name} is one name, and it has no value", hint, name=name, letters=last)

    def _doubt(self, token: Token, what: str, ways: str, **more: Any) -> bool:
        """Note that something has two readings; what cannot be read at all gets the answer to that."""
        self.doubts.append(Doubt(token, what, ways, **more))
        return True

    # -------------------------------------------------------------- functions
    def _is_function(self, at: int, *, bare: bool = False) -> bool:
        """Return whether a token is a function before its argument: in brackets, or without them."""
        token, after = self._next(at, 0), self._next(at)
        name, is_member = token.text, self._next(at, -1).text == "."
        if token.kind != "name" or (name in self.names and not is_member):
            return False
        if bare:
            is_operand = after.kind in ("name", "number") or after.text in ("√", "∑", "∏")
            is_operand = is_operand or self.bars.get(at + 1, ")") != ")"
            takes = is_operand and not iskeyword(after.text) and not is_member and len(name) > 1
            return takes and is_callable(name)
        inside = self._next(at, 2)  # Linear(2, 3) and Softmax(dim=0) make a module, ReLU(x) calls a function
        is_module = not name.islower() and (
            inside.kind == "number" or self._next(at, 3).text == "=" or inside.text == ")"
        )
        is_there = is_member or (is_callable(name) and not (is_module and not is_function(name)))
        is_there = is_there or bool(self.names.factor_before(name)) or name in self.defined
        return after.text == "(" and (is_there or self._defines(at))

    def _function(self, at: int, token: Token, name: str) -> bool:
        """Write a function; brackets around an argument that has none, which must be one factor."""
        if name.startswith("1/"):
            end = self.pairs.get(at + 1) if self._next(at).text == "(" else self._atom(at + 1)
            if end is None:
                return False
            self._behind(end, ")")
            for text in ("(", "1", "/"):
                self._write(text, token)
        self._write(name.removeprefix("1/"), token)
        if self._next(at).text == "(":
            return True
        one, end, last = self._operand(at + 1), self._atom(at + 1), self._raised_operand(at + 1)
        if end is None and one is not None and last is not None and not self._starts(last + 1):
            inside, power = self._text(at + 1, one), self._text(one + 1, last)
            ways = f"write {token.text}({inside}{power}) or {token.text}({inside}){power}"
            self._open(last, token)
            return self._doubt(token, f"{token.text} before a power has two readings", ways)
        is_multiple = self._next(at + 1).kind == "name" and self._next(at).kind == "number" and name != "sqrt"
        end = self._atom(at + 2) if is_multiple else end
        root_of, other = self._next(at).text, self._next(at, 2)
        is_root = name == "sqrt" and end == at + 1 and root_of.isalnum()
        if is_root and other.is_word and not self._is_function(at + 2, bare=True):
            self._open(at + 1, token)
            return self._root_of_product(self._next(at), root_of, self._text(at + 2, self._product_end(at + 2)))
        is_alone = name == "sqrt" or self._next(at if end is None else end).text in BEFORE_TERM
        if end is None or self._starts(end + 1) or not (is_alone or self._refuse_factor(at, token, end)):
            return False
        self._open(end, token)
        return True

    def _refuse_factor(self, at: int, token: Token, end: int) -> bool:
        """Note that a function without brackets may be of a product or a quotient, ``cos x/2``; False if it is not."""
        sign, other = self._next(end), end + 2
        last = self._raised_operand(other)
        is_apart = sign.is_apart or self._is_function(other) or self._is_function(other, bare=True)
        if last is None or is_apart or sign.text not in ("*", "/", "÷", "∕", *PRODUCTS):
            return False
        inside, factor = self._text(at + 1, end), self._text(end + 1, last)
        ways = f"write {token.text}({inside}{factor}) or {token.text}({inside}){factor}"
        return self._doubt(token, f"{token.text} before {sign.text} has two readings", ways)

    def _open(self, end: int, token: Token) -> None:
        """Write a bracket that closes behind a later token."""
        self._write("(", token)
        self._behind(end, ")")

    def _behind(self, end: int, *texts: str) -> None:
        """Write pieces behind a later token, before those that are to be there already."""
        self.closing[end] = [*texts, *self.closing.get(end, ())]

    def _root_of_product(self, token: Token, one: str, other: str) -> bool:
        """Note that a root may be of one factor or of the product."""
        ways = f"write sqrt({one}*{other}) or sqrt({one})*{other}"
        return self._doubt(token, "√ before a product without a sign has two readings", ways)

    def _logarithm(self, at: int, token: Token) -> bool:
        """Note that lg is a logarithm to one of two bases."""
        texts = tuple(re.sub(r"(?<![^\W\d])lg(?!\w)", name, self.source.code) for name in LOGARITHMS)
        ways = f"write {' or '.join(f'{name}(x)' for name in LOGARITHMS)}"
        return self._doubt(token, "lg has two readings", ways, texts=texts) and self._function(at, token, LOGARITHMS[0])

    def _sum(self, at: int, token: Token) -> bool:
        """Write a sum, or a product, of all elements of one name or bracket; False if it may go on, or has an index."""
        end = self._atom(at + 1)
        inside = [] if end is None else self.tokens[at + 1 : end + 1]
        is_indexed = any(re.search("[_ₐ-ₜᵢ-ᵪⱼ]", one.text) and one.text not in self.names for one in inside)
        if end is None or is_indexed or self._next(at).kind == "number" or self._next(end).text not in BEFORE_TERM:
            return False
        return self._function(at, token, "sum" if token.text == "∑" else "prod")

    def _exponent(self, at: int) -> tuple[int, str] | None:
        """Return where the power behind a token ends, and its exponent, a number or a name; None for no such power."""
        after, end = self._next(at), at + 1
        if after.kind == "power":
            return end, exponent_text(after.text)
        sign = "-" * (self._next(at, 2).text in ("-", "−"))
        end += 1 + len(sign)
        exponent = self._next(end, 0)
        is_power = after.text in ("^", "**") and (exponent.kind == "number" or exponent.is_word)
        return (end, sign + exponent.text) if is_power else None

    def _raised(self, at: int) -> tuple[int, str] | None:
        """Return where the power between a function and its argument ends, and its exponent; None for no such power."""
        power, name = self._exponent(at), self.tokens[at].text
        if power is None or not self.names.is_function(name) or self._next(at, -1).text == ".":
            return None
        end, exponent = power
        is_inverse = exponent == "-1" and is_function(f"a{function_name(name)}")
        is_before = self._starts(end + 1) and self._next(end).kind != "number"
        return power if is_before and (exponent.isdecimal() or is_inverse) else None

    def _power_of_function(self, at: int, token: Token, last: int, exponent: str) -> bool:
        """Write ``sin²(x)`` as the power of what the function gives, and ``sin⁻¹(x)`` as the inverse function."""
        end = self.pairs.get(last + 1) if self._next(last).text == "(" else self._atom(last + 1)
        if end is None or self._next(end).kind == "power" or self._next(end).text in ("^", "**", ".", "["):
            return False
        self.skipped.update(range(at + 1, last + 1))
        self.arguments.add(last + 1)
        name = function_name(token.text)
        if exponent == "-1":
            return self._function(last, token, f"a{name}")
        self._behind(end, "**", exponent)
        return self._function(last, token, name)

    def _atom(self, at: int) -> int | None:
        """Return where the operand that starts at a token ends; None for none, or for one that goes on."""
        end = self._operand(at)
        return end if end == self._raised_operand(at) and self._next(end or 0).text != "(" else None

    def _operand(self, at: int) -> int | None:
        """Return where the operand that starts at a token ends, before what binds to it; None for none."""
        token = self._next(at, 0)
        if token.text == "(" or self.bars.get(at, ")") != ")":
            return self.pairs.get(at)
        if token.kind != "number" and not token.is_word:
            return None
        return self.pairs.get(at + 1) if self._is_function(at) else at

    def _raised_operand(self, at: int) -> int | None:
        """Return where the operand that starts at a token ends, with its powers, parts and methods; None for none."""
        end = self._operand(at)
        while end is not None:
            after = self._next(end)
            if after.kind == "power":
                end += 1
            elif after.text in ("^", "**"):
                end = self._operand(end + 2 + (self._next(end, 2).text in SIGNS_OF_ONE))
            elif after.text == "[":
                end = self.pairs.get(end + 1)
            elif after.text == ".":
                end = self._operand(end + 2)
            else:
                return end
        return None

    def _exponential(self, at: int, token: Token, after: Token) -> bool:
        """Write a power of e as the exponential function."""
        self._write("exp", token)
        if after.kind == "power":
            self.skipped.add(at + 1)
            self._write("(", after)
            self._raise(after, after.text)
            return self._write(")", after)
        end = self._raised_operand(at + 2 + (self._next(at, 2).text in SIGNS_OF_ONE))
        if end is None:
            return False
        if self._starts(end + 1) and not self._next(end).is_apart and self.pairs.get(at + 2) != end:
            one, other = self._text(at + 2, end), self._text(end + 1, self._product_end(end + 1))
            what = "^ before a product without a sign has two readings"
            self._doubt(self._next(end), what, f"write exp({one}*{other}) or exp({one})*{other}")
        self.skipped.add(at + 1)
        if self.pairs.get(at + 2) != end or self._next(at, 2).text != "(":
            self._open(end, after)
        return True

    def _defines(self, at: int) -> bool:
        """Return whether a statement begins with ``f(x) =`` at a token."""
        end = self.pairs.get(at + 1, 0)
        if self._next(at, -1).text not in ("", ";", "\n"):
            return False
        inside = [one.text for one in self.tokens[at + 2 : end]]
        is_list = bool(inside) and all(text.isidentifier() == (i % 2 == 0) for i, text in enumerate(inside))
        return is_list and set(inside[1::2]) <= {","} and self._next(end).text == "="

    def _defined(self, at: int, token: Token) -> bool:
        """Write the name of a value that is written as a function, ``f(x) = ...``."""
        end = self.pairs.get(at + 1, 0)
        inside = [one.text for one in self.tokens[at + 2 : end]]
        if self._defines(at):
            self.defined[token.text] = inside
        elif inside != self.defined[token.text]:
            head = f"{token.text}({''.join(self.defined[token.text])})"
            self._doubt(
                token,
                f"{head} = ... names one value, and has no other arguments",
                "write the formula again with what is to stand there, or give the argument a value, as in x=2",
            )
        self.skipped.update(range(at + 1, end + 1))
        return self._write(token.text, token, self.tokens[end])

    # -------------------------------------------------------------- what is known
    def _assigned(self) -> Iterator[str]:
        """Yield the names before a ``=`` outside brackets."""
        depth, names = 0, list[str]()
        for at, token in enumerate(self.tokens):
            depth += (token.text in ("(", "[")) - (token.text in (")", "]"))
            if token.kind == "newline" or token.text == ";":
                names = []
            elif token.text == "=" and depth == 0:
                yield from names
            elif token.kind == "name" and depth == 0 and not (self._next(at).text == "(" and not self._defines(at)):
                names.append(token.text)

    def _names_of_values(self) -> set[str]:
        """Return the names that stand for values."""
        names = (
            token.text
            for before, token, after in zip([_END, *self.tokens], self.tokens, [*self.tokens[1:], _END], strict=False)
            if token.is_word and before.text != "." and after.text not in ("(", "=")
        )
        return {*map(self.names.numbered_name, names)}

    def _bars(self) -> Iterator[tuple[int, str]]:
        """Yield the tokens that are bars around a value, each with the function that it opens, or ``)``.

        There are none if it is not certain which of them belong together.
        """
        readings = bar_readings(self.tokens)
        for bars in readings[0] if len(readings) == 1 else []:
            end = bars.last + bars.width - 1
            self.pairs[bars.first] = end
            self.skipped.update([*range(bars.first + 1, bars.first + bars.width), *range(bars.last + 1, end + 1)])
            yield from ((bars.first, bars.name), (bars.last, ")"), (end, ")"))


def _split(tokens: Sequence[Token], values: Mapping[str, object]) -> Iterator[Token]:
    """Yield the tokens, ``^`` and ``T`` as one, as in ``w^T x`` and ``wTx``, and the factor before ``e^x`` apart.

    A T with a value is an exponent.
    """
    names = {*values, *(one.text for one, sign in pairwise(tokens) if sign.text == "=")}
    raised = {
        at
        for at, (sign, name) in enumerate(pairwise(tokens))
        if sign.text == "^" and re.fullmatch(r"T[^\W\d_]{0,2}", name.text) and names.isdisjoint(("T", name.text))
    }
    for at, token in enumerate(tokens):
        letters = {*token.text} - {"T"}
        if at in raised:
            yield replace(token, kind="power", text="^T")
        elif (
            TRANSPOSED_NAME.fullmatch(token.text)
            and names.isdisjoint(("T", token.text))
            and all(dimensions(values.get(letter)) for letter in letters)
        ):
            for column, letter in enumerate(token.text, token.column):
                kind, text = ("power", "^T") if letter == "T" else (token.kind, letter)
                yield replace(
                    token, kind=kind, text=text, column=column, is_apart=token.is_apart and column == token.column
                )
        elif (
            token.text[-1:] == "e"
            and (re.fullmatch(r"[^\W\d](?:_?\d+|[₀-₉]+)?e", token.text) or as_product(token.text[:-1], values))
            and token.text not in names
            and [sign.text in POWERS or sign.kind == "power" for sign in tokens[at + 1 : at + 2]] == [True]
        ):
            yield replace(token, text=token.text[:-1])
            yield replace(token, text="e", column=token.column + len(token.text) - 1, is_apart=False)
        elif at - 1 not in raised:
            yield token
        elif token.text[1:]:
            yield replace(token, text=token.text[1:], column=token.column + 1)


def _with_brackets(tokens: Sequence[Token]) -> Iterator[Token]:
    """Yield the tokens, the braces around an exponent as brackets: ``e^{-x}``."""
    opened: list[bool] = []
    for before, token in pairwise([_END, *tokens]):
        if token.text == "{":
            opened.append(before.text in POWERS)
        is_exponents = token.text in ("{", "}") and bool(opened) and opened[-1]
        if token.text == "}" and opened:
            opened.pop()
        yield replace(token, text="(" if token.text == "{" else ")") if is_exponents else token


def _bracket_pairs(tokens: Sequence[Token]) -> Iterator[tuple[int, int]]:
    """Yield where each bracket opens and closes."""
    opened: list[int] = []
    for at, token in enumerate(tokens):
        if token.text in ("(", "["):
            opened.append(at)
        elif token.text in (")", "]") and opened:
            yield opened.pop(), at


def _plain(character: str) -> str:
    """Return a character of another width as the one that Python has."""
    if not "\uff01" <= character <= "\uff5e":
        return character
    return replacement(character) or character
