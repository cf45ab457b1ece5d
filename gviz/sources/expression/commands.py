"""The commands of LaTeX that become a sign, or a name, of an expression."""

from __future__ import annotations

import re

from gviz.sources.expression.allowed import functions, words

__all__ = ["COMMAND", "SIGNS", "UNSEEN", "known", "not_known"]

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
OTHERWISE = words("sum prod frac dot square angle")
"""Commands that are not the functions which are called so."""

UNSEEN = re.compile(
    r"(?<!\\)\\(?:(?:left|right|[bB]igg?[lr]?|displaystyle|limits|q?quad)(?![a-zA-Z])|(?:begin|end)\{\w+\*?\}|[,;:! ()\[\]])"
    r"|&|\$"
)
"""What changes the look alone."""

SHAPED = words("frac dfrac tfrac sqrt hat bar tilde vec intercal operatorname boldsymbol bm")
"""Commands with arguments, which are read too; so are those of text and of alphabets."""


def known() -> frozenset[str]:
    """Return the commands that become a sign, or a name."""
    return (functions() - OTHERWISE) | SIGNS.keys() | GREEK | {"ln", "min", "max"}


def not_known(text: str) -> re.Match[str] | None:
    r"""Return the first command of a LaTeX that is not read, None if there is none.

    >>> not_known(r"$\frac12 \int x$")[0]
    '\\int'
    """
    commands = re.finditer(COMMAND, UNSEEN.sub(lambda match: " " * len(match[0]), text))
    return next((one for one in commands if one[1] not in known() | SHAPED and one[1][:4] not in ("math", "text")), None)
