"""The mend that ``gviz why`` proposes, made in the program that it is of."""

from __future__ import annotations

import ast
import difflib
import re

from gviz.causes.diagnosis import Cause
from gviz.graphs import Graph


def is_code(text: str) -> bool:
    """Return whether a part of a mend is a line to be written, and not words."""
    if re.fullmatch(r"leave (out .*|line \d+ out)", text):
        return True
    try:
        return not isinstance(ast.parse(text).body[0], ast.Expr) or "(" in text
    except (SyntaxError, IndexError):
        return False


def parts_of_mend(mend: str) -> list[str]:
    """Return the parts of a mend, which are to be made all."""
    return mend.replace("; and then ", "; and ").split("; and ")


def mended(program: str, cause: Cause, mend: str) -> str:
    """Return a program in which each part of a mend stands in the place of the statement that is most like it."""
    for part in parts_of_mend(mend):
        numbers = {place.line for place, _ in cause.lines if not place.file}
        numbers = {int(line[1])} if (line := re.fullmatch(r"leave line (\d+) out", part)) else numbers
        simple = [one for one in ast.walk(ast.parse(program)) if isinstance(one, ast.stmt) and not hasattr(one, "body")]
        named = [one for one in simple if not numbers.isdisjoint(range(one.lineno, (one.end_lineno or 0) + 1))]
        is_left_out = part.startswith("leave ")
        text = part.removeprefix("leave out ")
        head = text.partition(" = ")[0]
        like = [
            (
                ast.unparse(one).partition(" = ")[0] == head,
                difflib.SequenceMatcher(None, ast.unparse(one), text).ratio(),
            )
            for one in named
        ]
        chosen = named[like.index(max(like))]
        lines = program.split("\n")
        first, last, end = chosen.lineno - 1, chosen.end_lineno or 0, chosen.end_col_offset
        lines[first:last] = [
            lines[first][: chosen.col_offset] + ("pass" if is_left_out else part) + lines[last - 1][end:]
        ]
        program = "\n".join(lines)
    return program


def has_gradient(graph: Graph, name: str) -> bool:
    """Return whether a tensor has a gradient that is not 0 everywhere."""
    value = next(row.grad.value for row in graph.tensors if row.name == name)
    return value is not None and not value.has_only(0)
