r"""LaTeX as people paste it, ``$y=(x+w)\times w_{1}$``, rewritten as an expression."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from gviz.sources.expression.allowed import OTHER_NAMES, functions
from gviz.sources.expression.commands import COMMAND, SIGNS, UNSEEN, known, wrong_brace
from gviz.sources.expression.notation import is_right, rewrite
from gviz.sources.expression.program import ExpressionText
from gviz.sources.options import Note

STYLED = re.compile(r"\\(?:math\w+|operatorname|text\w*|boldsymbol|bm)\s*\{([^{}]*)\}")
MARKED = re.compile(r"\\(hat|bar|tilde|vec)\s*(?:\{\s*(\w+)\s*\}|(?<=[a-z])\s+([a-zA-Z]))")
KEPT = r"\\(?:text\w*|math(?:rm|it|sf|tt)|operatorname)\s*\{[^{}]*\}|\\[a-zA-Z]+|_\s*\{[^{}]*\}"
LETTERS = re.compile(rf"(?P<kept>{KEPT})|_\s*(?P<index>[0-9]+|[a-zA-Z])|(?P<word>[a-zA-Z]+[0-9]*)(?P<call>(?=\s*\())?")
"""Words that stay whole, an index of one letter or number, and letters side by side."""

LEFT = re.compile(r"(?:^|;|\\\\)\s*([a-zA-Z]\w*)\s*=(?!=)")
TRANSPOSED = r"(?:(?:\\top|\\intercal)(?![a-zA-Z])|T)"
ARGUMENT = r"\s*(?:\{([^{}]*)\}|([0-9a-zA-Z]|\\[a-zA-Z]+))"


def _fraction(match: re.Match[str]) -> str:
    above, below = (match[1] or match[2] or "", match[3] or match[4] or "")
    return f"({_grouped(above)}/{_grouped(below)})"


def _root(match: re.Match[str]) -> str:
    return f" ({match[2] or match[3] or ''})^(1/{_grouped(match[1])}) "


def _grouped(part: str) -> str:
    return part if re.fullmatch(r" ?\\?[\w^]+ ?", part) else f"({part})"


def _layer(match: re.Match[str]) -> str:
    return f"{match[1]}_{match[2]}{'ᵀ' if match[3] else ' '}"


BRACED: tuple[tuple[re.Pattern[str], Any], ...] = (
    (re.compile(rf"\^\s*(?:\{{\s*{TRANSPOSED}\s*\}}|{TRANSPOSED})"), "ᵀ"),
    (re.compile(r"_\s*\{\s*(\w+)\s*\}"), r"_\1"),
    (re.compile(rf"(?<!\\)\b(?!e\b)([a-zA-Z]\w*)\s*\^\s*\{{\s*[(\[]\s*(\w+)\s*[)\]]\s*({TRANSPOSED})?\s*\}}"), _layer),
    (re.compile(r"\^\s*\{(\w+)\}"), r"^\1 "),
    (re.compile(r"\^\s*\{([^{}]*)\}"), r"^(\1)"),
    (re.compile(rf"\\[dt]?frac(?![a-zA-Z]){ARGUMENT}{ARGUMENT}"), _fraction),
    (re.compile(rf"\\sqrt\s*\[([^\[\]{{}}]+)\]{ARGUMENT}"), _root),
    (re.compile(rf"\\sqrt(?![a-zA-Z]){ARGUMENT}"), r" sqrt(\1\2) "),
)
"""What has braces, each with its expression; the innermost is replaced first, so that the next one has none inside
it."""

DOUBTFUL = re.compile(r"(?<!\be)\s*\^\(\s*(?:\([^()]*\)|\[[^\[\]]*\])\s*(?:\)|ᵀ|T\b|\\top)|\\sqrt\s*\[")
"""A superscript in brackets of its own, which may be a power, or the number of a layer, ``W^{(l-1)}``; a root of
nothing."""


def read_latex(text: str, given: Mapping[str, object]) -> tuple[str, tuple[Note, ...]]:
    r"""Return LaTeX as an expression, and the note that says so; a text that does not become one stays as it is.

    Args:
        text: what was pasted.
        given: the values of names; of letters side by side, which are a product, those with a value are one name.

    >>> read_latex(r"$y=\frac{x^{2}}{w_{1}}e^{-x}$", {})[0], read_latex(r"$y=Wx$", {"W": "[[1, 2]]", "x": "[3, 4]"})[0]
    ('y=(x**2/w_1)*exp(-x)', 'y=W @ x')
    """
    if wrong_brace(text) is not None:
        return text, ()
    plain, before = UNSEEN.sub(" ", text), ""
    plain = _apart(plain, {*given, *LEFT.findall(plain)})
    plain = MARKED.sub(lambda match: f" {match[2] or match[3]}_{match[1]} ", STYLED.sub(r" \1 ", plain))
    while plain != before:
        before = plain
        for pattern, new in BRACED:
            plain = pattern.sub(new, plain)
    if DOUBTFUL.search(plain) or not known().issuperset(re.findall(COMMAND, plain)):
        return text, ()
    plain = re.sub(COMMAND, lambda match: f" {SIGNS.get(match[1], match[1])} ", plain)
    plain = re.sub(r" *([-+*/=^(),;<>|ᵀ]+) *", r"\1", " ".join(plain.split()).replace(" _", "_")).strip("; .")
    plain = re.sub(r"\b[a-zA-Z]\w+(?=\()", lambda match: _function(match[0], given), plain)  # ReLU(x)
    written = rewrite(plain.replace("[", "(").replace("]", ")"), given=given)
    if not is_right(written, ExpressionText(plain)):
        return text, ()
    return written, (Note(f"read the LaTeX as {written}"),)


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


def _function(word: str, given: Mapping[str, object]) -> str:
    """Return a word before a bracket as the function that it is in other capitals, else as it is."""
    return word.lower() if word.lower() in functions() and word not in given else word
