"""Mathematics as people type it, cut into tokens and rewritten as an expression: ``2x``, ``sin x``, ``（x＋w）``, ``|x|``.

Read only where an error is to be explained.

The tokens are forgiving where Python's are not: ``2x`` is a number and a name, ``×`` is a character like any other.
"""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count, pairwise
from keyword import iskeyword
from math import factorial
from unicodedata import decomposition, normalize

from gviz.sources.expression.allowed import CONSTANTS, OTHER_NAMES, function_name, functions
from gviz.sources.expression.program import ExpressionText, Program, RefusedError

MAX_SUGGESTED = 200
"""Characters of an expression that a hint repeats."""

MAX_GLUED = 40
"""Characters of a name that may be several."""

NO_LETTER = "[²³¹⁰⁴-⁹ⁿᵀ½⅓⅔¼¾]"
"""A raised sign or a fraction, which a pattern would take for a part of a name."""

_PATTERN = re.compile(
    rf"""(?P<space>[ \t]+|\\\n)
      | (?P<comment>\#[^\n]*)
      | (?P<newline>\n)
      | (?P<number>0[xXoObB][0-9a-fA-F_]+ | (?:[0-9][0-9_]*\.?[0-9]* | \.[0-9]+)(?:[eE][+-]?[0-9]+)?)
      | (?P<power>[⁺⁻]?[²³¹⁰⁴-⁹]+|ⁿ|ᵀ|⊤)
      | (?P<name>(?!{NO_LETTER})[^\W\d](?:(?!{NO_LETTER})\w)*)
      | (?P<string>'[^'\n]*' | "[^"\n]*")
      | (?P<operator>\*\*=|//=|>>=|<<=|\.\.\.|\*\*|//|<<|>>|<=|>=|==|!=|->|=>|:=|<>|[-+*/%@&|^]=|.)""",
    re.VERBOSE,
)

GROUP = r"\((?:[^()]|\([^()]*\))*\)"
"""What is in brackets, with brackets inside it."""

TRANSPOSED = re.compile(rf"((?!{NO_LETTER})[^\W\d]\w*?)? *(?:ᵀ|⊤|\^ *T(?:\b|(?=[a-zA-Z]\b)))( *(?=[\w(]))?")
TRANSPOSED_NAME = re.compile(r"\b([^\W\d])T([^\W\d])(\1?)\b")
"""A product with a transposed factor, its T not raised: ``xTw``, ``xTAx``."""

INVERSE = re.compile(rf"([^\W\d]\w*?|(?<!\w){GROUP}) *(?:⁻¹|\^ *\(? *[-−]1\b *\)?)( *[*·⋅]? *(?=[\w(]))?")
SUM = re.compile(r"([Σ∑∏]) *(?:_([a-z])\b(?: *(?:\^|\*\*) *\(?[a-zA-Z]\b\)?)?)? *")
PIECE = re.compile(r"(?P<space>\s+)|[\d.]+(?:[eE][-+]?\d+)?|\w+|\*\*|[=!<>]=|.", re.DOTALL)
CLOSING = (")", "]", "}")
ENDS_TERM = (",", ";", "\n", "=", "==", "!=", "<", ">", "<=", ">=", "|", "&")

_MEANT = {
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

JOINING = ("and", "or", "not", "if", "else", "in", "is")
"""Words that stand between operands, or before one."""

BARS = {"|": "abs", "||": "norm", "‖": "norm", "∥": "norm"}
FRACTIONS = ("½", "⅓", "⅔", "¼", "¾")
MAX_WAYS = 64
"""Ways to read bars that are looked through; beyond them it is not certain which belong together."""

_WORDS_OF_SIGNS = {"dot": "@", "minus": "-", "mod": "%", "over": "/", "plus": "+", "times": "*"}
"""Words between two operands -> their signs."""

_BRACKETS = {"(": ")", "[": "]"}
_BINDING = ("^", "**", ".", "[")
_OPERATORS = {"^": "**", "=>": ">=", "<>": "!=", ":=": "="}
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


def suggestion(source: ExpressionText, but: str = "", names: Iterable[str] = ()) -> str | None:
    """Return the hint with the source as it should be written, None if gviz could not read that either.

    Args:
        source: what was typed.
        but: a function's name that stands for a value.
        names: names that are known beside those with a value.

    >>> from gviz.sources.expression.program import ExpressionText
    >>> suggestion(ExpressionText("y=2x")), suggestion(ExpressionText("y=2*("))
    ('write y=2*x', None)
    """
    code, text = (
        source.code.strip(),
        rewrite(source.code, functions() - {but}, {**dict.fromkeys(names), **source.given}),
    )
    is_whole = code[-1:] not in "([{"  # else what follows is not known
    is_fit = is_whole and text != code and len(text) <= MAX_SUGGESTED and text.isprintable()
    if not is_fit or not is_right(text, source):
        return None
    operands = re.findall(r"(?<![\w.])([^\W\d]\w*)(?=(?:\.T)? @)|@ ([^\W\d]\w*)(?![\w(])", text)
    missing = [name for name in dict.fromkeys(one or other for one, other in operands) if name not in source.given]
    return f"write {source.prefix}{text}{' and give ' if missing else ''}{example_values(missing)}"


def _computes(piece: ast.AST) -> bool:
    """Return whether a piece of syntax comes to something: no ``abs()`` of nothing, no ``()``, no ``[1, 2]*x``."""
    match piece:
        case ast.Tuple(elts=[]) | ast.Call(func=ast.Name(), args=[], keywords=[]):
            return False
        case ast.Assign(value=ast.List()) | ast.Expr(value=ast.List()):
            return False
        case ast.BinOp(left=ast.List() | ast.Tuple()) | ast.BinOp(right=ast.List() | ast.Tuple()):
            return False
        case ast.BinOp(op=ast.BitOr(), left=ast.Name() | ast.Constant()):  # P(x|w)
            return False
    return True


_APART = re.compile(
    r"[;\n]|,(?=\s*[^\W\d]\w*\s*=(?!=))|\b(?:and|at|for|given|let|where|with)\b(?=\s*[^\W\d]\w*\s*=(?!=))"
)
_VALUE = re.compile(r"([^\W\d]\w*) *= *([-−+]?[\d.]+(?:[eE][-+]?\d+)?|\[[\[\]\d.,eE+\-\s]+\])")


def values_apart(source: ExpressionText) -> tuple[str, int] | None:
    """Return the hint with the values of ``y=x² where x=3`` behind the formula, and where the first is; None for none.

    >>> values_apart(ExpressionText("f(x)=x², x=3")), values_apart(ExpressionText("x₁=2; y=3x₁"))
    (('write it behind: gviz render "f=x**2" x=3', 9), ('write it behind: gviz render "y=3*x_1" x_1=2', 0))
    """
    parts = [part.strip(" ,;\n") for part in _APART.split(source.code) if part.strip(" ,;\n")]
    plain = ["".join(sign if sign.isidentifier() else replacement(sign) or sign for sign in part) for part in parts]
    values = [match for part in plain if (match := _VALUE.fullmatch(part))]
    formulas = [part for part, text in zip(parts, plain, strict=True) if not _VALUE.fullmatch(text)]
    text = re.sub(r"^([^\W\d]\w*) *\([\w, ]+\) *=(?!=)", r"\1=", "; ".join(formulas))  # f(x)=...
    text = rewrite(text, given={match[1]: match[2] for match in values} | {**source.given})
    words = re.findall(r"[^\W\d]\w*", text)
    is_fit = values and len(text) <= MAX_SUGGESTED and all(match[1] in words for match in values)
    if not is_fit or source.prefix or '"' in text or not is_right(text, ExpressionText(text)):
        return None
    behind = (f"{match[1]}={match[2].replace(' ', '').replace('−', '-')}" for match in values)
    start = source.code.index(next(part for part in parts if part not in formulas))
    return f'write it behind: gviz render "{text}" {" ".join(behind)}', start


def example_values(names: Iterable[str]) -> str:
    """Return values for operands of ``@``: a capital letter is a matrix, another one a vector.

    >>> example_values(["W", "x", "b"])
    'W=[[1,2],[3,4]] x=[1,2] b=[3,4]'
    """
    vectors = (f"[{2 * at + 1},{2 * at + 2}]" for at in count())
    return " ".join(f"{name}={'[[1,2],[3,4]]' if name[0].isupper() else next(vectors)}" for name in names)


def is_right(text: str, source: ExpressionText) -> bool:
    """Return whether an expression can be read, and each name in it is in its source, and no function's.

    A letter alone, as t, is a name here: the functions that are called so are not meant. A sign of a sum, an index
    alone, and names that are glued together are no names.
    """
    typed = normalize("NFKC", source.code).replace("_", "")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            program = Program(source, ast.parse(text).body, source.given)
    except (RefusedError, SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    pieces = [piece for statement in program.statements for piece in ast.walk(statement)]
    return (
        bool(program.statements)
        and all(map(_computes, pieces))
        and all(
            name.replace("_", "") in typed
            and not (name[-1] == "_" and name + "{" in source.code)
            and (len(name) == 1 or name not in functions())
            and not OTHER_NAMES.get(name, "").startswith("1/")
            and not (f"{name}**" in text and len(name) > len("sin") and name[1:] in functions())
            and not (re.search(r"[Σ∑∏]|^_", name) or as_product(name, source.given) or as_calls(name, source.given))
            for name in program.free.keys() - source.given.keys()
        )
    )


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


@dataclass(frozen=True)
class Bars:
    """Two signs around a value, ``|x|`` or ``||x||``: the tokens that they begin at, and how many tokens each has."""

    first: int
    last: int
    width: int
    name: str


def bar_readings(typed: Sequence[Token]) -> list[list[Bars]]:
    """Return the ways in which the bars of a source belong together; [] for none, or for too many of them.

    >>> [[(bars.name, bars.first, bars.last) for bars in way] for way in bar_readings(tokens("|(|x|)*b| + ||w||"))]
    [[('abs', 2, 4), ('abs', 0, 8), ('norm', 10, 13)]]
    >>> len(bar_readings(tokens("|a|b|c|"))), len(bar_readings(tokens("|a")))
    (2, 0)
    """
    group, opened, groups = 0, [0], list[int]()  # a pair of bars is in one statement, and in one pair of brackets
    for at, token in enumerate(typed):
        if token.text in _BRACKETS or (token.text == ";" or token.kind == "newline"):
            group = at + 1
            opened = [*opened, group] if token.text in _BRACKETS else [group]
        elif token.text in CLOSING and len(opened) > 1:
            opened.pop()
        groups.append(opened[-1])
    return _paired(typed, groups, is_double=True) or _paired(typed, groups, is_double=False)


def _paired(typed: Sequence[Token], groups: Sequence[int], *, is_double: bool) -> list[list[Bars]]:
    """Return the ways in which bars belong together, two beside each other as one sign, or as two."""
    ways: list[tuple[tuple[Bars, ...], list[Bars], bool]] = [((), [], False)]  # open ones, pairs, if a bar closed last
    at, end = 0, -1  # the token, and the last one of the bar before
    while at < len(typed):
        token, after = typed[at], typed[at + 1 : at + 2]
        is_pair = is_double and token.text == "|" and bool(after) and after[0].text == "|" and not after[0].is_apart
        width, name = 1 + is_pair, BARS.get(token.text + "|" * is_pair)
        if name is not None:
            follows = typed[at + width] if at + width < len(typed) else Token("newline", "", 0, 0)
            starts = follows.starts_value or follows.text in (*BARS, "+", "-", "~", "−", "[")
            new = []
            for opened, pairs, closed in ways:
                ends = closed if end == at - 1 and at else at > 0 and typed[at - 1].ends_value
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


def replacement(character: str) -> str | None:
    """Return how an expression writes a character beyond ASCII: None if it is fine in a name, "" to leave it out.

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


def foreign_characters(code: str) -> Iterator[tuple[int, int, str]]:
    """Yield line, column and character of each one that cannot be in an expression, comments left out."""
    for number, line in enumerate(code.split("\n"), start=1):
        for column, character in enumerate(line.partition("#")[0]):
            is_digit_of_name = character.isdecimal() and (line[column - 1 : column] + character).isidentifier()
            is_letter = replacement(character) is None and ("x" + character).isidentifier()
            if not (character.isascii() or is_digit_of_name or is_letter):
                yield number, column, character


def as_product(name: str, given: Mapping[str, object]) -> str | None:
    """Return a name as the product of names that have a value, and of π; None if it is none, or has a value itself.

    >>> as_product("wx", {"w": 2, "x": 1}), as_product("Wx", {"W": "[[1, 2]]", "x": "[3, 4]"}), as_product("πr", {})
    ('w*x', 'W @ x', 'π*r')
    """
    if name in given or not 1 < len(name) <= MAX_GLUED:
        return None
    ways: dict[int, list[str]] = {0: []}  # how much of the name is read -> the names in it
    for end in range(1, len(name) + 1):
        for start in [start for start in ways if name[start:end] in given or name[start:end] == "π"]:
            ways[end] = [*ways[start], name[start:end]]
    parts = ways.get(len(name), [name[0], name[1:]] if name[0] == "π" and name[1:].isidentifier() else [])
    signs = [_times(left, right, given) for left, right in pairwise(parts)]
    return "".join(part + sign for part, sign in zip(parts, [*signs, ""], strict=True)) if parts else None


def as_calls(name: str, known: Collection[str]) -> list[str]:
    """Return the ways to read a name as a function with its argument, which is a known name, or a number of times that.

    >>> as_calls("sinx", ["x"]), as_calls("log2x", ["x"]), as_calls("sinus", ["x"])
    (['sin(x)'], ['log2(x)', 'log(2*x)'], [])
    """
    ways = []
    for end in range(min(len(name) - 1, MAX_GLUED), 0, -1):
        function, number = OTHER_NAMES.get(name[:end], name[:end]), re.match(r"\d*", name[end:])
        argument = name[end:][number.end() :] if number else ""
        if argument in known and function in functions() and (end > 2 or function != name[:end]) and name not in known:
            ways.append(f"{function}({f'{number[0]}*' if number and number[0] else ''}{argument})")
    return ways


def _times(left: str, right: str, given: Mapping[str, object]) -> str:
    """Return the sign between two operands side by side: ``@`` between a matrix and a vector or a matrix."""
    return " @ " if dimensions(given.get(left)) == 2 and dimensions(given.get(right)) else "*"


def rewrite(
    code: str, known: Collection[str] | None = None, given: Mapping[str, object] | None = None, way: int = 0
) -> str:
    """Return the source as an expression has it: signs replaced, products and calls written out, brackets closed.

    The result is a suggestion; whoever shows it has to see whether it can be read. Of bars with several readings it has
    that number ``way``.

    >>> rewrite("y = 2x^2 + sin x（w＋1"), rewrite("sin 2x cos x")
    ('y = 2*x**2 + sin(x*(w+1))', 'sin(2*x)*cos(x)')
    """
    known, given = functions() if known is None else known, given or {}
    typed = _with_functions(
        tokens(_mathematics(sums(_bars(_plain(matrices(code, given)), way), given), known, given)), known
    )
    text, open_brackets = "", ""
    applied: list[int] = []  # how many brackets were open where a function without brackets began
    for at, token in enumerate(typed):
        before = typed[at - 1] if at else Token("newline", "", 0, 0)
        is_applied = token.kind == "function" and typed[at + 1].text != "("
        while applied and applied[-1] == len(open_brackets) and not _goes_on(before, token, is_applied=is_applied):
            text += ")"
            applied.pop()
        if (
            before.ends_operand
            and token.starts_operand
            and not (before.kind == "number" and token.text.startswith("."))
        ):
            is_chain = at > 1 and typed[at - 2].text == "@" and dimensions(given.get(token.text)) != 0  # xᵀ W x
            sign = " @ " if is_chain and token.is_word else _times(before.text, token.text, given)
            text += ", " if before.kind == token.kind == "number" and open_brackets[-1:] == "]" else sign
        elif token.is_apart and text and not text.endswith("("):
            text += " "
        is_top = at == 1 or (at > 1 and typed[at - 2].text in (";", "\n"))
        starts_next = (
            token.text == "," and not open_brackets and [after.text for after in typed[at + 2 : at + 3]] == ["="]
        )
        written = ";" if starts_next and "=" in text.rpartition(";")[2] else _OPERATORS.get(token.text, token.text)
        text += "=" if token.text == "==" and is_top else written
        if is_applied:
            text += "("
            applied.append(len(open_brackets))
        if token.text in _BRACKETS:
            open_brackets += _BRACKETS[token.text]
        elif token.text in CLOSING:
            open_brackets = open_brackets[:-1]
    return (text + ")" * len(applied) + open_brackets[::-1]).strip()


def _with_functions(typed: list[Token], known: Collection[str]) -> list[Token]:
    """Return the tokens, with another kind and the engine's name for a function with its argument behind it."""
    marked = [*typed]
    for at, (before, token, after) in enumerate(zip([None, *typed], typed, [*typed[1:], None], strict=False)):
        is_member, is_called = before is not None and before.text == ".", after is not None and after.text == "("
        takes = after is not None and after.kind in ("name", "number") and not iskeyword(after.text)
        name = function_name(token.text)
        if token.kind == "name" and is_member and is_called:
            marked[at] = replace(token, kind="function")
        elif token.kind == "name" and not is_member and len(name) > 1 and name in known and (is_called or takes):
            marked[at] = replace(token, kind="function", text=name)
    return marked


def _goes_on(before: Token, token: Token, *, is_applied: bool) -> bool:
    """Return whether a token belongs to the argument without brackets before it: a power, a part, or a factor does."""
    is_bound = before.kind == "function" or token.text in _BINDING or before.text in _BINDING[:-1]
    return is_bound or (token.starts_operand and not is_applied)


def with_angles(code: str) -> str:
    """Return the text with ``⟨x,w⟩`` for an inner product in signs of comparison, ``<x,w>``.

    >>> with_angles("y=2<x,w> + b"), with_angles("y=x<w")
    ('y=2⟨x,w⟩ + b', 'y=x<w')
    """
    return re.sub(r"(?<![\w)\]] )(?<![A-Za-z_)\]])<([^<>=,|;\n]+)([,|])([^<>=,|;\n]+)>(?![\w=(])", r"⟨\1\2\3⟩", code)


def _plain(code: str) -> str:
    """Return the text with each foreign character replaced; a run of superscripts becomes one exponent."""
    code = re.sub(r"([²³¹⁰⁴-⁹])(?=[0-9])", r"\1 ", code)  # x²3 is not x**23
    code = re.sub(r"([^\W\d][^\W²³¹⁰⁴-⁹]*[²³¹⁰⁴-⁹]+)(?=[.\[])", r"(\1)", code)  # x².sum()
    code = re.sub(r"⟨([^⟨⟩,|]+)[,|] *([^⟨⟩,|]+)⟩", r"(\1 @ \2)", with_angles(code))
    code = re.sub(
        r"\b(sum|prod)_([a-z])\b(?= *[^\W\d(])", lambda match: f"{'Σ' if match[1] == 'sum' else '∏'}_{match[2]}", code
    )
    code = re.sub(r"[^\x00-\x7f]+", lambda match: _exponents(match.group()), code)
    code = re.sub(
        rf"(?<=[\w)\]]) +({'|'.join(_WORDS_OF_SIGNS)}) +(?=[\w(])", lambda m: f" {_WORDS_OF_SIGNS[m[1]]} ", code
    )
    code = re.sub(r"(?<=[\w)\]]) +(squared|cubed)\b", lambda m: "**2" if m[1] == "squared" else "**3", code)
    code = re.sub(r"(?<![\w.])([01]?\d)!(?![=!])", lambda m: str(factorial(int(m[1]))), code)
    code = re.sub(rf"([^\W\d]\w*|(?<!\w){GROUP})!(?!=)", lambda m: f"exp(lgamma({m[1]} + 1))", code)
    code = re.sub(r"\bmax\{ *0 *, *([^{},]+)\}", r"relu(\1)", code)
    return re.sub(r"√ *(?=\()", "sqrt", code).replace("√", "sqrt ").replace("{", "(").replace("}", ")")


def _exponents(run: str) -> str:
    text = "".join(c if c in "√∑∏" or (new := replacement(c)) is None else new for c in run)

    def power(match: re.Match[str]) -> str:
        exponent = match[0].replace("**", "")
        return f"**{exponent}" if re.fullmatch(r"-?\w+", exponent) else f"**({exponent})"

    return re.sub(r"(?:\*\*[-+()\w])+", power, text)


_POWER = r"\s*(?:\^|\*\*)\s*"
_OF_E = re.compile(rf"(?<![\w.])([0-9.]*)e{_POWER}({GROUP}|-?\s*[\w.]+(?:{_POWER}[\w.]+)*)")
_OF_FUNCTION = re.compile(rf"([^\W\d]+){_POWER}\(?(-?[0-9]+)\)?\s*({GROUP}|[0-9.]*[^\W\d]\w*)")
_DENOMINATOR = re.compile(rf"/\s*([0-9.]+[^\W\d]\w*(?:{_POWER}\w+)?)(?![\w(])")


def _mathematics(code: str, known: Collection[str], given: Mapping[str, object]) -> str:
    """Return the text as it is meant: ``exp(x)`` for ``e^x``, ``sin(x)**2`` for ``sin^2(x)``, ``/(2w)`` for ``/2w``."""

    def of_function(match: re.Match[str]) -> str:
        name, power, argument = match.groups()
        if OTHER_NAMES.get(name, name) not in known or name in given:
            return match.group()
        argument = argument if argument.startswith("(") else f"({argument})"
        return f"a{name}{argument}" if power == "-1" and f"a{name}" in known else f"{name}{argument}**{power}"

    def split(match: re.Match[str]) -> str:
        name = match.group()
        parts = None if name in CONSTANTS or name in known else as_product(name, given)
        ways = as_calls(name, given)
        if len(ways) == 1 and parts is None and name not in known:
            return ways[0]
        return (
            name if parts is None else f"({parts})" if re.search(r"[/^]\s*$|\*\*\s*$", code[: match.start()]) else parts
        )

    if "e" not in given:
        code = _OF_E.sub(
            lambda match: f"{match[1]}exp({match[2].strip('()') if match[2].count('(') == 1 else match[2]})", code
        )
    code = _DENOMINATOR.sub(r"/(\1)", _OF_FUNCTION.sub(of_function, code))
    return re.sub(r"(?<![.'\"])[^\W\d]\w*", split, code)


def _bars(code: str, way: int) -> str:
    """Return the text with ``|x|`` as ``abs(x)``, and ``||x||`` and ``||x||_2`` as ``norm(x)``, in one of the ways."""
    typed = tokens(code)
    begins = [0, *(match.end() for match in re.finditer("\n", code))]
    for bars in sorted(dict(enumerate(bar_readings(typed))).get(way, []), key=lambda bars: -bars.first):
        typed[bars.first] = replace(typed[bars.first], kind=f"{bars.name}(")
        typed[bars.last] = replace(typed[bars.last], kind=")")
        for at in (bars.first, bars.last):
            typed[at] = replace(typed[at], text=typed[at].text * bars.width)
    for token in reversed(typed):
        if token.kind[-1] in "()":
            start = begins[token.line - 1] + token.column
            apart = " " * (token.kind != ")" and code[start - 1 : start].isalnum())
            code = f"{code[:start]}{apart}{token.kind}{code[start + len(token.text) :]}"
    return re.sub(
        rf"\bnorm({GROUP}) *_ *\(?([F\d])\b\)?",
        lambda m: f"norm({m[1][1:-1]}{'' if m[2] in '2F' else f', {m[2]}'})",
        code,
    )


# ------------------------------------------------------------------ sums, transposes and inverses


def dimensions(value: object) -> int | None:
    """Return how many dimensions a value has, as far as can be seen without computing it; None for none that is there.

    >>> [dimensions(value) for value in ("-2", "[1, 2]", [[1, 2]], "ones(3, 3)", "torch.tensor([1])", "arange(3) + 1")]
    [0, 1, 2, 2, 1, None]
    """
    text = re.sub(r"\s|torch\.|tensor\(", "", str(value))
    sizes = re.fullmatch(r"(?:ones|zeros|randn?)\(([\d,]+)\)", text)
    if sizes or text[:1] == "[":
        return sizes[1].count(",") + 1 if sizes else len(text) - len(text.lstrip("["))
    return 0 if re.fullmatch(r"[-+]?[\d.]+", text) else None


def matrices(code: str, given: Mapping[str, object]) -> str:
    """Return the text with ``xᵀW`` as ``x.T @ W``, or ``x @ W`` of a vector, and ``W⁻¹x`` of a matrix as its inverse."""

    def transposed(match: re.Match[str]) -> str:
        dims, follows = dimensions(given.get(match[1])), match[2] is not None
        if match[1] and match[1] not in given:  # small letters are vectors, as everywhere
            dims = 2 if match[1][0].isupper() or not follows else 1
        sign = "" if dims in (0, 1) else ".T"
        return f"{match[1] or ''}{sign}{' ' if dims == 0 else ' @ ' if follows else ''}"

    def inverse(match: re.Match[str]) -> str:
        is_matrix = dimensions(given.get(match[1])) == 2 or (match[1][0] == "(" and "@" in match[1])
        return (
            f"inverse({match[1].strip('()') if match[1].count('(') < 2 else match[1]}){'' if match[2] is None else ' @ '}"
            if is_matrix
            else match[0]
        )

    if "T" not in given:
        code = TRANSPOSED_NAME.sub(lambda m: m[0] if m[0] in given else f"{m[1]}ᵀ{m[2]} {m[3]}", code)
    return INVERSE.sub(inverse, TRANSPOSED.sub(transposed, code))


def sums(code: str, given: Mapping[str, object]) -> str:
    """Return the text with ``Σ_i w_i x_i`` as ``sum(w x)``: of all elements, and up to the next plus or minus.

    A sum that may mean another thing stays as it is, and nothing that it is in can be read.

    >>> sums("y=Σ x*w + b", {}), sums("Σ_i^n (y_i-t_i)**2/n", {}), sums("Σ_i x_i*w_j", {}), sums("Σ_i x_j", {})
    ('y=sum(x*w) + b', 'sum((y-t)**2/n)', 'sum(x*w_j)', 'Σ_i x_j')
    """
    if re.search(r"[Σ∑∏]\w* *=(?!=)", code) or not re.search("[Σ∑∏]", code) or any(name[:1] in "Σ∑∏" for name in given):
        return code
    plain = re.sub(
        r"([ₐ-ₜᵢ-ᵪⱼ]+)(\w?)", lambda match: f"_{normalize('NFKC', match[1])}{' ' * bool(match[2])}{match[2]}", code
    )
    plain, indexed = re.sub(r"_ *\( *(\w+) *(?:= *[01] *)?\)", r"_\1", plain), set[str]()
    while signs := [*SUM.finditer(plain)]:
        sign = signs[-1]
        typed = plain[sign.end() : _term_end(plain, sign.end())].rstrip()
        typed_on = {name[-1] for name in re.findall(r"\b[^\W\d]\w*?_[a-z]\b", typed) if name not in given}
        index = sign[2] or (typed_on.pop() if len(typed_on) == 1 else "")
        term = re.sub(r"(?<![\w)\]])\[([^\[\],]*)\]", r"(\1)", typed)
        if index:
            term = re.sub(rf"(?<=[^\W_])_{index}\b", "", term)
            new = set(re.findall(rf"\b([^\W\d]\w*?)_{index}\b", typed))
            others = set(re.findall(r"\b[^\W\d]\w*\b(?! *\()", term)) - new - indexed
            is_part = any(re.search(rf"_\w*{index}", name) or dimensions(given.get(name, 0)) != 0 for name in others)
            if not new or index in others or is_part:
                return code
            indexed |= new
        is_call = sign[0] == sign[1] and re.match(
            rf"{GROUP} *[*@](?!\*)", term
        )  # Σ(x)*w: up to the bracket, or further
        is_power = sign[1] == "∏" and re.search(r"(?<!\*)[*/@](?!\*)|\w +\w", term)
        if term[:1] in ("", "_", "^", "*") or is_call or is_power:
            return code
        name = " " * plain[: sign.start()][-1:].isalnum() + ("prod" if sign[1] == "∏" else "sum")
        called = term if re.fullmatch(GROUP, term) else f"({term})"
        plain = f"{plain[: sign.start()]}{name}{called}{plain[sign.end() + len(typed) :]}"
    return code if any(re.search(rf"\b{name}_", plain) for name in indexed) else plain  # x_j beside the sum of all x_i


def _term_end(code: str, start: int) -> int:
    """Return where a term ends: before the next plus, minus, comma or closing bracket of its own level."""
    depth, before = 0, ""
    for match in PIECE.finditer(code, start):
        text = match.group()
        depth += text in ("(", "[", "{")
        is_sign = text in "+-" and (before[-1:].isalnum() or before[-1:] in ("_", *CLOSING))
        if depth == 0 and (is_sign or text in ENDS_TERM or text in CLOSING):
            return match.start()
        depth -= text in CLOSING
        before = before if match.lastgroup == "space" else text
    return len(code)
