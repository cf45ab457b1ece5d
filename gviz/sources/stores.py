"""Where a program gives its variables values, as far as its text tells."""

from __future__ import annotations

import ast
from collections import defaultdict
from functools import lru_cache

SCOPES = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
"""What has variables of its own."""

PLACES = ast.Name | ast.Attribute | ast.Subscript
"""What can be given a value, or be taken away."""

MOVING = ("clear", "insert", "pop", "popitem", "popleft", "remove", "reverse", "rotate", "sort", "update", "appendleft")
"""Methods of containers after which an item may be another one."""


class Stores:
    """Where variables get values: what a line says of x holds until x is given another one.

    Args:
        tree: the program.

    >>> tree = ast.parse("y = w*x; x = y - 1; h = x*v")
    >>> stores = Stores(tree)
    >>> [stores.is_outdated(statement.value) for statement in tree.body]
    [True, False, False]
    >>> tree = ast.parse("y = w*xs[0]; z = w*p.a; p.a, p.b = p.b, p.a; xs.pop(0); u = xs[0]*p.a")
    >>> stores = Stores(tree)
    >>> [stores.is_outdated(tree.body[at].value) for at in (0, 1, 4)]
    [True, True, False]
    """

    def __init__(self, tree: ast.Module) -> None:
        self.last: dict[tuple[ast.AST | None, str], tuple[int, int]] = {}
        self.counts = defaultdict[str, int](int)  # of the variables of the module
        self.loose: set[str] = set()  # given values by functions that they are not variables of
        self.moved: set[str] = set()  # attributes, and items of containers, that functions give values: at any time
        self.scope_of: dict[tuple[int, int], ast.AST] = {}  # by where a name stands in a function
        todo: list[tuple[ast.AST, ast.AST | None, tuple[int, int] | None]] = [(tree, None, None)]
        while todo:
            node, scope, end = todo.pop()
            if isinstance(node, ast.Global | ast.Nonlocal):
                self.loose.update(node.names)
            elif isinstance(node, ast.Assign | ast.AnnAssign):
                end = _end_of(node)  # its value is computed before
            elif isinstance(node, ast.arg):
                self._store(ast.Name(node.arg), scope, (node.lineno, node.col_offset))
            elif isinstance(getattr(node, "ctx", None), ast.Store | ast.Del) and isinstance(node, PLACES):
                self._store(node, scope, end or _end_of(node))
            elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in MOVING:
                self._store(ast.Subscript(node.func.value, node), scope, end or _end_of(node))
            if isinstance(node, ast.Name) and scope is not None:
                self.scope_of[node.lineno, node.col_offset] = scope
            inner = node if isinstance(node, SCOPES) else scope
            todo.extend((child, inner, end) for child in ast.iter_child_nodes(node))

    def _store(self, node: PLACES, scope: ast.AST | None, place: tuple[int, int]) -> None:
        name = _name_of(node)
        self.last[scope, name] = max(place, self.last.get((scope, name), place))
        self.counts[name] += scope is None
        if scope is not None and getattr(scope, "name", "") != "__init__" and not isinstance(node, ast.Name):
            self.moved.add(_part_of(node))

    def is_outdated(self, expression: ast.AST) -> bool:
        """Return whether a variable in an expression may stand for something else than its name does at the end."""
        return any(self._is_changed(node) for node in ast.walk(expression) if isinstance(node, PLACES))

    def _is_changed(self, node: PLACES) -> bool:
        name, place = _name_of(node), (node.lineno, node.col_offset)
        if not isinstance(node, ast.Name) and _part_of(node) in self.moved:
            return True
        scope = self.scope_of.get(place)
        if (scope, name) in self.last:
            is_hiding = scope is not None and self.counts[name] > 0  # a function's x, of a program with an x
            return is_hiding or name in self.loose or self.last[scope, name] > place
        return self.counts[name] > (scope is not None)


@lru_cache(maxsize=2)
def stores_of(tree: ast.Module) -> Stores:
    """Return where the variables of a program get values."""
    return Stores(tree)


def _name_of(node: PLACES) -> str:
    """Return what is given a value: of all items of a container ``xs[]``."""
    return f"{ast.unparse(node.value)}[]" if isinstance(node, ast.Subscript) else ast.unparse(node)


def _part_of(node: ast.Attribute | ast.Subscript) -> str:
    """Return an attribute, or the items of a container, by whatever way to it: ``.a`` of p.a, ``xs[]`` of self.xs[0]."""
    if isinstance(node, ast.Subscript):
        return f"{getattr(node.value, 'attr', None) or ast.unparse(node.value)}[]"
    return f".{node.attr}"


def _end_of(node: ast.stmt | ast.expr) -> tuple[int, int]:
    return node.end_lineno or node.lineno, node.end_col_offset or node.col_offset
