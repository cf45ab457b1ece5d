"""What a text is: a saved graph, a script or an expression."""

from __future__ import annotations

import re
from typing import Literal

from gviz.sources.files import STDIN

__all__ = ["is_pasted", "kind_of"]

WRAPPED = re.compile(r"\s*(?:>>>?|In\s*\[\s*\d*\s*\]:|`|~{3})")
"""Prompts, backticks and fences: pasted code."""

SIGNS = re.compile(
    r"""^\s*(?:import|from|def|class|for|while|if|with|try|async|del|global|return|assert|raise|@\w)\b
      | \bprint\s*\(
      | \btorch\s*\.\s*\w
      | \.\s*(?:backward|retain_grad|requires_grad_?)\b
    """,
    re.MULTILINE | re.VERBOSE,
)
"""What scripts have and expressions do not."""


def is_pasted(text: str) -> bool:
    """Whether the text begins as pasted code does: with a prompt, a backtick or a fence.

    >>> is_pasted(">>> y = x"), is_pasted("y = x")
    (True, False)
    """
    return WRAPPED.match(text) is not None


def kind_of(text: str, file: str) -> Literal["graph", "script", "expression"]:
    """What the text of a file, or of standard input, is.

    A file's suffix decides where it is ``.py`` or ``.json``. Else a text that begins with ``{`` is a graph; a text that
    imports, defines, loops, branches, prints or names torch is a script; and every other text is an expression.

    >>> kind_of("y = (x+w)*(w+1)", "<stdin>"), kind_of("import torch", "<stdin>"), kind_of("y", "net.py")
    ('expression', 'script', 'script')
    """
    from gviz.sources.saved import looks_like_json

    suffix = "" if file == STDIN else file[file.rfind(".") :].lower()
    if suffix in {".py", ".pyw"}:
        return "script"
    if suffix in {".json", ".ipynb"} or looks_like_json(text):
        return "graph"
    if is_pasted(text):
        from gviz.sources.snippet import unwrap

        text, _ = unwrap(text)
    return "script" if SIGNS.search(_code(text)) else "expression"


def _code(text: str) -> str:
    """The text without comments and one-line strings, whose words are no code."""
    return re.sub(r"#.*|'[^'\n]*'|\"[^\"\n]*\"", "", text)
