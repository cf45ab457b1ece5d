"""The expressions that a hint proposes, tried out."""

from __future__ import annotations

import re
from collections.abc import Iterator

from gviz.errors import SourceError
from gviz.sources import SourceOptions
from gviz.sources.expression import evaluate

MEND = re.compile(r"\bwrite ([^;]+?)(?: and give ([^;]+))?(?=;|$)")
PROSE = re.compile(r"[a-zA-Z)]{2} +[a-z]{2}|gviz |^\S+ (to|for)\b|^[^\w(]+$|^\.| in$|--|\.\.\.|\bnot\b")


def mends(hint: str | None) -> Iterator[tuple[str, dict[str, str]]]:
    """Yield the expressions that a hint proposes, with the values that it gives for them."""
    for match in MEND.finditer(hint or ""):
        values = dict(value.split("=", 1) for value in (match[2] or "").split() if "=" in value)
        yield from ((text.rstrip(","), values) for text in match[1].split(" or ") if not PROSE.search(text))


def failures(text: str, values: dict[str, object], *, even_of_values: bool) -> list[str]:
    """Return the proposed expressions that cannot be read, or on request that cannot be computed either."""
    try:
        evaluate(text, SourceOptions(values=values))
    except SourceError as error:
        hint = error.hint
    else:
        return []
    bad = []
    for mend, more in mends(hint):
        try:
            evaluate(mend, SourceOptions(values=values | more))
        except SourceError as error:
            is_of_values = error.__cause__ is not None or re.search(
                "has no graph|must be a Tensor|has no value", error.what
            )
            if even_of_values or not is_of_values:
                bad.append(f"{text}: write {mend}: {error.what}")
    return bad
