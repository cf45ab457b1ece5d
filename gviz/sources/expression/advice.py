"""Answers for what cannot be read, and for what is Python but no part of an expression: ``2x``, ``x^2``, ``lgo(x)``.

Read only where an expression is refused. Every answer has the place and, where it can be told, what to write instead.
"""

from __future__ import annotations

import ast
import builtins
import os
import re
from collections.abc import Sequence
from dataclasses import replace
from inspect import signature
from keyword import iskeyword
from unicodedata import name, normalize

from gviz import engine
from gviz.errors import SourceError
from gviz.sources.expression.allowed import (
    ATTRIBUTES,
    FIELDS,
    OTHER_MODULES,
    OTHER_NAMES,
    find_function,
    function_name,
    functions,
    tensor_methods,
)
from gviz.sources.expression.characters import NO_LETTER, foreign_characters, replacement
from gviz.sources.expression.latex import DERIVATIVE_IN_LATEX, UNSEEN, not_read
from gviz.sources.expression.mathematics import ANGLES, QUOTES, SUM
from gviz.sources.expression.program import ExpressionText, Program, RefusedError, called_function, module_meant, sign
from gviz.sources.expression.rewriting import GROUP, rewrite
from gviz.sources.expression.suggestion import is_right, suggestion, values_apart
from gviz.sources.expression.tokens import BARS, JOINING, Token, bar_readings, tokens_of
from gviz.text import did_you_mean, printable

FILE = "gviz render file.py"
INDEX = "a sum has no index in an expression"

# ------------------------------------------------------------------ what cannot be read
MARKS = {
    "!": ("there is no factorial of what is not a small number", "write exp(lgamma(x + 1))"),
    "?": ("there is no ? : in an expression", "choose element by element: where(x > 0, x, 0)"),
    "->": ("an arrow has no meaning in an expression", "write = to name a value: y = x**2"),
    "\\": ("\\ has no meaning in an expression", "this LaTeX is not read: write x/w for a fraction, x**2 for a power"),
    "$": ("$ has no meaning in an expression", "this LaTeX is not read: write x/w for a fraction, x**2 for a power"),
    '"': ("this quote begins a text that does not end", "leave it out, or write one at each end, as in mode='mean'"),
    "%*%": ("%*% has no meaning in an expression", "write @ for a product of matrices: x @ w"),
    "%o%": ("%o% has no meaning in an expression", "write outer(x, w)"),
    "%in%": ("%in% has no meaning in an expression", "write isin(x, w)"),
    "%%": ("%% has no meaning in an expression", "write % for a remainder: x % 2"),
    "%/%": ("%/% has no meaning in an expression", "write floor(x/w)"),
    "|>": ("|> has no meaning in an expression", "write sigmoid(x) for x |> sigmoid"),
    "~": ("~ between two values has no meaning in an expression", "write the formula itself: y = b0 + b1*x"),
    ":": ("a range has no : here", "the numbers from 1 to 3 are arange(1, 4)"),
    "'": ("this quote begins a text that does not end", "a text has a quote at both ends, as in mode='mean'"),
}

PART = "write x[0:2] for a part, which is counted from 0; cells are a value: x=[1,2,3]"

STRAIGHT = 'write straight quotes, as in gviz render "y = x + w" x=2'

SIGNS = {
    "ᵀ": "write .T for a transposed matrix, as in A.T @ B",
    "⊤": "write .T for a transposed matrix, as in A.T @ B",
    "∇": 'gviz finds every gradient itself: gviz inspect "y=x**2" lists them',
    "∫": "there are no integrals: write out what they come to",
    "∛": "write x**(1/3)",
    "∜": "write x**(1/4)",
    "±": "write two expressions, one with + and one with -",
    "∓": "write two expressions, one with + and one with -",
    "≈": "write y = x to name a value, x == w to compare two",
    "≅": "write y = x to name a value, x == w to compare two",
    "∝": "write the factor: y = a*x",
    "∈": "leave out what the set is: a value says it, as in x=2",
    "⊗": "write outer(x, w) for two vectors, kron(A, B) for two matrices",
    "⊕": "write + to add",
    "→": "write = to name a value: y = x*2",
    "↦": "write = to name a value: y = x*2",
    "∧": "write (x > 0) & (w > 0)",
    "∨": "write (x > 0) | (w > 0)",
    "¬": "write ~(x > 0)",
    "⇒": "write ; between two statements: a = x + w; y = a*2",
    "°": "angles are in radians: write x*π/180",
    "、": "write ; between two statements: a = x + w; y = a*2",
    "∥": "bars stand on both sides of a value: ‖x‖",
    "‖": "bars stand on both sides of a value: ‖x‖",
    "₋": "write a name of its own for the one before, as x_0",
    "←": "write = to name a value: y = x*2",
}
"""What to write in place of a sign that an expression cannot have."""

WORDS = {
    "lim": ("there are no limits in an expression", "give the name a value near it: x=0.001"),
    "choose": ("there are no binomial coefficients", "write the number itself: 10 for 5 choose 2"),
    "cross": ("a cross product is a function", "write cross(x, w) and give x=[1,2,3] w=[4,5,6]"),
    "then": ("then is no word of an expression", "choose with where(x > 0, x, 0)"),
    "where": ("a value is no part of a formula", 'write it behind: gviz render "y=x**2" x=3'),
    "derivative": ("gviz finds every derivative itself", 'write gviz explain "y=x**2" --wrt x'),
    "gradient": ("gviz finds every gradient itself", 'write gviz explain "y=x**2" --wrt x'),
}
"""What to say of words between operands."""

LATEX = {
    "an index is": "write x_1 for a name with a number, y_0 for the y before it",
    " index ": SUM,
    " needs brackets": SUM,
    "between two values": "to solve A @ x = w, write inverse(A) @ w",
    "\\pm": SIGNS["±"],
    "clos": "each { needs its }, as in \\frac{1}{x}",
    "\\begin": "give a matrix as the value of a name: y=W @ x W=[[1,2],[3,4]] x=[1,2]",
    "next factor": "write \\frac{x}{w} for a division",
    "layer": "write x**(n-1) for a power, x_1 for a name with a number",
}
"""What to do about a LaTeX that is not read, by a word of what is wrong there."""


READ = frozenset("½⅓⅔¼¾×·⋅∙•−÷∕⊙∘∗≤≥≠√∑∏∞‖∥²³¹⁰⁴⁵⁶⁷⁸⁹⁺⁻ⁿ₀₁₂₃₄₅₆₇₈₉")
"""Characters that mathematics is read with: where they cannot be read, the reason is another."""


INDEX_ABOVE = re.compile(r"⁽([^\W_]+)⁾(?=(\w)?)")
"""The number of a layer, or of an example, as lectures write it: ``h⁽¹⁾``, ``x⁽ⁱ⁾``."""


def refuse_characters(source: ExpressionText) -> None:
    """Refuse ``xᵀ``, which Python would take for a name, curly quotes, ``°`` and what else is not read."""
    for line, column, character in foreign_characters(source.code):
        if character in READ:
            continue
        sign = replacement(character)
        use = {None: "is not part of an expression", "": "must be left out"}.get(
            sign, f"is written {sign} in an expression"
        )
        if character in ANGLES:
            use = "belongs to an inner product, which is written x @ w"
        hint = suggestion(source) or (STRAIGHT if character in QUOTES else SIGNS.get(character))
        if character in "⁽⁾":
            use = "may begin a power, or the number of a layer" if character == "⁽" else use
            text = INDEX_ABOVE.sub(with_index_below, source.code)
            is_index = "⁽" not in text and is_right(text := rewrite(text), ExpressionText(text))
            hint = f"write {text}" if is_index else LATEX["layer"]
        if character in QUOTES:
            use, sign = "is a quote of typesetting, and none of a shell", None
        raise SourceError(
            (f"{printable(character)} ({name(character, f'U+{ord(character):04X}').lower()}) {use}"),
            place=source.place_at(line, column),
            hint=hint,
        )


def with_index_below(index: re.Match[str]) -> str:
    """Return an index above a name as an expression writes it, behind the name: ``_1``."""
    return f"_{normalize('NFKC', index[1])}{'*' if index[2] else ''}"


def answer_to(error: Exception, source: ExpressionText, reading: Token | Exception | None = None) -> SourceError:
    """Return the answer to a source that is refused.

    Args:
        error: a RefusedError of the check; a SyntaxError of Python's parser, or the error of what is too deep for it.
        source: what was typed.
        reading: the first piece of which it is not certain how it is meant as mathematics; or what is wrong with that.
    """
    if not re.search("[;\n]", source.code) and (behind := values_apart(source)) is not None:
        return SourceError("a value is no part of a formula", place=source.place_of(behind[1]), hint=behind[0])
    refuse_characters(source)
    is_sign = isinstance(getattr(error, "node", None), ast.BinOp)  # ^, of which there is nothing to say; or ²
    is_sign = is_sign or (isinstance(error, SyntaxError) and not ("{" in source.code and error.msg))
    error, stop = (reading if is_sign else error, None) if isinstance(reading, Exception) else (error, reading)
    if isinstance(error, RefusedError):
        return _refused(error.node, error.program, stop)
    if not isinstance(error, SyntaxError) or "too many nested" in str(error):
        return _too_deep(source)
    return _unreadable(source, error, stop)


PATH = re.compile(r"[\w./~\\:-]+")
SUFFIXES = (".py", ".ipynb", ".json", ".txt")
"""What a file of a source is called, if its suffix was left out."""

DERIVATIVE = re.compile(
    rf"(?<![\w.])(?P<sign>∂|d) *(?P<order>\^? *\d|[²³])? *(?P<of>{GROUP}|[^\W\d]\w*)?"
    rf" */ *\(? *(?P=sign) *\(?(?P<by>[^\W\d](?:(?![²³])\w)*)"
    rf"[²³]?(?:\^\d|\*\*\d)?\)* *(?P<then>{GROUP}|(?(of)(?!)|[^\W_][^=;\n]*))?"
)
"""A derivative as mathematics writes it: ``dy/dx``, ``∂L/∂w``, ``d(x**2)/dx``, ``d/dx (x**2)``."""


POWER_ON_LEFT = re.compile(
    rf"(?:^|[;\n]) *(?P<power>(?P<name>(?!{NO_LETTER})[^\W\d](?:(?!{NO_LETTER})\w)*)"
    r" *(?:[²³]|(?:\^|\*\*) *[23])) *=(?!=| *[^\W\d]\w* *(?:[;\n]|$))"
)
"""A power in the place of a name, ``s² = ...``."""

RANGE = re.compile(r"\s*([-+]?\d+) *: *([-+]?\d+)\s*")
"""Whole numbers as MATLAB writes them, ``1:3``."""

TEXTS = re.compile(r"(?<![\w')])(?:'[^'\n]*'|\"[^\"\n]*\")|\b[bfru]+(?:'[^'\n(=]+'|\"[^\"\n]*\")")
PRIME = re.compile(r"(?<=[\w)])\.?(?:'+|[′″‴]+)(?![\w{])(?P<follows> *(?:=(?!=)|\())?")
LONE_PRIME = re.compile(r"(?<=[\w)])'(?=\w)(?P<follows>(?!))?")
"""A prime behind a name: ``y' = 2*x``, ``f'(x)``, ``A'``."""

PROSE = re.compile(r"(?:[^\W\d]\w*[,.:]? +){4,}[^\W\d]\w*")
"""Words, one behind the other."""

FEW = 3
"""More long words than that are prose."""


def refuse_other(source: ExpressionText) -> None:
    """Refuse what may be read as an expression and is none: a file without its suffix, prose, and a derivative.

    ``dy`` and ``dx`` are no new names, and a derivative is no part of an expression.
    """
    word = source.code.strip()
    files = [word + suffix for suffix in SUFFIXES if PATH.fullmatch(word) and os.path.isfile(word + suffix)]
    if files and word not in source.values and not source.prefix:
        raise SourceError(f"there is no file {word}", hint=f"did you mean {files[0]}?")
    prose = PROSE.search(source.code)
    words = {word for word in re.findall(r"\w+", prose[0] if prose else "") if len(word) >= FEW}
    if prose is not None and len(words) >= FEW and functions().isdisjoint(words) and "else" not in words:
        raise SourceError(
            "this is prose, and no expression",
            place=replace(source.place_of(prose.start()), length=len(prose[0])),
            hint="an expression is a line such as y = w*x + b; a file has one in each line, and # before a comment",
        )
    without_texts = TEXTS.sub(lambda text: " " * len(text[0]), source.code)
    prime = PRIME.search(without_texts) or LONE_PRIME.search(without_texts)
    if prime is not None and not source.prefix:
        ways = (
            'a derivative is found by gviz explain "y=x**2" --wrt x; for a new name, write y1'
            if prime["follows"]
            else "write .T for a transposed matrix; for a new name, write x1"
        )
        raise SourceError("a prime cannot be in a name", place=source.place_of(prime.start()), hint=ways)
    if (left := POWER_ON_LEFT.search(source.code)) is not None:
        power, name = left["power"], left["name"]
        number = normalize("NFKC", power[-1])
        raise SourceError(
            "a power cannot be a name",
            place=replace(source.place_of(left.start("power")), length=len(power)),
            hint=f"write {name}{number} = ..., or {name} = sqrt(...)"
            if number == "2"
            else f"write {name}{number} = ...",
        )
    names = {*source.values, *re.findall(r"([^\W\d]\w*) *=(?!=)", source.code)}
    for match in (*DERIVATIVE_IN_LATEX.finditer(source.code), *DERIVATIVE.finditer(source.code)):
        of, by, then = match["of"] or "", match["by"], "" if match["of"] else (match["then"] or "").strip()
        if f"d{by}" in names or f"d{of}" in names:
            continue
        assigned = re.search(rf"(?:^|[;\n]) *{re.escape(of)} *=(?!=)", source.code)
        rest = rewrite("; ".join(part for part in re.split(r"[;\n]", source.code) if match[0].strip() not in part))
        formula = rest if assigned is not None and is_right(rest, ExpressionText(rest)) else ""
        then = " ".join(UNSEEN.sub(" ", then).split())
        formula_text = next((text[1:-1] for text in (of, then) if re.fullmatch(GROUP, text)), then)
        formula_text = rewrite(formula_text) if re.search(rf"\b{by}\b", formula_text) else f"{by}**2"
        formula = formula or f"{of if of.isidentifier() and of != by else 'y'}={formula_text}"
        order = (match["order"] or "").strip(" ^{}").translate({ord("²"): "2", ord("³"): "3"})
        raise SourceError(
            "a derivative is not part of an expression: gviz finds it",
            place=replace(source.place_of(match.start()), length=len(match[0].rstrip())),
            hint=(
                f'write gviz render "{formula}" --order {order} --wrt {by}'
                if order
                else f'write gviz explain "{formula}" --wrt {by}'
            ),
        )


def _uncertain(source: ExpressionText, stop: Token) -> SourceError:
    """Return the answer to a piece of which it is not certain how it is meant."""
    text = stop.text
    what, hint = f"it is not certain how {text} is meant here", ""
    if "{" in source.code:
        what, hint = SYNTAX["Set Dict"]
    elif text == "√" or function_name(text).removeprefix("1/") in functions():
        what, hint = f"{text} needs brackets around its argument", f"write {text}(...)"
    elif text == "e":
        what, hint = "a power of e needs brackets around its exponent", "write exp(...)"
    elif text in ("∑", "∏"):
        what, hint = f"{text} needs brackets around its terms", SUM
    root = "write x**(1/3)" if re.search("[³⁴]√", source.code) else None
    return _on(source, stop, what, root or suggestion(source) or hint or None)


def _unreadable(source: ExpressionText, error: SyntaxError, stop: Token | None) -> SourceError:
    """Return the answer to what the parser refuses."""
    what, hint = error.msg or "invalid syntax", suggestion(source)
    tokens = tokens_of(source.code)
    if (turned := _turned(source)) is not None:
        return _on(source, tokens[0], "cannot assign to expression", turned)
    if (latex := not_read(source.code)) is not None:
        is_division = LEFT_DIVISION.match(source.code, latex[0].start()) is not None
        what = "there is no \\ between two values" if is_division else latex[1]
        return SourceError(
            what,
            place=replace(source.place_of(latex[0].start()), length=len(latex[0][0])),
            hint=next((hint for word, hint in LATEX.items() if word in what), MARKS["\\"][1]),
        )
    if (one := _wrong_token(source, tokens, hint)) is not None:
        return one
    pair = _wrong_pair(tokens, source) if what.startswith("invalid") else None
    if pair is not None:
        return _on(source, pair[0], pair[1], hint or pair[2])
    if stop is not None and not error.msg:  # Python's parser was not asked
        return _uncertain(source, stop)
    if what.startswith("Missing parentheses in call to 'print'"):
        hint = CALLED["print"][1]
    elif "assign to" in what:
        what, hint = what.partition(" here. Maybe")[0], "write a name alone on the left, as in y = x*2"
    elif "does not match opening" in what:
        hint = hint or "close each bracket by its own kind, as in (x + w)*x[0]"
    elif what.startswith("unmatched"):
        hint = hint or "leave it out, or open it before"
    elif "Maybe you meant" in what:
        what, hint = what.partition(". Maybe")[0], hint or "write ; between two statements: a = x + w; y = a*2"
    line, column = error.lineno or 1, max((error.offset or 1) - 1, 0)
    marked = (token for token in tokens if token.line == line and 0 <= column - token.column < len(token.text))
    token = next(marked, Token("newline", "", line, column))
    before = next((one for one in reversed(tokens) if (one.line, one.column) < (token.line, token.column)), token)
    if what == "invalid syntax" and before.awaits_operand:
        side = "before" if before is token else "after"
        usual = (
            "write it as a number, as in 0.5*x"
            if before.text == "%"
            else "write what is to stand there, as in (x + w)*2"
        )
        what, hint = f"there is nothing {side} {before.text}", hint or usual
        token = before if token.kind == "newline" else token
    return _on(source, token, what, hint)


LEFT_DIVISION = re.compile(r"(?<=[\w)\]'])\\(?=(?:[^\W\d](?![^\W\d])|\())")
"""A division of MATLAB, ``A\\b``; a command of LaTeX has more letters."""


def _turned(source: ExpressionText) -> str | None:
    """Return the hint with ``x+w=y`` turned around, or for ``dy/dx = 2x``; None for another equation."""
    if re.match(r"\s*d\w+\s*/\s*d\w+\s*=", source.code):
        return "write the formula itself, as in y = x**2: gviz derives it"
    match = re.fullmatch(r"\s*([^=<>!;]*[^\W\d][^=<>!;]*?)\s*=\s*([^\W\d]\w*)\s*", source.code)
    text = f"{match[2]} = {rewrite(match[1], values=source.values)}" if match else ""
    return f"write {text}" if match and is_right(text, source) else None


def _wrong_token(source: ExpressionText, tokens: Sequence[Token], hint: str | None) -> SourceError | None:
    """Return the answer to the first token that no expression has; None if there is none."""
    is_name = "Σ" in source.values or re.search(r"Σ *=(?!=)", source.code) is not None
    for at, token in enumerate(tokens):
        is_indexed = at + 1 < len(tokens) and re.match("[_ₐ-ₜᵢ-ᵪⱼ]", tokens[at + 1].text) is not None
        answer: tuple[str, str | None] | None = None
        if token.text == ":" and source.prefix and (numbers := RANGE.fullmatch(source.code)) is not None:
            answer = "a range has no : here", f"write arange({numbers[1]}, {int(numbers[2]) + 1})"
        elif token.text in ("∑", "∏") and is_indexed:
            answer = INDEX if token.text == "∑" else INDEX.replace("sum", "product"), hint or SUM
        elif token.kind == "operator":
            answer = _wrong_sign(source, tokens, at, hint)
        elif token.kind == "name":
            answer = _wrong_word(source, tokens, at, hint, is_sum=token.text[0] == "Σ" and not is_name)
        if answer:
            return _on(source, token, *answer)
    return None


def _wrong_sign(
    source: ExpressionText, tokens: Sequence[Token], at: int, hint: str | None
) -> tuple[str, str | None] | None:
    """Return the answer to a sign that no expression has at its place; None for any other sign."""
    text, before = tokens[at].text, tokens[at - 1]
    ends_before = at > 0 and before.ends_value
    if text == "!" and not ends_before:
        return SYNTAX["UnaryOp"]
    is_range = re.fullmatch(r" *([^\W\d]\w* *=)? *\w+ *:( *\w+ *:)? *\w+ *", source.code) is not None
    is_part = re.search(r"\([^()\[\]:]*:[^()\[\]]*\)", source.code) is not None  # SUM(A1:A3), x(1:2)
    if text in MARKS and {":": is_range or is_part, "~": ends_before}.get(text, True):
        own = {"!": hint, "%*%": hint, "%%": hint, "?": _where_hint(source), ":": PART if is_part else None}.get(text)
        return MARKS[text][0], own or MARKS[text][1]
    readings = bar_readings(tokens)
    if text in BARS and len(readings) > 1:
        ways = [rewrite(source.code, values=source.values, way=way) for way in (0, 1)]
        are_right = all(is_right(way, source) for way in ways)
        return ("these bars have two readings", f"write {' or '.join(ways)}") if are_right else None
    if text == "{" and ends_before and before.text[-1] == "_":
        return "an index is a number or a name", hint or "write x_1; for a part of a tensor, x[1]"
    if text in BARS and not readings and sum(one.text == text for one in tokens) % 2:
        return "this bar has no partner", "write bars on both sides of a value, |x|, or abs(x)"
    is_twice = text in ("&", "|") and [one.text for one in tokens[at + 1 : at + 2]] == [text] and not readings
    return (SYNTAX["BoolOp"][0], f"write (x > 0) {text} (w > 0)") if is_twice else None


def _wrong_word(
    source: ExpressionText, tokens: Sequence[Token], at: int, hint: str | None, *, is_sum: bool
) -> tuple[str, str] | None:
    """Return the answer to a word that is no name; None for one that may be a name, or joins operands."""
    text, token = tokens[at].text, tokens[at]
    if text in WORDS and text not in source.values and token is not tokens[-1] and tokens[at + 1].text != "(":
        return WORDS[text]
    if text == "if":
        return SYNTAX["IfExp"][0], _where_hint(source) or SYNTAX["IfExp"][1]
    if is_sum:
        return INDEX if text[1:2] == "_" else "a sum is written sum(...)", hint or SUM
    is_operand = at > 0 and tokens[at - 1].awaits_operand and text not in ("not", "if")
    if iskeyword(text) and not token.is_word and (is_operand or text not in JOINING):
        return f"{text} is a word of Python's own and cannot be a name", (
            f"as a name, write {text}_ or {text}1; a program goes into a file: {FILE}"
        )
    return None


CHOICE = (
    re.compile(
        r"^ *(?:(?P<name>[^\W\d]\w*) *=(?!=))?(?P<then>[^;\n=]+?)\bif\b(?P<condition>[^;\n]+?)\belse\b(?P<other>[^;\n]+)$"
    ),
    re.compile(
        r"^ *(?:(?P<name>[^\W\d]\w*) *=(?!=))?(?P<condition>[^;\n?:]+)\?(?P<then>[^;\n?:]+):(?P<other>[^;\n?:]+)$"
    ),
    re.compile(r"^ *if\b(?P<condition>[^;\n:]+):?(?: *(?P<name>[^\W\d]\w*) *=(?!=))?(?P<then>[^;\n=]*?)(?P<other>) *$"),
)
"""A choice as Python writes it, and C."""


def _where_hint(source: ExpressionText) -> str | None:
    """Return the hint with a choice by ``if`` as ``where``, which gviz can read; None if it is none."""
    for match in (pattern.search(source.code) for pattern in CHOICE):
        if match is not None:
            parts = [match[name].strip() for name in ("condition", "then", "other")]
            name = f"{match['name']}=" if match["name"] else ""
            formula = rewrite(f"{name}where({parts[0]}, {parts[1] or 'x'}, {parts[2] or '0'})")
            is_fit = re.search("[<>=]", parts[0]) is not None and is_right(formula, ExpressionText(formula))
            return f"write {formula}" if is_fit else None
    return None


def _too_deep(source: ExpressionText) -> SourceError:
    """Return the answer to a source that is nested beyond what the parser takes; it marks the longest line."""
    line = max(range(len(source.lines)), key=lambda number: len(source.lines[number]))
    return SourceError(
        "the expression is too long or too deeply nested to be read in one piece",
        place=source.place_at(line + 1, len(source.lines[line]) // 2),
        hint=f"split it into several statements, as in: s = x + w; s = s + x; y = s*2; or write a script: {FILE}",
    )


def _on(source: ExpressionText, token: Token, what: str, hint: str | None) -> SourceError:
    """Return an error on a token."""
    return SourceError(
        printable(what), place=source.place_at(token.line, token.column, len(token.text)), hint=hint and printable(hint)
    )


def _wrong_pair(tokens: list[Token], source: ExpressionText) -> tuple[Token, str, str] | None:
    """Return the first operand that cannot follow the one before it, why, and what to do: ``2x``, ``sin x``."""
    end = Token("newline", "\n", 0, 0)
    for at, (before, token, after) in enumerate(zip(tokens, tokens[1:], [*tokens[2:], end], strict=False)):
        if before.ends_operand and token.starts_operand and token.text != "(":
            if (
                before.kind == "name"
                and len(before.text) > 1
                and OTHER_NAMES.get(before.text, before.text) in functions()
            ):
                return before, f"{before.text} needs brackets around its argument", f"write {before.text}({token.text})"
            product = f"{before.text}*{token.text}"
            hint = f"to multiply, write {product if is_right(product, source) else '*'}"
            if before.text.startswith("log_"):
                return before, f"there is no function {before.text}", OTHER_BASE.format(before.text[4:])
            if token.text[0] == "_":  # softmax(x)_i
                hint = "for a part of a tensor, write x[0]"
            if source.prefix and before.kind == "number" and token.kind == "name":  # a value, which has no names
                if token.text in ("i", "j"):
                    return before, "complex numbers are not possible in an expression", "write a real number"
                hint = f"leave out {token.text}: a value is a number alone"
            elif before.kind == token.kind == "number":
                hint = "a list has commas, and is the value of a name: y=W*x W=[1,2]"
                hint = f"write {before.text}{token.text} for a number" if len(token.text) == len("000") else hint
                hint = "a number has one decimal point" if token.text.startswith(".") else hint
            elif token.is_word and after.text == "=" and "_" not in before.text:
                hint = f"write ; between two statements: {before.text}; {token.text}="
                if at == 0 and before.kind == "name":  # let y = x**2
                    hint = f"leave out {before.text}, or write ; behind it"
            return token, f"there is no operator between {before.text} and {token.text}", hint
    return None


# ------------------------------------------------------------------ what is not part of an expression
SCRIPT = f"an expression has assignments and formulas only; for a whole program: {FILE}"

SYNTAX = {
    "Import ImportFrom": ("import is not possible in an expression", "every function is there already: write log(x)"),
    "ListComp SetComp DictComp GeneratorExp": (
        "a loop is not possible in an expression",
        f"write the terms out, or use a script: {FILE}",
    ),
    "Set Dict": ("{ } are not brackets of an expression", "write round ones: (x + w)*2"),
    "BoolOp": ("and, or are not possible with tensors", "write (x > 0) & (x < 1), or call logical_and, logical_or"),
    "Compare": ("in, is are not possible with tensors", "compare with == or !="),
    "UnaryOp": ("not is not possible with tensors", "write ~(x > 0), or logical_not(x)"),
    "Constant JoinedStr": (
        "a text is not possible in an expression",
        "text in quotes is only for arguments, as in mode='mean'",
    ),
    "IfExp": ("if ... else is not possible in an expression", "choose element by element with where(condition, a, b)"),
    "NamedExpr": (":= is not possible in an expression", "make it a statement of its own: a = x + w; y = a*2"),
    "AnnAssign": ("a type is not written in an expression", "write y = x*2; --dtype float64 sets the dtype"),
    "Lambda": ("lambda is not possible in an expression", "write the formula itself; as a name, call it lam"),
    "Starred keyword": ("* and ** before a name are not possible in an expression", "write the arguments one by one"),
    "Tuple List": ("names in brackets cannot be assigned", "write one level of names, as in v, i = max(x, dim=0)"),
    "Subscript": ("a part of a tensor cannot be assigned", f"that changes it in place; use a script: {FILE}"),
    "Attribute": ("an attribute cannot be assigned", "assign to a name of its own, as in y = x*2"),
    "Name": ("this is a word of Python's own and cannot be a name", "choose another name"),
}
"""Answers by the kinds of syntax."""

PRIVATE = {
    "grad": ("x.grad is not there before backward", "gviz shows every gradient by itself; see gviz inspect"),
    "backward": (
        "backward runs by itself",
        "leave it out; --root NAME picks where it starts, --no-backward leaves it away",
    ),
    "retain_grad": ("retain_grad is an option here", "write --retain NAME"),
    "requires_grad requires_grad_": (
        "requires_grad is an option here",
        "every value has it; --frozen NAME takes one out",
    ),
    "data numpy": (
        "x.data, x.numpy() are not possible in an expression",
        "x.detach() is the same numbers outside the graph",
    ),
}

CALLED = {
    "print": ("nothing has to be printed", "leave print out; gviz inspect shows every value"),
    "grad": ("gviz finds every gradient itself", 'write gviz inspect "y=x**2", or gviz explain "y=x**2" --wrt x'),
    "diff": ("gviz finds every derivative itself", 'write gviz explain "y=x**2" --wrt x'),
    "cbrt": ("there is no cube root", "write x**(1/3)"),
    "factorial": ("there is no factorial", "write the product: 3*2*1"),
    "gamma": ("there is no gamma function", "write exp(lgamma(x))"),
    "Γ": ("there is no gamma function", "write exp(lgamma(x))"),
    "manual_seed": ("random numbers are always drawn from manual_seed(0) here", "leave it out"),
}

ELSEWHERE = {
    "len length": "write x.shape[0]",
    "range": "write arange(3)",
    "float": "write x.float()",
    "int": "write x.long()",
    "sd stdev": "write std(x)",
    "if ifelse Piecewise": "choose element by element: where(x > 0, x, 0)",
    "mod": "write x % 2",
    "mmult": "write A @ x",
    "sumproduct": "write sum(x*w)",
    "sumsq": "write sum(x**2)",
    "pmax": "write maximum(x, w), or relu(x) for the larger of x and 0",
    "pmin": "write minimum(x, w)",
    "expit plogis LogisticSigmoid": "write sigmoid(x)",
    "solve": "write inverse(A) @ x",
    "crossprod": "write A.T @ A",
    "dnorm": "write exp(-x**2/2)/sqrt(2*pi)",
    "pnorm Φ": "write (1 + erf(x/sqrt(2)))/2",
    "radians": "write x*π/180",
    "integrate Integrate": "there are no integrals: write out what they come to",
}
"""Functions of Python, R, spreadsheets and others, which may have them in capitals -> what to write in their place."""

MODULE = f"modules need a script: {FILE}; here, write the formula with names for the weights: y = x @ W.T + b"
AS_IN_PYTORCH = "functions are called as in PyTorch, exp(x) or relu(x)"
OTHER_BASE = "for another base, write log(x)/log({})"
TO_MULTIPLY = "to multiply, write * before the bracket"


def _refused(node: ast.AST, program: Program, stop: Token | None) -> SourceError:
    """Return the answer to a piece of syntax that an expression may not contain."""
    source, place = program.source, node
    if isinstance(node, ast.BinOp) and stop is not None:  # of the operators between two only ^ is refused
        return _uncertain(source, stop)
    if isinstance(node, ast.Call):
        module = _module(node.func, program)
        place = module or node.func
        what, hint = _call_answer(node, program)
        if module is not None:
            what, hint = (
                f"{source.segment(module)} is a module, which an expression cannot have",
                _as_function(node, module),
            )
    elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load):
        what, hint = _member(node)
    else:
        what, hint = _syntax(node, source)
    if isinstance(node, ast.BinOp):
        return _on(source, next(token for token in tokens_of(source.code) if token.text == "^"), what, hint)
    return SourceError(what, place=source.place(place), hint=hint)


def _syntax(node: ast.AST, source: ExpressionText) -> tuple[str, str]:  # noqa: PLR0911 - one answer for each kind
    """Return the answer to all but calls and attributes."""
    match node:
        case ast.AugAssign():
            name, operator = source.segment(node.target), "..." if isinstance(node.op, ast.BitXor) else sign(node.op)
            return "this changes a tensor in place", (
                f"write {name} = {name} {operator} {source.segment(node.value)}, which makes a new one"
            )
        case ast.BinOp():
            return "^ is written ** in an expression", suggestion(source) or "write x**2 for a power"
        case ast.Set():
            return SYNTAX["Set Dict"][0], suggestion(source) or SYNTAX["Set Dict"][1]
        case ast.Compare(ops=[_, _, *_]):
            return "comparisons cannot be chained with tensors", "write (0 < x) & (x < 1)"
        case ast.Constant(value=complex()):
            return "complex numbers are not possible in an expression", (
                "write a real number" if source.prefix else suggestion(source) or "write j as a name of its own: 2*j"
            )
        case ast.Expr():
            typed = "<-" if "<-" in source.segment(node) else "=="
            return f"{typed} compares, and gives no name", suggestion(source) or "write = to name what is on the right"
        case ast.keyword(arg=str(name)):
            return f"{name}= is not possible in an expression", "it would write into a tensor"
    if isinstance(node, ast.IfExp | ast.If) and (hint := _where_hint(source)) is not None:
        return SYNTAX["IfExp"][0], hint
    word = source.segment(node).partition(" ")[0].rstrip(":")
    return _in_table(SYNTAX, type(node).__name__) or (f"{word} is not possible in an expression", SCRIPT)


def _in_table(answers: dict[str, tuple[str, str]], word: str) -> tuple[str, str] | None:
    """Return the answer of a table whose keys have several words each."""
    return next((answer for words, answer in answers.items() if word in words.split()), None)


def _member(node: ast.Attribute, *, is_called: bool = False) -> tuple[str, str]:
    """Return the answer to an attribute, or a method, that is not on the list."""
    name, plain, of = node.attr, node.attr.rstrip("_"), getattr(node.value, "id", "")
    kind, names, otherwise = (
        "attribute",
        ATTRIBUTES | FIELDS | tensor_methods(),
        "tensors have .T, .shape and their methods",
    )
    if is_called:
        kind, names, otherwise = "method", tensor_methods(), "tensors have PyTorch's methods, as in x.exp() or x.sum()"
    is_number = of in OTHER_MODULES and name.lower() in ("pi", "inf", "nan")
    answers = (
        (is_number and not is_called, f"{of} is not needed", f"write {name.lower()}"),
        (name in tensor_methods() and not is_called, f"{name} is a method", f"write .{name}() with brackets"),
        (name in ATTRIBUTES, f"{name} is not a method", f"write .{name} without brackets"),
        (name in functions() and is_called, f"{name} is a function, not a method", f"write {name}(x, ...)"),
        (
            name != plain and plain in tensor_methods(),
            f"{name} changes a tensor in place",
            f"write .{plain}(...), which makes a new one, or use a script: {FILE}",
        ),
        (
            len(name) == 1 and of != "",
            f"there is no {kind} {name}",
            f"for a product, write {of}*{name}; of two vectors {of} @ {name}",
        ),
        (True, f"there is no {kind} {name} in an expression", did_you_mean(name, names, otherwise)),
    )
    return _in_table(PRIVATE, name) or next((what, hint) for applies, what, hint in answers if applies)


def _call_answer(node: ast.Call, program: Program) -> tuple[str, str]:
    """Return the answer to a call of what is not a function: ``2(x+1)``, ``x(w+1)``, ``lgo(x)``, ``x.backward()``."""
    function, source = node.func, program.source
    if isinstance(function, ast.Attribute):
        name, of = function.attr, module_meant(function.value)
        if of not in OTHER_MODULES and called_function(node, program.bound) is None:
            return _member(function, is_called=True)
        function_meant = OTHER_NAMES.get(name, name).removeprefix("reduce_")
        if function_meant in ("std", "var") and of in ("np", "numpy", "jnp", "tf", "math"):  # not of samples
            return f"there is no {of} in an expression", f"write {function_meant}(x, unbiased=False)"
        what = of if of in OTHER_MODULES else f"function {ast.unparse(function)}"
        return f"there is no {what} in an expression", (
            f"write {function_meant}(...)"
            if function_meant in functions()
            else _elsewhere(name) or did_you_mean(name, functions(), SCRIPT)
        )
    if not isinstance(function, ast.Name):
        is_result = isinstance(function, ast.Call | ast.Subscript)
        what = "what a function returns cannot be called" if is_result else "there is no operator before this bracket"
        return what, suggestion(source) or TO_MULTIPLY
    return _name_answer(function.id, program)


def _as_function(call: ast.Call, module: ast.expr) -> str:
    """Return the hint with the function that computes what a module does, if it needs nothing but its input."""
    arguments = (
        [] if call.func is module or not isinstance(call.func, ast.Call) else [*call.func.args, *call.func.keywords]
    )
    values = ", ".join(ast.unparse(one) for one in (*call.args, *arguments)) or "x"
    name = function_name(module.attr if isinstance(module, ast.Attribute) else getattr(module, "id", ""))
    if name not in functions():
        return MODULE
    _, *others = signature(find_function(name)).parameters.values()
    is_alone = all(one.default is not one.empty or one.name == "dim" for one in others)
    return f"modules need a script: {FILE}; here, write {name}({values})" if is_alone else MODULE


def _elsewhere(name: str) -> str | None:
    """Return what to write for a function that others have; None for one that is not known."""
    words = {name, name.lower() if name.isupper() else name}
    return next((hint for known, hint in ELSEWHERE.items() if words & {*known.split()}), None)


def _name_answer(name: str, program: Program) -> tuple[str, str]:
    """Return the answer to a call of a name."""
    if name in program.bound:
        origin = "has a value" if name in program.values else "is assigned"
        if name in functions():
            return (
                f"{name} {origin} here, so it is not the function {name}",
                f"give the value another name, or write torch.{name}(...)",
            )
        return f"{name} {origin}: it is not a function", (
            suggestion(program.source, but=name) or f"to multiply, write {name}*(...)"
        )
    if name in CALLED:
        return CALLED[name]
    elsewhere = _elsewhere(name)
    if hasattr(builtins, name):
        return f"{name} is not allowed in an expression", elsewhere or f"a script can do it: {FILE}"
    if elsewhere is not None:
        return f"there is no function {name}", elsewhere
    product = suggestion(program.source)
    factor, function = re.fullmatch(r"(\w(?:_?\d+)?)(\w*)", name).groups()  # type: ignore[union-attr]  # x_0cos
    hints = (
        (name[0] == "Σ", product or SUM),
        (name.startswith("log_"), OTHER_BASE.format(name[4:])),
        (name in OTHER_NAMES, product or f"write {OTHER_NAMES.get(name)}(...)"),
        ((len(name) == 1 or "π" in name) and product is not None, f"to multiply, {product}"),
        (name in tensor_methods(), f"write x.{name}(...)"),
        (
            function_name(function) in functions()
            and (len(name) > FEW or not function.isascii())
            and name.lower() not in functions(),
            f"to multiply, write {factor}*{function}(...)",
        ),
        (True, did_you_mean(name, functions(), f"{AS_IN_PYTORCH}; {TO_MULTIPLY}")),
    )
    return f"there is no function {name}", next(hint for applies, hint in hints if applies)


def _module(function: ast.expr, program: Program) -> ast.expr | None:
    """Return the class where ``nn.Linear``, ``torch.nn.Linear(2, 3)`` or ``Linear(2, 3)`` is called; else None."""
    node = function.func if isinstance(function, ast.Call) else function
    match node:
        case ast.Attribute(value=ast.Name("nn") | ast.Attribute(attr="nn"), attr=name):
            return node if name[:1].isupper() and "nn" not in program.bound else None
        case ast.Name(name) if (
            node is not function and name not in program.bound
        ):  # Sigmoid(x) is the function, in capitals
            return node if isinstance(getattr(engine.nn, name, None), type) else None
    return None
