r"""LaTeX as people paste it, ``$y=(x+w)\times w_{1}$``, rewritten as an expression."""

from __future__ import annotations

import re
from typing import Any

from gviz.sources.expression.allowed import functions, words
from gviz.sources.expression.notation import is_right, rewrite
from gviz.sources.expression.parse import Text
from gviz.sources.options import Note

__all__ = ["read_latex"]

SIGNS = {
    "times": "*", "cdot": "*", "ast": "*", "odot": "*", "div": "/", "le": "<=", "leq": "<=", "ge": ">=", "geq": ">=",
    "ne": "!=", "neq": "!=", "pi": "π", "sigma": "σ", "lvert": "|", "rvert": "|", "vert": "|", "lVert": "||", "rVert": "||",
    "|": "||", "arcsin": "asin", "arccos": "acos", "arctan": "atan", "top": "T", "lambda": "lam", "{": "(", "}": ")", "\\": ";",
}  # fmt: skip
"""Commands that are not the name of what they mean, as ``\\exp`` and ``\\alpha`` are."""

GREEK = words(
    """
    alpha beta gamma delta epsilon varepsilon zeta eta theta iota kappa lambda mu nu xi rho tau upsilon phi varphi chi psi omega
    """
)
COMMAND = r"\\([a-zA-Z]+|.)"
UNSEEN = re.compile(
    r"\\(?:(?:left|right|[bB]igg?[lr]?|displaystyle|limits|q?quad)(?![a-zA-Z])|(?:begin|end)\{\w+\*?\}|[,;:! ()\[\]])|&|\$"
)
STYLED = re.compile(r"\\(?:math\w+|operatorname|text\w*|boldsymbol|bm)\s*\{([^{}]*)\}")
MARKED = re.compile(r"\\(hat|bar|tilde|vec)\s*\{(\w+)\}")


def _fraction(match: re.Match[str]) -> str:
    parts = (part if re.fullmatch(r" ?[\w^]+ ?", part) else f"({part})" for part in match.groups())
    return f"({'/'.join(parts)})"


BRACED: tuple[tuple[re.Pattern[str], Any], ...] = (
    (re.compile(r"\^\s*\{?\s*(?:\\top|\\intercal|T)(?!\w)\s*\}?"), "ᵀ"),
    (re.compile(r"_\s*\{\s*(\w+)\s*\}"), r"_\1"),
    (re.compile(r"\^\s*\{(\w+)\}"), r"^\1 "),
    (re.compile(r"\^\s*\{([^{}]*)\}"), r"^(\1)"),
    (re.compile(r"\\[dt]?frac\s*\{([^{}]*)\}\s*\{([^{}]*)\}"), _fraction),
    (re.compile(r"\\sqrt\s*\{([^{}]*)\}"), r"sqrt(\1)"),
)
"""What has braces, each with its expression; the innermost is replaced first, so that the next one has none inside it."""


def read_latex(text: str) -> tuple[str, tuple[Note, ...]]:
    r"""Return LaTeX as an expression, and the note that says so; a text that does not become one stays as it is.

    >>> read_latex(r"$y=\frac{x^{2}}{w_{1}}e^{-x}$")[0]
    'y=(x**2/w_1)*exp(-x)'
    """
    plain, before = MARKED.sub(r"\2_\1", STYLED.sub(r" \1 ", UNSEEN.sub(" ", text))), ""
    while plain != before:
        before = plain
        for pattern, new in BRACED:
            plain = pattern.sub(new, plain)
    known = functions() - {"sum", "prod"} | SIGNS.keys() | GREEK | {"ln", "min", "max"}
    if not known.issuperset(re.findall(COMMAND, plain)):
        return text, ()
    plain = re.sub(COMMAND, lambda match: f" {SIGNS.get(match[1], match[1])} ", plain)
    plain = re.sub(r" *([-+*/=^(),;<>|ᵀ]+) *", r"\1", " ".join(plain.split())).strip("; .")
    written = rewrite(plain)
    if not is_right(written, Text(plain)):
        return text, ()
    return written, (Note(f"read the LaTeX as {written}"),)
