r"""LaTeX as people paste it, ``$y=(x+w)\times w_{1}$``, rewritten as an expression, or where it cannot be read."""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import chain
from typing import Any
from unicodedata import lookup

from gviz.sources.expression.allowed import OTHER_NAMES, functions, word_set
from gviz.sources.expression.program import ExpressionText
from gviz.sources.expression.rewriting import GROUP, rewrite
from gviz.sources.expression.suggestion import is_right
from gviz.sources.notes import Note

SIGNS = {
    "times": "*", "cdot": "*", "ast": "*", "odot": "*", "div": "/", "le": "<=", "leq": "<=", "ge": ">=", "geq": ">=",
    "ne": "!=", "neq": "!=", "pi": "π", "sigma": "σ", "lvert": "|", "rvert": "|", "vert": "|", "lVert": "||", "rVert": "||",
    "|": "||", "arcsin": "asin", "arccos": "acos", "arctan": "atan", "top": "T", "lambda": "lam", "{": "(", "}": ")", "\\": ";",
    "sum": "Σ", "prod": "∏",
}  # fmt: skip
"""Commands that are not the name of what they mean, as ``\\exp`` and ``\\alpha`` are."""

GREEK = word_set(
    """
    alpha beta gamma delta epsilon varepsilon zeta eta theta iota kappa lambda mu nu xi rho tau upsilon phi varphi chi
    psi omega
    """
)
COMMAND = r"\\([a-zA-Z]+|.)"
OTHERWISE = word_set("frac dot square angle")
"""Commands that are not the functions which are called so."""

UNSEEN = re.compile(
    r"(?<!\\)\\(?:(?:left|right|[bB]igg?[lr]?|displaystyle|limits|q?quad)(?![a-zA-Z])|[,;:! ()\[\]])"
    r"|(?<!\\)\\(?:begin|end)\{(?:align|equation|gather|math|multline|split)\w*\*?\}"
    r"|&|\$"
)
"""What changes the look alone."""

SHAPED = word_set("frac dfrac tfrac sqrt hat bar tilde vec intercal operatorname boldsymbol bm")
"""Commands with arguments, which are read too; so are those of text and of alphabets."""

STYLED = re.compile(r"\\(?:math\w+|operatorname|text\w*|boldsymbol|bm)\s*\{([^{}]*)\}")
MARKED = re.compile(r"\\(hat|bar|tilde|vec)\s*(?:\{\s*(\w+)\s*\}|(?<=[a-z])\s+([a-zA-Z]))")
KEPT = r"\\(?:text\w*|math(?:rm|it|sf|tt)|operatorname)\s*\{[^{}]*\}|\\[a-zA-Z]+|_\s*\{[^{}]*\}"
LETTERS = re.compile(rf"(?P<kept>{KEPT})|_\s*(?P<index>[0-9]+|[a-zA-Z])|(?P<word>[a-zA-Z]+[0-9]*)(?P<call>(?=\s*\())?")
"""Words that stay whole, an index of one letter or number, and letters side by side."""

SUM_OF_TERMS = re.compile(r"(?<![\\\w])(sum|prod)(?=\s*_\s*\{\s*\w\s*=)")
"""A sum whose command lacks its ``\\``: ``sum_{i=1}^{n} x_i``."""

LEFT = re.compile(r"(?:^|;|\\\\)\s*([a-zA-Z]\w*)\s*=(?!=)")
DEFINED = re.compile(r"((?:^|;|\\\\)\s*)([a-zA-Z])\(\s*\w+\s*\)\s*=(?!=)")
"""A value that is written as a function, ``f(x) =``."""

TRANSPOSED = r"(?:(?:\\top|\\intercal)(?![a-zA-Z])|T)"
ARGUMENT = r"\s*(?:\{([^{}]*)\}|([0-9a-zA-Z]|\\[a-zA-Z]+))"


def _fraction(match: re.Match[str]) -> str:
    above, below = (match[1] or match[2] or "", match[3] or match[4] or "")
    return f"({_grouped(above)}/{_grouped(below)})"


def _grouped(part: str) -> str:
    return part if re.fullmatch(r" ?(?:\\?[^\W\d]\w*|\d+)(?:\^\w+)? ?", part) else f"({part})"


BRACED: tuple[tuple[re.Pattern[str], Any], ...] = (
    (re.compile(rf"\^\s*(?:\{{\s*{TRANSPOSED}\s*\}}|{TRANSPOSED})"), "ᵀ"),
    (re.compile(r"_\s*\{\s*(\w+)\s*\}"), r"_\1"),
    (
        re.compile(rf"(?<!\\)\b(?!e\b)([a-zA-Z]\w*)\s*\^\s*\{{\s*[(\[]\s*(\w+)\s*[)\]]\s*({TRANSPOSED})?\s*\}}"),
        lambda m: f"{m[1]}_{m[2]}{'ᵀ' if m[3] else ' '}",
    ),
    (re.compile(r"\^\s*\{(\d+|[^\W\d]\w*)\}"), r"^\1 "),
    (re.compile(r"\^\s*\{([^{}]*)\}"), r"^(\1)"),
    (re.compile(rf"\\[dt]?frac(?![a-zA-Z]){ARGUMENT}{ARGUMENT}"), _fraction),
    (re.compile(rf"\\sqrt\s*\[([^\[\]{{}}]+)\]{ARGUMENT}"), lambda m: f" ({m[2] or m[3] or ''})^(1/{_grouped(m[1])}) "),
    (re.compile(rf"\\sqrt(?![a-zA-Z]){ARGUMENT}"), r" sqrt(\1\2) "),
)
"""What has braces, each with its expression; the innermost is replaced first, so that the next one has none inside
it."""

QUOTIENT = re.compile(
    rf"/(?:(?P<name>[^\W\d]\w*)(?=[ ^])|[\d.]+|[a-zA-Z](?=\()|{GROUP})"
    rf"(?:\^(?:\w+|{GROUP}))?(?: (?=[\w(])|(?=[^\W\d]|\())"
)
"""A division by what may be a product, ``E/RT``: by the first factor alone, or by both."""

DOUBTFUL = re.compile(r"(?<!\be)\s*\^\(\s*(?:\([^()/]*\)|\[[^\[\]]*\])\s*(?:\)|ᵀ|T\b|\\top)|\\sqrt\s*\[")
"""A superscript in brackets of its own, which may be a power, or the number of a layer, ``W^{(l-1)}``; a root of
nothing."""


DERIVATIVE_IN_LATEX = re.compile(
    r"\\[dt]?frac *\{ *(?P<sign>d|\\partial\b|\\mathrm\{d\}) *(?P<order>\^ *\{?\d\}?)? *(?P<of>[^\W\d]\w*)? *\}"
    r" *\{ *(?P=sign) *(?P<by>[^\W\d]\w*)[^{}]*\}(?P<then>(?(of)(?!)|[^=;\n$]*))?"
)
"""A derivative, which is no fraction; ``of`` is what is derived, ``then`` what follows if nothing is."""


def known_commands() -> frozenset[str]:
    """Return the commands that become a sign, or a name."""
    return (functions() - OTHERWISE) | SIGNS.keys() | GREEK | {"ln", "min", "max"}


def wrong_brace(text: str) -> re.Match[str] | None:
    r"""Return the first brace of a LaTeX that closes nothing, or the last one that is not closed; None for none.

    >>> wrong_brace(r"\frac{1}{x").start(), wrong_brace(r"\frac{1}{\{x}")
    (8, None)
    """
    unclosed: list[re.Match[str]] = []
    for match in re.finditer(r"\\.|[{}]", text):
        if match[0] == "{":
            unclosed.append(match)
        elif match[0] == "}" and not unclosed:
            return match
        elif match[0] == "}":
            unclosed.pop()
    return unclosed[-1] if unclosed else None


def not_read(text: str) -> tuple[re.Match[str], str] | None:
    r"""Return the place for which a LaTeX is not read, and what is wrong there; None for a text that has no LaTeX.

    >>> not_read(r"$\frac12 \int x$")[1], not_read(r"y = \sum_i x")[1], not_read("$x{$")[1]
    ('\\int has no meaning in an expression', 'a sum has no index in an expression', 'this { is not closed')
    """
    brace = wrong_brace(text)
    if brace is not None and ("\\" in text or "$" in text):
        return brace, "this { is not closed" if brace[0] == "{" else "this } closes nothing"
    commands, command_names = (
        [*re.finditer(COMMAND, UNSEEN.sub(lambda match: " " * len(match[0]), text))],
        known_commands(),
    )
    unknown = (one for one in commands if one[1] not in command_names | SHAPED and one[1][:4] not in ("math", "text"))
    indexed = [(one, {"sum": "sum", "prod": "product"}.get(one[1])) for one in commands]
    reasons = chain(
        ((one, f"{one[0]} has no meaning in an expression") for one in unknown),
        (
            (one, f"a {noun} has no index in an expression")
            for one, noun in indexed
            if noun and "_" in text[one.end() :][:8]
        ),
        ((one, f"the {noun} needs brackets") for one, noun in indexed if noun),
        (
            (one, "an index is a number or a name")
            for one in re.finditer(r"_\s*\{[^{}]*[^\w\s{}][^{}]*\}", text)
            if "\\" in text
        ),
        ((one, "this may be a power, or the number of a layer") for one in re.finditer(r"(?<!e)\^\s*\{\s*[(\[]", text)),
        ((one, "/ may be of the next factor, or of all") for one in re.finditer("/", text) if commands),
        ((one, "\\ has no meaning in an expression") for one in commands),
    )
    return next(reasons, None)


def read_latex(text: str, values: Mapping[str, object]) -> tuple[str, tuple[Note, ...]]:
    r"""Return LaTeX as an expression, and the note that says so; a text that does not become one stays as it is.

    Args:
        text: what was pasted.
        values: the values of names; of letters side by side, which are a product, those with a value are one name.

    >>> read_latex(r"$y=\frac{x^{2}}{w_{1}}e^{-x}$", {})[0], read_latex(r"$y=Wx$", {"W": "[[1, 2]]", "x": "[3, 4]"})[0]
    ('y=(x**2/w_1)*exp(-x)', 'y=W @ x')
    """
    if wrong_brace(text) is not None or DERIVATIVE_IN_LATEX.search(text):
        return text, ()
    plain, before = DEFINED.sub(r"\1\2=", UNSEEN.sub(" ", SUM_OF_TERMS.sub(r"\\\1", text))), ""
    plain = _apart(plain, {*values, *LEFT.findall(plain)})
    plain = MARKED.sub(lambda match: f" {match[2] or match[3]}_{match[1]} ", STYLED.sub(r" \1 ", plain))
    while plain != before:
        before = plain
        for pattern, new in BRACED:
            plain = pattern.sub(new, plain)
    if DOUBTFUL.search(plain) or not known_commands().issuperset(re.findall(COMMAND, plain)):
        return text, ()
    plain = re.sub(COMMAND, lambda match: f" {_sign(match[1], values)} ", plain)
    plain = re.sub(r" *([-+*/=^(),;<>|ᵀ]+) *", r"\1", " ".join(plain.split()).replace(" _", "_")).strip("; .")
    plain = re.sub(r"\b[a-zA-Z]\w+(?=\()", lambda match: _function(match[0], values), plain)  # ReLU(x)
    if any(match["name"] not in functions() for match in QUOTIENT.finditer(plain)):
        return text, ()
    formula = rewrite(plain.replace("[", "(").replace("]", ")"), values=values)
    if not is_right(formula, ExpressionText(plain)) or ("e" not in values and re.search(r"\be\*\*", formula)):
        return text, ()
    return formula, (Note(f"read the LaTeX as {formula}"),)


def _apart(text: str, names: set[str]) -> str:
    r"""Return LaTeX with a space between the letters of a product, as ``wx`` is one, and behind an index.

    >>> _apart(r"y=\sin(wx_1b)+loss+relu(x)", {"loss"})
    'y=\\sin(w x_1 b)+loss+relu(x)'
    """

    def spaced(match: re.Match[str]) -> str:
        word = match["word"]
        if match["kept"]:
            return match["kept"] + " " * match["kept"].startswith("_")
        if word is None:
            return f"_{match['index']} "
        plain = word.lower()
        is_call = plain in functions() and (len(word) > 2 or match["call"] is not None)
        return (
            word if word in names or is_call or word in OTHER_NAMES else " ".join(re.findall(r"[a-zA-Z][0-9]*", word))
        )

    return re.sub(r" (?=[^\w\s\\])", "", LETTERS.sub(spaced, text))


def _sign(command: str, values: Mapping[str, object]) -> str:
    r"""Return what a command means: a Greek letter as its value has it, in words or as the letter itself."""
    if command in GREEK or command == "sigma":
        letter = lookup(f"GREEK SMALL LETTER {command.removeprefix('var').replace('lambda', 'lamda').upper()}")
        heads = {re.split(r"[_\d₀-₉]", name)[0] for name in values}
        given = next((name for name in (command, letter) if name in heads), None)
        return given or SIGNS.get(command, command)
    return SIGNS.get(command, command)


def _function(word: str, values: Mapping[str, object]) -> str:
    """Return a word before a bracket as the function that it is in other capitals, else as it is."""
    return word.lower() if word.lower() in functions() and word not in values else word
