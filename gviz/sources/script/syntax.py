"""The pieces of a script's syntax, walked once for all that look through them: a script may have a megabyte."""

from __future__ import annotations

import ast
from functools import lru_cache


@lru_cache(maxsize=2)
def pieces(tree: ast.Module) -> tuple[ast.AST, ...]:
    """Return the pieces in the order of ``ast.walk``, but for those without parts: signs, and whether a name is loaded.

    >>> [type(piece).__name__ for piece in pieces(ast.parse("x = -y"))]
    ['Module', 'Assign', 'Name', 'UnaryOp', 'Name']
    """
    nodes: list[ast.AST] = [tree]
    for piece in nodes:  # it grows as it is walked
        for field in piece._fields:
            value = getattr(piece, field, None)
            parts = value if isinstance(value, list) else (value,)
            nodes += [part for part in parts if isinstance(part, ast.AST) and part._fields]
    return tuple(nodes)
