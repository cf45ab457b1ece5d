"""The pieces of a script's syntax, walked once for all that look through them: a script may have a megabyte."""

from __future__ import annotations

import ast
from functools import lru_cache
from typing import TypeAlias

OWN_NAMES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef, ast.comprehension)
"""Code whose assignments are not the script's globals."""


Binding: TypeAlias = tuple[str, tuple[int, int], int, bool, bool]
"""A name that gets a value, or an item of what it stands for; its line and column; 0 in the script itself, else a
number of the function, the class or the comprehension; whether it stands in a loop of that; whether it stands for
something else then, as after ``p = 1``, and not after ``p += 1``."""


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


@lru_cache(maxsize=2)
def bindings(tree: ast.Module) -> list[Binding]:
    """Return all places of a script where names get their values.

    >>> bindings(ast.parse("for p in x: p += 1; w[0] = p"))
    [('w', (1, 20), 0, True, False), ('p', (1, 12), 0, True, False), ('p', (1, 4), 0, True, True)]
    """
    found, todo = list[Binding](), list[tuple[ast.AST, int, bool, bool]]([(tree, 0, False, True)])
    while todo:
        node, scope, is_looped, is_new = todo.pop()
        target = node
        while isinstance(target, ast.Subscript):  # parts[0] = ... assigns to parts
            target = target.value
        if isinstance(target, ast.Name) and isinstance(getattr(node, "ctx", None), ast.Store):
            place = (target.lineno, target.col_offset)
            found.append((target.id, place, scope, is_looped, is_new and target is node))
        scope, is_looped = (id(node), False) if isinstance(node, OWN_NAMES) else (scope, is_looped)
        is_looped |= isinstance(node, ast.For | ast.While)
        is_new = not isinstance(node, ast.AugAssign)  # p -= lr * p.grad changes a tensor
        todo += [(part, scope, is_looped, is_new) for part in ast.iter_child_nodes(node)]
    return found
