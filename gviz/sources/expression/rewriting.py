"""Mathematics as an expression writes it, as far as text tells it: what is suggested in place of what cannot be read.

Each step takes a text and returns one with less mathematics in it. It has no places; what is certain enough to be read
without a question is read by :mod:`gviz.sources.expression.mathematics`.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import replace
from keyword import iskeyword
from math import factorial
from unicodedata import normalize

from gviz.sources.expression.allowed import CONSTANTS, OTHER_NAMES, function_name, functions
from gviz.sources.expression.characters import NO_LETTER, RAISED, replacement
from gviz.sources.expression.products import TRANSPOSED_NAME, as_calls, as_product, dimensions, product_sign
from gviz.sources.expression.tokens import CLOSING, Token, bar_readings, tokens_of

GROUP = r"\([^()]*\)"
for _ in range(3):
    GROUP = rf"\((?:[^()]|{GROUP})*\)"
"""What is in brackets, with brackets inside it, up to four deep."""

OPERAND = rf"[\d.]+|[^\W\d]\w*|(?<!\w){GROUP}"
"""A number, a name, or what is in brackets."""

TRANSPOSED = re.compile(rf"((?!{NO_LETTER})[^\W\d]\w*?)? *(?:(?:\^ *)?[ᵀ⊤]|\^ *T(?:\b|(?=[a-zA-Z]\b)))( *(?=[\w(]))?")
GLUED = re.compile(r"(ᵀ|⊤|\^ *T) *([^\W\d_])([^\W\d_])\b(?! *\()")
"""Two letters behind a transposed factor: ``xᵀAx``."""


INVERSE = re.compile(rf"([^\W\d]\w*?|(?<!\w){GROUP}) *(?:⁻¹|\^ *[({{]? *[-−]1\b *[)}}]?)( *[*·⋅]? *(?=[\w(]))?")
SUM = re.compile(r"([Σ∑∏]) *(?:_([a-z])\b(?: *(?:\^|\*\*) *\(?[a-zA-Z]\b\)?)?)? *")
PIECE = re.compile(r"(?P<space>\s+)|[\d.]+(?:[eE][-+]?\d+)?|\w+|\*\*|[=!<>]=|.", re.DOTALL)
ENDS_TERM = (",", ";", "\n", "=", "==", "!=", "<", ">", "<=", ">=", "|", "&")

WORDS_OF_SIGNS = {
    "dot": "@", "minus": "-", "mod": "%", "over": "/", "plus": "+", "times": "*", "div": "/", "divided by": "/",
    "to the power of": "**", "to the power": "**", "乘": "*", "乘以": "*", "加": "+", "减": "-", "除以": "/",
}  # fmt: skip
"""Words between two operands -> their signs."""

_BRACKETS = {"(": ")", "[": "]"}
_BINDING = ("^", "**", ".", "[")
_OPERATORS = {"%*%": "@", "%%": "%", "^": "**", "=>": ">=", "=<": "<=", "<>": "!=", ":=": "="}


def rewrite(
    code: str, names: Collection[str] | None = None, values: Mapping[str, object] | None = None, way: int = 0
) -> str:
    """Return the source as an expression has it: signs replaced, products and calls written out, brackets closed.

    The result is a suggestion; whoever shows it has to see whether it can be read. Of bars with several readings it has
    that number ``way``.

    >>> rewrite("y = 2x^2 + sin x（w＋1"), rewrite("sin 2x cos x")
    ('y = 2*x**2 + sin(x*(w+1))', 'sin(2*x)*cos(x)')
    """
    names, values = functions() if names is None else names, values or {}
    tokens = _with_functions(
        tokens_of(_mathematics(sums(_bars(_plain(matrices(code, values)), way), values), names, values)), names, values
    )
    text, open_brackets = "", ""
    applied: list[int] = []  # how many brackets were open where a function without brackets began
    for at, token in enumerate(tokens):
        before = tokens[at - 1] if at else Token("newline", "", 0, 0)
        is_applied = token.kind == "function" and tokens[at + 1].text != "("
        while applied and applied[-1] == len(open_brackets) and not _goes_on(before, token, is_applied=is_applied):
            text += ")"
            applied.pop()
        word = before.text if before.kind == "name" and before.text not in values else ""
        is_call = token.text == "(" and re.fullmatch("[a-z]{4,}", word) is not None  # of what is no function
        if (
            before.ends_operand
            and token.starts_operand
            and not is_call
            and not (before.kind == "number" and token.text.startswith("."))
        ):
            is_chain = at > 1 and tokens[at - 2].text == "@" and dimensions(values.get(token.text)) != 0  # xᵀ W x
            is_before_matrix = token.is_word or dimensions(values.get(before.text)) == 2  # xᵀ A (x + w)
            sign = " @ " if is_chain and is_before_matrix else product_sign(before.text, token.text, values)
            if before.kind == token.kind == "number" and tokens[at - 2].text != "**":  # 1 000 is no product
                sign = ", " if open_brackets[-1:] == "]" else " "
            text += sign
        elif token.is_apart and text and not text.endswith("("):
            text += " "
        is_top = at == 1 or (at > 1 and tokens[at - 2].text in (";", "\n"))
        starts_next = (
            token.text == "," and not open_brackets and [after.text for after in tokens[at + 2 : at + 3]] == ["="]
        )
        sign_text = ";" if starts_next and "=" in text.rpartition(";")[2] else _OPERATORS.get(token.text, token.text)
        text += "=" if token.text == "==" and is_top else sign_text
        if is_applied:
            text += "("
            applied.append(len(open_brackets))
        if token.text in _BRACKETS:
            open_brackets += _BRACKETS[token.text]
        elif token.text in CLOSING:
            open_brackets = open_brackets[:-1]
    return (text + ")" * len(applied) + open_brackets[::-1]).strip()


def _with_functions(tokens: list[Token], names: Collection[str], values: Collection[str]) -> list[Token]:
    """Return the tokens, with another kind and the engine's name for a function with its argument behind it."""
    marked = [*tokens]
    for at, (before, token, after) in enumerate(zip([None, *tokens], tokens, [*tokens[1:], None], strict=False)):
        is_member, is_called = before is not None and before.text == ".", after is not None and after.text == "("
        takes = after is not None and after.kind in ("name", "number") and not iskeyword(after.text)
        name = function_name(token.text)
        if token.kind == "name" and is_member and is_called:
            marked[at] = replace(token, kind="function")
        elif token.text in values or is_member or token.kind != "name" or name not in names:
            continue
        elif is_called or (takes and len(token.text) > 1):  # σ x is a product
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
    code = re.sub(r"(^|[;\n]) *([^\W\d]\w*) *<- *", r"\1\2 = ", code)  # R
    code = re.sub(rf"([²³¹⁰⁴-⁹](?=[0-9])|{RAISED}(?=(?!{NO_LETTER})[^\W\d]))", r"\1 ", code)  # x²3 is not x**23
    code = re.sub(r"([^\W\d][^\W²³¹⁰⁴-⁹]*[²³¹⁰⁴-⁹]+)(?=[.\[])", r"(\1)", code)  # x².sum()
    code = re.sub(r"⟨([^⟨⟩,|]+)[,|] *([^⟨⟩,|]+)⟩", r"(\1 @ \2)", with_angles(code))
    code = re.sub(
        r"\b(sum|prod)_([a-z])\b(?= *[^\W\d(])", lambda match: f"{'Σ' if match[1] == 'sum' else '∏'}_{match[2]}", code
    )
    code = re.sub(r"[^\x00-\x7f]+", lambda match: _exponents(match.group()), code)
    code = re.sub(
        rf"(?<=[\w)\]]) +({'|'.join(WORDS_OF_SIGNS)}) +(?=[\w(])", lambda m: f" {WORDS_OF_SIGNS[m[1]]} ", code
    )
    code = re.sub(r"(?<=[\w)\]])[.。,]\s*$", "", code)  # the end of a sentence
    code = re.sub(r"\b([a-z]+) of (?=[\w(])", lambda m: f"{m[1]} " if m[1] in functions() else m[0], code)
    code = re.sub(r"(?<=[\w)\]]) +(squared|cubed)\b", lambda m: "**2" if m[1] == "squared" else "**3", code)
    code = re.sub(r"(?<![\w.])([01]?\d)!(?![=!])", lambda m: str(factorial(int(m[1]))), code)
    code = re.sub(rf"([^\W\d]\w*|(?<!\w){GROUP})!(?!=)", lambda m: f"exp(lgamma({m[1]} + 1))", code)
    code = re.sub(rf"(?<=\()({OPERAND}) ?°(?=\))", r"\1*π/180", code)
    code = re.sub(rf"({OPERAND}) ?°", r"(\1*π/180)", code)
    code = re.sub(r"\bmax\{ *0 *, *([^{},]+)\}", r"relu(\1)", code)
    return re.sub(r"√ *(?=\()", "sqrt", code).replace("√", "sqrt ").replace("{", "(").replace("}", ")")


def _exponents(characters: str) -> str:
    text = "".join(c if c in "√∑∏" or (new := replacement(c)) is None else new for c in characters)

    def power(match: re.Match[str]) -> str:
        exponent = match[0].replace("**", "")
        return f"**{exponent}" if re.fullmatch(r"-?(?:\d+|[^\W\d]\w*)", exponent) else f"**({exponent})"

    return re.sub(r"(?:\*\*[-+()\w])+", power, text)


_POWER = r"\s*(?:\^|\*\*)\s*"
_OF_E = re.compile(rf"(?<![\w.])([0-9.]*)e(?:xp(?={_POWER}[^\W\d(-]))?{_POWER}({GROUP}|-?\s*[\w.]+(?:{_POWER}[\w.]+)*)")
_OF_FUNCTION = re.compile(rf"([^\W\d]+){_POWER}\(?(-?[0-9]+)\)?\s*({GROUP}|[0-9.]*[^\W\d]\w*)")
_DENOMINATOR = re.compile(rf"/\s*([0-9.]+[^\W\d]\w*(?:{_POWER}\w+)?)(?![\w(])")


def _mathematics(code: str, names: Collection[str], values: Mapping[str, object]) -> str:
    """Return the text as it is meant: ``exp(x)`` for ``e^x``, ``sin(x)**2`` for ``sin^2(x)``, ``/(2w)`` for ``/2w``."""

    def of_function(match: re.Match[str]) -> str:
        name, power, argument = match.groups()
        if OTHER_NAMES.get(name, name) not in names or name in values:
            return match.group()
        argument = argument if argument.startswith("(") else f"({argument})"
        return f"a{name}{argument}" if power == "-1" and f"a{name}" in names else f"{name}{argument}**{power}"

    def split(match: re.Match[str]) -> str:
        name = match.group()
        parts = None if name in CONSTANTS or name in names else as_product(name, values)
        ways = as_calls(name, values)
        if len(ways) == 1 and parts is None and name not in names:
            return ways[0]
        return (
            name if parts is None else f"({parts})" if re.search(r"[/^]\s*$|\*\*\s*$", code[: match.start()]) else parts
        )

    if "e" not in values:
        code = _OF_E.sub(
            lambda match: f"{match[1]}exp({match[2].strip('()') if match[2].count('(') == 1 else match[2]})", code
        )
    code = _DENOMINATOR.sub(r"/(\1)", _OF_FUNCTION.sub(of_function, code))
    return re.sub(r"(?<![.'\"])[^\W\d]\w*", split, code)


def _bars(code: str, way: int) -> str:
    """Return the text with ``|x|`` as ``abs(x)``, and ``||x||`` and ``||x||_2`` as ``norm(x)``, in one of the ways."""
    tokens = tokens_of(code)
    begins = [0, *(match.end() for match in re.finditer("\n", code))]
    for bars in sorted(dict(enumerate(bar_readings(tokens))).get(way, []), key=lambda bars: -bars.first):
        tokens[bars.first] = replace(tokens[bars.first], kind=f"{bars.name}(")
        tokens[bars.last] = replace(tokens[bars.last], kind=")")
        for at in (bars.first, bars.last):
            tokens[at] = replace(tokens[at], text=tokens[at].text * bars.width)
    for token in reversed(tokens):
        if token.kind[-1] in "()":
            start = begins[token.line - 1] + token.column
            apart = " " * (token.kind != ")" and code[start - 1 : start].isalnum())
            code = f"{code[:start]}{apart}{token.kind}{code[start + len(token.text) :]}"
    return re.sub(
        rf"\b(?:abs|norm)({GROUP}) *_ *\(?([F\d]|inf)\b\)?",
        lambda m: f"norm({m[1][1:-1]}{'' if m[2] in '2F' else f', {m[2]}'})",
        code,
    )


def matrices(code: str, values: Mapping[str, object]) -> str:
    """Return the text with ``xᵀW`` as ``x.T @ W``, or ``x @ W`` of a vector, and ``W⁻¹x`` of a matrix as its inverse."""

    def transposed(match: re.Match[str]) -> str:
        dims, follows = dimensions(values.get(match[1])), match[2] is not None
        if match[1] and match[1] not in values:  # small letters are vectors, as everywhere
            dims = 2 if match[1][0].isupper() or not follows else 1
        sign = "" if dims in (0, 1) else ".T"
        return f"{match[1] or ''}{sign}{' ' if dims == 0 else ' @ ' if follows else ''}"

    def inverse(match: re.Match[str]) -> str:
        is_matrix = dimensions(values.get(match[1])) == 2 or (match[1][0] == "(" and "@" in match[1])
        return (
            f"inverse({match[1].strip('()') if match[1].count('(') < 2 else match[1]}){'' if match[2] is None else ' @ '}"
            if is_matrix
            else match[0]
        )

    code = GLUED.sub(lambda m: m[0] if m[2] + m[3] in values else f"{m[1]} {m[2]} {m[3]}", code)
    if "T" not in values:
        code = TRANSPOSED_NAME.sub(lambda m: m[0] if m[0] in values else f"{m[1]}ᵀ{m[2]} {m[3]}", code)
    return INVERSE.sub(inverse, TRANSPOSED.sub(transposed, code))


def sums(code: str, values: Mapping[str, object]) -> str:
    """Return the text with ``Σ_i w_i x_i`` as ``sum(w x)``: of all elements, and up to the next plus or minus.

    A sum that may mean another thing stays as it is, and nothing that it is in can be read.

    >>> sums("y=Σ x*w + b", {}), sums("Σ_i^n (y_i-t_i)**2/n", {}), sums("Σ_i x_i*w_j", {}), sums("Σ_i x_j", {})
    ('y=sum(x*w) + b', 'sum((y-t)**2/n)', 'sum(x*w_j)', 'Σ_i x_j')
    """
    if (
        re.search(r"[Σ∑∏]\w* *=(?!=)", code)
        or not re.search("[Σ∑∏]", code)
        or any(name[:1] in "Σ∑∏" for name in values)
    ):
        return code
    plain = re.sub(
        r"([ₐ-ₜᵢ-ᵪⱼ]+)(\w?)", lambda match: f"_{normalize('NFKC', match[1])}{' ' * bool(match[2])}{match[2]}", code
    )
    plain, indexed = re.sub(r"_ *\( *(\w+) *(?:= *[01] *)?\)", r"_\1", plain), set[str]()
    while signs := [*SUM.finditer(plain)]:
        sign = signs[-1]
        term_text = plain[sign.end() : _term_end(plain, sign.end())].rstrip()
        typed_on = {name[-1] for name in re.findall(r"\b[^\W\d]\w*?_[a-z]\b", term_text) if name not in values}
        index = sign[2] or (typed_on.pop() if len(typed_on) == 1 else "")
        term = re.sub(r"(?<![\w)\]])\[([^\[\],]*)\]", r"(\1)", term_text)
        if index:
            term = re.sub(rf"(?<=[^\W_])_{index}\b", "", term)
            new = set(re.findall(rf"\b([^\W\d]\w*?)_{index}\b", term_text))
            others = set(re.findall(r"\b[^\W\d]\w*\b(?! *\()", term)) - new - indexed
            is_part = any(re.search(rf"_\w*{index}", name) or dimensions(values.get(name, 0)) != 0 for name in others)
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
        body = term if re.fullmatch(GROUP, term) else f"({term})"
        plain = f"{plain[: sign.start()]}{name}{body}{plain[sign.end() + len(term_text) :]}"
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
