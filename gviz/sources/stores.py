"""Where a program gives its variables values, as far as its text tells."""

from __future__ import annotations

import ast
from collections import defaultdict
from functools import lru_cache

SCOPES = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
"""What has variables of its own."""


class Stores:
    """Where variables get values: what a line says of x holds until x is given another one.

    Args:
        tree: the program.

    >>> tree = ast.parse("y = w*x; x = y - 1; h = x*v")
    >>> stores = Stores(tree)
    >>> [stores.is_outdated(statement.value) for statement in tree.body]
    [True, False, False]
    """

    def __init__(self, tree: ast.Module) -> None:
        self.last: dict[tuple[ast.AST | None, str], tuple[int, int]] = {}
        self.counts = defaultdict[str, int](int)  # of the variables of the module
        self.loose: set[str] = set()  # given values by functions that they are not variables of
        self.scope_of: dict[tuple[int, int], ast.AST] = {}  # by where a name stands in a function
        todo: list[tuple[ast.AST, ast.AST | None, tuple[int, int] | None]] = [(tree, None, None)]
        while todo:
            node, scope, end = todo.pop()
            if isinstance(node, ast.Global | ast.Nonlocal):
                self.loose.update(node.names)
            elif isinstance(node, ast.Assign | ast.AnnAssign):
                end = _end_of(node)  # its value is computed before
            elif isinstance(node, ast.arg):
                self._store(node.arg, scope, (node.lineno, node.col_offset))
            elif isinstance(getattr(node, "ctx", None), ast.Store) and isinstance(node, ast.Name | ast.Attribute):
                self._store(ast.unparse(node), scope, end or _end_of(node))
            if isinstance(node, ast.Name) and scope is not None:
                self.scope_of[node.lineno, node.col_offset] = scope
            inner = node if isinstance(node, SCOPES) else scope
            todo.extend((child, inner, end) for child in ast.iter_child_nodes(node))

    def _store(self, name: str, scope: ast.AST | None, place: tuple[int, int]) -> None:
        self.last[scope, name] = max(place, self.last.get((scope, name), place))
        self.counts[name] += scope is None

    def is_outdated(self, expression: ast.AST) -> bool:
        """Return whether a variable in an expression may stand for something else than its name does at the end."""
        return any(
            self._is_changed(node) for node in ast.walk(expression) if isinstance(node, ast.Name | ast.Attribute)
        )

    def _is_changed(self, node: ast.Name | ast.Attribute) -> bool:
        name, place = ast.unparse(node), (node.lineno, node.col_offset)
        scope = self.scope_of.get(place)
        if (scope, name) in self.last:
            is_hiding = scope is not None and self.counts[name] > 0  # a function's x, of a program with an x
            return is_hiding or name in self.loose or self.last[scope, name] > place
        return self.counts[name] > (scope is not None)


@lru_cache(maxsize=2)
def stores_of(tree: ast.Module) -> Stores:
    """Return where the variables of a program get values."""
    return Stores(tree)


def _end_of(node: ast.stmt | ast.expr) -> tuple[int, int]:
    return node.end_lineno or node.lineno, node.end_col_offset or node.col_offset
