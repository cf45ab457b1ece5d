"""The commands of LaTeX that become a sign, or a name, of an expression."""

from __future__ import annotations

import re

from gviz.sources.expression.allowed import functions, words

SIGNS = {
    "times": "*", "cdot": "*", "ast": "*", "odot": "*", "div": "/", "le": "<=", "leq": "<=", "ge": ">=", "geq": ">=",
    "ne": "!=", "neq": "!=", "pi": "π", "sigma": "σ", "lvert": "|", "rvert": "|", "vert": "|", "lVert": "||", "rVert": "||",
    "|": "||", "arcsin": "asin", "arccos": "acos", "arctan": "atan", "top": "T", "lambda": "lam", "{": "(", "}": ")", "\\": ";",
    "sum": "Σ", "prod": "∏",
}  # fmt: skip
"""Commands that are not the name of what they mean, as ``\\exp`` and ``\\alpha`` are."""

GREEK = words(
    """
    alpha beta gamma delta epsilon varepsilon zeta eta theta iota kappa lambda mu nu xi rho tau upsilon phi varphi chi psi omega
    """
)
COMMAND = r"\\([a-zA-Z]+|.)"
OTHERWISE = words("frac dot square angle")
"""Commands that are not the functions which are called so."""

UNSEEN = re.compile(
    r"(?<!\\)\\(?:(?:left|right|[bB]igg?[lr]?|displaystyle|limits|q?quad)(?![a-zA-Z])|[,;:! ()\[\]])"
    r"|(?<!\\)\\(?:begin|end)\{(?:align|equation|gather|math|multline|split)\w*\*?\}"
    r"|&|\$"
)
"""What changes the look alone."""

SHAPED = words("frac dfrac tfrac sqrt hat bar tilde vec intercal operatorname boldsymbol bm")
"""Commands with arguments, which are read too; so are those of text and of alphabets."""


def known() -> frozenset[str]:
    """Return the commands that become a sign, or a name."""
    return (functions() - OTHERWISE) | SIGNS.keys() | GREEK | {"ln", "min", "max"}


def wrong_brace(text: str) -> re.Match[str] | None:
    r"""Return the first brace of a LaTeX that closes nothing, or the last one that is not closed; None if there is none.

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
    commands = [*re.finditer(COMMAND, UNSEEN.sub(lambda match: " " * len(match[0]), text))]
    for one in commands:
        if one[1] not in known() | SHAPED and one[1][:4] not in ("math", "text"):
            return one, f"{one[0]} has no meaning in an expression"
    for one in commands:
        if one[1] in ("sum", "prod"):
            return one, f"a {'sum' if one[1] == 'sum' else 'product'} has no index in an expression"
    if (power := re.search(r"(?<!e)\^\s*\{\s*[(\[]", text)) is not None:
        return power, "this may be a power, or the number of a layer"
    return (commands[0], "\\ has no meaning in an expression") if commands else None
